#!/usr/bin/env python3
"""audit_power_test - what is left of an audit log after a power loss, at any moment of its life
(P30; J10, Z07, Z08, N6).

The record begins before the state directory exists: its directories, keys, first entry, commands
and another key. On each image that a disk could hold (disk_rig.py), every entry that a caller was
answered is there, verify finds nothing wrong but a part of a write at the end, the next entry
names that part, and then everything is intact.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE, end, report
from disk_rig import RECORD, Disk, replay
from wire import KIND

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
LIFE = [["run", "--audit", "--", "true"], ["run", "--audit", "--", "sh", "-c", "exit 3", "x" * 9000], ["audit", "rotate"], ["run", "--audit", "--", "no-such-command"]]


def is_answer(texts):
    """The recorder answers when an entry is on the disk; the error's code is the first number."""
    return (len(texts) > 1 and len(texts[0]) >= 8 and int.from_bytes(texts[0][6:8], "little") == KIND["AUDITED"]
            and int.from_bytes(texts[1][:4], "little") == 0)


def carrel(work, state, *words, prefix=()):
    return subprocess.run([*prefix, CARREL, *words], env={**os.environ, "CARREL_STATE": state, "HOME": work}, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)


def recorded(work, top):
    """Every moment of the life, and the entries that it had answered by then, as lines."""
    state = os.path.join(top, "state")
    log = os.path.join(state, "audit", "uid:%d" % os.getuid())
    disk, moments, answered = Disk(top, is_strict=True), [], [0]
    for number, words in enumerate(LIFE):
        record = os.path.join(work, "record-%d" % number)
        carrel(work, state, *words, prefix=["strace", "-qq", "-o", record, *RECORD])
        before = len(moments)
        # of the first command's two entries, the first answer comes after log.initialized as well
        base = answered[-1] + (1 if number == 0 else 0)
        moments += [(base + n if n else answered[-1], image) for n, image in replay(record, disk, is_answer)]
        answered.append(len(list(audit_chain.lines(log))))
        if len(moments) == before:
            raise RuntimeError("nothing was recorded of %r" % words)
    moments.append((answered[-1], disk.images(False)[-1]))
    return moments, list(audit_chain.lines(log))


def write(top, image):
    shutil.rmtree(top)
    os.mkdir(top, 0o700)
    for name in sorted(image):
        path = os.path.join(top, name)
        if name.endswith("/"):
            os.makedirs(path, 0o700, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(image[name])


def judge(work, top, image, answered, lines):
    """What is wrong on this image, or None."""
    state = os.path.join(top, "state")
    log = os.path.join(state, "audit", "uid:%d" % os.getuid())
    write(top, image)
    a = carrel(work, state, "audit", "verify", "--json")
    said = json.loads(a.stdout)
    is_new = said.get("entries", 0) == 0
    if a.returncode != 0 and not (answered == 0 and is_new and said["error"]["reason"] in ("missing", "empty")):
        return "verify: %s" % a.stdout
    if not is_new and said["entries"] < answered:
        return "%d entries, but %d were answered" % (said["entries"], answered)
    b = carrel(work, state, *(["audit", "rotate"] if not is_new else LIFE[0]))
    if b.returncode != 0:
        return "the log is not continued: %s" % b.stderr
    found = list(audit_chain.lines(log))
    if found[:answered] != lines[:answered]:
        return "an entry that was answered is another one now"
    try:
        entries = list(audit_chain.entries(log))
    except ValueError as wrong:
        return "the independent reader: %s" % wrong
    torn = said.get("torn_bytes", 0)
    marks = [e["output"]["bytes"] for e in entries if e["action"] == "log.recovered"]
    if not is_new and marks != ([torn] if torn else []):
        return "%d bytes of a write, and the entries say %r" % (torn, marks)
    c = carrel(work, state, "audit", "verify", "--json")
    return None if c.returncode == 0 and json.loads(c.stdout)["torn_bytes"] == 0 else "afterwards: %s" % c.stdout


def main():
    if os.getuid() != 0:
        print("1..0 # SKIP only root's strace reads the memory of the recorder, which is closed to debuggers")
        return
    work, top = (os.path.realpath(tempfile.mkdtemp(prefix="carrel-audit-power-")) for _ in range(2))
    try:
        with open(os.path.join(work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)
        moments, lines = recorded(work, top)
        wrong, torn = [], 0
        for number, (answered, image) in enumerate(moments):
            found = judge(work, top, image, answered, lines)
            wrong += ["image %d of %d, after %d entries, %r: %s" % (number, len(moments), answered, {n: len(b) for n, b in image.items()}, found)] if found else []
            torn += any(b"\0" in b or (b and not b.endswith(b"\n")) for n, b in image.items() if "log-" in n)
            if len(wrong) > 4:
                break
        report("power lost at any moment: every answered entry is there, and the log goes on (%d images, %d with a part of a write; J10, Z07, Z08)" % (len(moments), torn),
               wrong + ([] if torn > 3 else ["too few images with a part of a write"]))
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        report("power lost at any moment of an audit log", skip="strace cannot trace here")
    else:
        main()
    end()
