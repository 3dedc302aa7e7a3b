"""The client for asyncio: the methods of _client.py, each awaited while a thread does it.

Printed by `tools/python-client asyncio`; `./dev docs` writes it. Do not edit.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union
from ._operations import Approval, DaemonInfo, Denial, ExecInfo, FileEntry, LeftBehind, Limits, PortUrl, SandboxInfo, Token, Usage, Volume
from ._process import KEEP_BYTES, CommandFailedError, Result
from ._client import Command, Data, Path
from ._thread import (
    AsyncApprovalsBase,
    AsyncCarrelBase,
    AsyncChunksBase,
    AsyncEventsBase,
    AsyncFilesBase,
    AsyncLinesBase,
    AsyncProcessBase,
    AsyncSandboxBase,
    AsyncStreamBase,
    AsyncTokensBase,
    AsyncVolumesBase,
    Opening,
    in_thread,
)


class AsyncCarrel(AsyncCarrelBase):
    """A daemon: `carrel serve`.

    `address` is "unix:/path/to/carrel.sock" or "http://127.0.0.1:PORT"; `state` is the daemon's state directory. Without either,
    CARREL_URL, then CARREL_STATE, then the state directory of this user's daemon. `token` is for TCP (CARREL_TOKEN). `timeout` is how
    many seconds a call that runs no command may wait for its answer (no limit).

    It holds no connection: threads may share it, and a child after fork() may go on with it.
    """

    @property
    def address(self) -> str:
        """Where the daemon is."""
        return self._sync.address

    async def info(self) -> DaemonInfo:
        """The daemon's version and the templates of this host."""
        return await in_thread(self._sync.info)

    def create(self, *, name: Optional[str] = None, workspace: Optional[Path] = None, manifest: Union[Mapping[str, Any], str, None] = None,
               manifest_file: Optional[Path] = None, runtime: Optional[str] = None, timeout: Optional[float] = None, delete_after: Optional[float] = None,
               env: Optional[Mapping[str, str]] = None, ports: Optional[Sequence[int]] = None, metadata: Any = None, start: Optional[bool] = None,
               key: Optional[str] = None, risk: Optional[str] = None) -> Opening["AsyncSandbox"]:
        """Creates a sandbox; `with` stops it at the end.

        `manifest` is the sandbox block as a dict, or the text of a SANDBOX.md; `manifest_file` is its path. Without either, the
        SANDBOX.md or WORKSPACE.md of `workspace` is used, or the standard sandbox: no network, no mounts, a private home.
        `timeout` is the sandbox's own time in seconds. `start` starts it at once (at its first use). `key`: repeating the call with the
        same key gives the same sandbox. `risk` of the work ("low", "medium", "high"): DocumentDeniedError if the isolation tier is too low for it.
        """
        return Opening(AsyncSandbox, self._sync.create,
            name=name, workspace=workspace, manifest=manifest, manifest_file=manifest_file, runtime=runtime,
            timeout=timeout, delete_after=delete_after, env=env, ports=ports, metadata=metadata, start=start, key=key,
            risk=risk)

    def claim(self, *, name: Optional[str] = None, workspace: Optional[Path] = None, manifest: Union[Mapping[str, Any], str, None] = None,
              manifest_file: Optional[Path] = None, runtime: Optional[str] = None, timeout: Optional[float] = None, delete_after: Optional[float] = None,
              env: Optional[Mapping[str, str]] = None, ports: Optional[Sequence[int]] = None, metadata: Any = None, key: Optional[str] = None,
              risk: Optional[str] = None) -> Opening["AsyncSandbox"]:
        """As create(), out of the daemon's pool of sandboxes that are ready."""
        return Opening(AsyncSandbox, self._sync.claim,
            name=name, workspace=workspace, manifest=manifest, manifest_file=manifest_file, runtime=runtime,
            timeout=timeout, delete_after=delete_after, env=env, ports=ports, metadata=metadata, key=key, risk=risk)

    def get(self, id: str) -> Opening["AsyncSandbox"]:
        """The sandbox of this id or name. Raises SandboxNotFoundError."""
        return Opening(AsyncSandbox, self._sync.get, id)

    async def list(self) -> List["AsyncSandbox"]:
        """This owner's sandboxes, oldest first."""
        return [AsyncSandbox(item) for item in await in_thread(self._sync.list)]

    def events(self, id: Optional[str] = None, *, last_event_id: Optional[str] = None) -> Opening["AsyncEvents"]:
        """What happens from now on, in one sandbox or in all of this owner's; or behind an event that was read before (its `event_id`).

        If what followed that event is no longer kept, the first event is "missed": list what there is.
        """
        return Opening(AsyncEvents, self._sync.events, id, last_event_id=last_event_id)

    async def usage(self) -> List[Usage]:
        """What this owner's sandboxes have used, also those that ended. The one without an id is the sum."""
        return await in_thread(self._sync.usage)

    @property
    def tokens(self) -> "AsyncTokens":
        """Tokens for clients that come over TCP."""
        return AsyncTokens(self._sync.tokens)

    @property
    def volumes(self) -> "AsyncVolumes":
        """Directories of this owner that outlive sandboxes."""
        return AsyncVolumes(self._sync.volumes)

    @property
    def approvals(self) -> "AsyncApprovals":
        """Requests that wait until a person approves them."""
        return AsyncApprovals(self._sync.approvals)


class AsyncTokens(AsyncTokensBase):
    """Tokens of the daemon; for its own user."""

    async def create(self, *, owner: Optional[str] = None, scope: Optional[str] = None) -> Token:
        """A new token. `scope` "read" may only get and list; "approve" may also answer requests for approval. Its value is shown this once."""
        return await in_thread(self._sync.create, owner=owner, scope=scope)

    async def list(self) -> List[Token]:
        """The tokens, without their values."""
        return await in_thread(self._sync.list)

    async def revoke(self, id: str) -> bool:
        """Revokes it. Was there one?"""
        return await in_thread(self._sync.revoke, id)


class AsyncVolumes(AsyncVolumesBase):
    """Volumes of this owner. A sandbox that names a missing volume creates it."""

    async def create(self, name: str) -> Volume:
        """Creates a volume; an existing one is not changed."""
        return await in_thread(self._sync.create, name)

    async def list(self) -> List[Volume]:
        """The volumes, with their sizes."""
        return await in_thread(self._sync.list)

    async def remove(self, name: str) -> bool:
        """Removes a volume with its content. Was there one? VolumeInUseError while a sandbox uses it."""
        return await in_thread(self._sync.remove, name)


class AsyncApprovals(AsyncApprovalsBase):
    """Requests for approval of this owner's sandboxes."""

    async def list(self) -> List[Approval]:
        """Those that wait, and those that were answered lately, oldest first."""
        return await in_thread(self._sync.list)

    async def get(self, id: str) -> Approval:
        """One of them, with everything that the answer binds."""
        return await in_thread(self._sync.get, id)

    async def approve(self, id: str) -> Approval:
        """Approves it, once. For users of this machine, and tokens of scope "approve"."""
        return await in_thread(self._sync.approve, id)

    async def deny(self, id: str, *, reason: Optional[str] = None) -> Approval:
        """Denies it; who asked gets the reason."""
        return await in_thread(self._sync.deny, id, reason=reason)


class AsyncSandbox(AsyncSandboxBase):
    """A sandbox of a daemon. Leaving `with` stops it."""

    @property
    def id(self) -> str:
        """Its identifier."""
        return self._sync.id

    @property
    def name(self) -> Optional[str]:
        """Its name, if it has one."""
        return self._sync.name

    @property
    def info(self) -> SandboxInfo:
        """What the daemon last said of it; refresh() asks again."""
        return self._sync.info

    @property
    def files(self) -> "AsyncFiles":
        """Its files."""
        return AsyncFiles(self._sync.files)

    async def refresh(self) -> SandboxInfo:
        """Asks the daemon for its state."""
        return await in_thread(self._sync.refresh)

    async def stop(self) -> bool:
        """Stops and deletes it, with every process and everything that was only in it. Was there one?"""
        return await in_thread(self._sync.stop)

    async def delete(self) -> bool:
        """The same as stop()."""
        return await in_thread(self._sync.delete)

    async def pause(self) -> SandboxInfo:
        """Freezes every process; its time goes on."""
        return await in_thread(self._sync.pause)

    async def resume(self) -> SandboxInfo:
        """Lets a paused sandbox go on."""
        return await in_thread(self._sync.resume)

    async def extend(self, seconds: float, *, key: Optional[str] = None) -> SandboxInfo:
        """Adds to the time it has left."""
        return await in_thread(self._sync.extend, seconds, key=key)

    async def notify(self, event: str) -> SandboxInfo:
        """Says that something happened ("workspace-close"): its lifecycle decides what follows."""
        return await in_thread(self._sync.notify, event)

    async def instructions(self) -> str:
        """What a model should know about this sandbox, in words."""
        return await in_thread(self._sync.instructions)

    def events(self, *, last_event_id: Optional[str] = None) -> Opening["AsyncEvents"]:
        """What happens in it from now on, or behind an event that was read before (its `event_id`)."""
        return Opening(AsyncEvents, self._sync.events, last_event_id=last_event_id)

    async def begin_task(self, task: str, timeout: float) -> None:
        """Begins a task: what runs for it (`task=`) is killed after `timeout` seconds, or when it ends."""
        await in_thread(self._sync.begin_task, task, timeout)

    async def end_task(self, task: str) -> bool:
        """Ends a task and kills what still runs for it. Was there one?"""
        return await in_thread(self._sync.end_task, task)

    async def url(self, port: int) -> PortUrl:
        """URLs with a token that reach a declared port: `url` for programs, `browser_url` for pages in a browser."""
        return await in_thread(self._sync.url, port)

    async def urls(self) -> Dict[int, PortUrl]:
        """The URLs of every declared port."""
        return await in_thread(self._sync.urls)

    async def set_network(self, egress: Sequence[str]) -> SandboxInfo:
        """Gives it another network.egress, whole or not at all; connections that it no longer allows are closed."""
        return await in_thread(self._sync.set_network, egress)

    async def limits(self) -> Limits:
        """Its limits, and what is used of them now. A figure that the daemon's machine does not measure is None."""
        return await in_thread(self._sync.limits)

    async def set_limits(self, **limits: int) -> Limits:
        """Changes the limits that are named, by their names in a manifest: all of them, or none. Nothing is killed: memory that is in use is LimitInUseError."""
        return await in_thread(self._sync.set_limits, **limits)

    async def take_left_behind(self) -> List[LeftBehind]:
        """What commands made or changed in the workspace, since the last such call, that programs of the host act on. info.left_behind lists all of it."""
        return await in_thread(self._sync.take_left_behind)

    async def usage(self) -> Usage:
        """What it has used since it started. A figure that the daemon's machine does not measure is None."""
        return await in_thread(self._sync.usage)

    async def denials(self) -> List[Denial]:
        """What its commands asked of the network and were refused, oldest first, with what to do; the last 64."""
        return await in_thread(self._sync.denials)

    async def run(self, command: Command, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
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
        return await in_thread(self._sync.run,
            command, input=input, env=env, cwd=cwd, timeout=timeout, cpu=cpu, check=check, on_stdout=on_stdout,
            on_stderr=on_stderr, keep_bytes=keep_bytes, output_bytes=output_bytes, kill_rest=kill_rest, task=task,
            key=key)

    async def run_code(self, language: str, code: str, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
                 timeout: Optional[float] = None, cpu: Optional[float] = None, check: bool = False, on_stdout: Optional[Callable[[bytes], Any]] = None,
                 on_stderr: Optional[Callable[[bytes], Any]] = None, keep_bytes: Optional[int] = KEEP_BYTES, output_bytes: Optional[int] = None,
                 kill_rest: Optional[bool] = None, task: Optional[str] = None, key: Optional[str] = None) -> Result:
        """Runs code with the interpreter of the sandbox and waits for its end; otherwise like run().

        `language` is python, javascript, typescript, shell, bash, ruby, perl, ... Code has at most 131,070 bytes and no NUL. A language
        without an interpreter inside raises RuntimeUnknownError, whose hint lists those that are there.
        """
        return await in_thread(self._sync.run_code,
            language, code, input=input, env=env, cwd=cwd, timeout=timeout, cpu=cpu, check=check, on_stdout=on_stdout,
            on_stderr=on_stderr, keep_bytes=keep_bytes, output_bytes=output_bytes, kill_rest=kill_rest, task=task,
            key=key)

    def stream(self, command: Command, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
               timeout: Optional[float] = None, cpu: Optional[float] = None, stdin: bool = False, tty: bool = False, rows: Optional[int] = None,
               columns: Optional[int] = None, lossless: bool = True, output_bytes: Optional[int] = None, kill_rest: Optional[bool] = None,
               task: Optional[str] = None, key: Optional[str] = None) -> Opening["AsyncStream"]:
        """Starts a command in the foreground; iterating gives its output as it comes.

        It is killed when the stream is closed. While its output is not read it waits; with lossless=False it loses output instead.
        `stdin` keeps its standard input open for write(). `tty` gives it a terminal.
        """
        return Opening(AsyncStream, self._sync.stream,
            command, input=input, env=env, cwd=cwd, timeout=timeout, cpu=cpu, stdin=stdin, tty=tty, rows=rows,
            columns=columns, lossless=lossless, output_bytes=output_bytes, kill_rest=kill_rest, task=task, key=key)

    async def start(self, command: Command, *, input: Optional[Data] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[Path] = None,
              timeout: Optional[float] = None, cpu: Optional[float] = None, stdin: bool = False, tty: bool = False, rows: Optional[int] = None,
              columns: Optional[int] = None, keep_bytes: Optional[int] = None, output_bytes: Optional[int] = None, wait_ports: bool = False,
              wait_timeout: Optional[float] = None, kill_rest: Optional[bool] = None, task: Optional[str] = None, key: Optional[str] = None) -> "AsyncProcess":
        """Starts a command in the background: it outlives this program.

        The sandbox keeps the newest `keep_bytes` of its output. With `wait_ports` it returns when a declared port listens, as
        Process.wait_port() does: a command that ends before that raises CommandFailedError, and after `wait_timeout` seconds TimeoutError
        is raised, and the command goes on.
        """
        return AsyncProcess(await in_thread(self._sync.start,
            command, input=input, env=env, cwd=cwd, timeout=timeout, cpu=cpu, stdin=stdin, tty=tty, rows=rows,
            columns=columns, keep_bytes=keep_bytes, output_bytes=output_bytes, wait_ports=wait_ports,
            wait_timeout=wait_timeout, kill_rest=kill_rest, task=task, key=key))

    async def processes(self) -> List[ExecInfo]:
        """Its commands, running and ended, as far as they are kept."""
        return await in_thread(self._sync.processes)

    async def process(self, exec: int) -> "AsyncProcess":
        """The command of this number. Raises ExecNotFoundError."""
        return AsyncProcess(await in_thread(self._sync.process, exec))


class AsyncProcess(AsyncProcessBase):
    """A command of a sandbox, by its number."""

    @property
    def exec(self) -> int:
        """Its number in the sandbox."""
        return self._sync.exec

    async def info(self) -> ExecInfo:
        """What it runs, and whether it ended."""
        return await in_thread(self._sync.info)

    def attach(self, *, stdout_offset: int = 0, stderr_offset: int = 0, lossless: bool = False) -> Opening["AsyncStream"]:
        """Its output from these bytes on, to its end. Closing the stream leaves it running. With `lossless` it waits for this reader."""
        return Opening(AsyncStream, self._sync.attach,
            stdout_offset=stdout_offset, stderr_offset=stderr_offset, lossless=lossless)

    async def wait(self, timeout: Optional[float] = None, *, keep_bytes: Optional[int] = KEEP_BYTES) -> Result:
        """Waits for its end; the result holds the output that is still kept. Raises TimeoutError after `timeout` seconds."""
        return await in_thread(self._sync.wait, timeout, keep_bytes=keep_bytes)

    async def wait_port(self, timeout: Optional[float] = None) -> int:
        """Waits until a declared port listens that did not when the command began, and gives it.

        Raises CommandFailedError where the command ends before that, TimeoutError after `timeout` seconds.
        """
        return await in_thread(self._sync.wait_port, timeout)

    async def write(self, data: Data, *, end: bool = False) -> None:
        """Writes to its standard input, and waits until it took all; `end` closes it."""
        await in_thread(self._sync.write, data, end=end)

    async def close_input(self) -> None:
        """Closes its standard input."""
        await in_thread(self._sync.close_input)

    async def signal(self, number: int) -> None:
        """Sends a signal to its process group."""
        await in_thread(self._sync.signal, number)

    async def kill(self) -> bool:
        """Kills all its processes. Did it still run?"""
        return await in_thread(self._sync.kill)

    async def resize(self, rows: int, columns: int) -> None:
        """Gives its terminal another size."""
        await in_thread(self._sync.resize, rows, columns)


class AsyncStream(AsyncStreamBase):
    """The output of a command as it comes; `result` is there when it has ended."""

    @property
    def process(self) -> AsyncProcess:
        """The command: write(), signal(), kill()."""
        return AsyncProcess(self._sync.process)

    @property
    def result(self) -> Optional[Result]:
        """How it ended, without output (`stdout_lost`: what this stream did not get); None while it runs."""
        return self._sync.result

    @property
    def stdout_offset(self) -> int:
        """Where standard output goes on: attach() takes it."""
        return self._sync.stdout_offset

    @property
    def stderr_offset(self) -> int:
        """Where standard error goes on."""
        return self._sync.stderr_offset

    async def wait(self, timeout: Optional[float] = None, *, keep_bytes: Optional[int] = KEEP_BYTES) -> Result:
        """Reads the rest to the end; the result holds it. Raises TimeoutError after `timeout` seconds; what it read by then is gone."""
        return await in_thread(self._sync.wait, timeout, keep_bytes=keep_bytes)

    def lines(self) -> "AsyncLines":
        """Iterates over lines of text instead: ("stdout", "a line")."""
        return AsyncLines(self._sync.lines())


class AsyncLines(AsyncLinesBase):
    """Lines of text out of a stream: ("stdout", "a line"), without the line's end."""


class AsyncEvents(AsyncEventsBase):
    """What happens, as it happens. "overflow" is the last event of a reader who was too slow: list what there is, and watch again."""


class AsyncChunks(AsyncChunksBase):
    """The bytes of a file, as they come."""


class AsyncFiles(AsyncFilesBase):
    """The files of a sandbox. Paths are of the sandbox; a relative one begins at its working directory."""

    async def read(self, path: Path, *, offset: Optional[int] = None, length: Optional[int] = None) -> bytes:
        """The bytes of a file, or `length` of them from `offset` on. Raises FileNotFoundError."""
        return await in_thread(self._sync.read, path, offset=offset, length=length)

    async def read_text(self, path: Path, *, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The file as text."""
        return await in_thread(self._sync.read_text, path, encoding=encoding, errors=errors)

    def chunks(self, path: Path, *, offset: Optional[int] = None, length: Optional[int] = None) -> Opening["AsyncChunks"]:
        """Iterates over the bytes of a file of any size."""
        return Opening(AsyncChunks, self._sync.chunks, path, offset=offset, length=length)

    async def write(self, path: Path, data: Data, *, mode: Optional[int] = None, key: Optional[str] = None) -> None:
        """Writes a file, whole or not at all. `mode`: permission bits, 0o644."""
        await in_thread(self._sync.write, path, data, mode=mode, key=key)

    async def write_many(self, files: Mapping[str, Data], *, mode: Optional[int] = None, key: Optional[str] = None) -> None:
        """Writes up to 1023 files of 1 MiB together: none is put in place before all were received. Larger ones: write() or upload()."""
        await in_thread(self._sync.write_many, files, mode=mode, key=key)

    async def upload(self, local: Path, path: Path, *, mode: Optional[int] = None, key: Optional[str] = None) -> int:
        """Copies a file of this machine into the sandbox, whatever its size. Gives its bytes."""
        return await in_thread(self._sync.upload, local, path, mode=mode, key=key)

    async def download(self, path: Path, local: Path) -> int:
        """Copies a file of the sandbox to this machine, whole or not at all. Gives its bytes."""
        return await in_thread(self._sync.download, path, local)

    async def list(self, path: Path = ".", *, depth: Optional[int] = None) -> List[FileEntry]:
        """What is in a directory, `depth` levels down (1 to 16); all of it, however much that is."""
        return await in_thread(self._sync.list, path, depth=depth)

    async def list_part(self, path: Path = ".", *, depth: Optional[int] = None, limit: int = 1000, cursor: Optional[str] = None) -> Tuple[List[FileEntry], Optional[str]]:
        """`limit` entries (1 to 1000) in the order of names, and the cursor of the next part: None in the last one.

        What is there all the while is listed once, whatever else comes and goes.
        """
        return await in_thread(self._sync.list_part, path, depth=depth, limit=limit, cursor=cursor)

    async def stat(self, path: Path) -> FileEntry:
        """What a path is; links are not followed. Raises FileNotFoundError."""
        return await in_thread(self._sync.stat, path)

    async def exists(self, path: Path) -> bool:
        """Is there anything at this path?"""
        return await in_thread(self._sync.exists, path)

    async def mkdir(self, path: Path, *, mode: Optional[int] = None, parents: bool = False) -> None:
        """Makes a directory; with `parents` those above it too, and one that exists is no error."""
        await in_thread(self._sync.mkdir, path, mode=mode, parents=parents)

    async def move(self, path: Path, to: Path) -> None:
        """Renames a file or directory."""
        await in_thread(self._sync.move, path, to)

    async def remove(self, path: Path, *, recursive: bool = False) -> bool:
        """Removes a file or directory. Was there one?"""
        return await in_thread(self._sync.remove, path, recursive=recursive)
