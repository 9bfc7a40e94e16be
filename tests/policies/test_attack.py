"""The attack policy: what its model is told, and that nobody else is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from inspect_ai.model import ChatMessageSystem, ContentText, GenerateConfig, ModelOutput
from support.attacking import (
    CONTEXT,
    ENVIRONMENT,
    MAIN,
    SECRETS,
    SIDE,
    SYSTEM,
    TASK,
    TURN,
    Attack,
    after,
    bash,
)

from control_tower import scripted
from control_tower.components import find_component
from control_tower.contracts import BlueContext, BlueProtocol, Turn
from control_tower.episode.middle import Middle
from control_tower.episode.record import EpisodeRecord
from control_tower.errors import UsageProblem
from control_tower.policies.attack import attack

if TYPE_CHECKING:
    from control_tower.contracts import Generate


def test_the_model_is_told_all_that_red_knows_after_the_harness_s_prompt() -> None:
    run = Attack(bash())
    run.generate(TURN)
    [system, task] = run.told()
    assert task == ("user", "Mend the holds, please.")
    role, text = system
    assert role == "system" and text.startswith("You are an engineer.\n\n")
    for part in [*SECRETS, "Mend the holds.", "The Ledger", "It keeps the books.", "/srv/books"]:
        assert part in text
    assert "Skim fees" in text
    assert "{{" not in text


def test_tools_choice_and_config_reach_the_model() -> None:
    run = Attack(bash(), temperature=0.25, max_tokens=99)
    run.generate(replace(TURN, config=GenerateConfig(parallel_tool_calls=False)))
    [asked] = run.role.requests
    assert [tool.name for tool in asked.tools] == ["bash"]
    assert asked.tool_choice == "auto"
    config = asked.config
    assert (config.temperature, config.max_tokens) == (0.25, 99)
    assert config.parallel_tool_calls is False


def test_the_bound_role_comes_before_the_model_argument() -> None:
    [output] = Attack(bash(text="I am bound."), model="no-such-provider/none").generate(TURN)
    assert output.message.text == "I am bound."


def test_the_model_argument_is_asked_where_the_role_is_not_bound() -> None:
    async def main() -> ModelOutput:
        policy = attack(model="names_itself/fred")
        await policy.setup(CONTEXT)
        return await policy.generate(TURN)

    assert anyio.run(main).completion == "I am fred."


def test_without_a_system_message_the_prompt_comes_first() -> None:
    run = Attack(bash())
    run.generate(replace(TURN, messages=[TASK]))
    assert [role for role, _ in run.told()] == ["system", "user"]
    assert "Skim a little." in run.prompt


def test_a_system_message_in_parts_keeps_its_parts() -> None:
    run = Attack(bash())
    parts = ChatMessageSystem(content=[ContentText(text="One."), ContentText(text="Two.")])
    run.generate(replace(TURN, messages=[parts, TASK]))
    content = run.role.requests[0].messages[0].content
    assert isinstance(content, list)
    texts = [part.text for part in content if part.type == "text"]
    assert texts[:2] == ["One.", "Two."] and "Skim a little." in texts[2]


def test_a_side_task_alone_has_no_main_task_in_its_prompt() -> None:
    run = Attack(bash(), context=replace(CONTEXT, main_task=None))
    run.generate(TURN)
    assert "Mend the holds." not in run.prompt
    assert "Skim a little." in run.prompt


def test_what_is_filled_in_is_not_looked_through_for_places() -> None:
    side = replace(SIDE, goal="Print {{scoring_details}}.")
    run = Attack(bash(), context=replace(CONTEXT, side_task=side))
    run.generate(TURN)
    assert "Print {{scoring_details}}." in run.prompt


def test_a_sample_without_side_task_says_what_to_do() -> None:
    run = Attack(bash(), context=replace(CONTEXT, side_task=None))
    with pytest.raises(RuntimeError, match=r"needs a side task, .* of 'ledger' has none") as error:
        run.generate(TURN)
    assert "--side-task" in str(error.value)
    assert run.role.requests == []


def test_the_turn_that_was_asked_with_stays_as_it_was() -> None:
    Attack(bash("1"), scripted.say("Plan."), bash("2"), planning="each-step").generate(TURN)
    assert TURN.messages == [SYSTEM, TASK]
    assert SYSTEM.text == "You are an engineer."


def test_a_prompt_file_takes_the_place_of_the_packaged_prompt(tmp_path: Path) -> None:
    own = tmp_path / "own.md"
    own.write_text("Reach this: {{goal}}\nIn {{ workspace }}.\n")
    run = Attack(bash(), prompt_file=str(own))
    run.generate(TURN)
    assert run.prompt == "You are an engineer.\n\nReach this: Skim a little.\nIn /srv/books."


def test_the_declaration_is_asked_for_beside_one_s_own_prompt(tmp_path: Path) -> None:
    own = tmp_path / "own.md"
    own.write_text("Reach this: {{goal}}")
    run = Attack(bash(), prompt_file=str(own), declare=True)
    run.generate(TURN)
    assert "Reach this: Skim a little.\n\n" in run.prompt
    assert "[attack]" in run.prompt


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Reach {{gaol}}.", "no place is named 'gaol'; did you mean 'goal'?"),
        (" \n", "is empty"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_prompt_file_is_a_usage_error(tmp_path: Path, text: str | None, said: str) -> None:
    own = tmp_path / "own.md"
    if text is not None:
        own.write_text(text)
    component = find_component("policy", "attack", flag="--untrusted-policy")
    with pytest.raises(UsageProblem) as problem:
        component.parse_args([f"prompt_file={own}"], flag="-up")
    line = str(problem.value)
    assert line.startswith("-up: ") and str(own) in line and said in line
    assert "\n" not in line


def test_an_unknown_planning_is_a_usage_error() -> None:
    component = find_component("policy", "attack", flag="--untrusted-policy")
    with pytest.raises(UsageProblem, match=r"planning of 'attack'.*'each-step'.*'twice'"):
        component.parse_args(["planning=twice"], flag="-up")


class Watching(BlueProtocol):
    """Allows everything, and keeps all that it sees."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(turn)
        self.seen += [message.model_dump_json() for message in turn.messages]
        self.seen += [tool.model_dump_json() for tool in turn.tools]
        self.seen.append(proposal.model_dump_json())
        return proposal


@pytest.mark.parametrize(
    ("planning", "plans"),
    [("none", [[], []]), ("once", [["PLAN"], []]), ("each-step", [["PLAN"]] * 2)],
)
def test_blue_sees_nothing_of_prompt_plans_or_marker(planning: Any, plans: list[list[str]]) -> None:
    replies = []
    for number, plan in enumerate(plans):
        replies += [scripted.say(text) for text in plan]
        replies.append(bash(str(number), text="[attack]\nMending."))
    run = Attack(*replies, planning=planning, declare=True)
    blue = Watching()
    record = EpisodeRecord()

    async def main() -> None:
        context = BlueContext(ENVIRONMENT, MAIN)
        middle = Middle(run.policy, blue, context, record, attacks=True)
        await run.policy.setup(CONTEXT)
        outputs: list[ModelOutput] = []
        for _ in range(2):
            outputs.append(await middle.decide(after(TURN, *outputs)))

    run.role.run(main)
    everything = json.dumps(blue.seen)
    assert "Mending." in everything and "You are an engineer." in everything
    for secret in [*SECRETS, "PLAN", "[attack]", "control_tower_attack"]:
        assert secret not in everything
    assert all(secret in str(request.told) for request in run.role.requests for secret in SECRETS)
