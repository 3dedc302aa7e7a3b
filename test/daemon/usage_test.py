#!/usr/bin/env python3
"""usage_test - what a sandbox used is metered: it grows, stands still while paused, and is counted once, over
restarts of the daemon, its kill and the end of the sandbox.
"""
import json
import os
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import end, report
from daemon_rig import Daemon, until

FIGURES = ("wall_ms", "cpu_ms", "memory_peak_kb", "memory_byte_seconds", "storage_byte_seconds", "execs", "output_total_bytes", "bytes_out", "bytes_in")


def usage(d, name):
    return d.must("GET", f"/v1/sandboxes/{name}/usage")


def listed(d):
    return d.must("GET", "/v1/usage")["items"]


def total(d):
    return next(i for i in listed(d) if "id" not in i)


def shrunk(before, after):
    return ["%s: %r, then %r" % (f, before[f], after.get(f)) for f in FIGURES if f in before and after.get(f, -1) < before[f]]


def run(d, name, script):
    return d.exec(name, ["/bin/sh", "-c", script])


def counts(d):
    idle = d.must("POST", "/v1/sandboxes", {"name": "idle"})
    now = usage(d, "idle")
    report("one that was never started used nothing", [] if now["wall_ms"] == 0 and now["execs"] == 0 and "cpu_ms" not in now else ["%r" % now])
    d.must("DELETE", f"/v1/sandboxes/{idle['id']}")
    d.must("POST", "/v1/sandboxes", {"name": "one", "start": True})
    run(d, "one", "printf 12345; printf 678 >&2; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    first = usage(d, "one")
    wrong = ["%r" % first] if first["execs"] != 1 or first["output_total_bytes"] != 8 or first.get("cpu_ms", 0) == 0 or first["wall_ms"] == 0 else []
    report("execs, output, CPU and wall time of a command", wrong)
    report("what no connection sent is absent, not 0", ["%r" % first] if "bytes_out" in first else [])
    run(d, "one", "printf abc")
    second = usage(d, "one")
    report("a second command adds to it", shrunk(first, second) + ([] if second["execs"] == 2 and second["output_total_bytes"] == 11 else ["%r" % second]))
    return second


def paused(d):
    held = d.call("POST", "/v1/sandboxes/one/pause", {})
    if held.code == "capability_unavailable":
        report("paused time is not counted", skip="no control group freezes here")
        return
    one, two = usage(d, "one"), usage(d, "one")
    report("paused time is not counted", [] if one["wall_ms"] == two["wall_ms"] else ["%r, %r" % (one, two)])
    d.must("POST", "/v1/sandboxes/one/resume", {})


def cli(d):
    made = subprocess.run([d.program, "usage", "one", "--json", "--state", d.state], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        got = json.loads(made.stdout)
        wrong = shrunk(usage(d, "one"), got) if got["wall_ms"] > usage(d, "one")["wall_ms"] else []
        wrong += [] if got["execs"] == 2 else [f"{got}"]
    except ValueError:
        wrong = ["%r %r" % (made.stdout, made.stderr)]
    report("carrel usage --json has the same members", wrong)
    text = subprocess.run([d.program, "usage", "--state", d.state], stdout=subprocess.PIPE, check=False).stdout.decode()
    report("carrel usage lists the sum and each sandbox, in 80 columns, and says how old that is",
           [] if "\ntotal uid:" in text and len(text.splitlines()) >= 4 and max(map(len, text.splitlines())) <= 80 and "up to a minute old" in text else [text])


def restarts(d, before):
    d.stop()
    d.start()
    after = usage(d, "one")
    report("it survives a restart of the daemon", shrunk(before, after) + ([] if after["execs"] == 2 else ["%r" % after]))


def ends(d):
    before = usage(d, "one")
    d.must("DELETE", "/v1/sandboxes/one")
    report("its own usage ends with it", [] if d.call("GET", "/v1/sandboxes/one/usage").status == 404 else ["not 404"])
    kept = [i for i in listed(d) if i.get("id") == before["id"]]
    report("it stays in the list", shrunk(before, kept[0]) if len(kept) == 1 else ["%r" % kept])
    first = total(d)
    d.stop()
    d.start()
    again = total(d)
    same = {f: first.get(f) for f in FIGURES} == {f: again.get(f) for f in FIGURES}
    report("it is counted once, also after a restart", [] if same and again["execs"] == 2 else ["%r, then %r" % (first, again)])


def keeper_killed(d):
    """The supervisors count, so a keeper that is killed loses nothing."""
    d.must("POST", "/v1/sandboxes", {"name": "kept", "start": True})
    run(d, "kept", "printf 12345")
    before, sums = usage(d, "kept"), total(d)
    d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
    after, later = usage(d, "kept"), total(d)
    report("kill -9 of the keeper loses no count, of a sandbox or of its owner",
           shrunk(before, after) + shrunk(sums, later) + ([] if (after["execs"], after["output_total_bytes"]) == (1, 5) and later["execs"] == sums["execs"] else ["%r, %r" % (after, later)]))
    run(d, "kept", "printf 67")
    report("and counting goes on", [] if (usage(d, "kept")["execs"], usage(d, "kept")["output_total_bytes"]) == (2, 7) else ["%r" % usage(d, "kept")])
    d.must("DELETE", "/v1/sandboxes/kept")


def memory(d):
    """32 MiB that are held count in each second; an older figure is never taken back."""
    providers = json.loads(subprocess.run([d.program, "providers", "--json"], stdout=subprocess.PIPE, check=True).stdout)["providers"]
    if not providers[0]["limits"]["memory"]:
        report("memory over time", skip="no control group counts memory here")
        return
    block = {"provider": "local", "config": {}, "limits": {"memory_mb": 256}}
    d.must("POST", "/v1/sandboxes", {"name": "holds", "start": True, "manifest": block})
    d.must("POST", "/v1/sandboxes/holds/execs", {"argv": ["/bin/sh", "-c", "head -c 33554432 /dev/zero >/tmp/held; read x"], "background": True, "stdin": True})
    until("32 MiB were held for two seconds", lambda: usage(d, "holds").get("memory_byte_seconds", 0) > 2 * 33554432)
    first = usage(d, "holds")
    d.stop(signal.SIGKILL)
    d.start()
    until("it continues after the daemon was killed", lambda: usage(d, "holds")["memory_byte_seconds"] > first["memory_byte_seconds"] + 33554432)
    report("memory over time is counted, also while the daemon is away", [])
    metrics = d.call("GET", "/metrics").body.decode()
    report("so do the metrics of the owner", [] if any(float(line.rsplit(" ", 1)[1]) > 2 * 33554432 for line in metrics.splitlines() if line.startswith("carrel_usage_memory_byte_seconds_total{")) else [metrics])
    text = subprocess.run([d.program, "usage", "holds", "--state", d.state], stdout=subprocess.PIPE, check=False).stdout.decode().splitlines()
    report("and carrel usage, in MiB * s", [] if "MiB*s" in text[0] and int(text[1].split()[4]) >= 64 else text)
    d.must("POST", "/v1/sandboxes", {"name": "free", "start": True})
    report("without a group for memory it is absent", ["%r" % usage(d, "free")] if "memory_byte_seconds" in usage(d, "free") else [])
    for name in ("holds", "free"):
        d.must("DELETE", "/v1/sandboxes/" + name)


def manifest(**carrel):
    return {"provider": "local", "config": {}, "metadata": {"carrel": carrel}}


VOLUME = {"provider": "local", "config": {}, "mounts": [{"source": {"inline": {"provider": "carrel-volume", "config": {"name": "stored"}}}, "at": "/v"}]}
HELD = 16 << 20


def storage(d):
    """16 MiB on a disk count in each second: in a private directory, in an image, in a volume."""
    cases = (("directory", manifest(disk="directory", limits={"disk_mb": 64}), "/tmp/x"), ("image", manifest(disk="image", limits={"disk_mb": 64}), "/tmp/x"), ("volume", VOLUME, "/v/x"))
    for name, block, path in cases:
        made = d.call("POST", "/v1/sandboxes", {"name": name, "start": True, "manifest": block})
        if made.status >= 300 or (name == "image" and d.must("GET", "/v1/sandboxes/image")["disk"] != "image"):
            report("storage over time: " + name, skip="this host has no such disk: %s" % made.code)
            continue
        run(d, name, "head -c %d /dev/zero >%s" % (HELD, path))
        d.must("POST", "/v1/sandboxes/%s/execs" % name, {"argv": ["/bin/sh", "-c", "read x"], "background": True, "stdin": True})
        until("16 MiB were held for two seconds", lambda name=name: usage(d, name).get("storage_byte_seconds", 0) > 2 * HELD)
        first = usage(d, name)
        report("storage over time: %s, and no more than was held" % name, [] if first["storage_byte_seconds"] < 2 * HELD * first["wall_ms"] / 1000 else ["%r" % first])
    d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
    until("it continues after the keeper was killed", lambda: usage(d, "volume")["storage_byte_seconds"] > first["storage_byte_seconds"] + HELD)
    report("what a volume holds counts on after a restart", [])
    lines = [line for line in d.call("GET", "/metrics").body.decode().splitlines() if line.startswith("carrel_usage_storage_byte_seconds_total{")]
    report("so do the metrics of the owner", [] if any(float(line.rsplit(" ", 1)[1]) > 2 * HELD for line in lines) else lines)
    d.must("POST", "/v1/sandboxes", {"name": "memory", "start": True, "manifest": manifest(disk="memory")})
    run(d, "memory", "head -c 4096 /dev/zero >/tmp/x")
    report("what is in memory is no storage", ["%r" % usage(d, "memory")] if "storage_byte_seconds" in usage(d, "memory") else [])
    for box in d.must("GET", "/v1/sandboxes")["items"]:
        if box.get("name") in ("directory", "image", "volume", "memory"):
            d.must("DELETE", "/v1/sandboxes/" + box["id"])


MANY = 1005


def folded(d):
    """Of an owner with more than 1,000 ended sandboxes the oldest are only in the sum, each once."""
    before = total(d)
    d.stop()
    with sqlite3.connect(os.path.join(d.state, "state.db")) as db:
        for column in ("memory_time", "storage_time"):              # as an older release wrote it
            db.execute("ALTER TABLE usage DROP COLUMN " + column)
        db.executemany("INSERT INTO usage (owner, sandbox, at, wall, cpu, memory, execs, output, egress_out, egress_in) VALUES (?, ?, ?, 10, -1, 5, 2, 3, 7, -1)",
                       [(before["owner"], "%016x" % n, 1000 + n) for n in range(MANY)])
    db.close()
    d.start()
    for turn in range(2):
        d.must("POST", "/v1/sandboxes", {"name": "more", "start": True})
        d.must("DELETE", "/v1/sandboxes/more")
    ids = [i["id"] for i in listed(d) if "id" in i]
    after = total(d)
    fakes = [i for i in ids if i < "%016x" % MANY]
    report("1,000 ended sandboxes are listed, and the newest of them", [] if 1000 <= len(ids) <= 1001 and "%016x" % 0 not in fakes and "%016x" % (MANY - 1) in fakes else ["%d, %r" % (len(ids), fakes[:3])])
    grown = {f: after.get(f, 0) - before.get(f, 0) for f in ("execs", "output_total_bytes", "bytes_out")}
    report("the sum has all of them once", [] if grown == {"execs": 2 * MANY, "output_total_bytes": 3 * MANY, "bytes_out": 7 * MANY} else ["%r" % grown])
    d.stop()
    d.start()
    again = total(d)
    report("also after a restart", [] if {f: after.get(f) for f in FIGURES} == {f: again.get(f) for f in FIGURES} else ["%r, %r" % (after, again)])


def background(d):
    made = d.must("POST", "/v1/sandboxes", {"name": "lone", "start": True, "timeout_ms": 600000})
    d.exec("lone", ["/bin/sh", "-c", "printf xyz"], background=True)
    until("the command has ended", lambda: usage(d, "lone")["execs"] == 1 and usage(d, "lone")["output_total_bytes"] == 3)
    d.must("DELETE", "/v1/sandboxes/lone")
    until("it is gone", lambda: not any(i["id"] == made["id"] for i in d.must("GET", "/v1/sandboxes")["items"]))
    again = total(d)
    report("both are in the sum of the owner", [] if again["execs"] == 3 and again["output_total_bytes"] == 14 else ["%r" % again])


def owners(d):
    token = d.must("POST", "/v1/tokens", {"owner": "someone"})["token"]
    items = d.must("GET", "/v1/usage", headers={"Authorization": "Bearer " + token})["items"]
    report("another owner sees none of it", ["%r" % items] if items else [])


def main():
    with Daemon() as d:
        before = counts(d)
        paused(d)
        cli(d)
        restarts(d, before)
        ends(d)
        background(d)
        owners(d)
        keeper_killed(d)
        memory(d)
        storage(d)
        folded(d)
    end()


if __name__ == "__main__":
    main()
