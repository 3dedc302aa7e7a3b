#!/usr/bin/env python3
# slow: 250 s: with --all it runs 10,000 commands
"""audit_many_test - J06: random commands of many callers, with every kind of end, denials, refusals,
callers that go away and repeated calls: one start and one end of each in the log, and nothing else
(P31). 400 of them; 10,000 in --all, by a daemon of root.

Each worker has sandboxes of its own and counts what it started; the log has to have the same count
for each of them.
"""
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from audit_rig import all_ended, log, starts_and_ends, unpaired, verify
from box_rig import DEEP, PATIENCE, check, end, report
from daemon_rig import Daemon

COUNT = 10000 if DEEP and os.getuid() == 0 else 400
WORKERS = 4
PLAIN = {"provider": "local", "config": {}, "limits": {"memory_mb": 64}}
RULED = {**PLAIN, "metadata": {"carrel": {"commands": {"deny": ["rm"]}}}}


class Worker(threading.Thread):
    def __init__(self, d, number):
        super().__init__(daemon=True)     # one that hangs does not keep the program
        self.done = 0
        self.d, self.dice = d, random.Random(6000 + number)
        self.ruled = d.create(manifest=RULED)
        self.boxes = [self.ruled, d.create(manifest=PLAIN)]
        self.started = {box: 0 for box in self.boxes}
        self.refused = {box: 0 for box in self.boxes}
        self.denied = {box: 0 for box in self.boxes}
        self.wrong = []

    def status(self):
        self.d.exec(self.box, ["sh", "-c", "exit %d" % self.dice.randrange(9)])

    def time_out(self):
        self.d.exec(self.box, ["sleep", "60"], timeout_ms=20)

    def missing(self):
        self.d.call("POST", self.path, {"argv": ["/usr/bin/no-such-program"]})

    def kill(self):
        number = self.d.exec(self.box, ["sleep", "60"], background=True)["exec"]
        self.d.must("DELETE", "%s/%d" % (self.path, number))

    def signal(self):
        self.d.exec(self.box, ["sh", "-c", "kill -9 $$"])

    def goes(self):
        """Its caller goes away when it has begun."""
        gone = self.d.stream("POST", self.path, {"argv": ["sleep", "60"]})
        next(gone)
        gone.close()

    def twice(self):
        key = "k%d" % self.dice.getrandbits(60)
        for _ in range(2):
            self.d.exec(self.box, ["true"], key=key)

    def memory(self):
        self.d.exec(self.box, ["sh", "-c", "x=$(head -c 200000000 /dev/zero | tr '\\0' x)"])

    def output(self):
        self.d.exec(self.box, ["sh", "-c", "head -c 100000 /dev/zero"])

    def refuse(self):
        self.d.call("POST", self.path, {"argv": [""]})

    def deny(self):
        self.d.call("POST", self.path, {"argv": ["rm", "f"]})

    KINDS = ((status, 12), (time_out, 3), (missing, 3), (kill, 3), (signal, 3), (goes, 3), (twice, 3), (memory, 1), (output, 2), (refuse, 3), (deny, 4))

    def run(self):
        try:
            self.work()
        except Exception as e:
            self.wrong.append("%s: %s" % (type(e).__name__, e))

    def work(self):
        kinds, weights = zip(*self.KINDS)
        # each kind at least once, then by chance
        for kind in [*kinds, *self.dice.choices(kinds, weights, k=COUNT // WORKERS - len(kinds))]:
            self.box = self.dice.choice(self.boxes)
            self.path = "/v1/sandboxes/%s/execs" % self.box
            # under rules, a program that does not exist is denied too
            is_denied = self.box == self.ruled and kind in (Worker.deny, Worker.missing)
            counted = self.refused if kind == Worker.refuse else self.denied if is_denied else self.started
            counted[self.box] += 1
            self.kind = kind.__name__
            kind(self)
            self.done += 1


def run_all(workers):
    """Waits for all of them, or until none has come further for a long time: a stream that only says that
    it is alive never ends. What is wrong."""
    for w in workers:
        w.start()
    done, since = None, 0
    while alive := [w for w in workers if w.is_alive()]:
        alive[0].join(0.1)
        if done != (now := [w.done for w in workers]):
            done, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE + 30:     # a call without an answer ends before
            return ["%s: no end in %d s, after %d commands" % (w.kind, PATIENCE + 30, w.done) for w in alive]
    return [line for w in workers for line in w.wrong]


def main():
    with Daemon() as d:
        workers = [Worker(d, n) for n in range(WORKERS)]
        report("%d commands ran" % COUNT, run_all(workers))
        all_ended(d)
        entries = log(d)
        wrong = []
        for w in workers:
            for box in w.boxes:
                of = [e for e in entries if e["subject"]["ref"] == box]
                found = {action: sum(e["action"] == action for e in of) for action in ("exec.started", "exec.ended", "exec.refused", "policy.denied")}
                want = {"exec.started": w.started[box], "exec.ended": w.started[box], "exec.refused": w.refused[box] + w.denied[box], "policy.denied": w.denied[box]}
                wrong += ["%s: %r, and not %r" % (box, found, want)] if found != want else []
                numbers = [e["input"]["exec"] for e in of if e["action"] == "exec.started"]
                wrong += ["%s: an exec has two starts" % box] if len(set(numbers)) != len(numbers) else []
        report("J06: one start and one end of each, one refusal of each that was refused, and no other", wrong)
        check("J06: each end is of one start", not unpaired(d), unpaired(d))
        outcomes = {ends[0].get("outcome", "error") for ends in starts_and_ends(d).values()}
        check("J06: every kind of end is among them", {"exited", "timed_out", "killed", "signaled", "error"} <= outcomes, sorted(outcomes))
        if os.getuid() == 0:     # an ordinary user may have no group with a limit of memory
            check("J06: also commands that had no memory left", "oom_killed" in outcomes, sorted(outcomes))
        report("the chain is intact", verify(d))
    end()


if __name__ == "__main__":
    main()
