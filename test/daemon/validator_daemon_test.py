#!/usr/bin/env python3
"""validator_daemon_test - programs as validators in the daemon: each runs in a sandbox of its own
while the daemon serves others; whatever is not its status 0 denies, and it ends with its call.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import ALWAYS, CARREL, check, end, need_programs, report
from daemon_rig import Daemon, until

# With a secret of its environment the launcher cannot be dumped, and such a process makes no sandbox.
HOST = "providers: {local: {isolated: true, mounts: true}}\nmount_roots: [/tmp]\nsecret_sources: [{environment: {a-b: SECRET_OF_OPERATOR}}]\n"
MANIFEST = {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/workspace", "mode": "read-write"}]}
MARK = "mark-of-%d" % os.getpid()
OWNER_MAX, OWNER_WAITING_MAX, TIMEOUT_MS = 2, 64, 60000
# What the validator does stands in the command that it judges.
JUDGE = """
import json, os, socket, sys, time
call = json.load(sys.stdin)
a, text = call["arguments"], json.dumps(call)
mark = %r
if "say-all" in text: print(text); sys.exit(1)
if "deny-it" in text: print("not this\\nmore"); sys.exit(3)
if "hang-it" in text: time.sleep(1000)
if "flood-it" in text:
    while True: print(5000 * "x")
if "kill-it" in text: os.kill(os.getpid(), 9)
if "own-status" in text: sys.exit(125)
if "break-it" in text: 1 / 0
if "net-it" in text:
    try: socket.create_connection(("192.0.2.1", 80), 5)
    except OSError as e: sys.exit(0 if e.errno == 101 else 1)
    sys.exit(1)
if "file-it" in text: sys.exit(os.path.exists("/workspace") or os.path.exists(%r) or os.access("/etc", os.W_OK))
"""


def write_host(path, timeout_ms, secret, tools=("shell",), more=None):
    program = {"command": ["/usr/bin/python3", "-c", JUDGE % (MARK, secret)], "timeout_ms": timeout_ms, "memory_mb": 128}
    rules = {"validators": {tool: {"program": program} for tool in tools}, **(more or {})}
    with open(path, "w", encoding="utf-8") as f:
        f.write(HOST + "commands: %s\n" % json.dumps(rules))


def ask(d, box, argv, **fields):
    return d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": argv, **fields})


def is_denied(a, reason):
    return a.status == 403 and a.code == "sandbox_policy_denied" and a.json["error"]["reason"] == reason and "AK_SANDBOX_DENIED" in a.json["error"]["hint"]


def running():
    """Processes of the validator, seen from outside its sandbox."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as f:
                found += [int(entry)] if entry.isdigit() and MARK.encode() in f.read() else []
        except OSError:
            continue
    return found


def is_killed(began):
    """All have ended, before the time of the first was over."""
    until("the program has ended", lambda: not running())
    return time.monotonic() - began < TIMEOUT_MS / 1000


def begin(d, box, argv):
    """A call whose answer nobody reads yet."""
    c = d.connection()
    c.request("POST", "/v1/sandboxes/%s/execs" % box, json.dumps({"argv": argv}), {"Content-Type": "application/json"})
    return c


def answers(d, workspace, box):
    got = ask(d, box, ["echo", "ran-it"])
    check("what the program allows runs", got.status == 200 and got.json["stdout"] == "ran-it\n", got)
    got = ask(d, box, ["touch", "deny-it"])
    check("what it denies is not started, and its first line is the reason", is_denied(got, "invalid") and "not this" in got.json["error"]["message"] and "\nmore" not in got.json["error"]["message"] and got.json["error"]["path"] == "commands/validators" and not os.path.exists(os.path.join(workspace, "deny-it")), got)
    got = ask(d, box, ["echo", "say-all"], env={"A": "hidden-value"}, cwd="/tmp")
    seen = got.json["error"]["message"]
    check("it gets words, directory, and names of variables alone", is_denied(got, "invalid") and '"argv":["echo","say-all"]' in seen.replace(" ", "") and "/tmp" in seen and "hidden-value" not in seen, got)
    rows = (("flood-it", "validator_failed"), ("kill-it", "validator_failed"), ("own-status", "validator_failed"), ("break-it", "invalid"), ("hang-it", "validator_failed"), ("net-it", None), ("file-it", None))
    wrong = []
    for word, reason in rows:
        got = ask(d, box, ["echo", word])
        if not (is_denied(got, reason) if reason else got.status == 200):
            wrong.append((word, got))
    report("V1: floods, signals, statuses of its own, hangs: denied; it has no network and no files", wrong)
    check("  nothing of them is left", until("the programs have ended", lambda: not running()))
    listed = [e["command"] for e in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]]
    check("  there is an exec of the allowed ones alone", sorted(listed) == ["echo file-it", "echo net-it", "echo ran-it"], listed)
    logged = lambda: [e["output"].get("reason") for e in audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid())) if e["action"] == "policy.denied"]  # noqa: E731
    check("denials are policy.denied in the audit log", until("they are logged", lambda: (logged().count("validator_failed"), logged().count("invalid")) == (4, 3)), logged())


def facades(d, workspace, box):
    got = [d.call("POST", "/v1/sandboxes/%s/code" % box, {"language": "shell", "code": code}) for code in ("echo fine", "touch deny-it")]
    check("code: the command that it becomes is judged", got[0].status == 200 and is_denied(got[1], "invalid"), got)
    env = {**os.environ, "CARREL_STATE": d.state}
    done = subprocess.run([CARREL, "exec", box, "--", "touch", "deny-it"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    check("carrel exec: status 126 with the reason", done.returncode == 126 and "not this" in done.stderr, done)
    head = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "exec", "Accept": "application/json, text/event-stream"}
    got = d.call("POST", "/mcp?sandbox=%s" % box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "exec", "arguments": {"argv": ["touch", "deny-it"]}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}, head)
    check("MCP: the tool fails with the reason", b"not this" in got.body and not os.path.exists(os.path.join(workspace, "deny-it")), got)


def meanwhile(d, box):
    """A validator that hangs holds up its own call alone."""
    began, held = time.monotonic(), begin(d, box, ["echo", "hang-it"])
    until("the program runs", running)
    got = [d.call("GET", "/v1/info"), ask(d, box, ["echo", "other"])]
    check("while a program hangs, other calls are served, and other commands judged", all(g.status == 200 for g in got) and running() != [], got)
    held.close()
    check("when its caller leaves, it is killed", is_killed(began))


def bounded(d, box):
    held = [begin(d, box, ["echo", "hang-it"]) for _ in range(OWNER_MAX + 3)]
    until("two programs run", lambda: len(running()) == OWNER_MAX)
    waiting = threading.Thread(target=lambda: got.append(ask(d, box, ["echo", "later"])))
    got = []
    waiting.start()
    check("one owner's programs run two at a time", d.call("GET", "/v1/info").status == 200 and len(running()) == OWNER_MAX, running())
    more = [begin(d, box, ["echo", "hang-it"]) for _ in range(OWNER_WAITING_MAX)]
    refused = []
    until("one call too many is refused", lambda: refused or (lambda a: refused.append(a) if a.status == 429 else None)(ask(d, box, ["echo", "hang-it"])) or refused)
    check("  and 64 calls wait", refused[0].code == "quota_exceeded" and refused[0].json["error"]["reason"] == "validators", refused)
    for c in held + more:
        c.close()
    waiting.join(ALWAYS)
    check("  those that wait are judged in turn", got and got[0].status == 200 and got[0].json["stdout"] == "later\n", got)
    until("the programs have ended", lambda: not running())


def ends(d, box):
    began, held = time.monotonic(), begin(d, box, ["echo", "hang-it"])
    until("the program runs", running)
    keeper = d.children()["carrel-keeper"]
    d.restart_parts(lambda: os.kill(keeper, signal.SIGKILL))
    check("when the keeper dies, the program is killed", is_killed(began))
    held.close()
    began, held = time.monotonic(), begin(d, box, ["echo", "hang-it"])
    until("the program runs", running)
    part = d.children()["carrel-validate"]
    d.restart_parts(lambda: os.kill(part, signal.SIGKILL))
    held.close()
    check("when carrel-validate dies, so does the program", is_killed(began))
    check("  and it is started again", ask(d, box, ["echo", "x"]).status == 200)
    began, held = time.monotonic(), begin(d, box, ["echo", "hang-it"])
    until("the program runs", running)
    d.stop(signal.SIGKILL)
    held.close()
    check("when the daemon is killed, so is the program", is_killed(began))
    d.start()


def approvals(d, box):
    """The program is asked before a person, and once."""
    got = ask(d, box, ["sh", "-c", "$x deny-it"])
    check("what the program denies asks no person", is_denied(got, "invalid") and not d.must("GET", "/v1/approvals")["items"], got)
    out = []
    waiting = threading.Thread(target=lambda: out.append(ask(d, box, ["sh", "-c", "x=echo; $x ran"])))
    waiting.start()
    asked = until("a person is asked", lambda: [a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested"])
    d.must("POST", "/v1/approvals/" + asked[0]["id"], {"verdict": "approve"})
    waiting.join(ALWAYS)
    check("what it allows, and a person approves, runs", out[0].status == 200 and out[0].json["stdout"] == "ran\n", out)


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-validator-daemon-", dir="/tmp") as workspace:
        os.chmod(workspace, 0o777)
        secret, host = os.path.join(workspace, "secret"), os.path.join(workspace, "host.yaml")
        with open(secret, "w", encoding="utf-8") as f:
            f.write("seen")
        write_host(host, 1000, secret)
        with Daemon("--host", host, env={"SECRET_OF_OPERATOR": "x"}) as d:
            box = d.create(workspace=workspace, manifest=MANIFEST, start=True)
            answers(d, workspace, box)
            facades(d, workspace, box)
            write_host(host, TIMEOUT_MS, secret)
            d.reload()
            meanwhile(d, box)
            bounded(d, box)
            ends(d, box)
            write_host(host, TIMEOUT_MS, secret, more={"unresolved": "ask"})
            d.reload()
            approvals(d, box)
            write_host(host, TIMEOUT_MS, secret, tools=("file.read",))
            d.reload()
            got = [d.call("GET", "/v1/sandboxes/%s/files?path=%s" % (box, path)) for path in ("/workspace/secret", "/workspace/deny-it")]
            check("a program for another tool sees its arguments", got[0].status == 200 and is_denied(got[1], "invalid") and ask(d, box, ["touch", "deny-it"]).status == 200, got)
            with open(host, "w", encoding="utf-8") as f:
                f.write(HOST + "commands: {validators: {shell: {program: {command: [/usr/bin/no-such-program]}}}}\n")
            d.reload()
            got = ask(d, box, ["ls"])
            check("a program that is not there denies", is_denied(got, "validator_failed") and "could not be run" in got.json["error"]["message"], got)
            with open(host, "w", encoding="utf-8") as f:
                f.write(HOST)
            d.reload()
            check("without a program there is no carrel-validate", "carrel-validate" not in d.children() and ask(d, box, ["ls"]).status == 200, d.children())
    end()


if __name__ == "__main__":
    main()
