#!/usr/bin/env python3
"""keeper_test - what the keeper promises of sandboxes: OSP's methods, unique names, lazy start,
lifecycles, and that nothing is lost when it dies.

Runs carrel-keeper with a real spawner and speaks its own protocol; CARREL names the program beside
it.
"""
import hashlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
import wire
from box_rig import PATIENCE, ROOT, check, end, report
from test_clock import Clock
from keeper_rig import Caller, Keeper, Refused, boxes_running, edit, until

BLOCK = {"provider": "local", "config": {}}
LONG = {"timeout_ms": 3600000}       # limits of commands in tests that do not test time
FILE_INFO, FILE_ENTRY = struct.Struct("=QqII"), struct.Struct("=QqIIIIiI")


def manifest(**more):
    return dict(BLOCK, **more)


def status(c, id):
    return c.call("get", id=id)["status"]


def since(begun):
    """Milliseconds of the test's own clock, rounded up: the keeper counted at most this."""
    return int((time.monotonic() - begun) * 1000) + 2


def attempt(name, work):
    """One promise: `work` returns a list of reasons, or raises one."""
    try:
        report(name, work())
    except (AssertionError, Refused, EOFError, OSError, box_wire.Gone) as e:
        report(name, ["%s: %s" % (type(e).__name__, e)])


def wrong(**claims):
    """The claims that do not hold: name = (is, should be)."""
    return ["%s is %r, not %r" % (name.replace("_", " "), got, want) for name, (got, want) in claims.items() if got != want]


def write_files(c, id, files, key=None):
    more = {"key": key} if key else {}
    _, channel = c.channel("file.write", id=id, **more)
    body = b"".join(struct.pack("=QIIII", len(content), len(path), 0o644, 0, 0) + path.encode() + content for path, content in files)
    for at in range(0, len(body), 65536):
        channel.send(wire.C_STDIN, body[at:at + 65536])
    channel.send(wire.C_STDIN, struct.pack("=QIIII", 0, 0, 0, 0, 0))       # after that it is over, and may have ended
    return channel.wait().end["exit_code"]


def read_file(c, id, path, **more):
    _, channel = c.channel("file.read", id=id, path=path, **more)
    channel.wait()
    return channel.end["exit_code"], bytes(channel.out[FILE_INFO.size:])


# -- OSP ------------------------------------------------------------------------------------------------------------------


def osp():
    with Keeper() as k:
        c = k.caller()

        def methods():
            made = c.call("create", timeout_ms=60000, env=["NODE_ENV=production"], metadata='{"x":[1,2]}')
            id, found = made["id"], []
            got = c.call("get", id=id)
            found += wrong(status=(made["status"], "pending"), metadata=(got["metadata"], '{"x":[1,2]}'), listed=([i["id"] for i in c.call("list")["items"]], [id]))
            ended = c.exec(id, 'echo "$NODE_ENV"; echo err >&2; exit 3')
            found += wrong(out=(bytes(ended.out), b"production\n"), err=(bytes(ended.err), b"err\n"), code=(ended.end["exit_code"], 3), running=(status(c, id), "running"))
            found += wrong(written=(write_files(c, id, [("a.txt", b"hello"), ("b.txt", b"x")]), 0),
                           read=(read_file(c, id, "a.txt"), (0, b"hello")), range=(read_file(c, id, "a.txt", offset=1, length=3), (0, b"ell")), absent=(read_file(c, id, "none")[0], 2))
            found += wrong(stopped=(c.call("stop", id=id)["existed"], True), again=(c.call("stop", id=id)["existed"], False), gone=(c.refused("get", id=id), "sandbox_not_found"),
                           exec=(c.refused("exec.start", id=id, command="true"), "sandbox_not_found"), directories=(k.directories(), []))
            return found
        attempt("create, get, list, exec, readFile, writeFiles and stop do what OSP says of them", methods)

        def extending():
            begun = time.monotonic()
            id = c.call("create", timeout_ms=60000)["id"]
            first, gone = c.call("extend", id=id, duration_ms=60000)["timeout_ms"], [since(begun)]
            c.call("exec.list", id=id)
            c.exec(id, "true")
            second = c.call("extend", id=id, duration_ms=1000)["timeout_ms"]
            gone.append(since(begun))
            # 2^64 - 1 is "none": adding never wraps to a time in the past
            for _ in range(3):
                last = c.call("extend", id=id, duration_ms=31536000000)["timeout_ms"]
            never = c.call("create")["id"]
            found = [] if 120000 - gone[0] <= first <= 120000 and 121000 - gone[1] <= second <= 121000 and last > 90000000000 else ["%r %r %r %r" % (first, second, last, gone)]
            found += wrong(of_one_without=("timeout_ms" in c.call("extend", id=never, duration_ms=5), False))
            for one in (id, never):
                c.call("stop", id=one)
            return found
        attempt("extendTimeout adds to what is left, and never wraps round", extending)

        def extending_once():
            id = c.call("create", timeout_ms=60000)["id"]
            left = [c.call("extend", id=id, duration_ms=100000, key="k")["timeout_ms"] for _ in range(5)]
            code = c.refused("extend", id=id, duration_ms=1, key="k")
            c.call("stop", id=id)
            return wrong(other=(code, "sandbox_exists")) + ([] if max(left) <= 160000 else [left])
        attempt("one key of extend adds once", extending_once)

        def deadline():
            id = c.call("create", timeout_ms=300)["id"]            # in real time
            with Clock() as clock, Keeper(clock=clock) as other:
                d = other.caller()
                lived = d.call("create", timeout_ms=clock.window * 1000, manifest=manifest(limits=LONG))["id"]
                channel = d.channel("exec.start", id=lived, argv=["sleep", "1000"])[1]
                channel.until(lambda: channel.started)
                clock.move(clock.window)
                channel.wait()
                until("what ran is gone", lambda: d.refused("get", id=lived) == "sandbox_not_found")
                left = other.directories()
            until("what never ran is gone", lambda: c.refused("get", id=id) == "sandbox_not_found")
            return wrong(word=(channel.end["word"], "timed_out"), directories=(left + k.directories(), []))
        attempt("a lifetime ends a sandbox, whether anything ran in it or not", deadline)

        def scheduled():
            now = int(time.time() * 1000)
            id, other = c.call("create", delete_at_ms=now + 300)["id"], c.call("create", delete_at_ms=0)["id"]
            until("it is deleted", lambda: c.refused("get", id=id) == "sandbox_not_found")
            return wrong(other=(status(c, other), "pending"))
        attempt("a scheduled deletion comes at its time", scheduled)

        def bad():
            cases = {
                "a name": dict(name="Bad Name"), "an id as a name": dict(name="0123456789abcdef"), "an env": dict(env=["1A=x"]), "a manifest": dict(manifest=manifest(nonsense=1)),
                "a runtime": dict(runtime="cobol85"), "a workspace": dict(workspace="/nonexistent/at/all", manifest=manifest(mounts=[{"at": "/w", "source": "workspace"}])),
            }
            want = {"a manifest": "sandbox_schema_invalid", "a runtime": "runtime_unknown", "a workspace": None}
            codes = {name: c.refused("create", **fields) for name, fields in cases.items()}
            return ["%s: %s" % (n, code) for n, code in codes.items() if code.startswith("accepted") or want.get(n, "invalid_argument") not in (None, code)] + \
                wrong(left=(len(c.call("list")["items"]), 1))
        attempt("what is wrong with a create is said at create, and leaves nothing", bad)

    def lazy():
        with Keeper() as k:
            c = k.caller()
            for i in range(100):
                c.call("create", name="n%d" % i, manifest=manifest(limits={"timeout_ms": 1000 + i}))
            before = (boxes_running(k.state), k.directories())
            out = bytes(c.exec("n7", "echo ok").out)
            return wrong(before=(before, (0, [])), after=(boxes_running(k.state), 1), out=(out, b"ok\n"))
    attempt("a hundred declared sandboxes are no process until the first is used (A36-173)", lazy)


def names():
    with Keeper() as k:
        c = k.caller()

        def once():
            c.call("create", name="x")
            codes = (c.refused("create", name="x"), c.refused("create", name="x", key="k"))
            first = c.call("create", name="y", key="k1", env=["A=1"])
            same = c.call("create", name="y", key="k1", env=["A=1"])
            other = c.refused("create", name="y", key="k1", env=["A=2"])
            c.call("stop", id="x")
            return wrong(codes=(codes, ("sandbox_exists",) * 2), same=(same["id"], first["id"]), other=(other, "sandbox_exists"), again=("id" in c.call("create", name="x"), True))
        attempt("a name never stands for two, and its key answers the same again", once)

        def storm():
            callers = [k.caller() for _ in range(20)]
            serials = [(one, one.send("create", key="storm", name="storm", timeout_ms=100000)) for one in callers for _ in range(5)]
            ids = {one.take(serial)[0]["id"] for one, serial in serials}
            execs = [(one, one.send("exec.start", id="storm", key="e", command="echo once >> log; echo said")) for one in callers for _ in range(5)]
            outs = []
            for one, serial in execs:
                _, fds = one.take(serial)
                outs.append(bytes(box_wire.Channel(socket.socket(fileno=fds[0])).wait().out))
            log = c.exec("storm", "cat log").out
            return wrong(ids=(len(ids), 1), outs=(set(outs), {b"said\n"}), log=(bytes(log), b"once\n"), execs=(len(c.call("exec.list", id="storm")["items"]), 2))
        attempt("a storm of a hundred retries with one key has one effect, of create as of exec (Z24)", storm)

        def durable():
            id = c.call("create", key="durable")["id"]
            k.restart(signal.SIGKILL)
            c2 = k.caller()
            return wrong(id=(c2.call("create", key="durable")["id"], id))
        attempt("a key is remembered after the keeper was killed (G15)", durable)

        def late():
            c = k.caller()
            before, found = boxes_running(k.state), []
            id = c.call("create", name="late", key="late", start=True)["id"]
            c.call("stop", id=id)
            until("its box is gone", lambda: boxes_running(k.state) == before)
            for turn in range(2):
                codes = [c.refused("create", name="late", key="late", start=True) for _ in range(20)]
                try:
                    c.call("create", name="late", key="late", start=True)
                except Refused as r:
                    found += wrong(named=(id in r.fields["message"], True), reason=(r.fields.get("reason"), "ended"))
                found += wrong(codes=(set(codes), {"sandbox_gone"}), other=(c.refused("create", name="other", key="late"), "sandbox_exists"), made=(boxes_running(k.state), before))
                if turn == 0:
                    k.restart(signal.SIGKILL)
                    c = k.caller()
            bad = c.refused("create", name="tried", key="tried", start=True, workspace="/no/such")
            return found + wrong(new_key=("id" in c.call("create", name="late", key="later"), True), refused=(bad != "sandbox_gone", True),
                                 tried_again=("id" in c.call("create", name="tried", key="tried"), True))
        attempt("a storm of retries that comes after the stop is told that the sandbox has gone, and makes none (Z24)", late)

        def whole():
            c = k.caller()
            id, long = c.call("create")["id"], "x" * 200
            ask = {"command": "echo %s; echo $A" % long, "cwd": "/tmp", "env": ["A=kept-nowhere"]}
            first = bytes(c.exec(id, key="w", **ask).out)
            others = [dict(ask, command="echo %s; echo other" % long), dict(ask, cwd="/"), dict(ask, env=["A=2"]), dict(ask, env=["B=1"]), dict(ask, kill_rest=True),
                      dict(ask, input=b"x"), dict(ask, env=[])]
            found = []
            for _ in range(2):
                found += wrong(codes=([c.refused("exec.start", id=id, key="w", **one) for one in others], ["sandbox_exists"] * len(others)), same=(bytes(c.exec(id, key="w", **ask).out), first))
                k.restart(signal.SIGKILL)
                c = k.caller()
            wrote = write_files(c, id, [("a.txt", b"x")], key="f")
            return found + wrong(wrote=(wrote, 0), file_key=(c.refused("exec.start", id=id, key="f", command="true"), "sandbox_exists"),
                                 exec_key=(c.refused("file.write", id=id, key="w"), "sandbox_exists"), kept=([n for n in os.listdir(k.state) if n.startswith("state.db") and b"kept-nowhere" in open(os.path.join(k.state, n), "rb").read()], []))
        attempt("a key stands for the whole call: words past the first 127 bytes, directory, environment, input, flags; after a kill too", whole)


def read_only():
    with Keeper() as k:
        c = k.caller()

        def refused():
            id = c.call("create", manifest=manifest(read_only=True))["id"]
            codes = {how: c.refused("exec.start", id=id, **fields) for how, fields in {
                "a command": dict(command="true"), "argv": dict(argv=["true"]), "background": dict(argv=["true"], background=True), "a terminal": dict(command="true", tty=True)}.items()}
            found = ["%s: %s" % (how, code) for how, code in codes.items() if code != "sandbox_read_only"]
            return found + wrong(status=(status(c, id), "pending"), boxes=(k.directories(), []))
        attempt("where a sandbox is read_only, commands are refused before anything is made (A36-169)", refused)

        def reading():
            id = c.call("create", manifest=manifest(read_only=True))["id"]
            codes = [c.refused("file.write", id=id), c.refused("file.mkdir", id=id, path="x"), c.refused("file.move", id=id, path="a", target="b"), c.refused("file.remove", id=id, path="a")]
            got = read_file(c, id, "/etc/passwd")
            return wrong(codes=(codes, ["sandbox_read_only"] * 4), read=(got[0], 0)) + ([] if b"agent" in got[1] else [got])
        attempt("its files can be read and not written (A36-170)", reading)


def can_freeze(c):
    id = c.call("create")["id"]
    code = c.refused("pause", id=id)
    c.call("stop", id=id)
    return code != "capability_unavailable"


def lifecycle():
    with Clock() as clock, Keeper(clock=clock) as k:
        c, w = k.caller(), k.caller()
        w.call("watch")
        can_pause = can_freeze(c)

        def destroyed():
            id = c.call("create", manifest=manifest(lifecycle={"destroy_on": "workspace-close"}))["id"]
            c.channel("exec.start", id=id, command="sleep 1000 & sleep 1000", background=True)
            box = until("it runs", lambda: boxes_running(k.state) == 1)
            c.call("event", id=id, event="turn-end")
            was = status(c, id)
            c.call("event", id=id, event="workspace-close")
            until("nothing is left", lambda: k.directories() == [])
            stopped = w.event(lambda e: e["event"] == "stopped" and e["id"] == id)
            return wrong(box=(box, True), before=(was, "running"), exec=(c.refused("exec.start", id=id, command="true"), "sandbox_not_found"), cause=(stopped.get("cause"), "event"))
        attempt("destroy_on: the event ends the sandbox and every process of it (A36-167)", destroyed)

        def idle():
            idle_s = 60 if clock.moves else 1
            id = c.call("create", manifest=manifest(lifecycle={"pause_after_idle": "idle-%d" % idle_s}, limits=LONG))["id"]
            try:
                c.exec(id, "echo kept > f")
                _, busy = c.channel("exec.start", id=id, command="read x; echo done", stdin=True)
                busy.until(lambda: busy.started)
                for _ in range(5):
                    clock.move(0.3 * idle_s)
                    if status(c, id) != "running":     # a running command prevents it
                        return ["it was paused under a running command"]
                busy.send(wire.C_STDIN, b"go\n")
                busy.wait()
                until("its end is known", lambda: c.call("exec.get", id=id, exec=2)["state"] == "ended")
                for _ in range(4):
                    clock.move(0.3 * idle_s)
                    status(c, id)                      # a query resets nothing
                until("it is paused", lambda: status(c, id) == "paused")
                _, again = c.channel("exec.start", id=id, command="cat f; read x", stdin=True)
                again.until(lambda: again.out == b"kept\n")
                awake = status(c, id)
                again.send(wire.C_STDIN, b"go\n")
                again.wait()
                return wrong(status=(awake, "running"))
            finally:
                c.call("stop", id=id)
        name = "idle: paused once nothing runs and nobody calls, resumed by the next command (A36-168)"
        if can_pause:
            attempt(name, idle)
        else:
            report(name, skip="this host has no freezer")

        def frozen():
            id = c.call("create", timeout_ms=90000)["id"]
            _, channel = c.channel("exec.start", id=id, command="while :; do echo x; sleep 0.02; done", background=True)
            channel.until(lambda: len(channel.out) > 6)
            codes = [c.call("pause", id=id)["status"] for _ in range(2)]
            before = c.call("exec.get", id=id, exec=1)["stdout_bytes"]
            begun, left = clock.boot_ms(), c.call("get", id=id)["timeout_ms"]
            clock.move(0.3)
            still = c.call("get", id=id)
            most = clock.boot_ms() - begun + 50
            codes += [still["status"], c.call("resume", id=id)["status"], c.call("resume", id=id)["status"]]
            seen = len(channel.out)
            channel.until(lambda: len(channel.out) > seen + 6)
            c.call("pause", id=id)
            k.restart(signal.SIGKILL)
            c2 = k.caller()
            codes += [status(c2, id)]
            out = bytes(c2.exec(id, "echo up").out)
            c2.call("stop", id=id)
            return wrong(states=(codes, ["paused", "paused", "paused", "running", "running", "paused"]), out=(out, b"up\n"), counted=(before >= 0, True)) + \
                ([] if 250 <= left - still["timeout_ms"] <= most else ["the time left went from %d to %d" % (left, still["timeout_ms"])])

        def events():
            while w.events or not w.sock.settimeout(0.01):
                try:
                    w.events.clear()
                    w.read()
                except (TimeoutError, socket.timeout):
                    break
            w.sock.settimeout(PATIENCE)
            id = c.call("create")["id"]
            c.exec(id, "exit 4")
            c.call("stop", id=id)
            seen = []
            while not seen or seen[-1]["event"] != "stopped":
                seen.append(w.event(lambda e: e["id"] == id))
            names, ended = [e["event"] for e in seen], [e for e in seen if e["event"] == "exec-ended"]
            return wrong(names=(names, ["created", "started", "exec-started", "exec-ended", "stopped"]), outcome=((ended[0]["outcome"], ended[0]["exit_code"]), ("exited", 4)))
        attempt("who watches hears what happens, in order", events)

        def tasks():
            id = c.call("create", manifest=manifest(limits=LONG))["id"]
            c.exec(id, "true")                             # its box is ready: the task's time is only its command's
            c.call("task.begin", id=id, task="t", timeout_ms=clock.window * 1000)
            mine, other = c.channel("exec.start", id=id, command="sleep 50 | sleep 50", task="t")[1], c.channel("exec.start", id=id, command="read x; echo lives", stdin=True)[1]
            mine.until(lambda: mine.started)
            clock.move(clock.window / 2)
            early = c.call("exec.get", id=id, exec=mine.started[0])["state"]
            clock.move(clock.window / 2)
            word = mine.wait().end["word"]
            other.send(wire.C_STDIN, b"go\n")
            lives = bytes(other.wait().out)
            unknown = c.refused("exec.start", id=id, command="true", task="t")
            c.call("task.begin", id=id, task="u", timeout_ms=60000)
            late = c.channel("exec.start", id=id, command="sleep 50", task="u")[1]
            late.until(lambda: late.started)           # killed before it started, it would not run at all
            ended = (c.call("task.end", id=id, task="u")["existed"], c.call("task.end", id=id, task="u")["existed"])
            found = wrong(word=(word, "timed_out"), lives=(lives, b"lives\n"), unknown=(unknown, "invalid_argument"), ended=(ended, (True, False)), late=(late.wait().end["word"], "killed"))
            c.call("stop", id=id)
            return found + wrong(before=(early, "running"))
        attempt("a task's timeout kills its commands and no other; its end kills what still runs for it", tasks)

        def timeouts():
            id = c.call("create", manifest=manifest(limits={"timeout_ms": 200}))["id"]
            words = [c.exec(id, "sleep 20", **fields).end["word"] for fields in ({}, dict(timeout_ms=100))]
            e = c.refused("exec.start", id=id, command="sleep 20", timeout_ms=60000)
            c.call("stop", id=id)
            id = c.call("create", manifest=manifest())["id"]
            said = [{n: v for n, v in c.channel("exec.start", id=id, command="true", **fields)[0].items() if n.startswith("timeout")}
                    for fields in ({}, dict(background=True), dict(tty=True), dict(timeout_ms=80000000))]
            c.call("stop", id=id)
            return wrong(words=(words, ["timed_out"] * 2), code=(e, "sandbox_policy_denied"),
                         silent=(said, [{}, {}, {}, {"timeout_ms": 80000000, "timeout_by": "call"}]))
        attempt("a command has the manifest's limit on time or less; where none was written there is none, in the foreground, the background, at a terminal", timeouts)
        if can_pause:
            attempt("pause freezes and resume thaws, a command resumes, and no timer is reset", frozen)


def workspaces():
    with Keeper() as k:
        c, w = k.caller(), k.caller()
        w.call("watch")
        folder = os.path.join(k.folder, "work")
        os.mkdir(folder)
        os.chmod(folder, 0o755)

        def writes():
            mounts = {mode: [{"at": "/workspace", "source": {"kind": "workspace"} if False else "workspace", "mode": mode}] for mode in ("read-write", "read-only")}
            ids = {mode: c.call("create", workspace=folder, manifest=manifest(mounts=m))["id"] for mode, m in mounts.items()}
            c.exec(ids["read-only"], "cat /workspace/none")
            c.exec(ids["read-write"], "echo x > /workspace/f")
            first = w.event(lambda e: e["event"] == "write")
            with open(os.path.join(folder, "f"), encoding="ascii") as f:
                text = f.read()
            for id in ids.values():
                c.call("stop", id=id)
            return wrong(of=(first["id"], ids["read-write"]), text=(text, "x\n"))
        attempt("a command that may have written to a mount is followed by a write event, another is not (A36-180)", writes)


        def unmakeable():
            block = manifest(mounts=[{"at": "/usr/nowhere/x", "source": "workspace", "mode": "read-only"}])
            id = c.call("create", workspace=folder, manifest=block)["id"]
            codes = [c.refused("exec.start", id=id, command="true") for _ in range(2)] + [c.refused("create", name="s", start=True, workspace=folder, manifest=block)]
            return wrong(codes=(codes, ["sandbox_mount_unresolvable"] * 3), status=(status(c, id), "pending"), left=([i["id"] for i in c.call("list")["items"]], [id]),
                         directories=(k.directories(), []))
        attempt("a box that cannot be made says why at each use; a create that was to start it leaves nothing", unmakeable)


# -- nothing is lost ----------------------------------------------------------------------------------------------------------


def restarts():
    with Keeper() as k:
        def fifty():
            c = k.caller()
            ids = [c.call("create", timeout_ms=600000, start=True)["id"] for _ in range(3)]
            left, counter = c.call("get", id=ids[0])["timeout_ms"], "i=0; while [ $i -lt 100000 ]; do echo $i; i=$((i+1)); [ $((i % 200)) = 0 ] && sleep 0.02; done"
            _, channel = c.channel("exec.start", id=ids[0], command=counter, background=True, keep_bytes=8 << 20)
            found = []
            for i in range(50):
                k.restart(signal.SIGKILL if i % 2 else signal.SIGTERM)
                c = k.caller()
                states = [status(c, id) for id in ids]
                if states != ["running"] * 3:
                    found.append("after restart %d: %r" % (i, states))
                    break
                out = bytes(c.exec(ids[i % 3], "echo %d" % i).out)
                if out != b"%d\n" % i:
                    found.append("after restart %d: %r" % (i, out))
            after = c.call("get", id=ids[0])["timeout_ms"]
            found += [] if after < left else ["the time left grew from %d to %d" % (left, after)]
            execs = [e["exec"] for e in c.call("exec.list", id=ids[1])["items"]]
            found += [] if len(set(execs)) == len(execs) else [execs]
            c.call("exec.kill", id=ids[0], exec=1)
            channel.wait()
            text = bytes(channel.out)
            lines = text.split(b"\n")[:-1]
            found += [] if channel.gaps == 0 and lines == [b"%d" % n for n in range(len(lines))] and len(lines) > 100 else ["the output has gaps: %d lines" % len(lines)]
            return found
        attempt("fifty restarts, half of them kills, lose no sandbox, no command and no second (Z06)", fifty)

    with Keeper() as k:
        def finished():
            c = k.caller()
            id = c.call("create")["id"]
            mark = box_wire.mark()
            got, channel = c.channel("exec.start", id=id, argv=["sh", "-c", "sleep 0.4; head -c 1000000 /dev/zero | tr '\\0' x; exit 7", mark], background=True, keep_bytes=4 << 20)
            channel.until(lambda: channel.started)
            channel.close()
            k.stop(signal.SIGKILL)
            until("it ends while nobody is there", lambda: not box_wire.running(mark))
            k.start()
            c = k.caller()
            one = until("it is told as ended", lambda: (lambda e: e if e["state"] == "ended" else None)(c.call("exec.get", id=id, exec=got["exec"])))
            again = c.channel("exec.attach", id=id, exec=got["exec"])[1].wait()
            return wrong(outcome=((one["state"], one["outcome"], one["exit_code"]), ("ended", "exited", 7)), output=(hashlib.sha256(again.out).hexdigest(), hashlib.sha256(b"x" * 1000000).hexdigest()),
                         end=(again.end["exit_code"], 7))
        attempt("what ends while the keeper is dead is there when it comes back, every byte (Z05)", finished)

        def slow():
            c = k.caller()
            id = c.call("create", start=True)["id"]
            got, channel = c.channel("exec.start", id=id, command="sleep 1000", background=True)
            channel.until(lambda: channel.started)
            pid = box_pid(k, id)
            k.stop(signal.SIGKILL)
            os.kill(pid, signal.SIGSTOP)                   # the machine is too busy
            try:
                k.start()
                c = k.caller()
                asked = [c.send("exec.list", id=id), c.send("exec.get", id=id, exec=got["exec"]), c.send("exec.signal", id=id, exec=got["exec"], signal=signal.SIGTERM)]
                nobody, state = c.send("exec.get", id=id, exec=99), status(c, id)
                early = [serial for serial in (*asked, nobody) if serial in c.replies]
            finally:
                os.kill(pid, signal.SIGCONT)
            listed, one, _ = (c.take(serial)[0] for serial in asked)
            try:
                code = "accepted: %r" % c.take(nobody)
            except Refused as r:
                code = r.code
            word = channel.wait().end["word"]
            c.call("stop", id=id)
            return wrong(early=(early, []), state=(state, "running"), listed=([e["exec"] for e in listed.get("items", [])], [got["exec"]]), one=(one["exec"], got["exec"]),
                         nobody=(code, "exec_not_found"), word=(word, "signaled"))
        attempt("a keeper that comes back before its boxes answer tells of no command until they do (N3)", slow)

        def lost():
            c = k.caller()
            id = c.call("create", start=True)["id"]
            _, channel = c.channel("exec.start", id=id, command="sleep 100", background=True)
            channel.until(lambda: channel.started)
            pid = box_pid(k, id)
            k.stop(signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
            until("the box is dead", lambda: box_wire.dead(pid))
            k.start()
            c = k.caller()
            got, one = c.call("get", id=id), c.call("exec.list", id=id)["items"][0]
            code = c.refused("exec.start", id=id, command="true")
            return wrong(status=((got["status"], got["cause"]), ("failed", "lost")), exec=((one["state"], one["outcome"]), ("ended", "lost")), code=(code, "sandbox_backend_failed"),
                         directory=(id in k.directories(), False), stopped=(c.call("stop", id=id)["existed"], True), gone=(c.refused("get", id=id), "sandbox_not_found"))
        attempt("a box that died with the keeper is told as failed and lost, its commands as lost (N3)", lost)

        def killed():
            c = k.caller()
            id = c.call("create", start=True)["id"]
            _, channel = c.channel("exec.start", id=id, command="sleep 100", background=True)
            channel.until(lambda: channel.started)
            os.kill(box_pid(k, id), signal.SIGKILL)
            until("it has failed", lambda: status(c, id) == "failed")
            return wrong(cause=(c.call("get", id=id)["cause"], "lost"), info=("version" in c.call("info"), True), exec=(c.call("exec.list", id=id)["items"][0]["outcome"], "lost"))
        attempt("a box that is killed fails its own sandbox, and the keeper goes on (Z03)", killed)

        def orphans():
            c = k.caller()
            others = boxes_running(k.state)
            id = c.call("create", start=True)["id"]
            k.stop(signal.SIGKILL)
            edit(k.state, "DELETE FROM sandboxes WHERE id = ?", id)
            stranger = os.path.join(k.state, "boxes", "not-ours")
            os.mkdir(stranger)
            k.start()
            until("the box without a row is collected", lambda: id not in k.directories())
            return wrong(running=(boxes_running(k.state), others), stranger=(os.path.isdir(stranger), True))
        attempt("a box without a row is asked to end, and what is not ours is left alone (N8)", orphans)

        def corrupt():
            c = k.caller()
            good, bad = c.call("create", manifest=manifest())["id"], c.call("create", manifest=manifest())["id"]
            k.stop()
            edit(k.state, "UPDATE sandboxes SET manifest = x'00ff00' WHERE id = ?", bad)
            k.start()
            c = k.caller()
            return wrong(bad=(status(c, bad), "failed"), good=(bytes(c.exec(good, "echo ok").out), b"ok\n"), stopped=(c.call("stop", id=bad)["existed"], True))
        attempt("a row that cannot be understood fails its own sandbox and no other (Z21)", corrupt)

        def turned():
            found = []
            for change in ("caller_uid = caller_uid + 1", "deadline = deadline + 4096", "env = x'413d3200'", "workspace = '/etc'", "manifest = zeroblob(4)", "owner = NULL", "id = '0123456789abcdef'"):
                c = k.caller()
                good, bad = c.call("create", start=True, timeout_ms=900000)["id"], c.call("create", start=True, name="bad", key="bad" + change[:9], timeout_ms=900000)["id"]
                others = boxes_running(k.state) - 1
                k.stop(signal.SIGKILL)
                edit(k.state, "UPDATE sandboxes SET %s WHERE id = ?" % change, bad, is_sound=False)
                k.start()
                c, now = k.caller(), bad if change[:2] != "id" else "0123456789abcdef"
                got = c.call("get", id=now)
                until("its box is ended", lambda left=others: boxes_running(k.state) == left)
                claims = wrong(bad=((got["status"], got.get("cause")), ("failed", "damaged")), good=(bytes(c.exec(good, "echo ok").out), b"ok\n"),
                               runs=(c.refused("exec.start", id=now, command="true"), "sandbox_backend_failed"), told=("damaged on disk" in k.log_text(), True),
                               stopped=(c.call("stop", id=now)["existed"], True), listed=("bad" in [i.get("name") for i in c.call("list")["items"]], False))
                c.call("stop", id=good)
                k.restart()
                left = [i["id"] for i in k.caller().call("list").get("items", []) if i["id"] in (bad, now)]
                found += ["%s: %s" % (change, one) for one in claims + wrong(left=(left, []))]
            return found
        attempt("a bit that turned on the disk is seen: its sandbox is quarantined, its box ended, no other touched (Z21)", turned)

        def rebooted():
            c = k.caller()
            made, waiting = c.call("create", start=True, timeout_ms=500000)["id"], c.call("create", timeout_ms=500000)["id"]
            c.call("stop", id=c.call("create", start=True)["id"])
            decoy = subprocess.Popen(["sleep", "100"])
            k.stop(signal.SIGKILL)
            edit(k.state, "UPDATE sandboxes SET boot_id = 'another', deadline = 5, remaining = 100000")
            k.start()
            c = k.caller()
            left, alive = c.call("get", id=waiting).get("timeout_ms", 0), decoy.poll() is None
            decoy.kill()
            decoy.wait()
            got = c.call("get", id=made)
            return wrong(made=((got["status"], got.get("cause")), ("failed", "lost")), waiting=(status(c, waiting), "pending"), decoy=(alive, True)) + ([] if 90000 < left <= 100000 else [left])
        attempt("after a start of the machine what ran is lost, what only waited waits on, with the time it had (Z20)", rebooted)

        def two():
            def second(*more):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as spawner:
                    words = [os.path.join(k.build, "carrel-keeper"), "--state", k.state, "--spawner-fd", str(spawner.fileno()), *more]
                    done = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, pass_fds=[spawner.fileno()])
                return done, done.stderr.decode()

            unknown, why = second("--future", "1")
            done, text = second()
            return wrong(status=(done.returncode, 125)) + ([] if "pid %d" % k.child.pid in text and "state_in_use" in text else [text]) + (
                [] if unknown.returncode and "--future is unknown" in why else [why])
        attempt("a second keeper of one state directory is refused and told who holds it, also one with an unknown option (Z22)", two)


def box_pid(k, id):
    """Identified by its hello: for a test, which may kill."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.path.join(k.state, "boxes", id, "sock"))
    one = box_wire.Keeper(s)
    one.until(lambda: one.hello)
    pid = one.hello["pid"]
    one.close()
    return pid


# -- who may ------------------------------------------------------------------------------------------------------------------


def owners():
    with Keeper() as k:
        door, c = k.door(), k.caller()

        def asks(**who):
            one = Caller(door.sock, who)
            one.replies, one.events = door.replies, door.events
            door.serial += 1000
            one.serial = door.serial
            return one

        def foreign():
            id = c.call("create", name="mine", ports=[80])["id"]
            other = asks(uid=4242) if ROOT else asks(token=c.call("token.create", owner="other")["token"])
            verbs = {"get": {}, "extend": dict(duration_ms=1), "pause": {}, "resume": {}, "url": dict(port=80), "instructions": {}, "event": dict(event="turn-end"),
                     "task.begin": dict(task="t", timeout_ms=1), "task.end": dict(task="t"), "exec.start": dict(command="true"), "exec.list": {}, "exec.get": dict(exec=1),
                     "exec.attach": dict(exec=1), "exec.signal": dict(exec=1, signal=9), "exec.kill": dict(exec=1), "file.read": dict(path="/x"), "file.write": {},
                     "file.list": dict(path="/"), "file.stat": dict(path="/"), "file.mkdir": dict(path="/x"), "file.move": dict(path="/x", target="/y"), "file.remove": dict(path="/x"),
                     "watch": {}}
            found = []
            for verb, fields in verbs.items():
                codes = (other.refused(verb, id=id, **fields), other.refused(verb, id="ffffffffffffffff", **fields))
                if codes != ("sandbox_not_found",) * 2:
                    found.append("%s: %r" % (verb, codes))
            return found + wrong(stop=(other.call("stop", id=id)["existed"], False), list=(other.call("list").get("items", []), []), name=("id" in other.call("create", name="mine"), True),
                                 still=(status(c, "mine"), "pending"))
        attempt("another's sandbox is answered like one that never was, by every verb (G10)", foreign)

        def scopes():
            id = c.call("create")["id"]
            token = c.call("token.create", scope="read")
            reader = asks(token=token["token"])
            seen = (reader.call("get", id=id)["id"], id in [i["id"] for i in reader.call("list")["items"]])
            codes = [reader.refused("exec.start", id=id, command="true"), reader.refused("create"), reader.refused("stop", id=id), reader.refused("file.read", id=id, path="/etc/passwd"),
                     reader.refused("info"), reader.refused("exec.list", id=id)]
            c.call("token.revoke", id=token["id"])
            return wrong(seen=(seen, (id, True)), codes=(set(codes), {"sandbox_policy_denied"}), revoked=(reader.refused("list"), "unauthenticated"))
        attempt("a read-only token sees get and list, and nothing else", scopes)

        def strangers():
            token = c.call("token.create")["token"]
            holder = asks(token=token)
            codes = (asks(token="carrel_" + "0" * 64).refused("list"), asks().refused("list"), holder.refused("token.create"), c.refused("port.connect", id="x", port=1),
                     c.refused("list", uid=0), c.refused("list", token=token))
            with open(os.path.join(k.state, "token"), encoding="ascii") as f:
                own = asks(token=f.read().strip())
            return wrong(codes=(codes, ("unauthenticated", "unauthenticated", "sandbox_policy_denied", "sandbox_policy_denied", "invalid_argument", "invalid_argument")),
                         own=(own.call("list")["items"][0]["owner"], "uid:%d" % os.geteuid()), mode=(os.stat(os.path.join(k.state, "token")).st_mode & 0o777, 0o600))
        attempt("without a token, with a wrong one, or in another's name nothing is told", strangers)

        def floods():
            s = k.caller()
            for _ in range(200):
                a, b = socket.socketpair()
                s.serial += 1
                s.sock.sendmsg([wire.head("CALL") + wire.CALL.pack(s.serial, wire.OPS["list"], 1)],
                               [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("=50i", *[a.fileno()] * 50))])
                a.close()
                b.close()
                s.take(s.serial)
            made = c.call("create", name="after")     # ten thousand arrived: more than the limit
            count = len(os.listdir("/proc/%d/fd" % k.child.pid)) if ROOT else 0
            return wrong(status=(made["status"], "pending")) + ([] if count < 60 else ["%d descriptors are open" % count])
        attempt("descriptors that nobody asked for are closed (G14)", floods)

        def slow():
            s, w = k.caller(), k.caller()
            w.call("watch")
            s.sock.setblocking(False)
            try:
                for _ in range(100000):
                    s.send("list")
            except OSError:
                pass
            return [] if "version" in c.call("info") else ["another caller waits"]
        attempt("a caller who does not read keeps nobody waiting", slow)


# -- ports, the pool, the rest ----------------------------------------------------------------------------------------------------

SERVER = ("import socket,time; time.sleep(0.3); s=socket.socket(); s.bind(('127.0.0.1', 8000)); s.listen(5)\n"
          "while True:\n c,_=s.accept(); c.sendall(b'hi'); c.close()")


def ports():
    with Keeper() as k:
        c, door = k.caller(), k.door()

        def reached():
            id = c.call("create", ports=[8000])["id"]
            got, channel = c.channel("exec.start", id=id, argv=["python3", "-c", SERVER], wait_ports=True)
            e = c.event(lambda e: e["event"] == "port-open")
            url = c.call("url", id=id, port=8000)
            _, fds = door.take(door.send("port.connect", token=url["token"]))
            s = socket.socket(fileno=fds[0])
            s.settimeout(PATIENCE)
            said = s.recv(10)
            s.close()
            channel.send(wire.C_DETACH)
            codes = (door.refused("port.connect", token="0" * 32), door.refused("port.connect", token="x"), c.refused("url", id=id, port=8001),
                     Caller(door.sock, dict(uid=os.geteuid())).refused("port.connect", id=id, port=22))
            c.call("stop", id=id)
            return wrong(event=((e["exec"], e["port"]), (got["exec"], 8000)), said=(said, b"hi"), url=((url["url"], url["browser_url"]), ("http://127.0.0.1:9/~%s/" % url["token"], "http://%s.localhost:9/" % url["token"])),
                         codes=(codes, ("sandbox_policy_denied", "sandbox_policy_denied", "sandbox_not_found", "sandbox_policy_denied")))
        attempt("wait_ports tells when a declared port listens; its token reaches it and no other does (G12)", reached)

        def ended():
            id = c.call("create", ports=[8000])["id"]
            _, channel = c.channel("exec.start", id=id, command="exit 3", wait_ports=True)
            code = channel.wait().end["exit_code"]
            c.call("info")
            return wrong(code=(code, 3), events=(c.events, []))
        attempt("wait_ports of a command that ends tells of no port", ended)


def pool():
    with Keeper("--pool", "2") as k:
        c = k.caller()

        def claimed():
            until("two stand ready", lambda: c.call("info")["pool"] == 2)
            listed = c.call("list").get("items", [])
            got = c.call("claim", name="p", env=["A=1"], timeout_ms=50000)
            made = c.call("create")
            out = bytes(c.exec("p", "echo $A").out)
            until("it is filled again", lambda: c.call("info")["pool"] == 2)
            other = c.refused("claim", manifest=manifest(limits={"timeout_ms": 5}))
            k.restart(signal.SIGKILL)
            c2 = k.caller()
            return wrong(listed=(listed, []), status=((got["status"], made["status"]), ("running", "running")), out=(out, b"1\n"), other=(other, "capability_unavailable"),
                         after=((status(c2, "p"), bytes(c2.exec("p", "echo $A").out)), ("running", b"1\n")))
        attempt("a ready box is given away once, as the caller wants it, and another takes its place", claimed)


def words():
    with Keeper() as k:
        c = k.caller()

        def instructions():
            id = c.call("create", manifest=manifest(limits={"timeout_ms": 1234, "memory_mb": 64}), ports=[8080])["id"]
            text = c.call("instructions", id=id)["text"]
            found = ["%r is not in it" % word for word in ("1234", "64 MiB", "8080", "no network", "most: 512.") if word not in text] + wrong(status=(status(c, id), "pending"))
            # the normal form's default ends nothing; the same number, if written, does
            for limits, is_told in (({}, False), ({"timeout_ms": 30000}, True)):
                text = c.call("instructions", id=c.call("create", manifest=manifest(limits=limits))["id"])["text"]
                found += wrong(**{"time, " + str(limits): (("30000 ms unless it asks for less." in text, "no limit on its time unless it asks" in text), (is_told, not is_told))})
            return found
        attempt("instructions tell what the sandbox allows, and make none", instructions)

        def streams():
            id = c.call("create")["id"]
            given = c.exec(id, "cat", input=b"given\n")
            _, channel = c.channel("exec.start", id=id, command="cat; exit 5", stdin=True)
            channel.send(wire.C_STDIN, b"later\n")
            channel.send(wire.C_STDIN_END)
            channel.wait()
            tty = c.exec(id, "test -t 0 && stty size", tty=True, rows=33, columns=77)
            cwd = c.exec(id, ["pwd"], cwd="/tmp")
            env = c.exec(id, "echo $A", env=["A=2"])
            return wrong(given=(bytes(given.out), b"given\n"), later=((bytes(channel.out), channel.end["exit_code"]), (b"later\n", 5)), tty=(bytes(tty.out).strip(), b"33 77"),
                         cwd=(bytes(cwd.out), b"/tmp\n"), env=(bytes(env.out), b"2\n"), both=(c.refused("exec.start", id=id, command="a", argv=["b"]), "invalid_argument"),
                         none=(c.refused("exec.start", id=id), "invalid_argument"), unknown=(c.refused("exec.get", id=id, exec=99), "exec_not_found"))
        attempt("standard input, terminal, directory and environment of a command are what the call says", streams)


if __name__ == "__main__":
    parts = {f.__name__: f for f in (osp, names, read_only, lifecycle, workspaces, restarts, owners, ports, pool, words)}
    for part in sys.argv[1:] or parts:
        parts[part]()
    end()
