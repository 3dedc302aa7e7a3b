#!/usr/bin/env python3
"""gate_test - `carrel gate`: what is listed works as it would without it, what is not is refused
with a reason, and a gate that dies opens nothing.
"""
import errno
import hashlib
import json
import os
import pty
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, DEEP, check, end, report, until
from gate_rig import PRELUDE, Authority, Gate, Names, Origin, Result, enter, is_mapped
from test_clock import Clock

MB = 1 << 20
MANY = 10000 if DEEP else 2000     # connections at once


def first_words(peer):
    """Sends first, then returns everything in capitals, and at the end the number of bytes."""
    peer.sendall(b"220 welcome\n")
    count = 0
    while True:
        data = peer.recv(65536)
        if not data:
            break
        count += len(data)
        peer.sendall(data.upper())
    peer.sendall(b"%d\n" % count)


def bulk(peer):
    """Sends 32 MB while it reads all input, and then the digest of the input."""
    import threading
    taken = hashlib.sha256()

    def take():
        while True:
            try:
                data = peer.recv(1 << 18)
            except OSError:
                return
            if not data:
                return
            taken.update(data)
    thread = threading.Thread(target=take)
    thread.start()
    for i in range(32):
        peer.sendall(bytes([i]) * MB)
    thread.join()
    peer.sendall(taken.digest())


def websocket(peer):
    data = b""
    while b"\r\n\r\n" not in data and (more := peer.recv(65536)):
        data += more
    peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    while True:
        data = peer.recv(65536)
        if not data:
            return
        peer.sendall(b"frame:" + data)


def own_group():
    """The number of the cgroup v2 that this process is in, or 0."""
    with open("/proc/self/cgroup") as f:
        path = next((line.strip()[3:] for line in f if line.startswith("0::")), None)
    for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if path is not None and os.path.exists(top + "/cgroup.controllers"):
            return os.stat(top + path).st_ino
    return 0


def processes(name):
    """Ids of the programs with this name, by the first word of their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if f.read().split(b"\0")[0] == name.encode():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def child_gates(parent):
    found = []
    for pid in processes("carrel-gate"):
        try:
            with open("/proc/%d/stat" % pid) as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == parent:
                    found.append(pid)
        except OSError:
            pass
    return found


def names(g):
    r = g.python('''
for name, kind in (("api.test", 1), ("api.test", 28), ("API.Test", 1), ("api.test", 65), ("api.test", 16), ("nope.test", 1), ("deep.wild.test", 1), ("wild.test", 1)):
    print(name, kind, *ask(name, kind))
for server in ("8.8.8.8", "127.0.0.53", "fd00::53"):
    print(server, *ask("api.test", 1, server))
print("tcp", *ask("api.test", 1, tcp=True))
print("same", ask("api.test")[1] == ask("api.test")[1], ask("api.test")[1] != ask("deep.wild.test")[1])
''')
    want = ["api.test 1 0 ['198.18.1.0']", "api.test 28 0 ['fd63:6172:7265:6c00::100']", "API.Test 1 0 ['198.18.1.0']", "api.test 65 0 []", "api.test 16 0 []",
            "nope.test 1 3 []", "deep.wild.test 1 0 ['198.18.1.1']", "wild.test 1 0 []", "8.8.8.8 0 ['198.18.1.0']", "127.0.0.53 0 ['198.18.1.0']",
            "fd00::53 0 ['198.18.1.0']", "tcp 0 ['198.18.1.0']", "same True True"]
    check("names that are listed have an address of their own, on every server, over UDP and TCP; others have none", r.out.splitlines() == want, r)


def protocols(g, ca, origins):
    r = g.run("curl", "-sS", "--cacert", ca.path, "https://api.test/tls")
    check("curl over TLS", r.status == 0 and "/tls" in r.out and not r.denials, r)
    r = g.run("curl", "-sS", "--http2-prior-knowledge", "--max-time", "60", "http://h2.test/h2")
    check("HTTP/2 in clear text reaches its origin whole", any(b"PRI * HTTP/2.0" in s for s in origins["h2"].seen) and not r.denials, r, origins["h2"].seen)
    r = g.run("curl", "-sS", "http://api.test/one", "http://api.test/two", "-d", "x" * 100000)
    check("one connection, two requests with bodies", r.status == 0 and r.out.count('"body": 100000') == 2 and not r.denials, r)
    r = g.run("curl", "-sS", "--cacert", ca.path, "-x", "http://198.18.0.1:3128", "https://api.test/proxy")
    check("HTTPS_PROXY leads to the same gate", r.status == 0 and "/proxy" in r.out, r)
    r = g.run("curl", "-sS", "-x", "http://198.18.0.1:3128", "http://api.test/one", "http://api.test?two", "http://h3.wild.test/three", "-d", "x" * 100000, "-H", "Keep-Alive: 5")
    check("HTTP_PROXY too: requests in proxy form reach their origins in its own form, without what is the proxy's",
          r.status == 0 and 'POST /one HTTP/1.1\\r\\nHost: api.test\\r' in r.out and "POST /?two" in r.out and "POST /three" in r.out and r.out.count('"body": 100000') == 3 and
          "Proxy-" not in r.out and "Keep-Alive" not in r.out and r.out.count("Connection: close") == 3 and not r.denials, r)
    r = g.python('''
for kind in (1, 28):
    s = socket.create_connection((address("raw.test", kind), 5432), 60)
    print(s.recv(100)); s.sendall(b"select"); print(s.recv(100)); s.shutdown(socket.SHUT_WR); print(s.recv(100), s.recv(100))
''')
    check("host:port passes any protocol, the server may speak first, each side may end first", r.out.count("220 welcome") == 2 and r.out.count("SELECT") == 2 and
          r.out.count("b'6\\n' b''") == 2, r)
    r = g.python('''
s = socket.create_connection((address("ws.test"), 80), 60)
s.sendall(b"GET / HTTP/1.1\\r\\nHost: ws.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\\r\\n\\r\\n")
got = s.recv(4096)
while b"\\r\\n\\r\\n" not in got and (more := s.recv(4096)): got += more
s.sendall(b"\\x81\\x01x"); print(got[:12], s.recv(100))
''')
    check("a websocket opens and carries frames", "b'HTTP/1.1 101' b'frame:" in r.out, r)
    r = g.python('''
import hashlib
s = socket.create_connection((address("bulk.test"), 9000), 60)
s.settimeout(60)
mine, theirs = hashlib.sha256(), hashlib.sha256()
def send():
    for i in range(32):
        block = bytes([255 - i]) * (1 << 20)
        s.sendall(block); mine.update(block)
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=send); t.start()
data = bytearray()
while True:
    more = s.recv(1 << 18)
    if not more: break
    data += more
t.join()
theirs.update(data[:-32])
want = hashlib.sha256(b"".join(bytes([i]) * (1 << 20) for i in range(32))).digest()
print(len(data), theirs.digest() == want, bytes(data[-32:]) == mine.digest())
''')
    check("32 MB each way at once arrive as they were sent", r.out.strip() == "%d True True" % (32 * MB + 32), r)
    r = g.python('''
slow = [socket.create_connection((address("bulk.test"), 9000), 60) for _ in range(40)]
time.sleep(0.5)
print("200 OK" in talk(address("api.test"), 80, get("api.test")))
''')
    check("forty readers that do not read hold up nobody else", r.out.split() == ["True"], r)


def answers(peer):
    """/chunks in pieces, the last one when another connection requests `go`; /until ends with the
    connection; anything else at once.
    """
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = peer.recv(65536)
            if not more:
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        path = head.split(b" ")[1]
        if path == b"/go":
            GO.set()
        if path == b"/until":
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nendless")
        elif path == b"/chunks":
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            GO.wait(60)
            peer.sendall(b"4\r\nlast\r\n")
            peer.sendall(b"0\r\n\r\n")
        else:
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")


GO = threading.Event()

LATER = '''
def open_one():
    s = socket.create_connection((address("later.test"), 80), 5); s.settimeout(60)
    return s
def ask_for(path, host="later.test"): return ("GET %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (path, host)).encode()
def read_until(s, end, got=b""):
    while end not in got:
        more = s.recv(65536)
        if not more: break
        got += more
    return got
def rest(s, got=b""):
    try:
        while True:
            more = s.recv(65536)
            if not more: return got + b"<end>"
            got += more
    except OSError as e: return got + b"<" + errno.errorcode.get(e.errno, "timeout").encode() + b">"
def show(name, got): print(name, got.decode().replace("\\r\\n", "|").replace("\\n", "|"))
s = open_one(); s.sendall(ask_for("/")); read_until(s, b"hello")
s.sendall(ask_for("/", "other.test")); show("second", rest(s))
s = open_one(); s.sendall(ask_for("/")); read_until(s, b"hello")
s.sendall(ask_for("/a") + ask_for("/b") + ask_for("/", "other.test") + ask_for("/c")); show("behind", rest(s))
s = open_one(); s.sendall(ask_for("/chunks")); got = read_until(s, b"first")
s.sendall(ask_for("/", "other.test"))
time.sleep(0.2); t = open_one(); t.sendall(ask_for("/go")); read_until(t, b"hello")
show("waits", rest(s))
s = open_one(); s.sendall(ask_for("/until")); read_until(s, b"endless")
s.sendall(ask_for("/", "other.test")); show("until", rest(s))
s = open_one(); s.sendall(ask_for("/")); read_until(s, b"hello"); s.sendall(b"nonsense\\r\\n\\r\\n"); show("nonsense", rest(s))
'''


def later_refusals(g):
    r = g.python(LATER)
    said = dict(line.split(" ", 1) for line in r.out.splitlines() if " " in line)
    ours = "HTTP/1.1 403 Refused by the sandbox's gate|"
    check("a later request that is refused gets 403 as the first would", said.get("second", "").startswith(ours) and '"code":"host_mismatch"' in said["second"] and
          said["second"].endswith("<end>"), r)
    two = "HTTP/1.1 200 OK|Content-Length: 5||hello" * 2
    check("  behind the answers to those that were sent before it, and nothing behind it is answered", said.get("behind", "").startswith(two + ours) and
          said["behind"].endswith("<end>") and said["behind"].count("HTTP/1.1") == 3, r)
    check("  one in chunks too is waited for", said.get("waits", "").startswith("4|last|0||" + ours) and said["waits"].endswith("<end>"), r)
    check("  where an answer ends with its connection there is no room for ours: a reset", said.get("until") == "<ECONNRESET>", r)
    check("  what breaks the rules gets 400", said.get("nonsense", "").startswith("HTTP/1.1 400 "), r)
    check("  and each is told", sorted((d["code"], d["count"]) for d in r.denials) == [("host_mismatch", 4), ("malformed", 1)], r)


def slow_greeting():
    """Its time is ten seconds, on a clock that the test moves."""
    with Clock() as clock:
        g = Gate(["api.test"], program=os.path.join(clock.build, "carrel"))
        p = subprocess.Popen(g.argv(sys.executable, "-uc", PRELUDE + """
lot = [socket.create_connection((address("api.test"), port), 60) for port in (80, 443)]
for s, part in zip(lot, (b"GET / HT", b"\\x16\\x03")): s.settimeout(60); s.sendall(part)
print("begun"); sys.stdin.readline()
def late(s):
    try: return "end" if s.recv(1) == b"" else "answer"
    except OSError as e: return errno.errorcode.get(e.errno, "timeout")
lot[0].settimeout(0.3); print(late(lot[0])); sys.stdin.readline()
for s in lot: s.settimeout(60); print(late(s))
"""), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(g.env, **clock.env))
        said = [p.stdout.readline()]
        for seconds in (8, 3):
            clock.move(seconds)
            p.stdin.write(b"\n")
            p.stdin.flush()
            if seconds == 8:
                said.append(p.stdout.readline())
        out, err = p.communicate(timeout=ALWAYS)
        done = Result(subprocess.CompletedProcess(p.args, p.returncode, b"".join(said) + out, err))
    check("who greets and goes no further is reset when its time is over", done.out.split() == ["begun", "timeout", "ECONNRESET", "ECONNRESET"] and set(done.codes()) == {"no_greeting"}, done)


def refusals(g):
    r = g.python('''
print(talk(address("api.test"), 80, get("other.test")))
print(talk("203.0.113.7", 80, get("api.test")))
print(tls(address("api.test"), "other.test"))
print(talk(address("gone.test"), 80, get("gone.test")))
print(talk(address("shut.test"), 80, get("shut.test")))
print(talk(address("api.test"), 80, b"SSH-2.0-x\\r\\n"))
print(talk("127.0.0.1", 80, get("api.test")))
''')
    lines = r.out
    check("HTTP is refused with 403, and the reason in JSON", "HTTP/1.1 403" in lines and '"code":"host_mismatch"' in lines and '"code":"no_name"' in lines, r)
    check("  which names what was connected to, where there is no name", '"host":"203.0.113.7"' in lines and "leads to 203.0.113.7:80." in lines, r)
    check("TLS is refused with an alert that says for what", "UNRECOGNIZED_NAME" in lines, r)
    for what, words in (("other.test", ("403", "host_mismatch")), ("gone.test", ("502", "unresolved"))):
        words = (*words, "h2.test" if what == "other.test" else what)
        h2 = g.run("curl", "-sS", "--http2-prior-knowledge", "--max-time", "60", "-w", "%{http_code} %{http_version}", "-H", "Host: " + what, "http://%s/" % words[2])
        check("HTTP/2 in clear text is refused with %s, and the reason in JSON" % words[0], h2.status == 0 and h2.out.endswith(words[0] + " 2") and json.loads(h2.out[:-5])["code"] == words[1], h2)
    h2 = g.run("curl", "-sS", "--http2-prior-knowledge", "--max-time", "60", "http://203.0.113.7/")
    check("  by an address too", h2.status == 0 and json.loads(h2.out)["code"] == "no_name" and h2.codes() == ["no_name"], h2)
    h2 = g.run("curl", "-sS", "--http2-prior-knowledge", "--max-time", "60", "-I", "-H", "Host: other.test", "http://h2.test/")
    check("  and HEAD without a body", h2.status == 0 and h2.out.startswith("HTTP/2 403") and "x-carrel-denied: host_mismatch" in h2.out, h2)
    check("names without an address, and servers that do not answer, are 502", lines.count("HTTP/1.1 502") == 2 and '"code":"unresolved"' in lines and '"code":"unreachable"' in lines, r)
    check("every refusal is told at the end", sorted(r.codes()) == sorted(["host_mismatch", "no_name", "sni_mismatch", "unresolved", "unreachable", "unknown_protocol", "loopback"]), r)
    own = own_group()
    if own:
        check("and whose it was: the group of the process that asked", {d["cgroup"] for d in r.denials} == {own}, own, r.denials)
    else:
        report("and whose it was", skip="no cgroup v2 is mounted here")
    r = g.python("""
print(talk(address("api.test"), 80, get("api.test:8080")))
print("ssh", talk(address("api.test"), 22, b"SSH-2.0-x\\r\\n"), talk("203.0.113.7", 22))
for name, kind in (("_8443._https.api.test", 65), ("_8443._https.api.test", 64), ("_443._tcp.api.test", 52), ("_http._tcp.api.test", 33), ("_x._tcp.other.test", 65)): print(ask(name, kind))
""")
    check("a request for another port of its host is refused in words that say so", "a request to api.test:80 is for the host api.test:8080." in r.out, r)
    check("who connects to port 22, which nobody listed, is told so", "ssh ECONNRESET ECONNRESET" in r.out and
          [(d["code"], d["host"], d["address"]) for d in r.denials if d["port"] == 22] == [("port_not_listed", "api.test", r.denials[1]["address"]), ("no_name", None, "203.0.113.7")] and
          'Add "api.test:22" to %s.' % g.policy in r.denials[1]["message"], r)
    check("records of a listed host's services are not there, and nothing is refused by that", r.out.count("(3, [])") == 5 and
          [d["host"] for d in r.denials if d["code"] == "not_listed"] == ["_x._tcp.other.test"], r)
    r = g.python("for _ in range(20): ask('again.test')")
    check("the same again is counted in one", [(d["code"], d["count"]) for d in r.denials] == [("not_listed", 20)], r)


def explained(g):
    for what, status, word in (("api.test", 0, None), ("API.TEST.:443", 0, None), ("api.test:22", 1, "port_not_listed"), ("x.wild.test", 0, None), ("wild.test", 1, "not_listed"),
                               ("raw.test:5432", 0, None), ("10.0.0.1", 1, "bad_name")):
        r = g.explain(what)
        check("explain %s" % what, r.status == status and (word is None or '"%s"' % word in r.out), r)
    both = Gate(["raw.test:5432", "*.wild.test", "raw.test"])
    r = both.explain("raw.test")
    check("explain says each rule that a name has, the first first", '"rule": "raw.test:5432"' in r.out and json.loads(r.out)["rules"] == ["raw.test:5432", "raw.test"], r)
    both.options.remove("--json")
    r = both.explain("raw.test")
    check("  in words, a line a rule, with its ports", [("on port 5432" in line, "any protocol" in line, "on ports 80 and 443" in line) for line in r.out.splitlines()] ==
          [(True, True, False), (False, False, True)], r)
    r = g.explain("raw.test", is_last=True)
    check("explain may follow the options", r.status == 0 and '"rule": "raw.test:5432"' in r.out, r)
    r = g.run("explain", "raw.test")
    check("  and after -- is a program like any other", r.status == 127, r)


def command(g):
    check("the status is the command's own", [g.run("sh", "-c", "exit 7").status, g.run("sh", "-c", "kill -9 $$").status, g.run("/nonexistent").status] == [7, 137, 127])
    r = g.run("id", "-u")
    check("the command is the same user", r.out.strip() == str(os.getuid()), r)
    r = g.run("sh", "-c", "ls -l /proc/self/fd | wc -l; ip link 2>/dev/null | grep -c . ; grep -c : /proc/net/dev")
    check("it has no descriptor of ours, and one network device", r.out.split()[0] == "5" and r.out.split()[-1] == "1", r)
    r = g.python("""
import ctypes
try: socket.socket(40, socket.SOCK_STREAM); print("made")
except OSError as e: print(e.errno)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(425, 1, None), ctypes.get_errno())
""")
    check("it makes no socket of AF_VSOCK, which no namespace holds, and no io_uring", r.out.split() == [str(errno.EAFNOSUPPORT), "-1", str(errno.ENOSYS)], r)
    r = Gate("egress: [api.test]\nextra: 1\n").run("true")
    check("a policy with a word that has no meaning is refused", r.status == 126 and "extra" in r.out + r.err, r)
    r = Gate(["10.0.0.1"]).run("true")
    check("a policy with an address is refused", r.status == 126, r)
    r = Gate(["db.internal"]).run("true")
    check("a private name needs the host's word", r.status == 126 and "private name" in r.out + r.err, r)
    r = Gate(["other.test"], host={"egress_allowed": ["api.test"]}).run("true")
    check("the host's own list bounds what may be asked for", r.status == 126 and "sandbox_egress_not_permitted" in r.out + r.err, r)
    r = Gate(["api.test:22"], host={"egress_allowed": ["api.test"]}).run("true")
    check("  and the sentence says the port that is not permitted", r.status == 126 and "api.test:22 is not among" in r.out + r.err, r)


LIMITS = """
import json, os, resource, signal
state = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if line.startswith(("Sig", "Umask", "NoNewPrivs", "Groups")))
state.pop("SigQ")
print(json.dumps([state, [resource.getrlimit(i) for i in range(16)], os.nice(0), os.getcwd(), os.getpgrp(), os.getsid(0), os.getgroups(), open("/proc/self/oom_score_adj").read(),
                  sorted(os.sched_getaffinity(0)), {k: v for k, v in os.environ.items()}, [os.readlink("/proc/self/fd/%d" % i) for i in range(3)],
                  sorted(os.listdir("/proc/self/fd")), [os.readlink("/proc/self/ns/" + n) for n in ("mnt", "pid", "ipc", "uts", "cgroup")]]))
"""


def kept(g):
    """The command is as its caller would have started it, but for the network."""
    folder = os.path.join(g.folder, "a directory")
    os.mkdir(folder)

    def odd():
        os.umask(0o027)
        os.nice(3)
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (333, 4444))
        resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    lines = []
    env = dict(g.env, ODD="a\nb", EMPTY="", BIG="x" * 100000)
    for argv in ([sys.executable, "-c", LIMITS], g.argv(sys.executable, "-c", LIMITS)):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, cwd=folder, preexec_fn=odd, env=env)
        lines.append(re.sub(r"(pipe|socket):\[\d+\]", r"\1", done.stdout.decode()) or repr(done))
    check("it keeps its caller's limits, umask, niceness, ignored signals, directory, session, streams, environment and namespaces", lines[0] == lines[1] != "", *lines)
    with open(os.path.join(folder, "out"), "w") as out:
        subprocess.run(g.argv("sh", "-c", "echo one; echo two"), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, timeout=ALWAYS)
        check("  and a file as its output is that file", out.tell() == 8)
    r = g.run("true", env=dict(g.env, BIG="x" * 120000, BIGGER="x" * 120000))
    check("an environment too long for a message is refused by name", r.status == 125 and "longer than" in r.out + r.err, r)


def terminal(g):
    """In the terminal of its caller: Ctrl-C and Ctrl-Z reach the command, and `carrel` reports its end."""
    def start(*argv):
        pid, master = pty.fork()
        if pid == 0:
            os.execvpe(argv[0], argv, g.env)
        return pid, master

    def read_until(master, word):
        got = b""
        while word not in got:
            got += os.read(master, 4096)
        return got
    pid, master = start(*g.argv("sh", "-c", "trap 'echo heard; exit 5' INT; tty; echo up; while :; do read x </dev/tty; done"))
    said = read_until(master, b"up\r\n")
    os.write(master, b"\x03")
    said += read_until(master, b"heard")
    check("Ctrl-C reaches the command, and its own status is the end", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5 and b"/dev/pts" in said, said)
    os.close(master)
    ask = "print(%r, '200 OK' in talk(address('api.test'), 80, get('api.test')))"
    command = g.argv(sys.executable, "-uc", PRELUDE + "; ".join([ask % "up", "input()", ask % "on"]))
    pid, master = start("sh", "-mc", "%s; echo stopped; fg >/dev/null; echo over $?" % shlex.join(command))
    said = read_until(master, b"up True")
    os.write(master, b"\x1a")
    said += read_until(master, b"stopped")
    os.write(master, b"\n")
    said += read_until(master, b"over")
    check("Ctrl-Z stops it and `carrel`, and both go on", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and b"on True" in said and b"over 0" in said + read_rest(master), said)
    os.close(master)


def read_rest(master):
    got = b""
    try:
        while more := os.read(master, 4096):
            got += more
    except OSError:        # the other side is closed
        pass
    return got


def endings(g):
    for number in (signal.SIGTERM, signal.SIGHUP):
        p = g.start("sh", "-c", "trap 'exit 9' %d; echo up; while :; do sleep 0.02; done" % number)
        p.stdout.readline()
        p.send_signal(number)
        check("signal %d is passed on" % number, p.wait(ALWAYS) == 9)
    p = g.start("sh", "-c", "trap '' TERM; echo $$; exec sleep 1000")
    command = int(p.stdout.readline())
    p.kill()
    p.wait()
    until("the command has ended", lambda: not os.path.exists("/proc/%d" % command) or "Z" in open("/proc/%d/stat" % command).read().rsplit(")", 1)[1])
    check("when `carrel` is killed, so is its command", True)
    r = g.python("for i in range(300): ask('n%d.test' % i)")
    check("two hundred and fifty-six refusals are listed, and the rest is counted", (len(r.denials), r.report["left_out"]) == (256, 44), len(r.denials), r.err[-300:])


def planned(g):
    done = subprocess.run([g.program, "gate", *g.options, "--plan"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    steps = [step["step"] for step in json.loads(done.stdout)["steps"]] if done.returncode == 0 else []
    wall = "routed" if "--routed" in g.options else "wall"
    user = [] if os.getuid() == 0 else ["map_uid", "map_gid"]
    check("--plan prints the steps, and runs nothing", steps == ["spawn", *user, "loopback", wall, "bypasses", "net_caps", "hide"], done)


def not_root(g):
    """The same by an ordinary user, in a user namespace that carrel creates."""
    if os.getuid() != 0 or not os.access("/usr/bin/setpriv", os.X_OK):
        report("a user who is not root", skip="this is one already, or there is no setpriv")
        return
    if not is_mapped(65534):
        report("a user who is not root", skip="root of a user namespace with one id is the only one here")
        return
    program = shutil.copy(CARREL, os.path.join(g.folder, "carrel"))
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, *g.argv("sh", "-c", "id -u; grep CapEff /proc/self/status; curl -sS http://api.test/user")[1:]]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    out = done.stdout.decode()
    if b"namespaces cannot be made here" in done.stdout + done.stderr:
        report("a user who is not root", skip="this machine gives users no namespaces")
        return
    check("a user who is not root stays who it is, gains nothing, and reaches what is listed", done.returncode == 0 and out.startswith("65534") and "0000000000000000" in out and "/user" in out,
          out, done.stderr.decode()[-500:])


def kept_ways_out(g):
    """Root that cannot drop capabilities of its programs: the command could leave the namespace, so
    it is not run.
    """
    if not os.access("/usr/bin/setpriv", os.X_OK) or not is_mapped(65534):
        report("a way out that cannot be taken away", skip="no setpriv, or this is root of a user namespace only")
        return
    argv = ["setpriv", "--inh-caps=-setpcap", "--bounding-set=-setpcap", *g.argv("sh", "-c", "grep CapBnd /proc/self/status")]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("root that keeps a way out of the namespace runs nothing, and is told", done.returncode == 126 and b"CapBnd" not in done.stdout and b"CAP_SETPCAP" in done.stdout, done)


def deaths(g):
    """The gate is killed: nothing opens meanwhile, the next one knows the names, and waiting
    connections are served.
    """
    p = g.start(sys.executable, "-uc", PRELUDE + '''
a = address("api.test"); r = address("raw.test")
held = socket.create_connection((r, 5432), 60); held.settimeout(60); held.recv(100)
print("ready"); sys.stdin.readline()
try: print("held", held.recv(10))
except OSError as e: print("held", errno.errorcode[e.errno])
print("old address", "200 OK" in talk(a, 80, get("api.test")))
print("old listener", "220" in (lambda s: (s.settimeout(60), s.recv(100))[1].decode())(socket.create_connection((r, 5432), 60)))
print("same name", address("api.test") == a)
''')
    wrong = []
    try:
        p.stdout.readline()
        old = until("the gate is there", lambda: child_gates(p.pid))
        os.kill(old[0], signal.SIGKILL)
        until("another gate", lambda: [x for x in child_gates(p.pid) if x not in old])
        out = p.communicate(b"\n", timeout=ALWAYS)[0].decode()
        if "held b''" not in out and "held ECONNRESET" not in out:
            wrong.append(out)
        for word in ("old address True", "old listener True", "same name True"):
            if word not in out:
                wrong.append("%s is missing in %r" % (word, out))
    finally:
        p.kill()
    report("a gate that is killed is followed by another that knows the names", wrong)
    p = g.start(sys.executable, "-uc", PRELUDE + '''
a = address("api.test")
print("ready"); sys.stdin.readline()
print("stopped", talk(a, 80, get("api.test"), 0.7)); print("asked", end=" ")
try: print(ask("api.test", timeout=0.3))
except OSError as e: print("nothing")
print("ready"); sys.stdin.readline()
print("again", "200 OK" in talk(a, 80, get("api.test")))
''')
    wrong = []
    try:
        p.stdout.readline()
        gate = until("the gate is there", lambda: child_gates(p.pid))[0]
        os.kill(gate, signal.SIGSTOP)
        p.stdin.write(b"\n")
        p.stdin.flush()
        told = [p.stdout.readline().decode() for _ in range(3)]
        if told[0] != "stopped timeout\n" or told[1] != "asked nothing\n":
            wrong.append(told)
        os.kill(gate, signal.SIGCONT)
        out = p.communicate(b"\n", timeout=ALWAYS)[0].decode()
        if "again True" not in out:
            wrong.append(out)
    finally:
        p.kill()
    report("a gate that is stopped lets nothing pass, and goes on when it goes on", wrong)


def changed():
    """The list is changed, and then the gate is killed: the next one has the list of now."""
    g = Gate(["api.test"])
    p = g.start(sys.executable, "-uc", PRELUDE + '''
print("ready"); sys.stdin.readline()
while ask("h2.test")[0] != 0: time.sleep(0.02)
print("changed"); sys.stdin.readline()
print(ask_on("h2.test")[0], ask_on("api.test")[0])
''')
    try:
        p.stdout.readline()
        with open(g.policy, "w") as f:
            f.write('["h2.test"]')
        p.send_signal(signal.SIGUSR1)
        p.stdin.write(b"\n")
        p.stdin.flush()
        p.stdout.readline()
        old = until("the gate is there", lambda: child_gates(p.pid))
        os.kill(old[0], signal.SIGKILL)
        until("another gate", lambda: [x for x in child_gates(p.pid) if x not in old])
        out = p.communicate(b"\n", timeout=ALWAYS)[0].decode()
    finally:
        p.kill()
    check("a gate that follows another has the changed list", out == "0 3\n", out)


def descriptors():
    """Out of descriptors: new connections end, existing ones continue, and afterwards everything
    works.
    """
    g = Gate(["raw.test:5432", "api.test"])
    argv = ["sh", "-c", "ulimit -Hn 150; ulimit -Sn 150; exec \"$@\"", "sh"]
    code = PRELUDE + '''
import resource
a = address("raw.test")
first = socket.create_connection((a, 5432), 60); first.settimeout(60); print(first.recv(100))
def many():
    got = []
    for _ in range(110):
        s = socket.socket(); s.settimeout(1)
        try: s.connect((a, 5432))
        except OSError: pass
        got.append(s)
    return got
lot = many()
time.sleep(0.3)
first.sendall(b"still"); print(first.recv(100))
for s in lot: s.close()
for _ in range(600):                           # until it has seen that they are gone
    try:
        s = socket.create_connection((a, 5432), 60); got = s.recv(100)
        if got: print("after", got); break
    except OSError: pass
    time.sleep(0.1)
'''
    done = subprocess.run(argv + g.argv(sys.executable, "-c", code), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    out = done.stdout.decode()
    check("out of descriptors nothing opens, what stands goes on, and it recovers", "b'STILL'" in out and "after b'220" in out, out, done.stderr.decode()[-800:])


def memory():
    """Connections that send nothing, and then none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < MANY + 6000:
        report("connections that have begun a greeting", skip="the hard limit of descriptors here is %d" % hard)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    g = Gate(["api.test"])
    p = g.start(sys.executable, "-uc", PRELUDE + '''
a = address("api.test")
print("begun"); sys.stdin.readline()
lot = []
for i in range(%d):
    s = socket.socket(); s.settimeout(60); s.connect((a, 443)); s.sendall(b"\\x16\\x03\\x01\\x02\\x00"); lot.append(s)
print("ready"); sys.stdin.readline()
print("other", "200 OK" in talk(a, 80, get("api.test")))
''' % MANY)
    wrong, kib = [], 0
    try:
        before = None
        p.stdout.readline()
        gate = child_gates(p.pid)[0]
        before = rss(gate)
        p.stdin.write(b"\n")
        p.stdin.flush()
        p.stdout.readline()
        kib = rss(gate) - before
        out = p.communicate(b"\n", timeout=ALWAYS)[0].decode()
        if "other True" not in out:
            wrong.append(out)
        if kib > MANY * 10:
            wrong.append("%d KiB for %d connections" % (kib, MANY))
    finally:
        p.kill()
    report("%d connections that have begun a greeting: one more is served, in bounded memory" % MANY, wrong)
    print("# memory of the gate: %d KiB idle, %d KiB more for %d connections: %.1f KiB each" % (before or 0, kib, MANY, kib / MANY), flush=True)


def rss(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


class Recorder(Origin):
    """Keeps what it receives and answers nothing."""

    def __init__(self, *where):
        self.seen = []
        super().__init__(*where, handle=self.record)

    def record(self, peer):
        self.seen.append(b"")
        while b"PRI * HTTP/2.0" not in self.seen[-1] and (more := peer.recv(65536)):
            self.seen[-1] += more
        time.sleep(0.5)


def main():
    enter()
    ca = Authority()
    Names({"api.test": ["127.0.0.2"], "h2.test": ["127.0.0.3"], "raw.test": ["127.0.0.4"], "ws.test": ["127.0.0.5"], "bulk.test": ["127.0.0.6"], "later.test": ["127.0.0.7"],
           "shut.test": ["127.0.0.9"], "deep.wild.test": ["127.0.0.2"], "h3.wild.test": ["127.0.0.2"]})
    origins = {"tls": Origin("127.0.0.2", 443, context=ca.context("api.test")), "http": Origin("127.0.0.2", 80), "h2": Recorder("127.0.0.3", 80),
               "raw": Origin("127.0.0.4", 5432, first_words), "later": Origin("127.0.0.7", 80, answers), "ws": Origin("127.0.0.5", 80, websocket), "bulk": Origin("127.0.0.6", 9000, bulk)}
    g = Gate(["api.test", "h2.test", "raw.test:5432", "ws.test", "bulk.test:9000", "*.wild.test", "gone.test", "shut.test", "later.test"])
    names(g)
    protocols(g, ca, origins)
    refusals(g)
    later_refusals(g)
    explained(g)
    command(g)
    kept(g)
    terminal(g)
    endings(g)
    planned(g)
    not_root(g)
    kept_ways_out(g)
    deaths(g)
    changed()
    descriptors()
    memory()
    slow_greeting()
    end()


if __name__ == "__main__":
    main()
