#!/usr/bin/env python3
# slow: 35 s: a virtual machine boots on an emulated processor
"""machine_egress_test - network.egress of a virtual machine that was saved (kinds_test.py has one that boots): one machine, and in it what is listed, the same refusals as in a
sandbox of provider local, attacks that find their way without a gate, what is recorded and metered, a list that changes, and a
gate that is killed.

Everything happens in a network namespace of the test. wall/tap_test.c sends the frames that only a machine's kernel can make.
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

os.environ["CARREL_TEST_ROUTED"] = "1"                 # a machine has its ports, as behind a routed wall

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import egress_test
import routed_test
from box_rig import ALWAYS, CARREL, PATIENCE, check, descendants, end, need_programs, report, until
from daemon_rig import Daemon
from egress_test import World, carrel
from gate_rig import PRELUDE, Names, Origin, enter
from image_rig import image_import, python_image
from kinds_rig import host_file
from machine_rig import has_tap, make_disk, need_machine, qemus, save_machine

OWN, OWN6 = "203.1.113.7", "2a00:1234::7"              # not special: stand for this host's own addresses
LONG_MS = 1200000
LIST = {"network": {"egress": [*egress_test.MANIFEST["network"]["egress"], "alpha.test"]}, "limits": {"timeout_ms": LONG_MS}}
LOCAL = {**egress_test.MANIFEST, **LIST}
MACHINE = {"provider": "microvm", "config": {"image": "python:1"}, "network": LIST["network"], "limits": {"timeout_ms": LONG_MS, "memory_mb": 320}}

ATTACK = '''
def tell(name, is_open): sys.stdout.write(("OPEN " if is_open else "closed ") + name + "\\n"); sys.stdout.flush()
attempts = []
def tried(name, attempt):
    """Side by side with the others: many an attempt hears nothing, and waits."""
    def go():
        try: tell(name, bool(attempt()))
        except (OSError, AssertionError, ValueError): tell(name, False)
    attempts.append(threading.Thread(target=go))
    attempts[-1].start()
own, own6, patience = %r, %r, PATIENCE
def datagram(to, port, data):
    with socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(patience); s.connect((to, port)); s.send(data); return s.recv(500)
def forged(source, to):
    six = ":" in to
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET) as s:
        s.setsockopt(41 if six else 0, 78 if six else 15, 1); s.settimeout(patience); s.bind((source, 0)); s.connect((to, 80)); s.sendall(get("evil.test")); return b"200 OK" in s.recv(500)
def greeted(to, port):
    with socket.create_connection((to, port), patience) as s: return b"220" in s.recv(100)
def raw(family, kind, protocol): socket.socket(family, kind, protocol).close(); return True
tried("an address of the host", lambda: "200 OK" in talk(own, 80, get("evil.test"), patience))
tried("an address of the host, IPv6", lambda: "200 OK" in talk(own6, 80, get("evil.test"), patience))
tried("with a listed name in it", lambda: "200 OK" in talk(own, 80, get("allowed.test"), patience))
tried("the host's loopback", lambda: "200 OK" in talk("127.0.0.66", 80, get("evil.test"), patience))
tried("the host's loopback, IPv6", lambda: "200 OK" in talk("::1", 80, get("evil.test"), patience))
tried("the host's loopback, mapped", lambda: "200 OK" in talk("::ffff:127.0.0.66", 80, get("evil.test"), patience))
tried("another port", lambda: greeted(own, 5432))
tried("past the gate, TLS", lambda: "HTTP/1.1 200" in tls(own, "denied.test"))
tried("past the gate, TLS with a listed name", lambda: "HTTP/1.1 200" in tls(own, "allowed.test"))
tried("UDP, as QUIC", lambda: datagram(own, 443, b"x"))
tried("UDP, IPv6", lambda: datagram(own6, 443, b"x"))
tried("DNS of another server", lambda: ask("denied.test", server=own, timeout=patience)[0] == 0)
tried("DNS of another server, TCP", lambda: ask("denied.test", server=own, tcp=True, timeout=patience)[0] == 0)
tried("the host's own resolver", lambda: datagram("127.0.0.1", 5300, b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4deny\\4test\\0\\0\\1\\0\\1"))
tried("a forged source", lambda: forged("127.0.0.66", own))
tried("a forged source of the network", lambda: forged(own, "127.0.0.66"))
tried("a forged source, IPv6", lambda: forged("::1", own6))
tried("raw IP", lambda: raw(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
tried("raw IPv6", lambda: raw(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
tried("frames", lambda: raw(socket.AF_PACKET, socket.SOCK_RAW, 0))
for t in attempts: t.join()
print("END closed", flush=True)
'''.replace("%r, %r", "%r, %r" % (OWN, OWN6))

ONE = """
s = socket.create_connection(("alpha.test", 80), 60)
body = b"POST / HTTP/1.1\\r\\nHost: alpha.test\\r\\nConnection: close\\r\\nContent-Length: 1000000\\r\\n\\r\\n" + b"x" * 1000000
s.sendall(body)
got = b""
while more := s.recv(65536): got += more
s.close()
print("sent", len(body)); print("got", len(got)); print("said", got[:12])
"""

# Servers at every address, on ports that are the gate's own in other sandboxes.
SERVERS = """
def serve(family, at, port):
    s = socket.socket(family); s.bind((at, port)); s.listen(16)
    def answer():
        while True:
            with s.accept()[0] as c: c.sendall(b"inside")
    threading.Thread(target=answer, daemon=True).start()
serve(socket.AF_INET, "0.0.0.0", 80); serve(socket.AF_INET6, "::", 443)
for name, at, port in (("own", "198.18.0.2", 80), ("six", "fd63:6172:7265:6c00::2", 443), ("loop", "127.0.0.1", 80)): print(name, talk(at, port))
print("listed", talk("allowed.test", 80, get("allowed.test"))[:12])
"""

REFUSED = """
for name in ("denied.test", "other.test"): show(name, ask(name)[0])
show("sni", "HTTP" in tls(address("allowed.test"), "denied.test")); show("address", "200 OK" in talk("203.0.113.9", 80, get("denied.test")))
show("host", talk(address("allowed.test"), 80, get("denied.test"))[-400:])
"""


# Python takes seconds to start on an emulated processor: one process runs all rows.
AGENT = PRELUDE + """
import json, traceback
for line in sys.stdin:
    code, known = json.loads(line), dict(globals())
    try: exec(code, known)
    except BaseException: print("FAILED", repr(traceback.format_exc()))
    print("DONE", flush=True)
"""


class Inside:
    """A Python process in a sandbox."""

    def __init__(self, d, box):
        self.d, self.box = d, box
        self.child = subprocess.Popen([CARREL, "exec", box, "--", "python3", "-uc", AGENT], env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __call__(self, code):
        """What it printed."""
        self.child.stdin.write(json.dumps(code) + "\n")
        self.child.stdin.flush()
        said = list(iter(self.child.stdout.readline, "DONE\n"))
        if not self.child.poll() is None:
            raise AssertionError("the sandbox has ended: %s" % said)
        return "".join(said)

    def lines(self, code):
        return egress_test.lines({"stdout": self(code)})

    def denials(self):
        return self.d.must("GET", "/v1/sandboxes/%s/denials" % self.box)["items"]

    def end(self):
        self.child.stdin.close()
        self.child.wait(timeout=ALWAYS)


def echo(family, at):
    """Answers each datagram."""
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind(at)
    while True:
        data, who = s.recvfrom(2048)
        s.sendto(b"heard " + data, who)


def evil(world):
    """What a machine must not reach: servers at addresses of the host, of each kind."""
    for words in (["addr", "add", OWN + "/32", "dev", "lo"], ["addr", "add", OWN6 + "/128", "dev", "lo", "nodad"]):
        subprocess.run(["ip", *words], check=True)
    for family, at in ((socket.AF_INET, (OWN, 443)), (socket.AF_INET6, (OWN6, 443))):
        threading.Thread(target=echo, args=(family, at), daemon=True).start()
    context = world.authority.context("denied.test", "allowed.test")
    return [*(Origin(at, 80) for at in (OWN, OWN6, "127.0.0.66", "::1")), Origin(OWN, 443, context=context), Origin(OWN, 5432, egress_test.plain),
            Names({"denied.test": [OWN]}, at=(OWN, 53)), Origin(OWN, 53, dns_over_tcp)]


def dns_over_tcp(peer):
    data = peer.recv(4096)
    peer.sendall(data[:4] + b"\x81\x80" + data[6:])


def opened(text):
    return sorted(line[5:] for line in text.splitlines() if line.startswith("OPEN "))


def attacks(inside, servers):
    said = inside(ATTACK.replace("PATIENCE", "8"))          # what is dropped in silence is waited for
    check("a machine reaches no address, port, protocol or name server of the host, whatever source it claims", said.endswith("END closed\n") and not opened(said), said)
    seen = [s.said for s in servers if isinstance(s, Origin) and s.said]
    check("  and no server of the host heard anything", not seen and not servers[-2].asked, seen, servers[-2].asked)
    out = subprocess.run([sys.executable, "-c", PRELUDE + ATTACK.replace("PATIENCE", str(PATIENCE))], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    tries = ATTACK.count('\ntried("')
    check("  without a gate each of these %d ways is open" % tries, len(opened(out.stdout)) == tries, out.stdout, out.stderr)


def reaches(inside, world):
    got = inside.lines(world.code(egress_test.REACH))
    check("a machine reaches what its list names: https, http, a wildcard, other ports by name", got.get("https") == "True" and got.get("http") == "'HTTP/1.1 200'" and
          got.get("wild") == "True" and "SELECT" in got.get("db", "") and "220 here" in got.get("ssh", ""), got)
    got = inside.lines(SERVERS)
    check("servers inside have every port, and what is listed is reached all the same", got == {"own": "inside", "six": "inside", "loop": "inside", "listed": "HTTP/1.1 200"}, got)


def told(d, inside):
    """The same refusals as of a sandbox of provider local."""
    local = Inside(d, d.create(manifest=LOCAL))
    said = []
    for one in (local, inside):
        text = one(routed_test.SHOW + REFUSED)
        # the gate answers before it reports
        until("the last refusal is listed", lambda one=one: any(i["reason"] == "host_mismatch" for i in one.denials()))
        said.append((text, sorted((i["reason"], i.get("host"), i.get("port"), i["message"]) for i in one.denials())))
    local.end()
    check("what is refused is refused as in a sandbox of provider local, and told in the same words", said[0] == said[1] and
          {"not_listed", "no_name", "sni_mismatch", "host_mismatch"} <= {reason for reason, *_ in said[1][1]} and "403" in said[1][0], *said)


def metered(d, inside):
    events = []

    def watch():
        try:
            for item in d.stream("GET", "/v1/events", timeout=ALWAYS):
                events.append(item)
        except (OSError, http.client.HTTPException, AssertionError):
            pass                                        # the daemon has ended

    threading.Thread(target=watch, daemon=True).start()
    until("it watches", lambda: d.exec(inside.box, ["true"]) and any(n == "exec-ended" for n, _ in events))
    before = d.must("GET", "/v1/sandboxes/%s/usage" % inside.box)
    said = inside.lines(ONE)
    sent, received = int(said.get("sent", 0)), int(said.get("got", 0))
    until("the end of the connection", lambda: any(n == "egress-ended" and e["host"] == "alpha.test" for n, e in events))
    began, ended = ([data for name, data in events if name == word and data["host"] == "alpha.test"] for word in ("egress-allowed", "egress-ended"))
    check("an allowed connection is recorded, with the command that opened it", said.get("said") == "b'HTTP/1.1 200'" and
          [(e["id"], e["host"], e["port"], e["address"], e["exec"]) for e in began] == [(inside.box, "alpha.test", 80, "127.0.0.1", 1)], began, said)
    check("  and its end with the bytes that passed", sent > 1000000 and [(e["bytes_out"], e["bytes_in"]) for e in ended] == [(sent, received)], ended, said)
    used = d.must("GET", "/v1/sandboxes/%s/usage" % inside.box)
    check("  which are metered", (used["bytes_out"] - before["bytes_out"], used["bytes_in"] - before["bytes_in"]) == (sent, received), before, used)


def changed(d, inside):
    """A list that grows, and then a gate that is killed."""
    done = carrel(d, "network", inside.box, "--allow", *LIST["network"]["egress"], "ssh.test:99")
    said = inside.lines(routed_test.SHOW + 'show("low", take(socket.create_connection(("ssh.test", 99), 60), 9))\nshow("other", talk("allowed.test", 99, b"x"))\n')
    check("a port below 1024 is added while it lives, and is that host's alone", done.returncode == 0 and "220 here" in said.get("low", "") and
          said.get("other") in ("'ECONNRESET'", "'ECONNREFUSED'"), done, said)
    before = d.children()["carrel-gate"]
    os.kill(before, signal.SIGKILL)
    until("the daemon is back", lambda: d.children().get("carrel-gate", before) != before and d.is_up())
    said = inside.lines(routed_test.SHOW + 'show("http", talk("allowed.test", 80, get("allowed.test"))[:12])\nshow("denied", ask("denied.test")[0])\n')
    check("the gate is killed: the next one has the wall", (said.get("http"), said.get("denied")) == ("'HTTP/1.1 200'", "3"), said)


def sealed():
    pids = qemus(pid for pid, _ in descendants())
    with open("/proc/%d/net/dev" % pids[0], encoding="ascii") as f:
        devices = [line.split(":")[0].strip() for line in f if ":" in line]
    fds = [os.readlink("/proc/%d/fd/%s" % (pids[0], n)).split(":")[0] for n in os.listdir("/proc/%d/fd" % pids[0])]
    with open("/proc/%d/status" % pids[0], encoding="ascii") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    check("QEMU itself is in a network namespace with nothing in it, and holds one tap and no capability", len(pids) == 1 and devices == ["lo"] and fds.count("/dev/net/tun") == 1 and
          set(fds) <= {"/dev/null", "/disk", "/memory", "/dev/net/tun", "socket", "anon_inode"} and fds.count("socket") == 1 and
          {status[k] for k in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == {"0" * 16}, pids, devices, fds)


def main():
    need_programs()
    need_machine()
    if not has_tap():
        report("network.egress of a machine", skip="this user may not open /dev/net/tun; test/cli/microvm_test.py has the refusal")
        end()
    enter()
    world = World()
    world.names.table["alpha.test"] = ["127.0.0.1"]
    world.late = Origin("127.0.0.1", 99, egress_test.plain)
    servers = evil(world)
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        state = os.path.join(top, "state")
        image_import(CARREL, state, python_image().layout(os.path.join(top, "layout")), "python:1")
        make_disk(state, "python:1")
        rules = {k: v for k, v in egress_test.HOST.items() if k != "providers"}
        host = host_file(top, **rules)
        save_machine(state, host, "python:1", "320m")
        with Daemon("--host", host, state=state) as d:
            box = d.create(manifest=MACHINE)
            inside = Inside(d, box)
            info = d.must("GET", "/v1/sandboxes/" + box)
            check("it starts with a saved machine", (info.get("machine_start"), info.get("machine_why")) == ("saved", None), info)
            told(d, inside)             # first: a sandbox keeps its first refusals alone
            reaches(inside, world)
            sealed()
            attacks(inside, servers)
            metered(d, inside)
            changed(d, inside)
            d.must("DELETE", "/v1/sandboxes/" + box)
            inside.end()
            until("QEMU is gone", lambda: not qemus(pid for pid, _ in descendants()))
    end()


main()
