"""Scripted policies for tests, named as `support.policies:NAME`."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from control_tower import scripted
from control_tower.components import policy
from control_tower.contracts import Policy, RedContext, Turn

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

_MODEL = "scripted/test"


class _Calls(Policy):
    """Makes each call in turn, then submits."""

    def __init__(self, commands: list[str]) -> None:
        self.commands = list(commands)

    async def generate(self, turn: Turn) -> ModelOutput:
        if not self.commands:
            return scripted.submit(text="done", model=_MODEL)
        return scripted.call("bash", {"command": self.commands.pop(0)}, text="go", model=_MODEL)


@policy(modes=["honest", "attack"], asserts="main-task-solved")
def runs(commands: list[str]) -> Policy:
    """Run `commands` with bash, one a turn, then submit."""
    return _Calls(commands)


@policy(modes=["attack"], asserts="no-undetected-sabotage")
def attacks(commands: list[str]) -> Policy:
    """The same, for a policy that attacks."""
    return _Calls(commands)


@policy(modes=["honest"], asserts="none")
def chatters() -> Policy:
    """Run a command each turn, for ever, so that only a limit ends it."""
    return _Calls(["true"] * 10_000)


@policy(modes=["honest"], asserts="none")
def sleeps(seconds: float) -> Policy:
    """Take `seconds` of simulated work, then submit."""
    return _Sleeps(seconds)


class _Sleeps(Policy):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def generate(self, turn: Turn) -> ModelOutput:
        await anyio.sleep(self.seconds)
        return scripted.submit(text="done", model=_MODEL)


@policy(modes=["honest", "attack"], asserts="main-task-solved")
def flaky(
    errors: int,
    notes: str,
    only: str = "",
    after: int = 0,
    commands: list[str] | None = None,
) -> Policy:
    """Raise in the first `errors` attempts of each sample, counted in files below `notes`.

    With `only`, samples whose main task is not called so never raise. The others raise once
    `after` trajectories are below `notes`.
    """
    return _Flaky(errors, Path(notes), only, after, commands or ["echo yes > main.txt"])


class _Flaky(_Calls):
    def __init__(
        self, errors: int, notes: Path, only: str, after: int, commands: list[str]
    ) -> None:
        super().__init__(commands)
        self.errors, self.notes, self.only, self.after = errors, notes, only, after

    async def setup(self, context: RedContext) -> None:
        name = context.main_task.id if context.main_task else "none"
        if self.only and self.only != name:
            return
        while len(list(self.notes.glob("logs/*/trajectories/*.json"))) < self.after:
            await anyio.sleep(0.05)
        count = self.notes / f"{name}-{context.epoch}.attempts"
        seen = len(count.read_text()) if count.exists() else 0
        count.write_text("x" * (seen + 1))
        if seen < self.errors:
            raise RuntimeError(f"flaky error {seen + 1}")


@policy(modes=["honest"], asserts="main-task-solved")
def waits(commands: list[str], file: str) -> Policy:
    """As `runs`, and wait before each command but the first until the host has `file`."""
    return _Waits(commands, Path(file))


class _Waits(_Calls):
    def __init__(self, commands: list[str], file: Path) -> None:
        super().__init__(commands)
        self.file, self.is_first = file, True

    async def generate(self, turn: Turn) -> ModelOutput:
        while not (self.is_first or self.file.exists()):
            await anyio.sleep(0.05)
        self.is_first = False
        return await super().generate(turn)


@policy(modes=["honest"], asserts="none")
def sleeps_in(slow: list[str], seconds: str = "3600") -> Policy:
    """Submit at once, except in the main tasks called `slow`, where it sleeps in the sandbox.

    `seconds` makes the sleeping process recognisable from outside.
    """
    return _SleepsIn(slow, seconds)


class _SleepsIn(_Calls):
    def __init__(self, slow: list[str], seconds: str) -> None:
        super().__init__([])
        self.slow, self.seconds = slow, seconds

    async def setup(self, context: RedContext) -> None:
        if context.main_task is not None and context.main_task.id in self.slow:
            self.commands = [f"sleep {self.seconds}"] * 1000


GAUGE: list[int] = []
"""How many samples of `gauged` were at work, each time one began."""
_AT_WORK: set[int] = set()


@policy(modes=["honest"], asserts="none")
def gauged() -> Policy:
    """Note in `GAUGE` how many samples are at work at once."""
    return _Gauged()


class _Gauged(_Calls):
    def __init__(self) -> None:
        super().__init__(["sleep 0.3"])

    async def setup(self, context: RedContext) -> None:
        _AT_WORK.add(id(self))
        GAUGE.append(len(_AT_WORK))

    async def finish(self, context: RedContext) -> None:
        _AT_WORK.discard(id(self))


@policy(modes=["honest"], asserts="none")
def leaves(only: str) -> Policy:
    """Raise what is no Exception in the main task called `only`; submit in the others."""
    return _Leaves(only)


class _Leaves(_Calls):
    def __init__(self, only: str) -> None:
        super().__init__([])
        self.only = only

    async def setup(self, context: RedContext) -> None:
        if context.main_task is not None and context.main_task.id == self.only:
            raise SystemExit("enough")


@policy(modes=["honest"], asserts="main-task-solved")
def kills_its_process(only: list[str], times: int, notes: str, after: int = 0) -> Policy:
    """Solve every main task; in those called `only`, kill the process the first `times` times.

    The deaths are counted in files below `notes`. Each comes once `after` trajectories are there.
    """
    return _KillsItsProcess(only, times, Path(notes), after)


class _KillsItsProcess(_Calls):
    def __init__(self, only: list[str], times: int, notes: Path, after: int) -> None:
        super().__init__(["echo yes > main.txt"])
        self.only, self.times, self.notes, self.after = only, times, notes, after

    async def setup(self, context: RedContext) -> None:
        name = context.main_task.id if context.main_task else "none"
        count = self.notes / f"{name}.deaths"
        seen = len(count.read_text()) if count.exists() else 0
        if name not in self.only or seen >= self.times:
            return
        while len(list(self.notes.glob("logs/*/trajectories/*.json"))) < self.after:
            await anyio.sleep(0.05)
        count.write_text("x" * (seen + 1))
        os.kill(os.getpid(), signal.SIGKILL)


@policy(modes=["honest"], asserts="none")
def says_nothing() -> Policy:
    """Return None instead of a reply."""
    return _SaysNothing()


class _SaysNothing(Policy):
    async def generate(self, turn: Turn) -> ModelOutput:
        return None  # type: ignore[return-value]


@policy(modes=["honest", "attack"], asserts="none")
def proposes(rounds: list[list[str]]) -> Policy:
    """One round a turn: its first command, and the next ones when it is asked again.

    Which round it is depends on how many calls were executed. Then it submits.
    """
    return _Proposes(rounds)


class _Proposes(Policy):
    def __init__(self, rounds: list[list[str]]) -> None:
        self.rounds = rounds
        self.draws: Counter[int] = Counter()

    async def generate(self, turn: Turn) -> ModelOutput:
        answers = [m for m in turn.messages if m.role == "tool" and m.error is None]
        number = len(answers)
        if number >= len(self.rounds):
            return scripted.submit(text="done", model=_MODEL)
        commands = self.rounds[number]
        command = commands[min(self.draws[number], len(commands) - 1)]
        self.draws[number] += 1
        return scripted.call("bash", {"command": command}, text="go", model=_MODEL)
