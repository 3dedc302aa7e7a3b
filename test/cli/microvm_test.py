#!/usr/bin/env python3
# weight: 2
# slow: 60 s: five virtual machines boot on an emulated processor
"""provider: microvm - `carrel run` in a virtual machine of QEMU, emulated: streams, ends, what is inside, what is refused by
name before it starts, and what is left when QEMU is killed. Prints TAP.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, Inventory, Workspace, check, descendants, end, need_programs, until
from machine_rig import Desk, has_tap, make_disk, mount_rows, need_machine, qemus, text, unpacked


def plan_error(desk, manifest, *words, host=None):
    with Workspace(manifest) as ws:
        done = subprocess.run([CARREL, "plan", "-w", ws.path, "--host", host or desk.host, "--json", *words], env=desk.env, capture_output=True, text=True, check=False)
        try:
            return json.loads(done.stdout).get("error", {})
        except ValueError:
            return {"code": done.stdout + done.stderr}


def refusals():
    with Desk(has_disk=False) as desk:
        got = plan_error(desk, text())
        check("an image without a disk is refused, with the command that makes it", got["code"] == "image_not_found" and got.get("reason") == "disk" and
              "carrel image disk box:1" in got.get("hint", ""), got)
        made = make_disk(desk.state)
        again = make_disk(desk.state)
        check("that command makes it once", made.stdout == "box:1  disk made\n" and again.stdout == "box:1  has a disk\n", made, again)
        rows = (*(() if has_tap() else (("network.egress without /dev/net/tun", {"more": "network: {egress: [example.com]}\n"}, "no_tun"),)),
                ("a memory limit that no kernel fits in", {"limits": "memory_mb: 64"}, "machine_small"),
                ("a disk for private places", {"carrel": "disk: image"}, "machine_disk"),
                ("more private space than half of the memory", {"limits": "memory_mb: 256", "carrel": "limits: {disk_mb: 200}"}, "machine_disk"),
                ("a tier that an emulated machine does not have", {"carrel": "tier: T4"}, None))
        for name, words, reason in rows:
            got = plan_error(desk, text(**words))
            check("refused before it starts: " + name, got.get("code") and (got.get("reason") == reason if reason else True), got)
        empty = os.path.join(desk.folder, "empty.yaml")
        with open(empty, "w", encoding="utf-8") as f:
            f.write("machine_kernel: /nonexistent/boot/vmlinuz-0\nproviders: {microvm: {isolated: true}}\n")
        got = plan_error(desk, text(), host=empty)
        check("a kernel that is not there is refused, with the command that installs one", (got.get("code"), got.get("reason")) == ("capability_unavailable", "no_kernel") and
              "apt-get install linux-image-cloud-amd64" in got.get("hint", ""), got)
        listed = {p["id"]: p for p in json.loads(subprocess.run([CARREL, "providers", "--json"], env=desk.env, capture_output=True, check=True).stdout)["providers"]}
        check("carrel providers: an emulated machine claims T3", (listed["microvm"]["tier"], listed["microvm"]["runtime_class"]) == ("T3", "qemu"), listed.get("microvm"))
        with Workspace(text()) as ws:
            done = subprocess.run([CARREL, "plan", "-w", ws.path, "--host", desk.host, "--steps"], env=desk.env, capture_output=True, text=True, check=False)
            check("`carrel plan --steps` prints how QEMU is started, and what follows inside", "microvm,acpi=on" in done.stdout and
                  done.stdout.index(" machine ") < done.stdout.index(" landlock "), done.stdout[-3000:], done.stderr)
        disks = os.path.join(desk.state, "images", "disks")
        before = os.listdir(disks)
        subprocess.run([CARREL, "image", "rm", "box:1"], env=desk.env, capture_output=True, check=True)
        check("the disk goes with its image", len(before) == 1 and not os.listdir(disks), before, os.listdir(disks))


class Run:
    def __init__(self, desk, ws):
        self.desk, self.ws = desk, ws

    def argv(self, words, *options):
        return [CARREL, "run", "-w", self.ws.path, "--host", self.desk.host, *options, "--", *words]

    def sh(self, script, *options, **more):
        return subprocess.run(self.argv(["sh", "-c", script], *options), env=self.desk.env, capture_output=True, check=False, timeout=300,
                              **({"stdin": subprocess.DEVNULL} if "input" not in more else {}), **more)


INSIDE = ("id -u; id -g; grep -E '^(CapPrm|CapBnd|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\t'; uname -r; cat /etc/motd; date +%s; "
          "for f in /new /etc/new /bin/new; do (echo x > $f) 2>/dev/null && echo wrote $f; done; for d in /tmp /run /dev/shm $HOME; do echo x > $d/new && echo wrote $d; done; "
          "ls /proc/1/root 2>&1 | tail -n 1; ls /dev | grep -c vport; nc 192.0.2.1 80 </dev/null 2>&1; echo err >&2; cat; exit 7")


def runs(desk):
    with Workspace(text(limits="memory_mb: 200")) as ws:
        r = Run(desk, ws)
        raw = os.urandom(100000)
        done = r.sh(INSIDE, input=raw)
        lines = done.stdout[:-len(raw)].decode().splitlines()
        check("a command has its three streams, the end of its input, and its exit status", done.stdout[-len(raw):] == raw and done.returncode == 7 and
              b"err" in done.stderr.splitlines(), done.returncode, done.stdout[:2000], done.stderr)
        check("the command is agent, without a capability, with no_new_privs and a filter", lines[:6] ==
              ["1000", "1000", "CapPrm:" + "0" * 16, "CapBnd:" + "0" * 16, "NoNewPrivs:1", "Seccomp:2"], lines)
        check("its kernel is the machine's, and its root the image", lines[6] == os.path.basename(unpacked())[len("vmlinuz-"):] != os.uname().release and
              lines[7] == "of the image", lines)
        check("its clock is right", abs(int(lines[8]) - time.time()) < 300, lines[8])
        check("only the private places can be written", lines[9:13] == ["wrote /tmp", "wrote /run", "wrote /dev/shm", "wrote /home/agent"], lines)
        check("pid 1, its port and every network are out of reach", "Permission denied" in lines[13] and lines[14] == "0" and "unreachable" in " ".join(lines[15:]), lines)


def doctor(desk):
    place, own = os.path.join(desk.folder, "config", "carrel"), os.path.join(desk.folder, "own")
    os.makedirs(place)
    os.mkdir(own)
    with open(os.path.join(place, "host.yaml"), "w", encoding="utf-8") as f:
        f.write("machine_kernel: %s\n" % unpacked())
    done = subprocess.run([CARREL, "doctor", "--boot", "--json"], env={**desk.env, "XDG_CONFIG_HOME": os.path.dirname(place), "TMPDIR": own}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    here = next(p for p in told["providers"] if p["id"] == "microvm")
    row = next(m for m in told["mechanisms"] if m["name"] == "whole_sandbox" and m["provider"] == "microvm")
    check("`carrel doctor --boot` starts a machine with the kernel that the host file names, and a root of its own", told["tier"]["T3"] is True and (here["works"], here["tried"]) == (True, True) and
          row["state"] == "works" and "with a command in it" in row["detail"], here, row)
    check("nothing of it is left", os.listdir(own) == [], os.listdir(own))


def ends(desk):
    with Workspace(text()) as ws:
        r = Run(desk, ws)
        done = subprocess.run(r.argv(["sh", "-c", "sleep 1000 & (setsid sleep 1000 &) ; sleep 1000"], "--timeout", "2s", "--json"), env=desk.env, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=300)
        got = json.loads(done.stdout)
        check("a timeout ends the command and the machine; it begins when the command does", (done.returncode, got["outcome"]) == (124, "timed_out"), got)
        child = subprocess.Popen(r.argv(["sh", "-c", "echo up; sleep 1000"], "--json"), env=desk.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until("QEMU runs", lambda: qemus(pid for pid, _ in descendants()))
        for pid in qemus(pid for pid, _ in descendants()):
            os.kill(pid, signal.SIGKILL)
        out, err = child.communicate(timeout=300)
        got = json.loads(out)
        check("kill -9 of QEMU before it is ready: a typed error", child.returncode == 126 and got["error"]["code"] == "capability_unavailable", child.returncode, out, err)


def main():
    need_programs()
    need_machine()
    refusals()
    inventory = Inventory()
    with Desk() as desk:
        runs(desk)
        mount_rows(desk)
        doctor(desk)
        ends(desk)
    left = inventory.left()
    check("nothing is left behind", not left, left)
    end()


main()
