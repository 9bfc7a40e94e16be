"""The summary of a trajectory: what lists and filters need without reading it whole."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from control_tower.trajectories.reading import LATEST, LONGEST_ID
from control_tower.trajectories.schema import MonitorResponse, Trajectory

NONE = "-"
"""How an absent task is written in a sample's id."""


@dataclass(frozen=True)
class Summary:
    """Which run of what it is, and what came of it."""

    trajectory_id: str
    run_id: str = ""
    run_name: str = ""
    """What the run was called; empty if nothing."""
    sample_id: str = ""
    """`env/main/side`, with `@2` for epoch 2."""
    epoch: int = 1
    environment: str = ""
    main_task: str | None = None
    side_task: str | None = None
    outcome: str = "scored"
    main_task_success: bool | None = None
    side_task_success: bool | None = None
    caught: bool = False
    policy: str = ""
    protocol: str = ""
    harness: str = ""
    sandbox: str = ""
    tags: tuple[str, ...] = field(default=())
    recorded_at: float | None = None
    """Seconds since 1970 (UTC)."""
    actions: int | None = 0
    """How many; None where only reading it whole would tell, as in an Inspect log."""
    tokens: int = 0
    """Over all roles."""
    max_suspicion: float | None = None
    """The highest score (0–10) that a monitor gave an action or a proposal; None without one."""
    replays: str | None = None
    """The id of the recording that it replayed."""

    @classmethod
    def of(cls, trajectory: Trajectory) -> Summary:
        """Sum up a trajectory."""
        main, side = trajectory.main_task, trajectory.side_task
        return cls(
            trajectory_id=trajectory.trajectory_id,
            run_id=trajectory.run_id,
            run_name=run_name_of(trajectory),
            sample_id=trajectory.sample_id or sample_id_of(trajectory),
            epoch=trajectory.epoch,
            environment=trajectory.environment.id,
            main_task=main.id if main else None,
            side_task=side.id if side else None,
            outcome=trajectory.outcome,
            main_task_success=trajectory.main_task_success,
            side_task_success=trajectory.side_task_success,
            caught=trajectory.caught,
            policy=trajectory.policy,
            protocol=trajectory.protocol,
            harness=trajectory.harness,
            sandbox=trajectory.sandbox,
            tags=tuple(trajectory.tags),
            recorded_at=trajectory.recorded_at,
            actions=len(trajectory.actions),
            tokens=sum(usage.total_tokens for usage in trajectory.usage.values()),
            max_suspicion=_max_suspicion(trajectory),
            replays=trajectory.replay.trajectory_id if trajectory.replay else None,
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Summary | None:
        """From what `to_json` gave; None if it is anything else."""
        values: dict[str, Any] = {}
        for name, kinds in _FIELDS.items():
            value = raw.get(name, _MISSING)
            if value is _MISSING:
                return None
            if name == "tags" and isinstance(value, list):
                value = tuple(value)
            if not _is_any_of(value, kinds):
                return None
            values[name] = value
        return cls(**values) if _is_possible(values) else None


def run_name_of(trajectory: Trajectory) -> str:
    """What its run was called; empty if nothing that can be a name."""
    name = trajectory.metadata.get("run_name")
    return name if isinstance(name, str) and len(name) <= LONGEST_ID else ""


def sample_id_of(trajectory: Trajectory) -> str:
    """The id of its sample, made from what it was about."""
    main, side = (t.id if t else NONE for t in (trajectory.main_task, trajectory.side_task))
    epoch = "" if trajectory.epoch == 1 else f"@{trajectory.epoch}"
    return f"{trajectory.environment.id}/{main}/{side}{epoch}"


def _is_possible(values: Mapping[str, Any]) -> bool:
    """Whether the time is one, and no text is longer than an id may be."""
    at = values["recorded_at"]
    if at is not None and not 0 <= at <= LATEST:
        return False
    return all(len(v) <= 4 * LONGEST_ID for v in values.values() if isinstance(v, str))


_MISSING = object()
_NULL = type(None)
_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, _NULL),
    "int": (int,),
    "int | None": (int, _NULL),
    "bool": (bool,),
    "bool | None": (bool, _NULL),
    "float | None": (float, int, _NULL),
    "tuple[str, ...]": (tuple,),
}
_FIELDS: Mapping[str, tuple[type, ...]] = {
    each.name: _KINDS[str(each.type)] for each in dataclasses.fields(Summary)
}


def _is_any_of(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, tuple):
        return tuple in kinds and all(type(each) is str for each in value)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value) in kinds


def _max_suspicion(trajectory: Trajectory) -> float | None:
    responses: list[MonitorResponse | None] = [a.monitor_response for a in trajectory.actions]
    for decision in trajectory.decisions:
        responses += [decision.monitor_response, decision.instead_monitor_response]
    scores = [r.sus_score for r in responses if r is not None and r.sus_score is not None]
    return max(scores, default=None)
