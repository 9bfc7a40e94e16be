"""Tenants: who they are, their tokens, and where their webhooks go."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

import redis

from . import store
from .errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized

PLANS = ("basic", "plus", "premium")
STATUSES = ("active", "closed")
_ID = re.compile(r"[a-z][a-z0-9-]{1,30}")


@dataclass(frozen=True)
class Tenant:
    """One customer of the queue."""

    id: str
    name: str
    plan: str
    status: str
    hook_url: str
    hook_secret: str

    def view(self) -> dict:
        """What the operations desk sees; the secret is shown once, when it is made."""
        shown = ("id", "name", "plan", "status", "hook_url")
        return {name: getattr(self, name) for name in shown}


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def get(db: redis.Redis, tenant_id: str) -> Tenant:
    """A tenant by id."""
    row = db.hgetall(store.tenant(tenant_id))
    if not row:
        raise NotFound(f"there is no tenant {tenant_id!r}", code="unknown_tenant")
    return Tenant(**{name: row[name] for name in Tenant.__dataclass_fields__})


def everyone(db: redis.Redis) -> list[Tenant]:
    """All tenants, by id."""
    return [get(db, tenant_id) for tenant_id in sorted(db.smembers(store.TENANTS))]


def authenticate(db: redis.Redis, token: str | None) -> Tenant:
    """The tenant that a token belongs to."""
    tenant_id = db.hget(store.TOKENS, digest(token)) if token else None
    if tenant_id is None:
        raise Unauthorized("no good token", code="unauthorized")
    found = get(db, tenant_id)
    if found.status != "active":
        raise Forbidden("the account is closed", code="closed")
    return found


def create(db: redis.Redis, body: dict) -> dict:
    """Take in a tenant; the answer has its token and secret, which are not shown again."""
    tenant_id, name = body.get("id"), body.get("name")
    if not isinstance(tenant_id, str) or not _ID.fullmatch(tenant_id):
        raise Invalid("id: small letters, digits and '-', 2 to 31", code="invalid_tenant")
    if not isinstance(name, str) or not name.strip():
        raise Invalid("name: a text", code="invalid_tenant")
    if not db.sadd(store.TENANTS, tenant_id):
        raise Conflict(f"there is a tenant {tenant_id!r} already", code="tenant_exists")
    token = f"mrt_{tenant_id}_{secrets.token_hex(16)}"
    secret = f"whs_{secrets.token_hex(20)}"
    row = {"id": tenant_id, "name": name.strip(), "status": "active", "hook_secret": secret}
    row |= {"plan": body.get("plan", "basic"), "hook_url": body.get("hook_url", "")}
    try:
        _checked(row)
    except Invalid:
        db.srem(store.TENANTS, tenant_id)
        raise
    put(db, row, digest(token))
    return get(db, tenant_id).view() | {"token": token, "hook_secret": secret}


def put(db: redis.Redis, row: dict, token_digest: str) -> None:
    """Store a tenant as it is."""
    with db.pipeline() as batch:
        batch.sadd(store.TENANTS, row["id"])
        batch.hset(store.tenant(row["id"]), mapping=row)
        batch.hset(store.TOKENS, token_digest, row["id"])
        batch.execute()


def change(db: redis.Redis, tenant_id: str, body: dict) -> dict:
    """Change plan, status or the address for webhooks."""
    get(db, tenant_id)
    unknown = set(body) - {"plan", "status", "hook_url"}
    if unknown or not body:
        raise Invalid("only plan, status and hook_url can be changed", code="invalid_tenant")
    _checked(body)
    db.hset(store.tenant(tenant_id), mapping=body)
    return get(db, tenant_id).view()


def _checked(row: dict) -> None:
    if row.get("plan", "basic") not in PLANS:
        raise Invalid(f"plan: one of {', '.join(PLANS)}", code="invalid_tenant")
    if row.get("status", "active") not in STATUSES:
        raise Invalid(f"status: one of {', '.join(STATUSES)}", code="invalid_tenant")
    url = row.get("hook_url", "")
    if not isinstance(url, str) or (url and not url.startswith("http://")):
        raise Invalid("hook_url: an http:// address", code="invalid_tenant")
