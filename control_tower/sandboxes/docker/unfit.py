"""What an environment's compose file must not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, Model
from control_tower.sandboxes.docker.container_body import container_body
from control_tower.sandboxes.docker.leading_out import files_of_the_host, leading_out
from control_tower.sandboxes.errors import EnvironmentRefused

_ADDRESSES = ("ipv4_address", "ipv6_address")


def refuse_unfit(compose_file: Path, model: Model, *, isolation: bool = False) -> None:
    """Refuse what cannot be run many times at once or as asked, or would lead round the sandbox.

    Args:
        compose_file: named in the refusal.
        model: as `resolved` gives it.
        isolation: whether the run isolates the agent.

    Raises:
        EnvironmentRefused: for all such things, in one line.
    """
    problems = list(unfit(model, compose_file.parent, isolation=isolation))
    if problems:
        raise EnvironmentRefused(f"{compose_file}: {'; '.join(problems)}")


def unfit(model: Model, folder: Path, *, isolation: bool = False) -> Iterator[str]:
    """What `refuse_unfit` refuses, a text each; `folder` is the compose file's."""
    if AGENTS_SERVICE not in model["services"]:
        yield f"there is no service '{AGENTS_SERVICE}', which is the agent's"
    for name, service in model["services"].items():
        said = (
            *_shared(service),
            *_addressed(service),
            *leading_out(service),
            *_counted(service),
            *_network_mode(service),
            *_untranslatable(service),
            *(_closed(service) if isolation and name == AGENTS_SERVICE else ()),
        )
        yield from (f"service '{name}' {words}" for words in said)
    yield from files_of_the_host(model, folder)
    for kind in ("networks", "volumes"):
        for name, entry in (model.get(kind) or {}).items():
            if (entry or {}).get("external"):
                yield f"'{name}' in {kind} is external, and all samples would share it"
            if ((entry or {}).get("driver_opts") or {}).get("device"):
                yield f"'{name}' in {kind} is a folder of the host, and all samples would share it"
            if ((entry or {}).get("ipam") or {}).get("config"):
                yield f"'{name}' in {kind} has fixed addresses, which only one sample could have"


def _shared(service: dict[str, Any]) -> Iterator[str]:
    if service.get("container_name"):
        yield "has a container_name, and every sample has one of its own"
    if service.get("ports"):
        yield "publishes ports, on which all samples would be reached"
    folders = [volume for volume in service.get("volumes") or () if volume.get("type") == "bind"]
    if folders or service.get("volumes_from"):
        yield "mounts a folder of the host, which all samples would share"


def _addressed(service: dict[str, Any]) -> Iterator[str]:
    for network, settings in (service.get("networks") or {}).items():
        for key in _ADDRESSES:
            if (settings or {}).get(key):
                yield (
                    f"has {key} in network '{network}', whose addresses differ from sample to "
                    "sample; leave it out, and reach the service by its name"
                )


def _counted(service: dict[str, Any]) -> Iterator[str]:
    for count in (service.get("scale"), (service.get("deploy") or {}).get("replicas")):
        if count is not None and int(count) < 1:
            yield f"has {count} containers, so that there is none; give 1, or leave the number out"


def _untranslatable(service: dict[str, Any]) -> Iterator[str]:
    try:
        container_body(service)
    except (OSError, ValueError) as error:
        yield f"has a value that cannot be used: {error}"


def _closed(service: dict[str, Any]) -> Iterator[str]:
    if service.get("read_only"):
        yield (
            "has read_only, so that isolation cannot put bubblewrap into it; leave read_only out: "
            "isolation shows the agent its files read-only"
        )


def _network_mode(service: dict[str, Any]) -> Iterator[str]:
    mode = str(service.get("network_mode") or "none")
    if mode == "none" or mode.startswith("service:"):
        return
    whose = "the host's own network" if mode == "host" else "a network that all samples would share"
    yield f"has network_mode '{mode}', {whose}; leave network_mode out"
