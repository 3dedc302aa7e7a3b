#!/usr/bin/env python3
# weight: 2
"""provider: oci - living sandboxes in containers of runc: many commands, and one end for each command
whoever is killed. What it has in common with other kinds is in kinds_test.py. Prints TAP.
"""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, DEEP, PATIENCE, ROOT, check, descendants, end, need_programs, report, runtime_dir, until
from daemon_rig import Daemon, groups_of

MANIFEST = "---\nschema: sandbox/v1\nprovider: oci\nconfig: {}\n---\n"
PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"


def since(before):
    """pid -> name of the processes that this test has now, and had not before: those of one sandbox."""
    return {process[0]: name for process, name in descendants().items() if process not in before}


def commands(d, box):
    count = 1000 if DEEP else 200
    wrong = [got for got in (d.exec(box, ["sh", "-c", "echo %d; exit %d" % (i, i % 100)]) for i in range(count)) if got["outcome"] != "exited"]
    check("%d commands one after another" % count, not wrong, wrong[:3])


def frozen(box):
    for group in groups_of({box}):
        path = os.path.join(group, "box", "cgroup.events")
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                return "frozen 1" in f.read()
    return None


def pause(d, runtime):
    """By the freezer of the group that Carrel made. Pid 1 inside is frozen too: what is killed meanwhile ends with the resume."""
    box = d.create(start=True, manifest=MANIFEST.replace("{}", "{runtime: %s}" % runtime))
    path = "/v1/sandboxes/" + box
    jobs = [d.exec(box, "while :; do echo x; sleep 0.02; done", background=True)["exec"] for _ in range(2)]
    seen = lambda: d.must("GET", "%s/execs/%s" % (path, jobs[1]))["stdout_bytes"]      # noqa: E731
    until("it speaks", lambda: seen() > 6)
    got = d.call("POST", path + "/pause")
    if not ROOT and got.code == "capability_unavailable":
        check(runtime + ": without a control group that freezes, a pause is refused by name", b"freez" in got.body, got)
        return d.must("DELETE", path)
    paused = got.json["status"]
    at = until("it stands still", lambda: (lambda a: a if a == seen() else 0)(seen()))
    check(runtime + ": a pause freezes the container", (paused, d.must("GET", path)["status"], frozen(box), seen()) == ("paused", "paused", True, at), paused, frozen(box), seen(), at)
    d.must("DELETE", "%s/execs/%s" % (path, jobs[0]))
    ended = lambda: d.must("GET", "%s/execs/%s" % (path, jobs[0]))      # noqa: E731
    check(runtime + ": a command that is killed meanwhile has not ended", ended()["state"] != "ended", ended())
    resumed = d.must("POST", path + "/resume")["status"]
    for _ in range(4):
        d.exec(box, "while :; do /bin/true; done", background=True)
    paused = [(d.must("POST", path + "/pause")["status"], d.must("POST", path + "/resume")["status"]) for _ in range(20)]
    check(runtime + ": processes whose execution waits for pid 1 are frozen with it", set(paused) == {("paused", "running")}, paused)
    until("it speaks again", lambda: seen() > at + 6)
    until("what was killed ended", lambda: ended()["state"] == "ended")
    check(runtime + ": a resume continues it", (resumed, frozen(box), ended()["outcome"]) == ("running", False, "killed"), resumed, ended())
    d.must("POST", path + "/pause")
    d.must("DELETE", path)
    until("its control groups are gone", lambda: not groups_of({box}))
    return check(runtime + ": a paused sandbox is removed, with what the runtime kept", not os.path.exists(os.path.join(runtime_dir(), "oci-" + box)))


def killed(d, who):
    before = set(descendants())
    box = d.create(start=True, manifest=MANIFEST)
    callers = [subprocess.Popen([CARREL, "exec", box, "--", "sh", "-c", "echo up; sleep 1000"], env=dict(os.environ, CARREL_STATE=d.state), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for caller in callers:
        caller.stdout.readline()
    pids = [pid for pid, name in since(before).items() if name == who]
    os.kill(min(pids), signal.SIGKILL)      # of the guest there may be a helper, which is younger
    ends = [caller.communicate(timeout=PATIENCE) and caller.returncode for caller in callers]
    until("its control groups are gone", lambda: not groups_of({box}))
    left = [n for n in os.listdir(runtime_dir()) if n == "oci-" + box]
    until("its processes are gone", lambda: not {"carrel-relay", "carrel-init", "carrel-maker"} & set(since(before).values()))
    check("kill -9 of %s: each command has its end, and nothing is left" % who, 0 not in ends and not left, ends, left)


def main():
    need_programs()
    if not shutil.which("runc", path=PLACES):
        report("provider oci", skip="this machine has no runc")
        end()
    runtime_dir()      # of this test alone
    with Daemon() as d:
        before = set(descendants())
        made = d.call("POST", "/v1/sandboxes", {"manifest": MANIFEST, "start": True})
        if b"no_unified" in made.body:
            report("provider oci", skip="this machine has no writable cgroup v2 hierarchy")
            end()
        box = made.json["id"]
        check("a sandbox of provider oci runs", d.must("GET", "/v1/sandboxes/" + box)["status"] == "running", made)
        relays = [pid for pid, name in since(before).items() if name == "carrel-relay"]
        with open("/proc/%d/status" % relays[0], encoding="ascii") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        uid, caps = int(status["Uid"].split()[0]), {status[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")}
        check("its relay is no root, and has no capability", len(relays) == 1 and (uid >= 1900000000 if ROOT else uid == os.geteuid()) and caps == {"0" * 16}, relays, status)
        commands(d, box)
        for runtime in ("runc", "crun"):
            if shutil.which(runtime, path=PLACES):
                pause(d, runtime)
            else:
                report("pause with " + runtime, skip="this machine has no " + runtime)
        check("it is stopped", d.call("DELETE", "/v1/sandboxes/" + box).status < 300)
        until("its control groups are gone", lambda: not groups_of({box}))
        killed(d, "carrel-relay")
        killed(d, "carrel-init")      # the guest
    end()


main()
