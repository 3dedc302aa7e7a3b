#!/usr/bin/env python3
"""living_output_test - group E of the attacks, in a living sandbox: floods, slow readers, exact
bytes, broken text.

Figures are printed as comments: the most memory that any process of Carrel held during a flood.
"""
import base64
import hashlib
import http.client
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, end, report
from daemon_rig import Daemon, until

FLOOD = 1000000000 if DEEP else 250000000
FLAT_KIB = 24 * 1024     # more than this above its start, in any process of Carrel, is not flat
READER_KIB = 512         # what the door may hold for one reader that does not read (EXCHANGE_HIGH)


def resident(pid):
    """Private memory in KiB: what the process itself holds, not pages of files."""
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("RssAnon:")), 0)
    except OSError:
        return 0


def parent_of(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def is_below(pid, top):
    while pid > 1 and pid != top:
        pid = parent_of(pid)
    return pid == top


def ours(d):
    """The processes of this daemon and its boxes; others may run theirs at the same time."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/comm" % entry, encoding="utf-8", errors="replace") as f:
                    name = f.read().strip()
                if name.startswith("carrel") and is_below(int(entry), d.child.pid):
                    found[int(entry)] = name
            except OSError:
                continue
    return found


class Watch:
    """The most memory that each of these processes held meanwhile."""

    def __init__(self, d):
        self.daemon = d

    def __enter__(self):
        self.names = ours(self.daemon)
        self.first = {pid: resident(pid) for pid in self.names}
        self.most, self.ends = dict(self.first), threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.ends.wait(0.02):
            for pid in self.most:
                self.most[pid] = max(self.most[pid], resident(pid))

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def wrong(self, what, readers=0):
        grown = {self.names[p]: self.most[p] - self.first[p] for p in self.most}
        print("# %s: most private memory above the start, KiB: %s" % (what, json.dumps(grown)))
        return ["%s grew by %d KiB" % (name, by) for name, by in grown.items() if by > FLAT_KIB + (readers * READER_KIB if name == "carrel-door" else 0)]


def slow_reader(d, box):
    """E01, E02: a flood, with a caller that reads a little and then nothing more until the end."""
    wrong = []
    c = d.connection(timeout=300)
    with Watch(d) as watch:
        job = d.exec(box, "head -c %d /dev/zero; echo end >&2" % FLOOD, background=True, timeout_ms=110000)
        path = "/v1/sandboxes/%s/execs/%d" % (box, job["exec"])
        c.request("GET", path + "/output?encoding=base64", headers={"Accept": "text/event-stream"})
        r = c.getresponse()
        first = r.read(1000)
        state = until("the flood ends although nobody reads", lambda: (lambda s: s if s["state"] == "ended" else None)(d.must("GET", path)))
        got, missed, name, rest = 0, 0, "", first + r.read()
    c.close()
    for line in rest.split(b"\n"):
        if line.startswith(b"event:"):
            name = line[6:].strip().decode()
        elif line.startswith(b"data:"):
            data = json.loads(line[5:])
            got += len(base64.b64decode(data["data"])) if name == "stdout" else 0
            missed = data["dropped_bytes"] if name == "end" else missed
    kept = d.must("GET", path + "/output")
    if state["stdout_bytes"] != FLOOD or state["outcome"] != "exited":
        wrong.append("%r" % state)
    if kept["stderr"] != "end\n":
        wrong.append("standard error is %r" % kept["stderr"])
    if got + missed != FLOOD or missed == 0:
        wrong.append("%d read, %d dropped: %d unaccounted" % (got, missed, FLOOD - got - missed))
    print("# of %d MB the slow reader got %d bytes, %d were counted as dropped" % (FLOOD // 1000000, got, missed))
    report("E01 %d MB against a slow reader" % (FLOOD // 1000000), wrong + watch.wrong("slow reader"))


def many_slow(d, box):
    """E02: fifty readers that do not read delay no other."""
    wrong, open_ones = [], []
    with Watch(d) as watch:
        job = d.exec(box, "head -c 200000000 /dev/zero", background=True, timeout_ms=110000)
        path = "/v1/sandboxes/%s/execs/%d" % (box, job["exec"])
        for _ in range(50):
            c = d.connection(timeout=300)
            c.request("GET", path + "/output?stream=stdout", headers={"Accept": "application/octet-stream"})
            open_ones.append(c)
        if d.exec(box, "echo peer")["stdout"] != "peer\n":
            wrong.append("a peer was hurt")
        until("the producer ends", lambda: d.must("GET", path)["state"] == "ended")
    for c in open_ones:
        c.close()
    report("E02 fifty readers that never read", wrong + watch.wrong("50 readers", 50))


def lossless(d, box):
    """A foreground caller loses nothing: the command waits for a slow reader."""
    wrong = []
    c = d.connection(timeout=300)
    body = json.dumps({"command": "head -c 64000000 /dev/urandom | tee /home/agent/copy | cat; sha256sum /home/agent/copy >&2", "lossless": True, "timeout_ms": 100000})
    try:
        c.request("POST", "/v1/sandboxes/%s/execs?encoding=base64" % box, body, {"Content-Type": "application/json", "Accept": "text/event-stream"})
        r = c.getresponse()
        digest, stderr, name, count = hashlib.sha256(), b"", "", 0
        for line in r:
            if line.startswith(b"event:"):
                name = line[6:].strip().decode()
            elif line.startswith(b"data:"):
                data = json.loads(line[5:])
                if name == "stdout":
                    part = base64.b64decode(data["data"])
                    if data["offset"] != count:
                        wrong.append("a gap at %d" % count)
                        break
                    count += len(part)
                    digest.update(part)
                elif name == "stderr":
                    stderr += base64.b64decode(data["data"])
        if count != 64000000 or digest.hexdigest().encode() != stderr.split(b" ")[0]:
            wrong.append("%d bytes, %s, not %r" % (count, digest.hexdigest(), stderr[:80]))
    except (OSError, http.client.HTTPException) as e:
        wrong.append(repr(e))
    c.close()
    report("E03 sixty-four megabytes of random bytes, exact", wrong)


def text_edges(d, box):
    """E04: for all bytes the JSON is valid and equals Python's replacement of the whole."""
    wrong = []
    cases = [bytes(range(256)), b"\xc0\x80", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"a" * 4095 + "\U0001f600".encode() + b"b",
             b"a" * 65533 + "\U0001f600".encode(), "é".encode() * 33000, b"\xf0\x9f\x98", b"\xff" * 1000, b"x\xe2\x82"]
    for raw in cases:
        a = d.call("POST", "/v1/sandboxes/%s/files" % box, {"files": [{"path": "/home/agent/raw", "content": base64.b64encode(raw).decode(), "encoding": "base64"}]})
        got = d.exec(box, "cat /home/agent/raw")["stdout"]
        if a.status >= 300 or got != raw.decode(errors="replace"):
            wrong.append("%r... became %r..." % (raw[:20], got[:20]))
        text = ""
        for name, data in d.stream("POST", "/v1/sandboxes/%s/execs" % box, {"command": "dd if=/home/agent/raw bs=7 2>/dev/null"}):
            if name == "stdout":
                text += data["data"]
        if text != raw.decode(errors="replace"):
            wrong.append("streamed, %r... became %r... (%d, not %d)" % (raw[:20], text[:20], len(text), len(raw.decode(errors="replace"))))
    report("E04 broken UTF-8 at every edge", wrong)
    # The first byte of a character; when it has certainly been read, many bytes that are not
    # characters.
    text = ""
    for name, data in d.stream("POST", "/v1/sandboxes/%s/execs" % box, {"command": "printf 'x\\355'; until [ -e go ]; do :; done; printf '\\356\\357\\360\\361\\362y\\303'", "cwd": "/home/agent"}):
        if name == "stdout":
            if not text:
                d.must("POST", "/v1/sandboxes/%s/files" % box, {"files": [{"path": "/home/agent/go", "content": ""}]})
            text += data["data"]
    report("E04 the beginning of a character, and none of its others", [] if text == "x" + 6 * "\ufffd" + "y\ufffd" else [repr(text)])


def offsets(d, box):
    """Attaching again at any offset gives the rest, with no gap and no repeat."""
    job = d.exec(box, "i=0; while [ $i -lt 300 ]; do echo line$i; i=$((i+1)); sleep 0.002; done", background=True)
    path = "/v1/sandboxes/%s/execs/%d/output" % (box, job["exec"])
    text, wrong = "", []
    for _ in range(200):
        for name, data in d.stream("GET", "%s?stdout_offset=%d" % (path, len(text))):
            if name == "stdout":
                if data["offset"] != len(text):
                    wrong.append("a frame at %d after %d bytes" % (data["offset"], len(text)))
                text += data["data"]
                if len(text) % 3 == 0:
                    break              # close at some position
            if name == "end":
                break
        else:
            continue
        if name == "end":
            break
    if text != "".join("line%d\n" % i for i in range(300)):
        wrong.append("%d bytes in the end" % len(text))
    report("re-attaching by offset: no gap, no repeat", wrong)


def records(d, box):
    """E06: names and arguments with line ends do not create lines in Carrel's output."""
    wrong = []
    odd = 'x\n{"seq":1}\u2028\r\n'
    d.exec(box, ["sh", "-c", "true", odd])
    listed = d.call("GET", "/v1/sandboxes/%s/execs" % box)
    if b"\n" in listed.body.rstrip(b"\n") and listed.json is None:
        wrong.append("the list is broken: %r" % listed)
    a = d.call("POST", "/v1/sandboxes", {"name": "a\nb"})
    if a.code != "invalid_argument":
        wrong.append("a name with a line end: %r" % a)
    report("E06 line ends in arguments and names", wrong)


def asks(d, box):
    """E10: unusual requests for output are refused, or answered within limits."""
    d.exec(box, "echo x")
    wrong = []
    for query in ("stdout_offset=-1", "stdout_offset=x", "wait=maybe", "unknown=1"):
        a = d.call("GET", "/v1/sandboxes/%s/execs/1/output?%s" % (box, query))
        if a.status != 400 or a.code != "invalid_argument":
            wrong.append("%s: %r" % (query, a))
    a = d.call("GET", "/v1/sandboxes/%s/execs/1/output?stdout_offset=99999999999" % box)
    if a.status != 200 or a.json["stdout"] != "":
        wrong.append("an offset past the end: %r" % a)
    if d.call("GET", "/v1/sandboxes/%s/execs/99999/output" % box).status != 404:
        wrong.append("an exec that is not there")
    report("E10 odd questions about output", wrong)


def main():
    with Daemon() as d:
        box = d.create(manifest="---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 120000}\n---\n", start=True)
        d.exec(box, "mkdir -p /home/agent")
        slow_reader(d, box)
        many_slow(d, box)
        lossless(d, box)
        text_edges(d, box)
        offsets(d, box)
        records(d, box)
        asks(d, box)
    end()


if __name__ == "__main__":
    main()
