#!/usr/bin/env python3
"""bridge_liar.py MODE - a provider's program that breaks the bridge protocol in one way.

It runs the example beside it, or that of the tree, and changes what passes between the two. `good` changes nothing.
"""
import json
import os
import socket
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = next(p for p in (HERE + "/provider.py", HERE + "/../../examples/provider-ssh/provider.py") if os.path.exists(p))
mode = sys.argv[1]
given = os.environ.pop("CARREL_PROVIDER_KEY", "")
real = subprocess.Popen([sys.executable, EXAMPLE, "--ssh", HERE + "/bridge_ssh", "here"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
seen, asked, printed = {"create": None, "held": [], "hung": False}, {}, {}


def record(line):
    if mode == "records":
        with open(sys.argv[2], "a", encoding="utf-8") as f:
            f.write(line)


def say(message):
    print(message if isinstance(message, str) else json.dumps(message), flush=True)


def dial():
    try:
        socket.create_connection((sys.argv[2], int(sys.argv[3])), timeout=20).close()
    except OSError:
        pass


URLS = {8001: "https://8001-box.example.com/?t=1", 8003: "javascript:alert(1)", 8004: "https://a.example.com/\u009b", 8005: "https://a.example.com/" + "x" * 2100, 8006: ["https://a.example.com/"]}


def tamper(m):
    """A request, changed by the mode; None: the example does not get it."""
    kind, words = m["kind"], m.get("argv", [])
    asked[m.get("id")] = m
    if mode == "splits" and words:
        m["argv"] = [" ".join(word.split()) if "two  words" in word else word for word in words]
    if mode == "finds-all" and words[:1] == ["/nonexistent/carrel-trial"]:
        m["argv"] = ["true"]
    if mode == "overwrites" and kind == "writeFile":
        m["append"] = False
    if mode == "one-by-one" and "carrel-trial-two" in str(words) and "quick" in str(words):
        seen["held"].append(m)
        return None
    if (mode, kind) in (("ignores-cancel", "cancel"), ("ignores-signals", "signal")):
        return None
    if (mode, kind) in (("survives", "kill"), ("finds-another", "connect")):
        say({"kind": "reply", "id": m["id"], "result": {"sandbox": "another"} if kind == "connect" else {}})
        return None
    return m


def twist(m):
    """A message of the example, changed by the mode; None: Carrel does not get it."""
    kind, of = m["kind"], asked.get(m.get("id"), {"kind": ""})["kind"]
    if mode == "hangs" and kind == "exited" and not seen["hung"]:
        seen["hung"] = True
        return None
    if mode == "mixes" and kind == "output":
        m["stream"] = "stdout"
    if mode == "loses" and kind == "output":
        printed[m["id"]] = printed.get(m["id"], 0) + len(m["data"])
        return m if printed[m["id"]] < 200 * 1024 else None
    if mode == "takes-unsaid" and kind == "credit":
        return None
    if mode == "dead" and of == "isAlive" and kind == "reply":
        m["result"] = {"alive": False}
    if mode == "invents" and of == "readFile" and kind == "error":
        return {"kind": "reply", "id": m["id"], "result": {"size": 0, "data": ""}}
    if mode == "agrees" and kind == "error" and m["code"] == "unsupported":
        return {"kind": "reply", "id": m["id"], "result": {}}
    return m


def say_url(m):
    if m["port"] in URLS:
        say({"kind": "reply", "id": m["id"], "result": {"url": URLS[m["port"]]}})
    else:
        say({"kind": "error", "id": m["id"], "code": "not_found", "message": "no such port"})


def to_example():
    for line in sys.stdin:
        m = json.loads(line)
        record(line)
        if mode == "lists" and m["kind"] == "list":  # again and again, or with a name that leads elsewhere
            name = {"/again": "a", "/slash": "../a"}.get(m["path"], "")
            say({"kind": "reply", "id": m["id"], "result": {"entries": [{"name": name, "type": "file", "size": 1, "mode": 420, "mtime_ms": 2 ** 62}], "more": True}})
            continue
        if mode == "urls" and m["kind"] == "getUrl":
            say_url(m)
            continue
        if mode == "dies" and m["kind"] == "runCommand":
            os._exit(3)
        if mode == "tells" and m["kind"] == "kill":
            dial()
        if m["kind"] == "create":
            seen["create"] = m["id"]
        m = tamper(m)
        if not m:
            continue
        real.stdin.write(json.dumps(m) + "\n")
        if mode == "floods" and m["kind"] == "runCommand":
            real.stdin.write(json.dumps({"kind": "credit", "id": m["id"], "bytes": 1 << 24}) + "\n")
        real.stdin.flush()
    if mode != "stays":
        real.stdin.close()


def hello(m):
    if mode == "version":
        m["protocol"] = 2
    if mode in ("lies", "urls"):
        m["abilities"].append("url")
    if mode == "urls":
        m["abilities"].remove("directories")
    if mode == "finds-another":
        m["abilities"].append("connect")
    if mode == "boasts":
        m["abilities"].append("immortal")
    if mode == "listed":
        m["abilities"].append("egress")
    if mode != "silent":
        say(m)
    if mode == "greets-twice":
        say(m)
    if mode == "unknown":
        say({"kind": "dance", "id": 1})
    if mode == "unasked":
        say({"kind": "reply", "id": 4000, "result": {}})
    if mode == "long":
        say("x" * (600 * 1024))
    if mode == "garbage":
        say("{")


if mode == "dials":
    dial()
if mode == "key":
    with open("/tmp/carrel-key", "w", encoding="utf-8") as out:
        out.write(given)
threading.Thread(target=to_example, daemon=True).start()
for text in real.stdout:
    record(text)
    message = json.loads(text)
    if message["kind"] == "hello":
        hello(message)
        continue
    if mode == "no-create" and message.get("id") == seen["create"]:
        say({"kind": "error", "id": message["id"], "code": "auth", "message": "the key is not valid"})
        continue
    message = twist(message)
    if not message:
        continue
    if mode == "early" and message["kind"] == "started":
        continue
    say(message)
    if mode == "twice" and message["kind"] == "exited":
        say(message)
    if mode == "after" and message["kind"] == "exited":
        say({"kind": "output", "id": message["id"], "stream": "stdout", "data": "eA=="})
if mode == "stays":
    threading.Event().wait()
