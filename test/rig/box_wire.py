"""A keeper in Python: speaks wire/box.h and wire/channel.h with a real spawner and real boxes. Not
a test.

Use it as `with Bench() as bench: box = bench.begin()`; leaving the block stops what still runs.
Numbers and layouts are those of src/wire/*.h.
"""
import array
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from box_rig import CARREL, PATIENCE
import wire
from wire import C_END, C_FAILED, C_STARTED, C_STDERR, C_STDOUT, END, FRAME, HEAD, MAGIC, VERSION, WORDS, frame

BUILD = os.path.dirname(CARREL)
NEVER = 2**64 - 1

KINDS = ("MAKE KILL SPAWNED MAKE_FAILED BOX_ENDED EXEC SIGNAL RESIZE KILL_TREE CONNECT BOX_FAILED EXEC_STARTED EXEC_FAILED EXEC_ENDED CONNECTED "
         "BOX_BEGIN HELLO BOX_EXEC ATTACH BOX_SIGNAL BOX_KILL LIST LISTED BOX_CONNECT BOX_CONNECTED FREEZE FROZEN DEADLINE STOP "
         "READY STARTED FINISHED GONE USAGE USED").split()
KIND = {name: number for number, name in enumerate(KINDS, 1)}       # short names of the kinds up to wire/call.h
KIND["HANDED"] = wire.KIND["BOX_HANDED"]
LATER = {number: name.removeprefix("BOX_") for name, number in wire.KIND.items() if number > len(KINDS)}
assert len(KINDS) + 1 == wire.KIND["CALL"], "src/wire/message.h has other kinds"
CAUSES = "- stopped deadline oom policy died make_failed stuck".split()
STATES = "- starting running ended failed".split()
BACKGROUND, LOSSLESS, NO_STDIN, QUIET, KILL_REST, AGAIN, REPEAT = 1, 2, 4, 8, 16, 32, 64
TTY = 1

HELLO = struct.Struct("=Ii32sQQIIII")
BOX_EXEC = struct.Struct("=II64s64sQQQQQ")
EXEC = struct.Struct("=IIIIIIQHHI")
LISTED = struct.Struct("=IIIi64s64sQQQ" + END.format.lstrip("=") + "IiI128s4x")
GONE = struct.Struct("=IIiIQQ")


def name_of(kind):
    return KINDS[kind - 1] if kind <= len(KINDS) else LATER[kind]


def boot_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000


def end_of(raw):
    names = "word exit_code signal pad duration_ms cpu_ms memory_peak_kb stdout_bytes stderr_bytes dropped_bytes".split()
    end = dict(zip(names, END.unpack(raw)))
    end["word"] = WORDS[end["word"]]
    return end


def listed_of(raw):
    v = LISTED.unpack(raw)
    return {"exec": v[0], "state": STATES[v[1]], "flags": v[2], "pid": v[3], "key": v[4].rstrip(b"\0").decode(), "task": v[5].rstrip(b"\0").decode(),
            "started_ms": v[6], "stdout_first": v[7], "stderr_first": v[8], "end": end_of(END.pack(*v[9:19])), "failed": v[19:22],
            "command": v[22].rstrip(b"\0").decode()}


class Gone(Exception):
    pass


class Channel:
    """A caller's end."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(PATIENCE)
        self.out, self.err = bytearray(), bytearray()
        self.next, self.gaps = [0, 0], 0
        self.started = self.failed = self.end = None
        self.buffer = bytearray()

    def send(self, kind, body=b""):
        self.sock.sendall(frame(kind, body))

    def exactly(self, count):
        while len(self.buffer) < count:
            got = self.sock.recv(1 << 20)
            if not got:
                raise Gone("the channel closed")
            self.buffer += got
        part = bytes(self.buffer[:count])
        del self.buffer[:count]
        return part

    def frame(self, keep=True):
        kind, length, offset = FRAME.unpack(self.exactly(FRAME.size))
        body = self.exactly(length)
        if kind in (C_STDOUT, C_STDERR):
            which = kind - C_STDOUT
            assert offset >= self.next[which], "bytes came twice: %d after %d" % (offset, self.next[which])
            self.gaps += offset - self.next[which]
            self.next[which] = offset + length
            if keep:
                (self.out, self.err)[which].extend(body)
        elif kind == C_STARTED:
            assert self.started is None
            self.started = struct.unpack("=Ii", body)
        elif kind == C_FAILED:
            self.failed = struct.unpack("=IiI", body)
        elif kind == C_END:
            self.end = end_of(body)
        else:
            raise AssertionError("a frame of kind %d" % kind)
        return kind

    def until(self, condition, keep=True):
        while not condition():
            self.frame(keep)

    def drain(self, pause=None):
        """Reads to the end without keeping the bytes. Returns the number of bytes of standard
        output; calls `pause` for each piece.
        """
        piece = memoryview(bytearray(1 << 20))
        seen = 0
        kind, left, head = 0, 0, bytearray(self.buffer)
        self.buffer.clear()
        while not self.end:
            got = self.sock.recv_into(piece)
            if not got:
                raise Gone("the channel closed")
            if pause:
                pause(seen)
            at = 0
            while at < got:
                if len(head) < FRAME.size:
                    part = min(FRAME.size - len(head), got - at)
                    head += piece[at:at + part]
                    at += part
                    if len(head) < FRAME.size:
                        break
                    kind, left, offset = FRAME.unpack(head)
                    body = bytearray()
                    if kind in (C_STDOUT, C_STDERR):
                        which = kind - C_STDOUT
                        assert offset >= self.next[which], "bytes came twice"
                        self.gaps += offset - self.next[which]
                        self.next[which] = offset + left
                part = min(left, got - at)
                if kind == C_STDOUT:
                    seen += part
                else:
                    body += piece[at:at + part]
                left -= part
                at += part
                if left == 0:
                    head = bytearray()
                    if kind == C_END:
                        self.end = end_of(bytes(body))
        return seen

    def wait(self, keep=True):
        """Reads everything to the end. Then the channel must close without another byte."""
        self.until(lambda: self.end or self.failed, keep)
        rest = bytes(self.buffer) + self.sock.recv(1)
        assert rest == b"", "more after the end"
        self.sock.close()
        return self

    def close(self):
        self.sock.close()


class Keeper:
    """One connection to a box."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(PATIENCE)
        self.hello = self.gone = None
        self.ready = False
        self.listed, self.started, self.finished = [], {}, {}
        self.other = []
        self.list_done = False

    def send(self, kind, body=b"", fds=()):
        message = HEAD.pack(MAGIC, VERSION, KIND[kind]) + body
        self.sock.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

    def read(self):
        data, anc, _, _ = self.sock.recvmsg(1 << 18, socket.CMSG_SPACE(4 * 8))
        if not data:
            raise Gone("the box closed")
        _, _, number = HEAD.unpack(data[:HEAD.size])
        kind, body = name_of(number), data[HEAD.size:]
        fds = array.array("i")
        for _, _, raw in anc:
            fds.frombytes(raw)
        if kind == "HELLO":
            v = HELLO.unpack(body)
            self.hello = dict(zip("protocol pid id started_ms deadline_ms is_ready is_frozen can_freeze has_groups".split(), v))
        elif kind == "READY":
            self.ready = True
        elif kind == "GONE":
            v = GONE.unpack(body)
            self.gone = {"cause": CAUSES[v[0]], "failed": v[1:3], "cpu_ns": v[4], "oom_kills": v[5]}
        elif kind == "LISTED":
            one = listed_of(body)
            if one["exec"] == 0:
                self.list_done = True
            else:
                self.listed.append(one)
        elif kind in ("STARTED", "FINISHED"):
            one = listed_of(body)
            table = self.started if kind == "STARTED" else self.finished
            assert one["exec"] not in table, "%s twice for %d" % (kind, one["exec"])
            table[one["exec"]] = one
        else:
            self.other.append((kind, body, list(fds)))
        return kind

    def until(self, condition):
        while not condition():
            self.read()

    def hear(self):
        """Messages that were received already."""
        while select.select([self.sock], [], [], 0)[0]:
            self.read()

    def ask(self, kind, body, answer):
        self.send(kind, body)
        self.until(lambda: any(o[0] == answer for o in self.other))
        return next(self.other.pop(i) for i, o in enumerate(self.other) if o[0] == answer)

    def exec(self, argv, flags=0, wire_flags=0, exec=0, key="", task="", deadline_ms=NEVER, timeout_ms=NEVER, cpu_ms=NEVER, keep=0, output=NEVER,
             env=("PATH=/usr/local/bin:/usr/bin:/bin",), cwd="/workspace", channel=True, size=(24, 80)):
        if isinstance(argv, str):
            argv = ["sh", "-c", argv]
        strings = b"".join(s.encode() + b"\0" for s in [*argv, *env, cwd])
        body = BOX_EXEC.pack(flags, exec, key.encode(), task.encode(), deadline_ms, timeout_ms, cpu_ms, keep, output)
        body += EXEC.pack(0, wire_flags, len(argv), len(env), 0, 0, 0, size[0], size[1], len(strings)) + strings
        if not channel:
            self.send("BOX_EXEC", body)
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.send("BOX_EXEC", body, [theirs.fileno()])
        theirs.close()
        return Channel(ours)

    def attach(self, number, out=0, err=0, flags=0):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.send("ATTACH", struct.pack("=IIQQ", number, flags, out, err), [theirs.fileno()])
        theirs.close()
        channel = Channel(ours)
        channel.next = [out, err]
        return channel

    def kill(self, number=0, word="killed", task=""):
        self.send("BOX_KILL", struct.pack("=II64s", number, WORDS.index(word), task.encode()))

    def freeze(self, wanted):
        _, body, _ = self.ask("FREEZE", struct.pack("=i", wanted), "FROZEN")
        said, sys = struct.unpack("=Ii", body)
        assert said == wanted
        return sys

    def stop(self):
        self.send("STOP")
        self.until(lambda: self.gone)
        return self.gone

    def close(self):
        self.sock.close()


class Box:
    def __init__(self, bench, keeper, folder, groups):
        self.bench, self.keeper, self.folder, self.groups = bench, keeper, folder, groups

    def connect(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.connect(os.path.join(self.folder, "sock"))
        return Keeper(sock)

    @property
    def pid(self):
        return self.keeper.hello["pid"]

    def journal(self):
        size = 8 + LISTED.size
        with open(os.path.join(self.folder, "journal"), "rb") as f:
            raw = f.read()
        assert len(raw) % size == 0, "a torn entry"
        entries = []
        for at in range(0, len(raw), size):
            kind, number = struct.unpack_from("=II", raw, at)
            entries.append((name_of(kind) if kind else "-", number, raw[at + 8:at + size]))
        return entries


class Bench:
    def __init__(self, env=None, build=BUILD):
        self.build = build
        self.folder = tempfile.mkdtemp(prefix="carrel-test-")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock, self.boxes, self.mounts = ours, [], []
        os.set_inheritable(theirs.fileno(), True)
        shell = "exec 3<&%d %d<&-; exec \"$0\" spawner" % (theirs.fileno(), theirs.fileno())
        if theirs.fileno() == 3:
            shell = "exec \"$0\" spawner"
        self.spawner = subprocess.Popen(["bash", "-c", shell, os.path.join(build, "carrel-init")], pass_fds=[theirs.fileno()], env=env or {}, stdin=subprocess.DEVNULL)
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for box in self.boxes:
            try:
                box.keeper.close()         # a box that ends waits a minute for a keeper that does not read its reports
                keeper = box.connect()
                keeper.send("STOP")
                while True:
                    keeper.read()
            except (OSError, Gone):
                pass
        self.sock.close()
        self.spawner.wait(PATIENCE)
        for path in self.mounts:
            subprocess.run(["umount", "-l", path], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, deadline_ms=NEVER, keep_bytes=1 << 20, memory_mb=0, floor_mb=None, ready=True):
        name = "box%d" % len(self.boxes)
        folder, work = os.path.join(self.folder, name), os.path.join(self.folder, name + "-work")
        os.mkdir(folder, 0o700)
        os.mkdir(work, 0o755)
        if floor_mb:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "carrel-test", work], check=True)
            self.mounts.append(work)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(os.path.join(folder, "sock"))
        listener.listen(16)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        state = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fds = [self.sock.fileno(), theirs.fileno(), listener.fileno(), state]
        argv = [os.path.join(self.build, "test", "box-begin"), *map(str, fds), work, str(deadline_ms), str(keep_bytes)]
        done = subprocess.run(argv + [str(memory_mb)] + ([str(floor_mb)] if floor_mb else []), pass_fds=fds, stdout=subprocess.PIPE, check=True)
        os.close(state)
        theirs.close()
        listener.close()
        box = Box(self, Keeper(ours), folder, done.stdout.decode().split())
        box.work = work
        self.boxes.append(box)
        box.keeper.until(lambda: box.keeper.hello)
        if ready:
            box.keeper.until(lambda: box.keeper.ready or box.keeper.gone)
            assert box.keeper.ready, box.keeper.gone
        return box


def dead(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def memory_kb(pid, key="Pss"):
    """An ordinary user may not look into a process that hides itself: then all of its resident
    memory counts.
    """
    try:
        with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))
    except PermissionError:
        with open("/proc/%d/statm" % pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def running(mark):
    """All processes whose command line contains this word."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if mark.encode() in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


marks = iter(range(1000000 + os.getpid() * 1000, 1 << 62))


def mark():
    """A number of seconds for sleep(1) that no other process uses."""
    return str(next(marks))
