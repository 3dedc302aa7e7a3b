#!/usr/bin/env python3
"""Takes away one mechanism at a time and checks that its line of `carrel doctor` changes. Prints
TAP.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, SHIM, Tap

NAMESPACED = ["user_namespace", "mount_namespace", "pid_namespace", "ipc_namespace", "uts_namespace",
              "cgroup_namespace", "net_namespace", "loopback", "fresh_proc", "pivot_root", "tmpfs", "mount_api",
              "devpts", "overlay", "wall", "routed"]
LIMITS = ["limit_memory", "limit_swap", "limit_pids", "limit_cpu", "limit_io", "cpu_time", "cgroup_kill"]

# what the shim takes away: the lines that change; a line that is not named here must stay as it was
CASES = [
    (["landlock"], ["landlock"]),
    (["landlock=EPERM"], ["landlock"]),
    (["openat2"], ["openat2"]),
    (["openat2=EPERM"], ["openat2"]),
    (["clone3"], ["clone3"]),
    (["close_range"], ["close_range"]),
    (["pidfd"], ["pidfd"]),
    (["seccomp"], ["seccomp"]),
    (["no_new_privs"], ["no_new_privs", "landlock", "seccomp"]),
    (["mount_api"], ["mount_api", "idmap"]),
    (["mount"], NAMESPACED),
    (["pivot_root"], ["pivot_root"]),
    (["rlimit"], ["rlimit"]),
    (["userns"], NAMESPACED + ["tap", "idmap", "id_range", "clone3"]),
    (["mountns"], NAMESPACED + ["clone3"]),
    (["pidns"], ["pid_namespace", "fresh_proc", "clone3"]),
    (["ipcns"], ["ipc_namespace", "fresh_proc", "clone3"]),
    (["utsns"], ["uts_namespace", "clone3"]),
    (["cgroupns"], ["cgroup_namespace", "clone3"]),
    (["netns"], ["net_namespace", "loopback", "wall", "routed", "tap", "clone3"]),
    (["cgroup"], LIMITS + (["container_runtime"] if os.geteuid() == 0 else [])),     # an ordinary user needs no group for it
    (["openat2", "close_range", "clone3"], ["openat2", "close_range", "clone3"]),
]


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, text=True)


def once(pairs):
    """An object in which no name is twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def report(command):
    done = run(command)
    try:
        told = json.loads(done.stdout, object_pairs_hook=once)
    except ValueError:
        return done.returncode, None, done.stderr
    return done.returncode, told, done.stderr


def states(told):
    found = {}
    for m in told["mechanisms"]:
        found.setdefault(m["name"], m["state"])     # of the standard provider, which is the first
    return found


def groups():
    """Every control group that a doctor may have left."""
    found = set()
    for where, dirs, _ in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(where, d) for d in dirs if d.startswith("carrel-doctor"))
    return found


def groups_left(before):
    """The groups that stay: another doctor may run at the same time, and removes its groups."""
    left = groups() - before
    deadline = time.monotonic() + PATIENCE
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left &= groups()
    return left


def baseline(tap, doctor):
    status, told, stderr = report(doctor + ["--json"])
    tap.ok(told is not None, "the report is JSON", stderr)
    if told is None:
        sys.exit(tap.end())
    tap.ok(status == (0 if told["tier"]["T1"] else 1), "the exit status says what tier.T1 says", status)
    for m in told["mechanisms"]:
        complete = (m["fix"] is not None) == (m["state"] == "fails") and m["detail"] and m["what_for"]
        tap.ok(complete, m["name"] + " says what it is for, and how to mend it where it fails", m)
    return status, told


def take_away(tap, shim, doctor, before, names, flips):
    status, told, stderr = report([shim] + names + ["--"] + doctor + ["--json"])
    title = "without " + " ".join(names)
    if told is None and names == ["rlimit"] and "Sanitizer" in stderr:
        tap.skip(title, "the sanitizer itself sets limits")
        return
    if told is None:
        tap.ok(False, title, stderr)
        return
    after, old = states(told), states(before)
    expected = {n: ("fails" if n in flips and s != "idle" else s) for n, s in old.items()}
    if any(m["needed_for"] == "T1" and m["name"] in flips for m in before["mechanisms"]):
        expected["whole_sandbox"] = "idle"         # not tried if a part of it is missing
    wrong = ["%s: %s, expected %s" % (n, after[n], s) for n, s in expected.items() if after[n] != s]
    tap.ok(not wrong, title + " these lines flip, and no other: " + ", ".join(flips), *wrong)
    t1 = all(m["state"] != "fails" for m in told["mechanisms"] if m["needed_for"] == "T1")
    tap.ok(told["tier"]["T1"] == t1 and status == (0 if t1 else 1), title + " the tier and the status follow",
           told["tier"], status)
    unfixed = [m["name"] for m in told["mechanisms"] if m["state"] == "fails" and not m["fix"]]
    tap.ok(not unfixed, title + " each missing line says how to mend it", unfixed)


def for_people(tap, shim, doctor):
    done = run([shim, "landlock", "--"] + doctor)
    lines = done.stdout.splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("  NO  landlock")]
    tap.ok(len(at) > 0, "people see NO in front of it", done.stdout)
    tap.ok(at and any("fix:" in line for line in lines[at[0]:at[0] + 3]), "and below it the command that fixes it",
           done.stdout)
    tap.ok("\033" not in done.stdout, "no colour outside a terminal")
    tap.ok(all(any(line.startswith(begin) for line in lines) for begin in ("Tier T1: refused", "Tier T2 (provider container): refused")),
           "a line for each tier draws the conclusion", lines[-4:])
    tap.ok(done.returncode == 1, "and the status is 1", done.returncode)
    done = run(doctor + ["--jsn"])
    tap.ok(done.returncode == 125 and "Next:" in done.stderr and done.stdout == "", "a wrong argument is an error")
    with open("/dev/full", "w") as full:
        done = subprocess.run(doctor, stdout=full, stderr=subprocess.PIPE, timeout=120)
    tap.ok(done.returncode == 125, "a report that cannot be written is an error", done.returncode)


def main():
    shim, doctor = SHIM, [CARREL, "doctor"]
    tap = Tap()
    present = groups()
    _, before = baseline(tap, doctor)
    for names, flips in CASES:
        take_away(tap, shim, doctor, before, names, flips)
    for_people(tap, shim, doctor)
    left = groups_left(present)
    tap.ok(not left, "no control group is left behind", left)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
