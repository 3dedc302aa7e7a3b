#!/usr/bin/env python3
"""An image that buildah built from nothing in two layers: what the second removes, replaces and empties, and what it is called.
Prints TAP.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, check, end, need_programs, report
from image_rig import BUSYBOX, image_import


class Builder:
    """buildah with all of its state below `top`, and without a registry."""

    def __init__(self, top):
        self.place = os.path.join(top, "buildah")
        os.mkdir(self.place)
        self.policy = os.path.join(self.place, "policy.json")
        with open(self.policy, "w", encoding="ascii") as f:
            f.write('{"default": [{"type": "insecureAcceptAnything"}]}')

    def __call__(self, *words):
        base = ["buildah", "--root", self.place + "/storage", "--runroot", self.place + "/run", "--storage-driver", "vfs"]
        return subprocess.run([*base, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=ALWAYS, check=True).stdout.strip()

    def commit(self, container, *words):
        return self("commit", "--signature-policy", self.policy, "--quiet", container, *words)


def write(root, files):
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "w", encoding="utf-8") as f:
            f.write(text)


def build(top, target):
    buildah, first = Builder(top), os.path.join(top, "first")
    write(first, {"etc/motd": "old\n", "srv/gone/file": "x", "srv/emptied/a": "a", "srv/replaced": "x"})
    os.mkdir(first + "/bin")
    shutil.copy(BUSYBOX, first + "/bin/busybox")
    for name in ("sh", "cat", "find"):
        os.symlink("busybox", os.path.join(first, "bin", name))
    container = buildah("from", "scratch")
    buildah("copy", container, first, "/")
    buildah("config", "--env", "BUILT=yes", "--env", "PATH=/bin", "--workingdir", "/srv", "--entrypoint", '["cat"]', "--cmd", "/etc/motd", container)
    below = buildah.commit(container, "one")
    container = buildah("from", "--signature-policy", buildah.policy, "--pull-never", below)
    root = buildah("mount", container)
    for name in ("gone", "emptied"):
        shutil.rmtree(os.path.join(root, "srv", name))
    os.unlink(os.path.join(root, "srv/replaced"))
    write(root, {"etc/motd": "of the second\n", "srv/emptied/b": "b", "srv/replaced/inside": "c"})
    buildah("umount", container)
    buildah.commit(container, target)


def main():
    need_programs()
    if not ROOT:
        report("an image of buildah", skip="buildah as an ordinary user needs newuidmap and ids in /etc/subuid")
        return end()
    with tempfile.TemporaryDirectory() as top:
        state, layout = os.path.join(top, "state"), os.path.join(top, "layout")
        build(top, f"oci:{layout}:built:1")
        got = image_import(CARREL, state, layout, "built:1")
        check("two layers are imported", got["layers"] == 2 and got["new_layers"] == 2, got)
        with open(os.path.join(top, "SANDBOX.json"), "w", encoding="utf-8") as f:
            json.dump({"provider": "container", "config": {"image": "built:1"}}, f)

        def run(*words):
            return subprocess.run([CARREL, "run", "-f", os.path.join(top, "SANDBOX.json"), *words], cwd=top, env={**os.environ, "CARREL_STATE": state}, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=ALWAYS, check=False)
        done = run()
        check("its entry point runs in the second layer's files", done.stdout == "of the second\n", done)
        done = run("--", "sh", "-c", "find /srv | busybox sort; pwd; echo $BUILT")
        check("what the second layer removed is gone, and what it replaced is replaced", done.stdout.split() ==
              ["/srv", "/srv/emptied", "/srv/emptied/b", "/srv/replaced", "/srv/replaced/inside", "/srv", "yes"], done)
    return end()


if __name__ == "__main__":
    sys.exit(main())
