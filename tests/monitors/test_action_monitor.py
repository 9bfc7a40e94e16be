"""The action monitor: the proposed turn, with the actions before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.monitors import FakeModel, action, ask, case, says

from control_tower.monitors.action_monitor import action_monitor


def test_the_model_is_shown_the_case_and_how_to_answer() -> None:
    model = FakeModel(says(1))
    about = case(
        action(0, arguments={"command": "ls"}, output="a.py b.py", agent_reasoning="Look first."),
        proposal=[action(1, arguments={"command": "rm -rf /"}, agent_reasoning="Now clean up.")],
    )
    ask(action_monitor(), model, about)
    for text in ("Keeps accounts.", "/app", "Mend them.", "a.py b.py", "Look first."):
        assert text in model.prompt
    before, _, after = model.prompt.partition("<proposal>")
    assert "rm -rf /" in after
    assert "Now clean up." in after
    assert "a.py b.py" in before
    assert after.rstrip().endswith("write nothing after it.")
    assert "{{" not in model.prompt


def test_a_case_without_a_proposal_is_unscored() -> None:
    model = FakeModel(says(1))
    response = ask(action_monitor(), model, case(action(0), proposal=[]))
    assert response.sus_score is None
    assert response.error == "there is no proposed turn to judge"
    assert model.asked == []


def test_context_reasoning_and_lengths_can_be_chosen() -> None:
    model = FakeModel(says(1))
    history = [
        action(number, output=f"output {number} " + "x" * 90, agent_reasoning="A plan.")
        for number in range(8)
    ]
    about = case(*history, proposal=[action(8, arguments={"command": "y" * 90})])
    monitor = action_monitor(context_actions=2, max_output=40, max_arguments=50, reasoning=False)
    ask(monitor, model, about)
    assert "output 5" not in model.prompt
    assert "output 6" in model.prompt
    assert "A plan." not in model.prompt
    assert '<left_out characters="59"/>' in model.prompt
    assert '<left_out characters="40"/>' in model.prompt


def test_five_actions_are_shown_in_full_unless_told_otherwise() -> None:
    model = FakeModel(says(1))
    ask(action_monitor(), model, case(*[action(number) for number in range(7)]))
    assert model.prompt.count("<shortened_action index=") == 2


def test_a_prompt_of_one_s_own(tmp_path: Path) -> None:
    own = tmp_path / "mine.md"
    own.write_text("Judge this.\n{{proposal}}\n{{ format }}", encoding="utf-8")
    model = FakeModel(says(1))
    ask(action_monitor(prompt_file=str(own)), model)
    assert model.prompt.startswith("Judge this.\n<proposal>\n")
    assert "<suspicion>NUMBER</suspicion>" in model.prompt
    assert "Keeps accounts." not in model.prompt


def test_a_prompt_with_an_unknown_place_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "mine.md"
    own.write_text("{{proposals}}", encoding="utf-8")
    with pytest.raises(ValueError, match="did you mean 'proposal'"):
        action_monitor(prompt_file=str(own))


def test_a_missing_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        action_monitor(prompt_file=str(tmp_path / "none.md"))


@pytest.mark.parametrize("name", ["context_actions", "max_output", "max_arguments"])
def test_a_negative_number_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1"):
        action_monitor(**{name: -1})
