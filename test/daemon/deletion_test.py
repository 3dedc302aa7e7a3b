#!/usr/bin/env python3
"""deletion_test - scheduled deletion: the daemon's default, a caller's own time, and that neither
extending nor pausing moves it.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import end, report
from daemon_rig import Daemon, until
from test_clock import Clock


def main():
    with Clock() as clock:
        lasts = max(15, clock.window)              # seconds: it is created, extended and found again before that, also on a busy machine
        with Daemon("--delete-after", "%ds" % lasts, program=os.path.join(clock.build, "carrel"), env=clock.env) as d:
            deletion(clock, d, lasts)
    end()


def deletion(clock, d, lasts):
    start = time.time()
    first = d.must("POST", "/v1/sandboxes", {"name": "default", "timeout_ms": 600000, "start": True})
    made = time.time()
    own = d.must("POST", "/v1/sandboxes", {"name": "own", "delete_at_ms": int((start + 3600) * 1000)})
    never = d.must("POST", "/v1/sandboxes", {"name": "never", "delete_at_ms": 0})
    report("the daemon's default is told", [] if (start + lasts) * 1000 - 1 <= first["delete_at_ms"] <= (made + lasts) * 1000 + 1 else ["%r" % first])
    report("a caller's own moment is kept", [] if own["delete_at_ms"] == int((start + 3600) * 1000) and "delete_at_ms" not in never else ["%r, %r" % (own, never)])
    d.must("POST", "/v1/sandboxes/default/extend", {"duration_ms": 3600000})
    d.stop()
    d.start()
    clock.move(lasts / 2)
    wrong = [] if d.call("GET", "/v1/sandboxes/default").status == 200 else ["it was gone before its moment"]
    clock.move(lasts / 2)
    try:
        until("it is deleted", lambda: d.call("GET", "/v1/sandboxes/default").status == 404)
    except AssertionError as e:
        wrong.append(str(e))
    report("it is deleted at its moment, extended or not, over a restart", wrong)
    until("what is being stopped is gone too", lambda: not any(i["name"] == "default" for i in d.must("GET", "/v1/sandboxes")["items"]))
    names = {i["name"] for i in d.must("GET", "/v1/sandboxes")["items"]}
    report("and no other is", [] if names == {"own", "never"} else ["%r" % names])
    d.must("DELETE", "/v1/sandboxes/never")
    d.must("DELETE", "/v1/sandboxes/own")


if __name__ == "__main__":
    main()
