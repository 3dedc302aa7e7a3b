#!/usr/bin/env python3
# slow: 30 s: four scenes with floods, one after the other; a list changes 400 times in ./dev test --all
"""egress_daemon_test - sandboxes of one daemon beside each other: each has its own list, lists
change under a client that never pauses, floods of refused requests.

Everything happens in a network namespace of the test, as in egress_test.
"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, DEEP, check, end, until
from daemon_rig import Daemon, processes_of
from gate_rig import PRELUDE, Names, Origin, enter
from wire import head

HOST = {"providers": {"local": {"isolated": True, "egress": True}}, "resolvers": ["127.0.0.1:5300"], "private_networks": ["127.0.0.0/8", "::1/128"]}
FLIPS, EVERY = (400, 10) if DEEP else (160, 8)    # changes of a list, and after how many of them the client gets a moment with one list
FLOOD_S = 6 if DEEP else 3


def manifest(*egress):
    return {"provider": "local", "config": {}, "limits": {"timeout_ms": 280000}, "network": {"egress": list(egress)}}


def daemon_of(program=None):
    path = os.path.join(tempfile.mkdtemp(prefix="carrel-egress-"), "host.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump(HOST, f)
    return Daemon("--host", path, program=program)


def python(d, box, code, **more):
    return d.exec(box, ["python3", "-uc", PRELUDE + code], timeout=ALWAYS, **more)


def beside(d, w):
    a, b = d.create(manifest=manifest("a.test", "raw.test:2201")), d.create(manifest=manifest("b.test"))
    held = python(d, a, '''
s = socket.socket(socket.AF_UNIX); s.bind("\\0carrel-beside"); s.listen()
t = socket.socket(); t.bind(("0.0.0.0", 8080)); t.listen()
print(address("a.test"), address("raw.test"), talk(address("a.test"), 80, get("a.test"))[:15], flush=True)
time.sleep(200)
''', background=True)["exec"]
    until("the first one listens", lambda: "200" in d.must("GET", "/v1/sandboxes/%s/execs/%d/output" % (a, held)).get("stdout", ""))
    said = d.must("GET", "/v1/sandboxes/%s/execs/%d/output" % (a, held))["stdout"].split()
    before = len(w.a.said)
    r = python(d, b, '''
print("name", ask("a.test")[0] == 3)
mine = address("b.test")
for to in ("%s", "%s", mine):
    print(to, "200 OK" not in talk(to, 80, get("a.test"), 5))
print("proxy", " 200 " not in talk("198.18.0.1", 3128, b"CONNECT a.test:80 HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"))
print("raw", talk(mine, 2201, b"", 5) != "canary")
s = socket.socket(socket.AF_UNIX)
try: s.connect("\\0carrel-beside"); print("abstract", False)
except OSError: print("abstract", True)
for to in ("127.0.0.1", "198.18.0.1", "%s"): print("port", to, "E" in talk(to, 8080, b"x", 3))
print("mine", "200 OK" in talk(mine, 80, get("b.test")))
''' % (said[0], said[1], said[0]))
    lines = r.get("stdout", "").splitlines()
    check("a sandbox has nothing of another: names, addresses, proxy, listeners, abstract sockets", len(lines) == 11 and all(line.endswith(" True") for line in lines) and
          len(w.a.said) == before, r)
    for box in (a, b):
        d.must("DELETE", "/v1/sandboxes/" + box)


def flips(d, w):
    """A client that never pauses, and a list that changes all the time: what was confirmed to the
    caller that changed it holds for everything that starts later.
    """
    box = d.create(manifest=manifest("a.test", "b.test"))
    python(d, box, 'print(address("a.test"), address("b.test"))')
    lists = [[], ["a.test"], ["b.test"], ["a.test", "b.test"], [], ["b.test", "*.c.test"]]
    told = []                    # time of the request, time of the answer, list
    running = python(d, box, '''
a, b = address("a.test"), address("b.test")
print("ready", flush=True)
end_at = time.monotonic() + 250
def go(name, to):
    while time.monotonic() < end_at and not os.path.exists("/tmp/over"):
        begun = time.monotonic()
        got = talk(to, 80, get(name), 5) if to else talk("198.18.0.1", 3128, get(name).replace(b"GET /", b"GET http://" + name.encode() + b"/"), 5)
        print("%s %.6f %.6f %d" % (name, begun, time.monotonic(), "200 OK" in got), flush=True)
lot = [threading.Thread(target=go, args=one) for one in (("a.test", a), ("b.test", b), ("evil.test", a), ("evil.test", "198.18.250.250"), ("evil.test", None), ("a.test", None))]
for t in lot: t.start()
for t in lot: t.join()
''', background=True)["exec"]
    until("the client has its addresses", lambda: "ready" in d.must("GET", "/v1/sandboxes/%s/execs/%d/output" % (box, running)).get("stdout", ""))
    begin = time.monotonic()
    for i in range(FLIPS):
        wanted, asked = lists[i % len(lists)], time.monotonic()
        d.must("PUT", "/v1/sandboxes/%s/network" % box, {"egress": wanted})
        told.append((asked, time.monotonic(), wanted))
        if time.monotonic() - begin > 200:                  # a slow machine changes it less often
            break
        if i % EVERY == 0:
            time.sleep(0.05)                           # so that some attempts start and end under one list
    d.must("PUT", "/v1/sandboxes/%s/network" % box, {"egress": []})
    d.exec(box, ["touch", "/tmp/over"])
    d.must("GET", "/v1/sandboxes/%s/execs/%d/output?wait=true" % (box, running), timeout=ALWAYS)
    got = d.must("GET", "/v1/sandboxes/%s/execs/%d/output" % (box, running))
    out = got["stdout"]
    rows = [line.split() for line in out.splitlines() if line.count(" ") == 3]
    wrong, under = [], 0
    for name, begun, ended, served in rows:
        begun, ended = float(begun), float(ended)
        now = [k for k in range(len(told)) if told[k][1] < begun and (k + 1 == len(told) or told[k + 1][0] > ended)]
        if not now or begun > told[-1][1]:
            continue
        under += 1
        if served == "1" and name not in told[now[-1]][2]:
            wrong.append((name, begun, ended, told[now[-1]]))
    print("# %d changes, %d attempts, %d of them under one list, %d served" % (len(told), len(rows), under, sum(r[3] == "1" for r in rows)))
    check("a list that is changed again and again holds each time from the answer on", len(told) > 50 and under > 20 and not wrong and sum(r[3] == "1" for r in rows) > 20, wrong[:5], len(told), len(rows), under, got.get("stderr"))
    check("and a host that is on none of the lists is never reached", not w.evil.said and not [s for s in w.a.said + w.b.said if b"evil.test" in s], w.evil.said[:3])
    got = python(d, box, 'print(ask("a.test")[0], ask("b.test")[0])')
    check("and the last one is in force", got["stdout"].split() == ["3", "3"], got)
    d.must("DELETE", "/v1/sandboxes/" + box)


def size_kib(pid, word="VmRSS"):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(next(line for line in f if line.startswith(word)).split()[1])


def floods(d, w):
    """Any number of names that do not exist, and of refused connections: the keeper keeps a few,
    counts the rest, and has time for others.
    """
    loud, quiet = d.create(manifest=manifest("a.test", "*.c.test")), d.create(manifest=manifest("a.test"))
    for box in (loud, quiet):
        d.exec(box, ["true"])
    keeper = next(pid for name, pid in d.children().items() if "keeper" in name)
    before = size_kib(keeper)
    running = python(d, loud, '''
end_at = time.monotonic() + FLOOD_S
def names(k):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("198.18.0.1", 53)); s.setblocking(False)
    n = 0
    while time.monotonic() < end_at:
        label = ("%x-%d" % (n, k)).encode(); n += 1
        for tail in (b"\\4evil\\4test\\0", b"\\1c\\4test\\0"):
            try: s.send(b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + bytes([len(label)]) + label + tail + b"\\0\\1\\0\\1")
            except OSError: pass
        try:
            while True: s.recv(2000)
        except OSError: pass
    print("names", n, flush=True)
def connections():
    n = 0
    while time.monotonic() < end_at:
        s = socket.socket(); s.setblocking(False)
        s.connect_ex(("198.18.%d.%d" % (n // 256 % 256, n % 256), 81 if n % 2 else 443)); n += 1
        s.close()
    print("connections", n, flush=True)
for k in range(3):
    if os.fork() == 0: names(k); os._exit(0)
connections()
for k in range(3): os.wait()
'''.replace("FLOOD_S", str(FLOOD_S)), background=True)["exec"]
    until("the flood has begun", lambda: d.must("GET", "/v1/sandboxes/%s/denials" % loud)["items"])
    answered, state = 0, "running"
    while state == "running":
        got = d.exec(quiet, ["echo", "here"])
        answered += got["stdout"] == "here\n"
        state = d.must("GET", "/v1/sandboxes/%s/execs/%d" % (loud, running))["state"]
    out = d.must("GET", "/v1/sandboxes/%s/execs/%d/output" % (loud, running))["stdout"]
    items = d.must("GET", "/v1/sandboxes/%s/denials" % loud)["items"]
    most = size_kib(keeper, "VmHWM")
    print("# %s; %d commands of another sandbox answered meanwhile; keeper %d KiB before, %d at most" % (out.split(), answered, before, most))
    check("a flood of what is refused leaves the keeper to others, and its memory small", answered > 2 and most < before + 32 * 1024 and 0 < len(items) <= 64, answered, before, most, len(items))
    check("and the daemon is the one it was", d.children().get(next(n for n, p in d.children().items() if p == keeper)) == keeper, d.children(), d.log_text()[-2000:])
    # it gets a few new names a second, and the flood used them all
    until("who flooded is served again", lambda: python(d, loud, 'print("200 OK" in talk(address("a.test"), 80, get("a.test"), 20))')["stdout"] == "True\n")
    check("and who flooded is served again", True)
    disk = int(subprocess.run(["du", "-sk", d.state], stdout=subprocess.PIPE, check=True).stdout.split()[0])
    check("and little of it is on the disk", disk < 64 * 1024, "%d KiB" % disk)
    for box in (loud, quiet):
        d.must("DELETE", "/v1/sandboxes/" + box)


class FakeBox:
    """Takes the place of a box that was killed while no keeper ran, and sends any report about its
    wall.
    """

    def __init__(self, state, id):
        self.id, self.asked, self.ends = id, 0, 0
        path = os.path.join(state, "boxes", id, "sock")
        os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        os.chmod(path, 0o666)
        self.listener.listen(8)
        self.turns = iter(range(1 << 30))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer = self.listener.accept()[0]
            try:
                self.talk(peer)
            except OSError:
                pass
            self.ends += 1
            peer.close()

    def talk(self, peer):
        said = lambda kind, body=b"", fds=(): socket.send_fds(peer, [head(kind) + body], list(fds))  # noqa: E731
        said("BOX_HELLO", struct.pack("=Ii32sQQIIII", 3, os.getpid(), self.id.encode(), 1, 2 ** 64 - 1, 1, 0, 0, 0))
        for number in range(100):
            said("BOX_DENIED", struct.pack("=QIIQQIIHHI16s", 2 ** 64 - 1 - number, 2 ** 32 - 1, 7, 2 ** 64 - 1, 5, 2 ** 32 - 1, 2 ** 32 - 1, 65535, 77, 9, b"\xff" * 16) +
                 (b"\x1b[31m\xff\n\xc3\x1b]0;x" * 50)[:512])
        said("BOX_READY")
        while True:
            data = peer.recv(1 << 16)
            if not data:
                return
            if data[:8] != head("BOX_WALL"):
                continue
            self.asked += 1
            pipes = [fd for _ in range(4) for fd in os.pipe()]
            turn = next(self.turns) % 6
            if turn == 0:
                said("BOX_WALLED", struct.pack("=iI", 0, 0))
            elif turn == 1:
                said("BOX_WALLED", struct.pack("=iI", 0, 2 ** 32 - 1), pipes)
            elif turn == 2:
                said("BOX_WALLED", struct.pack("=iI", 0, 200) + bytes(1600), pipes[:2])
            elif turn == 3:
                said("BOX_WALLED", struct.pack("=iI", 0, 0), pipes[:7])
            elif turn == 4:
                said("BOX_WALLED", struct.pack("=iI", -2 ** 31, 0), pipes)
            else:
                said("BOX_WALLED", b"x" * 3)
            for fd in pipes:
                os.close(fd)
            peer.settimeout(1)                         # it closes, is called again, and sends the next report


def liars(d, w):
    """A box under an attacker's control talks to a keeper that finds it again."""
    bad, good = d.create(manifest=manifest("a.test")), d.create(manifest=manifest("a.test"))
    for box in (bad, good):
        d.exec(box, ["true"])
    d.stop()
    name = os.path.join(d.state, "boxes", bad)
    for pid, word in processes_of(d.state).items():
        links = ["/proc/%d/fd/%s" % (pid, fd) for fd in os.listdir("/proc/%d/fd" % pid)]
        if word == "carrel-box" and name in [os.readlink(link) for link in links if os.path.lexists(link)]:
            os.kill(pid, signal.SIGKILL)
    until("that box is gone", lambda: not [p for p in processes_of(name)])
    fake = FakeBox(d.state, bad)
    d.start()
    keeper = next(pid for name, pid in d.children().items() if "keeper" in name)
    until("it was asked for its wall", lambda: fake.asked > 5)
    told = d.call("GET", "/v1/sandboxes/%s/denials" % bad)
    text = json.dumps(told.json) if told.status == 200 else ""
    shown = subprocess.run([CARREL, "denials", "--state", d.state, bad], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ALWAYS)
    check("what a box says of refusals drives no terminal, and is text", "\\u001b" not in text and b"\x1b" not in shown.stdout + shown.stderr and "\\ufffd" not in text, told.status, text[:600], shown)
    got = python(d, good, 'print("200 OK" in talk(address("a.test"), 80, get("a.test"), 20))')
    check("walls that are none go to nobody, and the neighbour is served by the same keeper", got["stdout"] == "True\n" and keeper in d.children().values(), got, d.log_text()[-1500:], fake.asked, fake.ends)
    d.call("DELETE", "/v1/sandboxes/" + bad)
    d.must("DELETE", "/v1/sandboxes/" + good)


def limited(files):
    """A program that is `carrel` with this limit of descriptors."""
    path = os.path.join(tempfile.mkdtemp(prefix="carrel-few-"), "carrel")
    with open(path, "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nexec prlimit --nofile=%d:%d %s "$@"\n' % (files, files, CARREL))
    os.chmod(path, 0o755)
    return path


def few(d, w):
    """Few descriptors: sandboxes with lists, and names whose ports need listeners, work all the
    same, or report why not.
    """
    with daemon_of(limited(128)) as small:
        boxes = [small.create(manifest=manifest("a.test", "raw.test:2201")) for _ in range(8)]
        got = [python(small, box, 'print(talk(address("raw.test"), 2201, b"", 20), "200 OK" in talk(address("a.test"), 80, get("a.test"), 20))')["stdout"] for box in boxes * 2]
        check("a daemon whose processes have 128 descriptors each serves eight walls", got == ["canary True\n"] * 16, got)
    done = subprocess.run([limited(64), "serve", "--state", os.path.join(tempfile.mkdtemp(), "state")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ALWAYS)
    check("one that has too few says so", done.returncode != 0 and b"a process may open 64 files here" in done.stdout and b"ulimit" in done.stdout, done)


def main():
    enter()
    w = type("World", (), {})()
    w.names = Names({"a.test": ["127.0.0.2"], "b.test": ["127.0.0.3"], "raw.test": ["127.0.0.2"], "evil.test": ["127.0.0.66"]})
    w.a, w.b, w.evil = Origin("127.0.0.2", 80), Origin("127.0.0.3", 80), Origin("127.0.0.66", 80)
    w.raw = Origin("127.0.0.2", 2201, lambda peer: peer.sendall(b"canary"))
    with daemon_of() as d:
        for rows in (beside, flips, floods, liars, few) if len(sys.argv) < 2 else [globals()[word] for word in sys.argv[1:]]:
            try:
                rows(d, w)
            except Exception as e:                     # noqa: BLE001 - a row that breaks is a row that fails, and the others go on
                check("%s ran" % rows.__name__, False, repr(e), traceback.format_exc(), d.log_text()[-2000:])
    end()


if __name__ == "__main__":
    main()
