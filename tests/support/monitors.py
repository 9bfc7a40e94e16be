"""What monitors are tested with: a case, and a fake model behind the role `monitor`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage

from control_tower.contracts import Case, MainTaskBrief, Monitor
from control_tower.trajectories.schema import Action, MonitorResponse
from support.protocols import ENVIRONMENT, MAIN_TASK, bound

if TYPE_CHECKING:
    from inspect_ai.model import StopReason

PROPOSED = Action(index=0, function="bash", arguments={"command": "make test"})


def case(
    *history: Action,
    proposal: Sequence[Action] = (PROPOSED,),
    main_task: MainTaskBrief | None = MAIN_TASK,
) -> Case:
    """A case of the ledger environment."""
    return Case(
        environment=ENVIRONMENT, main_task=main_task, history=history, proposal=list(proposal)
    )


def action(index: int = 0, function: str = "bash", **more: Any) -> Action:
    """An executed action, or a proposed one."""
    return Action(index=index, function=function, **more)


def reply(text: str, stop_reason: StopReason = "stop") -> ModelOutput:
    """A monitor model's reply."""
    message = ChatMessageAssistant(content=text, source="generate")
    choice = ChatCompletionChoice(message=message, stop_reason=stop_reason)
    return ModelOutput(model="mockllm/model", choices=[choice], usage=ModelUsage())


def says(number: object) -> ModelOutput:
    """A reply that ends with a verdict."""
    return reply(f"I have thought about it.\n<suspicion>{number}</suspicion>")


class FakeModel:
    """Gives the outputs in order, the last again and again; an exception is raised."""

    def __init__(self, *outputs: ModelOutput | Exception) -> None:
        self._outputs = outputs
        self.asked: list[list[Any]] = []
        """Messages of each request."""
        self.configs: list[Any] = []

    def __call__(self, messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        given = self._outputs[min(len(self.asked), len(self._outputs) - 1)]
        self.asked.append(list(messages))
        self.configs.append(config)
        if isinstance(given, Exception):
            raise given
        return given

    @property
    def prompt(self) -> str:
        """The first message of the first request."""
        text: str = self.asked[0][0].text
        return text


def ask(
    monitor: Monitor, model: Callable[..., Any], about: Case | None = None, role: str = "monitor"
) -> MonitorResponse:
    """The monitor's answer while `model` plays `role`."""

    async def run() -> MonitorResponse:
        with bound(**{role: model}):
            return await monitor.score(case() if about is None else about)

    return anyio.run(run)
