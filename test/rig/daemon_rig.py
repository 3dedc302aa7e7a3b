"""What the tests of the daemon share: `carrel serve` with its own state directory, raw HTTP, SSE,
an inventory.

Not a test. Use it as `with Daemon() as d:`; leaving the block stops every sandbox and the daemon,
and nothing of it is left. HTTP is written by hand because tests must be able to break it. Tests
wait for events with until(), never for a fixed time.
"""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from box_rig import CARREL, PATIENCE, until


def state_of(pid):
    """The kernel's letter for the state of a process; X if it does not exist."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=PATIENCE):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body) if self.body else None

    @property
    def code(self):
        """The error's code, or None."""
        try:
            return self.json["error"]["code"]
        except (ValueError, TypeError, KeyError):
            return None

    def __repr__(self):
        return "%d %s" % (self.status, self.body[:600])


class Daemon:
    def __init__(self, *words, state=None, program=None, env=None):
        self.folder = tempfile.mkdtemp(prefix="carrel-daemon-")
        os.chmod(self.folder, 0o755)
        self.state = state or os.path.join(self.folder, "state")
        self.words, self.program, self.env = words, program or CARREL, env
        self.log = os.path.join(self.folder, "log")
        self.child = None
        self.ids = set()       # of every sandbox that an answer named

    # -- its life ----------------------------------------------------------------------------------
    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def times_ready(self):
        """How often it has reported that it is ready: once for each start, and once for each
        restart of its parts.
        """
        return self.log_text().count("ready; ") if os.path.exists(self.log) else 0

    def start(self):
        before, out = self.times_ready(), open(self.log, "ab")
        self.child = subprocess.Popen([self.program, "serve", "--state", self.state, *self.words], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                      env=dict(os.environ, **(self.env or {})))
        out.close()
        try:
            until("carrel serve answers", lambda: self.child.poll() is not None or (self.is_up() and self.times_ready() > before))
        except AssertionError as e:
            raise AssertionError(str(e) + "\n" + self.log_text()) from None
        if self.child.poll() is not None:
            raise AssertionError("carrel serve ended with %d:\n%s" % (self.child.returncode, self.log_text()))
        return self

    def is_up(self):
        try:
            return self.call("GET", "/v1/info").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def restart_parts(self, act):
        """Makes the launcher restart all parts, and waits until they have started."""
        before = self.times_ready()
        act()
        until("its parts are started again", lambda: self.times_ready() > before)

    def reload(self):
        """SIGHUP: the daemon reads the host file again."""
        self.restart_parts(lambda: self.child.send_signal(signal.SIGHUP))

    def stop(self, number=signal.SIGTERM):
        """Ends the daemon; its sandboxes continue."""
        if self.child and self.child.poll() is None:
            self.child.send_signal(number)
            self.child.wait(timeout=PATIENCE)

    def end(self):
        """Stops every sandbox, then the daemon."""
        if self.child.poll() is not None:
            self.start()
        for item in self.call("GET", "/v1/sandboxes").json["items"]:
            self.call("DELETE", "/v1/sandboxes/" + item["id"])
        self.stop()

    def children(self):
        """name -> pid of the daemon's own processes (keeper, door, ...)."""
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as f:
                    stat = f.read()
                if int(stat.rsplit(")", 1)[1].split()[1]) == self.child.pid:
                    with open("/proc/%s/cmdline" % entry, "rb") as f:
                        words = f.read().split(b"\0")
                    if words[1:2] == [b"serve"]:                # a fork of the launcher, which has a name of its own
                        words = [stat.split("(", 1)[1].rsplit(")", 1)[0].encode()]
                    found[os.path.basename(words[0].decode()) + (" " + words[1].decode() if len(words) > 2 and words[1][:1] != b"-" else "")] = int(entry)
            except OSError:
                continue
        return found

    @contextlib.contextmanager
    def held(self, pid):
        """One of its parts is stopped (SIGSTOP) meanwhile, and so is the launcher, which would
        continue it at once.
        """
        for one in (self.child.pid, pid):
            os.kill(one, signal.SIGSTOP)
            until("process %d stands still" % one, lambda one=one: state_of(one) in "TZX")
        try:
            yield
        finally:
            for one in (pid, self.child.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGCONT)

    # -- HTTP --------------------------------------------------------------------------------------
    @property
    def http(self):
        return os.path.join(self.state, "carrel.sock")

    def connection(self, timeout=PATIENCE):
        return UnixConnection(self.http, timeout)

    def call(self, method, path, body=None, headers=None, timeout=PATIENCE):
        """One request on a new connection. A dict or list is sent as JSON, bytes unchanged."""
        c = self.connection(timeout)
        head = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            head.setdefault("Content-Type", "application/json")
        elif body is not None:
            head.setdefault("Content-Type", "application/octet-stream")
        try:
            c.request(method, path, body=body, headers=head)
            r = c.getresponse()
            a = Answer(r.status, r.headers, r.read())
            self.note(path, a)
            return a
        except http.client.RemoteDisconnected as e:
            e.add_note("the daemon's log:\n" + "".join(self.log_text().splitlines(True)[-12:]))
            raise
        finally:
            c.close()

    def note(self, path, answer):
        """Remembers the sandboxes whose groups must be gone in the end."""
        if path.startswith("/v1/") and answer.status < 300 and answer.headers.get("Content-Type", "").startswith("application/json"):
            body = answer.json
            for item in [body] + body.get("items", []):
                if "status" in item and "id" in item:
                    self.ids.add(item["id"])

    def must(self, method, path, body=None, **more):
        a = self.call(method, path, body, **more)
        if a.status >= 300:
            raise AssertionError("%s %s: %r" % (method, path, a))
        return a.json

    def create(self, **fields):
        return self.must("POST", "/v1/sandboxes", fields)["id"]

    def exec(self, box, argv, timeout=PATIENCE, **fields):
        fields["argv" if isinstance(argv, list) else "command"] = argv
        return self.must("POST", "/v1/sandboxes/%s/execs" % box, fields, timeout=timeout)

    def stream(self, method, path, body=None, timeout=PATIENCE, headers=None):
        """Server-sent events as (name, data) until the stream ends; close() of the generator closes
        the connection.
        """
        c = self.connection(timeout)
        data = json.dumps(body).encode() if body is not None else None
        head = {"Accept": "text/event-stream", **(headers or {})}
        if data is not None:
            head["Content-Type"] = "application/json"
        try:
            c.request(method, path, body=data, headers=head)
            r = c.getresponse()
            if r.status >= 300:
                raise AssertionError("%s %s: %d %s" % (method, path, r.status, r.read()))
            name, lines = "message", []
            for line in r:
                line = line.decode().rstrip("\n").rstrip("\r")
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    lines.append(line[5:].lstrip(" "))
                elif line == "" and lines:
                    yield name, json.loads("\n".join(lines))
                    name, lines = "message", []
        finally:
            c.close()


def own_groups():
    """The directories of the control groups of this process, in every hierarchy: processes that it
    starts create groups below them.
    """
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    places = [(name, own) for _, names, own in lines for name in ({"": ("unified", "")}.get(names) or (names.removeprefix("name="),))]
    found = {os.path.normpath("/sys/fs/cgroup/%s/%s" % place) for place in places}
    return sorted(path for path in found if os.path.isdir(path))


def groups_of(ids):
    """Control groups that carry one of these sandboxes' ids: below the root of each hierarchy, and
    below those of this test.
    """
    found = set()
    for root in ("/sys/fs/cgroup", *own_groups()):
        for top, dirs, _ in os.walk(root):
            found |= {os.path.join(top, d) for d in dirs if any(box in d for box in ids)}
            dirs[:] = [d for d in dirs if d.startswith("carrel") or (root == "/sys/fs/cgroup" and top.count("/") < 4)]
    return sorted(found)


def processes_of(state):
    """pid -> name of the processes that name this state directory, or hold something in it: the
    daemon's own, and its boxes.
    """
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as f:
                words = f.read()
            held = [os.readlink("/proc/%s/fd/%s" % (entry, fd)) for fd in os.listdir("/proc/%s/fd" % entry)]
            if state.encode() in words or any(path.startswith(state + "/") for path in held):
                with open("/proc/%s/comm" % entry, encoding="utf-8", errors="replace") as f:
                    found[int(entry)] = f.read().strip()
        except OSError:
            continue
    return found


def box_process(d, box):
    """The process that writes the box's journal. A busy box opens and closes files meanwhile: one
    look may miss it.
    """
    path = os.path.join(d.state, "boxes", box, "journal")

    def leads_to_it(pid, fd):
        with contextlib.suppress(OSError):
            return os.readlink("/proc/%d/fd/%s" % (pid, fd)) == path

    def find():
        for pid in processes_of(d.state):
            with contextlib.suppress(OSError):
                if any(leads_to_it(pid, fd) for fd in os.listdir("/proc/%d/fd" % pid)):
                    return pid
        return None

    return until("a process holds %s" % path, find)
