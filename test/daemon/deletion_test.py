#!/usr/bin/env python3
"""deletion_test - scheduled deletion: the daemon's default, a caller's own moment, and what neither extending nor pausing moves."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import end, report
from daemon_rig import Daemon, until


def main():
    lasts = 15                                 # seconds: it is made, extended and found again before that, on a busy machine too
    with Daemon("--delete-after", "%ds" % lasts) as d:
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
        try:
            until("it is deleted", lambda: d.call("GET", "/v1/sandboxes/default").status == 404)
            wrong = [] if time.time() >= start + lasts - 0.1 else ["after %.1f s" % (time.time() - start)]
        except AssertionError as e:
            wrong = [str(e)]
        report("it is deleted at its moment, extended or not, over a restart", wrong)
        until("what is being stopped is gone too", lambda: not any(i["name"] == "default" for i in d.must("GET", "/v1/sandboxes")["items"]))
        names = {i["name"] for i in d.must("GET", "/v1/sandboxes")["items"]}
        report("and no other is", [] if names == {"own", "never"} else ["%r" % names])
        d.must("DELETE", "/v1/sandboxes/never")
        d.must("DELETE", "/v1/sandboxes/own")
    end()


if __name__ == "__main__":
    main()
