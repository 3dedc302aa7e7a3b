#!/usr/bin/env python3
# deep as root: a deeper directory
"""files_test - file operations inside a box, against a payload that plants links and special files.

Rows of the threat list: B01 B02 B04 B05 B07 B08 B20.
"""
import errno
import os
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_rig as rig
from guest_rig import Guest, need_program, wait_for, workspace

REGULAR, FOLDER, LINK, FIFO, SOCKET, BLOCK, CHARACTER = range(1, 8)
MORE = 100


def info_of(out):
    size, mtime, mode, kind = struct.unpack("<QqII", out[:24])
    return size, mtime, mode, kind, out[24:]


def put(path, data, mode=None):
    path = os.fsencode(path)
    return struct.pack("<QIIII", len(data), len(path), mode or 0, 0 if mode is None else 1, 0) + path + data


END = struct.pack("<QIIII", 0, 0, 0, 0, 0)


def entries(out):
    found, at = [], 0
    while at < len(out):
        size, mtime, kind, mode, path_len, target_len, sys_, _ = struct.unpack("<QqIIIIiI", out[at:at + 40])
        at += 40
        found.append((out[at:at + path_len], kind, mode, size, out[at + path_len:at + path_len + target_len], sys_))
        at += path_len + target_len
    return found


def read_rows(workspace):
    big = 3 << 20
    with open(os.path.join(workspace, "data"), "wb") as f:
        f.write(bytes(range(256)) * 64)
    with open(os.path.join(workspace, "sparse"), "wb") as f:
        f.truncate(1 << 40)
    os.mkdir(os.path.join(workspace, "folder"))
    os.symlink("data", os.path.join(workspace, "link"))
    os.symlink("/host/canary", os.path.join(workspace, "outward"))
    os.symlink("../../../../../../etc/hostname", os.path.join(workspace, "upward"))
    os.symlink("folder/", os.path.join(workspace, "to-folder"))
    for i in range(41):
        os.symlink("chain-%d" % (i + 1) if i < 40 else "data", os.path.join(workspace, "chain-%d" % i))
    os.symlink("loop", os.path.join(workspace, "loop"))
    os.mkfifo(os.path.join(workspace, "fifo"))
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(workspace, "socket"))
    s.close()
    content = bytes(range(256)) * 64
    return [
        ("data", 0, 1 << 20, content), ("data", 100, 50, content[100:150]), ("data", 16380, 100, content[16380:]), ("data", 99999, 5, b""),
        ("data", 0, 0, b""), ("/workspace/data", 0, 5, content[:5]), ("./folder/../data", 0, 5, content[:5]), ("//workspace//data", 0, 5, content[:5]),
        ("link", 0, 5, content[:5]), ("chain-1", 0, 5, content[:5]), ("chain-0", 0, 5, errno.ELOOP), ("loop", 0, 5, errno.ELOOP),
        ("sparse", 0, big, b"\0" * big), ("sparse", 1 << 39, 10, b"\0" * 10),
        ("outward", 0, 5, errno.ENOENT), ("data/", 0, 5, errno.ENOTDIR), ("data/x", 0, 5, errno.ENOTDIR), ("folder", 0, 5, errno.EISDIR),
        ("to-folder", 0, 5, errno.EISDIR), (".", 0, 5, errno.EISDIR), ("/", 0, 5, errno.EISDIR), ("..", 0, 5, errno.EISDIR),
        ("", 0, 5, errno.ENOENT), ("nothing", 0, 5, errno.ENOENT), ("%2e%2e/data", 0, 5, errno.ENOENT), ("/workspace-evil/data", 0, 5, errno.ENOENT),
        ("x" * 256, 0, 5, errno.ENAMETOOLONG), ("x/" * 2500, 0, 5, errno.ENAMETOOLONG), (b"\xff\xfe", 0, 5, errno.ENOENT),
        ("fifo", 0, 5, errno.ENXIO), ("socket", 0, 5, errno.ENXIO), ("/dev/zero", 0, 5, errno.ENXIO), ("/dev/null", 0, 5, errno.ENXIO),
        ("/dev/tty", 0, 5, errno.ENXIO), ("/dev/urandom", 0, 5, errno.ENXIO), ("/dev/fd/0", 0, 5, errno.EACCES), ("/dev/stdin", 0, 5, errno.EACCES),
        ("/proc/self/root/etc/hostname", 0, 5, errno.EACCES), ("/proc/self/fd/0", 0, 5, errno.EACCES), ("/proc/1/root/etc/passwd", 0, 5, errno.EACCES),
        ("/proc/self/cwd/data", 0, 5, errno.EACCES), ("/proc/thread-self/ns/mnt", 0, 5, errno.EACCES), ("/proc/self/environ", 0, 5, errno.EACCES),
        ("/proc/self/exe", 0, 5, errno.EACCES), ("/proc/kcore", 0, 5, errno.EACCES), ("/proc/../workspace/data", 0, 5, errno.EACCES),
    ]


def test_read(g, workspace):
    wrong = []
    for path, offset, length, expected in read_rows(workspace):
        status, out, err = g.file("read", path, str(offset), str(length))        # which stops waiting for the condition
        if isinstance(expected, int):
            if (status, out, err) != (expected, b"", os.fsencode(path)):
                wrong.append((path, expected, status, out[:50], err[:50]))
        elif status != 0 or info_of(out)[4] != expected or info_of(out)[3] != REGULAR:
            wrong.append((path, offset, status, len(out), err))
    status, out, _ = g.file("read", "upward", "0", "1000")
    if status == 0 and info_of(out)[4].strip() == os.fsencode(socket.gethostname()):
        wrong.append("it was the host's")
    for words in (("read",), ("read", "data"), ("read", "data", "-1", "5"), ("read", "data", "x", "5"), ("read", "data", "0", "5", "6"), ("read", "data", "0", "")):
        if g.file(*words)[0] != errno.EINVAL:
            wrong.append(words)
    rig.report("reading: pieces, links, and a typed error in time for all that is no file (B01 B02 B04 B05)", wrong)


def test_changing(g, workspace):
    null = os.open("/dev/null", os.O_RDWR)
    grow = g.exec(["sh", "-c", "while :; do echo 0123456789012345678901234567890123456789 >> grow; done"], 0, [null] * 3)
    cut = g.exec(["python3", "-c", "import os\nf=os.open('cut', os.O_RDWR|os.O_CREAT)\nwhile True:\n  os.ftruncate(f, 0); os.ftruncate(f, 1 << 22)"], 0, [null] * 3)
    wrong = []
    wait_for(lambda: os.path.exists(os.path.join(workspace, "grow")) and os.path.exists(os.path.join(workspace, "cut")))
    for _ in range(20):
        for name in ("grow", "cut"):
            status, out, err = g.file("read", name, "0", str(2**64 - 1))
            if status != 0 or len(info_of(out)[4]) > info_of(out)[0]:
                wrong.append((name, status, err))
    for number in (grow, cut):
        g.signal(number, signal.SIGKILL)
        g.over(number)
    os.close(null)
    rig.report("files that grow and shrink meanwhile are read to an end (B07)", wrong)


def slurp(workspace, name):
    with open(os.path.join(workspace, name), "rb") as f:
        return f.read()


def temps(workspace):
    return [os.path.join(base, n) for base, _, names in os.walk(workspace) for n in names if n.startswith(".carrel-")]


def test_write(g, workspace):
    wrong = []
    os.symlink("w-target", os.path.join(workspace, "w-link"))
    os.symlink("made-by-link", os.path.join(workspace, "w-dangling"))
    with open(os.path.join(workspace, "w-target"), "wb") as f:
        f.write(b"old")
    os.chmod(os.path.join(workspace, "w-target"), 0o751)
    if rig.ROOT:
        os.chown(os.path.join(workspace, "w-target"), *own(workspace))
    batch = [("w-a", b"alpha", None), ("w-dir/deep/b", b"b" * 300000, None), ("w-suid", b"s", 0o4755), ("w-sticky", b"t", 0o1777), ("w-wide", b"u", 0o777),
             ("w-link", b"through", None), ("w-dangling", b"there", None), ("/workspace/w-abs", b"", None), (b"w-\xff\xfe", b"raw", 0o600), ("w-a", b"again", None)]
    status, out, err = g.file("write", data=b"".join(put(*row) for row in batch) + END)
    if (status, out, err) != (0, b"", b""):
        wrong.append((status, out, err))
    else:
        expected = {"w-a": (b"again", 0o644), "w-dir/deep/b": (b"b" * 300000, 0o644), "w-suid": (b"s", 0o755), "w-sticky": (b"t", 0o777), "w-wide": (b"u", 0o777),
                    "w-target": (b"through", 0o751), "made-by-link": (b"there", 0o644), "w-abs": (b"", 0o644), os.fsdecode(b"w-\xff\xfe"): (b"raw", 0o600)}
        for name, (content, mode) in expected.items():
            st = os.lstat(os.path.join(workspace, name))
            if slurp(workspace, name) != content or st.st_mode & 0o7777 != mode:
                wrong.append((name, slurp(workspace, name)[:20], oct(st.st_mode)))
        if not os.path.islink(os.path.join(workspace, "w-link")):
            wrong.append("a link was replaced")
        if os.stat(os.path.join(workspace, "w-dir/deep")).st_mode & 0o777 != 0o755:
            wrong.append("mode of a directory that was made")
    rows = [("folder", errno.EISDIR), ("folder/", errno.EISDIR), (".", errno.EISDIR), ("w-new/", errno.EISDIR), ("fifo", errno.ENXIO), ("socket", errno.ENXIO),
            ("loop", errno.ELOOP), ("chain-0", errno.ELOOP), ("data/x", errno.ENOTDIR), ("data/", errno.ENOTDIR), ("/dev/null", errno.ENXIO),
            ("/proc/self/oom_score_adj", errno.EACCES), ("/proc/sys/kernel/core_pattern", errno.EACCES), ("/dev/fd/1", errno.EACCES),
            ("/etc/new", None), ("/usr/bin/sh", None), ("x" * 256, errno.ENAMETOOLONG), ("x/" * 2500, errno.ENAMETOOLONG)]
    before = slurp(workspace, "w-a")
    for path, expected in rows:
        status, _, err = g.file("write", data=put("w-a", b"changed") + put(path, b"no") + END)
        if status in (0, -1) or (expected and status != expected) or err != os.fsencode(path)[:4095] and expected != errno.ENAMETOOLONG:
            wrong.append((path, expected, status, err[:60]))
        if slurp(workspace, "w-a") != before or temps(workspace):
            wrong.append((path, "a batch that failed changed something", temps(workspace)))
            break
    whole = put("w-a", b"changed") + put("w-b", b"x" * 1000) + END
    for cut in (0, 1, 23, 24, 26, 30, len(whole) - 25, len(whole) - 24, len(whole) - 1):
        status, _, _ = g.file("write", data=whole[:cut])
        if status != errno.ECANCELED or slurp(workspace, "w-a") != before or os.path.exists(os.path.join(workspace, "w-b")) or temps(workspace):
            wrong.append(("cut at", cut, status, temps(workspace)))
    status, _, _ = g.file("write", data=put("w-nul\0x", b"") + END)
    if status != errno.EINVAL:
        wrong.append(("a NUL in a name", status))
    status, _, _ = g.file("write", data=b"".join(put("w-many/%d" % i, b"%d" % i) for i in range(1024)) + END)
    if status != 0 or len(os.listdir(os.path.join(workspace, "w-many"))) != 1024:
        wrong.append(("a large batch", status))
    status, _, _ = g.file("write", data=b"".join(put("w-many/n%d" % i, b"") for i in range(1025)) + END)
    if status != errno.E2BIG or len(os.listdir(os.path.join(workspace, "w-many"))) != 1024:
        wrong.append(("a batch that is too large", status))
    rig.report("writing: batches are whole or nothing, modes are stripped, links are written through, nothing lies about (B02 B05 B08)", wrong)


def own(workspace):
    st = os.stat(workspace)
    return st.st_uid, st.st_gid


def test_full_disk(g):
    """/tmp inside is small and separate."""
    status, _, _ = g.file("write", data=put("/tmp/keep", b"before") + END)
    _, out, _ = g.sh("df -k /tmp | tail -1 | awk '{print $4}'")
    room = int(out) * 1024
    if room > 512 << 20:
        rig.report("a full disk changes nothing", skip="/tmp inside is too large to be filled: %d" % room)
        return
    wrong = [] if status == 0 else [status]
    g.sh("head -c %d /dev/zero > /tmp/filler" % (room - 65536))
    status, _, err = g.file("write", data=put("/tmp/keep", b"after") + put("/tmp/large", b"x" * (1 << 20)) + END)
    _, out, _ = g.sh("ls -A /tmp; cat /tmp/keep; rm /tmp/filler")
    if status not in (errno.ENOSPC, errno.EDQUOT) or err != b"/tmp/large" or b"before" not in out or b".carrel" in out:
        wrong.append((status, err, out))
    rig.report("a full disk changes nothing", wrong)


def test_list(g, workspace):
    wrong = []
    os.mkdir(os.path.join(workspace, "names"))
    names = [bytes([b]) for b in range(1, 256) if b not in (0x2F, 0x2E)] + [b"\xc3\x28 mixed \xf0\x9f\x98\x80 \xff"]
    for n in names:
        with open(os.path.join(os.fsencode(workspace), b"names", n), "wb") as f:
            f.write(b"<" + n + b">")
    os.chmod(os.path.join(workspace, "names"), 0o755)
    status, out, _ = g.file("list", "names", "1", "10000")
    if status != 0 or sorted(e[0] for e in entries(out)) != sorted(names):
        wrong.append((status, len(out)))
    for path, kind, _, size, _, _ in entries(out):
        status, text, _ = g.file("read", b"names/" + path, "0", "100") if path[0] % 32 == 1 else (0, None, None)
        if status != 0 or kind != REGULAR or (text and info_of(text)[4] != b"<" + path + b">"):
            wrong.append((path, status))
    os.makedirs(os.path.join(workspace, "l/a/b/c"))
    os.symlink("/", os.path.join(workspace, "l/a/out"))
    open(os.path.join(workspace, "l/a/file"), "w").close()
    for depth, expected in (("1", {b"a"}), ("2", {b"a", b"a/b", b"a/out", b"a/file"}), ("64", {b"a", b"a/b", b"a/out", b"a/file", b"a/b/c"})):
        status, out, _ = g.file("list", "l", depth, "100")
        if status != 0 or {e[0] for e in entries(out)} != expected:
            wrong.append((depth, status, entries(out)))
    out_entry = [e for e in entries(out) if e[0] == b"a/out"]
    if not out_entry or out_entry[0][1] != LINK or out_entry[0][4] != b"/":
        wrong.append(out_entry)
    status, out, _ = g.file("list", "names", "1", "10")
    if status != 0 or len(entries(out)) != 11 or entries(out)[-1][:2] != (b"", MORE):
        wrong.append((status, len(entries(out))))
    status, out, _ = g.file("list", "/", "2", "100000")
    below = [e[0] for e in entries(out) if e[0].startswith(b"proc/")]
    proc = [e for e in entries(out) if e[0] == b"proc"]
    if status != 0 or below or not proc or proc[0][5] != errno.EACCES:
        wrong.append(("/proc is listed", below[:3], proc))
    for words, expected in ((("data", "1", "5"), errno.ENOTDIR), (("nothing", "1", "5"), errno.ENOENT), (("/proc", "1", "5"), errno.EACCES), (("fifo", "1", "5"), errno.ENOTDIR),
                            (("l", "0", "5"), errno.EINVAL), (("l", "65", "5"), errno.EINVAL)):
        if g.file("list", *words)[0] != expected:
            wrong.append((words, g.file("list", *words)[0]))
    rig.report("listing: any name comes back and can be read, links are not followed, an end is told (B02 B20)", wrong)


def test_stat_and_moves(g, workspace):
    wrong = []
    rows = {"data": (REGULAR, b""), "folder": (FOLDER, b""), "folder/": (FOLDER, b""), "link": (LINK, b"data"), "outward": (LINK, b"/host/canary"), "fifo": (FIFO, b""),
            "socket": (SOCKET, b""), "/dev/zero": (CHARACTER, b""), "/": (FOLDER, b""), "chain-0": (LINK, b"chain-1"), "link/": errno.ENOTDIR,
            "nothing": errno.ENOENT, "/proc/1": errno.EACCES, "/proc/self": errno.EACCES, "data/x": errno.ENOTDIR}
    for path, expected in rows.items():
        status, out, err = g.file("stat", path)
        found = entries(out)
        if isinstance(expected, int):
            if (status, err) != (expected, os.fsencode(path)):
                wrong.append((path, status, err))
        elif status != 0 or len(found) != 1 or (found[0][0], found[0][1], found[0][4]) != (os.fsencode(path), *expected):
            wrong.append((path, status, found))
    steps = [(("mkdir", "m", "448", "0"), 0), (("mkdir", "m", "448", "0"), errno.EEXIST), (("mkdir", "m", "448", "1"), 0), (("mkdir", "m/x/y", "511", "0"), errno.ENOENT),
             (("mkdir", "m/x/y", "511", "1"), 0), (("mkdir", "to-folder/inside", "493", "0"), 0), (("mkdir", "data", "493", "1"), errno.EEXIST), (("mkdir", "m/s", "3583", "0"), 0),
             (("mkdir", "/proc/x", "493", "0"), None), (("mkdir", "/proc/self/x", "493", "0"), errno.EACCES),
             (("move", "w-abs", "m/moved"), 0), (("move", "w-abs", "m/moved"), errno.ENOENT), (("move", "m", "m/x/m"), errno.EINVAL), (("move", "link", "m/link"), 0),
             (("move", "m/moved", "/tmp/moved"), errno.EXDEV), (("move", "m/moved/", "m/z"), errno.ENOTDIR),
             (("remove", "m", "0"), errno.ENOTEMPTY), (("remove", "m/link", "1"), 0), (("remove", "nothing", "1"), errno.ENOENT), (("remove", ".", "1"), errno.EINVAL),
             (("remove", "to-folder", "1"), 0), (("remove", "fifo/", "1"), errno.ENOTDIR), (("remove", "/proc/self/fd", "1"), errno.EACCES)]
    for words, expected in steps:
        status, _, _ = g.file(*words)
        if status != expected and not (expected is None and status > 0):
            wrong.append((words, expected, status))
    for path, mode in (("m", 0o700), ("m/x", 0o755), ("m/x/y", 0o777), ("m/s", 0o777)):
        if os.stat(os.path.join(workspace, path)).st_mode & 0o7777 != mode:
            wrong.append((path, oct(os.stat(os.path.join(workspace, path)).st_mode)))
    if not os.path.isfile(os.path.join(workspace, "data")) or not os.path.isdir(os.path.join(workspace, "folder/inside")):
        wrong.append("a link was followed where it should have gone")
    rig.report("stat, mkdir and move answer as the kernel does, and touch links themselves (B02)", wrong)


def test_remove(g, workspace):
    script = ("mkdir -p r/keep; cd r; i=0; while [ $i -lt 40 ]; do mkdir d$i; : > d$i/f; ln -s /workspace/data d$i/l; ln -s /workspace/folder d$i/k; mkfifo d$i/p; i=$((i+1)); done; "
              "python3 -c 'import os\nfor i in range(%d): os.mkdir(\"deep\"); os.chdir(\"deep\")'" % (3000 if rig.DEEP else 900))   # longer than any path
    g.sh(script)
    status, _, err = g.file("remove", "r", "1")
    wrong = [] if status == 0 and not os.path.exists(os.path.join(workspace, "r")) else [(status, err)]
    if not os.path.exists(os.path.join(workspace, "data")) or not os.path.isdir(os.path.join(workspace, "folder/inside")):
        wrong.append("a link was followed")
    g.sh("mkdir -p q/closed/x; chmod 0 q/closed")
    status, _, _ = g.file("remove", "q", "1")
    if status != errno.EACCES:
        wrong.append(("what may not be looked into", status))
    g.sh("chmod 700 q/closed; rm -r q")
    rig.report("removing: however deep, following nothing (B02)", wrong)


def main():
    need_program()
    with workspace() as w, Guest(w.path) as g:
        for test in (test_read, test_changing, test_write):
            test(g, w.path)
        test_full_disk(g)
        for test in (test_list, test_stat_and_moves, test_remove):
            test(g, w.path)
    rig.end()


main()
