#!/usr/bin/env python3
"""validator_tools_test - validators of writing, ports, extension and network in the daemon: they see
the arguments of the call, whichever API it comes through, and the sandbox writes what was judged.
"""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import keeper_rig
from box_rig import ALWAYS, CARREL, TREE, check, end, need_programs, report
from daemon_rig import Daemon
from wire import C_STDIN

HOST = "providers: {local: {isolated: true, mounts: true, egress: true}}\nmount_roots: [/tmp]\nresolvers: [\"127.0.0.1:5300\"]\n"
# What the program denies stands in the path.
PROGRAM = "import json, sys; a = json.load(sys.stdin)['arguments']; sys.exit('denied' in a['path'] and (print('not', a['size']) or 1))"
RULES = {"validators": {
    "file.write": {"paths": {"fields": ["path"], "beneath": ["/workspace"]}, "arguments": {"properties": {"size": {"maximum": 10}}}},
    "get_url": {"arguments": {"properties": {"port": {"enum": [8080]}}}},
    "extend": {"arguments": {"properties": {"duration_ms": {"maximum": 60000}}}},
    "network": {"hosts": {"fields": ["egress"], "allow": ["api.example.com", "*.example.org"]}, "arguments": {"properties": {"egress": {"maxItems": 2}}}},
}}
MANIFEST = {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/workspace", "mode": "read-write"}], "network": {"egress": ["api.example.com"]}, "limits": {"timeout_ms": 60000},
            "metadata": {"carrel": {"commands": RULES}}}
MCP = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Accept": "application/json, text/event-stream"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def reason(answer):
    return answer.json["error"].get("reason") if answer.status >= 300 else None


def batch(*files):
    return {"files": [{"path": path, "content": size * "x"} for path, size in files]}


def over_rest(d, workspace, at):
    rows = (
        ("PUT", "/files?path=/workspace/a", b"1234567890", None), ("PUT", "/files?path=b", b"1", None), ("PUT", "/files?path=empty", b"", None), ("PUT", "/files?path=/workspace/a", b"12345678901", "invalid"),
        ("PUT", "/files?path=/tmp/a", b"1", "invalid"), ("PUT", "/files?path=../tmp/a", b"1", "invalid"), ("PUT", "/files?path=/workspace/../tmp/a", b"1", "invalid"),
        ("POST", "/files", batch(("c", 1), ("/workspace/d", 10)), None), ("POST", "/files", batch(("e", 1), ("/tmp/d", 1)), "invalid"), ("POST", "/files", batch(("e", 11), ("f", 1)), "invalid"),
        ("GET", "/ports/9090", None, "invalid"), ("POST", "/extend", {"duration_ms": 60000}, None), ("POST", "/extend", {"duration_ms": 60001}, "invalid"),
        ("PUT", "/network", {"egress": ["api.example.com"]}, None), ("PUT", "/network", {"egress": []}, None), ("PUT", "/network", {"egress": ["api.example.com", "www.example.org"]}, None),
        ("PUT", "/network", {"egress": ["api.example.com", "example.net"]}, "invalid"), ("PUT", "/network", {"egress": ["203.0.113.1"]}, "invalid"), ("PUT", "/network", {"egress": ["a.example.org", "b.example.org", "c.example.org"]}, "invalid"),
    )
    wrong = []
    for method, place, body, expected in rows:
        got = d.call(method, at + place, body)
        if reason(got) != expected or expected and (got.status != 403 or got.code != "sandbox_policy_denied"):
            wrong.append((method, place, body, expected, got))
    report("P33: %d calls over REST: writes, ports, extension and network are judged by their arguments" % len(rows), wrong)
    got = d.call("GET", at + "/ports/8080")
    check("  an allowed port is for the operation to refuse", reason(got) != "invalid" and got.code != "sandbox_policy_denied", got)
    kept = d.must("GET", at)
    check("  what was denied had no effect", sorted(f for f in os.listdir(workspace) if f != "host.yaml") == ["a", "b", "c", "d", "empty"] and not os.path.exists("/tmp/a"), os.listdir(workspace), kept)
    got = [d.call("PUT", at + "/files?path=" + name, iter([b"12345"] * count)) for name, count in (("chunked", 2), ("chunked2", 3), ("/tmp/chunked", 1))]
    check("a body in chunks is received, judged by its size, and then written", [reason(g) for g in got] == [None, "invalid", "invalid"] and open(os.path.join(workspace, "chunked"), "rb").read() == b"1234512345"
          and not os.path.exists(os.path.join(workspace, "chunked2")), got)
    slow = socket.socket(socket.AF_UNIX)
    slow.settimeout(ALWAYS)
    slow.connect(d.http)
    slow.sendall(("PUT %s/files?path=slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" % at).encode())
    got = d.call("PUT", at + "/files?path=slow", b"whole")
    check("a body in chunks that does not end holds up no other writer of its path", got.status == 204 and open(os.path.join(workspace, "slow"), "rb").read() == b"whole", got)
    slow.sendall(b"0\r\n\r\n")
    head = slow.recv(64)
    check("and is written whole when it ends", head.startswith(b"HTTP/1.1 204") and open(os.path.join(workspace, "slow"), "rb").read() == b"abc", head)
    slow.close()


def over_mcp(d, workspace, box):
    def call(name, arguments):
        return d.call("POST", "/mcp?sandbox=" + box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": META}}, {**MCP, "Mcp-Name": name}).body
    wrong = []
    for name, arguments, is_allowed in (("write_files", batch(("mcp", 3), ("mcp2", 10)), True), ("write_files", batch(("mcp3", 3), ("/tmp/mcp", 1)), False), ("write_files", batch(("mcp3", 11)), False),
                                        ("get_url", {"port": 9090}, False), ("extend_timeout", {"duration_ms": 60000}, True), ("extend_timeout", {"duration_ms": 60001}, False)):
        got = call(name, arguments)
        if (b"sandbox_policy_denied" in got) == is_allowed or (b'"isError":true' in got) == is_allowed:
            wrong.append((name, arguments, got))
    report("  the same through MCP", wrong)
    check("  what is allowed is written", sorted(f for f in os.listdir(workspace) if f.startswith("mcp")) == ["mcp", "mcp2"], os.listdir(workspace))


PROGRAM_OF_A_WRITER = r"""
#include <carrel/carrel.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
        struct carrel_error e = { .code = "" };
        struct carrel_writer *w = NULL;
        struct carrel *c = NULL;
        int result = carrel_open(NULL, &c, &e) < 0 ? -1 : carrel_writer_open(c, argv[1], NULL, &w, &e);

        for (int i = 2; i + 1 < argc && result == 0; i += 2)
                if (carrel_writer_file(w, argv[i], -1, strlen(argv[i + 1]), &e) < 0 || carrel_writer_bytes(w, argv[i + 1], strlen(argv[i + 1]), &e) < 0)
                        result = -1;
        if (result == 0)
                result = carrel_writer_commit(w, &e);
        printf("%d %s %s", result, e.code, e.reason);
        carrel_writer_free(w);
        carrel_close(c);
        return 0;
}
"""


def library(d, workspace, box):
    """carrel_writer_open() announces nothing: its files are kept, and judged with the commit."""
    archive, source, program = os.path.join(TREE, "build-test", "include", "libcarrel.a"), os.path.join(d.folder, "writer.c"), os.path.join(d.folder, "writer")
    if not os.path.exists(archive) or not shutil.which("cc"):
        report("carrel_writer_open() is judged", skip="there is no build-test/include/libcarrel.a, or no cc")
        return
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM_OF_A_WRITER)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-I", os.path.join(TREE, "include"), source, archive, "-lyaml", "-ljansson", "-o", program], check=True)
    run = lambda *files: subprocess.run([program, box, *files], env={**os.environ, "CARREL_STATE": d.state}, stdout=subprocess.PIPE, check=False, text=True).stdout.split()  # noqa: E731
    got = [run("/workspace/w1", "text", "w2", ""), run("/workspace/w3", "text", "/tmp/w4", "text"), run("/workspace/w5", "12345678901"), run("/workspace/w6", "x" * 100000, "/workspace/w7", "y" * 100000)]
    check("carrel_writer_open(): the files are kept, and judged with the commit", [g[0] for g in got] == ["0", "-1", "-1", "-1"] and all(g[1:] == ["sandbox_policy_denied", "invalid"] for g in got[1:])
          and sorted(f for f in os.listdir(workspace) if f[0] == "w") == ["w1", "w2"], got)


def over_carrel(d, workspace, box):
    """libcarrel: `carrel cp` announces a single file; a writer that announces another is refused inside."""
    env = {**os.environ, "CARREL_STATE": d.state}
    cp = lambda *words: subprocess.run([CARREL, "cp", *words], env=env, input=b"x", capture_output=True, timeout=ALWAYS, check=False)  # noqa: E731
    for name, texts in (("tree", ("one", "two", "1234567890")), ("bad", ("12345678901",))):
        os.makedirs(os.path.join(d.folder, name, "sub"))
        for i, text in enumerate(texts):
            with open(os.path.join(d.folder, name, "sub", "f%d" % i), "w", encoding="ascii") as f:
                f.write(text)
    got = [cp("-", box + ":/workspace/copied"), cp(os.path.join(workspace, "a"), box + ":copied2"), cp("-", box + ":/tmp/copied"), cp(os.path.join(d.folder, "tree"), box + ":/workspace/tree"), cp(os.path.join(d.folder, "bad"), box + ":/workspace/bad")]
    check("carrel cp: a file is judged, and each file of a directory", [g.returncode == 0 for g in got] == [True, True, False, True, False] and all(b"sandbox_policy_denied" in g.stderr for g in (got[2], got[4]))
          and os.path.exists(os.path.join(workspace, "copied2")) and sorted(os.listdir(os.path.join(workspace, "tree", "sub"))) == ["f0", "f1", "f2"] and os.listdir(os.path.join(workspace, "bad", "sub")) == [], got)
    library(d, workspace, box)
    wrong = []
    for written, expected in (("1 /workspace/forged", 129), ("2 /workspace/forged", 129), ("1 /workspace/honest", 0)):
        caller = keeper_rig.caller_of(d.state)
        _, channel = caller.channel("file.write", id=box, writes=[written])
        path = b"/workspace/honest" if expected == 0 else b"/tmp/forged" if written[0] == "1" else b"/workspace/forged"
        channel.send(C_STDIN, struct.pack("=QIIII", 1, len(path), 0, 0, 0) + path + b"x" + struct.pack("=QIIII", 0, 0, 0, 0, 0))
        channel.wait()
        if channel.end["exit_code"] != expected:
            wrong.append((written, channel.end))
        caller.close()
    report("P33: a caller that writes another file than it announced writes nothing", wrong)
    check("  nor is it there", not os.path.exists(os.path.join(workspace, "forged")) and os.path.exists(os.path.join(workspace, "honest")), os.listdir(workspace))
    caller = keeper_rig.caller_of(d.state)
    check("  nor one that announces nothing, or what is no size and path", [caller.refused("file.write", id=box), caller.refused("file.write", id=box, writes=["/workspace/x"])] == ["capability_unavailable", "invalid_argument"])


def program(d, workspace, host):
    with open(host, "w", encoding="utf-8") as f:
        f.write(HOST + "commands: %s\n" % json.dumps({"validators": {"file.write": {"program": {"command": ["/usr/bin/python3", "-c", PROGRAM], "timeout_ms": 20000}}}}))
    d.reload()
    box = d.create(workspace=workspace, manifest={k: v for k, v in MANIFEST.items() if k != "metadata"}, start=True)
    at = "/v1/sandboxes/%s/files" % box
    got = [d.call("POST", at, batch(("p1", 1), ("p2", 2))), d.call("POST", at, batch(("p3", 1), ("denied", 2))), d.call("POST", at, batch(*[("p%d" % i, 1) for i in range(4, 21)]))]
    check("a program is asked for each file, and the first that it denies denies all", got[0].status == 204 and reason(got[1]) == "invalid" and "not 2" in got[1].json["error"]["message"] and reason(got[2]) == "validator_failed"
          and sorted(f for f in os.listdir(workspace) if f[0] == "p") == ["p1", "p2"], got)


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-validator-tools-", dir="/tmp") as workspace:
        os.chmod(workspace, 0o777)
        host = os.path.join(workspace, "host.yaml")
        with open(host, "w", encoding="utf-8") as f:
            f.write(HOST)
        with Daemon("--host", host) as d:
            box = d.create(workspace=workspace, manifest=MANIFEST, timeout_ms=600000, start=True)
            over_rest(d, workspace, "/v1/sandboxes/" + box)
            over_mcp(d, workspace, box)
            over_carrel(d, workspace, box)
            program(d, workspace, host)
    end()


if __name__ == "__main__":
    main()
