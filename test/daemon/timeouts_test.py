#!/usr/bin/env python3
"""timeouts_test - the three layers of time limits of the sandbox document: per_tool_call (an exec),
per_task_loop (a task) and per_sandbox_lifetime (a sandbox). Each ends commands with a reason of its
own, on every interface, and the tightest of the three acts first.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, until
from daemon_rig import Daemon

LONG, SHORT = 3600000, 700
LAYERS = {"per_tool_call": None, "per_task_loop": ["per_task_loop"], "per_sandbox_lifetime": ["per_sandbox_lifetime"]}


def start(d, tight, task=True):
    """A sandbox with a task, in which the layer `tight` is short. Gives its id and what an exec needs."""
    box = d.create(timeout_ms=SHORT if tight == "per_sandbox_lifetime" else LONG, start=True)
    fields = {"timeout_ms": SHORT if tight == "per_tool_call" else LONG}
    if task:
        d.must("POST", "/v1/sandboxes/%s/tasks" % box, {"task": "loop", "timeout_ms": SHORT if tight == "per_task_loop" else LONG})
        fields["task"] = "loop"
    return box, fields


def over_rest(d):
    for layer, words in LAYERS.items():
        box, fields = start(d, layer)
        got = d.exec(box, "exec sleep 7801", **fields)
        check("REST: %s ends it, and is the reason" % layer, (got["outcome"], got["exit_code"], got.get("limits_reached")) == ("timed_out", 124, words), got)
        check("  the command's own limit is reported beside it", got["timeout_by"] == "call" and got["timeout_ms"] == fields["timeout_ms"], got)
        if layer == "per_task_loop":
            late = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", **fields})
            check("  a call in the task that has passed is refused", late.code == "invalid_argument" and late.json["error"]["reason"] == "unknown_task", late)
            check("  the sandbox goes on", d.exec(box, "echo on")["stdout"] == "on\n")
        elif layer == "per_tool_call":
            check("  the task goes on", d.exec(box, "echo on", task="loop")["stdout"] == "on\n")
        else:
            until("the sandbox has gone", lambda b=box: d.call("GET", "/v1/sandboxes/" + b).code in ("sandbox_not_found", "sandbox_gone"))


def in_the_background(d):
    """Who asks later sees the same reason, also after a restart of the daemon's parts."""
    box, fields = start(d, "per_task_loop")
    number = d.exec(box, "exec sleep 7802", background=True, **fields)["exec"]
    path = "/v1/sandboxes/%s/execs/%d" % (box, number)
    until("it has ended", lambda: d.must("GET", path)["state"] == "ended")
    got = d.must("GET", path)
    check("exec.get has the reason", (got["outcome"], got.get("limits_reached")) == ("timed_out", ["per_task_loop"]), got)
    listed = json.loads(subprocess.run([CARREL, "ps", box, "--json", "--state", d.state], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout)["items"]
    check("carrel ps --json has it", [e.get("limits_reached") for e in listed] == [["per_task_loop"]], listed)
    said = subprocess.run([CARREL, "output", box, str(number), "--follow", "--state", d.state], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("carrel output names the task's limit, and where it is raised", said.returncode == 124 and "timeout_ms of task.begin" in said.stderr and "/tasks" in said.stderr.partition("Next:")[2] and "3600" not in said.stderr, said)


def over_the_command_line(d):
    box, _ = start(d, "per_sandbox_lifetime", task=False)
    said = subprocess.run([CARREL, "exec", box, "--timeout", "1h", "--state", d.state, "--", "sleep", "7803"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("carrel exec names the sandbox's limit, not its own", said.returncode == 124 and "timeout_ms of create" in said.stderr and "carrel extend" in said.stderr and "timed out after" not in said.stderr, said)
    box, _ = start(d, "per_tool_call", task=False)
    said = subprocess.run([CARREL, "exec", box, "--timeout", "700ms", "--state", d.state, "--", "sleep", "7804"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("carrel exec names its own", said.returncode == 124 and "timed out after 700 ms" in said.stderr, said)


def over_mcp(d):
    for names, tool in (("plain", "exec"), ("mastra", "mastra_workspace_execute_command")):
        box, _ = start(d, "per_sandbox_lifetime", task=False)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"command": "exec sleep 7805"}}}
        got = d.must("POST", "/mcp?tool_names=%s&sandbox=%s" % (names, box), call, headers={"Accept": "application/json, text/event-stream"})
        check("MCP (%s): the sandbox's limit is named" % names, "timeout_ms of create" in json.dumps(got), got)


with Daemon() as daemon:
    over_rest(daemon)
    in_the_background(daemon)
    over_the_command_line(daemon)
    over_mcp(daemon)
end()
