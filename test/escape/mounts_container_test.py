#!/usr/bin/env python3
# slow: 35 s: each attack has a sandbox of its own, with the defence and without
# deep: repeats mounts_test in another kind of sandbox
"""mounts_container_test - attacks of mounts_test from a sandbox whose root is an image.

Not repeated: B21, which is about directories of the host (image_test has those of an image).
"""
import os
import sys

os.environ["CARREL_TEST_KIND"] = "container"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import mounts_test
from attack_rig import run_rows

if __name__ == "__main__":
    sys.exit(run_rows([row for row in mounts_test.ROWS if row.__name__ != "b21_pristine"]))
