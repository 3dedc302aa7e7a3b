#!/usr/bin/env python3
"""init_test - what `carrel init` writes for each kind of project, presets of network.egress, and the sample of README.md. Prints TAP."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, TREE, Workspace, check, end, manifest, need_programs, report

PROJECTS = [  # files of the project, tools of the first comment, presets, the command to run next
    (["package.json"], "npm (package.json)", ["@npm"], "npm install"),
    (["package-lock.json", "package.json"], "npm (package-lock.json)", ["@npm"], "npm install"),
    (["pnpm-lock.yaml", "package.json"], "pnpm (pnpm-lock.yaml)", ["@npm"], "pnpm install"),
    (["requirements.txt"], "pip (requirements.txt)", ["@pypi"], "python3 -m venv .venv"),
    (["pyproject.toml", "uv.lock"], "uv (uv.lock)", ["@pypi"], "uv sync"),
    (["Cargo.toml"], "cargo (Cargo.toml)", ["@crates"], "cargo build"),
    (["go.mod", "Makefile"], "go (go.mod), make (Makefile)", ["@go"], "go build ./..."),
    (["pom.xml"], "mvn (pom.xml)", ["@maven"], "mvn package"),
    (["Makefile"], "make (Makefile)", [], "make"),
    ([], None, [], "ls"),
]


def carrel(ws, *words, **more):
    env = {k: v for k, v in os.environ.items() if k != "XDG_CONFIG_HOME"}
    return subprocess.run([CARREL, *words], cwd=ws.path, env={**env, "HOME": ws.folder, "PATH": "/usr/local/bin:/usr/bin:/bin", **more}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=ALWAYS, check=False)


def written():
    for names, tools, presets, first in PROJECTS:
        with Workspace(False) as ws:
            for name in names:
                ws.write(name, "")
            done = carrel(ws, "init")
            text = (ws.read("SANDBOX.md") or b"").decode()
            wrong = [] if done.returncode == 0 and done.stdout.endswith("next: carrel run -- %s\n" % first) else [done.stdout + done.stderr]
            wrong += [] if re.findall(r'^    - "(@\w+)"', text, re.MULTILINE) == presets else [text]
            wrong += [] if not tools or "# Made for: %s\n" % tools in text else [text]
            checked = carrel(ws, "check")
            wrong += [] if checked.returncode == 0 and checked.stdout + checked.stderr == "./SANDBOX.md: OK\n" else [checked.stdout + checked.stderr]
            ran = carrel(ws, "run", "--", "true")
            wrong += [] if ran.returncode == 0 else [ran.stderr]
            report("carrel init: %s" % (", ".join(names) or "an empty directory"), wrong)
            again = carrel(ws, "init")
            check("and never a second time", again.returncode == 125 and "file_exists" in again.stderr and ws.read("SANDBOX.md").decode() == text, again.stderr)
    with Workspace(False) as ws:
        ws.write("Makefile", "")
        os.symlink("/etc/passwd", os.path.join(ws.path, "SANDBOX.md"))
        check("nor through a link", carrel(ws, "init").returncode == 125)
        printed = carrel(ws, "init", "--print")
        check("--print prints it", printed.returncode == 0 and printed.stdout.startswith("---\n"), printed.stdout)
    with Workspace(False) as ws:
        for name, slug in (("My Project_2", "my-project-2"), ("--x--", "x"), ("\u00e9\u20ac", "project"), ("a" * 200, "a" * 40)):
            os.mkdir(os.path.join(ws.path, name))
            done = carrel(ws, "init", "./" + name)
            checked = carrel(ws, "check", os.path.join(ws.path, name, "SANDBOX.md"))
            text = (ws.read(name + "/SANDBOX.md") or b"").decode()
            check("an id is made of the name %.20r" % name, 'id: "@local/%s"\n' % slug in text and checked.returncode == 0 and "note" not in checked.stdout + checked.stderr, done, checked, text[:400])
    with Workspace(False) as ws:
        done = carrel(ws, "init", "/none")
        check("a directory that is not there is named", done.returncode == 125 and "/none" in done.stderr, done.stderr)


def tools_of_the_home():
    with Workspace(False) as ws:
        ws.write("Cargo.toml", "")
        for name in (".cargo/bin/cargo", ".rustup/toolchains/stable/bin/cargo"):
            path = os.path.join(ws.folder, name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho the real one\n")
            os.chmod(path, 0o755)
        path = os.path.join(ws.folder, ".cargo/bin") + ":/usr/bin:/bin"
        done = carrel(ws, "init", PATH=path)
        allow = [line.removeprefix("next: carrel ").split("#")[0].split() for line in done.stdout.splitlines() if "carrel allow" in line]
        check("a tool in the home is in the file, and what permits it is said", len(allow) == 1, done.stdout)
        carrel(ws, *allow[0])
        ran = carrel(ws, "run", "--", "cargo", PATH=path)
        check("after which it runs", ran.stdout == "the real one\n", ran.stdout, ran.stderr)


def presets():
    with Workspace(more="network: {egress: ['@pypi', 'db.example.com:5432', '@npm']}\n") as ws:
        answer = json.loads(carrel(ws, "check", "--json").stdout)
        hosts = json.dumps(answer["norm"])
        check("a preset is its hosts", all(h in hosts for h in ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "db.example.com")) and "@" not in answer["norm"]["network"]["egress"], answer)
        ws.write("SANDBOX.md", manifest(more="network: {egress: ['@pypi', '@nmp', '@npm', 'db.internal']}\n"))
        answer = json.loads(carrel(ws, "check", "--stage", "validate", "--json").stdout)
        error = answer["error"]
        check("one that is unknown is an error with all of them", error["code"] == "sandbox_egress_invalid" and error["path"] == "network/egress/1"
              and "Did you mean @npm?" in error["hint"] and "@github" in error["hint"], error)
        ws.write("SANDBOX.md", manifest(more="network: {egress: ['@pypi', '@npm', 'db.internal']}\n"))
        error = json.loads(carrel(ws, "check", "--json").stdout)["error"]
        check("what stands behind presets keeps its place", error["path"] == "network/egress/2", error)
        host = ws.write("host.yaml", "providers: {local: {isolated: true}}\negress_allowed: [pypi.org]\n")
        ws.write("SANDBOX.md", manifest(more="network: {egress: ['@pypi']}\n"))
        error = json.loads(carrel(ws, "check", "--json", "--host", host).stdout)["error"]
        check("each of its hosts is judged", error["code"] == "sandbox_egress_not_permitted" and "files.pythonhosted.org" in error["message"], error)
        ws.write("SANDBOX.md", manifest(more="network: {egress: [%s]}\n" % ", ".join(["'@github'"] * 500)))
        error = json.loads(carrel(ws, "check", "--json").stdout)["error"]
        check("and they count", error and error["reason"] == "range", error)
        ws.write("policy.json", '["@crates"]')
        done = carrel(ws, "gate", "--policy", "policy.json", "explain", "static.crates.io")
        check("carrel gate knows presets too", done.returncode == 0, done.stdout, done.stderr)


def accepted():
    """As on a machine that can cap nothing: a host file that says so."""
    with Workspace(limits="timeout_ms: 30000, memory_mb: 64, cpu_ms: 1000") as ws:
        host = ws.write("host.yaml", "providers: {local: {isolated: true, memory: false, cpu: false}}\n")
        names = [w["name"] for w in json.loads(carrel(ws, "check", "--json", "--host", host).stdout)["warnings"]]
        check("a limit that cannot be enforced warns", {"limit_unenforceable:memory_mb", "limit_unenforceable:cpu_ms"} <= set(names), names)
        ws.write("SANDBOX.md", manifest(limits="timeout_ms: 30000, memory_mb: 64, cpu_ms: 1000", carrel="accept: [memory_mb]"))
        names = [w["name"] for w in json.loads(carrel(ws, "check", "--json", "--host", host).stdout)["warnings"]]
        check("one that was accepted by name does not, and no other is lost", names == ["limit_unenforceable:cpu_ms"], names)
        ws.write("SANDBOX.md", manifest(carrel="accept: [memory]"))
        error = json.loads(carrel(ws, "check", "--json").stdout)["error"]
        check("a name that is no warning is an error", error["path"] == "metadata/carrel/accept/0", error)


def sample():
    """The first block of README.md, unchanged."""
    with open(os.path.join(TREE, "README.md"), encoding="utf-8") as f:
        text = re.search(r"```yaml\n(---\n.*?---\n)```", f.read(), re.DOTALL).group(1)
    with Workspace(text) as ws:
        done = carrel(ws, "check")
        check("the sample of README.md has no warning", done.returncode == 0 and "warning" not in done.stdout and done.stdout.endswith(": OK\n"), done.stdout)
        done = carrel(ws, "run", "--", "true")
        lines = [line for line in done.stderr.splitlines() if "supplementary groups" not in line and "groups_kept" not in line]
        check("nor has a run of it", done.returncode == 0 and not lines, done.stderr)


def summary():
    """`carrel plan`: first a summary; all steps only with --steps."""
    with Workspace(limits="timeout_ms: 4321, memory_mb: 64", carrel="tools: [/opt]", more="network: {egress: ['@pypi', 'db.example.com:5432']}\nenv: {passthrough: [MY_WORD]}\n") as ws:
        short, long = carrel(ws, "plan"), carrel(ws, "plan", "--steps")
        rows = [" ".join(line.split()) for line in short.stdout.splitlines()]
        wanted = ["writes /workspace (%s)" % os.path.realpath(ws.path), "sees /opt read-only, a tool", "reaches pypi.org ports 80, 443", "db.example.com:5432", "is given MY_WORD from your environment"]
        check("carrel plan says what is seen, written, reached and given", short.returncode == 0 and all(w in rows for w in wanted), short.stdout, short.stderr)
        check("and what is limited, and what is not", any("timeout_ms 4321, memory_mb 64" in r for r in rows) and any(r.startswith("not limited") and "cpu_ms" in r for r in rows), short.stdout)
        timeouts = {words: [r for r in (" ".join(line.split()) for line in carrel(ws, "plan", *words).stdout.splitlines()) if r.startswith("limited")] for words in ((), ("--timeout", "2s"))}
        check("--timeout is what applies, where it is given", "timeout_ms 2000," in timeouts["--timeout", "2s"][0] and "timeout_ms 4321," in timeouts[()][0], timeouts)
        check("in one screen", len(rows) < 24, short.stdout)
        check("--steps shows each step as well", "landlock_allow" in long.stdout and "landlock_allow" not in short.stdout and "reaches" in long.stdout, long.stdout[:500])
        check("--json is the whole plan", json.loads(carrel(ws, "plan", "--json").stdout)["steps"])

    with Workspace() as ws:
        short, steps = carrel(ws, "plan").stdout, json.loads(carrel(ws, "plan", "--json").stdout)["steps"]
        check("without a written limit the summary has the default of carrel run", "limited     timeout_ms 600000, " in short, short)
        tasks = [s["number2"] for s in steps if s["step"] == "rlimit" and "limits.pids" in s.get("why", "")]
        check("and the number of processes that the steps enforce", 0 < tasks[0] - int(short.split(" pids ")[1].split(",")[0]) <= 70, tasks, short)


need_programs()
written()
tools_of_the_home()
presets()
accepted()
sample()
summary()
end()
