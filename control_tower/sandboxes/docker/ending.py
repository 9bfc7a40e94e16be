"""What is said at a sample's end of services that did not last until then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import anyio

from control_tower.sandboxes.docker.blueprint import Blueprint
from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.coming_up import has_failed, how_it_ended
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.failing import logger

_LAST = 3
"""Lines of a service's output that are passed on."""
_MOST = 300
"""Characters of them."""


async def tell_of_ended(
    calls: EngineCalls, blueprint: Blueprint, containers: Mapping[str, str]
) -> None:
    """Warn of each service that has ended by itself with an exit code other than 0.

    Not of the agent's, nor of those that the engine starts again or that others do without. What
    the engine does not tell is passed over: the sample is being removed.

    Args:
        calls: of the engine.
        blueprint: what the sample was made from.
        containers: container id by service.
    """
    async with anyio.create_task_group() as group:
        for service in _lasting(blueprint):
            if service in containers:
                group.start_soon(
                    _tell_of, calls, blueprint.environment, service, containers[service]
                )


def _lasting(blueprint: Blueprint) -> Iterable[str]:
    """The services that are there to the end, if all is well."""
    for plan in blueprint.services:
        policy = (plan.body["HostConfig"].get("RestartPolicy") or {}).get("Name")
        is_restarted = policy not in (None, "", "no")
        if plan.name == AGENTS_SERVICE or is_restarted or blueprint.is_optional(plan.name):
            continue
        yield plan.name


async def _tell_of(calls: EngineCalls, environment: str, service: str, container: str) -> None:
    from docker.errors import APIError
    from requests.exceptions import RequestException

    try:
        state = (await calls.inspect(container))["State"]
        if not has_failed(state):
            return
        lines = (await calls.logs(container, _LAST)).split("\n")
    except (APIError, RequestException):
        return
    said = " / ".join(line.strip() for line in lines if line.strip())[-_MOST:]
    logger.warning(
        "environment '%s': service '%s' ended while its sample ran, %s; %s",
        *(environment, service, how_it_ended(state)),
        f"its last lines: {said}" if said else "it wrote nothing",
    )
