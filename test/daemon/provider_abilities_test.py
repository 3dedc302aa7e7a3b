#!/usr/bin/env python3
"""provider_abilities_test - a sandbox elsewhere has a terminal, and is paused, if the greeting of its provider's program says so.

The program is test/rig/bridge_stand_in.py; without the abilities it is the example over ssh. "Elsewhere" is the sandbox of the program itself.
"""
import fcntl
import json
import os
import pty
import shutil
import struct
import sys
import tempfile
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, HERE, TREE, check, end, until
from daemon_rig import Daemon

PYTHON = "/usr/bin/python3"
SIZES = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size; while [ \"$(stty size)\" = '33 77' ]; do sleep 0.1; done; stty size; read word; echo \"got-$word\"; exit 5"


def row(name, place, *words, more=""):
    program = [PYTHON, place + "/" + words[0], *words[1:]]
    return "  %s: {isolated: true, egress: closed, program: %s, tools: [%s]%s}\n" % (name, json.dumps(program), place, more)


def create(d, provider, more=""):
    return d.create(start=True, manifest="---\nschema: sandbox/v1\nprovider: %s\nconfig: {}\n%s---\n" % (provider, more))


def is_elsewhere(answer, *words):
    return answer.code == "capability_unavailable" and b'"elsewhere"' in answer.body and all(w in answer.body for w in words)


def pause(d, box, verb="pause"):
    return d.call("POST", "/v1/sandboxes/%s/%s" % (box, verb), {})


class Screen:
    """`carrel exec -t`, at a terminal."""
    def __init__(self, d, box, line, rows, columns):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
            os.execve(CARREL, [CARREL, "exec", "-t", box, "--", "sh", "-c", line], {**os.environ, "CARREL_STATE": d.state})

    def read(self):
        try:
            got = os.read(self.fd, 4096)
        except OSError:
            got = b""
        self.seen += got
        return got

    def until(self, text):
        while text not in self.seen and self.read():
            pass
        return text in self.seen

    def end(self):
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def terminal(d):
    box = create(d, "stand-in")
    screen = Screen(d, box, SIZES, 33, 77)
    first = screen.until(b"33 77")
    fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("4H", 44, 88, 0, 0))
    second = first and screen.until(b"44 88")
    os.write(screen.fd, b"word\r")
    status = screen.end()
    check("a command elsewhere has a terminal of the caller's size, which follows it", first and second, screen.seen)
    check("its input and its exit status arrive", b"got-word" in screen.seen and status == 5, screen.seen, status)
    screen = Screen(d, box, "trap 'echo stopped; exit 6' INT; echo ready; while :; do sleep 0.1; done", 24, 80)
    ready = screen.until(b"ready")
    os.write(screen.fd, b"\x03")
    status = screen.end()
    check("Ctrl-C is the terminal's", ready and b"stopped" in screen.seen and status == 6, screen.seen, status)
    screen = Screen(d, box, "head -c 500000 /dev/zero | tr '\\0' =", 24, 80)
    status = screen.end()
    check("more than its credit arrives, each byte once", screen.seen.count(b"=") == 500000 and status == 0, screen.seen.count(b"="), status)
    d.call("DELETE", "/v1/sandboxes/" + box)
    box = create(d, "no-create")
    answer = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", "tty": True})
    check("without the ability it is refused by name, and no sandbox is asked for", is_elsewhere(answer, b'"tty"'), answer)
    d.call("DELETE", "/v1/sandboxes/" + box)
    box = create(d, "ssh-box")
    d.exec(box, "true")
    answer = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", "tty": True})
    check("also beside commands that run", is_elsewhere(answer, b'"tty"') and d.exec(box, "echo on")["stdout"] == "on\n", answer)
    d.call("DELETE", "/v1/sandboxes/" + box)


def state_of(mark):
    """The state letter of the process with this word in its command line; None: there is none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as line, open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as stat:
                words, rest = line.read().split(b"\0"), stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[:2] == [b"sleep", mark.encode()]:
            return rest[0]
    return None


def pauses(d):
    mark = "9%07d" % os.getpid()
    box = create(d, "stand-in")
    early = pause(d, box)
    check("before the first command it is not known whether it can be paused", is_elsewhere(early), early)
    d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": "sleep %s" % mark, "background": True})
    until("the command runs", lambda: state_of(mark) == "S")
    answer = pause(d, box)
    check("it is paused", answer.status < 300 and answer.json["status"] == "paused", answer)
    until("its commands stand still", lambda: state_of(mark) == "T")
    answer = pause(d, box, "resume")
    check("it is resumed", answer.status < 300 and answer.json["status"] == "running", answer)
    until("its commands run", lambda: state_of(mark) == "S")
    pause(d, box)
    check("a command resumes it, and runs after that", d.exec(box, "echo on")["stdout"] == "on\n" and state_of(mark) == "S", state_of(mark))
    pause(d, box)
    d.stop()
    d.start()
    told = d.must("GET", "/v1/sandboxes/" + box)
    check("another daemon finds it paused", told["status"] == "paused" and d.exec(box, "echo on")["stdout"] == "on\n", told)
    pause(d, box)
    check("a paused one is stopped, and its commands with it", d.call("DELETE", "/v1/sandboxes/" + box).status < 300)
    until("they are gone", lambda: state_of(mark) is None)


def refused(d):
    box = create(d, "sleeps")
    d.exec(box, "true")
    answer = pause(d, box)
    first = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true"})
    check("a sandbox that does not wake starts no command", answer.status < 300 and first.status >= 400, answer, first)
    until("it wakes", lambda: d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true"}).status < 300)
    check("each command tries again", d.exec(box, "echo on")["stdout"] == "on\n")
    d.call("DELETE", "/v1/sandboxes/" + box)
    box = create(d, "repeats")
    d.exec(box, "true")
    pause(d, box)
    told = until("its sandbox ends", lambda: (got := d.call("GET", "/v1/sandboxes/" + box)).json.get("status") not in ("running", "paused") and got)
    check("a program that answers a pause twice ends its sandbox", told.status >= 400 or told.json["status"] in ("stopping", "failed"), told)
    d.call("DELETE", "/v1/sandboxes/" + box)
    box = create(d, "promises")
    answer = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true"})
    check("a program that does not pause as the host file promises starts nothing", answer.status >= 400 and b"host file promises" in answer.body, answer)
    d.call("DELETE", "/v1/sandboxes/" + box)
    idle = "lifecycle: {pause_after_idle: idle-600}\n"
    warned = {name: d.must("POST", "/v1/sandboxes", {"manifest": "---\nschema: sandbox/v1\nprovider: %s\nconfig: {}\n%s---\n" % (name, idle)}) for name in ("pauses", "stand-in")}
    check("the host file's promise is what lifecycle goes by", ["lifecycle_ignored" in json.dumps(warned[name]) for name in ("pauses", "stand-in")] == [False, True], warned)
    box = create(d, "pauses")
    check("and with it a sandbox is paused before its first command", pause(d, box).status < 300 and d.exec(box, "echo on")["stdout"] == "on\n")
    for one in (box, *(w["id"] for w in warned.values())):
        d.call("DELETE", "/v1/sandboxes/" + one)


with tempfile.TemporaryDirectory(prefix="carrel-abilities-") as top:
    os.chmod(top, 0o755)
    place = os.path.join(top, "provider")
    os.mkdir(place)
    for name in (os.path.join(TREE, "examples", "provider-ssh", "provider.py"), os.path.join(HERE, "bridge_liar.py"), os.path.join(HERE, "bridge_stand_in.py"), os.path.join(HERE, "bridge_ssh")):
        shutil.copy(name, place)
        os.chmod(os.path.join(place, os.path.basename(name)), 0o755)
    host = os.path.join(top, "host.yaml")
    with open(host, "w", encoding="utf-8") as f:
        f.write("providers:\n  local: {isolated: true}\n" + row("ssh-box", place, "provider.py", "--ssh", place + "/bridge_ssh", "here") + row("stand-in", place, "bridge_stand_in.py") + row("no-create", place, "bridge_liar.py", "no-create") +
                row("sleeps", place, "bridge_stand_in.py", "sleeps") + row("repeats", place, "bridge_stand_in.py", "repeats") + row("pauses", place, "bridge_stand_in.py", more=", pause: true") +
                row("promises", place, "provider.py", "--ssh", place + "/bridge_ssh", "here", more=", pause: true"))
    with Daemon("--host", host) as daemon:
        terminal(daemon)
        pauses(daemon)
        refused(daemon)
end()
