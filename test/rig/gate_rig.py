"""A small internet for the gate's tests: a name server, and servers for http, https and plain
bytes, all on loopback addresses of the test's own network namespace.

Not a test. Call `enter()` first: it starts the program again, inside. Root creates a network
namespace; an ordinary user creates a user namespace too.
"""
import http.server
import json
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

from box_rig import ALWAYS, CARREL, SWITCHES, ROOT

DNS_AT = ("127.0.0.1", 5300)
ROUTED = os.environ.get("CARREL_TEST_ROUTED") == "1"    # every gate has its wall in its own namespace
A, AAAA, TXT, ANY = 1, 28, 16, 255


def enter():
    """Enters a network namespace in which lo is up and every port is free, on a host whose name is
    never looked up: programs look up their own host's name, and names in its domain.
    """
    if not os.environ.get("CARREL_GATE_RIG"):
        flags = ["-nu"] if ROOT else ["-rnu"]
        os.environ["CARREL_GATE_RIG"] = os.readlink("/proc/self/ns/uts")
        os.execvp("unshare", ["unshare", *flags, "--", sys.executable, *sys.argv])
    import fcntl
    if os.environ["CARREL_GATE_RIG"] != os.readlink("/proc/self/ns/uts"):      # the host's own keeps its name
        socket.sethostname("localhost")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))


def is_mapped(uid):
    """Whether this user exists in the current user namespace."""
    with open("/proc/self/uid_map", encoding="ascii") as f:
        return any(first <= uid < first + count for first, _, count in (map(int, line.split()) for line in f))


def pack_name(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.rstrip(".").split(".") if p) + b"\0"


def read_name(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    return ".".join(labels), at + 1


class Names:
    """A name server: `table` maps a name to addresses, or to a function that returns them. It
    records the questions.
    """

    def __init__(self, table, at=DNS_AT, ttl=0):
        self.table, self.asked, self.ttl, self.is_mute = table, [], ttl, False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(at)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            data, client = self.socket.recvfrom(4096)
            name, at = read_name(data, 12)
            kind = struct.unpack(">H", data[at:at + 2])[0]
            self.asked.append((name.lower(), kind))
            if self.is_mute:
                continue
            found = self.table.get(name.lower())
            found = found() if callable(found) else found
            answers = b""
            count = 0
            for address in found or ():
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                if kind == (AAAA if family == socket.AF_INET6 else A):
                    raw = socket.inet_pton(family, address)
                    answers += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, self.ttl, len(raw)) + raw
                    count += 1
            head = data[:2] + struct.pack(">HHHHH", 0x8180 | (0 if found is not None else 3), 1, count, 0, 0)
            self.socket.sendto(head + data[12:at + 4] + answers, client)


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 512


class Server6(Server):
    address_family = socket.AF_INET6


class Origin:
    """A server at an address: `said` is what each connection sent, `count` the number of
    connections.
    """

    def __init__(self, host, port, handle=None, context=None):
        self.said, self.count = [], 0
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                outer.count += 1
                peer = self.request
                try:
                    if context:
                        peer = context.wrap_socket(peer, server_side=True)
                    (handle or outer.http)(peer)
                except (OSError, ssl.SSLError):
                    pass

        self.server = (Server6 if ":" in host else Server)((host, port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def http(self, peer):
        """Answers each request with a copy of the request."""
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                more = peer.recv(65536)
                if not more:
                    return
                data += more
            head, _, data = data.partition(b"\r\n\r\n")
            self.said.append(head)
            length = 0
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            while len(data) < length and (more := peer.recv(65536)):
                data += more
            body, data = data[:length], data[length:]
            text = json.dumps({"head": head.decode("latin-1"), "body": len(body)}).encode()
            is_last = b"\r\nConnection: close" in head
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: application/json\r\n%s\r\n" % (len(text), b"Connection: close\r\n" if is_last else b"") + text)
            if is_last:
                return


class Authority:
    """A certificate authority and certificates from it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="carrel-ca-")
        self.path = os.path.join(self.folder, "ca.pem")
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=Carrel test",
                 "-keyout", "ca.key", "-out", "ca.pem", "-addext", "basicConstraints=critical,CA:TRUE")

    def run(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def context(self, *names):
        base = names[0].replace("*", "_")
        with open(os.path.join(self.folder, base + ".ext"), "w") as f:
            f.write("subjectAltName=" + ",".join("DNS:" + n for n in names) + "\n")
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + base, "-keyout", base + ".key", "-out", base + ".csr")
        self.run("x509", "-req", "-in", base + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", base + ".pem", "-extfile", base + ".ext")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, base + ".pem"), os.path.join(self.folder, base + ".key"))
        return context


class Result:
    def __init__(self, done):
        self.status, self.out = done.returncode, done.stdout.decode(errors="replace")
        self.err, self.report = done.stderr.decode(errors="replace"), None
        if "AddressSanitizer" in self.err or "runtime error" in self.err:
            raise AssertionError(self.err)
        at = self.err.rfind('{"status"')
        if at >= 0:
            self.report = json.loads(self.err[at:])
            self.err = self.err[:at]

    @property
    def denials(self):
        return self.report["denials"] if self.report else []

    def codes(self):
        return [d["code"] for d in self.denials]

    def __repr__(self):
        return "status %s out %r err %r report %r" % (self.status, self.out[-1500:], self.err[-1500:], self.report)


PRELUDE = r'''
import errno, os, socket, ssl, struct, sys, time, threading
def take(s, n):
    """So many bytes, however many pieces they come in; fewer where the connection ends."""
    got = b""
    while len(got) < n and (more := s.recv(n - len(got))): got += more
    return got
def ask(name, kind=1, server="198.18.0.1", tcp=False, timeout=60):
    """The answer of the name server: rcode, addresses."""
    q = os.urandom(2) + struct.pack(">HHHHH", 0x100, 1, 0, 0, 0) + b"".join(bytes([len(p)]) + (p if isinstance(p, bytes) else p.encode("latin-1")) for p in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(timeout)
    s.connect((server, 53))
    if tcp:
        s.sendall(struct.pack(">H", len(q)) + q)
        n = struct.unpack(">H", take(s, 2))[0]
        data = take(s, n)
    else:
        s.send(q)
        data = s.recv(4096)
    assert data[:2] == q[:2]
    rcode, count = data[3] & 15, struct.unpack(">H", data[6:8])[0]
    at, found = 12, []
    while data[at]: at += 1 + data[at]
    at += 5
    for _ in range(count):
        at += 2 if data[at] >= 192 else data.index(b"\0", at) + 1 - at
        t, c, ttl, n = struct.unpack(">HHIH", data[at:at + 10])
        at += 10
        if t in (1, 28): found.append(socket.inet_ntop(socket.AF_INET if t == 1 else socket.AF_INET6, data[at:at + n]))
        at += n
    return rcode, found
def ask_on(name, kind=1):
    """As a resolver does: where the wall cannot be told of one more name just now (SERVFAIL), once more after a while."""
    for _ in range(6000):
        rcode, found = ask(name, kind)
        if rcode != 2: break
        time.sleep(0.01)
    return rcode, found
def address(name, kind=1):
    rcode, found = ask_on(name, kind)
    assert rcode == 0 and found, (name, rcode)
    return found[0]
def talk(to, port, data=b"", timeout=60):
    """Connects, sends, and gives all that comes; what went wrong as a word."""
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET)
    s.settimeout(timeout)
    try:
        s.connect((to, port))
        if data: s.sendall(data)
        got = b""
        while True:
            more = s.recv(65536)
            if not more: return got.decode("latin-1")
            got += more
            if b"\r\n\r\n" in got and b"HTTP/1.1 200" in got: return got.decode("latin-1")
    except socket.timeout: return "timeout"
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
def supervisors():
    """Carrel's processes for this command: those above it, the nearest first, up to `carrel`, which is the last; before it their children."""
    rows = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f: comm, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            rows[int(pid)] = comm, int(rest.split()[1])
        except OSError: pass
    above, pid = [], os.getppid()
    while pid in rows and not (above and rows[above[-1]][0] == "carrel"): above.append(pid); pid = rows[pid][1]
    assert rows[above[-1]][0] == "carrel", (above, rows)
    return above[:-1] + [p for p in rows if rows[p][1] in above and rows[p][0].startswith("carrel") and p not in above] + above[-1:]
def get(host, path="/"): return ("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host)).encode()
def tls(to, name, port=443, ca=None, alpn=None):
    """The subject names of who answers, or what went wrong."""
    c = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()
    if alpn: c.set_alpn_protocols(alpn)
    try:
        with socket.create_connection((to, port), timeout=60) as s, c.wrap_socket(s, server_hostname=name) as t:
            t.sendall(get(name or "none"))
            return t.recv(65536).decode("latin-1")
    except ssl.SSLError as e: return "ssl " + (e.reason or str(e))
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
'''


class Gate:
    """`carrel gate` with a policy, around Python programs or commands."""

    def __init__(self, allow, networks=("127.0.0.0/8", "::1/128"), resolvers=("127.0.0.1:5300",), host=None, program=None, off="", routed=ROUTED):
        self.folder = tempfile.mkdtemp(prefix="carrel-gate-")
        os.chmod(self.folder, 0o755)
        self.policy = os.path.join(self.folder, "policy.yaml")
        with open(self.policy, "w") as f:
            f.write(allow if isinstance(allow, str) else json.dumps(allow))
        self.options = ["--policy", self.policy, "--json", *(["--routed"] if routed else [])]
        for n in networks:
            self.options += ["--private-network", n]
        for r in resolvers:
            self.options += ["--resolver", r]
        if host is not None:
            path = os.path.join(self.folder, "host.yaml")
            with open(path, "w") as f:
                json.dump(host, f)
            self.options += ["--host", path]
        self.program = SWITCHES if off else program or CARREL
        self.env = dict(os.environ, CARREL_TEST_GATE_OFF=off)

    def argv(self, *command):
        return [self.program, "gate", *self.options, "--", *command]

    def run(self, *command, timeout=ALWAYS, env=None):
        return Result(subprocess.run(self.argv(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, env=env or self.env))

    def python(self, code, **more):
        return self.run(sys.executable, "-c", PRELUDE + code, **more)

    def start(self, *command):
        return subprocess.Popen(self.argv(*command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env)

    def explain(self, what, is_last=False):
        words = [*self.options, "explain", what] if is_last else ["explain", what, *self.options]
        return Result(subprocess.run([self.program, "gate", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     timeout=ALWAYS, env=self.env))
