#!/usr/bin/env python3
"""git works inside and, while a sandbox lives, on the host; npm pack packs the project. Prints TAP."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts:\n  - {source: workspace, at: /workspace}\n---\n"
WHO = "-c user.name=a -c user.email=a@b.c -c init.defaultBranch=main -c protocol.file.allow=always"
STATE = tempfile.mkdtemp(prefix="carrel-git-state-")
NUMBER = [0]


def run(workspace, script):
    done = subprocess.run([CARREL, "run", "-w", workspace, "--", "sh", "-ec", f'git() {{ command git {WHO} "$@"; }}\n{script}'], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False, env={**os.environ, "XDG_STATE_HOME": STATE})
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stdout}{done.stderr}"


def host(workspace, *words):
    return subprocess.run(["git", *WHO.split(), *words], cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False).stdout


def tell(what, got, want):
    NUMBER[0] += 1
    print(f"{'ok' if got == want else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    if got != want:
        print(f"# wanted {want!r}, got {got!r}")


def write(top, name, text):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def workspace(top, name):
    path = os.path.join(top, name)
    write(path, "SANDBOX.md", MANIFEST)
    return path


def looks(path):
    return [(n, os.lstat(os.path.join(path, n)).st_mode, os.lstat(os.path.join(path, n)).st_uid, os.lstat(os.path.join(path, n)).st_mtime_ns)
            for n in sorted(os.listdir(path))] + [os.lstat(path).st_mtime_ns, os.lstat(path).st_ctime_ns]


def nothing_of_ours(top):
    ws = workspace(top, "plain")
    write(ws, ".envrc", "# the project's own\n")
    before = looks(ws)
    tell("inside is what the project has", run(ws, "ls -A"), ".envrc\nSANDBOX.md\n")
    tell("a run leaves names, modes, owners and times of the workspace as they were", looks(ws) == before, True)
    seen = run(ws, "cat >/dev/null; ls -A")
    tell("the same with its input closed", seen, ".envrc\nSANDBOX.md\n")
    p = subprocess.Popen([CARREL, "run", "-w", ws, "--", "sh", "-c", "echo up; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    tell("while it runs the host sees nothing of Carrel's", looks(ws) == before, True)
    tell("git init on the host works meanwhile", host(ws, "init", "-q"), "")
    tell("git status on the host shows the project's files alone", host(ws, "status", "--short"), "?? .envrc\n?? SANDBOX.md\n")
    host(ws, "add", "-A")
    tell("git add -A on the host takes these alone", host(ws, "ls-files"), ".envrc\nSANDBOX.md\n")
    p.communicate()


def inside(top):
    ws = workspace(top, "new")
    tell("git init, add and commit in an empty workspace", run(ws, "git init -q; git add -A; git commit -qm one; git ls-files"), "SANDBOX.md\n")
    tell("the repository is one for the host", host(ws, "log", "--format=%s"), "one\n")
    ws = workspace(top, "tracked")
    host(ws, "init", "-q")
    write(ws, ".vscode/settings.json", '{"a": 1}\n')
    write(ws, ".envrc", "one\n")
    write(ws, "f", "1\n")
    host(ws, "add", "-A")
    host(ws, "commit", "-qm", "main")
    host(ws, "checkout", "-qb", "feature")
    write(ws, ".vscode/settings.json", '{"a": 2}\n')
    write(ws, ".envrc", "two\n")
    host(ws, "commit", "-qam", "feature")
    host(ws, "checkout", "-q", "main")
    tell("git checkout changes tracked names", run(ws, "git checkout -q feature; cat .vscode/settings.json .envrc; git status --short"), '{"a": 2}\ntwo\n')
    tell("and the host has them", host(ws, "status", "--short"), "")
    tell("git merge does", run(ws, "git checkout -q main; git merge -q feature; cat .envrc; git status --short"), "two\n")
    tell("git rebase does", run(ws, "git reset -q --hard HEAD~1; echo 2 >f; git commit -qam f; git rebase -q feature; cat .envrc f; git status --short"), "two\n2\n")
    tell("git stash does", run(ws, "echo three >.envrc; git stash -q; cat .envrc; git stash pop -q; cat .envrc; git checkout -q .envrc"), "two\nthree\n")
    tell("git worktree add does", run(ws, "git worktree add -q wt feature; cat wt/.envrc; git worktree remove wt"), "two\n")
    tell("git clone of it does, dot files and all", run(ws, "git clone -q . copy; cat copy/.envrc; rm -rf copy"), "two\n")


def configures(top):
    """What git writes into its configuration during normal work is kept, whatever else it contains.
    """
    ws = workspace(top, "configured")
    host(ws, "init", "-q")
    host(ws, "config", "core.hooksPath", ".husky")
    host(ws, "config", "alias.st", "status")
    tell("git config sets a name", run(ws, "command git config user.name x; command git config user.name"), "x\n")
    tell("git remote add does", run(ws, "git remote add origin https://example.invalid/a.git; git remote add ssh git@example.invalid:a/b.git; git remote get-url ssh"),
         "git@example.invalid:a/b.git\n")
    tell("git branch settings do", run(ws, "git add -A; git commit -qm one; git config branch.main.remote origin; git config branch.main.merge refs/heads/main; git branch -m main next; "
                                       "git config branch.next.merge"), "refs/heads/main\n")
    tell("git sparse-checkout does", run(ws, "git sparse-checkout set d; git config --worktree core.sparseCheckout; git sparse-checkout disable"), "true\n")
    tell("git init once more does", run(ws, "git init -q; git config --get core.bare"), "false\n")
    tell("git submodule add does", run(ws, "git clone -q . /tmp/lib; git submodule add -q https://example.invalid/x.git no 2>/dev/null || :; git config submodule.lib.url https://example.invalid/lib.git; "
                                       "git config submodule.lib.active true; git config submodule.lib.url"), "https://example.invalid/lib.git\n")
    tell("the host has all of it", host(ws, "config", "--local", "--get-regexp", "user|url|hookspath|alias|next"),
         "core.hookspath .husky\nalias.st status\nuser.name x\nremote.origin.url https://example.invalid/a.git\nremote.ssh.url git@example.invalid:a/b.git\n"
         "branch.next.remote origin\nbranch.next.merge refs/heads/main\nsubmodule.lib.url https://example.invalid/lib.git\n")
    before = host(ws, "config", "--local", "--list")
    seen = run(ws, "git config core.fsmonitor 'touch /tmp/x'; while command git config core.fsmonitor; do sleep 0.05; done; command git config user.name")
    tell("a key that runs a program is put back while the command runs", (seen.splitlines()[-1:], host(ws, "config", "--local", "--list") == before), (["x"], True))
    done = subprocess.run([CARREL, "run", "-w", ws, "--", "git", "config", "core.hooksPath", "/evil"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, env={**os.environ, "XDG_STATE_HOME": STATE})
    line = next((x for x in done.stderr.splitlines() if "core.hookspath: git runs hooks from there." in x), done.stderr)
    back = subprocess.run(["sh", "-c", line.split("take it with: ")[-1]], check=False).returncode
    tell("the command of the report takes the change all the same", (back, host(ws, "config", "core.hooksPath")), (0, "/evil\n"))


def pack(top):
    if not shutil.which("npm"):
        NUMBER[0] += 1
        print(f"ok {NUMBER[0]} - npm pack packs the project alone # SKIP npm is not installed here")
        return
    ws = workspace(top, "package")
    write(ws, "package.json", '{"name": "p", "version": "1.0.0"}\n')
    write(ws, "index.js", "\n")
    p = subprocess.Popen([CARREL, "run", "-w", ws, "--", "sh", "-c", "echo up; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    done = subprocess.run(["npm", "pack", "--json", "--dry-run", "--offline"], cwd=ws, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    p.communicate()
    files = sorted(f["path"] for f in json.loads(done.stdout)[0]["files"]) if done.returncode == 0 else done.stderr
    tell("npm pack packs the project alone", files, ["SANDBOX.md", "index.js", "package.json"])


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        return 0
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        nothing_of_ours(top)
        inside(top)
        configures(top)
        pack(top)
    shutil.rmtree(STATE, ignore_errors=True)
    print(f"1..{NUMBER[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
