#!/usr/bin/env python3
"""clock_test - N10, Z20: lifetimes follow the boot clock. The wall clock jumps by a year, in both
directions, and the machine restarts.

The keeper is that of build-switches: its environment names another boot id, and test_clock moves its
wall clock. If the machine's own clock may be set (CARREL_TEST_MAY_SET_CLOCK, in test/vm), the test
sets it while a keeper runs.
"""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
from box_rig import CARREL, SWITCHES, check, end, report
from keeper_rig import Keeper, boxes_running, until
from test_clock import Clock
from keeper_test import attempt, box_pid, status, wrong

BUILD = os.path.dirname(SWITCHES)
YEAR_MS = 365 * 86400 * 1000
HOUR_MS = 3600 * 1000


def jump(k, clock, ms):
    """The wall clock jumps while no keeper runs."""
    k.stop(signal.SIGKILL)
    clock.set_wall(ms / 1000)
    k.start()
    return k.caller()


def jumps():
    with Clock() as clock, Keeper(clock=clock) as k:
        c = k.caller()
        now = int(time.time() * 1000)
        living = c.call("create", start=True, timeout_ms=600000)["id"]
        waiting = c.call("create", timeout_ms=600000)["id"]
        scheduled = c.call("create", delete_at_ms=now + HOUR_MS)["id"]
        _, task = c.channel("exec.start", id=living, command="sleep 777", background=True, timeout_ms=500000)
        task.until(lambda: task.started)
        last = [600000]

        def kept(c, live=(living, waiting)):
            left = [c.call("get", id=one)["timeout_ms"] for one in live]
            found = wrong(states=([status(c, one) for one in live], ["running", "pending"]), command=(c.call("exec.get", id=living, exec=1)["state"], "running"))
            found += [] if all(500000 < one <= last[0] for one in left) else ["left: %r, before %d" % (left, last[0])]
            last[0] = max(left)
            return found

        late = jump(k, clock, -YEAR_MS)
        attempt("a wall clock a year back fires no deadline and lengthens none", lambda: kept(late))
        attempt("and what is to be deleted at a later moment waits for it", lambda: wrong(status=(status(late, scheduled), "pending")))
        later = jump(k, clock, YEAR_MS)
        attempt("a wall clock a year ahead fires no deadline and lengthens none", lambda: kept(later))

        def deleted():
            until("it is deleted", lambda: later.refused("get", id=scheduled) == "sandbox_not_found")
        attempt("what is to be deleted at a moment of the wall clock is, when that clock has passed it", deleted)

        def short():
            id = later.call("create", start=True, timeout_ms=3000)["id"]
            last_one = jump(k, clock, -YEAR_MS)
            clock.move(3)
            until("it ends by its own clock", lambda: last_one.refused("get", id=id) == "sandbox_not_found")
        attempt("a lifetime ends at its moment, whatever the wall clock did meanwhile", short)


def boots():
    with Clock() as clock, Keeper(clock=clock) as k:
        c = k.caller()
        made, waiting = c.call("create", start=True, timeout_ms=500000)["id"], c.call("create", timeout_ms=500000)["id"]
        endless, frozen = c.call("create")["id"], c.call("create", start=True)["id"]
        _, channel = c.channel("exec.start", id=made, command="sleep 1000", background=True)
        channel.until(lambda: channel.started)
        pids = [box_pid(k, one) for one in (made, frozen)]
        decoys = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
        k.stop(signal.SIGKILL)
        for pid in pids:                                 # a restart of the machine leaves no process
            os.kill(pid, signal.SIGKILL)
        until("they are dead", lambda: all(box_wire.dead(pid) for pid in pids))
        k.env = {"CARREL_TEST_BOOT_ID": "00000000-1111-2222-3333-444444444444"}
        k.start()
        late = k.caller()

        def told():
            got = [late.call("get", id=one) for one in (made, frozen)]
            return wrong(made=([(g["status"], g.get("cause")) for g in got], [("failed", "lost")] * 2), waiting=(status(late, waiting), "pending"),
                         endless=((status(late, endless), "timeout_ms" in late.call("get", id=endless)), ("pending", False)), boxes=(boxes_running(k.state), 0))
        attempt("after a start of the machine what ran is failed and lost, what waited waits (Z20)", told)

        def left():
            one = late.call("get", id=waiting)["timeout_ms"]
            out = bytes(late.exec(waiting, "echo up").out)
            return ([] if 400000 < one <= 500000 else [one]) + wrong(out=(out, b"up\n"))
        attempt("with the time it had left, and it can be used", left)
        check("no stranger was signalled", [d.poll() for d in decoys] == [None] * 3, [d.poll() for d in decoys])
        for d in decoys:
            d.kill()
            d.wait()
        attempt("what is lost can be stopped", lambda: wrong(existed=([late.call("stop", id=one)["existed"] for one in (made, frozen)], [True, True])))
        k.env = {"CARREL_TEST_BOOT_ID": "55555555-1111-2222-3333-444444444444"}
        clock.set_wall(-YEAR_MS / 1000)
        os.kill(box_pid(k, waiting), signal.SIGKILL)
        until("it has failed", lambda: status(late, waiting) == "failed")
        k.restart()
        last = k.caller()
        attempt("a start with a clock that lost its battery: the same", lambda: wrong(endless=(status(last, endless), "pending"), lost=(status(last, waiting), "failed")))


def shipped():
    """Only programs built for tests let another process move their clock, or accept any other test
    variable.
    """
    def knows(program):
        with open(program, "rb") as f:
            return b"CARREL_TEST_" in f.read()
    check("the shipped program knows no clock of a test", not knows(CARREL), CARREL)
    check("and a program made for tests does, so that is where such a word would be", not os.access(SWITCHES, os.X_OK) or knows(SWITCHES), SWITCHES)


def machine():
    """The real clock, with a keeper and a box that run."""
    with Keeper() as k:
        c = k.caller()
        id, scheduled = c.call("create", start=True, timeout_ms=600000)["id"], c.call("create", delete_at_ms=int(time.time() * 1000) + HOUR_MS)["id"]
        _, channel = c.channel("exec.start", id=id, command="sleep 777", background=True, timeout_ms=500000)
        channel.until(lambda: channel.started)
        found, last = [], 600000
        for year in (-YEAR_MS, 2 * YEAR_MS, -YEAR_MS):
            time.clock_settime(time.CLOCK_REALTIME, time.time() + year / 1000)
            c.exec(id, "true")
            left = c.call("get", id=id)["timeout_ms"]
            found += [] if 300000 < left <= last else ["%d ms are left of %d" % (left, last)]
            found += wrong(command=(c.call("exec.get", id=id, exec=1)["state"], "running"))
            last = left
        report("the machine's clock jumps by years under what runs: no deadline fires or moves", found)
        time.clock_settime(time.CLOCK_REALTIME, time.time() + 2 * HOUR_MS / 1000)

        def deleted():
            until("it is deleted", lambda: c.refused("get", id=scheduled) == "sandbox_not_found")
        attempt("a scheduled deletion comes when the clock was set past it", deleted)
        time.clock_settime(time.CLOCK_REALTIME, time.time() - 2 * HOUR_MS / 1000)


if __name__ == "__main__":
    if os.access(os.path.join(BUILD, "carrel-keeper"), os.X_OK):
        jumps()
        boots()
    else:
        report("jumps of the wall clock, starts of the machine", skip="no build-switches")
    shipped()
    if os.environ.get("CARREL_TEST_MAY_SET_CLOCK"):
        machine()
    end()
