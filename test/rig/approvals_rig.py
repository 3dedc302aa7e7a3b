"""What the tests of approvals share: a sandbox in which operations wait, and a client of MCP. Not a
test.
"""
import json
import os
import socket
import subprocess
import tempfile

import box_wire
from box_rig import CARREL, PATIENCE
from keeper_rig import Refused, caller_of

BLOCK = """---
schema: sandbox/v1
provider: local
config: {}
mounts: [{source: workspace, at: /work}]
metadata: {carrel: {approve: %s, approve_ms: %d}}
---
"""


class Place:
    """A workspace with a script, and a sandbox of it in which `approve` waits."""

    def __init__(self, d, approve="[exec]", ms=600000):
        self.d, self.folder = d, tempfile.mkdtemp(prefix="ws-", dir=d.folder)
        self.write("ok.sh", "echo hello\n")
        self.id = d.create(workspace=self.folder, manifest=BLOCK % (approve, ms))
        self.c = caller_of(d.state)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def ask(self, c=None, op="exec.start", **fields):
        """Sends the call, and gives its serial and the id of its request."""
        c = c or self.c
        if op == "exec.start":
            fields.setdefault("argv", ["sh", "ok.sh"])
        serial = c.send(op, id=self.id, **fields)
        return serial, self.asked(c)

    def asked(self, c=None):
        return (c or self.c).event(lambda e: e.get("event") == "approval-requested")["approval"]

    def approval(self, id):
        return self.d.must("GET", "/v1/approvals/" + id)

    def answer(self, id, verdict="approve", **more):
        return self.d.call("POST", "/v1/approvals/" + id, {"verdict": verdict, **more})

    def output(self, serial, c=None):
        """What the command printed, once its call was answered."""
        _, fds = (c or self.c).take(serial)
        return box_wire.Channel(socket.socket(fileno=fds[0])).wait().out

    def refused(self, serial, c=None):
        try:
            (c or self.c).take(serial)
        except Refused as r:
            return r.fields
        return {"code": "accepted"}

    def ran(self):
        """How many commands this sandbox has ever run."""
        return len(self.d.must("GET", "/v1/sandboxes/%s/execs" % self.id)["items"])

    def state(self, id):
        return self.approval(id)["state"]


class Agent:
    """One `carrel mcp`, line by line."""

    def __init__(self, p, capabilities=None):
        self.child = subprocess.Popen([CARREL, "mcp", "--state", p.d.state, "--sandbox", p.id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.last = 0
        if capabilities is not None:
            self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}})

    def write(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read(self):
        return json.loads(self.child.stdout.readline())

    def send(self, method, params):
        self.last += 1
        self.write({"id": self.last, "method": method, "params": params})

    def call(self, method, params):
        self.send(method, params)
        return self.read()

    def tool(self, name, **arguments):
        self.send("tools/call", {"name": name, "arguments": arguments})
        return self.read()

    def close(self):
        self.child.stdin.close()
        self.child.wait(timeout=PATIENCE)
        self.child.stdout.close()


def waiting(d, p):
    return [a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested" and a["sandbox"] == p.id]
