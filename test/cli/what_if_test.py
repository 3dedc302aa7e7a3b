#!/usr/bin/env python3
"""what_if_test - carrel policy what-if: decisions of an audit log that other rules would change."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, need_programs, report

HEAD = """---
schema: sandbox/v1
provider: local
config: {}
mounts: [{source: workspace, at: /workspace, mode: read-write}]
metadata: {carrel: {commands: {deny: [rm, wc], unresolved: %s}}}
---
"""


class Bench:
    def __init__(self, top):
        self.top, self.env = top, dict(os.environ, CARREL_STATE=os.path.join(top, "state"), HOME=top)
        self.log = os.path.join(top, "state", "audit", "uid:%d" % os.getuid())

    def write(self, name, text):
        with open(os.path.join(self.top, name), "w", encoding="utf-8") as f:
            f.write(text)
        return os.path.join(self.top, name)

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.top, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)

    def record(self, unresolved, *commands, options=()):
        self.write("SANDBOX.md", HEAD % unresolved)
        for words in commands:
            self.carrel("run", "--audit", *options, "--", *words)

    def what_if(self, rules, *words, over=None):
        got = self.carrel("policy", "what-if", self.write("new.yaml", rules), "--over", over or self.log, "--json", *words)
        return got.returncode, json.loads(got.stdout) if got.stdout.startswith("{") else got


def changes(found):
    return [(c["argv"][0], c["was"], c["would_be"]) for c in found["changes"]]


def decisions(b):
    b.record("deny", ("true",), ("rm", "-f", "x"), ("wc", "/dev/null"), ("cat", "/dev/null"), ("sh", "-c", "$x"), ("no-such-command",))
    b.record("ask", ("sh", "-c", "$x"))
    same = b.what_if("{deny: [rm, wc]}")
    check("with the same rules only what asked changes", same[0] == 1 and changes(same[1]) == [("sh", "asked", "deny")] and same[1]["judged"] == 6 and same[1]["not_judged"]["other_refusal"] == 1, same)
    got = b.what_if("{deny: [rm, cat], unresolved: ask}")
    check("each decision that other rules change is listed", got[0] == 1 and changes(got[1]) == [("wc", "denied", "allow"), ("cat", "allowed", "deny"), ("sh", "denied", "ask")], got)
    cat = next(c for c in got[1]["changes"] if c["argv"][0] == "cat")
    check("  with its entry, time, words and rule", cat["argv"] == ["cat", "/dev/null"] and cat["action"] == "exec.started" and cat["at"].endswith("Z") and (cat["decided_by"]["reason"], cat["decided_by"]["entry"]) == ("denied", "cat"), cat)
    text = b.carrel("policy", "what-if", b.write("new.yaml", "{deny: [rm, cat], unresolved: ask}"), "--over", b.log)
    check("  also as text", text.returncode == 1 and "%6d  %s  allowed -> deny  cat /dev/null\n        deny   cat: denied, by the entry \"cat\"\n" % (cat["entry"], cat["at"]) in text.stdout and "3 of 6 decisions would change\n" in text.stdout, text)
    lines = b.carrel("audit", "export").stdout.splitlines(keepends=True)
    lines = [line for line in lines if "process.executed" not in line]
    none = b.carrel("policy", "what-if", b.write("new.yaml", "{deny: [rm, wc], unresolved: deny}"), "--over", b.write("entries.jsonl", "".join(lines[:5])))
    check("without a change the status is 0, and an export is read too", none.returncode == 0 and none.stdout == "0 of 2 decisions would change\n", none)


def unjudged(b):
    b.record("deny", ("true", "--password=hidden-1234567"), ("true", 20000 * "a"), ("true", "\udcff"))
    b.record("deny", ("true",), options=("-e", "LD_PRELOAD=x"))
    b.carrel("run", "--audit", "-f", b.write("other.md", HEAD.replace("local", "e2b") % "deny"), "--", "true")
    status, found = b.what_if("{deny: ['true']}")
    check("what the log does not have is counted with its reason, not guessed", status == 0 and found["changes"] == [] and found["judged"] == 0, found)
    check("  redacted, truncated, other bytes, a variable, a refusal for another reason", [found["not_judged"][n] for n in ("redacted", "truncated", "not_words", "environment", "other_refusal")] == [1, 1, 1, 1, 1], found)


def denials(b):
    """A denial is policy.denied and exec.refused: it counts once, also without one of them."""
    b.record("deny", ("rm", "x"), ("wc", "x"))
    lines = b.carrel("audit", "export").stdout.splitlines(keepends=True)
    actions = [json.loads(line)["action"] for line in lines]
    denied = [json.loads(line)["output"] for line in lines if '"policy.denied"' in line]
    check("carrel run --audit writes policy.denied before exec.refused, as the daemon does", actions[1:] == ["policy.denied", "exec.refused"] * 2 and
          [(d["command"], d["path"], d["reason"]) for d in denied] == [("rm", "metadata/carrel/commands/deny", "denied"), ("wc", "metadata/carrel/commands/deny", "denied")], actions, denied)
    both = b.what_if("{}")
    alone = [b.what_if("{}", over=b.write("part.jsonl", "".join(line for line in lines if left_out not in line))) for left_out in ('"policy.denied"', '"exec.refused"')]
    check("  what-if counts it once", both[1]["judged"] == 2 and sum(both[1]["not_judged"].values()) == 0, both)
    check("  without policy.denied too; without exec.refused there are no words to judge", alone[0][1]["judged"] == 2 and alone[1][1]["judged"] == 0 and alone[1][1]["not_judged"]["not_words"] == 2, alone)


def executed(b):
    b.record("deny", ("env", "LANG=C", "cat", "/dev/null"), ("sh", "-c", "cat /dev/null; true"))
    rules = "{deny: [cat]}"
    plain, more = b.what_if(rules), b.what_if(rules, "--executed")
    is_watched = '"process.executed"' in b.carrel("audit", "export").stdout
    check("--executed judges each program that commands executed", len(plain[1]["changes"]) == 2 and (not is_watched or [c["argv"] for c in more[1]["changes"] if c["action"] == "process.executed"].count(["cat", "/dev/null"]) >= 2), plain, more)


def refused(b):
    b.record("deny", ("true",))
    lines = b.carrel("audit", "export").stdout.splitlines(keepends=True)
    wrong = []
    for rules, over, words in (("{denied: [x]}", b.log, "unknown_field"), ("{commands_disallowed: ['a; b']}", b.log, "new.yaml:1:"), ("{}", os.path.join(b.top, "nothing"), "No such file"),
                               ("{}", b.write("bad.jsonl", lines[0] + lines[1].replace('"true"', '"cat"')), "line 2"), ("{}", b.write("text.jsonl", "no entry\n"), "line 1")):
        got = b.carrel("policy", "what-if", b.write("new.yaml", rules), "--over", over)
        if got.returncode != 125 or words not in got.stderr or got.stdout:
            wrong.append((rules, over, got))
    for words in (("new.yaml",), ("new.yaml", "--over", b.log, "-c", "x"), ("new.yaml", "--over", b.log, "--", "ls")):
        got = b.carrel("policy", "what-if", *words)
        if got.returncode != 125 or "--over" not in got.stderr:
            wrong.append((words, got))
    report("rules, a log and a command line that are none are refused", wrong)


def main():
    need_programs()
    for part in (decisions, unjudged, denials, executed, refused):
        with tempfile.TemporaryDirectory(prefix="carrel-what-if-") as folder:
            part(Bench(folder))
    end()


if __name__ == "__main__":
    main()
