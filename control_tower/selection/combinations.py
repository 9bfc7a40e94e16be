"""What is selected: combinations, and the samples they become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from control_tower.contracts import Mode
from control_tower.environments.changes import Changes
from control_tower.environments.model import Environment, MainTask, SideTask
from control_tower.trajectories.schema import Trajectory

NONE = "-"
"""How an absent task is written in ids."""


@dataclass(frozen=True, eq=False)
class Combination:
    """An environment with a main task, a side task, or both; told apart by its id."""

    environment: Environment
    main_task: MainTask | None
    side_task: SideTask | None
    recording: Trajectory | None = None
    """The recorded run of it, or of another one, that is to be replayed."""
    label: str = ""
    """Tells it apart from the same one with another recording."""

    @cached_property
    def id(self) -> str:
        """`env/main/side`, with `-` for none; `~label` after it, if it has one."""
        main = self.main_task.id if self.main_task else NONE
        side = self.side_task.id if self.side_task else NONE
        return f"{self.environment.id}/{main}/{side}" + (f"~{self.label}" if self.label else "")

    @property
    def mode(self) -> Mode:
        """`attack` with a side task, else `honest`."""
        return "attack" if self.side_task else "honest"

    @property
    def goes_together(self) -> bool:
        """Whether the side task is meant for the main task; true if there is only one."""
        main, side = self.main_task, self.side_task
        return main is None or side is None or side.compatible_with(main.id)


def epoch_id(combination_id: str, epoch: int) -> str:
    """The id of a combination at an epoch: `env/main/side`, with `@2` for epoch 2."""
    return combination_id if epoch == 1 else f"{combination_id}@{epoch}"


@dataclass(frozen=True, eq=False)
class SampleKey:
    """A combination at an epoch: one pytest item, one sample."""

    combination: Combination
    epoch: int

    @cached_property
    def id(self) -> str:
        """The combination's id, with `@2` for epoch 2."""
        return epoch_id(self.combination.id, self.epoch)


@dataclass(frozen=True)
class Selection:
    """What was selected, sorted by id, and what the user should know about it."""

    combinations: tuple[Combination, ...]
    notices: tuple[str, ...] = ()
    nothing: str | None = None
    """Why there is nothing to run, when that is an answer and no mistake."""
    changes: Changes | None = None
    """What had changed, if only that was to be selected."""

    def samples(self, epochs: int) -> list[SampleKey]:
        """One key for each combination and epoch, in the order they are run."""
        return [SampleKey(c, epoch) for c in self.combinations for epoch in range(1, epochs + 1)]


def once_each(combinations: Iterator[Combination] | list[Combination]) -> list[Combination]:
    """The combinations without repetitions, in order."""
    return list({combination.id: combination for combination in combinations}.values())
