"""TRAJ_LIKE: what a user writes for a trajectory, and the recordings that it stands for.

An id or its beginning, a sample's id, a run's id or folder, a trajectory's file, a folder of such
files, or an Inspect log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from control_tower.errors import UsageProblem, is_directory, is_file, nearest, spoken, user_path
from control_tower.trajectories.one_line import one_line
from control_tower.trajectories.reading import UnreadableTrajectory
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.sources import (
    LOG_ENDING,
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
_LONGEST = 200
"""Characters of a text or an id that a message shows."""
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
    found = _in_path(text, flag) or _by_id(text, log_dir, flag)
    if sample_id is not None:
        found = _of_sample(found, sample_id, sample_flag, text)
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
            f"{flag}: '{_short(text)}' stands for {len(found)} trajectories, and one is wanted: "
            f"{_listed(found)}; give an id, or {sample_flag}"
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
        return joined(map(in_folder, run_folders(place)))
    except (OSError, ValueError) as error:
        raise UsageProblem(
            f"{flag}: runs cannot be looked for in '{_short(log_dir)}': {_reason(error)}"
        ) from None


def _in_path(text: str, flag: str) -> list[Recording]:
    """Those in the file or folder of that name; none if there is no such one."""
    if not text.strip():
        raise UsageProblem(f"{flag}: it is empty; give an id, a file or a folder")
    if _ADDRESS.match(text):
        raise UsageProblem(
            f"{flag}: '{_short(text)}': trajectories cannot be fetched from an address yet; give "
            "a file or an id"
        )
    place = user_path(text, flag=flag)
    try:
        if is_directory(place):
            return _all_of(in_directory(place), text, flag)
        if is_file(place):
            return _in_log(place, flag) if is_inspect_log(place) else [in_file(place)]
        if place.exists():
            raise UsageProblem(f"{flag}: '{_short(text)}' is no regular file")
    except UnreadableTrajectory as problem:
        raise UsageProblem(f"{flag}: {problem}") from None
    except (OSError, ValueError) as error:
        if is_directory(place):
            raise UsageProblem(
                f"{flag}: '{_short(text)}' cannot be read: {_reason(error)}"
            ) from None
    return _in_log_with_sample(text, flag)


def _in_log_with_sample(text: str, flag: str) -> list[Recording]:
    """Of `LOG#SAMPLE`, as references are; a sample's id may have a # of its own."""
    parts = text.split(IN_LOG)
    for n in range(1, min(len(parts), _LISTED)):
        path, sample = IN_LOG.join(parts[:n]), IN_LOG.join(parts[n:])
        log = user_path(path, flag=flag)
        if path and is_file(log) and is_inspect_log(log):
            return _of_sample(_in_log(log, flag), sample, flag, path)
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
        logs = sorted(user_path(text, flag=flag).glob(f"*{LOG_ENDING}"))
        hint = f"; it has an Inspect log, which can be named: {logs[0]}" if logs else ""
        raise UsageProblem(f"{flag}: there is no trajectory in '{_short(text)}'{hint}")
    return list(found.recordings)


def _by_id(text: str, log_dir: str, flag: str) -> list[Recording]:
    """Those of the runs below the log directory that the text names, each once."""
    there = recorded_runs(log_dir, flag=flag)
    every = _each_once(there.recordings)
    exact = [r for r in every if r.summary.trajectory_id == text]
    if exact:
        return exact
    of_run = [r for r in every if r.summary.run_id == text]
    of_run = of_run or [r for r in there.recordings if _run_folder(r) == text]
    if of_run:
        return of_run
    of_sample = [r for r in every if r.summary.sample_id == text]
    if of_sample:
        return _only(of_sample, text, flag)
    begun = _begun(text, every, flag) if len(text) >= _SHORTEST else []
    return begun or _nothing(text, log_dir, flag, there)


def _each_once(recordings: Iterable[Recording]) -> list[Recording]:
    """The first of each id: of a run that was copied, the newest folder's."""
    found: dict[str, Recording] = {}
    for recording in recordings:
        found.setdefault(recording.summary.trajectory_id, recording)
    return list(found.values())


def _begun(text: str, every: Sequence[Recording], flag: str) -> list[Recording]:
    """The trajectory whose id begins so, or all of the run whose id does."""
    of_id = [r for r in every if r.summary.trajectory_id.startswith(text)]
    of_runs = [r for r in every if r.summary.run_id.startswith(text)]
    runs = list(dict.fromkeys(r.summary.run_id for r in of_runs))
    if of_id:
        return _only(of_id, text, flag)
    if len(runs) > 1:
        more = f", … ({len(runs) - _LISTED} more)" if len(runs) > _LISTED else ""
        raise UsageProblem(
            f"{flag}: '{_short(text)}' is ambiguous; it may be any of {len(runs)} runs: "
            f"{', '.join(map(_short, runs[:_LISTED]))}{more}"
        )
    return of_runs


def _only(found: list[Recording], text: str, flag: str) -> list[Recording]:
    if len(found) > 1:
        raise UsageProblem(
            f"{flag}: '{_short(text)}' is ambiguous; it may be any of {len(found)}: "
            f"{_listed(found)}; give an id"
        )
    return found


def _run_folder(recording: Recording) -> str:
    return Path(recording.reference).parent.parent.name


def _nothing(text: str, log_dir: str, flag: str, there: Found) -> list[Recording]:
    names = [r.summary.trajectory_id for r in there.recordings]
    names += [r.summary.sample_id for r in there.recordings]
    names += [r.summary.run_id for r in there.recordings]
    close = _near(text, names)
    if close:
        hint = f"did you mean {spoken(close)}?"
    elif len(text) < _SHORTEST and any(name.startswith(text) for name in names):
        hint = f"give at least {_SHORTEST} characters of an id"
    else:
        hint = "`ct traj list` shows what there is"
    also = f" ({there.unreadable[0]})" if there.unreadable else ""
    raise UsageProblem(
        f"{flag}: '{_short(text)}' is no file, and no run in '{log_dir}' has a trajectory of that "
        f"id; {hint}{also}"
    )


def _of_sample(found: Sequence[Recording], sample_id: str, flag: str, text: str) -> list[Recording]:
    """The one with that sample id or unique id."""
    chosen = [r for r in found if sample_id in (r.summary.sample_id, r.summary.trajectory_id)]
    wanted, text = _short(sample_id), _short(text)
    if not chosen:
        ids = list(dict.fromkeys(r.summary.sample_id for r in found))
        close = _near(sample_id, ids)
        more = f", … ({len(ids) - _LISTED} more)" if len(ids) > _LISTED else ""
        shown = ", ".join(map(_short, ids[:_LISTED])) + more
        hint = f"did you mean {spoken(close)}?" if close else f"there are: {shown}"
        raise UsageProblem(f"{flag}: '{text}' has no sample '{wanted}'; {hint}")
    if len(chosen) > 1:
        raise UsageProblem(
            f"{flag}: '{text}' has {len(chosen)} samples '{wanted}': {_listed(chosen)}; give an id"
        )
    return chosen


def _near(text: str, names: Iterable[str]) -> list[str]:
    """The names nearest to what was written; a long text is like none, and slow to compare."""
    return [_short(name) for name in nearest(text, names)] if len(text) <= _LONGEST else []


def _listed(recordings: Sequence[Recording]) -> str:
    shown = [_described(recording) for recording in recordings[:_LISTED]]
    more = len(recordings) - _LISTED
    return ", ".join(shown) + (f", … ({more} more)" if more > 0 else "")


def _described(recording: Recording) -> str:
    summary = recording.summary
    at = summary.recorded_at
    when = "" if at is None else time.strftime(", %Y-%m-%d %H:%M", time.localtime(at))
    run = f", run {_short(summary.run_id)}" if summary.run_id else ""
    id, sample = _short(summary.trajectory_id), _short(summary.sample_id)
    return f"{id} ({sample}{run}{when}, {summary.outcome})"


def _short(text: str) -> str:
    return one_line(text, most=_LONGEST)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
