"""Removing what samples have in the engine: at once, and whatever others do meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import anyio

from control_tower.sandboxes.docker.calls import EngineCalls

_TRIES = 8
_PAUSE = 0.05
"""Seconds before the second try; each further pause is twice as long."""
_UNANSWERED = 3
"""Tries that an engine gets which does not answer; each of them takes a minute."""
_BUSY = frozenset((403, 409, 500, 503))
"""HTTP status when something is being removed by somebody else, or is in use for a moment."""


async def remove_things(
    calls: EngineCalls,
    *,
    containers: Iterable[str] = (),
    networks: Iterable[str] = (),
    volumes: Iterable[str] = (),
) -> None:
    """Remove things by name or id, containers first; what is gone is no error.

    Containers are killed, not asked, and their volumes that have no name go with them. One thing
    that cannot be removed keeps no other; cancelling stops nothing.

    Raises:
        docker.errors.APIError: one of them could not be removed, or what `requests` raises.
    """
    problems: list[Exception] = []
    with anyio.CancelScope(shield=True):
        await _all(calls.remove_container, containers, problems)
        async with anyio.create_task_group() as group:
            group.start_soon(_all, calls.remove_network, networks, problems)
            group.start_soon(_all, calls.remove_volume, volumes, problems)
    if problems:
        raise problems[0]


async def _all(
    remove: Callable[[str], Awaitable[None]], things: Iterable[str], problems: list[Exception]
) -> None:
    async with anyio.create_task_group() as group:
        for thing in things:
            group.start_soon(_remove, remove, thing, problems)


async def _remove(
    remove: Callable[[str], Awaitable[None]], thing: str, problems: list[Exception]
) -> None:
    from docker.errors import APIError, NotFound
    from requests.exceptions import RequestException, Timeout

    pause = _PAUSE
    for tries in range(1, _TRIES + 1):
        try:
            await remove(thing)
            return
        except NotFound:
            return
        except (APIError, RequestException) as error:
            passing = not isinstance(error, APIError) or error.status_code in _BUSY
            most = _UNANSWERED if isinstance(error, Timeout) else _TRIES
            if tries >= most or not passing:
                problems.append(error)
                return
        await anyio.sleep(pause)
        pause *= 2
