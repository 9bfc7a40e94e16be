"""Finding a recorded trajectory: by the path of its file, or by its id among the runs' logs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from control_tower.errors import UsageProblem, is_file, user_path
from control_tower.trajectories.schema import SCHEMA_VERSION, Trajectory
from control_tower.trajectories.store import DIRECTORY, INDEX

_SHOWN = 60
"""Characters of the longest value that a message shows."""


class _Readable(Trajectory):
    """A trajectory from a file, which anybody may have written."""

    schema_version: Annotated[int, Field(strict=True, ge=1)] = SCHEMA_VERSION


def find_trajectory(name: str, log_directory: str, *, flag: str) -> tuple[Path, Trajectory]:
    """The trajectory in the file `name`, or the one of that id in a run below `log_directory`.

    Args:
        name: a path or a trajectory id.
        log_directory: where runs are logged.
        flag: what the user wrote it after.

    Returns:
        Its file, and what is in it.

    Raises:
        UsageProblem: if there is none, it is no trajectory, or the directory cannot be searched.
    """
    path = user_path(name, flag=flag)
    if is_file(path):
        return path, read_trajectory(path, flag=flag)
    unreadable: list[Path] = []
    indexes = _indexes(user_path(log_directory, flag=flag), flag)
    for found in _files_of(name, indexes, unreadable):
        return found, read_trajectory(found, flag=flag)
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
        trajectory = _Readable.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageProblem(f"{flag}: {path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}{_given(first['input'])}" if where else first["msg"]
        raise UsageProblem(f"{flag}: {path}: no trajectory: {said}") from None
    if trajectory.schema_version > SCHEMA_VERSION:
        raise UsageProblem(
            f"{flag}: {path}: its schema_version is {trajectory.schema_version}, and this version "
            f"reads {SCHEMA_VERSION}; install a newer one"
        )
    return trajectory


def _given(value: object) -> str:
    """The value that is wrong, where it is short enough to be shown."""
    text = json.dumps(value) if isinstance(value, str | int | float | None) else ""
    return f", not {text}" if 0 < len(text) <= _SHOWN else ""


def _indexes(log_directory: Path, flag: str) -> list[Path]:
    """The indexes of all runs, newest run first; `ct envs check` has its two runs in a folder."""
    try:
        found = (log_directory.glob(f"{run}/{DIRECTORY}/{INDEX}") for run in ("*", "*/*/*"))
        return sorted(chain.from_iterable(found), reverse=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageProblem(
            f"{flag}: runs cannot be looked for in '{log_directory}': {reason}"
        ) from None


def _files_of(
    trajectory_id: str, indexes: Iterable[Path], unreadable: list[Path]
) -> Iterator[Path]:
    """The files that the indexes give for an id."""
    for index in indexes:
        if not is_file(index):  # reading a pipe would wait for a writer
            unreadable.append(index)
            continue
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
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("trajectory_id") != trajectory_id:
        return None
    name = entry.get("file")
    return name if isinstance(name, str) else None
