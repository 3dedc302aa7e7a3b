#!/usr/bin/env python3
"""no_egress_test - a sandbox whose network.egress lists nothing: names do not exist, at once, and
each refused name is reported with the line to add.

Rows of AIP-36: A36-120. The first part does what a reader of the README does: its ten lines, and
`npm install`.
"""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import egress_test
from box_rig import ALWAYS, CARREL, PATIENCE, ROOT, TREE, check, end, report, until
from daemon_rig import Daemon

PLAIN = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}}
NOT_LISTED = '%s is not in network.egress of this sandbox. Add "%s" to network.egress in SANDBOX.md'


class Project:
    """A directory with the README's SANDBOX.md."""
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="carrel-readme-")
        os.chmod(self.folder, 0o777)
        with open(os.path.join(TREE, "README.md"), encoding="utf-8") as f:
            sample = re.search(r"```yaml\n(---\nschema: sandbox/v1\n.*?\n---\n)```", f.read(), re.S).group(1)
        self.write("SANDBOX.md", sample)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, *command, options=()):
        return subprocess.run([CARREL, "run", *options, "--", *command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)

    def json(self, *command):
        done = self.run(*command, options=("--json",))
        return json.loads(done.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def denied(answer, name="denied"):
    return {(d["reason"], d["host"]) for d in answer.get(name, [])}


# -- a reader of the README --------------------------------------------------------------------------------------------

def readme_npm(project):
    """npm repeats a request twice, with 10 s and 60 s between; the sandbox's own environment
    switches that off.
    """
    project.write("package.json", '{"name": "a", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}}')
    done = project.run("npm", "install")
    words = (NOT_LISTED % (("registry.npmjs.org",) * 2)).encode()
    check("the README's ten lines, and npm install: npm ends by itself, with ENOTFOUND", done.returncode not in (0, 124) and b"ENOTFOUND" in done.stderr, done)
    check("  and the last lines name what is missing, and where it goes", words in done.stderr.split(b"npm ERR!")[-1], done.stderr)
    check("  nobody is advised to raise a time limit", b"timeout_ms" not in done.stderr, done.stderr)


PROGRAMS = [
    ("getent", ["getent", "ahosts", "a.example"], ""),
    ("curl", ["curl", "-sS", "http://a.example"], "Could not resolve host"),
    ("wget", ["wget", "-q", "-O", "-", "http://a.example"], ""),
    ("python3", ["python3", "-c", "import socket; socket.getaddrinfo('a.example', 80)"], "Name or service not known"),
    ("node", ["node", "-e", "require('http').get('http://a.example').on('error', e => { console.error(e.code); process.exit(1) })"], "ENOTFOUND"),
    ("node, its own resolver", ["node", "-e", "require('dns').resolve4('a.example', e => { console.error(e.code); process.exit(1) })"], "ENOTFOUND"),
    ("perl", ["perl", "-MSocket", "-e", "exit(defined(inet_aton('a.example')) ? 0 : 1)"], ""),
    ("git", ["git", "ls-remote", "https://a.example/x.git"], "Could not resolve host"),
    ("java", ["java", "/workspace/Ask.java"], "UnknownHostException"),
    ("go", ["go", "run", "/workspace/ask.go"], "no such host"),
]
JAVA = 'class Ask { public static void main(String[] a) throws Exception { System.out.println(java.net.InetAddress.getByName("a.example")); } }\n'
GO = 'package main\nimport ("fmt"; "net"; "os")\nfunc main() { _, e := net.LookupHost("a.example"); fmt.Fprintln(os.Stderr, e); os.Exit(1) }\n'


def programs(project):
    project.write("Ask.java", JAVA)
    project.write("ask.go", GO)
    for name, command, word in PROGRAMS:
        if not shutil.which(command[0]):
            report("%s: a name does not exist" % name, skip="not installed: " + command[0])
            continue
        got = project.json(*command)
        check("%s: a name does not exist, and is reported" % name, got["exit_code"] not in (0, None) and word in got["stderr"] and ("not_listed", "a.example") in denied(got), got)


PIP = ["python3", "-m", "pip", "download", "--no-cache-dir", "-d", "/tmp/x", "left-pad"]


def pip(project):
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        report("pip: a name does not exist", skip="not installed: pip")
        return
    got = project.json(*PIP)
    check("pip: a name does not exist, is asked for once, and is reported", got["exit_code"] == 1 and ("not_listed", "pypi.org") in denied(got) and
          "Retrying" not in got["stderr"], got)


ADDRESSES = """
import errno, socket
def show(name, family, kind, where):
    try:
        with socket.socket(family, kind) as s: s.settimeout(60); s.connect(where); print(name, "connected")
    except OSError as e: print(name, errno.errorcode.get(e.errno, e))
show("four", socket.AF_INET, socket.SOCK_STREAM, ("203.0.113.7", 443))
show("six", socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::7", 443))
show("udp", socket.AF_INET, socket.SOCK_DGRAM, ("203.0.113.7", 53))
show("tcp53", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 53))
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.bind(("127.0.0.1", 53)); print("bind", "bound")
except OSError as e: print("bind", errno.errorcode.get(e.errno, e))
"""


def addresses(project):
    got = project.json("python3", "-c", ADDRESSES)
    said = dict(line.split(" ", 1) for line in got["stdout"].splitlines())
    check("a connection to an address is refused at once: the network is unreachable", said.get("four") == said.get("six") == said.get("udp") == "ENETUNREACH", got)
    check("  and nothing else is there: no name server over TCP, no port of its to take", said.get("tcp53") == "ECONNREFUSED" and said.get("bind") == "EADDRINUSE", got)
    told = [d for d in got.get("denied", []) if d["reason"] == "no_network"]
    check("  each is counted, and the report says what to list instead", len(told) == 1 and told[0]["count"] == 3 and "network.egress in SANDBOX.md" in told[0]["message"], got)
    got = project.json("python3", "-c", "import socket\nwith socket.socket() as s: s.bind(('127.0.0.1', 0)); s.listen(); socket.create_connection(s.getsockname())\n")
    check("  its own loopback is its own, and nothing is reported", got["exit_code"] == 0 and "denied" not in got, got)


BIND = """
import errno, socket
def bind(family, kind, at, port):
    with socket.socket(family, kind) as s:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT): s.setsockopt(socket.SOL_SOCKET, option, 1)
        try: s.bind((at, port)); return "free"
        except OSError as e: return errno.errorcode[e.errno]
for name, family, at in (("any4", socket.AF_INET, "0.0.0.0"), ("any6", socket.AF_INET6, "::"), ("own", socket.AF_INET, "127.0.0.1")):
    for what, kind in (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)):
        print(name + what, *[bind(family, kind, at, port) for port in (1, 25, 53, 80, 443, 1023)])
"""


def low_ports(project):
    """A server inside has every port, except the one on which pid 1 answers names: that one cannot
    be taken or shared.
    """
    got = project.json("python3", "-c", BIND)
    said = dict(line.split(" ", 1) for line in got["stdout"].splitlines())
    free, names = "free free free free free free", "free free EADDRINUSE free free free"
    check("ports below 1024 are free to a server inside, over both families", said == {"any4tcp": free, "any6tcp": free, "owntcp": free, "any4udp": names, "any6udp": names, "ownudp": names}, got)
    got = project.json("python3", "-c", "import socket; s = socket.create_server(('', 53)); u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.2', 53))\n"
                       "try: socket.getaddrinfo('c.example', 80)\nexcept socket.gaierror: pass")
    check("  and pid 1 answers while a server has the others", got["exit_code"] == 0 and ("not_listed", "c.example") in denied(got), got)


def few_descriptors(project):
    wrong = [(n, done) for n in ((16, 20) if ROOT else ()) + (24, 32, 64) for done in [subprocess.run(["sh", "-c", "ulimit -n %d; exec %s run -- getent hosts few.example" % (n, CARREL)], cwd=project.folder,
             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)] if done.returncode != 2 or b"few.example is not in" not in done.stderr]
    check("with few descriptors it is the same", not wrong, *wrong)


# -- hostile questions -------------------------------------------------------------------------------------------------

STORM = """
import os, random, socket
head = b"\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.connect(("127.0.0.1", 53)); s.setblocking(False)
    r = random.Random(36)
    for i in range(20000):
        question = head + b"".join(bytes([n]) + r.randbytes(n) for n in (r.randrange(64) for _ in range(r.randrange(6)))) + r.randbytes(r.randrange(12))
        try: s.send(question if i % 3 else r.randbytes(r.randrange(1400)))
        except BlockingIOError: pass
        try:
            while s.recv(65536): pass
        except BlockingIOError: pass
print("stood")
"""


def storm(project):
    got = project.json("sh", "-c", "python3 -c \"$0\"; getent hosts after.example", STORM)
    check("pid 1 stands what is no question, and answers the next that is one", got["stdout"] == "stood\n" and got["exit_code"] == 2 and
          ("not_listed", "after.example") in denied(got), {k: v for k, v in got.items() if k != "denied"}, list(denied(got))[-5:])
    check("  and what it reports is text", all(re.fullmatch(r"[a-z0-9._-]*", d["host"]) for d in got.get("denied", [])), got.get("denied"))


# -- while it happens ----------------------------------------------------------------------------------------------------

WAITS = ["sh", "-c", "getent hosts first.example; getent hosts second.example; echo asked; read line; echo $line"]
LINE = b"carrel: refused: first.example is not in network.egress of this sandbox."


def on_terminal(*command, cwd=None, until_said=LINE):
    """Standard error is a terminal, standard input and output are not. Returns what was printed
    there before the command had its input, everything that was printed there, and the output.
    """
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    early, end_at = b"", time.monotonic() + PATIENCE
    asked = child.stdout.readline()
    while until_said not in early and time.monotonic() < end_at:
        if select.select([ours], [], [], 1)[0]:
            early += os.read(ours, 65536)
    child.stdin.write(b"go\n")
    child.stdin.close()
    whole = early
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:                        # the last process with the terminal has closed it
            break
        if not more:
            break
        whole += more
    out = asked + child.stdout.read()
    child.wait()
    os.close(ours)
    return early, whole, out


def at_once(project):
    early, whole, out = on_terminal(CARREL, "run", "--", *WAITS, cwd=project.folder)
    check("on a terminal the first refusal is said while the command runs, once", early.count(b"carrel: refused") == 1 and LINE in early and out == b"asked\ngo\n", early, out)
    check("  and the whole list at the end", b"second.example is not in" in whole[len(early):] and b"first.example is not in" in whole[len(early):], whole)
    done = subprocess.run([CARREL, "run", "--", *WAITS], cwd=project.folder, input=b"go\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("  where standard error is no terminal, at the end alone", done.stderr.count(b"first.example is not in") == 1 and done.stdout == b"asked\ngo\n", done)


def at_once_living(d):
    d.must("POST", "/v1/sandboxes", {"manifest": PLAIN, "name": "first"})
    d.exec("first", ["true"])
    early, whole, out = on_terminal(CARREL, "exec", "--state", d.state, "first", "--", *WAITS)
    check("  `carrel exec` on a terminal says the first while the command runs, once", early.count(b"carrel: refused") == 1 and LINE in early and out == b"asked\ngo\n", early, out)
    check("  and the whole list at the end", b"second.example is not in" in whole[len(early):] and b"first.example is not in" in whole[len(early):], whole)


# -- a sandbox of the daemon -------------------------------------------------------------------------------------------

def living():
    egress_test.MANIFEST, egress_test.ASK_ONE = PLAIN, ["getent", "ahosts", "denied.test"]     # not ahostsv4: without an address of its own the C library does not ask
    with Daemon() as d:
        box = d.create(manifest=PLAIN)
        results = [d.exec(box, egress_test.ASK_ONE, timeout=ALWAYS) for _ in range(20)]
        check("a living sandbox: the result of every command says what was refused to it", all(egress_test.is_told(r.get("denied")) for r in results),
              [r for r in results if not egress_test.is_told(r.get("denied"))])
        got = d.exec(box, ["true"], timeout=ALWAYS)
        check("  and that of a command to which nothing was refused says nothing", "denied" not in got, got)
        egress_test.told_everywhere(d, box)
        egress_test.told_by_mcp(d, box)
        egress_test.told_to_whom(d, box)
        got = d.exec(box, ["python3", "-c", ADDRESSES], timeout=ALWAYS)
        check("  connections to addresses as well, by their number", [(i["reason"], i["count"]) for i in got.get("denied", [])] == [("no_network", 3)], got)
        items = d.must("GET", "/v1/sandboxes/%s/denials" % box)["items"]
        check("  all of it is in the sandbox's list", {("not_listed", "denied.test"), ("no_network", "")} <= {(i["reason"], i["host"]) for i in items}, items)
        heard(d, box)
        at_once_living(d)


def heard(d, box):
    seen = []

    def listen():
        for name, data in d.stream("GET", "/v1/events?id=" + box):
            if name == "egress-denied" and "reason" in data:
                seen.append(data)
                return
    threading.Thread(target=listen, daemon=True).start()
    tries = iter(range(1000))
    until("a denial is heard", lambda: d.exec(box, ["getent", "hosts", "e%d.example" % next(tries)]) and seen)
    check("  and heard as an event", seen[0]["reason"] == "not_listed" and seen[0]["host"].endswith(".example") and "SANDBOX.md" in seen[0]["message"], seen)


def main(only=()):
    with Project() as project:
        for part in (readme_npm, programs, pip, addresses, low_ports, few_descriptors, storm, at_once):
            if not only or part.__name__ in only:
                part(project)
    if not only or "living" in only:
        living()


if __name__ == "__main__":
    main(sys.argv[1:])
    end()
