#!/usr/bin/env python3
"""Operations that wait for a person: what an answer binds, who may answer, and that nothing starts
without one (P34, L07, E07). Over the keeper's socket, REST, server-sent events and the command line.
"""
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
from box_rig import CARREL, PATIENCE, TREE, check, end, report, until
from daemon_rig import Daemon
from keeper_rig import Refused, caller_of

BLOCK = """---
schema: sandbox/v1
provider: local
config: {}
mounts: [{source: workspace, at: /work}]
metadata: {carrel: {approve: %s, approve_ms: %d}}
---
"""


class Place:
    """A workspace with a script, and a sandbox of it in which `approve` waits."""

    def __init__(self, d, approve="[exec]", ms=600000):
        self.d, self.folder = d, tempfile.mkdtemp(prefix="ws-", dir=d.folder)
        self.write("ok.sh", "echo hello\n")
        self.id = d.create(workspace=self.folder, manifest=BLOCK % (approve, ms))
        self.c = caller_of(d.state)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def ask(self, c=None, op="exec.start", **fields):
        """Sends the call, and gives its serial and the id of its request."""
        c = c or self.c
        if op == "exec.start":
            fields.setdefault("argv", ["sh", "ok.sh"])
        serial = c.send(op, id=self.id, **fields)
        return serial, self.asked(c)

    def asked(self, c=None):
        return (c or self.c).event(lambda e: e.get("event") == "approval-requested")["approval"]

    def approval(self, id):
        return self.d.must("GET", "/v1/approvals/" + id)

    def answer(self, id, verdict="approve", **more):
        return self.d.call("POST", "/v1/approvals/" + id, {"verdict": verdict, **more})

    def output(self, serial, c=None):
        """What the command printed, once its call was answered."""
        _, fds = (c or self.c).take(serial)
        return box_wire.Channel(socket.socket(fileno=fds[0])).wait().out

    def refused(self, serial, c=None):
        try:
            (c or self.c).take(serial)
        except Refused as r:
            return r.fields
        return {"code": "accepted"}

    def ran(self):
        """How many commands this sandbox has ever run."""
        return len(self.d.must("GET", "/v1/sandboxes/%s/execs" % self.id)["items"])

    def state(self, id):
        return self.approval(id)["state"]


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
        ("a script that is removed", ["sh", "/work/evil.sh"], lambda: os.unlink(p.path("evil.sh"))),
    ]
    wrong = []
    for name, argv, change in rows:
        serial, id = p.ask(argv=argv)
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
    for serial, number in ((one, id), (two, other)):
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
    long = "x" * 5000
    serial, id = p.ask(argv=["echo", long] + ["w%d" % i for i in range(3000)])
    bound = p.approval(id)["bound"]
    check("a long word is cut and has its digest, and many words are counted",
          any("cut: 5000 bytes in all, sha256 " + hashlib.sha256(long.encode()).hexdigest() in line for line in bound) and "more lines are bound and not shown" in bound[-1] and
          sum(map(len, bound)) < 32768, bound[-1])
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
    codes = {c.replies[s][0]["code"] for c, s in sent if s in c.replies}
    check("of 1,000 calls 64 wait, and the others are refused", codes == {"quota_exceeded"} and refused == 936, codes, refused)
    check("meanwhile others are served", d.exec(d.create(), "echo x")["stdout"] == "x\n")
    for c in callers:
        c.close()
    until("all are withdrawn", lambda: not [a for a in d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested"])
    check("what is over is bounded too", len(d.must("GET", "/v1/approvals")["items"]) <= 128)


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
    check("--json has the members of REST", json.loads(carrel("approvals", "--json").stdout) == d.must("GET", "/v1/approvals"))
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
    check("docs/APPROVALS.md: its example waits, and shows its lines", len(lines) == 3 and all(t in shown.stdout.splitlines() for t in lines), shown)
    d.must("POST", "/v1/approvals/" + id, {"verdict": "approve"})
    check("and runs after the answer", "built" in child.communicate(timeout=PATIENCE)[0])


def main():
    with Daemon() as d:
        for part in (approved_once, expires, binds_each_part, is_shown_safely, who_may_answer, caller_goes, other_operations, lists_are_checked, command_line, page_is_true, daemon_restarts, crowd):
            part(d)
        host_list(d.folder)
    end()


main()
