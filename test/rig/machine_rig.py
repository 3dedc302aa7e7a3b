"""Virtual machines for tests: a kernel of Debian, unpacked once and never installed, an image with a disk, and a host file.
Not a test.
"""
import fcntl
import glob
import os
import shutil
import subprocess
import tempfile

from box_rig import CARREL, TREE, Workspace, check, end, report
from image_rig import busybox_import

PLACE = os.path.join(TREE, "build-vm")
PACKAGE = "linux-image-cloud-amd64"
PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def unpacked():
    return next(iter(sorted(glob.glob(os.path.join(PLACE, "kernel", "boot", "vmlinuz-*")))), None)


def fetch():
    """As test/vm/run does, into the same place."""
    os.makedirs(PLACE, exist_ok=True)
    with open(os.path.join(PLACE, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if unpacked():
            return
        with tempfile.TemporaryDirectory(dir=PLACE) as top:
            script = ("name=$(apt-cache depends %s | sed -n 's/^ *Depends: \\(linux-image-[0-9][^ ]*\\)$/\\1/p' | head -n 1) && [ -n \"$name\" ] && "
                      "apt-get download -q \"$name\" && dpkg-deb -x linux-image-*.deb kernel" % PACKAGE)
            done = subprocess.run(["sh", "-c", script], cwd=top, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise OSError("apt-get cannot download %s: %s" % (PACKAGE, done.stderr.strip().splitlines()[-1:]))
            shutil.rmtree(os.path.join(PLACE, "kernel"), ignore_errors=True)
            os.rename(os.path.join(top, "kernel"), os.path.join(PLACE, "kernel"))


def lacking():
    """What this machine lacks for a virtual machine, or None."""
    if os.uname().machine != "x86_64":
        return "the kernel package is for x86-64, and this machine is " + os.uname().machine
    for program in ("qemu-system-x86_64", "mkfs.erofs", "busybox", "dpkg-deb", "apt-get"):
        if not shutil.which(program, path=PLACES):
            return "%s is not installed: ./dev setup test" % program
    try:
        fetch()
    except OSError as e:
        return str(e)
    return None


def has_tap():
    """Whether this user may make the device that network.egress of a machine needs."""
    return os.access("/dev/net/tun", os.R_OK | os.W_OK)


def need_machine():
    """Ends the program with a skip that names what is missing."""
    why = lacking()
    if why:
        report("provider microvm", skip=why)
        end()


def make_disk(state, name="box:1"):
    return subprocess.run([CARREL, "image", "disk", name], env={**os.environ, "CARREL_STATE": state}, stdin=subprocess.DEVNULL, check=True, capture_output=True, text=True)


def save_machine(state, host, name, memory):
    """Later sandboxes with this image and size start with it."""
    subprocess.run([CARREL, "image", "machine", name, "--host", host, "--memory", memory], env={**os.environ, "CARREL_STATE": state}, stdin=subprocess.DEVNULL,
                   check=True, capture_output=True, text=True)


class Desk:
    """A state directory with the image box:1, and a host file that names the kernel."""

    def __init__(self, has_disk=True):
        self.folder = tempfile.mkdtemp(prefix="carrel-machine-")
        os.chmod(self.folder, 0o755)
        self.state = os.path.join(self.folder, "state")
        self.host = os.path.join(self.folder, "host.yaml")
        with open(self.host, "w", encoding="utf-8") as f:
            f.write("machine_kernel: %s\nproviders: {microvm: {isolated: true}, local: {isolated: true}}\n" % unpacked())
        self.env = {**os.environ, "CARREL_STATE": self.state}
        busybox_import(CARREL, self.state)
        if has_disk:
            make_disk(self.state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def text(limits="", more="", config="image: box:1", carrel=""):
    return ("---\nschema: sandbox/v1\nid: '@test/machine'\nversion: 1.0.0\nprovider: microvm\nconfig: {%s}\nlimits: {%s}\n%smetadata: {carrel: {%s}}\n---\n" %
            (config, limits, more, carrel))


def qemus(pids):
    """Those of these processes that are QEMU."""
    found = []
    for pid in pids:
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                if b"/qemu-system-x86_64\0" in f.read():
                    found.append(pid)
        except OSError:
            pass
    return found


MOUNTED = ("cat given; echo made > made; mkdir -p d/e && mv made d/e/; chmod 600 given; ln -s /etc/passwd link; printf '#!/bin/sh\\necho ran' > p; chmod +x p; ./p; echo; "
           "echo x > .git/hooks/pre-commit; mv .git .git2; cd /ro && ls && (echo x > new; rm kept); ls /share; stat -c %U /workspace/given; mkdir /workspace/.github")


def mount_rows(desk, limits=""):
    """What a sandbox with mounts can do with them, and what not."""
    more = "mounts: [{source: workspace, at: /workspace}, {source: workspace, at: /ro, mode: read-only}]\n"
    with Workspace(text(limits=limits, more=more)) as ws:
        os.chmod(ws.folder, 0o755)
        ws.write("given", "from the host\n")
        ws.write("kept", "kept\n")
        os.makedirs(os.path.join(ws.path, ".git", "hooks"))
        done = subprocess.run([CARREL, "run", "-w", ws.path, "--host", desk.host, "--", "sh", "-c", MOUNTED], env=desk.env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=300)
        out, err = done.stdout.decode().splitlines(), done.stderr.decode()
        check("the workspace is the host's directory: read, written, renamed, executed", out[:2] == ["from the host", "ran"] and ws.read("d/e/made") == b"made\n" and
              os.readlink(os.path.join(ws.path, "link")) == "/etc/passwd" and os.stat(os.path.join(ws.path, "given")).st_mode & 0o777 == 0o600, out, err)
        owner = os.stat(ws.path)
        made = os.stat(os.path.join(ws.path, "d", "e", "made"))
        check("inside its files are the agent's, outside those of the workspace's owner", out[-1] == "agent" and (made.st_uid, made.st_gid) == (owner.st_uid, owner.st_gid), out, made)
        check("protected names are held on the host", "can't create .git/hooks/pre-commit: Read-only" in err and "can't rename '.git'" in err and
              not os.path.exists(os.path.join(ws.path, ".git", "hooks", "pre-commit")), err)
        check("a read-only mount is read-only", "can't create new: Read-only" in err and ws.read("kept") == b"kept\n", out, err)
        check("no other path leads to the host", "ls: /share: No such file" in err, err)
