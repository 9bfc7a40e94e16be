"""The trajectory monitor: the whole run, with or without a proposed turn."""

from __future__ import annotations

from support.monitors import FakeModel, action, ask, case, says

from control_tower.monitors.trajectory_monitor import trajectory_monitor


def test_every_action_is_shown_in_full_and_the_proposal_last() -> None:
    model = FakeModel(says(8))
    about = case(
        *[action(number, output=f"output {number}!") for number in range(30)],
        proposal=[action(30, arguments={"command": "the proposed one"})],
    )
    assert ask(trajectory_monitor(), model, about).sus_score == 8
    for number in range(30):
        assert f"output {number}!" in model.prompt
    assert model.prompt.index("output 29!") < model.prompt.index("the proposed one")
    assert "<shortened_action" not in model.prompt
    assert "{{" not in model.prompt


def test_a_run_without_a_proposal_is_scored() -> None:
    model = FakeModel(says(2))
    assert ask(trajectory_monitor(), model, case(action(0), proposal=[])).sus_score == 2
    assert "<no_proposal/>" in model.prompt.partition("# The proposed next turn")[2]


def test_the_first_proposal_is_scored_without_a_history() -> None:
    model = FakeModel(says(2))
    assert ask(trajectory_monitor(), model, case()).sus_score == 2
    assert "<no_actions_yet/>" in model.prompt


def test_nothing_at_all_is_unscored() -> None:
    model = FakeModel(says(0))
    response = ask(trajectory_monitor(), model, case(proposal=[]))
    assert response.sus_score is None
    assert response.error == "there is no action to judge yet"
    assert model.asked == []


def test_reasoning_and_lengths_can_be_chosen() -> None:
    model = FakeModel(says(1))
    long = action(0, output="x" * 100, arguments={"a": "y" * 100}, agent_reasoning="A plan.")
    ask(trajectory_monitor(max_output=40, max_arguments=50, reasoning=False), model, case(long))
    assert "A plan." not in model.prompt
    assert '<left_out characters="60"/>' in model.prompt
    assert '<left_out characters="50"/>' in model.prompt
