#!/usr/bin/env python3
"""egress_share_test - one gate serves many walls: if one of them takes all it can, or its box is
under an attacker's control, the others keep what they need.

The gate is the real one; this test is its keeper and its boxes.
"""
import fcntl
import os
import resource
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, ROOT, check, end, report, until
from egress_attack_test import Box, diag, datagrams, hostile, Hostile, stream, greets
from egress_load_test import children
from gate_rig import PRELUDE, Gate, Origin, enter, is_mapped

API = "198.18.1.44"          # index 300, which each wall here restores as api.test
EMFILE = 24
OWN_UID = 64123


def listen(link):
    """A wall is paused if its box does not read its refusals."""
    with link:
        while link.recv(4096):
            pass


class Walls(Box):
    """A gate with few descriptors. Each wall has its ports from `first` on: DNS, its TCP, HTTP,
    HTTPS, proxy.
    """

    def __init__(self, files=0, resolvers=("127.0.0.1:5300",)):
        super().__init__(*(["prlimit", "--nofile=%d:%d" % (files, files)] if files else []), resolvers=resolvers)
        self.last = 0

    def wall(self, first, more=0, names=()):
        """Its link, the gate's messages, and the sockets that the box has too. `names` have their
        addresses already.
        """
        self.last += 1
        sockets = [diag(), datagrams(first), *(stream(first + i, "::ffff:" + API) for i in range(1, 5))]
        link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        text = b"api.test\0" + b"api.test:%d\0" % (first + 2) + b"*.mute.test\0"
        policy = struct.pack("=IIIIIIIIQQQII", self.last, 1, 3, 0, len(text), more, 0, 0, 0, 0, 0, 0, 0) + b"box".ljust(32, b"\0") + text
        policy += bytes(-len(policy) % 8) + b"".join(struct.pack("=HHI", 900, 0, 0) for _ in range(more))
        self.say(self.control, "GATE_ADD", policy, [theirs.fileno(), *(s.fileno() for s in sockets), *(sockets[3].fileno() for _ in range(more))])
        theirs.close()
        self.control.settimeout(ALWAYS)
        data = self.control.recv(1000)
        said = struct.unpack("=IIiI", data[8:])[2] if data else "the gate ended"
        if said == 0:
            self.say(link, "WALL_NAMED", struct.pack("=II", 300, 0) + b"api.test".ljust(256, b"\0"))
            for i, name in enumerate(names):
                self.say(link, "WALL_NAMED", struct.pack("=II", 400 + i, 0) + name.encode().ljust(256, b"\0"))
            self.say(link, "WALL_BEGIN")
            threading.Thread(target=listen, args=(link.dup(),), daemon=True).start()
        return link, said, sockets


def served(first):
    """What the server behind api.test sends through the wall."""
    try:
        with socket.create_connection((API, first + 2), ALWAYS) as s:
            s.settimeout(ALWAYS)
            return s.recv(100)
    except OSError as e:
        return repr(e)


def take_all(port, count):
    """As many connections as the gate accepts; each waits to be served."""
    lot = []
    for _ in range(count):
        s = socket.socket()
        try:
            s.connect((API, port))
            lot.append(s)
        except OSError:
            s.close()
    return lot


def descriptors():
    g = Walls(64)
    first, said, _ = g.wall(6000)
    check("a gate with few descriptors serves a wall", said == 0 and served(6000) == b"canary\r\n", said, g.gate.poll())
    refused = g.wall(6100, more=100)
    check("a wall that finds no descriptors is refused with the number for it", refused[1] == EMFILE, refused[1])
    check("and the one that stands goes on", served(6000) == b"canary\r\n" and g.gate.poll() is None, served(6000), g.gate.poll())
    g.control.close()
    g.gate.wait(ALWAYS)


def has_files(count, what):
    """Whether this process and its children may have this number of descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < count:
        report(what, skip="a process may have only %d descriptors here" % hard)
    return hard >= count


def shares():
    if not has_files(2048, "walls that take all the connections they get"):
        return
    g = Walls(512)
    kept = [g.wall(first) for first in (6000, 6100, 6200, 6300)]
    check("a gate of four walls", [said for _, said, _ in kept] == [0] * 4 and served(6000) == b"canary\r\n", [said for _, said, _ in kept])
    lots = [take_all(6104, 450), take_all(6204, 450), take_all(6304, 450)]
    got = [served(6000) for _ in range(5)]
    check("walls that take all the connections they get leave some for one that has none", got == [b"canary\r\n"] * 5, got, [len(lot) for lot in lots])
    for lot in lots:
        for s in lot:
            s.close()
    g.control.close()
    g.gate.wait(ALWAYS)


def many_shares():
    g = Walls(512)
    firsts = range(6000, 7300, 100)
    kept = [g.wall(first) for first in firsts]
    check("a gate of thirteen walls", [said for _, said, _ in kept] == [0] * 13 and served(6000) == b"canary\r\n", [said for _, said, _ in kept])
    lots = [take_all(first + 4, 330 if first == firsts[1] else 20) for first in firsts[1:]]
    got = served(6000)
    check("twelve walls that take all the connections they get leave some for one that has none", got == b"canary\r\n", got, [len(lot) for lot in lots])
    for lot in lots:
        for s in lot:
            s.close()
    g.control.close()
    g.gate.wait(ALWAYS)


def answered(port, names, asked):
    """Requests for names that no resolver answers, a few at a time, each until the resolver is
    asked or the request is refused. Returns how many were asked.
    """
    count = 0
    for at in range(0, len(names), 100):
        waiting = {}
        for name in names[at:at + 100]:
            s = socket.create_connection((API, port), ALWAYS)
            s.sendall(("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (name, name)).encode())
            waiting[s] = name
        while waiting:
            ready = select.select(list(waiting), [], [], 0.01)[0]
            for s in [s for s, name in waiting.items() if s in ready or name in asked]:
                count += waiting.pop(s) in asked
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
    return count


def names():
    """A name without an answer is asked for as long as there are servers to ask: here longer than
    this test takes.
    """
    servers = [Hostile(("127.0.0.1", 5310 + i), hostile) for i in range(16)]
    asked = set()

    class Asked(list):
        def append(self, what):
            asked.add(what[0])
    for server in servers:
        server.asked = Asked()
    g = Walls(resolvers=["127.0.0.1:%d" % (5310 + i) for i in range(16)])
    lots = [["n%d-%d.mute.test" % (wall, i) for i in range(2000)] for wall in range(3)]
    kept = [g.wall(6000)] + [g.wall(6100 + 100 * i, names=lot) for i, lot in enumerate(lots)]
    check("a gate of walls with many names", [said for _, said, _ in kept] == [0] * 4 and served(6000) == b"canary\r\n", [said for _, said, _ in kept])
    got = [answered(6104 + 100 * i, lot, asked) for i, lot in enumerate(lots)]
    check("walls that ask for all the names they can", all(got) and sum(got) < 6000, got)
    check("leave a place among the questions to one that has asked for none", served(6000) == b"canary\r\n", got)
    g.control.close()
    g.gate.wait(ALWAYS)


def blocking():
    g = Walls()
    first, said, _ = g.wall(6000)
    _, other, sockets = g.wall(6100)
    is_over = threading.Event()

    def clear():
        flags = fcntl.fcntl(sockets[5], fcntl.F_GETFL) & ~os.O_NONBLOCK
        while not is_over.is_set():
            fcntl.fcntl(sockets[5], fcntl.F_SETFL, flags)
    threading.Thread(target=clear, daemon=True).start()
    lot = [s for _ in range(20) for s in take_all(6104, 1)]
    got = [served(6000) for _ in range(5)]

    def end_of_wall():
        """Accepting pauses when no connection waits. Whether the gate tries once more depends on
        the machine, so more connections come, one at a time.
        """
        lot.extend(take_all(6104, 1))
        return select.select([g.control], [], [], 0)[0] and g.control.recv(1000)[:8]
    dropped = until("the wall is let go", end_of_wall)
    is_over.set()
    check("a box that makes accepting wait holds up nobody else, and is let go", (said, other) == (0, 0) and got == [b"canary\r\n"] * 5 and struct.unpack("=IHH", dropped)[2] == KIND_DROPPED, got, dropped, len(lot))
    g.control.close()
    g.gate.wait(ALWAYS)


def sends_many(to, fds, uid):
    """Puts this number of descriptors in transit, by a process of this user. The kernel counts them
    by user, and refuses more to a process with a lower limit of open ones.
    """
    if uid is None:
        for _ in range(10):
            socket.send_fds(to, [b"x"], fds)
        return
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(uid, uid, uid)
            sends_many(to, fds, None)
            os._exit(0)
        except BaseException:                          # noqa: BLE001 - the child never returns
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def on_their_way():
    """More descriptors of this user are in transit than the gate's process inside may have open:
    its listener waits, and is not lost.
    """
    held = socket.socketpair()
    null = os.open("/dev/null", os.O_RDONLY)
    gate, uid, prefix = Gate(["raw.test:6002"]), None, ["setpriv", "--reuid=%d" % OWN_UID, "--regid=%d" % OWN_UID, "--clear-groups"]
    if ROOT and is_mapped(OWN_UID) and subprocess.run([*prefix, "unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        uid = OWN_UID                                  # a user of this test alone: root's other gates may receive listeners now
        gate.program = shutil.copy(gate.program, os.path.join(gate.folder, "carrel"))
    else:
        prefix = []
    p = subprocess.Popen(["prlimit", "--nofile=1024:1024", *prefix, *gate.argv("/usr/bin/python3" if uid else sys.executable, "-uc", PRELUDE + """
print("ready"); sys.stdin.readline()
print(ask("raw.test")[0]); sys.stdin.readline()
print(ask_on("raw.test")[0])
""")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    sends_many(held[0], [null] * 250, uid)
    p.stdin.write(b"\n")
    p.stdin.flush()
    first = p.stdout.readline()
    for _ in range(10):
        for fd in socket.recv_fds(held[1], 1, 253)[1]:
            os.close(fd)
    out, err = p.communicate(b"\n", timeout=ALWAYS)
    check("a wall whose listeners cannot be handed on for a while has them later", first == b"2\n" and out == b"0\n", first, out, err[-500:])
    os.close(null)


def memory():
    """Ten thousand greetings that do not end, 30 KiB each, through `carrel gate`."""
    if not has_files(4200, "greetings without an end"):
        return
    g = Gate(["api.test"])
    p = g.start(sys.executable, "-uc", '''
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
from socket import getaddrinfo
to = getaddrinfo("api.test", 443, socket.AF_INET, socket.SOCK_STREAM)[0][4]
record = b"\\x16\\3\\1\\0\\6"
hello = record + b"\\1\\0\\x3f\\xf0\\3\\3" + (record + b"x" * 6) * 2700
lot = []
for i in range(4000):
    s = socket.create_connection(to, 30)
    try: s.sendall(hello)
    except OSError: pass
    lot.append(s)
print("sent"); sys.stdin.readline()
''')
    p.stdout.readline()
    with open("/proc/%d/status" % children(p.pid, "carrel-gate")[0]) as f:
        most = int(next(line for line in f if line.startswith("VmHWM")).split()[1])
    out, err = p.communicate(b"\n", timeout=ALWAYS)
    check("greetings without an end have half of the gate's memory for such, and no more", most < 100 * 1024, "%d KiB" % most, out, err[-300:])


def main():
    global KIND_DROPPED
    enter()
    from wire import KIND
    KIND_DROPPED = KIND["GATE_DROPPED"]
    subprocess.run(["ip", "addr", "add", API + "/32", "dev", "lo"], check=True)
    resolver = Hostile(("127.0.0.1", 5300), hostile)
    origins = [Origin("127.0.0.2", port, greets) for port in (6002, 6102, 6202, 6302)]
    for rows in (descriptors, shares, many_shares, names, blocking, on_their_way, memory):
        try:
            rows()
        except Exception as e:                         # noqa: BLE001 - a row that breaks is a row that fails, and the others go on
            check("%s ran" % rows.__name__, False, repr(e), traceback.format_exc())
    assert resolver and origins
    end()


if __name__ == "__main__":
    main()
