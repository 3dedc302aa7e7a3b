#!/usr/bin/env python3
"""audit_later_test - `carrel audit replay` of a later command of a sandbox: all that ran before it
runs again in one new sandbox, in order, and each command is compared. What came into the sandbox
otherwise is refused with its reason. Calls that change files: audit_files_test.
"""
import os
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import check, end, until
from daemon_rig import Daemon
from replay_rig import Bench, fill

ALL_BYTES = "".join(chr(i) for i in range(1, 128)) * 500


def wait(d, box, started):
    """Until a command in the background has ended."""
    at = "/v1/sandboxes/%s/execs/%d" % (box, started["exec"])
    until("it has ended", lambda: d.must("GET", at)["state"] == "ended")


def replays(b, d):
    box = d.create(manifest=b.text)
    done = [d.exec(box, ["sh", "-c", "cat >~/kept; mkdir /tmp/made; echo one | tee /tmp/made/file; echo begun >&2; exit 3"], input=ALL_BYTES),
            d.exec(box, ["sh", "-c", "wc -c <~/kept; cat file; echo two >>file; pwd; kill -TERM $$"], cwd="/tmp/made"),
            d.exec(box, ["sh", "-c", "sleep 1000000 >/dev/null 2>&1 & echo $! >/tmp/pid"]),
            d.exec(box, ["sh", "-c", "cat; cat ~/kept /tmp/made/file; kill $(cat /tmp/pid) && echo it ran; head -c 3000000 /dev/zero"], input="last\n")]
    check("a later command names the one before it", b.base(d, done[1]) == {"after": int(done[0]["audit_ref"].rsplit("/", 1)[1])}, b.base(d, done[1]))
    b.ended(d, done[3])
    status, got = b.replay(d, done[3]["audit_ref"])
    check("files, directories and processes that earlier ones left: it prints the same, byte for byte", status == 0 and got["equal"] and got["replay_supported"] and got["stdout"] == {"equal": True}, status, got)
    check("and so does each of those", [one["equal"] for one in got["before"]] == [True, True, True], got)
    log = list(audit_chain.entries(os.path.join(b.state, "audit", "uid:%d" % os.getuid())))
    again = [e for e in log if e["action"] == "exec.started"]
    check("each is recorded, and names its recording", [e["input"]["replay_of"] for e in again[-4:]] == [one["recording"] for one in got["before"]] + [got["recording"]], again)
    ends = [e for e in log if e["action"] == "exec.ended"]
    check("with what it printed", len(ends) == len(again) and all(e["output"]["content"]["stdout"]["sha256"] for e in ends), ends)
    status, got = b.replay(d, done[1]["audit_ref"])
    check("one in the middle: only those before it", status == 0 and got["equal"] and len(got["before"]) == 1, status, got)


def differs(b, d):
    box = d.create(manifest=b.text)
    d.exec(box, ["sh", "-c", "cat /proc/sys/kernel/random/uuid >/tmp/random; echo fixed"])
    d.exec(box, ["sh", "-c", "tee /tmp/other </tmp/random"])
    done = d.exec(box, ["sh", "-c", "echo fixed; cat /tmp/other"])
    b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("what an earlier one left differs: so does what is printed, from there on", status == 1 and not got["equal"] and got["stdout"]["byte"] >= 6 and got["stdout"]["line"] == 2, status, got)
    check("and the earlier one that differs is named", [one["equal"] for one in got["before"]] == [True, False], got)


def ends_otherwise(b, d):
    """Outcomes that are not the command's own."""
    box = d.create(manifest=b.text)
    late = d.exec(box, ["sleep", "1000000"], timeout_ms=100)
    missing = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["no-such-program"]})
    done = d.exec(box, ["echo", "after"])
    b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("a time limit of the call is that of the replay", late["outcome"] == "timed_out" and status == 0 and got["equal"], late, got)
    check("what did not start is left out", missing.status >= 400 and len(got["before"]) == 1, missing, got)
    killed = d.exec(box, ["sleep", "1000000"], background=True)
    d.must("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, killed["exec"]))
    wait(d, box, killed)
    done = d.exec(box, ["echo", "after"])
    got = b.refused(d, killed), b.refused(d, done)
    check("refused: one that was killed, and those after it", got == ((125, "replay_killed"),) * 2, got)


def workspace(b, d, top):
    first = os.path.join(top, "first")
    fill(first, "given by the host\n")
    b.manifest("mounts: [{source: workspace, at: /workspace}]\n")
    copies = [shutil.copytree(first, os.path.join(top, "copy-%d" % i), symlinks=True) for i in range(2)]
    box = d.create(manifest=b.text, workspace=first)
    b.ended(d, d.exec(box, ["sh", "-c", "echo more >>given"]))
    done = d.exec(box, ["sh", "-c", "cat given; rm sub/link; ls sub"])
    b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"], copies[0])
    check("in a copy of the workspace of then", status == 0 and got["equal"] and os.listdir(os.path.join(copies[0], "sub")) == [], status, got)
    with open(os.path.join(first, "given"), "a", encoding="utf-8") as f:
        f.write("by the host\n")
    changed, probe = os.stat(os.path.join(first, "given")).st_ctime_ns, os.path.join(top, "probe")

    def is_past():
        with open(probe, "w", encoding="utf-8"):
            return os.stat(probe).st_ctime_ns > changed + 100 * 1000 * 1000
    until("the change is clearly older than the next command", is_past)
    done = d.exec(box, ["cat", "given"])
    b.ended(d, done)
    got = b.refused(d, done, copies[1])
    check("refused: a program of the host changed a file in between", got == (125, "replay_workspace"), got)
    b.manifest("")


def disturbed(b, d):
    """What happens between two commands, and the reason."""
    cases = (
        ("a port inside was connected to", lambda box: d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"], "wait_ports": True}), "replay_port"),
    )
    for name, between, reason in cases:
        box = d.create(manifest=b.text, ports=[8123])
        one = d.exec(box, ["true"])
        between(box)
        done = d.exec(box, ["true"])
        got = b.refused(d, done)
        check("refused: %s" % name, got == (125, reason), got)
        b.ended(d, one)
        status, got = b.replay(d, one["audit_ref"])
        check("but not the command before it", status == 0 and got["equal"], status, got)
    box = d.create(manifest=b.text)
    d.exec(box, ["sh", "-c", "echo text >/tmp/file"])
    d.must("GET", "/v1/sandboxes/%s/files/stat?path=/tmp/file" % box)
    done = d.exec(box, ["cat", "/tmp/file"])
    b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("a call that only reads is no reason", status == 0 and got["equal"], status, got)


def at_once(b, d):
    box = d.create(manifest=b.text)
    waits = d.exec(box, ["sh", "-c", "mkfifo /tmp/go; read word </tmp/go; echo $word"], background=True)
    d.exec(box, ["sh", "-c", "until test -p /tmp/go; do :; done; echo gone >/tmp/go"])
    wait(d, box, waits)
    done = d.exec(box, ["true"])
    got = b.refused(d, waits), b.refused(d, done)
    check("refused: a command that ran beside another, and those after it", got == ((125, "replay_overlap"),) * 2, got)
    box = d.create(manifest=b.text)
    waits = d.exec(box, ["sh", "-c", "trap 'exit 5' USR1; echo begun >/tmp/begun; while :; do sleep 0.01; done"], background=True)
    until("it has begun", lambda: d.call("GET", "/v1/sandboxes/%s/files?path=/tmp/begun" % box).body == b"begun\n")
    d.must("POST", "/v1/sandboxes/%s/execs/%d/signal" % (box, waits["exec"]), {"signal": 10})
    wait(d, box, waits)
    got = b.refused(d, waits)
    check("refused: a call sent it a signal", got == (125, "replay_signal"), got)


def commands():
    """The command lines of all processes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                found.append(f.read().split(b"\0"))
        except OSError:
            pass
    return found


def killed(b, d):
    """The process that a replay's sandbox is tied to is killed while a later command runs."""
    mark = "1000000.%d" % os.getpid()
    b.manifest("env: {passthrough: [CARREL_AGAIN]}\n")
    box = d.create(manifest=b.text)
    d.exec(box, ["true"])
    done = d.exec(box, ["sh", "-c", "test -z \"$CARREL_AGAIN\" || exec sleep %s" % mark])
    b.ended(d, done)
    replay = b.start(d, done["audit_ref"], CARREL_AGAIN="yes")

    def sleeps():
        return [words for words in commands() if words[:2] == [b"sleep", mark.encode()]]
    until("the later command runs again", sleeps)
    with open("/proc/%d/task/%d/children" % (replay.pid, replay.pid), encoding="ascii") as f:
        for pid in f.read().split():
            os.kill(int(pid), signal.SIGKILL)
    out, err = replay.communicate()
    until("nothing of it lives on", lambda: not sleeps())
    check("a replay whose process is killed leaves no sandbox, and is no success", replay.returncode == 125 and b"equal" not in out, replay.returncode, out, err)
    b.manifest("")


def tampered(b, d):
    box = d.create(manifest=b.text)
    first = d.exec(box, ["sh", "-c", "cat >/tmp/file"], input="original\n")
    number = int(b.ended(d, first))
    done = d.exec(box, ["cat", "/tmp/file"])
    b.ended(d, done)
    output = next(e for e in audit_chain.entries(b.folder(d)) if e["seq"] == number)["output"]
    content = os.path.join(b.folder(d), "content", output["content"]["stdin"]["sha256"])
    with open(content, "r+b") as f:
        f.write(b"O")
    status, got = b.replay(d, done["audit_ref"])
    check("altered input of an earlier command is found", status == 126 and got["error"]["reason"] == "content.tampered", status, got)
    with open(content, "r+b") as f:
        f.write(b"o")
    status, got = b.replay(d, done["audit_ref"])
    check("and only that", status == 0 and got["equal"], status, got)
    d.stop()
    log = sorted(os.path.join(b.folder(d), n) for n in os.listdir(b.folder(d)) if n.startswith("log-"))[-1]
    with open(log, encoding="utf-8") as f:
        text = f.read()
    with open(log, "w", encoding="utf-8") as f:
        f.write(text.replace("cat >/tmp/file", "cat >/tmp/filf"))
    status, got = b.replay(d, done["audit_ref"])
    check("an entry that was changed is found, and nothing runs", status == 126 and got["error"]["code"] == "audit_broken", status, got)
    with open(log, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    top = tempfile.mkdtemp(prefix="carrel-later-")
    try:
        b = Bench(top)
        with Daemon("--host", b.host) as d:
            for part in (replays, differs, ends_otherwise, disturbed, at_once):
                part(b, d)
            workspace(b, d, top)
            killed(b, d)
            tampered(b, d)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    end()


main()
