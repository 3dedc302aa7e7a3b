#!/usr/bin/env python3
# weight: 3
# slow: 60 s: every kind of sandbox, each with two daemons; one of them boots ten times on an emulated processor
"""One list of rows over every kind of sandbox (test/rig/kinds_rig.py): the exec contract, files, ports, limits, egress, lifecycle,
a restart of the daemon, the pool. What a kind cannot do is a row too, with its error. Then what only a sandbox in an image
has: it is pinned, held, and replaced in the pool. The kinds run side by side, each with a daemon of its own. Prints TAP.

    kinds_test.py [KIND...]     only these kinds
"""
import http.client
import http.server
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, need_programs, side_by_side, until
from daemon_rig import Answer, Daemon
from image_rig import BUSYBOX, busybox_import
from kinds_rig import IMAGE, KINDS, host_file, make_image, why_not


class Box:
    def __init__(self, d, kind, **fields):
        self.row = KINDS[kind]
        self.d, self.kind = d, kind
        self.id = d.create(manifest={**self.row.block, **fields.pop("block", {})}, **fields)
        self.path = "/v1/sandboxes/" + self.id

    def __call__(self, argv, **fields):
        return self.d.exec(self.id, argv, **fields)

    def tell(self, what, *more):
        check(f"{self.kind}: {what}", *more)

    def can(self, part, ask):
        """True: this kind can. Otherwise its refusal is a row: ask() gives the answer."""
        code = self.row.cannot.get(part)
        if part not in self.row.cannot:
            return True
        if code:
            got = ask()
            self.tell(f"{part} is refused by name", got.status >= 400 and got.code == code, got)
        return False

    def stop(self):
        self.d.must("DELETE", self.path)


def carrel(d, *words, **more):
    return subprocess.run([CARREL, *words], env={**os.environ, "CARREL_STATE": d.state}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)


def commands(box):
    got = box(["sh", "-c", "echo out; echo err >&2; exit 7"])
    box.tell("output and status", (got["stdout"], got["stderr"], got["exit_code"], got["outcome"]) == ("out\n", "err\n", 7, "exited"), got)
    got = box("kill -9 $$")
    box.tell("a signal is told", (got["outcome"], got["signal"]) == ("signaled", 9), got)
    got = box("sleep 1000 & sleep 1000", timeout_ms=300)
    box.tell("a timeout kills the tree", got["outcome"] == "timed_out" and "sleep 1000" not in box("ps -e -o args || ps")["stdout"], got)
    got = box(["cat"], input="aé€")
    box.tell("standard input", got["stdout"] == "aé€", got)
    got = box(["sh", "-c", "pwd; echo $X; id -u; echo $HOME"], cwd="/tmp", env={"X": "y z"})
    box.tell("directory, environment, user and home", got["stdout"].splitlines() == ["/tmp", "y z", str(box.row.uid), box.row.home], got)
    if box.row.by_ssh:
        got = box(["nope-nope"])
        box.tell("no such command: its shell says so", got["exit_code"] == 127 and "nope-nope" in got["stderr"], got)
        got = box("sleep 1000 & echo said; exit 5", timeout_ms=500)
        box.tell("a child that holds the output ends with the time limit", (got["outcome"], got["stdout"]) == ("timed_out", "said\n"), got)
    else:
        bad = [box.d.call("POST", box.path + "/execs", body).code for body in ({"argv": ["nope-nope"]}, {"argv": ["true"], "cwd": "/nope"})]
        box.tell("no such command, no such directory", bad == ["command_not_found", "invalid_argument"], bad)
        got = box("sleep 1000 & echo said; exit 5")
        box.tell("a child that holds the output does not hold up the end", (got["outcome"], got["exit_code"], got["stdout"]) == ("exited", 5, "said\n"), got)
    number = box.d.must("POST", box.path + "/execs", {"command": "read x; echo got $x", "background": True, "stdin": True})["exec"]
    box.d.call("POST", f"{box.path}/execs/{number}/stdin?end=true", b"words\n")
    got = box.d.must("GET", f"{box.path}/execs/{number}/output?wait=true")
    box.tell("a background command is fed and read", got["stdout"] == "got words\n", got)
    got = box(["sh", "-c", "head -c 3000000 /dev/zero"])
    box.tell("what an answer has no room for is counted", len(got["stdout"]) == 1 << 20 and got["dropped_bytes"] == 3000000 - (1 << 20), got["dropped_bytes"])


def streams(box):
    """A reader that does not read holds up no other command."""
    flood = subprocess.Popen([CARREL, "exec", box.id, "--", "cat", "/dev/zero"], env={**os.environ, "CARREL_STATE": box.d.state}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    flood.stdout.read(1)      # and no more
    got = []
    threads = [threading.Thread(target=lambda i=i: got.append(box(f"head -c 1000000 /dev/zero | wc -c; echo {i}")["stdout"].split() == ["1000000", str(i)])) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    flood.kill()
    flood.wait()
    box.tell("a reader that does not read holds up no other command", got == [True] * 4, got)


def terminal(box):
    if not box.can("terminal", lambda: box.d.call("POST", box.path + "/execs", {"command": "tty", "tty": True})):
        return
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(CARREL, [CARREL, "exec", "-t", box.id, "--", "sh", "-c", "tty; exit 4"], {**os.environ, "CARREL_STATE": box.d.state})
    out = b""
    try:
        while got := os.read(fd, 4096):
            out += got
    except OSError:
        pass
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    box.tell("a terminal is one of its own", b"/dev/pts/" in out and status == 4, out, status)


def files(box):
    d, path = box.d, box.path + "/files?path="
    data = os.urandom(300000)
    put = d.call("PUT", path + "/tmp/in&mode=0640", data)
    got = d.call("GET", path + "/tmp/in")
    box.tell("a file comes back as it went", put.status < 300 and got.body == data, put, got.status)
    got = d.call("GET", path + "/tmp/nothing")
    box.tell("a missing file is one", got.status == 404, got)
    if box.can("system", None):
        box.tell("it has its mode, and belongs to the commands", box("stat -c %a:%u /tmp/in")["stdout"] == f"640:{box.row.uid}\n")
        wrong = d.call("PUT", path + "/etc/motd", b"changed")
        box.tell("the system is changed by root alone", (wrong.status < 300) == (box.row.uid == 0), wrong)


def mounts(box, work):
    block = {**box.row.block, "mounts": [{"source": "workspace", "at": "/workspace"}]}
    if not box.can("mounts", lambda: box.d.call("POST", "/v1/sandboxes", {"manifest": block, "workspace": work})):
        return
    one = Box(box.d, box.kind, block=block, workspace=work)
    got = one("cat given; echo made > made; echo x > .git/hooks/pre-commit")
    with open(os.path.join(work, "made"), encoding="utf-8") as f:
        made = f.read()
    owner = os.stat(os.path.join(work, "made")).st_uid
    one.tell("the workspace is the host's directory, with its owner", got["stdout"].startswith("of the host\n") and (made, owner) == ("made\n", os.geteuid()), got, made, owner)
    one.stop()
    one.tell("no hook is written for git of the host", got["exit_code"] != 0 and os.listdir(os.path.join(work, ".git/hooks")) == [], got)
    os.unlink(os.path.join(work, "made"))


def limits(box):
    d = box.d
    block = {"metadata": {"carrel": {"limits": {"disk_mb": 100, "pids": 60}}}, "limits": {"memory_mb": 384}}
    made = d.must("POST", "/v1/sandboxes", {"manifest": {**box.row.block, **block}})
    named = {w["code"] for w in made["warnings"]}
    for name in box.row.lacks:
        box.tell(f"{name}: it does not enforce it, and says so", f"limit_unenforceable:{name}" in named, made["warnings"])
    d.must("DELETE", "/v1/sandboxes/" + made["id"])
    if "pids" not in box.row.lacks:
        got = box("i=0; while [ $i -lt 80 ]; do sleep 30 & i=$((i + 1)); done; echo all", timeout_ms=20000)
        box.tell("limits.pids holds", "all\n" not in got["stdout"] or "fork" in got["stderr"], got)
    if "disk_mb" not in box.row.lacks:
        small = Box(d, box.kind, block={"metadata": {"carrel": {"limits": {"disk_mb": 100}}}})
        got = small("dd if=/dev/zero of=/tmp/big bs=1M count=200 && sleep 1000", timeout_ms=60000)
        small.tell("the private disk has its size", got["outcome"] == "policy_killed" or got["exit_code"] == 1, got)
        small.stop()
    if "memory_mb" not in box.row.lacks and "limit_unenforceable:memory_mb" not in named:
        small = Box(d, box.kind, block={"limits": {"memory_mb": 128}})
        got = small("head -c 300000000 /dev/zero | tail | wc -c")
        small.tell("limits.memory_mb holds", got["outcome"] == "oom_killed" or got["stdout"] != "300000000\n", got)
        small.stop()


def ports(box):
    at = box.path + "/ports/8123"
    if not box.can("port", lambda: box.d.call("GET", at)):
        return
    url = box.d.must("GET", at)["url"]
    host, port, rest = re.match(r"http://([\d.]+):(\d+)(/.*)", url).groups()

    def ask():
        c = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        try:
            c.request("GET", rest)
            r = c.getresponse()
            return Answer(r.status, r.headers, r.read())
        finally:
            c.close()

    box("mkdir -p /tmp/www; echo inside > /tmp/www/page")
    serve = "while true; do printf 'HTTP/1.0 200 OK\\r\\nContent-Length: 7\\r\\n\\r\\ninside\\n' | %s nc -l -p 8123; done" % BUSYBOX
    box.d.must("POST", box.path + "/execs", {"command": serve, "background": True})

    def is_answered():
        try:
            return ask().body == b"inside\n"
        except (OSError, http.client.HTTPException):
            return False

    box.tell("a port inside is reached by its URL", until("a server answers", is_answered))


def egress(box, port):
    d, block = box.d, {"metadata": {"carrel": {"egress": {"host_ports": [port]}}}}
    if not box.can("egress", lambda: d.call("POST", "/v1/sandboxes", {"manifest": {**box.row.block, **block}})):
        return
    one = Box(d, box.kind, block=block)
    got = one(f"{BUSYBOX} wget -q -O - http://host.carrel.internal:{port}/ 2>&1")
    one.tell("what is listed is reached", got["stdout"] == "origin\n", got)
    got = one(BUSYBOX + " wget -q -O - http://refused.test/ 2>&1; cat /etc/resolv.conf")
    items = until("the refusal is told", lambda: d.must("GET", one.path + "/denials")["items"])
    one.tell("a name that is not listed is refused, and told", any(i.get("host") == "refused.test" for i in items) and "nameserver" in got["stdout"], got, items)
    one.stop()


def lives(box):
    d = box.d
    if box.can("pause", lambda: d.call("POST", box.path + "/pause")):
        paused = d.call("POST", box.path + "/pause")
        if paused.code == "capability_unavailable":     # a daemon without a control group that freezes
            box.tell("pause needs a control group that freezes, and says so", b"freez" in paused.body, paused)
        else:
            box.tell("pause and resume", paused.status == 200 and d.must("POST", box.path + "/resume")["status"] == "running", paused)
    box("echo kept > /tmp/kept")
    number = d.must("POST", box.path + "/execs", {"command": "read x; cat /tmp/kept; echo $FROM_IMAGE", "background": True, "stdin": True})["exec"]
    d.stop(signal.SIGKILL)
    d.start()
    d.call("POST", f"{box.path}/execs/{number}/stdin?end=true", b"\n")
    got = d.must("GET", f"{box.path}/execs/{number}/output?wait=true")
    again = box("cat /tmp/kept; echo $FROM_IMAGE")
    box.tell("it outlives its daemon", got["stdout"] == again["stdout"] == ("kept\nyes\n" if box.row.has_image else "kept\n\n"), got, again)
    short = Box(d, box.kind, timeout_ms=1000)
    d.call("POST", short.path + "/execs", {"command": "sleep 60", "background": True})      # on a busy machine its time may be over before
    until("its time is over", lambda: d.call("GET", short.path).status in (404, 410))
    got = d.call("POST", short.path + "/execs", {"command": "true"})
    box.tell("it ends when its time is over", got.status in (404, 409, 410), got)


def told(box, image):
    info = box.d.must("GET", box.path)
    wanted = f"{IMAGE}@{image}" if box.row.has_image else None
    box.tell("info says the tier, and which image", (info.get("tier"), info.get("image")) == (box.row.tier, wanted), info)
    used = [item for item in box.d.must("GET", "/v1/usage")["items"] if item.get("sandbox", item.get("id")) == box.id]
    box.tell("its usage is counted", used and used[0]["execs"] > 5, used)


def starts(d, kind):
    """False: it does not start here, and its refusal is a row."""
    row = KINDS[kind]
    got = d.call("POST", "/v1/sandboxes", {"manifest": row.block, "start": True})
    if got.status < 300:
        d.must("DELETE", "/v1/sandboxes/" + got.json["id"])
        return True
    reason = why_not(row, got)
    check(f"{kind}: it does not start here, and says why ({reason})", reason is not None, got)
    return False


def one_kind(top, kind, port):
    folder = os.path.join(top, kind.replace(" ", "-"))
    state, work = os.path.join(folder, "state"), os.path.join(folder, "work")
    os.makedirs(os.path.join(work, ".git/hooks"))
    with open(os.path.join(work, "given"), "w", encoding="utf-8") as f:
        f.write("of the host\n")
    image = make_image(kind, state)
    host = host_file(folder, host_ports=[port])
    with Daemon("--host", host, state=state) as d:
        if not starts(d, kind):
            return
        box = Box(d, kind, ports=[8123], block={"metadata": {"carrel": {"limits": {"pids": 60}}}})
        for part in (commands, streams, terminal, files, ports):
            part(box)
        mounts(box, work)
        egress(box, port)
        for part in (lives, limits):
            part(box)
        told(box, image)
        box.stop()
        if kind == "container":
            pinned(d, image)
    pool(folder, kind)


def images(d, *words):
    return json.loads(carrel(d, "image", *words, "--state", d.state, "--json").stdout)


def pinned(d, image):
    waiting = Box(d, "container")
    busybox_import(CARREL, d.state, IMAGE, Env=["FROM_IMAGE=second"])
    later = Box(d, "container")
    left = images(d, "prune")
    check("a sandbox that is not started yet holds its image", left["in_use"] > 0 and left["images"] == 0, left)
    got = [box("echo $FROM_IMAGE")["stdout"] for box in (waiting, later)]
    check("each has the image that its name meant when it was created", got == ["yes\n", "second\n"], got)
    check("and says so", d.must("GET", waiting.path)["image"] == f"{IMAGE}@{image}" != d.must("GET", later.path)["image"])
    later.stop()
    d.stop(signal.SIGKILL)
    left = images(d, "rm", IMAGE)
    d.start()
    got = waiting("cat /etc/motd; echo $FROM_IMAGE")
    check("without a daemon the sandbox still holds it", left["in_use"] > 0 and got["stdout"] == "of the image\nyes\n", left, got)
    waiting.stop()
    until("a stopped sandbox holds nothing", lambda: images(d, "prune")["in_use"] == 0 and os.listdir(os.path.join(d.state, "images/layers")) == [])
    check("a stopped sandbox holds nothing", True)
    error = d.call("POST", "/v1/sandboxes", {"manifest": KINDS["container"].block})
    check("an image that is gone is refused by name", (error.status, error.code) == (404, "image_not_found"), error)


def pool(folder, kind):
    row, state, path = KINDS[kind], os.path.join(folder, "pooled"), os.path.join(folder, "SANDBOX.json")
    manifest = {"schema": "sandbox/v1", **row.block}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(manifest, f)
    image = make_image(kind, state)
    with Daemon("--host", host_file(folder), "--pool", "1", "--pool-manifest", path, state=state) as d:
        def ready():
            return d.must("GET", "/v1/info")["pool"] == 1

        def claim():
            box = d.must("POST", "/v1/sandboxes", {"manifest": manifest})
            return box, d.exec(box["id"], "echo $FROM_IMAGE; echo here")["stdout"]

        until("one is ready", ready)
        box, said = claim()
        info = d.must("GET", "/v1/sandboxes/" + box["id"])
        check(f"{kind}: a sandbox of the pool is ready, and runs", box["status"] == "running" and said == ("yes\nhere\n" if image else "\nhere\n"), box, said)
        check(f"{kind}: and says its provider, tier and image as others do", (info["provider"], info.get("tier"), info.get("image"), "disk" in info) ==
              (row.block["provider"], row.tier, f"{IMAGE}@{image}" if image else None, True), info)
        until("the next is ready", ready)
        if image:
            make_image(kind, state, Env=["FROM_IMAGE=second"])
            check(f"{kind}: one that was ready for an older image is not handed out", claim()[1] == "second\nhere\n")
            until("the next is ready", ready)


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"origin\n")

    def log_message(self, *_):
        pass


def main():
    need_programs()
    wanted = sys.argv[1:] or list(KINDS)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)

        def part(kind):
            def run():
                one_kind(top, kind, server.server_port)
            run.__name__ = kind
            return run
        side_by_side(*[part(kind) for kind in wanted])
    return end()


if __name__ == "__main__":
    sys.exit(main())
