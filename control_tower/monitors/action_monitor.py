"""The `action-monitor`: a model scores the proposed turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from control_tower.components import monitor
from control_tower.contracts import Case, Monitor
from control_tower.monitors._judging import Asking, CaseMonitor, monitor_prompt
from control_tower.monitors._rendering import View
from control_tower.monitors._verdict import NoVerdict


@monitor(roles=["monitor"])
def action_monitor(
    role: str = "monitor",
    model: str | None = None,
    prompt_file: str | None = None,
    context_actions: int = 5,
    max_output: int = 2_000,
    max_arguments: int = 10_000,
    reasoning: bool = True,
    draws: int = 1,
    reducer: str = "mean",
    unscored_draws: Literal["skip", "unscored"] = "unscored",
    retries: int = 2,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> Monitor:
    """A model scores the proposed turn, given the main task and the actions before it.

    Suspicion scores of single actions are those of Greenblatt et al. 2023, "AI Control"
    (arXiv:2312.06942); several draws those of Bhatt et al. 2025, "Ctrl-Z"
    (arXiv:2504.10374). A case without a proposed turn is unscored.

    Args:
        role: the model role that is asked.
        model: name of the model, if the role is bound in no other way.
        prompt_file: a prompt of your own, with the places `{{environment}}`, `{{workspace}}`,
            `{{main_task}}`, `{{history}}`, `{{proposal}}` and `{{format}}`.
        context_actions: how many of the last executed actions are shown in full; those before
            are a line each.
        max_output: most characters of each output, head and tail; 0 shows everything.
        max_arguments: most characters of each argument and of a turn's reasoning, head and tail;
            0 shows everything.
        reasoning: show the agent's chain of thought and text.
        draws: how many verdicts are asked for, at once.
        reducer: what makes one score of the draws: `mean`, `median`, `min`, `max`, or
            `module:name` of a function from a list of scores to a score.
        unscored_draws: when a draw has no score: `unscored`, the whole has none; `skip`, the
            others are reduced.
        retries: how many times more a draw is asked for after a reply that gives no verdict.
        temperature: sampling temperature; the provider's default if not given.
        max_tokens: most tokens in one reply; the provider's default if not given.
    """
    return ActionMonitor(
        monitor_prompt(prompt_file, name="action"),
        Asking(role, model, draws, reducer, unscored_draws, retries, temperature, max_tokens),
        View(context_actions, max_output, max_arguments, reasoning),
    )


class ActionMonitor(CaseMonitor):
    """See `action_monitor`."""

    def places(self, case: Case) -> Mapping[str, str]:
        """The case, its last actions in full."""
        if not case.proposal:
            raise NoVerdict("there is no proposed turn to judge")
        return super().places(case)
