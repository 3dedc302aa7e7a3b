#!/usr/bin/env python3
"""tenants_test - what other users of the machine get through a daemon that root runs: limited, and
nothing that they may not read themselves (P7).

A tenant is another user at the daemon's own socket. The kernel reports the user of a connection, so
the test changes its effective user id while it connects.
"""
import json
import os
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end
from daemon_rig import Daemon, UnixConnection, box_process, until

TENANT, OTHER = 4242, 4243


class TenantConnection(UnixConnection):
    """Created by another user."""
    uid = TENANT

    def connect(self):
        os.setegid(self.uid)
        os.seteuid(self.uid)
        try:
            super().connect()
        finally:
            os.seteuid(0)
            os.setegid(0)


class Tenants(Daemon):
    """A request by a tenant, if `uid` names one."""
    uid = 0

    def connection(self, *more):
        made = super().connection(*more)
        if self.uid:
            made.__class__ = TenantConnection
            made.uid = self.uid
        return made

    def by(self, uid, *words, **more):
        self.uid = uid
        try:
            return self.call(*words, **more)
        finally:
            self.uid = 0

    def start(self):
        super().start()
        os.chmod(self.state, 0o711)
        return self


def sandbox(**limits):
    return {"manifest": {"provider": "local", "config": {}, "metadata": {"carrel": {"limits": limits}}}}


def error(answer):
    return (answer.status, answer.json["error"]["code"], answer.json["error"]["message"], answer.json["error"].get("hint")) if answer.status >= 400 else answer.status


def bounds_nobody_wrote():
    with Tenants("--socket-mode", "0666") as d:
        many = error(d.by(TENANT, "POST", "/v1/sandboxes", sandbox(pids=20000)))
        check("a tenant who asks for 20000 processes is refused with both numbers, and with who can raise them",
              many == (403, "sandbox_policy_denied", "pids is 20000, and this host permits at most 1024", "Ask for 1024 or less, or have the operator raise limits_max.pids in the host file."), many)
        mine = d.by(TENANT, "POST", "/v1/sandboxes", {"start": True})
        check("who asks for nothing gets one", mine.status == 201, mine)
        box = "/v1/sandboxes/" + mine.json["id"]
        words = d.by(TENANT, "GET", box + "/instructions").json["text"]
        check("and it has a cap on memory that nobody wrote", "Memory of the whole sandbox, at most: 4096 MiB" in words, words)
        own = d.call("POST", "/v1/sandboxes", sandbox(pids=20000))
        check("the daemon's own user has no such bound", own.status == 201, own)
        codes = [d.by(TENANT, "POST", "/v1/sandboxes", {}) for _ in range(64)]
        check("a tenant has 64 sandboxes, and is told which number the next one is above",
              [a.status for a in codes] == [201] * 63 + [429] and error(codes[-1])[1:3] == ("quota_exceeded", "uid:%d has 64 sandboxes, and this host permits at most 64" % TENANT), error(codes[-1]))
        check("another tenant has room", d.by(OTHER, "POST", "/v1/sandboxes", {}).status == 201)
        for uid in (TENANT, OTHER):
            for item in d.by(uid, "GET", "/v1/sandboxes").json["items"]:
                d.by(uid, "DELETE", "/v1/sandboxes/" + item["id"])


def host_file(folder, **rules):
    path = os.path.join(folder, "host.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"providers": {"local": {"isolated": True, "mounts": True, "egress": True}}, **rules}, f)
    return path


def bounds_of_the_host():
    with tempfile.TemporaryDirectory(prefix="carrel-host-") as folder:
        host = host_file(folder, limits_max={"pids": 100, "memory_mb": 64, "timeout_ms": 60000}, sandboxes_max=2, execs_max=3)
        with Tenants("--socket-mode", "0666", "--host", host) as d:
            for uid in (TENANT, 0):
                got = error(d.by(uid, "POST", "/v1/sandboxes", sandbox(pids=101)))
                check("what the host file says holds for uid %d" % uid, got[:3] == (403, "sandbox_policy_denied", "pids is 101, and this host permits at most 100"), got)
            made = [d.by(TENANT, "POST", "/v1/sandboxes", {"start": True, **sandbox(pids=100)}) for _ in range(3)]
            check("two sandboxes, and not three", [a.status for a in made] == [201, 201, 429], *made)
            boxes = [a.json["id"] for a in made[:2]]
            seen = error(d.by(OTHER, "GET", "/v1/sandboxes/" + boxes[0]))
            words = d.by(TENANT, "GET", "/v1/sandboxes/%s/instructions" % boxes[0]).json["text"]
            check("a command has the longest time that the host permits, in the background too", "with everything it started, after: 60000 ms" in words and seen[0] == 404, words)
            runs = [d.by(TENANT, "POST", "/v1/sandboxes/%s/execs" % boxes[i % 2], {"command": "sleep 300", "background": True}) for i in range(4)]
            check("three commands in both together, and not four",
                  [a.status for a in runs] == [201, 201, 201, 429] and error(runs[3])[2] == "uid:%d runs 3 commands, and this host permits at most 3 at once" % TENANT, *runs)
            d.by(TENANT, "DELETE", "/v1/sandboxes/%s/execs/1" % boxes[0])
            until("one that has ended makes room", lambda: d.by(TENANT, "POST", "/v1/sandboxes/%s/execs" % boxes[0], {"command": "true"}).status == 200)
            for box in boxes:
                d.by(TENANT, "DELETE", "/v1/sandboxes/" + box)


def closed_tools():
    """Tools below a directory that the tenant cannot search, or cannot list."""
    folder = tempfile.mkdtemp(prefix="carrel-tools-")
    os.chmod(folder, 0o755)
    for name, mode in (("private", 0o700), ("open", 0o755), ("group", 0o750), ("mine", 0o700)):
        os.makedirs(os.path.join(folder, name, "pub"))
        with open(os.path.join(folder, name, "pub", "f"), "w", encoding="ascii") as f:
            f.write("HOSTCANARY\n")
        os.chmod(os.path.join(folder, name), mode)
    os.mkdir(os.path.join(folder, "open", "shut"), 0o700)
    os.chown(os.path.join(folder, "mine"), TENANT, TENANT)
    os.symlink(os.path.join(folder, "private", "pub"), os.path.join(folder, "open", "link"))
    os.symlink(os.path.join(folder, "private", "none"), os.path.join(folder, "open", "nowhere"))
    try:
        with Tenants("--socket-mode", "0666", "--host", host_file(folder, tool_roots=[folder])) as d:
            def tool(uid, name):
                path = os.path.join(folder, name)
                a = d.by(uid, "POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, "metadata": {"carrel": {"tools": [path]}}}})
                if a.status != 201:
                    return tuple(str(word).replace(path, "PATH") for word in error(a))
                box = "/v1/sandboxes/" + a.json["id"]
                ran = d.by(uid, "POST", box + "/execs", {"command": "cat %s/f" % path})
                d.by(uid, "DELETE", box)
                return ran.json.get("stdout", ran)
            check("the daemon's own user shows what is closed to others", tool(0, "private/pub") == "HOSTCANARY\n")
            shown = [tool(TENANT, name) for name in ("open/pub", "mine/pub")]
            check("a tenant has what he can open himself", shown == ["HOSTCANARY\n"] * 2, *shown)
            check("and another tenant has not", tool(OTHER, "mine/pub")[0] == "403")
            refused = {name: tool(TENANT, name) for name in ("private/pub", "private/none", "private", "group/pub", "open/shut", "open/link", "open/nowhere", "open/none", "open/pub/f/g")}
            check("nothing below a closed directory is shown, by whatever name, and whether it is there is not told",
                  len(set(refused.values())) == 1 and refused["private/pub"][:2] == ("403", "mount_denied"), refused)
        listed = os.path.join(folder, "private", "pub")
        with Tenants("--socket-mode", "0666", "--host", host_file(folder, mount_roots=[listed])) as d:
            mounts = [{"source": {"inline": {"provider": "local-fs", "config": {"path": listed}}}, "at": "/listed", "mode": "read-only"}]
            a = d.by(TENANT, "POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, "mounts": mounts}})
            ran = d.by(TENANT, "POST", "/v1/sandboxes/%s/execs" % (a.json or {}).get("id", "none"), {"command": "cat /listed/f"})
            check("(known limit) what the operator lists under mount_roots is shown, also below a closed directory", a.status == 201 and ran.json.get("stdout") == "HOSTCANARY\n", a, ran)
            d.by(TENANT, "DELETE", "/v1/sandboxes/%s" % (a.json or {}).get("id", "none"))
    finally:
        shutil.rmtree(folder)


def swapped_workspace():
    """H7: a tenant replaces its workspace by a link to another user's, and has its own sandbox
    cleaned up.
    """
    with tempfile.TemporaryDirectory(prefix="carrel-host-") as folder:
        os.chmod(folder, 0o755)
        vic, home = os.path.join(folder, "vic"), os.path.join(folder, "home")
        os.makedirs(os.path.join(vic, ".git/hooks"))
        os.makedirs(os.path.join(home, "w3"))
        for name in (home, os.path.join(home, "w3")):
            os.chown(name, TENANT, TENANT)
        with open(os.path.join(vic, ".envrc"), "w", encoding="ascii") as f:
            f.write("of root\n")
        block = {"manifest": {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/workspace"}]}, "start": True}
        attack = {"command": "for n in .envrc .git/hooks/pre-commit sub/.claude; do mkdir -p sub; echo evil >$n; done 2>/dev/null; mkdir -p .vscode; cat .envrc; ls .git/hooks"}
        with Tenants("--socket-mode", "0666", "--host", host_file(folder, mount_roots=[folder])) as d:
            root = d.must("POST", "/v1/sandboxes", {**block, "workspace": vic})["id"]
            for end_it in ("stop", "kill"):
                mine = d.by(TENANT, "POST", "/v1/sandboxes", {**block, "workspace": os.path.join(home, "w3")})
                ran = d.by(TENANT, "POST", "/v1/sandboxes/%s/execs" % mine.json.get("id"), {"command": "echo x >own; mkdir -p sub; echo x >sub/own"})
                before = sorted((at, *sorted(names), *sorted(files)) for at, names, files in os.walk(vic))
                os.rename(os.path.join(home, "w3"), os.path.join(home, "gone"))
                os.symlink(vic, os.path.join(home, "w3"))
                if end_it == "kill":
                    os.kill(box_process(d, mine.json["id"]), signal.SIGKILL)
                    until("it is lost", lambda one=mine: d.by(TENANT, "GET", "/v1/sandboxes/" + one.json["id"]).json["status"] in ("failed", "stopped"))
                d.by(TENANT, "DELETE", "/v1/sandboxes/" + mine.json["id"])
                after = sorted((at, *sorted(names), *sorted(files)) for at, names, files in os.walk(vic))
                check("H7: %s: a tenant's sandbox runs, and its end touches nothing of the workspace that its own leads to by now" % end_it, ran.status == 200 and before == after, mine, ran, before, after)
                os.unlink(os.path.join(home, "w3"))
                os.rename(os.path.join(home, "gone"), os.path.join(home, "w3"))
            shown = d.must("POST", "/v1/sandboxes/%s/execs" % root, attack)["stdout"]
            until("what is made is moved away", lambda: not os.path.exists(os.path.join(vic, ".vscode")) and not os.path.exists(os.path.join(vic, "sub/.claude")))
            with open(os.path.join(vic, ".envrc"), encoding="ascii") as f:
                check("H7: and what is protected in it still is", shown == "of root\n" and f.read() == "of root\n" and os.listdir(os.path.join(vic, ".git/hooks")) == [], shown)


def main():
    if os.geteuid() != 0:
        check("other users of root's daemon # SKIP needs root", True)
    else:
        bounds_nobody_wrote()
        bounds_of_the_host()
        closed_tools()
        swapped_workspace()
    end()


main()
