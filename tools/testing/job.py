"""One program that the tests run: its command, its place in the schedule, and how it ended."""
import os
import re
import signal
import subprocess
import time

from . import tap

HEAD_LEN = 2048          # bytes at the start of a program in which it may set options for the scheduler
GUESS_S = 4.0            # for a program that was never timed here and sets none
TIMEOUT_S = 900
CORE = 3                 # weight of a job that keeps one core busy; most programs wait, and have weight 1

# Options in a program's head; in C they are in the card. `# slow: 40 s: REASON`, `# alone: REASON`,
# `# weight: N`, `# deep: REASON`, `# deep as root: REASON`.
SLOW = re.compile(r"^(?:#| \*) slow: (\d+) s: (.+)$", re.MULTILINE)
WEIGHT = re.compile(r"^(?:#| \*) weight: (\d+)", re.MULTILINE)
ALONE = re.compile(r"^(?:#| \*) alone: ", re.MULTILINE)
DEEP = re.compile(r"^(?:#| \*) deep: ", re.MULTILINE)
DEEP_AS_ROOT = re.compile(r"^(?:#| \*) deep as root: ", re.MULTILINE)


def read_head(path):
    try:
        with open(path, "rb") as f:
            return f.read(HEAD_LEN).decode("utf-8", "replace")
    except OSError:
        return ""


class Job:
    """A program to run. `source` is the file whose head is read; `name` is the argument of `./dev
    test` that runs it again.
    """

    def __init__(self, stage, name, argv, source=None, env=None, cwd=None, is_tap=True, weight=1, lane=None, guess_s=GUESS_S):
        head = read_head(source) if source else ""
        slow, heavy = SLOW.search(head), WEIGHT.search(head)
        self.stage, self.name, self.argv = stage, name, argv
        self.env, self.cwd, self.is_tap = env or {}, cwd, is_tap
        self.is_alone = bool(ALONE.search(head))
        self.is_deep, self.is_deep_as_root = bool(DEEP.search(head)), bool(DEEP_AS_ROOT.search(head))
        self.slow_reason = slow.group(2) if slow else None
        self.guess_s = float(slow.group(1)) if slow else guess_s
        self.weight = int(heavy.group(1)) if heavy else weight
        self.lane = lane                 # at most one job of a lane runs at a time; jobs with a lane start before others
        self.timeout_s = TIMEOUT_S

    @property
    def is_heavy(self):
        return self.weight >= CORE

    @property
    def log(self):
        return self.name.replace("/", "-").replace(":", "-") + ".log"


class Result:
    """How a job ended. `cpu_s` counts the program and the children that it waited for."""

    def __init__(self, job, text, status, wall_s, cpu_s):
        self.job, self.text, self.status = job, text, status
        self.wall_s, self.cpu_s = wall_s, cpu_s
        self.tests = tap.read(text, status) if job.is_tap else tap.read_plain(job.name, text, status)

    def of(self, verdict):
        return [t for t in self.tests if t.verdict == verdict]

    @property
    def is_failed(self):
        return bool(self.of("failed"))


class Running:
    """A started job. Its output goes to `log`; `pidfd` becomes readable when it ends."""

    def __init__(self, job, log):
        self.job, self.log, self.is_late = job, log, False
        self.begun = time.monotonic()
        self.process, self.pidfd, self.problem = None, None, None
        try:
            with open(log, "wb") as out:
                self.process = subprocess.Popen(job.argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                                env={**os.environ, **job.env}, cwd=job.cwd, start_new_session=True)
            self.pidfd = os.pidfd_open(self.process.pid)
        except OSError as e:
            self.problem = f"{job.argv[0]}: {e.strerror}"

    @property
    def seconds(self):
        return time.monotonic() - self.begun

    def kill(self):
        if self.process and self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def check_time(self):
        if not self.is_late and self.seconds > self.job.timeout_s:
            self.is_late = True
            self.kill()

    def result(self):
        """Reaps the ended program."""
        wall_s = self.seconds
        if self.problem:
            return Result(self.job, f"# {self.problem}\n", 127, wall_s, 0.0)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        os.close(self.pidfd)
        with open(self.log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if self.is_late:
            text += f"\nBail out! killed: it ran longer than {self.job.timeout_s} s\n"
        return Result(self.job, text, self.process.returncode, wall_s, usage.ru_utime + usage.ru_stime)


def begin_afresh():
    """Programs start as from a shell: no signal ignored or blocked, umask 022, independent of the
    caller.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # Python ignores SIGPIPE and SIGXFSZ itself and restores them in its children.
        if signal.getsignal(number) == signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    os.umask(0o022)
