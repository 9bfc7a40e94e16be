"""What can be wrong with a request, and how a job can fail."""

from __future__ import annotations


class MillraceError(Exception):
    """Something the caller has to know; the front end answers with `status` and `code`."""

    status = 400

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class Invalid(MillraceError):
    """The request makes no sense."""


class Unauthorized(MillraceError):
    """No token, or one that is not good."""

    status = 401


class Forbidden(MillraceError):
    """The token is good, but not for this."""

    status = 403


class NotFound(MillraceError):
    """There is no such thing, or it is somebody else's."""

    status = 404


class Conflict(MillraceError):
    """The thing is not in a state in which that can be done."""

    status = 409


class JobError(Exception):
    """A job could not do its work; it is tried again unless `permanent`."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
