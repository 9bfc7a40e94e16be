"""What was done in a session: a line a step, written as it happens."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

Kind = Literal["exec", "shell", "copy"]
_BY_KEYS = {130: "ended with Ctrl-C", 131: "ended with Ctrl-\\", 148: "stopped with Ctrl-Z"}
"""Exit codes of a shell's commands."""


class Entry(BaseModel):
    """A line of the record. A shell makes one for each of its commands."""

    model_config = ConfigDict(extra="ignore")

    version: Literal[1] = 1
    kind: Kind
    command: str
    """A bash command or script that does it again, in the folder `folder`."""
    output: str = ""
    """As the agent would see it, or as the terminal showed it."""
    error: str | None = None
    """What the agent's tool would say of a failure that is no exit code."""
    code: int = 0
    """The exit code."""
    seconds: float = 0.0
    """How long it took."""
    timeout: int | None = None
    """Seconds that it was allowed; None: as many as the agent's tool allows by itself."""
    shell: str = ""
    """Which shell it was typed in."""
    folder: str = ""
    """Where a shell's command was typed."""
    problem: str = ""
    """Why `command` does not do it again, if it does not."""


@dataclass
class Step:
    """One action of the trajectory: an entry, or what one shell did without a break."""

    kind: Kind
    command: str
    output: str
    error: str | None
    code: int
    """Of an entry; of a shell, the last one other than 0."""
    seconds: float
    timeout: int | None = None
    problem: str = ""
    last_code: int = 0
    """The exit code of all of it, as a script."""
    failed: list[str] = field(default_factory=list)
    """The commands that ended with another exit code than 0, with that."""


class StepLog:
    """The file of a session's entries."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, entry: Entry) -> None:
        """Append an entry; it is there when this returns, whatever becomes of the process."""
        with self._path.open("a", encoding="utf-8", errors="replace") as stream:
            stream.write(json.dumps(entry.model_dump(), ensure_ascii=False) + "\n")

    def entries(self) -> list[Entry]:
        """All entries so far; half a line of a killed process is left out."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        # Not `splitlines`, which would also end a line where an output has an odd separator.
        return [entry for line in text.split("\n") if (entry := _entry(line)) is not None]

    def steps(self, workspace: str) -> list[Step]:
        """The steps; commands that one shell ran one after the other are one.

        Args:
            workspace: where every step begins.
        """
        return steps_of(self.entries(), workspace)


def steps_of(entries: Iterable[Entry], workspace: str) -> list[Step]:
    """The steps that entries make."""
    steps: list[Step] = []
    last: Entry | None = None
    for entry in entries:
        goes_on = last is not None and entry.shell != "" and last.shell == entry.shell
        if goes_on:
            _extend(steps[-1], entry)
        else:
            steps.append(_begun(entry, workspace))
        last = entry
    return steps


def _begun(entry: Entry, workspace: str) -> Step:
    command = _again(entry)
    if entry.folder and entry.folder != workspace:
        command = f"cd {shlex.quote(entry.folder)}\n{command}"
    step = Step(entry.kind, command, entry.output, entry.error, entry.code, entry.seconds,
                entry.timeout, entry.problem, entry.code)  # fmt: skip
    _note_failure(step, entry)
    return step


def _again(entry: Entry) -> str:
    """What does it again; nobody would be there to press the keys that ended or stopped it."""
    if entry.kind != "shell" or entry.code not in _BY_KEYS:
        return entry.command
    lines = entry.command.split("\n")
    return "\n".join([f"# {_BY_KEYS[entry.code]}:", *(f"# {line}" for line in lines)])


def _extend(step: Step, entry: Entry) -> None:
    step.command += f"\n{_again(entry)}"
    step.output += entry.output
    step.seconds += entry.seconds
    step.code = entry.code or step.code
    step.last_code = entry.code
    _note_failure(step, entry)


def _note_failure(step: Step, entry: Entry) -> None:
    if entry.code or entry.error:
        first = entry.command.split("\n")[0]
        step.failed.append(f"{first[:80]} ({entry.error or f'exit code {entry.code}'})")


def _entry(line: str) -> Entry | None:
    try:
        return Entry.model_validate_json(line)
    except ValidationError:
        return None
