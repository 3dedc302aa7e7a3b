"""The result of a program that prints TAP. A broken promise is a failure, and a program that prints
nothing never passes.
"""
import re
import signal

TEST = re.compile(r"^(not )?ok\b(?:\s+(\d+))?(?:\s*-)?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*(.*))?$")
SKIP = re.compile(r"#\s*skip\S*\s*(.*)$", re.IGNORECASE)
NINJA = re.compile(r"^\[\d+/\d+\] |^(gcc|clang|musl-gcc|cc) -I")  # progress and command lines of a build
NOTES_MAX = 25  # lines kept of what a test prints after "not ok"


class Test:
    """One claim: `verdict` is passed, failed or skipped; `notes` say why."""

    def __init__(self, verdict, name, notes=()):
        self.verdict, self.name, self.notes = verdict, name, list(notes)


def read(text, status):
    """All claims of one TAP stream as a list of Test. A missing plan, too few tests, a skip without
    a reason and an exit status other than 0 are failures too.
    """
    tests, planned, plan_skip, stray = [], None, None, []
    for line in text.splitlines():
        plan, test = PLAN.match(line), TEST.match(line)
        if plan:
            planned = (planned or 0) + int(plan.group(1))
            if plan.group(2):
                plan_skip = re.sub(r"^skip\S*\s*", "", plan.group(2), flags=re.IGNORECASE)
        elif test:
            tests.append(read_test(test.group(1), test.group(3)))
        elif line.startswith("Bail out!"):
            tests.append(Test("failed", line))
        elif line.strip():
            (tests[-1].notes if tests and tests[-1].verdict == "failed" else stray).append(line)
    problem = plan_problem(planned, plan_skip, tests)
    if problem:
        tests.append(Test("failed", "the plan", [problem] + stray[-NOTES_MAX:]))
    elif not tests:
        tests.append(Test("skipped", "everything", [plan_skip]))
    if status != 0 and all(t.verdict != "failed" for t in tests):
        tests.append(Test("failed", "exit status", [f"{say_status(status)}, and no test says it failed"] + stray[-NOTES_MAX:]))
    return tests


def read_test(is_not, name):
    skip = SKIP.search(name)
    if is_not:
        return Test("failed", name)
    if skip and not skip.group(1):
        return Test("failed", name, ["it skips without saying why"])
    if skip:
        return Test("skipped", SKIP.sub("", name).strip(), [skip.group(1)])
    return Test("passed", name)


def plan_problem(planned, plan_skip, tests):
    """What is wrong with the plan, or None."""
    if planned is None:
        return "no line 1..N: the tests did not come to their end"
    if planned == 0 and not tests and not plan_skip:
        return "1..0 without a reason: nothing was tested"
    if planned != len(tests):
        return f"{planned} tests were planned, {len(tests)} were seen"
    return None


def read_plain(name, text, status):
    """A program that does not print TAP is one test: its exit status."""
    lines = [line[:300] for line in text.splitlines() if line.strip() and not NINJA.match(line)]
    return [Test("failed" if status else "passed", name, lines[-NOTES_MAX:])]


def say_status(status):
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"
