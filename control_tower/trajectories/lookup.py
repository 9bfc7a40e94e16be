"""TRAJ_LIKE: what a user writes for a trajectory, and the recordings that it stands for.

An id or its beginning, a sample's id, a run's id, name or folder, a trajectory's file, a folder of
such files, or an Inspect log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from control_tower.errors import UsageProblem, is_directory, is_file, user_path
from control_tower.trajectories.identifiers import of_sample_id, recordings_by_id
from control_tower.trajectories.reading import UnreadableTrajectory
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.sources import (
    Found,
    Recording,
    in_directory,
    in_file,
    in_folder,
    is_inspect_log,
    joined,
    run_folders,
)
from control_tower.trajectories.wording import listed, reason, short

IN_LOG = "#"
"""Between an Inspect log's path and the sample, in a reference."""
_MARKS = 10
"""Marks in a text, each of which is tried as the one after a log's path."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def find_recordings(
    text: str,
    *,
    log_dir: str,
    flag: str,
    sample_id: str | None = None,
    sample_flag: str = "--sample-id",
) -> list[Recording]:
    """The recordings that a text stands for, at least one; a run, a folder or a log is all in it.

    Args:
        text: what the user wrote.
        log_dir: the log directory whose runs are searched for ids.
        flag: what the user wrote it after.
        sample_id: of those, the one with this sample id (`env/main/side`, with `@2`) or unique id.
        sample_flag: what the user wrote that after.

    Raises:
        UsageProblem: there is none, several are meant by one id, or one cannot be read.
    """
    found = _in_path(text, flag)
    if not found:
        there = recorded_runs(log_dir, flag=flag)
        found = recordings_by_id(text, there, log_dir=log_dir, flag=flag)
    if sample_id is not None:
        found = of_sample_id(found, sample_id, flag=sample_flag, text=text)
    return found


def find_recording(
    text: str,
    *,
    log_dir: str,
    flag: str,
    sample_id: str | None = None,
    sample_flag: str = "--sample-id",
) -> Recording:
    """The one recording that a text stands for; see `find_recordings`.

    Raises:
        UsageProblem: as there; or it stands for several, which are listed.
    """
    found = find_recordings(
        text, log_dir=log_dir, flag=flag, sample_id=sample_id, sample_flag=sample_flag
    )
    if len(found) > 1:
        raise UsageProblem(
            f"{flag}: '{short(text)}' stands for {len(found)} trajectories, and one is wanted: "
            f"{listed(found)}; give an id, or {sample_flag}"
        )
    return found[0]


def find_references(references: Iterable[str], *, log_dir: str, flag: str) -> list[Recording]:
    """The recordings of these references, in order; what is in one log is read from it at once.

    Raises:
        UsageProblem: one is not there any more.
    """
    logs: dict[str, dict[str, Recording]] = {}
    found: list[Recording] = []
    for reference in references:
        path, mark, _ = reference.partition(IN_LOG)
        log = Path(path)
        if mark and path not in logs and is_file(log) and is_inspect_log(log):
            logs[path] = {recording.reference: recording for recording in _in_log(log, flag)}
        known = logs.get(path, {}).get(reference)
        found += [known] if known else find_recordings(reference, log_dir=log_dir, flag=flag)
    return found


def load(recording: Recording, *, flag: str) -> Trajectory:
    """Read a recording.

    Raises:
        UsageProblem: it cannot be read.
    """
    try:
        return recording.load()
    except UnreadableTrajectory as problem:
        raise UsageProblem(f"{flag}: {problem}") from None


def recorded_runs(log_dir: str, *, flag: str) -> Found:
    """The recordings of all runs below a log directory, newest run first.

    Raises:
        UsageProblem: it cannot be searched.
    """
    place = user_path(log_dir, flag=flag)
    try:
        folders, closed = run_folders(place)
        found = joined(map(in_folder, folders))
        return Found(found.recordings, (*found.unreadable, *closed))
    except (OSError, ValueError) as error:
        raise UsageProblem(
            f"{flag}: runs cannot be looked for in '{short(log_dir)}': {reason(error)}"
        ) from None


def _in_path(text: str, flag: str) -> list[Recording]:
    """Those in the file or folder of that name; none if there is no such one."""
    if not text.strip():
        raise UsageProblem(f"{flag}: it is empty; give an id, a file or a folder")
    if _ADDRESS.match(text):
        raise UsageProblem(
            f"{flag}: '{short(text)}': trajectories cannot be fetched from an address yet; give "
            "a file or an id"
        )
    place = user_path(text, flag=flag)
    try:
        if is_directory(place):
            return _all_of(in_directory(place), text, flag)
        if is_file(place):
            return _in_log(place, flag) if is_inspect_log(place) else [in_file(place)]
        if place.exists():
            raise UsageProblem(f"{flag}: '{short(text)}' is no regular file")
    except UnreadableTrajectory as problem:
        raise UsageProblem(f"{flag}: {problem}") from None
    except (OSError, ValueError) as error:
        if is_directory(place):
            raise UsageProblem(f"{flag}: '{short(text)}' cannot be read: {reason(error)}") from None
    return _in_log_with_sample(text, flag)


def _in_log_with_sample(text: str, flag: str) -> list[Recording]:
    """Of `LOG#SAMPLE`, as references are; a sample's id may have a # of its own."""
    parts = text.split(IN_LOG)
    for n in range(1, min(len(parts), _MARKS + 1)):
        path, sample = IN_LOG.join(parts[:n]), IN_LOG.join(parts[n:])
        log = user_path(path, flag=flag)
        if path and is_file(log) and is_inspect_log(log):
            return of_sample_id(_in_log(log, flag), sample, flag=flag, text=path)
    return []


def _in_log(path: Path, flag: str) -> list[Recording]:
    from control_tower.trajectories.inspect_logs import in_log

    try:
        return in_log(path)
    except UnreadableTrajectory as problem:
        raise UsageProblem(f"{flag}: {problem}") from None


def _all_of(found: Found, text: str, flag: str) -> list[Recording]:
    """All of a folder, each of whose files must be a trajectory."""
    if found.unreadable:
        more = len(found.unreadable) - 1
        also = f" (and {more} more)" if more else ""
        raise UsageProblem(f"{flag}: {found.unreadable[0]}{also}")
    if not found.recordings:
        files = sorted(user_path(text, flag=flag).glob("*"))
        logs = [file for file in files if is_file(file) and is_inspect_log(file)]
        hint = f"; it has an Inspect log, which can be named: {logs[0]}" if logs else ""
        raise UsageProblem(f"{flag}: there is no trajectory in '{short(text)}'{hint}")
    return list(found.recordings)
