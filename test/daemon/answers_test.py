#!/usr/bin/env python3
"""answers_test - what answers and uploads cost the door if the client does not read, or never ends
its request.

The bounds are computed from the door's own limits: what an owner may hold, and what a connection
needs besides.
"""
import json
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end
from daemon_rig import Daemon, until
from wire import source

MIB = 1 << 20
PRINTED = 8 * MIB
PRINT = "import os,sys\nfor fd in (1, 2):\n    left = %d\n    while left: left -= os.write(fd, b'\\1' * min(left, 65536))" % PRINTED


def limit(path, name):
    """A number in the door's sources: a product, a shift or a sum of products."""
    text = re.search(r"\b%s = ([0-9 *<]+)" % name, source("src/" + path)).group(1)
    return eval(text, {"__builtins__": {}})  # pylint: disable=eval-used


ANSWERS_MAX, BODIES_MAX = limit("http/crowd.h", "CROWD_ANSWERS_MAX"), limit("http/crowd.h", "CROWD_BYTES_MAX")
QUEUE, PIECE = limit("http/handler.h", "EXCHANGE_HIGH"), limit("http/pour.c", "PIECE")
IN_MAX, FREE = limit("http/connection.h", "CONNECTION_IN_MAX"), 2 * limit("rest/exec_view.h", "CAPTURE_FREE")
BURST = 6 * limit("http/exchange.c", "BURST_MAX")           # what was read in one piece may be escaped in one piece
OWN = 4 * MIB                                          # the door itself, and rounding of its memory


def resident(d):
    """Bytes of private memory of the door."""
    with open("/proc/%d/status" % d.children()["carrel-door"], encoding="utf-8") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("RssAnon:"))


def dial(d):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(120)
    s.connect(d.http)
    return s


def ask(d, target, count):
    """This number of requests; only the head of each answer is read. Returns the sockets, by
    status.
    """
    sockets, found = [dial(d) for _ in range(count)], {}
    for s in sockets:
        s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % target.encode())
    for s in sockets:
        found.setdefault(int(s.recv(13)[9:12]), []).append(s)
    return found


def rest_of(s):
    """The JSON of an answer whose first 13 bytes were read, and the sizes of its chunks."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(65536)
    head, _, got = got.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
        while len(got) < length:
            got += s.recv(65536)
        return json.loads(got), []
    f = s.makefile("rb")
    # bytes that came with the head are first
    class Joined:
        def __init__(self):
            self.first = got

        def take(self, n):
            part, self.first = self.first[:n], self.first[n:]
            return part + (f.read(n - len(part)) if len(part) < n else b"")

        def line(self):
            text = b""
            while not text.endswith(b"\r\n"):
                text += self.take(1)
            return text

    j, body, sizes = Joined(), [], []
    while True:
        size = int(j.line(), 16)
        body.append(j.take(size))
        j.take(2)
        if size == 0:
            return json.loads(b"".join(body)), sizes
        sizes.append(size)


def close(*lists):
    for sockets in lists:
        for s in sockets:
            s.close()


def captures(d, box):
    ran = d.exec(box, ["python3", "-c", PRINT], keep_bytes=PRINTED)
    path = "/v1/sandboxes/%s/execs/%d/output" % (box, ran["exec"])
    check("a command's answer holds what it printed", ran["stdout"] == ran["stderr"] == "\1" * PRINTED and ran["dropped_bytes"] == 0, ran["dropped_bytes"])
    short = d.must("GET", path)
    check("without keep_bytes its output is the newest MiB of each stream, and says what it lacks", short["stdout"] == short["stderr"] == "\1" * MIB and
          short["stdout_offset"] == PRINTED - MIB and short["dropped_bytes"] == 2 * (PRINTED - MIB), short["stdout_offset"], short["dropped_bytes"])
    whole = path + "?keep_bytes=%d" % PRINTED
    count = 24
    before = resident(d)
    found = ask(d, whole, count)
    held = resident(d) - before
    bound = ANSWERS_MAX + count * (FREE + QUEUE + 2 * PIECE + IN_MAX) + OWN
    print("# %d answers of %d MiB, not read: the door holds %d MiB (bound %d MiB); %s" % (count, 2 * 6 * PRINTED // MIB, held // MIB, bound // MIB, {k: len(v) for k, v in found.items()}))
    check("answers that are not read cost what an owner may hold, and a queue each", held < bound, held, bound)
    said = [rest_of(s)[0] for s in found.get(429, [])]
    check("who would hold more is told so, and when to come again", sorted(found) == [200, 429] and all(a["error"]["code"] == "quota_exceeded" and a["error"]["reason"] == "answers" for a in said),
          {k: len(v) for k, v in found.items()}, said[:1])
    squeezed = d.exec(box, "head -c 3000000 /dev/zero | tr '\\0' y; echo end", keep_bytes=4 * MIB)
    check("a command that runs meanwhile ends well, with the newest of its output", squeezed["outcome"] == "exited" and squeezed["stdout"].endswith("yyyend\n") and
          len(squeezed["stdout"]) + squeezed["dropped_bytes"] == 3000004, squeezed["outcome"], len(squeezed["stdout"]), squeezed["dropped_bytes"])
    got, sizes = rest_of(found[200][0])
    check("an answer that is read late is whole", got["stdout"] == got["stderr"] == "\1" * PRINTED)
    check("it was written in pieces: one a turn", sizes and max(sizes) <= 2 * PIECE, max(sizes or [0]))
    close(*found.values())
    until("what was held is given back", lambda: d.call("GET", whole).status == 200 and resident(d) - before < OWN)
    check("what was held is given back", True)
    got = d.must("GET", whole + "&encoding=base64")
    check("as base64 it is whole, too", got["encoding"] == "base64" and len(got["stdout"]) == (PRINTED + 2) // 3 * 4 and set(got["stdout"][:-4]) == {"A", "Q", "E", "B"}, len(got["stdout"]))


def uploads(d, box):
    count, sent = 40, 8 * MIB - 65536
    before = resident(d)
    sockets, answered = [dial(d) for _ in range(count)], 0
    piece = b"10000\r\n" + b"u" * 65536 + b"\r\n"
    for i, s in enumerate(sockets):
        s.sendall(b"PUT /v1/sandboxes/%s/files?path=up%d HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" % (box.encode(), i))
        try:
            for _ in range(sent // 65536):
                s.sendall(piece)
        except OSError:
            pass                       # it was answered, and what came after that was not read
        s.settimeout(0)
        try:
            answered += s.recv(13)[9:12] == b"429"
        except (BlockingIOError, ConnectionResetError):
            pass
        s.settimeout(120)
    held = resident(d) - before
    bound = BODIES_MAX + count * 2 * IN_MAX + OWN
    print("# %d uploads of %d MiB that do not end: the door holds %d MiB (bound %d MiB); %d refused" % (count, sent // MIB, held // MIB, bound // MIB, answered))
    check("uploads that never end cost what an owner's bodies may hold", held < bound and answered >= count - BODIES_MAX // sent - 1, held, bound, answered)
    close(sockets)

    def upload():
        try:
            return d.call("PUT", "/v1/sandboxes/%s/files?path=after" % box, iter([b"x" * 65536] * 100)).status == 204
        except OSError:
            return False               # refused before it was sent: the door has not noticed yet that the others closed

    until("the next upload is taken", upload)
    check("the next upload is taken", d.must("GET", "/v1/sandboxes/%s/files/stat?path=after" % box)["size"] == 6553600)


def listings(d, box):
    names, count = 45000, 6
    made = d.exec(box, ["python3", "-c", "import os\nos.mkdir('many')\nfor i in range(%d): os.close(os.open('many/' + 'n' * 230 + str(i), os.O_CREAT | os.O_WRONLY))" % names])
    assert made["exit_code"] == 0, made
    before = resident(d)
    target = "/v1/sandboxes/%s/files/list?path=many" % box
    found = ask(d, target, count)
    held = resident(d) - before
    bound = count * (QUEUE + 2 * BURST + IN_MAX) + OWN
    print("# %d listings of %d names, not read: the door holds %d MiB (bound %d MiB)" % (count, names, held // MIB, bound // MIB))
    check("listings that are not read cost a queue each", sorted(found) == [200] and held < bound, {k: len(v) for k, v in found.items()}, held, bound)
    got = rest_of(found[200][0])[0]
    check("one that is read late has every name once", len({i["path"] for i in got["items"]}) == len(got["items"]) == names, len(got["items"]))
    close(*found.values())
    check("one that is not there is still an error", d.call("GET", target + "/none").status == 404)


def snapshots(d, box):
    """Output that exists is sent at once, however many reads it took: a command that sleeps writes
    nothing more.
    """
    said, path = [], "/v1/sandboxes/%s/execs" % box
    for size in [900000] * 12:
        number = d.must("POST", path, {"command": "head -c %d /dev/zero | tr '\\0' x; sleep 1000" % size, "background": True, "timeout_ms": 30000})["exec"]
        got = until("all was printed", lambda n=number, m=size: (lambda g: g if g["stdout_bytes"] >= m else None)(d.must("GET", "%s/%d/output" % (path, n))))
        said.append((got["state"], len(got["stdout"])))
        d.must("DELETE", "%s/%d" % (path, number))
    check("a snapshot waits for nothing", said == [("running", 900000)] * 12, said)


def main():
    with Daemon() as d:
        box = d.create(timeout_ms=600000)
        snapshots(d, box)
        captures(d, box)
        uploads(d, box)
        listings(d, box)
    return end()


if __name__ == "__main__":
    sys.exit(main())
