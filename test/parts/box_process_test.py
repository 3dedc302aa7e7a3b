#!/usr/bin/env python3
# slow: 25 s: twenty scenes of one box after the other, some of which fill its output
"""The box process by itself: a keeper written in Python has a real spawner start real boxes, and
checks the contract of an exec.

Each command ends exactly once. Output is read by offset, never twice. No caller waits for another.
What one call kills is dead. Figures are printed as comments.
"""
import errno
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_rig
import wire
from box_rig import DEEP, PATIENCE, check, report, until
from box_wire import BACKGROUND, KILL_REST, LOSSLESS, NEVER, NO_STDIN, QUIET, TTY, Bench, Gone, boot_ms, dead, mark, memory_kb, running
from daemon_rig import state_of
from test_clock import Clock
from wire import C_DETACH, C_RESIZE, C_SIGNAL, C_STDERR, C_STDIN, C_STDIN_END, C_STDOUT

MIB = 1 << 20
SWITCHES_BUILD = os.path.dirname(box_rig.SWITCHES)
PAUSE_MS = int(re.search(r"\bPAUSE_MS = (\d+)", wire.source("src/box/output.c")).group(1))
SPARE_IDLE_MS = int(re.search(r"\bNS_SPARE_IDLE_MS = (\d+)", wire.source("src/box/ns/ns.h")).group(1))
PROTOCOL = int(re.search(r"BOX_PROTOCOL = (\d+)", wire.source("src/wire/box.h")).group(1))


def say(*words):
    print("#", *words, flush=True)


def begin_and_end(bench):
    box = bench.begin()
    keeper = box.keeper
    check("HELLO names the box, its protocol and process", keeper.hello["protocol"] == PROTOCOL and not dead(box.pid), keeper.hello)
    c = keeper.exec("echo out; echo err >&2; exit 3").wait()
    check("one exec: STARTED, both streams, one END", (bytes(c.out), bytes(c.err), c.end["word"], c.end["exit_code"]) == (b"out\n", b"err\n", "exited", 3), vars(c))
    number = c.started[0]
    keeper.until(lambda: number in keeper.finished)
    told = keeper.finished[number]
    check("its keeper is told the same", told["state"] == "ended" and told["end"] == c.end and told["command"].startswith("sh -c echo out"), told)
    c = keeper.exec(["/no/such/program"]).wait()
    check("a command that is not there fails, and no END follows", c.failed and c.failed[1] == 2 and not c.end, vars(c))
    c = keeper.exec("kill -TERM $$").wait()
    check("a signal is its end", c.end["word"] == "signaled" and c.end["signal"] == 15, c.end)
    c = keeper.exec(["cat"], flags=NO_STDIN).wait()
    check("NO_STDIN: standard input is empty", c.end["exit_code"] == 0, c.end)
    c = keeper.exec("trap 'echo heard; exit 0' USR1; echo ready; while :; do sleep 0.01; done")
    c.until(lambda: b"ready" in c.out)
    c.send(C_SIGNAL, struct.pack("=i", signal.SIGUSR1))
    c.wait()
    check("a signal frame reaches the command", bytes(c.out) == b"ready\nheard\n", bytes(c.out))
    c = keeper.exec("head -c 5000 /dev/zero; head -c 5000 /dev/zero >&2", output=6000).wait()
    check("output past its limit is dropped and counted", len(c.out) + len(c.err) == 6000 and c.end["dropped_bytes"] == 4000 and
          c.end["stdout_bytes"] + c.end["stderr_bytes"] == 10000, c.end)
    journal = box.journal()
    check("the journal says its protocol, then each start and each end", journal[0][:2] == ("-", PROTOCOL) and
          [e[0] for e in journal if e[1] == number] == ["STARTED", "STREAMS", "FINISHED"], [e[:2] for e in journal])
    groups = box.groups
    gone = keeper.stop()
    until("the box process ends", lambda: dead(box.pid))
    check("STOP is answered once everything is undone", gone["cause"] == "stopped" and not any(os.path.exists(g) for g in groups), gone, groups)
    check("the journal ends with it", box.journal()[-1][0] == "GONE", box.journal()[-1])


def round_trip(bench):
    box = bench.begin()
    times = []
    for _ in range(300):
        begun = time.perf_counter_ns()
        box.keeper.exec(["/bin/true"]).wait()
        times.append(time.perf_counter_ns() - begun)
        box.keeper.hear()
    times.sort()
    say("exec of true over the channel, with this keeper's own time: median %.0f us, best tenth %.0f us" % (times[150] / 1e3, times[30] / 1e3))
    check("a box process of its own stays small", memory_kb(box.pid) < 1024, memory_kb(box.pid))
    say("Pss of the box process after 300 execs: %d KiB (anonymous %d)" % (memory_kb(box.pid), memory_kb(box.pid, "Anonymous")))
    fresh = bench.begin()
    say("Pss of a fresh box process: %d KiB (anonymous %d)" % (memory_kb(fresh.pid), memory_kb(fresh.pid, "Anonymous")))


def grandchildren(bench):
    box, sleep = bench.begin(), mark()
    before = None
    for i in range(1000):
        c = box.keeper.exec("sleep %s & echo $!" % sleep, flags=KILL_REST if i % 2 else 0)
        c.wait()
        box.keeper.hear()
        if c.end["word"] != "exited" or not c.out.strip().isdigit():
            report("exec %d of 1,000 whose grandchild holds its output" % i, [vars(c)])
            return
        if i % 50 == 49:          # or the box has no room for more processes
            box.keeper.exec(["sh", "-c", "kill -9 -1"], flags=QUIET).wait()
        if i == 350:
            before = memory_kb(box.pid, "Rss")
    after = memory_kb(box.pid, "Rss")
    fds = len(os.listdir("/proc/%d/fd" % box.pid)) if os.geteuid() == 0 else 0
    say("after 1,000 execs whose grandchildren hold stdout: Rss %d KiB at 350, %d KiB at the end; %d descriptors" % (before, after, fds))
    check("1,000 execs whose grandchildren hold stdout end by themselves", True)
    check("and cost nothing that grows", after < before + 256 and fds < 1200, before, after, fds)
    lasting = mark()
    for _ in range(300):
        box.keeper.exec("sleep %s &" % lasting, flags=BACKGROUND).wait()
    box.keeper.kill(0)
    until("killing everything kills what was left running", lambda: not running(lasting))
    check("more than 256 that linger at once: killed with one word", True)


def many_at_once(bench):
    box = bench.begin()
    begun = time.monotonic()
    channels = [box.keeper.exec("read x; echo $x; head -c 100000 /dev/zero") for _ in range(100)]
    for i, c in enumerate(channels):
        c.send(C_STDIN, b"%d\n" % i)
    wrong = [i for i, c in enumerate(channels) if c.wait().end["word"] != "exited" or bytes(c.out[:8]).split(b"\n")[0] != b"%d" % i or
             len(c.out) + c.gaps != 100000 + len("%d\n" % i)]
    say("100 at once: %.0f ms" % ((time.monotonic() - begun) * 1e3))
    check("100 execs at once, each with its own streams", not wrong, wrong)


def floods(bench):
    box = bench.begin(keep_bytes=MIB)
    size = 1 << (30 if DEEP else 28)
    c = box.keeper.exec("head -c %d /dev/zero" % size, flags=LOSSLESS)
    begun = time.monotonic()
    seen = c.drain()
    rate = size / (time.monotonic() - begun) / 1e9
    say("%d MiB to a fast reader who loses nothing: %.2f GB/s" % (size >> 20, rate))
    check("LOSSLESS: every byte arrives", seen == size and c.gaps == 0 and c.end["stdout_bytes"] == size, seen, c.gaps, c.end)
    most = [0]

    def slow(read):
        most[0] = max(most[0], memory_kb(box.pid, "Rss"))
        time.sleep(0.002)          # tests a reader that is slow

    before = memory_kb(box.pid, "Rss")
    c = box.keeper.exec("head -c %d /dev/zero" % size)
    begun = time.monotonic()
    seen = c.drain(slow)
    say("%d MiB past a slow reader: %.1f s, he saw %.1f MiB; Rss %d KiB before, at most %d KiB" % (size >> 20, time.monotonic() - begun, seen / MIB, before, most[0]))
    check("a slow reader misses bytes, and each is counted", seen + c.gaps == size and c.end["dropped_bytes"] == c.gaps and c.gaps > 0, seen, c.gaps, c.end)
    check("memory stays flat", most[0] < before + 2560, before, most[0])
    before = memory_kb(box.pid, "Rss")
    most[0] = 0
    size >>= 3
    c = box.keeper.exec("head -c %d /dev/zero" % size, flags=LOSSLESS)
    seen = c.drain(slow)
    check("a slow reader who must lose nothing makes the command wait", seen == size and c.gaps == 0 and most[0] < before + 2560, seen, c.gaps, most, before)


def stdin(bench):
    box = bench.begin()
    size = 100 * MIB
    block = bytes(range(256)) * 1024
    for command, expected in (("cat", size), ("true", 0)):
        c = box.keeper.exec([command], flags=LOSSLESS)
        child = os.fork()
        if child == 0:
            try:
                for _ in range(size // len(block)):
                    c.send(C_STDIN, block)
                c.send(C_STDIN_END)
            except OSError:
                pass
            os._exit(0)
        seen = c.drain()
        c.close()
        os.waitpid(child, 0)
        check("100 MiB of standard input to %s" % command, seen == expected and c.gaps == 0 and c.end["word"] == "exited", seen, c.gaps, c.end)


def stdin_in_order(bench):
    """What several callers wrote, one after another, including one that has closed, reaches the
    command completely and in that order.
    """
    box = bench.begin()
    later = "until [ -e /workspace/%s ]; do sleep 0.01; done; exec cat"
    c = box.keeper.exec(later % "go", flags=BACKGROUND | LOSSLESS)
    c.until(lambda: c.started)
    pieces = [bytes([65 + i]) * 100000 for i in range(12)]
    for kind, piece in [*((C_STDIN, piece) for piece in pieces), (C_STDIN_END, b"")]:
        other = box.keeper.attach(c.started[0], out=NEVER, err=NEVER)
        other.until(lambda: other.started)  # noqa: B023
        other.send(kind, piece)
        other.close()
    box.keeper.exec("touch go").wait()
    c.wait()
    check("input of twelve callers, one after another, comes in their order", bytes(c.out) == b"".join(pieces), len(c.out), re.sub(rb"(.)\1*", rb"\1", bytes(c.out)))
    c = box.keeper.exec("echo up; until [ -e /workspace/far ]; do sleep 0.01; done; echo more; exec cat > /workspace/whole", flags=BACKGROUND)
    c.until(lambda: c.started)
    piece = bytes(range(256)) * 500
    c.sock.sendall(wire.frame(C_STDIN, piece) + wire.frame(C_STDIN_END))
    c.close()
    box.keeper.exec("touch far").wait()
    box.keeper.until(lambda: c.started[0] in box.keeper.finished)
    with open(os.path.join(box.work, "whole"), "rb") as f:
        whole = f.read()
    check("input of a caller who left before it was read is not lost when the command prints", whole == piece, len(whole), len(piece))


def terminal(bench):
    box = bench.begin()
    c = box.keeper.exec("stty -echo; stty size; read x; stty size; echo got $x; tty; read y", wire_flags=TTY, size=(11, 22))
    c.until(lambda: b"11 22" in c.out)
    c.send(C_RESIZE, struct.pack("=HH", 33, 44))
    c.send(C_STDIN, b"word\n")
    c.until(lambda: b"/dev/pts" in c.out)
    c.send(C_STDIN_END)
    c.wait()
    check("a terminal: its size, its change, a line, the end of input", b"33 44\r\n" in c.out and b"got word\r\n" in c.out, bytes(c.out), c.end)
    c = box.keeper.exec("seq 1 20000", wire_flags=TTY).wait()
    check("all that a terminal printed arrives before the end", bytes(c.out).replace(b"\r", b"") == b"".join(b"%d\n" % i for i in range(1, 20001)), len(c.out))


def kills(bench):
    box, sleep = bench.begin(), mark()
    escape = "(setsid sh -c 'setsid sleep {0} & sleep {0}' &) ; (setsid sleep {0} &) ; sleep {0} & trap '' TERM; echo up; sleep {0}".format(sleep)
    c = box.keeper.exec(escape)
    c.until(lambda: b"up" in c.out)
    until("they run", lambda: len(running(sleep)) == 5)
    box.keeper.kill(c.started[0])
    c.wait()
    until("they are dead", lambda: not running(sleep))
    check("KILL ends the whole tree, sessions and orphans too", c.end["word"] == "killed", c.end)
    other, kept = mark(), mark()
    a = box.keeper.exec("sleep %s" % other, task="t1")
    b = box.keeper.exec("sleep %s" % kept, task="t2")
    b.until(lambda: b.started)
    until("both run", lambda: running(other) and running(kept))
    box.keeper.kill(task="t1", word="timed_out")
    check("a task's end kills its execs", a.wait().end["word"] == "timed_out" and len(running(kept)) >= 1, a.end)
    b.close()
    until("a caller who goes takes his command along", lambda: not running(kept))
    box.keeper.until(lambda: b.started[0] in box.keeper.finished)
    check("a caller who goes without DETACH kills it", box.keeper.finished[b.started[0]]["end"]["word"] == "killed")
    for how, flags in (("DETACH", 0), ("BACKGROUND", BACKGROUND)):
        stays = mark()
        c = box.keeper.exec("echo up; sleep %s" % stays, flags=flags)
        c.until(lambda: c.out)  # noqa: B023
        until("it sleeps", lambda: running(stays))  # noqa: B023
        if how == "DETACH":
            c.send(C_DETACH)
        c.close()
        box.keeper.exec(["true"]).wait()
        check("with %s it goes on" % how, len(running(stays)) >= 1)
        box.keeper.kill(c.started[0])
        until("it is dead", lambda: not running(stays))  # noqa: B023
    rest = mark()
    box.keeper.exec("sleep %s & :" % rest, flags=KILL_REST).wait()
    until("KILL_REST kills what was left", lambda: not running(rest))
    check("KILL_REST kills what the command left running", True)


def attaching(bench):
    box = bench.begin()
    text = b"".join(b"%d\n" % i for i in range(1, 30001))
    c = box.keeper.exec("seq 1 15000; read x; seq 15001 30000", flags=BACKGROUND)
    half = len(b"".join(b"%d\n" % i for i in range(1, 15001)))
    c.until(lambda: len(c.out) >= half)
    first = bytes(c.out)
    c.send(C_DETACH)
    c.close()
    later = box.keeper.attach(c.started[0], out=len(first))
    later.send(C_STDIN, b"go\n")
    later.wait()
    check("attached at an offset: no gap, nothing twice", first + bytes(later.out) == text and later.gaps == 0, len(first), len(later.out))
    again = box.keeper.attach(c.started[0]).wait()
    check("attached after its end: everything that is kept, and the end", bytes(again.out) == text and again.end["word"] == "exited", len(again.out))
    lost = box.keeper.attach(999999)
    try:
        lost.frame()
        report("an exec nobody knows closes the channel", ["a frame came"])
    except Gone:
        report("an exec nobody knows closes the channel")
    a = box.keeper.exec("echo x >> /workspace/once; sleep 0.05; echo done", key="the key")
    b = box.keeper.exec("echo x >> /workspace/once; sleep 0.05; echo done", key="the key")
    a.wait(), b.wait()
    d = box.keeper.exec("echo x >> /workspace/once; echo done", key="the key").wait()
    with open(os.path.join(box.work, "once"), "rb") as f:
        effects = f.read()
    check("one key, one effect, three answers", effects == b"x\n" and {bytes(k.out) for k in (a, b, d)} == {b"done\n"} and
          len({k.started for k in (a, b, d)}) == 1, effects)


def keepers(bench):
    box = bench.begin()
    c = box.keeper.exec("echo one; read x; echo two", flags=BACKGROUND, key="k1", task="t1")
    c.until(lambda: c.out)
    done = box.keeper.exec("exit 7").wait()
    box.keeper.close()
    fresh = box.connect()
    fresh.until(lambda: fresh.ready)
    known = {one["exec"]: one for one in fresh.listed}
    check("a new keeper is told every exec, then READY", known[c.started[0]]["state"] == "running" and known[c.started[0]]["key"] == "k1" and
          known[done.started[0]]["end"]["exit_code"] == 7, known)
    c.send(C_STDIN, b"go\n")
    c.wait()
    check("a channel outlives the keeper that introduced it", bytes(c.out) == b"one\ntwo\n" and c.end["exit_code"] == 0, bytes(c.out))
    fresh.until(lambda: c.started[0] in fresh.finished)
    check("and the new one hears of the end", fresh.finished[c.started[0]]["task"] == "t1")
    fresh.send("LIST")
    fresh.until(lambda: fresh.list_done)
    check("LIST ends with exec 0", True)
    broken = box.connect()
    broken.until(lambda: broken.ready)
    broken.send("BOX_KILL", b"short")
    try:
        while True:
            broken.read()
    except Gone:
        pass
    check("a keeper who talks nonsense is cut off, and nobody else", fresh.exec("echo still").wait().out == b"still\n")
    deaf = box.connect()
    for _ in range(400):
        fresh.exec(["true"]).wait()
    check("a keeper who does not listen holds nobody up", fresh.exec("echo quick").wait().out == b"quick\n")
    deaf.close()


def death(bench):
    box, sleep = bench.begin(), mark()
    c = box.keeper.exec("setsid sleep %s & echo up; sleep %s" % (sleep, sleep), flags=BACKGROUND)
    c.until(lambda: c.out)
    begun = time.monotonic()
    os.kill(box.pid, signal.SIGKILL)
    until("everything inside is dead", lambda: not running(sleep), 2)
    until("the maker cleans its groups", lambda: not any(os.path.exists(g) for g in box.groups), 5)
    say("box process killed: everything inside dead and undone after %.0f ms" % ((time.monotonic() - begun) * 1e3))
    check("a box process killed -9 takes everything inside along", True)
    box, sleep = bench.begin(), mark()
    c = box.keeper.exec("echo up; sleep %s" % sleep)
    c.until(lambda: c.out)
    until("the first one's maker is gone", lambda: len(makers(bench)) == 1)
    os.kill(makers(bench)[0], signal.SIGKILL)
    box.keeper.until(lambda: box.keeper.gone)
    c.wait()
    until("everything inside is dead", lambda: not running(sleep), 2)
    check("a maker killed -9: the exec is lost, the box gone, nothing runs", c.end["word"] == "lost" and box.keeper.gone["cause"] == "died", c.end, box.keeper.gone)
    box, sleep = bench.begin(), mark()
    c = box.keeper.exec("echo up; kill -9 -1; exit 5")
    c.wait()
    check("killing all that can be reached inside does not end the box", box.keeper.exec("echo alive").wait().out == b"alive\n")


def makers(bench):
    """Children of this spawner that are named like makers."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="ascii", errors="replace") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "carrel-maker" and int(rest.split()[1]) == bench.spawner.pid and rest.split()[0] != "Z":
            found.append(int(pid))
    return found


def last_moments(clock, bench):
    last_moment = clock.boot_ms() + clock.window * 1000
    box, sleep = bench.begin(deadline_ms=last_moment), mark()
    c = box.keeper.exec("echo up; sleep %s" % sleep, flags=BACKGROUND)
    c.until(lambda: c.out)
    pid, groups = box.pid, box.groups
    until("it sleeps", lambda: running(sleep))
    box.keeper.close()
    c.close()
    clock.move(clock.window - 2)
    fresh = box.connect()
    fresh.until(lambda: fresh.ready)
    fresh.close()
    check("before its last moment it lives", running(sleep), last_moment)
    clock.move(2)
    until("it ends without a keeper", lambda: dead(pid) and not running(sleep))
    check("not before its last moment", clock.boot_ms() >= last_moment, clock.boot_ms(), last_moment)
    last = box.journal()[-3:]
    state = struct.unpack_from("=II", last[-1][2])[1]
    check("a box past its last moment ends with no keeper there, and its journal has what it used", [e[0] for e in last] == ["FINISHED", "USED", "GONE"] and state == 2, last)
    until("and nothing of it stays", lambda: not any(os.path.exists(g) for g in groups))
    box = bench.begin(deadline_ms=clock.boot_ms() + clock.window * 1000)
    box.keeper.send("DEADLINE", struct.pack("=Q", NEVER))
    heard(box)                                 # otherwise the clock would be ahead of it
    clock.move(clock.window + 1)
    c = box.keeper.exec("echo later").wait()
    check("a last moment can be moved", bytes(c.out) == b"later\n", vars(c))


def heard(box):
    """The box has handled all messages and all timers that were due at that moment: timers run
    before messages.
    """
    box.keeper.list_done = False
    box.keeper.send("LIST")
    box.keeper.until(lambda: box.keeper.list_done)


def deadlines(bench):
    with Clock() as clock, Bench(clock.env, clock.build) as moved:
        last_moments(clock, moved)
    box = bench.begin()
    c = box.keeper.exec("sleep 1000", timeout_ms=100).wait()
    check("a timeout ends the tree", c.end["word"] == "timed_out" and c.end["duration_ms"] < 1000 * PATIENCE, c.end)
    c = box.keeper.exec("sleep 30", deadline_ms=boot_ms() + 100).wait()
    check("so does a deadline", c.end["word"] == "timed_out", c.end)
    if has_groups(box)[0]:
        for _ in range(5):             # a machine that stops the box but not the tree gives the tree more time; one attempt is undisturbed
            c = box.keeper.exec("(while :; do :; done) & (while :; do :; done)", cpu_ms=150).wait()
            if c.end["cpu_ms"] < 1000:
                break
        check("CPU time of the tree is counted", c.end["word"] == "cpu_limit" and 140 <= c.end["cpu_ms"] < 1000, c.end)


def has_groups(box):
    fresh = box.connect()
    fresh.until(lambda: fresh.ready)
    fresh.close()
    return fresh.hello["has_groups"], fresh.hello["can_freeze"]


def freezing(_):
    with Clock() as clock, Bench(clock.env, clock.build) as bench:
        frozen(clock, bench)


def frozen(clock, bench):
    box = bench.begin()
    if not has_groups(box)[1]:
        check("where nothing freezes, it is said", box.keeper.freeze(1) == 95)
        report("freeze", skip="no v2 group here")
        return
    c = box.keeper.exec("i=0; while :; do i=$((i+1)); echo $i; sleep 0.01; done", timeout_ms=clock.window * 1000)
    c.until(lambda: c.out)
    check("FREEZE is answered", box.keeper.freeze(1) == 0)
    waiting = box.keeper.exec("echo thawed")
    early = box.keeper.exec("sleep 30")
    clock.move(clock.window)       # as long as its timeout: tests that none of this time counts
    early.close()
    fresh = box.connect()
    fresh.until(lambda: fresh.ready)
    state = {one["exec"]: one["state"] for one in fresh.listed}
    check("frozen longer than its timeout, it still lives", state[c.started[0]] == "running" and fresh.hello["is_frozen"] == 1, state)
    check("what came meanwhile waits", waiting.started is None and "starting" in state.values(), state)
    check("thaw is answered", box.keeper.freeze(0) == 0)
    check("and what waited runs", waiting.wait().out == b"thawed\n")
    clock.move(clock.window)
    c.wait()
    check("the timeout counts again, and the time frozen did not", c.end["word"] == "timed_out" and c.end["duration_ms"] >= 2000 * clock.window - 100, c.end)
    c = box.keeper.exec("echo up; sleep 1000")
    c.until(lambda: c.out)
    box.keeper.freeze(1)
    box.keeper.kill(c.started[0])
    check("a frozen exec can be killed", c.wait().end["word"] == "killed", c.end)
    check("and a frozen box stopped", box.keeper.stop()["cause"] == "stopped")


def members(box):
    """The members of an exec's groups: group -> host pids."""
    found = {}
    for top in box.groups:
        work = os.path.join(top, "work")
        for name in sorted(os.listdir(work)) if os.path.isdir(work) else ():
            if os.path.isdir(os.path.join(work, name)):
                with open(os.path.join(work, name, "cgroup.procs"), encoding="ascii") as f:
                    found[name] = [int(line) for line in f]
    return found


def inside(pid):
    """Its pid inside, once it leads a session: a waiting spare, or a command."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        return int(fields["NSpid"].split()[-1]) if fields["NSpid"] == fields["NSsid"] and fields["State"].startswith(("S", "T")) else 0
    except (OSError, KeyError):
        return 0


def spare_of(box, but=0):
    """(group, pid inside) of the only process in the groups, once it waits."""
    def look():
        there = [(name, pid) for name, pids in members(box).items() for pid in pids]
        number = inside(there[0][1]) if len(there) == 1 else 0
        return (there[0][0], number) if number not in (0, but) else None
    return until("a spare waits", look)


def spares(bench):
    box = bench.begin()
    if not has_groups(box)[0]:
        report("a child that is ready ahead", skip="no v2 group here")
        return
    wrong, last = [], 0
    for what, command, expected in (("the first", ["sh", "-c", "echo one"], b"one\n"), ("the next", ["sh", "-c", "echo two"], b"two\n"), ("a third", ["cat"], b"")):
        group, number = spare_of(box, last)
        c = box.keeper.exec(command, flags=NO_STDIN).wait()
        if c.started[1] != number or bytes(c.out) != expected or c.end["exit_code"] != 0:
            wrong.append((what, group, number, c.started, bytes(c.out)))
        last = number
    spare_of(box, last)
    report("after a pause the next command is a child that was ready in its group", wrong)
    _, number = spare_of(box, last)
    c = box.keeper.exec(["/no/such/program"]).wait()
    check("one that fails says so", c.failed and c.failed[1:] == (2, 1) and not c.end, vars(c))
    _, number = spare_of(box, number)
    told = box.keeper.exec("sleep 1000", flags=BACKGROUND)
    told.until(lambda: told.started)
    check("what it became is killed with its group", told.started[1] == number, told.started, number)
    box.keeper.kill(told.started[0])
    told.wait()
    _, number = spare_of(box, number)
    box.keeper.kill(0)                         # all: the spare too
    _, again = spare_of(box, number)
    check("after everything was killed another one is ready", box.keeper.exec("echo on").wait().out == b"on\n", again)
    _, number = spare_of(box, again)
    box.keeper.exec("kill -9 -1").wait()
    c = box.keeper.exec("echo still; kill -9 -1; echo not me").wait()
    check("a payload that kills it has its next command all the same", bytes(c.out) == b"still\nnot me\n", bytes(c.out))
    box.keeper.exec(["true"]).wait()
    if has_groups(box)[1]:
        _, number = spare_of(box)
        check("a box with a spare is frozen", box.keeper.freeze(1) == 0)
        waiting = box.keeper.exec("echo thawed")
        time.sleep(0.1)                        # tests that it does not run meanwhile
        was_waiting = waiting.started is None and not box.keeper.hear()
        box.keeper.freeze(0)
        waiting.wait()
        check("and what was asked for meanwhile is the spare, thawed", bytes(waiting.out) == b"thawed\n" and waiting.started[1] == number, was_waiting, waiting.started, number)
    _, number = spare_of(box, number)
    ends = [c.wait().end for c in [box.keeper.exec(["true"]) for _ in range(50)]]
    check("in a burst one is the spare, and nobody waits for another", all(e["word"] == "exited" for e in ends), ends)
    spare_of(box, number)
    fresh = box.connect()
    fresh.until(lambda: fresh.ready)
    check("nobody is told of a spare: what is listed are execs", all(one["state"] in ("ended", "failed") for one in fresh.listed), fresh.listed)
    groups = box.groups
    box.keeper.stop()
    check("a box that stops with a spare leaves nothing", not any(os.path.exists(g) for g in groups), groups)


def spares_go(bench_of):
    if not os.path.exists(os.path.join(SWITCHES_BUILD, "carrel-init")):
        report("a spare that nobody uses goes", skip="no build-switches")
        return
    with Clock() as clock, bench_of(clock.env, clock.build) as bench:
        box = bench.begin()
        if not has_groups(box)[0]:
            report("a spare that nobody uses goes", skip="no v2 group here")
            return
        _, first = spare_of(box)
        clock.move(SPARE_IDLE_MS / 1000 + 1)   # tests that it waits longer than others
        heard(box)
        check("in a box that never ran anything it stays", spare_of(box)[1] == first)
        box.keeper.exec(["true"]).wait()
        _, second = spare_of(box, first)
        clock.move(SPARE_IDLE_MS / 1000 + 1)
        until("it is gone", lambda: not any(members(box).values()))
        c = box.keeper.exec("echo on").wait()
        _, third = spare_of(box, c.started[1])
        check("a spare that nobody used goes, and comes back after the next command", bytes(c.out) == b"on\n" and c.started[1] != second and third != second, second, third)
        check("it is frozen, thawed, and goes then", box.keeper.freeze(1) in (0, 95))
        clock.move(SPARE_IDLE_MS / 1000 + 1)   # longer than its limit
        box.keeper.freeze(0)
        until("it is gone", lambda: not any(members(box).values()))
    with bench_of({"CARREL_TEST_SPARE_IDLE_MS": "0"}, SWITCHES_BUILD) as bench:
        box = bench.begin()
        box.keeper.exec(["true"]).wait()
        time.sleep(0.3)                        # long enough for one
        check("and a test can do without", not any(members(box).values()), members(box))


def posture(bench):
    box = bench.begin()
    box.keeper.exec(["true"]).wait()
    with open("/proc/%d/status" % box.pid, encoding="ascii") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    none = "0" * 16
    check("a box process has no capability and no way back to one", [status[k] for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [none] * 4 and
          (status["CapBnd"] == none or os.geteuid() != 0) and status["NoNewPrivs"] == "1", status)
    check("it has a filter of its own", status["Seccomp"] == "2", status["Seccomp"])
    if os.geteuid() == 0:
        names = {os.readlink("/proc/%d/fd/%s" % (box.pid, fd)).split(":")[0] for fd in os.listdir("/proc/%d/fd" % box.pid) if int(fd) > 2}
        ours = {n for n in names if n.startswith("/")} - {"/dev/null"}
        check("what it holds open is its own", all(n.startswith((bench.folder, "/sys/fs/cgroup/")) for n in ours) and
              names - ours <= {"/dev/null", "socket", "anon_inode", "pipe"}, names)


def storage(bench):
    if os.geteuid() != 0:
        report("a disk that fills up", skip="needs a file system of its own")
        return
    box = bench.begin(floor_mb=32)
    c = box.keeper.exec("echo fine > /workspace/a; sleep 0.6; echo still").wait()
    check("above the floor nothing happens", bytes(c.out) == b"still\n", vars(c))
    sleep = mark()
    c = box.keeper.exec("head -c 20000000 /dev/zero > /workspace/b; sleep %s" % sleep).wait()
    box.keeper.until(lambda: box.keeper.gone)
    check("a writable disk that is nearly full ends the box", c.end["word"] == "policy_killed" and box.keeper.gone["cause"] == "policy", c.end, box.keeper.gone)
    check("and what ran in it", not running(sleep))


def keeping(bench):
    box = bench.begin(keep_bytes=MIB)
    first = None
    for _ in range(80):
        c = box.keeper.exec("head -c 1000000 /dev/zero", flags=LOSSLESS)
        c.drain()
        c.close()
        first = first or c.started[0] if c.started else first
    box.keeper.hear()
    box.keeper.send("LIST")
    box.keeper.until(lambda: box.keeper.list_done)
    kept = [one["exec"] for one in box.keeper.listed]
    check("finished logs take 64 MiB at most: the oldest are forgotten", 55 <= len(kept) <= 64 and kept == sorted(kept) and kept[-1] == 80, len(kept), kept[:3])
    for how, command in (("line by line", "python3 -c 'import os, time\nwhile True: os.write(1, b\"a line\\n\"); time.sleep(0.001)' %s &"),
                         ("much at once", "sh -c 'while :; do head -c 1000000 /dev/zero; done' %s &")):
        loud = mark()
        box.keeper.exec(command % loud, flags=BACKGROUND).wait()
        until("it shouts", lambda: running(loud))  # noqa: B023
        begun, before = time.monotonic(), wakes(box.pid)
        box.keeper.exec("sleep %s" % (1 if DEEP else 0.3)).wait()
        woken, most = wakes(box.pid) - before, 2 * (time.monotonic() - begun) * 1000 / PAUSE_MS + 50
        box.keeper.kill(0)
        until("it is silent", lambda: not running(loud))  # noqa: B023
        say("a moment of a loud grandchild whose output nobody wants, %s: the box process was woken %d times" % (how, woken))
        check("one who was left behind and shouts %s costs little" % how, woken <= most, woken, most)


def wakes(pid):
    """How often it slept and was woken. A pause costs at most two: its end, and the next message of
    a peer that was silent at that moment.
    """
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))


def memory(bench):
    if os.geteuid() != 0 and not os.environ.get("CARREL_TEST_ALL_LIMITS"):
        report("out of memory", skip="needs a memory group")
        return
    box = bench.begin(memory_mb=64)
    box.keeper.exec("echo kept > /tmp/file").wait()
    for how, script in (("its shell goes on", "head -c 400000000 /dev/zero | tail -c 300000000 | wc -c"), ("it itself", "exec tail -n 1 /dev/zero")):
        c = box.keeper.exec(script, flags=0).wait()
        check("out of memory, %s: the exec says so" % how, c.end["word"] == "oom_killed", c.end)
        on = box.keeper.exec("cat /tmp/file").wait()
        check("... and its box and its files go on", (bytes(on.out), on.end["word"], box.keeper.gone) == (b"kept\n", "exited", None), on.end, box.keeper.gone)
    other = box.keeper.exec("until [ -e /tmp/go ]; do sleep 0.05; done; echo lives")
    hog = box.keeper.exec("exec tail -n 1 /dev/zero", flags=0).wait()
    check("out of memory beside another: one says so", hog.end["word"] == "oom_killed", hog.end)
    box.keeper.exec("touch /tmp/go").wait()
    check("... and the other does not", (other.wait().end["word"], bytes(other.out)) == ("exited", b"lives\n"), other.end)


def older(bench_of):
    if not os.path.exists(os.path.join(SWITCHES_BUILD, "carrel-init")):
        report("a box of protocol 1", skip="no build-switches")
        return
    with bench_of({"CARREL_TEST_BOX_PROTOCOL": "1"}, SWITCHES_BUILD) as bench:
        box = bench.begin()
        box.keeper.send("USAGE")
        check("a box of protocol 1 says so, and knows nothing of USAGE", box.keeper.hello["protocol"] == 1 and
              box.keeper.exec("echo fine").wait().out == b"fine\n" and not box.keeper.other, box.keeper.other)
        check("its journal too", box.journal()[0][:2] == ("-", 1))
    with bench_of({"CARREL_TEST_BOX_GROUPS": "0"}, SWITCHES_BUILD) as bench:
        kills(bench)
        box = bench.begin()
        check("without groups nothing freezes, and it is said", box.keeper.freeze(1) == 95)


def pid_1(keeper):
    """Its pid outside, and the exec that showed it."""
    word = mark()
    c = keeper.exec(["sleep", word])
    c.until(lambda: c.started)
    pid = until("it sleeps", lambda: running(word))[0]
    while True:            # without control groups a reaper is between the two
        with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        if status["NSpid"].split()[-1] == "1":
            return pid, c
        pid = int(status["PPid"])


def stuck(bench_of):
    """Pid 1 is stopped from outside, which no process inside can do: tests what its box does if it
    does not answer (P23).
    """
    with bench_of({"CARREL_TEST_OVERDUE_MS": "700"}, SWITCHES_BUILD) as bench:
        box = bench.begin()
        first, other = pid_1(box.keeper)
        os.kill(first, signal.SIGSTOP)
        begun = boot_ms()
        c = box.keeper.exec(["true"])
        until("a while passes, longer than is asked for below", lambda: boot_ms() > begun + 400)
        os.kill(first, signal.SIGCONT)
        c.wait()
        box.keeper.until(lambda: c.started[0] in box.keeper.finished)
        told = box.keeper.finished[c.started[0]]
        check("a start that took long is part of the command's time", c.end["word"] == "exited" and c.end["duration_ms"] >= 300 and
              begun <= told["started_ms"] <= begun + 300, c.end, told, begun)
        os.kill(first, signal.SIGSTOP)
        c = box.keeper.exec(["true"], timeout_ms=100).wait()
        other.wait()
        box.keeper.until(lambda: box.keeper.gone)
        check("an exec that does not end although it was killed ends its box, in its own word, and the others are lost",
              (c.failed, c.end["word"], other.end["word"], box.keeper.gone["cause"]) == (None, "timed_out", "lost", "stuck") and dead(first), vars(c), other.end, box.keeper.gone)
        box = bench.begin()
        first, other = pid_1(box.keeper)
        os.kill(first, signal.SIGSTOP)
        c = box.keeper.exec(["true"])
        gone = box.keeper.stop()
        c.wait()
        other.wait()
        check("an exec that had not begun when its box was stopped ends as killed", (c.failed, c.end["word"], other.end["word"], gone["cause"]) ==
              (None, "killed", "killed", "stopped"), vars(c), other.end, gone)


def looked(keeper):
    """It has run its loop once more, and what was due is done: timers run before messages."""
    keeper.list_done = False
    keeper.send("LIST")
    keeper.until(lambda: keeper.list_done or keeper.gone)


def busy_machine(bench_of):
    """If a box had no processor for a minute, it does not count that minute against a command that
    was killed before.
    """
    with Clock() as clock, bench_of(clock.env, clock.build) as bench:
        box = bench.begin()
        first, kept = pid_1(box.keeper)
        os.kill(first, signal.SIGSTOP)
        c = box.keeper.exec(["sleep", "1000"], timeout_ms=1000 * clock.window)
        looked(box.keeper)
        clock.move(clock.window + 1)           # its limit
        looked(box.keeper)
        clock.move(60)                         # and no process checked
        looked(box.keeper)
        os.kill(first, signal.SIGCONT)
        c.wait()
        try:
            on = bytes(box.keeper.exec("echo on").wait().out)
        except (Gone, OSError) as e:
            on = repr(e)
        check("time in which a box could not look is not counted against a killed command", (c.end["word"], on) == ("timed_out", b"on\n"), c.end, on)
        kept.close()


LISTS, KEPT, HEAVY, STRINGS = 100, 256, 120, 150000
LAST_LISTS, LAST_KEPT = 40, 16      # more than a socket holds, and less than the box queues (KEEPER_QUEUE_FULL)


def full_link(bench):
    """A keeper that requests 10 MB of lists and reads nothing: the box does not read from it
    either, and its link stays (Q1).
    """
    box = bench.begin()
    for c in [box.keeper.exec(["true"]) for _ in range(KEPT)]:
        c.wait()
    keeper = box.connect()
    keeper.until(lambda: keeper.ready)
    keeper.listed.clear()
    said = threading.Thread(target=lambda: [keeper.send("LIST") for _ in range(LISTS)])      # it waits: the box does not read
    said.start()
    other = box.keeper.exec("echo on").wait()
    try:
        until("the kernel takes no more", lambda: not said.is_alive() or not select.select([], [keeper.sock], [], 0)[1])
        keeper.until(lambda: len(keeper.listed) >= LISTS * KEPT)
    except Gone as e:
        report("a keeper that asks for much and reads late hears all of it", [str(e), "%d of %d" % (len(keeper.listed), LISTS * KEPT)])
        return
    finally:
        said.join()
    check("a keeper that asks for much and reads late hears all of it", bytes(other.out) == b"on\n")


def last_words(bench):
    """A keeper ends without having read what the box reported, and its last message orders an exec
    of a caller that lives: the box reads that message before it closes the link.
    """
    box = bench.begin()
    for _ in range(LAST_KEPT):
        box.keeper.exec(["true"]).wait()
    keeper = box.connect()
    keeper.until(lambda: keeper.ready)
    for _ in range(LAST_LISTS):
        keeper.send("LIST")
    until("the box has read every request", lambda: struct.unpack("i", fcntl.ioctl(keeper.sock, termios.TIOCOUTQ, bytes(4)))[0] == 0)
    os.kill(box.pid, signal.SIGSTOP)
    try:
        until("the box is stopped", lambda: state_of(box.pid) == "T")
        c = keeper.exec("echo heard")
        keeper.close()
    finally:
        os.kill(box.pid, signal.SIGCONT)
    try:
        c.wait()
    except (Gone, AssertionError):
        pass    # checked below
    check("what a keeper ordered last is done, whatever it left unread", bytes(c.out) == b"heard\n", vars(c))


def full_guest(bench):
    """18 MB of commands for a pid 1 that does not read: those beyond a limit are refused, and the
    sandbox lives.
    """
    box = bench.begin()
    first, kept = pid_1(box.keeper)
    os.kill(first, signal.SIGSTOP)
    heavy = [box.keeper.exec(["true"], env=("PATH=/bin:/usr/bin", "A=" + "x" * 100000, "B=" + "x" * (STRINGS - 100000))) for _ in range(HEAVY)]
    try:
        until("one is refused", lambda: select.select([c.sock for c in heavy], [], [], 0)[0])
    finally:
        os.kill(first, signal.SIGCONT)
    for c in heavy:
        c.wait()
    refused = [c for c in heavy if c.failed]
    wrong = [vars(c) for c in heavy if not (c.failed and c.failed[1] == errno.EAGAIN) and not (c.end and c.end["word"] == "exited")]
    check("commands that wait for pid 1 past a bound are refused, the others run, and the sandbox lives",
          not wrong and 0 < len(refused) < HEAVY and bytes(box.keeper.exec("echo on").wait().out) == b"on\n", wrong[:1], len(refused))
    kept.close()


def main():
    only = sys.argv[1:]
    for test in (begin_and_end, round_trip, grandchildren, many_at_once, floods, stdin, stdin_in_order, terminal, kills, attaching, keepers, death, deadlines, freezing, spares, posture, storage,
                 keeping, memory, full_link, last_words, full_guest):
        if only and test.__name__ not in only:
            continue
        with Bench() as bench:
            test(bench)
    if not only or "spares_go" in only:
        spares_go(lambda env, build: Bench(env, build))
    if not only or "stuck" in only:
        stuck(lambda env, build: Bench(env, build))
    if not only or "busy_machine" in only:
        busy_machine(lambda env, build: Bench(env, build))
    if not only or "older" in only:
        older(lambda env, build: Bench(env, build))
    box_rig.end()


if __name__ == "__main__":
    main()
