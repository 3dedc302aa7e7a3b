#!/usr/bin/env python3
"""audit_cases_test - what the audit log says of refused requests to the network (A36-119): with an
empty list, every attempt is refused at once, and has an entry with its reason. The audit halves of
A36-097 and A36-144 are in test/escape/secrets_leak_test.py and audit_daemon_test.py.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import check, end, until
from daemon_rig import Daemon

TRIES = """
import socket
for host, port in (("denied.example", 443), ("192.0.2.7", 80), ("2001:db8::7", 80)):
    try:
        socket.create_connection((host, port))
        print("reached", host)
    except OSError:
        print("refused")
"""


def denied(d, box):
    while True:
        try:
            return [e["output"] for e in audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid()))
                    if e["subject"]["ref"] == box and e["action"] == "egress.denied"]
        except json.JSONDecodeError:      # a line is being written
            continue


def nothing_is_listed(d):
    box = d.create(manifest={"provider": "local", "config": {}, "network": {"egress": []}})
    done = d.exec(box, ["python3", "-c", TRIES])
    check("A36-119: with an empty list nothing is reached", done["stdout"].split() == ["refused"] * 3, done)
    until("the refusals are recorded", lambda: len({e["reason"] for e in denied(d, box)}) == 2)
    found = denied(d, box)
    check("A36-119: the audit log has the name that was asked for", any(e["reason"] == "not_listed" and e["host"] == "denied.example" and e["exec"] == done["exec"] for e in found), found)
    check("  and connections to addresses, which the kernel refuses: without address and port", any(e["reason"] == "no_network" and e["count"] > 0 for e in found), found)


def one_is_listed(d):
    box = d.create(manifest={"provider": "local", "config": {}, "network": {"egress": ["allowed.example"]}})
    d.exec(box, ["python3", "-c", TRIES])
    until("the refusals are recorded", lambda: {"not_listed", "no_name"} <= {e["reason"] for e in denied(d, box)})
    found = [e for e in denied(d, box) if e["reason"] == "no_name"]
    check("A36-119: with a list, also address and port", ("192.0.2.7", 80) in [(e["address"], e["port"]) for e in found], found)


def main():
    with Daemon() as d:
        nothing_is_listed(d)
        one_is_listed(d)


if __name__ == "__main__":
    main()
    end()
