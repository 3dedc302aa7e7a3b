#!/usr/bin/env python3
"""power_test - what a keeper finds after a power loss, at any moment of a recorded life (Z07, Z08;
N1, N2).

No file system here loses what was not synced, so the test builds one from a record (disk_rig.py). A
keeper is started on each image of its state directory: it serves, has everything that it had
answered, and at most the one call more that was in progress.
"""
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import DEEP, ROOT, end, report
from disk_rig import RECORD, Disk, replay
from keeper_rig import Keeper, until
from wire import KIND

MILLION = 1000000


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


def is_reply(texts):
    return bool(texts) and len(texts[0]) >= 8 and int.from_bytes(texts[0][6:8], "little") == KIND["REPLY"]


def text_of(path):
    with open(path, encoding="latin-1") as f:
        return f.read()


def record(k, calls, number):
    log = os.path.join(k.folder, "record-%d" % len(os.listdir(k.folder)))
    k.start(wait=False, prefix=["strace", "-D", "-o", log, *RECORD])
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
            moments = list(replay(log, disk, is_reply))
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
