"""Handlers that move money or reserve it: transfers, deposits, holds."""

from __future__ import annotations

from .. import accounts, fees, holds, money, transfers
from ..errors import InvalidRequest
from ..pagination import render
from .router import Request, Response, route


@route("POST", "/v1/transfers", "transfers:write")
def create_transfer(request: Request) -> Response:
    """Move money between two accounts."""
    created = transfers.create(request.conn, request.actor, request.json())
    return Response(created, 201)


@route("GET", "/v1/transfers", "transfers:read")
def list_transfers(request: Request) -> Response:
    """Transfers, oldest first; `account` and `reference` narrow the list."""
    page = request.page()
    rows = transfers.page(
        request.conn, page, request.query.get("account"), request.query.get("reference")
    )
    return Response(render(rows, page, transfers.public))


@route("GET", "/v1/transfers/{id}", "transfers:read")
def show_transfer(request: Request) -> Response:
    """One transfer."""
    return Response(transfers.public(transfers.find(request.conn, request.params["id"])))


@route("POST", "/v1/transfers/{id}/reversals", "transfers:write")
def reverse_transfer(request: Request) -> Response:
    """Send a transfer's money back."""
    return Response(transfers.reverse(request.conn, request.actor, request.params["id"]), 201)


@route("POST", "/v1/accounts/{id}/deposits", "transfers:write")
def create_deposit(request: Request) -> Response:
    """Book money that came in at the bank."""
    booked = accounts.deposit(request.conn, request.actor, request.params["id"], request.json())
    return Response(booked, 201)


@route("POST", "/v1/holds", "holds:write")
def create_hold(request: Request) -> Response:
    """Reserve money for a merchant."""
    return Response(holds.create(request.conn, request.actor, request.json()), 201)


@route("GET", "/v1/holds/{id}", "holds:read")
def show_hold(request: Request) -> Response:
    """One hold, with what its captures came to."""
    return Response(holds.public(request.conn, holds.find(request.conn, request.params["id"])))


@route("POST", "/v1/holds/{id}/captures", "holds:write")
def capture_hold(request: Request) -> Response:
    """Take a part of a hold, or the rest of it."""
    amount = request.json().get("amount")
    if amount is None:
        raise InvalidRequest("amount is missing", field="amount")
    captured = holds.capture(
        request.conn, request.actor, request.params["id"], amount, request.config.min_capture
    )
    return Response(captured, 201)


@route("POST", "/v1/holds/{id}/release", "holds:write")
def release_hold(request: Request) -> Response:
    """Let go of what was not captured."""
    return Response(holds.release(request.conn, request.actor, request.params["id"]))


@route("GET", "/v1/fee-plans/{id}/quote", "holds:read")
def quote_fees(request: Request) -> Response:
    """What a plan would charge for an amount captured in one go."""
    try:
        amount = money.check_amount(int(request.query.get("amount", "")))
    except ValueError:
        raise InvalidRequest("amount must be a number", field="amount") from None
    currency = request.query.get("currency", "EUR")
    money.exponent(currency)
    return Response(fees.quote(request.conn, request.params["id"], amount, currency))
