#!/usr/bin/env python3
"""audit_replay_test - `carrel audit replay`: a deterministic command prints the same byte for byte, another
one differs at a named byte, and what cannot be replayed is refused with its reason.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n%s---\n"
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    def __init__(self, top, name):
        self.top = os.path.join(top, name)
        self.state, self.work = os.path.join(self.top, "state"), os.path.join(self.top, "work")
        os.makedirs(self.work)
        self.log = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        self.env = {**os.environ, "CARREL_STATE": self.state, "HOME": self.top}
        self.manifest()

    def manifest(self, more=""):
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % more)

    def carrel(self, *words, given=b""):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, input=given, capture_output=True, timeout=PATIENCE, check=False)

    def record(self, line, *options, given=b""):
        """The number of the entry of its end."""
        self.carrel("run", "--audit", "--keep-output", *options, "--", "sh", "-c", line, given=given)
        return str(self.last()["seq"])

    def last(self):
        return list(audit_chain.entries(self.log))[-1]

    def replay(self, number, *options):
        a = self.carrel("audit", "replay", number, "--json", *options)
        return a.returncode, json.loads(a.stdout) if a.stdout else a.stderr


def is_equal(b):
    given = bytes(range(256)) * 300
    number = b.record("cat; cat SANDBOX.md >&2; exit 7", given=given)
    status, report = b.replay(number)
    tell("a deterministic command prints the same", status == 0 and report["equal"] and report["replay_supported"], status, report)
    started = [e for e in audit_chain.entries(b.log) if e["action"] == "exec.started"]
    status, again = b.replay(str(started[0]["seq"]))
    tell("named by its start", status == 0 and again["recording"] == report["recording"], status, again)
    started = started[-1]
    tell("the replay is recorded, and names the recording", started["input"]["replay_of"] == report["recording"], started)
    a = b.carrel("audit", "replay", number)
    tell("for a person", a.returncode == 0 and a.stdout.startswith(b"stdout: equal\nstderr: equal\noutcome: exited 7\n"), a)


def differs(b):
    number = b.record("echo fixed; echo abc; tr -d - </proc/sys/kernel/random/uuid; exit 0")
    status, report = b.replay(number)
    place = report.get("stdout", {})
    tell("a random output differs, at its byte and line", status == 1 and not report["equal"] and not place["equal"] and place["byte"] >= 10 and place["line"] == 3, status, report)
    tell("standard error is equal", report["stderr"] == {"equal": True}, report)


def refuses_another_workspace(b):
    number = b.record("cat SANDBOX.md; echo changed >new")
    status, report = b.replay(number)
    tell("a workspace that was changed is refused", status == 125 and report["error"]["reason"] == "replay_workspace", report)
    copy = os.path.join(b.top, "copy")
    shutil.copytree(b.work, copy)
    os.unlink(os.path.join(copy, "new"))
    status, report = b.replay(number, "--workspace", copy)
    tell("a copy of that time is not", status == 0 and report["equal"], status, report)


def refuses(b):
    cases = (
        ("replay_content", lambda: (b.carrel("run", "--audit", "--", "true"), str(b.last()["seq"]))[1]),
        ("replay_input", lambda: b.record("wc -c", given=b"x" * ((8 << 20) + 1))),
        ("replay_input", lambda: b.record("wc -c", given=b"me@example.org\n")),
        ("replay_words", lambda: b.record("echo me@example.org")),
        ("replay_manifest", lambda: b.record("true", "--memory", "300m")),
        ("replay_environment", lambda: b.record("true", "-e", "SPECIAL=value")),
        ("replay_environment", lambda: b.record("true", "-e", "PATH=/usr/bin:/bin")),
    )
    for reason, record in cases:
        number = record()
        before = b.last()["seq"]
        status, report = b.replay(number)
        tell(f"{reason}: refused, and nothing is started", status == 125 and report["error"]["reason"] == reason and not [e for e in audit_chain.entries(b.log) if e["seq"] > before and e["action"] == "exec.started"], status, report)


def refuses_a_state_directory_in_the_workspace(b):
    b.state = os.path.join(b.work, "state")
    b.log, b.env = os.path.join(b.state, "audit", "uid:%d" % os.getuid()), {**b.env, "CARREL_STATE": b.state}
    number = b.record("true")
    status, report = b.replay(number)
    tell("a state directory in the workspace: refused, because the log has changed", status == 125 and report["error"]["reason"] == "replay_workspace", status, report)


def refuses_altered_input(b):
    number = b.record("cat", given=b"original")
    os.truncate(os.path.join(b.log, "content", b.last()["output"]["content"]["stdin"]["sha256"]), 3)
    status, report = b.replay(number)
    tell("altered input is refused", status == 126 and report["error"]["reason"] == "content.tampered", status, report)


def main():
    tests = (is_equal, differs, refuses_another_workspace, refuses, refuses_a_state_directory_in_the_workspace, refuses_altered_input)
    with tempfile.TemporaryDirectory() as top:
        for test in tests:
            print(f"# {test.__name__}")
            test(Bench(top, test.__name__))
    print(f"1..{NUMBER[0]}")


main()
