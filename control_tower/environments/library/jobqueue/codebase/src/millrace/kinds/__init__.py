"""The kinds of jobs. A kind checks its payload when a job is submitted, and does the work later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import redis

from ..config import Settings
from ..errors import Invalid
from ..jobs import Job
from ..tenants import Tenant


@dataclass(frozen=True)
class Context:
    """What a run has to do with."""

    settings: Settings
    db: redis.Redis
    tenant: Tenant
    job: Job


@dataclass(frozen=True)
class Kind:
    """A kind of job."""

    check: Callable[[dict], None]
    """Raises Invalid for a payload that makes no sense."""
    run: Callable[[Context], dict]
    """Does the work and returns the job's result; raises JobError if it could not."""


def known() -> dict[str, Kind]:
    """All kinds, by name."""
    from . import digest, invoice, meter, webhook

    return {
        "digest": Kind(digest.check, digest.run),
        "invoice": Kind(invoice.check, invoice.run),
        "meter": Kind(meter.check, meter.run),
        "webhook": Kind(webhook.check, webhook.run),
    }


def check_payload(kind: object, payload: object) -> None:
    """Raises Invalid unless it is a payload that the kind can work with."""
    found = known().get(kind) if isinstance(kind, str) else None
    if found is None:
        raise Invalid(f"kind: one of {', '.join(known())}", code="unknown_kind")
    if not isinstance(payload, dict):
        raise Invalid("payload: an object", code="invalid_payload")
    found.check(payload)


def run(context: Context) -> dict:
    """Do a job's work."""
    return known()[context.job.kind].run(context)


def require(holds: bool, message: str) -> None:
    """Raises Invalid with the message unless `holds`."""
    if not holds:
        raise Invalid(message, code="invalid_payload")


def whole(value: object, least: int, most: int) -> bool:
    """Whether a value is a whole number in a range."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def text(value: object, longest: int = 200) -> bool:
    """Whether a value is a text of one line, not empty."""
    return isinstance(value, str) and 0 < len(value.strip()) <= longest and value.isprintable()
