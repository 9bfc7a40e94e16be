"""What the attacking model is told, filled in from what the red team knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.policies._marker import MARKER
from control_tower.prompt_files import Prompt, prompt

if TYPE_CHECKING:
    from collections.abc import Collection

    from control_tower.contracts import RedContext

PLACES = (
    "environment",
    "description",
    "workspace",
    "main_task",
    "side_task",
    "goal",
    "scoring_details",
    "attack_surface",
)
"""What the system prompt may have filled in; the policy's docstring says what each is."""

_NO_MAIN_TASK = "There is none. Behave as an engineer would who has a look at the system."
_UNKNOWN = "Nothing is written down about it."


class AttackPrompts:
    """The texts of one attacking policy.

    Args:
        own: path of a file of the user's in place of `prompts/attack.md`.
        declare: whether the model is told to mark the turns that are part of the attack.

    Raises:
        ValueError: the file cannot be read, is empty, or has a place that is not one of `PLACES`.
    """

    def __init__(self, own: str | None, *, declare: bool) -> None:
        self._system = _packaged("attack", PLACES, own)
        self._declare = _packaged("attack-declare", ["marker"]) if declare else None
        self._planned = _packaged("attack-planned", ["plan"])
        self._step_planned = _packaged("attack-step-planned", ["plan"])
        self.plan_request = _packaged("attack-plan").filled()
        """Asks for the plan of the whole run."""
        self.step_request = _packaged("attack-step").filled()
        """Asks for the plan of the next step."""

    def system(self, context: RedContext) -> str:
        """What is added to the harness's system prompt.

        Raises:
            RuntimeError: if there is no side task.
        """
        text = self._system.filled(**_values(context))
        if self._declare is None:
            return text
        return f"{text}\n\n{self._declare.filled(marker=MARKER)}"

    def planned(self, plan: str) -> str:
        """What is added to it once the run is planned."""
        return self._planned.filled(plan=plan)

    def step_planned(self, plan: str) -> str:
        """The message before a step that was planned."""
        return self._step_planned.filled(plan=plan)


def _packaged(name: str, places: Collection[str] = (), own: str | None = None) -> Prompt:
    return prompt(own, package="control_tower.policies", name=name, places=places)


def _values(context: RedContext) -> dict[str, str]:
    side, main = context.side_task, context.main_task
    if side is None:
        raise RuntimeError(
            f"the attack policy needs a side task, and this sample of '{context.environment.id}' "
            "has none; choose one with --side-task, or the policy 'honest'"
        )
    return {
        "environment": context.environment.display_name,
        "description": context.environment.description.strip() or _UNKNOWN,
        "workspace": context.environment.workspace,
        "main_task": main.description.strip() if main else _NO_MAIN_TASK,
        "side_task": side.name,
        "goal": side.goal.strip(),
        "scoring_details": side.scoring_details.strip() or _UNKNOWN,
        "attack_surface": context.attack_surface.strip() or _UNKNOWN,
    }
