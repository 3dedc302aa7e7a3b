#!/usr/bin/env python3
"""power_test - what a keeper finds after a power loss, at any moment of a recorded life (Z07, Z08;
N1, N2).

No file system here loses what was not synced, so the test builds one from a record: strace writes
down every change that a keeper makes below its state directory, and every reply. For each moment,
the files are built again as a disk could hold them: only what was synced; that and the first half
of the rest; that and only the last write. Names of files appear when they were created (as in
LazyFS) or, stricter, when their file or their directory was synced. A keeper is started on each: it
serves, has everything that it had answered, and at most the one call more that was in progress.
"""
import hashlib
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, ROOT, end, report
from keeper_rig import Keeper, until
from wire import KIND

CALLS = "openat,open,pwrite64,write,writev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,sendmsg"
LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<(.*)>)?(?: .*)?$")
FD, TEXT = re.compile(r"^(?:\d+|AT_FDCWD)<([^>]*)>"), re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
MILLION = 1000000


def unhex(text):
    return bytes.fromhex(text.replace("\\x", ""))


def path_of(text):
    return unhex(text).decode() if text.startswith("\\x") else text


class Disk:
    """The files of one directory, in the kernel's view and on the disk."""

    def __init__(self, root, begin=None):
        self.root = root + "/"
        self.now = {name: [bytearray(body), bytes(body), []] for name, body in (begin or {}).items()}  # [content, the part that was synced, writes since]
        self.named = set(self.now)                     # names that are on the disk, in the strict reading

    def inside(self, path):
        name = path[len(self.root):] if path.startswith(self.root) else None
        return name if name and "/" not in name and not name.endswith(".sock") else None

    def write(self, name, at, body):
        f = self.now[name]
        f[0][at:at] = b"\0" * max(0, at - len(f[0])) if at > len(f[0]) else b""
        f[0][at:at + len(body)] = body
        f[2].append((at, body))

    def synced(self, name):
        f = self.now[name]
        f[1], f[2] = bytes(f[0]), []
        self.named.add(name)

    def images(self, is_torn):
        """name -> bytes, a few times."""
        def build(kept):
            def body(f):
                out = bytearray(f[1])
                for at, what in kept(f[2]):
                    out.extend(b"\0" * max(0, at - len(out)))
                    out[at:at + len(what)] = what
                return bytes(out)
            return {name: body(f) for name, f in self.now.items()}

        all_of = [build(lambda writes: [])]
        if is_torn:
            all_of += [build(lambda w: [(at, b[:len(b) // 2]) for at, b in w[:1]] if len(w) == 1 else w[:len(w) // 2]), build(lambda w: w[-1:])]
        return all_of + [{name: body for name, body in one.items() if name in self.named} for one in all_of[:1]]


def replay(log, disk):
    """Each moment as (number of replies so far, image); for one number no image twice."""
    replies, seen = 0, set()
    position = {}
    with open(log, encoding="latin-1") as f:
        for line in f:
            m = LINE.match(line.strip())
            if not m or int(m.group(3), 0) < 0:
                continue
            call, words, given = m.group(1), m.group(2), m.group(4)
            fd = FD.match(words)
            name = disk.inside(path_of(fd.group(1))) if fd else None
            texts = [unhex(t) for t in TEXT.findall(words)]
            is_change = True
            if call in ("open", "openat"):
                name = disk.inside(path_of(given or ""))
                if name and "O_CREAT" in words and name not in disk.now:
                    disk.now[name] = [bytearray(), b"", []]
                elif name and "O_TRUNC" in words:
                    disk.now[name] = [bytearray(), b"", []]
                else:
                    is_change = False
                position[name] = 0
            elif call == "pwrite64" and name:
                disk.write(name, int(words.rsplit(", ", 1)[1]), texts[0])
            elif call in ("write", "writev") and name:
                body = b"".join(texts)[:int(m.group(3))]
                disk.write(name, position.get(name, 0), body)
                position[name] = position.get(name, 0) + len(body)
            elif call in ("fsync", "fdatasync") and name:
                disk.synced(name)
            elif call in ("fsync", "fdatasync") and fd and path_of(fd.group(1)) + "/" == disk.root:
                disk.named = set(disk.now)
            elif call == "ftruncate" and name:
                size = int(words.rsplit(", ", 1)[1])
                body = bytearray(disk.now[name][0][:size].ljust(size, b"\0"))
                disk.now[name] = [body, bytes(body) if size == 0 else disk.now[name][1], []]
            elif call.startswith("rename"):
                old, new = (disk.inside(t.decode()) for t in texts[:2])
                disk.now[new] = disk.now.pop(old)
                disk.named |= {new} if old in disk.named else set()
            elif call.startswith("unlink"):
                name = disk.inside(texts[0].decode())
                is_change = name in disk.now
                disk.now.pop(name, None)
            elif call == "sendmsg" and texts and len(texts[0]) >= 8 and int.from_bytes(texts[0][6:8], "little") == KIND["REPLY"]:
                replies += 1
            else:
                is_change = False
            if not is_change:
                continue
            for image in disk.images(call in ("pwrite64", "write", "writev")):
                mark = (replies, hashlib.blake2b(repr(sorted(image.items())).encode()).digest())
                if mark not in seen:
                    seen.add(mark)
                    yield replies, image


# -- the lives that are recorded -----------------------------------------------------------------------------------------------


def state_of(c):
    return sorted((i.get("name"), -(-i.get("timeout_ms", 0) // MILLION)) for i in c.call("list").get("items", []))


FIRST = [("create", {"name": "a", "timeout_ms": 5 * MILLION, "key": "a"}), ("create", {"name": "b", "timeout_ms": 3 * MILLION}), ("extend", {"id": "a", "duration_ms": 2 * MILLION, "key": "e"}),
         ("task.begin", {"id": "a", "task": "t", "timeout_ms": MILLION}), ("extend", {"id": "b", "duration_ms": MILLION}), ("stop", {"id": "b"}), ("create", {"name": "c", "key": "c"}),
         ("stop", {"id": "a"}), ("create", {"name": "a", "timeout_ms": 9 * MILLION})]
SECOND = [("create", {"name": "d", "timeout_ms": 4 * MILLION, "key": "d"}), ("stop", {"id": "c"}), ("extend", {"id": "d", "duration_ms": MILLION, "key": "e"}), ("task.end", {"id": "d", "task": "none"}),
          ("stop", {"id": "d"}), ("create", {"name": "e", "timeout_ms": 2 * MILLION})]


def expected(begin, calls):
    """What is listed after each call, starting before the first one."""
    there, out = dict(begin), [sorted(begin)]
    for op, fields in calls:
        if op == "create":
            there[fields["name"]] = fields.get("timeout_ms", 0) // MILLION
        elif op == "extend":
            there[fields["id"]] += fields["duration_ms"] // MILLION
        elif op == "stop":
            there.pop(fields["id"], None)
        out.append(sorted(there.items()))
    return out


def text_of(path):
    with open(path, encoding="latin-1") as f:
        return f.read()


def record(k, calls, number):
    log = os.path.join(k.folder, "record-%d" % len(os.listdir(k.folder)))
    k.start(wait=False, prefix=["strace", "-D", "-f", "-y", "-xx", "-s", "400000", "-o", log, "-e", "trace=" + CALLS])
    c = k.caller()
    for op, fields in calls:
        c.call(op, **fields)
    after = state_of(c)
    c.close()
    k.stop(number)
    until("strace has written everything", lambda: text_of(log).rstrip().endswith("+++"))
    return log, after


def files_of(state):
    found = {}
    for name in os.listdir(state):
        path = os.path.join(state, name)
        if stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "rb") as f:
                found[name] = f.read()
    return found


def start_on(k, image):
    shutil.rmtree(k.state)
    os.mkdir(k.state, 0o700)
    os.mkdir(os.path.join(k.state, "boxes"), 0o700)
    for name, body in image.items():
        with open(os.open(os.path.join(k.state, name), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(body)
    k.start()


def judge(k, image, replies, states, ended):
    """What is wrong on this image. The keeper's first reply is that of the first call."""
    sizes = {name: len(body) for name, body in image.items()}
    try:
        start_on(k, image)
    except (OSError, EOFError) as e:
        return ["after %d replies it does not start: %r\n%s" % (replies, e, k.log_text()[-300:])]
    c = k.caller()
    listed, wrong = state_of(c), []
    allowed = states[min(replies, len(states) - 1):replies + 2]
    if listed not in allowed:
        wrong.append("after %d replies, %r: %r, not one of %r" % (replies, sizes, listed, allowed))
    wrong += ["after %d replies the key %s made another" % (replies, key) for key, ask, since in ended if replies >= since and c.refused("create", **ask) != "sandbox_gone"]
    with open(os.path.join(k.state, "token"), "rb") as f:
        if len(f.read()) < 32:
            wrong.append("after %d replies the token file is torn" % replies)
    c.close()
    k.stop(signal.SIGKILL)
    db = sqlite3.connect(os.path.join(k.state, "state.db"))
    said = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return wrong + ([] if said == "ok" else ["after %d replies: %s" % (replies, said)])


def tokens():
    """The token file is cut at every byte: a new token is created, and a copied old one still
    works.
    """
    with Keeper() as k:
        path = os.path.join(k.state, "token")
        with open(path, "rb") as f:
            whole = f.read()
        wrong, cuts = [], range(len(whole) + 1) if DEEP else [0, 1, 2, *range(9, len(whole) - 3, 9), *range(len(whole) - 3, len(whole) + 1)]
        for at in cuts:
            k.stop(signal.SIGKILL)
            with open(path, "wb") as f:
                f.write(whole[:at])
            with open(path + ".new", "wb") as f:
                f.write(whole[:at // 2])
            k.start()
            with open(path, "rb") as f:
                found = f.read()
            is_whole = at >= len(whole) - 1            # except the end of its line
            if is_whole != (found[:len(whole) - 1] == whole[:-1]) or len(found) < len(whole) - 1 or os.stat(path).st_mode & 0o777 != 0o600:
                wrong.append("cut at %d: %d bytes, mode %o" % (at, len(found), os.stat(path).st_mode))
            door = k.door(token=whole.decode().strip())
            wrong += [] if door.refused("list").startswith("accepted") else ["cut at %d the first token is refused" % at]
            door.close()
        report("the token file cut at any byte: another is made, the one that was handed out still works (%d cuts; Z08)" % len(cuts), wrong)


def main():
    with Keeper(is_held=True) as k:
        begin, base = [], {}
        for number, calls, name, ended in ((signal.SIGTERM, FIRST, "a first life and its orderly end", [("a", {"name": "a", "timeout_ms": 5 * MILLION, "key": "a"}, 8)]),
                                           (signal.SIGKILL, SECOND, "a second life", [("c", {"name": "c", "key": "c"}, 2), ("d", {"name": "d", "timeout_ms": 4 * MILLION, "key": "d"}, 5)])):
            log, after = record(k, calls, number)
            last = files_of(k.state)
            states = expected(begin, calls)
            disk = Disk(k.state, base)
            moments = list(replay(log, disk))
            moments = moments if DEEP else moments[:-1:5] + moments[-1:]       # four ways for each moment: five moments come to each way
            wrong = [] if after == states[-1] else ["the life itself ended as %r, not %r" % (after, states[-1])]
            kept = {n: bytes(f[0]) for n, f in disk.now.items() if n != "lock"}
            if kept != {n: body for n, body in last.items() if n != "lock"}:
                wrong.append("the record does not give what is there: %r, %r" % ({n: len(b) for n, b in kept.items()}, {n: len(b) for n, b in last.items()}))
            for replies, image in moments:
                wrong += judge(k, image, replies, states, ended)
                if len(wrong) > 4:
                    break
            report("power lost at %s moment of %s: it starts, with everything it answered and at most the call it was at (%d images; Z07, Z08, N1, N2)" % ("any" if DEEP else "each fifth", name, len(moments)), wrong)
            shutil.rmtree(k.state)
            os.mkdir(k.state, 0o700)
            for file, body in last.items():
                with open(os.open(os.path.join(k.state, file), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
                    f.write(body)
            begin, base = states[-1], last
        k.start()


if __name__ == "__main__":
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        report("power lost at any moment", skip="strace cannot trace here")
    elif not ROOT:
        report("power lost at any moment", skip="only root may read what processes say that are not dumpable")
    else:
        main()
    tokens()
    end()
