#!/usr/bin/env python3
"""turns_test - whose call the keeper starts next: one of each owner in turn, however many one of
them has sent.

Speaks as the door does, which calls for many owners: answers come over one socket, in the order in
which calls were served. CARREL names the program beside it.
"""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end
from keeper_rig import Keeper, Refused

GREEDY, MODEST, CALLS_MAX = 4242, 4243, 1024


def order(door, count):
    """The serials of the next answers, in order."""
    got = []
    while len(got) < count:
        known = set(door.replies)
        door.read()
        got += set(door.replies) - known
    return got


def turns(k, door):
    """Both sent while the keeper was stopped, those of the greedy owner first."""
    k.child.send_signal(signal.SIGSTOP)
    greedy = [door.send("create", uid=GREEDY) for _ in range(50)]
    modest = [door.send("info", uid=MODEST) for _ in range(3)]
    k.child.send_signal(signal.SIGCONT)
    got = order(door, 53)
    places = [got.index(serial) for serial in modest]
    check("behind fifty calls of another, one of each is served in turn", places == [1, 3, 5], places)
    check("within an owner the order stays", [s for s in got if s in greedy] == greedy, got)
    for serial in greedy:
        door.call("stop", uid=GREEDY, id=door.take(serial)[0]["id"])


def cancelled(k, door):
    k.child.send_signal(signal.SIGSTOP)
    first = door.send("create", uid=GREEDY, name="first")
    other = door.send("create", uid=GREEDY, name="other")
    door.cancel(other)
    k.child.send_signal(signal.SIGCONT)
    door.take(first)
    names = [item["name"] for item in door.call("list", uid=GREEDY)["items"]]
    check("a call that is cancelled before its turn has no effect", names == ["first"], names)
    door.call("stop", uid=GREEDY, id="first")


def bound(k, door):
    """Calls that wait for a box which does not answer."""
    box = door.call("create", uid=GREEDY, start=True)["id"]
    _, channel = door.channel("exec.start", uid=GREEDY, id=box, command="sleep 300", background=True)
    while door.call("exec.list", uid=GREEDY, id=box)["items"][0]["state"] != "running":
        pass
    pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and box_of(p, k.state, box)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        sent = []
        while len(sent) <= CALLS_MAX:
            sent += [door.send("exec.list", uid=GREEDY, id=box) for _ in range(41)]
            door.call("info", uid=MODEST)                      # the keeper has read what was sent
        late = sent[CALLS_MAX:]
        codes = []
        for serial in late:
            try:
                door.take(serial)
            except Refused as r:
                codes.append((r.code, r.fields["message"]))
        check("a thousand calls of one owner may wait, and no more", codes == [("quota_exceeded", "1024 calls of yours wait, and at most 1024 may")] * len(late), codes[:2], len(late))
        check("others are served meanwhile", door.call("info", uid=MODEST)["version"] != "")
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    answers = [door.take(serial)[0]["items"][0]["state"] for serial in sent[:CALLS_MAX]]
    check("and those that waited are answered", answers == ["running"] * CALLS_MAX, set(answers))
    channel.sock.close()
    door.call("stop", uid=GREEDY, id=box)


def box_of(pid, state, box):
    """Whether it is the box process of this sandbox, which holds the sandbox's journal."""
    try:
        return any(os.readlink("/proc/%s/fd/%s" % (pid, fd)) == os.path.join(state, "boxes", box, "journal") for fd in os.listdir("/proc/%s/fd" % pid))
    except OSError:
        return False


def main():
    if os.geteuid() != 0:
        check("callers who are not the daemon's own user # SKIP needs root", True)
    else:
        with Keeper() as k:
            door = k.door()
            turns(k, door)
            cancelled(k, door)
            bound(k, door)
    end()


main()
