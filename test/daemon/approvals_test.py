#!/usr/bin/env python3
"""Operations that wait for a person: what an answer binds, who may answer, and that nothing starts
without one (P34, L07, E07). Over the keeper's socket, REST, server-sent events and the command line.
"""
import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from approvals_rig import BLOCK, Agent, Place, waiting
from box_rig import CARREL, PATIENCE, SWITCHES, TREE, check, end, report, until
from daemon_rig import Daemon
from keeper_rig import caller_of

# -- one request ------------------------------------------------------------------------------------------------------

def approved_once(d):
    p = Place(d)
    serial, id = p.ask()
    shown = p.approval(id)
    digest = hashlib.sha256(b"echo hello\n").hexdigest()
    check("nothing starts before the answer, and it shows what is bound",
          p.ran() == 0 and shown["state"] == "requested" and {"argv: sh", "argv: ok.sh", "cwd: /work", "file: /work/ok.sh, sha256 " + digest} <= set(shown["bound"]), shown)
    first = p.answer(id)
    check("approved: the command runs", first.status == 200 and p.output(serial) == b"hello\n", first)
    check("the answer was used", p.state(id) == "used" and p.approval(id)["answered_by"] == "uid:%d, socket" % os.getuid(), p.approval(id))
    again = p.answer(id)
    check("a second answer: 409", (again.status, again.code) == (409, "approval_answered"), again)
    serial, other = p.ask()
    check("the same command asks again", other != id and p.ran() == 1)
    p.answer(other, "deny", reason="not \x1b[31mnow")
    got = p.refused(serial)
    check("denied: a typed error with the reason, and nothing ran", got["code"] == "approval_denied" and "not \x1b[31mnow" in got["message"] and p.ran() == 1, got)


def expires(d):
    p = Place(d, ms=1000)
    serial, id = p.ask()
    got = p.refused(serial)
    check("no answer in time is a denial", got["code"] == "approval_expired" and p.state(id) == "expired" and p.ran() == 0, got)
    late = p.answer(id)
    check("an answer that comes too late: 409", late.code == "approval_answered", late)


def binds_each_part(d):
    """Between the question and the answer something changes: it is asked again, or is another request."""
    p = Place(d)
    os.symlink("ok.sh", p.path("link.sh"))
    p.write("evil.sh", "echo evil\n")
    os.makedirs(p.path("sub/deep"))
    p.write("sub/ok.sh", "echo below\n")
    os.symlink("sub/deep", p.path("there"))
    os.makedirs(p.path("bin"))
    for name in ("sub/below.sh", "bin/tool", "start.sh"):
        p.write(name, "echo fine\n")

    def swap():
        os.unlink(p.path("link.sh"))
        os.symlink("evil.sh", p.path("link.sh"))

    def out():
        os.unlink(p.path("link.sh"))
        os.symlink("/tmp/evil.sh", p.path("link.sh"))

    rows = [
        ("the script's content", ["sh", "ok.sh"], lambda: p.write("ok.sh", "echo evil\n")),
        ("the script behind a link", ["sh", "link.sh"], lambda: p.write("ok.sh", "echo worse\n")),
        ("the link", ["sh", "link.sh"], swap),
        ("a link that leads out", ["sh", "link.sh"], out),
        ("a script in a line for the shell", ["sh", "-c", "cd . && ./ok.sh|cat"], lambda: p.write("ok.sh", "echo evil 2\n")),
        ("a script of an option", ["env", "--chdir=/", "sh", "x=/work/ok.sh"], lambda: p.write("ok.sh", "echo evil 3\n")),
        ("a script by a way around", ["sh", "../work/ok.sh"], lambda: p.write("ok.sh", "echo evil 4\n")),
        ("a script from outside", ["sh", "/tmp/..//./work/./ok.sh"], lambda: p.write("ok.sh", "echo evil 5\n")),
        ("a script beside a link", ["sh", "there/../ok.sh"], lambda: p.write("sub/ok.sh", "echo evil 6\n")),
        ("a script in a directory that the line changes to", ["sh", "-c", "cd sub && cd deep/.. && sh below.sh"], lambda: p.write("sub/below.sh", "echo evil 7\n")),
        ("a program that PATH finds in the workspace", ["tool"], lambda: p.write("bin/tool", "#!/bin/sh\necho evil 8\n"), {"env": ["PATH=/usr/bin:/work/bin"]}),
        ("a program that a relative PATH finds", ["tool"], lambda: p.write("bin/tool", "#!/bin/sh\necho evil 9\n"), {"env": ["PATH=bin:/usr/bin"]}),
        ("a script of the environment", ["bash", "-c", "true"], lambda: p.write("start.sh", "echo evil 10\n"), {"env": ["BASH_ENV=/work/start.sh"]}),
        ("a script whose name is quoted in pieces", ["sh", "-c", "sh 'o'k.\"s\"h"], lambda: p.write("ok.sh", "echo evil 11\n")),
        ("a script that did not exist", ["sh", "later.sh"], lambda: p.write("later.sh", "echo evil 12\n")),
        ("a script that is removed", ["sh", "/work/evil.sh"], lambda: os.unlink(p.path("evil.sh"))),
    ]
    wrong = []
    for name, argv, change, *more in rows:
        serial, id = p.ask(argv=argv, **(more[0] if more else {}))
        change()
        p.answer(id)
        other = p.asked()
        if other == id or p.state(id) != "withdrawn" or p.ran() != 0:
            wrong.append("%s: %s, %r" % (name, p.state(id), p.ran()))
        p.answer(other, "deny")
        wrong += [] if p.refused(serial)["code"] == "approval_denied" else [name + ": not denied"]
    report("changed after the question: asked again, and nothing ran", wrong)

    p.write("ok.sh", "echo hello\n")
    digests = {}
    for name, fields in (("plain", {}), ("argv", {"argv": ["sh", "ok.sh", ""]}), ("env", {"env": ["A=1"]}), ("env value", {"env": ["A=2"]}), ("cwd", {"cwd": "/"}), ("input", {"input": b"x"}),
                         ("joined", {"argv": ["sh ok.sh"]}), ("line", {"argv": [], "command": "sh ok.sh"})):
        serial, id = p.ask(**fields)
        digests[name] = p.approval(id)["digest"]
        p.answer(id, "deny")
        p.refused(serial)
    one, id = p.ask(env=["A=1", "B=2"])
    two, other = p.ask(env=["B=2", "A=1"])
    check("each part of a command changes the hash", len(set(digests.values())) == len(digests), digests)
    check("the order of the environment does not", p.approval(id)["digest"] == p.approval(other)["digest"])
    three, third = p.ask(env=["A=1", "A=2"])
    four, fourth = p.ask(env=["A=2", "A=1"])
    check("  but that of one name twice does: the last one counts", p.approval(third)["digest"] != p.approval(fourth)["digest"])
    for serial, number in ((one, id), (two, other), (three, third), (four, fourth)):
        p.answer(number, "deny")
        p.refused(serial)


def is_shown_safely(d):
    p = Place(d)
    argv = ["echo", "a\u202eb\u200bc\x1b[2Jd\x7fe\u009bf\ng\\h\ufe0fi"]
    serial, id = p.ask(argv=argv)
    bound = p.approval(id)["bound"]
    check("control, bidirectional and invisible characters are shown escaped",
          r"argv: a\u{202e}b\u{200b}c\x1b[2Jd\x7fe\u{009b}f\ng\\h\u{fe0f}i" in bound, bound)
    p.answer(id, "deny")
    p.refused(serial)
    long = "x" * 5000 + "; rm -rf ."
    serial, id = p.ask(argv=["echo", long])
    check("a long word is shown to its end", "argv: " + long in p.approval(id)["bound"])
    p.answer(id, "deny")
    p.refused(serial)
    wrong = []
    for name, fields in (("word", {"argv": ["sh", "-c", "#" + "x" * 30000 + "\necho evil"]}), ("words", {"argv": ["echo"] + ["w%d" % i for i in range(3000)]}), ("environment", {"env": ["A=" + "x" * 30000]})):
        got = p.refused(p.c.send("exec.start", id=p.id, **{"argv": ["sh", "ok.sh"], **fields}))
        if (got["code"], got.get("reason")) != ("quota_exceeded", "not_shown") or p.ran() != 0:
            wrong.append("%s: %r" % (name, got))
    report("what is too long to be shown to a person is refused, and nothing ran", wrong)
    data = b"x" * 30000 + b"the end"
    serial, id = p.ask(input=data)
    bound = p.approval(id)["bound"]
    check("long input has its begin, its end and its digest", any("bytes are not shown, 30007 in all, sha256 " + hashlib.sha256(data).hexdigest() in line and line.endswith("the end") for line in bound), bound)
    p.answer(id, "deny")
    p.refused(serial)
    serial, id = p.ask(argv=["sh", "/tmp/a.sh", "*.sh"])
    bound = p.approval(id)["bound"]
    check("what an answer cannot bind is said", "not bound, outside the mounted directories: /tmp/a.sh" in bound and any(line.startswith("not bound: files whose names a shell makes") for line in bound), bound)
    p.answer(id, "deny")
    p.refused(serial)
    id = p.d.create(workspace=p.folder, manifest=BLOCK % ("[exec]", 600000), env={"LD_PRELOAD": "/work/ok.sh"})
    serial = p.c.send("exec.start", id=id, argv=["true"])
    id = p.asked()
    bound = p.approval(id)["bound"]
    check("the sandbox's environment is shown, and files that it names are bound", "sandbox env: LD_PRELOAD=/work/ok.sh" in bound and any(line.startswith("file: /work/ok.sh, sha256 ") for line in bound), bound)
    p.answer(id, "deny")
    p.refused(serial)


# -- who answers ------------------------------------------------------------------------------------------------------

def who_may_answer(d):
    p = Place(d)
    tokens = {scope: d.must("POST", "/v1/tokens", {"scope": scope})["token"] for scope in ("all", "read", "approve")}
    other = d.must("POST", "/v1/tokens", {"scope": "approve", "owner": "somebody"})["token"]
    bearer = lambda t: {"Authorization": "Bearer " + t}
    serial, id = p.ask()
    path, yes = "/v1/approvals/" + id, {"verdict": "approve"}
    got = {scope: d.call("POST", path, yes, bearer(token)) for scope, token in tokens.items() if scope != "approve"}
    check("a token that can ask cannot answer", got["all"].code == "forbidden" and "carrel approve " + id in got["all"].json["error"]["hint"], got["all"])
    check("a token of scope read cannot either", got["read"].status == 403, got["read"])
    check("a token of another owner does not see it", d.call("POST", path, yes, bearer(other)).code == "approval_not_found" and not d.must("GET", "/v1/approvals", headers=bearer(other))["items"])
    execs = "/v1/sandboxes/%s/execs" % p.id
    check("a token of scope approve can ask for nothing", d.call("POST", execs, {"argv": ["true"]}, bearer(tokens["approve"])).status == 403 and
          d.call("DELETE", "/v1/sandboxes/" + p.id, headers=bearer(tokens["approve"])).status == 403)
    check("it lists what waits", [a["id"] for a in d.must("GET", "/v1/approvals", headers=bearer(tokens["approve"]))["items"] if a["state"] == "requested"] == [id])
    check("nothing ran until now", p.ran() == 0)
    last = d.call("POST", path, yes, bearer(tokens["approve"]))
    check("and answers", last.status == 200 and p.output(serial) == b"hello\n" and "token of scope approve" in last.json["answered_by"], last)

    answers, serial_id = [], p.ask()
    threads = [threading.Thread(target=lambda v=v: answers.append((v, p.answer(serial_id[1], v).status))) for v in ("approve", "deny") * 8]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    first = [v for v, status in answers if status == 200]
    code = p.refused(serial_id[0])["code"]
    check("of sixteen answers at once one counts", len(first) == 1 and all(s in (200, 409) for _, s in answers) and code == ("accepted" if first == ["approve"] else "approval_denied"), answers, code)


POLICY = """---
schema: sandbox/v1
provider: local
config: {}
mounts: [{source: workspace, at: /work}]
policy: {grants: [{principal: "*", actions: ["sandbox:*"]}], requirements: %s}
---
"""


class Governed(Place):
    """A sandbox whose policy has these requirements, and no list `approve`."""

    def __init__(self, d, requirements):
        super().__init__(d, "[url]")
        self.id = d.create(workspace=self.folder, manifest=POLICY % requirements)


def approval_from(d):
    own = "uid:%d" % os.getuid()
    key = lambda owner, scope="approve": {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"scope": scope, "owner": owner})["token"]}
    ann, bob, ann_all, own_all = key("ann"), key("bob"), key("ann", "all"), key(own, "all")
    p = Governed(d, "[{kind: approval-from, principal: 'user://ann', actions: ['sandbox:execute']}]")
    serial, id = p.ask()
    path, yes = "/v1/approvals/" + id, {"verdict": "approve"}
    check("approval-from: a command waits, and REST shows for whom", p.ran() == 0 and p.approval(id)["approval_from"] == ["user://ann"], p.approval(id))
    wrong = [p.answer(id), p.answer(id, "deny"), d.call("POST", path, yes, own_all)]
    check("anybody else's answer is refused with a typed error, also a denial",
          [r.status for r in wrong] == [403] * 3 and [r.json["error"].get("reason") for r in wrong[:2]] == ["approval_from"] * 2 and "user://ann" in wrong[0].json["error"]["message"], wrong)
    check("  and a token of the party that can ask", d.call("POST", path, yes, ann_all).status in (403, 404))
    check("  and another party's token does not see it", d.call("POST", path, yes, bob).code == "approval_not_found")
    check("  and the request keeps waiting", p.state(id) == "requested" and p.ran() == 0)
    shown = subprocess.run([CARREL, "approvals"], env={**os.environ, "CARREL_STATE": d.state}, capture_output=True, text=True, timeout=PATIENCE).stdout
    check("carrel approvals shows who may answer", "    approval from: user://ann\n" in shown, shown)
    check("the party lists it", [a["id"] for a in d.must("GET", "/v1/approvals", headers=ann)["items"]] == [id])
    last = d.call("POST", path, yes, ann)
    check("the party's answer counts", last.status == 200 and p.output(serial) == b"hello\n" and last.json["answered_by"] == "ann, token of scope approve", last)
    check("an action that the requirement does not name does not wait", d.call("DELETE", "/v1/sandboxes/%s/files?path=ok.sh" % p.id).status == 200)

    p = Governed(d, "[{kind: approval-from, principal: [bob, ann]}, {kind: approval-from, principal: 'operator://uid-%d'}]" % os.getuid())
    serial, id = p.ask()
    path = "/v1/approvals/" + id
    check("two requirements: both are shown", p.approval(id)["approval_from"] == ["bob or ann", "operator://uid-%d" % os.getuid()])
    first = p.answer(id)
    check("one approval is not enough", first.status == 200 and first.json["state"] == "requested" and p.ran() == 0, first)
    check("the same party cannot give the other", p.answer(id).code == "approval_answered")
    last = d.call("POST", path, yes, bob)
    check("both approvals are", last.status == 200 and p.output(serial) == b"hello\n" and last.json["answered_by"] == own + ", socket; bob, token of scope approve", last)
    serial, id = p.ask()
    d.call("POST", "/v1/approvals/" + id, {"verdict": "deny", "reason": "no"}, ann)
    check("the denial of one is", p.refused(serial)["code"] == "approval_denied" and p.ran() == 1)
    got = d.call("POST", "/v1/sandboxes", {"manifest": POLICY % "[{kind: approval-from, principal: ann, unless: weekend}]", "workspace": p.folder})
    check("a requirement that is not understood: denied", "requirement-failed" in json.dumps(got.json), got)


# -- what ends it -----------------------------------------------------------------------------------------------------

def caller_goes(d):
    p = Place(d)
    c = caller_of(d.state)
    serial, id = p.ask(c)
    c.close()
    until("the request is withdrawn", lambda: p.state(id) == "withdrawn")
    check("its caller disconnected: withdrawn, and an answer comes too late", p.answer(id).code == "approval_answered" and p.ran() == 0)
    serial, id = p.ask()
    p.c.cancel(serial)
    until("the request is withdrawn", lambda: p.state(id) == "withdrawn")
    check("its caller cancelled: the same", p.answer(id).code == "approval_answered" and p.ran() == 0)
    serial, id = p.ask()
    d.must("DELETE", "/v1/sandboxes/" + p.id)
    got = p.refused(serial)
    check("its sandbox was stopped: withdrawn, and the call is told", p.state(id) == "withdrawn" and got["code"] == "sandbox_not_found", got)


def daemon_restarts(d):
    p = Place(d)
    _, id = p.ask(key="once")
    approved = p.ask(key="twice")
    p.answer(approved[1])
    p.output(approved[0])
    d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
    gone = p.answer(id)
    p.c = caller_of(d.state)
    check("a keeper that was killed forgets what waited: nothing starts", (gone.status, gone.code) == (404, "approval_not_found") and p.ran() == 1, gone, p.ran())
    serial, other = p.ask(key="once")
    check("the repeated call asks again", other != id)
    p.answer(other)
    check("and runs once", p.output(serial) == b"hello\n" and p.ran() == 2, p.ran())
    got, fds = p.c.take(p.c.send("exec.start", id=p.id, argv=["sh", "ok.sh"], key="once"))
    os.close(fds[0])
    check("a repetition of a call that ran joins it, and does not ask", p.ran() == 2, got)


def crowd(d):
    """1,000 requests at once: a bounded number waits, the others are refused, and others are served."""
    p = Place(d)
    callers = [caller_of(d.state) for _ in range(5)]
    sent = [(c, c.send("exec.start", id=p.id, argv=["sh", "ok.sh", str(n)])) for c in callers for n in range(200)]
    until("64 requests wait", lambda: len([a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested"]) == 64)
    answered = lambda: sum(1 for c, serial in sent if serial in c.replies)
    poll = select.poll()
    for c in callers:
        poll.register(c.sock, select.POLLIN)
    of = {c.sock.fileno(): c for c in callers}
    while answered() < 1000 - 64:
        for fd, _ in poll.poll(PATIENCE * 1000):
            of[fd].read()
    refused = answered()
    codes = {(c.replies[s][0]["code"], c.replies[s][0]["reason"]) for c, s in sent if s in c.replies}
    check("of 1,000 calls 64 wait, and the others are refused: quota_exceeded, approvals", codes == {("quota_exceeded", "approvals")} and refused == 936, codes, refused)
    check("meanwhile others are served", d.exec(d.create(), "echo x")["stdout"] == "x\n")
    for c in callers:
        c.close()
    until("all are withdrawn", lambda: not [a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested"])
    check("what is over is bounded too", len(d.must("GET", "/v1/approvals")["items"]) <= 128)



def all_owners():
    """The bound of all owners, with 3 in place of 4,096: what is over goes first, and what is in use stays."""
    if not os.access(SWITCHES, os.X_OK):
        return report("the bound of all owners", skip="no build-switches")
    with Daemon(program=SWITCHES, env={"CARREL_TEST_APPROVALS_MAX": "3"}) as d:
        p = Place(d)
        serial, id = p.ask()
        p.answer(id)
        p.output(serial)
        asked = [p.ask(argv=["sh", "ok.sh", str(n)])[1] for n in range(3)]
        check("one that is over goes for a new one", [a["id"] for a in d.must("GET", "/v1/approvals")["items"]] == asked, asked)
        got = p.refused(p.c.send("exec.start", id=p.id, argv=["sh", "ok.sh", "late"]))
        check("with all in use a further call is refused: quota_exceeded, approvals_all", (got["code"], got["reason"], p.ran()) == ("quota_exceeded", "approvals_all", 1), got)


# -- other operations, REST, events -----------------------------------------------------------------------------------

def other_operations(d):
    p = Place(d, "[network.set, file.write, file.remove]")
    check("an operation that is not listed does not wait", d.exec(p.id, "echo y")["stdout"] == "y\n")
    path, got = "/v1/sandboxes/" + p.id, []
    t = threading.Thread(target=lambda: got.append(d.call("DELETE", path + "/files?path=ok.sh")))
    t.start()
    waiting = lambda: [a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested" and a["sandbox"] == p.id]
    until("the removal waits", waiting)
    one = waiting()[0]
    check("REST waits: the file is there", one["operation"] == "file.remove" and "path: ok.sh" in one["bound"] and os.path.exists(p.path("ok.sh")), one)
    p.answer(one["id"])
    t.join()
    check("and is removed after the answer", got[0].status == 200 and not os.path.exists(p.path("ok.sh")), got)
    events = []
    threading.Thread(target=lambda: [events.append(e) for e in d.stream("GET", "/v1/events?id=" + p.id)], daemon=True).start()
    until("the stream of events is open", lambda: d.must("POST", path + "/events", {"event": "hello"}) and events)
    t = threading.Thread(target=lambda: got.append(d.call("PUT", path + "/network", {"egress": ["example.org"]})))
    t.start()
    named = lambda word: [e for name, e in events if name == word]
    until("the event of the request", lambda: named("approval-requested"))
    asked = named("approval-requested")[0]
    check("an event says what waits", asked["operation"] == "network" and asked["expires_at_ms"] > asked["at_ms"], asked)
    p.answer(asked["approval"], "deny", reason="no")
    until("the event of the answer", lambda: named("approval-answered"))
    over = named("approval-answered")[0]
    t.join()
    check("and what became of it", (over["approval"], over["reason"]) == (asked["approval"], "denied") and got[1].code == "approval_denied", over, got[1])


def lists_are_checked(d):
    bad = d.call("POST", "/v1/sandboxes", {"manifest": BLOCK % ("[exec, filewrite]", 600000), "workspace": d.folder})
    check("an unknown operation in the list: an error with its place", bad.status == 422 and "metadata/carrel/approve/1" in json.dumps(bad.json) and "file.write" in json.dumps(bad.json), bad)
    check("an unknown verdict: 400", d.call("POST", "/v1/approvals/00000000", {"verdict": "yes"}).code == "invalid_argument")


def host_list(folder):
    host = os.path.join(folder, "host.yaml")
    with open(host, "w", encoding="utf-8") as f:
        f.write("approve: [exec]\nproviders: {local: {isolated: true, mounts: true}}\n")
    with Daemon("--host", host) as d:
        p = Place(d, "[url]")
        serial, id = p.ask()
        check("an operation of the host file waits in every sandbox", p.state(id) == "requested")
        p.answer(id)
        p.output(serial)
    document = os.path.join(folder, "document.json")
    with open(host, "w", encoding="utf-8") as f:
        f.write("approve: {document: %s}\nproviders: {local: {isolated: true, mounts: true}}\n" % document)
    with open(document, "w", encoding="utf-8") as f:
        f.write('{"tools": {"human_in_the_loop": ["exec"]}}')
    with Daemon("--host", host) as d:
        p = Place(d, "[url]")
        serial, id = p.ask()
        check("so does one of a document that the host file names", p.state(id) == "requested" and p.ran() == 0)
        p.answer(id)
        p.output(serial)


def document_list(d):
    """What a sandbox document says needs a person is asked: human_in_the_loop is the list."""
    env = {**os.environ, "CARREL_STATE": d.state}
    p = Place(d, "[url]")
    p.write("SANDBOX.md", BLOCK % ("{document: ./document.yaml}", 600000))
    p.write("document.yaml", "tools:\n  human_in_the_loop:\n    - exec\n    - file.remove\n")
    create = lambda *more: subprocess.run([CARREL, "create", "-w", p.folder, "-q", *more], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    made = create()
    p.id = made.stdout.strip()
    serial, id = p.ask()
    check("a manifest names a document: its operations wait", made.returncode == 0 and p.approval(id)["operation"] == "exec.start" and p.ran() == 0, made)
    p.answer(id, "deny")
    check("and nothing runs without an answer", p.refused(serial)["code"] == "approval_denied")
    got = subprocess.run([CARREL, "run", "--", "sh", "ok.sh"], cwd=p.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True)
    check("carrel run: the same", got.returncode == 126 and "approval_denied" in got.stderr, got)
    p.write("document.yaml", "tools:\n  human_in_the_loop:\n    - exec\n    - data_deletion\n")
    bad = create()
    check("a name that is no operation: refused, with its place and the names", bad.returncode != 0 and "document.yaml, line 4" in bad.stderr and "data_deletion" in bad.stderr and
          "tools/human_in_the_loop/1" in bad.stderr and "file.remove" in bad.stderr, bad)
    bad = d.call("POST", "/v1/sandboxes", {"manifest": BLOCK % ("{document: ./document.yaml}", 600000), "workspace": p.folder})
    check("over REST, where nobody reads the document: refused with a hint", "metadata/carrel/approve/document" in json.dumps(bad.json) and "carrel create" in json.dumps(bad.json), bad)
    bad = d.call("POST", "/v1/sandboxes", {"manifest": BLOCK % ("exec", 600000), "workspace": p.folder})
    check("a word instead of a list: refused", bad.status == 422 and "metadata/carrel/approve" in json.dumps(bad.json), bad)


# -- the command line -------------------------------------------------------------------------------------------------

def command_line(d):
    p = Place(d)
    env = {**os.environ, "CARREL_STATE": d.state}
    carrel = lambda *words: subprocess.run([CARREL, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    child = subprocess.Popen([CARREL, "exec", p.id, "--", "sh", "ok.sh", "\x1b[2J"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = child.stderr.readline()
    id = line.split("approval ", 1)[-1].split(";")[0]
    check("carrel exec says what it waits for", line == "carrel: waiting for approval %s; on this machine: carrel approve %s\n" % (id, id), line)
    shown = carrel("approvals")
    check("carrel approvals shows it, without control characters", shown.returncode == 0 and id in shown.stdout and r"argv: \x1b[2J" in shown.stdout and "\x1b" not in shown.stdout, shown)
    every, listed = d.must("GET", "/v1/approvals"), json.loads(carrel("approvals", "--json").stdout)
    check("--json lists what waits, with the members of REST", listed["items"] == [a for a in every["items"] if a["state"] == "requested"] and len(listed["items"]) == 1, listed)
    check("--all --json also what is over", json.loads(carrel("approvals", "--all", "--json").stdout) == every and len(every["items"]) > 1)
    done = carrel("approve", id, "--once")
    out, _ = child.communicate(timeout=PATIENCE)
    check("carrel approve: the command runs", (done.returncode, out, child.returncode) == (0, "hello\n", 0), done, out)
    follow = subprocess.Popen([CARREL, "approvals", "-f"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    serial, id = p.ask()
    until("carrel approvals -f prints it", lambda: id in follow.stdout.readline())
    done = carrel("deny", id, "--reason", "not today")
    got = p.refused(serial)
    until("and its answer", lambda: "denied by" in follow.stdout.readline())
    follow.kill()
    follow.communicate()
    check("carrel deny: denied with the reason", done.returncode == 0 and "not today" in got["message"], done, got)
    late = carrel("approve", id)
    check("an answer to one that is over: exit status 126", late.returncode == 126 and "approval_answered" in late.stderr, late)
    check("nothing waits", carrel("approvals").stdout == "Nothing waits for an approval.\n")


# -- MCP --------------------------------------------------------------------------------------------------------------

def mcp_without_elicitation(d):
    p = Place(d)
    a = Agent(p, {})
    first = a.tool("exec", argv=["sh", "ok.sh"])["result"]
    text, ask = first["content"][0]["text"], waiting(d, p)
    check("MCP: a client that cannot be asked gets what waits and where to answer, at once", first.get("isError") and "carrel approve " + ask[0]["id"] in text and p.ran() == 0, first)
    error = first["content"][0]["_meta"]["carrel/error"]
    check("and the id as data", (error["code"], error["path"], error["reason"]) == ("approval_required", "approval", ask[0]["id"]), error)
    again = a.tool("exec", argv=["sh", "ok.sh"])["result"]
    check("repeating the call waits for the same answer", ask[0]["id"] in again["content"][0]["text"] and len(waiting(d, p)) == 1)
    p.answer(ask[0]["id"])
    other = a.tool("exec", argv=["sh", "ok.sh", "more"])["result"]
    check("another command does not use it", "approval_required" in other["content"][0]["text"] and p.ran() == 0, other)
    p.write("ok.sh", "echo evil\n")
    changed = a.tool("exec", argv=["sh", "ok.sh"])["result"]
    check("nor does the same command with another script", "approval_required" in changed["content"][0]["text"] and p.ran() == 0, changed)
    p.write("ok.sh", "echo hello\n")
    done = a.tool("exec", argv=["sh", "ok.sh"])["result"]
    check("the approved one runs", done["structuredContent"]["stdout"] == "hello\n", done)
    replay = a.tool("exec", argv=["sh", "ok.sh"])["result"]
    check("and only once", "approval_required" in replay["content"][0]["text"] and p.ran() == 1, replay)
    p.answer([w["id"] for w in waiting(d, p) if w["id"] in replay["content"][0]["text"]][0], "deny", reason="enough")
    denied = a.tool("exec", argv=["sh", "ok.sh"])["result"]
    check("a denial reaches the next call with its reason", "enough" in denied["content"][0]["text"] and "approval_denied" in denied["content"][0]["text"], denied)
    mastra = a.tool("mastra_workspace_execute_command", command="sh ok.sh")["result"]
    check("Mastra's tool says the same", "carrel approve " in mastra["content"][0]["text"], mastra)
    a.close()


def mcp_legacy(d):
    p = Place(d)
    a = Agent(p, {"elicitation": {}})
    rows = [("accept", {"action": "accept", "content": {"approve": True}}, "hello\n"), ("accept without a yes", {"action": "accept", "content": {"approve": False}}, None),
            ("accept without content", {"action": "accept"}, None), ("decline", {"action": "decline"}, None), ("cancel", {"action": "cancel"}, None)]
    wrong = []
    for name, result, stdout in rows:
        asked = a.tool("exec", argv=["sh", "ok.sh"])
        message = asked["params"]["message"]
        if asked.get("method") != "elicitation/create" or "argv: ok.sh" not in message or "sha256" not in message or "approve" not in asked["params"]["requestedSchema"]["properties"]:
            wrong.append("%s: %r" % (name, asked))
        a.write({"id": asked["id"], "result": result})
        got = a.read()["result"]
        if (got.get("structuredContent") or {}).get("stdout") != stdout or (stdout is None and "approval_denied" not in got["content"][0]["text"]):
            wrong.append("%s: %r" % (name, got))
    report("MCP, legacy: the client is asked on the same stream; anything but a yes denies", wrong)
    check("one of them ran", p.ran() == 1)
    asked = a.tool("exec", argv=["sh", "ok.sh"])
    a.write({"id": asked["id"], "error": {"code": -32603, "message": "no window"}})
    failed = a.read()["result"]
    check("a client that fails denies", "approval_denied" in failed["content"][0]["text"], failed)
    asked = a.tool("write_files", files=[{"path": "new", "content": "x"}])
    check("an operation that is not listed does not ask", "result" in asked and not asked["result"].get("isError"), asked)
    asked = a.tool("mastra_workspace_execute_command", command="sh ok.sh", background=True)
    a.write({"id": asked["id"], "result": {"action": "accept", "content": {"approve": True}}})
    started = a.read()["result"]
    check("a background command of Mastra's tool: the same", not started.get("isError") and p.ran() == 2, started)
    a.close()
    a = Agent(p, {"elicitation": {"url": {}}})
    got = a.tool("exec", argv=["sh", "ok.sh"])
    check("a client without forms is not asked", "result" in got and "approval_required" in got["result"]["content"][0]["text"], got)
    a.close()


def mcp_legacy_http(d):
    """The client is asked on the stream of its POST, and answers with another one, in a session of its own."""
    p = Place(d)
    url, accept = "/mcp?sandbox=" + p.id, {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    yes = {"action": "accept", "content": {"approve": True}}

    def post(message, session=None, token=None):
        head = {**accept, **({"Mcp-Session-Id": session} if session else {}), **({"Authorization": "Bearer " + token} if token else {})}
        return d.call("POST", url, {"jsonrpc": "2.0", **message}, head)

    def begin(capabilities, token=None):
        return post({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}}, None, token).headers.get("Mcp-Session-Id")

    def tool(session):
        params = {"name": "exec", "arguments": {"argv": ["sh", "ok.sh"]}}
        return d.stream("POST", url, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}, headers={**accept, "Mcp-Session-Id": session})

    session, other = begin({"elicitation": {}}), begin({"elicitation": {"form": {}}})
    check("MCP, legacy, HTTP: a client that can be asked gets a session of its own", session and other and session != other, session, other)
    token = d.must("POST", "/v1/tokens", {"scope": "all"})["token"]
    check("no other gets one", [begin({}), begin({"elicitation": {"url": {}}}), begin({"elicitation": {}}, token)] == [None] * 3)
    wrong, ran = [], 0
    for result, stdout in (({"result": yes}, "hello\n"), ({"result": {"action": "accept", "content": {"approve": False}}}, None), ({"result": {"action": "decline"}}, None), ({"error": {"code": -32603, "message": "no window"}}, None)):
        stream = tool(session)
        asked = next(stream)[1]
        if asked.get("method") != "elicitation/create" or "argv: ok.sh" not in asked["params"]["message"] or p.ran() != ran:
            wrong.append(asked)
        for foreign in (other, None, "asked-" + "0" * 32):
            post({"id": asked["id"], "result": yes}, foreign)
        wrong += [] if len(waiting(d, p)) == 1 else ["a foreign answer counts"]
        status = post({"id": asked["id"], **result}, session).status
        got = next(stream)[1]["result"]
        ran += stdout is not None
        if status != 202 or (got.get("structuredContent") or {}).get("stdout") != stdout or (stdout is None and "approval_denied" not in got["content"][0]["text"]) or list(stream):
            wrong.append((result, status, got))
    report("MCP, legacy, HTTP: the client is asked on the stream of its POST, and its POST answers; anything but a yes denies, and a foreign session answers nothing", wrong)
    check("one of them ran", p.ran() == ran == 1)
    stream = tool(session)
    asked = next(stream)[1]
    d.restart_parts(lambda: os.kill(d.children()["carrel-door"], signal.SIGKILL))
    stream.close()
    stream = tool(session)
    asked = next(stream)[1]
    post({"id": asked["id"], "result": yes}, session)
    check("the session holds over a restart", next(stream)[1]["result"]["structuredContent"]["stdout"] == "hello\n" and p.ran() == 2)
    plain = post({"id": 9, "method": "tools/call", "params": {"name": "exec", "arguments": {"argv": ["sh", "ok.sh"]}}}).body
    check("without the session the call fails with approval_required", b"approval_required" in plain and b"elicitation/create" not in plain, plain)
    stream = tool(session)
    asked = next(stream)[1]
    stream.close()
    late = post({"id": asked["id"], "result": yes}, session)
    check("an answer after the client closed its stream starts nothing", late.status == 202 and p.ran() == 2, late)


def mcp_modern(d):
    p = Place(d)

    def call(capabilities, token=None, **more):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities}
        params = {"name": "exec", "arguments": {"argv": ["sh", "ok.sh"]}, "_meta": meta, **more}
        head = {"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "exec", **({"Authorization": "Bearer " + token} if token else {})}
        return d.call("POST", "/mcp?sandbox=" + p.id, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(), head).json["result"]

    asked = call({"elicitation": {}})
    one = asked["inputRequests"]["approval"]
    check("MCP, modern: the result asks for input, and nothing ran",
          asked["resultType"] == "input_required" and one["method"] == "elicitation/create" and "argv: ok.sh" in one["params"]["message"] and p.ran() == 0, asked)
    yes = {"inputResponses": {"approval": {"action": "accept", "content": {"approve": True}}}, "requestState": asked["requestState"]}
    done = call({"elicitation": {}}, **yes)
    check("the repeated call with the answer runs", done["resultType"] == "complete" and done["structuredContent"]["stdout"] == "hello\n", done)
    replay = call({"elicitation": {}}, **yes)
    check("the same answer again asks again", replay["resultType"] == "input_required" and p.ran() == 1, replay)
    p.write("ok.sh", "echo evil\n")
    changed = call({"elicitation": {}}, **{**yes, "requestState": replay["requestState"]})
    check("an answer for what has changed meanwhile asks again", changed["resultType"] == "input_required" and changed["requestState"] != replay["requestState"] and p.ran() == 1, changed)
    no = call({"elicitation": {}}, inputResponses={"approval": {"action": "decline"}}, requestState=changed["requestState"])
    check("declined: denied", no["isError"] and "approval_denied" in no["content"][0]["text"] and p.ran() == 1, no)
    forged = call({"elicitation": {}}, **{**yes, "requestState": "approval:00000000"})
    check("a made-up state approves nothing", forged["resultType"] == "input_required" and p.ran() == 1, forged)
    token = d.must("POST", "/v1/tokens", {"scope": "all"})["token"]
    got = call({"elicitation": {}}, token)
    check("a client with a token is not asked: it may hold an agent's answer", "approval_required" in got["content"][0]["text"], got)
    got = call({"elicitation": {}}, token, **{**yes, "requestState": "approval:" + waiting(d, p)[0]["id"]})
    check("and its answer does not count", got["isError"] and "forbidden" in got["content"][0]["text"] and p.ran() == 1, got)
    got = call({})
    check("a client without the capability gets the error", "approval_required" in got["content"][0]["text"], got)


# -- carrel run -------------------------------------------------------------------------------------------------------

def run_at(p, answer, before=b"", during=b"", words=(), state=None):
    """`carrel run` at a terminal, with this line as the answer: what it printed there, and its status.

    `before` is typed before it starts, `during` when it has begun to print its question. With `state`, it is recorded there.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(p.folder)
        os.environ.update({"CARREL_STATE": state} if state else {})
        os.execv("/bin/sh", ["sh", "-c", 'read line && exec "$0" "$@"', CARREL, "run", *(["--audit"] if state else []), "--", "sh", "ok.sh", "\u202e", *words])
    os.write(fd, b"start\n" + before)
    text = b""
    try:
        while during and b"needs your approval" not in text:
            text += os.read(fd, 64)
        os.write(fd, during)
        while b"[y/N] " not in text:
            text += os.read(fd, 4096)
        os.write(fd, answer)
        while True:
            text += os.read(fd, 4096)
    except OSError:
        pass
    os.close(fd)
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_asks(d):
    p = Place(d)
    p.write("SANDBOX.md", BLOCK % ("[exec]", 600000))
    got = subprocess.run([CARREL, "run", "--", "sh", "ok.sh"], cwd=p.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True)
    check("carrel run without a terminal: denied", got.returncode == 126 and "approval_denied" in got.stderr and got.stdout == "", got)
    text, status = run_at(p, b"y\n")
    check("at a terminal: asks, shows the command, and runs it after a yes", status == 0 and "hello" in text and r"argv: \u{202e}" in text, text)
    state = os.path.join(d.folder, "run-state")
    text, status = run_at(p, b"y\n", state=state)
    started = [e for e in audit_chain.entries(os.path.join(state, "audit", "uid:%d" % os.getuid())) if e["action"] == "exec.started"]
    check("and the audit log says who approved it", status == 0 and [e["input"].get("approval") for e in started] == [{"by": "uid:%d" % os.getuid()}], text, started)
    for answer in (b"\n", b"n\n", b"yy\n"):
        text, status = run_at(p, answer)
        check("anything but yes is no: %r" % answer, status == 126 and "hello" not in text, text)
    text, status = run_at(p, b"\n", before=b"y\n")
    check("what was typed before it started is no answer", status == 126 and "hello" not in text and "[y/N]" in text, text)
    text, status = run_at(p, b"\n", during=b"y\n", words=["w" * 100000])
    check("nor what was typed while the question was printed", status == 126 and "hello" not in text and "[y/N]" in text, text[-300:])
    p.write("SANDBOX.md", POLICY % "[{kind: approval-from, principal: ann}]")
    text, status = run_at(p, b"y\n")
    check("approval-from somebody else: denied without a question", status == 126 and "approval_from" in text and "hello" not in text and "[y/N]" not in text, text)
    p.write("SANDBOX.md", POLICY % "[{kind: approval-from, principal: [ann, 'uid:%d']}]" % os.getuid())
    text, status = run_at(p, b"y\n")
    check("approval-from this user: asks", status == 0 and "hello" in text, text)


def code_waits(d):
    p, got = Place(d), []
    t = threading.Thread(target=lambda: got.append(d.call("POST", "/v1/sandboxes/%s/code" % p.id, {"language": "shell", "code": "echo code"})))
    t.start()
    until("the code waits", lambda: waiting(d, p) or got)
    one = waiting(d, p)
    check("code.run waits where exec is listed, and its source is bound", one and any("echo code" in line for line in one[0]["bound"]) and p.ran() == 0, one, got)
    p.answer(one[0]["id"], "deny")
    t.join()
    check("and is denied", got[0].code == "approval_denied" and p.ran() == 0, got)


def page_is_true(d):
    """docs/APPROVALS.md: its manifest and its commands work as they are written."""
    with open(os.path.join(TREE, "docs/APPROVALS.md"), encoding="utf-8") as f:
        blocks = f.read().split("```")
    folder = tempfile.mkdtemp(dir=d.folder)
    for name, text in (("SANDBOX.md", blocks[1].lstrip("\n")), ("build.sh", "echo built\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    script = "PATH=%s:$PATH\n%s\nwait\n" % (os.path.dirname(CARREL), blocks[3].removeprefix("sh\n"))
    child = subprocess.Popen(["bash", "-c", script], cwd=folder, env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    line = child.stderr.readline()
    while line and "waiting for approval" not in line:
        line = child.stderr.readline()
    id = line.split("approval ", 1)[-1].split(";")[0]
    shown = subprocess.run([CARREL, "approvals", "--state", d.state], capture_output=True, text=True)
    lines = [t for t in blocks[5].splitlines() if t.startswith("    ") and "sha256" not in t and "To answer" not in t]
    check("docs/APPROVALS.md: its example waits, and shows its lines", len(lines) == 5 and all(t in shown.stdout.splitlines() for t in lines), shown)
    d.must("POST", "/v1/approvals/" + id, {"verdict": "approve"})
    check("and runs after the answer", "built" in child.communicate(timeout=PATIENCE)[0])


def main():
    with Daemon() as d:
        for part in (approved_once, expires, binds_each_part, is_shown_safely, who_may_answer, approval_from, caller_goes, other_operations, lists_are_checked, document_list, command_line, mcp_without_elicitation, mcp_legacy, mcp_legacy_http, mcp_modern, run_asks, code_waits, page_is_true, daemon_restarts, crowd):
            part(d)
        host_list(d.folder)
    all_owners()
    end()


main()
