#!/usr/bin/env python3
# slow: 10 s: judgements that take their whole time
"""judge_attack_test - one owner exhausts carrel-judge, with patterns and texts that take all of its
time and memory: its own commands are denied, and those of another owner run (P33; L06).

Owners of sandboxes write the rules that are judged. Each judgement is a process with 1 s of CPU time,
and 4 of one owner run at a time.
"""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, report
from daemon_rig import Daemon

PATTERNS = ("((((a{1,100}){1,100}){1,100}){1,100})", "[[:alpha:]]{1,255}{1,255}", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x$", "(((((((((a*)*)*)*)*)*)*)*)*)*b")
TEXTS = ("echo " + "a" * 16000, "true;" * 3000 + "rm f", "(" * 1900 + "rm f" + ")" * 1900, "echo $(" * 60 + "rm f" + ")" * 60, "<<a " * 900, "a|" * 990 + "rm", " ".join("w%d" % i for i in range(3000)),
         "rm f #" + "x" * 16000, "'" + "a" * 16000, "x=1 " * 3000 + "rm f", "rm " + "\\\n" * 7000 + " f")


class Owner:
    def __init__(self, d, name):
        self.d, self.name = d, name
        self.head = {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"scope": "all", "owner": name})["token"]}

    def create(self, rules):
        return self.d.must("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, "metadata": {"carrel": {"commands": rules}}}}, headers=self.head)["id"]

    def run(self, box, **fields):
        return self.d.call("POST", "/v1/sandboxes/%s/execs" % box, fields, self.head)

    def leave(self):
        for one in self.d.must("GET", "/v1/sandboxes", headers=self.head)["items"]:
            self.d.call("DELETE", "/v1/sandboxes/" + one["id"], headers=self.head)


def patterns(d, eve, ann, own):
    wrong, others = [], []
    for pattern in PATTERNS:
        box = eve.create({"validators": {"shell": {"cmd": {"pattern": pattern}}}})
        got = []
        threads = [threading.Thread(target=lambda b=box: got.append(eve.run(b, argv=["echo", "a" * 6000]))) for _ in range(6)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            others.append(ann.run(own, argv=["true"]))
        for t in threads:
            t.join()
        # what is too expensive is denied, what matches nothing is denied: none of them may run
        wrong += ["%s: %r" % (pattern, [g for g in got if g.code != "sandbox_policy_denied"][0])] if any(g.code != "sandbox_policy_denied" for g in got) else []
    report("%d patterns that take all time or memory, six times at once: denied" % len(PATTERNS), wrong)
    bad = [o for o in others if o.status != 200]
    check("and each command of another owner runs meanwhile", not bad and len(others) >= len(PATTERNS), len(others), bad[:2])


def texts(d, eve, ann, own):
    box, wrong, others = eve.create({"deny": ["rm"], "allow": ["true", "echo"]}), [], []
    for text in TEXTS:
        got = []
        threads = [threading.Thread(target=lambda t=text: got.append(eve.run(box, command=t))) for _ in range(6)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            others.append(ann.run(own, argv=["true"]))
        for t in threads:
            t.join()
        ran = [g for g in got if g.status == 200]
        wrong += ["%.40r: %r" % (text, got[0])] if (ran if text is not TEXTS[0] else len(ran) != 6) else []
    report("%d texts at the limits of what is read, six times at once: only the harmless one runs" % len(TEXTS), wrong)
    bad = [o for o in others if o.status != 200]
    check("and each command of another owner runs meanwhile", not bad, len(others), bad[:2])


def main():
    with Daemon() as d:
        eve, ann = Owner(d, "eve"), Owner(d, "ann")
        own = ann.create({"deny": ["rm"]})
        for part in (patterns, texts):
            part(d, eve, ann, own)
        eve.leave()
        ann.leave()
    end()


if __name__ == "__main__":
    main()
