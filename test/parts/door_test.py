#!/usr/bin/env python3
"""door_test - HTTP, REST and the port proxy, with a keeper and boxes that this test imitates.

Rows of the catalogue: G02 to G07, G09, G12, G13 of the daemon's API, C15, and E02 and E04 as far as
the door alone can break them.
"""
import base64
import http.server
import json
import os
import re
import resource
import select
import socket
import statistics
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import door_rig
from box_rig import PATIENCE, check, end, read_until, whole_answer
from test_clock import Clock
from door_rig import Channel, Door, Refuse, events, need_door, parse_answer
from wire import (C_FAILED as FAILED, C_RESIZE as RESIZE, C_STDERR as STDERR, C_STDIN_END as STDIN_END, C_STDOUT as STDOUT, ROWS, end_frame, frame,
                  started_frame)

need_door()

AUTH = {"Authorization": "Bearer t"}


def play(*frames, hear=None, reply=None):
    """An answer with a channel that sends these frames; `hear` gets the channel after everything
    was read from it.
    """
    def answer(keeper, call):
        channel = Channel()
        fd = channel.give()

        def run():
            try:
                channel.say(*frames)
                detached = channel.hear()
            except OSError:
                detached = False
            if hear:
                hear(channel, detached)
            channel.close()
        threading.Thread(target=run, daemon=True).start()
        return (reply or {"exec": 1, "state": "running"}), fd
    return answer


def soon(condition):
    """Whether it is true, now or soon."""
    end_at = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end_at:
        time.sleep(0.01)
    return condition()


def code(answer):
    try:
        return json.loads(answer[2])["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return answer[0]


# -- asking and answering -----------------------------------------------------------------------------------------------

def routes(door):
    bodies = {"EXTEND": {"duration_ms": 5}, "EVENT": {"event": "e"}, "TASK_BEGIN": {"task": "t", "timeout_ms": 5}, "EXEC": {"argv": ["true"]},
              "EXEC_SIGNAL": {"signal": 15}, "FILE_WRITE": {"files": [{"path": "a", "content": "b"}]}, "FILE_MKDIR": {"path": "a"},
              "FILE_MOVE": {"path": "a", "target": "b"}, "CREATE": {}, "CLAIM": {}, "TOKEN_CREATE": {}, "NETWORK": {"egress": ["a.example"]},
              "VOLUME_CREATE": {"name": "v"}, "CODE": {"language": "sh", "code": ":"}, "APPROVAL_ANSWER": {"verdict": "deny"}}
    queries = {"FILE_READ": "?path=a", "FILE_LIST": "?path=a", "FILE_STAT": "?path=a", "FILE_REMOVE": "?path=a"}
    wrong = []
    for op, _, method, route in ROWS:
        target = route.replace("{id}", "box").replace("{exec}", "7").replace("{port}", "80").replace("{task}", "t").replace("{name}", "v") + queries.get(op, "")
        before = len(door.keeper.calls)
        got = door.ask(method, target, bodies.get(op))
        calls = [c["op"] for c in door.keeper.calls[before:]]
        if calls != [op] or code(got) != "sandbox_not_found" or got[0] != 404:
            wrong.append((method, target, calls, got))
    check("every route of the table (%d) asks the keeper for its operation, once" % len(ROWS), not wrong and len(ROWS) > 25, *wrong)


def bodies(door):
    cases = (
        ({"nmae": "a"}, 400, "nmae", "name"), ({"name": 5}, 400, "name", "a string"), ({"name": ""}, 400, "name", "1 to 64"),
        ({"env": ["A=1"]}, 400, "env", "an object"), ({"env": {"A": 1}}, 400, "env", "an object of strings"), ({"env": {"A=B": "1"}}, 400, "env", "equals"),
        ({"ports": [0]}, 400, "ports", "1 to 65535"), ({"ports": 80}, 400, "ports", "an array"), ({"timeout_ms": -1}, 400, "timeout_ms", "whole number"),
        ({"timeout_ms": 1.5}, 400, "timeout_ms", "whole number"), ({"start": "yes"}, 400, "start", "true or false"),
        ({"manifest": "---\nschema: [\n"}, 422, None, None), ({"manifest": "a: &x 1"}, 422, None, None), (b"{", 400, None, None), (b"[]", 400, "", "object"),
        (b'{"name":"a","name":"b"}', 400, None, None), (b'{"name":"a\\u0000b"}', 400, None, None), ({"uid": 0}, 400, "uid", None), ({"token": "x"}, 400, "token", None),
        ({"metadata": "x" * 70000}, 400, "metadata", "0 to 65536"),
    )
    wrong = []
    for body, status, path, words in cases:
        got = door.ask("POST", "/v1/sandboxes", body, {"Content-Type": "application/json"})
        error = json.loads(got[2])["error"]
        if got[0] != status or (path is not None and error.get("path", "") != path) or (words and words not in error["message"]):
            wrong.append((body if len(str(body)) < 200 else "...", got))
    check("a body that is wrong is refused with the place and the reason (%d cases)" % len(cases), not wrong, *wrong)
    door.ask("POST", "/v1/sandboxes", {"name": "a", "env": {"B": "2", "A": "x=y"}, "ports": [80, 443], "metadata": {"k": [1, None, "ü"]}, "start": True,
                                       "manifest": "---\nschema: sandbox/v1\n---\nwords\n"}, {"Idempotency-Key": "k1"})
    call = door.keeper.calls[-1]
    pairs = [(n, v) for n, v in call["pairs"] if n != "manifest"]
    want = [("name", "a"), ("env", "B=2"), ("env", "A=x=y"), ("ports", 80), ("ports", 443), ("metadata", '{"k":[1,null,"ü"]}'), ("start", True), ("key", "k1"), ("uid", os.getuid())]
    check("a right one becomes a record, in its order", sorted(map(str, pairs)) == sorted(map(str, want)) and b"sandbox/v1" in call["fields"]["manifest"], pairs)


def next_steps(door):
    """The next step in an error is in terms of the interface: over HTTP, as HTTP requests."""
    door.keeper.answers["GET"] = lambda keeper, call: Refuse("sandbox_not_found", "there is no sandbox x", hint="`carrel ls` lists the sandboxes that exist.")
    door.keeper.answers["STOP"] = lambda keeper, call: Refuse("sandbox_not_found", "there is no sandbox x", hint="Its own hint.")
    table = (("GET", "/v1/sandboxes/x", {}, "unix", "GET /v1/sandboxes lists"), ("DELETE", "/v1/sandboxes/x", {}, "unix", "Its own hint."),
             ("GET", "/v1/sandboxes/x/execs/y", {}, "unix", "/v1/openapi.json"), ("GET", "/v1/sandboxes", {"Host": "evil.example"}, "unix", "Ask for localhost"),
             ("GET", "/v1/sandboxes", {"Origin": "http://evil.example"}, "unix", "Ask from a program"), ("GET", "/", {}, "ingress", "carrel url ID PORT"),
             ("GET", "/~%s/" % ("0" * 32), {}, "ingress", "carrel url ID PORT"))
    wrong = []
    for method, target, headers, where, words in table:
        got = door.ask(method, target, None, headers, where)
        if words not in json.loads(got[2])["error"]["hint"]:
            wrong.append((target, got))
    check("a refusal says what to do next, in the words of HTTP (%d cases)" % len(table), not wrong, *wrong)


def answers(door):
    door.keeper.answers["GET"] = lambda keeper, call: [("id", "a"), ("name", "n\u202e"), ("status", "running"), ("created_at_ms", 2**53 + 1), ("ports", 80), ("ports", 90),
                                                       ("metadata", '{"a":{"b":[1,2.5,null]}}'), ("warnings", {"code": "w", "message": "m"})]
    got = json.loads(door.ask("GET", "/v1/sandboxes/a")[2])
    check("a record becomes JSON: lists, the caller's own data, warnings", got["ports"] == [80, 90] and got["metadata"] == {"a": {"b": [1, 2.5, None]}} and
          got["warnings"] == [{"code": "w", "message": "m"}] and got["created_at_ms"] == 2**53 + 1, got)

    def parts(keeper, call):
        for i in range(5):
            keeper.reply(call["serial"], [("items", {"id": "s%d" % (2 * i), "status": "running", "created_at_ms": 1}),
                                          ("items", {"id": "s%d" % (2 * i + 1), "status": "running", "created_at_ms": 1})], more=i < 4)
    door.keeper.answers["LIST"] = parts
    got = json.loads(door.ask("GET", "/v1/sandboxes")[2])
    check("an answer in several parts is one list", [i["id"] for i in got["items"]] == ["s%d" % i for i in range(10)], got)

    def denials(keeper, call):
        keeper.reply(call["serial"], [("items", {"reason": "not_listed", "host": "a", "count": 1, "message": "m"})], more=True)
        keeper.reply(call["serial"], [("items", {"reason": "not_listed", "host": "b", "count": 1, "message": "m"}), ("denied_more", 7), ("next_cursor", "c")])
    door.keeper.answers["DENIALS"] = denials
    got = json.loads(door.ask("GET", "/v1/sandboxes/a/denials?limit=2")[2])
    check("what a list is answered with besides its entries stands behind them", ([i["host"] for i in got["items"]], got.get("denied_more"), got.get("next_cursor")) == (["a", "b"], 7, "c"), got)
    door.keeper.answers["STOP"] = lambda keeper, call: {"existed": 0}
    check("stop says whether there was one", json.loads(door.ask("DELETE", "/v1/sandboxes/a")[2]) == {"existed": False})
    door.keeper.answers["CREATE"] = lambda keeper, call: Refuse("sandbox_schema_invalid", "bad", at="network/egress/2", reason="range", line=3, column=4, hint="h")
    got = door.ask("POST", "/v1/sandboxes", {})
    check("an error of the keeper comes through whole", got[0] == 422 and json.loads(got[2])["error"] ==
          {"code": "sandbox_schema_invalid", "path": "network/egress/2", "line": 3, "column": 4, "reason": "range", "message": "bad", "hint": "h"}, got)
    got = door.ask("GET", "/v1/openapi.json")
    page = json.loads(got[2])
    check("openapi.json has every route", page["openapi"] == "3.1.0" and set(page["paths"]["/v1/sandboxes/{id}/files"]) == {"get", "post", "put", "delete"} and
          page["paths"]["/v1/sandboxes/{id}/execs"]["post"]["operationId"] == "exec.start" and "/healthz" in page["paths"], list(page["paths"]))
    got = door.ask("PUT", "/v1/sandboxes/a/execs")
    check("a route says which methods it has", got[0] == 405 and got[1].get("allow") == "POST, GET" and door.ask("GET", "/v2")[0] == 404, got)
    check("a path is decoded, and badly encoded ones are refused", door.ask("GET", "/v1/sandboxes/a%zz")[0] == 400 and door.ask("GET", "/v1/sandboxes/a%00b")[0] == 400)


# -- who may come in ----------------------------------------------------------------------------------------------------------

def origins(door):
    refused = [{"Host": h} for h in ("evil.example", "localhost.evil.example", "2130706433", "127.0.0.1.evil", "0.0.0.0", "localhost:99999999", "[::2]", "127.0.0.2", "user@localhost")]
    refused += [{"Origin": o} for o in ("http://evil.example", "null", "https://localhost", "http://localhost:81", "http://localhost.evil", "file://")]
    refused += [{"Sec-Fetch-Site": s} for s in ("cross-site", "same-site", "other")]
    wrong = []
    for where in ("unix", "tcp"):
        before = len(door.keeper.calls)
        for headers in refused:
            got = door.ask("GET", "/v1/sandboxes", headers={**AUTH, **headers}, where=where)
            if got[0] != 403 or any(name.startswith("access-control") for name in got[1]):
                wrong.append((where, headers, got))
        if len(door.keeper.calls) != before:
            wrong.append("a call reached the keeper")
        for host in ("localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:99"):
            got = door.ask("GET", "/healthz", headers={"Host": host, "Origin": "http://" + host}, where=where)
            if got[0] != 204 or "access-control-allow-origin" in got[1]:
                wrong.append((where, host, got))
    check("a foreign Host, Origin or site is refused before anything is looked at (G05, G06)", not wrong, *wrong)
    got = door.ask("GET", "/v1/events", headers={**AUTH, "Upgrade": "websocket", "Connection": "Upgrade, close", "Origin": "http://evil.example"}, where="tcp", timeout=3)
    check("an upgrade from a foreign page is refused (G07)", got[0] == 403, got)
    before, wrong = len(door.keeper.calls), []
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", None, "application/json; charset=latin-1"):
        got = door.ask("POST", "/v1/sandboxes", b"{}", {"Content-Type": kind, **AUTH}, where="tcp")
        if got[0] != 415:
            wrong.append((kind, got))
    check("what a form can send is not taken (G06)", not wrong and len(door.keeper.calls) == before, *wrong)
    got = door.ask("OPTIONS", "/v1/sandboxes", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, where="tcp")
    check("a preflight is not answered (G06)", got[0] == 405 and not any(n.startswith("access-control") for n in got[1]), got)


def tokens(door):
    door.keeper.answers["INFO"] = lambda keeper, call: {"version": "1"} if call["fields"].get("token") == "good" else Refuse("unauthenticated", "no such token")
    got = door.ask("GET", "/v1/info", where="tcp")
    check("TCP needs a token (G09)", got[0] == 401 and got[1].get("www-authenticate") == "Bearer" and code(got) == "unauthenticated", got)
    wrong = [v for v in ("", "Bearer", "Bearer ", "Basic good", "Bearer go od", "Bearer " + "a" * 300, "good") if door.ask("GET", "/v1/info", headers={"Authorization": v}, where="tcp")[0] != 401]
    check("an odd Authorization is no token", not wrong, *wrong)
    check("the right one is", door.ask("GET", "/v1/info", headers={"Authorization": "Bearer good"}, where="tcp")[0] == 200)
    began = time.monotonic()
    got = door.ask("GET", "/v1/info", headers={"Authorization": "Bearer bad"}, where="tcp")
    late = time.monotonic() - began
    check("a wrong one waits for its answer (G09)", got[0] == 401 and late >= 0.15, got, late)
    with Clock() as clock, Door(clock=clock) as moved:
        moved.keeper.answers["INFO"] = door.keeper.answers["INFO"]
        quick, alone, count = guesser(moved, clock)
    check("who guesses waits longer and longer, alone, and is let go", quick == 200 and alone and count == 5, quick, alone, count)
    before = len(door.keeper.calls)
    wrong = [q for q in ("token=good", "access_token=good", "a=b&token=good", "TOKEN=good") if door.ask("GET", "/v1/info?" + q, headers=AUTH, where="tcp")[0] != 401]
    check("a token in a URL is refused, even beside a right one (G09)", not wrong and len(door.keeper.calls) == before, *wrong)
    check("health needs none", door.ask("GET", "/healthz", where="tcp")[0] == 204)
    door.ask("GET", "/v1/info")
    check("over the unix socket the keeper hears the peer's user", door.keeper.calls[-1]["fields"].get("uid") == os.getuid() and "token" not in door.keeper.calls[-1]["fields"])


def guesser(door, clock):
    """(The other owner's answer meanwhile; whether it came while the guesser still waited; how many
    answers the guesser had.)
    """
    for _ in range(5):                         # on a machine that stops for seconds, one answer may be the other owner's turn
        with door.connect("tcp") as s:
            s.sendall(b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bad\r\n\r\n" * 10)
            quick = door.ask("GET", "/v1/info", headers={"Authorization": "Bearer good"}, where="tcp")[0]
            s.setblocking(False)
            try:
                got = s.recv(65536)
            except BlockingIOError:
                got = b""
            alone = got.count(b"HTTP/1.1 401") < 2
            end_at = time.monotonic() + PATIENCE
            while time.monotonic() < end_at:
                clock.move(10)                 # longer than any of them waits; the next one starts to wait when this one has its answer
                if not select.select([s], [], [], 0.02)[0]:
                    continue
                s.setblocking(True)
                more = s.recv(65536)
                got += more
                if not more:
                    break
        if alone:
            break
    return quick, alone, got.count(b"HTTP/1.1 401")


# -- commands -------------------------------------------------------------------------------------------------------------------

def execs(door):
    ask = lambda body, **more: door.ask("POST", "/v1/sandboxes/a/execs", body, **more)
    door.keeper.answers["EXEC"] = play(started_frame(3, 42), frame(STDOUT, b"out\xff\n", 0), frame(STDERR, b"err", 0), end_frame(5, out=5, err=3), reply={"exec": 3, "state": "starting", "command": "x", "task": "t"})
    got = ask({"argv": ["x"]})
    want = {"exec": 3, "command": "x", "state": "ended", "pid": 42, "task": "t", "outcome": "exited", "exit_code": 5, "stdout": "out\ufffd\n", "stderr": "err", "stdout_bytes": 5, "dropped_bytes": 0}
    body = json.loads(got[2])
    check("a command's end is answered with its output", got[0] == 200 and all(body.get(k) == v for k, v in want.items()), body)
    body = json.loads(door.ask("POST", "/v1/sandboxes/a/execs?encoding=base64", {"argv": ["x"]})[2])
    check("as base64 where that is asked for", base64.b64decode(body["stdout"]) == b"out\xff\n" and body["encoding"] == "base64", body)
    heard = []
    door.keeper.answers["EXEC"] = play(started_frame(4, 43), hear=lambda channel, detached: heard.append(detached))
    got = ask({"argv": ["x"], "background": True})
    soon(lambda: heard)
    check("in the background it is answered at once, and left to itself", got[0] == 201 and json.loads(got[2])["exec"] == 4 and heard == [True], got, heard)
    door.keeper.answers["EXEC"] = play(frame(FAILED, struct.pack("<IiI", 1, 2, 1)))
    got = ask({"argv": ["x"]})
    check("a command that is not there is a typed error", got[0] == 404 and code(got) == "command_not_found", got)
    door.keeper.answers["EXEC"] = play(started_frame(), end_frame(word="timed_out"))
    got = json.loads(ask({"argv": ["x"]})[2])
    check("a timeout says so", got["outcome"] == "timed_out" and got["exit_code"] == 124, got)

    def lost(keeper, call):
        channel = Channel()
        fd = channel.give()
        channel.say(started_frame(), frame(STDOUT, b"x"))
        channel.close()
        return {"exec": 1, "state": "running"}, fd
    door.keeper.answers["EXEC"] = lost
    got = json.loads(ask({"argv": ["x"]})[2])
    check("a channel that breaks off is one ending: lost", (got["state"], got["outcome"], got["exit_code"], got["stdout"], got["stdout_bytes"]) == ("ended", "lost", 125, "x", 1), got)
    got = events(ask({"argv": ["x"]}, headers={"Accept": "text/event-stream"})[2])
    check("so it is over events", [n for n, _ in got] == ["started", "stdout", "end"] and got[-1][1]["outcome"] == "lost", got)
    text = "aé€😀".encode() * 3
    pieces = [frame(STDOUT, text[i:i + 1], i) for i in range(len(text))]
    door.keeper.answers["EXEC"] = play(started_frame(), *pieces, frame(STDOUT, b"\xe2\x82", len(text)), frame(STDERR, b"\xf0\x9f", 10), end_frame(0, out=len(text) + 2, err=12))
    got = events(ask({"argv": ["x"]}, headers={"Accept": "text/event-stream"})[2])
    out = "".join(d["data"] for n, d in got if n == "stdout")
    check("events carry whole characters, whatever the pieces (E04)", out == text.decode() + "\ufffd" and [n for n, _ in got][0] == "started" and got[-1][0] == "end", got)
    check("and their offsets", all(text[d["offset"]:].startswith(d["data"].encode()) for n, d in got if n == "stdout" and "\ufffd" not in d["data"]), got)
    door.keeper.answers["EXEC"] = play(started_frame(), frame(STDOUT, b"abc", 0), frame(STDOUT, b"xyz", 100), end_frame(0, out=103, dropped=97))
    got = json.loads(ask({"argv": ["x"]})[2])
    check("a gap is told, not hidden", got["stdout"] == "xyz" and got["stdout_offset"] == 100 and got["dropped_bytes"] == 100, got)     # three of 103 bytes have arrived
    big = b"z" * 200000
    door.keeper.answers["EXEC"] = play(started_frame(), *[frame(STDOUT, big, i * len(big)) for i in range(30)], end_frame(0, out=30 * len(big)))
    got = json.loads(ask({"argv": ["x"], "keep_bytes": 4096})[2])
    check("of much output the newest is kept", got["stdout"] == "z" * 4096 and got["stdout_offset"] == 30 * len(big) - 4096, len(got["stdout"]), got["stdout_offset"])

    def waits(keeper, call):
        channel = Channel()
        fd = channel.give()
        channel.say(started_frame(9, 99), frame(STDOUT, b"serving\n"))

        def run():
            time.sleep(0.1)
            keeper.event(call["serial"], {"event": "port-open", "exec": 9, "port": 80})
            heard.append(channel.hear())
        threading.Thread(target=run, daemon=True).start()
        return {"exec": 9, "state": "starting"}, fd
    heard.clear()
    door.keeper.answers["EXEC"] = waits
    got = ask({"argv": ["x"], "wait_ports": True})
    soon(lambda: heard)
    check("with wait_ports a port that listens is the answer, and the command goes on", got[0] == 200 and json.loads(got[2])["state"] == "running" and
          json.loads(got[2])["stdout"] == "serving\n" and heard == [True], got, heard)


def count_of(door, op):
    """How often the keeper got this request."""
    return sum(call["op"] == op for call in door.keeper.calls)


def aborts(door):
    for what, headers in (("whole", ""), ("events", "Accept: text/event-stream\r\n")):
        gone = threading.Event()
        state = {}
        door.keeper.answers["EXEC"] = play(started_frame(), frame(STDOUT, b"x"), hear=lambda channel, detached: (state.update(detached=detached), gone.set()))
        s, before = door.connect(), count_of(door, "EXEC")
        body = b'{"argv":["x"]}'
        s.sendall(b"POST /v1/sandboxes/a/execs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s" % (headers.encode(), len(body), body))
        if what == "events":
            s.recv(10)
        else:
            soon(lambda: count_of(door, "EXEC") > before)  # noqa: B023
        s.close()
        check("a client who goes takes his foreground command with him: %s (C15)" % what, gone.wait(PATIENCE) and state["detached"] is False, state)
    waiting = threading.Event()

    def never(keeper, call):
        waiting.set()
    door.keeper.answers["EXEC"] = never
    s = door.connect()
    s.sendall(b"POST /v1/sandboxes/a/execs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n" + b'{"argv":["x"]}')
    waiting.wait(PATIENCE)
    serial = door.keeper.calls[-1]["serial"]
    s.close()
    soon(lambda: not (serial not in door.keeper.cancelled))
    check("and a call that nobody waits for any more is cancelled", serial in door.keeper.cancelled, door.keeper.cancelled)


def output(door):
    target = "/v1/sandboxes/a/execs/3/output"
    state = {}
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(3, 42), frame(STDOUT, b"0123456789"), frame(STDERR, b"e"), reply={"exec": 3, "state": "running", "stdout_bytes": 10, "stderr_bytes": 1},
                                              hear=lambda channel, detached: state.update(detached=detached))
    got = json.loads(door.ask("GET", target)[2])
    soon(lambda: state)
    check("a snapshot of a running command does not wait for its end", got["stdout"] == "0123456789" and got["stderr"] == "e" and got["state"] == "running" and state["detached"], got)
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(3, 42), frame(STDOUT, b"789", 7), end_frame(0, out=10))
    got = json.loads(door.ask("GET", target + "?wait=true&stdout_offset=7")[2])
    check("waiting gives the end, from an offset on", got["stdout"] == "789" and got["stdout_offset"] == 7 and got["outcome"] == "exited" and
          door.keeper.calls[-1]["fields"]["stdout_offset"] == 7, got)
    data = os.urandom(3 << 20)
    pieces = [frame(STDOUT, data[i:i + 200000], i) for i in range(0, len(data), 200000)]
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(), frame(STDERR, b"no"), *pieces, end_frame(0, out=len(data)))
    got = door.ask("GET", target + "?stream=stdout", headers={"Accept": "application/octet-stream"})
    check("raw output is byte for byte what was printed (E03)", got[2] == data and got[1]["content-type"] == "application/octet-stream", len(got[2]))
    got = door.ask("GET", target + "?stream=x", headers={"Accept": "application/octet-stream"})
    check("another stream is refused, and an unknown option", got[0] == 400 and door.ask("GET", target + "?strem=stdout")[0] == 400, got)
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(), frame(STDERR, b"no"), frame(STDOUT, data[:100000]), end_frame(0, out=100000))
    got = events(door.ask("GET", target, headers={"Accept": "text/event-stream"})[2])
    check("and as events", b"".join(d["data"].encode() for n, d in got if n == "stderr") == b"no" and got[-1][0] == "end", len(got))


def inputs(door):
    heard = []
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(), hear=lambda channel, detached: heard.append((channel, detached)))
    data = os.urandom(1 << 20)
    got = door.ask("POST", "/v1/sandboxes/a/execs/3/stdin?end=true", data, {"Content-Type": "text/plain"})
    soon(lambda: heard)
    channel, detached = heard[0]
    check("standard input arrives whole, then its end", got[0] == 204 and channel.stdin() == data and (STDIN_END, b"") in channel.frames and detached, got, len(channel.stdin()))
    got = door.ask("POST", "/v1/sandboxes/a/execs/3/resize", {"rows": 24, "columns": 80})
    soon(lambda: len(heard) == 2)
    check("a terminal is resized", got[0] == 204 and (RESIZE, struct.pack("<HH", 24, 80)) in heard[1][0].frames and door.ask("POST", "/v1/sandboxes/a/execs/3/resize", {"rows": 24})[0] == 400, got)
    got = door.ask("POST", "/v1/sandboxes/a/execs/3/stdin?end=true")
    soon(lambda: len(heard) == 3)
    check("an end without bytes is an end", got[0] == 204 and (STDIN_END, b"") in heard[-1][0].frames, got, heard[-1][0].frames)
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(), end_frame(0))
    got = door.ask("POST", "/v1/sandboxes/a/execs/3/stdin", b"x", {"Content-Type": "text/plain"})
    check("input for what has ended is refused", got[0] == 400 and json.loads(got[2])["error"]["reason"] == "ended" or got[0] == 204, got)


# -- files ------------------------------------------------------------------------------------------------------------------------

def info(size, kind=1):
    return struct.pack("<QqII", size, 0, 0o644, kind)


def file_server(data):
    def answer(keeper, call):
        offset, length = call["fields"].get("offset", 0), call["fields"].get("length", 2**64 - 1)
        part = info(len(data)) + data[offset:offset + min(length, 1 << 30)]
        return play(started_frame(), *[frame(STDOUT, part[i:i + 100000], i) for i in range(0, len(part), 100000)], end_frame(0, out=len(part)))(keeper, call)
    return answer


def files(door):
    target = "/v1/sandboxes/a/files?path=/x%2Fy+z"
    data = os.urandom(700000)
    door.keeper.answers["FILE_READ"] = file_server(data)
    got = door.ask("GET", target)
    check("a file is read raw, with its length", got[0] == 200 and got[2] == data and got[1]["content-length"] == str(len(data)) and door.keeper.calls[-1]["fields"]["path"] == "/x/y z", got[0], got[1])
    wrong = []
    for value, first, last in (("bytes=0-0", 0, 1), ("bytes=10-19", 10, 20), ("bytes=699990-", 699990, 700000), ("bytes=-5", 699995, 700000), ("bytes=-9999999", 0, 700000), ("bytes=5-99999999", 5, 700000)):
        got = door.ask("GET", target, headers={"Range": value})
        if got[0] != 206 or got[2] != data[first:last] or got[1].get("content-range") != "bytes %d-%d/%d" % (first, last - 1, len(data)):
            wrong.append((value, got[0], got[1]))
    for value in ("bytes=5-4", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1", "bytes=", "bytes=--1", "bytes=-"):
        got = door.ask("GET", target, headers={"Range": value})
        if got[0] != 200 or got[2] != data:
            wrong.append((value, got[0], got[1]))
    got = door.ask("GET", target, headers={"Range": "bytes=700000-"})
    if got[0] != 416 or got[1].get("content-range") != "bytes */700000":
        wrong.append(got)
    check("ranges", not wrong, *wrong)
    door.keeper.answers["FILE_READ"] = lambda keeper, call: play(started_frame(), frame(STDERR, b"/x"), end_frame(2))(keeper, call)
    got = door.ask("GET", target)
    check("a file that is not there is file_not_found", got[0] == 404 and code(got) == "file_not_found" and b"/x" in got[2], got)
    wrong = []
    for number, status, name in ((21, 422, "not_a_file"), (30, 403, "sandbox_mount_read_only"), (28, 507, "storage_full"), (13, 403, "permission_denied"), (36, 422, "path_too_long"), (255, 500, "sandbox_backend_failed")):
        door.keeper.answers["FILE_READ"] = play(started_frame(), end_frame(number))
        got = door.ask("GET", target)
        if got[0] != status or code(got) != name:
            wrong.append((number, got))
    check("each errno of inside has its code", not wrong, *wrong)
    door.keeper.answers["FILE_READ"] = play(started_frame(), frame(STDOUT, info(100) + b"x" * 50), end_frame(0))
    raw = door.raw(b"GET /v1/sandboxes/a/files?path=x HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=20)
    check("a file that shrinks cuts the connection: what was promised is never padded", raw.endswith(b"x" * 50) and b"Content-Length: 100" in raw, raw[-80:])
    wrong = []
    for parts, status, name in (((end_frame(word="killed"),), 409, "canceled"), ((end_frame(13),), 403, "permission_denied")):
        door.keeper.answers["FILE_READ"] = play(started_frame(), frame(STDOUT, info(100)), *parts)
        got = door.ask("GET", target)
        if got[0] != status or code(got) != name:
            wrong.append((name, got))
    check("a file whose content does not begin is an error, not a cut answer", not wrong, *wrong)
    door.keeper.answers["FILE_READ"] = play(started_frame(), frame(STDOUT, info(0)), end_frame(0))
    check("  and an empty file is empty", door.ask("GET", target)[::2] == (200, b""), got)

    def entry(path, kind=1, target=b"", sys=0):
        return struct.pack("<QqIIIIiI", 5, 1700000000123456789, kind, 0o644, len(path), len(target), sys, 0) + path + target
    listing = entry(b"a") + entry(b"d", 2, sys=13) + entry(b"l", 3, b"a") + entry(b"n\xff") + entry(b"", 100)
    door.keeper.answers["FILE_LIST"] = play(started_frame(), *[frame(STDOUT, listing[i:i + 7], i) for i in range(0, len(listing), 7)], end_frame(0))
    got = json.loads(door.ask("GET", "/v1/sandboxes/a/files/list?path=.")[2])
    check("a listing, cut anywhere, is whole", [i["kind"] for i in got["items"]] == ["file", "directory", "link", "file"] and got["truncated"] is True and got["items"][2]["target"] == "a" and
          got["items"][1]["error"] == "permission_denied" and got["items"][0]["modified_at_ms"] == 1700000000123, got)
    check("a name that is no text comes as base64 (B20)", base64.b64decode(got["items"][3]["path"]) == b"n\xff" and got["items"][3]["encoding"] == "base64", got["items"][3])
    door.keeper.answers["FILE_STAT"] = play(started_frame(), frame(STDOUT, entry(b"a")), end_frame(0))
    check("stat is one entry", json.loads(door.ask("GET", "/v1/sandboxes/a/files/stat?path=a")[2])["mode"] == 0o644)
    door.keeper.answers["FILE_REMOVE"] = play(started_frame(), end_frame(2))
    check("removing nothing says so", json.loads(door.ask("DELETE", "/v1/sandboxes/a/files?path=a&recursive=true")[2]) == {"existed": False} and door.keeper.calls[-1]["fields"]["recursive"] == 1)
    door.keeper.answers["FILE_MKDIR"] = play(started_frame(), end_frame(17))
    check("making what is there is file_exists", door.ask("POST", "/v1/sandboxes/a/files/mkdir", {"path": "a"})[0] == 409)


def puts(door):
    got_files = []

    def write(keeper, call):
        channel = Channel()
        fd = channel.give()

        def run():
            try:
                channel.say(started_frame())
                is_whole = channel.hear_until(STDIN_END)
            except OSError:
                is_whole = False               # the client closed before the door had the channel
            got_files.append(channel.stdin() if is_whole else None)
            if is_whole:
                channel.say(end_frame(0))
            channel.close()
        threading.Thread(target=run, daemon=True).start()
        return {"exec": 1, "state": "running"}, fd
    door.keeper.answers["FILE_WRITE"] = write

    def parse(raw):
        out = []
        while raw:
            length, path_len, mode, flags, _ = struct.unpack_from("<QIIII", raw)
            if path_len == 0:
                return out, raw[24:]
            out.append((raw[24:24 + path_len], raw[24 + path_len:24 + path_len + length], mode if flags else None))
            raw = raw[24 + path_len + length:]
        return out, None
    data = os.urandom(5 << 20)
    got = door.ask("PUT", "/v1/sandboxes/a/files?path=big&mode=0755", data, {"Content-Type": "application/octet-stream"})
    check("a raw body of 5 MB is one file", got[0] == 204 and parse(got_files[-1]) == ([(b"big", data, 0o755)], b""), got)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(data[i:i + 65536]), data[i:i + 65536]) for i in range(0, len(data), 65536)) + b"0\r\n\r\n"
    got = parse_answer(door.raw(b"PUT /v1/sandboxes/a/files?path=c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks))
    check("so is one in chunks", got[0] == 204 and parse(got_files[-1]) == ([(b"c", data, None)], b""), got)
    got = door.ask("PUT", "/v1/sandboxes/a/files?path=e", b"", {"Content-Type": "text/plain"})
    check("an empty one is an empty file", got[0] == 204 and parse(got_files[-1]) == ([(b"e", b"", None)], b""), got)
    got = door.ask("PUT", "/v1/sandboxes/a/files?path=f&mode=644", b"", {"Content-Type": "text/plain"})
    check("a mode of decimal digits that means an octal one is refused", got[0] == 400 and b"0644, or 420" in got[2], got)
    got = door.ask("POST", "/v1/sandboxes/a/files", {"files": [{"path": "a", "content": "ü", "mode": 0o600}, {"path": "b", "content": base64.b64encode(b"\0\xff").decode(), "encoding": "base64"}]})
    check("a batch is written in one go", got[0] == 204 and parse(got_files[-1]) == ([(b"a", "ü".encode(), 0o600), (b"b", b"\0\xff", None)], b""), got)
    wrong = []
    for body, path in (({"files": []}, "files"), ({}, "files"), ({"files": [{"path": "a"}]}, "files/0/content"), ({"files": [{"path": "a", "content": "b"}, {"content": "x"}]}, "files/1/path"),
                       ({"files": [{"path": "a", "content": "%", "encoding": "base64"}]}, "files/0/content"), ({"files": [{"path": "a", "content": "b", "mod": 1}]}, "files/0/mod"), ({"files": [], "x": 1}, "files")):
        got = door.ask("POST", "/v1/sandboxes/a/files", body)
        if got[0] != 400 or json.loads(got[2])["error"].get("path") != path:
            wrong.append((body, got))
    check("a wrong batch names the place", not wrong, *wrong)
    count = len(got_files)
    s, before = door.connect(), count_of(door, "FILE_WRITE")
    s.sendall(b"PUT /v1/sandboxes/a/files?path=half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n" + b"x" * 50)
    soon(lambda: count_of(door, "FILE_WRITE") > before)
    s.close()
    soon(lambda: not (len(got_files) == count))
    check("a client who goes halfway ends no batch (Z23)", got_files[-1] is None and len(got_files) == count + 1, len(got_files))
    door.keeper.answers["FILE_WRITE"] = lambda keeper, call: Refuse("sandbox_read_only", "no")
    got = door.ask("PUT", "/v1/sandboxes/a/files?path=x", data, {"Content-Type": "text/plain"})
    check("a refusal comes before the body is read", got[0] == 403, got)
    with door.connect() as s:
        door.keeper.answers["FILE_WRITE"] = write
        s.sendall(b"PUT /v1/sandboxes/a/files?path=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
        first = read_until(s, b"\r\n\r\n")
        s.sendall(b"abc")
        rest = read_until(s, b"\r\n\r\n")
    check("100-continue is met", first.startswith(b"HTTP/1.1 100 ") and rest.startswith(b"HTTP/1.1 204"), first, rest)


# -- events, and holding out -----------------------------------------------------------------------------------------------------------

def watching(door):
    door.keeper.answers["WATCH"] = lambda keeper, call: []
    with door.connect() as s:
        s.sendall(b"GET /v1/events?id=a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = read_until(s, b"\r\n\r\n")
        serial = door.keeper.calls[-1]["serial"]
        door.keeper.event(serial, {"event": "created", "at_ms": 5, "id": "a"})
        got += read_until(s, b"}\n\n")       # skips the comment that may come first
    check("events come as they happen", b'event: created\ndata: {"event":"created","at_ms":5,"id":"a"}\n\n' in got, got)
    soon(lambda: not (serial not in door.keeper.cancelled))
    check("who stops listening is told to the keeper", serial in door.keeper.cancelled)


def usual_of(door, count, where="unix"):
    """The median of the times of some answers, in seconds: a busy machine delays single ones."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        door.ask("GET", "/healthz", where=where)
        took.append(time.monotonic() - began)
    return statistics.median(took)


def floods(door):
    patience = max(0.2, 20 * usual_of(door, 50))
    frames = [frame(STDOUT, b"f" * 262144, i * 262144) for i in range(400)]        # 100 MB
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(), *frames, end_frame(0))
    idle = [door.connect() for _ in range(20)]
    for s in idle:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"GET /v1/sandboxes/a/execs/1/output?stream=stdout HTTP/1.1\r\nHost: localhost\r\nAccept: application/octet-stream\r\n\r\n")
    time.sleep(1)
    before = door.memory_kb()
    usual = usual_of(door, 50)
    check("twenty readers who do not read cost a bounded memory and nobody's time (E02)", before < 40000 and usual < patience, before, usual, patience)
    for s in idle:
        s.close()
    door.keeper.answers["EXEC_ATTACH"] = play(started_frame(), *frames, end_frame(0))
    began = time.monotonic()
    with door.connect() as s:
        s.sendall(b"GET /v1/sandboxes/a/execs/1/output?stream=stdout HTTP/1.1\r\nHost: localhost\r\nAccept: application/octet-stream\r\nConnection: close\r\n\r\n")
        total, room = 0, bytearray(1 << 20)
        while True:
            got = s.recv_into(room)
            if not got:
                break
            total += got
    took = time.monotonic() - began
    check("a flood of 100 MB passes whole", total > 400 * 262144, total)
    print("# %d MB/s through the door (the channel is played in Python)" % (total / took / 1e6))


def slowloris(door, clock):
    """G02: 500 connections that send a byte now and then are closed in time; a good client is not
    affected.
    """
    slow, patience = [], max(0.2, 20 * usual_of(door, 50, "tcp"))
    for _ in range(500):
        s = door.connect("tcp")
        s.sendall(b"GET /")
        slow.append(s)
    took = []
    for said in range(18):
        clock.move(0.5)
        for s in slow[said % 50::50]:
            try:
                s.sendall(b"a")
            except OSError:
                pass
        before = time.monotonic()
        status = door.ask("GET", "/healthz", where="tcp")[0]
        took.append(time.monotonic() - before)
        if status != 204:
            break
    clock.move(2)
    closed, end_at = 0, time.monotonic() + PATIENCE
    for s in slow:
        s.settimeout(max(0.05, end_at - time.monotonic()))
        try:
            while s.recv(4096):
                pass
            closed += 1
        except ConnectionError:
            closed += 1
        except OSError:
            pass
        s.close()
    usual = statistics.median(took)
    check("500 slow heads are closed after ten seconds, and others are served meanwhile (G02)", closed == 500 and usual < patience and status == 204, closed, usual, patience, status)


def closed_of(sockets):
    """The indexes of those that have something to read, or have ended. (select cannot use
    descriptors above 1023.)
    """
    p = select.poll()
    for s in sockets:
        p.register(s, select.POLLIN)
    told = {fd for fd, _ in p.poll(0)}
    return [i for i, s in enumerate(sockets) if s.fileno() in told]


def crowd(door):
    """G02: a client that sends nothing keeps no other out, however many connections it opens."""
    many = [door.connect("tcp") for _ in range(1100)]
    status = [door.ask("GET", "/healthz", where=where)[0] for where in ("unix", "tcp")]
    closed = soon(lambda: len(closed_of(many)) >= 1100 - 128)
    check("of those who do not say who they are only the latest stay, and others are served (G02)", status == [204, 204] and closed, status, len(closed_of(many)))
    for s in many:
        s.close()


STREAM = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
OWNER_MAX = 256


def hold(door, count, where, text):
    """Opens connections that all request something without an end: (those that are served, the
    answers of those that were refused).
    """
    held, refused = [], []
    for i in range(count):
        s = door.connect(where)
        try:
            s.sendall((text(i) if callable(text) else text).encode())
        except OSError:
            pass                               # it was refused before it sent anything
        got = b""
        while b"\r\n\r\n" not in got:
            more = s.recv(4096)
            if not more:
                break
            got += more
        if got.startswith((b"HTTP/1.1 200", b"HTTP/1.1 101")):
            held.append(s)
            continue
        try:
            while more := s.recv(4096):
                got += more
            got += b"<end>"
        except OSError:
            got += b"<reset>"
        refused.append(got)
        s.close()
    return held, refused


def is_kind(raw):
    """Whether it is the answer to one connection too many: typed, with a time, and the end."""
    status, headers, body = parse_answer(raw.replace(b"<end>", b"").replace(b"<reset>", b""))
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError):
        return False
    return (status, error["code"], error.get("reason"), headers.get("retry-after"), headers.get("connection")) == (429, "quota_exceeded", "connections", "1", "close")


def tenants(door):
    """One tenant takes all it can: another is served (G02)."""
    door.keeper.answers.update(WATCH=lambda keeper, call: [], INFO=lambda keeper, call: [])
    held, refused = hold(door, 1060, "tcp", lambda i: STREAM % ("Authorization: Bearer a.%d\r\n" % (i % 5)))
    other = door.ask("GET", "/v1/info", headers={"Authorization": "Bearer b"}, where="tcp")
    check("a tenant has a quarter of the connections, with however many tokens; then a typed 429 and the end", len(held) == OWNER_MAX and len(refused) == 1060 - OWNER_MAX and
          all(is_kind(r) for r in refused), len(held), len(refused), refused[:1])
    check("another tenant is served meanwhile", other[0] == 200, other)
    held.pop().close()
    got = []
    check("and the first again, once he has let one go", soon(lambda: got.append(door.ask("GET", "/v1/info", headers={"Authorization": "Bearer a.9"}, where="tcp")) or got[-1][0] == 200), got[-1:])
    for s in held:
        s.close()
    held, refused = hold(door, OWNER_MAX + 4, "unix", STREAM % "")
    other = door.ask("GET", "/v1/info", headers={"Authorization": "Bearer b"}, where="tcp")
    check("so has a user at the unix socket, known as he comes", len(held) == OWNER_MAX and len(refused) == 4 and all(is_kind(r) for r in refused) and other[0] == 200,
          len(held), len(refused), refused[:1], other)
    for s in held:
        s.close()


def idlers(door):
    """Connections that are kept open give way to the next ones of their owner."""
    ask = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n\r\n"
    held = []
    for _ in range(OWNER_MAX):
        s = door.connect("tcp")
        s.sendall(ask)
        whole_answer(s)
        held.append(s)
    got = [door.ask("GET", "/v1/info", headers={"Authorization": "Bearer a.%d" % i}, where="tcp")[0] for i in range(3)]
    gone = closed_of(held)
    check("who keeps all his connections for later is served still: the oldest is closed for the new one", got == [200] * 3 and gone == [0], got, gone)
    for s in held:
        s.close()


def visitors(door):
    """The same for ports: a web socket counts for the owner of its sandbox."""
    ends = []

    def inside(keeper, call):
        mine, theirs = socket.socketpair()
        mine.sendall(b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        ends.append(mine)
        return {"owner": "tenant " + call["fields"]["token"][:1]}, theirs.detach()
    door.keeper.answers["PORT_CONNECT"] = inside
    upgrade = "GET /~%s/ HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    held, refused = hold(door, OWNER_MAX + 4, "ingress", lambda i: upgrade % ("a%d" % (i % 3)))
    others = hold(door, 3, "ingress", upgrade % "b")
    check("web sockets count for the owner of their sandbox, and another's ports are reached", len(held) == OWNER_MAX and len(refused) == 4 and all(is_kind(r) for r in refused) and
          len(others[0]) == 3, len(held), refused[:1], others)
    for s in held + others[0] + ends:
        s.close()


def hoard(door, count, token):
    """Bodies without their last byte: their connections."""
    head = "POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    many = []
    for i in range(count):
        s = door.connect("tcp")
        s.sendall((head % token(i)).encode())
        try:
            s.sendall(b" " * 999999)
        except OSError:
            pass
        many.append(s)
    return many


def hoarders(door):
    """Bodies without their last byte, from many connections: the bytes that are held are limited,
    and one owner's do not count for another (G02).
    """
    many = hoard(door, 120, lambda i: "x%d" % (i % 8))
    enough = 120 - (64 << 20) // 999999
    soon(lambda: len(closed_of(many)) >= enough)       # a connection that is not refused waits for its last byte
    refused, memory = closed_of(many), door.memory_kb()
    first = many[refused[0]].recv(12)
    check("bodies of many clients together have a bound", enough <= len(refused) < 120 and first == b"HTTP/1.1 503" and memory < 150000, len(refused), memory, first)
    for s in many:
        s.close()
    many = hoard(door, 30, lambda i: "y.%d" % i)
    enough = 30 - (16 << 20) // 999999
    soon(lambda: len(closed_of(many)) >= enough)
    refused = closed_of(many)
    said = parse_answer(b"\r\n\r\n".join(whole_answer(many[refused[0]]))) if refused else None
    other = door.ask("POST", "/v1/sandboxes", {"name": "a" * 60}, {"Authorization": "Bearer z"}, "tcp")
    check("one owner's have another, whatever his tokens: a typed 429; and another's are taken", len(refused) == enough and said[0] == 429 and
          json.loads(said[2])["error"]["reason"] == "bodies" and said[1].get("retry-after") == "1" and other[0] not in (429, 503), len(refused), said, other)
    for s in many:
        s.close()


# -- ports ------------------------------------------------------------------------------------------------------------------------------

class Inside(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen, go_on = [], threading.Semaphore(0)

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        Inside.seen.append((self.command, self.path, dict(self.headers.items()), body))
        if self.path in ("/events", "/one-by-one"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for i in range(3):
                self.wfile.write(b"data: %d\n\n" % i)
                self.wfile.flush()
                if self.path == "/one-by-one":
                    Inside.go_on.acquire(timeout=PATIENCE)
            self.close_connection = True
            return
        if self.path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
            return
        self.send_response(302 if self.path == "/go" else 200)
        if self.path == "/go":
            self.send_header("Location", "/there")
        self.send_header("Set-Cookie", "a=b; Domain=localhost; Path=/; domain=.x")
        self.send_header("Strict-Transport-Security", "max-age=1")
        self.send_header("X-Mine", "yes")
        text = b"echo " + body
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_POST = do_HEAD = do_PUT = do_OPTIONS = do_PATCH = do_GET


def raw_inside(answer, keep=False):
    """A server inside that sends these bytes after a request."""
    def connect(keeper, call):
        mine, theirs = socket.socketpair()

        def run():
            asked = b""
            while b"\r\n\r\n" not in asked:
                more = mine.recv(65536)
                if not more:
                    break
                asked += more
            try:
                mine.sendall(answer)
                while keep and mine.recv(100):
                    pass
            except OSError:
                pass
            mine.close()
        threading.Thread(target=run, daemon=True).start()
        return {}, theirs.detach()
    return connect


def ports(door):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inside)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def connect(keeper, call):
        if call["fields"].get("token") != "tok":
            return Refuse("sandbox_policy_denied", "no port has this token")
        return {}, socket.create_connection(server.server_address).detach()
    door.keeper.answers["PORT_CONNECT"] = connect
    ask = lambda method, target, body=None, headers=None: door.ask(method, target, body, headers, where="ingress")
    tag = "c56f9b71944659fbd."                 # the cookie's name if it comes through the path of "tok"
    wrong = []
    for target, headers in (("/", {}), ("/~bad/", {}), ("/~/", {}), ("/~to%6b/", {}), ("/", {"Host": "bad.localhost"}), ("/", {"Host": "tok.evil.example"}), ("/", {"Host": "evil.example"}),
                            ("/", {"X-Carrel-Token": "bad"}), ("/", {"X-Carrel-Token": ""}), ("/~tok/", {"X-Carrel-Token": "bad"}), ("/?token=tok", {}), ("/tok/", {}), ("/~tok/", {"Host": "evil.example"})):
        got = ask("GET", target, headers=headers)
        if got[0] != 403:
            wrong.append((target, headers, got))
    check("no port is reached without its token (G12)", not wrong and not Inside.seen, *wrong)
    wrong = []
    for target, headers in (("/~tok/p?q=1", {}), ("/p?q=1", {"Host": "tok.localhost:99"}), ("/p?q=1", {"X-Carrel-Token": "tok"})):
        Inside.seen.clear()
        got = ask("POST", target, b"body", {"Content-Type": "text/plain", "X-Forwarded-For": "9.9.9.9", "Cookie": "c=d" if "~" not in target else "other=secret; %sc=d" % tag, "Connection": "close, X-Hop", "X-Hop": "1",
                                             "Referer": "http://x/~tok/p", **headers})
        method, path, sent, body = Inside.seen[0]
        text = json.dumps(sent)
        if (got[0] != 200 or got[2] != b"echo body" or path != "/p?q=1" or body != b"body" or "tok" in text or "X-Hop" in sent or sent.get("X-Forwarded-For") != "127.0.0.1" or
                sent.get("Cookie") != "c=d" or sent.get("X-Forwarded-Proto") != "http" or sent.get("Host") != "localhost"):
            wrong.append((target, got, sent))
    check("with it a request arrives, without the token and with where it came from", not wrong, *wrong)
    got = ask("GET", "/~tok/go")
    check("cookies lose their Domain, a location keeps the way, what binds the host is gone", got[1].get("set-cookie") == tag + "a=b; Path=/~tok/" and got[1].get("location") == "/~tok/there" and
          "strict-transport-security" not in got[1] and got[1].get("x-mine") == "yes" and got[1].get("referrer-policy") == "same-origin", got)
    wrong = [m for m in ("HEAD", "OPTIONS", "PATCH", "PUT") if ask(m, "/~tok/")[0] != 200]
    check("the methods of web applications pass", not wrong, *wrong)
    check("chunks pass, and a body without a length", ask("GET", "/~tok/chunks")[2] == b"hello world" and ask("GET", "/~tok/events")[2] == b"data: 0\n\ndata: 1\n\ndata: 2\n\n")
    with door.connect("ingress") as s:
        s.sendall(b"GET /~tok/one-by-one HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = []
        for i in range(3):                     # the next piece is sent only when this one has arrived
            got.append(read_until(s, b"data: %d\n\n" % i))
            Inside.go_on.release()
    check("each event is passed on when it comes", all(b"data: %d\n\n" % i in piece and b"data: %d" % (i + 1) not in piece for i, piece in enumerate(got)), got)
    with door.connect("ingress") as s:
        s.sendall((b"GET /~tok/a HTTP/1.1\r\nHost: localhost\r\n\r\n") * 5 + b"GET /~tok/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got = b""
        while True:
            more = s.recv(65536)
            if not more:
                break
            got += more
    check("a connection is kept for further requests", got.count(b"HTTP/1.1 200") == 6, got.count(b"HTTP/1.1 200"))
    data = os.urandom(2 << 20)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(data[i:i + 40000]), data[i:i + 40000]) for i in range(0, len(data), 40000)) + b"0\r\n\r\n"
    got_body = {}

    def collect(keeper, call):
        mine, theirs = socket.socketpair()

        def run():
            raw = b""
            while not raw.endswith(b"\r\n0\r\n\r\n") and (more := mine.recv(65536)):
                raw += more
            got_body["raw"] = raw
            mine.sendall(b"HTTP/1.1 204 x\r\n\r\n")
            mine.close()
        threading.Thread(target=run, daemon=True).start()
        return {}, theirs.detach()
    door.keeper.answers["PORT_CONNECT"] = collect
    got = parse_answer(door.raw(b"POST /~tok/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks, "ingress"))
    check("a body in chunks arrives whole", got[0] == 204 and door_rig.dechunk(got_body["raw"].partition(b"\r\n\r\n")[2]) == data, got)
    wrong = []
    for what, answer in (("no HTTP", b"hello\r\n\r\n"), ("a bare line feed", b"HTTP/1.1 200 OK\nX: y\n\n"), ("two lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
                         ("length and chunks", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), ("a carriage return in a value", b"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\n\r\n"),
                         ("nothing", b""), ("half a head", b"HTTP/1.1 200 OK\r\nX: "), ("a head of 64 KB", b"HTTP/1.1 200 OK\r\nX: " + b"a" * 65536 + b"\r\n\r\n"),
                         ("a protocol changed unasked", b"HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), ("status 99", b"HTTP/1.1 099 x\r\n\r\n"),
                         ("a folded header", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"), ("a NUL", b"HTTP/1.1 200 OK\r\nX: \0\r\n\r\n")):
        door.keeper.answers["PORT_CONNECT"] = raw_inside(answer)
        got = ask("GET", "/~tok/")
        if got[0] != 502 or code(got) != "port_answer_invalid":
            wrong.append((what, got))
    check("a server inside that does not speak HTTP is a 502, and none of its words come through (G12)", not wrong, *wrong)
    door.keeper.answers["PORT_CONNECT"] = raw_inside(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    raw = door.raw(b"GET /~tok/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "ingress", 20)
    check("an answer that is cut is cut for the client", raw.endswith(b"short") and b"Content-Length: 100" in raw, raw)
    door.keeper.answers["PORT_CONNECT"] = raw_inside(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n")
    got = ask("GET", "/~tok/")
    check("one request has one answer: what comes before it and behind it stays here", got[0] == 200 and got[2] == b"ok" and "link" not in got[1], got)
    door.keeper.answers["PORT_CONNECT"] = lambda keeper, call: Refuse("sandbox_policy_denied", "no port has this token")
    began = time.monotonic()
    got = door.ask("GET", "/~wrong/", where="ingress")
    check("a wrong token of a port waits for its answer", got[0] == 403 and time.monotonic() - began >= 0.15, got)
    door.keeper.answers["PORT_CONNECT"] = lambda keeper, call: Refuse("port_unreachable", "nothing answers on port 80")
    got = ask("GET", "/~tok/")
    check("where nothing listens it is a typed 502", got[0] == 502 and code(got) == "port_unreachable", got)
    sockets(door)
    before = len(door.keeper.calls)
    wrong = [t for t in (b"GET /~tok/ HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", b"GET /~tok/ HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", b"CONNECT /~tok/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                          b"POST /~tok/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") if b"HTTP/1.1 40" not in door.raw(t, "ingress")]
    check("the same gate stands before ports", not wrong and len(door.keeper.calls) == before, *wrong)
    server.shutdown()


def sleeper(door, clock):
    """A request to a port whose sandbox does not wake."""
    door.keeper.answers["PORT_CONNECT"] = lambda keeper, call: None
    s = door.connect("ingress")
    s.sendall(b"GET /~tok/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
    serial = soon(lambda: next((c["serial"] for c in door.keeper.calls if c["op"] == "PORT_CONNECT"), None))
    clock.move(29)
    door.ask("GET", "/healthz")
    check("it is given half a minute", serial and not closed_of([s]) and serial not in door.keeper.cancelled, serial)
    clock.move(2)
    raw = b""
    with s:
        while len(raw) < 1 << 20:
            more = s.recv(65536)
            if not more:
                break
            raw += more
    got = parse_answer(raw)
    check("a request to a sandbox that does not wake is told so after a while, and the keeper that nobody waits", got[0] == 503 and code(got) and "come up" in got[2].decode() and
          soon(lambda: serial in door.keeper.cancelled), got, serial)


def sockets(door):
    def echo(keeper, call):
        mine, theirs = socket.socketpair()

        def run():
            asked = b""
            while b"\r\n\r\n" not in asked and (more := mine.recv(65536)):
                asked += more
            echo.asked = asked
            mine.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nhello")
            while True:
                more = mine.recv(65536)
                if not more:
                    break
                mine.sendall(more.upper())
            echo.ended = True
            mine.close()
        threading.Thread(target=run, daemon=True).start()
        return {}, theirs.detach()
    echo.ended = False
    door.keeper.answers["PORT_CONNECT"] = echo
    upgrade = b"GET /~tok/ws HTTP/1.1\r\nHost: localhost:1\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: k\r\nOrigin: %s\r\n\r\n"
    with door.connect("ingress") as s:
        s.sendall(upgrade % b"http://localhost:1")
        got = read_until(s, b"\r\n\r\nhello")
        s.sendall(b"abc" * 100000)
        back = b""
        while len(back) < 300000 and (more := s.recv(65536)):
            back += more
    check("a web socket becomes a tunnel", got.startswith(b"HTTP/1.1 101") and b"Sec-WebSocket-Accept: x" in got and back == b"ABC" * 100000 and b"Origin: http://localhost\r\n" in echo.asked, got[:200], echo.asked)
    soon(lambda: not (not echo.ended))
    check("and ends with either side", echo.ended)
    raw = door.raw(upgrade % b"http://evil.example", "ingress", 3)
    check("a foreign page opens none (G07)", raw.startswith(b"HTTP/1.1 403"), raw[:100])


def closed_world(door):
    with open("/proc/%d/status" % door.process.pid, encoding="ascii") as f:
        status = f.read()
    check("the door has no capability and can gain none", re.search(r"CapEff:\s+0+\n", status) and re.search(r"CapPrm:\s+0+\n", status) and re.search(r"NoNewPrivs:\s+1", status), status)


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))      # more than a thousand connections are held; 1,024 is a common default
with Door() as the_door:
    for part in (routes, bodies, next_steps, answers, origins, tokens, execs, aborts, output, inputs, files, puts, watching, floods, ports, closed_world):
        try:
            part(the_door)
        except Exception as e:    # an exception in one part is one failed line; the others still run
            check("%s went through" % part.__name__, False, e, the_door.process.poll())
    check("no descriptor is left behind", the_door.descriptors() is None or soon(lambda: the_door.descriptors() < 40), the_door.descriptors())
    hoarders(the_door)
    with Clock() as the_clock, Door(clock=the_clock) as moved_door:
        sleeper(moved_door, the_clock)
        slowloris(moved_door, the_clock)
    crowd(the_door)
    for part in (tenants, idlers, visitors):
        part(the_door)
    check("no descriptor of them is left behind", the_door.descriptors() is None or soon(lambda: the_door.descriptors() < 40), the_door.descriptors())
    check("it is the same process still", the_door.process.poll() is None)
end()
