#!/usr/bin/env python3
"""executed_test - each execve in the daemon's sandboxes is in the audit log of their owner (docs/AUDIT.md,
"How each fact is seen"), in bounded entries, before the end of its command; no watcher gets them,
and `audit_executions: false` turns them off.
"""
import json
import os
import signal
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import check, end, until
from daemon_rig import Daemon

STORM = 500
TREE = "/bin/true one; (/bin/true --password hunter2); /bin/sh -c '/bin/true three'"
STORMING = "import os\nfor i in range(%d):\n    os.waitpid(os.posix_spawn('/bin/true', ['storm', str(i)], {}), 0)\n" % STORM
# more bytes of words than one sandbox may write at once
FLOOD = "import os\nfor i in range(%d):\n    os.waitpid(os.posix_spawn('/bin/true', ['flood', 'x' * 1900], {}), 0)\n" % 3000


def log(d):
    while True:
        try:
            return list(audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid())))
        except json.JSONDecodeError:      # a line is being written
            continue


def executed(d, box):
    """Its events, and the longest entry that holds them."""
    entries = [e for e in log(d) if e["action"] == "process.executed" and e["subject"]["ref"] == box]
    return [e for entry in entries for e in entry["output"]["events"]], max([len(json.dumps(e)) for e in entries] or [0])


def ended(d, box, count):
    until("the end is recorded", lambda: [e["action"] for e in log(d) if e["subject"]["ref"] == box].count("exec.ended") >= count)


def listen(d, seen):
    for _, event in d.stream("GET", "/v1/events"):
        seen.append(event["event"])
        if event["event"] == "stopped":
            break


def the_tree(d):
    box = d.create()
    seen = []
    threading.Thread(target=listen, args=(d, seen), daemon=True).start()
    until("somebody watches", lambda: d.must("POST", "/v1/sandboxes/%s/events" % box, {"event": "turn-end"}) is not None and seen)
    d.exec(box, ["/bin/sh", "-c", TREE])
    ended(d, box, 1)
    events, _ = executed(d, box)
    words = [e.get("argv") for e in events if e.get("path") == "/bin/true"]
    check("every program that a command and its children execute is recorded", [w[:2] for w in words] == [["/bin/true", "one"], ["/bin/true", "--password"], ["/bin/true", "three"]], events)
    check("  the command itself without its words, if its process was prepared: they are in exec.started", events[0]["pid"] in (2, 3) and (events[0].get("reason") == "unread" or events[0]["path"] == "/bin/sh"), events[0])
    check("  with the number of the exec, and its process", all(e["exec"] == 1 and e["pid"] > 1 for e in events), events)
    check("  secrets removed", "hunter2" not in json.dumps(log(d)))
    order = [e["action"] for e in log(d) if e["subject"]["ref"] == box and e["action"] in ("exec.started", "process.executed", "exec.ended")]
    check("  after its start, and before its end", order[0] == "exec.started" and order[-1] == "exec.ended" and set(order[1:-1]) == {"process.executed"}, order)
    d.must("DELETE", "/v1/sandboxes/" + box)
    until("the watcher has everything", lambda: "stopped" in seen)
    check("no watcher gets them", "exec-ended" in seen and "process-executed" not in seen, seen)


def whose_it_is(d):
    """Three commands at a time: each execution has the number of its own, also below children."""
    box = d.create()
    line = "while [ ! -e /tmp/go ]; do sleep 0.02; done; for i in 1 2 3 4 5; do /bin/true mine %s; sh -c '(/bin/true mine %s)'; done"
    for name in ("a", "b", "c"):
        d.exec(box, ["/bin/sh", "-c", line % (name, name)], background=True)
    d.exec(box, ["touch", "/tmp/go"])
    ended(d, box, 4)
    found = [(e["argv"][2], e.get("exec")) for e in executed(d, box)[0] if e.get("argv", [])[1:2] == ["mine"]]
    check("with several commands at a time, an execution has the number of its command", set(found) == {("a", 1), ("b", 2), ("c", 3)} and len(found) == 30, found)


def the_flood(d):
    box = d.create()
    d.exec(box, ["python3", "-c", STORMING])
    ended(d, box, 1)
    events, longest = executed(d, box)
    storm = [e["argv"][1] for e in events if e.get("argv", [""])[0] == "storm"]
    check("of %d executions in a row each is recorded, in order" % STORM, storm == [str(i) for i in range(STORM)], len(storm), events[-3:])
    check("  in entries of bounded length", longest < 64 << 10, longest)
    d.exec(box, ["python3", "-c", FLOOD], timeout_ms=60000)
    ended(d, box, 2)
    flood = [e for e in executed(d, box)[0] if e.get("argv", [""])[0] == "flood"]
    more = sum(e.get("count", 0) for e in executed(d, box)[0])
    check("past the bound of a sandbox only the number is recorded", more > 0 and len(flood) + more == 3000, len(flood), more)


def a_restart(d):
    box = d.create()
    number = d.exec(box, ["/bin/sh", "-c", "while [ ! -e /tmp/go ]; do /bin/true; done; /bin/true last"], background=True)["exec"]
    until("executions are recorded", lambda: len(executed(d, box)[0]) > 3)
    d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
    before = len(executed(d, box)[0])
    until("they are recorded by the next keeper", lambda: len(executed(d, box)[0]) > before)
    d.exec(box, ["touch", "/tmp/go"])
    until("it ended", lambda: d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, number))["state"] != "running")
    until("its last one is recorded", lambda: any(e.get("argv") == ["/bin/true", "last"] for e in executed(d, box)[0]))
    check("executions are recorded after a keeper was killed", True)


def switched_off():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("audit_executions: false\nproviders: {local: {isolated: true, mounts: true}}\n")
        f.flush()
        with Daemon("--host", f.name) as d:
            box = d.create()
            d.exec(box, ["/bin/sh", "-c", "/bin/true one"])
            ended(d, box, 1)
            check("audit_executions: false turns them off", not executed(d, box)[0], executed(d, box))


def main():
    with Daemon() as d:
        the_tree(d)
        whose_it_is(d)
        the_flood(d)
        a_restart(d)
    switched_off()


if __name__ == "__main__":
    main()
    end()
