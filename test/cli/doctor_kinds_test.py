#!/usr/bin/env python3
"""doctor_kinds_test - `carrel doctor` starts a sandbox of each kind, and the programs of the host file until they have greeted.

That a virtual machine boots is seen in microvm_test.
"""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, TREE, check, end, need_programs, report, until

PYTHON, PLACES = "/usr/bin/python3", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
EXAMPLE = os.path.join(TREE, "examples", "provider-ssh")
# It greets with what it found out: who it is, whether a key came, and whether this machine's port answers.
CURIOUS = """
import json, os, socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20).close()
    net = "connected"
except OSError as e:
    net = type(e).__name__
name = "%d %s %s" % (os.getuid(), "CARREL_PROVIDER_KEY" in os.environ, net)
print(json.dumps({"kind": "hello", "protocol": 1, "name": name, "abilities": ["stdin"]}), flush=True)
sys.stdin.read()
"""


def doctor(*words, **env):
    done = subprocess.run([CARREL, "doctor", *words], env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    return done if "--json" not in words else json.loads(done.stdout)


def kinds(top):
    left, used, link = (os.path.join(top, "carrel-doctor-" + word) for word in ("killed", "in-use", "a-link"))
    os.makedirs(left + "/root/bin")
    os.mkdir(used)
    os.mkdir(top + "/another")
    os.symlink("another", link)
    holder = os.open(used, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    told = doctor("--json", TMPDIR=top)
    kept = {os.path.join(top, name) for name in os.listdir(top)}
    os.close(holder)
    made = {p["id"]: p for p in told["providers"]}
    whole = {m["provider"]: m for m in told["mechanisms"] if m["name"] == "whole_sandbox"}
    for kind, program in (("local", None), ("container", None), ("node-permission", "node"), ("oci", "runc")):
        if not made["local"]["works"] or (program and not shutil.which(program, path=PLACES)) or (kind == "oci" and not made["oci"]["works"] and not made["oci"]["tried"]):
            report("a sandbox of the kind " + kind + " is started", skip="this machine does not have what it takes: " + made[kind]["why"])
            continue
        check("a sandbox of the kind " + kind + " is started, with a command in it", made[kind]["works"] and made[kind]["tried"] and whole[kind]["state"] == "works" and
              "with a command in it" in whole[kind]["detail"], made[kind], whole[kind])
    check("a virtual machine is not", not made["microvm"]["tried"] and whole["microvm"]["state"] == "idle" and "not tried" in whole["microvm"]["detail"], made["microvm"], whole["microvm"])
    check("every tier has an answer, and the one without a provider is refused", list(told["tier"])[:4] == ["T1", "T2", "T3", "T4"] and told["tier"]["T4"] is False, told["tier"])
    if made["container"]["tried"]:
        check("nothing is left of the image that was made for it, and of those of killed ones; one in use and a link stay", kept == {used, link, top + "/another"}, kept)
    told = doctor("--json", TMPDIR=os.path.join(top, "missing"))
    made = {p["id"]: p for p in told["providers"]}
    whole = {m["provider"]: m for m in told["mechanisms"] if m["name"] == "whole_sandbox"}
    if made["local"]["works"]:
        check("without a place for the image, a kind is said not to be tried", not made["container"]["tried"] and "no place for an image" in whole["container"]["detail"], made, whole)


WITHOUT = (  # what is hidden, who misses it, the row that says so, the command that mends it
    ("node", "node-permission", "whole_sandbox", "apt-get install nodejs"), ("runc", "oci", "container_runtime", "apt-get install runc"),
    ("mkfs.erofs", "microvm", "machine_disk", "apt-get install erofs-utils"), ("qemu-system-x86_64", "microvm", "qemu", "apt-get install qemu-system-x86"),
)


def missing(_):
    """On a host where these programs cannot be executed."""
    name = "what is missing is named, with the command that installs it"
    found = {os.path.realpath(p) for p in (os.path.join(place, word) for place in PLACES.split(":") for word, *_ in WITHOUT) if os.path.exists(p)}
    hide = ["unshare", "-m", "--", "sh", "-c", 'for p; do mount --bind /dev/null "$p" || exit 99; done; exec "$0" doctor --json', CARREL, *found]
    done = subprocess.run(hide, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)
    if os.geteuid() != 0 or done.returncode == 99 or not done.stdout:
        report(name, skip="this user cannot hide programs: no mount namespace of its own")
        return
    told = json.loads(done.stdout)
    rows = {(m["provider"], m["name"]): m for m in told["mechanisms"]}
    for word, provider, row, command in WITHOUT:
        got = rows.get((provider, row), {})
        if told["tier"]["T1"]:
            check(name + ": " + word, got.get("state") == "fails" and command in (got.get("fix") or ""), got)
    works = {p["id"]: p["works"] for p in told["providers"]}
    check("and each other kind stands as before", [works[p] for p in ("node-permission", "oci", "microvm")] == [False] * 3 and works["local"] == works["container"], works)


def interrupted(top):
    child = subprocess.Popen([CARREL, "doctor"], env={**os.environ, "TMPDIR": top}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until("the image is being made, or was", lambda: os.listdir(top) or child.poll() is not None)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=ALWAYS)
    check("a signal leaves nothing of it either", os.listdir(top) == [] and child.returncode in (-signal.SIGTERM, 0, 1), os.listdir(top), child.returncode)


def row(name, *program, tools=(), more=""):
    return "  %s: {isolated: true, egress: closed, program: %s, tools: %s%s}\n" % (name, json.dumps(program), json.dumps(tools), more)


def greetings(top):
    place = os.path.join(top, "place")
    os.mkdir(place)
    shutil.copy(os.path.join(EXAMPLE, "provider.py"), place)
    with open(os.path.join(place, "curious.py"), "w", encoding="utf-8") as f:
        f.write(CURIOUS)
    ssh = [PYTHON, place + "/provider.py", "me@build.example.com"]
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    host = os.path.join(top, "host.yaml")
    with open(host, "w", encoding="utf-8") as f:
        f.write("providers:\n  local: {isolated: true}\n  mastra-e2b: {isolated: true, egress: closed}\n" + row("ssh-box", *ssh, tools=[place]) +
                row("boasts", *ssh, tools=[place], more=", memory: true") + row("ends", PYTHON, "-c", "import sys; sys.exit('no account')") +
                row("curious", PYTHON, place + "/curious.py", str(listener.getsockname()[1]), tools=[place]) + row("gone", "/nonexistent/program"))
    told = doctor("--json", "--host", host)
    if not told["tier"]["T1"]:
        report("programs of the host file greet", skip="this machine has no sandbox for them: " + told["tier"]["why"])
        return
    got = {p["id"]: p for p in told["elsewhere"]}
    check("a program of the host file is started, and greets", got["ssh-box"]["works"] and got["ssh-box"]["name"] == "ssh" and "stdin" in got["ssh-box"]["abilities"] and
          "nothing was asked" in got["ssh-box"]["detail"], got["ssh-box"])
    check("one that does not say what the host file promises is named, with the line", not got["boasts"]["works"] and '"memory"' in got["boasts"]["detail"] and
          '"memory: true"' in got["boasts"]["fix"], got["boasts"])
    check("one that ends is named, with its words", not got["ends"]["works"] and "no account" in got["ends"]["detail"] and "carrel provider test" in got["ends"]["fix"], got["ends"])
    check("one that is not there is not started", not got["gone"]["started"] and "cannot be executed" in got["gone"]["detail"], got["gone"])
    check("nor is a provider without a program", not got["mastra-e2b"]["started"] and "names no program" in got["mastra-e2b"]["detail"], got["mastra-e2b"])
    try:
        listener.accept()
        reached = True
    except BlockingIOError:
        reached = False
    check("it runs as a user without rights, without a key and without a network", got["curious"]["name"] == "1000 False ConnectionRefusedError" and not reached, got["curious"], reached)
    shown = doctor("--host", host).stdout
    check("people see it tier by tier, and the programs last", [shown.index(x) for x in ("Tier T1:", "Tier T2 (provider container)", "Tier T3 (provider microvm)", "Tier T4:", "Providers elsewhere")] ==
          sorted(shown.index(x) for x in ("Tier T1:", "Tier T2 (provider container)", "Tier T3 (provider microvm)", "Tier T4:", "Providers elsewhere")) and "NO  boasts" in shown, shown[-3000:])
    done = doctor("--host", os.path.join(top, "missing.yaml"))
    check("a host file that is not there is an error", done.returncode != 0 and done.stdout == "" and "missing.yaml" in done.stderr, done)


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-kinds-") as top:
        os.chmod(top, 0o755)
        for step in (kinds, missing, interrupted, greetings):
            own = os.path.join(top, step.__name__)
            os.mkdir(own, 0o755)
            step(own)
    return end()


if __name__ == "__main__":
    sys.exit(main())
