"""The client: a daemon, its sandboxes, their processes and files. _asyncio.py is printed from this file.

Times are seconds, as Python has them; in what the daemon answers, names say their unit. Output and files are bytes.
"""
import base64
import json
import os
import tempfile
import threading
import time
import warnings
from collections import deque
from types import TracebackType
from typing import IO, Any, Callable, Deque, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._codes import CODES, ConnectionLostError, InvalidArgumentError
from ._error import CarrelError, NotFoundError
from ._operations import Approval, DaemonInfo, Denial, Event, ExecInfo, FileEntry, LeftBehind, Limits, PortUrl, SandboxInfo, Token, Usage, Volume
from ._process import KEEP_BYTES, CommandFailedError, Kept, LineCutter, Output, Result, result_of
from ._transport import EventReader, Place, Response, Transport, error_of

T = TypeVar("T")
Command = Union[str, Sequence[str]]
Data = Union[bytes, bytearray, memoryview, str]
Path = Union[str, "os.PathLike[str]"]

INPUT_AT_ONCE = 64 << 10     # bytes of input that one call carries; more follow beside it
INPUT_PIECE = 256 << 10
BATCH_BYTES, BATCH_FILES = 1 << 20, 1023      # of the JSON of a batch of files
MANIFESTS = ("SANDBOX.md", "WORKSPACE.md")


class Carrel:
    """A daemon: `carrel serve`.

    `address` is "unix:/path/to/carrel.sock" or "http://127.0.0.1:PORT"; `state` is the daemon's state directory. Without either,
    CARREL_URL, then CARREL_STATE, then the state directory of this user's daemon. `token` is for TCP (CARREL_TOKEN). `timeout` is how
    many seconds a call that runs no command may wait for its answer (no limit).

    It holds no connection: threads may share it, and a child after fork() may go on with it.
    """

    def __init__(self, address: Optional[str] = None, *, state: Optional[str] = None, token: Optional[str] = None, timeout: Optional[float] = None) -> None:
        self._transport = Transport(Place(address, state, token), timeout)

    def __repr__(self) -> str:
        return f"Carrel({str(self._transport.place)!r})"

    @property
    def address(self) -> str:
        """Where the daemon is."""
        return str(self._transport.place)

    def info(self) -> DaemonInfo:
        """The daemon's version and the templates of this host."""
        return DaemonInfo.read(self._transport.call("info"))

    def create(self, *, name: Optional[str] = None, workspace: Optional[Path] = None, manifest: Union[Mapping[str, Any], str, None] = None,
               manifest_file: Optional[Path] = None, runtime: Optional[str] = None, timeout: Optional[float] = None, delete_after: Optional[float] = None,
               env: Optional[Mapping[str, str]] = None, ports: Optional[Sequence[int]] = None, metadata: Any = None, start: Optional[bool] = None,
               key: Optional[str] = None, risk: Optional[str] = None) -> "Sandbox":
        """Creates a sandbox; `with` stops it at the end.

        `manifest` is the sandbox block as a dict, or the text of a SANDBOX.md; `manifest_file` is its path. Without either, the
        SANDBOX.md or WORKSPACE.md of `workspace` is used, or the standard sandbox: no network, no mounts, a private home.
        `timeout` is the sandbox's own time in seconds. `start` starts it at once (at its first use). `key`: repeating the call with the
        same key gives the same sandbox. `risk` of the work ("low", "medium", "high"): DocumentDeniedError if the isolation tier is too low for it.
        """
        return Sandbox(self._transport, self._declare("create", name, workspace, manifest, manifest_file, runtime, timeout, delete_after, env, ports, metadata, start, key, risk))

    def claim(self, *, name: Optional[str] = None, workspace: Optional[Path] = None, manifest: Union[Mapping[str, Any], str, None] = None,
              manifest_file: Optional[Path] = None, runtime: Optional[str] = None, timeout: Optional[float] = None, delete_after: Optional[float] = None,
              env: Optional[Mapping[str, str]] = None, ports: Optional[Sequence[int]] = None, metadata: Any = None, key: Optional[str] = None,
              risk: Optional[str] = None) -> "Sandbox":
        """As create(), out of the daemon's pool of sandboxes that are ready."""
        return Sandbox(self._transport, self._declare("claim", name, workspace, manifest, manifest_file, runtime, timeout, delete_after, env, ports, metadata, None, key, risk))

    def get(self, id: str) -> "Sandbox":
        """The sandbox of this id or name. Raises SandboxNotFoundError."""
        return Sandbox(self._transport, SandboxInfo.read(self._transport.call("get", id=id)))

    def list(self) -> List["Sandbox"]:
        """This owner's sandboxes, oldest first."""
        return [Sandbox(self._transport, SandboxInfo.read(item)) for item in self._transport.call("list").get("items", ())]

    def events(self, id: Optional[str] = None, *, last_event_id: Optional[str] = None) -> "Events":
        """What happens from now on, in one sandbox or in all of this owner's; or behind an event that was read before (its `event_id`).

        If what followed that event is no longer kept, the first event is "missed": list what there is.
        """
        return Events(self._transport.events("watch", id=id, last_event_id=last_event_id))

    def usage(self) -> List[Usage]:
        """What this owner's sandboxes have used, also those that ended. The one without an id is the sum."""
        return [Usage.read(item) for item in self._transport.call("usage.list").get("items", ())]

    @property
    def tokens(self) -> "Tokens":
        """Tokens for clients that come over TCP."""
        return Tokens(self._transport)

    @property
    def volumes(self) -> "Volumes":
        """Directories of this owner that outlive sandboxes."""
        return Volumes(self._transport)

    @property
    def approvals(self) -> "Approvals":
        """Requests that wait until a person approves them."""
        return Approvals(self._transport)

    def _declare(self, operation: str, name: Optional[str], workspace: Optional[Path], manifest: Union[Mapping[str, Any], str, None],
                 manifest_file: Optional[Path], runtime: Optional[str], timeout: Optional[float], delete_after: Optional[float],
                 env: Optional[Mapping[str, str]], ports: Optional[Sequence[int]], metadata: Any, start: Optional[bool], key: Optional[str],
                 risk: Optional[str]) -> SandboxInfo:
        found = find_manifest(workspace, manifest, manifest_file)
        delete_at = None if delete_after is None else int((time.time() + delete_after) * 1000)
        return SandboxInfo.read(self._transport.call(
            operation, **found, name=name, runtime=runtime, timeout_ms=milliseconds(timeout), delete_at_ms=delete_at, env=None if env is None else dict(env),
            ports=None if ports is None else list(ports), metadata=metadata, start=start, key=key, risk=risk))


def find_manifest(workspace: Optional[Path], manifest: Union[Mapping[str, Any], str, None], manifest_file: Optional[Path]) -> Dict[str, Any]:
    """What create() sends of a manifest. The file it was read from is read-only inside."""
    if manifest is not None and manifest_file is not None:
        raise InvalidArgumentError("a manifest is given by `manifest` or by `manifest_file`, not by both", path="manifest_file")
    if manifest is not None:
        return {"manifest": manifest if isinstance(manifest, str) else dict(manifest), "workspace": absolute(workspace)}
    if manifest_file is None and workspace is not None:
        there = [os.path.join(workspace, name) for name in MANIFESTS]
        manifest_file = next((path for path in there if os.path.exists(path)), None)
        if manifest_file is None:
            warnings.warn(f"{os.fspath(workspace)} has no SANDBOX.md: nothing of it is mounted. `carrel init` writes one; or pass manifest={{...}}.", stacklevel=4)
    if manifest_file is None:
        return {"workspace": absolute(workspace)}
    with open(manifest_file, encoding="utf-8") as f:
        text = f.read()
    content: Any = json.loads(text) if text.lstrip().startswith("{") else text
    directory = os.path.dirname(os.path.abspath(manifest_file))
    return {"manifest": content, "manifest_name": os.fspath(manifest_file)[-255:], "workspace": absolute(workspace) or os.path.realpath(directory),
            "reads": [os.path.realpath(manifest_file)]}


def absolute(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.path.realpath(path)


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError("a time is a number of seconds, for example 300 or 0.5, not %r" % (seconds,))
    return max(1, round(seconds * 1000))


def bytes_of(data: Data) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)


class Tokens:
    """Tokens of the daemon; for its own user."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, *, owner: Optional[str] = None, scope: Optional[str] = None) -> Token:
        """A new token. `scope` "read" may only get and list; "approve" may also answer requests for approval. Its value is shown this once."""
        return Token.read(self._transport.call("token.create", owner=owner, scope=scope))

    def list(self) -> List[Token]:
        """The tokens, without their values."""
        return [Token.read(item) for item in self._transport.call("token.list").get("items", ())]

    def revoke(self, id: str) -> bool:
        """Revokes it. Was there one?"""
        return bool(self._transport.call("token.revoke", id=id)["existed"])


class Volumes:
    """Volumes of this owner. A sandbox that names a missing volume creates it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str) -> Volume:
        """Creates a volume; an existing one is not changed."""
        return Volume.read(self._transport.call("volume.create", name=name))

    def list(self) -> List[Volume]:
        """The volumes, with their sizes."""
        return [Volume.read(item) for item in self._transport.call("volume.list").get("items", ())]

    def remove(self, name: str) -> bool:
        """Removes a volume with its content. Was there one? VolumeInUseError while a sandbox uses it."""
        return bool(self._transport.call("volume.remove", name=name)["existed"])


class Approvals:
    """Requests for approval of this owner's sandboxes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> List[Approval]:
        """Those that wait, and those that were answered lately, oldest first."""
        return [Approval.read(item) for item in self._transport.call("approval.list").get("items", ())]

    def get(self, id: str) -> Approval:
        """One of them, with everything that the answer binds."""
        return Approval.read(self._transport.call("approval.get", id=id))

    def approve(self, id: str) -> Approval:
        """Approves it, once. For users of this machine, and tokens of scope "approve"."""
        return Approval.read(self._transport.call("approval.answer", id=id, verdict="approve"))

    def deny(self, id: str, *, reason: Optional[str] = None) -> Approval:
        """Denies it; who asked gets the reason."""
        return Approval.read(self._transport.call("approval.answer", id=id, verdict="deny", reason=reason))


class Sandbox:
    """A sandbox of a daemon. Leaving `with` stops it."""

    def __init__(self, transport: Transport, info: SandboxInfo) -> None:
        self._transport, self._info = transport, info

    def __repr__(self) -> str:
        return f"Sandbox({self._info.name or self._info.id!r}, {self._info.status})"

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        try:
            self.stop()
        except CarrelError:
            if error is None:                              # what is already on its way is the better answer
                raise

    @property
    def id(self) -> str:
        """Its identifier."""
        return self._info.id

    @property
    def name(self) -> Optional[str]:
        """Its name, if it has one."""
        return self._info.name

    @property
    def info(self) -> SandboxInfo:
        """What the daemon last said of it; refresh() asks again."""
        return self._info

    @property
    def files(self) -> "Files":
        """Its files."""
        return Files(self._transport, self.id)

    # -- its life

    def refresh(self) -> SandboxInfo:
        """Asks the daemon for its state."""
        return self._take("get")

    def stop(self) -> bool:
        """Stops and deletes it, with every process and everything that was only in it. Was there one?"""
        return bool(self._transport.call("stop", id=self.id)["existed"])

    def delete(self) -> bool:
        """The same as stop()."""
        return self.stop()

    def pause(self) -> SandboxInfo:
        """Freezes every process; its time goes on."""
        return self._take("pause")

    def resume(self) -> SandboxInfo:
        """Lets a paused sandbox go on."""
        return self._take("resume")

    def extend(self, seconds: float, *, key: Optional[str] = None) -> SandboxInfo:
        """Adds to the time it has left."""
        return self._take("extend", duration_ms=milliseconds(seconds), key=key)

    def notify(self, event: str) -> SandboxInfo:
        """Says that something happened ("workspace-close"): its lifecycle decides what follows."""
        return self._take("event", event=event)

    def instructions(self) -> str:
        """What a model should know about this sandbox, in words."""
        return str(self._transport.call("instructions", id=self.id)["text"])

    def events(self, *, last_event_id: Optional[str] = None) -> "Events":
        """What happens in it from now on, or behind an event that was read before (its `event_id`)."""
        return Events(self._transport.events("watch", id=self.id, last_event_id=last_event_id))

    def begin_task(self, task: str, timeout: float) -> None:
        """Begins a task: what runs for it (`task=`) is killed after `timeout` seconds, or when it ends."""
        self._transport.call("task.begin", id=self.id, task=task, timeout_ms=milliseconds(timeout))

    def end_task(self, task: str) -> bool:
        """Ends a task and kills what still runs for it. Was there one?"""
        return bool(self._transport.call("task.end", id=self.id, task=task)["existed"])

    # -- network

    def url(self, port: int) -> PortUrl:
        """URLs with a token that reach a declared port: `url` for programs, `browser_url` for pages in a browser."""
        return PortUrl.read(self._transport.call("url", id=self.id, port=port))

    def urls(self) -> Dict[int, PortUrl]:
        """The URLs of every declared port."""
        return {port: PortUrl.read(self._transport.call("url", id=self.id, port=port)) for port in self._info.ports}

    def set_network(self, egress: Sequence[str]) -> SandboxInfo:
        """Gives it another network.egress, whole or not at all; connections that it no longer allows are closed."""
        return self._take("network", egress=list(egress))

    # -- limits

    def limits(self) -> Limits:
        """Its limits, and what is used of them now. A figure that the daemon's machine does not measure is None."""
        return Limits.read(self._transport.call("limits", id=self.id))

    def set_limits(self, **limits: int) -> Limits:
        """Changes the limits that are named, by their names in a manifest: all of them, or none. Nothing is killed: memory that is in use is LimitInUseError."""
        return Limits.read(self._transport.call("limits.set", id=self.id, **limits))

    def take_left_behind(self) -> List[LeftBehind]:
        """What commands made or changed in the workspace, since the last such call, that programs of the host act on. info.left_behind lists all of it."""
        return [LeftBehind.read(item) for item in self._transport.call("left.take", id=self.id).get("left_behind", ())]

    def usage(self) -> Usage:
        """What it has used since it started. A figure that the daemon's machine does not measure is None."""
        return Usage.read(self._transport.call("usage", id=self.id))

    def denials(self) -> List[Denial]:
        """What its commands asked of the network and were refused, oldest first, with what to do; the last 64."""
        return [Denial.read(item) for item in self._transport.call("denials", id=self.id).get("items", ())]

    # -- commands

    def run(self, command: Command, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
            timeout: Optional[float] = None, cpu: Optional[float] = None, check: bool = False, on_stdout: Optional[Callable[[bytes], Any]] = None,
            on_stderr: Optional[Callable[[bytes], Any]] = None, keep_bytes: Optional[int] = KEEP_BYTES, output_bytes: Optional[int] = None,
            kill_rest: Optional[bool] = None, task: Optional[str] = None, key: Optional[str] = None) -> Result:
        """Runs a command and waits for its end.

        A str is a line for the sandbox's shell; a list is a program and its arguments. Every ending is a result (`outcome`,
        `exit_status`); with `check` any but an exit with 0 raises CommandFailedError. `timeout` and `cpu` are seconds. The result holds
        the newest `keep_bytes` of each stream (16 MiB; None: all). on_stdout and on_stderr are called with bytes as they come; the
        command waits for them. An exception, Ctrl-C or a cancelled task kills the command with all its processes. With a `key` the
        command runs once: repeating the call gives the same command's output and end.
        """
        given = None if input is None else bytes_of(input)
        request = self._request(command, env, cwd, timeout, cpu, output_bytes, kill_rest, task, key, given)
        return self._run("exec.start", request, given, check, on_stdout, on_stderr, keep_bytes)

    def run_code(self, language: str, code: str, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
                 timeout: Optional[float] = None, cpu: Optional[float] = None, check: bool = False, on_stdout: Optional[Callable[[bytes], Any]] = None,
                 on_stderr: Optional[Callable[[bytes], Any]] = None, keep_bytes: Optional[int] = KEEP_BYTES, output_bytes: Optional[int] = None,
                 kill_rest: Optional[bool] = None, task: Optional[str] = None, key: Optional[str] = None) -> Result:
        """Runs code with the interpreter of the sandbox and waits for its end; otherwise like run().

        `language` is python, javascript, typescript, shell, bash, ruby, perl, ... Code has at most 131,070 bytes and no NUL. A language
        without an interpreter inside raises RuntimeUnknownError, whose hint lists those that are there.
        """
        given = None if input is None else bytes_of(input)
        request = self._request([], env, cwd, timeout, cpu, output_bytes, kill_rest, task, key, given)
        del request["argv"]
        return self._run("code.run", {**request, "language": language, "code": code}, given, check, on_stdout, on_stderr, keep_bytes)

    def stream(self, command: Command, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
               timeout: Optional[float] = None, cpu: Optional[float] = None, stdin: bool = False, tty: bool = False, rows: Optional[int] = None,
               columns: Optional[int] = None, lossless: bool = True, output_bytes: Optional[int] = None, kill_rest: Optional[bool] = None,
               task: Optional[str] = None, key: Optional[str] = None) -> "Stream":
        """Starts a command in the foreground; iterating gives its output as it comes.

        It is killed when the stream is closed. While its output is not read it waits; with lossless=False it loses output instead.
        `stdin` keeps its standard input open for write(). `tty` gives it a terminal.
        """
        given = None if input is None else bytes_of(input)
        if given is not None and len(given) > INPUT_AT_ONCE:
            raise InvalidArgumentError(f"input has {len(given)} bytes; stream() takes {INPUT_AT_ONCE}", path="input", hint="Use stdin=True and write(), or run().")
        request = self._request(command, env, cwd, timeout, cpu, output_bytes, kill_rest, task, key, given)
        if stdin:
            request["stdin"] = True
        return self._open_stream({**request, **terminal(tty, rows, columns), "lossless": lossless})

    def start(self, command: Command, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
              timeout: Optional[float] = None, cpu: Optional[float] = None, stdin: bool = False, tty: bool = False, rows: Optional[int] = None,
              columns: Optional[int] = None, keep_bytes: Optional[int] = None, output_bytes: Optional[int] = None, wait_ports: bool = False,
              wait_timeout: Optional[float] = None, kill_rest: Optional[bool] = None, task: Optional[str] = None, key: Optional[str] = None) -> "Process":
        """Starts a command in the background: it outlives this program.

        The sandbox keeps the newest `keep_bytes` of its output. With `wait_ports` it returns when a declared port listens, as
        Process.wait_port() does: a command that ends before that raises CommandFailedError, and after `wait_timeout` seconds TimeoutError
        is raised, and the command goes on.
        """
        given = None if input is None else bytes_of(input)
        if given is not None and len(given) > INPUT_AT_ONCE:
            raise InvalidArgumentError(f"input has {len(given)} bytes; start() takes {INPUT_AT_ONCE}", path="input", hint="Use stdin=True and write().")
        request = self._request(command, env, cwd, timeout, cpu, output_bytes, kill_rest, task, key, given)
        if stdin:
            request["stdin"] = True
        answer = self._transport.open("exec.start", {**request, **terminal(tty, rows, columns), "background": True, "keep_bytes": keep_bytes,
                                                     "wait_ports": wait_ports or None, "wait_ports_ms": milliseconds(wait_timeout)}).read()
        info = ExecInfo.read(json.loads(answer))
        process = Process(self._transport, self.id, info.exec)
        if wait_ports:
            process._port_of(info, wait_timeout)
        return process

    def processes(self) -> List[ExecInfo]:
        """Its commands, running and ended, as far as they are kept."""
        return [ExecInfo.read(item) for item in self._transport.call("exec.list", id=self.id).get("items", ())]

    def process(self, exec: int) -> "Process":
        """The command of this number. Raises ExecNotFoundError."""
        process = Process(self._transport, self.id, exec)
        process.info()
        return process

    # -- parts

    def _take(self, operation: str, **params: Any) -> SandboxInfo:
        self._info = SandboxInfo.read(self._transport.call(operation, id=self.id, **params))
        return self._info

    def _request(self, command: Command, env: Optional[Mapping[str, str]], cwd: Optional[Path], timeout: Optional[float], cpu: Optional[float],
                 output_bytes: Optional[int], kill_rest: Optional[bool], task: Optional[str], key: Optional[str], given: Optional[bytes]) -> Dict[str, Any]:
        request: Dict[str, Any] = {"id": self.id, "cwd": None if cwd is None else os.fspath(cwd), "env": None if env is None else dict(env), "timeout_ms": milliseconds(timeout),
                                   "cpu_ms": milliseconds(cpu), "output_bytes": output_bytes, "kill_rest": kill_rest, "task": task, "key": key}
        if isinstance(command, str):
            request["command"] = command
        else:
            request["argv"] = [os.fspath(word) for word in command]
        if given and len(given) <= INPUT_AT_ONCE:
            request.update(input=base64.b64encode(given).decode(), encoding="base64")
        return request

    def _run(self, operation: str, request: Dict[str, Any], given: Optional[bytes], check: bool, on_stdout: Optional[Callable[[bytes], Any]],
             on_stderr: Optional[Callable[[bytes], Any]], keep_bytes: Optional[int]) -> Result:
        is_long = given is not None and len(given) > INPUT_AT_ONCE
        with self._open_stream({**request, "lossless": True, **({"stdin": True} if is_long else {})}, operation) as stream:
            if given is not None and is_long:
                stream.process._feed(given)
            result = stream._collect(keep_bytes, None, {"stdout": on_stdout, "stderr": on_stderr})
        return result.check() if check else result

    def _open_stream(self, request: Dict[str, Any], operation: str = "exec.start") -> "Stream":
        return Stream(self._transport, self.id, open_events(self._transport, operation, request))


def terminal(tty: bool, rows: Optional[int], columns: Optional[int]) -> Dict[str, Any]:
    return {"tty": True, "rows": rows, "columns": columns} if tty else {}


def open_events(transport: Transport, operation: str, params: Mapping[str, Any]) -> EventReader:
    """Output as events, with bytes as they were written."""
    return transport.events(operation, **{**params, "encoding": "base64"})


class Pieces(Generic[T]):
    """What comes over one connection, piece by piece. Leaving `with` closes it."""

    def __init__(self, reader: Union[EventReader, Response]) -> None:
        self._source = reader
        self._pending: Deque[T] = deque()

    def __iter__(self: "P") -> "P":
        return self

    def __next__(self) -> T:
        if not self._pending:
            self._pending.extend(self._more())
        if not self._pending:
            self.close()
            raise StopIteration
        return self._pending.popleft()

    def __enter__(self: "P") -> "P":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._source.close()

    def _batch(self) -> List[T]:
        """All that is there, at least one; [] at the end."""
        if not self._pending:
            self._pending.extend(self._more())
        batch = list(self._pending)
        self._pending.clear()
        if not batch:
            self.close()
        return batch

    def _more(self) -> List[T]:
        raise NotImplementedError


P = TypeVar("P", bound=Pieces)  # type: ignore[type-arg]


class Process:
    """A command of a sandbox, by its number."""

    def __init__(self, transport: Transport, id: str, exec: int) -> None:
        self._transport, self._id, self._exec = transport, id, exec

    def __repr__(self) -> str:
        return f"Process({self._exec} in {self._id})"

    @property
    def exec(self) -> int:
        """Its number in the sandbox."""
        return self._exec

    def info(self) -> ExecInfo:
        """What it runs, and whether it ended."""
        return ExecInfo.read(self._transport.call("exec.get", id=self._id, exec=self._exec))

    def attach(self, *, stdout_offset: int = 0, stderr_offset: int = 0, lossless: bool = False) -> "Stream":
        """Its output from these bytes on, to its end. Closing the stream leaves it running. With `lossless` it waits for this reader."""
        params = {"id": self._id, "exec": self._exec, "stdout_offset": stdout_offset, "stderr_offset": stderr_offset, "lossless": lossless}
        return Stream(self._transport, self._id, open_events(self._transport, "exec.attach", params))

    def wait(self, timeout: Optional[float] = None, *, keep_bytes: Optional[int] = KEEP_BYTES) -> Result:
        """Waits for its end; the result holds the output that is still kept. Raises TimeoutError after `timeout` seconds."""
        with self.attach(lossless=True) as stream:
            return stream.wait(timeout, keep_bytes=keep_bytes)

    def wait_port(self, timeout: Optional[float] = None) -> int:
        """Waits until a declared port listens that did not when the command began, and gives it.

        Raises CommandFailedError where the command ends before that, TimeoutError after `timeout` seconds.
        """
        params = {"id": self._id, "exec": self._exec, "wait_ports": True, "wait_ports_ms": milliseconds(timeout)}
        return self._port_of(ExecInfo.read(json.loads(self._transport.open("exec.get", params).read())), timeout)

    def write(self, data: Data, *, end: bool = False) -> None:
        """Writes to its standard input, and waits until it took all; `end` closes it."""
        left = memoryview(bytes_of(data))
        while len(left) > INPUT_PIECE:
            self._transport.call("exec.stdin", bytes(left[:INPUT_PIECE]), id=self._id, exec=self._exec)
            left = left[INPUT_PIECE:]
        self._transport.call("exec.stdin", bytes(left), id=self._id, exec=self._exec, end=end or None)

    def close_input(self) -> None:
        """Closes its standard input."""
        self.write(b"", end=True)

    def signal(self, number: int) -> None:
        """Sends a signal to its process group."""
        self._transport.call("exec.signal", id=self._id, exec=self._exec, signal=int(number))

    def kill(self) -> bool:
        """Kills all its processes. Did it still run?"""
        return bool(self._transport.call("exec.kill", id=self._id, exec=self._exec)["existed"])

    def resize(self, rows: int, columns: int) -> None:
        """Gives its terminal another size."""
        self._transport.call("exec.resize", id=self._id, exec=self._exec, rows=rows, columns=columns)

    def _port_of(self, info: ExecInfo, timeout: Optional[float]) -> int:
        if info.port is not None:
            return info.port
        if info.state == "ended":
            raise CommandFailedError(self.wait())
        raise TimeoutError(f"no declared port listened in {timeout} s; command {self._exec} goes on")

    def _feed(self, data: bytes) -> None:
        """Writes input beside the reading of output. A command that ends without reading all of it is no mistake."""
        def feed() -> None:
            try:
                self.write(data, end=True)
            except CarrelError:
                pass

        threading.Thread(target=feed, name="carrel-input", daemon=True).start()


class Stream(Pieces[Output]):
    """The output of a command as it comes; `result` is there when it has ended."""

    def __init__(self, transport: Transport, id: str, events: EventReader) -> None:
        super().__init__(events)
        self._events = events
        self._result: Optional[Result] = None
        self._end: Optional[ExecInfo] = None
        self._offsets = {"stdout": 0, "stderr": 0}
        self._read = Kept(0)
        try:
            exec = self._first()
        except BaseException:
            self.close()
            raise
        self._process = Process(transport, id, exec)

    def __repr__(self) -> str:
        return f"Stream({self._process!r})"

    @property
    def process(self) -> Process:
        """The command: write(), signal(), kill()."""
        return self._process

    @property
    def result(self) -> Optional[Result]:
        """How it ended, without output (`stdout_lost`: what this stream did not get); None while it runs."""
        return self._result

    @property
    def stdout_offset(self) -> int:
        """Where standard output goes on: attach() takes it."""
        return self._offsets["stdout"]

    @property
    def stderr_offset(self) -> int:
        """Where standard error goes on."""
        return self._offsets["stderr"]

    def wait(self, timeout: Optional[float] = None, *, keep_bytes: Optional[int] = KEEP_BYTES) -> Result:
        """Reads the rest to the end; the result holds it. Raises TimeoutError after `timeout` seconds; what it read by then is gone."""
        return self._collect(keep_bytes, timeout, {})

    def lines(self) -> "Lines":
        """Iterates over lines of text instead: ("stdout", "a line")."""
        return Lines(self)

    def _first(self) -> int:
        """The number of the command: an exec that is met again has begun, too."""
        while True:
            for event, data in self._events.read() or [("error", {"message": "the daemon's stream had no beginning"})]:
                if event == "started":
                    exec = int(data["exec"])
                else:
                    self._pending.extend(self._take(event, data))
            return exec

    def _more(self, timeout: Optional[float] = None) -> List[Output]:
        while self._end is None:
            pieces: List[Output] = []
            events = self._events.read(timeout)
            for event, data in events:
                pieces += self._take(event, data)
            if pieces or timeout is not None:
                return pieces
            if not events and self._end is None:
                raise ConnectionLostError("the output ended before the command did", operation="exec.attach",
                                          hint=f"attach(stdout_offset={self.stdout_offset}, stderr_offset={self.stderr_offset}) goes on where it stopped.")
        return []

    def _take(self, event: str, data: Dict[str, Any]) -> List[Output]:
        if event in self._offsets:
            piece = Output(event, base64.b64decode(data["data"]), int(data["offset"]))
            self._offsets[event] = piece.offset + len(piece.data)
            self._read.pass_by(piece)
            return [piece]
        if event == "end":
            self._end = ExecInfo.read(data)
            self._result = result_of(self._end, self._read)
        elif event == "error":
            raise error_of(data.get("error") or data, "exec.start")
        return []

    def _collect(self, keep_bytes: Optional[int], timeout: Optional[float], callbacks: Mapping[str, Optional[Callable[[bytes], Any]]]) -> Result:
        kept = Kept(keep_bytes)
        end_at = None if timeout is None else time.monotonic() + timeout
        while True:
            while self._pending:
                piece = self._pending.popleft()
                kept.add(piece)
                callback = callbacks.get(piece.stream)
                if callback is not None:
                    callback(piece.data)
            if self._end is not None:
                return result_of(self._end, kept)
            left = None if end_at is None else end_at - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"the command did not end in {timeout} s; it goes on")
            try:
                self._pending.extend(self._more(left))
            except TimeoutError as e:                      # its time is over, which the next turn says; or the daemon is silent
                if isinstance(e, CarrelError):
                    raise


class Lines(Pieces[Tuple[str, str]]):
    """Lines of text out of a stream: ("stdout", "a line"), without the line's end."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream._events)
        self._stream, self._cutter = stream, LineCutter()
        self._has_ended = False

    def _more(self) -> List[Tuple[str, str]]:
        while not self._has_ended:
            pieces = self._stream._batch()
            lines = [line for piece in pieces for line in self._cutter.add(piece)]
            if not pieces:
                self._has_ended = True
                lines = self._cutter.end()
            if lines:
                return lines
        return []


class Events(Pieces[Event]):
    """What happens, as it happens. "overflow" is the last event of a reader who was too slow: list what there is, and watch again."""

    def __init__(self, events: EventReader) -> None:
        super().__init__(events)
        self._events = events

    def _more(self) -> List[Event]:
        return [Event.read({"event": name, **data}) for name, data in self._events.read()]


class Chunks(Pieces[bytes]):
    """The bytes of a file, as they come."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self._response = response

    def _more(self) -> List[bytes]:
        got = self._response.read_some()
        return [got] if got else []


class Files:
    """The files of a sandbox. Paths are of the sandbox; a relative one begins at its working directory."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport, self._id = transport, id

    def __repr__(self) -> str:
        return f"Files({self._id})"

    def read(self, path: Path, *, offset: Optional[int] = None, length: Optional[int] = None) -> bytes:
        """The bytes of a file, or `length` of them from `offset` on. Raises FileNotFoundError."""
        return self._transport.open("file.read", {"id": self._id, "path": path, "offset": offset, "length": length}, accept="*/*", timeout=self._transport.timeout).read()

    def read_text(self, path: Path, *, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The file as text."""
        return self.read(path).decode(encoding, errors)

    def chunks(self, path: Path, *, offset: Optional[int] = None, length: Optional[int] = None) -> "Chunks":
        """Iterates over the bytes of a file of any size."""
        return Chunks(self._transport.open("file.read", {"id": self._id, "path": path, "offset": offset, "length": length}, accept="*/*"))

    def write(self, path: Path, data: Data, *, mode: Optional[int] = None, key: Optional[str] = None) -> None:
        """Writes a file, whole or not at all. `mode`: permission bits, 0o644."""
        self._transport.call("file.put", bytes_of(data), id=self._id, path=path, mode=octal(mode), key=key)

    def write_many(self, files: Mapping[str, Data], *, mode: Optional[int] = None, key: Optional[str] = None) -> None:
        """Writes up to 1023 files of 1 MiB together: none is put in place before all were received. Larger ones: write() or upload()."""
        entries: List[Dict[str, Any]] = [{"path": path, "content": base64.b64encode(bytes_of(data)).decode(), "encoding": "base64", **({"mode": mode} if mode is not None else {})}
                   for path, data in files.items()]
        size = len(json.dumps(entries))
        if size > BATCH_BYTES - 1024 or len(entries) > BATCH_FILES:
            raise CODES["request_too_large"](f"{len(entries)} files make {size} bytes; one batch takes {BATCH_FILES} files and {BATCH_BYTES} bytes as base64", path="files",
                                             hint="Write large files with write() or upload(), which take any size.")
        if entries:
            self._transport.call("file.write", id=self._id, files=entries, key=key)

    def upload(self, local: Path, path: Path, *, mode: Optional[int] = None, key: Optional[str] = None) -> int:
        """Copies a file of this machine into the sandbox, whatever its size. Gives its bytes."""
        with open(local, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            self._transport.call("file.put", f, id=self._id, path=path, mode=octal(mode), key=key)
            return size

    def download(self, path: Path, local: Path) -> int:
        """Copies a file of the sandbox to this machine, whole or not at all. Gives its bytes."""
        size = 0
        target = os.path.abspath(local)
        with self.chunks(path) as chunks:
            fd, part = tempfile.mkstemp(prefix=".carrel-", dir=os.path.dirname(target))
            try:
                with open(fd, "wb") as out:
                    for chunk in chunks:
                        size += out.write(chunk)
                os.chmod(part, 0o666 & ~current_umask())
                os.replace(part, target)
            except BaseException:
                os.unlink(part)
                raise
        return size

    def list(self, path: Path = ".", *, depth: Optional[int] = None) -> List[FileEntry]:
        """What is in a directory, `depth` levels down (1 to 16); all of it, however much that is."""
        answer = self._transport.call("file.list", id=self._id, path=path, depth=depth)
        if not answer.get("truncated"):
            return [FileEntry.read(item) for item in answer.get("items", ())]
        found: List[FileEntry] = []
        cursor: Optional[str] = None
        while True:
            part, cursor = self.list_part(path, depth=depth, limit=1000, cursor=cursor)
            found += part
            if cursor is None:
                return found

    def list_part(self, path: Path = ".", *, depth: Optional[int] = None, limit: int = 1000, cursor: Optional[str] = None) -> Tuple[List[FileEntry], Optional[str]]:
        """`limit` entries (1 to 1000) in the order of names, and the cursor of the next part: None in the last one.

        What is there all the while is listed once, whatever else comes and goes.
        """
        answer = self._transport.call("file.list", id=self._id, path=path, depth=depth, limit=limit, cursor=cursor)
        return [FileEntry.read(item) for item in answer.get("items", ())], answer.get("next_cursor")

    def stat(self, path: Path) -> FileEntry:
        """What a path is; links are not followed. Raises FileNotFoundError."""
        return FileEntry.read(self._transport.call("file.stat", id=self._id, path=path))

    def exists(self, path: Path) -> bool:
        """Is there anything at this path?"""
        try:
            self.stat(path)
        except NotFoundError as e:
            if e.code != "file_not_found":
                raise
            return False
        return True

    def mkdir(self, path: Path, *, mode: Optional[int] = None, parents: bool = False) -> None:
        """Makes a directory; with `parents` those above it too, and one that exists is no error."""
        self._transport.call("file.mkdir", id=self._id, path=os.fspath(path), mode=mode, recursive=parents or None)

    def move(self, path: Path, to: Path) -> None:
        """Renames a file or directory."""
        self._transport.call("file.move", id=self._id, path=os.fspath(path), target=os.fspath(to))

    def remove(self, path: Path, *, recursive: bool = False) -> bool:
        """Removes a file or directory. Was there one?"""
        return bool(self._transport.call("file.remove", id=self._id, path=path, recursive=recursive or None)["existed"])


def octal(mode: Optional[int]) -> Optional[str]:
    return None if mode is None else f"0{mode:o}"


def current_umask() -> int:
    """The umask of this process, without changing it for other threads."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as f:
        return next((int(line.split()[1], 8) for line in f if line.startswith("Umask:")), 0o077)
