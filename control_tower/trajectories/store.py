"""Where trajectories are kept: one JSON file each, and an index, beside the Inspect log."""

from __future__ import annotations

import json
import time
from pathlib import Path

from control_tower.trajectories.index import ENDING, INDEX, index_line
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.summary import Summary

DIRECTORY = "trajectories"


class TrajectoryStore:
    """Writes the trajectories of one run below its run directory."""

    def __init__(self, run_directory: Path) -> None:
        self._directory = run_directory / DIRECTORY

    def write(self, trajectory: Trajectory, *, sample_id: str) -> Path:
        """Write the trajectory of sample `env/main/side[@epoch]`; returns its file.

        It gets the sample's id, and the time if it has none. The file appears whole or not at all;
        the index gets one line.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        kept = trajectory.model_copy(
            update={
                "sample_id": sample_id,
                "recorded_at": trajectory.recorded_at or time.time(),
            }
        )
        # Ids hold no dot, so that no two samples can share a name.
        path = self._directory / (sample_id.replace("/", ".") + ENDING)
        write_trajectory(path, kept)
        with (self._directory / INDEX).open("a", encoding="utf-8") as index:
            index.write(index_line(path, Summary.of(kept)))
        return path


def write_trajectory(path: Path, trajectory: Trajectory) -> None:
    """Write a trajectory to a file, which appears whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(as_json(trajectory) + b"\n")
    unfinished.replace(path)


def as_json(trajectory: Trajectory) -> bytes:
    """The trajectory as it is kept."""
    try:
        return trajectory.model_dump_json(indent=2).encode()
    except ValueError:  # half of a character, in a scorer's explanation, say: written as ?
        text = json.dumps(trajectory.model_dump(mode="json"), indent=2, ensure_ascii=False)
        return text.encode("utf-8", "replace")
