#!/usr/bin/env python3
"""events_test - what happens to a sandbox is the same event for every reader: server-sent events,
`carrel events`, the Python client, the log; each has its row in the table of events, and a caller
cannot report one of the daemon's own.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, until
from daemon_rig import Daemon
import python_rig  # noqa: F401  puts the package on the path

from carrel import Carrel, CarrelError

TABLE = subprocess.run([CARREL, "docs", "events"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
MEMBERS = {word: set(re.findall(r"`(\w+)`", members)) for word, members in re.findall(r"^\| `([\w-]+)` \|[^|]*\|([^|]*)\|", TABLE, re.M)}
COMMON = {"event", "at_ms", "id", "status", "cause", "event_id"}
ENDING = {"outcome", "exit_code", "signal", "duration_ms", "cpu_ms", "memory_peak_kb", "limits_reached", "stdout_bytes", "stderr_bytes", "dropped_bytes", "sanitized"}
FORGED = ["stopped", "exec-ended", "egress-denied", "overflow", "missed", "a\n\nevent: stopped\ndata: {}", "a\rb", "two words", "x\u2028y"]


class Lines:
    """What a program prints, line by line."""

    def __init__(self, *words):
        self.lines = []
        self.program = subprocess.Popen([CARREL, "events", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=lambda: self.lines.extend(iter(self.program.stdout.readline, "")), daemon=True).start()

    def stop(self):
        self.program.kill()
        self.program.wait()
        return self.lines


def stream(d, seen):
    def hear():
        with contextlib.suppress(OSError, AssertionError):     # the daemon ended
            for name, data in d.stream("GET", "/v1/events"):
                seen.append((name, data))
    threading.Thread(target=hear, daemon=True).start()


def python(d, seen):
    def hear():
        with contextlib.suppress(CarrelError):
            for event in Carrel(state=d.state).events():
                seen.append(event)
    threading.Thread(target=hear, daemon=True).start()


def words_of(seen, box):
    return [name for name, data in seen if data.get("id") == box]


def life(d):
    """A sandbox to which much happens; its id."""
    box = d.create(start=True)
    d.exec(box, ["sh", "-c", "getent hosts no.example; exit 3"])
    d.must("POST", "/v1/sandboxes/%s/tasks" % box, {"task": "short", "timeout_ms": 1})
    d.must("POST", "/v1/sandboxes/%s/events" % box, {"event": "turn-end"})
    for word in FORGED:
        answer = d.call("POST", "/v1/sandboxes/%s/events" % box, {"event": word})
        check("a caller cannot report %r" % word, (answer.status, answer.code, answer.json.get("error", {}).get("path")) == (400, "invalid_argument", "event"), answer)
    return box


def main():
    with Daemon() as d:
        rest, python_events, listed, shown = [], [], Lines("--state", d.state, "--json"), Lines("--state", d.state)
        stream(d, rest)
        python(d, python_events)
        readers = [lambda: rest, lambda: python_events, lambda: listed.lines, lambda: shown.lines]
        until("everybody hears", lambda: d.must("DELETE", "/v1/sandboxes/" + d.create()) and all(reader() for reader in readers))
        box = life(d)
        until("the task ends, and a request was refused", lambda: {"task-timed-out", "egress-denied"} <= set(words_of(rest, box)))
        d.must("DELETE", "/v1/sandboxes/" + box)
        until("everybody heard of its end", lambda: words_of(rest, box)[-1:] == ["stopped"] and any(e.id == box and e.event == "stopped" for e in python_events) and
              all(any(box in line and "stopped" in line for line in reader.lines) for reader in (listed, shown)))
        listed, shown = [json.loads(line) for line in listed.stop() if box in line], [line for line in shown.stop() if box in line]
        mine = [data for name, data in rest if data.get("id") == box]
        check("it has happened", sorted(words_of(rest, box)) == ["created", "egress-denied", "exec-ended", "exec-started", "started", "stopped", "task-timed-out", "turn-end"], words_of(rest, box))
        check("`carrel events --json` prints the objects of REST", listed == mine, listed, mine)
        check("the Python client has their members", [{k: v for k, v in vars(e).items() if v not in (None, [])} for e in python_events if e.id == box] == mine, python_events, mine)
        check("no event has members that its row does not have", all(set(e) <= COMMON | MEMBERS.get(e["event"], set()) | (ENDING if "outcome" in MEMBERS.get(e["event"], ()) else set()) for e in mine), mine, MEMBERS)
        one = {e["event"]: e for e in mine}
        check("a command ends with its outcome", (one["exec-ended"]["exec"], one["exec-ended"]["outcome"], one["exec-ended"]["exit_code"]) == (1, "exited", 3), one["exec-ended"])
        check("a refusal says what was refused to whom", (one["egress-denied"]["host"], one["egress-denied"]["exec"], one["egress-denied"]["count"]) == ("no.example", 1, 1) and
              "SANDBOX.md" in one["egress-denied"]["message"], one["egress-denied"])
        check("a task that timed out has its name", one["task-timed-out"].get("task") == "short", one["task-timed-out"])
        lines = {line.split()[1]: line.rstrip("\n").split("  ", 3)[3] if line.count("  ") > 2 else "" for line in shown}
        check("people read a line of each", [re.sub(r"^running  ", "", lines[word]) for word in ("exec-ended", "egress-denied", "task-timed-out")] ==
              ["exec 1  running  exited 3", "exec 1  running  %s no.example" % one["egress-denied"]["reason"], "task short"], lines)
        schema = set(d.must("GET", "/v1/openapi.json")["components"]["schemas"]["Event"]["properties"])
        check("OpenAPI has every member of the table", schema == COMMON | ENDING | set().union(*MEMBERS.values()), schema, MEMBERS)


main()
end()
