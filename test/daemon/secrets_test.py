#!/usr/bin/env python3
"""secrets_test - secrets by reference: who may use them, where values come from, in `carrel run`
and in the daemon alike (docs/SECRETS.md).

test/escape/secrets_leak_test.py shows that no value is left anywhere.
"""
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, Workspace, check, end, manifest
from daemon_rig import Daemon, until

INVENTORY = """---
schema: secrets/v1
secrets:
  - {slug: openai-api-key, name: OpenAI, description: for tests}
  - {slug: acme/db, name: DB, description: for tests, metadata: {bindings: {env: [PGPASSWORD]}}}
  - {slug: for-ops, name: x, description: x, access: [{role: ops}]}
  - {slug: for-bob, name: x, description: x, access: {bind: [{userId: bob}]}}
  - {slug: for-nobody, name: x, description: x, access: []}
---
What is declared, and never what it is.
"""
LOCAL = {"local": {"tier": "T1", "isolated": True, "mounts": True}}


class Host:
    """A host file, an inventory and the sources it names, in their own directory."""

    def __init__(self, folder, **more):
        self.folder = folder
        self.values = self.put("values", "openai-api-key=from-file\nacme/db=p w=d\n", 0o600)
        self.inventory = self.put("SECRETS.md", INVENTORY, 0o644)
        self.write(**more)

    def put(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def write(self, sources=None, **more):
        rules = {"trust": "trusted", "providers": LOCAL, "workspace": {}, "principal": "operator://test",
                 "secrets": {"./SECRETS.md": {"file": self.inventory}},
                 "secret_sources": [{"file": self.values}] if sources is None else sources, **more}
        self.path = self.put("host.json", json.dumps(rules), 0o644)
        return self


def block(*names, **more):
    return {"provider": "local", "config": {}, "env": {"auth": {"ref": "./SECRETS.md", "state": {"env": list(names)}}}, **more}


def ask(d, names, command="env", **more):
    """(value of each name, None) or (None, the error)."""
    a = d.call("POST", "/v1/sandboxes", {"manifest": block(*names)})
    if a.status >= 300:
        return None, a.json["error"]
    box = a.json["id"]
    a = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": command, **more})
    d.call("DELETE", "/v1/sandboxes/" + box)
    if a.status >= 300:
        return None, a.json["error"]
    got = dict(line.split("=", 1) for line in a.json["stdout"].splitlines() if "=" in line)
    return [got.get(name) for name in names], None


def run(host, *names, env=None, extra=()):
    with Workspace(manifest(more="env: {auth: {ref: ./SECRETS.md, state: {env: [%s]}}}\n" % ", ".join(names))) as ws:
        ws.write("SECRETS.md", INVENTORY)
        done = subprocess.run([CARREL, "run", "--host", host.path, "-w", ws.path, *extra, "--", "env"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, env=dict(os.environ, **(env or {})), check=False)
    got = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return [got.get(name) for name in names] if done.returncode == 0 else done.returncode, done.stderr


# -- where values come from, asked in both ways ----------------------------------------------------------------------------------


def sources(d, host):
    credentials = os.path.join(host.folder, "credentials")
    host.put("credentials/openai-api-key", "from-directory\n", 0o400)
    host.put("credentials/acme.db", "db-from-directory", 0o600)
    script = host.put("vault", "#!/bin/sh\necho asked-for-$1\necho noise on stderr >&2\n", 0o700)
    rows = [
        ("a file", [{"file": host.values}], ["from-file", "p w=d"]),
        ("a directory", [{"directory": credentials}], ["from-directory", "db-from-directory"]),
        ("$CREDENTIALS_DIRECTORY", [{"directory": "$CREDENTIALS_DIRECTORY"}], ["from-directory", "db-from-directory"]),
        ("a command", [{"command": [script, "{slug}"]}], ["asked-for-openai-api-key", "asked-for-acme/db"]),
        ("the environment", [{"environment": {"openai-api-key": "T_OPENAI", "acme/db": "T_DB"}}], ["from-environment", "db-from-environment"]),
        ("the first that knows it", [{"environment": {"acme/db": "T_DB"}}, {"command": [script, "{slug}"], "slugs": ["acme/db"]}, {"file": host.values}],
         ["from-file", "db-from-environment"]),
    ]
    env = {"T_OPENAI": "from-environment", "T_DB": "db-from-environment", "CREDENTIALS_DIRECTORY": credentials}
    for name, listed, wanted in rows:
        host.write(listed)
        d.reload()
        check("the daemon binds a value from " + name, ask(d, ["OPENAI_API_KEY", "PGPASSWORD"]) == (wanted, None), ask(d, ["OPENAI_API_KEY", "PGPASSWORD"]))
        got = run(host, "OPENAI_API_KEY", "PGPASSWORD", env=env)
        check("carrel run binds a value from " + name, got[0] == wanted, got)


def broken(d, host):
    leak = "CANARY-of-a-broken-source"
    wide = host.put("wide", "openai-api-key=%s\n" % leak, 0o644)
    host.put("open/openai-api-key", leak, 0o644)
    host.put("linked/other", "x", 0o600)
    outside = host.put("outside", leak, 0o600)
    os.symlink(outside, os.path.join(host.folder, "linked", "openai-api-key"))
    host.put("lines/openai-api-key", leak + "\n" + leak + "\n", 0o600)
    empty = host.put("empty", "other-slug=x\n", 0o600)
    scripts = {name: host.put(name, "#!/bin/sh\n" + text + "\n", 0o700) for name, text in (
        ("fails", "echo %s; echo %s >&2; exit 3" % (leak, leak)), ("hangs", "echo %s; exec sleep 600" % leak), ("floods", "while :; do echo %s; done" % leak), ("mute", ":"))}
    rows = [
        ("a file that others can read", [{"file": wide}], "read or written by others"),
        ("a credential that others can read", [{"directory": os.path.join(host.folder, "open")}], "read or written by others"),
        ("a link out of the directory", [{"directory": os.path.join(host.folder, "linked")}], "leads out"),
        ("a value of two lines", [{"directory": os.path.join(host.folder, "lines")}], "line feed"),
        ("a command that fails", [{"command": [scripts["fails"]]}], "status 3"),
        ("a command that hangs", [{"command": [scripts["hangs"]], "timeout_ms": 300}], "300 ms"),
        ("a command that says too much", [{"command": [scripts["floods"]]}], "64 KiB"),
        ("a command that says nothing", [{"command": [scripts["mute"]]}], "empty"),
        ("a command that is not there", [{"command": ["/nonexistent"]}], "executed"),
        ("sources that do not know it", [{"file": empty}, {"directory": os.path.join(host.folder, "nothing-of-it")}], "asked the file"),
        ("no source at all", [], "no source of secrets is configured"),
    ]
    os.mkdir(os.path.join(host.folder, "nothing-of-it"), 0o700)
    for name, listed, word in rows:
        host.write(listed)
        d.reload()
        value, e = ask(d, ["OPENAI_API_KEY"])
        text = json.dumps(e)
        check("the daemon refuses " + name, value is None and e["code"] == "sandbox_auth_unresolvable" and e.get("reason") == "not_found"
              and word in text and "openai-api-key" in text and leak not in text and leak not in d.log_text(), value, e)
        status, err = run(host, "OPENAI_API_KEY")
        check("carrel run refuses " + name, status == 126 and word in err and "openai-api-key" in err and leak not in err, status, err)


# -- who may ---------------------------------------------------------------------------------------------------------------------


def watch(d):
    """Reports from now on; a list that grows."""
    events = []

    def hear():
        try:
            for e in d.stream("GET", "/v1/events", timeout=600):
                events.append(e)
        except (OSError, AssertionError):
            pass                       # the daemon restarted
    threading.Thread(target=hear, daemon=True).start()
    until("the watcher hears", lambda: d.must("DELETE", "/v1/sandboxes/" + d.create()) and events)
    return events


def access(d, host):
    """Access is checked before any source is read: the command of a source would leave a mark."""
    mark = os.path.join(host.folder, "was-asked")
    script = host.put("marks", "#!/bin/sh\n: > %s\necho value\n" % mark, 0o700)
    denied = [("no grant names the owner", "FOR_BOB"), ("a grant asks for a role he lacks", "FOR_OPS"), ("access is empty", "FOR_NOBODY")]
    host.write([{"command": [script]}])
    d.reload()
    events = watch(d)
    for why, name in denied:
        value, e = ask(d, [name])
        told = until("an event of the refusal", lambda: [data for _, data in events if data.get("event") == "secret-denied"])
        check("the daemon binds nothing where " + why, value is None and (e["code"], e["reason"]) == ("sandbox_auth_unresolvable", "bind_denied")
              and e["path"] == "env/auth/state/env/0" and not os.path.exists(mark) and told and "secret-denied" in d.log_text(), value, e, told)
        events[:] = [x for x in events if x[1].get("event") != "secret-denied"]
        status, err = run(host, name)
        check("carrel run binds nothing where " + why, status == 126 and "no grant" in err and not os.path.exists(mark), status, err)
    for why, name, reason in [("the slug is not declared", "NOT_THERE", "no_slug")]:
        value, e = ask(d, [name])
        check("the daemon binds nothing where " + why, value is None and e["reason"] == reason and not os.path.exists(mark), value, e)
    a = d.call("POST", "/v1/sandboxes", {"manifest": {**block("OPENAI_API_KEY"), "env": {"auth": {"ref": "../other/SECRETS.md", "state": {"env": ["OPENAI_API_KEY"]}}}}})
    check("an inventory that the host file does not name is refused, and the hint says where it is named (I08)", a.status == 422 and a.json["error"]["reason"] == "not_found"
          and "host file" in a.json["error"]["hint"], a)
    host.write([{"command": [script]}], actors={"operator://test": {"roles": ["ops"]}})
    check("carrel run binds where a role is granted", run(host, "FOR_OPS")[0] == ["value"], run(host, "FOR_OPS"))
    host.write([{"command": [script]}], secrets={"./SECRETS.md": {"file": host.inventory, "access": {"for-bob": [{"userId": "operator://test"}]}, "deny_bind": ["openai-api-key"]}})
    d.reload()
    events = watch(d)
    value, e = ask(d, ["FOR_BOB"])
    check("what the host file says of access goes before what the inventory says", value == ["value"], value, e)
    value, e = ask(d, ["OPENAI_API_KEY"])
    check("and its deny_bind holds for everybody", value is None and e["reason"] == "bind_denied", value, e)
    until("events of what was revealed", lambda: [data for _, data in events if data.get("event") == "secret-revealed"])
    told = [data for _, data in events if data.get("event") == "secret-revealed"][-1]
    check("what is revealed is told: slug, for whom, for what, by which grant, when, in which exec", told["slug"] == "for-bob" and told["actor"] and told["purpose"] == "FOR_BOB"
          and told["granted_by"] == "userId:operator://test" and told["at_ms"] > 0 and told["exec"] == 1 and told["id"], told)


def command_line(d, host):
    """`carrel events` prints the same."""
    host.write()
    d.reload()
    box = d.create(manifest=block("OPENAI_API_KEY"))
    watching = subprocess.Popen([CARREL, "events", "--state", d.state, "--json", box], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    threading.Thread(target=lambda: [lines.append(line) for line in watching.stdout], daemon=True).start()
    try:
        until("carrel events tells of a secret", lambda: d.exec(box, "true") and [line for line in lines if "secret-revealed" in line])
    finally:
        watching.kill()
        watching.wait()
    told = json.loads([line for line in lines if "secret-revealed" in line][0])
    check("carrel events tells of what was revealed", (told["slug"], told["purpose"], told["granted_by"]) == ("openai-api-key", "OPENAI_API_KEY", "owner"), told)
    d.must("DELETE", "/v1/sandboxes/" + box)


def strangers(d, host):
    """Another tenant of the same daemon: a secret without `access` belongs to the daemon's own
    user.
    """
    host.write(actors={"tenant-a": {"roles": ["ops"]}})
    host.put("values", "openai-api-key=from-file\nfor-ops=ops-value\n", 0o600)
    d.reload()
    head = {name: {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"owner": name})["token"]} for name in ("tenant-a", "tenant-b")}

    def of(owner, name):
        a = d.call("POST", "/v1/sandboxes", {"manifest": block(name)}, headers=head[owner])
        if a.status >= 300:
            return a.json["error"]["reason"]
        box = a.json["id"]
        a = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": "printf %%s \"$%s\"" % name}, headers=head[owner])
        d.call("DELETE", "/v1/sandboxes/" + box, headers=head[owner])
        return a.json.get("stdout", a)
    rows = [("tenant-a", "OPENAI_API_KEY", "bind_denied"), ("tenant-a", "FOR_OPS", "ops-value"), ("tenant-b", "FOR_OPS", "bind_denied"),
            ("tenant-b", "FOR_BOB", "bind_denied")]
    for owner, name, wanted in rows:
        got = of(owner, name)
        check("%s asks for %s: %s" % (owner, name, wanted), got == wanted, got)


# -- while it lives ----------------------------------------------------------------------------------------------------------------


def rotation(d, host):
    host.write()
    host.put("values", "openai-api-key=first\n", 0o600)
    d.reload()
    box = d.create(manifest=block("OPENAI_API_KEY"))
    say = "printf %s \"$OPENAI_API_KEY\""
    first = d.exec(box, say)["stdout"]
    host.put("values", "openai-api-key=second\n", 0o600)
    second = d.exec(box, say)["stdout"]
    check("the next command sees a rotated value, and nothing was restarted", (first, second) == ("first", "second"), first, second)
    check("what the caller gives goes before a secret of that name", d.exec(box, say, env={"OPENAI_API_KEY": "mine"})["stdout"] == "mine")
    waits = d.create(manifest=block("OPENAI_API_KEY"), ports=[8080])
    serve = "import http.server, os; print(os.environ['OPENAI_API_KEY'], flush=True); http.server.HTTPServer(('', 8080), None).serve_forever()"
    a = d.call("POST", "/v1/sandboxes/%s/execs" % waits, {"argv": ["python3", "-c", serve], "wait_ports": True})
    said = d.call("GET", "/v1/sandboxes/%s/execs/1/output" % waits)
    check("a command whose port is waited for has them too", a.status < 300 and b"second" in said.body, a, said)
    d.must("DELETE", "/v1/sandboxes/" + waits)
    os.unlink(host.values)
    a = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"command": say})
    check("a source that goes away refuses the next command", a.status == 422 and a.code == "sandbox_auth_unresolvable", a)
    a = d.call("PUT", "/v1/sandboxes/%s/files?path=note" % box, b"text")
    listed = d.call("GET", "/v1/sandboxes/%s/files/list?path=." % box)
    check("files of the sandbox need no secret", listed.status == 200, a, listed)
    host.put("values", "openai-api-key=third\n", 0o600)
    check("and its coming back lets the next one run", d.exec(box, say)["stdout"] == "third")
    d.must("DELETE", "/v1/sandboxes/" + box)


def bad_reload(d, host):
    """A host file that cannot be read any more leaves the previous sources in force, also for a
    fetcher that is restarted.
    """
    host.put("values", "openai-api-key=still\n", 0o600)
    host.write()
    d.reload()
    host.put("host.json", "{", 0o644)
    d.child.send_signal(signal.SIGHUP)
    until("the reload is refused", lambda: "reload-failed" in d.log_text() or "json" in d.log_text().rsplit("ready; ", 1)[1])
    d.restart_parts(lambda: os.kill(next(pid for name, pid in d.children().items() if name == "carrel-fetcher"), signal.SIGKILL))
    check("a host file that broke leaves the sources of before in force", ask(d, ["OPENAI_API_KEY"]) == (["still"], None), ask(d, ["OPENAI_API_KEY"]))


def patience(d, host):
    """S2, S3: only the caller of a source that hangs waits; a caller whose worker is killed gets an
    error.
    """
    fifo = os.path.join(host.folder, "fifo")
    pids = os.path.join(host.folder, "pids")
    os.mkfifo(fifo)
    script = host.put("waits", "#!/bin/sh\necho $PPID >> %s\nexec cat %s\n" % (pids, fifo), 0o700)
    host.write([{"command": [script], "slugs": ["openai-api-key"], "timeout_ms": 60000}, {"file": host.put("more", "acme/db=at-once\nfor-bob=for bob\n")}])
    d.reload()
    slow, quick = d.create(manifest=block("OPENAI_API_KEY")), d.create(manifest=block("PGPASSWORD"))
    answers = []

    def wait():
        answers.append(d.call("POST", "/v1/sandboxes/%s/execs" % slow, {"command": "printf %s \"$OPENAI_API_KEY\""}))
    threads = [threading.Thread(target=wait) for _ in range(3)]
    for t in threads:
        t.start()
    until("three commands of the source wait", lambda: os.path.exists(pids) and len(open(pids, encoding="ascii").read().split()) == 3)
    got = d.exec(quick, "printf %s \"$PGPASSWORD\"")["stdout"]
    check("a source that hangs keeps nobody else waiting", got == "at-once" and not answers, got, answers)
    bob = {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"owner": "bob"})["token"]}
    others = d.must("POST", "/v1/sandboxes", {"manifest": block("FOR_BOB")}, headers=bob)["id"]
    many = [threading.Thread(target=lambda: rest.append(d.call("POST", "/v1/sandboxes/%s/execs" % slow, {"command": "printf %s \"$OPENAI_API_KEY\""}))) for _ in range(90)]
    rest = []
    for t in many:
        t.start()
    until("as many are asked at once as one owner may", lambda: len(open(pids, encoding="ascii").read().split()) == 8)
    a = d.call("POST", "/v1/sandboxes/%s/execs" % others, {"command": "printf %s \"$FOR_BOB\""}, headers=bob)
    check("nor another owner, however many commands wait for it", a.status == 200 and a.json["stdout"] == "for bob" and not rest, a, rest[:1])
    killed = set()

    def kill_all():
        for pid in set(open(pids, encoding="ascii").read().split()) - killed:
            killed.add(pid)
            os.kill(int(pid), signal.SIGKILL)
        return len(killed) == 93
    until("each of them is asked for in its turn", kill_all)
    for t in many:
        t.join(30)
    for t in threads:
        t.join(30)
    check("each of those whose worker was killed is told so", [a.code for a in answers + rest] == ["sandbox_auth_unresolvable"] * 93, *answers)
    for box in (slow, quick):
        d.must("DELETE", "/v1/sandboxes/" + box)
    d.must("DELETE", "/v1/sandboxes/" + others, headers=bob)


def side_doors(d, host):
    host.write([{"environment": {"openai-api-key": "T_OPENAI"}}], passthrough_allow=["T_OPENAI"])
    d.reload()
    a = d.call("POST", "/v1/sandboxes", {"manifest": {"provider": "local", "config": {}, "env": {"passthrough": ["T_OPENAI"]}}})
    check("a variable that holds a secret is not passed through, whatever the host file allows", a.code == "sandbox_passthrough_denied", a)
    with Workspace(manifest(more="env: {passthrough: [T_OPENAI]}\n")) as ws:
        done = subprocess.run([CARREL, "run", "--host", host.path, "-w", ws.path, "--", "env"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, T_OPENAI="CANARY"), check=False)
    check("nor by carrel run", done.returncode == 126 and "CANARY" not in done.stdout + done.stderr, done)


def bad_host_files(host):
    inventory = host.put("LEAKS.md", "---\nsecrets: [{slug: ab, value: CANARY}]\n---\n")
    rows = [("a source of no kind", {"secret_sources": [{"slugs": ["ab"]}]}, "secret_sources/0"), ("a relative file", {"secret_sources": [{"file": "values"}]}, "absolute"),
            ("an inventory that holds a value", {"secrets": {"./SECRETS.md": {"file": inventory}}}, "never holds them"),
            ("an inventory that is not there", {"secrets": {"./SECRETS.md": {"file": "/nonexistent/SECRETS.md"}}}, "/nonexistent/SECRETS.md")]
    for name, rules, word in rows:
        path = host.put("bad.json", json.dumps(rules), 0o644)
        done = subprocess.run([CARREL, "serve", "--state", os.path.join(host.folder, "state-of-none"), "--host", path], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)
        check("carrel serve does not begin with " + name, done.returncode != 0 and word in done.stderr and "CANARY" not in done.stderr, done)


def main():
    with Workspace(False) as folder:
        host = Host(folder.path)
        bad_host_files(host)
        env = {"T_OPENAI": "from-environment", "T_DB": "db-from-environment", "CREDENTIALS_DIRECTORY": os.path.join(folder.path, "credentials")}
        with Daemon("--host", host.path, env=env) as d:
            sources(d, host)
            broken(d, host)
            access(d, host)
            command_line(d, host)
            strangers(d, host)
            rotation(d, host)
            bad_reload(d, host)
            patience(d, host)
            side_doors(d, host)
    end()


if __name__ == "__main__":
    main()
