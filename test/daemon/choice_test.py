#!/usr/bin/env python3
"""The daemon chooses the provider of a manifest that says `provider: auto`, and of a sandbox without a manifest: it says which and
why, keeps its choice, and never takes a weaker one. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, need_programs, until
from daemon_rig import Daemon
from image_rig import busybox_import

AUTO = {"schema": "sandbox/v1", "provider": "auto", "config": {"image": "box:1"}}


def write(path, **fields):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"providers": {name: {"isolated": True} for name in ("local", "container")}, **fields}, f)


def chooses(d):
    box = d.must("POST", "/v1/sandboxes", {"manifest": AUTO})
    check("info says which and why", (box["provider"], box["tier"]) == ("container", "T2") and box["chosen"].startswith("the cheapest that fits (local: "), box)
    done = subprocess.run([CARREL, "info", box["id"]], env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("and so does `carrel info`", "container, tier T2; the cheapest that fits" in done.stdout, done)
    plain = d.must("POST", "/v1/sandboxes", {})
    check("a sandbox without a manifest gets the cheapest", plain["provider"] == "local" and "chosen" in plain, plain)
    named = d.must("POST", "/v1/sandboxes", {"manifest": {**AUTO, "provider": "container"}})
    check("one that is named is not chosen", named["provider"] == "container" and "chosen" not in named, named)
    return box["id"], plain["id"]


def keeps(d, host, box, plain):
    write(host, least_tier="T2")
    d.reload()
    got = d.exec(box, "cat /etc/motd")
    check("the choice stays when the rules change", got["stdout"] == "of the image\n", got)
    refused = d.call("POST", f"/v1/sandboxes/{plain}/execs", {"command": "true"})
    check("a sandbox that was not started and is below the new least tier does not start", (refused.code, refused.json["error"].get("reason")) ==
          ("sandbox_provider_untrusted", "least_tier"), refused)
    refused = d.call("POST", "/v1/sandboxes", {})
    check("a sandbox without a manifest is refused when no provider fits", (refused.code, refused.json["error"].get("reason")) == ("capability_unavailable", "no_kind"), refused)
    refused = d.call("POST", "/v1/sandboxes", {"manifest": {**AUTO, "provider": "local", "config": {}}})
    check("a named one below the least tier is refused", refused.code == "sandbox_provider_untrusted", refused)
    d.stop()
    d.start()
    told = d.must("GET", "/v1/sandboxes/" + box)
    check("after a restart it still says why", told["provider"] == "container" and "cheapest" in told["chosen"], told)


def pool(top, state, host):
    path = os.path.join(top, "SANDBOX.json")
    write(host)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(AUTO, f)
    with Daemon("--host", host, "--pool", "1", "--pool-manifest", path, state=state) as d:
        until("one is ready", lambda: d.must("GET", "/v1/info")["pool"] == 1)
        box = d.must("POST", "/v1/sandboxes", {"manifest": AUTO})
        told = d.must("GET", "/v1/sandboxes/" + box["id"])
        check("a sandbox of the pool says it too", told["status"] == "running" and told["provider"] == "container" and "cheapest" in told["chosen"] and
              told["image"].startswith("box:1@sha256:"), told)
        until("the next is ready", lambda: d.must("GET", "/v1/info")["pool"] == 1)
        write(host, least_tier="T3")
        d.reload()
        refused = d.call("POST", "/v1/sandboxes", {"manifest": AUTO})
        check("one that stood ready is not handed out below a new least tier", (refused.code, d.must("GET", "/v1/info")["pool"]) == ("capability_unavailable", 0), refused)


def main():
    need_programs()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        state, host = os.path.join(top, "state"), os.path.join(top, "host.json")
        busybox_import(CARREL, state)
        write(host)
        with Daemon("--host", host, state=state) as d:
            keeps(d, host, *chooses(d))
        pool(top, state, host)
    return end()


if __name__ == "__main__":
    sys.exit(main())
