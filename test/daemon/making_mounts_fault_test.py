#!/usr/bin/env python3
# slow: 30 s: a sandbox is created for each call that fails
"""making_mounts_fault_test - a call on mounts fails while a sandbox is created (Z14)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from making_rig import sweep

if __name__ == "__main__":
    sweep(("mount", "ENOMEM"), ("umount2", "EBUSY"), ("pivot_root", "EINVAL"), ("fsopen", "ENOMEM"), ("fsconfig", "EINVAL"), ("fsmount", "EPERM"), ("open_tree", "EMFILE"),
          ("move_mount", "EINVAL"), ("mount_setattr", "EINVAL"))
