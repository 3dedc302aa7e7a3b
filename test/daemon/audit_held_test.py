#!/usr/bin/env python3
# slow: 35 s: twice it waits until the daemon gives up a recorder that does not answer (10 s)
"""audit_held_test - a command is prepared while its start is written, and executes when it is on
the disk (P31; src/wire/box.h, BOX_EXEC_HELD).

The recorder is stopped, so that no start gets to the disk: the process of the command is there, and
its program has not run. With the guard off (CARREL_TEST_AUDIT=unheld) the same command runs.
"""
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import SWITCHES, check, end, report, until
from daemon_rig import Daemon

SECONDS = 30


def ends_of(d):
    """number of each start -> the outputs of its ends."""
    found = {}
    for e in audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid())):
        if e["action"] == "exec.started":
            found[e["seq"]] = []
        elif e["action"] == "exec.ended":
            found[e["input"]["start"]].append(e["output"])
    return found


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as f:
                stat = f.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if stat[0] not in "ZX" and int(stat[1]) == pid:
            found.append(int(entry))
    return found


def init_of(d):
    """Pid 1 of the only sandbox."""
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/status" % entry, encoding="utf-8", errors="replace") as f:
                lines = dict(line.split(":", 1) for line in f if ":" in line)
            with open("/proc/%s/cgroup" % entry, encoding="utf-8") as f:
                group = f.read()
        except OSError:
            continue
        numbers = lines.get("NSpid", "").split()
        if len(numbers) == 2 and numbers[1] == "1" and any(box in group for box in d.ids):
            return int(entry)
    return None


def is_prepared(init):
    """A child holds COMMAND_HOLD (guest/command.h): it waits at the socket."""
    return any(os.path.exists("/proc/%d/fd/4" % pid) for pid in children_of(init))


def has(d, box, name):
    return d.call("GET", "/v1/sandboxes/%s/files?path=%s" % (box, name)).status == 200


def asked(d, box, **fields):
    """A call that waits for the recorder: its thread, and its answer in a list."""
    answers = []

    def ask():
        try:
            answers.append(d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["touch", "ran"], **fields}))
        except OSError:
            answers.append(None)
    thread = threading.Thread(target=ask)
    thread.start()
    return thread, answers


def listed(d, box):
    return [e["exec"] for e in d.call("GET", "/v1/sandboxes/%s/execs" % box).json["items"]]


def refused(environment):
    """Did its program run, although its start was not on the disk?"""
    with Daemon(program=SWITCHES, env=environment) as d:
        box = d.create()
        before = d.exec(box, ["true"])["exec"]
        with d.held(d.children()["carrel-recorder"]):
            thread, answers = asked(d, box)
            thread.join()
            a = answers[0]
            check("no answer of the recorder: audit_unavailable", a.status == 503 and a.code == "audit_unavailable", a)
            ran = has(d, box, "ran")
            if environment:
                return ran
            check("it is not listed", listed(d, box) == [before], listed(d, box))
        until("its start has an end", lambda: all(len(ends) == 1 for ends in ends_of(d).values()) and len(ends_of(d)) == 2, SECONDS)
        check("that end has the error of the call", [e[0]["error"]["code"] for e in ends_of(d).values() if "error" in e[0]] == ["audit_unavailable"], ends_of(d))
        check("commands run again", d.exec(box, ["true"])["exit_code"] == 0)
        return ran or has(d, box, "ran")


def while_held():
    """What happens to a sandbox meanwhile. Each ends with one start and one end, and no program."""
    with Daemon() as d:
        box = d.create()
        d.exec(box, ["true"])
        init = init_of(d)
        check("pid 1 of the sandbox is found", init is not None)
        recorder = d.children()["carrel-recorder"]
        with d.held(recorder):
            thread, answers = asked(d, box)
            until("its process is prepared", lambda: is_prepared(init), SECONDS)
            check("its program has not run", not has(d, box, "ran"))
            check("it is not listed", len(listed(d, box)) == 1, listed(d, box))
        thread.join()
        check("released: it runs", answers[0].status == 200 and answers[0].json["exit_code"] == 0 and has(d, box, "ran"), answers)
        d.exec(box, ["rm", "ran"])
        with d.held(recorder):
            thread, answers = asked(d, box)
            until("its process is prepared", lambda: is_prepared(init), SECONDS)
            gone = d.call("DELETE", "/v1/sandboxes/" + box)
            check("stopped while held: the sandbox ends", gone.status < 300, gone)
        thread.join()
        check("and the call has no exit code 0", answers[0].status != 200 or answers[0].json.get("exit_code") != 0, answers)
        until("each start has one end", lambda: all(len(ends) == 1 for ends in ends_of(d).values()), SECONDS)


def keeper_dies():
    with Daemon() as d:
        box = d.create()
        d.exec(box, ["true"])
        init = init_of(d)
        with d.held(d.children()["carrel-recorder"]):
            thread, _ = asked(d, box)
            until("its process is prepared", lambda: is_prepared(init), SECONDS)
            os.kill(d.children()["carrel-keeper"], signal.SIGKILL)
        thread.join()
        until("the daemon is up again", d.is_up, SECONDS)
        until("commands run again", lambda: d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]}).status == 200, SECONDS)
        until("each start has one end", lambda: all(len(ends) == 1 for ends in ends_of(d).values()), SECONDS)
        check("a command that its dead keeper held never ran", not has(d, box, "ran"))


def main():
    for test in (while_held, keeper_dies):
        if len(sys.argv) > 1 and test.__name__ not in sys.argv:
            continue
        if os.getuid() != 0:
            report(test.__name__, skip="only root sees the descriptors of a process that is prepared")
            continue
        try:
            test()
        except Exception as e:  # one failing check must not hide the others
            report(test.__name__, ["%s: %s" % (type(e).__name__, e)])
    if len(sys.argv) == 1 or "refused" in sys.argv:
        check("P31: a program whose start is not on the disk does not run", not refused({}))
        check("guard off: it runs", refused({"CARREL_TEST_AUDIT": "unheld"}))
    end()


if __name__ == "__main__":
    main()
