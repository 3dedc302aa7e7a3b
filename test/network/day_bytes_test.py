#!/usr/bin/env python3
"""day_bytes_test - max-egress-bytes-per-day: the sandboxes of an owner send no byte beyond it, open
connections are closed, and neither another sandbox nor a restart nor a clock that is set begins the
day again.

Everything happens in a network namespace of the test, with a name server and origins on its
loopback.
"""
import datetime
import json
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, SWITCHES, check, end, until
from daemon_rig import Daemon
from gate_rig import PRELUDE, Names, Origin, enter
from test_clock import Clock

MOST, PART = 640000, 10000
DAY = 86400
HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8"]}
MANIFEST = {"provider": "local", "config": {}, "network": {"egress": ["sink.test:7000", "web.test"]}}
LIMITED = {**MANIFEST, "policy": {"inline": {"grants": [{"principal": "*", "actions": [{"action": "sandbox:*"}]}], "limits": [{"kind": "max-egress-bytes-per-day", "max": MOST}]}}}

# another connection is open meanwhile, and sends nothing more
FLOOD = PRELUDE + """
idle = socket.create_connection(("sink.test", 7000), 60)
idle.sendall(b"x")
s = socket.create_connection(("sink.test", 7000), 60)
try:
    s.sendall(b"y" * 3000000); s.shutdown(socket.SHUT_WR); s.recv(1); print("all")
except OSError: print("cut")
try: idle.sendall(b"h" * 100); print("open" if idle.recv(1) else "closed")
except OSError: print("closed")
"""
SEND = PRELUDE.replace("%", "%%") + """
with socket.create_connection(("sink.test", 7000), 60) as s:
    s.sendall(b"z" * %d); s.shutdown(socket.SHUT_WR); print(len(s.recv(1)))
"""
WEB = PRELUDE + """
print(talk(socket.gethostbyname("web.test"), 80, get("web.test")))
"""
HOLD = PRELUDE + """
with socket.create_connection(("sink.test", 7000), 60) as s:
    s.sendall(b"h" * 100); print(s.recv(1), flush=True)
"""


class Sink:
    """Counts what it is sent, and answers one byte at the end, or after 100 bytes `h`."""

    def __init__(self):
        self.got = 0
        self.origin = Origin("127.0.0.1", 7000, self.take)

    def take(self, peer):
        held = 0
        while data := peer.recv(65536):
            self.got += len(data)
            held += data.count(b"h")
            if held == 100:
                peer.sendall(b"!")
        peer.sendall(b"!")


class World:
    def __init__(self, d, sink, head=None):
        self.d, self.sink, self.head = d, sink, head

    def create(self, manifest=None):
        return self.d.must("POST", "/v1/sandboxes", {"manifest": manifest or LIMITED}, headers=self.head)["id"]

    def run(self, box, code):
        got = self.d.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["python3", "-c", code]}, headers=self.head, timeout=ALWAYS)
        return (got.get("stdout", "") + got.get("stderr", "")).split()

    def used(self, *boxes):
        return sum(self.d.must("GET", "/v1/sandboxes/%s/usage" % box).get("bytes_out", 0) for box in boxes)

    def denials(self, box):
        return {one["reason"] for one in self.d.must("GET", "/v1/sandboxes/%s/denials" % box, headers=self.head)["items"]}

    def refused(self, box):
        """Is a new connection refused, with the reason?"""
        got = self.run(box, WEB)
        return "429" in got and "day_bytes_exhausted" in " ".join(got) or got[-6:]

    def counted(self):
        for line in self.d.call("GET", "/metrics").body.decode().splitlines():
            if line.startswith('carrel_egress_day_bytes{owner="uid:'):
                return int(line.rsplit(" ", 1)[1])
        return None


def reaches_the_limit(w):
    few, box, free = w.create(), w.create(), w.create(MANIFEST)
    sent = w.run(few, SEND % 1000)
    until("the rest of the part is given back", lambda: w.counted() == 1000)
    check("what is sent is counted, and no more", sent == ["1"] and w.sink.got == 1000, sent, w.sink.got)
    got = w.run(box, FLOOD)
    check("a connection is cut where the day's bytes are sent, and one that is idle is closed", got == ["cut", "closed"], got)
    until("the ends of both connections are counted", lambda: w.used(few, box) >= MOST)
    check("  no byte passed beyond the limit, and none was kept back", w.used(few, box) == MOST and w.sink.got <= MOST, w.used(few, box), w.sink.got)
    check("  it is a reason of its own in the list of denials", "day_bytes_exhausted" in w.denials(box), w.denials(box))
    check("  a new connection is refused, in words that HTTP can read", w.refused(box) is True, w.refused(box))
    check("  so are those of the owner's other sandboxes, also new ones", w.refused(few) is True and w.refused(w.create()) is True)
    check("  and a sandbox without the limit is not", w.run(free, SEND % 5) == ["1"])
    until("the event is in the log", lambda: "network: limit-exceeded, by policy/limits" in w.d.log_text())
    ann = World(w.d, w.sink, {"Authorization": "Bearer " + w.d.must("POST", "/v1/tokens", {"scope": "all", "owner": "ann"})["token"]})
    check("  another owner has a day of its own", ann.run(ann.create(), SEND % 5) == ["1"])
    return box


def begins_no_day(w, box, clock):
    w.d.stop()
    w.d.start()
    check("a restart of the daemon does not begin the day again", w.refused(box) is True, w.refused(box))
    for days in (1, -1, 400, 0):
        clock.set_wall(clock.noon + days * DAY)
        w.d.stop()
        w.d.start()
        got = w.refused(box), w.refused(w.create())
        check("  nor does a wall clock that is set by %d days" % days, got == (True, True), got)
    clock.move(DAY // 2 + 1)
    check("after midnight connections are possible again", w.run(box, SEND % 1000) == ["1"])


def loses_a_gate(w):
    """A gate that is killed while it has a part of what is left."""
    box = w.create()
    w.d.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["python3", "-c", HOLD], "background": True})
    until("the sink has it", lambda: w.sink.got >= 100)
    gate = w.d.children()["carrel-gate"]
    os.kill(gate, signal.SIGKILL)
    until("there is another gate", lambda: w.d.children().get("carrel-gate") not in (None, gate))
    counted = w.counted()
    check("of a gate that was killed the whole part is counted, or what it had not given back", counted in (100, PART), counted)
    until("the new gate serves", lambda: w.run(box, SEND % 1)[-1:] == ["1"])
    got = w.run(box, FLOOD)
    check("  and the limit holds", got == ["cut", "closed"] and w.sink.got <= MOST, got, w.sink.got)


def is_off(w):
    check("with the guard off all of it passes", w.run(w.create(), FLOOD) == ["all", "open"] and w.sink.got > MOST, w.sink.got)


def with_daemon(sink, clock, env, *parts):
    with tempfile.TemporaryDirectory(prefix="carrel-day-") as folder:
        os.chmod(folder, 0o755)
        host = os.path.join(folder, "host.json")
        with open(host, "w", encoding="ascii") as f:
            json.dump(HOST, f)
        with Daemon("--host", host, program=SWITCHES, env={**clock.env, **env}) as d:
            sink.got = 0
            for part in parts:
                part(World(d, sink))


def main():
    if not os.access(SWITCHES, os.X_OK):
        print("1..0 # SKIP there is no build with switches, whose clock can be set: a real midnight would begin another day")
        return
    enter()
    names = Names({"sink.test": ["127.0.0.1"], "web.test": ["127.0.0.1"]})
    web, sink = Origin("127.0.0.1", 80), Sink()
    with Clock() as clock:
        now = datetime.datetime.now(datetime.timezone.utc)
        clock.noon = DAY // 2 - (now.hour * 3600 + now.minute * 60 + now.second)
        clock.set_wall(clock.noon)
        with_daemon(sink, clock, {}, lambda w: begins_no_day(w, reaches_the_limit(w), clock))
        with_daemon(sink, clock, {}, loses_a_gate)
        with_daemon(sink, clock, {"CARREL_TEST_GATE_OFF": "day"}, is_off)
    del names, web
    end()


if __name__ == "__main__":
    main()
