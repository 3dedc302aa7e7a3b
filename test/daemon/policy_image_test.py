#!/usr/bin/env python3
# weight: 2
# slow: 25 s: 180 commands, each through `carrel run` and the daemon
"""policy_image_test - rules for commands in a sandbox on an image: names are those of the image's layers, for `carrel policy
test`, `carrel run` and the daemon alike. What a mount covers, and what root inside may have replaced, is no program. Each
guard is seen to fail with its switch. Prints TAP.
"""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, SWITCHES, check, end, need_programs, report
from daemon_rig import Daemon, until
from image_rig import BUSYBOX, Entry, Image, busybox_root, folder, hardlink, image_import, symlink, tar
from kinds_rig import KINDS, why_not
from spellings import SPELLINGS

RULES = {"allow": ["ls", "cat", "echo", "wc", "true", "false", "sh", "app", "out", "replaced", "again"], "deny": ["rm", "curl"]}
IMAGE = "tools:1"


def script(name, says):
    return Entry(name, f"#!/bin/sh\necho {says}\n".encode(), mode=0o755)


def image():
    """rm is a file of its own. PATH is /bin:/opt/bin."""
    with open(BUSYBOX, "rb") as f:
        program = f.read()
    lower = (folder("opt/bin"), script("opt/bin/app", "lower"), script("opt/bin/removed", "lower"), script("opt/bin/out", "second"), script("opt/bin/loop", "second"), script("opt/bin/again", "second"),
             folder("opt/old"), script("opt/old/hidden", "lower"), symlink("bin/replaced", "/opt/bin/app"), symlink("bin/unlisted", "/bin/rm"))
    upper = (folder("bin"), Entry("bin/.wh.rm"), Entry("bin/.wh.wget"), folder("opt/bin"), script("opt/bin/app", "upper"), Entry("opt/bin/.wh.removed"), folder("opt/old"), Entry("opt/old/.wh..wh..opq"), script("opt/old/seen", "upper"),
             symlink("bin/out", "/workspace/tool"), symlink("bin/loop", "loop"), symlink("bin/again", "/../../../opt/old/hidden"), symlink("bin/up", "../../../../../../bin/rm"))
    top = (folder("bin"), Entry("bin/rm", program, mode=0o755), folder("opt/links"), hardlink("opt/links/hard", "bin/rm"), symlink("opt/links/soft", "/bin/rm"), symlink("opt/links/app", "../bin/again"), Entry("opt/links/copy", program, mode=0o755),
           symlink("opt/links/erase", "../../bin/busybox"))
    return Image(busybox_root(*lower), tar(*upper), tar(*top), config={"config": {"Env": ["PATH=/bin:/opt/bin", "LANG=C"], "Entrypoint": ["rm"], "Cmd": ["victim"]}})


def block(rules, at="/workspace", **config):
    return {"provider": "container", "config": {"image": IMAGE, **config}, "mounts": [{"source": "workspace", "at": at, "mode": "read-write"}], "metadata": {"carrel": {"commands": rules}}}


def answered(ask):
    """What it answers. On a busy machine carrel-judge may have no answer within its 2 s, which denies; that is no row here."""
    got = []

    def has_judged():
        got[:] = [ask()]
        return "judge_failed" not in repr(got[0])
    until("carrel-judge answers in time", has_judged)
    return got[0]


class Desk:
    def __init__(self, top, d):
        self.top, self.d = top, d
        self.workspace = os.path.join(top, "workspace")
        self.victim = os.path.join(self.workspace, "victim")
        os.makedirs(self.workspace, exist_ok=True)
        self.write("victim", "x\n")
        self.write("tool", "#!/bin/sh\necho of the payload\n", 0o755)
        self.write("script", "#!/bin/sh\nrm victim\n", 0o755)
        for name, target in (("link", "/bin/rm"), ("link2", "/opt/links/hard")):
            if not os.path.islink(os.path.join(self.workspace, name)):
                os.symlink(target, os.path.join(self.workspace, name))
        shutil.copy(BUSYBOX, os.path.join(self.workspace, "copy"))

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.workspace, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def carrel(self, *words, program=CARREL, env=None):
        return answered(lambda: subprocess.run([program, *words], env={**os.environ, "CARREL_STATE": self.d.state, **(env or {})}, cwd=self.workspace, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False))

    def manifest(self, what):
        path = os.path.join(self.top, "SANDBOX.md")
        with open(path, "w", encoding="utf-8") as f:
            f.write("---\n" + json.dumps({"schema": "sandbox/v1", "id": "@you/ruled", "version": "1.0.0", **what}) + "\n---\n")
        return path

    def run(self, what, *words, **more):
        return self.carrel("run", "-f", self.manifest(what), "-w", self.workspace, "--", *words, **more)

    def test(self, what, *words):
        return self.carrel("policy", "test", self.manifest(what), *words)

    def box(self, what, d=None):
        return (d or self.d).create(workspace=self.workspace, manifest=what, start=True)

    def ask(self, box, argv, d=None, **fields):
        fields["argv" if isinstance(argv, list) else "command"] = argv
        return answered(lambda: (d or self.d).call("POST", f"/v1/sandboxes/{box}/execs", fields))


    def approve(self, box, argv, verdict="approve"):
        """What the person is shown, and what the call answers."""
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(self.ask(box, argv)))
        waiting.start()
        asked = until("the command waits for an approval", lambda: [a for a in self.d.must("GET", "/v1/approvals")["items"] if a["state"] == "requested"])
        self.d.must("POST", "/v1/approvals/" + asked[0]["id"], {"verdict": verdict})
        waiting.join()
        return asked[0]["bound"], answers[0]


def reason_of(answer):
    return answer.json["error"].get("reason") if answer.status >= 300 else None


def spellings(desk):
    box, wrong = desk.box(block(RULES)), []
    for text in SPELLINGS:
        words = ("sh", "-c", text.replace("{F}", "victim"))
        got = (desk.run(block(RULES), *words), desk.ask(box, list(words)))
        if got[0].returncode != 126 or "Nothing was started" not in got[0].stderr or got[1].code != "sandbox_policy_denied" or not os.path.exists(desk.victim):
            wrong.append((text, got))
    report("P33: %d spellings of a denied command in an image: none is started, by `carrel run` or the daemon" % len(SPELLINGS), wrong[:5])
    got = desk.d.must("GET", f"/v1/sandboxes/{box}/execs")
    check("  there is no exec of any of them", got["items"] == [], got)
    got = desk.carrel("run", "-f", desk.manifest(block(RULES)), "-w", desk.workspace)
    check("the image's own command is judged too", got.returncode == 126 and "rm may not run" in got.stderr and os.path.exists(desk.victim), got)
    return box


# words; the reason of the refusal, or what it writes
ROWS = (
    (["ls", "/opt"], "bin\nlinks\nold\n"), (["/bin/ls", "/opt"], "bin\nlinks\nold\n"), (["sh", "-c", "ls /opt | wc -l"], "3\n"), (["app"], "upper\n"), (["/opt/bin/app"], "upper\n"), (["replaced"], "upper\n"),
    (["env", "echo", "x"], "x\n"), (["rm", "victim"], "denied"), (["/bin/rm", "victim"], "denied"), (["/opt/links/soft", "victim"], "unknown_program"), (["/opt/links/app"], "second\n"), (["env", "rm", "victim"], "denied"), (["up", "victim"], "denied"), (["/bin/up", "victim"], "denied"),
    (["/usr/bin/rm", "victim"], "denied"), (["unlisted", "victim"], "denied"), (["/opt/links/hard", "victim"], "unknown_program"), (["/opt/links/copy", "victim"], "unknown_program"), (["/opt/links/erase", "victim"], "unknown_program"),
    (["./link", "victim"], "unknown_program"), (["./link2", "victim"], "unknown_program"), (["./copy", "victim"], "unknown_program"), (["/workspace/link", "victim"], "unknown_program"), (["/proc/self/root/bin/rm", "victim"], "denied"),
    (["/bin/../bin/rm", "victim"], "denied"), (["/tmp/x"], "unknown_program"), (["../bin/ls"], "unknown_program"), (["/bin/../bin/ls"], "unknown_program"), (["busybox", "rm", "victim"], "denied"), (["wget"], "not_found"), (["removed"], "not_found"),
    (["hidden"], "not_found"), (["/opt/old/hidden"], "unknown_program"), (["out"], "unknown_program"), (["/bin/out"], "unknown_program"), (["loop"], "unknown_program"), (["again"], "second\n"), (["python3", "-c", "0"], "not_found"),
)


def rows(desk, box):
    """The three agree. A name that is surely missing is `not_found` where something would be started."""
    wrong = []
    for words, expected in ROWS:
        is_allowed = expected.endswith("\n")
        tested, ran, asked = desk.test(block(RULES), "--", *words), desk.run(block(RULES), *words), desk.ask(box, words)
        if is_allowed:
            is_right = tested.returncode == 0 and ran.stdout == expected and ran.returncode == 0 and asked.status < 300 and asked.json["stdout"] == expected
        else:
            is_right = (tested.returncode == 126 and ("denied" if expected == "denied" else "unknown_program") in tested.stdout and
                        ran.returncode == 126 and f"sandbox_policy_denied, {expected}" in ran.stderr and reason_of(asked) == expected and os.path.exists(desk.victim))
        if not is_right:
            wrong.append((words, expected, tested, ran, asked))
    report("%d commands: `policy test`, `carrel run` and the daemon have the same verdict" % len(ROWS), wrong[:4])
    got = desk.run(block(RULES), "catt")
    check("a name that is missing: the hint is a name of the image", "Did you mean cat?" in got.stderr, got)
    got = desk.run(block(RULES), "frobnicate")
    check("  or to install it there", "in the image" in got.stderr or "Did you mean" in got.stderr, got)
    got = desk.carrel("policy", "explain", desk.manifest(block(RULES)), "-c", "app | wc; rm x")
    check("policy explain lists the image's programs", [line.split(":")[0].split() for line in got.stdout.splitlines()] == [["deny"], ["allow", "app"], ["allow", "wc"], ["deny", "rm"]], got)


def one_file(desk):
    """busybox: all names are one file."""
    wrong = []
    for rules, words, code in (({"deny": ["wc"]}, ["wc"], 126), ({"deny": ["wc"]}, ["ls"], 126), ({"deny": ["wc"]}, ["app"], 0), ({"deny": ["rm"]}, ["ls"], 0), ({"allow": ["ls"], "deny": ["wc"]}, ["ls"], 0),
                               ({"allow": ["ls"], "deny": ["wc"]}, ["cat", "victim"], 126), ({"allow": ["/bin/ls"]}, ["ls"], 0), ({"allow": ["/opt/links/copy"]}, ["/opt/links/copy"], 126), ({"deny": ["/bin/busybox"]}, ["cat", "victim"], 126)):
        got = desk.test(block(rules), "--", *words)
        if got.returncode != code:
            wrong.append((rules, words, got))
    report("a file with many names: denied under each, allowed by its own", wrong)


def covered(desk):
    """A mount in PATH, and one that a link of PATH leads to: nothing there is the image's."""
    wrong = []
    for name, what, words in (("a mount in PATH", block(RULES, at="/opt/bin"), ["ls"]), ("a mount above it", block(RULES, at="/opt"), ["ls"]), ("a directory of PATH that is made for a mount", block(RULES, at="/opt/bin/made"), ["/opt/bin/made/tool"])):
        box = desk.box(what)
        got = (desk.test(what, "--", *words), desk.run(what, *words), desk.ask(box, words))
        if got[0].returncode != 126 or got[1].returncode != 126 or reason_of(got[2]) != "unknown_program":
            wrong.append((name, got))
    report("what a mount covers is no program of the image", wrong)
    got = [desk.run(block(RULES), "out", program=SWITCHES, env=env) for env in ({}, {"CARREL_TEST_IMAGE_PROGRAMS_OFF": "covers"})]
    check("  seen: without this guard a link of the image runs the payload's program", got[0].returncode == 126 and got[1].stdout == "of the payload\n", got)


def writable(desk):
    """Every directory that an agent can write makes every name unknown when it is in PATH."""
    free = block(RULES)
    del free["metadata"]
    got = desk.ask(desk.box(free), "find / -path /proc -prune -o -type d -print | while read d; do (: > $d/.tried) 2>/dev/null && echo $d; done")
    places = got.json["stdout"].split()
    box = desk.box(block(RULES))
    answers = {place: reason_of(desk.ask(box, ["ls", "/opt"], env={"PATH": place + ":/bin"})) for place in [*places, "/workspace/../tmp", "bin", "/proc/self/root/bin"]}
    check("a PATH with a place that commands can write: no name is known", {"/workspace", "/tmp", "/home/agent", "/run"} <= set(places) and set(answers.values()) <= {"unknown_program", "environment"}, got, answers)
    got = [desk.ask(box, ["ls", "/opt"], env={"PATH": path}) for path in ("/opt/nothing:/bin", "/opt/bin", "/srv/../bin", "")]
    check("  a PATH of the image's directories is searched", [reason_of(g) for g in got] == [None, "not_found", "unknown_program", "not_found"], got)


# What root does, one after the other; the reason of the refusal, or None; the PATH of the call.
ROOT_STEPS = (
    (["ls", "/opt"], None, None), (["rm", "victim"], "denied", None), (["touch", "/srv/new", "/bin"], None, None), (["ls", "/opt"], None, None), (["wget"], "not_found", None), (["fresh"], "not_found", None),
    (["ln", "-sf", "/workspace/tool", "/bin/ls"], None, None), (["ls", "/opt"], "unknown_program", None), (["/bin/ls", "/opt"], "unknown_program", None), (["cat", "victim"], None, None),
    (["ln", "-s", "/workspace/tool", "/opt/bin/fresh"], None, None), (["fresh"], "unknown_program", None), (["app"], None, None), (["ln", "-s", "/workspace/tool", "/bin/app"], None, None), (["app"], "unknown_program", None), (["/opt/bin/app"], "unknown_program", None),
    (["again"], None, None), (["mv", "/opt/bin/again", "/opt/bin/away"], None, None), (["again"], "unknown_program", None), (["/opt/links/app"], "unknown_program", None), (["cat", "victim"], None, "/opt/extra:/bin"), (["mkdir", "/opt/extra"], None, None),
    (["cat", "victim"], "unknown_program", "/opt/extra:/bin"), (["mv", "/opt/bin", "/opt/bin2"], None, "/bin"), (["mkdir", "/opt/bin"], None, "/bin"), (["cat", "victim"], None, "/bin"), (["/opt/bin/out"], "unknown_program", "/bin"), (["cat", "victim"], "unknown_program", None),
)


def root_steps(desk, kind):
    what = block({"allow": ["ls", "cat", "touch", "ln", "mv", "mkdir", "fresh", "app", "again", "out"], "deny": ["rm"]}, user="root", cwd="/workspace")
    made = desk.d.call("POST", "/v1/sandboxes", {"workspace": desk.workspace, "manifest": {**what, "provider": KINDS[kind].block["provider"]}})
    wrong = [] if made.status == 201 or why_not(KINDS[kind], made) else [made]
    for number, (words, reason, path) in enumerate(ROOT_STEPS if made.status == 201 else ()):
        got = desk.ask(made.json["id"], words, env={"PATH": path} if path else {})
        if number == 0 and why_not(KINDS[kind], got):
            break
        if reason_of(got) != reason or not reason and got.json["exit_code"] != 0:
            wrong.append((words, reason, got))
    report(f"{kind}, user: root, in the daemon: what root has written above the image is no program, and the rest is known", wrong[:4])
    return made


def root_inside(desk):
    """Root may replace every file. What was not replaced is the image's."""
    what = block(RULES, user="root", cwd="/workspace")
    got = (desk.test(what, "--", "ls", "/opt"), desk.run(what, "ls", "/opt"), desk.run(what, "rm", "victim"))
    check("user: root, before anything has run: names are the image's", got[0].returncode == 0 and got[1].stdout == "bin\nlinks\nold\n" and got[2].returncode == 126 and os.path.exists(desk.victim), got)
    made = root_steps(desk, "container")
    keeper = desk.d.children()["carrel-keeper"]
    desk.d.restart_parts(lambda: os.kill(keeper, signal.SIGKILL))
    got = [desk.ask(made.json["id"], words, env={"PATH": "/bin"}) for words in (["cat", "victim"], ["ls", "/opt"])]
    check("  also by a keeper that was restarted", [reason_of(g) for g in got] == [None, "unknown_program"], got)
    root_steps(desk, "oci on an image")
    box = desk.box(block({"deny": ["rm"], "unresolved": "ask"}, user="root", cwd="/workspace"))
    _, got = desk.approve(box, ["/tmp/../bin/ln", "-sf", "/workspace/tool", "/bin/ls"])
    check("  and a person may decide", got.status < 300 and got.json["exit_code"] == 0, got)


def approvals(desk):
    """What an answer binds: files of the image that commands cannot write, by their content, and the image."""
    content = hashlib.sha256(b"#!/bin/sh\necho upper\n").hexdigest()
    outside = "not bound, outside the mounted directories: "
    lines = (("sh /opt/bin/app", f"file: /opt/bin/app, sha256 {content}"), ("replaced; sh /bin/replaced", f"file: /bin/replaced, sha256 {content}"), ("sh /bin/out", outside + "/bin/out"), ("sh /tmp/x", outside + "/tmp/x"), ("sh /bin/loop", outside + "/bin/loop"),
             ("sh /opt/old/hidden", outside + "/opt/old/hidden"))
    wrong = []
    for user, rows in (("agent", lines), ("root", [(text, outside + text.split()[-1]) for text, _ in lines])):
        box = desk.box({**block({}, user=user, cwd="/workspace"), "metadata": {"carrel": {"approve": ["exec"]}}})
        for text, line in rows:
            bound, _ = desk.approve(box, text, "deny")
            if line not in bound or not any(b.startswith(f"image: {IMAGE}@sha256:") for b in bound):
                wrong.append((user, text, line, bound))
    report("an approval binds files of the image; what commands can write there is not bound", wrong[:3])


def other_kinds(desk):
    """The same image with a container runtime, and in a virtual machine."""
    for kind, starts in (("oci on an image", True), ("microvm", False)):
        what = {**block(RULES), "provider": KINDS[kind].block["provider"]}
        got = [desk.test(what, "--", *words).returncode for words in (["ls"], ["rm", "victim"], ["out"])]
        made = desk.d.call("POST", "/v1/sandboxes", {"workspace": desk.workspace, "manifest": what})
        check(f"{kind}: rules are accepted, and policy test knows its programs", got == [0, 126, 126] and (made.status == 201 or made.code == "capability_unavailable"), got, made)
        if made.status != 201 or not starts:
            continue      # a machine without a kernel or QEMU refuses for that alone
        got = [desk.ask(made.json["id"], words) for words in (["rm", "victim"], ["app"])]
        skip = why_not(KINDS[kind], got[0])
        check(f"{kind}: rm is denied, and what is allowed runs", skip or reason_of(got[0]) == "denied" and got[1].json.get("stdout") == "upper\n", got)


def root_switch(top, state):
    what = block({"allow": ["ls", "ln"], "deny": ["rm"]}, user="root", cwd="/workspace")
    for off in ("", "written"):
        with Daemon(state=state, program=SWITCHES, env={"CARREL_TEST_IMAGE_PROGRAMS_OFF": off}) as d:
            desk = Desk(top, d)
            box = desk.box(what)
            got = [desk.ask(box, ["ln", "-sf", "/workspace/tool", "/bin/ls"]), desk.ask(box, ["ls"])]
            if off:
                check("  seen: without this guard what root put in its place runs as ls", got[0].status < 300 and got[1].json.get("stdout") == "of the payload\n", got)
            else:
                check("what root has put in the place of ls is not judged as the image's", got[0].status < 300 and reason_of(got[1]) == "unknown_program", got)


def root_unseen(top, state):
    """A box of an older version does not pass on what root writes: after the first command no name is known."""
    what = block({"allow": ["ls", "ln"], "deny": ["rm"]}, user="root", cwd="/workspace")
    with Daemon(state=state, program=SWITCHES, env={"CARREL_TEST_BOX_PROTOCOL": "11"}) as d:
        desk = Desk(top, d)
        box = desk.box(what)
        got = [desk.ask(box, ["ln", "-sf", "/workspace/tool", "/bin/ls"]), desk.ask(box, ["ls"]), desk.ask(box, ["ln", "a", "b"])]
        check("what root has written is not seen: only the first command has a name", got[0].status < 300 and [reason_of(g) for g in got[1:]] == ["unknown_program"] * 2, got)


def main():
    need_programs()
    with tempfile.TemporaryDirectory(prefix="carrel-policy-image-", dir="/tmp") as top:
        os.chmod(top, 0o755)
        state = os.path.join(top, "state")
        image_import(CARREL, state, image().layout(os.path.join(top, "layout")), IMAGE)
        with Daemon(state=state) as d:
            desk = Desk(top, d)
            box = spellings(desk)
            rows(desk, box)
            one_file(desk)
            covered(desk)
            writable(desk)
            root_inside(desk)
            approvals(desk)
            other_kinds(desk)
        root_switch(top, state)
        root_unseen(top, state)
    end()


if __name__ == "__main__":
    main()
