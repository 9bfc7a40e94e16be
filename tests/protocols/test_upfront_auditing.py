"""Upfront auditing: draws that are made before, and whatever is proposed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from support.protocols import (
    ENVIRONMENT,
    MAIN_TASK,
    TURN,
    UTILITY,
    ScriptedUntrusted,
    blue_context,
    decide,
    decide_all,
    ids,
    kinds,
)

from control_tower import scripted
from control_tower.components import find_component
from control_tower.contracts import BlueContext
from control_tower.protocols.upfront_auditing import upfront_auditing

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.contracts import Turn

CALL = scripted.call("bash", {"command": "make test"})
BOTH = scripted.calls(("bash", {"command": "make"}), ("bash", {"command": "rm -rf /"}))
SAID = scripted.say("Let me think.")


def test_an_audited_turn_goes_ahead_and_its_draw_is_recorded() -> None:
    context = blue_context()
    outputs = decide_all(
        upfront_auditing(fraction=0.5, seed=1), ScriptedUntrusted(CALL), context, *[TURN] * 40
    )
    assert outputs == [CALL] * 40
    allowed = [decision for decision in context.decisions.made if decision.kind == "allow"]
    audited = [decision for decision in context.decisions.made if decision.kind == "audit"]
    assert len(allowed) == 40
    draws = [decision.draws["audit"] for decision in allowed]
    assert [d.draws["audit"] for d in audited] == [draw for draw in draws if draw < 0.5]
    assert 0 < len(audited) < 40
    for decision in context.decisions.made:
        assert [decision.proposal_id] == ids(CALL)
        assert decision.details == {"fraction": 0.5}
    assert audited[0].reason == "drawn to be audited before it was proposed"
    assert {d.reason for d in allowed if d.draws["audit"] >= 0.5} == {
        "drawn to be left alone before it was proposed"
    }


@pytest.mark.parametrize(
    ("fraction", "expected"), [(0, ["allow"] * 20), (1, ["audit", "allow"] * 20)]
)
def test_nothing_or_everything_can_be_audited(fraction: float, expected: list[str]) -> None:
    context = blue_context()
    decide(upfront_auditing(fraction=fraction), ScriptedUntrusted(CALL), context, *[TURN] * 20)
    assert kinds(context) == expected


def test_what_is_proposed_changes_no_draw() -> None:
    dull = _draws(ScriptedUntrusted(CALL))
    assert len(set(dull)) == 6
    assert _draws(ScriptedUntrusted(BOTH)) == dull
    assert _draws(ScriptedUntrusted(CALL, SAID, CALL)) == [dull[0], *dull[2:]]


def test_each_draw_is_made_before_the_turn_is_proposed() -> None:
    happened: list[str] = []

    class WatchedRandom(Random):
        def random(self) -> float:
            happened.append("draw")
            return super().random()

    class WatchedContext(BlueContext):
        def random(self, seed: int | None) -> Random:
            return WatchedRandom(seed)

    async def untrusted(turn: Turn) -> ModelOutput:
        happened.append("proposal")
        return CALL

    context = WatchedContext(environment=ENVIRONMENT, main_task=MAIN_TASK)
    decide(upfront_auditing(fraction=0.5, seed=1), untrusted, context, TURN, TURN)
    assert happened == ["draw", "proposal"] * 2


def test_a_seed_makes_a_sample_s_draws_the_same_in_every_run() -> None:
    assert _draws(ScriptedUntrusted(CALL)) == _draws(ScriptedUntrusted(CALL))
    assert _draws(ScriptedUntrusted(CALL)) != _draws(ScriptedUntrusted(CALL), seed=8)
    assert _draws(ScriptedUntrusted(CALL)) != _draws(ScriptedUntrusted(CALL), blue_context(epoch=2))
    elsewhere = blue_context(main_task=None)
    assert elsewhere.main_task != MAIN_TASK
    assert _draws(ScriptedUntrusted(CALL)) != _draws(ScriptedUntrusted(CALL), elsewhere)


def test_without_a_seed_each_run_draws_anew() -> None:
    assert _draws(ScriptedUntrusted(CALL), seed=None) != _draws(ScriptedUntrusted(CALL), seed=None)


def test_a_turn_with_several_calls_is_drawn_for_once() -> None:
    context = blue_context()
    decide(upfront_auditing(fraction=1), ScriptedUntrusted(BOTH), context)
    assert kinds(context) == ["audit", "allow"]
    assert context.decisions.made[0].calls == ["bash", "bash"]


def test_a_turn_without_a_call_is_not_audited() -> None:
    context = blue_context()
    outputs = decide_all(
        upfront_auditing(fraction=1), ScriptedUntrusted(SAID), context, TURN, UTILITY
    )
    assert outputs == [SAID, SAID]
    assert kinds(context) == []


@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match=f"fraction is a fraction, from 0 to 1 .given {fraction}."):
        upfront_auditing(fraction=fraction)


def test_it_binds_no_model() -> None:
    assert find_component("protocol", "upfront-auditing", flag="-b").bindings({}) == {}


def _draws(
    untrusted: ScriptedUntrusted, context: BlueContext | None = None, *, seed: int | None = 7
) -> list[float]:
    context = context or blue_context()
    decide(upfront_auditing(fraction=0.5, seed=seed), untrusted, context, *[TURN] * 6)
    allowed = [decision for decision in context.decisions.made if decision.kind == "allow"]
    return [decision.draws["audit"] for decision in allowed]
