#!/usr/bin/env python3
"""ingress_test - ports of real sandboxes from outside: with their token, in every state of the
sandbox, and in no other way.

door_test tests the proxy itself. Everything happens in a network namespace of the test, so that
every port of the host is known.
"""
import base64
import json
import os
import secrets
import socket
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import PATIENCE, check, end, read_until, report, until, whole_answer
from daemon_rig import Daemon
from gate_rig import enter

HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8"]}
MANIFEST = {"provider": "local", "config": {}, "limits": {"timeout_ms": 300000}}

SERVER = r"""
import base64, hashlib, http.server, sys, threading, time
count, go_on = 0, threading.Event()
class Inside(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        global count
        if self.path == "/events":
            go_on.clear()
            self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Connection", "close"); self.end_headers()
            self.wfile.write(b"data: one\n\n"); self.wfile.flush()
            self.wfile.write(b"data: two\n\n" if go_on.wait(60) else b"data: nobody asked\n\n")
            self.close_connection = True
            return
        if self.path == "/ws":
            key = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            self.wfile.write(b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + key + b"\r\n\r\n")
            while True:
                head = self.rfile.read(6)
                if len(head) < 6: break
                body = bytes(b ^ head[2 + i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
                self.wfile.write(bytes([head[0], len(body)]) + body.upper())
            self.close_connection = True
            return
        if self.path == "/to-itself":
            self.send_response(302); self.send_header("Location", "http://localhost:%d/there" % self.server.server_address[1]); self.send_header("Content-Length", "0"); self.end_headers()
            return
        if self.path == "/go-on": go_on.set()
        if self.path == "/slow": time.sleep(2)
        count += 1
        body = b"%d:%d" % (self.server.server_address[1], count)
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
for port in map(int, sys.argv[2:]):
    s = http.server.ThreadingHTTPServer((sys.argv[1], port), Inside); s.daemon_threads = True
    threading.Thread(target=s.serve_forever).start()
"""

TRY = r"""
import socket, sys
for port in map(int, sys.argv[2:]):
    for to in ("127.0.0.1", "::1", "127.0.0.2", "10.0.0.1", "198.18.0.1"):
        try:
            s = socket.create_connection((to, port), 2); s.settimeout(2)
            s.sendall(b"GET /~" + sys.argv[1].encode() + b"/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
            print(to, port, s.recv(1000))
        except OSError as e: print(to, port, "none")
"""


class Port:
    """A declared port of a sandbox, as a client outside sees it."""

    def __init__(self, d, box, number):
        told = d.must("GET", "/v1/sandboxes/%s/ports/%d" % (box, number))
        self.token, self.at = told["token"], ("127.0.0.1", int(told["url"].split(":")[2].split("/")[0]))

    def connect(self):
        return socket.create_connection(self.at, PATIENCE)

    def get(self, path="/", token=None, head=""):
        """Status and body; closes the connection."""
        with self.connect() as s:
            s.sendall(("GET /~%s%s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n" % (self.token if token is None else token, path, head)).encode())
            got = b""
            while True:
                more = s.recv(65536)
                if not more:
                    break
                got += more
        head, _, body = got.partition(b"\r\n\r\n")
        return int(head.split()[1]) if head else 0, body

    def websocket(self):
        s = self.connect()
        s.sendall(("GET /~%s/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" %
                   (self.token, base64.b64encode(b"x" * 16).decode())).encode())
        got = b""
        while not got.endswith(b"\r\n\r\n"):
            got += s.recv(1) or b"\r\n\r\n"
        assert b" 101 " in got, got
        return s


def send_frame(s, word):
    mask = secrets.token_bytes(4)
    s.sendall(bytes([0x81, 0x80 | len(word)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(word)))


def read_frame(s, count):
    got = b""
    while len(got) < 2 + count:
        more = s.recv(2 + count - len(got))
        if not more:
            break
        got += more
    return got[2:]


def status(d, box):
    return d.must("GET", "/v1/sandboxes/" + box)["status"]


def serve(d, ports, at="127.0.0.1", extra=(), **fields):
    """A sandbox with a server on these ports (and on `extra`, which are not declared), and the
    ports from outside.
    """
    box = d.create(**{"manifest": MANIFEST, "ports": ports, **fields})
    d.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["python3", "-c", SERVER, at, *map(str, [*ports, *extra])], "background": True})
    found = [Port(d, box, n) for n in ports]
    for p in found:
        until("a server listens inside", lambda: p.get()[0] == 200)
    return (box, *found)


def reached(d):
    box, one, two = serve(d, [8080, 9090], extra=[7070])
    check("each port is reached with its own token", one.get()[1].startswith(b"8080:") and two.get()[1].startswith(b"9090:"))
    got = one.get(head="X-Carrel-Token: %s\r\n" % two.token)
    check("  and another port's token leads to that port alone, whatever the path says", got[1].startswith(b"9090:"), got)
    with one.connect() as s:
        s.sendall(b"GET /~%s/to-itself HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % one.token.encode())
        got = whole_answer(s)[0]
    check("  a server that leads to itself by its own port leads through ours", b"\r\nLocation: /~%s/there\r\n" % one.token.encode() in got, got)
    told = d.call("GET", "/v1/sandboxes/%s/ports/7070" % box)
    check("  a port that was not declared has no token, whoever listens there", told.status == 404 and b"declares no port" in told.body, told)
    wrong = []
    for port in (8080, 9090, 7070):
        for at in ("127.0.0.1", "::1"):
            try:
                socket.create_connection((at, port), 2).close()
                wrong.append("%s %d" % (at, port))
            except OSError:
                pass
    check("  on the host nothing listens on them", not wrong, *wrong)
    return box, one, two


def guesses(d, one, two):
    box, dead = serve(d, [8080])
    d.call("DELETE", "/v1/sandboxes/" + box)
    other = lambda c: "0" if c != "0" else "1"
    wrong = {"random": secrets.token_hex(16), "the first digit": other(one.token[0]) + one.token[1:], "the last digit": one.token[:-1] + other(one.token[-1]), "short": one.token[:-1],
             "long": one.token + "0", "of a sandbox that is gone": dead.token, "in capitals": one.token.upper()}
    answers = {what: one.get(token=t) for what, t in wrong.items()}
    check("a wrong token has one answer, however near it is", len(set(answers.values())) == 1 and all(a[0] == 403 for a in answers.values()), answers)
    check("  without any there is none either", one.get("/", token="")[0] == 403)
    for _ in range(8):                  # other load delays single answers; a difference made by the door shows each time
        middle = times(one, wrong)
        if max(middle.values()) < 2 * min(middle.values()):
            break
    report("  in the same time (%s)" % ", ".join("%s %.2f ms" % (w, 1000 * m) for w, m in middle.items()), [] if max(middle.values()) < 2 * min(middle.values()) else ["too far apart"])


def times(one, tokens):
    """Seconds until the answer to each of these tokens: the fastest quarter ends there."""
    seconds = {what: [] for what in tokens}
    for _ in range(4):                  # each is answered late
        for what, t in tokens.items():
            begin = time.monotonic()
            one.get(token=t)
            seconds[what].append(time.monotonic() - begin)
    return {what: statistics.quantiles(s, n=4)[0] for what, s in seconds.items()}


def neighbours(d, one):
    for what, fields in (("another sandbox", {}), ("another sandbox with a list", {"manifest": {**MANIFEST, "network": {"egress": ["allowed.test", "*.localhost.test"]}}})):
        box = d.create(**{"manifest": MANIFEST, **fields})
        out = d.exec(box, ["python3", "-c", TRY, one.token, "8080", str(one.at[1]), "80"])["stdout"]
        check("%s reaches neither the port nor the proxy, though it knows the token" % what, len(out.splitlines()) == 15 and "200" not in out and "8080:" not in out, out)
        d.call("DELETE", "/v1/sandboxes/" + box)


def beside_a_wall(d):
    for at in ("127.0.0.1", "0.0.0.0"):
        box, port = serve(d, [8080], at=at, manifest={**MANIFEST, "network": {"egress": ["allowed.test", "db.test:5432"]}})
        check("a port of a sandbox that has a list is reached as well, its server on %s" % at, port.get()[1].startswith(b"8080:"))
        d.call("DELETE", "/v1/sandboxes/" + box)


def gates_own(d):
    """Ports that belong to the gate inside lead to it, and it forwards no connection that comes
    this way.
    """
    numbers = (53, 80, 443, 3128, 5432)
    box = d.create(manifest={**MANIFEST, "network": {"egress": ["allowed.test", "db.test:5432"]}}, ports=list(numbers), start=True)
    got = {n: Port(d, box, n).get() for n in numbers}
    check("no port is a way to the gate of its sandbox and out", all(a[0] == (403 if n in (80, 443) else 502) for n, a in got.items()) and
          all(b"loopback" in got[n][1] for n in (80, 443)), got)
    d.call("DELETE", "/v1/sandboxes/" + box)


def events(one):
    with one.connect() as s:
        s.sendall(("GET /~%s/events HTTP/1.1\r\nHost: localhost\r\n\r\n" % one.token).encode())
        got = read_until(s, b"data: one")
        first = b"data: two" not in got
        one.get("/go-on")
        while b"\r\n0\r\n\r\n" not in got and b"asked" not in got:
            more = s.recv(1000)
            if not more:
                break
            got += more
    check("an event is passed on before the next exists", first and b"data: two" in got, got)


def pause(d, box):
    d.must("POST", "/v1/sandboxes/%s/pause" % box)
    assert status(d, box) == "paused"


def wakes(d, box, one):
    before = int(one.get()[1].split(b":")[1])
    pause(d, box)
    wrong = [one.get(token=secrets.token_hex(16))[0], one.get(token="")[0]]
    check("a request without the right token wakes nobody", wrong == [403, 403] and status(d, box) == "paused", wrong, status(d, box))
    begin = time.monotonic()
    got = one.get()
    took = time.monotonic() - begin
    check("a request to a port wakes its paused sandbox, as it was (%.0f ms)" % (1000 * took), got == (200, b"8080:%d" % (before + 1)) and status(d, box) == "running", got)
    pause(d, box)
    answers = []
    askers = [threading.Thread(target=lambda: answers.append(one.get()[0])) for _ in range(20)]
    for t in askers:
        t.start()
    for t in askers:
        t.join()
    check("  so do twenty at once, and all are answered", answers == [200] * 20 and status(d, box) == "running", answers)
    with one.connect() as s:
        ask = ("GET /~%s/ HTTP/1.1\r\nHost: localhost\r\n\r\n" % one.token).encode()
        s.sendall(ask)
        first = whole_answer(s)
        pause(d, box)
        s.sendall(ask)
        second = whole_answer(s)
    check("  and the second request of a connection that was kept", all(b" 200 " in head and body.startswith(b"8080:") for head, body in (first, second)) and
          status(d, box) == "running", first, second)


def sockets(d, box, one):
    with one.websocket() as s:
        send_frame(s, b"before")
        before = read_frame(s, 6)
        pause(d, box)
        send_frame(s, b"while paused")
        s.settimeout(0.5)
        try:
            early = s.recv(100)
        except TimeoutError:
            early = None
        stays = status(d, box)
        s.settimeout(PATIENCE)
        d.must("POST", "/v1/sandboxes/%s/resume" % box)
        after = read_frame(s, 12)
        check("a web socket stays through a pause: what was sent meanwhile is answered afterwards", (before, early, stays, after) == (b"BEFORE", None, "paused", b"WHILE PAUSED"), before, early, stays, after)
        pause(d, box)
        send_frame(s, b"again")
        one.get()
        again = read_frame(s, 5)
        check("  a request to the port wakes it for the web socket, too", again == b"AGAIN", again)
        send_frame(s, b"last")
        read_frame(s, 4)
        d.call("DELETE", "/v1/sandboxes/" + box)
        left = s.recv(100)
    check("  it ends with its sandbox, and the token with it", left == b"" and one.get()[0] == 403, left)


def idle(d):
    """Its server is not a command of Carrel any more: only requests keep the sandbox awake, each as
    long as it lasts.
    """
    box = d.create(manifest={**MANIFEST, "lifecycle": {"pause_after_idle": "idle-1"}}, ports=[8080])
    d.exec(box, "setsid python3 -c '%s' 127.0.0.1 8080 >/dev/null 2>&1 </dev/null &" % SERVER.replace("'", "'\\''"))
    one = Port(d, box, 8080)
    until("a server listens inside", lambda: one.get()[0] == 200)
    until("it is idle", lambda: status(d, box) == "paused")
    begin = time.monotonic()
    got = one.get("/slow")
    took = time.monotonic() - begin
    check("a sandbox that sleeps when idle wakes for a request, and stays awake until that is answered (%.1f s)" % took, got[0] == 200 and took >= 2, got, took)
    with one.websocket() as s:
        seen = set()
        send_frame(s, b"open")
        read_frame(s, 4)
        until_at = time.monotonic() + 1.8
        while time.monotonic() < until_at:
            seen.add(status(d, box))
            time.sleep(0.05)
        send_frame(s, b"still")
        check("  nor does it sleep under an open web socket", seen == {"running"} and read_frame(s, 5) == b"STILL", seen)
    until("it is idle again", lambda: status(d, box) == "paused")
    check("  it sleeps again once that is closed", True)


def main():
    enter()
    folder = tempfile.mkdtemp(prefix="carrel-ingress-")
    path = os.path.join(folder, "host.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump(HOST, f)
    with Daemon("--host", path) as d:
        box, one, two = reached(d)
        guesses(d, one, two)
        neighbours(d, one)
        beside_a_wall(d)
        gates_own(d)
        events(one)
        paused = d.call("POST", "/v1/sandboxes/%s/pause" % box)
        if paused.status == 200:
            wakes(d, box, one)
            sockets(d, box, one)
            idle(d)
        else:
            report("a request to a port wakes its paused sandbox", skip="this host cannot freeze: %s" % paused.code)
    end()


if __name__ == "__main__":
    main()
