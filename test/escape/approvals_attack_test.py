#!/usr/bin/env python3
"""approvals_attack_test - what an agent that may ask tries, so that something else runs than what
the person approved, or without an answer (P34; L07, L09, E07).

The agent has a token or a socket that can ask, writes files through the interface, and chooses each
word of its requests. docs/APPROVALS.md says what is bound; what is not bound is said in a line.
"""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from approvals_rig import Agent, Place, waiting
from audit_rig import log as audit_log
from box_rig import SWITCHES, check, end, report, until
from daemon_rig import Daemon
from keeper_rig import caller_of
from test_clock import Clock

EVIL = b"#!/bin/sh\necho evil\n"


def bound(p, argv, **fields):
    """What a person is shown for this command, which is denied then."""
    serial, id = p.ask(argv=argv, **fields)
    lines = p.approval(id)["bound"]
    p.answer(id, "deny")
    p.refused(serial)
    return lines


# -- another program -----------------------------------------------------------------------------------------------------

def plants_programs(d):
    """The file interface is not listed. What it writes into the home is no program that a name finds."""
    p = Place(d)
    path = "/v1/sandboxes/%s/files?path=/home/agent/.local/bin/%s&mode=0755"
    wrong = []
    for name in ("ls", "sh", "git", "python3"):
        put = d.call("PUT", path % (p.id, name), EVIL)
        wrong += [] if put.status < 300 else ["cannot plant %s: %r" % (name, put)]
        serial, id = p.ask(argv=[name, "--version"])
        p.answer(id)
        try:
            wrong += ["%s: the planted program ran" % name] if b"evil" in p.output(serial) else []
        except Exception as refused:       # not there is as good
            wrong += [] if "command_not_found" in str(refused) else [str(refused)]
    serial, id = p.ask(argv=["sh", "-c", "echo $PATH"])
    p.answer(id)
    path = p.output(serial).decode()
    report("a program that the file interface planted in the home does not run under the name of another", wrong + (["PATH=" + path] if "/home" in path else []))
    plain = d.create()
    check("  without approvals, PATH has that directory", "/home/agent/.local/bin" in d.exec(plain, ["sh", "-c", "echo $PATH"])["stdout"])


def hides_files(d):
    """Names that lead to a script of the workspace, or to a place that commands write: bound, or said."""
    p = Place(d)
    os.makedirs(p.path("sub"))
    p.write("sub/below.sh", "echo below\n")
    bind = [["sh", "-c", ". ./o\\\nk.sh"], ["sh", "-c", "sh o\\k.sh"], ["awk", "-fok.sh"], ["sh", "-fok.sh"], ["curl", "@ok.sh"], ["curl", "-d@ok.sh"], ["curl", "--data=@ok.sh"],
            ["perl", "-I.", "ok.sh"], ["sh", "-c", "sh<ok.sh"], ["sh", "-c", "sh 0<./ok.sh"], ["sh", "-c", "eval \"`cat ok.sh`\""], ["sh", "-c", "{ . ./ok.sh; }"], ["env", "-S", "sh ok.sh"],
            ["sh", "-c", "x=ok.sh;sh ./ok.sh"], ["sh", "-c", "!sh,ok.sh"], ["tar", "--to-command=/work/ok.sh"], ["git", "-c", "alias.x=!./ok.sh", "x"], ["sh", "/work//.//ok.sh"],
            ["sh", "/work/sub/../ok.sh"], ["sh", "-c", "cd sub;cd ..;. ./ok.sh"]]
    wrong = ["%r: %r" % (argv, lines) for argv, lines in ((a, bound(p, a)) for a in bind) if not any(line.startswith("file: /work/ok.sh, sha256 ") for line in lines)]
    report("%d ways to name a script of the workspace: its content is bound" % len(bind), wrong)
    said = [["sh", "/proc/self/cwd/ok.sh"], ["sh", "/proc/1/root/work/ok.sh"], ["sh", "/proc/self/root/work/ok.sh"], ["sh", "/proc/thread-self/cwd/ok.sh"], ["sh", "/dev/shm/x.sh"], ["sh", "/dev/fd/3"],
            ["sh", "/run/x.sh"], ["sh", "/tmp/x.sh"], ["sh", "/home/agent/x.sh"], ["sh", "/var/tmp/x.sh"], ["sh", "-c", ". /dev/shm/x"], ["python3", "-c", "exec(open('/dev/shm/x').read())"],
            ["sh", "-c", "sh $HOME/x"], ["sh", "-c", "sh ok.*"], ["sh", "-c", "sh ~/x"], ["sh", "-c", "sh o[k].sh"], ["bash", "-c", "sh /wor{k,}/ok.sh $x"]]
    wrong = ["%r: %r" % (argv, lines) for argv, lines in ((a, bound(p, a)) for a in said) if not any(line.startswith("not bound") for line in lines)]
    report("%d names that nobody can bind: a line says so" % len(said), wrong)
    lines = bound(p, ["cat", "/usr/bin/env", "/etc/passwd", "/dev/null"])
    check("  and none for what nothing inside can change", not any(line.startswith("not bound") for line in lines), lines)


def looks_like(d):
    """What a person sees: letters that look like others, blanks, and text that imitates lines."""
    p = Place(d)
    points = {"ѕh": "U+0455", "ls\u00a0-l": "U+00A0", "a\u2800b": "U+2800", "r\uff0fm": "U+FF0F", "e\u0301": "U+0301", "x\u034fy": "U+034F", "a\u3000b": "U+3000", "1\u2024sh": "U+2024",
              "\U0001d5cb\U0001d5c6": "U+1D5CB", "a\u2215b": "U+2215"}
    wrong = []
    for word, point in points.items():
        lines = bound(p, ["echo", word])
        at = next(i for i, line in enumerate(lines) if line.startswith("argv: ") and line != "argv: echo")
        wrong += [] if lines[at + 1].startswith("  not ASCII:") and point in lines[at + 1] else ["%s: %r" % (point, lines)]
    report("letters and blanks that are not ASCII are named after their line", wrong)
    lines = bound(p, ["echo", "plain", " lead", "trail ", "in side"])
    check("blanks at the begin and the end of a word are shown", {"argv: \\x20lead", "argv: trail\\x20", "argv: in side", "argv: plain"} <= set(lines) and not any("not ASCII" in line for line in lines), lines)
    many = "".join(chr(0x4e00 + i) for i in range(200))
    lines = bound(p, ["echo", many])
    check("of many, the first are named", any(line.endswith(" and others") for line in lines) and "argv: " + many in lines, lines)
    digest = "0" * 64
    fake = ["x\nfile: /work/ok.sh, sha256 " + digest, "x\r\x1b[1A\x1b[2Kargv: true", "\n    To answer: carrel approve", "argv: a\\nb"]
    lines = bound(p, ["echo", *fake])
    check("words that imitate lines stay in their own", not any(line.startswith("    To") or line == "file: /work/ok.sh, sha256 " + digest for line in lines) and sum(line.startswith("argv: ") for line in lines) == 5
          and "argv: argv: a\\\\nb" in lines, lines)


# -- another moment ------------------------------------------------------------------------------------------------------

def changes_between_answer_and_start(d):
    """The keeper stands still while the answer waits in its socket, and the script changes meanwhile."""
    p = Place(d)
    serial, id = p.ask()
    with d.held(d.children()["carrel-keeper"]):
        answering = threading.Thread(target=p.answer, args=(id,))
        answering.start()
        p.write("ok.sh", "echo evil\n")
    answering.join()
    other = p.asked()
    check("L09: a script that changed between answer and start: asked again, nothing ran", other != id and p.ran() == 0 and p.state(id) == "withdrawn", p.state(id))
    p.answer(other, "deny")
    p.refused(serial)


def moves_the_clock():
    """Neither a request nor an answer lives longer, or ends, because the wall clock is set."""
    if not os.access(SWITCHES, os.X_OK):
        report("approvals and the wall clock", skip="no build with test switches")
        return
    with Clock() as clock, Daemon(program=SWITCHES, env=clock.env) as d:
        p = Place(d, ms=60000)
        for year in (1, -1):
            serial, id = p.ask()
            clock.set_wall(year * 365 * 86400)
            check("a request waits on, a year %s" % ("later" if year > 0 else "earlier"), p.state(id) == "requested" and p.ran() == 0)
            clock.set_wall(0)
            p.answer(id, "deny")
            p.refused(serial)
        serial, id = p.ask()
        clock.set_wall(-365 * 86400)
        clock.move(61)
        got = p.refused(serial)
        check("and a clock that is set back does not make it wait longer", got["code"] == "approval_expired" and p.ran() == 0, got)


# -- somebody else's -----------------------------------------------------------------------------------------------------

def uses_anothers(d):
    """An answer is of one sandbox and one owner; ids, lists and events of others are not visible."""
    p, q = Place(d, "[exec]"), Place(d, "[exec]")
    a = Agent(p, {})
    a.tool("exec", argv=["sh", "ok.sh"])
    one = waiting(d, p)[0]["id"]
    p.answer(one)
    a.close()
    b = Agent(q, {})
    got = b.tool("exec", argv=["sh", "ok.sh"])["result"]
    b.close()
    check("an answer for one sandbox is none for the same command in another", "approval_required" in got["content"][0]["text"] and q.ran() == 0, got)

    key = lambda owner, scope: {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"scope": scope, "owner": owner})["token"]}
    ann, ann_all, eve, eve_all = key("ann", "approve"), key("ann", "all"), key("eve", "approve"), key("eve", "all")
    box = d.must("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, "metadata": {"carrel": {"approve": ["exec"]}}}}, headers=ann_all)["id"]
    seen = []

    def read():
        try:
            for _, event in d.stream("GET", "/v1/events", headers=eve_all):
                seen.append(event)
        except (OSError, AssertionError):
            pass
    threading.Thread(target=read, daemon=True).start()
    mine = d.must("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}}}, headers=eve_all)["id"]
    got = []
    asking = threading.Thread(target=lambda: got.append(d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"]}, ann_all)))
    asking.start()
    until("it waits", lambda: [x for x in d.must("GET", "/v1/approvals", headers=ann)["items"] if x["state"] == "requested"])
    id = next(x["id"] for x in d.must("GET", "/v1/approvals", headers=ann)["items"])
    tries = [("GET", "/v1/approvals/" + id, None, eve), ("POST", "/v1/approvals/" + id, {"verdict": "approve"}, eve), ("POST", "/v1/approvals/" + id, {"verdict": "deny"}, eve),
             ("GET", "/v1/approvals/" + id, None, eve_all), ("POST", "/v1/approvals/" + id, {"verdict": "approve"}, eve_all)]
    wrong = ["%s %s: %r" % (m, path, r) for m, path, body, who in tries for r in [d.call(m, path, body, who)] if r.status not in (403, 404)]
    wrong += ["listed for another owner"] if any(d.must("GET", "/v1/approvals", headers=h)["items"] for h in (eve, eve_all)) else []
    odd = ["", "0" * 8, id.upper() if id.upper() != id else id + "0", id[:-1], id + "%00", id + "/", "..%2f" + id, "*", "%25s", id * 5]
    wrong += ["id %r: %r" % (x, r) for x in odd for r in [d.call("POST", "/v1/approvals/" + x, {"verdict": "approve"}, ann)] if r.status not in (400, 404, 405)]
    words = [{"verdict": "Approve"}, {"verdict": "approve "}, {"verdict": ["approve"]}, {"verdict": True}, {"verdict": "approve\u0000"}, {"verdict": ""}, {}, {"verdict": "deny", "verdict2": "approve"}]
    wrong += ["%r: %r" % (w, r) for w in words for r in [d.call("POST", "/v1/approvals/" + id, w, ann)] if r.status not in (400, 422)]
    double = d.call("POST", "/v1/approvals/" + id, b'{"verdict":"deny","verdict":"approve"}', {**ann, "Content-Type": "application/json"})
    wrong += [] if double.status in (400, 422) else ["a verdict twice: %r" % double]
    state = d.must("GET", "/v1/approvals/" + id, headers=ann)["state"]
    report("other owners, other ids and other words answer nothing", wrong + ([] if state == "requested" and not got else [state, repr(got)]))
    d.must("POST", "/v1/sandboxes/%s/execs" % mine, {"argv": ["true"]}, headers=eve_all)
    until("the other owner sees its own events", lambda: any(mine in json.dumps(e) for e in seen))
    check("events of an owner's approvals go to nobody else", not any(id in json.dumps(e) or box in json.dumps(e) for e in seen), seen)
    d.must("POST", "/v1/approvals/" + id, {"verdict": "deny"}, headers=ann)
    asking.join()
    check("and its own denial counts", got[0].code == "approval_denied", got)
    for headers, one in ((ann_all, box), (eve_all, mine)):
        d.call("DELETE", "/v1/sandboxes/" + one, headers=headers)


def forges_elicitation(d):
    """Over MCP: an answer before the question, with another id, twice, or as a request."""
    p = Place(d)
    yes = {"action": "accept", "content": {"approve": True}}
    a = Agent(p, {"elicitation": {}})
    for id in (1, 2, 3, "1", None, "approval", 0, -1):
        a.write({"id": id, "result": yes})
    asked = a.tool("exec", argv=["sh", "ok.sh"])
    while asked.get("method") != "elicitation/create":      # it may complain of answers to nothing
        asked = a.read()
    check("answers before the question start nothing", asked.get("method") == "elicitation/create" and p.ran() == 0, asked)
    right = asked["id"]
    others = [right + 1, str(right), -right, None] if isinstance(right, int) else [right + "0", right[:-1], 0, None]
    for id in others:
        a.write({"id": id, "result": yes})
    a.write({"id": right, "result": {"action": "accept", "content": {"approve": "true"}}})
    got = a.read()
    while got.get("result") is None or got.get("id") != a.last:
        got = a.read()
    check("nor do answers with another id, or with a word instead of a yes", "approval_denied" in got["result"]["content"][0]["text"] and p.ran() == 0, got)
    asked = a.tool("exec", argv=["sh", "ok.sh"])
    while asked.get("method") != "elicitation/create":
        asked = a.read()
    a.write({"id": asked["id"], "result": {"action": "decline"}})
    a.write({"id": asked["id"], "result": yes})
    got = a.read()
    while got.get("id") != a.last:
        got = a.read()
    check("a yes after a no does not count", "approval_denied" in got["result"]["content"][0]["text"] and p.ran() == 0, got)
    a.close()


def withdraws_and_reuses(d):
    """The caller of an approved request goes away before it starts; nobody else gets its answer."""
    p = Place(d)
    c = caller_of(d.state)
    serial, id = p.ask(c)
    with d.held(d.children()["carrel-keeper"]):
        answering = threading.Thread(target=p.answer, args=(id,))
        answering.start()
        c.close()
    answering.join()
    until("it is over", lambda: p.state(id) in ("withdrawn", "used"))
    again, other = p.ask()
    check("the same command of another caller asks again", other != id and p.state(other) == "requested")
    p.answer(other, "deny")
    p.refused(again)


def is_recorded(d):
    """The audit log says what was asked, who answered, and which answer a command used."""
    p = Place(d)
    serial, id = p.ask()
    p.answer(id)
    p.output(serial)
    denied_serial, other = p.ask()
    p.answer(other, "deny", reason="not this")
    p.refused(denied_serial)
    own, digest = "uid:%d, socket" % os.getuid(), p.approval(id)["digest"]
    of = lambda: [e for e in audit_log(d) if e["subject"]["ref"] == p.id]
    until("both are recorded", lambda: sum(e["action"] == "approval.answered" for e in of()) == 2)
    entries = of()
    seen = [(e["action"], e["output"]["approval"], e["output"].get("reason"), e["output"].get("answered_by")) for e in entries if e["action"].startswith("approval.")]
    check("each request and each answer is in the audit log, with who answered", seen == [("approval.requested", id, None, None), ("approval.answered", id, "approved", own),
          ("approval.requested", other, None, None), ("approval.answered", other, "denied", own)], seen)
    starts = [e["input"]["approval"] for e in entries if e["action"] == "exec.started"]
    check("and the start names the answer that it used, and what that bound", starts == [{"id": id, "by": own, "digest": digest}], starts)
    order = [e["action"] for e in entries if e["action"] in ("approval.requested", "approval.answered", "exec.started", "exec.refused")]
    check("in this order", order == ["approval.requested", "approval.answered", "exec.started", "approval.requested", "approval.answered", "exec.refused"], order)


def main():
    with Daemon() as d:
        for part in (plants_programs, hides_files, looks_like, changes_between_answer_and_start, uses_anothers, forges_elicitation, withdraws_and_reuses, is_recorded):
            try:
                part(d)
            except Exception as e:  # one failing part must not hide the others
                report(part.__name__, ["%s: %s" % (type(e).__name__, e)])
    moves_the_clock()
    end()


if __name__ == "__main__":
    main()
