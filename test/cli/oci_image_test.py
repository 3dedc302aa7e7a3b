#!/usr/bin/env python3
# weight: 2
"""provider: oci on an image - the rows of provider `container` (container_test.py) in a container of
runc: its root, users, ids, packages, digest and locks are the same, and with crun its root. Prints TAP.
"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import container_test as rows
from box_rig import check, end, need_programs, report

PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"


def tiers(desk):
    """Geodocs: a sandbox on the host's own root is T1, on a root of its own T2."""
    for name, config, tier, wanted in (("on the host's programs it is T1", {}, "T2", "sandbox_provider_untrusted"), ("on an image it is T2", rows.block()["config"], "T2", None),
                                       ("no image makes it T3", rows.block()["config"], "T3", "sandbox_provider_untrusted")):
        error = desk.error({**rows.block({"tier": tier}), "config": config})
        check(name, error.get("code") == wanted and (wanted is None or error["path"] == "metadata/carrel/tier"), error)
    error = desk.error({**rows.block(), "config": {"user": "root"}})
    check("config.user without an image is refused by name", (error.get("code"), error.get("path")) == ("sandbox_config_invalid", "config/user"), error)


def main():
    need_programs()
    if not shutil.which("runc", path=PLACES):
        report("provider oci on an image", skip="this machine has no runc")
        return end()
    rows.BLOCK["provider"] = "oci"
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        desk = rows.Desk(top)
        if "no_unified" in desk.carrel("plan", "-f", desk.manifest(rows.block()), "-w", desk.workspace, "--json").stdout:
            report("provider oci on an image", skip="this machine has no writable cgroup v2 hierarchy")
            return end()
        for part in (tiers, rows.sees, rows.runs_its_command, rows.writes, rows.owners, rows.installs, rows.pins, rows.holds):
            part(desk)
        if not shutil.which("crun", path=PLACES):
            report("an image with crun", skip="this machine has no crun")
            return end()
        rows.busybox_import(rows.CARREL, desk.state)      # the last part removed it
        rows.BLOCK["config"] = {"image": "box:1", "runtime": "crun"}
        for part in (rows.sees, rows.writes, rows.owners):
            part(desk)
    return end()


if __name__ == "__main__":
    sys.exit(main())
