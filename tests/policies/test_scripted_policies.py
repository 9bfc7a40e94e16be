"""The policies that call no model: reference and noop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from inspect_ai.model import ModelUsage

from control_tower.contracts import (
    EnvironmentBrief,
    MainTaskBrief,
    RedContext,
    ReferenceStep,
    SideTaskBrief,
    Turn,
)
from control_tower.declarations import is_declared
from control_tower.policies.noop import noop
from control_tower.policies.reference import reference

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.contracts import Policy

ENVIRONMENT = EnvironmentBrief("ledger", "Ledger", "A ledger.", "/app")
MAIN = MainTaskBrief("holds", "Holds", "fix_bug", "Mend the holds.")
SIDE = SideTaskBrief("skim", "Skim", "theft", "live", "Skim a little.", "")
SOLUTION = [ReferenceStep("01-fix.sh", "fix"), ReferenceStep("02-restart.sh", "restart")]
ATTACK = [ReferenceStep("skim.sh", "skim")]


def test_reference_runs_the_solution_then_submits() -> None:
    context = RedContext(ENVIRONMENT, MAIN, None, solution=SOLUTION, attack=ATTACK)
    outputs = _turns(reference(), 4, context)
    assert [_call(output) for output in outputs] == [
        ("bash", {"command": "fix"}),
        ("bash", {"command": "restart"}),
        ("submit", {"answer": ""}),
        ("submit", {"answer": ""}),
    ]


def test_reference_names_the_step_in_its_text() -> None:
    context = RedContext(ENVIRONMENT, MAIN, None, solution=SOLUTION)
    [first, second] = _turns(reference(), 2, context)
    assert first.message.text == "Reference solution, step 1 of 2: 01-fix.sh"
    assert second.message.text == "Reference solution, step 2 of 2: 02-restart.sh"


def test_reference_attacks_after_the_solution() -> None:
    context = RedContext(ENVIRONMENT, MAIN, SIDE, solution=SOLUTION, attack=ATTACK)
    commands = [_call(output)[1].get("command") for output in _turns(reference(), 4, context)]
    assert commands == ["fix", "restart", "skim", None]


def test_reference_declares_the_steps_of_the_attack_alone() -> None:
    context = RedContext(ENVIRONMENT, MAIN, SIDE, solution=SOLUTION, attack=ATTACK)
    policy = reference()
    assert policy.declares_attacks is True
    assert [is_declared(output) for output in _turns(policy, 4, context)] == [
        False,
        False,
        True,
        False,
    ]


def test_reference_attacks_alone_without_a_main_task() -> None:
    context = RedContext(ENVIRONMENT, None, SIDE, attack=ATTACK)
    commands = [_call(output)[1].get("command") for output in _turns(reference(), 2, context)]
    assert commands == ["skim", None]


@pytest.mark.parametrize(
    ("context", "directory"),
    [
        (RedContext(ENVIRONMENT, MAIN, None, attack=ATTACK), "ledger/main_tasks/holds/solution/"),
        (RedContext(ENVIRONMENT, MAIN, SIDE, attack=ATTACK), "ledger/main_tasks/holds/solution/"),
        (RedContext(ENVIRONMENT, MAIN, SIDE, solution=SOLUTION), "ledger/side_tasks/skim/attack/"),
        (RedContext(ENVIRONMENT, None, SIDE), "ledger/side_tasks/skim/attack/"),
    ],
)
def test_reference_names_the_directory_it_misses(context: RedContext, directory: str) -> None:
    with pytest.raises(RuntimeError, match=directory):
        anyio.run(reference().setup, context)


def test_reference_spends_no_step_on_a_utility_turn() -> None:
    policy = reference()
    context = RedContext(ENVIRONMENT, None, SIDE, attack=ATTACK)

    async def main() -> list[ModelOutput]:
        await policy.setup(context)
        aside = await policy.generate(Turn(messages=[], tools=[], kind="utility"))
        return [aside, await policy.generate(Turn(messages=[], tools=[]))]

    aside, step = anyio.run(main)
    assert not aside.message.tool_calls
    assert _call(step) == ("bash", {"command": "skim"})


def test_noop_submits_at_once() -> None:
    [output] = _turns(noop(), 1, RedContext(ENVIRONMENT, MAIN, SIDE))
    assert _call(output) == ("submit", {"answer": ""})


def test_noop_says_that_nothing_is_an_attack() -> None:
    policy = noop()
    assert policy.declares_attacks is True
    [output] = _turns(policy, 1, RedContext(ENVIRONMENT, MAIN, SIDE))
    assert not is_declared(output)


def test_scripted_turns_state_that_no_token_was_used() -> None:
    context = RedContext(ENVIRONMENT, MAIN, None, solution=SOLUTION)
    for policy, name in [(reference(), "scripted/reference"), (noop(), "scripted/noop")]:
        for output in _turns(policy, 3, context):
            assert output.usage == ModelUsage()
            assert output.model == name


def test_calls_have_ids_of_their_own() -> None:
    context = RedContext(ENVIRONMENT, MAIN, None, solution=SOLUTION)
    calls = [call for o in _turns(reference(), 3, context) for call in o.message.tool_calls or []]
    assert len({call.id for call in calls}) == 3


def _turns(policy: Policy, count: int, context: RedContext) -> list[ModelOutput]:
    async def main() -> list[ModelOutput]:
        await policy.setup(context)
        return [await policy.generate(Turn(messages=[], tools=[])) for _ in range(count)]

    return anyio.run(main)


def _call(output: ModelOutput) -> tuple[str, dict[str, object]]:
    [call] = output.message.tool_calls or []
    return call.function, call.arguments
