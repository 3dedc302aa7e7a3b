#!/usr/bin/env python3
# slow: 25 s: trees of hundreds of processes are made and killed in turn
# deep as root: more processes of the same kind
"""guest_test - pid 1 of a box, controlled directly: many commands at once, whole trees,
connections.

Rows of the threat list: C02 C04 C06 C07 C10 C11 C14 C16.
"""
import errno
import os
import re
import select
import shutil
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_rig as rig
import wire
from daemon_rig import groups_of
from test_clock import Clock
from guest_rig import (BUILTIN, CLD_EXITED, CLD_KILLED, DIRECTORY, GROUP, LAST, LOOKUP, MANIFEST, PREPARE, RIG, SPAWN, TERMINAL, TREE, TTY, Ended, Guest,
                       need_program, wait_for, workspace)


# -- commands ------------------------------------------------------------------------------------------------------

def test_many_at_once(g):
    pipes, numbers, gate = {}, [], os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    for i in range(200):
        ours, theirs = os.pipe()
        number = g.exec(["sh", "-c", "echo token-%d; read go; exit %d" % (i, i % 256)], 0, [gate[0], theirs, null])
        os.close(theirs)
        pipes[number] = (ours, i)
        numbers.append(number)
    os.close(gate[0])
    g.until(lambda: all(n in g.started or n in g.failed for n in numbers))
    os.close(gate[1])                          # all of them run now; this lets them end
    is_done = g.until(lambda: all(n in g.ended for n in numbers))
    wrong = [] if is_done else ["%d of 200 ended" % sum(n in g.ended for n in numbers)]
    together = running = 0
    for what, number in g.order:
        running += {"started": 1, "ended": -1}[what] if number in pipes else 0
        together = max(together, running)
    for number, (fd, i) in pipes.items():
        text = os.read(fd, 4096)
        os.close(fd)
        if text != b"token-%d\n" % i or (number in g.ended and (g.ended[number].code, g.ended[number].status) != (CLD_EXITED, i % 256)):
            wrong.append((i, text, vars(g.ended.get(number))))
    os.close(null)
    if together < 200:
        wrong.append("only %d ran together" % together)
    rig.report("200 commands at once: each its own output, status and ending (C11 C14)", wrong)


def test_signals_and_ends(g):
    null = os.open("/dev/null", os.O_RDWR)
    wrong = []
    for flags in (0, TREE):
        for which in (signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1, signal.SIGRTMAX):
            number = g.exec(["sleep", "1000"], flags, [null] * 3)
            g.signal(number, which)            # may arrive before the report that the command has started
            g.over(number)
            ended = g.ended.get(number)
            if not ended or (ended.code, ended.status) != (CLD_KILLED, which):
                wrong.append((flags, which, ended and vars(ended)))
    for number in (0, 2**32 - 1, 999999, 2**31):
        g.signal(number, signal.SIGKILL)       # of no command
    a = g.exec(["sleep", "1000"], 0, [null] * 3)
    b = g.exec(["sh", "-c", "exit 7"], 0, [null] * 3)
    g.over(b)
    if a in g.ended or g.ended[b].status != 7:
        wrong.append("a signal for nobody met somebody")
    again = g.exec(["true"], 0, [null] * 3, number=a)
    g.until(lambda: again in g.failed)
    if g.failed.pop(again, None) != (errno.EEXIST, SPAWN):
        wrong.append("a number was given twice")
    g.signal(a, signal.SIGKILL)
    g.over(a)
    os.close(null)
    rig.report("signals reach the command they are for, at once or as soon as it runs; numbers are not given twice (C06)", wrong)


def test_failures(g):
    null = os.open("/dev/null", os.O_RDWR)
    wrong = []
    rows = [("no such command", ["nothing-here"], 0, {}, (errno.ENOENT, LOOKUP)),
            ("no such directory", ["true"], 0, {"cwd": "/nowhere"}, (errno.ENOENT, DIRECTORY)),
            ("no such function", ["format-disk"], BUILTIN, {}, (errno.ENOENT, LOOKUP)),
            ("a function without its directory", ["stat", "/"], BUILTIN, {"cwd": "/nowhere"}, (errno.ENOENT, DIRECTORY)),
            ("a function with a terminal", ["stat", "/"], BUILTIN | TTY, {"fds": []}, (errno.EPROTO, TERMINAL)),
            ("too few descriptors", ["true"], 0, {"fds": [null]}, (errno.EPROTO, TERMINAL)),
            ("no group among them", ["true"], GROUP, {}, (errno.EPROTO, TERMINAL))]
    for what, argv, flags, words, expected in rows:
        for more in (0, TREE) if not flags else (0,):
            words = {"fds": [null] * 3, **words}
            number = g.exec(argv, flags | more, **words)
            g.over(number)
            if g.failed.get(number) != expected or number in g.ended or number in g.started:
                wrong.append((what, more, g.failed.get(number)))
    with open("/dev/null", "wb") as nothing:   # a group that cannot be joined: the write fails, but not as a group's would
        read_only = os.open("/dev/null", os.O_RDONLY)
        for flags in (0, TREE, BUILTIN):
            number = g.exec(["stat", "/"], GROUP | flags, [null, null, nothing.fileno(), read_only])
            g.over(number)
            if g.failed.get(number) != (errno.EBADF, PREPARE):
                wrong.append(("a group that cannot be joined", flags, g.failed.get(number)))
        os.close(read_only)
    os.close(null)
    rig.report("what does not start says at which stage", wrong)


def test_usage(g):
    burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    busy, _, _ = g.sh(burn)
    idle, _, _ = g.run(["true"])
    tree, _, _ = g.sh(burn, flags=TREE)
    rig.check("each command is told its own time and memory, not the sum of all before it",
              busy.user_us > 3 * max(idle.user_us, 100) and tree.user_us > 3 * max(idle.user_us, 100) and 0 < idle.rss_kb < 100000,
              vars(busy), vars(idle), vars(tree))


def test_terminal(g):
    number = g.exec(["sh", "-c", "stty size; trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.05; done"], TTY, [])
    text = read_master(g, number, b"ready")
    g.send("RESIZE", struct.pack("<IHH", number, 50, 132))
    text += read_master(g, number, b"50 132")
    g.over(number)
    tree = g.exec(["sh", "-c", "tty; sleep 1000"], TTY | TREE, [])
    text += read_master(g, tree, b"/dev/pts/")
    g.kill(tree)
    g.over(tree)
    hung_up = read_master(g, tree, b"never said")
    rig.check("a terminal has its size, is resized, and ends with its command", b"24 80" in text and b"50 132" in text and
              g.ended[number].status == 3 and g.ended[tree].status == 9 and b"/dev/pts/" in text and b"never" not in hung_up, text)


def read_master(g, number, wanted):
    g.until(lambda: number in g.masters or number in g.failed)
    fd, text, end = g.masters.get(number, -1), b"", time.monotonic() + rig.PATIENCE
    while wanted not in text and time.monotonic() < end:
        if not select.select([fd], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(fd, 4096)
        except OSError:
            break
        if not piece:
            break
        text += piece
    return text


# Waits for a line, creates 50 orphans, and prints how many of them are still zombies after a while.
ORPHANS = r'''
import os, time
while not os.path.exists("/workspace/go"):
    time.sleep(0.02)
for i in range(50):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.1)
        os._exit(0)
    os.wait()
begun = time.monotonic()
while True:
    zombies = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            zombies += ") Z 1 " in open("/proc/%s/stat" % pid).read()
        except OSError:
            pass
    if (zombies == 0 and time.monotonic() > begun + 0.5) or time.monotonic() > begun + 60:
        break
    time.sleep(0.05)
open("/workspace/went.new", "w").write(str(zombies))
os.rename("/workspace/went.new", "/workspace/went")
raise SystemExit(9)
'''


def slurp(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def test_slow_reader(workspace):
    """No process reads the control socket: nothing is lost, and pid 1 continues to reap and to
    kill.
    """
    with Guest(workspace) as g:
        null = os.open("/dev/null", os.O_RDWR)
        g.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        numbers = [g.exec(["sh", "-c", "exit 5"], 0, [null] * 3) for _ in range(60)]
        marked = g.exec(["python3", "-c", ORPHANS], 0, [null] * 3)
        sent = 0
        g.socket.setblocking(False)
        try:
            while sent < 3000:
                g.exec(["true"], BUILTIN, [])              # refused: each gets an answer. (The number of descriptors in transit is limited for a user.)
                sent += 1
        except BlockingIOError:
            g.last -= 1
        g.socket.setblocking(True)
        time.sleep(0.2)
        rig_file = os.path.join(workspace, "go")
        open(rig_file, "w").close()
        wait_for(lambda: os.path.exists(os.path.join(workspace, "went")))
        went = slurp(os.path.join(workspace, "went"))
        is_done = g.until(lambda: all(n in g.ended for n in numbers) and marked in g.ended and len(g.failed) >= sent)
        os.close(null)
        rig.check("a reader that does not read loses no ending and stops nobody", is_done and went == "0" and sent > 100, went, sent, len(g.ended), len(g.failed))


def test_last_ends_the_box(workspace):
    with Guest(workspace) as g:
        null = os.open("/dev/null", os.O_RDWR)
        other = g.exec(["sleep", "1000"], 0, [null] * 3)
        last = g.exec(["sh", "-c", "exit 4"], LAST, [null] * 3)
        g.until(lambda: g.is_gone)
        os.close(null)
        rig.check("the box ends with the command that is marked as the last", g.ended[last].status == 4 and g.is_gone and other not in g.ended)


# -- trees ---------------------------------------------------------------------------------------------------------

ESCAPE = r'''
import os, sys, time, ctypes
def beat(name):
    f = open("/workspace/beat-" + name, "ab", 0)     # grows, and is never empty between two beats, however slow the disk
    while True:
        f.write(b"x")
        time.sleep(0.05)
def detach(depth):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    os.setpgid(0, 0)
    if depth < 3:
        detach(depth + 1)
    ctypes.CDLL(None).prctl(15, b"init", 0, 0, 0)
    beat("%s-%d" % (sys.argv[1], depth))
detach(0)
print("detached", flush=True)
time.sleep(float(sys.argv[2]))
'''


def beats(workspace, name):
    found = {}
    for entry in os.listdir(workspace):
        if entry.startswith("beat-%s-" % name):
            with open(os.path.join(workspace, entry), encoding="utf-8") as f:
                found[entry] = f.read()
    return found


def still_beating(workspace, name):
    before = beats(workspace, name)
    time.sleep(0.2)                            # four beats
    return [k for k, v in beats(workspace, name).items() if v and before.get(k) and v != before[k]]


def goes_on(workspace, name):
    """A busy disk may delay a beat for a while."""
    before = beats(workspace, name)
    return wait_for(lambda: any(v and before.get(k) and v != before[k] for k, v in beats(workspace, name).items()))


def start_escape(g, workspace, name, flags, fds, stays):
    number = g.exec(["python3", "-c", ESCAPE, name, str(stays)], flags, fds)
    if not wait_for(lambda: len(beats(workspace, name)) >= 4):
        return number, ["it did not get going: %s" % beats(workspace, name)]
    return number, []


def test_tree(g, workspace):
    null = os.open("/dev/null", os.O_RDWR)
    for name, stays in (("living", 1000), ("ended", 0)):
        other, wrong = start_escape(g, workspace, "other" + name, TREE, [null] * 3, 1000)
        number, more = start_escape(g, workspace, name, TREE, [null] * 3, stays)
        wrong += more
        if stays == 0:
            g.over(number)
            if not goes_on(workspace, name):
                wrong.append("what the command left behind did not go on")
        g.kill(number)
        g.over(number)
        if not wait_for(lambda: not still_beating(workspace, name)):
            wrong.append("alive: %s" % still_beating(workspace, name))
        if not goes_on(workspace, "other" + name):
            wrong.append("another tree died of it")
        if stays and (g.ended[number].code, g.ended[number].status) != (CLD_KILLED, 9):
            wrong.append(vars(g.ended[number]))
        g.kill(other)
        g.over(other)
        wait_for(lambda: g.count() == (0, 0))
        if g.count() != (0, 0):
            wrong.append("left: %s" % (g.count(),))
        rig.report("a tree dies whole whatever its members became, and no other (%s command) (C02)" % name, wrong)
    os.close(null)


# Its first thread ends and looks like a zombie; another thread continues.
HEADLESS = r'''
import ctypes, threading, time
def beat():
    f = open("/workspace/beat-headless-0", "ab", 0)
    while True:
        f.write(b"x")
        time.sleep(0.05)
threading.Thread(target=beat).start()
ctypes.CDLL(None).syscall(60, 0)
'''


def test_headless(g, workspace):
    null = os.open("/dev/null", os.O_RDWR)
    number = g.exec(["sh", "-c", "python3 -c \"$0\" & wait", HEADLESS], TREE, [null] * 3)
    wrong = [] if wait_for(lambda: beats(workspace, "headless")) and goes_on(workspace, "headless") else ["it did not get going"]
    g.kill(number)
    if not g.over(number) or not wait_for(lambda: not still_beating(workspace, "headless")):
        wrong.append("it lives on")
    os.close(null)
    rig.report("a process that looks like a zombie and is none dies with its tree", wrong)


def test_pipes_end(g):
    """The end of output is the command's own, although its reaper waits for the rest of the tree.
    """
    ours, theirs = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    number = g.exec(["sh", "-c", "sleep 1000 < /dev/null > /dev/null 2>&1 & echo done"], TREE, [null, theirs, theirs])
    os.close(theirs)
    os.close(null)
    g.until(lambda: number in g.started)
    idles = g.idles
    text, is_ended, end = b"", False, time.monotonic() + rig.PATIENCE
    while not is_ended and time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            piece = os.read(ours, 100)
            text += piece
            is_ended = not piece
    os.close(ours)
    g.over(number)
    left, is_told = g.count(), g.idles > idles
    g.kill(number)
    gone = wait_for(lambda: g.count() == (0, 0))
    rig.check("pid 1 says that it has no child left once what a command left running is gone, and not before", not is_told and g.until(lambda: g.idles > idles), is_told)
    rig.check("a reaper holds no end of its command's pipes", is_ended and text == b"done\n" and left == (1, 0) and gone, is_ended, text, left, gone)


def test_tree_against_reapers(g, workspace):
    """The payload has the reapers' uid: it may stop and kill them."""
    null = os.open("/dev/null", os.O_RDWR)
    for what, command in (("stopped", "STOP"), ("killed", "KILL")):
        number, wrong = start_escape(g, workspace, what, TREE, [null] * 3, 1000)
        _, out, _ = g.sh("read a init c < /proc/1/stat; for p in /proc/[0-9]*; do read a b c < $p/stat; p=${p#/proc/}; [ $p != 1 ] && "
                         "[ $b = $init ] && kill -%s $p && echo $p; done" % command)
        if not out.strip():
            wrong.append("no reaper was found: %r" % out)
        if what == "stopped":
            g.kill(number)
        if not g.over(number):
            wrong.append("its end was not told")
        if not wait_for(lambda: not still_beating(workspace, what)):
            wrong.append("alive: %s" % still_beating(workspace, what))
        wait_for(lambda: g.count() == (0, 0))
        if g.count() != (0, 0):
            wrong.append("left: %s" % (g.count(),))
        rig.report("a tree whose reaper was %s by the payload dies all the same" % what, wrong)
    os.close(null)


def test_killer_of_all(g):
    """A command may end its reaper in its first moment, before the reaper reported that the command
    has started.
    """
    wrong = []
    for i in range(200):
        done, _, _ = g.run(["sh", "-c", "kill -9 -1"], flags=TREE)
        if isinstance(done, tuple) or not done:
            wrong.append("%d: %r" % (i, done))
    rig.report("a command that kills whom it can reach ran, and is not told as one that did not start (C10)", wrong[:5])


def test_fork_bomb(g):
    null = os.open("/dev/null", os.O_RDWR)
    number = g.exec(["python3", "-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"], TREE, [null] * 3)
    time.sleep(1.0)
    begun = time.monotonic()
    g.kill(number)
    g.over(number)
    wait_for(lambda: g.count()[0] == 0)
    took = time.monotonic() - begun
    os.close(null)
    rig.check("a fork bomb is killed (C04)", g.count()[0] == 0, g.count(), took)
    print("# it took %.2f s" % took)


CROWDED_S = 40         # seconds. Two thousand processes share the processors: pid 1 runs every few seconds, and needs a few turns


def processor_group():
    """A control group below this one, whose members together count as one; None if none can be
    created.
    """
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    for base, own in (("/sys/fs/cgroup/" + names, own) for _, names, own in lines if "cpu" in names.split(",") or not names):
        path = os.path.join(base.rstrip("/") + own, "carrel-guest-test-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, "cgroup.procs")) and any(os.path.exists(os.path.join(path, name)) for name in ("cpu.shares", "cpu.weight")):
            return path
        os.rmdir(path)
    return None


def join(path):
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as f:
        f.write("0")


def test_crowded_fork_bomb(workspace):
    """In one group with pid 1, where sessions have no share of their own: each of two thousand
    processes gets as much of the processors as pid 1.
    """
    name = "a fork bomb that leaves pid 1 no time is stopped first, and killed then (C04)"
    path = processor_group()
    if not path:
        rig.report(name, skip="no control group of processors can be made here")
        return 0
    took = []
    join(path)
    try:
        # Enough of them to delay pid 1; with all of them that takes ten seconds of every processor.
        crowd = {**MANIFEST, "metadata": {"carrel": {"limits": {"open_files": 4096, "pids": 2000 if rig.DEEP else 500}}}}
        with Guest(workspace, crowd) as g:
            join(os.path.dirname(path))
            null = os.open("/dev/null", os.O_RDWR)
            for _ in range(3):                 # other programs may use the machine for a while, but not in each attempt
                number = g.exec(["python3", "-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"], TREE, [null] * 3)
                g.until(lambda: number in g.started)  # noqa: B023
                time.sleep(1.0)
                begun = time.monotonic()
                g.kill(number)
                g.over(number)
                took.append(time.monotonic() - begun)
                if took[-1] < CROWDED_S or not wait_for(lambda: g.count()[0] == 0):
                    break
            os.close(null)
            rig.check(name, took[-1] < CROWDED_S and number in g.ended and wait_for(lambda: g.count()[0] == 0), took, g.count())
            print("# it took %.2f s" % took[-1])
    finally:
        join(os.path.dirname(path))
        wait_for(lambda: removed(path))
    return 1


def generations(workspace, name):
    try:
        with open(os.path.join(workspace, name), "rb") as f:
            return struct.unpack("<Q", f.read(8))[0]
    except (FileNotFoundError, struct.error):
        return 0


def is_running(workspace, name):
    before = generations(workspace, name)
    time.sleep(0.3)
    return generations(workspace, name) != before


def test_runners(g, workspace):
    """They fork and exit faster than a list of processes is read; all are seen only when all are
    stopped.
    """
    null = os.open("/dev/null", os.O_RDWR)
    runner = os.path.join(workspace, "runner")
    shutil.copy(os.path.join(os.path.dirname(RIG), "runner"), runner)
    os.chmod(runner, 0o755)
    wrong = []
    bystander = g.exec(["sh", "-c", "while :; do sleep 0.05; echo >> /workspace/beat-bystander-0; done"], TREE, [null] * 3)
    g.until(lambda: bystander in g.started)
    for count in (1, 20):
        for how in ("ordered", "unled"):
            name = "%s-%d" % (how, count)
            number = g.exec(["/workspace/runner", "/workspace/" + name, str(count)], TREE, [null] * 3)
            if not wait_for(lambda: generations(workspace, name) > 1000):
                wrong.append("%s did not get going" % name)
            begun = time.monotonic()
            if how == "ordered":
                g.kill(number)
            else:
                g.run(["python3", "-c", KILL_REAPER, str(g.started[bystander])])
            if not wait_for(lambda: not is_running(workspace, name)):
                wrong.append("%s run on after %d generations" % (name, generations(workspace, name)))
            print("# %s: gone after %.2f s" % (name, time.monotonic() - begun))
    if not goes_on(workspace, "bystander"):
        wrong.append("another command did not go on")
    g.kill(bystander)
    g.over(bystander)
    os.close(null)
    if not wait_for(lambda: g.count() == (0, 0)):
        wrong.append("left: %s" % (g.count(),))
    rig.report("a tree that is never where one looks dies, and its neighbours go on", wrong)


# Kills every reaper except the one above the named process.
KILL_REAPER = r'''
import os, sys
def stat(pid):
    text = open("/proc/%s/stat" % pid).read()
    return text[text.index("(") + 1:text.rindex(")")], int(text[text.rindex(")") + 2:].split()[1])
kept = stat(sys.argv[1])[1]
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        name, parent = stat(pid)
    except OSError:
        continue
    if parent == 1 and name == stat(1)[0] and int(pid) != kept:
        os.kill(int(pid), 9)
'''


def group_folder():
    """A control group of this test, of either version; None if this user may not create one."""
    bases = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory"]
    for base in bases:
        path = os.path.join(base, "carrel-guest-test-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, "cgroup.procs")):
            return path
        os.rmdir(path)
    return None


def test_group(g, workspace):
    path = group_folder()
    if not path:
        rig.report("a command and all it starts is in its group", skip="no control group can be made here")
        return
    null = os.open("/dev/null", os.O_RDWR)
    join = os.open(os.path.join(path, "cgroup.procs"), os.O_WRONLY)
    number, wrong = start_escape(g, workspace, "group", GROUP, [null, null, null, join], 1000)

    def members():
        with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as f:
            return f.read().split()

    if len(members()) < 5:
        wrong.append("in the group: %s" % members())
    _, out, _ = g.run(["stat", "/workspace"], b"", BUILTIN | GROUP, [join])
    if not out:
        wrong.append("a function did not run in the group")
    end = time.monotonic() + rig.PATIENCE
    while members() and time.monotonic() < end:        # what the box will do, with cgroup.kill or without it
        for pid in members():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
    if not g.over(number) or still_beating(workspace, "group"):
        wrong.append("it lives on")
    os.close(join)
    os.close(null)
    if not wait_for(lambda: removed(path)):
        wrong.append("the group is still in use")
    if g.count() != (0, 0):
        wrong.append("left: %s" % (g.count(),))
    rig.report("a command and all it starts is in its group, and dies by it (C02)", wrong)


# -- the child that is ready ---------------------------------------------------------------------------------------

class Ready:
    """A group of this test, and spares of this guest in it."""

    def __init__(self, g, path):
        self.g, self.path, self.number, self.join = g, path, 0, os.open(os.path.join(path, "cgroup.procs"), os.O_WRONLY)
        self.pid = self.inside = self.host_init = None

    def members(self):
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as f:
            return [int(line) for line in f]

    def make(self):
        """Requests one, and waits until it is in the group and waits for its command."""
        self.number += 1
        self.g.send("PREFORK", struct.pack("<II", self.number, 0), [self.join])
        self.pid = rig.until("a spare is ready", lambda: self.new(self.members()))
        fields = status_of(self.pid)
        self.inside, self.host_init = int(fields["NSpid"].split()[-1]), int(fields["PPid"])
        return self.inside

    def new(self, members):
        """The new one, not the previous one, and it waits: it leads a session by then."""
        fields = status_of(members[0]) if len(members) == 1 and members != [self.pid] else {}
        return members[0] if fields.get("State", "").startswith("S") and fields["NSsid"] == fields["NSpid"] else None

    def exec(self, argv, flags=0, fds=(), **words):
        return self.g.exec(argv, GROUP | flags, [*fds, self.join], spare=self.number, **words)

    def run(self, argv, flags=0, **words):
        return self.g.run(argv, b"", GROUP | flags, [self.join], spare=self.number, **words)

    def frozen(self, wanted):
        with open(os.path.join(self.path, "cgroup.freeze"), "w", encoding="ascii") as f:
            f.write("1" if wanted else "0")
        if wanted:
            rig.until("it stands still", lambda: "frozen 1" in slurp(os.path.join(self.path, "cgroup.events")))

    def close(self):
        self.g.send("PREFORK", struct.pack("<II", 0, 0))
        os.close(self.join)
        return wait_for(lambda: removed(self.path))


def status_of(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    except OSError:
        return {}


# Everything that a command starts with, except its pid.
BORN = ("grep -E 'Sig|Shd|Umask|Groups|NoNewPrivs|Seccomp|Cap' /proc/self/status; umask; nice; ulimit -a; readlink /proc/self/cwd; ls /proc/self/fd; cat /proc/self/cgroup; "
        "cut -d' ' -f4 /proc/$$/stat; [ $$ = $(cut -d' ' -f6 /proc/$$/stat) ] && echo leads; env | sort; cat; cat /proc/self/oom_score_adj /proc/self/timerslack_ns")


def test_spare(g):
    path = group_folder()
    if not path:
        rig.report("a child that is ready becomes the command", skip="no control group can be made here")
        return
    null = os.open("/dev/null", os.O_RDWR)
    ready = Ready(g, path)
    for test in (spare_serves, spare_fails, spare_terminal, spare_is_attacked, spare_in_flight, spare_is_cancelled, spare_words, spare_forgets):
        wrong = []
        test(g, ready, null, wrong)
        rig.report(test.__doc__, wrong)
    os.close(null)
    rig.check("a spare that is let go leaves its group empty", ready.make() and ready.close())


def spare_serves(g, ready, null, wrong):
    """the child that is ready becomes the command, which cannot tell the difference"""
    plain, expected, _ = g.run(["sh", "-c", BORN], b"", GROUP, [ready.join], env=("PATH=/usr/bin:/bin", "A=1"))
    inside = ready.make()
    ended, out, _ = ready.run(["sh", "-c", BORN], env=("PATH=/usr/bin:/bin", "A=1"))
    if g.started[g.last] != inside or ended.status != plain.status or out != expected or b"leads" not in out:
        wrong.append((g.started.get(g.last), inside, vars(ended), out, expected))
    inside = ready.make()
    ended, out, _ = ready.run(["stat", "/workspace"], BUILTIN)
    if g.started[g.last] != inside or ended.status != 0 or not out:
        wrong.append(("a function", vars(ended), out))
    inside = ready.make()
    ended, out, _ = ready.run(["sh", "-c", "echo $# ${#A}", "x", *["y" * 1000] * 60], env=("PATH=/usr/bin:/bin", "A=" + "z" * 100000))
    if g.started[g.last] != inside or out != b"60 100000\n":
        wrong.append(("a long message", out))
    null_run = g.run(["sh", "-c", "echo on"], b"", GROUP, [ready.join], spare=ready.number)
    if null_run[1] != b"on\n":
        wrong.append(("its number once more", null_run))
    ready.make()
    os.kill(ready.pid, 0)
    ended, out, _ = g.run(["sh", "-c", "echo on"], b"", GROUP, [ready.join], spare=ready.number + 7)
    if out != b"on\n" or not status_of(ready.pid):
        wrong.append(("another number", out))


def spare_fails(g, ready, null, wrong):
    """a command that does not start says the same through it"""
    for what, argv, flags, words, expected in (
            ("no such command", ["nothing-here"], 0, {}, (errno.ENOENT, LOOKUP)), ("no permission", ["/etc/passwd"], 0, {}, (errno.EACCES, LOOKUP)),
            ("no such directory", ["true"], 0, {"cwd": "/nowhere"}, (errno.ENOENT, DIRECTORY)), ("no such function", ["format-disk"], BUILTIN, {}, (errno.ENOENT, LOOKUP)),
            ("a function without its directory", ["stat", "/"], BUILTIN, {"cwd": "/nowhere"}, (errno.ENOENT, DIRECTORY))):
        for has_spare in (0, 1):
            if has_spare:
                ready.make()
            number = g.exec(argv, GROUP | flags, [null, null, null, ready.join], spare=ready.number if has_spare else 0, **words)
            g.over(number)
            if g.failed.get(number) != expected or number in g.ended or number in g.started or (has_spare and not wait_for(lambda: not ready.members())):
                wrong.append((what, has_spare, g.failed.get(number), ready.members()))


def spare_terminal(g, ready, null, wrong):
    """a terminal is its own, too"""
    inside = ready.make()
    number = ready.exec(["sh", "-c", "stty size; tty; read x; echo got $x > /dev/tty"], TTY)
    text = read_master(g, number, b"/dev/pts/")
    os.write(g.masters[number], b"word\n")
    text += read_master(g, number, b"got word")
    g.over(number)
    if g.started[number] != inside or b"24 80" not in text or b"got word" not in text or g.ended[number].status != 0:
        wrong.append((text, inside, g.started, vars(g.ended[number])))


def spare_is_attacked(g, ready, null, wrong):
    """what the payload does to it costs no command: killed, stopped, sent every signal"""
    for what, script, stays in (("killed", "kill -9 %d", False), ("stopped", "kill -STOP %d", True), ("TERM and more", "for s in 1 2 3 15 10 12 20 21 22 64; do kill -$s %d; done", True)):
        inside = ready.make()
        pid = ready.pid
        g.sh(script % inside)
        if what == "stopped":
            rig.until("it is stopped", lambda: status_of(pid)["State"].startswith("T"))  # noqa: B023
        ended, out, _ = ready.run(["sh", "-c", "echo here; cat /proc/self/cgroup"])
        if not isinstance(ended, Ended) or ended.status != 0 or b"here" not in out or os.path.basename(ready.path).encode() not in out:
            wrong.append((what, ended and vars(ended), out))
        if (g.started.get(g.last) == inside) != stays:
            wrong.append((what, "it was %s" % ("another" if stays else "the same")))


def spare_in_flight(g, ready, null, wrong):
    """nor when it strikes between the word and the start"""
    command, function = ["sh", "-c", "echo $A; exit 6"], ["list", "/", "1", "9999"]
    for what, argv, strike, stays in (("killed", command, signal.SIGKILL, False), ("a function killed", function, signal.SIGKILL, False),
                                      ("stopped", command, signal.SIGSTOP, True), ("stopped and killed", command, None, False)):
        inside = ready.make()
        ready.frozen(True)                     # it has the word, and does not come to read it
        ours, theirs = os.pipe()
        number = ready.exec(argv, BUILTIN if argv is function else 0, [null, theirs, null], env=("PATH=/usr/bin:/bin", "A=kept"))
        os.close(theirs)
        g.signal(number, signal.SIGURG)        # pid 1 has read the command before this, and does so before anything else
        g.run(["true"])
        for one in [strike] if strike else [signal.SIGSTOP, signal.SIGKILL]:
            os.kill(ready.pid, one)
        ready.frozen(False)
        if not g.over(number):
            wrong.append((what, "it was never told"))
            continue
        ended = g.ended.get(number)
        out = os.read(ours, 100)
        os.close(ours)
        if not ended or ended.status != (0 if argv is function else 6) or (not out if argv is function else out != b"kept\n") or (g.started[number] == inside) != stays:
            wrong.append((what, g.failed.get(number), ended and vars(ended), out, g.started.get(number), inside))
        if not wait_for(lambda: not ready.members()):
            wrong.append((what, "left in the group", ready.members()))


def spare_is_cancelled(g, ready, null, wrong):
    """one that is killed by word before it has begun is not begun again, and a group that stands still holds pid 1 up in nothing"""
    ready.make()
    ready.frozen(True)
    number = ready.exec(["true"], fds=[null] * 3)
    g.run(["true"])
    os.kill(ready.host_init, signal.SIGSTOP)   # the word and the death are both there when it looks
    g.signal(number, signal.SIGKILL)
    os.kill(ready.pid, signal.SIGKILL)         # as cgroup.kill does
    rig.until("it is dead", lambda: status_of(ready.pid).get("State", "Z").startswith("Z"))
    os.kill(ready.host_init, signal.SIGCONT)
    if not g.over(number) or g.failed.get(number) != (errno.ECANCELED, SPAWN):
        wrong.append((g.failed.get(number), number in g.ended, number in g.started))
    if g.run(["echo", "on"])[1] != b"on\n":
        wrong.append("pid 1 waits for somebody")
    ready.frozen(False)
    ready.make()
    ready.frozen(True)
    number = ready.exec(["sleep", "1000"], fds=[null] * 3)
    g.signal(number, signal.SIGTERM)
    ready.frozen(False)
    g.over(number)
    if number not in g.ended or (g.ended[number].code, g.ended[number].status) != (CLD_KILLED, signal.SIGTERM):
        wrong.append(("another signal", number in g.ended and vars(g.ended[number])))


def spare_words(g, ready, null, wrong):
    """one waits at a time, and a box that wants none has none"""
    first = ready.make()
    pid = ready.pid
    ready.number += 1
    g.send("PREFORK", struct.pack("<II", ready.number, 0), [ready.join])
    rig.until("another one waits", lambda: ready.members() and ready.members() != [pid])
    rig.until("and one only", lambda: len(ready.members()) == 1)
    g.send("PREFORK", struct.pack("<II", 0, 0))
    if not wait_for(lambda: not ready.members()) or first == 0:
        wrong.append(("it did not go", ready.members()))
    ended, out, _ = ready.run(["echo", "on"])
    if out != b"on\n":
        wrong.append(("after it has gone", out))
    g.send("PREFORK", struct.pack("<II", 9, 0))          # no group
    g.send("PREFORK", b"")
    read_only = os.open("/dev/null", os.O_RDONLY)
    g.send("PREFORK", struct.pack("<II", 10, 0), [read_only])
    os.close(read_only)
    ended, out, _ = g.run(["echo", "on"], b"", GROUP, [ready.join], spare=10)
    if out != b"on\n":
        wrong.append(("none could be made", out))


def readable(pid):
    """Everything in a process's memory."""
    with open("/proc/%d/maps" % pid, encoding="ascii") as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            first, last = (int(x, 16) for x in line.split()[0].split("-"))
            try:
                memory.seek(first)
                yield memory.read(last - first)
            except (OSError, ValueError, OverflowError):
                continue


def spare_forgets(g, ready, null, wrong):
    """it holds nothing but 0, 1, 2 and its socket, and no word of the commands before it"""
    if not rig.ROOT:
        print("# only root can look")
        return
    word = "secret-%d" % os.getpid()
    for has_spare in (0, 1):
        if has_spare:
            ready.make()
        ended, out, _ = g.run(["sh", "-c", "echo ${#SECRET}"], b"", GROUP, [ready.join], spare=ready.number if has_spare else 0, env=("PATH=/usr/bin:/bin", "SECRET=" + word))
        if out != b"%d\n" % len(word):
            wrong.append((has_spare, out))
    ready.make()
    ready.frozen(True)                         # killed in flight: the message is used again
    number = ready.exec(["true"], fds=[null] * 3, env=("PATH=/usr/bin:/bin", "SECRET=" + word))
    g.run(["true"])
    os.kill(ready.pid, signal.SIGKILL)
    ready.frozen(False)
    g.over(number)
    busy = g.exec(["sleep", "1000"], TTY, [])
    g.until(lambda: busy in g.started)
    g.exec(["true"], 0, [null] * 3, env=("SECRET=" + word,), number=busy)      # and one that is refused
    g.until(lambda: busy in g.failed)
    del g.failed[busy]
    ready.make()
    for pid in (ready.pid, ready.host_init):
        if any(word.encode() in part for part in readable(pid)):
            wrong.append("%s knows what an earlier command was told" % ("pid 1" if pid == ready.host_init else "a spare"))
    if sorted(os.listdir("/proc/%d/fd" % ready.pid)) != ["0", "1", "2", "3"]:
        wrong.append([(fd, os.readlink("/proc/%d/fd/%s" % (ready.pid, fd))) for fd in os.listdir("/proc/%d/fd" % ready.pid)])
    if [status_of(ready.pid)[name] for name in ("CapEff", "NoNewPrivs", "Seccomp")] != [status_of(ready.host_init)[name] for name in ("CapEff", "NoNewPrivs", "Seccomp")]:
        wrong.append(status_of(ready.pid))
    _, out, _ = g.sh("p=%d; for f in mem environ fd/3 root maps exe; do head -c1 /proc/$p/$f 2>/dev/null | grep -q . && echo reached $f; readlink /proc/$p/$f; done; echo looked" % ready.inside)
    if out != b"looked\n":
        wrong.append(("the payload reached into it", out))
    g.signal(busy, signal.SIGKILL)
    g.over(busy)


def removed(path):
    try:
        os.rmdir(path)
    except OSError:
        pass
    return not os.path.exists(path)


def test_orphans(g):
    wrong, orphans = [], 10000 if rig.DEEP else 1000
    for flags in (0, TREE):
        script = ("import os\nfor i in range(%d):\n  for k in range(5):\n    if os.fork() == 0:\n      for j in range(100):\n        if os.fork() == 0: os._exit(0)\n"
                  "      os._exit(0)\n  for k in range(5): os.wait()\n") % (orphans / 500)
        result, _, err = g.run(["python3", "-c", script], flags=flags)
        if not isinstance(result, Ended) or result.status != 0:
            wrong.append((flags, result, err[-200:]))
        if not wait_for(lambda: g.count() == (0, 0)):
            wrong.append((flags, g.count()))
    rig.report("%d orphans leave no zombie (C07)" % orphans, wrong)


def test_fresh(g):
    wrong = []
    for flags in (0, TREE):
        _, out, _ = g.sh("grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status; umask; ls /proc/self/fd | wc -l; kill -9 1; kill -9 -1", flags=flags)
        values = re.findall(rb"Sig\w+:\t(\w+)", out)
        if [int(v, 16) for v in values[:2]] != [0, 0] or b"0022" not in out:
            wrong.append((flags, out))
    if g.run(["true"])[0].status != 0:
        wrong.append("pid 1 did not survive a kill from inside")
    rig.report("a command begins with fresh signals, and cannot end pid 1 (C10 C16)", wrong)


# -- connections ---------------------------------------------------------------------------------------------------

SERVE = r'''
import socket, sys
six = sys.argv[2] == "6"
s = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if six: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
s.bind(("::1" if six else "127.0.0.1", int(sys.argv[1])))
s.listen(0 if sys.argv[3] == "deaf" else 50)
print("listening", flush=True)
while sys.argv[3] == "deaf":
    import time; time.sleep(1)
while True:
    c, _ = s.accept()
    c.sendall(b"hello " + c.recv(100))
    c.close()
'''


def serve(g, port, family, how):
    ours, theirs = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    number = g.exec(["python3", "-c", SERVE, str(port), family, how], 0, [null, theirs, null])
    os.close(theirs)
    os.close(null)
    text = os.read(ours, 100)
    os.close(ours)
    return number if text == b"listening\n" else None


GIVE_UP_S = int(re.search(r"\bCONNECT_MS = (\d+)", wire.source("src/guest/connect.h")).group(1)) / 1000


def connect(g, request, port):
    g.send("CONNECT", struct.pack("<IHH", request, port, 0))


def talk(s):
    s.setblocking(True)
    s.settimeout(rig.PATIENCE)
    s.sendall(b"you")
    text = b""
    while True:
        piece = s.recv(100)
        if not piece:
            break
        text += piece
    s.close()
    return text


def test_connect(g, clock):
    wrong = []
    servers = [serve(g, 4001, "4", "well"), serve(g, 4002, "6", "well"), serve(g, 4003, "4", "deaf")]
    for request, port in ((1, 4001), (2, 4002), (3, 4004), (4, 0)):
        connect(g, request, port)
    g.until(lambda: all(r in g.connected for r in (1, 2, 3, 4)))
    for request in (1, 2):
        sys_, s = g.connected.get(request, (None, None))
        if sys_ != 0 or not s or talk(s) != b"hello you":
            wrong.append((request, g.connected.get(request)))
    if g.connected.get(3) != (errno.ECONNREFUSED, None):
        wrong.append(("nobody listens", g.connected.get(3)))
    if not g.connected.get(4) or g.connected[4][0] == 0:
        wrong.append(("port 0", g.connected.get(4)))
    first, more = range(100, 140), range(200, 300)
    for request in first:
        connect(g, request, 4003)              # its queue is full after the first few

    def waiting():
        """How many wait, or have waited until they were given up."""
        return sum(g.connected.get(r, (errno.ETIMEDOUT, 0))[0] == errno.ETIMEDOUT for r in first)

    done, _, _ = g.run(["true"])
    if not done or done.status != 0 or not waiting():
        rig.report("ports inside are reached", [*wrong, "a port that does not accept held up a command"])
        return
    connect(g, 5, 4001)
    g.until(lambda: 5 in g.connected)
    if g.connected.get(5, (None, None))[0] != 0 or talk(g.connected[5][1]) != b"hello you":
        wrong.append("a port that does not accept held up another")
    if waiting() < 10:
        wrong.append("only %d connections waited: the test shows nothing" % waiting())
    for request in more:
        connect(g, request, 4003)
    g.until(lambda: any(g.connected.get(r, (0, 0))[0] == errno.EAGAIN for r in more))
    if not any(g.connected.get(r, (0, 0))[0] == errno.EAGAIN for r in more):
        wrong.append("there is no end to connections that wait")
    g.run(["true"])                            # pid 1 has read all of them before this one
    clock.move(GIVE_UP_S)
    g.until(lambda: all(r in g.connected for r in [*first, *more]))
    answers = [g.connected.get(r, (None, 0))[0] for r in [*first, *more]]
    if None in answers or errno.ETIMEDOUT not in answers:
        wrong.append(answers)
    for _, s in g.connected.values():
        if s:
            s.close()
    for number in servers:
        if number is None:
            wrong.append("a server did not start")
        else:
            g.signal(number, signal.SIGKILL)
            g.over(number)
    rig.report("ports inside are reached, over IPv6 too; one that does not accept keeps nobody waiting", wrong)


def test_hidden(g, workspace):
    """The payload cannot look into a helper that runs with its own uid, nor into pid 1."""
    null = os.open("/dev/null", os.O_RDWR)
    pipe = os.pipe()
    number = g.exec(["write"], BUILTIN, [pipe[0], null, null])
    g.until(lambda: number in g.started)
    reaped = g.exec(["sleep", "1000"], TREE, [null] * 3)
    g.until(lambda: reaped in g.started)
    _, out, _ = g.sh("for p in 1 %d $(($(cut -d' ' -f4 /proc/%d/stat))); do for f in mem environ fd/0 root maps exe; do head -c1 /proc/$p/$f 2>/dev/null | grep -q . "
                     "&& echo reached $p $f; readlink /proc/$p/$f; done; done; echo looked" % (g.started[number], g.started[reaped]))
    os.close(pipe[1])
    g.over(number)
    g.kill(reaped)
    g.over(reaped)
    os.close(pipe[0])
    os.close(null)
    rig.check("functions and reapers are as little in reach as pid 1", out == b"looked\n", out)


def test_nothing_stays(boxes):
    """Other programs may run boxes at the same time: those of this test have known ids, and their
    makers have answered.
    """
    groups = groups_of(Guest.ids)
    rig.check("nothing stays on the host", not groups and len(Guest.ids) == boxes and not any(Guest.statuses), groups, Guest.statuses)


def main():
    need_program()
    with workspace() as w:
        with Guest(w.path) as g:
            for test in (test_many_at_once, test_signals_and_ends, test_failures, test_usage, test_terminal):
                test(g)
            test_tree(g, w.path)
            test_headless(g, w.path)
            test_pipes_end(g)
            test_group(g, w.path)
            test_spare(g)
            test_orphans(g)
            test_hidden(g, w.path)
            test_fresh(g)
        with Guest(w.path) as g:
            test_tree_against_reapers(g, w.path)
            test_killer_of_all(g)
            test_fork_bomb(g)
            test_runners(g, w.path)
        with Clock() as clock, Guest(w.path, clock=clock) as g:
            test_connect(g, clock)
        boxes = 5 + test_crowded_fork_bomb(w.path)
        test_slow_reader(w.path)
        test_last_ends_the_box(w.path)
        test_nothing_stays(boxes)
    rig.end()


main()
