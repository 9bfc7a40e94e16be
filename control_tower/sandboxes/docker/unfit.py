"""What an environment's compose file must not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, Model
from control_tower.sandboxes.errors import EnvironmentRefused

_POWERS = frozenset(
    ("ALL", "DAC_READ_SEARCH", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "BPF")
)
_LEADING_OUT = ("privileged", "devices", "pid", "ipc", "uts", "cgroup", "userns_mode")


def refuse_unfit(compose_file: Path, model: Model, *, internet: bool) -> None:
    """Refuse what cannot be run many times at once, or would lead round the sandbox.

    Args:
        compose_file: named in the refusal.
        model: as `resolved` gives it.
        internet: whether the environment asks for it.

    Raises:
        EnvironmentRefused: for all such things, in one line.
    """
    problems = list(unfit(model, internet=internet))
    if problems:
        raise EnvironmentRefused(f"{compose_file}: {'; '.join(problems)}")


def unfit(model: Model, *, internet: bool) -> Iterator[str]:
    """What `refuse_unfit` refuses, a text each."""
    if AGENTS_SERVICE not in model["services"]:
        yield f"there is no service '{AGENTS_SERVICE}', which is the agent's"
    for name, service in model["services"].items():
        said = (*_shared(service), *_leading_out(service), *_network_mode(service, internet))
        yield from (f"service '{name}' {words}" for words in said)
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


def _leading_out(service: dict[str, Any]) -> Iterator[str]:
    for key in _LEADING_OUT:
        if service.get(key) not in (None, False, [], ""):
            yield f"has {key}, which leads out of its container"
    options = [option for option in service.get("security_opt") or () if "unconfined" in option]
    for given in (*options, *sorted(_POWERS & set(service.get("cap_add") or ()))):
        yield f"has {given}, with which one can leave its container"


def _network_mode(service: dict[str, Any], internet: bool) -> Iterator[str]:
    mode = str(service.get("network_mode") or "none")
    if not internet and mode != "none" and not mode.startswith("service:"):
        yield f"has network_mode '{mode}', and environment.yaml says `network: none`"
