#!/usr/bin/env python3
"""Group E of the attacks: output that floods, lies about its bytes, or drives the operator's terminal. TAP."""
import json
import os
import pty
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "box"))
from box_rig import Workspace, check, end, need_programs, report  # noqa: E402

FLOOD = 256 << 20
NASTY = [b"\x1b]52;c;eA==\x07", b"\x1b]8;;http://x\x1b\\y", b"\x1bP1$r\x1b\\", b"\x1b[21t", b"\x9b31m", b"\xc2\x9b31m", b"safe\roverwritten\n", b"\xff\x9b31m", b"a\xc2",
         b"\x08\x7f\x00\x0e", b"\xe2\x82\x9b31m", b"\xa9\x9b2J"]


def on_terminal(ws, *options):
    master, slave = pty.openpty()
    p = subprocess.Popen(ws.argv(["cat", "/workspace/nasty"], *options), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 65536):
            seen += chunk
    except OSError:
        pass  # the other end is closed: all was read
    os.close(master)
    p.wait(20)
    return seen.replace(b"\r\n", b"\n")


def flood():
    with Workspace(limits="timeout_ms: 60000") as ws:
        status, answer = ws.json(["head", "-c", str(FLOOD), "/dev/zero"])
        check("E01: a flood is cut, counted and told", status == 0 and answer["truncated"] and answer["stdout_bytes"] == FLOOD and
              answer["dropped_bytes"] == FLOOD - len(answer["stdout"]) and len(answer["stdout"]) <= 1 << 20, status, {**answer, "stdout": len(answer.get("stdout", ""))})
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        check("E01: our memory stays small meanwhile", peak < 32 << 10, peak)
        with open("/dev/null", "wb") as out:
            check("E01: streamed, the command ends", ws.run(["head", "-c", str(FLOOD), "/dev/zero"], stdout=out).returncode == 0)
        blob = os.urandom(3 << 20) + bytes(1000)
        ws.write("blob", blob)
        check("E03: bytes come out as they went in", ws.run(["cat", "/workspace/blob"]).stdout == blob)


def utf8():
    with Workspace() as ws:
        cases = {"all byte pairs": b"".join(bytes((a, b)) for a in range(256) for b in range(0, 256, 3)), "overlong": b"\xc0\x80\xe0\x80\x80", "surrogate": b"\xed\xa0\x80",
                 "past the end": b"\xf8\x88\x80\x80\x80\xf5\x80\x80\x80", **{"a split at %d" % n: b"a" * (n - 2) + "\U0001f600".encode() + b"z" for n in (4095, 4096, 4097, 65535, 65536)}}
        wrong = []
        for name, content in cases.items():
            ws.write("bytes", content)
            done = ws.run(["cat", "/workspace/bytes"], "--json")
            try:
                answer = json.loads(done.stdout.decode("utf-8"))
            except ValueError as e:
                wrong.append("%s: %s" % (name, e))
                continue
            if answer["stdout_bytes"] != len(content) or (name.startswith("a split") and answer["stdout"] != content.decode()):
                wrong.append("%s: %r" % (name, answer["stdout"][:80]))
        report("E04: --json is valid whatever the bytes, and whole characters stay whole", wrong)


def is_clean(seen):
    text = seen.decode("utf-8", "surrogateescape")
    return not [c for c in text if (ord(c) < 0x20 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or 0xdc80 <= ord(c) < 0xdca0]


def terminal():
    with Workspace() as ws:
        wrong = []
        for nasty in NASTY:
            ws.write("nasty", nasty + b" end\n")
            seen = on_terminal(ws)
            if not is_clean(seen) or b"end" not in seen:
                wrong.append("%r -> %r" % (nasty, seen))
        report("E05: nothing in output drives the terminal", wrong)
        text = "h\u00e9 \u00c0 \u2014 \u20ac \U0001f600\n" * 5000
        ws.write("nasty", text)
        check("E05: ordinary text comes through, wherever it is cut", on_terminal(ws) == text.encode())
        ws.write("nasty", NASTY[0])
        check("E05: (control) --raw lets it through", b"\x1b]52" in on_terminal(ws, "--raw"))


if __name__ == "__main__":
    need_programs()
    for part in (flood, utf8, terminal):
        part()
    end()
