#!/usr/bin/env python3
"""audit_hidden_test - `carrel run` where the workspace contains the state directory: a home. Inside,
the audit log and its keys cannot be read, changed, moved or replaced (P30, J05).

Every attempt is one line of Python inside; then the files outside are compared, and the log still
verifies. With the mask switched off (a build with test switches), the same attempts succeed.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: %s%s}]\n---\n"
ATTACK = r'''
import ctypes, json, os, subprocess, sys
home = sys.argv[1]
state = os.path.join(home, ".local/state/carrel")
got = []
def tried(name, call, *words):
    try:
        if call(*words):
            got.append(name)
    except OSError:
        pass
def read_any(top):
    return [os.path.join(at, f) for at, _, files in os.walk(top) for f in files if f.startswith(("key-", "log-", "checkpoint"))]
def beneath(path):
    fd = os.open(os.path.join(home, ".local"), os.O_RDONLY)
    return os.listdir(os.open(path, os.O_RDONLY, dir_fd=fd))
def mounts():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.umount2(state.encode(), 2) == 0 or libc.unshare(0x10020000) == 0 and libc.umount2(state.encode(), 2) == 0
tried("list", lambda: os.listdir(state))
tried("walk", read_any, home)
tried("proc root", read_any, "/proc/self/root" + state)
tried("proc cwd", lambda: (os.chdir(home), read_any("/proc/self/cwd/.local/state/carrel"))[1])
tried("beneath", beneath, "state/carrel")
tried("create", lambda: os.mkdir(state + "/audit") is None)
tried("write", lambda: os.open(state + "/x", os.O_CREAT | os.O_WRONLY) >= 0)
tried("link in", lambda: os.link(home + "/SANDBOX.md", state + "/x") is None)
tried("rename", lambda: os.rename(state, state + "-away") is None)
tried("rename parent", lambda: os.rename(home + "/.local/state", home + "/.local/away") is None)
tried("rename grandparent", lambda: os.rename(home + "/.local", home + "/away") is None)
tried("replace", lambda: os.rmdir(state) is None)
def exchange():
    os.makedirs(home + "/mine/state/carrel/audit", exist_ok=True)
    return ctypes.CDLL(None).renameat2(-100, (home + "/mine").encode(), -100, (home + "/.local").encode(), 2) == 0
tried("exchange", exchange)
tried("remove", lambda: subprocess.run(["rm", "-rf", home + "/.local"], stderr=subprocess.DEVNULL) and not os.path.exists(state))
tried("chmod", lambda: os.chmod(state, 0o777) is None)
tried("unmount", mounts)
tried("bind", lambda: subprocess.run(["mount", "--bind", home, "/tmp"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode == 0)
print(json.dumps(got))
'''


class Home:
    """A home that is its own workspace, with a log."""

    def __init__(self):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="carrel-home-", dir="/var/tmp"))
        self.state = os.path.join(self.path, ".local", "state", "carrel")
        self.log = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        self.env = {k: v for k, v in os.environ.items() if k not in ("XDG_STATE_HOME", "CARREL_STATE")} | {"HOME": self.path, "CARREL_STATE": self.state}

    def run(self, *words, at="/workspace", more="", program=CARREL, env=None):
        with open(os.path.join(self.path, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % (at, more))
        return subprocess.run([program, *words], env={**self.env, **(env or {})}, cwd=self.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def attack(self, *words, at="/workspace", **rest):
        a = self.run("run", *words, "--", "python3", "-c", ATTACK, at, at=at, **rest)
        return (json.loads(a.stdout), a) if a.returncode == 0 else (None, a)

    def files(self):
        out = {}
        for where, _, names in os.walk(self.state):
            for name in names:
                with open(os.path.join(where, name), "rb") as f:
                    out[os.path.join(where, name)] = hashlib.sha256(f.read()).hexdigest()
        return out


def main():
    h = Home()
    try:
        a = h.run("run", "--", "sh", "-c", "ls -A .local/state/carrel | wc -l; mkdir -p .local/state/carrel/audit/x || echo refused")
        check("before there is a log, its place is empty inside, and cannot be filled", a.stdout == "0\nrefused\n" and os.listdir(h.state) == [], a.stdout, a.stderr, os.listdir(h.state))
        a = h.run("run", "--audit", "--", "true")
        check("a home as workspace runs with --audit", a.returncode == 0 and os.path.exists(h.log), a.stderr)
        before = h.files()
        for words, what in (((), "without --audit"), (("--audit",), "with --audit")):
            for at in ("/workspace", "/srv/deep/down"):
                got, a = h.attack(*words, at=at)
                check("%s, mounted at %s: nothing of the log is read, changed or moved" % (what, at), got == [], got, a.stderr)
        got, a = h.attack(more=", mode: read-only")
        check("a read-only mount of the home neither", got == [], got, a.stderr)
        now = h.files()
        grown = {n for n in before if before[n] != now.get(n)}
        check("every file outside is there, and only the log has grown", all(os.path.basename(n).startswith(("log-", "checkpoint")) for n in grown) and set(before) <= set(now), grown, set(before) - set(now))
        a = h.run("audit", "verify")
        check("and it verifies", a.returncode == 0, a.stdout, a.stderr)
        for inner in (h.state, h.log, os.path.dirname(h.log)):
            a = h.run("run", "-f", os.path.join(h.path, "SANDBOX.md"), "-w", inner, "--", "ls")
            check("the log's own directory as workspace is refused: " + os.path.relpath(inner, h.path), a.returncode == 126 and "holds_state" in a.stderr, a.stdout, a.stderr)
        switches = os.environ.get("CARREL_SWITCHES")
        if switches and os.path.exists(switches):
            got, a = h.attack(program=switches, env={"CARREL_TEST_DISABLE": "mask"})
            check("with the mask off, the same attempts read the log and its keys", got and "walk" in got and "list" in got, got, a.stderr)
    finally:
        shutil.rmtree(h.path, ignore_errors=True)
        shutil.rmtree(h.path, ignore_errors=True)
    end()


if __name__ == "__main__":
    main()
