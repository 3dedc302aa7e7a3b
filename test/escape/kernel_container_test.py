#!/usr/bin/env python3
# slow: 30 s: attacks are made with their defence and without, as root and as a user
"""kernel_container_test - attacks of kernel_test from a sandbox whose root is an image.

Not repeated: A06, A28 to A30 and A33, which are about the start of `carrel run`; A14, A24 and the set-id program of A26, which bring
in directories of the host (metadata.carrel.tools, refused here); A18, which runs the host's git and node. A01 and A16 of root: pid 1 has
other ids than the payload in a sandbox with a range of ids, so that switching one defence off opens nothing.
"""
import os
import sys

os.environ["CARREL_TEST_KIND"] = "container"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import kernel_test
from attack_rig import run_rows

LEFT_OUT = {"a06_propagation", "a14_named", "a18_rings", "a24_devices", "a26_privileges", "a28_empty_command", "a29_names_with_dashes", "a30_users", "a33_lacking"}
ONE_ID = {"a01_own_program", "a16_pid_one"}


def of_one_id(row):
    def run(rig, person):
        if person.is_root:
            rig.tap.skip(f"{row.__name__} ({person.name})", "pid 1 has other ids than the payload")
        else:
            row(rig, person)
    run.__name__ = row.__name__
    return run


if __name__ == "__main__":
    sys.exit(run_rows([of_one_id(row) if row.__name__ in ONE_ID else row for row in kernel_test.ROWS if row.__name__ not in LEFT_OUT]))
