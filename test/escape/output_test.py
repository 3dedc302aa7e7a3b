#!/usr/bin/env python3
"""Group E of the attacks: output that floods, is counted wrongly, or controls the operator's
terminal. TAP.
"""
import json
import os
import pty
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, Workspace, check, end, need_programs, report

FLOOD = 1 << (30 if DEEP else 28)
RSS_MAX = 17 << 10      # KiB: what --json keeps, and 16 MiB
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
        pass  # the other end is closed: everything was read
    os.close(master)
    p.wait(300)
    return seen.replace(b"\r\n", b"\n")


def peak(pid):
    """The most memory, in KiB, that a process, or one below it, has held since it executed that
    program.
    """
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as f:
            most = max([int(line.split()[1]) for line in f if line.startswith("VmHWM:")] or [0])
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            children = f.read().split()
    except OSError:
        return 0    # ended meanwhile
    return max([most] + [peak(int(child)) for child in children])


def peak_of(argv, is_kept=True):
    """Status, output (or its length) and peak. The writer waits for this test meanwhile, on a full
    pipe or for a line.
    """
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, total, most, block = b"", 0, 0, bytearray(1 << 20)
    while n := p.stdout.readinto1(block):
        if total < 1 << 16 or total >> 26 != (total + n) >> 26:
            most = max(most, peak(p.pid))
        if total == 0:
            p.stdin.close()
        total += n
        out += block[:n] if is_kept else b""
    p.stdout.close()
    return p.wait(300), out if is_kept else total, most


def flood():
    with Workspace(limits="timeout_ms: 60000") as ws:
        for name, command, size in (("a flood", ["head", "-c", str(FLOOD), "/dev/zero"], FLOOD),
                                    ("a flood of lines", ["sh", "-c", "yes | head -c %d" % (FLOOD >> 2)], FLOOD >> 2)):
            status, out, most = peak_of(ws.argv(command, "--json"))
            answer = json.loads(out)
            check("E01: %s is cut, counted and told" % name, status == 0 and answer["truncated"] and answer["stdout_bytes"] == size and
                  answer["dropped_bytes"] == size - len(answer["stdout"]) and len(answer["stdout"]) <= 1 << 20, status, {**answer, "stdout": len(answer.get("stdout", ""))})
            check("E01: our memory stays small meanwhile", 0 < most < RSS_MAX, most)
        status, total, most = peak_of(ws.argv(["head", "-c", str(FLOOD), "/dev/zero"]), False)
        check("E01: streamed, all of it comes and little is held", (status, total) == (0, FLOOD) and 0 < most < RSS_MAX, status, total, most)
        hoard = ["python3", "-c", "import subprocess; print(len(subprocess.run(['head','-c','%d','/dev/zero'],stdin=-3,stdout=-1).stdout),flush=True); import sys; sys.stdin.read()" % (64 << 20)]
        status, out, most = peak_of(hoard)
        check("E01: (control) who keeps everything is seen to", out == b"%d\n" % (64 << 20) and most > 64 << 10, status, out, most)
        blob = os.urandom(3 << 20) + bytes(1000) + bytes(range(256))
        ws.write("blob", blob)
        check("E03: bytes come out as they went in", ws.run(["cat", "/workspace/blob"]).stdout == blob)
        ws.write("nasty", bytes(range(256)))
        check("E03: (control) what a terminal is given differs, and is seen to", on_terminal(ws) != bytes(range(256)))


EDGES = (4095, 4096, 4097, 65535, 65536)
# Each byte is a write of its own, so characters are also cut between writes.
SLOWLY = "import os,sys\nfor b in open('/workspace/bytes','rb').read(): os.write(1, bytes((b,)))"


def odd_bytes():
    dice = random.Random(20)
    pieces = [b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe\xff", b"\xe2\x82", b"\xf0\x9f\x98",
              b"\x00", b'"', b"\\", b"\\u0000", b"\x1b[m", b"\x7f", b"\xc2\x85", "\u2028\u2029\ufeff\ufffe\U0010ffff".encode(), b"\r\n", "\U0001f600".encode(), b"a"]
    cases = {"all byte pairs %d" % n: b"".join(bytes((a, b)) for a in range(256) for b in range(256))[n * 32768:][:32768] for n in range(4)}
    cases.update({"each alone": b"|".join(pieces), "nothing": b"", "cut at the end": b"ok \xf0\x9f\x98"})
    cases.update({"dice %d" % n: b"".join(dice.choices(pieces, k=400)) for n in range(20)})
    for n in EDGES:
        cases.update({"cut at %d, %d before" % (n, k): b"a" * (n - k) + "\U0001f600".encode() + b"z" for k in (1, 2, 3)})
        cases["broken at %d" % n] = b"a" * (n - 2) + b"\xf0\x9f" + b"z"
    return cases


def utf8():
    with Workspace() as ws:
        wrong, naive, cases = [], 0, odd_bytes()
        for name, content in cases.items():
            ws.write("bytes", content)
            commands = [["cat", "/workspace/bytes"]] + ([["python3", "-S", "-c", SLOWLY]] if len(content) < 3000 else [])
            for command in commands:
                done = ws.run(command, "--json")
                try:
                    answer = json.loads(done.stdout.decode("utf-8"))
                    if answer["stdout_bytes"] != len(content) or answer["stdout"] != content.decode("utf-8", "replace"):
                        wrong.append("%s: %r" % (name, answer["stdout"][:80]))
                except ValueError as e:
                    wrong.append("%s: %s" % (name, e))
            naive += not is_json(b'{"stdout":"' + content + b'"}')
        report("E04: --json is valid whatever the bytes, and its text is what a decoder that replaces makes of the whole", wrong)
        check("E04: (control) passed on as they are most would break it", naive > len(cases) // 2, naive, len(cases))
        halves = ("a" * 4095 + "\U0001f600").encode()
        check("E04: (control) decoded piece by piece a character is lost", halves[:4096].decode("utf-8", "replace") + halves[4096:].decode("utf-8", "replace") !=
              halves.decode())


def is_json(text):
    try:
        json.loads(text.decode("utf-8"))
        return True
    except ValueError:
        return False


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
        harmless = [b"a\xc2", b"\xe2\x82\x9b31m"]       # rows about where characters are cut
        check("E05: (control) each of them as it is would be seen", [n for n in NASTY if is_clean(n)] == harmless)


if __name__ == "__main__":
    need_programs()
    for part in (flood, utf8, terminal):
        part()
    end()
