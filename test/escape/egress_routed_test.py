#!/usr/bin/env python3
# slow: 30 s: attacks wait for deadlines of a wall
"""egress_routed_test - attacks of egress_gate_test against a wall in its own namespace (`carrel
gate --routed`).

Addresses, ports and ways out of the namespace are specific to such a wall. The same code judges
names, requests and greetings on the same connections; that is repeated in a deep run.
"""
import os
import sys

os.environ["CARREL_TEST_ROUTED"] = "1"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import egress_gate_test
from box_rig import DEEP

if __name__ == "__main__":
    egress_gate_test.main(sys.argv[1:] or (() if DEEP else ("by_address", "ports", "ways_out")))
