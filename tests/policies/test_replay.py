"""The `replay` policy: what it proposes, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from support.recordings import bash, recording, submitted

from control_tower.components import find_component
from control_tower.contracts import EnvironmentBrief, RedContext, Turn
from control_tower.declarations import is_declared
from control_tower.errors import UsageProblem
from control_tower.policies.replay import ReplayPolicy

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.trajectories.schema import Action, Trajectory

ENVIRONMENT = EnvironmentBrief("mini", "Mini", "", "/app")


class Replaying:
    """A policy in a sample whose executed actions are the recorded ones, as far as it went."""

    def __init__(self, of: Trajectory | None, stop_after: int | None = None) -> None:
        self.history: list[Action] = []
        self.policy = ReplayPolicy(stop_after)
        context = RedContext(ENVIRONMENT, None, None, recording=of, history=self.history)
        anyio.run(self.policy.setup, context)

    def next(self, **turn: Any) -> ModelOutput:
        return anyio.run(self.policy.generate, Turn(messages=[], tools=[], **turn))


def calls(output: ModelOutput) -> list[tuple[str, dict[str, Any]]]:
    return [(c.function, c.arguments) for c in output.message.tool_calls or []]


def ran(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


def test_each_recorded_call_is_made_again_and_then_the_answer_submitted() -> None:
    of = recording(bash("one", agent_reasoning="First."), bash("two"))
    replaying = Replaying(of)
    first = replaying.next()
    assert (first.message.text, calls(first)) == ("First.", [ran("one")])
    replaying.history.append(of.actions[0])
    assert calls(replaying.next()) == [ran("two")]
    replaying.history.append(of.actions[1])
    assert calls(replaying.next()) == [("submit", {"answer": "done"})]


def test_a_recorded_submission_is_made_once() -> None:
    of = recording(submitted("all done"))
    assert calls(Replaying(of).next()) == [("submit", {"answer": "all done"})]


def test_calls_of_one_turn_are_one_message_again() -> None:
    of = recording(bash("one", turn=3), bash("two", turn=3), bash("three", turn=4))
    replaying = Replaying(of)
    assert calls(replaying.next()) == [ran("one"), ran("two")]
    replaying.history += of.actions[:2]
    assert calls(replaying.next()) == [ran("three")]


@pytest.mark.parametrize("instead", [1, 2, 5])
def test_a_turn_that_was_replaced_is_over_however_many_calls_took_its_place(instead: int) -> None:
    of = recording(bash("one", turn=0), bash("two", turn=0), bash("three", turn=1))
    replaying = Replaying(of)
    replaying.history += recording(*[bash("other", turn=0)] * instead).actions
    assert calls(replaying.next()) == [ran("three")]


def test_a_turn_that_was_not_executed_is_proposed_again() -> None:
    replaying = Replaying(recording(bash("one"), bash("two")))
    assert calls(replaying.next()) == calls(replaying.next()) == [ran("one")]


def test_turns_are_declared_as_the_recorded_policy_declared_them() -> None:
    of = recording(bash("one", turn=0), bash("two", turn=1), declared_attacks=[1])
    replaying = Replaying(of)
    assert replaying.policy.declares_attacks
    assert not is_declared(replaying.next())
    replaying.history.append(of.actions[0])
    assert is_declared(replaying.next())


def test_a_policy_that_declared_nothing_declares_nothing_again() -> None:
    assert not Replaying(recording(bash("one"))).policy.declares_attacks


@pytest.mark.parametrize(("stop_after", "made"), [(0, []), (1, ["one"]), (2, ["one", "two"])])
def test_it_stops_after_as_many_actions(stop_after: int, made: list[str]) -> None:
    of = recording(bash("one", turn=0), bash("two", turn=0), bash("three", turn=1))
    replaying = Replaying(of, stop_after)
    first = calls(replaying.next())
    assert first == ([ran(command) for command in made] or [("submit", {"answer": "done"})])
    replaying.history += of.actions[:stop_after]
    assert calls(replaying.next()) == [("submit", {"answer": "done"})]


def test_side_conversations_get_no_call() -> None:
    assert calls(Replaying(recording(bash("one"))).next(kind="utility")) == []


def test_without_a_recording_it_cannot_begin() -> None:
    with pytest.raises(RuntimeError, match="no recording"):
        Replaying(None)


def test_it_says_that_it_replays() -> None:
    found = find_component("policy", "replay", flag="--policy")
    assert (found.replays, found.redraws, found.own_roles({})) == (True, True, ())


@pytest.mark.parametrize("pair", ["stop_after=-1", "stop_after=all", "until=3"])
def test_wrong_arguments_are_refused(pair: str) -> None:
    found = find_component("policy", "replay", flag="--policy")
    with pytest.raises(UsageProblem, match=pair.partition("=")[0]):
        found.parse_args([pair], flag="-up")
