#!/usr/bin/env python3
# slow: 30 s: 158 attacks, most of them with a sandbox of their own, with the defence and without
"""Attacks through a workspace on the host and on its own next sandbox: rows of group W of the
catalogue in SECURITY.md. Prints TAP.

    W01 what was read to judge: manifests by reference and by name, inventories, links to them, second names
    W02 names that programs of the host act on and that did not exist: created in every way
    W03 the same names if the repository tracks them, and a false index
    W04 the configuration of git: changed in every way so that git of the host would run a program
    W05 what git of the host runs because a repository's own files lead there: hooks, included files, links, submodules, repositories within

Each attack is made twice, see attack_rig.py.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from attack_rig import HOST, manifest, run_rows

CLOCK_REALTIME_COARSE = 5

PARENT = "---\nschema: workspace/v1\nsandbox: {file: ./conf/SANDBOX.md}\n---\n"
INVENTORY = """---
schema: secrets/v1
secrets:
  - {slug: openai-api-key, name: O, description: d}
  - {slug: deploy-key, name: D, description: d, access: [{role: operator}]}
---
"""
STOLEN = """---
schema: secrets/v1
secrets:
  - {slug: deploy-key, name: D, description: d, metadata: {bindings: {env: [OPENAI_API_KEY]}}}
---
"""

# Every way to have another file under the name, or under a directory on its path.
REWRITE = r'''
def write(path):
    with open(path, "a") as f:
        f.write("# evil\n")
def rename(path):
    open("evil", "w").write("# evil\n"); os.rename("evil", path)
def exchange(path):
    open("evil2", "w").write("# evil\n")
    if libc.renameat2(-100, b"evil2", -100, path.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")
def parent(path):
    top = path.split("/")[0]
    os.rename(top, "away")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("# evil\n")
for path in sys.argv[1:]:
    for way in (write, rename, exchange, parent):
        tried(way.__name__ + ":" + path, way, path)
'''


def is_whole(work, name):
    try:
        with open(os.path.join(work, name)) as f:
            return "evil" not in f.read()
    except OSError:
        return False


def w01_read_to_judge(rig, person):
    """Each way that leads to a manifest: the file, and the file that points to it, are protected.
    """
    rows = [
        ("a manifest that WORKSPACE.md names", {"WORKSPACE.md": PARENT, "conf/SANDBOX.md": manifest()}, [], ["conf/SANDBOX.md", "WORKSPACE.md"]),
        ("a manifest deep below, by -f", {"a/b/x.SANDBOX.md": manifest()}, ["-f", "a/b/x.SANDBOX.md"], ["a/b/x.SANDBOX.md"]),
        ("a block in YAML, by -f", {"conf/box.yaml": "{provider: local, config: {}, mounts: [{source: workspace, at: /workspace}]}\n"}, ["-f", "conf/box.yaml"], ["conf/box.yaml"]),
        ("a host file in the workspace", {"conf/host.json": json.dumps(HOST), "SANDBOX.md": manifest()}, ["--host", "conf/host.json"], ["conf/host.json"]),
    ]
    for label, files, options, names in rows:
        for off in (None, ["protect"]):
            work = rig.payload(person, REWRITE)
            for name, text in files.items():
                person.file(os.path.join(work, name), text)
            words = [os.path.join(work, w) if "/" in w else w for w in options]
            done = rig.run(person, ["python3", "payload.py", *names], work, off=off, options=words)
            if off is None:
                rig.tap.ok(done.has_ended and done.answers and not done.opened, f"W01 {label} is read-only ({person.name})", *done.tell())
            else:
                rig.tap.ok({"write:" + n for n in names} <= done.opened, f"W01 without protect {label} can be written ({person.name})", *done.tell())


def w01_two_runs(rig, person):
    """A payload that rewrites its manifest, and a second run that would use it."""
    for label, files, options, target in (
            ("by reference", {"WORKSPACE.md": PARENT, "conf/SANDBOX.md": manifest(limits={"timeout_ms": 20000})}, [], "conf/SANDBOX.md"),
            ("by -f", {"conf/SANDBOX.md": manifest(limits={"timeout_ms": 20000})}, ["-f", "conf/SANDBOX.md"], "conf/SANDBOX.md")):
        for off in (None, ["protect"]):
            work = rig.payload(person, "os._exit(0)")
            for name, text in files.items():
                person.file(os.path.join(work, name), text)
            words = [os.path.join(work, w) if "/" in w else w for w in options]
            rig.run(person, ["sh", "-c", f"sed 's/20000/86400000/' {target} >x; cat x >{target}"], work, off=off, options=words)
            with open(os.path.join(work, target)) as f:
                widened = "86400000" in f.read()
            rig.tap.ok(widened == (off is not None), f"W01 no limit is widened for the next run, {label}{', but without protect' if off else ''} ({person.name})")


def w01_links(rig, person):
    """A link on the path, and a second name of the file, could be replaced or written: such a file
    is refused as a manifest.
    """
    def link(work):
        os.symlink("conf", os.path.join(work, "way"))

    def second(work):
        os.link(os.path.join(work, "conf/SANDBOX.md"), os.path.join(work, "second"))

    for label, way, prepare, reason in (("through a link", "way/SANDBOX.md", link, "protected_symlink"),
                                        ("with a second name", "conf/SANDBOX.md", second, "protected_hard_link")):
        for opened in (False, True):
            work = person.directory()
            open_it = {"unprotect": ["way", "conf"]} if opened else None
            person.file(os.path.join(work, "conf/SANDBOX.md"), manifest(carrel=open_it))
            prepare(work)
            done = rig.run(person, ["true"], work, options=["-f", os.path.join(work, way), "--json"])
            if opened:
                rig.tap.ok(done.status == 0, f"W01 a manifest {label} judges where it says unprotect ({person.name})", *done.tell())
            else:
                rig.tap.ok(done.status == 126 and reason.encode() in done.out, f"W01 a manifest {label} is refused ({person.name})", *done.tell(), done.out)


def w01_inventory(rig, person):
    """The payload binds the slug it wants to the variable it has; the next run reads that binding.
    """
    env = {"auth": {"ref": "./conf/SECRETS.md", "state": {"env": ["OPENAI_API_KEY"]}}}
    values = person.file(os.path.join(person.home, "values"), "openai-api-key=sk-CANARY-1\ndeploy-key=CANARY-DEPLOY\n", 0o600)
    for tied in (False, True):
        host = {**HOST, "secret_sources": [{"file": values}]}
        if tied:
            host["secrets"] = {"./conf/SECRETS.md": {"reveal": True}}
        name = person.file(os.path.join(person.home, f"host-{tied}.json"), json.dumps(host))
        work = person.directory()
        person.file(os.path.join(work, "conf/SECRETS.md"), INVENTORY)
        person.file(os.path.join(work, "SANDBOX.md"), manifest(env=env))
        person.file(os.path.join(work, "stolen"), STOLEN)
        options = ["--host", name]
        first = rig.run(person, ["sh", "-c", "cat stolen >conf/SECRETS.md; echo \"$OPENAI_API_KEY\""], work, options=options)
        second = rig.run(person, ["sh", "-c", "echo \"$OPENAI_API_KEY\""], work, options=options)
        if tied:
            rig.tap.ok(first.out == second.out == b"sk-CANARY-1\n", f"W01 an inventory that the host file names is read-only ({person.name})", *first.tell(), *second.tell())
        else:
            rig.tap.ok(first.status == second.status == 126 and b"CANARY" not in first.out + second.out and b"does not name the inventory" in first.err,
                       f"W01 an inventory that the host file does not name binds nothing ({person.name})", *first.tell(), *second.tell())


def w01_living(rig, person):
    """The same for a daemon: what the client read is read-only in every exec."""
    if person is not rig.people[0]:
        return
    from daemon_rig import Daemon
    with Daemon(program=rig.shipped) as d:
        def carrel(*words):
            return subprocess.run([rig.shipped, words[0], "--state", d.state, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

        for number, (label, files, options, target) in enumerate((
                ("-f NAME.SANDBOX.md", {"dev.SANDBOX.md": manifest()}, ["-f", "dev.SANDBOX.md"], "dev.SANDBOX.md"),
                ("-f deep below", {"conf/SANDBOX.md": manifest()}, ["-f", "conf/SANDBOX.md"], "conf/SANDBOX.md"),
                ("by WORKSPACE.md", {"WORKSPACE.md": PARENT, "conf/SANDBOX.md": manifest()}, [], "conf/SANDBOX.md"))):
            work = person.directory()
            for name, text in files.items():
                person.file(os.path.join(work, name), text)
            words = [os.path.join(work, w) if "SANDBOX" in w else w for w in options]
            made = carrel("create", *words, "-w", work, "--name", f"w{number}")
            done = carrel("exec", f"w{number}", "--", "sh", "-c", f"echo '# evil' >>{target}; mv {target.split('/')[0]} away; echo done")
            rig.tap.ok(is_whole(work, target) and done.stdout == "done\n", f"W01 create {label}: the manifest is read-only inside", made.stderr, done.stderr)
            d.stop()
            d.start()
            carrel("exec", f"w{number}", "--", "true")
            done = carrel("exec", f"w{number}", "--", "sh", "-c", f"echo '# evil' >>{target}; echo done")
            rig.tap.ok(is_whole(work, target) and done.stdout == "done\n", f"W01 create {label}: still, under the daemon's next start", done.stderr)


def w01_agent(rig, person):
    """And for `carrel mcp -f`."""
    if person is not rig.people[0]:
        return
    work = person.directory()
    person.file(os.path.join(work, "conf/SANDBOX.md"), manifest())
    with tempfile.TemporaryDirectory() as runtime:
        p = subprocess.Popen([rig.shipped, "mcp", "-f", os.path.join(work, "conf/SANDBOX.md"), "-w", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": runtime, "HOME": runtime})
        out = []
        for message in ({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
                        {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list", "params": {}}):
            p.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            p.stdin.flush()
            if "id" in message:
                out.append(json.loads(p.stdout.readline()))
        tools = [t["name"] for t in out[-1]["result"]["tools"]]
        tool = next(t for t in ("execute_command", "exec", "run_command", *tools) if t in tools and ("exec" in t or "command" in t))
        p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
                                  "params": {"name": tool, "arguments": {"command": "echo '# evil' >>conf/SANDBOX.md; echo done"}}}) + "\n")
        p.stdin.flush()
        answer = p.stdout.readline()
        p.stdin.close()
        p.wait(timeout=120)
    rig.tap.ok(is_whole(work, "conf/SANDBOX.md") and "done" in answer, "W01 mcp -f: the manifest is read-only inside", tools, answer[:600])


MAKE = r'''
import time
def gone(path):
    """True once it is not there any more; a name that stays is found by the host too."""
    for _ in range(1000):
        if not os.path.lexists(path):
            return True
        time.sleep(0.01)
    return False
def written():
    open(".envrc", "w").write("# evil\n")
def renamed():
    open("x", "w").write("# evil\n"); os.rename("x", ".bashrc")
def exchanged():
    open("x", "w").write("# evil\n"); open("y", "w").write("")
    os.rename("y", ".zshrc")
    libc.renameat2(-100, b"x", -100, b".zshrc", 2)
def linked():
    os.symlink("payload.py", ".profile")
def second():
    open("z", "w").write("# evil\n"); os.link("z", ".zshenv")
def closed():
    os.mkdir(".vscode"); open(".vscode/tasks.json", "w").write("# evil\n"); os.chmod(".vscode", 0)
def deep():
    os.makedirs(".config/fish"); open(".config/fish/config.fish", "w").write("# evil\n")
def through():
    os.makedirs("other/git"); open("other/git/config", "w").write("# evil\n")
    os.path.isdir(".config") and os.rename(".config", "was")
    os.symlink("other", ".config")
def fifo():
    os.mkfifo(".mcp.json")
def moved():
    os.mkdir("d"); open("d/settings.json", "w").write("# evil\n"); os.rename("d", ".claude")
NAMES = {written: ".envrc", renamed: ".bashrc", exchanged: ".zshrc", linked: ".profile", second: ".zshenv", closed: ".vscode", deep: ".config/fish",
         through: ".config/git/config", fifo: ".mcp.json", moved: ".claude"}
for way, path in NAMES.items():
    try:
        way()
    except OSError as e:                       # moved away before it was whole
        print("#", way.__name__, e)
    tell(way.__name__, not gone(path))
'''
MADE = [".envrc", ".bashrc", ".zshrc", ".profile", ".zshenv", ".vscode", ".config/fish", ".config/git", ".mcp.json", ".claude"]


def there(work):
    return [n for n in MADE if os.path.lexists(os.path.join(work, n))]


def w02_made(rig, person):
    """Created in every way: moved away at once, while the command runs, and kept elsewhere; without
    protect they stay.
    """
    work = rig.payload(person, MAKE)
    done = rig.run(person, ["python3", "payload.py"], work, text=manifest())
    rig.tap.ok(done.has_ended and len(done.answers) == 10 and not done.opened and not there(work), f"W02 what is made is moved away at once ({person.name})", *done.tell(), *there(work))
    lines = [line for line in done.err.decode().splitlines() if "moved out of the workspace" in line]
    rig.tap.ok(len(lines) == 10, f"W02 and each is reported ({person.name})", *done.err.decode().splitlines())
    command = next((line.split("Take it back with: ")[1] for line in lines if "/.envrc " in line), "false")
    back = rig.host(person, ["sh", "-c", command], work)
    with_it = os.path.join(work, ".envrc")
    rig.tap.ok(back.status == 0 and os.path.exists(with_it) and open(with_it).read() == "# evil\n", f"W02 the command of the report takes it back ({person.name})", command, *back.tell())
    at_end = rig.run(person, ["sh", "-c", "echo x >.bash_login"], work)
    rig.tap.ok(not os.path.exists(os.path.join(work, ".bash_login")) and b"moved out" in at_end.err, f"W02 the last thing that a command does is found ({person.name})", *at_end.tell())
    work = rig.payload(person, MAKE.replace("range(1000)", "range(10)"))
    seen = rig.run(person, ["python3", "payload.py"], work, off=["protect"], text=manifest())
    rig.tap.ok(len(there(work)) >= 9, f"W02 without protect they stay ({person.name})", *there(work), *seen.tell())


def w02_elsewhere(rig, person):
    """The place for moved files is on another file system: copied, and removed."""
    place = tempfile.mkdtemp(prefix="carrel-w02-", dir="/dev/shm")
    try:
        os.chown(place, person.uid, person.gid)
        work = rig.payload(person, MAKE)
        done = rig.run(person, ["python3", "payload.py"], work, text=manifest(), env={"XDG_STATE_HOME": place, "XDG_RUNTIME_DIR": place})
        kept = [line.split("mv '")[1].split("'")[0] for line in done.err.decode().splitlines() if " mv '" in line]
        rig.tap.ok(done.has_ended and not done.opened and not there(work) and len(kept) >= 10 and all(os.path.lexists(k) or k.endswith(".mcp.json") for k in kept),
                   f"W02 where the keeping is on another file system too ({person.name})", *done.tell(), *kept, *there(work))
        for k in kept:                         # it may be in the runtime directory, which is found first
            shutil.rmtree(k.split("/kept/")[0] + "/kept", ignore_errors=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def w02_strict(rig, person):
    for label, off in (("ends", None), ("goes on without protect", ["protect"])):
        work = person.directory()
        person.file(os.path.join(work, "SANDBOX.md"), manifest(carrel={"protect": "strict"}))
        done = rig.run(person, ["sh", "-c", "mkdir .cursor; sleep 600 & wait" if off is None else "mkdir .cursor"], work, off=off, options=["--json"])
        told = json.loads(done.out)
        if off is None:
            rig.tap.ok(done.status == 137 and told["outcome"] == "policy_killed" and [k["what"] for k in told["left_behind"]] == ["refused"] and
                       not os.path.exists(os.path.join(work, ".cursor")), f"W02 protect: strict {label} the command ({person.name})", done.out)
        else:
            rig.tap.ok(done.status == 0 and os.path.exists(os.path.join(work, ".cursor")), f"W02 protect: strict {label} ({person.name})", done.out)
    work = rig.payload(person, "import time\nfor i in range(100000):\n    open('.envrc', 'w').close()\n    time.sleep(0.005)\n")
    done = rig.run(person, ["python3", "payload.py"], work, text=manifest())
    rig.tap.ok(done.status == 137 and not done.has_ended, f"W02 who makes one without end is ended ({person.name})", *done.tell()[-1:])


def later_than(path):
    """Waits for the clock of inode timestamps: a change in the tick in which a command begins
    counts as the command's.
    """
    changed = os.stat(path).st_ctime_ns
    while time.clock_gettime_ns(CLOCK_REALTIME_COARSE) <= changed:
        time.sleep(0.001)


def w03_tracked(rig, person):
    """Content may be changed, and is reported; untracked names beside it are protected; an
    incomplete index tracks nothing.
    """
    if not shutil.which("git"):
        rig.tap.skip(f"W03 tracked names ({person.name})", "git is not installed here")
        return
    def git(work, *words):
        return rig.host(person, ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b", *words], work, env={**os.environ, "HOME": person.home})

    lies = {
        "is whole": lambda index: index,
        "is cut": lambda index: index[:-30],
        "is split": lambda index: index[:-20] + b"link\0\0\0\0" + index[-20:],
        "is sparse": lambda index: index[:-20] + b"sdir\0\0\0\0" + index[-20:],
        "is of another version": lambda index: index[:4] + b"\0\0\0\5" + index[8:],
        "says more entries": lambda index: index[:8] + b"\0\0\0\x70" + index[12:],
        "is huge": lambda index: index[:-20] + b"HUGE\x02\x80\0\0" + b"\0" * (40 << 20) + index[-20:],
    }
    for label, lie in lies.items():
        work = person.directory()
        for name, text in ((".envrc", "one\n"), (".bashrc", "mine\n"), ("SANDBOX.md", manifest())):
            person.file(os.path.join(work, name), text)
        git(work, "init", "-q")
        git(work, "add", ".envrc", "SANDBOX.md")
        with open(os.path.join(work, ".git/index"), "rb") as f:
            index = f.read()
        person.file(os.path.join(work, ".git/index"), lie(index))
        later_than(os.path.join(work, ".git/index"))
        done = rig.run(person, ["sh", "-c", "echo '# evil' >>.bashrc; echo '# evil' >>SANDBOX.md; echo '# evil' >>.envrc; true"], work, options=["--json"])
        told = [k["what"] for k in json.loads(done.out)["left_behind"]]
        changed = not is_whole(work, ".envrc")
        rig.tap.ok(is_whole(work, ".bashrc") and is_whole(work, "SANDBOX.md") and changed == (label == "is whole") and told == (["changed"] if changed else []),
                   f"W03 an index that {label}: the tracked name is {'content, and its change is reported' if changed else 'held'} ({person.name})", done.out[-900:])
    work = person.directory()
    person.file(os.path.join(work, ".envrc"), "mine\n")
    person.file(os.path.join(work, "SANDBOX.md"), manifest())
    git(work, "init", "-q")
    runs = [rig.run(person, ["sh", "-c", words], work, options=["--json"]) for words in ("git add -f .envrc; echo '# evil' >>.envrc; true", "echo '# evil' >>.envrc")]
    told = [[k["what"] for k in json.loads(done.out)["left_behind"]] for done in runs]
    rig.tap.ok(told == [[], ["changed"]] and not is_whole(work, ".envrc"), f"W03 (known limit) a name that a command adds to the index is content from the next run on ({person.name})", *told)


def w02_living(rig, person):
    """For a daemon: at once, with an event, and the sandbox continues."""
    if person is not rig.people[0]:
        return
    from daemon_rig import Daemon
    with Daemon(program=rig.shipped) as d:
        def carrel(*words):
            return subprocess.run([rig.shipped, words[0], "--state", d.state, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

        work = person.directory()
        person.file(os.path.join(work, "SANDBOX.md"), manifest())
        carrel("create", "-w", work, "--name", "w", "--start")
        before = sorted(os.listdir(work))
        rig.tap.ok(before == ["SANDBOX.md"], "W02 a living sandbox makes nothing in the workspace", *before)
        events = subprocess.Popen([rig.shipped, "events", "--state", d.state, "--json"], stdout=subprocess.PIPE, text=True)
        until_up = carrel("exec", "w", "--", "true")
        done = carrel("exec", "w", "--", "sh", "-c", "echo x >.envrc; while [ -e .envrc ]; do sleep 0.01; done; echo gone")
        seen = []
        for line in events.stdout:
            seen.append(json.loads(line))
            if seen[-1]["event"] in ("name-moved", "stopped") or len(seen) > 40:
                break
        events.kill()
        events.wait()
        rig.tap.ok(done.stdout == "gone\n" and seen and seen[-1]["event"] == "name-moved", "W02 a living sandbox: gone at once, with an event", done.stdout, done.stderr, until_up.stderr, *seen[-3:])
        rig.tap.ok(carrel("exec", "w", "--", "echo", "on").stdout == "on\n", "W02 a living sandbox: and it goes on")


# The workspace's own, and what git runs at its next `status`.
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\thooksPath = .husky\n"
CONFIGURE = r'''
import mmap, time
EVIL = "[core]\n\tfsmonitor = touch evil\n"
good = open(".git/config").read()
def gone(path):
    for _ in range(LOOKS):
        try:
            if "evil" not in open(path).read():
                return True
        except OSError:
            if path != ".git/config":
                return True
        time.sleep(0.01)
    return False
def whole():
    for _ in range(LOOKS):
        if os.path.exists(".git/config") and open(".git/config").read().startswith(good):
            return True
        time.sleep(0.01)
    return False
def put(name, text=None):
    with open(name, "w") as f:
        f.write(good + EVIL if text is None else text)
def written():
    with open(".git/config", "a") as f:
        f.write(EVIL)
def renamed():
    put(".git/x"); os.rename(".git/x", ".git/config")
def exchanged():
    put(".git/x")
    if libc.renameat2(-100, b".git/x", -100, b".git/config", 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")
def linked():
    put("x"); os.symlink("../x", ".git/y"); os.rename(".git/y", ".git/config")
def second():
    put(".git/z", good); os.link(".git/z", ".git/z2"); os.rename(".git/z2", ".git/config"); put(".git/z")
def mapped():
    harmless = good + "#" * len(EVIL)
    put(".git/m", harmless); os.rename(".git/m", ".git/config")
    with open(".git/config", "r+b") as f:
        at = mmap.mmap(f.fileno(), len(harmless)); at[0:1] = good[0:1].encode(); time.sleep(0.2)
        at[len(good):] = EVIL.encode(); time.sleep(0.2)
def removed():
    os.unlink(".git/config")
def folded():
    put(".git/x", good + "[CORE]FSMonitor=touch evil"); os.rename(".git/x", ".git/config")
def included():
    put(".git/x", good + "[include]\npath = ../evil\n"); os.rename(".git/x", ".git/config")
def emptied():
    put(".git/config", "")
def broken():
    put(".git/x", good + "[evil\n"); os.rename(".git/x", ".git/config")
def huge():
    put(".git/x", good + EVIL + "#" * 100000); os.rename(".git/x", ".git/config")
def worktree():
    put(".git/config", good + "[extensions]\n\tworktreeConfig = true\n"); put(".git/config.worktree", EVIL)
for way in (written, renamed, exchanged, linked, second, mapped, folded, included, broken, huge, worktree, removed, emptied):
    try:
        way()
    except OSError as e:
        print("#", way.__name__, e)
    tell(way.__name__, not (whole() if way in (removed, emptied) else gone(".git/config") and gone(".git/config.worktree")))
try:
    os.rename(".git", "away"); os.makedirs(".git"); put(".git/config"); tell("parent", True)
except OSError as e:
    tell("parent", False)
'''


def w04_config(rig, person):
    """What could run a program is reset, however it was changed, and reported with the key."""
    for off in (None, ["protect"]):
        work = rig.payload(person, CONFIGURE.replace("LOOKS", "1000" if off is None else "10"))
        for name, text in ((".git/config", CONFIG), (".git/HEAD", "ref: refs/heads/main\n"), (".git/hooks/x", ""), (".git/objects/x", ""), (".git/refs/x", "")):
            person.file(os.path.join(work, name), text)
        done = rig.run(person, ["python3", "payload.py"], work, text=manifest(limits={"timeout_ms": 200000}), off=off)
        if off:
            rig.tap.ok(len(done.opened) >= 13, f"W04 without protect the configuration is the command's ({person.name})", *done.tell())
            continue
        rig.tap.ok(done.has_ended and len(done.answers) == 14 and not done.opened, f"W04 a configuration that runs a program is put back at once ({person.name})", *done.tell())
        with open(os.path.join(work, ".git/config")) as f:
            now = f.read()
        harmless = (CONFIG, CONFIG + "[extensions]\n\tworktreeConfig = true\n", CONFIG + "#" * len("[core]\n\tfsmonitor = touch evil\n"))    # whatever was seen last
        rig.tap.ok(now in harmless and not os.path.exists(os.path.join(work, ".git/config.worktree")),
                   f"W04 and is what it was ({person.name})", now)
        lines = [line for line in done.err.decode().splitlines() if "put back" in line]
        rig.tap.ok(len(lines) >= 12 and any("core.fsmonitor: git status runs it." in line and " mv '" in line for line in lines) and
                   any("include.path" in line for line in lines) and any("core.hookspath" in line for line in lines), f"W04 and each is reported ({person.name})", *lines)
        last = rig.run(person, ["sh", "-c", "printf '\\n[alias] st = !x\\n' >>.git/config"], work, options=["--json"])
        told = json.loads(last.out)["left_behind"]
        rig.tap.ok([(k["what"], k["key"]) for k in told] == [("restored", "alias.st")] and "command" in told[0]["effect"], f"W04 the last thing that a command does is found ({person.name})", last.out)
    work = person.directory()
    person.file(os.path.join(work, ".git/config"), CONFIG)
    person.file(os.path.join(work, "SANDBOX.md"), manifest(carrel={"protect": "strict"}))
    done = rig.run(person, ["sh", "-c", "echo '[user] name = x' >>.git/config"], work)
    with open(os.path.join(work, ".git/config")) as f:
        rig.tap.ok(f.read() == CONFIG and done.status != 0, f"W04 protect: strict holds it read-only ({person.name})", *done.tell())


def w05_leads(rig, person):
    """Each state of a workspace when the sandbox begins; git of the host, used after it has ended,
    must run nothing of the payload's.
    """
    if not shutil.which("git"):
        rig.tap.skip(f"W05 where a repository leads ({person.name})", "git is not installed here")
        return
    settings = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
    script = "#!/bin/sh\n:\n"

    def git(work, *words):
        return rig.host(person, [*settings, *words], work, env={**os.environ, "HOME": person.home})

    def repository(work):
        git(work, "init", "-q")
        git(work, "commit", "-q", "--allow-empty", "-m", "one")

    def hooks_path(work):
        git(work, "config", "core.hooksPath", ".husky")
        person.file(os.path.join(work, ".husky/pre-commit"), script, 0o755)

    def included(work):
        person.file(os.path.join(work, "team.gitconfig"), "[core]\n\thooksPath = tools/hooks\n")
        person.file(os.path.join(work, "tools/hooks/pre-commit"), script, 0o755)
        git(work, "config", "include.path", "../team.gitconfig")

    def link(work):
        person.file(os.path.join(work, "scripts/pre-commit"), script, 0o755)
        os.makedirs(os.path.join(work, ".git/hooks"), exist_ok=True)
        os.symlink("../../scripts/pre-commit", os.path.join(work, ".git/hooks/pre-commit"))

    def within(work):
        person.file(os.path.join(work, "lib/README"), "")
        repository(os.path.join(work, "lib"))

    def registered(work):
        within(work)
        git(work, "add", "lib")

    def deep(work):
        person.file(os.path.join(work, "a/b/c/README"), "")
        repository(os.path.join(work, "a/b/c"))
        git(work, "add", "a/b/c")

    def submodule(work):
        other = person.directory()
        repository(other)
        git(work, "submodule", "-q", "add", other, "lib")

    def worktree(work):
        git(work, "worktree", "add", "-q", "wt")

    commit, status = ["commit", "-q", "--allow-empty", "-m", "two"], ["status", "--short"]
    evil = "printf '#!/bin/sh\\ntouch \"%s/evil\"\\n' \"$WORK\""
    rows = [
        ("core.hooksPath", hooks_path, f"{evil} >.husky/pre-commit", commit, ""),
        ("core.hooksPath, renamed", hooks_path, f"mv .husky old; mkdir .husky; {evil} >.husky/pre-commit; chmod 755 .husky/pre-commit", commit, ""),
        ("include.path", included, "printf '[core]\\n\\tfsmonitor = touch \"%s/evil\"; false\\n' \"$WORK\" >>team.gitconfig", status, ""),
        ("core.hooksPath of an included file", included, f"{evil} >tools/hooks/pre-commit", commit, ""),
        ("a link in .git/hooks", link, f"{evil} >scripts/pre-commit", commit, ""),
        ("a link in .git/hooks, renamed", link, f"mv scripts old; mkdir scripts; {evil} >scripts/pre-commit; chmod 755 scripts/pre-commit", commit, ""),
        ("a repository within", within, "cd lib && git config core.fsmonitor \"touch '$WORK/evil'; false\"", status, "lib"),
        ("hooks of a repository within", within, f"{evil} >lib/.git/hooks/pre-commit; chmod 755 lib/.git/hooks/pre-commit", commit, "lib"),
        ("a registered repository", registered, "cd lib && git config core.fsmonitor \"touch '$WORK/evil'; false\"", status, ""),
        ("a registered repository, deep", deep, "cd a/b/c && git config core.fsmonitor \"touch '$WORK/evil'; false\"", status, ""),
        ("a submodule", submodule, "cd lib && git config core.fsmonitor \"touch '$WORK/evil'; false\"", status, ""),
        ("hooks of a submodule", submodule, f"{evil} >.git/modules/lib/hooks/pre-commit; chmod 755 .git/modules/lib/hooks/pre-commit", commit, "lib"),
        ("a submodule, moved", submodule, "mv .git/modules/lib away; cp -r away .git/modules/lib; git config -f .git/modules/lib/config core.fsmonitor \"touch '$WORK/evil'; false\"",
         status, ""),
        ("a worktree's file", worktree, "cp -r .git/worktrees/wt own; cp -r .git all; cp -r all/* own/ 2>/dev/null; rm -f own/commondir own/gitdir; printf '[core]\\n\\tbare = false\\n\\t"
         "repositoryformatversion = 0\\n\\tfsmonitor = touch \"%s/evil\"; false\\n' \"$WORK\" >own/config; echo 'gitdir: ../own' >wt/.git", status, "wt"),
    ]
    for label, prepare, command, words, where in rows:
        ran = {}
        for off in (None, ["protect"]):
            work = person.directory()
            repository(work)
            prepare(work)
            done = rig.run(person, ["sh", "-c", command + "; true"], work, off=off, text=manifest(), options=["-e", f"WORK={work}"])
            seen = git(os.path.join(work, where), *words)
            ran[bool(off)] = os.path.exists(os.path.join(work, "evil"))
            if off is None:
                rig.tap.ok(done.status == 0 and not ran[False], f"W05 {label}: git of the host runs nothing of the payload's ({person.name})", *done.tell(), *seen.tell())
        rig.tap.ok(ran[True], f"W05 {label}: without protect it does ({person.name})", *done.tell(), *seen.tell())


def w02_host(rig, person):
    """While a sandbox lives and no command runs, a person creates such names: they stay. A process
    that outlived its command may create none.
    """
    if person is not rig.people[0]:
        return
    from daemon_rig import Daemon
    with Daemon(program=rig.shipped) as d:
        def carrel(*words):
            return subprocess.run([rig.shipped, words[0], "--state", d.state, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

        def told(event, path):
            """Waits for the event; earlier events."""
            seen = []
            for line in events.stdout:
                seen.append(json.loads(line))
                if seen[-1]["event"] in ("stopped", "ended", "failed") or (seen[-1]["event"] == event and seen[-1].get("host_path", "").endswith(path)):
                    break
            return seen

        work = person.directory()
        person.file(os.path.join(work, "SANDBOX.md"), manifest())
        carrel("create", "-w", work, "--name", "w", "--start")
        events = subprocess.Popen([rig.shipped, "events", "--state", d.state, "--json"], stdout=subprocess.PIPE, text=True)
        try:
            carrel("exec", "w", "--", "true")
            for name in (".vscode/tasks.json", ".envrc", ".config/fish/config.fish", ".claude/settings.json"):
                for again in range(6):         # for a moment after a command it may still count as the command's
                    time.sleep(0.1 * again)
                    with contextlib.suppress(OSError):
                        person.file(os.path.join(work, name), "# the person's\n")
                    # What a command creates after that is moved: the report shows that the search
                    # is over.
                    carrel("exec", "w", "--", "sh", "-c", "echo x >.profile")
                    seen = told("name-moved", ".profile")
                    if os.path.exists(os.path.join(work, name)):
                        break
                rig.tap.ok(os.path.exists(os.path.join(work, name)), f"W02 {name}, made by a person while nothing runs, stays", *seen, *os.listdir(work))
            carrel("exec", "w", "--", "sh", "-c", "echo '# evil' >>.vscode/tasks.json")
            seen = told("content-changed", ".vscode")
            rig.tap.ok(bool(seen) and seen[-1]["event"] == "content-changed", "W02 a command's change of it is reported when the command ends", *seen)
            # A process that outlives its command belongs to the payload.
            carrel("exec", "w", "--", "sh", "-c", "(while [ ! -e go ]; do sleep 0.05; done; echo x >.zshrc; sleep 0.2; echo x >.bashrc) >/dev/null 2>&1 </dev/null &")
            person.file(os.path.join(work, "go"), "")
            seen = told("name-moved", ".zshrc") + told("name-moved", ".bashrc")
            rig.tap.ok(not os.path.exists(os.path.join(work, ".zshrc")) and not os.path.exists(os.path.join(work, ".bashrc")),
                       "W02 what a process left by a command makes is moved away, while no command runs", *seen)
            # And a command that has ended before the search.
            for _ in range(10):
                carrel("exec", "w", "--", "sh", "-c", "echo x >.zshenv; echo x >.mcp.json")
                told("name-moved", ".mcp.json")
            rig.tap.ok(not os.path.exists(os.path.join(work, ".zshenv")), "W02 what a short command makes is moved away, each time", *os.listdir(work))
            put = carrel("cp", os.path.join(work, "SANDBOX.md"), "w:/workspace/.bash_login")
            told("name-moved", ".bash_login")
            rig.tap.ok(not os.path.exists(os.path.join(work, ".bash_login")), "W02 what is written over the API is moved away", put.stderr)
            rig.tap.ok(all(os.path.exists(os.path.join(work, n)) for n in (".vscode", ".envrc", ".config/fish", ".claude")), "W02 and the person's names are still there", *os.listdir(work))
        finally:
            events.kill()
            events.wait()


ROWS = [w01_read_to_judge, w01_two_runs, w01_links, w01_inventory, w01_living, w01_agent, w02_made, w02_elsewhere, w02_strict, w02_living, w02_host, w03_tracked, w04_config, w05_leads]


if __name__ == "__main__":
    sys.exit(run_rows(ROWS))
