#!/usr/bin/env python3
# slow: 40 s: a sandbox is created for each call that fails
"""making_rights_fault_test - a call that drops rights fails while a sandbox is created (Z14)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from making_rig import sweep

if __name__ == "__main__":
    sweep(("seccomp", "ENOMEM"), ("prctl", "EPERM"), ("landlock_create_ruleset", "ENOMEM"), ("landlock_add_rule", "ENOMEM"), ("landlock_restrict_self", "E2BIG"),
          ("setresuid", "EAGAIN"), ("setresgid", "EPERM"), ("setgroups", "EPERM"), ("capset", "EPERM"), ("sethostname", "EPERM"), ("prlimit64", "EPERM"))
