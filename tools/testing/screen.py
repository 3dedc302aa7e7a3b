"""What a person sees of a run: a line for each program that ends, one line that is updated on a
terminal, and the summary at the end.
"""
import os
import sys
import time

from . import tap
from .schedule import again_lines

SLOWEST = 10
SLOW_S = 20.0            # a program that takes longer says why in its head
LAST_LINES = 12


class Screen:
    def __init__(self, out=sys.stdout, is_terminal=None):
        self.out = out
        self.is_terminal = out.isatty() if is_terminal is None else is_terminal
        is_plain = not self.is_terminal or os.environ.get("NO_COLOR")
        self.bold, self.green, self.red, self.reset = ("",) * 4 if is_plain else ("\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[0m")
        self.begun = time.monotonic()
        self.has_live_line = False

    def line(self, text=""):
        self.clear()
        print(text, file=self.out, flush=True)

    def heading(self, text):
        self.line(f"{self.bold}==> {text}{self.reset}")

    # -- while it runs --------------------------------------------------------------------------------------------

    def job_began(self, job):
        pass

    def job_failed_first(self, result):
        self.line(f"  {self.red}failed{self.reset}  {self.job_text(result)}; it runs once more at the end")

    def job_ended(self, result):
        word = f"{self.red}FAILED{self.reset}" if result.is_failed else "ok    "
        self.line(f"  {word}  {self.job_text(result)}")

    @staticmethod
    def job_text(result):
        return f"{result.wall_s:6.1f} s  cpu {result.cpu_s:5.1f} s  {result.job.name} ({sums_text(sums_of([result]))})"

    def stage_ended(self, run):
        run.ended = time.monotonic()
        word = f"{self.red}FAILED{self.reset}" if run.is_failed else f"{self.green}ok{self.reset}"
        self.line(f"{self.bold}{run.stage.name:13}{self.reset} {run.stage.proves} ... {word} ({sums_text(sums_of(run.results))})")

    def tick(self, schedule):
        if not self.is_terminal:
            return
        seconds = time.monotonic() - self.begun
        names = ", ".join(f"{r.job.name.split('/')[-1]} {r.seconds:.0f} s" for r in schedule.running)
        text = f"[{clock(seconds)}{left_text(schedule)}] {names}"
        width = os.get_terminal_size(self.out.fileno()).columns
        self.out.write("\r\x1b[K" + text[:width - 1])
        self.out.flush()
        self.has_live_line = True

    def clear(self):
        if self.has_live_line:
            self.out.write("\r\x1b[K")
            self.has_live_line = False

    # -- the account ----------------------------------------------------------------------------------------------

    def account(self, schedule, logs):
        results = [r for run in schedule.stage_runs for r in run.results]
        self.slowest(results)
        self.skips(results)
        self.agains(schedule.again, {r.job.name for r in results if r.is_failed})
        self.failures([r for r in results if r.is_failed], logs)
        wall_s = time.monotonic() - self.begun
        cpu_s = sum(r.cpu_s for r in results)
        self.heading(f"{clock(wall_s)} on {schedule.context.cores} cores, {cpu_s:.0f} s of CPU in {len(results)} programs")
        passed, failed, skipped = sums_of(results)
        self.line(f"{passed} passed, {failed} failed, {skipped} skipped")
        return 1 if failed or not passed else 0

    def slowest(self, results):
        order = sorted(results, key=lambda r: -r.wall_s)
        if len(order) > 1:
            self.heading("the slowest programs")
        for r in order[:SLOWEST] if len(order) > 1 else []:
            self.line(f"  {self.job_text(r)}{': ' + r.job.slow_reason if r.job.slow_reason else ''}")
        for r in order:
            if r.wall_s > SLOW_S and r.job.is_tap and not r.job.slow_reason:
                self.line(f"  note: {r.job.name} took {r.wall_s:.0f} s, and no line `slow: SECONDS s: REASON` in its head says why")

    def skips(self, results):
        by_reason = {}
        for r in results:
            for test in r.of("skipped"):
                by_reason.setdefault(test.notes[0], []).append(f"{r.job.name}: {test.name}")
        if by_reason:
            self.heading("skipped")
        for reason, names in sorted(by_reason.items()):
            self.line(f"  {reason}")
            for name in names:
                self.line(f"      {name}")

    def agains(self, again, failed):
        lines = list(again_lines(again, failed))
        if lines:
            self.heading("failed at first, and ran once more: a fault that only load brings is a fault")
        for line in lines:
            self.line(f"  {line}")

    def failures(self, failed, logs):
        if failed:
            self.heading("failed")
        for r in failed:
            self.line(f"  {self.red}{r.job.name}{self.reset}")
            for test in r.of("failed"):
                self.line(f"    not ok: {test.name}")
                for note in test.notes[:tap.NOTES_MAX]:
                    self.line(f"        {note}")
            self.line("    its last lines:")
            for line in [s for s in r.text.splitlines() if s.strip()][-LAST_LINES:]:
                self.line(f"        {line[:300]}")
            self.line(f"    log:    {logs}/{r.job.log}")
            self.line(f"    repeat: ./dev test {r.job.name}")


def sums_of(results):
    return tuple(sum(len(r.of(v)) for r in results) for v in ("passed", "failed", "skipped"))


def sums_text(sums):
    passed, failed, skipped = sums
    return f"{passed} passed" + (f", {failed} failed" if failed else "") + (f", {skipped} skipped" if skipped else "")


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def left_text(schedule):
    """An estimate of what is left, once all programs are known."""
    if any(run.jobs is None for run in schedule.stage_runs):
        return ""
    times = schedule.times
    slots = sum(times.of(j) * j.weight for j in schedule.ready) + sum(max(0.0, times.of(r.job) - r.seconds) * r.job.weight for r in schedule.running)
    longest = max([times.of(j) for j in schedule.ready] + [times.of(r.job) - r.seconds for r in schedule.running] + [0.0])
    return f", about {clock(max(slots / schedule.slots, longest))} left"
