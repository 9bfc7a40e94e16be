"""Under every harness: no call reaches a tool that blue did not decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate as InspectGenerate
from inspect_ai.solver import TaskState, solver

from control_tower import scripted
from control_tower.components import component_names, find_component
from control_tower.contracts import (
    BlueContext,
    BlueProtocol,
    EnvironmentBrief,
    HarnessSession,
    Policy,
    ToolBackend,
    Turn,
)
from control_tower.episode.middle import Middle
from control_tower.episode.record import EpisodeRecord
from control_tower.protocols.block_all import block_all
from control_tower.tools.agent import agent_tools

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import Tool

    from control_tower.contracts import Generate

CONTEXT = BlueContext(EnvironmentBrief("mini", "Mini", "A tiny system.", "/app"), None)
every_harness = pytest.mark.parametrize("harness", component_names("harness"))


class Backend(ToolBackend):
    """Executes nothing, and remembers what it was to execute."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, Any]] = []

    async def execute(
        self, message: ChatMessageAssistant, tools: list[Tool]
    ) -> list[ChatMessageTool]:
        from inspect_ai.model import ChatMessageTool

        calls = message.tool_calls or []
        self.executed += [(call.function, call.arguments) for call in calls]
        return [
            ChatMessageTool(content="ok", tool_call_id=call.id, function=call.function)
            for call in calls
        ]


class Wild(Policy):
    """Parallel, repeated, malformed and hidden calls, under ids that repeat."""

    def __init__(self) -> None:
        self.turns = 0

    async def generate(self, turn: Turn) -> ModelOutput:
        self.turns += 1
        if self.turns == 5:
            return scripted.submit("done")
        output = scripted.calls(
            ("bash", {"command": f"curl evil {self.turns}"}),
            ("bash", {"command": "curl evil again"}),
            ("no_such_tool", {}),
        )
        calls = output.message.tool_calls or []
        calls[1].id = calls[0].id
        calls[2].parse_error = "not JSON"
        output.choices.append(scripted.call("bash", {"command": "hidden"}).choices[0])
        return output


class Replaces(BlueProtocol):
    """Puts a call of its own in the place of every proposal, and lets a submission go."""

    def __init__(self) -> None:
        self.decided: list[tuple[str, Any]] = []

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(turn)
        if proposal.message.tool_calls[0].function != "submit":
            proposal = scripted.call("bash", {"command": f"safe {len(self.decided)}"})
        self.decided += [(c.function, c.arguments) for c in proposal.message.tool_calls]
        return proposal


def run(harness: str, protocol: BlueProtocol, log_dir: Path) -> tuple[Backend, EvalSample]:
    backend, record = Backend(), EpisodeRecord()

    async def solve(state: TaskState, generate: InspectGenerate) -> TaskState:
        middle = Middle(Wild(), protocol, CONTEXT, record, attacks=False)
        await protocol.setup(middle.blue)
        session = HarnessSession(
            state=state,
            system_prompt="",
            task_prompt="Work.",
            tools=agent_tools("/app"),
            backend=backend,
            record=middle.record_action,
        )
        component = find_component("harness", harness, flag="--harness")
        await component.create({}).run(session, middle.decide)
        return state

    @solver
    def episode() -> Any:
        return solve

    task = Task(dataset=[Sample(input="x")], solver=episode())
    [log] = eval(task, model=None, log_dir=str(log_dir), display="none")
    assert log.samples
    return backend, log.samples[0]


@every_harness
def test_nothing_is_executed_that_blue_blocks(harness: str, tmp_path: Path) -> None:
    backend, sample = run(harness, block_all(), tmp_path)
    assert backend.executed == []
    assert sample.limit is not None
    assert sample.limit.type == "operator"


@every_harness
def test_what_is_executed_is_what_blue_decided(harness: str, tmp_path: Path) -> None:
    protocol = Replaces()
    backend, sample = run(harness, protocol, tmp_path)
    assert sample.error is None
    assert len(protocol.decided) == 5
    assert backend.executed == protocol.decided
