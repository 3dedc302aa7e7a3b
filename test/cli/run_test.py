#!/usr/bin/env python3
"""`carrel run`: the exec contract, and the cases of AIP-36 that need a running sandbox. Prints TAP.

One terminal event with one of eight words. The whole tree is killed. A process that holds standard
output open does not keep the call from returning. Output is immediate and exact. Input, signals and
the terminal are forwarded. The exit status is the command's own.
"""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import (ALWAYS, CARREL, DEEP, ROOT, Inventory, Workspace, check, end, manifest, need_programs, own_place, report, side_by_side, until)

MIB = 1 << 20
BLOB, INPUT = (64, 100) if DEEP else (16, 25)       # MiB
STATUSES = range(256) if DEEP else (0, 1, 2, 3, 17, 63, 64, 100, *range(123, 145), 191, 192, 254, 255)
WORDS = ("exited", "signaled", "timed_out", "oom_killed", "cpu_limit", "killed", "policy_killed", "lost")
MEMBERS = {"id", "outcome", "exit_code", "timeout_ms", "timeout_by", "timed_out", "duration_ms", "cpu_ms", "memory_peak_kb", "stdout_bytes",
           "stderr_bytes", "dropped_bytes", "stdout", "stderr", "truncated", "left_behind", "errors", "warnings"}
BASE_SET = {"PATH", "HOME", "TERM", "LANG", "PWD", "USER", "LOGNAME", "SHELL"}
RETRIES = {"npm_config_fetch_retries", "PIP_RETRIES", "CARGO_NET_RETRY", "UV_HTTP_RETRIES"}     # if network.egress lists nothing
# Forks, leaves its session and its group, renames itself, ignores every signal that can be ignored,
# holds both outputs open.
SURVIVOR = r"""
import os, signal, sys, time, ctypes
for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT): signal.signal(n, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(15, b"kworker/0:0")
        while True:
            with open("/workspace/beat", "a") as f: f.write(".")
            time.sleep(0.02)
    os._exit(0)
print("started", flush=True)
%s
"""


def pipe_hash(argv, data_len, timeout=ALWAYS, **more):
    """Writes data_len zero bytes and hashes the output, both at once."""
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    digest = hashlib.sha256()

    def feed():
        block = bytes(MIB)
        try:
            for _ in range(data_len // MIB):
                p.stdin.write(block)
        except BrokenPipeError:
            pass  # the other side stopped reading; its report is checked below
        try:
            p.stdin.close()
        except BrokenPipeError:
            pass  # the same
    feeder = threading.Thread(target=feed)
    feeder.start()
    killer = threading.Timer(timeout, p.kill)
    killer.start()
    while block := p.stdout.read(MIB):
        digest.update(block)
    status = p.wait()
    feeder.join()
    killer.cancel()
    return status, digest.hexdigest()


# -- one ending ------------------------------------------------------------------------------------------------

def endings():
    with Workspace() as ws:
        done = ws.sh("i=0; while [ $i -lt 256 ]; do (exit $i); echo $? ; i=$((i+1)); done | sort -n | uniq | wc -l")
        check("every exit status exists inside", done.stdout.strip() == b"256", done)
        wrong = [(i, s) for i in STATUSES if (s := ws.run(["sh", "-c", "exit %d" % i], "--raw").returncode) != i]
        report("%d exit statuses of 0 to 255 arrive as they are" % len(STATUSES), [str(wrong)] if wrong else [])
        wrong = []
        for number in [n for n in range(1, 32) if n not in (17, 18, 19, 20, 21, 22, 23, 28)]:
            status, answer = ws.json(["python3", "-c", "import os,signal;signal.signal(%d,0) if %d not in (9,19) else 0;os.kill(os.getpid(),%d)" % ((number,) * 3)])
            if status != 128 + number or (answer["outcome"], answer.get("signal"), answer["exit_code"]) != ("signaled", number, 128 + number):
                wrong.append("signal %d: status %d, %s" % (number, status, answer))
        report("each deadly signal is told as itself, status 128 + its number", wrong)
        status, answer = ws.json(["sh", "-c", "echo out; echo err >&2; exit 3"])
        check("--json has exactly its members", set(answer) == MEMBERS, sorted(answer))
        check("--json tells the ending", (status, answer["outcome"], answer["exit_code"], answer.get("signal"), answer["stdout"], answer["stderr"],
              answer["truncated"], answer["dropped_bytes"]) == (3, "exited", 3, None, "out\n", "err\n", False, 0), answer)
        status, answer = ws.json(["sh", "-c", "exit 143"])
        check("status 143 by itself is no signal", (status, answer["outcome"], answer["exit_code"]) == (143, "exited", 143), answer)
        rows = [("nothing-of-this-name", 127, "command_not_found"), ("/workspace/SANDBOX.md", 126, "command_not_executable"), ("/etc", 126, "command_not_executable")]
        for name, want, code in rows:
            status, answer = ws.json([name])
            check("%s: %d, %s" % (name, want, code), status == want and answer["error"]["code"] == code, status, answer)
        status, answer = ws.json(["true"], "--nope")
        check("our own failure is 125", status == 125 and answer["error"]["code"] == "invalid_argument", status, answer)


def timeout_of(name, last):
    # On a busy machine that delays the heartbeat, it gets more time.
    for timeout_ms in (1000, 6000, 60000):
        with Workspace(limits="timeout_ms: %d" % timeout_ms) as ws:
            start = time.monotonic()
            status, answer = ws.json(["python3", "-c", SURVIVOR % last])
            took = time.monotonic() - start
            size = len(ws.read("beat") or b"")
            time.sleep(0.1)     # five heartbeats: to prove that one is absent takes time
            later = len(ws.read("beat") or b"")
        if size:
            break
    check("timeout, %s: one ending, timed_out" % name, (status, answer["outcome"], answer["timed_out"], answer["exit_code"]) ==
          (124, "timed_out", True, 124) and answer["error"]["code"] == "sandbox_timeout", status, answer)
    check("timeout, %s: returns long before the command would" % name, timeout_ms * 0.9 / 1000 < took < ALWAYS, took)
    check("timeout, %s: the double-forked heartbeat ran and has stopped" % name, 0 < size == later, size, later)


def timeouts():
    side_by_side(lambda: timeout_of("the command waits", "time.sleep(1000)"), lambda: timeout_of("the command spins", "while True: pass"))
    with Workspace(limits="timeout_ms: 280000") as ws:
        done = ws.python(SURVIVOR % "import os; os.read(os.open('/dev/null', 0), 1)\nwhile not os.path.exists('/workspace/beat') or not os.path.getsize('/workspace/beat'): time.sleep(0.01)\nos._exit(5)")
        size = len(ws.read("beat") or b"")
        check("a grandchild that holds standard output open does not keep the call", done.returncode == 5 and done.stdout == b"started\n", done)
        time.sleep(0.1)         # the same
        check("... and has died with it", 0 < size == len(ws.read("beat")), size)
        check("--timeout only narrows", ws.run(["sleep", "1000"], "--timeout", "300ms").returncode == 124)
    with Workspace(limits="timeout_ms: 300") as ws:
        done = ws.run(["sleep", "1000"], "--timeout", "1h")
        check("--timeout above what the manifest wrote is refused with both numbers", done.returncode == 126 and b"1 h is above the 300 ms" in done.stderr and
              b"limits.timeout_ms: 300)" in done.stderr and b"or raise limits.timeout_ms in SANDBOX.md" in done.stderr, done)
        done = ws.run(["sleep", "1000"])
        check("the end names the limit that was written, its value and its place", done.returncode == 124 and b"after 300 ms (limits.timeout_ms)" in done.stderr and
              b"Raise limits.timeout_ms in SANDBOX.md" in done.stderr, done)
    with Workspace() as ws:
        done = ws.run(["sleep", "1000"], "--timeout", "250ms")
        check("... and that of the command line", done.returncode == 124 and b"after 250 ms (--timeout" in done.stderr, done)
        def last_resort(*options):
            plan = subprocess.run([CARREL, "plan", "--steps", "-w", ws.path, *options], stdout=subprocess.PIPE, timeout=ALWAYS, check=True).stdout.decode()
            return re.search(r"^.*\bspawn\b.*$", plan, re.M).group(0)
        check("a silent manifest: 10 minutes, more with --timeout, no limit at a terminal", ws.run(["true"], "--timeout", "2h").returncode == 0 and
              len({last_resort(), last_resort("--timeout", "10m")}) == 1 and len({last_resort(), last_resort("-t"), last_resort("--timeout", "2h")}) == 3,
              last_resort(), last_resort("-t"), last_resort("--timeout", "2h"))


def overrides():
    """Values of one run are judged like those of the manifest, and a refusal names the option."""
    with Workspace(limits="memory_mb: 300") as ws:
        os.makedirs(os.path.join(ws.path, "sub"))
        ws.write("sub/file", "in")
        done = ws.run(["sh", "-c", "df -m /tmp | tail -1; cat /data/file; touch /data/x; grep -c processes /proc/self/limits; grep processes /proc/self/limits"],
                      "--disk", "100m", "--pids", "50", "-v", "./sub:/data:ro")
        words = done.stdout.split()
        check("--disk, --pids and -v hold for one run", words[1] == b"100" and b"in1" in done.stdout and 50 < int(done.stdout.split(b"processes")[1].split()[0]) < 200 and b"Read-only" in done.stderr, done)
        plan = json.loads(subprocess.run([CARREL, "plan", "-w", ws.path, "--json", "--allow", "one.example", "--memory", "64m"], stdout=subprocess.PIPE, timeout=ALWAYS, check=True).stdout)
        check("--allow and --memory are in the plan", any("wall" in s["step"] for s in plan["steps"]) and (os.geteuid() != 0 or any(s.get("text") == "67108864" for s in plan["steps"])), plan)
        for words, code, said in ((["--memory", "1g"], 126, b"--memory: 1024 is above the 300 that the manifest permits"), (["--allow", "https://x.y"], 126, b"--allow: "),
                                  (["-v", "/srv:/srv"], 126, b"-v: \"/srv\" is below none of the host's mount_roots"), (["-v", "./..:/x"], 126, b"-v: "),
                                  (["-v", ".cache:/x"], 125, b"-v: "), (["-v", "./sub:/proc"], 126, b"-v: "), (["--disk", "0"], 125, b"--disk: "),
                                  (["--memory", "12q"], 125, b"--memory 2g")):
            done = ws.run(["true"], *words)
            check("%s is refused, and named" % " ".join(words), done.returncode == code and said in done.stderr and b"SANDBOX.md:" not in done.stderr, done)
        ws.write("host.yaml", "providers: {local: {isolated: true, mounts: true}}\nlimits_max: {pids: 40}\n")
        done = ws.run(["true"], "--pids", "41", "--host", os.path.join(ws.path, "host.yaml"))
        check("what the host's rules forbid, an option does not get", done.returncode == 126 and b"--pids: pids is 41, and this host permits at most 40" in done.stderr, done)


# -- bytes -----------------------------------------------------------------------------------------------------

def output():
    with Workspace(limits="timeout_ms: 280000") as ws:
        p = subprocess.Popen(ws.argv(["sh", "-c", "printf first; read x; printf second; exit 4"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        first = os.read(p.stdout.fileno(), 100)     # answers while the command still waits for this line
        running = p.poll() is None
        rest, _ = p.communicate(b"go\n", timeout=ALWAYS)
        check("output is live: the first bytes come before the end", (first, running, rest, p.returncode) == (b"first", True, b"second", 4), first, rest)
        blob = os.urandom(BLOB * MIB)
        ws.write("blob", blob)
        want = hashlib.sha256(blob).hexdigest()
        done = ws.run(["cat", "/workspace/blob"])
        check("%d MiB of random bytes arrive exactly (pipe)" % BLOB, hashlib.sha256(done.stdout).hexdigest() == want, len(done.stdout), done.stderr)
        with open(os.path.join(ws.folder, "out"), "w+b") as out:
            ws.run(["cat", "/workspace/blob"], stdout=out)
            out.seek(0)
            check("the same into a file", hashlib.sha256(out.read()).hexdigest() == want)
        left, right = socket.socketpair()
        got, p = hashlib.sha256(), subprocess.Popen(ws.argv(["cat", "/workspace/blob"]), stdout=right, stdin=subprocess.DEVNULL)
        right.close()
        while block := left.recv(MIB):
            got.update(block)
        check("the same into a socket", p.wait(ALWAYS) == 0 and got.hexdigest() == want)
        left.close()
        p = subprocess.Popen(ws.argv(["cat", "/workspace/blob"]), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        got, total = hashlib.sha256(), 0
        while block := os.read(p.stdout.fileno(), 4093 if total < 4 * MIB else MIB):
            got.update(block)
            total += len(block)
        check("a slow reader with odd sizes gets every byte", p.wait(ALWAYS) == 0 and got.hexdigest() == want, total)
        p.stdout.close()
        p = subprocess.Popen(ws.argv(["head", "-c", "100000", "/dev/zero"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        total = len(os.read(p.stdout.fileno(), 1))
        until("the command is over", lambda: "head" not in names_below(p.pid))
        time.sleep(2.5)         # longer than a killed command waits for its reader
        got, err = p.communicate(timeout=ALWAYS)
        check("a reader that is away when the command ends gets every byte", total + len(got) == 100000 and (p.returncode, err) == (0, b""), total + len(got), err)
        p = subprocess.Popen(ws.argv(["sh", "-c", "trap 'echo pipe > /workspace/pipe' PIPE; cat /workspace/blob; echo $? > /workspace/status; exit 9"]),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        os.read(p.stdout.fileno(), 10)
        p.stdout.close()
        status = p.wait(ALWAYS)
        check("a reader that goes away is told to the writer (EPIPE), and the command ends as it likes", status == 9 and
              ws.read("status") in (b"141\n", b"1\n"), status, ws.read("status"), p.stderr.read())
        p.stderr.close()
        done = ws.sh("echo o; echo e >&2")
        check("the two outputs stay apart", (done.stdout, done.stderr) == (b"o\n", b"e\n"), done)
    with Workspace(carrel="limits: {output_bytes: 1000}") as ws:
        done = ws.sh("head -c 5000 /dev/zero | tr '\\0' x; exit 6")
        check("limits.output_bytes: what is past it is dropped, counted and told", done.returncode == 6 and done.stdout == b"x" * 1000 and
              b"4000 bytes" in done.stderr, done.returncode, len(done.stdout), done.stderr)
        status, answer = ws.json(["sh", "-c", "head -c 5000 /dev/zero | tr '\\0' x; exit 6"])
        check("... and counted in --json", (status, answer["stdout"], answer["dropped_bytes"], answer["truncated"], answer["stdout_bytes"]) ==
              (6, "x" * 1000, 4000, True, 5000), answer)
        with open(os.path.join(ws.folder, "out"), "w+b") as out:
            done = ws.sh("head -c 50000000 /dev/zero; exit 6", stdout=out)
            check("... and does not stop the command", done.returncode == 6 and os.fstat(out.fileno()).st_size == 1000, done.returncode)


def stdin():
    with Workspace(limits="timeout_ms: 280000") as ws:
        want = hashlib.sha256(bytes(INPUT * MIB)).hexdigest()
        inside = subprocess.run(ws.argv(["sh", "-c", "cat | sha256sum"]), input=bytes(INPUT * MIB), stdout=subprocess.PIPE, timeout=ALWAYS, check=False)
        check("%d MiB of input arrive exactly" % INPUT, inside.stdout.split()[:1] == [want.encode()], inside)
        status, got = pipe_hash(ws.argv(["cat"]), INPUT * MIB)
        check("... and come back exactly, both ways at once", status == 0 and got == want, status)
        status, _ = pipe_hash(ws.argv(["true"]), INPUT * MIB)
        check("%d MiB to `true`: no stall" % INPUT, status == 0, status)
        status, _ = pipe_hash(ws.argv(["sleep", "0.2"]), INPUT * MIB)
        check("%d MiB to `sleep`: no stall" % INPUT, status == 0, status)
        done = ws.run(["cat"])
        check("no input is an end at once", done.returncode == 0 and done.stdout == b"", done)
        p = subprocess.Popen(ws.argv(["sh", "-c", "read a; echo got $a; exec sleep 0"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        p.stdin.write(b"one\n")
        p.stdin.flush()
        out = p.stdout.read()   # this end stays open all the time
        check("an open input does not keep the call from returning", out == b"got one\n" and p.wait(ALWAYS) == 0, out)
        p.stdin.close()
        p.stdout.close()
        done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *ws.argv(["sh", "-c", "echo a; echo b >&2; ls /proc/self/fd > /workspace/fds"])],
                              timeout=ALWAYS, check=False)
        check("closed standard streams are no harm", done.returncode == 0 and ws.read("fds").split() == [b"0", b"1", b"2", b"3"], done, ws.read("fds"))


# -- the terminal, signals -------------------------------------------------------------------------------------

class Screen:
    """What a terminal shows. A read may get more than is waited for; the rest is for the next wait."""

    def __init__(self, fd):
        self.fd, self.rest = fd, b""

    def until(self, words):
        """All up to these words; without them if they never come."""
        limit = time.monotonic() + ALWAYS
        while words not in self.rest and (left := limit - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                try:
                    got = os.read(self.fd, 65536)
                except OSError:
                    break   # the other end is closed
                if not got:
                    break
                self.rest += got
        at = self.rest.index(words) + len(words) if words in self.rest else len(self.rest)
        seen, self.rest = self.rest[:at], self.rest[at:]
        return seen


def terminal():
    os.environ["TERM"] = "xterm"        # without a word for it, its modes are not reset
    with Workspace() as ws:
        master, slave = pty.openpty()
        screen = Screen(master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 123, 0, 0))
        before = termios.tcgetattr(slave)
        p = subprocess.Popen(["setsid", "-c", *ws.argv(["python3", "-c", "import os,signal,time\n"
                                      "def size(*_): os.write(1, b'size %d %d\\n' % os.get_terminal_size(0))\n"
                                      "signal.signal(signal.SIGWINCH, size)\n"
                                      "try:\n"
                                      "  print('tty', [os.isatty(i) for i in (0,1,2)], os.ttyname(0), flush=True); size()\n"
                                      "  while True: time.sleep(0.05)\n"           # a signal just before pause() would be handled with the next one
                                      "except KeyboardInterrupt: os.write(1, b'interrupted\\n')\nraise SystemExit(17)"], "-t")],
                             stdin=slave, stdout=slave, stderr=slave)
        seen = screen.until(b"size 123 41")
        check("-t: a terminal inside, of its own, of the same size", b"tty [True, True, True] /dev/" in seen and b"size 123 41" in seen, seen)
        raw = termios.tcgetattr(slave)
        check("-t: outside the terminal is raw meanwhile", not raw[3] & (termios.ICANON | termios.ECHO | termios.ISIG), raw)
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 90, 0, 0))
        seen = screen.until(b"size 90 50")
        check("-t: a new size is passed on", b"size 90 50" in seen, seen)
        os.write(master, b"\x03")
        seen = screen.until(b"interrupted")
        check("-t: ctrl-C reaches the command", b"interrupted" in seen, seen)
        check("-t: the exit status is the command's own", p.wait(ALWAYS) == 17, p.returncode)
        check("-t: the terminal is as it was", termios.tcgetattr(slave) == before, termios.tcgetattr(slave), before)
        seen = screen.until(b"back on the host.\r\n")
        check("-t: the last line says where one is", seen.endswith(b"You are back on the host.\r\n"), seen)
        for how in ("timeout", "kill"):
            p = subprocess.Popen(ws.argv(["sh", "-c", "echo for %s; sleep 1000" % how], "-t", "--timeout", "3s" if how == "timeout" else "280s"),
                                 stdin=slave, stdout=slave, stderr=slave)
            if how == "kill":
                screen.until(b"for kill")
                p.terminate()
            status = p.wait(ALWAYS)
            check("-t: ... also after a %s" % how, status == (124 if how == "timeout" else 143) and termios.tcgetattr(slave) == before, status)
            seen = screen.until(b"back on the host.\r\n")
            check("-t: ... and the last line, on a line of its own, says where one is", seen.endswith(b"\ncarrel: the sandbox has ended. You are back on the host.\r\n") and
                  b"\033[?1047l" in seen, seen)
        for shell, prompt in ((["bash", "--norc", "-i"], b"(carrel) /workspace $ "), (["dash", "-i"], b"(carrel) /workspace $ "), (["bash", "-i"], b"(mine) ")):
            extra = ["-e", "PS1=(mine) "] if prompt == b"(mine) " else []
            p = subprocess.Popen(ws.argv(shell, "-t", *extra), stdin=slave, stdout=slave, stderr=slave)
            seen = screen.until(prompt)
            os.write(master, b"exit 3\n")
            status = p.wait(ALWAYS)
            check("-t: the prompt of %s says that it is inside" % " ".join(shell + extra), prompt in seen and status == 3, seen, status)
            seen = screen.until(b"back on the host.\r\n")
            check("-t: ... a normal end says where one is, and leaves the terminal alone", b"You are back on the host." in seen and b"\033[?1047l" not in seen, seen)
        os.close(slave)
        os.close(master)
        status, answer = ws.json(["true"], "-t")
        check("-t without a terminal is refused", status == 125 and answer["error"]["code"] == "invalid_argument", answer)


def signals():
    with Workspace() as ws:
        wrong = []
        for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
            number = getattr(signal, "SIG" + name)
            p = subprocess.Popen(ws.argv(["sh", "-c", "trap 'echo got %s; exit 33' %s; echo ready; while :; do sleep 0.01; done" % (name, name)]),
                                 stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            p.stdout.readline()
            p.send_signal(number)
            out = p.stdout.read()
            if p.wait(ALWAYS) != 33 or out != b"got %s\n" % name.encode():
                wrong.append("%s: %d %r" % (name, p.returncode, out))
            p.stdout.close()
        report("signals to carrel reach the command", wrong)
        p = subprocess.Popen(ws.argv(["sh", "-c", "echo ready; exec sleep 1000"], "--json"), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        until("the command runs", lambda: any("sleep" in n for n in names_below(p.pid)))
        p.terminate()
        out, _ = p.communicate(timeout=ALWAYS)
        check("a command that a signal ends is `signaled`", p.returncode == 143 and json.loads(out)["outcome"] == "signaled", p.returncode, out)
        p = subprocess.Popen(ws.argv(["sh", "-c", "trap '' TERM INT HUP QUIT; echo ready; while :; do sleep 0.01; done"]),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        p.stdout.readline()
        while p.poll() is None:
            p.terminate()       # two of them before it checks count as one
            time.sleep(0.05)
        check("C01: who ignores the first is killed by the second", p.wait(ALWAYS) == 137 and b"killed" in p.stderr.read(), p.returncode)
        p.stdout.close()
        p.stderr.close()


def names_below(pid):
    """The names of a process's descendants."""
    found, todo = [], [pid]
    while todo:
        at = todo.pop()
        try:
            with open("/proc/%d/task/%d/children" % (at, at), encoding="ascii") as f:
                children = [int(c) for c in f.read().split()]
            for child in children:
                with open("/proc/%d/comm" % child, encoding="utf-8", errors="replace") as f:
                    found.append(f.read())
            todo += children
        except OSError:
            continue
    return found


# -- AIP-36 ----------------------------------------------------------------------------------------------------

def needs_group(done_stderr, field, name):
    """Without root, on such a host, the verdict is a warning by name, and the run continues."""
    report(name, [] if ("limit_unenforceable:%s" % field) in done_stderr else ["no warning by name: " + done_stderr])


def least_cpu(ws, script, wanted):
    """A machine that stops the watcher but not the watched process gives that process more time,
    but not each time.
    """
    for _ in range(5):
        status, answer = ws.json(["sh", "-c", script])
        if answer.get("cpu_ms") is not None and answer["cpu_ms"] <= wanted:
            break
    return status, answer


def aip_limits():
    with Workspace(limits="timeout_ms: 500") as ws:
        start = time.monotonic()
        status, answer = ws.json(["sh", "-c", "sleep 1000 & sleep 1000"])
        took = time.monotonic() - start
        check("A36-074: timeout_ms kills the whole tree", status == 124 and answer["timed_out"] and answer["exit_code"] == 124 and 0.45 < took < ALWAYS and
              answer["error"]["code"] == "sandbox_timeout", took, answer)
    for unit in (0.25, 2, 20):     # seconds; a busy machine needs longer for the same work
        with Workspace(limits="timeout_ms: %d" % (unit * 2500)) as ws:
            start = time.monotonic()
            statuses = [ws.run(["sleep", str(unit)]).returncode for _ in range(3)]
            took = time.monotonic() - start
        if statuses == [0, 0, 0]:
            break
    check("A36-075: timeout is per command", statuses == [0, 0, 0] and took > unit * 2.5, statuses)
    with Workspace(limits="timeout_ms: 400") as ws:
        start = time.monotonic()
        done = ws.run(["sleep", "1000"])
        check("A36-178: the smaller of the runner's and the sandbox's limit applies", done.returncode == 124 and 0.35 < time.monotonic() - start, done)
    with Workspace(limits="memory_mb: 64, timeout_ms: 20000") as ws, Workspace() as other:
        p = subprocess.Popen(other.argv(["sh", "-c", "echo up; read x; echo still"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        p.stdout.readline()
        status, answer = ws.json(["python3", "-c", "x=bytearray(256<<20)"])
        out, _ = p.communicate(b"\n", timeout=ALWAYS)
        if any("memory_mb" in w["warning"] if "warning" in w else "memory_mb" in str(w) for w in answer.get("warnings", [])):
            check("A36-076: memory_mb cannot be held here, and says so by name", status == 0 and "limit_unenforceable:memory_mb" in json.dumps(answer), answer)
        else:
            check("A36-076: memory_mb is a hard cap", status == 137 and answer["outcome"] == "oom_killed" and
                  answer["error"]["code"] == "sandbox_oom", status, answer)
        check("A36-076: a second sandbox keeps running", out == b"still\n" and p.returncode == 0, out)
    with Workspace(limits="cpu_ms: 300, timeout_ms: 100000") as ws:
        status, answer = least_cpu(ws, "while :; do :; done", 600)
        if "limit_unenforceable:cpu_ms" in json.dumps(answer.get("warnings")):
            check("A36-077: cpu_ms is coarse here, says so by name, and still ends the command", status == 137 and answer["outcome"] == "cpu_limit", answer)
        else:
            check("A36-077: cpu_ms caps CPU time", status == 137 and answer["outcome"] == "cpu_limit" and 300 <= answer["cpu_ms"] <= 600 and
                  answer["error"]["code"] == "sandbox_cpu_limit", answer)
            status, answer = least_cpu(ws, "while :; do sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; done", 700)
            check("A36-077: ... of children too", answer["outcome"] == "cpu_limit" and 300 <= answer["cpu_ms"] <= 700, answer)
        check("A36-077: waiting is free", ws.run(["sleep", "0.6"]).returncode == 0)


def aip_environment():
    with Workspace(more="env: {passthrough: [NODE_ENV]}\n") as ws:
        done = ws.run(["env"], env={**os.environ, "SECRET_X": "1", "NODE_ENV": "test", "LD_PRELOAD": "", "HOME": "/root"})
        got = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
        check("A36-096: only declared names reach the process", got.get("NODE_ENV") == "test" and set(got) == BASE_SET | RETRIES | {"NODE_ENV"}, got)
        check("who is inside has one name, and a search path that begins at home",
              (got["USER"], got["LOGNAME"], got["SHELL"], got["PATH"].split(":")[0]) == ("agent", "agent", "/bin/sh", "/home/agent/.local/bin"), got)
    with Workspace(more="identity: {name: root, email: r@x.y}\n") as ws, Workspace() as plain:
        ids = [w.run(["id", "-u"]).stdout for w in (ws, plain)]
        check("A36-144: identity is a label", ids[0] == ids[1] and ids[0].strip() not in (b"", b"0"), ids)


REACH = r"""
import socket, sys, time
port4, port6, udp = map(int, sys.argv[1:4])
def attempt(name, call):
    start = time.monotonic()
    try: call(); print("REACHED", name)
    except OSError as e: print("refused", name, e.errno)
    if time.monotonic() - start > 20: print("SLOW", name)
def tcp(family, host, port):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(30); s.connect((host, port))
def dns(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\1a\4test\0\0\1\0\1", (host, port)); s.recv(512)
attempt("tcp4 loopback", lambda: tcp(socket.AF_INET, "127.0.0.1", port4))
attempt("tcp4 address", lambda: tcp(socket.AF_INET, sys.argv[4], port4))
attempt("tcp6 loopback", lambda: tcp(socket.AF_INET6, "::1", port6))
attempt("tcp4 mapped", lambda: tcp(socket.AF_INET6, "::ffff:127.0.0.1", port4))
attempt("tcp6 outside", lambda: tcp(socket.AF_INET6, "2001:db8::1", 80))
attempt("tcp4 outside", lambda: tcp(socket.AF_INET, "192.0.2.1", 80))
attempt("metadata", lambda: tcp(socket.AF_INET, "169.254.169.254", 80))
attempt("udp loopback", lambda: dns("127.0.0.1", udp))
attempt("dns 8.8.8.8", lambda: dns("8.8.8.8", 53))
attempt("name", lambda: socket.getaddrinfo("localhost.example", 80))
for kind, proto in ((socket.SOCK_RAW, 1), (socket.SOCK_DGRAM, 1)):
    attempt("ping", lambda: socket.socket(socket.AF_INET, kind, proto).sendto(b"\x08\0\xf7\xff\0\0\0\0", ("127.0.0.1", 0)) and None if kind == socket.SOCK_RAW
            else socket.socket(socket.AF_INET, kind, proto).connect(("8.8.8.8", 0)))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
print("done")
"""


def aip_egress():
    tcp4, tcp6, udp = socket.socket(), None, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp4.bind(("0.0.0.0", 0))
    tcp4.listen()
    udp.bind(("127.0.0.1", 0))
    port = tcp4.getsockname()[1]
    try:
        tcp6 = socket.socket(socket.AF_INET6)
        tcp6.bind(("::1", 0))
        tcp6.listen()
    except OSError:
        tcp6 = None     # a host without IPv6 has nothing to reach
    address = "127.0.0.2"
    with Workspace(more="network: {egress: []}\n") as ws:
        ws.write("reach.py", REACH)
        done = ws.run(["python3", "/workspace/reach.py", str(port), str(tcp6.getsockname()[1] if tcp6 else 1), str(udp.getsockname()[1]), address],
                      "-e", "http_proxy=http://127.0.0.1:%d" % port)
        lines = done.stdout.decode().splitlines()
        wrong = [line for line in lines if not line.startswith("refused")]
        check("A36-119: with an empty egress list nothing outside is reached, by no way, and nobody waits for it", wrong == ["done"] and len(lines) > 12, lines, done.stderr)
        if shutil.which("curl"):
            done = ws.run(["curl", "-sS", "-m", "2", "http://127.0.0.1:%d/" % port])
            check("A36-119: curl", done.returncode not in (0, 127), done)
        seen = [s for s in (tcp4, tcp6, udp) if s and select.select([s], [], [], 0)[0]]
        check("A36-119: the listeners saw 0 connections", not seen, seen)
    s = socket.socket()
    s.connect(("127.0.0.1", port))
    check("A36-119: (they would have: the host reaches them)", bool(select.select([tcp4], [], [], ALWAYS)[0]))
    for s in (s, tcp4, tcp6, udp):
        if s:
            s.close()
    with Workspace(more="network: {egress: [api.example.com]}\n") as ws:
        status, answer = ws.json(["sh", "-c", "cat /etc/resolv.conf; ! curl -m 2 -s http://127.0.0.1:%d/" % port])
        check("a list is a wall, not an open door (egress_test.py has the rest)", status == 0 and answer["stdout"] == "nameserver 198.18.0.1\n", answer)


def aip_mounts():
    with Workspace(mounts="mounts: [{source: workspace, at: /w, mode: read-only}]\n") as ws:
        before = sorted(os.listdir(ws.path))
        done = ws.python("import errno\ntry: open('/w/f','w')\nexcept OSError as e: print(errno.errorcode[e.errno])\n"
                         "import ctypes; l=ctypes.CDLL(None, use_errno=True)\n"
                         "print(l.mount(None, b'/w', None, 32|4096, None), errno.errorcode.get(ctypes.get_errno()))")
        check("A36-136: a read-only mount is EROFS, remount EPERM", done.stdout.split() == [b"EROFS", b"-1", b"EPERM"], done.stdout, done.stderr)
        check("A36-136: the host tree is unchanged", sorted(os.listdir(ws.path)) == before)
    with Workspace() as ws:
        owner = os.stat(ws.path)
        done = ws.sh("echo hi > /workspace/o; mkdir /workspace/d; : > /workspace/d/f; ln -s o /workspace/l")
        made = [os.lstat(os.path.join(base, n)) for base, dirs, files in os.walk(ws.path) for n in dirs + files]
        check("A36-137: bytes written inside are in the workspace afterwards", ws.read("o") == b"hi\n", done)
        check("A36-137: ... owned by the owner of the workspace", all((s.st_uid, s.st_gid) == (owner.st_uid, owner.st_gid) for s in made), made)
    if ROOT:
        with Workspace() as ws:
            for base, dirs, files in os.walk(ws.path):
                for name in (".", *dirs, *files):
                    os.chown(os.path.join(base, name), 1234, 1234)
            done = ws.sh("echo hi > /workspace/o")
            st = os.stat(os.path.join(ws.path, "o")) if ws.read("o") is not None else None
            check("A36-137: as root, a workspace of somebody else stays theirs", st and (st.st_uid, st.st_gid) == (1234, 1234), st, done)
    else:
        report("A36-137: as root, a workspace of somebody else stays theirs", skip="needs root")
    with Workspace(mounts="mounts: [{source: workspace, at: /etc/app}]\n") as ws:
        done = ws.run(["ls", "/etc/app"])
        check("A36-138: `at` is a path inside", b"SANDBOX.md" in done.stdout and not os.path.exists("/etc/app"), done)


def aip_refusals():
    with Workspace(more="read_only: true\n") as ws:
        inventory = Inventory(ws.folder)
        for command in (["true"], ["sh", "-c", "touch /workspace/x"], ["nothing-of-this-name"]):
            status, answer = ws.json(command)
            check("A36-169: read_only refuses %s" % command[0], status == 126 and answer["error"]["code"] == "sandbox_read_only", answer)
        report("A36-169: nothing was made", inventory.left())
        if shutil.which("strace"):
            done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=clone,clone3,fork,vfork,execve,unshare,mount,mkdir,sendmsg,sendto", *ws.argv(["true"])],
                                  capture_output=True, text=True, timeout=ALWAYS, check=False)
            # A call that failed because of its arguments only tested whether the kernel knows it.
            calls = [c for line in done.stderr.splitlines() if "= -1 EINVAL" not in line for c in re.findall(r"^(?:\[pid +\d+\] )?(\w+)\(", line)]
            wrong = [c for c in calls if c in ("unshare", "mount", "mkdir", "sendmsg", "sendto")]
            forks = [c for c in calls if "clone" in c or "fork" in c]
            # Root starts the maker before it reads any text; the maker gets no order, so it creates
            # nothing.
            if len(forks) > (1 if ROOT else 0) or calls.count("execve") != 1 + len(forks):
                wrong.append("forks %s, %d execve" % (forks, calls.count("execve")))
            report("A36-169: strace sees %s" % ("the idle maker, and no plan sent to it" if ROOT else "no fork at all"), [done.stderr] if wrong else [])
        else:
            report("A36-169: strace sees no fork", skip="strace is not installed")
    with Workspace(False) as ws:
        for found in (False, True):
            if found:
                ws.write("WORKSPACE.md", "---\nname: x\n---\n")
            status, answer = ws.json(["true"])
            check("no sandbox declared%s: refused, and it says how to declare one" % (" in WORKSPACE.md" if found else ""), status == 126 and
                  answer["error"]["code"] == "sandbox_not_configured" and answer["error"]["hint"], answer)
    with Workspace(manifest(more="policy: {inline: {grants: []}}\n")) as ws:
        status, answer = ws.json(["true"])
        check("a policy without a grant refuses", status == 126 and answer["error"]["code"] == "sandbox_policy_denied", answer)


def aip_pure():
    if shutil.which("strace"):
        with Workspace(manifest(more="policy: {ref: ./POLICY.md}\nenv: {auth: {ref: ./SECRETS.md, state: {env: [FOO]}}}\n")) as ws:
            path = os.path.join(ws.path, "SANDBOX.md")
            done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,socket,connect,clone,clone3,fork,vfork,execve", CARREL, "check",
                                   "--stage", "validate", path], capture_output=True, text=True, timeout=ALWAYS, check=False)
            calls = [line for line in done.stderr.splitlines() if re.match(r"^(\[pid +\d+\] )?\w+\(", line) and "execve(" not in line]
            odd = [line for line in calls if path not in line and not re.search(r'"(/etc/ld|/lib|/usr/lib)', line)]
            check("A36-172: up to validate only the named file is opened", done.returncode == 0 and calls and not odd, odd, done.stdout, done.stderr)
    else:
        report("A36-172: up to validate only the named file is opened", skip="strace is not installed")
    done = subprocess.run([CARREL, "providers", "--json"], capture_output=True, timeout=ALWAYS, check=False)
    rows = json.loads(done.stdout)["providers"]
    check("A36-177: every provider lists tier, isolated, trusted, limits, egress, pause, mounts", done.returncode == 0 and rows and
          all({"id", "tier", "isolated", "trusted", "limits", "egress", "pause", "mounts"} <= set(r) for r in rows), rows)


if __name__ == "__main__":
    need_programs()
    own_place()
    aip_refusals()      # it checks what is left; and the CPU time of the next one is measured
    aip_limits()
    side_by_side(endings, timeouts, overrides, output, stdin, terminal, signals, aip_environment, aip_egress, aip_mounts, aip_pure)
    end()
