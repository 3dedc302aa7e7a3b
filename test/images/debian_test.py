#!/usr/bin/env python3
"""A Debian image of mmdebstrap, used as people use one: `apt-get install` of packages with set-id files, users and groups of their own
and scripts, a virtual environment and pip, npm, git, a compiler. As root with a range of ids, as an ordinary user with one. Prints TAP.
"""
# slow: 40 s: a package manager unpacks and configures 60 packages
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, TREE, check, end, need_programs, report
from image_rig import Entry, image_import, tar

MADE = os.path.join(TREE, "build-images")
PACKAGES = "sudo cron openssh-client at dbus git tcc libc6-dev"


class Desk:
    def __init__(self, top):
        self.top, self.state, self.work = top, os.path.join(top, "state"), os.path.join(top, "work")
        os.makedirs(self.work)
        image_import(CARREL, self.state, os.path.join(MADE, "debian.tar"), "debian:1")

    def __call__(self, script, user="root"):
        block = {"provider": "container", "config": {"image": "debian:1", "user": user}, "mounts": [{"source": "workspace", "at": "/workspace"}],
                 "limits": {"timeout_ms": ALWAYS * 1000}}
        with open(os.path.join(self.top, "SANDBOX.json"), "w", encoding="utf-8") as f:
            json.dump(block, f)
        return subprocess.run([CARREL, "run", "-f", os.path.join(self.top, "SANDBOX.json"), "-w", self.work, "--", "bash", "-c", script],
                              env={**os.environ, "CARREL_STATE": self.state}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * ALWAYS, check=False)


# -- what is installed: each part puts its files into the workspace, and gives commands ---------------

def mirror(desk):
    """A repository of the packages, as a directory that apt reads."""
    place = os.path.join(desk.work, "mirror")
    os.mkdir(place)
    with open(os.path.join(place, "Packages"), "w", encoding="utf-8") as index:
        for name in sorted(os.listdir(os.path.join(MADE, "debs"))):
            path = shutil.copy(os.path.join(MADE, "debs", name), place)
            with open(path, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            fields = subprocess.run(["dpkg-deb", "-f", path], stdout=subprocess.PIPE, text=True, check=True).stdout
            index.write(f"{fields.rstrip()}\nFilename: mirror/{name}\nSize: {os.path.getsize(path)}\nSHA256: {digest}\n\n")
    return ("echo 'deb [trusted=yes] file:/workspace mirror/' > /etc/apt/sources.list; rm -rf /etc/apt/sources.list.d; export DEBIAN_FRONTEND=noninteractive; "
            f"apt-get update > /tmp/log 2>&1 && apt-get install -y --no-install-recommends {PACKAGES} >> /tmp/log 2>&1; echo apt $?; grep -e ^E: -e 'error processing' /tmp/log")


def wheel(desk):
    info = "probe-1.dist-info/"
    files = {"probe.py": "def main():\n    print('of a wheel')\n", info + "METADATA": "Metadata-Version: 2.1\nName: probe\nVersion: 1\n",
             info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "entry_points.txt": "[console_scripts]\nprobe = probe:main\n"}
    with zipfile.ZipFile(os.path.join(desk.work, "probe-1-py3-none-any.whl"), "w") as archive:
        for name, text in {**files, info + "RECORD": "".join(f"{name},,\n" for name in [*files, info + "RECORD"])}.items():
            archive.writestr(name, text)
    return "python3 -m venv {0}/v && {0}/v/bin/pip -q --disable-pip-version-check install --no-index /workspace/probe-1-py3-none-any.whl && {0}/v/bin/probe"


def repository(desk):
    place = os.path.join(desk.work, "repository")
    git = ["git", "-C", place, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", place], check=True)
    with open(os.path.join(place, "main.c"), "w", encoding="utf-8") as f:
        f.write('#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n')
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    return "git clone -q /workspace/repository /opt/clone && cd /opt/clone && tcc -o main main.c && ./main && git log --format=%s"


def node(desk):
    """The machine's own node and npm, and a package for `npm i -g`."""
    place, npm = os.path.join(desk.work, "node"), os.path.realpath(shutil.which("npm"))
    modules = "/usr/share/nodejs" if npm.startswith("/usr/share/nodejs/") else os.path.dirname(os.path.dirname(npm))
    os.mkdir(place)
    shutil.copy(os.path.realpath(shutil.which("node")), os.path.join(place, "node"))
    shutil.copytree(modules, os.path.join(place, "modules"), symlinks=True)
    for word in subprocess.run(["ldd", os.path.join(place, "node")], stdout=subprocess.PIPE, text=True, check=True).stdout.split():
        if word.startswith("/") and not os.path.basename(word).startswith(("ld-", "libc.", "libm.", "libdl.", "libpthread.", "librt.")):
            shutil.copy(word, place)
    told = json.dumps({"name": "tool", "version": "1.0.0", "bin": {"tool": "tool.js"}}).encode()
    with open(os.path.join(desk.work, "tool-1.0.0.tgz"), "wb") as f:
        f.write(tar(Entry("package/package.json", told), Entry("package/tool.js", b"#!/usr/bin/env node\nconsole.log('of npm')\n", mode=0o755)))
    return ("mkdir -p /usr/local/bin; printf '#!/bin/sh\\nexec env LD_LIBRARY_PATH=/workspace/node NODE_PATH=/workspace/node/modules /workspace/node/node \"$@\"\\n' > /usr/local/bin/node; "
            f"chmod 755 /usr/local/bin/node; node /workspace/node/modules/{os.path.relpath(npm, modules)} --offline --no-audit --no-fund --silent --prefix /usr/local i -g /workspace/tool-1.0.0.tgz; tool")


def part(desk, name, text):
    return f"\necho '== {name}'; ( {text} ) 2>&1\n"


def sections(text):
    return {name: body for name, _, body in (piece.partition("\n") for piece in text.split("== ")[1:])}


def root_installs(desk):
    bits = "find / -xdev \\( -perm -4000 -o -perm -2000 \\); dpkg --audit; dpkg-query -W -f '${Status}\\n' " + PACKAGES + " | sort -u; stat -c %a /usr/bin/sudo /usr/lib/openssh/ssh-keysign"
    other = "su -s /bin/sh -c 'id -u' daemon; sudo -u daemon id -un; stat -c %G /var/spool/cron/crontabs; stat -c %u:%g /var/spool/cron/atjobs"
    script = "".join(part(desk, name, text) for name, text in (("apt", mirror(desk)), ("bits", bits), ("users", other), ("wheel", wheel(desk).format("/opt")), ("git", repository(desk)), ("npm", node(desk))))
    got = desk(script)
    said = sections(got.stdout)
    check("apt-get installs packages with set-id files, users of their own and scripts", said.get("apt") == "apt 0\n", said.get("apt"), got.stderr[-2000:])
    check("all are configured, and no file has a set-id bit", said.get("bits") == "install ok installed\n755\n755\n", said.get("bits"))
    if ROOT:
        check("with a range of ids programs become other users, and files have their owners", said.get("users") == "1\ndaemon\ncrontab\n1:1\n", said.get("users"))
    else:
        check("with one id files keep their owner", said.get("users", "").endswith("root\n0:0\n"), said.get("users"))
    check("pip installs a wheel into a virtual environment", said.get("wheel") == "of a wheel\n", said.get("wheel"))
    check("git clones a repository of the workspace, and what is compiled runs", said.get("git") == "compiled\none\n", said.get("git"))
    check("npm i -g installs a package", said.get("npm", "").endswith("of npm\n"), said.get("npm"))


def agent_works(desk):
    got = desk(wheel(desk).format("$HOME"), user="agent")
    check("an agent has a virtual environment in its home", got.stdout == "of a wheel\n", got.stdout, got.stderr)
    got = desk("apt-get install -y sudo; dpkg -i /workspace/mirror/sudo_*.deb", user="agent")
    check("and installs nothing in the system", got.returncode != 0, got.stdout, got.stderr)


def main():
    need_programs()
    if not os.path.exists(os.path.join(MADE, "debian.tar")):
        with open(os.path.join(MADE, "reason"), encoding="utf-8") as f:
            report("a Debian image", skip=f.read().strip())
        return end()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        desk = Desk(top)
        root_installs(desk)
        agent_works(desk)
    return end()


if __name__ == "__main__":
    sys.exit(main())
