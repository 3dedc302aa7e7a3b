#!/usr/bin/env python3
"""limits_living_test - the limits of a living sandbox that control groups enforce, through the
daemon: kill, pause, memory, processes, CPU time.

Runs on every host. Rows that `carrel doctor` reports as not enforceable are skipped by that name,
unless CARREL_TEST_ALL_LIMITS requires them. test/vm runs it on a machine with cgroup v2 alone.
"""
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, end, report
from box_wire import mark, running
from daemon_rig import Daemon, groups_of, until

BLOCK = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 600000%s}\nmetadata: {carrel: {limits: {%s}}}\n---\n"
TREE = "(setsid sh -c 'setsid sleep {0} & sleep {0}' &); (sleep {0} &); trap '' TERM; echo up; sleep {0}"


def mechanisms():
    done = subprocess.run([CARREL, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    return {one["name"]: one["state"] == "works" for one in json.loads(done.stdout)["mechanisms"]}


def make(d, limits="", carrel="pids: 64"):
    return d.create(start=True, manifest=BLOCK % (limits and ", " + limits, carrel))


def path_of(box, job=None):
    return "/v1/sandboxes/" + box + ("/execs/%d" % job["exec"] if job else "")


def same(**claims):
    return ["%s is %r, not %r" % (name.replace("_", " "), got, want) for name, (got, want) in claims.items() if got != want]


def unified(box):
    return [g for g in groups_of({box}) if os.path.exists(os.path.join(g, "cgroup.events"))]


def kill_tree(d):
    box, marks = make(d), (mark(), mark())
    jobs = [d.exec(box, TREE.format(one), background=True) for one in marks]
    until("both trees stand", lambda: [len(running(one)) for one in marks] == [4, 4])
    dirs = unified(box)
    d.must("DELETE", path_of(box, jobs[0]))
    ended = until("it ended", lambda: (lambda e: e if e["state"] == "ended" else None)(d.must("GET", path_of(box, jobs[0]))))
    until("nothing of it runs", lambda: not running(marks[0]))
    wrong = same(outcome=(ended["outcome"], "killed"), other=(d.must("GET", path_of(box, jobs[1]))["state"], "running"), its_tree=(len(running(marks[1])), 4),
                 groups=([os.path.isdir(os.path.join(g, "work", name)) for g in dirs for name in ("g0", "g1")], [True, True]))
    d.must("DELETE", path_of(box))
    until("no group is left", lambda: not groups_of({box}))
    return wrong + same(left=(running(marks[1]), []))


def pausing(d):
    box = make(d)
    job = d.exec(box, "while :; do echo x; sleep 0.02; done", background=True)
    seen = lambda: d.must("GET", path_of(box, job))["stdout_bytes"]      # noqa: E731
    until("it speaks", lambda: seen() > 6)
    paused = d.must("POST", path_of(box) + "/pause")["status"]
    at = until("it stands still", lambda: (lambda a: a if a == seen() else 0)(seen()))
    frozen = [g for g in unified(box) if open(os.path.join(g, "work", "cgroup.freeze"), encoding="ascii").read().strip() == "1"]
    wrong = same(paused=(paused, "paused"), frozen_groups=(len(frozen), 1), status=(d.must("GET", path_of(box))["status"], "paused"), still=(seen(), at))
    wrong += same(resumed=(d.must("POST", path_of(box) + "/resume")["status"], "running"))
    until("it speaks again", lambda: seen() > at + 6)
    d.must("POST", path_of(box) + "/pause")
    wrong += same(stopped_while_frozen=(d.must("DELETE", path_of(box)), {"existed": True}))
    until("no group is left", lambda: not groups_of({box}))
    return wrong


def memory(d):
    box, other = make(d, "memory_mb: 48"), make(d)
    fits = d.exec(box, "head -c 10000000 /dev/zero | tail -c 1 | wc -c")
    d.exec(box, "echo on > /tmp/kept")
    ended = d.exec(box, "head -c 400000000 /dev/zero | tail -c 300000000 | wc -c")
    wrong = same(fits=(fits["outcome"], "exited"), outcome=(ended["outcome"], "oom_killed"), other=(d.exec(other, "echo lives")["stdout"], "lives\n"))
    wrong += same(lives_on=(d.exec(box, "cat /tmp/kept")["stdout"], "on\n"), status=(d.must("GET", path_of(box))["status"], "running"))
    for one in (box, other):
        d.must("DELETE", path_of(one))
    until("no group is left", lambda: not groups_of({box, other}))
    return wrong


def processes(d):
    box = make(d, carrel="pids: 24")
    said = d.exec(box, "i=0; while [ $i -lt 60 ]; do sleep 50 & i=$((i+1)); done; wait")
    alive = d.exec(box, "echo on")
    wrong = same(second=(alive["stdout"], "on\n")) if said["outcome"] == "exited" else []
    wrong += [] if "fork" in said["stderr"].lower() or "resource" in said["stderr"].lower() else ["nobody was refused: %r" % said]
    d.must("DELETE", path_of(box))
    return wrong


def all_of_them(d):
    """The waiting child of pid 1 does not count against the payload's limit (in a user namespace
    pid 1 does).
    """
    box = make(d, carrel="pids: 24")
    d.exec(box, "true")
    said = d.exec(box, "sleep 0.3; i=0; while [ $i -lt 60 ] && sleep 50 & do i=$((i+1)); echo $i; done; wait")
    d.must("DELETE", path_of(box))
    most = int(said["stdout"].split()[-1])
    return [] if 22 <= most <= 24 else ["%d ran besides their shell: %r" % (most, said)]


def cpu_time(d):
    box = make(d)
    job = d.exec(box, "(while :; do :; done) & i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; kill %1", background=True)
    ended = until("it ended", lambda: (lambda e: e if e["state"] == "ended" else None)(d.must("GET", path_of(box, job))))
    idle = d.exec(box, "sleep 0.3")
    wrong = [] if ended.get("cpu_ms", 0) > 0 else ["no CPU time was counted: %r" % ended]
    wrong += [] if idle.get("cpu_ms", 0) <= ended.get("cpu_ms", 0) + 200 else ["another's time was counted: %r" % idle]
    d.must("DELETE", path_of(box))
    capped = make(d, "cpu_ms: 500")
    told = d.exec(capped, "(while :; do :; done) & while :; do :; done", timeout=120)
    wrong += same(outcome=(told["outcome"], "cpu_limit"))
    d.call("DELETE", path_of(capped))
    return wrong


def at_once(d):
    """Twenty at a time, each in its own group, whose grandchildren live on."""
    box, wrong = make(d, carrel="pids: 400"), []

    def some():
        for _ in range(3):
            e = d.exec(box, "sleep 7005 & echo done", timeout=120)
            if (e["stdout"], e["outcome"]) != ("done\n", "exited"):
                wrong.append(repr(e))

    threads = [threading.Thread(target=some) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    d.must("DELETE", path_of(box))
    until("no group is left", lambda: not groups_of({box}))
    return wrong


ROWS = (("cgroup_kill", kill_tree, "a kill ends one exec's whole tree and no other; a stop leaves no group"),
        ("cgroup_kill", pausing, "pause freezes every exec, resume thaws, a frozen sandbox can be stopped"),
        ("limit_memory", memory, "memory past the limit is told as oom_killed, and no other sandbox feels it"),
        ("limit_pids", processes, "no more processes than limits.pids"),
        ("limit_pids", all_of_them, "and as many as that, though one more stands ready"),
        ("cpu_time", cpu_time, "CPU time is each exec's own, and its cap holds"),
        ("cgroup_kill", at_once, "twenty at once, each in a group of its own"))


def main():
    can = mechanisms()
    with Daemon() as d:
        for needs, row, name in ROWS:
            if not can.get(needs) and not os.environ.get("CARREL_TEST_ALL_LIMITS"):
                report(name, skip="carrel doctor: no %s here" % needs)
                continue
            try:
                report(name, row(d))
            except AssertionError as e:
                report(name, [str(e)])
        report("the daemon warns of nothing", [d.log_text()] if "warning" in d.log_text() else [])
    end()


if __name__ == "__main__":
    main()
