#!/usr/bin/env python3
# weight: 2
# slow: 30 s: a virtual machine boots on an emulated processor, and is restored eight times
"""provider: microvm from a saved machine - what saves it, which sandboxes start with it, what differs between two that did, and
what happens to a file that is damaged. Prints TAP.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, SWITCHES, Inventory, Workspace, check, descendants, end, has_switches, need_programs, report, until
from machine_rig import Desk, has_tap, mount_rows, need_machine, qemus, text

SIZE = "memory_mb: 160"
HEAD = 4096     # src/wire/saved.h
# of pid 1: where its stack is, and what the kernel gave it to make its secrets of
UNIQUE = "cat /proc/sys/kernel/random/uuid; head -c 32 /dev/urandom | od -An -tx1; grep -F '[stack]' /proc/self/maps; date +%s; hostname; cat /proc/sys/kernel/random/entropy_avail"


def image(desk, *words):
    return subprocess.run([CARREL, "image", *words], env=desk.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def save(desk, *words):
    return image(desk, "machine", "box:1", "--host", desk.host, "--memory", "160m", *words)


def machines(desk):
    place = os.path.join(desk.state, "images", "machines")
    return [os.path.join(place, name) for name in os.listdir(place)] if os.path.isdir(place) else []


def half_done(desk):
    return os.listdir(os.path.join(desk.state, "images", "making"))


def run(desk, *command, **words):
    with Workspace(text(**{"limits": SIZE, **words})) as ws:
        return subprocess.run([CARREL, "run", "-w", ws.path, "--host", desk.host, "--json", "--", *command], env=desk.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def starts(desk, program=CARREL, **words):
    """How the plan of this program starts the machine: 'saved' or 'boots'."""
    with Workspace(text(**{"limits": SIZE, **words})) as ws:
        done = subprocess.run([program, "plan", "-w", ws.path, "--host", desk.host, "--json", "--steps"], env=desk.env, capture_output=True, text=True, check=True)
        told = subprocess.run([program, "plan", "-w", ws.path, "--host", desk.host], env=desk.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    how = "saved" if "saved" in [step["step"] for step in json.loads(done.stdout)["steps"]] else "boots"
    return how if {"saved": "starts with a saved machine", "boots": "boots its machine"}[how] in told else told


def killed(desk):
    """kill -9 of the command that saves, while QEMU boots."""
    inventory = Inventory(os.path.join(desk.state, "images"))
    child = subprocess.Popen([CARREL, "image", "machine", "box:1", "--host", desk.host, "--memory", "160m"], env=desk.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("QEMU runs", lambda: qemus(pid for pid, _ in descendants()))
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    left = inventory.left()
    check("kill -9 of the command that saves leaves nothing", not left, left)


def which(desk):
    check("without a saved machine it boots", starts(desk) == "boots")
    done = save(desk)
    check("`carrel image machine` boots the machine once and saves it", done.returncode == 0 and done.stdout.startswith("box:1  machine saved, ") and
          len(machines(desk)) == 1 and not half_done(desk), done.returncode, done.stdout, done.stderr, machines(desk))
    check("it is closed to others, and nobody writes to it", [os.stat(path).st_mode & 0o777 for path in machines(desk)] == [0o400])
    check("a sandbox of the same size starts with it", starts(desk) == "saved")
    if has_switches():
        check("with another build of the same version a machine boots", starts(desk, program=SWITCHES) == "boots")
    rows = (("another size", {"limits": "memory_mb: 192"}), ("another number of processors", {"carrel": "limits: {cpu_millicores: 2000}"} if (os.cpu_count() or 1) > 1 else None))
    for name, words in rows:
        if words:
            check("a machine with %s boots" % name, starts(desk, **words) == "boots")


MOUNTS = "mounts: [{source: workspace, at: /workspace}, {source: workspace, at: /ro, mode: read-only}]\n"
NETWORK = {"more": "network: {egress: [example.com]}\n"}


def devices(desk):
    """What is shown inside, whose only device besides is the loopback."""
    got = outcome(run(desk, "cat", "/proc/net/dev"))
    check("without network.egress the saved machine has no device for it", shown(got) == ["lo"], got)
    if not has_tap():
        return report("network.egress of a saved machine", skip="this user may not open /dev/net/tun; test/cli/microvm_test.py has the refusal")
    check("a sandbox with network.egress starts with it", starts(desk, **NETWORK) == "saved")
    got = outcome(run(desk, "cat", "/proc/net/dev", **NETWORK))
    check("  and has one device", shown(got) == ["eth0", "lo"], got)


def mounts(desk):
    check("a sandbox with mounts starts with it", starts(desk, more=MOUNTS) == "saved")
    mount_rows(desk, limits=SIZE)


def shown(got):
    return sorted(line.split(":")[0].strip() for line in got.get("stdout", "").splitlines() if ":" in line)


def outcome(done):
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"stdout": done.stdout, "stderr": done.stderr}


def unique(desk):
    seen = []
    for _ in range(2):
        before = int(time.time())
        got = outcome(run(desk, "sh", "-c", UNIQUE))
        after = int(time.time())
        lines = got.get("stdout", "").splitlines()
        check("a sandbox that starts with it runs its command", got.get("exit_code") == 0 and len(lines) == 7, got)
        seen.append(lines)
        check("its clock is the host's", before <= int(lines[4]) <= after, before, lines, after)
        check("its host name is the sandbox's", lines[5] == "carrel", lines)
    check("two machines of one file have no random number in common", len(seen) == 2 and not set(seen[0][:4]) & set(seen[1][:4]), seen)


def damaged(desk):
    path = machines(desk)[0]
    with open(path, "rb") as f:
        whole = f.read()

    def put(content):
        os.unlink(path)
        with open(path, "wb") as f:
            f.write(content)

    put(whole[:-1])
    check("a file that is not whole is not used: it boots", starts(desk) == "boots")
    put(whole[:8] + bytes(64) + whole[72:])
    check("a file of another machine is not used: it boots", starts(desk) == "boots")
    put(whole[:HEAD] + bytes(4096) + whole[HEAD + 4096:])
    got = outcome(run(desk, "true")).get("error", {})
    check("a file that QEMU cannot read is a typed error, with the command that removes it", (got.get("code"), got.get("reason")) == ("capability_unavailable", "machine_saved") and
          "carrel image machine --remove" in got.get("hint", ""), got)
    put(whole[:80] + bytes(8) + whole[88:])
    got = outcome(run(desk, "true")).get("error", {})
    check("  and so is one whose memory is elsewhere", (got.get("code"), got.get("reason")) == ("capability_unavailable", "machine_saved"), got)
    put(whole)
    check("the same file again is used", starts(desk) == "saved")


def removed(desk):
    with open(machines(desk)[0], "rb") as f:
        whole = f.read()
    done = save(desk, "--remove")
    check("`carrel image machine --remove` removes it", done.returncode == 0 and not machines(desk) and starts(desk) == "boots", done)
    name = os.path.join(desk.state, "images", "machines", os.listdir(os.path.join(desk.state, "images", "disks"))[0] + "." + "0" * 64)
    with open(name, "wb") as f:
        f.write(whole)
    done = image(desk, "rm", "box:1")
    check("it goes with its image", done.returncode == 0 and not machines(desk), done, machines(desk))


def main():
    need_programs()
    need_machine()
    inventory = Inventory()
    with Desk() as desk:
        killed(desk)
        which(desk)
        unique(desk)
        devices(desk)
        mounts(desk)
        damaged(desk)
        removed(desk)
    left = inventory.left()
    check("nothing is left behind", not left, left)
    end()


main()
