"""Every exception of the client: one class for each error code of docs/ERRORS.md, and their families.

A code that this version does not know is raised as its family, or as CarrelError, with the code in `code`.
"""
from ._codes import *  # noqa: F401,F403
from ._codes import CODES
from ._error import (
    AuthenticationError,
    BadRequestError,
    CarrelError,
    ConflictError,
    LimitError,
    NotAvailableError,
    NotFoundError,
    QuotaError,
    RefusedError,
    TooLargeError,
    UnprocessableError,
)
from ._process import CommandFailedError

__all__ = [
    "AuthenticationError", "BadRequestError", "CarrelError", "CommandFailedError", "ConflictError", "LimitError", "NotAvailableError", "NotFoundError", "QuotaError",
    "RefusedError", "TooLargeError", "UnprocessableError", "CODES",
]
__all__ += [kind.__name__ for kind in CODES.values()]
