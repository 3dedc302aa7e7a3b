"""What the tests of the door share: carrel-door with a scripted keeper, and raw HTTP to talk to it.

Not a test. The keeper is a thread that answers each call from a table of functions; channels are
scripted the same way.
"""
import array
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

from box_rig import CARREL, PATIENCE
from wire import C_DETACH, C_STDIN, CALL, CODES, FRAME, HEAD, KIND, REPLY, REPLY_ERROR, REPLY_MORE, head, pairs, record

BUILD = os.path.dirname(CARREL)
DOOR = os.environ.get("CARREL_DOOR") or os.path.join(BUILD, "carrel-door")


class Refuse(Exception):
    def __init__(self, code, message="no", **more):
        super().__init__(message)
        self.fields = {"code": code, "message": message, **more}


class Keeper(threading.Thread):
    """Answers calls from `answers`: operation name -> function(keeper, call) that returns (fields,
    file descriptor or None). It accepts every token. The token's text before the first dot is the
    tenant.
    """

    def __init__(self, end, answers):
        super().__init__(daemon=True)
        self.end, self.answers, self.calls, self.cancelled = end, answers, [], []
        self.lock = threading.Lock()

    def send(self, kind, serial, rest, body, fds=()):
        with self.lock:
            self.end.sendmsg([head(kind) + REPLY.pack(serial, rest) + body], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def reply(self, serial, fields, fd=None, more=False):
        self.send("REPLY", serial, REPLY_MORE if more else 0, record(fields), [fd] if fd is not None else [])
        if fd is not None:
            os.close(fd)

    def event(self, serial, fields):
        self.send("EVENT", serial, 0, record(fields))

    def run(self):
        while True:
            try:
                raw = self.end.recv(1 << 20)
            except OSError:
                return
            if not raw:
                return
            _, _, kind = HEAD.unpack_from(raw)
            serial, op, _ = CALL.unpack_from(raw, HEAD.size)
            if kind == KIND["CANCEL"]:
                self.cancelled.append(serial)
                continue
            name = next(n for n, c in CODES.items() if c == op)
            if name == "CALLER":
                token = dict(pairs(raw[HEAD.size + CALL.size:])).get("token", "")
                self.reply(serial, [("owner", "tenant " + token.partition(".")[0])])
                continue
            call = {"op": name, "serial": serial, "pairs": pairs(raw[HEAD.size + CALL.size:])}
            call["fields"] = dict(call["pairs"])
            self.calls.append(call)
            try:
                result = self.answers[name](self, call)
            except KeyError:
                result = Refuse("sandbox_not_found", "there is no such sandbox")
            except Refuse as refused:
                result = refused
            if isinstance(result, Refuse):
                self.send("REPLY", serial, REPLY_ERROR, record(result.fields))
            elif result is not None:
                fields, fd = result if isinstance(result, tuple) else (result, None)
                self.reply(serial, fields, fd)


class Channel:
    """The box's end of a channel: what the door sends is collected in `frames`."""

    def __init__(self):
        self.mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.theirs = theirs.detach()
        self.frames, self.raw = [], b""
        self.closed = threading.Event()

    def give(self):
        return self.theirs

    def say(self, *frames):
        self.mine.sendall(b"".join(frames))

    def hear(self):
        """Reads until the door closes. Returns whether it sent DETACH."""
        while True:
            try:
                got = self.mine.recv(1 << 16)
            except OSError:
                got = b""
            if not got:
                break
            self.raw += got
            self.parse()
        self.closed.set()
        return any(kind == C_DETACH for kind, _ in self.frames)

    def parse(self):
        while len(self.raw) >= 16:
            kind, length, _ = FRAME.unpack_from(self.raw)
            if len(self.raw) < 16 + length:
                return
            self.frames.append((kind, self.raw[16:16 + length]))
            self.raw = self.raw[16 + length:]

    def hear_until(self, kind):
        while not any(k == kind for k, _ in self.frames):
            got = self.mine.recv(1 << 16)
            if not got:
                return False
            self.raw += got
            self.parse()
        return True

    def stdin(self):
        return b"".join(body for kind, body in self.frames if kind == C_STDIN)

    def close(self):
        self.mine.close()


class Door:
    def __init__(self, answers=None, tcp=True, ingress=True, clock=None):
        self.folder = tempfile.mkdtemp(prefix="carrel-door-")
        self.path = os.path.join(self.folder, "sock")
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listeners = {"--keeper-fd": theirs, "--http-fd": socket.socket(socket.AF_UNIX)}
        listeners["--http-fd"].bind(self.path)
        for name, wanted in (("--tcp-fd", tcp), ("--ingress-fd", ingress)):
            if wanted:
                listeners[name] = socket.socket()
                listeners[name].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listeners[name].bind(("127.0.0.1", 0))
        for name, s in listeners.items():
            if name != "--keeper-fd":
                s.listen(1024)
        self.port = listeners["--tcp-fd"].getsockname()[1] if tcp else None
        self.ingress = listeners["--ingress-fd"].getsockname()[1] if ingress else None
        program = os.path.join(clock.build, "carrel-door") if clock else DOOR
        argv = [program] + [word for name, s in listeners.items() for word in (name, str(s.fileno()))]
        self.process = subprocess.Popen(argv, pass_fds=[s.fileno() for s in listeners.values()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        env={**os.environ, **(clock.env if clock else {})})
        for s in listeners.values():
            s.close()
        self.keeper = Keeper(mine, dict(answers or {}))
        self.keeper.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.keeper.end.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        try:
            os.unlink(self.path)
            os.rmdir(self.folder)
        except OSError:
            pass

    def connect(self, where="unix", timeout=PATIENCE):
        if where == "unix":
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(timeout)
            s.connect(self.path)
            return s
        return socket.create_connection(("127.0.0.1", self.port if where == "tcp" else self.ingress), timeout=timeout)

    def raw(self, data, where="unix", timeout=10):
        """Sends bytes. Returns all that comes until the door closes or, after its first byte, sends
        nothing for `timeout`.
        """
        with self.connect(where) as s:
            try:
                s.sendall(data)
            except OSError:
                pass
            got = b""
            try:
                while len(got) < 4 << 20:
                    more = s.recv(65536)
                    if not more:
                        break
                    got += more
                    s.settimeout(timeout)
            except OSError:
                got += b"<quiet>"
            return got

    def ask(self, method, target, body=None, headers=None, where="unix", timeout=PATIENCE):
        """One request. Returns (status, headers, body)."""
        lines = {"Host": "localhost", "Connection": "close"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            lines["Content-Type"] = "application/json"
        if body is not None:
            lines["Content-Length"] = str(len(body))
        lines.update(headers or {})
        head = "%s %s HTTP/1.1\r\n%s\r\n" % (method, target, "".join("%s: %s\r\n" % (k, v) for k, v in lines.items() if v is not None))
        return parse_answer(self.raw(head.encode() + (body or b""), where, timeout))

    def memory_kb(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def descriptors(self):
        """How many descriptors it holds; None: only root may look."""
        try:
            return len(os.listdir("/proc/%d/fd" % self.process.pid))
        except PermissionError:
            return None


def parse_answer(raw):
    head, _, rest = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    try:
        status = int(lines[0].split(" ")[1])
    except (IndexError, ValueError):
        return 0, {}, raw
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if headers.get("transfer-encoding") == "chunked":
        rest = dechunk(rest)
    return status, headers, rest


def dechunk(rest):
    out = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size or b"0", 16)
        if length == 0:
            return out
        out += rest[:length]
        rest = rest[length + 2:]


def events(body):
    """[(event, data)] of a stream of server-sent events."""
    out = []
    for block in body.decode().split("\n\n"):
        name, data = "message", []
        for line in block.split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data.append(line[6:])
        if data:
            out.append((name, json.loads("\n".join(data))))
    return out


def need_door():
    if not os.path.exists(DOOR):
        print("1..0 # SKIP there is no", DOOR)
        sys.exit(0)
