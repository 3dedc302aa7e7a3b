#!/usr/bin/env python3
"""`carrel image pull`: from a registry of Debian's on the loopback interface, with Debian's skopeo.
Prints TAP.
"""
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
NUMBER = [0]
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
KIND = "application/vnd.oci.image"


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Registry:
    """Debian's docker-registry, with its files below `base`."""

    def __init__(self, base):
        self.address = f"127.0.0.1:{free_port()}"
        self.files = os.path.join(base, "registry")
        config = os.path.join(base, "registry.yml")
        with open(config, "w", encoding="ascii") as f:
            f.write("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\n"
                    f"storage: {{filesystem: {{rootdirectory: {self.files}}}}}\n"
                    f"http: {{addr: '{self.address}'}}\n")
        self.process = subprocess.Popen(["docker-registry", "serve", config], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:            # it says when it listens, or ends
            if "listening on" in line:
                return
        raise RuntimeError("the registry does not start")

    def close(self):
        self.process.kill()
        self.process.communicate()

    def blob(self, digest):
        algorithm, value = digest.split(":")
        return os.path.join(self.files, "docker/registry/v2/blobs", algorithm, value[:2], value, "data")


def write_layout(base, files):
    """An image of one layer, as an OCI layout. Returns its path, and the digest of its layer."""
    layout = os.path.join(base, "layout")
    os.makedirs(os.path.join(layout, "blobs/sha256"))

    def put(data, kind):
        value = hashlib.sha256(data).hexdigest()
        with open(os.path.join(layout, "blobs/sha256", value), "wb") as f:
            f.write(data)
        return {"mediaType": f"{KIND}.{kind}", "digest": f"sha256:{value}", "size": len(data)}

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    layer = put(out.getvalue(), "layer.v1.tar")
    config = put(json.dumps({"architecture": ARCH, "os": "linux", "config": {"Env": ["A=b"], "Cmd": ["sh"]},
                             "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode(), "config.v1+json")
    manifest = put(json.dumps({"schemaVersion": 2, "mediaType": f"{KIND}.manifest.v1+json", "config": config,
                               "layers": [layer]}).encode(), "manifest.v1+json")
    with open(os.path.join(layout, "index.json"), "w", encoding="ascii") as f:
        json.dump({"schemaVersion": 2, "manifests": [manifest]}, f)
    with open(os.path.join(layout, "oci-layout"), "w", encoding="ascii") as f:
        json.dump({"imageLayoutVersion": "1.0.0"}, f)
    return layout, layer["digest"]


class Rig:
    def __init__(self, base):
        self.base, self.state = base, os.path.join(base, "state")
        self.registry = Registry(base)

    def image(self, *words):
        run = subprocess.run([CARREL, "image", "--state", self.state, "--json", *words], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=120, check=False)
        text = run.stdout or run.stderr
        try:
            return run.returncode, json.loads(text)
        except ValueError:
            return run.returncode, {"error": {"code": "no JSON", "message": text, "reason": "", "hint": ""}}

    def is_clean(self):
        return os.listdir(os.path.join(self.state, "images/making")) == []


def try_pull(rig, name):
    status, said = rig.image("pull", "--insecure", f"docker://{name}", "app:1")
    tell("an image is pulled, and gets the name that is asked for", status == 0 and said.get("name") == "app:1", status, said)
    status, said = rig.image("show", "app:1")
    tell("its record says where it came from, and what it sets",
         status == 0 and said.get("source") == name and "A=b" in json.dumps(said), status, said)
    tell("the download is removed", rig.is_clean(), os.listdir(os.path.join(rig.state, "images/making")))
    status, said = rig.image("pull", "--insecure", name)
    tell("without a second name it is called as it was asked for", status == 0 and said.get("name") == name, status, said)


def try_failures(rig, name, layer):
    status, said = rig.image("pull", "--insecure", f"{name}9")
    error = said.get("error", {})
    tell("what the registry does not have is an error that says so",
         status == 125 and error.get("code") == "image_pull_failed" and "manifest unknown" in error["message"], status, said)
    tell("nothing of it is left", rig.is_clean())
    status, said = rig.image("pull", name)
    tell("without --insecure, a registry that speaks HTTP is refused", status == 125 and said["error"]["code"] == "image_pull_failed", said)
    for word in ("-x", "a b", "", "docker://", "docker:///etc"):
        status, said = rig.image("pull", "--", word)
        tell(f"{word!r} is no name of an image", status == 125 and said["error"]["code"] == "invalid_argument", status, said)
    with open(rig.registry.blob(layer), "r+b") as f:
        f.write(b"other")
    fresh = Rig.__new__(Rig)
    fresh.base, fresh.state, fresh.registry = rig.base, os.path.join(rig.base, "fresh"), rig.registry
    status, said = fresh.image("pull", "--insecure", name)
    tell("a layer that is not what the manifest says is refused", status != 0 and "error" in said, status, said)
    tell("and no layer of it is kept", os.listdir(os.path.join(fresh.state, "images/layers")) == [] and fresh.is_clean())


def try_gate(rig, name):
    """The registry is on the loopback interface, which no policy can list: the same call works without one."""
    policy = os.path.join(rig.base, "policy.json")
    with open(policy, "w", encoding="ascii") as f:
        json.dump(["registry.example.com"], f)
    status, said = rig.image("pull", "--insecure", "--policy", policy, name)
    error = said.get("error", {})
    tell("behind a policy, a registry that it does not list is not reached",
         status == 125 and error.get("code") == "image_pull_failed" and "carrel gate explain" in error["hint"], status, said)
    status, said = rig.image("pull", "--insecure", "--policy", policy + "x", name)
    tell("a policy that is missing is an error", status == 125 and said["error"]["code"] == "file_unreadable", status, said)


def main():
    if not shutil.which("skopeo") or not shutil.which("docker-registry"):
        print("1..0 # SKIP skopeo or docker-registry is not installed: ./dev setup test")
        return 0
    base = tempfile.mkdtemp(prefix="pull.")
    rig = Rig(base)
    try:
        layout, layer = write_layout(base, {"bin/sh": b"#!", "etc/x": b"hi\n"})
        name = f"{rig.registry.address}/team/app:1"
        subprocess.run(["skopeo", "copy", "--quiet", "--dest-tls-verify=false", "--preserve-digests", f"oci:{layout}", f"docker://{name}"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try_pull(rig, name)
        try_gate(rig, name)
        try_failures(rig, name, layer)
    finally:
        rig.registry.close()
        shutil.rmtree(base, ignore_errors=True)
    print(f"1..{NUMBER[0]}")
    return 0


sys.exit(main())
