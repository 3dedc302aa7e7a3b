#!/usr/bin/env python3
"""endings_test - a command that ends has the same members, with the same names and numbers, over every front: run, exec, ps, REST, MCP, events, Python."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, end, report
from daemon_rig import Daemon
import python_rig  # noqa: F401  puts the package on the path

from carrel import Carrel

MANIFEST = "---\nschema: sandbox/v1\nid: '@test/endings'\nversion: 1.0.0\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 60000}\n" \
           "metadata: {carrel: {limits: {output_bytes: 100}}}\n---\n"
ALWAYS = {"outcome", "exit_code", "duration_ms", "cpu_ms", "memory_peak_kb", "stdout_bytes", "stderr_bytes", "dropped_bytes"}
SAME = {"outcome", "exit_code", "signal", "limits_reached", "stdout_bytes", "stderr_bytes", "dropped_bytes"}
OLD = {"event", "oom_killed", "denials"}     # words of `run --json` before they were the same
# name, script, time limit in ms (0: the manifest's), the members that are known
ROWS = [
    ("exits", "echo out; echo errors >&2", 0, dict(outcome="exited", exit_code=0, stdout_bytes=4, stderr_bytes=7, dropped_bytes=0)),
    ("exits with 3", "exit 3", 0, dict(outcome="exited", exit_code=3, stdout_bytes=0, stderr_bytes=0, dropped_bytes=0)),
    ("is ended by a signal", "kill -TERM $$", 0, dict(outcome="signaled", exit_code=143, signal=15, stdout_bytes=0, stderr_bytes=0, dropped_bytes=0)),
    ("runs into its time limit", "echo before; sleep 7931", 500, dict(outcome="timed_out", exit_code=124, stdout_bytes=7, stderr_bytes=0, dropped_bytes=0)),
    ("prints more than its limit", "printf %150s x", 0, dict(outcome="exited", exit_code=0, stdout_bytes=150, stderr_bytes=0, dropped_bytes=50)),
]


def carrel(*words):
    done = subprocess.run([CARREL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, json.loads(done.stdout)


def mcp(d, name, arguments):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return d.must("POST", "/mcp", call, headers={"Accept": "application/json, text/event-stream"})["result"]["structuredContent"]


def told(events):
    for line in events:
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


def in_python(result):
    """The fields of carrel.Result under the names of REST."""
    got = {name: getattr(result, name) for name in ("outcome", "signal", "duration_ms", "cpu_ms", "memory_peak_kb", "timeout_ms", "timeout_by") if getattr(result, name) is not None}
    lost = result.stdout_lost + result.stderr_lost
    return {**got, "exit_code": result.exit_status, "dropped_bytes": lost, "stdout_bytes": len(result.stdout) + result.stdout_lost, "stderr_bytes": len(result.stderr) + result.stderr_lost}


def endings(d, box, work, script, limit_ms):
    """(front, its members, its exit status or None) of the same command."""
    argv, limit = ["sh", "-c", script], ["--timeout", "%dms" % limit_ms] if limit_ms else []
    body = {"argv": argv, **({"timeout_ms": limit_ms} if limit_ms else {})}
    status, got = carrel("run", "--json", "-f", os.path.join(work, "SANDBOX.md"), *limit, "--", *argv)
    yield "run --json", got, status
    status, got = carrel("exec", "--json", "--state", d.state, *limit, box, "--", *argv)
    yield "exec --json", got, status
    hearing = d.connection()
    hearing.request("GET", "/v1/events?id=" + box, headers={"Accept": "text/event-stream"})
    events = hearing.getresponse()      # from here on, no event is missed
    got = d.must("POST", "/v1/sandboxes/%s/execs" % box, body)
    yield "REST", got, None
    yield "REST, asked again", d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, got["exec"])), None
    yield "ps --json", next(e for e in carrel("ps", "--json", "--state", d.state, box)[1]["items"] if e["exec"] == got["exec"]), None
    yield "MCP", mcp(d, "exec", {"sandbox_id": box, **body}), None
    yield "Python", in_python(Carrel(state=d.state).get(box).run(argv, timeout=limit_ms / 1000 if limit_ms else None)), None
    yield "an event", next(e for e in told(events) if e["event"] == "exec-ended" and e["exec"] == got["exec"]), None
    hearing.close()


def wrong_of(front, got, status, known, limit_ms):
    limit = (limit_ms, "call") if limit_ms else (60000, "manifest")
    return [w for w in (
        ALWAYS - set(got) and "lacks %s" % sorted(ALWAYS - set(got)),
        OLD & set(got) - ({"event"} if front == "an event" else set()) and "has an old member",
        {k: v for k, v in got.items() if k in SAME} != known and "differs from %s" % known,
        status is not None and status != got.get("exit_code") and "exit status %s" % status,
        front != "an event" and (got.get("timeout_ms"), got.get("timeout_by")) != limit and "its time limit is not %s, %s" % limit,
        front in ("run --json", "exec --json") and (got.get("timed_out"), got.get("truncated"), got.get("error", {}).get("code")) !=
        (known["outcome"] == "timed_out", known["dropped_bytes"] > 0, "sandbox_timeout" if known["outcome"] == "timed_out" else None) and "flags or error",
    ) if w]


with Daemon() as daemon:
    folder = os.path.join(daemon.folder, "work")
    os.mkdir(folder)
    with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as manifest:
        manifest.write(MANIFEST)
    sandbox = daemon.create(start=True, manifest=MANIFEST)
    for name, script, limit_ms, known in ROWS:
        found = []
        for front, members, status in endings(daemon, sandbox, folder, script, limit_ms):
            found += ["%s: %s: %s" % (front, w, members) for w in wrong_of(front, members, status, known, limit_ms)]
        report("a command that %s: the same ending over every front" % name, found)
end()
