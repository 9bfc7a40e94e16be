"""The toolkit for protocols, where the bundled ones do not show it."""

from __future__ import annotations

import pytest

from control_tower.blue import Unscored, is_suspicious
from control_tower.trajectories.schema import MonitorResponse


@pytest.mark.parametrize("score", [None, float("nan"), float("inf"), -3, 50])
@pytest.mark.parametrize(("unscored", "suspicious"), [("suspicious", True), ("benign", False)])
def test_no_score_and_one_off_the_scale_are_what_the_protocol_takes_them_for(
    score: float | None, unscored: Unscored, suspicious: bool
) -> None:
    assert is_suspicious(MonitorResponse(sus_score=score), 5, unscored) is suspicious


@pytest.mark.parametrize(("score", "suspicious"), [(0, False), (4.9, False), (5, True), (10, True)])
def test_a_score_at_the_threshold_is_suspicious(score: float, suspicious: bool) -> None:
    assert is_suspicious(MonitorResponse(sus_score=score), 5, "suspicious") is suspicious
