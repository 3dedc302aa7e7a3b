#!/usr/bin/env python3
"""egress_words_test - ways around the wall in the bytes of a permitted connection: a second TLS
greeting, many requests in one HTTP/2 connection.

As in egress_gate_test, each row has its control: the payload finds its way when the check that
stops it is switched off.
"""
import os
import socket
import ssl
import struct
import sys
import threading
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, report
from gate_rig import PRELUDE, Authority, Gate, Names, Origin, enter

# -- TLS that greets twice -----------------------------------------------------------------------------------------------

HELLO = r'''
def vector(width, data): return len(data).to_bytes(width, "big") + data
def extension(kind, data): return struct.pack(">H", kind) + vector(2, data)
def sni(name): return extension(0, vector(2, b"\0" + vector(2, name)))
def hello(name, share, more=b""):
    """A ClientHello of TLS 1.3: without a share for any group a server has to ask again."""
    shares = struct.pack(">H", 29) + vector(2, b"\x09" + bytes(31)) if share else b""
    body = b"\3\3" + b"r" * 32 + vector(1, b"s" * 32) + vector(2, b"\x13\1\x13\2") + vector(1, b"\0") + vector(2, (sni(name) if name is not None else b"") +
        extension(43, vector(1, b"\3\4")) + extension(10, vector(2, struct.pack(">H", 29))) + extension(13, vector(2, b"\4\3\x08\4\x08\5\x08\6\4\1")) +
        extension(51, vector(2, shares)) + more)
    return b"\1" + vector(3, body)
def records(data, piece=16384, kind=22): return b"".join(bytes([kind, 3, 3]) + vector(2, data[i:i + piece]) for i in range(0, len(data), piece))
EARLY = extension(42, b"") + extension(45, b"\1\1")
CHANGE = b"\x14\3\3\0\1\1"
def answer(s):
    """Types and randoms of the handshake records in clear text that come."""
    s.settimeout(30)
    got, found = b"", []
    try:
        while len(found) < 2:
            while len(got) < 5 or len(got) < 5 + int.from_bytes(got[3:5], "big"):
                more = s.recv(65536)
                if not more: return found
                got += more
            n = 5 + int.from_bytes(got[3:5], "big")
            if got[0] == 22: found.append("again" if got[11:15] == b"\xcf\x21\xad\x74" else "served")
            got = got[n:]
            if found and found[-1] == "served": return found
    except OSError as e: found.append(type(e).__name__)
    return found
def twice(second, between=b"", at_once=False, more=b"", name=b"api.test"):
    s = socket.create_connection((address("api.test"), 443), 60)
    first = records(hello(name, False, more))
    if at_once:
        s.sendall(first + between + second)
    else:
        s.sendall(first); s.settimeout(30)
        head = s.recv(5, socket.MSG_PEEK)
        s.sendall(between + second)
    return "served" in answer(s)
'''


class Tls:
    """A TLS server for api.test that has another site beside it. `asked`: the names in its
    greetings.
    """

    def __init__(self, authority, host="127.0.0.2", port=443, groups=None):
        self.asked = []
        context = authority.context("api.test", "evil.test")
        if groups:
            context.set_ecdh_curve(groups)
        context.sni_callback = lambda s, name, c: self.asked.append(name)
        self.origin = Origin(host, port, context=context)


def row(name, allow, code, told=()):
    """With the shipped program nothing opens, and `told` is reported; with the check of greetings
    off, it opens.
    """
    tell = "def tell(name, is_open): print('OPEN' if is_open else 'closed', name, flush=True)\n"
    r = Gate(allow).python(HELLO + tell + code + "\nprint('END')\n")
    c = Gate(allow, off="evidence,judge").python(HELLO + tell + code + "\nprint('END')\n")
    wrong = []
    if "END" not in r.out or "OPEN" in r.out:
        wrong.append("opened, or did not end: %r" % r)
    wrong += ["%s was not told: %r" % (t, r.denials) for t in told if t not in r.codes()]
    wrong += ["the control did not open %s: %r" % (line.split(" ", 1)[1], c) for line in c.out.splitlines() if line.startswith("closed")]
    if "END" not in c.out:
        wrong.append("the control did not end: %r" % c)
    report(name, wrong)


def greetings(authority):
    server = Tls(authority)
    row("H13 a second greeting is for the same name: at once, later, in pieces, behind early data", ["api.test"], '''
evil = hello(b"evil.test", True)
tell("later", twice(records(evil)))
tell("at once", twice(records(evil), at_once=True))
tell("behind a change of cipher", twice(records(evil), CHANGE))
tell("behind early data", twice(records(evil), CHANGE + records(b"e" * 5000, kind=23), more=EARLY))
tell("in pieces", twice(records(evil, 40)))
tell("in small ones, at once", twice(records(evil, 5), CHANGE, at_once=True))
tell("without a name", twice(records(hello(None, True))))
''', ("sni_mismatch", "sni_missing"))
    before = len(server.asked)
    r = Gate(["api.test"]).python(HELLO + '''
evil = hello(b"evil.test", True)
for piece in (1, 2, 7): print(twice(records(evil, piece)), twice(records(evil, piece), at_once=True))
''')
    check("H13 and no server hears another name", r.out == "False False\n" * 3 and "evil.test" not in server.asked[before:], r, server.asked[before:])
    r = Gate(["api.test"]).python(HELLO + '''
same = hello(b"api.test", True)
print(twice(records(same)), twice(records(same), at_once=True), twice(records(same), CHANGE), twice(records(same, 5), CHANGE + records(b"e" * 5000, kind=23), more=EARLY))
''')
    check("a second greeting for the same name is served", r.out == "True True True True\n" and not r.denials, r)
    Tls(authority, port=8443, groups="secp384r1")
    r = Gate(["api.test", "api.test:8443"]).python('''
for _ in range(3): print("200 OK" in tls(address("api.test"), "api.test", 8443), "200 OK" in tls(address("api.test"), "api.test"))
''')
    check("and so is a library whose server asks again", r.out == "True True\n" * 3 and not r.denials, r)
    quiet = threading.Event()

    def mute(peer):
        while peer.recv(4096):
            pass
        quiet.set()

    Origin("127.0.0.2", 8444, mute)
    r = Gate(["api.test", "api.test:8444"]).python(HELLO + '''
s = socket.create_connection((address("api.test"), 8444), 60)
s.sendall(records(hello(b"api.test", True))); time.sleep(0.3); s.shutdown(1); s.settimeout(30)
print(s.recv(10) == b"")
''')
    check("the end of a client that waits for its answer is passed on", quiet.wait(300) and r.out == "True\n", r)

    def short(peer):
        peer.recv(4096)

    Origin("127.0.0.2", 8445, short)
    r = Gate(["api.test", "api.test:8445"]).python(HELLO + '''
s = socket.create_connection((address("api.test"), 8445), 60)
s.sendall(records(hello(b"api.test", True))); s.settimeout(30)
print(s.recv(10) == b"")
''')
    check("and so is that of a server without an answer", r.out == "True\n", r)


# -- HTTP/2 in clear text ------------------------------------------------------------------------------------------------

FRAMES = r"""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ENDS, NO_END, PADDED, PRIORITY = 5, 4, 8, 32
GET, HTTP, SLASH = b"\x82", b"\x86", b"\x84"
def frame(kind, flags, stream, data=b""): return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data
def text(value):
    n = len(value)
    if n < 127: return bytes([n]) + value
    n -= 127; out = b"\x7f"
    while n >= 128: out += bytes([n % 128 + 128]); n //= 128
    return out + bytes([n]) + value
def number(prefix, bits, n):
    if n < (1 << bits) - 1: return bytes([prefix | n])
    n -= (1 << bits) - 1; out = bytes([prefix | ((1 << bits) - 1)])
    while n >= 128: out += bytes([n % 128 + 128]); n //= 128
    return out + bytes([n])
def authority(name, how=0x00): return number(how, {0x40: 6, 0x10: 4, 0x00: 4}[how], 1) + text(name)
def field(name, value, how=0x00): return bytes([how]) + text(name) + text(value)
def resize(n): return number(0x20, 5, n)
BEGIN = PREFACE + frame(4, 0, 0)
def request(stream, block, flags=ENDS): return frame(1, flags, stream, block)
def ask_h2(data, streams=(1,), host="api.test", wait=4):
    # What each stream was served by; the gate's own refusals, which are JSON and say whom they refuse, are none of it.
    s = socket.create_connection((address(host), 80), 60); s.settimeout(wait)
    got, bodies, is_acked = b"", {}, False
    try:
        s.sendall(data)
        while len(bodies) < len(streams):
            more = s.recv(65536)
            if not more: break
            got += more
            while len(got) >= 9 and len(got) >= 9 + int.from_bytes(got[:3], "big"):
                n, kind, flags, stream = int.from_bytes(got[:3], "big"), got[3], got[4], int.from_bytes(got[5:9], "big")
                if kind == 0 and n and got[9:10] != b"{": bodies[stream] = got[9:9 + n].decode()
                if kind == 4 and not flags and not is_acked: s.sendall(frame(4, 1, 0)); is_acked = True
                got = got[9 + n:]
    except OSError: pass
    s.close()
    return bodies
def evil(data, streams=(1,)): return any("evil" in b for b in ask_h2(data, streams).values())
"""


class Streams:
    """A cleartext HTTP/2 server with its own parser: it serves each request with the authority that
    the request named. Strict only where its table would break.
    """

    def __init__(self, host, port, table=4096):
        self.asked, self.table = [], table
        Origin(host, port, self.serve)

    def serve(self, peer):
        data, preface = b"", 24
        while len(data) < preface:
            data += peer.recv(65536) or (_ for _ in ()).throw(OSError())
        data = data[preface:]
        peer.sendall(b"\0\0\6\4\0\0\0\0\0" + struct.pack(">HI", 1, self.table))
        table = Table(self.table)
        block, at = b"", 0
        while True:
            while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
                more = peer.recv(65536)
                if not more:
                    return
                data += more
            n, kind, flags, stream = int.from_bytes(data[:3], "big"), data[3], data[4], int.from_bytes(data[5:9], "big")
            payload, data = data[9:9 + n], data[9 + n:]
            if kind == 1:
                pad = payload[0] if flags & 8 else 0
                payload = payload[(1 if flags & 8 else 0) + (5 if flags & 32 else 0):len(payload) - pad]
                block, at = payload, stream
            elif kind == 9:
                block += payload
            if kind not in (1, 9) or not flags & 4:
                continue
            fields = table.read(block)
            names = dict(fields)
            name = names.get(b":authority", names.get(b"host", b"nobody")).decode("latin-1")
            if b":method" not in names and b"host" not in names:
                continue                               # trailers
            self.asked.append(name)
            body = name.encode()
            peer.sendall(b"\0\0\1\1\4" + struct.pack(">I", at) + b"\x88" + struct.pack(">I", len(body))[1:] + b"\0\1" + struct.pack(">I", at) + body)


class Table:
    """HPACK without Huffman codes, which no payload here uses."""

    STATIC = [(b":authority", b""), (b":method", b"GET"), (b":method", b"POST"), (b":path", b"/"), (b":path", b"/index.html"), (b":scheme", b"http"), (b":scheme", b"https")] + \
        [(b"static-%d" % i, b"") for i in range(8, 38)] + [(b"host", b"")] + [(b"static-%d" % i, b"") for i in range(39, 62)]

    def __init__(self, most):
        self.most, self.size, self.entries = 4096, 4096, []
        self.most = most

    def number(self, data, at, bits):
        n, most = data[at] & ((1 << bits) - 1), (1 << bits) - 1
        at += 1
        if n < most:
            return n, at
        shift = 0
        while True:
            n += (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return n, at

    def text(self, data, at):
        n, at = self.number(data, at, 7)
        return data[at:at + n], at + n

    def evict(self):
        while sum(len(a) + len(b) + 32 for a, b in self.entries) > self.size:
            self.entries.pop()

    def find(self, i):
        return self.STATIC[i - 1] if i <= 61 else self.entries[i - 62]

    def read(self, data):
        at, found = 0, []
        while at < len(data):
            b = data[at]
            if b & 0x80:
                i, at = self.number(data, at, 7)
                found.append(self.find(i))
            elif b & 0x20 and not b & 0x40:
                self.size, at = self.number(data, at, 5)
                self.evict()
            else:
                i, at = self.number(data, at, 6 if b & 0x40 else 4)
                name = self.find(i)[0] if i else None
                if name is None:
                    name, at = self.text(data, at)
                value, at = self.text(data, at)
                found.append((name, value))
                if b & 0x40:
                    self.entries.insert(0, (name, value))
                    self.evict()
        return found


def h2_row(name, code, told=(), allow=("api.test", "two.test")):
    row(name, list(allow), FRAMES + code, told)


def streams():
    server, small = Streams("127.0.0.2", 80), Streams("127.0.0.3", 80, table=128)
    h2_row("H12 every stream of HTTP/2 is for the name that was looked up, however its head is written", '''
ok, no = GET + HTTP + SLASH + authority(b"api.test"), GET + HTTP + SLASH + authority(b"evil.test")
tell("the first", evil(BEGIN + request(1, no)))
tell("the second", evil(BEGIN + request(1, ok) + request(3, no), (1, 3)))
tell("the hundredth", evil(BEGIN + b"".join(request(1 + 2 * i, ok) for i in range(99)) + request(199, no), range(100)))
tell("a neighbour on the list", any("two" in b for b in ask_h2(BEGIN + request(1, ok) + request(3, GET + HTTP + SLASH + authority(b"two.test")), (1, 3)).values()))
tell("from the table", evil(BEGIN + request(1, GET + HTTP + SLASH + authority(b"api.test", 0x40) + field(b"x", b"y", 0x40)) + request(3, GET + HTTP + SLASH + authority(b"evil.test", 0x40)) + request(5, GET + HTTP + SLASH + b"\\xbe"), (1, 3, 5)))
tell("put into the table by another field", evil(BEGIN + request(1, ok + field(b":authorit", b"x", 0x40) + field(b"host", b"api.test")) + request(3, GET + HTTP + SLASH + authority(b"evil.test", 0x10)), (1, 3)))
tell("never indexed", evil(BEGIN + request(1, GET + HTTP + SLASH + authority(b"evil.test", 0x10))))
tell("padded", evil(BEGIN + request(1, b"\\x05" + no + bytes(5), ENDS | PADDED)))
tell("with a priority", evil(BEGIN + request(1, b"\\0\\0\\0\\0\\x10" + no, ENDS | PRIORITY)))
tell("with both", evil(BEGIN + request(1, b"\\x05\\0\\0\\0\\0\\x10" + no + bytes(5), ENDS | PRIORITY | PADDED)))
tell("in pieces", evil(BEGIN + frame(1, 1, 1, no[:4]) + frame(9, 0, 1, no[4:9]) + frame(9, 4, 1, no[9:])))
tell("by host alone", evil(BEGIN + request(1, GET + HTTP + SLASH + field(b"host", b"evil.test"))))
tell("a body before it", evil(BEGIN + frame(1, NO_END, 1, ok) + frame(0, 1, 1, b"b" * 16000) + request(3, no), (1, 3)))
''', ("host_mismatch",))
    h2_row("H12 a table of another size on either side is no other reading", '''
ok = GET + HTTP + SLASH + authority(b"api.test")
base = BEGIN + request(1, GET + HTTP + SLASH + authority(b"api.test", 0x40))
tell("a smaller one, announced", evil(base + request(3, resize(0) + resize(4096) + GET + HTTP + SLASH + authority(b"evil.test", 0x40)) + request(5, GET + HTTP + SLASH + b"\\xbe"), (1, 3, 5)))
tell("an entry larger than the table", evil(base + request(3, ok + field(b"big", b"b" * 5000, 0x40)) + request(5, GET + HTTP + SLASH + authority(b"evil.test", 0x40)) + request(7, GET + HTTP + SLASH + b"\\xbe"), (1, 3, 5, 7)))
''', ("host_mismatch",))
    r = Gate(["small.test"]).python(FRAMES + '''
ok = GET + HTTP + SLASH + authority(b"small.test", 0x40)
lot = [BEGIN + request(1, ok) + request(3, GET + HTTP + SLASH + authority(b"evil.test", 0x40) if k else GET + HTTP + SLASH + b"\\xbe" + field(b"f", b"v" * n, 0x40)) + request(5, GET + HTTP + SLASH + number(0x80, 7, 62 + i))
       for n in (10, 60, 100, 200, 5000) for i in range(3) for k in (0, 1)]
print(any("evil" in b for one in lot for b in ask_h2(one, (1, 3, 5), "small.test", 1).values()), ask_h2(BEGIN + request(1, ok), host="small.test"))
''')
    check("H12 a server whose table is smaller than what the client was told serves no other name", r.out.startswith("False ") and "evil.test" not in small.asked and "small.test" in small.asked, r, small.asked)
    before = len(server.asked)
    r = Gate(["api.test"]).python(FRAMES + '''
ok, no = GET + HTTP + SLASH + authority(b"api.test"), GET + HTTP + SLASH + authority(b"evil.test")
def tried(name, data, streams=(1,)): print(name, evil(data, streams))
first = BEGIN + request(1, ok)
tried("interrupted", BEGIN + frame(1, 0, 1, ok) + frame(6, 0, 0, bytes(8)) + frame(9, 4, 1, authority(b"evil.test")), (1, 3))
tried("interrupted by another", BEGIN + frame(1, 0, 1, ok) + request(3, no) + frame(9, 4, 1, b""), (1, 3))
tried("a flood of pieces", BEGIN + frame(1, 0, 1, ok) + frame(9, 0, 1) * 5000 + frame(9, 4, 1, field(b"host", b"evil.test")))
tried("trailers with an authority", BEGIN + frame(1, NO_END, 1, ok) + request(1, authority(b"evil.test")))
tried("trailers with a host", BEGIN + frame(1, NO_END, 1, ok) + request(1, field(b"host", b"evil.test")))
tried("two authorities", BEGIN + request(1, ok + authority(b"evil.test")))
tried("host disagrees", BEGIN + request(1, ok + field(b"host", b"evil.test")))
tried("two hosts", BEGIN + request(1, GET + HTTP + SLASH + field(b"host", b"api.test") + field(b"host", b"evil.test")))
tried("none", BEGIN + request(1, GET + HTTP + SLASH))
tried("capitals", BEGIN + request(1, ok + field(b"Host", b"evil.test")))
tried("an authority behind fields", BEGIN + request(1, GET + HTTP + SLASH + field(b"x", b"y") + authority(b"evil.test")))
tried("a user", BEGIN + request(1, GET + HTTP + SLASH + authority(b"api.test@evil.test")))
tried("a NUL", BEGIN + request(1, GET + HTTP + SLASH + authority(b"evil.test\\0.api.test")))
tried("a list", BEGIN + request(1, GET + HTTP + SLASH + authority(b"api.test, evil.test")))
tried("CONNECT", BEGIN + request(1, field(b":method", b"CONNECT") + authority(b"evil.test:80")))
tried("CONNECT here", BEGIN + request(1, field(b":method", b"CONNECT") + authority(b"api.test:80")))
tried("extended CONNECT", BEGIN + request(1, field(b":method", b"CONNECT") + field(b":protocol", b"websocket") + HTTP + SLASH + authority(b"evil.test")))
tried("a path for a proxy", BEGIN + request(1, GET + HTTP + field(b":path", b"http://evil.test/") + authority(b"api.test")))
tried("a path that breaks lines", BEGIN + request(1, GET + HTTP + field(b":path", b"/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n") + authority(b"api.test")))
tried("https", BEGIN + request(1, GET + b"\\x87" + SLASH + authority(b"evil.test")))
tried("an even stream", BEGIN + request(2, no))
tried("an old stream", BEGIN + request(5, ok) + request(3, no), (5, 3))
tried("stream 0", BEGIN + request(0, no))
tried("a push", first + frame(5, 4, 1, b"\\0\\0\\0\\2" + no), (1, 2))
tried("an unknown frame", first + frame(0x20, 0, 3, no) + request(3, no), (1, 3))
tried("no SETTINGS", PREFACE + request(1, no))
tried("an upgrade", first + b"GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
tried("a table beyond bounds", BEGIN + request(1, resize(1 << 30) + no))
tried("a size in the middle", BEGIN + request(1, GET + resize(0) + HTTP + SLASH + authority(b"evil.test")))
tried("an index that is not there", BEGIN + request(1, GET + HTTP + SLASH + number(0x80, 7, 70)))
tried("a long number", BEGIN + request(1, GET + HTTP + SLASH + b"\\xff" + b"\\xff" * 12))
tried("rapid resets", BEGIN + b"".join(request(1 + 2 * i, ok, NO_END) + frame(3, 0, 1 + 2 * i, bytes([0, 0, 0, 8])) for i in range(3000)) + request(6001, no), (6001,))
print("well", ask_h2(BEGIN + request(1, ok) + request(3, ok), (1, 3)))
''')
    opened = [line for line in r.out.splitlines() if not line.endswith(" False") and not line.startswith("well")]
    check("H12 what breaks the rules of HTTP/2 opens nothing, and a connection that keeps to them is served", not opened and r.out.endswith("well {1: 'api.test', 3: 'api.test'}\n"), r)
    r = Gate(["api.test"]).python(FRAMES + '''
def waits(name):
    # As grpc-go: no request before the server's SETTINGS have come.
    with socket.create_connection((address("api.test"), 80), 60) as s:
        s.settimeout(60)
        s.sendall(BEGIN)
        try:
            if take(s, 15)[3:4] != b"\\4": return "no SETTINGS"
            s.sendall(frame(4, 1, 0) + request(1, GET + HTTP + SLASH + authority(name)))
            while more := s.recv(65536):
                if b"api.test" in more or b"evil.test" in more: return b"api.test" if b"api.test" in more else b"evil.test"
            return "the end"
        except OSError as e: return errno.errorcode.get(e.errno)
print(waits(b"api.test"), waits(b"evil.test"))
''')
    check("a client that waits for the server's SETTINGS before its first request is served, and judged", r.out == "b'api.test' ECONNRESET\n" and r.codes() == ["host_mismatch"], r)
    check("H12 and the server heard of no other host", not [a for a in server.asked[before:] if a != "api.test"], server.asked[before:][-10:])


def main():
    enter()
    names = Names({"api.test": ["127.0.0.2"], "two.test": ["127.0.0.2"], "small.test": ["127.0.0.3"], "evil.test": ["127.0.0.66"]})
    authority = Authority()
    for rows in (lambda: greetings(authority), streams):
        try:
            rows()
        except Exception as e:                         # noqa: BLE001 - a row that breaks is a row that fails, and the others go on
            check("%s ran" % rows.__name__, False, repr(e), traceback.format_exc())
    end()


if __name__ == "__main__":
    main()
