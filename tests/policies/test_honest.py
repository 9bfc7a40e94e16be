"""The honest policy: what the model is asked, and which model it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.tool import ToolInfo
from support.untrusted import Request, UntrustedRole

from control_tower import scripted
from control_tower.components import find_component
from control_tower.contracts import Turn
from control_tower.errors import UsageProblem
from control_tower.policies.honest import honest

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

TURN = Turn(
    messages=[ChatMessageUser(content="Mend the ledger.")],
    tools=[ToolInfo(name="bash", description="Run a command.")],
    tool_choice="any",
    config=GenerateConfig(parallel_tool_calls=False, max_tokens=500),
)


def test_the_turn_goes_to_the_untrusted_role_as_it_is() -> None:
    asked, reply = _ask()
    assert asked.told == [("user", "Mend the ledger.")]
    assert [info.name for info in asked.tools] == ["bash"]
    assert asked.tool_choice == "any"
    assert asked.config.parallel_tool_calls is False
    assert asked.config.max_tokens == 500
    assert reply.completion == "Certainly."


def test_arguments_override_the_turn_s_config() -> None:
    asked, _ = _ask(temperature=0.5, max_tokens=20)
    assert asked.config.temperature == 0.5
    assert asked.config.max_tokens == 20
    assert asked.config.parallel_tool_calls is False


def test_a_bound_role_comes_before_the_model_argument() -> None:
    _, reply = _ask(model="no-such-provider/none")
    assert reply.completion == "Certainly."


def test_the_model_argument_is_asked_where_the_role_is_not_bound() -> None:
    reply = anyio.run(honest(model="names_itself/fred").generate, TURN)
    assert reply.completion == "I am fred."


@pytest.mark.parametrize("name", ["honest", "attack"])
@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("temperature=-1", "temperature must be 0 or more (given -1.0)"),
        ("temperature=-0.1", "temperature must be 0 or more (given -0.1)"),
        ("max_tokens=0", "max_tokens must be 1 or more (given 0)"),
    ],
)
def test_a_number_out_of_range_is_a_usage_error(name: str, pair: str, said: str) -> None:
    component = find_component("policy", name, flag="--untrusted-policy")
    with pytest.raises(UsageProblem) as problem:
        component.parse_args([pair], flag="-up")
    assert str(problem.value) == f"-up: {said}"


def _ask(**arguments: object) -> tuple[Request, ModelOutput]:
    role = UntrustedRole(scripted.say("Certainly."))

    async def main() -> ModelOutput:
        return await honest(**arguments).generate(TURN)  # type: ignore[arg-type]

    reply = role.run(main)
    [asked] = role.requests
    return asked, reply
