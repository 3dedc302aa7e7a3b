#!/usr/bin/env python3
"""A working directory that cannot be entered: each interface names the directory, and says that it
is the argument cwd.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, need_programs
from daemon_rig import Daemon

need_programs()
with Daemon() as d:
    box = d.create(start=True)
    for cwd, why in (("/nope/x", "No such file or directory"), ("/etc/passwd", "Not a directory")):
        got = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", "cwd": cwd})
        error = got.json["error"]
        check("REST: %s" % cwd, (got.code, error["path"]) == ("invalid_argument", "cwd") and cwd in error["message"] and why in error["message"], got)
        done = subprocess.run([CARREL, "exec", "--json", "--cwd", cwd, box, "--", "true"], env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False)
        error = json.loads(done.stdout)["error"]
        check("carrel exec: %s" % cwd, (error["code"], error["path"]) == ("invalid_argument", "cwd") and cwd in error["message"] and why in error["message"], done.stdout)
        for tool in ("exec", "mastra_workspace_execute_command"):
            got = d.call("POST", "/mcp?sandbox=" + box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"command": "true", "cwd": cwd}}},
                         {"Accept": "application/json, text/event-stream"}).json["result"]
            text = got["content"][0]["text"]
            check("MCP, %s: %s" % (tool, cwd), got["isError"] and cwd in text and "(cwd)" in text and why in text, got)
    d.must("DELETE", "/v1/sandboxes/" + box)
end()
