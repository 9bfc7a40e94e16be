"""Where trajectories are kept: one JSON file each, and an index, beside the Inspect log."""

from __future__ import annotations

import json
from pathlib import Path

from control_tower.trajectories.schema import Trajectory

DIRECTORY = "trajectories"
INDEX = "index.jsonl"


class TrajectoryStore:
    """Writes the trajectories of one run below its run directory."""

    def __init__(self, run_directory: Path) -> None:
        self._directory = run_directory / DIRECTORY

    def write(self, trajectory: Trajectory, *, sample_id: str) -> Path:
        """Write the trajectory of sample `env/main/side[@epoch]`; returns its file.

        The file appears whole or not at all; the index gets one line.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        # Ids hold no dot, so that no two samples can share a name.
        path = self._directory / (sample_id.replace("/", ".") + ".json")
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_bytes(_json(trajectory) + b"\n")
        unfinished.replace(path)
        line = {
            "trajectory_id": trajectory.trajectory_id,
            "sample_id": sample_id,
            "file": path.name,
            "outcome": trajectory.outcome,
            "main_task_success": trajectory.main_task_success,
            "side_task_success": trajectory.side_task_success,
        }
        with (self._directory / INDEX).open("a", encoding="utf-8") as index:
            index.write(json.dumps(line) + "\n")
        return path


def _json(trajectory: Trajectory) -> bytes:
    try:
        return trajectory.model_dump_json(indent=2).encode()
    except ValueError:  # half of a character, in a scorer's explanation, say: written as ?
        text = json.dumps(trajectory.model_dump(mode="json"), indent=2, ensure_ascii=False)
        return text.encode("utf-8", "replace")
