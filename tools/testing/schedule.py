"""Runs the programs of all wanted stages side by side.

A stage waits until the stages that it needs have succeeded; then its jobs become ready. Ready jobs
start while their weights fit into the slots: first those with a lane (builds, in the order of the
table of stages), then heavy ones (they keep a core busy), then light ones (they mostly wait); the
longest first. While light jobs are ready, heavy ones leave a core to them: neither kind is left for
the end, where the one would take turns and the other would wait. A job that does not fit keeps the
slots that it needs. A job with failures runs once more, by itself, at the end.
"""
import json
import os
import select

from . import tap
from .job import CORE, Job, Result, Running

SLOTS_PER_CORE = CORE + 1     # a heavy job, and a light one for while it waits
AGAIN_MAX = 6            # programs that run once more; if more fail, the machine is not the cause
TICK_S = 0.5


class StageRun:
    """One stage in this run. `jobs` is None until the stage could start."""

    def __init__(self, stage, only):
        self.stage, self.only = stage, only          # only: names of jobs, or None for all of them
        self.jobs, self.results = None, []
        self.begun = self.ended = None

    @property
    def is_over(self):
        return self.jobs is not None and len(self.results) == len(self.jobs)

    @property
    def is_failed(self):
        return any(r.is_failed for r in self.results)


class Times:
    """How long each job took in its last run here; it decides what a run starts first."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, encoding="utf-8") as f:
                self.seconds = json.load(f)
        except (OSError, ValueError):
            self.seconds = {}

    def of(self, job):
        return self.seconds.get(job.name, job.guess_s)

    def write(self, results):
        self.seconds.update({r.job.name: round(r.wall_s, 1) for r in results})
        with open(self.path, "w", encoding="utf-8") as f:
            json.dump(self.seconds, f, indent=0, sort_keys=True)


class Schedule:
    """Runs `stage_runs`; reports to `screen` what starts and ends. run() returns nothing: the
    results are in the stage runs.
    """

    def __init__(self, stage_runs, context, slots, logs, times, screen):
        self.stage_runs, self.context, self.slots = stage_runs, context, slots
        self.logs, self.times, self.screen = logs, times, screen
        self.by_name = {r.stage.name: r for r in stage_runs}
        self.place = {r.stage.name: i for i, r in enumerate(stage_runs)}
        self.ready, self.running, self.failed_first = [], [], []
        self.again = {}              # job name -> the result that failed first

    def run(self):
        try:
            self.open_stages()
            while self.ready or self.running:
                self.start_what_fits()
                self.wait()
                self.open_stages()
            self.run_again()
        finally:
            for r in self.running:
                r.kill()

    # -- stages ---------------------------------------------------------------------------------------------------

    def open_stages(self):
        """Creates the jobs of every stage that can start now; a stage whose needed stages failed
        fails.
        """
        for run in self.stage_runs:
            if run.jobs is not None:
                continue
            needs = [self.by_name[n] for n in run.stage.needs]
            broken = [n.stage.name for n in needs if n.is_over and n.is_failed]
            if broken:
                self.refuse(run, f"not run: {', '.join(broken)} failed")
            elif all(n.is_over for n in needs):
                self.open_stage(run)

    def open_stage(self, run):
        try:
            jobs = run.stage.jobs(run.stage.name, self.context)
        except OSError as e:
            self.refuse(run, f"its programs cannot be listed: {e}")
            return
        if run.only is not None:
            jobs = [j for j in jobs if j.name in run.only]
            if not jobs:
                self.refuse(run, f"no program is called {' or '.join(sorted(run.only))}; they are called as ./dev test prints them")
                return
        run.jobs = jobs
        self.ready += jobs
        if not jobs:
            self.screen.stage_ended(run)

    def refuse(self, run, reason):
        name = min(run.only) if run.only else run.stage.name
        job = Job(run.stage.name, name, [], is_tap=False)
        with open(os.path.join(self.logs, job.log), "w", encoding="utf-8") as log:
            log.write(reason + "\n")
        run.jobs = [job]
        self.end(run, Result(job, reason + "\n", 1, 0.0, 0.0))

    # -- jobs -----------------------------------------------------------------------------------------------------

    def fits(self, job, kept=0):
        """Beside what runs, and beside `kept` slots."""
        if not self.running:
            return kept == 0
        used = sum(r.job.weight for r in self.running)
        has_alone = job.is_alone or any(r.job.is_alone for r in self.running)
        return not has_alone and used + kept + job.weight <= self.slots

    def is_held(self, job):
        """Another build runs, or heavy jobs have all cores but the one that light jobs can use."""
        if job.lane and any(r.job.lane == job.lane for r in self.running):
            return True
        heavy = sum(r.job.is_heavy for r in self.running)
        return job.is_heavy and heavy >= max(1, self.slots // SLOTS_PER_CORE - 1) and any(not j.is_heavy and not j.is_alone for j in self.ready)

    def urgency(self, job):
        """What starts first has the smallest."""
        return job.is_alone, not job.lane, not job.is_heavy, self.place[job.stage] if job.lane else -self.times.of(job)

    def start_what_fits(self):
        kept = 0
        for job in sorted(self.ready, key=self.urgency):
            if self.is_held(job):
                continue
            if self.fits(job, kept):
                self.ready.remove(job)
                self.start(job)
            else:
                kept += job.weight

    def start(self, job):
        self.running.append(Running(job, os.path.join(self.logs, job.log)))
        self.screen.job_began(job)

    def wait(self):
        """Until a job ends, or a tick is over."""
        descriptors = [r.pidfd for r in self.running if r.pidfd is not None]
        has_stillborn = len(descriptors) < len(self.running)
        ended, _, _ = select.select(descriptors, [], [], 0 if has_stillborn else TICK_S)
        for r in [r for r in self.running if r.pidfd is None or r.pidfd in ended]:
            self.running.remove(r)
            self.job_ended(r.result())
        for r in self.running:
            r.check_time()
        self.screen.tick(self)

    def job_ended(self, result):
        run = self.by_name[result.job.stage]
        if result.is_failed and result.job.is_tap and result.job.name not in self.again:
            self.failed_first.append(result)
            self.again[result.job.name] = result
            self.screen.job_failed_first(result)
            # It keeps its place in the stage until it has run again.
            return
        self.end(run, result)

    def end(self, run, result):
        run.results.append(result)
        self.screen.job_ended(result)
        if run.is_over:
            self.screen.stage_ended(run)

    def run_again(self):
        """Those that failed, one by one. Their second result counts; the first is kept in `again`.
        """
        if len(self.failed_first) > AGAIN_MAX:
            failed, self.again = self.failed_first, {}
            for first in failed:
                self.end(self.by_name[first.job.stage], first)
            return
        for first in self.failed_first:
            os.replace(os.path.join(self.logs, first.job.log), os.path.join(self.logs, first.job.log + ".first"))
            self.start(first.job)
            while self.running:
                self.wait()
        self.open_stages()
        while self.ready or self.running:
            self.start_what_fits()
            self.wait()
            self.open_stages()


def again_lines(again, failed):
    """Jobs that failed first and then passed; jobs that failed twice are in the list of failures.
    """
    for name, first in sorted(again.items()):
        if name in failed:
            continue
        for test in first.of("failed"):
            yield f"again: {name}: failed at first: {test.name}"
            for note in test.notes[:tap.NOTES_MAX]:
                yield f"again:     {note[:300]}"
