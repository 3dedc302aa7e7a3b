"""What a command printed and how it ended, and how output is collected."""
import codecs
from collections import deque
from dataclasses import dataclass, field
from typing import Deque, Dict, List, Optional, Tuple

from ._error import CarrelError
from ._operations import Denial, ExecInfo, Sanitized

KEEP_BYTES = 16 << 20        # of each stream, in a result


class CommandFailedError(CarrelError):
    """A command did not exit with 0. `result` says how it ended and what it printed."""

    code = "command_failed"

    def __init__(self, result: "Result") -> None:
        tail = result.stderr_text.strip().splitlines()[-1:] or [""]
        super().__init__(f"the command {result.ending}" + (f": {tail[0][:500]}" if tail[0] else ""), operation="exec.start", hint=result.hint)
        self.result = result
        self.exit_status = result.exit_status


@dataclass(frozen=True)
class Output:
    """Bytes that a command wrote at once."""

    stream: str
    """"stdout" or "stderr"."""
    data: bytes
    offset: int
    """How many bytes of this stream came before; a jump tells of bytes that were dropped."""

    @property
    def text(self) -> str:
        """The bytes as UTF-8; a character may be cut by the end of a piece."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    exec: int
    """Its number in the sandbox."""
    outcome: str
    """exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost."""
    exit_status: int
    """As a shell has it: its own, 128 + signal, 124 timed out, 137 killed, 125 lost."""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_lost: int = 0
    """Bytes of standard output that are missing here: beyond `keep_bytes`, or dropped by the sandbox. The newest bytes are kept."""
    stderr_lost: int = 0
    signal: Optional[int] = None
    duration_ms: int = 0
    cpu_ms: int = 0
    memory_peak_kb: int = 0
    timeout_ms: Optional[int] = None
    """The limit on its time, if there was one."""
    timeout_by: Optional[str] = None
    """Who set that limit: call, manifest or host."""
    denied: List[Denial] = field(default_factory=list)
    """What it asked of the network and was refused; the first 16 different things."""
    denied_more: int = 0
    audit_ref: Optional[str] = None
    """Where the start of the command is in the audit log: audit://CHAIN/NUMBER."""
    sanitized: Optional[Sanitized] = None
    """What was removed from its output, where the sandbox or the host says sanitize_output."""

    @property
    def ok(self) -> bool:
        """It exited with 0."""
        return self.exit_status == 0

    @property
    def stdout_text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def stderr_text(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    @property
    def ending(self) -> str:
        """The outcome in words."""
        if self.outcome == "exited":
            return f"exited with {self.exit_status}"
        return {"signaled": f"was ended by signal {self.signal}", "timed_out": f"ran into its time limit{self._limit} and was killed", "oom_killed": "ran out of memory and was killed",
                "cpu_limit": "used up its CPU time and was killed", "killed": "was killed on request",
                "policy_killed": "was killed because the disk was nearly full"}.get(self.outcome, "ended, and its end was not seen")

    @property
    def hint(self) -> str:
        """What to do next, where something is known."""
        words = [denial.message for denial in self.denied]
        time = {"call": "Give it more time with `timeout`.", "host": "The host file sets this limit: limits_max.timeout_ms."}.get(self.timeout_by or "", "Raise limits.timeout_ms in SANDBOX.md.")
        limit = {"timed_out": time, "oom_killed": "Raise limits.memory_mb. Files in /tmp and the home count too where they are memory.", "cpu_limit": "Raise limits.cpu_ms."}.get(self.outcome)
        return " ".join(words + ([limit] if limit else []))

    @property
    def _limit(self) -> str:
        return f" of {self.timeout_ms / 1000:g} s" if self.timeout_ms is not None else ""

    def check(self) -> "Result":
        """Itself, if the command exited with 0; else raises CommandFailedError."""
        if not self.ok:
            raise CommandFailedError(self)
        return self


def result_of(info: ExecInfo, kept: "Kept") -> Result:
    """The end of an exec with the output that was collected."""
    outcome = info.outcome or "lost"
    status = info.exit_code if info.exit_code is not None else {"timed_out": 124, "lost": 125}.get(outcome, 137)
    lost = {name: kept.lost(name, getattr(info, name + "_bytes") or 0) for name in ("stdout", "stderr")}
    return Result(info.exec, outcome, status, kept.bytes("stdout"), kept.bytes("stderr"), lost["stdout"], lost["stderr"], info.signal,
                  info.duration_ms or 0, info.cpu_ms or 0, info.memory_peak_kb or 0, info.timeout_ms, info.timeout_by, info.denied, info.denied_more or 0, info.audit_ref,
                  info.sanitized)


class Kept:
    """The newest bytes of each stream: `most` at most, all where it is None."""

    def __init__(self, most: Optional[int]) -> None:
        self.most = most
        self._passed = {"stdout": 0, "stderr": 0}
        self._parts: Dict[str, Deque[bytes]] = {"stdout": deque(), "stderr": deque()}
        self._size = {"stdout": 0, "stderr": 0}

    def add(self, piece: Output) -> None:
        parts = self._parts[piece.stream]
        parts.append(piece.data)
        size = self._size[piece.stream] + len(piece.data)
        while self.most is not None and parts and size - len(parts[0]) >= self.most:
            size -= len(parts.popleft())
        self._size[piece.stream] = size

    def bytes(self, stream: str) -> bytes:
        joined = b"".join(self._parts[stream])
        return joined if self.most is None else joined[max(0, len(joined) - self.most):]

    def pass_by(self, piece: Output) -> None:
        """Counts a piece that its reader has, and that is not kept here."""
        self._passed[piece.stream] += len(piece.data)

    def lost(self, stream: str, written: int) -> int:
        """How many of the bytes that were written are missing."""
        return max(0, written - len(self.bytes(stream)) - self._passed[stream])


class LineCutter:
    """Text lines of both streams out of pieces: a character or a line that is cut waits for its rest."""

    def __init__(self) -> None:
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self._rest = {"stdout": "", "stderr": ""}

    def add(self, piece: Output) -> List[Tuple[str, str]]:
        lines = (self._rest[piece.stream] + self._decoders[piece.stream].decode(piece.data)).split("\n")
        self._rest[piece.stream] = lines.pop()
        return [(piece.stream, line) for line in lines]

    def end(self) -> List[Tuple[str, str]]:
        left = [(name, self._rest[name] + self._decoders[name].decode(b"", True)) for name in ("stdout", "stderr")]
        return [(name, text) for name, text in left if text]
