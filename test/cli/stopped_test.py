#!/usr/bin/env python3
"""stopped_test - `carrel run` that is stopped, or is a background job of the terminal: its
command's time limit applies all the same.

Rows of the threat list: C21 C22.
"""
import contextlib
import os
import pty
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, Workspace, check, end, manifest, need_programs, report, until
from box_wire import mark, running


def state_of(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="ascii", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return "gone"


def begin(w, word, limit):
    """A command with one process, and its pid. Processes of carrel run have the same words until
    they execute their own program.
    """
    child = subprocess.Popen(w.argv(["sleep", word], "--timeout", limit), process_group=0, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return child, until("it sleeps", lambda: next((pid for pid in running(word) if name_of(pid) == "sleep"), None))


def stopped(w):
    """C21: no process is running that could check the time."""
    word = mark()
    child, _ = begin(w, word, "1s")
    child.send_signal(signal.SIGSTOP)
    wrong = []
    try:
        until("the command is killed", lambda: running(word) == [child.pid])
        if state_of(child.pid) != "T":
            wrong.append("carrel run is %s" % state_of(child.pid))
    finally:
        child.send_signal(signal.SIGCONT)
    if child.wait(PATIENCE) != 124:
        wrong.append("told as %d" % child.returncode)
    report("C21 a command whose launcher is stopped ends at its limit", wrong)


def suspended(w):
    """C21: Ctrl-Z in a shell's job: the command stops and continues, and the shell sees both."""
    word = mark()
    child, inner = begin(w, word, "60s")
    wrong = []
    try:
        for _ in range(2):
            child.send_signal(signal.SIGTSTP)
            until("the command is stopped", lambda: state_of(inner) == "T")
            until("so is carrel run", lambda: state_of(child.pid) == "T")
            child.send_signal(signal.SIGCONT)
            until("the command goes on", lambda: state_of(inner) == "S")
    except AssertionError as e:
        wrong.append(str(e))
    child.send_signal(signal.SIGCONT)
    child.terminate()
    if child.wait(PATIENCE) != 128 + signal.SIGTERM:
        wrong.append("told as %d" % child.returncode)
    report("C21 a command stops with carrel run, and goes on with it", wrong)


def leader(w, words):
    """Acts as a shell: starts a job in the background, reports its state, brings it to the
    foreground. Exits with the job's status, or 99 if it stopped itself.
    """
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.execv(CARREL, words)
    with contextlib.suppress(PermissionError):      # it leads its session and has executed its program
        os.setpgid(job, job)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    until("the command runs, or carrel run is stopped", lambda: os.path.exists(os.path.join(w.path, "begun")) or state_of(job) == "T")
    until("its beginning is over", lambda: state_of(job) in "ST")
    if state_of(job) == "T":
        os._exit(99)
    os.tcsetpgrp(0, job)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))


def background(w):
    """C22: input belongs to the job in the foreground."""
    script = "touch /workspace/begun; read line; test \"$line\" = typed && exit 7"
    pid, master = pty.fork()
    if pid == 0:
        try:
            leader(w, w.argv(["sh", "-c", script]))
        finally:
            os._exit(98)
    os.write(master, b"typed\n")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(master)
    check("C22 a job in the background leaves the terminal's input alone, and reads it in front", status == 7, status)


def main():
    need_programs()
    with Workspace(text=manifest("timeout_ms: 60000")) as w:
        stopped(w)
        suspended(w)
        background(w)
    end()


if __name__ == "__main__":
    main()
