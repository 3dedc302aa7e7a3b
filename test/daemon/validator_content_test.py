#!/usr/bin/env python3
"""validator_content_test - rules of file.write that name `content` in the daemon: it is received
whole, judged, and what was judged is written, whichever API it comes through.
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
import audit_chain
import keeper_rig
from box_rig import ALWAYS, CARREL, TREE, check, end, need_programs, report, until
from daemon_rig import Daemon
from validator_tools_test import MCP, META, PROGRAM_OF_A_WRITER, reason
from wire import C_STDIN

HOST = "providers: {local: {isolated: true, mounts: true}}\nmount_roots: [/tmp]\n"
# The program denies what it finds in the content.
PROGRAM = "import json, sys; a = json.load(sys.stdin)['arguments']; sys.exit('evil' in a['content'] and (print('found in', a['path']) or 1))"
RULES = {"validators": {"file.write": {"arguments": {"required": ["content"], "properties": {"content": {"maxLength": 40000, "not": {"pattern": "forbidden"}}}}}}}
MANIFEST = {"provider": "local", "config": {}, "mounts": [{"source": "workspace", "at": "/workspace", "mode": "read-write"}], "metadata": {"carrel": {"commands": RULES}}}
MOST = 64 << 10


def put(path, content):
    return struct.pack("=QIIII", len(content), len(path), 0, 0, 0) + path + content


class Place:
    def __init__(self, d, workspace, box):
        self.d, self.workspace, self.box, self.at = d, workspace, box, "/v1/sandboxes/" + box

    def read(self, name):
        path = os.path.join(self.workspace, name)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as f:
            return f.read()


def over_rest(p):
    rest = MOST - 48 - len("/workspace/edge")
    rows = (
        ("put", b"fine\n", None), ("put", b"", None), ("put", b"this is forbidden", "invalid"), ("put", "\u00e4\u00f6".encode() * 15000, None), ("put", b"x" * 40001, "invalid"), ("put", b"\xff\xfe", "content_binary"),
        ("put", b"a\0b", "content_binary"), ("put", b"x" * (rest + 1), "content_too_long"), ("put", b"x" * (9 << 20), "content_too_long"), ("chunks", b"fine in chunks", None), ("chunks", b"it is forbidden too", "invalid"),
        ("chunks", b"x" * (rest + 1), "content_too_long"),
    )
    wrong = []
    for how, content, expected in rows:
        before = p.read("edge")
        got = p.d.call("PUT", p.at + "/files?path=/workspace/edge", content if how == "put" else iter([content[:5], content[5:]]))
        after = p.read("edge")
        if reason(got) != expected or expected and (got.status != 403 or got.code != "sandbox_policy_denied") or after != (before if expected else content):
            wrong.append((how, content[:20], expected, got, after and after[:20]))
    report("P33: %d bodies over REST are judged by their content, and written as they were judged" % len(rows), wrong)
    got = p.d.call("PUT", p.at + "/files?path=/workspace/edge", b"x" * (rest + 1))
    check("  a content that is too long names the bound", str(MOST) in got.json["error"]["message"], got)
    files = [{"path": "b1", "content": "fine"}, {"path": "b2", "content": "also\n", "mode": 0o755}]
    got = [p.d.call("POST", p.at + "/files", {"files": files}), p.d.call("POST", p.at + "/files", {"files": [{"path": "b3", "content": "fine"}, {"path": "b4", "content": "forbidden"}]})]
    check("  a batch too: all of it, or none", [reason(g) for g in got] == [None, "invalid"] and p.read("b2") == b"also\n" and os.stat(os.path.join(p.workspace, "b2")).st_mode & 0o777 == 0o755 and p.read("b3") is None, got)


def slow(p):
    """An upload that stops in the middle: nothing of the sandbox is held, and nothing is written."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(ALWAYS)
    s.connect(p.d.http)
    s.sendall(("PUT %s/files?path=slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\nhalf" % p.at).encode())
    got = p.d.call("PUT", p.at + "/files?path=slow", b"whole")
    check("a slow upload holds up no other writer of its path", got.status == 204 and p.read("slow") == b"whole", got)
    s.sendall(b" of it")
    head = s.recv(64)
    check("and is judged and written when all of it is there", head.startswith(b"HTTP/1.1 204") and p.read("slow") == b"half of it", head)
    s.close()


def over_mcp(p):
    def write(path, content):
        return p.d.call("POST", "/mcp?sandbox=" + p.box, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "write_files", "arguments": {"files": [{"path": path, "content": content}]}, "_meta": META}}, {**MCP, "Mcp-Name": "write_files"}).body
    got = write("mcp", "fine"), write("mcp2", "forbidden")
    check("through MCP", b'"isError":true' not in got[0] and p.read("mcp") == b"fine" and b"sandbox_policy_denied" in got[1] and p.read("mcp2") is None, got)


def over_carrel(p):
    env = {**os.environ, "CARREL_STATE": p.d.state}
    cp = lambda content, to: subprocess.run([CARREL, "cp", "-", p.box + ":" + to], env=env, input=content, capture_output=True, timeout=ALWAYS, check=False)  # noqa: E731
    os.makedirs(os.path.join(p.d.folder, "tree"))
    for name, content in (("a", "fine"), ("b", "also fine")):
        with open(os.path.join(p.d.folder, "tree", name), "w", encoding="ascii") as f:
            f.write(content)
    got = [cp(b"copied", "cp1"), cp(b"forbidden", "cp2"), cp(b"x" * MOST, "cp3"), subprocess.run([CARREL, "cp", os.path.join(p.d.folder, "tree"), p.box + ":/workspace/tree"], env=env, capture_output=True, timeout=ALWAYS, check=False)]
    check("carrel cp: a file, and each file of a directory", [g.returncode == 0 for g in got] == [True, False, False, True] and all(b"sandbox_policy_denied" in g.stderr for g in got[1:3]) and p.read("cp1") == b"copied"
          and p.read("cp2") is None and p.read("tree/b") == b"also fine", got)
    archive, source, program = os.path.join(TREE, "build-test", "include", "libcarrel.a"), os.path.join(p.d.folder, "writer.c"), os.path.join(p.d.folder, "writer")
    if not os.path.exists(archive) or not shutil.which("cc"):
        report("carrel_writer_open(): its content is judged", skip="there is no build-test/include/libcarrel.a, or no cc")
        return
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM_OF_A_WRITER)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-I", os.path.join(TREE, "include"), source, archive, "-lyaml", "-ljansson", "-o", program], check=True)
    run = lambda *files: subprocess.run([program, p.box, *files], env=env, stdout=subprocess.PIPE, check=False, text=True).stdout.split()  # noqa: E731
    got = [run("w1", "text", "w2", ""), run("w3", "text", "w4", "forbidden"), run("w5", "x" * MOST)]
    check("carrel_writer_open(): its content is judged with the commit", [g[0] for g in got] == ["0", "-1", "-1"] and [g[2:] for g in got] == [[], ["invalid"], ["content_too_long"]] and p.read("w1") == b"text" and p.read("w2") == b""
          and p.read("w3") is None, got)


def forged(p):
    """A caller of its own: what it sends behind the content that was judged is written nowhere."""
    caller = keeper_rig.caller_of(p.d.state)
    _, channel = caller.channel("file.write", id=p.box, input=put(b"/workspace/judged", b"fine") + struct.pack("=QIIII", 0, 0, 0, 0, 0))
    channel.send(C_STDIN, put(b"/workspace/judged", b"evil") + put(b"/workspace/forged", b"evil") + struct.pack("=QIIII", 0, 0, 0, 0, 0))
    channel.wait()
    check("P33: a content that changes after it was judged: exactly the judged bytes are written", channel.end["exit_code"] == 0 and p.read("judged") == b"fine" and p.read("forged") is None, channel.end)
    caller.close()
    caller = keeper_rig.caller_of(p.d.state)
    ends = struct.pack("=QIIII", 0, 0, 0, 0, 0)
    rows = ((put(b"/workspace/x", b"fine"), "invalid_argument"), (put(b"/workspace/x", b"fine") + ends + put(b"/workspace/forged", b"forbidden") + ends, "invalid_argument"),
            (struct.pack("=QIIII", 1 << 40, 12, 0, 0, 0) + b"/workspace/x" + ends, "invalid_argument"), (put(b"/workspace/\0x", b"fine") + ends, "sandbox_policy_denied"), (b"", "invalid_argument"), (b"x" * (MOST + 1), "invalid_argument"))
    wrong = [(i[:40], expected, got) for i, expected in rows for got in [caller.refused("file.write", id=p.box, input=i)] if got != expected]
    report("  a content that does not end, goes on behind its end, or lies about its length is refused", wrong)
    check("  and so is a call that announces a file and keeps its content back", caller.refused("file.write", id=p.box, writes=["4 /workspace/x"]) == "capability_unavailable" and p.read("x") is None)


def recorded(p):
    folder = os.path.join(p.d.state, "audit", "uid:%d" % os.getuid())

    def denied():
        return {"invalid", "content_binary", "content_too_long"} <= {e["output"]["reason"] for e in audit_chain.entries(folder) if e["action"] == "policy.denied"}
    check("each denial is in the audit log", until("the denials are recorded", denied))


def program(d, workspace, host):
    with open(host, "w", encoding="utf-8") as f:
        f.write(HOST + "commands: %s\n" % json.dumps({"validators": {"file.write": {"arguments": {"required": ["content"]}, "program": {"command": ["/usr/bin/python3", "-c", PROGRAM], "timeout_ms": 20000}}}}))
    d.reload()
    box = d.create(workspace=workspace, manifest={k: v for k, v in MANIFEST.items() if k != "metadata"}, start=True)
    p = Place(d, workspace, box)
    got = [d.call("PUT", p.at + "/files?path=p1", b"fine"), d.call("PUT", p.at + "/files?path=p2", b"evil")]
    check("a program that judges gets the content, if the rules name it", got[0].status == 204 and p.read("p1") == b"fine" and reason(got[1]) == "invalid" and "found in p2" in got[1].json["error"]["message"] and p.read("p2") is None, got)


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-validator-content-", dir="/tmp") as workspace:
        os.chmod(workspace, 0o777)
        host = os.path.join(workspace, "host.yaml")
        with open(host, "w", encoding="utf-8") as f:
            f.write(HOST)
        with Daemon("--host", host) as d:
            p = Place(d, workspace, d.create(workspace=workspace, manifest=MANIFEST, start=True))
            for part in (over_rest, slow, over_mcp, over_carrel, forged, recorded):
                part(p)
            program(d, workspace, host)
    end()


main()
