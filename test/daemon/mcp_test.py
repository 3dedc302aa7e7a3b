#!/usr/bin/env python3
# slow: 40 s: daemons and agents are killed and started again, one after the other
"""What MCP promises: Mastra's texts exactly, nothing outlives its agent unless requested, tenants
are separate, no sandbox unless one was requested.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, DEEP, PATIENCE, ROOT, TREE, check, end, report
from daemon_rig import Daemon, box_process, processes_of, until

EXECUTE, OUTPUT, KILL = ("mastra_workspace_" + n for n in ("execute_command", "get_process_output", "kill_process"))
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
MODERN_HEAD = {"MCP-Protocol-Version": "2026-07-28"}
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nlimits:\n  timeout_ms: 60000\n%s---\n"
MOUNTS = "mounts:\n  - source: workspace\n    at: /workspace\n    mode: read-write\n"


class Agent:
    """One `carrel mcp`, line by line; answers may come in any order."""

    def __init__(self, *words, cwd=None):
        self.child = subprocess.Popen([CARREL, "mcp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, bufsize=0)
        self.last, self.answers, self.notes, self.said = 0, {}, [], b""
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self.hear, daemon=True), threading.Thread(target=self.overhear, daemon=True)]
        for t in self.threads:
            t.start()

    def hear(self):
        for line in self.child.stdout:
            m = json.loads(line)
            with self.changed:
                if "id" in m:
                    self.answers[m["id"]] = m
                else:
                    self.notes.append(m["params"])
                self.changed.notify_all()

    def overhear(self):
        for line in self.child.stderr:
            self.said += line

    def send(self, method, params=None):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}})
        return self.last

    def write(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")

    def answer(self, number, patience=60):
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers, patience):
                raise AssertionError("no answer; stderr: %s" % self.said.decode(errors="replace"))
            return self.answers[number]

    def ask(self, method, params=None):
        return self.answer(self.send(method, params))

    def call(self, name, arguments, meta=None):
        params = {"name": name, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        return self.ask("tools/call", params)["result"]

    def text(self, name, arguments, meta=None):
        return self.call(name, arguments, meta)["content"][0]["text"]

    def close(self):
        """Ends its input; returns the exit status."""
        self.child.stdin.close()
        return self.child.wait(timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            try:
                self.close()
            except (OSError, subprocess.TimeoutExpired):
                self.child.kill()


def of_stdio(d, *words):
    return Agent("--state", d.state, *words)


def execs(d, box):
    return d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"]


def runs(d, box, word):
    return any(e["state"] == "running" and word in e["command"] for e in execs(d, box))


# -- texts ------------------------------------------------------------------------------------------------------------

def texts_are_mastras(d):
    with open(os.path.join(TREE, "test/golden/mastra/execute_command.json"), encoding="utf-8") as f:
        cases = json.load(f)
    box, wrong = d.create(), []
    with of_stdio(d, "--sandbox", box) as a:
        numbers = [(c, a.send("tools/call", {"name": EXECUTE, "arguments": c["arguments"]})) for c in cases]
        for c, number in numbers:
            result = a.answer(number)["result"]
            if result["content"] != [{"type": "text", "text": c["text"]}]:
                wrong.append("%s: %r, not %r" % (c["name"], result["content"][0]["text"][:200], c["text"][:200]))
            if result.get("isError", False) != (c["exit_code"] != 0):
                wrong.append("%s: isError is %s" % (c["name"], result.get("isError")))
    report("the texts of %d commands are those that Mastra's own tool gave" % len(cases), wrong)


# -- who outlives whom ---------------------------------------------------------------------------------------------------

def background(a, word, keep=None):
    text = a.text(EXECUTE, {"command": "sleep %s" % word, "background": True}, {"carrel/keepBackground": keep} if keep is not None else None)
    return text.split("PID: ")[1].rstrip(")")


def background_dies_with_its_agent(d):
    box = d.create()
    for how, leave in (("end of input", lambda a: a.close()), ("SIGTERM", lambda a: a.child.terminate()), ("SIGKILL", lambda a: a.child.kill())):
        with of_stdio(d, "--sandbox", box) as a:
            background(a, "7101")
            number = a.send("tools/call", {"name": EXECUTE, "arguments": {"command": "(sleep 7102 & wait)"}})
            until("both run", lambda: runs(d, box, "7101") and runs(d, box, "7102"))
            del number
            leave(a)
            a.child.wait(timeout=PATIENCE)
            until("both are gone after " + how, lambda: not runs(d, box, "7101") and not runs(d, box, "7102"))
            report("what an agent started dies with it: " + how)
    return box


def background_is_kept(d):
    box = d.create()
    with of_stdio(d, "--sandbox", box) as a:
        background(a, "7201", keep=True)
        a.close()
    check("one that is to be kept outlives its agent (abortSignal false), by the request's word", runs(d, box, "7201"))
    with of_stdio(d, "--sandbox", box, "--keep-background") as a:
        pid = background(a, "7202")
        background(a, "7203", keep=False)
        a.close()
    until("7203 is gone", lambda: not runs(d, box, "7203"))
    check("and by the option's, which a request may take back", runs(d, box, "7202"))
    with of_stdio(d, "--sandbox", box) as a:
        begun = time.monotonic()
        text = a.text(OUTPUT, {"pid": pid, "wait": True, "tail": 10 ** 9}, {"carrel/waitMs": 300})
        check("E10: waiting for it has an end of its own", text == "(no output yet)" and time.monotonic() - begun >= 0.3 and runs(d, box, "7202"), text)
        check("another agent finds it by its pid", a.text(OUTPUT, {"pid": pid}) == "(no output yet)")
        check("and kills it", a.text(KILL, {"pid": pid}) == "Process %s has been killed." % pid)
        check("once", a.text(KILL, {"pid": pid}) == "Process %s was not found or had already exited." % pid)
    d.call("DELETE", "/v1/sandboxes/" + box)


def keeper_may_go(d):
    box = d.create()
    with of_stdio(d, "--sandbox", box) as a:
        pid = background(a, "7601")
        number = a.send("tools/call", {"name": EXECUTE, "arguments": {"command": "sleep 7602; echo survived"}})
        until("it runs", lambda: runs(d, box, "7602"))
        os.kill([p for name, p in d.children().items() if "keeper" in name][0], signal.SIGKILL)
        until("the daemon is back", d.is_up)
        until("and the agent speaks to it", lambda: a.text(OUTPUT, {"pid": pid}) == "(no output yet)")
        report("a keeper that is killed is not the agent's end: its background process is found again")
        a.text(EXECUTE, {"command": "kill $(pgrep -x sleep -a | grep 7602 | cut -d' ' -f1)"})
        said = a.answer(number)["result"]["content"][0]["text"]
        check("a command that ran meanwhile is answered", "survived\n" in said, said)


def calls_meet_a_restart(d):
    """A call that arrives while a part of the daemon restarts waits for it; a call in progress is
    repeated if it then has one effect.
    """
    box = d.create(ports=[3000], timeout_ms=3600000)
    with of_stdio(d, "--sandbox", box) as a:
        a.text(EXECUTE, {"command": "true"})
        for turn, name in enumerate(("keeper", "door", "spawner", "keeper", "keeper")):
            pid, keeper = (next(p for n, p in d.children().items() if part in n) for part in (name, "keeper"))
            keyed = a.send("tools/call", {"name": EXECUTE, "arguments": {"command": "echo keyed%d | tee -a /tmp/keyed" % turn}, "_meta": {"carrel/idempotencyKey": "k%d" % turn}})
            os.kill(pid, signal.SIGKILL)
            until("it is dead, and the keeper with it", lambda: keeper not in d.children().values())  # noqa: B023
            said = a.call(EXECUTE, {"command": "echo after%d" % turn})
            check("a call right after the end of the %s is served (%d)" % (name, turn), said["content"][0]["text"] == "after%d\n" % turn, said)
            said = a.answer(keyed)["result"]["content"][0]["text"]
            check("one with a key that was under way is answered (%d)" % turn, said == "keyed%d\n" % turn, said)
            until("the daemon is whole", lambda: d.is_up() and len([n for n in d.children() if name in n]) == 1)  # noqa: B023
        check("and had one effect", a.text(EXECUTE, {"command": "cat /tmp/keyed"}) == "".join("keyed%d\n" % n for n in range(5)))
        calls_without_a_key(d, a, box)


def dies_unread(d, a, send):
    """What `send` writes reaches a keeper that never reads it. The launcher would continue a
    stopped keeper, so it is stopped too.
    """
    keeper = next(p for name, p in d.children().items() if "keeper" in name)
    os.kill(d.child.pid, signal.SIGSTOP)
    os.kill(keeper, signal.SIGSTOP)
    number = send()
    a.ask("ping")                              # answered by the server itself, after what was written before it
    os.kill(keeper, signal.SIGKILL)
    os.kill(d.child.pid, signal.SIGCONT)
    return a.answer(number)


def calls_without_a_key(d, a, box):
    """The agent's server adds a key of its own to a call that must not run twice."""
    rows = ((EXECUTE, {"command": "echo plain | tee -a /tmp/plain"}, lambda r: r["content"][0]["text"] == "plain\n"),
            ("exec", {"argv": ["tee", "-a", "/tmp/plain"], "input": "exec\n"}, lambda r: r["structuredContent"]["stdout"] == "exec\n"),
            ("write_files", {"files": [{"path": "/tmp/written", "content": "w"}]}, lambda r: not r.get("isError")),
            ("extend_timeout", {"duration_ms": 1000}, lambda r: not r.get("isError")),
            ("get_url", {"port": 3000}, lambda r: not r.get("isError")))
    for name, arguments, is_right in rows:
        said = dies_unread(d, a, lambda: a.send("tools/call", {"name": name, "arguments": arguments}))["result"]  # noqa: B023
        check("%s without a key, under way when the daemon ends, is served" % name, is_right(said), said)
        until("the daemon is whole", d.is_up)
    check("once", a.text(EXECUTE, {"command": "cat /tmp/plain /tmp/written"}) == "plain\nexec\nw")
    keys = [e.get("key", "") for e in execs(d, box) if "/tmp/plain" in e["command"] and "cat" not in e["command"]]
    check("by keys of its own", len(keys) == 2 and len(set(keys)) == 2 and all(k.startswith("own-") for k in keys), keys)


def restart_kills_nothing(d):
    """A part of the daemon that dies, and a reload, end no background process, neither over HTTP
    nor over stdio.
    """
    box = d.create()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": EXECUTE, "arguments": {"command": "sleep 7801", "background": True}}}
    with of_stdio(d, "--sandbox", box) as a:
        background(a, "7802")
        said = post(d, call, path="/mcp?sandbox=" + box).json["result"]["content"][0]["text"]
        pid = said.partition("PID: ")[2].rstrip(")")
        plain = d.must("POST", "/v1/sandboxes/%s/execs" % box, {"command": "sleep 7803", "background": True})["exec"]
        until("all run", lambda: all(runs(d, box, word) for word in ("7801", "7802", "7803")))
        for what in ("door", "keeper", "spawner", "reload"):
            before = {name: p for name, p in d.children().items()}
            if what == "reload":
                os.kill(d.child.pid, signal.SIGHUP)
            else:
                os.kill(next(p for name, p in before.items() if what in name), signal.SIGKILL)
            until("others are there", lambda: any(name in n and p not in before.values() for name in ("door",) for n, p in d.children().items()))  # noqa: B023
            until("it answers", d.is_up)
            look = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": OUTPUT, "arguments": {"pid": pid}}}
            texts = [post(d, look, path="/mcp?sandbox=" + box).json["result"]["content"][0]["text"], d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, plain))["state"]]
            check("%s: no background process of any front ends" % what, all(runs(d, box, word) for word in ("7801", "7802", "7803")) and texts == ["(no output yet)", "running"], texts, execs(d, box))
        kill = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": KILL, "arguments": {"pid": pid}}}
        check("and it can be killed", post(d, kill, path="/mcp?sandbox=" + box).json["result"]["content"][0]["text"] == "Process %s has been killed." % pid)


def cancel_kills(d):
    box = d.create()
    with of_stdio(d, "--sandbox", box) as a:
        number = a.send("tools/call", {"name": EXECUTE, "arguments": {"command": "(setsid sleep 7301 &) ; sleep 7302"}})
        until("it runs", lambda: runs(d, box, "7302"))
        a.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        until("it is gone", lambda: not runs(d, box, "7302"))
        report("a cancelled command's tree is killed")
        until("the daemonised child is gone too", lambda: "sleep 7301" not in a.text(EXECUTE, {"command": "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"}).replace("cat /proc", ""))
        report("with what left its session")
        check("and it is not answered", number not in a.answers)


def http_close_kills(d):
    box = d.create()
    c = d.connection()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": EXECUTE, "arguments": {"command": "sleep 7401"}}})
    c.request("POST", "/mcp?sandbox=" + box, body=body, headers={"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    until("it runs", lambda: runs(d, box, "7401"))
    c.sock.close()
    until("it is gone", lambda: not runs(d, box, "7401"))
    report("over HTTP, a closed connection cancels")


# -- which sandbox ------------------------------------------------------------------------------------------------------------

def boxes(d):
    return [b["id"] for b in d.must("GET", "/v1/sandboxes")["items"]]


def context(user, thread="t"):
    return {"carrel/context": {"user": user, "thread": thread}}


def tenants_never_meet(d):
    before = set(boxes(d))
    with of_stdio(d, "--context", "--cache-key", "user", "--manage") as a:
        a.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        check("instructions make no sandbox", set(boxes(d)) == before)
        a.text(EXECUTE, {"command": "echo alices > /tmp/note"}, context("alice"))
        check("a context's sandbox is made by the first command", len(set(boxes(d)) - before) == 1)
        check("bob's is another", "alices" not in a.text(EXECUTE, {"command": "cat /tmp/note 2>&1"}, context("bob")))
        check("alice finds hers again, in another thread", a.text(EXECUTE, {"command": "cat /tmp/note"}, context("alice", "t2")) == "alices\n")
        check("the cache is forgotten on request", a.call("clear_sandbox_cache", {"key": "alice"})["structuredContent"] == {"cleared": 1})
        check("and the sandbox, which is its owner's, is found again", a.text(EXECUTE, {"command": "cat /tmp/note"}, context("alice")) == "alices\n")
        result = a.call(EXECUTE, {"command": "true"})
        check("without a context nothing runs", result["isError"] and "sandbox_not_configured" in json.dumps(result), result)
        both = [a.send("tools/call", {"name": EXECUTE, "arguments": {"command": "echo x >> /tmp/n; cat /tmp/n"}, "_meta": context("carol")}) for _ in range(4)]
        for number in both:
            a.answer(number)
    made = set(boxes(d)) - before
    check("four commands at once made one sandbox; agents stop none of them", len(made) == 3, made)
    for box in made:
        d.call("DELETE", "/v1/sandboxes/" + box)


def contexts_go_on(d):
    """A context's sandbox is stopped by itself or by its operator, or is lost: the next call gets
    another one.
    """
    with of_stdio(d, "--context", "--cache-key", "user", "--manage") as a:
        words = []
        for how in ("stopped by its operator", "stopped by its agent", "lost"):
            if how == "lost" and not ROOT:
                report("a context goes on after its sandbox was lost", skip="only root may look which process holds a sandbox's journal")
                continue
            first = a.text(EXECUTE, {"command": "touch /tmp/here; ls /tmp"}, context("gail"))
            box = next(b for b in d.must("GET", "/v1/sandboxes")["items"] if b["id"] not in words and b["status"] == "running" and b.get("name", "").startswith("ctx-") and
                       "here" in d.exec(b["id"], "ls /tmp")["stdout"])["id"]
            words.append(box)
            if how == "lost":
                os.kill(box_process(d, box), signal.SIGKILL)
                until("its loss is known", lambda: d.must("GET", "/v1/sandboxes/" + box)["status"] == "failed")  # noqa: B023
            elif how == "stopped by its agent":
                a.call("sandbox_stop", {"sandbox_id": box})
            else:
                d.must("DELETE", "/v1/sandboxes/" + box)
            said = a.call(EXECUTE, {"command": "ls /tmp"}, context("gail"))
            check("a context goes on after its sandbox was " + how, first == "here\n" and said["content"][0]["text"] == "(no output)" and "isError" not in said, first, said)
            for b in d.must("GET", "/v1/sandboxes")["items"]:
                if b.get("name", "").startswith("ctx-") and b["status"] in ("running", "pending"):
                    d.must("DELETE", "/v1/sandboxes/" + b["id"])


def mounts_exclude_contexts(d):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % MOUNTS)
        r = subprocess.run([CARREL, "mcp", "--state", d.state, "-w", folder, "--context"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=30, check=False)
    check("mounts and contexts exclude each other: INVALID_CONFIG", r.returncode == 126 and "INVALID_CONFIG" in r.stderr, r)


def nothing_configured(d):
    with tempfile.TemporaryDirectory() as folder, Agent("--state", d.state, "--manage", cwd=folder) as a:
        names = [t["name"] for t in a.ask("tools/list")["result"]["tools"]]
        check("A36-171: where no sandbox is configured the command tools are not listed", EXECUTE not in names and "sandbox_create" in names, names)
        result = a.call(EXECUTE, {"command": "true"})
        check("A36-171: a direct call is sandbox_not_configured", result["isError"] and "sandbox_not_configured" in result["content"][0]["text"], result)
        box = a.call("sandbox_create", {"name": "by-hand"})["structuredContent"]["id"]
        check("a sandbox made by hand is used by its id", a.call("exec", {"sandbox_id": box, "argv": ["echo", "hi"]})["structuredContent"]["stdout"] == "hi\n")
        check("and stopped by it", a.call("sandbox_stop", {"sandbox_id": box})["structuredContent"] == {"existed": True})


def read_only_says_so(d):
    box = d.create(manifest={"schema": "sandbox/v1", "provider": "local", "config": {}, "read_only": True})
    with of_stdio(d, "--sandbox", box) as a:
        result = a.call(EXECUTE, {"command": "true"})
        check("a sandbox that permits no command: SandboxFeatureNotSupportedError", result["isError"] and result["content"][0]["text"] == "Sandbox does not support executeCommand", result)


# -- a daemon of one's own -----------------------------------------------------------------------------------------------------

def private_daemon():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % "")
        env = {k: v for k, v in os.environ.items() if k != "CARREL_STATE"}
        env.update(HOME=home, XDG_STATE_HOME=home, XDG_RUNTIME_DIR=home)
        if os.geteuid() == 0 and os.path.exists("/var/lib/carrel/keeper.sock"):
            report("a daemon of one's own", skip="a daemon answers already")
            return
        saved = dict(os.environ)
        os.environ.clear()
        os.environ.update(env)
        try:
            with Agent("-w", folder) as a:
                check("without a daemon, one is started", a.text(EXECUTE, {"command": "echo alone"}) == "alone\n")
                check("and it is said", b"no daemon answers" in a.said, a.said)
                background(a, "7501")
                state = [e for e in os.listdir(home) if e.startswith("carrel-mcp-")]
                check("its state has a directory", len(state) == 1, state)
                check("the end of input ends it all: status 0", a.close() == 0)
            until("its processes are gone", lambda: not processes_of(state[0]))
            check("and the directory is removed", not [e for e in os.listdir(home) if e.startswith("carrel-mcp-")], os.listdir(home))
            mark = "7502.%d" % os.getpid()         # no other process sleeps for this time
            with Agent("-w", folder) as a:
                background(a, mark)
                state = [e for e in os.listdir(home) if e.startswith("carrel-mcp-")]
                a.child.kill()
            until("its directory is removed", lambda: not os.listdir(home))
            until("its processes are gone", lambda: not processes_of(state[0]))
            until("what it ran is gone", lambda: not processes_of("sleep\x00" + mark))
            report("also where it is killed: nothing of it stays")
        finally:
            os.environ.clear()
            os.environ.update(saved)


def manifest_is_judged_at_once(d):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write("---\nschema: sandbox/v1\n---\n")
        r = subprocess.run([CARREL, "mcp", "--state", d.state, "-w", folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    check("a manifest that is wrong is said before any message", r.returncode == 126 and "provider" in r.stderr and r.stdout == "", r)
    for text, place in (("schema: sandbox/v1\nprovider: local\nconfig: {}\nlimit: {}\n", "SANDBOX.md:5:1: "), ("schema: sandbox/v1\nprovider: [\n", "SANDBOX.md:4:1: "),
                        ('schema: sandbox/v1\nprovider: local\nconfig: {}\n"\\x1b]0;x\\x07": 1\n', "SANDBOX.md:5:1: ")):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
                f.write("---\n" + text + "---\n")
            r = subprocess.run([CARREL, "mcp", "--state", d.state, "-w", folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
        check("with its line and column, what to do, and no byte that steers a terminal: %r" % text[-12:],
              r.returncode == 126 and place in r.stderr and "Next: " in r.stderr and "\x1b" not in r.stderr and r.stdout == "", r)


def owned_sandbox_is_stopped(d):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % "")
        before = set(boxes(d))
        with Agent("--state", d.state, "-w", folder) as a:
            text = a.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})["result"]["instructions"]
            check("instructions describe what this sandbox allows", "no network" in text.lower(), text)
            check("a sandbox was declared", len(set(boxes(d)) - before) == 1)
            a.text(EXECUTE, {"command": "true"})
            a.close()
        check("and is stopped with its agent", set(boxes(d)) == before)


def the_page_is_true(d):
    with open(os.path.join(TREE, "docs/MCP.md"), encoding="utf-8") as f:
        page = f.read()
    server = json.loads(page.split("```json\n")[1].split("```")[0])["mcpServers"]["sandbox"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        with open(os.path.join(folder, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(page.split("```yaml\n")[1].split("```")[0])
        check("docs/MCP.md: the command is ours", server["command"] == "carrel" and server["args"][0] == "mcp", server)
        with of_stdio(d, *[w.replace("/path/to/project", folder) for w in server["args"][1:]]) as a:
            names = [t["name"] for t in a.ask("tools/list")["result"]["tools"]]
            check("docs/MCP.md: its example works", a.text(EXECUTE, {"command": "echo made > /workspace/it; cat /workspace/it"}) == "made\n")
            check("a model does not choose its own limits", "forbidden" in a.text("sandbox_create", {"manifest": {"mounts": [{"source": "/etc", "at": "/e"}]}}))
            other = d.create(name="another")
            check("nor reaches another's sandbox", "forbidden" in a.text("exec", {"sandbox_id": other, "command": "true"}))
            check("nor sees one", len(a.call("sandbox_list", {})["structuredContent"]["items"]) == 1)
            d.call("DELETE", "/v1/sandboxes/" + other)
            check("docs/MCP.md names every tool", all("`%s`" % n in page for n in names), names)
        check("and it is there afterwards", os.path.exists(os.path.join(folder, "it")))


# -- the protocol ---------------------------------------------------------------------------------------------------------------

def post(d, message, head=None, path="/mcp"):
    return d.call("POST", path, json.dumps(message).encode() if not isinstance(message, bytes) else message, dict({"Content-Type": "application/json"}, **(head or {})))


def http_rules(d):
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}}
    rows = [
        ("initialize", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}}, {}, 200, None),
        ("notification", {"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, 202, None),
        ("batch", [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], {}, 400, -32600),
        ("not JSON", b"{", {}, 400, -32700),
        ("modern", request, dict(MODERN_HEAD, **{"Mcp-Method": "tools/list"}), 200, None),
        ("modern without headers", request, {}, 400, -32020),
        ("modern, another method", request, dict(MODERN_HEAD, **{"Mcp-Method": "tools/call"}), 400, -32020),
        ("modern, another version", request, {"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list"}, 400, -32020),
        ("modern, unknown method", dict(request, method="nope"), dict(MODERN_HEAD, **{"Mcp-Method": "nope"}), 404, -32601),
        ("legacy, unknown method", {"jsonrpc": "2.0", "id": 1, "method": "nope"}, {}, 200, -32601),
        ("unsupported", dict(request, params={"_meta": dict(MODERN, **{"io.modelcontextprotocol/protocolVersion": "2031-01-01"})}),
         {"MCP-Protocol-Version": "2031-01-01", "Mcp-Method": "tools/list"}, 400, -32022),
    ]
    wrong = []
    for name, message, head, status, code in rows:
        a = post(d, message, head)
        got = a.json.get("error", {}).get("code") if a.body else None
        if (a.status, got) != (status, code):
            wrong.append("%s: %r" % (name, a))
    report("HTTP: statuses and codes of both eras", wrong)
    check("GET and DELETE: 405", [d.call(m, "/mcp").status for m in ("GET", "DELETE")] == [405, 405])
    check("another site's page: 403", post(d, request, {"Origin": "https://evil.example"}).status == 403)
    check("another media type: 415", d.call("POST", "/mcp", b"{}", {"Content-Type": "text/plain"}).status == 415)
    check("more than a mebibyte: 413", post(d, b" " * ((1 << 20) + 1)).status == 413)


def progress_streams(d):
    box = d.create()
    events = []
    for name, data in d.stream("POST", "/mcp?sandbox=" + box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": EXECUTE, "arguments": {"command": "echo one; sleep 0.2; printf '\\303'; sleep 0.2; printf '\\244'"}, "_meta": {"progressToken": "t"}}}):
        events.append(data)
        check("events are messages", name == "message") if name != "message" else None
    messages = [e["params"]["message"] for e in events[:-1]]
    check("HTTP: output is streamed as progress, a character never in halves", messages == ["one\n", "ä"], events)
    check("and the answer is the last event", events[-1]["result"]["content"][0]["text"] == "one\nä", events[-1])
    with of_stdio(d, "--sandbox", box) as a:
        a.call(EXECUTE, {"command": "echo two"}, {"progressToken": 5})
        check("stdio: the same", a.notes == [{"progressToken": 5, "progress": 4, "message": "two\n"}], a.notes)


def key_has_one_effect(d):
    box = d.create()
    with of_stdio(d, "--sandbox", box) as a:
        numbers = [a.send("tools/call", {"name": EXECUTE, "arguments": {"command": "echo once >> /tmp/n; cat /tmp/n"}, "_meta": {"carrel/idempotencyKey": "k"}}) for _ in range(5)]
        said = {a.answer(n)["result"]["content"][0]["text"] for n in numbers}
        check("a storm of calls with one key has one effect", said == {"once\n"} and a.text(EXECUTE, {"command": "cat /tmp/n"}) == "once\n", said)


def files(d):
    box = d.create()
    with of_stdio(d, "--sandbox", box) as a:
        a.call("write_files", {"files": [{"path": "/tmp/a", "content": "text\n"}, {"path": "/tmp/b", "content": "AP8=", "encoding": "base64", "mode": 0o600}]})
        check("a file that is text", a.call("read_file", {"path": "/tmp/a"})["structuredContent"]["content"] == "text\n")
        got = a.call("read_file", {"path": "/tmp/b"})["structuredContent"]
        check("and one that is not", (got["content"], got["encoding"], got["mode"]) == ("AP8=", "base64", 0o600), got)
        check("a directory", sorted(e["path"] for e in a.call("list_files", {"path": "/tmp"})["structuredContent"]["items"]) == ["a", "b"])
        check("none", "file_not_found" in a.text("read_file", {"path": "/tmp/c"}))


def flood(d):
    box, size = d.create(), 300000000 if DEEP else 100000000      # more than the server's limit
    with of_stdio(d, "--sandbox", box) as a:
        text = a.text(EXECUTE, {"command": "head -c %d /dev/zero | tr '\\0' '\\n'; echo end" % size})
        check("%d MB of lines are counted, and the last shown" % (size // 1000000), text.startswith("[showing last 200 of %d lines]\n" % (size + 1)) and text.endswith("\nend\n"), text[:100])
        with open("/proc/%d/status" % a.child.pid, encoding="utf-8") as f:
            peak = int([line for line in f if line.startswith("VmHWM")][0].split()[1])
        check("the server's memory stayed under 48 MiB: %d KiB" % peak, peak < 48 * 1024)


def long_lines(d):
    with of_stdio(d) as a:
        a.child.stdin.write(b"[" + b" " * (3 << 20) + b"]\n" + b"\n\r\n")
        check("after a line that is too long, the next is served", a.ask("ping")["result"] == {})
        for number, order in ((501, "first"), (502, "last")):
            message = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "write_files", "arguments": {"files": [{"path": "/tmp/a", "content": "x" * 1200000}]}}}
            a.write({"id": number, **message} if order == "first" else {**message, "id": number})
            check("a message that is too long is answered under its id, which comes " + order, "1048576" in a.answer(number)["error"]["message"], a.answer(number))
        for number, text in ((503, "a\0b"), (504, "\ud800")):
            a.write({"method": "tools/call", "params": {"name": "exec", "arguments": {"command": "echo " + text}}, "jsonrpc": "2.0", "id": number})
            check("so is one with a character that is not taken: %r" % text, a.answer(number)["error"]["code"] == -32700, a.answer(number))


def any_byte(d):
    box = d.create()
    with of_stdio(d, "--sandbox", box) as a:
        got = a.call("exec", {"command": "printf 'a\\0b\\377'"})
        check("output with a NUL is answered", got["structuredContent"]["stdout"] == "a\0b\ufffd" and json.loads(got["content"][0]["text"]) == got["structuredContent"] and
              "isError" not in got, got)
        again = a.call("exec_output", {"exec": got["structuredContent"]["exec"], "wait": True})["structuredContent"]
        check("and again", again["stdout"] == "a\0b\ufffd" and again["exit_code"] == 0, again)


signal.alarm(540)
with Daemon() as daemon:
    for test in (texts_are_mastras, background_dies_with_its_agent, background_is_kept, keeper_may_go, calls_meet_a_restart, restart_kills_nothing, cancel_kills, http_close_kills, tenants_never_meet, contexts_go_on, mounts_exclude_contexts,
                 nothing_configured, read_only_says_so, manifest_is_judged_at_once, owned_sandbox_is_stopped, the_page_is_true, http_rules, progress_streams, key_has_one_effect, files, flood,
                 long_lines, any_byte):
        try:
            test(daemon)
        except Exception as problem:       # a test with an exception has failed; the others still run
            report(test.__name__ + " comes to its end", repr(problem))
try:
    private_daemon()
except Exception as problem:
    report("private_daemon comes to its end", repr(problem))
end()
