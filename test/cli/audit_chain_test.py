#!/usr/bin/env python3
"""audit_chain_test - every kind of change of an audit log is found and named by `carrel audit
verify`, and the independent verifier of test/rig/audit_chain.py agrees (P30; J01, J02, J05, J11).

src/audit/tamper_test.c tries every place; this program every kind, through the command.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE, check, end, report

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n---\n"


class Log:
    """A log of three days, in three files, with two keys, and a copy that went another way."""

    def __init__(self, top):
        self.top, self.work, self.state = top, os.path.join(top, "work"), os.path.join(top, "state")
        os.mkdir(self.work)
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)
        self.folder = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        self.run()
        self.carrel("audit", "rotate")
        self.run()
        self.split()
        self.old = os.path.join(top, "old")             # a copy of all files
        shutil.copytree(self.folder, self.old)
        self.run()
        self.other = os.path.join(top, "other")         # another log
        self.run(os.path.join(top, "elsewhere"))
        shutil.copytree(os.path.join(top, "elsewhere", "audit", "uid:%d" % os.getuid()), self.other)
        self.kept = json.loads(self.carrel("audit", "checkpoint").stdout)
        self.kept_path = os.path.join(top, "kept.json")
        with open(self.kept_path, "w", encoding="utf-8") as f:
            json.dump(self.kept, f, separators=(",", ":"), sort_keys=True)
        self.whole = os.path.join(top, "whole")
        shutil.copytree(self.folder, self.whole)

    def carrel(self, *words, state=None):
        return subprocess.run([CARREL, *words], env={**os.environ, "CARREL_STATE": state or self.state, "HOME": self.top}, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def run(self, state=None):
        done = self.carrel("run", "--audit", "--", "sh", "-c", "exit 3", state=state)
        if done.returncode != 3:
            raise RuntimeError(done.stderr)

    def names(self):
        return sorted(n for n in os.listdir(self.folder) if n.startswith("log-"))

    def split(self):
        """As three days would: files are named after their first entries."""
        with open(os.path.join(self.folder, "log-%012d.jsonl" % 0), "rb") as f:
            lines = f.read().splitlines(keepends=True)
        for first, last in ((0, 2), (2, 5), (5, len(lines))):
            with open(os.open(os.path.join(self.folder, "log-%012d.jsonl" % first), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
                f.write(b"".join(lines[first:last]))

    def restore(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.whole, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def write(self, name, content):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(content)

    def verify(self, *words):
        done = self.carrel("audit", "verify", "--json", *words)
        said = json.loads(done.stdout)
        return done.returncode, said.get("error", {}).get("reason"), said


def flip(log, name, at, bit=1):
    content = bytearray(log.read(name))
    content[at] ^= bit
    log.write(name, bytes(content))


def edit(log, name, how):
    lines = log.read(name).splitlines(keepends=True)
    log.write(name, b"".join(how(lines)))


def exchange(log, a, b):
    one, other = log.read(a), log.read(b)
    log.write(a, other)
    log.write(b, one)


def changes(log):
    """name, change, the reason that verify names, whether only a kept checkpoint shows it."""
    first, middle, last = log.names()
    key = sorted(n for n in os.listdir(log.folder) if n.startswith("key-"))
    copy = lambda source, *names: [shutil.copy(os.path.join(source, n), log.path(n)) for n in names]
    seconds = sorted(n for n in os.listdir(log.old) if n.startswith("log-"))
    end_of = lambda name: len(log.read(name))
    yield "a bit of the first entry", lambda: flip(log, first, 40), "chain.tampered", False
    yield "a bit of the last entry", lambda: flip(log, last, end_of(last) - 60), "chain.tampered", False
    yield "a bit of a line end", lambda: flip(log, middle, len(log.read(middle).split(b"\n")[0])), "chain.tampered", False
    yield "a removed entry", lambda: edit(log, middle, lambda x: x[:1] + x[2:]), "chain.seq_gap", False
    yield "the first entry removed", lambda: edit(log, first, lambda x: x[1:]), "chain.seq_gap", False
    yield "two entries in each other's place", lambda: edit(log, middle, lambda x: [x[1], x[0]] + x[2:]), "chain.seq_gap", False
    yield "an entry twice", lambda: edit(log, middle, lambda x: x[:1] + x), "chain.seq_gap", False
    yield "an empty line", lambda: edit(log, middle, lambda x: x[:1] + [b"\n"] + x[1:]), "chain.tampered", False
    yield "the last entry cut", lambda: edit(log, last, lambda x: x[:-1]), "chain.truncated", False
    yield "the last entry cut, with its checkpoint", lambda: (edit(log, last, lambda x: x[:-1]), os.unlink(log.path("checkpoint.json"))), "chain.truncated", True
    yield "a half of the last entry cut, with its checkpoint", lambda: (log.write(last, log.read(last)[:-200]), os.unlink(log.path("checkpoint.json"))), "chain.truncated", True
    yield "an old copy of the entries", lambda: copy(log.old, *seconds), "chain.truncated", False
    yield "an old copy of everything", lambda: copy(log.old, *os.listdir(log.old)), "chain.truncated", True
    yield "the first file removed", lambda: os.unlink(log.path(first)), "chain.seq_gap", False
    yield "a file in the middle removed", lambda: os.unlink(log.path(middle)), "chain.seq_gap", False
    yield "the last file removed", lambda: os.unlink(log.path(last)), "chain.truncated", False
    yield "a file renamed", lambda: os.rename(log.path(middle), log.path("log-%012d.jsonl" % 3)), "chain.file", False
    yield "the first file renamed", lambda: os.rename(log.path(first), log.path("log-%012d.jsonl" % 1)), "chain.file", False
    yield "two files in each other's place", lambda: exchange(log, first, middle), "chain.seq_gap", False
    keys = [n for n in os.listdir(log.other) if n.startswith("key-")]
    beside = lambda: shutil.copy(os.path.join(log.other, "log-%012d.jsonl" % 0), log.path("log-%012d.jsonl" % 99))
    yield "a file of another log beside", beside, "key", False
    yield "a file of another log beside, with its key", lambda: (beside(), copy(log.other, *keys)), "chain.seq_gap", False
    yield "a file of another log in its place, with its key", lambda: copy(log.other, "log-%012d.jsonl" % 0, *keys), "checkpoint.other", False
    yield "all files of another log", lambda: (shutil.rmtree(log.folder), shutil.copytree(log.other, log.folder)), "checkpoint.other", True
    yield "the checkpoint of another log", lambda: copy(log.other, "checkpoint.json"), "checkpoint.other", False
    yield "a bit of the checkpoint's form", lambda: flip(log, "checkpoint.json", 0), "checkpoint.form", False
    yield "a bit of the checkpoint's content, and so of its signature", lambda: flip(log, "checkpoint.json", 30), "checkpoint.signature", False
    yield "a key replaced by another one", lambda: exchange(log, *key), None, False
    yield "a bit of a key", lambda: flip(log, key[0], 5), None, False
    yield "a key removed", lambda: os.unlink(log.path(key[0])), "key", False


def main():
    top = os.path.realpath(tempfile.mkdtemp(prefix="carrel-chain-"))
    try:
        log = Log(top)
        check("intact, with the kept checkpoint, for both verifiers", log.verify("--checkpoint", log.kept_path)[0] == 0 and audit_chain.verify(log.folder, log.kept) is None,
              log.verify("--checkpoint", log.kept_path), audit_chain.verify(log.folder, log.kept))
        unseen, disagreed = [], []
        for what, act, reason, needs_kept in changes(log):
            act()
            status, said, whole = log.verify(*(["--checkpoint", log.kept_path] if needs_kept else []))
            if status not in (125, 126) or not (said or "").startswith(reason or ""):
                unseen.append("%s: %r, %r" % (what, status, whole))
            try:
                ours = audit_chain.verify(log.folder, log.kept if needs_kept else None)
            except (OSError, ValueError, KeyError) as wrong:
                ours = repr(wrong)
            disagreed += [] if ours or "signature" in what else [what]
            log.restore()
        report("each kind of change is found and named", unseen)
        report("the independent verifier finds each of them, but those that need a library for signatures", disagreed)
        check("and the log is intact again", log.verify("--checkpoint", log.kept_path)[0] == 0)
        flip(log, "checkpoint.json", 30)
        done = log.carrel("run", "--audit", "--", "true")
        check("a log with a changed checkpoint is not continued", done.returncode == 126 and "audit_broken" in done.stderr, done)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    end()


if __name__ == "__main__":
    main()
