#!/usr/bin/env python3
"""host_ports_test - services of this machine: ports of its loopback that host file and manifest
both list, as host.carrel.internal, and no others.

With `carrel run` and in a sandbox of the daemon, with the wall routed and not. Everything happens
in a network namespace of the test.
"""
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, until
from daemon_rig import Daemon
from egress_test import Run, carrel, hear_denial, lines, out_of, plain
from gate_rig import PRELUDE, Authority, Names, Origin, enter

DB, SIX, WEB, UNLISTED = 5432, 8443, 80, 6432
LISTED = [DB, SIX, WEB]
HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "host_ports": LISTED}
RULE = "metadata: {carrel: {egress: {host_ports: [%s]}}}"


def manifest(ports=None, egress=(), routed=False):
    way = {**({"host_ports": ports} if ports else {}), **({"routed": True} if routed else {})}
    return {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "network": {"egress": list(egress)}, **({"metadata": {"carrel": {"egress": way}}} if way else {})}


SHOW = PRELUDE + """
def show(name, value): print(name, repr(value)[:200].replace("\\n", " "), flush=True)
def hear(to, port):
    try:
        with socket.create_connection((to, port), 60) as s:
            s.settimeout(60); return s.recv(100).decode()
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
HOST = "host.carrel.internal"
"""

REACH = SHOW + """
show("db", hear(HOST, 5432))
show("db6", hear(address(HOST, 28), 5432))
show("http", talk(HOST, 80, get("localhost:3000"))[:12])
show("raw", talk(HOST, 80, b"neither TLS nor HTTP\\r\\n\\r\\n")[:12])
show("tls", "HTTP/1.1 200" in tls(HOST, "another.test", port=8443, ca=ca))
show("unlisted", hear(HOST, 6432))
show("https", talk(HOST, 443, b"x")[:3])
show("rebind", hear("rebind.test", 5432))
show("address", hear("127.0.0.1", 5432))
show("above", ask("carrel.internal")[0])
show("below", ask("db.host.carrel.internal")[0])
"""

REACHED = {"db": "'220 here\\n'", "db6": "'220 here\\n'", "http": "'HTTP/1.1 200'", "raw": "'HTTP/1.1 200'", "tls": "True", "above": "0", "below": "3"}
SHUT = ("unlisted", "https", "rebind", "address")


class World:
    def __init__(self):
        self.names = Names({"rebind.test": ["127.0.0.1"], "localtest.test": ["127.0.0.1"]})
        authority = Authority()
        with open(authority.path, encoding="ascii") as f:
            self.ca = "ca = '/tmp/ca.pem'\nopen(ca, 'w').write(%r)\n" % f.read()
        self.db, self.other = Origin("127.0.0.1", DB, plain), Origin("127.0.0.1", UNLISTED, plain)
        self.web = Origin("127.0.0.1", WEB, lambda peer: (peer.recv(100), peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")))
        self.six = Origin("::1", SIX, context=authority.context("another.test"))        # listens at the second address alone


def reasons(got):
    return {d["reason"]: d["message"] for d in got.get("denied", [])}


def expect_reached(what, said, world, before):
    wrong = ["%s is %s" % (k, said.get(k)) for k, v in REACHED.items() if said.get(k) != v]
    wrong += ["%s answered: %s" % (k, said.get(k)) for k in SHUT if "220" in said.get(k, "220 missing") or "HTT" in said.get(k, "")]
    check(what, not wrong and world.other.count == before, *wrong, world.other.count)


def run_reaches(world):
    for routed in (False, True):
        before = world.other.count
        status, got = Run(manifest(LISTED, ["rebind.test:5432"], routed), HOST).json("python3", "-c", world.ca + REACH)
        expect_reached("listed ports of this machine are reached, over both its loopback addresses, whatever is spoken; no other%s" % (", routed" if routed else ""), lines(got), world, before)
        told = reasons(got)
        check("  what was refused is told: the port with the line to add, and a public name that leads to loopback", status == 0 and "private_address" in told and
              RULE % 443 in told.get("host_port_not_listed", "") and "carrel allow host-port 443" in told["host_port_not_listed"], got)
        check("  and nothing was asked of a name server", not [n for n, _ in world.names.asked if "carrel.internal" in n], world.names.asked)


def run_without(world):
    status, got = Run(manifest(egress=["rebind.test"]), HOST).json("python3", "-c", SHOW + 'show("name", ask(HOST)[0])')
    told = reasons(got)
    check("without metadata.carrel.egress.host_ports the name does not exist, and the line to add is told", lines(got).get("name") == "3" and RULE % "PORT" in told.get("host_port_not_listed", ""), status, got)
    status, got = Run(manifest(), HOST).json("getent", "hosts", "host.carrel.internal")
    check("  and where there is no network at all", status != 0 and RULE % "PORT" in reasons(got).get("host_port_not_listed", ""), status, got)
    _, got = Run(manifest([DB]), {**HOST, "denied_networks": ["127.0.0.0/8", "::1/128"]}).json("python3", "-c", SHOW + 'show("db", hear(HOST, 5432))')
    check("a network that the operator denies stays denied", "220" not in lines(got).get("db", "220") and "private_address" in reasons(got), got)


# -- what may be asked for -----------------------------------------------------------------------------------------------

def words(*argv, env=None):
    done = subprocess.run([CARREL, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, env=env, text=True)
    return done.returncode, done.stdout


def refused_until_permitted(_):
    run = Run(manifest([DB, 6379]), {**HOST, "host_ports": [DB]})
    file, host = os.path.join(run.folder, "ws", "SANDBOX.md"), os.path.join(run.folder, "host.json")
    wrong = []
    for command in (("check", file), ("plan", "-f", file, "--", "true"), ("run", "-f", file, "--", "true")):
        status, text = words(command[0], "--host", host, *command[1:])
        if status == 0 or "host.carrel.internal:6379" not in text or "host_ports of its host file" not in text or "run: carrel allow --host %s host-port 6379" % host not in text:
            wrong.append((command, status, text))
    check("a port that the host file does not list is refused by check, plan and run, with the line to add", not wrong, *wrong)
    status, text = words("check", "--json", "--host", host, file)
    found = json.loads(text)["errors"][0]
    check("  the refusal has its code, reason and place", status != 0 and (found["code"], found["reason"], found["path"]) ==
          ("sandbox_egress_not_permitted", "host_port", "metadata/carrel/egress/host_ports/1"), text)


def hint_pasted(_):
    run = Run(manifest([DB, 6379]))
    home = tempfile.mkdtemp(prefix="carrel-home-")
    env = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": os.path.join(home, "config")}
    file = os.path.join(run.folder, "ws", "SANDBOX.md")
    said = []
    for _ in range(2):
        status, text = words("check", file, env=env)
        hint = [line.split("run: ", 1)[1].strip() for line in text.splitlines() if "To permit it, run: carrel allow host-port " in line]
        said.append((status, hint))
        if hint:
            said.append(words(*shlex.split(hint[0])[1:], env=env))
    status, text = words("check", file, env=env)
    with open(os.path.join(home, "config", "carrel", "host.yaml"), encoding="ascii") as f:
        written = f.read()
    check("the hint of the refusal, pasted, permits the port in the user's own host file", status == 0 and said[0][0] != 0 and "host_ports:\n  - 5432\n  - 6379\n" in written, said, text, written)
    status, text = words("allow", "host-port", "5432", env=env)
    check("  a port that is there already is said to be", status == 0 and "already in host_ports: 5432" in text, status, text)
    wrong = [(w, words("allow", "host-port", w, env=env)) for w in ("0", "65536", "db:5432", "-1")]
    check("  what is no port is refused", all(status != 0 for _, (status, _) in wrong), *wrong)


def names_refused(_):
    wrong = []
    for entry, says in (("host.carrel.internal:5432", RULE % 5432), ("Host.Carrel.Internal.:5432", RULE % 5432), ("*.carrel.internal", "host_ports"), ("x.host.carrel.internal", "host_ports"),
                        ("carrel.internal:5432", "host_ports")):
        run = Run(manifest(egress=[entry]), HOST)
        status, text = words("check", "--host", os.path.join(run.folder, "host.json"), os.path.join(run.folder, "ws", "SANDBOX.md"))
        if status == 0 or says not in text:
            wrong.append((entry, status, text))
    check("network.egress cannot list the name of this machine, nor one beside it: refused, with what to write instead", not wrong, *wrong)
    run = Run(manifest([DB]), {**HOST, "private_names": ["host.carrel.internal"]})
    status, text = words("check", "--host", os.path.join(run.folder, "host.json"))
    check("  nor can the host file permit it as a private name", status != 0 and "carrel.internal" in text, status, text)
    wrong = []
    for allowed, is_good in ((["example.com"], False), (["example.com", "host.carrel.internal:5432"], True), (["host.carrel.internal:5433"], False)):
        run = Run(manifest([DB]), {**HOST, "egress_allowed": allowed})
        status, text = words("check", "--host", os.path.join(run.folder, "host.json"), os.path.join(run.folder, "ws", "SANDBOX.md"))
        if (status == 0) != is_good or (not is_good and '"host.carrel.internal:5432" to egress_allowed' not in text):
            wrong.append((allowed, status, text))
    check("where egress_allowed bounds what may be asked for, it has to name the port as well", not wrong, *wrong)
    wrong = []
    for ports in ([0], [65536], ["5432"], 5432, [5432.5]):
        run = Run({**manifest(), "metadata": {"carrel": {"egress": {"host_ports": ports}}}}, {**HOST, "host_ports": ports})
        for argv in (("check", os.path.join(run.folder, "ws", "SANDBOX.md")), ("check", "--host", os.path.join(run.folder, "host.json"))):
            status, text = words(*argv)
            if status == 0 or "host_ports" not in text:
                wrong.append((ports, argv, status, text))
    check("ports are whole numbers from 1 to 65535, in both files", not wrong, *wrong)


# -- the daemon ----------------------------------------------------------------------------------------------------------

def host_file(rules):
    handle, path = tempfile.mkstemp(suffix=".json", prefix="carrel-host-")
    with os.fdopen(handle, "w") as f:
        json.dump(rules, f)
    return path


def daemon(world):
    with Daemon("--host", host_file(HOST)) as d:
        box, before = d.create(manifest=manifest(LISTED, ["rebind.test:5432"])), world.other.count
        hear_denial(d, box)
        got = d.exec(box, ["python3", "-c", world.ca + REACH], timeout=ALWAYS)
        expect_reached("a sandbox of the daemon reaches the same", out_of(got), world, before)
        check("  the exec says what was refused to it", "host_port_not_listed" in reasons(got), got)
        listed = d.must("GET", "/v1/sandboxes/%s/denials" % box)
        check("  and the list of what was refused", "host_port_not_listed" in json.dumps(listed), listed)
        answer = d.call("POST", "/v1/sandboxes", {"manifest": manifest([UNLISTED])})
        check("a caller can have no port that the operator did not list", answer.status >= 400 and answer.code == "sandbox_egress_not_permitted" and "6432" in json.dumps(answer.json), answer)
        done = carrel(d, "network", box, "--allow", "localtest.test")
        said = out_of(d.exec(box, ["python3", "-c", SHOW + 'show("db", hear(HOST, 5432)); show("rebind", ask("rebind.test")[0])'], timeout=ALWAYS))
        check("another list leaves the ports of this machine as they are", done.returncode == 0 and said == {"db": "'220 here\\n'", "rebind": "3"}, done, said)


def own_ports(_):
    free = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            free.append(s.getsockname()[1])
    for option, port in zip(("--listen", "--ports"), free):
        path = host_file({**HOST, "host_ports": [port]})
        state = tempfile.mkdtemp(prefix="carrel-state-")
        done = subprocess.run([CARREL, "serve", "--state", state, "--host", path, option, "127.0.0.1:%d" % port], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=ALWAYS, text=True)
        check("a daemon whose host file lists its own port (%s) does not start, and says which" % option, done.returncode != 0 and str(port) in done.stdout and "host_ports" in done.stdout, done)
    path = host_file(HOST)
    with Daemon("--host", path, "--listen", "127.0.0.1:%d" % free[0]) as d:
        with open(path, "w", encoding="ascii") as f:
            json.dump({**HOST, "host_ports": [DB, free[0]]}, f)
        d.child.send_signal(signal.SIGHUP)
        until("the daemon says why it does not take the file", lambda: "on which this daemon serves its API" in d.log_text())
        answer = d.call("POST", "/v1/sandboxes", {"manifest": manifest([free[0]])})
        check("  and one that runs does not take such a host file, and keeps the rules it has", answer.code == "sandbox_egress_not_permitted" and "host_ports" in d.log_text(), answer, d.log_text())


def main():
    enter()
    world = World()
    for step in (run_reaches, run_without, daemon):
        step(world)
    for step in (refused_until_permitted, hint_pasted, names_refused, own_ports):
        step(None)
    end()


if __name__ == "__main__":
    main()
