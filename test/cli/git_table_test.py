#!/usr/bin/env python3
# slow: 25 s: forty operations of git, each on the host and in a sandbox
"""Operations of git, each inside a sandbox and outside: afterwards the files are equal, byte for
byte. Prints TAP.

Each row starts with the same repository, created on the host. It runs its script once in a copy on
the host and once in a copy in a sandbox, with the same dates and the caller's own identity. All
files of both copies are compared (names, modes, bytes), except the index, of which git's own
listing is compared.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts:\n  - {source: workspace, at: /workspace}\n---\n"
IDENTITY = "[user]\n\tname = \"Ada \\\"the\\\" L\"\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = trunk\n[commit]\n\tgpgSign = false\n"
DATES = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
FROM_URL = 'git -c protocol.file.allow=always -c url."$PWD/".insteadOf=https://h.invalid/'
NUMBER = [0]
LINES = threading.Lock()
AT_ONCE = 3             # rows

ROWS = [
    ("commit", "echo x >f; git add f; git commit -qm x"),
    ("commit --amend", "git commit -q --amend -m other"),
    ("commit -a, with a deleted and a new mode", "rm g; chmod 755 f; git commit -qam x"),
    ("config", "git config user.name Other; git config pull.rebase true; git commit -q --allow-empty -m x"),
    ("config --unset", "git config --unset branch.main.description"),
    ("config --global", "git config --global alias.st status; git st >/dev/null"),
    ("remote add", "git remote add up https://example.invalid/u.git; git remote add ssh git@example.invalid:a/b.git"),
    ("remote rename, set-url and remove", "git remote add up https://example.invalid/u.git; git remote rename up down; git remote set-url down https://example.invalid/d.git; git remote remove down"),
    ("fetch and pull --rebase", "git fetch -q; git commit -q --allow-empty -m x; git pull -q --rebase origin x"),
    ("push -u", "git push -q -u origin main"),
    ("push of a new branch", "git checkout -q -b new; git commit -q --allow-empty -m n; git push -q -u origin new"),
    ("branch -m", "git branch -m main next"),
    ("branch -d", "git branch y; git branch -q -d y"),
    ("checkout -b x origin/x", "git checkout -q -b x origin/x"),
    ("checkout of a branch with tracked settings", "git checkout -q side; git checkout -q main; git checkout -q side"),
    ("switch", "git switch -q -c z; git switch -q main; git switch -q --track origin/x"),
    ("merge", "git merge -q --no-edit side"),
    ("merge with a conflict", "git merge -q clash || { echo both >f; git add f; git commit -qm both; }"),
    ("rebase", "git checkout -q side; git rebase -q main"),
    ("rebase with a conflict, aborted", "git checkout -q clash; git rebase -q main || git rebase --abort"),
    ("stash", "echo three >f; echo new >n; git stash -q -u; git stash apply -q; git stash list >list"),
    ("cherry-pick and revert", "git cherry-pick side >/dev/null; git revert --no-edit HEAD >/dev/null"),
    ("reset --hard, clean and restore", "echo x >f; echo y >junk; git clean -qfd; git restore f; git reset -q --hard HEAD"),
    ("tag -a", "git tag -a v1 -m v1; git describe >d"),
    ("mv and rm", "git mv f f2; git rm -q g; git commit -qm moved"),
    ("submodule add", f"{FROM_URL} submodule -q add https://h.invalid/remote.git lib; git commit -qm lib"),
    ("submodule update --init", f"{FROM_URL} submodule -q add https://h.invalid/remote.git lib; git commit -qm lib; git submodule -q deinit -f lib; {FROM_URL} submodule -q update --init"),
    ("sparse-checkout", "git sparse-checkout set .vscode; git sparse-checkout disable"),
    ("worktree add and remove", "git worktree add -q wt side; (cd wt; git commit -q --allow-empty -m w); git worktree remove wt"),
    ("gc", "git gc -q --aggressive"),
    ("bundle, clone and bisect", "git bundle create -q b --all; git clone -q b copy; rm -rf copy b; git bisect start HEAD HEAD~1 >/dev/null; git bisect reset"),
    ("notes and reflog", "git notes add -m n; git reflog expire --expire=now --all"),
    ("am of a patch", "git format-patch -q -1 side; git am -q 0*.patch; rm 0*.patch"),
    ("init", "mkdir new; cd new; git init -q; git symbolic-ref HEAD; git commit -q --allow-empty -m x"),
]


def tell(what, is_good, *why):
    with LINES:
        NUMBER[0] += 1
        print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
        for line in () if is_good else why:
            print("# " + str(line).replace("\n", "\n# "))


def host(home, place, script):
    env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **DATES}
    done = subprocess.run(["sh", "-ec", script], cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def inside(home, place, script, *options):
    env = {**os.environ, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state")}
    env.pop("XDG_CONFIG_HOME", None)
    more = [w for name, value in DATES.items() for w in ("-e", f"{name}={value}")]
    done = subprocess.run([CARREL, "run", *options, "-w", place, *more, "--", "sh", "-ec", script], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def write(top, name, text):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def make(top, home):
    """The branches main, side (other settings), clash (another f), and a bare repository
    `remote.git` with x.
    """
    place = os.path.join(top, "base")
    write(place, "SANDBOX.md", MANIFEST)
    write(place, ".gitignore", "remote.git\n")
    write(place, ".vscode/settings.json", '{"a": 1}\n')
    write(place, "f", "one\n")
    write(place, "g", "g\n")
    status, out, err = host(home, place, """
        git init -q -b main; git add -A; git commit -qm one; git config branch.main.description d
        git checkout -q -b side; echo '{"a": 2}' >.vscode/settings.json; git commit -qam side
        git checkout -q -b clash main; echo two >f; git commit -qam clash; git checkout -q main; echo 1 >f; git commit -qam f
        git init -q --bare -b main remote.git; git remote add origin ./remote.git; git push -q origin main:x main; git fetch -q""")
    if status != 0:
        sys.exit(f"Bail out! {out}{err}")
    return place


def looks(home, place):
    """All files in it. Files that git packs are compared by their content."""
    seen = {}
    for at, _, names in os.walk(place):
        for name in names:
            path = os.path.join(at, name)
            short = os.path.relpath(path, place)
            if name in ("index", "gc.pid") or "/objects/pack/" in path or "/objects/info/" in path:
                continue
            mode = os.lstat(path).st_mode
            with open(path, "rb") as f:
                seen[short] = (oct(mode) if "/objects/" not in path else "", f.read())   # a clone links or copies objects
    said = host(home, place, "for r in . lib new remote.git; do [ -e $r ] || continue; cd $r; git ls-files -s; git status --short; git fsck --no-progress 2>&1; git for-each-ref; "
                             "git rev-list --objects --all --reflog | sort; git config --local --list; git submodule; git stash list; git worktree list | wc -l; cd - >/dev/null; done")
    return seen, said


def row(top, base, number, label, script):
    home = os.path.join(top, "homes", str(number))
    write(home, ".gitconfig", IDENTITY)
    places = [os.path.join(top, way, str(number), "ws") for way in ("outside", "inside")]
    for place in places:
        shutil.copytree(base, place, symlinks=True)
        host(home, place, "git status >/dev/null")     # the times of a copy differ
    out = host(home, places[0], script)
    # Its own --global is not the caller's.
    write(home, ".gitconfig", IDENTITY)
    into = inside(home, places[1], script)
    (left, left_said), (right, right_said) = looks(home, places[0]), looks(home, places[1])
    differ = sorted(n for n in set(left) | set(right) if left.get(n) != right.get(n))
    tell(f"git {label}: the same inside and outside", out[0] == 0 and out[:2] == into[:2] and not differ and left_said == right_said, out, into, differ,
         *[(n, left.get(n), right.get(n)) for n in differ[:4]], *([left_said, right_said] if left_said != right_said else []))


def table(top, base):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as lot:
        rows = [lot.submit(row, top, base, number, *words) for number, words in enumerate(ROWS) if len(sys.argv) < 2 or any(w in words[0] for w in sys.argv[1:])]
        for one in rows:
            one.result()


def known(top, home, base):
    """Only what the sandbox knows about the caller."""
    place = os.path.join(top, "known")
    shutil.copytree(base, place, symlinks=True)
    write(home, ".gitconfig", IDENTITY + "[core]\n\teditor = evil\n[alias]\n\tx = !evil\n")
    got = inside(home, place, "git config --show-scope --get-regexp '^(user|init|core.editor|alias)' | sort")
    tell("three keys of the caller's are known inside", got[1] == "system\tinit.defaultbranch trunk\nsystem\tuser.email ada@example.invalid\nsystem\tuser.name Ada \"the\" L\n", got)
    os.unlink(os.path.join(home, ".gitconfig"))
    got = inside(home, place, "git config user.name || echo none; git status --short")
    tell("nothing is known of a caller without a configuration, and git works", got[:2] == (0, "none\n"), got)
    write(home, ".gitconfig", IDENTITY)
    got = inside(home, place, "mkdir -p .husky/_; git config core.hooksPath .husky/_; echo installed", "--json")
    result = json.loads(got[1])
    tell("an install script that sets core.hooksPath (husky) does not fail, and the key is reported",
         result["exit_code"] == 0 and result["stdout"] == "installed\n" and [(k["what"], k["key"]) for k in result["left_behind"]] == [("restored", "core.hookspath")], got)
    got = inside(home, place, "git worktree add -q wt side; cd wt; echo w >w; git add w; git commit -qm w")
    on_host = host(home, place, "git worktree repair wt 2>/dev/null; cd wt; git log -1 --format=%s; git status --short")
    tell("a worktree that is made inside is the host's after `git worktree repair`", got[0] == 0 and on_host[:2] == (0, "w\n"), got, on_host)


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        return 0
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        home = os.path.join(top, "home")
        write(home, ".gitconfig", IDENTITY)
        base = make(top, home)
        table(top, base)
        known(top, home, base)
    print(f"1..{NUMBER[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
