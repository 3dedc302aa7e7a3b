#!/usr/bin/env python3
"""keeper_fault_test - what holds when the keeper is killed at any call, when its disk fills or
fails, and when it runs out of descriptors.

strace injects the faults. SWEEP_STEP=1 kills at every point, `./dev test --all` at every second
one; the default is the first three of each call and every fifth after them.
"""
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import box_wire
from box_rig import DEEP, PATIENCE, ROOT, end, report
from keeper_rig import Keeper, Refused, boxes_running, edit, until

STEP = int(os.environ.get("SWEEP_STEP") or (2 if DEEP else 5))
# After these calls something durable, or something that another process holds, has changed.
POINTS = ("pwrite64", "fdatasync", "mkdirat", "bind", "socketpair", "sendmsg", "unlinkat", "connect")
SOFT = (EOFError, OSError, box_wire.Gone, TimeoutError)


def traced(*inject):
    return ["strace", "-D", "-f", "-o", "/dev/null", "-e", "trace=" + ",".join({one.split(":")[0] for one in inject}), *[w for one in inject for w in ("-e", "inject=" + one)]]


def attempt(name, work):
    try:
        report(name, work())
    except (AssertionError, Refused, *SOFT) as e:
        report(name, ["%s: %s" % (type(e).__name__, e)])


# -- killed at every point ------------------------------------------------------------------------------------------------------


class Model:
    """What was acknowledged. A call that was cut off is repeated with its key, and then must have
    happened once.
    """

    def __init__(self):
        self.acked = {}

    def run(self, c):
        a = self.acked
        a["one"] = c.call("create", name="one", key="k1", timeout_ms=1000000)["id"]
        a["left"] = c.call("extend", id="one", duration_ms=1000000, key="e1")["timeout_ms"]
        a["exec"] = bytes(c.exec("one", "echo once >> log; echo said", key="x1", background=True).out)
        a["two"] = c.call("create", name="two", key="k2")["id"]
        a["stopping"] = True
        c.call("stop", id="two")
        a["stopped"] = True

    def judge(self, k):
        """After the next start: everything acknowledged exists, nothing exists twice, and a
        repeated call has the same result.
        """
        a, c, wrong = self.acked, k.caller(), []
        names = [i.get("name") for i in c.call("list").get("items", [])]
        if len(set(names)) != len(names):
            wrong.append("a name twice: %r" % names)
        if "one" in a and "one" not in names:
            wrong.append("an acked sandbox is gone")
        if "stopped" in a and "two" in names:
            wrong.append("a stopped sandbox is back")
        if "two" in a and "stopping" not in a and "two" not in names:
            wrong.append("the second acked sandbox is gone")
        one = c.call("create", name="one", key="k1", timeout_ms=1000000)["id"]
        if a.get("one", one) != one:
            wrong.append("its key made another")
        left = c.call("extend", id="one", duration_ms=1000000, key="e1")["timeout_ms"]
        if not 1900000 < left <= 2000000:
            wrong.append("%d ms are left after one extension" % left)
        if c.call("get", id="one")["status"] == "failed":
            return wrong + ["it failed: %r" % c.call("get", id="one")]
        c.exec("one", "echo once >> log; echo said", key="x1", background=True)
        log = bytes(c.exec("one", "cat log").out)
        if log != b"once\n":
            wrong.append("the command ran %d times" % log.count(b"once"))
        held = sum(1 for i in c.call("list")["items"] if i["status"] != "pending")
        until("no box without a sandbox", lambda: boxes_running(k.state) == held and len(k.directories()) == held)
        return wrong


def sweep():
    for call in POINTS:
        wrong, number, count, is_clean = [], 1, 0, False
        while not is_clean and number < 400 and len(wrong) < 3:
            with Keeper(is_held=True) as k:
                model = Model()
                try:
                    k.start(wait=False, prefix=traced("%s:signal=SIGKILL:when=%d" % (call, number)))
                    until("it serves or is dead", lambda: k.child.poll() is not None or answers(k))
                    model.run(k.caller())
                    is_clean = True
                except SOFT:
                    pass
                if is_clean:
                    k.stop(signal.SIGKILL)
                else:
                    k.child.wait(30)
                    k.spawner.wait(PATIENCE)
                k.start()
                count += 1
                wrong += ["%s %d: %s" % (call, number, w) for w in model.judge(k)]
            number += STEP if number > 2 else 1
        report("killed after any %s: what was acked is there, what was not converges, no orphan (%d points; N1, N2, N8)" % (call, count), wrong)


def recovery():
    """Two living sandboxes, one that died with the keeper, one box without a row: the keeper is
    killed while it finds them again, and once more after that.
    """
    for call in ("connect", "unlinkat", "pwrite64", "fdatasync", "sendmsg", "recvmsg", "epoll_ctl"):
        wrong, number, count, is_clean = [], 1, 0, False
        while not is_clean and number < 200 and len(wrong) < 3:
            with Keeper() as k:
                c = k.caller()
                ids = [c.call("create", start=True, timeout_ms=900000)["id"] for _ in range(4)]
                victim = box_wire.Keeper(connected(k, ids[2]))
                victim.until(lambda: victim.hello)
                k.stop(signal.SIGKILL)
                os.kill(victim.hello["pid"], signal.SIGKILL)
                until("the box is dead", lambda: box_wire.dead(victim.hello["pid"]))
                victim.close()
                edit(k.state, "DELETE FROM sandboxes WHERE id = ?", ids[3])
                k.start(wait=False, prefix=traced("%s:signal=SIGKILL:when=%d" % (call, number)))
                is_clean = until("it serves or is dead", lambda: k.child.poll() is not None or answers(k)) and k.child.poll() is None
                if is_clean:
                    k.stop(signal.SIGKILL)
                else:
                    k.spawner.wait(PATIENCE)
                k.start()
                c, count = k.caller(), count + 1
                states = {i["id"]: (i["status"], i.get("cause")) for i in c.call("list")["items"]}
                if states != {ids[0]: ("running", None), ids[1]: ("running", None), ids[2]: ("failed", "lost")}:
                    wrong.append("%s %d: %r" % (call, number, states))
                if bytes(c.exec(ids[1], "echo ok").out) != b"ok\n":
                    wrong.append("%s %d: its box does not answer" % (call, number))
                until("what is nobody's is collected", lambda: k.directories() == sorted(ids[:2]))
            number += STEP if number > 2 else 1
        report("killed at any %s while it recovers: the next start finds the same (%d points; Z02)" % (call, count), wrong)


def connected(k, id):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.path.join(k.state, "boxes", id, "sock"))
    return s


def answers(k):
    try:
        c = k.caller()
        c.sock.settimeout(2)
        c.call("info")
        return True
    except SOFT:
        return False


# -- a disk that is full, or fails ------------------------------------------------------------------------------------------------


def full():
    with Keeper() as k:
        c = k.caller()
        id, other = c.call("create", start=True)["id"], c.call("create")["id"]
        c.exec(id, "true")
        k.stop()
        k.start(prefix=traced("pwrite64:error=ENOSPC:when=30+"))

        def refused():
            c = k.caller()
            acked, codes = [], []
            for i in range(60):
                try:
                    acked.append(c.call("create", name="n%d" % i)["id"])
                except Refused as r:
                    codes.append(r.code)
            listed = [i["id"] for i in c.call("list")["items"]]
            out = bytes(c.exec(id, "echo ok").out)
            wrong = [] if codes and set(codes) == {"storage_full"} else ["the codes are %r" % set(codes)]
            wrong += [] if set(acked) <= set(listed) and len(listed) == len(acked) + 2 else ["%d listed, %d acked" % (len(listed), len(acked))]
            wrong += [] if out == b"ok\n" else ["exec: %r" % out]
            wrong += [] if c.call("stop", id=id)["existed"] else ["stop did not work"]
            until("its box is gone", lambda: boxes_running(k.state) == 0)
            k.restart(signal.SIGKILL)
            c = k.caller()
            after = [i["id"] for i in c.call("list")["items"]]
            return wrong + [a + " was acked and is gone" for a in [*acked, other] if a not in after] + ([] if "id" in c.call("create") else ["create still fails"])
        attempt("a full disk: storage_full for what has to be kept, while get, list, exec, kill and stop work; space again, and all goes on (Z10)", refused)


def broken():
    refusals = []
    for number in (1, 2, 3):
        with Keeper() as k:
            def no_ack():
                c = k.caller()
                c.call("create", name="before")
                k.stop()
                k.start(wait=False, prefix=traced("fdatasync,fsync:error=EIO:when=%d" % number))
                until("it serves or is dead", lambda: k.child.poll() is not None or answers(k))
                acked, codes, late = [], [], []
                if k.child.poll() is None:
                    c = k.caller()
                    for i in range(8):
                        try:
                            acked.append(c.call("create", name="n%d" % i)["id"])
                            late += [i] if codes else []
                        except Refused as r:
                            codes.append(r.code)
                    refusals.extend(codes)             # the result of syncing only the directory is ignored
                    if late:
                        return ["refused %r, and acked after that: %r" % (codes, late)]
                    if c.call("get", id="before")["status"] != "pending":
                        return ["get does not work"]
                    k.stop(signal.SIGKILL)
                k.start()
                c = k.caller()
                after = [i["id"] for i in c.call("list")["items"]]
                return [a + " was acked and is gone" for a in acked if a not in after]
            attempt("fsync fails at its %d. call: nothing is acked that is not kept, and a new start recovers (Z09, N9)" % number, no_ack)
    report("a failed sync was seen as one", [] if refusals and set(refusals) <= {"storage_full", "state_unusable"} else [refusals])


def starved():
    with Keeper() as k:
        k.stop()

        def limited():
            k.start(prefix=["prlimit", "--nofile=48:1024"])
            c = k.caller()
            callers, codes = [], []
            for _ in range(60):
                try:
                    one = k.caller()
                    one.sock.settimeout(0.3)
                    one.call("info")
                    callers.append(one)
                except SOFT:
                    break
            before = cpu(k.child.pid)
            time.sleep(0.5)
            used = cpu(k.child.pid) - before
            try:
                c.exec(c.call("create")["id"], "true")
            except Refused as r:
                codes.append(r.code)
            for one in callers:
                one.close()
            until("it serves again", lambda: answers(k))
            if ROOT:                           # creating a sandbox sends descriptors, and all of root's descriptors in transit on this machine count against this limit
                resource.prlimit(k.child.pid, resource.RLIMIT_NOFILE, (1024, 1024))
            out = bytes(c.exec(c.call("create")["id"], "echo ok").out)
            return ([] if used < 0.1 else ["it used %.2f s of CPU in half a second" % used]) + ([] if out == b"ok\n" else [out])
        attempt("out of descriptors: no crash, no busy loop, and it serves again when there are some (Z11)", limited)


def cpu(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
        report("faults by strace", skip="strace cannot trace here")
    else:
        full()
        broken()
        starved()
        sweep()
        recovery()
    end()
