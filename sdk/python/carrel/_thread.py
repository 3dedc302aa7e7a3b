"""Calls in threads: how the asyncio client waits, how it is cancelled, and what its classes have in common.

HTTP is read by http.client, which blocks. So each call that waits has a thread of its own until it ends; a cancelled task shuts the
thread's connection down, and the daemon then kills the foreground command that ran over it.
"""
import asyncio
import inspect
import socket
import threading
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Deque, Generator, Generic, List, Optional, Tuple, Type, TypeVar

if TYPE_CHECKING:
    from . import _client
    from ._operations import Event
    from ._process import Output

T = TypeVar("T")
C = TypeVar("C")
CALLBACKS = ("on_stdout", "on_stderr")
MAKERS = ("create", "claim")         # not interrupted: what they make has to be known, to be ended

_local = threading.local()


class Call:
    """The connections that one call uses: another thread can shut them down."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: List[socket.socket] = []
        self.is_cancelled = False

    def add(self, sock: socket.socket) -> None:
        """Notes a connection of this call."""
        with self._lock:
            self._sockets.append(sock)
            if self.is_cancelled:
                shut(sock)

    def cancel(self) -> None:
        """Shuts them all down: whoever reads or writes there gets an error."""
        with self._lock:
            self.is_cancelled = True
            for sock in self._sockets:
                shut(sock)


def shut(sock: socket.socket) -> None:
    """Ends a connection for everyone who holds it."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def note_socket(sock: socket.socket) -> None:
    """Notes a connection for the call that this thread makes, if it is one of an asyncio task."""
    call: Optional[Call] = getattr(_local, "call", None)
    if call is not None:
        call.add(sock)


def _on_loop(callback: Callable[[bytes], Any], loop: asyncio.AbstractEventLoop) -> Callable[[bytes], None]:
    """The callback of a task, called in its loop; the command's output waits until it returns."""
    async def call(data: bytes) -> None:
        result = callback(data)
        if inspect.isawaitable(result):
            await result

    return lambda data: asyncio.run_coroutine_threadsafe(call(data), loop).result()


async def in_thread(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """What function(*args, **kwargs) gives, done by a thread. Cancelling shuts its connections down and waits until it has ended."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[T]" = loop.create_future()
    call = Call()
    kwargs = {name: _on_loop(value, loop) if name in CALLBACKS and value is not None else value for name, value in kwargs.items()}

    def settle(value: Any, error: Optional[BaseException]) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value, error = None, None
        _local.call = call
        try:
            value = function(*args, **kwargs)
        except BaseException as e:
            error = e
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:                               # the loop has ended, and nobody waits
            pass

    threading.Thread(target=work, name="carrel", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if function.__name__ not in MAKERS:
            call.cancel()
        await asyncio.wait([future])
        end = None if future.exception() else getattr(future.result(), "stop" if function.__name__ in MAKERS else "close", None)
        if end is not None:                                # it came after all, and nobody waits for it any more
            await in_thread(end)
        raise


class Opening(Awaitable[T], Generic[T]):
    """`await` gives the thing; `async with` gives it too, and ends it."""

    def __init__(self, wrap: Callable[[Any], T], function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._wrap, self._function, self._args, self._kwargs = wrap, function, args, kwargs
        self._opened: Any = None

    async def _open(self) -> Any:
        return self._wrap(await in_thread(self._function, *self._args, **self._kwargs))

    def __await__(self) -> Generator[Any, None, T]:
        return self._open().__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._open()
        opened: T = await self._opened.__aenter__()
        return opened

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self._opened.__aexit__(kind, error, trace)


class AsyncBase(Generic[C]):
    """Holds the object whose methods are awaited."""

    def __init__(self, sync: C) -> None:
        self._sync = sync

    def __repr__(self) -> str:
        return "Async" + repr(self._sync)


class AsyncPieces(AsyncBase[C], Generic[C, T]):
    """Iterates over what comes. The thread reads on only when all that it read was taken."""

    def __init__(self, sync: C) -> None:
        super().__init__(sync)
        self._ready: Deque[T] = deque()

    def __aiter__(self: "P") -> "P":
        return self

    async def __anext__(self) -> T:
        if not self._ready:
            self._ready.extend(await in_thread(self._sync._batch))  # type: ignore[attr-defined]
        if not self._ready:
            raise StopAsyncIteration
        return self._ready.popleft()

    async def __aenter__(self: "P") -> "P":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await in_thread(self._sync.close)  # type: ignore[attr-defined]


P = TypeVar("P", bound=AsyncPieces)  # type: ignore[type-arg]


class AsyncCarrelBase(AsyncBase["_client.Carrel"]):
    """Where the daemon is: the arguments of Carrel."""

    def __init__(self, address: Optional[str] = None, *, state: Optional[str] = None, token: Optional[str] = None, timeout: Optional[float] = None) -> None:
        from ._client import Carrel

        super().__init__(Carrel(address, state=state, token=token, timeout=timeout))


class AsyncSandboxBase(AsyncBase["_client.Sandbox"]):
    """Leaving `async with` stops the sandbox."""

    async def __aenter__(self: "S") -> "S":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await in_thread(self._sync.stop)


S = TypeVar("S", bound=AsyncSandboxBase)


class AsyncTokensBase(AsyncBase["_client.Tokens"]):
    pass


class AsyncVolumesBase(AsyncBase["_client.Volumes"]):
    pass


class AsyncApprovalsBase(AsyncBase["_client.Approvals"]):
    pass


class AsyncFilesBase(AsyncBase["_client.Files"]):
    pass


class AsyncProcessBase(AsyncBase["_client.Process"]):
    pass


class AsyncStreamBase(AsyncPieces["_client.Stream", "Output"]):
    pass


class AsyncLinesBase(AsyncPieces["_client.Lines", Tuple[str, str]]):
    pass


class AsyncEventsBase(AsyncPieces["_client.Events", "Event"]):
    pass


class AsyncChunksBase(AsyncPieces["_client.Chunks", bytes]):
    pass
