#!/usr/bin/env python3
# weight: 3
"""Group D of the attacks: bombs. Only inside a sandbox of Carrel with limits; the controls stop by
themselves. TAP.
"""
import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, SWITCHES, ROOT, Workspace, check, end, has_switches, need_programs, report
from daemon_rig import own_groups

MIB = 1 << 20
OUTER = None


def outer_group():
    """As root the whole test is in its own group, so that a failure cannot take the machine."""
    global OUTER, BEFORE
    try:
        BEFORE = next(path for path in own_groups() if path.startswith("/sys/fs/cgroup/pids"))
        OUTER = "/sys/fs/cgroup/pids/box-bombs-%d" % os.getpid()
        os.mkdir(OUTER)
        for name, value in (("pids.max", "2000"), ("cgroup.procs", str(os.getpid()))):
            with open(os.path.join(OUTER, name), "w", encoding="ascii") as f:
                f.write(value)
    except (OSError, StopIteration):
        OUTER = None    # not root, or no such hierarchy: the limits inside must be enough


def leave_group():
    if OUTER:
        with open(os.path.join(BEFORE, "cgroup.procs"), "w", encoding="ascii") as f:
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
            if has_switches():
                done = ws.without("limits,rlimits", ["python3", "-c", script])
                check("D01: (control) with limits off there are more", done.stdout.split()[:1] == [b"150"], done)
        p = subprocess.Popen(ws.argv(["sh", "-c", "b() { b | b & }; b & echo on; read x"], "--timeout", "28s"), stdin=subprocess.PIPE,    # this shell forks once, before the bomb does
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdout.readline()
        status, goes_on = other.run(["true"]).returncode, p.poll() is None
        check("D01: meanwhile another sandbox answers", status == 0 and goes_on, status, p.returncode)
        p.terminate()
        time.sleep(0.1)
        p.terminate()
        check("D01: the bomb is over", p.wait(300) != 0, p.returncode)
        p.stdin.close()
        p.stdout.close()


TOUCH = "b=bytearray(128<<20)\nfor i in range(0,len(b),4096): b[i]=1"
MEMFD = "import os\nfd=os.memfd_create('x')\nfor i in range(128): os.write(fd,bytes(1<<20))\nprint('all')"
SHM = "import ctypes\nl=ctypes.CDLL(None,use_errno=True)\nl.shmat.restype=ctypes.c_void_p\ni=l.shmget(0,128<<20,0o1600)\na=l.shmat(i,None,0)\n" \
      "l.shmctl(i,0,None)\nctypes.memset(a,1,128<<20)\nprint('all')"
# 24 MiB into each; prints how much fitted.
FILL = "import os\nt=0\nfor i,d in enumerate(('/tmp','/run','/dev/shm',os.environ['HOME'],'/var/tmp')):\n  try:\n    with open('%s/f%d'%(d,i),'wb',0) as f:\n" \
       "      for _ in range(24): t+=f.write(bytes(1<<20))>>20\n  except OSError: pass\nprint(t)"
INODES = "n=0\nd=%r\ntry:\n  while n<%d: open('%%s/%%d'%%(d,n),'w').close(); n+=1\nexcept OSError as e: print(n,e.errno)\nelse: print(n,0)"


def memory():
    with Workspace(limits="memory_mb: 64, timeout_ms: 20000", carrel="limits: {pids: 40}") as ws:
        status, answer = ws.json(["python3", "-c", TOUCH])
        unheld = is_unheld(answer, "memory_mb")
        check("D02: twice the memory: oom_killed, or a warning by name", unheld if status == 0 else (status, answer["outcome"]) == (137, "oom_killed"), status, answer)
        if has_switches() and not unheld:
            check("D02: (control) with limits off it ends well", ws.without("limits", ["python3", "-c", TOUCH]).returncode == 0)
        for name, script in (("a memfd", MEMFD), ("shared memory", SHM)):
            status, answer = ws.json(["python3", "-c", script])
            check("D03: %s is counted as memory" % name, is_unheld(answer, "memory_mb") if status == 0 else (status, answer["outcome"]) == (137, "oom_killed"), status, answer)
            if has_switches() and not unheld:
                done = ws.without("limits", ["python3", "-c", script])
                check("D03: (control) with limits off %s holds twice as much" % name, done.stdout == b"all\n", done)
        done = ws.sh("head -c 268435456 /dev/zero > /workspace/big && cat /workspace/big | wc -c; rm /workspace/big")
        check("D05: a file four times the memory is no failure", done.returncode == 0 and done.stdout.strip() == b"268435456", done)
        if not unheld:
            status, answer = ws.json(["python3", "-c", MEMFD.replace("range(128)", "range(256)")])
            check("D05: (control) as many bytes that are memory are one", answer["outcome"] == "oom_killed", status, answer)


def makes_images():
    with Workspace(carrel="disk: image, limits: {disk_mb: 8}") as ws:
        done = ws.run(["true"])
    if done.returncode != 0:
        report("D03: an image of the private places", skip="this machine or user makes none: %s" % done.stderr.decode().split("\n", 1)[0][:160])
    return done.returncode == 0


def image_places():
    """The same for private places on an image: /tmp and the home hold disk_mb together, less the
    table of files; /run and /dev/shm are memory beside it.
    """
    with Workspace(limits="memory_mb: 64", carrel="disk: image, limits: {disk_mb: 32}") as ws:
        total = filled(ws.python(FILL.replace("'/run','/dev/shm',", "")))
        check("D03: on an image /tmp, /var/tmp and the home hold disk_mb, less its table", 24 <= total <= 30, total)
        total = filled(ws.python(FILL.replace("('/tmp','/run','/dev/shm',os.environ['HOME'],'/var/tmp')", "('/run','/dev/shm')")))
        check("D03: ... and /run and /dev/shm half of memory_mb", 24 <= total <= 32, total)
        if has_switches():
            total = filled(ws.without("size", ["python3", "-c", FILL.replace("'/run','/dev/shm',", "").replace("range(24)", "range(18)")]))
            check("D03: (control) with size off they hold all they are given", total == 54, total)
        done = ws.python(INODES % ("/tmp", 100000))
        count, code = done.stdout.split()
        check("D06: on an image there is one file for each 4 KiB of disk_mb", 8000 < int(count) <= 8192 and code == b"28", done)


def places():
    with Workspace(carrel="limits: {disk_mb: 32}") as ws:
        total = filled(ws.python(FILL))
        check("D03: all private places together hold disk_mb", 24 <= total <= 32, total)
        for place in ("/dev", "/", "/etc", "/usr", "/proc", "/sys"):
            done = ws.python("try: open(%r+'/fill','wb'); print('open')\nexcept OSError as e: print(e.errno)" % place)
            check("D03: %s takes no file" % place, done.stdout.strip() in (b"30", b"13", b"2", b"1"), done)
        done = ws.python(INODES % ("/tmp", 100000))
        count, code = done.stdout.split()
        check("D06: files without bytes end too", int(count) < 70000 and code == b"28", done)
        with Workspace(carrel="limits: {disk_mb: 320}") as larger:
            count, code = larger.python(INODES % ("/tmp", 100000)).stdout.split()
            check("D06: ... and there is one for each 4 KiB of disk_mb", 81000 < int(count) <= 81920 and code == b"28", count, code)
        if makes_images():
            image_places()
        done = ws.sh("for i in 1 2; do : > /workspace/f$i; done; : > /tmp/one")
        check("D06: ... and the next sandbox begins with all of them", done.returncode == 0, done)
        if has_switches():
            total = filled(ws.without("size", ["python3", "-c", FILL]))
            check("D03: (control) with size off they hold all they are given", total == 120, total)
        with tempfile.TemporaryDirectory(prefix="carrel-many-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as outside:
            done = subprocess.run(["python3", "-S", "-c", "import os\nfor i in range(70000): os.mknod('%s/%%d' %% i)\nprint(70000, 0)" % outside],
                                  stdout=subprocess.PIPE, timeout=300, check=False)
        check("D06: (control) outside there are more", done.stdout.split() == [b"70000", b"0"], done)


def filled(done):
    words = done.stdout.split()
    return int(words[-1]) if words else -1


def descriptors():
    with Workspace(carrel="limits: {open_files: 100}") as ws:
        done = ws.python("import os,resource\nn=0\ntry:\n  while n<100000: os.open('/dev/null',0); n+=1\nexcept OSError as e: print(n,e.errno)\n"
                         "try: resource.setrlimit(resource.RLIMIT_NOFILE,(9999,9999)); print('raised')\nexcept (ValueError,OSError): print('held')")
        check("D07: open files end at the limit, and it cannot be raised", done.stdout.split()[1:] == [b"24", b"held"] and int(done.stdout.split()[0]) < 100, done)
        held = "import os,resource as r\nprint(*r.getrlimit(r.RLIMIT_NOFILE))\nr.setrlimit(r.RLIMIT_NOFILE,(4096,%d))\nfor i in range(3000): os.open('/dev/null',0)\nprint('open')\n" \
               "try: r.setrlimit(r.RLIMIT_NOFILE,(%d,%d)); print('raised')\nexcept (ValueError,OSError): print('held')"
        most = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        with Workspace() as silent, Workspace(carrel="limits: {open_files: 2000}") as wordy:
            done = silent.python(held % (most, most + 1, most + 1))
            check("D07: a silent manifest: 1024 at the start, 65536 for a program that asks, and no more", done.stdout.split() == [b"1024", b"%d" % most, b"open", b"held"], done)
            done = wordy.python("import resource as r; print(*r.getrlimit(r.RLIMIT_NOFILE))")
            check("D07: ... what is written, a process has from its start", done.stdout.split() == [b"2000", b"2000"], done)
        if has_switches():
            done = ws.without("rlimits", ["python3", "-c", "import os\nfor i in range(150): os.open('/dev/null',0)\nprint('more')"])
            check("D07: (control) with rlimits off there are more", b"more" in done.stdout, done)


OTHERS = 20 if DEEP else 6
SPIN = "import os\nfor i in range(%d):\n  if os.fork()==0: break\nos.write(1,b'on\\n')\nwhile True: pass"


def processor():
    """Counts events, not time: how often another process finishes while the hog still runs."""
    with Workspace(limits="timeout_ms: 280000") as ws, Workspace() as other:
        hog = subprocess.Popen(ws.argv(["python3", "-c", SPIN % (4 * (os.cpu_count() or 1))]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        hog.stdout.readline()
        ends = [other.run(["true"]).returncode for _ in range(OTHERS)]
        check("D08: beside a hog on every processor %d others come to their end" % OTHERS, ends == [0] * OTHERS and hog.poll() is None, ends, hog.poll())
        hog.terminate()
        hog.communicate(timeout=300)
    with Workspace(carrel="limits: {cpu_millicores: 500}") as ws, Workspace() as free:
        spin = ["python3", "-c", "import time\nt=time.monotonic()\nwhile time.monotonic()-t<.5: pass"]
        status, answer = ws.json(spin)
        check("D08: cpu_millicores is held, or warned of by name", status == 0 and (is_unheld(answer, "cpu_millicores") or answer["cpu_ms"] < 400), answer)
        status, answer = free.json(spin)
        check("D08: (control) who does not ask is neither held nor warned", status == 0 and not is_unheld(answer, "cpu_millicores") and not answer["warnings"], answer)
    with Workspace(limits="cpu_ms: 300, timeout_ms: 100000") as ws:
        status, answer = ws.json(["python3", "-c", SPIN % 1])
        check("D08: cpu_ms ends a spinning tree", answer["outcome"] == "cpu_limit" or is_unheld(answer, "cpu_ms"), status, answer)
        if has_switches() and not is_unheld(answer, "cpu_ms"):
            env = {**os.environ, "CARREL_TEST_DISABLE": "limits,rlimits"}
            done = ws.run(["python3", "-c", SPIN % 1], "--json", "--timeout", "800ms", program=SWITCHES, env=env)
            check("D08: (control) with limits off it runs on past that", json.loads(done.stdout)["outcome"] != "cpu_limit" or
                  json.loads(done.stdout)["cpu_ms"] > 600, done)


CRASH = "import os,resource,signal\nprint(resource.getrlimit(resource.RLIMIT_CORE))\nd=os.path.expanduser('~')\n" \
        "for i in range(100):\n  p=os.fork()\n  if p==0:\n    os.chdir(('/workspace','/tmp',d,'/dev/shm')[i%%4]); signal.signal(11,0)\n" \
        "    try: resource.setrlimit(resource.RLIMIT_CORE,(1<<24,1<<24))\n    except (ValueError,OSError): pass\n    os.kill(os.getpid(),11)\n" \
        "  s=os.waitpid(p,0)[1]\n  assert s&127==11, s\n  if s&128: print('dumped', i)\n  if i==%d: break\n" \
        "print([n for w in ('/workspace','/tmp',d,'/dev/shm') for n in os.listdir(w) if n.startswith('core')])"


def files_at_hand():
    """Files of other programs are not cores."""
    return {os.path.join(place, name) for place in ("/", ".") for name in os.listdir(place) if "core" in name and os.path.isfile(os.path.join(place, name))}


def cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    with Workspace() as ws:
        before = files_at_hand()
        done = ws.python(CRASH % 99)
        check("D10: a hundred crashes: no core anywhere, and a limit that is hard, of 1, which also starts no helper", done.stdout.split(b"\n")[:2] == [b"(1, 1)", b"[]"] and
              files_at_hand() <= before, done)
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
            pattern = f.read().strip()
        if not has_switches() or pattern[:1] in "/|" or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            report("D10: (control) with rlimits off there is one", skip="this host would not write a core here, or build-switches is not built")
        else:
            done = ws.without("rlimits", ["python3", "-c", CRASH % 0])
            check("D10: (control) with rlimits off there is one", b"dumped 0" in done.stdout and b"['core" in done.stdout, done)


# A queue without a name, which lives as long as its descriptor.
POSIX_QUEUE = "(lambda n: l.mq_open(n,66,0o600,None)|l.mq_unlink(n))(b'/'+os.urandom(8).hex().encode())"
# name | takes one, or answers less than 0 | how many at most inside
POOLS = [
    ("terminals", "os.open('/dev/ptmx',2)", 100), ("POSIX message queues", POSIX_QUEUE, 100), ("inotify instances", "l.inotify_init()", 100000),
    ("message queues", "l.msgget(0,0o1600)", 40000), ("semaphore sets", "l.semget(0,1,0o1600)", 40000),
    ("memory segments", "l.shmget(0,4096,0o1600)", 5000), ("timers", "l.timer_create(1,None,b)", 1000000),
    ("user namespaces", "l.unshare(0x10000000)", 0), ("mount namespaces", "l.unshare(0x10020000)", 0),
]
TAKE = "import ctypes,os,sys\nl=ctypes.CDLL(None,use_errno=True)\nb=ctypes.create_string_buffer(8)\nf=lambda: %s\ndef take(most):\n  n=0\n  try:\n    while n<most:\n" \
       "      if f()<0: return n,ctypes.get_errno()\n      n+=1\n  except OSError as e: return n,e.errno\n  return n,0\n"
HOLD = TAKE + "print(*take(%d),flush=True)\nsys.stdin.readline()"
ONE = TAKE + "print(*take(1),flush=True)"
# One works, another process takes all, then none works: if a pool is shared, the attack has an
# effect.
FELT = TAKE + "import resource\nresource.setrlimit(resource.RLIMIT_SIGPENDING,(40000,40000))\nr,w=os.pipe()\nrest,held=os.pipe()\nfirst=take(1)\nif os.fork()==0:\n  os.close(held); take(200000); os.write(w,b'.')\n" \
       "  os.read(rest,1); os._exit(0)\nos.read(r,1)\nprint(first[0],take(1)[0],flush=True)"


def one_outside(attempt):
    """Whether the host still has one: for this user, and as root for another user."""
    wraps = [["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"], []] if ROOT else [[]]
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or "python3"
    done = [subprocess.run([*w, python, "-S", "-c", ONE % attempt], cwd="/", stdout=subprocess.PIPE, timeout=300, check=False).stdout for w in wraps]
    return [d for d in done if d.split()[:1] != [b"1"]]


def pools():
    with Workspace(carrel="limits: {open_files: 20000}") as ws:
        for name, attempt, most in POOLS:
            p = subprocess.Popen(ws.argv(["python3", "-S", "-c", HOLD % (attempt, most or 1)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            taken, code = (int(n) for n in p.stdout.readline().split())
            refusals = one_outside(attempt)
            p.communicate(b"\n", timeout=300)
            check("D11: %s: %s, and outside there still are some" % (name, "an end inside" if most else "none inside"),
                  code != 0 and (taken > 0) == (most > 0) and not refusals, taken, code, refusals)
            if name == "terminals":
                check("D11: 64 terminals at once, and then ENOSPC", (taken, code) == (64, errno.ENOSPC), taken, code)
        for name, attempt, most in POOLS:
            if name in ("POSIX message queues", "message queues", "semaphore sets", "memory segments", "timers"):
                done = subprocess.run(["unshare", "-Uri", "python3", "-S", "-c", FELT % attempt], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=300, check=False)
                check("D11: (control) %s: in one and the same space nobody else gets any" % name, done.stdout.split() == [b"1", b"0"], done)
        if shutil.which("bwrap"):
            for name, attempt, count in (("terminals", "os.open('/dev/ptmx',2)", 100), ("user namespaces", "l.unshare(0x10000000)", 1)):
                done = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "python3", "-S", "-c", (TAKE % attempt) + "print(*take(%d))" % count],
                                      stdout=subprocess.PIPE, timeout=300, check=False)
                check("D11: (control) under bwrap there are %s" % name, done.stdout.split() == [b"%d" % count, b"0"], done)


def much():
    def deep():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    with Workspace() as ws:
        words = ["x" * 100000] * 21
        status, answer = ws.json(["true", *words], preexec_fn=deep)
        check("D13: 2 MiB of arguments: a typed refusal", status == 125 and answer["error"]["code"] == "invalid_argument", status, answer.get("error"))
        done = subprocess.run(["true", *words], preexec_fn=deep, check=False)
        check("D13: (control) the kernel itself would take them", done.returncode == 0, done)
        options = [w for i in range(100000) for w in ("-e", "V%d=x" % i)]
        status, answer = ws.json(["true"], *options, preexec_fn=deep)
        check("D13: a hundred thousand variables: a typed refusal", status == 125 and answer["error"]["code"] == "invalid_argument", status, answer.get("error"))
        status, answer = ws.json(["python3", "-c", "import sys; print(len(sys.argv[1]))", "x" * 130000])
        check("D13: (control) one argument of 130000 bytes arrives whole", (status, answer.get("stdout")) == (0, "130000\n"), status, answer)
        # The kernel passes no string of more than 128 KiB to a program: the caller gets an error
        # before the start, and a command inside gets one too.
        done = ws.python("import os\ntry: os.execv('/bin/true',['true','x'*200000])\nexcept OSError as e: print(e.errno)")
        check("D13: one of 200 KiB is refused inside as anywhere (E2BIG)", done.stdout == b"7\n", done)


if __name__ == "__main__":
    need_programs()
    outer_group()
    try:
        for part in (tasks, memory, places, descriptors, processor, cores, pools, much):
            part()
    finally:
        leave_group()
    end()
