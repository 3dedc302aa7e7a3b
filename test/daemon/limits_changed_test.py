#!/usr/bin/env python3
# weight: 2
"""limits_changed_test - the limits of a sandbox that runs can be changed, and each change is seen by
its effect: memory that a command may take, processes that it may start, the quota of the processor in
the group's file. What cannot change is refused by name, and then nothing changes. For `local`,
`container` and `oci`; a virtual machine and a provider elsewhere refuse. Prints TAP.

    limits_changed_test.py [KIND [PART...]]     only this kind, and these parts: memory held processes processor ...

Without control groups (an ordinary user without delegation) a limit of memory is taken and named as
not enforced, as at create. test/vm runs it on a machine with cgroup v2 alone.
"""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE, check, end, report, side_by_side, until
from box_wire import Keeper
from daemon_rig import Daemon, groups_of, state_of
from kinds_rig import KINDS, host_file, make_image, why_not

CAP_MB = 1024
BLOCK = {"limits": {"memory_mb": 256}, "metadata": {"carrel": {"limits": {"pids": 64, "cpu_millicores": 500}}}}
TAKES_100_MB = "head -c 100000000 /dev/zero | tail | wc -c"
HOLDS_40_MB = "head -c 41943040 /dev/zero > /dev/shm/held; echo held; read x"
STARTS_40 = "p=; i=0; while [ $i -lt 40 ]; do sleep 1000 >/dev/null 2>&1 & p=\"$p $!\"; i=$((i+1)); done; echo all; kill -9 $p"


class Box:
    def __init__(self, d, kind, start=True):
        self.d, self.kind = d, kind
        self.id = d.create(manifest={**KINDS[kind].block, **BLOCK}, start=start)
        self.path = "/v1/sandboxes/" + self.id

    def __call__(self, command, **fields):
        return self.d.exec(self.id, command, **fields)

    def tell(self, what, *more):
        check(f"{self.kind}: {what}", *more)

    def get(self):
        return self.d.must("GET", self.path + "/limits")

    def set(self, **limits):
        return self.d.call("PATCH", self.path + "/limits", limits)

    def refuses(self, what, code, name, **limits):
        """This change is refused with this code at this name, and changes nothing."""
        before, got = self.settings(), self.set(**limits)
        error = got.json["error"] if got.status >= 400 else {}
        self.tell(what, (error.get("code"), error.get("path")) == (code, name) and self.settings() == before, got, before, self.settings())

    def settings(self):
        return {name: value for name, value in self.get().items() if "used" not in name and name != "cpu_ms"}, self.files()

    def files(self):
        """The numbers in the files of its groups."""
        found = {}
        for group in groups_of({self.id}):
            for name in ("memory.max", "memory.high", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max", "cpu.max", "cpu.cfs_quota_us"):
                if os.path.isfile(os.path.join(group, name)) and os.path.basename(group).endswith(self.id):
                    with open(os.path.join(group, name), encoding="ascii") as f:
                        found[name] = f.read().split()[0]
        return found

    def quota(self):
        files = self.files()
        return files.get("cpu.cfs_quota_us") or files.get("cpu.max")


def memory(box):
    got = box(TAKES_100_MB)
    box.tell("memory below the limit can be taken", got["stdout"] == "100000000\n", got)
    told = box.set(memory_mb=48)
    got = box(TAKES_100_MB)
    box.tell("after memory_mb is lowered a command that takes more is killed or refused memory", told.status == 200 and got["stdout"] != "100000000\n", told, got)
    told = box.set(memory_mb=200)
    got = box(TAKES_100_MB)
    box.tell("after it is raised the same command runs", told.json["memory_mb"] == 200 and got["stdout"] == "100000000\n", told, got)
    files = box.files()
    box.tell("and no limit of memory is left between", files.get("memory.high", "max") == "max" and str(200 << 20) in (files.get("memory.max"), files.get("memory.limit_in_bytes")), files)


def held(box):
    """Memory that is in use stays: the limit is refused, and what holds it runs on."""
    number = box.d.must("POST", box.path + "/execs", {"command": HOLDS_40_MB, "background": True, "stdin": True})["exec"]
    until("it holds memory", lambda: "held" in box.d.must("GET", f"{box.path}/execs/{number}/output").get("stdout", ""))
    used = box.get()["memory_used_bytes"]
    box.refuses("memory below what is in use is refused with all other limits of that call", "limit_in_use", "memory_mb", memory_mb=20, pids=100, cpu_millicores=700)
    state = box.d.must("GET", f"{box.path}/execs/{number}")["state"]
    box.tell("and nothing was killed", state == "running" and used >= 40 << 20, state, used)
    box.d.call("POST", f"{box.path}/execs/{number}/stdin?end=true", b"\n")
    box("rm /dev/shm/held")


def processes(box):
    told = box.set(pids=20)
    got = box(STARTS_40)
    box.tell("after pids is lowered no more can be started", told.status == 200 and "all" not in got["stdout"], told, got)
    box.d.call("DELETE", f"{box.path}/execs/{got['exec']}")
    until("there is room for the command that ends them", lambda: box.d.call("POST", box.path + "/execs", {"command": "kill -9 -1"}).status == 200)
    told = box.set(pids=300)
    got = box(STARTS_40)
    box.tell("after it is raised, past the number of create too, they can", told.json["pids"] == 300 and got["stdout"] == "all\n", told, got)


def processor(box):
    told = box.set(cpu_millicores=1500)
    box.tell("cpu_millicores is in the group's file", told.status == 200 and box.quota() == "150000", told, box.files())


def later(box):
    told = box.set(timeout_ms=600000, output_bytes=5)
    got = box("echo 123456789")
    box.tell("timeout_ms and output_bytes hold for later commands", told.status == 200 and (got["stdout"], got["dropped_bytes"]) == ("12345", 5) and
             (got["timeout_ms"], got["timeout_by"]) == (600000, "manifest"), told, got)
    box.set(output_bytes=1000000)


def refused(box):
    box.refuses("above the cap of the host is refused as at create", "sandbox_policy_denied", "limits/memory_mb", memory_mb=CAP_MB + 1, pids=100)
    box.refuses("open_files cannot change", "capability_unavailable", "open_files", open_files=100, pids=100)
    box.refuses("disk_mb cannot change", "capability_unavailable", "disk_mb", disk_mb=100)
    box.refuses("no limit is a wrong call", "invalid_argument", "limits")
    box.refuses("nothing of it is on a disk, so io_read_bps is refused", "capability_unavailable", "io_read_bps", io_read_bps=1000000)


def lasts(box):
    """Pause, resume, and a keeper that is killed."""
    box.d.must("POST", box.path + "/pause")
    told = box.set(memory_mb=180)
    box.tell("a paused sandbox is changed, and stays paused", (told.status, told.json.get("status")) == (200, "paused"), told)
    box.d.must("POST", box.path + "/resume")
    before = box.settings()
    box.d.stop(signal.SIGKILL)
    box.d.start()
    after = box.settings()
    box.tell("limits outlive their daemon", before == after and after[0]["memory_mb"] == 180, before, after)
    told = box.set(memory_mb=190, cpu_millicores=600)
    box.tell("and the next one changes them", told.status == 200 and box.quota() == "60000", told, box.files())


def log_of(box):
    return [e for e in audit_chain.entries(os.path.join(box.d.state, "audit", "uid:%d" % os.getuid())) if e["action"].startswith("limits.")]


def box_process(box):
    """As its box says itself."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.path.join(box.d.state, "boxes", box.id, "sock"))
    keeper = Keeper(s)
    keeper.until(lambda: keeper.hello)
    keeper.close()
    return keeper.hello["pid"]


def lost(box):
    """The daemon is killed after its box was asked for a change, and before the change is stored."""
    before, pid = box.settings(), box_process(box)
    keeper = next(one for name, one in box.d.children().items() if "keeper" in name)
    os.kill(pid, signal.SIGSTOP)
    until("its box stands still", lambda: state_of(pid) in "T")

    def ask():
        with contextlib.suppress(OSError):  # the daemon ends
            box.set(memory_mb=200, pids=70)

    t = threading.Thread(target=ask)
    t.start()
    until("the change is recorded", lambda: log_of(box)[-1:] and log_of(box)[-1].get("input") == {"limits": {"memory_mb": 200, "pids": 70}})
    for _ in range(20):  # and then its box is asked
        box.d.must("GET", "/v1/sandboxes")
    box.d.stop(signal.SIGKILL)
    t.join()
    until("its keeper is gone", lambda: state_of(keeper) in "ZX")
    os.kill(pid, signal.SIGCONT)
    box.d.start()
    until(f"{box.kind}: a change that no daemon stored is taken back", lambda: box.settings() == before)
    box.tell("a change that no daemon stored is taken back", box.settings() == before, before, box.settings())


def recorded(box):
    until("each change has its outcome in the log", lambda: len(log_of(box)) % 2 == 0)
    log = log_of(box)
    actions = [e["action"] for e in log]
    box.tell("the audit log has each change before it was made, and then how it ended", len(log) > 6 and set(actions[0::2]) == {"limits.changing"} and
             set(actions[1::2]) == {"limits.changed", "limits.refused"}, actions)
    box.tell("with the numbers", log[0]["input"] == {"limits": {"memory_mb": 48}} and log[1]["output"]["message"] == "memory_mb 48 (256 before)", log[:2])


def command(box):
    done = subprocess.run([CARREL, "limits", box.id, "--memory", "170m", "--cpu", "1.5", "--pids", "70", "--state", box.d.state], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE)
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}
    box.tell("`carrel limits` changes and prints them", done.returncode == 0 and rows.get("memory_mb", [])[:2] == ["170", "MiB"] and rows.get("cpu_millicores", [])[:1] == ["1500"] and
             rows.get("pids", [])[:1] == ["70"], done)


def without_groups(box):
    """As at create: taken, and named as not enforced; what only a group could hold is refused."""
    told = box.set(memory_mb=100)
    box.tell("without a group a limit of memory is taken, and named as not enforced", told.status == 200 and "memory_mb" in told.json["not_enforced"], told)
    box.refuses("and pids is refused", "capability_unavailable", "pids", pids=100)


def alone(box):
    """A new sandbox has none of another's limits."""
    other = Box(box.d, box.kind)
    got = other.get()
    other.tell("another sandbox has its own", (got["memory_mb"], got["pids"], got["cpu_millicores"]) == (256, 64, 500), got)
    box.d.must("DELETE", other.path)


def one_kind(top, kind):
    folder = os.path.join(top, kind.replace(" ", "-"))
    os.makedirs(folder)
    state = os.path.join(folder, "state")
    make_image(kind, state)
    host = os.path.join(folder, "host.json")
    with open(host, "w", encoding="utf-8", opener=lambda where, flags: os.open(where, flags, 0o600)) as f:
        json.dump({"providers": {KINDS[kind].block["provider"]: {"isolated": True}}, "limits_max": {"memory_mb": CAP_MB}}, f)
    with Daemon("--host", host, state=state) as d:
        got = d.call("POST", "/v1/sandboxes", {"manifest": KINDS[kind].block, "start": True})
        if got.status >= 300:
            reason = why_not(KINDS[kind], got)
            check(f"{kind}: it does not start here, and says why ({reason})", reason is not None, got)
            return
        d.must("DELETE", "/v1/sandboxes/" + got.json["id"])
        box = Box(d, kind)
        if "memory_mb" in box.get().get("not_enforced", ()):
            without_groups(box)
            later(box)
            return
        for part in (memory, held, processes, processor, later, refused, lasts, command, recorded, lost, alone):
            if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
                part(box)


def cannot(top, kind, reason):
    """Refused before anything is made."""
    if KINDS[kind].bars():
        report(f"{kind}: its limits cannot change", skip=f"no such sandbox here: {', '.join(KINDS[kind].bars())}")
        return
    folder = os.path.join(top, "cannot-" + kind)
    os.makedirs(folder)
    state = os.path.join(folder, "state")
    make_image(kind, state)
    with Daemon("--host", host_file(folder), state=state) as d:
        made = d.call("POST", "/v1/sandboxes", {"manifest": KINDS[kind].block})
        if made.status >= 300:
            why = why_not(KINDS[kind], made)
            report(f"{kind}: its limits cannot change", [] if why else [repr(made)], skip=f"no such sandbox here: {why}")
            return
        path = "/v1/sandboxes/" + made.json["id"]
        for name, value in (("memory_mb", 100), ("pids", 100), ("cpu_millicores", 100), ("io_read_bps", 1000000)):
            got = d.call("PATCH", path + "/limits", {name: value, "output_bytes": 7})
            error = got.json["error"]
            check(f"{kind}: {name} is refused by name", (got.status, error["code"], error["path"], error["reason"]) == (501, "capability_unavailable", name, reason), got)
        got = d.must("GET", path + "/limits")
        check(f"{kind}: and nothing changed", "output_bytes" not in got, got)
        got = d.call("PATCH", path + "/limits", {"output_bytes": 7})
        check(f"{kind}: what the daemon itself holds can change", got.status == 200 and got.json["output_bytes"] == 7, got)
        if kind == "elsewhere":
            d.exec(made.json["id"], "true")
            got = d.call("PATCH", path + "/limits", {"output_bytes": 8})
            check(f"{kind}: also while it runs", got.status == 200 and (got.json["output_bytes"], got.json["status"]) == (8, "running"), got)
            got = d.call("PATCH", path + "/limits", {"pids": 8})
            check(f"{kind}: and the rest is refused as before", (got.status, got.code) == (501, "capability_unavailable"), got)


def unrecorded():
    """A change that cannot be recorded is not made."""
    with Daemon() as d:
        box, got = Box(d, "local"), []
        before = box.files()
        with d.held(next(pid for name, pid in d.children().items() if "recorder" in name)):
            t = threading.Thread(target=lambda: got.append(box.set(memory_mb=200)))
            t.start()
            t.join(PATIENCE)
        check("A change that is not in the audit log within 10 seconds is refused, and not made",
              got and (got[0].status, got[0].code) == (503, "audit_unavailable") and box.files() == before and box.get()["memory_mb"] == 256, got, before, box.files())


def main():
    kinds = sys.argv[1:2] or ["local", "container", "oci with runc"]
    with tempfile.TemporaryDirectory(prefix="carrel-limits-") as top:
        os.chmod(top, 0o755)
        parts = [lambda kind=kind: one_kind(top, kind) for kind in kinds]
        if len(sys.argv) == 1:
            parts += [lambda: cannot(top, "microvm", "machine"), lambda: cannot(top, "elsewhere", "elsewhere"), unrecorded]
        side_by_side(*parts)
    end()


if __name__ == "__main__":
    main()
