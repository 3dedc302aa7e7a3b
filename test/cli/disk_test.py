#!/usr/bin/env python3
"""disk_test - where /tmp and the home are (metadata.carrel.disk): in memory, or on an image of
fixed size, of which nothing is left however its sandbox ends.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, Inventory, Workspace, check, descendants, end, mount_or_raise, own_place, report, until
from daemon_rig import Daemon

MS_BIND = 4096
FILL = ["sh", "-c", "dd if=/dev/zero of=$HOME/cache bs=1M count=%d 2>/dev/null; stat -c %%s $HOME/cache"]
KINDS = ["sh", "-c", "for d in /tmp $HOME /run /dev/shm; do stat -f -c '%T %b %S' $d; done; grep ' /tmp ' /proc/self/mountinfo"]


def fill(mib):
    return [*FILL[:2], FILL[2] % mib]


def plan(ws):
    done = subprocess.run([CARREL, "plan"], cwd=ws.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
    return done.stdout.decode()


def is_held(answer):
    return "limit_unenforceable:memory_mb" not in json.dumps(answer)


def loop_of(text):
    """The number of the loop device behind /tmp, from the sandbox's own list of mounts; -1: none.
    """
    found = re.search(rb" 7:(\d+) \S+ /tmp ", text)
    return int(found.group(1)) if found else -1


def is_tied(number):
    """Checks the backing file of this test's device: it has no name any more."""
    try:
        with open("/sys/block/loop%d/loop/backing_file" % number, encoding="utf-8", errors="replace") as f:
            return "(deleted)" in f.read()
    except OSError:
        return False


def kinds(done):
    """The file system and its size in MiB, of /tmp, the home, /run and /dev/shm."""
    return [(words[0].decode(), int(words[1]) * int(words[2]) >> 20) for words in (line.split() for line in done.stdout.splitlines()[:4])]


def holds_more_than_memory():
    with Workspace(limits="memory_mb: 128, timeout_ms: 240000") as ws:
        status, answer = ws.json(fill(400))
        if not is_held(answer):
            report("files of 400 MiB in a sandbox of 128", skip="no control group holds memory here")
            return
        check("files of 400 MiB are no failure in a sandbox of 128", status == 0 and answer["stdout"].strip() == "419430400", status, answer)
        done = ws.run(KINDS)
        got = kinds(done)
        check("/tmp and the home are one file system of disk_mb, less its table", got[0] == got[1] and got[0][0] == "ext2/ext3" and 1850 < got[0][1] < 2048, got)
        check("/run and /dev/shm are memory, half of memory_mb", got[2] == got[3] == ("tmpfs", 64), got)
        check("no name of a device or of the image is seen", b"loop" not in done.stdout and b"#" not in done.stdout and b"deleted" not in done.stdout, done.stdout)
        text = plan(ws)
        check("`carrel plan` says so", "/tmp and /home/agent: on an image of fixed size" in text and "count against memory_mb" in text, text)
        ws.write("SANDBOX.md", ws.read("SANDBOX.md").replace(b"{carrel: {", b"{carrel: {disk: memory"))
        status, answer = ws.json(fill(400))
        check("(control) disk: memory, and the same is oom_killed", answer["outcome"] == "oom_killed", status, answer)
        text = plan(ws)
        check("... as `carrel plan` says", "they are memory: what they hold counts against memory_mb" in text and "image" not in text, text)


def is_a_disk_like_another():
    with Workspace(limits="timeout_ms: 240000", carrel="disk: image, limits: {disk_mb: 40}") as ws:
        done = ws.run(fill(60))
        size = int(done.stdout.split()[-1]) >> 20
        check("an image is full at disk_mb, and the limit is named", 30 <= size < 40 and b"disk_mb" in done.stderr, size, done.stderr)
        done = ws.sh("stat -c '%u %g %a' /tmp $HOME; cp /bin/true /tmp/t && /tmp/t && echo runs; chmod u+s /tmp/t; stat -c %a /tmp/t; mknod /tmp/n b 7 0; mknod /tmp/m c 1 3; "
                     "ls /dev /sys; ls /sys/block /sys/class 2>/dev/null; python3 -c \"import fcntl,os; fcntl.ioctl(os.open('/tmp',0), 0x8004587d, b'\\0'*4)\" 2>&1 | tail -1")
        lines = done.stdout.decode().split("\n")
        check("its root is the sandbox's own", lines[0] == "1000 1000 1777" and lines[1] == "1000 1000 755", lines[:2])
        check("programs run there; no set-id bit, no device node", "runs" in lines and "755" in lines and done.stderr.count(b"mknod") == 2, done)
        check("no loop device is seen, and no block device", "loop" not in done.stdout.decode() and "block" not in done.stdout.decode(), lines)
        check("what only root may ask of its file system is refused", "PermissionError" in done.stdout.decode(), lines)
        done = ws.sh("head -c 3M /dev/urandom > $HOME/a; mv $HOME/a /tmp/a; ln /tmp/a /tmp/b; truncate -s 30M /tmp/hole; rm /tmp/a; echo kept > /workspace/k; df /workspace /tmp | wc -l")
        check("files move, are linked, have holes", done.returncode == 0, done)


def nothing_is_left():
    inventory = Inventory()
    with Workspace(limits="timeout_ms: 240000", carrel="disk: image, limits: {disk_mb: 64}") as ws:
        done = ws.run(KINDS)
        number = loop_of(done.stdout)
        check("a sandbox that ended holds no loop device", number >= 0 and not is_tied(number), done.stdout)
        for who in ("carrel-maker", "carrel-init", None):
            p = subprocess.Popen(ws.argv(["sh", "-c", "grep ' /tmp ' /proc/self/mountinfo; exec sleep 300"]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            number = loop_of(p.stdout.readline())
            was_tied = is_tied(number)
            victims = [pid for (pid, _), name in descendants().items() if name.startswith(who)] if who else [p.pid]
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            p.wait(ALWAYS)
            p.stdout.close()
            until("the loop device is free", lambda n=number: not is_tied(n))
            check("killed: %s; the image and its loop device are gone" % (who or "carrel run"), number >= 0 and was_tied and victims, number, was_tied, victims)
        for _ in range(2):     # the next start collects leases and groups of the killed ones
            ws.run(["true"])
    report("nothing else is left either", inventory.left())


def refusals():
    place = own_place()
    with Workspace(limits="memory_mb: 256, timeout_ms: 240000") as auto, Workspace(carrel="disk: image") as named, tempfile.TemporaryDirectory(dir=place.folder) as folder:
        def rows(what, word, is_late=False, runs=True):
            done = named.run(["true"])
            check("%s: disk: image is refused, with the reason and the next step" % what, done.returncode != 0 and word in done.stderr and b"disk: auto" in done.stderr, done)
            done = auto.run(KINDS) if runs else None
            check("... and auto is memory" if runs else "... (a sandbox cannot have a /proc of its own over this one)", not runs or done.returncode == 0 and [kind for kind, _ in kinds(done)] == ["tmpfs"] * 4, done)
            text = plan(auto)
            check("... as `carrel plan` says", is_late or ("cannot use an image on the host's disk: " in text and word.decode() in text), text)

        def covered(what, by, word, **more):
            """In a mount namespace of this test; the mount on top is removed again."""
            mount_or_raise(by.encode(), what, None, MS_BIND)
            try:
                rows(what, word, **more)
            finally:
                subprocess.run(["umount", what], check=True)

        with open(os.path.join(folder, "filesystems"), "w", encoding="ascii") as f:
            f.write("nodev\ttmpfs\n\text3\n")
        covered("/proc/filesystems", f.name, b"no ext4", runs=False)
        covered("/dev/loop-control", "/dev/null", b"loop device", is_late=True)
        for path in ("/var/tmp", "/var/lib/carrel"):
            if os.path.isdir(path):
                mount_or_raise(b"none", path, b"tmpfs", 0, b"mode=1777")
        rows("a directory in memory", b"memory itself")
        for path in ("/var/tmp", "/var/lib/carrel"):
            if os.path.isdir(path):
                subprocess.run(["umount", path], check=True)
        small_disk(folder, rows)


def small_disk(folder, rows):
    """120 MiB of ext4 in the place of images: too small for 2 GiB, and filled from outside while a
    sandbox writes.
    """
    disk, at = os.path.join(folder, "disk"), "/var/lib/carrel" if os.path.isdir("/var/lib/carrel") else "/var/tmp"
    with open(disk, "wb") as f:
        f.truncate(120 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", disk], check=True)
    subprocess.run(["mount", "-o", "loop", disk, at], check=True)
    try:
        rows("a disk that is too small", b"MiB free")
        with Workspace(limits="timeout_ms: 240000", carrel="disk: image, limits: {disk_mb: 40}", mounts="") as ws:
            p = subprocess.Popen(ws.argv(["sh", "-c", "echo begun; read x; while :; do dd if=/dev/urandom of=$HOME/f bs=1M count=20; sync; sleep 0.05; done"], "--json"), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            number = lambda: [n for n in os.listdir("/sys/block") if n.startswith("loop") and is_tied(int(n[4:]))]
            until("the image is there", number)
            with open(os.path.join(at, "other"), "wb") as f:       # another program takes the rest except a megabyte: below the floor of a fiftieth
                room = os.statvfs(at)
                os.posix_fallocate(f.fileno(), 0, room.f_bavail * room.f_frsize - (1 << 20))
            p.stdin.write(b"\n")
            p.stdin.flush()
            answer = json.loads(p.communicate(timeout=ALWAYS)[0])
            check("the disk behind it runs full: the sandbox is stopped, and the host keeps its last bytes", answer["outcome"] == "policy_killed", answer)
    finally:
        subprocess.run(["umount", "-l", at], check=True)


def user():
    """For an ordinary user no image is mounted."""
    with Workspace(limits="memory_mb: 256", carrel="disk: image") as ws:
        done = ws.run(["true"])
        check("without root: disk: image is refused, with the reason and the next step", done.returncode != 0 and b"only root" in done.stderr and b"disk: auto" in done.stderr, done)
    with Workspace(limits="memory_mb: 256") as ws:
        got = kinds(ws.run(KINDS))
        check("without root: auto is memory", [kind for kind, _ in got] == ["tmpfs"] * 4, got)


def living():
    manifest = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "metadata": {"carrel": {"disk": "image", "limits": {"disk_mb": 64}}}}
    with Daemon() as d:
        box = d.create(manifest=manifest)
        got = d.exec(box, KINDS, timeout=ALWAYS)
        number = loop_of(got["stdout"].encode())
        check("a living sandbox has one too, on the disk of the daemon's state", number >= 0 and is_tied(number), got)
        got = d.exec(box, fill(80), timeout=ALWAYS)
        check("  and is told when it is full", got.get("limits_reached") == ["disk_mb"], got)
        d.must("DELETE", "/v1/sandboxes/" + box)
        until("the loop device is free", lambda: not is_tied(number))
        check("  and stopped, it is gone", True)
    if os.path.isdir("/dev/shm"):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Daemon(state=os.path.join(folder, "state")) as d:
            answer = d.call("POST", "/v1/sandboxes", {"manifest": manifest})
            check("a state directory in memory: a typed refusal", answer.status >= 400 and "no_image" in json.dumps(answer.json), answer)


def main():
    done = subprocess.run([CARREL, "check"], cwd=(ws := Workspace(carrel="disk: floppy")).path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
    check("an unknown word is refused with those that there are", done.returncode != 0 and all(word in done.stdout for word in (b"auto", b"memory", b"image")), done)
    ws.__exit__()
    if not ROOT:
        user()
        return
    own_place()
    with Workspace(carrel="disk: image, limits: {disk_mb: 8}") as ws:
        done = ws.run(["true"])
    if done.returncode != 0:
        report("images", skip="this machine makes none: %s" % done.stderr.decode()[:200].strip().replace("\n", " "))
        return
    holds_more_than_memory()
    is_a_disk_like_another()
    nothing_is_left()
    refusals()
    living()


main()
end()
