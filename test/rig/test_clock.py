"""The clock that a test moves for processes of build-switches (src/clock/clock.h). Not a test.

    clock = Clock()
    with Bench(clock.env, clock.build) as bench:
        ...
        clock.move(60)                   # a minute passes at once, for every process that was started with clock.env

The kernel's own time is not changed: processor time of a command, sleep(1) in a sandbox, timeouts
of sockets. Without build-switches the test waits for the minute.
"""
import contextlib
import ctypes
import mmap
import os
import tempfile
import threading
import time

from box_rig import CARREL, SWITCHES

BUILD = os.path.dirname(SWITCHES)


class Clock:
    def __init__(self):
        self.moves = os.access(SWITCHES, os.X_OK)
        self.build = BUILD if self.moves else os.path.dirname(CARREL)
        self.env = {}
        self.window = 600 if self.moves else 4     # seconds: within these, the state that a test waits for must be reached
        if not self.moves:
            return
        fd, self.file = tempfile.mkstemp(prefix="carrel-clock-")
        os.fchmod(fd, 0o644)
        os.truncate(fd, 16)
        self.map = mmap.mmap(fd, 16)
        os.close(fd)
        self.env = {"CARREL_TEST_CLOCK": self.file}
        self.boot, self.wall = (ctypes.c_int64.from_buffer(self.map, at) for at in (0, 8))

    def move(self, seconds):
        """This time passes: on the boot clock, and on the wall clock."""
        if not self.moves:
            time.sleep(seconds)
            return
        self.boot.value += round(seconds * 1000)
        self.wall.value += round(seconds * 1000)

    @contextlib.contextmanager
    def fast(self):
        """Meanwhile a second passes every few moments: for a wait whose start is not visible
        outside.
        """
        over = threading.Event()

        def run():
            while not over.wait(0.02):
                self.boot.value += 1000
        runner = threading.Thread(target=run)
        if self.moves:
            runner.start()
        try:
            yield
        finally:
            over.set()
            if self.moves:
                runner.join()

    def set_wall(self, seconds):
        """The wall clock is set to this much after the machine's own. No time passes."""
        self.wall.value = round(seconds * 1000)

    def boot_ms(self):
        """What the processes with this clock read."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000 + (self.boot.value if self.moves else 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.env:
            os.unlink(self.file)
