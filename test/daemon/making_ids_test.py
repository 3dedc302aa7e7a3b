#!/usr/bin/env python3
"""making_ids_test - a maker that cannot get its own ids back creates no sandbox and undoes what it
had created: nothing is left for the next start to collect.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import end, own_place, report
from daemon_rig import Daemon, groups_of, until
from making_rig import Held, Host, attempt, clear, make_workspace, need_strace, spawner_of, usual_by_daemon


def one(d, host, call, when):
    held = Held(d.folder, call, "EAGAIN", when, spawner_of(d))
    saw, code = attempt(d, host.workspace)
    hits = held.end()
    clear(d, host.workspace)
    if not hits:
        return ["%s is not called so often" % call]
    wrong = ["it was made all the same"] if saw is not None else [] if code in ("sandbox_backend_failed", "capability_unavailable") else ["refused as %s" % code]
    try:
        until("the groups are gone, and no other start collects them", lambda: not groups_of(host.names.read()))
    except AssertionError as e:
        wrong.append("%s: %s" % (e, groups_of(host.names.read())))
    return wrong + host.left()


def main():
    need_strace()
    own_place()
    with tempfile.TemporaryDirectory(prefix="carrel-making-") as folder, Daemon() as d:
        workspace = make_workspace(folder)
        usual_by_daemon(d, workspace)
        host = Host(d, workspace)
        for call in ("setresuid", "setresgid"):
            for when in ("2", "2+"):
                report("%s fails when the maker wants its own ids back (call %s): no box, and nothing is left" % (call, when), one(d, host, call, when))
    end()


if __name__ == "__main__":
    main()
