#!/usr/bin/env python3
"""crash_test - a daemon killed at any system call loses nothing it has answered, leaves nothing, and repeats nothing.

The sweep: strace kills one process of the daemon at the N-th call of a kind, for N = 1, 2, ... until a whole scenario ends before it comes
to that. A model keeps what was answered; after every kill the daemon comes up again by itself and is compared with the model
(security.md section 4: N1 to N5, N8 to N11 are named N1 ... below as the checks that hold them). Faults: the same with a call that fails.
"""
import http.client
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import PATIENCE, ROOT, end, report
from daemon_rig import Daemon, groups_of, processes_of, until

QUICK = "--quick" in sys.argv
POINTS_MAX = 12 if QUICK else 400
LOST = (OSError, http.client.HTTPException, ValueError)


class Strace:
    """Attached to a process until it ends; `injection` as of strace(1)."""

    def __init__(self, pid, injection, calls):
        self.child = subprocess.Popen(["strace", "-f", "-q", "-o", "/dev/null", "-e", "trace=" + calls, "-e", "inject=" + injection, "-p", str(pid)],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until("strace is attached", lambda: self.child.poll() is not None or traced(pid))

    def detach(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
        self.child.wait(timeout=PATIENCE)
        self.child.stderr.close()


def traced(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as f:
            return any(line.startswith("TracerPid:") and int(line.split()[1]) > 0 for line in f)
    except OSError:
        return True


# ---- the model ---------------------------------------------------------------------------------------------------

class Model:
    """What was answered. A call that got no answer may have happened or not, once."""

    def __init__(self, d, tag):
        self.d, self.tag = d, tag
        self.alive, self.gone, self.files, self.execs, self.extended = {}, set(), {}, {}, set()
        self.unanswered = 0

    def call(self, *words):
        try:
            a = self.d.call(*words)
        except LOST:
            a = None
        if a is None or a.status >= 500:       # the door lives on and says that the keeper is gone: what came of it is not known either
            self.unanswered += 1
            return None
        return a

    def create(self, name):
        a = self.call("POST", "/v1/sandboxes", {"name": "%s-%s" % (self.tag, name), "timeout_ms": 600000, "key": "%s-%s" % (self.tag, name)})
        if a is not None and a.status == 201:
            self.alive[name] = a.json["id"]
        return a

    def exec(self, name, command, key, background=False):
        a = self.call("POST", "/v1/sandboxes/%s-%s/execs" % (self.tag, name), {"command": command, "key": key, "background": background})
        if a is not None and a.status < 300:
            self.execs[(name, key)] = a.json

    def write(self, name, path, text):
        a = self.call("POST", "/v1/sandboxes/%s-%s/files" % (self.tag, name), {"files": [{"path": path, "content": text}]})
        if a is not None and a.status < 300:
            self.files[(name, path)] = text
        else:
            self.files.setdefault((name, path), None)

    def extend(self, name):
        a = self.call("POST", "/v1/sandboxes/%s-%s/extend" % (self.tag, name), {"duration_ms": 3600000, "key": self.tag + "-extend"})
        if a is not None and a.status < 300:
            self.extended.add(name)

    def stop(self, name):
        a = self.call("DELETE", "/v1/sandboxes/%s-%s" % (self.tag, name))
        if a is not None and a.status == 200:
            self.gone.add(name)
        if a is None or a.status == 200:
            self.alive.pop(name, None)         # one that got no answer may be there or not


COUNT = "i=0; while [ $i -lt 2000 ]; do echo line$i; i=$((i+1)); done"


def scenario(m):
    m.create("a")
    m.write("a", "one.txt", "A" * 5000)
    m.exec("a", COUNT, "k1", background=True)
    m.exec("a", "echo out; echo err >&2; exit 3", "k2")
    m.write("a", "one.txt", "B" * 5000)
    m.extend("a")
    m.create("b")
    m.exec("b", "true", "k3")
    m.stop("b")


def lines_wrong(text):
    """The counter's output is a prefix of line0, line1, ..."""
    lines = text.split("\n")
    return next(("line %d is %r" % (i, line) for i, line in enumerate(lines[:-1]) if line != "line%d" % i), None)


def check_execs(m, name, wrong):
    listed = m.d.must("GET", "/v1/sandboxes/%s-%s/execs" % (m.tag, name))["items"]
    keys = [e["key"] for e in listed if e.get("key")]
    if len(keys) != len(set(keys)):
        wrong.append("N2: a key ran twice: %r" % keys)
    for (owner, key), _ in m.execs.items():
        if owner != name:
            continue
        got = [e for e in listed if e.get("key") == key]
        if not got:
            wrong.append("N3: the answered exec %s is not known" % key)
            continue
        path = "/v1/sandboxes/%s-%s/execs/%d/output?wait=true" % (m.tag, name, got[0]["exec"])
        done = m.d.must("GET", path)
        if done["state"] != "ended" or done.get("outcome") not in ("exited", "lost"):
            wrong.append("N3: %s ended as %r" % (key, done))
        if key == "k1":
            if lines_wrong(done["stdout"]):
                wrong.append("N4: " + lines_wrong(done["stdout"]))
            if done["outcome"] == "exited" and (done["stdout"].count("\n") != 2000 or done["dropped_bytes"] != 0):
                wrong.append("N4: %d lines, %d dropped" % (done["stdout"].count("\n"), done["dropped_bytes"]))
        if key == "k2" and done["outcome"] == "exited" and (done["exit_code"], done["stdout"], done["stderr"]) != (3, "out\n", "err\n"):
            wrong.append("N3: %r" % done)


def check_files(m, name, wrong):
    for (owner, path), text in m.files.items():
        if owner != name:
            continue
        a = m.d.call("GET", "/v1/sandboxes/%s-%s/files?path=%s" % (m.tag, name, path))
        body = a.body.decode() if a.status == 200 else None
        if body is not None and body not in ("A" * 5000, "B" * 5000):
            wrong.append("N5: %s holds %d bytes of neither" % (path, len(body)))
        if text is not None and body is None:
            wrong.append("N5: the answered file is not there: %r" % a)
        if text == "B" * 5000 and body != text:
            wrong.append("N5: the older content came back")


def check_model(m, survives=True):
    """What does not hold, as sentences. `survives`: boxes were not touched, so nothing in them may be lost."""
    wrong = []
    items = {i.get("name"): i for i in m.d.must("GET", "/v1/sandboxes")["items"]}
    for name, box in m.alive.items():
        item = items.get("%s-%s" % (m.tag, name))
        if not item or item["id"] != box:
            wrong.append("N1: the answered sandbox %s is %r" % (name, item))
            continue
        if survives and item["status"] not in ("running", "pending"):
            wrong.append("N3: %s is %s (%s)" % (name, item["status"], item.get("cause")))
        if name in m.extended and not 600000 < item["timeout_ms"] <= 4200000:
            wrong.append("N10: %d ms are left" % item["timeout_ms"])
        if item["status"] in ("running", "pending"):
            check_execs(m, name, wrong)
            check_files(m, name, wrong)
    for name in m.gone:
        if "%s-%s" % (m.tag, name) in items:
            wrong.append("N1: %s was stopped and is %r" % (name, items["%s-%s" % (m.tag, name)]))
    return wrong


def clean_up(d):
    for item in d.must("GET", "/v1/sandboxes")["items"]:
        d.must("DELETE", "/v1/sandboxes/" + item["id"])


def settle(d, boxes=()):
    """N8: nothing of ours is left but these sandboxes. Gives what is."""
    def left():
        extra = {"groups": [g for g in groups_of(d.ids) if not any(box in g for box in boxes)],
                 "directories": sorted(set(os.listdir(os.path.join(d.state, "boxes"))) - set(boxes)),
                 "processes": [pid for pid, name in processes_of(d.state).items() if "box" in name or "maker" in name]}
        extra["processes"] = extra["processes"] if len(extra["processes"]) > 2 * len(boxes) else []
        return {k: v for k, v in extra.items() if v}
    try:
        until("nothing is left", lambda: not left())
        return []
    except AssertionError:
        return ["N8: left behind: %r" % left()]


# ---- the sweeps --------------------------------------------------------------------------------------------------

def pid_of(d, role):
    return until("the %s is there" % role, lambda: next((pid for name, pid in d.children().items() if role in name), None))


def sweep(d, role, call, tag):
    """Kills `role` at its 1st, 2nd, ... `call` while the scenario runs. Gives (points, what was wrong)."""
    wrong = []
    for n in range(1, POINTS_MAX + 1):
        d.stop()               # its patience with parts that die again and again starts anew
        d.start()
        pid = pid_of(d, role)
        tracer = Strace(pid, "%s:signal=SIGKILL:when=%d" % (call, n), call)
        m = Model(d, "%s%d" % (tag, n))
        scenario(m)
        tracer.detach()
        was_killed = not os.path.exists("/proc/%d" % pid)
        until("the daemon is up again", d.is_up)
        found = check_model(m)
        clean_up(d)
        found += settle(d)
        wrong += ["%s %s #%d: %s" % (role, call, n, w) for w in found]
        if not was_killed or len(wrong) > 5:
            return n, wrong
    return POINTS_MAX, wrong


def sweep_box(d, call):
    """Kills the box process itself: its sandbox is lost, said so, and leaves nothing; another is untouched."""
    wrong = []
    other = d.create(name="other", start=True)
    d.exec(other, "true")
    for n in range(1, (6 if QUICK else 40) + 1):
        box = d.create(name="victim%s%d" % (call.replace(",", ""), n), start=True)
        until("it runs", lambda: d.must("GET", "/v1/sandboxes/" + box)["status"] == "running")
        pid = box_process(d, box)
        tracer = Strace(pid, "%s:signal=SIGKILL:when=%d" % (call, n), call)
        for k in range(4):
            d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "echo %d; sleep 0.01" % k})
        tracer.detach()
        if os.path.exists("/proc/%d" % pid):
            d.must("DELETE", "/v1/sandboxes/" + box)
            break
        state = until("its loss is known", lambda: (lambda s: s if s["status"] == "failed" else None)(d.must("GET", "/v1/sandboxes/" + box)))
        if state.get("cause") != "lost":
            wrong.append("cause %r" % state.get("cause"))
        for e in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]:
            if e["state"] not in ("ended", "failed"):
                wrong.append("N3: an exec of a lost box is %s" % e["state"])
        d.must("DELETE", "/v1/sandboxes/" + box)
        wrong += settle(d, [other])
        if d.exec(other, "echo x")["stdout"] != "x\n":
            wrong.append("the other sandbox was hurt")
    d.must("DELETE", "/v1/sandboxes/" + other)
    return wrong


def box_process(d, box):
    """The process that writes the box's journal."""
    path = os.path.join(d.state, "boxes", box, "journal")
    for pid in processes_of(d.state):
        try:
            for fd in os.listdir("/proc/%d/fd" % pid):
                if os.readlink("/proc/%d/fd/%s" % (pid, fd)) == path:
                    return pid
        except OSError:
            continue
    raise AssertionError("no process holds %s" % path)


def faults(d):
    """A call that fails instead of killing: typed errors, nothing answered that did not happen, and life goes on."""
    rows = [("pwrite64", "ENOSPC", "storage_full"), ("pwrite64", "EIO", None), ("fdatasync", "EIO", None), ("openat", "EMFILE", None), ("socketpair", "EMFILE", None)]
    for call, error, code in rows:
        until("the daemon is up", d.is_up)
        pid = pid_of(d, "keeper")
        tracer = Strace(pid, "%s:error=%s:when=1+" % (call, error), call)
        wrong = []
        a = d.call("POST", "/v1/sandboxes", {"name": "fault"})
        listed = d.call("GET", "/v1/sandboxes")
        tracer.detach()
        if listed.status != 200:
            wrong.append("list answered %r" % listed)
        if a.status < 300 and d.call("GET", "/v1/sandboxes/fault").status != 200:
            wrong.append("N9: create was answered and is not there")
        if a.status >= 300 and a.code is None:
            wrong.append("an error without a code: %r" % a)
        if code and a.code != code:
            wrong.append("create answered %r, not %s" % (a, code))
        if not os.path.exists("/proc/%d" % pid):
            wrong.append("the keeper ended")
        d.stop()
        d.start()
        if (d.call("GET", "/v1/sandboxes/fault").status == 200) != (a.status < 300):
            wrong.append("N2: after a start the sandbox is %s" % ("there" if a.status >= 300 else "not there"))
        d.call("DELETE", "/v1/sandboxes/fault")
        report("%s that fails with %s is told, and nothing is half done" % (call, error), wrong)


def interrupted(d):
    """EINTR and short counts change nothing (Z13)."""
    for role, call in (("keeper", "recvmsg"), ("keeper", "sendmsg"), ("keeper", "epoll_pwait"), ("door", "read"), ("door", "sendmsg"), ("door", "epoll_pwait")):
        tracer = Strace(pid_of(d, role), "%s:error=EINTR:when=2+3" % call, call)
        m = Model(d, "eintr-%s-%s" % (role, call.replace("_", "")))
        scenario(m)
        tracer.detach()
        wrong = check_model(m)
        if m.unanswered:
            wrong.append("%d calls got no answer" % m.unanswered)
        clean_up(d)
        report("%s of the %s interrupted again and again" % (call, role), wrong)


def stopped_for_long(d):
    """A keeper that stood still catches up: overdue moments fire once (Z19)."""
    box = d.create(name="sleepy", timeout_ms=2000, start=True)
    kept = d.create(name="kept", timeout_ms=600000, start=True)
    pid = pid_of(d, "keeper")
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(2.5)         # the fault itself: the clock goes on while nobody looks
    finally:
        os.kill(pid, signal.SIGCONT)
    until("the deadline is kept", lambda: d.call("GET", "/v1/sandboxes/" + box).status == 404 or d.must("GET", "/v1/sandboxes/" + box)["status"] in ("stopped", "failed"))
    report("a keeper that stood still keeps the deadline that passed, and no other",
           [] if d.exec(kept, "echo on")["stdout"] == "on\n" else ["the other sandbox is gone"])
    clean_up(d)


def main():
    if not ROOT:
        report("a daemon killed at any system call", skip="only root may trace processes that are not dumpable")
        end()
    with Daemon() as d:
        for role, calls in (("keeper", ("sendmsg", "recvmsg", "pwrite64", "fdatasync", "openat", "unlink", "mkdirat", "epoll_pwait")), ("door", ("sendmsg", "recvmsg", "epoll_pwait"))):
            for call in calls:
                points, wrong = sweep(d, role, call, "%s%s" % (role[0], call[:4].replace("_", "")))
                report("%s killed at each %s of a scenario (%d points)" % (role, call, points), wrong)
        for call in ("sendmsg", "recvmsg", "read", "write"):
            report("a box killed at each %s is lost, and says so" % call, sweep_box(d, call))
        faults(d)
        interrupted(d)
        stopped_for_long(d)
    end()


if __name__ == "__main__":
    main()
