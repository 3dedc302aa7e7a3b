#!/usr/bin/env python3
"""egress_routed_test - all attacks of egress_gate_test against a wall in a namespace of its own (`carrel gate --routed`)."""
import os
import sys

os.environ["CARREL_TEST_ROUTED"] = "1"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import egress_gate_test

if __name__ == "__main__":
    egress_gate_test.main()
