"""The routes: method, path, who may, and what is done."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .. import jobs, metrics, recurring, store, tenants, worker
from ..errors import Invalid
from ..queue import Queue

MOST_ITEMS = 200


@dataclass(frozen=True)
class Request:
    """What a handler has to do with."""

    queue: Queue
    tenant: tenants.Tenant | None
    """None for routes of the operations desk."""
    query: dict[str, str]
    body: dict

    @property
    def who(self) -> str:
        """The id of the tenant that asks."""
        assert self.tenant is not None
        return self.tenant.id


Answer = tuple[int, object]


def submit(request: Request) -> Answer:
    """Take in a job."""
    return 201, request.queue.submit(request.who, request.body).view()


def show(request: Request, job_id: str) -> Answer:
    """A job."""
    return 200, jobs.of_tenant(request.queue.db, request.who, job_id).view()


def list_jobs(request: Request) -> Answer:
    """A page of jobs."""
    state = request.query.get("state")
    if state is not None and state not in jobs.STATES:
        raise Invalid(f"state: one of {', '.join(jobs.STATES)}", code="invalid_query")
    limit, cursor = _number(request, "limit", 50, 1, MOST_ITEMS), _number(request, "cursor", 0)
    page, following = jobs.listed(request.queue.db, request.who, state, cursor, limit)
    return 200, {"items": [job.view() for job in page], "next_cursor": following}


def cancel(request: Request, job_id: str) -> Answer:
    """Take a job back."""
    return 200, request.queue.cancel(request.who, job_id).view()


def add_recurring(request: Request) -> Answer:
    """Take in a template."""
    return 201, recurring.create(request.queue, request.who, request.body)


def list_recurring(request: Request) -> Answer:
    """All templates."""
    return 200, {"items": recurring.listed(request.queue, request.who)}


def remove_recurring(request: Request, template_id: str) -> Answer:
    """Forget a template."""
    return 200, recurring.remove(request.queue, request.who, template_id)


def usage(request: Request) -> Answer:
    """Counters and meters."""
    db = request.queue.db
    meters = {name: int(value) for name, value in db.hgetall(store.meters(request.who)).items()}
    return 200, {"counters": metrics.of(db, request.who), "meters": meters}


def list_tenants(request: Request) -> Answer:
    """All tenants."""
    return 200, {"items": [one.view() for one in tenants.everyone(request.queue.db)]}


def add_tenant(request: Request) -> Answer:
    """Take in a tenant."""
    return 201, tenants.create(request.queue.db, request.body)


def change_tenant(request: Request, tenant_id: str) -> Answer:
    """Change a tenant."""
    return 200, tenants.change(request.queue.db, tenant_id, request.body)


def overview(request: Request) -> Answer:
    """How much there is of what."""
    return 200, request.queue.overview()


def list_workers(request: Request) -> Answer:
    """The workers that show life."""
    return 200, {"items": worker.everyone(request.queue.db)}


def pause(request: Request) -> Answer:
    """No worker takes a job from now on."""
    request.queue.pause()
    return overview(request)


def resume(request: Request) -> Answer:
    """Workers take jobs again."""
    request.queue.resume()
    return overview(request)


def metrics_text(request: Request) -> Answer:
    """The counters of all tenants."""
    return 200, metrics.text(request.queue.db, request.queue.overview())


@dataclass(frozen=True)
class Route:
    """A row of the table below."""

    method: str
    path: re.Pattern[str]
    may: str
    handle: Callable[..., Answer]


def _routes() -> list[Route]:
    table: list[tuple[str, str, str, Callable[..., Answer]]] = [
        ("POST", "/v1/jobs", "tenant", submit),
        ("GET", "/v1/jobs", "tenant", list_jobs),
        ("GET", "/v1/jobs/ID", "tenant", show),
        ("POST", "/v1/jobs/ID/cancel", "tenant", cancel),
        ("POST", "/v1/recurring", "tenant", add_recurring),
        ("GET", "/v1/recurring", "tenant", list_recurring),
        ("DELETE", "/v1/recurring/ID", "tenant", remove_recurring),
        ("GET", "/v1/usage", "tenant", usage),
        ("GET", "/v1/admin/tenants", "admin", list_tenants),
        ("POST", "/v1/admin/tenants", "admin", add_tenant),
        ("PATCH", "/v1/admin/tenants/ID", "admin", change_tenant),
        ("GET", "/v1/admin/queue", "admin", overview),
        ("GET", "/v1/admin/workers", "admin", list_workers),
        ("POST", "/v1/admin/pause", "admin", pause),
        ("POST", "/v1/admin/resume", "admin", resume),
        ("GET", "/metrics", "admin", metrics_text),
    ]
    return [
        Route(method, re.compile(path.replace("ID", "([A-Za-z0-9_-]+)")), may, handle)
        for method, path, may, handle in table
    ]


ROUTES = _routes()


def _number(request: Request, name: str, usual: int, least: int = 0, most: int = 10**9) -> int:
    given = request.query.get(name, str(usual))
    if not given.isdecimal() or not least <= int(given) <= most:
        raise Invalid(f"{name}: {least} to {most}", code="invalid_query")
    return int(given)
