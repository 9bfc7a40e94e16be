"""Where recordings are: in files, in folders, in the runs of a log directory, in Inspect logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from control_tower.errors import is_directory
from control_tower.trajectories.index import ENDING, summaries_in
from control_tower.trajectories.one_line import visible
from control_tower.trajectories.reading import UnreadableTrajectory, read_trajectory
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.store import DIRECTORY
from control_tower.trajectories.summary import Summary

LOG_ENDING = ".eval"
_RUNS = (f"*/{DIRECTORY}", f"*/*/*/{DIRECTORY}")
"""Runs below a log directory; `ct envs check` has its two runs in a folder."""


@dataclass(frozen=True)
class Recording:
    """A trajectory that is recorded somewhere; it is read when it is asked for."""

    reference: str
    """What finds just this one again, from any folder."""
    summary: Summary
    _load: Callable[[], Trajectory] = field(repr=False, compare=False)

    def load(self) -> Trajectory:
        """Read it.

        Raises:
            UnreadableTrajectory: it cannot be read any more.
        """
        return self._load()


@dataclass(frozen=True)
class Found:
    """What a place holds."""

    recordings: tuple[Recording, ...]
    unreadable: tuple[UnreadableTrajectory, ...] = ()


def in_file(path: Path) -> Recording:
    """The recording in a trajectory's file.

    Raises:
        UnreadableTrajectory: it is none.
    """
    trajectory = read_trajectory(path)
    return Recording(str(path.absolute()), Summary.of(trajectory), lambda: trajectory)


def in_folder(folder: Path) -> Found:
    """The recordings in the files of a folder, sorted by name.

    Inspect logs in JSON are passed over, as those that end in `.eval` are.

    Raises:
        OSError: the folder cannot be read.
    """
    recordings: list[Recording] = []
    unreadable: list[UnreadableTrajectory] = []
    for path, summary in summaries_in(folder):
        if isinstance(summary, UnreadableTrajectory):
            if not is_inspect_log(path):
                unreadable.append(summary)
        else:
            load = partial(read_trajectory, path)
            recordings.append(Recording(str(path.absolute()), summary, load))
    return Found(tuple(recordings), tuple(unreadable))


def in_directory(directory: Path) -> Found:
    """The recordings of a run, of all runs of a log directory, or of a plain folder of files.

    Raises:
        OSError: it cannot be read.
    """
    if is_directory(directory / DIRECTORY):
        return in_folder(directory / DIRECTORY)
    runs, _ = run_folders(directory)
    return joined(map(in_folder, runs)) if runs else in_folder(directory)


def run_folders(log_directory: Path) -> tuple[list[Path], list[UnreadableTrajectory]]:
    """The folders of trajectories of all runs below a log directory, newest run first.

    Returns:
        Those, and a problem for each folder that this user may not look into.

    Raises:
        OSError: the directory cannot be searched.
    """
    closed = [
        UnreadableTrajectory(f"{visible(str(folder))}: it may not be looked into")
        for folder in _folders_in(log_directory)
        if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True)
    ]
    found = chain.from_iterable(log_directory.glob(pattern) for pattern in _RUNS)
    return sorted((folder for folder in found if folder.is_dir()), reverse=True), closed


def _folders_in(directory: Path) -> list[Path]:
    """None, where the directory is not there."""
    try:
        with os.scandir(directory) as found:
            return [directory / entry.name for entry in found if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def joined(places: Iterator[Found] | map[Found]) -> Found:
    """What several places hold."""
    found = list(places)
    return Found(
        tuple(chain.from_iterable(place.recordings for place in found)),
        tuple(chain.from_iterable(place.unreadable for place in found)),
    )


def is_inspect_log(path: Path) -> bool:
    """Whether a file is an Inspect log, by its name or, in JSON, by its first fields."""
    if path.name.endswith(LOG_ENDING):
        return True
    if not path.name.endswith(ENDING):
        return False
    try:
        with path.open("rb") as stream:
            start = stream.read(4096)
    except OSError:
        return False
    return all(f'"{key}"'.encode() in start for key in ("version", "status", "eval")) and (
        b'"trajectory_id"' not in start
    )
