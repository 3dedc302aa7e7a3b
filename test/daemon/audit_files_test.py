#!/usr/bin/env python3
"""audit_files_test - calls of the API that change files are recorded before they change anything,
with what they wrote, and `carrel audit replay` of a later command repeats them in order.
"""
import hashlib
import json
import os
import shutil
import socket
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import PATIENCE, check, end, until
from daemon_rig import Daemon
from replay_rig import Bench, fill

BYTES = bytes(range(256)) * 20


def files(box, more=""):
    return "/v1/sandboxes/%s/files%s" % (box, more)


def log(b, d):
    return list(audit_chain.entries(b.folder(d)))


def call_ended(b, d, box, count):
    """Waits for the ends of so many calls of this sandbox. Returns them."""
    def found():
        ends = [e for e in log(b, d) if e["action"] == "call.ended" and e["subject"]["ref"] == box]
        return ends if len(ends) >= count else None
    return until("the ends of %d calls are recorded" % count, found)


def last(b, d, box, argv=("true",)):
    done = d.exec(box, list(argv))
    b.ended(d, done)
    return done


def change(d, box):
    """Each kind of call."""
    d.must("PUT", files(box, "?path=/tmp/one"), BYTES)
    d.must("POST", files(box, "/mkdir"), {"path": "/tmp/a/b", "recursive": True, "mode": 0o700})
    d.must("POST", files(box), {"files": [{"path": "/tmp/a/b/x", "content": "text x"}, {"path": "/tmp/a/b/y", "content": "", "mode": 0o755}, {"path": "/tmp/two", "content": "two\n"}]})
    d.must("POST", files(box, "/move"), {"path": "/tmp/two", "target": "/tmp/a/moved"})
    d.must("PUT", files(box, "?path=/tmp/gone"), b"gone")
    d.must("DELETE", files(box, "?path=/tmp/gone"))


def replays(b, d):
    box = d.create(manifest=b.text)
    change(d, box)
    one = d.exec(box, ["sh", "-c", "cd /tmp; find . -mindepth 1 -printf '%M %p\\n' | sort; cat one a/b/x a/moved; echo more >>one"])
    d.must("PUT", files(box, "?path=/tmp/a/b/x"), b"replaced\n")
    failed = d.call("DELETE", files(box, "?path=/tmp/a"))
    done = last(b, d, box, ["sh", "-c", "cat /tmp/a/b/x; tail -c 5 /tmp/one"])
    status, got = b.replay(d, done["audit_ref"])
    before = [one.get("operation", "exec") for one in got.get("before", [])] if isinstance(got, dict) else None
    check("calls before and between commands are made again, in order", status == 0 and got["equal"] and before == ["file.write", "file.mkdir", "file.write", "file.move", "file.write", "file.remove", "exec", "file.write", "file.remove"], status, got)
    check("so each command prints the same, and a call that failed fails again", failed.status >= 400 and all(x["equal"] for x in got["before"]), failed, got)
    status, got = b.replay(d, one["audit_ref"])
    check("one in the middle: only those before it", status == 0 and got["equal"] and len(got["before"]) == 6, status, got)
    got = b.replay(d, str(call_ended(b, d, box, 8)[0]["seq"]))
    check("a call is no command to replay", got[0] == 125 and got[1]["error"]["code"] == "invalid_argument", got)


def records(b, d):
    box = d.create(manifest=b.text)
    change(d, box)
    ends = call_ended(b, d, box, 6)
    starts = [e for e in log(b, d) if e["action"] == "call.started" and e["subject"]["ref"] == box]
    check("one start and one end for each call, in order", [e["input"]["operation"] for e in starts] == ["file.write", "file.mkdir", "file.write", "file.move", "file.write", "file.remove"] and [e["input"]["start"] for e in ends] == [e["seq"] for e in starts], starts)
    check("a start names what it is about, and what it begins with", starts[3]["input"]["argv"] == ["move", "/tmp/two", "/tmp/a/moved"] and starts[0]["input"]["base"] == {"none": True} and starts[1]["input"]["base"] == {"after": starts[0]["seq"]} and starts[0]["input"]["announced"] == ["%d /tmp/one" % len(BYTES)], starts)
    def digest(text):
        return hashlib.sha256(text).hexdigest()
    check("an end has path, mode, size and SHA-256 of each file", ends[2]["output"]["files"] == [{"path": "/tmp/a/b/x", "bytes": 6, "sha256": digest(b"text x")}, {"path": "/tmp/a/b/y", "mode": 0o755, "bytes": 0, "sha256": digest(b"")}, {"path": "/tmp/two", "bytes": 4, "sha256": digest(b"two\n")}], ends[2])
    kept = ends[0]["output"]["content"]["stdin"]
    with open(os.path.join(b.folder(d), "content", kept["sha256"]), "rb") as f:
        check("the content of one file is kept as it is", kept["sha256"] == digest(BYTES) and f.read() == BYTES, kept)
    listed = d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]
    check("a call is no command of its sandbox", listed == [], listed)


def cut_off(b, d):
    """A caller that ends in the middle of a file: nothing is changed, and nothing is repeated."""
    box = d.create(manifest=b.text)
    last(b, d, box)
    s = socket.socket(socket.AF_UNIX)
    s.connect(d.http)
    s.sendall(("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\nbegun" % files(box, "?path=/tmp/never")).encode())
    until("the call is recorded", lambda: [e for e in log(b, d) if e["action"] == "call.started" and e["subject"]["ref"] == box])
    other = d.create(manifest=b.text)
    d.must("PUT", files(other, "?path=/tmp/x"), b"x")
    check("a slow upload holds up no other sandbox", d.must("GET", files(other, "/stat?path=/tmp/x"))["size"] == 1)
    s.close()
    ends = call_ended(b, d, box, 1)
    check("an upload that was cut off is recorded as not complete", ends[0]["output"]["complete"] is False and d.call("GET", files(box, "/stat?path=/tmp/never")).status == 404, ends)
    done = last(b, d, box, ["ls", "/tmp"])
    status, got = b.replay(d, done["audit_ref"])
    check("and is left out of a replay", status == 0 and got["equal"] and len(got["before"]) == 1, status, got)


def two_writers(b, d):
    """One path, two calls at once: each is whole, the last to end stays, and no replay guesses which."""
    box = d.create(manifest=b.text)
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(PATIENCE)
    s.connect(d.http)
    s.sendall(("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: 6\r\n\r\nfir" % files(box, "?path=/tmp/x")).encode())
    until("the first call is recorded", lambda: [e for e in log(b, d) if e["action"] == "call.started" and e["subject"]["ref"] == box])
    d.must("PUT", files(box, "?path=/tmp/x"), b"second")
    between = d.call("GET", files(box, "?path=/tmp/x")).body
    s.sendall(b"st.")
    head = s.recv(64)
    s.close()
    after = d.call("GET", files(box, "?path=/tmp/x")).body
    check("two writers of one path: each file is whole", (between, after) == (b"second", b"first.") and head.startswith(b"HTTP/1.1 204"), between, after, head)
    got = b.refused(d, last(b, d, box, ["cat", "/tmp/x"]))
    check("and a later command is not replayed", got == (125, "replay_overlap"), got)


def refused(b, d):
    cases = (
        ("something was redacted in it", lambda box: d.must("PUT", files(box, "?path=/tmp/x"), b"api_key=hunter22hunter22\n"), "replay_files", "redacted"),
        ("it is longer than is kept", lambda box: d.must("PUT", files(box, "?path=/tmp/x"), b"x" * (9 << 20)), "replay_files", "8 MiB"),
        ("a secret in its path", lambda box: d.must("PUT", files(box, "?path=/tmp/password=hunter22hunter22"), b"x"), "replay_files", "path"),
        ("a secret in the path of a directory", lambda box: d.must("POST", files(box, "/mkdir"), {"path": "/tmp/password=hunter22hunter22"}), "replay_words", "words"),
    )
    for name, between, reason, word in cases:
        box = d.create(manifest=b.text)
        one = d.exec(box, ["true"])
        between(box)
        done = last(b, d, box)
        status, got = b.replay(d, done["audit_ref"])
        error = got.get("error", {})
        check("refused: a call wrote a file, and %s" % name, status == 125 and error.get("reason") == reason and word in error["message"], status, got)
        status, got = b.replay(d, one["audit_ref"])
        check("but not the command before it", status == 0 and got["equal"], status, got)
    box = d.create(manifest=b.text)
    d.must("POST", files(box, "/mkdir"), {"path": "/tmp/made", "mode": 0o700})
    d.must("PUT", files(box, "?path=/tmp/%ff"), b"x")
    status, got = b.replay(d, last(b, d, box)["audit_ref"])
    check("refused: a path that is not UTF-8", status == 125 and got["error"]["reason"] == "replay_files" and "path" in got["error"]["message"], status, got)
    box = d.create(manifest=b.text)
    runs = d.exec(box, ["sh", "-c", "mkfifo /tmp/go; read word </tmp/go"], background=True)
    until("it has begun", lambda: d.call("GET", files(box, "/stat?path=/tmp/go")).status == 200)
    d.must("PUT", files(box, "?path=/tmp/x"), b"x")
    d.exec(box, ["sh", "-c", "echo go >/tmp/go"])
    got = b.refused(d, runs), b.refused(d, last(b, d, box))
    check("refused: a call changed files while a command ran, and those after it", got == ((125, "replay_overlap"),) * 2, got)


def workspace(b, d, top):
    first = os.path.join(top, "first")
    fill(first, "given by the host\n")
    b.manifest("mounts: [{source: workspace, at: /workspace}]\n")
    copies = [shutil.copytree(first, os.path.join(top, "copy-%d" % i), symlinks=True) for i in range(2)]
    box = d.create(manifest=b.text, workspace=first)
    d.must("PUT", files(box, "?path=given"), b"by a call\n")
    last(b, d, box, ["cat", "given"])
    d.must("POST", files(box, "/mkdir"), {"path": "new/deep", "recursive": True})
    d.must("PUT", files(box, "?path=/workspace/./new/deep/file"), b"in it\n")
    d.must("PUT", files(box, "?path=by/a/write"), b"in it\n")
    d.must("POST", files(box, "/move"), {"path": "given", "target": "new/given"})
    d.must("DELETE", files(box, "?path=sub&recursive=true"))
    past(first)
    done = last(b, d, box, ["find", ".", "-type", "f"])
    rows = [r["path"] for e in log(b, d) if e["action"] == "file.changed" and "execs" not in e["output"] and e["subject"]["ref"] == box for r in e["output"].get("events", [])]
    status, got = b.replay(d, done["audit_ref"], copies[0])
    check("files of the workspace that calls changed are recorded as changed", "/workspace/new/given" in rows, rows)
    check("and the calls explain them: the command is replayed in a copy", status == 0 and got["equal"], status, got)
    d.must("PUT", files(box, "?path=new/deep/file"), b"by a call\n")
    with open(os.path.join(first, "new", "deep", "file"), "a", encoding="utf-8") as f:
        f.write("by the host\n")
    past(first)
    got = b.refused(d, last(b, d, box), copies[1])
    check("refused: a program of the host changed such a file after the call", got == (125, "replay_workspace"), got)
    b.manifest("")


def past(folder):
    """Waits until what was changed in this directory so far is clearly older than what follows."""
    changed, probe = max(os.lstat(os.path.join(at, n)).st_ctime_ns for at, dirs, names in os.walk(folder) for n in dirs + names + ["."]), os.path.join(os.path.dirname(folder), "probe")

    def is_past():
        with open(probe, "w", encoding="utf-8"):
            return os.stat(probe).st_ctime_ns > changed + 100 * 1000 * 1000
    until("the change is clearly older", is_past)


def without_sink(b, d):
    """Whoever cannot record a call does not make it."""
    box = d.create(manifest=b.text)
    d.must("PUT", files(box, "?path=/tmp/before"), b"before")
    call_ended(b, d, box, 1)
    folder, aside = b.folder(d), b.folder(d) + "-aside"
    os.rename(folder, aside)
    with open(folder, "w", encoding="ascii"):
        pass
    d.restart_parts(lambda: os.kill(d.children()["carrel-recorder"], 9))
    got = d.call("PUT", files(box, "?path=/tmp/x"), b"x")
    check("no record, no call", got.status == 503 and got.code == "audit_unavailable", got)
    check("reading works", d.call("GET", files(box, "?path=/tmp/before")).body == b"before" and d.call("GET", files(box, "/stat?path=/tmp/x")).status == 404)
    os.unlink(folder)
    os.rename(aside, folder)
    until("calls work again", lambda: d.call("PUT", files(box, "?path=/tmp/x"), b"x").status < 300)
    starts = [e for e in log(b, d) if e["action"] == "call.started" and e["subject"]["ref"] == box]
    check("only the calls that were made are in the log", len(starts) == 2, starts)


def default_host(d):
    """Without audit: [content], digests and no content."""
    box = d.create(manifest="---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n---\n")
    d.must("PUT", files(box, "?path=/tmp/x"), BYTES)
    folder = os.path.join(d.state, "audit", "uid:%d" % os.getuid())
    ends = until("its end is recorded", lambda: [e for e in audit_chain.entries(folder) if e["action"] == "call.ended"])
    output = ends[0]["output"]
    check("without `audit: [content]`: the digest, and no content", output["files"][0]["sha256"] == hashlib.sha256(BYTES).hexdigest() and "content" not in output and not os.path.exists(os.path.join(folder, "content")), json.dumps(output))


def main():
    top = tempfile.mkdtemp(prefix="carrel-files-")
    try:
        b = Bench(top)
        with Daemon("--host", b.host) as d:
            for part in (replays, records, cut_off, two_writers, refused, without_sink):
                part(b, d)
            workspace(b, d, top)
        with Daemon() as d:
            default_host(d)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    end()


main()
