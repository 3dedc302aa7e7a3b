#!/usr/bin/env python3
"""http_smuggling_test - no request that two readers could frame in two ways passes the gate (G01,
G03, G04, G13).

Each vector is sent over the unix socket and over TCP, alone and followed by a complete request. The
gate itself refuses: with its own code, at most one answer, a closed connection, and no message to
the keeper.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from door_rig import Door, need_door
from box_rig import check, end

need_door()

H = b"Host: localhost\r\n"
A = b"Authorization: Bearer t\r\n"
G = b"GET /healthz HTTP/1.1\r\n" + H
P = b"POST /v1/sandboxes/a/pause HTTP/1.1\r\n" + H + A + b"Content-Type: application/json\r\n"
TE = P + b"Transfer-Encoding: chunked\r\n"
AFTER = b"GET /healthz HTTP/1.1\r\n" + H + b"\r\n"

GOOD = [
    ("a plain GET", G + b"Connection: close\r\n\r\n"),
    ("a chunked body", TE + b"Connection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    ("a chunked body in pieces", TE + b"Connection: close\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
    ("a chunk size of capital digits", TE + b"Connection: close\r\n\r\nA\r\n{        }\r\n0\r\n\r\n"),
    ("a body of known length", P + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"),
    ("no body", P + b"Content-Length: 0\r\nConnection: close\r\n\r\n"),
    ("blanks around a value", G + b"X: \t y \t\r\nConnection: close\r\n\r\n"),
    ("an empty value", G + b"X:\r\nConnection: close\r\n\r\n"),
    ("HTTP/1.0", b"GET /healthz HTTP/1.0\r\n" + H + b"\r\n"),
    ("an offer to upgrade", G + b"Upgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n"),
]

BAD = [
    # the vectors of the reference
    ("length and chunks", P + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("two lengths that differ", P + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    ("a length with a plus", P + b"Content-Length: +5\r\n\r\nhello"),
    ("a negative length", P + b"Content-Length: -5\r\n\r\nhello"),
    ("a hexadecimal length", P + b"Content-Length: 0x5\r\n\r\nhello"),
    ("a list of lengths", P + b"Content-Length: 5, 6\r\n\r\nhello"),
    ("a length with a blank in it", P + b"Content-Length: 5 5\r\n\r\nhello"),
    ("a length past 64 bits", P + b"Content-Length: 18446744073709551621\r\n\r\nhello"),
    ("a coding that ends in chunked", P + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ("chunked, then identity", P + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    ("two codings", P + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
    ("a blank before the colon of a coding", P + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    ("a coding in HTTP/1.0", b"POST /v1/sandboxes/a/pause HTTP/1.0\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("a folded header", G + b"X: a\r\n b\r\n\r\n"),
    ("a carriage return within a value", G + b"X: a\rContent-Length: 5\r\n\r\n"),
    ("line feeds alone", b"GET /healthz HTTP/1.1\nHost: localhost\n\n"),
    ("a NUL within a value", G + b"X: a\0b\r\n\r\n"),
    ("a blank before the first header", b"GET /healthz HTTP/1.1\r\n X: y\r\n" + H + b"\r\n"),
    ("a blank before a length", G + b"X: y\r\n Content-Length: 5\r\n\r\n"),
    ("a header without a colon", G + b"garbage\r\n\r\n"),
    ("a header without a name", G + b": x\r\n\r\n"),
    ("a name that is no token", G + b"A(b): x\r\n\r\n"),
    ("no Host", b"GET /healthz HTTP/1.1\r\n\r\n"),
    ("two Hosts", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"),
    ("carriage returns before a header", G + b"\r\rX: y\r\n\r\n"),
    ("a head that ends in half", G + b"X: y\r\n\rZ: 1\r\n\r\n"),
    ("version 1.10", b"GET /healthz HTTP/1.10\r\n" + H + b"\r\n"),
    ("version 2.0", b"GET /healthz HTTP/2.0\r\n" + H + b"\r\n"),
    ("tabs in the request line", b"GET\t/healthz\tHTTP/1.1\r\n" + H + b"\r\n"),
    ("a NUL in the target", b"GET /heal\0thz HTTP/1.1\r\n" + H + b"\r\n"),
    ("a chunk size with 0x", TE + b"\r\n0x5\r\nhello\r\n0\r\n\r\n"),
    ("a chunk size with an underscore", TE + b"\r\n0_5\r\nhello\r\n0\r\n\r\n"),
    ("a negative chunk size", TE + b"\r\n-5\r\nhello\r\n0\r\n\r\n"),
    ("a chunk size past 64 bits", TE + b"\r\nFFFFFFFFFFFFFFFF5\r\nhello\r\n0\r\n\r\n"),
    ("a chunk extension and a line feed", TE + b"\r\n5;a\nhello\r\n0\r\n\r\n"),
    ("a chunk that goes on", TE + b"\r\n5\r\nhelloXX0\r\n\r\n"),
    ("chunks with line feeds alone", TE + b"\r\n5\nhello\n0\n\n"),
    ("a head of 70 KB", G + b"X: " + b"a" * 70000 + b"\r\n\r\n"),
    ("ten thousand headers", G + b"".join(b"X%d: y\r\n" % i for i in range(10000)) + b"\r\n"),
    # similar vectors: lengths
    ("two lengths that agree", P + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
    ("an empty length", P + b"Content-Length: \r\n\r\n{}"),
    ("a length in quotes", P + b'Content-Length: "2"\r\n\r\n{}'),
    ("a length with a point", P + b"Content-Length: 2.0\r\n\r\n{}"),
    ("a length with an exponent", P + b"Content-Length: 2e0\r\n\r\n{}"),
    ("a length with a comma", P + b"Content-Length: 2,\r\n\r\n{}"),
    ("a length in Arabic digits", P + "Content-Length: ٢\r\n\r\n{}".encode()),
    ("a length with a vertical tab", P + b"Content-Length: \x0b2\r\n\r\n{}"),
    ("a length with a no-break blank", P + b"Content-Length: \xa02\r\n\r\n{}"),
    ("a length of nineteen digits", P + b"Content-Length: 0000000000000000002\r\n\r\n{}"),
    ("a blank before the colon of a length", P + b"Content-Length : 2\r\n\r\n{}"),
    ("a tab before the colon of a length", P + b"Content-Length\t: 2\r\n\r\n{}"),
    ("a length that is folded", P + b"Content-Length:\r\n 2\r\n\r\n{}"),
    ("an underscore beside a hyphen", P + b"Content_Length: 2\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("a length of 10 GiB", P + b"Content-Length: 10737418240\r\n\r\n{}"),
    ("a GET with a body", G + b"Content-Length: 5\r\n\r\nhello"),
    ("a GET with chunks", G + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    # codings
    ("chunks, then a length", P + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    ("chunked twice", P + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("chunked twice in one line", P + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ("identity, then chunked", P + b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n"),
    ("gzip, then chunked", P + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ("identity", P + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}"),
    ("an empty coding", P + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    ("a coding in quotes", P + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n'),
    ("a coding with a parameter", P + b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    ("a comma before chunked", P + b"Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
    ("a comma after chunked", P + b"Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"),
    ("a vertical tab before chunked", P + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
    ("a control byte after chunked", P + b"Transfer-Encoding: chunked\x1f\r\n\r\n0\r\n\r\n"),
    ("a coding that is folded", P + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ("chunked with a long s", P + "Transfer-Encoding: chunKed\u017f\r\n\r\n0\r\n\r\n".encode()),
    ("a carriage return before a coding", P + b"X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("Connection names the coding", P + b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("Connection names the length", P + b"Connection: Content-Length\r\nContent-Length: 2\r\n\r\n{}"),
    # chunks
    ("an empty chunk size", TE + b"\r\n\r\n{}\r\n0\r\n\r\n"),
    ("a chunk size with a plus", TE + b"\r\n+2\r\n{}\r\n0\r\n\r\n"),
    ("a blank before a chunk size", TE + b"\r\n 2\r\n{}\r\n0\r\n\r\n"),
    ("a blank after a chunk size", TE + b"\r\n2 \r\n{}\r\n0\r\n\r\n"),
    ("a chunk extension", TE + b"\r\n2;a=b\r\n{}\r\n0\r\n\r\n"),
    ("a chunk extension in quotes", TE + b'\r\n2;a="\r\n\r\n"\r\n{}\r\n0\r\n\r\n'),
    ("a chunk extension after the last", TE + b"\r\n2\r\n{}\r\n0;a\r\n\r\n"),
    ("a chunk size of nine digits", TE + b"\r\n000000002\r\n{}\r\n0\r\n\r\n"),
    ("a chunk size that is no hex", TE + b"\r\ng\r\n{}\r\n0\r\n\r\n"),
    ("a carriage return alone after a chunk size", TE + b"\r\n2\r{}\r\n0\r\n\r\n"),
    ("a line feed after a chunk", TE + b"\r\n2\r\n{}\n0\r\n\r\n"),
    ("no line end after a chunk", TE + b"\r\n2\r\n{}0\r\n\r\n"),
    ("a line feed after the last chunk", TE + b"\r\n2\r\n{}\r\n0\n\r\n"),
    ("trailers", TE + b"\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n"),
    ("a length as a trailer", TE + b"\r\n2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n"),
    ("chunks without an end line", TE + b"\r\n2\r\n{}\r\n0\r\nGET /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("two MB in chunks", TE + b"\r\n" + b"8000\r\n" + b" " * 0x8000 + b"\r\n" + (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 63 + b"0\r\n\r\n"),
    # lines
    ("an empty line first", b"\r\n" + AFTER),
    ("a line feed first", b"\n" + AFTER),
    ("a blank first", b" " + AFTER),
    ("a header that begins with a tab", G + b"\tX: y\r\n\r\n"),
    ("a line feed within a value", G + b"X: a\nY: b\r\n\r\n"),
    ("DEL within a value", G + b"X: a\x7fb\r\n\r\n"),
    ("ESC within a value", G + b"X: a\x1bb\r\n\r\n"),
    ("a blank within a name", G + b"X Y: z\r\n\r\n"),
    ("a name in quotes", G + b'"X": z\r\n\r\n'),
    ("a name with a high byte", G + b"X\xe9: z\r\n\r\n"),
    ("a name with a slash", G + b"X/Y: z\r\n\r\n"),
    ("a name with a comma", G + b"X,Y: z\r\n\r\n"),
    ("a name with a NUL", G + b"X\0: z\r\n\r\n"),
    ("an empty Host", b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"),
    ("two Hosts that agree", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"),
    ("a Host in another case beside it", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nhOST: evil\r\n\r\n"),
    ("two Authorizations", b"GET /v1/info HTTP/1.1\r\n" + H + A + A + b"\r\n"),
    ("two types", P + b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"),
    ("two Origins", G + b"Origin: http://localhost\r\nOrigin: http://evil\r\n\r\n"),
    # the request line
    ("no version", b"GET /healthz\r\n" + H + b"\r\n"),
    ("two blanks before the target", b"GET  /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("two blanks before the version", b"GET /healthz  HTTP/1.1\r\n" + H + b"\r\n"),
    ("a blank after the version", b"GET /healthz HTTP/1.1 \r\n" + H + b"\r\n"),
    ("a blank in the target", b"GET /heal thz HTTP/1.1\r\n" + H + b"\r\n"),
    ("a version in small letters", b"GET /healthz http/1.1\r\n" + H + b"\r\n"),
    ("version 1.2", b"GET /healthz HTTP/1.2\r\n" + H + b"\r\n"),
    ("version 0.9", b"GET /healthz HTTP/0.9\r\n" + H + b"\r\n"),
    ("version 01.1", b"GET /healthz HTTP/01.1\r\n" + H + b"\r\n"),
    ("version 1,1", b"GET /healthz HTTP/1,1\r\n" + H + b"\r\n"),
    ("another protocol", b"GET /healthz ICY/1.1\r\n" + H + b"\r\n"),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("absolute form", b"GET http://localhost/healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("authority form", b"CONNECT localhost:80 HTTP/1.1\r\n" + H + b"\r\n"),
    ("asterisk form", b"OPTIONS * HTTP/1.1\r\n" + H + b"\r\n"),
    ("OPTIONS", b"OPTIONS /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("TRACE", b"TRACE /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("HEAD", b"HEAD /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("PROPFIND", b"PROPFIND /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("an unknown method", b"BREW /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("a method in small letters", b"get /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("a method that is no token", b"G(T /healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("a target without a slash", b"GET healthz HTTP/1.1\r\n" + H + b"\r\n"),
    ("a target with a fragment", b"GET /healthz#x HTTP/1.1\r\n" + H + b"\r\n"),
    ("a target with a high byte", b"GET /healthz\xe9 HTTP/1.1\r\n" + H + b"\r\n"),
    ("a target with a backslash", b"GET /healthz\\x HTTP/1.1\r\n" + H + b"\r\n"),
    ("a target of 64 KB", b"GET /" + b"a" * 65536 + b" HTTP/1.1\r\n" + H + b"\r\n"),
    ("a target of 9 KB", b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + H + b"\r\n"),
    ("a header of a megabyte", G + b"X: " + b"a" * (1 << 20) + b"\r\n\r\n"),
    ("sixty-five headers", G + b"".join(b"X%d: y\r\n" % i for i in range(65)) + b"\r\n"),
    ("another expectation", P + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}"),
    ("a packed body", P + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
]

GATE = {"request_malformed": 400, "method_not_allowed": 405, "request_too_large": 413, "target_too_long": 414, "media_type_unsupported": 415,
        "expectation_failed": 417, "headers_too_large": 431, "http_version_unsupported": 505}


def answers(raw):
    return len(re.findall(rb"HTTP/1\.[01] \d\d\d ", raw))


def refused(raw):
    """What is wrong with a refusal, or nothing."""
    if raw.endswith(b"<quiet>"):
        return "the connection stays open"
    if answers(raw) != 1:
        return "%d answers" % answers(raw)
    status, (_, _, body) = int(raw[9:12]), raw.partition(b"\r\n\r\n")
    try:
        code = json.loads(body)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return "status %d without an error of ours: %r" % (status, body[:80])
    if GATE.get(code) != status:
        return "answered with %d %s" % (status, code)
    return b"Connection: close" not in raw and "it does not say that it closes"


with Door({"PAUSE": lambda keeper, call: {"id": "a", "status": "paused", "created_at_ms": 1}}) as door:
    for where in ("unix", "tcp"):
        wrong = []
        for name, data in GOOD:
            raw = door.raw(data, where)
            if answers(raw) != 1 or raw[9:12] not in (b"200", b"204") or raw.endswith(b"<quiet>"):
                wrong.append("%s: %r" % (name, raw[:200]))
        check("%d well-formed requests are served (%s)" % (len(GOOD), where), not wrong, *wrong[:10])
        before, wrong = len(door.keeper.calls), []
        for name, data in BAD:
            for what, sent in (("", data), (" with a request behind it", data + AFTER)):
                why = refused(door.raw(sent, where, 15))
                if why:
                    wrong.append("%s%s: %s" % (name, what, why))
        check("%d malformed ones are refused by the gate, once (%s)" % (len(BAD), where), not wrong, *wrong[:10])
        check("none of them reaches the keeper (%s)" % where, len(door.keeper.calls) == before, door.keeper.calls[before:])
    wrong = []
    for name, data in GOOD[:5]:
        for cut in range(1, len(data)):
            with door.connect() as s:
                s.sendall(data[:cut])
                s.sendall(data[cut:])
                got = s.recv(65536)
                if got[9:12] not in (b"200", b"204"):
                    wrong.append("%s cut at %d: %r" % (name, cut, got[:100]))
    check("a request may arrive in two pieces, cut anywhere", not wrong, *wrong[:5])
    raw = door.raw(AFTER * 99 + AFTER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    check("a hundred pipelined requests have a hundred answers", answers(raw) == 100, answers(raw))
    many = b"".join(b"GET /v1/sandboxes/s%d HTTP/1.1\r\n" % i + H + b"\r\n" for i in range(50))
    raw = door.raw(many + AFTER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    order = [c["fields"].get("id") for c in door.keeper.calls[-50:]]
    check("pipelined requests are answered in order, one after the other", answers(raw) == 51 and order == ["s%d" % i for i in range(50)], order, answers(raw))
    check("the door is as it was", door.process.poll() is None and door.ask("GET", "/healthz")[0] == 204)
    print("# %d malformed requests, each twice over two listeners" % len(BAD), file=sys.stderr)
end()
