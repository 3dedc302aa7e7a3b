#!/usr/bin/env python3
"""What a client does when the daemon is missing, ends, refuses, or sends invalid answers: every
result is typed, and no answer is trusted unchecked.

The keeper is a fake one (fake_keeper.py), so this test needs no sandbox.
"""
import json
import os
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ROOT, check, end, need_programs, report
from fake_keeper import SANDBOX, STARTED, FakeKeeper, play
from test_clock import Clock
from wire import C_END, C_STDERR, C_STDIN, C_STDOUT, END, FIELDS, HEAD, KIND, MAGIC, REPLY, REPLY_MORE, VERSION, end_frame, entry, frame, record

OUT, ERR = C_STDOUT, C_STDERR
EXEC = {"exec": 1, "state": "running"}
ESC = "\x1b]0;owned\x07\x1b[31m"
COMMANDS = (["create"], ["ls"], ["info"], ["info", "x"], ["exec", "x", "--", "true"], ["ps", "x"], ["output", "x", "1"], ["kill", "x", "1"], ["cp", "x:a", "-"],
            ["cp", "/dev/null", "x:a"], ["extend", "x", "1m"], ["pause", "x"], ["resume", "x"], ["url", "x", "80"], ["stop", "x"], ["events"], ["key", "ls"],
            ["key", "new"], ["key", "rm", "x"])


def said(done):
    return "%d %r %r" % (done.returncode, done.stdout[-600:], done.stderr[-600:])


def code_of(done):
    try:
        return json.loads(done.stdout)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None


def no_daemon():
    with tempfile.TemporaryDirectory() as empty:
        for words in COMMANDS:
            k = FakeKeeper()
            k.state = empty
            plain, typed = k.carrel(*words), k.carrel(words[0], "--json", *words[1:])
            wrong = [] if plain.returncode == 125 and b"carrel serve" in plain.stderr and plain.stdout == b"" else ["plain: " + said(plain)]
            if typed.returncode != 125 or (code_of(typed) != "daemon_unreachable" and words != ["cp", "x:a", "-"]):
                wrong.append("--json: " + said(typed))
            report("without a daemon, carrel %s says how to start one" % " ".join(words), wrong)
            os.rmdir(k.folder + "/state")
            os.rmdir(k.folder)


def strangers():
    """The owner of a socket's directory may listen there: nothing is sent to a user that the caller
    did not choose (gate 14).
    """
    if not ROOT:
        report("a keeper of another user is sent nothing", skip="only root can play another user")
        return
    for words in (["create", "-e", "API_KEY=s3cret"], ["exec", "x", "-e", "API_KEY=s3cret", "--", "true"], ["ls"], ["mcp"]):
        with FakeKeeper(uid=4242) as k:
            k.on("create", k.answer(SANDBOX))
            k.on("list", k.answer({"items": []}))
            done = k.carrel(*words)
            report("carrel %s sends nothing to another user" % words[0], [] if done.returncode == 125 and b"user 4242 listens in" in done.stderr and
                   b"CARREL_DAEMON_UID=4242" in done.stderr and k.calls == [] else [said(done), k.calls])
    for uid, text, is_good in ((4242, "4242", True), (4242, "4243", False), (4242, "", False), (4242, "4242x", False), (4242, str(2 ** 32 + 4242), False), (4242, str(2 ** 64 + 4242), False),
                               (4242, "-1", False), (0, "4242", True)):
        with FakeKeeper(uid=uid) as k:
            k.on("list", k.answer({"items": []}))
            done = k.carrel("ls", env={"CARREL_DAEMON_UID": text})
            check("user %d listens, and CARREL_DAEMON_UID is \"%s\"" % (uid, text), (done.returncode == 0 and len(k.calls) == 1) if is_good else (done.returncode == 125 and k.calls == []), said(done), k.calls)


def refusals(k):
    for code, status in (("sandbox_not_found", 126), ("quota_exceeded", 126), ("sandbox_read_only", 126), ("no_memory", 125)):
        k.on("exec.start", k.refuse(code, "because of " + ESC, hint="look there", at="a/b", line=3, column=4))
        done, typed = k.carrel("exec", "x", "--", "true"), k.carrel("exec", "--json", "x", "--", "true")
        check("a refusal with %s ends with %d and its words, escaped" % (code, status), done.returncode == status and code.encode() in done.stderr and
              b"look there" in done.stderr and b"\x1b" not in done.stderr and b"\x07" not in done.stderr, said(done))
        error = json.loads(typed.stdout)["error"]
        check("and the same in JSON", typed.returncode == status and (error["code"], error["path"], error["line"], error["hint"]) == (code, "a/b", 3, "look there"), said(typed))
    k.on("get", k.refuse("sandbox_not_found"))
    done = k.carrel("info", "x", "--json")
    check("info of none is sandbox_not_found", done.returncode == 126 and code_of(done) == "sandbox_not_found", said(done))
    k.on("stop", k.refuse("sandbox_not_found"))
    done = k.carrel("stop", "x", "--json")
    check("stop of none says that there was none", done.returncode == 0 and json.loads(done.stdout)["existed"] is False, said(done))
    k.on("list", k.refuse("a_code_of_a_later_version"))
    done = k.carrel("ls", "--json")
    check("a code that is not known is a failure all the same", done.returncode == 125 and code_of(done) == "protocol_error", said(done))


def parts(k):
    items = [dict(SANDBOX, id="%016x" % i) for i in range(700)]

    def three(call):
        call.reply({"items": []}, serial=call.serial + 77)                       # not the answer to a call of this client
        call.reply({"items": items[:300]}, REPLY_MORE)
        call.reply({"items": items[300:301]}, REPLY_MORE)
        call.reply({"items": items[301:]})
    k.on("list", three)
    done = k.carrel("ls", "-q")
    check("an answer in several parts is put together", done.returncode == 0 and done.stdout.decode().split() == [i["id"] for i in items], said(done)[:300])

    def half(call):
        call.reply({"items": items[:3]}, REPLY_MORE)
        return False
    k.on("list", half, k.answer({"items": items[:2]}))
    done = k.carrel("ls", "-q")
    check("an answer cut in its middle is asked for again, and the half forgotten", done.returncode == 0 and done.stdout.decode().split() == [i["id"] for i in items[:2]], said(done))


def lost(k):
    k.on("create", k.hang_up, k.answer(SANDBOX))
    done = k.carrel("create", "--json")
    check("a create whose answer is lost is not made twice", done.returncode == 125 and code_of(done) == "connection_lost" and len(k.calls) == 1, said(done), k.calls)
    k.on("create", k.hang_up, k.answer(SANDBOX))
    done = k.carrel("create", "--json", "--key", "once")
    check("with a key it is asked again, with the same key", done.returncode == 0 and [f.get("key") for _, f in k.calls] == ["once", "once"], said(done), k.calls)
    k.on("stop", k.hang_up, k.answer({"existed": True}))
    done = k.carrel("stop", "x")
    check("what is idempotent by nature is asked again", done.returncode == 0 and len(k.calls) == 2, said(done))
    k.on("list", k.hang_up)
    done = k.carrel("ls", "--json")
    check("a daemon that hangs up for ever ends the client too", done.returncode == 125 and code_of(done) == "connection_lost", said(done))

    def leave(call):
        k.deaf()
        return False
    k.on("get", leave)
    with Clock() as clock, clock.fast():       # the client looks for it for three seconds
        done = k.carrel("info", "x", "--json", program=os.path.join(clock.build, "carrel"), env=clock.env)
    check("a daemon that does not come back is told as none", done.returncode == 125 and code_of(done) == "daemon_unreachable", said(done))
    k.listen()


def lies(k):
    tag = FIELDS["items"][0]
    text, uint = FIELDS["id"][0], FIELDS["created_at_ms"][0]
    deep = record({"id": "x"})
    for _ in range(8):
        deep = entry(tag, 6, deep)
    cases = {
        "a record that is cut": record({"items": [SANDBOX]})[:-8],
        "a length past its end": struct.pack("=HHI", text, 4, 4000) + b"abc\0\0\0\0\0",
        "a length that wraps": struct.pack("=HHI", text, 4, 0xFFFFFFFF) + b"\0" * 8,
        "a text without an end": entry(text, 4, b"abc"),
        "a text with two ends": entry(text, 4, b"a\0b\0"),
        "a number of four bytes": entry(uint, 1, b"\0\0\0\0"),
        "a type that there is not": struct.pack("=HHI", text, 99, 0),
        "a truth that is neither": entry(FIELDS["existed"][0], 3, struct.pack("=Q", 2)),
        "records in records without end": deep,
        "an item without an id": record({"items": [{"status": "running"}]}),
        "an item whose id is a number": entry(tag, 6, entry(text, 1, struct.pack("=Q", 1)) + record({"status": "running"})),
        "bytes that are nothing": b"\xff" * 64,
    }
    for name, body in cases.items():
        k.on("list", k.raw(body))
        done = k.carrel("ls", "--json")
        check("refused: " + name, done.returncode == 125 and code_of(done) == "protocol_error", said(done))
    for name, raw in (("another magic", b"XXXX\x02\0\x39\0" + b"\0" * 8), ("another version", HEAD.pack(MAGIC, 77, KIND["REPLY"]) + REPLY.pack(1, 0)),
                      ("no kind", HEAD.pack(MAGIC, VERSION, 0) + REPLY.pack(1, 0)), ("half a head", b"CR"), ("another kind", HEAD.pack(MAGIC, VERSION, 1) + REPLY.pack(1, 0))):
        k.on("list", lambda call, raw=raw: call.send(raw))
        done = k.carrel("ls", "--json")
        check("refused: a message of " + name, done.returncode == 125 and code_of(done) == "protocol_error", said(done))
    k.on("exec.start", k.answer(EXEC))
    done = k.carrel("exec", "--json", "x", "--", "true")
    check("refused: an exec without its channel", done.returncode == 125 and code_of(done) == "protocol_error", said(done))
    k.on("exec.start", k.channel({"state": "running"}, play, STARTED, end_frame()))
    done = k.carrel("exec", "--json", "x", "--", "true")
    check("refused: an exec without its number", done.returncode == 125 and code_of(done) == "protocol_error", said(done))
    rng, good, wrong = random.Random(36), record({"items": [SANDBOX, dict(SANDBOX, name="n", ports=[1, 2])]}), []
    for i in range(150):
        body = bytearray(good)
        for _ in range(rng.randrange(1, 5)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        k.on("list", k.raw(bytes(body)))
        done = k.carrel("ls", "--json")
        if done.returncode not in (0, 125, 126) or b"\x1b" in done.stdout + done.stderr:
            wrong.append("%d: %s" % (i, said(done)))
    report("150 answers with broken bytes are read or refused, and nothing else", wrong[:3])


def hostile_words(k):
    name = "a" + ESC + "\u202e\n"
    k.on("list", k.answer({"items": [dict(SANDBOX, name=name, runtime=name)]}))
    k.on("exec.list", k.answer({"items": [{"exec": 1, "state": "running", "command": name, "started_at_ms": 1}]}))
    k.on("url", k.answer({"url": name}))
    k.on("get", k.answer(dict(SANDBOX, name=name, workspace=name, metadata=json.dumps({"a": name}))))
    k.on("list", k.answer({"items": [dict(SANDBOX, name=name, runtime=name)]}))
    for words in (["ls"], ["ps", "x"], ["url", "x", "80"], ["info", "x"], ["info", "x", "--json"]):
        done = k.carrel(*words)
        bad = [b for b in (b"\x1b", b"\x07", "\u202e".encode()) if b in done.stdout + done.stderr]
        if "--json" in words:
            bad = [b for b in bad if b != "\u202e".encode()]
        check("carrel %s shows hostile words and obeys none" % " ".join(words), done.returncode == 0 and not bad, said(done))


def channels(k):
    cases = (  # name, parts, status, code
        ("a channel that closes at once", (), 125, "lost"),
        ("one that closes after the start", (STARTED,), 125, "lost"),
        ("one that closes within a frame", (STARTED, frame(OUT, b"abc", 0, length=10)), 125, "lost"),
        ("a frame of no kind", (STARTED, frame(99, b"abc")), 125, "protocol_error"),
        ("a frame of the other direction", (STARTED, frame(C_STDIN, b"abc")), 125, "protocol_error"),
        ("a frame that is too long", (STARTED, frame(OUT, b"abc", 0, length=1 << 30)), 125, "protocol_error"),
        ("bytes that come twice", (STARTED, frame(OUT, b"abc", 0), frame(OUT, b"bc", 1)), 125, "protocol_error"),
        ("an offset that wraps", (STARTED, frame(OUT, b"abc", 2**64 - 1)), 125, "protocol_error"),
        ("an ending that there is not", (STARTED, frame(C_END, END.pack(99, 0, 0, 0, 0, 0, 0, 0, 0, 0))), 125, "protocol_error"),
        ("an exit status of 4096", (STARTED, end_frame(code=4096)), 125, "protocol_error"),
    )
    for name, script, status, code in cases:
        k.on("exec.start", k.channel(EXEC, play, *script))
        done = k.carrel("exec", "--json", "x", "--", "true")
        check("an exec over %s ends with %d" % (name, status), done.returncode == status and (json.loads(done.stdout)["outcome"] if code == "lost" else code_of(done)) == code, said(done))
        done = k.carrel("exec", "x", "--", "true")
        check("and live as well", done.returncode == status and (b"its end was not seen" if code == "lost" else code.encode()) in done.stderr, said(done))
    k.on("exec.start", k.channel(dict(EXEC, state="ended"), play))
    done = k.carrel("exec", "--json", "--key", "k", "x", "--", "true")
    check("one that ended before, and is no longer kept, is not lost", done.returncode == 126 and code_of(done) == "exec_not_found", said(done))
    k.on("exec.start", k.channel(EXEC, play, STARTED, frame(OUT, b"a\n"), frame(ERR, b"b\n"), frame(OUT, b"c\n", 100), end_frame(7, out=102, err=2, dropped=98)))
    done = k.carrel("exec", "x", "--", "true")
    check("bytes that were dropped are counted, the rest comes, and the status is the command's", (done.returncode, done.stdout) == (7, b"a\nc\n") and
          done.stderr.startswith(b"b\n") and b"98 bytes" in done.stderr, said(done))
    for word, signal, status in (("signaled", 15, 143), ("timed_out", 9, 124), ("oom_killed", 9, 137), ("killed", 9, 137), ("lost", 0, 125)):
        k.on("exec.start", k.channel(EXEC, play, STARTED, end_frame(word=word, signal=signal)))
        done = k.carrel("exec", "x", "--", "true")
        check("an exec that was %s ends with %d" % (word, status), done.returncode == status and (word == "signaled" or b"carrel" in done.stderr), said(done))


def info_of(size, kind=1):
    return struct.pack("=QqII", size, 0, 0o4755, kind)


def entry_of(path, kind=1, target=b"", length=None):
    return struct.pack("=QqIIIIiI", 3, 0, kind, 0o6777, len(path) if length is None else length, len(target), 0, 0) + path + target


def out(body):
    return [STARTED] + ([frame(OUT, body)] if body else []) + [end_frame(out=len(body))]


def files(k):
    with tempfile.TemporaryDirectory() as top:
        inside, target = os.path.join(top, "inside"), os.path.join(top, "inside", "copy")
        os.mkdir(inside)
        names = [b"../escaped", b"/etc/escaped", b"a/b", b"..", b"."]
        k.on("file.stat", k.channel({}, play, *out(entry_of(b"d", 2))))
        k.on("file.list", k.channel({}, play, *out(b"".join(entry_of(n) for n in names) + entry_of(b"good"))))
        k.on("file.read", k.channel({}, play, *out(info_of(3) + b"abc")))
        done = k.carrel("cp", "x:d", target)
        check("names that lead elsewhere are left out, and named", done.returncode == 0 and os.listdir(inside) == ["copy"] and os.listdir(target) == ["good"] and
              done.stderr.count(b"left out") == len(names), said(done), os.listdir(top))
        check("set-id bits stay behind", os.stat(os.path.join(target, "good")).st_mode & 0o7000 == 0)
        k.on("file.list", k.channel({}, play, *out(entry_of(b"l1", 3, b"/etc/passwd") + entry_of(b"l2", 3, b"../../x") + entry_of(b"l3", 3, b"good") + entry_of(b"p", 4))))
        done = k.carrel("cp", "x:d", os.path.join(inside, "copy2"))
        got = sorted(os.listdir(os.path.join(inside, "copy2")))
        check("links that lead out and FIFOs are left out, others made again", done.returncode == 0 and got == ["l3"], said(done), got)
        os.symlink("/", os.path.join(inside, "trap"))
        k.on("file.list", k.channel({}, play, *out(entry_of(b"trap", 2))), k.channel({}, play, *out(entry_of(b"good"))))
        k.on("file.stat", k.channel({}, play, *out(entry_of(b"d", 2))))
        k.reactions["file.list"] = [k.channel({}, play, *out(entry_of(b"trap", 2))), k.channel({}, play, *out(entry_of(b"good")))]
        os.mkdir(os.path.join(inside, "d"))
        os.symlink(top, os.path.join(inside, "d", "trap"))
        done = k.carrel("cp", "x:d", inside)
        check("a link here in the way of a directory is not followed", done.returncode == 125 and not os.path.exists(os.path.join(top, "good")), said(done))
    lies_about_files(k)


def lies_about_files(k):
    cases = (
        ("more bytes than it told", info_of(3) + b"abcdef", "protocol_error"),
        ("no description", b"", "protocol_error"),
        ("half a description", info_of(3)[:10], "protocol_error"),
        ("a description of a directory", info_of(3, 2), "protocol_error"),
    )
    for name, body, code in cases:
        k.on("file.read", k.channel({}, play, *out(body)))
        done = k.carrel("cp", "x:a", "/dev/null", "--json")
        k.on("file.stat", k.channel({}, play, *out(entry_of(b"a"))))
        done = k.carrel("cp", "x:a", "/dev/null", "--json")
        check("a file that comes with %s is refused" % name, done.returncode == 125 and code_of(done) == code, said(done))
    k.on("file.stat", k.channel({}, play, *out(entry_of(b"d", 2))))
    for name, body in (("cut", entry_of(b"abc")[:-1]), ("a length past the end", entry_of(b"abc", length=4000)), ("a NUL in a name", entry_of(b"a\0c")),
                       ("no name", entry_of(b"")), ("a kind that there is not", entry_of(b"abc", 77))):
        k.on("file.list", k.channel({}, play, *out(body)))
        with tempfile.TemporaryDirectory() as top:
            done = k.carrel("cp", "x:d", top, "--json")
        check("a list of files with %s is refused" % name, done.returncode == 125 and code_of(done) == "protocol_error", said(done))
    errors = ((2, "file_not_found", 127), (13, "permission_denied", 126), (28, "storage_full", 125), (255, "sandbox_backend_failed", 125))
    for number, code, status in errors:
        k.on("file.read", k.channel({}, play, STARTED, frame(ERR, b"a\x1b[31m"), end_frame(number)))
        done = k.carrel("cp", "x:a", "-")
        check("errno %d of a file is %s" % (number, code), done.returncode == status and code.encode() in done.stderr and b"\x1b" not in done.stderr, said(done))

    def full(sock):
        sock.sendall(STARTED)
        sock.recv(4096)                                                            # some of it, then the disk is full
        play(sock, frame(ERR, b"big"), end_frame(28))
    k.on("file.write", k.channel({}, full))
    k.on("file.stat", k.channel({}, play, STARTED, end_frame(2)))
    with tempfile.NamedTemporaryFile() as f:
        f.truncate(20 << 20)
        done = k.carrel("cp", f.name, "x:big", "--json")
    check("a sandbox that is full says so while it is written to", done.returncode == 125 and code_of(done) == "storage_full", said(done))


def events(k):
    def two(call):
        call.reply({})
        call.body(record({"event": "exec-ended", "at_ms": 5, "id": "x", "exit_code": 3}), serial=call.serial, kind="EVENT")
        call.body(b"\xff" * 16, serial=call.serial, kind="EVENT")
    k.on("watch", two)
    done = k.carrel("events", "--json")
    first = done.stdout.decode().split("\n")[0]
    check("events come one a line; a malformed one ends them", done.returncode == 125 and first.startswith("{") and first.endswith("}") and
          '"exec-ended"' in first and b"protocol_error" in done.stdout, said(done))
    k.on("watch", lambda call: (call.reply({}), False)[1])
    done = k.carrel("events")
    check("a daemon that goes ends its events with a word", done.returncode == 125 and b"connection_lost" in done.stderr, said(done))


def main():
    need_programs()
    no_daemon()
    strangers()
    with FakeKeeper() as k:
        for part in (refusals, parts, lost, lies, hostile_words, channels, files, events):
            part(k)
    end()


main()
