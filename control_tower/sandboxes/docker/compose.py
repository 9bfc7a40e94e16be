"""An environment's compose file as we run it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, OWNER_LABEL
from control_tower.sandboxes.docker.healthchecks import calm_down
from control_tower.sandboxes.errors import EnvironmentRefused

Model = dict[str, Any]
"""A compose file as `docker compose config` resolves it."""

AGENTS_SERVICE = "default"
"""The service in which the agent works."""

_NO_ADDRESS = "com.docker.network.bridge.inhibit_ipv4"
_MOST_PROCESSES = 4096
"""In one container, unless its environment says otherwise."""
_RESOLVE = 60
"""Seconds."""
_NAME = "control-tower"
"""A project name for resolving; each sample has one of its own."""


def resolved(compose_file: Path, variables: Mapping[str, str] | None = None) -> Model:
    """The compose file with variables, extensions and relative paths resolved.

    Args:
        compose_file: as the environment's author wrote it.
        variables: put over those of this process.

    Raises:
        EnvironmentRefused: `docker compose` does not accept it; with its words.
    """
    command = ["docker", "compose", "-p", _NAME, "-f", str(compose_file)]
    try:
        done = subprocess.run(
            [*command, "config", "--format", "json"],
            capture_output=True,
            text=True,
            timeout=_RESOLVE,
            check=False,
            env={**os.environ, **(variables or {})},
        )
    except subprocess.TimeoutExpired:
        problem = f"docker compose did not read it within {_RESOLVE} seconds"
        raise EnvironmentRefused(f"{compose_file}: {problem}") from None
    if done.returncode != 0:
        said = " / ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise EnvironmentRefused(
            f"{compose_file}: docker compose does not accept it: {said[-1000:]}"
        )
    model: Model = json.loads(done.stdout)
    return model


def networks_of(model: Model, *, internet: bool) -> int:
    """How many networks each sample takes from the engine's pool of addresses."""
    alone = len(model["services"]) == 1 and not internet
    return 0 if alone else max(1, len(model.get("networks") or {}))


def adapted(
    model: Model,
    *,
    images: Mapping[str, str],
    internet: bool,
    owner: str,
    environment: str,
    start_intervals: bool,
) -> Model:
    """The model that samples run.

    Built services get image names, so that nothing is built at a sample's start. Everything that
    is created carries our labels. Without internet, a lone service has no network, and several
    share one that leads nowhere.

    Args:
        model: as `resolved` gives it.
        images: image name by service, of those that are built.
        internet: whether the environment asks for it.
        owner: value of `OWNER_LABEL`.
        environment: the environment's id.
        start_intervals: whether the engine knows them for health checks.
    """
    labels = {OWNER_LABEL: owner, ENVIRONMENT_LABEL: environment}
    adapted = deepcopy(model)
    adapted.pop("name", None)  # each sample's project has its own
    for key in [key for key in adapted if key.startswith("x-inspect")]:
        del adapted[key]  # what Inspect may be told is ours to say
    for name, service in adapted["services"].items():
        _adapt_service(service, images.get(name))
        if start_intervals:
            calm_down(service)
    agents = adapted["services"][AGENTS_SERVICE]
    agents["user"] = "0:0"  # so that the agent cannot end its container; commands name their user
    agents.setdefault("init", True)  # who waits for a process of its own to end needs a reaper
    if not networks_of(model, internet=internet):
        adapted.pop("networks", None)
        for service in adapted["services"].values():
            service.pop("networks", None)
            service["network_mode"] = "none"
    for network in _named(adapted, "networks"):
        if not internet:
            _close(network)
    for thing in (
        *adapted["services"].values(),
        *_named(adapted, "networks"),
        *_named(adapted, "volumes"),
    ):
        thing["labels"] = {**(thing.get("labels") or {}), **labels}
    return adapted


def _adapt_service(service: dict[str, Any], image: str | None) -> None:
    if image is not None:
        service.pop("build", None)
        service["image"] = image
        service["x-local"] = True  # Inspect would pull it otherwise
    service["pull_policy"] = "never"
    if "deploy" not in service:  # which has a limit of its own
        service.setdefault("pids_limit", _MOST_PROCESSES)


def _close(network: dict[str, Any]) -> None:
    """Let it lead nowhere: neither to the world nor to the host."""
    network.pop("driver", None)
    network["internal"] = True
    network["enable_ipv6"] = False
    # Else the host's own services answer on the bridge's address (Engine 26.1).
    network.setdefault("driver_opts", {})[_NO_ADDRESS] = "true"


def _named(model: Model, kind: str) -> list[dict[str, Any]]:
    """The model's networks or volumes, without the names that all samples would share."""
    entries = {name: entry or {} for name, entry in (model.get(kind) or {}).items()}
    if entries:
        model[kind] = entries
    for entry in entries.values():
        entry.pop("name", None)
    return list(entries.values())
