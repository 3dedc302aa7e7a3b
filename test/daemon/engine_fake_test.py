#!/usr/bin/env python3
"""engine_fake_test - a second provider, whose engine plays a script, is created, executed in, paused and stopped through REST, the command line and MCP.

It exists in the test build alone (spec/provider.c, box/fake). Nothing of keeper, door and clients knows which engine runs a sandbox.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, SWITCHES, PATIENCE, check, end
from daemon_rig import Daemon

MANIFEST = "---\nschema: sandbox/v1\nprovider: example-fake\nconfig: {}\n---\n"
HOST = "providers:\n  example-fake: {isolated: true, egress: closed}\n  local: {isolated: true}\n"


def mcp(d, box, name, **arguments):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return d.must("POST", "/mcp?sandbox=" + box, call, headers={"Accept": "application/json, text/event-stream"})["result"]


def cli(d, *words):
    return subprocess.run([SWITCHES, *words], env=dict(os.environ, CARREL_STATE=d.state), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


def words(ran):
    return ran.returncode, ran.stdout, ran.stderr


with tempfile.TemporaryDirectory(prefix="carrel-fake-") as top:
    host, manifest = os.path.join(top, "host.yaml"), os.path.join(top, "SANDBOX.md")
    for path, text in ((host, HOST), (manifest, MANIFEST)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    with Daemon("--host", host, program=SWITCHES) as d:
        box = d.create(start=True, manifest=MANIFEST)
        path = "/v1/sandboxes/" + box
        check("REST: a sandbox of the second provider is running", d.must("GET", path)["status"] == "running", d.must("GET", path))
        check("no process of a sandbox was made for it", not any(p.endswith("/carrel-maker") for p in d.children()), d.children())
        ended = d.exec(box, "exit 3")
        check("REST: a command ends as its script says", (ended["outcome"], ended["exit_code"]) == ("exited", 3), ended)
        paused = d.must("POST", path + "/pause", {})
        check("REST: it is paused", paused["status"] == "paused", paused)
        check("REST: it is resumed", d.must("POST", path + "/resume", {})["status"] == "running", d.must("GET", path))

        ran = cli(d, "exec", box, "--", "say", "hello")
        check("the command line: its output", words(ran)[:2] == (0, "hello\n"), words(ran))
        ran = cli(d, "exec", box, "--", "fail", "ENOENT")
        check("the command line: a start that fails", ran.returncode == 127, words(ran))
        ran = cli(d, "exec", box, "--", "signal", "9")
        check("the command line: a signal", ran.returncode == 137, words(ran))
        check("the command line: paused and resumed", [cli(d, verb, box).returncode for verb in ("pause", "resume")] == [0, 0])
        made = cli(d, "create", "-f", manifest, "--start", "-q")
        other = made.stdout.strip()
        check("the command line: created", made.returncode == 0 and other, words(made))
        ran = cli(d, "stop", other)
        check("the command line: stopped", ran.returncode == 0 and d.call("GET", "/v1/sandboxes/" + other).status in (404, 410), words(ran), other)

        got = mcp(d, box, "exec", command="say over MCP")
        check("MCP: its output", "over MCP" in json.dumps(got), got)
        got = mcp(d, box, "exec", command="exit 4")
        check("MCP: its exit code", got["structuredContent"].get("exit_code") == 4, got)
        check("REST: stopped", d.call("DELETE", path).status < 300 and d.call("GET", path).status in (404, 410))

    with Daemon("--host", host, program=SWITCHES, env={"CARREL_TEST_FAKE": "begin 3 ENOSPC"}) as d:
        status = d.call("POST", "/v1/sandboxes", {"manifest": MANIFEST, "start": True})
        check("a making that fails is an error of the engine", status.status >= 500, (status.status, status.body))

    refused = subprocess.run([SWITCHES, "run", "--host", host, "-f", manifest, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("carrel run does not run it in namespaces", refused.returncode == 1 and "no engine" in refused.stderr or "provider_unknown" in refused.stderr, words(refused))
    with Daemon("--host", host) as d:
        status = d.call("POST", "/v1/sandboxes", {"manifest": MANIFEST})
        check("the shipped build does not know it", status.status >= 400, (status.status, status.body))
end()
