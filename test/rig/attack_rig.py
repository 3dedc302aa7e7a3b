"""What every escape test uses: a sandbox to attack, a canary, an inventory, and the proof that a
test can fail.

A row is one attack. Its payload is a Python program that runs inside and prints lines of the form
`OPEN name detail` or `closed name detail`, and at last `END`. The row runs twice. With the shipped
program, everything must be closed. With the program of the switches build, and the switches of that row
switched off, the same payload must find its way out. If no layer implements a defence, the control
is bubblewrap's usual command line (`bwrap`) or the host itself (`host`). If the control finds
nothing open, the test is reported as failing: it could not fail, so it proves nothing.
"""
import ctypes
import hashlib
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

from box_rig import Inventory
from image_rig import image_import, python_image

HERE = os.path.dirname(os.path.abspath(__file__))
# `container`: the same attacks in sandboxes whose root is an image, with busybox and Python
KIND = os.environ.get("CARREL_TEST_KIND") or "local"
IMAGE = "attack:1"
TOP = os.path.dirname(os.path.dirname(HERE))
ORDINARY = 65534

PRELUDE = r'''
import ctypes, errno, fcntl, os, signal, socket, stat, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
TOLD = set()
def tell(name, is_open, detail=""):
    TOLD.add(name)
    print("OPEN" if is_open else "closed", name, str(detail).replace("\n", " ")[:200], flush=True)
def tried(name, attempt, *arguments):
    """Open when the attempt raises nothing and answers no falsehood."""
    try:
        answer = attempt(*arguments)
        tell(name, answer is None or bool(answer), repr(answer))
    except (OSError, ValueError) as e:
        tell(name, False, e)
def call(number, *arguments):
    """A system call; 0 or more, or minus the errno."""
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *[a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()
def refused(name, answer):
    """Closed only by the filter's own answers: any other errno means that the kernel looked at the call."""
    tell(name, answer not in (-errno.EPERM, -errno.ENOSYS), answer)
def in_child(work):
    """What `work` answers (0 to 100) in a child, or 128 and more when a signal ends it."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(work())
        except OSError as e:
            os._exit(101 if e.errno in (errno.EPERM, errno.ENOSYS) else 102)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256
'''


# Part of every host file, beside what a row needs: all abilities of the machine, and a workspace.
HOST = {"providers": {name: {"isolated": True, "mounts": True} for name in ("local", "container")}, "workspace": {}, "trust": "trusted"}


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, is_ok, name, *why):
        self.count += 1
        self.failed += not is_ok
        print("ok" if is_ok else "not ok", self.count, "-", name, flush=True)
        for line in () if is_ok else why:
            print("#", str(line).replace("\n", "\n# "), flush=True)

    def skip(self, name, why):
        self.count += 1
        print("ok", self.count, "-", name, "# SKIP", why, flush=True)

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        lines = [line.split(" ", 2) for line in self.out.decode(errors="replace").splitlines()]
        self.answers = {w[1]: (w[0] == "OPEN", w[2] if len(w) > 2 else "") for w in lines if w[0] in ("OPEN", "closed") and len(w) > 1}
        self.has_ended = b"\nEND\n" in b"\n" + self.out

    @property
    def opened(self):
        return {name for name, (is_open, _) in self.answers.items() if is_open}

    def tell(self):
        return [f"{name}: {'OPEN' if o else 'closed'} {d}" for name, (o, d) in self.answers.items()] + \
               [f"status {self.status}", self.err.decode(errors="replace")[-600:]]


def yaml(value):
    return json.dumps(value)                # every JSON text is YAML


def manifest(mounts=None, carrel=None, config=None, **more):
    config = {**({"image": IMAGE} if KIND == "container" else {}), **(config or {})}
    block = {"schema": "sandbox/v1", "id": "@test/escape", "version": "1.0.0", "provider": KIND, "config": config,
             "mounts": [{"source": "workspace", "at": "/workspace"}] if mounts is None else mounts}
    if carrel:
        block["metadata"] = {"carrel": carrel}
    return f"---\n{yaml({**block, **more})}\n---\n"


class Person:
    """The user who starts the sandbox, and the directory of that user's files."""

    def __init__(self, rig, name, uid, gid, prefix):
        self.rig, self.name, self.uid, self.gid, self.prefix, self.is_root = rig, name, uid, gid, prefix, uid == 0
        self.home = tempfile.mkdtemp(prefix=f"{name}-", dir=rig.home)
        self.images = os.path.join(self.home, "state", "carrel")     # the state directory, if KIND is container
        os.chown(self.home, uid, gid)
        self.count = 0

    def directory(self, mode=0o700):
        self.count += 1
        path = os.path.join(self.home, f"w{self.count}")
        os.mkdir(path, mode)
        os.chown(path, self.uid, self.gid)
        return path

    def file(self, path, content=b"", mode=0o644, owner=True):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        at = path
        while owner and at != self.home and at.startswith(self.home):
            os.chown(at, self.uid, self.gid)
            at = os.path.dirname(at)
        return path

    def command(self, argv):
        return [*self.prefix, *argv]


def name_this_host():
    """A host name that is easy to recognise, in a UTS namespace of this test."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x04000000) == 0:                  # CLONE_NEWUTS
        socket.sethostname("carrel-canary-host")


class Rig:
    """One run of one test program."""

    def __init__(self):
        self.tap = Tap()
        self.inventory = Inventory()
        self.home = tempfile.mkdtemp(prefix="carrel-escape.")
        os.chmod(self.home, 0o755)
        self.shipped = self.copy(os.environ.get("CARREL") or os.path.join(TOP, "build", "carrel"))
        self.switches = self.copy(os.environ.get("CARREL_SWITCHES") or os.path.join(TOP, "build-switches", "carrel"))
        self.sums = self.hashes()
        self.token = secrets.token_hex(32)
        os.mkdir(os.path.join(self.home, "outside"))
        self.canary = os.path.join(self.home, "outside", "canary")
        with open(self.canary, "w") as f:
            f.write(self.token)
        os.chmod(self.canary, 0o666)
        self.canary_was = self.look_at_canary()
        uid, gid = os.getuid(), os.getgid()
        if uid == 0:
            name_this_host()
        self.people = [Person(self, "root" if uid == 0 else "user", uid, gid, [])]
        if uid == 0:
            self.people.append(Person(self, "rootless", ORDINARY, ORDINARY,
                                      ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]))
        if KIND == "container":
            self.bring_image()

    def bring_image(self):
        """Each user has images of their own."""
        layout = os.path.join(self.home, "layout")
        os.mkdir(layout, 0o755)
        python_image().layout(layout)
        for person in self.people:
            image_import(self.shipped, person.images, layout, IMAGE, person.prefix)
        shutil.rmtree(layout)

    # -- what must not change ----------------------------------------------------------------------

    def copy(self, program):
        """A directory in which an ordinary user may run the program."""
        if not os.access(program, os.X_OK):
            print(f"Bail out! {program} is missing: ./dev test build build-switches")
            sys.exit(1)
        place = os.path.join(self.home, "switches" if "switches" in program else "shipped")
        os.makedirs(place)
        return shutil.copy(program, os.path.join(place, "carrel"))

    def hashes(self):
        return [hashlib.sha256(open(p, "rb").read()).hexdigest() for p in (self.shipped, self.switches)]

    def look_at_canary(self):
        st = os.stat(self.canary)
        with open(self.canary) as f:
            return f.read(), st.st_ino, st.st_mtime_ns, st.st_mode, st.st_uid, os.listdir(os.path.dirname(self.canary))

    # -- running -----------------------------------------------------------------------------------

    def payload(self, person, text):
        """A workspace with the payload and a directory for the manifest."""
        work = person.directory()
        person.file(os.path.join(work, "payload.py"), PRELUDE + text + '\nprint("END", flush=True)\n')
        return work

    def run(self, person, argv, work, off=None, text=None, options=(), program=None, timeout=300, **more):
        """`carrel run` of argv in `work`. off: the switches that are switched off, None for the
        shipped program.
        """
        if text is not None:
            person.file(os.path.join(work, "SANDBOX.md"), text)
        env = {k: v for k, v in os.environ.items() if not k.startswith("CARREL")}
        if os.getuid() != person.uid:
            env["XDG_RUNTIME_DIR"] = self.inventory.place.runtime_of(person.uid)
        env["XDG_STATE_HOME"] = os.path.join(person.home, "state")
        if KIND == "container":
            env["CARREL_STATE"] = person.images
        env.update(more.pop("env", {}))
        if off is not None:
            env["CARREL_TEST_DISABLE"] = ",".join(off)
        program = program or (self.switches if off is not None else self.shipped)
        more.setdefault("stdin", subprocess.DEVNULL)
        command = person.command([*more.pop("wrap", []), program, "run", *options, "-w", work, "--", *argv])
        command = [*more.pop("outer", []), *command]       # with this process's ids, before another user starts
        result = Result(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=timeout,
                                       cwd=person.home, check=False, **more))
        if off is None and self.token.encode() in result.out + result.err:
            self.tap.ok(False, f"{person.name}: the canary's token stays outside", command, result.out[-300:])
        return result

    def bwrap(self, person, argv, work, **more):
        """The command line that many agents use, as a positive control."""
        more.setdefault("stdin", subprocess.DEVNULL)
        line = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", work, work, "--unshare-all",
                "--die-with-parent", "--new-session", "--chdir", work]
        return Result(subprocess.run(person.command([*line, *argv]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                                     check=False, **more))

    def host(self, person, argv, work, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return Result(subprocess.run(person.command(argv), cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                                     check=False, **more))

    def row(self, person, name, text, control, needed=None, setting=None, args=(), prepare=None, **more):
        """One attack, twice. control: a list of switches, "bwrap" or "host". needed: what the control
        must find open (default: everything that the payload reported). prepare(work) may put files
        into the workspace.
        """
        title = f"{name} ({person.name})"
        setting = setting or manifest()
        work = self.payload(person, text)
        person.file(os.path.join(work, "SANDBOX.md"), setting)
        extra = prepare(work) if prepare else None
        if extra:
            args = [*args, *extra]
        command = ["python3", "payload.py", *args]
        shipped = self.run(person, command, work, **more)
        is_closed = shipped.has_ended and shipped.answers and not shipped.opened
        self.tap.ok(is_closed, title + " is closed", *shipped.tell())
        self.tap.ok(*self.judge_control(person, title, command, work, control, needed, shipped, more))
        return work

    def judge_control(self, person, title, command, work, control, needed, shipped, more):
        if control in ("bwrap", "host"):
            more = {k: v for k, v in more.items() if k in ("stdin", "pass_fds")}
            seen, label = getattr(self, control)(person, command, work, **more), "under " + control
        else:
            seen, label = self.run(person, command, work, off=control, **more), "without " + ",".join(control)
        needed = set(shipped.answers) if needed is None else set(needed)
        missing = needed - seen.opened
        return not missing and bool(needed), f"{title} is open {label}", f"the test cannot fail: {sorted(missing)}", *seen.tell()

    def end(self):
        left = self.inventory.left()
        self.tap.ok(not left, "nothing is left behind", *left)
        self.tap.ok(self.look_at_canary() == self.canary_was, "the canary is as it was")
        self.tap.ok(self.hashes() == self.sums, "the programs are as they were")
        for place, names, _ in os.walk(self.home):       # attacks leave restrictive modes behind
            for n in names:
                path = os.path.join(place, n)
                if not stat.S_ISLNK(os.lstat(path).st_mode):
                    os.chmod(path, 0o700)
        shutil.rmtree(self.home, ignore_errors=True)
        return self.tap.end()


def run_rows(rows):
    """Runs each row as each user. Arguments of the command line choose rows by prefix. Returns the
    exit status.
    """
    rig = Rig()
    for person in rig.people:
        if KIND == "container":
            os.environ["CARREL_STATE"] = person.images      # for what a row starts itself
        for row in rows:
            if len(sys.argv) < 2 or row.__name__.startswith(tuple(sys.argv[1:])):
                row(rig, person)
    return rig.end()
