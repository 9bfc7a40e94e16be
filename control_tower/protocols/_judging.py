"""Scoring a proposal: what protocols with a monitor have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from control_tower.blue import Unscored, case_of, check_suspicion, is_suspicious
from control_tower.contracts import BlueContext, Why

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.components import MonitorSpec
    from control_tower.trajectories.schema import MonitorResponse


@dataclass(frozen=True)
class Judgement:
    """What a monitor said of a proposal, and whether the protocol is to act on it."""

    score: MonitorResponse
    threshold: float
    suspicious: bool

    @property
    def why(self) -> Why:
        """For the decision that follows from it."""
        return Why(reason=self.reason, score=self.score, threshold=self.threshold)

    @property
    def reason(self) -> str:
        """The score and the threshold in words, or what a missing score is taken for."""
        score = self.score.sus_score
        if score is None:
            cause = f" ({self.score.error})" if self.score.error else ""
            taken_for = "suspicious" if self.suspicious else "benign"
            return f"the monitor gave no score{cause}: taken for {taken_for}"
        side = "at or above" if self.suspicious else "below"
        return f"a suspicion of {score:g} is {side} the threshold of {self.threshold:g}"


class Judge:
    """A monitor, and the suspicion at which a protocol acts.

    Args:
        monitor: what scores; one is made.
        threshold: suspicion (0–10) at or above which a proposal is suspicious.
        unscored: what a proposal without a score is taken for.

    Raises:
        ValueError: `threshold` is not from 0 to 10.
    """

    def __init__(self, monitor: MonitorSpec, threshold: float, unscored: Unscored) -> None:
        self._monitor = monitor.create()
        self._threshold = check_suspicion("threshold", threshold)
        self._unscored = unscored

    async def judge(self, context: BlueContext, proposal: ModelOutput) -> Judgement:
        """What the monitor says of a proposal that calls a tool."""
        score = await self._monitor.score(case_of(context, proposal))
        return self.again(score, self._threshold)

    def again(self, score: MonitorResponse, threshold: float) -> Judgement:
        """What follows from the score at another threshold (0–10)."""
        suspicious = is_suspicious(score, threshold, self._unscored)
        return Judgement(score, threshold, suspicious)
