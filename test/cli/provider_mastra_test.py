#!/usr/bin/env python3
"""provider_mastra_test - sdk/providers/mastra.mjs: a class of the shape that Mastra publishes passes `carrel provider test`, as each of the providers.

The packages here are stand-ins of that shape (constructor options, start, destroy, processes.spawn with wait and kill, networking), which run commands on this
machine. What they are given is what the real classes would be given: it is compared.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, TREE, check, end, report
from mastra_shape import install

HELPER = os.path.join(TREE, "sdk", "providers", "mastra.mjs")
KEY = "carrel-id-of-a-test:carrel-secret-of-a-test"
ID, HIDDEN = KEY.split(":")
ROWS = (  # provider, package, class, config, options of the class, variables of its library
    ("mastra-e2b", "@mastra/e2b", "E2BSandbox", {"template": "base"}, {"template": "base", "apiKey": KEY, "network": {"denyOut": ["0.0.0.0/0"]}}, {}),
    ("mastra-daytona", "@mastra/daytona", "DaytonaSandbox", {"workspace_id": "w1"}, {"id": "w1", "apiKey": KEY, "networkBlockAll": True}, {}),
    ("mastra-modal", "@mastra/modal", "ModalSandbox", {"app_name": "a", "function_name": "f"}, {"appName": "a", "functionName": "f", "tokenId": ID, "tokenSecret": HIDDEN}, {}),
    ("mastra-blaxel", "@mastra/blaxel", "BlaxelSandbox", {"workspace": "w2"}, {}, {"BL_WORKSPACE": "w2", "BL_API_KEY": KEY}),
    ("mastra-agentcore", "@mastra/agentcore", "AgentCoreRuntimeSandbox", {"agent_runtime_arn": "arn", "region": "eu-west-1"},
     {"agentRuntimeArn": "arn", "region": "eu-west-1", "stopSessionOnLifecycle": True}, {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": HIDDEN}),
)


def run(top, provider, config, key=KEY):
    call = [CARREL, "provider", "test", "--config", json.dumps(config), "--", shutil.which("node"), HELPER, provider, "--from", top]
    env = dict(os.environ, CARREL_PROVIDER_KEY=key, CARREL_TEST_TOLD=os.path.join(top, "told"))
    return subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, env=env, check=False)


if not shutil.which("node"):
    report("mastra.mjs", skip="this machine has no node")
    end()
with tempfile.TemporaryDirectory(prefix="carrel-mastra-") as folder:
    for provider, package, name, config, wanted, variables in ROWS:
        ran = run(folder, provider, config)
        check("a package that is missing is told with the command that installs it: " + provider,
              ran.returncode == 1 and "it answered not_found: %s is not installed: npm install --prefix %s %s@" % (package, folder, package) in ran.stdout, ran.stdout, ran.stderr)
        install(folder, package, name, is_one_shot=provider == "mastra-agentcore")
        ran = run(folder, provider, config)
        check("a class of Mastra's shape passes: " + provider, ran.returncode == 0 and "not ok" not in ran.stdout, ran.stdout, ran.stderr)
        with open(os.path.join(folder, "told"), encoding="utf-8") as f:
            told = json.load(f)
        check("it was made with the settings and the key: " + provider, told == {**wanted, **variables}, told)
        check("the key is printed nowhere: " + provider, not any(word in ran.stdout + ran.stderr for word in KEY.split(":")))
    for provider, form in (("mastra-modal", "TOKEN-ID:TOKEN-SECRET"), ("mastra-agentcore", "ACCESS-KEY-ID:SECRET-ACCESS-KEY")):
        ran = run(folder, provider, {}, key="one-part")
        check("a key of the wrong form: " + provider, ran.returncode == 1 and "the key must have the form " + form in ran.stdout and "one-part" not in ran.stdout, ran.stdout)
    ran = run(folder, "mastra-e2b", {"template": "base"}, key="wrong")
    check("a key that is refused", ran.returncode == 1 and "it answered auth: 401 Unauthorized: ***" in ran.stdout, ran.stdout)
end()
