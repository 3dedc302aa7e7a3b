#!/usr/bin/env python3
"""killed_test - a part of `carrel run` is killed: the run ends with an error, and no process lives on."""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, until

BLOCK = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
PAYLOAD = "echo up; sleep 1000 & sleep 1000"


def descendants(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            children = [int(child) for child in f.read().split()]
    except FileNotFoundError:
        return []
    return [found for child in children for found in (child, *descendants(child))]


def name_of(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
        return f.read().strip()


def is_alive(pid):
    """A zombie is not."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(workspace, part):
    run = subprocess.Popen([CARREL, "run", "--", "sh", "-c", PAYLOAD], cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    run.stdout.readline()
    parts = {pid: name_of(pid) for pid in descendants(run.pid)}
    os.kill(next(pid for pid, name in parts.items() if name == part), signal.SIGKILL)
    said = run.communicate(timeout=PATIENCE)[1]
    check("%s is killed: the run says so, and returns 125" % part, run.returncode == 125 and b"sandbox_backend_failed" in said,
          run.returncode, said)
    until("its parts are gone", lambda: not any(is_alive(pid) for pid in parts))
    check("  and nothing of it lives on", len(parts) >= 4, parts)


def kill_the_caller(workspace):
    run = subprocess.Popen([CARREL, "run", "--", "sh", "-c", PAYLOAD], cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    run.stdout.readline()
    parts = descendants(run.pid)
    run.kill()
    run.communicate(timeout=PATIENCE)
    until("the parts of a killed run end", lambda: not any(is_alive(pid) for pid in parts))
    check("carrel is killed: all of it ends", len(parts) >= 4, parts)


def main():
    with tempfile.TemporaryDirectory(prefix="carrel-killed-") as workspace:
        os.chmod(workspace, 0o755)
        with open(os.path.join(workspace, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(BLOCK)
        for part in ("carrel-box", "carrel-maker", "carrel-init"):
            kill(workspace, part)
        kill_the_caller(workspace)
    end()


main()
