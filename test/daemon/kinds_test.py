#!/usr/bin/env python3
"""One list of rows over every kind of sandbox that runs here: the exec contract, files, ports, limits, egress, pause, a restart of
the daemon. Then what only a sandbox in an image has: it is pinned, held, and replaced in the pool. Prints TAP.
"""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, need_programs, until
from daemon_rig import Daemon
from image_rig import BUSYBOX, busybox_import

NAME = "box:1"
EGRESS = {"network": {"egress": ["listed.test"]}}
# kind: its provider and settings, its user, its home
KINDS = {
    "local": ({"provider": "local", "config": {}}, 1000, "/home/agent"),
    "container": ({"provider": "container", "config": {"image": NAME}}, 1000, "/home/agent"),
    "container as root": ({"provider": "container", "config": {"image": NAME, "user": "root"}}, 0, "/root"),
}


class Box:
    def __init__(self, d, kind, **fields):
        block, self.uid, self.home = KINDS[kind]
        self.d, self.kind = d, kind
        self.id = d.create(manifest={**block, **fields.pop("block", {})}, **fields)
        self.path = "/v1/sandboxes/" + self.id

    def __call__(self, argv, **fields):
        return self.d.exec(self.id, argv, **fields)

    def tell(self, what, *more):
        check(f"{self.kind}: {what}", *more)

    def stop(self):
        self.d.must("DELETE", self.path)


def commands(box):
    got = box(["sh", "-c", "echo out; echo err >&2; exit 7"])
    box.tell("output and status", (got["stdout"], got["stderr"], got["exit_code"], got["outcome"]) == ("out\n", "err\n", 7, "exited"), got)
    got = box("kill -9 $$")
    box.tell("a signal is told", (got["outcome"], got["signal"]) == ("signaled", 9), got)
    got = box("sleep 1000 & sleep 1000", timeout_ms=300)
    box.tell("a timeout kills the tree", got["outcome"] == "timed_out" and "sleep 1000" not in box("ps")["stdout"], got)
    got = box(["cat"], input="aé€")
    box.tell("standard input", got["stdout"] == "aé€", got)
    got = box(["sh", "-c", "pwd; echo $X; id -u; echo $HOME"], cwd="/tmp", env={"X": "y z"})
    box.tell("directory, environment, user and home", got["stdout"].splitlines() == ["/tmp", "y z", str(box.uid), box.home], got)
    bad = [box.d.call("POST", box.path + "/execs", body).code for body in ({"argv": ["nope-nope"]}, {"argv": ["true"], "cwd": "/nope"})]
    box.tell("no such command, no such directory", bad == ["command_not_found", "invalid_argument"], bad)
    number = box.d.must("POST", box.path + "/execs", {"command": "read x; echo got $x", "background": True, "stdin": True})["exec"]
    box.d.call("POST", f"{box.path}/execs/{number}/stdin?end=true", b"words\n")
    got = box.d.must("GET", f"{box.path}/execs/{number}/output?wait=true")
    box.tell("a background command is fed and read", got["stdout"] == "got words\n", got)
    got = box(["sh", "-c", "head -c 3000000 /dev/zero"])
    box.tell("what an answer has no room for is counted", len(got["stdout"]) == 1 << 20 and got["dropped_bytes"] == 3000000 - (1 << 20), got["dropped_bytes"])


def files(box):
    d, path = box.d, box.path + "/files?path="
    put = d.call("PUT", path + "/tmp/in&mode=0640", b"\0\xffdata")
    got = d.call("GET", path + "/tmp/in")
    box.tell("a file comes back as it went", put.status < 300 and got.body == b"\0\xffdata" and box("stat -c %a:%u /tmp/in")["stdout"] == f"640:{box.uid}\n", put, got)
    wrong = d.call("PUT", path + "/etc/motd", b"changed")
    box.tell("the system is changed by root alone", (wrong.status < 300) == (box.uid == 0), wrong)
    box("ln -s /etc/passwd /tmp/link")
    got = d.call("GET", path + "/tmp/nothing")
    box.tell("a missing file is one", got.status == 404, got)


def limits(box):
    got = box("i=0; while [ $i -lt 80 ]; do sleep 30 & i=$((i + 1)); done; echo all", timeout_ms=20000)
    box.tell("limits.pids holds", "all\n" not in got["stdout"] or "fork" in got["stderr"], got)
    small = Box(box.d, box.kind, block={"metadata": {"carrel": {"limits": {"disk_mb": 100}}}})
    got = small("dd if=/dev/zero of=/tmp/big bs=1M count=200 && sleep 1000", timeout_ms=60000)
    small.tell("the private disk has its size", got["outcome"] == "policy_killed" or got["exit_code"] == 1, got)
    small.stop()


def ports(box):
    box("mkdir -p /tmp/www; echo inside > /tmp/www/page")
    serve = "while true; do printf 'HTTP/1.0 200 OK\\r\\nContent-Length: 7\\r\\n\\r\\ninside\\n' | %s nc -l -p 8123; done" % BUSYBOX
    box.d.must("POST", box.path + "/execs", {"command": serve, "background": True})
    url = box.d.must("GET", box.path + "/ports/8123")["url"]
    host, port, rest = re.match(r"http://([\d.]+):(\d+)(/.*)", url).groups()

    def get():
        c = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        try:
            c.request("GET", rest)
            return c.getresponse().read()
        except (OSError, http.client.HTTPException):
            return b""
        finally:
            c.close()

    box.tell("a port inside is reached by its URL", until("a server answers", lambda: get() == b"inside\n"))


def egress(box):
    got = box(BUSYBOX + " wget -q -O - http://refused.test/ 2>&1; cat /etc/resolv.conf")
    items = until("the refusal is told", lambda: box.d.must("GET", box.path + "/denials")["items"])
    box.tell("a name that is not listed is refused, and told", any(i.get("host") == "refused.test" for i in items) and "nameserver" in got["stdout"], got, items)


def lives(box):
    d = box.d
    paused = d.call("POST", box.path + "/pause")
    if paused.status == 200:
        box.tell("pause and resume", d.must("POST", box.path + "/resume")["status"] == "running")
    box("echo kept > /tmp/kept")
    number = d.must("POST", box.path + "/execs", {"command": "read x; cat /tmp/kept; echo $FROM_IMAGE", "background": True, "stdin": True})["exec"]
    d.stop(signal.SIGKILL)
    d.start()
    d.call("POST", f"{box.path}/execs/{number}/stdin?end=true", b"\n")
    got = d.must("GET", f"{box.path}/execs/{number}/output?wait=true")
    again = box("cat /tmp/kept; echo $FROM_IMAGE")
    wanted = "kept\n\n" if box.kind == "local" else "kept\nyes\n"
    box.tell("it outlives its daemon", got["stdout"] == again["stdout"] == wanted, got, again)


def every_kind(d, image):
    for kind in KINDS:
        box = Box(d, kind, ports=[8123], block={**EGRESS, "metadata": {"carrel": {"limits": {"pids": 60}}}})
        for part in (commands, files, ports, egress, lives, limits):
            part(box)
        told = d.must("GET", box.path)
        box.tell("info says the tier, and which image", (told["tier"], told.get("image")) == (("T1", None) if kind == "local" else ("T2", f"{NAME}@{image}")), told)
        used = [item for item in d.must("GET", "/v1/usage")["items"] if item.get("sandbox", item.get("id")) == box.id]
        box.tell("its usage is counted", used and used[0]["execs"] > 5, used)
        box.stop()


def carrel(d, *words):
    done = subprocess.run([CARREL, *words, "--state", d.state, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return json.loads(done.stdout)


def pinned(d, image):
    waiting = Box(d, "container")
    busybox_import(CARREL, d.state, NAME, Env=["FROM_IMAGE=second"])
    later = Box(d, "container")
    left = carrel(d, "image", "prune")
    check("a sandbox that is not started yet holds its image", left["in_use"] > 0 and left["images"] == 0, left)
    got = [box("echo $FROM_IMAGE")["stdout"] for box in (waiting, later)]
    check("each has the image that its name meant when it was created", got == ["yes\n", "second\n"], got)
    check("and says so", d.must("GET", waiting.path)["image"] == f"{NAME}@{image}" != d.must("GET", later.path)["image"])
    later.stop()
    d.stop(signal.SIGKILL)
    left = carrel(d, "image", "rm", NAME)
    d.start()
    got = waiting("cat /etc/motd; echo $FROM_IMAGE")
    check("without a daemon the sandbox still holds it", left["in_use"] > 0 and got["stdout"] == "of the image\nyes\n", left, got)
    waiting.stop()
    until("a stopped sandbox holds nothing", lambda: carrel(d, "image", "prune")["in_use"] == 0 and os.listdir(os.path.join(d.state, "images/layers")) == [])
    check("a stopped sandbox holds nothing", True)
    error = d.call("POST", "/v1/sandboxes", {"manifest": KINDS["container"][0]})
    check("an image that is gone is refused by name", (error.status, error.code) == (404, "image_not_found"), error)


def pool(top):
    state, path = os.path.join(top, "pooled"), os.path.join(top, "SANDBOX.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schema": "sandbox/v1", **KINDS["container"][0]}, f)
    busybox_import(CARREL, state, NAME)
    with Daemon("--pool", "1", "--pool-manifest", path, state=state) as d:
        def ready():
            return d.must("GET", "/v1/info")["pool"] == 1

        def claim():
            box = d.must("POST", "/v1/sandboxes", {"manifest": {"schema": "sandbox/v1", **KINDS["container"][0]}})
            return d.exec(box["id"], "echo $FROM_IMAGE; cat /etc/motd")["stdout"]

        until("one is ready", ready)
        check("a sandbox of the pool has its image", claim() == "yes\nof the image\n")
        until("the next is ready", ready)
        busybox_import(CARREL, state, NAME, Env=["FROM_IMAGE=second"])
        check("one that was ready for an older image is not handed out", claim() == "second\nof the image\n")


def main():
    need_programs()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        state = os.path.join(top, "state")
        image = busybox_import(CARREL, state, NAME)["id"]
        with Daemon(state=state) as d:
            every_kind(d, image)
            pinned(d, image)
        pool(top)
    return end()


if __name__ == "__main__":
    sys.exit(main())
