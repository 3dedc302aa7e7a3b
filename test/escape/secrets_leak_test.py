#!/usr/bin/env python3
"""secrets_leak_test - a value that was bound into a sandbox is nowhere outside it (A36-097; group I
of the threats).

One scenario: a value from each kind of source, bound into commands over REST, MCP and the command
line; errors on purpose; a source that hangs; a daemon that is killed in the middle and restarted;
crashes. Meanwhile a process reads argv and environ of every process outside the sandbox as fast as
it can. Afterwards logs, state, records, answers and memory are searched for the value, and for its
base64 at three offsets, hex, URL and JSON forms. A control shows first that the search finds them.
"""
import base64
import json
import os
import re
import resource
import secrets as random
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, ROOT, check, end, report
from daemon_rig import Daemon, processes_of, until

SLUGS = {"from-file": "FROM_FILE", "from-directory": "FROM_DIRECTORY", "from-command": "FROM_COMMAND", "from-environment": "FROM_ENVIRONMENT"}
SHOW = "printf %s \"$FROM_FILE$FROM_DIRECTORY$FROM_COMMAND$FROM_ENVIRONMENT\" | sha256sum"


def value():
    """A value that stays on one line, and looks different in every encoding: the search is for its
    middle.
    """
    return 'k/%s+"&%s?=' % (random.token_hex(12), random.token_hex(12))


def forms(text):
    """The encodings in which it may appear, cut to the part that does not depend on what is before
    and after it.
    """
    found = {text, urllib.parse.quote(text, safe=""), urllib.parse.quote_plus(text), json.dumps(text)[1:-1], text.encode().hex(), text.encode().hex().upper()}
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + text.encode())
        middle = whole[4 if before else 0:len(whole) - 4].decode()
        found |= {middle, middle.replace("+", "-").replace("/", "_")}
    found |= {part for part in re.findall(r"[0-9a-f]{24}", text)}              # however the rest is escaped
    return [f.encode() for f in found]


class Search:
    def __init__(self, values):
        self.pattern = re.compile(b"|".join(re.escape(f) for text in values for f in sorted(forms(text), key=len, reverse=True)))

    def __call__(self, content):
        hit = self.pattern.search(content)
        return hit.group() if hit else None

    def file(self, path):
        try:
            with open(path, "rb") as f:
                return self(f.read())
        except OSError:
            return None

    def tree(self, top):
        return ["%s holds %s" % (path, hit[:20]) for folder, _, files in os.walk(top) for path in (os.path.join(folder, f) for f in files)
                if not path.endswith("sock") for hit in [self.file(path)] if hit]


def is_outside(pid, ours=os.readlink("/proc/self/ns/pid")):
    try:
        return os.readlink("/proc/%s/ns/pid" % pid) == ours
    except PermissionError:
        return True                    # its namespace is not readable: then neither is its environment
    except OSError:
        return False


def shown(search):
    """Every argv and environ outside the sandboxes that contains it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ", "comm"):
            hit = search.file("/proc/%s/%s" % (pid, name))
            if hit and is_outside(pid):
                found.append("/proc/%s/%s holds %s" % (pid, name, hit[:20]))
    return found


class Watcher(threading.Thread):
    """Reads them over and over."""

    def __init__(self, search):
        super().__init__(daemon=True)
        self.search, self.found, self.turns, self.is_over = search, [], 0, False

    def run(self):
        while not self.is_over:
            self.found += shown(self.search)
            self.turns += 1

    def stop(self):
        self.is_over = True
        self.join()


def finds(values):
    """A control: the search finds what exists."""
    search = Search(values)
    text = values[0]
    wrong = []
    for form in forms(text):
        if not search(b"xx" + form + b"yy"):
            wrong.append("missed %r" % form)
    for before in range(3):
        if not search(base64.b64encode(b"abc"[:before] + text.encode() + b"and more")):
            wrong.append("missed base64 at offset %d" % before)
    if search(b"nothing of it: " + value().encode()):
        wrong.append("found what is not there")
    for words, env in (([text], {}), ([], {"X": base64.b64encode(text.encode()).decode()})):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *words], env={**os.environ, **env})
        try:
            until("a process that shows it is found", lambda: any("/proc/%d/" % child.pid in line for line in shown(search)))
        finally:
            child.kill()
            child.wait()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "state.db"), "wb") as f:
            f.write(b"\0" * 5000 + text.encode().hex().encode())
        wrong += [] if search.tree(folder) else ["missed it in a file"]
    report("the search finds a value in argv, environ, files, and in every form of it", wrong)


class Vault:
    """The operator's own files: the only place outside where values may be."""

    def __init__(self, folder, values):
        self.folder, self.values = folder, dict(zip(SLUGS, values))
        self.fifo = os.path.join(folder, "fifo")
        os.mkfifo(self.fifo)
        os.makedirs(os.path.join(folder, "credentials"), mode=0o700)
        self.put("lines", "from-file=%s\n" % self.values["from-file"])
        self.put("credentials/from-directory", self.values["from-directory"])
        self.put("said", self.values["from-command"] + "\n")
        self.put("vault", "#!/bin/sh\nif [ -e %s/hold ]; then : > %s/asked; cat %s > /dev/null; fi\necho \"$(cat %s/said)\" >&2\ncat %s/said\n" % ((folder,) * 2 + (self.fifo,) + (folder,) * 2),
                 0o700)
        self.host = self.put("host.json", json.dumps({
            "trust": "trusted", "providers": {"local": {"tier": "T1", "isolated": True, "mounts": True}},
            "secrets": {"./SECRETS.md": {"slugs": list(SLUGS)}},
            "secret_sources": [{"file": os.path.join(folder, "lines")}, {"directory": os.path.join(folder, "credentials")},
                               {"environment": {"from-environment": "CARREL_TEST_VALUE"}}, {"command": [os.path.join(folder, "vault"), "{slug}"], "timeout_ms": 20000}]}), 0o644)

    def put(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def hash(self):
        done = subprocess.run(["sha256sum"], input="".join(self.values.values()).encode(), stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().split()[0]


def mcp(d, command):
    """A tool called over MCP, by an agent with its own sandbox. Returns everything that was sent.
    """
    with tempfile.TemporaryDirectory(prefix="carrel-leak-") as folder:
        path = os.path.join(folder, "SANDBOX.md")
        with open(path, "w", encoding="ascii") as f:
            f.write(text_manifest(list(SLUGS.values())))
        lines = [{"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
                 {"method": "notifications/initialized", "params": {}}, {"id": 2, "method": "tools/call", "params": {"name": "exec", "arguments": {"command": command}}}]
        child = subprocess.Popen([CARREL, "mcp", "--state", d.state, "-w", folder, "-f", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in lines:
            child.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        child.stdin.flush()
        said = b""
        for line in child.stdout:
            said += line
            if b'"id":2' in line.replace(b" ", b""):
                break
        return said + child.communicate(timeout=300)[0]


def text_manifest(names):
    return ("---\nschema: sandbox/v1\nid: '@test/leak'\nversion: 1.0.0\nprovider: local\nconfig: {}\nenv: {auth: {ref: ./SECRETS.md, state: {env: [%s]}}}\n---\n"
            % ", ".join(names))


def cli(d, *words):
    return subprocess.run([CARREL, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False,
                          env={**os.environ, "CARREL_STATE": d.state})


def manifest(names):
    return {"provider": "local", "config": {}, "env": {"auth": {"ref": "./SECRETS.md", "state": {"env": names}}}}


def three_ways(d, vault, box, answers):
    """The same values over REST, the command line and MCP; each command prints only their hash."""
    wanted = vault.hash()
    rest = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": SHOW, "key": "once"})
    answers.append(rest.body)
    check("a command over REST is given a value of each source", wanted in rest.json.get("stdout", ""), rest)
    said = cli(d, "exec", box, "--", "sh", "-c", SHOW)
    answers.append(said.stdout + said.stderr)
    check("and over the command line", wanted.encode() in said.stdout, said)
    told = mcp(d, SHOW)
    answers.append(told)
    check("and over MCP", wanted.encode() in told, told)


def errors(d, box, answers):
    """Errors contain no value either."""
    for fields in ({"argv": ["/nonexistent"]}, {"argv": ["true"], "cwd": "/nonexistent"}, {"argv": ["x" * 100000, "y" * 100000]}, {"argv": []}, {"command": "true", "key": "once"},
                   {"argv": ["sh", "-c", "kill -SEGV $$"]}, {"argv": ["sleep", "60"], "timeout_ms": 50}, {"argv": ["true"], "env": {"bad name": "x"}}):
        a = d.call("POST", "/v1/sandboxes/%s/execs" % box, fields)
        answers.append(a.body)
    answers.append(d.call("POST", "/v1/sandboxes", {"manifest": manifest(["FROM_FILE", "NOT_DECLARED"])}).body)
    for path in ("/v1/sandboxes", "/v1/sandboxes/" + box, "/v1/sandboxes/%s/execs" % box, "/v1/info", "/v1/openapi.json"):
        answers.append(d.call("GET", path).body)
    for words in (("ls", "--json"), ("ps", box, "--json"), ("info", box), ("exec", box, "--", "/nonexistent")):
        said = cli(d, *words)
        answers.append(said.stdout + said.stderr)


def hang(d, vault, box, answers):
    """While a source is being read, and while the command runs."""
    vault.put("hold", "")
    waiting = threading.Thread(target=lambda: answers.append(d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": SHOW}).body))
    waiting.start()
    until("the command source is asked", lambda: os.path.exists(os.path.join(vault.folder, "asked")))
    found = shown(Search(vault.values.values()))
    os.unlink(os.path.join(vault.folder, "hold"))
    with open(vault.fifo, "w", encoding="ascii"):
        pass
    waiting.join(300)
    check("nothing shows while a source is asked", not found, *found)
    running = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["sleep", "600"], "background": True})["exec"]
    found = shown(Search(vault.values.values()))
    check("nothing shows while a command has them", not found, *found)
    return running


def inside(d, box):
    """What the sandbox gets: only the requested names, and only for commands."""
    names = set(d.exec(box, "env | cut -d= -f1")["stdout"].split())
    names -= {"npm_config_fetch_retries", "PIP_RETRIES", "CARGO_NET_RETRY", "UV_HTTP_RETRIES"}      # without a network: docs/EGRESS.md
    check("inside there are the names of the manifest and the base set (I02)", names <= {"PATH", "HOME", "LANG", "TERM", "PWD", "USER", "LOGNAME", "SHELL", "SHLVL", "_", "OTHER", *SLUGS.values()}
          and set(SLUGS.values()) <= names and "CARREL_TEST_VALUE" not in names, names)
    first = d.exec(box, "cat /proc/1/environ | wc -c; cat /proc/1/cmdline | tr '\\0' ' '")["stdout"]
    a = d.call("GET", "/v1/sandboxes/%s/files?path=/proc/1/environ" % box)
    check("the first process inside has none of it (I09)", first.split()[0] == "0" or "denied" in first or not a.body or a.status >= 400, first, a)


def printed(d, box):
    """What a command prints is its output, and belongs to the caller: the daemon's own records do
    not contain it (I04).
    """
    ways = "printf %s \"$FROM_FILE\"; v=$FROM_FILE; printf %s \"${v%????}\"; sleep 0.1; printf %s \"${v#\"${v%????}\"}\"; for x in '' a ab; do printf %s%s $x \"$v\" | base64 -w0; echo; done;" \
           "printf %s \"$v\" | od -An -tx1 | tr -d ' \\n'; printf %s \"$v\" >&2"
    said = d.exec(box, ways)
    background = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": ways, "background": True})["exec"]
    until("it has ended", lambda: d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, background))["state"] == "ended")
    return said["stdout"]


def memory(pid, search):
    """What its memory contains, as root sees it."""
    found = []
    try:
        with open("/proc/%d/maps" % pid, encoding="utf-8") as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
            for line in maps:
                span, rights = line.split()[:2]
                if not rights.startswith("rw") or "[v" in line:
                    continue
                begin, stop = (int(x, 16) for x in span.split("-"))
                try:
                    mem.seek(begin)
                    hit = search(mem.read(min(stop - begin, 64 << 20)))
                except (OSError, ValueError, OverflowError):
                    continue
                if hit:
                    found.append("pid %d at %s: %s" % (pid, line.strip(), hit[:20]))
    except OSError:
        pass
    return found


def memories(d, vault, box):
    if not ROOT:
        report("memory of the processes that handed them on", skip="only root reads it")
        return
    d.exec(box, "true")
    parts = d.children()
    handed = Search([v for slug, v in vault.values.items() if slug != "from-environment"])
    found = [name + ": " + line for name, pid in parts.items() for line in memory(pid, handed)]
    found += ["launcher: " + line for line in memory(d.child.pid, handed)]
    found += ["box: " + line for pid, name in processes_of(d.state).items() if pid not in parts.values() and pid != d.child.pid for line in memory(pid, handed)]
    check("no process keeps in memory what it has handed on", len(parts) >= 4 and not found, *found)
    kept = [name + ": " + line for name, pid in parts.items() if name != "carrel-fetcher" for line in memory(pid, Search([vault.values["from-environment"]]))]
    check("what the operator's environment held is with launcher and fetcher alone", not kept, *kept)


def killed(d, vault, box, running, answers):
    os.kill(d.child.pid, signal.SIGKILL)
    d.child.wait()
    until("its parts are gone", lambda: not [p for p in d.children()])
    d.start()
    state = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, running))
    answers.append(json.dumps(state).encode())
    said = d.exec(box, SHOW)
    check("after a kill -9 the command lives on, and the next is given them again", state["state"] == "running" and vault.hash() in said["stdout"], state, said)


def crashes(d, vault, folder):
    """A core would contain what memory does. First the test checks whether this machine writes
    cores to a place that can be found.
    """
    search = Search(vault.values.values())
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as f:
        pattern = f.read().strip()

    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]

    def crash(pid):
        os.kill(pid, signal.SIGSEGV)
    probe = subprocess.Popen(["sleep", "60"], cwd=folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    until("it sleeps", lambda: open("/proc/%d/comm" % probe.pid, encoding="ascii").read().strip() == "sleep")
    crash(probe.pid)
    _, status = os.waitpid(probe.pid, 0)
    probe.returncode = -signal.SIGSEGV
    leaves = os.WCOREDUMP(status)
    places = ("/", folder, d.state, d.folder, os.getcwd())

    def cores():
        return {os.path.join(top, f) for top in places for f in os.listdir(top) if f.startswith("core")}
    before = cores()
    for word in ("carrel-fetcher", "carrel-door", "carrel-keeper"):
        d.restart_parts(lambda: crash(next(pid for name, pid in d.children().items() if name.split()[-1] == word)))  # noqa: B023
    # What an ordinary user's process has in /proc belongs to root if its memory is closed. (The box
    # blocks what would crash it.)
    def open_ones():
        return ["process %d (%s) may leave one" % (pid, open("/proc/%d/cmdline" % pid, encoding="utf-8").read()) for pid in [*processes_of(d.state), *d.children().values()]
                if not ROOT and "spawner" not in open("/proc/%d/cmdline" % pid, encoding="utf-8").read() and os.stat("/proc/%d/environ" % pid).st_uid != 0]
    try:
        until("all have closed their memory", lambda: not open_ones())
    except AssertionError:
        pass
    wrong = open_ones()
    crash(d.child.pid)
    _, status = os.waitpid(d.child.pid, 0)
    d.child.returncode = -signal.SIGSEGV
    wrong += ["%s holds %s" % (path, hit[:20]) for path in cores() - before for hit in [search.file(path)] if hit]
    for path in cores() - before:
        os.unlink(path)
    wrong += ["the launcher left a core"] if os.WCOREDUMP(status) else []
    check("no part of the daemon leaves a core that holds one (I05)%s" % ("" if leaves else ", and this machine leaves none at all: " + pattern), not wrong, *wrong)
    d.start()


def plain_run(vault, env):
    """The same for `carrel run`."""
    search = Search(vault.values.values())
    with tempfile.TemporaryDirectory(prefix="carrel-leak-") as folder:
        with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="ascii") as f:
            f.write(text_manifest(list(SLUGS.values())))
        child = subprocess.Popen([CARREL, "run", "--host", vault.host, "-w", folder, "--", "sh", "-c", SHOW + "; exec sleep 60"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
        said = child.stdout.readline().decode()
        found = shown(search)
        child.terminate()
        rest = child.communicate(timeout=300)[0].decode()
    check("carrel run gives a command a value of each source", vault.hash() in said, said, rest)
    check("and shows none of them while it runs", not found and not search((said + rest).encode()), *found)


def main():
    values = [value() for _ in SLUGS]
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))     # its limit permits a core
    finds(values)
    answers = []
    with tempfile.TemporaryDirectory(prefix="carrel-vault-") as folder:
        vault = Vault(folder, values)
        env = dict(os.environ, CARREL_TEST_VALUE=vault.values["from-environment"])
        search = Search(values)
        watcher = Watcher(search)
        with Daemon("--host", vault.host, env={"CARREL_TEST_VALUE": vault.values["from-environment"]}) as d:
            until("the launcher has taken its variables", lambda: not search.file("/proc/%d/environ" % d.child.pid))
            watcher.start()
            box = d.create(manifest=manifest(list(SLUGS.values())), name="leaks", env={"OTHER": "plain"})
            three_ways(d, vault, box, answers)
            errors(d, box, answers)
            inside(d, box)
            running = hang(d, vault, box, answers)
            memories(d, vault, box)
            watcher.stop()             # until a starting daemon has removed its variables, they are in its environ as the operator set them
            check("nothing showed in any argv or environ, whenever it was looked at (I01)", watcher.turns >= 3 and not watcher.found, watcher.turns, *watcher.found[:5])
            killed(d, vault, box, running, answers)
            crashes(d, vault, folder)
            until("the launcher has taken its variables", lambda: not search.file("/proc/%d/environ" % d.child.pid))
            said = printed(d, box)
            check("a command can print what it was given, in any form", search(said.encode()) is not None, said)
            left = search.tree(d.state)
            check("no file of the state holds one: database, journals, output, records (I06)", not left, *left)
            d.must("DELETE", "/v1/sandboxes/" + box)
            left = search.tree(d.state)
            check("nor when the sandbox has gone", not left, *left)
            log = d.log_text()
            check("no line of the log holds one, and each reveal has its line (A36-097)", not search(log.encode()) and "secret-revealed from-command as FROM_COMMAND" in log
                  and "granted by owner" in log, search(log.encode()))
            revealed = [e["output"] for e in audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid())) if e["action"] == "secret.revealed"]
            check("the audit log has slug, actor, purpose, grant and time of each reveal (A36-097)", revealed and
                  all(r.get(k) for r in revealed for k in ("slug", "actor", "purpose", "granted_by", "at_ms")), *revealed[:3])
            hits = [a[:300] for a in answers if search(a)]
            check("no answer holds one: results, errors, listings, of the API and of the command line (I03)", len(answers) > 15 and not hits, *hits)
        plain_run(vault, env)
    end()


if __name__ == "__main__":
    main()
