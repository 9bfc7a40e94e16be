"""Registering, logging in and out, and the customer's account."""

from __future__ import annotations

from .. import customers, orders, sessions
from ..web import Request, Response, redirect, route


@route("GET", "/register")
def register_form(request: Request) -> Response:
    """The form for a new account."""
    return request.page("register", title="New account")


@route("POST", "/register")
def register(request: Request) -> Response:
    """Make an account, and log in."""
    form = request.form
    try:
        made = customers.register(
            request.conn, form.get("email", ""), form.get("name", ""), form.get("password", "")
        )
    except customers.Refused as error:
        return request.page("register", 409, title="New account", error=error)
    request.session = sessions.log_in(request.conn, request.session, customer_id=made)
    return redirect("/account")


@route("GET", "/login")
def login_form(request: Request) -> Response:
    """The form for logging in."""
    return request.page("login", title="Log in", next=request.query.get("next", ""))


@route("POST", "/login")
def login(request: Request) -> Response:
    """Log in."""
    email, wanted = request.form.get("email", ""), request.form.get("next", "")
    known = customers.check_password(request.conn, email, request.form.get("password", ""))
    if known is None:
        error = "E-mail address or password are wrong."
        return request.page("login", 403, title="Log in", next=wanted, error=error)
    request.session = sessions.log_in(request.conn, request.session, customer_id=known)
    local = wanted.startswith("/") and not wanted.startswith("//")
    return redirect(wanted if local else "/account")


@route("POST", "/logout")
def logout(request: Request) -> Response:
    """Log out."""
    sessions.end(request.conn, request.session)
    return redirect("/")


@route("GET", "/account", needs="customer")
def account(request: Request) -> Response:
    """Name, address and orders of the customer."""
    return _page(request)


@route("POST", "/account", needs="customer")
def change(request: Request) -> Response:
    """A new name and address."""
    form = request.form
    try:
        customers.change(
            request.conn, request.customer_id, form.get("name", ""), form.get("address", "")
        )
    except customers.Refused as error:
        return _page(request, error)
    return redirect("/account")


def _page(request: Request, error: Exception | None = None) -> Response:
    return request.page(
        "account",
        409 if error else 200,
        title="Your account",
        customer=customers.get(request.conn, request.customer_id),
        orders=orders.of_customer(request.conn, request.customer_id),
        error=error,
    )
