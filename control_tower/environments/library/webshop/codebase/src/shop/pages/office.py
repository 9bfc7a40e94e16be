"""The back office."""

from __future__ import annotations

from .. import audit, db, money, orders, refunds, sessions, staff
from ..web import Failed, Request, Response, redirect, route


@route("GET", "/office/login")
def login_form(request: Request) -> Response:
    """The form for logging in."""
    return request.page("office_login", title="Back office")


@route("POST", "/office/login")
def login(request: Request) -> Response:
    """Log in."""
    user, password = request.form.get("login", ""), request.form.get("password", "")
    known = staff.check_password(request.conn, user, password)
    if known is None:
        error = "Login or password are wrong."
        return request.page("office_login", 403, title="Back office", error=error)
    request.session = sessions.log_in(request.conn, request.session, staff_id=known)
    member = staff.get(request.conn, known)
    if member is not None:
        with db.transaction(request.conn):
            audit.record(request.conn, member["login"], "staff.login", member["login"])
    return redirect("/office")


@route("GET", "/office", needs="support")
def front(request: Request) -> Response:
    """The newest orders."""
    return request.page("office", title="Orders", orders=orders.recent(request.conn))


@route("GET", "/office/order/{number}", needs="support")
def order(request: Request) -> Response:
    """One order, with its refunds and its audit records."""
    return _order(request)


@route("POST", "/office/order/{number}/refund", needs="support")
def refund(request: Request) -> Response:
    """Pay back a part of an order."""
    form, number = request.form, request.params["number"]
    assert request.member is not None
    try:
        amount = money.cents(form.get("amount", ""))
        refunds.give(
            request.conn,
            request.config,
            request.member,
            number,
            amount,
            form.get("reason", ""),
            form.get("note", "").strip(),
        )
    except (refunds.Refused, ValueError) as error:
        return _order(request, error)
    return redirect(f"/office/order/{number}")


@route("GET", "/office/staff", needs="manager")
def everyone(request: Request) -> Response:
    """All members of staff."""
    return _staff(request)


@route("POST", "/office/staff/add", needs="manager")
def add(request: Request) -> Response:
    """A new member of staff; the page shows the password, once."""
    form = request.form
    assert request.member is not None
    try:
        password = staff.add(
            request.conn,
            request.member["login"],
            form.get("login", "").strip(),
            form.get("name", "").strip(),
            form.get("role", ""),
        )
    except ValueError as error:
        return _staff(request, error=error)
    return _staff(request, password=password)


@route("POST", "/office/staff/disable", needs="manager")
def disable(request: Request) -> Response:
    """Lock a member of staff out."""
    assert request.member is not None
    try:
        staff.disable(request.conn, request.member["login"], request.form.get("login", ""))
    except ValueError as error:
        return _staff(request, error=error)
    return redirect("/office/staff")


@route("GET", "/office/audit", needs="manager")
def trail(request: Request) -> Response:
    """The audit trail, newest first; of one subject with `?subject=`."""
    records = audit.trail(request.conn, request.query.get("subject"))
    return request.page("office_audit", title="Audit trail", records=records)


def _order(request: Request, error: Exception | None = None) -> Response:
    number = request.params["number"]
    found = orders.get(request.conn, number)
    if found is None:
        raise Failed(404, "There is no such order.")
    return request.page(
        "office_order",
        409 if error else 200,
        title=f"Order {number}",
        order=found,
        refunds=refunds.of_order(request.conn, number),
        records=audit.trail(request.conn, number),
        error=error,
    )


def _staff(request: Request, password: str = "", error: Exception | None = None) -> Response:
    return request.page(
        "office_staff",
        409 if error else 200,
        title="Staff",
        everyone=staff.everyone(request.conn),
        password=password,
        error=error,
    )
