"""What a disk could hold at each moment of a recorded life: a power loss, from a record of strace.
Not a test.

strace writes down every change below a directory, and every answer to a caller. For each moment the
files are built again: only what was synced; that and the first half of the rest; that and only the
last write. Names appear when they were created (as in LazyFS) or, stricter, when they were synced.
"""
import hashlib
import os
import re

CALLS = "openat,open,mkdir,pwrite64,write,writev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat,sendmsg"
RECORD = ["-f", "-y", "-xx", "-s", "400000", "-e", "trace=" + CALLS]
LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<(.*)>)?(?: .*)?$")
PARTS = re.compile(r"^(\d+) +(?:<\.\.\. \w+ resumed>(.*)|(.*) <unfinished \.\.\.>)$")
FD, TEXT = re.compile(r"(?:\d+|AT_FDCWD)<([^>]*)>"), re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def unhex(text):
    return bytes.fromhex(text.replace("\\x", ""))


def path_of(text):
    return unhex(text).decode() if text.startswith("\\x") else text


def calls_of(log):
    """Each call as its name, its arguments, its result and the path of what it opened. A call that
    another process interrupted in the record is put together."""
    begun = {}
    with open(log, encoding="latin-1") as f:
        for line in f:
            part = PARTS.match(line.strip())
            if part and part.group(3) is not None:
                begun[part.group(1)] = part.group(3)
                continue
            m = LINE.match(begun.pop(part.group(1), "") + part.group(2) if part else line.strip())
            if m and int(m.group(3), 0) >= 0:
                yield m.group(1), m.group(2), int(m.group(3), 0), m.group(4)


class Disk:
    """The files of one directory, in the kernel's view and on the disk. `is_strict`: also of the
    directories below it, and the name of a file is on the disk when its directory was synced."""

    def __init__(self, root, begin=None, is_strict=False):
        self.root, self.is_strict = root + "/", is_strict
        self.now = {name: [bytearray(body), bytes(body), []] for name, body in (begin or {}).items()}  # [content, the part that was synced, writes since]
        self.named = set(self.now)                     # names that are on the disk, in the strict reading
        self.replaced = {}                             # what a name was before a rename that is not on the disk

    def inside(self, path):
        name = path[len(self.root):] if path.startswith(self.root) else None
        return name if name and (self.is_strict or "/" not in name) and not name.endswith(".sock") else None

    def create(self, name):
        self.now[name] = [bytearray(), b"", []]

    def write(self, name, at, body):
        f = self.now[name]
        at = len(f[0]) if at is None else at
        f[0][at:at] = b"\0" * max(0, at - len(f[0])) if at > len(f[0]) else b""
        f[0][at:at + len(body)] = body
        f[2].append((at, body))
        return at + len(body)

    def synced(self, name):
        f = self.now[name]
        f[1], f[2] = bytes(f[0]), []
        if not self.is_strict:
            self.named.add(name)

    def directory_synced(self, path):
        parent = path[len(self.root):] if path != self.root[:-1] else ""
        names = {n for n in self.now if os.path.dirname(n.rstrip("/")) == parent}
        self.named = {n for n in self.named if os.path.dirname(n.rstrip("/")) != parent} | names
        self.replaced = {n: f for n, f in self.replaced.items() if n not in names}

    def rename(self, old, new):
        if self.is_strict and new in self.now:
            self.replaced.setdefault(new, self.now[new])
        self.now[new] = self.now.pop(old)
        if not self.is_strict and old in self.named:
            self.named.add(new)

    def is_named(self, name):
        above = name.rstrip("/").split("/")[:-1]
        return name in self.named and all("/".join(above[:i + 1]) + "/" in self.named for i in range(len(above)))

    def images(self, is_torn):
        """name -> bytes, a few times. The name of a directory ends with a slash."""
        def built(f, kept):
            out = bytearray(f[1])
            for at, what in kept(f[2]):
                out.extend(b"\0" * max(0, at - len(out)))
                out[at:at + len(what)] = what
            return bytes(out)

        def build(kept):
            return {name: built(f, kept) for name, f in self.now.items()}

        all_of = [build(lambda writes: [])]
        if is_torn:
            all_of += [build(lambda w: [(at, b[:len(b) // 2]) for at, b in w[:1]] if len(w) == 1 else w[:len(w) // 2]), build(lambda w: w[-1:])]
        if is_torn and self.is_strict:                 # blocks reach the disk in any order
            all_of += [build(lambda w: [(at + len(b) // 3, b[len(b) // 3:]) for at, b in w[-1:]])]
        before = {**self.now, **self.replaced}
        return all_of + [{name: built(f, lambda w: []) for name, f in before.items() if (self.is_named(name) if self.is_strict else name in self.named)}]


def replay(log, disk, is_answer):
    """Each moment as (number of answers so far, image); for one number no image twice.
    `is_answer`: of the texts of a message."""
    answers, seen = 0, set()
    position = {}
    for call, words, result, given in calls_of(log):
        fds = [path_of(t) for t in FD.findall(words)]
        name = disk.inside(fds[0]) if fds else None
        texts = [unhex(t) for t in TEXT.findall(words)]
        is_change = True

        def at(i):
            return disk.inside(os.path.normpath(os.path.join(fds[min(i, len(fds) - 1)] if fds else "/", texts[i].decode())))

        if call in ("open", "openat"):
            name = disk.inside(path_of(given or ""))
            if name and ("O_CREAT" in words and name not in disk.now or "O_TRUNC" in words):
                disk.create(name)
            else:
                is_change = False
            position[name] = None if "O_APPEND" in words else 0
        elif call == "mkdir":
            name = disk.inside(texts[0].decode()) if disk.is_strict else None
            is_change = name is not None
            if name:
                disk.create(name + "/")
        elif call == "pwrite64" and name:
            disk.write(name, int(words.rsplit(", ", 1)[1]), texts[0])
        elif call in ("write", "writev") and name:
            end = disk.write(name, position.get(name, 0), b"".join(texts)[:result])
            position[name] = None if position.get(name, 0) is None else end
        elif call in ("fsync", "fdatasync") and name in disk.now:
            disk.synced(name)
        elif call in ("fsync", "fdatasync") and fds and (fds[0] + "/").startswith(disk.root):
            disk.directory_synced(fds[0])
        elif call == "ftruncate" and name:
            size = int(words.rsplit(", ", 1)[1])
            body = bytearray(disk.now[name][0][:size].ljust(size, b"\0"))
            disk.now[name] = [body, bytes(body) if size == 0 else disk.now[name][1], []]
        elif call.startswith("rename"):
            is_change = at(0) in disk.now
            if is_change:
                disk.rename(at(0), at(1))
        elif call.startswith("unlink"):
            is_change = disk.now.pop(at(0), None) is not None
        elif call == "sendmsg" and is_answer(texts):
            answers += 1
        else:
            is_change = False
        if not is_change:
            continue
        for image in disk.images(call in ("pwrite64", "write", "writev")):
            mark = (answers, hashlib.blake2b(repr(sorted(image.items())).encode()).digest())
            if mark not in seen:
                seen.add(mark)
                yield answers, image
