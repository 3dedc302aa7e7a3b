#!/usr/bin/env python3
"""mastra_bridge_test - @mastra/e2b and @mastra/daytona of npm, unmodified, through sdk/providers/mastra.mjs: they pass `carrel provider test` against servers on loopback
that speak the wire protocols of E2B and of Daytona. Prints TAP.
"""
import json
import os
import platform
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, HERE, PATIENCE, TREE, check, end, until
from daemon_rig import Daemon

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
    check("%s passes every step that its class can take" % name, ran.returncode == 0 and "not ok" not in ran.stdout and skipped == ["stdin", "signals", "terminal", "pause"], ran.stdout, ran.stderr)
    check("the key is printed nowhere: " + name, KEY not in ran.stdout + ran.stderr)
    asked = told(port)
    ran = run(name, {"template": "base", "workspace_id": "w1"}, port, KEY[:-1] + "0")
    check("a key that the server refuses is auth: " + name, ran.returncode == 1 and "it answered auth: " in ran.stdout, ran.stdout, ran.stderr)
    return asked


HOST = """providers:
  local: {isolated: true}
  mastra-daytona: {isolated: true, egress: closed, program: %s, tools: [%s, %s]%s}
secrets: {./SECRETS.md: {slugs: [daytona-key]}}
secrets_file: %s
"""
MANIFEST = """---
schema: sandbox/v1
provider: mastra-daytona
config: {workspace_id: w2, api_key_ref: daytona-key}
env: {auth: {ref: ./SECRETS.md}}
---
"""


def host_file(top, port, reaches):
    options = json.dumps({"apiUrl": "http://host.carrel.internal:%d" % port})
    program = json.dumps([os.path.realpath(NODE), HELPER, "mastra-daytona", "--from", os.path.realpath(PACKAGES), "--options", options])
    path, secrets = os.path.join(top, "host-%d.yaml" % len(reaches)), os.path.join(top, "secrets")
    for name, text in ((path, HOST % (program, os.path.dirname(HELPER), os.path.realpath(PACKAGES), reaches, secrets)), (secrets, "daytona-key=%s\n" % KEY)):
        with open(name, "w", encoding="utf-8", opener=lambda at, flags: os.open(at, flags, 0o600)) as f:
            f.write(text)
    return path


def in_the_daemon(top, port):
    """Mastra's class in the sandbox of the provider's program: what it connects to goes through the gate."""
    with Daemon("--host", host_file(top, port, ', reaches: ["host.carrel.internal:%d"]' % port)) as d:
        box = d.create(start=True, manifest=MANIFEST, ports=[8080])
        ended = d.exec(box, "echo out; echo err >&2; exit 3")
        check("a command in the daemon: both outputs and its status", (ended["stdout"], ended["stderr"], ended["exit_code"]) == ("out\n", "err\n", 3), ended)
        path = "/v1/sandboxes/%s/files?path=note.txt" % box
        put, got = d.call("PUT", path, b"x" * 100000), d.call("GET", path)
        check("files", put.status < 300 and got.body == b"x" * 100000, put, got.status)
        names = "/v1/sandboxes/%s/files" % box
        made = [d.call("POST", names + "/mkdir", {"path": "many"}).status, d.exec(box, "cd many && touch $(seq -f n%03g 300) && ln -s n001 link")["exit_code"],
                d.call("POST", names + "/move", {"path": "many/n000", "target": "x"}).status, d.call("POST", names + "/move", {"path": "many/n001", "target": "many/z"}).status]
        got = d.must("GET", names + "/list?path=many")
        wanted = ["link"] + ["n%03d" % i for i in range(2, 301)] + ["z"]
        check("directories are made, names are moved, and listed in parts", made == [204, 0, 404, 204] and [e["path"] for e in got["items"]] == wanted, made, [e["path"] for e in got["items"]][:5])
        part = d.must("GET", names + "/list?path=many&limit=2")
        rest = d.must("GET", names + "/list?path=many&limit=2&cursor=" + part["next_cursor"])
        check("a page goes on where the last one ended", [e["path"] for e in part["items"] + rest["items"]] == ["link", "n002", "n003", "n004"], part, rest)
        stat = d.must("GET", names + "/stat?path=many/link")
        check("a link is told as one", (stat["kind"], stat["target"]) == ("link", "n001"), stat)
        gone = [d.call("DELETE", names + "?path=many").status, d.call("DELETE", names + "?path=many&recursive=true").status, d.call("GET", names + "/stat?path=many").status]
        check("a directory that is not empty is removed with all that is in it only", gone == [409, 200, 404], gone)
        url = d.call("GET", "/v1/sandboxes/%s/ports/8080" % box)
        check("the address of a port", url.status == 200 and url.json["url"] == "https://8080-t.stand-in.invalid", url)
        started = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": "echo begun; sleep 1000", "background": True})["exec"]
        at = "/v1/sandboxes/%s/execs/%d" % (box, started)
        until("its output comes while it runs", lambda: "begun" in str(d.must("GET", at + "/output")))
        d.must("DELETE", at)
        until("a killed command ends", lambda: d.must("GET", at)["state"] == "ended")
        check("a command that was killed", d.must("GET", at)["outcome"] == "killed", d.must("GET", at))
        d.call("DELETE", "/v1/sandboxes/" + box)
        check("a sandbox that is stopped is deleted there", [m["method"] for m in told(port) if m["path"].startswith("/sandbox/")][-2:].count("DELETE") == 1, told(port)[-4:])
        check("the key is in no log", KEY not in d.log_text())
    before = len(told(port))
    with Daemon("--host", host_file(top, port, "")) as d:
        box = d.create(start=True, manifest=MANIFEST)
        refused = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true"})
        d.call("DELETE", "/v1/sandboxes/" + box)
    check("what the host file does not list is not reached", refused.status >= 400 and len(told(port)) == before + 1, refused, told(port)[before:])


with serve(sys.executable, os.path.join(HERE, "e2b_stand_in.py"), KEY) as e2b, serve(NODE, os.path.join(HERE, "daytona_stand_in.mjs"), PACKAGES, KEY) as daytona:
    try:
        asked = provider("mastra-e2b", {"template": "base"}, int(e2b.stdout.readline()))
        made = [json.loads(m["body"]) for m in asked if m["method"] == "POST" and m["path"].endswith("/sandboxes")]
        check("E2B makes it without a network", [m.get("network", {}).get("denyOut") for m in made] == [["0.0.0.0/0"]], made)
        at = int(daytona.stdout.readline())
        asked = provider("mastra-daytona", {"workspace_id": "w1"}, at)
        made = [json.loads(m["body"]) for m in asked if (m["method"], m["path"]) == ("POST", "/sandbox")]
        check("Daytona makes it without a network", [m.get("networkBlockAll") for m in made] == [True], made)
        check("and it is deleted in the end", any(m["method"] == "DELETE" and m["path"].startswith("/sandbox/") for m in asked), asked[-3:])
        with tempfile.TemporaryDirectory(prefix="carrel-mastra-") as folder:
            os.chmod(folder, 0o755)
            in_the_daemon(folder, at)
    finally:
        e2b.kill()
        daytona.kill()
end()
