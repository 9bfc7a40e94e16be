"""The honest policy: what the model is asked, and which model it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput, get_model
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.tool import ToolInfo

from control_tower import scripted
from control_tower.contracts import Turn
from control_tower.policies.honest import honest

if TYPE_CHECKING:
    from pathlib import Path

TURN = Turn(
    messages=[ChatMessageUser(content="Mend the ledger.")],
    tools=[ToolInfo(name="bash", description="Run a command.")],
    tool_choice="any",
    config=GenerateConfig(parallel_tool_calls=False, max_tokens=500),
)


def test_the_turn_goes_to_the_untrusted_role(tmp_path: Path) -> None:
    asked = _ask(tmp_path, {})
    assert [message.text for message in asked["messages"]] == ["Mend the ledger."]
    assert [info.name for info in asked["tools"]] == ["bash"]
    assert asked["tool_choice"] == "any"
    assert asked["config"].parallel_tool_calls is False
    assert asked["config"].max_tokens == 500
    assert asked["reply"].completion == "Certainly."
    assert asked["role"] == "untrusted"


def test_arguments_override_the_turn_s_config(tmp_path: Path) -> None:
    asked = _ask(tmp_path, {"temperature": 0.5, "max_tokens": 20})
    assert asked["config"].temperature == 0.5
    assert asked["config"].max_tokens == 20
    assert asked["config"].parallel_tool_calls is False


def test_a_bound_role_comes_before_the_model_argument(tmp_path: Path) -> None:
    asked = _ask(tmp_path, {"model": "no-such-provider/none"})
    assert asked["reply"].completion == "Certainly."


def _ask(log_dir: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    asked: dict[str, Any] = {}

    def reply(messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        asked.update(messages=messages, tools=tools, tool_choice=tool_choice, config=config)
        return scripted.say("Certainly.")

    @solver
    def agent() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            asked["reply"] = await honest(**arguments).generate(TURN)
            return state

        return solve

    [log] = eval(
        Task(dataset=[Sample(input="x")], solver=agent()),
        model="mockllm/model",
        model_roles={"untrusted": get_model("mockllm/model", custom_outputs=reply)},
        display="none",
        log_dir=str(log_dir),
    )
    assert log.status == "success", log.error
    [sample] = log.samples or []
    [event] = [event for event in sample.events if event.event == "model"]
    asked["role"] = event.role
    return asked
