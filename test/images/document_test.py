#!/usr/bin/env python3
"""`carrel doc generate` and `verify` of a sandbox in a Debian image: its packages are those of the image, and what root may do is said.
Prints TAP.
"""
# slow: 40 s: each claim of a document is tried in a sandbox of its own, and limits until they are reached
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, TREE, check, end, need_programs, report
from image_rig import image_import

MADE = os.path.join(TREE, "build-images")
MANIFEST = {"schema": "sandbox/v1", "id": "@test/image", "version": "1.0.0", "provider": "container", "limits": {"timeout_ms": 10000, "memory_mb": 128}, "network": {"egress": ["api.example.com"]},
            "mounts": [{"source": "workspace", "at": "/workspace"}], "metadata": {"carrel": {"limits": {"cpu_millicores": 1000, "pids": 48, "disk_mb": 32}}}}


def documents(top, env, user):
    def carrel(*words):
        return subprocess.run([CARREL, "doc", *words], cwd=top, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    with open(os.path.join(top, "SANDBOX.md"), "w", encoding="utf-8") as f:
        f.write("---\n" + json.dumps({**MANIFEST, "config": {"image": "debian:1", "user": user}}) + "\n---\n")
    told = carrel("generate", "--audit", "--starts", "1").stderr.split("--config doc.yaml:\n", 1)
    with open(os.path.join(top, "doc.yaml"), "w", encoding="utf-8") as f:
        f.write(told[-1])
    done = carrel("generate", "--audit", "--starts", "1", "--config", "doc.yaml", "--format", "json")
    try:
        tree = json.loads(done.stdout)
    except ValueError:
        check(f"{user}: a document", False, done)
        return
    packages = [p.split(":")[0] for p in tree["tools"]["installed_packages"]]
    check(f"{user}: the packages are those of the image", {"apt", "python3-venv", "python"} <= set(packages) and "gcc" not in packages, packages)
    check(f"{user}: what it may write is said", ("/" in tree["filesystem"]["writable_paths"]) == (user == "root") and ("capability_drop" in tree["threat_model"]["mandatory_controls"]) == (user == "agent"), tree)
    if user == "agent":
        return        # the claims that differ are those of root
    with open(os.path.join(top, "out.json"), "w", encoding="utf-8") as f:
        f.write(done.stdout)
    done = carrel("verify", "out.json", "--audit")
    check(f"{user}: every claim is proven", done.returncode == 0 and ", 0 refuted," in done.stdout, [line for line in done.stdout.splitlines() if line.startswith("refuted")], done.stderr)


def main():
    need_programs()
    if not os.path.exists(os.path.join(MADE, "debian.tar")):
        with open(os.path.join(MADE, "reason"), encoding="utf-8") as f:
            report("a Debian image", skip=f.read().strip())
        return end()
    if not ROOT:
        report("a document", skip="an ordinary user's limits are not all enforced where control groups belong to root, and a document claims them")
        return end()
    with tempfile.TemporaryDirectory() as top:
        state = os.path.join(top, "state")
        image_import(CARREL, state, os.path.join(MADE, "debian.tar"), "debian:1")
        for user in ("agent", "root"):
            documents(top, {**os.environ, "HOME": top, "CARREL_STATE": state}, user)
    return end()


if __name__ == "__main__":
    sys.exit(main())
