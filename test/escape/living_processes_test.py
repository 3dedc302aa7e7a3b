#!/usr/bin/env python3
# slow: 50 s: ends of commands are waited for, one after the other
"""living_processes_test - group C of the attacks, in a living sandbox: processes, kill, timeouts, endings."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, SLOW, end, report, side_by_side
from daemon_rig import Daemon, until

ORPHANS, EXECS = (10000, 1000) if DEEP else (500, 200)
ESCAPER = ("import os,time\n"
           "def beat(path):\n"
           "    while True:\n"
           "        open(path, 'a').write('x'); time.sleep(0.02)\n"
           "for how in range(3):\n"
           "    if os.fork() == 0:\n"
           "        os.setsid()\n"
           "        if os.fork() == 0:\n"
           "            if how == 1: os.setpgid(0, 0)\n"
           "            if how == 2: open('/proc/self/comm', 'w').write('kworker')\n"
           "            beat('/home/agent/beat%d' % how)\n"
           "        os._exit(0)\n"
           "time.sleep(1000)\n")


def beats(d, box):
    return int(d.exec(box, "cat /home/agent/beat* 2>/dev/null | wc -c")["stdout"].strip() or 0)


def is_quiet(d, box):
    """Whether the heartbeat stopped: two checks with other work between them."""
    first = beats(d, box)
    for _ in range(5):
        d.exec(box, "sleep 0.03")
    return beats(d, box) == first


def tree_kill(d, _):
    """C01, C02: whatever a tree does to escape, a timeout, a kill and a task's end reach it."""
    side_by_side(*(lambda how=how: tree_kill_by(d, how) for how in ("timeout", "kill", "task", "signal-proof")))


def tree_kill_by(d, how):
    box = d.create(start=True)
    d.exec(box, "mkdir -p /home/agent")
    wrong = []
    try:
        # On a busy machine that delays the heartbeats, they get more time.
        for timeout_ms in (1500 * SLOW, 6000 * SLOW, 60000 * SLOW):
            path = escaper_start(d, box, how, timeout_ms)
            if until("its children beat, or are over", lambda: "beat" if beats(d, box) > 3 else is_over(d, path)) == "beat":
                break
        if how == "kill":
            d.must("DELETE", path)
        state = until("it ended", lambda: is_over(d, path))
        want = "killed" if how == "kill" else "timed_out"
        if state["outcome"] != want:
            wrong.append("outcome %s" % state["outcome"])
        until("nobody beats", lambda: is_quiet(d, box))
    except AssertionError as e:
        wrong.append(str(e))
    d.must("DELETE", "/v1/sandboxes/" + box)
    report("C02 a tree of double forks in sessions of their own ends by %s" % how, wrong)


def is_over(d, path):
    state = d.must("GET", path)
    return state if state["state"] == "ended" else None


def escaper_start(d, box, how, timeout_ms):
    """The path of an exec whose children try to escape; `how`: what limits its time."""
    d.exec(box, "rm -f /home/agent/beat*")
    code = ("import signal\nfor s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)\n" if how == "signal-proof" else "") + ESCAPER
    fields = {"background": True}
    if how in ("timeout", "signal-proof"):
        fields["timeout_ms"] = timeout_ms
    if how == "task":
        fields["task"] = "t%d" % timeout_ms
        d.must("POST", "/v1/sandboxes/%s/tasks" % box, {"task": fields["task"], "timeout_ms": timeout_ms})
    return "/v1/sandboxes/%s/execs/%d" % (box, d.exec(box, ["python3", "-c", code], **fields)["exec"])


def fork_race(d, box):
    """C04: a fork bomb is limited and killed."""
    job = d.exec(box, ["perl", "-e", "fork while 1"], background=True, timeout_ms=400 * SLOW)
    path = "/v1/sandboxes/%s/execs/%d" % (box, job["exec"])
    wrong = []
    try:
        until("it ended", lambda: d.must("GET", path)["state"] == "ended")
        until("nobody is left", lambda: d.exec(box, "ls /proc | grep -c '^[0-9]'")["stdout"].strip() in ("3", "4", "5", "6"))
    except AssertionError as e:
        wrong.append(str(e))
    report("C04 a fork bomb ends with its exec", wrong)


def odd_numbers(d, box):
    """C06: only numbers of the sandbox's own table name an exec."""
    wrong = []
    for word in ("0", "-1", "1" * 30, "2147483648", "12abc", "%00", "1/2", "+1", "0x1", "18446744073709551616"):
        for method, path in (("DELETE", "/v1/sandboxes/%s/execs/%s"), ("GET", "/v1/sandboxes/%s/execs/%s")):
            a = d.call(method, path % (box, word))
            if a.status in (200, 500) and not (a.status == 200 and a.json == {"existed": False}):
                wrong.append("%s %s: %r" % (method, word, a))
    for number in (0, -1, 65, "x", 1.5, None):
        a = d.call("POST", "/v1/sandboxes/%s/execs/1/signal" % box, {"signal": number})
        if a.status < 400 or a.code != "invalid_argument":
            wrong.append("signal %r: %r" % (number, a))
    if d.exec(box, "echo alive")["stdout"] != "alive\n":
        wrong.append("something died")
    report("C06 odd exec numbers and signals", wrong)


def orphans(d, box):
    """C07: orphans leave no zombie."""
    d.exec(box, ["python3", "-c", "import os\nfor i in range(%d):\n    if os.fork() == 0:\n        if os.fork() == 0: os._exit(0)\n        os._exit(0)\n    os.wait()\n" % ORPHANS], timeout=300,
           timeout_ms=100000)
    wrong = []
    try:
        until("no zombies", lambda: d.exec(box, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '")["stdout"].strip() == "0")
    except AssertionError as e:
        wrong.append(str(e))
    report("C07 %d orphans are reaped" % ORPHANS, wrong)


def exit_fidelity(d, box):
    """C11: every status and signal is reported."""
    wrong = []
    for code in list(range(0, 256, 17)) + [1, 2, 126, 127, 128, 255]:
        e = d.exec(box, ["sh", "-c", "exit %d" % code])
        if (e["outcome"], e["exit_code"]) != ("exited", code):
            wrong.append("exit %d: %r" % (code, e))
    for number in (1, 2, 3, 6, 9, 11, 13, 15):
        e = d.exec(box, ["sh", "-c", "kill -%d $$" % number])
        if (e["outcome"], e["signal"]) != ("signaled", number):
            wrong.append("signal %d: %r" % (number, e))
    report("C11 exit statuses and signals are exact", wrong)


def supervisor_signals(d, box):
    """C10: the payload cannot reach pid 1 or Carrel's processes."""
    other = d.create(start=True)
    d.exec(box, "kill -9 1; kill -TERM 1; true")
    d.exec(box, "kill -9 -1")
    wrong = []
    if d.exec(other, "echo o")["stdout"] != "o\n":
        wrong.append("another sandbox died")
    if d.must("GET", "/v1/sandboxes/" + box)["status"] != "running" or d.exec(box, "echo i")["stdout"] != "i\n":
        wrong.append("the sandbox did not live on")
    d.must("DELETE", "/v1/sandboxes/" + other)
    report("C10 kill -9 -1 and kill -9 1 hurt nobody else", wrong)


def stdin_abuse(d, box):
    """C12: much input for a command that does not read, and for one that has ended."""
    wrong = []
    for command in ("sleep 0.2", "true", "head -c 10 >/dev/null"):
        job = d.exec(box, command, background=True, stdin=True)
        path = "/v1/sandboxes/%s/execs/%d" % (box, job["exec"])
        try:
            a = d.call("POST", path + "/stdin?end=true", b"x" * (4 << 20), timeout=300)
            if a.status >= 500:
                wrong.append("%s: %r" % (command, a))
        except OSError:
            pass
        try:
            until("it ends", lambda: d.must("GET", path)["state"] == "ended")
        except AssertionError as e:
            wrong.append("%s: %s" % (command, e))
    job = d.exec(box, "wc -c", background=True, stdin=True)
    path = "/v1/sandboxes/%s/execs/%d" % (box, job["exec"])
    d.call("POST", path + "/stdin?end=true", b"x" * (8 << 20), timeout=300)
    got = d.must("GET", path + "/output?wait=true")["stdout"].strip()
    if got != str(8 << 20):
        wrong.append("wc counted %s of 8 MiB" % got)
    report("C12 standard input that is not read", wrong)


def extend_arithmetic(d):
    """C13: the remaining time is always correct."""
    box = d.create(timeout_ms=60000)
    wrong = []
    for value in (-1, 0, "x", 1.5, None, True, 1e30, 9223372036854775807, 18446744073709551615):
        a = d.call("POST", "/v1/sandboxes/%s/extend" % box, {"duration_ms": value})
        if a.status < 400 or a.code != "invalid_argument":
            wrong.append("%r: %r" % (value, a))
    if not 0 < d.must("GET", "/v1/sandboxes/" + box)["timeout_ms"] <= 60000:
        wrong.append("a refused call changed the time")
    left = d.must("POST", "/v1/sandboxes/%s/extend" % box, {"duration_ms": 60000})["timeout_ms"]
    if not 60000 < left <= 120000:
        wrong.append("60 s more are %d" % left)
    for _ in range(50):
        d.must("POST", "/v1/sandboxes/%s/extend" % box, {"duration_ms": 31536000000})
    d.must("DELETE", "/v1/sandboxes/" + box)
    if d.call("POST", "/v1/sandboxes/%s/extend" % box, {"duration_ms": 1}).status != 404:
        wrong.append("a stopped one was extended")
    report("C13 extending adds, and nothing else", wrong)


def no_mixing(d, box):
    """C14: sixty-four at once, each gets its own bytes."""
    wrong = []

    def one(i):
        token = "t%03d" % i
        e = d.exec(box, "i=0; while [ $i -lt 4096 ]; do echo %s; i=$((i+1)); done" % token, timeout=300)
        if e["stdout"] != (token + "\n") * 4096:
            wrong.append("%s got %d bytes, others among them: %s" % (token, len(e["stdout"]), set(e["stdout"].split()) - {token}))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(64)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(300)
    report("C14 outputs of 64 execs do not mix", wrong)


def disconnect(d, box):
    """C15: closing the connection kills a foreground exec, and no background one."""
    wrong = []
    stream = d.stream("POST", "/v1/sandboxes/%s/execs" % box, {"command": "sleep 987"})
    name, data = next(stream)
    stream.close()
    try:
        got = until("it is killed", lambda: (lambda e: e if e["state"] == "ended" else None)(d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, data["exec"]))))
        if got["outcome"] != "killed":
            wrong.append("outcome %s" % got["outcome"])
    except AssertionError as e:
        wrong.append(str(e))
    job = d.exec(box, "sleep 986", background=True)
    if d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, job["exec"]))["state"] != "running":
        wrong.append("a background exec died with its call")
    d.must("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, job["exec"]))
    report("C15 what a caller's going means", wrong)


def races(d):
    """C08: stops at any moment of creating and running."""
    wrong = []
    for i in range(60 if DEEP else 20):
        box = d.create(start=True)
        t = threading.Thread(target=lambda b=box: d.call("POST", "/v1/sandboxes/%s/execs" % b, {"command": "true"}))
        t.start()
        time.sleep((i % 20) / 1000)       # it does not matter which moments are met, only that there are many
        first, second = d.call("DELETE", "/v1/sandboxes/" + box), d.call("DELETE", "/v1/sandboxes/" + box)
        t.join(300)
        if first.json != {"existed": True} or second.json != {"existed": False}:
            wrong.append("%r, %r" % (first, second))
    try:
        until("no box is left", lambda: not os.listdir(os.path.join(d.state, "boxes")) or len(os.listdir(os.path.join(d.state, "boxes"))) == 1)
    except AssertionError as e:
        wrong.append(str(e))
    report("C08 stopping at any moment", wrong)


def contract_under_load(d, box):
    """Execs whose grandchildren hold standard output; a hundred at once."""
    wrong = []

    def some(count):
        for _ in range(count):
            e = d.exec(box, "sleep 600 & echo done", timeout=300)
            if e["stdout"] != "done\n" or e["outcome"] != "exited":
                wrong.append("%r" % e)

    threads = [threading.Thread(target=some, args=(EXECS // 100,)) for _ in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(300)
    report("%d execs whose grandchildren hold the output, a hundred at once" % EXECS, wrong[:5])


LARGE = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 120000}\nmetadata: {carrel: {limits: {pids: 4000}}}\n---\n"


def main():
    """All of them, or the named ones."""
    parts = (tree_kill, fork_race, odd_numbers, orphans, exit_fidelity, stdin_abuse, extend_arithmetic, no_mixing, disconnect, races, contract_under_load, supervisor_signals)
    with Daemon() as d:
        box = d.create(start=True)
        d.exec(box, "mkdir -p /home/agent")
        for part in parts:
            if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
                continue
            if part in (extend_arithmetic, races):
                part(d)
            else:
                part(d, d.create(manifest=LARGE) if part is contract_under_load else box)
    end()


if __name__ == "__main__":
    main()
