#!/usr/bin/env python3
# deep as root: the gate knows no user
"""egress_programs_test - real programs behind the wall: each works as usual if its name is listed,
and ends soon, with a clear message, if it is not.

Through `carrel gate` and in a sandbox of `carrel run`, against servers under the programs' own
names (programs_rig). A program needs only the certificate of its authority: no proxy, no option of
Carrel. The wall of `carrel run` is the same; in a deep run each program is refused there once more.
"""
# weight: 3: four programs at once, and half of the time they compute
import concurrent.futures
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, DEEP, SLOW, end, report
from gate_rig import Gate, enter
from programs_rig import ENV, World

SOON = 100 * SLOW      # seconds until a program whose name is not listed has given up
BESIDE = 4             # programs at once: they wait half of their time

SHELL = """
set -e
F=%s CA=%s/ca.pem HOME=$(mktemp -d)
export F CA HOME SSL_CERT_FILE=$CA CURL_CA_BUNDLE=$CA GIT_SSL_CAINFO=$CA PIP_CERT=$CA REQUESTS_CA_BUNDLE=$CA NODE_EXTRA_CA_CERTS=$CA
cd $HOME
"""

# apt tries three more times, over 7 s; one is enough here.
APT = """
mkdir -p lists/partial cache/archives/partial etc; : >status
echo 'deb [trusted=yes] http://deb.debian.org/debian ./' >sources.list
cat >apt.conf <<X
Dir::Etc "$HOME/etc"; Dir::Etc::SourceList "$HOME/sources.list"; Dir::State "$HOME"; Dir::State::lists "$HOME/lists"; Dir::State::status "$HOME/status"; Dir::Cache "$HOME/cache";
Dir::Log "$HOME"; APT::Sandbox::User ""; Acquire::Languages "none"; Acquire::Retries "1"; Debug::NoLocking "true";
X
export APT_CONFIG=$HOME/apt.conf
apt-get -q update
apt-get -q download tiny
dpkg-deb -f tiny_1.0_all.deb Package
"""

# pip tries five more times, over 8 s; two are enough here.
PIP = "export PIP_RETRIES=2; python3 -m pip --disable-pip-version-check -q --no-input install --target $HOME/t tiny; PYTHONPATH=$HOME/t python3 -c 'import tiny; print(tiny.WORD)'"

# npm repeats a request for a name that does not exist, after 10 s and after 60 s more: this does
# not depend on the wall.
NPM = "export npm_config_cafile=$CA npm_config_fetch_retries=0; "

WEBSOCKET = """
import os, socket, ssl, sys
s = socket.create_connection(("api.example.com", int(sys.argv[1])), 60)
if sys.argv[1] == "443": s = ssl.create_default_context().wrap_socket(s, server_hostname="api.example.com")
s.sendall(b"GET /ws HTTP/1.1\\r\\nHost: api.example.com\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\\r\\n\\r\\n")
got = b""
while b"\\r\\n\\r\\n" not in got and (more := s.recv(4096)): got += more
for word in (b"one frame", b"another"):
    mask = os.urandom(4)
    s.sendall(bytes([0x81, 0x80 | len(word)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(word)))
    back = b""
    while len(back) < 2 + len(word) and (more := s.recv(100)): back += more
    print(got[9:12].decode(), back[2:].decode())
"""

EVENTS = """
import urllib.request
f = urllib.request.urlopen("https://api.example.com/events", timeout=60)
print(f.readline().decode().strip())
print(urllib.request.urlopen("https://api.example.com/go-on", timeout=60).read().decode())
print(f.read().decode().split()[-1])
"""

MAIL = """
import smtplib
s = smtplib.SMTP("mail.example.com", 587, timeout=60)
print(s.noop())
s.quit()
"""

SERVER_INSIDE = """
import socket, threading
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 5432)); s.listen()
def serve():
    while True: s.accept()[0].sendall(b"the one inside")
threading.Thread(target=serve, daemon=True).start()
print(socket.create_connection(("127.0.0.1", 5432), 60).recv(100).decode())
o = socket.create_connection(("db.example.com", 5432), 60)
o.sendall(b"\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f")
print("the one outside says", o.recv(1).decode())
"""

IN_THE_WAY = """
import errno, socket
s = socket.socket()
s.bind(("0.0.0.0", 5432)); s.listen()
try: socket.getaddrinfo("db.example.com", 5432); print("found in the way")
except socket.gaierror as e: print("in the way:", "again" if e.errno == socket.EAI_AGAIN else e)
s.close()
o = socket.create_connection(("db.example.com", 5432), 60)
o.sendall(b"\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f")
print("the one outside says", o.recv(1).decode())
try: socket.socket().bind(("0.0.0.0", 5432))
except OSError as e: print("too late:", errno.errorcode[e.errno])
"""

WEB = ["api.example.com"]


class Program:
    """`script` runs in a shell and prints `said`; it needs the names of `listed`. With `missing`
    removed it fails, and the wall reports that name.
    """

    def __init__(self, name, script, said, listed, missing=None, needs=(), refused="not_listed"):
        self.name, self.script, self.said, self.listed, self.needs, self.refused = name, script, [said] if isinstance(said, str) else said, listed, needs, refused
        self.missing = missing or listed[0]


def python(code, *words):
    return "python3 -c '%s' %s" % (code, " ".join(words))


PROGRAMS = (
    Program("curl keeps a connection for two requests", "curl -sS --http1.1 -w '%{num_connects} ' https://api.example.com/a https://api.example.com/b",
            ["answer of api.example.com/a\n1 ", "answer of api.example.com/b\n0 "], WEB, needs=("curl",)),
    Program("curl speaks HTTP/2 where TLS agrees on it", "curl -sS -w '%{http_version}' https://h2.example.com/page", "answer over two\n2", ["h2.example.com"], needs=("curl", "nghttpd")),
    Program("curl speaks HTTP/2 in clear text with prior knowledge", "curl -sS --http2-prior-knowledge -w '%{http_version}' http://h2c.example.com/page",
            "answer over two\n2", ["h2c.example.com"], needs=("curl", "nghttpd")),
    Program("nghttp asks twice over one connection in clear text", "nghttp http://h2c.example.com/page http://h2c.example.com/page?again >o && test -s o && cat o",
            "answer over two\nanswer over two", ["h2c.example.com"], needs=("nghttp", "nghttpd")),
    Program("nghttp asks over TLS", "nghttp https://h2.example.com/page >o && test -s o && cat o", "answer over two", ["h2.example.com"], needs=("nghttp", "nghttpd")),
    Program("wget", "wget -nv -O - --ca-certificate=$CA https://api.example.com/w", "answer of api.example.com/w", WEB, needs=("wget",)),
    Program("git clones over https", "git clone -q https://github.com/tiny.git t && cat t/README", "cloned by git", ["github.com"], needs=("git",)),
    Program("pip installs from an index", PIP, "installed by pip", ["files.pythonhosted.org", "pypi.org"], "pypi.org", needs=("pip",)),
    Program("pip finds that the files of an index are elsewhere", PIP, "installed by pip", ["files.pythonhosted.org", "pypi.org"], "files.pythonhosted.org", needs=("pip",)),
    Program("npm installs from its registry", NPM + "npm install --no-audit --no-fund --no-update-notifier tiny >/dev/null && node -p 'require(\"tiny\")'",
            "installed by npm", ["registry.npmjs.org"], needs=("npm", "node")),
    Program("apt-get downloads a package", APT, "\ntiny\n", ["deb.debian.org"], needs=("apt-get", "dpkg-deb")),
    Program("Python urllib", python('import urllib.request; print(urllib.request.urlopen("https://api.example.com/u", timeout=60).read().decode())'), "answer of api.example.com/u", WEB),
    Program("Python requests", python('import requests; s = requests.Session(); print([s.get("https://api.example.com/" + p, timeout=60).text for p in "rs"])'),
            ["answer of api.example.com/r", "answer of api.example.com/s"], WEB, needs=("requests",)),
    Program("Node fetch", "node -e 'fetch(\"https://api.example.com/n\").then(a => a.text()).then(console.log)'", "answer of api.example.com/n", WEB, needs=("node",)),
    Program("a static program that knows of no proxy", "$F/client api.example.com", "answer of api.example.com/plain", WEB, needs=("musl-gcc",)),
    Program("a program that insists on HTTPS_PROXY", "HTTPS_PROXY=http://198.18.0.1:3128 curl -sS https://api.example.com/proxied", "answer of api.example.com/proxied", WEB, needs=("curl",)),
    Program("psql over host:5432", "PGCONNECT_TIMEOUT=60 psql -h db.example.com -U a -d a -Atc 'select word'", "row of the other", ["db.example.com:5432"], needs=("psql",)),
    Program("a web host's name is no leave for its port 5432", "PGCONNECT_TIMEOUT=60 psql -h db.example.com -U a -d a -Atc 'select word'", "row of the other",
            ["db.example.com", "db.example.com:5432"], "db.example.com:5432", needs=("psql",), refused=None),
    Program("SMTP, where the server speaks first", python(MAIL), "taken: NOOP", ["mail.example.com:587"]),
    Program("a web socket outwards in clear text", python(WEBSOCKET, "80"), ["101 ONE FRAME", "101 ANOTHER"], WEB),
    Program("a web socket outwards over TLS", python(WEBSOCKET, "443"), ["101 ONE FRAME", "101 ANOTHER"], WEB),
    Program("server-sent events outwards, each when it comes", python(EVENTS), ["data: one", "went on", "two"], WEB),
    Program("a server inside on the port of a listed host, beside that host", python(SERVER_INSIDE), ["the one inside", "the one outside says N"], ["db.example.com:5432"]),
)

FOUND = {"pip": lambda: subprocess.run(["python3", "-m", "pip", "--version"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0,
         "requests": lambda: subprocess.run(["python3", "-c", "import requests"], env=ENV, stderr=subprocess.DEVNULL, check=False).returncode == 0}


@functools.cache
def is_here(word):
    return FOUND[word]() if word in FOUND else shutil.which(word, path=ENV["PATH"])


def lacks(program):
    return next(("%s is not installed" % word for word in program.needs if not is_here(word)), "")


class Ended:
    def __init__(self, status, out, err, denials, seconds):
        self.status, self.out, self.err, self.denials, self.seconds = status, out, err, denials, seconds

    def __repr__(self):
        return "status %s after %.1f s\nout: %s\nerr: %s\ndenials: %s" % (self.status, self.seconds, self.out[-1500:], self.err[-1500:], self.denials)


class AtGate:
    name = "carrel gate"

    def __init__(self, world):
        self.folder = world.folder

    def run(self, script, listed):
        begin = time.monotonic()
        r = Gate(listed).run("sh", "-c", SHELL % (self.folder, self.folder) + script, env=dict(ENV))
        return Ended(r.status, r.out, r.err, [(d["code"], d["host"], d["message"]) for d in r.denials], time.monotonic() - begin)


class InRun:
    name = "carrel run"

    def __init__(self, world):
        self.folder = world.folder
        self.host = os.path.join(tempfile.mkdtemp(prefix="carrel-host-"), "host.json")
        with open(self.host, "w", encoding="ascii") as f:
            json.dump({"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8"]}, f)

    def run(self, script, listed):
        manifest = {"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", "provider": "local", "config": {}, "limits": {"timeout_ms": 1000 * ALWAYS},
                    "network": {"egress": listed}, "mounts": [{"source": "workspace", "at": "/workspace"}]}
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(self.host), suffix=".md", delete=False) as f:
            f.write("---\n%s\n---\n" % json.dumps(manifest))
        begin = time.monotonic()
        done = subprocess.run([CARREL, "run", "--json", "--host", self.host, "-f", f.name, "-w", self.folder, "--", "sh", "-c", SHELL % ("/workspace", "/workspace") + script],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
        try:
            got = json.loads(done.stdout)
        except ValueError:
            got = {"stderr": repr(done)}
        return Ended(done.returncode, got.get("stdout", ""), got.get("stderr", ""), [(d["reason"], d["host"], d["message"]) for d in got.get("denied", [])],
                     time.monotonic() - begin)


def reaches(program, where):
    e = where.run(program.script, program.listed)
    wrong = [] if e.status == 0 and all(s in e.out for s in program.said) else [e]
    wrong += ["refused all the same: %s" % (d,) for d in e.denials]
    return "%s, %s" % (program.name, where.name), wrong


def is_refused(program, where):
    host, _, port = program.missing.partition(":")
    e = where.run(program.script, [n for n in program.listed if n != program.missing] or ["other.example.com"])
    wrong = [] if e.status != 0 and not all(s in e.out for s in program.said) else ["it went through"]
    wrong += [] if e.seconds < SOON else ["it took %.1f s" % e.seconds]
    told = [m for reason, name, m in e.denials if name == host and reason in (program.refused, "port_not_listed")]
    if program.refused and not any("network.egress" in m and program.missing.split(":")[0] in m for m in told):
        wrong.append("nothing says which rule is missing")
    return "  without %s it fails soon, and the wall says why (%.1f s)" % (program.missing, e.seconds), wrong + ([e] if wrong else [])


def rows(program, where):
    """The result of each of its rows, in the form for report()."""
    lacking = lacks(program)
    if lacking:
        return [("%s, %s" % (program.name, where.name), [], lacking)]
    is_repeated = program.script in [p.script for p in PROGRAMS[:PROGRAMS.index(program)]]    # it differs from an earlier one by what is removed
    said = [reaches(program, where)] if DEEP or not is_repeated else []
    return said + ([is_refused(program, where)] if DEEP or isinstance(where, AtGate) else [])


def conflict(where):
    e = where.run(python(IN_THE_WAY), ["db.example.com:5432"])
    told = [m for reason, name, m in e.denials if reason == "port_taken" and name == "db.example.com" and "127.0.0.1" in m]
    report("a server inside that listens everywhere on a listed port is told of; once it is gone the name leads out again, and the port is the gate's, %s" % where.name,
           [] if e.status == 0 and "outside says N" in e.out and "too late: EADDRINUSE" in e.out and told and len(e.denials) == 1 else [e])
    report("  while it is there the name cannot be told, so nobody takes it for the one outside", [] if "in the way: again" in e.out else [e])
    e = where.run(python(IN_THE_WAY), ["db.example.com:5432", "db.example.com"])
    report("  but a name that has other ports can", [] if e.status == 0 and "found in the way" in e.out and "outside says N" in e.out else [e])


def main():
    enter()
    shared, private = tempfile.mkdtemp(prefix="carrel-programs-"), tempfile.mkdtemp(prefix="carrel-origins-")
    os.chmod(shared, 0o755)
    world = World(shared, private)
    only = sys.argv[1:]
    try:
        for where in (AtGate(world), InRun(world)):
            chosen = [p for p in PROGRAMS if not only or any(word in p.name for word in only)]
            with concurrent.futures.ThreadPoolExecutor(BESIDE) as pool:
                for lines in pool.map(rows, chosen, [where] * len(chosen)):
                    for line in lines:
                        report(*line)
            if not only or "conflict" in only:
                conflict(where)
    finally:
        world.end()
        shutil.rmtree(shared, ignore_errors=True)
        shutil.rmtree(private, ignore_errors=True)
    end()


main()
