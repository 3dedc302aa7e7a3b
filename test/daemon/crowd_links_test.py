#!/usr/bin/env python3
# slow: 25 s: 200 sandboxes, and 256 commands one after another
# deep as root: it repeats one round
"""crowd_links_test - a shared link never ends because its queue is full (src/keeper/peer.h, Q1):
lists of any length, by any number of callers at once.

One tenant requests more than the keeper's queue may hold. A foreground command of another owner
continues, and keeper and door are the same processes after each row.
test/network/crowd_events_test.py does the same with a payload's refused questions.
"""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, check, end, report
from crowd_rig import WAIT, Crowd, Tenant, Victim, at_once

LARGE = {"x": "m" * 65000}              # metadata: at most 65,536 bytes


def is_list_of(answer, ids):
    return getattr(answer, "status", None) == 200 and [item["id"] for item in answer.json["items"]] == ids


def is_too_much(answer):
    """Refused by the owner's own limit of unread answers: an answer, and no effect on others."""
    return getattr(answer, "status", None) == 429 and answer.json["error"].get("reason") == "answers"


def one_long_list(d, mallory):
    victim = Victim(d)
    ids = [mallory.create(metadata=LARGE) for _ in range(200)]
    answer = d.call("GET", "/v1/sandboxes", headers=mallory.read, timeout=WAIT)
    check("200 sandboxes of 65,000 bytes of metadata are listed for a token of scope read", is_list_of(answer, ids), repr(answer)[:200])
    check("each with all of its metadata", answer.status == 200 and all(i["metadata"] == LARGE for i in answer.json["items"]))
    report("and a foreground command of another owner ends well", victim.ends_well())
    mallory.clear(ids)


def many_at_once(d, mallory):
    ids = [mallory.create(metadata=LARGE) for _ in range(12)]
    victim = Victim(d)
    answers = at_once(40, lambda: mallory.get("/v1/sandboxes"))
    wrong = [a for a in answers if not is_list_of(a, ids) and not is_too_much(a)]
    check("12 such sandboxes are listed 40 times at once", not wrong and any(is_list_of(a, ids) for a in answers), repr(wrong[:1])[:200])
    report("beside a foreground command", victim.ends_well())
    mallory.clear(ids)


def while_it_changes(d, mallory):
    ids, stop = [mallory.create(metadata=LARGE) for _ in range(12)], threading.Event()

    def churn():
        try:
            while not stop.is_set():
                mallory.clear([mallory.create(metadata=LARGE)])
        except (AssertionError, OSError):
            pass                           # the lists below say what is wrong
    thread = threading.Thread(target=churn)
    thread.start()
    answers = at_once(8, lambda: mallory.get("/v1/sandboxes"))
    stop.set()
    thread.join()
    seen = [[i["id"] for i in a.json["items"]] if getattr(a, "status", 0) == 200 else [] for a in answers]
    check("what is there all the while is listed once, while others come and go", all([x for x in s if x in ids] == ids and len(s) == len(set(s)) for s in seen), repr(seen)[:200])
    mallory.clear(ids)


def hardly_fits(d, mallory):
    """Two fill a part, and the third is longer than the rest of the message."""
    manifest = {"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", "provider": "local", "config": {}, "metadata": {"key%d" % i: i for i in range(150)}}
    ids = [mallory.create(metadata=LARGE), mallory.create(metadata=LARGE), mallory.create(metadata=LARGE, manifest=manifest)]
    answer = mallory.get("/v1/sandboxes")
    check("a third sandbox with 150 warnings behind two with large metadata is listed", is_list_of(answer, ids), repr(answer)[:200])
    said = [w["at"] for w in answer.json["items"][2]["warnings"]]            # the daemon of an ordinary user adds one
    check("with its warnings", len([at for at in said if "key" in at]) == 150, said)
    mallory.clear(ids)


def lists_of_commands(d, mallory):
    box = mallory.create(start=True)
    for _ in range(256):
        d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": ": " + "c" * 100}, headers=mallory.all)
    victim = Victim(d)
    for _ in range(20 if DEEP else 1):
        answers = at_once(250, lambda: mallory.get("/v1/sandboxes/%s/execs" % box))
    good = [a for a in answers if getattr(a, "status", None) == 200 and len(a.json["items"]) == 256]
    wrong = [a for a in answers if a not in good and not is_too_much(a)]
    check("256 commands are listed 250 times at once", good and not wrong, "%d, %r" % (len(good), wrong[:1]))
    report("beside a foreground command", victim.ends_well())
    mallory.clear([box])


def main():
    for part in (one_long_list, many_at_once, while_it_changes, hardly_fits, lists_of_commands):
        with Crowd() as d:
            try:
                part(d, Tenant(d, "mallory"))
            except (AssertionError, KeyError, IndexError, TypeError, OSError) as e:
                report(part.__name__, repr(e)[:500])
    end()


if __name__ == "__main__":
    main()
