#!/usr/bin/env python3
"""A linked worktree (git worktree add) as the workspace: its repository is mounted under the same
rules, or the run is refused with a reason. Prints TAP.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts:\n  - {source: workspace, at: /workspace}\n---\n"
OPEN = MANIFEST.replace("mounts:", "metadata: {carrel: {unprotect: [.git]}}\nmounts:")
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


def host(home, place, script):
    env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["sh", "-ec", script], cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def run(home, place, script, *options):
    env = {**os.environ, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state")}
    return subprocess.run([CARREL, "run", *options, "-w", place, "--", "sh", "-ec", script], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)


def write(place, name, text):
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, name), "w", encoding="utf-8") as f:
        f.write(text)


def works(top, home):
    main, side = os.path.join(top, "main"), os.path.join(top, "side")
    write(main, "SANDBOX.md", MANIFEST)
    write(main, ".envrc", "one\n")
    host(home, main, "git init -q -b main; git add -A; git commit -qm one; git checkout -q -b two; echo two >.envrc; git commit -qam two; git checkout -q main; git worktree add -q ../side -b agent")
    done = run(home, side, "git status --short; echo x >f; git add f; git commit -qm inside; git merge -q two; cat .envrc; git branch --show-current", "--json")
    result = json.loads(done.stdout or "{}")
    tell("git works inside: status, commit, merge of a tracked protected name", result.get("exit_code") == 0 and result.get("stdout") == "two\nagent\n", done.stdout, done.stderr)
    tell("it is said that the repository is mounted as well", any("the workspace is a linked worktree" in w["message"] and main + "/.git" in w["message"] for w in result.get("warnings", [])), result)
    got = host(home, main, "git log --format=%s agent --; git -C ../side status --short; git worktree list | wc -l")
    tell("the host has it", "inside\n" in got.stdout and got.stdout.endswith("two\none\n2\n"), got)
    before = host(home, main, "ls .git/hooks; git config --local --list").stdout
    done = run(home, side, "g=$(git rev-parse --git-common-dir); echo x >$g/hooks/pre-commit || echo held; git config core.fsmonitor evil; "
                           "echo ../../../evil >$(git rev-parse --git-dir)/commondir || echo held; ls -A $g/..")
    tell("hooks, configuration and the record of the worktree are held, and nothing else of the host is there",
         done.returncode == 0 and done.stdout == "held\nheld\n.git\n" and host(home, main, "ls .git/hooks; git config --local --list").stdout == before and
         "core.fsmonitor: git status runs it" in done.stderr, done, before)
    host(home, main, "git config core.hooksPath .husky; mkdir ../side/.husky; echo '#!/bin/sh' >../side/.husky/pre-commit")
    done = run(home, side, "echo evil >.husky/pre-commit || echo held")
    tell("hooks that the repository's configuration names in the worktree are held", done.stdout == "held\n", done)


def refused(top, home):
    main = os.path.join(top, "other")
    write(main, "SANDBOX.md", MANIFEST)
    host(home, main, "git init -q -b main; git add -A; git commit -qm one; git worktree add -q ../linked; mkdir ../elsewhere; cp ../linked/.git ../linked/SANDBOX.md ../elsewhere")
    gone, elsewhere = os.path.join(top, "gone"), os.path.join(top, "elsewhere")
    write(gone, "SANDBOX.md", MANIFEST)
    write(gone, ".git", f"gitdir: {top}/nowhere/.git/worktrees/x\n")
    for label, place, why in (("whose repository is gone", gone, "it is not there"), ("that the repository does not name", elsewhere, "it has no record of a linked worktree here")):
        done = run(home, place, "true")
        tell(f"a worktree {label} is refused, with the way out", done.returncode != 0 and why in done.stderr and "unprotect" in done.stderr and "git worktree repair" in done.stderr, done)
        write(place, "SANDBOX.md", OPEN)
        done = run(home, place, "echo on")
        tell(f"a worktree {label}: with unprotect it runs without git", done.stdout == "on\n", done)
    if os.getuid() == 0:
        for at, names, files in os.walk(os.path.join(main, ".git")):
            for n in [*names, *files, "."]:
                os.chown(os.path.join(at, n), 65534, 65534)
        done = run(home, os.path.join(top, "linked"), "true")
        tell("a worktree of another user's repository is refused", done.returncode != 0 and "it belongs to another user" in done.stderr, done)
    sub = os.path.join(top, "within")
    write(sub, "SANDBOX.md", MANIFEST)
    host(home, sub, "git init -q --separate-git-dir=store .; git add SANDBOX.md; git commit -qm one; echo gitdir: ./store >.git")
    done = run(home, sub, "git log --format=%s")
    tell("a repository elsewhere in the workspace is found as before", done.stdout == "one\n", done)


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        return 0
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        home = os.path.join(top, "home")
        write(home, ".gitconfig", "[user]\n\tname = A\n\temail = a@b.c\n[safe]\n\tdirectory = *\n")
        works(top, home)
        refused(top, home)
    print(f"1..{NUMBER[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
