#!/usr/bin/env python3
# slow: 30 s: an error of each call that writes, at each place
"""audit_sink_test - `carrel run --audit` while its log cannot be written: nothing is started without
a record, whatever fails, and the log verifies afterwards (P30; J08, N9, N11).

An error of each system call that the recorder writes with, at each place; a full disk, a disk
without inodes, a read-only one; and names of the log that lead to something else.
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE, check, end, report

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
CALLS = ("write", "fdatasync", "fsync", "renameat,renameat2,rename", "openat", "flock", "ftruncate", "getdents64", "pread64")
PLACES_MAX = 40


class Bench:
    def __init__(self, top):
        self.work, self.state = os.path.join(top, "work"), os.path.join(top, "state")
        for folder in (self.work, self.state):
            os.makedirs(folder, exist_ok=True)
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)
        self.folder = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        self.mark = os.path.join(self.work, "mark")

    def carrel(self, *words, prefix=()):
        return subprocess.run([*prefix, CARREL, *words], env={**os.environ, "CARREL_STATE": self.state, "HOME": self.work}, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def run(self, prefix=()):
        """What is wrong with one run that touches the mark: it ran without a record, or was refused without the error."""
        if os.path.exists(self.mark):
            os.unlink(self.mark)
        before = self.starts()
        try:
            done = self.carrel("run", "--audit", "--", "touch", "mark", prefix=prefix)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(late.cmd, 124, "", "it hangs"), "it hangs"
        ran, after = os.path.exists(self.mark), self.starts()
        if ran and after is not None and after <= (before or 0):
            return done, "it ran, and has no start in the log"
        if not ran and done.returncode == 0:
            return done, "it did not run, and says nothing"
        return done, None

    def starts(self):
        try:
            if not all(stat.S_ISREG(os.lstat(os.path.join(self.folder, n)).st_mode) for n in os.listdir(self.folder) if n.startswith(("log-", "key-"))):
                return None
            return sum(e["action"] == "exec.started" for e in audit_chain.entries(self.folder))
        except (OSError, ValueError):
            return None

    def is_refused(self):
        done, wrong = self.run()
        is_typed = done.returncode in (125, 126) and ("audit_unavailable" in done.stderr or "audit_broken" in done.stderr)
        return [wrong] if wrong else [] if is_typed and not os.path.exists(self.mark) else ["%d, %s" % (done.returncode, done.stderr)]


# -- each call, at each place --------------------------------------------------------------------------------------------

def errors(top):
    """Only root's strace traces the recorder. The error also meets other processes of Carrel: then nothing runs either."""
    b = Bench(top)
    wrong, refused, ran = [], 0, 0
    b.run()
    for calls in CALLS:
        for error in ("EIO", "ENOSPC") if calls == "write" else ("EIO",):
            for when in range(1, PLACES_MAX):
                trace = os.path.join(top, "trace")
                done, found = b.run(["strace", "-f", "-qq", "-o", trace, "-e", "trace=" + calls, "-e", "inject=%s:error=%s:when=%d" % (calls, error, when), "-e", "signal=none"])
                wrong += ["%s %s %d: %s: %s" % (calls, error, when, found, done.stderr[:200])] if found else []
                refused += done.returncode in (125, 126) and not os.path.exists(b.mark)
                ran += os.path.exists(b.mark)
                with open(trace, encoding="utf-8", errors="replace") as f:
                    if "INJECTED" not in f.read():
                        break
            after = b.carrel("audit", "verify", "--json")
            wrong += ["%s %s: the log does not verify: %s" % (calls, error, after.stdout)] if after.returncode != 0 else []
    report("an error of each call at each place: nothing runs without a record, and the log verifies (%d refused, %d ran)" % (refused, ran), wrong[:10])
    check("  and many were refused", refused > 20 and ran > 10, refused, ran)
    check("  afterwards commands run", b.run()[0].returncode == 0 and os.path.exists(b.mark))


# -- names that lead elsewhere -------------------------------------------------------------------------------------------

def replaced(path, how, victim):
    """Puts something else in the place of a file of the log."""
    if os.path.lexists(path):
        os.rename(path, path + "-away") if how != "link to itself" else None
    if how == "FIFO":
        os.mkfifo(path, 0o600)
    elif how == "directory":
        os.mkdir(path, 0o700)
    elif how == "link":
        os.symlink(victim, path)
    elif how == "dangling link":
        os.symlink(victim + "-missing", path)
    elif how == "socket":
        import socket
        s = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(os.path.dirname(path))
        s.bind(os.path.basename(path))
        os.chdir(here)
        s.close()


def put_back(path):
    if os.path.lexists(path):
        shutil.rmtree(path) if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink(path)
    if os.path.lexists(path + "-away"):
        os.rename(path + "-away", path)


def other_names(top):
    b = Bench(top)
    b.run()
    names = os.listdir(b.folder)
    victim = os.path.join(top, "victim")
    wrong = []
    for name in (next(n for n in names if n.startswith("log-")), next(n for n in names if n.startswith("key-")), "checkpoint.seed", ".checkpoint.json.new", "checkpoint.json"):
        for how in ("FIFO", "directory", "link", "dangling link", "socket"):
            with open(victim, "w", encoding="ascii") as f:
                f.write("untouched\n")
            path = os.path.join(b.folder, name)
            replaced(path, how, victim)
            done, found = b.run()
            ran = os.path.exists(b.mark)
            # the checkpoint is replaced by its successor, whatever it was
            wrong += ["%s as %s: it ran" % (name, how)] if ran and name not in ("checkpoint.json", ".checkpoint.json.new") else []
            wrong += ["%s as %s: %s" % (name, how, found)] if found and (name.startswith("check") or found == "it hangs") else []
            wrong += ["%s as %s: no typed error: %s" % (name, how, done.stderr)] if not ran and "audit_" not in done.stderr else []
            with open(victim, encoding="ascii") as f:
                wrong += ["%s as %s: another file was written" % (name, how)] if f.read() != "untouched\n" or os.path.exists(victim + "-missing") else []
            if not (ran and name == "checkpoint.json"):
                put_back(path)
            elif os.path.lexists(path + "-away"):
                put_back(path + "-away")
            after = b.carrel("audit", "verify", "--json")
            wrong += ["%s as %s: afterwards %s" % (name, how, after.stdout)] if after.returncode != 0 else []
    report("a file of the log that is a FIFO, a directory, a socket or a link: nothing runs, or a record is there; no other file is written", wrong)
    elsewhere = os.path.join(top, "elsewhere")
    os.rename(b.folder, elsewhere)
    os.symlink(elsewhere, b.folder)
    report("the directory of the log as a link: refused", b.is_refused())
    os.unlink(b.folder)
    with open(b.folder, "w", encoding="ascii"):
        pass
    report("the directory of the log as a file: refused", b.is_refused())
    os.unlink(b.folder)
    os.rename(elsewhere, b.folder)
    report("a limit on the size of files: refused", [w for done, w in [b.run(["prlimit", "--fsize=10"])] if w or done.returncode == 0])
    check("  and then commands run", b.run()[0].returncode == 0 and b.carrel("audit", "verify").returncode == 0)


# -- the disk ------------------------------------------------------------------------------------------------------------

def on_disk(kind):
    """In a mount namespace of its own: the state directory is a small file system."""
    top = os.path.realpath(tempfile.mkdtemp(prefix="carrel-sink-"))
    b = Bench(top)
    mount = lambda *words: subprocess.run(["mount", *words], check=True)
    mount("-t", "tmpfs", "-o", "size=256k,nr_inodes=%d" % (12 if kind == "inodes" else 100), "none", b.state)
    b.run()
    filler = os.path.join(b.state, "filler")
    if kind == "space":
        with open(filler, "wb", buffering=0) as f:
            for size in (4096, 1):
                try:
                    while True:
                        f.write(b"x" * size)
                except OSError:
                    continue
    elif kind == "inodes":
        for i in range(100):
            try:
                open("%s%d" % (filler, i), "w", encoding="ascii").close()
            except OSError:
                break
    else:
        mount("-o", "remount,ro", b.state)
    found = []
    for _ in range(30):     # the last block of the log may have room for some entries
        done, wrong = b.run()
        found += [wrong] if wrong else []
        if done.returncode != 0:
            break
    report("%s: refused" % {"space": "a full disk", "inodes": "a disk without inodes", "readonly": "a read-only disk"}[kind], found + b.is_refused())
    if kind == "readonly":
        mount("-o", "remount,rw", b.state)
    else:
        for name in os.listdir(b.state):
            if name.startswith("filler"):
                os.unlink(os.path.join(b.state, name))
    check("  and then commands run, and the log verifies", b.run()[0].returncode == 0 and b.carrel("audit", "verify").returncode == 0)


def main():
    if len(sys.argv) > 1:
        on_disk(sys.argv[1])
        end()
        return
    top = os.path.realpath(tempfile.mkdtemp(prefix="carrel-sink-"))
    try:
        other_names(os.path.join(top, "names"))
        if os.getuid() != 0:
            report("errors of calls, and disks", skip="only root's strace reads the recorder, which is closed to debuggers, and only root mounts")
        else:
            errors(os.path.join(top, "errors"))
            for kind in ("space", "inodes", "readonly"):
                done = subprocess.run(["unshare", "-m", "--propagation", "private", sys.executable, os.path.abspath(__file__), kind], capture_output=True, text=True, timeout=PATIENCE, check=False)
                report("J08: %s, in a mount namespace of its own" % kind, [] if done.returncode == 0 else [done.stdout + done.stderr])
    finally:
        shutil.rmtree(top, ignore_errors=True)
    end()


if __name__ == "__main__":
    main()
