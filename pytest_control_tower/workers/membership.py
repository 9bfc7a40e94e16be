"""What a worker is told of the run that it takes part in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, ConfigDict

from control_tower.environments.changes import Changes
from control_tower.models import ModelSpec, RoleModels
from pytest_control_tower.workers.shares import share_of, slots_of

if TYPE_CHECKING:
    from control_tower.episode.plan import RunPlan

_INPUT = "control_tower"


class Membership(BaseModel):
    """One worker's part of a run; xdist carries it to the worker as JSON."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")

    version: int = 1
    parent: int
    """Pid of the process that hands out the shares."""
    folder: str
    """The current folder of that process: the worker may be in another."""
    run_id: str
    started_at: float
    """When that process began, in seconds since the epoch: it is in the directory's name."""
    worker: int
    """Which worker, from 0; one that takes over has the number of the one that died."""
    workers: int
    items: tuple[int, ...] | None = None
    """Indices of its items, if it takes over; None: its share of all."""

    changes: Changes | None = None
    """What had changed when the run began, if only that is run: files may change meanwhile."""
    extra_src: tuple[str, ...] = ()
    """Absolute directories of `--ct-extra-src`: the worker may be in another folder."""
    recordings: dict[str, tuple[str, ...]] = {}
    """What is replayed, by what the user wrote: more recordings may be found for it meanwhile."""
    models: tuple[ModelSpec, ...] | None = None
    """The models of the run, which hold no secrets; None: they were not looked up by then."""

    def models_of(self, plan: RunPlan) -> RoleModels:
        """The models of the run: the worker's own folder and its project file do not matter.

        Raises:
            UsageProblem: if they were not looked up by then, and something is wrong with them.
        """
        if self.models is not None:
            return RoleModels(self.models)
        with contextlib.chdir(self.folder):
            return plan.models()

    def share(self, node_ids: Sequence[str], samples: Mapping[str, str]) -> list[int]:
        """Indices of this worker's items among all that were collected; see `share_of`."""
        if self.items is not None:
            return list(self.items)
        return share_of(node_ids, samples, self.worker, self.workers)

    def slots(self, max_samples: int) -> int:
        """How many samples it runs at once."""
        return slots_of(max_samples, self.worker, self.workers)

    def connections(self, max_connections: int | None) -> int | None:
        """How many connections to a model's API it opens at most: its part, but one at least."""
        if max_connections is None:
            return None
        return max(1, slots_of(max_connections, self.worker, self.workers))

    def started_by_parent(self) -> bool:
        """In a worker: whether the process that started it still runs."""
        return os.getppid() == self.parent

    def tell(self, workerinput: dict[str, Any]) -> None:
        """Put it into what xdist sends to the worker."""
        workerinput[_INPUT] = self.model_dump_json()


def membership_of(config: pytest.Config) -> Membership | None:
    """What this process was told, or None if it is no worker of a control run."""
    raw = getattr(config, "workerinput", {}).get(_INPUT)
    return Membership.model_validate_json(raw) if raw is not None else None


def deals_out(config: pytest.Config) -> bool:
    """Whether xdist makes this process one that runs no items itself."""
    option = config.option
    distributes = getattr(option, "dist", "no") != "no" and bool(getattr(option, "tx", None))
    return distributes and not option.collectonly and not hasattr(config, "workerinput")
