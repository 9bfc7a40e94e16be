"""The built-in suite: every selected sample, judged by what its policy is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_control_tower.judging import ControlOutcome


def test_sample(control_outcome: ControlOutcome) -> None:
    """The sample's outcome is as it should be."""
    control_outcome.check()
