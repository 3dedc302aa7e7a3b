"""What the box and escape tests share: TAP lines, a workspace with a SANDBOX.md, the program, an inventory of the host.

Not a test. Works as root and as an ordinary user; CARREL and CARREL_LAYERS name the programs.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
CARREL = os.path.abspath(os.environ.get("CARREL") or os.path.join(TREE, "build", "carrel"))
LAYERS = os.path.abspath(os.environ.get("CARREL_LAYERS") or os.path.join(TREE, "build-layers", "carrel"))
SHIM = os.path.join(os.path.dirname(CARREL), "test", "shim")
ROOT = os.geteuid() == 0
SLOW = int(os.environ.get("CARREL_TEST_SLOW") or 1)      # how many times longer everything may take: an emulated processor is no reason to fail
ALWAYS = 300 * SLOW    # seconds: nothing here takes longer unless it hangs
PATIENCE = 120 * SLOW  # seconds until a test gives up on something that should come at once: a busy machine is no reason to fail either

DEEP = os.environ.get("CARREL_TEST_DEEP") == "1"         # ./dev test --all: every point of a sweep, long storms, what repeats other rows

results = []


def report(name, wrong=(), skip=""):
    """One TAP line; `wrong` is a list of reasons, empty where the promise held."""
    wrong = [] if wrong is None else wrong if isinstance(wrong, list) else [wrong]
    wrong = [w for w in wrong if w]
    results.append(not wrong)
    print("%s %d - %s%s" % ("not ok" if wrong else "ok", len(results), name, " # SKIP " + skip if skip else ""), flush=True)
    for line in wrong:
        print("#", str(line).replace("\n", "\n# "), flush=True)


def check(name, is_ok, *why):
    report(name, [] if is_ok else [repr(w) for w in why] or ["it did not hold"])


def end():
    print("1..%d" % len(results))
    sys.exit(0 if all(results) else 1)


def until(what, condition, patience=PATIENCE):
    """Gives what condition() gives as soon as that is true; an AssertionError that names it where it never is."""
    patience = max(PATIENCE, patience)
    end_at = time.monotonic() + patience
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end_at:
            raise AssertionError("did not happen in %d s: %s" % (patience, what))
        time.sleep(0.01)


def whole_answer(s):
    """Head and body of one answer of HTTP/1.1 from a connection that is kept: all its Content-Length, however many pieces it comes in."""
    got = b""
    while b"\r\n\r\n" not in got and (more := s.recv(65536)):
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")[1:] if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length and (more := s.recv(65536)):
        body += more
    return head, body


def read_until(s, words, most=1 << 20):
    """What comes until `words` are in it, or it ends, or it is too much."""
    got = b""
    while words not in got and len(got) < most and (more := s.recv(65536)):
        got += more
    return got


class Tap:
    """The same lines, for a program that counts for itself."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, is_ok, name, *why):
        self.count += 1
        self.failed += not is_ok
        print(("ok" if is_ok else "not ok"), self.count, "-", name)
        if not is_ok:
            for line in why:
                print("#", str(line).replace("\n", "\n# "))

    def skip(self, name, why):
        self.count += 1
        print("ok", self.count, "-", name, "# SKIP", why)

    def end(self):
        print("1..%d" % self.count)
        return 1 if self.failed else 0


def manifest(limits="", carrel="", more="", mounts="mounts: [{source: workspace, at: /workspace}]\n"):
    """A SANDBOX.md: `limits` and `carrel` are flow maps without braces, `more` whole lines."""
    return ("---\nschema: sandbox/v1\nid: '@test/box'\nversion: 1.0.0\nprovider: local\nconfig: {}\nlimits: {%s}\n%s%s"
            "metadata: {carrel: {%s}}\n---\n" % (limits or "timeout_ms: 30000", mounts, more, carrel))


class Workspace:
    """A directory of its own below one that is gone at the end."""

    def __init__(self, text=None, **words):
        self.folder = tempfile.mkdtemp(prefix="carrel-test-")
        self.path = os.path.join(self.folder, "ws")
        os.mkdir(self.path)
        if text is not False:
            self.write("SANDBOX.md", text or manifest(**words))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, content, mode=0o644):
        path = os.path.join(self.path, name)
        with open(path, "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        try:
            with open(os.path.join(self.path, name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def argv(self, command, *options, program=None):
        return [program or CARREL, "run", "-w", self.path, *options, "--", *command]

    def run(self, command, *options, program=None, timeout=ALWAYS, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        if "input" in more:
            del more["stdin"]
        return subprocess.run(self.argv(command, *options, program=program), timeout=timeout, check=False,
                              stdout=more.pop("stdout", subprocess.PIPE), stderr=more.pop("stderr", subprocess.PIPE), **more)

    def json(self, command, *options, **more):
        done = self.run(command, "--json", *options, **more)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"event": None, "error": {"code": None}, "raw": done.stdout[:500], "err": done.stderr[:500]}

    def sh(self, script, *options, **more):
        return self.run(["sh", "-c", script], *options, **more)

    def python(self, script, *options, **more):
        return self.run(["python3", "-c", script], *options, **more)

    def without(self, layers, command, *options, **more):
        """The same through the build whose layers can be switched off."""
        env = {**os.environ, "CARREL_TEST_DISABLE": layers}
        return self.run(command, *options, program=LAYERS, env=env, **more)


def has_layers():
    return os.access(LAYERS, os.X_OK)


def need_programs():
    if not os.access(CARREL, os.X_OK):
        print("Bail out! %s is not built" % CARREL)
        sys.exit(1)


def processes():
    """The names of all processes that are ours by name, with their ids."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
                stat = f.read()
            name = stat[stat.index("(") + 1:stat.rindex(")")]
            exe = os.readlink("/proc/%s/exe" % pid)
            parent = stat[stat.rindex(")") + 2:].split()[1]
            # Others may run sandboxes too: ours are of our program, or makers and boxes that nobody waits for any more.
            is_ours = exe == CARREL or (name.startswith("carrel") and exe.startswith("/memfd:") and parent == "1")
            if is_ours and stat[stat.rindex(")") + 2] != "Z" and os.stat("/proc/" + pid).st_uid in owners():
                found.add((int(pid), name))
        except (OSError, ValueError):
            continue
    return found


def owners():
    return range(0, 2**32) if ROOT else (os.geteuid(),)


def groups():
    found = set()
    for base, dirs, _ in os.walk("/sys/fs/cgroup"):
        found |= {os.path.join(base, d) for d in dirs if d.startswith("carrel-") and d != "carrel-runtime"}
    return found


def runtime_dir():
    return "/run/carrel" if ROOT else (os.environ.get("XDG_RUNTIME_DIR", "") + "/carrel" if os.environ.get("XDG_RUNTIME_DIR")
                                       else "/tmp/carrel-%d" % os.geteuid())


def leases():
    try:
        return set(os.listdir(runtime_dir()))
    except OSError:
        return set()


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
        return sorted(line.split(" ", 3)[3] for line in f)


def tree(path):
    found = {}
    for base, dirs, files in os.walk(path):
        for name in dirs + files:
            st = os.lstat(os.path.join(base, name))
            found[os.path.relpath(os.path.join(base, name), path)] = (st.st_mode, st.st_uid, st.st_gid, st.st_size)
    return found


class Inventory:
    """What the host has now. Others may run sandboxes at the same time, so what is theirs is waited out, not blamed."""

    def __init__(self, folder=None):
        self.folder = folder
        self.before = self.look()

    def look(self):
        return {"mounts": mounts(), "groups": groups(), "leases": leases(), "processes": processes(),
                "files": tree(self.folder) if self.folder else {}}

    def left(self):
        """What is there now and was not before, after others had time to go; empty where all is as it was."""
        until = time.monotonic() + PATIENCE
        while True:
            now = self.look()
            wrong = []
            for what in ("groups", "leases", "processes"):
                more = now[what] - self.before[what]
                if more:
                    wrong.append("%s left behind: %s" % (what, sorted(more)))
            for what in ("mounts", "files"):
                if now[what] != self.before[what]:
                    wrong.append("%s changed: %s -> %s" % (what, self.before[what], now[what]))
            if not wrong or time.monotonic() > until:
                return wrong
            time.sleep(0.02)
