#!/usr/bin/env python3
# slow: 25 s: each way to break the protocol has a bridge of its own
"""provider_test - `carrel provider test`: the example passes, and each way to break the bridge protocol is caught and named."""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, HERE, PATIENCE, SLOW, TREE, check, end, report, side_by_side

LIAR, SSH, STAND_IN = os.path.join(HERE, "bridge_liar.py"), os.path.join(HERE, "bridge_ssh"), os.path.join(HERE, "bridge_stand_in.py")
EXAMPLE = os.path.join(TREE, "examples", "provider-ssh", "provider.py")
BROKEN = (  # mode, what is named
    ("version", "version"), ("boasts", "range"), ("greets-twice", "greeted_twice"), ("unknown", "unknown_kind"), ("unasked", "unasked"),
    ("long", "too_long"), ("garbage", "json"), ("twice", "answered_twice"), ("after", "answered_twice"), ("early", "order"), ("floods", "flood"),
    ("dies", "ended"),
)
FALSE = (  # mode, the only step that fails, what is said of it
    ("dead", 3, "something else"), ("finds-another", 4, "something else"), ("mixes", 5, "something else"), ("hangs", 5, "hang"), ("splits", 6, "something else"),
    ("finds-all", 7, "something else"), ("one-by-one", 8, "hang"), ("loses", 9, "hang"), ("ignores-cancel", 10, "hang"), ("takes-unsaid", 11, "something else"),
    ("ignores-signals", 12, "hang"), ("overwrites", 15, "something else"), ("invents", 16, "something else"), ("agrees", 19, "something else"), ("survives", 20, "something else"),
)


def run(*program, words=()):
    return subprocess.run([CARREL, "provider", "test", *words, "--", *program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


def example():
    ran = run(sys.executable, EXAMPLE, "--ssh", SSH, "here")
    lines = ran.stdout.splitlines()
    check("the example over ssh passes every step", ran.returncode == 0 and len([x for x in lines if x.startswith("ok ")]) == 21, ran.stdout, ran.stderr)
    check("directories are among them", any("directories are made" in x and "SKIP" not in x for x in lines), ran.stdout)
    check("what it cannot do is skipped by name", [x for x in lines if "# SKIP" in x and ("connect" in x or "url" in x)] != [], ran.stdout)
    with open(EXAMPLE, encoding="utf-8") as f:
        check("it has fewer than 150 lines", len(f.readlines()) < 150)


def schema():
    try:
        import jsonschema
    except ImportError:
        report("every message of a session is of the schema", skip="python3-jsonschema is not installed")
        return
    with open(os.path.join(TREE, "docs", "bridge.schema.json"), encoding="utf-8") as f:
        told = json.load(f)
    jsonschema.Draft202012Validator.check_schema(told)
    judge = jsonschema.Draft202012Validator(told)
    with tempfile.TemporaryDirectory(prefix="carrel-records-") as top:
        ran = run(sys.executable, LIAR, "records", os.path.join(top, "session"))
        with open(os.path.join(top, "session"), encoding="utf-8") as f:
            said = [json.loads(line) for line in f]
        more = run(sys.executable, STAND_IN, "records", os.path.join(top, "more"))
        with open(os.path.join(top, "more"), encoding="utf-8") as f:
            said += [json.loads(line) for line in f]
    asked = [m for m in said if m["kind"] != "levitate"]
    wrong = [m for m in asked if not judge.is_valid(m)]
    kinds = {m["kind"] for m in said}
    wanted = {"hello", "create", "isAlive", "kill", "runCommand", "stdin", "stdinEnd", "signal", "cancel", "credit", "writeFile", "readFile", "reply", "error", "started", "output", "exited", "resize", "pause", "resume"}
    check("every message of a session is of the schema", (ran.returncode, more.returncode) == (0, 0) and not wrong, wrong[:3], ran.stdout)
    check("and every kind but connect and getUrl is in it", wanted <= kinds, wanted - kinds)
    check("what is not of the protocol is not of the schema", not judge.is_valid({"kind": "levitate", "id": 1}) and not judge.is_valid({"kind": "started", "id": 1, "pid": 2}))


def broken():
    for mode, reason in BROKEN:
        ran = run(sys.executable, LIAR, mode)
        check("a program that breaks it is named: " + mode, ran.returncode == 1 and "Bail out! " + reason in ran.stdout, ran.stdout, ran.stderr)


def one_step(mode, number, said):
    ran = run(sys.executable, LIAR, mode, words=("--timeout", "%ds" % (15 * SLOW)) if said == "hang" else ())
    failed = [line.split()[2] for line in ran.stdout.splitlines() if line.startswith("not ok")]
    check("a program that lies fails one step: %s" % mode, ran.returncode == 1 and failed == [str(number)] and said in ran.stdout, ran.stdout, ran.stderr)


def false():
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        for done in [pool.submit(one_step, *row) for row in FALSE]:
            done.result()


def abilities():
    """A terminal and a pause, by the stand-in; each mode of it fails one step."""
    ran = run(sys.executable, STAND_IN)
    passed = [line for line in ran.stdout.splitlines() if line.startswith("ok ")]
    check("a program with a terminal and a pause passes every step", ran.returncode == 0 and len(passed) == 21 and len([x for x in passed if "SKIP" in x]) == 2, ran.stdout, ran.stderr)
    for mode, number, words in (("runs-on", 14, ("--timeout", "%ds" % (100 * SLOW))), ("fixed", 13, ("--timeout", "%ds" % (15 * SLOW)))):
        ran = run(sys.executable, STAND_IN, mode, words=words)
        failed = [line.split()[2] for line in ran.stdout.splitlines() if line.startswith("not ok")]
        check("an ability that is not there fails its step: " + mode, ran.returncode == 1 and failed == [str(number)], ran.stdout, ran.stderr)


def quiet():
    ran = run(sys.executable, LIAR, "silent", words=("--timeout", "%ds" % (3 * SLOW)))
    check("a program that does not greet", ran.returncode == 1 and "# hang" in ran.stdout and "not ok 1 " in ran.stdout, ran.stdout)
    ran = run(sys.executable, LIAR, "lies")
    check("an ability that it does not have", ran.returncode == 1 and "not ok 18 " in ran.stdout and "unsupported" in ran.stdout, ran.stdout)
    ran = run(sys.executable, LIAR, "stays", words=("--timeout", "%ds" % (10 * SLOW)))
    check("a program that stays when its input ends", ran.returncode == 1 and "not ok 21 " in ran.stdout and ran.stdout.count("not ok") == 1, ran.stdout)
    ran = run(sys.executable, LIAR, "no-create")
    check("a program that makes no sandbox", ran.returncode == 1 and "auth: the key is not valid" in ran.stdout and "Bail out! without a sandbox" in ran.stdout, ran.stdout)


def words():
    ran = run("/nonexistent/program")
    check("a program that does not exist", ran.returncode == 1 and "ended" in ran.stdout, ran.stdout, ran.stderr)
    ran = run("provider")
    check("a program is named by its path", ran.returncode == 125 or ran.returncode == 126 or ran.returncode == 2, ran.returncode, ran.stderr)
    ran = run(sys.executable, LIAR, "good", words=("--config", "[]"))
    check("config is an object", ran.returncode != 0 and "--config" in ran.stderr, ran.stderr)


side_by_side(example, schema, broken, false, abilities, quiet, words)
end()
