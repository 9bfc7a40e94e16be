"""Handlers for records and their upkeep: customers, accounts, statements, audit log, tokens."""

from __future__ import annotations

import os

from .. import __version__, accounts, audit, customers, migrate, pii, statements, tokens
from ..errors import InvalidRequest
from ..pagination import render
from .router import Request, Response, route


@route("GET", "/health", None)
def health(request: Request) -> Response:
    """Whether the server can serve, and which process it is."""
    return Response(
        {
            "status": "ok",
            "version": __version__,
            "schema": migrate.current(request.conn),
            "pid": os.getpid(),
        }
    )


@route("GET", "/v1/customers", "customers:read")
def list_customers(request: Request) -> Response:
    """Customers with their personal data masked."""
    page, key = request.page(), pii.load_key(request.config.pii_key_file)
    rows = customers.page(request.conn, page)
    return Response(render(rows, page, lambda row: customers.public(row, key)))


@route("POST", "/v1/customers", "customers:write")
def create_customer(request: Request) -> Response:
    """Register a customer."""
    key = pii.load_key(request.config.pii_key_file)
    return Response(customers.create(request.conn, key, request.actor, request.json()), 201)


@route("GET", "/v1/customers/{id}", "customers:read")
def show_customer(request: Request) -> Response:
    """One customer; `reveal=true` shows personal data and needs the scope `customers:pii`."""
    key, customer_id = pii.load_key(request.config.pii_key_file), request.params["id"]
    if request.query.get("reveal") == "true":
        assert request.token is not None
        request.token.require("customers:pii")
        return Response(customers.revealed(request.conn, key, request.actor, customer_id))
    return Response(customers.public(customers.find(request.conn, customer_id), key))


@route("GET", "/v1/accounts", "accounts:read")
def list_accounts(request: Request) -> Response:
    """Accounts, oldest first; `customer_id` narrows the list."""
    page = request.page()
    rows = accounts.page(request.conn, page, request.query.get("customer_id"))
    return Response(render(rows, page, lambda row: accounts.public(request.conn, row)))


@route("POST", "/v1/accounts", "accounts:write")
def create_account(request: Request) -> Response:
    """Open an account."""
    return Response(accounts.create(request.conn, request.actor, request.json()), 201)


@route("GET", "/v1/accounts/{id}", "accounts:read")
def show_account(request: Request) -> Response:
    """One account with its balance."""
    row = accounts.find(request.conn, request.params["id"])
    return Response(accounts.public(request.conn, row))


@route("POST", "/v1/accounts/{id}/status", "accounts:write")
def change_account_status(request: Request) -> Response:
    """Freeze an account or open it again."""
    status = request.json().get("status")
    return Response(accounts.set_status(request.conn, request.actor, request.params["id"], status))


@route("GET", "/v1/accounts/{id}/statement", "statements:read")
def show_statement(request: Request) -> Response:
    """The statement of an account for a period."""
    account_id = request.params["id"]
    return Response(statements.statement(request.conn, account_id, request.query, request.page()))


@route("GET", "/v1/audit", "audit:read")
def list_audit(request: Request) -> Response:
    """Audit records after the sequence number `after`; `subject` narrows the list."""
    try:
        after = int(request.query.get("after", "0"))
    except ValueError:
        raise InvalidRequest("after must be a number", field="after") from None
    limit = request.page().limit
    records = audit.page(request.conn, after, limit, request.query.get("subject"))
    return Response({"items": records})


@route("GET", "/v1/audit/head", "audit:read")
def show_audit_head(request: Request) -> Response:
    """The newest audit record's number and hash, for anchoring elsewhere."""
    seq, digest = audit.head(request.conn)
    return Response({"seq": seq, "hash": digest})


@route("GET", "/v1/tokens", "admin")
def list_tokens(request: Request) -> Response:
    """All tokens, without their secrets."""
    return Response({"items": tokens.every(request.conn)})


@route("POST", "/v1/tokens", "admin")
def issue_token(request: Request) -> Response:
    """Issue a token; the answer is the only place where its secret is shown."""
    body = request.json()
    record, secret = tokens.issue(request.conn, request.actor, body.get("name"), body.get("scopes"))
    return Response({**record, "token": secret}, 201)


@route("DELETE", "/v1/tokens/{id}", "admin")
def revoke_token(request: Request) -> Response:
    """Revoke a token for good."""
    return Response(tokens.revoke(request.conn, request.actor, request.params["id"]))
