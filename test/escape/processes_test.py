#!/usr/bin/env python3
"""Group C of the attacks: processes that will not die, and what they inherit. Each is seen to work with its layer off. TAP."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "box"))
from box_rig import CARREL, LAYERS, Inventory, Workspace, check, end, has_layers, need_programs, report  # noqa: E402

HEARTBEAT = "(setsid setsid sh -c 'trap \"\" TERM INT HUP; while :; do printf . >> /workspace/beat; sleep 0.02; done' >/dev/null 2>&1 &); " \
            "while [ ! -s /workspace/beat ]; do sleep 0.01; done; "


def grows(ws):
    """Five heartbeats long: proving that nothing comes takes time."""
    before = ws.read("beat")
    time.sleep(0.1)
    return ws.read("beat") != before


def death():
    with Workspace(limits="timeout_ms: 1000") as ws:
        inventory = Inventory()
        done = ws.sh("trap '' TERM INT HUP QUIT; sleep 999 & wait; sleep 999")
        check("C01: who ignores every signal is gone at the timeout", done.returncode == 124, done)
        done = ws.sh(HEARTBEAT + "sleep 999")
        check("C02: a double-forked heartbeat stops with the timeout", done.returncode == 124 and ws.read("beat") and not grows(ws), done)
        os.unlink(os.path.join(ws.path, "beat"))
        done = ws.sh(HEARTBEAT + "exit 0")
        check("C02: ... and with the end of the command", done.returncode == 0 and ws.read("beat") and not grows(ws), done)
        os.unlink(os.path.join(ws.path, "beat"))
        p = subprocess.Popen(["sh", "-c", HEARTBEAT.replace("/workspace", ws.path) + "exit 0"], start_new_session=True)
        p.wait(20)
        lives = grows(ws)
        os.system("for p in /proc/[0-9]*; do grep -qsa '%s/beat' $p/cmdline && kill -9 ${p#/proc/}; done" % ws.path)
        check("C02: (control) outside it survives", lives)
        report("C02: no group and no process is left", inventory.left())
    with Workspace(limits="timeout_ms: 500", carrel="limits: {pids: 60}") as ws:
        inventory = Inventory()
        start = time.monotonic()
        done = ws.python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass")
        check("C04: a fork race is over within 2 s of the timeout", done.returncode == 124 and time.monotonic() - start < 2.5, done.returncode, time.monotonic() - start)
        report("C04: nothing of it is left", inventory.left())


def supervisor():
    with Workspace(carrel="limits: {pids: 200}") as ws:
        done = ws.python("import os,sys\nfor i in range(2000):\n  p=os.fork()\n  if p==0:\n    os.fork(); os._exit(0)\n  os.waitpid(p,0)\n"
                         "import time\ndef dead(p):\n  try: return open('/proc/%s/stat'%p).read().split()[2]=='Z'\n  except OSError: return False\n"
                         "for _ in range(200):\n  z=[p for p in os.listdir('/proc') if p.isdigit() and dead(p)]\n"
                         "  if not z: break\n  time.sleep(.01)\nprint(len(z))")
        check("C07: 2000 orphans leave no zombie", done.stdout.strip() == b"0", done)
        done = ws.sh("kill -9 1; kill -TERM 1; kill -9 -1; echo alive; exit 7")
        check("C10: signals to pid 1 and to all touch nothing outside", done.returncode in (7, 137), done)
        check("C10: ... the next one runs", ws.run(["true"]).returncode == 0)
        status, answer = ws.json(["sh", "-c", "kill -TERM $$"])
        check("C11: a signal is told as itself", (status, answer["event"], answer["signal"]) == (143, "signaled", 15), answer)
        done = subprocess.run(ws.argv(["sleep", "0.1"]), input=bytes(8 << 20), timeout=20, check=False)
        check("C12: input nobody reads does not stall", done.returncode == 0, done)
        runs = [(t, subprocess.Popen(ws.argv(["sh", "-c", "yes %s | head -c 262144" % t]), stdin=subprocess.DEVNULL, stdout=open(os.path.join(ws.folder, t), "wb")))
                for t in ("t%02d" % i for i in range(32))]
        wrong = []
        for token, p in runs:
            status = p.wait(60)
            with open(os.path.join(ws.folder, token), "rb") as f:
                if status != 0 or f.read() != ((token + "\n") * 65536).encode()[:262144]:
                    wrong.append(token)
        report("C14: 32 at once: every output is its own, byte for byte", wrong)


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
        for name, program in (("", CARREL), ("(control) with `reset` off: ", LAYERS)):
            if program == LAYERS and not has_layers():
                report("C16: (control)", skip="build-layers is not built")
                continue
            p = subprocess.Popen(ws.argv(["python3", "-S", "-c", STATE], program=program), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=spoiled,
                                 restore_signals=False, env={**os.environ, "CARREL_TEST_DISABLE": "reset"})
            out = p.communicate(timeout=20)[0].split()
            # Python itself ignores SIGPIPE and SIGXFSZ: bits 12 and 24.
            clean = len(out) >= 3 and int(out[0], 16) & ~0x1001000 == 0 and int(out[1], 16) == 0 and out[2] == b"022"
            check("C16: %ssignals, mask and umask of the caller do not come in" % name, clean == (program == CARREL), out, p.returncode)


if __name__ == "__main__":
    need_programs()
    for part in (death, supervisor, state):
        part()
    end()
