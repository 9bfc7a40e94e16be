"""Finding a recorded trajectory: by the path of its file, or by its id among the runs' logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from control_tower.errors import UsageProblem, is_file, user_path
from control_tower.trajectories.schema import SCHEMA_VERSION, Trajectory
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
    path = user_path(name, flag=flag)
    if is_file(path):
        return read_trajectory(path, flag=flag)
    unreadable: list[Path] = []
    for found in _files_of(name, user_path(log_directory, flag=flag), unreadable):
        return read_trajectory(found, flag=flag)
    also = f" ({unreadable[0]} cannot be read)" if unreadable else ""
    raise UsageProblem(
        f"{flag}: '{name}' is no file, and no run in '{log_directory}' has a trajectory of that "
        f"id{also}"
    )


def read_trajectory(path: Path, *, flag: str) -> Trajectory:
    """Read a trajectory's file.

    Raises:
        UsageProblem: if it cannot be read, is no trajectory, or is of a newer kind.
    """
    try:
        trajectory = Trajectory.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageProblem(f"{flag}: {path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise UsageProblem(f"{flag}: {path}: no trajectory: {said}") from None
    if trajectory.schema_version > SCHEMA_VERSION:
        raise UsageProblem(
            f"{flag}: {path}: its schema_version is {trajectory.schema_version}, and this version "
            f"reads {SCHEMA_VERSION}; install a newer one"
        )
    return trajectory


def _files_of(trajectory_id: str, log_directory: Path, unreadable: list[Path]) -> Iterator[Path]:
    """The files that the indexes of all runs give for an id, newest run first."""
    for index in sorted(log_directory.glob(f"*/{DIRECTORY}/{INDEX}"), reverse=True):
        try:
            lines = index.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            unreadable.append(index)
            continue
        for line in lines:
            name = _file_of(line, trajectory_id) if trajectory_id in line else None
            if name is not None and is_file(index.parent / name):
                yield index.parent / name


def _file_of(line: str, trajectory_id: str) -> str | None:
    """The file that an index's line gives for an id; a killed run may leave half a line."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or entry.get("trajectory_id") != trajectory_id:
        return None
    name = entry.get("file")
    return name if isinstance(name, str) else None
