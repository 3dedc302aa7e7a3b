#!/usr/bin/env python3
# slow: 30 s: parts of its daemon are killed and started again
"""audit_output_test - what the daemon's audit log says of what commands read and wrote
(docs/AUDIT.md, "The daemon"): digests, and the content itself with `audit: [content]`.

Each digest is compared with Python's own, over bytes that this test knows.
"""
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, check, end, report, until
from daemon_rig import Daemon, box_process

BINARY = r"import sys; sys.stdout.buffer.write(bytes(range(256)) * 700); sys.stderr.buffer.write(b'\0\xff' * 9)"
HOST = "audit: [content]\nproviders: {local: {isolated: true}}\n"


def folder(d):
    return os.path.join(d.state, "audit", "uid:%d" % os.getuid())


def log(d):
    """Every entry. A line that is being written is no entry yet."""
    while True:
        try:
            return list(audit_chain.entries(folder(d)))
        except json.JSONDecodeError:
            continue


def end_of(d, done):
    """The entry of the end of this exec."""
    chain, number = done["audit_ref"].removeprefix("audit://").split("/")

    def ends():
        return [e for e in log(d) if e["action"] == "exec.ended" and e["input"]["start"] == int(number)]
    until("the end of %s is recorded" % done["audit_ref"], ends)
    assert len(ends()) == 1, ends()
    return ends()[0]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def stream(data):
    return {"bytes": len(data), "sha256": sha256(data)}


def audit(d, *words):
    return subprocess.run([CARREL, "audit", *words, "--log", folder(d)], capture_output=True)


def verify(d):
    done = audit(d, "verify")
    return [] if done.returncode == 0 else [done.stderr.decode()]


# -- digests ---------------------------------------------------------------------------------------
def digests():
    cases = (  # name, words, what else the call says, standard output, standard error
        ("text on both", ["sh", "-c", "echo out; echo err >&2"], {}, b"out\n", b"err\n"),
        ("no output", ["true"], {}, b"", b""),
        ("binary output", ["python3", "-c", BINARY], {}, bytes(range(256)) * 700, b"\0\xff" * 9),
        ("more than the box keeps", ["sh", "-c", "head -c 1048576 /dev/zero"], {"keep_bytes": 4096}, bytes(1 << 20), b""),
        ("more than output_bytes", ["sh", "-c", "head -c 1048576 /dev/zero | tr '\\0' x; echo late >&2"], {"output_bytes": 5000}, b"x" * (1 << 20), b"late\n"),
        ("from standard input", ["sh", "-c", "cat; cat >&2 </dev/null"], {"input": "given\n" * 1000}, b"given\n" * 1000, b""),
        ("killed", ["sh", "-c", "echo before; kill -9 $$"], {}, b"before\n", b""),
        ("out of time", ["sh", "-c", "echo begun; sleep 600"], {"timeout_ms": 300}, b"begun\n", b""),
    )
    with Daemon() as d:
        box = d.create()
        for name, argv, more, out, err in cases:
            done = d.exec(box, argv, **more)
            got = end_of(d, done)["output"]
            check("%s: bytes and SHA-256 of both streams" % name, got["stdout"] == stream(out) and got["stderr"] == stream(err), got)
            if "output_bytes" in more:
                check("%s: the dropped bytes are in the digest, and counted" % name, got["dropped_bytes"] > 0, got)
        done = d.exec(box, ["sh", "-c", "tty; echo in >&2"], tty=True)
        got = end_of(d, done)["output"]
        check("a terminal's output is standard output", got["stdout"] == stream(done["stdout"].encode()) and got["stdout"]["bytes"] > 5
              and got["stderr"] == stream(b""), got, done)
        done = d.must("POST", "/v1/sandboxes/%s/code" % box, {"language": "python", "code": "print('a' * 10)"})
        check("of code that runs, too", end_of(d, done)["output"]["stdout"] == stream(b"a" * 10 + b"\n"), done)
        done = d.exec(box, ["sh", "-c", "echo later"], background=True)
        check("of a background command, too", end_of(d, done)["output"]["stdout"] == stream(b"later\n"), done)
        check("without `audit: [content]` nothing is kept", not os.path.exists(os.path.join(folder(d), "content")))
        report("the chain is intact", verify(d))


def deaths():
    """While a command prints, parts of the daemon are killed."""
    wait = "echo first; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo second"
    both = stream(b"first\nsecond\n")
    with Daemon() as d:
        box = d.create()

        def begin():
            d.exec(box, ["rm", "-f", "/tmp/go"])
            return d.exec(box, ["sh", "-c", wait], background=True)

        for part in ("carrel-keeper", "carrel-recorder"):
            done = begin()
            pid = next(p for name, p in d.children().items() if name.startswith(part))
            d.restart_parts(lambda pid=pid: os.kill(pid, signal.SIGKILL))
            d.exec(box, ["touch", "/tmp/go"])
            got = end_of(d, done)["output"]
            check("kill -9 of %s: the digest is over all that the command printed" % part, got["stdout"] == both, got)
        done = begin()
        d.stop(signal.SIGKILL)
        d.start()
        d.exec(box, ["touch", "/tmp/go"])
        got = end_of(d, done)["output"]
        check("kill -9 of the whole daemon: so it is", got["stdout"] == both, got)
        done = d.exec(box, ["sh", "-c", "echo short; sleep 1; echo end"], background=True)
        journal = os.path.join(d.state, "boxes", box, "journal")
        d.stop(signal.SIGKILL)
        before = os.path.getsize(journal)
        until("the command has ended without a daemon", lambda: os.path.getsize(journal) > before)
        d.start()
        got = end_of(d, done)["output"]
        check("a command that ends while there is no daemon: so it is", got["stdout"] == stream(b"short\nend\n"), got)
        done = d.exec(box, ["sh", "-c", "echo short; sleep 1; echo end"], background=True)
        pid = box_process(d, box)
        d.stop(signal.SIGKILL)
        before = os.path.getsize(journal)
        until("the command has ended without a daemon", lambda: os.path.getsize(journal) > before)
        os.kill(pid, signal.SIGKILL)
        d.start()
        got = end_of(d, done)["output"]
        check("and its box is killed as well: the journal has the digest", got.get("stdout") == stream(b"short\nend\n"), got)
        box = d.create()
        done = begin()
        os.kill(box_process(d, box), signal.SIGKILL)
        got = end_of(d, done)["output"]
        check("kill -9 of its box: the outcome is lost, and no digest is claimed", got["outcome"] == "lost" and "sha256" not in got.get("stdout", {}), got)
        report("the chain is intact", verify(d))


# -- content ---------------------------------------------------------------------------------------
def content_daemon(more=""):
    """With `audit: [content]` in its host file."""
    place = tempfile.mkdtemp(prefix="carrel-host-")
    name = os.path.join(place, "host.yaml")
    with open(name, "w", encoding="utf-8") as f:
        f.write(HOST + more)
    return Daemon("--host", name)


def show(d, entry, name):
    return audit(d, "show", str(entry["seq"]), "--" + name)


def kept_bytes():
    given = "zeile \u00e4\u4e16\n".encode() * 99
    secret = "token ghp_" + "A1b2" * 9
    with content_daemon() as d:
        box = d.create()
        done = d.exec(box, ["sh", "-c", "cat; echo problem >&2"], input=given.decode())
        entry = end_of(d, done)
        for name, data in (("stdin", given), ("stdout", given), ("stderr", b"problem\n")):
            check("%s is kept, byte for byte" % name, show(d, entry, name).stdout == data, show(d, entry, name))
            check("%s: digests of the original and of what is kept" % name, entry["output"][name] == stream(data) and entry["output"]["content"][name] == stream(data), entry)
        done = d.exec(box, ["sh", "-c", "echo '%s'; printf 'a\\0%s\\n'" % (secret, "b")])
        entry = end_of(d, done)
        kept = show(d, entry, "stdout").stdout
        check("a secret in it is redacted, a binary line is not changed", kept == b"token [redacted:github-token]\na\0b\n" and entry["output"]["content"]["stdout"]["redacted"] == {"github-token": 1}
              and entry["output"]["stdout"] == stream(secret.encode() + b"\na\0b\n"), kept, entry)
        done = d.exec(box, ["sh", "-c", "yes 0123456789abcde | head -c 9437184"], output_bytes=1000)
        entry = end_of(d, done)
        whole = (b"0123456789abcde\n" * (9 << 16))[:9 << 20]
        check("past 8 MiB, and past output_bytes: the beginning is kept, and the digest is over all", entry["output"]["stdout"] == stream(whole)
              and entry["output"]["content"]["stdout"] == {**stream(whole[:8 << 20]), "truncated": True}, entry)
        check("what was kept is printed", show(d, entry, "stdout").stdout == whole[:8 << 20])
        done = d.exec(box, ["sh", "-c", "tty; read x </dev/tty || :"], tty=True, timeout_ms=500)
        entry = end_of(d, done)
        check("at a terminal: its output is kept, its input is not", "stdin" not in entry["output"]["content"] and show(d, entry, "stdout").stdout.startswith(b"/dev/"), entry)
        done = d.must("POST", "/v1/sandboxes/%s/code" % box, {"language": "python", "code": "print('of code')"})
        check("of code", show(d, end_of(d, done), "stdout").stdout == b"of code\n")
        if os.getuid() == 0:
            pid = box_process(d, box)
            until("the box has freed what is on the disk", lambda: not files_in_memory(pid))
        report("the log verifies with its contents", verify(d))
        name = os.path.join(folder(d), "content", end_of(d, done)["output"]["content"]["stdout"]["sha256"])
        with open(name, "r+b") as f:
            f.write(b"O")
        found = audit(d, "verify")
        check("an altered content is found", found.returncode == 126 and b"content.tampered" in found.stderr, found)
        check("and is not printed", show(d, end_of(d, done), "stdout").stdout == b"")
        os.unlink(name)
        found = audit(d, "verify")
        check("a missing content is found", found.returncode == 126 and b"content.missing" in found.stderr, found)


def files_in_memory(pid):
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):
            found += [fd] if "memfd:content" in os.readlink("/proc/%d/fd/%s" % (pid, fd)) else []
    return found


def full():
    with content_daemon() as d:
        box = d.create()
        end_of(d, d.exec(box, ["echo", "kept"]))
        place = os.path.join(folder(d), "content")
        sparse = os.path.join(place, "0" * 64)
        with open(sparse, "wb") as f:
            f.truncate(1 << 30)
        answer = []

        def refused():
            answer[:] = [d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]})]
            return answer[0].status >= 400
        until("a command is refused", refused)
        error = answer[0].json["error"]
        check("no room for content: new commands are refused", (error["code"], error["reason"]) == ("audit_unavailable", "content_full"), answer)
        before = len([e for e in log(d) if e["action"] == "exec.started"])
        check("listing works", d.call("GET", "/v1/sandboxes/%s/execs" % box).status == 200)
        check("and no start was recorded", before == len([e for e in log(d) if e["action"] == "exec.started"]))
        os.unlink(sparse)
        check("with room, they run again", d.exec(box, ["echo", "again"])["stdout"] == "again\n")
        report("the chain is intact", verify(d))


def content_deaths():
    wait = "echo first; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo second"
    with content_daemon() as d:
        box = d.create()

        def begin():
            d.exec(box, ["rm", "-f", "/tmp/go"])
            return d.exec(box, ["sh", "-c", wait], background=True)

        for part in ("carrel-keeper", "carrel-recorder"):
            done = begin()
            pid = next(p for name, p in d.children().items() if name.startswith(part))
            d.restart_parts(lambda pid=pid: os.kill(pid, signal.SIGKILL))
            d.exec(box, ["touch", "/tmp/go"])
            check("kill -9 of %s while it runs: the whole output is kept" % part, show(d, end_of(d, done), "stdout").stdout == b"first\nsecond\n", end_of(d, done))
        done = d.exec(box, ["sh", "-c", "echo short; sleep 1; echo end"], background=True)
        journal = os.path.join(d.state, "boxes", box, "journal")
        d.stop(signal.SIGKILL)
        before = os.path.getsize(journal)
        until("the command has ended without a daemon", lambda: os.path.getsize(journal) > before)
        d.start()
        check("it ends while there is no daemon: its output is kept", show(d, end_of(d, done), "stdout").stdout == b"short\nend\n", end_of(d, done))
        done = begin()
        os.kill(box_process(d, box), signal.SIGKILL)
        got = end_of(d, done)["output"]
        check("kill -9 of its box: lost, and no content is claimed", got["outcome"] == "lost" and "content" not in got, got)
        report("the log verifies", verify(d))


def retention():
    """audit_retention removes the content of old entries, and the log says so."""
    with content_daemon("audit_retention: 30d\n") as d:
        place = os.path.join(folder(d), "content")
        box = d.create()
        old = end_of(d, d.exec(box, ["echo", "old"]))["output"]["content"]["stdout"]["sha256"]
        d.stop()
        audit_chain.age(folder(d))
        for name in os.listdir(place):
            os.utime(os.path.join(place, name), (0, 0))
        d.start()
        new = end_of(d, d.exec(box, ["echo", "new"]))
        until("the old content is removed", lambda: not os.path.exists(os.path.join(place, old)))
        until("an entry says so", lambda: "content.pruned" in [e["action"] for e in log(d)])
        check("what is newer is there", show(d, new, "stdout").stdout == b"new\n", new)
        report("and the log verifies", verify(d))


for part in (digests, deaths, kept_bytes, full, content_deaths, retention):
    if os.getuid() != 0 and part in (deaths, content_deaths):
        report(part.__name__, skip="only root sees which process has a box's journal open")
        continue
    part()
end()
