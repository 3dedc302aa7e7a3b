"""What the box and escape tests share: TAP lines, a workspace with a SANDBOX.md, the program, an
inventory of what a test has created.

Not a test. Works as root and as an ordinary user. CARREL and CARREL_SWITCHES name the programs.
"""
import atexit
import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
CARREL = os.path.abspath(os.environ.get("CARREL") or os.path.join(TREE, "build", "carrel"))
SWITCHES = os.path.abspath(os.environ.get("CARREL_SWITCHES") or os.path.join(TREE, "build-switches", "carrel"))
SHIM = os.path.join(os.path.dirname(CARREL), "test", "shim")
ROOT = os.geteuid() == 0
SLOW = int(os.environ.get("CARREL_TEST_SLOW") or 1)      # how many times longer everything may take: on an emulated processor
ALWAYS = 300 * SLOW    # seconds: no command takes longer unless it hangs
PATIENCE = 120 * SLOW  # seconds until a test stops waiting for something that should happen at once, also on a busy machine

DEEP = os.environ.get("CARREL_TEST_DEEP") == "1"         # ./dev test --all: every point of a sweep, long storms, rows that repeat others

results = []
lines = threading.Lock()      # rows may come from several threads


def report(name, wrong=(), skip=""):
    """One TAP line. `wrong` is a list of reasons, empty if the promise holds."""
    wrong = [] if wrong is None else wrong if isinstance(wrong, list) else [wrong]
    wrong = [w for w in wrong if w]
    with lines:
        results.append(not wrong)
        print("\n".join(["%s %d - %s%s" % ("not ok" if wrong else "ok", len(results), name, " # SKIP " + skip if skip else ""),
                         *("# " + str(line).replace("\n", "\n# ") for line in wrong)]), flush=True)


def check(name, is_ok, *why):
    report(name, [] if is_ok else [repr(w) for w in why] or ["it did not hold"])


def end():
    print("1..%d" % len(results))
    sys.exit(0 if all(results) else 1)


def side_by_side(*parts):
    """Runs parts that mostly wait, each in its own thread. An exception in one is a failed row of
    its own; the others continue.
    """
    def run(part):
        try:
            part()
        except Exception as e:
            report(getattr(part, "__name__", "a part") + " came to its end", ["".join(traceback.format_exception(e))])
    threads = [threading.Thread(target=run, args=(part,)) for part in parts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def until(what, condition, patience=PATIENCE):
    """Returns the result of condition() as soon as it is true. Raises an AssertionError that names
    it if it never is.
    """
    patience = max(PATIENCE, patience)
    end_at = time.monotonic() + patience
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end_at:
            raise AssertionError("did not happen in %d s: %s" % (patience, what))
        time.sleep(0.01)


def whole_answer(s):
    """Head and body of one HTTP/1.1 answer from a connection that stays open: reads the whole
    Content-Length, in any number of pieces.
    """
    got = b""
    while b"\r\n\r\n" not in got and (more := s.recv(65536)):
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")[1:] if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length and (more := s.recv(65536)):
        body += more
    return head, body


def read_until(s, words, most=1 << 20):
    """Reads until `words` are in the text, the stream ends, or the text is too long."""
    got = b""
    while words not in got and len(got) < most and (more := s.recv(65536)):
        got += more
    return got


class Tap:
    """The same lines, for a program that counts its rows itself."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, is_ok, name, *why):
        self.count += 1
        self.failed += not is_ok
        print(("ok" if is_ok else "not ok"), self.count, "-", name)
        if not is_ok:
            for line in why:
                print("#", str(line).replace("\n", "\n# "))

    def skip(self, name, why):
        self.count += 1
        print("ok", self.count, "-", name, "# SKIP", why)

    def end(self):
        print("1..%d" % self.count)
        return 1 if self.failed else 0


def host_mounts(*own):
    """Lines of the host's mount table (without their numbers), sorted. Mounts of other tests come
    and go, so they are left out.
    """
    places = tempfile.gettempdir() + "/"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
        lines = [line.split(" ", 3)[3] for line in f]
    return sorted(line for line in lines if not line.split(" ")[1].startswith(places) or any(place in line for place in own if place))


def manifest(limits="", carrel="", more="", mounts="mounts: [{source: workspace, at: /workspace}]\n"):
    """A SANDBOX.md. `limits` and `carrel` are flow maps without braces; `more` is whole lines."""
    return ("---\nschema: sandbox/v1\nid: '@test/box'\nversion: 1.0.0\nprovider: local\nconfig: {}\nlimits: {%s}\n%s%s"
            "metadata: {carrel: {%s}}\n---\n" % (limits or "", mounts, more, carrel))


class Workspace:
    """A directory of its own, below one that is removed at the end."""

    def __init__(self, text=None, **words):
        self.folder = tempfile.mkdtemp(prefix="carrel-test-")
        self.path = os.path.join(self.folder, "ws")
        os.mkdir(self.path)
        if text is not False:
            self.write("SANDBOX.md", text or manifest(**words))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, content, mode=0o644):
        path = os.path.join(self.path, name)
        with open(path, "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        try:
            with open(os.path.join(self.path, name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def argv(self, command, *options, program=None):
        return [program or CARREL, "run", "-w", self.path, *options, "--", *command]

    def run(self, command, *options, program=None, timeout=ALWAYS, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        if "input" in more:
            del more["stdin"]
        return subprocess.run(self.argv(command, *options, program=program), timeout=timeout, check=False,
                              stdout=more.pop("stdout", subprocess.PIPE), stderr=more.pop("stderr", subprocess.PIPE), **more)

    def json(self, command, *options, **more):
        done = self.run(command, "--json", *options, **more)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"outcome": None, "error": {"code": None}, "raw": done.stdout[:500], "err": done.stderr[:500]}

    def sh(self, script, *options, **more):
        return self.run(["sh", "-c", script], *options, **more)

    def python(self, script, *options, **more):
        return self.run(["python3", "-c", script], *options, **more)

    def without(self, switches, command, *options, **more):
        """The same with the build whose switches can be switched off."""
        env = {**os.environ, "CARREL_TEST_DISABLE": switches}
        return self.run(command, *options, program=SWITCHES, env=env, **more)


def has_switches():
    return os.access(SWITCHES, os.X_OK)


def need_programs():
    if not os.access(CARREL, os.X_OK):
        print("Bail out! %s is not built" % CARREL)
        sys.exit(1)


class Names:
    """Every name created in the watched directories from now on. The kernel reports them (inotify),
    also if they exist for a moment only.
    """

    def __init__(self):
        self.fd = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.seen = set()

    def watch(self, directory):
        if LIBC.inotify_add_watch(self.fd, os.fsencode(directory), IN_CREATE | IN_MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", directory)

    def read(self):
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return self.seen
            at = 0
            while at < len(data):
                _, mask, _, size = struct.unpack_from("iIII", data, at)
                assert not mask & IN_Q_OVERFLOW, "more names than the kernel notes"
                self.seen.add(os.fsdecode(data[at + 16:at + 16 + size].rstrip(b"\0")))
                at += 16 + size


def mount_or_raise(source, at, kind, flags, options=None):
    if LIBC.mount(source, at.encode(), kind, flags, options) < 0:
        raise OSError(ctypes.get_errno(), "mount: " + os.strerror(ctypes.get_errno()), at)


class Place:
    """Distinguishes this program's objects from others on the machine.

    Leases are in a directory of this program; their names are the ids in the names of its control
    groups. Its orphans become its own children (PR_SET_CHILD_SUBREAPER), so every process that it
    ever started is below it. As root it has its own mount namespace, with its own /run/carrel and
    /dev/shm. Create it before any thread.
    """

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="carrel-place-")
        self.owner = os.getpid()
        atexit.register(self.remove)
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.names, self.runtimes = Names(), []
        self.foreign = groups_named(lambda _: True)        # root's groups are named by one of 65,536 numbers, and other tests may have left some
        if ROOT:
            os.chmod(self.folder, 0o755)
            if LIBC.unshare(CLONE_NEWNS) < 0:
                raise OSError(ctypes.get_errno(), "root without a mount namespace of its own cannot tell what is whose")
            mount_or_raise(None, "/", None, MS_REC | MS_PRIVATE)
            os.makedirs("/run/carrel", mode=0o700, exist_ok=True)
            self.add_runtime(os.path.join(self.folder, "run"))
            mount_or_raise(os.path.join(self.folder, "run").encode(), "/run/carrel", None, MS_BIND)
            mount_or_raise(b"none", "/dev/shm", b"tmpfs", 0, b"mode=1777")
            self.runtime = "/run/carrel"
        else:
            os.environ["XDG_RUNTIME_DIR"] = self.folder
            self.runtime = self.add_runtime(os.path.join(self.folder, "carrel"))

    def add_runtime(self, path, uid=None):
        os.mkdir(path, 0o700)
        if uid is not None:
            os.chown(path, uid, uid)
        self.names.watch(path)
        self.runtimes.append(path)
        return path

    def runtime_of(self, uid):
        """XDG_RUNTIME_DIR for another user that this program, as root, starts."""
        path = os.path.join(self.folder, str(uid))
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            os.chown(path, uid, uid)
            self.add_runtime(os.path.join(path, "carrel"), uid)
        return path

    def remove(self):
        if os.getpid() == self.owner:
            shutil.rmtree(self.folder, ignore_errors=True)

    # -- what exists now ---------------------------------------------------------------------------

    def leases(self):
        return {os.path.join(path, name) for path in self.runtimes for name in os.listdir(path)}

    def groups(self):
        """Control groups of this test's sandboxes, at any place: their ids are the names of its
        leases or, as root, lead to them (src/prepare/prepare.c).
        """
        ids = {name.removesuffix(".lease") for name in self.names.read()}
        return groups_named(lambda id_: id_ in ids or str(RESERVED_FIRST + int(id_, 16) % RESERVED_COUNT) in ids) - self.foreign if ids else set()

    def mounts(self, folder=None):
        """As root all mounts of the host; otherwise those that name a place of this test."""
        return [line for line in host_mounts(self.folder, folder) if ROOT or self.folder in line or "carrel-test-" in line]

    def memory(self):
        """In /dev/shm; an ordinary user shares it with others."""
        return set(os.listdir("/dev/shm")) if ROOT else set()


LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER, CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 36, 0x20000, 4096, 16384, 1 << 18
IN_CREATE, IN_MOVED_TO, IN_Q_OVERFLOW = 0x100, 0x80, 0x4000
RESERVED_FIRST, RESERVED_COUNT = 1900000000, 65536
GROUP = re.compile("carrel-([0-9a-f]{16})")
places = []


def own_place():
    """The one Place of this program, created on the first call."""
    if not places:
        places.append(Place())
    return places[0]


def groups_named(is_it):
    """Control groups of sandboxes with such an id."""
    found = set()
    for base, dirs, _ in os.walk("/sys/fs/cgroup"):
        found |= {os.path.join(base, d) for d in dirs if (id_ := GROUP.fullmatch(d)) and is_it(id_.group(1))}
    return found


def descendants(of=None):
    """(pid, start time) -> name of all processes that live below this one. With own_place() also
    those whose parents have ended.
    """
    below, alive = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as f:
                stat = f.read()
        except OSError:
            continue    # ended meanwhile
        words = stat[stat.rindex(")") + 2:].split()
        below.setdefault(int(words[1]), []).append(int(entry))
        if words[0] not in "ZX":
            alive[int(entry)] = (int(entry), int(words[19])), stat[stat.index("(") + 1:stat.rindex(")")]
    found, todo = {}, [of or os.getpid()]
    while todo:
        for child in below.get(todo.pop(), ()):
            todo.append(child)
            if child in alive:
                found[alive[child][0]] = alive[child][1]
    return found


def runtime_dir():
    """The directory of this program's leases."""
    return own_place().runtime


def tree(path):
    found = {}
    for base, dirs, files in os.walk(path):
        for name in dirs + files:
            st = os.lstat(os.path.join(base, name))
            found[os.path.relpath(os.path.join(base, name), path)] = (st.st_mode, st.st_uid, st.st_gid, st.st_size)
    return found


class Inventory:
    """What this program has created, and what exists now that did not exist at the beginning.
    Objects of others are ignored.
    """

    def __init__(self, folder=None):
        self.folder, self.place = folder, own_place()
        self.before = self.look()

    def look(self):
        return {"mounts": self.place.mounts(self.folder), "groups": self.place.groups(), "leases": self.place.leases(), "processes": descendants(),
                "memory": self.place.memory(), "files": tree(self.folder) if self.folder else {}}

    def wrong(self):
        """What exists now and did not before, or is missing, as sentences."""
        now, wrong = self.look(), []
        for what in ("groups", "leases", "memory"):
            more = now[what] - self.before[what]
            if more:
                wrong.append("%s left behind: %s" % (what, sorted(more)))
        more = {key: name for key, name in now["processes"].items() if key not in self.before["processes"]}
        if more:
            wrong.append("processes left behind: %s" % sorted((pid, name) for (pid, _), name in more.items()))
        for what in ("mounts", "files"):
            if now[what] != self.before[what]:
                wrong.append("%s changed: %s -> %s" % (what, self.before[what], now[what]))
        return wrong

    def left(self):
        """What stays. Waits for what is about to end."""
        end_at = time.monotonic() + PATIENCE
        while (wrong := self.wrong()) and time.monotonic() < end_at:
            time.sleep(0.01)
        return wrong
