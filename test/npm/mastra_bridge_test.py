#!/usr/bin/env python3
"""mastra_bridge_test - @mastra/e2b of npm, unmodified, through sdk/providers/mastra.mjs: it passes `carrel provider test` against a server that speaks E2B's wire protocol
on loopback. @mastra/daytona is loaded and asks its server, which refuses the key. Prints TAP.
"""
import json
import os
import platform
import subprocess
import sys

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


with subprocess.Popen([sys.executable, os.path.join(HERE, "e2b_stand_in.py"), KEY], stdout=subprocess.PIPE, text=True) as server:
    try:
        at = int(server.stdout.readline())
        ran = run("mastra-e2b", {"template": "base"}, at, KEY)
        check("@mastra/e2b passes every step", ran.returncode == 0 and "not ok" not in ran.stdout, ran.stdout, ran.stderr)
        check("the key is printed nowhere", KEY not in ran.stdout + ran.stderr)
        for name, asked in (("mastra-e2b", {"template": "base"}), ("mastra-daytona", {"workspace_id": "w1"})):
            ran = run(name, asked, at, KEY[:-1] + "0")
            check("a key that the server refuses is auth: " + name, ran.returncode == 1 and "it answered auth: " in ran.stdout, ran.stdout, ran.stderr)
    finally:
        server.kill()
end()
