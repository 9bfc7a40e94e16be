"""Recordings by id: a trajectory's, a sample's or a run's, or the beginning of a unique one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from control_tower.errors import UsageProblem, spoken
from control_tower.trajectories.sources import Found, Recording
from control_tower.trajectories.wording import LISTED, listed, near, short

_LOG_DIR = "logs"
"""Where runs go, and are looked for, if nobody says."""
_SHORTEST = 4
"""Characters of an id's beginning that stand for it."""


def recordings_by_id(text: str, there: Found, *, log_dir: str, flag: str) -> list[Recording]:
    """Those that the text names, at least one, each once.

    Args:
        text: what the user wrote.
        there: all recordings of a log directory's runs, newest run first.
        log_dir: that directory, as the user wrote it.
        flag: what the user wrote the text after.

    Raises:
        UsageProblem: there is none, or several are meant.
    """
    every = _each_once(there.recordings)
    exact = [r for r in every if r.summary.trajectory_id == text]
    if exact:
        return exact
    of_run = [r for r in every if r.summary.run_id == text]
    of_run = of_run or [r for r in there.recordings if _run_folder(r) == text]
    if of_run:
        return of_run
    of_name = [r for r in every if r.summary.run_name == text]
    if of_name:
        return _one_run(of_name, text, flag)
    of_sample = [r for r in every if r.summary.sample_id == text]
    if of_sample:
        return _only(of_sample, text, flag)
    begun = _begun(text, every, flag) if len(text) >= _SHORTEST else []
    return begun or _nothing(text, log_dir, flag, there)


def of_sample_id(
    found: Sequence[Recording], sample_id: str, *, flag: str, text: str
) -> list[Recording]:
    """The one with that sample id or unique id.

    Args:
        found: what the text stands for.
        sample_id: a sample's id (`env/main/side`, with `@2`) or a trajectory's.
        flag: what the user wrote that after.
        text: what the user wrote for the recordings.

    Raises:
        UsageProblem: there is none, or several.
    """
    chosen = [r for r in found if sample_id in (r.summary.sample_id, r.summary.trajectory_id)]
    wanted, text = short(sample_id), short(text)
    if not chosen:
        ids = list(dict.fromkeys(r.summary.sample_id for r in found))
        close = near(sample_id, ids)
        more = f", … ({len(ids) - LISTED} more)" if len(ids) > LISTED else ""
        shown = ", ".join(map(short, ids[:LISTED])) + more
        hint = f"did you mean {spoken(close)}?" if close else f"there are: {shown}"
        raise UsageProblem(f"{flag}: '{text}' has no sample '{wanted}'; {hint}")
    if len(chosen) > 1:
        raise UsageProblem(
            f"{flag}: '{text}' has {len(chosen)} samples '{wanted}': {listed(chosen)}; give an id"
        )
    return chosen


def _each_once(recordings: Iterable[Recording]) -> list[Recording]:
    """The first of each id: of a run that was copied, the newest folder's."""
    found: dict[str, Recording] = {}
    for recording in recordings:
        found.setdefault(recording.summary.trajectory_id, recording)
    return list(found.values())


def _begun(text: str, every: Sequence[Recording], flag: str) -> list[Recording]:
    """The trajectory whose id begins so, or all of the run whose id does."""
    of_id = [r for r in every if r.summary.trajectory_id.startswith(text)]
    if of_id:
        return _only(of_id, text, flag)
    return _one_run([r for r in every if r.summary.run_id.startswith(text)], text, flag)


def _one_run(found: list[Recording], text: str, flag: str) -> list[Recording]:
    """The recordings, which must be of one run."""
    runs = list(dict.fromkeys(r.summary.run_id for r in found))
    if len(runs) > 1:
        more = f", … ({len(runs) - LISTED} more)" if len(runs) > LISTED else ""
        raise UsageProblem(
            f"{flag}: '{short(text)}' is ambiguous; it may be any of {len(runs)} runs: "
            f"{', '.join(map(short, runs[:LISTED]))}{more}"
        )
    return found


def _only(found: list[Recording], text: str, flag: str) -> list[Recording]:
    if len(found) > 1:
        raise UsageProblem(
            f"{flag}: '{short(text)}' is ambiguous; it may be any of {len(found)}: "
            f"{listed(found)}; give an id"
        )
    return found


def _run_folder(recording: Recording) -> str:
    return Path(recording.reference).parent.parent.name


def _nothing(text: str, log_dir: str, flag: str, there: Found) -> list[Recording]:
    names = [r.summary.trajectory_id for r in there.recordings]
    names += [r.summary.sample_id for r in there.recordings]
    names += [name for r in there.recordings for name in (r.summary.run_id, r.summary.run_name)]
    close = near(text, names)
    if close:
        hint = f"did you mean {spoken(close)}?"
    elif len(text) < _SHORTEST and any(name.startswith(text) for name in names):
        hint = f"give at least {_SHORTEST} characters of an id"
    else:
        elsewhere = "" if log_dir == _LOG_DIR else f" --log-dir {shlex.quote(log_dir)}"
        hint = f"`ct traj list{elsewhere}` shows what there is"
    also = f" ({there.unreadable[0]})" if there.unreadable else ""
    raise UsageProblem(
        f"{flag}: '{short(text)}' is no file, and no run in '{log_dir}' has a trajectory of that "
        f"id; {hint}{also}"
    )
