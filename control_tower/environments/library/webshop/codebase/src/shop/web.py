"""Requests, responses, and which handler answers what."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote

from . import db, sessions, staff, templates
from .config import Config

LARGEST_FORM = 200_000
_STATUS = {
    200: "OK",
    303: "See Other",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    500: "Internal Server Error",
    502: "Bad Gateway",
}


@dataclass
class Request:
    """One request, as a handler sees it."""

    config: Config
    conn: Any
    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    session: sessions.Session
    member: db.Row | None = None
    """The member of staff who is asking, if one is."""
    params: dict[str, str] = field(default_factory=dict)

    @property
    def customer_id(self) -> int:
        """The customer who is logged in; only for handlers that demand one."""
        assert self.session.customer_id is not None
        return self.session.customer_id

    def page(self, name: str, status: int = 200, **values: Any) -> Response:
        """A page, with what all pages need."""
        known = {"csrf": self.session.csrf, "session": self.session, "staff": self.member}
        return Response(templates.render(name, **{**known, **values}), status)


@dataclass
class Response:
    """An answer."""

    body: str = ""
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    content_type: str = "text/html; charset=utf-8"

    @property
    def status_line(self) -> str:
        """As WSGI wants it."""
        return f"{self.status} {_STATUS[self.status]}"


class Failed(Exception):
    """Ends a request with an error page."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


Handler = Callable[[Request], Response]


@dataclass(frozen=True)
class Route:
    """One line of the routing table. `needs` is nobody, a customer, or a role of the staff."""

    method: str
    pattern: re.Pattern[str]
    needs: str
    handler: Handler


ROUTES: list[Route] = []


def route(method: str, path: str, needs: str = "") -> Callable[[Handler], Handler]:
    """Register a handler. `{name}` in the path becomes a parameter."""
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[A-Za-z0-9_-]+)", path) + r"\Z")

    def register(handler: Handler) -> Handler:
        ROUTES.append(Route(method, pattern, needs, handler))
        return handler

    return register


def redirect(path: str) -> Response:
    """Go to another page."""
    return Response("", 303, [("Location", path)])


def dispatch(request: Request) -> Response:
    """Find the route, check form and rights, and run the handler. Raises Failed."""
    matches = [(one, found) for one in ROUTES if (found := one.pattern.match(request.path))]
    if not matches:
        raise Failed(404, "There is no such page.")
    for one, found in matches:
        if one.method != request.method:
            continue
        if one.method == "POST" and not sessions.csrf_is_good(
            request.session, request.form.get("csrf", "")
        ):
            raise Failed(403, "This form is too old. Please go back and load the page again.")
        if one.needs == "customer" and request.session.customer_id is None:
            return redirect("/login?next=" + quote(request.path))
        if one.needs in staff.ROLES:
            if request.session.staff_id is not None:
                request.member = staff.get(request.conn, request.session.staff_id)
            if request.member is None:
                return redirect("/office/login")
            if one.needs == "manager" and request.member["role"] != "manager":
                raise Failed(403, "This is for managers.")
        request.params = found.groupdict()
        return one.handler(request)
    raise Failed(405, "This is not possible here.")


def read_form(environ: dict) -> dict[str, str]:
    """The fields of a posted form, the last of each name. Raises Failed."""
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = -1
    if not 0 <= length <= LARGEST_FORM:
        raise Failed(400, "The form is too large.")
    return fields(environ["wsgi.input"].read(length).decode("utf-8", "replace"))


def fields(text: str) -> dict[str, str]:
    """The fields of a form or a query."""
    parsed = parse_qs(text, keep_blank_values=True)
    return {name: values[-1].replace("\0", "") for name, values in parsed.items()}


def cookie(environ: dict) -> str | None:
    """The session's cookie, if there is one."""
    try:
        found = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(sessions.COOKIE)
    except CookieError:
        return None
    return found.value if found else None
