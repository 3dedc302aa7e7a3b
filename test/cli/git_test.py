#!/usr/bin/env python3
"""Placeholders of protected names stand in the workspace while a command runs: git, inside, passes over them. Prints TAP."""
import os
import shutil
import subprocess
import sys
import tempfile

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts:\n  - {source: workspace, at: /workspace}\n---\n"
COMMIT = "git add -A && git -c user.name=a -c user.email=a@b.c commit -qm all && git ls-files"


def run(workspace, script):
    done = subprocess.run([CARREL, "run", "-w", workspace, "--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    return done.stdout + done.stderr if done.returncode else done.stdout


def tell(number, what, got, want):
    print(f"{'ok' if got == want else 'not ok'} {number} - {what}")
    if got != want:
        print(f"# wanted {want!r}, got {got!r}")


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        return 0
    print("1..4")
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        with open(os.path.join(top, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)
        with open(os.path.join(top, ".envrc"), "w", encoding="utf-8") as f:
            f.write("# the project's own\n")
        subprocess.run(["git", "init", "-q", top], check=True)
        tell(1, "placeholders stand inside", run(top, "test -e .bashrc && test -e .mcp.json && echo there"), "there\n")
        tell(2, "git shows what is the project's, and no placeholder", run(top, "git status --short"), "?? .envrc\n?? SANDBOX.md\n")
        tell(3, "git add -A takes what is the project's, and no placeholder", run(top, COMMIT), ".envrc\nSANDBOX.md\n")
        tell(4, "nothing stands there afterwards", sorted(os.listdir(top)), [".envrc", ".git", "SANDBOX.md"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
