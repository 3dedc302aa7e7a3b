#!/usr/bin/env python3
"""`carrel image import DIRECTORY`: a plain root directory as the source of an image. Prints TAP."""
import fcntl
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
NUMBER = [0]
DEADLINE_S = 60


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    def __init__(self, top):
        self.top, self.root = top, os.path.join(top, "root")
        self.store = os.path.join(top, "state/images")
        self.env = {**os.environ, "CARREL_STATE": os.path.join(top, "state"), "HOME": top}

    def json(self, *words, **more):
        got = subprocess.run([CARREL, "image", *words, "--json"], env=self.env, cwd=self.top, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=DEADLINE_S, check=False, **more)
        try:
            return json.loads(got.stdout)
        except ValueError:
            return {"error": {"reason": "no JSON", "message": got.stdout + got.stderr}}

    def layer(self, name):
        layers = self.json("show", name)["layers"]
        return os.path.join(self.store, "layers", layers[0].split(":")[1], "root")

    def write(self, name, data, mode=0o644):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, mode)
        os.utime(path, (1700000000, 1700000000))
        return path


def make_root(bench):
    bench.write("bin/tool", b"#!/bin/sh\n", 0o4755)
    bench.write("etc/motd", b"hello\n")
    bench.write("var/lib/secret", b"s" * 300000, 0o600)
    os.link(os.path.join(bench.root, "etc/motd"), os.path.join(bench.root, "etc/again"))
    os.symlink("/etc/passwd", os.path.join(bench.root, "etc/out"))
    os.symlink("..", os.path.join(bench.root, "var/up"))
    os.mkfifo(os.path.join(bench.root, "var/pipe"))
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(bench.root)
        s.bind("var/socket")
        os.chdir(here)


def imports(bench):
    got = bench.json("import", "root", "one")
    tell("a root directory is imported", got.get("layers") == 1 and got.get("new_layers") == 1, got)
    layer = bench.layer("one")
    with open(os.path.join(layer, "etc/motd"), "rb") as f:
        tell("files have their contents", f.read() == b"hello\n" and os.path.getsize(os.path.join(layer, "var/lib/secret")) == 300000)
    tell("links lead where they led, and are not followed", os.readlink(os.path.join(layer, "etc/out")) == "/etc/passwd"
         and os.readlink(os.path.join(layer, "var/up")) == "..")
    tool = os.lstat(os.path.join(layer, "bin/tool"))
    tell("modes and times are kept, set-id bits are not", stat.S_IMODE(tool.st_mode) == 0o755 and int(tool.st_mtime) == 1700000000, oct(tool.st_mode))
    tell("a pipe is a pipe, a socket is left out", stat.S_ISFIFO(os.lstat(os.path.join(layer, "var/pipe")).st_mode)
         and not os.path.lexists(os.path.join(layer, "var/socket")))
    one, two = os.lstat(os.path.join(layer, "etc/motd")), os.lstat(os.path.join(layer, "etc/again"))
    tell("hard links are files of their own", one.st_ino != two.st_ino and two.st_size == 6)
    again = bench.json("import", "root", "two")
    tell("the same directory gives the same image, unpacked once", again.get("id") == got.get("id") and again.get("new_layers") == 0, got, again)


def differs(bench):
    first = bench.json("show", "one")["id"]

    def is_other(what, change):
        change()
        got = bench.json("import", "root", "other")
        tell(f"another {what} gives another image", got.get("id") not in (None, first), got)

    path = os.path.join(bench.root, "etc/motd")
    is_other("content", lambda: bench.write("etc/motd", b"hallo\n"))
    bench.write("etc/motd", b"hello\n")
    is_other("mode", lambda: os.chmod(path, 0o600))
    os.chmod(path, 0o644)
    is_other("time", lambda: os.utime(path, (1700000001, 1700000001)))
    os.utime(path, (1700000000, 1700000000))


def refuses(bench):
    os.mkdir(os.path.join(bench.top, "nothing"))
    got = bench.json("import", "nothing", "x")
    tell("a directory without the names of a root is refused", got.get("error", {}).get("reason") == "missing", got)
    deep = os.path.join(bench.top, "deep/etc")
    os.makedirs(deep)
    here = os.open(deep, os.O_RDONLY)
    for _ in range(140):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    got = bench.json("import", "deep", "x")
    tell("a tree of 140 levels is refused", got.get("error", {}).get("reason") == "name_long", got)
    got = bench.json("import", "root", "x", "--limit", "1m")
    with open(os.path.join(bench.root, "var/large"), "wb") as f:
        f.truncate(3 << 20)
    got = bench.json("import", "root", "x", "--limit", "1m")
    tell("files above --limit are refused, also sparse ones", got.get("error", {}).get("reason") == "size", got)
    os.unlink(os.path.join(bench.root, "var/large"))


def reads_what_it_may(bench):
    path = os.path.join(bench.root, "var/lib/secret")
    if os.geteuid() == 0:
        os.chown(path, 4711, 4711)
        got = bench.json("import", "root", "three")
        tell("root's import reads files that belong to others", got.get("layers") == 1, got)
        return
    os.chmod(path, 0)
    got = bench.json("import", "root", "three")
    tell("a file that its user may not read is refused, by its name",
         got.get("error", {}).get("reason") == "unreadable" and "var/lib/secret" in got["error"]["message"], got)
    os.chmod(path, 0o600)


def waits_for(fd):
    """Does a process wait for the lock of this file? Source: proc_locks(5)."""
    inode = os.fstat(fd).st_ino
    with open("/proc/locks", encoding="ascii") as f:
        return any(" -> " in line and line.split()[-3].endswith(f":{inode}") for line in f)


def changes(bench):
    """The import is held up between its two looks at the directory: where it locks the layer."""
    bench.write("etc/fresh", b"1")
    os.utime(os.path.join(bench.root, "etc"), (1700000000, 1700000000))
    bench.json("import", "root", "changed")
    layer = bench.json("show", "changed")["layers"][0].split(":")[1]
    bench.json("rm", "changed")
    lock = os.open(os.path.join(bench.store, "making", layer), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    run = subprocess.Popen([CARREL, "image", "import", "root", "changed", "--json"], env=bench.env, cwd=bench.top,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end and run.poll() is None and not waits_for(lock):
        time.sleep(0.01)
    bench.write("etc/fresh", b"2")
    os.close(lock)
    out, err = run.communicate(timeout=DEADLINE_S)
    try:
        error = json.loads(out).get("error", {})
    except ValueError:
        error = {"message": out + err}
    tell("a directory that changes while it is imported is refused", error.get("reason") == "digest", error)
    bench.json("prune")
    tell("and leaves nothing that prune does not remove", os.listdir(os.path.join(bench.store, "making")) == []
         and "changed" not in [i["name"] for i in bench.json("ls")["items"]])


def main():
    top = tempfile.mkdtemp(prefix="carrel-root-")
    bench = Bench(top)
    try:
        make_root(bench)
        for part in (imports, differs, refuses, reads_what_it_may, changes):
            part(bench)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"1..{NUMBER[0]}")
    return 0


sys.exit(main())
