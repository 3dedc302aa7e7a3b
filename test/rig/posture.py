#!/usr/bin/env python3
"""posture - reports, from inside, which interfaces of the kernel and of the host can be reached.

  posture.py                        id<TAB>OPEN|closed<TAB>detail, a line each; limits as id<TAB>-<TAB>soft<TAB>hard
  posture.py --judge ACCEPTED       reads such lines on standard input. Exit 1 if one is OPEN that ACCEPTED does
                                    not name, if an id is missing, or if ACCEPTED names one that does not exist

Nothing is attacked: every probe asks, and either it is refused or its effect is undone. Sockets are
created and never connected, except the three that stand for the host (see HOST below). Each probe
runs in its own child, so that a probe that is killed by a signal gives one closed line. Nothing
outside the working directory is written.

HOST: a test that uses these three listens outside, and names the places in the environment:
PROBE_ABSTRACT (the name of an abstract socket), PROBE_SOCKET (a socket's path), PROBE_PORT (a port
of 127.0.0.1). It also sets PROBE_SECRET, which must not be visible inside.
"""
import ctypes
import errno
import fcntl
import os
import platform
import pty
import resource
import socket
import struct
import sys
import termios

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

NUMBERS = {  # call: x86_64, aarch64 (the same from 424 on)
    "ioctl": (16, 29), "ptrace": (101, 117), "syslog": (103, 116), "personality": (135, 92), "pivot_root": (155, 41),
    "chroot": (161, 51), "acct": (163, 89), "swapoff": (168, 225), "init_module": (175, 105), "quotactl": (179, 60),
    "add_key": (248, 217), "keyctl": (250, 219), "unshare": (272, 97), "perf_event_open": (298, 241),
    "fanotify_init": (300, 262), "open_by_handle_at": (304, 265), "process_vm_readv": (310, 270), "kcmp": (312, 272),
    "memfd_create": (319, 279), "bpf": (321, 280), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "open_tree": (428, 428), "fsopen": (430, 430), "pidfd_open": (434, 434), "clone3": (435, 435),
    "landlock_create_ruleset": (444, 444),
}
NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000
BUFFER = ctypes.create_string_buffer(256)

# name | family | type | protocol
SOCKETS = [
    ("vsock", 40, socket.SOCK_STREAM, 0), ("alg", 38, socket.SOCK_SEQPACKET, 0), ("packet", 17, socket.SOCK_RAW, 0),
    ("xdp", 44, socket.SOCK_RAW, 0), ("netlink_route", 16, socket.SOCK_RAW, 0), ("inet_raw", 2, socket.SOCK_RAW, 1),
    ("inet_stream", 2, socket.SOCK_STREAM, 0), ("inet6", 10, socket.SOCK_STREAM, 0),
    ("unix", 1, socket.SOCK_STREAM, 0), ("unix_seqpacket", 1, socket.SOCK_SEQPACKET, 0),
    ("tipc", 30, socket.SOCK_DGRAM, 0), ("rds", 21, socket.SOCK_SEQPACKET, 0), ("kcm", 41, socket.SOCK_SEQPACKET, 0),
    ("smc", 43, socket.SOCK_STREAM, 0),
]

# name | call | arguments (a function is called in the child) | errors that only a permitted call
# can return
CALLS = [
    ("io_uring_setup", "io_uring_setup", [1, BUFFER], []),
    ("keyctl_get_session", "keyctl", [0, -3, 1], []),
    ("add_key", "add_key", [b"user", b"probe", b"x", 1, -2], []),
    ("unshare_user", "unshare", [NEWUSER], []),
    ("unshare_user_net", "unshare", [NEWUSER | NEWNET], []),
    ("unshare_mnt", "unshare", [NEWNS], []),
    ("fsopen", "fsopen", [b"tmpfs", 0], []),
    ("open_tree_clone", "open_tree", [-100, b"/", 1], []),
    ("bpf_prog", "bpf", [5, BUFFER, 128], ["EINVAL", "EFAULT", "E2BIG"]),
    ("perf_event_open", "perf_event_open", [BUFFER, 0, -1, -1, 0], ["EINVAL", "E2BIG", "ENOENT"]),
    ("userfaultfd", "userfaultfd", [0], []),
    ("process_vm_readv_ppid", "process_vm_readv", [os.getppid, None, 0, None, 0, 0], []),
    ("ptrace_seize_ppid", "ptrace", [0x4206, os.getppid, 0, 0], []),
    ("pidfd_open_ppid", "pidfd_open", [os.getppid, 0], []),
    ("kcmp", "kcmp", [os.getpid, os.getppid, 0, 0, 0], []),
    ("open_by_handle_at", "open_by_handle_at", [-100, struct.pack("Ii", 8, 1) + bytes(64), 0], ["ESTALE", "EBADF"]),
    ("chroot", "chroot", [b"/"], []),
    ("pivot_root_probe", "pivot_root", [b"/", b"/"], ["EBUSY", "EINVAL"]),
    ("personality_read_implies_exec", "personality", [0x0400000], []),
    ("personality_no_aslr", "personality", [0x0040000], []),
    ("syslog_read", "syslog", [3, BUFFER, 255], []),
    ("swapoff_probe", "swapoff", [b"/nonexistent"], ["ENOENT", "EINVAL"]),
    ("init_module_probe", "init_module", [None, 0, b""], ["ENOEXEC", "EFAULT", "EINVAL"]),
    ("acct_probe", "acct", [b"/nonexistent"], ["ENOENT"]),
    ("quotactl_probe", "quotactl", [0x80000100, None, 0, None], ["ENODEV", "EINVAL", "ESRCH", "ENOENT"]),
    ("memfd_create", "memfd_create", [b"p", 0], []),
    ("landlock_abi", "landlock_create_ruleset", [None, 0, 1], []),
    ("fanotify_init", "fanotify_init", [0x200, 0], []),
]

READ, WRITE, BOTH = os.O_RDONLY, os.O_WRONLY, os.O_RDWR

# id | path | how it is opened | bytes that must be readable (0: opening is enough)
FILES = [
    ("proc.kcore", "/proc/kcore", READ, 16), ("proc.sysrq_w", "/proc/sysrq-trigger", WRITE, 0),
    ("proc.core_pattern_w", "/proc/sys/kernel/core_pattern", WRITE, 0),
    ("proc.modprobe_w", "/proc/sys/kernel/modprobe", WRITE, 0), ("proc.keys", "/proc/keys", READ, 16),
    ("proc.timer_list", "/proc/timer_list", READ, 16), ("proc.kallsyms", "/proc/kallsyms", READ, 16),
    ("proc.kmsg", "/proc/kmsg", READ, 0), ("proc.config", "/proc/config.gz", READ, 16),
    ("proc.1_environ", "/proc/1/environ", READ, 0), ("proc.1_root", "/proc/1/root/etc/hostname", READ, 0),
    ("proc.1_mem", "/proc/1/mem", READ, 0), ("proc.self_exe_w", "/proc/self/exe", WRITE, 0),
    ("sys.uevent_helper_w", "/sys/kernel/uevent_helper", WRITE, 0),
    ("sys.cg_release_agent_w", "/sys/fs/cgroup/memory/release_agent", WRITE, 0),
    ("sys.cg_procs_w", "/sys/fs/cgroup/memory/cgroup.procs", WRITE, 0),
    ("dev.kmsg", "/dev/kmsg", READ, 0), ("dev.kmsg_w", "/dev/kmsg", WRITE, 0), ("dev.vda", "/dev/vda", READ, 0),
    ("dev.mem", "/dev/mem", READ, 0), ("dev.kvm", "/dev/kvm", BOTH, 0), ("dev.fuse", "/dev/fuse", BOTH, 0),
    ("dev.loopctl", "/dev/loop-control", BOTH, 0), ("dev.tun", "/dev/net/tun", BOTH, 0),
    ("dev.shm_tmpfile", "/dev/shm", BOTH | os.O_TMPFILE, 0), ("host.shadow", "/etc/shadow", READ, 16),
    ("var.dpkg_status", "/var/lib/dpkg/status", READ, 16), ("var.dpkg_status_w", "/var/lib/dpkg/status", WRITE, 0),
    ("var.dpkg_info_w", "/var/lib/dpkg/info", BOTH | os.O_TMPFILE, 0), ("var.dpkg_w", "/var/lib/dpkg", BOTH | os.O_TMPFILE, 0),
    ("etc.carrel_host", "/etc/carrel/host.yaml", READ, 0), ("etc.w", "/etc", BOTH | os.O_TMPFILE, 0),
]

CPU_LISTS = ["/sys/devices/system/cpu/" + name for name in ("online", "possible", "present")]
DPKG_SHOWN = {"status", "info"}
# These are beside the visible settings of the host. They may hold secrets, name accounts, or set
# PATH.
SECRETIVE = ["/etc/chromium.d/apikeys", "/etc/maven/settings.xml", "/etc/R/Renviron.site", "/etc/ImageMagick-6/policy.xml", "/etc/php/8.2/fpm", "/etc/profile",
             "/etc/bash.bashrc", "/etc/npmrc", "/etc/pip.conf", "/etc/gitconfig.d", "/etc/environment", "/etc/sudoers", "/etc/ssl/private"]
# What a sandbox has if its manifest requests nothing (docs/FIELDS.md); one task or MiB more is the
# runtime's own.
OPEN_FILES_MOST, PIDS_MOST, DISK_MIB_MOST = 65536, 16384 + 66, 2048 + 1

LIMITS = ["RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_MEMLOCK"]


def error_name(number):
    return errno.errorcode.get(number, str(number))


def call(name, arguments):
    """The result, and the name of the error or "ok"."""
    number = NUMBERS[name][platform.machine() == "aarch64"]
    values = [a() if callable(a) and not isinstance(a, ctypes.Array) else a for a in arguments]
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(v) if isinstance(v, int) else v for v in values])
    return result, error_name(ctypes.get_errno()) if result < 0 else "ok"


# A probe returns (is it open, detail). An OSError that it raises is a refusal with that error's
# name.

def probe_socket(family, kind, protocol):
    socket.socket(family, kind, protocol).close()
    return True, "created"


def probe_call(name, arguments, reached):
    result, error = call(name, arguments)
    return result >= 0 or error in reached, error


def probe_clone3():
    result, error = call("clone3", [struct.pack("8Q", NEWUSER, 0, 0, 0, 17, 0, 0, 0), 64])
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
    return result > 0, error


def probe_tiocsti(high):
    os.setsid()
    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    result, error = call("ioctl", [terminal, high << 32 | termios.TIOCSTI, b"x"])
    return result >= 0, error


def probe_file(path, how, length):
    fd = os.open(path, how | os.O_CLOEXEC | os.O_NONBLOCK)
    got = len(os.read(fd, length)) if length else 0
    return got > 0 or not length, f"read {got}" if length else "opened"


def probe_device():
    os.mknod("posture.dev", 0o60600, os.makedev(254, 0))
    os.unlink("posture.dev")
    return True, "made"


def probe_connect(family, place):
    with socket.socket(family) as s:
        s.settimeout(1)
        s.connect(place)
    return True, "connected"


def probe_descriptors():
    directory = os.open("/proc/self/fd", os.O_RDONLY)
    found = [f for f in os.listdir(directory) if int(f) > 2 and int(f) not in (directory, RESULT)]
    alive = [f for f in found if os.path.lexists("/proc/self/fd/" + f)]
    return len(alive) > 0, ",".join(sorted(alive, key=int))


def status():
    with open("/proc/self/status", encoding="utf-8") as f:
        return dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)


def probe_capabilities():
    s = status()
    sets = [s[k].strip() for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
    return any(int(c, 16) for c in sets), f"Eff={sets[2]} Bnd={sets[3]}"


def probe_status(key, wanted):
    value = status()[key].strip()
    return value != wanted, value


def probe_processes():
    count = sum(name.isdigit() for name in os.listdir("/proc"))
    return count > 6, str(count)


def probe_made_sys():
    return all(os.access(path, os.R_OK) for path in CPU_LISTS), "the lists of processors"


def probe_rest_of_sys():
    found = [os.path.join(where, name) for where, _, names in os.walk("/sys") for name in names]
    more = [path for path in found if path not in CPU_LISTS or os.access(path, os.W_OK)]
    return bool(more) or os.access("/sys", os.W_OK), ",".join(more[:3])


def probe_dpkg_more():
    more = sorted(set(os.listdir("/var/lib/dpkg")) - DPKG_SHOWN)
    return bool(more), ",".join(more[:3])


def probe_settings():
    found = [path for path in SECRETIVE if os.path.lexists(path)]
    return bool(found), ",".join(found[:3])


def probe_limit(which, most):
    hard = resource.getrlimit(which)[1]
    return hard == resource.RLIM_INFINITY or hard > most, str(hard)


def probe_disk():
    sizes = {place: os.statvfs(place) for place in ("/tmp", "/var/tmp", "/run", "/dev/shm", os.path.expanduser("~"))}
    more = [place for place, v in sizes.items() if v.f_blocks * v.f_frsize >> 20 > DISK_MIB_MOST]
    return bool(more), ",".join(more)


def probe_secret():
    return "PROBE_SECRET" in os.environ, ""


def probes():
    """id, function, arguments: in the order in which they are printed."""
    for name, *where in SOCKETS:
        yield "sock." + name, probe_socket, where
    for name, *what in CALLS:
        yield "sys." + name, probe_call, what
    yield "sys.clone3_newuser", probe_clone3, []
    yield "tty.tiocsti", probe_tiocsti, [0]
    yield "tty.tiocsti_hibits", probe_tiocsti, [1]
    for name, *how in FILES:
        yield name, probe_file, how
    yield "cap.mknod_block", probe_device, []
    yield "fd.inherited", probe_descriptors, []
    yield "st.caps", probe_capabilities, []
    yield "st.nnp", probe_status, ["NoNewPrivs", "1"]
    yield "st.seccomp", probe_status, ["Seccomp", "2"]
    yield "ns.pids_visible", probe_processes, []
    yield "unix.abstract_host", probe_connect, [socket.AF_UNIX, "\0" + os.environ.get("PROBE_ABSTRACT", "posture-host")]
    yield "unix.path_host_robind", probe_connect, [socket.AF_UNIX, os.environ.get("PROBE_SOCKET", "/tmp/posture.sock")]
    yield "net.host_loopback", probe_connect, [socket.AF_INET, ("127.0.0.1", int(os.environ.get("PROBE_PORT", "1")))]
    yield "env.secret_inherited", probe_secret, []
    yield "made.sys_cpus", probe_made_sys, []
    yield "made.sys_more", probe_rest_of_sys, []
    yield "var.dpkg_more", probe_dpkg_more, []
    yield "etc.secretive", probe_settings, []
    yield "limit.open_files", probe_limit, [resource.RLIMIT_NOFILE, OPEN_FILES_MOST]
    yield "limit.pids", probe_limit, [resource.RLIMIT_NPROC, PIDS_MOST]
    yield "limit.disk", probe_disk, []


RESULT = -1     # in a probe's child: where it writes its result


def ask(function, arguments):
    """Runs one probe in a child. A child that dies is closed, with the signal as the detail."""
    global RESULT
    sys.stdout.flush()
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(source)
        RESULT = sink
        try:
            is_open, detail = function(*arguments)
        except OSError as e:
            is_open, detail = False, error_name(e.errno) if e.errno else str(e)
        except BaseException as e:      # a probe that fails has not shown that anything is closed
            is_open, detail = True, f"the probe broke: {e!r}"
        os.write(sink, f"{'OPEN' if is_open else 'closed'}\t{detail}".encode())
        os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as f:
        answer = f.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return answer or f"closed\tended by signal {-code}"


def accepted_read(path):
    """id: reason, one line each; text after # is a comment."""
    rows = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, _, reason = line.strip().partition(" ")
                if not reason.strip():
                    raise SystemExit(f"{path}: {name} has no reason")
                rows[name] = reason.strip()
    return rows


def judge(lines, accepted):
    """What is wrong with a printed posture, as sentences."""
    known = {name for name, _, _ in probes()}
    seen = {row[0]: row for row in (line.rstrip("\n").split("\t") for line in lines) if len(row) >= 2}
    wrong = [f"{name} is OPEN ({''.join(row[2:])}) and nothing accepts it"
             for name, row in seen.items() if row[1] not in ("closed", "-") and name not in accepted]
    wrong += [f"{name} was not answered" for name in sorted(known - seen.keys())]
    wrong += [f"{name} is accepted, but there is no such probe" for name in sorted(accepted.keys() - known)]
    return wrong


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--judge":
        wrong = judge(sys.stdin, accepted_read(sys.argv[2]))
        print("\n".join(wrong) or "nothing is open that was not accepted")
        return 1 if wrong else 0
    if len(sys.argv) != 1:
        raise SystemExit(__doc__)
    for name, function, arguments in probes():
        print(name, ask(function, arguments), sep="\t", flush=True)
    for name in LIMITS:
        print("rlimit." + name, "-", *resource.getrlimit(getattr(resource, name)), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
