#!/usr/bin/env python3
"""The commands that use a daemon, with a real one and real sandboxes: each of them once, mistakes
on purpose, output byte for byte, signals, a terminal, clients and keepers that die, and libcarrel
from C.
"""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, TREE, Workspace, check, end, need_programs, report
from daemon_rig import Daemon, until

ESC = r"printf '\033[31m\033]0;owned\007\2331mx\377\n\r\bend\n'"


class Shell:
    """`carrel` as the user of one daemon has it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.program = os.open(CARREL, os.O_RDONLY)                       # for a user that may not look into its directory
        self.env = {**os.environ, "CARREL_STATE": daemon.state}

    def __call__(self, *words, timeout=ALWAYS, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        if "input" in more:
            del more["stdin"]
        return subprocess.run([CARREL, *words], env=self.env, stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, timeout=timeout, check=False, **more)

    def start(self, *words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([CARREL, *words], env=self.env, stdout=more.pop("stdout", subprocess.PIPE), stderr=more.pop("stderr", subprocess.PIPE), **more)

    def json(self, *words, **more):
        done = self(words[0], "--json", *words[1:], **more)
        return done.returncode, json.loads(done.stdout)

    def create(self, *words):
        done = self("create", "-q", *words)
        assert done.returncode == 0, said(done)
        return done.stdout.decode().strip()


def said(done):
    return "%d %r %r" % (done.returncode, done.stdout[-500:], done.stderr[-500:])


def tree_is_gone(mark):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if mark.encode() in f.read() and int(pid) != os.getpid():
                    return False
        except OSError:
            continue
    return True


# -- each command ------------------------------------------------------------------------------------------------------


def each_command(sh):
    done = sh("create", "--name", "one", "--timeout", "10m", "-p", "3000", "-e", "WHO=me", "--metadata", '{"a":[1]}', "--start")
    check("create prints the sandbox", done.returncode == 0 and b"one" in done.stdout and b"3000" in done.stdout, said(done))
    status, one = sh.json("info", "one")
    check("info has what create was given", status == 0 and (one["name"], one["status"], one["ports"], one["metadata"]) == ("one", "running", [3000], {"a": [1]}) and
          590000 < one["timeout_ms"] <= 600000, one)
    done = sh("ls")
    check("ls is a table with its age and what is left", done.returncode == 0 and re.search(rb"^ID +NAME +STATUS +AGE +LEFT +WITH\n\w+ +one +running +\d+ \w+ +\d+ min", done.stdout), said(done))
    check("ls -q is its id, ls --json the object", sh("ls", "-q").stdout.decode().split() == [one["id"]] and sh.json("ls")[1]["items"][0]["id"] == one["id"])
    check("ls -q --json is the object alone", sh("ls", "-q", "--json").stdout.startswith(b"{"), sh("ls", "-q", "--json"))
    done = sh("exec", "one", "--", "sh", "-c", 'echo "$WHO $MORE"; pwd; echo oops >&2; exit 7')
    check("exec is the command itself", (done.returncode, done.stdout, done.stderr) == (7, b"me \n/home/agent\n", b"oops\n"), said(done))
    done = sh("exec", "-e", "MORE=you", "--cwd", "/tmp", "one", "sh", "-c", 'echo "$WHO $MORE"; pwd')
    check("exec takes variables and a directory, with or without --", done.stdout == b"me you\n/tmp\n", said(done))
    check("exec forwards standard input and its end", sh("exec", "one", "--", "cat", input=b"a\nb").stdout == b"a\nb")
    check("exec --no-input gives none", sh("exec", "--no-input", "one", "--", "cat", input=b"a\nb").stdout == b"")
    status, got = sh.json("exec", "one", "--", "sh", "-c", "echo a; echo b >&2; exit 3")
    check("exec --json is one object", (status, got["exit_code"], got["stdout"], got["stderr"], got["outcome"]) == (3, 3, "a\n", "b\n", "exited"), got)
    check("exec --timeout is 124", sh("exec", "--timeout", "200ms", "one", "--", "sleep", "60").returncode == 124)
    check("a signal that ends the command is 128 and its number", sh("exec", "one", "--", "sh", "-c", "kill -TERM $$").returncode == 143)
    background(sh)
    as_rest(sh)
    files(sh)
    before = sh.json("info", "one")[1]["timeout_ms"]
    check("of a time left of hours the minutes are shown", re.search(r" (2 h 59 min|3 h)\n", sh("create", "--name", "hours", "--timeout", "3h").stdout.decode()) and sh("stop", "hours").returncode == 0)
    check("extend adds", sh("extend", "one", "5m").returncode == 0 and 290000 < sh.json("info", "one")[1]["timeout_ms"] - before <= 300000)
    done = sh("pause", "one")
    lacks = b"capability_unavailable" in done.stderr
    check("pause and resume say how it stands" + (" # SKIP this host cannot freeze" if lacks else ""), lacks or (b"paused" in done.stdout and b"running" in sh("resume", "one").stdout), said(done))
    done = sh("url", "one", "3000")
    check("url is one", done.returncode == 0 and done.stdout.startswith(b"http://127.0.0.1:"), said(done))
    own = sh("url", "one", "3000", "--browser")
    check("url --browser has an origin of its own", re.fullmatch(rb"http://([0-9a-f]{32})\.localhost:(\d+)/\n", own.stdout) and
          re.sub(rb"http://[\d.]+:(\d+)/~(\w+)/", rb"http://\2.localhost:\1/", done.stdout) == own.stdout, said(own), said(done))
    done = sh("info")
    check("info without an id is the daemon", done.returncode == 0 and b"sandboxes  1\n" in done.stdout, said(done))
    check("info --instructions are words for a model", b"sandbox" in sh("info", "one", "--instructions").stdout)
    keys(sh)
    done = sh("stop", "one", "no-such")
    check("stop says of each whether it existed", (done.returncode, done.stdout) == (0, b"one: stopped\nno-such: no such sandbox\n"), said(done))
    check("ls of none says so", b"carrel create" in sh("ls").stdout)


def events(sh, box):
    watcher = sh.start("events", box, "--for", "200s", "--json")
    until("it listens", lambda: sh("exec", box, "--", "sh", "-c", "exit 9") and select.select([watcher.stdout], [], [], 0)[0])     # this is the only sign of it
    line = json.loads(watcher.stdout.readline())
    while line["event"] != "exec-ended":
        line = json.loads(watcher.stdout.readline())
    check("events tells how an exec ended", (line["outcome"], line["exit_code"]) == ("exited", 9), line)
    watcher.terminate()
    watcher.wait(ALWAYS)
    watcher.stdout.close()


def as_rest(sh):
    def members(answer):       # in order; a time that is left or that is converted between two clocks is another in each answer
        return [(name, name.endswith("_at_ms") or (name == "timeout_ms" and "created_at_ms" in answer) or
                 ([members(item) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else value))
                for name, value in answer.items()]

    wrong = []
    for words, path in ((["info", "one"], "/v1/sandboxes/one"), (["ls"], "/v1/sandboxes"), (["ps", "one"], "/v1/sandboxes/one/execs"),
                        (["denials", "one"], "/v1/sandboxes/one/denials"), (["info"], "/v1/info")):
        ours, theirs = members(sh.json(*words)[1]), members(sh.daemon.must("GET", path))
        if ours != theirs:
            wrong.append((words, ours, theirs))
    check("--json is what REST answers, member by member", not wrong, *wrong)


def background(sh):
    number = sh("exec", "-d", "one", "--", "sh", "-c", "echo begin; sleep 0.3; echo more; exec sleep 600").stdout.decode().strip()
    check("exec -d prints the number", number.isdigit(), number)
    until("its output is there", lambda: sh("output", "one", number).stdout == b"begin\nmore\n")
    check("output --offset begins there", sh("output", "one", number, "--offset", "6").stdout == b"more\n")
    status, got = sh.json("output", "one", number)
    check("output --json has both streams and how it stands", status == 0 and got["stdout"] == "begin\nmore\n" and got["exec"]["state"] == "running", got)
    done = sh("ps", "one")
    check("ps shows it", re.search(rb"^%s& +running .* sh -c" % number.encode(), done.stdout, re.M), said(done))
    follower = sh.start("output", "one", number, "--follow")
    check("output --follow gives what is there", os.read(follower.stdout.fileno(), 11) == b"begin\nmore\n")
    check("kill says that it ran", b"killed" in sh("kill", "one", number).stdout)
    check("a follower ends with the command's status", follower.wait(ALWAYS) == 137)
    check("and the second time that it had ended", sh.json("kill", "one", number) == (0, {"existed": False}))
    number = sh("exec", "-d", "one", "--", "sh", "-c", "trap 'echo usr; exit 9' USR1; echo ready; while :; do sleep 0.05; done").stdout.decode().strip()
    until("it is ready", lambda: sh("output", "one", number).stdout == b"ready\n")
    check("kill -s sends that signal", sh("kill", "one", number, "-s", "USR1").returncode == 0 and sh("output", "one", number, "--follow").returncode == 9 and
          sh("output", "one", number).stdout == b"ready\nusr\n")


def files(sh):
    with tempfile.TemporaryDirectory() as top:
        source = os.path.join(top, "tree")
        os.makedirs(os.path.join(source, "a", "b"))
        for i in range(30):
            with open(os.path.join(source, "a", "f%d" % i), "w", encoding="utf-8") as f:
                f.write("x" * i)
        with open(os.path.join(source, "a", "b", "with a \u00fcmlaut & ' quote"), "wb") as f:
            f.write(bytes(range(256)))
        os.chmod(os.path.join(source, "a", "f3"), 0o755)
        os.symlink("f3", os.path.join(source, "a", "link"))
        os.mkfifo(os.path.join(source, "fifo"))
        done = sh("cp", source, "one:")
        check("cp of a directory goes in whole; a FIFO is left out and named", done.returncode == 0 and b"fifo" in done.stderr, said(done))
        os.unlink(os.path.join(source, "fifo"))
        back = os.path.join(top, "back")
        done = sh("cp", "one:tree", back)
        same = subprocess.run(["diff", "-r", "--no-dereference", source, back], stdout=subprocess.PIPE, check=False)
        check("and comes out the same", done.returncode == 0 and same.returncode == 0, said(done), same.stdout)
        check("modes and links too", os.stat(os.path.join(back, "a", "f3")).st_mode & 0o777 == 0o755 and os.readlink(os.path.join(back, "a", "link")) == "f3")
        done = sh("cp", "one:tree", top + "/tree2/", "--json")
        check("cp --json counts", done.returncode == 0 and json.loads(done.stdout)["files"] == 32, said(done))
        sh("cp", "-", "one:new", input=b"from stdin")
        check("cp from and to standard streams", sh("cp", "one:new", "-").stdout == b"from stdin" and sh("exec", "one", "--", "cat", "new").stdout == b"from stdin")
        long = "n" * 255
        sh("exec", "one", "--", "sh", "-c", "mkdir longest; echo x >longest/" + long)
        done = sh("cp", "one:longest", top + "/longest/")
        check("cp of a name that is as long as a name can be", done.returncode == 0 and os.listdir(os.path.join(top, "longest")) in ([long], ["longest"]), done)
        check("cp into a directory that is there", sh("cp", os.path.join(source, "a", "f3"), "one:/tmp").returncode == 0 and sh("cp", "one:/tmp/f3", "-").stdout == b"xxx")


def keys(sh):
    done = sh("key", "new", "--scope", "read")
    check("key new prints the token alone", done.returncode == 0 and re.fullmatch(rb"\S{32,}\n", done.stdout), said(done))
    rows = [t for t in sh.json("key", "ls")[1]["items"] if t["scope"] == "read"]
    check("key ls has it without its value", len(rows) == 1 and "token" not in rows[0], rows)
    check("key rm makes it worthless, once", [sh.json("key", "rm", rows[0]["id"])[1]["existed"] for _ in range(2)] == [True, False])


# -- mistakes ----------------------------------------------------------------------------------------------------------


def mistakes(sh):
    box = sh.create()
    table = (  # command line, status, expected words
        (["exec"], 125, "needs the id of a sandbox, and a command"), (["exec", box], 125, "no command to run"), (["exec", box, "--", ""], 125, "no command"),
        (["exec", "no-such", "--", "true"], 126, "sandbox_not_found"), (["exec", box, "--", "no-such-command"], 127, "command_not_found"),
        (["exec", box, "--", "ls | wc"], 127, "sh -c 'ls | wc'"), (["exec", box, "--", "/etc"], 126, "a directory"),
        (["exec", box, "--", "/etc/passwd"], 126, "command_not_executable"), (["exec", "--cwd", "/no/such", box, "--", "true"], 125, "invalid_argument"),
        (["exec", "--timeout", "9q", box, "--", "true"], 125, "1500ms"), (["exec", "-t", box, "--", "true"], 125, "Leave out -t"),
        (["exec", "-e", "NOT A NAME=1", box, "--", "true"], 125, "NAME=value"), (["exec", "--nonsense", box, "--", "true"], 125, "carrel exec --help"),
        (["exec", "-d", box, "--", "no-such-command"], 127, "command_not_found"),
        (["info", "no-such"], 126, "sandbox_not_found"), (["ps", "no-such"], 126, "sandbox_not_found"), (["ps"], 125, "needs"), (["stop"], 125, "carrel ls"),
        (["output", box, "99"], 126, "exec_not_found"), (["output", box, "x"], 125, "invalid number of an exec"), (["kill", box, "99"], 126, "exec_not_found"),
        (["kill", box, "1", "-s", "NONSENSE"], 125, "TERM"), (["extend", box], 125, "how long"), (["extend", box, "soon"], 125, "duration"),
        (["extend", "no-such", "1m"], 126, "sandbox_not_found"), (["url", box, "80"], 126, "carrel create -p"), (["url", box, "99999"], 125, "65535"),
        (["create", "--runtime", "cobol60"], 126, "runtime_unknown"), (["create", "-f", "/no/such/file"], 125, "file_unreadable"), (["create", "-w", "/no/such"], 125, "workspace_not_found"),
        (["create", "-p", "0"], 125, "port"), (["create", "--name", "Not A Name"], 125, "name"), (["create", "--metadata", "{"], 125, "metadata"),
        (["create", "extra"], 125, "unexpected argument"), (["cp", "a", "b"], 125, "ID:PATH"), (["cp", box + ":a", box + ":b"], 125, "both"),
        (["cp", box + ":no-such", "-"], 127, "file_not_found"), (["cp", "/no/such", box + ":"], 125, "opening"), (["cp", box + ":/dev/null", "-"], 125, "at path"),
        (["cp", "/etc/passwd", box + ":/etc/x"], 126, ""), (["key"], 125, "new, ls or rm"), (["key", "destroy"], 125, "new, ls, or rm"), (["key", "new", "--scope", "most"], 125, "scope"),
        (["events", "--for", "x"], 125, "duration"), (["ls", "--state", "/no/such"], 125, "carrel serve"), (["pause", "no-such"], 126, "sandbox_not_found"),
        (["create", "--timeout", "abc"], 125, "--timeout 30s. `carrel create --help`"), (["create", "--delete-after", "1y"], 125, "--delete-after"),
        (["create", "-e", "=s3cret"], 125, "-e LANG=C"), (["create", "-p", "http"], 125, "-p 3000"), (["output", box, "1", "--offset", "-3"], 125, "--offset 4096"),
        (["serve", "--pool", "x"], 125, "--pool 4"), (["serve", "--socket-mode", "777"], 125, "--socket-mode 0660"), (["check", "--stage", "pars"], 125, "Did you mean parse?"),
        (["mcp", "--tool-names", "mastar"], 125, "Did you mean mastra?"), (["key", "rm"], 125, "carrel key rm TOKEN-ID"), (["run", "--timeout", "5x", "true"], 125, "--timeout 30s"),
        (["run", "-e", "X", "true"], 125, "-e X=\"$X\""),
        # typing errors
        (["sotp", box], 125, "did you mean `carrel stop`?"), (["creat"], 125, "did you mean `carrel create`?"), (["rm", box], 125, "did you mean `carrel stop`?"),
        (["help", "docter"], 125, "did you mean `carrel doctor`?"), (["--json", "ls"], 125, "a command comes first"), (["xyzzy"], 125, "`carrel help`"),
        (["create", "--tmeout", "5m"], 125, "Did you mean --timeout?"), (["ls", "--jsn"], 125, "Did you mean --json?"), (["run", "--tiemout=5", "true"], 125, "Did you mean --timeout?"),
        (["create", "--claim"], 126, "carrel serve --pool N"), (["exec", "--timeout", "300ms", box, "--", "sleep", "60"], 124, "after 300 ms (--timeout"),
        (["exec", "--cwd", "/no/such", box, "--", "pwd"], 125, "--cwd"), (["serve", "--pool", "257"], 125, "from 0 to 256"), (["serve", "--state", sh.daemon.state], 125, "process %d" % sh.daemon.child.pid),
        (["version", "extra"], 125, "unexpected argument"), (["help", "run", "exec"], 125, "unexpected argument"),
        (["docs", "errrors"], 125, "Did you mean errors?"), (["doctor", "--jsn"], 125, "Did you mean --json?"),
    )
    for words, status, sentence in table:
        done = sh(*words)
        shown = [w.replace(box, "ID") for w in words]
        check("carrel %s ends with %d and says why" % (" ".join(shown), status), done.returncode == status and sentence.encode() in done.stderr and
              b"Next: " in done.stderr and done.stdout == b"", said(done))
    sh("stop", box)
    for words, sentence in ((("ls",), b"neither --state, CARREL_STATE, XDG_STATE_HOME nor HOME"), (("mcp", "--state", sh.daemon.state), b"another user's")):
        if os.geteuid() != 0:
            report("carrel %s as somebody else" % words[0], skip="only root can be somebody else")
            continue
        done = subprocess.run(["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "env", "-i", "/proc/self/fd/%d" % sh.program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=ALWAYS, check=False, pass_fds=(sh.program,))
        check("carrel %s without a home, as somebody else, says what is missing" % words[0], done.returncode == 125 and sentence in done.stderr and b"daemon_unreachable" in done.stderr, said(done))


def overrides(sh):
    box = sh.create("--disk", "100m", "--pids", "50")
    done = sh("exec", box, "--", "sh", "-c", "df -m /tmp | tail -1")
    check("create --disk: without a manifest the standard one has it", done.stdout.split()[1] == b"100", said(done))
    sh("stop", box)
    with Workspace("---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {memory_mb: 300}\nmounts:\n  - {source: workspace, at: /workspace}\n---\n") as ws:
        os.chmod(ws.folder, 0o755)
        os.makedirs(os.path.join(ws.path, "sub"))
        ws.write("sub/file", "in")
        box = sh.create("-w", ws.path, "-v", "./sub:/data:ro", "--memory", "200m")
        check("create -v: a mount more", sh("exec", box, "--", "cat", "/data/file").stdout == b"in")
        done = sh("info", box, "--instructions")
        check("create --memory: less than the manifest says", b"200 MiB" in done.stdout, said(done))
        sh("stop", box)
        for words, code, text in ((["--memory", "1g"], 126, b"--memory: 1024 is above the 300"), (["--allow", "https://x.y"], 126, b"--allow: "), (["-v", "/srv:/srv"], 126, b"-v: ")):
            done = sh("create", "-w", ws.path, *words)
            check("create %s is refused, and named" % " ".join(words), done.returncode == code and text in done.stderr, said(done))


def manifests(sh):
    head = "schema: sandbox/v1\nprovider: local\nconfig: {}\n"
    with Workspace("---\n" + head + "limits: {timeout_ms: 5000}\nmounts:\n  - {source: workspace, at: /workspace, mode: read-write}\n---\n") as ws:
        os.chmod(ws.folder, 0o755)
        ws.write("seen", "from here")
        box = sh.create("-w", ws.path)
        done = sh("exec", box, "--", "sh", "-c", "cat /workspace/seen && echo made > /workspace/made")
        check("the SANDBOX.md of -w is used, and its mounts", done.stdout == b"from here" and ws.read("made") == b"made\n", said(done))
        sh("stop", box)
        box = sh.create("-f", os.path.join(ws.path, "SANDBOX.md"))
        check("-f alone means its directory", sh("exec", box, "--", "cat", "/workspace/seen").stdout == b"from here")
        sh("stop", box)
        done = sh("create", "-w", ws.path, "--name", "remarks")
        check("no remark on how a manifest is written, as of `carrel run`", done.returncode == 0 and b"standalone_field_missing" not in done.stderr, said(done))
        sh("stop", "remarks")
        ws.write("egress.md", "---\n" + head + "network: {egress: [a.example]}\n---\n")
        box = sh.create("-f", os.path.join(ws.path, "egress.md"))
        done = sh("network", box)
        check("network without --allow changes nothing, and names both forms", done.returncode == 125 and b"--none" in done.stderr, said(done))
        for words, reached in ((["--allow", "b.example", "c.example", "--allow", "d.example"], ["b.example", "c.example", "d.example"]), (["--none"], [])):
            done = sh("network", box, *words)
            told = sh("info", box, "--instructions").stdout.decode()
            check("network %s: that and nothing else is reached, and it says so" % " ".join(words), done.returncode == 0 and
                  sorted(done.stdout.decode().splitlines()[-1].split()) == sorted(["reaches"] + (reached or ["nothing"])) and all(h in told for h in reached) and ("no network" in told) == (not reached), said(done), told)
        sh("stop", box)
        ws.write("bad.md", "---\n" + head + "limits:\n  timeout_ms: never\n---\n")
        done = sh("create", "-f", os.path.join(ws.path, "bad.md"))
        check("what the daemon finds wrong has a line of the caller's file", done.returncode == 126 and b"bad.md:6:" in done.stderr and b"sandbox_schema_invalid" in done.stderr, said(done))
        ws.write("worse.md", "---\nschema: [\n---\n")
        done = sh("create", "-f", os.path.join(ws.path, "worse.md"))
        check("what cannot be read too", done.returncode == 126 and b"worse.md:" in done.stderr, said(done))
    with Workspace(False) as ws:
        os.mkdir(os.path.join(ws.path, "boxes"))
        ws.write("boxes/small.SANDBOX.md", "---\n" + head + "env: {passthrough: []}\nlimits: {timeout_ms: 700}\n---\n")
        ws.write("WORKSPACE.md", "---\nsandbox:\n  ref: ./boxes/small.SANDBOX.md\n---\n")
        os.chmod(ws.folder, 0o755)
        box = sh.create("-w", ws.path)
        check("a reference is followed by who asks", sh("exec", box, "--", "sleep", "60").returncode == 124)
        sh("stop", box)
        ws.write("WORKSPACE.md", "---\nsandbox:\n  ref: ./boxes/none.SANDBOX.md\n---\n")
        done = sh("create", "-w", ws.path)
        check("one that leads nowhere is refused, with its line", done.returncode == 126 and b"sandbox_ref_unresolvable" in done.stderr and b":3:" in done.stderr, said(done))


# -- bytes -------------------------------------------------------------------------------------------------------------


def on_terminal(sh, *words, rows=24, columns=80, keys=b"", until_text=None):
    """Runs `carrel WORDS` on its own terminal; returns all output, and the status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("=HHHH", rows, columns, 0, 0))
    child = sh.start(*words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    got, limit = b"", time.monotonic() + ALWAYS
    while time.monotonic() < limit:
        if select.select([master], [], [], 0.1)[0]:
            try:
                got += os.read(master, 65536)
            except OSError:
                break
        if until_text and until_text[0] in got:
            until_text[1](master, child)
            until_text = until_text[2:] or None
        if keys and b"ready" in got:
            os.write(master, keys)
            keys = b""
    status = child.wait(ALWAYS)
    os.close(master)
    return got, status


def control_bytes(sh, box):
    got, status = on_terminal(sh, "exec", box, "--", "sh", "-c", ESC + "; " + ESC + " >&2; exit 5")
    bad = [b for b in (b"\x1b", b"\x07", b"\x08", b"\x9b", b"\xff") if b in got]
    check("E05: output of exec on a terminal shows control bytes and obeys none", status == 5 and not bad and b"^[[31m" in got and b"\\x9b" in got, status, got, bad)
    got, _ = on_terminal(sh, "exec", "--raw", box, "--", "sh", "-c", ESC)
    check("--raw lets them through", b"\x1b[31m" in got, got)
    number = sh("exec", "-d", box, "--", "sh", "-c", ESC).stdout.decode().strip()
    got, _ = on_terminal(sh, "output", box, number, "--follow")
    check("E05: so does output", b"\x1b" not in got and b"^[[31m" in got, got)
    sh("exec", box, "--", "sh", "-c", ESC + " > esc")
    got, _ = on_terminal(sh, "cp", box + ":esc", "-")
    check("E05: and cp to a terminal", b"\x1b" not in got and b"^[[31m" in got, got)
    got, _ = on_terminal(sh, "exec", box, "--", "no\x1b[31msuch")
    check("E05: and a name in an error", b"\x1b[31msuch" not in got, got)
    check("where no terminal is, bytes are as they are", sh("exec", box, "--", "sh", "-c", "printf '\\033\\377'").stdout == b"\x1b\xff")


def every_byte(sh, box):
    size = 64 << 20
    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "random")
        with open(path, "wb") as f:
            for _ in range(64):
                f.write(os.urandom(1 << 20))
        with open(path, "rb") as f:
            wanted = hashlib.sha256(f.read()).hexdigest()
        with open(path, "rb") as f:
            got = sh("exec", box, "--", "cat", stdin=f).stdout
        check("E03: 64 MiB of random bytes through exec's input and output are the same", len(got) == size and hashlib.sha256(got).hexdigest() == wanted, len(got))
        sh("cp", path, box + ":random")
        check("E03: through cp, seen from inside", sh("exec", box, "--", "sha256sum", "random").stdout.decode().split()[:1] == [wanted])
        sh("cp", box + ":random", path + ".back")
        with open(path + ".back", "rb") as f:
            check("E03: and back", hashlib.sha256(f.read()).hexdigest() == wanted)
        with open(path + ".file", "wb") as f:
            sh("exec", box, "--", "cat", "random", stdout=f)
        with open(path + ".file", "rb") as f:
            check("E03: to a file", hashlib.sha256(f.read()).hexdigest() == wanted)


def interrupt(child):
    """SIGINT until it ends: two of them before it checks count as one, so the number is not fixed.
    """
    while child.poll() is None:
        child.send_signal(signal.SIGINT)
        time.sleep(0.1)


def readers(sh, box):
    child = sh.start("exec", box, "--", "sh", "-c", "exec 2>/dev/null; head -c 300M /dev/zero; echo whole >> readers")
    got = len(os.read(child.stdout.fileno(), 1000))
    time.sleep(0.5)                                                   # it reads nothing for a while: that is the case under test
    with open("/proc/%d/status" % child.pid, encoding="ascii") as f:
        memory = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    check("a reader that stops makes nobody grow", memory < 20000, memory)
    while True:
        piece = os.read(child.stdout.fileno(), 1 << 20)
        if not piece:
            break
        got += len(piece)
    check("and loses nothing", got == 300 << 20 and child.wait(ALWAYS) == 0, got)
    child = sh.start("exec", box, "--", "sh", "-c", "yes gone-%d" % os.getpid())
    os.read(child.stdout.fileno(), 1000)
    child.stdout.close()
    check("a reader that goes ends the command: 141", child.wait(ALWAYS) == 141, child.returncode)
    until("its tree is gone", lambda: tree_is_gone("gone-%d" % os.getpid()))
    with Workspace() as ws, open("/dev/full", "wb") as full:
        for words in (("exec", box, "--", "seq", "30000"), ("exec", box, "--", "echo", "one line"), ("run", "-w", ws.path, "--", "seq", "10000"), ("run", "-w", ws.path, "--", "seq", "1000000")):
            done = sh(*words, stdout=full)
            check("carrel %s says that its output did not arrive" % " ".join(words[:1] + words[-2:]), done.returncode == 125 and b"No space left" in done.stderr and b"Next: " in done.stderr, done)
        done = sh("run", "-w", ws.path, "--", "sh", "-c", "echo lost; exit 7", stdout=full)
        check("a status of the command's own goes before that", done.returncode == 7 and b"No space left" in done.stderr, done)
    child = sh.start("exec", box, "--", "sh", "-c", "trap '' INT; head -c 1M /dev/zero; exec sleep 600")     # otherwise the first one may end it before it has written much: 130
    until("it has begun", lambda: select.select([child.stdout], [], [], 0)[0])
    interrupt(child)
    check("signals are heard while a reader does not read", child.wait(ALWAYS) == 137, child.returncode)
    child.stdout.close()


def closed_streams(sh, box):
    """A stream that the caller closed is not reused as the next descriptor: bytes of the daemon are
    never another's input.
    """
    for closing, words, wanted in (("<&-", "exec %s -- cat", b""), ("<&-", "exec %s -- echo in", b"in\n"), (">&-", "exec %s -- echo out", b""), ("2>&-", "exec %s -- sh -c 'echo e >&2; echo o'", b"o\n"),
                                   ("<&- 2>&-", "exec %s -- echo both", b"both\n"), ("<&- 2>&-", "cp %s:no-such -", b""), ("<&- >&- 2>&-", "ps %s", b"")):
        done = subprocess.run(["sh", "-c", '"$0" %s %s' % (words % box, closing), CARREL], env=sh.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
        status = 127 if words.startswith("cp") else 125 if words.startswith("ps") else 0
        check("carrel %s %s: nothing strange is read or written" % (words % "ID", closing), done.returncode == status and done.stdout == wanted and done.stderr == b"", said(done))


# -- signals, terminals, deaths ------------------------------------------------------------------------------------------


def signals(sh, box):
    child = sh.start("exec", box, "--", "sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done")
    assert os.read(child.stdout.fileno(), 6) == b"ready\n"
    child.send_signal(signal.SIGINT)
    check("the first SIGINT is the command's", child.wait(ALWAYS) == 5 and child.stdout.read() == b"caught\n", child.returncode)
    mark = "stubborn-%d" % os.getpid()
    child = sh.start("exec", box, "--", "sh", "-c", "trap '' INT TERM; echo ready; sh -c 'trap \"\" INT; sleep 600; : %s' & wait; sleep 600" % mark)
    assert os.read(child.stdout.fileno(), 6) == b"ready\n"
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    check("it may ignore it", child.poll() is None)
    interrupt(child)
    check("the second kills its whole tree: 137", child.wait(ALWAYS) == 137, child.returncode)
    until("the tree is gone", lambda: tree_is_gone(mark))
    mark = "orphan-%d" % os.getpid()
    child = sh.start("exec", box, "--", "sh", "-c", "echo ready; sleep 600; : %s" % mark)
    assert os.read(child.stdout.fileno(), 6) == b"ready\n"
    child.kill()
    child.wait()
    until("a client that is killed takes its command along", lambda: tree_is_gone("sh\0-c\0echo ready; sleep 600; : " + mark))
    check("a client that is killed takes its command along", True)
    number = sh("exec", "-d", box, "--", "sh", "-c", "sleep 0.4; echo survived").stdout.decode().strip()
    check("what is in the background survives its client", sh("output", box, number, "--follow").stdout == b"survived\n")
    follower = sh.start("output", box, sh("exec", "-d", box, "--", "sh", "-c", "echo on; sleep 600").stdout.decode().strip(), "--follow")
    assert os.read(follower.stdout.fileno(), 3) == b"on\n"
    follower.send_signal(signal.SIGINT)
    follower.wait(ALWAYS)
    running = [x for x in sh.json("ps", box)[1]["items"] if x["state"] == "running"]
    check("a watcher who leaves ends nothing", len(running) == 1, running)
    sh("kill", box, str(running[0]["exec"]))


def terminal(sh, box):
    def resize(master, child):
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("=HHHH", 40, 132, 0, 0))
        os.kill(child.pid, signal.SIGWINCH)

    script = "test -t 0 && test -t 1 && stty size; trap 'stty size; exit 6' WINCH; echo rea''dy; while :; do sleep 0.05; done"
    got, status = on_terminal(sh, "exec", "-t", box, "--", "sh", "-c", script, rows=33, columns=99, until_text=(b"ready", resize))
    check("-t is a terminal with our size, and follows it", status == 6 and b"33 99" in got and b"40 132" in got, status, got)
    got, status = on_terminal(sh, "exec", "-t", box, "--", "sh", "-c", "trap 'echo interrupted; exit 3' INT; echo rea''dy; while :; do sleep 0.05; done", keys=b"\x03")
    check("Ctrl-C on it is a key, and the terminal inside makes the signal", status == 3 and b"interrupted" in got, status, got)
    got, status = on_terminal(sh, "exec", "-t", box, "--", "sh", "-c", "echo rea''dy; read line; echo \"got $line\"", keys=b"typed\r")
    check("what is typed arrives", status == 0 and b"got typed" in got, got)
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    child = sh.start("exec", "-t", box, "--", "true", stdin=slave, stdout=slave, stderr=slave)
    child.wait(ALWAYS)
    check("our terminal is left as it was", termios.tcgetattr(slave) == before)
    os.close(master)
    os.close(slave)


def keeper_dies(sh, box):
    child = sh.start("exec", box, "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.15; done; exit 4")
    assert os.read(child.stdout.fileno(), 2) == b"1\n"
    keepers = [pid for name, pid in sh.daemon.children().items() if "keeper" in name]
    os.kill(keepers[0], signal.SIGKILL)
    status, rest = child.wait(ALWAYS), child.stdout.read()
    check("an exec does not notice that the keeper was killed", status == 4 and rest.split() == [b"%d" % i for i in range(2, 11)], status, rest)
    done = sh("exec", box, "--", "echo", "again")
    check("the next command meets the new keeper", done.stdout == b"again\n", said(done))


def much(sh, box):
    done = sh("exec", box, "--", "head", "-c", "256M", "/dev/zero")
    check("256 MiB of output come out of a sandbox, each byte", done.returncode == 0 and done.stdout == bytes(256 << 20), done.returncode, len(done.stdout), done.stderr)



# -- libcarrel ---------------------------------------------------------------------------------------------------------


def library(sh):
    build = os.path.join(TREE, "build-test")
    archive = os.path.join(build, "include", "libcarrel.a")
    missing = [what for what, is_there in (("build-test/include/libcarrel.a", os.path.exists(archive)), ("cc", shutil.which("cc")), ("pkg-config", shutil.which("pkg-config"))) if not is_there]
    if missing:
        report("libcarrel's examples compile and run", skip="there is no " + ", ".join(missing))
        return
    with open(os.path.join(TREE, "docs", "LIBCARREL.md"), encoding="utf-8") as f:
        shown = re.search(r"^```c\n(.*?)^```$", f.read(), re.M | re.S).group(1)
    with tempfile.TemporaryDirectory() as top:
        installed = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--tags", "devel", "--destdir", top], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        found = [os.path.join(at, "carrel.pc") for at, _, names in os.walk(top) if "carrel.pc" in names]
        check("header, library and carrel.pc are installed", installed.returncode == 0 and len(found) == 1, installed.stdout[-500:])
        with open(os.path.join(top, "page.c"), "w", encoding="utf-8") as f:
            f.write(shown)
        for name, source, wanted in (("examples/c/hello.c", os.path.join(TREE, "examples/c/hello.c"), "hello, world\n(exited, exit status 0)\n"),
                                     ("docs/LIBCARREL.md", os.path.join(top, "page.c"), "some input\nhello from ")):
            env = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(found[0]), "PKG_CONFIG_SYSROOT_DIR": top}
            line = 'cc -std=c99 -Wall -Wextra -Werror "$0" -o "$1" $(pkg-config --cflags --libs --static carrel)'
            built = subprocess.run(["sh", "-c", line, source, os.path.join(top, "hello")], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            check("%s compiles against what was installed" % name, built.returncode == 0, built.stdout[-800:])
            if built.returncode == 0:
                ran = subprocess.run([os.path.join(top, "hello")], env=sh.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
                check("and says hello from a sandbox", ran.returncode == 0 and ran.stdout.decode().startswith(wanted), ran.stdout)
        names = subprocess.run(["nm", "-g", "--defined-only", archive], stdout=subprocess.PIPE, check=True).stdout.decode()
        other = [line for line in names.splitlines() if re.match(r"\w+ [A-Z] (?!carrel_)", line)]
        check("the library has no global name but carrel_*", not other, other[:5])


def main():
    need_programs()
    threading.excepthook = lambda args: None
    with Daemon() as daemon:
        sh = Shell(daemon)
        each_command(sh)
        mistakes(sh)
        overrides(sh)
        manifests(sh)
        box = sh.create("--name", "two")
        for part in (events, control_bytes, every_byte, readers, closed_streams, signals, terminal, much, keeper_dies):
            part(sh, box)
        library(sh)
    end()


main()
