"""The servers that real programs use in egress_programs_test: their public names, on loopback
addresses, with certificates of the test's own authority.

Not a test. One server answers for all names of 127.0.0.1, by the Host of a request; hosts that are
used with HTTP/2 have their own addresses.
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import tarfile
import threading
import zipfile

from box_rig import until
from gate_rig import Authority, Names, Origin

ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
SITES = ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "deb.debian.org", "github.com", "api.example.com")
H2_AT, H2C_AT = "127.0.0.2", "127.0.0.3"

STATIC_CLIENT = r'''
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *found;
        char text[4096];
        ssize_t n;
        int fd, wrong = argc < 2 ? 1 : getaddrinfo(argv[1], "80", &hints, &found);

        if (wrong)
                return fprintf(stderr, "lookup: %s\n", gai_strerror(wrong)), 1;
        fd = socket(found->ai_family, SOCK_STREAM, 0);
        if (connect(fd, found->ai_addr, found->ai_addrlen) < 0)
                return perror("connect"), 1;
        n = snprintf(text, sizeof text, "GET /plain HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", argv[1]);
        if (write(fd, text, (size_t)n) != n)
                return 1;
        while ((n = read(fd, text, sizeof text)) > 0)
                if (write(1, text, (size_t)n) != n)
                        return 1;
        return 0;
}
'''


# -- content of the sites --------------------------------------------------------------------------

def wheel():
    """tiny-1.0-py3-none-any.whl"""
    out, record = io.BytesIO(), ""
    files = {"tiny.py": "WORD = 'installed by pip'\n", "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
             "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(out, "w") as z:
        for name, text in files.items():
            z.writestr(name, text)
            record += "%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("="), len(text))
        z.writestr("tiny-1.0.dist-info/RECORD", record + "tiny-1.0.dist-info/RECORD,,\n")
    return out.getvalue()


def package():
    """tiny-1.0.0.tgz, as npm packs it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, text in (("package/package.json", json.dumps({"name": "tiny", "version": "1.0.0", "main": "index.js"})), ("package/index.js", "module.exports = 'installed by npm';\n")):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            t.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def deb(folder):
    root = os.path.join(folder, "deb")
    os.makedirs(os.path.join(root, "DEBIAN"), 0o755)
    control = "Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: a test\n"
    with open(os.path.join(root, "DEBIAN", "control"), "w", encoding="ascii") as f:
        f.write(control)
    os.chmod(os.path.join(root, "DEBIAN"), 0o755)
    path = os.path.join(folder, "tiny.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, path], check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as f:
        body = f.read()
    return body, control + "Filename: ./tiny_1.0_all.deb\nSize: %d\nSHA256: %s\n\n" % (len(body), hashlib.sha256(body).hexdigest())


def repository(folder):
    """A bare repository, served over dumb HTTP."""
    env = dict(os.environ, **ENV, HOME=folder, GIT_CONFIG_NOSYSTEM="1")
    git = lambda *words, cwd=folder: subprocess.run(["git", *words], cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    git("init", "-q", "work")
    with open(os.path.join(folder, "work", "README"), "w", encoding="ascii") as f:
        f.write("cloned by git\n")
    for words in (("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all")):
        git(*words, cwd=os.path.join(folder, "work"))
    git("clone", "-q", "--bare", "work", "tiny.git")
    git("update-server-info", cwd=os.path.join(folder, "tiny.git"))
    return os.path.join(folder, "tiny.git")


def tree_of(top, at):
    found = {}
    for base, _, files in os.walk(top):
        for name in files:
            path = os.path.join(base, name)
            with open(path, "rb") as f:
                found[at + os.path.relpath(path, top)] = f.read()
    return found


def sites(folder):
    """(host, path) -> (type, body)"""
    built, pages = wheel(), {}
    packed = package()
    tgz = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    page = "<html><body><a href='https://files.pythonhosted.org/p/tiny-1.0-py3-none-any.whl#sha256=%s'>tiny</a></body></html>" % hashlib.sha256(built).hexdigest()
    pages["pypi.org", "/simple/tiny/"] = ("text/html", page.encode())
    pages["files.pythonhosted.org", "/p/tiny-1.0-py3-none-any.whl"] = ("application/octet-stream", built)
    pages["registry.npmjs.org", "/tiny"] = ("application/json", json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "tiny", "version": "1.0.0", "dist": {"tarball": "https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz", "integrity": tgz}}}}).encode())
    pages["registry.npmjs.org", "/tiny/-/tiny-1.0.0.tgz"] = ("application/octet-stream", packed)
    if shutil.which("dpkg-deb"):
        body, index = deb(folder)
        pages["deb.debian.org", "/debian/./Packages.gz"] = pages["deb.debian.org", "/debian/Packages.gz"] = ("application/gzip", gzip.compress(index.encode()))
        pages["deb.debian.org", "/debian/./tiny_1.0_all.deb"] = pages["deb.debian.org", "/debian/tiny_1.0_all.deb"] = ("application/octet-stream", body)
    for path, body in tree_of(repository(folder), "/tiny.git/").items():
        pages["github.com", path] = ("application/octet-stream", body)
    return pages


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages, seen, go_on = {}, [], threading.Event()

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        host, path = (self.headers["Host"] or "").split(":")[0], self.path.split("?")[0]
        Site.seen.append((host, path))
        if path == "/ws":
            self.websocket()
        elif path == "/events":
            self.events()
        elif path == "/go-on":
            Site.go_on.set()
            self.answer(200, "text/plain", b"went on")
        elif host == "api.example.com":
            self.answer(200, "text/plain", ("answer of %s%s\n" % (host, path)).encode())
        else:
            found = Site.pages.get((host, path))
            self.answer(*((200, *found) if found else (404, "text/plain", b"no such page")))

    do_HEAD = do_GET

    def events(self):
        """The second event is sent when a client that has read the first one requests it."""
        Site.go_on.clear()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: one\n\n")
        self.wfile.flush()
        self.wfile.write(b"data: two\n\n" if Site.go_on.wait(30) else b"data: nobody asked\n\n")
        self.close_connection = True

    def websocket(self):
        accept = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept.encode())
        self.wfile.flush()
        while True:
            head = self.rfile.read(6)
            if len(head) < 6:
                break
            body = bytes(b ^ head[2 + i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([head[0], len(body)]) + body.upper())
            self.wfile.flush()
        self.close_connection = True


# -- databases and mail ----------------------------------------------------------------------------

def message(kind, body=b""):
    return kind + struct.pack(">I", 4 + len(body)) + body


def postgres(peer):
    """As much of PostgreSQL as `select` needs: the client sends first."""
    f = peer.makefile("rb")
    code = 80877103
    while code in (80877103, 80877104):          # a request for TLS, or for GSS
        begin = f.read(8)
        if len(begin) < 8:
            return
        length, code = struct.unpack(">II", begin)
        f.read(length - 8)
        if code in (80877103, 80877104):
            peer.sendall(b"N")
    ready = message(b"Z", b"I")
    peer.sendall(message(b"R", struct.pack(">I", 0)) + b"".join(message(b"S", k + b"\0" + v + b"\0") for k, v in (
        (b"server_version", b"15.1"), (b"client_encoding", b"UTF8"), (b"standard_conforming_strings", b"on"))) + ready)
    while True:
        kind = f.read(1)
        if kind in (b"", b"X"):
            return
        f.read(struct.unpack(">I", f.read(4))[0] - 4)
        if kind == b"Q":
            peer.sendall(message(b"T", struct.pack(">H", 1) + b"word\0" + struct.pack(">IHIhih", 0, 0, 25, -1, -1, 0)) +
                         message(b"D", struct.pack(">HI", 1, 16) + b"row of the other") + message(b"C", b"SELECT 1\0") + ready)


def mail(peer):
    """SMTP: the server sends first."""
    peer.sendall(b"220 mail.example.com ready\r\n")
    for line in peer.makefile("rb"):
        word = line.split()[0].upper()
        if word == b"QUIT":
            peer.sendall(b"221 bye\r\n")
            return
        peer.sendall(b"250 taken: %s\r\n" % word)


# -- all of it -------------------------------------------------------------------------------------

class Tls(http.server.ThreadingHTTPServer):
    """Sends its greeting in the thread of the connection, so that a slow client delays no other."""
    daemon_threads, request_queue_size = True, 128
    context = None

    def finish_request(self, request, client_address):
        if self.context:
            try:
                request.settimeout(60)
                request = self.context.wrap_socket(request, server_side=True)
            except (OSError, ssl.SSLError):
                return
        super().finish_request(request, client_address)

    def handle_error(self, *_):
        pass


class World:
    """`folder` is what the programs see: the authority's certificate, the static client."""

    def __init__(self, folder, private):
        self.authority = Authority()
        self.folder, self.children = folder, []
        shutil.copy(self.authority.path, os.path.join(folder, "ca.pem"))
        os.chmod(os.path.join(folder, "ca.pem"), 0o644)
        Site.pages = sites(private)
        self.names = Names({**{n: ["127.0.0.1"] for n in SITES + ("db.example.com", "mail.example.com")}, "h2.example.com": [H2_AT], "h2c.example.com": [H2C_AT]})
        self.http = self.serve(80)
        self.https = self.serve(443, self.authority.context(*SITES))
        self.db = Origin("127.0.0.1", 5432, postgres)
        self.mail = Origin("127.0.0.1", 587, mail)
        self.has_static = self.compile()
        self.has_h2 = self.http2(private)

    def serve(self, port, context=None):
        server = Tls(("127.0.0.1", port), Site)
        server.context = context
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def compile(self):
        if not shutil.which("musl-gcc"):
            return False
        source = os.path.join(self.authority.folder, "client.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(STATIC_CLIENT)
        subprocess.run(["musl-gcc", "-static", "-O1", "-o", os.path.join(self.folder, "client"), source], check=True)
        return True

    def http2(self, private):
        if not shutil.which("nghttpd", path=ENV["PATH"]):
            return False
        root = os.path.join(private, "h2")
        os.mkdir(root)
        with open(os.path.join(root, "page"), "w", encoding="ascii") as f:
            f.write("answer over two\n")
        self.authority.context("h2.example.com")
        base = os.path.join(self.authority.folder, "h2.example.com.")
        for words, at in ((("-a", H2_AT, "443", base + "key", base + "pem"), (H2_AT, 443)), (("-a", H2C_AT, "--no-tls", "80"), (H2C_AT, 80))):
            self.children.append(subprocess.Popen(["nghttpd", "-d", root, *words], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            until("nghttpd listens at %s:%d" % at, lambda: is_open(at))
        return True

    def end(self):
        for child in self.children:
            child.kill()
            child.wait()


def is_open(at):
    try:
        socket.create_connection(at, 1).close()
        return True
    except OSError:
        return False
