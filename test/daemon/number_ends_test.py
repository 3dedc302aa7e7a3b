#!/usr/bin/env python3
# slow: 30 s: a thousand calls, of which two hundred start a program
"""Every number that the API and the daemon's commands take, at both ends of its range, and past
each end. TAP.

The numbers of the API are read from the daemon's own OpenAPI document, so a new field is tested
without a change here. One past an end, and what wraps in 32 or 64 bits, is refused with its place
and both ends. An end is accepted, or refused for another reason. No answer is a 500.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, need_programs
from daemon_rig import Daemon

WRAPS = (-1, 0, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 53, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1, 2 ** 64, 2 ** 64 + 1, 18446744073710, 10 ** 30)
# What a call needs beside the tested number; {box}, {exec} and so on are filled in.
NEEDS = {"exec.start": {"argv": ["true"]}, "extend": {"duration_ms": 1}, "task.begin": {"task": "t", "timeout_ms": 1000}, "file.mkdir": {"path": "d"},
         "exec.resize": {"rows": 24, "columns": 80}, "exec.signal": {"signal": 18}}
QUERY = {"file.read": {"path": "f"}, "file.list": {"path": "."}}


def numbers(document):
    """Each (method, route, operation, where, name, minimum, maximum, whether it is a list) of a
    number that a call takes.
    """
    for route, methods in document["paths"].items():
        for method, o in methods.items():
            for p in o["parameters"]:
                if p["schema"].get("type") == "integer":
                    yield method, route, o["operationId"], p["in"], p["name"], p["schema"], False
            body = o.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for name, s in body.get("properties", {}).items():
                if s.get("type") == "integer":
                    yield method, route, o["operationId"], "body", name, s, False
                elif s.get("items", {}).get("type") == "integer":
                    yield method, route, o["operationId"], "body", name, s["items"], True


def path_word(word, box, execs):
    return {"id": box, "exec": str(execs), "port": "3000", "task": "t"}[word]


def ask(d, row, value, box, execs):
    """One call in which the number is `value`."""
    method, route, operation, where, name, _, is_list = row
    path = "/".join((str(value) if where == "path" and part == "{%s}" % name else path_word(part[1:-1], box, execs)) if part[:1] == "{" else part for part in route.split("/"))
    query = dict(QUERY.get(operation, {}), **({name: value} if where == "query" else {}))
    body = dict(NEEDS.get(operation, {}), **({name: [value] if is_list else value} if where == "body" else {}))
    if operation == "exec.attach":
        query["wait"] = "true"
    if query:
        path += "?" + "&".join("%s=%s" % pair for pair in query.items())
    return d.call(method.upper(), path, body if method in ("post", "put", "patch") else None)


def error_of(a):
    return (a.json or {}).get("error", {}) if a.status >= 400 and a.body else {}


def api(d):
    box, limited = d.create(name="numbers", ports=[3000]), d.create(name="limited")
    d.call("PUT", "/v1/sandboxes/%s/files?path=f" % box, b"content")
    ended = d.exec(box, ["true"])["exec"]
    terminal = d.exec(box, ["sh", "-c", "trap '' HUP INT QUIT; cat"], background=True, tty=True, stdin=True)["exec"]
    rows = list(numbers(d.must("GET", "/v1/openapi.json")))
    check("the document has numbers in paths, queries and bodies", {r[3] for r in rows} == {"path", "query", "body"} and len(rows) > 25, len(rows))
    for row in rows:
        method, route, operation, where, name, schema, _ = row
        low, high, wrong = schema.get("minimum"), schema.get("maximum"), []
        if low is None or high is None:
            check("%s: %s has both ends" % (operation, name), False, schema)
            continue
        execs = terminal if operation == "exec.resize" else ended
        called = limited if operation == "limits.set" else box       # later rows need a sandbox with room
        for value in (low, high):
            if operation == "exec.signal":     # a number may end the sandbox that it is sent to
                execs = d.exec(box, ["sleep", "1000"], background=True)["exec"]
            a = ask(d, row, value, called, execs)
            if a.status in (500, 502) or (a.status == 400 and error_of(a).get("path") == name and error_of(a).get("reason") in ("range", "type")):
                wrong.append((value, a))
            if operation in ("create", "claim") and a.status == 201:
                d.call("DELETE", "/v1/sandboxes/" + a.json["id"])
        for value in {low - 1, high + 1, *(n for n in WRAPS if not low <= n <= high)}:
            a = ask(d, row, value, called, execs)
            e = error_of(a)
            if a.status != 400 or e.get("path") != name or str(low) not in e.get("message", "") or str(high) not in e.get("message", ""):
                wrong.append((value, a))
        check("%s: %s in the %s: %d and %d are accepted, what is past them is refused with its place and both" % (operation, name, where, low, high), not wrong, *wrong[:4])
    modes = [("PUT", "/v1/sandboxes/%s/files?path=m%s&mode=%s" % (box, mode, mode), b"x", is_good) for mode, is_good in
             (("0", True), ("0777", True), ("07777", True), ("511", True), ("512", False), ("010000", False), ("-1", False), (str(2 ** 32), False), (str(2 ** 64), False), ("0" + "7" * 30, False))]
    modes += [("POST", "/v1/sandboxes/%s/files" % box, {"files": [{"path": "g%d" % mode, "content": "", "mode": mode}]}, is_good) for mode, is_good in
              ((0, True), (4095, True), (4096, False), (-1, False), (2 ** 32, False), (2 ** 63, False), (2 ** 64, False))]
    wrong = [(path, body, a) for method, path, body, is_good in modes for a in [d.call(method, path, body)] if (a.status == 204) != is_good or (not is_good and "mode" not in error_of(a).get("path", ""))]
    check("the mode of a file, alone or in a batch, at both ends and past them", not wrong, *wrong)
    batch(d, box)


def batch(d, box):
    """The list of files is written once: REST and the tool have one schema, and take what it says."""
    rest = d.must("GET", "/v1/openapi.json")["paths"]["/v1/sandboxes/{id}/files"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["files"]
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    head = {"Accept": "application/json, text/event-stream"}
    tool = next(t for t in d.must("POST", "/mcp", rpc, headers=head)["result"]["tools"] if t["name"] == "write_files")["inputSchema"]["properties"]["files"]
    check("the files of a batch have one schema in REST and in the tool", rest == tool and (rest["minItems"], rest["maxItems"]) == (1, 1024), rest, tool)
    for count, is_good in ((0, False), (1, True), (1024, True), (1025, False)):
        files = [{"path": "batch/%d" % i, "content": "x"} for i in range(count)]
        by_rest = d.call("POST", "/v1/sandboxes/%s/files" % box, {"files": files})
        by_tool = d.must("POST", "/mcp", {**rpc, "method": "tools/call", "params": {"name": "write_files", "arguments": {"sandbox_id": box, "files": files}}}, headers=head)["result"]
        check("a batch of %d files is %s by both" % (count, "written" if is_good else "refused"), ((by_rest.status == 204) == is_good) and by_tool.get("isError", False) != is_good, by_rest, str(by_tool)[:300])


# -- the commands of the daemon ------------------------------------------------------------------------------------------------------

PORT, EXEC, BYTES, YEAR_H = (1, 65535), (1, 2 ** 32 - 1), (0, 2 ** 53 - 1), 365 * 24


def carrel(d, *words):
    r = subprocess.run([CARREL, *words, "--state", d.state] if words[0] != "exec" else [CARREL, "exec", "--state", d.state, *words[1:]],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def options(d):
    box = d.create(name="options", ports=[3000])
    done = str(d.exec(box, ["true"])["exec"])
    numbered = ((["create", "-q", "-p", "%"], PORT), (["url", box, "%"], PORT), (["output", box, "%"], EXEC), (["kill", box, "%"], EXEC),
                (["output", box, done, "--offset", "%"], BYTES), (["output", box, done, "--stderr-offset", "%"], BYTES), (["kill", box, done, "-s", "%"], (1, 64)))
    timed = (["create", "-q", "--timeout", "%"], ["create", "-q", "--delete-after", "%"], ["exec", "--timeout", "%", box, "true"], ["extend", box, "%"], ["events", "--for", "%"])

    def said(words, value):
        return carrel(d, *(value if w == "%" else w for w in words))

    for words, (low, high) in numbered:
        wrong = []
        for value in (low, high):
            status, out, err = said(words, str(value))
            if "(%d to %d)" % (low, high) in err or "internal" in err:
                wrong.append((value, status, err))
            if words[0] == "create" and status == 0:
                carrel(d, "stop", out.strip())
        for value in {low - 1, high + 1, *(n for n in WRAPS if not low <= n <= high)}:
            status, out, err = said(words, str(value))
            if status != 125 or ("(%d to %d)" % (low, high) not in err and (value >= 0 or "unknown option" not in err)):
                wrong.append((value, status, out, err))
        check("carrel %s: both ends, and past them" % " ".join(words), not wrong, *wrong[:4])
    for words in timed:
        wrong = []
        for value in ("1ms", "%dh" % YEAR_H) if words[0] != "events" else ("1ms",):    # with --for 8760h it would wait
            status, out, err = said(words, value)
            if "(1ms to" in err or "internal" in err or "must be" in err:
                wrong.append((value, status, err))
            if words[0] == "create" and status == 0:
                carrel(d, "stop", out.strip())
        for value in ("0", "-1", "0ms", "%dh" % (YEAR_H + 1), "%dms" % (YEAR_H * 3600000 + 1), "%dh" % (2 ** 64 // 3600000 + 1), "%dms" % 2 ** 63, "%dms" % (2 ** 64 - 1), "%dms" % 2 ** 64, str(10 ** 30)):
            status, out, err = said(words, value)
            if status != 125 or ("(1ms to 8760h)" not in err and (value != "-1" or "unknown option" not in err)):
                wrong.append((value, status, out, err))
        check("carrel %s: both ends, and past them" % " ".join(words), not wrong, *wrong[:4])


def serve():
    """Options of `serve`, and numbers of the host file: beyond their ends the daemon does not
    start.
    """
    with Daemon() as d:
        folder = d.folder
        rows = [(["--pool", n], "(0 to 256)") for n in ("-1", "257", str(2 ** 32), str(2 ** 64))]
        rows += [(["--delete-after", t], "(1ms to 8760h)") for t in ("0", "8761h", "%dms" % 2 ** 64)]
        rows += [(["--socket-mode", m], "mode of a socket") for m in ("0", "01600", "0%o" % (2 ** 32 + 0o600), "0%o" % (2 ** 64 + 0o600))]
        rows += [(["--listen", "127.0.0.1:" + p], "127.0.0.1:" + p) for p in ("-1", "65536", str(2 ** 32 + 80), str(2 ** 64 + 80))]
        caps = json.loads(subprocess.run([CARREL, "schema"], stdout=subprocess.PIPE, timeout=ALWAYS, check=True).stdout)["$defs"]["metadata.carrel"]["properties"]["egress"]["properties"]
        for name, s in caps.items():
            if s.get("type") != "integer":
                continue
            for i, n in enumerate((s["minimum"] - 1, s["maximum"] + 1, -1, 2 ** 63, 2 ** 64)):
                path = os.path.join(folder, "%s-%d.yaml" % (name, i))
                with open(path, "w", encoding="utf-8") as f:
                    f.write("egress_caps: {%s: %d}\n" % (name, n))
                rows.append((["--host", path], "%d to %d" % (s["minimum"], s["maximum"])))
        wrong = []
        for words, expected in rows:
            r = subprocess.run([CARREL, "serve", "--state", os.path.join(folder, "other"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS, check=False)
            if r.returncode not in (125, 126) or expected not in r.stdout.decode() or "mistake in Carrel" in r.stdout.decode():
                wrong.append((words, r.returncode, r.stdout))
        check("serve: %d numbers past their ends, of options and of the host file, are refused with both" % len(rows), not wrong, *wrong[:6])


if __name__ == "__main__":
    need_programs()
    with Daemon() as daemon:
        api(daemon)
        options(daemon)
        check("the daemon has no mistake to report", "internal" not in daemon.log_text(), daemon.log_text()[-2000:])
    serve()
    end()
