"""Checkout, and the orders of a customer."""

from __future__ import annotations

import re

from .. import basket, customers, orders, pricing
from ..web import Failed, Request, Response, redirect, route


@route("GET", "/checkout", needs="customer")
def form(request: Request) -> Response:
    """The form for the card."""
    return _form(request)


@route("POST", "/checkout", needs="customer")
def pay(request: Request) -> Response:
    """Place the order."""
    card = {
        "number": re.sub(r"\s", "", request.form.get("card_number", "")),
        "expiry": request.form.get("card_expiry", "").strip(),
        "cvc": request.form.get("card_cvc", "").strip(),
    }
    try:
        number = orders.place(
            request.conn, request.config, request.session.id, request.customer_id, card
        )
    except orders.Refused as error:
        return _form(request, error)
    return redirect(f"/order/{number}")


@route("GET", "/order/{number}", needs="customer")
def show(request: Request) -> Response:
    """One order of the customer who is logged in."""
    order = orders.get(request.conn, request.params["number"])
    if order is None or order["customer_id"] != request.customer_id:
        raise Failed(404, "There is no such order.")
    paid = order["status"] == "paid"
    return request.page("order", title=f"Order {order['number']}", order=order, can_cancel=paid)


@route("POST", "/order/{number}/cancel", needs="customer")
def cancel(request: Request) -> Response:
    """Cancel an order."""
    order = orders.get(request.conn, request.params["number"])
    if order is None or order["customer_id"] != request.customer_id:
        raise Failed(404, "There is no such order.")
    try:
        orders.cancel(request.conn, request.config, order["number"])
    except orders.Refused as error:
        raise Failed(409, str(error)) from None
    return redirect(f"/order/{order['number']}")


def _form(request: Request, error: orders.Refused | None = None) -> Response:
    lines = basket.lines(request.conn, request.config, request.session.id)
    return request.page(
        "checkout",
        409 if error else 200,
        title="Checkout",
        customer=customers.get(request.conn, request.customer_id),
        quote=pricing.quote(request.conn, request.config, lines),
        error=error,
        code=error.code if error else "",
    )
