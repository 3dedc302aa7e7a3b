"""Tests of the test runner: streams that must fail, and a small project in which each stage is
broken on purpose.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import stages, tap
from .job import Job, Running

STREAMS = (  # name, log, exit status, passed, failed, skipped
    ("two passes", "1..2\nok 1 - a\nok 2 - b\n", 0, (2, 0, 0)),
    ("a plan at the end", "ok 1 - a\n1..1\n", 0, (1, 0, 0)),
    ("a failure", "1..2\nok 1 - a\nnot ok 2 - b\n# why\n", 1, (1, 1, 0)),
    ("a skip with its reason", "1..1\nok 1 - a # SKIP no such kernel\n", 0, (0, 0, 1)),
    ("a skip without a reason fails", "1..1\nok 1 - a # SKIP\n", 0, (0, 1, 0)),
    ("all skipped with a reason", "1..0 # SKIP needs root\n", 0, (0, 0, 1)),
    ("an empty plan without a reason fails", "1..0\n", 0, (0, 1, 0)),
    ("silence fails", "", 0, (0, 1, 0)),
    ("too few tests fail", "1..3\nok 1 - a\nok 2 - b\n", 0, (2, 1, 0)),
    ("a lost plan fails", "ok 1 - a\n", 0, (1, 1, 0)),
    ("an exit status fails", "1..1\nok 1 - a\n", 3, (1, 1, 0)),
    ("a crash fails", "1..2\nok 1 - a\n", -11, (1, 1, 0)),
    ("a bail-out fails", "1..1\nBail out! no disk\n", 0, (0, 1, 0)),
    ("two programs in one stream", "1..1\nok 1 - a\n1..1\nok 1 - b\n", 0, (2, 0, 0)),
)

GOOD_TAP = "#!/bin/sh\necho 1..1; echo ok - it holds\n"
BAD_TAP = "#!/bin/sh\necho 1..1; echo not ok - it was broken on purpose; echo '# because of this'\n"
GOOD = "#!/bin/sh\nexit 0\n"
BAD = "#!/bin/sh\necho it was broken on purpose\nexit 1\n"

# The `./dev` of the small project: `./dev test` is the real scheduler; a build, the fuzzing of a
# target and the pages fail if a file says so.
DEV = """#!/bin/sh
case $1 in
test) shift; exec %s run "$@" ;;
esac
if [ -e "broken-$1-$2$3" ]; then echo it was broken on purpose; exit 1; fi
"""

results = []


def check(name, is_ok, *why):
    results.append(is_ok)
    print(f"{'ok' if is_ok else 'not ok'} {len(results)} - {name}", flush=True)
    for line in () if is_ok else why:
        print("#", str(line).replace("\n", "\n# "))


def write(path, text, mode=0o755):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def make_project(tests):
    """Every file that a stage of the table runs, each without a fault; in the working directory."""
    write("dev", DEV % tests)
    for script in ("tests", "lint", "check-rooms", "check-pure", "check-promises", "check-links", "check-taste", "check-format", "check-words", "check-seams", "check-names"):
        write(f"tools/{script}", GOOD_TAP)
    shutil.copy(os.path.join(os.path.dirname(tests), "user-tree"), "tools/user-tree")
    write("build/carrel", GOOD_TAP)
    write("test/vm/run", GOOD_TAP)
    write("test/npm/setup", GOOD)
    write("tools/build-release", GOOD)
    write("tools/debian-root", GOOD)
    os.makedirs("build-images", exist_ok=True)
    os.makedirs("build-release", exist_ok=True)
    for folder in ("parts", "cli", "daemon", "network", "escape", "images", "npm", "python", "upgrade"):
        write(f"test/{folder}/a_test.sh", GOOD_TAP)
    for path in stages.USER_ESCAPES:
        write(path, GOOD_TAP)
    write("src/room/a.c", "", 0o644)
    for folder in ("build", "build-test", "build-asan", "build-switches"):
        listed = [{"name": f"room/{s}", "cmd": [os.path.abspath(f"{folder}/{s}-a")], "env": {}, "suite": [f"carrel:{s}"]} for s in ("unit", "seeds")]
        write(f"{folder}/meson-info/intro-tests.json", json.dumps(listed), 0o644)
        for name in ("unit-a", "seeds-a"):
            write(f"{folder}/{name}", GOOD_TAP)
    write("build-asan/fuzz/fuzz-a", GOOD)
    for path in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", "dist/a", "docs/a", "examples/a", "include/a", "sdk/a"):
        write(path, "", 0o644)


# stage -> how it is broken: a file and its new content, and the name that the report and the
# repetition must use.
BREAKS = {
    "check-checks": ("tools/check-links", BAD_TAP, "check-checks:check-links"),
    "build": ("broken-build-one-build", "", "build"),
    "build-switches": ("broken-build-one-build-switches", "", "build-switches"),
    "build-release": ("tools/build-release", BAD, "build-release"),
    "build-test": ("broken-build-one-build-test", "", "build-test"),
    "build-clang": ("broken-build-one-build-clang", "", "build-clang"),
    "build-asan": ("broken-build-one-build-asan", "", "build-asan"),
    "rooms": ("tools/check-rooms", BAD, "rooms"),
    "seams": ("tools/check-seams", BAD, "seams"),
    "promises": ("tools/check-promises", BAD, "promises"),
    "pure": ("tools/check-pure", BAD, "pure"),
    "names": ("tools/check-names", BAD, "names"),
    "links": ("tools/check-links", BAD, "links"),
    "taste": ("tools/check-taste", BAD, "taste"),
    "format": ("tools/check-format", BAD, "format"),
    "words": ("tools/check-words", BAD, "words"),
    "docs": ("broken-docs---check", "", "docs"),
    "conformance": ("build/carrel", BAD_TAP, "conformance"),
    "conformance-doc": ("build/carrel", BAD_TAP, "conformance-doc"),
    "unit": ("build-test/unit-a", BAD_TAP, "unit:room/unit"),
    "seeds": ("build-test/seeds-a", BAD_TAP, "seeds:room/seeds"),
    "cli": ("test/cli/a_test.sh", BAD_TAP, "test/cli/a_test.sh"),
    "parts": ("test/parts/a_test.sh", BAD_TAP, "test/parts/a_test.sh"),
    "daemon": ("test/daemon/a_test.sh", BAD_TAP, "test/daemon/a_test.sh"),
    "network": ("test/network/a_test.sh", BAD_TAP, "test/network/a_test.sh"),
    "escape": ("test/escape/a_test.sh", BAD_TAP, "test/escape/a_test.sh"),
    "debian": ("tools/debian-root", BAD, "debian"),
    "images": ("test/images/a_test.sh", BAD_TAP, "test/images/a_test.sh"),
    "npm": ("test/npm/setup", BAD, "npm"),
    "clients": ("test/npm/a_test.sh", BAD_TAP, "test/npm/a_test.sh"),
    "python": ("test/python/a_test.sh", BAD_TAP, "test/python/a_test.sh"),
    "upgrade": ("test/upgrade/a_test.sh", BAD_TAP, "test/upgrade/a_test.sh"),
    "unit-asan": ("build-asan/unit-a", BAD_TAP, "unit-asan:room/unit"),
    "fuzz": ("broken-fuzz-one-3a", "", "fuzz:a"),
    "lint": ("tools/lint", BAD, "lint:room"),
    "user-tree": ("tools/user-tree", BAD, "user-tree"),
    "user": ("test/cli/a_test.sh", BAD_TAP, "user:test/cli/a_test.sh"),
    "user-images": ("test/images/a_test.sh", BAD_TAP, "user-images:test/images/a_test.sh"),
    "vm": ("test/vm/run", BAD_TAP, "vm"),
}


def dev_test(*words):
    done = subprocess.run(["./dev", "test", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def broken_stage(name):
    """Breaks one stage: the whole stage fails, names the test, and the printed command fails too
    until the file is restored.
    """
    path, text, called = BREAKS[name]
    kept = open(path, encoding="utf-8").read() if os.path.exists(path) else None
    write(path, text)
    status, out = dev_test(name)
    wrong = []
    if status != 1 or not re.search(r"^\d+ passed, [1-9]\d* failed, \d+ skipped$", out.splitlines()[-1]):
        wrong.append(f"the run ended with {status}")
    if f"\n  {called}\n" not in out or "broken on purpose" not in out.split("==> failed\n")[-1]:
        wrong.append(f"{called} is not named with its reason")
    repeat = re.search(rf"^    repeat: \./dev test ({re.escape(called)})$", out, re.MULTILINE)
    if not repeat:
        wrong.append("no command that repeats it is printed")
    elif dev_test(repeat.group(1))[0] != 1:
        wrong.append("the printed command does not fail")
    if kept is None:
        os.unlink(path)
    else:
        write(path, kept)
    if repeat and (after := dev_test(repeat.group(1)))[0] != 0:
        wrong += ["the printed command fails after it was put right", after[1]]
    check(f"stage {name}: what is broken on purpose is found, named and repeatable", not wrong, *wrong, out)


def whole_run(tests):
    missing = [s.name for s in stages.STAGES if s.name not in BREAKS]
    check("every stage is broken below", not missing, missing)
    status, out = dev_test("--all")
    check("a project without faults passes", status == 0 and ", 0 failed, " in out.splitlines()[-1], out)
    check("each stage is in it", all(re.search(rf"^{re.escape(s.name)} .* \.\.\. ok", out, re.MULTILINE) for s in stages.STAGES), out)
    check("a name that is none is refused", dev_test("no-such-stage")[0] == 2 and dev_test("unit:no/such")[0] == 1)
    for stage in stages.STAGES:
        if stage.name in ("user", "user-tree", "user-images") and os.geteuid() != 0:
            print(f"# {stage.name}: not broken here, because only root can run programs as another user")
        else:
            broken_stage(stage.name)


def scheduling():
    write("test/cli/once_test.sh", "#!/bin/sh\necho 1..1; mkdir came 2>/dev/null && echo 'not ok - a' || echo 'ok - a'\n")
    status, out = dev_test("test/cli/once_test.sh")
    check("what fails once runs again, and the first failure is printed", status == 0 and "again: test/cli/once_test.sh: failed at first: a" in out, out)
    os.unlink("test/cli/once_test.sh")
    write("test/cli/slow_test.sh", "#!/bin/sh\n# slow: 33 s: it waits for nothing\necho 1..1; echo ok\n")
    status, out = dev_test("-j", "1", "cli")
    check("a program says in its head why it is slow", "it waits for nothing" in out, out)
    check("the longest starts first", status == 0 and out.index("test/cli/slow_test.sh") < out.index("test/cli/a_test.sh"), out)
    write("test/cli/slow_test.sh", "#!/bin/sh\n# deep: it repeats others\necho 1..1; echo ok\n")
    check("a deep program is left out of shorter runs", "slow_test.sh" not in dev_test("cli")[1])
    check("but runs where it is named, and with --all", "slow_test.sh" in dev_test("test/cli/slow_test.sh")[1] and "slow_test.sh" in dev_test("--all", "cli")[1])
    write("test/cli/slow_test.sh", "#!/bin/sh\n# weight: 3\necho 1..1; echo ok\n")
    status, out = dev_test("-j", "3", "cli")
    check("a heavy program starts before light ones", status == 0 and out.index("test/cli/slow_test.sh") < out.index("test/cli/a_test.sh"), out)
    write("test/cli/slow_test.sh", "#!/bin/sh\n# deep as root: the same for every user\necho 1..1\n"
          "[ $CARREL_TEST_DEEP = $([ $(id -u) = 0 ] && echo 1 || echo 0) ] && echo ok || echo not ok\n")
    if os.geteuid() == 0:
        check("root's run alone is deep where a program says so", dev_test("--all", "cli", "user")[0] == 0)
    write("test/cli/slow_test.sh", GOOD_TAP, 0o644)
    check("a test program that cannot be executed fails", dev_test("cli")[0] == 1)
    os.unlink("test/cli/slow_test.sh")


def spoil():
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.umask(0o077)


def fresh_start():
    write("test/cli/fresh_test.sh", "#!/bin/sh\necho 1..1; grep -E 'Sig(Ign|Blk):' /proc/self/status; "
          "[ $(umask) = 0022 ] && ! grep -qE 'Sig(Ign|Blk):.*[1-9a-f]' /proc/self/status && echo 'ok - a' || echo 'not ok - a'\n")
    done = subprocess.Popen(["./dev", "test", "test/cli/fresh_test.sh"], stdout=subprocess.PIPE, text=True, preexec_fn=spoil, restore_signals=False)
    out = done.communicate()[0]
    check("a program starts with no signal ignored and a usual umask, whatever the caller's", done.returncode == 0 and "again" not in out, out)
    os.unlink("test/cli/fresh_test.sh")


def single_jobs():
    job = Job("x", "x", ["sh", "-c", "echo 1..1; sleep 60"])
    job.timeout_s = 0.2
    running = Running(job, "slow.log")
    while not running.is_late:
        time.sleep(0.05)
        running.check_time()
    check("a program past its time is killed and fails", running.result().is_failed)
    check("a program that does not exist fails", Running(Job("x", "x", ["/nonexistent/program"]), "none.log").result().is_failed)


def main(tests):
    for name, text, status, want in STREAMS:
        found = tap.read(text, status)
        got = tuple(sum(t.verdict == v for t in found) for v in ("passed", "failed", "skipped"))
        check(name, got == want, got)
    place = tempfile.mkdtemp(prefix="ct.")
    os.chmod(place, 0o755)
    here = os.getcwd()
    try:
        os.chdir(place)
        make_project(tests)
        single_jobs()
        whole_run(tests)
        scheduling()
        fresh_start()
    finally:
        os.chdir(here)
        shutil.rmtree(place, ignore_errors=True)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1
