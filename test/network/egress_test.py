#!/usr/bin/env python3
"""egress_test - network.egress of a sandbox, enforced by `carrel run` and by the daemon: what is
listed is reached, nothing else is, and faults open nothing.

Rows of AIP-36: A36-120, A36-121. Rows of the threat list: H01 to H05, in a sandbox; the gate's own
tests (gate_test) have the rest. Everything happens in a network namespace of the test, with a name
server and origins on its loopback.
"""
import ctypes
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import ALWAYS, CARREL, PATIENCE, TREE, check, end, report, until
from daemon_rig import Daemon
from gate_rig import PRELUDE, ROUTED, Authority, Names, Origin, enter

LISTED = ["allowed.test", "*.wild.test", "db.test:5432", "ssh.test:22", "rebind.test", "fancy.test"]
WAY = {"metadata": {"carrel": {"egress": {"routed": True}}}} if ROUTED else {}  # routed_test repeats the rows with it
MANIFEST = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "network": {"egress": LISTED}, **WAY}
HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8", "::1/128"]}


def plain(peer):
    peer.sendall(b"220 here\n")
    while True:
        data = peer.recv(65536)
        if not data:
            return
        peer.sendall(data.upper())


class World:
    def __init__(self):
        self.names = Names({"allowed.test": ["127.0.0.1"], "denied.test": ["127.0.0.1"], "a.wild.test": ["127.0.0.1"], "db.test": ["127.0.0.1"],
                            "ssh.test": ["127.0.0.1"], "rebind.test": ["169.254.169.254"], "fancy.test": ["10.1.2.3"], "new.test": ["127.0.0.1"]})
        self.authority = Authority()
        self.https = Origin("127.0.0.1", 443, context=self.authority.context("allowed.test", "a.wild.test", "denied.test", "new.test"))
        self.http = Origin("127.0.0.1", 80)
        self.db = Origin("127.0.0.1", 5432, plain)
        self.ssh = Origin("127.0.0.1", 22, plain)
        with open(self.authority.path, encoding="ascii") as f:
            self.ca = f.read()

    def code(self, body):
        """A Python program that runs inside; `ca` is a file with the test's authority."""
        return PRELUDE + "ca = '/tmp/ca.pem'\nopen(ca, 'w').write(%r)\n" % self.ca + body


# -- one run ---------------------------------------------------------------------------------------------------------

class Run:
    def __init__(self, manifest=None, host=None):
        self.folder = tempfile.mkdtemp(prefix="carrel-egress-")
        os.chmod(self.folder, 0o755)
        os.mkdir(os.path.join(self.folder, "ws"), 0o755)
        for name, what in (("SANDBOX.json", {"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", **(manifest or MANIFEST)}), ("host.json", host or HOST)):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as f:
                json.dump(what, f)
        # a front matter is YAML, and JSON is YAML
        with open(os.path.join(self.folder, "ws", "SANDBOX.md"), "w", encoding="ascii") as f:
            f.write("---\n%s\n---\n" % json.dumps({"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", **(manifest or MANIFEST)}))

    def argv(self, *words, options=("--json",)):
        return [CARREL, "run", *options, "--host", os.path.join(self.folder, "host.json"), "-f", os.path.join(self.folder, "ws", "SANDBOX.md"), "--", *words]

    def json(self, *words):
        done = subprocess.run(self.argv(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS,
                              cwd=os.path.join(self.folder, "ws"))
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"stdout": "", "stderr": done.stderr.decode(), "raw": done.stdout.decode()}


def lines(answer):
    return dict(line.split(" ", 1) for line in answer.get("stdout", "").splitlines() if " " in line)


REACH = """
def show(name, value): print(name, repr(value)[:200].replace("\\n", " "), flush=True)
show("https", "HTTP/1.1 200" in tls("allowed.test", "allowed.test", ca=ca))
show("http", talk("allowed.test", 80, get("allowed.test"))[:12])
show("wild", "HTTP/1.1 200" in tls("a.wild.test", "a.wild.test", ca=ca))
s = socket.create_connection(("db.test", 5432), 60)
s.sendall(b"select\\n"); s.settimeout(60)
got = b""
while b"SELECT" not in got and (more := s.recv(100)): got += more
show("db", got.decode())
show("ssh", socket.create_connection(("ssh.test", 22), 60).recv(100).decode())
"""

REFUSE = """
def show(name, value): print(name, repr(value)[:200].replace("\\n", " "), flush=True)
show("name", ask("denied.test")[0])
show("tcpname", ask("denied.test", tcp=True)[0])
show("server", ask("denied.test", server="8.8.8.8")[0])
show("server6", ask("denied.test", server="2001:4860:4860::8888")[0])
show("tunnel", ask("c2VjcmV0.denied.test", 16)[0])
show("raw", tls("127.0.0.1", "denied.test"))
show("outside", tls("203.0.113.7", "allowed.test"))
show("outside6", tls("2001:db8::7", "allowed.test"))
show("sni", tls(address("allowed.test"), "denied.test"))
show("host", "200 OK" in talk(address("allowed.test"), 80, get("denied.test")))
show("port", talk("allowed.test", 5432, timeout=3))
show("rebind", "HTTP/1.1 200" in tls("rebind.test", "rebind.test"))
show("private", "HTTP/1.1 200" in tls("fancy.test", "fancy.test"))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(2)
try:
    u.connect((address("allowed.test"), 443)); u.send(b"quic"); show("quic", u.recv(10))
except OSError as e: show("quic", errno.errorcode.get(e.errno, "timeout"))
for name, make in (("raw_socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)), ("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
                   ("vsock", lambda: socket.socket(40, socket.SOCK_STREAM)), ("diag", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4))):
    try: make(); show(name, "open")
    except OSError as e: show(name, "refused")
for port in (53, 80, 443, 22):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try: s.bind(("0.0.0.0", port)); show("bind%d" % port, "taken")
    except OSError as e: show("bind%d" % port, errno.errorcode[e.errno])
def change(kind, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.send(struct.pack("=IHHII", 16 + len(body), kind, 5, 1, 0) + body)
    return struct.unpack("=i", s.recv(4096)[16:20])[0]
show("route", change(25, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 255, 0, 0, 2, 0)) in (-1, -13))
show("link", change(16, struct.pack("=BxHiII", 0, 0, 1, 0, 1)) in (-1, -13))
"""

REFUSED = {"name": "3", "tcpname": "3", "server": "3", "server6": "3", "tunnel": "3", "host": "False", "rebind": "False", "private": "False", "raw_socket": "'refused'",
           "packet": "'refused'", "vsock": "'refused'", "diag": "'refused'", "bind53": "'EACCES'", "bind80": "'EACCES'", "bind443": "'EACCES'", "bind22": "'EACCES'",
           "route": "True", "link": "True", "quic": "'ECONNREFUSED'", "port": "'ECONNREFUSED'"}
if ROUTED:                                             # its ports are its own
    REFUSED.update({"bind%d" % port: "'taken'" for port in (53, 80, 443, 22)})


def expect_refused(what, got, world, before):
    if ROUTED and got.get("port") == "'ECONNRESET'":    # another name has this port: all names share its listener, and for this name it is refused
        got["port"] = REFUSED["port"]
    wrong = ["%s is %s" % (k, got.get(k)) for k, v in REFUSED.items() if got.get(k) != v]
    wrong += ["%s answered: %s" % (k, got.get(k)) for k in ("raw", "outside", "outside6", "sni") if "HTTP/1.1 200" in got.get(k, "HTTP/1.1 200 missing")]
    wrong += ["an origin was reached"] if (world.https.count, world.http.count, world.db.count) != before else []
    wrong += ["a question for %s left" % n for n, _ in world.names.asked if "denied" in n]
    check(what, not wrong, *wrong)


def run_reaches(world):
    run = Run()
    status, got = run.json("python3", "-c", world.code(REACH))
    said = lines(got)
    check("A36-120: a run reaches what its list names: https, http, a wildcard, other ports by name", status == 0 and said.get("https") == "True" and
          said.get("http") == "'HTTP/1.1 200'" and said.get("wild") == "True" and "SELECT" in said.get("db", "") and "220 here" in said.get("ssh", ""), got)
    check("  and tells of no refusal", "denied" not in got, got.get("denied"))


def recorded(run, code):
    """Reasons of the refused requests in the audit log of a run."""
    state = os.path.join(run.folder, "state")
    subprocess.run(run.argv("python3", "-c", code, options=("--json", "--audit")), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=ALWAYS,
                   cwd=os.path.join(run.folder, "ws"), env={**os.environ, "CARREL_STATE": state}, check=False)
    log = os.path.join(state, "audit", "uid:%d" % os.getuid())
    ends = [e["output"] for e in (audit_chain.entries(log) if os.path.isdir(log) else []) if e["action"] == "exec.ended"]
    return [d["reason"] for output in ends for part in output.values() if isinstance(part, dict) for d in part.get("denied", [])]


def run_refuses(world):
    run = Run()
    before = (world.https.count, world.http.count, world.db.count)
    status, got = run.json("python3", "-c", world.code(REFUSE))
    expect_refused("A36-120: neighbours of what is listed are not reached, by no way", lines(got), world, before)
    told = {d["reason"]: d for d in got.get("denied", [])}
    check("A36-121: a listed name that leads to private and link-local addresses is blocked at connect time", "private_address" in told, got.get("denied"), got.get("stderr"))
    check("A36-121: and the audit log has the refusal", "private_address" in recorded(run, world.code(REFUSE)), run.folder)
    check("  the run tells what was refused, which rule is missing, and how to ask", status == 0 and {"not_listed", "no_name", "sni_mismatch"} <= set(told) and
          "denied.test" in told["not_listed"]["message"] and "SANDBOX.md" in told["not_listed"]["message"], got.get("denied"))
    done = subprocess.run(run.argv("getent", "hosts", "denied.test", options=()), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("  in words, too", b"carrel: refused" in done.stderr and b"denied.test is not in network.egress" in done.stderr, done.stderr)


def run_counts(_):
    run = Run()
    _, got = run.json("python3", "-c", PRELUDE + ASK_MANY)
    told = [(i["host"], i["count"]) for i in got.get("denied", [])]
    check("of many things a run lists the first %d, with how often each, and counts every other request" % KEPT,
          told == [("same.denied.test", 100)] + [("%d.denied.test" % n, 2) for n in range(KEPT - 1)] and got.get("denied_more") == 400 - 2 * (KEPT - 1), got)
    done = subprocess.run(run.argv("python3", "-c", PRELUDE + ASK_MANY, options=()), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("  in words, too", done.stderr.count(b"carrel: refused") == KEPT + 1 and b"carrel: refused: %d more requests\n" % (400 - 2 * (KEPT - 1)) in done.stderr, done.stderr)


def run_without_list(world):
    run = Run({**MANIFEST, "network": {"egress": []}, "metadata": {}})
    _, got = run.json("python3", "-c", world.code('print("name", end=" ")\ntry: print(ask("allowed.test", timeout=1))\nexcept OSError as e: print("none")\n'
                                                  'print("tcp", talk("203.0.113.7", 443, timeout=1))\nprint("resolv", open("/etc/resolv.conf").read().strip())\n'))
    said = lines(got)
    check("an empty list is no wall and no network", said.get("name") == "none" and said.get("tcp") == "ENETUNREACH", got)
    run = Run({**MANIFEST, "network": {"egress": []}, "metadata": {"carrel": {"egress": {}}}})
    _, got = run.json("python3", "-c", world.code('print("name", ask("allowed.test")[0])\nprint("tls", tls("203.0.113.7", "allowed.test"))\n'))
    said, told = lines(got), {d["reason"] for d in got.get("denied", [])}
    check("  with metadata.carrel.egress it is a wall that lets nothing through, and tells it", said.get("name") == "3" and "HTTP" not in said.get("tls", "HTTP") and
          {"not_listed", "no_name"} <= told, got)


MANY = """
import time
def show(name, value): print(name, repr(value)[:200], flush=True)
held = []
for i in range(5):
    s = socket.create_connection(("db.test", 5432), 60); s.settimeout(60)
    assert s.recv(100); held.append(s)
try:
    s = socket.create_connection(("db.test", 5432), 60); s.settimeout(60)
    show("sixth", s.recv(100))
except OSError as e: show("sixth", errno.errorcode.get(e.errno, "timeout"))
held[0].sendall(b"still\\n"); show("first", held[0].recv(100))
held.pop().close()
for i in range(3000):
    try:
        s = socket.create_connection(("db.test", 5432), 60); s.settimeout(60)
        if s.recv(100): show("after", True); break
    except OSError: time.sleep(0.02)
"""

MUCH = """
def show(name, value): print(name, repr(value)[:200], flush=True)
s = socket.create_connection(("db.test", 5432), 60); s.settimeout(60)
s.recv(100)
s.sendall(b"x" * 500)
got = b""
while len(got) < 500 and (more := s.recv(1000)): got += more
show("within", len(got))
try:
    s.sendall(b"x" * 600)
    got = b"+"
    while got: got = s.recv(1000)
    show("beyond", "closed")
except OSError as e: show("beyond", errno.errorcode.get(e.errno, "timeout"))
try:
    s = socket.create_connection(("db.test", 5432), 60); s.settimeout(60)
    s.recv(100); s.sendall(b"more"); show("again", s.recv(100))
except OSError as e: show("again", errno.errorcode.get(e.errno, "timeout"))
"""


def capped(caps):
    return {**MANIFEST, "metadata": {"carrel": {"egress": {**caps, "routed": ROUTED}}}}


def links_of(pid):
    """Copies of the gate's ends of its links: sockets of its own with one other end, except the one
    to its keeper.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    held = libc.syscall(434, pid, 0)                                           # pidfd_open
    for fd in sorted(map(int, os.listdir("/proc/%d/fd" % pid))):
        if fd <= 3:                                                            # the last of them leads to its keeper
            continue
        copy = libc.syscall(438, held, fd, 0)                                  # pidfd_getfd
        if copy < 0:
            continue
        if not stat.S_ISSOCK(os.fstat(copy).st_mode):
            os.close(copy)
            continue
        s = socket.socket(fileno=copy)
        if s.family == socket.AF_UNIX and s.type == socket.SOCK_SEQPACKET:
            found.append(s)
        else:
            s.close()
    os.close(held)
    return found


def cut_links(pid):
    links = until("the gate has a link", lambda: links_of(pid))
    for s in links:
        s.shutdown(socket.SHUT_RDWR)
        s.close()
    return len(links)


def run_link_cut(world):
    run = Run()
    child = subprocess.Popen(run.argv("python3", "-c", world.code(AGAIN), options=()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = child.stdout.readline()
    cut = cut_links(until("the run has a gate", lambda: children_named(child.pid, "carrel-gate"))[0])
    out, err = child.communicate(b"\n", timeout=ALWAYS)
    said = dict(line.split(" ", 1) for line in out.decode().splitlines() if " " in line)
    check("a link that ends in the middle of a run: the wall is given anew", cut == 1 and first == b"first True\n" and said.get("second") == "True" and
          said.get("same") == "True" and said.get("denied", "").startswith("3 "), cut, first, out, err)


def daemon_link_cut(world):
    with daemon_of() as d:
        box, other = d.create(manifest=MANIFEST), d.create(manifest=MANIFEST)
        d.exec(box, ["true"])
        gate = d.children()["carrel-gate"]
        wrong = []
        for i in range(4):
            cuts = cut_links(gate)
            got = d.exec(box, ["python3", "-c", world.code(REACH)], timeout=ALWAYS)
            if cuts != 1 or "SELECT" not in out_of(got).get("db", ""):
                wrong.append((i, cuts, got))
        check("a wall that the gate lets go is given to it again, and again", not wrong, *wrong)
        check("  by the same gate: nobody else is disturbed", d.children()["carrel-gate"] == gate, d.children())
        began, seen = time.monotonic(), set()
        while time.monotonic() - began < 3 or not seen and time.monotonic() - began < PATIENCE:
            for s in links_of(gate):
                seen.add(os.fstat(s.fileno()).st_ino)
                s.shutdown(socket.SHUT_RDWR)
                s.close()
        check("  after a longer pause each time, and not as often as it falls", 0 < len(seen) < 9 * max(1, (time.monotonic() - began) / 3), seen)
        said = out_of(d.exec(other, ["python3", "-c", world.code(REACH)], timeout=ALWAYS))
        check("  and another sandbox is served meanwhile", "SELECT" in said.get("db", ""), said)


def run_capped(world):
    run = Run(capped({"connections": 6}), {**HOST, "egress_caps": {"connections": 5}})
    status, got = run.json("python3", "-c", world.code(MANY))
    said = lines(got)
    check("a sixth connection where the host permits five is reset; the five stay, and one that ends makes room", status == 0 and
          said.get("sixth") in ("'ECONNRESET'", "b''") and "STILL" in said.get("first", "") and said.get("after") == "True", got)
    check("  and it is told", any(d["reason"] == "too_many_connections" for d in got.get("denied", [])), got.get("denied"))
    plan = subprocess.run([CARREL, "plan", "--steps", *run.argv("true", options=())[2:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("  `carrel plan` shows the smaller cap, and warns", b"at most connections 5" in plan.stdout and b"egress_cap_narrowed" in plan.stderr, plan.stdout[-3000:], plan.stderr)
    status, got = Run(capped({"bytes_out": 1000})).json("python3", "-c", world.code(MUCH))
    said = lines(got)
    check("bytes beyond the cap: the connection is reset, and every later one", status == 0 and said.get("within") == "500" and
          said.get("beyond") in ("'ECONNRESET'", "'EPIPE'", "'closed'") and said.get("again") in ("'ECONNRESET'", "'EPIPE'", "b''"), got)
    check("  and it is told", any(d["reason"] == "bytes_exhausted" for d in got.get("denied", [])), got.get("denied"))


def has_loader(path):
    """Whether the kernel needs another file to execute this one."""
    try:
        with open(path, "rb") as f:
            head = f.read(64)
            at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            f.seek(at)
            table = f.read(size * count)
    except (OSError, struct.error):
        return False
    return any(struct.unpack_from("<I", table, i * size)[0] == 3 for i in range(count))


def run_with_loader(world):
    """Root's `carrel run` may execute nothing, and its gate is a program: also in a build that is
    not static.
    """
    path = os.path.join(TREE, "build-test", "carrel")
    name = "a build that is not static has its gate too"
    if not has_loader(path):
        report(name, skip="build-test has no such build here")
        return
    run = Run()
    done = subprocess.run([path, *run.argv("python3", "-c", world.code('print(ask("denied.test")[0], "HTTP/1.1 200" in tls("allowed.test", "allowed.test", ca=ca))'), options=())[1:]],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check(name, done.returncode == 0 and done.stdout == b"3 True\n", done)


def daemon_capped(world):
    with daemon_of() as d:
        box = d.create(manifest=capped({"connections": 5}))
        said = out_of(d.exec(box, ["python3", "-c", world.code(MANY)], timeout=ALWAYS))
        check("a sandbox of the daemon has its caps too", said.get("sixth") in ("'ECONNRESET'", "b''") and "STILL" in said.get("first", "") and said.get("after") == "True", said)
        words = d.must("GET", "/v1/sandboxes/%s/instructions" % box)["text"]
        check("  and a model is told of them", "Connections to it at once, at most: 5" in words, words)


def children_named(pid, name):
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % p, encoding="utf-8", errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % p, "rb") as f:
                word = f.read().split(b"\0")[0].decode()
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid and os.path.basename(word) == name:
            found.append(int(p))
    return found


AGAIN = """
import sys
print("first", "HTTP/1.1 200" in tls("allowed.test", "allowed.test", ca=ca), flush=True)
before = address("allowed.test")
sys.stdin.readline()
print("second", "HTTP/1.1 200" in tls("allowed.test", "allowed.test", ca=ca), flush=True)
print("same", address("allowed.test") == before, flush=True)
print("old", "HTTP/1.1 200" in tls(before, "allowed.test", ca=ca), flush=True)
s = socket.create_connection(("db.test", 5432), 60); s.settimeout(60)
print("db", s.recv(100).decode().strip(), flush=True)
print("denied", ask("denied.test")[0], tls("203.0.113.7", "allowed.test")[:12], flush=True)
"""


def run_gate_killed(world):
    run = Run()
    child = subprocess.Popen(run.argv("python3", "-c", world.code(AGAIN), options=()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = child.stdout.readline()
    gates = until("the run has a gate", lambda: children_named(child.pid, "carrel-gate"))
    os.kill(gates[0], signal.SIGKILL)
    child.stdin.write(b"\n")
    child.stdin.flush()
    out, err = child.communicate(timeout=ALWAYS)
    said = dict(line.split(" ", 1) for line in out.decode().splitlines() if " " in line)
    check("a gate killed in the middle of a run: what is asked for waits for the next, names keep their addresses, nothing opens", first == b"first True\n" and
          said.get("second") == "True" and said.get("same") == "True" and said.get("old") == "True" and said.get("db") == "220 here" and said.get("denied", "").startswith("3 ") and
          "HTTP" not in said.get("denied", "HTTP"), first, out, err)
    check("  and the gate is gone with its run", not children_named(child.pid, "carrel-gate"))


RATE, BURST = 1000, 2000               # src/gate/denials.h
FLOOD = r"""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("198.18.0.1", 53))
s.setblocking(False)
heard, begin = 0, time.monotonic()
while heard < 12000 and time.monotonic() < begin + 3:
    for n in range(64):
        try: s.send(struct.pack(">HHHHHH", n, 0x100, 1, 0, 0, 0) + b"\4evil\4test\0" + struct.pack(">HH", 1, 1))
        except OSError: pass
    try:
        while s.recv(2000): heard += 1
    except OSError: pass
print(time.monotonic() - begin)
"""


def run_flooded(_):
    """As fast as it can, until it was refused more often than it may be in this time, or 3 s are
    over: the limit is for the time that it took.
    """
    begin = time.monotonic()
    _, got = Run().json("python3", "-c", PRELUDE + FLOOD)
    took = time.monotonic() - begin
    refused = sum(i["count"] for i in got.get("denied", [])) + got.get("denied_more", 0)
    check("a run is refused no more than so many requests a second, after a burst", BURST <= refused <= BURST + RATE * (took + 1), refused, took, got)


SEND = """
def send(n):
    s = socket.create_connection((address("db.test"), 5432), 60)
    s.settimeout(60)
    try:
        take(s, 9)
        threading.Thread(target=lambda: s.sendall(b"x" * n)).start()
        return len(take(s, n))
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
"""


def run_bytes_counted(world):
    run = Run(capped({"bytes_out": 1000000}))
    child = subprocess.Popen(run.argv("python3", "-c", world.code(SEND + "for _ in range(3): print(send(400000), flush=True); sys.stdin.readline()"), options=()),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = []
    for _ in range(3):
        said.append(child.stdout.readline())
        for gate in children_named(child.pid, "carrel-gate"):
            os.kill(gate, signal.SIGKILL)
        child.stdin.write(b"\n")
        child.stdin.flush()
    out, err = child.communicate(timeout=ALWAYS)
    check("gates that are killed between transfers: the cap on bytes of a run holds over all of them", said[:2] == [b"400000\n"] * 2 and said[2] != b"400000\n" and
          b"has used up its byte limit" in err, said, out, err)


def daemon_bytes_counted(world):
    with daemon_of() as d:
        box = d.create(manifest=capped({"bytes_out": 1000000}))

        def send():
            return d.exec(box, ["python3", "-c", world.code(SEND + "print(send(300000))")], timeout=ALWAYS)
        said = [send()["stdout"]]
        for name in ("carrel-gate", "carrel-keeper"):
            pid = d.children()[name]
            os.kill(pid, signal.SIGKILL)
            until("the daemon is back", lambda: d.children().get(name, pid) != pid and d.is_up())
            said.append(send()["stdout"])
        last = send()
        check("and of a sandbox of the daemon, over gates and daemons", said == ["300000\n"] * 3 and last["stdout"] != "300000\n" and
              [i["reason"] for i in last.get("denied", [])] == ["bytes_exhausted"], said, last)


# -- a sandbox of the daemon --------------------------------------------------------------------------------------------

def daemon_of(**more):
    folder = tempfile.mkdtemp(prefix="carrel-egress-")
    path = os.path.join(folder, "host.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({**HOST, **more}, f)
    d = Daemon("--host", path)
    d.host = path
    return d


def out_of(answer):
    return dict(line.split(" ", 1) for line in answer.get("stdout", "").splitlines() if " " in line)


def carrel(d, *words):
    return subprocess.run([CARREL, *words, "--state", d.state], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)


def hear_denial(d, box):
    """Something is refused again and again until a listener has received it."""
    seen, tries = [], iter(range(1000))

    def listen():
        for name, data in d.stream("GET", "/v1/events?id=" + box):
            if name == "egress-denied" and "reason" in data:           # not the sum of those that were too many for one second
                seen.append(data)
                return
    threading.Thread(target=listen, daemon=True).start()
    until("a denial is heard", lambda: d.exec(box, ["getent", "hosts", "e%d.denied.test" % next(tries)]) and seen)
    return seen[0]


def daemon_sandbox(world):
    with daemon_of() as d:
        box = d.create(manifest=MANIFEST)
        got = d.exec(box, ["python3", "-c", world.code(REACH)], timeout=ALWAYS)
        said = out_of(got)
        check("a sandbox of the daemon reaches what its list names", said.get("https") == "True" and said.get("http") == "'HTTP/1.1 200'" and said.get("wild") == "True" and
              "SELECT" in said.get("db", "") and "220 here" in said.get("ssh", ""), got)
        before = (world.https.count, world.http.count, world.db.count)
        world.names.asked.clear()
        got = d.exec(box, ["python3", "-c", world.code(REFUSE)], timeout=ALWAYS)
        expect_refused("  and nothing else", out_of(got), world, before)
        number = got["exec"]
        items = until("the denials are told", lambda: [i for i in d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"] if i["reason"] == "sni_mismatch"] and
                      d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"])
        told = {i["reason"]: i for i in items}
        check("  what was refused is read by REST, with what to do", {"not_listed", "no_name", "sni_mismatch", "private_address"} <= set(told) and
              "SANDBOX.md" in told["not_listed"]["message"], items)
        groups = d.must("GET", "/v1/sandboxes/%s" % box)
        owners = {i.get("exec") for i in items if i["reason"] in ("no_name", "sni_mismatch")}
        check("  and whose it was, where there are groups", owners == {number} or owners == {None}, owners, number, groups)
        told_now = hear_denial(d, box)
        check("  and heard as an event", told_now["host"].endswith(".denied.test") and told_now["reason"] == "not_listed" and "SANDBOX.md" in told_now["message"], told_now)
        words = d.must("GET", "/v1/sandboxes/%s/instructions" % box)["text"]
        check("  a model is told what can be reached", "allowed.test, *.wild.test, db.test:5432" in words and "no network" not in words, words)
        items = d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"]
        got = json.loads(carrel(d, "denials", box, "--json").stdout)["items"]
        check("  and by `carrel denials`", {i["message"] for i in got} == {i["message"] for i in items} and b"is not in network.egress" in carrel(d, "denials", box).stdout, got)
        daemon_gate_killed(d, world, box)
        daemon_restarted(d, world, box)
        daemon_live_change(d, world, box)


def daemon_narrowed(world):
    """The operator permits less than a living sandbox has listed."""
    ask = world.code('print("new", ask("new.test")[0])\nprint("reached", ask("new.test")[0] == 0 and "HTTP/1.1 200" in tls("new.test", "new.test", ca=ca))\n'
                     'print("old", ask("allowed.test")[0])\n')
    with daemon_of(egress_allowed=[*LISTED, "new.test"]) as d:
        box = d.create(manifest=MANIFEST)
        d.exec(box, ["true"])
        with open(d.host, "w", encoding="ascii") as f:
            json.dump({**HOST, "egress_allowed": ["new.test"]}, f)
        d.reload()
        a = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]})
        check("a living sandbox whose list the operator does not permit any more begins no command", a.code == "sandbox_egress_not_permitted", a)
        a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["new.test", "allowed.test"]})
        check("  a list that is not permitted either changes nothing", a.code == "sandbox_egress_not_permitted", a)
        a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["new.test"]}, timeout=ALWAYS)
        said = out_of(d.exec(box, ["python3", "-c", ask], timeout=ALWAYS)) if a.status == 200 else None
        check("  and one that is brings it back, with that alone", said == {"new": "0", "reached": "True", "old": "3"}, a, said)


# -- what was refused, told with how a command ended --------------------------------------------------------------------

ASK_ONE = ["getent", "ahostsv4", "denied.test"]
KEPT, KEPT_LAST = 16, 48               # of a command and of a sandbox, the first; of a sandbox the last: src/base/numbers.h
# Each question is answered before the next, so it is certain which refusal belongs to which exec.
ASK_MANY = """
for n in range(100):
    assert ask("same.denied.test")[0] == 3
for turn in range(2):
    for n in range(200):
        assert ask("%d.denied.test" % n)[0] == 3
"""
CLOSED_AT_ONCE = r"""
q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\6closed\6denied\4test\0" + struct.pack(">HH", 1, 1)
for n in range(3):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(q, ("198.18.0.1", 53))
    s.close()
    s = socket.socket()
    s.connect(("198.18.200.200", 443))
    s.close()
sys.stdin.read()
"""


def carrel_exec(d, box, *command, options=()):
    return subprocess.run([CARREL, "exec", "--state", d.state, *options, box, "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=ALWAYS)


def is_told(denied, host="denied.test"):
    return bool(denied) and [(i["reason"], i["host"]) for i in denied] == [("not_listed", host)] and denied[0]["count"] >= 1 and "SANDBOX.md" in denied[0]["message"]


def mcp(d, name, arguments, box=None):
    return d.must("POST", "/mcp" + ("?sandbox=" + box if box else ""), {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
                  headers={"Accept": "application/json, text/event-stream"})["result"]


def daemon_told(_):
    with daemon_of() as d:
        box = d.create(manifest=MANIFEST)
        results = [d.exec(box, ASK_ONE, timeout=ALWAYS) for _ in range(20)]
        check("the result of every command says what was refused to it", all(is_told(r.get("denied")) and "denied_more" not in r for r in results),
              [r for r in results if not is_told(r.get("denied"))])
        told_quietly(d, box)
        told_everywhere(d, box)
        told_by_mcp(d, box)
        told_to_whom(d, box)
        lines = until("the log says it", lambda: [line for line in d.log_text().splitlines() if "sandbox %s: " % box in line and "refused" in line])
        check("  the daemon's log has one line of it, however many there were", len(lines) == 1 and "first: not_listed denied.test (exec 1)" in lines[0], lines)


def told_quietly(d, box):
    got = d.exec(box, ["getent", "ahostsv4", "allowed.test"], timeout=ALWAYS)
    check("  and that of a command to which nothing was refused says nothing", got["exit_code"] == 0 and "denied" not in got and "denied_more" not in got, got)
    before = d.must("GET", "/v1/sandboxes/%s/denials" % box)
    got = d.exec(box, ["python3", "-c", PRELUDE + ASK_MANY], timeout=ALWAYS)
    hosts = [(i["host"], i["count"]) for i in got.get("denied", [])]
    check("  of many things the first %d are listed, with how often each, and every other request is counted" % KEPT,
          hosts == [("same.denied.test", 100)] + [("%d.denied.test" % n, 2) for n in range(KEPT - 1)] and got.get("denied_more") == 400 - 2 * (KEPT - 1) and got["exit_code"] == 0, got)
    after = d.must("GET", "/v1/sandboxes/%s/denials" % box)
    items, known = after["items"], [sum(i["count"] for i in a["items"]) + a.get("denied_more", 0) for a in (before, after)]
    check("  a sandbox keeps its first %d and its last %d, and counts all" % (KEPT, KEPT_LAST), [i["exec"] for i in items[:KEPT]] == list(range(1, KEPT + 1)) and len(items) == KEPT + KEPT_LAST and
          [i["host"] for i in items[-KEPT_LAST:]] == ["%d.denied.test" % n for n in range(200 - KEPT_LAST, 200)] and known[1] - known[0] == 500, known, before, after)
    shown = carrel(d, "denials", box)
    check("  `carrel denials` says how many it does not show", shown.returncode == 0 and b"%d more requests were refused" % after["denied_more"] in shown.stdout, shown)
    got = d.exec(box, "for n in 1 2 3; do getent ahostsv4 denied.test; getent ahostsv4 other.test; done", timeout=ALWAYS)
    check("  the same thing again is one line", sorted(i["host"] for i in got.get("denied", [])) == ["denied.test", "other.test"] and
          all(i["count"] >= 3 for i in got["denied"]), got)


def told_everywhere(d, box):
    events = dict(d.stream("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ASK_ONE}, timeout=ALWAYS))
    number = events["end"]["exec"]
    check("  it is in the last of the events", is_told(events["end"].get("denied")), events)
    got = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, number))
    check("  in GET of the exec", is_told(got.get("denied")), got)
    got = d.must("GET", "/v1/sandboxes/%s/execs/%d/output?wait=true" % (box, number))
    check("  with its output", is_told(got.get("denied")), got)
    items = d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]
    check("  in the list of execs, with those that it belongs to", {i["exec"]: is_told(i.get("denied")) for i in items}[number] and
          any("denied" not in i for i in items), items)
    ran = carrel_exec(d, box, *ASK_ONE, options=["--json"])
    got = json.loads(ran.stdout)
    check("  in `carrel exec --json`", is_told(got.get("denied")) and ran.returncode == 2, got, ran.stderr)
    ran = carrel_exec(d, box, "true", options=["--json"])
    check("  and not where there was nothing", "denied" not in json.loads(ran.stdout), ran)
    other = d.create(manifest=MANIFEST)
    words = [carrel_exec(d, other, *ASK_ONE) for _ in range(3)]
    check("  as words at the end of `carrel exec`", all(w.returncode == 2 and w.stderr.count(b"carrel: refused") == 1 and b"denied.test is not in network.egress" in w.stderr for w in words), words)
    ran = carrel_exec(d, other, "true")
    check("  and none there where there was nothing", ran.stderr == b"", ran)


def told_by_mcp(d, box):
    got = mcp(d, "exec", {"sandbox_id": box, "argv": ASK_ONE})
    check("  in the tool exec of MCP", is_told(got["structuredContent"].get("denied")) and got["structuredContent"]["exit_code"] == 2, got)
    number = got["structuredContent"]["exec"]
    got = mcp(d, "exec_output", {"sandbox_id": box, "exec": number, "wait": True})
    check("  and in exec_output", is_told(got["structuredContent"].get("denied")), got)
    got = mcp(d, "mastra_workspace_execute_command", {"command": "echo out; " + " ".join(ASK_ONE)}, box)
    text = got["content"][0]["text"]
    check("  and as words where a tool answers in words", text.startswith("out\n\nExit code: 2\n\nRefused by the sandbox's network rules:\n- denied.test is not in network.egress") and
          "the owner of the sandbox to add it." in text, got)
    got = mcp(d, "mastra_workspace_execute_command", {"command": "echo out"}, box)
    check("  which are as ever where there was nothing", got["content"][0]["text"] == "out\n", got)


def told_to_whom(d, box):
    """Two at once: each gets its own refusals if groups can distinguish them, and none if not."""
    other = d.exec(box, ["sh", "-c", "read line; true"], background=True, stdin=True)["exec"]
    got = d.exec(box, ASK_ONE, timeout=ALWAYS)
    last = [i for i in d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"] if i["host"] == "denied.test"][-1]
    check("  where two run, groups tell whose it was; without them nobody is blamed",
          is_told(got.get("denied")) and last["exec"] == got["exec"] if "exec" in last else "denied" not in got, got, last)
    d.call("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, other))
    got = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, other))
    check("  and the other is told nothing of it", "denied" not in got, got)


def daemon_closed_at_once(_):
    """The refusal of a process that ended before the gate checked is reported too, and counts for
    no other exec.
    """
    with daemon_of() as d:
        def run(box):
            return d.exec(box, ["python3", "-c", PRELUDE + CLOSED_AT_ONCE], background=True, stdin=True)["exec"]

        def of(box, exec_number):
            return sorted((i["reason"], i["count"]) for i in d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, exec_number)).get("denied", []))
        box = d.create(manifest=MANIFEST)
        d.exec(box, ["true"])
        number = run(box)
        told = until("all is refused", lambda: sum(i["count"] for i in d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"]) >= 6 and of(box, number))
        check("a socket that is closed at once belongs to the command, where one alone runs", told == [("no_name", 3), ("not_listed", 3)], told)
        d.call("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, number))
        idle = d.exec(box, ["sh", "-c", "read line; true"], background=True, stdin=True)["exec"]
        number = run(box)
        items = until("that is refused as well", lambda: [i for i in [d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"]] if sum(one["count"] for one in i) >= 12])[0]
        blamed = [o for o in (idle,) if of(box, o)]
        check("  where two run, the other is not blamed for it", not blamed and {i.get("exec", number) for i in items} <= {number, number - 2}, items)


def daemon_gate_killed(d, world, box):
    gate = d.children()["carrel-gate"]
    os.kill(gate, signal.SIGKILL)
    got = d.exec(box, ["python3", "-c", world.code(REACH)], timeout=ALWAYS)
    said = out_of(got)
    check("a gate that is killed is started again alone: the sandbox asks, waits, and reaches", said.get("https") == "True" and "SELECT" in said.get("db", "") and
          d.children()["carrel-gate"] != gate, got)


def daemon_restarted(d, world, box):
    keeper = d.children()["carrel-keeper"]
    os.kill(keeper, signal.SIGKILL)
    until("the daemon is back", lambda: d.children().get("carrel-keeper", keeper) != keeper and d.is_up())
    got = d.exec(box, ["python3", "-c", world.code(REACH)], timeout=ALWAYS)
    said = out_of(got)
    check("after the keeper was killed the next one brings sandbox and gate together", said.get("https") == "True" and "SELECT" in said.get("db", ""), got)
    items = d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"]
    check("  and knows what was refused before", any(i["reason"] == "sni_mismatch" for i in items), items)


def daemon_live_change(d, world, box):
    ask = world.code('print("new", ask("new.test")[0])\nprint("reached", ask("new.test")[0] == 0 and "HTTP/1.1 200" in tls("new.test", "new.test", ca=ca))\n'
                     'print("old", ask("allowed.test")[0])\n')
    d.must("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["new.test"]})
    said = out_of(d.exec(box, ["python3", "-c", ask], timeout=ALWAYS))
    check("a list is changed while the sandbox lives: the new name is reached, the old one is not", said == {"new": "0", "reached": "True", "old": "3"}, said)
    a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["new.test", "http://x"]})
    said = out_of(d.exec(box, ["python3", "-c", ask], timeout=ALWAYS))
    check("  a list that is none changes nothing", a.status == 422 or a.status == 400, a)
    check("  whole or not at all", said == {"new": "0", "reached": "True", "old": "3"}, said)
    a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["new.test", "db.internal"]})
    check("  what the host does not permit is refused as at the beginning", a.code == "sandbox_egress_not_permitted", a)
    a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["new.test", "new.test:99"]})
    check("  ports below 1024 are those of the beginning, where they are not routed", a.status == 200 if ROUTED else a.code == "sandbox_egress_unenforceable" and b"routed: true" in a.body, a)
    keeper = d.children()["carrel-keeper"]
    os.kill(keeper, signal.SIGKILL)
    until("the daemon is back", lambda: d.children().get("carrel-keeper", keeper) != keeper and d.is_up())
    said = out_of(d.exec(box, ["python3", "-c", ask], timeout=ALWAYS))
    check("  and it is the list that a later keeper knows", said == {"new": "0", "reached": "True", "old": "3"}, said)
    shut = carrel(d, "network", box, "--none")
    said = out_of(d.exec(box, ["python3", "-c", ask], timeout=ALWAYS))
    check("`carrel network --none` shuts it", shut.returncode == 0 and said.get("new") == "3" and said.get("old") == "3", shut, said)
    back = carrel(d, "network", box, "--allow", "allowed.test", "new.test")
    said = out_of(d.exec(box, ["python3", "-c", ask], timeout=ALWAYS))
    check("  and with hosts opens them again", back.returncode == 0 and said == {"new": "0", "reached": "True", "old": "0"}, back, said)
    other = d.create(manifest={**MANIFEST, "network": {"egress": []}, "metadata": {}})
    d.exec(other, ["true"])
    a = d.call("PUT", "/v1/sandboxes/%s/network" % other, {"egress": ["new.test"]})
    check("a sandbox that was made without a list stays without", a.code == "sandbox_egress_unenforceable" and b"{carrel: {egress: {}}}" in a.body, a)
    other = d.create(manifest={**MANIFEST, "network": {"egress": []}, "metadata": {"carrel": {"egress": {"routed": ROUTED} if ROUTED else {}}}})
    said = out_of(d.exec(other, ["python3", "-c", ask], timeout=ALWAYS))
    told = until("it is told", lambda: d.must("GET", "/v1/sandboxes/%s/denials" % other)["items"])
    check("  with metadata.carrel.egress it has a wall all the same: nothing is reached, and told", said == {"new": "3", "reached": "False", "old": "3"} and
          {i["reason"] for i in told} == {"not_listed"}, said, told)
    first = carrel(d, "network", other, "--allow", "new.test")
    said = out_of(d.exec(other, ["python3", "-c", ask], timeout=ALWAYS))
    check("  and hosts can be added while it lives", first.returncode == 0 and said == {"new": "0", "reached": "True", "old": "3"}, first, said)
    first = carrel(d, "network", other, "--allow", "new.test", "ssh.test:22")
    said = d.exec(other, ["python3", "-c", world.code('with socket.create_connection((address("ssh.test"), 22), 60) as s: print(s.recv(100))')], timeout=ALWAYS)
    check("  port 22 among them, whose listener is always there", first.returncode == 0 and "220 here" in said["stdout"], first, said)
    fresh = d.create()
    first = carrel(d, "network", fresh, "--allow", "allowed.test")
    said = out_of(d.exec(fresh, ["python3", "-c", ask], timeout=ALWAYS))
    check("  and one that was not made yet is made with it", first.returncode == 0 and said == {"new": "3", "reached": "False", "old": "0"}, first, said)


def main(only=()):
    enter()
    world = World()
    for part in (run_reaches, run_refuses, run_counts, run_without_list, run_with_loader, run_capped, run_gate_killed, run_flooded, run_bytes_counted, run_link_cut, daemon_bytes_counted, daemon_sandbox, daemon_told, daemon_closed_at_once, daemon_capped, daemon_link_cut, daemon_narrowed):
        if not only or part.__name__ in only:
            part(world)


if __name__ == "__main__":
    main(sys.argv[1:])
    end()
