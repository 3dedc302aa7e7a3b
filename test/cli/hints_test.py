#!/usr/bin/env python3
"""hints_test - mistakes of a new user: each answer names the next step, and what is pasted from it
works. Prints TAP.
"""
import json
import os
import pty
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, Workspace, check, end, manifest, need_programs, report
from daemon_rig import Daemon


def carrel(ws, *words):
    return subprocess.run([CARREL, *words], cwd=ws.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)


def error_of(ws, text):
    ws.write("SANDBOX.md", text)
    return json.loads(carrel(ws, "check", "--json").stdout)["error"]


def manifests():
    with Workspace() as ws:
        error = error_of(ws, manifest(limits="timeout_ms: soon"))
        check("a value of the wrong type is told that field's type, bounds and default", error["hint"].startswith("`timeout_ms` takes an integer from 1 to "), error)
        error = error_of(ws, manifest(carrel="limits: {pids: 0}"))
        check("one out of bounds likewise", error["hint"].startswith("`pids` takes an integer from 1 to ") and "(default " in error["hint"], error)
        for provider in ("node-permission",):
            error = error_of(ws, manifest().replace("provider: local", "provider: " + provider))
            check("%s is refused with the line of the host file that registers it" % provider, "{node-permission: {isolated: true}}. Or write: provider: local" in error["hint"], error)
        ws.write("host.yaml", "providers: {local: {}}\n")
        ws.write("SANDBOX.md", manifest())
        error = json.loads(carrel(ws, "check", "--host", "host.yaml", "--json").stdout)["error"]
        check("a listed provider that states no isolation: the hint has the line to write", "providers: {local: {isolated: true}}" in error["hint"], error)
        ws.write("host.yaml", error["hint"].split("isolates: ")[1].split(". `carrel doctor`")[0] + "\n")
        done = carrel(ws, "check", "--host", "host.yaml")
        check("  and it works", done.returncode == 0, done.stdout)
        ws.write("host.yaml", "providers: {lokal: {}}\n")
        hint = json.loads(carrel(ws, "check", "--host", "host.yaml", "--json").stdout)["error"]["hint"]
        check("  the provider that is missing is not offered as the way out", "{local: {isolated: true}}" in hint and "Or write" not in hint, hint)
        os.unlink(os.path.join(ws.path, "SANDBOX.md"))
        done = carrel(ws, "check", "--host", "host.yaml")
        check("a mistyped provider of a host file is warned of", done.returncode == 0 and "provider_without_program" in done.stdout and "did you mean local?" in done.stdout and
              "OK, 1 warning" in done.stdout, done.stdout)
        ws.write("host.yaml", "providers: {local: {isolated: true}, cloud: {program: [/bin/true]}}\n")
        warned = json.loads(carrel(ws, "check", "--host", "host.yaml", "--json").stdout)
        check("  one with a program is not", warned["ok"] and warned["warnings"] == [], warned)
        ws.write("SANDBOX.md", manifest(carrel="unprotect: [.gitt]"))
        done = carrel(ws, "run", "--", "true")
        check("a mistyped unprotect is warned of", "unprotect_unknown" in done.stderr and "did you mean .git?" in done.stderr, done.stderr)
        for name in (".git", ".git/hooks", "docs", "build/out"):
            ws.write("SANDBOX.md", manifest(carrel="unprotect: ['%s']" % name))
            done = carrel(ws, "run", "--", "true")
            check("unprotect %s is not" % name, done.returncode == 0 and "unprotect_unknown" not in done.stderr, done.stderr)


def commands():
    with Workspace() as ws:
        done = carrel(ws, "run", "--json", "--", "echo one | wc -l")
        hint = json.loads(done.stdout)["error"]["hint"]
        again = carrel(ws, *shlex.split(hint.split("Run: carrel ")[1]))
        check("a line for a shell is told how to be run, and runs", again.returncode == 0 and again.stdout.strip() == "1", hint, again.stderr)
        ws.write("egress.json", '["a.example"]')
        done = carrel(ws, "gate", "--policy", "egress.json", "explain", "b.example")
        check("what carrel gate refuses names the file of its list", "to egress.json" in done.stdout + done.stderr and "SANDBOX.md" not in done.stdout + done.stderr, done.stdout + done.stderr)


def helps():
    """At a terminal of 80 columns no help is broken in the middle of a word."""
    with Workspace() as ws:
        names = [line.split()[0] for line in carrel(ws, "help").stdout.split("\n") if line.startswith("  ") and line[2] != " "]
        wide = [(name, line) for name in ["", *names] for line in carrel(ws, "help", *([name] if name else [])).stdout.split("\n")
                if len(line) > 80 and not line.lstrip().startswith(("Example:", "["))]  # what is in brackets is one word
        check("every help fits 80 columns", len(names) > 40 and not wide, names, wide)


def long_command():
    with Workspace() as ws:
        done = carrel(ws, "run", "--", "echo", *map(str, range(50000)))
        check("a command with too many words is told another way", done.returncode == 125 and "more than 40000 arguments" in done.stderr and "-- xargs COMMAND" in done.stderr, done.stderr)
        done = subprocess.run([CARREL, "run", "--", "xargs", "echo"], cwd=ws.path, input=" ".join(map(str, range(50000))), capture_output=True, text=True, timeout=ALWAYS, check=False)
        check("  and it works", done.returncode == 0 and done.stdout.split() == [str(i) for i in range(50000)], done.stderr)


def below():
    """In a directory of a project, the project's own manifest is named."""
    with Workspace() as ws:
        ws.write("SANDBOX.md", manifest())
        os.makedirs(os.path.join(ws.path, "src", "deep"))
        done = subprocess.run([CARREL, "run", "--", "ls"], cwd=os.path.join(ws.path, "src", "deep"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
        check("below a SANDBOX.md the hint names its directory", done.returncode == 126 and "../.. has a SANDBOX.md: add -w ../.. to use it." in done.stderr, done.stderr)
        done = subprocess.run([CARREL, "run", "-w", "../..", "--", "ls"], cwd=os.path.join(ws.path, "src", "deep"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
        check("  and it works", done.returncode == 0 and "SANDBOX.md" in done.stdout, done.stderr)


def mounts_nothing(d):
    """A sandbox without the files of this directory says so; one with them, and scripts, do not."""
    words = ("create", "--state", d.state, "--name", "m")
    with Workspace() as ws:
        os.mkdir(os.path.join(ws.path, "bare"))
        ws.write("SANDBOX.md", manifest())
        for where, more, is_told in (("bare", (), True), ("bare", ("-q",), False), ("bare", ("--json",), False), ("bare", ("-w", ".."), False), (".", (), False), (".", ("-w", "bare"), True)):
            done = subprocess.run([CARREL, *words, *more], cwd=os.path.join(ws.path, where), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
            check("create in %s %s: told that nothing is mounted: %s" % (where, " ".join(more), is_told), done.returncode == 0 and ("it mounts nothing, because there is no SANDBOX.md %s writes one)" % ("in bare (carrel init bare" if "bare" in more else "here (carrel init") in done.stderr) == is_told, done.stderr)
            carrel(ws, "stop", "--state", d.state, "m")


def at_terminal(ws, *words):
    """Exit status and screen of a command whose standard streams are a terminal; types `exit 5`."""
    master, slave = pty.openpty()
    with subprocess.Popen([CARREL, *words], cwd=ws.path, stdin=slave, stdout=slave, stderr=slave) as child:
        os.close(slave)
        os.write(master, b"exit 5\n")
        screen = b""
        try:
            while True:
                screen += os.read(master, 4096)
        except OSError:  # the last writer has closed it
            os.close(master)
        return child.wait(ALWAYS), screen.decode()


def prompts(d):
    """A shell without -t shows no prompt: the user is told before typing into the void."""
    with Workspace() as ws:
        state = ("--state", d.state)
        carrel(ws, "create", *state, "--name", "t", "--start")
        got = at_terminal(ws, "run", "--", "bash")
        check("run of a shell alone at a terminal is told -t", got[0] == 5 and "carrel: bash gets no terminal" in got[1] and "carrel run -t -- bash\r\n" in got[1], got)
        got = at_terminal(ws, "exec", *state, "t", "--", "/bin/sh")
        check("  so is exec", got[0] == 5 and "carrel exec -t t -- /bin/sh\r\n" in got[1], got)
        for words in (("run", "--", "sh", "-c", "read x; $x"), ("exec", *state, "t", "--", "sh", "-c", "read x; $x")):
            got = at_terminal(ws, *words)
            check("  not a shell with a script: %s" % words[0], got[0] == 5 and "gets no terminal" not in got[1], got)
        done = subprocess.run([CARREL, "run", "--", "sh"], cwd=ws.path, input="exit 5", capture_output=True, text=True, timeout=ALWAYS, check=False)
        check("  nor one that reads a pipe", done.returncode == 5 and not done.stderr, done)


def replaced(d):
    """The directory of a mount is another one since the sandbox started."""
    with Workspace() as ws:
        state = ("--state", d.state)
        project = os.path.join(ws.path, "project")
        for _ in range(2):
            os.mkdir(project)
            with open(os.path.join(project, "SANDBOX.md"), "w", encoding="utf-8") as f:
                f.write(manifest())
            carrel(ws, "create", *state, "--name", "r", "-w", "project", "--start")
            done = carrel(ws, "exec", *state, "r", "--", "true")
            os.remove(os.path.join(project, "SANDBOX.md"))
            os.rmdir(project)
            if done.returncode == 0:
                os.mkdir(project)
                lost = carrel(ws, "exec", *state, "r", "--", "true")
                os.rmdir(project)
                check("a workspace that was replaced is named as the cause", lost.returncode == 125 and "replaced by a new one, stop the sandbox and create it again" in lost.stderr, lost.stderr)
            carrel(ws, "stop", *state, "r")
        check("  and stopping and creating it again helps", done.returncode == 0, done.stderr)


def recorded(d):
    """Each line of `carrel audit tail` says what it is about."""
    with Workspace() as ws:
        state = ("--state", d.state)
        ws.write("SANDBOX.md", manifest(carrel="approve: [network.set], egress: {}"))
        carrel(ws, "create", *state, "--name", "log", "--start")
        with subprocess.Popen([CARREL, "network", *state, "log", "--none"], cwd=ws.path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as asking:
            number = asking.stderr.readline().split(";")[0].split()[-1]
            carrel(ws, "approve", *state, number)
            asking.communicate(timeout=ALWAYS)
        carrel(ws, "exec", *state, "log", "--", "true")
        carrel(ws, "stop", *state, "log")
        lines = carrel(ws, "audit", "tail", *state, "-n", "20").stdout.split("\n")[:-1]
        check("an approval is named with its operation and answer", any("approval.requested" in line and line.endswith("network " + number) for line in lines)
              and any("approval.answered" in line and line.endswith("network %s: approved" % number) for line in lines), lines)
        check("no line is empty", lines and all(line.strip() for line in lines), lines)


# Options of Docker that Carrel does not have, and what the hint must name. "run" and "exec" stand
# for the two parsers of options.
DOCKER = [
    ("run", "--image=debian", "provider: container"), ("run", "--network=host", "--allow HOST"), ("run", "--rm", "always removes its sandbox"),
    ("run", "--cpus=1", "{cpu_millicores: 1000}"), ("run", "--env-file=x", "{passthrough: [NAME]}"), ("run", "-it", "-t shows a terminal"),
    ("run", "--privileged", "No option gives"), ("run", "--user=0", "ordinary user"), ("run", "--entrypoint=sh", "-- COMMAND"),
    ("run", "--volume=/a:/b", "-v DIR:PATH"), ("run", "--workdir=/", "--cwd DIR"), ("run", "-d", "exec -d demo"), ("run", "-p", "create --name demo -p 3000"),
    ("run", "--name", "create --name demo"), ("create", "--image", "--runtime NAME"), ("create", "--network=host", "--allow HOST"), ("create", "--rm", "carrel stop NAME"),
    ("exec", "--memory=1g", "create --memory"), ("exec", "-v", "create -v DIR:PATH"), ("exec", "-it", "-t shows a terminal"), ("exec", "-u", "ordinary user"),
    ("run", "--tymeout", "Did you mean --timeout?"), ("exec", "--frobnicate", "`carrel exec --help` shows every option."),
]


def options():
    with Workspace() as ws:
        for command, option, wanted in DOCKER:
            done = carrel(ws, command, option, "--", "true")
            name = option.split("=")[0]
            check("%s %s is told what to write instead" % (command, name), done.returncode == 125 and "unknown option \"" + name in done.stderr and wanted in done.stderr, done.stderr)
        for metadata in ("cpu_millicores: 1000", "open_files: 65536"):
            ws.write("SANDBOX.md", manifest(carrel="limits: {%s}" % metadata))
            done = carrel(ws, "check")
            check("%s is what a manifest takes" % metadata.split(":")[0], done.returncode == 0, done.stderr)
        done = carrel(ws, "serve", "--state", os.path.join(ws.path, "none"), "--listen", "7070")
        check("--listen of a port alone is told an address with it", done.returncode == 125 and "--listen 127.0.0.1:7070" in done.stderr, done.stderr)


def names(d):
    with Workspace() as ws:
        for name, good in (("my box", "my-box"), ("Demo", "demo"), ("--", "my-box"), ("_a", "a"), ("0123456789abcdef", "my-box")):
            done = carrel(ws, "create", "--state", d.state, "--json", "--name=" + name)
            hint = json.loads(done.stdout)["error"]["hint"] if done.returncode else ""
            again = carrel(ws, "create", "--state", d.state, "-q", "--name", hint.split("For example: ")[-1])
            check("a name like %s is told one that works" % name[:20], hint.endswith("For example: " + good) and again.returncode == 0, done.stdout, again.stderr)
            carrel(ws, "stop", "--state", d.state, good)


def execs(d):
    with Workspace() as ws:
        state = ("--state", d.state)
        carrel(ws, "create", *state, "--name", "w", "--start")
        for command in ("kill", "output"):
            done = carrel(ws, command, *state, "w", "99")
            check("%s of an unknown exec is told by the name that was given" % command, "there is no exec 99 in the sandbox w" in done.stderr, done.stderr)
        for command in ("exec sleep 1000", "trap '' TERM; while :; do echo x; done"):
            number = carrel(ws, "exec", *state, "-d", "w", "--", "sh", "-c", command).stdout.strip()
            killed = carrel(ws, "kill", *state, "w", number)
            entry = [x for x in json.loads(carrel(ws, "ps", *state, "--json", "w").stdout)["items"] if x["exec"] == int(number)]
            check("kill waits for the end: %s" % command, killed.stdout.startswith("killed") and entry[0].get("outcome") == "killed", killed, entry)
            done = carrel(ws, "kill", *state, "w", number)
            check("  and a second one says that it had ended", done.stdout == "it had ended already\n", done)


def ports(d):
    """A port that cannot be listened on is reported where it is declared; the proposed line omits
    it. Without a wall every port is possible.
    """
    walled, routed = manifest(carrel="egress: {}"), manifest(carrel="egress: {routed: true}")
    with Workspace() as ws:
        state = ("--state", d.state)
        for port, text, is_warned in (("80", None, False), ("80", walled, True), ("1023", walled, True), ("1024", walled, False), ("8080", walled, False), ("80", routed, False)):
            if text:
                ws.write("SANDBOX.md", text)
            done = carrel(ws, "create", *state, "--name", "p", "-p", port)
            if text == routed and done.returncode != 0:
                report("create -p 80 of a routed sandbox", skip="this machine makes none")
                continue
            warned = "no server inside can listen on port %s" % port in done.stderr and "-p %d" % (int(port) + 8000) in done.stderr
            check("create -p %s%s warns: %s" % (port, {None: "", walled: " behind a wall", routed: " of a routed sandbox"}[text], is_warned), done.returncode == 0 and warned == is_warned, done.stderr)
            carrel(ws, "stop", *state, "p")
        ws.write("SANDBOX.md", walled)
        for command in (("create", *state, "--name", "p", "-p", "80"), ("info", *state, "p")):
            with open(os.path.join(ws.path, "both"), "w+", encoding="utf-8") as both:
                subprocess.run([CARREL, *command], cwd=ws.path, stdin=subprocess.DEVNULL, stdout=both, stderr=both, timeout=ALWAYS, check=False)
                both.seek(0)
                lines = both.read().split("\n")
            check("%s and its warnings in one file: the table is whole" % command[0], [line.split()[0] for line in lines[:2]] == ["id", "name"] and any("port 80" in line for line in lines[2:]), lines)
        carrel(ws, "stop", *state, "p")


def tokens():
    with Daemon("--listen", "127.0.0.1:0") as d:
        with open(os.path.join(d.state, "token"), encoding="ascii") as f:
            token = f.read().strip()
        answer = d.call("POST", "/v1/tokens", {}, headers={"Authorization": "Bearer " + token})
        check("token.create with the file's token names carrel key new", answer.status == 403 and "`carrel key new`" in answer.json["error"]["hint"], answer)


def disk():
    """What disk_mb does not limit is known to the author of the manifest: a note in JSON, not a
    warning of every run.
    """
    with Workspace() as ws:
        for words in ((), ("--disk", "64m")):
            ws.write("SANDBOX.md", manifest() if words else manifest(carrel="limits: {disk_mb: 64}"))
            done = carrel(ws, "run", *words, "--", "true")
            check("a written disk_mb warns of nothing %s" % " ".join(words), done.returncode == 0 and "disk_mb" not in done.stderr, done.stderr)
            done = carrel(ws, "run", *words, "--json", "--", "true")
            check("  and is a note in JSON", "mount_uncapped" in done.stdout, done.stdout)


def ended(d):
    """The first words of an error do not depend on the interface. A number of seconds may differ.
    """
    with Workspace() as ws:
        state = ("--state", d.state)
        carrel(ws, "create", *state, "--name", "short", "--timeout", "100ms", "--start")
        while '"short"' in carrel(ws, "ls", *state, "--json").stdout:
            pass
        for words in (("exec", *state, "short", "--", "true"), ("info", *state, "short"), ("ps", *state, "short")):
            done = carrel(ws, *words)
            check("%s of a sandbox whose time is over says so" % words[0], "the sandbox short ended " in done.stderr and " s ago: its time was up" in done.stderr, done.stderr)
        carrel(ws, "create", *state, "--name", "gone")
        carrel(ws, "stop", *state, "gone")
        done = carrel(ws, "exec", *state, "gone", "--", "true")
        check("of one that was stopped, that", "it was stopped" in done.stderr, done.stderr)
        done = carrel(ws, "exec", *state, "never", "--", "true")
        check("of one that never was, nothing", "there is no sandbox never" in done.stderr, done.stderr)


def daemon():
    with Daemon() as d, Workspace() as ws:
        names(d)
        execs(d)
        ports(d)
        ended(d)
        mounts_nothing(d)
        prompts(d)
        replaced(d)
        recorded(d)
        state = ("--state", d.state)
        carrel(ws, "create", *state, "--name", "a", "--start")
        done = carrel(ws, "extend", *state, "a", "10m")
        check("extend of a sandbox without an end says that nothing was added", "has no end, so nothing was added" in done.stderr, done.stderr)
        carrel(ws, "create", *state, "--name", "b", "--timeout", "1h", "--start")
        done = carrel(ws, "extend", *state, "b", "10m")
        check("of one with an end it does not", done.returncode == 0 and "nothing" not in done.stderr, done.stderr)
        os.mkdir(os.path.join(ws.path, "tree"))
        ws.write("tree/leaf", "x")
        done = carrel(ws, "cp", *state, "-r", "tree", "a:/tmp/tree")
        got = carrel(ws, "exec", *state, "a", "--", "cat", "/tmp/tree/leaf")
        check("cp -r is what it is elsewhere", done.returncode == 0 and got.stdout == "x", done.stderr, got.stderr)


def scripts():
    """Under rules: a file of the workspace, with the line of the hint and without it."""
    with Workspace() as ws:
        ws.write("run.sh", "#!/bin/sh\necho ran\n", 0o755)
        for argv in (["sh", "run.sh"], ["./run.sh"]):
            ws.write("SANDBOX.md", manifest(carrel="commands: {allow: [sh]}"))
            done = carrel(ws, "run", "--json", "--", *argv)
            error = json.loads(done.stdout)["error"]
            check("%s under rules is denied, with the line that permits it" % " ".join(argv), error["path"] == "metadata/carrel/commands/scripts" and "`scripts: allow`" in error["hint"], done.stdout)
            ws.write("SANDBOX.md", manifest(carrel="commands: {allow: [sh], scripts: allow}"))
            done = carrel(ws, "run", "--", *argv)
            check("  and runs with it", done.returncode == 0 and done.stdout == "ran\n", done)
        done = carrel(ws, "run", "--", "sh", "-c", "echo echo ran | sh")
        check("  what a shell reads from its input does not", done.returncode == 126 and "metadata.carrel.commands" in done.stderr, done)


need_programs()
manifests()
scripts()
commands()
options()
helps()
long_command()
below()
disk()
tokens()
daemon()
end()
