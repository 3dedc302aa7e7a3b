#!/usr/bin/env python3
"""Channels of `carrel mcp`, with a simulated keeper: a channel that is closed before or while the
server sends, as if its exec had ended, or as if the keeper died before its box received it.
"""
import json
import os
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, need_programs
from fake_keeper import STARTED, FakeKeeper
from wire import C_FAILED, end_frame, frame

BOX = "0123456789abcdef"
EACCES = 13


def closed(*frames):
    """A reply whose channel has these frames, and that the box has already closed."""
    def react(call):
        ours, theirs = socket.socketpair()
        ours.sendall(b"".join(frames))
        ours.close()
        call.reply({"exec": 1}, fds=[theirs.fileno()])
        theirs.close()
    return react


def tool(k, name, arguments):
    """The result of one tool, from a server of its own."""
    child = subprocess.Popen([CARREL, "mcp", "--state", k.state, "--sandbox", BOX], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}).encode() + b"\n")
    child.stdin.flush()
    said = child.stdout.readline()
    child.stdin.close()
    child.stdout.close()
    child.wait(timeout=PATIENCE)
    return json.loads(said)["result"]


def write(k):
    return tool(k, "write_files", {"files": [{"path": "/tmp/a", "content": "x" * 300000}]})


def code(said):
    return said["content"][0].get("_meta", {}).get("carrel/error", {}).get("code")


def rows(k):
    k.on("file.write", closed(STARTED, end_frame()))
    said = write(k)
    check("a write that ended before all of it was sent is reported as it ended", not said.get("isError"), said)
    k.on("file.write", closed(STARTED, end_frame(EACCES)))
    said = write(k)
    check("and so is one that was refused", code(said) == "permission_denied", said)
    k.on("file.write", closed(frame(C_FAILED, struct.pack("=IiI", 1, 11, 1))))
    said = write(k)
    check("one that could not start says why", said.get("isError") and "broke off" not in said["content"][0]["text"], said)
    for name, arguments, op in (("write_files", {"files": [{"path": "/tmp/a", "content": "x"}]}, "file.write"), ("exec", {"argv": ["cat"], "input": "x"}, "exec.start")):
        k.on(op, closed(), closed(), closed(), closed(STARTED, end_frame()))
        said = tool(k, name, arguments)
        keys = {fields.get("key") for called, fields in k.calls if called == op}
        check("%s is repeated with one key if the keeper died before the box got the channel" % name, not said.get("isError") and len(keys) == 1 and None not in keys, said, k.calls)
        k.on(op, closed())
        said = tool(k, name, arguments)
        check("%s has an end if no channel works" % name, code(said) == "sandbox_backend_failed", said)
        k.on(op, closed(STARTED))
        said = tool(k, name, arguments)
        check("%s that started is not repeated" % name, said.get("isError") and len([c for c in k.calls if c[0] == op]) == 1, said, k.calls)


need_programs()
with FakeKeeper() as keeper:
    rows(keeper)
end()
