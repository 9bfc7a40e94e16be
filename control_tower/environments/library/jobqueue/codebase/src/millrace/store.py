"""The connection to Redis and the names of all keys; see docs/storage.md."""

from __future__ import annotations

import redis

from .config import Settings

READY = "mr:ready"
DELAYED = "mr:delayed"
RUNNING = "mr:running"
DEAD = "mr:dead"
PAUSED = "mr:paused"
CLAIMS = "mr:claims"
WORKERS = "mr:workers"
TENANTS = "mr:tenants"
TOKENS = "mr:tokens"
RECURRING = "mr:recurring"
RECURRING_DUE = "mr:recurring:due"
SEEDED = "mr:seeded"


def job(job_id: str) -> str:
    """The hash of a job."""
    return f"mr:job:{job_id}"


def jobs(tenant: str) -> str:
    """A tenant's jobs, by the time of their submission."""
    return f"mr:jobs:{tenant}"


def tenant(tenant_id: str) -> str:
    """The hash of a tenant."""
    return f"mr:tenant:{tenant_id}"


def counters(tenant_id: str) -> str:
    """A tenant's counters, which /metrics shows."""
    return f"mr:count:{tenant_id}"


def meters(tenant_id: str) -> str:
    """The meters that a tenant's `meter` jobs add to."""
    return f"mr:meter:{tenant_id}"


def connect(settings: Settings) -> redis.Redis:
    """A client; it connects when it is first used, and again when the connection is lost."""
    return redis.Redis(
        host=settings.redis_host,
        port=settings.redis_port,
        db=settings.redis_db,
        password=settings.redis_password,
        decode_responses=True,
        socket_timeout=10,
        socket_connect_timeout=5,
        health_check_interval=15,
    )
