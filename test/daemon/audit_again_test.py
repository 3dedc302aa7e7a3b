#!/usr/bin/env python3
"""audit_again_test - `carrel audit replay` of the first command of a sandbox of the daemon: it runs
again if it began with nothing of the host, or with a workspace that is recorded by its digest.
Every other one is refused with its reason. Later commands: audit_later_test.
"""
import os
import shutil
import signal
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import check, end, until
from daemon_rig import Daemon
from replay_rig import Bench, fill

def replays(b, d):
    box = d.create(manifest=b.text)
    done = d.exec(box, ["sh", "-c", "cat; pwd >&2; exit 7"], input="given\n" * 3)
    number = b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("a deterministic command prints the same, named by its answer", status == 0 and got["equal"] and got["replay_supported"], status, got)
    status, got = b.replay(d, number)
    check("and by the number of its end", status == 0 and got["equal"], status, got)
    box = d.create(manifest=b.text)
    done = d.exec(box, ["sh", "-c", "echo fixed; tr -d - </proc/sys/kernel/random/uuid"])
    b.ended(d, done)
    status, got = b.replay(d, done["audit_ref"])
    check("a random output differs, at its byte and line", status == 1 and not got["equal"] and got["stdout"]["line"] == 2 and got["stdout"]["byte"] >= 6, status, got)
    code = d.must("POST", "/v1/sandboxes/%s/code" % d.create(manifest=b.text), {"language": "sh", "code": "echo of code"})
    number = b.ended(d, code)
    status, got = b.replay(d, number)
    check("code that ran is replayed", status == 0 and got["equal"], status, got)


def workspaces(b, d, top):
    """The first command of a sandbox that has a workspace, writable or not, and nothing else."""
    for name, mount in (("writable", "{source: workspace, at: /workspace}"), ("read-only", "{source: workspace, at: /workspace, mode: read-only}")):
        first, copy = os.path.join(top, "first-" + name), os.path.join(top, "copy-" + name)
        fill(first, "given by the host\n")
        b.manifest("mounts: [%s]\n" % mount)
        shutil.copytree(first, copy, symlinks=True)
        box = d.create(manifest=b.text, workspace=first)
        done = d.exec(box, ["sh", "-c", "cat given sub/link; echo more 2>/dev/null >>given; wc -l <given"])
        b.ended(d, done)
        base = b.base(d, done)
        check("%s: its digest is recorded" % name, len(base.get("sha256", "")) == 64 and base["names"] == 3 and base["bytes"] == 18, base)
        status, got = b.replay(d, done["audit_ref"], copy)
        check("%s: it runs again in a copy" % name, status == 0 and got["equal"], status, got)
        with open(os.path.join(copy, "given"), "a", encoding="utf-8") as f:
            f.write("changed since\n")
        got = b.refused(d, done, copy)
        check("%s: a copy that was changed is refused" % name, got == (125, "replay_workspace"), got)


def at_once(b, d, top):
    """Two commands wait for one digest: only the one that becomes the first can be replayed."""
    folder = os.path.join(top, "at-once")
    fill(folder, "x" * (64 << 20))
    b.manifest("mounts: [{source: workspace, at: /workspace}]\n")
    box, done = d.create(manifest=b.text, workspace=folder, start=True), []
    callers = [threading.Thread(target=lambda: done.append(d.exec(box, ["true"]))) for _ in range(2)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    bases = sorted((b.base(d, one) for one in done), key=lambda base: "error" in base)
    check("of two first commands at once, one has the digest", "sha256" in bases[0] and bases[1] == {"error": "overlap"}, bases)


def without_digest(b, d, top):
    """What else is mounted, and a workspace with something that has no content."""
    folder = os.path.join(top, "other")
    fill(folder, "text\n")
    b.manifest("mounts: [{source: workspace, at: /workspace}, {source: {inline: {provider: carrel-volume, config: {name: again}}}, at: /data}]\n")
    got = b.refused(d, d.exec(d.create(manifest=b.text, workspace=folder), ["true"]), folder)
    check("refused: a volume beside the workspace", got == (125, "replay_workspace"), got)
    os.mkfifo(os.path.join(folder, "fifo"))
    b.manifest("mounts: [{source: workspace, at: /workspace}]\n")
    done = d.exec(d.create(manifest=b.text, workspace=folder), ["true"])
    got = b.refused(d, done, folder)
    check("refused: a fifo in the workspace, and the entry says so", got == (125, "replay_workspace") and b.base(d, done) == {"error": "other_kind"}, got)
    os.unlink(os.path.join(folder, "fifo"))
    with open(os.path.join(folder, "long"), "wb") as f:
        f.truncate((1 << 30) - 100)  # seconds of reading, no space on the disk
    done = interrupted(d, d.create(manifest=b.text, workspace=folder, start=True))
    check("whoever reads the workspace is killed: the command runs, and its entry says so", done["exit_code"] == 0 and b.base(d, done) == {"error": "ended"}, b.base(d, done))


def readers(d):
    """The processes that look into sandboxes."""
    files = d.children()["carrel-files"]
    with open("/proc/%d/task/%d/children" % (files, files), encoding="ascii") as f:
        return {int(pid) for pid in f.read().split()}


def interrupted(d, box):
    """Runs the first command, and kills the process that reads its workspace for it."""
    until("the base is known", lambda: readers(d))
    before, done = readers(d), []
    caller = threading.Thread(target=lambda: done.append(d.exec(box, ["true"])))
    caller.start()
    until("it reads", lambda: readers(d) - before)
    for pid in readers(d) - before:
        os.kill(pid, signal.SIGKILL)
    caller.join()
    return done[0]


def refuses(b, d):
    """What is done in a new sandbox before the command, the command, the reason."""
    cases = (
        ("the call has a variable", lambda box: None, {"env": {"NAME": "value"}}, "replay_environment"),
        ("the call has another value of a variable", lambda box: None, {"env": {"PATH": "/usr/bin:/bin"}}, "replay_environment"),
        ("another directory", lambda box: None, {"cwd": "/tmp"}, "replay_directory"),
        ("a terminal", lambda box: None, {"tty": True}, "replay_terminal"),
        ("a secret among its words", lambda box: None, {"argv": ["echo", "--password=hunter22hunter"]}, "replay_words"),
    )
    for name, before, more, reason in cases:
        box = d.create(manifest=b.text)
        answer = before(box)
        assert answer is None or answer.status < 300, answer
        done = d.exec(box, **{"argv": ["true"], **more})
        got = b.refused(d, done)
        check("refused: %s" % name, got == (125, reason), got)
    box = d.create(manifest=b.text, env={"NAME": "value"})
    got = b.refused(d, d.exec(box, ["true"]))
    check("refused: the sandbox was created with a variable", got == (125, "replay_environment"), got)
    done = d.exec(d.create(manifest=b.text), ["true"])
    b.manifest("limits: {memory_mb: 512}\n")
    got = b.refused(d, done)
    check("refused: another manifest", got == (125, "replay_manifest"), got)
    b.manifest("")
    box = d.create(manifest=b.text, start=True)
    d.restart_parts(lambda: os.kill(next(p for n, p in d.children().items() if n.startswith("carrel-keeper")), 9))
    got = b.refused(d, d.exec(box, ["true"]))
    check("refused: the daemon was restarted before, so nobody knows what ran", got == (125, "replay_used"), got)


def tampered(b, d):
    done = d.exec(d.create(manifest=b.text), ["sh", "-c", "cat; echo $$"], input="input\n")
    number = int(b.ended(d, done))
    output = next(e for e in audit_chain.entries(b.folder(d)) if e["seq"] == number)["output"]
    with open(os.path.join(b.folder(d), "content", output["content"]["stdin"]["sha256"]), "r+b") as f:
        f.write(b"I")
    status, got = b.replay(d, done["audit_ref"])
    check("an altered input is not replayed", status == 126 and got["error"]["reason"] == "content.tampered", status, got)


def main():
    top = tempfile.mkdtemp(prefix="carrel-again-")
    try:
        b = Bench(top)
        with Daemon("--host", b.host) as d:
            for part in (replays, refuses, tampered):
                part(b, d)
            for part in (workspaces, at_once, without_digest):
                part(b, d, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    end()


main()
