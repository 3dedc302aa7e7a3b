#!/usr/bin/env python3
"""crash_box_test - a box killed at any system call is lost, and is reported as lost; another one is
not affected.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, end, report
from crash_rig import need_root, sweep_box
from daemon_rig import Daemon


def main():
    need_root()
    with Daemon() as d:
        for call in ("sendmsg", "recvmsg", "read", "write"):
            report("a box killed at %s %s is lost, and says so" % ("each" if DEEP else "some", call), sweep_box(d, call))
    end()


if __name__ == "__main__":
    main()
