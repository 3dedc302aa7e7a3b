#!/usr/bin/env python3
"""crash_faults_test - a system call of the daemon that fails, is interrupted or is delayed: errors
are typed, no answer is wrong, and the daemon continues.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import end, report
from crash_rig import Model, Strace, check_model, clean_up, need_root, pid_of, scenario
from daemon_rig import Daemon, until


def faults(d):
    """A call fails instead of being killed: errors are typed, no answer is wrong, and the daemon
    continues.
    """
    rows = [("pwrite64", "ENOSPC", "storage_full"), ("pwrite64", "EIO", None), ("fdatasync", "EIO", None), ("openat", "EMFILE", None), ("socketpair", "EMFILE", None)]
    for call, error, code in rows:
        until("the daemon is up", d.is_up)
        pid = pid_of(d, "keeper")
        tracer = Strace(pid, "%s:error=%s:when=1+" % (call, error), call)
        wrong = []
        a = d.call("POST", "/v1/sandboxes", {"name": "fault"})
        listed = d.call("GET", "/v1/sandboxes")
        tracer.detach()
        if listed.status != 200:
            wrong.append("list answered %r" % listed)
        if a.status < 300 and d.call("GET", "/v1/sandboxes/fault").status != 200:
            wrong.append("N9: create was answered and is not there")
        if a.status >= 300 and a.code is None:
            wrong.append("an error without a code: %r" % a)
        if code and a.code != code:
            wrong.append("create answered %r, not %s" % (a, code))
        if not os.path.exists("/proc/%d" % pid):
            wrong.append("the keeper ended")
        d.stop()
        d.start()
        if (d.call("GET", "/v1/sandboxes/fault").status == 200) != (a.status < 300):
            wrong.append("N2: after a start the sandbox is %s" % ("there" if a.status >= 300 else "not there"))
        d.call("DELETE", "/v1/sandboxes/fault")
        report("%s that fails with %s is told, and nothing is half done" % (call, error), wrong)


def interrupted(d):
    """EINTR and short counts change nothing (Z13)."""
    for role, call in (("keeper", "recvmsg"), ("keeper", "sendmsg"), ("keeper", "epoll_pwait"), ("door", "read"), ("door", "sendmsg"), ("door", "epoll_pwait")):
        tracer = Strace(pid_of(d, role), "%s:error=EINTR:when=2+3" % call, call)
        m = Model(d, "eintr-%s-%s" % (role, call.replace("_", "")))
        scenario(m)
        tracer.detach()
        wrong = check_model(m)
        if m.unanswered:
            wrong.append("%d calls got no answer" % m.unanswered)
        clean_up(d)
        report("%s of the %s interrupted again and again" % (call, role), wrong)


def stopped_for_long(d):
    """A keeper that was stopped catches up: overdue timers fire once (Z19)."""
    kept = d.create(name="kept", timeout_ms=600000, start=True)
    box = d.create(name="sleepy", timeout_ms=500, start=True)
    pid = pid_of(d, "keeper")
    with d.held(pid):
        time.sleep(0.8)         # the fault itself: the clock continues while the keeper does not
    until("the deadline is kept", lambda: d.call("GET", "/v1/sandboxes/" + box).status == 404 or d.must("GET", "/v1/sandboxes/" + box)["status"] in ("stopped", "failed"))
    report("a keeper that stood still keeps the deadline that passed, and no other",
           [] if d.exec(kept, "echo on")["stdout"] == "on\n" else ["the other sandbox is gone"])
    clean_up(d)


def main():
    need_root()
    with Daemon() as d:
        faults(d)
        interrupted(d)
        stopped_for_long(d)
    end()


if __name__ == "__main__":
    main()
