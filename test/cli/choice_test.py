#!/usr/bin/env python3
"""Which provider runs a sandbox: `provider: auto`, the least tier of the manifest and of the host file, and what each provider
claims, held to the table of tiers of the Geodocs document. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, need_programs
from image_rig import busybox_import

# "Tier table" of the document, and the classes that it lists beside: class -> the highest tier that it may claim
HIGHEST = {
    **dict.fromkeys("bubblewrap bwrap devcontainer nsjail firejail landlock seatbelt node-permission namespaces".split(), "T1"),
    **dict.fromkeys("docker runc crun containerd podman oci lxc".split(), "T2"),
    **dict.fromkeys("gvisor runsc kata kata-containers".split(), "T3"),
    **dict.fromkeys("firecracker kvm qemu qemu-kvm cloud-hypervisor hyper-v libkrun".split(), "T4"),
}
ON_THIS_MACHINE = ("local", "container", "oci", "microvm")
IMAGE = {"image": "box:1"}


class Desk:
    def __init__(self, top):
        self.top, self.state = top, os.path.join(top, "state")
        self.env = {**os.environ, "CARREL_STATE": self.state}
        busybox_import(CARREL, self.state)
        told = json.loads(self.carrel("providers", "--json").stdout)["providers"]
        self.missing = {p["id"]: p.get("missing") for p in told}

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.top, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)

    def write(self, name, what):
        path = os.path.join(self.top, name)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(what, f)
        return path

    def manifest(self, provider="auto", config=None, tier=None, **more):
        block = {"schema": "sandbox/v1", "provider": provider, "config": config or {}, **more}
        return self.write("SANDBOX.json", {**block, "metadata": {"carrel": {"tier": tier}}} if tier else block)

    def host(self, **fields):
        return ("--host", self.write("host.json", {"providers": {name: {"isolated": True} for name in ON_THIS_MACHINE}, **fields}))

    def judged(self, *host, **fields):
        """What `carrel check` decides: the provider and why, or the error."""
        told = json.loads(self.carrel("check", self.manifest(**fields), *host, "--json").stdout)
        return (told["norm"]["provider"], told.get("chosen", "")) if told["ok"] else (None, told["error"])


def tiers(desk):
    elsewhere = {"isolated": True, "egress": "closed", "program": ["/bin/true"]}
    path = desk.write("all.json", {"providers": {**{name: {"isolated": True, "tier": "T4"} for name in (*ON_THIS_MACHINE, "node-permission")},
                                                 "mastra-e2b": elsewhere, "build-box": {**elsewhere, "tier": "T3"}}})
    told = json.loads(desk.carrel("providers", "--json", "--host", path).stdout)["providers"]
    classes = {p["id"]: (p["runtime_class"], p["tier"]) for p in told}
    for name, (kind, tier) in classes.items():
        if kind in (None, "elsewhere"):
            check(f"{name}: what runs elsewhere has the tier that the operator states, or none", tier == {"build-box": "T3"}.get(name), kind, tier)
        else:
            check(f"{name}: the class {kind} may claim {tier}", kind in HIGHEST and tier is not None and tier <= HIGHEST[kind], kind, tier)
    check("a host file raises no tier of this machine's providers", classes["local"][1] == "T1" and classes["container"][1] == "T2", classes)


def chosen(desk):
    got = desk.judged()
    check("without a least tier: local", got == ("local", "the cheapest that fits"), got)
    provider, why = desk.judged(config=IMAGE)
    check("with an image: container, and why not local", provider == "container" and "local: it has no config.image" in why, provider, why)
    provider, why = desk.judged(config=IMAGE, tier="T2")
    check("the least tier is named", provider == "container" and "reaches T2" in why, provider, why)
    provider, why = desk.judged(tier="T2")
    check("T2 without an image: none, and why not each", provider is None and (why["code"], why["reason"]) == ("capability_unavailable", "no_kind") and
          all(word in why["message"] for word in ("local: tier T1", "container: it needs config.image", "oci: tier T1", "microvm: it needs config.image")), why)
    provider, why = desk.judged(tier="T4")
    check("none reaches it: refused, each with its reason", provider is None and (why["code"], why["reason"], why["path"]) == ("capability_unavailable", "no_kind", "provider") and
          all(f"{name}: tier" in why["message"] for name in ON_THIS_MACHINE), why)
    provider, why = desk.judged(config={"imagee": "box:1"})
    check("its settings are checked", provider is None and why["code"] == "sandbox_config_invalid", why)


def least(desk):
    host = desk.host(least_tier="T2")
    provider, why = desk.judged(*host, provider="local")
    check("a provider below the host's least tier is refused by name", provider is None and (why["code"], why["reason"], why["path"]) ==
          ("sandbox_provider_untrusted", "least_tier", "provider") and "T2 is the least tier of this host" in why["message"], why)
    provider, why = desk.judged(*host, provider="local", tier="T1")
    check("a manifest does not lower it", provider is None and why["reason"] == "least_tier", why)
    got = desk.judged(*host, config=IMAGE)
    check("auto takes one that reaches it", got[0] == "container" and "reaches T2" in got[1], got)
    provider, why = desk.judged(*host, config=IMAGE, tier="T3")
    if desk.missing["microvm"]:
        check("a manifest raises it: refused where there is no QEMU", provider is None and "reaches T3" in why["message"] and desk.missing["microvm"] in why["message"], why)
    else:
        check("a manifest raises it", provider == "microvm" and "reaches T3" in why, provider, why)
    provider, why = desk.judged(provider="container", config=IMAGE, tier="T3")
    check("a provider below the manifest's least tier is refused by name", provider is None and (why["code"], why["reason"]) == ("sandbox_provider_untrusted", "tier"), why)
    provider, why = desk.judged("--host", desk.write("host.json", {"providers": {"local": {"isolated": True}}}), config=IMAGE)
    check("one that the host file does not have is not chosen", provider is None and "container: the host file does not have it" in why["message"], why)
    for value in ("T5", "high", 2):
        got = desk.carrel("check", "--json", *desk.host(least_tier=value))
        check(f"least_tier: {value} is refused", "least_tier" in got.stdout and json.loads(got.stdout)["error"]["code"] == "sandbox_schema_invalid", got.stdout)


def told(desk):
    path = desk.manifest(config=IMAGE, tier="T2")
    got = desk.carrel("plan", "-f", path)
    check("`carrel plan` says which and why", "provider container, tier T2; the cheapest that fits and reaches T2 (local: tier T1)" in got.stdout, got.stdout, got.stderr)
    got = desk.carrel("check", path)
    check("`carrel check` does too", "provider container: the cheapest that fits" in got.stdout, got.stdout)
    got = desk.carrel("run", "-f", path, "--", "cat", "/etc/motd")
    check("`carrel run` runs with it", got.stdout == "of the image\n", got.stdout, got.stderr)
    got = desk.carrel("run", "-f", desk.manifest(tier="T4"), "--json", "--", "true")
    check("and runs nothing with less", json.loads(got.stdout)["error"]["reason"] == "no_kind" and got.returncode == 126, got.stdout)


def main():
    need_programs()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        desk = Desk(top)
        for part in (tiers, chosen, least, told):
            part(desk)
    return end()


if __name__ == "__main__":
    sys.exit(main())
