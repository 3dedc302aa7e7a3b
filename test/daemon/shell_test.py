#!/usr/bin/env python3
"""shell_test - `carrel shell`: a workspace's own sandbox, created once and entered again; a sandbox by name; no terminal. Prints TAP."""
import fcntl
import os
import pty
import select
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, Workspace, check, end, need_programs
from daemon_rig import Daemon


def shell(d, ws, script, *words, env=None):
    """What a person sees who types the script; and the status."""
    mine, theirs = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    child = subprocess.Popen([CARREL, "shell", "--state", d.state, *words], cwd=ws.path, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal,
                             env={**os.environ, **(env or {})})
    os.close(theirs)
    os.write(mine, script.encode() + b"\nexit 7\n")
    seen = b""
    while select.select([mine], [], [], ALWAYS)[0]:
        try:
            more = os.read(mine, 65536)
        except OSError:
            break
        if not more:
            break
        seen += more
    os.close(mine)
    return child.wait(ALWAYS), seen.decode(errors="replace")


def names(d):
    return subprocess.run([CARREL, "ls", "-q", "--state", d.state], capture_output=True, text=True, timeout=ALWAYS, check=True).stdout.split()


def main():
    with Daemon() as d, Workspace() as ws:
        status, seen = shell(d, ws, "echo $((40+2))x >first; echo my $((1+1)) lines")
        check("a shell in the workspace's own sandbox, with its status", status == 7 and "my 2 lines" in seen and ws.read("first") == b"42x\n", status, seen)
        check("it says that it was created, and how it is stopped", "created the sandbox ws-" in seen and "carrel stop ws-" in seen, seen)
        status, seen = shell(d, ws, "touch /tmp/here; ls -d /tmp/here")
        check("a second shell is in the same one", status == 7 and "created" not in seen and len(names(d)) == 1, seen, names(d))
        status, seen = shell(d, ws, "ls -d /tmp/here | tr a-z A-Z")
        check("which stays", "/TMP/HERE" in seen, seen)
        status, seen = shell(d, ws, "echo $0 | tr a-z A-Z", env={"SHELL": "/bin/sh"})
        check("the user's own shell where every sandbox has it", "/BIN/SH" in seen, seen)
        status, seen = shell(d, ws, "echo $0 | tr a-z A-Z", env={"SHELL": "/home/x/fish"})
        check("else bash", "/BIN/BASH" in seen, seen)
        status, seen = shell(d, ws, "pwd", "mine")
        check("a name that is new creates that one", status == 7 and "created the sandbox mine" in seen and len(names(d)) == 2, seen)
        with Workspace(False) as bare:
            status, seen = shell(d, bare, "ls /workspace")
            check("where there is no SANDBOX.md it says so", status == 7 and "carrel init" in seen, seen)
        status, seen = shell(d, ws, "echo \"<$TERM $LANG>\" | tr a-z A-Z", env={"TERM": "xterm-256color", "LANG": "de_DE.UTF-8"})
        check("TERM and LANG are this terminal's", "<XTERM-256COLOR DE_DE.UTF-8>" in seen, seen)
        before = names(d)
        done = subprocess.run([CARREL, "shell", "--state", d.state, "other"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
        check("without a terminal it is refused, and nothing is created", done.returncode == 125 and "carrel exec" in done.stderr and names(d) == before, done.stderr)
        status, seen = shell(d, ws, "", "No such name!")
        check("a name that cannot be is refused", status == 125, status, seen)


need_programs()
main()
end()
