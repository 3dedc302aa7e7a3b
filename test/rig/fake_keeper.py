"""A keeper that answers what a test tells it to: the other side of wire/call.h, for error paths
that a real one never takes. Not a test.

    with FakeKeeper() as k:
        k.on("list", k.answer({"items": [...]}))                  # each time
        k.on("create", k.hang_up, k.answer({...}))                # the first time, and all later ones
        done = k.carrel("ls")
        k.calls                                                   # [("list", {...}), ...] in order

A reaction is called with the Call, which has what it needs.
"""
import array
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from box_rig import ALWAYS, CARREL
from wire import CALL, HEAD, KIND, OPS, REPLY, REPLY_ERROR, head, record, started_frame, unrecord

OP_NAMES = {number: name for name, number in OPS.items()}
SANDBOX = {"id": "0123456789abcdef", "status": "running", "created_at_ms": 1}


class Call:
    def __init__(self, sock, serial, op, fields):
        self.sock, self.serial, self.op, self.fields = sock, serial, op, fields

    def send(self, raw, fds=()):
        """A whole datagram, unchanged."""
        self.sock.sendmsg([raw], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def body(self, body, flags=0, serial=None, fds=(), kind="REPLY"):
        """A reply whose record is these bytes."""
        self.send(head(kind) + REPLY.pack(self.serial if serial is None else serial, flags) + body, fds)

    def reply(self, fields, flags=0, **more):
        self.body(record(fields), flags, **more)

    def channel(self, fields, script, *args):
        """A reply with a channel. `script` gets the other end, in its own thread."""
        ours, theirs = socket.socketpair()
        self.reply(fields, fds=[theirs.fileno()])
        theirs.close()
        threading.Thread(target=quietly, args=(script, ours, *args), daemon=True).start()


def quietly(script, sock, *args):
    try:
        script(sock, *args)
    except OSError:
        pass
    finally:
        sock.close()


STARTED = started_frame()


def play(sock, *parts):
    """Sends the parts, then waits for the other side to close."""
    for part in parts:
        sock.sendall(part)
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(65536):
        pass


class FakeKeeper:
    def __init__(self, uid=None):
        """`uid`: the user that listens, for a test that is root."""
        self.uid = uid
        self.folder = tempfile.mkdtemp(prefix="carrel-fake-")
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        self.path = os.path.join(self.state, "keeper.sock")
        self.reactions, self.calls, self.connections = {}, [], 0
        self.listener = None

    def __enter__(self):
        self.listen()
        return self

    def __exit__(self, *_):
        self.deaf()
        shutil.rmtree(self.folder, ignore_errors=True)

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        if self.uid is not None:
            os.seteuid(self.uid)       # SO_PEERCRED reports the user that called listen()
        self.listener.listen(16)
        if self.uid is not None:
            os.seteuid(0)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def deaf(self):
        """Removed, as after the end of a keeper."""
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            os.unlink(self.path)
        self.listener = None

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=quietly, args=(self.serve, sock), daemon=True).start()

    def serve(self, sock):
        while True:
            data = sock.recv(1 << 18)
            if not data:
                return
            _, _, kind = HEAD.unpack_from(data)
            serial, op, _ = CALL.unpack_from(data, HEAD.size)
            assert kind == KIND["CALL"]
            call = Call(sock, serial, OP_NAMES[op], unrecord(data[HEAD.size + CALL.size:]))
            self.calls.append((call.op, call.fields))
            steps = self.reactions.get(call.op, [self.refuse("invalid_argument", "nobody told the fake keeper about " + call.op)])
            step = steps.pop(0) if len(steps) > 1 else steps[0]
            if step(call) is False:
                return

    def on(self, op, *steps):
        self.reactions[op] = list(steps)
        self.calls.clear()

    # -- reactions ---------------------------------------------------------------------------------
    @staticmethod
    def answer(fields, **more):
        return lambda call: call.reply(fields, **more)

    @staticmethod
    def refuse(code, message="no", **more):
        return lambda call: call.reply({"code": code, "message": message, **more}, REPLY_ERROR)

    @staticmethod
    def raw(body, **more):
        return lambda call: call.body(body, **more)

    @staticmethod
    def hang_up(_):
        return False

    @staticmethod
    def channel(fields, script, *args):
        return lambda call: call.channel(fields, script, *args)

    # -- the client --------------------------------------------------------------------------------
    def carrel(self, *words, program=CARREL, timeout=ALWAYS, env=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        if "input" in more:
            del more["stdin"]
        return subprocess.run([program, *words], env={**os.environ, "CARREL_STATE": self.state, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, check=False, **more)
