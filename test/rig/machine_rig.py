"""Virtual machines for tests: a kernel of Debian, unpacked once and never installed, an image with a disk, and a host file.
Not a test.
"""
import fcntl
import glob
import os
import shutil
import subprocess
import tempfile

from box_rig import CARREL, TREE, end, report
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
