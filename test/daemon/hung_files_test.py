#!/usr/bin/env python3
"""hung_files_test - a workspace on a file system that does not answer: what waits, what does not,
and that it ends with a typed error. TAP.

The daemon itself reads workspaces, so all callers wait with it (SECURITY.md, Known limits). Running
commands continue and end at their limits. The file system is FUSE, mounted in this program's own
mount namespace; its server is in this test, and delays its answers.
"""
import ctypes
import os
import struct
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import LIBC, ROOT, end, manifest, need_programs, own_place, report, until
from box_wire import mark, running
from daemon_rig import Daemon

INIT, GETATTR, STATFS, FORGET, LOOKUP = 26, 3, 17, 2, 1
HEADER = struct.Struct("=IIQQIIII")            # struct fuse_in_header
ENOENT, ENOSYS, MNT_DETACH = 2, 38, 2


class Files:
    """An empty directory that answers until it is held."""

    def __init__(self, path):
        os.mkdir(path)
        self.path, self.fd = path, os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self.go_on, self.asked = threading.Event(), threading.Event()
        self.go_on.set()
        self.error = None
        options = b"fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other" % self.fd
        if LIBC.mount(b"carrel-test", path.encode(), b"fuse", 6, options) < 0:      # MS_NOSUID | MS_NODEV
            self.error = os.strerror(ctypes.get_errno())
            os.close(self.fd)
            return
        self.server = threading.Thread(target=self.serve, daemon=True)
        self.server.start()

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError:                    # unmounted
                return
            _, opcode, unique, _, _, _, _, _ = HEADER.unpack_from(request)
            if opcode == FORGET:
                continue
            if not self.go_on.is_set():
                self.asked.set()
                self.go_on.wait()
            body = {INIT: struct.pack("=IIIIHHII36x", 7, 31, 65536, 0, 12, 9, 65536, 1), GETATTR: struct.pack("=QII", 0, 0, 0) + struct.pack("=QQQQQQIIIIIIIII4x", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096),
                    STATFS: struct.pack("=QQQQQIIII24x", 1000, 1000, 1000, 1000, 1000, 4096, 255, 4096, 0)}.get(opcode)
            answer = struct.pack("=IiQ", 16 + len(body), 0, unique) + body if body else struct.pack("=IiQ", 16, -ENOENT if opcode == LOOKUP else -ENOSYS, unique)
            try:
                os.write(self.fd, answer)
            except OSError:                    # no process waits for it any more
                pass

    def end(self):
        LIBC.umount2(self.path.encode(), MNT_DETACH)
        self.go_on.set()
        self.server.join()      # its last answer must not go to the next descriptor of this number
        os.close(self.fd)


def hung(d, files):
    word = mark()
    box = d.create(start=True)
    job = d.exec(box, ["sleep", word], background=True, timeout_ms=1500)
    until("it sleeps", lambda: running(word))
    files.go_on.clear()
    answers = {}

    def ask(name, method, path, body=None):
        answers[name] = d.call(method, path, body)
    callers = [threading.Thread(target=ask, args=("create", "POST", "/v1/sandboxes", {"workspace": files.path, "manifest": manifest(), "start": True})),
               threading.Thread(target=ask, args=("other", "GET", "/v1/sandboxes/" + box))]
    callers[0].start()
    until("the daemon asks the file system", files.asked.is_set)
    callers[1].start()
    wrong = []
    try:
        until("the command ends at its limit meanwhile", lambda: not running(word))
    except AssertionError as e:
        wrong.append(str(e))
    if "create" in answers:
        wrong.append("nothing was held: %r" % answers["create"])
    files.end()
    for one in callers:
        one.join()
    if answers["create"].status < 400 or answers["create"].code in (None, "internal_error"):
        wrong.append(answers["create"])
    if answers["other"].status != 200 or d.must("GET", "/v1/sandboxes/%s/execs/%d" % (box, job["exec"]))["outcome"] != "timed_out":
        wrong.append(answers["other"])
    if d.exec(box, ["echo", "on"])["stdout"] != "on\n":
        wrong.append("its sandbox does not go on")
    report("a workspace on a file system that does not answer: commands end at their limits, and when it is gone the create is refused and others are answered", wrong)


def main():
    need_programs()
    name = "a workspace on a file system that does not answer"
    if not ROOT or not os.path.exists("/dev/fuse"):
        report(name, skip="only root mounts FUSE without a helper" if not ROOT else "no /dev/fuse here")
        end()
    own_place()                                # its own mount namespace, before any thread exists
    with tempfile.TemporaryDirectory(prefix="carrel-hung-") as folder:
        os.chmod(folder, 0o755)
        files = Files(os.path.join(folder, "files"))
        if files.error:
            report(name, skip="this kernel mounts no FUSE: " + files.error)
        else:
            with Daemon() as d:
                hung(d, files)
    end()


if __name__ == "__main__":
    main()
