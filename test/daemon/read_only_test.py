#!/usr/bin/env python3
"""read_only_test - L08: where a sandbox is read_only, each operation that runs a command or writes a
file is refused, over each interface, and no process of it is created (A36-169, A36-170).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from approvals_rig import Agent
from box_rig import CARREL, PATIENCE, check, end, report
from daemon_rig import Daemon

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nread_only: %s\n---\n"
# `carrel run` always starts carrel-maker, before it reads the manifest
NEW = re.compile(r"CLONE_NEWPID|^(?!.*(?:\"carrel\"|/carrel\"|carrel-init\")).*\bexecve(?:at)?\(", re.MULTILINE)


def made(folder, value):
    """Calls of `carrel run` that make pid 1 of a sandbox or start a program in it; and its status."""
    with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
        f.write(MANIFEST % value)
    trace = os.path.join(folder, "trace")
    done = subprocess.run(["strace", "-f", "-qq", "-o", trace, "-e", "trace=process", CARREL, "run", "--", "true"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    with open(trace, encoding="utf-8", errors="replace") as f:
        return NEW.findall(f.read()), done


def run():
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        report("L08: carrel run creates no process", skip="strace cannot trace here")
        return
    with tempfile.TemporaryDirectory() as folder:
        found, done = made(folder, "true")
        check("L08: carrel run refuses with sandbox_read_only; no process of a sandbox is made", done.returncode == 126 and "sandbox_read_only" in done.stderr and not found, done, found)
        found, done = made(folder, "false")
        check("  without read_only, some are", len(found) > 1, done, found)


def calls(box):
    at = "/v1/sandboxes/" + box
    yield "exec", "POST", at + "/execs", {"argv": ["true"]}
    yield "line", "POST", at + "/execs", {"command": "true"}
    yield "background", "POST", at + "/execs", {"argv": ["true"], "background": True}
    yield "terminal", "POST", at + "/execs", {"argv": ["true"], "tty": True}
    yield "code", "POST", at + "/code", {"language": "shell", "code": "true"}
    yield "write", "PUT", at + "/files?path=x", b"x"
    yield "mkdir", "POST", at + "/files/mkdir", {"path": "x"}
    yield "move", "POST", at + "/files/move", {"path": "x", "target": "y"}
    yield "remove", "DELETE", at + "/files?path=x", None


def daemon():
    with Daemon() as d:
        box = d.create(manifest={"provider": "local", "config": {}, "read_only": True})
        before, wrong = set(d.children()), []
        for name, method, path, body in calls(box):
            got = d.call(method, path, body)
            wrong += ["%s: %r" % (name, got)] if got.code != "sandbox_read_only" else []
        report("L08: each verb over REST is refused", wrong)
        check("L08: and the sandbox never had a process: it was not started", d.must("GET", "/v1/sandboxes/" + box)["status"] == "pending" and set(d.children()) == before, d.must("GET", "/v1/sandboxes/" + box), d.children())
        words = [["exec", box, "--", "true"], ["exec", "-d", box, "--", "true"], ["code", box, "--language", "shell", "-c", "true"], ["cp", "/etc/hostname", box + ":x"]]
        wrong = []
        for line in words:
            done = subprocess.run([CARREL, *line], env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
            wrong += ["%s: %s" % (line, done)] if done.returncode == 0 or ("sandbox_read_only" not in done.stderr and line[0] != "code") else []
        report("L08: and by the command line", wrong)

        class Place:
            d, id = None, box
        Place.d = d
        agent = Agent(Place, {})
        wrong = []
        for tool, words in (("exec", {"argv": ["true"]}), ("write_files", {"files": [{"path": "x", "content": "x"}]}), ("run_code", {"language": "shell", "code": "true"}),
                            ("mastra_workspace_execute_command", {"command": "true"})):
            got = agent.tool(tool, **words)
            wrong += ["%s: %r" % (tool, got)] if "sandbox_read_only" not in str(got) else []
        agent.close()
        report("L08: and each tool of MCP", wrong)


def main():
    run()
    daemon()
    end()


if __name__ == "__main__":
    main()
