#!/usr/bin/env python3
"""Background processes of agents over HTTP end when their agent sent nothing for ten minutes: not
earlier, and also if the daemon restarted meanwhile. Time passes at once (test_clock).
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import PATIENCE, check, end, need_programs, report, until
from daemon_rig import Daemon
from test_clock import Clock

EXECUTE = "mastra_workspace_execute_command"


class Agent:
    def __init__(self, d, box, name, more=""):
        self.d, self.path = d, "/mcp?sandbox=%s&context=%s%s" % (box, name, more)

    def post(self, method, params=None):
        return self.d.call("POST", self.path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}},
                           {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})

    def start(self, seconds):
        said = self.post("tools/call", {"name": EXECUTE, "arguments": {"command": "exec sleep %d" % seconds, "background": True}}).json["result"]
        assert "PID: " in said["content"][0]["text"], said


def running(d, box):
    return sorted(x["command"].rpartition(" ")[2] for x in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"] if x["state"] == "running")


def over_stdio(clock, d, box):
    """Over stdio, the end of input is the agent's end, and time does not matter."""
    agent = subprocess.Popen([os.path.join(clock.build, "carrel"), "mcp", "--state", d.state, "--sandbox", box], env={**os.environ, **clock.env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": EXECUTE, "arguments": {"command": "exec sleep 9004", "background": True}}}
    agent.stdin.write(json.dumps(call).encode() + b"\n")
    agent.stdin.flush()
    said = json.loads(agent.stdout.readline())
    check("over stdio an agent starts a process in the background", "PID: " in said["result"]["content"][0]["text"], said)
    clock.move(3600)
    fresh = d.exec(box, ["true"])              # the box has read the clock
    check("which has no limit of time by default", fresh["exit_code"] == 0 and "9004" in running(d, box), running(d, box))
    agent.stdin.close()
    agent.wait(timeout=PATIENCE)
    until("it ends with its agent", lambda: "9004" not in running(d, box))
    report("and ends with its agent")


def main():
    need_programs()
    with Clock() as clock:
        if not clock.moves:
            report("an agent's processes end with its silence", skip="ten minutes pass only with build-switches")
            end()
            return
        with Daemon(program=os.path.join(clock.build, "carrel"), env=clock.env) as d:
            box = d.create(start=True)
            silent, heard, kept = Agent(d, box, "silent"), Agent(d, box, "heard"), Agent(d, box, "kept", "&keep_background=true")
            silent.start(9001)
            heard.start(9002)
            kept.start(9003)
            check("no name of the daemon's own is shown", all("task" not in x for x in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]))
            clock.move(500)
            for what in ("door", "keeper"):
                pid = next(p for name, p in d.children().items() if what in name)
                d.restart_parts(lambda: os.kill(pid, signal.SIGKILL))  # noqa: B023
            clock.move(500)
            heard.post("ping")
            check("a restart begins the ten minutes anew: nothing has ended", running(d, box) == ["9001", "9002", "9003"], running(d, box))
            clock.move(200)
            until("the silent agent's process has ended", lambda: "9001" not in running(d, box))
            check("and no other: one was heard, one is kept", running(d, box) == ["9002", "9003"], running(d, box))
            ended = next(x for x in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"] if x["command"].endswith("9001"))
            check("it was killed", ended["outcome"] == "killed", ended)
            clock.move(700)
            until("the other agent was silent, too", lambda: running(d, box) == ["9003"])
            report("so it ends")
            for task in ("~x", "~" + "0" * 32):
                got = d.call("POST", "/v1/sandboxes/%s/tasks" % box, {"task": task, "timeout_ms": 1000})
                check("no caller has a task of such a name: " + task[:3], (got.status, got.code) == (400, "invalid_argument"), got)
            got = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", "client": "x"})
            check("and none says whose client it is", (got.status, got.code) == (400, "invalid_argument"), got)
            got = heard.post("tools/call", {"name": "exec", "arguments": {"command": "true", "client": "x"}}).json["result"]
            check("nor does a model", got.get("isError") is True and "client" in got["content"][0]["text"], got)
            over_stdio(clock, d, box)
            d.must("DELETE", "/v1/sandboxes/" + box)
    end()


main()
