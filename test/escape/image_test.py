#!/usr/bin/env python3
"""Attacks out of a sandbox in an image, by root inside, who may do more than an agent: on the layers, on the store, on files of the
host, through overlay's own names, on other ids (P37, B27). Prints TAP.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, check, end, need_programs
from image_rig import BUSYBOX, busybox_import

OVERLAY = ("redirect", "metacopy", "opaque", "whiteout", "origin", "impure")


class Bench:
    def __init__(self, top):
        self.top, self.state, self.work, self.host = top, os.path.join(top, "state"), os.path.join(top, "work"), os.path.join(top, "host")
        for path in (self.work, self.host):
            os.makedirs(path)
        self.secret = os.path.join(self.host, "secret")
        with open(self.secret, "w", encoding="utf-8") as f:
            f.write("of the host\n")
        busybox_import(CARREL, self.state)
        with open(os.path.join(top, "SANDBOX.json"), "w", encoding="utf-8") as f:
            json.dump({"provider": "container", "config": {"image": "box:1", "user": "root"}, "mounts": [{"source": "workspace", "at": "/workspace"}]}, f)

    def __call__(self, script, *words, **more):
        return subprocess.run([CARREL, "run", "-f", os.path.join(self.top, "SANDBOX.json"), "-w", self.work, "--", *(words or ("sh", "-c", script))],
                              env={**os.environ, "CARREL_STATE": self.state}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False, **more)

    def layers(self):
        return subprocess.run("find layers -printf '%p %m %U %n %T@ %s %l\\n' | sort; find layers -type f -exec cksum {} +", shell=True,
                              cwd=os.path.join(self.state, "images"), stdout=subprocess.PIPE, check=True).stdout


def layers_stay(b):
    before = b.layers()
    done = b("""
cd /; echo changed > /etc/motd; echo more >> /bin/busybox; chmod 777 /etc /etc/secret /bin; chown 1:1 /etc/motd; rm -r /srv /etc/secret
ln /bin/cat /opt/hard; echo x >> /opt/hard; mv /etc /etc2; mv /etc2 /etc; touch -d 1999-01-01 /bin/busybox; dd if=/dev/zero of=/bin/busybox bs=1 count=10 conv=notrunc 2>/dev/null
for at in /proc/self/root /proc/1/root /proc/self/cwd; do echo changed > $at/etc/motd; done
echo done""")
    check("B27 what root writes, removes, links and renames changes no layer", done.stdout.endswith("done\n") and b.layers() == before, done)
    done = b("grep -c . /proc/self/mountinfo; grep -e images/layers -e upperdir=/[^p] -e lowerdir=/[^p] /proc/self/mountinfo; ls /layers /upper /work /scratch /workshop 2>&1 | grep -v 'No such'")
    check("B27 no path inside leads to a layer or to the upper directory", len(done.stdout.splitlines()) == 1, done)


def overlay_names(b):
    before = b.layers()
    sets = " ".join(OVERLAY)
    shutil.copy(os.path.join(os.path.dirname(CARREL), "test/set-attribute"), os.path.join(b.work, "set"))
    done = b(f"mkdir /opt/d; for n in {sets}; do for s in user trusted; do /workspace/set $s.overlay.$n /etc /opt/d; echo $?; done; done; /workspace/set user.other x /opt/d; echo $?; "
             "mknod /opt/w c 0 0 && echo made;  mknod /srv/tree/b2 c 0 0 && echo made; touch /opt/.wh.x /opt/.wh..wh..opq && ls -A /opt /srv; true")
    answers = done.stdout.split()[:2 * len(OVERLAY) + 1]
    # EPERM for trusted; for user EOPNOTSUPP, or from Linux 6.7 on another name below (user.overlay.overlay.NAME)
    check("B27 no attribute of overlayfs is set", set(answers[1:-1:2]) == {"1"} and set(answers[:-1:2]) <= {"0", "95"} and answers[-1] == "0", answers, done)
    check("B27 no whiteout can be made", "made" not in done.stdout, done)
    check("B27 names of archives mean nothing to the overlay", ".wh.x" in done.stdout and b.layers() == before, done)
    done = b("cd /srv; /workspace/set user.overlay.opaque y tree; /workspace/set user.overlay.redirect /etc tree; cat tree/b; ls tree; grep ' / overlay' /proc/mounts")
    check("B27 and none would be followed", done.stdout.startswith("b\nb\noverlay / overlay ") and "metacopy=on" not in done.stdout and "redirect_dir=on" not in done.stdout and
          "userxattr" in done.stdout, done)
    done = b("mkdir -p /tmp/l /tmp/u /tmp/w /tmp/m; mount -t overlay overlay -o lowerdir=/etc,upperdir=/tmp/u,workdir=/tmp/w /tmp/m && echo mounted; umount / && echo gone; umount /proc && echo gone; "
             "mount -o remount,rw /proc/sys && echo again; true")
    check("B27 root inside mounts and unmounts nothing", done.stdout == "", done)


def host_is_out_of_reach(b):
    done = b(f"for at in '' /proc/self/root /proc/1/root /proc/1/cwd /workspace/.. ../../../..; do cat $at{b.secret} $at/{b.secret}; ls $at{b.state}; done; ls /proc/1/fd; ls /proc/1/map_files; cat /proc/1/environ /proc/1/mem; true")
    check("P37 no file of the host, and nothing of pid 1", done.stdout == "", done)
    os.symlink(b.secret, os.path.join(b.work, "link"))
    done = b("cat /workspace/link; echo changed > /workspace/link; true")
    check("P37 a link of the workspace ends inside", done.stdout == "" and open(b.secret, encoding="utf-8").read() == "of the host\n", done)
    done = b("echo 1 > /proc/sys/kernel/hostname; echo b > /proc/sysrq-trigger && echo triggered; echo x > /sys/new && cat /proc/kcore | head -c 1; for f in /proc/sys/kernel/*; do echo 1 > $f && echo $f; done 2>/dev/null; true")
    check("P37 no setting of the kernel", "triggered" not in done.stdout and "/proc/sys" not in done.stdout, done)


def rights(b):
    done = b("mknod /opt/null c 1 3 && echo device; mknod /opt/disk b 8 0 && echo device; "
             "grep -c -e 'nosuid.*overlay' /proc/self/mountinfo; grep NoNewPrivs /proc/self/status; unshare -Ur true && echo nested; kill -9 1; hostname x && echo named; true")
    check("P37 no device, no nested namespace, and pid 1 lives", done.returncode == 0 and "device" not in done.stdout and
          "nested" not in done.stdout and "named" not in done.stdout and "1\n" in done.stdout, done)
    done = b(f"for u in 1 33 1000 65534 65535; do {BUSYBOX} setuidgid $u true 2>/dev/null; done; chown 70000 /opt 2>/dev/null; [ $(stat -c %u /opt) = 0 ] || echo beyond; cat /proc/self/uid_map")
    check("P37 no id beyond its own", "beyond" not in done.stdout, done)


# way: (errno, bits)
SET_ID_WAYS = {
    "chmod": (0, "755"), "link": (0, "644"), "fchmod": (0, "755"), "fchmodat": (0, "755"), "own": (0, "744"), "slash": (20, "744"), "nothing": (2, "0"),
    "fchmod of nothing": (9, "744"), "pid 1": (13, "744"), "its root": (13, "755"), "proc": (13, "744"), "unreadable": (14, "744"),
    "open": (0, "750"), "again": (17, "750"), "openat": (0, "750"), "dangling": (17, "0"), "not new": (1, "0"), "creat": (1, "0"), "unnamed": (1, "0"), "mknod": (1, "0"),
    "mkdir": (0, "750"), "mkdirat": (0, "750"), "without capability": (1, "744"), "another user": (1, "744"),
}


def set_ids(b):
    """Package managers set these bits, and go on; nothing gets them, in the image or on the host's disk."""
    shutil.copy(os.path.join(os.path.dirname(CARREL), "test/set-ids"), os.path.join(b.work, "set-ids"))
    for where in ("/opt/tried", "/tmp/tried", "/workspace/tried"):
        done = b(f"mkdir {where}; /workspace/set-ids {where}; find {where} -perm -4000; find {where} -perm -2000; id -u")
        lines = done.stdout.splitlines()
        got = {way: (int(number), bits) for way, number, bits in (line.rsplit(" ", 2) for line in lines[:len(SET_ID_WAYS)])}
        wrong = {way: (got.get(way), wanted) for way, wanted in SET_ID_WAYS.items() if got.get(way) != wanted}
        check(f"P37 {where}: no way makes a set-id file, and each has the answer of its kind", not wrong and lines[len(SET_ID_WAYS):] == ["race 0", "0"], wrong, done)
    left = [name for name in os.listdir(os.path.join(b.work, "tried")) if os.lstat(os.path.join(b.work, "tried", name)).st_mode & 0o6000]
    check("P37 none is on the host's disk", left == [], left)


def other_ids(b):
    """As root: files of a third user in the workspace stay closed, and what is written belongs to the workspace's owner."""
    if not ROOT:
        return
    foreign = os.path.join(b.work, "foreign")
    with open(foreign, "w", encoding="utf-8") as f:
        f.write("of another user\n")
    os.chmod(foreign, 0o600)
    os.chown(foreign, 3000, 3000)
    done = b("cat /workspace/foreign; echo x > /workspace/foreign; chown 0:0 /workspace/foreign && echo taken; chmod 666 /workspace/foreign && echo opened; echo mine > /workspace/mine; chown 33 /workspace/mine && echo given; true")
    check("P37 root inside has no right over files of other users in the workspace", done.stdout == "" and open(foreign, encoding="utf-8").read() == "of another user\n", done)
    check("P37 and what it makes is the owner's", os.stat(os.path.join(b.work, "mine")).st_uid == os.stat(b.work).st_uid)
    done = subprocess.run(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", CARREL, "run", "-f", os.path.join(b.top, "SANDBOX.json"), "--", "true"], cwd="/", text=True,
                          env={**os.environ, "CARREL_STATE": b.state, "HOME": "/nonexistent"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=ALWAYS, check=False)
    check("B27 another user's images cannot be used", done.returncode != 0 and "ran" not in done.stdout, done)


def main():
    need_programs()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        b = Bench(top)
        for part in (layers_stay, overlay_names, host_is_out_of_reach, rights, set_ids, other_ids):
            part(b)
    return end()


if __name__ == "__main__":
    sys.exit(main())
