#!/usr/bin/env python3
# slow: 35 s: in ./dev test --all the door is killed at every point
"""crash_door_test - a door killed at any message or wait loses nothing that was answered, leaves nothing, and repeats nothing.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from crash_rig import sweeps


if __name__ == "__main__":
    sweeps("door", "sendmsg", "recvmsg", "epoll_pwait")
