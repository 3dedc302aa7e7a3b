#!/usr/bin/env python3
# slow: 24 s: its recorder is killed, and waits for disks that are full
"""audit_daemon_test - the audit log of the daemon's sandboxes (docs/AUDIT.md, "The daemon"): P31.

One start and one end for each exec, also when processes of the daemon are killed, the disk is full
or broken, and many write at once. test/rig/audit_chain.py reads the log, independently of Carrel.
"""
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from audit_rig import SECONDS, actions, all_ended, entry_of, folder, log, starts_and_ends, unpaired, verify
from box_rig import CARREL, check, end, report, until
from daemon_rig import Daemon, box_process


# -- what an entry says ----------------------------------------------------------------------------
def content():
    wrong = []
    with Daemon() as d:
        box = d.create(manifest={"provider": "local", "config": {}, "identity": {"name": "root", "email": "r@x.example"}})
        plain = d.create()
        uids = [d.exec(b, ["id", "-u"])["stdout"] for b in (box, plain)]
        check("A36-144: the identity is a label in the log, and selects no user", uids[0] == uids[1] != "0\n" or os.getuid() != 0, uids)
        done = d.exec(box, ["sh", "-c", "exit 3"], env={"NAME": "CANARY-7f3"}, timeout_ms=5000)
        until("its end is recorded", lambda: actions(d, box).count("exec.ended") == 2)
        start = entry_of(d, done["audit_ref"])
        wanted = {"argv": ["sh", "-c", "exit 3"], "argc": 3, "argv_sha256": hashlib.sha256(b"sh\0-c\0exit 3\0").hexdigest(), "env": ["NAME"],
                  "exec": 2, "timeout_ms": 5000, "timeout_by": "call", "identity": ["root"], "terminal": False, "background": False}
        wrong += ["%s: %r" % (k, start["input"].get(k)) for k, v in wanted.items() if start["input"].get(k) != v]
        wrong += [k for k in ("cwd", "norm_sha256", "manifest_sha256") if k not in start["input"]]
        wrong += [] if start["actor"]["id"] == "uid:%d" % os.getuid() else [start["actor"]]
        ended = [e for e in log(d) if e["action"] == "exec.ended" and e["input"] == {"exec": 2, "start": start["seq"]}]
        wrong += [] if len(ended) == 1 and ended[0]["output"]["exit_code"] == 3 else [ended]
        text = b"".join(audit_chain.lines(folder(d)))
        wrong += ["a value of the environment is in the log"] if b"CANARY-7f3" in text else []
        report("a start says what runs, by whom and what is allowed, and never a value of the environment", wrong)
        same = d.must("GET", "/v1/sandboxes/%s/execs/2" % box)["audit_ref"]
        check("audit_ref is in later answers too", same == done["audit_ref"], same)
        refused = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": [""]})
        none = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["/no/such"]})
        until("both are recorded", lambda: actions(d, box).count("exec.ended") == 3)
        last = [e for e in log(d) if e["action"] == "exec.refused"]
        check("a refused exec is exec.refused, with the error", refused.status == 422 or refused.status == 400, refused)
        check("and one entry", len(last) == 1 and last[0]["output"]["error"]["code"] == refused.code, last)
        outputs = [e["output"] for e in log(d) if e["action"] == "exec.ended"]
        check("a program that does not exist: a start, and an end with the error", outputs[-1].get("error", {}).get("code") == "command_not_found", outputs[-1], none)
        d.must("POST", "/v1/sandboxes/%s/pause" % box, {})
        d.must("DELETE", "/v1/sandboxes/" + box)
        until("stopped is recorded", lambda: "sandbox.stopped" in actions(d, box))
        seen = actions(d, box)
        check("the lifecycle is recorded", [a for a in seen if not a.startswith("exec.")][:2] == ["sandbox.created", "sandbox.started"] and seen[-1] == "sandbox.stopped", seen)
        report("the chain is intact", verify(d))
        done = subprocess.run([CARREL, "audit", "tail", "-n", "1", "--json", "--state", d.state], capture_output=True, text=True)
        check("audit --state finds the caller's log of this daemon", done.returncode == 0 and json.loads(done.stdout) == log(d)[-1], done.stdout, done.stderr)


# -- J07 -------------------------------------------------------------------------------------------
def kills():
    """kill -9 of each process while commands start."""
    dice = random.Random(7)
    with Daemon() as d:
        box = d.create(start=True)
        for victim in ("carrel-recorder", "carrel-keeper", "box", "all"):
            stop = threading.Event()

            def storm():
                while not stop.is_set():
                    try:
                        d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]})
                    except OSError:
                        pass
            threads = [threading.Thread(target=storm, daemon=True) for _ in range(4)]
            long = d.exec(box, ["sleep", "300"], background=True)
            ref = long["audit_ref"]
            for t in threads:
                t.start()
            before = len(starts_and_ends(d))
            until("commands start", lambda: len(starts_and_ends(d)) > before + dice.randrange(20))

            def kill():
                targets = d.children() if victim == "all" else {}
                pids = [targets[n] for n in ("carrel-keeper", "carrel-recorder")] if victim == "all" else \
                    [box_process(d, box)] if victim == "box" else [d.children()[victim]]
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):       # it ends with the one before
                        os.kill(pid, signal.SIGKILL)
            if victim == "box":
                kill()
                until("the sandbox failed", lambda: d.must("GET", "/v1/sandboxes/" + box)["status"] == "failed")
            else:
                d.restart_parts(kill)
            stop.set()
            for t in threads:
                t.join()
            number = int(ref.rsplit("/", 1)[1])
            if victim == "box":
                until("its end is recorded", lambda: starts_and_ends(d)[number], SECONDS)
                check("J07 box: what ran is lost", starts_and_ends(d)[number] == [{"outcome": "lost"}] or
                      starts_and_ends(d)[number][0]["outcome"] == "lost", starts_and_ends(d)[number])
                d.must("DELETE", "/v1/sandboxes/" + box)
                box = d.create(start=True)
            else:
                check("J07 %s: what runs on has no end" % victim, not starts_and_ends(d)[number], starts_and_ends(d)[number])
                again = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, long["exec"]))
                check("and its audit_ref is known again", again.get("audit_ref") == ref, again)
                d.must("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, long["exec"]))
            all_ended(d)
            check("J07 %s: one end for each start" % victim, not unpaired(d), unpaired(d))
        report("the chain is intact", verify(d))


def while_it_is_down():
    """The daemon is not there when a command ends, and when a box dies."""
    with Daemon() as d:
        box, other = d.create(), d.create()
        first = d.exec(box, ["sh", "-c", "while ! test -e go; do sleep 0.01; done; exit 7"], background=True)
        second = d.exec(other, ["sleep", "300"], background=True)
        victim = box_process(d, other)
        d.stop(signal.SIGKILL)
        os.kill(victim, signal.SIGKILL)
        d.start()
        d.call("PUT", "/v1/sandboxes/%s/files?path=go" % box, b"")
        all_ended(d)
        found = starts_and_ends(d)
        numbers = [int(x["audit_ref"].rsplit("/", 1)[1]) for x in (first, second)]
        check("N3: a command that ended later has its outcome", [o["exit_code"] for o in found[numbers[0]]] == [7], found[numbers[0]])
        check("N3: a command whose box died is lost, once", [o["outcome"] for o in found[numbers[1]]] == ["lost"], found[numbers[1]])


# -- retention -------------------------------------------------------------------------------------
def retention():
    """audit_retention of the host file: applied when a file begins, and at the start; never to a log that does not verify."""
    with tempfile.TemporaryDirectory() as top:
        host = os.path.join(top, "host.yaml")
        with open(host, "w", encoding="utf-8") as f:
            f.write("providers: {local: {isolated: true}}\naudit_retention: 30d\n")
        with Daemon("--host", host) as d:
            first = os.path.join(folder(d), "log-%012d.jsonl" % 0)
            box = d.create()
            d.exec(box, ["true"])
            all_ended(d)
            d.stop()
            old, _ = audit_chain.age(folder(d))
            d.start()
            d.exec(box, ["true"])
            until("the old file is removed", lambda: not os.path.exists(first), SECONDS)
            found = log(d)
            check("what is older than audit_retention is removed", found[0]["seq"] == len(old) and "log.pruned" in [e["action"] for e in found], found[0])
            report("and the rest verifies", verify(d))
            d.stop()
            path = os.path.join(folder(d), "log-%012d.jsonl" % found[0]["seq"])
            with open(path, "rb") as f:
                lines = f.read().splitlines(keepends=True)
            d.start()
            until("it goes on", lambda: d.exec(box, ["true"])["exit_code"] == 0, SECONDS)
            check("a young file stays at the next start", os.path.exists(path) and len(lines) <= len(open(path, "rb").read().splitlines()))


def retention_beside_commands(count=300):
    """A log of 20 MiB is verified before its old file is removed, and commands run meanwhile: of the
    owner of that log, and of another one. Nothing is removed before the verification has ended.
    """
    with tempfile.TemporaryDirectory() as top:
        host = os.path.join(top, "host.yaml")
        with open(host, "w", encoding="utf-8") as f:
            f.write("providers: {local: {isolated: true}}\naudit_retention: 30d\n")
        with Daemon("--host", host) as d:
            box = d.create()
            d.exec(box, ["true"])
            all_ended(d)
            token = {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"scope": "all", "owner": "other"})["token"]}
            other = d.must("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}}}, headers=token)["id"]
            d.must("POST", "/v1/sandboxes/%s/execs" % other, {"argv": ["true"]}, headers=token)
            d.stop()
            first = os.path.join(folder(d), "log-%012d.jsonl" % 0)
            audit_chain.age(folder(d), count)
            d.start()
            meanwhile = {"own": 0, "other": 0}
            while os.path.exists(first) and meanwhile["own"] < 10000:
                d.exec(box, ["true"])
                meanwhile["own"] += os.path.exists(first)
                d.must("POST", "/v1/sandboxes/%s/execs" % other, {"argv": ["true"]}, headers=token)
                meanwhile["other"] += os.path.exists(first)
            check("commands of the owner, and of another one, run while the log is verified", min(meanwhile.values()) > 8, meanwhile)
            all_ended(d)
            check("and their entries are in the log", len(starts_and_ends(d)) >= meanwhile["own"] and not unpaired(d), len(starts_and_ends(d)))
            report("which verifies", verify(d))
            d.call("DELETE", "/v1/sandboxes/" + other, headers=token)


# -- J08, Z10, Z26 ---------------------------------------------------------------------------------
def works_without_log(d, box, number, name):
    """What never depends on the log."""
    wrong = []
    for method, path in (("GET", "/v1/sandboxes"), ("GET", "/v1/sandboxes/" + box), ("GET", "/v1/sandboxes/%s/execs/%d" % (box, number)),
                         ("GET", "/v1/sandboxes/%s/files?path=there" % box), ("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, number))):
        a = d.call(method, path)
        wrong += [] if a.status < 300 else [repr(a)]
    report("%s: list, read and kill work" % name, wrong)


def broken(name, breaks, heals):
    with Daemon() as d:
        box = d.create()
        d.call("PUT", "/v1/sandboxes/%s/files?path=there" % box, b"x")
        runs = d.exec(box, ["sleep", "300"], background=True)
        held = breaks(d)
        for last in range(64):          # the last block of the log may have room for some entries
            refused = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["touch", "ran%d" % last]})
            if refused.status != 200:
                break
        check("%s: a new command is refused" % name, refused.status == 503 and refused.code == "audit_unavailable", refused)
        works_without_log(d, box, runs["exec"], name)
        heals(d, held)
        until("commands run again", lambda: d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]}).status == 200, SECONDS)
        all_ended(d)
        number = int(runs["audit_ref"].rsplit("/", 1)[1])
        check("%s: what ended meanwhile is recorded then" % name, [o["outcome"] for o in starts_and_ends(d)[number]] == ["killed"], starts_and_ends(d)[number])
        check("%s: the refused command never ran" % name, d.exec(box, ["test", "-e", "ran%d" % last])["exit_code"] == 1)
        all_ended(d)
        check("%s: one end for each start" % name, not unpaired(d), unpaired(d))
        report("%s: the chain is intact" % name, verify(d))


def full(d):
    path = os.path.join(d.state, "filler")
    with open(path, "wb", buffering=0) as f:
        for size in (65536, 1024, 1):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError:
                continue
    return path


def strace(d):
    """Each sync of the recorder fails."""
    pid = d.children()["carrel-recorder"]
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO", "-p", str(pid)])

    def attached():
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return "TracerPid:\t%d\n" % tracer.pid in f.read()
    until("strace traces the recorder", attached)
    return tracer


def untrace(_, tracer):
    tracer.terminate()
    tracer.wait()


def on_small_disk():
    """In a mount namespace of its own, whose temporary directory holds 4 MiB."""
    broken("J08 full disk", full, lambda _, path: os.unlink(path))


def stopped():
    """Z26: the recorder does not read. Nothing but new commands waits for it."""
    with Daemon() as d:
        box = d.create()
        runs = d.exec(box, ["sleep", "300"], background=True)
        d.call("PUT", "/v1/sandboxes/%s/files?path=there" % box, b"x")
        with d.held(d.children()["carrel-recorder"]):
            results = []
            asking = threading.Thread(target=lambda: results.append(d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]})))
            asking.start()
            works_without_log(d, box, runs["exec"], "Z26 stopped recorder")
            asking.join()
            check("Z26: a new command is refused after 10 seconds", results[0].status == 503 and results[0].code == "audit_unavailable", results[0])
        all_ended(d)
        late = [ends for ends in starts_and_ends(d).values() if "error" in ends[0]]
        check("Z26: its start came to the disk later, and has an end that says why", len(late) == 1 and late[0][0]["error"]["code"] == "audit_unavailable", late)
        check("Z26: one end for each start", not unpaired(d), unpaired(d))


# -- J09, J12 --------------------------------------------------------------------------------------
def writers(count=64):
    with Daemon() as d:
        boxes = [d.create(start=True) for _ in range(4)]
        refs = []

        def write(i):
            for _ in range(3):
                refs.append(d.exec(boxes[i % len(boxes)], ["true"])["audit_ref"])
        threads = [threading.Thread(target=write, args=(i,)) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        all_ended(d)
        check("J09: %d writers, one chain without a gap" % count, len(set(refs)) == 3 * count and not unpaired(d), len(set(refs)), unpaired(d))
        report("the chain is intact", verify(d))


def main():
    if "small" in sys.argv:
        on_small_disk()
        end()
    for test in (content, kills, while_it_is_down, retention, retention_beside_commands, stopped, writers):
        if len(sys.argv) > 1 and test.__name__ not in sys.argv:
            continue
        if os.getuid() != 0 and test in (content, kills, while_it_is_down):
            report(test.__name__, skip="only root sees which process has a box's journal open, and can pause a sandbox without a group of its own")
            continue
        try:
            test()
        except Exception as e:  # one failing check must not hide the others
            report(test.__name__, ["%s: %s" % (type(e).__name__, e)])
    if os.getuid() == 0 and len(sys.argv) == 1:
        broken("J08 EIO", strace, untrace)
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount -t tmpfs -o size=4m none "$1" && TMPDIR=$1 exec "$2" "$3" small',
                               "sh", "/mnt", sys.executable, os.path.abspath(__file__)], capture_output=True, text=True)
        report("J08: a full disk, in a mount namespace of its own", [] if done.returncode == 0 else [done.stdout + done.stderr])
    end()


if __name__ == "__main__":
    main()
