"""What the tests of test/projects share: a project as a user has it, four ways to work in it, and
which changes of the host's workspace are permitted.

Not a test. A scenario is a list of steps; each way runs all of them in its own copy:
  ("sh", LINE, STATUS, WORDS)      the line's exit status, and what its output contains
  ("edit", NAME, OLD, NEW)         a file of the workspace, edited with the file functions of that way
  ("serve", LINE, PATH, WORDS)     in the background; the host requests a page, and the server is killed
"""
import hashlib
import ipaddress
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from box_rig import ALWAYS, CARREL, PATIENCE, TREE, Inventory, report, side_by_side
from daemon_rig import Daemon, processes_of, until

sys.path.insert(0, os.path.join(TREE, "sdk", "python"))
sys.dont_write_bytecode = True
from carrel import Carrel  # noqa: E402

PROJECTS = os.path.join(TREE, "test", "projects")
PORT = 8123
DATES = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
IDENTITY = "[user]\n\tname = Ada L\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n"


# -- the host's workspace --------------------------------------------------------------------------

def snapshot(top):
    """path -> everything about it: kind and mode, owner, bytes, and for a file the time of its last
    change.
    """
    found = {}
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    content = (hashlib.sha256(f.read()).hexdigest(), st.st_mtime_ns)
            else:
                content = (os.readlink(path), 0) if stat.S_ISLNK(st.st_mode) else ("", 0)
            found[os.path.relpath(path, top)] = (st.st_mode, st.st_uid, st.st_gid) + content
    return found


def differences(top, before, may_change):
    """Changed paths that match no pattern of `may_change`; and new ones whose mode or owner differ
    from what the workspace's owner would create.
    """
    after, wrong = snapshot(top), []
    own = os.lstat(top)
    for path in sorted(set(before) | set(after)):
        if before.get(path) == after.get(path):
            continue
        if not any(re.fullmatch(pattern, path) for pattern in may_change):
            wrong.append("%s: %s -> %s" % (path, before.get(path), after.get(path)))
        elif path in after and (after[path][1:3] != (own.st_uid, own.st_gid) or after[path][0] & (stat.S_ISUID | stat.S_ISGID)):
            wrong.append("%s has another owner or mode: %s" % (path, after[path]))
    return wrong + ["%s is Carrel's" % path for path in after if "carrel" in path.lower()]


def copy(source, to):
    """With modes, links and times."""
    shutil.copytree(source, to, symlinks=True)
    return to


class Project:
    """A copy of test/projects/NAME below `folder`, with a home, the result of `carrel init`, and a
    history of at least one commit.
    """

    def __init__(self, name, folder, history=None):
        os.chmod(folder, 0o755)
        self.name, self.folder, self.host_file = name, folder, None
        self.home, self.path = os.path.join(folder, "home"), os.path.join(folder, name)
        os.makedirs(os.path.join(self.home, ".config", "carrel"))
        with open(os.path.join(self.home, ".gitconfig"), "w", encoding="utf-8") as f:
            f.write(IDENTITY)
        self.env = {k: v for k, v in os.environ.items() if k not in ("XDG_CONFIG_HOME", "CARREL_STATE", "XDG_STATE_HOME")}
        self.env.update(HOME=self.home, PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", TMPDIR=os.path.join(folder, "tmp"), GIT_CONFIG_NOSYSTEM="1", **DATES)
        os.mkdir(self.env["TMPDIR"])
        shutil.copytree(os.path.join(PROJECTS, name), self.path)
        for base, dirs, files in os.walk(self.path):                # as a checkout with umask 022, whatever the umask of this one is
            for entry in dirs:
                os.chmod(os.path.join(base, entry), 0o755)
            for entry in files:
                os.chmod(os.path.join(base, entry), 0o644)
        os.chmod(self.path, 0o755)
        self.sh("git init -q")
        self.init = self.sh('"%s" init' % CARREL)
        self.sh("git add -A && git commit -qm 'The first version'")
        if history:
            history(self)

    def sh(self, line, path=None):
        return subprocess.run(["sh", "-ec", line], cwd=path or self.path, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

    def permit_registry(self, host):
        """If `host` has an address that is not public (a mirror), what its operator would write."""
        found = {info[4][0] for info in socket.getaddrinfo(host, 443, socket.AF_INET, socket.SOCK_STREAM)}
        private = ["%s/32" % address for address in sorted(found) if not ipaddress.ip_address(address).is_global]
        if private:
            line = "private_networks: %s\n" % json.dumps(private)
            with open(os.path.join(self.home, ".config", "carrel", "host.yaml"), "w", encoding="utf-8") as f:
                f.write(line)
            self.host_file = os.path.join(self.folder, "host.yaml")          # a daemon of root does not read the one in a home
            with open(self.host_file, "w", encoding="utf-8") as f:
                f.write(line + "providers: {local: {isolated: true, mounts: true, egress: true}}\n")


# -- four ways -------------------------------------------------------------------------------------

class Run:
    """`carrel run` for each command; files are edited on the host; a server has no port."""
    name = "carrel run"

    def __init__(self, project, path, daemon):
        self.project, self.path = project, path

    def sh(self, line):
        more = [w for name, value in DATES.items() for w in ("-e", "%s=%s" % (name, value))]
        done = subprocess.run([CARREL, "run", *more, "--", "sh", "-c", line], cwd=self.path, env=self.project.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=ALWAYS, check=False)
        return done.returncode, done.stdout + done.stderr

    def edit(self, name, change):
        path = os.path.join(self.path, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(change(text))

    serve = None

    def close(self):
        pass


class Living:
    """The commands of a living sandbox: create, exec, cp, url, kill, stop."""
    name = "carrel create, exec, cp"

    def __init__(self, project, path, daemon):
        self.project, self.path = project, path
        self.env = {**project.env, "CARREL_STATE": daemon.state}
        self.box = "work-" + project.name
        self.must("create", "--name", self.box, "-p", str(PORT), *[w for name, value in DATES.items() for w in ("-e", "%s=%s" % (name, value))])

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], cwd=self.path, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)

    def must(self, *words):
        done = self.carrel(*words)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout.strip()

    def sh(self, line):
        done = self.carrel("exec", self.box, "--", "sh", "-c", line)
        return done.returncode, done.stdout + done.stderr

    def edit(self, name, change):
        here = os.path.join(self.project.env["TMPDIR"], "edited")
        self.must("cp", "%s:/workspace/%s" % (self.box, name), here)
        with open(here, encoding="utf-8") as f:
            text = f.read()
        with open(here, "w", encoding="utf-8") as f:
            f.write(change(text))
        self.must("cp", here, "%s:/workspace/%s" % (self.box, name))
        os.unlink(here)

    def serve(self, line):
        number = self.must("exec", "-d", "--wait-ports", "--wait-timeout", "%ds" % PATIENCE, self.box, "--", "sh", "-c", line)
        return self.must("url", self.box, str(PORT)), lambda: self.must("kill", self.box, number)

    def close(self):
        self.must("stop", self.box)


class Mcp:
    """The tools of an agent: `carrel mcp` on standard input and output, with its own daemon unless
    that needs a host file.
    """
    name = "MCP"

    def __init__(self, project, path, daemon):
        env = {k: v for k, v in project.env.items() if k != "TMPDIR"}
        self.child = subprocess.Popen([CARREL, "mcp", *(["--state", daemon.state] if project.host_file else [])], cwd=path, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        self.said, self.last = [], 0
        self.listener = threading.Thread(target=lambda: self.said.extend(self.child.stderr), daemon=True)
        self.listener.start()
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.child.stdin.write(json.dumps(message) + "\n")

    def ask(self, method, params):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        for line in self.child.stdout:
            message = json.loads(line)
            if message.get("id") == self.last:
                assert "result" in message, message
                return message["result"]
        raise AssertionError("carrel mcp ended: %s" % "".join(self.said))

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "structuredContent" in result, result
        return result["structuredContent"]

    def sh(self, line):
        done = self.call("exec", argv=["sh", "-c", line], env=DATES)
        return done["exit_code"], done["stdout"] + done["stderr"]

    def edit(self, name, change):
        text = self.call("read_file", path="/workspace/" + name)["content"]
        self.call("write_files", files=[{"path": "/workspace/" + name, "content": change(text)}])

    def serve(self, line):
        """Its port is not a port of the host: the page is requested from inside."""
        self.ask("tools/call", {"name": "mastra_workspace_execute_command", "arguments": {"command": line, "background": True}})
        until("the server listens", lambda: self.sh("curl -fsS -o /dev/null http://127.0.0.1:%d/" % PORT)[0] in (0, 22))
        return None, lambda: None

    def close(self):
        self.child.stdin.close()
        assert self.child.wait(timeout=PATIENCE) == 0, "".join(self.said)
        self.listener.join()


class Python:
    """sdk/python."""
    name = "the Python client"

    def __init__(self, project, path, daemon):
        self.sandbox = Carrel(state=daemon.state).create(workspace=path, ports=[PORT], env=DATES)

    def sh(self, line):
        done = self.sandbox.run(line)
        return done.exit_status, done.stdout_text + done.stderr_text

    def edit(self, name, change):
        self.sandbox.files.write("/workspace/" + name, change(self.sandbox.files.read_text("/workspace/" + name)))

    def serve(self, line):
        server = self.sandbox.start(line, wait_ports=True)
        return self.sandbox.url(PORT).url, server.kill

    def close(self):
        self.sandbox.stop()


# -- the work --------------------------------------------------------------------------------------

def do_step(way, kind, *words):
    """None, or what went wrong."""
    if kind == "sh":
        line, status, sentence = words
        got, output = way.sh(line)
        return None if got == status and sentence in output else "%s: %d, %s" % (line, got, output[-1500:])
    if kind == "edit":
        name, old, new = words
        way.edit(name, lambda text: text.replace(old, new))
        return None
    line, path, sentence = words
    if not way.serve:
        return None
    url, end = way.serve(line)
    try:
        if url is None:
            output = way.sh("curl -sS http://127.0.0.1:%d/%s" % (PORT, path))[1]
        else:
            with urllib.request.urlopen(url.rstrip("/") + "/" + path, timeout=PATIENCE) as answer:
                output = answer.read().decode()
    except urllib.error.HTTPError as e:
        output = "%s: %s" % (e, e.read().decode())
    finally:
        end()
    return None if sentence in output else "%s, asked for %s: %s" % (line, path, output[-500:])


def work(kind, project, path, daemon, steps):
    """All steps of one way; the list of failures."""
    way = kind(project, path, daemon)
    wrong = []
    try:
        for step in steps:
            said = do_step(way, *step)
            if said:
                wrong.append(said)
                break
    finally:
        way.close()
    return wrong


def left_behind(project, daemon):
    """What of Carrel still exists after all sandboxes were stopped."""
    wrong = ["%s in TMPDIR" % name for name in os.listdir(project.env["TMPDIR"])]
    wrong += ["%s in the state directory" % name for name in os.listdir(os.path.join(daemon.state, "boxes"))]
    known = {".gitconfig", ".config", ".config/carrel", ".config/carrel/host.yaml"}
    return wrong + ["%s in the home" % path for path in sorted(snapshot(project.home)) if path not in known]


def hour(project, steps, may_change, same, ways=(Run, Living, Mcp, Python)):
    """Each way in its own copy; then the copies and the machine are compared. `steps` may be a
    function of the way. `same`: lines whose output on the host is equal in all copies.
    """
    inventory = Inventory()
    before, copies = snapshot(project.path), {}
    with Daemon(*(["--host", project.host_file] if project.host_file else []), env=project.env) as daemon:
        def one(kind):
            path = copy(project.path, os.path.join(project.folder, "by-" + kind.__name__.lower()))
            copies[kind] = path
            report("%s: every step, %s" % (project.name, kind.name), work(kind, project, path, daemon, steps(kind) if callable(steps) else steps))
            report("  and of the workspace nothing else has changed", differences(path, before, may_change))
        side_by_side(*[lambda kind=kind: one(kind) for kind in ways])
        contents = {kind: [project.sh(line + " 2>&1 || :", path) for line in same] for kind, path in copies.items()}
        report("%s: all ways have the same result" % project.name, ["%s: %s" % (kind.name, got) for kind, got in contents.items() if got != contents[ways[0]]])
        until("all is undone", lambda: not left_behind(project, daemon))
        daemon.end()
        report("  and nothing runs any more", ["%s" % processes_of(daemon.state)] if processes_of(daemon.state) else [])
    report("  and nothing is left on the host", inventory.left())
