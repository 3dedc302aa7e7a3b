#!/usr/bin/env python3
# slow: 30 s: trees of processes that are hard to kill, each with its defence and without
"""Group C of the attacks: processes that are hard to kill, and what they inherit. Each works with
its layer off. TAP.
"""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import (CARREL, DEEP, SWITCHES, PATIENCE, Inventory, Workspace, check, descendants, end, has_switches, need_programs, own_place, report, side_by_side,
                     until)

HEARTBEAT = "(setsid setsid sh -c 'trap \"\" TERM INT HUP; while :; do printf . >> /workspace/beat; sleep 0.02; done' >/dev/null 2>&1 &); " \
            "while [ ! -s /workspace/beat ]; do sleep 0.01; done; "


def grows(ws):
    """Five heartbeats long: to prove that none comes takes time."""
    before = ws.read("beat")
    time.sleep(0.1)
    return ws.read("beat") != before


def goes_on(ws):
    """A busy machine may delay a beat for a while."""
    end_at = time.monotonic() + PATIENCE
    while not (is_growing := grows(ws)) and time.monotonic() < end_at:
        pass
    return is_growing


def marked(mark):
    """Processes with the mark in their environment: every child inherits it, whatever its name is.
    """
    found = []
    for pid, _ in descendants():
        try:
            with open("/proc/%d/environ" % pid, "rb") as f:
                if mark.encode() in f.read():
                    found.append(pid)
        except OSError:
            continue    # ended meanwhile, or another user's
    return found


def stop_marked(mark):
    first = pids = marked(mark)
    while pids:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass    # ended by itself
        pids = marked(mark)
    return first


def is_dead(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


PASSES = "env: {passthrough: [CARREL_TEST_MARK]}\n"
IGNORES = "trap '' TERM INT HUP QUIT; sleep 60 & wait; sleep 60"


def marked_by(name):
    """A mark, and an environment that carries it."""
    mark = "%s-%d" % (name, os.getpid())
    return mark, {**os.environ, "CARREL_TEST_MARK": mark}


def signals_ignored():
    mark, env = marked_by("C01")
    with Workspace(limits="timeout_ms: 1000", more=PASSES) as ws:
        done = ws.sh("echo on; " + IGNORES, env=env)
        report("C01: who ignores every signal is gone at the timeout", [done] if done.returncode != 124 else []
               + [("still there", p) for p in stop_marked(mark)])
    p = subprocess.Popen(["sh", "-c", "trap '' TERM INT HUP QUIT; echo on; exec sleep 60"], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.terminate()
    os.kill(p.pid, signal.SIGHUP)
    check("C01: (control) outside the same survives those signals", not is_dead(p.pid))
    p.kill()
    p.communicate()


def heartbeat_of_timeout():
    # On a busy machine that delays the heartbeat, it gets more time.
    for timeout_ms in (1000, 4000, 60000):
        with Workspace(limits="timeout_ms: %d" % timeout_ms) as ws:
            done = ws.sh(HEARTBEAT + "sleep 999")
            has_stopped = not grows(ws)
            if ws.read("beat"):
                break
    check("C02: a double-forked heartbeat stops with the timeout", done.returncode == 124 and has_stopped and timeout_ms < 60000, done, timeout_ms)


def heartbeat_of_command():
    mark, env = marked_by("C02")
    with Workspace(limits="timeout_ms: 280000") as ws:
        done = ws.sh(HEARTBEAT + "exit 0")
        check("C02: ... and with the end of the command", done.returncode == 0 and ws.read("beat") and not grows(ws), done)
        os.unlink(os.path.join(ws.path, "beat"))
        p = subprocess.Popen(["sh", "-c", HEARTBEAT.replace("/workspace", ws.path) + "exit 0"], start_new_session=True, env=env)
        p.wait(300)
        check("C02: (control) outside it survives, and its mark is found", goes_on(ws) and stop_marked(mark) and not grows(ws))


def death():
    inventory = Inventory()
    side_by_side(signals_ignored, heartbeat_of_timeout, heartbeat_of_command)
    report("C02: no group and no process is left", inventory.left())


# Writes its count while it runs, to show that there was a race.
FORK_RACE = "import os\nos.write(1,b'on\\n')\nwhile True:\n  try: os.fork()\n  except OSError: pass"
TREE = "import os,time\nfor i in range(30):\n  if os.fork()==0:\n    os.setsid(); time.sleep(600); os._exit(0)\nos.write(1,b'on\\n')\ntime.sleep(%s)"


def race():
    mark, env = marked_by("C04")
    inside = {"limits": "timeout_ms: %d", "carrel": "limits: {pids: 60}", "more": PASSES}
    with Workspace(**{**inside, "limits": "timeout_ms: 500"}) as ws:
        inventory = Inventory()
        start = time.monotonic()
        done = ws.python(FORK_RACE, env=env)
        left = [p for p in marked(mark) if not is_dead(p)]      # checked at once, at the end of the call
        check("C04: a fork race is over soon after the timeout", done.returncode == 124 and time.monotonic() - start < 60, done.returncode, time.monotonic() - start)
        report("C04: no process of it lives when the call returns", [("alive", p) for p in left])
        report("C04: nothing of it is left", inventory.left() + stop_marked(mark))
    with Workspace(**{**inside, "limits": "timeout_ms: 280000"}) as ws:
        inventory, wrong = Inventory(), []
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            p = subprocess.Popen(ws.argv(["python3", "-c", FORK_RACE]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
            begun = p.stdout.readline()
            seen = until("those inside can be seen from here", lambda: len(marked(mark)) >= 30)     # the control
            p.send_signal(number)
            rest = p.communicate(timeout=300)[0]     # the end of the stream: no process inside holds it any more, or carrel itself has ended
            try:
                until("nobody of them lives", lambda: not [q for q in marked(mark) if not is_dead(q)])
            except AssertionError as e:
                wrong.append(e)
            if not seen or begun != b"on\n" or p.returncode == 0:
                wrong.append((number, p.returncode, begun, seen, len(rest), stop_marked(mark)))
        report("C04: a fork race ends with carrel, whichever signal ends it", wrong)
        report("C04: ... and leaves nothing", inventory.left())
    p = subprocess.Popen(["python3", "-c", TREE % 600], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, env=env)
    p.stdout.readline()
    p.kill()
    status, left = p.wait(), stop_marked(mark)
    p.stdout.close()
    check("C04: (control) outside a tree outlives the kill of its first", len(left) == 30, status, left)


REAP = "import os,sys,time\nfor i in range(%d):\n  p=os.fork()\n  if p==0:\n    os.fork(); os._exit(0)\n  os.waitpid(p,0)\n" \
       "def state(p):\n  try: return open('/proc/%%s/stat'%%p).read().rsplit(')',1)[1].split()[0]\n  except OSError: return ''\n" \
       "for _ in range(%d):\n  s=[state(p) for p in os.listdir('/proc') if p.isdigit()]\n" \
       "  if 'Z' not in s: break\n  time.sleep(.01)\nprint(s.count('Z'), len(s))"
# Finds the witness outside by its words and ends it: only then is the sandbox's process id
# namespace no barrier.
HUNT = "import os\nfor p in os.listdir('/proc'):\n  try:\n    if p.isdigit() and b'%s' in open('/proc/'+p+'/cmdline','rb').read().split(b'\\0'): os.kill(int(p),9); print('killed')\n  except OSError: pass\n" \
       "try: os.kill(%d, 9); print('killed by number')\nexcept OSError: pass\nprint('END')"


def supervisor():
    with Workspace(limits="timeout_ms: 280000", carrel="limits: {pids: 200}") as ws:
        orphans = 10000 if DEEP else 500
        done = ws.python(REAP % (orphans, 500))
        check("C07: %d orphans leave no zombie" % orphans, done.stdout.split()[:1] == [b"0"], done)
        done = subprocess.run(["unshare", "-Upfr", "--mount-proc", "python3", "-c", REAP % (50, 2)], stdout=subprocess.PIPE, timeout=300, check=False)
        check("C07: (control) under a pid 1 that does not reap each stays", done.stdout.split()[:1] == [b"50"], done)
        witness = subprocess.Popen(["sleep", "6100.%d" % os.getpid()])
        other = subprocess.Popen(ws.argv(["sh", "-c", "echo on; read x; exit 3"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other.stdout.readline()
        done = ws.sh("kill -9 1; kill -TERM 1; kill -STOP 1; kill -9 -1; echo alive; exit 7")
        hunt = HUNT % ("6100.%d" % os.getpid(), witness.pid)
        hunted = ws.python(hunt)
        other.communicate(b"go\n", timeout=300)
        check("C10: signals to pid 1 and to all touch nothing outside", done.returncode in (7, 137) and hunted.stdout == b"END\n" and
              witness.poll() is None and other.returncode == 3, done, hunted, witness.poll(), other.returncode)
        check("C10: ... the next one runs", ws.run(["true"]).returncode == 0)
        subprocess.run(["python3", "-c", hunt.replace("print('END')", "")], stdout=subprocess.DEVNULL, timeout=300, check=False)
        check("C10: (control) outside the hunt finds and ends it", witness.wait(300) == -9, witness.returncode)


# Dies of the named signal, or prints why it lives.
DIE = "import os,resource,signal,sys\nn=int(sys.argv[1])\nresource.setrlimit(resource.RLIMIT_CORE,(0,0))\n" \
      "signal.pthread_sigmask(signal.SIG_UNBLOCK,{n})\nif n not in (9,19): signal.signal(n,signal.SIG_DFL)\nos.kill(os.getpid(),n)\nsys.exit(0)"
# 20 to 22 do not stop a process whose group has no parent in its session, and the group of the
# first command has none.
KEEPS = {17: "ignored", 18: "continues", 19: "stops", 20: "ignored", 21: "ignored", 22: "ignored", 23: "ignored", 28: "ignored"}


def fidelity():
    """C11. Real-time signals too; a stopped process stays stopped until the timeout; an ignored
    signal ends nothing.
    """
    with Workspace(limits="timeout_ms: 400") as ws:
        wrong, numbers = [], [n for n in range(1, 65) if n not in (32, 33) and (DEEP or n <= 34 or n == 64)]      # those two are the C library's own
        wrong += judge_ending(ws, 19, (124, "timed_out", None, 124))
    with Workspace() as ws:
        for n in (n for n in numbers if KEEPS.get(n) != "stops"):
            wrong += judge_ending(ws, n, (0, "exited", None, 0) if n in KEEPS else (128 + n, "signaled", n, 128 + n))
        report("C11: each of %d signals is told as itself" % len(numbers), wrong)
        tells = [ws.json(["sh", "-c", s])[1]["outcome"] for s in ("exit 143", "kill -TERM $$")]
        check("C11: a status of 143 and a signal of 15 are told apart", tells == ["exited", "signaled"], tells)
    if shutil.which("bwrap"):
        codes = [subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "sh", "-c", s], timeout=300, check=False).returncode for s in ("exit 143", "kill -TERM $$")]
        check("C11: (control) under bwrap they are the same", codes == [143, 143], codes)
    else:
        report("C11: (control) under bwrap they are the same", skip="bwrap is not installed")


def judge_ending(ws, n, want):
    status, answer = ws.json(["python3", "-S", "-c", DIE, str(n)])
    got = (status, answer["outcome"], answer.get("signal"), answer.get("exit_code"))
    return [] if got == want else [(n, got, want)]


def streams():
    with Workspace() as ws:
        done = subprocess.run(ws.argv(["sleep", "100"], "--timeout", "500ms"), input=bytes(8 << 20), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        check("C12: input nobody reads stalls neither the end nor the timeout", done.returncode == 124, done)
        ours, theirs = os.pipe()
        fcntl.fcntl(theirs, fcntl.F_SETFL, os.O_NONBLOCK)
        taken = os.write(theirs, bytes(8 << 20))
        check("C12: (control) a pipe nobody reads takes less than that", taken < 8 << 20, taken)
        os.close(ours)
        os.close(theirs)
        tokens = ["t%02d" % i for i in range(32)]
        wrong = [t for t, seen in zip(tokens, chorus(ws, tokens)) if seen != ((t + "\n") * 65536).encode()[:262144]]
        report("C14: 32 at once: every output is its own, byte for byte", wrong)
        mixed = chorus(None, tokens[:4])
        check("C14: (control) four that share one pipe outside are mixed", len(set(mixed)) == 1 and all(t.encode() in mixed[0] for t in tokens[:4]))


def chorus(ws, tokens):
    """What each of them wrote: each in its own run of carrel, or all into one pipe if there is no
    ws.
    """
    shared = None if ws else os.pipe()
    runs = []
    for t in tokens:
        argv = ["sh", "-c", "yes %s | head -c 262144" % t]
        runs.append(subprocess.Popen(ws.argv(argv) if ws else argv, stdin=subprocess.DEVNULL,
                                     stdout=open(os.path.join(ws.folder, t), "wb") if ws else shared[1]))
    if shared:
        os.close(shared[1])
        with open(shared[0], "rb") as f:
            seen = [f.read()] * len(tokens)
    statuses = [p.wait(300) for p in runs]
    if not shared:
        seen = [open(os.path.join(ws.folder, t), "rb").read() for t in tokens]
    return [b if s == 0 else b"status %d" % s for b, s in zip(seen, statuses)]


STATE = "import os; s=dict(l.strip('\\n').split(':\\t',1) for l in open('/proc/self/status') if ':\\t' in l); u=os.umask(0); " \
        "print(s['SigIgn'], s['SigBlk'], '%03o'%u)"


def spoiled():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGALRM})
    os.umask(0)


def state():
    with Workspace() as ws:
        for name, program in (("do not come in", CARREL), ("(control) come in with `reset` off", SWITCHES)):
            if program == SWITCHES and not has_switches():
                report("C16: (control)", skip="build-switches is not built")
                continue
            p = subprocess.Popen(ws.argv(["python3", "-S", "-c", STATE], program=program), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=spoiled,
                                 restore_signals=False, env={**os.environ, "CARREL_TEST_DISABLE": "reset"})
            out = p.communicate(timeout=300)[0].split()
            # Python itself ignores SIGPIPE and SIGXFSZ: bits 12 and 24.
            clean = len(out) >= 3 and int(out[0], 16) & ~0x1001000 == 0 and int(out[1], 16) == 0 and out[2] == b"022"
            check("C16: signals, mask and umask of the caller: %s" % name, clean == (program == CARREL), out, p.returncode)


if __name__ == "__main__":
    need_programs()
    own_place()
    race()
    state()     # before there are threads: its child gets a fault between fork and exec
    side_by_side(death, supervisor, fidelity, streams)
    end()
