#!/usr/bin/env python3
"""facts_egress_test - every connection that is allowed is reported (P32): in the audit log of
`carrel run --audit`, and as events of the daemon. Many are added up, and none hides another.

Everything happens in a network namespace of the test, with a name server and origins on its
loopback.
"""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import ALWAYS, CARREL, PATIENCE, check, end, until
from daemon_rig import Daemon
from gate_rig import PRELUDE, Names, Origin, enter

HOSTS = ["%s.test" % name for name in ("alpha", "beta", "quiet", *["many%02d" % i for i in range(40)])]
MANIFEST = {"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", "provider": "local", "config": {}, "limits": {"timeout_ms": 280000},
            "network": {"egress": HOSTS}}
HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8"]}
FLOOD = 200

ONE = PRELUDE + """
s = socket.create_connection(("alpha.test", 80), 60)
s.sendall(get("alpha.test"))
got = b""
while more := s.recv(65536): got += more
print(len(get("alpha.test")), len(got))
"""
MANY = PRELUDE + """
def one(host):
    with socket.create_connection((host, 80), 60) as s:
        s.sendall(get(host))
        while s.recv(65536): pass
for i in range(%d): one("alpha.test")
one("quiet.test")
for i in range(40): one("many%%02d.test" %% i)
""" % FLOOD
# a resolver's question that gets no answer within a second waits; any other answer than an address is a failure
BEHIND = PRELUDE + """
hosts = ["many%02d.test" % i for i in range(40)]
print("ready", flush=True); sys.stdin.readline()
for done, host in enumerate(hosts):
    try: rcode, found = ask(host, timeout=1)
    except socket.timeout: print("waits", flush=True); break
    if rcode or "200 OK" not in talk(found[0], 80, get(host)): print("rcode", rcode, flush=True); break
sys.stdin.readline()
for host in hosts[done:]:
    with socket.create_connection((host, 80), 60) as s:
        s.sendall(get(host))
        while s.recv(65536): pass
print("over", flush=True)
"""


def answer(peer):
    while not peer.recv(65536).endswith(b"\r\n\r\n"):
        pass
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


class Run:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="carrel-facts-")
        os.chmod(self.folder, 0o755)
        self.work, self.state = os.path.join(self.folder, "ws"), os.path.join(self.folder, "state")
        os.mkdir(self.work, 0o755)
        for path, what in ((os.path.join(self.work, "SANDBOX.md"), "---\n%s\n---\n" % json.dumps(MANIFEST)), (os.path.join(self.folder, "host.json"), json.dumps(HOST))):
            with open(path, "w", encoding="ascii") as f:
                f.write(what)

    def start(self, *words):
        return subprocess.Popen([CARREL, "run", "--audit", "--host", os.path.join(self.folder, "host.json"), "--", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=self.work, env={**os.environ, "CARREL_STATE": self.state})

    def run(self, *words):
        p = self.start(*words)
        out = p.communicate(timeout=ALWAYS)[0]
        return subprocess.CompletedProcess(words[:-1], p.returncode, out)

    def entries(self):
        return list(audit_chain.entries(os.path.join(self.state, "audit", "uid:%d" % os.getuid())))

    def facts(self, action):
        return [e for entry in self.entries() if entry["action"] == action for e in entry["output"]["events"]]


def total(events, host=None):
    return sum(e.get("count", 1) for e in events if host is None or e.get("host") == host)


def run_one():
    r = Run()
    done = r.run("python3", "-c", ONE)
    sent, got = (int(n) for n in done.stdout.split()) if done.returncode == 0 else (0, 0)
    actions = [e["action"] for e in r.entries()]
    began, ended = r.facts("egress.allowed"), r.facts("egress.ended")
    check("an allowed connection is an entry of the audit log, before the command's end",
          done.returncode == 0 and actions[-1] == "exec.ended" and [(e["host"], e["port"], e["address"], e["exec"]) for e in began] == [("alpha.test", 80, "127.0.0.1", 1)],
          done, actions, began)
    check("  and its end is one, with the bytes that passed", [(e["host"], e["bytes_out"], e["bytes_in"], e["exec"]) for e in ended] == [("alpha.test", sent, got, 1)], ended)


def run_many():
    r = Run()
    done = r.run("python3", "-c", MANY)
    began, ended = r.facts("egress.allowed"), r.facts("egress.ended")
    check("%d connections to one host are counted, in fewer events" % FLOOD, done.returncode == 0 and total(began, "alpha.test") == FLOOD and
          total(ended, "alpha.test") == FLOOD and len([e for e in began if e.get("host") == "alpha.test"]) < FLOOD / 2, done, len(began), began[:4])
    check("  and hide no other host", [e.get("count", 1) for e in began if e.get("host") == "quiet.test"] == [1], began)
    check("  more hosts than are told apart within a second are counted", total(began) == FLOOD + 41, done, total(began), began)


def box_of(pid):
    """The box of this run: its parent is a child of `carrel`."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry, encoding="ascii", errors="replace") as f:
                comm, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            if comm == "carrel-box":
                with open("/proc/%s/stat" % rest.split()[1], encoding="ascii", errors="replace") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        return int(entry)
        except OSError:
            pass                                        # it has ended
    return 0


def run_behind():
    """What the payload does fills the gate's link to a box that is behind."""
    r = Run()
    p = r.start("python3", "-uc", BEHIND)
    try:
        said = [p.stdout.readline().strip()]
        box = until("the box", lambda: box_of(p.pid))
        os.kill(box, signal.SIGSTOP)
        try:
            p.stdin.write("\n")
            p.stdin.flush()
            said.append(p.stdout.readline().strip())
        finally:
            os.kill(box, signal.SIGCONT)
        said.append(p.communicate("\n", timeout=ALWAYS)[0].strip())
    finally:
        p.kill()
    began, ended = r.facts("egress.allowed"), r.facts("egress.ended")
    check("while the box is behind a new name waits, and is not refused", said == ["ready", "waits", "over"], said)
    check("  and no connection is missing in the log", (total(began), total(ended)) == (40, 40), total(began), total(ended), began)


def daemon_events():
    r = Run()
    with Daemon("--host", os.path.join(r.folder, "host.json")) as d:
        watched(d)


def watched(d):
    events = []

    def watch():
        try:
            for item in d.stream("GET", "/v1/events", timeout=10 * PATIENCE):
                events.append(item)
        except (OSError, http.client.HTTPException, AssertionError):
            pass                                        # the daemon has ended

    reader = threading.Thread(target=watch, daemon=True)
    reader.start()
    box = d.create(manifest=MANIFEST)
    until("it watches", lambda: d.exec(box, ["true"]) and any(n == "exec-ended" for n, _ in events))
    done = d.exec(box, ["python3", "-c", ONE], timeout=ALWAYS)
    sent, got = (int(n) for n in done["stdout"].split())
    until("the end of the connection", lambda: any(n == "egress-ended" for n, _ in events))
    began, ended = ([data for name, data in events if name == word] for word in ("egress-allowed", "egress-ended"))
    check("the daemon publishes an allowed connection, with the exec that opened it",
          [(e["id"], e["host"], e["port"], e["address"], e["exec"]) for e in began] == [(box, "alpha.test", 80, "127.0.0.1", done["exec"])], began)
    check("  and its end with the bytes that passed", [(e["host"], e["bytes_out"], e["bytes_in"]) for e in ended] == [("alpha.test", sent, got)], ended)
    used = d.must("GET", "/v1/sandboxes/%s/usage" % box)
    check("usage has these bytes, of the sandbox and of its owner", sent > 0 and [(u["bytes_out"], u["bytes_in"]) for u in (used, *d.must("GET", "/v1/usage")["items"])] == [(sent, got)] * 3, used)
    lines = d.call("GET", "/metrics").body.decode().splitlines()
    check("so have the metrics", {line.rsplit('"', 2)[1]: int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("carrel_usage_egress_bytes_total{")} == {"out": sent, "in": got}, lines)


def main():
    enter()
    names = Names({host: ["127.0.0.1"] for host in HOSTS})
    origin = Origin("127.0.0.1", 80, answer)
    run_one()
    run_many()
    run_behind()
    daemon_events()
    del names, origin


if __name__ == "__main__":
    main()
    end()
