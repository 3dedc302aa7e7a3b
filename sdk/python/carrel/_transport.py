"""One HTTP request to the daemon, over its unix socket or loopback TCP; http.client reads and writes HTTP.

Every request has a connection of its own: threads share nothing, a child after fork() uses nothing of its parent, and a connection that
is shut ends exactly one call.
"""
import http.client
import io
import ipaddress
import json
import os
import socket
import struct
import urllib.parse
from typing import IO, Any, Dict, Iterator, List, Optional, Tuple, Type, Union

from ._answer import Operation
from ._codes import CODES, ConnectionLostError, DaemonUnreachableError, InvalidArgumentError, ProtocolError
from ._error import AuthenticationError, BadRequestError, CarrelError, NotFoundError, RefusedError
from ._operations import OPERATIONS
from ._thread import note_socket, shut

CONNECT_S = 10.0
QUIET_S = 90.0               # the daemon says something on every stream at least each 15 s
READ_BYTES = 1 << 18
NOT_RUNNING = (FileNotFoundError, ConnectionRefusedError)
Body = Union[bytes, IO[bytes]]


# -- where the daemon is -------------------------------------------------------------------------------------------------------------


class Place:
    """A daemon's address: `socket` is the path of a unix socket; without it `host` and `port` count."""

    def __init__(self, address: Optional[str], state: Optional[str], token: Optional[str]) -> None:
        if address is not None and state is not None:
            raise InvalidArgumentError("the daemon is named by its address or by its state directory, not by both", path="state")
        if address is None and state is None:
            address = os.environ.get("CARREL_URL") or None
        self.socket, self.host, self.port = "", "localhost", 80
        self.token = token if token is not None else os.environ.get("CARREL_TOKEN") or None
        if address is None:
            self.socket = os.path.join(state or default_state(), "carrel.sock")
        elif address.startswith("unix:"):
            path = address[len("unix:"):]
            self.socket = path[2:] if path.startswith("///") else path
        else:
            self._read_url(address)

    def _read_url(self, address: str) -> None:
        url = urllib.parse.urlsplit(address)
        try:
            self.host, self.port = url.hostname or "", url.port or 80
        except ValueError as e:
            raise InvalidArgumentError(f"{address!r} is not an address: {e}", path="address") from None
        if url.scheme != "http" or not self.host or url.path not in ("", "/") or url.query or url.username:
            raise InvalidArgumentError(f"{address!r} is not an address of a daemon", path="address", hint="Use unix:/path/to/carrel.sock or http://127.0.0.1:PORT.")
        if not is_loopback(self.host):
            raise InvalidArgumentError(f"{self.host} is not this machine: a token would be readable on the way", path="address",
                                       hint=f"Forward a port, for example `ssh -L {self.port}:127.0.0.1:{self.port} {self.host}`, and use http://127.0.0.1:{self.port}.")

    def __str__(self) -> str:
        return f"unix:{self.socket}" if self.socket else f"http://{'[%s]' % self.host if ':' in self.host else self.host}:{self.port}"

    @property
    def start_command(self) -> str:
        """The command that starts a daemon there."""
        if not self.socket:
            return f"carrel serve --listen {str(self)[len('http://'):]}"
        state = os.path.dirname(self.socket)
        return f"carrel serve --state {state}" if os.path.basename(self.socket) == "carrel.sock" else "carrel serve"


def default_state() -> str:
    """CARREL_STATE, else the state directory of this user's daemon."""
    own, xdg = os.environ.get("CARREL_STATE"), os.environ.get("XDG_STATE_HOME", "")
    if own:
        return own
    if os.geteuid() == 0:
        return "/var/lib/carrel"
    return os.path.join(xdg if xdg.startswith("/") else os.path.expanduser("~/.local/state"), "carrel")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_peer(sock: socket.socket, place: Place) -> None:
    """Nothing is sent to a socket on which another user listens, unless that is root or named by CARREL_DAEMON_UID."""
    uid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[1] & 0xFFFFFFFF
    if uid in (os.geteuid(), 0) or os.environ.get("CARREL_DAEMON_UID") == str(uid):
        return
    raise DaemonUnreachableError(f"user {uid} listens at {place}, neither you nor root: nothing was sent", reason="untrusted",
                                 hint=f"If you trust this user with all that you send, set CARREL_DAEMON_UID={uid}.")


class Connection(http.client.HTTPConnection):
    """A connection to a place; it notes its socket, which http.client would let go of."""

    def __init__(self, place: Place, timeout: Optional[float]) -> None:
        super().__init__(place.host, place.port, timeout=timeout, blocksize=READ_BYTES)
        self.place, self.wire = place, None  # type: Place, Optional[socket.socket]

    def connect(self) -> None:
        """Connects; http.client calls it."""
        try:
            self.wire = self._dial()
        except NOT_RUNNING as e:
            raise DaemonUnreachableError(f"no daemon answers at {self.place}", reason="not_running", hint=f"Start one with `{self.place.start_command}`, and leave it running.") from e
        except CarrelError:
            raise
        except OSError as e:
            raise DaemonUnreachableError(f"reaching the daemon at {self.place}: {e}", hint="That daemon may be another user's: run as that user, or choose your own with CARREL_STATE."
                                         if isinstance(e, PermissionError) else "") from e
        self.wire.settimeout(self.timeout)
        note_socket(self.wire)
        self.sock = self.wire

    def _dial(self) -> socket.socket:
        if not self.place.socket:
            return socket.create_connection((self.host, self.port), CONNECT_S)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(CONNECT_S)
            sock.connect(self.place.socket)
            check_peer(sock, self.place)
        except BaseException:
            sock.close()
            raise
        return sock


# -- a request -----------------------------------------------------------------------------------------------------------------------


class Response:
    """An answer whose body is still to be read."""

    def __init__(self, connection: Connection, raw: http.client.HTTPResponse, operation: str) -> None:
        self._connection, self._raw, self.operation = connection, raw, operation
        self._wire, self._pid = connection.wire, os.getpid()
        length = raw.getheader("Content-Length")
        self._left = int(length) if length is not None else None
        self.status = raw.status

    def read_some(self, timeout: Optional[float] = None) -> bytes:
        """The next bytes; b"" at the end. Raises TimeoutError where none come in `timeout` seconds."""
        try:
            if self._wire is not None and timeout is not None:
                self._wire.settimeout(timeout)
            got = self._raw.read1(READ_BYTES)
        except socket.timeout:
            raise TimeoutError("nothing came in time") from None
        except (http.client.HTTPException, OSError, ValueError) as e:
            raise lost(self.operation, e) from e
        if self._left is not None:
            self._left -= len(got)
            if not got and self._left > 0:
                raise lost(self.operation, None)
        return got

    def read(self) -> bytes:
        """All that is left."""
        parts: List[bytes] = []
        try:
            while True:
                part = self.read_some()
                if not part:
                    return b"".join(parts)
                parts.append(part)
        except TimeoutError:
            raise too_late(self.operation) from None
        finally:
            self.close()

    def close(self) -> None:
        """Ends the call. Where it ran a command in the foreground, the daemon kills that."""
        if self._wire is not None and os.getpid() == self._pid:    # a child after fork() holds a copy, and must not end its parent's call
            shut(self._wire)
        self._raw.close()
        self._connection.close()
        if self._wire is not None:
            self._wire.close()


def lost(operation: str, cause: Optional[BaseException]) -> ConnectionLostError:
    return ConnectionLostError("the connection to the daemon ended before its answer did" + (f": {cause}" if cause is not None and str(cause) else ""),
                               operation=operation, hint="Ask again: with a `key` a repeated call has one effect. Background processes go on, and attach() continues at a byte offset.")


def too_late(operation: str) -> DaemonUnreachableError:
    return DaemonUnreachableError("the daemon did not answer in time", reason="timeout", operation=operation, hint="Raise `timeout` of Carrel(), or ask again.")


BY_STATUS: Dict[int, Type[CarrelError]] = {400: BadRequestError, 401: AuthenticationError, 403: RefusedError, 404: NotFoundError}


def error_of(problem: Dict[str, Any], operation: str, status: int = 0) -> CarrelError:
    """The exception for an error of the daemon."""
    code = str(problem.get("code") or "protocol_error")
    kind: Type[CarrelError] = CODES.get(code, BY_STATUS.get(status, CarrelError))
    words = {name: problem[name] for name in ("reason", "path", "line", "column", "hint") if problem.get(name)}
    return kind(str(problem.get("message") or f"the daemon answered {status}"), code=code, operation=operation, **words)


def _read_problem(response: Response) -> CarrelError:
    text = response.read()
    try:
        problem = json.loads(text)["error"]
        return error_of(problem, response.operation, response.status)
    except (ValueError, TypeError, KeyError):
        return error_of({"message": f"the daemon answered {response.status}: {text[:200].decode('utf-8', 'replace').strip()}"}, response.operation, response.status)


class Transport:
    """Requests by the names of the operation table."""

    def __init__(self, place: Place, timeout: Optional[float]) -> None:
        self.place, self.timeout = place, timeout

    def open(self, name: str, params: Dict[str, Any], raw: Optional[Body] = None, accept: str = "application/json", timeout: Optional[float] = None) -> Response:
        """Sends it, and gives an answer that is a success; the others are raised. `params` without None go where the table says."""
        operation = OPERATIONS[name]
        given = {key: value for key, value in params.items() if value is not None}
        headers = {"Accept": accept}
        target = _target(operation, given)
        body = _body(operation, given, raw, headers)
        if given:
            raise TypeError(f"{name} takes no {', '.join(given)}")
        if self.place.token is not None:
            headers["Authorization"] = f"Bearer {self.place.token}"
        connection = Connection(self.place, timeout)
        try:
            response = Response(connection, self._send(connection, operation.method, target, body, headers, name), name)
        except BaseException:
            if connection.wire is not None:
                shut(connection.wire)
                connection.wire.close()
            connection.close()
            raise
        if 200 <= response.status < 300:
            return response
        raise _read_problem(response)

    @staticmethod
    def _send(connection: Connection, method: str, target: str, body: Optional[Body], headers: Dict[str, str], name: str) -> http.client.HTTPResponse:
        try:
            try:
                connection.request(method, target, body=body, headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                if connection.wire is None:
                    raise
                connection.sock = connection.wire          # it was refused before all of it was sent: the answer says why
            return connection.getresponse()
        except socket.timeout:
            raise too_late(name) from None
        except CarrelError:
            raise
        except (http.client.HTTPException, OSError) as e:
            raise lost(name, e) from e

    def call(self, operation: str, raw: Optional[Body] = None, /, **params: Any) -> Dict[str, Any]:
        """The JSON of the answer; {} where it has none."""
        text = self.open(operation, params, raw, timeout=self.timeout).read()
        if not text:
            return {}
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ProtocolError("the daemon's answer is not a JSON object", operation=operation)
        return answer

    def events(self, operation: str, /, **params: Any) -> "EventReader":
        """The answer as server-sent events."""
        return EventReader(self.open(operation, params, accept="text/event-stream", timeout=None))


def text_of(value: Any) -> Union[str, bytes]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fsencode(value) if isinstance(value, (str, os.PathLike)) else str(value)


def _target(operation: Operation, given: Dict[str, Any]) -> str:
    """Path and query; what they alone take is taken out of `given`."""
    parts: List[str] = []
    for part in operation.route.split("/"):
        parts.append(urllib.parse.quote(text_of(given.pop(part[1:-1])), safe="") if part.startswith("{") else part)
    query = [(key, text_of(given[key] if key in operation.body else given.pop(key))) for key in operation.query if key in given]
    return "/".join(parts) + ("?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else "")


def _body(operation: Operation, given: Dict[str, Any], raw: Optional[Body], headers: Dict[str, str]) -> Optional[Body]:
    if operation.has_key and "key" in given and "key" not in operation.body:
        headers["Idempotency-Key"] = str(given.pop("key"))
    if "last_event_id" in given:
        headers["Last-Event-ID"] = str(given.pop("last_event_id"))
    if operation.is_raw:
        headers["Content-Type"] = "application/octet-stream"
        headers["Content-Length"] = str(_length(raw or b""))
        return raw or b""
    taken = {key: given.pop(key) for key in operation.body if key in given}
    if not operation.body:
        return None
    headers["Content-Type"] = "application/json"
    return json.dumps(taken).encode()


def _length(raw: Body) -> int:
    if isinstance(raw, bytes):
        return len(raw)
    at = raw.tell()
    end = raw.seek(0, io.SEEK_END)
    raw.seek(at)
    return end - at


# -- server-sent events --------------------------------------------------------------------------------------------------------------


class EventReader:
    """Server-sent events: lines `event: NAME` and `data: JSON`, an empty line after each event."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self._rest = b""
        self._name, self._data = "message", []  # type: str, List[bytes]

    def read(self, timeout: Optional[float] = None) -> List[Tuple[str, Dict[str, Any]]]:
        """The next events, at least one; [] at the end of the stream. Raises TimeoutError where none comes in `timeout` seconds."""
        while True:
            try:
                got = self.response.read_some(QUIET_S if timeout is None else min(timeout, QUIET_S))
            except TimeoutError:
                if timeout is not None and timeout <= QUIET_S:
                    raise
                raise too_late(self.response.operation) from None
            if not got:
                return []
            found = list(self._take(got))
            if found or timeout is not None:
                return found or [("comment", {})]

    def _take(self, got: bytes) -> Iterator[Tuple[str, Dict[str, Any]]]:
        lines = (self._rest + got).split(b"\n")
        self._rest = lines.pop()
        for raw in lines:
            line = raw.rstrip(b"\r")
            if line.startswith(b"event:"):
                self._name = line[6:].strip().decode()
            elif line.startswith(b"data:"):
                self._data.append(line[5:].lstrip(b" "))
            elif not line:
                if self._data:
                    yield self._name, json.loads(b"\n".join(self._data))
                self._name, self._data = "message", []

    def close(self) -> None:
        self.response.close()
