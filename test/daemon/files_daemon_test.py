#!/usr/bin/env python3
# slow: 30 s: a daemon's processes are killed and started again
"""files_daemon_test - every file that a command changes in a writable mount of a sandbox of the daemon is in
the log of its owner before the end of the command (P36): with one and several commands at a time, after a
kill of the daemon's processes, and for a sandbox that is stopped meanwhile.
"""
import hashlib
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, Workspace, check, end, until
from daemon_rig import Daemon

MOUNTS = ("mounts:\n  - {source: workspace, at: /workspace}\n"
          "  - source: {inline: {provider: carrel-volume, config: {name: kept}}}\n    at: /mnt/kept\n")
MANY = 10000
MAKING = "import os\nos.mkdir('m'); os.chdir('m')\nfor i in range(%d):\n    os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))" % MANY
# A process that the command leaves writes when it is told to, and then says that it has.
LEFT = "setsid sh -c 'while [ ! -e /tmp/go ]; do sleep 0.01; done; echo late > /workspace/late; touch /tmp/done' >/dev/null 2>&1 </dev/null &"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def settled(path):
    """What begins now, begins later than the clock tick in which this file was changed."""
    until("the clock has gone on", lambda: time.time() > os.stat(path).st_ctime + 0.1)


class Bench:
    def __init__(self, d, w, **fields):
        self.d, self.w = d, w
        self.box = d.must("POST", "/v1/sandboxes", {"workspace": w.path, "manifest": w.read("SANDBOX.md").decode(), **fields})["id"]
        self.seen = 0

    def entries(self):
        while True:
            try:
                return [e for e in audit_chain.entries(os.path.join(self.d.state, "audit", "uid:%d" % os.getuid())) if e["subject"]["ref"] == self.box]
            except json.JSONDecodeError:      # a line is being written
                continue

    def new(self, ends):
        """The entries since the last call, when so many ends are among them."""
        until("%d ends are recorded" % ends, lambda: [e["action"] for e in self.entries()[self.seen:]].count("exec.ended") >= ends)
        new = self.entries()[self.seen:]
        self.seen += len(new)
        return new

    def sh(self, script):
        """(rows that this command may have changed, the other rows, what is missing)"""
        number = self.d.exec(self.box, ["sh", "-c", script])["exec"]
        new = self.new(1)
        actions = [e["action"] for e in new if e["action"] in ("exec.started", "file.changed", "exec.ended")]
        check("  %s: entries of files between its start and its end" % script[:40].replace("\n", " "), actions[0] == "exec.started" and actions[-1] == "exec.ended"
              and set(actions[1:-1]) <= {"file.changed"}, actions)
        return split(new, number)


def split(entries, number=None):
    changed = [e["output"] for e in entries if e["action"] == "file.changed"]
    mine = {(r["event"], r["path"]): r for o in changed if "execs" in o and (number is None or o["execs"] == [number]) for r in o.get("events", [])}
    others = {(r["event"], r["path"]): r for o in changed if "execs" not in o for r in o.get("events", [])}
    return mine, others, [o for o in changed if "events" not in o]


def one_command(d):
    with Workspace(mounts=MOUNTS) as w:
        w.write("keep", "old")
        b = Bench(d, w)
        check("a command that changes nothing has no entry of files", b.sh("true") == ({}, {}, []))
        rows, others, rest = b.sh("echo x > made; cp -p keep /tmp/ref; printf NEW > keep; touch -r /tmp/ref keep; echo v > /mnt/kept/file; echo p > /tmp/private")
        check("a file that was made, one whose times were set back, and one in a volume", set(rows) == {("added", "/workspace/made"), ("changed", "/workspace/keep"), ("added", "/mnt/kept/file")}
              and rows[("changed", "/workspace/keep")]["sha256"] == digest(b"NEW") and not others and not rest, rows, others, rest)
        rows, _, _ = b.sh("mv made moved; rm keep; mkfifo fifo; ln -s /etc/shadow link; chmod 755 /mnt/kept/file")
        check("names that were moved, removed, made, a mode", set(rows) == {("removed", "/workspace/made"), ("added", "/workspace/moved"), ("removed", "/workspace/keep"),
              ("added", "/workspace/fifo"), ("added", "/workspace/link"), ("changed", "/mnt/kept/file")}, rows)
        settled(w.write("of-the-host", "x"))
        rows, others, _ = b.sh("rm moved")
        check("what a program of the host changed before has no command", set(rows) == {("removed", "/workspace/moved")} and set(others) == {("added", "/workspace/of-the-host")}, rows, others)
        b.sh(LEFT)
        d.exec(b.box, ["touch", "/tmp/go"])
        b.new(1)
        until("the process has written", lambda: os.path.exists(os.path.join(w.path, "late")))
        b.sh("true")
        found = [r["event"] for e in b.entries() if e["action"] == "file.changed" for r in e["output"].get("events", []) if r["path"] == "/workspace/late"]
        check("what a process wrote that a command left is found after a later command", found[:1] == ["added"], found)
        number = d.exec(b.box, ["python3", "-c", MAKING])["exec"]
        rows, _, rest = split(b.new(1), number)
        check("%d files: each has a row" % MANY, len(rows) == MANY + 1 and not rest, len(rows), rest)
        check("  in entries of bounded length", max(len(json.dumps(e)) for e in b.entries()) < 64 << 10)


def several_commands(d):
    with Workspace() as w:
        b = Bench(d, w)
        long = d.exec(b.box, ["sh", "-c", "echo 1 > one; while [ ! -e stop ]; do sleep 0.01; done"], background=True)["exec"]
        until("it runs", lambda: os.path.exists(os.path.join(w.path, "one")))
        short = d.exec(b.box, ["sh", "-c", "echo 2 > two"])["exec"]
        new = b.new(1)
        both = [e["output"] for e in new if e["action"] == "file.changed"]
        check("what changed while two commands ran is recorded with both numbers", both and all(sorted(o["execs"]) == [long, short] for o in both)
              and {r["path"] for o in both for r in o["events"]} == {"/workspace/one", "/workspace/two"}, both)
        check("  when the first of them has ended", [e["input"]["exec"] for e in new if e["action"] == "exec.ended"] == [short], new[-1])
        w.write("stop", "")
        rows = split(b.new(1), long)[0]
        check("  and later changes with the number of the other", set(rows) <= {("added", "/workspace/stop")}, rows)
        numbers = [d.exec(b.box, ["sh", "-c", "echo %d > f%d" % (i, i)], background=True)["exec"] for i in range(20)]
        new = b.new(20)
        found = collections.defaultdict(set)             # two looks may find a file: while it is written, and after
        for o in (e["output"] for e in new if e["action"] == "file.changed"):
            for r in o.get("events", []):
                found[r["path"]].update(o.get("execs", []))
        check("of 20 commands in a row each file is recorded, with its command among others", all(n in found["/workspace/f%d" % i] for i, n in enumerate(numbers)), new)


def forks_of(pid):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % entry, encoding="utf-8", errors="replace") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:
            continue                                    # it has ended
        if status["PPid"] == str(pid):
            found.append(status)
    return found


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(child) for child in f.read().split()]


def kills(d):
    with Workspace() as w:
        b = Bench(d, w)
        b.sh("echo 1 > before")
        looks = forks_of(d.children()["carrel-files"])
        check("each process that reads a sandbox's files has a filter of system calls", looks and {s["Seccomp"] for s in looks} == {"2"}, looks)
        for victim in ("carrel-keeper", "carrel-recorder", "carrel-files"):
            number = d.exec(b.box, ["sh", "-c", "echo x > during-%s; while [ ! -e go-%s ]; do sleep 0.01; done; rm before; echo y > after-%s" % (victim, victim, victim)], background=True)["exec"]
            until("it runs", lambda victim=victim: os.path.exists(os.path.join(w.path, "during-" + victim)))
            d.restart_parts(lambda victim=victim: os.kill(d.children()[victim], signal.SIGKILL))
            w.write("go-" + victim, "")
            rows, _, rest = split(b.new(1), number)
            check("%s is killed while a command runs: what it wrote before and after is recorded by the next" % victim, {("changed", "/workspace/during-" + victim), ("changed", "/workspace/after-" + victim)}
                  <= set(rows), rows, rest)
            check("  and that nothing is known of the time before", {"base": "unknown", "execs": [number]} in rest, rest)
            w.write("before", "1")
            b.sh("true")
        rows, _, rest = b.sh("rm before")
        check("after that, removals are seen again", set(rows) == {("removed", "/workspace/before")} and not rest, rows, rest)
        w.write("before", "1")
        b.sh("true")
        for reader in children(d.children()["carrel-files"]):
            os.kill(reader, signal.SIGKILL)
        until("it has ended", lambda: not children(d.children()["carrel-files"]))
        rows, _, rest = b.sh("echo x > made")
        check("the process that looks is killed: the next command has another one, which knows no base", ("changed", "/workspace/made") in rows and {r.get("base") for r in rest} == {"unknown"}, rows, rest)
        rows, _, rest = b.sh("rm before")
        check("and the one after that has its base", set(rows) == {("removed", "/workspace/before")} and not rest, rows, rest)
        os.rename(w.path, w.path + ".old")
        os.mkdir(w.path)
        d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
        _, _, rest = b.sh("true")
        check("a path that leads to another directory by then is not looked at, and said so", rest and rest[0]["error"] == "not_watched", rest)
        os.rmdir(w.path)
        os.rename(w.path + ".old", w.path)


def stopped(d):
    with Workspace() as w:
        b = Bench(d, w)
        d.exec(b.box, ["sh", "-c", "echo x > last; exec sleep 1000"], background=True)
        until("it runs", lambda: os.path.exists(os.path.join(w.path, "last")))
        d.must("DELETE", "/v1/sandboxes/" + b.box)
        until("what it changed is recorded", lambda: ("added", "/workspace/last") in split(b.entries())[0])
        new = b.new(1)
        check("a sandbox that is stopped: what its command changed is recorded", ("added", "/workspace/last") in split(new)[0], new)
        verify = subprocess.run([CARREL, "audit", "verify", "--state", d.state], capture_output=True, text=True, check=False)
        check("the log verifies", verify.returncode == 0, verify)


def switched_off():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f, Workspace() as w:
        f.write("audit_files: false\nproviders: {local: {isolated: true, mounts: true}}\n")
        f.flush()
        with Daemon("--host", f.name) as d:
            b = Bench(d, w)
            check("audit_files: false turns them off", b.sh("echo x > made") == ({}, {}, []))


def main():
    with Daemon() as d:
        one_command(d)
        several_commands(d)
        kills(d)
        stopped(d)
    switched_off()


if __name__ == "__main__":
    main()
    end()
