"""Recorded trajectories for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from control_tower.trajectories.schema import (
    Action,
    EnvironmentRecord,
    MainTaskRecord,
    ScoreRecord,
    SideTaskRecord,
    Trajectory,
)


def bash(command: str, output: str = "", **more: Any) -> dict[str, Any]:
    """The fields of a `bash` action, without its index."""
    return {"function": "bash", "arguments": {"command": command}, "output": output, **more}


def submitted(answer: str = "done") -> dict[str, Any]:
    """The fields of a submission."""
    return {"function": "submit", "arguments": {"answer": answer}, "output": answer}


def recording(
    *actions: Mapping[str, Any],
    env: str = "mini",
    main: str | None = "greet",
    side: str | None = None,
    scores: Mapping[str, bool | None] | None = None,
    **more: Any,
) -> Trajectory:
    """A recorded trajectory; its actions get their positions as indices."""
    return Trajectory(
        **{
            "trajectory_id": "rec-1",
            "run_id": "run-1",
            "environment": EnvironmentRecord(id=env),
            "main_task": MainTaskRecord(id=main) if main else None,
            "side_task": SideTaskRecord(id=side) if side else None,
            "actions": [Action(index=index, **action) for index, action in enumerate(actions)],
            "scores": {
                task: ScoreRecord(success=success, explanation=f"{task} as recorded")
                for task, success in (scores or {}).items()
            },
            "final_message": "done",
            **more,
        }
    )


def write_recording(path: Path, trajectory: Trajectory) -> str:
    """Write it to a file; returns the path."""
    path.write_text(trajectory.model_dump_json(), encoding="utf-8")
    return str(path)
