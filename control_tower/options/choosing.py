"""Which options choose what is run, and which of them contradict each other."""

from __future__ import annotations

SELECTING = ("env", "task_file", "trajectory_id", "rerun_traj", "changed_since")
"""Keys of the options of which a run needs one: they say which environments it is about."""

WAYS = (
    "all",
    "just_main_tasks",
    "just_side_tasks",
    "env_only",
    "task_file",
    "trajectory_id",
    "rerun_traj",
    "main_task",
    "side_task",
)
"""Keys of the options that say what of the environments is run: one, or both of the last."""

CONTRADICTIONS = (
    ("trajectory_id", "env"),
    ("trajectory_id", "category"),
    ("rerun_traj", "category"),
    ("just_side_tasks", "category"),
)
"""Pairs of keys that contradict each other although they are not two ways."""
