"""The kinds of sandboxes, as rows: test/daemon/kinds_test.py and the attacks run one list over them. Not a test.

A further kind is a row of KINDS. What it cannot do is in its `cannot`, by the name of a part, with the error that says so;
what differs is in its other fields. `bars` says with which reasons it may refuse to start on this machine: a kind that does
not start with one of them fails.
"""
import dataclasses
import json
import os
import shutil

from box_rig import CARREL, HERE, ROOT, TREE
from image_rig import BUSYBOX, busybox_import
from machine_rig import has_tap, lacking, make_disk, unpacked

IMAGE = "box:1"
ELSEWHERE = "ssh-box"
PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"


def on_this_machine():
    return ()


def container_runtime(name, *others):
    """The reasons why an OCI runtime may not start here."""
    def bars():
        unified = any(os.path.exists(f"/sys/fs/cgroup{sub}/cgroup.controllers") for sub in ("", "/unified"))
        return (*others, *(() if shutil.which(name, path=PLACES) else ("no_runtime",)), *(() if unified or not ROOT else ("no_unified",)))
    return bars


def machine():
    return ("no_qemu", "no_kernel", "kernel_modules", "machine_kind") if lacking() else ()


@dataclasses.dataclass(frozen=True)
class Kind:
    block: dict
    tier: str | None
    uid: int = 1000
    home: str = "/home/agent"
    has_image: bool = False
    has_disk: bool = False                                     # of the image, for a machine
    cannot: dict = dataclasses.field(default_factory=dict)     # part: the code of its refusal
    lacks: tuple = ()                                          # limits that are warned of instead
    by_ssh: bool = False                                       # a command is a line of a shell elsewhere: what that changes is a row
    bars: object = on_this_machine


KINDS = {
    "local": Kind({"provider": "local", "config": {}}, "T1"),
    "container": Kind({"provider": "container", "config": {"image": IMAGE}}, "T2", has_image=True),
    "container as root": Kind({"provider": "container", "config": {"image": IMAGE, "user": "root"}}, "T2", uid=0, home="/root", has_image=True),
    "oci with runc": Kind({"provider": "oci", "config": {}}, "T1", bars=container_runtime("runc")),
    "oci on an image": Kind({"provider": "oci", "config": {"image": IMAGE}}, "T2", has_image=True, bars=container_runtime("runc")),
    "oci with crun": Kind({"provider": "oci", "config": {"runtime": "crun"}}, "T1", bars=container_runtime("crun")),
    "oci with runsc": Kind({"provider": "oci", "config": {"runtime": "runsc"}}, "T3", bars=container_runtime("runsc", "runtime")),
    "microvm": Kind({"provider": "microvm", "config": {"image": IMAGE}}, "T3", has_image=True, has_disk=True, bars=machine, cannot={} if has_tap() else {"egress": "sandbox_egress_unenforceable"}),
    "elsewhere": Kind({"provider": ELSEWHERE, "config": {}}, None, cannot={
        "pause": "capability_unavailable", "terminal": "capability_unavailable", "egress": "sandbox_egress_unenforceable", "mounts": "sandbox_mount_unresolvable",
        "system": None, "port": "capability_unavailable"}, lacks=("pids", "disk_mb", "memory_mb"), by_ssh=True),
}


def make_image(kind, state, **config):
    """The image of this kind, and its disk; returns the image's id, or None."""
    row = KINDS[kind]
    if not row.has_image:
        return None
    image = busybox_import(CARREL, state, IMAGE, **config)["id"]
    if row.has_disk and not row.bars():
        make_disk(state, IMAGE)
    return image


def host_file(top, **fields):
    """Writes a host file with every kind, and the program of the one elsewhere: the example over ssh, with a stand-in for
    ssh, so "elsewhere" is the sandbox of the program itself.
    """
    place = os.path.join(top, "provider")
    os.makedirs(place, exist_ok=True)
    for name in (os.path.join(TREE, "examples", "provider-ssh", "provider.py"), os.path.join(HERE, "bridge_ssh")):
        shutil.copy(name, place)
        os.chmod(os.path.join(place, os.path.basename(name)), 0o755)
    program = ["/usr/bin/python3", place + "/provider.py", "--ssh", place + "/bridge_ssh", "here"]
    rules = {"providers": {**{kind.block["provider"]: {"isolated": True} for kind in KINDS.values()},
                           ELSEWHERE: {"isolated": True, "egress": "closed", "program": program, "tools": [place]}}, **fields}
    if unpacked():
        rules["machine_kernel"] = unpacked()
    path = os.path.join(top, "host.json")
    with open(path, "w", encoding="utf-8", opener=lambda where, flags: os.open(where, flags, 0o600)) as f:
        json.dump(rules, f)
    return path


def why_not(kind, refused):
    """The reason with which this kind refuses to start here, if it is one of its bars; otherwise None."""
    try:
        error = refused.json["error"]
    except (ValueError, TypeError, KeyError):
        return None
    return error.get("reason") if error["code"] == "capability_unavailable" and error.get("reason") in kind.bars() else None


__all__ = ["BUSYBOX", "ELSEWHERE", "IMAGE", "KINDS", "Kind", "host_file", "make_image", "why_not"]
