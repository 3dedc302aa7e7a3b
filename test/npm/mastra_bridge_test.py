#!/usr/bin/env python3
"""mastra_bridge_test - @mastra/e2b and @mastra/daytona of npm, unmodified, through sdk/providers/mastra.mjs: they pass `carrel provider test` against servers on loopback
that speak the wire protocols of E2B and of Daytona. Prints TAP.
"""
import json
import os
import platform
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, HERE, PATIENCE, TREE, check, end

PACKAGES = os.environ.get("CARREL_TEST_NPM") or os.path.join(TREE, "build-npm")
NODE = os.path.join(PACKAGES, "node_modules", "node-linux-" + ("arm64" if platform.machine() == "aarch64" else "x64"), "bin", "node")
HELPER, KEY = os.path.join(TREE, "sdk", "providers", "mastra.mjs"), "e2b_" + "0123456789abcdef" * 3


def run(provider, config, port, key):
    options = json.dumps({"apiUrl": "http://127.0.0.1:%d" % port})
    call = [CARREL, "provider", "test", "--config", json.dumps(config), "--", NODE, HELPER, provider, "--from", PACKAGES, "--options", options]
    env = dict(os.environ, CARREL_PROVIDER_KEY=key, E2B_SANDBOX_URL="http://127.0.0.1:%d" % port)
    return subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, env=env, check=False)



def serve(*call):
    return subprocess.Popen(call, stdout=subprocess.PIPE, text=True)


def told(port):
    with urllib.request.urlopen("http://127.0.0.1:%d/told" % port, timeout=PATIENCE) as answer:
        return json.load(answer)


def provider(name, asked, port):
    ran = run(name, asked, port, KEY)
    skipped = [line.split("ability ")[1] for line in ran.stdout.splitlines() if "# SKIP" in line]
    check("%s passes every step that its class can take" % name, ran.returncode == 0 and "not ok" not in ran.stdout and skipped == ["stdin", "signals"], ran.stdout, ran.stderr)
    check("the key is printed nowhere: " + name, KEY not in ran.stdout + ran.stderr)
    asked = told(port)
    ran = run(name, {"template": "base", "workspace_id": "w1"}, port, KEY[:-1] + "0")
    check("a key that the server refuses is auth: " + name, ran.returncode == 1 and "it answered auth: " in ran.stdout, ran.stdout, ran.stderr)
    return asked


with serve(sys.executable, os.path.join(HERE, "e2b_stand_in.py"), KEY) as e2b, serve(NODE, os.path.join(HERE, "daytona_stand_in.mjs"), PACKAGES, KEY) as daytona:
    try:
        asked = provider("mastra-e2b", {"template": "base"}, int(e2b.stdout.readline()))
        made = [json.loads(m["body"]) for m in asked if m["method"] == "POST" and m["path"].endswith("/sandboxes")]
        check("E2B makes it without a network", [m.get("network", {}).get("denyOut") for m in made] == [["0.0.0.0/0"]], made)
        asked = provider("mastra-daytona", {"workspace_id": "w1"}, int(daytona.stdout.readline()))
        made = [json.loads(m["body"]) for m in asked if (m["method"], m["path"]) == ("POST", "/sandbox")]
        check("Daytona makes it without a network", [m.get("networkBlockAll") for m in made] == [True], made)
        check("and it is deleted in the end", any(m["method"] == "DELETE" and m["path"].startswith("/sandbox/") for m in asked), asked[-3:])
    finally:
        e2b.kill()
        daytona.kill()
end()
