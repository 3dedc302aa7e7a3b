#!/usr/bin/env python3
"""`carrel image`: what is imported, what is refused and named, what a killed or second import leaves.
The images are made here, byte by byte: no network, no other program. Prints TAP.
"""
import fcntl
import gzip
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from image_rig import LAYER, Entry, Image, digest, folder, hardlink, symlink, tar, zstd

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


BASE = tar(folder("bin"), Entry("bin/tool", b"#!/bin/sh\n", mode=0o755), folder("etc"), Entry("etc/motd", b"base\n"),
           folder("etc/conf.d"), Entry("etc/conf.d/a", b"a"), symlink("lib", "usr/lib"), folder("usr"), folder("usr/lib"))
ABOVE = tar(folder("etc"), Entry("etc/.wh.motd"), folder("etc/conf.d"), Entry("etc/conf.d/.wh..wh..opq"), Entry("etc/conf.d/b", b"b"))


class Bench:
    def __init__(self, top, name):
        self.top = os.path.join(top, name)
        self.state = os.path.join(self.top, "state")
        os.makedirs(self.top)
        self.env = {**os.environ, "CARREL_STATE": self.state, "HOME": self.top}
        self.store = os.path.join(self.state, "images")

    def carrel(self, *words, **more):
        return subprocess.run([CARREL, "image", *words], env=self.env, cwd=self.top, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, **more)

    def file(self, name, data):
        path = os.path.join(self.top, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def json(self, *words):
        got = self.carrel(*words, "--json")
        try:
            return json.loads(got.stdout)
        except ValueError:
            return {"error": {"code": "no JSON", "message": got.stdout + got.stderr}}

    def layer(self, data):
        return os.path.join(self.store, "layers", digest(data)[7:], "root")

    def left(self):
        """Everything in the store but its own directories and lock."""
        found = []
        for here, folders, files in os.walk(self.store):
            found += [os.path.relpath(os.path.join(here, name), self.store) for name in folders + files]
        return sorted(set(found) - {"lock", "names", "records", "layers", "making"})


# -- what is imported -------------------------------------------------------------------------------

def imports(top):
    bench = Bench(top, "imports")
    image = Image(BASE, ABOVE, forms=["+gzip", "+zstd"])
    got = bench.json("import", image.layout(os.path.join(bench.top, "layout")), "mine:1")
    tell("an OCI layout is imported", got.get("layers") == 2 and got.get("new_layers") == 2, got)
    shown = bench.json("show", "mine:1")
    tell("what the image sets is kept", (shown.get("environment"), shown.get("cwd"), shown.get("user"), shown.get("entrypoint"), shown.get("command")) ==
         (["PATH=/bin:/usr/bin", "X=1"], "/srv", "1000", ["/bin/tool"], ["-v"]), shown)
    tell("it is found by the digits of its id", bench.json("show", shown.get("id", "")[7:19]).get("id") == shown.get("id"))
    base, above = bench.layer(BASE), bench.layer(ABOVE)
    tell("a file has its content, mode and time", open(base + "/etc/motd", encoding="utf-8").read() == "base\n" and
         stat.S_IMODE(os.stat(base + "/bin/tool").st_mode) == 0o755 and os.stat(base + "/bin/tool").st_mtime == 1700000000)
    tell("so has a directory", os.stat(base + "/etc").st_mtime == 1700000000, os.stat(base + "/etc"))
    tell("a symbolic link is one", os.readlink(base + "/lib") == "usr/lib")
    hidden = os.lstat(above + "/etc/motd")
    tell("a whiteout is the device that overlayfs knows", stat.S_ISCHR(hidden.st_mode) and hidden.st_rdev == 0, hidden)
    tell("an opaque directory has its mark", os.getxattr(above + "/etc/conf.d", "user.overlay.opaque") == b"y")
    again = bench.json("import", os.path.join(bench.top, "layout"), "mine:2")
    tell("a layer is stored once", again.get("new_layers") == 0, again)
    tell("without a name it is called as it calls itself", bench.json("import", os.path.join(bench.top, "layout")).get("name") == "tagged:1")
    names = [row["name"] for row in bench.json("ls")["items"]]
    tell("ls prints all names in order", names == ["mine:1", "mine:2", "tagged:1"], names)
    modes = {oct(stat.S_IMODE(os.stat(os.path.join(bench.store, d)).st_mode)) for d in ("", "names", "records", "layers", "making")}
    tell("the store is closed to others", modes == {"0o700"}, modes)


def imports_archives(top):
    bench = Bench(top, "archives")
    image = Image(BASE, ABOVE, BASE)
    for name, data, want in (("saved.tar", image.saved(), "saved:2"), ("links.tar", image.saved(links=True), "saved:2"), ("saved.tar.gz", gzip.compress(image.saved()), "saved:2"),
                             ("oci.tar", tar(*[Entry(n, d) for n, d in image.documents().items()]), "tagged:1"), ("root.tar.zst", zstd(BASE), "root")):
        got = bench.json("import", bench.file(name, data))
        tell(f"{name} is imported, and named", got.get("name") == want, got)
    tell("three spellings of one layer are one directory", len(os.listdir(os.path.join(bench.store, "layers"))) == 2, os.listdir(os.path.join(bench.store, "layers")))
    got = bench.json("import", bench.file("root2.tar", BASE), "other")
    tell("the same root has the same id", got.get("id") == bench.json("show", "root").get("id"), got)
    tell("nothing is left of the archives", os.listdir(os.path.join(bench.store, "making")) == [], os.listdir(os.path.join(bench.store, "making")))


def drops(top):
    bench = Bench(top, "drops")
    data = tar(folder("etc", 0o555), Entry("etc/set", b"x", mode=0o6755), Entry("etc/null", kind=tarfile.CHRTYPE, device=(1, 3)), Entry("etc/disk", kind=tarfile.BLKTYPE, device=(8, 0)),
               Entry("etc/pipe", kind=tarfile.FIFOTYPE), Entry("etc/same", b"first"), Entry("etc/same", b"second"), hardlink("etc/again", "etc/same"), Entry("etc/whole", b"", mode=0o000),
               pax={"SCHILY.xattr.user.overlay.opaque": "y", "SCHILY.xattr.security.capability": "x"})
    got = bench.json("import", bench.file("d.tar", data), "d")
    root = bench.layer(data)
    tell("devices are left out, and counted", got.get("left_out") == 2 and not os.path.lexists(root + "/etc/null"), got)
    tell("set-id bits are dropped", stat.S_IMODE(os.stat(root + "/etc/set").st_mode) == 0o755)
    tell("extended attributes are dropped", os.listxattr(root + "/etc") == [] and os.listxattr(root + "/etc/set") == [])
    tell("the last of two entries counts", open(root + "/etc/same", encoding="utf-8").read() == "second")
    tell("a hard link is one", os.stat(root + "/etc/again").st_ino == os.stat(root + "/etc/same").st_ino)
    tell("a directory is open to its owner", stat.S_IMODE(os.stat(root + "/etc").st_mode) == 0o755)
    tell("a pipe is one", stat.S_ISFIFO(os.lstat(root + "/etc/pipe").st_mode))


def rarities(top):
    """What builders write seldom, and what it means."""
    bench = Bench(top, "rarities")
    rows = (
        ("a directory after its whiteout hides what is below", (Entry(".wh.d"), folder("d"), Entry("d/x", b"1")), {"d": "opaque", "d/x": "file"}),
        ("a whiteout after the directory", (folder("d"), Entry("d/x", b"1"), Entry(".wh.d")), {"d": "opaque", "d/x": "file"}),
        ("a whiteout, then a file below its name", (Entry(".wh.d"), Entry("d/e/x", b"1")), {"d": "opaque", "d/e": "folder", "d/e/x": "file"}),
        ("a whiteout after a link to a directory, which a directory replaces", (symlink("d", "e"), Entry(".wh.d"), folder("d")), {"d": "folder"}),
        ("a whiteout of a file that the layer has", (Entry("d", b"1"), Entry(".wh.d")), {"d": "file"}),
        ("an opaque directory twice, and after its files", (Entry("d/x", b"1"), Entry("d/.wh..wh..opq"), Entry("d/.wh..wh..opq")), {"d": "opaque", "d/x": "file"}),
        ("a hard link that names a path of the root", (folder("d"), Entry("d/x", b"1"), hardlink("y", "/d/x")), {"y": "file"}),
        ("a hard link to a symbolic link", (symlink("s", "/etc/passwd"), hardlink("y", "s")), {"y": "link"}),
        ("links of a merged /usr", (symlink("lib", "usr/lib"), symlink("bin", "usr/bin"), folder("usr/lib"), Entry("usr/lib/x", b"1")), {"lib": "link", "usr/lib/x": "file"}),
        ("names that are not ASCII", (Entry("\u00fc", b"1"), symlink("s", "\u00fcnd"), hardlink("y", "\u00fc")), {"\u00fc": "file", "s": "link", "y": "file"}),
        ("names longer than a header", (Entry("n" * 200 + "/" + "m" * 200, b"1"), hardlink("y", "n" * 200 + "/" + "m" * 200)), {"y": "file"}),
        ("names with dots and double slashes", (folder("./"), folder("./d//"), Entry(".//d/./x", b"1")), {"d/x": "file"}),
        ("names that differ in case", (Entry("A", b"1"), Entry("a", b"2")), {"A": "file", "a": "file"}))
    entries = [folder(".wh..wh.plnk"), Entry(".wh..wh.plnk/1.2", b"1"), Entry(".wh..wh.aufs"), folder("etc")]
    for at, (_, some, _) in enumerate(rows):
        for entry in some:                             # each case in a directory of its own
            is_of_root = entry.info.linkname.startswith("/")
            if entry.info.type == tarfile.LNKTYPE:
                entry.info.linkname = ("/" if is_of_root else "") + f"case{at}/" + entry.info.linkname.lstrip("/")
            entry.info.name = f"case{at}/" + entry.info.name
        entries += some
    data = tar(*entries)[:-512]                        # without its last block
    got = bench.json("import", Image(data, b"\0" * 1024, tar(Entry("a", b"1"), pax={"mtime": str(1 << 62)})).layout(os.path.join(bench.top, "l")), "x")
    tell("a layer without its last block, one without entries, and a time far away", got.get("layers") == 3, got)
    for at, (what, _, seen) in enumerate(rows):
        found = {name: kind_of(os.path.join(bench.layer(data), f"case{at}", name)) for name in seen}
        tell(what, found == seen, found)
    tell("notes of a storage driver are left out", not [n for n in os.listdir(bench.layer(data)) if n.startswith(".wh.")], os.listdir(bench.layer(data)))
    bench.json("rm", "x")
    skipped = b"\x50\x2a\x4d\x18" + (9).to_bytes(4, "little") + b"skipped.."
    for what, form, blob in (("gzip in two members", "+gzip", gzip.compress(BASE[:1000]) + gzip.compress(BASE[1000:])), ("zstd in two frames, with frames to skip", "+zstd", zstd(BASE[:1000]) + skipped + zstd(BASE[1000:]) + skipped)):
        image = Image(BASE, forms=[form])
        image.blobs = [blob]
        got = bench.json("import", image.layout(os.path.join(bench.top, form)), "x")
        tell(what, got.get("layers") == 1 and os.path.exists(bench.layer(BASE) + "/usr/lib"), got)
        bench.json("rm", "x")
    top_opaque = tar(Entry(".wh..wh..opq"), folder("usr"))
    tell("the lowest layer may hide what is below it", bench.json("import", Image(top_opaque, BASE).layout(os.path.join(bench.top, "k")), "x").get("layers") == 2)
    bench.json("rm", "x")
    error = bench.json("import", Image(BASE, top_opaque).layout(os.path.join(bench.top, "m")), "x").get("error", {})
    tell("a layer that hides the whole root is refused, and named", error.get("reason") == "unsupported" and ".wh..wh..opq" in error.get("message", ""), error)
    error = bench.json("import", Image(BASE, ABOVE, tar(Entry("../x"))).layout(os.path.join(bench.top, "n")), "x").get("error", {})
    tell("the layers below one that is refused are not left", error.get("code") == "image_invalid" and bench.left() == [], error, bench.left())


def kind_of(path):
    if not os.path.lexists(path):
        return None
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        return "opaque" if "user.overlay.opaque" in os.listxattr(path) else "folder"
    return "file" if stat.S_ISREG(mode) else "link" if stat.S_ISLNK(mode) else "other"


# -- what is refused --------------------------------------------------------------------------------

CANARY = "canary"


def hostile_rows(outside):
    deep = "/".join(["d"] * 200)
    return (
        ("an absolute name", "absolute", "/etc/x", tar(Entry("/etc/x", b"x"))),
        ("a name that climbs", "dot_dot", "../x", tar(Entry("../x", b"x"))),
        ("a name that climbs later", "dot_dot", "a/../../x", tar(folder("a"), Entry("a/../../x", b"x"))),
        ("a directory that climbs", "dot_dot", "a/..", tar(folder("a/.."))),
        ("a file beneath a symbolic link out", "beneath_link", "etc/x", tar(symlink("etc", outside), Entry("etc/x", b"x"))),
        ("a file beneath a link to a link", "beneath_link", "b/x", tar(symlink("a", outside), symlink("b", "a"), Entry("b/x", b"x"))),
        ("a file beneath a link inside", "beneath_link", "b/x", tar(folder("a"), symlink("b", "a"), Entry("b/x", b"x"))),
        ("a directory beneath a link", "beneath_link", "a/b/c", tar(symlink("a", "/tmp"), folder("a/b/c"))),
        ("a file beneath a file", "beneath_link", "a/b", tar(Entry("a", b"x"), Entry("a/b", b"x"))),
        ("a whiteout beneath a link", "beneath_link", "a/.wh.x", tar(symlink("a", outside), Entry("a/.wh.x"))),
        ("a hard link out", "link_out", "x", tar(hardlink("x", "../../" + CANARY))),
        ("a hard link to an absolute name", "link_out", "x", tar(hardlink("x", outside + "/" + CANARY))),
        ("a hard link through a symbolic link", "link_out", "x", tar(symlink("a", outside), hardlink("x", "a/" + CANARY))),
        ("a hard link to a whiteout", "link_out", "x", tar(Entry(".wh.a"), hardlink("x", "a"))),
        ("a hard link to a device that is left out", "link_out", "x", tar(Entry("a", kind=tarfile.CHRTYPE, device=(1, 3)), hardlink("x", "a"))),
        ("a hard link before its file", "link_out", "x", tar(hardlink("x", "a"), Entry("a", b"x"))),
        ("a hard link to a storage driver's own file", "link_out", "x", tar(Entry(".wh..wh.plnk/1.2", b"x"), hardlink("x", ".wh..wh.plnk/1.2"))),
        ("a whiteout of a dot", "dot_dot", ".wh..", tar(Entry(".wh.."))),
        ("a name of pax that climbs", "dot_dot", "b/../../x", tar(Entry("a", b"x"), pax={"path": "b/../../x"})),
        ("a name of pax that is absolute", "absolute", "/etc/x", tar(Entry("a", b"x"), pax={"path": "/etc/x"})),
        ("a hard link of pax out", "link_out", "x", tar(hardlink("x", "b"), pax={"linkpath": "../../" + CANARY})),
        ("a size of pax that is not there", "size", "etc/a", tar(Entry("etc/a", b"x"), pax={"size": str(1 << 45)})),
        ("a negative size", "archive", "", tar(Entry("a", b"x"), pax={"size": "-5"})),
        ("a hard link to another layer", "link_out", "x", tar(hardlink("x", "etc/motd"))),
        ("a hard link to a directory", "link_out", "x", tar(folder("a"), hardlink("x", "a"))),
        ("a hard link to nothing", "unsupported", "x", tar(hardlink("x", ""))),
        ("a whiteout of dot dot", "dot_dot", ".wh...", tar(Entry(".wh..."))),
        ("a whiteout of nothing", "dot_dot", ".wh.", tar(Entry(".wh."))),
        ("a file in place of a directory", "directory", "a", tar(folder("a"), Entry("a/b"), Entry("a", b"x"))),
        ("a component of 256 bytes", "name_long", "n" * 100, tar(Entry("n" * 256, b"x"))),
        ("200 components", "name_long", "d/d/d", tar(Entry(deep, b"x"))),
        ("a tar file that is cut", "archive", "", tar(Entry("a", b"x" * 5000))[:2000]),
        ("no tar file", "archive", "", b"this is no archive at all\n" * 100),
        ("an empty file", "archive", "", b""),
        ("a damaged gzip", "archive", "", gzip.compress(tar(Entry("etc/a", os.urandom(90000))))[:40000]),
    )


def refuses(top):
    bench = Bench(top, "refuses")
    outside = os.path.join(bench.top, "outside")
    os.makedirs(outside)
    bench.file("outside/" + CANARY, b"alive")
    for what, reason, entry, data in hostile_rows(outside):
        image = Image(data).layout(os.path.join(bench.top, "l"))
        for form, source in (("layer", image), ("root", bench.file("r.tar", data))):
            if form == "root" and reason == "archive" and not data:
                continue
            error = bench.json("import", source, "x").get("error", {})
            is_named = error.get("code") == "image_invalid" and error.get("reason") == reason and entry in error.get("message", "")
            tell(f"{form}: {what} is refused, and named", is_named, error)
        tell(f"{what}: nothing is outside, nothing is left", sorted(os.listdir(outside)) == [CANARY] and bench.left() == [], os.listdir(outside), bench.left())
        shutil.rmtree(os.path.join(bench.top, "l"))


def bombs(top):
    bench = Bench(top, "bombs")
    big = tar(Entry("etc/zeros", b"\0" * (8 << 20)))
    error = bench.json("import", bench.file("b.tar.gz", gzip.compress(big)), "x", "--limit", "4m").get("error", {})
    tell("files larger than the limit are refused", (error.get("code"), error.get("reason")) == ("image_invalid", "size"), error)
    sparse = tarfile.TarInfo("etc/sparse")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "etc/sparse", "GNU.sparse.realsize": str(1 << 45)}
    sparse.size = 512
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(sparse, io.BytesIO(b"0\n".ljust(512, b"\0")))
    error = bench.json("import", bench.file("s.tar", out.getvalue()), "x").get("error", {})
    tell("a file that says it has 32 TiB is refused", (error.get("code"), error.get("reason")) == ("image_invalid", "size"), error)
    # 67 MiB of zeros after the last entry: more than an archive with files of 1 MiB can need
    filled = gzip.compress(tar(folder("etc")) + b"\0" * (67 << 20), 1)
    for form, source in (("layer", Image(b"", config={"rootfs": {"type": "layers", "diff_ids": [digest(b"")]}})), ("root", None)):
        if source:
            source.forms, source.blobs = ["+gzip"], [filled]
        error = bench.json("import", source.layout(os.path.join(bench.top, "filled")) if source else bench.file("f.tar.gz", filled), "x", "--limit", "1m").get("error", {})
        tell(f"{form}: zeros that belong to no file are refused", (error.get("code"), error.get("reason")) == ("image_invalid", "size"), error)
    many = tar(*[Entry(f"etc/{i}") for i in range(2000)])
    got = bench.json("import", bench.file("m.tar", many), "many")
    tell("2,000 entries are none too many", got.get("layers") == 1, got)


def lies(top):
    bench = Bench(top, "lies")
    image = Image(BASE, ABOVE)
    files = image.documents()
    for name in files:
        where = image.layout(os.path.join(bench.top, "l"), lambda n, d, name=name: d[:-1] + bytes([d[-1] ^ 1]) if n == name and n != "oci-layout" else d)
        if name == "oci-layout":
            continue
        error = bench.json("import", where, "x").get("error", {})
        tell(f"one bit of {name[:24]} is changed: refused", error.get("code") == "image_invalid", error)
        where = image.layout(os.path.join(bench.top, "m"))
        os.unlink(os.path.join(where, name))
        error = bench.json("import", where, "x").get("error", {})
        tell(f"{name[:24]} is missing: refused", error.get("code") == "image_invalid" and error.get("reason") == "missing", error)
        shutil.rmtree(os.path.join(bench.top, "l"))
        shutil.rmtree(os.path.join(bench.top, "m"))
    swapped = Image(BASE, ABOVE)
    swapped.config["rootfs"]["diff_ids"].reverse()
    error = bench.json("import", swapped.layout(os.path.join(bench.top, "s")), "x").get("error", {})
    tell("a layer that is not the one its configuration names is refused", error.get("reason") == "digest", error)
    for what, reason, change in (("a layer of an unknown form", "media_type", {"mediaType": "application/x-lzma"}), ("SHA-512", "digest", {"digest": "sha512:" + "0" * 128}),
                                 ("a digest that is a path", "digest", {"digest": "sha256:../../../../etc/passwd"}), ("a negative size", "syntax", {"size": -1})):
        odd = Image(BASE)
        odd.rows = [{"mediaType": LAYER, "digest": digest(BASE), "size": len(BASE), **change}]
        error = bench.json("import", odd.layout(os.path.join(bench.top, "o")), "x").get("error", {})
        tell(f"{what} is refused", error.get("reason") == reason, error)
        shutil.rmtree(os.path.join(bench.top, "o"))
    for what, reason, config in (("for another system", "platform", {"os": "windows"}), ("without layers", "layers", {"rootfs": {"type": "layers", "diff_ids": []}}),
                                 ("with fewer layers", "layers", {"rootfs": {"type": "layers", "diff_ids": [digest(BASE)]}})):
        error = bench.json("import", Image(BASE, ABOVE, config=config).layout(os.path.join(bench.top, "o")), "x").get("error", {})
        tell(f"an image {what} is refused", error.get("reason") == reason, error)
        shutil.rmtree(os.path.join(bench.top, "o"))
    bench = Bench(top, "lies that lead out")
    where = image.layout(os.path.join(bench.top, "link"))
    blob = os.path.join(where, "blobs/sha256", digest(BASE)[7:])
    shutil.move(blob, os.path.join(bench.top, "elsewhere"))
    os.symlink(os.path.join(bench.top, "elsewhere"), blob)
    error = bench.json("import", where, "x").get("error", {})
    tell("a layer that is a link out of the layout is refused", error.get("reason") == "missing", error)
    tell("no lie has left an image", bench.json("ls").get("items") == [])


# -- what is asked wrongly --------------------------------------------------------------------------

def mistakes(top):
    bench = Bench(top, "mistakes")
    empty = os.path.join(bench.top, "empty")
    os.makedirs(empty)
    for words, code, part in ((["import"], "invalid_argument", "carrel image import"), (["import", "/no/such", "x"], "file_unreadable", "/no/such"), (["import", empty, "x"], "image_invalid", "oci-layout"),
                              (["import", bench.file("a.tar", BASE), "../x"], "invalid_argument", "python:3.12"), (["show", "nothing"], "image_not_found", "carrel image ls"),
                              (["rm", "nothing"], "image_not_found", "carrel image ls"), (["imprt"], "invalid_argument", "import"), (["prune", "x"], "invalid_argument", "carrel image prune"), ([], "invalid_argument", "carrel image ls")):
        got = bench.carrel(*words)
        tell(f"image {' '.join(words)[:40]}: {code}, with a next step", code in got.stderr and part in got.stderr and got.returncode in (125, 126), got.stderr)


    bench.json("import", bench.file("root.tar", BASE), "x")
    got = bench.carrel("machine", "x", "--host", bench.file("host.yaml", b"providers: {local: {isolated: true}}\n"))
    tell("image machine names its own manifest", got.returncode == 125 and "the sandbox of the machine:" in got.stderr and "/proc/" not in got.stderr, got)


def full(top):
    """No space left where the images are: the message names the disk, and not the source."""
    bench = Bench(top, "full")
    archive = bench.file("root.tar", tar(folder("etc"), Entry("etc/large", bytes(200_000))))
    for size, part in (("64k", f"too little room for a copy of {archive}"), ("1m", "too little room for the root")):
        script = 'mkdir -p "$1" && mount -t tmpfs -o size=$2 none "$1" && chmod 700 "$1" && exec "$3" image import "$4" x'
        got = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", bench.state, size, CARREL, archive],
                             env=bench.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        tell(f"on a disk of {size}: the message names the disk, and what to do", got.returncode == 125 and part in got.stderr and "storage_full" in got.stderr
             and f"The images are in {bench.state}/images" in got.stderr and "--state DIR" in got.stderr, got)


def digests(top):
    """A name that reads as a digest would stand for an image that has another one."""
    bench = Bench(top, "digests")
    source, zeros = bench.file("a.tar", BASE), "0" * 64
    for name in ("a@sha256:" + zeros, "sha256:" + zeros, "a@b", "deadbeef", zeros):
        got = bench.json("import", source, name)
        tell(f"{name[:12]} is no name for an image", got.get("error", {}).get("code") == "invalid_argument" and "the digest" in got["error"]["hint"], got)
    got = bench.carrel("pull", "none.invalid/a@sha256:" + zeros)
    tell("image pull of a digest asks what to call it, before it downloads", got.returncode == 125 and f"carrel image pull none.invalid/a@sha256:{zeros} none.invalid/a:pinned" in got.stderr, got.stderr)
    made = bench.json("import", source, "team/app:1")
    tell("the digest itself finds it", bench.json("show", "other@" + made["id"])["id"] == made["id"] and bench.json("show", made["id"][7:19])["id"] == made["id"], made)
    for wrong in ("team/app:2", "app", "docker.io/team/app:latest", "team/ap:1"):
        got = [bench.carrel(verb, wrong) for verb in ("show", "rm")]
        tell(f"image show and rm {wrong}: the name that was probably meant", all("Did you mean team/app:1?" in g.stderr and "image_not_found" in g.stderr for g in got), *[g.stderr for g in got])
    got = bench.carrel("show", "nothing")
    tell("no name is guessed where none is near", "Did you mean" not in got.stderr, got.stderr)


def groups(top):
    """Below a directory that hands on its group: files of an image still have one owner."""
    bench = Bench(top, "groups")
    if os.geteuid() == 0:
        os.chown(bench.top, -1, 4242)
    os.chmod(bench.top, 0o2755)
    bench.json("import", bench.file("a.tar", BASE), "a:1")
    owners = {(st.st_uid, st.st_gid) for layer in os.listdir(os.path.join(bench.store, "layers"))
              for st in (os.lstat(os.path.join(bench.store, "layers", layer, "root", name)) for name in (".", "bin", "bin/tool"))}
    tell("files of an image and their root have one owner", owners == {(os.geteuid(), os.getegid())}, owners)


# -- removing, and being killed ---------------------------------------------------------------------

def removes(top):
    bench = Bench(top, "removes")
    bench.json("import", Image(BASE, ABOVE).layout(os.path.join(bench.top, "two")), "two")
    bench.json("import", Image(BASE).layout(os.path.join(bench.top, "one")), "one")
    got = bench.json("rm", "two")
    tell("rm removes the layers of this image alone", (got.get("images"), got.get("layers")) == (1, 1) and os.path.isdir(bench.layer(BASE)) and not os.path.exists(bench.layer(ABOVE)), got)
    lock = os.open(os.path.dirname(bench.layer(BASE)), os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    got = bench.json("rm", "one")
    tell("a layer that is in use stays", got.get("in_use") == 1 and os.path.isdir(bench.layer(BASE)), got)
    os.close(lock)
    got = bench.json("prune")
    tell("prune takes it afterwards", got.get("layers") == 1 and bench.left() == [], got, bench.left())


def killed(top):
    """SIGKILL at every step that the import reports through strace's own count of calls."""
    bench = Bench(top, "killed")
    where = Image(BASE, ABOVE, forms=["+gzip", ""]).layout(os.path.join(bench.top, "layout"))
    bench.json("import", where, "whole")
    whole = bench.left()
    bench.json("rm", "whole")
    bad, runs = [], 0
    for call in ("mkdirat", "openat2", "renameat", "fsync", "syncfs", "unlinkat", "sendmsg", "recvmsg", "mknodat", "fsetxattr"):
        for when in range(1, 40):
            got = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}", CARREL, "image", "import", where, "whole"],
                                 env=bench.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
            runs += 1
            if got.returncode == 0:
                bench.json("rm", "whole")
                break
            names = bench.json("ls").get("items")
            if names not in ([], None) and bench.json("show", "whole").get("entries", 0) == 0:
                bad.append((call, when, "a name without an image"))
            again = bench.json("import", where, "whole")
            if [name for name in bench.left() if not name.startswith("making/")] != whole:
                bad.append((call, when, again, bench.left()))
            bench.json("rm", "whole")
            if bench.left():
                bad.append((call, when, "rm leaves", bench.left()))
    tell(f"killed at {runs} places, the next import is whole, and rm leaves nothing", runs > 40 and not bad, *bad[:5])


def interrupted(top):
    """SIGINT at every step: the command ends by it, and nothing is left, not even a layer that was whole."""
    bench = Bench(top, "interrupted")
    where = Image(BASE, ABOVE, forms=["+gzip", ""]).layout(os.path.join(bench.top, "layout"))
    bad, by_signal = [], 0
    for call in ("renameat", "fsync", "recvmsg", "mkdirat"):
        for when in range(1, 40):
            got = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=INT:when={when}", CARREL, "image", "import", where, "whole"],
                                 env=bench.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
            if got.returncode == 0:
                bench.json("rm", "whole")
                break
            by_signal += got.returncode == -signal.SIGINT and "interrupted, nothing was imported\n" in got.stderr
            if bench.left() and not bench.json("ls").get("items"):
                bad.append((call, when, got.returncode, got.stderr, bench.left()))
            bench.json("rm", "whole")
    tell(f"interrupted at {by_signal} places, nothing is left", by_signal > 10 and not bad, *bad[:5])


def together(top):
    bench = Bench(top, "together")
    data = tar(folder("etc"), *[Entry(f"etc/{i}", os.urandom(2000)) for i in range(500)])
    where = Image(data, forms=["+gzip"]).layout(os.path.join(bench.top, "layout"))
    running = [subprocess.Popen([CARREL, "image", "import", where, f"n{i}", "--json"], env=bench.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(6)]
    answers = []
    for p in running:
        out, err = p.communicate(timeout=120)
        answers.append(json.loads(out) if p.returncode == 0 else {"error": err})
    tell("six imports at once unpack a layer once", sum(a.get("new_layers", 9) for a in answers) == 1, answers)
    tell("and all have their name", len(bench.json("ls")["items"]) == 6)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    top = tempfile.mkdtemp(prefix="carrel-image-")
    try:
        for part in (imports, imports_archives, drops, rarities, refuses, bombs, lies, mistakes, full, digests, groups, removes, killed, interrupted, together):
            part(top)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"1..{NUMBER[0]}")
    return 0


sys.exit(main())
