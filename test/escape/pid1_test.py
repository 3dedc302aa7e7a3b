#!/usr/bin/env python3
# slow: 30 s: attacks last, and with --all two generators of half a minute each
"""pid1_test - no process inside keeps pid 1 from its work: every command ends once, at its limit at
the latest, and others continue.

Rows of the threat list: C17 to C20 and C24. The payload has the user id of its own commands, and of
pid 1's helpers until those execute: it can stop, continue and kill them, and delay what they open.
"At its limit": a command that was killed and has not ended after a second ends its whole sandbox
here (after ten in the shipped program), and that is never right. The box counts the second in
pauses that it could keep, so a busy machine has little effect. Without control groups, pid 1 has no
more than one process' share of the processors, and searches for each process that it kills: the
limit is ten seconds there. CARREL_TEST_DEEP=1 runs the generator for a minute,
CARREL_TEST_SECONDS=N for N seconds with groups and N without. CARREL_TEST_SEED is a number, or
`random` for another one.
"""
import fcntl
import http.client
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, SWITCHES, SLOW, Workspace, end, has_switches, manifest, need_programs, report, until
from daemon_rig import Daemon
from keeper_rig import Ends

MANIFEST = manifest("timeout_ms: 600000, memory_mb: 512", "limits: {pids: 300, open_files: 256}")
SEED = os.environ.get("CARREL_TEST_SEED") or "20261122"
SEED = random.randrange(1 << 32) if SEED == "random" else int(SEED)
FILES_S = 10           # seconds for a file operation; its own limit is 600, and commands of its sandbox can delay it as long (SECURITY.md, Known limits)
SECONDS = int(os.environ.get("CARREL_TEST_SECONDS") or 30)     # of the generator, with and without groups
STOP = ["perl", "-e", "for (;;) { kill 'STOP', -1; select undef, undef, undef, 0.0002 }"]


class Box:
    """A living sandbox of this daemon, on its own workspace."""

    def __init__(self, d, workspace):
        self.d, self.workspace, self.ends = d, workspace, Ends(d)
        self.id = d.create(manifest=MANIFEST, workspace=workspace.path, start=True)
        self.path = "/v1/sandboxes/" + self.id

    def exec(self, argv, **fields):
        return self.d.exec(self.id, argv, **fields)

    def begin(self, argv, **fields):
        """In the background, and certain to run: its file is in the workspace."""
        word = "begun-%d" % random.randrange(1 << 60)
        job = self.exec(["sh", "-c", 'mkdir "/workspace/%s"; exec "$@"' % word, "-", *argv], background=True, **fields)
        until("the attack begins", lambda: os.path.isdir(os.path.join(self.workspace.path, word)))
        return job["exec"]

    def look(self, number):
        return self.d.must("GET", "%s/execs/%d" % (self.path, number))

    def kill(self, number):
        self.d.must("DELETE", "%s/execs/%d" % (self.path, number))

    def over(self, number):
        return until("exec %d ends" % number, lambda: (lambda x: x if x["state"] in ("ended", "failed") else None)(self.look(number)))

    def works(self):
        """What is wrong with it after everything that attacked it was killed."""
        # The dead processes of an attack count as tasks until pid 1 has reaped them.
        ask = {"argv": ["sh", "-c", "echo here"], "timeout_ms": 30000 * SLOW}
        a = until("there is room for a task", lambda: (lambda a: a if a.code != "quota_exceeded" else None)(self.d.call("POST", self.path + "/execs", ask)))
        if a.status >= 300:
            return ["a command afterwards: %r" % a]
        x = a.json
        state = self.d.must("GET", self.path)["status"]
        return [] if x["stdout"] == "here\n" and state == "running" else ["the sandbox is %s afterwards: %r" % (state, x)]


def together(calls):
    """Runs them at the same time. Returns the result of each, in order, or the exception."""
    answers = [None] * len(calls)

    def one(i):
        try:
            answers[i] = calls[i]()
        except Exception as e:                         # an assertion is a result of this row too
            answers[i] = e

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return answers


latest = [0]           # most milliseconds by which an end came after its limit


def note(x, limit_ms):
    """For the figure at the end. Whether one came too late shows in the state of its sandbox:
    works() checks it.
    """
    latest[0] = max(latest[0], x["duration_ms"] - limit_ms)


def stop_storm(box, where):
    """C17: SIGSTOP to every process, all the time."""
    wrong = []
    job = box.begin(STOP)
    for _ in range(5 if DEEP else 2):
        for x in together([lambda: box.exec(["/bin/true"], timeout_ms=1000)] * 6):
            if isinstance(x, Exception) or (x["outcome"], x["exit_code"]) not in (("exited", 0), ("timed_out", 124)):
                wrong.append(repr(x))
            else:
                note(x, 1000)
    box.kill(job)
    if box.over(job)["outcome"] != "killed":
        wrong.append("the storm: %r" % box.look(job))
    report("C17 a storm of SIGSTOP: each command ends at its limit (%s)" % where, wrong + box.works())


def lease(box, where):
    """C18: a file that cannot be opened for long delays no other command, and only until its own
    limit.
    """
    tool = box.workspace.write("tool", "#!/bin/sh\nexit 0\n", 0o755)
    wrong = []
    with open(tool, "rb") as held:
        fcntl.fcntl(held.fileno(), fcntl.F_SETSIG, signal.SIGURG)      # ignored: this test does not give it back when asked
        fcntl.fcntl(held.fileno(), fcntl.F_SETLEASE, fcntl.F_WRLCK)
        answers = []
        stuck = [threading.Thread(target=lambda: answers.append(box.exec(["/workspace/tool"], timeout_ms=60000))) for _ in range(3)]
        for thread in stuck:
            thread.start()
        numbers = until("three of them start", lambda: (lambda found: found if len(found) == 3 else None)(
            [x["exec"] for x in box.d.must("GET", box.path + "/execs")["items"] if x["command"] == "/workspace/tool"]))
        other = box.exec(["/bin/echo", "other"], timeout_ms=20000 * SLOW)
        states = [box.look(x)["state"] for x in numbers]
        if other["stdout"] != "other\n" or states != ["starting"] * 3:
            wrong.append("another command, while they are %s: %r" % (states, other))
        limited = box.exec(["/workspace/tool"], timeout_ms=500)
        note(limited, 500)
        if limited["outcome"] != "timed_out":
            wrong.append(repr(limited))
        for x in numbers:
            box.kill(x)
        for thread in stuck:
            thread.join()
        wrong += [repr(x) for x in answers if x["outcome"] != "killed"]
    os.unlink(tool)
    report("C18 a program that nobody can open ends at its limit, and others start meanwhile (%s)" % where, wrong + box.works())


def stopped_parent(box, where):
    """C19: a command stops the process above it."""
    wrong = []
    for script in ("kill -STOP $PPID; exit 3", "(kill -STOP $PPID; kill -STOP $(cut -d' ' -f4 /proc/$$/stat)) 2>/dev/null; exit 3"):
        x = box.exec(["sh", "-c", script], timeout_ms=20000 * SLOW)
        if script.startswith("(") and x["outcome"] == "timed_out":
            continue                                   # it stopped itself as well
        if (x["outcome"], x["exit_code"]) != ("exited", 3):
            wrong.append("%s: %r" % (script, x))
    report("C19 a command that stops its reaper is told as it ends (%s)" % where, wrong)


# What the kernel lets one process of a user set for another. Each line: the call, and its errno, 0
# if it succeeded.
SETTINGS = r"""
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *words):
    ctypes.set_errno(0)
    libc.syscall(number, *words)
    print(name, ctypes.get_errno(), flush=True)
zero, attr = bytes(8), struct.pack("=IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0)
call("setpriority", 141, 0, 1, 19)
call("setpriority", 141, 1, 1, 19)
call("setpriority", 141, 2, 0, 19)
call("ioprio_set", 251, 1, 1, 3 << 13)
call("ioprio_set", 251, 3, 0, 3 << 13)
call("sched_setparam", 142, 1, zero)
call("sched_setscheduler", 144, 1, 5, zero)
call("sched_setattr", 314, 1, attr, 0)
call("sched_setaffinity", 203, 1, 8, struct.pack("Q", 1))
call("prlimit64", 302, 1, 13, bytes(16), None)
call("prlimit64", 302, 1, 7, bytes(16), None)
"""


def settings(_, where):
    """C20: pid 1 has the payload's user id, and keeps its limits, its priority and its processors.
    """
    with Workspace(text=MANIFEST) as w:
        held, off = w.python(SETTINGS), w.without("filter", ["python3", "-c", SETTINGS]) if has_switches() else None
    lines = held.stdout.decode().split("\n")[:-1]
    wrong = [line for line in lines if not line.endswith(" 1")] + ([repr(held)] if held.returncode or len(lines) != 11 else [])
    if off and b"prlimit64 0" not in off.stdout:
        wrong.append("without the filter it cannot be done either: %r" % off)
    report("C20 nobody sets pid 1's limits, priority or processors (%s)" % where, wrong)


# Each continues until it is killed, and attacks every process that it can reach. The last three are
# what they may do to pid 1 itself.
LOOPS = {
    "stop": "for (;;) { kill 'STOP', -1; select undef, undef, undef, 0.0002 }",
    "stop one by one": "for (;;) { kill 'STOP', $_ for 1 .. 600 }",
    "stop and go": "for (;;) { kill 'STOP', -1; select undef, undef, undef, 0.001; kill 'CONT', -1; select undef, undef, undef, 0.001 }",
    "stop parents": "for (;;) { for (glob '/proc/[0-9]*/stat') { open my $f, '<', $_ or next; my @w = split ' ', <$f> // next; kill 'STOP', $w[3] if $w[3] > 1 } }",
    "kill": "for (;;) { kill 'KILL', -1; select undef, undef, undef, 0.02 }",
    "interrupt": "$SIG{$_} = 'IGNORE' for qw(INT TERM HUP); for (;;) { kill $_, -1 for qw(INT TERM HUP); select undef, undef, undef, 0.002 }",
    "every signal": "for (;;) { for my $n (1 .. 64) { next if $n == 9; kill $n, $_ for 2 .. 60 } }",
    "fork": "$SIG{CHLD} = 'IGNORE'; for (;;) { fork }",
    "spin": "for (1 .. 40) { last unless fork } for (;;) { }",
    "descriptors": "for (1 .. 20) { last unless fork } my @f; for (;;) { pipe my $a, my $b or do { @f = (); next }; push @f, $a, $b }",
    "flood": "$| = 1; for (;;) { print 'x' x 65536 }",
    "dead ends": "for (;;) { if (!fork) { setpgrp; if (!fork) { sleep 1 } exit } select undef, undef, undef, 0.001; 1 while waitpid(-1, 1) > 0 }",
    "limits of others": "for (;;) { for my $p (1 .. 80) { for my $r (0, 1, 7) { my $l = pack 'QQ', 0, 0; next if $p == $$; syscall 302, $p, $r, $l, 0 } } select undef, undef, undef, 0.01 }",
    "priority of others": "for (;;) { for my $p (1 .. 80) { syscall 141, 0, $p, 19; my $z = pack 'l', 0; syscall 144, $p, 5, $z; my $m = pack 'Q', 1; syscall 203, $p, 8, $m } "
                          "syscall 141, 2, 0, 19; select undef, undef, undef, 0.01 }",
    "signals of descriptors": "use Fcntl; pipe my $r, my $w; my $o = pack 'l', 1; fcntl $r, 8, 1; for (;;) { for my $s (9, 19, 6) { fcntl $r, 10, $s; fcntl $r, F_SETFL, 020000 | O_NONBLOCK; "
                              "syswrite $w, 'x'; sysread $r, my $x, 1 } }",
    "signals to pid 1": "for (;;) { for my $n (1 .. 64) { kill $n, 1; syscall 234, 1, 1, $n } }",
    "trace": "for (;;) { for my $p (1 .. 80) { syscall 101, $_, $p, 0, 0 for 16, 0x4206 } select undef, undef, undef, 0.001 }",
    "leases": "use Fcntl; for (;;) { for my $n (1 .. 40) { open my $f, '+>', \"/tmp/lease$n\" or next; fcntl $f, $_, 1 for 1024, 1026, 1038 } }",
    "memory": "for (1 .. 3) { last unless fork } for (;;) { if (!(my $p = fork)) { exit if !defined $p; my @m; push @m, 'x' x (1 << 24) for 1 .. 1000; exit } wait }",
    "memory of files": "for (;;) { for my $n (1 .. 400) { open my $f, '>', \"/tmp/m$n\" or last; syswrite $f, 'x' x (1 << 20) } unlink glob '/tmp/m*' }",
    "pipes": "for (1 .. 20) { last unless fork } my @f; for (;;) { pipe my $r, my $w or do { @f = (); next }; fcntl $w, 1031, 1 << 20; fcntl $w, 4, 04000; "
             "syswrite $w, 'x' x (1 << 20); push @f, $r, $w }",
    "keys": "my $n = 0; for (;;) { my $k = 'k' . $n++ % 1000; my $t = 'user'; syscall 248, $t, $k, $k, 4, -3; syscall 249, $t, $k, 0, -3; syscall 250, $_, -3, 0, 0, 0 for 0, 1, 5, 7 }",
    "sessions": "for (;;) { if (!fork) { syscall 112; setpgrp $_, $$ for 2 .. 80; if (!fork) { setpgrp 0, 0; select undef, undef, undef, 0.05 } exit } select undef, undef, undef, 0.002; "
                "1 while waitpid(-1, 1) > 0 }",
    "fifos": "use POSIX; mkfifo '/tmp/fifo', 0777; for (1 .. 60) { last unless my $p = fork; next if $p; 1 } for (;;) { open my $f, '<', '/tmp/fifo' }",
    "vfork": "for (1 .. 40) { my $p = fork; if (defined $p && !$p) { my $v = syscall 58; sleep 1000 } } for (;;) { select undef, undef, undef, 0.01; kill 'STOP', $_ for 2 .. 80 }",
}
ENDINGS = {"exited", "signaled", "timed_out", "killed", "oom_killed"}
REFUSALS = {"quota_exceeded", "sandbox_exec_failed", "invalid_argument"}


def traced(box, where):
    """C24: the kernel hides a dead process from its parent as long as another process traces it."""
    job = box.begin(["perl", "-e", LOOPS["trace"]])
    wrong = [repr(x) for x in together([lambda: box.exec(["sleep", "30"], timeout_ms=500)] * 4)
             if isinstance(x, Exception) or x["outcome"] != "timed_out"]
    box.kill(job)
    if box.over(job)["outcome"] != "killed":
        wrong.append("the tracer: %r" % box.look(job))
    report("C24 a command that another one traces ends at its limit (%s)" % where, wrong + box.works())


class Victims:
    """Commands and file operations of every kind, whose ends are checked."""

    def __init__(self, box, dice):
        self.box, self.dice, self.wrong, self.count, self.held_up, self.begun = box, dice, [], 0, 0, []

    def judge(self, what, a, limit_ms):
        self.count += 1
        if a.status >= 300:
            if a.code not in REFUSALS:
                self.wrong.append("%s: %r" % (what, a))
            return
        self.begun.append(a.json["exec"])
        if a.json["state"] != "ended" or a.json["outcome"] not in ENDINGS:
            self.wrong.append("%s: %r" % (what, a))
        else:
            note(a.json, limit_ms)

    def foreground(self, argv, limit_ms, **fields):
        fields = {"argv": argv, "timeout_ms": limit_ms, **fields}
        self.judge(argv, self.box.d.call("POST", self.box.path + "/execs", fields), limit_ms)

    def background(self, argv, limit_ms, kills):
        a = self.box.d.call("POST", self.box.path + "/execs", {"argv": argv, "timeout_ms": limit_ms, "background": True})
        if a.status >= 300:
            return self.judge(argv, a, limit_ms)
        path = "%s/execs/%d" % (self.box.path, a.json["exec"])
        if kills:
            self.box.d.call("DELETE", path)
        until("%s ends" % argv, lambda: self.box.d.must("GET", path)["state"] not in ("starting", "running"))
        return self.judge(argv, self.box.d.call("GET", path), limit_ms)

    def files(self):
        self.count += 1
        try:
            a = self.box.d.call("GET", self.box.path + "/files?path=/etc/hostname", timeout=FILES_S)
        except (TimeoutError, http.client.IncompleteRead):     # it is stopped, or was killed between its head and its bytes
            self.held_up += 1
            return
        if a.status >= 500 and a.code == "internal_error":
            self.wrong.append("a file: %r" % a)

    def one(self):
        limit, kind = self.dice.choice((300, 600, 900)), self.dice.randrange(6)
        quick = self.dice.choice((["/bin/true"], ["sh", "-c", "echo x; exit 3"], ["perl", "-e", "fork; fork; exit 1"], ["sleep", "30"]))
        if kind == 0:
            return self.files
        if kind == 1:
            return lambda: self.background(quick, limit, False)
        if kind == 2:
            return lambda: self.background(quick, limit, True)
        if kind == 3:
            return lambda: self.foreground(quick, limit, tty=True)
        return lambda: self.foreground(quick, limit)


def attacks(box, where):
    """C17 to C19 and all similar attacks, in random orders."""
    dice, began, rounds, wrong, count, held_up = random.Random("%d %s" % (SEED, where)), time.monotonic(), 0, [], 0, 0
    while not wrong and (rounds < 4 or (DEEP and time.monotonic() < began + SECONDS)):
        names = dice.sample(sorted(LOOPS), dice.randrange(1, 4))
        begun = [box.d.call("POST", box.path + "/execs", {"argv": ["perl", "-e", LOOPS[n]], "background": True, "timeout_ms": 120000}) for n in names]
        wrong += [repr(a) for a in begun if a.status >= 300 and a.code not in REFUSALS]       # the first may leave no room for the second
        jobs = [a.json["exec"] for a in begun if a.status < 300]
        victims = Victims(box, dice)
        wrong += [repr(x) for x in together([victims.one() for _ in range(8)]) if isinstance(x, Exception)] + victims.wrong
        try:
            for job in jobs:
                box.kill(job)
            for job in jobs:
                box.over(job)
            wrong += box.works()
        except AssertionError as e:
            wrong.append(repr(e))
        wrong += box.ends.wrong([(box.id, number) for number in jobs + victims.begun])
        rounds += 1
        count += victims.count
        held_up += victims.held_up
        if wrong:
            wrong.append("by %s, round %d of seed %d" % (names, rounds, SEED))
    print("# %s: %d calls in %d rounds, %d file operations held up" % (where, count, rounds, held_up))
    report("C17 C18 C19 C24 whatever a payload does to others, each command ends once and at its limit (%s)" % where, wrong)


def main():
    need_programs()
    print("# seed %d" % SEED)
    places = [("groups", {}, None)]
    if has_switches():
        places = [("groups", {"CARREL_TEST_OVERDUE_MS": "1000"}, SWITCHES), ("no groups", {"CARREL_TEST_BOX_GROUPS": "0"}, SWITCHES)]
    for where, env, program in places:
        with Daemon(env=env, program=program) as d, Workspace(text=MANIFEST) as w:
            os.chmod(w.folder, 0o755)
            for part in (stop_storm, lease, stopped_parent, traced, attacks, *([settings] if where == "groups" else [])):
                if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
                    continue
                try:
                    part(Box(d, w), where)
                except (AssertionError, OSError) as e:
                    report("%s (%s)" % (part.__name__, where), [repr(e)])
    print("# the latest end came %d ms after its limit" % latest[0])
    end()


if __name__ == "__main__":
    main()
