#!/usr/bin/env python3
"""Attacks on mounts and on the files behind them: rows of group B of the catalogue in SECURITY.md.
Prints TAP.

    B09 read-only            B10 and everything beneath    B11 links as source and target    B13 `at`, normalised
    B14 what may be mounted  B15, B17 protected names      B18 private places                B21 the system stays unchanged
    B22 attributes and overlay tricks

B01 to B08 and B20 are attacks through reading, writing and listing files from outside; they are
tested with those operations. Each attack is made twice, see attack_rig.py.
"""
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from attack_rig import HOST, manifest, run_rows

WORKSPACE = {"source": "workspace", "at": "/workspace"}


def inline(path, at, mode="read-write"):
    return {"source": {"inline": {"provider": "local-fs", "config": {"path": path}}}, "at": at, "mode": mode}


def host_file(person, **more):
    name = os.path.join(person.home, f"host-{secrets.token_hex(3)}.yaml")
    return person.file(name, json.dumps({**HOST, **more}))


def code_of(result):
    try:
        return json.loads(result.out or b"{}").get("error", {}).get("code")
    except ValueError:
        return None


# -- B09, B10: read-only --------------------------------------------------------------------------------------------

B09 = r'''
import mmap
MODE = lambda: os.open("/data/file", os.O_RDONLY)
os.chdir("/data")
tried("create", lambda: os.open("new", os.O_CREAT | os.O_WRONLY) >= 0)
tried("write", lambda: os.open("file", os.O_WRONLY) >= 0)
tried("append", lambda: os.open("file", os.O_WRONLY | os.O_APPEND) >= 0)
tried("truncate", os.truncate, "file", 0)
tried("open_truncate", lambda: os.open("file", os.O_RDONLY | os.O_TRUNC) >= 0)
tried("chmod", os.chmod, "file", 0o777)
tried("utimes", os.utime, "file", (1, 1))
tried("attribute", os.setxattr, "file", "user.carrel", b"x")
tried("rename", os.rename, "other", "moved")
tried("link", os.link, "file", "linked")
tried("symlink", os.symlink, "file", "symlinked")
tried("mkdir", os.mkdir, "made")
tried("unlink", os.unlink, "gone")
tried("map", lambda: mmap.mmap(os.open("mapped", os.O_RDWR), 1))
def by_descriptor():
    fd = os.open("file", os.O_PATH)
    os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
tried("reopen", by_descriptor)
def remounted():
    if libc.mount(None, b"/data", None, ctypes.c_ulong(32 | 4096), None) != 0:
        raise OSError(ctypes.get_errno(), "remount")
tried("remount", remounted)
'''

B10 = r'''
for name in ("tmpfs", "bound"):
    tell("seen_" + name, not os.path.exists(f"/data/{name}/there"), os.listdir("/data"))
    tried("write_" + name, lambda: os.open(f"/data/{name}/new", os.O_CREAT | os.O_WRONLY) >= 0)
'''


def b09_read_only(rig, person):
    data = person.directory(0o755)
    for name in ("file", "other", "gone", "mapped"):
        person.file(os.path.join(data, name), "as it was", 0o644)
    before = look_at(data)
    host = host_file(person, mountables={"@test/data": {"path": data}})
    setting = manifest([WORKSPACE, {"source": {"ref": "@test/data"}, "at": "/data", "mode": "read-only"}])
    work = rig.payload(person, B09)
    done = rig.run(person, ["python3", "payload.py"], work, text=setting, options=["--host", host])
    rig.tap.ok(done.has_ended and len(done.answers) == 16 and not done.opened, f"B09 a read-only mount is read-only ({person.name})", *done.tell())
    rig.tap.ok(look_at(data) == before, f"B09 nothing of it has changed outside ({person.name})")
    seen = rig.run(person, ["python3", "payload.py"], work, off=["read_only", "overlay", "landlock"], options=["--host", host])
    missing = set(done.answers) - seen.opened - {"remount"}
    rig.tap.ok(not missing, f"B09 without read_only,overlay,landlock all but a remount works ({person.name})", missing, *seen.tell())
    work = rig.payload(person, B09)
    person.file(os.path.join(work, "SANDBOX.md"), setting)
    for off in (["landlock"], ["read_only", "overlay"]):     # each of these two is enough alone
        done = rig.run(person, ["python3", "payload.py"], work, off=off, options=["--host", host])
        still = done.opened - ({"chmod", "utimes", "attribute"} if "read_only" in off else set())   # Landlock does not check these
        rig.tap.ok(done.has_ended and not still, f"B09 without {','.join(off)} the other wall holds ({person.name})", *done.tell())


def look_at(top):
    found = []
    for where, dirs, names in os.walk(top):
        for n in sorted(dirs + names):
            st = os.lstat(os.path.join(where, n))
            found.append((where, n, st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns, st.st_ino))
    return sorted(found)


def b10_beneath(rig, person):
    """The source contains two mounts of the host, created in a mount namespace of this test."""
    name = f"B10 what is mounted beneath a read-only mount is read-only ({person.name})"
    if os.getuid() != 0:
        rig.tap.skip(name, "only root may mount on the host")
        return
    data, other = person.directory(0o755), person.directory(0o777)
    person.file(os.path.join(other, "there"))
    os.chmod(other, 0o777)
    for n in ("tmpfs", "bound"):
        os.mkdir(os.path.join(data, n))
    lay = f"mount -t tmpfs -o mode=777 t {data}/tmpfs && touch {data}/tmpfs/there && mount --bind {other} {data}/bound && exec \"$@\""
    host = host_file(person, mountables={"@test/data": {"path": data}})
    setting = manifest([WORKSPACE, {"source": {"ref": "@test/data"}, "at": "/data", "mode": "read-only"}])
    for propagation in ("private", "shared"):
        # A tmpfs of root cannot be mapped to another id before 6.3; since then, files in it are
        # root's as before.
        outer = ["unshare", "-m", "--propagation", propagation, "sh", "-c", lay, "sh"]
        rig.row(person, f"{name}, {propagation}", B10, ["read_only", "overlay", "landlock"], setting=setting, options=["--host", host],
                outer=outer, needed={"write_tmpfs", "write_bound"})


# -- B11, B13, B14: where a mount comes from and where it goes ------------------------------------------------------

def b11_links(rig, person):
    outside = os.path.dirname(rig.canary)
    for label, mounts in (
            ("a source that leads out", [WORKSPACE, inline("link", "/data")]),
            ("a source with a link on its way", [WORKSPACE, inline("up/outside", "/data")]),
            ("a target behind a link", [WORKSPACE, inline("real", "/workspace/link/x")]),
            ("a target that is a link", [WORKSPACE, inline("real", "/workspace/link")]),
            ("a target behind a link of the system", [WORKSPACE, inline("real", "/bin/x")])):
        work = person.directory()
        os.mkdir(os.path.join(work, "real"))
        os.chown(os.path.join(work, "real"), person.uid, person.gid)
        os.symlink(outside, os.path.join(work, "link"))
        os.symlink(rig.home, os.path.join(work, "up"))
        done = rig.run(person, ["sh", "-c", "cat /data/canary /workspace/link/canary /workspace/link/*; ls /data"], work, text=manifest(mounts))
        rig.tap.ok(b"canary\n" not in done.out and rig.token.encode() not in done.out, f"B11 {label} stays inside ({person.name})", *done.tell())
    work = person.directory()
    os.symlink(outside, os.path.join(work, "link"))
    seen = rig.bwrap(person, ["sh", "-c", "cat link/canary"], work)
    rig.tap.ok(rig.token.encode() in seen.out, f"B11 under bwrap the link leads out ({person.name})", *seen.tell())


AT_BAD = ["", "relative", "./x", "/", "//", "/.", "/./", "/..", "/x/../..", "/a/../b", "/proc", "/proc/", "/proc/self", "//proc//x", "/./proc/x",
          "/dev", "/dev/shm", "/sys", "/sys/kernel", "/a\nb", "/a\x7fb", "/a\u0085b", "/" + "a" * 300, "/" + "/".join(["x" * 200] * 30)]
AT_GOOD = {"/data": "/data", "/data/": "/data", "//data": "/data", "/./data/.": "/data", "/d//e": "/d/e", "/data dir": "/data dir", "/процесс": "/процесс",
           "/tmp/in": "/tmp/in", "/procession": "/procession", "/...": "/...",
           "/.carrel": "/.carrel"}


def b13_target(rig, person):
    wrong = []
    for at in AT_BAD:
        work = person.directory()
        done = rig.run(person, ["echo", "ran"], work, options=["--json"], text=manifest([{"source": "workspace", "at": at}]))
        if done.status not in (125, 126) or not code_of(done) or os.listdir(work) != ["SANDBOX.md"]:
            wrong.append((at[:40], done.status, code_of(done), os.listdir(work)))
    rig.tap.ok(not wrong, f"B13 a target that is no place for a mount is refused ({person.name})", *wrong)
    wrong = []
    for at, real in AT_GOOD.items():
        work = person.directory()
        person.file(os.path.join(work, "here"))
        done = rig.run(person, ["sh", "-c", f"cut -d' ' -f5 /proc/self/mountinfo; ls '{real}'"], work,
                       text=manifest([{"source": "workspace", "at": at}]), options=["--json"])
        text = json.loads(done.out).get("stdout", "") if done.out else ""
        if done.status != 0 or "\nhere\n" not in text or text.split("\n").count(real.replace(" ", "\\040")) != 1:
            wrong.append((at, *done.tell()))
    rig.tap.ok(not wrong, f"B13 every other is normalised, and mounted once ({person.name})", *wrong)
    twice = manifest([WORKSPACE, {"source": "workspace", "at": "/./workspace/"}])
    done = rig.run(person, ["true"], person.directory(), text=twice, options=["--json"])
    rig.tap.ok(done.status in (125, 126), f"B13 the same place twice is refused ({person.name})", *done.tell())


def b14_source(rig, person):
    root = person.directory(0o755)
    person.file(os.path.join(root, "in", "file"))
    os.symlink(os.path.dirname(rig.canary), os.path.join(root, "way"))
    narrow, none = host_file(person, mount_roots=[root]), host_file(person)
    wrong = []
    for path in ("/", "/etc", "/root", "/run", "/run/carrel", "/proc/self/root", rig.home, os.path.dirname(root), root + "/..", root + "/in/../..",
                 root + "-evil", "//", "/." + root, "..", "../..", "a/../..", root + "/way"):
        for options in ([], ["--host", narrow], ["--host", none]):
            for mode in ("read-write", "read-only"):
                work = person.directory()
                done = rig.run(person, ["ls", "/data"], work, text=manifest([WORKSPACE, inline(path, "/data", mode)]), options=["--json", *options])
                if done.status not in (125, 126) or "mount" not in str(code_of(done)).lower():
                    wrong.append((path, options, done.status, code_of(done)))
    rig.tap.ok(not wrong, f"B14 nothing but what the host permits is mounted ({person.name})", *wrong)
    done = rig.run(person, ["ls", "/data"], person.directory(), text=manifest([WORKSPACE, inline(root + "/in", "/data")]), options=["--host", narrow])
    rig.tap.ok(done.out == b"file\n" or b"file" in done.out.split(), f"B14 what it permits is ({person.name})", *done.tell())
    done = rig.run(person, ["true"], person.directory(), text=manifest(carrel={"tools": ["/root"]}), options=["--host", narrow])
    rig.tap.ok(done.status in (125, 126), f"B14 tools come from the host's tool roots alone ({person.name})", *done.tell())


# -- B15, B17: names through which a payload could speak to the host later ------------------------------------------

PROTECTED = [".git/hooks/pre-commit", ".git/config", ".git/config.worktree", ".git/commondir", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".envrc", ".mcp.json", ".claude/settings.json",
             ".codex/config.toml", ".cursor/mcp.json", ".gemini/settings.json", ".vscode/tasks.json", "SANDBOX.md", "WORKSPACE.md", "SECRETS.md"]

# These may contain a comment of the payload's: what runs nothing is kept (rows W04 of
# workspace_test.py).
JUDGED = (".git/config", ".git/config.worktree")

B15 = r'''
import shutil
base = os.environ.get("BASE", "/workspace")
os.chdir(base)
def wrote(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    try:
        os.chmod(path, 0o700)
    except OSError:
        pass
    with open(path, "a") as f:
        f.write("\n# evil\n")
def replaced(path):
    with open("evil", "w") as f:
        f.write("# evil\n")
    os.rename("evil", path)
def swapped(path):
    """Away with the first piece, and one of ours in its place."""
    top = path.split("/")[0]
    os.rename(top, "away-" + top)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("# evil\n")
def exchanged(path):
    open("evil2", "w").write("# evil\n")
    if libc.renameat2(-100, b"evil2", -100, path.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")
def removed(path):
    top = path.split("/")[0]
    if os.path.isdir(top):
        os.rmdir(top) if not os.listdir(top) else shutil.rmtree(top)
    else:
        os.unlink(path)
def linked(path):
    os.link(path, "linked-" + path.replace("/", "_"))
    open("linked-" + path.replace("/", "_"), "a").write("# evil\n")
def other_case():
    pass
for path in sys.argv[1:]:
    for way in (wrote, replaced, exchanged, linked, removed, swapped):
        tried(way.__name__ + ":" + path, way, path)
try:
    open("ordinary", "w").write("x"); os.mkdir("folder"); open("folder/.gitignore", "w").write("x"); os.rename("ordinary", "folder/moved")
    if os.path.isdir(".git") and os.path.exists(".git/HEAD"):
        open(".git/index", "w").write("x")
    tell("rest_is_closed", False)
except OSError as e:
    tell("rest_is_closed", True, e)
'''


def lay_out(person, work, is_repository):
    if not is_repository:
        return
    for path, content in ((".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "[core]\n"), (".git/hooks/sample", "x"), (".bashrc", "# mine\n"),
                          (".vscode/settings.json", "{}"), (".claude/settings.json", "{}")):
        person.file(os.path.join(work, path), content)


def evil_in(work):
    found = []
    for where, _, names in os.walk(work):
        for n in names:
            relative = os.path.relpath(os.path.join(where, n), work)
            if (relative in PROTECTED and relative not in JUDGED) or relative.startswith((".git/hooks", ".vscode", ".claude", ".codex", ".cursor", ".gemini")):
                with open(os.path.join(where, n), errors="replace") as f:
                    if "evil" in f.read():
                        found.append(relative)
    return found


# What lay_out() creates is protected. Other names do not exist: they may be created, and are moved
# away.
HELD = (".git/hooks", ".bashrc:", ".vscode", ".claude", "SANDBOX.md:")


def is_held(word):
    """For `way:path`: a way to change an existing name."""
    path = word.split(":", 1)[1] + ":" if ":" in word else ""
    return any(path.startswith(h) for h in HELD)


def b15_protected(rig, person):
    for is_repository in (True, False):
        label = "in a repository" if is_repository else "where they are missing"
        held = is_held if is_repository else lambda w: w.endswith("SANDBOX.md") and ":" in w and w.split(":")[1] == "SANDBOX.md"
        work = rig.payload(person, B15)
        lay_out(person, work, is_repository)
        person.file(os.path.join(work, "SANDBOX.md"), manifest())
        before = {line[1:4] for line in look_at(work)}
        done = rig.run(person, ["python3", "payload.py", *PROTECTED], work)
        opened = {w for w in done.opened if held(w) or w == "rest_is_closed"}
        rig.tap.ok(done.has_ended and len(done.answers) > 90 and not opened, f"B15 B17 protected names hold {label} ({person.name})",
                   *sorted(opened), *done.tell()[-2:])
        evil = [n for n in evil_in(work) if is_repository or not n.startswith(".git/")]
        rig.tap.ok(not evil, f"B15 B17 nothing of the payload's is in them {label} ({person.name})", *evil)
        more = {line[1:4] for line in look_at(work)} - before
        extra = [m for m in more if m[0].startswith(".") and m[0] != ".gitignore" and m[0] not in JUDGED and not (m[0].split("/")[0] == ".git" and not is_repository)]
        rig.tap.ok(not extra, f"B15 no guarded name stays {label} ({person.name})", *extra)
        work = rig.payload(person, B15)
        lay_out(person, work, is_repository)
        seen = rig.run(person, ["python3", "payload.py", *PROTECTED], work, off=["protect"], text=manifest())
        missing = {way + ":" + p for way in ("wrote", "replaced") for p in PROTECTED} - seen.opened
        rig.tap.ok(not missing, f"B15 B17 without protect they do not {label} ({person.name})", *sorted(missing), *seen.tell()[-2:])


def b15_second_way(rig, person):
    """The same names through a second mount of the same place, and through a mount of a place
    within it.
    """
    for label, mounts, base, names in (
            ("a second mount of the workspace", [WORKSPACE, inline(".", "/again")], "/again", PROTECTED),
            ("a mount of .git", [WORKSPACE, inline(".git", "/within")], "/within", ["hooks/pre-commit", "config"]),
            ("a mount of .git/hooks", [WORKSPACE, inline(".git/hooks", "/within")], "/within", ["pre-commit"]),
            ("a mount of .vscode", [WORKSPACE, inline(".vscode", "/within")], "/within", ["tasks.json"]),
            ("a mount of .bashrc", [WORKSPACE, inline(".bashrc", "/within")], "/", ["within"])):
        for opened in ([], [".git", ".vscode", ".bashrc", ".envrc"]):
            work = rig.payload(person, B15)
            lay_out(person, work, True)
            done = rig.run(person, ["python3", "/workspace/payload.py", *names], work, text=manifest(mounts, {"unprotect": opened} if opened else None),
                           options=["-e", f"BASE={base}"])
            if opened:
                rig.tap.ok(any(w.startswith("wrote:") for w in done.opened), f"B15 {label} does when the manifest opens them ({person.name})", *done.tell()[-2:])
            else:
                rig.tap.ok(not evil_in(work), f"B15 {label} opens no other way to them ({person.name})", *evil_in(work))


B17 = r'''
os.system("cp -r .git other && printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch ran; false\"\n' >other/config")
tried("commondir", lambda: open(".git/commondir", "w").write("../other\n"))
tried("config", lambda: open(".git/config", "a").write("[core]\n\tfsmonitor = \"touch ran; false\"\n"))
'''


def b17_git(rig, person):
    """After the sandbox has ended, the host runs git in the workspace: it must run nothing of the
    payload's.
    """
    if not shutil.which("git"):
        rig.tap.skip(f"B17 git on the host runs nothing of the payload's ({person.name})", "git is not installed here")
        return
    for off in (None, ["protect"]):
        work = rig.payload(person, B17)
        subprocess.run(person.command(["git", "init", "-q", work]), check=True, env={**os.environ, "HOME": person.home})
        done = rig.run(person, ["python3", "payload.py"], work, off=off, text=manifest())
        seen = rig.host(person, ["git", "-c", "safe.directory=*", "status", "--short"], work)
        ran = os.path.exists(os.path.join(work, "ran"))
        if off is None:
            rig.tap.ok(not ran and done.has_ended and not done.opened - {"commondir", "config"} and seen.status == 0, f"B17 git on the host runs nothing of the payload's ({person.name})",
                       *done.tell(), *seen.tell())
        else:
            rig.tap.ok(ran, f"B17 without protect it does ({person.name})", *done.tell(), *seen.tell())


def b15_neighbour(rig, person):
    """While a second sandbox of the same workspace runs, the first ends: the guard of the second
    must stay.
    """
    wait = "echo up; cat >/dev/null; python3 payload.py " + " ".join(PROTECTED)
    work = rig.payload(person, B15)
    person.file(os.path.join(work, "SANDBOX.md"), manifest())

    def start(command):
        p = subprocess.Popen(person.command([rig.shipped, "run", "-w", work, "--", "sh", "-c", command]), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdout.readline()
        return p

    first = start("echo up; cat >/dev/null")
    second = start(wait)
    first.communicate()
    out, _ = second.communicate(timeout=300)
    opened = [line.split()[1] for line in out.decode().splitlines() if line.startswith("OPEN") and line.split()[1].endswith(":SANDBOX.md")]
    evil = [n for n in evil_in(work) if not n.startswith(".git/")]
    rig.tap.ok(b"END" in out and not opened and not evil, f"B15 a neighbour that ends takes no protection along ({person.name})", *opened[:6], *evil)
    left = [n for n in os.listdir(work) if n in {p.split("/")[0] for p in PROTECTED} - {"SANDBOX.md", ".git"}]
    rig.tap.ok(not left, f"B15 and no guarded name stays ({person.name})", *left)


# -- B18, B21, B22 --------------------------------------------------------------------------------------------------

B18 = r'''
for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", os.environ["HOME"]):
    try:
        open(place + "/" + sys.argv[1], "w").write("x")
        tell("cannot_write" + place.replace("/", "_"), False)
    except OSError as e:
        tell("cannot_write" + place.replace("/", "_"), True, e)
'''
B18_LOOK = r'''
for where, _, names in os.walk("/"):
    if not where.startswith(("/proc", "/usr")) and sys.argv[1] in names:
        tell("seen", True, where)
tell("looked", False)
'''

B21 = r'''
for path in ("/usr", "/usr/bin", "/etc/ssl/certs", "/", "/etc", "/dev"):
    tell("flag" + path.replace("/", "_"), not os.statvfs(path).f_flag & os.ST_RDONLY)
for path in ("/new", "/etc/new", "/etc/passwd", "/dev/new", "/usr/new", "/usr/bin/env", "/var/new", "/home/new"):
    tried("write" + path.replace("/", "_"), lambda: os.open(path, os.O_CREAT | os.O_WRONLY) >= 0)
tried("replace", lambda: (os.symlink("/tmp", "/etc/hosts2"), os.rename("/etc/hosts2", "/etc/hosts")))
tried("bin", os.rename, "/bin", "/bin2")
'''

B22 = r'''
where = "t" + os.urandom(4).hex()
os.mkdir(where); os.chdir(where)
open("f", "w").close(); os.mkdir("d")
for name in ("trusted.overlay.opaque", "trusted.overlay.redirect", "trusted.overlay.metacopy", "security.capability", "security.evil"):
    tried(name, os.setxattr, "d" if "opaque" in name else "f", name, struct.pack("<IIIII", 0x02000001, 1, 0, 0, 0) if "capability" in name else b"y")
'''
B22_WHITEOUT = r'''
where = "t" + os.urandom(4).hex()
os.mkdir(where); os.chdir(where)
open("f", "w").close()
def whiteout():
    if libc.renameat2(-100, b"f", -100, b"g", 4) != 0:
        raise OSError(ctypes.get_errno(), "RENAME_WHITEOUT")
tried("rename_whiteout", whiteout)
tried("mknod_whiteout", os.mknod, "w", stat.S_IFCHR | 0o600, 0)
'''


def b18_private(rig, person):
    word = "carrel-b18-" + secrets.token_hex(6)
    hosts = ["/tmp", "/var/tmp", "/dev/shm", "/run"]

    def found():
        return [p for p in (os.path.join(h, word) for h in hosts) if os.path.exists(p)]

    work = rig.payload(person, B18)
    done = rig.run(person, ["python3", "payload.py", word], work, text=manifest())
    rig.tap.ok(done.has_ended and not done.opened and not found(), f"B18 private places are writable, and private ({person.name})", *done.tell(), *found())
    look = rig.payload(person, B18_LOOK)
    seen = rig.run(person, ["python3", "payload.py", word], look, text=manifest())
    rig.tap.ok(seen.has_ended and not seen.opened, f"B18 another sandbox sees nothing of them ({person.name})", *seen.tell())
    rig.run(person, ["python3", "payload.py", word], work, off=["private_tmp", "landlock"])
    rig.tap.ok(found() == ["/tmp/" + word], f"B18 without private_tmp the host sees it ({person.name})", *found())
    for path in found():
        os.unlink(path)


def b21_pristine(rig, person):
    def sums():
        return [hashlib.sha256(open(p, "rb").read()).hexdigest() for p in ("/usr/bin/env", "/etc/passwd", "/etc/hosts")]

    before = sums()
    rig.row(person, "B21 the system's directories stay pristine", B21, ["read_only", "seal", "landlock"],
            needed={"flag_usr", "flag_usr_bin", "flag_", "flag_etc", "write_new", "write_etc_new", "write_dev_new", "write_home_new", "replace", "bin"})
    rig.tap.ok(sums() == before, f"B21 the host's files are as they were ({person.name})")


def b22_attributes(rig, person):
    if person.is_root:
        rig.row(person, "B22 no attribute that an overlay or exec of the host obeys", B22, "host", needed={"trusted.overlay.opaque", "security.capability"})
    else:
        work = rig.payload(person, B22)
        done = rig.run(person, ["python3", "payload.py"], work, text=manifest())
        rig.tap.ok(done.has_ended and not done.opened, f"B22 no attribute that an overlay or exec of the host obeys ({person.name})", *done.tell())
    rig.row(person, "B22 no whiteout is made", B22_WHITEOUT, ["landlock", "filter"])


ROWS = [b09_read_only, b10_beneath, b11_links, b13_target, b14_source, b15_protected, b15_second_way, b15_neighbour, b17_git, b18_private, b21_pristine,
        b22_attributes]


if __name__ == "__main__":
    sys.exit(run_rows(ROWS))
