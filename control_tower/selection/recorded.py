"""Combinations of recorded trajectories: `--trajectory-id`, and what is run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from control_tower.environments.discovery import PATH_VARIABLE, Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection.combinations import NONE, Combination
from control_tower.task_sets import Entry, combined
from control_tower.trajectories.lookup import find_recordings, find_references, load
from control_tower.trajectories.schema import Trajectory

Known = Mapping[str, tuple[str, ...]]
"""What was found for a text when the run began, by the text: references of recordings."""
_LABEL = 8
"""Characters of a trajectory's id that tell recordings of one combination apart, if they do."""


class Recordings:
    """Finds recordings for what the user wrote, and remembers which.

    Args:
        options: where to look.
        known: what was found when the run began, in a process that was told: there may be more by
            now.
    """

    def __init__(self, options: RunOptions, known: Known | None = None) -> None:
        self._options = options
        self._known = known or {}
        self.found: dict[str, tuple[str, ...]] = {}
        """As `Known`."""

    def of(self, name: str, *, flag: str) -> list[Trajectory]:
        """The trajectories that a text stands for.

        Raises:
            UsageProblem: for none, or one that is not understood.
        """
        options, known = self._options, self._known.get(name)
        if known is not None:
            found = find_references(known, log_dir=options.log_dir, flag=flag)
        else:
            found = find_recordings(
                name,
                log_dir=options.log_dir,
                flag=flag,
                sample_id=options.traj_sample_id,
                sample_flag=options.flag("traj_sample_id"),
            )
        self.found[name] = tuple(recording.reference for recording in found)
        return [load(recording, flag=flag) for recording in found]


@dataclass(frozen=True)
class Recorded:
    """The recordings that a run is about."""

    combinations: list[Combination]
    """One for each recording, which it holds."""
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the environments, by their ids, as recorded."""


def from_trajectories(
    options: RunOptions, catalog: Catalog, recordings: Recordings, notices: list[str]
) -> Recorded:
    """The combinations of `--trajectory-id`, and their environment's arguments.

    Arguments that the environment no longer has are left out, with a notice.

    Args:
        options: with what to look for.
        catalog: the environments that there are.
        recordings: finds them.
        notices: gets a line for arguments that are left out.

    Raises:
        UsageProblem: for a trajectory that is not found or not understood, one whose
            environment or tasks do not exist here, or recordings of one environment with
            different arguments.
    """
    flag = options.flag("trajectory_id")
    found = [
        (name, trajectory)
        for name in options.trajectory_id
        for trajectory in recordings.of(name, flag=flag)
    ]
    made = [_combination(t, {}, catalog, flag=f"{flag} {name}") for name, t in found]
    return Recorded(made, _arguments(made, flag, notices))


def to_run_again(
    options: RunOptions, catalog: Catalog, recordings: Recordings, notices: list[str]
) -> Recorded:
    """The combinations of what is to be replayed and scored again, with what overrides them.

    Raises:
        UsageProblem: as `from_trajectories`; or for two names of one override.
    """
    name = str(options.rerun_traj)
    flag = "TRAJ_LIKE" if options.front_end == "ct" else options.flag("rerun_traj")
    override = _override(options, catalog)
    said = [f", {options.flag(key)} {value or NONE}" for key, value in override.items()]
    place = f"{flag} {name}{''.join(said)}"
    made = [
        _combination(trajectory, override, catalog, flag=place, or_with=options.flag("env"))
        for trajectory in recordings.of(name, flag=flag)
    ]
    return Recorded(made, _arguments(made, flag, notices))


def told_apart(combinations: Sequence[Combination]) -> list[Combination]:
    """The combinations with labels in the ids of those that several recordings are of."""
    times: dict[str, list[Combination]] = {}
    for combination in combinations:
        times.setdefault(combination.id, []).append(combination)
    labelled: list[Combination] = []
    for same in times.values():
        labels = _labels([c.recording.trajectory_id for c in same if c.recording])
        if len(same) == 1 or len(labels) < len(same):
            labelled += same
        else:
            labelled += [replace(c, label=label) for c, label in zip(same, labels, strict=True)]
    return labelled


def _labels(ids: Sequence[str]) -> list[str]:
    """Short texts that tell these ids apart; the same recording twice is numbered."""
    plain = ["".join(c if c.isascii() and c.isalnum() else "-" for c in id) for id in ids]
    length = _LABEL
    while len({p[:length] for p in plain}) < len(set(plain)):
        length += 1
    labels: list[str] = []
    for id in plain:
        short = label = id[:length]
        number = 1
        while label in labels:
            number += 1
            label = f"{short}-{number}"
        labels.append(label)
    return labels


def _override(options: RunOptions, catalog: Catalog) -> dict[str, str]:
    """What takes the place of a recording's names; an empty one is none."""
    override: dict[str, str] = {}
    for key in ("env", "main_task", "side_task"):
        names = getattr(options, key)
        if len(names) > 1:
            raise UsageProblem(
                f"{options.flag(key)}: {len(names)} names, and a trajectory is replayed in one "
                "combination; give one"
            )
        if names and key == "env":
            override[key] = catalog.id_of(names[0], flag=options.flag(key))
        elif names:
            override[key] = "" if names[0] == NONE else names[0]
    return override


def _combination(
    trajectory: Trajectory,
    override: Mapping[str, str],
    catalog: Catalog,
    *,
    flag: str,
    or_with: str | None = None,
) -> Combination:
    main, side = (task.id if task else "" for task in (trajectory.main_task, trajectory.side_task))
    recorded = {"env": trajectory.environment.id, "main_task": main, "side_task": side}
    names = {**recorded, **override}
    if not names["main_task"] and not names["side_task"]:
        raise UsageProblem(f"{flag}: the trajectory names no task, so there is none to run")
    if names["env"] not in catalog.names:
        itself = f", or its own, as a path, with {or_with}" if or_with else ""
        raise UsageProblem(
            f"{flag}: it is of environment '{names['env']}', which is not found; name the "
            f"folder that it is in with {PATH_VARIABLE}{itself}"
        )
    entry = Entry(**names)
    return replace(Combination(*combined(entry, catalog, flag=flag)), recording=trajectory)


def _arguments(
    combinations: Iterable[Combination], flag: str, notices: list[str]
) -> dict[str, dict[str, Any]]:
    """The recorded arguments of the environments, by their ids; what is left out is said.

    Those of a recording of another environment, which one here overrides, do not count.
    """
    by_environment: dict[str, dict[str, Any]] = {}
    kept: dict[str, dict[str, Any]] = {}
    for combination in combinations:
        assert combination.recording is not None
        recorded = combination.recording.environment.args
        id = combination.environment.id
        if combination.recording.environment.id != id:
            continue
        if by_environment.setdefault(id, recorded) != recorded:
            raise UsageProblem(
                f"{flag}: the recordings of '{id}' have different arguments "
                f"({by_environment[id]} and {recorded}); replay them in runs of their own"
            )
        declared = combination.environment.info.args
        obsolete = [f"'{key}'" for key in recorded if key not in declared]
        notice = (
            f"recorded arguments left out, which '{id}' no longer has: {', '.join(obsolete)} "
            f"(of {combination.recording.trajectory_id})"
        )
        if obsolete and notice not in notices:
            notices.append(notice)
        kept[id] = {key: value for key, value in recorded.items() if key in declared}
    return kept
