#!/usr/bin/env python3
"""egress_attack_test - less obvious ways around the wall: lists that change under a connection,
this machine's own public addresses, names that a proxy asks for, descriptors and signals that a
command can reach, hostile resolvers and servers, listeners that pretend to be the gate's.

Each row has a payload that would have passed without the check; the expected output is printed with
the row.
"""
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, check, end, until
from wire import KIND, head
from gate_rig import A, AAAA, PRELUDE, ROUTED, Gate, Names, Origin, Result, enter, read_name

OWN = "203.1.113.7"          # not a special address: stands for this machine's public one
OWN6 = "2a00:1234::7"
NEAR6 = "2a00:5678::8"       # stands for this machine, which is 2a00:5678::7 there
ID_LEN = 32


class Hostile:
    """A name server that answers from `table`: a function of (question, kind, name) that returns
    whole answers, or None.
    """

    def __init__(self, at, answer):
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(at)
        self.answer = answer
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            data, client = self.socket.recvfrom(4096)
            name, at = read_name(data, 12)
            kind = struct.unpack(">H", data[at:at + 2])[0]
            self.asked.append((name.lower(), kind))
            for reply in self.answer(data, data[12:at + 4], kind, name.lower()) or ():
                self.socket.sendto(reply, client)


def pack(name):
    return b"".join(bytes([len(p)]) + p for p in name.split(b".") if p) + b"\0"


def record(owner, kind, raw, ttl=0):
    return owner + struct.pack(">HHIH", kind, 1, ttl, len(raw)) + raw


def reply(data, question, records, flags=0x8180):
    return data[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0) + question + b"".join(records)


def hostile(data, question, kind, name):
    here, loop = b"\xc0\x0c", socket.inet_aton("127.0.0.66")
    v4, bad4 = socket.inet_aton("127.0.0.2"), socket.inet_aton("169.254.169.254")
    if name == "cname.test" and kind == A:             # a chain to another name, with its address
        return [reply(data, question, [record(here, 5, pack(b"evil.test")), record(pack(b"evil.test"), A, v4)])]
    if name == "odd.test" and kind == A:               # names with any byte
        return [reply(data, question, [record(here, 5, b"\x05a\0.\x1b\xff\x04test\0"), record(b"\x05a\0.\x1b\xff\x04test\0", A, v4)])]
    if name == "loop.test":                            # a pointer to itself
        return [reply(data, question, [b"\xc0" + bytes([12 + len(question)]) + struct.pack(">HHIH", A, 1, 0, 4) + v4])]
    if name == "many.test" and kind == A:              # as much as a datagram holds; the good one last
        return [reply(data, question, [record(here, A, bad4)] * 200 + [record(here, A, v4)])]
    if name == "half.test":                            # IPv4 is public, IPv6 is this machine
        return [reply(data, question, [record(here, kind, v4 if kind == A else socket.inet_pton(socket.AF_INET6, "::1"))])]
    if name == "forged.test" and kind == A:            # first answers with other ids and questions
        forged = reply(data, question, [record(here, A, loop)])
        return [bytes([forged[0] ^ 1]) + forged[1:], reply(data, pack(b"other.test") + question[-4:], [record(here, A, loop)]), reply(data, question, [record(here, A, v4)])]
    if name == "short.test":
        return [reply(data, question, [record(here, kind, v4)])[:k] for k in range(1, 40)]
    if name.endswith(".mute.test"):
        return None
    if name == "own.test":
        return [reply(data, question, [record(here, kind, socket.inet_aton(OWN) if kind == A else socket.inet_pton(socket.AF_INET6, OWN6))])]
    if name == "near.test":
        return [reply(data, question, [record(here, AAAA, socket.inet_pton(socket.AF_INET6, NEAR6))] if kind == AAAA else [])]
    table = {"api.test": v4, "evil.test": loop, "a.wild.test": v4, "raw.test": v4, "one.test": v4, "two.test": v4, "head.test": socket.inet_aton("127.0.0.3"), "hints.test": socket.inet_aton("127.0.0.4"), "early.test": socket.inet_aton("127.0.0.5")}
    if name in table or name.endswith(".wild.test"):
        return [reply(data, question, [record(here, A, table.get(name, v4))] if kind == A else [])]
    return [reply(data, question, [], 0x8183)]


NEIGHBOUR = """
import socket, subprocess, sys
print("made", flush=True); sys.stdin.readline()
subprocess.run(["ip", "addr", "add", sys.argv[1] + "/64", "dev", "far0", "nodad"], check=True)
subprocess.run(["ip", "link", "set", "far0", "up"], check=True)
s = socket.socket(socket.AF_INET6); s.bind((sys.argv[1], 80)); s.listen()
print("listens", flush=True)
while True:
    c = s.accept()[0]; c.recv(4096); c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n"); c.close()
"""


def greets(peer):
    peer.sendall(b"canary\r\n")
    while peer.recv(65536):
        pass


def world():
    subprocess.run(["ip", "addr", "add", OWN + "/32", "dev", "lo"], check=True)
    subprocess.run(["ip", "addr", "add", OWN6 + "/128", "dev", "lo", "nodad"], check=True)
    neighbour = subprocess.Popen(["unshare", "-n", "--", sys.executable, "-c", NEIGHBOUR, NEAR6], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    neighbour.stdout.readline()
    subprocess.run(["ip", "link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", str(neighbour.pid)], check=True)
    subprocess.run(["ip", "addr", "add", "2a00:5678::7/64", "dev", "near0", "nodad"], check=True)
    subprocess.run(["ip", "link", "set", "near0", "up"], check=True)
    neighbour.stdin.write(b"\n")
    neighbour.stdin.flush()
    neighbour.stdout.readline()
    w = type("World", (), {})()
    w.neighbour = neighbour
    w.names = Hostile(("127.0.0.1", 5300), hostile)
    w.api, w.evil = Origin("127.0.0.2", 80), Origin("127.0.0.66", 80)
    w.own, w.own6 = Origin(OWN, 80), Origin(OWN6, 80)
    w.raw = Origin("127.0.0.2", 2201, greets)
    return w


TAKEN = """
def taken(name, code):
    \"\"\"Once the gate goes by the list of now, a question about this name is answered so.\"\"\"
    for _ in range(1200):
        if ask(name)[0] == code: return
        time.sleep(0.05)
"""


def change(allow, narrow, code):
    """Runs the payload. When it prints "ready", the list is made narrower, and it continues."""
    g = Gate(allow)
    p = g.start(sys.executable, "-uc", PRELUDE + TAKEN + code)
    p.stdout.readline()
    with open(g.policy, "w") as f:
        f.write(narrow)
    p.send_signal(signal.SIGUSR1)
    out, err = p.communicate(b"\n", timeout=300)
    return out.decode(), err.decode()


# -- the list changes under a connection --------------------------------------------------------------------------

def lists():
    out, err = change(["evil.test", "api.test"], '["api.test"]', '''
s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(30)
h = socket.create_connection(("198.18.0.1", 3128), 60); h.settimeout(30); h.sendall(b"GET http://evil.test/half HTTP/1.1\\r\\n")
time.sleep(0.2)
print("ready"); sys.stdin.readline(); taken("evil.test", 3)
s.sendall(b"CONNECT evil.test:80 HTTP/1.1\\r\\nHost: evil.test:80\\r\\n\\r\\n")
try: print("connect", b" 200 " in s.recv(4096))
except OSError: print("connect", False)
h.sendall(b"Host: evil.test\\r\\n\\r\\n")
try: print("plain", b" 200 " in h.recv(4096))
except OSError: print("plain", False)
''')
    check("a proxy connection opened before the list was narrowed is judged by the list of now", out == "connect False\nplain False\n", out, err)
    out, err = change(["evil.test", "api.test"], '["api.test"]', '''
a = address("evil.test")
s = socket.create_connection((a, 80), 60); s.settimeout(30); s.sendall(b"GET /half HTTP/1.1\\r\\n"); time.sleep(0.2)
print("ready"); sys.stdin.readline(); taken("evil.test", 3)
try:
    s.sendall(b"Host: evil.test\\r\\n\\r\\n"); print(b"200 OK" in s.recv(4096))
except OSError: print(False)
''')
    check("half a greeting does not outlive its list", out == "False\n", out, err)
    out, err = change(["api.test", "raw.test:2201"], "[]", '''
a, r = address("api.test"), address("raw.test")
s = socket.create_connection((r, 2201), 60); s.settimeout(30); s.recv(8)
print("ready"); sys.stdin.readline(); taken("api.test", 3)
try: print(s.recv(10) == b"")
except OSError as e: print(errno.errorcode.get(e.errno))
print(ask("api.test")[0], "403" in talk(a, 80, get("api.test")), talk(r, 2201, b""))
''')
    check("a list that becomes empty lets nothing through, and says so", out.split() == ["ECONNRESET", "3", "True", "ECONNRESET"], out, err)


def signals():
    g = Gate(["api.test"])
    r = g.python('''
open(%r, "w").write('["evil.test"]')
carrel = supervisors()[-1]
for pid in supervisors(): os.kill(pid, 10)
time.sleep(0.3)
if os.fork() == 0:
    os.kill(os.getppid(), 0); os.kill(carrel, 10); os._exit(0)
os.wait(); time.sleep(0.3)
import ctypes
libc = ctypes.CDLL(None)
info = struct.pack("=iiiiiI", 10, 0, -1, 0, int(os.environ["FRIEND"]), os.getuid()) + bytes(104)
libc.syscall(129, carrel, 10, info); time.sleep(0.3)
print(ask("evil.test")[0], ask("api.test")[0])
''' % g.policy, env=dict(g.env, FRIEND=str(os.getpid())))
    check("a command that writes its own policy and asks for it to be read is not obeyed", r.out.split()[-2:] == ["3", "0"], r)
    g = Gate(["api.test"])
    p = g.start(sys.executable, "-uc", PRELUDE + TAKEN + 'print("ready"); sys.stdin.readline(); taken("evil.test", 0); print(ask("evil.test")[0])')
    p.stdout.readline()
    with open(g.policy, "w") as f:
        f.write('["evil.test"]')
    p.send_signal(signal.SIGUSR1)
    out, err = p.communicate(b"\n", timeout=300)
    check("and who is outside is obeyed", out == b"0\n", out, err)


def descriptors():
    g = Gate(["api.test"])
    s = socket.create_connection(("127.0.0.2", 80))
    code = '''
import ctypes
libc = ctypes.CDLL(None)
def way(fd):
    try: s = socket.socket(fileno=os.dup(fd))
    except OSError: return False
    libc.connect(s.fileno(), struct.pack("=H14x", 0), 16)
    try:
        s.connect(("127.0.0.66", 80)); s.sendall(get("evil.test")); s.settimeout(30); return b"200 OK" in s.recv(4096)
    except OSError: return False
print([fd for fd in range(0, 100) if way(fd)])
'''
    done = subprocess.run(g.argv(sys.executable, "-c", PRELUDE + code), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[s.fileno()], timeout=ALWAYS)
    check("a socket that the caller left open is closed to the command", done.stdout.strip() == b"[]", done)
    done = subprocess.run(g.argv(sys.executable, "-c", PRELUDE + code), stdin=s, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("and so is one that is its standard input: it is not begun", done.returncode == 125 and b"invalid_argument" in done.stdout, done)


# -- hostile names ---------------------------------------------------------------------------------------------------

def own_addresses(w):
    r = Gate(["own.test"], networks=()).python('print("200 OK" in talk(address("own.test"), 80, get("own.test"), 8))')
    check("H18 this machine's own public addresses are not dialled", r.out == "False\n" and r.codes() == ["private_address"] and len(w.own.said) + len(w.own6.said) == 0, r)
    for network in (OWN + "/32", OWN6 + "/128"):
        r = Gate(["own.test"], networks=(network,)).python('print("200 OK" in talk(address("own.test"), 80, get("own.test"), 8))')
        check("H18 unless the operator names them: %s" % network, r.out == "True\n", r)


def neighbours():
    code = 'print("200 OK" in talk(address("near.test", 28), 80, get("near.test"), 20))'
    r = Gate(["near.test"], networks=()).python(code)
    check("H18 who stands in this machine's own IPv6 network is not dialled", r.out == "False\n" and r.codes() == ["private_address"], r)
    r = Gate(["near.test"], networks=("2a00:5678::/64",)).python(code)
    check("H18 unless the operator names that network", r.out == "True\n", r)


def resolvers(w):
    before = len(w.evil.said)
    r = Gate(["%s.test" % n for n in ("cname", "odd", "loop", "many", "half", "forged", "short")]).python('''
for name in ("cname", "odd", "many", "half", "forged"):
    print(name, "200 OK" in talk(address(name + ".test"), 80, get(name + ".test"), 15))
for name in ("loop", "short"):
    print(name, "502" in talk(address(name + ".test"), 80, get(name + ".test"), 25))
''')
    words = dict(line.split() for line in r.out.splitlines())
    check("a hostile resolver: chains, odd bytes, loops, floods, forgeries and stumps end in the vetted address or in 502",
          words == {"cname": "True", "odd": words.get("odd"), "many": words.get("many"), "half": "True", "forged": "True", "loop": "True", "short": "True"}, r)
    check("and nobody else was reached", len(w.evil.said) == before, w.evil.said)


def tunnel(w):
    before = len(w.names.asked)
    r = Gate(["*.wild.test"]).python('''
passed = 0
for i in range(400):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(30)
    name = "%03d-%s.wild.test" % (i, "x" * 50)
    s.sendall(("GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (name, name)).encode())
    try: passed += b"200 OK" in s.recv(4096)
    except OSError: pass
    s.close()
print(passed)
''')
    names = {n for n, _ in w.names.asked[before:]}
    check("H11 new names that a proxy is asked for are counted as those that DNS is asked for", len(names) < 300 and "too_many_names" in r.codes(), len(names), r)
    r = Gate(["api.test"]).python('''
good = 0
for i in range(300):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(30)
    s.sendall(b"GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"); good += b"200 OK" in s.recv(4096); s.close()
print(good)
''')
    check("H11 and one name as often as anybody likes", r.out == "300\n" and not r.denials, r)


# -- hostile servers ---------------------------------------------------------------------------------------------------

def endless(first, again):
    def handle(peer):
        peer.recv(65536)
        peer.sendall(first)
        while True:
            peer.sendall(again * 1000)
    return handle


def upstream():
    lot = [Origin("127.0.0.3", 80, endless(b"HTTP/1.1 200 OK\r\n", b"X-More: of the same\r\n")),
           Origin("127.0.0.4", 80, endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")),
           Origin("127.0.0.5", 80, endless(b"HTTP/1.1 100 Continue\r\n", b"X-More: of the same\r\n"))]
    g = Gate(["api.test", "head.test", "hints.test", "early.test"])
    p = g.start(sys.executable, "-uc", PRELUDE + '''
def begin(name, upgrade):
    s = socket.create_connection((address(name), 80), 60); s.settimeout(60)
    s.sendall(("GET / HTTP/1.1\\r\\nHost: %s\\r\\n" % name + ("Connection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\\r\\n" if upgrade else "") + "\\r\\n").encode())
    return s
def amount(s, most):
    got = 0
    try:
        while got < most and (more := s.recv(1 << 20)): got += len(more)
    except OSError as e: return errno.errorcode.get(e.errno)
    return got >= most
for name in ("head.test", "hints.test", "early.test"):
    print(name, amount(begin(name, False), 8 << 20), amount(begin(name, True), 8 << 20))
unread = [begin(name, upgrade) for name in ("head.test", "hints.test", "early.test") for upgrade in (False, True) for _ in range(20)]
print("neighbour", "200 OK" in talk(address("api.test"), 80, get("api.test")))
sys.stdin.readline()
''')
    said = [p.stdout.readline().decode().strip() for _ in range(4)]
    with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
        gates = [pid for pid in f.read().split() if open("/proc/%s/comm" % pid).read() == "carrel-gate\n"]
    with open("/proc/%s/status" % gates[0]) as f:
        most = int(next(line for line in f if line.startswith("VmHWM")).split()[1])
    p.communicate(b"\n", timeout=ALWAYS)
    check("H19 a server whose head, or whose answers that are none yet, have no end: passed on, or reset where a change of protocol waits for it; the next server answers",
          said == ["head.test True True", "hints.test True ECONNRESET", "early.test True ECONNRESET", "neighbour True"], said)
    check("H19 and the gate keeps none of it", most < 32 * 1024, "%d KiB" % most)
    assert lot


# -- bytes ------------------------------------------------------------------------------------------------------------

def urgent():
    got = []

    def origin(peer):
        peer.sendall(b"hello\n")
        data = b""
        while b"end" not in data:
            more = peer.recv(4096)
            if not more:
                break
            data += more
        got.append(data)
        peer.send(b"a", socket.MSG_OOB)
        peer.sendall(b"bytes behind an urgent one")
    Origin("127.0.0.2", 2202, origin)
    r = Gate(["raw.test:2202"]).python('''
s = socket.create_connection((address("raw.test"), 2202), 60); s.settimeout(30)
s.recv(6)
s.send(b"u", socket.MSG_OOB); s.sendall(b"end")
got = b""
try:
    while True:
        more = s.recv(4096)
        if not more: break
        got += more
except OSError as e: got += b" " + str(e).encode()
print(got.endswith(b"bytes behind an urgent one"), got)
''')
    check("bytes behind an urgent one come through, both ways", r.out.startswith("True") and got and got[0].endswith(b"end"), r, got)


# -- from within ---------------------------------------------------------------------------------------------------------

def payloads(w):
    before = len(w.evil.said)
    r = Gate(["api.test", "raw.test:2201"]).python('''
a, r = address("api.test"), address("raw.test")
taken, kept = [], []
for host, port in ((a, 443), ("198.18.0.1", 53), ("198.18.0.1", 3128), ("0.0.0.0", 443), ("0.0.0.0", 3128), ("::", 80), (r, 2201), ("0.0.0.0", 2201), ("::", 2201)):
    for options in ((), (2,), (15,), (2, 15)):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM) if port == 53 else (socket.SOCK_STREAM,):
            s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
            for o in options: s.setsockopt(1, o, 1)
            try: s.bind((host, port)); kind == socket.SOCK_STREAM and s.listen(); taken.append((host, port)); kept.append(s)
            except OSError: s.close()
print(taken)
print("200 OK" in talk("::ffff:" + a, 80, get("api.test")))
reached = []
def reach(to): "200 OK" in talk(to, 80, get("evil.test"), 4) and reached.append(to)
lot = [threading.Thread(target=reach, args=(to,)) for to in ("0.0.0.0", "255.255.255.255", "224.0.0.1", "127.0.0.1", "198.18.0.1", "198.19.255.255", "::", "::1", "ff02::1", "::ffff:127.0.0.66", "fd00::1")]
for t in lot: t.start()
for t in lot: t.join()
print(reached)
os.system("ip route add default dev lo; ip link add x0 type dummy; ip addr add 198.18.7.7/32 dev lo; ip route del local 0.0.0.0/0 dev lo table local")
print("200 OK" in talk(a, 80, get("api.test")))
with socket.create_connection((r, 2201), 60) as s: print(s.recv(6) == b"canary")
q = b"\\x12\\x34" + struct.pack(">HHHHH", 0x100, 1, 0, 0, 0) + b"\\3api\\4test\\0" + struct.pack(">HH", 1, 1)
s = socket.create_connection(("8.8.8.8", 53), 60); s.settimeout(30); s.sendall((struct.pack(">H", len(q)) + q) * 100)
got = b""
while len(got) < 4400 and (more := s.recv(65536)): got += more
lot = [socket.create_connection(("1.1.1.1", 53), 60) for _ in range(100)]
print(len(got), ask("api.test")[0])
''')
    free = [("0.0.0.0", 443), ("0.0.0.0", 3128), ("::", 80), ("0.0.0.0", 2201)] if ROUTED else []      # inside the wall they belong to the sandbox; none is at the gate's address
    check("ports of the gate are nobody else's, other spellings lead nowhere else, its routes stay, who listens everywhere is in no name's way, and its name server is patient",
          r.out.split("\n")[:6] == [str(free), "True", "[]", "True", "True", "4400 0"] and len(w.evil.said) == before, r)


# -- a box that was taken over ------------------------------------------------------------------------------------------

class Box:
    """Acts as keeper and box for a gate, and sends any message. `prefix`: what starts the gate."""

    def __init__(self, *prefix, resolvers=("127.0.0.1:5300",)):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.set_inheritable(theirs.fileno(), True)
        self.gate = subprocess.Popen([*prefix, os.path.join(os.path.dirname(CARREL), "carrel-gate"), "--keeper-fd", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        theirs.close()
        self.control.settimeout(30)
        text = b"".join(r.encode() + b"\0" for r in resolvers) + b"127.0.0.0/8\0"
        self.say(self.control, "GATE_CONFIG", struct.pack("=IIII", len(resolvers), 1, len(text), 0) + text)

    def say(self, to, kind, body=b"", fds=()):
        socket.send_fds(to, [head(kind) + body], list(fds))

    def add(self, wall, allow, sockets):
        """The box's end of the link, and the messages that the gate sends to it."""
        link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.settimeout(30)
        text = b"".join(a.encode() + b"\0" for a in allow)
        policy = struct.pack("=IIIIIIIIQQQII", wall, 1, len(allow), 0, len(text), 0, 0, 0, 0, 0, 0, 0, 0) + b"box".ljust(ID_LEN, b"\0")
        self.say(self.control, "GATE_ADD", policy + text + bytes(-len(policy + text) % 8), [theirs.fileno(), *(s.fileno() for s in sockets)])
        theirs.close()
        data = b""
        while data[:8] != head("GATE_ADDED"):          # it reports walls that ended too
            data = self.control.recv(1000)
            if not data:
                raise AssertionError("the gate ended")
        return link, struct.unpack("=IIiI", data[8:])[2]

    def wants(self):
        """Seconds that the gate has run, or waited for a processor: a gate that is always busy has
        as many as the clock, also on a busy machine.
        """
        with open("/proc/%d/schedstat" % self.gate.pid) as f:
            wants = sum(map(int, f.read().split()[:2])) / 1e9
        assert wants > 0, "this kernel does not count it"
        return wants


def diag():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)


def stream(port, host="::"):
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.setsockopt(41, 26, 0)
    s.bind((host, port))
    s.listen(1024)
    s.setblocking(False)
    return s


def datagrams(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(41, 26, 0)
    s.setsockopt(41, 49, 1)
    s.setsockopt(0, 8, 1)
    s.bind(("::", port))
    s.setblocking(False)
    return s


def asks(port, name, kind=A):
    """Code and addresses that a wall's name server returns."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(30)
    s.connect(("127.0.0.1", port))
    s.send(b"\x12\x34" + struct.pack(">HHHHH", 0x100, 1, 0, 0, 0) + pack(name.encode()) + struct.pack(">HH", kind, 1))
    try:
        data = s.recv(2000)
        return data[3] & 15
    except socket.timeout:
        return "timeout"


def pipe_full():
    r, w = os.pipe()
    os.write(w, b"x" * 4096)
    os.set_blocking(r, False)
    return type("Pipe", (), {"fileno": lambda self: r, "writer": w})()


def unix_listener(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.bind(name)
    s.listen(8)
    return s


def boxes():
    b = Box()
    mine = [diag(), datagrams(6053), stream(6054), stream(6080), stream(6443), stream(6128)]
    first, sys_ = b.add(1, ["api.test"], mine)
    b.say(first, "WALL_BEGIN")
    check("a gate of our own serves a wall", sys_ == 0 and asks(6053, "api.test") == 0 and asks(6053, "evil.test") == 3, sys_)

    def load():
        before, begin = b.wants(), time.monotonic()
        time.sleep(0.15)
        return (b.wants() - before) / (time.monotonic() - begin)

    def is_well(what):
        answers = [asks(6053, "api.test") for _ in range(5)]
        loads = [load()]
        while loads[-1] >= 0.4 and len(loads) < 5:     # it may still be busy with the start, or have waited for a processor once
            loads.append(load())
        check("%s: the neighbour is served, and the gate rests" % what, answers == [0] * 5 and loads[-1] < 0.4 and b.gate.poll() is None, answers, loads, b.gate.poll())

    number = 1

    def hostile_wall(sockets, allow=("evil.test",), begin=True):
        nonlocal number
        number += 1
        link, sys_ = b.add(number, list(allow), sockets)
        if begin and sys_ == 0:
            try:
                b.say(link, "WALL_BEGIN")
            except OSError:
                pass
        return link, sys_

    keep = [hostile_wall([pipe_full() for _ in range(6)])]
    is_well("a box whose sockets are pipes that hold bytes")
    s = [diag(), datagrams(6153), stream(6154), stream(6180), stream(6543), stream(6228)]
    keep.append(hostile_wall(s))
    for one in s[1:]:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
    is_well("a box that shuts its sockets down behind the gate's back")
    flooded, flood = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    s = [flooded, datagrams(6253), stream(6254), stream(6280), stream(6643), stream(6328)]
    keep.append(hostile_wall(s))
    is_over = threading.Event()

    def pour():
        while not is_over.is_set():
            try:
                flood.send(b"y" * 100, socket.MSG_DONTWAIT)
            except OSError:
                pass
    threading.Thread(target=pour, daemon=True).start()
    for _ in range(20):
        asks(6253, "nobody.test")
    is_over.set()
    is_well("a box whose sock_diag never runs dry")
    for what, kind, body in (("a name after the beginning", "WALL_NAMED", struct.pack("=II", 300, 0) + b"evil.test".ljust(256, b"\0")),
                             ("an index that is the gate's own", "WALL_NAMED", struct.pack("=II", 1, 0) + b"evil.test".ljust(256, b"\0")),
                             ("an answer that nobody asked for", "WALL_LISTENED", struct.pack("=Ii", 77, 5)),
                             ("a stump", "WALL_LISTENED", b"x"), ("a message of the keeper's", "GATE_SET", bytes(200)), ("a long one", "WALL_NAMED", bytes(100000))):
        s = [diag(), datagrams(0), stream(0), stream(0), stream(0), stream(0)]
        link, _ = hostile_wall(s)
        b.say(link, kind, body)
        is_well("a box that says %s" % what)
    link, _ = hostile_wall([diag(), datagrams(0), stream(0), stream(6380), stream(0), stream(0)], allow=["api.test"], begin=False)
    b.say(link, "WALL_NAMED", struct.pack("=II", 300, 0) + b"evil.test".ljust(256, b"\0"))
    b.say(link, "WALL_BEGIN")
    subprocess.run(["ip", "addr", "add", "198.18.1.44/32", "dev", "lo"], check=True)
    got = b""
    try:
        with socket.create_connection(("198.18.1.44", 6380), 60) as c:
            c.settimeout(30)
            c.sendall(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
            got = c.recv(4096)
    except OSError:
        pass
    check("a name that a box restores opens nothing that its list does not", b"200 OK" not in got, got)
    s = [diag(), datagrams(6453), stream(0), stream(0), stream(0), stream(0)]
    link, _ = hostile_wall(s, allow=["db.test:5432"])
    threading.Thread(target=asks, args=(6453, "db.test"), daemon=True).start()
    kinds = []
    while len(kinds) < 2:
        data = link.recv(1000)
        kinds.append(struct.unpack("=IHH", data[:8])[2])
        if kinds[-1] == KIND["WALL_LISTEN"]:
            request = struct.unpack("=I", data[8:12])[0]
    folder = tempfile.mkdtemp()
    unix = unix_listener(os.path.join(folder, "s"))
    b.say(link, "WALL_LISTENED", struct.pack("=Ii", request, 0), [pipe_full().fileno(), unix.fileno()])
    knock = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(4)]
    for k in knock:
        k.connect(os.path.join(folder, "s"))
    is_well("a box whose listener is a pipe, or a unix socket that is connected to")
    b.control.close()
    check("without its keeper a gate ends, and says nothing of a sanitizer", b.gate.wait(300) == 0 and b"Sanitizer" not in b.gate.stderr.read(), b.gate.returncode)


def main(only=()):
    enter()
    w = world()
    for rows in (lists, signals, descriptors, own_addresses, neighbours, resolvers, tunnel, upstream, urgent, payloads, boxes):
        if only and rows.__name__ not in only:
            continue
        try:
            rows(w) if rows.__code__.co_argcount else rows()
        except Exception as e:                         # noqa: BLE001 - a row that breaks is a row that fails, and the others go on
            check("%s ran" % rows.__name__, False, repr(e), traceback.format_exc())
    w.neighbour.kill()
    end()


if __name__ == "__main__":
    main(sys.argv[1:])
