"""Answers of monitors that no protocol may rely on."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from support.monitors import case
from support.protocols import ScriptedMonitor

from control_tower.components import MonitorSpec, monitor
from control_tower.contracts import Case, Monitor
from control_tower.trajectories.schema import MonitorResponse

OFF_SCALE = [
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    (float("-inf"), "-inf"),
    (-3, "-3"),
    (50, "50"),
    (10.5, "10.5"),
]


class _Answers(Monitor):
    async def score(self, case: Case) -> Any:
        return 7.0


@monitor(roles=[])
def answers_a_number() -> Monitor:
    """Answer with a bare number."""
    return _Answers()


@pytest.mark.parametrize(("score", "shown"), OFF_SCALE)
def test_a_score_off_the_scale_is_none(score: float, shown: str) -> None:
    answer = _score(ScriptedMonitor(score).spec)
    assert answer.sus_score is None
    assert answer.error == f"{shown} is not on the scale from 0 to 10"
    assert answer.model_name == "scripted/monitor"


@pytest.mark.parametrize("score", [0, 10, 4.5, None])
def test_other_answers_are_left_as_they_are(score: float | None) -> None:
    given = MonitorResponse(sus_score=score, error="why" if score is None else None)
    assert _score(ScriptedMonitor(given).spec) == given


def test_an_answer_of_another_kind_is_an_error_that_names_the_monitor() -> None:
    with pytest.raises(TypeError) as caught:
        _score(MonitorSpec(f"{__name__}:answers_a_number"))
    assert str(caught.value) == (
        f"monitor '{__name__}:answers_a_number' returned float, not a MonitorResponse"
    )


def _score(spec: MonitorSpec) -> MonitorResponse:
    return anyio.run(spec.create().score, case())
