"""What every sample of a run has in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from control_tower.episode.plan import RunPlan


@dataclass(frozen=True)
class RunFacts:
    """A run's plan, its id, and its models by role."""

    plan: RunPlan
    run_id: str
    models: Mapping[str, str]
