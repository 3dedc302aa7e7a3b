"""Images for tests, made byte by byte: no network, no other program. And a root of busybox, which is enough for
commands. Not a test.
"""
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
LAYER = "application/vnd.oci.image.layer.v1.tar"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Entry:
    """One entry of a tar file; what is not given is a small file of root's."""

    def __init__(self, name, data=b"", kind=tarfile.REGTYPE, mode=0o644, link="", device=(0, 0)):
        self.info = tarfile.TarInfo(name)
        self.info.size = len(data)
        self.info.type, self.info.mode, self.info.linkname = kind, mode, link
        self.info.devmajor, self.info.devminor = device
        self.info.mtime = 1700000000
        self.data = data


def folder(name, mode=0o755):
    return Entry(name, kind=tarfile.DIRTYPE, mode=mode)


def symlink(name, target):
    return Entry(name, kind=tarfile.SYMTYPE, link=target)


def hardlink(name, target):
    return Entry(name, kind=tarfile.LNKTYPE, link=target)


def tar(*entries, pax=None):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            if pax:
                entry.info.pax_headers = pax
            archive.addfile(entry.info, io.BytesIO(entry.data))
    return out.getvalue()


def zstd(data):
    """A zstd frame of raw blocks: the form without a compressor."""
    out = [b"\x28\xb5\x2f\xfd", b"\xa0", len(data).to_bytes(4, "little")]
    for at in range(0, max(len(data), 1), 1 << 17):
        part = data[at:at + (1 << 17)]
        last = at + (1 << 17) >= len(data)
        out += [(len(part) << 3 | last).to_bytes(3, "little"), part]
    return b"".join(out)


class Image:
    """An image in OCI layout; `spoil` may change its parts before they are written."""

    def __init__(self, *layers, forms=None, config=None):
        self.plain = layers
        self.forms = forms or ["" for _ in layers]
        pack = {"": lambda b: b, "+gzip": lambda b: gzip.compress(b, mtime=0), "+zstd": zstd}
        self.blobs = [pack[form](layer) for form, layer in zip(self.forms, layers)]
        self.config = {"architecture": ARCH, "os": "linux", "created": "2026-01-02T03:04:05Z",
                       "config": {"Env": ["PATH=/bin:/usr/bin", "X=1"], "WorkingDir": "/srv", "User": "1000", "Entrypoint": ["/bin/tool"], "Cmd": ["-v"]},
                       "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]}}
        self.config.update(config or {})
        self.rows = None

    def documents(self):
        config = json.dumps(self.config).encode()
        layers = [{"mediaType": LAYER + form, "digest": digest(blob), "size": len(blob)} for form, blob in zip(self.forms, self.blobs)]
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": "application/vnd.oci.image.config.v1+json",
                               "digest": digest(config), "size": len(config)}, "layers": self.rows or layers}).encode()
        index = json.dumps({"schemaVersion": 2, "manifests": [{"mediaType": MANIFEST, "digest": digest(manifest), "size": len(manifest),
                            "annotations": {"org.opencontainers.image.ref.name": "tagged:1"}}]}).encode()
        files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index}
        for blob in [config, manifest, *self.blobs]:
            files["blobs/sha256/" + digest(blob)[7:]] = blob
        return files

    def layout(self, where, change=None):
        for name, data in self.documents().items():
            path = os.path.join(where, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(change(name, data) if change else data)
        return where

    def saved(self, links=False):
        """As `docker save` wrote it until 24: manifest.json and layer.tar files, equal ones as links."""
        config = json.dumps(self.config).encode()
        name = digest(config)[7:] + ".json"
        rows, entries, first = [], [Entry(name, config)], {}
        for layer in self.plain:
            path = f"{len(rows):064x}/layer.tar"
            entries.append(folder(os.path.dirname(path)))
            if links and layer in first:
                entries.append(symlink(path, "../" + first[layer]))
            else:
                entries.append(Entry(path, layer))
                first.setdefault(layer, path)
            rows.append(path)
        document = json.dumps([{"Config": name, "RepoTags": ["saved:2"], "Layers": rows}]).encode()
        return tar(*entries, Entry("manifest.json", document))


# -- an image that runs commands ---------------------------------------------------------------------

BUSYBOX = "/bin/busybox"
APPLETS = ("sh ls cat echo id ps rm mkdir rmdir touch stat ln mv cp chown chmod env pwd sleep mknod mount umount dd head wc grep find sort "
           "kill true false test printf readlink seq sync df hostname nc wget setsid date tr cut sed tail du").split()


def busybox_root(*more, without=""):
    """The layer of a root directory in which commands of busybox run."""
    with open(BUSYBOX, "rb") as f:
        program = f.read()
    links = [symlink("bin/" + name, "busybox") for name in APPLETS]
    entries = [folder("bin"), Entry("bin/busybox", program, mode=0o755), *links, folder("etc"), Entry("etc/motd", b"of the image\n"),
               Entry("etc/secret", b"of root\n", mode=0o600), folder("srv"), Entry("srv/file", b"lower\n"), folder("srv/tree"), Entry("srv/tree/a", b"a\n"),
               folder("root", mode=0o700), folder("opt"), *more]
    return tar(*[e for e in entries if not without or (e.info.name + "/").partition("/")[0] != without])


def busybox_image(above=None, **config):
    """Two layers: the second removes, replaces and adds."""
    above = above or tar(folder("srv"), Entry("srv/.wh.file"), folder("srv/tree"), Entry("srv/tree/.wh..wh..opq"), Entry("srv/tree/b", b"b\n"))
    settings = {"Env": ["PATH=/bin:/opt/bin", "FROM_IMAGE=yes", "LANG=C"], "WorkingDir": "/srv", "Entrypoint": ["echo", "entry"], "Cmd": ["and", "command"]}
    return Image(busybox_root(), above, config={"config": {**settings, **config}})


def libraries_of(programs):
    """The shared libraries that these files of the host need, by their names there."""
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return sorted({word for word in told.split() if word.startswith("/") and not word.endswith(":")})


def python_image():
    """busybox, and the Python of this host with its library: for payloads in Python."""
    program, library = os.path.realpath("/usr/bin/python3"), "/usr/lib/" + os.path.basename(os.path.realpath("/usr/bin/python3"))
    left_out = ("/test", "/idlelib", "/ensurepip", "/lib2to3", "/tkinter", "/__pycache__", "/dist-packages", "/config-")
    files = [os.path.join(top, name) for top, _, names in os.walk(library) if not any(part in top for part in left_out) for name in names]
    made, entries = {"usr/bin"}, [folder("usr/bin"), folder("etc/ssl/certs"), symlink("usr/bin/python3", os.path.basename(program))]
    for path in [program, *files, *libraries_of([program, *[f for f in files if f.endswith(".so")]])]:
        at = os.path.dirname(path).lstrip("/")
        for depth in range(1, at.count("/") + 2):
            top = "/".join(at.split("/")[:depth])
            if top not in made:
                made.add(top)
                entries.append(folder(top))
        with open(path, "rb") as f:
            entries.append(Entry(path.lstrip("/"), f.read(), mode=0o755 if os.access(path, os.X_OK) else 0o644))
    return Image(busybox_root(*entries), config={"config": {"Env": ["PATH=/bin:/usr/bin", "LANG=C.UTF-8"]}})


def image_import(program, state, source, name, prefix=()):
    done = subprocess.run([*prefix, program, "image", "import", source, name, "--state", state, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout)


def busybox_import(program, state, name="box:1", **config):
    """Imports it into a state directory. Gives what `carrel image import --json` says."""
    where = os.path.join(os.path.dirname(state), "layout-" + name.replace(":", "-"))
    os.makedirs(where, exist_ok=True)
    return image_import(program, state, busybox_image(**config).layout(where), name)
