#!/usr/bin/env python3
"""policy_run_test - rules for commands as carrel run applies them: what is denied is not started.

A judge that dies, hangs or answers nonsense denies; both lists of rules apply; what a
name is in the sandbox; carrel check and plan.
"""
import hashlib
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, SWITCHES, check, end, need_programs, report
from spellings import SPELLINGS

HEAD = """---
schema: sandbox/v1
id: "@you/ruled"
version: 1.0.0
provider: local
config: {}
mounts: [{source: workspace, at: /workspace, mode: read-write}]
"""
RULES = "{allow: [ls, cat, echo, wc, 'true', 'false'], deny: [rm, curl]}"


def write(folder, name, text, mode=0o644):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def manifest(folder, rules, more=""):
    return write(folder, "SANDBOX.md", HEAD + ("metadata: {carrel: {%scommands: %s}}\n" % (more, rules) if rules else "") + "---\n")


def run(folder, *words, carrel=CARREL, env=None, host=None, verb="run"):
    options = ["--host", host] if host else []
    done = subprocess.run([carrel, verb, "-w", folder, *options, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False, cwd=folder, env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def is_denied(got, reason=None):
    return got[0] == 126 and "sandbox_policy_denied" in got[2] and "Nothing was started" in got[2] and (reason is None or reason in got[2])


def spellings(folder):
    manifest(folder, RULES)
    victim = write(folder, "victim", "x\n")
    write(folder, "script", "#!/bin/sh\nrm victim\n", 0o755)
    os.symlink("/bin/rm", os.path.join(folder, "link"))
    shutil.copy("/bin/rm", os.path.join(folder, "copy"))
    wrong = []
    for text in SPELLINGS:
        got = run(folder, "--", "sh", "-c", text.replace("{F}", "victim"))
        with open(victim, encoding="utf-8") as f:
            is_whole = f.read() == "x\n"
        if not is_denied(got) or not is_whole:
            wrong.append((text, got, is_whole))
            write(folder, "victim", "x\n")
    report("P33: %d spellings of a denied command: none is started" % len(SPELLINGS), wrong[:8])
    wrong = []
    for words in (("rm", "victim"), ("/bin/rm", "victim"), ("/usr/bin/rm", "victim"), ("../bin/rm", "victim"), ("./link", "victim"), ("./copy", "victim"), ("/workspace/link", "victim"), ("/proc/self/root/bin/rm", "victim"),
                  ("env", "rm", "victim"), ("python3", "-c", "0"), ("./script",), ("sh", "script")):
        got = run(folder, "--", *words)
        if not is_denied(got) or not os.path.exists(victim):
            wrong.append((words, got))
    report("also as words, by path, link and copy (L05)", wrong)
    wrong = []
    for words in (("ls", "/"), ("sh", "-c", "ls / | wc -l"), ("/bin/ls", "/"), ("env", "ls", "/"), ("sh", "-c", 'for x in 1 2; do echo "$x"; done')):
        got = run(folder, "--", *words)
        if got[0] != 0 or got[2]:
            wrong.append((words, got))
    report("what the rules allow runs", wrong)


def places(folder):
    """What a refusal says; the audit of it; PATH."""
    manifest(folder, RULES)
    got = run(folder, "--", "rm", "x")
    check("a refusal names the program, the rule and its place", got[0] == 126 and 'rm may not run: denied, by the entry "rm"' in got[2] and "SANDBOX.md:8:" in got[2] and "metadata/carrel/commands/deny" in got[2] and "AK_SANDBOX_DENIED" in got[2], got)
    got = run(folder, "--json", "--", "rm", "x")
    found = json.loads(got[1])
    check("as JSON too", found["error"]["code"] == "sandbox_policy_denied" and found["error"]["reason"] == "denied", got)
    wrong = []
    for words, is_allowed in ((("-e", "PATH=/workspace:/bin", "--", "ls"), False), (("-e", "PATH=/bin:/tmp", "--", "ls"), False), (("-e", "PATH=.", "--", "ls"), False), (("-e", "PATH=/usr/bin", "--", "ls"), True), (("-e", "LD_PRELOAD=x", "--", "ls"), False),
                              (("-e", "BASH_ENV=x", "--", "ls"), False), (("-e", "GIT_SSH_COMMAND=x", "--", "ls"), False), (("-e", "COLOR=x", "--", "ls"), True)):
        got = run(folder, *words)
        if (got[0] == 0) != is_allowed or not is_allowed and not is_denied(got):
            wrong.append((words, got))
    report("PATH of the command and variables that programs act on are judged (L02)", wrong)
    got = run(folder, "--", "sh", "-c", "echo $PATH")
    plain = write(folder, "plain.md", HEAD + "---\n")
    other = run(folder, "-f", plain, "--", "sh", "-c", "echo $PATH")
    check("with rules, no directory of PATH can be written by commands", ".local/bin" not in got[1] and got[1].startswith("/usr/local/bin") and ".local/bin" in other[1], got, other)
    state = os.path.join(folder, "state")
    got = run(tempfile.mkdtemp(dir=folder), "-f", manifest(folder, RULES), "--audit", "--", "rm", "x", env={"CARREL_STATE": state})
    with open(next(os.path.join(d, f) for d, _, fs in os.walk(state) for f in fs if f.endswith(".jsonl")), encoding="utf-8") as f:
        entries = [json.loads(line) for line in f]
    actions = [entry["action"] for entry in entries]
    check("a refusal is in the audit log", got[0] == 126 and actions == ["log.initialized", "policy.denied", "exec.refused"], got, actions)
    host = write(folder, "host.yaml", "providers: {local: {isolated: true, mounts: true}}\ncommands: {deny: [wc]}\n")
    run(folder, "--audit", "--", "ls", env={"CARREL_STATE": state})
    run(folder, "--audit", "--", "ls", env={"CARREL_STATE": state}, host=host)
    with open(next(os.path.join(d, f) for d, _, fs in os.walk(state) for f in fs if f.endswith(".jsonl")), encoding="utf-8") as f:
        entries = [json.loads(line) for line in f]
    versions = [entry["input"]["policy_sha256"] for entry in entries if entry["action"] in ("exec.refused", "exec.started")]
    alone = '{"manifest":{"allow":["ls","cat","echo","wc","true","false"],"deny":["rm","curl"]}}'
    expected = [hashlib.sha256(text.encode()).hexdigest() for text in (alone, alone, '{"host":{"deny":["wc"]},' + alone[1:])]
    check("  with the version of the rules of manifest and host file", versions == expected, versions, expected)


def layers(folder):
    host = write(folder, "host.yaml", "providers: {local: {isolated: true, mounts: true}}\ncommands: {deny: [wc]}\n")
    manifest(folder, RULES)
    both = [run(folder, "--", word, "/dev/null", host=host) for word in ("ls", "wc", "rm")]
    check("rules of manifest and host file both apply", both[0][0] == 0 and is_denied(both[1], "commands of the host file") and "at commands/deny" in both[1][2] and is_denied(both[2], "metadata.carrel.commands"), both)
    manifest(folder, None)
    alone = [run(folder, "--", word, "/dev/null", host=host) for word in ("ls", "wc", "rm")]
    check("  those of the host file alone, too", alone[0][0] == 0 and is_denied(alone[1]) and alone[2][0] not in (0, 126), alone)
    wrong = []
    for text, reason in (("commands: {denied: [wc]}\n", "unknown_field"), ("commands: [wc]\n", "type"), ("commands: {deny: wc}\n", "type")):
        got = run(folder, "--", "ls", host=write(folder, "bad.yaml", text + "providers: {local: {isolated: true, mounts: true}}\n"))
        if got[0] == 0 or reason not in got[2] or "bad.yaml:1:" not in got[2]:
            wrong.append((text, got))
    got = run(folder, "--", "ls", host=write(folder, "bad.yaml", "commands: {commands_disallowed: ['$x']}\nproviders: {local: {isolated: true, mounts: true}}\n"))
    if got[0] != 126 or "commands of the host file" not in got[2]:
        wrong.append(got)
    for rules, reason in (("{denied: [wc]}", "unknown_field"), ("[wc]", "type"), ("{deny: wc}", "type"), ("{unresolved: allow}", "enum"), ("{commands_disallowed: ['a; b']}", "pattern"), ("{validators: {shell: {cmd: {pattern: '('}}}}", "pattern"), ("{allow: [], executables_allowlist: []}", "twice")):
        manifest(folder, rules)
        for verb, words in (("run", ("--", "ls")), ("check", ())):
            got = run(folder, *words, verb=verb)
            if got[0] != 126 or reason not in got[1] + got[2] or "SANDBOX.md:8:" not in got[1] + got[2]:
                wrong.append((verb, rules, got))
    report("rules that are none are refused by run and check, with line and column", wrong)
    manifest(folder, RULES)
    got = run(folder, verb="plan")
    check("carrel plan shows the rules", "deny: rm, curl" in got[1], got)


def rule_files(folder):
    """commands: {file: PATH}: the same rules, from a file that commands cannot change."""
    wrong = []
    for name, text in (("rules.yaml", RULES), ("rules.json", json.dumps({"allow": ["ls"], "deny": ["rm"], "requireSandbox": ["shell"]}))):
        write(folder, name, text)
        manifest(folder, "{file: ./%s}" % name)
        got = [run(folder, "--", "ls"), run(folder, "--", "rm", "x")]
        if got[0][0] != 0 or not is_denied(got[1], "at metadata/carrel/commands/deny"):
            wrong.append((name, got))
    report("rules in a file of the workspace apply, as YAML and JSON", wrong)
    manifest(folder, "{file: ./rules.yaml}")
    write(folder, "rules.yaml", "{allow: [ls, echo], deny: [rm], writes: allow}")
    run(folder, "--", "sh", "-c", "echo '{}' > rules.yaml")
    with open(os.path.join(folder, "rules.yaml"), encoding="utf-8") as f:
        got = f.read()
    check("P15: a command cannot change the file of its rules", "deny" in got, got)
    state = os.path.join(folder, "state")
    versions = []
    for rules in ("{deny: [rm]}", "{deny: [wc]}"):
        write(folder, "rules.yaml", rules)
        run(folder, "--audit", "--", "ls", env={"CARREL_STATE": state})
        exported = subprocess.run([CARREL, "audit", "export"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=dict(os.environ, CARREL_STATE=state), timeout=ALWAYS, check=False).stdout
        versions.append([json.loads(line)["input"]["policy_sha256"] for line in exported.splitlines() if b'"exec.started"' in line][-1])
    expected = [hashlib.sha256(b'{"manifest":{"deny":["%s"]}}' % word).hexdigest() for word in (b"rm", b"wc")]
    check("the version of the rules covers the content of the file", versions == expected, versions, expected)
    wrong = []
    for text, field, reason in (("allow: {", "file", "yaml"), ("[ls]", "file", "wrong_kind"), ("{file: ./other.yaml}", "file", "wrong_kind"), ("{alow: [ls]}", "alow", "unknown_field"), (None, "file", "not_found")):
        os.unlink(os.path.join(folder, "rules.yaml"))
        if text:
            write(folder, "rules.yaml", text)
        else:
            os.symlink("/etc/hostname", os.path.join(folder, "rules.yaml"))
            reason = "outside_workspace"
        for verb, *words in (("run", "--", "ls"), ("check",)):
            got = run(folder, *words, verb=verb)
            if got[0] == 0 or "at metadata/carrel/commands/" + field not in got[1] + got[2] or reason not in got[1] + got[2] or "SANDBOX.md:8:" not in got[1] + got[2]:
                wrong.append((verb, text, got))
    os.unlink(os.path.join(folder, "rules.yaml"))
    manifest(folder, "{file: ./rules.yaml, deny: [rm]}")
    got = run(folder, "--", "ls")
    if "exclusive" not in got[2]:
        wrong.append(got)
    report("a file of rules that is none refuses, at the place of the reference", wrong)
    manifest(folder, None)
    rules = write(folder, "host-rules.yaml", "{deny: [wc]}")
    host = write(folder, "host.yaml", "providers: {local: {isolated: true, mounts: true}}\ncommands: {file: %s}\n" % rules)
    got = [run(folder, "--", word, "/dev/null", host=host) for word in ("ls", "wc")]
    check("the host file may name a file of rules", got[0][0] == 0 and is_denied(got[1], "at commands/deny"), got)
    wrong = []
    for text in ("{file: host-rules.yaml}", "{file: /does/not/exist}", "{file: %s, deny: [ls]}" % rules):
        got = run(folder, "--", "ls", host=write(folder, "bad.yaml", "providers: {local: {isolated: true, mounts: true}}\ncommands: %s\n" % text))
        if got[0] == 0 or "commands/file" not in got[2]:
            wrong.append((text, got))
    report("  and one that cannot be read refuses", wrong)


def semantics(folder):
    """L06: deny wins; an empty list allows none; lengths in bytes and characters; case; similar letters."""
    rows = (("{allow: [ls], deny: [ls]}", ("ls",), False), ("{allow: []}", ("ls",), False), ("{executables_allowlist: [ls]}", ("ls",), True), ("{deny: []}", ("ls",), True), ("{deny: [LS]}", ("ls",), True), ("{allow: [LS]}", ("ls",), False),
            ("{allow: [/bin/ls]}", ("ls",), True), ("{allow: [/tmp/ls]}", ("ls",), False), ("{allow: ['\uff4c\uff53']}", ("ls",), False), ("{deny: [rm]}", ("\uff52\uff4d", "x"), False),
            ("{validators: {shell: {cmd: {max_length: 255}}}}", ("sh", "-c", "true " + 250 * "a"), True), ("{validators: {shell: {cmd: {max_length: 255}}}}", ("sh", "-c", "true " + 251 * "a"), False),
            ("{validators: {shell: {cmd: {max_length: 255}}}}", ("sh", "-c", "true " + 250 * "\u00e9"), True), ("{validators: {shell: {cmd: {max_bytes: 255}}}}", ("sh", "-c", "true " + 250 * "a"), True),
            ("{validators: {shell: {cmd: {max_bytes: 255}}}}", ("sh", "-c", "true " + 125 * "\u00e9" + "a"), False), ("{validators: {shell: {cmd: {min_length: 5}}}}", ("true",), False), ("{validators: {shell: {cmd: {pattern: '^true( [a-z]+)*$'}}}}", ("true", "abc", "def"), True),
            ("{validators: {shell: {cmd: {pattern: '^true( [a-z]+)*$'}}}}", ("true", "abc", "d3f"), False), ("{validators: {shell: {cmd: {pattern: '^(a|a)*$'}}}}", ("true", 200 * "a"), False))
    wrong = []
    for rules, words, is_allowed in rows:
        manifest(folder, rules)
        got = run(folder, "--", *words)
        if (got[0] == 0) != is_allowed or not is_allowed and not is_denied(got):
            wrong.append((rules, words, got))
    report("L06: the meaning of rules, by a table", wrong)
    manifest(folder, "{deny: [rm], unresolved: ask}")
    got = run(folder, "--", "sh", "-c", "$x")
    check("what asks is denied without a terminal", is_denied(got, "approval_required"), got)


def not_found(folder):
    wrong = []
    for rules in ("{unresolved: ask}", "{unresolved: deny}"):
        manifest(folder, rules)
        for words in (("pyhton3", "-c", "0"), ("sh", "-c", "ls / && pyhton3 x")):
            got = run(folder, "--", *words)
            if not is_denied(got, "not_found") or "Did you mean python3?" not in got[2]:
                wrong.append((rules, words, got))
        got = run(folder, "--", "sh", "-c", "f() { ls; }; f")
        if "not_found" in got[2] or got[0] != 126:
            wrong.append((rules, got))
    report("a program that does not exist is not found, with the name that was meant", wrong)
    write(folder, "rules.yaml", RULES)
    wrong = []
    for rules in (RULES, "{file: ./rules.yaml}"):
        manifest(folder, rules)
        for verb in ("test", "explain"):
            for word, status in (("ls", 0), ("rm", 126)):
                got = subprocess.run([CARREL, "policy", verb, os.path.join(folder, "SANDBOX.md"), "--", word], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
                if got.returncode != status:
                    wrong.append((rules, verb, word, got))
    manifest(folder, None)
    got = subprocess.run([CARREL, "policy", "test", os.path.join(folder, "SANDBOX.md"), "--", "ls"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    if got.returncode != 125 or "required" not in got.stderr:
        wrong.append(got)
    report("carrel policy reads the rules of a manifest", wrong)
    manifest(folder, "{deny: [rm], unresolved: ask}")
    got = [run(folder, "--", "bash", "-lc", text) for text in ("ls /", "rm x")]
    check("bash -lc is judged by its text", got[0][0] == 0 and is_denied(got[1], "denied"), got)


def script_swap(folder):
    """L09: a script of the workspace is never a program that a rule allows, so none can be swapped."""
    wrong = []
    write(folder, "ok.sh", "#!/bin/sh\necho ok\n", 0o755)
    for rules in ("{allow: [ok.sh, sh]}", "{allow: [/workspace/ok.sh, sh]}"):
        manifest(folder, rules)
        for words in (("./ok.sh",), ("/workspace/ok.sh",), ("sh", "ok.sh"), ("sh", "-c", ". ./ok.sh"), ("sh", "-c", "./ok.sh")):
            got = run(folder, "--", *words)
            if not is_denied(got) or "ok\n" in got[1]:
                wrong.append((rules, words, got))
    report("L09: files that commands can write are never allowed, by name or path", wrong)
    manifest(folder, "{allow: [./ok.sh, sh]}")
    got = run(folder, "--", "./ok.sh")
    check("and a rule that names one by a relative path is an error", got[0] == 126 and "sandbox_schema_invalid, program" in got[2], got)


def terminal(folder):
    """A person is asked; no answer, an empty one and everything but y is no."""
    manifest(folder, "{deny: [rm], unresolved: ask}")
    wrong = []
    for answer, is_allowed in ((b"y\n", True), (b"\n", False), (b"n\n", False), (b"yep\n", False), (b"\x04", False)):
        pid, fd = pty.fork()
        if pid == 0:
            os.execv(CARREL, [CARREL, "run", "-w", folder, "--", "sh", "-c", "x=true; $x && echo ran-it"])
        seen, is_asked = b"", False
        while True:
            try:
                got = os.read(fd, 4096)
            except OSError:
                break
            if not got:
                break
            seen += got
            if not is_asked and b"[y/N]" in seen:
                os.write(fd, answer)
                is_asked = True
        os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if not is_asked or (status == 0) != is_allowed or (b"ran-it\r" in seen) != is_allowed:
            wrong.append((answer, status, seen))
    report("at a terminal a person decides, and the default is no", wrong)


def hints(folder):
    """A refusal says what to write instead, and what it says works."""
    wrong = []
    for rules, words, hint, better, words_then in (
            ("{deny: [curl]}", ("--", "sh", "-c", "echo x > out"), "add `writes: allow` to metadata.carrel.commands", "{deny: [curl], writes: allow}", ("--", "sh", "-c", "echo x > out")),
            ("{deny: [curl]}", ("--", "sh", "-c", "MODE=test ls"), "not in the command's text: -e NAME=VALUE", "{deny: [curl]}", ("-e", "MODE=test", "--", "sh", "-c", "ls")),
            ("{deny: [curl]}", ("--", "sh", "-c", "[[ -d /tmp ]]"), "with [ ] and not with [[ ]]", "{deny: [curl]}", ("--", "sh", "-c", "[ -d /tmp ]")),
            ("{deny: [curl]}", ("--", "./script"), "with its interpreter, as in python3 FILE", "{deny: [curl]}", ("--", "python3", "script")),
            ("{allow: [ls]}", ("--", "wc", "script"), 'add "wc" to allow of metadata.carrel.commands', "{allow: [ls, wc]}", ("--", "wc", "script"))):
        write(folder, "script", "#!/usr/bin/python3\n", 0o755)
        manifest(folder, rules)
        got = run(folder, *words)
        manifest(folder, better)
        then = run(folder, *words_then)
        if not is_denied(got, hint) or then[0] != 0:
            wrong.append((words, got, then))
    report("a refusal names the way out, and it works", wrong)
    manifest(folder, "{deny: [curl]}")
    got = run(folder, "--", "sh", "-c", ". ./script")
    manifest(folder, "{deny: [curl], unresolved: ask}")
    then = run(folder, "--", "sh", "-c", ". ./script")
    check("what is not known can be left to a person, who needs a terminal or a daemon", is_denied(got, "et a person decide what is not known: `unresolved: ask` in metadata.carrel.commands") and is_denied(then, "approval_required") and "answer with `carrel approve`" in then[2], got, then)


def broken_judge(folder):
    manifest(folder, RULES)
    wrong = []
    for how in ("dies", "nonsense", "other", "hangs"):
        before = time.monotonic()
        got = run(folder, "--", "ls", carrel=SWITCHES, env={"CARREL_TEST_JUDGE": how})
        if not is_denied(got, "judge_failed") or got[1]:
            wrong.append((how, got, time.monotonic() - before))
    got = run(folder, "--", "ls", carrel=SWITCHES)
    if got[0] != 0:
        wrong.append(got)
    report("P33: a judge that dies, hangs or answers nonsense denies", wrong)


def main():
    need_programs()
    for part in (spellings, places, layers, rule_files, semantics, not_found, script_swap, terminal, hints, broken_judge):
        with tempfile.TemporaryDirectory(prefix="carrel-policy-run-") as folder:
            part(folder)
    end()


if __name__ == "__main__":
    main()
