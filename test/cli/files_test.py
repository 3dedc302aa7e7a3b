#!/usr/bin/env python3
"""files_test - every file that a command changes in a writable mount is in the audit log of `carrel run
--audit`, with path and digest, whatever the command does to times, names and kinds (P36).
"""
import hashlib
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, Workspace, check, end, until

MANY = 10000
MOUNTS = ("mounts:\n  - {source: workspace, at: /workspace}\n"
          "  - source: {inline: {provider: carrel-volume, config: {name: kept}}}\n    at: /mnt/kept\n")
# the size stays, and mtime is that of another file
SAME = "cp -p keep /tmp/ref; printf NEW > keep; touch -r /tmp/ref keep"
SOCKET = "import os, socket; socket.socket(socket.AF_UNIX).bind('socket'); os.mkfifo('fifo')"
DEEP = "import os\nfor i in range(200):\n    os.mkdir('d'); os.chdir('d')\n"
SPARSE = "import os\nf = os.open('sparse', os.O_CREAT | os.O_WRONLY); os.ftruncate(f, 1 << 40)"
# the command ends, and another process writes until everything is killed
OPEN = ("import os, time\nf = open('open', 'w'); f.write('first'); f.flush()\nif os.fork() == 0:\n    os.setsid()\n"
        "    while True: f.write('x'); f.flush()\n")


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Bench:
    def __init__(self, w):
        self.w = w
        self.state = os.path.join(w.folder, "state")
        self.env = {**os.environ, "CARREL_STATE": self.state}
        self.last = -1

    def entries(self):
        return list(audit_chain.entries(os.path.join(self.state, "audit", "uid:%d" % os.getuid())))

    def run(self, *command, **more):
        """The rows of this command, and its other entries of changed files."""
        done = subprocess.run([CARREL, "run", "--audit", "-w", self.w.path, "--", *command], env=self.env, capture_output=True, check=False,
                              text=True, timeout=120, **more)
        new = [e for e in self.entries() if e["seq"] > self.last]
        self.last = new[-1]["seq"]
        actions = [e["action"] for e in new]
        check("  %s: entries of files before its end" % command[-1][:40].replace("\n", " "), actions[-1] == "exec.ended" and "exec.started" in actions[:2],
              actions, done.stderr)
        changed = [e["output"] for e in new if e["action"] == "file.changed"]
        rows = [r for o in changed for r in o.get("events", [])]
        return {(r["event"], r["path"]): r for r in rows}, [{k: v for k, v in o.items() if k != "events"} for o in changed if "events" not in o]

    def sh(self, script):
        return self.run("sh", "-c", script)


def kinds(b):
    w = b.w
    w.write("keep", "old")
    w.write("gone", "x")
    w.write("mode", "x")
    os.mkdir(os.path.join(w.path, "tree"))
    w.write("tree/leaf", "leaf")
    rows, rest = b.sh("true")
    check("a command that changes nothing has no entry of files", not rows and not rest, rows, rest)
    rows, rest = b.sh("echo made > made; mkdir dir; echo x > dir/in; chmod 600 mode; rm gone; mv tree wood; ln -s /etc/shadow link")
    check("files that were made, with size and SHA-256", rows[("added", "/workspace/made")]["sha256"] == digest(b"made\n")
          and rows[("added", "/workspace/made")]["bytes"] == 5 and rows[("added", "/workspace/dir/in")]["sha256"] == digest(b"x\n"), rows)
    check("  and the directory", rows[("added", "/workspace/dir")]["kind"] == "directory", rows)
    check("a file whose mode alone changed", rows[("changed", "/workspace/mode")]["mode"] == "0600", rows)
    check("a file that was removed", rows[("removed", "/workspace/gone")]["kind"] == "file", rows)
    check("a tree that was moved: each name of it", {("removed", "/workspace/tree"), ("removed", "/workspace/tree/leaf"), ("added", "/workspace/wood")} <= set(rows)
          and rows[("added", "/workspace/wood/leaf")]["sha256"] == digest(b"leaf"), rows)
    check("a link: its target, which is not read", rows[("added", "/workspace/link")]["target"] == "/etc/shadow" and "sha256" not in rows[("added", "/workspace/link")], rows)
    check("  and nothing else", len(rows) == 10 and not rest, rows, rest)
    rows, _ = b.sh(SAME)
    check("a content of the same size with its old times", rows[("changed", "/workspace/keep")]["sha256"] == digest(b"NEW") and len(rows) == 1, rows)
    check("  which has them", os.stat(os.path.join(w.path, "keep")).st_mtime < os.stat(os.path.join(w.path, "keep")).st_ctime)
    rows, _ = b.sh("mv keep kept")
    check("a renamed file: both names", set(rows) == {("removed", "/workspace/keep"), ("added", "/workspace/kept")}, rows)
    rows, _ = b.run("python3", "-c", SOCKET)
    check("a FIFO and a socket are named, and not opened", rows[("added", "/workspace/fifo")]["kind"] == "fifo" and rows[("added", "/workspace/socket")]["kind"] == "socket", rows)
    rows, _ = b.sh("printf x > \"$(printf 'a\\377b')\"; printf y > 'token=ghp_0123456789abcdefghij0123456789abcdef'; printf z > café")
    check("a name that is no text keeps its bytes", ("added", "$'/workspace/a\\xffb'") in rows and ("added", "/workspace/café") in rows, rows)
    check("  and a secret in a name is removed", "ghp_0123" not in json.dumps(b.entries()) and any("[redacted:" in path for _, path in rows), rows)
    rows, _ = b.sh("echo v > /mnt/kept/file; echo x > /tmp/private")
    check("a file in a volume", rows[("added", "/mnt/kept/file")]["sha256"] == digest(b"v\n") and len(rows) == 1, rows)
    rows, _ = b.sh("rm /mnt/kept/file")
    check("  which is removed by a later sandbox", set(rows) == {("removed", "/mnt/kept/file")}, rows)


def bounds(b):
    rows, rest = b.run("python3", "-c", "import os\nos.mkdir('m'); os.chdir('m')\nfor i in range(%d):\n    os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))" % MANY)
    check("%d files: each has a row" % MANY, len(rows) == MANY + 1 and not rest, len(rows), rest)
    rows, _ = b.sh("rm -r m")
    check("  and when they are removed", len(rows) == MANY + 1 and all(event == "removed" for event, _ in rows), len(rows))
    rows, _ = b.run("python3", "-c", SPARSE)
    check("of a file of 1 TiB only the size is recorded", rows[("added", "/workspace/sparse")]["error"] == "too_large" and "sha256" not in rows[("added", "/workspace/sparse")]
          and rows[("added", "/workspace/sparse")]["bytes"] == 1 << 40, rows)
    rows, rest = b.run("python3", "-c", DEEP)
    check("directories that are too deep are said to be cut off", rest == [{"truncated": ["depth"]}] and 100 < len(rows) < 200, rest, len(rows))
    rows, _ = b.sh("rm -r d; mkdir closed; echo x > closed/in; chmod 000 closed")
    check("a directory that its owner closed", rows[("added", "/workspace/closed")]["mode"] == "0000", rows)
    check("  as root what is in it, otherwise that it cannot be read", ("added", "/workspace/closed/in") in rows if os.getuid() == 0 else
          rows[("changed", "/workspace/closed")]["error"] == "unreadable", rows)
    os.chmod(os.path.join(b.w.path, "closed"), 0o755)


def endings(b):
    rows, _ = b.run("python3", "-c", OPEN)
    check("a process that the command leaves is killed before the look: the digest is of what remains", rows[("added", "/workspace/open")]["sha256"]
          == digest(open(os.path.join(b.w.path, "open"), "rb").read()), rows)
    rows, _ = b.sh("echo x > last; kill -9 $$")
    check("a command that was killed", rows[("added", "/workspace/last")]["sha256"] == digest(b"x\n"), rows)
    child = subprocess.Popen([CARREL, "run", "--audit", "-w", b.w.path, "--", "sh", "-c", "echo x > unseen; exec sleep 1000"], env=b.env, stderr=subprocess.DEVNULL)
    until("the command runs", lambda: os.path.exists(os.path.join(b.w.path, "unseen")))
    child.send_signal(signal.SIGKILL)
    child.wait()
    until("its end is recorded", lambda: b.entries()[-1]["action"] == "exec.ended")
    new = [e for e in b.entries() if e["seq"] > b.last]
    check("carrel is killed: the outcome is lost, and there is no entry of files", new[-1]["output"]["outcome"] == "lost" and "file.changed" not in [e["action"] for e in new], new)
    b.last = new[-1]["seq"]
    tail = subprocess.run([CARREL, "audit", "tail", "-n", "100", "--action", "file."], env=b.env, capture_output=True, text=True, check=False).stdout
    check("`carrel audit tail` shows what happened to which file", "removed  /mnt/kept/file" in tail and "added    /workspace/last" in tail, tail[-2000:])
    done = subprocess.run([CARREL, "audit", "verify"], env=b.env, capture_output=True, text=True, check=False)
    check("the log verifies", done.returncode == 0, done)


def the_log_itself():
    """The state directory is in the workspace: the sandbox sees it empty."""
    with Workspace() as w:
        b = Bench(w)
        b.state = os.path.join(w.path, "state")
        b.env["CARREL_STATE"] = b.state
        b.sh("true")
        rows, _ = b.sh("echo x > other")
        check("files of a state directory in the workspace are not its changes", set(rows) == {("added", "/workspace/other")}, rows)


def main():
    with Workspace(mounts=MOUNTS) as w:
        b = Bench(w)
        kinds(b)
        bounds(b)
        endings(b)
    the_log_itself()


if __name__ == "__main__":
    main()
    end()
