#!/usr/bin/env python3
"""provider.py [--ssh PROGRAM] HOST [SSH-OPTION...] - a provider for Carrel: sandboxes are directories of a machine that ssh reaches.

It speaks the bridge protocol (docs/BRIDGE.md). It isolates nothing: use it for a machine that may be lost. Directories need GNU find there.
    carrel provider test examples/provider-ssh/provider.py me@build.example.com
"""
import base64
import json
import os
import queue
import shlex
import subprocess
import sys
import threading

SSH, words = (sys.argv[2], sys.argv[3:]) if sys.argv[1] == "--ssh" else ("ssh", sys.argv[1:])
REMOTE = [SSH, "-T", "-o", "BatchMode=yes", *words[1:], words[0], "--"]
speaking, commands, box = threading.Lock(), {}, "/tmp"


def say(kind, **members):
    with speaking:
        print(json.dumps({"kind": kind, **members}), flush=True)


def run(line, given=b""):
    done = subprocess.run([*REMOTE, line], input=given, capture_output=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.decode(errors="replace").strip()[-900:] or f"ssh ended with {done.returncode}")
    return done.stdout


class Command:
    """One command. Its first line of output is its process group, for signals."""
    def __init__(self, m):
        self.number, self.credit, self.more = m["id"], 256 * 1024, threading.Condition()
        self.given, self.signal, self.wanted, self.group = queue.Queue(), None, [], None
        env = shlex.join(f"{k}={v}" for k, v in m["env"].items())
        self.line = f"echo $$; cd {shlex.quote(m.get('cwd') or box)} && exec env {env} {shlex.join(m['argv'])}"
        self.has_input, commands[self.number] = m["stdin"], self
        threading.Thread(target=self.live, daemon=True).start()

    def live(self):
        self.child = subprocess.Popen([*REMOTE, self.line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        first = self.child.stdout.readline().strip()
        if not first.isdigit():
            return self.end("error", code="unavailable", message=self.child.communicate()[1].decode(errors="replace").strip()[-900:] or "ssh did not start it")
        with self.more:
            self.group = int(first)
        say("started", id=self.number)
        for number in self.wanted:
            self.kill(number)
        threading.Thread(target=self.feed, daemon=True).start()
        other = threading.Thread(target=self.pump, args=("stderr",), daemon=True)
        other.start()
        self.pump("stdout")
        other.join()
        status = self.child.wait()  # of ssh: 255 if a signal ended the command
        killed = -status if status < 0 else self.signal if status in (255, 128 + (self.signal or 0)) else None
        return self.end("exited", **({"signal": killed} if killed else {"status": status}))

    def pump(self, name):
        while data := getattr(self.child, name).read1(32 * 1024):
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
                return self.wanted.append(number)
        return subprocess.run([*REMOTE, f"kill -{number} -{self.group}"], stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def hear(self, m):
        if m["kind"].startswith("stdin"):
            self.given.put(base64.b64decode(m["data"]) if m["kind"] == "stdin" else None)
        elif m["kind"] == "credit":
            with self.more:
                self.credit += m["bytes"]
                self.more.notify_all()
        else:
            threading.Thread(target=self.kill, args=(m.get("signal", 9),), daemon=True).start()

    def end(self, kind, **members):
        del commands[self.number]
        say(kind, id=self.number, **members)


def kill(m):
    _ = [command.kill(9) for command in list(commands.values())]
    run(f"rm -rf -- {shlex.quote(m['sandbox'])}")


def read(m):
    size, data = run(f"wc -c < {m['path']} && tail -c +{m['offset'] + 1} {m['path']} | head -c {m['length']}").split(b"\n", 1)
    return {"size": int(size), "data": base64.b64encode(data).decode()}


def find(line):
    fields = iter(run(line + r" -printf '%f\0%y\0%s\0%m\0%T@\0%l\0'").decode().split("\0"))  # of GNU find
    return [{"name": name, "type": TYPES[kind], "size": int(size), "mode": int(mode, 8), "mtime_ms": int(float(time) * 1000), **({"target": target} if target else {})}
            for name, kind, size, mode, time, target in zip(*[fields] * 6) if kind in TYPES]


def listed(m):
    entries = find(f"cd {m['path']} && find . -mindepth 1 -maxdepth 1")
    left = sorted((entry for entry in entries if entry["name"].encode() > m["after"].encode()), key=lambda entry: entry["name"].encode())
    return {"entries": left[:256], "more": len(left) > 256}


TYPES = {"f": "file", "d": "directory", "l": "link", "p": "fifo", "s": "socket"}
CODES = (("No such file", "not_found"), ("exists", "exists"), ("not empty", "exists"), ("-printf", "unsupported"), ("", "failed"))
ANSWERS = {
    "create": lambda m: globals().update(box=run("mktemp -d /tmp/carrel-XXXXXXXX").decode().strip()) or {"sandbox": box},
    "isAlive": lambda m: {"alive": subprocess.run([*REMOTE, f"test -d {shlex.quote(m['sandbox'])}"], stdin=subprocess.DEVNULL, check=False).returncode == 0},
    "kill": kill, "readFile": read, "list": listed, "stat": lambda m: {"entry": find(f"find {m['path']} -maxdepth 0")[0]},
    "writeFile": lambda m: run(f"cat {'>>' if m['append'] else '>'} {m['path']}", base64.b64decode(m["data"])),
    "makeDirectory": lambda m: run(f"mkdir -m {m['mode'] & 0o777:o} {'-p' if m['parents'] else ''} {m['path']}"),
    "rename": lambda m: run(f"mv -fT {m['path']} {m['target']}"),
    "remove": lambda m: run(f"x={m['path']}; " + ('rm -r "$x"' if m["recursive"] else '[ -d "$x" ] && [ ! -L "$x" ] && y=rmdir; ${y:-rm} "$x"')),
}
say("hello", protocol=1, name="ssh", abilities=["directories", "files", "signals", "stdin"])
for text in sys.stdin:
    message = json.loads(text)
    kind, about = message["kind"], commands.get(message["id"])
    message.update({name: shlex.quote(os.path.join(box, message[name])) for name in ("path", "target") if name in message})
    if kind == "runCommand":
        Command(message)
    elif about:
        about.hear(message)
    elif kind in ANSWERS:
        try:
            say("reply", id=message["id"], result=ANSWERS[kind](message) or {})
        except (OSError, ValueError, IndexError) as why:
            say("error", id=message["id"], code=next(code for words, code in CODES if words in str(why)), message=str(why)[:900])
    elif kind not in ("stdin", "stdinEnd", "signal", "cancel", "credit"):
        say("error", id=message["id"], code="unsupported", message="no such request")
