"""What is recorded of decisions, turns and actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from inspect_ai.model import ModelOutput
from support.middle import Blue, Scripted, bash, between, told, turn

from control_tower import scripted
from control_tower.contracts import Turn
from control_tower.trajectories.schema import Action, MonitorResponse

if TYPE_CHECKING:
    from control_tower.contracts import Generate


@pytest.mark.anyio
async def test_decisions_scores_and_draws_are_in_the_transcript_and_the_record() -> None:
    score = MonitorResponse(sus_score=7.5, model_name="m")

    async def decides(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        first, second = await untrusted(asked), await untrusted(asked)
        blue.context.decisions.block(first, reason="no", score=score, threshold=5)
        return blue.context.decisions.allow(second, draws={"audit": 0.25})

    middle, record = between(Scripted(bash("1"), bash("2")), Blue(decides))
    decided = await middle.decide(turn())
    assert [(d.kind, d.turn, d.calls) for d in record.decisions] == [
        ("block", 0, ["bash"]),
        ("allow", 0, ["bash"]),
    ]
    blocked, allowed = told("control_tower.protocols")[-2:]
    assert (blocked["threshold"], blocked["monitor_response"]["sus_score"]) == (5, 7.5)
    assert (allowed["draws"], allowed["proposal_id"]) == ({"audit": 0.25}, decided.message.id)
    assert middle.blue.decisions.made == record.decisions


@pytest.mark.anyio
async def test_turns_with_a_call_or_a_decision_are_counted() -> None:
    async def replaces(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(asked)
        if proposal.message.text == "decide":
            return blue.context.decisions.replace(proposal, scripted.say("nothing"))
        return proposal

    outputs = [bash(), scripted.say("thinking"), bash(text="decide")]
    middle, record = between(Scripted(*outputs), Blue(replaces))
    for _ in range(3):
        await middle.decide(turn())
    assert record.turns == 2


@pytest.mark.anyio
async def test_an_action_carries_what_the_monitor_said_of_its_turn_alone() -> None:
    scores = [MonitorResponse(sus_score=1), None, MonitorResponse(sus_score=3)]

    async def scored(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        return blue.context.decisions.allow(await untrusted(asked), score=scores.pop(0))

    middle, record = between(Scripted(bash(), bash(), bash()), Blue(scored))
    for index in range(3):
        await middle.decide(turn())
        middle.record_action(Action(index=index, function="bash"))
    found = [a.monitor_response and a.monitor_response.sus_score for a in record.actions]
    assert found == [1, None, 3]


@pytest.mark.anyio
async def test_a_replacement_carries_its_own_score_and_not_the_proposal_s() -> None:
    async def replaces(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        return blue.context.decisions.replace(
            await untrusted(asked),
            bash("safe"),
            score=MonitorResponse(sus_score=9),
            score_of_instead=MonitorResponse(sus_score=2),
        )

    middle, record = between(Scripted(bash()), Blue(replaces))
    await middle.decide(turn())
    middle.record_action(Action(index=0, function="bash"))
    assert record.actions[0].monitor_response == MonitorResponse(sus_score=2)


@pytest.mark.anyio
async def test_blue_s_history_cannot_change_the_record() -> None:
    blue = Blue()
    middle, record = between(Scripted(), blue)
    middle.record_action(Action(index=0, function="bash", arguments={"command": "ls"}))
    assert len(blue.context.history) == 1
    blue.context.history[0].arguments["command"] = "other"
    next(iter(blue.context.history)).arguments["command"] = "other"
    blue.context.history[:1][0].arguments["command"] = "other"
    assert record.actions[0].arguments == {"command": "ls"}


@pytest.mark.anyio
async def test_a_termination_ends_the_run_as_inspect_s_operator_limit() -> None:
    from inspect_ai.util import LimitExceededError

    async def terminates(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
        blue.context.decisions.terminate(await untrusted(asked), reason="three strikes")

    middle, record = between(Scripted(bash()), Blue(terminates))
    with pytest.raises(LimitExceededError) as ended:
        await middle.decide(turn())
    assert (ended.value.type, ended.value.message) == ("operator", "three strikes")
    assert [d.kind for d in record.decisions] == ["terminate"]
    assert record.turns == 1
