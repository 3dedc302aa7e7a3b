#!/usr/bin/env python3
"""Volumes of `carrel run`, and `carrel volume create|ls|rm|prune`: what is kept, who may use it,
and what is refused. Prints TAP.
"""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 60000}\n%s---\n"
OWNER = f"uid:{os.getuid()}"
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    """A state directory, a home and a workspace of their own."""

    def __init__(self, top, name="bench"):
        self.top = os.path.join(top, name)
        self.state, self.home, self.work = (os.path.join(self.top, part) for part in ("state", "home", "work"))
        os.makedirs(self.home)
        os.makedirs(self.work)
        self.env = {**os.environ, "HOME": self.home, "CARREL_STATE": self.state}
        self.env.pop("XDG_STATE_HOME", None)
        self.manifest()

    def manifest(self, more=""):
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % more)

    def carrel(self, *words, **more):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False, **more)

    def run(self, script, *options):
        return self.carrel("run", *options, "--", "sh", "-ec", script)

    def begin(self, *options):
        """A sandbox that lives until its input ends, and prints when it has started."""
        child = subprocess.Popen([CARREL, "run", *options, "--", "sh", "-c", "echo begun; cat"], env=self.env, cwd=self.work, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "begun\n", child.communicate()
        return child

    def place(self, *parts):
        return os.path.join(self.state, "volumes", OWNER, *parts)

    def list(self):
        return {v["name"]: v for v in json.loads(self.carrel("volume", "ls", "--json").stdout)["items"]}


def what_stays(b):
    done = b.run("echo one >/cache/x; grep ' /cache ' /proc/self/mountinfo; stat -c '%U %a' /cache", "-v", "npm-cache:/cache")
    tell("-v NAME:PATH makes a volume, and the sandbox's user may write in it", done.returncode == 0 and done.stdout.endswith("agent 755\n"), done)
    tell("it is mounted nosuid and nodev", "nosuid" in done.stdout and "nodev" in done.stdout, done)
    done = b.run("cat /cache/x; echo two >>/cache/x", "-v", "npm-cache:/cache")
    tell("the next sandbox finds what was written", done.stdout == "one\n", done)
    done = b.run("cat /x/x; echo three >/x/x", "-v", "npm-cache:/x:ro")
    tell("with :ro it is read-only", done.stdout == "one\ntwo\n" and done.returncode != 0 and "Read-only" in done.stderr, done)
    modes = {part: os.stat(b.place(*part)).st_mode & 0o777 for part in ((), ("npm-cache",), ("npm-cache", "use"))}
    tell("what leads to it is closed to others", set(modes.values()) == {0o700}, modes)
    tell("nothing is left of those that used it", os.listdir(b.place("npm-cache", "use")) == [] and sorted(os.listdir(b.place())) == ["npm-cache"], os.listdir(b.place()))
    b.manifest("mounts:\n  - source: {inline: {provider: carrel-volume, config: {name: npm-cache}}}\n    at: /mnt/c\n    mode: read-only\n")
    tell("a manifest names one under mounts", b.run("cat /mnt/c/x").stdout == "one\ntwo\n")


def home(b):
    with open(os.path.join(b.home, ".gitconfig"), "w", encoding="utf-8") as f:
        f.write("[user]\n\tname = A Caller\n\temail = caller@example.org\n")
    b.manifest("metadata: {carrel: {home: work}}\n")
    summary = b.carrel("plan").stdout
    steps = [s for s in json.loads(b.carrel("plan", "--json").stdout)["steps"] if s["step"] == "volume"]
    tell("plan says which volume is the home, and that it is made", "the volume work, which is kept; created when the command starts" in summary and steps, summary, steps)
    tell("plan makes nothing", not os.path.exists(b.place("work")))
    done = b.run("cd; pwd; mkdir -p .npm .local/bin; echo kept >.npm/x; git config user.name 2>/dev/null || echo A Caller; ls -A")
    tell("metadata.carrel.home: the home is a volume, with the caller's git identity", done.stdout == "/home/agent\nA Caller\n.local\n.npm\n", done)
    tell("what a home is given at start is not left in it", sorted(os.listdir(b.place("work", "data"))) == [".local", ".npm"], os.listdir(b.place("work", "data")))
    tell("the next command has the same home", b.run("cat ~/.npm/x").stdout == "kept\n")
    tell("plan says that it is there now", "the volume work, which is kept\n" in b.carrel("plan").stdout)
    done = b.run("true", "-v", "other:/home/agent")
    tell("two homes are refused with the place", done.returncode == 126 and "metadata/carrel/home" in done.stderr and "/home/agent" in done.stderr and "other" not in b.list(), done)
    b.manifest()
    tell("without the line the home is private again", b.run("ls -A ~").stdout == "")


def at_once(b):
    first, second = b.begin("-v", "work:/w"), b.begin("-v", "work:/w", "-v", "npm-cache:/c")
    done = b.run("echo three >/w/third", "-v", "work:/w")
    row = b.list().get("work", {})
    tell("sandboxes of one owner use a volume at once", done.returncode == 0 and os.path.exists(b.place("work", "data", "third")), done)
    ids = {name.split(".")[0] for name in os.listdir(b.place("work", "use"))}
    tell("ls names a sandbox that uses it", row.get("used_by") in ids and len(ids) == 2, row, ids)
    done = b.carrel("volume", "rm", "work", "--json")
    error = json.loads(done.stdout or "{}").get("error", {})
    tell("rm refuses a volume in use, and names the sandbox", done.returncode == 126 and error.get("code") == "volume_in_use" and any(i in error["message"] for i in ids), done)
    done = b.carrel("volume", "prune", "--force", "--json")
    tell("prune leaves a volume in use", json.loads(done.stdout)["removed"] == [] and set(b.list()) == {"work", "npm-cache"}, done)
    for child in (first, second):
        child.communicate()
    tell("it is free when they have ended", os.path.isdir(b.place("work", "use")) and "used_by" not in b.list()["work"] and os.listdir(b.place("work", "use")) == [])


def killed(b):
    child = b.begin("-v", "lost:/w")
    with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="utf-8") as f:
        makers = [int(pid) for pid in f.read().split()]
    for pid in makers:
        handle = os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
        select.select([handle], [], [], 60)      # it is gone, and so are its locks
        os.close(handle)
    child.communicate()
    left = os.listdir(b.place("lost", "use"))
    tell("a maker that was killed leaves its lock's file", len(left) == 1, makers, left)
    os.makedirs(os.path.join(b.place(".new-half"), "data"))
    os.makedirs(os.path.join(b.place(".gone-0000000000000001"), "data", "x"))
    done = b.carrel("volume", "rm", "lost")
    tell("locks that a killed maker left hold nothing", done.returncode == 0, done)
    tell("what a kill left half made or half removed is erased", sorted(os.listdir(b.place())) == ["npm-cache", "work"], os.listdir(b.place()))
    os.makedirs(os.path.join(b.place(".new-half"), "data", "x"))
    tell("a volume that was half made is made", b.run("ls -A /w", "-v", "half:/w").stdout == "" and b.carrel("volume", "rm", "half").returncode == 0)


def erased(b):
    done = b.run("cd /w; i=0; while [ $i -lt 400 ]; do mkdir d; cd d; i=$((i+1)); done; echo x >f; mkdir /w/closed; ln -s / /w/closed/link; chmod 0 /w/closed .", "-v", "deep:/w")
    row = b.list()["deep"]
    tell("a volume of any depth is counted as far as there is a bound", done.returncode == 0 and row["partial"] and row["file_count"] > 40, done, row)
    done = b.carrel("volume", "rm", "deep")
    tell("it is erased whole, closed directories too, and no link is followed", done.returncode == 0 and "deep" not in b.list() and not os.path.exists(b.place("deep")) and
         not [n for n in os.listdir(b.place()) if n.startswith(".")], done)


def commands(b):
    done = b.carrel("volume", "create", "a", "b", "a")
    tell("create makes volumes, and leaves one that is there as it is", done.stdout == "a\nb\na\n" and {"a", "b"} <= set(b.list()), done)
    done = b.carrel("volume", "prune")
    tell("prune without a terminal refuses, and says how", done.returncode == 125 and "--force" in done.stderr and "a" in b.list(), done)
    for answer, is_removed in (("n\n", False), ("y\n", True)):
        master, slave = pty.openpty()
        child = subprocess.Popen([CARREL, "volume", "prune"], env=b.env, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(slave)
        os.write(master, answer.encode())
        out, err = child.communicate()
        os.close(master)
        tell(f"prune on a terminal asks, and {answer.strip()} is heard", ("a" in b.list()) != is_removed and "[y/N]" in err and (out != "") == is_removed, out, err)
    tell("ls of nothing says how one is made", "carrel volume create" in b.carrel("volume", "ls").stdout)
    rows = (("rm", "none"), 126, "volume_not_found"), (("rm", ".."), 126, "volume_not_found"), (("rm", "../" + OWNER), 126, "volume_not_found"), (("rm",), 125, "invalid_argument"), \
        (("create", ".."), 125, "invalid_argument"), (("create", "a/b"), 125, "invalid_argument"), (("create", "A"), 125, "invalid_argument"), \
        (("create", "0123456789abcdef"), 125, "invalid_argument"), (("ls", "x"), 125, "invalid_argument"), (("drop",), 125, "invalid_argument"), ((), 125, "invalid_argument")
    wrong = []
    for words, status, code in rows:
        done = b.carrel("volume", *words, "--json")
        if done.returncode != status or json.loads(done.stdout)["error"]["code"] != code:
            wrong.append((words, done))
    for name in ("..", ".x", "A", "a b", "0123456789abcdef", "x" * 65):
        done = b.run("true", "-v", name + ":/x")
        b.manifest(f"metadata: {{carrel: {{home: '{name}'}}}}\n")
        as_home = b.run("true")
        b.manifest()
        if done.returncode not in (125, 126) or "-v" not in done.stderr or as_home.returncode != 126:
            wrong.append((name, done, as_home))
    tell("names that are none are refused, each with its code", not wrong and b.list() == {}, *wrong)


def bounded(b):
    host = os.path.join(b.top, "host.yaml")
    wrong = []
    for most, made in ((0, 0), (2, 2)):
        with open(host, "w", encoding="utf-8") as f:
            f.write(f"volumes_max: {most}\nproviders: {{local: {{isolated: true, mounts: true}}}}\n")
        for i in range(3):
            done = b.carrel("run", "--host", host, "-v", f"v{i}:/x", "--", "true")
            if (done.returncode == 0) != (i < made) or (i >= made and "volumes_max" not in done.stderr):
                wrong.append((most, i, done))
        b.manifest("metadata: {carrel: {home: v9}}\n")
        done = b.carrel("run", "--host", host, "--", "true")
        b.manifest()
        if done.returncode != 126 or "volumes_max" not in done.stderr:
            wrong.append((most, "home", done))
    tell("volumes_max bounds how many there are, and 0 forbids them", not wrong and sorted(b.list()) == ["v0", "v1"], *wrong)


def guarded(b):
    """Each place of a volume is taken by something else, and the sandbox is refused; the target of
    a link is unchanged.
    """
    outside, wrong = os.path.join(b.top, "outside"), []
    os.makedirs(os.path.join(outside, "data"), exist_ok=True)
    os.makedirs(os.path.join(outside, "use"))
    b.carrel("volume", "create", "v")
    for parts in ((), ("v",), ("v", "data"), ("v", "use")):
        path = b.place(*parts)
        os.rename(path, path + ".aside")
        os.symlink(outside, path)
        done = b.run("echo evil >/x/planted", "-v", "v:/x")
        if done.returncode not in (125, 126) or os.listdir(os.path.join(outside, "data")) or os.listdir(os.path.join(outside, "use")) or len(os.listdir(outside)) != 2:
            wrong.append((parts, done, os.listdir(outside)))
        os.unlink(path)
        os.rename(path + ".aside", path)
    tell("a symbolic link at any place of a volume is refused", not wrong, *wrong)
    wrong = []
    for mode in (0o755, 0o710, 0o701):
        os.chmod(b.place(), mode)
        done = b.run("true", "-v", "v:/x")
        if done.returncode != 125 or "chmod 700" not in done.stderr or b.carrel("volume", "rm", "v").returncode != 125:
            wrong.append((oct(mode), done))
    os.chmod(b.place(), 0o700)
    if os.getuid() == 0:
        os.chown(b.place(), 65534, 65534)
        done = b.run("true", "-v", "v:/x")
        if done.returncode != 125 or "somebody else" not in done.stderr:
            wrong.append(("owner", done))
        os.chown(b.place(), 0, 0)
    tell("a directory that is open to others, or another's, is refused", not wrong and b.run("true", "-v", "v:/x").returncode == 0, *wrong)
    with open(os.path.join(b.top, "SANDBOX.md"), "w", encoding="utf-8") as f:
        f.write(MANIFEST % "mounts:\n  - {source: workspace, at: /workspace, mode: read-only}\n")
    done = b.carrel("run", "-w", b.top, "-v", "v:/x", "--", "true")
    tell("a volume below another mount is refused", done.returncode == 126 and "would lie below the mount of" in done.stderr, done)


def without_room(b):
    os.makedirs(b.state, exist_ok=True)
    if os.getuid() != 0:
        os.chmod(b.state, 0o500)
        done = b.run("true", "-v", "v:/x")
        tell("a state directory that cannot be written is said", done.returncode == 125 and "state_unusable" in done.stderr and b.run("echo on").stdout == "on\n", done)
        os.chmod(b.state, 0o700)
        return
    wrong = []
    for options, code in (("ro", "state_unusable"), ("nr_inodes=4", "storage_full")):
        script = f'mount -t tmpfs -o mode=700,{options} tmpfs "$0" && exec "$@"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, b.state, CARREL, "run", "-v", "v:/x", "--", "true"], env=b.env, cwd=b.work, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 125 or code not in done.stderr:
            wrong.append((options, done))
    tell("a read-only state directory and a full disk are said by name", not wrong, *wrong)


def main():
    top = tempfile.mkdtemp(prefix="carrel-volumes-")
    try:
        b = Bench(top)
        for part in (what_stays, home, at_once, killed, erased):
            b.manifest()
            part(b)
        for part in (commands, bounded, guarded, without_room):
            part(Bench(top, part.__name__))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"1..{NUMBER[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
