#!/usr/bin/env python3
"""admin_test - an administrator, or the kernel when memory runs out, interferes: groups and mounts
are removed, sandboxes are frozen, processes are killed.

Z15: a command that is killed because memory ran out is reported as that, once, and no other one is
affected. Z27: after a group or mount was removed, calls get a typed error, and a stop still
completes. Z28: a sandbox that cannot be ended now delays no other call for long, and is collected
later.
"""
import glob
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import PATIENCE, ROOT, end, report
from daemon_rig import Daemon, box_process, groups_of, processes_of, until
from test_clock import Clock

BLOCK = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 600000%s}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
UNMOUNT = """import ctypes, os, sys
libc, root = ctypes.CDLL(None, use_errno=True), os.open("/proc/%s/root" % sys.argv[1], os.O_RDONLY)
space = os.open("/proc/%s/ns/mnt" % sys.argv[1], os.O_RDONLY)
os.unshare(0x20000) if hasattr(os, "unshare") else libc.unshare(0x20000)
sys.exit(libc.setns(space, 0x20000) or os.fchdir(root) or os.chroot(".") or (libc.umount2(sys.argv[2].encode(), 2) and ctypes.get_errno()))"""
STOP_MAX_S = 20 + PATIENCE     # how long the keeper waits for a box that does not end, and how long the machine may take


class Holder(subprocess.Popen):
    """A process of the host that is not Carrel's. Leaving the block ends it."""

    def __exit__(self, *rest):
        self.kill()
        super().__exit__(*rest)


def path_of(box):
    return "/v1/sandboxes/" + box


def inside(box):
    """Processes in the sandbox's groups: its pid 1, and what runs in it."""
    found = set()
    for group in groups_of({box}):
        for top, _, _ in os.walk(group):
            try:
                with open(os.path.join(top, "cgroup.procs"), encoding="ascii") as f:
                    found |= {int(line) for line in f}
            except OSError:
                continue
    return sorted(found)


def first_inside(d, box):
    d.exec(box, "sleep 7101", background=True)
    return until("something runs in it", lambda: inside(box))


def goes(d, box, other, now=time.monotonic):
    """A stop gets an answer in time; meanwhile other calls are answered; nothing of the sandbox is
    left. Returns what is wrong.
    """
    began = now()
    a = d.call("DELETE", path_of(box), timeout=STOP_MAX_S + 10)
    took = now() - began
    wrong = [] if a.status == 200 and a.json == {"existed": True} else ["the stop answers %r" % a]
    wrong += [] if took < STOP_MAX_S else ["the stop took %.1f s" % took]
    wrong += [] if d.call("GET", path_of(box)).status == 404 else ["it is still there"]
    return wrong + lives(d, other)


def lives(d, other):
    return [] if d.exec(other, "echo lives")["stdout"] == "lives\n" else ["another felt it"]


def killed(d):
    """The daemon and all of its own processes, which end with it."""
    d.stop(signal.SIGKILL)
    until("its parts have gone", lambda: not [n for n in processes_of(d.state).values() if "carrel-ke" in n])


def is_collected(d, box):
    try:
        until("nothing of it is left", lambda: not groups_of({box}) and not os.path.exists(os.path.join(d.state, "boxes", box)))
        return []
    except AssertionError:
        return ["left: %r" % [groups_of({box}), os.path.exists(os.path.join(d.state, "boxes", box))]]


def typed(d, box):
    """An exec runs, or is refused with a code, or ends with a word."""
    a = d.call("POST", path_of(box) + "/execs", {"command": "echo x", "timeout_ms": 5000})
    return [] if (a.status < 300 and a.json.get("outcome")) or (a.code and a.code != "internal_error") else ["exec: %r" % a]


# -- Z27 -----------------------------------------------------------------------------------------------------------------------------


def groups_taken(d, box, other):
    first_inside(d, box)
    for group in sorted(groups_of({box}), key=len):
        root = os.path.dirname(group)
        for top, _, _ in os.walk(group):
            for pid in open(os.path.join(top, "cgroup.procs"), encoding="ascii").read().split():
                try:
                    with open(os.path.join(root, "cgroup.procs"), "w", encoding="ascii") as f:
                        f.write(pid)
                except OSError:
                    continue
        for top, _, _ in os.walk(group, topdown=False):
            try:
                os.rmdir(top)
            except OSError:
                continue
    wrong = ["the fault did not come off: %r" % groups_of({box})] if len(groups_of({box})) > 1 else []
    return wrong + typed(d, box) + goes(d, box, other) + is_collected(d, box)


def workspace_unmounted(d, box, other):
    pid = first_inside(d, box)[-1]
    done = subprocess.run([sys.executable, "-c", UNMOUNT, str(pid), "/workspace"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wrong = [] if "No such file" in d.exec(box, "ls /workspace/f")["stderr"] else ["the file is still there"]
    wrong += [] if done.returncode == 0 else ["the fault did not come off: %r" % done.stderr]
    return wrong + typed(d, box) + goes(d, box, other) + is_collected(d, box)


def directory_removed(d, box, other):
    first_inside(d, box)
    shutil.rmtree(os.path.join(d.state, "boxes", box))
    return typed(d, box) + goes(d, box, other) + is_collected(d, box)


def directory_removed_and_restarted(d, box, other):
    """The box can be found only by its groups: it is reported as lost, and its name is free."""
    pids = first_inside(d, box)
    pids.append(box_process(d, box))
    killed(d)
    shutil.rmtree(os.path.join(d.state, "boxes", box))
    d.start()
    got = d.must("GET", path_of(box))
    wrong = [] if (got["status"], got.get("cause")) == ("failed", "lost") else ["%r" % got]
    wrong += goes(d, box, other)
    for pid in pids:                                   # what the daemon cannot reach any more is the administrator's, who removed its socket
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return wrong + is_collected(d, box)


# -- Z28 -----------------------------------------------------------------------------------------------------------------------------


def held(d, box, other):
    pid = first_inside(d, box)[0]
    root = "/proc/%d/root" % pid
    with Holder(["sleep", "7102"], cwd=os.path.join(root, "tmp"), stdin=subprocess.DEVNULL) as in_it:
        fd = os.open(os.path.join(root, "tmp"), os.O_RDONLY)
        wrong = goes(d, box, other) + is_collected(d, box)
        os.close(fd)
        return wrong + ([] if in_it.poll() is None else ["a stranger was killed"])


def frozen(d, box, other):
    first_inside(d, box)
    groups = [g for g in groups_of({box}) if os.path.exists(os.path.join(g, "cgroup.freeze"))]
    if not groups:
        return None
    for group in groups:
        with open(os.path.join(group, "cgroup.freeze"), "w", encoding="ascii") as f:
            f.write("1")
    wrong = goes(d, box, other)
    for group in groups:
        if os.path.exists(group):
            with open(os.path.join(group, "cgroup.freeze"), "w", encoding="ascii") as f:
                f.write("0")
    d.stop()
    d.start()
    return wrong + is_collected(d, box)


def box_stopped(d, box, _):
    """The keeper waits for it as long as for any other; that time passes at once."""
    d.must("DELETE", path_of(box))
    with Clock() as clock, Daemon(program=os.path.join(clock.build, "carrel"), env=clock.env) as moved:
        box, other = moved.create(start=True), moved.create(start=True)
        first_inside(moved, box)
        ended = threading.Event()

        def passes():
            while clock.moves and not ended.wait(0.1):
                clock.move(1)
        passing = threading.Thread(target=passes)
        passing.start()
        try:
            return stopped(moved, box, other, box_process(moved, box), lambda: clock.boot_ms() / 1000)
        finally:
            ended.set()
            passing.join()


def first_stopped(d, box, other):
    return stopped(d, box, other, first_inside(d, box)[0])


def stopped(d, box, other, pid, now=time.monotonic):
    os.kill(pid, signal.SIGSTOP)
    wrong = goes(d, box, other, now)
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    until("its process has gone", lambda: not os.path.exists("/proc/%d" % pid))
    d.stop()
    d.start()
    return wrong + is_collected(d, box)


# -- Z15 -----------------------------------------------------------------------------------------------------------------------------


def payload_starved(d, _, other):
    box = d.create(start=True, manifest=(BLOCK % ", memory_mb: 48").replace("mounts: [{source: workspace, at: /workspace}]\n", ""))
    ended = d.exec(box, "head -c 400000000 /dev/zero | tail -c 300000000 | wc -c")
    wrong = [] if ended["outcome"] == "oom_killed" else ["%r" % ended]
    for turn in range(2):
        state = d.must("GET", path_of(box))
        words = [e.get("outcome") for e in d.must("GET", path_of(box) + "/execs")["items"]]
        wrong += [] if words == ["oom_killed"] or (turn > 0 and (state["status"], state.get("cause"), words) == ("failed", "oom", [])) else ["told as %r, %r" % (words, state)]
        killed(d)
        d.start()
    d.must("DELETE", path_of(box))
    return wrong + lives(d, other) + is_collected(d, box)


def box_killed(d, box, other):
    first_inside(d, box)
    os.kill(box_process(d, box), signal.SIGKILL)
    got = until("its loss is known", lambda: (lambda g: g if g["status"] == "failed" else None)(d.must("GET", path_of(box))))
    execs = d.must("GET", path_of(box) + "/execs")["items"]
    wrong = [] if (got.get("cause"), [e.get("outcome") for e in execs]) == ("lost", ["lost"]) else ["%r %r" % (got, execs)]
    return wrong + lives(d, other) + goes(d, box, other) + is_collected(d, box)


def keeper_starved(d, box, other):
    """The kernel kills it because its group is out of memory; the launcher starts another, and
    nothing that was answered is lost.
    """
    keeper = next(pid for name, pid in d.children().items() if "keeper" in name)
    group = "/sys/fs/cgroup/memory/carrel-test-%d" % os.getpid()
    try:
        os.mkdir(group)
    except OSError:
        return None
    try:
        with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as f:
            f.write(str(3 << 20))
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(keeper))
        acked = []
        for i in range(400):
            try:
                a = d.call("POST", "/v1/sandboxes", {"name": "fed%d" % i, "metadata": {"x": "y" * 30000}})
            except (OSError, http.client.HTTPException):
                break
            if a.status < 300:
                acked.append(a.json["id"])
            if not os.path.exists("/proc/%d" % keeper):
                break
        with open(os.path.join(group, "memory.oom_control"), encoding="ascii") as f:
            kills = next(int(line.split()[1]) for line in f if line.startswith("oom_kill "))
        until("the daemon is up again", d.is_up)
        listed = {i["id"] for i in d.must("GET", "/v1/sandboxes")["items"]}
        wrong = [] if kills == 1 and not os.path.exists("/proc/%d" % keeper) else ["it was not killed: %d kills, %d creates" % (kills, len(acked))]
        wrong += ["%s was answered, and is gone" % one for one in acked if one not in listed]
        wrong += [] if d.exec(box, "echo on")["stdout"] == "on\n" else ["its box felt it"]
        for item in d.must("GET", "/v1/sandboxes")["items"]:
            if item.get("name", "").startswith("fed"):
                d.must("DELETE", path_of(item["id"]))
        d.must("DELETE", path_of(box))
        return wrong + lives(d, other) + is_collected(d, box)
    finally:
        until("its group can go", lambda: not open(os.path.join(group, "cgroup.procs"), encoding="ascii").read())
        os.rmdir(group)


ROWS = ((groups_taken, "control groups emptied and removed: a typed answer, and a stop completes (Z27)"), (workspace_unmounted, "the workspace unmounted inside: a typed answer, and a stop completes (Z27)"),
        (directory_removed, "the box's directory removed: a typed answer, and a stop completes (Z27)"),
        (directory_removed_and_restarted, "the box's directory removed while no daemon runs: told as lost, and its stop completes (Z27)"),
        (held, "a stranger's directory and descriptor inside: a stop completes, and the stranger lives (Z28)"), (frozen, "its group frozen by somebody: a stop answers in time, nobody waits, and it is collected (Z28)"),
        (box_stopped, "its box process stopped: a stop answers in time, nobody waits, and it is collected (Z28)"), (first_stopped, "its first process stopped: a stop completes (Z28)"),
        (payload_starved, "a command out of memory is told as that, once, after a restart too, and no other feels it (Z15)"), (box_killed, "a box killed as the kernel kills: lost, and no other feels it (Z15, Z03)"),
        (keeper_starved, "a keeper that the kernel kills for memory is started again, and nothing that was answered is gone (Z15, Z12)"))


def main():
    if not ROOT or not glob.glob("/sys/fs/cgroup/*"):
        report("what an administrator does", skip="only root may do that")
        end()
    work = tempfile.mkdtemp(prefix="carrel-admin-")
    with open(os.path.join(work, "f"), "w", encoding="utf-8") as f:
        f.write("x")
    os.chmod(work, 0o755)
    with Daemon() as d:
        other = d.create(name="other", start=True)
        for row, name in ROWS:
            try:
                wrong = row(d, d.create(start=True, workspace=work, manifest=BLOCK % ""), other)
                report(name, wrong) if wrong is not None else report(name, skip="this host has no such group")
            except (AssertionError, OSError, http.client.HTTPException) as e:
                report(name, ["%s: %s" % (type(e).__name__, e)])
            for item in d.must("GET", "/v1/sandboxes")["items"]:
                if item["id"] != other:
                    d.call("DELETE", path_of(item["id"]))
        report("nothing is left of any of them", [repr(g) for g in groups_of(d.ids - {other})] + [repr(p) for p in processes_of(d.state).items() if "box" in p[1]][2:])
    shutil.rmtree(work, ignore_errors=True)
    end()


if __name__ == "__main__":
    main()
