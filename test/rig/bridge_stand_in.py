#!/usr/bin/env python3
"""bridge_stand_in.py [MODE] - a provider's program with the abilities that the example over ssh does not have: a terminal, and pause.

Everything else is the example's, beside it or in the tree. "Elsewhere" is where this program runs. MODE: `runs-on` says that it has paused and has
not, `fixed` does not change the size of a terminal, `sleeps` refuses `resume` four times, `repeats` answers
`pause` twice, `records FILE` notes every message. Not a test.
"""
import base64
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = next(p for p in (HERE + "/provider.py", HERE + "/../../examples/provider-ssh/provider.py") if os.path.exists(p))
mode = sys.argv[1] if len(sys.argv) > 1 else "good"
real = subprocess.Popen([sys.executable, EXAMPLE, "--ssh", HERE + "/bridge_ssh", "here"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
speaking, terminals, refused = threading.Lock(), {}, []


def record(text):
    if mode == "records":
        with open(sys.argv[2], "a", encoding="utf-8") as f:
            f.write(text.strip() + "\n")


def tell(message):
    with speaking:
        record(json.dumps(message))
        print(json.dumps(message), flush=True)


def say(kind, **members):
    tell({"kind": kind, **members})


class Terminal:
    """A command with a terminal."""
    def __init__(self, m):
        self.number, self.credit, self.more = m["id"], 256 * 1024, threading.Condition()
        self.master, slave = pty.openpty()
        self.resize(m["terminal"])
        self.child = subprocess.Popen(["setsid", "-c", *m["argv"]], stdin=slave, stdout=slave, stderr=slave, cwd=m.get("cwd") or "/tmp", env={**os.environ, **m["env"]})
        os.close(slave)
        terminals[self.number] = self
        say("started", id=self.number)
        threading.Thread(target=self.live, daemon=True).start()

    def live(self):
        while data := self.read():
            with self.more:
                self.more.wait_for(lambda: self.credit >= len(data))
                self.credit -= len(data)
            say("output", id=self.number, stream="stdout", data=base64.b64encode(data).decode())
        status = self.child.wait()
        del terminals[self.number]
        say("exited", id=self.number, **({"signal": -status} if status < 0 else {"status": status}))

    def read(self):
        try:
            return os.read(self.master, 32 * 1024)
        except OSError:  # nobody has it open any more
            return b""

    def resize(self, m):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", m["rows"], m["columns"], 0, 0))

    def hear(self, m):
        if m["kind"] == "stdin":
            data = base64.b64decode(m["data"])
            os.write(self.master, data)
            say("credit", id=self.number, bytes=len(data))
        elif m["kind"] == "credit":
            with self.more:
                self.credit += m["bytes"]
                self.more.notify_all()
        elif m["kind"] == "resize" and mode != "fixed":
            self.resize(m)
        elif m["kind"] in ("signal", "cancel"):
            os.killpg(self.child.pid, m.get("signal", signal.SIGKILL))


def commands():
    """Every process of a command."""
    parents, found = {}, [t.child.pid for t in terminals.values()]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
                parents.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(pid))
        except OSError:
            pass
    found += parents.get(real.pid, [])
    for pid in found:
        found += parents.get(pid, [])
    return found


def stop(number):
    """Again until none is new: one may have been made meanwhile by one that was not stopped yet."""
    done = set()
    while mode != "runs-on" and (new := set(commands()) - done):
        for pid in new:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        done |= new


def to_example():
    for line in sys.stdin:
        m = json.loads(line)
        with speaking:
            record(line)
        if m["kind"] in ("pause", "resume"):
            if mode == "sleeps" and m["kind"] == "resume" and len(refused) < 4:
                refused.append(m)
                say("error", id=m["id"], code="failed", message="it does not wake")
                continue
            stop(signal.SIGSTOP if m["kind"] == "pause" else signal.SIGCONT)
            for _ in range(2 if mode == "repeats" else 1):
                say("reply", id=m["id"], result={})
        elif m["kind"] == "runCommand" and "terminal" in m:
            Terminal(m)
        elif m["id"] in terminals:
            terminals[m["id"]].hear(m)
        else:
            real.stdin.write(line)
            real.stdin.flush()
    stop(signal.SIGKILL)
    real.stdin.close()


threading.Thread(target=to_example, daemon=True).start()
for text in real.stdout:
    message = json.loads(text)
    if message["kind"] == "hello":
        message["abilities"] += ["terminal", "pause"]
    tell(message)
