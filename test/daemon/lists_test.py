#!/usr/bin/env python3
"""Lists in parts: limit and cursor of sandboxes, execs, denials, tokens and files. Every entry
once, in order, also across a restart, and when entries are removed meanwhile.
"""
import base64
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, need_programs
from daemon_rig import Daemon


def pages(d, path, limit, between=lambda: None):
    """Every entry, part by part, and the lengths of the parts."""
    entries, lengths, cursor = [], [], None
    while True:
        part = d.must("GET", "%s?limit=%d%s" % (path, limit, "&cursor=" + cursor if cursor else ""))
        entries += part["items"]
        lengths.append(len(part["items"]))
        cursor = part.get("next_cursor")
        if not cursor:
            return entries, lengths
        between()


def whole(d, path):
    answer = d.must("GET", path)
    check("%s: without a limit all of it comes, and no cursor" % path, "next_cursor" not in answer)
    return answer["items"]


def same(d, path, key, limits):
    all_of_it = [x[key] for x in whole(d, path)]
    for limit in limits:
        entries, lengths = pages(d, path, limit)
        check("%s: in parts of %d it is the same, in the same order" % (path, limit), [x[key] for x in entries] == all_of_it and all(n == limit for n in lengths[:-1]) and lengths[-1] > 0,
              lengths, entries)


def sandboxes(d):
    boxes = [d.create(name="b%02d" % i) for i in range(25)]
    same(d, "/v1/sandboxes", "id", (1, 7, 25, 1000))
    first = d.must("GET", "/v1/sandboxes?limit=10")
    d.must("DELETE", "/v1/sandboxes/" + boxes[9])              # the entry that the cursor names
    d.must("DELETE", "/v1/sandboxes/" + boxes[3])
    for how in ("entries have gone", "the daemon was started again"):
        rest = d.must("GET", "/v1/sandboxes?cursor=" + first["next_cursor"])["items"]
        got = [x["id"] for x in rest]
        check("a cursor holds when %s" % how, got[-15:] == boxes[10:] and set(got) <= set(boxes), got)
        d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
    second = d.must("GET", "/v1/sandboxes?limit=12")
    d.restart_parts(lambda: os.kill(d.children()["carrel-keeper"], signal.SIGKILL))
    got = [x["id"] for x in d.must("GET", "/v1/sandboxes?cursor=" + second["next_cursor"])["items"]]
    check("and goes on exactly where it stopped", got == [b for i, b in enumerate(boxes) if i not in (3, 9)][12:], got)
    for query in ("limit=0", "limit=1001", "limit=x", "cursor=x", "cursor=", "cursor=0000000000000005", "cursor=%30-", "limit=1&limit=2", "cursor=+5-"):
        got = d.call("GET", "/v1/sandboxes?" + query)
        check("%s is refused by name" % query, (got.status, got.code) == (400, "invalid_argument") and got.json["error"]["path"] in query, got)
    return boxes[0]


def execs(d, box):
    for _ in range(9):
        d.exec(box, ["true"])
    path = "/v1/sandboxes/%s/execs" % box
    same(d, path, "exec", (2, 9, 10))
    entries, _ = pages(d, path, 4, lambda: d.exec(box, ["true"]))
    numbers = [x["exec"] for x in entries]
    check("what begins meanwhile is at the end", numbers == sorted(set(numbers)) and numbers[:9] == list(range(1, 10)), numbers)


def tokens(d):
    for _ in range(7):
        d.must("POST", "/v1/tokens", {"scope": "read"})
    same(d, "/v1/tokens", "id", (1, 3, 100))
    all_of_it = [x["id"] for x in d.must("GET", "/v1/tokens")["items"]]
    first = d.must("GET", "/v1/tokens?limit=3")
    for id in all_of_it[1:4]:
        d.must("DELETE", "/v1/tokens/" + id)
    got = [x["id"] for x in d.must("GET", "/v1/tokens?cursor=" + first["next_cursor"])["items"]]
    check("tokens that were revoked meanwhile hide none", got == all_of_it[4:], got)


MAKE = "import os\nos.makedirs('/tmp/many/sub')\nfor i in range(5000):\n    open('/tmp/many/%s%05d' % ('sub/' if i %% 50 == 7 else '', i), 'w').close()\nopen(b'/tmp/many/\\xff', 'w').close()\n"
CHANGE = "import os, sys\nn = int(sys.argv[1])\nfor i in range(50):\n    open('/tmp/many/new%d-%d' % (n, i), 'w').close()\n    os.unlink('/tmp/many/%05d' % (50 * i)) if n == 1 else None\n"


def files(d, box):
    d.exec(box, ["python3", "-c", MAKE.replace("%%", "%")])
    path = "/v1/sandboxes/%s/files/list?path=/tmp/many&depth=2" % box

    def parts(limit, between=lambda: None):
        entries, lengths, cursor = [], [], ""
        while True:
            part = d.must("GET", "%s&limit=%d%s" % (path, limit, cursor and "&cursor=" + cursor))
            entries += [base64.b64decode(x["path"]) if x.get("encoding") else x["path"].encode() for x in part["items"]]
            lengths.append(len(part["items"]))
            if not part.get("next_cursor"):
                return entries, lengths
            cursor = part["next_cursor"]
            between()

    entries, lengths = parts(1000)
    whole_list = d.must("GET", path)
    want = sorted([b"\xff", b"sub"] + [b"%s%05d" % (b"sub/" if i % 50 == 7 else b"", i) for i in range(5000)], key=lambda p: p.split(b"/"))
    check("files in parts: all, in the order of names, a directory before what is in it", entries == want and lengths == [1000] * 5 + [2], lengths, entries[:3])
    check("without a limit all at once, without a cursor", len(whole_list["items"]) == 5002 and set(whole_list) == {"items"}, set(whole_list))
    turns = iter(range(100))

    def change():
        d.exec(box, ["python3", "-c", CHANGE, str(next(turns))])

    entries, _ = parts(700, change)
    kept = [p for p in want if not (b"/" not in p and p.isdigit() and int(p) % 50 == 0)]
    check("names that come and go meanwhile hide none that stay, and none comes twice", [p for p in entries if p in set(kept)] == kept and len(entries) == len(set(entries)),
          set(kept) - set(entries))
    for cursor in ("x", "6", "2e2e", "0000000000000005-", "6A"):
        got = d.call("GET", path + "&cursor=" + cursor)
        check("cursor=%s is refused" % cursor, (got.status, got.code) == (400, "invalid_argument"), got)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_files", "arguments": {"path": "/tmp/many", "limit": 3}}}
    first = d.must("POST", "/mcp?sandbox=" + box, call, headers={"Accept": "application/json, text/event-stream"})["result"]["structuredContent"]
    call["params"]["arguments"].update(limit=2, cursor=first["next_cursor"])
    second = d.must("POST", "/mcp?sandbox=" + box, call, headers={"Accept": "application/json, text/event-stream"})["result"]["structuredContent"]
    left = [p.decode() for p in want if b"/" not in p and p[:1].isdigit() and int(p) % 50][:5]
    check("over MCP, too", [x["path"] for x in first["items"] + second["items"]] == left, first, second)


def main():
    need_programs()
    with Daemon() as d:
        box = sandboxes(d)
        execs(d, box)
        tokens(d)
        files(d, box)
        check("denials take it, too", d.must("GET", "/v1/sandboxes/%s/denials?limit=2" % box) == {"items": []})
    end()


main()
