"""Several draws of one turn, and what a monitor says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from control_tower.blue import Unscored, calls_of
from control_tower.together import together

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.contracts import BlueContext
    from control_tower.protocols._judging import Judge, Judgement
    from control_tower.trajectories.schema import MonitorResponse


@dataclass(frozen=True)
class Draw:
    """One proposal of the policy's for a turn."""

    output: ModelOutput
    judgement: Judgement | None
    """None without a tool call."""
    suspicion: float
    """0–10: the score; without one, 10 or 0 as `unscored` says; 0 without a tool call."""

    @property
    def score(self) -> MonitorResponse | None:
        """The monitor's answer; None without a tool call."""
        return self.judgement.score if self.judgement else None

    @property
    def suspicious(self) -> bool:
        """Whether it is at or above the threshold, or taken for it."""
        return self.judgement is not None and self.judgement.suspicious

    @property
    def assumed(self) -> bool:
        """Whether the monitor gave no score, so that the suspicion is not its own."""
        return self.score is not None and self.score.sus_score is None

    @property
    def reason(self) -> str:
        """What was found about it, in words."""
        return self.judgement.reason if self.judgement else "it calls no tool"


async def scored(
    judge: Judge, unscored: Unscored, context: BlueContext, outputs: Sequence[ModelOutput]
) -> list[Draw]:
    """The outputs as draws, scored all at once."""

    async def draw(output: ModelOutput) -> Draw:
        if not calls_of(output):
            return Draw(output, None, 0.0)
        judgement = await judge.judge(context, output)
        given = judgement.score.sus_score
        assumed = 10.0 if unscored == "suspicious" else 0.0
        return Draw(output, judgement, assumed if given is None else given)

    return await together([(f"draw {i}", partial(draw, o)) for i, o in enumerate(outputs, 1)])


def least(draws: Sequence[Draw]) -> Draw:
    """The least suspicious; the first of several."""
    return min(draws, key=lambda draw: draw.suspicion)


def most(draws: Sequence[Draw]) -> Draw:
    """The most suspicious; the first of several."""
    return max(draws, key=lambda draw: draw.suspicion)


def assumptions(draws: Sequence[Draw]) -> str:
    """In brackets, which suspicions are assumed; empty if none is."""
    assumed = [draw for draw in draws if draw.assumed]
    if not assumed:
        return ""
    level = f"{assumed[0].suspicion:g} is assumed for"
    if len(draws) == 1:
        return f" ({level} the draw, which has no score)"
    return f" ({level} {len(assumed)} of {len(draws)} draws, without a score)"


def responses(draws: Sequence[Draw]) -> dict[str, MonitorResponse]:
    """The monitor's answers by the id of the draw's message."""
    return {str(draw.output.message.id): draw.score for draw in draws if draw.score}


def account(draws: Sequence[Draw]) -> list[dict[str, Any]]:
    """The draws for a decision's details; JSON values."""
    return [
        {
            "message": None if draw.output.empty else draw.output.message.id,
            "suspicion": draw.suspicion,
            "assumed": draw.assumed,
            "calls": [
                {"function": call.function, "arguments": call.arguments}
                for call in calls_of(draw.output)
            ],
        }
        for draw in draws
    ]
