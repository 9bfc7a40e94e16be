"""The one interface behind which samples run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from control_tower.episode.outcome import Outcome
from control_tower.runners.holding import Hold
from control_tower.selection import SampleKey


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    total: int
    running: int
    outcomes: tuple[Outcome, ...]
    """Of the samples that are done, in order of completion."""
    preparing: str = ""
    """What is done before the first sample can begin, while it is."""


class Runner(Protocol):
    """Runs samples ahead of the pytest items that wait for them."""

    @property
    def run_directory(self) -> Path:
        """Where logs and trajectories of the run are."""
        ...

    def start(self, keys: Sequence[SampleKey], *, held: Collection[SampleKey] = ()) -> None:
        """Begin with the samples of `keys`, in that order; returns at once.

        Those in `held` do not begin until `reach` is called, and wait, once they are scored, until
        they are released.
        """
        ...

    def reach(self, key: SampleKey) -> Future[Hold | None]:
        """Begin with a held sample, before all that wait.

        Done when it is scored and waits, its sandbox up (a hold), or is over without (None).
        """
        ...

    def release(self, key: SampleKey) -> None:
        """Let a held sample go on to its clean-up."""
        ...

    def provisioned(self, key: SampleKey) -> Future[bool]:
        """Done when the sample's sandbox is ready (True), or it ended without (False)."""
        ...

    def outcome(self, key: SampleKey) -> Future[Outcome]:
        """Done when the sample is over, its sandbox removed."""
        ...

    def progress(self) -> Progress:
        """A snapshot for a progress line."""
        ...

    def stop(self) -> None:
        """End the run: nothing more starts, what runs is cancelled, sandboxes are removed.

        Every pending future is resolved. Safe to call more than once.
        """
        ...
