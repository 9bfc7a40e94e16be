"""Flags to combinations: which (environment, main task, side task) a run is about."""

from control_tower.selection.combinations import (
    NONE,
    Combination,
    SampleKey,
    Selection,
    epoch_id,
)
from control_tower.selection.selecting import select

__all__ = ["NONE", "Combination", "SampleKey", "Selection", "epoch_id", "select"]
