#!/usr/bin/env python3
# slow: 25 s: fifteen sandboxes are filled and killed, and their files erased
"""disk_test - where /tmp and the home are (metadata.carrel.disk): in memory, on an image of fixed
size, or in a private directory that is watched. Nothing is left however the sandbox ends.
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
        check("`carrel plan` says so", "/tmp and /home/agent: on disk, on an image of fixed size in " in text and "count against memory_mb" in text, text)
        ws.write("SANDBOX.md", ws.read("SANDBOX.md").replace(b"{carrel: {", b"{carrel: {disk: memory"))
        status, answer = ws.json(fill(400))
        check("(control) disk: memory, and the same does not fit", answer["outcome"] == "oom_killed" or answer["stdout"].strip() != "419430400", status, answer)
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
        def rows(what, word, is_late=False, runs=True, is_disk=True):
            done = named.run(["true"])
            check("%s: disk: image is refused, with the reason and the next step" % what, done.returncode != 0 and word in done.stderr and b"disk: auto" in done.stderr, done)
            done = auto.run(KINDS) if runs else None
            form = "memory" if is_late or not is_disk else "a directory"
            check("... and auto is %s" % form if runs else "... (a sandbox cannot have a /proc of its own over this one)",
                  not runs or done.returncode == 0 and [kind == "tmpfs" for kind, _ in kinds(done)] == [form == "memory"] * 2 + [True] * 2, done)
            text = plan(auto)
            check("... as `carrel plan` says", is_late or ("; watched: " if is_disk else "cannot use the host's disk for them: ") in text and (is_disk or word.decode() in text), text)

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
        rows("a directory in memory", b"memory itself", is_disk=False)
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
            device = os.stat(at).st_dev
            number = lambda: "%d:%d" % (os.major(device), os.minor(device)) in subprocess.run(["losetup", "-n", "-O", "BACK-MAJ:MIN"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
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
    """For an ordinary user no image is mounted; with `auto` it can have a directory."""
    with Workspace(limits="memory_mb: 256", carrel="disk: image") as ws:
        done = ws.run(["true"])
        check("without root: disk: image is refused, with the reason and the next step", done.returncode != 0 and b"only root" in done.stderr and b"disk: auto" in done.stderr, done)
    with Workspace(limits="memory_mb: 256") as ws:
        status, answer = ws.json(KINDS)
        names = [w["name"] for w in answer["warnings"]]
        got = [line.split()[0] for line in answer["stdout"].splitlines()[:4]]
        check("without root: auto is a directory where a control group holds memory_mb, else memory", status == 0 and (got[0] != "tmpfs") == is_held(answer) and "disk_watched" not in names, got, answer)

    with State() as state, Workspace(carrel="limits: {disk_mb: 1000000}") as ws:
        status, answer = ws.json(KINDS, env=state.env)
        got = [line.split()[0] for line in answer["stdout"].splitlines()[:4]]
        is_disk = not is_memory("/var/tmp")
        check("without root: auto is a directory where disk_mb is written and above half of the machine's memory", status == 0 and (got[0] != "tmpfs") == is_disk, got, answer)
        check("  and it is named in a warning", ("disk_watched" in [w["name"] for w in answer["warnings"]]) == is_disk, answer)


# -- a private directory -------------------------------------------------------------------------------------------------

CLOSED = "mkdir -p /tmp/a/b $HOME/c/d; echo x > /tmp/a/b/f; echo x > $HOME/c/d/f; chmod 0 /tmp/a/b /tmp/a $HOME/c/d; echo written"


class State:
    """A state directory of its own on a disk, or None in .path where /var/tmp is memory."""

    def __init__(self, folder="/var/tmp"):
        self.folder = tempfile.mkdtemp(prefix="carrel-test-", dir=folder)
        self.env = {**os.environ, "CARREL_STATE": os.path.join(self.folder, "state")}
        self.private = os.path.join(self.folder, "state", "private")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def held(self):
        return sorted(os.listdir(self.private)) if os.path.isdir(self.private) else []


def is_memory(folder):
    return subprocess.run(["stat", "-f", "-c", "%T", folder], stdout=subprocess.PIPE, check=True).stdout.strip() in (b"tmpfs", b"ramfs")


def directory_holds(state):
    with Workspace(limits="memory_mb: 64, timeout_ms: 240000", carrel="disk: directory, limits: {disk_mb: 2048}, accept: [disk_watched, memory_mb]") as ws:
        status, answer = ws.json(fill(200), env=state.env)
        check("directory: files of 200 MiB are no failure in a sandbox of 64", status == 0 and answer["stdout"].strip() == "209715200", status, answer)
        check("  accept silences its warning", "disk_watched" not in json.dumps(answer["warnings"]), answer)
        done = ws.run(KINDS, env=state.env)
        got = kinds(done)
        check("  /tmp and the home are on a disk, /run and /dev/shm memory", got[0][0] == got[1][0] != "tmpfs" and got[2][0] == got[3][0] == "tmpfs", got)
        check("  nosuid, nodev", re.search(rb" /tmp rw,nosuid,nodev", done.stdout), done.stdout)
        done = ws.sh("stat -c '%u %g %a' /tmp $HOME; cp /bin/true /tmp/t && /tmp/t && echo runs; ls -A /tmp/.. | grep -c gone", env=state.env)
        check("  its root is the sandbox's own", done.stdout.split(b"\n")[:3] == [b"1000 1000 1777", b"1000 1000 755", b"runs"], done)
        done = subprocess.run([CARREL, "plan"], cwd=ws.path, env=state.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
        check("  `carrel plan` says so", b"on disk, in %s; watched: the command is ended above 2048 MiB" % state.private.encode() in done.stdout, done.stdout)


def disk_by_name(state):
    """One word for a manifest that root and others run: an image as root, else a directory."""
    with Workspace(limits="timeout_ms: 240000", carrel="disk: disk") as ws:
        done = ws.run(KINDS, env=state.env)
        got = kinds(done)
        text = subprocess.run([CARREL, "plan"], cwd=ws.path, env=state.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False).stdout
        is_watched = b"; watched: the command is ended above 2048 MiB" in text
        check("  a size that was not written gives no warning", b"disk_watched" not in done.stderr, done)
        check("disk: disk is an image as root where one can be made, else a directory", got[0][0] == got[1][0] != "tmpfs" and b"/tmp and /home/agent: on disk, " in text
              and (is_watched or ROOT and b"on an image of fixed size" in text), got, text)
        if not is_watched:
            place = os.path.join(state.folder, "chosen")
            os.makedirs(os.path.join(place, "audit"))
            text = subprocess.run([CARREL, "plan"], cwd=ws.path, env={**os.environ, "CARREL_STATE": place}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False).stdout
            check("  the image is in the state directory that was chosen", b"on an image of fixed size in %s; " % place.encode() in text, text)
    with Workspace(carrel="disk: disk") as ws, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        if not ROOT:
            done = ws.run(["true"], env={**os.environ, "CARREL_STATE": os.path.join(memory, "state")})
            check("  where there is no disk it is refused, with the reason and the next step", done.returncode != 0 and b"memory itself (tmpfs)" in done.stderr and b"disk: auto" in done.stderr, done)


def directory_is_watched(state):
    with Workspace(limits="timeout_ms: 240000", carrel="disk: directory, limits: {disk_mb: 64}") as ws:
        for what, command in (("one file", "exec dd if=/dev/zero of=/tmp/f bs=1M count=8000"),
                              ("many empty files", "mkdir $HOME/d; cd $HOME/d; exec python3 -c 'for i in range(400000): open(str(i), \"w\").close()'")):
            status, answer = ws.json(["sh", "-c", command], env=state.env)
            check("directory: past disk_mb the command ends, by name: %s" % what, answer["outcome"] == "policy_killed" and answer.get("limits_reached") == ["disk_mb"] and status == 137, answer)
            check("  with the reason and the next step", "limits.disk_mb" in answer["error"]["message"] and "Raise metadata.carrel.limits.disk_mb" in answer["error"]["hint"], answer)
            check("  and the warning that it is a look", [w["name"] for w in answer["warnings"]].count("disk_watched") == 1, answer)
        done = ws.sh("exec dd if=/dev/zero of=/tmp/f bs=1M count=8000", env=state.env)
        check("  also in words", done.returncode == 137 and b"took more than limits.disk_mb" in done.stderr, done)
        check("  nothing is left of them", state.held() == [], state.held())


# Each writes up to 640 MiB where a plain walk does not see it, 8 MiB at a time, and waits after each for a look to come by.
HIDE = """
import os, sys, time
def write(fd):
    os.write(fd, b"x" * (8 << 20))
    time.sleep(0.02)
def put(name):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY)
    write(fd)
    os.close(fd)
def deleted():
    fd = os.open("f", os.O_CREAT | os.O_WRONLY)
    os.unlink("f")
    for i in range(80): write(fd)
def temporary():
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY)
    for i in range(80): write(fd)
def closed(mode):
    for i in range(80):
        os.mkdir(str(i))
        put("%d/f" % i)
        os.chmod(str(i), mode)
def deep():
    for i in range(600):
        os.mkdir("d")
        os.chdir("d")
    for i in range(80): put(str(i))
exec(sys.argv[1])
time.sleep(3)
print("unseen")
"""


def directory_hides_nothing(state):
    """What a plain walk does not see counts as well, once the disk has lost more than disk_mb."""
    with Workspace(limits="timeout_ms: 240000", carrel="disk: directory, limits: {disk_mb: 64}") as ws:
        for what, call in (("a deleted file that is open", "deleted()"), ("a file that never had a name", "temporary()"), ("directories of mode 0", "closed(0)"),
                           ("directories that can be listed, but not entered", "closed(0o400)"), ("600 directories deep", "deep()")):
            status, answer = ws.json(["sh", "-c", 'cd /tmp && exec python3 -c "$0" "$1"', HIDE, call], env=state.env)
            check("directory: %s: ended for disk_mb" % what, status == 137 and answer["outcome"] == "policy_killed" and answer.get("limits_reached") == ["disk_mb"], answer)
        check("  nothing is left of them", state.held() == [], state.held())


# What could lead out of the directory: each prints "no" and why.
OUT = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def no(what, act):
    try:
        act()
        print(what, "YES")
    except OSError as e:
        print(what, "no", errno.errorcode[e.errno])
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
open("/tmp/f", "w").close()
no("link_out", lambda: os.link("/tmp/f", "/workspace/f"))
no("link_in", lambda: os.link("/workspace/SANDBOX.md", "/tmp/g"))
no("rename_out", lambda: os.rename("/tmp/f", "/workspace/f"))
no("device", lambda: os.mknod("/tmp/d", 0o20600, os.makedev(1, 3)))
no("handle", lambda: call(304, -100, 0, 0))
no("umount", lambda: call(166, b"/tmp", 2))
no("remount", lambda: call(165, 0, b"/tmp", 0, 32, 0))
print("up", "no" if os.stat("/tmp/..").st_ino == os.stat("/").st_ino and os.stat("/home/agent/..").st_ino == os.stat("/home").st_ino else "YES")
mounts = open("/proc/self/mountinfo").read().splitlines()
print("writable", *sorted(m.split()[4] for m in mounts if m.split()[4] in ("/tmp", "/home/agent") and {"rw", "nosuid", "nodev"} <= set(m.split()[5].split(","))))
print("others", "no" if not [m for m in mounts if "/private/.gone-" in m.split()[3] and m.split()[4] not in ("/tmp", "/home/agent")] else "YES")
"""


WAYS_OUT = ["link_out no EXDEV", "link_in no EXDEV", "rename_out no EXDEV", "device no EPERM", "handle no EPERM", "umount no EPERM", "remount no EPERM", "up no",
            "writable /home/agent /tmp", "others no"]


def directory_is_closed(state):
    """Nothing leads out of it, and no other user in."""
    with Workspace(limits="timeout_ms: 240000", carrel="disk: directory") as ws:
        done = ws.run(["python3", "-c", OUT], env=state.env)
        got = done.stdout.decode().splitlines()
        check("directory: nothing leads out of it: links, names, devices, handles, mounts, ..", got == WAYS_OUT, done)
        p = subprocess.Popen(ws.argv(["sh", "-c", "umask 0; echo secret > /tmp/f; chmod 777 /tmp; echo written; exec sleep 300"]), env=state.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdout.readline()
        path = os.path.join(state.private, state.held()[0])
        modes = [os.stat(at).st_mode & 0o7777 for at in (state.private, path)]
        check("  its directory and that of all of them are closed to other users", modes == [0o700, 0o700], modes)
        if ROOT:
            os.chmod(state.folder, 0o755)
            os.chmod(os.path.dirname(state.private), 0o755)
            done = subprocess.run(["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "cat", os.path.join(path, "tmp", "f")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            check("  (as another user: refused)", done.returncode != 0 and done.stdout == b"" and b"ermission" in done.stderr, done)
        p.kill()
        p.wait(ALWAYS)
        p.stdout.close()
        until("the directory is gone", lambda: state.held() == [])


# 20,000 files, names that shells and terminals act on, links to everything, and a tree deeper than any path.
TREE = """
import os
os.mkdir("/tmp/many")
os.chdir("/tmp/many")
for i in range(20000): open(str(i), "w").close()
os.chdir("/tmp")
for name in (b"a\\nb", b"-rf", b"$(reboot)", b"\\x1b[2J", b"\\xff\\xfe", b" ", b".gone-0", b"x" * 255): os.mkdir(name); os.symlink("/", name + b"/root" if len(name) < 200 else name + b"/r")
for i in range(3000):
    os.mkdir("d"); os.chdir("d")
open("last", "w").close()
print("written")
"""


def directory_leaves_nothing(state):
    inventory = Inventory()
    with Workspace(limits="timeout_ms: 240000", carrel="disk: directory") as ws:
        done = ws.run(["python3", "-c", TREE], env=state.env)
        check("directory: of a large and hostile tree nothing is left", done.stdout == b"written\n" and state.held() == [] and os.path.isdir("/etc"), done, state.held())
    with Workspace(limits="timeout_ms: 240000", carrel="disk: directory") as ws:
        done = ws.sh(CLOSED, env=state.env)
        check("directory: a sandbox that ended leaves none, also of directories closed to their owner", done.stdout == b"written\n" and os.path.isdir(state.private) and state.held() == [], done, state.held())
        for who in ("carrel-maker", "carrel-init", None):
            p = subprocess.Popen(ws.argv(["sh", "-c", CLOSED + "; exec sleep 300"]), env=state.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            line, names = p.stdout.readline(), state.held()
            victims = [pid for (pid, _), name in descendants().items() if name.startswith(who)] if who else [p.pid]
            done = ws.run(["true"], env=state.env)
            check("  another start leaves what is locked", done.returncode == 0 and line == b"written\n" and len(names) == 1 and state.held() == names, done, line, names, state.held())
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            p.wait(ALWAYS)
            p.stdout.close()
            if who == "carrel-maker":       # nobody is left who would: the next start
                until("the sandbox is gone", lambda: not [name for name in descendants().values() if name.startswith("carrel-init")])
                check("  (control) a killed maker leaves its directory", state.held() == names, state.held(), names)
                with Workspace(carrel="" if ROOT else "disk: directory") as other:      # where nothing else leaves a lease, only a start that has one looks
                    done = [other.run(["true"], env=state.env) for _ in range(2)]
                check("  the next start collects it", state.held() == [], state.held(), done)
            until("the directory is gone", lambda: state.held() == [])
            check("  killed: %s; the directory is gone" % (who or "carrel run"), len(victims) >= 1, victims)
        for _ in range(2):
            ws.run(["true"], env=state.env)
    report("  nothing else is left either", inventory.left())


def directory_is_refused(state):
    with Workspace(carrel="disk: directory") as ws, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        for what, path, words in (("in memory", os.path.join(memory, "state"), b"memory itself (tmpfs)"), ("below a mount", os.path.join(ws.path, "state"), b"would be below the mount")):
            done = ws.run(["true"], env={**os.environ, "CARREL_STATE": path})
            check("directory: a state directory %s is refused, with the reason and the next step" % what, done.returncode != 0 and words in done.stderr and b"disk: auto" in done.stderr, done)
        os.mkdir(os.path.join(state.folder, "open"))
        os.mkdir(os.path.join(state.folder, "open", "private"), 0o755)
        done = ws.run(["true"], env={**os.environ, "CARREL_STATE": os.path.join(state.folder, "open")})
        check("directory: one that others may enter is refused", done.returncode != 0 and b"open to others" in done.stderr, done)
        if not ROOT:
            with Workspace(limits="memory_mb: 256") as auto:
                env = {**os.environ, "CARREL_STATE": os.path.join(memory, "state")}
                status, answer = auto.json(KINDS, env=env)
                check("auto: a state directory in memory is memory", status == 0 and [line.split()[0] for line in answer["stdout"].splitlines()[:4]] == ["tmpfs"] * 4, answer)
                text = subprocess.run([CARREL, "plan"], cwd=auto.path, env=env, stdout=subprocess.PIPE, check=False).stdout
                check("... as `carrel plan` says", not is_held(answer) or b"cannot use the host's disk for them: " in text, text)


def directory_keeps_the_floor():
    """120 MiB of ext4 behind the state directory: somebody else fills it while a sandbox writes there."""
    with tempfile.TemporaryDirectory() as folder:
        disk, at = os.path.join(folder, "disk"), os.path.join(folder, "at")
        os.mkdir(at)
        with open(disk, "wb") as f:
            f.truncate(120 << 20)
        if subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", disk], check=False).returncode != 0 or subprocess.run(["mount", "-o", "loop", disk, at], check=False).returncode != 0:
            report("directory: the floor of its disk", skip="no loop device")
            return
        try:
            with Workspace(limits="timeout_ms: 240000", carrel="disk: directory", mounts="") as ws:
                p = subprocess.Popen(ws.argv(["sh", "-c", "echo begun > $HOME/f; read x; exec sleep 300"], "--json"), env={**os.environ, "CARREL_STATE": os.path.join(at, "state")},
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                until("the directory is there", lambda: [f for _, _, files in os.walk(at) for f in files if f == "f"])
                with open(os.path.join(at, "other"), "wb") as f:
                    room = os.statvfs(at)
                    os.posix_fallocate(f.fileno(), 0, room.f_bavail * room.f_frsize - (1 << 20))
                p.stdin.write(b"\n")
                p.stdin.flush()
                answer = json.loads(p.communicate(timeout=ALWAYS)[0])
                check("directory: its disk runs full: the sandbox is stopped", answer["outcome"] == "policy_killed" and "limits_reached" not in answer, answer)
        finally:
            subprocess.run(["umount", "-l", at], check=True)


def info(d, box):
    done = subprocess.run([CARREL, "info", box], env={**os.environ, "CARREL_STATE": d.state}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
    return done.stdout.decode()


def directory_living():
    manifest = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "metadata": {"carrel": {"disk": "directory", "limits": {"disk_mb": 64}}}}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Daemon(state=os.path.join(folder, "state")) as d:
        private = os.path.join(folder, "state", "private")
        box = d.create(manifest=manifest)
        got = d.exec(box, ["sh", "-c", CLOSED], timeout=ALWAYS)
        check("directory: a living sandbox has one below the daemon's state", got["stdout"] == "written\n" and len(os.listdir(private)) == 1, got)
        text = info(d, box)
        check("  `carrel info` says where", re.search(r"^files +on disk, in %s; watched: ended above 64 MiB$" % re.escape(private), text, re.M), text)
        shown = d.must("GET", "/v1/sandboxes/" + box)
        check("  and so does the API", (shown.get("disk"), shown.get("disk_at"), shown.get("disk_mb")) == ("directory", private, 64), shown)
        got = d.exec(box, ["dd", "if=/dev/zero", "of=/tmp/f", "bs=1M", "count=8000"], timeout=ALWAYS)
        check("  past disk_mb it ends, by name", got.get("outcome") == "policy_killed" and got.get("limits_reached") == ["disk_mb"], got)
        until("the directory is gone", lambda: os.listdir(private) == [])
        until("the sandbox has failed", lambda: d.must("GET", "/v1/sandboxes/" + box)["status"] == "failed")
        shown = d.must("GET", "/v1/sandboxes/" + box)
        check("  and the sandbox with it, for that cause", (shown["status"], shown.get("cause")) == ("failed", "disk_mb"), shown)
        box = d.create(manifest=manifest)
        d.exec(box, ["sh", "-c", CLOSED], timeout=ALWAYS)
        d.must("DELETE", "/v1/sandboxes/" + box)
        until("the directory is gone", lambda: os.listdir(private) == [])
        check("  stopped, it is gone", True)
        box = d.create(manifest=manifest)
        d.exec(box, ["sh", "-c", CLOSED], timeout=ALWAYS)
        for pid in [pid for (pid, _), name in descendants().items() if name.startswith("carrel-maker")]:
            os.kill(pid, signal.SIGKILL)
        until("the daemon has collected the directory of a killed maker", lambda: os.listdir(private) == [])
        check("  a killed maker's directory is collected by the daemon", True)
        d.must("DELETE", "/v1/sandboxes/" + box)
        d.stop()
        left = os.path.join(private, ".gone-00000000000000ff")      # as after a reboot: no lease and no lock
        os.makedirs(os.path.join(left, "tmp", "a\n$(x)"))
        os.symlink("/", os.path.join(left, "tmp", "root"))
        os.chmod(os.path.join(left, "tmp"), 0)
        d.start()
        until("the daemon has collected what a reboot left", lambda: os.listdir(private) == [])
        check("  what a reboot left is collected when the daemon starts", os.path.isdir("/etc"))


def directory():
    if is_memory("/var/tmp"):
        report("directory: all", skip="/var/tmp is memory here")
        return
    with State() as state:
        directory_holds(state)
        disk_by_name(state)
        directory_is_watched(state)
        directory_hides_nothing(state)
        directory_is_closed(state)
        directory_leaves_nothing(state)
        directory_is_refused(state)
    if ROOT:
        directory_keeps_the_floor()
    directory_living()


def living():
    manifest = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "metadata": {"carrel": {"disk": "image", "limits": {"disk_mb": 64}}}}
    with Daemon() as d:
        box = d.create(manifest=manifest)
        got = d.exec(box, KINDS, timeout=ALWAYS)
        number = loop_of(got["stdout"].encode())
        check("a living sandbox has one too, on the disk of the daemon's state", number >= 0 and is_tied(number), got)
        text = info(d, box)
        check("  `carrel info` says where", re.search(r"^files +on disk, on an image in /.*; full at 64 MiB$", text, re.M), text)
        text = info(d, d.create(manifest={"provider": "local", "config": {}, "metadata": {"carrel": {"disk": "memory", "limits": {"disk_mb": 64}}}}))
        check("  and of one in memory too", re.search(r"^files +in memory; full at 64 MiB$", text, re.M), text)
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
    check("an unknown word is refused with those that there are", done.returncode != 0 and all(word in done.stdout for word in (b"auto", b"memory", b"disk", b"image", b"directory")), done)
    ws.__exit__()
    own_place()
    directory()
    if not ROOT:
        user()
        return
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
