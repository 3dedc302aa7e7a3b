#!/usr/bin/env python3
"""failed_starts_test - a command that cannot start has the same error over every front: code, reason, hint and exit status of run, exec, REST, MCP and Python."""
import json
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, report
from daemon_rig import Daemon
from python_rig import raised  # it puts the package on the path

from carrel import Carrel, CarrelError

HEAD = "---\nschema: sandbox/v1\nid: '@test/starts'\nversion: 1.0.0\nprovider: local\nconfig: {%s}\nlimits: {timeout_ms: 60000}\n" \
       "mounts:\n  - source: workspace\n    at: /workspace\n    mode: read-write\n---\n"
FULL = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmetadata: {carrel: {limits: {pids: 2}}}\n---\n"
STATUS = {"command_not_found": 127, "command_not_executable": 126, "invalid_argument": 125, "quota_exceeded": 126}
# name, argv, config.cwd, code, reason, path
ROWS = [
    ("no such program", ["nothing-of-this-name"], "", "command_not_found", "not_found", "argv/0"),
    ("no such path", ["./nothing"], "", "command_not_found", "not_found", "argv/0"),
    ("a word of the shell", ["cd", "/"], "", "command_not_found", "not_found", "argv/0"),
    ("a file that is not executable", ["/workspace/plain"], "", "command_not_executable", "not_executable", "argv/0"),
    ("a directory", ["/etc"], "", "command_not_executable", "directory", "argv/0"),
    ("an interpreter that does not exist", ["/workspace/script"], "", "command_not_executable", "interpreter", "argv/0"),
    ("no program of this machine", ["/workspace/foreign"], "", "command_not_executable", "format", "argv/0"),
    ("a working directory that does not exist", ["true"], "/nope", "invalid_argument", "", "cwd"),
]
SHOWN = ("code", "reason", "path", "message", "hint")


def shown(error):
    return {name: error.get(name) or "" for name in SHOWN}


def carrel(*words):
    done = subprocess.run([CARREL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, shown(json.loads(done.stdout)["error"])


def in_daemon(d, box, argv, cwd=None):
    """(front, its error, its exit status or None)"""
    if len(argv[-1]) < 128 * 1024:      # else `carrel exec` itself cannot be started
        status, error = carrel("exec", "--json", "--state", d.state, *(["--cwd", cwd] if cwd else []), box, "--", *argv)
        yield "exec", error, status
    body = {"argv": argv, **({"cwd": cwd} if cwd else {})}
    yield "REST", shown(d.call("POST", "/v1/sandboxes/%s/execs" % box, body).json["error"]), None
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "exec", "arguments": {"sandbox_id": box, **body}}}
    got = d.must("POST", "/mcp", call, headers={"Accept": "application/json, text/event-stream"})["result"]
    yield "MCP", shown(got["content"][0]["_meta"]["carrel/error"]), None
    e = raised(CarrelError, Carrel(state=d.state).get(box).run, argv, cwd=cwd)
    yield "Python", shown({name: getattr(e, name) for name in SHOWN}), None


def compare(name, answers, code, reason, path):
    (first, wanted, _), *_ = answers
    wrong = ["%s: %s" % (first, wanted)] if (wanted["code"], wanted["reason"], wanted["path"]) != (code, reason, path) or not wanted["hint"] else []
    wrong += ["%s: %s, and %s: %s" % (front, error, first, wanted) for front, error, _ in answers if error != wanted]
    wrong += ["%s: exit status %d" % (front, status) for front, _, status in answers if status not in (None, STATUS[code])]
    report("%s: %s over every front" % (name, code), wrong)


def put(path, content, mode=stat.S_IRUSR | stat.S_IWUSR):
    with open(path, "wb") as f:
        f.write(content)
    os.chmod(path, mode)


with Daemon() as daemon:
    boxes, works = {}, {}
    for cwd in ("", "/nope"):
        works[cwd] = work = os.path.join(daemon.folder, "work" + cwd.replace("/", "-"))
        os.mkdir(work)
        put(os.path.join(work, "SANDBOX.md"), (HEAD % ("cwd: %s" % cwd if cwd else "")).encode())
        put(os.path.join(work, "plain"), b"words\n")
        put(os.path.join(work, "script"), b"#!/nope/sh\n", 0o700)
        put(os.path.join(work, "foreign"), b"\x7fELF" + bytes(60), 0o700)
        boxes[cwd] = daemon.create(start=True, workspace=work, manifest=HEAD % ("cwd: %s" % cwd if cwd else ""))
    for name, argv, cwd, code, reason, path in ROWS:
        status, error = carrel("run", "--json", "-f", os.path.join(works[cwd], "SANDBOX.md"), "--", *argv)
        compare(name, [("run", error, status), *in_daemon(daemon, boxes[cwd], argv, cwd or None)], code, reason, path)
    compare("an argument of 150 KiB", list(in_daemon(daemon, boxes[""], ["true", "x" * 150 * 1024])), "command_not_executable", "too_long", "argv/0")
    # `carrel run` starts one command, which always has its place: for it run/run_test.c has the row
    full = daemon.create(start=True, manifest=FULL)
    sleep, held = {"argv": ["sleep", "7941"], "background": True}, 0
    while held < 8 and daemon.call("POST", "/v1/sandboxes/%s/execs" % full, sleep).status < 300:
        held += 1
    if held == 8:
        report("no room for another process: quota_exceeded over every front", skip="limits.pids is not enforced here")
    else:
        compare("no room for another process", list(in_daemon(daemon, full, ["true"])), "quota_exceeded", "", "")
        check("which is no end of the %d others" % held, held > 0 and daemon.must("GET", "/v1/sandboxes/%s" % full)["status"] == "running")
end()
