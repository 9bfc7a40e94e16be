"""Turns written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from inspect_ai.model import ModelUsage

from control_tower import scripted
from control_tower.declarations import is_declared

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspect_ai.model import ModelOutput

TURNS: list[Callable[..., ModelOutput]] = [
    lambda **more: scripted.say("Hello.", **more),
    lambda **more: scripted.call("bash", {"command": "ls"}, **more),
    lambda **more: scripted.calls(("bash", {}), ("edit", {}), **more),
    lambda **more: scripted.submit("done", **more),
]


@pytest.mark.parametrize("turn", TURNS, ids=["say", "call", "calls", "submit"])
def test_a_turn_is_part_of_an_attack_only_if_it_says_so(turn: Callable[..., ModelOutput]) -> None:
    assert not is_declared(turn())
    assert not is_declared(turn(attack=False))
    assert is_declared(turn(attack=True))


@pytest.mark.parametrize("turn", TURNS, ids=["say", "call", "calls", "submit"])
def test_a_turn_names_its_model_and_uses_no_tokens(turn: Callable[..., ModelOutput]) -> None:
    for output in (turn(), turn(attack=True)):
        assert output.model == scripted.DEFAULT_MODEL
        assert output.usage == ModelUsage()
    assert turn(model="scripted/other").message.model == "scripted/other"


def test_a_reply_has_text_and_no_call() -> None:
    output = scripted.say("Hello.")
    assert output.completion == "Hello."
    assert not output.message.tool_calls
    assert output.stop_reason == "stop"


def test_calls_are_made_in_order_with_text_beside_them() -> None:
    output = scripted.calls(("bash", {"command": "ls"}), ("edit", {"path": "a"}), text="Both.")
    made = output.message.tool_calls or []
    assert [(call.function, call.arguments) for call in made] == [
        ("bash", {"command": "ls"}),
        ("edit", {"path": "a"}),
    ]
    assert output.completion == "Both."
    assert output.stop_reason == "tool_calls"
    assert made[0].id != made[1].id


def test_a_submission_has_its_answer() -> None:
    [call] = scripted.submit("42", text="Here.").message.tool_calls or []
    assert (call.function, call.arguments) == ("submit", {"answer": "42"})


def test_arguments_changed_later_do_not_change_the_turn() -> None:
    arguments = {"command": "ls"}
    output = scripted.call("bash", arguments)
    arguments["command"] = "rm"
    [call] = output.message.tool_calls or []
    assert call.arguments == {"command": "ls"}
