#!/usr/bin/env python3
# slow: 70 s: in ./dev test --all the daemon is killed and started again at every point
"""crash_keeper_files_test - a keeper killed at any call on files and sockets loses nothing it has answered, leaves nothing, and repeats nothing.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from crash_rig import sweeps


if __name__ == "__main__":
    sweeps("keeper", "pwrite64", "fdatasync", "openat", "socketpair", "mkdirat")
