#!/usr/bin/env python3
"""audit_again_test - `carrel audit replay` of commands of the daemon: the first command of a sandbox
without a directory of the host runs again, and every other one is refused with its reason.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, check, end, until
from daemon_rig import Daemon

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n%s---\n"
HOST = "audit: [content]\nproviders: {local: {isolated: true, mounts: true}}\n"


class Bench:
    """A daemon, and a user's own files beside it."""
    def __init__(self, top):
        self.work, self.state, self.host = os.path.join(top, "work"), os.path.join(top, "state"), os.path.join(top, "host.yaml")
        os.mkdir(self.work)
        with open(self.host, "w", encoding="utf-8") as f:
            f.write(HOST)
        self.manifest("")

    def manifest(self, more):
        self.text = MANIFEST % more
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(self.text)

    def folder(self, d):
        return os.path.join(d.state, "audit", "uid:%d" % os.getuid())

    def ended(self, d, done):
        """Waits for the end of this command in the log. Returns its number."""
        start = int(done["audit_ref"].rsplit("/", 1)[1])

        def ends():
            return [e["seq"] for e in audit_chain.entries(self.folder(d)) if e["action"] == "exec.ended" and e["input"]["start"] == start]
        until("the end is recorded", ends)
        return str(ends()[0])

    def replay(self, d, ref):
        a = subprocess.run([CARREL, "audit", "replay", ref, "--json", "--log", self.folder(d), "--workspace", self.work, "--file", os.path.join(self.work, "SANDBOX.md"),
                            "--host", self.host], env={**os.environ, "CARREL_STATE": self.state}, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return a.returncode, json.loads(a.stdout) if a.stdout else a.stderr

    def refused(self, d, done):
        self.ended(d, done)
        status, got = self.replay(d, done["audit_ref"])
        return status, got.get("error", {}).get("reason") if isinstance(got, dict) else got


def replays(b, d):
    box = d.create(manifest=b.text)
    done = d.exec(box, ["sh", "-c", "cat; pwd >&2; exit 7"], input="given\n" * 3)
    number = b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("a deterministic command prints the same, named by its answer", status == 0 and got["equal"] and got["replay_supported"], status, got)
    status, got = b.replay(d, number)
    check("and by the number of its end", status == 0 and got["equal"], status, got)
    again = d.exec(box, ["cat"], input="given\n")
    check("a later command of the sandbox is refused", b.refused(d, again) == (125, "replay_used"), b.refused(d, again))
    box = d.create(manifest=b.text)
    done = d.exec(box, ["sh", "-c", "echo fixed; tr -d - </proc/sys/kernel/random/uuid"])
    b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("a random output differs, at its byte and line", status == 1 and not got["equal"] and got["stdout"]["line"] == 2 and got["stdout"]["byte"] >= 6, status, got)
    code = d.must("POST", "/v1/sandboxes/%s/code" % d.create(manifest=b.text), {"language": "sh", "code": "echo of code"})
    number = b.ended(d, code)
    status, got = b.replay(d, number)
    check("code that ran is replayed", status == 0 and got["equal"], status, got)


def refuses(b, d):
    """What is done in a new sandbox before the command, the command, the reason."""
    cases = (
        ("a file was written before", lambda box: d.call("PUT", "/v1/sandboxes/%s/files?path=/tmp/x" % box, b"x"), {}, "replay_used"),
        ("the call has a variable", lambda box: None, {"env": {"NAME": "value"}}, "replay_environment"),
        ("another directory", lambda box: None, {"cwd": "/tmp"}, "replay_directory"),
        ("a terminal", lambda box: None, {"tty": True}, "replay_terminal"),
        ("a secret among its words", lambda box: None, {"argv": ["echo", "--password=hunter22hunter"]}, "replay_words"),
    )
    for name, before, more, reason in cases:
        box = d.create(manifest=b.text)
        answer = before(box)
        assert answer is None or answer.status < 300, answer
        done = d.exec(box, **{"argv": ["true"], **more})
        got = b.refused(d, done)
        check("refused: %s" % name, got == (125, reason), got)
    box = d.create(manifest=b.text, env={"NAME": "value"})
    got = b.refused(d, d.exec(box, ["true"]))
    check("refused: the sandbox was created with a variable", got == (125, "replay_environment"), got)
    done = d.exec(d.create(manifest=b.text), ["true"])
    b.manifest("limits: {memory_mb: 512}\n")
    got = b.refused(d, done)
    check("refused: another manifest", got == (125, "replay_manifest"), got)
    b.manifest("mounts: [{source: workspace, at: /workspace}]\n")
    got = b.refused(d, d.exec(d.create(manifest=b.text, workspace=b.work), ["true"]))
    check("refused: a workspace", got == (125, "replay_workspace"), got)
    b.manifest("")
    box = d.create(manifest=b.text, start=True)
    d.restart_parts(lambda: os.kill(next(p for n, p in d.children().items() if n.startswith("carrel-keeper")), 9))
    got = b.refused(d, d.exec(box, ["true"]))
    check("refused: the daemon was restarted before, so nobody knows what ran", got == (125, "replay_used"), got)


def tampered(b, d):
    done = d.exec(d.create(manifest=b.text), ["sh", "-c", "cat; echo $$"], input="input\n")
    number = int(b.ended(d, done))
    output = next(e for e in audit_chain.entries(b.folder(d)) if e["seq"] == number)["output"]
    with open(os.path.join(b.folder(d), "content", output["content"]["stdin"]["sha256"]), "r+b") as f:
        f.write(b"I")
    status, got = b.replay(d, done["audit_ref"])
    check("an altered input is not replayed", status == 126 and got["error"]["reason"] == "content.tampered", status, got)


def main():
    top = tempfile.mkdtemp(prefix="carrel-again-")
    try:
        b = Bench(top)
        with Daemon("--host", b.host) as d:
            for part in (replays, refuses, tampered):
                part(b, d)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    end()


main()
