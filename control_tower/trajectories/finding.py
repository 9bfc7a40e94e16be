"""Finding a recorded trajectory: by the path of its file, or by its id among the runs' logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from control_tower.errors import UsageProblem
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.store import DIRECTORY, INDEX


def find_trajectory(name: str, log_directory: str, *, flag: str) -> Trajectory:
    """The trajectory in the file `name`, or the one of that id in a run below `log_directory`.

    Args:
        name: a path or a trajectory id.
        log_directory: where runs are logged.
        flag: what the user wrote it after.

    Raises:
        UsageProblem: if there is none, or it is no trajectory.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return read_trajectory(path, flag=flag)
    for found in _files_of(name, Path(log_directory).expanduser()):
        return read_trajectory(found, flag=flag)
    raise UsageProblem(
        f"{flag}: '{name}' is no file, and no run in '{log_directory}' has a trajectory of that id"
    )


def read_trajectory(path: Path, *, flag: str) -> Trajectory:
    """Read a trajectory's file.

    Raises:
        UsageProblem: if it cannot be read or is no trajectory; with the first fault.
    """
    try:
        return Trajectory.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageProblem(f"{flag}: {path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise UsageProblem(f"{flag}: {path}: no trajectory: {said}") from None


def _files_of(trajectory_id: str, log_directory: Path) -> Iterator[Path]:
    """The files that the indexes of all runs give for an id, newest run first."""
    indexes = sorted(log_directory.glob(f"*/{DIRECTORY}/{INDEX}"), reverse=True)
    for index in indexes:
        for line in index.read_text(encoding="utf-8").splitlines():
            if trajectory_id not in line:
                continue
            entry = json.loads(line)
            file = index.parent / str(entry.get("file"))
            if entry.get("trajectory_id") == trajectory_id and file.is_file():
                yield file
