#!/usr/bin/env python3
"""tool_server_test - `carrel tool-server`: an MCP server has the client's standard streams and the
permissions of its own block alone, ends with its client, and is in the document.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NUMBER = [0]
HEAD = """---
schema: sandbox/v1
id: "@test/servers"
version: 1.0.0
provider: local
config: {}
mounts: [{source: workspace, at: /workspace}]
metadata: {carrel: {tool_servers: {
"""
BLOCK = "sandbox: {schema: sandbox/v1, provider: local, config: {}, mounts: [{source: workspace, at: /data, mode: %s}], env: {passthrough: [SHOWN]}}"
# a server that does what its client asks of it, and tells what came of it
SERVER = """import json, os, socket, sys
def act(params):
    name, at = params["name"], params.get("arguments", {}).get("at", "")
    if name == "read":
        return open(at).read()
    if name == "write":
        return open(at, "w").write("x")
    if name == "connect":
        return str(socket.create_connection((at.split(":")[0], int(at.split(":")[1])), 3))
    return json.dumps(dict(os.environ))
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    try:
        result = {"content": [{"type": "text", "text": str(act(m["params"]))}]} if m["method"] == "tools/call" else {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    except OSError as e:
        result = {"content": [{"type": "text", "text": str(e)}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    def __init__(self, top):
        self.work = os.path.join(top, "work")
        os.mkdir(self.work)
        self.env = {**os.environ, "HOME": top, "CARREL_STATE": os.path.join(top, "state"), "SHOWN": "yes", "OTHER": "no"}
        self.put("server.py", SERVER)
        self.put("deaf.py", "import signal, sys, time\nprint('deaf', flush=True)\nwhile True:\n    time.sleep(1000)\n")
        self.declare()

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as f:
            f.write(text)

    def declare(self, mode="read-only"):
        rows = ",\n".join("  %s: {command: [python3, -u, /data/%s.py], auth_scopes: [repo], %s}" % (name, file, BLOCK % mode) for name, file in (("files", "server"), ("deaf", "deaf")))
        self.put("SANDBOX.md", HEAD + rows + "\n}}}\n---\n")

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def server(self, name):
        return subprocess.Popen([CARREL, "tool-server", name, "-w", self.work], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Client:
    """A client of MCP over the standard streams of one server."""

    def __init__(self, child):
        self.child, self.last = child, 0

    def ask(self, method, params):
        self.last += 1
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline())
        assert answer["id"] == self.last, answer
        return answer["result"]

    def tool(self, name, at=""):
        got = self.ask("tools/call", {"name": name, "arguments": {"at": at}})
        return got["content"][0]["text"], got.get("isError", False)


def permissions(bench):
    outside = os.path.join(os.path.dirname(bench.work), "outside")
    with open(outside, "w", encoding="utf-8") as f:
        f.write("not for servers")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(bench.server("files"))
        tell("it answers over its client's streams", client.ask("initialize", {"protocolVersion": "2025-06-18"})["serverInfo"]["name"] == "t")
        tell("it reads what its block mounts", client.tool("read", "/data/deaf.py")[0].startswith("import signal"))
        for name, at in (("read", outside), ("read", bench.work + "/server.py"), ("write", "/data/new"), ("write", "/usr/new"), ("connect", "127.0.0.1:%d" % listener.getsockname()[1]), ("connect", "192.0.2.1:443")):
            got = client.tool(name, at)
            tell("it cannot %s %s" % (name, at.split(":")[0] if name == "connect" else os.path.basename(at)), got[1], got)
        names = json.loads(client.tool("environment")[0])
        tell("it has the variables of its block alone", names.get("SHOWN") == "yes" and "OTHER" not in names, sorted(names))
        client.child.stdin.close()
        tell("it ends with its client", client.child.wait(PATIENCE) == 0, client.child.stderr.read())
    bench.declare("read-write")
    client = Client(bench.server("files"))
    tell("with another block it may write", client.tool("write", "/data/new") == ("1", False) and os.path.exists(os.path.join(bench.work, "new")))
    client.child.stdin.close()
    client.child.wait(PATIENCE)
    os.unlink(os.path.join(bench.work, "new"))
    bench.declare()


def ends(bench):
    child = bench.server("deaf")
    tell("a server that does not read begins", child.stdout.readline() == "deaf\n")
    child.stdin.close()
    tell("it is ended after its client has closed its input", child.wait(PATIENCE) == 143, child.returncode)


def refusals(bench):
    done = bench.carrel("tool-server", "other")
    tell("a server that is not declared: a typed error", done.returncode == 126 and "sandbox_not_configured" in done.stderr and "It declares files" in done.stderr, done)
    done = bench.carrel("tool-server")
    tell("a name is needed", done.returncode == 125 and "NAME" in done.stderr, done)
    with open(os.path.join(bench.work, "SANDBOX.md"), encoding="utf-8") as f:
        good = f.read()
    for old, new, code in (("command: [python3, -u, /data/server.py]", "command: []", "sandbox_schema_invalid"), ("files: {", "'Fi les': {", "sandbox_schema_invalid"),
                           ("command: [python3, -u, /data/server.py], ", "", "sandbox_schema_invalid"), ("auth_scopes: [repo], sandbox", "scopes: [repo], sandbox", "sandbox_schema_invalid"),
                           ("mode: read-only}], env", "mode: never}], env", "sandbox_schema_invalid"), ("provider: local, config: {}, mounts", "provider: nowhere, config: {}, mounts", "sandbox_provider_unknown")):
        assert old in good, old
        bench.put("SANDBOX.md", good.replace(old, new, 1))
        done = bench.carrel("tool-server", "files")
        tell("refused: %s" % new, done.returncode == 126 and code in done.stderr and done.stdout == "", done)
    bench.put("SANDBOX.md", good)


def example():
    done = subprocess.run([CARREL, "tool-server", "files", "-w", os.path.join(TOP, "examples", "tool-server")], input='{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n', capture_output=True, text=True, timeout=PATIENCE, check=False)
    tell("the example runs", done.returncode == 0 and json.loads(done.stdout)["result"]["tools"][0]["name"] == "read", done)


def main():
    if not shutil.which("python3", path="/usr/bin:/bin"):
        print("1..0 # SKIP the sandbox shows no python3")
        return
    with tempfile.TemporaryDirectory() as top:
        bench = Bench(top)
        permissions(bench)
        ends(bench)
        refusals(bench)
    example()
    print(f"1..{NUMBER[0]}")


main()
