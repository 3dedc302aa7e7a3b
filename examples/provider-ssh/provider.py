#!/usr/bin/env python3
"""provider.py [--ssh PROGRAM] HOST [SSH-OPTION...] - a provider for Carrel: sandboxes are directories of a machine that ssh reaches.

It speaks the bridge protocol (docs/BRIDGE.md). It isolates nothing: use it for a machine that may be lost.
    carrel provider test examples/provider-ssh/provider.py me@build.example.com
"""
import base64
import json
import queue
import shlex
import subprocess
import sys
import threading

SHIPPED = 32 * 1024  # bytes of output in one message
words = sys.argv[1:]
SSH, words = (words[1], words[2:]) if words[:1] == ["--ssh"] else ("ssh", words)
HOST, OPTIONS = words[0], ["-T", "-o", "BatchMode=yes", *words[1:]]
speaking, commands = threading.Lock(), {}


def say(kind, **members):
    with speaking:
        sys.stdout.write(json.dumps({"kind": kind, **members}) + "\n")
        sys.stdout.flush()


def remote(line):
    return [SSH, *OPTIONS, HOST, "--", line]


def run(line, given=b""):
    done = subprocess.run(remote(line), input=given, capture_output=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.decode(errors="replace").strip()[-900:] or f"ssh ended with {done.returncode}")
    return done.stdout


class Command:
    """One command. Its first line of output is its process group, for signals."""

    def __init__(self, number, m):
        self.number, self.credit, self.more = number, 256 * 1024, threading.Condition()
        self.given, self.signal, self.wanted, self.group = queue.Queue(), None, [], None
        env = shlex.join(f"{k}={v}" for k, v in m["env"].items())
        self.line = f"echo $$; cd {shlex.quote(m.get('cwd') or box)} && exec env {env} {shlex.join(m['argv'])}"
        self.has_input = m["stdin"]
        threading.Thread(target=self.live, daemon=True).start()

    def live(self):
        self.child = subprocess.Popen(remote(self.line), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        first = self.child.stdout.readline().strip()
        if not first.isdigit():
            text = self.child.communicate()[1].decode(errors="replace").strip()[-900:]
            end(self.number, "error", code="unavailable", message=text or "ssh could not start the command")
            return
        with self.more:
            self.group, early = int(first), list(self.wanted)
        say("started", id=self.number)
        for number in early:
            self.kill(number)
        threading.Thread(target=self.feed, daemon=True).start()
        other = threading.Thread(target=self.pump, args=("stderr",), daemon=True)
        other.start()
        self.pump("stdout")
        other.join()
        status = self.child.wait()  # ssh ends with 255 if a signal ended the command
        killed = -status if status < 0 else self.signal if status in (255, 128 + (self.signal or 0)) else None
        end(self.number, "exited", **({"signal": killed} if killed else {"status": status}))

    def pump(self, name):
        pipe = getattr(self.child, name)
        while True:
            data = pipe.read1(SHIPPED)
            if not data:
                return
            with self.more:
                self.more.wait_for(lambda: self.credit >= len(data))
                self.credit -= len(data)
            say("output", id=self.number, stream=name, data=base64.b64encode(data).decode())

    def feed(self):
        try:
            while self.has_input and (data := self.given.get()) is not None:
                self.child.stdin.write(data)
                self.child.stdin.flush()
                say("credit", id=self.number, bytes=len(data))
            self.child.stdin.close()
        except OSError:
            pass  # the command reads no more

    def kill(self, number):
        with self.more:
            self.signal = number
            if self.group is None:
                self.wanted.append(number)
                return
        subprocess.run(remote(f"kill -{number} -{self.group}"), stdin=subprocess.DEVNULL, capture_output=True, check=False)


def end(number, kind, **members):
    if commands.pop(number, None):
        say(kind, id=number, **members)


def answer(m):
    kind, path = m["kind"], m.get("path", "")
    at = shlex.quote(path if path.startswith("/") else f"{box}/{path}")
    if kind == "create":
        globals()["box"] = run("mktemp -d /tmp/carrel-XXXXXXXX").decode().strip()
        return {"sandbox": box}
    if kind == "isAlive":
        return {"alive": subprocess.run(remote(f"test -d {shlex.quote(m['sandbox'])}"), stdin=subprocess.DEVNULL, check=False).returncode == 0}
    if kind == "kill":
        for command in list(commands.values()):
            command.kill(9)
        run(f"rm -rf -- {shlex.quote(m['sandbox'])}")
        return {}
    if kind == "writeFile":
        run(f"cat {'>>' if m['append'] else '>'} {at}", base64.b64decode(m["data"]))
        return {}
    if kind == "readFile":
        size = int(run(f"wc -c < {at}"))
        return {"size": size, "data": base64.b64encode(run(f"tail -c +{m['offset'] + 1} {at} | head -c {m['length']}")).decode()}
    raise NotImplementedError(kind)


box = "/tmp"
say("hello", protocol=1, name="ssh", abilities=["files", "signals", "stdin"])
for text in sys.stdin:
    message = json.loads(text)
    about = commands.get(message.get("id"))
    if message["kind"] == "runCommand":
        commands[message["id"]] = True
        commands[message["id"]] = Command(message["id"], message)
    elif message["kind"] in ("stdin", "stdinEnd") and about:
        about.given.put(base64.b64decode(message["data"]) if message["kind"] == "stdin" else None)
    elif message["kind"] in ("signal", "cancel") and about:
        threading.Thread(target=about.kill, args=(message.get("signal", 9),), daemon=True).start()
    elif message["kind"] == "credit" and about:
        with about.more:
            about.credit += message["bytes"]
            about.more.notify_all()
    elif message["kind"] not in ("stdin", "stdinEnd", "signal", "cancel", "credit"):
        try:
            say("reply", id=message["id"], result=answer(message))
        except (OSError, ValueError, NotImplementedError) as why:
            code = "unsupported" if isinstance(why, NotImplementedError) else "not_found" if "No such file" in str(why) else "failed"
            say("error", id=message["id"], code=code, message=str(why)[:900])
