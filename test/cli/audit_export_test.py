#!/usr/bin/env python3
"""audit_export_test - `carrel audit export`: ranges by number and by time, and rows that AgentsKit's
own rules verify, read by two other programs; hints of a reader; what `carrel doctor` says.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from audit_test import NUMBER, Bench, tell
from box_rig import PATIENCE

VERIFIER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig", "agentskit_verify.mjs")
SECRET = "test-secret"


def seqs(a):
    return [json.loads(line)["seq"] for line in rows_of(a.stdout)]


def rows_of(text):
    """A line may have U+2028: that is no end of a line of JSON."""
    return [line for line in text.split("\n") if line]


def takes_ranges(b):
    times = [json.loads(line)["ts"] for line in audit_chain.lines(b.log)]
    count, middle = len(times), times[3]

    def ranged(*words):
        return b.carrel("audit", "export", *words)

    tell("--from and --to take numbers, both included", seqs(ranged("--from", "2", "--to", "4")) == [2, 3, 4])
    a = ranged("--from", middle, "--to", times[5])
    tell("and times, both included, to the millisecond", seqs(a) == [n for n in range(count) if middle <= times[n] <= times[5]], times, a)
    zone = middle[:-1] + "+00:00"
    tell("a time can have a zone, and be mixed with a number", seqs(ranged("--from", zone, "--to", "3")) == [n for n in range(4) if times[n] >= middle])
    a = ranged("--from", "2")
    tell("a range that begins in the middle of the chain is named as one", "begins with entry 2, in the middle of the chain" in a.stderr, a)
    tell("a whole export is not", ranged().stderr == "" and seqs(ranged("--from", "0")) == list(range(count)))
    a = ranged("--from", "2099-01-01T00:00:00Z")
    tell("an empty range is named", (a.returncode, a.stdout) == (0, "") and "no entry is in this range" in a.stderr, a)
    for words, what in ((("--from", "4", "--to", "2"), "is before"), (("--from", "yesterday"), "RFC 3339"), (("--to", "-1"), "RFC 3339"), (("--from", "2026-02-30T00:00:00Z"), "RFC 3339"),
                        (("--to", ""), "RFC 3339"), (("--from", "99999999999999999999999"), "RFC 3339")):
        a = ranged(*words)
        tell("refused: %s" % " ".join(words), a.returncode == 125 and what in a.stderr and a.stdout == "", a)


def verdict(text):
    """Of JavaScript, where it is installed; else of Python."""
    try:
        audit_chain.check_agentskit(text, SECRET.encode())
        ours = {"ok": True}
    except ValueError as e:
        ours = {"ok": False, "why": str(e)}
    if shutil.which("node"):
        a = subprocess.run(["node", VERIFIER, SECRET], input=text, capture_output=True, text=True, timeout=PATIENCE, check=True)
        theirs = json.loads(a.stdout)
        if theirs["ok"] != ours["ok"]:
            raise AssertionError("%s, %s" % (theirs, ours))
    return ours["ok"]


def is_verified_by_agentskit(b):
    secret = os.path.join(b.top, "secret")
    with open(secret, "w", encoding="utf-8") as f:
        f.write(SECRET + "\n")

    def export(*words):
        return b.carrel("audit", "export", "--form", "agentskit", "--secret", secret, *words)

    text = export().stdout
    rows = [json.loads(line) for line in rows_of(text)]
    tell("each row has AgentsKit's members, seq from 1 on, with the entry as payload", [list(r) for r in rows] == [["seq", "timestamp", "actor", "action", "payload", "prevHash", "signature"]] * len(rows)
         and [r["seq"] for r in rows] == list(range(1, len(rows) + 1)) and [r["payload"] for r in rows] == b.entries(has_facts=True), rows[:1])
    tell("AgentsKit's rules verify them", verdict(text))
    part = export("--from", "2", "--to", "4")
    tell("a range verifies as a log of its own; payload.seq says where it begins", verdict(part.stdout) and json.loads(part.stdout.split("\n")[0])["payload"]["seq"] == 2
         and "in the middle of the chain" in part.stderr, part)
    lines = rows_of(text)
    for what, changed in (("a byte", text.replace('"exec.started"', '"exec.starteD"', 1)), ("a removed row", "\n".join(lines[:2] + lines[3:])),
                          ("two rows exchanged", "\n".join(lines[:2] + [lines[3], lines[2]] + lines[4:])), ("a missing beginning", "\n".join(lines[1:])),
                          ("another signature", text.replace('"signature":"', '"signature":"0', 1))):
        tell("and find %s" % what, not verdict(changed))


def hints_fit(b):
    """The hint of audit_unavailable speaks of a command that was not started; here is none."""
    os.rename(os.path.dirname(b.log), os.path.join(b.state, "moved"))
    os.mkdir(os.path.join(b.state, "audit"))
    a = b.carrel("audit", "export")
    tell("a missing log: the hint says how to begin one", a.returncode == 125 and "run --audit" in a.stderr and "Nothing was started" not in a.stderr, a)
    os.rmdir(os.path.join(b.state, "audit"))
    os.rename(os.path.join(b.state, "moved"), os.path.join(b.state, "audit"))
    first = os.path.join(b.log, "log-%012d.jsonl" % 0)
    os.rename(first, first + ".kept")
    os.mkfifo(first)
    for action in ("export", "tail", "verify"):
        a = b.carrel("audit", action)
        tell("%s: a FIFO instead of a log file is refused, with a hint for a reader" % action, a.returncode == 125 and "not a regular file" in a.stderr and "Nothing was started" not in a.stderr
             and "Correct the cause" in a.stderr, a)
    a = b.run("true")
    tell("and nothing is started", a.returncode == 125 and "Nothing was started" in a.stderr, a)


def is_shown_by_doctor(b):
    def doctor():
        return json.loads(b.carrel("doctor", "--json").stdout)["audit"]

    fresh = Bench(b.top, "fresh")
    said = json.loads(fresh.carrel("doctor", "--json").stdout)["audit"]
    tell("doctor: without a log it says so, and creates none", said["log"] is None and "no audit log" in said["why_none"] and not os.path.exists(os.path.dirname(fresh.log))
         and "none yet; `carrel run --audit` begins one" in fresh.carrel("doctor").stdout, said)
    last, said, text = b.entries(has_facts=True)[-1], doctor(), b.carrel("doctor").stdout
    tell("doctor: place, last checkpoint, keys and their mode", (said["log"], said["checkpoint"], said["keys"], said["key_mode"]) == (b.log, {"seq": last["seq"], "ts": last["ts"]}, 1, "0600")
         and "retention_days" not in said and b.log in text and "keys        1, mode 0600\n" in text, said, text)
    host = os.path.join(b.top, ".config", "carrel", "host.yaml")
    os.makedirs(os.path.dirname(host))
    with open(host, "w", encoding="utf-8") as f:
        f.write("audit_retention: 30d\n")
    tell("doctor: the retention of the host file", doctor().get("retention_days") == 30 and "30 days (audit_retention)" in b.carrel("doctor").stdout)
    os.unlink(host)
    os.chmod(os.path.join(b.log, "checkpoint.seed"), 0o644)
    tell("doctor: a key that others can read is named, with the command", doctor()["key_mode"] == "0644" and "OPEN to other users. Run: chmod 600" in b.carrel("doctor").stdout)
    os.chmod(os.path.join(b.log, "checkpoint.seed"), 0o600)


def main():
    top = os.path.realpath(tempfile.mkdtemp(prefix="carrel-export-"))
    try:
        b = Bench(top, "bench")
        b.run("sh", "-c", "exit 3")
        b.run("true", "a\nb\u2028\u00e9\U0001f600\x7f\x1b\"\\/")
        b.run("true")
        takes_ranges(b)
        is_verified_by_agentskit(b)
        is_shown_by_doctor(b)
        hints_fit(b)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print("1..%d" % NUMBER[0])


if __name__ == "__main__":
    main()
