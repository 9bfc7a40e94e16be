"""TRAJ_LIKE: what a user writes for a trajectory, and the recordings that it stands for.

An id or its beginning, a sample's id, a run's id or folder, a trajectory's file, a folder of such
files, or an Inspect log.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from control_tower.errors import UsageProblem, is_directory, is_file, nearest, spoken, user_path
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

IN_LOG = "#"
"""Between an Inspect log's path and the sample, in a reference."""
_SHORTEST = 4
"""Characters of an id's beginning that stand for it."""
_LISTED = 10


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
    found = _in_path(text, flag) or _by_id(text, log_dir, flag)
    if sample_id is not None:
        found = _of_sample(found, sample_id, f"{sample_flag} {sample_id}", text)
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
            f"{flag}: '{text}' stands for {len(found)} trajectories, and one is wanted: "
            f"{_listed(found)}; give an id, or {sample_flag}"
        )
    return found[0]


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
        return joined(map(in_folder, run_folders(place)))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageProblem(f"{flag}: runs cannot be looked for in '{log_dir}': {reason}") from None


def _in_path(text: str, flag: str) -> list[Recording]:
    """Those in the file or folder of that name; none if there is no such one."""
    if text.startswith(("http://", "https://")):
        raise UsageProblem(f"{flag}: '{text}': addresses are not understood yet; give a file or id")
    path, _, sample = text.rpartition(IN_LOG)
    if path and is_file(log := user_path(path, flag=flag)) and is_inspect_log(log):
        return _of_sample(_in_log(log, flag), sample, f"{flag} …{IN_LOG}{sample}", path)
    place = user_path(text, flag=flag)
    try:
        if is_directory(place):
            return _all_of(in_directory(place), text, flag)
        if is_file(place):
            return _in_log(place, flag) if is_inspect_log(place) else [in_file(place)]
        if place.exists():
            raise UsageProblem(f"{flag}: '{text}' is no regular file")
    except UnreadableTrajectory as problem:
        raise UsageProblem(f"{flag}: {problem}") from None
    except (OSError, ValueError) as error:
        if is_directory(place):
            raise UsageProblem(f"{flag}: '{text}' cannot be read: {error}") from None
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
        raise UsageProblem(f"{flag}: there is no trajectory in '{text}'")
    return list(found.recordings)


def _by_id(text: str, log_dir: str, flag: str) -> list[Recording]:
    """Those of the runs below the log directory that the text names."""
    there = recorded_runs(log_dir, flag=flag)
    every = there.recordings
    exact = [r for r in every if r.summary.trajectory_id == text]
    if exact:
        return exact[:1]  # the newest: a copied run has the same ones
    runs = [r for r in every if text in (r.summary.run_id, _run_folder(r))]
    if runs:
        return runs
    samples = [r for r in every if r.summary.sample_id == text]
    begun = [r for r in every if r.summary.trajectory_id.startswith(text)]
    begun = begun if len(text) >= _SHORTEST else []
    of_runs = {r.summary.run_id for r in every if r.summary.run_id.startswith(text)}
    if not begun and len(of_runs) == 1 and len(text) >= _SHORTEST:
        return [r for r in every if r.summary.run_id in of_runs]
    meant = samples or begun
    if len(meant) > 1:
        raise UsageProblem(
            f"{flag}: '{text}' is ambiguous; it may be any of {len(meant)}: {_listed(meant)}"
        )
    return meant or _nothing(text, log_dir, flag, there)


def _run_folder(recording: Recording) -> str:
    return Path(recording.reference).parent.parent.name


def _nothing(text: str, log_dir: str, flag: str, there: Found) -> list[Recording]:
    ids = [r.summary.trajectory_id for r in there.recordings]
    ids += [r.summary.sample_id for r in there.recordings]
    close = nearest(text, ids) if len(text) < 200 else []
    hint = f"; did you mean {spoken(close)}?" if close else ""
    also = f" ({there.unreadable[0]})" if there.unreadable else ""
    raise UsageProblem(
        f"{flag}: '{text}' is no file, and no run in '{log_dir}' has a trajectory of that id"
        f"{hint or '; `ct traj list` shows what there is'}{also}"
    )


def _of_sample(found: Sequence[Recording], sample_id: str, flag: str, text: str) -> list[Recording]:
    """The one with that sample id or unique id."""
    chosen = [r for r in found if sample_id in (r.summary.sample_id, r.summary.trajectory_id)]
    if not chosen:
        ids = {r.summary.sample_id: None for r in found}
        close = nearest(sample_id, ids)
        shown = list(ids)[:_LISTED]
        hint = f"did you mean {spoken(close)}?" if close else f"there are: {', '.join(shown)}"
        raise UsageProblem(f"{flag}: '{text}' has no such sample; {hint}")
    if len(chosen) > 1:
        raise UsageProblem(f"{flag}: '{text}' has {len(chosen)} of it: {_listed(chosen)}")
    return chosen


def _listed(recordings: Sequence[Recording]) -> str:
    shown = [_described(recording) for recording in recordings[:_LISTED]]
    more = len(recordings) - _LISTED
    return ", ".join(shown) + (f", … ({more} more)" if more > 0 else "")


def _described(recording: Recording) -> str:
    summary = recording.summary
    at = summary.recorded_at
    when = "" if at is None else time.strftime(", %Y-%m-%d %H:%M", time.localtime(at))
    return f"{summary.trajectory_id} ({summary.sample_id}{when}, {summary.outcome})"
