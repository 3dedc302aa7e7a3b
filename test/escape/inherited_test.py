#!/usr/bin/env python3
"""C16 and D12: priority, scheduling class, limits and OOM score of the caller do not apply to the
payload. TAP.
"""
import ctypes
import json
import os
import platform
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ROOT, Workspace, check, end, has_switches, need_programs, report
from daemon_rig import Daemon

# What a payload has, and what it can take.
LOOK = """
import ctypes, json, os, resource
l = ctypes.CDLL(None, use_errno=True)
def can(f, *a):
    try: f(*a); return True
    except OSError: return False
s = {"policy": os.sched_getscheduler(0) & ~0x40000000, "nice": os.getpriority(os.PRIO_PROCESS, 0), "io": l.syscall(%d, 1, 0), "oom": int(open("/proc/self/oom_score_adj").read())}
for n in ("CORE", "RTPRIO", "NICE", "MEMLOCK", "SIGPENDING", "MSGQUEUE", "FSIZE", "DATA", "STACK", "NPROC"): s[n] = resource.getrlimit(getattr(resource, "RLIMIT_" + n, {"RTPRIO": 14, "NICE": 13, "SIGPENDING": 11, "MSGQUEUE": 12}.get(n)))
def lower_oom():
    with open("/proc/self/oom_score_adj", "w") as f: f.write("-500")
s["can oom"] = can(lower_oom)
s["can nice"] = can(os.setpriority, os.PRIO_PROCESS, 0, -20)
s["can fifo"] = can(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(40))
print(json.dumps(s))
""".replace("%d", "252" if platform.machine() == "x86_64" else "31")
RTPRIO, NICE, SIGPENDING, MSGQUEUE = 14, 13, 11, 12


def fifo():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))


def idle():
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def nice(number):
    return lambda: os.setpriority(os.PRIO_PROCESS, 0, number)


def io_first():
    if ctypes.CDLL(None).syscall(251 if platform.machine() == "x86_64" else 30, 1, 0, 1 << 13) < 0:
        raise PermissionError


def oom():
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as f:
        f.write("-500")


def limit(number, soft, hard):
    return lambda: resource.setrlimit(number, (soft, hard))


INF = resource.RLIM_INFINITY
# the caller has | set by | only root can set it | what is read inside, and its value | the layer
# without which it is inherited (None: none)
ROWS = [
    ("real-time class", fifo, True, ("policy", 0), "reset"),
    ("class idle", idle, False, ("policy", 0), "reset"),
    ("a niceness of -10", nice(-10), True, ("nice", 0), "reset"),
    ("a niceness of 10", nice(10), False, ("nice", 0), "reset"),
    ("real-time I/O", io_first, True, ("io", 0), "reset"),
    ("an OOM score of -500", oom, True, ("oom", 0), "reset"),
    ("an OOM score of -500, taken back inside", oom, True, ("can oom", False), "reset"),
    ("RLIMIT_RTPRIO 50", limit(RTPRIO, 50, 50), True, ("can fifo", False), "rlimits"),
    ("RLIMIT_NICE 40", limit(NICE, 40, 40), True, ("can nice", False), "rlimits"),
    ("no limit of locked memory", limit(resource.RLIMIT_MEMLOCK, INF, INF), True, ("MEMLOCK", [8 << 20] * 2), "rlimits"),
    ("no limit of pending signals", limit(SIGPENDING, INF, INF), True, ("SIGPENDING", [4096] * 2), "rlimits"),
    ("no limit of message queues", limit(MSGQUEUE, INF, INF), True, ("MSGQUEUE", [409600] * 2), "rlimits"),
    ("a hard limit of 0 for cores (1 is what starts no helper)", limit(resource.RLIMIT_CORE, 0, 0), True, ("CORE", [1, 1]), "rlimits"),
    ("cores of any size", limit(resource.RLIMIT_CORE, INF, INF), True, ("CORE", [1, 1]), "rlimits"),
    ("files of at most 1 MiB", limit(resource.RLIMIT_FSIZE, 1 << 20, INF), False, ("FSIZE", [INF, INF]), "reset"),
    ("data of at most 2 GiB", limit(resource.RLIMIT_DATA, 2 << 30, INF), False, ("DATA", [INF, INF]), "reset"),
    ("a stack of 64 MiB", limit(resource.RLIMIT_STACK, 64 << 20, INF), False, ("STACK", [8 << 20, INF]), "reset"),
]
# A user cannot take these back; for an ordinary user they stay, as SECURITY.md says.
STAYS = ("class idle", "a niceness of 10")


def can_make(make):
    try:
        return subprocess.run(["true"], preexec_fn=make, check=False).returncode == 0
    except subprocess.SubprocessError:
        return False


def main():
    with Workspace() as ws:
        for name, make, needs_root, (what, want), layer in ROWS:
            if needs_root and not ROOT or not ROOT and name in STAYS:
                report("C16: %s stays the caller's" % name, skip="only root may make the caller so, or take it back")
                continue
            if not can_make(make) or "hard limit of 0" in name and not can_make(lambda: limit(resource.RLIMIT_CORE, 1, 1)() if not make() else None):
                report("C16: %s stays the caller's" % name, skip="this root has not the capability that it takes")
                continue
            try:
                got = json.loads(ws.run(["python3", "-S", "-c", LOOK], preexec_fn=make).stdout)[what]
            except (ValueError, subprocess.SubprocessError) as e:
                report("C16: %s stays the caller's" % name, repr(e))
                continue
            check("C16: %s stays the caller's" % name, got == want, what, got)
            if has_switches():
                done = ws.without(layer, ["python3", "-S", "-c", LOOK], preexec_fn=make)
                check("C16: (control) with %s off it comes in" % layer, json.loads(done.stdout)[what] != want, done)


def living():
    """What a daemon was started with is not its sandboxes': signals that are ignored, a soft limit, the umask."""
    files = resource.getrlimit(resource.RLIMIT_DATA)
    before = os.umask(0o077), signal.signal(signal.SIGUSR1, signal.SIG_IGN), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 34, files[1]))
    try:
        with Daemon() as d:
            resource.setrlimit(resource.RLIMIT_DATA, files)
            box = d.create(start=True)
            got = [d.exec(box, "grep SigIgn /proc/self/status; ulimit -Sd; umask")["stdout"].split() for _ in range(2)]
            d.must("DELETE", "/v1/sandboxes/" + box)
    finally:
        os.umask(before[0])
        signal.signal(signal.SIGUSR1, before[1])
        signal.signal(signal.SIGHUP, before[2])
    want = ["SigIgn:", "0" * 16, "unlimited" if files[1] == resource.RLIM_INFINITY else str(files[1] // 1024), "0022"]
    check("C16: signals, limits and umask of the daemon's caller stay outside", got == [want, want], got, want)


if __name__ == "__main__":
    need_programs()
    main()
    living()
    end()
