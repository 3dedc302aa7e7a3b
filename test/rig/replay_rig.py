"""What the tests of `carrel audit replay` share: a daemon that keeps content, and a user's own log.

Not a test.
"""
import json
import os
import subprocess

import audit_chain
from box_rig import CARREL, until

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n%s---\n"
HOST = "audit: [content]\nproviders: {local: {isolated: true, mounts: true}}\n"


def fill(folder, text):
    """A directory with a file, a link, and a directory that is closed to others."""
    os.makedirs(os.path.join(folder, "sub"), mode=0o700)
    with open(os.path.join(folder, "given"), "w", encoding="utf-8") as f:
        f.write(text)
    os.symlink("given", os.path.join(folder, "sub", "link"))


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

    def start(self, d, ref, workspace=None, **env):
        """A replay that runs."""
        return subprocess.Popen([CARREL, "audit", "replay", ref, "--json", "--log", self.folder(d), "--workspace", workspace or self.work, "--file", os.path.join(self.work, "SANDBOX.md"),
                                 "--host", self.host], env={**os.environ, "CARREL_STATE": self.state, **env}, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def replay(self, d, ref, workspace=None):
        a = self.start(d, ref, workspace)
        out, err = a.communicate()
        return a.returncode, json.loads(out) if out else err

    def refused(self, d, done, workspace=None):
        self.ended(d, done)
        status, got = self.replay(d, done["audit_ref"], workspace)
        return status, got.get("error", {}).get("reason") if isinstance(got, dict) else got

    def base(self, d, done):
        start = int(done["audit_ref"].rsplit("/", 1)[1])
        return next(e["input"]["base"] for e in audit_chain.entries(self.folder(d)) if e["seq"] == start)
