#!/usr/bin/env python3
# slow: 25 s: every ordered pair of operations, each on a sandbox of its own
# deep as root: the daemon's races are the same for every user
"""races_test - two operations on one sandbox at the same time: each gets one typed answer, each
command ends once, and nothing is left.

C23. The second operation begins at an event of the first: its request was sent, its first answer
came, or it was done. Every ordered pair runs once, at an event, over an interface and on a sandbox
that the seed chooses. CARREL_TEST_DEEP=1 runs each pair at every event over both interfaces, and
triples. CARREL_TEST_SEED is a number, or `random`.
"""
import collections
import http.client
import json
import os
import random
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
from box_rig import DEEP, PATIENCE, Inventory, Workspace, end, manifest, need_programs, own_place, report, until
from daemon_rig import Daemon, groups_of, processes_of
from keeper_rig import Ends, Refused, caller_of
from wire import C_STDIN, C_STDIN_END

SEED = os.environ.get("CARREL_TEST_SEED") or "20261123"
SEED = random.randrange(1 << 32) if SEED == "random" else int(SEED)
FILE_PUT = struct.Struct("=QIIII")     # src/wire/file.h
TRIPLES = 400          # of 1,728, with CARREL_TEST_DEEP=1
EVENTS = ("sent", "begun", "done")
STATES = ("running", "new", "paused")
GONE = {"sandbox_not_found"}
NO_FREEZE = {"capability_unavailable"}      # an ordinary user without its own group

# The codes that each may be refused with when it meets others. A command ends as it would alone, or
# as `killed` by a stop.
OPERATIONS = {
    "create": GONE | {"sandbox_exists"}, "exec": GONE, "background": GONE, "signal": GONE | {"exec_not_found"}, "kill": GONE | {"exec_not_found"},
    "write": GONE | {"canceled"}, "read": GONE | {"canceled"}, "extend": GONE, "pause": GONE | NO_FREEZE, "resume": GONE | NO_FREEZE, "stop": set(), "network": GONE,
}


class Step:
    """One operation in progress: its events, and in the end its answer: (code of the error or None,
    the rest).
    """

    def __init__(self, name):
        self.name, self.events = name, {e: threading.Event() for e in EVENTS}
        self.code = self.more = self.exec = None

    def run(self, front, meeting):
        try:
            self.code, self.more = getattr(front, self.name)(self, meeting)
        except (OSError, http.client.HTTPException, EOFError, box_wire.Gone, AssertionError) as e:
            self.code = "no answer: %r" % e
        for event in self.events.values():
            event.set()

    def __repr__(self):
        return "%s: %s %s" % (self.name, self.code, self.more)


class Rest:
    """The operations over HTTP."""

    def __init__(self, d):
        self.d = d

    def ask(self, step, method, path, body=None, accept=None):
        c = self.d.connection()
        head = {"Content-Type": "application/json" if isinstance(body, dict) else "application/octet-stream"} if body is not None else {}
        head.update({"Accept": accept} if accept else {})
        c.request(method, path, body=json.dumps(body).encode() if isinstance(body, dict) else body, headers=head)
        step.events["sent"].set()
        r = c.getresponse()
        step.events["begun"].set()
        return r

    def json(self, step, method, path, body=None):
        r = self.ask(step, method, path, body)
        text = r.read()
        fields = json.loads(text) if text and text[:1] == b"{" else {}
        if "exec" in fields:
            step.exec = fields["exec"]
        return (fields["error"]["code"] if "error" in fields else None if r.status < 300 else "status %d" % r.status), fields.get("error") or fields

    def create(self, step, m):
        return self.json(step, "POST", "/v1/sandboxes", {"name": m.name, "start": True})

    def exec(self, step, m):
        r = self.ask(step, "POST", m.path + "/execs", {"argv": ["sleep", "0.02"], "timeout_ms": 60000}, "text/event-stream")
        if r.status >= 300:
            fields = json.loads(r.read())["error"]
            return fields["code"], fields
        event, ends = None, []
        for line in r:
            word, _, rest = line.decode().partition(":")
            if word == "event":
                event = rest.strip()
            elif word == "data" and event == "started":
                step.exec = json.loads(rest)["exec"]
            elif word == "data" and event in ("end", "error"):
                ends.append((event, json.loads(rest)))
        if [e for e, _ in ends] != ["end"]:
            return "ended as %r" % ends, None
        return None, ends[0][1]

    def background(self, step, m):
        return self.json(step, "POST", m.path + "/execs", {"argv": ["sleep", "0.02"], "background": True})

    def signal(self, step, m):
        return self.json(step, "POST", "%s/execs/%d/signal" % (m.path, m.target), {"signal": 15})

    def kill(self, step, m):
        return self.json(step, "DELETE", "%s/execs/%d" % (m.path, m.target))

    def write(self, step, m):
        return self.json(step, "PUT", m.path + "/files?path=/tmp/a", b"x" * 50000)

    def read(self, step, m):
        return self.json(step, "GET", m.path + "/files?path=/etc/hosts")

    def extend(self, step, m):
        return self.json(step, "POST", m.path + "/extend", {"duration_ms": 1000})

    def pause(self, step, m):
        return self.json(step, "POST", m.path + "/pause", {})

    def resume(self, step, m):
        return self.json(step, "POST", m.path + "/resume", {})

    def stop(self, step, m):
        return self.json(step, "DELETE", m.path)

    def network(self, step, m):
        return self.json(step, "PUT", m.path + "/network", {"egress": []})


class Wire:
    """The same over the keeper's own socket."""

    def __init__(self, d):
        self.d = d

    def call(self, step, op, **fields):
        c = caller_of(self.d.state)
        serial = c.send(op, **fields)
        step.events["sent"].set()
        try:
            got, fds = c.take(serial)
        except Refused as r:
            return r.code, r.fields
        step.events["begun"].set()
        step.exec = got.get("exec", step.exec)
        if not fds:
            return None, got
        channel = box_wire.Channel(socket.socket(fileno=fds[0]))
        if op == "file.write":
            try:
                channel.send(C_STDIN, FILE_PUT.pack(50000, 6, 0, 0, 0) + b"/tmp/a" + b"x" * 50000 + FILE_PUT.pack(0, 0, 0, 0, 0))
                channel.send(C_STDIN_END)
            except BrokenPipeError:            # it has written all of it, or was stopped; the answer is checked below
                pass
        try:
            channel.wait()
        except ConnectionResetError:           # closed with unread bytes, after the end
            if not channel.end and not channel.failed:
                raise
        if channel.failed:
            return "failed %r" % (channel.failed,), None
        return None, {"outcome": channel.end["word"], "exit_code": channel.end["exit_code"]}

    def create(self, step, m):
        return self.call(step, "create", name=m.name, start=True)

    def exec(self, step, m):
        return self.call(step, "exec.start", id=m.name, argv=["sleep", "0.02"], timeout_ms=60000)

    def background(self, step, m):
        return self.call(step, "exec.start", id=m.name, argv=["sleep", "0.02"], background=True)

    def signal(self, step, m):
        return self.call(step, "exec.signal", id=m.name, exec=m.target, signal=15)

    def kill(self, step, m):
        return self.call(step, "exec.kill", id=m.name, exec=m.target)

    def write(self, step, m):
        return self.call(step, "file.write", id=m.name)

    def read(self, step, m):
        return self.call(step, "file.read", id=m.name, path="/etc/hosts")

    def extend(self, step, m):
        return self.call(step, "extend", id=m.name, duration_ms=1000)

    def pause(self, step, m):
        return self.call(step, "pause", id=m.name)

    def resume(self, step, m):
        return self.call(step, "resume", id=m.name)

    def stop(self, step, m):
        return self.call(step, "stop", id=m.name)

    def network(self, step, m):
        return self.call(step, "network", id=m.name)


class Meeting:
    """A new sandbox, and operations on it, each started at an event of the one before."""

    def __init__(self, d, number, state, names, events, front):
        self.d, self.state, self.names, self.events, self.front = d, state, names, events, front
        self.name = "m%d" % number
        self.path = "/v1/sandboxes/" + self.name
        self.target = 1
        self.id = d.create(name=self.name, start=state != "new")
        if state != "new":
            self.target = d.exec(self.id, ["sleep", "60"], background=True)["exec"]
        if state == "paused":
            d.must("POST", self.path + "/pause", {})

    def __str__(self):
        return "%s, on a sandbox that is %s, over %s" % (" ".join("%s (%s)" % pair for pair in zip(self.names, (*self.events, "last"))), self.state, type(self.front).__name__)

    def wait(self, has_come):
        """A pause that won delays a command until a resume."""
        while not has_come():
            self.d.call("POST", self.path + "/resume", {})

    def wrong(self, step):
        if step.code is not None:
            return step.code not in OPERATIONS[step.name]
        if "outcome" not in (step.more or {}):
            return False
        expected = {"exited"} | ({"killed"} if "stop" in self.names or (self.state == "new" and "kill" in self.names) else set())
        expected |= {"signaled"} if self.state == "new" and "signal" in self.names else set()        # no other one has number 1
        return step.more["outcome"] not in expected or (step.more["outcome"] == "exited" and step.more["exit_code"] != 0)

    def run(self):
        """What went wrong, and the numbers of the execs that ended or will end."""
        steps, threads = [Step(n) for n in self.names], []
        for i, step in enumerate(steps):
            threads.append(threading.Thread(target=step.run, args=(self.front, self)))
            threads[-1].start()
            self.wait(lambda: i == len(self.events) or step.events[self.events[i]].wait(0.1))
        for t in threads:
            self.wait(lambda: t.join(0.1) or not t.is_alive())
        wrong = ["%s: %r" % (self, step) for step in steps if self.wrong(step)]
        self.d.call("DELETE", self.path)
        return wrong, [s.exec for s in steps if s.exec and s.name in ("exec", "background")] + ([self.target] if self.state != "new" else [])


def can_freeze(d):
    box = d.create(start=True)
    answer = d.call("POST", "/v1/sandboxes/%s/pause" % box, {})
    d.must("DELETE", "/v1/sandboxes/" + box)
    return answer.code not in NO_FREEZE


def chosen(dice, states):
    pairs = [(a, b) for a in OPERATIONS for b in OPERATIONS]
    if not DEEP:
        return [(pair, (dice.choice(EVENTS),), dice.choice(states), dice.randrange(2)) for pair in pairs]
    triples = [tuple(dice.choice(list(OPERATIONS)) for _ in range(3)) for _ in range(TRIPLES)]
    return ([(pair, (event,), dice.choice(states), front) for pair in pairs for event in EVENTS for front in (0, 1)] +
            [(t, (dice.choice(EVENTS[:2]), dice.choice(EVENTS[:2])), dice.choice(states), dice.randrange(2)) for t in triples])


def main():
    need_programs()
    own_place()
    dice = random.Random(SEED)
    print("# seed %d" % SEED)
    inventory = Inventory()
    with Daemon() as d:
        fronts, ends, wrong, begun, count = (Rest(d), Wire(d)), Ends(d), collections.defaultdict(list), [], collections.Counter()
        before = set(processes_of(d.state))
        states = [state for state in STATES if state != "paused" or can_freeze(d)]
        for number, (names, events, state, front) in enumerate(chosen(dice, states)):
            meeting = Meeting(d, number, state, names, events, fronts[front])
            bad, execs = meeting.run()
            wrong[state] += bad
            count[state] += 1
            begun += [(meeting.id, e) for e in execs]
        for state in states:
            report("C23 operations that meet on a sandbox that is %s: one typed answer each, %d times" % (state, count[state]), wrong[state][:12])
        report("C23 each of %d commands that met an operation ended once" % len(begun), ends.wrong(begun)[:12])
        left = lambda: (["groups: %s" % groups_of(d.ids)] if groups_of(d.ids) else []) + os.listdir(os.path.join(d.state, "boxes")) + sorted(
            set(processes_of(d.state)) - before - {os.getpid()})
        try:
            until("nothing of them is left", lambda: not left())
        except AssertionError:
            pass
        report("C23 after operations that met nothing of their sandboxes is left", left())
    report("C23 and after the daemon has gone no process, group, lease or mount", inventory.left())
    end()


if __name__ == "__main__":
    main()
