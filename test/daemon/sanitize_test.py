#!/usr/bin/env python3
"""Output is sanitised at every door: REST, server-sent events, MCP, the command line, libcarrel and
`carrel run`. The same doors pass the same bytes unchanged without sanitize_output.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, check, end, need_programs, until
from daemon_rig import Daemon

SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
PRINTED = "a\x1b[31mb\x1b[0m\u202ec\u200b d " + SECRET + " 10%\r20%\r\n"
CLEAN = "abc d [redacted:aws-access-key-id] 10%\n20%\r\n"
# in pieces that divide a sequence, a character and a secret
PIECES = ("a\x1b[3", "1mb\x1b", "[0m\u202ec\u200b d AK", "IA" + "IOSFODNN7EX", "AMPLE 10%\r20%\r", "\n")
SCRIPT = "; ".join("printf '%s'" % "".join("%%" if b == 37 else "\\%03o" % b for b in p.encode()) for p in PIECES)
KINDS = ["control", "hidden", "secrets"]
HOST = "providers: {local: {isolated: true, mounts: true}}\nmount_roots: [/tmp]\n"


def manifest(kinds=KINDS):
    return {"provider": "local", "config": {}, **({"metadata": {"carrel": {"sanitize_output": kinds}}} if kinds else {})}


def carrel(d, *words, **more):
    return subprocess.run([CARREL, *words], capture_output=True, env={**os.environ, "CARREL_STATE": d.state}, check=False, **more)


def events(d, method, path, body=None):
    """Standard output of a stream of server-sent events."""
    return "".join(data["data"] for name, data in d.stream(method, path, body) if name == "stdout")


def tool(d, box, name, **arguments):
    body = d.call("POST", "/mcp?sandbox=" + box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
                  {"Accept": "application/json, text/event-stream"}).body.decode()
    return json.loads(body[body.index("{"):body.rindex("}") + 1])["result"]


def doors(d, box):
    """(door, what it gave) of each, for a command that prints PRINTED."""
    path, argv = "/v1/sandboxes/" + box, ["sh", "-c", SCRIPT]
    answer = d.exec(box, argv)
    output = "%s/execs/%d/output" % (path, answer["exec"])
    yield "REST: exec", answer["stdout"]
    yield "REST: output", d.must("GET", output)["stdout"]
    yield "REST: output from an offset", PRINTED[0] + d.must("GET", output + "?stdout_offset=1")["stdout"]
    yield "REST: code", d.must("POST", path + "/code", {"language": "sh", "code": SCRIPT})["stdout"]
    yield "REST: events of exec", events(d, "POST", path + "/execs", {"argv": argv})
    yield "REST: events of output", events(d, "GET", output)
    yield "MCP: exec", tool(d, box, "exec", command=SCRIPT)["structuredContent"]["stdout"]
    yield "MCP: run_code", tool(d, box, "run_code", language="sh", code=SCRIPT)["structuredContent"]["stdout"]
    yield "MCP: Mastra's execute_command", tool(d, box, "mastra_workspace_execute_command", command=SCRIPT)["content"][0]["text"]
    yield "carrel exec", carrel(d, "exec", box, "--", *argv).stdout.decode()
    yield "carrel exec --json", json.loads(carrel(d, "exec", "--json", box, "--", *argv).stdout)["stdout"]
    yield "carrel output", carrel(d, "output", box, str(answer["exec"])).stdout.decode()
    yield "carrel code", carrel(d, "code", "--in", box, "-l", "sh", "-", input=SCRIPT.encode()).stdout.decode()
    stderr = d.exec(box, ["sh", "-c", "(%s) >&2" % SCRIPT])["stderr"]
    yield "standard error", stderr


def every_door(d):
    for name, box, wanted in (("sanitised", d.create(manifest=manifest()), CLEAN), ("unchanged without the field", d.create(manifest=manifest(None)), PRINTED)):
        wrong = [(door, got) for door, got in doors(d, box) if got != wanted]
        check("output at every door is " + name, not wrong, *wrong)


def counted(d):
    """What was removed, at every door that gives a result."""
    wanted = {"control": 3, "hidden": 2, "secrets": 1}
    box = d.create(manifest=manifest())
    path, argv = "/v1/sandboxes/" + box, ["sh", "-c", SCRIPT]
    answer, both = d.exec(box, argv), d.exec(box, ["sh", "-c", "%s; (%s) >&2" % (SCRIPT, SCRIPT)])
    number = answer["exec"]
    folder, start = os.path.join(d.state, "audit", "uid:%d" % os.getuid()), int(answer["audit_ref"].rsplit("/", 1)[1])

    def ended():
        return [e["output"] for e in audit_chain.entries(folder) if e["action"] == "exec.ended" and e["input"]["start"] == start]
    until("the end is recorded", ended)
    got = {
        "REST: exec": answer,
        "REST: get": d.must("GET", "%s/execs/%d" % (path, number)),
        "REST: list": d.must("GET", path + "/execs")["items"][0],
        "REST: code": d.must("POST", path + "/code", {"language": "sh", "code": SCRIPT}),
        "REST: events of exec": dict(d.stream("POST", path + "/execs", {"argv": argv}))["end"],
        "REST: events of output": dict(d.stream("GET", "%s/execs/%d/output" % (path, number)))["end"],
        "MCP: exec": tool(d, box, "exec", command=SCRIPT)["structuredContent"],
        "MCP: run_code": tool(d, box, "run_code", language="sh", code=SCRIPT)["structuredContent"],
        "carrel exec": json.loads(carrel(d, "exec", "--json", box, "--", *argv).stdout),
        "carrel ps": json.loads(carrel(d, "ps", "--json", box).stdout)["items"][0],
        "carrel code": json.loads(carrel(d, "code", "--json", "--in", box, "-l", "sh", "-", input=SCRIPT.encode()).stdout),
        "audit log": ended()[0],
    }
    wrong = {door: result for door, result in got.items() if result.get("sanitized") != wanted}
    check("each result says how many were removed of each kind", not wrong, wrong)
    check("of both streams together", both["sanitized"] == {kind: 2 * count for kind, count in wanted.items()}, both)
    one = d.exec(d.create(manifest=manifest(["hidden"])), argv)
    check("only of kinds that are removed", one["sanitized"] == {"hidden": 2}, one)
    none = d.exec(d.create(manifest=manifest()), ["true"])
    check("also that nothing was removed", none["sanitized"] == dict.fromkeys(KINDS, 0), none)
    plain = d.exec(d.create(manifest=manifest(None)), argv)
    check("without the field, nothing is said", "sanitized" not in plain, plain)
    d.restart_parts(lambda: os.kill(next(p for n, p in d.children().items() if n.startswith("carrel-keeper")), 9))
    again = d.must("GET", "%s/execs/%d" % (path, number))
    check("a later keeper knows it too", again.get("sanitized") == wanted, again)


def exact(d):
    box = d.create(manifest=manifest())
    text = "".join("%d password=%d;\n" % (i, i) for i in range(20000))
    wanted = "".join("%d password=[redacted:assignment];\n" % i for i in range(20000))
    script = "i=0; while [ $i -lt 20000 ]; do echo \"$i password=$i;\"; i=$((i+1)); done"
    got = carrel(d, "exec", box, "--", "sh", "-c", script).stdout.decode()
    check("a reader that must lose nothing loses nothing of output that grows", got == wanted, len(text), len(wanted), len(got))
    got = carrel(d, "exec", "--json", box, "--", "sh", "-c", SCRIPT)
    counts = json.loads(got.stdout)
    check("stdout_bytes counts what is output, as offsets do", counts["stdout_bytes"] == len(CLEAN) and counts["dropped_bytes"] == 0, counts)
    first = d.exec(box, ["sh", "-c", "printf 'name: '; sleep 60 & exit"])
    check("what is held is output when the command ends, whatever it left running", first["stdout"] == "name: ", first)
    got = d.exec(box, ["sh", "-c", "printf AKIA; sleep 60 & exit"])
    check("so is the beginning of a secret that never came", got["stdout"] == "AKIA", got)
    got = d.call("POST", "/v1/sandboxes/%s/execs" % box, {"argv": ["true"], "tty": True, "background": True})
    check("a terminal is refused, and the reason named", got.status == 400 and got.json["error"]["reason"] == "sanitize_output" and got.json["error"]["path"] == "tty", got)
    got = d.call("POST", "/v1/sandboxes", {"manifest": manifest(["all"])})
    check("an unknown kind is refused", got.code == "sandbox_schema_invalid", got)


def one_kind(d):
    rows = (("control", PRINTED.replace("\x1b[31m", "").replace("\x1b[0m", "").replace("\r20", "\n20")),
            ("hidden", PRINTED.replace("\u202e", "").replace("\u200b", "")), ("secrets", PRINTED.replace(SECRET, "[redacted:aws-access-key-id]")))
    wrong = [(kind, got) for kind, wanted in rows for got in [d.exec(d.create(manifest=manifest([kind])), ["sh", "-c", SCRIPT])["stdout"]] if got != wanted]
    check("each kind removes itself alone", not wrong, *wrong)


def alone(d, folder):
    """carrel run: pipes, a file, --json, with what the host file asks for."""
    file, host, log = (os.path.join(folder, n) for n in ("SANDBOX.md", "host.yaml", "log"))
    words = ["run", "-f", file, "-w", folder]
    wrong = []
    for kinds, hosts, wanted in ((KINDS, [], CLEAN), ([], KINDS, CLEAN), (KINDS[:1], KINDS[1:], CLEAN), ([], [], PRINTED)):
        with open(file, "w", encoding="utf-8") as f:
            f.write("---\n%s\n---\n" % json.dumps({"schema": "sandbox/v1", **manifest(kinds)}))
        with open(host, "w", encoding="utf-8") as f:
            f.write(HOST + "sanitize_output: %s\n" % json.dumps(hosts))
        more = ["--host", host, "--", "sh", "-c"]
        wrong += [(kinds, hosts, got) for got in [carrel(d, *words, *more, SCRIPT).stdout.decode()] if got != wanted]
        wrong += [(kinds, "stderr", got) for got in [carrel(d, *words, *more, "(%s) >&2" % SCRIPT).stderr.decode()] if got != wanted]
        wrong += [(kinds, "--json", got) for got in [json.loads(carrel(d, *words, "--json", *more, SCRIPT).stdout)["stdout"]] if got != wanted]
        with open(log, "wb") as f:
            subprocess.run([CARREL, *words, *more, SCRIPT], stdout=f, check=False)
        with open(log, "rb") as f:
            wrong += [(kinds, "file", got) for got in [f.read().decode()] if got != wanted]
    check("carrel run sanitises pipes, files and --json, by manifest and host file together", not wrong, *wrong)
    with open(host, "w", encoding="utf-8") as f:
        f.write(HOST + "sanitize_output: %s\n" % json.dumps(KINDS))
    got = json.loads(carrel(d, *words, "--json", *more, SCRIPT).stdout)
    check("carrel run --json says how many", got["sanitized"] == {"control": 3, "hidden": 2, "secrets": 1}, got)
    with open(host, "w", encoding="utf-8") as f:
        f.write(HOST)
    long = carrel(d, *words, "--host", host, "--", "sh", "-c", "seq 200000").stdout
    with open(host, "w", encoding="utf-8") as f:
        f.write(HOST + "sanitize_output: %s\n" % json.dumps(KINDS))
    same = carrel(d, *words, "--host", host, "--", "sh", "-c", "seq 200000").stdout
    check("what is no such thing passes, whatever its length", long == same and len(same) > 1 << 20, len(long), len(same))
    with open(host, "w", encoding="utf-8") as f:
        f.write("sanitize_output: [all]\n")
    bad = carrel(d, *words, "--host", host, "--", "true")
    check("an unknown kind in the host file is refused", bad.returncode not in (0, 1) and b"control, hidden or secrets" in bad.stderr, bad)


need_programs()
with Daemon() as d, tempfile.TemporaryDirectory() as folder:
    every_door(d)
    counted(d)
    exact(d)
    one_kind(d)
    alone(d, folder)
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "host.yaml"), "w", encoding="utf-8") as f:
        f.write(HOST + "sanitize_output: [control, hidden, secrets]\n")
    with Daemon("--host", os.path.join(folder, "host.yaml")) as d:
        box = d.create(manifest=manifest(None))
        got = d.exec(box, ["sh", "-c", SCRIPT])["stdout"]
        check("the host file's kinds apply to every sandbox of the daemon", got == CLEAN, got)
        with open(os.path.join(folder, "host.yaml"), "w", encoding="utf-8") as f:
            f.write(HOST)
        d.reload()
        got = d.exec(box, ["sh", "-c", SCRIPT])["stdout"]
        check("to the next command, as the file was read last", got == PRINTED, got)
end()
