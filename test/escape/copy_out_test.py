#!/usr/bin/env python3
"""B23: `carrel cp` out of a sandbox writes only below the path on the command line, whatever links
the payload has created. TAP.
"""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, Workspace, check, end, need_programs
from daemon_rig import Daemon

# A directory in the sandbox | a link in it, and its target | whether it may be copied out
LINKS = [
    ("ordinary", "l", "f", True), ("within", "a/l", "../f", True), ("deep", "a/b/l", "../../f", True), ("by a name", "l", "a/b/f", True), ("by a dot", "l", "./a/./b", True),
    ("absolute", "l", "/etc/passwd", False), ("out", "l", "../CANARY", False), ("out, from below", "a/l", "../../CANARY", False),
    ("climbs through a name", "l", "a/b/../../../CANARY", False), ("climbs through a name and back", "l", "a/../f", False),
    ("empty but for dots", "l", "./../CANARY", False),
]
# Each stays inside by its text; together they lead out.
CHAINS = [
    ("two", {"a/b/up": "../..", "l": "a/b/up/../CANARY"}), ("three", {"a/b/up": "../..", "m": "a/b/up", "l": "m/../CANARY"}),
    ("to a directory", {"a/up": "..", "a/l": "up/../CANARY"}),
]


def carrel(d, *words):
    return subprocess.run([CARREL, *words], env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=ALWAYS, check=False)


def make(d, name, links):
    script = "mkdir -p /tmp/%s/a/b && cd /tmp/%s && echo in > f && echo in > a/b/f" % (name, name)
    done = carrel(d, "exec", "one", "--", "sh", "-c", " && ".join([script] + ["ln -s '%s' '%s'" % (to, at) for at, to in links.items()]))
    assert done.returncode == 0, done
    return "one:/tmp/" + name


def links(d, ws):
    out = os.path.join(ws.folder, "out")
    os.mkdir(out)
    with open(os.path.join(out, "CANARY"), "w", encoding="ascii") as f:
        f.write("canary")
    for i, (name, at, to, may) in enumerate(LINKS):
        done = carrel(d, "cp", make(d, "links%d" % i, {at: to}), out)
        path = os.path.join(out, "links%d" % i, at)
        check("B23: a link (%s) %s" % (name, "comes out as it is" if may else "is left out and named"), done.returncode == 0 and
              (os.path.islink(path) and os.readlink(path) == to if may else not os.path.lexists(path) and at.encode() in done.stderr), done)
    for i, (name, chain) in enumerate(CHAINS):
        carrel(d, "cp", make(d, "chain%d" % i, chain), out)
        top = os.path.realpath(os.path.join(out, "chain%d" % i))
        leads = [p for base, dirs, files in os.walk(top) for p in (os.path.realpath(os.path.join(base, n)) for n in dirs + files) if not p.startswith(top)]
        check("B23: no chain of links (%s) leads out of the copy" % name, not leads, leads)


def planted(d, ws):
    """The target of the copy is the workspace, in which the payload created the name before."""
    home = os.path.join(ws.folder, "home")
    os.mkdir(home)
    with open(os.path.join(home, "file"), "w", encoding="ascii") as f:
        f.write("mine")
    make(d, "tree", {})
    carrel(d, "exec", "one", "--", "sh", "-c", "echo theirs > /tmp/file; ln -s %s /workspace/tree; ln -s %s/file /workspace/file; mkfifo /workspace/fifo; echo x > /tmp/fifo; "
           "ln -s /dev/null /workspace/null; echo x > /tmp/null" % (home, home))
    done = carrel(d, "cp", "one:/tmp/tree", ws.path)
    check("B23: a planted link is no directory to copy into", done.returncode != 0 and os.listdir(home) == ["file"], done, os.listdir(home))
    done = carrel(d, "cp", "one:/tmp/file", ws.path)
    with open(os.path.join(home, "file"), encoding="ascii") as f:
        kept = f.read()
    check("B23: a planted link is replaced by the file, and what it led to stays", done.returncode == 0 and kept == "mine" and
          not os.path.islink(os.path.join(ws.path, "file")) and ws.read("file") == b"theirs\n", done, kept)
    done = carrel(d, "cp", "one:/tmp/null", ws.path)
    check("B23: a planted link to a device is replaced as well", done.returncode == 0 and stat.S_ISREG(os.lstat(os.path.join(ws.path, "null")).st_mode), done)
    done = carrel(d, "cp", "one:/tmp/fifo", ws.path)
    check("B23: a planted FIFO is not written to", done.returncode != 0 and stat.S_ISFIFO(os.lstat(os.path.join(ws.path, "fifo")).st_mode), done)
    typed = os.path.join(ws.folder, "typed")
    os.symlink(home, typed)
    done = carrel(d, "cp", "one:/tmp/tree", typed)
    check("B23: (control) a link that was typed is followed", done.returncode == 0 and sorted(os.listdir(home)) == ["file", "tree"], done)


if __name__ == "__main__":
    need_programs()
    with Workspace() as ws, Daemon() as d:
        done = carrel(d, "create", "--name", "one", "-w", ws.path)
        assert done.returncode == 0, done
        links(d, ws)
        planted(d, ws)
        carrel(d, "stop", "one")
    end()
