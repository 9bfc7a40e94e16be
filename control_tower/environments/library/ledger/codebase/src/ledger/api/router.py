"""Requests, responses, and which handler answers what."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable

from .. import pagination
from ..config import Config
from ..errors import InvalidRequest, LedgerError, NotFound
from ..tokens import Token, authenticate

Handler = Callable[["Request"], "Response"]


@dataclass
class Request:
    """One authenticated request, as a handler sees it."""

    config: Config
    conn: sqlite3.Connection
    method: str
    path: str
    query: dict
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    raw_body: bytes
    token: Token | None = None
    params: dict = field(default_factory=dict)

    @property
    def actor(self) -> str:
        """Who is asking, for the audit log."""
        return self.token.id if self.token else "anonymous"

    def json(self) -> dict:
        """The body as a JSON object. Raises InvalidRequest for anything else."""
        try:
            body = json.loads(self.raw_body or b"{}")
        except ValueError:
            raise InvalidRequest("the body is not JSON") from None
        if not isinstance(body, dict):
            raise InvalidRequest("the body must be a JSON object")
        return body

    def page(self) -> pagination.Page:
        """The page asked for."""
        return pagination.parse(self.query, self.config.page_default, self.config.page_max)


@dataclass
class Response:
    """An answer: a status, a JSON body, and headers beyond the usual ones."""

    body: dict
    status: int = 200
    headers: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Route:
    """One line of the routing table."""

    method: str
    pattern: re.Pattern
    scope: str | None
    handler: Handler


class MethodNotAllowed(LedgerError):
    """The path exists, the method does not."""

    status = 405
    code = "method_not_allowed"


ROUTES: list[Route] = []


def route(method: str, path: str, scope: str | None) -> Callable[[Handler], Handler]:
    """Register a handler. `{name}` in the path becomes a parameter; no scope means no token."""
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[A-Za-z0-9_-]+)", path) + r"\Z")

    def register(handler: Handler) -> Handler:
        ROUTES.append(Route(method, pattern, scope, handler))
        return handler

    return register


def dispatch(request: Request) -> Response:
    """Find the route, check the token and its scope, and run the handler.

    Raises LedgerError for all that the caller did wrong.
    """
    matches = [(route, found) for route in ROUTES if (found := route.pattern.match(request.path))]
    if not matches:
        raise NotFound(f"no such path: {request.path}")
    for candidate, found in matches:
        if candidate.method != request.method:
            continue
        if candidate.scope is not None:
            request.token = authenticate(request.conn, request.headers.get("Authorization"))
            request.token.require(candidate.scope)
        request.params = found.groupdict()
        return candidate.handler(request)
    raise MethodNotAllowed(f"{request.method} is not possible here")
