#!/usr/bin/env python3
# slow: 30 s: a daemon begins forty times, half of them as an ordinary user
# deep as root: half of its daemons are an ordinary user's already
"""A state database that lost a part, or cannot be written: the daemon starts with everything else,
or refuses to start and prints the fix. TAP.

It never starts and then fails every create (as it once did if state.db could be read but not
written).
"""
import concurrent.futures
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, DEEP, ROOT, check, end, need_programs, report, until
from daemon_rig import Daemon

LOG, DATABASE = "state.db-wal", "state.db"


def cut(name, keep):
    def damage(state):
        path = os.path.join(state, name)
        size = os.path.getsize(path)
        os.truncate(path, int(size * keep) if keep >= 0 else size + keep)
    return damage


def garble(state):
    with open(os.path.join(state, DATABASE), "r+b") as f:
        f.seek(4096)
        f.write(b"\xff" * 4096)


def closed(*names):
    return lambda state: [os.chmod(os.path.join(state, name), 0o400) for name in names if os.path.exists(os.path.join(state, name))]


# What is done to the state; whether the daemon was killed (and left its log) or stopped (without
# one); what it may do then.
ROWS = ((cut(LOG, 0), "kill", "goes on"), (cut(LOG, 0.3), "kill", "goes on"), (cut(LOG, 0.7), "kill", "goes on"), (cut(LOG, -100), "kill", "goes on"),
        (cut(DATABASE, 0.5), "stop", "refuses"), (cut(DATABASE, -4096), "stop", "refuses"), (garble, "stop", "refuses"), (closed(DATABASE), "stop", "either"), (closed(DATABASE, LOG), "kill", "either"))


def try_one(at, damage, how, expected):
    with tempfile.TemporaryDirectory(prefix="carrel-damaged-") as folder:
        state = os.path.join(folder, "state")
        d = Daemon(state=state)
        try:
            d.start()
            for i in range(4):
                d.create(name="n%d" % i)
            parts = d.children()
            d.stop(signal.SIGKILL if how == "kill" else signal.SIGTERM)
            until("its processes have gone", lambda: not any(os.path.exists("/proc/%d" % pid) for pid in parts.values()))
            damage(state)
            r = subprocess.Popen([CARREL, "serve", "--state", state], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(d.log, "wb"))
            d.child = r
            until("it serves, or has ended", lambda: r.poll() is not None or d.is_up())
            wrong, text = [], d.log_text()
            if r.poll() is not None:
                hint = "Put back a copy of state.db" if expected == "refuses" else "must be files of the daemon's user, who may write them"
                if expected == "goes on" or r.returncode != 125 or "state_unusable" not in text or hint not in text:
                    wrong = [r.returncode, text]
            else:
                made = d.call("POST", "/v1/sandboxes", {"name": "after"})
                ran = d.call("POST", "/v1/sandboxes/after/execs", {"argv": ["true"]})
                if expected == "refuses" or made.status != 201 or ran.status != 200:
                    wrong = [made, ran, text]
                d.end()
            report("state %d, after a %s: the daemon %s" % (at, how, {"either": "goes on or refuses"}.get(expected, expected)), wrong)
        finally:
            d.stop(signal.SIGKILL)
            shutil.rmtree(d.folder, ignore_errors=True)


def runtime_directory():
    """The directory of leases, with a mode that makes every create fail: the daemon does not report
    that it is ready.
    """
    with tempfile.TemporaryDirectory(prefix="carrel-damaged-") as folder:
        leases = os.path.join(folder, "carrel")
        os.mkdir(leases)
        os.chmod(leases, 0o755)
        done = subprocess.Popen([CARREL, "serve", "--state", os.path.join(folder, "state")], env=dict(os.environ, XDG_RUNTIME_DIR=folder), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        lines = []
        for line in done.stderr:
            lines.append(line.decode())
            if "ready" in lines[-1]:
                done.terminate()
        status = done.wait(ALWAYS)
        text = "".join(lines)
        check("a runtime directory that others may read is refused at the start, with the command that helps", status == 125 and "runtime_dir" in text and "ready" not in text and
              "chmod 700 " + leases in text, status, text)


STEP, FRAME, HEAD = 512, 24 + 4096, 32      # bytes: of the sweep; of a frame of the log, and of its head


def copy_files(source, target):
    """Without its sockets."""
    shutil.copytree(source, target, ignore=lambda at, names: [n for n in names if stat.S_ISSOCK(os.lstat(os.path.join(at, n)).st_mode)])


def try_length(before, length):
    """What is wrong after the log of this state lost everything behind `length`."""
    with tempfile.TemporaryDirectory(prefix="carrel-damaged-") as folder:
        state = os.path.join(folder, "state")
        copy_files(before, state)
        os.truncate(os.path.join(state, LOG), length)
        d = Daemon(state=state)
        try:
            d.start()
            made = d.call("POST", "/v1/sandboxes", {"name": "after"})
            ran = d.call("POST", "/v1/sandboxes/after/execs", {"argv": ["true"]})
            d.end()
            return [] if made.status == 201 and ran.status == 200 else ["%d bytes left: %r, %r, %s" % (length, made, ran, d.log_text())]
        except AssertionError as e:
            return [] if "state_unusable" in str(e) and "ended with 125" in str(e) else ["%d bytes left: %s" % (length, e)]
        finally:
            d.stop(signal.SIGKILL)
            shutil.rmtree(d.folder, ignore_errors=True)


def sweep():
    """The log ends at each position: the daemon continues, or refuses to start; no create is
    answered with an internal error.
    """
    with tempfile.TemporaryDirectory(prefix="carrel-damaged-") as folder:
        state, before = os.path.join(folder, "state"), os.path.join(folder, "before")
        d = Daemon(state=state)
        try:
            d.start()
            for i in range(3):
                d.create(name="n%d" % i)
            parts = d.children()
            d.stop(signal.SIGKILL)
            until("its processes have gone", lambda: not any(os.path.exists("/proc/%d" % pid) for pid in parts.values()))
            copy_files(state, before)
        finally:
            d.stop(signal.SIGKILL)
            shutil.rmtree(d.folder, ignore_errors=True)
        size = os.path.getsize(os.path.join(before, LOG))
        lengths = range(0, size, STEP) if DEEP else (1, HEAD, HEAD + FRAME, HEAD + FRAME + STEP, size - STEP)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = sum(pool.map(lambda n: try_length(before, n), lengths), [])
        report("a log of %d bytes that ends at %s: the daemon goes on or refuses to start" % (size, "each step of %d" % STEP if DEEP else "odd places"), wrong[:5])


def as_user():
    """The same as an ordinary user, who cannot write a read-only file."""
    with tempfile.TemporaryDirectory(prefix="carrel-damaged-user-") as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "carrel")
        shutil.copy(CARREL, program)
        home = os.path.join(folder, "home")
        os.mkdir(home)
        os.chown(home, 4711, 4711)
        shutil.copytree(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.join(folder, "test"))
        done = subprocess.run(["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", sys.executable, os.path.join(folder, "test/daemon/damaged_state_test.py")],
                              env={"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "CARREL": program, "TMPDIR": home, "XDG_RUNTIME_DIR": home, "CARREL_TEST_DEEP": "1" if DEEP else ""}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=None if DEEP else ALWAYS, check=False)
        text = done.stdout.decode()
        check("all of it as an ordinary user", done.returncode == 0 and "1..%d" % (len(ROWS) + 2) in text, text)


if __name__ == "__main__":
    need_programs()
    for i, row in enumerate(ROWS):
        try_one(i, *row)
    if ROOT:
        as_user()
    else:
        sweep()
        runtime_directory()    # root's is /run/carrel, shared by every daemon of this machine
    end()
