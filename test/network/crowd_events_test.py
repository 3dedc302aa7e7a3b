#!/usr/bin/env python3
# slow: 25 s: tens of thousands of questions are refused while ten watch
# deep as root: a longer flood
"""crowd_events_test - a payload's refused questions end no link (src/keeper/peer.h, Q1): neither
the door's, with many watchers, nor the gate's, while lists change.

test/daemon/crowd_links_test.py does the same with lists. Everything happens in a network namespace
of the test.
"""
import http.client
import json
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, PATIENCE, check, end, report, until
from crowd_rig import Tenant, Victim, at_once
from daemon_rig import Daemon
from gate_rig import Names, enter

HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8"]}
WATCHERS = 250 if DEEP else 10
CHANGED, TIMES = 16, 13                 # sandboxes, and how often the list of each is changed
LONG = ["%s%03d.listed.test" % ("n" * 40 + "." + "m" * 55 + ".", i) for i in range(200)]      # 22 KB

# as fast as a process can ask, until it is killed or has asked this often
FLOOD = """
import random, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    name = "%016x" % random.getrandbits(64)
    s.sendto(struct.pack(">HHHHHH", i & 65535, 0x100, 1, 0, 0, 0) + bytes([len(name)]) + name.encode() + b"\\x04evil\\x04test\\0" + struct.pack(">HH", 1, 1), ("198.18.0.1", 53))
"""


def manifest(listed):
    return {"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", "provider": "local", "config": {}, "network": {"egress": listed}}


class Watcher(threading.Thread):
    """Reads events as they come, until the stream ends."""

    def __init__(self, d, tenant):
        super().__init__(daemon=True)
        self.d, self.tenant, self.events, self.error = d, tenant, [], None
        self.start()

    def run(self):
        try:
            for name, data in self.d.stream("GET", "/v1/events", headers=self.tenant.all, timeout=10 * PATIENCE):
                self.events.append((name, data))
        except (OSError, http.client.HTTPException, AssertionError) as e:
            self.error = e

    def names(self):
        return [name for name, _ in self.events]


def flood(d, tenant, box, count):
    return tenant.must("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["python3", "-c", FLOOD, str(count)], "background": True})["exec"]


def watched(d, mallory):
    """Refused questions of one sandbox, with many watchers."""
    box = mallory.create(start=True, manifest=manifest(["allowed.test"]))
    victim = Victim(d)
    watchers = [Watcher(d, mallory) for _ in range(WATCHERS)]
    until("everybody watches", lambda: mallory.clear([mallory.create()]) or all(w.events for w in watchers))
    exec_number = flood(d, mallory, box, 400000 if DEEP else 60000)
    until("questions were refused, and told", lambda: any("egress-denied" in w.names() for w in watchers) or not all(w.is_alive() for w in watchers))
    until("it has asked all", lambda: mallory.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, exec_number))["state"] == "ended")
    report("refused questions beside %d watchers: a foreground command of another owner ends well" % WATCHERS, victim.ends_well())
    mallory.clear([box])
    until("every watcher hears of the end, or that it lost something", lambda: all(not w.is_alive() or "overflow" in w.names() or any(
        data.get("status") == "stopped" or name == "stopped" for name, data in w.events) for w in watchers))
    check("no stream was cut", all(w.error is None for w in watchers), repr([w.error for w in watchers if w.error][:1]))
    check("each heard of refusals", all("egress-denied" in w.names() or "overflow" in w.names() for w in watchers))
    one = max(watchers, key=lambda w: len(w.events))
    told = [data for name, data in one.events if name == "egress-denied"]
    check("those past the first of a second are told as one, with their number", any("reason" not in e and e.get("count", 0) > 0 and e.get("message") for e in told), repr(told[-1:]))
    seconds = {}
    for e in told:
        seconds[e["at_ms"] // 1000] = seconds.get(e["at_ms"] // 1000, 0) + 1
    check("and at most 34 come in one second of the clock, those of two spans", max(seconds.values()) <= 34, repr(seconds))


def lists_beside(d, mallory):
    """Lists of 22 KB are changed while the gate does not read: it is stopped, so that nothing
    depends on its speed. Together they are more than a queue may hold.
    """
    boxes = [mallory.create(start=True, manifest=manifest(["allowed.test"])) for _ in range(CHANGED)]
    victim, watcher, answers = Victim(d), Watcher(d, mallory), []
    until("it watches", lambda: mallory.clear([mallory.create()]) or watcher.events)
    gate = d.children()["carrel-gate"]

    def change():
        answers.extend(at_once(TIMES * CHANGED, put))

    def put():
        i = next(turn)
        return mallory.call("PUT", "/v1/sandboxes/%s/network" % boxes[i % CHANGED], {"egress": LONG[:199] + ["last%d.listed.test" % i]})
    turn, thread = iter(range(1 << 30)), threading.Thread(target=change)
    with d.held(gate):
        thread.start()
        until("the keeper knows all changes", lambda: watcher.names().count("network-changed") >= TIMES * CHANGED or not os.path.exists("/proc/%d" % gate) or not thread.is_alive())
    thread.join()
    wrong = [a for a in answers if getattr(a, "status", None) != 200]
    check("%d changes to lists of 22 KB at once are taken by a gate that did not read for a while" % len(answers), not wrong, repr(wrong[:1])[:300])
    wrong = [a for a in at_once(CHANGED, put_nothing(mallory, boxes)) if getattr(a, "status", None) != 200]
    check("and narrowed to nothing", not wrong, repr(wrong[:1])[:300])
    report("beside a foreground command, with the same gate", victim.ends_well())
    mallory.clear(boxes)


def put_nothing(mallory, boxes):
    left = iter(boxes)
    return lambda: mallory.call("PUT", "/v1/sandboxes/%s/network" % next(left), {"egress": []})


def main():
    enter()
    names = Names({"allowed.test": ["127.0.0.1"]})
    with tempfile.TemporaryDirectory() as folder:
        host = os.path.join(folder, "host.json")
        with open(host, "w", encoding="ascii") as f:
            json.dump(HOST, f)
        for part in (watched, lists_beside):
            with Daemon("--host", host) as d:
                try:
                    part(d, Tenant(d, "mallory"))
                except (AssertionError, KeyError, IndexError, ValueError, TypeError, OSError) as e:
                    report(part.__name__, repr(e)[:500])
    end()


if __name__ == "__main__":
    main()
