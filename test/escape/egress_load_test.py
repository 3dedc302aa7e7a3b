#!/usr/bin/env python3
"""egress_load_test - the gate under load and with faults, through `carrel gate`: two thousand
relays, slow peers, a full queue, no descriptors, stopped, killed.

What must always hold: a host that is not listed is never reached, what waits is served later or
ends, and nothing is left behind. Figures are printed as comments. A deep run has ten thousand
relays, or as many as descriptors allow, and more bytes and rounds of everything.
"""
# weight: 2: its connections have both ends on this machine
import hashlib
import os
import resource
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, DEEP, check, end, report, until
from gate_rig import PRELUDE, Gate, Names, enter

RELAYS, FILES = 10000 if DEEP else 2000, 65536
TRIES, KILLS, HELD = (3, 5, 500) if DEEP else (1, 2, 200)     # rounds of a quick run; gates that are killed, with this number of relays
LISTED, EVIL = "127.0.0.2", "127.0.0.66"
CHUNK = bytes(range(256)) * 256
POURED = 64 << 20 if DEEP else 16 << 20
RIGHT = hashlib.sha256(CHUNK * (POURED // len(CHUNK))).hexdigest()


class World:
    """One thread serves all origins: it answers a TLS greeting with `!` and `ping` with `pong`;
    `pour` gets bytes without end, `some` gets POURED of them and the end; of `slow` it reads a byte
    now and then.
    """

    def __init__(self):
        self.selector, self.accepted, self.evil, self.open = selectors.EpollSelector(), 0, 0, 0
        self.slow, self.left = set(), {}
        for host, port in ((LISTED, 443), (LISTED, 9000), (EVIL, 443), (EVIL, 9000), (EVIL, 80)):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((host, port))
            s.listen(4096)
            s.setblocking(False)
            self.selector.register(s, selectors.EVENT_READ, (self.accept, host))
        self.names = Names({"load.test": [LISTED], "raw.test": [LISTED], "evil.test": [EVIL]}, ttl=60)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data[0](key.fileobj, key.data[1])

    def accept(self, listener, host):
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        peer.setblocking(False)
        self.evil += host == EVIL
        self.accepted += 1
        self.open += 1
        self.selector.register(peer, selectors.EVENT_READ, (self.hear, None))

    def drop(self, peer):
        self.selector.unregister(peer)
        peer.close()
        self.open -= 1

    def hear(self, peer, _):
        try:
            said = peer.recv(4096)
            if said[:4] in (b"pour", b"some"):
                self.left[peer] = POURED if said[:4] == b"some" else 1 << 60
                self.selector.modify(peer, selectors.EVENT_WRITE, (self.pour, None))
            elif said[:4] == b"slow":
                self.rest(peer)
            elif said:
                peer.sendall(b"!" if said[0] == 22 else b"pong")
            else:
                self.drop(peer)
        except BlockingIOError:
            pass
        except OSError:
            self.drop(peer)

    def rest(self, peer):
        """Another thread reads it from now on, slowly."""
        self.selector.unregister(peer)
        self.open -= 1
        self.slow.add(peer)

    def pour(self, peer, _):
        try:
            at = -self.left[peer] % len(CHUNK)
            self.left[peer] -= peer.send(CHUNK[at:at + min(len(CHUNK) - at, self.left[peer])])
            if self.left[peer] == 0:
                peer.shutdown(socket.SHUT_WR)
                self.selector.modify(peer, selectors.EVENT_READ, (self.hear, None))
        except BlockingIOError:
            pass
        except OSError:
            self.drop(peer)


def children(pid, word):
    """Children of a process by the first word of their command lines."""
    found = []
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            for child in f.read().split():
                with open("/proc/%s/cmdline" % child) as cmdline:
                    if cmdline.read().startswith(word):
                        found.append(int(child))
    except OSError:
        pass
    return found


def status_kib(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


class Behind:
    """A program behind the wall, and all gates that were seen; `end` returns what is left of them.
    """

    def __init__(self, code, argv=()):
        self.gate_of = Gate(["load.test", "raw.test:9000"])
        code = PRELUDE + "import select, hashlib\nfrom resource import *\nsetrlimit(RLIMIT_NOFILE, (getrlimit(RLIMIT_NOFILE)[1],) * 2)\nLISTED, EVIL = %r, %r\n" % (LISTED, EVIL) + code
        self.process = subprocess.Popen([*argv, *self.gate_of.argv(sys.executable, "-uc", code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.seen = set()

    def gates(self):
        found = children(self.process.pid, "carrel-gate")
        self.seen.update(found)
        return found

    def gate(self):
        return until("the gate is there", self.gates)[0]

    def hear(self):
        return self.process.stdout.readline().decode().strip()

    def say(self, word=""):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        """Its last output, and what is wrong: a status, a process that stays."""
        self.gates()
        inside = children(self.process.pid, self.gate_of.program)
        try:
            out, err = self.process.communicate(timeout=ALWAYS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
        wrong = [] if self.process.returncode == 0 else ["status %d: %s" % (self.process.returncode, err.decode(errors="replace")[-1200:])]
        until("gate and wall end with their command", lambda: not any(os.path.exists("/proc/%d" % p) for p in self.seen | set(inside)))
        return out.decode(), wrong


def greeting():
    """The first bytes of a TLS client, for load.test."""
    said, heard = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(heard, said, server_hostname="load.test").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return said.read()


MANY = '''
hello = bytes.fromhex(%r)
to, lot = address("load.test"), []
def more(count):
    for _ in range(count):
        s = socket.socket(); s.settimeout(60); s.connect((to, 443)); s.sendall(hello); lot.append(s)
        assert s.recv(1) == b"!"
'''


def how_many():
    """The relays that a gate with the most descriptors permits for one wall: two sockets each, from
    three quarters of what is left beside pipes and its own.
    """
    return min(RELAYS, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 64 - 2 * 1024) * 3 // 8 - 200)


def many_relays(world, relays):
    before = world.open
    b = Behind(MANY % greeting().hex() + '''
for _ in range(2):
    more(%d); print(len(lot)); sys.stdin.readline()
s = socket.create_connection((address("raw.test"), 9000), 60); s.sendall(b"ping"); print(s.recv(10) == b"pong")
for s in lot[::100]: s.sendall(hello)
print(all(s.recv(1) == b"!" for s in lot[::100]))
try: s = socket.create_connection((EVIL, 443), 60); s.sendall(hello); s.recv(1); print("ended")
except OSError: print("ended")
''' % (relays // 2))
    gate = b.gate()
    sizes = [status_kib(gate)]
    for _ in range(2):
        b.hear()
        sizes.append(status_kib(gate))
        held = world.open - before
        b.say()
    out, wrong = b.end()
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    check("%d TLS relays are open at once, and one more is served" % relays,
          not wrong and held >= relays and out.split() == ["True", "True", "ended"], wrong, held, out)
    check("each of them costs the gate the same, and little", second <= first * 1.25 and first + second < relays * 4, sizes)
    print("# memory of the gate: %d KiB idle, %d KiB with %d relays: %.1f KiB each" % (sizes[0], sizes[2], relays, (sizes[2] - sizes[0]) / relays), flush=True)
    until("the origin's connections end too", lambda: world.open <= before)


def slow_peers(world):
    b = Behind('''
to = (address("raw.test"), 9000)
def begin(word):
    s = socket.create_connection(to, 60); s.sendall(word); return s
def quick():
    start, s, got = time.monotonic(), begin(b"some"), hashlib.sha256()
    for data in iter(lambda: s.recv(1 << 18), b""): got.update(data)
    return got.hexdigest(), time.monotonic() - start
alone = min(quick() for _ in range(TRIES))
readers = [begin(b"pour") for _ in range(100)]
writers = [begin(b"slow") for _ in range(100)]
for s in writers: s.setblocking(False)
heard, is_over = [0], []
def slowly():
    while not is_over:
        for s in readers: heard[0] += len(s.recv(1))
        for s in writers:
            try: s.send(b"x" * 65536)
            except BlockingIOError: pass
        time.sleep(0.2)
thread = threading.Thread(target=slowly); thread.start()
while heard[0] < 200: time.sleep(.01)
beside = min(quick() for _ in range(TRIES))
now = heard[0]
while heard[0] < now + 100: time.sleep(.01)
is_over.append(1); thread.join()
print(alone[0], beside[0], alone[1], beside[1])
'''.replace("TRIES", str(TRIES)))
    slow_is_over = threading.Event()

    def read_slowly():
        while not slow_is_over.wait(0.2):
            for peer in list(world.slow):
                try:
                    peer.recv(1)
                except OSError:
                    pass
    threading.Thread(target=read_slowly, daemon=True).start()
    out, wrong = b.end()
    slow_is_over.set()
    for peer in world.slow:
        peer.close()
    words = out.split()
    check("beside two hundred slow peers, both ways, a quick one gets all its bytes, and the slow ones go on", not wrong and words[:2] == [RIGHT, RIGHT], wrong, out)
    if len(words) == 4:
        print("# %d MiB alone %.2f s, beside slow ones %.2f s" % (POURED >> 20, *(float(w) for w in words[2:])), flush=True)


def full_queue(world):
    b = Behind('''
to, lot, wait = (address("raw.test"), 9000), [], select.epoll()
print("ready"); sys.stdin.readline()
for i in range(3000):
    s = socket.socket(); s.setblocking(False); s.connect_ex(to); lot.append(s)
    wait.register(s, select.EPOLLOUT | select.EPOLLONESHOT)
stood = 0
while stood < 1024: stood += len(wait.poll())
print(stood); sys.stdin.readline()
for s in lot: s.setblocking(True); s.settimeout(60)
answered = 0
for s in lot:
    p = select.poll(); p.register(s, select.POLLOUT); p.poll(60000)
    s.sendall(b"ping"); answered += s.recv(10) == b"pong"
print("answered", answered)
''')
    b.hear()
    before, gate = world.accepted, b.gate()
    os.kill(gate, signal.SIGSTOP)
    b.say()
    stood, reached = b.hear(), world.accepted - before
    os.kill(gate, signal.SIGCONT)
    b.say()
    out, wrong = b.end()
    check("3,000 connections to a gate that is stopped: its queue fills, nothing passes, and all are served when it goes on",
          not wrong and int(stood or 0) >= 1024 and reached == 0 and out == "answered 3000\n", wrong, stood, reached, out)


def stopped_often(world):
    b = Behind('''
to = (address("raw.test"), 9000)
print("ready"); sys.stdin.readline()
s, got, size = socket.create_connection(to, 60), hashlib.sha256(), 0
s.sendall(b"some")
for data in iter(lambda: s.recv(1 << 18), b""):
    got.update(data)
    if (size + len(data)) // STEP > size // STEP: print("more", flush=True); sys.stdin.readline()
    size += len(data)
print(got.hexdigest())
'''.replace("STEP", str(POURED // 32)))
    b.hear()
    gate, turns = b.gate(), 0
    b.say()
    while (word := b.hear()) == "more":
        os.kill(gate, signal.SIGSTOP)
        b.say()
        turns += 1
        until("the gate is stopped", lambda: open("/proc/%d/stat" % gate).read().rpartition(")")[2].split()[0] == "T")
        os.kill(gate, signal.SIGCONT)
    _, wrong = b.end()
    check("stopped and let go in the middle of %d MiB, again and again: each byte arrives" % (POURED >> 20), not wrong and turns >= 20 and word == RIGHT, wrong, turns, word)


KILLED = MANY + '''
more(HELD)
print("ready")
for line in sys.stdin:
    ends = 0
    for s in lot:
        try: ends += s.recv(1) == b""
        except ConnectionResetError: ends += 1
    opened = []
    for there in ((EVIL, 80), (EVIL, 443), (EVIL, 9000), ("198.18.99.99", 9000)):
        try:
            s = socket.create_connection(there, 2); s.settimeout(30); s.sendall(hello)
            if s.recv(1) == b"!": opened.append(there)
        except OSError: pass
    try: opened += ask("evil.test")[1]
    except OSError: pass
    lot.clear(); more(HELD)
    print(ends, len(lot), opened)
'''


def killed_often(world):
    b = Behind((KILLED % greeting().hex()).replace("HELD", str(HELD)))
    b.hear()
    evil, told, wrong = world.evil, [], []
    for _ in range(KILLS):
        old = b.gate()
        os.kill(old, signal.SIGKILL)
        b.say()
        told.append(b.hear())
        until("another gate", lambda: [g for g in b.gates() if g != old])
    b.process.stdin.close()
    b.process.stdin = None
    _, wrong = b.end()
    check("killed %d times with %d relays: all of them end, the next gate serves, and nothing that is not listed opens meanwhile" % (KILLS, HELD),
          not wrong and told == ["%d %d []" % (HELD, HELD)] * KILLS and world.evil == evil, wrong, told, world.evil - evil)
    until("the origin's connections end too", lambda: world.open == 0)


def few_descriptors(world):
    evil = world.evil
    b = Behind('''
to, lot, answered = (address("raw.test"), 9000), [], 0
first = socket.create_connection(to, 60); first.sendall(b"ping"); print(first.recv(10) == b"pong")
for _ in range(25):
    try: s = socket.create_connection(to, 60); s.sendall(b"ping"); lot.append(s)
    except ConnectionError: pass       # refused at once
for s in lot[:3]: answered += s.recv(10) == b"pong"
try: socket.create_connection((EVIL, 9000), 1).recv(1)
except OSError: pass
first.sendall(b"ping"); print(first.recv(10) == b"pong", answered)
for s in lot: s.close()
def again():
    try:
        s = socket.create_connection(to, 60); s.settimeout(60); s.sendall(b"ping"); return s.recv(10) == b"pong"
    except ConnectionError: return False
while not again(): time.sleep(.05)
print("again")
''', ("sh", "-c", 'ulimit -n 64; exec "$@"', "sh"))
    out, wrong = b.end()
    check("with 64 descriptors what stands goes on, nothing else opens, and it recovers", not wrong and out == "True\nTrue 3\nagain\n" and world.evil == evil, wrong, out)


def main():
    enter()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    world = World()
    relays = how_many() // 2 * 2
    if relays < RELAYS:
        print("# a process may have only %d descriptors here: %d relays instead of %d" % (hard, relays, RELAYS), flush=True)
    if relays >= 1000:
        many_relays(world, relays)
    else:
        report("thousands of TLS relays are open at once", skip="a process may have only %d descriptors here" % hard)
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    for row, needed in ((slow_peers, 1024), (full_queue, 4096), (stopped_often, 256), (killed_often, 2048), (few_descriptors, 256)):
        if files >= needed:
            row(world)
        else:
            report(row.__name__.replace("_", " "), skip="a process may have only %d descriptors here" % files)
    check("in all of this nothing that is not listed was reached", world.evil == 0, world.evil)
    end()


if __name__ == "__main__":
    main()
