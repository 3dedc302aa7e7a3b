#!/usr/bin/env python3
"""collect_test - leases: a create reads none of the living ones, and what a killed maker leaves is
collected at once, without another start.

Root's leases are in one directory for the whole machine; in a mount namespace it is this test's
own.
"""
import ctypes
import os
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, check, end
from daemon_rig import Daemon, groups_of, until

LIVING, IN_OPEN = 40, 0x20
libc = ctypes.CDLL(None, use_errno=True)


class Opened:
    """Names of a directory's files that are opened meanwhile."""

    def __init__(self, directory):
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0 and libc.inotify_add_watch(self.fd, directory.encode(), IN_OPEN) >= 0, os.strerror(ctypes.get_errno())

    def names(self):
        found = []
        while True:
            try:
                raw = os.read(self.fd, 65536)
            except BlockingIOError:
                return found
            while raw:
                _, _, _, length = struct.unpack_from("iIII", raw)
                found.append(raw[16:16 + length].rstrip(b"\0").decode())
                raw = raw[16 + length:]


def leases(directory):
    return sorted(name for name in os.listdir(directory) if name.endswith(".lease")) if os.path.isdir(directory) else []


def maker_of(d):
    """The pid of the only maker."""
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/comm" % entry, encoding="ascii") as f:
                if f.read() != "carrel-maker\n":
                    continue
            with open("/proc/%s/stat" % entry, encoding="ascii") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            if parent in d.children().values():
                return int(entry)
        except (OSError, ValueError):
            continue
    return None


def look(directory):
    with Daemon() as d:
        first = d.create(start=True)
        if not leases(directory):
            check("leases # SKIP no control group is this user's: a sandbox takes no lease", True)
            d.must("DELETE", "/v1/sandboxes/" + first)
            return
        os.kill(maker_of(d), signal.SIGKILL)
        until("the groups of a sandbox whose maker was killed are collected", lambda: not groups_of({first}))
        until("and its lease", lambda: not leases(directory))
        check("a killed maker leaves nothing, and nothing else had to be started", d.must("GET", "/v1/sandboxes/" + first)["status"] == "failed")
        d.must("DELETE", "/v1/sandboxes/" + first)
        for _ in range(LIVING):
            d.create(start=True)
        held = leases(directory)
        opened = Opened(directory)
        d.create(start=True)
        met = [name for name in opened.names() if name in held]
        check("a create beside %d living sandboxes opens none of their leases" % LIVING, len(held) == LIVING and not met, len(held), len(met), met[:3])
        with tempfile.TemporaryDirectory() as workspace:
            with open(os.path.join(workspace, "SANDBOX.md"), "w", encoding="ascii") as f:
                f.write("---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n---\n")
            subprocess.run([CARREL, "run", "-w", workspace, "--", "true"], check=True, stdin=subprocess.DEVNULL)
        met = [name for name in opened.names() if name in held]
        check("`carrel run` opens a few of them", 0 < len(met) <= 2 * 16, len(met))


def main():
    if os.geteuid() == 0 and len(sys.argv) == 1:
        os.makedirs("/run/carrel", mode=0o700, exist_ok=True)
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", "sh", "-c", "mount -t tmpfs -o mode=0700 none /run/carrel && exec \"$0\" \"$@\"", *sys.orig_argv[:2], "inside"])
    if os.geteuid() == 0:
        look("/run/carrel")
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_RUNTIME_DIR"] = folder
            look(os.path.join(folder, "carrel"))
    end()


main()
