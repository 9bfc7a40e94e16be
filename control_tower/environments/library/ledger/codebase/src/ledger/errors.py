"""The errors a caller may see, each with its HTTP status and a stable code."""

from __future__ import annotations


class LedgerError(Exception):
    """A request that cannot be honoured.

    `code` is part of the API contract and never changes; `message` is for people and may.
    """

    status = 400
    code = "bad_request"

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if code is not None:
            self.code = code

    def envelope(self) -> dict:
        """The error as it goes over the wire."""
        error = {"code": self.code, "message": self.message}
        if self.field is not None:
            error["field"] = self.field
        return {"error": error}


class InvalidRequest(LedgerError):
    """The request itself is malformed: wrong type, missing field, bad cursor."""

    status = 400
    code = "invalid_request"


class Unauthenticated(LedgerError):
    """No token, or one that is unknown or revoked."""

    status = 401
    code = "unauthenticated"


class Forbidden(LedgerError):
    """The token is good but lacks the scope."""

    status = 403
    code = "forbidden"


class NotFound(LedgerError):
    """The thing asked for does not exist."""

    status = 404
    code = "not_found"


class Conflict(LedgerError):
    """The request is well formed but the state of the ledger does not allow it."""

    status = 409
    code = "conflict"


class Unprocessable(LedgerError):
    """The request is well formed but contradicts a rule of the ledger."""

    status = 422
    code = "unprocessable"
