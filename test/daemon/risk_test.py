#!/usr/bin/env python3
"""risk_test - a sandbox is created for a stated risk only if its isolation tier suffices: over each
interface, also from the pool, and with `risk: required` in the host file.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, until
from daemon_rig import Daemon

PROVIDERS = "providers: {local: {isolated: true, mounts: true}}\n"
JSON = {"Accept": "application/json, text/event-stream"}


def carrel(d, *words):
    return subprocess.run([CARREL, *words, "--state", d.state], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


def tool(d, name, query="", **arguments):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return d.must("POST", "/mcp?tool_names=plain" + query, call, headers=JSON)["result"]


def count(d):
    return len(d.must("GET", "/v1/sandboxes")["items"])


def denied(answer, reason="refuse:tier"):
    return answer.status == 403 and answer.code == "document_denied" and answer.json["error"]["reason"] == reason and answer.json["error"]["path"] == "risk"


def stated(d):
    for risk in ("medium", "high"):
        check("REST: %s is refused" % risk, denied(d.call("POST", "/v1/sandboxes", {"risk": risk})))
    answer = d.call("POST", "/v1/sandboxes", {"risk": "extreme"})
    check("another word is an error of its own", answer.status == 400 and answer.code == "invalid_argument" and answer.json["error"]["path"] == "risk", answer)
    done = carrel(d, "create", "--risk", "high")
    check("carrel create --risk: the finding, and where to look", done.returncode == 126 and "refuse:tier" in done.stderr and "carrel providers" in done.stderr, done)
    got = tool(d, "sandbox_create", "&manage=true", risk="medium")
    check("MCP: sandbox_create is refused", got["isError"] and "refuse:tier" in json.dumps(got), got)
    got = tool(d, "execute_command", "&context=a&risk=high", command="true")
    check("MCP: a sandbox of the URL's risk is refused", got["isError"] and "refuse:tier" in json.dumps(got), got)
    check("nothing was created", count(d) == 0, count(d))
    low = d.create(risk="low", key="k")
    check("low is admitted", d.exec(low, "echo hello")["stdout"] == "hello\n")
    check("the same key with another risk is another call", d.call("POST", "/v1/sandboxes", {"risk": "high", "key": "k"}).code == "sandbox_exists")
    check("without a risk it is created as before", d.call("POST", "/v1/sandboxes", {}).status == 201)


def pooled(d):
    until("a ready sandbox is refused for a risk that its tier is too low for", lambda: denied(d.call("POST", "/v1/claims", {"risk": "high"})))
    until("a ready sandbox is handed out for low", lambda: d.call("POST", "/v1/claims", {"risk": "low"}).status == 201)
    for body in ({"workspace": d.state}, {"runtime": "python3"}, {"manifest": {"provider": "local", "config": {}, "limits": {"pids": 77}}}):
        got = d.call("POST", "/v1/claims", body)
        check("a claim with a %s that the pool does not have is not told to try again" % list(body)[0],
              (got.status, got.code, got.json["error"].get("reason")) == (501, "capability_unavailable", "pool_manifest"), got)


def required(top):
    host = os.path.join(top, "host.yaml")
    with open(host, "w", encoding="utf-8") as f:
        f.write(PROVIDERS + "risk: required\n")
    with Daemon("--host", host) as d:
        check("required: without a risk nothing is created", denied(d.call("POST", "/v1/sandboxes", {}), "risk_required") and count(d) == 0)
        done = carrel(d, "create")
        check("required: the hint says what to add", done.returncode == 126 and "--risk low" in done.stderr, done)
        check("required: carrel create --risk low", carrel(d, "create", "--risk", "low").returncode == 0 and count(d) == 1)
        got = tool(d, "execute_command", "&context=a", command="echo hi")
        check("required: MCP without a risk is refused", got["isError"] and "risk_required" in json.dumps(got) or "stated risk" in json.dumps(got), got)
        got = tool(d, "execute_command", "&context=a&risk=low", command="echo hi")
        check("required: MCP with ?risk=low", not got.get("isError") and "hi" in json.dumps(got), got)
        with open(host, "w", encoding="utf-8") as f:
            f.write(PROVIDERS + "risk: optional\n")
        d.reload()
        check("optional: none is needed", d.call("POST", "/v1/sandboxes", {}).status == 201)
    with open(host, "w", encoding="utf-8") as f:
        f.write(PROVIDERS + "risk: sometimes\n")
    done = subprocess.run([CARREL, "run", "--host", host, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("another word in the host file is refused", done.returncode == 126 and "required or optional" in done.stderr, done)


with Daemon() as daemon:
    stated(daemon)
with Daemon("--pool", "1") as daemon:
    pooled(daemon)
with tempfile.TemporaryDirectory(prefix="carrel-risk-", dir="/tmp") as folder:
    required(folder)
end()
