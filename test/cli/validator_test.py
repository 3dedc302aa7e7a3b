#!/usr/bin/env python3
# deep as root: more pairs of one generator
"""validator_test - validators of policies: JSON Schema, paths, hosts and lists of tools, as
`carrel policy test` judges them; JSON Schema compared with Python's jsonschema.
"""
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, DEEP, check, end, need_programs, report

PAIRS = 1500 if DEEP else 300
PATTERNS = ("^a", "b$", "^[a-c]*$", "[0-9]+", "^(a|b)c?$", "x", "^[a-c1]{2,3}$")
KEYS = ("a", "b", "c", "x1")
TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")

RULES = {
    "deny": ["rm", "drop_table"],
    "tools": {"deny": ["file.remove"], "allow": ["shell", "file.write", "get", "any", "drop_table"]},
    "validators": {
        "shell": {"paths": ["/workspace", "/tmp"], "hosts": ["api.example.com", "*.good.org"],
                  "arguments": {"properties": {"argv": {"maxItems": 4}, "env": {"items": {"pattern": "^[A-Z]+$"}}}}},
        "file.write": {"paths": {"fields": ["path"], "beneath": ["/workspace"]}},
        "get": {"hosts": {"fields": ["url"], "allow": ["api.example.com"]},
                "arguments": {"type": "object", "required": ["url"], "additionalProperties": False, "properties": {"url": {"type": "string", "maxLength": 40}}}},
    },
}
# What is called, the entry of the rules that denies it (None: allowed), and the word that is shown.
ROWS = (
    (["-c", "ls /tmp"], None), (["-c", "ls /etc"], "shell.paths"), (["--", "cat", "../x"], "shell.paths"), (["--", "cat", "a/../b"], None), (["-c", "cd /etc; ls"], "shell.paths"), (["-c", "cd; ls"], "shell.paths"),
    (["-c", "cd sub; cat x"], None), (["-c", "cd sub; cat ../x"], "shell.paths"), (["-c", "wc < /etc/passwd"], "shell.paths"), (["-c", "wc </tmp/x"], None), (["-c", "wc <x 2>/dev/null"], None), (["-c", "cat *"], "shell.paths"),
    (["-c", "cat $HOME/x"], "shell.paths"), (["-c", "cat ~/x"], "shell.paths"), (["-c", "sh -c 'cat /etc/passwd'"], "shell.paths"), (["-c", "find /etc -name x"], "shell.paths"), (["-c", "find /tmp -exec cat {} +"], "shell.paths"),
    (["-c", "echo x | xargs cat"], "shell.paths"), (["-c", "env -C /etc ls"], "shell.paths"), (["--", "python3", "-c", "open('/etc/passwd')"], "shell.paths"), (["--", "tar", "-xf/etc/x"], "shell.paths"),
    (["--cwd", "/etc", "--", "ls"], "shell.paths"), (["--cwd", "/tmp/a", "--", "ls", "../b"], None), (["--cwd", "/tmp/a", "--", "ls", "../../b"], "shell.paths"),
    (["--", "ls", "1", "2", "3"], None), (["--", "ls", "1", "2", "3", "4"], "shell.arguments: argv: maxItems"),
    (["--", "python3", "get.py", "https://api.example.com/x"], None), (["--", "python3", "get.py", "https://evil.com/x"], "shell.hosts"), (["-c", "python3 get.py $URL"], "shell.paths"), (["--", "git", "clone", "git@evil.com:x/y"], "shell.hosts"),
    (["--", "git", "clone", "https://api.example.com/x"], None), (["--", "git", "show", "HEAD:main.c"], None),
    (["--tool", "file.remove"], "file.remove"), (["--tool", "fs_delete"], "file.remove"), (["--tool", "other"], "not_allowed"), (["--tool", "any"], None), (["--tool", "drop_table"], "drop_table"),
    (["--tool", "file.write", "--arguments", '{"path": "/workspace/x"}'], None), (["--tool", "fs_write", "--arguments", '{"path": "x"}'], None), (["--tool", "write_file", "--arguments", '{"path": "../x"}'], "file.write.paths"),
    (["--tool", "file.write", "--arguments", '{"path": 1}'], "file.write.paths"), (["--tool", "file.write", "--arguments", '{"path": ["a", "/etc/x"]}'], "file.write.paths"), (["--tool", "file.write"], None),
    (["--tool", "get", "--arguments", '{"url": "https://api.example.com/x"}'], None), (["--tool", "get", "--arguments", '{"url": "api.example.com"}'], None), (["--tool", "get", "--arguments", '{"url": "https://evil.com/x"}'], "get.hosts"),
    (["--tool", "get", "--arguments", '{"url": "https://api.example.com/x", "x": 1}'], "get.arguments: x: false"), (["--tool", "get"], "get.arguments: required"),
    (["--tool", "get", "--arguments", '{"url": "https://api.example.com/%s"}' % (40 * "x")], "get.arguments: url: maxLength"),
)
WRONG = (
    ({"shell": {"arguments": {"format": "uri"}}}, "format"), ({"shell": {"arguments": {"properties": {"cmd": {"maxlength": 1}}}}}, "maxlength"), ({"shell": {"arguments": {"$ref": "other.json"}}}, "$ref"), ({"shell": {"paths": ["etc"]}}, "absolute"),
    ({"shell": {"paths": ["/a/../b"]}}, "absolute"), ({"shell": {"paths": []}}, "1 to 64"), ({"file.write": {"paths": ["/workspace"]}}, "fields"), ({"shell": {"paths": {"fields": ["x"], "beneath": ["/a"]}}}, "fields"), ({"shell": {"hosts": ["127.0.0.1"]}}, "host"),
    ({"shell": {"hosts": ["https://x.com"]}}, "host"), ({"file.write": {"cmd": {"max_length": 1}}}, "shell alone"), ({"shell": {"path": ["/a"]}}, "checks"), ({"shell": {}, "exec": {}}, "two names"), ({"shell": {"program": "/bin/true"}}, "program"),
    ({"shell": {"program": {"command": ["true"]}}}, "program"), ({"shell": {"program": {"command": ["/bin/true"], "timeout_ms": 0}}}, "program"), ({"shell": {"program": {"command": ["/bin/true"], "timeout_ms": 100000}}}, "too large"),
)


def policy(rules, *words):
    done = subprocess.run([CARREL, "policy", "test", rules, "--json", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    found = json.loads(done.stdout) if done.stdout else None
    return done.returncode, found, done.stderr or (done.stdout if "error" in (found or {}) else "")


def write(folder, name, value):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f)
    return path


def verdicts(folder):
    rules, wrong = write(folder, "rules.json", RULES), []
    for words, entry in ROWS:
        status, found, err = policy(rules, *words)
        denied = [a for a in found["actions"] if a["verdict"] == "deny"] if found else []
        if status != (126 if entry else 0) or err or entry and entry not in (denied[0].get("entry"), denied[0]["reason"].replace("tool_", "")):
            wrong.append((words, entry, status, found, err))
    report("%d calls have the verdict of paths, hosts, JSON Schema and lists of tools" % len(ROWS), wrong)
    wrong = []
    for validators, word in WRONG:
        status, _, err = policy(write(folder, "wrong.json", {"validators": validators}), "--", "ls")
        if status != 125 or "schema_invalid" not in err or word not in err or json.loads(err)["error"].get("line") != 1:
            wrong.append((validators, status, err))
    for words in (["--tool", "x", "--", "ls"], ["--arguments", "{}", "--", "ls"], ["--tool", "x", "--arguments", "[]"], ["--tool", "x", "--arguments", "{"], ["--cwd", "a", "--", "ls"]):
        status, _, err = policy(rules, *words)
        if status != 125:
            wrong.append((words, status, err))
    report("what is not understood is an error when the policy is read, with its place", wrong)


def value(r, depth=0):
    kind = r.randrange(9 if depth < 3 else 7)
    if kind >= 7:
        return [value(r, depth + 1) for _ in range(r.randrange(4))] if kind == 7 else {k: value(r, depth + 1) for k in r.sample(KEYS, r.randrange(4))}
    return (None, True, False, r.randint(-3, 6), r.randint(-8, 8) / 4, "".join(r.choice("abcx1\u00e9") for _ in range(r.randrange(5))), float(r.randint(-2, 3)))[kind]


def schema(r, depth=0):
    """Every keyword that is understood; often about the same few names and values."""
    if depth > 3 or r.random() < 0.1:
        return r.choice((True, True, False, {}, {"type": r.choice(TYPES)}))
    deeper = lambda: schema(r, depth + 1)  # noqa: E731
    several = lambda: [deeper() for _ in range(r.randint(1, 3))]  # noqa: E731
    named = lambda keys: {k: deeper() for k in r.sample(keys, r.randint(0, 3))}  # noqa: E731
    count, number = lambda: r.randrange(4), lambda: r.choice((r.randint(-2, 4), r.randint(-8, 8) / 4))  # noqa: E731
    makers = {
        "type": lambda: r.choice((r.choice(TYPES), r.sample(TYPES, r.randint(1, 3)))), "enum": lambda: [value(r, 2) for _ in range(r.randint(1, 4))], "const": lambda: value(r, 2), "properties": lambda: named(KEYS),
        "patternProperties": lambda: named(PATTERNS), "additionalProperties": deeper, "required": lambda: r.sample(KEYS, r.randrange(3)), "minProperties": count, "maxProperties": count, "prefixItems": several, "items": deeper,
        "minItems": count, "maxItems": count, "uniqueItems": lambda: r.random() < 0.7, "minLength": count, "maxLength": count, "pattern": lambda: r.choice(PATTERNS), "minimum": number, "maximum": number, "exclusiveMinimum": number,
        "exclusiveMaximum": number, "multipleOf": lambda: r.choice((1, 2, 3, 0.5, 0.25, 1.5)), "allOf": several, "anyOf": several, "oneOf": several, "not": deeper, "$ref": lambda: "#/$defs/" + r.choice("mn"),
    }
    return {name: makers[name]() for name in r.sample(sorted(makers), r.randint(1, 4))}


def compare(folder):
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        report("JSON Schema as Python's jsonschema has it", skip="no module jsonschema")
        return
    r, pairs = random.Random(20261128), []
    while len(pairs) < PAIRS:
        root = {"$defs": {"m": schema(r, 3), "n": {"type": r.choice(TYPES)}}, "properties": {"v": schema(r)}}
        pairs += [(root, {"v": value(r)}) for _ in range(3)]

    def one(i):
        root, instance = pairs[i]
        got = policy(write(folder, "%d.json" % i, {"validators": {"x": {"arguments": root}}}), "--tool", "x", "--arguments", json.dumps(instance))
        try:
            return got[0], got[2], Draft202012Validator(root).is_valid(instance)
        except RecursionError:        # a reference to itself: not decided, so denied
            return got[0], got[2], False
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(one, range(len(pairs))))
    wrong = [(pairs[i], a) for i, a in enumerate(answers) if a[0] != (0 if a[2] else 126) or a[1]]
    report("%d schemas and values: the verdict of Python's jsonschema" % len(pairs), wrong[:5])
    valid = sum(a[2] for a in answers)
    check("  and many of them are valid, many not", len(pairs) / 5 < valid < len(pairs) * 4 / 5, valid)


def main():
    need_programs()
    for part in (verdicts, compare):
        with tempfile.TemporaryDirectory(prefix="carrel-validator-") as folder:
            part(folder)
    end()


if __name__ == "__main__":
    main()
