#!/usr/bin/env python3
"""Group D of the attacks: bombs. Only inside our own sandbox with limits; the controls stop by themselves. TAP."""
import json
import os
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "box"))
from box_rig import Workspace, check, end, has_layers, need_programs, report  # noqa: E402

MIB = 1 << 20
OUTER = None


def outer_group():
    """As root the whole test lives in a group of its own, so that a failure cannot take the machine."""
    global OUTER
    try:
        OUTER = "/sys/fs/cgroup/pids/box-bombs-%d" % os.getpid()
        os.mkdir(OUTER)
        for name, value in (("pids.max", "2000"), ("cgroup.procs", str(os.getpid()))):
            with open(os.path.join(OUTER, name), "w", encoding="ascii") as f:
                f.write(value)
    except OSError:
        OUTER = None    # not root, or no such hierarchy: the limits inside must do


def leave_group():
    if OUTER:
        with open("/sys/fs/cgroup/pids/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(os.getpid()))
        os.rmdir(OUTER)


def is_unheld(answer, field):
    return "limit_unenforceable:%s" % field in json.dumps(answer.get("warnings", []))


FORKS = "import os,time\nn=0\nwhile n<150:\n  try: p=os.fork()\n  except OSError as e: print(n, e.errno); break\n  if p==0:\n    time.sleep(60); os._exit(0)\n  n+=1\n" \
        "else: print(n, 0)"
THREADS = "import threading,time\nn=0\ntry:\n  while n<150: threading.Thread(target=time.sleep,args=(60,),daemon=True).start(); n+=1\nexcept RuntimeError: print(n,11,flush=True)\n" \
          "else: print(n,0,flush=True)\nimport os; os._exit(0)"


def tasks():
    with Workspace(carrel="limits: {pids: 40}") as ws, Workspace() as other:
        for name, script in (("forks", FORKS), ("threads", THREADS)):
            done = ws.python(script)
            n, code = (done.stdout.split() + [b"-1", b"-1"])[:2]
            check("D01: %s end at limits.pids" % name, 20 <= int(n) <= 40 and code == b"11", done)
            if has_layers():
                done = ws.without("limits,rlimits", ["python3", "-c", script])
                check("D01: (control) with limits off there are more", done.stdout.split()[:1] == [b"150"], done)
        p = subprocess.Popen(ws.argv(["sh", "-c", "b() { b | b & }; b; echo on; sleep 60"], "--timeout", "3s"), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdout.readline()
        start = time.monotonic()
        status = other.run(["true"]).returncode
        check("D01: meanwhile another sandbox answers within 2 s", status == 0 and time.monotonic() - start < 2, time.monotonic() - start)
        check("D01: the bomb is over", p.wait(20) != 0, p.returncode)
        p.stdout.close()


def memory():
    with Workspace(limits="memory_mb: 64, timeout_ms: 20000", carrel="limits: {pids: 40}") as ws:
        status, answer = ws.json(["python3", "-c", "b=bytearray(128<<20)\nfor i in range(0,len(b),4096): b[i]=1"])
        unheld = is_unheld(answer, "memory_mb")
        check("D02: twice the memory: oom_killed, or a warning by name", unheld if status == 0 else (status, answer["event"]) == (137, "oom_killed"), status, answer)
        if has_layers() and not unheld:
            check("D02: (control) with limits off it ends well", ws.without("limits", ["python3", "-c", "b=bytearray(128<<20)"]).returncode == 0)
        for place in ("/tmp", "/dev/shm", "/dev", "/run", "/home", "/"):
            done = ws.python("import sys\nn=0\ntry:\n  f=open(%r+'/fill','wb')\n  while n<1200: f.write(bytes(1<<20)); n+=1\nexcept OSError as e: print(n,e.errno)\nelse: print(n,0)" % place)
            words = done.stdout.split()
            check("D03: %s cannot be filled without end" % place, done.returncode == 137 or (len(words) == 2 and words[1] in (b"28", b"30", b"13", b"2")), done)
        done = ws.sh("head -c 268435456 /dev/zero > /workspace/big && cat /workspace/big | wc -c; rm /workspace/big")
        check("D05: a file four times the memory is no failure", done.returncode == 0 and done.stdout.strip() == b"268435456", done)


def descriptors():
    with Workspace(carrel="limits: {open_files: 100}") as ws:
        done = ws.python("import os,resource\nn=0\ntry:\n  while n<100000: os.open('/dev/null',0); n+=1\nexcept OSError as e: print(n,e.errno)\n"
                         "try: resource.setrlimit(resource.RLIMIT_NOFILE,(9999,9999)); print('raised')\nexcept (ValueError,OSError): print('held')")
        check("D07: open files end at the limit, and it cannot be raised", done.stdout.split()[1:] == [b"24", b"held"] and int(done.stdout.split()[0]) < 100, done)
        if has_layers():
            done = ws.without("rlimits", ["python3", "-c", "import os\nfor i in range(150): os.open('/dev/null',0)\nprint('more')"])
            check("D07: (control) with rlimits off there are more", b"more" in done.stdout, done)
    with Workspace(carrel="limits: {cpu_millicores: 500}") as ws:
        status, answer = ws.json(["python3", "-c", "import time\nt=time.monotonic()\nwhile time.monotonic()-t<1: pass"])
        check("D08: cpu_millicores is held, or warned of by name", status == 0 and (is_unheld(answer, "cpu_millicores") or answer["cpu_ms"] < 800), answer)


def cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    with Workspace() as ws:
        done = ws.python("import os,resource,signal\nprint(resource.getrlimit(resource.RLIMIT_CORE))\n"
                         "for i in range(20):\n  p=os.fork()\n  if p==0:\n    os.chdir('/workspace'); signal.signal(11,0); os.kill(os.getpid(),11)\n  s=os.waitpid(p,0)[1]\n  assert s==11, s\n"
                         "print(os.listdir('/workspace'))")
        check("D10: no core file, and a limit of 0 that is hard", done.stdout.splitlines()[:1] == [b"(0, 0)"] and b"core" not in done.stdout, done)
        done = ws.python("import os\nn=0\ntry:\n  while n<5000: os.open('/dev/ptmx',2); n+=1\nexcept OSError as e: print(n,e.errno)\n")
        try:
            pair = os.openpty()
            works = True
            for fd in pair:
                os.close(fd)
        except OSError:
            works = False
        check("D11: terminals used up inside are there outside", works, done)
        status, answer = ws.json(["true", *["x" * 120000] * 13])
        check("D13: 1.5 MB of arguments: a typed refusal", status != 0 and answer["error"]["code"] == "invalid_argument", status, answer.get("error"))


if __name__ == "__main__":
    need_programs()
    outer_group()
    try:
        for part in (tasks, memory, descriptors, cores):
            part()
    finally:
        leave_group()
    end()
