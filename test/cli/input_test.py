#!/usr/bin/env python3
"""Bad input to `carrel run`: each gives a clear typed error, a status other than 0, and leaves
nothing behind. Prints TAP.

And the worst input, SIGKILL at any moment: the next start collects what is left, and nothing else.
"""
import json
import os
import random
import signal
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, DEEP, ROOT, Inventory, Workspace, check, descendants, end, manifest, need_programs, report, runtime_dir

TRIES = 100 if DEEP else 30


def typed(name, status, code, argv, folder=None, is_in=(), prefix=(), **more):
    """argv must be refused with that code and status, as JSON and as text, and must leave the host
    unchanged.
    """
    inventory = Inventory(folder)
    at = argv.index("run") + 1
    wrong = []
    for is_json in (True, False):
        done = subprocess.run([*prefix, *argv[:at], *(["--json"] if is_json else []), *argv[at:]], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=ALWAYS, check=False, **more)
        text = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
        try:
            got = json.loads(done.stdout)["error"]["code"] if is_json else code if code in text else text
        except (ValueError, KeyError):
            got = text
        if done.returncode != status or got != code:
            wrong.append("%s: status %d, %s: %s" % ("json" if is_json else "text", done.returncode, got[:300], text[:600]))
        wrong += ["%r is not said: %s" % (word, text[:600]) for word in is_in if word not in text]
        if not is_json and "Next:" not in text:
            wrong.append("no hint: " + text[:300])
    report("%s: %s, %d" % (name, code, status), wrong + inventory.left())


def files():
    with Workspace(False) as ws:
        bad = {"empty": b"", "brackets": b"---\n" + b"[" * 300000, "small-brackets": b"---\n" + b"[" * 100000 + b"\n---\n", "bytes": b"---\nprovider: \xff\xfe\n---\n",
               "nul": b"---\nprovider: lo\0cal\n---\n", "unknown": manifest(more="limts: {}\n").encode(), "dup": manifest(more="limits: {}\n").encode()}
        for name, content in bad.items():
            ws.write(name, content)
        os.mkfifo(os.path.join(ws.path, "fifo"))
        os.symlink("loop", os.path.join(ws.path, "loop"))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(ws.path, "socket"))
        rows = [("empty", 126, "sandbox_manifest_syntax"), ("brackets", 126, "sandbox_manifest_syntax"), ("small-brackets", 126, "sandbox_manifest_syntax"),
                ("bytes", 126, "sandbox_manifest_syntax"), ("nul", 126, "sandbox_manifest_syntax"), ("unknown", 126, "sandbox_schema_invalid"),
                ("dup", 126, "sandbox_manifest_syntax"), ("fifo", 125, "file_unreadable"), ("socket", 125, "file_unreadable"), (".", 125, "file_unreadable"),
                ("loop", 125, "file_unreadable"), ("nowhere", 125, "file_unreadable"), ("/dev/zero", 125, "file_unreadable")]
        for name, status, code in rows:
            typed("the file %s" % name, status, code, [CARREL, "run", "-f", os.path.join(ws.path, name), "-w", ws.path, "--", "true"], ws.folder)
        listener.close()
        typed("a workspace that does not exist", 125, "workspace_not_found", [CARREL, "run", "-w", os.path.join(ws.folder, "no"), "--", "true"], ws.folder)
        typed("a workspace that is a file", 125, "workspace_not_found", [CARREL, "run", "-w", os.path.join(ws.path, "empty"), "--", "true"], ws.folder)
        typed("no SANDBOX.md", 126, "sandbox_not_configured", [CARREL, "run", "-w", ws.path, "--", "true"], ws.folder)
    for name, content in (("SANDBOX.md is a FIFO", None), ("SANDBOX.md is a directory", 1)):
        with Workspace(False) as ws:
            (os.mkfifo if content is None else os.mkdir)(os.path.join(ws.path, "SANDBOX.md"))
            typed(name, 125, "file_unreadable", [CARREL, "run", "-w", ws.path, "--", "true"], ws.folder)


def manifests():
    rows = [("egress that no wall enforces", "network: {egress: ['a.example.com:53']}\n", None, "sandbox_egress_unenforceable"),
            ("read_only", "read_only: true\n", None, "sandbox_read_only"),
            ("an unknown provider", None, manifest().replace("provider: local", "provider: moon"), "sandbox_provider_unknown"),
            ("storage of another kind", "", manifest(mounts="mounts: [{source: {inline: {provider: self-bucket, config: {bucket: b}}}, at: /b}]\n"), "sandbox_mount_unresolvable"),
            ("storage that is not there", "", manifest(mounts="mounts: [{source: {ref: '@no/where'}, at: /b}]\n"), "sandbox_mount_unresolvable"),
            ("a secret nobody holds", "env: {auth: {ref: ./SECRETS.md, state: {env: [FOO]}}}\n", None, "sandbox_auth_unresolvable"),
            ("passthrough of a loader variable", "env: {passthrough: [LD_PRELOAD]}\n", None, "sandbox_passthrough_denied"),
            ("a mount over /proc", "", manifest(mounts="mounts: [{source: workspace, at: /proc}]\n"), "sandbox_mount_invalid")]
    for name, more, text, code in rows:
        with Workspace(text or manifest(more=more)) as ws:
            typed(name, 126, code, [CARREL, "run", "-w", ws.path, "--", "true"], ws.folder)


def commands():
    with Workspace() as ws:
        ws.write("plain", "echo hello\n")
        ws.write("bad-interpreter", "#!/no/such/interpreter\n", 0o755)
        ws.write("windows", "#!/bin/sh\r\necho hi\r\n", 0o755)
        with open("/bin/true", "rb") as f:
            elf = f.read()
        ws.write("foreign", elf[:18] + (0x7fff).to_bytes(2, sys.byteorder) + elf[20:], 0o755)       # e_machine: an unknown machine
        ws.write("no-first-line", "echo as a script; exit 3\n", 0o755)
        rows = [("a command that does not exist", ["no-such-command"], 127, "command_not_found"),
                ("a path that does not exist", ["/no/such/command"], 127, "command_not_found"),
                ("a relative path that does not exist", ["./no-such"], 127, "command_not_found"),
                ("a command that is not executable", ["/workspace/plain"], 126, "command_not_executable"),
                ("a command that is a directory", ["/workspace"], 126, "command_not_executable"),
                ("no command", [], 125, "invalid_argument"), ("an empty command", [""], 125, "invalid_argument"),
                ("a component too long", ["/" + "x" * 300], 126, "command_not_executable")]
        for name, argv, status, code in rows:
            typed(name, status, code, ws.argv(argv), ws.folder)
        done = ws.run(["/workspace/no-first-line"])
        check("a file without an interpreter line is a script, as everywhere", (done.returncode, done.stdout) == (3, b"as a script\n"), done)
        for name, reason, hint in (("bad-interpreter", "interpreter", "first line"), ("windows", "interpreter", "sed -i 's/\\r$//' ./windows"),
                                   ("foreign", "format", "Build it for this machine"), (".", "directory", "cwd"), ("plain", "not_executable", "chmod +x ./plain")):
            status, answer = ws.json(["./" + name])
            check("why ./%s cannot be executed, and what to do" % name, status == 126 and answer["error"]["code"] == "command_not_executable"
                  and answer["error"]["reason"] == reason and hint in answer["error"]["hint"], status, answer)
        for name, hint in (("pyhton3", "Did you mean python3?"), ("cd", "word of the shell"), ("debian:12", "provider: container"), ("A=1", "-e A=1"), ("sudo", "Leave out sudo")):
            status, answer = ws.json([name])
            check("%s is not found, and is known" % name, status == 127 and hint in answer["error"]["hint"], status, answer)
        status, answer = ws.json(["true"], "-e", "PATH=/nowhere")
        check("a program that PATH inside does not lead to is named with its path", status == 127 and "carrel run -- " in answer["error"]["hint"] and "/bin/true" in answer["error"]["hint"], answer)
        with tempfile.TemporaryDirectory() as tools:
            os.chmod(tools, 0o755)
            os.mkdir(os.path.join(tools, "bin"))
            program = os.path.join(tools, "bin", "only-here")
            with open(program, "w", encoding="ascii") as out:
                out.write("#!/bin/sh\necho brought in\n")
            os.chmod(program, 0o755)
            typed("a command that only the host has", 127, "command_not_found", ws.argv(["only-here"]), ws.folder, [program, "metadata: {carrel: {tools: [", tools],
                  env={**os.environ, "PATH": os.path.join(tools, "bin") + ":" + os.environ["PATH"]})
            typed("the same by its path", 127, "command_not_found", ws.argv([program]), ws.folder, [program, "tools: ["])
            ws.write("SANDBOX.md", manifest(carrel='tools: ["%s"]' % tools))
            host = ws.write("host.yaml", "tool_roots: ['%s']\nproviders: {local: {isolated: true}}\n" % tools)
            done = ws.run(["only-here"], "--host", host)
            check("... and that entry brings it in", done.returncode == 0 and done.stdout == b"brought in\n", done)


def sizes():
    with Workspace() as ws:
        typed("2 MB of arguments", 125, "invalid_argument", ws.argv(["true", *["x" * 100000] * 15]), ws.folder)
        status, answer = ws.json(["true", "x" * 131000])
        check("D13: the longest argument a kernel takes is taken, or refused by type", status == 0 or answer["error"]["code"] == "invalid_argument", status, answer)
        typed("10000 arguments -e", 125, "invalid_argument", [CARREL, "run", "-w", ws.path, *["-e", "A=b"] * 10000, "--", "true"], ws.folder)
        done = ws.run(["env"], env={**os.environ, **{"V%d" % i: "x" * 100 for i in range(10000)}})
        check("D13: a host environment of 10000 variables is no matter", done.returncode == 0 and b"V1=" not in done.stdout, done.returncode, done.stderr)
        status, answer = ws.json(["true", *["a"] * 20000])
        check("D13: 20000 arguments run, or are refused by type", status == 0 or answer["error"]["code"] in ("invalid_argument", "command_not_executable"), answer)
        done = ws.run(["printf", "%s", "a\nb\t\x01\u00e9 'q\""])
        check("odd characters in arguments arrive", done.stdout == "a\nb\t\x01\u00e9 'q\"".encode(), done)


def options():
    with Workspace() as ws:
        rows = [["--nope"], ["-x"], ["--timeout"], ["--timeout", "soon"], ["--timeout", "0"], ["--timeout", "-1"], ["-e", "novalue"], ["-e", "1A=b"], ["-t"]]
        for row in rows:
            at = ["--"] if row != ["--timeout"] else []
            typed("run %s" % " ".join(row), 125, "invalid_argument", [CARREL, "run", "-w", ws.path, *row, *at, *(["true"] if at else [])], ws.folder)


def full():
    if not ROOT:
        for name in ("a full runtime directory", "a full workspace", "no space for a control group", "read-only control groups", "a read-only runtime directory"):
            report(name, skip="needs root")
        return
    alone = ["unshare", "-m", "--propagation", "private", "sh", "-c"]
    with Workspace() as ws:
        typed("a full runtime directory", 125, "storage_full", ws.argv(["true"]), ws.folder, prefix=alone + [
            'mkdir -p /run/carrel; mount -t tmpfs -o size=4k,mode=700 none /run/carrel && head -c 4096 /dev/zero >/run/carrel/x; exec "$@"', "sh"])
        done = subprocess.run(alone + ['mount -t tmpfs -o size=1m none "%s" && cp "%s" "%s/SANDBOX.md" && exec "$@"' % (ws.path, ws.write("../S.md", manifest()), ws.path), "sh",
                              *ws.argv(["sh", "-c", "head -c 4000000 /dev/zero > /workspace/big; echo ended $?"])], capture_output=True, timeout=ALWAYS, check=False)
        check("a full workspace is the command's own error, or stops it by the floor", (done.returncode == 0 and b"ended 1" in done.stdout) or
              b"storage_full" in done.stderr or b"capability_unavailable" in done.stderr, done)
        typed("a read-only runtime directory", 125, "sandbox_backend_failed", ws.argv(["true"]), ws.folder, prefix=alone + [
            'mkdir -p /run/carrel; mount -t tmpfs -o ro,mode=700 none /run/carrel; exec "$@"', "sh"])
    with Workspace(limits="memory_mb: 64") as ws:
        inventory = Inventory(ws.folder)
        status, answer = ws.json(["true"])
        check("(control) with its limit it runs", status == 0, answer)
        # If groups are read-only, none can be created: the doctor reports it, and the limit warns
        # by name.
        done = subprocess.run(alone + ['for d in /sys/fs/cgroup/*; do mount -o bind,remount,ro "$d" 2>/dev/null || mount -o remount,ro,bind "$d"; done; exec "$@"', "sh",
                              *ws.argv(["true"], "--json")], capture_output=True, timeout=ALWAYS, check=False)
        text = done.stdout.decode()
        check("read-only control groups: a warning by name, or a typed refusal", "limit_unenforceable:memory_mb" in text if done.returncode == 0 else
              json.loads(text)["error"]["code"] in ("sandbox_backend_failed", "capability_unavailable"), done)
        report("... and nothing is left", inventory.left())
    room_for_groups()


def room_for_groups():
    """A limit on the number of groups below this one. Only v2 has one, so on v1 the call itself
    fails, at each position.
    """
    if not shutil.which("strace"):
        report("no space for a control group", skip="strace is not installed")
        return
    with Workspace(limits="memory_mb: 64, cpu_ms: 10000", carrel="limits: {pids: 50}") as ws:
        inventory = Inventory(ws.folder)
        wrong, seen, status = [], 0, 1
        for number in range(1, 12):
            out = os.path.join(ws.folder, "trace")
            done = subprocess.run(["strace", "-f", "-qq", "-o", out, "-e", "trace=mkdir", "-e", "inject=mkdir:error=ENOSPC:when=%d" % number,
                                   *ws.argv(["sh", "-c", "echo ran"], "--json")], capture_output=True, timeout=ALWAYS, check=False)
            with open(out, encoding="utf-8", errors="replace") as f:
                hit = [line for line in f if "INJECTED" in line]
            os.unlink(out)
            answer, status = json.loads(done.stdout), done.returncode
            if not hit:
                break
            if not any("cgroup" in line for line in hit):
                continue    # another directory; its failure is tested elsewhere
            seen += 1
            if status != 125 or answer["error"]["code"] != "storage_full":
                wrong.append("mkdir %d: %d %s %s" % (number, status, answer, hit))
        check("no space for a control group: storage_full, whichever it is", not wrong and seen >= 3, wrong, seen, status)
        report("... and nothing is left", inventory.left())


def sharing():
    """Two sandboxes on one workspace: each moves away what is created, also after the other has
    ended.
    """
    with Workspace() as ws:
        inventory = Inventory(ws.folder)
        first, second = [subprocess.Popen(ws.argv(["sh", "-c", "echo up; read x; echo x > /workspace/.bashrc; echo x > /workspace/.envrc"]),
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        for p in (first, second):
            p.stdout.readline()
        _, told = first.communicate(b"go\n", timeout=ALWAYS)
        held = sorted(os.listdir(ws.path))
        _, err = second.communicate(b"go\n", timeout=ALWAYS)
        after = sorted(os.listdir(ws.path))
        check("the end of one sandbox opens no protected name in another on the same workspace", not {".bashrc", ".envrc"} & {*held, *after} and
              (told + err).count(b"was made by the command and moved out") >= 4, held, after, told, err)
        report("... and when both have ended nothing is left in the workspace", inventory.left())
        runs = [subprocess.Popen(ws.argv(["true"]), stdin=subprocess.DEVNULL) for _ in range(20)]
        statuses = [p.wait(ALWAYS) for p in runs]
        report("20 at once on one workspace all run, and leave nothing", inventory.left() + ([] if statuses == [0] * 20 else [str(statuses)]))


def stopped(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended before: one of the random moments


def maker_of(pid):
    """Its only child while it runs: carrel-init."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            children = f.read().split()
        return int(children[0]) if children else None
    except (OSError, ValueError):
        return None


def killing():
    seed = int(os.environ.get("CARREL_TEST_SEED") or random.randrange(1 << 30))
    rng = random.Random(seed)
    print("# seed %d (CARREL_TEST_SEED repeats it)" % seed)
    decoy_group = None
    os.makedirs(runtime_dir(), mode=0o700, exist_ok=True)
    decoy_file = os.path.join(runtime_dir(), "decoy-%d.txt" % os.getpid())
    with open(decoy_file, "w", encoding="ascii") as out:
        out.write("not yours\n")
    decoy = subprocess.Popen(["sleep", "infinity"])
    for parent in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        try:
            os.mkdir(os.path.join(parent, "carrel-decoy-%d" % os.getpid()))
            decoy_group = os.path.join(parent, "carrel-decoy-%d" % os.getpid())
            break
        except OSError:
            continue    # this user may not, or the hierarchy does not exist
    with Workspace(limits="memory_mb: 64, cpu_ms: 10000, timeout_ms: 20000", carrel="limits: {pids: 50}") as ws:
        ws.run(["true"])
        inventory, tokens = Inventory(ws.folder), []
        for number in range(TRIES):
            token = "%d.%d" % (123456 + number, rng.randrange(10**6))
            tokens.append(token)
            p = subprocess.Popen(ws.argv(["sh", "-c", "(setsid sleep %s &) ; sleep %s" % (token, token)]), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * 0.025)    # the random moment itself
            maker = maker_of(p.pid)
            who = rng.choice(("carrel", "maker", "both", "both-other"))
            if who in ("maker", "both-other") and maker:
                stopped(maker)
            if who != "maker" or not maker:
                stopped(p.pid)
            if who == "both" and maker:
                stopped(maker)
            if who == "maker" and maker:
                until = time.monotonic() + ALWAYS
                while p.poll() is None and time.monotonic() < until:
                    if maker := maker_of(p.pid):    # the first one may only have collected: its result does not matter
                        stopped(maker)
                    time.sleep(0.002)
                if p.poll() is None:
                    report("kill -9 of the maker, try %d, is noticed" % number, ["carrel hangs"])
                    p.kill()
                elif p.returncode == 0:
                    report("kill -9 of the maker, try %d, is no success" % number, ["status 0"])
            p.wait(ALWAYS)
        until = time.monotonic() + ALWAYS
        while (alive := payloads(tokens)) and time.monotonic() < until:
            time.sleep(0.01)
        report("kill -9 of carrel, of the maker, of both, %d times at random: no process survives" % TRIES, ["alive: %s" % alive] if alive else [])
        # The payload may end before the rest of its sandbox, and a sandbox that still ends is not left behind.
        while descendants().keys() - inventory.before["processes"].keys() and time.monotonic() < until:
            time.sleep(0.01)
        done = ws.run(["true"])
        report("... what is left the next start collects", inventory.left() + ([] if done.returncode == 0 else [str(done)]))
    check("... decoys are untouched", decoy.poll() is None and os.path.exists(decoy_file) and (not decoy_group or os.path.isdir(decoy_group)))
    decoy.kill()
    decoy.wait()
    os.unlink(decoy_file)
    if decoy_group:
        os.rmdir(decoy_group)


def payloads(tokens):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and len(words) > 1 and words[1].decode("utf-8", "replace") in tokens:
            found.append(int(pid))
    return found


if __name__ == "__main__":
    need_programs()
    for part in (files, manifests, commands, sizes, options, full, sharing, killing):
        part()
    end()
