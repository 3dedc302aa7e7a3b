"""System calls in the name of another process: what could it do, if an attacker took it over? x86-64. Not a test.

Source: ptrace(2); the registers are struct user_regs_struct of <sys/user.h>.
"""
import ctypes
import errno
import os
import struct

ATTACH, DETACH, STEP, GET, SET = 16, 17, 9, 12, 13
NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()
CALLS = {"openat": 257, "kill": 62}
RED_ZONE = 4096
WALL = 0x40000000   # __WALL

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


def _trace(request, pid, data=None):
    if libc.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


class Puppet:
    """The first thread of a process, stopped until the end of the block."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        _trace(ATTACH, self.pid)
        os.waitpid(self.pid, WALL)
        self.before = self._get()
        with open("/proc/%d/mem" % self.pid, "rb") as f, open("/proc/%d/maps" % self.pid, encoding="utf-8") as maps:
            self.gate = self._find(f, maps)
        return self

    def __exit__(self, *_):
        self._set(self.before)
        _trace(DETACH, self.pid)

    def _get(self):
        raw = ctypes.create_string_buffer(8 * len(NAMES))
        _trace(GET, self.pid, raw)
        return dict(zip(NAMES, struct.unpack("%dQ" % len(NAMES), raw.raw)))

    def _set(self, registers):
        raw = ctypes.create_string_buffer(struct.pack("%dQ" % len(NAMES), *(registers[n] for n in NAMES)), 8 * len(NAMES))
        _trace(SET, self.pid, raw)

    @staticmethod
    def _find(memory, maps):
        """Where the process has the instruction `syscall`."""
        for line in maps:
            part = line.split()
            if "x" in part[1] and "libc" in part[-1]:
                begin, end = (int(n, 16) for n in part[0].split("-"))
                memory.seek(begin)
                at = memory.read(end - begin).find(b"\x0f\x05")
                if at >= 0:
                    return begin + at
        raise LookupError("no system call in this process")

    def call(self, name, *arguments):
        """What the call returns to the process: bytes are put on its stack. A negative number is an error."""
        at = (self.before["rsp"] - 2 * RED_ZONE) & ~15
        words = []
        for argument in arguments:
            if isinstance(argument, bytes):
                with open("/proc/%d/mem" % self.pid, "r+b", buffering=0) as f:
                    f.seek(at)
                    f.write(argument + b"\0")
                argument = at
                at += 256
            words.append(argument & (1 << 64) - 1)
        words += [0] * (6 - len(words))
        registers = dict(self.before, rip=self.gate, rax=CALLS[name], orig_rax=(1 << 64) - 1)
        registers.update(zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), words))
        self._set(registers)
        _trace(STEP, self.pid)
        os.waitpid(self.pid, WALL)
        result = self._get()["rax"]
        return result - (1 << 64) if result >> 63 else result

    def says(self, name, *arguments):
        """The name of the error, or "done"."""
        result = self.call(name, *arguments)
        return errno.errorcode.get(-result, str(result)) if result < 0 else "done"
