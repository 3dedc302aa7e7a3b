#!/usr/bin/env python3
"""host_file_test - host files at their default places, what each may set, `carrel allow`, and hints
that work when they are pasted. TAP.

Each part has its own home. As root, the machine's file is tested too, in a mount namespace with its
own /etc.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, ROOT, Workspace, check, end, manifest, mount_or_raise, MS_BIND, need_programs, own_place, report
from daemon_rig import Daemon


class Home(Workspace):
    """A workspace beside a home. The programs in it print their own path."""

    def __init__(self, text=None, **words):
        super().__init__(text, **words)
        os.chmod(self.folder, 0o755)
        self.home = os.path.join(self.folder, "home")
        self.file = os.path.join(self.home, ".config/carrel/host.yaml")
        os.mkdir(self.home)
        self.env = {**{k: v for k, v in os.environ.items() if k not in ("XDG_CONFIG_HOME", "CARREL_SECRETS_FILE")}, "HOME": self.home}

    def program(self, name, text="#!/bin/sh\necho from $0\n", link=None):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if link:
            os.symlink(os.path.join(self.home, link), path)
            return path
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)
        return path

    def host(self, text, mode=0o644):
        os.makedirs(os.path.dirname(self.file), exist_ok=True)
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.file, mode)

    def text(self):
        with open(self.file, encoding="utf-8") as f:
            return f.read()

    def carrel(self, *words, path=None):
        env = {**self.env, "PATH": path + ":" + self.env["PATH"]} if path else self.env
        return subprocess.run([CARREL, *words], cwd=self.path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False)

    def paste(self, words):
        """A command in a hint, parsed as a shell does."""
        return self.carrel(*shlex.split(words.removeprefix("carrel ")))


def hint_of(done):
    """The error of --json."""
    return json.loads(done.stdout)["error"]["hint"]


def tools_in_home():
    """From `command not found` to the command's output, by following only the hints."""
    rows = [
        ("a tool with a bin of its own", [("tools/node/bin/nodex", None)], "tools/node/bin", "nodex", ["tools/node"]),
        ("a program in ~/.local/bin", [(".local/bin/uvx", None)], ".local/bin", "uvx", [".local/bin"]),
        ("a link out of ~/.local/bin", [(".local/share/uv/python/3.12/bin/python9", None), (".local/bin/python9", ".local/share/uv/python/3.12/bin/python9")],
         ".local/bin", "python9", [".local/share/uv/python/3.12"]),
        ("a link with another name", [(".local/share/claude/versions/1.0.9", None), (".local/bin/claudex", ".local/share/claude/versions/1.0.9")],
         ".local/bin", "claudex", [".local/bin", ".local/share/claude/versions"]),
        ("rustup's proxy", [(".cargo/bin/rustup", "#!/bin/sh\nexit 9\n"), (".cargo/bin/cargox", ".cargo/bin/rustup"),
                            (".rustup/toolchains/stable-x86_64/bin/cargox", None)], ".cargo/bin", "cargox", [".rustup/toolchains/stable-x86_64"]),
        ("a shim of pyenv", [(".pyenv/shims/python9", "#!/bin/sh\nexit 9\n"), (".pyenv/versions/3.9.1/bin/python9", None), (".pyenv/versions/3.12.1/bin/python9", None)],
         ".pyenv/shims", "python9", [".pyenv/versions/3.12.1"]),
        ("a shim of asdf", [(".asdf/shims/elixirx", "#!/bin/sh\nexit 9\n"), (".asdf/installs/elixir/1.2/bin/elixirx", None)],
         ".asdf/shims", "elixirx", [".asdf/installs/elixir/1.2"]),
    ]
    for name, files, path, command, wanted in rows:
        with Home() as h:
            for file, content in files:
                is_link = content and not content.startswith("#!")
                h.program(file, link=content) if is_link else h.program(file, content or "#!/bin/sh\necho from $0\n")
            path = os.path.join(h.home, path)
            wrong = []
            first = h.carrel("run", "--json", "--", command, path=path)
            hint = hint_of(first)
            if "run carrel allow tool" not in hint:
                report(name, [first.stdout])
                continue
            allow, rest = hint.split("run ", 1)[1].split(", and add to SANDBOX.md metadata: {carrel: {")
            done = h.paste(allow)
            wrong += [] if done.returncode == 0 else [done.stdout + done.stderr]
            line = rest.removesuffix("}}")
            dirs = json.loads(line.removeprefix("tools: "))
            wrong += [] if dirs == [os.path.join(h.home, w) for w in wanted] else ["it named %s" % dirs]
            h.write("SANDBOX.md", manifest(carrel=line))
            then = h.carrel("run", "--", command, path=path)
            wrong += [] if then.returncode == 0 and "from " in then.stdout else [then.stdout + then.stderr]
            report(name + " comes in by its hint", wrong)


def refusals_name_the_command():
    with Home(carrel="tools: [/srv]") as h:
        done = h.carrel("run", "--json", "--", "true")
        check("a tool outside tool_roots is refused with the command that permits it", hint_of(done) == "To permit it, run: carrel allow tool /srv", done.stdout)
        file = os.path.join(h.folder, "other.yaml")
        with open(file, "w", encoding="utf-8") as f:
            f.write("providers: {local: {isolated: true}}\n")
        done = h.carrel("run", "--json", "--host", file, "--", "true")
        check("under --host the command names that file", hint_of(done) == "To permit it, run: carrel allow --host %s tool /srv" % file, done.stdout)
        done = h.paste(hint_of(done).split("run: ")[1])
        again = h.carrel("run", "--host", file, "--", "true")
        check("pasted, it works", done.returncode == 0 and again.returncode == 0, done.stderr, again.stderr)
    with Home(mounts="mounts: [{source: {inline: {provider: local-fs, config: {path: /srv}}}, at: /data}]\n") as h:
        done = h.carrel("run", "--json", "--", "true")
        check("a mount outside mount_roots likewise", hint_of(done) == "To permit it, run: carrel allow mount /srv", done.stdout)
    with Home(more="network: {egress: ['db.internal:5432']}\n") as h:
        done = h.carrel("check", "--json")
        check("a private name likewise", hint_of(done) == "To permit it, run: carrel allow name db.internal:5432", done.stdout)
        h.paste(hint_of(done).split("run: ")[1])
        done = h.carrel("check")
        check("and is permitted then", done.returncode == 0, done.stdout, done.stderr)


def users_file():
    with Home() as h:
        h.host("limits_max: {pids: 9}\n")
        done = h.carrel("run", "--json", "--", "true")
        error = json.loads(done.stdout)["error"]
        check("a user's file cannot hold what bounds others", error["reason"] == "machine_only" and error["line"] == 1, done.stdout)
        h.host("tool_rots: []\n")
        done = h.carrel("run", "--", "true")
        check("a mistake in it has its place, and the name that was meant", h.file + ":1:12" in done.stderr and "tool_roots" in done.stderr, done.stderr)
        for mode in (0o666, 0o664):
            h.host("tool_roots: [/srv]\n", mode)
            error = json.loads(h.carrel("run", "--json", "--", "true").stdout)["error"]
            check("one that others can write (%o) is not used" % mode, (error or {}).get("reason") == "untrusted", error)
        if ROOT:
            h.host("tool_roots: [/srv]\n")
            os.chown(h.file, 12345, 12345)
            error = json.loads(h.carrel("run", "--json", "--", "true").stdout)["error"]
            check("nor is another user's", (error or {}).get("reason") == "untrusted", error)
    with Home(carrel="tools: [/srv]") as h:
        other = os.path.join(h.folder, "config")
        os.makedirs(os.path.join(other, "carrel"))
        h.env["XDG_CONFIG_HOME"] = other
        h.carrel("allow", "tool", "/srv")
        check("XDG_CONFIG_HOME is where it is", os.path.exists(os.path.join(other, "carrel/host.yaml")) and not os.path.exists(h.file))
        done = h.carrel("run", "--", "ls", "-d", "/srv")
        check("and from there it permits", done.returncode == 0, done.stderr)


def payload_cannot_permit_itself():
    """P15: the home is the workspace, and the host file exists or not yet."""
    script = "touch ran; mkdir -p .config/carrel; echo 'mount_roots: [/]' >.config/carrel/host.yaml; rm -rf .config; mv .config x; true"
    for text in (None, "# mine\ntool_roots: []\n"):
        with Home() as h:
            shutil.copy(os.path.join(h.path, "SANDBOX.md"), h.home)
            if text:
                h.host(text)
            else:
                os.makedirs(os.path.dirname(h.file))
            h.carrel("run", "-w", h.home, "--", "sh", "-c", script)
            ran = os.path.join(h.home, "ran")
            check("the payload was there", os.path.exists(ran))
            os.unlink(ran)
            got = h.text() if os.path.exists(h.file) else None
            check("a payload whose workspace is the home cannot write the host file (%s)" % ("there" if text else "absent"), got == text, got)
            with Daemon(env=h.env) as d:
                h.carrel("create", "--state", d.state, "--name", "box", "-w", h.home)
                h.carrel("exec", "--state", d.state, "box", "--", "sh", "-c", script)
                h.carrel("stop", "--state", d.state, "box")
            with Daemon(env={**h.env, "HOME": h.folder}) as d:
                h.carrel("create", "--state", d.state, "--name", "box", "-w", h.home)
                h.carrel("exec", "--state", d.state, "box", "--", "sh", "-c", script)
                h.carrel("stop", "--state", d.state, "box")
            other = h.text() if os.path.exists(h.file) else None
            check("nor in a daemon whose home is another (%s)" % ("there" if text else "absent"), other == text, other)
            got = h.text() if os.path.exists(h.file) else None
            check("nor in a sandbox of the daemon (%s)" % ("there" if text else "absent"), got == text and os.path.exists(ran), got)


def edits():
    kept = [
        ("no file", None, "tool_roots:\n  - \"/srv\"\n"),
        ("comments alone", "# only words\n", "# only words\ntool_roots:\n  - \"/srv\"\n"),
        ("another key", "mount_roots: [/data] # why\n", "mount_roots: [/data] # why\ntool_roots:\n  - \"/srv\"\n"),
        ("no last line end", "mount_roots: [/data]", "mount_roots: [/data]\ntool_roots:\n  - \"/srv\"\n"),
        ("a block list", "tool_roots:\n    - /a   # one\n    # two\n    - /b\n\n# end\nmount_roots: []\n", "tool_roots:\n    - /a   # one\n    # two\n    - /b\n    - \"/srv\"\n\n# end\nmount_roots: []\n"),
        ("a block list without indent", "tool_roots:\n- /a\nmount_roots: []\n", "tool_roots:\n- /a\n- \"/srv\"\nmount_roots: []\n"),
        ("a flow list", "tool_roots: [/a, /b] # c\n", "tool_roots: [\"/srv\", /a, /b] # c\n"),
        ("an empty list", "tool_roots: []\n", "tool_roots: [\"/srv\"]\n"),
        ("a flow map", "{mount_roots: [/x]}\n", "{\"tool_roots\": [\"/srv\"], mount_roots: [/x]}\n"),
        ("JSON", "{\n  \"mount_roots\": [\"/x\"]\n}\n", "{\"tool_roots\": [\"/srv\"], \n  \"mount_roots\": [\"/x\"]\n}\n"),
        ("a quoted item over two lines", "tool_roots:\n  - \"/a\n    b\"\n", None),
        ("a list in a document that ends", "mount_roots: []\n...\n", None),
        ("a file that is no map", "- a\n", None),
        ("a field that is no list", "tool_roots: /a\n", None),
        ("a file with a mistake", "mount_rots: []\n", None),
        ("a file that is no YAML", "a: [\n", None),
    ]
    with Home() as h:
        for name, before, after in kept:
            if before is not None:
                h.host(before)
            done = h.carrel("allow", "tool", "/srv")
            got = h.text() if os.path.exists(h.file) else None
            wanted = after if after is not None else before
            is_good = (got == wanted or before is None and got.endswith(wanted)) and (done.returncode == 0) == (after is not None)
            check("edits %s%s" % (name, "" if after else ": refused, and kept"), is_good, done.stdout + done.stderr, got)
            if after:
                again = h.carrel("allow", "tool", "/srv")
                check("and a second time changes nothing", again.returncode == 0 and "already" in again.stdout and h.text() == got, again.stdout + again.stderr)
        h.host("tool_roots: []\n", 0o600)
        os.rename(h.file, h.file + ".real")
        os.symlink(h.file + ".real", h.file)
        h.carrel("allow", "tool", "/srv")
        check("a link stays a link, and the mode stays", os.path.islink(h.file) and "/srv" in h.text() and os.stat(h.file).st_mode & 0o777 == 0o600)
        for what in (h.home, h.folder, "/", "~nobody/none", h.path + "/SANDBOX.md"):
            check("allow tool %s is refused" % what.replace(h.folder, "TMP"), h.carrel("allow", "tool", what).returncode != 0)
        for words in (["name", "example.com"], ["name", "http://x"], ["tol", "/srv"], ["tool"], []):
            done = h.carrel("allow", *words)
            check("allow %s is refused with a next step" % " ".join(words), done.returncode != 0 and len(done.stderr.splitlines()) > 1, done.stderr)
        os.mkdir(os.path.join(h.home, "real"))
        os.symlink("real", os.path.join(h.home, "link"))
        h.carrel("allow", "tool", os.path.join(h.home, "link"))
        check("a link is permitted by both its names", h.home + "/link" in h.text() and h.home + "/real" in h.text(), h.text())


def schema_and_check():
    with Home() as h:
        schema = json.loads(h.carrel("schema", "--host").stdout)
        check("carrel schema --host has every field", {"tool_roots", "limits_max", "siblings"} <= set(schema["properties"]) and schema["additionalProperties"] is False)
        os.unlink(os.path.join(h.path, "SANDBOX.md"))
        good, bad = os.path.join(h.folder, "good.yaml"), os.path.join(h.folder, "bad.yaml")
        with open(good, "w", encoding="utf-8") as f:
            f.write("tool_roots: [/srv]\n")
        with open(bad, "w", encoding="utf-8") as f:
            f.write("tool_roots: [srv]\n")
        check("carrel check --host says that a host file is good", h.carrel("check", "--host", good).returncode == 0)
        done = h.carrel("check", "--host", bad)
        check("or what is wrong, and where", done.returncode == 126 and bad + ":1:" in done.stderr, done.stderr)


def machines_file():
    """An /etc of this test, in the program's own mount namespace."""
    own_place()
    with Home(carrel="tools: [/srv]", limits="timeout_ms: 30000") as h:
        etc = os.path.join(h.folder, "etc")
        subprocess.run(["cp", "-a", "/etc", etc], check=True)
        mount_or_raise(etc.encode(), "/etc", None, MS_BIND)
        done = h.carrel("allow", "--machine", "tool", "/srv")
        check("allow --machine writes /etc/carrel/host.yaml", done.returncode == 0 and os.path.exists("/etc/carrel/host.yaml"), done.stderr)
        check("for everybody to read", os.stat("/etc/carrel/host.yaml").st_mode & 0o777 == 0o644 and os.stat("/etc/carrel").st_mode & 0o777 == 0o755)
        check("which permits", h.carrel("run", "--", "ls", "-d", "/srv").returncode == 0)
        with Daemon(env=h.env) as d:
            done = h.carrel("create", "--state", d.state, "--start", "-w", h.path)
            check("in root's daemon too", done.returncode == 0, done.stderr)
        with open("/etc/carrel/host.yaml", "a", encoding="utf-8") as f:
            f.write("limits_max: {memory_mb: 64}\n")
        h.write("SANDBOX.md", manifest(limits="timeout_ms: 30000, memory_mb: 128"))
        h.host("tool_roots: [/srv]\n")
        check("its bounds hold beside a user's file", h.carrel("run", "--", "true").returncode == 126)
        os.unlink("/etc/carrel/host.yaml")
        h.write("SANDBOX.md", manifest(carrel="tools: [/srv]"))
        check("root's own file permits root's own run", h.carrel("run", "--", "true").returncode == 0)
        with Daemon(env=h.env) as d:
            done = h.carrel("create", "--state", d.state, "--json", "-w", h.path)
            check("and nobody in root's daemon", "carrel allow --machine tool /srv" in done.stdout, done.stdout, done.stderr)
        os.chmod("/etc/carrel", 0o755)
        with open("/etc/carrel/host.yaml", "w", encoding="utf-8") as f:
            f.write("tool_roots: [/srv]\n")
        os.chmod("/etc/carrel/host.yaml", 0o666)
        check("a machine's file that others can write is not used", h.carrel("run", "--", "true").returncode == 125)
        subprocess.run(["umount", "/etc"], check=True)


def mistakes():
    """Each: a host file, and the words of the answer of `carrel check --host`."""
    rows = (("audit: run", "Write: audit: [run]"), ("approve: exec", "Write: approve: [exec]"), ("sanitize_output: control", "Write: sanitize_output: [control]"),
            ("approve: [file.wrte]", "Did you mean file.write?"), ("approve: [nothing]", "These can wait: exec, "), ("limits_max: {memory: 512}", "Did you mean `memory_mb`?"),
            ("limits_max: {timeout: 512}", "Did you mean `timeout_ms`?"), ("limits_max: {pidz: 512}", "Did you mean `pids`?"), ("limits_max: {memory_mb: 512m}", "a whole number from 1 to "),
            ("limits_max: {nothing: 1}", "docs/FIELDS.md"), ("mount_roots: [/srv/*]", "no wildcard"), ("passthrough_allow: ['AWS_*']", "the whole name"), ("providers: {local: {isolatd: true}}", "Did you mean isolated?"),
            ("commands: {allow: git}", "allow: [git]"), ("commands: {deny: [rm -rf]}", "commands_disallowed: ['rm -rf']"), ("commands: {deny: ['c*']}", "no wildcard"), ("- a", "error: a host file is a map"))
    wrong = []
    with Home() as h:
        os.unlink(os.path.join(h.path, "SANDBOX.md"))
        for text, words in rows:
            h.write("h.yaml", text + "\n")
            done = h.carrel("check", "--host", "h.yaml")
            if done.returncode != 126 or words not in done.stderr:
                wrong.append((text, words, done))
        report("%d mistakes in a host file: each answer has the line to write, or the word that was meant" % len(rows), wrong)
        h.write("h.yaml", "mount_roots: [/srv]\ncommands: {deny: [rm]}\n")
        done = h.carrel("policy", "test", "h.yaml", "--", "rm", "x")
        check("carrel policy test takes a host file", done.returncode == 126 and 'by the entry "rm"' in done.stdout, done)
        h.write("rules.yaml", "deny: [rm]\n")
        h.write("h.yaml", "commands: {file: %s}\n" % os.path.join(h.path, "rules.yaml"))
        done = h.carrel("policy", "test", "h.yaml", "--", "rm", "x")
        check("also one whose rules are in a file", done.returncode == 126 and 'by the entry "rm"' in done.stdout, done)


need_programs()
mistakes()
tools_in_home()
refusals_name_the_command()
users_file()
payload_cannot_permit_itself()
edits()
schema_and_check()
if ROOT:
    machines_file()
end()
