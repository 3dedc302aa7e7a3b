#!/usr/bin/env python3
# deep as root: more changes of the same kind
"""network_changes_test - a list of destinations can be changed any number of times, and removing
entries never fails for lack of memory.

Runs carrel-keeper with a real spawner and speaks its own protocol; CARREL names the program beside
it.
"""
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, end, report
from keeper_rig import Keeper, Refused

CHANGES = 2000 if DEEP else 200       # a 50 KB manifest was refused from the 41st change on
NARROW = ["a%d.example" % i for i in range(8)]


def manifest(filler):
    return {"provider": "local", "config": {}, "network": {"egress": NARROW}, "metadata": {"com.example.note": "x" * filler}}


def size_kb(pid, name="VmSize"):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(next(line for line in f if line.startswith(name + ":")).split()[1])


def changes(k):
    c = k.caller()
    id = c.call("create", manifest=manifest(50000))["id"]
    wide = [["b%d.example" % i for i in range(n)] for n in (150, 200)]
    c.call("network", id=id, egress=wide[0])
    before = size_kb(k.child.pid, "VmData")
    for i in range(1, CHANGES):
        try:
            c.call("network", id=id, egress=wide[i % 2])
        except Refused as r:
            return ["change %d: %s" % (i + 1, r)]
    grown = size_kb(k.child.pid, "VmData") - before
    c.call("network", id=id)
    return ["%d changes took %d kB that were not given back" % (CHANGES, grown)] if grown > 2048 else []


def without_memory(k):
    """The keeper gets no more memory: its reserve is enough to remove destinations, and not to add
    any.
    """
    c = k.caller()
    id = c.call("create", manifest=manifest(180000))["id"]
    limit = resource.prlimit(k.child.pid, resource.RLIMIT_AS)
    wrong = []
    try:
        resource.prlimit(k.child.pid, resource.RLIMIT_AS, (size_kb(k.child.pid) * 1024, limit[1]))
        for words, should in ((["c.example"], "no_memory"), (NARROW[:3], None), (NARROW[:1], None), ([], None)):
            try:
                c.call("network", id=id, egress=words)
                code = None
            except Refused as r:
                code = r.code
            if code != should:
                wrong.append("a list of %r: %s, not %s" % (words, code, should))
    finally:
        resource.prlimit(k.child.pid, resource.RLIMIT_AS, limit)
    c.call("network", id=id, egress=["c.example"])
    return wrong


def main():
    with Keeper() as k:
        for name, work in (("a 50 KB manifest is changed %d times, and its list then emptied" % CHANGES, changes),
                           ("a keeper without memory takes destinations away", without_memory)):
            try:
                report(name, work(k))
            except Refused as r:
                report(name, [str(r)])
    end()


main()
