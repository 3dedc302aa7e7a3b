#!/usr/bin/env python3
# slow: 30 s: 25 attacks, each with a sandbox of its own, with the look and without, as two people
"""Repositories that a command leaves for git of the host: rows W06 and W07 of the catalogue in
SECURITY.md. Prints TAP.

    W06 what mounts cannot prevent is found and reported: new repositories, gitlinks, bare ones, submodules, files that lead to one, changed configuration
        and hooks; deep, renamed, with an older date, exchanged; a false index; more than the bounds; a file system that ignores case
    W07 what belongs to linked worktrees of the workspace's repository is protected

Each attack is made twice: the shipped program must report it, with what git would run; without the
layer nothing is reported.
"""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from attack_rig import manifest, run_rows

SETTINGS = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
GIT = 'git() { command git -c safe.directory=* -c user.name=a -c user.email=a@b -c protocol.file.allow=always -c init.defaultBranch=main "$@"; }\n'
EVIL = "config core.fsmonitor \"touch '$WORK/evil'; false\""
HOOK = "printf '#!/bin/sh\\ntouch \"%s/evil\"\\n' \"$WORK\""


def git(rig, person, work, *words):
    return rig.host(person, [*SETTINGS, *words], work, env={**os.environ, "HOME": person.home})


def new(rig, person):
    work = person.directory()
    git(rig, person, work, "init", "-q")
    git(rig, person, work, "commit", "-q", "--allow-empty", "-m", "one")
    return work


def deep(rig, person, work):
    """A repository of the project, at a place that Carrel does not search when it starts."""
    person.file(os.path.join(work, "a/b/c/README"), "")
    git(rig, person, os.path.join(work, "a/b/c"), "init", "-q")
    git(rig, person, os.path.join(work, "a/b/c"), "commit", "-q", "--allow-empty", "-m", "one")


def store(rig, person, work):
    """A directory that is a repository except for its name: a fixture of a project's tests."""
    deep(rig, person, work)
    git(rig, person, os.path.join(work, "a/b/c"), "config", "core.fsmonitor", f"touch '{work}/evil'; false")
    os.rename(os.path.join(work, "a/b/c/.git"), os.path.join(work, "a/b/c/dotgit"))


def gitfile(rig, person, work):
    deep(rig, person, work)
    git(rig, person, os.path.join(work, "a/b/c"), "worktree", "add", "-q", "../../x/y/wt")


def nothing(rig, person, work):
    del rig, person, work


# Label, files of the host, what the command does, what must be reported (kind, end of the name,
# what runs), git of the host: where, words.
STATUS, COMMIT = ["status", "--short"], ["commit", "-q", "--allow-empty", "-m", "two"]
ROWS = [
    ("a repository", nothing, f"git init -q lib; git -C lib {EVIL}", ("repository", "/lib/.git", "core.fsmonitor"), "lib", STATUS),
    ("a repository's hook", nothing, f"git init -q lib; {HOOK} >lib/.git/hooks/pre-commit; chmod 755 lib/.git/hooks/pre-commit", ("repository", "/lib/.git", "hooks/pre-commit"), "lib", COMMIT),
    ("a repository that leads to hooks", nothing, f"git init -q lib; mkdir h; {HOOK} >h/pre-commit; chmod 755 h/pre-commit; rm -rf lib/.git/hooks; ln -s ../../h lib/.git/hooks",
     ("repository", "/lib/.git", "hooks"), "lib", COMMIT),
    ("a gitlink", nothing, f"git init -q lib; git -C lib commit -q --allow-empty -m x; git -C lib {EVIL}; git update-index --add --cacheinfo 160000,$(git -C lib rev-parse HEAD),lib",
     ("gitlink", "/lib", "core.fsmonitor"), "", STATUS),
    ("a gitlink of a changed repository", deep, f"git -C a/b/c {EVIL}; git update-index --add --cacheinfo 160000,$(git -C a/b/c rev-parse HEAD),a/b/c",
     ("gitlink", "/a/b/c", "core.fsmonitor"), "", STATUS),
    ("a bare repository", nothing, f"git init -q --bare lib; git -C lib {EVIL}; git -C lib config core.bare false; git -C lib config core.worktree ..", ("bare-repository", "/lib", "core.fsmonitor"),
     "lib", STATUS),
    ("a submodule", nothing, f"git init -q /tmp/o; git -C /tmp/o commit -q --allow-empty -m x; git submodule -q add /tmp/o lib; git -C lib {EVIL}", ("gitlink", "/lib", "core.fsmonitor"), "", STATUS),
    ("a submodule's repository alone", nothing, f"git init -q /tmp/o; mkdir -p .git/modules/a; cp -r /tmp/o/.git .git/modules/a/b; git --git-dir=.git/modules/a/b {EVIL}; mkdir -p x/b; "
     "echo 'gitdir: ../../.git/modules/a/b' >x/b/.git", ("submodule", "/.git/modules/a/b", "core.fsmonitor"), "x/b", STATUS),
    ("deep", nothing, f"d=$(printf 'd/%.0s' $(seq 60)); mkdir -p $d; git init -q $d/lib; git -C $d/lib {EVIL}", ("repository", "/d/lib/.git", "core.fsmonitor"), "d/" * 60 + "lib", STATUS),
    ("renamed with its parent", nothing, f"git init -q x/y/lib; git -C x/y/lib {EVIL}; mv x z", ("repository", "/z/y/lib/.git", "core.fsmonitor"), "z/y/lib", STATUS),
    ("dated back", nothing, f"git init -q lib; git -C lib {EVIL}; find lib -exec touch -h -d 2001-01-01 {{}} +", ("repository", "/lib/.git", "core.fsmonitor"), "lib", STATUS),
    ("a changed configuration", deep, f"git -C a/b/c {EVIL}", ("repository", "/a/b/c/.git", "core.fsmonitor"), "a/b/c", STATUS),
    ("a changed configuration, written in place", deep, "python3 -c \"import os,sys; f=open('a/b/c/.git/config','r+'); f.write('[core]fsmonitor=touch '+os.environ['WORK']+'/evil;false\\n#'); f.close(); "
     "os.utime('a/b/c/.git/config', (1,1))\"", ("repository", "/a/b/c/.git", "core.fsmonitor"), "a/b/c", STATUS),
    ("a changed configuration, exchanged", deep, "printf '[core]\\n\\tfsmonitor = touch \"%s/evil\"; false\\n' \"$WORK\" >e; python3 -c \"import ctypes; "
     "ctypes.CDLL(None).renameat2(-100, b'e', -100, b'a/b/c/.git/config', 2)\"", ("repository", "/a/b/c/.git", "core.fsmonitor"), "a/b/c", STATUS),
    ("a changed hook", deep, f"{HOOK} >a/b/c/.git/hooks/pre-commit; chmod 755 a/b/c/.git/hooks/pre-commit", ("repository", "/a/b/c/.git", "hooks/pre-commit"), "a/b/c", COMMIT),
    ("a directory of the project, renamed", store, "mv a/b/c/dotgit a/b/c/.git", ("repository", "/a/b/c/.git", "core.fsmonitor"), "a/b/c", STATUS),
    ("a link", store, "ln -s dotgit a/b/c/.git", ("gitfile", "/a/b/c/.git", "core.fsmonitor"), "a/b/c", STATUS),
    ("a file that leads to one", store, "mkdir -p q/r; echo 'gitdir: ../../a/b/c/dotgit' >q/r/.git", ("gitfile", "/q/r/.git", "core.fsmonitor"), "q/r", STATUS),
    ("a file that led to another", gitfile, f"git init -q own; git -C own {EVIL}; f=a/x/y/wt/.git; [ -f $f ] || f=a/b/x/y/wt/.git; echo \"gitdir: $(pwd)/own/.git\" >/dev/null; "
     "p=$(dirname $f | sed 's#[^/]*#..#g'); echo \"gitdir: $p/own/.git\" >$f", ("gitfile", "/x/y/wt/.git", "core.fsmonitor"), "a/x/y/wt", STATUS),
    ("a worktree that reads another configuration", nothing, f"git worktree add -q wt; git init -q own; git -C own {EVIL}; git -C own commit -q --allow-empty -m x; "
     "echo ../../../own/.git >.git/worktrees/wt/commondir; echo gitdir: ../.git/worktrees/wt >wt/.git; git -C own update-ref refs/heads/wt HEAD", ("gitfile", "/wt/.git", "commondir"), "wt", STATUS),
]


def told(done):
    """What the run reported: {(kind, name): what runs}, and the command that shows each."""
    try:
        left = json.loads(done.out)["left_behind"]
    except (ValueError, KeyError):
        return {}, []
    return {(k["what"], k["name"]): [r["name"] for r in k.get("runs", [])] for k in left}, [k["look"] for k in left if "look" in k]


def has(seen, want, work):
    return any(kind == want[0] and name.startswith(work) and name.endswith(want[1]) and want[2] in runs for (kind, name), runs in seen.items())


def w06_found(rig, person):
    for label, prepare, command, want, where, words in ROWS:
        for off in (None, ["protect"]):
            work = new(rig, person)
            prepare(rig, person, work)
            done = rig.run(person, ["sh", "-c", GIT + command + "; true"], work, off=off, text=manifest(), options=["--json", "-e", f"WORK={work}"])
            seen, looks = told(done)
            if off:
                rig.tap.ok(not seen, f"W06 {label}: without the look nothing is said ({person.name})", *done.tell())
                continue
            rig.tap.ok(has(seen, want, work), f"W06 {label}: reported, with what git would run ({person.name})", want, seen, done.out.decode(errors="replace"))
            for look in looks:
                rig.host(person, ["sh", "-c", look], work)
            quiet = not os.path.exists(os.path.join(work, "evil"))
            at = os.path.join(work, where)
            ran = git(rig, person, at if os.path.isdir(at) else os.path.join(work, "a/b/x/y/wt"), *words)
            rig.tap.ok(quiet and os.path.exists(os.path.join(work, "evil")), f"W06 {label}: the report's command runs nothing, and git does ({person.name})", *ran.tell(), quiet, *looks)


# An index of which git reads more than Carrel, or that no program can read.
LIES = [
    ("corrupt", "git add SANDBOX.md; python3 -c \"f=open('.git/index','r+b'); f.seek(11); f.write(b'\\xff')\""),
    ("split", "git config core.splitIndex true; git update-index --split-index --add SANDBOX.md"),
    ("sparse", "mkdir -p d/e; echo x >d/e/f; git add d; git commit -qm d; git sparse-checkout set --cone --sparse-index SANDBOX.md"),
    ("huge", "git add SANDBOX.md; truncate -s 40000000 .git/index"),
    ("of another version", "git add SANDBOX.md; python3 -c \"f=open('.git/index','r+b'); f.seek(7); f.write(b'\\x09')\""),
    ("no file", "rm -f .git/index; mkdir .git/index"),
    ("a link", "git add SANDBOX.md; mv .git/index .git/other; ln -s other .git/index"),
]


def w06_index(rig, person):
    for label, command in LIES:
        work = new(rig, person)
        done = rig.run(person, ["sh", "-c", GIT + command + "; true"], work, text=manifest(), options=["--json"])
        seen, _ = told(done)
        rig.tap.ok(("index-unread", os.path.join(work, ".git/index")) in seen, f"W06 an index that lies, {label}: reported as not compared ({person.name})", seen, done.out.decode(errors="replace"))


def w06_quiet(rig, person):
    """Ordinary work is not reported: repositories that existed, and work in them."""
    work = new(rig, person)
    deep(rig, person, work)
    git(rig, person, os.path.join(work, "a/b/c"), "config", "alias.st", "status")
    other = new(rig, person)
    git(rig, person, work, "submodule", "-q", "add", other, "lib")
    git(rig, person, work, "commit", "-qm", "lib")
    done = rig.run(person, ["sh", "-c", GIT + "echo x >f; git add f; git commit -qm f; git gc -q; cd a/b/c; git commit -q --allow-empty -m y; git gc -q; cd ../../../lib; git commit -q --allow-empty -m z"],
                   work, text=manifest(), options=["--json"])
    rig.tap.ok(json.loads(done.out)["left_behind"] == [] and json.loads(done.out)["exit_code"] == 0, f"W06 work in repositories that were there is not reported ({person.name})", done.out)
    done = rig.run(person, ["sh", "-c", GIT + "git init -q a/new"], work, text=manifest(carrel={"unprotect": ["a"]}), options=["--json"])
    rig.tap.ok(json.loads(done.out)["left_behind"] == [], f"W06 in what unprotect opens nothing is reported ({person.name})", done.out)
    done = rig.run(person, ["sh", "-c", GIT + "git init -q new"], work, text=manifest())
    rig.tap.ok(b"/new/.git is a repository that the command made or changed. Git finds nothing to run in it." in done.err, f"W06 a new one that runs nothing is reported as such ({person.name})",
               done.err)
    name = "x\x1b[31m'y"
    done = rig.run(person, ["sh", "-c", GIT + 'git init -q "$1"; git -C "$1" config core.fsmonitor "$(printf "\\033[0m")"', "sh", name], work, text=manifest())
    rig.tap.ok(b"\\x1b" in done.err and b"\x1b" not in done.err, f"W06 a name with control bytes is shown, not sent ({person.name})", done.err)


def w06_bounds(rig, person):
    work = new(rig, person)
    done = rig.run(person, ["python3", "-c", "import os\nfor i in range(9000): os.makedirs(f'd{i % 90}/{i}')\n"], work, text=manifest(), options=["--json"])
    seen, _ = told(done)
    rig.tap.ok(("bounded", work) in seen, f"W06 more directories than are searched: said ({person.name})", seen, done.err)
    shutil.rmtree(work)
    work = new(rig, person)
    done = rig.run(person, ["sh", "-c", GIT + "git init -q t; for i in $(seq 40); do cp -r t r$i; done"], work, text=manifest(), options=["--json"])
    left = json.loads(done.out)["left_behind"]
    rig.tap.ok([k["what"] for k in left] == ["repository"] * 16 + ["more"], f"W06 more repositories than are reported: said ({person.name})", *left)
    work = new(rig, person)
    done = rig.run(person, ["sh", "-c", GIT + "git init -q node_modules/x; git init -q node_modules/@s/y; git init -q node_modules/x/lib/deep"], work, text=manifest(), options=["--json"])
    seen, _ = told(done)
    rig.tap.ok({n[len(work):] for _, n in seen} == {"/node_modules/x/.git", "/node_modules/@s/y/.git"}, f"W06 in node_modules packages are looked at, nothing deeper ({person.name})", seen)


def w06_case(rig, person):
    """`.GIT` is `.git` if the file system ignores case."""
    title = f"W06 names in another case, where the file system does not tell them apart ({person.name})"
    if os.getuid() != 0 or not person.is_root:
        rig.tap.skip(title, "takes root, to mount such a file system")
        return
    image, place = os.path.join(person.home, "image"), os.path.join(person.home, "folded")
    os.makedirs(place, exist_ok=True)
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    made = subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8", image], capture_output=True, check=False).returncode == 0
    script = f"""
        mount -t tmpfs -o casefold none {place} 2>/dev/null || mount -o loop {image} {place} 2>/dev/null || exit 77
        mkdir {place}/w && {{ chattr +F {place}/w 2>/dev/null; touch {place}/w/A && [ -e {place}/w/a ] || exit 77; }}
        rm {place}/w/A; cat >{place}/w/SANDBOX.md
        XDG_STATE_HOME={person.home}/state {rig.shipped} run --json -w {place}/w -- sh -c 'command git init -q x; mv x/.git x/.GIT; git -C x config core.fsmonitor evil; echo x >.ENVRC; echo x >x/.EnvRC; mkdir y; echo x >y/.EnvRC; mkdir .Git; echo "[core]" >.Git/config'
    """
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-ec", script], input=manifest().encode(), capture_output=True, check=False) if made else None
    os.unlink(image)
    if done is None or done.returncode == 77:
        rig.tap.skip(title, "this kernel has no case-insensitive file system (CONFIG_UNICODE)")
        return
    seen = {(k["what"], os.path.basename(k["name"]).lower()) for k in json.loads(done.stdout)["left_behind"]}
    rig.tap.ok(seen == {("repository", ".git"), ("moved", ".envrc"), ("made", ".git"), ("in-repository", ".envrc")} and sum(k["what"] == "moved" for k in json.loads(done.stdout)["left_behind"]) == 2, title, done.stdout, done.stderr)


def w06_living(rig, person):
    """When the last command has ended, as an event; what a person creates meanwhile belongs to the
    person.
    """
    if person is not rig.people[0]:
        return
    from daemon_rig import Daemon
    with Daemon(program=rig.shipped) as d:
        def carrel(*words):
            return subprocess.run([rig.shipped, words[0], "--state", d.state, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

        def found(end):
            """Waits for the event of a name with this end; earlier events."""
            seen = []
            for line in events.stdout:
                seen.append(json.loads(line))
                if seen[-1].get("host_path", "").endswith(end) or seen[-1]["event"] in ("stopped", "ended", "failed"):
                    break
            return seen

        work = new(rig, person)
        person.file(os.path.join(work, "SANDBOX.md"), manifest())
        carrel("create", "-w", work, "--name", "n", "--start")
        events = subprocess.Popen([rig.shipped, "events", "--state", d.state, "--json"], stdout=subprocess.PIPE, text=True)
        try:
            carrel("exec", "n", "--", "sh", "-c", GIT + "git init -q one; git -C one config core.fsmonitor evil")
            seen = found("/one/.git")
            rig.tap.ok(seen[-1]["event"] == "repository-found" and seen[-1]["reason"] == "core.fsmonitor", "W06 a living sandbox: an event when the command has ended", *seen)
            git(rig, person, work, "init", "-q", "hosts")
            carrel("exec", "n", "--", "sh", "-c", GIT + "git init -q two")
            seen = found("/two/.git")
            rig.tap.ok(not any("/hosts/" in e.get("host_path", "") for e in seen), "W06 a living sandbox: what a person made before a command is not the command's", *seen)
            carrel("exec", "n", "--", "sh", "-c", "(while [ ! -e go ]; do sleep 0.05; done; git init -q three; exec sleep 100) >/dev/null 2>&1 </dev/null &")
            person.file(os.path.join(work, "go"), "")
            while not os.path.exists(os.path.join(work, "three/.git/HEAD")):
                time.sleep(0.01)
            carrel("stop", "n")
            seen = found("/three/.git")
            rig.tap.ok(seen[-1]["event"] == "repository-found", "W06 a living sandbox: what is left when it stops is found", *seen)
        finally:
            events.kill()
            events.wait()


def w07_worktrees(rig, person):
    """The workspace's repository has a linked worktree outside: git there reads what the command
    could write.
    """
    for off in (None, ["protect"]):
        work = new(rig, person)
        side = work + "-side"
        git(rig, person, work, "worktree", "add", "-q", side)
        attack = f"git init -q own; git -C own {EVIL}; git -C own commit -q --allow-empty -m x; git -C own update-ref refs/heads/{os.path.basename(side)} HEAD; " \
                 "for d in .git/worktrees/*; do python3 -c \"import os,sys; os.rename('$d', '.git/w'); os.rename('.git/w', '$d')\"; echo ../../../own/.git >$d/commondir; done; true"
        done = rig.run(person, ["sh", "-c", GIT + attack], work, off=off, text=manifest(), options=["-e", f"WORK={work}"])
        ran = git(rig, person, side, "status", "--short")
        is_hit = os.path.exists(os.path.join(work, "evil"))
        if off:
            rig.tap.ok(is_hit, f"W07 a linked worktree elsewhere: without protect it does ({person.name})", *done.tell(), *ran.tell())
        else:
            rig.tap.ok(not is_hit and ran.status == 0, f"W07 a linked worktree elsewhere: git in it runs nothing of the payload's ({person.name})", *done.tell(), *ran.tell())


def w06_worktree(rig, person):
    """The workspace is a linked worktree: its index is in the repository's directory."""
    for off in (None, ["protect"]):
        work = new(rig, person)
        side = work + "-tree"
        git(rig, person, work, "worktree", "add", "-q", side)
        old = os.path.join(side, "old")
        person.file(os.path.join(old, "README"), "")
        git(rig, person, old, "init", "-q")
        git(rig, person, old, "commit", "-q", "--allow-empty", "-m", "one")
        git(rig, person, side, "add", "old")
        done = rig.run(person, ["sh", "-c", GIT + f"git init -q lib; git -C lib commit -q --allow-empty -m x; git -C lib {EVIL}; git update-index --add --cacheinfo 160000,$(git -C lib rev-parse HEAD),lib"],
                       side, off=off, text=manifest(), options=["--json", "-e", f"WORK={side}"])
        seen, _ = told(done)
        if off:
            rig.tap.ok(not seen, f"W06 a gitlink of a linked worktree: without the look nothing is said ({person.name})", *done.tell())
            continue
        rig.tap.ok(seen == {("gitlink", os.path.join(side, "lib")): ["core.fsmonitor"]}, f"W06 a gitlink that a command adds to the index of a linked worktree is reported, another is not ({person.name})", seen, *done.tell())


WAYS = [w06_found, w06_worktree, w06_index, w06_quiet, w06_bounds, w06_case, w06_living, w07_worktrees]


if __name__ == "__main__":
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed here")
        sys.exit(0)
    sys.exit(run_rows(WAYS))
