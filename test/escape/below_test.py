#!/usr/bin/env python3
# slow: 25 s: 30 attacks, each with a sandbox of its own, with the search and without, as two people
"""Names below the top of a workspace that programs of the host act on: row W08 of the catalogue in
SECURITY.md. Prints TAP.

    W08 created in every way (deep, under a renamed parent, as a link, as a second name, exchanged, with an older date, from an existing file, in a closed
        directory, under a long path) and found when the command has ended: moved away and reported. Content, packages, repositories and what a
        person created are reported, and left.

Each attack is made twice: the shipped program must move the name away; without the layer it stays.
"""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from attack_rig import manifest, run_rows

GIT = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
LONG = "/".join(["a-directory-with-a-long-name-in-the-workspace"] * 8)
EXCHANGE = "python3 -c \"import ctypes; r = ctypes.CDLL(None).renameat2(-100, b'{}', -100, b'{}', 2); exit(r != 0)\""


def git(rig, person, work, *words):
    return rig.host(person, [*GIT, *words], work, env={**os.environ, "HOME": person.home})


def new(person, *paths):
    work = person.directory()
    for path in ("sub/README", "other/x", *paths):
        person.file(os.path.join(work, path), b"of a person\n")
    return work


def is_after(work):
    """Waits for the clock of inode timestamps: a change in the tick in which a command begins
    counts as the command's.
    """
    newest = max(os.lstat(os.path.join(at, n)).st_ctime_ns for at, dirs, files in os.walk(work) for n in (".", *dirs, *files))
    while time.clock_gettime_ns(5) <= newest:          # CLOCK_REALTIME_COARSE
        time.sleep(0.001)


def run(rig, person, work, command, off=None, options=("--json",), **more):
    person.file(os.path.join(work, "SANDBOX.md"), more.pop("text", None) or manifest())
    is_after(work)
    return rig.run(person, ["sh", "-c", command], work, off=off, options=list(options), **more)


def left(done):
    try:
        return json.loads(done.out)["left_behind"]
    except (ValueError, KeyError):
        return []


def entries(done, what):
    return [k for k in left(done) if k["what"] == what]


# Label, files of the user, what the command does, the name that must be gone.
MADE = [
    ("deep", [], "d=$(printf 'd/%.0s' $(seq 40)); mkdir -p $d; echo evil >$d/.envrc", "d/" * 40 + ".envrc"),
    ("in a directory that was there", [], "mkdir sub/.claude; echo evil >sub/.claude/settings.json", "sub/.claude"),
    ("under a renamed parent", [], "mkdir -p x/y/.vscode; echo evil >x/y/.vscode/tasks.json; mv x z", "z/y/.vscode"),
    ("under a parent that is renamed over another", [], "mkdir -p x; echo evil >x/.envrc; rm -r sub; mv x sub", "sub/.envrc"),
    ("as a link", [], "echo evil >sub/e; ln -s e sub/.envrc", "sub/.envrc"),
    ("as a link to a directory", [], "mkdir -p other/c; echo evil >other/c/settings.json; ln -s ../other/c sub/.claude", "sub/.claude"),
    ("as a second name", [], "echo evil >e; ln e sub/.envrc", "sub/.envrc"),
    ("as a second name of what was there", [], "echo evil >>sub/README; ln sub/README sub/mise.toml", "sub/mise.toml"),
    ("exchanged", ["sub/.envrc"], "echo evil >other/e; " + EXCHANGE.format("other/e", "sub/.envrc"), "sub/.envrc"),
    ("in an exchanged directory", [], "mkdir e; echo evil >e/.envrc; " + EXCHANGE.format("e", "sub"), "sub/.envrc"),
    ("dated back", [], "echo evil >sub/.mcp.json; touch -d 2001-01-01 sub/.mcp.json sub", "sub/.mcp.json"),
    ("of a directory that was there", ["other/c/settings.json"], "echo evil >other/c/settings.json; mv other/c sub/.claude", "sub/.claude"),
    ("written over", ["sub/.envrc"], "echo evil >sub/e; mv sub/e sub/.envrc", "sub/.envrc"),
    ("in a directory that may not be written", [], "mkdir e; echo evil >e/.envrc; chmod 555 e", "e/.envrc"),
    ("closed", [], "mkdir sub/.cursor; echo evil >sub/.cursor/mcp.json; chmod 0 sub/.cursor", "sub/.cursor"),
    ("a FIFO", [], "mkfifo sub/.envrc", "sub/.envrc"),
    ("under a long path", [], f"mkdir -p {LONG}; echo evil >{LONG}/.envrc", LONG + "/.envrc"),
    ("a manifest", [], "echo evil >sub/SANDBOX.md", "sub/SANDBOX.md"),
    ("in the directory of packages itself", [], "mkdir -p node_modules; echo evil >node_modules/.envrc", "node_modules/.envrc"),
    ("in a vendor that no package manager made", [], "mkdir -p sub/vendor/x; echo evil >sub/vendor/x/.envrc", "sub/vendor/x/.envrc"),
    ("beside an empty .git", [], "mkdir -p sub/.git; echo evil >sub/.envrc", "sub/.envrc"),
    ("behind many repositories", [], "i=0; while [ $i -lt 20 ]; do git init -q r$i; i=$((i + 1)); done; echo evil >sub/.envrc", "sub/.envrc"),
]


def w08_made(rig, person):
    for label, there, command, name in MADE:
        for off in (None, ["protect"]):
            work = new(person, *there)
            done = run(rig, person, work, command, off=off)
            path = os.path.join(work, name)
            moved = [k for k in entries(done, "moved") if k["name"] == path]
            if off:
                rig.tap.ok(os.path.lexists(path) and not left(done), f"W08 {label}: without protect it stays ({person.name})", *done.tell())
            else:
                rig.tap.ok(not os.path.lexists(path) and len(moved) == 1 and os.path.lexists(moved[0]["kept_at"]), f"W08 {label}: moved away, and reported ({person.name})", *done.tell(), *left(done))
    work = new(person)
    done = run(rig, person, work, "mkdir -p 'a b'; echo evil >'a b/.envrc'; mkdir c; echo evil >'a b%.envrc'; mkdir 'x%y' x x/y; echo 1 >'x%y/.envrc'; echo 2 >x/y/.envrc", options=())
    lines = [line for line in done.err.decode().splitlines() if "moved out of the workspace" in line]
    for line in lines:
        rig.host(person, ["sh", "-c", line.split("Take it back with: ")[1]], work)
    back = {n: open(os.path.join(work, n), encoding="utf-8").read() for n in ("a b/.envrc", "x%y/.envrc", "x/y/.envrc") if os.path.exists(os.path.join(work, n))}
    rig.tap.ok(back == {"a b/.envrc": "evil\n", "x%y/.envrc": "1\n", "x/y/.envrc": "2\n"}, f"W08 the commands of the report take each back, also two of one name ({person.name})", *lines, back)


def w08_elsewhere(rig, person):
    """A second mount, and a directory for moved files on another file system; a read-only mount,
    where nothing can be created.
    """
    work, place = new(person), f"/dev/shm/carrel-w08-{os.getpid()}-{person.uid}"
    os.makedirs(place, exist_ok=True)
    os.chown(place, person.uid, person.gid)
    try:
        done = run(rig, person, work, "mkdir sub/.claude; echo evil >sub/.claude/settings.json", env={"XDG_STATE_HOME": place, "XDG_RUNTIME_DIR": place})
        kept = [k.get("kept_at", "") for k in entries(done, "moved")]
        rig.tap.ok(not os.path.lexists(os.path.join(work, "sub/.claude")) and len(kept) == 1 and os.path.exists(os.path.join(kept[0], "settings.json")),
                   f"W08 where the keeping is on another file system ({person.name})", *done.tell())
        for k in kept:
            shutil.rmtree(k.split("/kept/")[0] + "/kept", ignore_errors=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    work = new(person)
    done = run(rig, person, work, "echo evil >sub/.envrc; true", text=manifest(mounts=[{"source": "workspace", "at": "/workspace", "mode": "read-only"}]))
    rig.tap.ok(left(done) == [] and done.status == 0 and os.listdir(os.path.join(work, "sub")) == ["README"], f"W08 in a read-only mount nothing is made, and nothing is searched ({person.name})", *done.tell())


def w08_left(rig, person):
    """What the command did not create, or what would be missed: reported if it changed, and never
    moved.
    """
    work = new(person, "p/.envrc", "p/q/x", "renamed/.envrc", "renamed/deep/.vscode/x", "docs/x")
    done = run(rig, person, work, "echo more >>p/.envrc; mv renamed now; touch now/deep/y; echo x >docs/sandbox.md; echo x >docs/SECRETS.md; mkdir -p skel; echo x >skel/.bashrc")
    rig.tap.ok([(k["what"], k["name"], k["count"]) for k in left(done)] == [("changed", os.path.join(work, "p/.envrc"), 1)] and os.path.exists(os.path.join(work, "now/deep/.vscode")) and
               os.path.exists(os.path.join(work, "now/.envrc")) and os.path.exists(os.path.join(work, "docs/sandbox.md")),
               f"W08 what was there is left where it is, changed or renamed with its parent; ordinary names are not meant ({person.name})", *done.tell())
    work = new(person)
    done = run(rig, person, work, "mkdir -p node_modules/a/.vscode node_modules/@s/b/.idea .venv/lib/python3/site-packages/c/.vscode lib/vendor/d/.vscode; echo >lib/vendor/modules.txt; "
               "mkdir -p rust/vendor/e/.vscode; echo >rust/vendor/e/.cargo-checksum.json; echo x >node_modules/a/.envrc")
    found = entries(done, "in-package")
    rig.tap.ok(len(left(done)) == 1 and len(found) == 1 and found[0]["count"] == 6 and len(found[0]["others"]) == 5 and os.path.exists(os.path.join(work, "node_modules/a/.vscode")),
               f"W08 in installed packages: one entry with a count, and left ({person.name})", *done.tell())
    again = run(rig, person, work, "touch sub/y node_modules/z")
    rig.tap.ok(left(again) == [], f"W08 and not again after the next command ({person.name})", *again.tell())
    work = new(person)
    done = run(rig, person, work, "mkdir -p d; (echo evil; echo evil) >d/.envrc; mkdir d/e; echo >d/e/.envrc", text=manifest(carrel={"unprotect": ["d"]}))
    rig.tap.ok(left(done) == [], f"W08 what unprotect opens is left ({person.name})", *done.tell())
    work = new(person)
    done = run(rig, person, work, "mkdir -p c/e; echo evil >c/e/.envrc; chmod 0311 c; mkdir -p f; echo evil >f/.envrc; chmod 0444 f")
    found = entries(done, "closed")
    for name in ("c", "f"):
        os.chmod(os.path.join(work, name), 0o755)
    if person.is_root:
        rig.tap.ok(not found and not os.path.exists(os.path.join(work, "c/e/.envrc")), f"W08 a directory that is closed to its owner, not to root ({person.name})", *done.tell())
    else:
        rig.tap.ok(len(found) == 1 and found[0]["count"] == 2, f"W08 a directory that cannot be listed is reported ({person.name})", *done.tell())


def w08_repositories(rig, person):
    work = new(person, "sub/.vscode/settings.json", "sub/deep/.envrc")
    git(rig, person, work, "init", "-q")
    git(rig, person, work, "add", ".")
    git(rig, person, work, "commit", "-q", "-m", "one")
    attack = "echo x >sub/.vscode/tasks.json; echo x >>sub/deep/.envrc; rm -r other; git init -q /tmp/o; cd /tmp/o; mkdir -p a/.idea; echo >a/.idea/x; echo >.envrc; git add .; " \
             "git -c user.name=a -c user.email=a@b commit -qm x; cd /workspace; git clone -q /tmp/o clone; echo evil >sub/.mcp.json; git add -f sub/.mcp.json"
    done = run(rig, person, work, attack)
    changed, within = entries(done, "changed"), entries(done, "in-repository")
    rig.tap.ok(len(changed) == 1 and changed[0]["count"] == 2 and os.path.exists(os.path.join(work, "sub/.vscode/tasks.json")), f"W08 what the index tracked is content ({person.name})", *done.tell())
    rig.tap.ok([k["name"] for k in entries(done, "moved")] == [os.path.join(work, "sub/.mcp.json")], f"W08 what the command adds to the index is not ({person.name})", *done.tell())
    state = git(rig, person, os.path.join(work, "clone"), "status", "--short")
    rig.tap.ok(len(within) == 1 and within[0]["count"] == 2 and len(entries(done, "repository")) == 1 and state.out == b"", f"W08 a clone is whole, and its names are reported ({person.name})",
               *done.tell(), state.out)
    tree = person.directory()
    os.rmdir(tree)
    git(rig, person, work, "worktree", "add", "-q", tree)
    done = run(rig, person, tree, "echo x >>sub/deep/.envrc; mkdir -p sub/new; echo evil >sub/new/.envrc")
    rig.tap.ok([k["name"] for k in entries(done, "moved")] == [os.path.join(tree, "sub/new/.envrc")] and [k["name"] for k in entries(done, "changed")] == [os.path.join(tree, "sub/deep/.envrc")],
               f"W08 in a linked worktree ({person.name})", *done.tell())
    work = new(person)
    done = run(rig, person, work, "git init -q; echo x >sub/.envrc")
    rig.tap.ok([k["what"] for k in left(done)] == ["made", "in-repository"], f"W08 in a repository that the command made of the workspace ({person.name})", *done.tell())


def w08_strict(rig, person):
    work = new(person)
    done = run(rig, person, work, "echo evil >sub/.envrc", text=manifest(carrel={"protect": "strict"}))
    told = json.loads(done.out)
    rig.tap.ok(done.status == 137 and told["outcome"] == "policy_killed" and [(k["what"], os.path.basename(k["name"])) for k in left(done)] == [("refused", ".envrc")] and
               not os.path.exists(os.path.join(work, "sub/.envrc")), f"W08 protect: strict: the outcome says it ({person.name})", *done.tell())
    work = new(person)
    done = run(rig, person, work, "i=0; while [ $i -lt 100 ]; do mkdir d$i; echo >d$i/.envrc; i=$((i + 1)); done")
    told = json.loads(done.out)
    rig.tap.ok(done.status == 137 and told["outcome"] == "policy_killed" and len(entries(done, "moved")) == 64 and len(entries(done, "stuck")) == 1, f"W08 more than are moved: the outcome says it ({person.name})",
               *done.tell()[:3])


def w08_living(rig, person):
    """Two commands, and a person who works at the same time."""
    if person is not rig.people[0]:
        return
    from daemon_rig import Daemon
    with Daemon(program=rig.shipped) as d:
        def carrel(*words):
            return subprocess.run([rig.shipped, words[0], "--state", d.state, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

        def found(name):
            seen = []
            for line in events.stdout:
                seen.append(json.loads(line))
                if seen[-1].get("host_path", "") == name or seen[-1]["event"] in ("stopped", "ended", "failed"):
                    break
            return seen

        work = new(person)
        person.file(os.path.join(work, "SANDBOX.md"), manifest())
        carrel("create", "-w", work, "--name", "n", "--start")
        events = subprocess.Popen([rig.shipped, "events", "--state", d.state, "--json"], stdout=subprocess.PIPE, text=True)
        try:
            carrel("exec", "n", "--", "sh", "-c", "echo evil >sub/.envrc")
            seen = found(os.path.join(work, "sub/.envrc"))
            rig.tap.ok(seen[-1]["event"] == "name-moved" and os.path.exists(seen[-1]["kept_at"]) and not os.path.exists(os.path.join(work, "sub/.envrc")), "W08 a living sandbox: moved when the command has ended", *seen)
            person.file(os.path.join(work, "hosts/.envrc"), b"of a person\n")
            is_after(work)
            carrel("exec", "n", "--", "sh", "-c", "mkdir -p two/.claude; touch hosts/x")
            seen = found(os.path.join(work, "two/.claude"))
            rig.tap.ok(seen[-1]["event"] == "name-moved" and os.path.exists(os.path.join(work, "hosts/.envrc")), "W08 a living sandbox: what a person made between two commands is the person's", *seen)
            carrel("stop", "n")
            person.file(os.path.join(work, "SANDBOX.md"), manifest(carrel={"protect": "strict"}))
            carrel("create", "-w", work, "--name", "s", "--start")
            carrel("exec", "s", "--", "sh", "-c", "echo evil >sub/.envrc")
            seen = found(os.path.join(work, "sub/.envrc"))
            while seen[-1]["event"] == "stopped":
                seen = found(os.path.join(work, "sub/.envrc"))
            rig.tap.ok(seen[-1]["event"] == "name-refused", "W08 a living sandbox with protect: strict: refused", *seen)
            for line in events.stdout:
                seen.append(json.loads(line))
                if seen[-1]["event"] in ("ended", "failed", "stopped"):
                    break
            rig.tap.ok(seen[-1].get("cause") == "policy", "W08 and the sandbox ends", *seen)
        finally:
            events.kill()
            events.wait()


WAYS = [w08_made, w08_elsewhere, w08_left, w08_repositories, w08_strict, w08_living]


if __name__ == "__main__":
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        sys.exit(0)
    sys.exit(run_rows(WAYS))
