#!/usr/bin/env python3
"""left_behind_test - what commands of a living sandbox left in a workspace for programs of the host is in its record, and the command line prints it: once by exec, all of it by info, the rest by stop."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, Workspace, check, end, until
from daemon_rig import Daemon
from python_rig import SDK

GIT = ('git() { command git -c safe.directory=* -c user.name=a -c user.email=a@b -c init.defaultBranch=main "$@"; }\n'
       'evil() { git init -q "$1"; git -C "$1" config core.fsmonitor evil; }\n')
LISTED = 32          # src/base/numbers.h: the first 16 and the last 16
SEARCHED = 16        # src/maker/survey.h: SURVEY_REPORTS_MAX


class Living:
    """A sandbox with a workspace, used from the command line."""

    def __init__(self, d, ws, name):
        self.d, self.ws, self.name = d, ws, name
        self.id = d.must("POST", "/v1/sandboxes", {"name": name, "workspace": ws.path, "manifest": ws.read("SANDBOX.md").decode(), "start": True})["id"]

    def carrel(self, command, *words):
        return subprocess.run([CARREL, command, "--state", self.d.state, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)

    def sh(self, script, *options):
        return self.carrel("exec", *options, self.name, "--", "sh", "-c", GIT + script)

    def record(self):
        return self.d.must("GET", "/v1/sandboxes/" + self.id)

    def left(self):
        return self.record().get("left_behind", [])

    def total(self):
        record = self.record()
        return len(record.get("left_behind", [])) + record.get("left_behind_more", 0)

    def wait(self, name):
        """Until the search after the last command has reported it."""
        path = os.path.join(self.ws.path, name)
        until(name + " is found", lambda: any(l["host_path"] == path for l in self.left()))
        return next(l for l in self.left() if l["host_path"] == path)


def lines(done):
    return [line for line in done.stderr.decode().splitlines() if line.startswith("carrel: ")]


def mcp(d, name, arguments):
    return d.must("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
                  headers={"Accept": "application/json, text/event-stream"})["result"]


def record(box):
    box.sh("evil one")
    got = box.wait("one/.git")
    check("the record of a sandbox has what a command left, when the search has ended",
          (got["what"], got["reason"], got["shown"]) == ("repository", "core.fsmonitor", False) and got["at_ms"] > 0 and got["message"].startswith(got["host_path"] + " is a repository"), got)
    listed = [s for s in box.d.must("GET", "/v1/sandboxes")["items"] if s["id"] == box.id]
    check("  and so has a list", listed[0].get("left_behind") == box.left(), listed)
    tool = mcp(box.d, "sandbox_get", {"sandbox_id": box.id})["structuredContent"]
    check("  and the tool sandbox_get of MCP", tool.get("left_behind") == box.left(), tool)
    info = box.carrel("info", "--json", box.name)
    check("  and carrel info --json", json.loads(info.stdout).get("left_behind") == box.left(), info)
    python = subprocess.run([sys.executable, "-c", "import carrel, sys\nprint([l.host_path for l in carrel.Carrel(state=sys.argv[1]).get(sys.argv[2]).info.left_behind])", box.d.state, box.id],
                            env={**os.environ, "PYTHONPATH": SDK}, capture_output=True, timeout=PATIENCE, check=False)
    check("  and the client for Python", got["host_path"] in python.stdout.decode(), python)
    said = lines(box.carrel("info", box.name))
    check("  and carrel info, as a line for people", said == ["carrel: " + got["message"]], said)


def same_words(box):
    with Workspace() as other:
        done = other.sh(GIT + "evil one")
        said = [line.replace(other.path, box.ws.path) for line in lines(done)]
        check("carrel run prints the same line", said == ["carrel: " + box.left()[0]["message"]], said, done)


def shown_once(box):
    said = [lines(box.sh("true")), lines(box.sh("true"))]
    check("the next exec prints it, once", said[0] == ["carrel: " + box.left()[0]["message"]] and said[1] == [], said)
    check("  and the record says so", box.left()[0]["shown"] is True, box.left())
    # on a busy machine the search may have ended before the command's own exec prints
    first = json.loads(box.sh("evil two", "--json").stdout)
    box.wait("two/.git")
    got = json.loads(box.sh("true", "--json").stdout)
    check("exec --json has only what is new", [l["host_path"] for x in (first, got) for l in x.get("left_behind", [])] == [box.ws.path + "/two/.git"], first, got)
    got = json.loads(box.sh("true", "--json").stdout)
    check("  and no member where nothing is", "left_behind" not in got, got)


def at_once(box):
    """A name at the top is moved while the command runs, so that its own exec prints it."""
    done = box.sh("echo evil >.envrc; while [ -e .envrc ]; do sleep 0.01; done")
    got = box.left()[-1]
    check("what is known when a command ends is printed at its end", lines(done) == ["carrel: " + got["message"]] and got["what"] == "moved" and os.path.exists(got["kept_at"]) and
          "Take it back with: mv " in got["message"], done, got)


def restart(box):
    before = box.left()
    box.d.restart_parts(lambda: os.kill(box.d.children()["carrel-keeper"], signal.SIGKILL))
    until("the keeper has met its box", lambda: box.record()["status"] == "running")
    check("a restart of the keeper loses nothing of it, nor that it was shown", box.left() == before and len(before) == 3, before, box.left())
    said = lines(box.sh("true"))
    check("  and the next exec repeats nothing", said == [], said, box.left())


def stop(d):
    with Workspace() as ws:
        box = Living(d, ws, "stopped")
        box.sh("evil one")
        box.wait("one/.git")
        box.sh("true")
        box.sh("(while [ ! -e go ]; do sleep 0.02; done; evil two; touch done; exec sleep 1000) >/dev/null 2>&1 </dev/null &")
        ws.write("go", "")
        until("it wrote", lambda: os.path.exists(ws.path + "/done"))
        said = lines(box.carrel("stop", box.name))
        check("stop searches, and prints what exec did not", len(said) == 1 and said[0].startswith("carrel: %s/two/.git is a repository" % ws.path), said)
    with Workspace() as ws:
        box = Living(d, ws, "deleted")
        box.sh("evil one")
        got = d.must("DELETE", "/v1/sandboxes/" + box.id)
        check("DELETE answers with it", got["existed"] is True and [l["host_path"] for l in got.get("left_behind", [])] == [ws.path + "/one/.git"], got)
        check("  and with nothing where there is nothing", d.must("DELETE", "/v1/sandboxes/" + d.create()) == {"existed": True})
        again = box.carrel("stop", "--json", box.id)
        check("  nor where there is no sandbox", json.loads(again.stdout) == {"id": box.id, "existed": False}, again)


def twice(d):
    """A search that meets another command is repeated after it, and finds the same again."""
    with Workspace() as ws:
        box = Living(d, ws, "twice")

        def is_found(name):
            return any(l["host_path"] == os.path.join(ws.path, name) for l in box.left()) or box.carrel("exec", "-d", box.name, "--", "true").returncode != 0

        printed = []
        for name in ("one", "two", "three", "four", "five", "six"):
            printed += lines(box.sh("evil " + name))
            until(name + " is found", lambda name=name: is_found(name + "/.git"))
        said = lines(box.carrel("info", box.name))
        check("what a repeated search found is in the record once", len(box.left()) == 6 and box.total() == 6, box.left())
        tool = mcp(d, "sandbox_get", {"sandbox_id": box.id})["structuredContent"]
        check("  and in the tool of MCP", tool.get("left_behind") == box.left(), tool)
        check("  and no exec prints it again", len(printed) == len(set(printed)), printed)
        check("  and info prints each line once", len(said) == 6 and len(set(said)) == 6, said, box.left())

        def reasons():
            return [l.get("reason") for l in box.left() if l["host_path"] == ws.path + "/seven/.git"]

        box.sh("git init -q seven")
        until("it is found", reasons)
        box.sh("evil seven")
        until("it is found again", lambda: reasons()[-1] == "core.fsmonitor")
        check("a repository that is found again in another state is listed once, as it is now", reasons() == ["core.fsmonitor"] and box.total() == 7, box.left())
        d.must("DELETE", "/v1/sandboxes/" + box.id)


def strict(d):
    """The sandbox is killed: its record remains, failed."""
    with Workspace(carrel="protect: strict") as ws:
        box = Living(d, ws, "strict")
        box.sh("echo evil >.envrc; sleep 1000")
        until("it has failed", lambda: box.record()["status"] == "failed")
        check("a sandbox that a rule ended has it too", [l["what"] for l in box.left()] == ["refused"], box.record())
        d.must("DELETE", "/v1/sandboxes/" + box.id)


ODD = r"""
import os, subprocess, sys
names = [b"\x1b]0;owned\x07", b"a\nb\n", b"\xff\xfe", "\u202egpj".encode(), b"'; touch evil; '", b"x" * 255, "\u00e4".encode() * 127, b"\x80" * 255, b"\x7f\r\t", b"$(id)`id`"]
for i in range(int(sys.argv[1]), int(sys.argv[2])):
    # the longest paths are cut in the middle of a character
    path = b"/".join([b"n%04d" % i] + [names[(i + k) % len(names)] for k in range(3)])
    os.makedirs(path + b"/.git/hooks")
    for file, text in ((b"HEAD", b"ref: refs/heads/main\n"), (b"config", b"[core]\n\tfsmonitor = evil\n[alias \"\x1b[2J\xff\"]\n\tx = !evil\n")):
        with open(path + b"/.git/" + file, "wb") as f:
            f.write(text)
    for name in (b"objects", b"refs"):
        os.mkdir(path + b"/.git/" + name)
"""


def flood(d):
    with Workspace() as ws:
        ws.write("odd.py", ODD)
        box = Living(d, ws, "flood")
        # a search reports SEARCHED repositories, and that there are more
        for turn, count in enumerate((20, 20, 20, 400), 1):
            done = box.carrel("exec", box.name, "--", "python3", "odd.py", str(turn * 1000), str(turn * 1000 + count))
            done.check_returncode()
            check("an exec after a flood is short, and safe on a terminal", len(lines(done)) <= LISTED + 1 and not set(done.stderr.decode()) & set(map(chr, range(0x20))) - {"\n"}, done.stderr[:2000])
            until("the search has ended", lambda want=turn * (SEARCHED + 1): box.total() >= want)
        raw = d.call("GET", "/v1/sandboxes/" + box.id).body
        got = json.loads(raw.decode())
        left, more = got["left_behind"], got["left_behind_more"]
        check("a flood is bounded, and counted", len(left) <= LISTED and len(left) + more == 4 * (SEARCHED + 1) and len(raw) < 200000, len(left), more, len(raw))
        check("  what was found first is still there", left[0]["host_path"].startswith(ws.path + "/n1") or "/n1" in left[0]["host_path"], left[0])
        check("  as valid UTF-8 without a control byte", not set(raw) & set(range(0x20)), raw[:500])
        check("  every command is whole where it is listed", all(l["message"].count("Look at it with: cat -v '") == 1 for l in left if l["what"] == "repository"), left)
        done = box.carrel("info", box.name)
        check("  and safe on a terminal", not set(done.stderr.decode()) & (set(map(chr, range(0x20))) - {"\n"} | {"\u202e", "\x7f"}) and 2 < len(lines(done)) <= LISTED + 1, done.stderr[:2000])
        check("  libcarrel reads it", json.loads(box.carrel("info", "--json", box.name).stdout)["left_behind_more"] == more)
        d.must("DELETE", "/v1/sandboxes/" + box.id)


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        return
    with Daemon() as d, Workspace() as ws:
        box = Living(d, ws, "n")
        for part in (record, same_words, shown_once, at_once, restart):
            part(box)
        box.carrel("stop", box.name)
        for part in (stop, twice, strict, flood):
            part(d)
    end()


main()
