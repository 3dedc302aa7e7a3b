#!/usr/bin/env python3
"""egress_attack_routed_test - attacks of egress_attack_test against a wall in its own namespace
(`carrel gate --routed`).

What a command inherits, where it connects, and what it can do to ports and routes is specific to
this wall; the rest is repeated in a deep run.
"""
import os
import sys

os.environ["CARREL_TEST_ROUTED"] = "1"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import egress_attack_test
from box_rig import DEEP

if __name__ == "__main__":
    egress_attack_test.main(sys.argv[1:] or (() if DEEP else ("signals", "descriptors", "own_addresses", "payloads")))
