#!/usr/bin/env python3
# slow: 25 s: each guard is tried with a daemon of its own
"""provider_bridge_test - a sandbox elsewhere: the host file names a program, the daemon runs it in a sandbox of its own and speaks the bridge protocol to it.

The program is the example over ssh with a stand-in for ssh, so "elsewhere" is the sandbox of the program itself. Programs that break the protocol
are those of test/rig/bridge_liar.py.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, HERE, PATIENCE, SWITCHES, TREE, check, end, report, until
from mastra_shape import install
from daemon_rig import Daemon

PYTHON, NODE, SECRET = "/usr/bin/python3", "/usr/bin/node", "carrel-key-of-a-test"


def manifest(provider, more=""):
    return "---\nschema: sandbox/v1\nprovider: %s\nconfig: {}\n%s---\n" % (provider, more)


def row(name, place, *words, more="", egress="closed"):
    program = [PYTHON, place + "/" + words[0], *words[1:]]
    return "  %s: {isolated: true, egress: %s, program: %s, tools: [%s]%s}\n" % (name, egress, json.dumps(program), place, more)


def refused(d, box, *reasons):
    answer = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true"})
    return answer.status >= 400 and all(r in str(answer.body) for r in reasons), answer


def commands(d):
    box = d.create(start=True, manifest=manifest("ssh-box"))
    ended = d.exec(box, "echo out; echo err >&2; exit 3")
    check("a command: both outputs and its status", (ended["stdout"], ended["stderr"], ended["exit_code"]) == ("out\n", "err\n", 3), ended)
    ended = d.exec(box, "kill -9 $$")
    check("a command that a signal ended", (ended["outcome"], ended["signal"]) == ("signaled", 9), ended)
    ended = d.exec(box, "for p in /proc/[0-9]*; do echo $(cat $p/comm; grep -E '^(Seccomp_filters|NoNewPrivs)' $p/status); done; echo own $(grep ^Seccomp_filters /proc/self/status)")
    rows = [line.split() for line in ended["stdout"].splitlines() if line.startswith(("carrel-bridge ", "own "))]
    filters = {name: sorted(int(r[-1]) for r in rows if r[0] == name) for name in ("carrel-bridge", "own")}
    check("carrel-bridge has one filter of system calls more than the provider's program, and than what starts it",
          filters["carrel-bridge"] == [filters["own"][0], filters["own"][0] + 1], filters, ended)
    ended = d.exec(box, "head -c 3000000 /dev/zero | tr '\\0' x")
    check("three megabytes of output, each byte once", ended["stdout_bytes"] == 3000000, ended["stdout_bytes"])
    ended = d.exec(box, "env; pwd")
    check("no variable and no directory of this machine is sent", "HOME=/home/agent" not in ended["stdout"].replace("HOME=/home/agent", "", 1) and "\nUSER=" not in ended["stdout"], ended)
    given = subprocess.run([CARREL, "exec", box, "--", "wc", "-c"], env=dict(os.environ, CARREL_STATE=d.state), input="i" * 1000000, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("a megabyte of standard input", given.stdout.strip() == "1000000", given)
    started = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": "echo $$ > group; exec sleep 1000", "background": True})
    number = started["exec"]
    d.must("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, number))
    until("the killed command ends", lambda: d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, number))["state"] == "ended")
    ended = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, number))
    check("a command that was killed", ended["outcome"] == "killed", ended)
    ended = d.exec(box, "sleep 1000", timeout_ms=500)
    check("a time limit is this machine's to enforce", ended["outcome"] == "timed_out", ended)
    return box


def files(d, box):
    path = "/v1/sandboxes/%s/files" % box
    data = os.urandom(150000)
    put = d.call("PUT", path + "?path=/tmp/carrel-bridge.bin", data)
    got = d.call("GET", path + "?path=/tmp/carrel-bridge.bin")
    check("a file is written and read", put.status < 300 and got.body == data, put.status, got.status, put.body[:300], got.body[:300])
    missing = d.call("GET", path + "?path=/tmp/carrel-missing")
    check("a file that is not there", missing.status == 404, missing)
    listed = d.must("GET", path + "/list?path=/tmp")["items"]
    check("a directory is listed", [e for e in listed if e["path"] == "carrel-bridge.bin" and e["kind"] == "file" and e["size"] == len(data)] != [], listed)
    deep = d.call("GET", path + "/list?path=/tmp&depth=2")
    check("what the protocol has no message for is refused", deep.code == "capability_unavailable" and b'"elsewhere"' in deep.body, deep)
    tty = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", "tty": True})
    check("a terminal is refused by name", tty.code == "capability_unavailable" and b'"elsewhere"' in tty.body and b'"tty"' in tty.body, tty)


def ports(d):
    """The provider gives the address; the declared ports alone are asked for, and what it gives is judged."""
    def url(box, port):
        return d.call("GET", "/v1/sandboxes/%s/ports/%d" % (box, port))

    box = d.create(start=True, manifest=manifest("urls"), ports=[8001, 8002, 8003, 8004, 8005, 8006])
    early = url(box, 8001)
    check("before the first command there is no sandbox elsewhere", early.code == "port_unreachable" and b'"elsewhere"' in early.body and b"Run a command" in early.body, early)
    d.exec(box, "true")
    listed = d.call("GET", "/v1/sandboxes/%s/files/list?path=/tmp" % box)
    check("a program without the ability for directories lists none", listed.code == "capability_unavailable" and b'"elsewhere"' in listed.body, listed)
    got = url(box, 8001)
    check("the address of a port is the provider's", got.status == 200 and got.json == {"url": "https://8001-box.example.com/?t=1", "browser_url": "https://8001-box.example.com/?t=1", "port": 8001}, got)
    said = subprocess.run([CARREL, "url", box, "8001", "--state", d.state], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("carrel url prints it", said.stdout == "https://8001-box.example.com/?t=1\n", said)
    check("a port that was not declared is not asked for", b'"undeclared"' in url(box, 9000).body, url(box, 9000))
    for port, why in ((8002, "no address for this port"), (8003, "is no address"), (8004, "is no address"), (8005, "is no address"), (8006, "is no address")):
        got = url(box, port)
        check("%d: %s" % (port, why), got.code == "port_unreachable" and why in got.json["error"]["message"], got)
    waits = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true", "wait_ports": True})
    check("nothing here can wait for its ports", waits.code == "capability_unavailable" and b'"elsewhere"' in waits.body, waits)
    logs = subprocess.run([CARREL, "audit", "tail", "--json", "--log", os.path.join(d.state, "audit", "uid:%d" % os.getuid())], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("each address that was given is in the audit log, without the address", logs.stdout.count('"port.url"') == 2 and "8001-box" not in logs.stdout, logs.stdout[-1500:], logs.stderr)
    d.call("DELETE", "/v1/sandboxes/" + box)
    box = d.create(start=True, manifest=manifest("ssh-box"), ports=[8001])
    d.exec(box, "true")
    got = url(box, 8001)
    check("a provider without addresses is a typed error", got.code == "capability_unavailable" and b'"elsewhere"' in got.body, got)
    d.call("DELETE", "/v1/sandboxes/" + box)


def listings(d):
    """A listing that does not go on, and names that lead elsewhere, end the operation and nothing else."""
    box = d.create(start=True, manifest=manifest("lists"))
    d.exec(box, "true")
    for name in ("again", "slash", "empty"):
        got = d.call("GET", "/v1/sandboxes/%s/files/list?path=/%s" % (box, name))
        check("a listing that is wrong is refused: " + name, got.status >= 500, got)
    deep = d.call("GET", "/v1/sandboxes/%s/files/list?path=/again&depth=2" % box)
    check("more than one level of a directory is refused by name", deep.code == "capability_unavailable" and b'"elsewhere"' in deep.body, deep)
    check("the sandbox goes on", d.exec(box, "echo on")["stdout"] == "on\n")
    d.call("DELETE", "/v1/sandboxes/" + box)


def after_restart(d, box):
    """A daemon that finds its sandboxes again still knows which are elsewhere."""
    here = d.create(start=True)
    d.stop()
    d.start()
    pause = d.call("POST", "/v1/sandboxes/%s/pause" % here, {})
    check("after a restart: one that is here is paused, or the machine has no freezer", pause.status < 300 or b"freezer" in pause.body, pause)
    d.call("DELETE", "/v1/sandboxes/" + here)
    pause = d.call("POST", "/v1/sandboxes/%s/pause" % box, {})
    check("after a restart: one elsewhere is refused by name", pause.code == "capability_unavailable" and b'"elsewhere"' in pause.body, pause)


def ends(d, box):
    before = d.exec(box, "pwd")["stdout"].strip()
    pause = d.call("POST", "/v1/sandboxes/%s/pause" % box, {})
    check("it cannot be paused", pause.code == "capability_unavailable" and b'"elsewhere"' in pause.body, pause)
    check("it is stopped", d.call("DELETE", "/v1/sandboxes/" + box).status < 300 and before.startswith("/tmp/"))


def pool(host, top):
    """A ready sandbox has its box here; the sandbox elsewhere is made by the first command."""
    path = os.path.join(top, "SANDBOX.md")
    with open(path, "w", encoding="utf-8") as f:
        f.write(manifest("ssh-box"))
    with Daemon("--host", host, "--pool", "1", "--pool-manifest", path) as d:
        claimed = []
        until("one is ready", lambda: claimed.append(d.call("POST", "/v1/claims", {"manifest": manifest("ssh-box")})) or claimed[-1].status < 300)
        box = claimed[-1].json["id"]
        check("one of the pool runs commands", d.exec(box, "echo hi")["stdout"] == "hi\n")
        d.call("DELETE", "/v1/sandboxes/" + box)


def shown(host, top):
    """carrel providers says which of them can be used, and why another one cannot."""
    def providers(file):
        said = subprocess.run([CARREL, "providers", "--host", file, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return {p["id"]: p for p in json.loads(said.stdout)["providers"]}

    got = providers(host)
    check("a registered provider is available, elsewhere", (got["ssh-box"]["available"], got["ssh-box"]["runtime_class"], got["ssh-box"]["egress"]) == (True, "elsewhere", "closed"), got["ssh-box"])
    check("one without a program is not", not got["mastra-blaxel"]["available"] and "names no program" in got["mastra-blaxel"]["missing"], got["mastra-blaxel"])
    check("one whose network is not restricted is not", not got["open"]["available"] and "network" in got["open"]["missing"], got["open"])
    path = os.path.join(top, "absent.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("providers:\n" + row("away", top + "/away", "provider.py").replace(PYTHON, top + "/away/python3") + row("no-tools", top + "/away", "provider.py"))
    got = providers(path)
    check("a program and tools that are not there", [got[name]["missing"] for name in ("away", "no-tools")] == ["its program cannot be executed", "a directory of its tools cannot be read"], got)


def broken(d):
    for name in ("no-create", "garbage", "version"):
        box = d.create(start=True, manifest=manifest(name))
        ok, answer = refused(d, box)
        check("a program that makes no sandbox fails the command: " + name, ok, answer)
        check("and the next one is tried again", d.must("GET", "/v1/sandboxes/" + box)["status"] == "running")
        d.call("DELETE", "/v1/sandboxes/" + box)
    box = d.create(start=True, manifest=manifest("promises"))
    check("a promise of the host file that the greeting does not make", refused(d, box)[0], refused(d, box)[1])
    d.call("DELETE", "/v1/sandboxes/" + box)
    for name in ("dies", "twice"):
        box = d.create(start=True, manifest=manifest(name))
        for _ in range(2):
            d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "true"})
        until("the sandbox ends", lambda b=box: d.call("GET", "/v1/sandboxes/" + b).status in (404, 410) or d.must("GET", "/v1/sandboxes/" + b)["status"] != "running")
        check("a program that breaks the protocol ends its sandbox: " + name, True)
        d.call("DELETE", "/v1/sandboxes/" + box)


def policy(d):
    for what, more, code in (("mounts", "mounts: [{source: workspace, at: /workspace}]\n", "sandbox_mount_unresolvable"),
                             ("egress", "network: {egress: [example.com]}\n", "sandbox_egress_unenforceable")):
        answer = d.call("POST", "/v1/sandboxes", {"manifest": manifest("ssh-box", more), "workspace": d.folder})
        check("what it cannot do is refused by name: " + what, answer.status >= 400 and answer.code == code, answer)
    made = d.must("POST", "/v1/sandboxes", {"manifest": manifest("ssh-box", "limits: {memory_mb: 64}\n")})
    check("a limit that it cannot enforce is a warning", any(w["code"] == "limit_unenforceable:memory_mb" for w in made["warnings"]), made)
    d.call("DELETE", "/v1/sandboxes/" + made["id"])
    box = d.create(start=True, manifest=manifest("listed"))
    check("a list is sent to a provider that has it", d.exec(box, "true")["exit_code"] == 0)
    changed = d.call("PUT", "/v1/sandboxes/%s/network" % box, {"egress": ["example.com"]})
    check("its network cannot change while it runs", changed.status >= 400 and b'"elsewhere"' in changed.body, changed)
    d.call("DELETE", "/v1/sandboxes/" + box)
    for name, code in (("open", "sandbox_egress_unenforceable"), ("unregistered", "sandbox_provider_unknown"), ("mastra-blaxel", "sandbox_provider_unknown")):
        text = manifest(name).replace("config: {}", "config: {workspace: base}") if name == "mastra-blaxel" else manifest(name)
        answer = d.call("POST", "/v1/sandboxes", {"manifest": text, "start": True})
        check("no program runs for it: " + name, answer.status >= 400 and answer.code == code, answer)


def network(d, server, counted):
    for name, wanted in (("dials", 0), ("dials-listed", 1)):
        before = len(counted)
        box = d.create(start=True, manifest=manifest(name))
        d.exec(box, "true")
        d.call("DELETE", "/v1/sandboxes/" + box)
        if wanted:
            until("the program has connected", lambda b=before: len(counted) > b)
        check("the program reaches what the host file lists, and nothing else: " + name, len(counted) - before == wanted, len(counted), before)
    before = len(counted)
    box = d.create(start=True, manifest=manifest("tells"))
    d.exec(box, "true")
    d.call("DELETE", "/v1/sandboxes/" + box)
    until("the program has heard kill", lambda: len(counted) > before)
    check("a sandbox that is stopped is killed elsewhere too", len(counted) - before == 1, len(counted), before)
    server.close()


def holders(secret):
    """Command lines of the processes that have it in their environment or in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as line, open("/proc/%s/environ" % pid, "rb") as environment:
                words, variables = line.read(), environment.read()
        except OSError:
            continue
        if secret.encode() in words + variables:
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def written(top, secret):
    """Files below a directory that contain it."""
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    found += [path] if secret.encode() in f.read() else []
    return found


def keys(d, place):
    asked = manifest("key", "env: {auth: {ref: ./SECRETS.md}}\n").replace("config: {}", "config: {api_key_ref: provider-key}")
    box = d.create(start=True, manifest=asked)
    ended = d.exec(box, "cat /tmp/carrel-key; echo; env")
    check("the program has the key, and a command has not", ended["stdout"].startswith(SECRET + "\n") and ended["stdout"].count(SECRET) == 1 and "CARREL_PROVIDER_KEY" not in ended["stdout"], ended)
    holding = holders(SECRET)
    check("no process but the provider's program has it", len(holding) == 1 and "bridge_liar.py key" in holding[0], holding)
    d.call("DELETE", "/v1/sandboxes/" + box)
    check("the daemon's log does not have it", SECRET not in d.log_text())
    check("no file of the daemon has it: audit log, state, boxes", written(d.state, SECRET) == [] and written(d.state, "provider-key") != [], written(d.state, SECRET))
    if not os.path.exists(NODE):
        report("mastra.mjs in the daemon", skip="this machine has no " + NODE)
        return
    asked = asked.replace("provider: key", "provider: mastra-e2b").replace("config: {", "config: {template: base, ")
    box = d.create(start=True, manifest=asked)
    ok, answer = refused(d, box, "capability_unavailable", "npm install --prefix")
    check("a package of Mastra's that is missing is a typed error with the command", ok, answer)
    install(place, "@mastra/e2b", "E2BSandbox")
    d.call("DELETE", "/v1/sandboxes/" + box)
    box = d.create(start=True, manifest=asked)
    ended = d.exec(box, "cat /tmp/told; echo err >&2; exit 3")
    check("the next sandbox finds it: settings and key reach the class", json.loads(ended["stdout"] or "{}") == {"template": "base", "apiKey": SECRET, "network": {"denyOut": ["0.0.0.0/0"]}} and ended["exit_code"] == 3, ended)
    d.call("DELETE", "/v1/sandboxes/" + box)


def switched_off(host):
    """Each guard of carrel-bridge, and the keeper's of addresses: without it the program gets what it wants."""
    def seen(word, mode, ports=()):
        with Daemon("--host", host, program=SWITCHES, env={"CARREL_TEST_BRIDGE_OFF": word}) as d:
            more = "env: {auth: {ref: ./SECRETS.md}}\n" if mode == "key" else ""
            asked = manifest(mode, more).replace("config: {}", "config: {api_key_ref: provider-key}" if mode == "key" else "config: {}")
            box = d.create(start=True, manifest=asked, ports=list(ports))
            first, second = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "env"}), d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "env"})
            urls = [d.call("GET", "/v1/sandboxes/%s/ports/%d" % (box, port)) for port in ports]
            d.call("DELETE", "/v1/sandboxes/" + box)
            return first, second, urls

    for word, mode in (("message", "garbage"), ("session", "twice"), ("needs", "promises")):
        first, second, _ = seen(word, mode)
        check("without the check of the %s the program goes on: %s" % (word, mode), [a.status < 300 and a.json.get("exit_code") for a in (first, second)] == [0, 0], first, second)
    first, _, _ = seen("key", "key")
    check("without its removal a command has the key", "CARREL_PROVIDER_KEY=" + SECRET in first.json.get("stdout", ""), first)
    _, _, urls = seen("url", "urls", (8003,))
    check("without its judgement any text is an address", urls[0].status == 200 and urls[0].json["url"].startswith("javascript:"), urls)


def accept(server, counted):
    try:
        while True:
            server.accept()[0].close()
            counted.append(1)
    except OSError:
        pass


with tempfile.TemporaryDirectory(prefix="carrel-bridge-") as top:
    os.chmod(top, 0o755)
    place = os.path.join(top, "provider")
    os.mkdir(place)
    for name in (os.path.join(TREE, "examples", "provider-ssh", "provider.py"), os.path.join(HERE, "bridge_liar.py"), os.path.join(HERE, "bridge_ssh"), os.path.join(TREE, "sdk", "providers", "mastra.mjs")):
        shutil.copy(name, place)
        os.chmod(os.path.join(place, os.path.basename(name)), 0o755)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    connections = []
    threading.Thread(target=accept, args=(listening, connections), daemon=True).start()
    host = os.path.join(top, "host.yaml")
    text = "providers:\n  local: {isolated: true}\n  mastra-blaxel: {isolated: true}\n"
    text += row("ssh-box", place, "provider.py", "--ssh", place + "/bridge_ssh", "here")
    text += row("open", place, "bridge_liar.py", "good", egress="false")
    text += row("listed", place, "bridge_liar.py", "listed", egress="true")
    text += row("promises", place, "bridge_liar.py", "good", more=", memory: true")
    text += row("mastra-e2b", place, "mastra.mjs", "mastra-e2b", "--from", place).replace(PYTHON, NODE)
    for mode in ("key", "urls", "lists", "no-create", "garbage", "version", "dies", "twice"):
        text += row(mode, place, "bridge_liar.py", mode)
    far = ["host.carrel.internal", str(port)]
    listed = ', reaches: ["host.carrel.internal:%d"]' % port
    text += row("dials", place, "bridge_liar.py", "dials", *far)
    text += row("dials-listed", place, "bridge_liar.py", "dials", *far, more=listed)
    text += row("tells", place, "bridge_liar.py", "tells", *far, more=listed)
    secrets = os.path.join(top, "secrets")
    for name, content in ((host, text + "secrets: {./SECRETS.md: {slugs: [provider-key]}}\nsecrets_file: %s\n" % secrets), (secrets, "provider-key=%s\n" % SECRET)):
        with open(name, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(content)
    with Daemon("--host", host) as daemon:
        sandbox = commands(daemon)
        files(daemon, sandbox)
        after_restart(daemon, sandbox)
        ends(daemon, sandbox)
        ports(daemon)
        listings(daemon)
        broken(daemon)
        policy(daemon)
        network(daemon, listening, connections)
        keys(daemon, place)
    pool(host, top)
    shown(host, top)
    if os.access(SWITCHES, os.X_OK):
        switched_off(host)
    else:
        report("guards that are switched off", skip="there is no program with switches: ./dev build-one build-switches")
end()
