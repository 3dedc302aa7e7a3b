#!/usr/bin/env python3
"""Code in a language runs with the interpreter of the sandbox, over REST, MCP and the command line,
and is a command in every other respect: exact bytes, exit codes, limits, keys, read_only.
"""
import base64
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, check, end, need_programs, until
from daemon_rig import Daemon

MOST = 131070       # bytes of code: LANGUAGE_CODE_MAX


def is_shown(program):
    return any(os.access("%s/%s" % (d, program), os.X_OK) for d in ("/usr/local/bin", "/usr/bin", "/bin"))


def run(d, box, language, code, **more):
    return d.call("POST", "/v1/sandboxes/%s/code" % box, {"language": language, "code": code, **more})


def whole(a):
    """(stdout, stderr, exit_code, outcome) of an answer."""
    j = a.json
    return (j.get("stdout"), j.get("stderr"), j.get("exit_code"), j.get("outcome"))


LANGUAGES = (
    ("python", "python3", "import sys\nprint('out'); print('err', file=sys.stderr); sys.exit(3)"),
    ("py", "python3", "import sys; print('out'); sys.stderr.write('err\\n'); sys.exit(3)"),
    ("shell", "sh", "echo out; echo err >&2; exit 3"),
    ("sh", "sh", "echo out\necho err >&2\nexit 3\n"),
    ("bash", "bash", "a=(out err); echo ${a[0]}; echo ${a[1]} >&2; exit 3"),
    ("perl", "perl", "print \"out\\n\"; print STDERR \"err\\n\"; exit 3"),
    ("ruby", "ruby", "puts 'out'; warn 'err'; exit 3"),
    ("javascript", "node", "console.log('out'); console.error('err'); process.exitCode = 3"),
    ("js", "node", "console.log('out'); console.error('err'); process.exit(3)"),
    ("php", "php", "echo \"out\\n\"; fwrite(STDERR, \"err\\n\"); exit(3);"),
    ("zsh", "zsh", "echo out; echo err >&2; exit 3"),
    ("fish", "fish", "echo out; echo err >&2; exit 3"),
)


def languages(d, box):
    wrong, missing = [], []
    for language, program, code in LANGUAGES:
        a = run(d, box, language, code)
        if is_shown(program):
            wrong += [] if a.status == 200 and whole(a) == ("out\n", "err\n", 3, "exited") else [(language, a)]
        else:
            missing.append(language)
            wrong += [] if a.status == 422 and a.code == "runtime_unknown" and a.json["error"]["path"] == "language" \
                and "shell" in a.json["error"]["hint"] else [(language, a)]
    check("code runs in every language whose interpreter is inside; another one is a typed refusal", not wrong,
           "%s; not on this machine: %s" % (wrong, missing))
    a = run(d, box, "cobol", "x")
    check("an unknown language is refused, with the languages of the sandbox",
           a.status == 400 and a.code == "invalid_argument" and "python" in a.json["error"]["hint"], a)


def bytes_of(d, box):
    tricky = "'\"`$HOME\\ \n\t%s ${x} é€😀 \x01\x7f"
    a = run(d, box, "python", "print(%r, end='')" % tricky)
    check("quotes, newlines and control characters of code and output stay exact", whole(a)[0] == tricky, a)
    a = d.call("POST", "/v1/sandboxes/%s/code?encoding=base64" % box, {
        "language": "python", "code": "import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\0')"})
    check("every byte of both streams arrives",
           [base64.b64decode(a.json.get(n, "")) for n in ("stdout", "stderr")] == [bytes(range(256)), b"\xff\0"], a)
    a = run(d, box, "python", "import sys; sys.stdout.write(sys.stdin.read()[::-1])", input="abc")
    check("standard input is the caller's, not the code", whole(a)[0] == "cba", a)
    a = run(d, box, "python", "import sys; print(repr(sys.stdin.read()), sys.argv)")
    check("without it, standard input is empty", whole(a)[0] == "'' ['-c']\n", a)
    a = run(d, box, "shell", "pwd; echo $NAME", cwd="/tmp", env={"NAME": "a b"})
    check("it takes a directory and an environment", whole(a)[0] == "/tmp\na b\n", a)
    rows = [("python", ""), ("shell", ""), ("perl", ""), ("python", "-1"), ("perl", "-1"), ("shell", "-x; exit 127"), ("shell", "+x; exit 127")]
    rows += [("javascript", ""), ("javascript", "-1")] if is_shown("node") else []
    answers = [(l, c, run(d, box, l, c)) for l, c in rows]
    check("empty code, and code that begins with a hyphen, is code and no option",
           all(a.status == 200 and a.json["exit_code"] == (127 if "exit" in c else 0) for l, c, a in answers), answers)


def bounds(d, box):
    most = run(d, box, "shell", "#" * (MOST - 7) + "\necho x")
    more = run(d, box, "shell", "#" * MOST + "\n")
    nul = run(d, box, "shell", "echo a\0b")
    check("131,070 bytes of code run; one more is refused", whole(most)[0] == "x\n" and more.status == 400, (most, more))
    check("a NUL in code is refused", nul.status == 400, nul)
    bad = [run(d, box, "shell", 5), d.call("POST", "/v1/sandboxes/%s/code" % box, {"code": "ls"}),
           d.call("POST", "/v1/sandboxes/%s/code" % box, {"language": "sh", "code": "ls", "argv": ["ls"]}),
           d.call("POST", "/v1/sandboxes/%s/code" % box, {"language": "sh"})]
    check("a call without language or code, or with a command beside it, is refused", all(a.status == 400 for a in bad), bad)
    a = run(d, box, "python", "import subprocess, time\nsubprocess.Popen(['setsid', 'sleep', '1000'])\ntime.sleep(1000)",
            timeout_ms=700)
    left = d.exec(box, ["sh", "-c", "cat /proc/[0-9]*/comm"])["stdout"]
    check("a time limit kills everything that the code started",
           (a.json["outcome"], a.json["exit_code"]) == ("timed_out", 124) and "sleep" not in left, (a, left))


def like_a_command(d, box):
    first = run(d, box, "shell", "date +%s%N; echo $$", key="once")
    again = run(d, box, "shell", "date +%s%N; echo $$", key="once")
    other = run(d, box, "shell", "echo other", key="once")
    as_command = d.exec(box, ["sh", "-c", "date +%s%N; echo $$"], key="once")
    check("code is the command of its interpreter: the key of one is that of the other", as_command["stdout"] == first.json["stdout"], (first, as_command))
    check("a key repeats the answer, and not the code", whole(first) == whole(again) and other.status == 409, (first, again, other))
    listed = [e["command"] for e in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]]
    check("what runs is listed as the command of its interpreter", "sh -c date +%s%N; echo $$" in listed, listed)
    read_only = d.must("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, "read_only": True}})["id"]
    a = run(d, read_only, "shell", "true")
    check("read_only refuses code as it refuses commands (A36-169)", a.code == "sandbox_read_only", a)


def in_the_audit_log(d, box):
    def entries():
        try:
            return list(audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid())))
        except json.JSONDecodeError:        # a line that is being written
            return []
    a = run(d, box, "python", "print('the code')")
    started = [e for e in entries() if e["action"] == "exec.started" and e["seq"] == int(a.json["audit_ref"].rsplit("/", 1)[1])]
    check("the audit log has the code, as the command that was started",
          [e["input"]["argv"] for e in started] == [["python3", "-c", "print('the code')"]], a, started)
    run(d, box, "cobol", "x")
    until("the refusal is recorded", lambda: [e for e in entries() if e["action"] == "exec.refused"])
    last = [e for e in entries() if e["action"] == "exec.refused"][-1]
    check("and code that was refused", last["output"]["error"]["code"] == "invalid_argument", last)


def waits_for_approval(d, box):
    asked = d.create(manifest={"provider": "local", "config": {}, "metadata": {"carrel": {"approve": ["exec"]}}})
    answers = []
    caller = threading.Thread(target=lambda: answers.append(run(d, asked, "sh", "echo ran")))
    caller.start()
    until("it waits", lambda: d.must("GET", "/v1/approvals")["items"])
    item = d.must("GET", "/v1/approvals")["items"][0]
    d.must("POST", "/v1/approvals/" + item["id"], {"verdict": "deny", "reason": "no"})
    caller.join()
    check("code waits for the approval of commands, which binds it, and is not run when it is denied",
          "argv: echo ran" in item["bound"] and answers[0].status >= 400 and b"ran" not in answers[0].body, item, answers)


def over_mcp(d, box):
    answer = d.call("POST", "/mcp?sandbox=%s" % box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "run_code", "arguments": {"language": "python", "code": "print(6 * 7)"}}},
        {"Accept": "application/json, text/event-stream"})
    data = answer.body.decode()
    data = json.loads(data[data.index("{"):data.rindex("}") + 1])
    result = data.get("result", {})
    check("MCP's run_code answers with output and end", result.get("structuredContent", {}).get("stdout") == "42\n"
           and not result.get("isError"), answer)


def carrel(d, *words, **more):
    return subprocess.run([CARREL, "code", *words], capture_output=True, env={**os.environ, "CARREL_STATE": d.state}, check=False, **more)


def on_the_command_line(d, box):
    script = os.path.join(d.state, "count.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write("import sys\nprint(sum(int(l) for l in sys.stdin)); sys.exit(4)\n")
    p = carrel(d, "--in", box, script, input=b"1\n2\n")
    check("carrel code --in SANDBOX FILE runs a file, with standard input and exit code", (p.stdout, p.returncode) == (b"3\n", 4), p)
    p = carrel(d, "--in", box, "-l", "sh", "-e", "A=1", "--timeout", "5s", "-", input=b"echo $A\n")
    check("code comes from standard input too", (p.stdout, p.returncode) == (b"1\n", 0), p)
    p = carrel(d, "--in", box, "--json", "-l", "python", input=b"print(1)")
    check("--json has the result", p.returncode == 0 and json.loads(p.stdout)["stdout"] == "1\n", p)
    p = carrel(d, "--in", box, "-l", "cobol", input=b"x")
    check("a refusal of the daemon is printed with its hint", p.returncode == 125 and b"The sandbox has" in p.stderr, p)


need_programs()
with Daemon() as d:
    box = d.create()
    for part in (languages, bytes_of, bounds, like_a_command, in_the_audit_log, waits_for_approval, over_mcp, on_the_command_line):
        part(d, box)
end()
