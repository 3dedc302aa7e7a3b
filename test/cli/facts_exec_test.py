#!/usr/bin/env python3
"""facts_exec_test - every execve of the whole tree is in the audit log of `carrel run --audit` (P32): the
command's, those of its children in any form, and none is lost in a flood. What a program hides from
pid 1 is reported without its words.
"""
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE, check, end

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n---\n"
STORM = 1000

# a word as long as the kernel takes
LONG = """
import os
os.execv("/bin/true", ["true"] + ["x" * 100000] * 15)
"""
MANY = """
import os
os.execv("/bin/true", ["true"] * 20000)
"""
MEMORY = """
import os, shutil
fd = os.memfd_create("hidden", 0)
with open("/bin/true", "rb") as f: os.write(fd, f.read())
os.execve(fd, ["from-memory", "word"], {})
"""
DELETED = """
import os, shutil
shutil.copy("/bin/true", "/tmp/gone")
fd = os.open("/tmp/gone", os.O_RDONLY)
os.unlink("/tmp/gone")
os.execve(fd, ["from-nowhere"], {})
"""
THREAD = """
import os, threading
t = threading.Thread(target=lambda: os.execv("/bin/true", ["of-a-thread"]))
t.start(); t.join()
"""
SPAWN = """
import subprocess
subprocess.run(["true", "spawned"], close_fds=False)
"""
CLOSED = """
import ctypes, os
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
os.execv("/bin/true", ["true", "hidden"])
"""
LISTENER = """
import ctypes, struct, os
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7fff0000))
prog = struct.pack("=HxxxxxxQ", 1, ctypes.addressof(code))
plain = libc.syscall(317, 1, 0, prog)
fd = libc.syscall(317, 1, 8, prog)
print(plain, fd, os.strerror(ctypes.get_errno()) if fd < 0 else "")
"""
STORMING = """
import os
for i in range(%d):
    pid = os.posix_spawn("/bin/true", ["storm", str(i)], {})
    os.waitpid(pid, 0)
""" % STORM

# The first thing that this program does: an execve with pointers that lead nowhere, then exit_group(0).
AT_ONCE = bytes.fromhex("bf10000000 be20000000 31d2 b83b000000 0f05 31ff b8e7000000 0f05")
TIMES = 30


def program(code):
    """An ELF program of these instructions (x86-64)."""
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 120 + len(code), 120 + len(code), 4096) + code


class Bench:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="carrel-facts-")
        os.chmod(self.top, 0o755)
        self.work, self.state = os.path.join(self.top, "work"), os.path.join(self.top, "state")
        os.mkdir(self.work)
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="ascii") as f:
            f.write(MANIFEST)

    def run(self, *command, options=("--audit",)):
        """The result, and the executions that were recorded."""
        shutil.rmtree(self.state, ignore_errors=True)
        done = subprocess.run([CARREL, "run", *options, "--", *command], env={**os.environ, "CARREL_STATE": self.state, "HOME": self.top}, cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
        log = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        entries = list(audit_chain.entries(log)) if os.path.isdir(log) else []
        seen = [e for entry in entries if entry["action"] == "process.executed" for e in entry["output"]["events"]]
        for e in seen:
            if "argv" in e:
                e["command"] = " ".join(word if word and " " not in word else "'%s'" % word for word in e["argv"])
        return done, seen


def commands(events):
    return [e.get("command") for e in events]


def the_tree(b):
    done, seen = b.run("/bin/sh", "-c", "/bin/true one; (/bin/true 'two words'; /bin/sh -c '/bin/true three'); echo said")
    check("the command and everything that it executes is recorded, in order", done.returncode == 0 and done.stdout == "said\n" and commands(seen)[1:] ==
          ["/bin/true one", "/bin/true 'two words'", "/bin/sh -c '/bin/true three'", "/bin/true three"] and all(e["exec"] == 1 and e["pid"] > 1 for e in seen), done, seen)
    check("  with the path that is executed", [e["path"] for e in seen[1:]] == ["/bin/true", "/bin/true", "/bin/sh", "/bin/true"], seen)
    done, seen = b.run("true", options=())
    check("without --audit nothing is watched, nor recorded", done.returncode == 0 and not seen, done, seen)


def the_forms(b):
    def last(code):
        done, seen = b.run("python3", "-c", code)
        return done, (seen or [{}])[-1]

    done, e = last(LONG)
    check("words of 1.5 MB are cut, and their number is right", done.returncode == 0 and e.get("argc") == 16 and e.get("reason") == "cut" and
          e["command"].startswith("true xxx") and len(e["command"]) < 4096, done, str(e)[:300])
    done, e = last(MANY)
    check("of 20,000 words 8,192 are counted", done.returncode == 0 and e.get("argc") == 8192 and e.get("reason") == "cut", done, str(e)[:300])
    done, e = last(MEMORY)
    check("a program in memory has no path", done.returncode == 0 and e.get("command") == "from-memory word" and (e.get("reason") == "open_file" or "/proc/self/fd/" in e["path"]), done, e)
    done, e = last(DELETED)
    check("  nor has a deleted one", done.returncode == 0 and e.get("command") == "from-nowhere", done, e)
    done, e = last(THREAD)
    check("a thread's execve is recorded", done.returncode == 0 and e.get("command") == "of-a-thread", done, e)
    done, e = last(SPAWN)
    check("  and that of a vfork", done.returncode == 0 and e.get("command") == "true spawned", done, e)
    done, e = last(CLOSED)
    check("a process that is closed to tracing is recorded without its words", done.returncode == 0 and e.get("reason") == "unread" and "command" not in e and e["pid"] > 1, done, e)
    done, _ = b.run("python3", "-c", LISTENER)
    check("a filter of the program is installed, a second listener is refused", done.stdout.startswith("0 -1 Device or resource busy"), done)


def its_own_memory(b):
    """The command begins with pid 1's memory. What it names once it has executed is never looked up there."""
    if platform.machine() != "x86_64":
        return
    path = os.path.join(b.work, "at-once")
    with open(path, "wb") as f:
        f.write(program(AT_ONCE))
    os.chmod(path, 0o755)
    for i in range(TIMES):
        done, seen = b.run("/workspace/at-once")
        if done.returncode != 0 or len(seen) < 2:
            break
    check("an execve at once with pointers that lead nowhere does not end pid 1, and is recorded cut", i == TIMES - 1 and done.returncode == 0 and
          seen[-1].get("reason") == "cut", i, done, seen)


def the_flood(b):
    done, seen = b.run("python3", "-c", STORMING)
    storm = [e for e in seen if (e.get("command") or "").startswith("storm ")]
    check("of %d executions in a row each is recorded" % STORM, done.returncode == 0 and [e["command"] for e in storm] == ["storm %d" % i for i in range(STORM)],
          done, len(storm), sum(e.get("count", 0) for e in seen))
    done, seen = b.run("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do (while :; do /bin/true; done) & done; i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i + 1)); done; exit 0", options=("--audit", "--json"))
    answer = json.loads(done.stdout or "{}")
    check("a command that floods ends like any other", done.returncode == 0 and answer.get("outcome") == "exited" and len(seen) > 50, done, len(seen))


def main():
    b = Bench()
    the_tree(b)
    the_forms(b)
    its_own_memory(b)
    the_flood(b)
    shutil.rmtree(b.top, ignore_errors=True)


if __name__ == "__main__":
    main()
    end()
