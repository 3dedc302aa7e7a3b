#!/usr/bin/env python3
"""Code and a shell in a sandbox of an image: its own interpreters count, and those of the host say nothing. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, need_programs
from daemon_rig import Daemon
from image_rig import Entry, Image, busybox_root, image_import, tar

# an interpreter that no machine has: it says what it was asked for
RUBY = b"#!/bin/sh\necho \"ruby $1 $2\"\n"
MANIFEST = {"provider": "container", "config": {"image": "box:1"}}


def over_the_daemon(d, box):
    def code(language, text):
        return d.call("POST", f"/v1/sandboxes/{box}/code", {"language": language, "code": text})
    got = code("shell", "echo out; exit 3")
    check("code of the shell", (got.status, got.json.get("stdout"), got.json.get("exit_code")) == (200, "out\n", 3), got)
    got = code("ruby", "puts 1")
    check("an interpreter that only the image has", (got.status, got.json.get("stdout")) == (200, "ruby -e puts 1\n"), got)
    for language in ("python", "javascript", "typescript", "perl"):
        got = code(language, "1")
        check(f"{language} of the host is not in the image, and that is said", got.code == "command_not_found", got)
    got = code("cobol", "1")
    check("a language that is none", got.code == "invalid_argument", got)
    answer = d.call("POST", f"/mcp?sandbox={box}", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_code", "arguments": {"language": "ruby", "code": "x"}}},
                    headers={"Accept": "application/json, text/event-stream"})
    check("run_code over MCP", "ruby -e x" in json.dumps(answer.json), answer)


def on_the_command_line(top, state, d, box):
    def carrel(*words, **more):
        return subprocess.run([CARREL, *words], env={**os.environ, "CARREL_STATE": state}, cwd=top, capture_output=True, text=True, timeout=ALWAYS, check=False, **more)
    path = os.path.join(top, "SANDBOX.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(MANIFEST, f)
    got = carrel("code", "-f", path, "-l", "ruby", input="puts 1\n")
    check("carrel code in a new sandbox", got.stdout == "ruby -e puts 1\n\n", got)
    got = carrel("code", "-f", path, "-l", "python", input="1")
    check("one that it does not have: no word of the host's programs", "command_not_found" in got.stderr and "/usr/bin/" not in got.stderr.replace("/usr/local/bin, /usr/bin", ""), got)
    got = carrel("code", "--in", box, "-l", "ruby", input="x")
    check("carrel code in a sandbox of the daemon", got.stdout == "ruby -e x\n", got)
    got = carrel("exec", box, "--", "nopenope", stdin=subprocess.DEVNULL)
    check("a command that it does not have", "command_not_found" in got.stderr and "its image" in got.stderr, got)
    done = subprocess.run(["script", "-qec", f"{CARREL} exec -t {box} -- sh -c 'test -t 0 && echo a terminal; pwd'", "/dev/null"], env={**os.environ, "CARREL_STATE": state}, cwd=top,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    check("a terminal", "a terminal" in done.stdout, done)


def main():
    need_programs()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        state, layout = os.path.join(top, "state"), os.path.join(top, "layout")
        image_import(CARREL, state, Image(busybox_root(), tar(Entry("bin/ruby", RUBY, mode=0o755)), config={"config": {"Env": ["PATH=/bin"]}}).layout(layout), "box:1")
        with Daemon(state=state) as d:
            box = d.create(manifest={"schema": "sandbox/v1", **MANIFEST})
            over_the_daemon(d, box)
            on_the_command_line(top, state, d, box)
    return end()


if __name__ == "__main__":
    sys.exit(main())
