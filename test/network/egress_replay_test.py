#!/usr/bin/env python3
"""egress_replay_test - `carrel audit replay` answers the connections of a recorded command from the
recording (P40): byte for byte, and without a connection to the servers, which count them. What the
command sends otherwise is reported, and what cannot be replayed is named.

Everything happens in a network namespace of the test, with a name server and origins on its
loopback.
"""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
import replay_rig
from box_rig import ALWAYS, CARREL, check, end, until
from daemon_rig import Daemon
from gate_rig import PRELUDE, Authority, Names, Origin, enter

LISTED = ["web.test", "keep.test", "tls.test", "gone.test", "dead.test:81", "db.test:5432", "reset.test:5433", "tls.test:8443"]
HOST = {"providers": {"local": {"isolated": True, "mounts": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8"],
        "host_ports": [6379], "redact": {"personal": True}}
CARREL_BLOCK = {"metadata": {"carrel": {"egress": {"host_ports": [6379]}}}}
LARGE = 9 << 20

ALL = PRELUDE + """
import http.client, subprocess, urllib.request
def show(name, value): print(name, repr(value)[:300], flush=True)
web = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for path in ("one", "two", "one"): show(path, web.open("http://web.test/" + path).read())
show("posted", web.open("http://web.test/form", b"x" * 200000).read())
proxied = subprocess.run(["curl", "-sSi", "--proxytunnel", "-x", "http://198.18.0.1:3128", "http://web.test/proxied"], capture_output=True)
show("proxied", proxied)
with socket.create_connection(("db.test", 5432), 60) as s:
    f = s.makefile("rb")
    show("greeting", f.readline())                  # the server speaks first
    for i in range(3): s.sendall(b"select %d\\n" % i); show("row", f.readline())
    s.shutdown(socket.SHUT_WR); show("rest", f.read())
with socket.create_connection(("host.carrel.internal", 6379), 60) as s: s.sendall(b"PING\\r\\n"); show("redis", take(s, 7))
keep = http.client.HTTPConnection("keep.test")          # two requests on one connection, and one that the list does not allow
for path, host in (("/a", "keep.test"), ("/b", "keep.test"), ("/c", "other.test")):
    keep.request("GET", path, headers={"Host": host}); answer = keep.getresponse(); show("kept", (answer.status, answer.read()))
keep.close()
def one(i): got[i] = web.open("http://web.test/many%d" % i).read()
got = {}; threads = [threading.Thread(target=one, args=(i,)) for i in range(6)]
for t in threads: t.start()
for t in threads: t.join()
show("many", sorted(got.items()))
for host, port in (("gone.test", 80), ("unlisted.test", 80), ("dead.test", 81)):
    try: show(host, talk(host, port, get(host)))
    except OSError as e: show(host, e)
"""

FETCH = """
import os, socket, urllib.request
web = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with open("/given/word") as f: word = f.read()
%s
"""


def database(peer):
    """A row is another one each time."""
    global ROWS
    peer.sendall(b"220 here\n")
    data = b""
    while more := peer.recv(65536):
        data += more
        while b"\n" in data:
            _, _, data = data.partition(b"\n")
            ROWS += 1
            peer.sendall(b"row %d\n" % ROWS)
    peer.sendall(b"221 over\n")


ROWS = 0


def reset(peer):
    peer.recv(1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


class Web:
    """Each answer has the number of the request."""

    def __init__(self):
        self.count, self.goes_on = 0, threading.Event()
        self.origin = Origin("127.0.0.1", 80, self.serve)

    def serve(self, peer):
        data = b""
        while b"\r\n\r\n" not in data:
            more = peer.recv(65536)
            if not more:
                return
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length and (more := peer.recv(65536)):
            body += more
        self.count += 1
        text = b"answer %d of %d bytes" % (self.count, len(body))
        if b"/large" in head:
            text = os.urandom(LARGE)
        if b"/wait" in head:
            self.goes_on.wait(ALWAYS)
        if b"/personal" in head:
            text = b"ask someone@example.org\n"
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text)


class Bench:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="carrel-replay-")
        self.work, self.state, self.host, self.given = (os.path.join(self.top, n) for n in ("work", "state", "host.json", "given"))
        os.mkdir(self.work)
        os.mkdir(self.given)
        self.give("first")
        self.log = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        with open(self.host, "w", encoding="ascii") as f:
            json.dump(HOST | {"mount_roots": [self.top]}, f)
        self.manifest({})

    def give(self, word):
        """A mount beside the workspace is not compared: so the same command can do something else."""
        with open(os.path.join(self.given, "word"), "w", encoding="ascii") as f:
            f.write(word)

    def manifest(self, more):
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="ascii") as f:
            f.write("---\n%s\n---\n" % json.dumps({"schema": "sandbox/v1", "provider": "local", "config": {}, "limits": {"timeout_ms": 280000},
                                                  "mounts": [{"source": "workspace", "at": "/workspace"}, {"source": {"inline": {"provider": "local-fs", "config": {"path": self.given}}}, "at": "/given", "mode": "read-only"}], "network": {"egress": LISTED}, **CARREL_BLOCK, **more}))

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env={**os.environ, "CARREL_STATE": self.state, "HOME": self.top}, cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)

    def record(self, *words):
        """The command's own end, and the entry of it."""
        done = self.carrel("run", "--audit", "--keep-output", "--host", self.host, "--", *words)
        return done, list(audit_chain.entries(self.log))[-1]

    def fetch(self, code):
        return self.record("python3", "-c", FETCH % code)

    def replay(self, entry):
        a = self.carrel("audit", "replay", str(entry["seq"]), "--host", self.host, "--json")
        return a.returncode, json.loads(a.stdout) if a.stdout else a.stderr.decode()

    def content(self, entry):
        with open(os.path.join(self.log, "content", entry["output"]["content"]["egress"]["sha256"]), "rb") as f:
            return f.read()


class World:
    def __init__(self):
        authority = Authority()
        self.names = Names({name: ["127.0.0.1"] for name in ("web.test", "tls.test", "dead.test", "db.test", "reset.test")} | {"keep.test": ["127.0.0.2"]})
        self.web, self.db = Web(), Origin("127.0.0.1", 5432, database)
        self.redis = Origin("127.0.0.1", 6379, lambda peer: (peer.recv(100), peer.sendall(b"+PONG\r\n")))
        self.keep, self.reset = Origin("127.0.0.2", 80), Origin("127.0.0.1", 5433, reset)
        self.tls = [Origin("127.0.0.1", port, context=authority.context("tls.test")) for port in (443, 8443)]

    def connections(self):
        return [o.count for o in (self.web.origin, self.db, self.redis, self.keep, self.reset, *self.tls)], len(self.names.asked)


def equal(b, world):
    done, entry = b.record("python3", "-c", ALL)
    said = done.stdout.decode()
    check("recorded: HTTP, a proxy, plain protocols, a service of this machine, six at once, and what is not reached", all(w in said for w in (
        "answer 1 of", "of 200000 bytes", "row 3", "221 over", "PONG", "proxied", "many", "kept (403")) and done.returncode == 0, said, done.stderr)
    text = b.content(entry)
    check("  what the command sent is not kept", b"answer 1 of 0 bytes" in text and b"select" not in text and b"User-Agent" not in text, text[:2000])
    shown = b.carrel("audit", "show", str(entry["seq"]), "--egress")
    check("  `carrel audit show --egress` prints the transcript", shown.returncode == 0 and shown.stdout == text, shown)
    before = world.connections()
    status, report = b.replay(entry)
    check("replayed: equal byte for byte, also what was refused and what failed", status == 0 and report["equal"] and report["replay_supported"] and report["egress"]["equal"]
          and report["egress"]["connections"] == 16, status, report)
    check("  and no server was connected to, no name was asked for", world.connections() == before, before, world.connections())
    done = b.carrel("audit", "replay", str(entry["seq"]), "--host", b.host)
    check("  for a person", done.returncode == 0 and b"\negress: equal\n" in done.stdout, done)
    return entry


def altered(b, entry):
    path = os.path.join(b.log, "content", entry["output"]["content"]["egress"]["sha256"])
    with open(path, "rb") as f:
        text = f.read()
    started = sum(e["action"] == "exec.started" for e in audit_chain.entries(b.log))
    with open(path, "wb") as f:
        f.write(text.replace(b"answer 1 of", b"answer 9 of", 1))
    status, report = b.replay(entry)
    check("an altered transcript is refused, and nothing is started", status == 126 and report["error"]["reason"] == "content.tampered" and
          started == sum(e["action"] == "exec.started" for e in audit_chain.entries(b.log)), status, report)
    verified = b.carrel("audit", "verify")
    check("  `carrel audit verify` names it", verified.returncode != 0 and b"content.tampered" in verified.stdout + verified.stderr, verified)
    with open(path, "wb") as f:
        f.write(text)


def differs(b, world):
    """The file of another mount says what the command does."""
    cases = (
        ("another request", 'web.open("http://web.test/same"); web.open("http://web.test/" + word)', {"what": "bytes", "host": "web.test", "port": 80, "connection": 2, "turn": 1, "byte": 0}),
        ("another second turn", 's = socket.create_connection(("db.test", 5432)); f = s.makefile("rb"); f.readline(); s.sendall(b"a\\n"); f.readline(); s.sendall(word.encode() + b"\\n"); f.read(1)',
         {"what": "bytes", "host": "db.test", "port": 5432, "connection": 1, "turn": 2, "byte": 2}),
        ("a connection less", 'web.open("http://web.test/same") if word == "first" else None', {"what": "missing", "host": "web.test", "port": 80, "connection": 1}),
        ("a connection more", 'web.open("http://web.test/same"); web.open("http://web.test/same") if word != "first" else None', {"what": "unexpected", "host": "web.test", "port": 80}),
        ("the end of its input before all of it", 's = socket.create_connection(("db.test", 5432)); f = s.makefile("rb"); f.readline(); s.sendall(b"row\\n" if word == "first" else b"ro"); s.shutdown(1); f.read()',
         {"what": "ended", "host": "db.test", "port": 5432, "connection": 1, "turn": 1, "byte": 0}),
    )
    for what, code, expected in cases:
        _, entry = b.fetch(code)
        same, report = b.replay(entry)
        before = world.connections()
        b.give("other")
        status, other = b.replay(entry)
        b.give("first")
        check("%s is reported, with its place, and reaches no server" % what, same == 0 and report["equal"] and status == 1 and not other["equal"] and not other["egress"]["equal"]
              and other["egress"].get("differences") == [expected] and other["replay_supported"] and world.connections() == before, same, report, status, other)


def unsupported(b):
    greet = 'import ssl; c = ssl._create_unverified_context(); c.wrap_socket(socket.create_connection(("tls.test", %d)), server_hostname="tls.test").close()'
    cases = (
        ("tls", "tls.test", 443, greet % 443),
        ("tls", "tls.test", 8443, greet % 8443),
        ("too_large", "web.test", 80, 'print(len(web.open("http://web.test/large").read()))'),
        ("reset", "reset.test", 5433, 'import select; s = socket.create_connection(("reset.test", 5433)); s.sendall(b"x"); select.select([s], [], [])'),
        ("redacted", None, None, 'web.open("http://web.test/personal")'),
    )
    for reason, host, port, code in cases:
        done, entry = b.fetch(code)
        kept = b.content(entry)
        _, report = b.replay(entry)
        expected = {"reason": reason, **({"host": host, "port": port} if host else {})}
        check("%s: replay_supported is false, with the reason" % reason, done.returncode == 0 and report["replay_supported"] is False and report["replay_egress"] == expected
              and "egress" not in report, done, report)
        if reason == "tls":
            check("  and nothing of it was kept", kept == b"carrel egress 1\nstop tls %s %d\nend\n" % (host.encode(), port) or kept.startswith(b"carrel egress 1\nopen 1 tls.test 8443\nstop tls"), kept)
    _, entry = b.record("true")
    status, report = b.replay(entry)
    check("a command without connections can be replayed", status == 0 and report["equal"] and report["replay_supported"] and report["egress"] == {"equal": True, "connections": 0}, report)


def secrets(b):
    with open(os.path.join(b.work, "SECRETS.md"), "w", encoding="ascii") as f:
        f.write("---\nschema: secrets/v1\nsecrets: [{slug: db-password, name: Database, description: of the test}]\n---\n")
    with open(os.open(os.path.join(b.top, "values"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("db-password=sesame\n")
    with open(b.host, "w", encoding="ascii") as f:
        json.dump({**HOST, "mount_roots": [b.top], "secrets": {"./SECRETS.md": {"file": os.path.join(b.work, "SECRETS.md")}}, "secret_sources": [{"file": os.path.join(b.top, "values")}]}, f)
    b.manifest({"env": {"auth": {"ref": "./SECRETS.md", "state": {"env": ["DB_PASSWORD"]}}}})
    done, entry = b.fetch('web.open("http://web.test/secret")')
    status, report = b.replay(entry)
    check("a sandbox with secrets is not replayed, and nothing that it was answered is kept", done.returncode == 0 and status == 125 and report["error"]["reason"] == "replay_secrets"
          and "egress" not in entry["output"]["content"], done, status, report, entry)


def of_the_daemon(world):
    """Its gate writes no transcript: the command is replayed without a network, and the report says so."""
    b = replay_rig.Bench(tempfile.mkdtemp(prefix="carrel-replay-"))
    with open(b.host, "w", encoding="ascii") as f:
        json.dump({**HOST, "audit": ["content"]}, f)
    b.manifest("network: {egress: [web.test]}\n")
    done = []
    with Daemon("--host", b.host) as d:
        d.exec(d.create(manifest=b.text), ["true"])         # there is a log
        box = d.create(manifest=b.text)
        runs = threading.Thread(target=lambda: done.append(d.exec(box, ["curl", "-sS", "http://web.test/wait"], timeout=ALWAYS)))
        runs.start()
        until("the connection is recorded", lambda: any(e["action"] == "egress.allowed" for e in audit_chain.entries(b.folder(d))))
        world.web.goes_on.set()
        runs.join()
        b.ended(d, done[0])
        before = world.connections()
        status, got = b.replay(d, done[0]["audit_ref"])
        check("a command of the daemon: no network, and replay_supported is false with the reason", done[0]["exit_code"] == 0 and status == 1 and not got["equal"] and not got["replay_supported"] and
              got["replay_egress"] == {"reason": "daemon"} and world.connections() == before, done, status, got)


def main():
    enter()
    world, b = World(), Bench()
    altered(b, equal(b, world))
    differs(b, world)
    unsupported(b)
    secrets(b)
    of_the_daemon(world)
    end()


if __name__ == "__main__":
    main()
