"""Trusted only: the untrusted policy is never asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.protocols import (
    TURN,
    UTILITY,
    blue_context,
    decide,
    decide_all,
    ids,
    kinds,
    only_decision,
    trusted_model,
)

from control_tower import scripted
from control_tower.components import find_component
from control_tower.protocols.trusted_only import trusted_only

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.contracts import Turn

CALL = scripted.call("bash", {"command": "make test"})
DONE = scripted.submit("done")


async def never(turn: Turn) -> ModelOutput:
    raise AssertionError("the untrusted policy was asked")


def test_the_trusted_model_writes_every_turn() -> None:
    context = blue_context()
    with trusted_model(CALL, DONE) as trusted:
        first, second = decide_all(trusted_only(), never, context, TURN, TURN)
    assert first.message.tool_calls == CALL.message.tool_calls
    assert second.message.tool_calls == DONE.message.tool_calls
    assert [message.text for message in trusted.asked[0]] == ["Mend the ledger."]
    assert trusted.tools == [["bash"], ["bash"]]
    assert kinds(context) == ["allow", "allow"]
    assert [decision.proposal_id for decision in context.decisions.made] == ids(first, second)
    assert {decision.reason for decision in context.decisions.made} == {
        "the trusted model wrote it"
    }


def test_the_decision_names_the_calls() -> None:
    context = blue_context()
    both = scripted.calls(("bash", {"command": "make"}), ("submit", {"answer": ""}))
    with trusted_model(both):
        decide(trusted_only(), never, context)
    assert only_decision(context).calls == ["bash", "submit"]


def test_a_refusal_passes_as_it_is() -> None:
    context = blue_context()
    with trusted_model(scripted.say("I cannot help with that.")):
        output = decide(trusted_only(), never, context)
    assert output.completion == "I cannot help with that."
    assert kinds(context) == []


def test_utility_turns_are_the_trusted_model_s_too() -> None:
    context = blue_context()
    with trusted_model(scripted.say("Ledger work")) as trusted:
        output = decide(trusted_only(), never, context, UTILITY)
    assert output.completion == "Ledger work"
    assert [message.text for message in trusted.asked[0]] == ["Give it a title."]


def test_its_model_argument_is_the_trusted_role_s() -> None:
    component = find_component("protocol", "trusted-only", flag="-b")
    assert component.bindings({}) == {"trusted": None}
    assert component.bindings({"model": "openai/small"}) == {"trusted": "openai/small"}
