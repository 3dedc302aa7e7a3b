"""A system call fails while a sandbox is created by the daemon or by `carrel run`: what
making_*_fault_test.py share. Not a test.

strace follows the process that creates boxes, and makes the n-th call of a name fail in each
process that it starts. With DEEP, n is 1, 2, ... until no call is hit, or 8 were tried (MAKING_MAX:
how many; 0: all); otherwise a few values. Either the create call is refused with a code and leaves
nothing behind, or the sandbox starts and is as tight as always: the command never runs with less
isolation (Z14). The same holds for `carrel run`.
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile

from box_rig import CARREL, DEEP, PATIENCE, ROOT, Names, end, host_mounts, own_place, report
from daemon_rig import Daemon, groups_of, processes_of, until

MOST = int(os.environ.get("MAKING_MAX", "8")) or 500
BY_DAEMON = range(1, MOST + 1) if DEEP else (1, 2, 5)
BY_RUN = range(1, MOST + 1) if DEEP else (1, 4)
BLOCK = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
CAPS_LEN = 200         # the first lines of it: rights, filters, ids. The shell prints them itself, so that a fault in programs that it starts comes later
# The shell opens its status twice where needed: the fault may be in its own call.
LOOK = r'''cd /workspace; rights() { while read -r what rest; do
  case $what in CapInh:|CapPrm:|CapEff:|CapBnd:|CapAmb:|NoNewPrivs:|Seccomp:|Seccomp_filters:|Groups:|Uid:|Gid:) echo "$what" $rest;; esac
done </proc/self/status; }
rights 2>&- || rights
for n in mnt pid net ipc uts user cgroup; do [ "$(readlink /proc/self/ns/$n)" != "$(cat host-$n)" ] && printf '%s ' $n; done
hostname; ls -a /; ls /dev; cut -d' ' -f4-6 /proc/self/mountinfo | sed 's/carrel[-_a-z0-9A-Z]*//g' | sort; cat /proc/self/limits; cat /proc/net/dev | wc -l
cat /etc/shadow 2>&1; (: >/etc/x) 2>&1; (: >/proc/sysrq-trigger) 2>&1; mount -t tmpfs x /mnt 2>&1; unshare -U true 2>&1; dmesg 2>&1 | head -1; touch canary; echo end'''


class Held:
    """strace on a process, or around a command, that injects one failure."""

    def __init__(self, folder, call, error, number, pid=None):
        self.log = os.path.join(folder, "held")
        with open(self.log, "wb"):
            pass
        self.words = ["strace", "-f", "-q", "-o", self.log, "-e", "trace=" + call, "-e", "inject=%s:error=%s:when=%s" % (call, error, number)]
        self.child = None
        if pid:
            self.child = subprocess.Popen([*self.words, "-p", str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            until("strace is attached", lambda: self.child.poll() is not None or is_traced(pid))

    def end(self):
        """How often the call was hit."""
        if self.child:
            if self.child.poll() is None:
                self.child.send_signal(signal.SIGINT)
            self.child.wait(PATIENCE)
            self.child.stderr.close()
        with open(self.log, "rb") as f:
            return f.read().count(b"(INJECTED)")


def is_traced(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return any(line.startswith("TracerPid:") and line.split()[1] != "0" for line in f)


def spawner_of(d):
    return until("the spawner is there", lambda: next((pid for name, pid in d.children().items() if "init" in name or "spawner" in name), None))


class Host:
    """What a sandbox may leave behind."""

    def __init__(self, d, workspace):
        self.d, self.workspace, self.names = d, workspace, Names()
        self.names.watch(os.path.join(d.state, "boxes"))       # their names are the ids in the names of groups
        self.before = self.now()

    def now(self):
        return {"mounts": host_mounts(self.d.folder), "boxes": sorted(os.listdir(os.path.join(self.d.state, "boxes"))),
                "processes": sorted(processes_of(self.d.state).values()), "canary": os.path.exists(os.path.join(self.workspace, "canary")),
                "listed": [i["id"] for i in self.d.must("GET", "/v1/sandboxes")["items"]]}

    def left(self):
        """What has changed. Groups that a maker could not remove are collected by the next start.
        """
        try:
            until("all is as it was", lambda: self.now() == self.before)
            if groups_of(self.names.read()):
                run(self.workspace)
            until("nothing is left", lambda: not groups_of(self.names.read()))
            return []
        except AssertionError:
            now = self.now()
            return ["left: %r, not %r; groups: %r" % ({k: v for k, v in now.items() if v != self.before[k]}, {k: v for k, v in self.before.items() if now[k] != v},
                                                      groups_of(self.names.read()))]


def attempt(d, workspace):
    """(output of the command or None, code of the refusal or None)."""
    a = d.call("POST", "/v1/sandboxes", {"name": "faulty", "start": True, "workspace": workspace, "manifest": BLOCK})
    if a.status >= 300:
        return None, a.code or "an error without a code: %r" % a
    b = d.call("POST", "/v1/sandboxes/faulty/execs", {"command": LOOK})
    return (b.json["stdout"] + b.json["stderr"], None) if b.status < 300 and b.json.get("outcome") == "exited" else (None, b.code or (b.json or {}).get("outcome") or repr(b))


def clear(d, workspace):
    d.call("DELETE", "/v1/sandboxes/faulty")
    path = os.path.join(workspace, "canary")
    if os.path.exists(path):
        os.unlink(path)


def usual_by_daemon(d, workspace):
    """What a command sees without a fault."""
    usual, code = attempt(d, workspace)
    has_run = os.path.exists(os.path.join(workspace, "canary"))
    clear(d, workspace)
    assert usual is not None and has_run, "without a fault: %s, %r" % (code, usual)
    until("the first one has gone", lambda: not [n for n in processes_of(d.state).values() if "box" in n] and not os.listdir(os.path.join(d.state, "boxes")))
    return usual


def by_daemon(d, host, usual, call, error):
    wrong, seen, hits, workspace = [], {}, 0, host.workspace
    for number in BY_DAEMON:
        held = Held(d.folder, call, error, number, spawner_of(d))
        saw, code = attempt(d, workspace)
        has_canary = os.path.exists(os.path.join(workspace, "canary"))
        hit = held.end()
        if saw is not None and "end\n" not in saw:     # the fault was in the command itself: its output before that counts
            saw = usual if saw[:CAPS_LEN] == usual[:CAPS_LEN] or saw.endswith(": Cannot fork\n") and not has_canary else saw
        if saw is not None and saw != usual:
            wrong.append("%d: the command ran, and saw %r, not %r" % (number, *differs(saw, usual)))
        if saw is None and has_canary:
            wrong.append("%d: refused (%s), and the command has run" % (number, code))
        if saw is None and (not code or " " in code or code == "internal_error"):
            wrong.append("%d: %s" % (number, code))
        clear(d, workspace)
        wrong += ["%d: %s" % (number, w) for w in host.left()]
        seen[code or "ran"] = seen.get(code or "ran", 0) + 1
        hits += hit
        if hit == 0 or len(wrong) > 2:
            break
    return hits, seen, wrong


def differs(saw, usual):
    return [w for w in saw.split("\n") if w not in usual][:4], [w for w in usual.split("\n") if w not in saw][:4]


def run(workspace, prefix=()):
    done = subprocess.run([*prefix, CARREL, "run", "--json", "-f", os.path.join(workspace, "SANDBOX.md"), "-w", workspace, "--", "sh", "-c", LOOK],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    has_canary = os.path.exists(os.path.join(workspace, "canary"))
    if has_canary:
        os.unlink(os.path.join(workspace, "canary"))
    return done, has_canary


def by_run(folder, workspace, usual, call, error):
    wrong, hits = [], 0
    for number in BY_RUN:
        held = Held(folder, call, error, number)
        done, has_canary = run(workspace, held.words)
        hit = held.end()
        if has_canary and seen_by(done) != usual:
            wrong.append("%d: the command ran, and saw %r, not %r" % (number, *differs(seen_by(done), usual)))
        if done.returncode < 0 or (done.returncode != 0 and not has_canary and not done.stderr and not done.stdout):
            wrong.append("%d: ended with %d without a word" % (number, done.returncode))
        hits += hit
        if hit == 0 or len(wrong) > 2:
            break
    return hits, wrong


def done_text(done):
    return done.stdout[-300:] + done.stderr[-300:]


def seen_by(done):
    try:
        return json.loads(done.stdout)["stdout"] + json.loads(done.stdout)["stderr"]
    except (ValueError, KeyError):
        return ""


def need_strace():
    if not ROOT or not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        report("a call that fails while a box is made", skip="strace, as root")
        end()


def make_workspace(folder):
    os.chmod(folder, 0o755)
    workspace = os.path.join(folder, "work")
    os.mkdir(workspace)
    for name in ("mnt", "pid", "net", "ipc", "uts", "user", "cgroup"):
        with open(os.path.join(workspace, "host-" + name), "w", encoding="utf-8") as f:
            f.write(os.readlink("/proc/self/ns/" + name))
    with open(os.path.join(workspace, "SANDBOX.md"), "w", encoding="utf-8") as f:
        f.write(BLOCK)
    os.chmod(workspace, 0o777)
    return workspace


def sweep(*calls):
    """A row for each (call, error)."""
    need_strace()
    own_place()         # no start of another test collects what is left here
    with tempfile.TemporaryDirectory(prefix="carrel-making-") as folder, Daemon() as d:
        workspace = make_workspace(folder)
        usual, (run_usual, has_run) = usual_by_daemon(d, workspace), run(workspace)
        assert has_run, "without a fault: %r" % done_text(run_usual)
        host, run_usual = Host(d, workspace), seen_by(run_usual)
        for call, error in calls:
            hits, seen, wrong = by_daemon(d, host, usual, call, error)
            more, also = by_run(folder, workspace, run_usual, call, error)
            if hits + more == 0 and not wrong + also:
                report("%s that fails while a box is made" % call, skip="it is not called here")
                continue
            report("%s that fails (%s) while a box is made: refused whole, or a whole box (%d hits by the daemon: %r; %d by run; Z14)" % (call, error, hits, seen, more), wrong + ["run: " + w for w in also])
    end()
