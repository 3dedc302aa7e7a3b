#!/usr/bin/env python3
"""handover_test - who owns a foreground command while its keeper hands it over: a box by itself,
and a model of all orders of events.

If the caller closes, its command is killed at once, also if some of the caller's messages were not
read yet. If the keeper dies before the caller has its end of the channel, the command is not
killed: a caller that repeats the call with its key gets the running command.
"""
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_rig
import wire
from box_rig import check, report, until
from box_wire import LOSSLESS, NO_STDIN, REPEAT, Bench, mark, running
from daemon_rig import state_of
from test_clock import Clock
from wire import C_DETACH, C_STDIN

REPEAT_MS = int(re.search(r"\bBOX_REPEAT_MS = (\d+)", wire.source("src/wire/box.h")).group(1))
HOLD_MS = int(re.search(r"\bHOLD_MS = (\d+)", wire.source("src/box/handover.c")).group(1))
WAITS = "echo begun; while ! test -e /workspace/go; do sleep 0.01; done; echo done"


# -- a box --------------------------------------------------------------------------------------------------------------

class Scene:
    """A box whose keeper starts one foreground command; `number` is the exec's."""

    def __init__(self, bench, key, argv=WAITS, flags=NO_STDIN | LOSSLESS):
        self.box = bench.begin()
        self.channel = self.box.keeper.exec(argv, key=key, flags=flags)
        self.channel.until(lambda: b"begun" in self.channel.out)
        self.number = self.channel.started[0]

    def go(self):
        with open(os.path.join(self.box.folder + "-work", "go"), "w", encoding="utf-8"):
            pass

    def handed(self):
        self.box.keeper.send("HANDED", struct.pack("=Ii", self.number, 0))

    def keeper_dies(self):
        self.box.keeper.close()
        self.box.keeper = self.box.connect()
        self.listed()

    def listed(self):
        """The state of the exec that the box reports now, after it has read everything sent before.
        """
        k = self.box.keeper
        k.listed.clear()
        k.list_done = False
        k.send("LIST")
        k.until(lambda: k.list_done)
        return [x for x in k.listed if x["exec"] == self.number][-1]

    def end(self):
        until("the command ends", lambda: self.listed()["state"] == "ended")
        return self.listed()["end"]["word"]


def caller_gone(bench):
    s = Scene(bench, "key")
    s.handed()
    s.channel.close()
    check("a caller who has its command and goes takes it along", s.end() == "killed")
    s = Scene(bench, "")
    s.channel.close()
    check("so does one without a key: it could not come again", s.end() == "killed")


def keeper_gone(bench):
    s = Scene(bench, "key")
    s.channel.close()
    s.keeper_dies()
    again = s.box.keeper.attach(s.number, flags=REPEAT | LOSSLESS)
    again.until(lambda: b"begun" in again.out)
    s.go()
    again.wait()
    check("a keeper that dies before the caller has its end: the call made again meets the living command", (bytes(again.out), again.end["word"]) == (b"begun\ndone\n", "exited"),
          bytes(again.out), again.end)
    s = Scene(bench, "key")
    s.keeper_dies()
    again = s.box.keeper.attach(s.number, flags=REPEAT | LOSSLESS)
    again.until(lambda: b"begun" in again.out)
    s.channel.close()
    state = s.listed()["state"]
    s.go()
    again.wait()
    check("it may come before the news that it had to", (state, again.end["word"]) == ("running", "exited"), state, again.end)
    s = Scene(bench, "key")
    s.channel.close()
    again = s.box.keeper.attach(s.number, flags=REPEAT | LOSSLESS)
    again.until(lambda: b"begun" in again.out)
    s.handed()
    again.close()
    check("the command is its own: when it goes, that ends", s.end() == "killed")


def keeper_gone_twice(bench):
    s = Scene(bench, "key")
    for _ in range(3):
        s.channel.close()
        s.keeper_dies()
        s.channel = s.box.keeper.attach(s.number, flags=REPEAT | LOSSLESS)
        s.channel.until(lambda: b"begun" in s.channel.out)
    s.go()
    s.channel.wait()
    check("keepers may die one after the other", (bytes(s.channel.out), s.channel.end["word"]) == (b"begun\ndone\n", "exited"), s.channel.end)


LINES = 400000         # more than a log and a socket hold
ALL = b"begun\n" + b"".join(b"%d\n" % i for i in range(1, LINES + 1))


def printing(bench):
    """A command that prints more than anything holds, and waits until it is read."""
    def waits(s, name):
        for _ in range(5):             # the box reads what it may in each of its turns
            s.listed()
            if [state_of(pid) for pid in running(name)] != ["S"]:
                return False
        return True
    for _ in range(10):                # on a machine that stands still for so long, again
        name, begun = mark(), time.monotonic()
        s = Scene(bench, "key", ["bash", "-c", "echo begun; exec -a %s seq 1 %d" % (name, LINES)])
        until("the command waits for a reader", lambda s=s, name=name: waits(s, name))
        if time.monotonic() - begun < HOLD_MS / 1000:
            break
    return s


def nothing_lost():
    with Clock() as clock, Bench(clock.env, clock.build) as bench:
        s = printing(bench)
        for last in (False, True):
            s.channel.close()
            s.keeper_dies()
            s.channel = s.box.keeper.attach(s.number, flags=REPEAT | LOSSLESS)
            if not last:
                s.channel.until(lambda: len(s.channel.out) > 100000)
        s.handed()
        s.channel.wait()
        check("who reads without loss reads all of it, however many keepers died first", bytes(s.channel.out) == ALL and s.channel.end["dropped_bytes"] == 0,
              len(s.channel.out), s.channel.end)
        s = printing(bench)
        s.handed()
        s.channel.wait()
        check("the command goes on when its caller has its end", bytes(s.channel.out) == ALL)
        s = printing(bench)
        clock.move(HOLD_MS / 1000 + 1)
        s.channel.wait()
        check("or after a moment, if the keeper is slow", bytes(s.channel.out) == ALL and s.channel.end["dropped_bytes"] == 0)


def nobody_comes():
    with Clock() as clock, Bench(clock.env, clock.build) as bench:
        s = Scene(bench, "key")
        s.channel.close()
        state = s.listed()["state"]
        clock.move(REPEAT_MS / 1000 + 1)
        word = s.end()
        check("nobody makes the call again: after a while the command is killed", (state, word) == ("running", "killed"), state, word)


def unread(bench):
    """More input than the pipe, the box and the socket hold: the command reads nothing."""
    piece = b"x" * 65536
    for name, body, words in (("is gone", False, ("ended",)), ("has detached before", True, ("running",))):
        s = Scene(bench, "", "echo begun; exec sleep 1000", flags=LOSSLESS)
        for _ in range(2):                     # one for the pipe; much of the other is in the socket
            s.channel.send(C_STDIN, piece)
        s.channel.sock.setblocking(False)      # a frame fits, though poll() waits for more room
        if body:
            s.channel.send(C_DETACH)
        s.channel.close()
        state = (s.end() and "ended") if words == ("ended",) else s.listed()["state"]
        check("a caller whose input nobody read %s" % name, state in words, state)
        if words == ("running",):
            s.box.keeper.kill(s.number)


# -- the model ----------------------------------------------------------------------------------------------------------
# Three parts and the messages between them. Each step of each part is one event, and keeper and
# caller may die at each of them. The rules are those of src/box/handover.c, src/keeper/op_exec.c
# and src/client/connection.c, for one call with a key (and one without).

DEATHS = 2             # keepers that die
FIRST = {
    "caller": "new",           # new, asked, has, lost (gives up: no key), told, dead
    "keeper": "idle",          # idle, got, ordered, replied
    "deaths": 0,
    "orders": (),              # to the box, from each keeper in turn: (keeper, kind, channel)
    "reply": None,             # to the caller: the channel; it survives its keeper
    "channels": (),            # at the box: (keeper, is owner, is handed)
    "closed": frozenset(),     # channels whose other end is closed, and their number
    "exec": "none",            # none, running, ended, killed
    "runs": 0, "made": 0, "kept": False, "why": None, "told": None,
}


def with_(state, **changes):
    return {**state, **changes}


def serve(state, order):
    """The box takes one message."""
    keeper, kind, channel = order
    if kind == "handed":
        return with_(state, channels=tuple((k, c, owner, handed or c == channel) for k, c, owner, handed in state["channels"]))
    if kind == "exec" and state["exec"] == "none":
        return with_(state, exec="running", runs=state["runs"] + 1, channels=state["channels"] + ((keeper, channel, True, False),))
    owns = kind == "exec" or state["kept"]
    return with_(state, channels=state["channels"] + ((keeper, channel, owns, False),), kept=False)


def hang_up(state, entry, key, rule):
    """The box is informed that the other end of a channel is closed."""
    _, channel, owner, handed = entry
    rest = tuple(c for c in state["channels"] if c != entry)
    state = with_(state, channels=rest)
    if state["exec"] != "running" or not owner or any(o for _, _, o, _ in rest):
        return state
    if rule and key and not handed:
        if rest:
            k, c, _, h = rest[0]
            return with_(state, channels=((k, c, True, h),) + rest[1:])
        return with_(state, kept=True)
    return with_(state, exec="killed", why="closed %d" % channel)


def steps(state, key, rule):
    """Every state that may follow."""
    made, channels, closed = state["made"], state["channels"], state["closed"]
    if state["caller"] == "new" and state["keeper"] == "idle":
        yield "the caller asks", with_(state, caller="asked", keeper="got")
    if state["keeper"] == "got":
        # It knows the exec if its box does: a new keeper gets the box's report before it answers
        # any caller.
        pending = [o for o in state["orders"] if o[1] != "handed"]
        if not pending or state["exec"] != "none":
            kind = "exec" if state["exec"] == "none" else "attach"
            yield "the keeper orders", with_(state, keeper="ordered", made=made + 1, orders=state["orders"] + ((state["deaths"], kind, made + 1),))
    if state["keeper"] == "ordered":
        yield "the keeper replies", with_(state, keeper="replied", reply=made)
    if state["keeper"] == "replied":
        yield "the keeper says that it has", with_(state, keeper="idle", orders=state["orders"] + ((state["deaths"], "handed", made),) if rule else state["orders"])
    if state["keeper"] != "idle" and state["deaths"] < DEATHS or state["deaths"] < DEATHS and state["caller"] == "has":
        ends = closed | {made} if state["keeper"] == "ordered" else closed
        yield "the keeper dies", with_(state, keeper="idle", deaths=state["deaths"] + 1, closed=ends)
    if state["caller"] == "asked" and state["reply"] is not None:
        yield "the caller takes the reply", with_(state, caller="has", reply=None)
    elif state["caller"] == "asked" and state["keeper"] == "idle":
        yield "the caller asks again", with_(state, keeper="got") if key else with_(state, caller="lost")
    if state["caller"] in ("asked", "has"):
        held = {state["reply"]} - {None} | ({made} if state["caller"] == "has" else set())
        yield "the caller dies", with_(state, caller="dead", closed=closed | held, reply=None)
    if state["caller"] == "dead" and state["reply"] is not None:
        yield "its end goes with it", with_(state, closed=closed | {state["reply"]}, reply=None)
    if state["orders"]:
        yield "the box hears its keeper", serve(with_(state, orders=state["orders"][1:]), state["orders"][0])
    for entry in channels:
        if entry[1] in closed:
            yield "the box hears a channel close", hang_up(state, entry, key, rule)
    if state["exec"] == "running":
        yield "the command ends", with_(state, exec="ended")
    if state["kept"] and state["exec"] == "running" and state["caller"] in ("dead", "lost") and not state["orders"]:
        yield "nobody came", with_(state, exec="killed", kept=False, why="patience")      # a living caller comes before that
    if state["caller"] == "has" and state["exec"] in ("ended", "killed") and any(c == made and c not in closed for _, c, _, _ in channels):
        yield "the caller is told", with_(state, caller="told", told=state["exec"])


def wrong_in(state, key):
    if state["runs"] > 1:
        return "it runs %d times" % state["runs"]
    gives_up = not key and state["caller"] == "asked" and state["keeper"] == "idle" and state["reply"] is None
    if state["exec"] == "killed" and state["caller"] not in ("dead", "lost") and not gives_up:
        return "it is killed (%s), and its caller lives" % state["why"]
    return None


def explore(key, rule):
    """(states seen, the first path to a forbidden state, or None)."""
    frozen = lambda s: tuple(sorted((k, repr(v)) for k, v in s.items()))
    seen, todo = {frozen(FIRST)}, [(FIRST, ())]
    while todo:
        state, path = todo.pop()
        reason = wrong_in(state, key)
        nexts = list(steps(state, key, rule))
        if not nexts and state["caller"] not in ("told", "lost", "dead"):
            reason = reason or "its caller is never told"
        if not nexts and state["exec"] == "running":
            reason = reason or "it runs on for nobody"
        if reason:
            return len(seen), [reason, *path, str(state)]
        for name, after in nexts:
            one = frozen(after)
            if one not in seen:
                seen.add(one)
                todo.append((after, path + (name,)))
    return len(seen), None


def model():
    for key in (True, False):
        count, path = explore(key, True)
        report("every order of deaths while a command is handed over, %s a key: %d states, it runs once, is killed for its caller alone, and its end is told" % ("with" if key else "without", count), path)
    _, path = explore(True, False)
    check("the model finds the fault of a box that is not told who has come", path and "is killed" in path[0], path)


def main():
    only = sys.argv[1:]
    for part in (caller_gone, keeper_gone, keeper_gone_twice, unread):
        if not only or part.__name__ in only:
            with Bench() as bench:
                part(bench)
    if not only or "nothing_lost" in only:
        nothing_lost()
    if not only or "nobody_comes" in only:
        nobody_comes()
    if not only or "model" in only:
        model()
    box_rig.end()


if __name__ == "__main__":
    main()
