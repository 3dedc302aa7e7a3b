#!/usr/bin/env python3
"""validator_program_test - programs as validators: each runs in a sandbox of its own, and whatever
is not its status 0 denies.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, need_programs, report

MANIFEST = """---
schema: sandbox/v1
provider: local
config: {}
mounts: [{source: workspace, at: /workspace, mode: read-write}]
%s---
"""
HOST = "providers: {local: {isolated: true, mounts: true}}\n"


def rules(code, shell="/usr/bin/python3", **fields):
    command = [shell, "-c", code] if code is not None else [shell]
    return {"validators": {"shell": {"program": {"command": command, "timeout_ms": 20000, "memory_mb": 128, **fields}}}}


def write(folder, name, value):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))
    return path


def carrel(folder, *words):
    done = subprocess.run([CARREL, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    return done.returncode, done.stdout, done.stderr


def judge(folder, policy, *words):
    status, out, err = carrel(folder, "policy", "test", write(folder, "p.json", policy), "--json", *(words or ("--", "ls", "-l")))
    found = json.loads(out)
    actions = found.get("actions") or [{}]
    return status, actions[-1].get("reason"), actions[-1].get("entry"), err


def endings(folder):
    secret = write(folder, "secret", "seen")
    got = json.loads(judge(folder, rules("import sys; print(sys.stdin.read()); sys.exit(1)"))[2].removeprefix("program: "))
    check("the program gets the call as one JSON object", got == {"tool": "shell", "arguments": {"cmd": "ls -l", "argv": ["ls", "-l"], "env": []}}, got)
    got = json.loads(judge(folder, {"validators": {"get": rules("import sys; print(sys.stdin.read()); sys.exit(1)")["validators"]["shell"]}}, "--tool", "get", "--arguments", '{"url": "x", "n": [1]}')[2].removeprefix("program: "))
    check("  also of another tool", got == {"tool": "get", "arguments": {"url": "x", "n": [1]}}, got)
    rows = (
        ("status 0 allows", rules("print('fine')"), 0, None, None),
        ("another status denies, with the first line", rules("print('no\\nmore'); raise SystemExit(3)"), 126, "invalid", "program: no"),
        ("control characters are not shown", rules("print('a\\x1b[1mb'); raise SystemExit(1)"), 126, "invalid", None),
        ("without a line", rules("raise SystemExit(1)"), 126, "invalid", "it gave no reason"),
        ("an exception", rules("import sys; sys.stderr.write('x'); 1 / 0"), 126, "invalid", "it gave no reason"),
        ("a signal", rules("import os; os.kill(os.getpid(), 9)"), 126, "validator_failed", "killed"),
        ("a status of carrel's own", rules("raise SystemExit(125)"), 126, "validator_failed", "could not be run"),
        ("no end in time", rules("import time; print('x', flush=True); time.sleep(1000)", timeout_ms=1000), 126, "validator_failed", "did not end in time"),
        ("a child that goes on", rules("import os, time\nif os.fork() == 0: time.sleep(1000)\n", timeout_ms=5000), 0, None, None),
        ("too much output", rules("print(5000 * 'x')"), 126, "validator_failed", "4096 bytes"),
        ("output without end", rules("while True: print(5000 * 'x')"), 126, "validator_failed", "4096 bytes"),
        ("a program that is not there", rules(None, shell="/usr/bin/no-such-program"), 126, "validator_failed", "could not be run"),
        ("no network", rules("import socket\ntry: socket.create_connection(('192.0.2.1', 80), 5)\nexcept OSError as e: raise SystemExit(0 if e.errno == 101 else 1)\nraise SystemExit(1)"), 0, None, None),
        ("nothing of the workspace", rules("import os; raise SystemExit(os.path.exists(%r))" % secret), 0, None, None),
        ("what is denied by a list is not asked", {"deny": ["ls"], **rules("print('asked'); raise SystemExit(1)")}, 126, "denied", "ls"),
        ("what asks is asked first", {"unresolved": "ask", **rules("print('asked'); raise SystemExit(1)")}, 126, "invalid", "asked"),
    )
    wrong = []
    for name, policy, status, reason, entry in rows:
        got = judge(folder, policy, *(("-c", "$x") if "unresolved" in policy else ()))
        if got[0] != status or reason and got[1] != reason or entry and entry not in (got[2] or "") or "\x1b" in str(got[2]):
            wrong.append((name, got))
    report("V1: %d ways to answer and not to answer" % len(rows), wrong)


def runs(folder):
    code = "import json, sys\nc = json.load(sys.stdin)\nif 'bad' in c['arguments']['cmd'] or c['arguments']['cwd'] != '/workspace': print('not', c['arguments']['argv'][-1]); sys.exit(1)"
    write(folder, "SANDBOX.md", MANIFEST % "")
    host = write(folder, "host.yaml", HOST + "commands: %s\n" % json.dumps({"deny": ["rm"], **rules(code)}))
    got = carrel(folder, "run", "--host", host, "--", "sh", "-c", "echo ran-it")
    check("carrel run: what the program allows runs, and rules do not apply to it itself", got[:2] == (0, "ran-it\n"), got)
    got = carrel(folder, "run", "--host", host, "--", "touch", "bad")
    check("  what it denies is not started", got[0] == 126 and "sandbox_policy_denied" in got[2] and "not bad" in got[2] and not os.path.exists(os.path.join(folder, "bad")), got)
    got = carrel(folder, "run", "--host", host, "-e", "A=hidden-value", "--", "touch", "bad")
    check("  it gets names of variables alone", got[0] == 126 and "hidden-value" not in got[2], got)
    host = write(folder, "host.yaml", HOST + "commands: %s\n" % json.dumps(rules("import time; time.sleep(1000)", timeout_ms=1000)))
    got = carrel(folder, "run", "--host", host, "--", "touch", "made")
    check("  one that hangs denies", got[0] == 126 and "did not end in time" in got[2] and not os.path.exists(os.path.join(folder, "made")), got)
    write(folder, "rules.yaml", json.dumps(rules("raise SystemExit(1)")))
    host = write(folder, "host.yaml", HOST + "commands: {file: %s}\n" % os.path.join(folder, "rules.yaml"))
    got = carrel(folder, "run", "--host", host, "--", "touch", "made")
    check("  also named in a file of rules", got[0] == 126 and "gave no reason" in got[2], got)
    wrong = []
    own = "metadata: {carrel: {commands: %s}}\n"
    for text in (json.dumps(rules("pass")), "{file: ./rules.yaml}"):
        write(folder, "SANDBOX.md", MANIFEST % (own % text))
        for words in (("run", "--", "true"), ("check",), ("policy", "test", "SANDBOX.md", "--", "true")):
            got = carrel(folder, *words)
            if got[0] not in (1, 125, 126) or "only a host file may name a program" not in got[1] + got[2]:
                wrong.append((text, words, got))
    report("a manifest may not name a program", wrong)


def main():
    need_programs()
    for part in (endings, runs):
        with tempfile.TemporaryDirectory(prefix="carrel-validator-program-") as folder:
            part(folder)
    end()


if __name__ == "__main__":
    main()
