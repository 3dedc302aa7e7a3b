#!/usr/bin/env python3
"""node_permission_test - `provider: node-permission`: node runs under its permission model in the sandbox, with the grants of the script or of the mounts.

Each refusal of node is seen to come from its grants: the same script runs with `provider: local`.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, Workspace, check, end, report

HOST = "providers:\n  local: {isolated: true, mounts: true}\n  node-permission: {isolated: true, mounts: true}\n"
SCRIPT = """
const fs = require('fs'), tried = {}
const attempt = (name, f) => { try { f(); tried[name] = 'ok' } catch (e) { tried[name] = e.code } }
attempt('read', () => fs.readFileSync('/workspace/data.txt'))
attempt('system', () => fs.readFileSync('/etc/passwd'))
attempt('write', () => fs.writeFileSync('/workspace/out.txt', 'x'))
attempt('private', () => fs.writeFileSync('/tmp/out.txt', 'x'))
attempt('child', () => { const r = require('child_process').spawnSync('true'); if (r.error) throw r.error })
attempt('worker', () => new (require('worker_threads').Worker)('0', {eval: true}))
console.log(JSON.stringify({tried, given: process.argv.slice(2)}))
"""


def manifest(provider="node-permission", config="{}", mode="read-write"):
    return "---\nschema: sandbox/v1\nprovider: %s\nconfig: %s\nmounts:\n  - {source: workspace, at: /workspace, mode: %s}\n---\n" % (provider, config, mode)


def run(ws, text, *words):
    ws.write("SANDBOX.md", text)
    ws.write("host.yaml", HOST)
    call = [CARREL, "run", "--host", os.path.join(ws.path, "host.yaml"), "--", *words]
    return subprocess.run(call, cwd=ws.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)


def tried(done):
    try:
        return json.loads(done.stdout.splitlines()[-1])["tried"]
    except (ValueError, IndexError, KeyError):
        return {"failed": done.stdout + done.stderr}


def grants():
    with Workspace() as ws:
        ws.write("tool.cjs", SCRIPT)
        ws.write("data.txt", "data")
        got = tried(run(ws, manifest(provider="local"), "node", "/workspace/tool.cjs"))
        check("without it, node may do all that the sandbox may", set(got.values()) == {"ok"}, got)
        done = run(ws, manifest(), "node", "/workspace/tool.cjs", "a b", "$c")
        got = tried(done)
        denied = "ERR_ACCESS_DENIED"
        check("with it, the mounts are the grants", got == {"read": "ok", "system": denied, "write": "ok", "private": "ok", "child": denied, "worker": denied}, got, done.stderr)
        check("the script's words arrive as they are", json.loads(done.stdout.splitlines()[-1])["given"] == ["a b", "$c"], done.stdout)
        got = tried(run(ws, manifest(mode="read-only"), "node", "/workspace/tool.cjs"))
        check("a mount that is read-only is no grant to write", got.get("write") == denied and got.get("read") == "ok", got)
        config = "{tools: {/workspace/tool.cjs: {read: [/workspace], allow: [child_process]}, other.cjs: {}}}"
        got = tried(run(ws, manifest(config=config), "node", "/workspace/tool.cjs"))
        check("a script has its own grants, and no others", got == {"read": "ok", "system": denied, "write": denied, "private": denied, "child": "ok", "worker": denied}, got)
        done = run(ws, manifest(config="{tools: {other.cjs: {}}}"), "node", "/workspace/tool.cjs")
        check("a script without grants is not started", done.returncode == 126 and "no grants for this script" in done.stderr, done.stderr)
        done = run(ws, manifest(config="{tools: {tool.cjs: {}}}"), "node", "-e", "console.log(1)")
        check("code without a name has no grants", done.returncode == 126 and "options" in done.stderr, done.stderr)


def refused():
    with Workspace() as ws:
        ws.write("tool.cjs", SCRIPT)
        for words in (("sh", "-c", "true"), ("node", "--allow-fs-read=*", "/workspace/tool.cjs"), ("node",), ("/usr/bin/node", "/workspace/tool.cjs")):
            done = run(ws, manifest(), *words)
            check("refused: " + " ".join(words), done.returncode == 126 and "sandbox_policy_denied" in done.stderr, done.returncode, done.stderr)
        for config in ("{tools: []}", "{tools: {a: {read: [relative]}}}", "{tools: {a: {allow: [everything]}}}", "{tools: {a: {execute: [/]}}}", "{tools: {a: {read: ['/tmp,/etc']}}}", "{tools: {a: {write: ['/*']}}}"):
            done = run(ws, manifest(config=config), "node", "/workspace/tool.cjs")
            check("refused: config " + config, "sandbox_config_invalid" in done.stderr, done.stderr)


if not shutil.which("node"):
    report("node's permission model", skip="this machine has no node")
    end()
grants()
refused()
end()
