#!/usr/bin/env python3
"""prepared_root_test - a root that the spawner keeps: a box with a clone of it sees what a box sees that executed every step, the host's files as they are now, and only what its own
plan says.

The test has a mount namespace and a copy of /etc of its own, so that it can change what a root was made of."""
import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, need_programs, until
from daemon_rig import Daemon

TRIES, CLONE_NEWNS = 200, 0x20000
SEE = r"""cat /proc/self/mountinfo; echo ==; find / -xdev -path /tmp -prune -o -path /run -prune -o -printf '%p %y %m %l\n' | sort; echo ==
find /etc /sys /var -xdev -type f -exec md5sum {} + | sort; echo > /dev/null; echo no > /etc/passwd; echo no > /new"""

if os.geteuid() != 0:
    print("1..0 # SKIP only a daemon of root keeps roots")
    sys.exit(0)
need_programs()


def sh(*argv):
    subprocess.run(argv, check=True)


def own_etc(folder):
    """A mount namespace for this process and its daemon, with a copy of /etc. Other folders of the test stay the host's."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    sh("mount", "--make-rprivate", "/")
    etc = os.path.join(folder, "etc")
    sh("cp", "-a", "/etc", etc)
    os.makedirs(etc + "/groff/below", exist_ok=True)
    for name in ("debian_version", "mime.types"):
        with open(os.path.join(etc, name), "w", encoding="utf-8") as f:
            f.write("first\n")
        os.chmod(os.path.join(etc, name), 0o644)
    sh("mount", "--bind", etc, "/etc")


def said(d, command, **fields):
    box = d.create(start=True, **fields)
    out = d.exec(box, command)["stdout"]
    d.must("DELETE", "/v1/sandboxes/" + box)
    return out


def is_kept(mounts):
    """The file system of a kept root is read-only itself, not only its mount."""
    for line in mounts.splitlines():
        if line.split()[4] == "/":
            return line.split(" - ")[1].split()[2].split(",")[0] == "ro"
    return False


def kept(d, command="true", **fields):
    """What a command prints in the first box that has a clone; None if there is none after many."""
    for _ in range(TRIES):
        out = said(d, "cat /proc/self/mountinfo; echo ===; " + command, **fields)
        mounts, _, rest = out.partition("===\n")
        if is_kept(mounts):
            return rest
    return None


def shown(out):
    """Mounts without what names a file system; files."""
    mounts, files, sums = out.split("==\n")
    return [line.split(" - ")[0].split()[3:6] + [line.split(" - ")[1].split()[0]] for line in mounts.splitlines()], files.splitlines(), sums.splitlines()


def test_same(d):
    before = said(d, SEE)
    check("the first box executes every step", not is_kept(before.split("==\n")[0]), before[:300])
    after = kept(d, SEE)
    check("a later one has a clone", after is not None, d.log_text())
    for what, one, other in zip(("mounts", "files", "contents"), shown(before), shown(after)):
        check("%s are the same" % what, one == other and len(one) > 10, [x for x in one if x not in other] + [x for x in other if x not in one])


def replace(path, text):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path + ".new", 0o644)
    os.rename(path + ".new", path)


def test_fresh(d):
    replace("/etc/debian_version", "second\n")
    got = said(d, "cat /etc/debian_version /etc/mime.types")
    check("a file that was exchanged on the host is seen at once", got == "second\nfirst\n", got)
    got = kept(d, "cat /etc/debian_version")
    check("and a root is kept again", got == "second\n", got)
    with open("/etc/mime.types", "w", encoding="utf-8") as f:
        f.write("changed\n")
    got = said(d, "cat /etc/mime.types")
    check("one that was written to is seen", got == "changed\n", got)
    sh("mount", "-t", "tmpfs", "none", "/etc/groff/below")
    with open("/etc/groff/below/file", "w", encoding="utf-8") as f:
        f.write("mounted\n")
    got = said(d, "cat /etc/groff/below/file")
    check("a file system that was mounted below is seen at once", got == "mounted\n", got)
    got = kept(d, "cat /etc/groff/below/file")
    check("and in the next root that is kept", got == "mounted\n", got)
    sh("umount", "/etc/groff/below")
    got = said(d, "ls -A /etc/groff/below")
    check("one that was unmounted is gone at once", got == "", got)


BLOCK = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 30000}\nmounts: [{source: workspace, at: %s}]\n---\n"


def test_own(d, folder):
    """Plans with other steps: each box has the places of its own mounts, and no other."""
    os.mkdir(folder + "/work")
    os.chmod(folder + "/work", 0o777)
    for _ in range(3):
        for at in ("/one", "/two"):
            got = kept(d, "ls -d /one /two 2>/dev/null; echo > %s/file && echo written" % at, manifest=BLOCK % at, workspace=folder + "/work")
            check("a mount at %s has its place, and no other has" % at, got == at + "\nwritten\n", got)
    for at in ("/var/lib/x", "/tmp/x", "/home/agent/x", "/etc/x", "/etc/ssl/certs", "/home/other", "/usr/local"):
        got = kept(d, "echo > %s/file && echo written" % at, manifest=BLOCK % at, workspace=folder + "/work")
        check("a mount at %s too" % at, got == "written\n", got)


def named(*names):
    """Processes with one of these names."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/comm" % entry, encoding="utf-8") as f:
                if f.read().strip() in names:
                    yield int(entry)


def parent(pid):
    """0 if it has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def holds(pid, needle):
    """Is this in the memory of the process, where it is writable?"""
    with open("/proc/%d/maps" % pid, encoding="utf-8") as f:
        areas = [line.split()[0].split("-") for line in f if " rw" in line]
    with open("/proc/%d/mem" % pid, "rb") as f:
        for first, last in areas:
            f.seek(int(first, 16))
            if needle in f.read(int(last, 16) - int(first, 16)):
                return True
    return False


def test_memory(d, folder):
    """The steps of a kept root are known to the spawner, and to no process of a box with another plan."""
    place = "/place-of-another"
    got = kept(d, "ls -d " + place, manifest=BLOCK % place, workspace=folder + "/work")
    check("a root with the place of one plan is kept", got == place + "\n", got)
    spawner = next(pid for pid in named("carrel-spawner") if parent(pid) == d.child.pid)
    check("and the spawner knows its steps", holds(spawner, place.encode()))
    before = set(named("carrel-maker", "carrel-box", "carrel-init"))
    box = d.create(start=True)
    ours = [pid for pid in set(named("carrel-maker", "carrel-box", "carrel-init")) - before if parent(pid) == spawner or parent(parent(pid)) == spawner]
    check("maker, box and pid 1 of a box with another plan are found", len(ours) == 3, ours)
    check("and none of them does", not any(holds(pid, place.encode()) for pid in ours), ours)
    d.must("DELETE", "/v1/sandboxes/" + box)


def kept_by(spawner):
    """How many mount namespaces the spawner holds open."""
    return sum(os.readlink("/proc/%d/fd/%s" % (spawner, fd)).startswith("mnt:") for fd in os.listdir("/proc/%d/fd" % spawner))


def test_released(d):
    """What the host unmounts is in use by no kept root, also if no other box begins."""
    sh("mount", "-t", "tmpfs", "none", "/etc/groff/below")
    spawner = next(pid for pid in named("carrel-spawner") if parent(pid) == d.child.pid)
    check("a root with a mounted file system is kept", kept(d) is not None and kept_by(spawner) > 0, kept_by(spawner))
    sh("umount", "/etc/groff/below")
    until("no root is kept after it was unmounted", lambda: kept_by(spawner) == 0)
    check("no root is kept after it was unmounted", True)


if __name__ == "__main__":
    FOLDER = tempfile.mkdtemp(prefix="carrel-prepared-")
    os.chmod(FOLDER, 0o755)
    try:
        own_etc(FOLDER)
        with Daemon() as daemon:
            test_same(daemon)
            test_fresh(daemon)
            test_own(daemon, FOLDER)
            test_memory(daemon, FOLDER)
            test_released(daemon)
    finally:
        subprocess.run(["umount", "/etc"], check=False)
        shutil.rmtree(FOLDER, ignore_errors=True)
end()
