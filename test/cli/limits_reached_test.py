#!/usr/bin/env python3
"""limits_reached_test - a full private disk, and too many processes: limits that do not end a
command are named when the command ends, in `run` and by every interface of the daemon.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, Workspace, check, end, report
from daemon_rig import Daemon

LIMITS = "{pids: 24, disk_mb: 8}"
MANIFEST = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "metadata": {"carrel": {"limits": {"pids": 24, "disk_mb": 8}}}}
FILL = ["sh", "-c", "dd if=/dev/zero of=/tmp/x bs=1M count=20 2>/dev/null; echo done"]
FREE = ["sh", "-c", "rm -f /tmp/x; echo done"]
THREADS = """
import threading
held, started = threading.Event(), 0
try:
    for i in range(200): threading.Thread(target=held.wait).start(); started += 1
except RuntimeError: pass
held.set(); print("done" if started < 200 else "all", started)
"""
MANY = ["python3", "-c", THREADS]
DISK, PIDS = "limits.disk_mb", "limits.pids"


def words_of(stderr):
    return [line for line in stderr.decode().splitlines() if line.startswith("carrel: ") and "metadata.carrel.limits." in line]


def run(counts):
    with Workspace(limits="timeout_ms: 280000", carrel="limits: " + LIMITS) as ws:
        done = ws.run(FILL)
        check("run: a full private disk is named, with the field to raise", len(words_of(done.stderr)) == 1 and DISK in words_of(done.stderr)[0] and done.returncode == 0, done)
        got = json.loads(ws.run(FILL, "--json").stdout)
        check("  in --json", got.get("limits_reached") == ["disk_mb"] and got["outcome"] == "exited", got)
        done = ws.run(["sh", "-c", "dd if=/dev/zero of=/tmp/x bs=1M count=4 2>/dev/null"])
        check("  and half a disk is not", words_of(done.stderr) == [], done)
        got = json.loads(ws.run(["true"], "--json").stdout)
        check("  nor is there a word of limits where none was met", "limits_reached" not in got, got)
        if not counts:
            report("run: too many threads are named, with the field to raise", skip="no control group counts tasks here")
            return
        done = ws.run(MANY)
        check("run: too many threads are named, with the field to raise", done.stdout.startswith(b"done") and len(words_of(done.stderr)) == 1 and PIDS in words_of(done.stderr)[0], done)
        got = json.loads(ws.run(MANY, "--json").stdout)
        check("  in --json", got.get("limits_reached") == ["pids"], got)


THREAD_COUNT = THREADS.replace("range(200)", "range(6000)").replace("started < 200", "started < 6000")


def by_memory():
    """Without a written `pids`: 512 tasks for 64 MiB, refused one by one and not killed for their
    memory; 4096 without memory_mb on a machine with less than 64 GiB.
    """
    for what, limits, least, most in (("little memory, fewer tasks", "timeout_ms: 280000, memory_mb: 64", 400, 512), ("no memory_mb, 4096 tasks and more", "timeout_ms: 280000", 4000, 16384)):
        with Workspace(limits=limits) as ws:
            done = ws.run(["python3", "-c", "import threading; threading.stack_size(65536)" + THREAD_COUNT])
            words = done.stdout.split()
            check("pids by memory: " + what, done.returncode == 0 and len(words) == 2 and least <= int(words[1]) <= most, done)


def mcp(d, name, arguments, box=None):
    return d.must("POST", "/mcp" + ("?sandbox=" + box if box else ""), {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
                  headers={"Accept": "application/json, text/event-stream"})["result"]


def living(counts):
    with Daemon() as d:
        box = d.create(manifest=MANIFEST)
        got = d.exec(box, FILL, timeout=ALWAYS)
        check("a living sandbox: a full private disk is in the answer", got.get("limits_reached") == ["disk_mb"], got)
        number = got["exec"]
        check("  in GET of the exec", d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, number)).get("limits_reached") == ["disk_mb"])
        events = dict(d.stream("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]}, timeout=ALWAYS))
        check("  in the last event of a stream; the disk is full for the next command as well", events["end"].get("limits_reached") == ["disk_mb"], events)
        got = mcp(d, "exec", {"sandbox_id": box, "argv": ["true"]})
        check("  in the tool exec of MCP", got["structuredContent"].get("limits_reached") == ["disk_mb"], got)
        got = mcp(d, "mastra_workspace_execute_command", {"command": "echo out"}, box)
        check("  as words where a tool answers in words", "Limit reached: " in got["content"][0]["text"] and DISK in got["content"][0]["text"], got)
        ran = subprocess.run([CARREL, "exec", "--state", d.state, box, "--", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
        check("  at the end of `carrel exec`", len(words_of(ran.stderr)) == 1 and DISK in words_of(ran.stderr)[0], ran)
        ran = subprocess.run([CARREL, "exec", "--json", "--state", d.state, box, "--", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
        check("  and in its --json", json.loads(ran.stdout).get("limits_reached") == ["disk_mb"], ran)
        got = d.exec(box, FREE, timeout=ALWAYS)
        check("  and no more once there is room", "limits_reached" not in got, got)
        if not counts:
            report("a living sandbox: too many threads are in the answer", skip="no control group counts tasks here")
            return
        got = d.exec(box, MANY, timeout=ALWAYS)
        check("a living sandbox: too many threads are in the answer", got.get("limits_reached") == ["pids"] and got["stdout"].startswith("done"), got)
        got = d.exec(box, ["true"], timeout=ALWAYS)
        check("  and not in that of the next command", "limits_reached" not in got, got)


def has_counter():
    with Workspace(limits="timeout_ms: 280000", carrel="limits: " + LIMITS) as ws:
        done = subprocess.run([CARREL, "plan", "--steps", "-w", ws.path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
        return b"pids.events" in done.stdout


if __name__ == "__main__":
    COUNTS = has_counter()
    run(COUNTS)
    by_memory()
    living(COUNTS)
    end()
