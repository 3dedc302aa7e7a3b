#!/usr/bin/env python3
"""hosts_test - names of this machine's /etc/hosts, and private names: which addresses they lead to,
and who permits them.

Everything happens in a network namespace of the test, and with its own /etc/hosts if it can mount
one.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, check, end
from egress_test import HOST, Run, daemon_of, lines, out_of, plain
from gate_rig import PRELUDE, Names, Origin, enter

# The server of `both` listens on its second address. `moved.test` has another address at the name
# server; 198.51.100.1 leads nowhere.
HOSTS = """# a comment
127.0.0.2\tdb.corp  dbalias Printer.Corp. # another
127.0.0.9 both.corp
127.0.0.2 both.corp
127.0.0.2 moved.test
127.0.0.1 own.corp mine.internal
0.0.0.0 blocked.test
999.1.1.1 broken.test
::1 six.corp
169.254.169.254 meta.corp
"""
PORT = 5432
PRIVATE = {"private_networks": ["127.0.0.2/32", "127.0.0.9/32", "::1/128"]}
RULES = {k: v for k, v in HOST.items() if k != "private_networks"}

HEAR = PRELUDE + """
def hear(to, port=5432):
    try:
        with socket.create_connection((to, port), 60) as s:
            s.settimeout(60); return s.recv(100).decode().strip()
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
for name in %r: print(name, hear(name), flush=True)
"""


def hear(names, rules, allow=None):
    manifest = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "network": {"egress": allow or ["%s:%d" % (n, PORT) for n in names]}}
    run = Run(manifest, {**RULES, **rules})
    status, got = run.json("python3", "-c", HEAR.replace("%r", repr(list(names))))
    return run, lines(got), {d["host"]: d for d in got.get("denied", [])}, (status, got)


def from_hosts(server):
    names = ["db.corp", "dbalias", "printer.corp", "both.corp", "moved.test", "six.corp", "blocked.test"]
    _, said, told, got = hear(names, PRIVATE)
    check("names of /etc/hosts lead where it says: aliases, each address in turn, both families", [n for n in names if said.get(n) == "220 here"] == names, said, got)
    asked = {n for n, _ in server.asked}
    check("  no name server is asked for them; for one at 0.0.0.0 it is", not asked & set(names[:-1]) and "blocked.test" in asked, asked)
    _, said, told, got = hear(["db.corp", "meta.corp", "broken.test"], {})
    check("a private address that /etc/hosts gives is refused, unless the host file permits it", "220" not in said.get("db.corp", "220") and told.get("db.corp", {}).get("reason") == "private_address" and
          "private_networks" in told["db.corp"]["message"], said, got)
    check("  a metadata service is refused, and a line without an address is none", told.get("meta.corp", {}).get("reason") == "private_address" and told.get("broken.test", {}).get("reason") == "unresolved", got)


def by_name(_):
    for rule in ("db.corp", "db.corp:5432", "*.corp.internal"):
        _, said, told, got = hear(["db.corp"], {"private_names": [rule]})
        check("private_names: [%s] does not lead to loopback" % rule, "220" not in said.get("db.corp", "220") and told["db.corp"]["reason"] == "private_address", said, got)
    _, said, told, got = hear(["own.corp", "mine.internal"], {"private_names": ["own.corp", "mine.internal"]})
    check("a name for this machine itself is not opened by private_names; the refusal says what opens a port", all(told.get(n, {}).get("reason") == "private_address" and "host_ports" in told[n]["message"]
          for n in ("own.corp", "mine.internal")), said, got)


def any_port(_):
    """private_names without a port: only judged by check, which needs no server."""
    wrong = []
    for rule, entry, is_good in (("db.internal", "db.internal:5432", True), ("db.internal", "db.internal", True), ("db.internal:5432", "db.internal:5432", True),
                                 ("db.internal:5432", "db.internal", False), ("db.internal:5432", "db.internal:5433", False), ("*.internal.corp", "db.internal:1", False),
                                 ("*.db.internal", "a.db.internal:1", True)):
        run = Run({"provider": "local", "config": {}, "network": {"egress": [entry]}}, {**RULES, "private_names": [rule]})
        done = subprocess.run([CARREL, "check", "--host", os.path.join(run.folder, "host.json"), os.path.join(run.folder, "ws", "SANDBOX.md")], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, text=True)
        if (done.returncode == 0) != is_good:
            wrong.append((rule, entry, done.stdout))
    check("a private name without a port may be asked for on any port, one with a port on that", not wrong, *wrong)


def allowed(_):
    home = tempfile.mkdtemp(prefix="carrel-home-")
    env = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home}
    said = {}
    for name in ("db.corp:5432", "dbalias", "intranet", "db.internal", "pypi.org", "example.com:443"):
        done = subprocess.run([CARREL, "allow", "name", name], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, text=True)
        said[name] = (done.returncode, done.stdout)
    check("`carrel allow name` takes names of /etc/hosts, names without a dot and private names", all(said[n][0] == 0 for n in ("db.corp:5432", "dbalias", "intranet", "db.internal")), said)
    check("  and refuses a public name, with the line of the manifest", all(said[n][0] != 0 and "network.egress" in said[n][1] for n in ("pypi.org", "example.com:443")), said)


def daemon(_):
    manifest = {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "network": {"egress": ["db.corp:%d" % PORT, "later.corp:%d" % PORT]}}
    code = ["python3", "-c", HEAR.replace("%r", "['db.corp', 'later.corp']")]
    with daemon_of(private_networks=["127.0.0.2/32"]) as d:
        box = d.create(manifest=manifest)
        first = out_of(d.exec(box, code, timeout=ALWAYS))
        with open("/etc/hosts", "a", encoding="ascii") as f:
            f.write("127.0.0.2 later.corp\n")
        d.reload()
        second = out_of(d.exec(box, code, timeout=ALWAYS))
        check("the daemon reads /etc/hosts at its start, and again on SIGHUP", (first.get("db.corp"), "220" in first.get("later.corp", "220"), second) ==
              ("220 here", False, {"db.corp": "220 here", "later.corp": "220 here"}), first, second)


def main():
    enter()
    if ROOT or os.environ.get("CARREL_GATE_RIG"):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x20000) != 0 or libc.mount(None, b"/", None, 0x44000, None) != 0:
            raise OSError(ctypes.get_errno(), "a mount namespace")
        with tempfile.NamedTemporaryFile("w", prefix="carrel-hosts-", delete=False) as f:
            f.write(HOSTS)
        os.chmod(f.name, 0o644)
        if libc.mount(f.name.encode(), b"/etc/hosts", None, 0x1000, None) != 0:
            raise OSError(ctypes.get_errno(), "mounting /etc/hosts")
    server = Names({"moved.test": ["198.51.100.1"], "blocked.test": ["127.0.0.2"]})
    servers = [Origin("127.0.0.2", PORT, plain), Origin("::1", PORT, plain), Origin("127.0.0.1", PORT, plain)]
    for step in (from_hosts, by_name, any_port, allowed, daemon):
        step(server)
    check("the server at 127.0.0.1 was never reached", servers[2].count == 0, servers[2].count)
    end()


if __name__ == "__main__":
    main()
