#!/usr/bin/env python3
"""older_box_test - a sandbox that the previous release started continues under the keeper of this
release.

Its box speaks protocol 1: the version before WIRE_BOX_USAGE. The spawner is that of build-switches,
and its environment sets the version; the keeper is the shipped one.
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
import wire
from box_rig import SWITCHES, check, end, report
from keeper_rig import Keeper, Refused, until
from keeper_test import attempt, manifest, read_file, since, status, write_files, wrong

OLDER = os.path.dirname(SWITCHES)


def protocol(k, id):
    sock = box_wire.socket.socket(box_wire.socket.AF_UNIX, box_wire.socket.SOCK_SEQPACKET)
    sock.connect(os.path.join(k.state, "boxes", id, "sock"))
    one = box_wire.Keeper(sock)
    one.until(lambda: one.hello)
    one.close()
    return one.hello["protocol"]


def update(k):
    """The keeper is killed; the new one has a spawner that starts boxes of this release."""
    k.stop(signal.SIGKILL)
    k.spawner_build, k.spawner_env = k.build, None
    k.start()
    return k.caller()


def use(k, c, id):
    """Every request to a box; returns what is wrong."""
    ended = c.exec(id, "cat; echo err >&2; exit 3", input=b"given\n")
    found = wrong(out=(bytes(ended.out), b"given\n"), err=(bytes(ended.err), b"err\n"), code=(ended.end["exit_code"], 3))
    found += wrong(written=(write_files(c, id, [("f", b"hello")]), 0), read=(read_file(c, id, "f"), (0, b"hello")), absent=(read_file(c, id, "none")[0], 2))
    timed = c.exec(id, "sleep 50 & sleep 50", timeout_ms=200)
    _, killed = c.channel("exec.start", id=id, command="sleep 50")
    number = killed.until(lambda: killed.started) or killed.started[0]
    c.call("exec.kill", id=id, exec=number)
    found += wrong(timed=(timed.end["word"], "timed_out"), killed=(killed.wait().end["word"], "killed"))
    got = c.call("get", id=id)
    return found + wrong(status=(got["status"], "running"), execs=(c.call("exec.get", id=id, exec=number)["outcome"], "killed"))


def main():
    if not os.access(os.path.join(OLDER, "carrel-init"), os.X_OK):
        report("a box of the version before", skip="no build-switches")
        return
    with Keeper(spawner_build=OLDER, spawner_env={"CARREL_TEST_BOX_PROTOCOL": "1"}) as k:
        c = k.caller()
        begun = time.monotonic()
        id = c.call("create", start=True, timeout_ms=500000)["id"]
        other = c.call("create", start=True, timeout_ms=500000)["id"]
        check("the box says that it is of protocol 1", protocol(k, id) == 1)
        attempt("exec, streams, files, a timeout and a kill work in it", lambda: use(k, c, id))

        def sanitized():
            careful = c.call("create", start=True, manifest=manifest(metadata={"carrel": {"sanitize_output": ["control"]}}))["id"]
            try:
                return [bytes(c.exec(careful, "echo passed").out)]
            except Refused as r:
                return wrong(code=(r.code, "capability_unavailable"), reason=(r.fields.get("reason"), "sanitize_output"))
            finally:
                c.call("stop", id=careful)
        attempt("a command whose output it could not sanitise is refused", sanitized)
        got, channel = c.channel("exec.start", id=id, command="echo one; read x; echo two $x", background=True, stdin=True)
        channel.until(lambda: channel.out)
        late = update(k)

        def lived():
            found = wrong(status=((status(late, id), status(late, other)), ("running", "running")))
            channel.send(wire.C_STDIN, b"three\n")
            again = late.channel("exec.attach", id=id, exec=got["exec"])[1].wait()
            return found + wrong(out=(bytes(again.out), b"one\ntwo three\n"), end=(late.call("exec.get", id=id, exec=got["exec"])["outcome"], "exited"))
        attempt("after an update it is found again, with its command", lived)
        attempt("and everything works in it", lambda: use(k, late, id))

        def beside():
            new = late.call("create", start=True)["id"]
            found = wrong(new=(protocol(k, new) > 1, True), old=(protocol(k, id), 1), out=(bytes(late.exec(new, "echo new").out), b"new\n"))
            late.call("stop", id=new)
            return found
        attempt("a box of today is begun beside it", beside)

        def times():
            left = late.call("extend", id=other, duration_ms=1000)["timeout_ms"]
            return [] if 501000 - since(begun) <= left <= 501000 else [left, since(begun)]
        attempt("its lifetime is still counted, and can be longer", times)

        def stopping():
            answers = [late.call("stop", id=id)["existed"] for _ in range(2)]
            until("its directory is gone", lambda: id not in k.directories())
            return wrong(answers=(answers, [True, False]), other=(bytes(late.exec(other, "echo on").out), b"on\n"))
        attempt("stop ends it, and no other", stopping)


if __name__ == "__main__":
    main()
    end()
