#!/usr/bin/env python3
# weight: 2
# slow: 60 s: two virtual machines boot on an emulated processor, and one is restored six times
"""provider: microvm - living sandboxes in virtual machines of QEMU, emulated: many commands, limits, how QEMU is sealed, and one
end for each command whoever is killed. What it has in common with other kinds is in kinds_test.py. Prints TAP.
"""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, DEEP, PATIENCE, ROOT, check, descendants, end, need_programs, report, until
from daemon_rig import Daemon, groups_of, own_groups
from machine_rig import Desk, need_machine, qemus, text
from puppet_rig import Puppet

AT_CWD = -100
MEMORY_MB = 160
PLAIN = text(limits="memory_mb: %d" % MEMORY_MB, carrel="limits: {pids: 40}")


MOUNTED = text(limits="memory_mb: %d" % MEMORY_MB, more="mounts: [{source: workspace, at: /workspace}]\n")


def machines(d):
    return qemus(pid for pid, _ in descendants(d.child.pid)) or qemus(pid for pid, _ in descendants())


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def sealed(pid, own=()):
    """`own`: the file that is the memory of a machine that was saved."""
    status = status_of(pid)
    mine = status_of(os.getpid())
    ids = {int(n) for key in ("Uid", "Gid") for n in status[key].split()}
    check("QEMU has one id, which is the sandbox's own as root and the user's otherwise", len(ids) == 1 and (min(ids) >= 1900000000 if ROOT else str(min(ids)) in mine["Uid"]), status)
    check("QEMU has no capability, no_new_privs, and Carrel's filter below its own", {status[k] for k in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == {"0" * 16} and
          status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status.get("Seccomp_filters", 2)) >= 2, status)
    names = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
    shared = [n for n in names if os.readlink("/proc/%d/ns/%s" % (pid, n)) == os.readlink("/proc/self/ns/" + n)]
    check("QEMU is in namespaces of its own", not shared, shared)
    with open("/proc/%d/net/dev" % pid, encoding="ascii") as f:
        devices = [line.split(":")[0].strip() for line in f if ":" in line]
    with open("/proc/%d/mountinfo" % pid, encoding="utf-8") as f:
        mounts = [line.split()[4:6] for line in f]
    writable = [at for at, how in mounts if "ro" not in how.split(",") and not at.startswith("/dev/")]
    check("QEMU has no network, and no mount to write to but its memory", devices == ["lo"] and writable == list(own), devices, writable)
    root = "/proc/%d/root" % pid
    check("QEMU sees no path but its own", sorted(n for n in os.listdir(root) if not n.startswith("lib")) == sorted(["dev", "disk", "initramfs", "kernel", "usr", *(p[1:] for p in own)]) and
          set(os.listdir(root + "/usr/share")) <= {"qemu", "seabios"} and set(os.listdir(root + "/dev")) == {"null", "urandom"}, os.listdir(root))
    fds = {os.readlink("/proc/%d/fd/%s" % (pid, n)).split(":")[0] for n in os.listdir("/proc/%d/fd" % pid)}
    check("QEMU holds its stream, its disk and nothing of the daemon's", fds <= {"/dev/null", "/disk", "socket", "anon_inode", *own} and
          sum(os.readlink("/proc/%d/fd/%s" % (pid, n)).startswith("socket") for n in os.listdir("/proc/%d/fd" % pid)) == 1, fds)


def taken_over(pid):
    """QEMU's Landlock domain: its mounts are read-only, but neither a device nor another process of its user is a file of theirs."""
    if not ROOT:
        return report("QEMU, taken over", skip="an ordinary user may not trace a process of another user namespace")
    with Puppet(pid) as qemu:
        got = {what: qemu.says(*call) for what, call in {
            "reads its disk": ("openat", AT_CWD, b"/disk", os.O_RDONLY),
            "reads the root": ("openat", AT_CWD, b"/", os.O_RDONLY),
            "writes to /dev/urandom": ("openat", AT_CWD, b"/dev/urandom", os.O_WRONLY),
            "signals the relay": ("kill", 1, 0)}.items()}
    check("a QEMU that is taken over reads its disk, and gets neither its root, a device nor the relay", got ==
          {"reads its disk": "done", "reads the root": "EACCES", "writes to /dev/urandom": "EACCES", "signals the relay": "EPERM"}, got)


def share_taken_over(pid):
    """virtiofsd's: a directory of /proc that it holds leads out of its root."""
    if not ROOT:
        return report("virtiofsd, taken over", skip="an ordinary user may not trace a process of another user namespace")
    held = [int(n) for n in os.listdir("/proc/%d/fd" % pid) if os.readlink("/proc/%d/fd/%s" % (pid, n)).endswith("/fd")]
    with Puppet(pid) as share:
        got = {what: share.says("openat", at, path, how) for what, at, path, how in (
            ("reads a mount", AT_CWD, b"/workspace", os.O_RDONLY),
            ("reads the machine's disk", held[0], b"../../../disk", os.O_RDONLY),
            ("reads the root", held[0], b"../../..", os.O_RDONLY),
            ("writes to a device", held[0], b"../../../dev/urandom", os.O_WRONLY))}
    check("a virtiofsd that is taken over reads its mounts, and gets neither the disk, the root nor a device", got ==
          {"reads a mount": "done", "reads the machine's disk": "EACCES", "reads the root": "EACCES", "writes to a device": "EACCES"}, got)


def commands(d, box):
    count = 200 if DEEP else 40
    wrong = [got for got in (d.exec(box, ["sh", "-c", "echo %d; exit %d" % (i, i % 100)]) for i in range(count)) if
             (got["outcome"], got["exit_code"]) != ("exited", len(str(got["stdout"])) and int(got["stdout"]) % 100)]
    check("%d commands one after another, each with its output and status" % count, not wrong, wrong[:3])


def limits(d, box):
    got = d.exec(box, "grep MemTotal /proc/meminfo | tr -dc 0-9")
    check("the machine has the memory of limits.memory_mb, less what its kernel takes", (MEMORY_MB - 60) << 10 < int(got["stdout"]) < MEMORY_MB << 10, got)
    got = d.exec(box, "dd if=/dev/zero of=/dev/null bs=300M count=1; echo $?")
    check("a command does not get more memory than the machine has", got["stdout"] in ("1\n", "137\n"), got)
    got = d.exec(box, "dd if=/dev/zero of=/tmp/much bs=1M count=100; stat -c %s /tmp/much; rm /tmp/much")
    check("private places hold half of the memory, less what the kernel takes", (MEMORY_MB - 64) << 18 < int(got["stdout"]) <= (MEMORY_MB - 64) << 19 and "No space" in got["stderr"], got)
    got = d.exec(box, "echo still here")
    check("the sandbox goes on", got["stdout"] == "still here\n", got)


def frozen_in(group):
    try:
        with open(os.path.join(group, "cgroup.events"), encoding="ascii") as f:
            return "frozen 1" in f.read()
    except OSError:     # of version 1
        return False


def paused(d, box):
    """It stays paused, where that is possible. QEMU is frozen: nothing in the machine goes on, and its clock is right afterwards."""
    path = "/v1/sandboxes/" + box
    asked = d.call("POST", path + "/pause")
    if asked.code == "capability_unavailable":      # a daemon without a control group that freezes
        return check("pause needs a control group that freezes, and says so", b"freez" in asked.body, asked)
    with open("/proc/%d/cgroup" % machines(d)[0], encoding="utf-8") as f:
        own = next(line.rstrip("\n").split("::", 1)[1] for line in f if "::" in line)
    frozen = [group for group in groups_of({box}) if group.endswith(own) and frozen_in(group)]
    info = d.must("GET", path)
    check("QEMU of a paused machine is frozen", info["status"] == "paused" and frozen, info, own, frozen)
    d.must("POST", path + "/resume")
    got = d.exec(box, "date +%s")
    check("after resume it goes on, with the time of day", abs(int(got["stdout"]) - time.time()) < PATIENCE, got)
    d.must("POST", path + "/pause")


def save_as_told(desk, info):
    """From then on sandboxes start with the saved machine."""
    words = info.get("machine_why", "").rpartition(": carrel ")[2].split()
    done = subprocess.run([CARREL, *words, "--host", desk.host], env=desk.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check("its machine boots, and info has the command that saves one", info.get("machine_start") == "booted" and words[:2] == ["image", "machine"] and done.returncode == 0, info, done)


def create(d, manifest=PLAIN, **more):
    return d.create(start=True, manifest=manifest, **more)


def shares(d, top):
    """With a mount: virtiofsd beside QEMU."""
    os.makedirs(os.path.join(top, "ws"), exist_ok=True)
    box = create(d, MOUNTED, workspace=os.path.join(top, "ws"))
    info = d.must("GET", "/v1/sandboxes/" + box)
    check("a sandbox with mounts starts with the saved machine", info["machine_start"] == "saved", info)
    got = d.exec(box, "echo inside > /workspace/made; cat /workspace/made")
    with open(os.path.join(top, "ws", "made"), encoding="ascii") as f:
        check("a sandbox of the daemon has its workspace", (got["stdout"], f.read()) == ("inside\n", "inside\n"), got)
    pids = [pid for (pid, _), name in descendants().items() if name == "virtiofsd"]
    status = status_of(pids[0])
    ids = {int(n) for key in ("Uid", "Gid") for n in status[key].split()}
    check("virtiofsd is sealed: one id, its own list of system calls, no capability but for ids, the mounts alone", len(pids) == 1 and len(ids) == 1 and
          (min(ids) >= 1900000000 if ROOT else True) and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) & ~0xc0 == 0 and
          os.listdir("/proc/%d/root" % pids[0]) == ["workspace"], status, os.listdir("/proc/%d/root" % pids[0]))
    share_taken_over(pids[0])
    maps = [os.readlink("/proc/%d/fd/%s" % (machines(d)[0], n)) for n in os.listdir("/proc/%d/fd" % machines(d)[0])]
    check("QEMU holds none of the mounts", not [m for m in maps if "workspace" in m or top in m], maps)
    killed(d, box, "virtiofsd", pids)


def parts(box):
    """Processes of this sandbox's groups on the host: pid -> name."""
    found = {}
    for group in groups_of({box}):
        for base, _, names in os.walk(group):
            if "cgroup.procs" in names:
                with open(os.path.join(base, "cgroup.procs"), encoding="ascii") as f:
                    for pid in map(int, f.read().split()):
                        try:
                            with open("/proc/%d/comm" % pid, encoding="utf-8") as g:
                                found[pid] = g.read().strip()
                        except OSError:
                            pass
    return found


def killed(d, box, who, pids):
    callers = [subprocess.Popen([CARREL, "exec", box, "--", "sh", "-c", "echo up; sleep 1000"], env=dict(os.environ, CARREL_STATE=d.state), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for caller in callers:
        caller.stdout.readline()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    codes = [caller.communicate(timeout=PATIENCE) and caller.returncode for caller in callers]
    until("QEMU is gone", lambda: not machines(d))
    if who != "the maker":
        until("its control groups are gone", lambda: not groups_of({box}))
    check("kill -9 of %s: each command has its end, and nothing is left" % who, 0 not in codes and len(pids) == 1, codes, pids)


def named(name):
    return [pid for (pid, _), what in descendants().items() if what == name]


def main():
    need_programs()
    need_machine()
    before = own_groups()
    with Desk() as desk, Daemon("--host", desk.host, state=desk.state) as d:
        box = create(d)
        info = d.must("GET", "/v1/sandboxes/" + box)
        check("a sandbox of provider microvm runs", info["status"] == "running", info)
        save_as_told(desk, info)
        sealed(machines(d)[0])
        taken_over(machines(d)[0])
        commands(d, box)
        limits(d, box)
        paused(d, box)
        check("it is stopped, paused", d.call("DELETE", "/v1/sandboxes/" + box).status < 300)
        until("QEMU is gone", lambda: not machines(d))
        shares(d, desk.folder)
        box = create(d)
        info = d.must("GET", "/v1/sandboxes/" + box)
        check("a sandbox that starts with it says so", (info["machine_start"], info.get("machine_why")) == ("saved", None), info)
        sealed(machines(d)[0], ["/memory"])
        killed(d, box, "QEMU", machines(d))
        box = create(d)
        killed(d, box, "the relay", named("carrel-relay"))
        box = create(d)
        killed(d, box, "the box", named("carrel-box"))
        box = create(d)
        killed(d, box, "the maker", named("carrel-maker"))
        create(d)       # its start collects what the maker left
        until("the killed maker's control groups are collected", lambda: not groups_of({box}))
    until("no control group is left", lambda: own_groups() == before)
    end()


main()
