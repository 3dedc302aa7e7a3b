#!/usr/bin/env python3
"""audit_redact_test - `redact` of the host file: groups of rules can be switched off, credentials
cannot; the version of the policy says so, and the documentation names every rule and group.
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from audit_test import NUMBER, Bench, tell

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SECRET = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ012345"
WORDS = ("true", "ann@example.org", "4111111111111111", SECRET)


def started(b, *options):
    a = b.carrel("run", "--audit", *options, "--", *WORDS)
    entries = [e for e in audit_chain.entries(b.log) if e["action"] == "exec.started"]
    return a, entries[-1]["input"] if entries else None


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def switches_groups(b):
    _, said = started(b)
    tell("without redact every rule applies, each is named, and there is no policy version", said["argv"][1:] ==
         ["[redacted:email]", "[redacted:card-number]", "[redacted:github-token]"]
         and said["redacted"] == {"card-number": 1, "email": 1, "github-token": 1} and "policy_sha256" not in said, said)
    host = write(os.path.join(b.top, "other", "host.yaml"), "redact: {personal: false}\nproviders: {local: {isolated: true, mounts: true}}\n")
    a, off = started(b, "--host", host)
    tell("a group that is off keeps its forms; credentials and other groups are removed", off["argv"][1:] == ["ann@example.org", "[redacted:card-number]", "[redacted:github-token]"]
         and off["redacted"] == {"card-number": 1, "github-token": 1}, a, off)
    write(host, "redact: {personal: false, financial: false}\nproviders: {local: {isolated: true, mounts: true}}\n")
    _, both = started(b, "--host", host)
    tell("the version of the policy changes with each group", len({off.get("policy_sha256"), both.get("policy_sha256"), None}) == 3, off, both)
    tell("no secret is in the log", not any(SECRET.encode() in line for line in audit_chain.lines(b.log)))


def refuses(b):
    host = os.path.join(b.top, "other", "host.yaml")
    for text, reason in (("redact: {credentials: false}", "always removed"), ("redact: {jwt: false}", "personal"), ("redact: [personal]", "map"), ("redact: {personal: off-ish}", "true or false")):
        write(host, text + "\n")
        a = b.carrel("run", "--audit", "--host", host, "--", *WORDS)
        tell("%s is refused" % text, a.returncode == 126 and reason in a.stderr, a)
    users = write(os.path.join(b.top, ".config", "carrel", "host.yaml"), "redact: {personal: false}\n")
    a = b.carrel("run", "--audit", "--", *WORDS)
    tell("a user's own file cannot switch a group off", a.returncode == 126 and "user's own host file" in a.stderr, a)
    write(users, "redact: {personal: true}\n")
    a, said = started(b)
    tell("it can name one that is on", a.returncode == 0 and said["argv"][1] == "[redacted:email]", a, said)
    os.unlink(users)


def is_documented():
    with open(os.path.join(ROOT, "docs", "AUDIT.md"), encoding="utf-8") as f:
        page = f.read()
    with open(os.path.join(ROOT, "src", "text", "redact.def"), encoding="utf-8") as f:
        rules = re.findall(r'^REDACT\("([a-z-]+)",\s+(\w+),', f.read(), re.M)
    rows = {name: group for line in page.split("\n") for names, group in re.findall(r"^\| (`[^|]+`) \| (\w+) \|", line) for name in re.findall(r"`([a-z-]+)`", names)}
    wrong = [(name, group) for name, group in rules if rows.get(name) != group]
    tell("docs/AUDIT.md names every rule with its group", rules and not wrong, wrong)


def main():
    top = os.path.realpath(tempfile.mkdtemp(prefix="carrel-redact-"))
    try:
        b = Bench(top, "bench")
        switches_groups(b)
        refuses(b)
        is_documented()
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print("1..%d" % NUMBER[0])


if __name__ == "__main__":
    main()
