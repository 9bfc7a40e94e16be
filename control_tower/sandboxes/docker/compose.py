"""An environment's compose file as we run it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.engine import OWNER_LABEL, RUN_LABEL
from control_tower.sandboxes.errors import SandboxRefused

Model = dict[str, Any]
"""A compose file as `docker compose config` resolves it."""

AGENTS_SERVICE = "default"
"""The service in which the agent works."""

_NO_ADDRESS = "com.docker.network.bridge.inhibit_ipv4"
_RESOLVE = 60
"""Seconds."""
_NAME = "control-tower"
"""A project name for resolving; each sample has one of its own."""


def resolved(compose_file: Path) -> Model:
    """The compose file with variables, extensions and relative paths resolved.

    Raises:
        SandboxRefused: `docker compose` does not accept it; with its words.
    """
    command = ["docker", "compose", "-p", _NAME, "-f", str(compose_file)]
    done = subprocess.run(
        [*command, "config", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=_RESOLVE,
        check=False,
        env=os.environ | {"COMPOSE_PROFILES": os.environ.get("COMPOSE_PROFILES", "")},
    )
    if done.returncode != 0:
        said = " / ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise SandboxRefused(f"{compose_file}: docker compose does not accept it: {said[-1000:]}")
    model: Model = json.loads(done.stdout)
    return model


def refuse_unfit(compose_file: Path, model: Model, *, internet: bool) -> None:
    """Refuse what cannot be run many times at once, or would lead round the sandbox.

    Args:
        compose_file: named in the refusal.
        model: as `resolved` gives it.
        internet: whether the environment asks for it.

    Raises:
        SandboxRefused: for the first such thing, in one line.
    """
    problem = next(_problems(model, internet=internet), None)
    if problem is not None:
        raise SandboxRefused(f"{compose_file}: {problem}")


def _problems(model: Model, *, internet: bool) -> Iterator[str]:
    if AGENTS_SERVICE not in model["services"]:
        yield f"there is no service '{AGENTS_SERVICE}', which is the agent's"
    for name, service in model["services"].items():
        if service.get("container_name"):
            yield f"service '{name}' has a container_name, and every sample has one of its own"
        if any(port.get("published") for port in service.get("ports") or ()):
            yield f"service '{name}' publishes a port, which only one sample at once could have"
        mode = str(service.get("network_mode") or "none")
        if not internet and mode != "none" and not mode.startswith("service:"):
            yield (
                f"service '{name}' has network_mode '{mode}', and environment.yaml says "
                "`network: none`"
            )
    for kind in ("networks", "volumes"):
        for name, entry in (model.get(kind) or {}).items():
            if (entry or {}).get("external"):
                yield f"'{name}' in {kind} is external, and all samples would share it"


def needs_network(model: Model, *, internet: bool) -> bool:
    """Whether each sample takes a network of its own from the engine's pool of addresses."""
    return internet or len(model["services"]) > 1


def adapted(
    model: Model, *, images: Mapping[str, str], internet: bool, owner: str, environment: str
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
    """
    labels = {OWNER_LABEL: owner, RUN_LABEL: environment}
    adapted = deepcopy(model)
    adapted.pop("name", None)  # each sample's project has its own
    alone = not needs_network(model, internet=internet)
    for name, service in adapted["services"].items():
        service["labels"] = {**(service.get("labels") or {}), **labels}
        if name in images:
            service.pop("build", None)
            service["image"] = images[name]
            service["pull_policy"] = "never"
            service["x-local"] = True  # Inspect would pull what is not built otherwise
        if alone:
            service.pop("networks", None)
            service["network_mode"] = "none"
    if alone:
        adapted.pop("networks", None)
    for kind in ("networks", "volumes"):
        for entry in _named(adapted, kind).values():
            entry["labels"] = {**(entry.get("labels") or {}), **labels}
            entry.pop("name", None)  # a name would be shared by all samples
            if kind == "networks" and not internet:
                entry["internal"] = True
                # Else the host's own services answer on the bridge's address (Engine 26.1).
                entry.setdefault("driver_opts", {})[_NO_ADDRESS] = "true"
    return adapted


def _named(model: Model, kind: str) -> dict[str, Any]:
    """The model's networks or volumes, empty definitions made mappings."""
    entries = {name: entry or {} for name, entry in (model.get(kind) or {}).items()}
    if entries:
        model[kind] = entries
    return entries
