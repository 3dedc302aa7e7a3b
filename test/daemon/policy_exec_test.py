#!/usr/bin/env python3
"""policy_exec_test - rules for commands in the daemon: what is denied is not started, by no
facade; a judge that dies or hangs denies, and the daemon serves others meanwhile.
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import ALWAYS, CARREL, SWITCHES, check, end, need_programs, report
from daemon_rig import Daemon, until
from spellings import SPELLINGS

RULES = {"allow": ["ls", "cat", "echo", "wc", "true", "false"], "deny": ["rm", "curl"]}
HOST = "providers: {local: {isolated: true, mounts: true}}\nmount_roots: [/tmp]\n"


def manifest(rules):
    return {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/workspace", "mode": "read-write"}],
            **({"metadata": {"carrel": {"commands": rules}}} if rules is not None else {})}


def entries(d):
    """A line that is being written is no entry yet."""
    while True:
        try:
            return list(audit_chain.entries(os.path.join(d.state, "audit", "uid:%d" % os.getuid())))
        except json.JSONDecodeError:
            continue


def is_denied(a, reason=None):
    return a.status == 403 and a.code == "sandbox_policy_denied" and (reason is None or a.json["error"]["reason"] == reason)


def ask(d, box, argv, **fields):
    fields["argv" if isinstance(argv, list) else "command"] = argv
    return d.call("POST", "/v1/sandboxes/%s/execs" % box, fields)


def spellings(d, workspace, box):
    wrong = []
    for text in SPELLINGS:
        got = ask(d, box, text.replace("{F}", "victim"))
        if not is_denied(got) or not os.path.exists(os.path.join(workspace, "victim")):
            wrong.append((text, got))
    report("P33: %d spellings of a denied command: none is started" % len(SPELLINGS), wrong[:5])
    got = d.must("GET", "/v1/sandboxes/%s/execs" % box)
    check("  there is no exec of any of them", got["items"] == [], got)
    wrong = []
    for argv in (["rm", "victim"], ["/bin/rm", "victim"], ["../bin/rm", "victim"], ["./link", "victim"], ["/proc/self/root/bin/rm", "victim"], ["python3", "-c", "0"], ["sh"], ["bash", "-i"]):
        for more in ({}, {"background": True}):
            got = ask(d, box, argv, **more)
            if not is_denied(got):
                wrong.append((argv, more, got))
    for language, code in (("shell", "rm victim"), ("python", "0")):
        got = d.call("POST", "/v1/sandboxes/%s/code" % box, {"language": language, "code": code})
        if not is_denied(got):
            wrong.append((language, got))
    report("also as words, in the background, and as code", wrong)
    wrong = []
    for argv in (["ls", "/"], "ls / | wc -l", ["env", "ls", "/"]):
        got = ask(d, box, argv)
        if got.status >= 300 or got.json["exit_code"] != 0:
            wrong.append((argv, got))
    report("what the rules allow runs", wrong)
    got = ask(d, box, ["rm", "x"]).json["error"]
    check("a refusal names the program, the rule and its place", got["reason"] == "denied" and got["path"] == "metadata/carrel/commands/deny" and 'rm may not run' in got["message"] and "AK_SANDBOX_DENIED" in got["hint"], got)
    version = hashlib.sha256(json.dumps({"manifest": RULES}, separators=(",", ":")).encode()).hexdigest()
    of_starts = [e["input"].get("policy_sha256") for e in entries(d) if e["action"] in ("exec.started", "exec.refused")]
    check("the audit log has the version of the rules", len(of_starts) > 10 and set(of_starts) == {version}, set(of_starts), version)
    wrong = []
    for env, is_allowed in (({"LD_PRELOAD": "x"}, False), ({"PATH": "/workspace:/bin"}, False), ({"PATH": "/usr/bin"}, True), ({"COLOR": "x"}, True)):
        got = ask(d, box, ["ls"], env=env)
        if (got.status < 300) != is_allowed or not is_allowed and not is_denied(got):
            wrong.append((env, got))
    report("the environment of a call is judged", wrong)


def command_line(d, box):
    env = {**os.environ, "CARREL_STATE": d.state}
    for words in (("exec", box, "--", "rm", "victim"), ("exec", "-d", box, "--", "rm", "victim")):
        done = subprocess.run([CARREL, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
        check("carrel %s: status 126" % " ".join(words).replace(box, "ID"), done.returncode == 126 and b"sandbox_policy_denied" in done.stderr, done)


def others(d, workspace):
    box = d.create(workspace=workspace, manifest=manifest({"deny": ["rm"], "unresolved": "ask"}), start=True)
    for verdict in ("deny", "approve"):
        answers = []
        waiting = threading.Thread(target=lambda answers=answers: answers.append(ask(d, box, "x=echo; $x ran")))
        waiting.start()
        asked = until("the command waits for an approval", lambda: [a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested"])
        d.must("POST", "/v1/approvals/" + asked[0]["id"], {"verdict": verdict})
        waiting.join()
        got = answers[0]
        check("what the rules do not decide waits for a person: " + verdict, len(asked) == 1 and (got.status < 300 and got.json["stdout"] == "ran\n" if verdict == "approve" else got.status == 403 and got.code == "approval_denied"), asked, got)
    got = ask(d, box, "$x; rm y")
    check("  but what is denied does not wait", is_denied(got, "denied"), got)
    wrong = []
    for rules in ({"denied": ["rm"]}, ["rm"], {"deny": "rm"}):
        got = d.call("POST", "/v1/sandboxes", {"workspace": workspace, "manifest": manifest(rules)})
        if got.status != 422 or got.code != "sandbox_schema_invalid":
            wrong.append((rules, got))
    box = d.create(workspace=workspace, manifest=manifest({"commands_disallowed": ["a; b"]}), start=True)
    got = ask(d, box, ["ls"])
    if got.status != 422 or got.json["error"]["path"] != "metadata/carrel/commands/commands_disallowed":
        wrong.append(got)
    report("rules that are none are refused: at create, or with the first command", wrong)


def denied_events(d, workspace):
    """Each denial is an event for watchers, and an entry of the audit log."""
    box = d.create(workspace=workspace, manifest=manifest(RULES), start=True)
    heard = []

    def listen():
        for name, data in d.stream("GET", "/v1/events"):
            heard.append((name, data))
            if name == "policy-denied" and data.get("command") == "wget":
                return
    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    until("the watcher hears", lambda: d.must("POST", "/v1/sandboxes/%s/events" % box, {"event": "turn-end"}) is not None and heard)
    ask(d, box, ["rm", "x"])
    ask(d, box, ["ls"])
    ask(d, box, ["wget", "x"])
    listening.join(ALWAYS)
    found = [data for name, data in heard if name == "policy-denied" and data["id"] == box]
    check("what is denied is an event: program, rule, reason", [(e["command"], e["path"], e["reason"]) for e in found][:1] == [("rm", "metadata/carrel/commands/deny", "denied")] and len(found) == 2 and all("exec" not in e for e in found), found)
    logged = [e for e in entries(d) if e["action"] == "policy.denied"]
    check("  and policy.denied in the audit log", [e for e in logged if "rm" in json.dumps(e)] != [], logged[:3])
    got = d.call("POST", "/v1/sandboxes", {"workspace": workspace, "manifest": manifest({"file": "./rules.yaml"})})
    check("the daemon opens no file of rules itself", got.code == "sandbox_ref_unresolvable" and got.json["error"]["path"] == "metadata/carrel/commands/file", got)
    # a running sandbox moves a SANDBOX.md that appears out of its workspace, so this is another
    other = tempfile.TemporaryDirectory(prefix="carrel-policy-rules-", dir="/tmp")
    workspace = other.name
    os.chmod(workspace, 0o777)
    with open(os.path.join(workspace, "rules.yaml"), "w", encoding="utf-8") as f:
        f.write("{deny: [rm]}")
    with open(os.path.join(workspace, "SANDBOX.md"), "w", encoding="utf-8") as f:
        f.write("---\nschema: sandbox/v1\nid: '@you/ruled'\nversion: 1.0.0\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace, mode: read-write}]\nmetadata: {carrel: {commands: {file: ./rules.yaml}}}\n---\n")
    env = {**os.environ, "CARREL_STATE": d.state}
    done = subprocess.run([CARREL, "create", "-w", workspace], env=env, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    made = done.stdout.split()[1]
    got = [ask(d, made, ["rm", "x"]), ask(d, made, ["ls", "/"])]
    check("  carrel create reads it", done.returncode == 0 and is_denied(got[0], "denied") and got[1].status < 300, done, got)
    other.cleanup()


def denied_tools(d, reason, count):
    """What policy.denied names, when the recorder has written so many."""
    found = [e["output"]["command"] for e in entries(d) if e["action"] == "policy.denied" and e["output"].get("reason") == reason]
    return found if len(found) >= count else None


def tools(d, workspace):
    """Operations are tools: lists name them, and validators see their arguments."""
    rules = {"tools": {"deny": ["file.remove", "get_url"]}, "validators": {"file.read": {"paths": {"fields": ["path"], "beneath": ["/workspace"]}}, "fs_mkdir": {"arguments": {"properties": {"path": {"pattern": "^/workspace/made"}}}},
             "file.move": {"paths": {"fields": ["path", "target"], "beneath": ["/workspace"]}}, "code.run": {"arguments": {"properties": {"language": {"enum": ["shell"]}, "code": {"maxLength": 20}}}}, "write_file": {"arguments": {"required": ["path"]}},
             "shell": {"paths": ["/workspace"]}}}
    box = d.create(workspace=workspace, manifest=manifest(rules), start=True)
    at = "/v1/sandboxes/%s" % box
    reason = lambda got: (got.json or {}).get("error", {}).get("reason") if got.status >= 300 else None  # noqa: E731
    rows = (
        ("DELETE", at + "/files?path=/workspace/x", None, "tool_denied"), ("GET", at + "/ports/8080", None, "tool_denied"), ("GET", at + "/files?path=/workspace/victim", None, None), ("GET", at + "/files?path=victim", None, None),
        ("GET", at + "/files?path=/etc/passwd", None, "invalid"), ("GET", at + "/files?path=/workspace/../etc/passwd", None, "invalid"), ("POST", at + "/files/mkdir", {"path": "/workspace/made"}, None), ("POST", at + "/files/mkdir", {"path": "/tmp/made"}, "invalid"),
        ("POST", at + "/files/move", {"path": "/workspace/made", "target": "/tmp/x"}, "invalid"), ("POST", at + "/files/move", {"path": "/workspace/made", "target": "/workspace/made2"}, None), ("GET", at + "/files/list?path=/etc", None, None),
        ("POST", at + "/code", {"language": "shell", "code": "ls victim"}, None), ("POST", at + "/code", {"language": "python", "code": "0"}, "invalid"), ("POST", at + "/code", {"language": "shell", "code": "ls " + 20 * "x"}, "invalid"),
        ("POST", at + "/code", {"language": "shell", "code": "ls /etc"}, "invalid"), ("POST", at + "/execs", {"argv": ["ls", "victim"]}, None), ("POST", at + "/execs", {"argv": ["ls", "/etc"]}, "invalid"), ("POST", at + "/execs", {"argv": ["ls"], "cwd": "/etc"}, "invalid"),
        ("POST", at + "/execs", {"command": "ls ..", "cwd": "/workspace/made2"}, None), ("POST", at + "/execs", {"command": "ls ../..", "cwd": "made2"}, "invalid"),
    )
    wrong = []
    for method, path, body, expected in rows:
        got = d.call(method, path, body) if body else d.call(method, path)
        if reason(got) != expected or expected and (got.status != 403 or got.code != "sandbox_policy_denied" or "AK_SANDBOX_DENIED" not in got.json["error"]["hint"]):
            wrong.append((method, path, body, expected, got))
    report("P33: %d calls of tools: lists and validators of their arguments" % len(rows), wrong)
    env = {**os.environ, "CARREL_STATE": d.state}
    done = subprocess.run([CARREL, "cp", "-", box + ":/workspace/copied"], env=env, input=b"x", capture_output=True, timeout=ALWAYS, check=False)
    check("  a write announces its files to validators", done.returncode == 0 and os.path.exists(os.path.join(workspace, "copied")), done)
    check("  a denied tool is policy.denied in the audit log", until("the denials are logged", lambda: denied_tools(d, "tool_denied", 2)) == ["file.remove", "url"])
    box = d.create(workspace=workspace, manifest=manifest({"tools": {"allow": ["fs_read"]}}), start=True)
    got = [ask(d, box, ["ls"]), d.call("GET", "/v1/sandboxes/%s/files?path=/workspace/victim" % box), d.call("GET", "/v1/sandboxes/%s/files/list?path=/workspace" % box), d.call("POST", "/v1/sandboxes/%s/code" % box, {"language": "shell", "code": "ls"})]
    check("with a list of allowed tools all others are denied", is_denied(got[0], "tool_not_allowed") and got[1].status == 200 and is_denied(got[2], "tool_not_allowed") and is_denied(got[3], "tool_not_allowed"), got)
    box = d.create(workspace=workspace, manifest=manifest({"deny": ["fs_read", "exec"]}), start=True)
    got = [ask(d, box, ["ls"]), d.call("GET", "/v1/sandboxes/%s/files?path=/workspace/victim" % box)]
    check("a tool in deny, as in AgentsKit's code, is denied too", all(is_denied(g, "tool_denied") for g in got), got)


def limits(d, workspace):
    """AIP-38: how many sandboxes an owner has, and how many calls of tools it makes in a period."""
    def governed(*limits, **more):
        return {**manifest(None), "policy": {"inline": {"grants": [{"principal": "*", "actions": [{"action": "sandbox:*"}]}], "limits": list(limits), **more}}}
    others = len(d.must("GET", "/v1/sandboxes")["items"])
    few = governed({"kind": "max-concurrent-sandboxes", "max": others + 2})
    made = [d.call("POST", "/v1/sandboxes", {"workspace": workspace, "manifest": few}) for _ in range(3)]
    check("max-concurrent-sandboxes: one more is denied", [m.status for m in made] == [201, 201, 403] and made[2].code == "sandbox_policy_denied" and "limit-exceeded" in made[2].json["error"]["message"], made)
    d.must("DELETE", "/v1/sandboxes/" + made[0].json["id"])
    again = d.call("POST", "/v1/sandboxes", {"workspace": workspace, "manifest": few})
    check("  and is possible when another has ended", again.status == 201, again)
    for m in (made[1], again):
        d.must("DELETE", "/v1/sandboxes/" + m.json["id"])
    box = d.create(workspace=workspace, manifest=governed({"kind": "rate-tool-calls", "max": 4, "per": "day"}), start=True)
    at = "/v1/sandboxes/%s" % box
    got = [ask(d, box, ["true"]), d.call("GET", at + "/files?path=/workspace/victim"), d.call("POST", at + "/code", {"language": "shell", "code": "true"}), d.call("GET", at + "/files/stat?path=/workspace/nothing")]
    late = [ask(d, box, ["touch", "late"]), d.call("GET", at + "/files?path=/workspace/victim"), d.call("POST", at + "/code", {"language": "shell", "code": "true"})]
    check("rate-tool-calls: commands, code and files count, once each", [g.status for g in got] == [200, 200, 200, 404] and all(is_denied(g, "limit-exceeded") for g in late) and not os.path.exists(os.path.join(workspace, "late")), got, late)
    check("  what is no call of a tool does not", d.call("GET", at).status == 200 and d.call("GET", at + "/execs").status == 200)
    check("  a denial is policy.denied in the audit log", until("the denials are logged", lambda: denied_tools(d, "limit-exceeded", 3)) == ["shell", "file.read", "code.run"])
    box = d.create(workspace=workspace, manifest=governed({"kind": "rate-tool-calls", "max": 1, "per": "second"}), start=True)
    until("a call is denied", lambda: is_denied(ask(d, box, ["true"]), "limit-exceeded"))
    check("  a period ends", until("a call is allowed again", lambda: ask(d, box, ["true"]).status == 200))
    wrong = []
    for limit in ({"kind": "rate-tool-calls", "max": 9}, {"kind": "rate-tool-calls", "max": 9, "per": "minute", "tool": "x"}, {"kind": "max-egress-bytes-per-day", "max": 9, "host": "x"}, {"kind": "max-concurrent-sandboxes", "max": 9999, "tag": "x"}, {"kind": "moon-phase", "max": 9}):
        got = d.call("POST", "/v1/sandboxes", {"workspace": workspace, "manifest": governed(limit)})
        if got.status != 403 or "limit-exceeded" not in got.json["error"]["message"]:
            wrong.append((limit, got))
    report("  a limit that is not understood denies", wrong)


def many(d, workspace, box):
    """More commands than judgements at once: each is answered, and by its own rule."""
    answers = {}

    def one(i):
        answers[i] = ask(d, box, ["ls", "/"] if i % 2 else ["rm", "x"])
    threads = [threading.Thread(target=one, args=(i,)) for i in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wrong = [(i, a) for i, a in answers.items() if not (a.status < 300 if i % 2 else is_denied(a))]
    report("40 commands at once: each has its own verdict", wrong[:5])


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-policy-exec-", dir="/tmp") as workspace:
        os.chmod(workspace, 0o777)
        with open(os.path.join(workspace, "victim"), "w", encoding="utf-8") as f:
            f.write("x\n")
        os.symlink("/bin/rm", os.path.join(workspace, "link"))
        host = os.path.join(workspace, "host.yaml")
        with open(host, "w", encoding="utf-8") as f:
            f.write(HOST)
        with Daemon("--host", host) as d:
            box = d.create(workspace=workspace, manifest=manifest(RULES), start=True)
            spellings(d, workspace, box)
            command_line(d, box)
            others(d, workspace)
            denied_events(d, workspace)
            tools(d, workspace)
            limits(d, workspace)
            many(d, workspace, box)
            loose = d.create(workspace=workspace, manifest=manifest({**RULES, "scripts": "allow"}), start=True)
            got = [ask(d, loose, ["./missing", "victim"]), ask(d, box, ["./missing", "victim"])]
            check("scripts: allow starts a file of the workspace; without it it is denied", not is_denied(got[0]) and is_denied(got[1], "unknown_program"), got)
            free = d.create(workspace=workspace, manifest=manifest(None), start=True)
            got = ask(d, free, ["wc", "/dev/null"])
            check("without rules nothing is judged", got.status < 300, got)
            with open(host, "a", encoding="utf-8") as f:
                f.write("commands: {deny: [wc]}\n")
            d.reload()
            got = [ask(d, free, ["wc", "/dev/null"]), ask(d, free, ["ls", "/"]), ask(d, box, ["wc", "/dev/null"])]
            check("rules of the host file apply to every sandbox", is_denied(got[0]) and got[0].json["error"]["path"] == "commands/deny" and got[1].status < 300 and is_denied(got[2]), got)
            with open(host, "w", encoding="utf-8") as f:
                f.write(HOST)
            d.reload()
            judge = d.children()["carrel-judge"]
            d.restart_parts(lambda: os.kill(judge, signal.SIGKILL))
            got = [ask(d, box, ["ls", "/"]), ask(d, box, ["rm", "x"])]
            check("carrel-judge is started again", got[0].status < 300 and is_denied(got[1]), got)
        for how in ("dies", "nonsense", "hangs"):
            with Daemon("--host", host, program=SWITCHES, env={"CARREL_TEST_JUDGE": how}) as d:
                box = d.create(workspace=workspace, manifest=manifest(RULES), start=True)
                got = [ask(d, box, ["ls", "/"]), d.call("GET", "/v1/info"), d.must("GET", "/v1/sandboxes/%s/execs" % box)]
                check("a judge that %s: the command is denied, the daemon serves" % how, is_denied(got[0], "judge_failed") and got[1].status == 200 and got[2]["items"] == [], got)
    end()


if __name__ == "__main__":
    main()
