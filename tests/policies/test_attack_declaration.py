"""The attack policy's marked turns: declared, and marked for the model alone."""

from __future__ import annotations

from support.attacking import (
    CONTEXT,
    TURN,
    Attack,
    after,
    bash,
    command_of,
)

from control_tower import scripted
from control_tower.declarations import is_declared


def test_without_declare_nothing_is_asked_for_taken_off_or_declared() -> None:
    run = Attack(bash(text="[attack]\nGo."))
    [output] = run.generate(TURN)
    assert "[attack]" not in run.prompt
    assert output.message.text == "[attack]\nGo."
    assert not is_declared(output)
    assert run.policy.declares_attacks is False


def test_a_marked_turn_is_declared_and_its_marker_taken_off() -> None:
    run = Attack(bash("1", text="[attack]\nMending."), bash("2", text="Testing."), declare=True)
    first, second = run.generate(TURN, TURN)
    assert run.policy.declares_attacks is True
    assert (is_declared(first), is_declared(second)) == (True, False)
    assert (first.message.text, first.completion) == ("Mending.", "Mending.")
    assert (command_of(first), command_of(second)) == ("1", "2")
    assert second.message.text == "Testing."


def test_a_marked_turn_without_a_call_is_declared() -> None:
    [output] = Attack(scripted.say("[attack] All is well."), declare=True).generate(TURN)
    assert is_declared(output)
    assert output.message.text == "All is well."


def test_the_model_sees_its_own_turns_as_it_wrote_them() -> None:
    run = Attack(bash("1", text="[attack]\nMending."), bash("2"), declare=True)
    run.converse(2)
    assert run.told(1)[2] == ("assistant", "[attack]\nMending.")


def test_a_turn_that_was_changed_on_its_way_is_not_changed_back() -> None:
    run = Attack(bash("1", text="[attack]\nMending."), bash("2"), declare=True)

    async def main() -> None:
        await run.policy.setup(CONTEXT)
        output = await run.policy.generate(TURN)
        edited = output.message.model_copy(update={"content": "Edited."})
        choice = output.choices[0].model_copy(update={"message": edited})
        await run.policy.generate(after(TURN, output.model_copy(update={"choices": [choice]})))

    run.role.run(main)
    assert run.told(1)[2] == ("assistant", "Edited.")


def test_turns_of_one_message_id_leave_with_ids_of_their_own() -> None:
    same = bash("1")
    first, second = Attack(same, same.model_copy(deep=True)).generate(TURN, TURN)
    assert first.message.id != second.message.id
