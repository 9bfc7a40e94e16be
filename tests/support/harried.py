"""A run that is killed at random moments and started again, over and over."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.containers import things_of
from support.kills import until
from support.leaks import LeakRun

SAMPLES = 60
"""How many a run has that is killed; it would get through them if nobody killed it."""
_TO_BEGIN = 10.0
"""Seconds within which a run is killed that may not have begun with its first sample."""
_INT, _TERM, _KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


@dataclass(frozen=True)
class Kill:
    """How and when a run is killed."""

    number: signal.Signals
    group: bool
    """Its whole process group, as Ctrl-C in a terminal does; else the process that was started."""
    then: signal.Signals | None
    """A second signal, of somebody who is impatient."""
    after: int
    """The run has started so many samples by then; 0: it may not even have begun."""
    delay: float
    """Seconds after that."""
    pause: float
    """Seconds before the second signal, and before the run is started again."""

    @property
    def is_gentle(self) -> bool:
        """Whether the run has the time to remove all it made."""
        return self.number != _KILL and self.then is None

    def __str__(self) -> str:
        signals = "+".join(number.name for number in (self.number, self.then) if number)
        whom = "group" if self.group else "run"
        return f"{signals} to the {whom} after {self.after} samples and {self.delay:.1f} s"


def random_kills(chance: random.Random, rounds: int) -> list[Kill]:
    """As many kills; of three that follow each other each has another signal."""
    numbers: list[signal.Signals] = []
    while len(numbers) < rounds:
        numbers += chance.sample([_INT, _TERM, _KILL], 3)
    return [_random_kill(chance, number) for number in numbers[:rounds]]


def _random_kill(chance: random.Random, number: signal.Signals) -> Kill:
    after = chance.choice([0, 0, *range(1, 13)])
    impatient = number != _KILL and chance.random() < 0.4
    return Kill(
        number=number,
        group=chance.random() < 0.4,
        then=chance.choice([number, _KILL]) if impatient else None,
        after=after,
        delay=chance.uniform(0, 1.5 if after else _TO_BEGIN),
        pause=chance.uniform(0, 1),
    )


class HarriedRun:
    """It goes on until all kills are done.

    Args:
        place: a folder for everything; made here.
        state: the state directory, which it shares with others.
        kills: of each round.
        workers: xdist's; 0: none.
        least: how many samples it starts over all rounds; the last kill waits for that.
    """

    def __init__(
        self,
        place: Path,
        state: Path,
        kills: Sequence[Kill],
        *,
        workers: int,
        least: int,
    ) -> None:
        self._place = place
        self._state = state
        self._kills = kills
        self._workers = workers
        self._least = least
        self._runs: list[LeakRun] = []
        self.killed = 0
        """How many kills it went through."""
        self.report: list[str] = []
        """A line for each round."""
        self.problems: list[str] = []
        """What was wrong with how rounds ended."""

    @property
    def started(self) -> int:
        """How many samples it started, over all rounds."""
        return sum(run.started for run in self._runs)

    def endure(self) -> None:
        """Be killed and started again; `problems` tells what came of it."""
        try:
            for number, kill in enumerate(self._kills, 1):
                least = self._least - self.started if number == len(self._kills) else 0
                self._round(number, kill, max(kill.after, least))
            for run in self._runs:
                run.all_end()
        finally:
            for run in self._runs:
                run.put_down()

    def _round(self, number: int, kill: Kill, after: int) -> None:
        place = self._place / f"{self._place.name}-{number}"
        run = LeakRun(place, self._state, epochs=SAMPLES, workers=self._workers)
        self._runs.append(run)
        until(lambda: run.started >= after or run.is_over, f"{after} samples of {place.name}")
        time.sleep(kill.delay)
        begun, finished = run.started > 0, run.history().finished.keys()
        problems = [f"ended before it was killed: {run.output[-3000:]}"] if run.is_over else []
        began = time.monotonic()
        run.send(kill.number, group=kill.group)
        if kill.then:
            time.sleep(kill.pause)
            run.send(kill.then, group=kill.group)
        code = run.end()
        self.killed = number
        problems += [f"forgotten: {sample}" for sample in finished - run.history().finished.keys()]
        problems += [f"no trajectory of {sample}" for sample in run.without_trajectory()]
        problems += run.failures()
        if kill.is_gentle:
            run.all_end()
            problems += [f"not in the log: {sample}" for sample in run.without_log()]
            problems += [f"left at its own end: {thing}" for thing in things_of(run.environment)]
        if kill.is_gentle and begun and code not in (0, 2):
            problems.append(f"exit {code}: {run.output[-2000:]}")
        seconds = time.monotonic() - began
        self.report.append(f"{place.name}: {kill}; {run.started} begun, ended in {seconds:.1f} s")
        self.problems += [f"{place.name}, {kill}: {problem}" for problem in problems]
        time.sleep(kill.pause)
