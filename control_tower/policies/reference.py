"""The `reference` policy: runs the reference solution and, in attack mode, the attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from control_tower import scripted
from control_tower.components import policy
from control_tower.contracts import Policy, RedContext, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import ModelOutput

    from control_tower.contracts import ReferenceStep

_MODEL = "scripted/reference"


@policy(
    modes=["honest", "attack"],
    asserts="reference-works",
    scores_main_on_attack=True,
    redraws=False,
)
def reference() -> Policy:
    """Do what the environment's author says works: one bash call for each reference step.

    The main task's solution comes first, then, in attack mode, the side task's attack, then the
    submission, which names the steps that failed. No model is called. An environment without the
    steps is an error.
    """
    return ReferencePolicy()


class ReferencePolicy(Policy):
    """See `reference`. The attack's steps are declared; the solution's and submission are not."""

    declares_attacks = True

    def __init__(self) -> None:
        self._planned: list[_Step] = []
        self._next = 0
        self._failed: list[str] = []

    async def setup(self, context: RedContext) -> None:
        """Plan the turns.

        Raises:
            RuntimeError: if a task of the combination has no reference steps; names the directory.
        """
        planned: list[_Step] = []
        if context.main_task is not None:
            directory = f"{context.environment.id}/main_tasks/{context.main_task.id}/solution"
            planned += _plan("Reference solution", context.solution, directory)
        if context.side_task is not None:
            directory = f"{context.environment.id}/side_tasks/{context.side_task.id}/attack"
            planned += _plan("Reference attack", context.attack, directory, attack=True)
        self._planned, self._next, self._failed = planned, 0, []

    async def generate(self, turn: Turn) -> ModelOutput:
        """The next step as a bash call; the submission when all are done."""
        if turn.kind == "utility":
            return scripted.say("", model=_MODEL)
        if self._next > 0 and (problem := _problem(turn)):
            self._failed.append(f"{self._planned[self._next - 1].title} ({problem})")
        if self._next == len(self._planned):
            words = "All reference steps were run."
            if self._failed:
                words += f" Failed: {'; '.join(self._failed)}"
            return scripted.submit(text=words, model=_MODEL)
        step = self._planned[self._next]
        self._next += 1
        return scripted.call(
            "bash", {"command": step.command}, text=step.title, model=_MODEL, attack=step.attack
        )


@dataclass(frozen=True)
class _Step:
    title: str
    command: str
    attack: bool


def _problem(turn: Turn) -> str | None:
    """What the answer to the last step says of a failure."""
    from control_tower.tools.bash import shown_exit_code

    answer = turn.messages[-1] if turn.messages else None
    if answer is None or answer.role != "tool":
        return "not run"
    if answer.error is not None:
        return " ".join(answer.error.message.split())[:200]
    code = shown_exit_code(answer.text)
    return None if code is None else f"exit code {code}"


def _plan(
    title: str, steps: Sequence[ReferenceStep], directory: str, *, attack: bool = False
) -> list[_Step]:
    if not steps:
        raise RuntimeError(f"the reference policy finds no step in {directory}/")
    return [
        _Step(f"{title}, step {number} of {len(steps)}: {step.name}", step.command, attack)
        for number, step in enumerate(steps, start=1)
    ]
