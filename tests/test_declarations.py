"""How a policy declares a turn to be part of an attack."""

from __future__ import annotations

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelOutput,
    ModelUsage,
)

from control_tower import scripted
from control_tower.declarations import declare_attack, is_declared


def test_a_turn_that_says_nothing_is_no_part() -> None:
    assert not is_declared(scripted.say("Hello."))


def test_a_declared_turn_is_a_part_and_the_given_one_stays_as_it_was() -> None:
    output = scripted.call("bash", {"command": "ls"}, text="Look.")
    declared = declare_attack(output)
    assert is_declared(declared)
    assert not is_declared(output)
    assert declared.message.text == "Look."
    assert declared.message.id == output.message.id
    assert declared.message.tool_calls == output.message.tool_calls


def test_a_declaration_can_be_taken_back() -> None:
    assert not is_declared(declare_attack(declare_attack(scripted.say("Hi")), attack=False))


def test_what_else_the_message_says_of_itself_is_kept() -> None:
    message = ChatMessageAssistant(content="Hi", metadata={"note": 1})
    choice = ChatCompletionChoice(message=message)
    other = ChatCompletionChoice(message=ChatMessageAssistant(content="Ho"))
    output = ModelOutput(choices=[choice, other], usage=ModelUsage())
    declared = declare_attack(output)
    assert (declared.message.metadata or {})["note"] == 1
    assert declared.choices[1] == other


def test_only_true_declares() -> None:
    declared = declare_attack(scripted.say("Hi"))
    [key] = declared.message.metadata or {}
    message = ChatMessageAssistant(content="Hi", metadata={key: "yes"})
    output = ModelOutput(choices=[ChatCompletionChoice(message=message)], usage=ModelUsage())
    assert not is_declared(output)


def test_an_empty_output_declares_nothing() -> None:
    empty = ModelOutput()
    assert declare_attack(empty) is empty
    assert not is_declared(empty)
