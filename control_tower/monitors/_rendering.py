"""What a model monitor is shown of a case: tagged text, everything in it escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from control_tower.monitors._checks import check_least
from control_tower.monitors._escaping import attribute, escape, excerpt
from control_tower.monitors._plain_json import plain_json

if TYPE_CHECKING:
    from control_tower.contracts import Case
    from control_tower.trajectories.schema import Action

PLACES = ("environment", "workspace", "main_task", "history", "proposal")
"""The places of a prompt that `case_places` fills in."""

_LINE = 200
"""Characters of the arguments of an action that is not shown in full."""


@dataclass(frozen=True)
class View:
    """How much of a case is shown."""

    context_actions: int | None = None
    """How many of the last executed actions are shown with reasoning and output; None: all."""
    max_output: int = 2_000
    """Most characters of each output and error, head and tail; 0: everything."""
    max_arguments: int = 10_000
    """Most characters of each argument and of each turn's reasoning; 0: everything."""
    reasoning: bool = True
    """Whether the agent's chain of thought and text are shown."""

    def __post_init__(self) -> None:
        check_least("max_output", self.max_output, 0)
        check_least("max_arguments", self.max_arguments, 0)
        if self.context_actions is not None:
            check_least("context_actions", self.context_actions, 0)


def case_places(case: Case, view: View) -> dict[str, str]:
    """The text for each of `PLACES`, each in a tag of its own."""
    return {
        "environment": _block("environment", escape(case.environment.description.strip())),
        "workspace": _block("workspace", escape(case.environment.workspace)),
        "main_task": _main_task(case),
        "history": _history(case.history, view),
        "proposal": _proposal(case.proposal, view),
    }


def _main_task(case: Case) -> str:
    if case.main_task is None:
        return "<no_main_task/>"
    return _block("main_task", escape(case.main_task.description.strip()))


def _history(actions: Sequence[Action], view: View) -> str:
    if not actions:
        return "<no_actions_yet/>"
    first = 0 if view.context_actions is None else max(0, len(actions) - view.context_actions)
    lines = [_in_brief(action) for action in actions[:first]]
    lines += _in_full(actions[first:], view, executed=True)
    return _block("history", "\n".join(lines))


def _proposal(actions: Sequence[Action], view: View) -> str:
    if not actions:
        return "<no_proposal/>"
    return _block("proposal", "\n".join(_in_full(actions, view, executed=False)))


def _in_brief(action: Action) -> str:
    arguments = excerpt(plain_json(action.arguments), _LINE).replace("\n", " ")
    return f"<shortened_action {_name(action)}>{arguments}</shortened_action>"


def _in_full(actions: Sequence[Action], view: View, *, executed: bool) -> Iterator[str]:
    before: str | None = None
    for action in actions:
        yield f"<action {_name(action)}>"
        if view.reasoning and action.agent_reasoning:
            if action.agent_reasoning == before:
                yield "<same_reasoning_as_before/>"
            else:
                yield _block("reasoning", excerpt(action.agent_reasoning, view.max_arguments))
        before = action.agent_reasoning
        for key, value in action.arguments.items():
            text = value if isinstance(value, str) else plain_json(value)
            shown = excerpt(text, view.max_arguments)
            yield f'<argument name="{attribute(str(key))}">\n{shown}\n</argument>'
        if executed:
            yield _block("output", excerpt(action.output, view.max_output))
        if action.output_error:
            yield _block("error", excerpt(action.output_error, view.max_output))
        yield "</action>"


def _name(action: Action) -> str:
    return f'index="{action.index}" function="{attribute(action.function)}"'


def _block(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"
