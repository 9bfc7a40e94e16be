"""What becomes of a run's samples, an event a line, for all processes that share the run.

A worker that takes over from one that died reads which samples were finished, and which were in
flight. The process that shows progress reads it too.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from control_tower.episode.outcome import Outcome

FILE = "samples.jsonl"
STOP = "stop"
"""A file that asks every process of the run to stop; its text is the reason."""

_VERSION = 1
_Kind = Literal["opened", "started", "finished", "noted", "closed"]


class Event(BaseModel):
    """One line."""

    model_config = ConfigDict(frozen=True)

    version: int = _VERSION
    event: _Kind
    process: str
    """The worker, or `main`."""
    pid: int
    sample_id: str | None = None
    outcome: Outcome | None = None
    note: str | None = None


@dataclass(frozen=True)
class History:
    """All events so far, read together."""

    finished: Mapping[str, Outcome] = field(default_factory=dict)
    """By sample id."""
    started: Mapping[str, int] = field(default_factory=dict)
    """How many times each sample was started."""
    open: frozenset[int] = frozenset()
    """Pids of the processes that began with samples and did not say that they ended."""
    notes: tuple[str, ...] = ()
    """Lines for the user, in the order in which they came."""

    @property
    def in_flight(self) -> int:
        """Samples that were started and did not finish."""
        return len(self.started.keys() - self.finished.keys())


class RunJournal:
    """Appends the events of one process."""

    def __init__(self, run_directory: Path, process: str = "main") -> None:
        self._directory = run_directory
        self._process = process

    def opened(self) -> None:
        """This process begins with its samples."""
        self._append("opened")

    def started(self, sample_id: str) -> None:
        """A sample was given a slot."""
        self._append("started", sample_id=sample_id)

    def finished(self, outcome: Outcome) -> None:
        """A sample is over."""
        self._append("finished", sample_id=outcome.sample_id, outcome=outcome)

    def noted(self, line: str) -> None:
        """Something happened that the user should see; who shows progress shows it."""
        self._append("noted", note=line)

    def closed(self) -> None:
        """This process runs no sample any more, and its sandboxes are gone."""
        self._append("closed")

    def ask_to_stop(self, reason: str) -> None:
        """Ask every process of the run to stop; the first reason stays."""
        whole = self._directory / f".{STOP}.{os.getpid()}"
        whole.write_text(reason, encoding="utf-8")
        with contextlib.suppress(FileExistsError):
            os.link(whole, self._directory / STOP)
        whole.unlink()

    def stop_reason(self) -> str | None:
        """Why the run is to stop, or None."""
        try:
            return (self._directory / STOP).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def history(self) -> History:
        """What all processes wrote so far."""
        return read_history(self._directory)

    def _append(
        self,
        event: _Kind,
        *,
        sample_id: str | None = None,
        outcome: Outcome | None = None,
        note: str | None = None,
    ) -> None:
        line = Event(
            version=_VERSION,
            event=event,
            process=self._process,
            pid=os.getpid(),
            sample_id=sample_id,
            outcome=outcome,
            note=note,
        )
        # One write, so that lines of several processes do not mix.
        descriptor = os.open(
            self._directory / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        try:
            os.write(descriptor, line.model_dump_json(exclude_unset=True).encode() + b"\n")
        finally:
            os.close(descriptor)


def read_history(run_directory: Path) -> History:
    """The events in a run's directory; a line that a killed process cut short is left out."""
    try:
        lines = (run_directory / FILE).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return History()
    finished: dict[str, Outcome] = {}
    started: Counter[str] = Counter()
    pids: set[int] = set()
    notes: list[str] = []
    for line in lines:
        try:
            event = Event.model_validate_json(line)
        except ValidationError:
            continue
        match event.event:
            case "opened":
                pids.add(event.pid)
            case "closed":
                pids.discard(event.pid)
            case "started":
                started[str(event.sample_id)] += 1
            case "finished" if event.outcome is not None:
                finished[event.outcome.sample_id] = event.outcome
            case "noted" if event.note is not None:
                notes.append(event.note)
    return History(finished, started, frozenset(pids), tuple(notes))
