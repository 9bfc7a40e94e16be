"""`webhook`: tells a tenant's own host of an event. See docs/jobs.md."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
from urllib.parse import urlsplit

from .. import ids, metrics
from ..errors import JobError
from . import Context, require, text

GIVE_UP = (400, 401, 403, 404, 410, 422)
"""Answers that will not be better the next time."""


def check(payload: dict) -> None:
    """`event`, `data`, and optionally `query`, which is put behind the tenant's address."""
    require(set(payload) <= {"event", "data", "query"}, "event, data and query, nothing else")
    require(text(payload.get("event"), 60), "event: a short text")
    require(isinstance(payload.get("data"), dict), "data: an object")
    require("query" not in payload or text(payload["query"]), "query: a text")


def run(context: Context) -> dict:
    """Send it; any 2xx is a success."""
    job, tenant = context.job, context.tenant
    if not tenant.hook_url:
        raise JobError("the tenant has no hook_url", permanent=True)
    body = json.dumps(
        {"id": job.id, "event": job.payload["event"], "data": job.payload["data"]}, sort_keys=True
    ).encode()
    headers = signed(tenant.hook_secret, body, ids.now())
    headers["X-Millrace-Job"] = job.id
    status = send(tenant.hook_url, job.payload.get("query", ""), body, headers, context)
    if not 200 <= status < 300:
        metrics.count(context.db, tenant.id, "hooks_refused")
        raise JobError(f"the receiver answered {status}", permanent=status in GIVE_UP)
    metrics.count(context.db, tenant.id, "hooks_delivered")
    return {"status": status, "bytes": len(body)}


def signed(secret: str, body: bytes, at: int) -> dict:
    """The headers by which the receiver knows that it was us."""
    mac = hmac.new(secret.encode(), b"%d." % at + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-Millrace-Timestamp": str(at),
        "X-Millrace-Signature": f"sha256={mac}",
    }


def send(url: str, query: str, body: bytes, headers: dict, context: Context) -> int:
    """POST it; returns the status."""
    parts = urlsplit(url)
    path = (parts.path or "/") + ("?" if query else "") + query
    conn = http.client.HTTPConnection(
        parts.hostname or "", parts.port or 80, timeout=context.settings.hook_timeout
    )
    try:
        conn.request("POST", path, body, headers)
        return conn.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise JobError(f"no answer: {type(error).__name__}") from None
    finally:
        conn.close()
