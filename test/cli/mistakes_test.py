#!/usr/bin/env python3
"""mistakes_test - mistakes of a new user (mistakes.txt): each answer names the place, the cause and
the next step. Also mistakes that need more than a command line. Prints TAP.
"""
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, Workspace, check, end, manifest, need_programs, report
from daemon_rig import Daemon
import python_rig  # noqa: F401  the package of sdk/python from its folder
from carrel import Carrel

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mistakes.txt")
HEAD = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n%s\n---\n"
DIALECT = re.compile(r"\b(nobody|is told|stands (here|where|in|at)|is none of|mends?|no such thing)\b")


def rows():
    """section -> its rows: (status, command line, words)"""
    found, section = {}, None
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            if line.startswith("["):
                section = found.setdefault(line[1:line.index("]")], [])
            elif line.strip() and not line.startswith("#"):
                status, typed, *words = line.rstrip("\n").split(" ::")
                section.append((int(status), typed[1:], [w.strip() for w in words]))
    return found


def carrel(ws, *words, **more):
    return subprocess.run([CARREL, *words], cwd=ws.path, stdin=subprocess.DEVNULL, capture_output=True, timeout=ALWAYS, check=False, **more)


def judge(name, done, status, words):
    """The answer has the status, the words and a next step, and no phrase of the old language."""
    said = (done.stdout + done.stderr).decode(errors="replace")
    wrong = ["ended with %d" % done.returncode] if done.returncode != status else []
    wrong += ["does not say %r" % w for w in words if w not in said]
    wrong += ["has no next step"] if "Next: " not in said else []
    wrong += ["says %r" % DIALECT.search(said).group(0)] if DIALECT.search(said) else []
    report(name, wrong + [said] if wrong else [])


def unescape(text):
    return text.replace("\\n", "\n").replace("\\t", "\t")


def tables():
    found = rows()
    check("the table has a hundred mistakes and more", sum(map(len, found.values())) > 150, {k: len(v) for k, v in found.items()})
    with Workspace() as ws:
        env = {k: v for k, v in os.environ.items() if k not in ("XDG_CONFIG_HOME", "CARREL_STATE")}
        env["HOME"] = ws.folder
        for status, typed, words in found["run"]:
            judge("carrel " + typed, carrel(ws, *shlex.split(typed), env=env), status, words)
        for section, frame in (("manifest", HEAD), ("file", "%s")):
            for status, typed, words in found[section]:
                ws.write("SANDBOX.md", frame % unescape(typed))
                judge("SANDBOX.md: " + typed, carrel(ws, "check"), status, words)
        ws.write("SANDBOX.md", manifest())
        with Daemon() as d:
            env["CARREL_STATE"] = d.state
            carrel(ws, "create", "--name", "demo", env=env)
            for status, typed, words in found["daemon"]:
                judge("carrel " + typed, carrel(ws, *shlex.split(typed), env=env), status, words)


def pasted():
    """The value that a hint suggests is accepted."""
    with Workspace() as ws:
        for wrong in ("limits: {timeout_ms: 10m}", "limits: {memory_mb: 2GB}", "limits: {timeout_ms: '90'}", "metadata: {carrel: {limits: {pids: '100'}}}", "read_only: no",
                      "network: {egress: a.example}", "id: demo", "version: 1.0", "mounts: [{source: workspace, at: /w, mode: ro}]", "timeout_ms: 500", "cwd: src"):
            ws.write("SANDBOX.md", HEAD % wrong)
            hint = json.loads(carrel(ws, "check", "--json").stdout)["error"]["hint"]
            written = re.search(r"`([a-z_]+: [^`]*)`", hint)
            right = re.sub(r"%s: ('[^']*'|[^,}]*)" % written.group(1).split(":")[0], lambda _, w=written: w.group(1), wrong) if written else hint.split("`: ")[-1]
            text = HEAD % right if not right.startswith("config") else (HEAD % right).replace("config: {}\n", "")
            ws.write("SANDBOX.md", text)
            done = carrel(ws, "check")
            check("%s: what the hint says to write is accepted" % wrong, done.returncode == 0, hint, right, done.stdout.decode(), done.stderr.decode())


def machine():
    """The machine is the cause: a limit, a full disk, a closed output."""
    with Workspace() as ws:
        os.chmod(ws.folder, 0o755)
        for kind in ("user", "mnt", "pid", "net"):
            done = subprocess.run(["unshare", "-Ur", "sh", "-c", 'echo 0 >/proc/sys/user/max_%s_namespaces && exec "$0" run -- true' % kind, CARREL], cwd=ws.path, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=ALWAYS, check=False)
            judge("this user may have no %s namespace" % kind, done, 126, ["carrel doctor"] if kind == "user" else ["as many namespaces as this machine permits", "user.max_%s_namespaces" % kind])
        for line, status, words in (('ulimit -n 8; exec "$0" run -- true', 125, ["ulimit -n 1024"]),
                                    ('exec "$0" run -- echo hi >/dev/full', 125, ["No space left on device", "free some disk space"]),
                                    ('exec "$0" check >/dev/full', 125, ["standard output could not be written"]),
                                    ('chmod 0 SANDBOX.md; exec "$0" check', None, ["cannot be read"])):
            if status is None and ROOT:
                continue
            judge(line, subprocess.run(["sh", "-c", line, CARREL], cwd=ws.path, stdin=subprocess.DEVNULL, capture_output=True, timeout=ALWAYS, check=False), status or 125, words)
        os.chmod(os.path.join(ws.path, "SANDBOX.md"), 0o600)
        ws.write("SANDBOX.md", manifest(), 0o644)
        done = subprocess.run(["sh", "-c", '"$0" run -- yes | head -1', CARREL], cwd=ws.path, stdin=subprocess.DEVNULL, capture_output=True, timeout=ALWAYS, check=False)
        check("a reader that goes ends the command, without a word", (done.stdout, done.stderr) == (b"y\n", b""), done)
        judge("an argument list that is too long", carrel(ws, "run", "--", "true", *["x" * 1000] * 1000), 125, ["longer than 204800 bytes"])
        judge("too many arguments", carrel(ws, "run", "--", "true", *[""] * 50000), 125, ["more than 40000 arguments"])
        done = carrel(ws, "run", "--", "echo", b"\xff\xfe")
        check("an argument that is not UTF-8 arrives as it is", done.stdout == b"\xff\xfe\n", done)
        judge("a command that is not UTF-8", carrel(ws, "run", "--", b"\xff\xfe"), 127, ["\\xff\\xfe"])
        judge("a workspace that is not UTF-8", carrel(ws, "run", "-w", b"/\xff", "--", "true"), 125, ["\\xff", "-w DIR"])
        for number, status in ((signal.SIGSEGV, 139), (signal.SIGKILL, 137), (signal.SIGTERM, 143)):
            check("a command that signal %d ends has status %d" % (number, status), carrel(ws, "run", "--", "sh", "-c", "kill -%d $$" % number).returncode == status)
        ws.write("SANDBOX.md", manifest(limits="timeout_ms: 300"))
        judge("more time than the manifest has", carrel(ws, "run", "--timeout", "9s", "--", "true"), 126, ["9 s is above the 300 ms", "limits.timeout_ms"])
        ws.write("SANDBOX.md", manifest(limits="memory_mb: 300"))
        judge("more memory than the manifest has", carrel(ws, "run", "--memory", "1g", "--", "true"), 126, ["--memory: 1024 is above the 300", "raise memory_mb in SANDBOX.md"])
        ws.write("SANDBOX.md", manifest(more="read_only: true\n"))
        judge("a command where none may run", carrel(ws, "run", "--", "true"), 126, ["read_only: true", "Set read_only: false"])


def daemons():
    """No daemon, a socket without one, another user's daemon, a second one, a wrong token."""
    with Workspace() as ws:
        state = os.path.join(ws.folder, "state")
        judge("no daemon runs", carrel(ws, "ls", "--state", state), 125, ["no daemon answers in " + state, "carrel serve --state " + state])
        os.mkdir(state, 0o700)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(os.path.join(state, "keeper.sock"))
        judge("a socket is left and nothing listens", carrel(ws, "ls", "--state", state), 125, ["no daemon answers", "carrel serve --state"])
        judge("the state directory is a file", carrel(ws, "serve", "--state", os.path.join(ws.path, "SANDBOX.md")), 125, ["SANDBOX.md is no directory", "--state DIR"])
        with Daemon("--listen", "127.0.0.1:0") as d:
            judge("a second daemon", carrel(ws, "serve", "--state", d.state), 125, ["another daemon serves", "process %d" % d.child.pid, "--state DIR"])
            answer = d.call("GET", "/v1/sandboxes", headers={"Authorization": "Bearer wrong"})
            check("a wrong token is refused with the place of the right one", answer.status in (200, 401) and (answer.status == 200 or "state directory" in answer.json["error"]["hint"]), answer)
            if ROOT and shutil.which("setpriv"):
                with open(CARREL, "rb") as program:
                    done = subprocess.run(["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "/proc/self/fd/%d" % program.fileno(), "ls", "--state", d.state], cwd="/",
                                          stdin=subprocess.DEVNULL, capture_output=True, timeout=ALWAYS, check=False, pass_fds=(program.fileno(),))
                judge("the daemon of another user", done, 125, ["Permission denied", "another user's", "--state DIR"])
            carrel(ws, "create", "--state", d.state, "--name", "gone")
            carrel(ws, "stop", "--state", d.state, "gone")
            judge("a sandbox that was stopped", carrel(ws, "exec", "--state", d.state, "gone", "--", "true"), 126, ["the sandbox gone ended", "it was stopped", "carrel ls"])


def fronts():
    """The same words over HTTP and in Python."""
    with Daemon() as d:
        box = d.create()
        for body, status, words in (({"argv": ["gti"]}, 404, ["gti: there is no such command", "Check the spelling of gti."]), ({"argv": ["debian:12"]}, 404, ["provider: container"]),
                                    ({"argv": ["ls | wc"]}, 404, ["sh -c 'ls | wc'"]), ({"argv": ["/etc"]}, 422, ["/etc: this is a directory"]), ({"argv": "ls"}, 400, ["argv must be"])):
            answer = d.call("POST", "/v1/sandboxes/%s/execs" % box, body)
            check("POST execs %s" % body, answer.status == status and all(w in json.loads(answer.body)["error"]["message"] + answer.json["error"]["hint"] for w in words), answer)
        answer = d.call("POST", "/v1/sandboxes", {"manifest": "x"})
        check("a manifest that is a word", answer.status == 422 and "must be a map, not a string" in answer.json["error"]["message"], answer)
        client = Carrel(state=d.state)
        for what, kind, call, words in (("create(timeout='5m')", TypeError, lambda: client.create(timeout="5m"), "a number of seconds"),
                                        ("run(['gti'])", FileNotFoundError, lambda: client.get(box).run(["gti"]), "gti: there is no such command"),
                                        ("another state directory", OSError, lambda: Carrel(state="/no/such").list(), "carrel serve --state /no/such")):
            try:
                call()
                report("Python: " + what, ["nothing was raised"])
            except kind as e:
                check("Python: " + what, words in str(e), str(e))


need_programs()
tables()
pasted()
machine()
daemons()
fronts()
end()
