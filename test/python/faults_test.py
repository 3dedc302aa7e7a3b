#!/usr/bin/env python3
# deep as root: a longer flood
"""faults_test - sdk/python with faults: a daemon that dies, Ctrl-C, fork(), slow readers, floods,
an unknown process on the socket.
"""
import http.server
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, ROOT, end, need_programs, report, until
from daemon_rig import Daemon
from python_rig import SDK, equal, raised, row

from carrel import Carrel, CarrelError, errors

FLOOD = (100 if DEEP else 32) << 20
PLAIN = {"provider": "local", "config": {}, "limits": {"timeout_ms": 600000}}


def python(script, *words, **more):
    """A program of its own that has the package."""
    return subprocess.Popen([sys.executable, "-B", "-c", script, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": SDK}, **more)


def daemon_dies(d, c):
    """the daemon is killed while a stream is read: a typed error; later the output goes on at its byte"""
    with c.create(manifest=PLAIN) as s:
        p = s.start("printf 0123456789; read x; echo more", stdin=True)
        with p.attach() as stream, s.events() as events, s.stream("read x", stdin=True) as foreground:
            equal(next(stream).data, b"0123456789")
            d.stop(signal.SIGKILL)
            for reader in (stream, foreground):
                lost = raised(ConnectionError, lambda: list(reader))
                equal((type(lost), lost.code), (errors.ConnectionLostError, "connection_lost"))
                assert lost.hint
            raised(errors.ConnectionLostError, lambda: list(events))
        until("the socket is gone or refuses", lambda: isinstance(raised(ConnectionError, s.run, "true"), errors.DaemonUnreachableError))
        raised(errors.DaemonUnreachableError, s.files.read, "/tmp/x")
        d.start()
        with p.attach(stdout_offset=stream.stdout_offset) as stream:
            p.write("\n")
            equal(stream.wait().stdout, b"more\n")


def ctrl_c(d, c):
    """Ctrl-C in run() is KeyboardInterrupt, and kills the command; `with` still stops the sandbox"""
    with c.create(name="interrupted"):
        child = python("""
import sys; from carrel import Carrel
with Carrel(state=sys.argv[1]).get("interrupted") as s:
    try:
        s.run("echo begun; sleep 60", on_stdout=lambda data: print(data, flush=True))
    except KeyboardInterrupt:
        print([p.outcome or s.process(p.exec).wait().outcome for p in s.processes()], flush=True)
        raise
""", d.state)
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
        equal((out, child.returncode), (b"['killed']\n", -signal.SIGINT))
        assert err.rstrip().endswith(b"KeyboardInterrupt"), err
        raised(errors.SandboxNotFoundError, c.get, "interrupted")


def forked(d, c):
    """after fork() child and parent both go on; a child that ends leaves its parent's stream alone"""
    with c.create() as s, s.stream("read x; echo parent", stdin=True) as stream:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                stream.close()
                status = 0 if s.run("echo child").stdout == b"child\n" else 2
            finally:
                os._exit(status)
        equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        stream.process.write("\n")
        equal(stream.wait().stdout, b"parent\n")


def threads(d, c):
    """one Carrel and one sandbox in twenty threads"""
    wrong = []
    with c.create() as s:
        def work(i):
            for k in range(3):
                got = s.run("cat", input="%d %d" % (i, k)).stdout
                if got != b"%d %d" % (i, k):
                    wrong.append(got)
        all_threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for t in all_threads:
            t.start()
        for t in all_threads:
            t.join()
        equal((wrong, len(s.processes())), ([], 60))


def slow_reader(d, c):
    """a reader who is slow stops the command, and loses nothing"""
    with c.create(manifest=PLAIN) as s:
        with s.stream("head -c 16000000 /dev/zero; echo all >/tmp/all") as stream:
            size = len(next(stream).data)
            number, seen = stream.process.exec, -1
            while seen != s.process(number).info().stdout_bytes:       # until it writes no more
                seen = s.process(number).info().stdout_bytes
                equal(s.run("sleep 0.2; test -e /tmp/all").exit_status, 1)
            assert seen < 16000000, seen
            size += sum(len(piece.data) for piece in stream)
            equal((size, stream.result.stdout_lost, s.files.exists("/tmp/all")), (16000000, 0, True))


def flood(d, c):
    """a flood of output is read in bounded memory, by run() and piece by piece, as a file too"""
    child = python("""
import resource, sys; from carrel import Carrel
flood = int(sys.argv[2])
with Carrel(state=sys.argv[1]).create(manifest={"provider": "local", "config": {}, "limits": {"timeout_ms": 600000}, "metadata": {"carrel": {"limits": {"disk_mb": 256}}}}) as s:
    s.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = f"yes 0123456789abcde | head -c {flood}"
    done = s.run(line, keep_bytes=1 << 20)
    assert (done.outcome, len(done.stdout), done.stdout_lost) == ("exited", 1 << 20, flood - (1 << 20)), (done.outcome, len(done.stdout), done.stdout_lost)
    assert done.stdout == (b"0123456789abcde\\n" * 65536), done.stdout[:50]
    with s.stream(f"head -c {flood} /dev/zero > /tmp/large; cat /tmp/large") as stream:
        assert sum(len(p.data) for p in stream) == flood and stream.result.stdout_lost == 0
    with s.files.chunks("/tmp/large") as chunks:
        assert sum(map(len, chunks)) == flood
    s.files.download("/tmp/large", sys.argv[3])
    s.files.upload(sys.argv[3], "/tmp/copy")
    assert s.run("cmp /tmp/large /tmp/copy").ok
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
""", d.state, FLOOD, os.path.join(d.folder, "large"))
    out, err = child.communicate()
    equal((child.returncode, err), (0, b""))
    assert int(out) < 24 << 10, "%s KiB more for %d MiB" % (out, FLOOD >> 20)


def stranger(d, c):
    """a socket on which another user listens gets nothing; CARREL_DAEMON_UID names one to trust"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "carrel.sock")
        listener = """
import os, socket, sys
os.setuid(1234); s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen(); print(flush=True)
while True:
    c, _ = s.accept(); got = c.recv(9999); print(len(got), flush=True)
    if got: c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 15\\r\\n\\r\\n{\\"version\\":\\"9\\"}"); c.close()
"""
        child = python(listener, path)
        try:
            child.stdout.readline()
            program = "import os, sys; from carrel import Carrel; os.setuid(1000)\ntry: print(Carrel('unix:' + sys.argv[1]).info().version)\nexcept ConnectionError as e: print(e.reason, e.hint)"
            asked = python(program, path)
            equal(asked.communicate()[0][:26], b"untrusted If you trust thi")
            equal(child.stdout.readline(), b"0\n")
            os.environ["CARREL_DAEMON_UID"] = "1234"
            try:
                equal(python(program, path).communicate()[0], b"9\n")
            finally:
                del os.environ["CARREL_DAEMON_UID"]
        finally:
            child.kill()
            child.communicate()


def no_daemon(d, c):
    """a server that is no Carrel, or breaks off, is a typed error; a silent one is, after `timeout`"""
    class Wrong(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            said = {"/v1/info": b"not JSON", "/v1/sandboxes": b"[1]"}.get(self.path, b"<html>")
            self.send_response(200 if len(self.path) < 14 else 503)
            self.send_header("Content-Length", str(len(said) + (5 if self.path == "/v1/tokens" else 0)))
            self.end_headers()
            self.wfile.write(said)
            self.close_connection = True

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        wrong = Carrel("http://127.0.0.1:%d" % server.server_port, token="t")
        raised(errors.ProtocolError, wrong.info)
        raised(errors.ProtocolError, wrong.list)
        equal(raised(CarrelError, wrong.get, "x").operation, "get")
        raised(errors.ConnectionLostError, wrong.tokens.list)
        server.shutdown()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        late = raised(errors.DaemonUnreachableError, Carrel("http://127.0.0.1:%d" % silent.getsockname()[1], token="t", timeout=0.05).info)
        equal(late.reason, "timeout")


def callback(d, c):
    """a callback that raises ends run() with its exception, and kills the command"""
    def wrong(data):
        raise KeyError("mine")

    with c.create() as s:
        raised(KeyError, s.run, "echo x; sleep 60", on_stdout=wrong)
        until("it is killed", lambda: s.process(1).info().outcome == "killed")


def main():
    need_programs()
    with Daemon() as d:
        c = Carrel(state=d.state)
        for part in (daemon_dies, ctrl_c, forked, threads, slow_reader, flood, no_daemon, callback):
            row(part, d, c)
        if ROOT:
            row(stranger, d, c)
        else:
            report(stranger.__doc__, skip="an ordinary user cannot listen as another one")
    end()


if __name__ == "__main__":
    main()
