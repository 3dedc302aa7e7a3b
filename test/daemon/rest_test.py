#!/usr/bin/env python3
# slow: 30 s: long bodies go through every layer
# deep as root: a longer body
"""rest_test - REST against `carrel serve`: every route does what it documents, in real sandboxes.

door_test.py tests without boxes what the door refuses, and how it forwards bytes; here, whole
sequences of calls are tested.
"""
import base64
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, DEEP, PATIENCE, ROOT, check, end, report
from daemon_rig import Daemon, box_process, until
from wire import ROWS

MANIFEST = "---\nschema: sandbox/v1\nid: '@test/rest'\nversion: 1.0.0\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 60000}\n---\nwords\n"


def lifecycle(d):
    check("health and info", d.call("GET", "/healthz").status == 204 and "python3.11" in str(d.must("GET", "/v1/info")) or d.must("GET", "/v1/info")["version"])
    past = d.call("POST", "/v1/sandboxes", {"delete_at_ms": int(time.time())})
    check("a deletion that was to be in 1970 is refused", past.code == "invalid_argument" and past.json["error"]["path"] == "delete_at_ms", past)
    page = d.must("GET", "/v1/openapi.json")
    missing = [r for r in ROWS if page["paths"].get(r[3], {}).get(r[2].lower(), {}).get("operationId") != r[1]]
    check("openapi.json has all %d operations" % len(ROWS), not missing and len(ROWS) > 25, *missing)
    box = d.must("POST", "/v1/sandboxes", {"name": "life", "manifest": MANIFEST, "metadata": {"k": [1, {"ü": None}]}, "timeout_ms": 600000, "env": {"GIVEN": "a=b"}})
    check("create: pending, with what was given", box["status"] == "pending" and box["name"] == "life" and box["metadata"] == {"k": [1, {"ü": None}]} and 0 < box["timeout_ms"] <= 600000, box)
    check("get by id and by name; list", d.must("GET", "/v1/sandboxes/life")["id"] == box["id"] and box["id"] in [i["id"] for i in d.must("GET", "/v1/sandboxes")["items"]])
    again = d.call("POST", "/v1/sandboxes", {"name": "life"})
    check("a name never stands for two", again.status in (200, 409, 422) and (again.status != 200 or again.json["id"] == box["id"]), again)
    first, second = (d.must("POST", "/v1/sandboxes", {}, headers={"Idempotency-Key": "once"}) for _ in range(2))
    check("the same key makes one sandbox (G15)", first["id"] == second["id"], first, second)
    bad = d.call("POST", "/v1/sandboxes", {"manifest": MANIFEST.replace("60000", "-1")})
    check("a wrong manifest is refused at create, with the place", bad.status == 422 and bad.json["error"]["path"] == "limits/timeout_ms" and bad.json["error"]["line"] == 7, bad)
    got = d.exec("life", "echo $GIVEN; pwd")
    check("its first use makes it", got["stdout"].startswith("a=b\n") and d.must("GET", "/v1/sandboxes/life")["status"] == "running", got)
    before = d.must("GET", "/v1/sandboxes/life")["timeout_ms"]
    after = d.must("POST", "/v1/sandboxes/life/extend", {"duration_ms": 60000})["timeout_ms"]
    check("extend adds", 50000 < after - before <= 60000, before, after)
    paused = d.call("POST", "/v1/sandboxes/life/pause")
    if paused.status == 200:
        resumed = d.must("POST", "/v1/sandboxes/life/resume")
        check("pause and resume", paused.json["status"] == "paused" and resumed["status"] == "running", paused, resumed)
    else:
        check("pause where it cannot be says so", paused.code == "capability_unavailable", paused)
    check("instructions are words", len(d.must("GET", "/v1/sandboxes/life/instructions")["text"]) > 50)
    check("an event is heard", d.call("POST", "/v1/sandboxes/life/events", {"event": "turn-end"}).status == 200)
    check("a task begins and ends", d.call("POST", "/v1/sandboxes/life/tasks", {"task": "t1", "timeout_ms": 60000}).status == 204 and
          d.must("DELETE", "/v1/sandboxes/life/tasks/t1") == {"existed": True} and d.must("DELETE", "/v1/sandboxes/life/tasks/t1") == {"existed": False})
    claimed = d.call("POST", "/v1/claims", {})
    check("without a pool nothing is claimed, and that is typed", (claimed.status, claimed.code, claimed.json["error"].get("reason")) == (501, "capability_unavailable", "no_pool"), claimed)
    check("stop says whether there was one", d.must("DELETE", "/v1/sandboxes/life") == {"existed": True} and d.must("DELETE", "/v1/sandboxes/life") == {"existed": False} and
          d.call("GET", "/v1/sandboxes/life").code == "sandbox_not_found")


def commands(d, box):
    path = "/v1/sandboxes/%s/execs" % box
    got = d.exec(box, ["sh", "-c", "echo out; echo err >&2; exit 7"])
    check("foreground: output and status", (got["stdout"], got["stderr"], got["exit_code"], got["outcome"]) == ("out\n", "err\n", 7, "exited"), got)
    got = d.exec(box, "kill -9 $$")
    check("a signal is told", got["outcome"] == "signaled" and got["signal"] == 9 and got["exit_code"] == 137, got)
    got = d.exec(box, "sleep 1000 & sleep 1000", timeout_ms=300)
    check("a timeout kills the tree", got["outcome"] == "timed_out" and got["duration_ms"] < 1000 * PATIENCE, got)
    got = d.exec(box, ["cat"], input="aé€")
    check("input given at once", got["stdout"] == "aé€", got)
    got = d.exec(box, ["sh", "-c", "pwd; echo $X"], cwd="/tmp", env={"X": "y z"})
    check("directory and environment", got["stdout"] == "/tmp\ny z\n", got)
    d.exec(box, "mkdir -p sub/deep")
    got = [d.exec(box, "pwd; echo $PWD", cwd=where)["stdout"].split() for where in ("sub/deep", "./sub/", ".")]
    check("a relative directory begins where commands begin", got == [["/home/agent/sub/deep"] * 2, ["/home/agent/sub/"] * 2, ["/home/agent"] * 2], got)
    got = d.exec(box, "head -c 1100000 /dev/zero; head -c 1500000 /dev/zero >&2")
    check("what an answer has no room for is counted as dropped", len(got["stdout"]) == len(got["stderr"]) == 1 << 20 and got["dropped_bytes"] == 2600000 - (2 << 20), got["dropped_bytes"])
    check("no such command, no such directory", d.call("POST", path, {"argv": ["nope-nope"]}).code == "command_not_found" and d.call("POST", path, {"argv": ["true"], "cwd": "/nope"}).code == "invalid_argument")
    one, two = (d.must("POST", path, {"command": "echo $$ >> /tmp/once; cat /tmp/once | wc -l"}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    check("the same key runs once (Z24)", one["exec"] == two["exec"] and one["stdout"] == two["stdout"] == "1\n", one, two)
    text = list(d.stream("POST", path, {"command": "printf 'a\\303'; sleep 0.1; printf '\\251b'; echo e >&2; exit 2"}))
    out = "".join(e["data"] for n, e in text if n == "stdout")
    check("events: started, pieces, end", text[0][0] == "started" and out == "aéb" and text[-1][0] == "end" and text[-1][1]["exit_code"] == 2 and "stdout" not in text[-1][1], text)
    bg = d.call("POST", path, {"command": "echo begun; read x; echo got $x; read y; echo end", "background": True, "stdin": True})
    number = bg.json["exec"]
    check("background answers at once", bg.status == 201 and bg.json["state"] == "running", bg)
    snap = until("its first words", lambda: (lambda s: s if s["stdout"] else None)(d.must("GET", "%s/%d/output" % (path, number))))
    check("a snapshot does not wait", snap["stdout"] == "begun\n" and snap["state"] == "running", snap)
    check("standard input, and its end", d.call("POST", "%s/%d/stdin" % (path, number), b"words\n").status == 204 and d.call("POST", "%s/%d/stdin?end=true" % (path, number), b"").status == 204)
    done = d.must("GET", "%s/%d/output?wait=true&stdout_offset=6" % (path, number))
    check("waiting, from an offset", done["stdout"] == "got words\nend\n" and done["outcome"] == "exited" and done["stdout_offset"] == 6, done)
    check("exec.get and exec.list", d.must("GET", "%s/%d" % (path, number))["outcome"] == "exited" and number in [i["exec"] for i in d.must("GET", path)["items"]] and
          d.call("GET", path + "/99999").code == "exec_not_found")
    ended = [d.must("POST", path, {"command": "echo once", "background": True, "key": "ended"})]
    until("it has ended", lambda: d.must("GET", "%s/%d" % (path, ended[0]["exec"]))["state"] == "ended")
    ended.append(d.must("POST", path, {"command": "echo once", "background": True, "key": "ended"}))
    check("the call of a background exec that has ended, again, says so", (ended[1]["exec"], ended[1]["state"], ended[1]["outcome"]) == (ended[0]["exec"], "ended", "exited"), ended)
    much = d.must("POST", path, {"command": "head -c 10000000 /dev/zero | tr '\\0' x; echo e >&2", "background": True})["exec"]
    until("it has ended", lambda: d.must("GET", "%s/%d" % (path, much))["state"] == "ended")
    for where in ("", "/output", "/output?wait=true", "/output?wait=true&stdout_offset=9500000", "/output?wait=true&stdout_offset=5000000"):
        got = d.must("GET", "%s/%d%s" % (path, much, where))
        asked = int(where.partition("stdout_offset=")[2] or 0)
        check("dropped_bytes are what is missing up to stdout_offset, in .../N%s" % where, got["stdout_bytes"] == 10000000 and got["dropped_bytes"] == got["stdout_offset"] - asked and
              ("output" not in where or got["stdout_offset"] + len(got["stdout"]) == 10000000), {k: v for k, v in got.items() if k != "stdout"})
    asleep = d.must("POST", path, {"command": "echo 12345; sleep 1000", "background": True})["exec"]
    until("it spoke", lambda: d.must("GET", "%s/%d" % (path, asleep))["stdout_bytes"] == 6)
    for offset, text in ((0, "12345\n"), (5, "\n"), (6, ""), (7, "")):
        got = d.call("GET", "%s/%d/output?follow=false&stdout_offset=%d" % (path, asleep, offset), headers={"Accept": "application/octet-stream"})
        snap = d.must("GET", "%s/%d/output?stdout_offset=%d" % (path, asleep, offset))
        check("what is there now, from byte %d of 6 on" % offset, (got.status, got.body.decode(), snap["stdout"], snap["stdout_bytes"], snap["state"]) == (200, text, text, 6, "running"), got, snap)
    d.must("DELETE", "%s/%d" % (path, asleep))
    late = d.must("POST", path, {"command": "until [ -e go ]; do sleep 0.02; done; exec sha256sum", "background": True, "stdin": True, "input": "0" * 65000})["exec"]
    pieces = [b"0" * 65000] + [bytes([65 + i]) * 100000 for i in range(40)]
    sent = [d.call("POST", "%s/%d/stdin" % (path, late), piece).status for piece in pieces[1:]]
    sent.append(d.call("POST", "%s/%d/stdin?end=true" % (path, late), b"").status)
    d.exec(box, "touch go")
    done = d.must("GET", "%s/%d/output?wait=true" % (path, late))
    check("4 MB of input in 40 calls, each answered 204, arrive in their order, and the first input before them", set(sent) == {204} and
          done["stdout"].split()[0] == hashlib.sha256(b"".join(pieces)).hexdigest(), sent, done)
    tty = d.must("POST", path, {"command": "stty size; read x; stty size", "tty": True, "rows": 24, "columns": 80, "background": True})["exec"]
    until("the terminal's size", lambda: "24 80" in d.must("GET", "%s/%d/output" % (path, tty))["stdout"])
    check("a terminal is resized", d.call("POST", "%s/%d/resize" % (path, tty), {"rows": 50, "columns": 132}).status == 204 and d.call("POST", "%s/%d/stdin" % (path, tty), b"\n").status == 204 and
          "50 132" in d.must("GET", "%s/%d/output?wait=true" % (path, tty))["stdout"])
    running = d.must("POST", path, {"command": "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done", "background": True})["exec"]
    until("it is ready", lambda: "ready" in d.must("GET", "%s/%d/output" % (path, running))["stdout"])
    check("a signal reaches it", d.call("POST", "%s/%d/signal" % (path, running), {"signal": 15}).status == 204 and
          d.must("GET", "%s/%d/output?wait=true" % (path, running))["exit_code"] == 5)
    running = d.must("POST", path, {"command": "sleep 1000", "background": True})["exec"]
    check("kill says whether it ran", d.must("DELETE", "%s/%d" % (path, running)) == {"existed": True} and d.must("GET", "%s/%d/output?wait=true" % (path, running))["outcome"] == "killed" and
          until("the keeper has heard of the end as well", lambda: d.must("DELETE", "%s/%d" % (path, running)) == {"existed": False}))


def raw(d, box, path, accept="application/octet-stream"):
    return d.call("GET", "/v1/sandboxes/%s/execs/%s" % (box, path), headers={"Accept": accept})


def bytes_through(d, box):
    path = "/v1/sandboxes/%s/execs" % box
    made = d.exec(box, "head -c 50000000 /dev/urandom > /tmp/big; sha256sum < /tmp/big")["stdout"].split()[0]
    got = d.call("GET", "/v1/sandboxes/%s/files?path=/tmp/big" % box)
    check("50 MB of a file, byte for byte", hashlib.sha256(got.body).hexdigest() == made and got.headers["Content-Length"] == "50000000", len(got.body))
    number = d.must("POST", path, {"command": "cat /tmp/big", "background": True, "keep_bytes": 64 << 20})["exec"]
    d.must("GET", "%s/%d/output?wait=true&stdout_offset=49999999" % (path, number))
    got = raw(d, box, "%d/output?stream=stdout" % number)
    check("50 MB of output, raw, byte for byte (E03)", hashlib.sha256(got.body).hexdigest() == made, len(got.body))
    number = d.must("POST", path, {"command": "head -c 900000 /dev/zero | tr '\\0' x; sleep 100", "background": True})["exec"]
    until("all of it was printed", lambda: d.must("GET", "%s/%d/output" % (path, number))["stdout_bytes"] == 900000)
    snap = d.must("GET", "%s/%d/output" % (path, number))
    check("a snapshot holds all that is kept", len(snap["stdout"]) == snap["stdout_bytes"] - snap["stdout_offset"] and len(snap["stdout"]) > 100000, len(snap["stdout"]), snap["stdout_offset"])
    got = raw(d, box, "%d/output?stream=stdout&follow=false" % number)
    check("raw without following ends now", got.status == 200 and len(got.body) > 100000, len(got.body))
    d.must("DELETE", "%s/%d" % (path, number))
    data = os.urandom(20 << 20)
    put = d.call("PUT", "/v1/sandboxes/%s/files?path=/tmp/in&mode=0640" % box, data)
    check("20 MB written raw", put.status == 204 and d.exec(box, "sha256sum < /tmp/in; stat -c %a /tmp/in")["stdout"].split()[0::2][0:2] == [hashlib.sha256(data).hexdigest(), "640"], put)
    size = 2000000000 if DEEP else 100000000
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(d.http)
        body = json.dumps({"command": "echo begun; until [ -e /tmp/read ]; do sleep 0.01; done; head -c %d /dev/zero" % size, "background": True, "lossless": True}).encode()
        number = d.call("POST", path, json.loads(body)).json["exec"]
        s.sendall(b"GET %s/%d/output?stream=stdout&lossless=true HTTP/1.1\r\nHost: localhost\r\nAccept: application/octet-stream\r\nConnection: close\r\n\r\n" % (path.encode(), number))
        total, room, head = 0, bytearray(1 << 20), None
        while True:
            n = s.recv_into(room)
            if not n:
                break
            if head is None:         # it is read from here on, and waits for its reader
                head = bytes(room[:n])
                d.must("PUT", "/v1/sandboxes/%s/files?path=/tmp/read" % box, b"")
            total += n
    check("%d MB of output, followed over a connection of its own, are all there" % (size // 1000000), head.startswith(b"HTTP/1.1 200") and total >= size, head[:200], total)


def whole_or_nothing(d, box, path):
    """A body in chunks of up to 8 MiB is written. A larger one, and any body that is cut off, leave
    the old file and nothing beside it.
    """
    def put(name, head, body, is_whole=True):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(d.http)
            s.sendall(b"PUT %s?path=/tmp/w/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n\r\n" % (path.encode(), name.encode(), head))
            try:
                s.sendall(body)
                if not is_whole:
                    s.shutdown(socket.SHUT_WR)
            except OSError:              # refused before all of it was sent
                pass
            return b"".join(iter(lambda: s.recv(65536), b""))

    def chunked(size, is_whole=True):
        piece = b"10000\r\n%s\r\n" % (b"x" * 65536)
        return piece * (size // 65536) + (b"0\r\n\r\n" if is_whole else b"10000\r\nabc")

    d.must("POST", path, {"files": [{"path": "/tmp/w/" + name, "content": "old"} for name in ("in", "over", "cut", "short")]})
    by_chunks = b"Transfer-Encoding: chunked"
    answers = [put("in", by_chunks, chunked(8 << 20)), put("over", by_chunks, chunked(9 << 20)), put("cut", by_chunks, chunked(1 << 20, False), False), put("short", b"Content-Length: 1048576", b"x" * 70000, False)]
    sizes = lambda: {i["path"]: i["size"] for i in d.must("GET", path + "/list?path=/tmp/w")["items"]}
    check("8 MiB in chunks is written", answers[0].startswith(b"HTTP/1.1 204 ") and sizes()["in"] == 8 << 20, answers[0])
    check("9 MiB is refused, with what to do", answers[1].startswith(b"HTTP/1.1 413 ") and b"request_too_large" in answers[1] and b"nothing was written" in answers[1] and b"curl -T FILE" in answers[1], answers[1])
    check("of a body that ends early nothing is confirmed", b" 204 " not in answers[2] + answers[3], answers[2:])
    until("the old files are as they were, and nothing is beside them", lambda: sizes() == {"in": 8 << 20, "over": 3, "cut": 3, "short": 3})


def files(d, box):
    path = "/v1/sandboxes/%s/files" % box
    batch = d.call("POST", path, {"files": [{"path": "/tmp/f/a", "content": "A", "mode": 0o600}, {"path": "/tmp/f/b", "content": base64.b64encode(b"\0\xff").decode(), "encoding": "base64"}]})
    check("a batch", batch.status == 204 and d.call("GET", path + "?path=/tmp/f/b").body == b"\0\xff", batch)
    d.exec(box, "cd /tmp/f && ln -s a l && mkfifo p && mkdir d && echo x > d/e && touch \"$(printf 'n\\377')\"")
    items = {i["path"]: i for i in d.must("GET", path + "/list?path=/tmp/f&depth=2")["items"]}
    odd = [i for i in items.values() if i.get("encoding") == "base64"]
    check("a listing, two levels deep", items["a"]["mode"] == 0o600 and items["l"]["target"] == "a" and items["p"]["kind"] == "fifo" and items["d"]["kind"] == "directory" and "d/e" in items, items)
    check("a name that is no text can be asked for (B20)", len(odd) == 1 and base64.b64decode(odd[0]["path"]) == b"n\xff" and d.call("GET", path + "?path=/tmp/f/n%ff").status == 200, odd)
    part = d.call("GET", path + "?path=/tmp/f/d/e", headers={"Range": "bytes=1-"})
    check("ranges", part.status == 206 and part.body == b"\n" and part.headers["Content-Range"] == "bytes 1-1/2" and d.call("GET", path + "?path=/tmp/f/d/e", headers={"Range": "bytes=9-"}).status == 416 and
          d.call("GET", path + "?path=/tmp/f/d/e", headers={"Range": "bytes=-1"}).body == b"\n", part)
    want = {"/tmp/f/nope": "file_not_found", "/tmp/f/d": "not_a_file", "/tmp/f/p": "not_a_file", "/tmp/f/a/x": "not_a_directory", "/" + "x" * 300: "path_too_long", "/dev/zero": "not_a_file"}
    got = {p: d.call("GET", path + "?path=" + p).code for p in want}
    check("each kind of no has its code, and none is waited for (B05)", got == want, got)
    check("mkdir, move, remove", d.call("POST", path + "/mkdir", {"path": "/tmp/f/m/n", "recursive": True}).status == 204 and d.call("POST", path + "/mkdir", {"path": "/tmp/f/m"}).code == "file_exists" and
          d.call("POST", path + "/move", {"path": "/tmp/f/a", "target": "/tmp/f/m/a"}).status == 204 and d.must("GET", path + "/stat?path=/tmp/f/m/a")["size"] == 1 and
          d.call("DELETE", path + "?path=/tmp/f/m").code == "directory_not_empty" and d.must("DELETE", path + "?path=/tmp/f/m&recursive=true") == {"existed": True} and
          d.must("DELETE", path + "?path=/tmp/f/m") == {"existed": False})
    whole_or_nothing(d, box, path)
    check("nothing is written where nothing may be", d.call("PUT", path + "?path=/usr/x", b"x").code in ("sandbox_mount_read_only", "permission_denied"), d.call("PUT", path + "?path=/usr/x", b"x"))


def keys(d):
    box = d.create(name="keys", ports=[8125], start=True)
    path = "/v1/sandboxes/keys/execs"

    def slow_write(byte):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE)
        s.connect(d.http)
        s.sendall(b"PUT /v1/sandboxes/keys/files?path=kept HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nIdempotency-Key: w\r\nContent-Length: %d\r\n\r\n" % (2 * half) + byte * half)
        return s
    half = 16 << 20                         # more than all buffers between hold: when it was sent, it is being written
    writers = [slow_write(b"a"), slow_write(b"b")]
    said = []
    for s, byte in zip(writers, (b"a", b"b")):
        s.sendall(byte * half)
        said.append(s.recv(64)[:12])
        s.close()
    kept = d.call("GET", "/v1/sandboxes/keys/files?path=kept").body
    check("two writings of one key at the same time are each whole (Z24)", said == [b"HTTP/1.1 204"] * 2 and kept == b"b" * (2 * half), said, len(kept), set(kept))
    serve = {"argv": ["python3", "-m", "http.server", "8125"], "wait_ports": True, "key": "serve"}
    one, two = d.must("POST", path, serve), d.must("POST", path, serve)
    check("a server that is begun again with its key does not hang the call", one["exec"] == two["exec"] and two["state"] == "running", one, two)
    once = {"command": "echo x >> once; wc -l < once", "key": "once"}
    check("a command with a key", d.must("POST", path, once)["stdout"] == "1\n")
    for _ in range(257):
        d.exec(box, ["true"])
    first = d.call("POST", path, once)
    d.stop(signal.SIGKILL)
    d.start()
    second = d.call("POST", path, once)
    check("a key is heeded when the box has forgotten its command, after a restart too (Z24)", first.code == second.code == "exec_not_found" and d.exec(box, "wc -l < once")["stdout"] == "1\n", first, second)
    d.must("DELETE", "/v1/sandboxes/keys")


def going(d, box):
    """C15: closing the connection kills its foreground command, and nothing else."""
    for what, accept in (("whole", "application/json"), ("events", "text/event-stream")):
        c = d.connection()
        body = json.dumps({"command": "rm -f /tmp/beat; while :; do printf 1 >> /tmp/beat; sleep 0.02; done & wait"}).encode()
        c.request("POST", "/v1/sandboxes/%s/execs" % box, body=body, headers={"Content-Type": "application/json", "Accept": accept})
        beat = lambda: d.call("GET", "/v1/sandboxes/%s/files?path=/tmp/beat" % box).body
        until("it beats", lambda: beat()[:1].isdigit())
        c.sock.shutdown(socket.SHUT_RDWR)
        c.close()

        def still():
            first = beat()
            time.sleep(0.2)
            return beat() == first
        until("the beat stops", still)
        check("a client who goes takes his foreground tree along: %s (C15)" % what, still())
    started = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": "sleep 1000", "background": True})["exec"]
    watcher = d.stream("GET", "/v1/sandboxes/%s/execs/%d/output" % (box, started))
    next(watcher)
    watcher.close()
    check("who only watched takes nothing", d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, started))["state"] == "running")
    d.must("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, started))


def ports(d):
    box = d.create(ports=[8123, 8124])
    got = d.exec(box, ["python3", "-m", "http.server", "8123", "--directory", "/tmp"], wait_ports=True)
    check("a server inside does not hang the call", got["state"] == "running", got)
    d.exec(box, "echo inside > /tmp/page")
    url = d.must("GET", "/v1/sandboxes/%s/ports/8123" % box)
    host, port = re.match(r"http://([\d.]+):(\d+)/", url["url"]).groups()

    def get(path, headers=None):
        c = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        c.request("GET", path, headers=headers or {})
        r = c.getresponse()
        return r.status, r.read()
    prefix = url["url"].partition(port)[2].rstrip("/")
    check("its URL reaches it", get(prefix + "/page") == (200, b"inside\n"), get(prefix + "/page"))
    own = url["browser_url"]
    check("a browser has an origin for each port", own == "http://%s.localhost:%s/" % (url["token"], port) and get("/page", {"Host": own[7:-1]}) == (200, b"inside\n"), own)
    check("so do a Host and a header with the token", get("/page", {"Host": url["token"] + ".localhost"}) == (200, b"inside\n") and get("/page", {"X-Carrel-Token": url["token"]}) == (200, b"inside\n"))
    check("nothing else does (G12)", get("/page")[0] == 403 and get("/~" + "0" * len(url["token"]) + "/page")[0] == 403 and d.call("GET", "/v1/sandboxes/%s/ports/9999" % box).status >= 400)
    other = d.must("GET", "/v1/sandboxes/%s/ports/8124" % box)
    status, body = get(other["url"].partition(port)[2])
    check("where nothing listens it is a typed 502", status == 502 and json.loads(body)["error"]["code"] == "port_unreachable", status, body)
    low = d.create(ports=[80])
    d.exec(low, ["python3", "-c", "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=80, bind='0.0.0.0')"], cwd="/tmp", wait_ports=True)
    status, body = get(d.must("GET", "/v1/sandboxes/%s/ports/80" % low)["url"].partition(port)[2])
    check("without a wall a server inside listens on port 80, and is reached by it", status == 200 and b"Directory listing" in body, status, body)
    words = d.must("GET", "/v1/sandboxes/%s/instructions" % low)["text"]
    check("  a model is told so", "server on port 80 can be reached" in words and "any port, those below 1024 included" in words, words)
    d.must("DELETE", "/v1/sandboxes/" + low)
    low = d.create(ports=[25, 80], manifest={"provider": "local", "config": {}, "metadata": {"carrel": {"egress": {}}}})
    words = d.must("GET", "/v1/sandboxes/%s/instructions" % low)["text"]
    check("what may not listen inside is not promised to a model", "port 80 can be reached" not in words and "no server may listen on ports below 1024" in words, words)
    status, body = get(d.must("GET", "/v1/sandboxes/%s/ports/25" % low)["url"].partition(port)[2])
    check("  and the port's own refusal says so", status == 502 and "routed: true" in json.loads(body)["error"]["hint"], body)
    status, body = get(d.must("GET", "/v1/sandboxes/%s/ports/80" % low)["url"].partition(port)[2])
    check("  and so does the gate, where it listens", status == 403 and "routed: true" in json.loads(body)["message"], status, body)
    d.must("DELETE", "/v1/sandboxes/" + low)
    d.must("DELETE", "/v1/sandboxes/" + box)


def credentials(d, port):
    with open(os.path.join(d.state, "token"), encoding="ascii") as f:
        own = f.read().strip()

    def get(path, token, method="GET"):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        c.request(method, path, headers={"Authorization": "Bearer " + token} if token else {})
        r = c.getresponse()
        return r.status, r.read()
    check("over TCP the token opens, and nothing else does (G09)", get("/v1/info", own)[0] == 200 and get("/v1/info", None)[0] == 401 and get("/v1/info", own[:-1])[0] == 401 and get("/v1/info?token=" + own, None)[0] == 401)
    made = d.must("POST", "/v1/tokens", {"scope": "read"})
    check("a read-only token sees get and list, and no more", get("/v1/sandboxes", made["token"])[0] == 200 and get("/v1/sandboxes/x", made["token"], "DELETE")[0] in (401, 403) and
          get("/v1/tokens", made["token"])[0] in (401, 403))
    check("tokens are listed without their values, and revoked", made["token"] not in json.dumps(d.must("GET", "/v1/tokens")) and d.must("DELETE", "/v1/tokens/" + made["id"]) == {"existed": True} and
          get("/v1/sandboxes", made["token"])[0] == 401)
    other = d.must("POST", "/v1/tokens", {"owner": "somebody"})["token"]
    box = d.create()
    wrong = [m for m, p in (("GET", ""), ("GET", "/execs"), ("POST", "/pause"), ("GET", "/files?path=/etc/passwd"), ("GET", "/execs/1/output"), ("GET", "/instructions")) if get("/v1/sandboxes/%s%s" % (box, p), other, m)[0] != 404]
    check("another's sandbox is none (G10)", not wrong and get("/v1/sandboxes/" + box, other, "DELETE")[1] == get("/v1/sandboxes/none", other, "DELETE")[1], wrong)
    d.must("DELETE", "/v1/sandboxes/" + box)
    check("no token is in the log", own not in d.log_text() and made["token"] not in d.log_text())


def watching(d):
    seen, box = [], None

    def listen():
        for name, data in d.stream("GET", "/v1/events"):
            seen.append((name, data))
            if name in ("stopped", "deleted", "destroyed") and data.get("id") == box:
                return
    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    until("somebody listens", lambda: d.must("DELETE", "/v1/sandboxes/" + d.create()) and seen)
    box = d.create()
    d.exec(box, "true")
    d.must("DELETE", "/v1/sandboxes/" + box)
    thread.join(PATIENCE)
    names = [name for name, data in seen if data.get("id") == box]
    check("who listens hears of a sandbox from its beginning to its end", names[:1] == ["created"] and not thread.is_alive(), names)
    check("events tell what happens", all(name == data["event"] for name, data in seen), seen)


def queries(d, box):
    """A table lists the parameters of a query: other names, duplicates and invalid values are
    refused by name.
    """
    path = "/v1/sandboxes/%s" % box
    exec_path = "%s/execs/%d" % (path, d.must("POST", path + "/execs", {"command": "true", "background": True})["exec"])
    rows = [
        ("GET", exec_path + "/output?wiat=true", "wiat", "unknown_field"), ("GET", exec_path + "/output?wait=maybe", "wait", "type"), ("GET", exec_path + "/output?wait=true&wait=false", "wait", "repeated"),
        ("GET", exec_path + "/output?%77ait=true", "%77ait", "unknown_field"), ("GET", exec_path + "/output?stream=both", "stream", "value"), ("GET", exec_path + "/output?encoding=latin1", "encoding", "value"),
        ("GET", exec_path + "/output?encoding=base64&encoding=base64", "encoding", "repeated"), ("GET", exec_path + "/output?stdout_offset=1&stdout_offset=2", "stdout_offset", "repeated"),
        ("GET", exec_path + "/output?Wait=true", "Wait", "unknown_field"), ("GET", exec_path + "/output?=true", "", "unknown_field"),
        ("POST", exec_path + "/stdin?end=1&end=1", "end", "repeated"), ("POST", exec_path + "/stdin?stdout_offset=1", "stdout_offset", "unknown_field"), ("POST", exec_path + "/resize?end=true", "end", "unknown_field"),
        ("GET", path + "?verbose=1", "verbose", "unknown_field"), ("GET", path + "?encoding=base64", "encoding", "unknown_field"), ("DELETE", path + "?force=true", "force", "unknown_field"),
        ("GET", "/v1/info?x", "x", "unknown_field"), ("GET", "/v1/openapi.json?pretty=1", "pretty", "unknown_field"), ("GET", "/healthz?x=1", "x", "unknown_field"),
        ("GET", path + "/files?path=/a&path=/b", "path", "repeated"), ("PUT", path + "/files?path=/tmp/a&path=/tmp/b", "path", "repeated"), ("PUT", path + "/files?path=/tmp/a&mod=0644", "mod", "unknown_field"),
        ("POST", path + "/files?path=/tmp/a", "path", "unknown_field"), ("GET", path + "/files/list?path=/&depth=1&depth=2", "depth", "repeated"),
        ("POST", path + "/execs?background=true", "background", "unknown_field"), ("POST", "/v1/sandboxes?name=x", "name", "unknown_field"), ("GET", "/v1/events?id=a&id=b", "id", "repeated"),
    ]
    for method, url, place, reason in rows:
        got = d.call(method, url, b"{}" if method in ("POST", "PUT") else None, {"Content-Type": "application/json"} if method in ("POST", "PUT") else None)
        error = got.json["error"] if got.status == 400 else {}
        check("%s ...%s is refused" % (method, url.replace(path, "")), (got.code, error.get("path", ""), error.get("reason")) == ("invalid_argument", place, reason), got)
    got = d.call("POST", "/mcp?sandbox=a&sandbox=b", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    check("/mcp takes each word once", got.status == 400 and "more than once" in str(got.json), got)
    check("what is known passes", d.call("GET", exec_path + "/output?&wait=true&encoding=utf-8&stream=stderr&follow=0&").status == 200)


def box_is_killed(d):
    """kill -9 of a box: all that follow a command in it get the same end, once."""
    if not ROOT:
        report("a box that is killed", skip="only root may look which process holds a sandbox's journal")
        return
    box = d.create(name="again")
    path = "/v1/sandboxes/%s/execs" % box
    said = {}
    command = "echo begun; exec sleep 1000"

    def rest():
        got = d.must("POST", path, {"command": command})
        said["REST"] = (got["state"], got["outcome"], got["exit_code"], got["stdout"])

    def events():
        got = list(d.stream("POST", path, {"command": command}))
        said["events"] = (got[-1][1]["state"], got[-1][1]["outcome"], got[-1][1]["exit_code"], got[1][1]["data"])
        check("one end among the events", [n for n, _ in got] == ["started", "stdout", "end"], got)

    def waits(number):
        got = d.must("GET", "%s/%d/output?wait=true" % (path, number))
        said["output?wait"] = (got["state"], got["outcome"], got["exit_code"], got["stdout"])

    def tool():
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "exec", "arguments": {"command": command}}}
        got = json.loads(d.must("POST", "/mcp?sandbox=" + box, call, headers={"Accept": "application/json"})["result"]["content"][0]["text"])
        said["MCP"] = (got["state"], got["outcome"], got["exit_code"], got["stdout"])

    def cli():
        done = subprocess.run([CARREL, "exec", "--json", "--state", d.state, box, "--", "sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        got = json.loads(done.stdout)
        said["CLI"] = ("ended", got.get("outcome"), done.returncode, got.get("stdout"))
    number = d.must("POST", path, {"command": command, "background": True})["exec"]
    threads = [threading.Thread(target=t, args=a) for t, a in ((rest, ()), (events, ()), (waits, (number,)), (tool, ()), (cli, ()))]
    for t in threads:
        t.start()
    until("all run", lambda: sum(e["state"] == "running" and e["stdout_bytes"] == 6 for e in d.must("GET", path)["items"]) == 5)
    os.kill(box_process(d, box), signal.SIGKILL)
    for t in threads:
        t.join(PATIENCE)
    check("a box that is killed is told in one way: its commands are lost", said == dict.fromkeys(("REST", "events", "output?wait", "MCP", "CLI"), ("ended", "lost", 125, "begun\n")), said)
    until("the keeper has heard of it", lambda: d.must("GET", "/v1/sandboxes/" + box)["status"] == "failed")
    items = d.must("GET", path)["items"]
    check("and so they stand in the list", len(items) == 5 and {(e["state"], e["outcome"], e["exit_code"]) for e in items} == {("ended", "lost", 125)}, items)
    bad = d.call("POST", "/v1/sandboxes", {"name": "again", "workspace": "/nowhere/at/all", "manifest": MANIFEST.replace("limits:", "mounts: [{source: workspace, at: /w}]\nlimits:")})
    check("a create that is refused leaves the one that failed", bad.status >= 400 and d.must("GET", "/v1/sandboxes/again")["id"] == box, bad)
    fresh = d.call("POST", "/v1/sandboxes", {"name": "again"})
    check("the name of one that failed is for the next of that name", fresh.status == 201 and fresh.json["id"] != box and d.must("GET", "/v1/sandboxes/again")["id"] == fresh.json["id"] and
          d.call("GET", "/v1/sandboxes/" + box).code == "sandbox_not_found" and d.call("POST", "/v1/sandboxes", {"name": "again"}).code == "sandbox_exists", fresh)
    check("and lives", d.exec("again", "echo lives")["stdout"] == "lives\n")


with Daemon("--listen", "127.0.0.1:0", "--json") as daemon:
    tcp = int(until("it says where it listens", lambda: re.search(r"http://127\.0\.0\.1:(\d+), with the token", daemon.log_text())).group(1))
    sandbox = daemon.create(name="work", ports=[])
    for part, words in ((lifecycle, ()), (commands, (sandbox,)), (files, (sandbox,)), (bytes_through, (sandbox,)), (going, (sandbox,)), (ports, ()), (credentials, (tcp,)), (watching, ()), (box_is_killed, ()), (queries, (sandbox,))):
        try:
            part(daemon, *words)
        except Exception as e:        # an exception in one part is one failed line; the others still run
            check("%s went through" % part.__name__, False, "%s: %s" % (type(e).__name__, e))
    check("the daemon was one all the while", daemon.child.poll() is None and daemon.log_text().count('"ready"') == 1, daemon.log_text()[-800:])
with Daemon() as daemon:        # one that is killed
    keys(daemon)
end()
