#!/usr/bin/env python3
# slow: 45 s: each attack has a sandbox of its own, with the defence and without
# deep: repeats workspace_test in another kind of sandbox
"""workspace_container_test - attacks of workspace_test from a sandbox whose root is an image.

Not repeated: rows with a daemon or an agent of their own, those about files of the host, and W03 and W05, which run git inside.
"""
import os
import sys

os.environ["CARREL_TEST_KIND"] = "container"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import workspace_test
from attack_rig import run_rows

if __name__ == "__main__":
    sys.exit(run_rows([workspace_test.w01_read_to_judge, workspace_test.w01_two_runs, workspace_test.w01_links, workspace_test.w01_inventory, workspace_test.w02_made,
                       workspace_test.w02_elsewhere, workspace_test.w02_strict, workspace_test.w04_config]))
