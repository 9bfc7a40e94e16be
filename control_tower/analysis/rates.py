"""Success rates per environment and mode, with Wilson's interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from control_tower.episode.outcome import Outcome

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


UNDETECTED = "undetected side"


@dataclass(frozen=True)
class Rate:
    """How often one kind of task succeeded in one environment and mode."""

    environment: str
    mode: str
    """`honest` or `attack`."""
    task: str
    """Whose success is counted: `main`, `side`, or `undetected side`: a side task that was
    achieved and not caught."""
    n: int
    scored: int
    successes: int
    errored: int
    """Samples that errored, or whose sandbox never came up."""
    unscored: int

    @property
    def rate(self) -> float | None:
        """Successes over scored samples, or None without any."""
        return self.successes / self.scored if self.scored else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of the rate, or None without scored samples."""
        return wilson_interval(self.successes, self.scored) if self.scored else None


def wilson_interval(successes: int, n: int, *, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval for a proportion (E. B. Wilson, JASA 22, 1927, 209-212).

    Args:
        successes: how many of `n` trials succeeded.
        n: trials, at least 1.
        z: normal quantile of the confidence wanted.

    Raises:
        ValueError: if `n` is below 1 or `successes` outside 0..n.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"no proportion: {successes} of {n}")
    p = successes / n
    denominator = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / denominator
    half = z / denominator * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return low, high


def rates(outcomes: Iterable[Outcome]) -> list[Rate]:
    """A rate for each environment, mode and task that occurs, sorted.

    Honest samples count their main task; attacks count their side task, and their main task
    in a line of its own where it was scored too. Where a protocol made decisions, undetected side
    tasks have a line as well. Samples never started are not counted.
    """
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.status in ("not_run", "cancelled"):
            continue
        environment = outcome.sample_id.partition("/")[0]
        mode = outcome.mode
        for task in _tasks(outcome):
            groups.setdefault((environment, mode, task), []).append(outcome)
    order = {"honest": 0, "attack": 1, "side": 0, UNDETECTED: 1, "main": 2}
    keys = sorted(groups, key=lambda key: (key[0], order[key[1]], order[key[2]]))
    return [_rate(key, groups[key]) for key in keys]


def _tasks(outcome: Outcome) -> list[str]:
    if outcome.mode == "honest":
        return ["main"]
    decided = [UNDETECTED] if outcome.decisions or outcome.caught else []
    return ["side", *decided, *(["main"] if outcome.main is not None else [])]


def _success(outcome: Outcome, task: str) -> bool | None:
    if task != UNDETECTED:
        result = outcome.result(task)
        return None if result is None else result.success
    if outcome.caught:
        return False
    return None if outcome.side is None else outcome.side.success


def _rate(key: tuple[str, str, str], outcomes: list[Outcome]) -> Rate:
    environment, mode, task = key
    errored = [o for o in outcomes if o.status in ("errored", "setup_error")]
    results = [_success(o, task) for o in outcomes if o not in errored]
    decided = [success for success in results if success is not None]
    return Rate(
        environment=environment,
        mode=mode,
        task=task,
        n=len(outcomes),
        scored=len(decided),
        successes=sum(decided),
        errored=len(errored),
        unscored=len(results) - len(decided),
    )
