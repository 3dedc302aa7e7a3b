"""The exceptions of the client: a class for each kind of failure. _codes.py has one for each error code below them."""
from typing import Any, Dict, Optional


class CarrelError(Exception):
    """A call failed. `str()` gives the sentence, the code and what to do next."""

    code: str = "protocol_error"
    """Stable word for programs; docs/ERRORS.md lists them."""
    http_status: int = 0
    exit_status: int = 125
    """With which `carrel` would end."""

    def __init__(self, message: str = "", *, code: Optional[str] = None, reason: str = "", path: str = "", line: int = 0, column: int = 0,
                 hint: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.reason = reason
        """A word that narrows the code; "" if none."""
        self.path = path
        """Place in the caller's own input, slash-separated; "" if none."""
        self.line = line
        self.column = column
        self.hint = hint
        """What to do next."""
        self.operation = operation
        """What was asked, as docs/API.md calls it: "create", "exec.start"."""

    def __str__(self) -> str:
        place = f" at {self.path}" if self.path else ""
        return f"{self.message} ({self.code}{place})" + (f". {self.hint}" if self.hint else "")

    def __reduce__(self) -> Any:
        return _make_again, (type(self), self.message, dict(self.__dict__))


def _make_again(kind: Any, message: str, state: Dict[str, Any]) -> CarrelError:
    error: CarrelError = kind.__new__(kind, message)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class BadRequestError(CarrelError):
    """The call itself is wrong."""


class AuthenticationError(CarrelError):
    """A token is missing, unknown or revoked."""


class RefusedError(CarrelError):
    """The manifest or the host's rules do not permit it."""


class NotFoundError(CarrelError):
    """What was named does not exist, or belongs to another owner."""


class ConflictError(CarrelError):
    """Something with this name exists already, or is in use."""


class TooLargeError(CarrelError):
    """More bytes than are accepted at once."""


class UnprocessableError(CarrelError):
    """It was understood, and cannot be done: a manifest that is not valid, a path of the wrong kind."""


class QuotaError(CarrelError):
    """Too many things at once."""


class NotAvailableError(CarrelError):
    """The daemon or a part that it needs is not there."""


class LimitError(CarrelError):
    """A limit of time, memory or disk was reached."""
