"""What a Docker engine holds of test environments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, OWNER_LABEL, engine


def containers_of(environment: str) -> list[str]:
    """Names of this test's containers of an environment, running or not."""
    with engine() as client:
        found = client.containers.list(all=True, filters=_of(environment), ignore_removed=True)
        return sorted(str(c.name) for c in found if _is_this_test_s(c.labels))


def things_of(environment: str) -> list[str]:
    """Names of this test's containers, networks and volumes of an environment."""
    with engine() as client:
        things: Iterable[Any] = (
            *client.networks.list(filters=_of(environment)),
            *client.volumes.list(filters=_of(environment)),
        )
        others = [str(t.name) for t in things if _is_this_test_s((t.attrs or {}).get("Labels"))]
    return [*containers_of(environment), *others]


def _of(environment: str) -> dict[str, str | list[str] | bool]:
    return {"label": f"{ENVIRONMENT_LABEL}={environment}"}


def _is_this_test_s(labels: dict[str, str] | None) -> bool:
    """By the folder that the test's state directory is in; tests run side by side."""
    state = os.environ.get("CT_STATE_DIR")
    return state is None or str(Path(state).parent) in (labels or {}).get(OWNER_LABEL, "")
