#!/usr/bin/env python3
"""handover_test - a keeper that dies between box and caller: the command runs once, is not killed,
and its caller learns how it ended.

The keeper gives the box its order with one end of a channel, and the caller the other end. strace
kills the keeper at each message in turn. The caller is `carrel exec` with a key, which makes the
same call again.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, Workspace, end, manifest, need_programs, report
from crash_rig import Strace, need_root, pid_of
from daemon_rig import Daemon

MESSAGES = 6           # messages of the keeper from the call to the end of its command, and one more


def one(d, w, box, number):
    """What happened to one command whose keeper was killed at its message `number`."""
    strace = Strace(pid_of(d, "keeper"), "sendmsg:signal=KILL:when=%d" % number, "sendmsg")
    name = "count-%d" % number
    try:
        done = subprocess.run([CARREL, "exec", "--state", d.state, "--key", "key-%d" % number, box, "--", "sh", "-c",
                               "echo begun >> /workspace/%s; sleep 0.2; echo done" % name], capture_output=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    finally:
        strace.detach()
    if (done.returncode, done.stdout, w.read(name)) != (0, b"done\n", b"begun\n"):
        return ["killed at message %d: %r, and it began as %r" % (number, done, w.read(name))]
    return []


def main():
    need_programs()
    need_root()
    with Workspace(text=manifest("timeout_ms: 60000")) as w, Daemon() as d:
        os.chmod(w.folder, 0o755)
        box = d.create(workspace=w.path, manifest=manifest("timeout_ms: 60000"), start=True)
        d.exec(box, ["true"])
        wrong = []
        for number in range(1, MESSAGES + 1):
            wrong += one(d, w, box, number)
        report("N2 N3 a keeper killed while it hands over a command: the command runs once, and its end comes to its caller", wrong)
    end()


if __name__ == "__main__":
    main()
