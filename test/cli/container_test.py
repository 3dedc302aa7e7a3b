#!/usr/bin/env python3
"""The provider `container`: the root is an image. What is seen, who may write where, what an image sets, what is refused by
name, what is held while it is used, and what is left. Prints TAP.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, check, end, need_programs, until
from image_rig import Entry, Image, busybox_import, busybox_root, folder, image_import, symlink, tar

BLOCK = {"provider": "container", "config": {"image": "box:1"}, "mounts": [{"source": "workspace", "at": "/workspace"}]}


def block(carrel=None, **config):
    made = {**BLOCK, "config": {**BLOCK["config"], **config}}
    return {**made, "metadata": {"carrel": carrel}} if carrel else made


class Desk:
    """A state directory with one image, and a workspace."""

    def __init__(self, top):
        self.top = top
        self.state = os.path.join(top, "state")
        self.workspace = os.path.join(top, "workspace")
        os.makedirs(self.workspace)
        self.env = {**os.environ, "CARREL_STATE": self.state}
        self.image = busybox_import(CARREL, self.state)

    def carrel(self, *words, **more):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.workspace, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False, **more)

    def manifest(self, what):
        path = os.path.join(self.top, "SANDBOX.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(what, f)
        return path

    def run(self, what, *words):
        return self.carrel("run", "-f", self.manifest(what), "-w", self.workspace, *words)

    def sh(self, what, script):
        return self.run(what, "--", "sh", "-c", script)

    def error(self, what, *words):
        got = self.carrel(*(words or ("plan", "-w", self.workspace)), "-f", self.manifest(what), "--json")
        try:
            return json.loads(got.stdout).get("error", {})
        except ValueError:
            return {"code": "no JSON: " + got.stdout + got.stderr}


def sees(desk):
    got = desk.sh(block(), "cat /etc/motd; ls /srv /srv/tree; ls /usr /lib 2>&1; echo $FROM_IMAGE; pwd; id -u")
    check("the root is the image's, with its whiteouts and its opaque directories", got.stdout.splitlines()[:4] == ["of the image", "/srv:", "tree", ""] and
          "/srv/tree:\nb\n" in got.stdout, got.stdout, got.stderr)
    check("nothing of the host's programs is there", got.stdout.count("No such file") == 2, got.stdout)
    check("the image's variables are set, and the workspace is the working directory", got.stdout.splitlines()[-3:] == ["yes", "/workspace", "1000"], got.stdout)
    got = desk.sh({**block(), "mounts": []}, "pwd; echo $HOME $USER $PATH")
    check("without a workspace it is the image's working directory", got.stdout.splitlines() == ["/srv", "/home/agent agent /bin:/opt/bin"], got.stdout, got.stderr)
    got = desk.sh(block(user="root", cwd="/opt"), "pwd; echo $HOME $USER; id -u; id -g")
    check("the manifest wins, and root has a home", got.stdout.splitlines() == ["/opt", "/root root", "0", "0"], got.stdout, got.stderr)
    got = desk.carrel("run", "-f", desk.manifest(block()), "-w", desk.workspace, "-e", "FROM_IMAGE=no", "--", "sh", "-c", "echo $FROM_IMAGE $LANG")
    check("the caller's variables replace the image's", got.stdout == "no C\n", got.stdout, got.stderr)


def runs_its_command(desk):
    got = desk.run(block())
    check("without a command the image's entry point runs, with its arguments", got.stdout == "entry and command\n", got.stdout, got.stderr)
    got = desk.run(block(), "--", "echo", "mine")
    check("a command is run as it is", got.stdout == "mine\n", got.stdout, got.stderr)
    busybox_import(CARREL, desk.state, "silent:1", Entrypoint=[], Cmd=[])
    got = desk.run(block(image="silent:1"))
    check("an image without either needs a command", "there is no command to run" in got.stderr and got.returncode == 125, got.stderr)


WRITES = ("for f in /etc/motd /srv/new /new /bin/new /dev/new; do (echo x > $f) 2>/dev/null && echo wrote $f; done; "
          "for d in /tmp /var/tmp /run /dev/shm $HOME /workspace; do (echo x > $d/new) 2>/dev/null && echo wrote $d; done; true")
PRIVATE = ["wrote /tmp", "wrote /var/tmp", "wrote /run", "wrote /dev/shm", "wrote /home/agent", "wrote /workspace"]


def layers(desk):
    return subprocess.run("find layers -printf '%p %m %U %T@ %s %l\\n' | sort; find layers -type f -exec cksum {} +", shell=True, cwd=os.path.join(desk.state, "images"),
                          stdout=subprocess.PIPE, check=True).stdout


def writes(desk):
    before = layers(desk)
    got = desk.sh(block(), WRITES)
    check("an agent writes to its private places and its mounts only", got.stdout.splitlines() == PRIVATE, got.stdout, got.stderr)
    got = desk.sh(block(), "for d in / /dev /sys; do (echo x > $d/new) 2>&1; done; sed -n 's,^[0-9]* [0-9]* [^ ]* [^ ]* \\(/dev\\|/sys\\|/\\) \\(r[ow]\\)\\,.*,\\1 \\2,p' /proc/self/mountinfo; "
                           "echo x > /dev/null && echo x > /dev/shm/new && echo writes")
    lines = got.stdout.splitlines()
    has_sys = "/sys ro" in lines      # made where the kernel lists its processors
    check("the root, /dev and /sys are read-only mounts, and not what is mounted in them", got.stdout.count("Read-only") == 3 and "/ ro" in lines and "/dev ro" in lines and
          not any(line.endswith(" rw") for line in lines) and (has_sys or not os.path.exists("/sys/devices/system/cpu/possible")) and lines[-1] == "writes", got.stdout, got.stderr)
    check("what it writes to the workspace is the caller's", os.stat(os.path.join(desk.workspace, "new")).st_uid == os.stat(desk.workspace).st_uid)
    os.unlink(os.path.join(desk.workspace, "new"))
    got = desk.sh(block(user="root"), "rm /etc/motd && rm -r /srv && mkdir /srv && ls /srv && echo new > /bin/tool && chmod 755 /bin/tool && mv /bin/tool /opt/tool && "
                                      "ln /opt/tool /opt/again && cat /opt/again /etc/secret; ls -ld /srv /etc/secret | cut -c1-10; grep CapEff /proc/self/status")
    lines = got.stdout.splitlines()
    check("root removes, replaces, renames and links files of the image", lines[:2] == ["new", "of root"], got.stdout, got.stderr)
    caps = int(lines[-1].split()[1], 16) if lines and lines[-1].startswith("CapEff") else -1
    check("root has what files and users need, and no other capability", caps & ~0xfb == 0 and caps & 0x3b == 0x3b, got.stdout)
    got = desk.sh(block(user="root"), "cat /etc/motd; ls /opt")
    check("the next sandbox has the image as it was", got.stdout == "of the image\n", got.stdout, got.stderr)
    check("no layer has changed", layers(desk) == before)


def owners(desk):
    got = desk.sh(block(user="root"), "touch /opt/f && chown 33:44 /opt/f && stat -c %u:%g /opt/f; stat -c %u:%g /bin/busybox; wc -l < /proc/self/uid_map; cut -c21- /proc/self/uid_map")
    if ROOT:
        check("as root a sandbox has a range of ids of its own", got.stdout.splitlines()[:2] == ["33:44", "0:0"] and got.stdout.split()[-1] == "65536", got.stdout, got.stderr)
    else:
        check("with one id, another owner is accepted, and the file keeps its own", got.returncode == 0 and got.stdout.splitlines()[0] == "0:0", got.stdout, got.stderr)
        got = desk.sh(block(user="root"), "cd /opt; touch f; ln -s /etc/none l; chown 1 /opt/nothing; chown -h 1 l && echo link; chown 1 /proc/1/fd/0 /proc/self/fd/0; chown 1 /workspace && echo mount; ls /etc/apt")
        check("if there is such a file", got.stdout == "link\nmount\n" and got.stderr.count("No such file") == 2 and got.stderr.count("chown: ") == 2, got.stdout, got.stderr)
    got = desk.sh(block(), "stat -c %u:%g /bin/busybox; cat /etc/secret")
    wanted = "0:0\n" if ROOT else "1000:1000\nof root\n"
    check("files of an image are root's; with one id, the agent's", got.stdout == wanted, got.stdout, got.stderr)


DPKG = ("dpkg", "dpkg-deb", "dpkg-query", "dpkg-split", "tar", "ldconfig", "start-stop-daemon", "diff")


def dpkg_layer():
    """The machine's own dpkg with its libraries."""
    files = set()
    for name in DPKG:
        path = shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin")
        files.add(path)
        told = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        files |= {word for word in told.split() if word.startswith("/")}
    entries = [folder(name) for name in ("var", "var/lib", "var/lib/dpkg", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/parts")]
    for path in sorted(files):
        with open(path, "rb") as f:
            entries.append(Entry(path[1:], f.read(), mode=0o755))
    return tar(*entries, Entry("var/lib/dpkg/status"), Entry("var/lib/dpkg/available"), Entry("var/lib/dpkg/diversions"), Entry("var/lib/dpkg/statoverride"))


def package(desk, owner):
    tree = os.path.join(desk.top, "package")
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree + "/DEBIAN")
    os.makedirs(tree + "/usr/share/probe")
    with open(tree + "/DEBIAN/control", "w", encoding="utf-8") as f:
        f.write("Package: probe\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: a test\n")
    with open(tree + "/DEBIAN/postinst", "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nset -e\nchown {owner} /usr/share/probe/data\necho configured > /var/lib/probe\n")
    os.chmod(tree + "/DEBIAN/postinst", 0o755)
    with open(tree + "/usr/share/probe/data", "w", encoding="utf-8") as f:
        f.write("installed\n")
    os.chmod(tree + "/usr/share/probe/data", 0o6755)
    subprocess.run(["dpkg-deb", "-b", "--root-owner-group", tree, os.path.join(desk.workspace, "probe.deb")], stdout=subprocess.DEVNULL, check=True)


def installs(desk):
    where = os.path.join(desk.top, "debian")
    image_import(CARREL, desk.state, Image(busybox_root(), dpkg_layer()).layout(where), "debian:1")
    what = block(image="debian:1", user="root")
    what["config"]["cwd"] = "/"
    script = "export PATH=/usr/bin:/usr/sbin:/bin:/sbin; /usr/bin/dpkg -i /workspace/probe.deb 2>&1; cat /var/lib/probe /usr/share/probe/data; stat -c %a:%u:%g /usr/share/probe/data; /usr/bin/dpkg -s probe | grep Status; /usr/bin/dpkg -r probe; ls /usr/share"
    for owner in ("0:0", "33:33"):
        package(desk, owner)
        got = desk.sh(what, script)
        has = owner if ROOT else "0:0"        # with one id the owner stays
        check(f"dpkg -i installs, configures and removes a package whose files belong to {owner}", "configured\ninstalled\n" in got.stdout and f"\n755:{has}\nStatus: install ok installed\n" in got.stdout and
              "probe" not in got.stdout.splitlines()[-1:], got.stdout, got.stderr)
    os.unlink(os.path.join(desk.workspace, "probe.deb"))
    got = desk.sh(block(image="debian:1"), "echo x > /usr/new")
    check("an agent installs nothing", got.returncode != 0, got.stdout, got.stderr)


def refuses(desk):
    rows = (
        ("an image that is not there", block(image="nothing:1"), ("image_not_found", "config/image")),
        ("a provider without its image", {**BLOCK, "config": {}}, ("sandbox_config_invalid", "config/image")),
        ("another user", block(user="daemon"), ("sandbox_config_invalid", "config/user")),
        ("a setting that it does not have", block(privileged=True), ("sandbox_config_invalid", "config/privileged")),
        ("programs of the host", block({"tools": ["/opt"]}), ("sandbox_config_invalid", "metadata/carrel/tools")),
        ("a tier that it does not reach", block({"tier": "T3"}), ("sandbox_provider_untrusted", "metadata/carrel/tier")),
    )
    for name, what, wanted in rows:
        error = desk.error(what)
        check(f"{name} is refused by name", (error.get("code"), error.get("path")) == wanted, error)
    error = desk.error({"provider": "local", "config": {}, "metadata": {"carrel": {"tier": "T2"}}})
    check("`local` does not reach T2", error.get("code") == "sandbox_provider_untrusted" and "T1" in error.get("message", ""), error)
    check("`container` does", desk.error(block({"tier": "T2"})) == {})


LINKS = (symlink("tmp", "var/tmp"), symlink("run", "/var/run"), symlink("home", "var/home"), symlink("root", "../../../../var/roothome"), symlink("usr/sbin", "../bin"), symlink("sbin", "bin"),
         folder("var"), folder("var/tmp"), folder("var/run"), folder("var/roothome"), folder("usr"), folder("usr/local"), symlink("mnt", "/usr/local"))
PLACES = "for d in /tmp /var/tmp /run /var/run $HOME /workspace; do echo x > $d/new && cat $d/new; done; readlink /tmp; ls /var/run /bin/sh"


def links(desk):
    """Links of an image where Carrel has its private places: they are followed inside the root."""
    where = os.path.join(desk.top, "linked")
    image_import(CARREL, desk.state, Image(busybox_root(without="root"), tar(*LINKS)).layout(where), "linked:1")
    for user in ("agent", "root"):
        got = desk.sh(block(image="linked:1", user=user), PLACES)
        check(f"{user}: private places lie where an image's links lead", got.stdout == "x\n" * 6 + "var/tmp\n/bin/sh\n\n/var/run:\nnew\n" and got.stderr == "", got.stdout, got.stderr)
        os.unlink(os.path.join(desk.workspace, "new"))
    outside = os.path.join(desk.top, "outside")
    os.mkdir(outside)
    for name, target in (("tmp", outside), ("tmp", "../" * 30 + outside[1:]), ("run", outside), ("home", outside), ("var", outside), ("dev", "/dev"), ("etc", outside), ("sys", outside)):
        place = os.path.join(desk.top, "out")
        shutil.rmtree(place, ignore_errors=True)
        image_import(CARREL, desk.state, Image(busybox_root(without=name), tar(symlink(name, target))).layout(place), "out:1")
        got = desk.sh(block(image="out:1", user="root"), "ls -d /tmp; echo x > /tmp/new; cat /tmp/new")
        check(f"/{name}: a link to {target[:12]}... leads to nothing outside", os.listdir(outside) == [] and (got.stdout == "/tmp\nx\n" or got.returncode in (125, 126)), got.stdout, got.stderr, os.listdir(outside))
    for name, target in (("tmp", "tmp"), ("home", "etc/motd")):
        place = os.path.join(desk.top, "out")
        shutil.rmtree(place, ignore_errors=True)
        image_import(CARREL, desk.state, Image(busybox_root(without=name), tar(symlink(name, target))).layout(place), "out:1")
        got = desk.sh(block(image="out:1"), "true")
        check(f"a link /{name} to {target} is refused by name", got.returncode in (125, 126) and f"/{name}" in got.stderr, got.returncode, got.stderr)
    os.symlink("/etc", os.path.join(desk.workspace, "planted"))
    got = desk.run(block(), "-v", "kept:/workspace/planted", "--", "ls", "/etc")
    check("a link in a workspace is not followed", got.returncode != 0 and "motd" not in got.stdout and "symbolic" in got.stderr, got.returncode, got.stdout, got.stderr)
    os.unlink(os.path.join(desk.workspace, "planted"))


# Geodocs, tier table: the highest tier that a runtime class may claim
CLASSES = {"namespaces": "T1", "bubblewrap": "T1", "node-permission": "T1", "docker": "T2", "runc": "T2", "crun": "T2", "podman": "T2", "containerd": "T2", "lxc": "T2",
           "oci": "T2", "gvisor": "T3", "runsc": "T3", "kata": "T3", "firecracker": "T4", "kvm": "T4", "qemu": "T4", "cloud-hypervisor": "T4", "libkrun": "T4"}


def claims(desk):
    rows = json.loads(desk.carrel("providers", "--json").stdout)["providers"]
    wrong = [row for row in rows if row["tier"] and (row["runtime_class"] not in CLASSES or row["tier"] > CLASSES[row["runtime_class"]])]
    check("no provider claims a tier above its runtime class", not wrong and {"local", "container"} <= {row["id"] for row in rows}, wrong, rows)
    check("each says whether it runs here, or what is missing", all(row["available"] == (row["missing"] is None) for row in rows), rows)


def pins(desk):
    plan = json.loads(desk.carrel("plan", "-f", desk.manifest(block()), "-w", desk.workspace, "--json").stdout)
    steps = {s["step"]: s for s in plan["steps"]}
    check("the plan names the image by its digest", steps.get("rootfs", {}).get("text") == "box:1@" + desk.image["id"], steps.get("rootfs"))
    told = desk.carrel("plan", "-f", desk.manifest(block()), "-w", desk.workspace).stdout
    check("people read it too", f"the image box:1@{desk.image['id']}, read-only" in told and "system's programs" not in told, told)
    check("and has a step for each layer, and one for its record", sum(s["step"] == "layer" for s in plan["steps"]) == 3 and sum(s["step"] == "lower" for s in plan["steps"]) == 2)
    check("nothing of the host is bound but devices", not [s for s in plan["steps"] if s["step"] == "bind" and s.get("path") != "/workspace"], plan["steps"])
    busybox_import(CARREL, desk.state, "box:2", Env=["FROM_IMAGE=second"])
    got = desk.sh(block(image="box:2@" + desk.image["id"]), "echo $FROM_IMAGE")
    check("a digest counts more than the name before it", got.stdout == "yes\n", got.stdout, got.stderr)


def holds(desk):
    busybox_import(CARREL, desk.state, "held:1", Env=["HELD=1"])
    with subprocess.Popen([CARREL, "run", "-f", desk.manifest(block(image="held:1")), "-w", desk.workspace, "--", "sh", "-c", "echo on; read x; cat /etc/motd /bin/sh | head -1"],
                          env=desk.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        first = child.stdout.readline()
        removed = json.loads(desk.carrel("image", "rm", "held:1", "box:1", "--json").stdout)
        check("`image rm` takes the names, and nothing that a sandbox uses", first == b"on\n" and removed["in_use"] > 0, first, removed)
        out = child.communicate(b"go\n", timeout=ALWAYS)[0]
        check("the sandbox has its files to the end", out == b"of the image\n", out)
    pruned = json.loads(desk.carrel("image", "prune", "--json").stdout)
    check("afterwards they can go", pruned["in_use"] == 0 and pruned["images"] >= 1, pruned)
    with subprocess.Popen([CARREL, "run", "-f", desk.manifest(block(image="box:2", user="root")), "-w", desk.workspace, "--", "sh", "-c", "echo on; sleep 1000"], env=desk.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        child.stdout.readline()
        check("a layer is in use while a sandbox runs", json.loads(desk.carrel("image", "rm", "box:2", "--json").stdout)["in_use"] > 0)
        child.kill()
    until("a killed run holds nothing", lambda: json.loads(desk.carrel("image", "prune", "--json").stdout)["in_use"] == 0)
    check("a killed run holds nothing", True)
    private = os.path.join(desk.state, "private")
    until("its private directory is erased", lambda: not os.path.exists(private) or os.listdir(private) == [])
    check("and leaves no private directory", True)


def main():
    need_programs()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        desk = Desk(top)
        for part in (sees, runs_its_command, writes, owners, installs, refuses, links, claims, pins, holds):
            part(desk)
    return end()


if __name__ == "__main__":
    sys.exit(main())
