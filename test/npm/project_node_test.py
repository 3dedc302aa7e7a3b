#!/usr/bin/env python3
# slow: 25 s: a package is installed four times from the registry, through the wall
"""project_node_test - test/projects/node in `carrel run`, a living sandbox, MCP and the Python
client: npm install through the preset @npm, build, tests, an edit, a test that fails, a fix, a
development server behind a published port, git. Prints TAP.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, need_programs, own_place
from project_rig import PORT, Project, hour

STEPS = [
    ("sh", "npm install --ignore-scripts 2>&1", 0, "added 1 package"),
    ("sh", "npm run build", 0, "2 pages"),
    ("sh", "cat dist/index.html", 0, "<title>Notes</title>\n<h1>Notes</h1>\n<p>All <em>notes</em> of this site.</p>"),
    ("sh", "npm test", 0, "# fail 0"),
    ("edit", "src/render.js", "'Untitled'", "'A note'"),
    ("sh", "npm test", 1, "# fail 1"),
    ("edit", "test/render.test.js", "Untitled", "A note"),
    ("sh", "npm test", 0, "# pass 3"),
    ("serve", "PORT=%d npm run dev" % PORT, "list.html", "<li>one</li>"),
    ("sh", "npm ls --omit=dev", 0, "marked@12.0.2"),
    ("sh", "npx --no-install marked --version", 0, "12.0.2"),
    ("sh", "curl -sS -m 20 https://example.com/ 2>&1; echo", 0, "Could not resolve host"),
    ("sh", "git add -A && git commit -qm 'Name a note' && git log --format='%an %s' -1 && git status --porcelain", 0, "Ada L Name a note\n"),
]
MAY_CHANGE = [r"node_modules(/.*)?", r"dist(/.*)?", r"src/render\.js|test/render\.test\.js|package-lock\.json", r"\.git/(objects/.*|index|logs/.*|refs/heads/main|COMMIT_EDITMSG)"]


def main():
    need_programs()
    own_place()
    with tempfile.TemporaryDirectory(prefix="ct-") as folder:
        project = Project("node", folder)
        check("carrel init finds npm, and says what to run first", "written for npm" in project.init and "next: carrel run -- npm install" in project.init, project.init)
        project.permit_registry("registry.npmjs.org")
        hour(project, STEPS, MAY_CHANGE, ["git log --format=%H", "git ls-files -s", "cat dist/*"])
    end()


main()
