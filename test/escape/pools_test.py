#!/usr/bin/env python3
"""D12: pools of the kernel and of the caller that one process could empty, and what makes a host
program wait. TAP.

Nothing here takes more than the minimum that shows whether the pool is open; the tables of limits
are in resources_test.py.
"""
import errno
import fcntl
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, SWITCHES, ROOT, Workspace, check, end, has_switches, need_programs, report

OFD_SETLK = 37
CALLS = "import ctypes,os,sys\nl=ctypes.CDLL(None,use_errno=True)\ndef say(r): print(r if r>=0 else -ctypes.get_errno(),flush=True)\n"


def first_word(done):
    return int((done.stdout.split() or [b"99999"])[0])


def asked(name, script, refused, is_open, layer="filter"):
    """The first word that the script prints inside; with the layer off it is one that `is_open`
    accepts.
    """
    with Workspace() as ws:
        done = ws.python(CALLS + script)
        check("D12: %s" % name, first_word(done) in refused, done)
        if has_switches():
            done = ws.without(layer, ["python3", "-c", CALLS + script])
            check("D12: (control) with %s off: open" % layer, is_open(first_word(done)), done)


def aio():
    asked("no context of asynchronous I/O, of which the machine has one pool", "c=ctypes.c_ulong(0)\nsay(l.syscall(%d,1,ctypes.byref(c)))"
          % (206 if os.uname().machine == "x86_64" else 0), (-38,), lambda r: r == 0)


def huge_pages():
    """The host may have no huge page in reserve: the kernel's answer for an invalid descriptor
    differs from the filter's answer.
    """
    asked("no huge page of the host's reserve", "l.mmap.restype=ctypes.c_long\nl.mmap.argtypes=[ctypes.c_void_p,ctypes.c_size_t]+[ctypes.c_int]*3+[ctypes.c_long]\n"
          "say(l.mmap(None,2<<20,3,0x40002,99,0))", (-12,), lambda r: r == -9)


def of_the_machine():
    asked("no trigger of pressure", "try: f=open('/proc/pressure/memory','r+b',0); f.write(b'some 500000 2000000'+bytes(1)); print(0)\nexcept OSError as e: print(-e.errno)",
          (-2, -13, -95), lambda r: r == 0, "mask")
    # Two sandboxes could communicate with it: locks in one's workspace, and their byte ranges,
    # would be visible in the other's.
    with tempfile.TemporaryFile() as f:
        fcntl.fcntl(f, OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 4242, 1, 0))
        asked("no list of the files that others have locked", "try: print(sum(line.split()[-1]=='4242' for line in open('/proc/locks')))\nexcept OSError as e: print(-e.errno)",
              (-2, -13), lambda r: r == 1, "mask")
    asked("no word of which start of the host this is", "try: open('/proc/sys/kernel/random/boot_id').read(); print(0)\nexcept OSError as e: print(-e.errno)",
          (-2, -13), lambda r: r == 0, "mask")


def kernel_protocols():
    with open("/proc/sys/net/ipv4/tcp_available_ulp", encoding="ascii") as f:
        has_one = f.read().split()
    if not has_one:        # ENOENT is the kernel's answer too; a closed descriptor distinguishes the filter's
        asked("no second protocol upon TCP", "say(l.setsockopt(99,6,31,b'x',1))", (-2,), lambda r: r == -9)
    else:
        asked("no second protocol upon TCP", "say(l.setsockopt(99,6,31,b'%s',%d))" % (has_one[0], len(has_one[0])), (-2,), lambda r: r == -9)


# A lease on a file that the host reads: through the read-only mount over SANDBOX.md, and on a file
# of the payload.
LEASE = CALLS + "import fcntl,signal\nsignal.signal(signal.SIGIO,signal.SIG_IGN)\nf=os.open(%r,os.O_RDONLY)\n" \
        "try: fcntl.fcntl(f,fcntl.F_SETLEASE,fcntl.F_WRLCK); print('held',flush=True)\nexcept OSError as e: print(e.errno,flush=True)\nsys.stdin.readline()\n"


def leases():
    for name in ("SANDBOX.md", "own"):
        for program in (CARREL, SWITCHES) if has_switches() else (CARREL,):
            with Workspace() as ws:
                ws.run(["sh", "-c", "echo x > own"])
                p = subprocess.Popen(ws.argv(["python3", "-c", LEASE % name], program=program), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     env={**os.environ, "CARREL_TEST_DISABLE": "filter"} if program == SWITCHES else None)
                said = p.stdout.readline().strip()
                path = os.path.join(ws.path, name)
                if program == CARREL:
                    check("D12: no lease on %s, and the host opens it at once" % name, said == b"22" and opens(path), said)
                elif said != b"held":
                    report("D12: (control) with filter off there is one on %s" % name, skip="this file system has no leases: %s" % said.decode())
                else:
                    check("D12: (control) with filter off %s makes the host wait" % name, not opens(path), said)
                    if name == "SANDBOX.md":
                        done = subprocess.run([CARREL, "check", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
                        check("D12: a manifest with a lease is told as such", done.returncode != 0 and b"lease" in done.stderr + done.stdout, done)
                p.communicate(b"\n", timeout=ALWAYS)


def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return True
    except BlockingIOError:
        return False


# MiB of unread bytes in connections to itself; at most 160, a fraction of what the machine has for
# all sockets.
UNREAD = "import socket\nl=socket.socket(); l.bind(('127.0.0.1',0)); l.listen(500)\nheld=[]; n=0; b=bytes(1<<16)\n" \
         "while n<160<<20 and len(held)<400:\n  c=socket.create_connection(l.getsockname()); a=l.accept()[0]; held+=[a,c]; c.setblocking(False)\n" \
         "  try:\n    while n<160<<20: n+=c.send(b)\n  except BlockingIOError: pass\nprint(n>>20,flush=True)"


def sockets():
    with Workspace(limits="memory_mb: 64, timeout_ms: 20000") as ws:
        status, answer = ws.json(["python3", "-c", UNREAD])
        if "limit_unenforceable:memory_mb" in json.dumps(answer.get("warnings", [])):
            report("D12: buffers of sockets count as memory", skip="this host does not cap memory for us, and says so")
            return
        is_over = answer["outcome"] in ("oom_killed", "timed_out")
        check("D12: buffers of sockets count as memory", is_over or int(answer["stdout"]) <= 80, status, answer)
        if has_switches():
            done = ws.without("limits", ["python3", "-c", UNREAD])
            check("D12: (control) with limits off they hold all they are sent", first_word(done) == 160, done)


TAKE = "n=0\nb=ctypes.create_string_buffer(8)\nwhile n<200000 and %s>=0: n+=1\nprint(n,flush=True)"


def of_the_caller():
    """What the kernel counts for the user that runs the sandbox: the user's editor and other
    sandboxes use the same pools.
    """
    asked("a part of the caller's inotify instances", TAKE % "l.inotify_init()", range(16, 65), lambda n: n > 64, "rlimits")
    asked("a part of the caller's signals and timers", TAKE % "l.timer_create(1,None,b)", range(1000, 4097), lambda n: n > 4096, "rlimits")
    with Workspace() as ws:
        done = ws.sh("cat /proc/sys/user/max_inotify_instances /proc/sys/user/max_inotify_watches")
        check("D12: a part of the caller's inotify watches", done.stdout == b"64\n65536\n", done)


# Pipes as large as an ordinary user may set, MiB; held until a line comes.
PIPES = "import fcntl,os,sys\nheld=[]\ntry:\n  while len(held)<200:\n    r,w=os.pipe(); held+=[r,w]; fcntl.fcntl(w,1031,1<<20)\nexcept OSError: pass\n" \
        "print(sum(fcntl.fcntl(w,1032) for w in held[1::2])>>20,flush=True)\nsys.stdin.readline()\n"


def pipes():
    """Known limit: its extent. The kernel's limit for each user applies; without root that user is
    the caller.
    """
    with open("/proc/sys/fs/pipe-user-pages-soft", encoding="ascii") as f:
        most = int(f.read()) * os.sysconf("SC_PAGE_SIZE") >> 20
    if not 0 < most < 150:
        report("D12: buffers of pipes", skip="this host's number for each user is %d MiB" % most)
        return
    with Workspace() as ws:
        p = subprocess.Popen(ws.argv(["python3", "-c", PIPES]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        held = int(p.stdout.readline() or b"-1")
        r, w = os.pipe()
        size = fcntl.fcntl(w, 1032)
        os.close(r)
        os.close(w)
        p.communicate(b"\n", timeout=ALWAYS)
        check("D12: (known limit) buffers of pipes: a command holds no more than one user may, %d MiB" % most, 0 < held <= most + 1, held)
        if ROOT:
            check("D12: a pipe of root's is as large as ever meanwhile", size == 65536, size)
        else:
            check("D12: (known limit) a new pipe of the caller has two pages at most meanwhile, and works", size <= 2 * os.sysconf("SC_PAGE_SIZE") or held < most - 1, size, held)


# Files without bytes, on a workspace of 3000 inodes that belongs to this test; waits at the end, so
# that only a kill ends it.
FILES = "n=0\ntry:\n  while n<%d: open('/workspace/%%d'%%n,'w').close(); n+=1\nexcept OSError: pass\nprint(n,flush=True)\nimport time\ntime.sleep(%d)"


def inodes():
    for count, wait, event in ((1000, 0, "exited"), (3000, 60, "policy_killed")):
        with Workspace() as ws:
            script = "mount -t tmpfs -o mode=755,nr_inodes=3000 none $0 && cp $0.md $0/SANDBOX.md && exec \"$@\""
            os.rename(os.path.join(ws.path, "SANDBOX.md"), ws.path + ".md")
            outer = ["unshare", "-m", "--propagation", "private"] if ROOT else ["unshare", "-Urm", "--propagation", "private"]
            inner = [] if ROOT else ["env", "XDG_RUNTIME_DIR=" + ws.folder, "unshare", "-U", "--map-user=%d" % os.geteuid(), "--map-group=%d" % os.getegid()]
            done = subprocess.run([*outer, "sh", "-c", script, ws.path, *inner, *ws.argv(["python3", "-c", FILES % (count, wait)], "--json")],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
            if done.returncode not in (0, 124, 125, 137) or not done.stdout:
                report("D12: %d files on a disk of 3000 inodes" % count, skip="no file system of its own may be mounted here")
                continue
            check("D12: %d files on a disk of 3000 inodes: %s" % (count, event), json.loads(done.stdout).get("outcome") == event, done)


# struct sock_fprog with one instruction: SECCOMP_RET_ALLOW.
FILTER = CALLS + "import struct\ni=ctypes.create_string_buffer(struct.pack('=HBBI',6,0,0,0x7fff0000))\np=ctypes.create_string_buffer(struct.pack('@HP',1,ctypes.addressof(i)))\n" \
         "say(l.prctl(22,2,p,0,0))"
LOCK = "import fcntl,sys\nf=open('own','r+')\nfcntl.%s(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.readline()"


def not_capped():
    """Pools that the table calls not capped reach this far, as the known limits say; each could be
    closed only for every program.
    """
    with Workspace() as ws:
        check("D12: (known limit) a command may install filters of seccomp", first_word(ws.python(FILTER)) == 0)
        check("D12: (known limit) it may have disks written back", first_word(ws.python(CALLS + "l.sync(); say(l.syncfs(os.open('.',os.O_RDONLY)))")) == 0)
        ws.run(["sh", "-c", "echo x > own"])
        for how in ("flock", "lockf"):
            p = subprocess.Popen(ws.argv(["python3", "-c", LOCK % how]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            said = p.stdout.readline()
            with open(os.path.join(ws.path, "own"), "r+", encoding="ascii") as f:
                try:
                    getattr(fcntl, how)(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    waits = False
                except OSError as e:
                    waits = e.errno in (errno.EAGAIN, errno.EACCES)
            check("D12: (known limit) a lock by %s on a file of the workspace makes the host wait, and opening it does not" % how, said == b"held\n" and waits, said, waits)
            p.communicate(b"\n", timeout=ALWAYS)


if __name__ == "__main__":
    need_programs()
    for part in (aio, huge_pages, of_the_machine, kernel_protocols, leases, sockets, pipes, of_the_caller, inodes, not_capped):
        part()
    end()
