#!/usr/bin/env python3
"""Attacks on volumes: what a sandbox leaves in one for the next sandbox, for the host, and for
other owners (B26). Prints TAP.
"""
import os
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, need_programs, until
from daemon_rig import Daemon

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 60000}\nmetadata: {carrel: {home: work}}\n---\n"


class Bench:
    def __init__(self, top):
        self.state, self.work, self.target = (os.path.join(top, name) for name in ("state", "work", "target"))
        for path in (self.work, self.target):
            os.makedirs(path)
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)
        with open(os.path.join(self.target, "secret"), "w", encoding="utf-8") as f:
            f.write("of the host\n")

    def run(self, script, *options):
        env = {**os.environ, "CARREL_STATE": self.state}
        return subprocess.run([CARREL, "run", *options, "--", "sh", "-c", script], env=env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

    def data(self, name):
        return os.path.join(self.state, "volumes", f"uid:{os.getuid()}", name, "data")


def planted_links(b):
    """A home contains links at places where the next sandbox mounts something: no mount follows
    one, to the host or to another place inside.
    """
    wrong = []
    for target in (b.target, "/etc", "/proc/1/root", "..", "/carrel/..", "/workspace"):
        b.run(f"rm -rf ~/.npm; ln -s {target} ~/.npm")
        for at in ("/home/agent/.npm", "/home/agent/.npm/x"):
            done = b.run("ls -A /etc >/dev/null && cat /etc/passwd >/dev/null && echo ran", "-v", "cache:" + at)
            if done.returncode == 0 or "symbolic link" not in done.stderr and "sandbox_mount" not in done.stderr:
                wrong.append((target, at, done))
    check("B26 a mount below a home goes through no link that was planted there", not wrong, *wrong)
    check("B26 what the links lead to is as before", os.listdir(b.target) == ["secret"] and set(os.listdir(b.data("work"))) == {".npm"}, os.listdir(b.target))
    b.run("rm ~/.npm")


def modes_and_kinds(b):
    done = b.run("cd; cp /bin/true t; chmod u+s t || echo held; chmod g+s . || echo held; mknod d c 1 3 || echo held; mkfifo f; ls -l t")
    found = {name: os.lstat(os.path.join(b.data("work"), name)) for name in os.listdir(b.data("work"))}
    check("B26 no set-id file and no device gets onto the host's disk", done.stdout.count("held") == 3 and not any(st.st_mode & 0o6000 for st in found.values()) and
          not any(stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode) for st in found.values()) and not os.stat(b.data("work")).st_mode & 0o6000, done, found)
    done = b.run("cd /home/agent/.. && ls; ls -A /home; cat ../use/* ../../*/data/* 2>/dev/null; mv ~ /home/moved; rmdir ~; ls -d ~")
    check("B26 above a volume is the sandbox's own root, and its mount point stays", done.stdout.split() == ["agent", "agent", "/home/agent"], done)


def erased_links(b):
    """Links in a volume that is removed lead to the host: none is followed."""
    b.run(f"cd; ln -s {b.target} out; ln -s {b.target}/secret file; mkdir -p a/b; ln -s {b.target} a/b/out; chmod 0 a")
    env = {**os.environ, "CARREL_STATE": b.state}
    done = subprocess.run([CARREL, "volume", "rm", "work"], env=env, capture_output=True, text=True, timeout=60, check=False)
    check("B26 erasing a volume follows no link", done.returncode == 0 and os.path.exists(os.path.join(b.target, "secret")) and not os.path.exists(b.data("work")), done)


def others(d):
    """Another owner's volume, with every way to name it."""
    head = {name: {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"owner": name})["token"]} for name in ("tenant-a", "tenant-b")}

    def create(name, block):
        return d.call("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, **block}}, headers=head[name])

    box = create("tenant-a", {"metadata": {"carrel": {"home": "work"}}}).json["id"]
    d.must("POST", f"/v1/sandboxes/{box}/execs", {"command": "echo theirs >~/x"}, headers=head["tenant-a"])
    place, wrong = os.path.join(d.state, "volumes", "tenant-a", "work", "data"), []
    check("B26 the victim's file is where it is looked for", os.path.exists(os.path.join(place, "x")))
    rows = [{"inline": {"provider": "carrel-volume", "config": {"name": name}}} for name in ("../tenant-a/work", "tenant-a/work", "..", "/work", "work\0", "work/../../tenant-a/work", "")]
    rows += [{"inline": {"provider": "carrel-volume", "config": {"name": "work", "owner": "tenant-a"}}}, {"inline": {"provider": "carrel-volume", "config": {"name": ["work"]}}},
             {"inline": {"provider": "carrel-volume", "config": {"path": place}}}, {"inline": {"provider": "local-fs", "config": {"path": place}}}]
    for source in rows:
        a = create("tenant-b", {"mounts": [{"source": source, "at": "/v"}]})
        if a.status < 400 or a.status >= 500:
            wrong.append((source, a))
    for home in ("../tenant-a/work", "..", "work/", ".", {"name": "work"}):
        a = create("tenant-b", {"metadata": {"carrel": {"home": home}}})
        if a.status < 400 or a.status >= 500:
            wrong.append((home, a))
    a = d.call("POST", "/v1/sandboxes", {"workspace": place, "manifest": {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/v"}]}}, headers=head["tenant-b"])
    if a.status < 400:
        wrong.append(("workspace", a))
    a = d.call("POST", "/v1/sandboxes", {"workspace": place, "manifest": {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/v"}]}})
    if a.status < 400:
        wrong.append(("workspace of the daemon's own user", a))
    check("B26 no name, path or workspace leads to another owner's volume", not wrong, *wrong)
    own = create("tenant-b", {"metadata": {"carrel": {"home": "work"}}}).json["id"]
    seen = d.must("POST", f"/v1/sandboxes/{own}/execs", {"command": "ls -A ~"}, headers=head["tenant-b"])
    gone = d.call("DELETE", "/v1/volumes/work", headers=head["tenant-b"])
    d.must("DELETE", f"/v1/sandboxes/{own}", headers=head["tenant-b"])
    until("the volume is free", lambda: all("used_by" not in v for v in d.must("GET", "/v1/volumes", headers=head["tenant-b"])["items"]))
    d.must("DELETE", "/v1/volumes/work", headers=head["tenant-b"])
    check("B26 the same name is another volume, and removing it leaves the first", seen["stdout"] == "" and gone.status == 409 and os.path.exists(os.path.join(place, "x")), seen, gone)


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-volumes-") as top:
        b = Bench(top)
        for part in (planted_links, modes_and_kinds, erased_links):
            part(b)
    with Daemon() as d:
        others(d)
    end()


if __name__ == "__main__":
    main()
