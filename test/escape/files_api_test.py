#!/usr/bin/env python3
# slow: 25 s: each attack has a payload, and most a control
"""files_api_test - group B of the attacks, against the file interface of a living sandbox.

The payload plants what it can. The caller reads, writes, lists and removes through it. A canary
outside every mount is neither read nor changed, every answer is typed and comes at once, and other
calls do not wait. Controls: a program outside that reads the same name, like a runtime that
resolved paths in its own view, does reach the canary.
"""
import http.client
import os
import secrets
import socket
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import Workspace, end, manifest, report, until
from daemon_rig import Daemon

TOKEN = secrets.token_hex(16)
MOUNTED = ("---\nschema: sandbox/v1\nid: '@test/cut'\nversion: 1.0.0\nprovider: local\nconfig: {}\n"
           "mounts: [{source: workspace, at: /w, mode: read-write}]\nlimits: {timeout_ms: 60000}\n---\nwords\n")
BLOCK = manifest("timeout_ms: 600000")
DEEP_LEVELS = 17000     # src/guest/remove.c remembers 16384


def files(box, path, **more):
    return "/v1/sandboxes/%s/files?%s" % (box, urllib.parse.urlencode(dict(path=path, **more)))


def write(d, box, path, text="x", mode=None):
    entry = {"path": path, "content": text}
    if mode is not None:
        entry["mode"] = mode
    return d.call("POST", "/v1/sandboxes/%s/files" % box, {"files": [entry]})


def traversal(d, box, canary):
    """B01: forty names that might lead out; whatever the answer is, it is not the canary."""
    names = ["../" * n + canary.lstrip("/") for n in range(1, 9)] + ["/" + "../" * n + canary.lstrip("/") for n in range(1, 9)]
    names += [canary, "//" + canary, "/./" + canary, "/home/agent/../.." + canary, "/proc/1/root" + canary, "/proc/self/root" + canary,
              "/proc/self/cwd/../.." + canary, "%2e%2e/" * 4 + canary, "..\\..\\" + canary, "/home/agent-evil/x", ".", "..", "/", "a" * 5000,
              "/" + "a/" * 2000, "\u202e/../x", "~root/.bashrc", "/dev/fd/3", "/dev/fd/0", "/dev/stdin", "/proc/thread-self/ns/mnt"]
    wrong = []
    for name in names:
        for a in (d.call("GET", files(box, name)), d.call("GET", "/v1/sandboxes/%s/files/list?%s" % (box, urllib.parse.urlencode({"path": name}))),
                  write(d, box, name + "/planted")):
            if TOKEN.encode() in a.body:
                wrong.append("%r shows the canary" % name[:80])
            if a.status >= 500 or (a.status >= 300 and a.code is None):
                wrong.append("%r: %r" % (name[:80], a))
    for name, code in (("", "invalid_argument"), ("a\0b", "invalid_argument")):
        if d.call("GET", files(box, name)).code != code:
            wrong.append("%r is not refused as %s" % (name, code))
    report("B01 no name leads out", wrong)


def planted_links(d, box, canary):
    """B02, B04: symbolic links that the payload created."""
    d.exec(box, "mkdir -p /home/agent/l && cd /home/agent/l && ln -s %s abs && ln -s ../../../../../..%s rel && ln -s /proc/1/root%s magic && ln -s / top "
                "&& ln -s nowhere dangling && ln -s self self && ln -s /proc/self/fd/0 fd && i=0; p=end; echo good > end; while [ $i -lt 45 ]; do ln -s $p c$i; p=c$i; i=$((i+1)); done; true"
           % (canary, canary, canary))
    wrong = []
    for name in ("abs", "rel", "magic", "top" + canary, "dangling", "self", "fd", "c44"):
        a = d.call("GET", files(box, "/home/agent/l/" + name))
        if TOKEN.encode() in a.body or a.status == 200 and name not in ("fd",):
            wrong.append("reading %s: %r" % (name, a))
        a = write(d, box, "/home/agent/l/%s/new/file" % name, TOKEN)       # may succeed: the name means a private place inside
        if a.status >= 500 or (a.status >= 300 and a.code is None):
            wrong.append("writing beneath %s: %r" % (name, a))
    if d.call("GET", files(box, "/home/agent/l/c5")).body != b"good\n":
        wrong.append("a short chain of links inside is not followed")
    a = d.call("GET", "/v1/sandboxes/%s/files/list?path=/home/agent/l" % box)
    kinds = {os.path.basename(i["path"]): i["kind"] for i in a.json["items"]}
    if kinds.get("abs") != "link" or kinds.get("end") != "file":
        wrong.append("list says %r" % kinds)
    d.call("DELETE", files(box, "/home/agent/l", recursive="true"))
    if d.exec(box, "test -e /home/agent/l || echo gone; test -d /usr && echo usr")["stdout"] != "gone\nusr\n":
        wrong.append("removing followed a link, or did not remove")
    report("B02 links that the payload planted lead nowhere outside", wrong)


def odd_files(d, box):
    """B05: a file that is not regular is refused at once, and does not delay others."""
    d.exec(box, "cd /home/agent && mkfifo fifo && truncate -s 1T sparse && mkdir dir && python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"sock\")' 2>/dev/null; true")
    wrong = []
    answers = {}

    def read(name):
        answers[name] = d.call("GET", files(box, name), timeout=300)

    threads = [threading.Thread(target=read, args=(n,)) for n in ("/home/agent/fifo", "/dev/zero", "/dev/tty", "/home/agent/dir", "/home/agent/sock", "/dev/null", "/proc/self/environ", "/proc/1/environ")]
    for t in threads:
        t.start()
    for _ in range(20):
        if d.exec(box, "echo ok")["stdout"] != "ok\n":
            wrong.append("another call was hurt")
    for t in threads:
        t.join(300)
    for name in ("/home/agent/fifo", "/dev/zero", "/dev/tty", "/home/agent/dir", "/home/agent/sock", "/dev/null", "/proc/self/environ", "/proc/1/environ"):
        a = answers.get(name)
        if a is None or a.status < 300 or a.code is None:
            wrong.append("%s: %r" % (name, a))
    a = d.call("GET", files(box, "/home/agent/sparse", offset=0, length=10))
    if a.status >= 300 or len(a.body) != 10:
        wrong.append("ten bytes of a sparse file: %r" % a)
    report("B05 fifo, device, socket, directory and /proc are refused at once", wrong)


def moving_files(d, box):
    """B07: reading a file that grows and shrinks meanwhile ends, within its limit."""
    job = d.exec(box, "cd /home/agent; head -c 1000000 /dev/zero > grow; while :; do head -c 100000 /dev/zero >> grow; truncate -s 1000 shrink; head -c 3000000 /dev/zero > shrink; done",
                 background=True)
    wrong = []
    for _ in range(10):
        for name in ("grow", "shrink"):
            try:
                a = d.call("GET", files(box, "/home/agent/" + name, offset=0, length=2000000), timeout=300)
            except http.client.IncompleteRead as e:        # it shrank after its length was sent, and the answer ends early
                if len(e.partial) > 2000000:
                    wrong.append("%s: %d bytes" % (name, len(e.partial)))
                continue
            if a.status == 200 and len(a.body) > 2000000 or a.status >= 500:
                wrong.append("%s: %d, %d bytes" % (name, a.status, len(a.body)))
    d.must("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, job["exec"]))
    report("B07 files that move while they are read", wrong)


def modes(d, box):
    """B08: set-id and sticky bits are removed, and the owner is the payload's user."""
    wrong = []
    for mode, want in ((0o4755, "755"), (0o2755, "755"), (0o1777, "777"), (0o600, "600"), (0o7777, "777")):
        a = write(d, box, "/home/agent/mode", "x", mode)
        got = d.exec(box, "stat -c '%a %u' /home/agent/mode")["stdout"]
        if a.status >= 300 or got != want + " 1000\n":
            wrong.append("%o became %r (%r)" % (mode, got, a))
        d.exec(box, "rm -f /home/agent/mode")
    report("B08 modes lose their set-id bits", wrong)


def whole_or_nothing(d, box):
    """A batch with one file that cannot be written changes none, and leaves no half-written name.
    """
    write(d, box, "/home/agent/b/one", "old")
    a = d.call("POST", "/v1/sandboxes/%s/files" % box, {"files": [{"path": "/home/agent/b/one", "content": "new"}, {"path": "/usr/no", "content": "x"}]})
    left = d.exec(box, "cd /home/agent/b; cat one; ls -A")["stdout"]
    report("a batch is whole or nothing", [] if a.status >= 400 and a.code and left == "oldone\n" else ["%r, %r" % (a, left)])


def odd_names(d, box):
    """B20: every byte that a name may have is returned by list and accepted by read."""
    d.exec(box, ["python3", "-c", "import os\nos.makedirs('/home/agent/n', exist_ok=True)\nfor b in range(1, 256):\n"
                 "    if b != 47 and b != 46:\n        open(b'/home/agent/n/' + bytes([b]), 'wb').write(bytes([b]))\n"])
    items = d.must("GET", "/v1/sandboxes/%s/files/list?path=/home/agent/n" % box)["items"]
    wrong = [] if len(items) == 253 else ["%d names" % len(items)]
    report("B20 a list of every name is valid JSON", wrong)


def read_only(d, folder):
    """A36-136: a read-only mount refuses the interface as it refuses commands; A36-181: both see
    the same bytes.
    """
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o777)
    with open(os.path.join(folder, "f"), "w", encoding="utf-8") as out:
        out.write("host")
    text = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /w, mode: %s}]\n---\n"
    wrong = []
    box = d.create(manifest=text % "read-only", workspace=folder)
    a = write(d, box, "/w/f", "changed")
    if a.code != "sandbox_mount_read_only":
        wrong.append("writing answered %r" % a)
    if d.call("GET", files(box, "/w/f")).body != b"host":
        wrong.append("reading it does not work")
    box = d.create(manifest=text % "read-write", workspace=folder)
    if write(d, box, "/w/a.txt", "1").status >= 300 or d.exec(box, "cat /w/a.txt; echo 2 > /w/a.txt")["stdout"] != "1":
        wrong.append("a command does not see what the interface wrote")
    if d.call("GET", files(box, "/w/a.txt")).body != b"2\n":
        wrong.append("the interface does not see what a command wrote")
    with open(os.path.join(folder, "f"), encoding="utf-8") as f:
        if f.read() != "host":
            wrong.append("the host's file changed")
    report("A36-136, A36-181 mounts through the file interface", wrong)


def upload(d, box, path):
    """An upload of 64 MiB of which half was sent: more than all buffers between hold, so that most
    of it is inside.
    """
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(120)
    s.connect(d.http)
    s.sendall(b"PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (files(box, path).encode(), 64 << 20))
    s.sendall(bytes(32 << 20))
    return s


def cut_uploads(d, workspace):
    """What an unfinished upload leaves: its sandbox is stopped, its directory is renamed, its
    client closes.
    """
    os.mkdir(workspace, 0o777)
    os.chmod(workspace, 0o777)
    left = lambda: [os.path.join(base, n) for base, _, names in os.walk(workspace) for n in names if n not in ("old", "SANDBOX.md")]
    make = lambda: d.create(workspace=workspace, manifest=MOUNTED)
    box = make()
    d.exec(box, "mkdir /w/a /w/b && echo 1 > /w/a/old && chmod -R a+rwX /w/a /w/b")
    s = upload(d, box, "/w/a/old")
    os.rename(os.path.join(workspace, "a"), os.path.join(workspace, "c"))
    during = left()
    s.close()
    until("the upload is over", lambda: not [line for line in d.must("GET", "/v1/sandboxes/%s/execs" % box)["items"] if line.get("state") == "running"])
    wrong = ["a directory was renamed: %s" % n for n in left()] if left() else []
    s = upload(d, box, "/w/b/new")
    during += left()
    d.must("DELETE", "/v1/sandboxes/" + box)
    s.close()
    wrong += ["a sandbox was stopped: %s" % n for n in left()]
    box = make()
    if d.exec(box, "cat /w/c/old").get("stdout") != "1\n":
        wrong.append("what was to be replaced is not as it was")
    whole = d.call("PUT", files(box, "/w/c/old"), b"2" * 100000), d.call("PUT", files(box, "/w/c/new"), b"3" * 100000)
    if [a.status for a in whole] != [204, 204] or d.exec(box, "cat /w/c/old /w/c/new | wc -c")["stdout"].strip() != "200000":
        wrong.append("the next uploads: %r %r" % whole)
    print("# names while bytes came in: %s" % (during or "none"))
    report("an upload that is cut off leaves nothing in a workspace", wrong)


def deep_trees(d):
    """B24: a tree that is deeper than the path that the remover remembers, with files beside each
    directory.
    """
    wrong = []
    with Workspace(text=BLOCK) as w:
        os.chmod(w.folder, 0o755)
        os.chmod(w.path, 0o777)
        at = os.open(w.path, os.O_RDONLY | os.O_DIRECTORY)
        for depth in range(DEEP_LEVELS):
            os.mkdir("deep", dir_fd=at)
            os.chmod("deep", 0o777, dir_fd=at)
            below = os.open("deep", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
            if depth % 1000 == 0:
                os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
                os.symlink("..", "link", dir_fd=at)
        os.close(at)
        box = d.create(workspace=w.path, manifest=BLOCK, start=True)
        a = d.call("DELETE", files(box, "/workspace/deep", recursive="true"), timeout=600)
        if a.status >= 300 or os.path.lexists(os.path.join(w.path, "deep")):
            wrong.append("%d levels: %r" % (DEEP_LEVELS, a))
            subprocess.run(["rm", "-rf", os.path.join(w.path, "deep")], check=False)
        d.call("DELETE", "/v1/sandboxes/" + box)
    report("B24 a tree of %d levels is removed" % DEEP_LEVELS, wrong)


def makers(d, box):
    """B25: a command creates names in a directory as fast as they are removed: the removal ends
    after a number of passes, with a code.
    """
    job = d.exec(box, ["perl", "-e", "mkdir '/home/agent/busy'; for (;;) { for my $n (1 .. 200) { open my $f, '>', \"/home/agent/busy/$n\" or mkdir '/home/agent/busy' } }"], background=True)
    until("it makes names", lambda: d.call("GET", "/v1/sandboxes/%s/files/stat?path=/home/agent/busy/200" % box).status == 200)
    a = d.call("DELETE", files(box, "/home/agent/busy", recursive="true"), timeout=600)
    d.call("DELETE", "/v1/sandboxes/%s/execs/%d" % (box, job["exec"]))
    report("B25 removing where names are made all the time ends, removed or refused as busy", [] if a.status < 300 or a.code in ("file_busy", "directory_not_empty") else [repr(a)])


def main():
    with Daemon() as d:
        outside = os.path.join(d.folder, "canary")
        os.mkdir(outside)
        canary = os.path.join(outside, "token")
        with open(canary, "w", encoding="utf-8") as out:
            out.write(TOKEN)
        before = os.stat(canary)
        box = d.create(start=True)
        d.exec(box, "mkdir -p /home/agent")
        report("control: outside, the canary's path leads to it", [] if open("/proc/self/root" + canary, encoding="utf-8").read() == TOKEN else ["it does not"])
        traversal(d, box, canary)
        planted_links(d, box, canary)
        odd_files(d, box)
        moving_files(d, box)
        modes(d, box)
        whole_or_nothing(d, box)
        odd_names(d, box)
        read_only(d, os.path.join(d.folder, "ws"))
        cut_uploads(d, os.path.join(d.folder, "cut"))
        deep_trees(d)
        makers(d, box)
        after = os.stat(canary)
        same = (before.st_ino, before.st_mtime_ns, before.st_size) == (after.st_ino, after.st_mtime_ns, after.st_size) and os.listdir(outside) == ["token"]
        report("the canary is as it was", [] if same else ["it changed: %r" % os.listdir(outside)])
    end()


if __name__ == "__main__":
    main()
