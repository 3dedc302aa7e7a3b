"""A box with a test at the other end of its control socket: what guest_test.py and files_test.py
share. Not a test.
"""
import array
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

import box_rig as rig
from wire import HEAD, KIND, head

RIG = os.path.join(os.path.dirname(rig.CARREL), "test", "guest-rig")
NEVER = rig.PATIENCE
TTY, LAST, NO_PATH, BUILTIN, GROUP, TREE = (1 << n for n in range(6))
LOOKUP, DIRECTORY, TERMINAL, SPAWN, PREPARE = range(1, 6)
CLD_EXITED, CLD_KILLED = 1, 2
MANIFEST = {"provider": "local", "config": {}, "limits": {"timeout_ms": 1800000},
            "mounts": [{"source": "workspace", "at": "/workspace"}],
            "metadata": {"carrel": {"limits": {"open_files": 4096, "pids": 2000}}}}
NAME = {number: name for name, number in KIND.items()}


class Ended:
    def __init__(self, body):
        self.exec, _, self.code, self.status, self.user_us, self.system_us, self.rss_kb = struct.unpack("<IIiiQQQ", body)


class Guest:
    """A box, and the messages of its pid 1 so far."""

    ids = []           # of all boxes of this test, in the form of guest_rig.c
    statuses = []      # of the process that created them

    def __init__(self, workspace, manifest=None, clock=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket = ours
        self.rig = subprocess.Popen([os.path.join(clock.build, "test", "guest-rig") if clock else RIG, str(theirs.fileno()), json.dumps(manifest or MANIFEST), workspace], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, pass_fds=[theirs.fileno()], env={**os.environ, **(clock.env if clock else {})})
        theirs.close()
        self.ids.append("%016x" % self.rig.pid)
        self.last = 0
        self.started, self.failed, self.ended, self.connected, self.masters = {}, {}, {}, {}, {}
        self.order = []
        self.is_gone = False
        self.idles = 0                         # how often it had no child left

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rig.stdin.close()
        self.statuses.append(self.rig.wait(NEVER))
        self.rig.stdout.close()
        for fd in self.masters.values():
            os.close(fd)
        self.socket.close()

    def send(self, kind, body, fds=()):
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([head(kind) + body], ancillary)

    def exec(self, argv, flags=0, fds=(), env=("PATH=/usr/bin:/bin",), cwd="/workspace", number=None, spare=0):
        self.last += not number
        number = number or self.last
        words = [w if isinstance(w, bytes) else os.fsencode(w) for w in [*argv, *env, cwd]]
        strings = b"".join(w + b"\0" for w in words)
        head = struct.pack("<IIIIIIQHHI", number, flags, len(argv), len(env), 0, spare, 0, 24, 80, len(strings))
        self.send("EXEC", head + strings, fds)
        return number

    def hear_one(self, timeout):
        if not select.select([self.socket], [], [], max(0, timeout))[0]:
            return False
        data, fds, _, _ = socket.recv_fds(self.socket, 65536, 8)
        if not data:
            self.is_gone = True
            return False
        kind, body = NAME[HEAD.unpack(data[:8])[2]], data[8:]
        if kind == "EXEC_STARTED":
            number, pid = struct.unpack("<Ii", body)
            self.started[number] = pid
            self.order.append(("started", number))
            if fds:
                self.masters[number] = fds.pop()
        elif kind == "EXEC_FAILED":
            number, sys_, stage = struct.unpack("<Iii", body)
            self.failed[number] = (sys_, stage)
        elif kind == "EXEC_ENDED":
            ended = Ended(body)
            assert ended.exec not in self.ended, "told twice"
            self.ended[ended.exec] = ended
            self.order.append(("ended", ended.exec))
        elif kind == "CONNECTED":
            request, sys_ = struct.unpack("<Ii", body)
            self.connected[request] = (sys_, socket.socket(fileno=fds.pop()) if fds else None)
        elif kind == "IDLE":
            self.idles += 1
        else:
            raise AssertionError(kind)
        for fd in fds:
            os.close(fd)
        return True

    def until(self, is_done):
        """Reads messages until the condition is true; False if the time is over first."""
        end = time.monotonic() + NEVER
        while not is_done():
            if time.monotonic() > end or self.is_gone:
                return False
            self.hear_one(end - time.monotonic())
        return True

    def over(self, number):
        return self.until(lambda: number in self.ended or number in self.failed)

    def run(self, argv, data=b"", flags=0, more=(), **words):
        """Starts it with pipes, writes its input, returns (ended or failed, stdout, stderr). Output
        ends with the command, not with its pipes.
        """
        pipes = [os.pipe() for _ in range(3)]
        number = self.exec(argv, flags, [pipes[0][0], pipes[1][1], pipes[2][1], *more], **words)
        for fd in (pipes[0][0], pipes[1][1], pipes[2][1]):
            os.close(fd)
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        for fd in ours:
            os.set_blocking(fd, False)
        out = {ours[1]: bytearray(), ours[2]: bytearray()}
        end = time.monotonic() + NEVER
        while time.monotonic() < end and number not in self.failed and number not in self.ended:
            data = feed(ours[0], data)
            if data is None:
                ours[0] = -1
                data = b""
            drain(out, self.socket if number not in self.ended and number not in self.failed else None, ours[0] if data else -1)
            while self.hear_one(0):
                pass
            if number in self.ended:
                drain(out, None, -1, wait=0.05)
        for fd in ours:
            if fd >= 0:
                os.close(fd)
        result = self.ended.get(number) or self.failed.get(number)
        return result, bytes(out[ours[1]]), bytes(out[ours[2]])

    def sh(self, script, **words):
        result, out, err = self.run(["sh", "-c", script], **words)
        return result, out, err

    def file(self, *words, data=b"", **more):
        """A file operation: (errno, stdout, stderr). An errno of -1 is a failure of the operation
        itself.
        """
        result, out, err = self.run(words, data, BUILTIN, **more)
        if isinstance(result, Ended) and result.code == CLD_EXITED:
            return result.status, out, err
        return (-1, result, err) if not isinstance(result, tuple) else (result[0], b"", b"")

    def kill(self, number):
        self.send("KILL_TREE", struct.pack("<Ii", number, 0))

    def signal(self, number, which):
        self.send("SIGNAL", struct.pack("<Ii", number, which))

    def count(self):
        """Living processes of the box, without pid 1, its reapers and the one that counts; zombies
        are counted separately. (-1, -1): no process could be started to count.
        """
        _, out, _ = self.run(["python3", "-c", COUNT])
        numbers = out.split()
        return tuple(map(int, numbers)) if len(numbers) == 2 else (-1, -1)


COUNT = r'''
import os
init = open("/proc/1/comm").read().strip()
alive = zombies = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        text = open(f"/proc/{pid}/stat").read()
    except OSError:
        continue
    state = text[text.rindex(")") + 2]
    name = text[text.index("(") + 1:text.rindex(")")]
    if int(pid) in (1, os.getpid()) or name == init:
        continue
    alive += state not in "ZX"
    zombies += state in "ZX"
print(alive, zombies)
'''


def feed(fd, data):
    if fd < 0:
        return b""
    try:
        while data:
            data = data[os.write(fd, data):]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        data = b""
    if not data:
        os.close(fd)
        return None
    return data


def drain(out, control, inward, wait=0.5):
    fds = list(out) + ([control] if control else [])
    ready = select.select(fds, [inward] if inward >= 0 else [], [], wait)[0]
    for fd in ready:
        if fd is control:
            continue
        try:
            while True:
                piece = os.read(fd, 1 << 16)
                if not piece:
                    break
                out[fd] += piece
        except BlockingIOError:
            pass


def wait_for(is_so):
    """Whether the condition became true. It is checked once more than needed, because a check that
    runs as a process of the box may change the result.
    """
    end = time.monotonic() + NEVER
    while not (answer := is_so()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def need_program():
    if not os.access(RIG, os.X_OK):
        print("Bail out! %s is not built" % RIG)
        sys.exit(1)


def workspace():
    """A directory that the user of a box can reach."""
    w = rig.Workspace(text=False)
    if rig.ROOT:
        os.chmod(w.folder, 0o755)
    return w
