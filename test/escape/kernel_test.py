#!/usr/bin/env python3
# slow: 35 s: every attack is made with its defence and without, as root and as a user
"""Attacks on the boundary between a sandbox and the kernel: rows A01 to A33 of the catalogue in
SECURITY.md. Prints TAP.

Each attack is made twice, see attack_rig.py. Numbers of system calls are those of x86-64.
"""
import ctypes
import json
import os
import pty
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from attack_rig import HOST, manifest, run_rows

libc = ctypes.CDLL(None, use_errno=True)

# -- A01 to A03: the runtime's own files and descriptors ------------------------------------------------------------

A01 = r'''
for name in ("exe", "root", "cwd"):
    tried("link_" + name, os.readlink, "/proc/1/" + name)
def rewrite():
    fd = os.open("/proc/1/exe", os.O_PATH)
    os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
tried("rewrite", rewrite)
'''

A02 = r'''
mine = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
tell("descriptors", set(map(int, os.listdir(mine))) - {0, 1, 2, mine, mine + 1}, os.listdir(mine))
'''


def a01_own_program(rig, person):
    rig.row(person, "A01 pid 1's program cannot be named or rewritten", A01, ["hide"], needed={"link_exe", "link_root", "link_cwd"})
    work = person.directory()
    person.file(os.path.join(work, "entry"), "#!/proc/self/exe\n", 0o755)
    done = rig.run(person, ["./entry"], work, text=manifest())
    rig.tap.ok(done.status != 0 and not done.out, f"A01 an entry that is #!/proc/self/exe starts nothing ({person.name})", *done.tell())
    a01_seals(rig, person)


def a01_seals(rig, person):
    """The maker runs from a sealed memory file; an unsealed one of this test shows what an open one
    would look like.
    """
    work = person.directory()
    person.file(os.path.join(work, "SANDBOX.md"), manifest())
    process = subprocess.Popen(person.command([rig.shipped, "run", "-w", work, "--", "sh", "-c", "echo up; sleep 20"]),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        process.stdout.readline()
        children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
        writable = []
        for pid in children:
            fd = os.open(f"/proc/{pid}/exe", os.O_RDONLY)
            seals = seals_of(fd)
            os.close(fd)
            if seals & 0xe != 0xe:                     # SHRINK, GROW, WRITE
                writable.append((pid, seals))
    except OSError as e:
        writable = [str(e)]
        children = ["unseen"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    fd = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    rig.tap.ok(children and not writable, f"A01 the maker's image is sealed ({person.name})", children, writable)
    rig.tap.ok(seals_of(fd) & 0xe == 0, f"A01 an image that is not sealed would show ({person.name})")
    os.close(fd)


def seals_of(fd):
    import fcntl
    return fcntl.fcntl(fd, 1034)                       # F_GET_SEALS


def a02_descriptors(rig, person):
    """The caller has a file, a directory and a socket open at unusual numbers."""
    ends = socket.socketpair()
    opened = [os.open("/etc/passwd", os.O_RDONLY), os.open("/", os.O_RDONLY), os.dup(ends[0].fileno())]
    for fd, number in zip(opened, (9, 77, 200)):
        os.dup2(fd, number)
    rig.row(person, "A02 no descriptor of the caller comes in", A02, "bwrap", pass_fds=(9, 77, 200))
    for fd in (*opened, 9, 77, 200):
        os.close(fd)
    for end in ends:
        end.close()


def a03_directory(rig, person):
    """No working directory leads outside; the control: a shell on the host with the same descriptor
    does see it.
    """
    outside = os.open(os.path.dirname(rig.canary), os.O_RDONLY)
    os.dup2(outside, 9)
    places = [*(f"/proc/self/fd/{n}" for n in (*range(3, 14), 77, 255)), "/proc/1/cwd", "/proc/1/root", "/proc/self/root/..",
              "/proc/self/cwd/../..", "/workspace/link", "link"]
    wrong = []
    for place in places:
        work = person.directory()
        os.symlink("/proc/self/fd/9", os.path.join(work, "link"))
        done = rig.run(person, ["/bin/sh", "-c", "pwd -P; ls -a . ..; cat canary ../canary"], work, text=manifest(config={"cwd": place}), pass_fds=[9])
        text = done.out.decode()
        if "canary" in text or rig.token in text or (text and not text.startswith("/")) or "unreachable" in text:
            wrong.append((place, text))
    rig.tap.ok(not wrong, f"A03 no working directory leads outside ({person.name})", *wrong)
    seen = rig.host(person, ["sh", "-c", "cd /proc/self/fd/9 && cat canary"], person.directory(), pass_fds=[9])
    rig.tap.ok(rig.token.encode() in seen.out, f"A03 on the host that descriptor does lead there ({person.name})", *seen.tell())
    os.close(outside)
    os.close(9)


# -- A04, A25: /proc and /sys ---------------------------------------------------------------------------------------

A04_READ = r'''
def has_bytes(path):
    with open(path, "rb") as f:
        return len(f.read(64)) > 0
for name in ("kcore", "keys", "key-users", "timer_list", "kallsyms", "config.gz", "sched_debug", "kmsg", "cmdline", "modules"):
    tried(name, has_bytes, "/proc/" + name)
tried("firmware", os.listdir, "/sys/firmware")
tried("sysrq", lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY) >= 0)
tell("sys_writable", not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY)
'''

A04_WRITE = r'''
for top in ("/proc/sys", "/sys"):
    wide = []
    for where, _, names in os.walk(top):
        for n in names:
            try:
                os.close(os.open(os.path.join(where, n), os.O_WRONLY | os.O_NONBLOCK))
                wide.append(os.path.join(where, n))
            except OSError:
                pass
    tell("write" + top.replace("/", "_"), wide, wide[:5])
'''

A25 = r'''
for name in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper", "/proc/sys/fs/binfmt_misc/register",
             "/proc/sys/kernel/hotplug"):
    tried(name.rsplit("/", 1)[1], lambda: os.open(name, os.O_WRONLY) >= 0)
'''


def a04_proc(rig, person):
    rig.row(person, "A04 what /proc says of the machine is hidden", A04_READ, ["mask"],
            needed={"cmdline", "kallsyms", "sys_writable"})
    if person.is_root:
        rig.row(person, "A04 nothing under /proc/sys and /sys is writable", A04_WRITE, "host", needed={"write_proc_sys", "write_sys"})
    else:
        work = rig.payload(person, A04_WRITE)
        done = rig.run(person, ["python3", "payload.py"], work, text=manifest())
        rig.tap.ok(done.has_ended and not done.opened, f"A04 nothing under /proc/sys and /sys is writable ({person.name})", *done.tell())


def a25_settings(rig, person):
    if person.is_root:
        rig.row(person, "A25 kernel helpers cannot be named", A25, "bwrap", needed={"core_pattern"})
    else:
        rig.tap.skip(f"A25 kernel helpers cannot be named ({person.name})", "only root may name them on the host")
    for bad in ({"sysctl": "kernel.shm_rmid_forced=1+kernel.core_pattern=|/x"}, {"sysctl": {"kernel.core_pattern": "|/x"}}):
        done = rig.run(person, ["true"], person.directory(), text=manifest(config=bad))
        rig.tap.ok(done.status in (125, 126), f"A25 a manifest sets no kernel value ({person.name})", *done.tell())
    done = rig.run(person, ["true"], person.directory(), text=manifest())
    rig.tap.ok(done.status == 0, f"A25 and without one it runs ({person.name})", *done.tell())


# -- A06 to A08: mounts and namespaces ------------------------------------------------------------------------------

A06 = r'''#!/bin/sh
set -e
mkdir -p "$WORK/later" && chmod 777 "$WORK/later"
rm -f "$WORK/ready" "$WORK/go"
"$@" >"$OUT" 2>&1 &
pid=$!
for i in $(seq 200); do [ -e "$WORK/ready" ] && break; sleep 0.02; done
mount -t tmpfs later "$WORK/later" && touch "$WORK/later/seen" "$WORK/go"
cut -d' ' -f5 /proc/self/mountinfo | sort >"$OUT.during"
wait $pid || true
umount "$WORK/later"
'''
A06_INSIDE = 'touch ready; i=0; while [ ! -e go ] && [ $i -lt 200 ]; do sleep 0.02; i=$((i+1)); done; ls later; echo END'

A07 = r'''
MS_REMOUNT, MS_BIND = 32, 4096
where = "/tmp/m"
os.makedirs(where, exist_ok=True)
def nested(work):
    """With a user and a mount namespace of its own first, where that can be had."""
    def inside():
        if call(272, 0x10000000 | 0x20000) < 0:
            return 101
        return work()
    return in_child(inside) == 0
def mounts():
    return 0 if call(165, b"none", where.encode(), b"tmpfs", 0, 0) == 0 else 101
tell("mount_nested", nested(mounts))
refused("mount", call(165, b"none", where.encode(), b"tmpfs", 0, 0)) if in_child(lambda: 0 if call(165, b"none", where.encode(), b"tmpfs", 0, 0) in (-1, -38) else 1) else tell("mount", False)
def looked_at(name, number, *a):
    refused(name, call(number, *a))
looked_at("open_tree", 428, -100, b"/tmp", 0)
looked_at("mount_setattr_bad", 442, -1, b"", 0, 0, 0)
tell("fsopen_nested", nested(lambda: 0 if call(430, b"tmpfs", 0) >= 0 else 101))
for name, number, a in (("umount2", 166, (where.encode(), 0)), ("pivot_root", 155, (b".", b".")), ("fsconfig", 431, (-1, 0, 0, 0, 0)),
                        ("fsmount", 432, (-1, 0, 0)), ("move_mount", 429, (-1, b"", -1, b"", 0)), ("chroot", 161, (b"/nowhere",)),
                        ("listmount", 458, (0, 0, 0, 0)), ("statmount", 457, (0, 0, 0, 0))):
    refused(name, call(number, *a))
looked = [n for n in range(463, 601) if call(n, -1, 0, 0, 0, 0, 0) not in (-errno.EPERM, -errno.ENOSYS)]
tell("numbers", looked, looked)
'''

A08 = r'''
NEWUSER, NEWNET, NEWNS = 0x10000000, 0x40000000, 0x20000
def made(number, *a):
    """In a child; a clone's own child goes at once."""
    def work():
        answer = call(number, *a)
        if answer == 0 and number in (56, 435):
            os._exit(0)
        return 0 if answer >= 0 else 101 if answer in (-1, -38) else 102
    return in_child(work)
for name, flag in (("user", NEWUSER), ("user_net", NEWUSER | NEWNET)):
    tell("unshare_" + name, made(272, flag) != 101)
    tell("clone_" + name, made(56, flag | 17, 0, 0, 0, 0) != 101)
    block = (ctypes.c_uint64 * 11)(flag, 0, 0, 0, 17)
    tell("clone3_" + name, made(435, block, 88) != 101)
fd = os.open("/proc/self/ns/user", os.O_RDONLY)
tell("setns", made(308, fd, 0) != 101)
with open("/proc/sys/user/max_user_namespaces") as f:
    tell("allowed", f.read().strip() != "0")
import threading
t = threading.Thread(target=lambda: None)
t.start(); t.join()
tell("fork_and_threads_fail", in_child(lambda: 7) != 7)
'''


def a06_propagation(rig, person):
    """In a mount namespace of this test, whose tree is shared, so that the host's is not touched.
    """
    if os.getuid() != 0:
        rig.tap.skip(f"A06 a later mount of the host does not come in ({person.name})", "only root may mount on the host")
        return
    control = ["unshare", "-m", "--propagation", "slave", "sh", "-c", "cd \"$WORK\"; " + A06_INSIDE]
    for label, command, is_seen in (("a later mount of the host does not come in", None, False), ("an ordinary namespace sees it", control, True)):
        work = person.directory()
        person.file(os.path.join(work, "SANDBOX.md"), manifest())
        out = os.path.join(rig.home, f"a06-{person.name}-{is_seen}")
        command = command or person.command([rig.shipped, "run", "-w", work, "--", "sh", "-c", A06_INSIDE])
        env = {**{k: v for k, v in os.environ.items() if not k.startswith("CARREL")}, "WORK": work, "OUT": out}
        subprocess.run(["unshare", "-m", "--propagation", "shared", "sh", "-c", A06, "sh", *command], env=env, timeout=300, check=False,
                       stdin=subprocess.DEVNULL, cwd=person.home)
        text = open(out).read()
        rig.tap.ok("END" in text and ("seen" in text) == is_seen, f"A06 {label} ({person.name})", text)
        if not is_seen:
            during = set(open(out + ".during").read().split()) - {line.split()[4] for line in open("/proc/self/mountinfo")}
            during = {at for at in during if at.startswith(work) or not at.startswith(tempfile.gettempdir() + "/")}      # others belong to other tests
            rig.tap.ok(during <= {work + "/later"}, f"A06 no mount of a box comes out ({person.name})", *during)


def a07_mounts(rig, person):
    rig.row(person, "A07 no mount call, old or new, is answered", A07, ["filter", "landlock"],
            needed={"mount_nested", "fsopen_nested", "open_tree", "mount_setattr_bad", "fsconfig", "numbers"})


def a08_namespaces(rig, person):
    rig.row(person, "A08 no nested namespace", A08, ["filter"],
            needed={"unshare_user", "unshare_user_net", "clone_user", "clone_user_net", "clone3_user", "clone3_user_net", "setns", "allowed"})


# -- A09, A10: control groups ---------------------------------------------------------------------------------------

A09 = r'''
def mounted():
    if call(272, 0x10000000 | 0x20000 | 0x02000000) < 0:
        return 101
    os.makedirs("/tmp/cg", exist_ok=True)
    if call(165, b"none", b"/tmp/cg", b"cgroup2", 0, 0) != 0:
        return 102
    return 0 if os.path.exists("/tmp/cg/cgroup.procs") else 103
tell("cgroup_mount", in_child(mounted) == 0)
found = []
for where, _, names in os.walk("/"):
    if not where.startswith(("/proc", "/usr")):
        found += [os.path.join(where, n) for n in names if n in ("release_agent", "notify_on_release", "cgroup.procs", "tasks")]
tell("group_files", found, found[:3])
tell("group_names", any(line.split(":", 2)[2].strip() != "/" for line in open("/proc/self/cgroup")), open("/proc/self/cgroup").read())
'''

A10 = r'''
for i in range(30):
    if os.fork() == 0:
        for where, _, names in os.walk("/sys"):
            for n in names:
                if n in ("cgroup.procs", "tasks"):
                    try:
                        open(os.path.join(where, n), "w").write("0")
                    except OSError:
                        pass
        signal.pause()
import time
time.sleep(0.3)
print("UP", flush=True)
sys.stdin.read()
'''


def values_of_groups():
    found = {}
    for where, _, names in os.walk("/sys/fs/cgroup"):
        for n in ("release_agent", "notify_on_release"):
            if n in names and "carrel" not in where and where.count("/") <= 4:
                try:
                    found[os.path.join(where, n)] = open(os.path.join(where, n)).read()
                except OSError:
                    pass
    return found


def a09_groups(rig, person):
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        at_root = "0::/\n" in f                        # in a group of its own a new namespace shows a part only, and the kernel does not mount that here
    before = values_of_groups()
    rig.row(person, "A09 no control group can be mounted, seen or named", A09, ["filter", "landlock", "cgroup_ns"],
            needed=({"cgroup_mount"} if at_root else {"group_names"}) | ({"group_names"} if person.is_root else set()))
    now = values_of_groups()
    rig.tap.ok(all(now.get(k, v) == v for k, v in before.items()), f"A09 the host's release agents are as they were ({person.name})")


def descendants(pid):
    found = []
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        found += [child, *descendants(child)]
    return found


def name_of(pid):
    return open(f"/proc/{pid}/comm").read().strip()


def a10_leaving(rig, person):
    """Forks that try to leave: from outside, all of the box's processes are in one set of groups,
    and not in this test's.
    """
    work = person.directory()
    person.file(os.path.join(work, "payload.py"), "import os, signal, sys\n" + A10)
    person.file(os.path.join(work, "SANDBOX.md"), manifest())
    process = subprocess.Popen(person.command([rig.shipped, "run", "-w", work, "--", "python3", "payload.py"]), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    maker = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
    inside = [p for m in maker for p in descendants(m) if name_of(p) != "carrel-box"]
    groups = {open(f"/proc/{p}/cgroup").read() for p in inside}
    own = open("/proc/self/cgroup").read()
    process.stdin.close()
    process.wait()
    process.stdout.close()
    name = f"A10 no process of a box leaves its groups ({person.name})"
    if not person.is_root and groups == {own}:
        rig.tap.skip(name, "this user has no groups of its own to make")
        return
    rig.tap.ok(len(inside) >= 31 and len(groups) == 1 and own not in groups, name, len(inside), *groups)


# -- A11, A12: terminals --------------------------------------------------------------------------------------------

A11 = r'''
def io(request, argument):
    ctypes.set_errno(0)
    return -ctypes.get_errno() if libc.ioctl(0, ctypes.c_ulong(request), argument) < 0 else 0
for c in b"touch canary\n":
    answer = io(0x5412, ctypes.c_char_p(bytes([c])))
refused("sti", answer)
refused("setd", io(0x5423, ctypes.byref(ctypes.c_int(0))))
refused("linux", io(0x541C, ctypes.c_char_p(b"\x02")))
refused("cons", io(0x541D, 0))
raw = ctypes.create_string_buffer(b"x")
at = ctypes.addressof(raw)
for name, request in (("sti_high", 1 << 32 | 0x5412), ("sti_top", 0xffffffff00005412)):
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(16), ctypes.c_long(0), ctypes.c_ulong(request), ctypes.c_void_p(at))
    refused(name, answer if answer >= 0 else -ctypes.get_errno())
'''

A12 = r'''
import mmap
def foreign():
    """getpid (20) by the door of 32-bit programs."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return 0 if ctypes.CFUNCTYPE(ctypes.c_int)(start)() == os.getpid() else 101
tell("i386", in_child(foreign) == 0)
tell("x32", in_child(lambda: 0 if call(0x40000000 + 39) == os.getpid() else 101) == 0)
'''


def a11_terminal(rig, person):
    """The sandbox gets a terminal; this test's terminal outside must receive nothing to read."""
    for off in (None, ["filter"]):
        work = rig.payload(person, A11)
        master, slave = pty.openpty()
        os.fchown(slave, person.uid, person.gid)
        result = rig.run(person, ["sh", "-c", "python3 payload.py >told 2>&1; echo; cat told"], work, off=off, text=manifest(), options=["-t"], stdin=slave)
        os.set_blocking(slave, False)
        try:
            typed = os.read(slave, 100)
        except BlockingIOError:
            typed = b""
        os.close(master)
        os.close(slave)
        if off is None:
            rig.tap.ok(result.has_ended or b"END" in result.out, f"A11 the payload ran on a terminal ({person.name})", *result.tell())
            rig.tap.ok(len(result.answers) == 6 and not result.opened, f"A11 A12 a terminal is not typed into ({person.name})", *result.tell())
            rig.tap.ok(typed == b"", f"A11 the terminal outside received nothing ({person.name})", typed)
        else:
            rig.tap.ok({"sti", "sti_high", "sti_top", "setd"} <= result.opened, f"A11 A12 without filter it is ({person.name})", *result.tell())


def a12_foreign_calls(rig, person):
    rig.row(person, "A12 no call by another architecture's door", A12, ["filter"], needed={"i386"})


# -- A13, A14: sockets of the host ----------------------------------------------------------------------------------

A13 = r'''
for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM), ("seqpacket", socket.SOCK_SEQPACKET)):
    s = socket.socket(socket.AF_UNIX, kind)
    tried(name, s.connect, "\0" + sys.argv[1] + name)
'''

A14 = r'''
for place in sys.argv[1:]:
    for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM)):
        s = socket.socket(socket.AF_UNIX, kind)
        tried(place.strip("/").replace("/", "_") + "_" + name, s.connect, place + "/" + name)
found = [os.path.join(w, n) for w, _, names in os.walk("/run") for n in names]
tell("run", found, found)
'''


def listeners(prefix):
    made = []
    for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM), ("seqpacket", socket.SOCK_SEQPACKET)):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(prefix + name)
        if prefix[0] != "\0":
            os.chmod(prefix + name, 0o777)
        if name != "dgram":
            s.listen()
        s.setblocking(False)
        made.append(s)
    return made


def a13_abstract(rig, person):
    name = "carrel-canary-" + secrets.token_hex(4)
    made = listeners("\0" + name)
    rig.row(person, "A13 abstract sockets of the host are not there", A13, ["net", "landlock"], args=[name])
    for s in made:
        s.close()


def a14_named(rig, person):
    """In a writable workspace, in a read-only mount, and among the tools."""
    made = []
    only, tools = person.directory(0o755), person.directory(0o755)
    person.file(os.path.join(tools, "bin", "tool"), "#!/bin/sh\necho tool\n", 0o755)

    def prepare(work):
        for place in (work, only, tools):
            made.extend(listeners(place + "/"))
        return ["/workspace", "/data", tools]

    host = person.file(os.path.join(person.home, "host.yaml"), json.dumps(
        {"mountables": {"@test/data": {"path": only}}, **HOST, "tool_roots": [person.home]}))
    setting = manifest([{"source": "workspace", "at": "/workspace"}, {"source": {"ref": "@test/data"}, "at": "/data", "mode": "read-only"}],
                       {"tools": [tools]})
    ways = {place.strip("/").replace("/", "_") + "_" + kind for place in ("/workspace", "/data", tools) for kind in ("stream", "dgram")}
    rig.row(person, "A14 named sockets of the host cannot be connected to", A14, ["overlay"], setting=setting, prepare=prepare,
            needed=ways, options=["--host", host])
    for s in made:
        s.close()


# -- A16 to A22: calls into the kernel ------------------------------------------------------------------------------

A16 = r'''
others = [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) not in (os.getpid(),)]
tell("others", [p for p in others if p != 1], others)
def attached():
    answer = libc.ptrace(0x4206, 1, None, None)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return True
tried("seize", attached)
buf = ctypes.create_string_buffer(16)
local, remote = (ctypes.c_uint64 * 2)(ctypes.addressof(buf), 16), (ctypes.c_uint64 * 2)(0x400000, 16)
def reads():
    answer = call(310, 1, local, 1, remote, 1, 0)
    if answer in (-errno.EPERM, -errno.ENOSYS, -errno.EACCES):
        raise OSError(-answer, "process_vm_readv")
    return True
tried("vm_readv", reads)
for name in ("mem", "environ", "maps", "stack", "auxv"):
    tried(name, lambda: os.open("/proc/1/" + name, os.O_RDONLY) >= 0 and (name == "mem" or len(open("/proc/1/" + name, "rb").read(1)) >= 0))
tried("root", os.listdir, "/proc/1/root")
tried("fd", os.listdir, "/proc/1/fd")
pid = os.pidfd_open(1)
refused("pidfd_getfd", call(438, pid, 0, 0))
refused("kcmp", call(312, 1, os.getpid(), 0, 0, 0))
'''

A17 = r'''
name = sys.argv[1].encode()
refused("search_session", call(250, 10, -3, b"user", name, 0))
refused("search_user", call(250, 10, -4, b"user", name, 0))
refused("request", call(249, b"user", name, 0, -3))
refused("add", call(248, b"user", b"carrel-exchange", b"x", 1, -3))
tried("keys", lambda: name in open("/proc/keys", "rb").read())
'''

A18 = r'''
refused("setup", call(425, 1, 0)); refused("enter", call(426, -1, 0, 0, 0, 0, 0)); refused("register", call(427, -1, 0, 0, 0))
'''

A20 = r'''
allowed = {(2, 1), (2, 2), (10, 1), (10, 2), (16, 2), (16, 3), (1, 1), (1, 2), (1, 3), (1, 5)}
made = set()
for family in range(46):
    for kind in (1, 2, 3, 5):
        fd = call(41, family, kind, 0)                 # made, and closed: never connected
        if fd >= 0:
            os.close(fd)
            made.add((family, kind))
tell("families", made - allowed, sorted(made - allowed))
other = []
for protocol in range(1, 32):
    fd = call(41, 16, 3, protocol)
    if fd >= 0:
        os.close(fd)
        other.append(protocol)
tell("netlink", other, other)
tell("missing", {(2, 1), (2, 2), (10, 1), (1, 1), (16, 3)} - made)
'''

A21 = r'''
import array
def received():
    s = socket.socket(fileno=os.dup(0))
    data, ancillary, flags, _ = s.recvmsg(16, 64)
    return [struct.unpack("i", d[:4]) for _, _, d in ancillary]
tried("received", received)
'''

A22 = r'''
BAD = 1
for name, number, arguments in (
        ("bpf", 321, (9999, 0, 0)), ("perf_event_open", 298, (BAD, 0, -1, -1, 0)), ("userfaultfd", 323, (0x40000000,)),
        ("kexec_load", 246, (0, 0, 0, 0x7fff0000)), ("init_module", 175, (0, 0, b"")), ("finit_module", 313, (-1, b"", 0)),
        ("delete_module", 176, (b"carrel-no-such-module", 0x800)), ("syslog", 103, (10, 0, 0)), ("quotactl", 179, (0x7fffffff, 0, 0, 0)),
        ("acct", 163, (BAD,)), ("swapon", 167, (BAD, 0)), ("swapoff", 168, (BAD,)), ("reboot", 169, (1, 2, 3, 0)),
        ("settimeofday", 164, (BAD, 0)), ("clock_settime", 227, (99, 0)), ("adjtimex", 159, (BAD,)),
        ("open_by_handle_at", 304, (-1, BAD, 0)), ("name_to_handle_at", 303, (-1, b"x", BAD, BAD, 0)),
        ("fanotify_init", 300, (0x7fffffff, 0)), ("fanotify_mark", 301, (-1, 0, 0, -1, 0)), ("personality", 135, (0x0400000,)),
        ("iopl", 172, (9,)), ("sethostname", 170, (BAD, -1)), ("move_pages", 279, (0, 1, BAD, BAD, BAD, 0)), ("kcmp", 312, (1, 1, 99, 0, 0)),
        ("process_madvise", 440, (-1, BAD, 1, 0, 0)), ("memfd_secret", 447, (0x7fffffff,)), ("openat2", 437, (-100, b"/", BAD, 24))):
    refused(name, call(number, *arguments))
call(135, 0)
'''
A22_ANYBODY = {"name_to_handle_at", "personality", "move_pages", "openat2"}


def a16_pid_one(rig, person):
    rig.row(person, "A16 pid 1 cannot be traced, read or reached into", A16, ["hide", "filter"],
            needed={"seize", "vm_readv", "mem", "environ", "maps", "auxv", "root", "fd", "kcmp"})
    rig.row(person, "A16 no process of the host is seen", 'found = [n for n in os.listdir("/proc") if n.isdigit()]\n'
            'tell("many", len(found) > 2, found)', "host")


def a17_keys(rig, person):
    """The caller's session keyring holds a key; the same call on the host finds it."""
    name = "carrel-canary-" + secrets.token_hex(4)
    libc.syscall(250, 1, ctypes.c_long(0))             # KEYCTL_JOIN_SESSION_KEYRING: a new one, which ends with this process
    if libc.syscall(248, b"user", name.encode(), b"secret", 6, ctypes.c_long(-3)) < 0:
        rig.tap.skip(f"A17 keyrings ({person.name})", "this host gives no keys")
        return
    libc.syscall(250, 5, ctypes.c_long(libc.syscall(250, 10, ctypes.c_long(-3), b"user", name.encode(), 0)), 0x3f3f3f3f)
    rig.row(person, "A17 no key of the caller is found, none is exchanged", A17, ["filter", "mask"], args=[name],
            needed={"search_session", "add", "search_user"})


QUEUES = r'''
name, key = sys.argv[1], int(sys.argv[2])
tell("posix", libc.mq_open(name.encode(), os.O_RDONLY) >= 0)
tell("system_v", libc.msgget(key, 0) >= 0)
tell("listed", os.path.exists("/dev/mqueue" + name), os.path.isdir("/dev/mqueue") and os.listdir("/dev/mqueue"))
'''


def a17_queues(rig, person):
    """The host has message queues of both kinds that every user may open."""
    name, key = "/carrel-canary-" + secrets.token_hex(4), secrets.randbelow(1 << 30) + 1
    before = os.umask(0)
    queue = libc.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    os.umask(before)
    if queue < 0:
        rig.tap.skip(f"A17 message queues ({person.name})", "this kernel has no POSIX message queues")
        return
    system_v = libc.msgget(key, 0o1666)
    try:
        rig.row(person, "A17 no message queue of the host is seen", QUEUES, "host", args=[name, str(key)],
                needed={"posix", "system_v"})
    finally:
        libc.mq_unlink(name.encode())
        os.close(queue)
        libc.msgctl(system_v, 0, None)                 # IPC_RMID


def a18_rings(rig, person):
    rig.row(person, "A18 io_uring is not there", A18, ["filter"])
    programs = [p for p in ("python3", "git", "node") if shutil.which(p, path="/usr/local/bin:/usr/bin:/bin")]
    for p in programs:
        done = rig.run(person, [p, "--version"], person.directory(), text=manifest())
        rig.tap.ok(done.status == 0, f"A18 {p} runs all the same ({person.name})", *done.tell())


def a20_families(rig, person):
    rig.row(person, "A20 only the listed socket families", A20, ["filter"], needed={"families", "netlink"})


def a21_received(rig, person):
    """A descriptor waits in the caller's standard input, which is a socket."""
    text = manifest()
    name = f"A21 no descriptor can be received through standard input ({person.name})"
    for run in ("shipped", "bwrap"):
        ours, theirs = socket.socketpair()
        with socket.socket() as gift:
            socket.send_fds(ours, [b"take"], [gift.fileno()])
            work = rig.payload(person, A21)
            if run == "shipped":
                ours.shutdown(socket.SHUT_WR)
                done = rig.run(person, ["python3", "payload.py"], work, text=text, stdin=theirs)
                rig.tap.ok(done.has_ended and done.answers and not done.opened, name, *done.tell())
            else:
                done = rig.bwrap(person, ["python3", "payload.py"], work, stdin=theirs)
                rig.tap.ok("received" in done.opened, name + ", and can under bwrap", *done.tell())
        ours.close()
        theirs.close()


def a22_privileged(rig, person):
    """With arguments that have no effect even for root on the host, which is the control."""
    needed = A22_ANYBODY
    if person.is_root:
        needed = needed | {"bpf", "userfaultfd", "syslog", "acct", "swapon", "reboot",
                           "settimeofday", "open_by_handle_at", "fanotify_init", "adjtimex"}
    rig.row(person, "A22 privileged calls are not answered", A22, "host", needed=needed)


# -- A24 to A27: devices, ids, capabilities -------------------------------------------------------------------------

A24 = r'''
golden = {"fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
tell("extra", set(os.listdir("/dev")) - golden, sorted(set(os.listdir("/dev")) - golden))
tell("lost", golden - set(os.listdir("/dev")))
for place in ("/tmp", "/dev/shm", os.getcwd()):
    label = place.replace("/", "_")
    for name, kind, number in (("char", stat.S_IFCHR, os.makedev(1, 3)), ("block", stat.S_IFBLK, os.makedev(7, 0)), ("whiteout", stat.S_IFCHR, 0)):
        tried(name + label, lambda: os.mknod(f"{place}/{name}", kind | 0o600, number))
for path in sys.argv[1:]:
    tried("node_" + str(sys.argv.index(path)), lambda: os.open(path, os.O_RDONLY) >= 0)
'''

A26 = r'''
text = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    tell(name, int(text[name], 16) != 0, text[name])
tell("new_privs", text["NoNewPrivs"].strip() != "1")
tell("no_seccomp", text["Seccomp"].strip() != "2")
tell("groups", [g for g in text["Groups"].split() if g != "1000"] and sys.argv[1] == "strict", text["Groups"])
'''
A26_SET_ID = r'''
import subprocess
for name, path in (("workspace", "./id"), ("tool", sys.argv[1] + "/id")):
    told = subprocess.run([path], capture_output=True, text=True).stdout
    tell("suid_" + name, "euid=" in told or "uid=0" in told, told)
'''
A26_MAKE = r'''
def is_set(path):
    return os.stat(path).st_mode & 0o6000
open("made", "w").close()
tried("chmod", lambda: os.chmod("made", 0o4755) or is_set("made"))
tried("fchmodat2", lambda: call(452, -100, b"made", 0o2755, 0) == 0 and is_set("made"))
tried("creat", lambda: os.open("made2", os.O_CREAT | os.O_WRONLY, 0o4755) >= 0 and is_set("made2"))
tried("mknod", lambda: os.mknod("made3", stat.S_IFREG | 0o4755) or is_set("made3"))
tried("mkdir", lambda: call(83, b"made4", 0o2777) == 0 and is_set("made4"))
tried("capability", lambda: os.setxattr("made", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 21, 0, 0, 0)))
'''

A27 = r'''
tried("read", lambda: open("private").read())
tried("chown", os.chown, "private", 1000, 1000)
tried("chmod", os.chmod, "private", 0o666)
tried("setuid", os.setuid, 0)
open("mine", "w").close()
tell("uid", os.getuid() != 1000 and len(sys.argv) < 2, os.getuid())
'''


def a24_devices(rig, person):
    def prepare(work):
        if not person.is_root:
            return []
        for place in (work, tools):
            os.mknod(os.path.join(place, "node"), 0o020666, os.makedev(1, 3))
            os.chmod(os.path.join(place, "node"), 0o666)
        return [os.path.join(tools, "node"), "/workspace/node"]

    tools = person.directory(0o755)
    host = person.file(os.path.join(person.home, "tools.yaml"), json.dumps({**HOST, "tool_roots": [person.home]}))
    rig.row(person, "A24 six devices, and no other is made or opened", A24, ["nodev", "filter", "landlock", "overlay"], prepare=prepare,
            setting=manifest(carrel={"tools": [tools]}), options=["--host", host],
            needed={"whiteout_tmp", "whiteout_dev_shm"} | ({"node_1"} if person.is_root else set()))


def a26_privileges(rig, person):
    args = ["strict"] if person.is_root or not os.getgroups() or os.getuid() == 0 else ["kept"]
    rig.row(person, "A26 no capability, no new privileges, a filter", A26, ["caps", "no_new_privs", "landlock", "filter"], args=args,
            needed={"CapBnd", "new_privs", "no_seccomp"})
    rig.row(person, "A26 no set-id file and no file capability is made", A26_MAKE, ["filter"],
            needed={"chmod", "creat", "mknod", "fchmodat2"})
    if os.getuid() != 0:
        rig.tap.skip(f"A26 a set-id program gains nothing ({person.name})", "only root may lay one out")
        return
    tools = person.directory(0o755)
    host = person.file(os.path.join(person.home, "tools.yaml"), json.dumps({**HOST, "tool_roots": [person.home]}))

    def prepare(work):
        for place in (work, tools):
            shutil.copy("/usr/bin/id", place)
            os.chown(os.path.join(place, "id"), 0, 0)
            os.chmod(os.path.join(place, "id"), 0o6755)
        return [tools]

    work = rig.payload(person, A26_SET_ID)
    prepare(work)
    done = rig.run(person, ["python3", "payload.py", tools], work, text=manifest(carrel={"tools": [tools]}), options=["--host", host])
    rig.tap.ok(done.has_ended and len(done.answers) == 2 and not done.opened, f"A26 a set-id program gains nothing ({person.name})", *done.tell())
    if not person.is_root:
        seen = rig.host(person, ["python3", "payload.py", tools], work)
        rig.tap.ok(len(seen.opened) == 2, f"A26 and on the host it does ({person.name})", *seen.tell())


def a27_ids(rig, person):
    if not person.is_root:
        work = person.directory()
        done = rig.run(person, ["sh", "-c", "id -u; echo x >mine"], work, text=manifest())
        owner = os.stat(os.path.join(work, "mine"))
        rig.tap.ok(done.out == b"1000\n" and (owner.st_uid, owner.st_gid) == (person.uid, person.gid),
                   f"A27 files belong to their owner outside ({person.name})", *done.tell(), owner)
        return

    def prepare(work):
        person.file(os.path.join(work, "private"), "secret", 0o600, owner=False)
        for path in (work, os.path.join(work, "payload.py")):
            os.chown(path, 1234, 1234)
        os.chmod(work, 0o755)

    # Under bwrap root stays root; its uid inside is 0, so the control does not compare uids.
    work = rig.row(person, "A27 root's private file stays root's", A27, "bwrap", prepare=prepare, needed={"read", "chmod", "setuid"})
    made = os.stat(os.path.join(work, "mine"))
    rig.tap.ok(made.st_uid in (0, 1234), f"A27 a new file has an owner of the host ({person.name})", made)
    running, seen = [], set()
    for _ in range(2):
        place = person.directory()
        person.file(os.path.join(place, "SANDBOX.md"), manifest())
        running.append(subprocess.Popen([rig.shipped, "run", "-w", place, "--", "sh", "-c", "echo up; cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        running[-1].stdout.readline()
    for p in running:
        for pid in descendants(p.pid):
            uid = int([line for line in open(f"/proc/{pid}/status") if line.startswith("Uid")][0].split()[1])
            if uid != 0:
                seen.add((p.pid, uid))
    for p in running:
        p.stdin.close()
        p.wait()
        p.stdout.close()
    rig.tap.ok(len(seen) == 2 and len({uid for _, uid in seen}) == 2 and all(uid >= 1900000000 for _, uid in seen),
               f"A27 two sandboxes of root are two ids outside, and neither is root ({person.name})", seen)


# -- A28 to A33: names, words, and hosts that lack something --------------------------------------------------------

A32 = r'''
import subprocess
seen = [" ".join(os.uname())]
for path in ("/proc/cmdline", "/proc/sys/kernel/hostname", "/proc/self/mountinfo", "/proc/self/cgroup", "/proc/self/environ", "/proc/version"):
    try:
        seen.append(open(path, errors="replace").read())
    except OSError:
        pass
for where, _, names in os.walk("/etc"):
    for n in names:
        try:
            seen.append(open(os.path.join(where, n), errors="replace").read(65536))
        except OSError:
            pass
text = "\n".join(seen)
for name, word in (w.split("=", 1) for w in sys.argv[1:]):
    tell(name, word in text, [line for line in text.splitlines() if word in line][:2])
try:
    tell("boot_line", len(open("/proc/cmdline").read()) > 0)
except OSError:
    tell("boot_line", False)
'''


def a28_empty_command(rig, person):
    for argv in ([], [""]):
        done = rig.run(person, argv, person.directory(), text=manifest(), options=["--json"])
        code = json.loads(done.out or b"{}").get("error", {}).get("code")
        rig.tap.ok(done.status == 125 and "INVALID" in str(code).upper(), f"A28 the command {argv} is refused ({person.name})", *done.tell())
    done = rig.run(person, ["true"], person.directory(), text=manifest())
    rig.tap.ok(done.status == 0, f"A28 a command with a name is not ({person.name})", *done.tell())


def a29_names_with_dashes(rig, person):
    for name in ("--version", "-c", "--bind", "--help", "-w"):
        done = rig.run(person, [name, "/"], person.directory(), text=manifest())
        rig.tap.ok(done.status == 127 and not done.out, f"A29 the command {name} is a name ({person.name})", *done.tell())
    work = person.directory()
    person.file(os.path.join(work, "--version"), "#!/bin/sh\necho ran $#\n", 0o755)
    done = rig.run(person, ["./--version", "--help"], work, text=manifest())
    rig.tap.ok(done.out == b"ran 1\n", f"A29 a program so named runs ({person.name})", *done.tell())


def a30_users(rig, person):
    for user in ("4294967295", "4294967296", "-1", " 0", "0x0", "1000:0:0", "0", "root"):
        for options, text in ((["--user", user], manifest()), (["-u", user], manifest()), ([], manifest(config={"user": user}))):
            done = rig.run(person, ["id", "-u"], person.directory(), text=text, options=options)
            if done.status not in (125, 126) or done.out:
                rig.tap.ok(False, f"A30 the user {user!r} is refused ({person.name})", *done.tell())
    work = person.directory()
    person.file(os.path.join(work, "passwd"), "agent:x:0:0::/:/bin/sh\nroot:x:1000:1000::/:/bin/sh\n")
    for text in (manifest(), manifest(identity="root"), manifest([{"source": "workspace", "at": "/workspace"}, {"source": {"inline": {
            "provider": "local-fs", "config": {"path": "passwd"}}}, "at": "/etc/passwd", "mode": "read-only"}])):
        done = rig.run(person, ["id", "-u"], work, text=text)
        rig.tap.ok(done.out in (b"1000\n", b""), f"A30 nobody is uid 0 inside ({person.name})", *done.tell())
    done = rig.host(person, ["id", "-u"], work)
    rig.tap.ok(done.out == b"%d\n" % person.uid, f"A30 the same command outside tells the caller ({person.name})")


def a32_identity(rig, person):
    """The workspace's own path is in mountinfo, and cannot be hidden there: see SECURITY.md."""
    host = os.uname().nodename                         # a short name may be part of any word
    words = [*(["host=" + host] if len(host) > 5 and host != "carrel" else []), "canary=" + os.path.dirname(rig.canary), "program=" + rig.shipped]
    machine = "/etc/machine-id"
    if os.path.isfile(machine) and open(machine).read().strip():
        words.append("machine=" + open(machine).read().strip())
    rig.row(person, "A32 nothing names the host", A32, ["uts", "mask"], args=words, needed={"boot_line"} | {"host" for w in words if w.startswith("host=")})


def a33_lacking(rig, person):
    """A kernel without one mechanism: refused with a reason, or as closed as ever; never run with
    less.
    """
    shim = os.path.join(os.path.dirname(os.environ.get("CARREL") or os.path.join(rig_top(), "build", "carrel")), "test", "shim")
    if not os.access(shim, os.X_OK):
        rig.tap.ok(False, f"A33 {shim} is missing")
        return
    place = shutil.copy(shim, rig.home)
    cases = [("landlock", False), ("seccomp", False), ("userns", False), ("mount_api", False), ("mountns", False), ("pidns", False),
             ("netns", False), ("no_new_privs", False), ("pivot_root", False), ("openat2", True), ("close_range", True), ("clone3", True),
             ("pidfd", True)]
    probe = A26 + 'tell("landlock", os.access("/proc/sys/kernel", os.W_OK))\n' + A08.split("import threading")[0]
    for name, may_run in cases:
        for how in ("ENOSYS", "EPERM"):
            work = rig.payload(person, probe)
            done = rig.run(person, ["python3", "payload.py", "kept"], work, text=manifest(), wrap=[place, f"{name}={how}", "--"])
            ran = b"closed" in done.out or b"OPEN" in done.out
            is_good = (done.has_ended and not done.opened) if ran else done.status in (125, 126) and done.err
            if not may_run and ran:
                is_good = False
            rig.tap.ok(is_good, f"A33 without {name} ({how}) it is refused{' or held all the same' if may_run else ''} ({person.name})", *done.tell())
    done = rig.run(person, ["true"], person.directory(), text=manifest(), wrap=[place, "cgroup", "--"]) if person.is_root else None
    if done:
        rig.tap.ok(done.status in (0, 125, 126), f"A33 without control groups it warns or refuses ({person.name})", *done.tell())
    done = rig.run(person, ["true"], person.directory(), text=manifest(), wrap=[place, "497", "--"])
    rig.tap.ok(done.status == 0, f"A33 with all of them it runs ({person.name})", *done.tell())


def rig_top():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


ROWS = [a01_own_program, a02_descriptors, a03_directory, a04_proc, a06_propagation, a07_mounts, a08_namespaces, a09_groups, a10_leaving,
        a11_terminal, a12_foreign_calls, a13_abstract, a14_named, a16_pid_one, a17_keys, a17_queues, a18_rings, a20_families, a21_received,
        a22_privileged, a24_devices, a25_settings, a26_privileges, a27_ids, a28_empty_command, a29_names_with_dashes, a30_users,
        a32_identity, a33_lacking]


def main():
    if os.uname().machine != "x86_64":
        print("1..0 # SKIP the numbers of system calls in these attacks are those of x86-64")
        return 0
    return run_rows(ROWS)


if __name__ == "__main__":
    sys.exit(main())
