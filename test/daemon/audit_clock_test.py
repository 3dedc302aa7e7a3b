#!/usr/bin/env python3
"""audit_clock_test - the audit log while the wall clock is set, and at midnight (P30, P31; J12, J11,
Z18): numbers give the order, no time goes back, a day begins a file, and everything verifies.
"""
import datetime
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from audit_rig import all_ended, folder, log, starts_and_ends, unpaired, verify
from box_rig import SWITCHES, check, end, report, until
from daemon_rig import Daemon
from test_clock import Clock

YEAR = 365 * 86400


def files(d):
    return sorted(int(n[4:-6]) for n in os.listdir(folder(d)) if n.startswith("log-"))


def times(d):
    return [e["ts"] for e in log(d)]


def is_ordered(d):
    """Numbers without a gap, times that never go back, and the boot clock's order is that of the numbers."""
    entries = log(d)
    boots = [e["metadata"]["carrel"]["boot_ms"] for e in entries]
    return [e["seq"] for e in entries] == list(range(len(entries))) and times(d) == sorted(times(d)) and boots == sorted(boots)


def jumps(clock):
    with Daemon(program=SWITCHES, env=clock.env) as d:
        box = d.create()
        for years in (0, 1, -1, 0, -10, 10, 0):
            clock.set_wall(years * YEAR)
            d.exec(box, ["true"])
            all_ended(d)
        now = datetime.datetime.now(datetime.timezone.utc).year
        seen = {int(t[:4]) - now for t in times(d)}
        check("J12: the clock was set a year and ten years ahead and back; entries have these times, and none goes back", {0, 1, 10} <= seen and min(seen) == 0 and is_ordered(d), seen)
        report("J12: and the log verifies", verify(d))
        check("J12: one end of each start", not unpaired(d) and len(starts_and_ends(d)) == 7, starts_and_ends(d))
        clock.set_wall(-YEAR)
        d.stop()
        d.start()
        d.exec(box, ["true"])
        all_ended(d)
        check("J12: a daemon that starts with an earlier clock continues it", is_ordered(d) and len(starts_and_ends(d)) == 8 and not verify(d), verify(d))
        clock.set_wall(0)


def midnight(clock):
    with Daemon(program=SWITCHES, env=clock.env) as d:
        box = d.create()
        today = datetime.datetime.now(datetime.timezone.utc)
        ahead = datetime.timedelta(days=2) + today.replace(hour=0, minute=0, second=0, microsecond=0) - today
        clock.set_wall(ahead.total_seconds() - 3600)
        runs = d.exec(box, ["sh", "-c", "while ! test -e go; do sleep 0.01; done; exit 7"], background=True)
        before = files(d)
        clock.set_wall(ahead.total_seconds() + 60)
        d.exec(box, ["true"])
        all_but = lambda: [s for s, ends in starts_and_ends(d).items() if not ends]
        until("the other has ended", lambda: len(all_but()) == 1)
        after = files(d)
        check("a new day begins a file, named by its first entry", len(after) == len(before) + 1 and after[:-1] == before, before, after)
        d.call("PUT", "/v1/sandboxes/%s/files?path=go" % box, b"")
        all_ended(d)
        start = int(runs["audit_ref"].rsplit("/", 1)[1])
        check("a command that runs over midnight has its start in one file and its end in the next", start < after[-1] and [o["exit_code"] for o in starts_and_ends(d)[start]] == [7], starts_and_ends(d)[start])
        clock.set_wall(ahead.total_seconds() - 60)
        d.exec(box, ["true"])
        all_ended(d)
        check("a clock that is set back over midnight begins none", files(d) == after, files(d))
        report("and all files verify", verify(d))
        d.restart_parts(lambda: os.kill(d.children()["carrel-recorder"], 9))
        clock.set_wall(ahead.total_seconds() + 86400 + 60)
        until("it runs again", lambda: d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]}).status == 200)
        all_ended(d)
        check("nor does a recorder that was killed lose the order", len(files(d)) == len(after) + 1 and is_ordered(d) and not unpaired(d), files(d))
        report("and it verifies", verify(d))
        clock.set_wall(0)


def main():
    if not os.access(SWITCHES, os.X_OK):
        report("the audit log while the clock is set", skip="no build with test switches")
        end()
        return
    for part in (jumps, midnight):
        with Clock() as clock:
            part(clock)
    end()


if __name__ == "__main__":
    main()
