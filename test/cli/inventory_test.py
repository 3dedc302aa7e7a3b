#!/usr/bin/env python3
"""inventory_test - the inventory of test/rig reports each kind of object that a test may leave, and
no object of a test that runs beside it. TAP.

Two programs side by side: one leaves an object of each kind on purpose and prints what its
inventory finds. The other checks its own inventory meanwhile.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ROOT, Inventory, Workspace, check, descendants, end, manifest, need_programs, report, until

KINDS = ("processes", "leases", "groups", "mounts", "memory", "files")


def kinds(wrong):
    return sorted({word for w in wrong for word in KINDS if w.startswith(word)})


def process_left(_):
    """A process in its own session, without an environment, whose parent has ended."""
    subprocess.run(["env", "-i", "PATH=" + os.environ["PATH"], "setsid", "sh", "-c", "sleep 300 >/dev/null 2>&1 &"], check=True, stdin=subprocess.DEVNULL)
    return all_killed


def all_killed():
    """All objects are below this process, and none depends on another."""
    for number in ("-STOP", "-KILL"):
        subprocess.run(["kill", number, *(str(pid) for pid, _ in descendants())], check=False, stderr=subprocess.DEVNULL)


def lease_left(inventory):
    path = os.path.join(inventory.place.runtime, "0123456789abcdef.lease")
    with open(path, "wb"):
        return lambda: os.path.exists(path) and os.unlink(path)     # no process holds it: another start may have collected it


def group_left(inventory):
    """A group named like that of a sandbox that ended long ago; None if this user may create none.
    """
    with Workspace() as ws:
        id_ = ws.json(["true"])[1]["id"]
    for top, _, _ in os.walk("/sys/fs/cgroup"):
        path = os.path.join(top, "carrel-" + id_)
        try:
            os.mkdir(path)
            os.stat(os.path.join(path, "cgroup.procs"))
            return lambda: os.rmdir(path)
        except OSError:
            if os.path.isdir(path):
                os.rmdir(path)      # a directory beside the hierarchies is not a group
    return None


def mount_left(inventory):
    if not ROOT:
        return None
    subprocess.run(["mount", "-t", "tmpfs", "none", inventory.folder], check=True)
    return lambda: subprocess.run(["umount", inventory.folder], check=True)


def memory_left(_):
    if not ROOT:
        return None     # objects of this user's other programs there look the same
    path = "/dev/shm/carrel-left-%d" % os.getpid()
    with open(path, "wb"):
        return lambda: os.unlink(path)


def file_left(inventory):
    path = os.path.join(inventory.folder, "left")
    with open(path, "wb"):
        return lambda: os.unlink(path)


LEAVERS = {"processes": process_left, "leases": lease_left, "groups": group_left, "mounts": mount_left, "memory": memory_left, "files": file_left}


def say(what):
    print(json.dumps(what), flush=True)


def leave():
    """Each kind alone, then all at once until the other program has checked; last a sandbox that is
    killed with its maker and collected by the next start.
    """
    with tempfile.TemporaryDirectory(prefix="carrel-left-") as folder:
        inventory = Inventory(folder)
        for kind, leaver in LEAVERS.items():
            clear = leaver(inventory)
            found = kinds(inventory.wrong())
            if clear:
                clear()
            say([kind, bool(clear), found, inventory.left()])
        clears = [clear for leaver in LEAVERS.values() if (clear := leaver(inventory))]
        with Workspace(manifest(limits="timeout_ms: 200000, memory_mb: 64", carrel="limits: {pids: 50}")) as ws:
            has_limits = "limit_unenforceable" not in json.dumps(ws.json(["true"])[1])
            p = subprocess.Popen(ws.argv(["sh", "-c", "echo on; read x"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            p.stdout.readline()
            say("all is left")
            sys.stdin.readline()
            for clear in reversed(clears[1:]):
                clear()
            say(["a sandbox that runs", has_limits, kinds(inventory.wrong()), []])
            until("all have ended", lambda: all_killed() or not descendants())
            p.wait()
            said = kinds(inventory.wrong())
            ws.run(["true"])
            say(["a sandbox killed with its maker", True, said, inventory.left()])


def look():
    with tempfile.TemporaryDirectory(prefix="carrel-left-") as folder:
        inventory = Inventory(folder)
        with Workspace() as ws:
            ws.run(["true"])
        say("here")
        sys.stdin.readline()
        say(inventory.wrong())


def child(word):
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main():
    leaver, looker = child("leave"), child("look")
    json.loads(looker.stdout.readline())
    for kind in LEAVERS:
        _, is_left, found, after = json.loads(leaver.stdout.readline())
        if is_left:
            check("%s left behind are blamed, and nothing when they have gone" % kind, found == [kind] and not after, found, after)
        else:
            report("%s left behind are blamed, and nothing when they have gone" % kind, skip="this user makes none that could be told")
    assert json.loads(leaver.stdout.readline()) == "all is left"
    found = json.loads(looker.communicate("look\n")[0].splitlines()[-1])
    check("a program beside it that leaves all of them, and runs a sandbox, is not seen", found == [], found)
    leaver.stdin.write("go\n")
    leaver.stdin.flush()
    _, has_limits, found, _ = json.loads(leaver.stdout.readline())
    usual = ["groups", "leases", "processes"] if has_limits else ["leases", "processes"] if ROOT else ["processes"]
    check("a sandbox that runs is seen: its processes, its lease, its groups", set(usual) <= set(found), found)
    _, _, found, after = json.loads(leaver.stdout.readline())
    check("one that was killed with its maker leaves lease and groups, until the next start", (set(usual) - {"processes"}) <= set(found) and not after, found, after)
    leaver.communicate()
    check("both programs ended well", (leaver.returncode, looker.returncode) == (0, 0), leaver.returncode, looker.returncode)
    end()


if __name__ == "__main__":
    need_programs()
    {"leave": leave, "look": look}.get(sys.argv[-1], main)()
