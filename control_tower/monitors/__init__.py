"""Monitors, one component a file, and what a monitor of your own is made of (`_judging.py`)."""

from control_tower.monitors._escaping import attribute, escape, excerpt
from control_tower.monitors._judging import Asking, CaseMonitor, ModelMonitor, monitor_prompt
from control_tower.monitors._rendering import View, case_places
from control_tower.monitors._verdict import NoVerdict

__all__ = [
    "Asking",
    "CaseMonitor",
    "ModelMonitor",
    "NoVerdict",
    "View",
    "attribute",
    "case_places",
    "escape",
    "excerpt",
    "monitor_prompt",
]
