#!/usr/bin/env python3
"""serve_test - `carrel serve`: how it starts, who may start it, what it leaves, what happens when
one of its parts dies or is stopped.

Each check starts its own daemon with its own state directory; checks that need no living sandbox
run without one.
"""
import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, ROOT, TREE, end, report
from daemon_rig import Daemon as AnyDaemon, PATIENCE, UnixConnection, processes_of, state_of, until

states = []


class Daemon(AnyDaemon):
    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        states.append(self.state)


PARTS = ("carrel-init spawner", "carrel-keeper", "carrel-door", "carrel-recorder", "carrel-files", "carrel-judge")
ALONE = "carrel-gate"           # if it dies, it alone is restarted


def serve(*words, env=None, **more):
    """Runs it to its end: for starts that are refused."""
    return subprocess.run([CARREL, "serve", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, text=True,
                          env=dict(os.environ, **(env or {})), **more)


def refusal(done, code, status=None):
    """What is wrong with a refusal: nothing, if it has this code and status, and says what to do.
    """
    wrong = []
    if done.returncode == 0 or (status is not None and done.returncode != status):
        wrong.append("status %d" % done.returncode)
    if code not in done.stderr or "Next:" not in done.stderr:
        wrong.append("it says %r" % done.stderr)
    return wrong


class Folder:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="carrel-serve-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def is_whole():
    """Whether the daemon's programs are in it."""
    with open(CARREL, "rb") as f:
        return b"carrel-keeper: %s" in f.read()


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def gone(pid):
    return state_of(pid) in "ZX"


def environment(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as f:
            return f.read()
    except PermissionError:                     # closed even to its own user
        return b""


def parts(d):
    """name -> pid of all parts, when they have started. A part that was just forked still has the
    launcher's name, and does not count.
    """
    return until("all parts run", lambda: (lambda c: c if set(c) == {*PARTS, ALONE} else None)(d.children()))


def all_new(d, before):
    return until("all parts are new", lambda: (lambda c: c if all(c[p] != before[p] for p in PARTS) else None)(parts(d)))


def start_and_stop():
    wrong = []
    with Daemon() as d:
        box = d.create(start=True)
        d.stop()
        if d.child.returncode != 0:
            wrong.append("status %d" % d.child.returncode)
        if "1 sandbox lives on" not in d.log_text():
            wrong.append("it does not say what lives on: " + d.log_text())
        if os.path.exists(d.http) or os.path.exists(os.path.join(d.state, "keeper.sock")):
            wrong.append("a socket stayed")
        d.start()
        if d.exec(box, ["true"])["exit_code"] != 0:
            wrong.append("the sandbox does not answer after a restart")
    report("SIGTERM ends the daemon, sandboxes live on and are found again", wrong)


def lets_go_of_standard_error():
    with Folder() as f:
        d = subprocess.Popen([CARREL, "serve", "--state", os.path.join(f, "state")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        rig = AnyDaemon(state=os.path.join(f, "state"))
        rig.child = d
        try:
            until("it answers", rig.is_up)
            rig.create(start=True)
            rig.stop()
            said = d.communicate(timeout=PATIENCE)[0]          # ends when no process holds the pipe any more
            report("a sandbox that lives on does not hold the daemon's standard error", [] if b"lives on" in said else [said])
        finally:
            rig.end()
            shutil.rmtree(rig.folder, ignore_errors=True)


def keeps_its_port():
    urls = []
    with Daemon("--json") as d:
        for _ in range(2):
            urls.append([json.loads(line)["message"] for line in d.log_text().splitlines() if "ports of sandboxes" in line][-1])
            d.stop()
            d.start()
    report("the port for ports stays the same over a restart", [] if urls[0] == urls[1] else urls)


def permissions():
    wrong = []
    with Daemon() as d:
        for name, wanted in ((".", 0o700), ("carrel.sock", 0o600), ("keeper.sock", 0o600), ("serve.lock", 0o600), ("token", 0o600), ("boxes", 0o700)):
            if mode(os.path.join(d.state, name)) != wanted:
                wrong.append("%s is %o" % (name, mode(os.path.join(d.state, name))))
    old = os.umask(0)
    try:
        with Daemon("--socket-mode", "0660") as d:
            for name, wanted in ((".", 0o710), ("carrel.sock", 0o660), ("keeper.sock", 0o660), ("serve.lock", 0o600), ("token", 0o600), ("boxes", 0o700)):
                if mode(os.path.join(d.state, name)) != wanted:
                    wrong.append("with --socket-mode 0660, %s is %o" % (name, mode(os.path.join(d.state, name))))
            if ROOT:
                d.stop()
                os.chown(d.state, -1, 4242)
                os.chmod(d.state, 0o2710)
                d.start()
                for name, wanted in ((".", 0o710), ("carrel.sock", 0o660), ("keeper.sock", 0o660), ("boxes", 0o700)):
                    st = os.stat(os.path.join(d.state, name))
                    if stat.S_IMODE(st.st_mode) != wanted or st.st_gid != (0 if name == "boxes" else 4242):
                        wrong.append("of a group's directory, %s is %o of group %d" % (name, stat.S_IMODE(st.st_mode), st.st_gid))
    finally:
        os.umask(old)
    report("state is closed to others whatever the umask, and sockets are open to whom --socket-mode says", wrong)


def second():
    with Daemon() as d:
        done = serve("--state", d.state)
        wrong = refusal(done, "state_in_use", 125)
        if str(d.child.pid) not in done.stderr:
            wrong.append("it does not name process %d: %r" % (d.child.pid, done.stderr))
        if not d.is_up():
            wrong.append("the first one suffered")
    report("a second daemon on the same state is refused, and says which process holds it", wrong)


def stale():
    wrong = []
    with Daemon() as d:
        d.stop(signal.SIGKILL)
        if not os.path.exists(d.http):
            wrong.append("nothing stale to begin with")
        d.start()
    report("a socket left by a killed daemon is replaced", wrong)


def odd_states():
    wrong = []
    with Folder() as f:
        target, link = os.path.join(f, "target"), os.path.join(f, "link")
        os.mkdir(target, 0o700)
        os.symlink(target, link)
        wrong += refusal(serve("--state", link), "state_unusable")
        os.chmod(target, 0o755)
        wrong += refusal(serve("--state", target), "state_unusable")
        os.chmod(target, 0o700)
        open(os.path.join(f, "file"), "w", encoding="utf-8").close()
        wrong += refusal(serve("--state", os.path.join(f, "file")), "state_unusable")
        elsewhere = os.path.join(f, "elsewhere")
        os.symlink(elsewhere, os.path.join(target, "carrel.sock"))
        wrong += refusal(serve("--state", target), "state_unusable")
        if os.path.lexists(elsewhere) or not os.path.islink(os.path.join(target, "carrel.sock")):
            wrong.append("a link planted where the socket belongs was followed or removed")
        if ROOT:
            os.unlink(os.path.join(target, "carrel.sock"))
            os.chown(target, 4242, 4242)
            wrong += refusal(serve("--state", target), "state_unusable")
    report("a state directory that is a link, open, somebody else's, or no directory is refused; a planted link is not followed", wrong)


def bad_words():
    wrong = []
    with Folder() as f:
        state = os.path.join(f, "s")
        for words in (["--listen", "0.0.0.0:0"], ["--listen", "x"], ["--ports", "192.0.2.1:1"], ["--pool", "many"], ["--pool-manifest", "x"],
                      ["--socket-mode", "0777"], ["--socket-mode", "9"], ["--color"], ["word"]):
            done = serve("--state", state, *words)
            wrong += ["%s: %s" % (words, w) for w in refusal(done, "invalid_argument", 125)]
        wrong += refusal(serve("--state", state, "--host", os.path.join(f, "none")), "file_unreadable")
    report("words that mean nothing are refused with what to do", wrong)


def pool_that_cannot_be():
    """The launcher refuses the errors of the pool's manifest that it can find; errors that only the
    keeper can find, with the host's rules, are reported once.
    """
    head, wrong = "---\nschema: sandbox/v1\nconfig: {}\n", []
    with Folder() as f:
        manifest = os.path.join(f, "pool.md")

        def write(text):
            with open(manifest, "w", encoding="utf-8") as file:
                file.write(head + text + "---\n")

        write("provider: local\nlimit: {}\n")
        done = serve("--state", os.path.join(f, "s"), "--pool", "1", "--pool-manifest", manifest)
        wrong += refusal(done, "sandbox_schema_invalid", 126) + ([] if manifest + ":5:1: " in done.stderr else [done.stderr])
        for text, told in (("provider: elsewhere\n", "elsewhere"), ("provider: local\nread_only: true\n", "read_only")):
            write(text)
            with Daemon("--pool", "1", "--pool-manifest", manifest) as d:
                until("the pool's manifest is said to be no good", lambda d=d, told=told: "no box of the pool can be made" in d.log_text() and told in d.log_text())
    report("a pool whose boxes cannot be made is told to the operator", wrong)


def activated(d, kinds):
    """Starts `d` as a service manager would: listening sockets from 3 on. Returns the paths."""
    made = []
    for path, kind in kinds:
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(path)
        s.listen(16)
        made.append(s)

    def take():
        for i, s in enumerate(made):
            os.dup2(s.fileno(), 50 + i)
        for i in range(len(made)):
            os.dup2(50 + i, 3 + i, inheritable=True)
    out = open(d.log, "ab")
    code = "import os,sys; os.environ['LISTEN_PID']=str(os.getpid()); os.execv(sys.argv[1], sys.argv[1:])"
    d.child = subprocess.Popen([sys.executable, "-c", code, CARREL, "serve", "--state", d.state], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                               preexec_fn=take, close_fds=False, env=dict(os.environ, LISTEN_FDS=str(len(made)), LISTEN_FDNAMES=":".join(["carrel.socket"] * len(made))))
    out.close()
    for s in made:
        s.close()


def activation():
    wrong = []
    d = Daemon()
    try:
        http = os.path.join(d.folder, "given.sock")
        activated(d, [(http, socket.SOCK_STREAM), (os.path.join(d.folder, "keeper.sock"), socket.SOCK_SEQPACKET)])
        c = UnixConnection(http)
        c.request("GET", "/v1/info")            # waits in the socket until a process serves it
        if c.getresponse().status != 200:
            wrong.append("no answer on the socket that was handed over")
        c.close()
        if os.path.exists(d.http) or os.path.exists(os.path.join(d.state, "keeper.sock")):
            wrong.append("it made sockets of its own as well")
        d.stop()
        if d.child.returncode != 0 or not os.path.exists(http):
            wrong.append("it took away a name that is not its own, or ended with %d" % d.child.returncode)
    finally:
        d.stop()
        shutil.rmtree(d.folder, ignore_errors=True)
    report("sockets handed over by a service manager are used, and left to it", wrong)


def notify():
    wrong, heard = [], b""
    for abstract in (False, True):
        with Folder() as f, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            path = "\0carrel-test-%d" % os.getpid() if abstract else os.path.join(f, "notify")
            s.bind(path)
            s.settimeout(PATIENCE)
            with Daemon(env={"NOTIFY_SOCKET": path.replace("\0", "@")}) as d:
                heard = s.recv(4096)
                if b"READY=1" not in heard or b"STATUS=" not in heard:
                    wrong.append("it said %r" % heard)
                for name, pid in parts(d).items():
                    if b"NOTIFY_SOCKET" in environment(pid):
                        wrong.append("%s was told where to speak" % name)
                d.stop()
                heard = s.recv(4096)
                if b"STOPPING=1" not in heard:
                    wrong.append("it said %r at its end" % heard)
    report("a service manager is told READY once calls are answered, and STOPPING", wrong)


def host_of_all_parts(folder):
    path = os.path.join(folder, "host.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"secret_sources": [{"file": "/nonexistent"}], "commands": {"validators": {"shell": {"program": {"command": ["/bin/true"]}}}}}, f)
    return path


def graph():
    plain, as_json = serve("--graph"), serve("--graph", "--json")
    rows = json.loads(as_json.stdout)
    wrong = [p for p in ("spawner", "keeper", "door", "box", "guest") if p + ":" not in plain.stdout]
    wrong += [c for c in rows["connections"] if not c["says"]]
    with Daemon() as d:
        wanted = {"carrel-" + p["name"] if p["program"] == "carrel" else " ".join(filter(None, (p["program"], p["role"]))) for p in rows["processes"] if p["started_by"] == "launcher" and p["name"] not in ("fetcher", "validate")}
        if set(parts(d)) != wanted:
            wrong.append("it runs %r, and the graph says %r" % (parts(d), wanted))
    with tempfile.TemporaryDirectory(prefix="carrel-serve-") as folder, Daemon("--host", host_of_all_parts(folder)) as d:
        until("every part runs, and those that a host file asks for: it names a source of secrets and a program as a validator",
              lambda: {*PARTS, ALONE, "carrel-fetcher", "carrel-validate"} <= set(d.children()))
    report("--graph prints the processes that really run", wrong)


def one_dies():
    for name in PARTS:
        wrong = []
        with Daemon() as d:
            box = d.create(start=True)
            exec_ = d.exec(box, ["sleep", "1000"], background=True)["exec"]
            before = parts(d)
            os.kill(before[name], signal.SIGKILL)
            all_new(d, before)
            until("it answers again", d.is_up)
            again = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, exec_))
            if again["state"] != "running":
                wrong.append("the exec is %r" % again)
            if [p for p in PARTS if not gone(before[p])]:
                wrong.append("an old part stayed")
            if d.child.poll() is not None:
                wrong.append("the launcher ended with %d" % d.child.returncode)
            if "starting all again" not in d.log_text():
                wrong.append("nothing was said: " + d.log_text())
        report("%s killed: all are started again, the sandbox and its exec live on" % name, wrong)


def gate_dies():
    wrong = []
    with Daemon() as d:
        before = parts(d)
        os.kill(before[ALONE], signal.SIGKILL)
        after = until("there is a gate again", lambda: (lambda c: c if c.get(ALONE, before[ALONE]) != before[ALONE] else None)(d.children()))
        if [p for p in PARTS if after[p] != before[p]]:
            wrong.append("another was started again too: %r, before %r" % (after, before))
        if not d.is_up() or "starting all again" in d.log_text() or "the gate ended" not in d.log_text():
            wrong.append(d.log_text())
    report("carrel-gate killed: it alone is started again", wrong)


def one_stopped():
    with Daemon() as d:
        box = d.create(start=True)
        for name, pid in parts(d).items():
            os.kill(pid, signal.SIGSTOP)
            until("%s goes on" % name, lambda pid=pid: state_of(pid) not in "TZX")
        until("it is logged", lambda: "was stopped by a signal, and was continued" in d.log_text())
        wrong = []
        if d.exec(box, ["echo", "on"])["stdout"] != "on\n" or "starting" in d.log_text():
            wrong.append(d.log_text())
    report("each part that is stopped by a signal is continued at once, and that is logged", wrong)


PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def one_traced():
    """A person with a debugger may stop a part for as long as needed."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Daemon() as d:
        all_ = parts(d)
        door, other = all_["carrel-door"], all_[ALONE]
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if libc.ptrace(request, door, 0, 0) < 0:
                report("a part that a debugger holds is not continued", skip="this user may trace no part: %s" % os.strerror(ctypes.get_errno()))
                return
        until("the debugger holds it", lambda: state_of(door) == "t")
        os.kill(other, signal.SIGSTOP)
        until("the launcher looks at its parts", lambda: "was stopped by a signal, and was continued" in d.log_text())
        report("a part that a debugger holds is not continued", [] if state_of(door) == "t" and "the door was stopped" not in d.log_text() else [state_of(door), d.log_text()])
        os.kill(door, signal.SIGKILL)              # while it is traced, a stop would end only when the tracer detaches
        os.waitpid(door, 0x40000000)               # __WALL: the tracer is informed of its end before its parent is
        until("its parts are started again", lambda: d.times_ready() > 1)


def launcher_dies():
    wrong = []
    with Daemon() as d:
        box = d.create(start=True)
        exec_ = d.exec(box, ["sleep", "1000"], background=True)["exec"]
        before = parts(d)
        d.stop(signal.SIGKILL)
        until("the parts end", lambda: all(gone(pid) for pid in before.values()))
        d.start()
        if d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, exec_))["state"] != "running":
            wrong.append("the exec did not live on")
    report("the launcher killed: its parts end with it, the sandbox lives on", wrong)


def hang_up():
    wrong = []
    with Folder() as f:
        host = os.path.join(f, "host.yaml")
        with open(host, "w", encoding="utf-8") as g:
            g.write("providers: {local: {isolated: true}}\n")
        with Daemon("--host", host) as d:
            before = parts(d)
            with open(host, "w", encoding="utf-8") as g:
                g.write("nonsense: true\n")
            os.kill(d.child.pid, signal.SIGHUP)
            until("the new rules are refused", lambda: "sandbox_schema_invalid" in d.log_text())
            if parts(d) != before or not d.is_up():
                wrong.append("bad rules replaced good ones")
            with open(host, "w", encoding="utf-8") as g:
                g.write("providers: {local: {isolated: false}}\n")
            os.kill(d.child.pid, signal.SIGHUP)
            all_new(d, before)
            until("it answers again", d.is_up)
            a = d.call("POST", "/v1/sandboxes", {"manifest": {"schema": "sandbox/v1", "provider": "local", "config": {}}})
            if a.code != "sandbox_provider_untrusted":
                wrong.append("the new rules are not in force: %r" % a)
    report("SIGHUP reads the host's rules again; bad ones leave the old in force", wrong)


def rungs():
    wrong = []
    with Daemon() as d:
        for name, pid in parts(d).items():
            with open("/proc/%d/status" % pid, encoding="utf-8") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            if status["NoNewPrivs"] != "1":
                wrong.append(name + " may gain privileges")
            powers = int(status["CapEff"], 16)
            if name in ("carrel-door", "carrel-judge") and powers or name == "carrel-keeper" and powers & ~(1 << 2):
                wrong.append("%s holds %x" % (name, powers))
            if name not in ("carrel-init spawner", "carrel-judge", "carrel-recorder", "carrel-files") and status["Seccomp"] != "2":    # the judge forks, its children have one; recorder and carrel-files have Landlock
                wrong.append(name + " has no filter")
            try:
                links = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
            except PermissionError:
                links = []                      # closed even to its own user
            known = ("socket:", "/dev/null", "anon_inode:", "pipe:", "/memfd:", d.state, d.log)
            if name == "carrel-init spawner":
                known += ("/proc/%d/mounts" % pid,)        # it is readable when the host's mounts change
            wrong += ["%s holds %s" % (name, link) for link in links if not link.startswith(known)]
    report("each part holds its own descriptors and privileges, and nothing else", wrong)


def state_is_not_shown():
    wrong = []
    with Daemon() as d:
        for place in (d.folder, d.state, os.path.join(d.state, "boxes")):
            a = d.call("POST", "/v1/sandboxes", {"workspace": place, "manifest": {"provider": "local", "config": {},
                                                                                   "mounts": [{"source": "workspace", "at": "/workspace"}]}})
            if a.code != "mount_denied":
                wrong.append("%s: %r" % (place, a))
    report("no sandbox is shown the daemon's own state", wrong)


def json_lines():
    with Daemon("--json") as d:
        d.stop()
        events = [json.loads(line)["event"] for line in d.log_text().splitlines()]
        d.start()
    report("--json: one object a line", [] if events[0] == "serving" and "ready" in events and events[-1] == "stopping" else events)


def unit_files():
    """What the units say agrees with the program."""
    wrong = []
    for name, lines in (("carrel.service", ("Type=notify", "Delegate=yes", "KillMode=process", "OOMPolicy=continue", "ExecStart=", "ExecReload=")),
                        ("carrel.socket", ("ListenStream=", "ListenSequentialPacket=", "SocketMode=0600"))):
        with open(os.path.join(TREE, "dist", "systemd", name), encoding="utf-8") as f:
            text = f.read()
        wrong += ["%s lacks %s" % (name, line) for line in lines if line not in text]
    report("the units delegate a control group and leave sandboxes alone", wrong)


def main():
    if not is_whole():
        print("1..0 # SKIP this carrel was built without its daemon")
        return
    for test in (bad_words, pool_that_cannot_be, odd_states, graph, unit_files, start_and_stop, lets_go_of_standard_error, keeps_its_port, permissions, second, stale, activation, notify, json_lines,
                 one_dies, gate_dies, one_stopped, one_traced, launcher_dies, hang_up, rungs,
                 state_is_not_shown):
        try:
            test()
        except Exception as e:  # one failing check must not hide the others
            report(test.__name__, ["%s: %s" % (type(e).__name__, e)])
    nothing_stays()
    end()


def nothing_stays():
    """Other tests may run beside this one: only what names a state directory of this test counts.
    """
    left = []
    for state in states:
        try:
            until("nothing names " + state, lambda: not processes_of(state), 10)
        except AssertionError as e:
            left.append(str(e))
        if os.path.exists(state):
            left.append(state + " is still there")
    report("nothing stays", left)


if __name__ == "__main__":
    main()
