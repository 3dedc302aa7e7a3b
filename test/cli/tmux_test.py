#!/usr/bin/env python3
"""tmux_test - a person's session under tmux, in `carrel run -t` and in `carrel shell`: no time
limit ends it, and the terminal behaves as usual. Prints TAP.

Two days pass at once (test_clock): longer than every default limit. The control is the same command
without a terminal, which its limit ends.
"""
import fcntl
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, Workspace, check, end, need_programs, report, until
from daemon_rig import Daemon
from test_clock import Clock

TWO_DAYS_S = 2 * 86400


class Tmux:
    """A tmux server of this test with one window, in which `command` runs between two prints of the
    terminal's settings.
    """

    def __init__(self, command, cwd, env):
        self.folder = tempfile.mkdtemp(prefix="carrel-tmux-")
        self.env = {k: v for k, v in os.environ.items() if k != "TMUX"} | env | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        script = "stty -a >%s/before; %s; echo \"ended with $?\"; stty -a >%s/looked && mv %s/looked %s/after; cat" % (self.folder, shlex.join(command), *[self.folder] * 3)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", cwd, "sh", "-c", script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")
        shutil.rmtree(self.folder)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.folder + "/s", *words], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=ALWAYS)

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def sees(self, *words):
        try:
            until("%r on the screen" % (words,), lambda: all(w in self.screen() for w in words))
            return True
        except AssertionError:
            return False

    def answers(self, line, *words):
        self.type("clear; " + line)
        return self.sees(*words)

    def copies(self):
        """Whether cat runs. Types another word until it does: input before it reads goes to the
        shell.
        """
        typed = []

        def copied():
            typed.append("word%d" % len(typed))
            self.type(typed[-1])
            return any("%s\n%s\n" % (typed[-1], typed[-1]) in self.screen() for _ in range(100))
        try:
            return until("a line that cat repeats", copied)
        except AssertionError:
            return False

    def has_prompt(self):
        """A program that ends discards earlier input."""
        return self.screen().rstrip().endswith("/workspace $")

    def has_size(self, size):
        """The size passes through two terminals: asked for until it arrives."""
        def asked():
            self.type("clear; stty size; echo asked")
            until("an answer", lambda: re.search(r"^\d+ \d+\nasked$", self.screen(), re.MULTILINE) and self.has_prompt())
            return size + "\n" in self.screen()
        try:
            return until("the size " + size, asked)
        except AssertionError:
            return False

    def is_as_wide_as(self, client, columns):
        client.drain()
        return self.tmux("resize-window", "-A", ";", "display-message", "-p", "#{window_width}").stdout == "%d\n" % columns

    def settings(self):
        return [open(os.path.join(self.folder, name), encoding="utf-8").read().partition("line = ")[2] for name in ("before", "after")]


class Client:
    """A terminal of this number of rows and columns that attaches to the session."""

    def __init__(self, session, rows, columns):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.child = subprocess.Popen(["tmux", "-S", session.folder + "/s", "attach"], env={**session.env, "TERM": "xterm-256color"}, stdin=slave, stdout=slave, stderr=slave,
                                      start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        os.set_blocking(self.master, False)

    def drain(self):
        try:
            return os.read(self.master, 65536)
        except (BlockingIOError, OSError):
            return b""

    def ended(self):
        self.drain()
        return self.child.poll() is not None

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.master)


def job_control(who, s):
    s.type("printf 're%s\\n' ads; cat")
    s.sees("\nreads")                     # input before cat runs goes to the shell
    s.type("first")
    check("%s: a program reads the terminal" % who, s.sees("first\nfirst"), s.screen())
    s.keys("C-z")
    check("%s: ^Z stops it" % who, s.sees("Stopped"), s.screen())
    check("%s: the shell lists it" % who, s.answers("jobs", "Stopped", "cat"), s.screen())
    s.type("fg")
    check("%s: fg continues it" % who, s.copies(), s.screen())
    s.keys("C-c")
    until("cat has ended", s.has_prompt)
    s.type("echo status $?")
    check("%s: ^C ends it" % who, s.sees("status 130"), s.screen())


def edit(who, s):
    s.type("vim -u NONE -N note")
    check("%s: vim draws its screen" % who, s.sees("\n~\n~"), s.screen())
    s.tmux("send-keys", "-l", "iseven")
    s.keys("Escape")
    s.type(":wq")
    until("vim has ended", lambda: "\n~\n~" not in s.screen() and s.has_prompt())
    check("%s: what is typed into vim is saved, and the screen is the shell's again" % who, s.answers("cat note | tr a-z A-Z", "SEVEN"), s.screen())


def screens(who, s):
    if shutil.which("vim", path="/usr/bin:/bin"):
        edit(who, s)
    s.type("clear; seq 1000 | less")
    check("%s: less shows a page" % who, s.sees("1\n2\n3\n"), s.screen())
    s.keys("G")
    check("%s: ... and its end" % who, s.sees("999\n1000\n"), s.screen())
    s.tmux("resize-window", "-x", "90", "-y", "12")
    check("%s: ... and draws itself anew in a smaller window" % who, s.sees("978\n", "988\n:") and "989\n" not in s.screen(), s.screen())
    s.keys("q")
    until("less has ended", s.has_prompt)
    for monitor in [p for p in ("top", "htop") if shutil.which(p, path="/usr/bin:/bin")]:
        s.type("clear; " + monitor)
        check("%s: %s draws" % (who, monitor), s.sees("Tasks:"), s.screen())
        s.keys("q")
        until(monitor + " has ended", s.has_prompt)
    s.tmux("resize-window", "-x", "100", "-y", "40")
    check("%s: a new size is known inside" % who, s.has_size("40 100"), s.screen())


def attach(who, s):
    for rows, columns in ((30, 70), (50, 120)):
        client = Client(s, rows, columns)
        try:
            until("the window has the client's width", lambda: s.is_as_wide_as(client, columns))
            check("%s: attached with %d columns" % (who, columns), s.has_size("%d %d" % (rows - 1, columns)), s.screen())
            s.tmux("detach-client")
            until("the client is detached", client.ended)
        finally:
            client.close()
        check("%s: ... detached, it goes on" % who, s.answers("echo on $((40 + 2))", "on 42"), s.screen())


def session(who, command, cwd, clock):
    with Tmux(command, cwd, clock.env) as s:
        check("%s: a shell" % who, s.answers("echo ready $((40 + 2))", "ready 42"), s.screen())
        job_control(who, s)
        screens(who, s)
        attach(who, s)
        if clock.moves:
            clock.move(TWO_DAYS_S)
            check("%s: two days later it answers" % who, s.answers("echo still $((40 + 2)); jobs", "still 42"), s.screen())
        s.type("stty raw -echo; exit 7")
        check("%s: it ends with the shell's status" % who, s.sees("ended with 7"), s.screen())
        before, after = until("the settings were looked at", lambda: os.path.exists(s.folder + "/after") and s.settings())
        check("%s: the terminal is as it was, although the last program left it raw" % who, before == after, before, after)


def main():
    with Clock() as clock, Workspace() as ws:
        program = os.path.join(clock.build, "carrel")
        if clock.moves:
            child = subprocess.Popen([program, "run", "-w", ws.path, "--", "sh", "-c", "echo begun; exec sleep 1000"], env={**os.environ, **clock.env}, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            child.stdout.readline()
            clock.move(TWO_DAYS_S)
            said = child.communicate(timeout=ALWAYS)[1].decode()
            check("without a terminal two days end a command by its limit", child.returncode != 0 and "limits.timeout_ms" in said, child.returncode, said)
        else:
            report("without a terminal two days end a command by its limit", skip="build-switches is not built: no clock that moves")
        session("run -t", [program, "run", "-t", "-w", ws.path, "--", "bash"], ws.path, clock)
        with Daemon(program=program, env=clock.env) as d:
            session("shell", [program, "shell", "--state", d.state, "mine"], ws.path, clock)


need_programs()
if shutil.which("tmux"):
    main()
else:
    report("a session under tmux", skip="tmux is not installed")
end()
