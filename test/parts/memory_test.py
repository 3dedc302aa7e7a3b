#!/usr/bin/env python3
# deep as root: allocations are the same for every user
"""memory_test - what keeper and door do when an allocation fails: the first, the second, ... of
every operation, once or from there on (Z12).

The programs are the shipped ones with malloc(3) wrapped (starve.c). Each failure is reported with a
code, or the caller's connection is closed. Nothing crashes, nothing is half done, nothing is lost,
no box is affected, and everything allocated is freed. When memory is available again, everything
works. MEMORY_STEP=1 fails at every allocation; the default skips some of the long ones, `./dev test
--all` fewer.
"""
import http.client
import json
import mmap
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
import wire
from box_rig import DEEP, end, report
from daemon_rig import UnixConnection
from keeper_rig import BUILD, Keeper, Refused, boxes_running, until

STEP = int(os.environ.get("MEMORY_STEP", "0"))
SOFT = (EOFError, OSError, box_wire.Gone, http.client.HTTPException)
BLOCK = {"provider": "local", "config": {}, "metadata": {"carrel": {"limits": {"pids": 60}}}}
POINTS_MAX = 3000


class Starve:
    """The map that the program and this test share."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="carrel-starve-")
        self.path = os.path.join(self.folder, "map")
        with open(self.path, "wb") as f:
            f.write(b"\0" * 4096)
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)

    def read(self, at):
        return struct.unpack_from("=Q", self.map, 8 * at)[0]

    def write(self, at, number):
        struct.pack_into("=Q", self.map, 8 * at, number)

    def arm(self, number, for_good):
        """Allocation `number` from now fails, and with `for_good` all after it."""
        self.write(3, 0)
        self.write(2, for_good)
        self.write(1, self.read(0) + number)

    def arm_start(self, number, for_good):
        for at, value in ((1, number), (2, for_good), (0, 0), (3, 0)):
            self.write(at, value)

    def disarm(self):
        """How many failed."""
        self.write(1, 0)
        return self.read(3)

    def end(self):
        self.map.close()
        shutil.rmtree(self.folder)


def program(starve, name):
    """A build directory in which `name` is the program with failing allocations."""
    folder = os.path.join(starve.folder, "build-" + name)    # one each: another one's link must not be found here
    os.makedirs(folder, exist_ok=True)
    for one in ("carrel", "carrel-init", "carrel-keeper", "carrel-door"):
        link = os.path.join(folder, one)
        if not os.path.exists(link):
            os.symlink(os.path.join(BUILD, "test", one[7:] + "-starve") if one == "carrel-" + name else os.path.join(BUILD, one), link)
    return folder


# -- the keeper ------------------------------------------------------------------------------------------------------------------


class Fresh:
    """A keeper with one living sandbox `live` and one that has not started, `lazy`."""

    def __init__(self, k):
        self.k, self.turn = k, 0
        self.c = k.caller()
        self.live = self.c.call("create", name="live", start=True, ports=[80])["id"]
        self.lazy = self.c.call("create", name="lazy", timeout_ms=5000000, manifest=BLOCK)["id"]

    def caller(self):
        """A caller whose connection was closed calls again."""
        try:
            self.c.call("info")
        except (*SOFT, Refused):
            self.c.close()
            self.c = self.k.caller()
        return self.c


def extended(f):
    return lambda c: c.call("extend", id=f.lazy, duration_ms=1, key="e%d" % f.turn)


def ran(f, **more):
    def run(c):
        said = bytes(c.exec(f.live, "echo ok", env=["A=1", "B=2"], key="x%d" % f.turn, **more).out)
        assert said == b"ok\n", said
    return run


def wrote(f):
    def write(c):
        _, channel = c.channel("file.write", id=f.live)
        channel.send(wire.C_STDIN, struct.pack("=QIIII", 1, 1, 0o644, 0, 0) + b"fx" + struct.pack("=QIIII", 0, 0, 0, 0, 0))
        assert channel.wait().end["exit_code"] == 0
    return write


OPERATIONS = (
    ("create", 1, lambda f: lambda c: c.call("create", name="new", key="n%d" % f.turn, manifest=BLOCK, env=["A=1"], ports=[1, 2], metadata='{"a":1}', timeout_ms=1000000)),
    ("create with start", 5, lambda f: lambda c: c.call("create", name="new", key="n%d" % f.turn, start=True)),
    ("get", 1, lambda f: lambda c: c.call("get", id="live")), ("list", 1, lambda f: lambda c: c.call("list")), ("extend", 1, extended),
    ("exec.start", 1, ran), ("exec.list", 1, lambda f: lambda c: c.call("exec.list", id="live")), ("file.write", 1, wrote),
    ("task.begin", 1, lambda f: lambda c: c.call("task.begin", id="live", task="t%d" % f.turn, timeout_ms=1000000)),
    ("task.end", 1, lambda f: lambda c: c.call("task.end", id="live", task="t0")), ("url", 1, lambda f: lambda c: c.call("url", id="live", port=80)),
    ("event", 1, lambda f: lambda c: c.call("event", id="live", event="turn-end")), ("instructions", 1, lambda f: lambda c: c.call("instructions", id="live")),
    ("token.create", 1, lambda f: lambda c: c.call("token.create", scope="read")), ("info", 1, lambda f: lambda c: c.call("info")),
    ("a new caller", 1, lambda f: lambda c: f.k.caller().call("info")),
)


def judged(f, op, failed, happened):
    """Nothing is half done, nothing is lost, and it works with memory."""
    wrong, c = [], f.caller()
    listed = {i.get("name"): i for i in c.call("list")["items"]}
    for name, status in (("live", "running"), ("lazy", "pending")):
        if listed.get(name, {}).get("status") != status:
            wrong.append("%s is %r" % (name, listed.get(name)))
    if op.startswith("create") and happened and "new" not in listed:
        wrong.append("it was answered, and is not there")
    if op.startswith("create") and listed.get("new", {}).get("status", "stopping") != "stopping" and not happened and failed == "no_memory":
        wrong.append("it was refused, and is there")
    for name in listed:
        if name == "new":
            c.call("stop", id="new")
    return wrong


def keeper_operations(starve):
    for for_good in (0, 1):
        with Keeper(build=program(starve, "keeper"), env={"STARVE_MAP": starve.path}, is_held=True) as k:
            starve.arm_start(0, 0)
            k.start()
            f = Fresh(k)
            for op, step, make in OPERATIONS:
                wrong, codes, number, points = [], {}, 1, 0
                while number < POINTS_MAX and len(wrong) < 4:
                    f.turn += 1
                    c, failed, happened = f.caller(), None, False
                    c.sock.settimeout(30)
                    work = make(f)
                    starve.arm(number, for_good)
                    try:
                        work(c)
                        happened = True
                    except Refused as r:
                        failed = r.code
                    except SOFT as e:
                        failed = type(e).__name__
                    except AssertionError as e:
                        wrong.append("%d: %s" % (number, e))
                    count = starve.disarm()
                    if k.child.poll() is not None:
                        wrong.append("%d: the keeper ended with %d: %s" % (number, k.child.returncode, k.log_text()[-200:]))
                        k.spawner.wait(30)
                        k.start()
                        f.c = k.caller()
                    codes[failed] = codes.get(failed, 0) + 1
                    if failed == "TimeoutError":
                        wrong.append("%d: no answer" % number)
                    wrong += ["%d: %s" % (number, w) for w in judged(f, op, failed, happened)]
                    points += 1
                    if count == 0:
                        wrong += [] if happened else ["with memory it is refused: %r" % failed]
                        break
                    number += STEP or step
                strange = set(codes) - {None, "no_memory", "EOFError", "ConnectionResetError", "BrokenPipeError", "Gone", "sandbox_backend_failed"}
                report("%s without memory %s: told or let go of, never half done (%d points, %r; Z12)" % (op, "from the n-th on" if for_good else "once", points, codes),
                       wrong + (["strange codes: %r" % strange] if strange else []))
            if not for_good:
                report("what failed gave back what it had taken", leaks(starve, f))


def leaks(starve, f):
    """The same failures again and again: memory in use does not grow. Without keys, because what
    the keeper remembers is not a leak.
    """
    works = [lambda c: c.call("create", name="new", manifest=BLOCK, env=["A=1"]), lambda c: c.call("extend", id="lazy", duration_ms=1), lambda c: c.call("get", id="live"),
             lambda c: c.call("list"), lambda c: c.call("exec.list", id="live"), lambda c: c.call("instructions", id="live")]

    def round_of_failures():
        for work in works:
            for number in range(1, 60, 7):
                c = f.caller()
                starve.arm(number, 0)
                try:
                    work(c)
                except (Refused, *SOFT):
                    pass
                starve.disarm()
                f.caller().call("stop", id="new")
        with open("/proc/%d/status" % f.k.child.pid, encoding="utf-8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    with open(os.path.join(BUILD, "test", "keeper-starve"), "rb") as own:
        if b"__asan_init" in own.read():
            return []                                  # what is freed there is kept for a while, on purpose
    rounds = [round_of_failures() for _ in range(30)]
    return [] if rounds[-1] - rounds[9] <= 200 else ["so many KiB it holds after each round: %r" % rounds]


def keeper_start(starve):
    for for_good in (0, 1):
        wrong, number, points, refused = [], 1, 0, 0
        with Keeper(build=program(starve, "keeper"), env={"STARVE_MAP": starve.path}, is_held=True) as k:
            starve.arm_start(0, 0)
            k.start()
            c = k.caller()
            ids = [c.call("create", start=True)["id"] for _ in range(2)]
            k.stop(signal.SIGKILL)
            while number < POINTS_MAX and len(wrong) < 4:
                starve.arm_start(number, for_good)
                k.start(wait=False)
                for _ in range(200):                   # a process that never gets memory again neither serves nor ends
                    if k.child.poll() is not None or served(k) or starve.read(3) > 400:
                        break
                count = starve.disarm()
                until("it serves or has ended", lambda: k.child.poll() is not None or served(k))
                code = k.child.poll()
                if code is not None:
                    refused += 1
                    if code != 125 or "memory" not in k.log_text().rsplit("carrel-keeper:", 1)[-1]:
                        wrong.append("%d: it ended with %r: %s" % (number, code, k.log_text()[-160:]))
                    k.spawner.wait(30)
                else:
                    k.stop(signal.SIGKILL)
                if boxes_running(k.state) != 2:
                    wrong.append("%d: %d boxes are left" % (number, boxes_running(k.state)))
                points += 1
                if count == 0:
                    break
                number += STEP or (3 if DEEP else 11)
            starve.arm_start(0, 0)
            k.start()
            c = k.caller()
            wrong += ["%s does not run: %r" % (one, c.call("get", id=one)) for one in ids if bytes(c.exec(one, "echo ok").out) != b"ok\n"]
        report("a keeper that starts without memory %s ends with its code, and its boxes live on (%d points, %d refused; Z12)" % ("from the n-th on" if for_good else "once", points, refused), wrong)


def served(k):
    try:
        c = k.caller()
        c.sock.settimeout(1)
        c.call("info")
        return True
    except Refused:
        return True
    except SOFT:
        return False


# -- the door --------------------------------------------------------------------------------------------------------------------

YAML = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmetadata: {carrel: {limits: {pids: 60}}}\n---\n"
RPC = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def rpc(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


REQUESTS = (
    ("GET", "/v1/info", None, None), ("GET", "/v1/sandboxes", None, None), ("POST", "/v1/sandboxes", {"name": "new", "manifest": YAML, "env": {"A": "1"}, "ports": [1, 2]}, None),
    ("GET", "/v1/sandboxes/live", None, None), ("POST", "/v1/sandboxes/live/execs", {"command": "echo out; echo err >&2", "env": {"A": "1"}}, None),
    ("POST", "/v1/sandboxes/live/execs", {"argv": ["echo", "x"]}, {"Accept": "text/event-stream"}), ("GET", "/v1/sandboxes/live/execs", None, None),
    ("POST", "/v1/sandboxes/live/files", {"files": [{"path": "a.txt", "content": "hello"}]}, None), ("GET", "/v1/sandboxes/live/files?path=a.txt", None, None),
    ("GET", "/v1/openapi.json", None, None), ("POST", "/v1/sandboxes", {"no_such_field": 1}, None), ("DELETE", "/v1/sandboxes/none", None, None),
    ("POST", "/mcp", rpc("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"}), RPC),
    ("POST", "/mcp", rpc("tools/list"), RPC), ("POST", "/mcp", rpc("tools/call", name="mastra_workspace_execute_command", arguments={"command": "echo x"}), RPC),
)


class Door:
    """The door with failing allocations, and a keeper with enough memory."""

    def __init__(self, k, starve):
        self.path = os.path.join(starve.folder, "http")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(64)
        keeper = k.door_end.dup()
        fds = [keeper.fileno(), listener.fileno()]
        self.log = open(os.path.join(starve.folder, "door-log"), "w+b")
        self.process = subprocess.Popen([os.path.join(program(starve, "door"), "carrel-door"), "--keeper-fd", str(fds[0]), "--http-fd", str(fds[1])], pass_fds=fds,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=dict(os.environ, STARVE_MAP=starve.path))
        listener.close()
        keeper.close()

    def ask(self, method, path, body, headers):
        c = UnixConnection(self.path, 5)
        data = json.dumps(body).encode() if body is not None else None
        try:
            c.request(method, path, body=data, headers=dict({"Content-Type": "application/json"} if data else {}, **(headers or {})))
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def said(self):
        self.log.seek(0)
        return self.log.read()[-300:]


def code_of(body):
    try:
        return json.loads(body)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None


def door_requests(starve):
    with Keeper() as k:
        k.caller().call("create", name="live", start=True)
        starve.arm_start(0, 0)
        door = Door(k, starve)
        until("the door answers", lambda: os.path.exists(door.path) and door.ask("GET", "/v1/info", None, None)[0] == 200)
        for for_good in (0, 1):
            for method, path, body, headers in REQUESTS:
                wrong, codes, number = [], {}, 1
                whole, answer = door.ask(method, path, body, headers)
                meant = code_of(answer)
                while number < POINTS_MAX and len(wrong) < 4 and door.process.poll() is None:
                    if path == "/v1/sandboxes" and method == "POST":
                        door.ask("DELETE", "/v1/sandboxes/new", None, None)
                    starve.arm(number, for_good)
                    try:
                        status, answer = door.ask(method, path, body, headers)
                        got = code_of(answer) or ("whole" if status == whole else status)
                        if status == 200 and answer and path.endswith("/execs") and method == "POST" and b"x" not in answer and b"out" not in answer:
                            wrong.append("%d: another command ran: %r" % (number, answer))
                    except TimeoutError:
                        got = "no answer"
                    except SOFT:
                        got = "let go of"
                    count = starve.disarm()
                    codes[got] = codes.get(got, 0) + 1
                    if count == 0:
                        wrong += [] if got in ("whole", meant) else ["with memory: %r" % got]
                        wrong += ["no allocation failed"] if number == 1 else []
                        break
                    number += STEP or 1
                if door.process.poll() is not None:
                    wrong.append("%d: the door ended with %d: %s" % (number, door.process.returncode, door.said()))
                strange = set(codes) - {"whole", meant, "no_memory", "unavailable", "let go of", 500, 503, -32603, -32000}
                what = body.get("method") or "/".join(sorted(body)) if body else ""
                report("%s %s %s without memory %s: a code, or the connection ends (%d points, %r; Z12)" % (method, path, what, "from the n-th on" if for_good else "once", number, codes),
                       wrong + (["strange: %r" % strange] if strange else []))
                if door.process.poll() is not None:
                    os.unlink(door.path)
                    k.restart()
                    starve.arm_start(0, 0)
                    door = Door(k, starve)
                    until("the door answers", lambda: os.path.exists(door.path) and door.ask("GET", "/v1/info", None, None)[0] == 200)     # noqa: B023
        door.process.kill()
        door.process.wait()


def main():
    if not os.path.exists(os.path.join(BUILD, "test", "keeper-starve")):
        report("what keeper and door do without memory", skip="this build has no programs that starve")
        end()
    starve = Starve()
    for part in (keeper_operations, keeper_start, door_requests):
        if len(sys.argv) < 2 or sys.argv[1] in part.__name__:
            part(starve)
    starve.end()
    end()


if __name__ == "__main__":
    main()
