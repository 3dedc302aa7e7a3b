#!/usr/bin/env python3
"""e2b_stand_in.py - a server on loopback that speaks as much of E2B's wire protocol as @mastra/e2b uses: sandboxes by REST, processes by Connect's JSON streams.

It prints its port, and runs commands here. The key is the first argument; another one is 401. /told answers what it was asked, in order.
"""
import base64
import http.server
import json
import os
import signal
import subprocess
import sys
import threading

KEY, made, running, told = sys.argv[1], {}, {}, []


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value=None):
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def envelope(self, value, flags=0):
        data = json.dumps(value).encode()
        part = bytes([flags]) + len(data).to_bytes(4, "big") + data
        with self.sending:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()

    def start(self, asked):
        process = asked["process"]
        child = subprocess.Popen([process["cmd"], *process.get("args", [])], cwd=process.get("cwd") or "/tmp", env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **process.get("envs", {})},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        running[child.pid], self.sending = child, threading.Lock()
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.envelope({"event": {"start": {"pid": child.pid}}})

        def pump(name):
            while data := getattr(child, name).read1(65536):
                self.envelope({"event": {"data": {name: base64.b64encode(data).decode()}}})
        pumps = [threading.Thread(target=pump, args=(name,)) for name in ("stdout", "stderr")]
        for thread in pumps:
            thread.start()
        for thread in pumps:
            thread.join()
        status = child.wait()
        ended = {"exited": status >= 0, "status": "exit status %d" % status if status >= 0 else "signal: killed", "exitCode": max(status, 0) if status >= 0 else -1}
        self.envelope({"event": {"end": ended}})
        self.envelope({}, 2)
        self.wfile.write(b"0\r\n\r\n")

    def serve(self):
        body, path = self.body(), self.path.split("?")[0]
        told.append({"method": self.command, "path": path, "body": body.decode(errors="replace")})
        if path == "/told":
            return self.answer(200, told)
        if path == "/process.Process/Start":
            return self.start(json.loads(body[5:]))
        if path == "/process.Process/SendSignal":
            os.killpg(json.loads(body)["process"]["pid"], signal.SIGKILL)
            return self.answer(200, {})
        if path == "/health":
            return self.answer(204)
        if self.headers.get("X-API-Key") != KEY:
            return self.answer(401, {"code": 401, "message": "unauthorized"})
        if self.command == "GET":
            return self.answer(200, [])
        if self.command == "POST" and path.endswith("/sandboxes"):
            number = "stand-in-%d" % (len(made) + 1)
            made[number] = json.loads(body)
            return self.answer(201, {"sandboxID": number, "templateID": made[number].get("templateID"), "clientID": "c", "envdVersion": "0.4.4", "envdAccessToken": "t"})
        if self.command == "DELETE":
            return self.answer(204 if made.pop(path.rsplit("/", 1)[1], None) else 404)
        return self.answer(200, {})

    do_GET = do_POST = do_DELETE = do_PUT = serve


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_address[1], flush=True)
server.serve_forever()
