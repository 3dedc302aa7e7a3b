"""A caller in Python: speaks wire/call.h with a real carrel-keeper and its real spawner. Not a
test.

Use it as `with Keeper() as k: c = k.caller()`; leaving the block stops every sandbox. Tags and
operations are read from the tables in src/api.
"""
import array
import collections
import hashlib
import os
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import tempfile
import threading

import box_wire
from box_rig import PATIENCE, until
from wire import CALL, HEAD, KIND, OPS, REPLY, REPLY_ERROR, REPLY_MORE, head, record, unrecord

BUILD = box_wire.BUILD


class Refused(Exception):
    def __init__(self, fields):
        super().__init__("%s: %s" % (fields.get("code"), fields.get("message")))
        self.code, self.fields = fields.get("code"), fields


class Caller:
    def __init__(self, sock, who=None):
        self.sock, self.serial, self.who = sock, 0, who or {}
        sock.settimeout(PATIENCE)
        self.replies, self.events = {}, []

    def send(self, op, **fields):
        self.serial += 1
        fields.update(self.who)
        self.sock.send(head("CALL") + CALL.pack(self.serial, OPS[op], 1) + record(fields))
        return self.serial

    def cancel(self, serial):
        self.sock.send(head("CANCEL") + CALL.pack(serial, 0, 1))

    def read(self):
        data, anc, _, _ = self.sock.recvmsg(1 << 18, socket.CMSG_SPACE(4 * 8))
        if not data:
            raise EOFError("the keeper closed")
        _, _, kind = HEAD.unpack_from(data)
        fds = array.array("i")
        for _, _, raw in anc:
            fds.frombytes(raw)
        if kind == KIND["REPLY"]:
            serial, flags = REPLY.unpack_from(data, 8)
            got = unrecord(data[16:])
            if serial in self.replies:                 # another part of the same reply
                got["items"] = self.replies[serial][0].get("items", []) + got.get("items", [])
            self.replies[serial] = (got, flags, list(fds))
        elif kind == KIND["EVENT"]:
            self.events.append((CALL.unpack_from(data, 8)[0], unrecord(data[16:])))
        else:
            raise AssertionError("a message of kind %d" % kind)

    def take(self, serial):
        """The reply and its descriptors; Refused for an error."""
        while serial not in self.replies or self.replies[serial][1] & REPLY_MORE:
            self.read()
        got, flags, fds = self.replies.pop(serial)
        if flags & REPLY_ERROR:
            raise Refused(got)
        return got, fds

    def call(self, op, **fields):
        got, fds = self.take(self.send(op, **fields))
        for fd in fds:
            os.close(fd)
        return got

    def refused(self, op, **fields):
        """The code of the expected error."""
        try:
            got = self.call(op, **fields)
        except Refused as r:
            return r.code
        return "accepted: %r" % got

    def channel(self, op, **fields):
        got, fds = self.take(self.send(op, **fields))
        assert len(fds) == 1, "no channel came: %r" % got
        channel = box_wire.Channel(socket.socket(fileno=fds[0]))
        return got, channel

    def exec(self, id, command, **fields):
        """Runs it to its end: the channel, with its output."""
        fields["argv" if isinstance(command, list) else "command"] = command
        return self.channel("exec.start", id=id, **fields)[1].wait()

    def event(self, condition):
        """The first event for which condition() is true; earlier ones are dropped."""
        while True:
            while self.events:
                _, e = self.events.pop(0)
                if condition(e):
                    return e
            self.read()

    def close(self):
        self.sock.close()


def caller_of(state):
    """A caller of the keeper of this state directory."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect(os.path.join(state, "keeper.sock"))
    return Caller(sock)


class Ends:
    """Counts each end of a command that a daemon reports, from now on."""

    def __init__(self, d):
        self.count = collections.Counter()
        self.caller = caller_of(d.state)
        self.caller.sock.settimeout(None)
        self.caller.send("watch")
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            while True:
                self.caller.read()
                for _, e in self.caller.events:
                    if e.get("event") == "exec-ended":
                        self.count[e["id"], e["exec"]] += 1
                self.caller.events.clear()
        except (EOFError, OSError):
            return

    def wrong(self, begun):
        try:
            until("every command's end is told", lambda: all(self.count[one] > 0 for one in begun))
        except AssertionError:
            pass
        return ["%s exec %d: its end was told %d times" % (*one, self.count[one]) for one in begun if self.count[one] != 1]


class Keeper:
    def __init__(self, *words, build=BUILD, is_held=False, env=None, spawner_build=None, spawner_env=None, clock=None, has_gate=False):
        self.folder = tempfile.mkdtemp(prefix="carrel-keeper-")
        os.chmod(self.folder, 0o755)
        self.state = os.path.join(self.folder, "state")
        build = clock.build if clock else build        # of test_clock: keeper, spawner and boxes have that clock
        self.clock_env = clock.env if clock else {}
        self.words, self.build, self.env, self.is_held = words, build, env, is_held
        self.spawner_build, self.spawner_env = spawner_build or build, spawner_env     # boxes of another release, which is older
        self.child = self.spawner = self.door_end = None
        self.has_gate, self.gate_end = has_gate, None  # with one: the gate's end of its socket
        self.log = os.path.join(self.folder, "log")

    def __enter__(self):
        return self if self.is_held else self.start()

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def start_spawner(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.set_inheritable(theirs.fileno(), True)
        shell = "exec 3<&%d; exec \"$0\" spawner" % theirs.fileno()
        self.spawner = subprocess.Popen(["bash", "-c", shell, os.path.join(self.spawner_build, "carrel-init")], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                        env=dict(os.environ, **self.clock_env, **(self.spawner_env or {})))
        theirs.close()
        return ours

    def start(self, wait=True, prefix=()):
        spawner = self.start_spawner()
        if not os.path.isdir(self.state):
            os.mkdir(self.state, 0o700)
        path = os.path.join(self.state, "keeper.sock")
        if os.path.exists(path):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen(128)
        self.door_end, door = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds, words = [spawner.fileno(), listener.fileno(), door.fileno()], list(self.words)
        if self.has_gate:
            launcher, gate = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.gate_end, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            socket.send_fds(launcher, [head("GATE_STARTED")], [control.fileno()])
            self.launcher = launcher
            control.close()
            fds.append(gate.fileno())
            words += ["--gate-fd", str(gate.fileno())]
        out = open(self.log, "ab")
        self.child = subprocess.Popen([*prefix, os.path.join(self.build, "carrel-keeper"), "--state", self.state, "--spawner-fd", str(fds[0]), "--listen-fd", str(fds[1]),
                                       "--door-fd", str(fds[2]), "--ingress", "http://127.0.0.1:9", *words], pass_fds=fds, stdin=subprocess.DEVNULL,
                                      stdout=out, stderr=out, env=dict(os.environ, **self.clock_env, **(self.env or {})))
        for one in (spawner, listener, door, out, *([gate] if self.has_gate else [])):
            one.close()
        if wait:
            self.caller().call("info")
        return self

    def caller(self):
        return caller_of(self.state)

    def door(self, **who):
        """The door's connection; one in the lifetime of a keeper."""
        return Caller(self.door_end.dup(), who)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        self.child.wait(PATIENCE)
        self.spawner.wait(PATIENCE)

    def restart(self, number=signal.SIGTERM):
        self.stop(number)
        self.start()

    def end(self):
        if self.child is None:
            return
        if self.child.poll() is None:
            c = self.caller()
            for item in c.call("list").get("items", []):
                c.call("stop", id=item["id"])
            self.stop()
        until("no box is left", lambda: boxes_running(self.state) == 0)
        said = self.log_text()
        assert "Sanitizer" not in said and "runtime error" not in said, said

    def directories(self):
        return sorted(os.listdir(os.path.join(self.state, "boxes")))


def row_sum(*values):
    """What src/store/sum.c computes from a row: kind, number, length of each value, then its bytes.
    """
    h = hashlib.blake2b(digest_size=16)
    for value in values:
        kind = 5 if value is None else 1 if isinstance(value, int) else 3 if isinstance(value, str) else 4
        body = value.encode() if kind == 3 else value if kind == 4 else b""
        h.update(struct.pack("=QQQ", kind, (value if kind == 1 else 0) & (1 << 64) - 1, len(body)) + body)
    return h.digest()


def edit(state, change, *values, is_sound=True):
    """Changes the state of a keeper that does not run. `is_sound`: as the keeper itself would have;
    otherwise as a faulty disk.
    """
    db = sqlite3.connect(os.path.join(state, "state.db"))
    db.create_function("row_sum", -1, row_sum, deterministic=True)
    db.execute(change, values)
    if is_sound:
        columns = [row[1] for row in db.execute("PRAGMA table_info(sandboxes)") if row[1] not in ("number", "sum")]
        db.execute("UPDATE sandboxes SET sum = row_sum(%s)" % ", ".join(columns))
    db.commit()
    db.close()


def boxes_running(state):
    """The boxes of this state that answer."""
    count = 0
    for name in os.listdir(os.path.join(state, "boxes")):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(os.path.join(state, "boxes", name, "sock"))
            count += 1
        except OSError:
            pass
        s.close()
    return count
