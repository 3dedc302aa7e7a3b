#!/usr/bin/env python3
# slow: 25 s: rows of egress_test again, in a namespace of the wall
"""routed_test - a wall in its own namespace: every port inside belongs to the sandbox, and nothing
more is reached.

First what only a routed sandbox can do, with `carrel gate --routed` and in a sandbox of the daemon.
Then rows of egress_test again, routed: those whose listeners, addresses and relaying differ there,
and all of them in a deep run. test/escape/egress_routed_test repeats the attacks of
egress_gate_test. Everything happens in a network namespace of the test.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys

os.environ["CARREL_TEST_ROUTED"] = "1"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import egress_test
import ingress_test
from box_rig import ALWAYS, CARREL, DEEP, ROOT, check, end, report, until
from daemon_rig import processes_of
from egress_test import MANIFEST, World, carrel, daemon_of, out_of
from gate_rig import Gate, Origin, enter

SHOW = """
def show(name, value): print(name, repr(value)[:200].replace("\\n", " "), flush=True)
"""

# Servers at every address, on ports that include each of the gate's; which server answers where.
SERVE = SHOW + """
def serve(family, at, port):
    s = socket.socket(family)
    if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((at, port)); s.listen(16)
    def answer():
        while True:
            c, _ = s.accept()
            c.sendall(b"inside %d" % port); c.close()
    threading.Thread(target=answer, daemon=True).start()
def hear(to, port):
    try:
        with socket.create_connection((to, port), 8) as s:
            s.settimeout(8); return s.recv(100).decode()
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
for family, at, port in ((socket.AF_INET, "0.0.0.0", 80), (socket.AF_INET6, "::", 443), (socket.AF_INET, "0.0.0.0", 5432), (socket.AF_INET, "0.0.0.0", 53)):
    try: serve(family, at, port); show("serve%d" % port, "free")
    except OSError as e: show("serve%d" % port, errno.errorcode[e.errno])
show("db", hear("db.test", 5432))
"""

SERVERS = SERVE + """
show("loop80", hear("127.0.0.1", 80)); show("own80", hear("198.18.0.2", 80)); show("loop443", hear("::1", 443)); show("own443", hear("fd63:6172:7265:6c00::2", 443))
show("loop5432", hear("127.0.0.1", 5432))
show("http", talk("allowed.test", 80, get("allowed.test"))[:12])
show("six", talk(address("allowed.test", 28), 80, get("allowed.test"))[:12])
show("elsewhere", hear("127.0.0.1", 443)); show("elsewhere80", hear("::1", 80))
"""

SERVED = {"serve80": "'free'", "serve443": "'free'", "serve5432": "'free'", "serve53": "'free'", "loop80": "'inside 80'", "own80": "'inside 80'", "loop443": "'inside 443'",
          "own443": "'inside 443'", "loop5432": "'inside 5432'", "http": "'HTTP/1.1 200'", "six": "'HTTP/1.1 200'", "elsewhere": "'ECONNREFUSED'", "elsewhere80": "'ECONNREFUSED'"}

# What the gate does not serve: each attempt must fail, and at once.
REACH = SHOW + """
said = {}
def gone(name, call):
    try: said[name] = repr(call())
    except OSError as e: said[name] = errno.errorcode.get(e.errno, type(e).__name__)
def udp(to, port, at=None):
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(8)
    s.connect((to, port)); s.send(b"x"); return s.recv(10)
def wire(to, port):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 25, b"eth0\\0"); s.settimeout(0.5); s.connect((to, port)); return "open"
def forged(to, at):
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET); s.setsockopt(41 if ":" in to else 0, 78 if ":" in to else 15, 1); s.settimeout(0.5)
    s.bind((at, 0)); s.connect((to, 80)); return "open"
import fcntl
def setting(path, value):
    with open(path, "w") as f: f.write(value)
    return "written"
def device(request, name, value):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: return fcntl.ioctl(s, request, struct.pack("16si12x", name, value)) and "done"
lot = [threading.Thread(target=gone, args=one) for one in (("ntp", lambda: udp("203.0.113.7", 123)), ("quic", lambda: udp("203.0.113.7", 443)), ("quic6", lambda: udp("2001:db8::7", 443)),
                   ("tcp", lambda: socket.create_connection(("203.0.113.7", 8080), 8)), ("proxy", lambda: socket.create_connection(("203.0.113.7", 3128), 8)),
                   ("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)),
                   ("linklocal", lambda: socket.socket(socket.AF_INET6).connect(("fe80::1", 80, 0, 2))),
                   ("wire", lambda: wire("127.0.0.1", 80)), ("wiredns", lambda: wire("127.0.0.1", 53)), ("forged", lambda: forged("203.0.113.7", "198.18.0.1")),
                   ("forged6", lambda: forged("2001:db8::7", "fd63:6172:7265:6c00::1")), ("down", lambda: device(0x8914, b"eth0", 0)), ("mtu", lambda: device(0x8922, b"eth0", 1400)),
                   ("rename", lambda: device(0x8923, b"eth0", 0)), ("forward", lambda: setting("/proc/sys/net/ipv4/ip_forward", "1")))]
for t in lot: t.start()                         # side by side: what is dropped in silence is waited for once
for t in lot: t.join()
for name in said: show(name, said[name])
show("devices", sorted(n for _, n in socket.if_nameindex()))
"""

SHUT = {"ntp": "'ECONNREFUSED'", "quic": "'ECONNREFUSED'", "quic6": "'ECONNREFUSED'", "tcp": "'ECONNREFUSED'", "proxy": "'ECONNREFUSED'", "devices": "['eth0', 'lo']"}
NEVER = ("ping", "linklocal", "wire", "wiredns", "forged", "forged6", "down", "mtu", "rename", "forward")


def lines(text):
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


def expect(what, wanted, said, *more):
    wrong = ["%s is %s" % (k, said.get(k)) for k, v in wanted.items() if said.get(k) != v]
    report(what, wrong + [repr(m) for m in more] if wrong else [])


def expect_reached_nothing(what, said):
    expect(what, SHUT, said)
    opened = [k for k in NEVER if said.get(k, "'open'") in ("'open'", "'done'", "'written'") or said.get(k, "").startswith('"<')]
    check("  nor by the wire itself, a forged source, another device, or another setting", not opened, opened, said)


# -- the gate alone ----------------------------------------------------------------------------------------------------

def gate(world):
    allow = ["allowed.test", "db.test:5432", "ssh.test:22", "squid.test:3128"]
    r = Gate(allow).python(SERVERS)
    expect("servers at every address on 80, 443, 53 and a listed port: each heard inside, and what is listed is reached all the same", SERVED, lines(r.out), r)
    check("  the port that is listed and taken leads outside", "220 here" in lines(r.out).get("db", ""), r)
    free = "'free'"
    r = Gate(allow, routed=False).python(SERVE)
    said = lines(r.out)
    check("  not routed, none of them can listen, or it is in the way", said.get("serve80", free) != free and said.get("serve443", free) != free and "220 here" not in said.get("db", "") and
          "port_taken" in r.codes() and any("routed: true" in d["message"] for d in r.denials), r)
    said = lines(Gate(allow).python(REACH).out)
    expect_reached_nothing("nothing but the gate answers: no other port, no datagram but questions for names", said)
    r = Gate(allow).python(SHOW + 'show("ssh", socket.create_connection(("ssh.test", 22), 8).recv(100).decode())\n'
                           's = socket.create_connection(("squid.test", 3128), 8); show("squid", s.recv(100).decode())\n'
                           's = socket.create_connection(("198.18.0.1", 3128), 8); s.sendall(b"CONNECT allowed.test:80 HTTP/1.1\\r\\nHost: allowed.test:80\\r\\n\\r\\n"); show("proxy", s.recv(100).decode()[:12])\n'
                           'for server in ("198.18.0.1", "8.8.8.8", "2001:4860:4860::8888"):\n for tcp in (False, True): show("%s%d" % (server, tcp), (ask("allowed.test", 28, server, tcp)[1], ask("other.test", 1, server, tcp)[0]))\n')
    said = lines(r.out)
    check("ports below 1024, and the proxy's own port, of listed hosts", "220 here" in said.get("ssh", "") and "220 here" in said.get("squid", "") and "HTTP/1.1 200" in said.get("proxy", ""), r)
    answers = [said.get("%s%d" % (server, tcp)) for server in ("198.18.0.1", "8.8.8.8", "2001:4860:4860::8888") for tcp in (0, 1)]
    check("names are answered by every server, over UDP and TCP, with addresses of both families", len(set(answers)) == 1 and "fd63" in (answers[0] or "") and answers[0].endswith(", 3)"), r)


# -- a sandbox of the daemon -------------------------------------------------------------------------------------------

def sandbox(world):
    with daemon_of() as d:
        box = d.create(manifest=MANIFEST)
        got = d.exec(box, ["python3", "-c", world.code(SERVERS)], timeout=ALWAYS)
        expect("the same in a sandbox of the daemon", SERVED, out_of(got), got)
        check("  the port that is listed and taken leads outside", "220 here" in out_of(got).get("db", ""), got)
        said = out_of(d.exec(box, ["python3", "-c", world.code(REACH)], timeout=ALWAYS))
        expect_reached_nothing("  and nothing but the gate answers", said)
        held = [d.exec(box, ["python3", "-c", "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd')))"])["stdout"].strip() for _ in range(3)]
        check("  a command has none of the sockets that pid 1 keeps", set(held) == {"[0, 1, 2, 3]"}, held)
        few = d.create(manifest={**MANIFEST, "metadata": {"carrel": {"egress": {"routed": True}, "limits": {"open_files": 24}}}})
        got = d.exec(few, ["python3", "-c", world.code(SERVERS)], timeout=ALWAYS)
        expect("  with few descriptors it works as well", SERVED, out_of(got), got)
        served(d)
        added(d, world, box)
        for who in ("carrel-gate", "carrel-keeper"):
            before = d.children()[who]
            os.kill(before, signal.SIGKILL)
            until("the daemon is back", lambda: d.children().get(who, before) != before and d.is_up())
            said = out_of(d.exec(box, ["python3", "-c", world.code(SHOW + 'show("http", talk("allowed.test", 80, get("allowed.test"))[:12])\n'
                                                                       'show("late", socket.create_connection(("ssh.test", 99), 8).recv(100).decode())\n'
                                                                       'show("denied", ask("denied.test")[0])\n')], timeout=ALWAYS))
            check("%s is killed: the next one has the wall, and the port that was added" % who, said.get("http") == "'HTTP/1.1 200'" and "220 here" in said.get("late", "") and
                  said.get("denied") == "3", said)
        used_up(d, world, box)


def served(d):
    """A server inside is reached from outside through a declared port, also below 1024."""
    box, one, two = ingress_test.serve(d, [80, 8080], at="0.0.0.0", manifest=MANIFEST)
    check("a server on port 80 inside is reached through its declared port, and one on 8080", one.get()[1].startswith(b"80:") and two.get()[1].startswith(b"8080:"), one.get(), two.get())
    d.must("DELETE", "/v1/sandboxes/" + box)


def added(d, world, box):
    """Ports below 1024, and others, while it lives."""
    done = carrel(d, "network", box, "--allow", *MANIFEST["network"]["egress"], "ssh.test:99", "ssh.test:7777")
    said = out_of(d.exec(box, ["python3", "-c", world.code(SHOW + 'show("low", socket.create_connection(("ssh.test", 99), 8).recv(100).decode())\n'
                                                               'show("high", socket.create_connection(("ssh.test", 7777), 8).recv(100).decode())\n'
                                                               'show("six", socket.create_connection((address("ssh.test", 28), 99), 8).recv(100).decode())\n'
                                                               'show("other", talk("allowed.test", 99, b"x"))\n')], timeout=ALWAYS))
    check("a port below 1024 is added while it lives", done.returncode == 0 and "220 here" in said.get("low", "") and "220 here" in said.get("high", "") and "220 here" in said.get("six", ""), done, said)
    check("  and is that host's alone", said.get("other") in ("'ECONNRESET'", "'ECONNREFUSED'"), said)


def used_up(d, world, box):
    a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["ssh.test:%d" % port for port in range(200, 230)]})
    check("there is an end to ports that can be added, and it is said", a.code == "sandbox_egress_unenforceable" and b"ports more" in a.body, a)
    a = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["ssh.test:99", "ssh.test:200"]})
    said = out_of(d.exec(box, ["python3", "-c", world.code(SHOW + 'show("low", socket.create_connection(("ssh.test", 99), 8).recv(100).decode())\nshow("old", ask("allowed.test")[0])\n')]))
    check("  refused whole, and fewer are taken", a.status == 200 and "220 here" in said.get("low", "") and said.get("old") == "3", a, said)


# -- where it cannot be made ---------------------------------------------------------------------------------------------

def refused(world):
    """A host whose settings cannot be written: the request is refused, and never done in another
    way.
    """
    run = egress_test.Run()
    read_only = ["unshare", "-m", "sh", "-c", 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"', "sh"]
    if subprocess.run([*read_only, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        report("a routed wall that cannot be made is refused", skip="a mount of the test's own is not permitted here")
        return
    done = subprocess.run([*read_only, *run.argv("true")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    said = json.loads(done.stdout or "{}")
    check("a routed wall that cannot be made is refused by name", done.returncode != 0 and said.get("error", {}).get("code") == "sandbox_egress_unenforceable" and
          said["error"]["reason"] == "routed", done)
    told = subprocess.run([*read_only, CARREL, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS).stdout.decode()
    rows = {r["name"]: r for r in json.loads(told)["mechanisms"]}
    check("  and the doctor says so, of this alone", rows["wall"]["state"] == "works" and rows["routed"]["state"] == "fails", rows["routed"], rows["wall"])
    done = Gate(["allowed.test"])
    done = subprocess.run([*read_only, *done.argv("true")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("  and so does `carrel gate`", done.returncode == 126 and b"--routed" in done.stderr + done.stdout, done)


# -- the end -----------------------------------------------------------------------------------------------------------

class Inside:
    """The network namespace of a sandbox, held from outside: whether its wire still leads
    somewhere.
    """

    count = 0

    def __init__(self, d, box):
        Inside.count += 1
        mark = 1000000 + 10 * os.getpid() + Inside.count    # seconds that no other program of this machine sleeps
        d.exec(box, "sleep %d >/dev/null 2>&1 &" % mark)
        pid = until("the sleeper is there", lambda: [p for p in os.listdir("/proc") if p.isdigit() and words(p)[:2] == [b"sleep", b"%d" % mark]])[0]
        self.fd = os.open("/proc/%s/ns/net" % pid, os.O_RDONLY)
        self.first = int(pid)                          # and up from it to pid 1
        while field(self.first, "NSpid")[-1] != "1":
            self.first = int(field(self.first, "PPid")[0])
        self.box = [p for p, name in processes_of(d.state).items() if name == "carrel-box" and holds(p, box)]

    def has_wire(self):
        """In a child: setns is for good."""
        pid = os.fork()
        if pid == 0:
            try:
                ok = ctypes.CDLL(None).setns(self.fd, 0x40000000) == 0
                import socket
                os._exit((1 if "eth0" in [n for _, n in socket.if_nameindex()] else 0) if ok else 2)
            except BaseException:                      # noqa: BLE001 - the child never returns
                os._exit(3)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def field(pid, name):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return next(line for line in f if line.startswith(name + ":")).split()[1:]


def holds(pid, box):
    """Whether this process has something of the sandbox's directory open."""
    return any(box in os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid))


def words(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def left_behind(world):
    if not ROOT:
        report("the second namespace ends with its sandbox", skip="only root can look into another's namespace")
        return
    with daemon_of() as d:
        first, second = d.create(manifest=MANIFEST), d.create(manifest=MANIFEST)
        one, two = Inside(d, first), Inside(d, second)
        check("while it lives a sandbox has its wire", one.has_wire() == 1 and two.has_wire() == 1)
        d.must("DELETE", "/v1/sandboxes/" + first)
        until("the wire of the first is gone", lambda: one.has_wire() == 0)
        check("the second namespace ends with its sandbox, and no other does", two.has_wire() == 1)
        for who in ("pid 1", "its box"):
            last = Inside(d, d.create(manifest=MANIFEST))
            check("  (%s is found)" % who, last.has_wire() == 1 and len(last.box) == 1, last.box, processes_of(d.state))
            os.kill(last.first if who == "pid 1" else last.box[0], signal.SIGKILL)
            until("the wire is gone", lambda: last.has_wire() == 0)
            check("  and when %s is killed" % who, two.has_wire() == 1)
        d.stop(signal.SIGKILL)
        for pid in processes_of(d.state):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        until("the wire of the second is gone", lambda: two.has_wire() == 0)
        check("  and when gate, box and daemon are killed", two.has_wire() == 0)
        d.start()


def main():
    only = sys.argv[1:]
    enter()
    world = World()
    for port in (3128, 99, 7777):
        Origin("127.0.0.1", port, egress_test.plain)
    world.names.table["squid.test"] = ["127.0.0.1"]
    for part in (gate, sandbox, refused, left_behind):
        if not only or part.__name__ in only:
            part(world)
    again = ("run_reaches", "run_refuses", "run_gate_killed", "run_link_cut", "daemon_sandbox")
    for name in again + (("run_without_list", "run_capped", "daemon_capped", "daemon_link_cut") if DEEP else ()):
        if not only or name in only:
            getattr(egress_test, name)(world)
    end()


if __name__ == "__main__":
    main()
