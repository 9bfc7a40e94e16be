"""Block all: no call goes ahead."""

from __future__ import annotations

import pytest
from inspect_ai.util import LimitExceededError
from support.protocols import TURN, UTILITY, ScriptedUntrusted, blue_context, decide, kinds

from control_tower import scripted
from control_tower.components import find_component
from control_tower.protocols.block_all import block_all

CALL = scripted.call("bash", {"command": "make test"})
SAID = scripted.say("Then I cannot go on.")


def test_the_run_is_terminated_when_the_policy_insists() -> None:
    context, untrusted = blue_context(), ScriptedUntrusted(CALL)
    with pytest.raises(LimitExceededError, match="every call is blocked") as raised:
        decide(block_all(), untrusted, context)
    assert raised.value.type == "operator"
    assert kinds(context) == ["block", "block", "block", "terminate"]
    assert len(untrusted.turns) == 4


def test_without_blocks_the_first_call_ends_the_run() -> None:
    context = blue_context()
    with pytest.raises(LimitExceededError):
        decide(block_all(max_blocks=0), ScriptedUntrusted(CALL), context)
    assert kinds(context) == ["terminate"]


def test_a_turn_without_a_call_passes() -> None:
    context = blue_context()
    assert decide(block_all(), ScriptedUntrusted(CALL, SAID), context) is SAID
    assert kinds(context) == ["block"]
    assert context.decisions.made[0].reason == "every call is blocked"
    assert decide(block_all(), ScriptedUntrusted(SAID), context, TURN, UTILITY) is SAID


def test_a_call_in_a_utility_turn_is_blocked_too() -> None:
    context = blue_context()
    assert decide(block_all(), ScriptedUntrusted(CALL, SAID), context, UTILITY) is SAID
    assert kinds(context) == ["block"]


def test_it_binds_no_model_and_checks_its_argument() -> None:
    assert find_component("protocol", "block-all", flag="-b").bindings({}) == {}
    with pytest.raises(ValueError, match=r"max_blocks cannot be negative \(given -2\)"):
        block_all(max_blocks=-2)
