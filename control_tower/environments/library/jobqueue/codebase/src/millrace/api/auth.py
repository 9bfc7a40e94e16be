"""Who is asking."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

import redis

from .. import tenants
from ..config import Settings
from ..errors import Forbidden, Unauthorized


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of a request."""
    kind, _, token = (headers.get("Authorization") or "").partition(" ")
    return token.strip() if kind == "Bearer" and token.strip() else None


def tenant(db: redis.Redis, headers: Mapping[str, str]) -> tenants.Tenant:
    """The tenant that asks; raises unless there is a good token."""
    return tenants.authenticate(db, bearer(headers))


def admin(settings: Settings, db: redis.Redis, headers: Mapping[str, str]) -> None:
    """Raises unless it is the operations desk that asks."""
    token = bearer(headers)
    if token is not None and hmac.compare_digest(token, settings.admin_token):
        return
    if token is None:
        raise Unauthorized("no good token", code="unauthorized")
    tenants.authenticate(db, token)
    raise Forbidden("not for tenants", code="forbidden")
