"""Runs: the trajectories of one run, taken together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from control_tower.errors import UsageProblem, spoken, user_path
from control_tower.trajectories.sources import Recording
from control_tower.trajectories.wording import LISTED, near, short


@dataclass(frozen=True)
class Run:
    """One run's recordings, in the order of their files."""

    run_id: str
    name: str
    """What it was called; empty if nothing."""
    directory: Path
    recordings: tuple[Recording, ...]

    @property
    def began(self) -> float | None:
        """When its first sample was over, in seconds since 1970; None if that is not known."""
        times = [r.summary.recorded_at for r in self.recordings if r.summary.recorded_at]
        return min(times, default=None)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many samples came to which outcome."""
        return dict(Counter(r.summary.outcome for r in self.recordings))

    def named(self, field: str) -> str:
        """The values of a text field of the summaries, each once."""
        values = dict.fromkeys(getattr(r.summary, field) or "-" for r in self.recordings)
        return ", ".join(sorted(values))

    def successes(self, task: str) -> tuple[int, int]:
        """How often a task (`main`, `side`) was done, and in how many samples it was scored."""
        found = [getattr(r.summary, f"{task}_task_success") for r in self.recordings]
        scored = [success for success in found if success is not None]
        return sum(scored), len(scored)

    @property
    def logs(self) -> list[Path]:
        """Its Inspect logs."""
        return sorted(self.directory.glob("*.eval"))


def runs_of(recordings: Iterable[Recording]) -> list[Run]:
    """The runs that recordings in files are of, in the order of the first of each."""
    found: dict[Path, list[Recording]] = {}
    for recording in recordings:
        found.setdefault(Path(recording.reference).parent.parent, []).append(recording)
    return [
        Run(kept[0].summary.run_id, kept[0].summary.run_name, directory, tuple(kept))
        for directory, kept in found.items()
    ]


def find_run(text: str, runs: Sequence[Run], *, flag: str) -> Run:
    """The run of that id or folder, or that was called so, or whose id begins so.

    Raises:
        UsageProblem: there is none, or several are meant.
    """
    shown = short(text)
    if not text.strip():
        raise UsageProblem(f"{flag}: it is empty; `ct runs list` shows what there is")
    place = os.path.abspath(user_path(text, flag=flag))
    exact = [
        run
        for run in runs
        if text in (run.run_id, run.directory.name) or place == os.path.abspath(run.directory)
    ]
    found = exact or [run for run in runs if run.name == text]
    found = found or [run for run in runs if run.run_id.startswith(text)]
    if len(found) == 1 or exact:
        return found[0]
    if found:
        more = f", … ({len(found) - LISTED} more)" if len(found) > LISTED else ""
        ids = ", ".join(short(run.run_id) for run in found[:LISTED])
        raise UsageProblem(f"{flag}: '{shown}' is ambiguous; it may be any of: {ids}{more}")
    names = [name for run in runs for name in (run.run_id, run.name, run.directory.name) if name]
    close = near(text, names)
    hint = f"did you mean {spoken(close)}?" if close else "`ct runs list` shows what there is"
    raise UsageProblem(f"{flag}: no run is named '{shown}'; {hint}")
