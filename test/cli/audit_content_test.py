#!/usr/bin/env python3
"""audit_content_test - `carrel run --audit --keep-output`: what a command read and wrote is kept by its
digest, redacted, printed unchanged, and a change of it is found.
"""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
HOST = "providers: {local: {isolated: true, mounts: true}}\n"
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    def __init__(self, top, name):
        self.top = os.path.join(top, name)
        self.state, self.work = os.path.join(self.top, "state"), os.path.join(self.top, "work")
        os.makedirs(self.work)
        self.log = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        self.contents = os.path.join(self.log, "content")
        self.env = {**os.environ, "CARREL_STATE": self.state, "HOME": self.top}
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)

    def carrel(self, *words, given=b""):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, input=given, capture_output=True, timeout=PATIENCE, check=False)

    def run(self, line, given=b""):
        return self.carrel("run", "--audit", "--keep-output", "--", "sh", "-c", line, given=given)

    def last(self):
        return list(audit_chain.entries(self.log))[-1]

    def show(self, stream, number=None):
        return self.carrel("audit", "show", str(self.last()["seq"] if number is None else number), "--" + stream)


def keeps_all_three(b):
    given = bytes(range(256)) * 8
    a = b.run("cat; printf 'problem\\n' >&2", given)
    tell("the command's streams are as without it", (a.returncode, a.stdout, a.stderr) == (0, given, b"problem\n"), a)
    for stream, expected in (("stdin", given), ("stdout", given), ("stderr", b"problem\n")):
        a = b.show(stream)
        tell(f"{stream} is printed byte for byte", (a.returncode, a.stdout) == (0, expected), a)
    output = b.last()["output"]
    tell("where nothing was redacted, the content has the digest of the stream", all(output["content"][s]["sha256"] == output[s]["sha256"] for s in ("stdin", "stdout", "stderr")), output)


def redacts(b):
    a = b.run("echo mail me@example.org")
    tell("the command's own output is not redacted", a.stdout == b"mail me@example.org\n", a)
    output = b.last()["output"]
    tell("the entry says what was removed", output["content"]["stdout"]["redacted"] == {"email": 1} and output["content"]["stdout"]["sha256"] != output["stdout"]["sha256"], output)
    a = b.show("stdout")
    tell("the kept content is redacted", a.stdout == b"mail [redacted:email]\n", a)
    found = subprocess.run(["grep", "-r", "me@example", b.contents], capture_output=True, check=False)
    tell("no file has it", found.returncode == 1, found)


def refuses(b):
    a = b.carrel("run", "--keep-output", "--", "true")
    tell("--keep-output needs --audit", a.returncode == 125 and b"--keep-output needs --audit" in a.stderr, a)
    b.carrel("run", "--audit", "--", "true")
    a = b.show("stdout")
    tell("an entry without content says how to record it", a.returncode == 125 and b"--keep-output" in a.stderr, a)
    a = b.show("stdout", 0)
    tell("another entry has none", a.returncode == 125 and b"no kept content" in a.stderr, a)


def says_that_the_end_is_missing(b):
    """Files may have 1 MiB each, so the file in memory takes no more: the command is not disturbed."""
    whole = b"a line\n" * 200000
    a = subprocess.run([CARREL, "run", "--audit", "--keep-output", "--", "sh", "-c", "yes 'a line' | head -n 200000; echo end >&2"], env=b.env, cwd=b.work,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    tell("a file in memory that takes no more: the command's output is as without it", (a.returncode, a.stdout, a.stderr) == (0, whole, b"end\n"), a.returncode, a.stderr)
    content = b.last()["output"]["content"]
    tell("its content is `truncated`, the other is not", content["stdout"].get("truncated") is True and "truncated" not in content["stderr"], content)
    kept = b.show("stdout").stdout
    tell("the beginning is kept, in whole lines", 0 < len(kept) <= 1 << 20 and kept.endswith(b"\n") and whole.startswith(kept), len(kept))


def finds_changes(b):
    b.run("echo original")
    number = b.last()["seq"]
    name = os.path.join(b.contents, b.last()["output"]["content"]["stdout"]["sha256"])
    with open(name, "r+b") as f:
        f.write(b"O")
    a = b.show("stdout", number)
    tell("changed content is not printed", a.returncode == 126 and a.stdout == b"" and b"audit_broken" in a.stderr, a)
    a = b.carrel("audit", "verify", "--json")
    found = json.loads(a.stdout)
    tell("verify finds it", a.returncode == 126 and found["error"]["reason"] == "content.tampered" and found["at"] == number, found)
    os.unlink(name)
    a = b.carrel("audit", "verify", "--json")
    tell("verify finds that it is missing", a.returncode == 126 and json.loads(a.stdout)["error"]["reason"] == "content.missing", a)


def prunes(b):
    b.run("echo new")
    unused = os.path.join(b.contents, "0" * 64)
    with open(unused, "wb") as f:
        f.write(b"old")
    for name in os.listdir(b.contents):
        os.utime(os.path.join(b.contents, name), (0, 0))
    a = b.carrel("audit", "prune", "--older-than", "1d", "--json")
    tell("prune removes old content that no newer entry names", a.returncode == 0 and json.loads(a.stdout)["contents"] == 1 and not os.path.exists(unused), a)
    tell("an entry says so", b.last()["action"] == "content.pruned" and b.last()["output"]["files"] == 1, b.last())
    a = b.carrel("audit", "verify", "--json")
    tell("the log and the content of newer entries verify", a.returncode == 0 and json.loads(a.stdout)["contents"] == 2, a)


def keeps_what_a_killed_run_printed(b):
    with subprocess.Popen([CARREL, "run", "--audit", "--keep-output", "--", "sh", "-c", "echo before; sleep 600"], env=b.env, cwd=b.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        p.send_signal(signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while b.last()["action"] != "exec.ended" and time.monotonic() < end:
        time.sleep(0.05)
    a = b.show("stdout")
    tell("kill -9: the entry is `lost`, and has what was printed", b.last()["output"]["outcome"] == "lost" and a.stdout == b"before\n", b.last(), a)
    with open(os.path.join(b.contents, ".new"), "wb") as f:
        f.write(b"part")
    b.run("true")
    tell("a part of a file is removed at the next start", ".new" not in os.listdir(b.contents), os.listdir(b.contents))
    tell("the log verifies", b.carrel("audit", "verify").returncode == 0)


def host_file_asks(b):
    path = os.path.join(b.top, "host.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("audit: [run, content]\n" + HOST)
    a = b.carrel("run", "--host", path, "--", "echo", "kept")
    tell("audit: [run, content] keeps it without an option", a.returncode == 0 and b.show("stdout").stdout == b"kept\n", a)
    with open(path, "w", encoding="utf-8") as f:
        f.write("audit: [content]\n" + HOST)
    before = len(list(audit_chain.entries(b.log)))
    a = b.carrel("run", "--host", path, "--", "echo", "not recorded")
    tell("audit: [content] alone records no run", a.returncode == 0 and len(list(audit_chain.entries(b.log))) == before, a)
    a = b.carrel("run", "--audit", "--host", path, "--", "echo", "content")
    tell("and keeps the content of one that is recorded", a.returncode == 0 and b.show("stdout").stdout == b"content\n", a)


def main():
    tests = (keeps_all_three, redacts, refuses, says_that_the_end_is_missing, finds_changes, prunes, keeps_what_a_killed_run_printed, host_file_asks)
    with tempfile.TemporaryDirectory() as top:
        for test in tests:
            print(f"# {test.__name__}")
            test(Bench(top, test.__name__))
    print(f"1..{NUMBER[0]}")


main()
