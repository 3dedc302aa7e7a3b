#!/usr/bin/env python3
"""Attacks on what a workspace says to the host and to its own next sandbox: rows of group W of the catalogue in SECURITY.md. Prints TAP.

    W01 what was read to judge: manifests by reference and by name, inventories, links to them, second names

Each attack is made twice, see rig.py.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from attack_rig import HOST, Rig, manifest

PARENT = "---\nschema: workspace/v1\nsandbox: {file: ./conf/SANDBOX.md}\n---\n"
INVENTORY = """---
schema: secrets/v1
secrets:
  - {slug: openai-api-key, name: O, description: d}
  - {slug: deploy-key, name: D, description: d, access: [{role: operator}]}
---
"""
STOLEN = """---
schema: secrets/v1
secrets:
  - {slug: deploy-key, name: D, description: d, metadata: {bindings: {env: [OPENAI_API_KEY]}}}
---
"""

# Every way to have another file under the name, or under a name on the way to it.
REWRITE = r'''
def write(path):
    with open(path, "a") as f:
        f.write("# evil\n")
def rename(path):
    open("evil", "w").write("# evil\n"); os.rename("evil", path)
def exchange(path):
    open("evil2", "w").write("# evil\n")
    if libc.renameat2(-100, b"evil2", -100, path.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")
def parent(path):
    top = path.split("/")[0]
    os.rename(top, "away")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("# evil\n")
for path in sys.argv[1:]:
    for way in (write, rename, exchange, parent):
        tried(way.__name__ + ":" + path, way, path)
'''


def is_whole(work, name):
    try:
        with open(os.path.join(work, name)) as f:
            return "evil" not in f.read()
    except OSError:
        return False


def w01_read_to_judge(rig, person):
    """Each way that leads to a manifest; the file, and the file that points to it, hold."""
    rows = [
        ("a manifest that WORKSPACE.md names", {"WORKSPACE.md": PARENT, "conf/SANDBOX.md": manifest()}, [], ["conf/SANDBOX.md", "WORKSPACE.md"]),
        ("a manifest deep below, by -f", {"a/b/x.SANDBOX.md": manifest()}, ["-f", "a/b/x.SANDBOX.md"], ["a/b/x.SANDBOX.md"]),
        ("a block in YAML, by -f", {"conf/box.yaml": "{provider: local, config: {}, mounts: [{source: workspace, at: /workspace}]}\n"}, ["-f", "conf/box.yaml"], ["conf/box.yaml"]),
        ("a host file in the workspace", {"conf/host.json": json.dumps(HOST), "SANDBOX.md": manifest()}, ["--host", "conf/host.json"], ["conf/host.json"]),
    ]
    for label, files, options, names in rows:
        for off in (None, ["protect"]):
            work = rig.payload(person, REWRITE)
            for name, text in files.items():
                person.file(os.path.join(work, name), text)
            words = [os.path.join(work, w) if "/" in w else w for w in options]
            done = rig.run(person, ["python3", "payload.py", *names], work, off=off, options=words)
            if off is None:
                rig.tap.ok(done.has_ended and done.answers and not done.opened, f"W01 {label} is read-only ({person.name})", *done.tell())
            else:
                rig.tap.ok({"write:" + n for n in names} <= done.opened, f"W01 without protect {label} can be written ({person.name})", *done.tell())


def w01_two_runs(rig, person):
    """A payload that rewrites what judged it, and a second run that would obey."""
    for label, files, options, target in (
            ("by reference", {"WORKSPACE.md": PARENT, "conf/SANDBOX.md": manifest(limits={"timeout_ms": 20000})}, [], "conf/SANDBOX.md"),
            ("by -f", {"conf/SANDBOX.md": manifest(limits={"timeout_ms": 20000})}, ["-f", "conf/SANDBOX.md"], "conf/SANDBOX.md")):
        for off in (None, ["protect"]):
            work = rig.payload(person, "os._exit(0)")
            for name, text in files.items():
                person.file(os.path.join(work, name), text)
            words = [os.path.join(work, w) if "/" in w else w for w in options]
            rig.run(person, ["sh", "-c", f"sed 's/20000/86400000/' {target} >x; cat x >{target}"], work, off=off, options=words)
            with open(os.path.join(work, target)) as f:
                widened = "86400000" in f.read()
            rig.tap.ok(widened == (off is not None), f"W01 no limit is widened for the next run, {label}{', but without protect' if off else ''} ({person.name})")


def w01_links(rig, person):
    """A link on the way, and a second name of the file, could be replaced or written: such a file does not judge."""
    def link(work):
        os.symlink("conf", os.path.join(work, "way"))

    def second(work):
        os.link(os.path.join(work, "conf/SANDBOX.md"), os.path.join(work, "second"))

    for label, way, prepare, reason in (("through a link", "way/SANDBOX.md", link, "protected_symlink"),
                                        ("with a second name", "conf/SANDBOX.md", second, "protected_hard_link")):
        for opened in (False, True):
            work = person.directory()
            open_it = {"unprotect": ["way", "conf"]} if opened else None
            person.file(os.path.join(work, "conf/SANDBOX.md"), manifest(carrel=open_it))
            prepare(work)
            done = rig.run(person, ["true"], work, options=["-f", os.path.join(work, way), "--json"])
            if opened:
                rig.tap.ok(done.status == 0, f"W01 a manifest {label} judges where it says unprotect ({person.name})", *done.tell())
            else:
                rig.tap.ok(done.status == 126 and reason.encode() in done.out, f"W01 a manifest {label} is refused ({person.name})", *done.tell(), done.out)


def w01_inventory(rig, person):
    """The payload binds the slug it wants to the variable it has; the next run asks for it."""
    env = {"auth": {"ref": "./conf/SECRETS.md", "state": {"env": ["OPENAI_API_KEY"]}}}
    values = person.file(os.path.join(person.home, "values"), "openai-api-key=sk-CANARY-1\ndeploy-key=CANARY-DEPLOY\n", 0o600)
    for tied in (False, True):
        host = {**HOST, "secret_sources": [{"file": values}]}
        if tied:
            host["secrets"] = {"./conf/SECRETS.md": {"reveal": True}}
        name = person.file(os.path.join(person.home, f"host-{tied}.json"), json.dumps(host))
        work = person.directory()
        person.file(os.path.join(work, "conf/SECRETS.md"), INVENTORY)
        person.file(os.path.join(work, "SANDBOX.md"), manifest(env=env))
        person.file(os.path.join(work, "stolen"), STOLEN)
        options = ["--host", name]
        first = rig.run(person, ["sh", "-c", "cat stolen >conf/SECRETS.md; echo \"$OPENAI_API_KEY\""], work, options=options)
        second = rig.run(person, ["sh", "-c", "echo \"$OPENAI_API_KEY\""], work, options=options)
        if tied:
            rig.tap.ok(first.out == second.out == b"sk-CANARY-1\n", f"W01 an inventory that the host file names is read-only ({person.name})", *first.tell(), *second.tell())
        else:
            rig.tap.ok(first.status == second.status == 126 and b"CANARY" not in first.out + second.out and b"does not name the inventory" in first.err,
                       f"W01 an inventory that the host file does not name binds nothing ({person.name})", *first.tell(), *second.tell())


def w01_living(rig, person):
    """The same of a daemon: what the client read is read-only in every exec."""
    if person is not rig.people[0]:
        return
    from daemon_rig import Daemon
    with Daemon(program=rig.shipped) as d:
        def carrel(*words):
            return subprocess.run([rig.shipped, words[0], "--state", d.state, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

        for number, (label, files, options, target) in enumerate((
                ("-f NAME.SANDBOX.md", {"dev.SANDBOX.md": manifest()}, ["-f", "dev.SANDBOX.md"], "dev.SANDBOX.md"),
                ("-f deep below", {"conf/SANDBOX.md": manifest()}, ["-f", "conf/SANDBOX.md"], "conf/SANDBOX.md"),
                ("by WORKSPACE.md", {"WORKSPACE.md": PARENT, "conf/SANDBOX.md": manifest()}, [], "conf/SANDBOX.md"))):
            work = person.directory()
            for name, text in files.items():
                person.file(os.path.join(work, name), text)
            words = [os.path.join(work, w) if "SANDBOX" in w else w for w in options]
            made = carrel("create", *words, "-w", work, "--name", f"w{number}")
            done = carrel("exec", f"w{number}", "--", "sh", "-c", f"echo '# evil' >>{target}; mv {target.split('/')[0]} away; echo done")
            rig.tap.ok(is_whole(work, target) and done.stdout == "done\n", f"W01 create {label}: the manifest is read-only inside", made.stderr, done.stderr)
            d.stop()
            d.start()
            carrel("exec", f"w{number}", "--", "true")
            done = carrel("exec", f"w{number}", "--", "sh", "-c", f"echo '# evil' >>{target}; echo done")
            rig.tap.ok(is_whole(work, target) and done.stdout == "done\n", f"W01 create {label}: still, under the daemon's next start", done.stderr)


def w01_agent(rig, person):
    """And of `carrel mcp -f`."""
    if person is not rig.people[0]:
        return
    work = person.directory()
    person.file(os.path.join(work, "conf/SANDBOX.md"), manifest())
    with tempfile.TemporaryDirectory() as runtime:
        p = subprocess.Popen([rig.shipped, "mcp", "-f", os.path.join(work, "conf/SANDBOX.md"), "-w", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": runtime, "HOME": runtime})
        out = []
        for message in ({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
                        {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list", "params": {}}):
            p.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            p.stdin.flush()
            if "id" in message:
                out.append(json.loads(p.stdout.readline()))
        tools = [t["name"] for t in out[-1]["result"]["tools"]]
        tool = next(t for t in ("execute_command", "exec", "run_command", *tools) if t in tools and ("exec" in t or "command" in t))
        p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
                                  "params": {"name": tool, "arguments": {"command": "echo '# evil' >>conf/SANDBOX.md; echo done"}}}) + "\n")
        p.stdin.flush()
        answer = p.stdout.readline()
        p.stdin.close()
        p.wait(timeout=120)
    rig.tap.ok(is_whole(work, "conf/SANDBOX.md") and "done" in answer, "W01 mcp -f: the manifest is read-only inside", tools, answer[:600])


ROWS = [w01_read_to_judge, w01_two_runs, w01_links, w01_inventory, w01_living, w01_agent]


def main():
    rig = Rig()
    for person in rig.people:
        for row in ROWS:
            if len(sys.argv) < 2 or row.__name__.startswith(tuple(sys.argv[1:])):
                row(rig, person)
    return rig.end()


if __name__ == "__main__":
    sys.exit(main())
