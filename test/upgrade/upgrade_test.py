#!/usr/bin/env python3
# slow: 25 s: three programs take over each other's sandboxes
"""upgrade_test - the state directory and the running sandboxes of the last release continue under
this program; those of this program are left alone by the last release, and by any earlier program
with the code of this one. Old clients work with a new daemon, and new clients with an old one.

The last release is the commit in test/release, built by tools/build-release. TAP.
"""
import base64
import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, PATIENCE, ROOT, SWITCHES, TREE, check, end, need_programs, report, until
from daemon_rig import Daemon, groups_of

RELEASE = os.path.join(TREE, "build-release")
OLD = os.path.join(RELEASE, "carrel")
LATER = {"CARREL_TEST_BOX_PROTOCOL": "99"}          # for a build with switches: its boxes are of a later protocol
BLOCK = {"provider": "local", "config": {}, "limits": {"timeout_ms": 600000}}
VOLUME = {**BLOCK, "mounts": [{"source": {"inline": {"provider": "carrel-volume", "config": {"name": "kept"}}}, "at": "/v"}]}
SERVER = "import http.server\nclass H(http.server.BaseHTTPRequestHandler):\n def do_GET(self):\n  self.send_response(200); self.end_headers(); self.wfile.write(b'inside')\n" \
         "http.server.HTTPServer(('127.0.0.1', 8000), H).serve_forever()"
WAITS = "echo begun; while ! test -e /tmp/go; do sleep 0.05; done; echo done"
LONG = "seq 1 20000"


@contextlib.contextmanager
def daemon(program, *words, env=None):
    d = Daemon(*words, program=program, env=env)
    try:
        d.start()
        yield d
        d.program, d.env = CARREL, None
        d.end()
    finally:
        d.stop(signal.SIGKILL)
        shutil.rmtree(d.folder, ignore_errors=True)


def become(d, program, env=None, number=signal.SIGTERM):
    """The daemon ends, and another program continues with its state directory."""
    parts = d.children()
    d.stop(number)
    until("its parts have ended", lambda: not any(os.path.exists("/proc/%d" % pid) for pid in parts.values()))
    d.program, d.env = program, env
    d.start()


def cli(program, d, *words):
    done = subprocess.run([program, *words], env=dict(os.environ, CARREL_STATE=d.state), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def snapshot(d, box, number):
    return d.must("GET", "/v1/sandboxes/%s/execs/%d/output" % (box, number))


def outputs(d, box, number):
    s = snapshot(d, box, number)
    return [base64.b64decode(s[name]).decode() if s.get("encoding") == "base64" else s[name] for name in ("stdout", "stderr")]


def fetch(d, box):
    """What the declared port of a sandbox answers through the proxy."""
    at = d.must("GET", "/v1/sandboxes/%s/ports/8000" % box)
    with socket.create_connection(("127.0.0.1", int(at["url"].split(":")[2].split("/")[0])), PATIENCE) as s:
        s.sendall(b"GET /~%s/ HTTP/1.0\r\nHost: localhost\r\n\r\n" % at["token"].encode())
        with s.makefile("rb") as answer:
            return answer.read().endswith(b"inside")


class Furniture:
    """Sandboxes of every kind."""

    def __init__(self, d, with_pool):
        self.d = d
        self.run = d.create(name="run", manifest=BLOCK)
        self.long = d.must("POST", self.execs(self.run), {"command": LONG + "; echo err >&2; exit 7", "key": "long"})["exec"]
        self.waits = d.must("POST", self.execs(self.run), {"command": WAITS, "background": True, "key": "waits"})["exec"]
        self.port = d.create(name="port", manifest=BLOCK, ports=[8000])
        d.must("POST", self.execs(self.port), {"argv": ["python3", "-c", SERVER], "background": True, "wait_ports": True})
        self.volume = d.create(name="volume", manifest=VOLUME)
        d.exec(self.volume, "echo kept >/v/f; echo private >/tmp/f")
        self.pending = d.create(name="pending", manifest=BLOCK)
        self.all = [self.run, self.port, self.volume, self.pending]
        self.paused = None
        if ROOT:                                    # pausing needs the freezer
            self.paused = d.create(name="paused", manifest=BLOCK)
            d.exec(self.paused, "echo before >/tmp/f")
            d.must("POST", "/v1/sandboxes/%s/pause" % self.paused)
            self.all.append(self.paused)
        self.claimed = None
        if with_pool:
            until("a sandbox is ready", lambda: d.call("POST", "/v1/claims", {"name": "claimed"}).status in (200, 201))
            self.claimed = d.must("GET", "/v1/sandboxes/claimed")["id"]
            d.exec(self.claimed, "echo claimed >/tmp/f")
            self.all.append(self.claimed)
        until("it prints", lambda: snapshot(d, self.run, self.waits)["stdout_bytes"] == 6)

    @staticmethod
    def execs(box):
        return "/v1/sandboxes/%s/execs" % box

    def listed(self):
        return {b["id"]: b["status"] for b in self.d.must("GET", "/v1/sandboxes")["items"]}

    def wanted(self):
        found = dict.fromkeys(self.all, "running")
        found[self.pending] = "pending"
        if self.paused:
            found[self.paused] = "paused"
        return found

    def wrong_list(self):
        until("each box has been found", lambda: self.d.call("GET", self.execs(self.run)).status == 200)
        return [] if self.listed() == self.wanted() else [self.listed(), self.wanted(), self.d.log_text()]

    def wrong_output(self):
        """The kept output of what ended before, and what a running command prints before and after."""
        d, wrong = self.d, []
        text = "".join("%d\n" % i for i in range(1, 20001))
        if outputs(d, self.run, self.long) != [text, "err\n"]:
            wrong.append([o[-60:] for o in outputs(d, self.run, self.long)])
        ended = d.must("GET", self.execs(self.run) + "/%d" % self.long)
        if (ended["outcome"], ended["exit_code"]) != ("exited", 7):
            wrong.append(ended)
        again = d.must("POST", self.execs(self.run), {"command": WAITS, "background": True, "key": "waits"})["exec"]
        d.exec(self.run, "touch /tmp/go")
        until("the command of before ends", lambda: d.must("GET", self.execs(self.run) + "/%d" % self.waits)["state"] == "ended")
        if again != self.waits or outputs(d, self.run, self.waits)[0] != "begun\ndone\n":
            wrong.append([again, self.waits, outputs(d, self.run, self.waits)])
        return wrong

    def wrong_use(self):
        d, wrong = self.d, []
        rows = [(self.run, "echo new; exit 3", ("new\n", 3)), (self.volume, "cat /v/f /tmp/f", ("kept\nprivate\n", 0)), (self.pending, "echo first", ("first\n", 0))]
        rows += [(self.paused, "cat /tmp/f", ("before\n", 0))] if self.paused else []
        rows += [(self.claimed, "cat /tmp/f", ("claimed\n", 0))] if self.claimed else []
        for box, command, expected in rows:
            got = d.exec(box, command)
            if (got["stdout"], got["exit_code"]) != expected:
                wrong.append((command, got))
        if not fetch(d, self.port):
            wrong.append("the port does not answer")
        if not d.must("GET", "/v1/volumes")["items"][0].get("used_by"):
            wrong.append("the volume is not in use")
        put = d.call("PUT", "/v1/sandboxes/%s/files?path=/tmp/g" % self.run, b"given")
        if put.status >= 300 or d.exec(self.run, "cat /tmp/g")["stdout"] != "given":
            wrong.append(put)
        return wrong

    def wrong_end(self):
        """Stops everything; the processes and groups of the boxes are gone."""
        d = self.d
        wrong = [(box, a) for box in self.all for a in [d.call("DELETE", "/v1/sandboxes/" + box)] if a.json != {"existed": True}]
        if self.listed():
            wrong.append(self.listed())
        until("its directories are gone", lambda: not set(self.all) & set(os.listdir(os.path.join(d.state, "boxes"))))
        until("its control groups are gone", lambda: not groups_of(self.all))
        a = d.call("DELETE", "/v1/volumes/kept")
        return wrong + ([] if a.json == {"existed": True} else [a])


def takes_over():
    with daemon(OLD, "--pool", "1") as d:
        f = Furniture(d, True)
        become(d, CARREL)
        report("a daemon of this program lists every sandbox of the last release, as it was", f.wrong_list())
        report("  output and result of commands of before are there, and one goes on", f.wrong_output())
        report("  new commands, ports, volumes and files work in them", f.wrong_use())
        report("  stopping them leaves nothing", f.wrong_end())
    with daemon(OLD) as d:
        f = Furniture(d, False)
        become(d, CARREL, number=signal.SIGKILL)
        report("the same after the daemon of the last release was killed", f.wrong_list() + f.wrong_output() + f.wrong_use() + f.wrong_end())


def goes_back():
    """This program's sandboxes under a daemon of the last release, and under this one again."""
    with daemon(CARREL) as d:
        f = Furniture(d, False)
        become(d, OLD)
        until("it has looked at each box", lambda: all(f.listed()[b] == "failed" for b in f.all if b != f.pending))
        check("a daemon of the last release leaves boxes of this one alone", set(f.all) - {f.pending} <= set(os.listdir(os.path.join(d.state, "boxes"))), f.listed(), d.log_text())
        other = d.create(name="other", manifest=BLOCK)
        check("  and works beside them", d.exec(other, "echo old")["stdout"] == "old\n")
        d.must("DELETE", "/v1/sandboxes/" + other)
        become(d, CARREL)
        report("  this program then finds them again, though they were recorded as lost", f.wrong_list() + f.wrong_output() + f.wrong_use())
        report("  and stopping them leaves nothing", f.wrong_end())


def of_a_later_version():
    """This program as the older one: boxes of protocol 99."""
    if not os.access(SWITCHES, os.X_OK):
        report("sandboxes of a later version", skip="no build-switches")
        return
    with daemon(SWITCHES, "--pool", "1", env=LATER) as d:
        f = Furniture(d, False)
        pool = until("a sandbox is ready", lambda: set(os.listdir(os.path.join(d.state, "boxes"))) - set(f.all))
        become(d, CARREL, number=signal.SIGKILL)
        until("it has looked at each box", lambda: d.log_text().count("was started by a later version") >= len(f.all) - 1)
        at = d.must("GET", "/v1/sandboxes/run")
        refused = d.call("POST", f.execs(f.run), {"command": "true"})
        check("a sandbox of a later version is failed, with its cause, and the log names the way on", (at["status"], at["cause"]) == ("failed", "later_version") and
              "carrel stop " + f.run in d.log_text(), at, d.log_text())
        check("  commands in it are refused, with the way on", refused.code == "sandbox_backend_failed" and "carrel stop " + f.run in refused.json["error"]["hint"], refused)
        taken = d.call("POST", "/v1/sandboxes", {"name": "run", "manifest": BLOCK})
        check("  its name is taken", taken.json["error"].get("reason") == "name_taken", taken)
        until("the ready sandbox of a later version ends", lambda: not pool & set(os.listdir(os.path.join(d.state, "boxes"))) and not groups_of(pool))
        status, out, _ = cli(CARREL, d, "stop", "volume")
        until("the box of a later version ends", lambda: f.volume not in os.listdir(os.path.join(d.state, "boxes")))
        check("  carrel stop ends it", status == 0 and "volume" not in [b.get("name") for b in d.must("GET", "/v1/sandboxes")["items"]] and not groups_of([f.volume]), status, out)
        f.all.remove(f.volume)
        become(d, SWITCHES, LATER)
        report("  the later version finds the others again", f.wrong_list() + f.wrong_output())
        become(d, CARREL)
        until("it has looked at each box again", lambda: d.must("GET", "/v1/sandboxes/run").get("cause") == "later_version")
        report("  stopping them leaves nothing", f.wrong_end())


def clients():
    """Old clients with a new daemon, and the reverse: the words that the manual documents."""
    code = ("import sys, carrel\nwith carrel.Carrel(state=sys.argv[1]).create(manifest={'provider': 'local', 'config': {}}) as s:\n"
            "    assert s.run('cat; exit 3', input=b'x', check=False).exit_status == 3\n    s.files.write('/tmp/f', b'1')\n    assert s.files.read('/tmp/f') == b'1'\n    assert s.info.status\n")
    for what, program, client, sdk in (("old clients with a new daemon", CARREL, OLD, os.path.join(RELEASE, "python")), ("new clients with an old daemon", OLD, CARREL, os.path.join(TREE, "sdk/python"))):
        with daemon(program) as d:
            wrong = []
            rows = ((["create", "--name", "one"], "", 0), (["exec", "one", "--", "sh", "-c", "echo out; exit 5"], "out\n", 5), (["ls", "-q"], None, 0), (["info", "one"], None, 0), (["ps", "one"], None, 0),
                    (["exec", "-d", "one", "--", "echo", "kept"], None, 0), (["exec", "--json", "one", "--", "true"], None, 0), (["extend", "one", "1h"], None, 0), (["volume", "create", "v"], None, 0),
                    (["exec", "--timeout", "200ms", "one", "--", "sleep", "60"], None, 124), (["volume", "ls"], None, 0), (["volume", "rm", "v"], None, 0), (["stop", "one"], None, 0))
            for words, out, status in rows:
                got = cli(client, d, *words)
                if got[0] != status or out and got[1] != out:
                    wrong.append((words, got))
            done = subprocess.run([sys.executable, "-c", code, d.state], env=dict(os.environ, PYTHONPATH=sdk), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
            report(what + ": the command line and the Python client", wrong + ([done.stdout.decode()] if done.returncode else []))


def refused_state():
    """A database of a later schema: both ways, an error that names the way on."""
    with daemon(CARREL) as d:
        d.create(name="kept", manifest=BLOCK)
        d.stop()
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, "state.db"))) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute("PRAGMA user_version = 4000")
        done = subprocess.run([CARREL, "serve", "--state", d.state], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
        text = done.stdout.decode()
        check("a database of a later schema is refused, with the way on", done.returncode == 125 and "state_unusable" in text and "later version of carrel" in text and "--state DIR" in text, done.returncode, text)
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, "state.db"))) as db:
            db.execute("PRAGMA user_version = %d" % version)
        d.start()
        check("  and nothing was changed in it", [b["name"] for b in d.must("GET", "/v1/sandboxes")["items"]] == ["kept"])


def main():
    need_programs()
    refused_state()
    of_a_later_version()
    if not os.access(OLD, os.X_OK):
        why = "tools/build-release was not run"
        with contextlib.suppress(OSError), open(os.path.join(RELEASE, "absent"), encoding="utf-8") as f:
            why = f.read().strip()
        report("the sandboxes of the last release", skip=why)
        end()
    takes_over()
    goes_back()
    clients()
    end()


if __name__ == "__main__":
    main()
