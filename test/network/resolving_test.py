#!/usr/bin/env python3
"""resolving_test - how the gate looks up addresses: the questions of one sandbox delay no other,
and each question ends.
"""
import os
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, check, end
from gate_rig import A, PRELUDE, Gate, Names, Origin, enter, read_name
from test_clock import Clock

SLOW_S = 0.6                                            # longer than the gate takes to be refused over TCP, shorter than it waits for an answer
AT, TCP_AT = ("127.0.0.5", 5300), ("127.0.0.6", 5300)


class Truncating:
    """Answers for names that begin with tc do not fit into a datagram; others are delayed. Over TCP
    everything is answered, if a server listens.
    """

    def __init__(self, at, listens):
        self.asked = self.asked_tcp = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(at)
        threading.Thread(target=self.serve, daemon=True).start()
        if listens:
            self.listener = socket.create_server(at)
            threading.Thread(target=self.accept, daemon=True).start()

    @staticmethod
    def answer(data, is_whole):
        name, at = read_name(data, 12)
        kind = struct.unpack(">H", data[at:at + 2])[0]
        found = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 60, 4) + socket.inet_aton("127.0.0.1") if kind == A and is_whole else b""
        return data[:2] + struct.pack(">HHHHH", 0x8180 | (0 if is_whole else 0x200), 1, 1 if found else 0, 0, 0) + data[12:at + 4] + found

    def serve(self):
        while True:
            data, client = self.socket.recvfrom(4096)
            if read_name(data, 12)[0].startswith("tc"):
                self.asked += 1
                self.socket.sendto(self.answer(data, False), client)
            else:
                threading.Timer(SLOW_S, self.socket.sendto, (self.answer(data, True), client)).start()

    def accept(self):
        while True:
            threading.Thread(target=self.talk, args=(self.listener.accept()[0],), daemon=True).start()

    def talk(self, peer):
        with peer, peer.makefile("rb") as said:
            while len(head := said.read(2)) == 2:
                self.asked_tcp += 1
                whole = self.answer(said.read(struct.unpack(">H", head)[0]), True)
                peer.sendall(struct.pack(">H", len(whole)) + whole)


BESIDE = r'''
stop = threading.Event()
def disturb(i):
    while not stop.is_set():
        talk(address("tc%d.here.test" % i), 80, get("tc%d.here.test" % i))
for i in range(4): threading.Thread(target=disturb, args=(i,), daemon=True).start()
said = []
def reach(i): said.append(talk(address("slow%d.here.test" % i), 80, get("slow%d.here.test" % i))[9:12])
for lot in range(3):
    threads = [threading.Thread(target=reach, args=(10 * lot + i,)) for i in range(10)]
    for t in threads: t.start()
    for t in threads: t.join()
stop.set()
print(sorted(said))
'''

AGAIN = r'''
to = address("again.test")
began, count = time.monotonic(), 0
while count < 200: count += talk(to, 80, get("again.test")).startswith("HTTP/1.1 200")
print(count, time.monotonic() - began)
'''


def truncated():
    deaf = Truncating(AT, False)
    r = Gate(["*.here.test"], resolvers=("%s:%d" % AT,)).python(BESIDE)
    check("a resolver that says `truncated` and takes no TCP makes no other question fail", r.out.strip() == str(["200"] * 30) and deaf.asked > 0, r)
    hears = Truncating(TCP_AT, True)
    r = Gate(["*.here.test"], resolvers=("%s:%d" % TCP_AT,)).python("print(talk(address('tc.here.test'), 80, get('tc.here.test'))[:12])")
    check("what does not fit into a datagram is asked for over TCP", r.out.strip() == "HTTP/1.1 200" and hears.asked_tcp > 0, r)


def time_to_live():
    names = Names({"again.test": ["127.0.0.1"]}, ttl=0)
    r = Gate(["again.test"]).python(AGAIN)
    count, took = r.out.split() if r.status == 0 else (0, 0)
    asked = [q for q in names.asked if q[0] == "again.test"]
    check("an answer is kept for a second at least, whatever it says", int(count) == 200 and len(asked) <= 2 * (int(float(took)) + 2), r, len(asked))


def denied_networks():
    """No name leads to a network that an operator denies, also if the name may be private."""
    Names({"open.test": ["127.0.0.1"], "closed.test": ["127.0.0.9"]}, at=("127.0.0.10", 5300))
    Origin("127.0.0.9", 80)
    host = {"providers": {"local": {"isolated": True, "egress": True}}, "denied_networks": ["127.0.0.9"]}
    for rules, answers in ((host, "open 200 closed 403"), ({"providers": host["providers"]}, "open 200 closed 200")):
        r = Gate(["open.test", "closed.test"], resolvers=("127.0.0.10:5300",), host=rules).python(DENIED)
        check("a listed name in a network that the operator %s" % ("denies is refused" if "denied_networks" in rules else "does not deny is reached"), r.out.strip() == answers, r)


DENIED = r'''
print("open", talk(address("open.test"), 80, get("open.test"))[9:12], "closed", talk(address("closed.test"), 80, get("closed.test"))[9:12])
'''


TUNNELS = r'''
def tunnel(target, more=b""):
    return talk("198.18.0.1", 3128, ("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode() + more)
for target in ("private.test:443", "nowhere.test:443", "closed.test:7001", "private.test:7001"): print(target, tunnel(target)[9:12])
print("good", tunnel("good.test:80", get("good.test"))[:19].split("\r")[0])
with socket.create_connection(("198.18.0.1", 3128)) as s:
    s.sendall(b"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\n\r\n")
    print("after", take(s, 39)[:12].decode())
    s.sendall(get("good.test"))
    print("inside", s.recv(15).decode())
with socket.create_connection(("198.18.0.1", 3128)) as s:
    s.sendall(b"CONNECT open.test:7002 HTTP/1.1\r\nHost: open.test:7002\r\n\r\nearly")
    print("early", take(s, 39)[:12].decode(), take(s, 5).decode())
'''


def tunnels():
    Names({"private.test": ["10.1.2.3"], "closed.test": ["127.0.0.1"], "good.test": ["127.0.0.1"], "open.test": ["127.0.0.1"]}, at=("127.0.0.7", 5300))
    Origin("127.0.0.1", 7002, lambda peer: peer.sendall(peer.recv(5).upper()))
    r = Gate(["private.test", "nowhere.test", "good.test", "closed.test:7001", "private.test:7001", "open.test:7002"], resolvers=("127.0.0.7:5300",)).python(TUNNELS)
    check("a CONNECT is answered by what became of it, and not before", r.out.splitlines() == [
        "private.test:443 403", "nowhere.test:443 502", "closed.test:7001 502", "private.test:7001 403", "good HTTP/1.1 200 Connec", "after HTTP/1.1 200", "inside HTTP/1.1 200 OK",
        "early HTTP/1.1 200 EARLY"], r)


PAIRS = r'''
def look(i): return "ok" if (got := ask_on("n%d.wild.test" % i) if i < 64 else ask("n%d.wild.test" % i))[0] == 0 and got[1] else "rcode %d" % got[0]
print([look(i) for i in range(64)].count("ok"), look(64))
old = address("n0.wild.test")
print("full"); sys.stdin.readline()
for i in range(1, 64): assert look(i) == "ok", i
print(look(65), talk(address("n65.wild.test"), 2201), talk(old, 2201))
'''


def pairs():
    """Names that have a listener of their own: 64 at once, and an idle one makes room."""
    Names({"n%d.wild.test" % i: ["127.0.0.1"] for i in range(70)}, at=("127.0.0.8", 5300))
    Origin("127.0.0.1", 2201, lambda peer: peer.sendall(b"here"))
    with Clock() as clock:
        g = Gate(["*.wild.test:2201"], resolvers=("127.0.0.8:5300",), program=os.path.join(clock.build, "carrel"), routed=False)
        p = subprocess.Popen(g.argv(sys.executable, "-uc", PRELUDE + PAIRS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(g.env, **clock.env))
        said = [p.stdout.readline(), p.stdout.readline()]
        clock.move(301)
        out, err = p.communicate(b"\n", timeout=ALWAYS)
    check("the 65th name with a port from 1024 on is refused with a reason of its own", said[0] == b"64 rcode 2\n" and b'"too_many_ports"' in err, said, err[-2000:])
    check("  and where one was idle for 5 minutes it makes room, and its address is in use no more", out == b"ok here ECONNREFUSED\n", out, err[-2000:])


def main():
    enter()
    Origin("127.0.0.1", 80)
    truncated()
    time_to_live()
    denied_networks()
    tunnels()
    pairs()
    end()


main()
