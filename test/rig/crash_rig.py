"""Kills a daemon at any system call: the scenario, the model of what was answered, the sweeps over
points (crash_*_test.py). Not a test.

strace kills one process of the daemon at the N-th call of a kind while a scenario runs. With DEEP,
N is 1, 2, ... until the scenario ends before that call; otherwise N has a few values from the first
to the last. A model keeps what was answered. After every kill the daemon restarts itself and is
compared with the model (security.md section 4: the checks named N1 ... below hold N1 to N5 and N8
to N11).
"""
import http.client
import os
import signal
import subprocess

from box_rig import DEEP, PATIENCE, ROOT, end, report
from daemon_rig import Daemon, box_process, groups_of, processes_of, until

POINTS_MAX = 400       # a scenario makes fewer calls of a kind
SPREAD = 4             # points of a kind, unless every one is requested
LOST = (OSError, http.client.HTTPException, ValueError)


class Strace:
    """Attached to a process until it ends; `injection` as in strace(1)."""

    def __init__(self, pid, injection, calls, log="/dev/null"):
        inject = ["-e", "inject=" + injection] if injection else []
        self.child = subprocess.Popen(["strace", "-f", "-q", "-o", log, "-e", "trace=" + calls, *inject, "-p", str(pid)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
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


# -- the model -------------------------------------------------------------------------------------

class Model:
    """What was answered. A call without an answer may have happened or not, once."""

    def __init__(self, d, tag):
        self.d, self.tag = d, tag
        self.alive, self.gone, self.files, self.execs, self.extended = {}, set(), {}, {}, set()
        self.unanswered = 0

    def call(self, *words):
        try:
            a = self.d.call(*words)
        except LOST:
            a = None
        if a is None or a.status >= 500:       # the door is alive and reports that the keeper is gone: the outcome of the call is unknown too
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
            self.alive.pop(name, None)         # one without an answer may exist or not


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
    """What does not hold, as sentences. `survives`: boxes were not touched, so nothing in them may
    be lost.
    """
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
    """N8: nothing of this test is left but these sandboxes. Returns what is."""
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


# -- the sweeps ------------------------------------------------------------------------------------

def pid_of(d, role):
    return until("the %s is there" % role, lambda: next((pid for name, pid in d.children().items() if role in name), None))


def count(d, role, calls):
    """call -> how often one scenario makes it in this process."""
    log = os.path.join(d.folder, "calls")
    tracer = Strace(pid_of(d, role), None, ",".join(calls), log)
    scenario(Model(d, "count-" + role))
    tracer.detach()
    clean_up(d)
    with open(log, encoding="utf-8", errors="replace") as f:
        made = [line.split(None, 1)[1].split("(")[0] for line in f if "(" in line]
    return {call: made.count(call) for call in calls}


def spread(most):
    """Points from the first call to the last, with distances as large as possible."""
    return sorted({1 + round(i * (most - 1) / (SPREAD - 1)) for i in range(SPREAD)})


def sweep(d, role, call, tag, points):
    """Kills `role` at these of its calls, one after the other, while the scenario runs. Returns
    (kills, what was wrong).
    """
    wrong, kills = [], 0
    for n in points:
        d.stop()               # a new daemon: its limit of restarts of failing parts begins again
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
        kills += was_killed
        if len(wrong) > 5 or (DEEP and not was_killed):
            break
    return kills, wrong + ([] if kills else ["it was never killed: the scenario makes no such call"])


def sweeps(role, *calls):
    """A row for each kind of call: kills the process at every point of a scenario (DEEP), or at
    some.
    """
    need_root()
    with Daemon() as d:
        made = {} if DEEP else count(d, role, calls)
        for call in calls:
            points = range(1, POINTS_MAX + 1) if DEEP else spread(made[call])
            kills, wrong = sweep(d, role, call, "%s%s" % (role[0], call[:4].replace("_", "")), points)
            report("%s killed at %s %s of a scenario (%d points)" % (role, "each" if DEEP else "some", call, kills), wrong)
    end()


def need_root():
    if not ROOT:
        report("a daemon killed at any system call", skip="only root may trace processes that are not dumpable")
        end()


def sweep_box(d, call):
    """Kills the box process itself: its sandbox is lost, is reported as lost, and leaves nothing.
    Another sandbox is not affected.
    """
    wrong = []
    other = d.create(name="other", start=True)
    d.exec(other, "true")
    for n in range(1, 40 + 1) if DEEP else (1, 2, 4, 8):
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
