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
from box_rig import CARREL, DEEP, PATIENCE, ROOT, check, end, need_programs, report, until
from daemon_rig import Daemon, groups_of

MANIFEST = "---\nschema: sandbox/v1\nprovider: oci\nconfig: {}\n---\n"
PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"


def relays(box):
    """Processes of this sandbox on the host: its relay, and what is inside, by its control groups."""
    found = {}
    for group in groups_of({box}):
        for base, _, files in os.walk(group):
            if "cgroup.procs" not in files:
                continue
            with open(os.path.join(base, "cgroup.procs"), encoding="ascii") as f:
                for pid in f.read().split():
                    try:
                        with open("/proc/%s/comm" % pid, encoding="utf-8", errors="replace") as g:
                            found[int(pid)] = g.read().strip()
                    except OSError:
                        pass
    return found


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
    """By the freezer of the group that Carrel made. Pid 1 inside stands still too: what is killed meanwhile ends with the resume."""
    box = d.create(start=True, manifest=MANIFEST.replace("{}", "{runtime: %s}" % runtime))
    path = "/v1/sandboxes/" + box
    jobs = [d.exec(box, "while :; do echo x; sleep 0.02; done", background=True)["exec"] for _ in range(2)]
    seen = lambda: d.must("GET", "%s/execs/%s" % (path, jobs[1]))["stdout_bytes"]      # noqa: E731
    until("it speaks", lambda: seen() > 6)
    paused = d.must("POST", path + "/pause")["status"]
    at = until("it stands still", lambda: (lambda a: a if a == seen() else 0)(seen()))
    check(runtime + ": a pause freezes the container", (paused, d.must("GET", path)["status"], frozen(box), seen()) == ("paused", "paused", True, at), paused, frozen(box), seen(), at)
    d.must("DELETE", "%s/execs/%s" % (path, jobs[0]))
    ended = lambda: d.must("GET", "%s/execs/%s" % (path, jobs[0]))      # noqa: E731
    check(runtime + ": a command that is killed meanwhile has not ended", ended()["state"] != "ended", ended())
    resumed = d.must("POST", path + "/resume")["status"]
    until("it speaks again", lambda: seen() > at + 6)
    until("what was killed ended", lambda: ended()["state"] == "ended")
    check(runtime + ": a resume continues it", (resumed, frozen(box), ended()["outcome"]) == ("running", False, "killed"), resumed, ended())
    d.must("POST", path + "/pause")
    d.must("DELETE", path)
    until("its control groups are gone", lambda: not groups_of({box}))
    check(runtime + ": a paused sandbox is removed, with what the runtime kept", not os.path.exists("/run/carrel/oci-" + box))


def killed(d, who):
    box = d.create(start=True, manifest=MANIFEST)
    callers = [subprocess.Popen([CARREL, "exec", box, "--", "sh", "-c", "echo up; sleep 1000"], env=dict(os.environ, CARREL_STATE=d.state), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for caller in callers:
        caller.stdout.readline()
    for pid, name in relays(box).items():
        if name == who:
            os.kill(pid, signal.SIGKILL)
            break
    ends = [caller.communicate(timeout=PATIENCE) and caller.returncode for caller in callers]
    until("its control groups are gone", lambda: not groups_of({box}))
    left = [n for n in os.listdir("/run/carrel") if n == "oci-" + box]
    check("kill -9 of %s: each command has its end, and nothing is left" % who, 0 not in ends and not left and not relays(box), ends, left, relays(box))


def main():
    need_programs()
    if not ROOT:
        report("provider oci", skip="an ordinary user cannot start a container")
        end()
    if not shutil.which("runc", path=PLACES):
        report("provider oci", skip="this machine has no runc")
        end()
    with Daemon() as d:
        made = d.call("POST", "/v1/sandboxes", {"manifest": MANIFEST, "start": True})
        if b"no_unified" in made.body:
            report("provider oci", skip="this machine has no writable cgroup v2 hierarchy")
            end()
        box = made.json["id"]
        check("a sandbox of provider oci runs", d.must("GET", "/v1/sandboxes/" + box)["status"] == "running", made)
        check("its relay is no root", all(os.stat("/proc/%d" % pid).st_uid >= 1900000000 for pid, name in relays(box).items() if name == "carrel-relay") and
              "carrel-relay" in relays(box).values(), relays(box))
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
