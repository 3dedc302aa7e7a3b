#!/usr/bin/env python3
"""reconnect_test - a client of server-sent events whose connection broke continues after the last
event that it received (Last-Event-ID), or is informed that events are lost.
"""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import json

from box_rig import check, end, report
from daemon_rig import Daemon, until

# A round for each line of input, with each character in two writes: a piece of text ends in the
# middle of one.
ROUNDS = 30
SCRIPT = "import os, sys\nfor i in range(%d):\n    sys.stdin.readline()\n    for n, word in ((1, 'o%%d\u00e9'), (2, 'e%%d\u20ac')):\n        b = (word %% i).encode()\n        os.write(n, b[:-1])\n        os.write(n, b[-1:])\n" % ROUNDS
WANT = {"stdout": "".join("o%d\u00e9" % i for i in range(ROUNDS)), "stderr": "".join("e%d\u20ac" % i for i in range(ROUNDS))}


class Stream:
    """The blocks of one answer, and the id that EventSource would send when it reconnects."""

    def __init__(self, d, path, last=None):
        self.connection = d.connection()
        self.last = last
        self.connection.request("GET", path, headers={"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def __iter__(self):
        name, lines = "message", []
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("id:"):
                self.last = line[3:].strip()
            elif line.startswith("data:"):
                lines.append(line[5:].lstrip(" "))
            elif line == "" and lines:
                yield name, json.loads("\n".join(lines))
                name, lines = "message", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


def output_goes_on(d, box):
    """The client closes at the first output of each round."""
    exec_ = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["python3", "-c", SCRIPT], "background": True, "stdin": True})["exec"]
    path = "/v1/sandboxes/%s/execs/%d/output" % (box, exec_)
    said, last, turns, over = {"stdout": "", "stderr": ""}, None, 0, False
    while not over:
        if turns < ROUNDS:
            d.must("POST", path.replace("output", "stdin"), b"\n")
        with Stream(d, path, last) as s:
            turns += 1
            for name, data in s:
                if name in said:
                    said[name] += data["data"]
                over = name == "end"
                if name in said and turns < ROUNDS:
                    break
            last = s.last
    check("output of %d connections is there once, and whole characters" % turns, said == WANT, said)
    with Stream(d, path, last) as s:
        check("behind the end there is nothing: 204, which ends an EventSource", s.status == 204, s.status, last)
    with Stream(d, path + "?stdout_offset=0&stderr_offset=3", last.replace(".end", "")) as s:
        check("the header counts, and not the query of the first request", [n for n, _ in s] == ["started", "end"])
    for wrong in ("x", "1", "1.", ".1", "1.2.3", "-1.0", "1.99999999999999999999", "1.2.end2"):
        with Stream(d, path, wrong) as s:
            error = json.loads(s.answer.read()).get("error", {}) if s.status == 400 else {}
            check("%s is refused, with place and next step" % wrong, error.get("path") == "Last-Event-ID" and "stdout_offset" in error["hint"], s.status, error)


def output_is_lost(d, box):
    exec_ = d.exec(box, ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo -n end"], keep_bytes=100000)["exec"]
    with Stream(d, "/v1/sandboxes/%s/execs/%d/output" % (box, exec_), "1000.0") as s:
        events = list(s)
    first = next(data for name, data in events if name == "stdout")
    last = events[-1][1]
    check("what is no longer kept is a gap in the offsets, and counted", first["offset"] > 1000 and last["stdout_bytes"] == 3000003 and last["dropped_bytes"] > 0, first["offset"], last)


def take(stream, count):
    found = []
    for name, data in stream:
        found.append((name, data.get("exec")))
        if len(found) == count:
            break
    return found


def events_go_on(d, box):
    path = "/v1/events?id=" + box
    with Stream(d, path) as s:
        first = s.answer.readline().decode()
        check("a stream begins with its place, before any event", first.startswith("id: ") and s.answer.readline() == b"\n", first)
        start = first[4:].strip()
    execs = [d.exec(box, ["true"])["exec"] for _ in range(3)]
    with Stream(d, path, start) as s:
        heard = []
        for name, data in s:
            heard.append((name, data.get("exec"), data["event_id"] == s.last))
            if name == "exec-ended":
                break
        last = s.last
    d.exec(box, ["true"])                  # two more events, after the others
    with Stream(d, path, last) as s:
        heard += [(name, number, True) for name, number in take(s, 2 * len(execs[1:]) + 2)]
    want = [row for x in execs for row in (("exec-started", x, True), ("exec-ended", x, True))]
    check("what happened while nobody was connected follows, once, in order", heard[:len(want)] == want and len(heard) == len(want) + 2, heard)


def events_are_missed(d, box):
    path = "/v1/events?id=" + box
    with Stream(d, path) as s:
        d.exec(box, ["true"])
        take(s, 2)
        last = s.last
    keeper = next(p for n, p in d.children().items() if "keeper" in n)
    os.kill(keeper, signal.SIGKILL)
    until("another keeper is there", lambda: keeper not in d.children().values() and d.is_up())
    for what, given in (("a keeper that died", last), ("another daemon", "0123456789abcdef.7"), ("nothing at all", "?")):
        with Stream(d, path, given) as s:
            one = take(s, 1)
            number = d.exec(box, ["true"])["exec"]
            more = take(s, 2)
            check("behind an event of %s comes `missed`, and what happens then" % what, one == [("missed", None)] and more == [("exec-started", number), ("exec-ended", number)], one, more)
            last = s.last
        with Stream(d, path, last) as s:
            d.exec(box, ["true"])
            check("and from there it goes on without a gap (%s)" % what, [n for n, _ in take(s, 2)] == ["exec-started", "exec-ended"])
    for _ in range(520):
        d.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"], "background": True})
    with Stream(d, path, last) as s:
        check("more events than are kept: `missed`", take(s, 1) == [("missed", None)])


with Daemon() as daemon:
    sandbox = daemon.create(start=True)
    for test in (output_goes_on, output_is_lost, events_go_on, events_are_missed):
        try:
            test(daemon, sandbox)
        except Exception as problem:       # a test with an exception has failed; the others still run
            report(test.__name__ + " comes to its end", repr(problem))
end()
