"""What the tests of the daemon's audit log share: reading it, independently of Carrel. Not a test."""
import json
import os
import subprocess
import time

import audit_chain
from box_rig import CARREL, PATIENCE, until

SECONDS = 30


def folder(d):
    return os.path.join(d.state, "audit", "uid:%d" % os.getuid())


def log(d):
    """Every entry. A line that is being written is no entry yet: it has an end soon, or the log is broken."""
    until_at = time.monotonic() + PATIENCE
    while True:
        try:
            return list(audit_chain.entries(folder(d)))
        except json.JSONDecodeError:
            if time.monotonic() > until_at:
                raise


def actions(d, box=None):
    return [e["action"] for e in log(d) if box in (None, e["subject"]["ref"])]


def starts_and_ends(d):
    """number of each start -> the outputs of its ends."""
    found = {}
    for e in log(d):
        if e["action"] == "exec.started":
            found[e["seq"]] = []
        elif e["action"] == "exec.ended":
            found[e["input"]["start"]].append(e["output"])
    return found


def unpaired(d):
    return {seq: ends for seq, ends in starts_and_ends(d).items() if len(ends) != 1}


def all_ended(d):
    until("each start has an end", lambda: not [s for s, ends in starts_and_ends(d).items() if not ends], SECONDS)


def verify(d):
    done = subprocess.run([CARREL, "audit", "verify", "--log", folder(d)], capture_output=True, text=True)
    return [] if done.returncode == 0 else [done.stderr]


def entry_of(d, ref):
    chain, number = ref.removeprefix("audit://").split("/")
    return next(e for e in log(d) if e["metadata"]["carrel"]["chain"] == chain and e["seq"] == int(number))
