"""Waiting until a service is what others wait for, and saying why it never will be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import anyio

from control_tower.sandboxes.docker.blueprint import Condition
from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.failing import StartFailure
from control_tower.sandboxes.docker.healthchecks import Failures, Grace

State = Mapping[str, Any]
"""What the engine says of a container's state."""

_PAUSES = (0.02, 0.05, 0.1, 0.15, 0.25)
"""Seconds between two looks at a container; the last one holds on."""
_COMPLETION = 600.0
"""Seconds that a service has whose end others wait for."""
_LAST = 15
"""Lines of a service's output that are passed on."""
_CHECKS = 3
"""Results of a health check that are passed on."""
_MOST = 2000
"""Characters of each."""


async def come_up(
    calls: EngineCalls,
    service: str,
    container: str,
    *,
    wanted: Collection[Condition],
    reached: Callable[[Condition], None],
    patience: float,
    grace: Grace | None = None,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> None:
    """Wait until a service that was started has come to what is wanted of it.

    One that has a health check is waited for until it is healthy, whether or not others do.

    Args:
        calls: of the engine.
        service: its name, for messages.
        container: its id.
        wanted: what others wait for.
        reached: told of each condition when it holds.
        patience: seconds until it must be healthy.
        grace: what its health check allows; None where the engine counts failures.
        sleep: waits between two looks.

    Raises:
        StartFailure: it has ended, is unhealthy, or is not there in time.
        docker.errors.APIError: the engine refuses.
    """
    reached("service_started")
    left = awaited = set(wanted) - {"service_started"}
    limit = max(patience, _COMPLETION if "service_completed_successfully" in left else 0.0)
    looks, failures = 0, Failures(grace)
    state: State = {}
    with anyio.move_on_after(limit):
        while True:
            state = (await calls.inspect(container))["State"]
            if looks == 0 and not awaited and _health(state) is not None:
                left = {"service_healthy"}
            for condition in [one for one in left if _holds(one, state)]:
                left.discard(condition)
                reached(condition)
            gave_up = failures.are_too_many(state)
            await _refuse_dead(calls, service, container, state, awaited, gave_up=gave_up)
            if not left or _has_ended(state):
                return
            await sleep(_PAUSES[min(looks, len(_PAUSES) - 1)])
            looks += 1
    said = _checks_said(state) if _health(state) == "starting" else ""
    problem = f"service '{service}' did not come up within {limit:g} seconds{said}"
    raise StartFailure(await _with_last_words(problem, calls, container), passing=True)


async def refuse_ended(calls: EngineCalls, service: str, container: str) -> None:
    """Make sure that a service which was started has not died since.

    Raises:
        StartFailure: it has; with its last lines.
        docker.errors.APIError: the engine refuses.
    """
    state = (await calls.inspect(container))["State"]
    if state["Status"] == "restarting":
        problem = f"service '{service}' ends again and again, {how_it_ended(state)}"
        raise StartFailure(await _with_last_words(problem, calls, container))
    await _refuse_dead(calls, service, container, state, ())


def has_failed(state: State) -> bool:
    """Whether a container has ended, and not with exit code 0."""
    return _has_ended(state) and not _succeeded(state)


def how_it_ended(state: State) -> str:
    """Of a container that has ended, such as `with exit code 137, out of memory`."""
    how = f"with exit code {state.get('ExitCode')}"
    if state.get("OOMKilled"):
        how += ", out of memory"
    return f"{how}: {state['Error']}" if state.get("Error") else how


async def _refuse_dead(
    calls: EngineCalls,
    service: str,
    container: str,
    state: State,
    awaited: Collection[Condition],
    *,
    gave_up: bool = False,
) -> None:
    """Raise if a service can no longer come to what others still wait for.

    `gave_up`: its health check has failed too often, whatever the engine says.
    """
    if _has_ended(state):
        if _succeeded(state) and not awaited and service != AGENTS_SERVICE:
            return
        problem = f"service '{service}' ended at its start, {how_it_ended(state)}"
    elif gave_up or _health(state) == "unhealthy":
        problem = f"service '{service}' is unhealthy{_checks_said(state)}"
    elif "service_healthy" in awaited and _health(state) is None and state["Status"] == "running":
        raise StartFailure(
            f"service '{service}' has no health check, and another one waits for it to be healthy"
        )
    else:
        return
    raise StartFailure(await _with_last_words(problem, calls, container))


def _has_ended(state: State) -> bool:
    return state["Status"] in ("exited", "dead")


def _succeeded(state: State) -> bool:
    return state["Status"] == "exited" and state.get("ExitCode") == 0


def _holds(condition: Condition, state: State) -> bool:
    return _health(state) == "healthy" if condition == "service_healthy" else _succeeded(state)


def _health(state: State) -> str | None:
    """`starting`, `healthy` or `unhealthy`; None without a health check."""
    status = (state.get("Health") or {}).get("Status")
    return None if status in (None, "", "none") else str(status)


def _checks_said(state: State) -> str:
    results = ((state.get("Health") or {}).get("Log") or ())[-_CHECKS:]
    lines = [
        f"  exit code {result.get('ExitCode')}: {_end(said) if said else 'it wrote nothing'}"
        for result in results
        for said in [str(result.get("Output") or "").strip()]
    ]
    return "\n".join(["; its health check said:", *lines]) if lines else ""


async def _with_last_words(problem: str, calls: EngineCalls, container: str) -> str:
    """The problem, and what the service itself wrote; on a new line after one of several."""
    from docker.errors import APIError

    before, it, its = (
        ("\n", "the service", "the service's own") if "\n" in problem else ("; ", "it", "its")
    )
    try:
        said = _end((await calls.logs(container, _LAST)).strip())
    except APIError as error:  # logging may be off
        return f"{problem}{before}{its} output cannot be read: {error.explanation or error}"
    if not said:
        return f"{problem}{before}{it} wrote nothing"
    return f"{problem}{before}{its} last lines:\n{said}"


def _end(text: str) -> str:
    return text if len(text) <= _MOST else f"…{text[-_MOST:]}"
