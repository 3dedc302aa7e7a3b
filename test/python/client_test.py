#!/usr/bin/env python3
"""client_test - sdk/python against a real daemon: every operation has a method that works."""
import json
import os
import pickle
import re
import shutil
import signal
import sys
import tempfile
import threading
import urllib.request
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ROOT, TREE, end, need_programs, until
from daemon_rig import Daemon
from python_rig import SDK, equal, raised, row

from carrel import Carrel, CarrelError, CommandFailedError, errors
from carrel._operations import OPERATIONS

SERVER = ["python3", "-m", "http.server", "8000", "--bind", "127.0.0.1", "--directory", "/tmp"]
PLAIN = {"provider": "local", "config": {}, "limits": {"timeout_ms": 600000}}


def operations(d, c):
    """every operation that the daemon lists has a row in the client, and is asked for by a method"""
    listed = {o["operationId"] for methods in d.must("GET", "/v1/openapi.json")["paths"].values() for o in methods.values()} - {"openapi", "health"}
    equal(set(OPERATIONS), listed)
    with open(os.path.join(SDK, "carrel", "_client.py"), encoding="utf-8") as f:
        asked = set(re.findall(r'"([a-z]+(?:\.[a-z]+)?)"', f.read()))
    equal(listed - asked, {"metrics"})     # for Prometheus


def life(d, c):
    """create, get, list, extend, pause, resume, stop"""
    with c.create(name="life", timeout=600, env={"GIVEN": "a=b"}, metadata={"k": [1, {"ü": None}]}) as s:
        equal((s.name, s.info.status, s.info.metadata), ("life", "pending", {"k": [1, {"ü": None}]}))
        equal(c.get("life").id, s.id)
        assert s.id in [other.id for other in c.list()]
        equal(s.run("echo $GIVEN").stdout, b"a=b\n")
        before = s.refresh().timeout_ms
        assert s.extend(3600).timeout_ms > before + 3000000
        try:
            equal((s.pause().status, s.resume().status), ("paused", "running"))
        except errors.CapabilityUnavailableError:
            assert not ROOT                                # it takes a control group that freezes
        assert s.id in s.instructions()
        equal(s.notify("turn-end").id, s.id)
        raised(errors.SandboxExistsError, c.create, name="life")
    raised(errors.SandboxNotFoundError, c.get, "life")
    equal((s.stop(), s.delete()), (False, False))
    assert c.info().version
    raised(errors.NotAvailableError, c.claim)              # this daemon keeps no pool


def manifests(d, c):
    """the SANDBOX.md of a workspace is used, and is read-only inside; without one a warning says that nothing is mounted"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            c.create(workspace=folder).stop()
        assert len(said) == 1 and "SANDBOX.md" in str(said[0].message) and said[0].filename == __file__, said
        path = os.path.join(folder, "SANDBOX.md")
        with open(path, "w", encoding="utf-8") as f:
            f.write("---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits: {timeout_ms: 60000}\nmounts: [{source: workspace, at: /workspace}]\n---\n")
        other = os.path.join(folder, "other.md")
        shutil.copy(path, other)
        os.chmod(other, 0o666)
        for given, name in (({"workspace": folder}, "SANDBOX.md"), ({"manifest_file": path}, "SANDBOX.md"), ({"manifest_file": other}, "other.md")):
            with c.create(**given) as s:
                assert not s.run("echo x >> %s" % name).ok, name
                equal(s.run(["cat", name]).stdout[:11], b"---\nschema:")
        wrong = raised(errors.SandboxSchemaInvalidError, c.create, manifest={**PLAIN, "limits": {"timeout_ms": "soon"}})
        equal((wrong.code, wrong.path, wrong.http_status, wrong.operation), ("sandbox_schema_invalid", "limits/timeout_ms", 422, "create"))
        assert wrong.hint and wrong.hint in str(wrong) and wrong.message in str(wrong)
        assert raised(errors.SandboxManifestSyntaxError, c.create, manifest="---\nprovider: local\n  bad: [\n---\n").line > 0
        raised(ValueError, c.create, manifest=PLAIN, manifest_file=path)


def runs(d, c):
    """run: output, status, input, env, cwd, check, and every ending is a result"""
    with c.create(manifest=PLAIN) as s:
        done = s.run(["python3", "-c", "print(1+1)"])
        equal((done.stdout, done.exit_status, done.outcome, done.ok), (b"2\n", 0, "exited", True))
        done = s.run("cat; echo \"$A\" >&2; pwd; exit 6", input="ü\0\n", env={"A": "é 🙂"}, cwd="/tmp")
        equal((done.stdout, done.stderr_text, done.exit_status), ("ü\0\n/tmp\n".encode(), "é 🙂\n", 6))
        failed = raised(CommandFailedError, s.run, "echo why >&2; exit 3", check=True)
        equal((failed.result.exit_status, failed.exit_status, "why" in str(failed)), (3, 3, True))
        done = s.run("sleep 60", timeout=0.1)
        equal((done.outcome, done.exit_status, done.ending, done.hint), ("timed_out", 124, "ran into its time limit of 0.1 s and was killed", "Give it more time with `timeout`."))
        equal((s.run("kill -9 $$").outcome, s.run("kill -9 $$").signal), ("signaled", 9))
        raised(FileNotFoundError, s.run, ["no-such-command"])
        raised(errors.CommandNotFoundError, s.stream, ["no-such-command"])
        raised(ValueError, s.run, ["a\0b"])


def code(d, c):
    """run_code: languages, input, exit code, check, a missing language"""
    with c.create() as s:
        result = s.run_code("python", "import sys\nprint(sys.stdin.read()[::-1]); sys.exit(3)", input="abc")
        equal((result.stdout, result.exit_status, result.outcome), (b"cba\n", 3, "exited"))
        equal(s.run_code("shell", "wc -c", input=b"x" * 100000).stdout_text.strip(), "100000")
        equal(s.run_code("shell", "echo $A; pwd", env={"A": "1"}, cwd="/tmp").stdout, b"1\n/tmp\n")
        raised(CommandFailedError, lambda: s.run_code("sh", "exit 2", check=True))
        equal(s.run_code("sh", "sleep 1000", timeout=0.3).outcome, "timed_out")
        equal(raised(errors.InvalidArgumentError, lambda: s.run_code("cobol", "")).path, "language")


def outputs(d, c):
    """run: bytes as they were, the newest keep_bytes, callbacks in order, input of any length"""
    with c.create(manifest=PLAIN) as s:
        every = bytes(range(256))
        equal(s.run("cat", input=every).stdout, every)
        long = os.urandom(1 << 20) * 3
        equal(s.run("cat", input=long).stdout == long, True)
        equal(s.run("head -c 10", input=long).stdout, long[:10])       # the rest of the input has no reader
        done = s.run("printf 0123456789; printf abc >&2", keep_bytes=4)
        equal((done.stdout, done.stdout_lost, done.stderr, done.stderr_lost), (b"6789", 6, b"abc", 0))
        out, err = [], []
        s.run("for i in 1 2 3; do echo o$i; echo e$i >&2; done", on_stdout=out.append, on_stderr=err.append)
        equal((b"".join(out), b"".join(err)), (b"o1\no2\no3\n", b"e1\ne2\ne3\n"))
        done = s.run("head -c 100000 /dev/zero", output_bytes=1000)
        equal((len(done.stdout), done.stdout_lost), (1000, 99000))


def keys(d, c):
    """a key: threads that repeat a call have one effect and the same answer"""
    with c.create(manifest=PLAIN) as s:
        got = []
        threads = [threading.Thread(target=lambda: got.append(s.run("echo x >> /tmp/storm; cat /tmp/storm", key="storm"))) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal({(r.exec, r.stdout) for r in got}, {(got[0].exec, b"x\n")})
        equal(len(got), 12)
        raised(errors.ConflictError, s.run, "echo another", key="storm")
    made = [c.create(key="made-once") for _ in range(2)]
    equal(made[0].id, made[1].id)
    made[0].stop()
    raised(errors.SandboxGoneError, c.create, key="made-once")


def streams(d, c):
    """stream: pieces with offsets, result, lines; closing kills the command; standard input stays open"""
    with c.create(manifest=PLAIN) as s:
        with s.stream("echo one; sleep 0.1; echo two; echo err >&2; exit 6") as stream:
            pieces = list(stream)
            equal((stream.result.exit_status, stream.result.outcome, stream.result.stdout_lost, stream.stdout_offset), (6, "exited", 0, 8))
        at = 0
        for piece in pieces:
            if piece.stream == "stdout":
                equal(piece.offset, at)
                at += len(piece.data)
        equal(b"".join(p.data for p in pieces if p.stream == "stdout"), b"one\ntwo\n")
        with s.stream("printf 'a\\nb \\303'; sleep 0.1; printf '\\274\\nc'; echo e >&2") as stream:
            equal(sorted(stream.lines()), [("stderr", "e"), ("stdout", "a"), ("stdout", "b ü"), ("stdout", "c")])
        with s.stream(["sleep", "60"]) as stream:
            number = stream.process.exec
        until("closing kills it", lambda: s.process(number).info().outcome == "killed")
        with s.stream("cat", stdin=True) as stream:
            for word in (b"typed ", b"\xff"):
                stream.process.write(word)
                equal(next(stream).data, word)
            stream.process.close_input()
            equal(stream.wait().exit_status, 0)
        with s.stream("stty size; read x; stty size", stdin=True, tty=True, rows=20, columns=70) as stream:
            equal(next(stream).data, b"20 70\r\n")
            stream.process.resize(33, 99)
            stream.process.write("\n")
            assert b"33 99" in stream.wait().stdout


def processes(d, c):
    """background processes: attach at any byte, write, signal, kill, wait, list"""
    with c.create(manifest=PLAIN) as s:
        p = s.start("printf 0123456789; sleep 60")
        until("it said all", lambda: p.info().stdout_bytes == 10)
        with p.attach(stdout_offset=4) as stream:
            piece = next(stream)
            equal((piece.data, piece.offset), (b"456789", 4))
        raised(TimeoutError, p.wait, 0.05)
        equal((p.info().state, p.kill(), p.wait().outcome, p.kill()), ("running", True, "killed", False))
        equal(p.wait().stdout, b"0123456789")
        cat = s.start("cat", stdin=True)
        cat.write(b"x" * 600000)
        cat.close_input()
        equal(cat.wait().stdout == b"x" * 600000, True)
        nap = s.start(["sleep", "60"])
        nap.signal(signal.SIGTERM)
        equal((nap.wait().outcome, nap.wait().signal), ("signaled", 15))
        equal([x.exec for x in s.processes()], [p.exec, cat.exec, nap.exec])
        equal(s.process(nap.exec).exec, nap.exec)
        raised(errors.ExecNotFoundError, s.process, 99)
        s.begin_task("job", 60)
        job = s.start(["sleep", "60"], task="job")
        equal((s.end_task("job"), job.wait().outcome, s.end_task("job")), (True, "killed", False))


def files(d, c):
    """files: read, write, batch, upload, download, list, stat, mkdir, move, remove, names of any bytes"""
    with c.create(manifest=PLAIN) as s, tempfile.TemporaryDirectory() as folder:
        f = s.files
        f.mkdir("/tmp/a/b", parents=True, mode=0o700)
        f.write_many({"/tmp/a/one": "text ü", "/tmp/a/two": b"\0\1\xff"}, mode=0o600)
        equal((f.read_text("/tmp/a/one"), f.read("/tmp/a/two"), f.read("/tmp/a/two", offset=1, length=1)), ("text ü", b"\0\1\xff", b"\1"))
        two = f.stat("/tmp/a/two")
        equal((two.kind, two.size, two.mode & 0o777), ("file", 3, 0o600))
        equal(sorted((e.path, e.kind) for e in f.list("/tmp/a")), [("b", "directory"), ("one", "file"), ("two", "file")])
        equal((f.exists("/tmp/a/none"), f.exists("/tmp/a")), (False, True))
        raised(FileNotFoundError, f.read, "/tmp/a/none")
        raised(errors.FileNotFoundError, f.stat, "/tmp/a/none")
        raised(errors.CarrelError, f.read, "/tmp/a")
        f.move("/tmp/a/two", "/tmp/a/three ü %2e?#")
        equal((f.read("/tmp/a/three ü %2e?#"), f.remove("/tmp/a/three ü %2e?#"), f.remove("/tmp/a/three ü %2e?#")), (b"\0\1\xff", True, False))
        raised(errors.DirectoryNotEmptyError, f.remove, "/tmp/a")
        equal(f.remove("/tmp/a", recursive=True), True)
        large = os.path.join(folder, "large")
        with open(large, "wb") as out:
            out.write(os.urandom(1 << 20) * 5)
        equal(f.upload(large, "/tmp/large", mode=0o640), 5 << 20)
        equal((f.stat("/tmp/large").size, f.stat("/tmp/large").mode & 0o777), (5 << 20, 0o640))
        equal(f.download("/tmp/large", os.path.join(folder, "back")), 5 << 20)
        with open(large, "rb") as one, open(os.path.join(folder, "back"), "rb") as other:
            equal(one.read() == other.read(), True)
        raised(FileNotFoundError, f.download, "/tmp/none", os.path.join(folder, "none"))
        equal(sorted(os.listdir(folder)), ["back", "large"])
        with f.chunks("/tmp/large") as chunks:
            equal(sum(len(chunk) for chunk in chunks), 5 << 20)
        raised(errors.TooLargeError, f.write_many, {"/tmp/large2": b"x" * (2 << 20)})
        s.run("printf bytes > \"$(printf '/tmp/no\\377text')\"")
        equal([f.read("/tmp/" + e.path) for e in f.list("/tmp") if "\udcff" in e.path], [b"bytes"])


def ports(d, c):
    """ports: wait until one listens, a URL reaches it; a server that ends first is an error"""
    with c.create(manifest=PLAIN, ports=[8000]) as s:
        s.files.write("/tmp/page", "served")
        server = s.start(SERVER, wait_ports=True)
        where = s.url(8000)
        with urllib.request.urlopen(where.url + "page") as answer:
            equal(answer.read(), b"served")
        assert where.browser_url and where.token in where.browser_url
        equal(s.urls()[8000].url, where.url)
        equal(server.wait_port(60), 8000)
        server.kill()
        late = raised(TimeoutError, s.start, ["sleep", "60"], wait_ports=True, wait_timeout=0.1)
        assert "0.1 s" in str(late) and s.processes()[-1].state == "running", late
        raised(TimeoutError, s.process(s.processes()[-1].exec).wait_port, 0.05)
        failed = raised(CommandFailedError, s.start, "echo no >&2; exit 4", wait_ports=True)
        equal((failed.result.exit_status, failed.result.stderr), (4, b"no\n"))
        raised(CarrelError, s.url, 8001)


def network(d, c):
    """network: what was refused is in the result and in denials(); a list that grows is judged anew"""
    with c.create(manifest={**PLAIN, "network": {"egress": ["example.com"]}}) as s:
        done = s.run(["python3", "-c", "import socket\ntry: socket.create_connection(('not-listed.example.net', 443))\nexcept OSError: raise SystemExit(5)"])
        equal((done.exit_status, [(x.host, x.reason) for x in done.denied][:1]), (5, [("not-listed.example.net", "not_listed")]))
        assert "not-listed.example.net" in done.hint
        assert "not-listed.example.net" in [x.host for x in s.denials()]
        equal(s.set_network(["example.com", "example.net"]).id, s.id)
        raised(errors.SandboxEgressInvalidError, s.set_network, ["https://no"])


def limits(d, c):
    """limits: those of the manifest, changed by name, all or none"""
    with c.create(manifest={**PLAIN, "limits": {"memory_mb": 256}}) as s:
        equal((s.limits().memory_mb, s.limits().output_bytes), (256, None))
        got = s.set_limits(memory_mb=200, output_bytes=1000)
        equal((got.memory_mb, got.output_bytes, s.limits()), (200, 1000, got))
        equal(raised(errors.CapabilityUnavailableError, s.set_limits, disk_mb=10, memory_mb=100).path, "disk_mb")
        equal(s.limits(), got)


def sanitized(d, c):
    """sanitize_output: the result says what was removed, and nothing without it"""
    with c.create(manifest={**PLAIN, "metadata": {"carrel": {"sanitize_output": ["control", "hidden"]}}}) as s:
        done = s.run(["printf", "a\\033[1mb\\033[0m\\n"])
        equal((done.stdout, done.sanitized.control, done.sanitized.hidden, done.sanitized.secrets), (b"ab\n", 2, 0, None))
        equal(s.processes()[-1].sanitized, done.sanitized)
    with c.create(manifest=PLAIN) as s:
        equal(s.run("true").sanitized, None)


def events(d, c):
    """events: what happens to one sandbox, and to all"""
    with c.create() as s, s.events() as own, c.events() as every:
        s.run("exit 3")
        for watch in (own, every):
            assert any(e.event == "exec-ended" and e.id == s.id and e.exit_code == 3 for e in watch)
            last = next(e for e in s.events(last_event_id="none")).event_id
        s.run("exit 4")
        with s.events(last_event_id=last) as again:
            equal([(e.event, e.exit_code) for e in (next(again), next(again))], [("exec-started", None), ("exec-ended", 4)])
        s.stop()
        assert any(e.event == "stopped" or e.status == "stopped" for e in own)


def tcp(d, c):
    """TCP: nothing without the token, everything with it; tokens made, listed without value, revoked"""
    url = "http://" + re.search(r"HTTP and MCP on http://(127\.0\.0\.1:\d+)", d.log_text()).group(1)
    with open(os.path.join(d.state, "token"), encoding="utf-8") as f:
        token = f.read().strip()
    assert raised(errors.UnauthenticatedError, Carrel(url).list).hint
    full = Carrel(url, token=token)
    with full.create() as s:
        equal(s.run(["echo", "over TCP"]).stdout, b"over TCP\n")
    other = c.tokens.create(owner="somebody", scope="all")
    equal(Carrel(url, token=other.token).list(), [])
    assert other.token not in repr(c.tokens.list()) and other.id in [t.id for t in c.tokens.list()]
    equal((c.tokens.revoke(other.id), c.tokens.revoke(other.id)), (True, False))
    raised(errors.AuthenticationError, Carrel(url, token=other.token).list)


def volumes(d, c):
    """volumes: created once, listed, kept from one sandbox to the next, not removed while in use"""
    equal((c.volumes.create("cache").name, c.volumes.create("cache").name, [v.name for v in c.volumes.list()]), ("cache", "cache", ["cache"]))
    home = {"provider": "local", "config": {}, "metadata": {"carrel": {"home": "cache"}}}
    with c.create(manifest=home) as s:
        s.run("echo kept > ~/x", check=True)
        equal([v.used_by for v in c.volumes.list()], [s.id])
        assert s.id in raised(errors.VolumeInUseError, c.volumes.remove, "cache").message
    with c.create(manifest=home) as s:
        equal(s.run("cat ~/x").stdout, b"kept\n")
    raised(errors.InvalidArgumentError, c.volumes.create, "../x")
    until("the volume is free", lambda: c.volumes.list()[0].used_by is None)
    equal((c.volumes.remove("cache"), c.volumes.remove("cache"), c.volumes.list()), (True, False, []))


def places(d, c):
    """the daemon is found by its address, its state directory and the environment; never beyond this machine"""
    equal(Carrel("unix:" + d.http).info().version, Carrel("unix://" + d.http).info().version)
    kept = dict(os.environ)
    try:
        os.environ["CARREL_STATE"] = d.state
        os.environ.pop("CARREL_URL", None)
        equal(Carrel().address, "unix:" + d.http)
        os.environ["CARREL_URL"], os.environ["CARREL_TOKEN"] = "http://127.0.0.1:1", "t"
        equal(Carrel().address, "http://127.0.0.1:1")
        equal(Carrel(state=d.state).address, "unix:" + d.http)
    finally:
        os.environ.clear()
        os.environ.update(kept)
    for wrong in ("http://10.0.0.1:80", "http://example.com", "https://127.0.0.1", "ftp://localhost", "carrel.sock", "http://127.0.0.1:99999", "http://127.0.0.1/path"):
        raised(ValueError, Carrel, wrong)
    missing = raised(ConnectionError, Carrel(state="/nonexistent/state").info)
    equal((missing.code, missing.reason), ("daemon_unreachable", "not_running"))
    assert "`carrel serve --state /nonexistent/state`" in missing.hint, missing.hint
    assert "`carrel serve --listen 127.0.0.1:1`" in raised(errors.DaemonUnreachableError, Carrel("http://127.0.0.1:1", token="t").info).hint


def exceptions(d, c):
    """errors: every code of the manual has its class, which pickles, and a family to catch"""
    with open(os.path.join(TREE, "docs", "ERRORS.md"), encoding="utf-8") as f:
        codes = set(re.findall(r"^\| `([a-z_]+)` \| \d+ \| \d+ \|", f.read(), re.M))
    equal(set(errors.CODES), codes)
    for code, kind in errors.CODES.items():
        assert issubclass(kind, CarrelError) and kind.code == code and kind.__name__ in errors.__all__, code
        again = pickle.loads(pickle.dumps(kind("a sentence", path="limits", hint="Do this.")))
        equal((type(again), str(again), again.path), (kind, "a sentence (%s at limits). Do this." % code, "limits"))
    for code, builtin in (("file_not_found", FileNotFoundError), ("permission_denied", PermissionError), ("daemon_unreachable", ConnectionError), ("invalid_argument", ValueError)):
        assert issubclass(errors.CODES[code], builtin), code


def answers(d, c):
    """an answer with members that this client does not know is read; the samples of openapi.json are"""
    from carrel import SandboxInfo
    info = SandboxInfo.read({"id": "a", "status": "running", "created_at_ms": 1, "ports": [], "warnings": [{"code": "c", "message": "m", "new": 1}], "new": {}})
    equal((info.id, info.warnings[0].message, info.name), ("a", "m", None))
    json.dumps(info.ports)


def main():
    need_programs()
    with Daemon("--listen", "127.0.0.1:0") as d:
        c = Carrel(state=d.state, timeout=60)
        for part in (operations, life, manifests, runs, code, outputs, keys, streams, processes, files, ports, network, limits, sanitized, events, tcp, volumes, places, exceptions, answers):
            row(part, d, c)
    end()


if __name__ == "__main__":
    main()
