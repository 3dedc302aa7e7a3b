#!/usr/bin/env python3
# weight: 2
"""provider: oci - `carrel run` with a container of runc, and of crun. Prints TAP.

The commands are those of the standard provider, and so are the promises: streams, ends, the whole
tree, files, terminals, no network. Whoever of relay, guest and runtime is killed, the command has
one end and nothing is left behind. As root, and as an ordinary user, whose runtime is in namespaces of Carrel's.
"""
import errno
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_rig
from box_rig import CARREL, ROOT, Inventory, Workspace, descendants, end, need_programs, own_place, report, runtime_dir, until

PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"
RUNTIMES = ("runc", "crun")
NOBODY = 12345
now = {"runtime": RUNTIMES[0]}


def check(name, *more):
    box_rig.check("%s: %s" % (now["runtime"], name), *more)


def text(config=None, more=""):
    config = "runtime: " + now["runtime"] if config is None else config
    return ("---\nschema: sandbox/v1\nid: '@test/oci'\nversion: 1.0.0\nprovider: oci\nconfig: {%s}\n"
            "mounts: [{source: workspace, at: /workspace}]\n%s---\n" % (config, more))


def streams(ws):
    done = ws.sh("cat; echo err >&2; exit 7", input=b"in")
    check("a command has its three streams, the end of its input, and its exit status",
          (done.stdout, done.stderr.splitlines()[:1], done.returncode) == (b"in", [b"err"], 7), done)
    raw = os.urandom(3 << 20)
    done = ws.run(["cat"], input=raw)
    check("3 MiB of any bytes pass unchanged", done.stdout == raw and done.returncode == 0, len(done.stdout), done.stderr)
    code, got = ws.json(["sh", "-c", "kill -TERM $$"])
    check("a signal that ends it is reported", (code, got["outcome"], got.get("signal")) == (143, "signaled", 15) or
          (code, got["outcome"]) == (143, "signaled"), code, got)
    code, got = ws.json(["nosuchprogram"])
    check("a program that does not exist is command_not_found", (code, got["error"]["code"]) == (127, "command_not_found"), code, got)
    done = ws.sh("sleep 1000 & echo said")
    check("what a child still holds does not hold up the end, and the output is there", (done.returncode, done.stdout) == (0, b"said\n"), done)


def ends(ws):
    code, got = ws.json(["sh", "-c", "sleep 1000 & (setsid sleep 1000 &) ; sleep 1000"], "--timeout", "1s")
    check("a timeout ends the command and all that it started", (code, got["outcome"]) == (124, "timed_out"), code, got)
    done = ws.sh("kill -9 -1; echo still")
    check("a payload that kills everything it can does not kill pid 1", done.returncode in (0, 137) and b"lost" not in done.stderr, done)
    code, got = ws.json(["python3", "-c", "x = bytearray(400 << 20)"], "--memory", "96")
    is_held = not any(w["name"] == "limit_unenforceable:memory_mb" for w in got["warnings"])
    check("limits.memory_mb holds in the container, or a warning names it", got["outcome"] == "oom_killed" or not (is_held or ROOT), code, got)


def inside(ws):
    done = ws.sh("id -u; id -g; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; tr '\\0' ' ' < /proc/1/cmdline; hostname 2>/dev/null || cat /etc/hostname")
    lines = done.stdout.decode().split("\n")
    caps = [line.split()[1] for line in lines if line.startswith("Cap")]
    check("the command is agent, without a capability, with no_new_privs and a filter", lines[:2] == ["1000", "1000"] and len(caps) == 5 and
          set(caps) == {"0" * 16} and "NoNewPrivs:\t1" in lines and "Seccomp:\t2" in lines, done)
    ws.write("given", "from the host\n")
    done = ws.sh("cat /workspace/given && echo made > /workspace/made && echo x > /etc/new")
    st = os.stat(os.path.join(ws.path, "made"))
    check("the workspace is the host's directory, with its owner; the root is read-only", done.stdout == b"from the host\n" and
          done.returncode != 0 and b"Read-only" in done.stderr and ws.read("made") == b"made\n" and (st.st_uid, st.st_gid) == (os.geteuid(), os.getegid()), done, st)
    done = ws.python("try: open('/proc/1/mem','rb')\nexcept OSError as e: print(e.errno)\n"
                     "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 5)\nexcept OSError as e: print(e.errno)\n")
    got = done.stdout.decode().split()[-2:]
    check("pid 1 and every network are out of reach", got == [str(errno.EACCES), str(errno.ENETUNREACH)], done)
    done = ws.sh("getent hosts example.com; echo $?")
    check("a name that network.egress does not list is refused by name", done.stdout.strip() == b"2" and b"example.com is not in network.egress" in done.stderr, done)


LOOK = r"""for f in /proc/keys /proc/key-users /proc/kallsyms /proc/cmdline /proc/modules /proc/interrupts /proc/locks /proc/sys/kernel/random/boot_id; do
  printf '%s %s\n' $f $(cat $f 2>/dev/null | wc -c); done
for d in /proc/acpi /proc/scsi /proc/bus /proc/fs /proc/driver /proc/pressure; do printf '%s %s\n' $d $(ls $d 2>/dev/null | wc -l); done
ls -l /dev | cut -c1-10,40-; ls /dev/shm
for d in / /dev /dev/shm /dev/pts /proc /proc/acpi /proc/fs /proc/bus /proc/sys/kernel /sys /etc /usr /run /tmp; do (: > $d/made) 2>/dev/null && echo writes $d; done
(echo x > /proc/sys/kernel/hostname) 2>/dev/null && echo sets; for f in null zero full urandom tty; do (: < /dev/$f) 2>/dev/null && echo opens $f; done
(: > /dev/null) && echo writes null"""


def mount_flags(ws):
    """Of the last mount at each place. What the runtime covers below /proc is looked at by reading it."""
    lines = [line.split() for line in ws.sh("cat /proc/self/mountinfo").stdout.decode().splitlines()]
    return {line[4]: set(line[5].split(",")) & {"ro", "nosuid", "nodev", "noexec"} for line in lines if not line[4].startswith("/proc/")}


def covered(ws):
    """What can be read and written is the same as with the standard provider, whoever made the mounts."""
    with Workspace(text("").replace("provider: oci", "provider: local")) as plain:
        wanted, got = plain.sh(LOOK).stdout.decode().splitlines(), ws.sh(LOOK).stdout.decode().splitlines()
        flags, has = mount_flags(plain), mount_flags(ws)
    check("no mount of `local` is missing, and none has lost read-only, nosuid, nodev or noexec", len(flags) > 10 and all(flags[at] <= has.get(at, set()) for at in flags),
          {at: (flags[at], has.get(at)) for at in flags if not flags[at] <= has.get(at, set())})
    check("/dev, /proc and the root are as in `local`", got == wanted and "opens urandom" in got and "writes /dev" not in got, [l for l in got if l not in wanted], [l for l in wanted if l not in got])


def egress():
    with Workspace(text(more="network: {egress: ['listed.example:8443']}\n")) as ws:
        done = ws.sh("getent hosts listed.example | cut -d' ' -f1; getent hosts other.example; echo $?")
        lines = done.stdout.decode().split()
        check("network.egress: a listed name gets an address of the wall, another is refused by name", len(lines) == 2 and lines[0].startswith("fd63:6172") and
              lines[1] == "2" and b"other.example is not in network.egress" in done.stderr, done)
        done = ws.python("import socket\ns = socket.create_connection(('203.0.113.5', 80), 30); s.settimeout(30)\n"
                         "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print(s.recv(64))")
        check("an address that no listed name leads to is refused by the gate", b"403 Refused" in done.stdout and b"203.0.113.5:80" in done.stderr, done)
        with Workspace(text(more="network: {egress: ['listed.example:8443']}\nmetadata: {carrel: {egress: {routed: true}}}\n")) as routed:
            done = routed.sh("getent hosts listed.example | cut -d' ' -f1")
            check("a routed wall works too", done.stdout.startswith(b"fd63:6172"), done)


def terminal(ws):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(CARREL, [CARREL, "run", "-w", ws.path, "-t", "--", "sh", "-c",
                          "trap 'stty size; exit 4' WINCH; tty; echo ready; while :; do sleep 0.05; done"])
    out = b""
    while b"ready" not in out:
        out += os.read(fd, 4096)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    try:
        while got := os.read(fd, 4096):
            out += got
    except OSError:
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    check("a terminal is one of the container's own, and follows the size of the caller's", b"/dev/pts/0" in out and b"33 99" in out and status == 4, out, status)


def many_streams(ws):
    done = ws.python("import subprocess\nfor i in range(300):\n    assert subprocess.run(['true']).returncode == 0\nprint('all')")
    check("300 programs one after another in one command", done.stdout == b"all\n", done)


def named(prefix):
    return [pid for (pid, _), name in descendants().items() if name.startswith(prefix)]


def killed(ws, who, find):
    child = subprocess.Popen(ws.argv(["sh", "-c", "echo up; sleep 1000"], "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until("the command runs", lambda: any("sleep" == name for name in descendants().values()))
    for pid in find():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    out, err = child.communicate(timeout=60)
    try:
        got = json.loads(out)["outcome"]
    except (ValueError, KeyError):
        got = None
    check("kill -9 of the %s: the command has one end, which is no success" % who, child.returncode not in (0, None) and got not in (None, "exited"), child.returncode, out, err)


def guests():
    found = []
    for (pid, _) in descendants():
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                if f.read().startswith(b"/.carrel-init\0guest"):
                    found.append(pid)
        except OSError:
            pass
    return found


def relay_of_one_that_stands():
    """Its guest cannot notice that the stream ends."""
    for pid in guests():
        os.kill(pid, signal.SIGSTOP)
    return named("carrel-relay")


def maker_killed(ws):
    before = set(os.listdir(runtime_dir()))
    child = subprocess.Popen(ws.argv(["sleep", "1000"]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("the command runs", lambda: any("sleep" == name for name in descendants().values()))
    made = [n for n in set(os.listdir(runtime_dir())) - before if n.startswith("oci-")]
    for pid in named("carrel-maker"):
        os.kill(pid, signal.SIGKILL)
    child.wait(timeout=60)
    ws.run(["true"])
    left = [n for n in made if os.path.exists(os.path.join(runtime_dir(), n))]
    check("kill -9 of the maker: the next start removes what the runtime kept", len(made) >= 1 and not left, made, left)


def kills(ws):
    killed(ws, "relay", lambda: named("carrel-relay"))
    killed(ws, "relay of a guest that stands still", relay_of_one_that_stands)
    killed(ws, "guest", guests)
    maker_killed(ws)


def refusals():
    with Workspace(text()) as ws:
        os.chmod(ws.folder, 0o755)
        done = subprocess.run([CARREL, "plan", "-w", ws.path, "--bundle"], capture_output=True, check=False)
        bundle = json.loads(done.stdout)
        kinds, caps = {n["type"] for n in bundle["linux"]["namespaces"]}, bundle["process"]["capabilities"]["bounding"]
        if ROOT:
            check("`carrel plan --bundle` prints config.json: no capability, own namespaces, ids of this sandbox alone", caps == [] and
                  kinds >= {"user", "pid", "mount", "ipc", "uts"} and all(m["size"] == 1 for m in bundle["linux"]["uidMappings"]), done.stdout)
        else:
            check("`carrel plan --bundle` prints config.json: the capability to map ids alone, own namespaces within that of an ordinary user", caps == ["CAP_SETFCAP"] and
                  kinds >= {"pid", "mount", "ipc", "uts"} and "user" not in kinds and bundle["process"]["args"] == ["/.carrel-init", "guest", "1000"], done.stdout)
        done = subprocess.run([CARREL, "plan", "-w", ws.path, "--steps"], capture_output=True, check=False)
        check("`carrel plan --steps` prints what the runtime does", b"runtime" in done.stdout and b"container" in done.stdout, done.stdout)
    limits = "limits: {memory_mb: 300, cpu_ms: 60000}\nmetadata: {carrel: {limits: {cpu_millicores: 500, pids: 50, io_write_bps: 1000000}}}\n"
    with Workspace(text(more=limits)) as ws, Workspace(text("", limits).replace("provider: oci", "provider: local")) as plain:
        told = [sorted((w["name"], w["message"]) for w in one.json(["true"])[1]["warnings"]) for one in (ws, plain)]
        check("a limit that is not enforced is warned of as with `local`", told[0] == told[1], told)
    if shutil.which("runsc", path=PLACES):
        report("a runtime that is missing is refused with the way to install it", skip="runsc is installed here")
        return
    with Workspace(text("runtime: runsc")) as ws:
        code, got = ws.json(["true"])
        check("a runtime that is missing is refused with the way to install it", code == 126 and got["error"]["code"] == "capability_unavailable" and
              "gvisor" in json.dumps(got), code, got)
    with Workspace(text("runtime: /tmp/evil")) as ws:
        code, got = ws.json(["true"])
        check("a manifest names no program that root would start", code == 126 and got["error"]["code"] == "sandbox_config_invalid", code, got)


STAND_IN = """#!/bin/sh
echo "$0" "$@" > {record}; cp "$6/config.json" {record}.json; env > {record}.env
exec {runc} "$@"
"""


def hangs(places, ws):
    """An ordinary user's runtime that does not end: no control group holds it."""
    with open(os.path.join(places, "runsc"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexec sleep 1000\n")
    before = set(descendants())
    script = "mount --make-rprivate / && mount --bind '%s' /usr/local/bin && exec setpriv --reuid=%d --regid=%d --clear-groups \"$@\"" % (places, NOBODY, NOBODY)
    os.chmod(ws.path, 0o777)
    for who in ("carrel-maker", "carrel-box"):
        child = subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", *ws.argv(["true"])], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "HOME": "/nonexistent", "XDG_RUNTIME_DIR": own_place().runtime_of(NOBODY)})
        until("the runtime hangs", lambda: named("sleep"))
        for pid in named(who):
            os.kill(pid, signal.SIGKILL)
        child.wait(timeout=60)
        until("nothing is left", lambda: not set(descendants()) - before)
        box_rig.check("an ordinary user's runtime that hangs: kill -9 of %s ends it too" % who, child.returncode != 0, child.returncode)


def stand_in():
    """In a mount namespace of its own /usr/local/bin has a program of the name runsc, which notes its words and hands them to runc."""
    with Workspace(text("runtime: runsc", "metadata: {carrel: {tier: T3}}\n")) as ws:
        os.chmod(ws.folder, 0o755)
        places = os.path.join(ws.folder, "bin")
        record = os.path.join(ws.folder, "record")
        os.mkdir(places)
        with open(os.path.join(places, "runsc"), "w", encoding="utf-8") as f:
            f.write(STAND_IN.format(record=record, runc=shutil.which("runc", path=PLACES)))
        os.chmod(os.path.join(places, "runsc"), 0o755)
        os.chmod(places, 0o755)

        def run(*before):
            script = " && ".join(("mount --make-rprivate /", "mount --bind '%s' /usr/local/bin" % places, *before, 'exec "$@"'))
            return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *ws.argv(["echo", "ran"], "--json")], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        done = run()
        try:
            with open(record, encoding="utf-8") as f, open(record + ".json", encoding="utf-8") as g, open(record + ".env", encoding="utf-8") as h:
                words, bundle, env = f.read().split(), json.load(g), h.read()
        except OSError:
            words, bundle, env = [], {}, ""
        where = os.path.dirname(words[2]) if len(words) > 2 else ""
        box_rig.check("runsc: its word reaches T3, and the runtime is called with a bundle of the plan and nothing of the caller's", b"ran" in done.stdout and
                      words[1:] == ["--root", where + "/state", "run", "--detach", "--bundle", where, "box"] and where.startswith("/run/carrel/oci-") and
                      bundle["process"]["args"] == ["/.carrel-init", "guest"] and "HOME" not in env and "CARREL" not in env, done, words, env)
        done = run("chmod 777 /usr/local/bin/runsc")
        box_rig.check("runsc: a program that others can write is not started", b"runtime_writable" in done.stdout, done)
        with open(os.path.join(places, "runsc"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 3\n")
        os.chmod(os.path.join(places, "runsc"), 0o755)
        done = run()
        box_rig.check("runsc: one that starts nothing is refused by name", done.returncode == 126 and b'"runtime"' in done.stdout, done)
        hangs(places, ws)


def main():
    need_programs()
    if not shutil.which("runc", path=PLACES):
        report("provider oci", skip="this machine has no runc")
        end()
    refusals()
    if ROOT:
        stand_in()
    else:
        report("a stand-in for runsc", skip="an ordinary user mounts nothing over /usr/local/bin")
    for runtime in RUNTIMES:
        now["runtime"] = runtime
        if not shutil.which(runtime, path=PLACES):
            report(runtime, skip="this machine has no " + runtime)
            continue
        with Workspace(text()) as ws:
            if b"no_unified" in ws.run(["true"], "--json").stdout:
                report(runtime, skip="this machine has no writable cgroup v2 hierarchy")
                continue
            inventory = Inventory(ws.folder)
            for part in (streams, ends, terminal, *((many_streams,) if runtime == RUNTIMES[0] else ()), kills):
                part(ws)
            wrong = inventory.left()
            report("%s: nothing is left: no process, mount, group, lease" % runtime, wrong)
            check("no directory of a runtime is left", not [n for n in os.listdir(runtime_dir()) if n.startswith("oci-")] or
                  bool(named("carrel-relay")), os.listdir(runtime_dir()))
            inside(ws)
            covered(ws)
        egress()
    end()


main()
