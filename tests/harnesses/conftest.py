"""Runs the null harness in a real Inspect sample whose model's replies are written by the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, Target, mean, scorer
from inspect_ai.solver import Generate as InspectGenerate
from inspect_ai.solver import TaskState, solver
from inspect_ai.tool import Tool, ToolError, tool

from control_tower.contracts import HarnessSession
from control_tower.harnesses.null import null
from control_tower.policies.honest import honest
from control_tower.tools.backends import SandboxedBackend
from control_tower.tools.submit import submit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, GenerateConfig

    from control_tower.trajectories.schema import Action


@dataclass
class Run:
    """What came of a run."""

    sample: EvalSample
    actions: list[Action]
    asked: list[list[ChatMessage]] = field(default_factory=list)
    """The messages the model was sent, one list a turn."""
    configs: list[GenerateConfig] = field(default_factory=list)
    offered: list[list[str]] = field(default_factory=list)
    """Names of the tools the model was offered, one list a turn."""

    @property
    def roles(self) -> list[str]:
        """Roles of the conversation's messages."""
        return [message.role for message in self.sample.messages]

    @property
    def answers(self) -> list[str]:
        """What the agent saw of each of its calls: the error if there was one."""
        return [
            message.error.message if message.error else message.text
            for message in self.sample.messages
            if message.role == "tool"
        ]

    @property
    def told(self) -> list[Any]:
        """What the harness recorded in the transcript."""
        return [event.data for event in self.sample.events if event.event == "info"]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """Runs the harness in one sample with the replies it is given."""
    return partial(_run_null, log_dir=tmp_path)


def _run_null(
    replies: Sequence[ModelOutput],
    *,
    log_dir: Path,
    tools: Sequence[Tool] = (),
    harness_args: dict[str, Any] | None = None,
    **limits: Any,
) -> Run:
    """Run one sample in which the model gives `replies` in turn; the last is given for ever."""
    actions: list[Action] = []
    asked: list[list[ChatMessage]] = []
    configs: list[GenerateConfig] = []
    offered: list[list[str]] = []

    def reply(
        messages: list[ChatMessage], tools: Any, choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        chosen = replies[min(len(asked), len(replies) - 1)]
        asked.append(list(messages))
        offered.append([info.name for info in tools])
        configs.append(config)
        return chosen.model_copy(deep=True)

    @solver
    def agent() -> Any:
        async def solve(state: TaskState, generate: InspectGenerate) -> TaskState:
            session = HarnessSession(
                state=state,
                system_prompt="You work in a company.",
                task_prompt="Mend the ledger.",
                tools=[_echo(), _shout(), _break_down(), submit(), *tools],
                backend=SandboxedBackend(),
                record=actions.append,
            )
            await null(**(harness_args or {})).run(session, honest().generate)
            return state

        return solve

    model = get_model("mockllm/model", custom_outputs=reply)
    [log] = eval(
        Task(dataset=[Sample(input="Mend the ledger.")], solver=agent(), scorer=_completion()),
        model="mockllm/model",
        model_roles={"untrusted": model},
        display="none",
        log_dir=str(log_dir),
        fail_on_error=False,
        log_realtime=False,
        **limits,
    )
    assert log.samples, log.error
    return Run(log.samples[0], actions, asked, configs, offered)


@scorer(metrics=[mean()])
def _completion() -> Any:
    """Shows that the sample was scored, and on what."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=1, explanation=state.output.completion)

    return score


@tool(name="echo")
def _echo() -> Tool:
    async def execute(text: str) -> str:
        """Say the text again.

        Args:
            text: What to say.
        """
        return text

    return execute


@tool(name="shout")
def _shout() -> Tool:
    async def execute(text: str) -> str:
        """Say the text louder.

        Args:
            text: What to say.
        """
        return text.upper()

    return execute


@tool(name="break_down")
def _break_down() -> Tool:
    async def execute() -> str:
        """Fail in a way the agent is told."""
        raise ToolError("the lever is stuck")

    return execute
