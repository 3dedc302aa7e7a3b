#!/usr/bin/env python3
"""network_closed_test - a sandbox whose allow list cannot be applied reaches nothing, and the event
`network-closed` says why: to watchers, and in the daemon's log.

First carrel-keeper alone, with a gate that this test plays and that does not take a list. Then
`carrel serve`, whose host file stops to permit the list of a sandbox that runs.
"""
import errno
import json
import os
import signal
import socket
import struct
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, until
from daemon_rig import Daemon
from keeper_rig import Keeper
from wire import HEAD, KIND, head

ADDED = struct.Struct("=IIiI")          # wire/gate.h: wall, generation, sys
MANIFEST = {"provider": "local", "config": {}, "network": {"egress": ["a.example"]}}


class Gate(threading.Thread):
    """Answers each wall that it gets with the next of `results`, and then with success."""

    def __init__(self, end, results):
        super().__init__(daemon=True)
        self.end, self.results, self.heard = end, list(results), []
        self.start()

    def run(self):
        while True:
            try:
                data, anc, _, _ = self.end.recvmsg(1 << 18, socket.CMSG_SPACE(4 * 256))
            except OSError:
                return
            if not data:
                return
            for _, _, raw in anc:
                for (fd,) in struct.iter_unpack("=i", raw):
                    os.close(fd)
            kind = HEAD.unpack_from(data)[2]
            if kind == KIND["GATE_ADD"]:
                wall, generation = struct.unpack_from("=II", data, HEAD.size)
                sys_ = self.results.pop(0) if self.results else 0
                self.heard.append(("add", wall, sys_))
                self.end.send(head("GATE_ADDED") + ADDED.pack(wall, generation, sys_, 0))
            elif kind == KIND["GATE_DROP"]:
                self.heard.append(("drop", struct.unpack_from("=i", data, HEAD.size)[0], 0))


def refused_by_gate(sys_, words, is_retried):
    with Keeper(has_gate=True) as k:
        gate = Gate(k.gate_end, [sys_])
        watcher, caller = k.caller(), k.caller()
        watcher.call("watch")
        box = caller.call("create", manifest=MANIFEST)["id"]
        caller.exec(box, ["true"])
        wall = until("the gate got the wall", lambda: gate.heard)[0][1]
        until("the gate is told to drop the wall", lambda: ("drop", wall, 0) in gate.heard)
        if is_retried:
            until("the keeper gives it again", lambda: len([h for h in gate.heard if h[0] == "add"]) == 2)
        caller.call("stop", id=box)
        events = []
        watcher.event(lambda e: events.append(e) or e["event"] == "stopped")
        closed = [e for e in events if e["event"] == "network-closed"]
        check("a gate that does not take a list (%s): one network-closed, with the reason" % words,
              [(e["id"], e["status"], words in e["message"]) for e in closed] == [(box, "running", True)], events)
        said = [line for line in k.log_text().splitlines() if "network-closed" in line]
        check("  the log has it", len(said) == 1 and box in said[0] and words in said[0], said)
        adds = [h[2] for h in gate.heard if h[0] == "add"]
        check("  the wall is dropped, and given again: %s" % is_retried, adds == [sys_] + [0] * is_retried, gate.heard)


def forbidden_by_rules():
    folder = tempfile.mkdtemp(prefix="carrel-host-")
    path = os.path.join(folder, "host.json")

    def permit(name):
        with open(path, "w", encoding="ascii") as f:
            json.dump({"providers": {"local": {"isolated": True, "mounts": True, "egress": True}}, "egress_allowed": [name]}, f)
    permit("a.example")
    with Daemon("--host", path) as d:
        box = d.create(manifest=MANIFEST)
        d.exec(box, ["true"])
        before = "network-closed" in d.log_text()
        permit("b.example")
        d.reload()
        until("the daemon says that the network is closed", lambda: d.log_text().count("network-closed") == 1)
        line = next(line for line in d.log_text().splitlines() if "network-closed" in line)
        check("a list that the host no longer permits: the log has network-closed, with the reason", not before and box in line and "a.example" in line, line)
        stream = d.connection()
        stream.request("GET", "/v1/events", headers={"Accept": "text/event-stream"})
        answer = stream.getresponse()
        os.kill(d.children()["carrel-gate"], signal.SIGKILL)
        data = next(json.loads(line[5:]) for line in answer if line.startswith(b"data:") and b"network-closed" in line)
        stream.close()
        check("  a watcher gets it, when the next gate would get the wall", (data["event"], data["id"]) == ("network-closed", box) and "a.example" in data["message"], data)
        permit("a.example")
        d.reload()
        done = d.exec(box, ["true"])
        check("  with the old rules the sandbox is used again", done["outcome"] == "exited" and d.log_text().count("network-closed") == 2, done, d.log_text())


def main():
    refused_by_gate(errno.EINVAL, "Invalid argument", False)
    refused_by_gate(errno.ENOMEM, "Out of memory", True)
    forbidden_by_rules()
    end()


main()
