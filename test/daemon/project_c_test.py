#!/usr/bin/env python3
"""project_c_test - test/projects/c in `carrel run`, a living sandbox, MCP and the Python client:
make, a debugger, a history with one wrong commit: git bisect run, revert, rebase. Prints TAP.
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, TREE, check, end, need_programs, own_place
from project_rig import Project, Run, hour


def history(p):
    """Six more commits, the third of which does not wrap around; a branch from the second."""
    def commit(message, line):
        p.sh("%s; git add -A; git commit -qm '%s'" % (line, message))
    p.sh("git tag -a v1 -m v1")
    commit("Say what it is for", "echo 'For logs.' >>README.md")
    p.sh("git branch notes")
    commit("Explain the room", "echo 'Its room is fixed.' >>README.md")
    commit("Simplify", "sed -i 's/(r->first + 1) % sizeof r->bytes/r->first + 1/' src/ring.c")
    commit("Name the licence", "echo 'Apache-2.0' >>README.md")
    commit("Warn of more", "sed -i 's/-Wextra/-Wextra -Wshadow/' Makefile")
    p.sh("git checkout -q notes; echo 'Read it with less.' >NOTES.md; git add -A; git commit -qm 'Notes'; git checkout -q main")


STEPS = [
    ("sh", "make", 0, "-Wshadow"),
    ("sh", "make test", 2, "Assertion"),
    ("sh", "git bisect start HEAD v1 && git bisect run sh -c 'make -s clean; make -s test' && git bisect log | grep 'first bad' && git bisect reset", 0,
     "] Simplify"),
    ("sh", "git status --porcelain && git branch --show-current", 0, "main\n"),
    ("sh", "git revert --no-edit HEAD~2", 0, "Revert"),
    ("sh", "make clean && make -j2 test", 0, "ring: ok"),
    ("edit", "src/main.c", "The last eight bytes", "The last eight bytes, or all,"),
    ("sh", "make test && git commit -qam 'Say more' && git checkout -q notes && git rebase -q main && git checkout -q main && git merge -q --ff-only notes", 0, "ring: ok"),
    ("sh", "git log --format=%s", 0, "Notes\nSay more\nRevert \"Simplify\"\nWarn of more\nName the licence\nSimplify\n"),
    ("sh", "git describe --abbrev=0 && git status --porcelain", 0, "v1\n"),
]
OPTIONAL = {
    "gdb": ("sh", "printf 0123456789 >in && gdb -batch -ex 'break ring_take' -ex 'run <in' -ex bt -ex 'print r->count' ./last8 2>&1; rm in", 0, "$1 = 8"),
    "valgrind": ("sh", "printf 0123456789 | valgrind -q --error-exitcode=9 ./last8", 0, "23456789"),
    "strace": ("sh", "strace -c -f -o trace make -n >/dev/null; grep -c execve trace; rm trace", 0, "1\n"),
}
MAY_CHANGE = [r"last8|ring_test|(src|test)/.*\.o|src/(ring|main)\.c|README\.md|Makefile|NOTES\.md|SANDBOX\.md", r"\.git/(objects/.*|index|logs(/.*)?|refs/heads/(main|notes)|COMMIT_EDITMSG|HEAD|packed-refs)",
              r"\.git/(ORIG_HEAD|packed-refs|AUTO_MERGE|REBASE_HEAD|BISECT_.*|refs/bisect|worktrees)"]


def before_carrel(project):
    """SANDBOX.md is pinned: git cannot remove it. The way back is the one of docs/BOX.md."""
    path = os.path.join(project.folder, "older")
    project.sh("git init -q %s && cd %s && echo 1 >f && git add f && git commit -qm old && git branch old && '%s' init >/dev/null && git add -A && git commit -qm new" % (path, path, CARREL))
    text = project.sh("cat SANDBOX.md", path)
    way = Run(project, path, None)
    status, output = way.sh("git checkout old 2>&1; git log --format=%s -1; git checkout main")
    check("git leaves SANDBOX.md where it goes to a commit without it, and does not go back by itself", status == 1 and "old\n" in output and "would be overwritten" in output, output)
    with open(os.path.join(TREE, "docs", "BOX.md"), encoding="utf-8") as f:
        line = re.search(r"`(git symbolic-ref [^`]*)`", f.read()).group(1).replace("BRANCH", "main")
    status, output = way.sh(line + " && git status --porcelain && git branch --show-current")
    check("  the line of docs/BOX.md does", status == 0 and output.endswith("main\n") and "SANDBOX" not in output and project.sh("cat SANDBOX.md", path) == text, output)


def main():
    need_programs()
    own_place()
    with tempfile.TemporaryDirectory(prefix="ct-") as folder:
        project = Project("c", folder, history)
        check("carrel init finds make, and says what to run first", "written for make" in project.init and "next: carrel run -- make" in project.init, project.init)
        found = [step for program, step in OPTIONAL.items() if shutil.which(program, path=project.env["PATH"])]
        before_carrel(project)
        hour(project, STEPS + found, MAY_CHANGE, ["git log --all --format=%H", "git ls-files -s", "git fsck", "ls", "cat .git/HEAD", "cat .git/config"])
    end()


main()
