#!/usr/bin/env python3
"""Hosts with another layout: other mounts below the system directories (WSL, the NVIDIA runtime,
Nix, a separate /usr/local). TAP.

Each host is a mount namespace of this test. Runs as root and as an ordinary user; the second is
imitated in a nested user namespace.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, Workspace, check, end, need_programs, report, until

# name | change of the host | what is read inside, and the expected text | where nothing may be
# written
HOSTS = [
    ("a file system below /usr/local", "mount -t tmpfs -o mode=755 none /usr/local && mkdir /usr/local/m && mount -t tmpfs none /usr/local/m && echo below > /usr/local/m/f",
     "/usr/local/m/f", "/usr/local/m"),
    ("a file below /usr", "echo below > $W/f && mount --bind $W/f $(readlink -f /usr/lib/os-release)", "/usr/lib/os-release", "/usr/lib/os-release"),
    ("a directory below /usr, writable on the host", "mkdir $W/d && echo below > $W/d/f && mount --bind $W/d /usr/share/doc", "/usr/share/doc/f", "/usr/share/doc/f"),
    ("a file system below /etc/ssl/certs", "mount -t tmpfs -o mode=755 none /etc/ssl/certs && mkdir /etc/ssl/certs/m && mount -t tmpfs none /etc/ssl/certs/m"
     " && echo below > /etc/ssl/certs/m/f", "/etc/ssl/certs/m/f", "/etc/ssl/certs/m"),
    ("a file below /etc/ssl/certs", "mount -t tmpfs -o mode=755 none /etc/ssl/certs && : > /etc/ssl/certs/f && echo below > $W/f && mount --bind $W/f /etc/ssl/certs/f",
     "/etc/ssl/certs/f", "/etc/ssl/certs/f"),
]
READ = "cat %s; (echo x >> %s/written) 2>/dev/null && echo written; (echo x >> %s) 2>/dev/null && echo written; :"
AS_USER = ["unshare", "-U", "--map-user=1000", "--map-group=1000"]


def on_host(change, command, ws, *, as_user):
    """The command in a mount namespace with the `change`."""
    outer = ["unshare", "-m", "--propagation", "private"] if ROOT and not as_user else ["unshare", "-Urm", "--propagation", "private"]
    words = ["sh", "-c", "%s || exit 99; exec \"$@\"" % change, "sh", *(AS_USER if as_user else []), *command]
    return subprocess.run(outer + words, env={**os.environ, "W": ws.folder, "XDG_RUNTIME_DIR": ws.folder}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=ALWAYS, check=False)


def row_of(done, name):
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return None, {"state": None, "detail": done.stderr}
    return told["tier"]["T1"], next((m for m in told["mechanisms"] if m["name"] == name), {"state": None, "detail": "no such row"})


def below():
    for as_user in (False, True) if ROOT else (True,):
        who = "as a user" if as_user else "as root"
        for name, change, path, place in HOSTS:
            with Workspace() as ws:
                done = on_host(change, ws.argv(["sh", "-c", READ % (path, place, place)]), ws, as_user=as_user)
                if done.returncode == 99:
                    report("%s, %s: shown and read-only" % (name, who), skip="this host has no such place to mount on")
                    continue
                check("%s, %s: shown and read-only" % (name, who), (done.returncode, done.stdout) == (0, b"below\n"), done)


def doctor():
    for as_user in (False, True) if ROOT else (True,):
        who = "as a user" if as_user else "as root"
        with Workspace() as ws:
            tier, row = row_of(on_host(HOSTS[0][1], [CARREL, "doctor", "--json"], ws, as_user=as_user), "whole_sandbox")
            check("doctor, %s: a whole sandbox is made on such a host" % who, tier is True and row["state"] == "works", row)
            # No other row opens a device: only the plan's own steps find this.
            change = ": > $W/f && mount --bind $W/f /dev/full"
            done = on_host(change, ws.argv(["true"]), ws, as_user=as_user)
            check("a host that a plan fails on, %s: the run refuses" % who, done.returncode == 125 and b"sandbox_backend_failed" in done.stderr, done)
            tier, row = row_of(on_host(change, [CARREL, "doctor", "--json"], ws, as_user=as_user), "whole_sandbox")
            check("doctor, %s: ... and so does the doctor, with the step" % who, tier is False and row["state"] == "fails" and "/dev/full" in row["detail"], tier, row)


STRANGER = 61234       # an id that no user of the machine has


def delegated_group():
    """A control group of the other user: a sandbox without any leaves nothing behind, and takes no
    lease.
    """
    base = next(b for b in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup") if os.path.exists(b + "/cgroup.procs"))
    group = "%s/test-starts-%d" % (base, os.getpid())
    os.mkdir(group)
    for path in (group, *(os.path.join(group, name) for name in os.listdir(group))):
        os.chown(path, STRANGER, STRANGER)
    return group


def empty(group):
    """Removes the group when it has no process."""
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def runtime_dir():
    """Without XDG_RUNTIME_DIR (cron, CI, sudo -u) the directory is in /tmp, where any user may
    create it first.
    """
    taken = "/tmp/carrel-%d" % STRANGER
    if not ROOT or os.path.lexists(taken):
        report("a user whose directory in /tmp somebody else has made", skip="only root may make it and become somebody else")
        return
    group = delegated_group()
    enter = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group]
    for name, make in (("a directory", os.mkdir), ("a link", lambda path: os.symlink("/", path))):
        make(taken)
        try:
            for cache in (".cache", None):
                with Workspace() as ws:
                    home = os.path.join(ws.folder, "home")
                    for path in (home, os.path.join(home, ".cache"))[:2 if cache else 1]:
                        os.mkdir(path)
                    for path in (ws.folder, home, os.path.join(home, ".cache"), ws.path, os.path.join(ws.path, "SANDBOX.md")):
                        if os.path.exists(path):
                            os.chown(path, STRANGER, STRANGER)
                    program = shutil.copy(CARREL, os.path.join(ws.folder, "carrel"))
                    done = subprocess.run([*enter, "setpriv", "--reuid=%d" % STRANGER, "--regid=%d" % STRANGER, "--clear-groups", "env", "-i", "HOME=" + home,
                                           *ws.argv(["echo", "ran"], program=program)], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
                    made = os.path.join(home, ".cache/carrel" if cache else ".carrel")
                    check("a user whose directory in /tmp is somebody else's %s runs, %s ~/.cache" % (name[2:], "with" if cache else "without"),
                          (done.returncode, done.stdout) == (0, b"ran\n") and os.path.isdir(made) and os.listdir(made) == [], done)
        finally:
            os.unlink(taken) if os.path.islink(taken) else os.rmdir(taken)
    until("the group is empty", lambda: not os.path.exists(group) or empty(group))


if __name__ == "__main__":
    need_programs()
    probe = subprocess.run(["unshare", "-Urm", "true"], stderr=subprocess.DEVNULL, check=False) if shutil.which("unshare") else None
    if probe is None or probe.returncode != 0:
        report("hosts that are built differently", skip="no user namespace may be made here")
    else:
        below()
        doctor()
    runtime_dir()
    end()
