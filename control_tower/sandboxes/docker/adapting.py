"""An environment's compose file as samples run it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, Model
from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, OWNER_LABEL

_MOST_PROCESSES = 1024
"""In one container, unless its environment says otherwise."""
_SHARES = 256
"""Of the processors, where others want them too: a quarter of what containers have by default."""


def adapted(
    model: Model,
    *,
    images: Mapping[str, str],
    owner: str,
    environment: str,
) -> Model:
    """The model that samples run.

    Built services get image names, so that nothing is built at a sample's start. Everything that
    is created carries our labels. Names that all samples would share are left out.

    Args:
        model: as `with_reach` gives it.
        images: image name by service, of those that are built.
        owner: value of `OWNER_LABEL`.
        environment: the environment's id.
    """
    made = deepcopy(model)
    made.pop("name", None)
    for key in [key for key in made if key.startswith("x-")]:
        del made[key]
    for name, service in made["services"].items():
        _adapt_service(service, images.get(name))
    agents = made["services"][AGENTS_SERVICE]
    agents["user"] = "0:0"  # so that the agent cannot end its container; commands name their user
    agents.setdefault("init", True)  # who waits for a process of its own to end needs a reaper
    labels = {OWNER_LABEL: owner, ENVIRONMENT_LABEL: environment}
    for thing in (
        *made["services"].values(),
        *_unnamed(made, "networks"),
        *_unnamed(made, "volumes"),
    ):
        thing["labels"] = {**(thing.get("labels") or {}), **labels}
    return made


def _adapt_service(service: dict[str, Any], image: str | None) -> None:
    if image is not None:
        service.pop("build", None)
        service["image"] = image
    service["pull_policy"] = "never"
    service.setdefault("cpu_shares", _SHARES)
    limits = ((service.get("deploy") or {}).get("resources") or {}).get("limits")
    if limits:  # compose wants the two to agree
        limits.setdefault("pids", service.get("pids_limit") or _MOST_PROCESSES)
    else:
        service.setdefault("pids_limit", _MOST_PROCESSES)


def _unnamed(model: Model, kind: str) -> list[dict[str, Any]]:
    """The model's networks or volumes, without names."""
    entries = {name: entry or {} for name, entry in (model.get(kind) or {}).items()}
    if entries:
        model[kind] = entries
    for entry in entries.values():
        entry.pop("name", None)
    return list(entries.values())
