#!/usr/bin/env python3
"""time_limit_test - a command's time limit, and its source, are reported later too: in lists, over
each interface, after a restart of the daemon's parts.
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end
from daemon_rig import Daemon, until

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 600000}\n---\n"


def carrel(d, *words):
    return subprocess.run([CARREL, *words, "--state", d.state], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


with Daemon() as daemon:
    box, free = daemon.create(start=True, manifest=MANIFEST), daemon.create(start=True)
    path = "/v1/sandboxes/%s/execs" % box
    short = daemon.exec(box, "echo begun; exec sleep 7901", background=True, timeout_ms=700)["exec"]
    ordinary = daemon.exec(box, "exec sleep 7902", background=True)["exec"]
    without = daemon.exec(free, "exec sleep 7903", background=True)["exec"]
    until("the limit has ended it", lambda: daemon.must("GET", "%s/%d" % (path, short))["state"] == "ended")
    for turn in ("at once", "after a restart"):
        rows = {e["exec"]: (e.get("timeout_ms"), e.get("timeout_by")) for e in daemon.must("GET", path)["items"]}
        check("the list has the limits, %s" % turn, rows == {short: (700, "call"), ordinary: (600000, "manifest")}, rows)
        one = daemon.must("GET", "/v1/sandboxes/%s/execs/%d" % (free, without))
        check("where there is none, none is told, %s" % turn, "timeout_ms" not in one and "timeout_by" not in one, one)
        said = carrel(daemon, "output", box, str(short), "--follow")
        check("carrel output --follow names the limit and where it is raised, %s" % turn, said.returncode == 124 and said.stdout == "begun\n" and "700 ms" in said.stderr and "timeout" in said.stderr.partition("Next:")[2], said)
        listed = json.loads(carrel(daemon, "ps", box, "--json").stdout)["items"]
        check("carrel ps --json has it, %s" % turn, [(e["timeout_ms"], e["timeout_by"]) for e in listed] == [(700, "call"), (600000, "manifest")], listed)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "exec_output", "arguments": {"exec": short}}}
        got = daemon.must("POST", "/mcp?sandbox=" + box, call, headers={"Accept": "application/json, text/event-stream"})["result"]["structuredContent"]
        check("MCP's exec_output says which, %s" % turn, "700 ms" in got.get("message", "") and "hint" in got, got)
        if turn == "at once":
            daemon.restart_parts(lambda: os.kill(daemon.children()["carrel-keeper"], signal.SIGKILL))
end()
