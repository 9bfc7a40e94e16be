"""What is kept of a finished sample: its trajectory, and an outcome that says where things are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.episode.outcome import Outcome
from control_tower.episode.run_facts import RunFacts
from control_tower.episode.sample_outcome import outcome_of
from control_tower.episode.sample_trajectory import trajectory_of
from control_tower.runners.slots import Slot
from control_tower.trajectories.store import TrajectoryStore

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample


class Keeper:
    """Keeps what came of the samples of one eval.

    Args:
        facts: the run's plan, id and models.
        run_directory: where the log is, and trajectories go.
        task_name: the eval's, which its log is named after.
    """

    def __init__(self, facts: RunFacts, run_directory: Path, task_name: str) -> None:
        self._facts = facts
        self._run_directory = run_directory
        self._task_name = task_name
        self._store = TrajectoryStore(run_directory)
        self._log: Path | None = None
        """The eval's log, once it was seen: asked for at each sample."""

    def keep(self, sample: EvalSample, slot: Slot, *, environment_failed: bool) -> Outcome:
        """The outcome, after its trajectory was written.

        Args:
            sample: as Inspect reports it on completion.
            slot: the sample's.
            environment_failed: whether its environment could not be prepared for any sample.

        Raises:
            OSError: the trajectory cannot be written.
        """
        outcome = outcome_of(
            sample, slot.key, self._facts, enqueued_at=slot.enqueued_at, lost=slot.lost
        )
        log = self._log_file()
        trajectory = trajectory_of(
            sample, slot.key, self._facts, outcome, log=log.name if log else None
        )
        path = self._store.write(trajectory, sample_id=slot.key.id)
        return outcome.model_copy(
            update={
                "log": str(log or self._run_directory),
                "trajectory": str(path),
                "environment_failed": environment_failed,
            }
        )

    def not_kept(self, slot: Slot, error: Exception) -> Outcome:
        """The outcome of a sample of which something could not be kept."""
        problem = (
            f"its outcome could not be kept in {self._run_directory}: "
            f"{type(error).__name__}: {error}"
        )
        return Outcome(sample_id=slot.key.id, status="errored", error=problem)

    def _log_file(self) -> Path | None:
        if self._log is None:
            self._log = next(
                iter(sorted(self._run_directory.glob(f"*_{self._task_name}_*.eval"))), None
            )
        return self._log
