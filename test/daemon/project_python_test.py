#!/usr/bin/env python3
# slow: 25 s: four virtual environments are made, one with a pip of its own
"""project_python_test - test/projects/python in `carrel run`, a living sandbox, MCP and the Python
client: a virtual environment, a wheel that is built from its source, pytest, an edit, a test that
fails, a fix, git, a server. Prints TAP.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, need_programs, own_place
from project_rig import PORT, Project, Run, hour

STEPS = [
    ("sh", "python3 -m pip wheel -q --no-deps --no-build-isolation --disable-pip-version-check -w wheels ./vendor/units", 0, ""),
    ("sh", ".venv/bin/python -m pip install --disable-pip-version-check --no-index --find-links wheels -r requirements.txt", 0, "Successfully installed units-1.0"),
    ("sh", ".venv/bin/python -m pytest -q", 0, "5 passed"),
    ("sh", "printf 'a word, a word' | .venv/bin/python -m tally", 0, "2 a\n2 word\n0.02 min\n"),
    ("edit", "tally/__init__.py", "-pair[1], pair[0]", "pair[1], pair[0]"),
    ("sh", ".venv/bin/python -m pytest -q", 1, "FAILED tests/test_tally.py::test_top"),
    ("sh", "git diff --stat", 0, "tally/__init__.py | 2 +-"),
    ("edit", "tally/__init__.py", "pair[1], pair[0]", "-pair[1], pair[0]"),
    ("edit", "tally/__init__.py", "per_minute=200", "per_minute=250"),
    ("edit", "tests/test_tally.py", '(500, "2.5 min")', '(500, "2 min"), (625, "2.5 min")'),
    ("edit", "tests/test_tally.py", '(200, "1 min")', '(250, "1 min")'),
    ("sh", ".venv/bin/python -m pytest -q", 0, "6 passed"),
    ("serve", ".venv/bin/python -m http.server %d --bind 127.0.0.1" % PORT, "requirements.txt", "units==1.0"),
    ("sh", "git add -A && git commit -qm 'Read faster' && git log --format='%an %s' -1 && git status --porcelain", 0, "Ada L Read faster\n"),
    ("sh", "git fsck", 0, ""),
]
MAY_CHANGE = [r"\.venv(/.*)?", r"wheels(/.*)?", r"(.*/)?__pycache__(/.*)?", r"\.pytest_cache(/.*)?", r"vendor/units/(build|units\.egg-info)(/.*)?",
              r"tally/__init__\.py", r"tests/test_tally\.py", r"\.git/(objects/.*|index|logs/.*|refs/heads/main|COMMIT_EDITMSG)"]


def steps(kind):
    """One of the environments gets its own pip; the others use Debian's, which takes a tenth of the
    time.
    """
    return [("sh", "python3 -m venv --system-site-packages %s.venv" % ("" if kind is Run else "--without-pip "), 0, "")] + STEPS


def main():
    need_programs()
    own_place()
    with tempfile.TemporaryDirectory(prefix="ct-") as folder:
        project = Project("python", folder)
        check("carrel init finds pip, and says what to run first", "written for pip" in project.init and "next: carrel run -- python3 -m venv .venv" in project.init, project.init)
        hour(project, steps, MAY_CHANGE, ["git log --format=%H", "git ls-files -s"])
    end()


main()
