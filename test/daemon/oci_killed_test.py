#!/usr/bin/env python3
# slow: 40 s: strace kills one process of the chain at a time, and each time everything must be gone
# weight: 2
"""provider: oci - kill -9 at each step of create and destroy. strace follows the spawner, and kills each
process that makes the N-th call of a name: maker, its child, the runtime, the relay, pid 1 inside, the box.
Afterwards processes, mounts, control groups, leases and the runtime's directories are as before, and
the next sandbox runs. Prints TAP.
"""
import collections
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, end, need_programs, own_place, report
from crash_rig import Strace
from daemon_rig import Daemon, box_process, groups_of, processes_of, until
from making_rig import Host, make_workspace, need_strace, run, spawner_of

MANIFEST = "---\nschema: sandbox/v1\nprovider: oci\nconfig: {runtime: %s}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"
MOST = 12
# call: where it is made. What a process does first is a low N, what it does last a high one.
CALLS = {
    "mkdir": "the maker's control groups and the runtime's directory",
    "clone3": "the maker starts its child",
    "move_mount": "the child makes the root",
    "socketpair": "the child makes the stream",
    "execve": "the runtime begins, and what it starts",
    "mount": "the runtime prepares the root",
    "pivot_root": "the runtime enters it",
    "prctl": "relay and pid 1 take away their own rights",
    "setresuid": "the child becomes the relay",
    "recvmsg": "box, relay and maker are told something",
    "wait4": "maker, child and runtime wait for another",
    "rmdir": "the maker removes control groups",
    "unlinkat": "the maker removes what the runtime kept",
}


def kept():
    """Directories of runtimes, and leases. What a killed maker leaves, the next start collects."""
    return [n for n in os.listdir("/run/carrel") if n.startswith("oci-") or n.endswith(".lease")]


class Oci(Host):
    def left(self):
        wrong = super().left()
        if kept():
            run(self.workspace)
        return wrong + (["left in /run/carrel: %r" % kept()] if kept() else [])


def attempt(d, workspace, runtime):
    """The code of the first refusal, or "ran". A daemon that was hit too starts again by itself."""
    codes = []
    try:
        for method, path, body in (("POST", "", {"name": "hit", "start": True, "workspace": workspace, "manifest": MANIFEST % runtime}),
                                   ("POST", "/hit/execs", {"command": "true"}), ("DELETE", "/hit", None)):
            a = d.call(method, "/v1/sandboxes" + path, body)
            codes += [a.code or "an error without a code"] if a.status >= 300 else []
    except OSError:
        codes.append("connection")
    until("it can be removed", lambda: d.call("DELETE", "/v1/sandboxes/hit").status in (200, 204, 404))
    return codes[0] if codes else "ran"


def point(d, host, runtime, call, number):
    log = os.path.join(d.folder, "struck")
    strace = Strace(spawner_of(d), "%s:signal=SIGKILL:when=%d" % (call, number), call, log)
    code = attempt(d, host.workspace, runtime)
    strace.detach()
    made = collections.Counter()
    with open(log, "rb") as f:
        for line in f:
            made[line.split(b" ", 1)[0]] += b" %s(" % call.encode() in line
    struck = max(made.values(), default=0) >= number
    wrong = ["%d: %s" % (number, code)] if " " in code or code == "internal_error" else []
    return struck, code, wrong + ["%d: %s" % (number, w) for w in host.left()]


def sweep(d, host, runtime, call):
    wrong, hits, seen = [], 0, {}
    for number in range(1, MOST + 1) if DEEP else (1, 3):
        struck, code, faults = point(d, host, runtime, call, number)
        wrong += faults
        hits += struck
        seen[code] = seen.get(code, 0) + 1
        if not struck or len(wrong) > 2:
            break
    report("%s, %s: kill -9 at %s: nothing is left (%d points: %s)" % (runtime, call, CALLS[call], hits, seen), wrong or ([] if hits else ["never hit"]))


def living(d, host, runtime):
    """The processes of a sandbox that runs a command, one after another."""
    def members(box):
        pids = set()
        for group in groups_of({box}):
            for base, _, files in os.walk(group):
                if "cgroup.procs" in files:
                    with open(os.path.join(base, "cgroup.procs"), encoding="ascii") as f:
                        pids |= {int(pid) for pid in f.read().split()}
        return {pid: name_of(pid) for pid in pids}

    def name_of(pid):
        with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
            return f.read().strip()

    def find(box, who):
        if who == "box":
            return box_process(d, box)
        if who == "maker":
            with open("/proc/%d/status" % find(box, "carrel-relay"), encoding="ascii") as f:
                return int(next(line for line in f if line.startswith("PPid:")).split()[1])
        return min(pid for pid, name in members(box).items() if name == who)     # pid 1 is older than its helpers

    for who in ("maker", "box", "carrel-relay", "carrel-init"):
        box = d.create(start=True, workspace=host.workspace, manifest=MANIFEST % runtime)
        d.exec(box, "echo up; sleep 1000", background=True)
        os.kill(find(box, who), 9)
        until("it is not running", lambda: d.call("GET", "/v1/sandboxes/" + box).json.get("status") != "running")
        d.call("DELETE", "/v1/sandboxes/" + box)
        report("%s: kill -9 of %s while a command runs: nothing is left" % (runtime, who), host.left())


def main():
    need_programs()
    need_strace()
    if not shutil.which("runc", path=PLACES):
        report("provider oci", skip="this machine has no runc")
        end()
    own_place()
    with tempfile.TemporaryDirectory(prefix="carrel-oci-") as folder, Daemon() as d:
        workspace = make_workspace(folder)
        made = d.call("POST", "/v1/sandboxes", {"name": "first", "start": True, "workspace": workspace, "manifest": MANIFEST % "runc"})
        if b"no_unified" in made.body:
            report("provider oci", skip="this machine has no writable cgroup v2 hierarchy")
            end()
        d.must("DELETE", "/v1/sandboxes/first")
        until("it has gone", lambda: not [n for n in processes_of(d.state).values() if "box" in n] and not os.listdir(os.path.join(d.state, "boxes")))
        host = Oci(d, workspace)
        for runtime in [name for name in (("runc", "crun") if DEEP else ("runc",)) if shutil.which(name, path=PLACES)]:
            living(d, host, runtime)
            for call in CALLS:
                sweep(d, host, runtime, call)
        report("the next sandbox runs", [] if attempt(d, workspace, "runc") == "ran" else ["it does not"])
    end()


if __name__ == "__main__":
    main()
