#!/usr/bin/env python3
"""resolvers_test - `resolvers` of the host file: only these name servers get a packet, whatever
/etc/resolv.conf names and whomever a command asks.
"""
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end
from gate_rig import Names, enter

NAMED = ("127.0.0.5", 5300)
MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nnetwork: {egress: [here.test]}\n---\n"
# a name of the allow list, one that is not on it, and questions to servers of the command's own choice
ASKS = r'''
import socket, struct, sys
for name in ("here.test", "other.test"):
    try:
        with socket.create_connection((name, 80), 5) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % name.encode())
            s.recv(4096)
    except OSError: pass
question = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\4here\4test\0" + struct.pack(">HH", 1, 1)
for to in sys.argv[1:]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.2)
        try:
            s.sendto(question, (to, 53))
            s.recv(512)
        except OSError: pass
print("asked")
'''


class Watch:
    """Every datagram and connection on lo to a port of a name server, as the kernel sends it."""

    def __init__(self):
        self.seen = set()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            packet = self.socket.recv(65536)[14:]
            if len(packet) < 24 or packet[0] >> 4 != 4 or packet[9] not in (6, 17):
                continue
            at = 4 * (packet[0] & 15)
            port = struct.unpack(">H", packet[at + 2:at + 4])[0]
            if port in (53, NAMED[1]):
                self.seen.add((socket.inet_ntoa(packet[16:20]), port))


def systems():
    """The first IPv4 name server of /etc/resolv.conf, made reachable: an address of lo."""
    with open("/etc/resolv.conf", encoding="ascii", errors="replace") as f:
        found = [w[1] for w in (line.split() for line in f) if len(w) > 1 and w[0] == "nameserver" and ":" not in w[1]]
    if found and not found[0].startswith("127."):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(found[0])))
    return found[0] if found else None


def ask(top, watch, rules, *servers):
    """Runs the questions in a sandbox with this host file; whom packets went to."""
    with open(os.path.join(top, "host.yaml"), "w", encoding="ascii") as f:
        json.dump({"providers": {"local": {"isolated": True, "mounts": True}}, **rules}, f)
    watch.seen.clear()
    done = subprocess.run([CARREL, "run", "--host", os.path.join(top, "host.yaml"), "--", "python3", "-c", ASKS, *servers], cwd=os.path.join(top, "work"),
                          env={**os.environ, "HOME": top}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done, set(watch.seen)


def main():
    system = systems()
    if not system:
        print("1..0 # SKIP /etc/resolv.conf names no IPv4 name server")
        return
    watch = Watch()
    named, other = Names({"here.test": ["127.0.0.1"]}, NAMED), Names({"here.test": ["127.0.0.1"]}, (system, 53))
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(os.path.join(top, "work"))
        with open(os.path.join(top, "work", "SANDBOX.md"), "w", encoding="ascii") as f:
            f.write(MANIFEST)
        done, seen = ask(top, watch, {})
        check("without `resolvers`, the server of /etc/resolv.conf is asked: this test would see it", "asked" in done.stdout and seen == {(system, 53)} and other.asked, done, seen)
        other.asked.clear()
        done, seen = ask(top, watch, {"resolvers": ["%s:%d" % NAMED]}, system, "127.0.0.53", "192.0.2.53")
        check("with `resolvers`, they are asked, and no other server gets a packet", "asked" in done.stdout and seen == {NAMED} and not other.asked, done, seen)
        check("and they are asked for names of the allow list alone", {name for name, _ in named.asked} == {"here.test"}, named.asked)
    end()


enter()
main()
