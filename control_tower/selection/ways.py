"""The ways to select, of which a run uses one."""

from __future__ import annotations

from control_tower.errors import UsageProblem
from control_tower.options import CONTRADICTIONS
from control_tower.run_options import RunOptions

EXPANDING = ("all", "just_main_tasks", "just_side_tasks", "env_only")
"""Options that stand for many combinations of the environments."""
LISTING = ("task_file", "trajectory_id", "rerun_traj")
"""Options that name combinations, environments included."""
NAMING = ("main_task", "side_task")
"""Options that name tasks; the two go together."""

_FOR_A_TRAJECTORY = "the trajectory says which combination it is"
_WHY = {
    ("trajectory_id", "env"): _FOR_A_TRAJECTORY,
    ("trajectory_id", "category"): _FOR_A_TRAJECTORY,
    ("rerun_traj", "category"): _FOR_A_TRAJECTORY,
    ("just_side_tasks", "category"): "it selects no main task whose category could be asked for",
}


def way_of(options: RunOptions) -> str | None:
    """The way that the options use: a key of `EXPANDING` or `LISTING`, "named", or None.

    A filter alone (a category, what changed) filters everything.

    Raises:
        UsageProblem: for two options that contradict each other, naming both.
    """
    _refuse_contradictions(options)
    for key in LISTING:
        given = getattr(options, key)
        if given == "" or (isinstance(given, tuple) and "" in given):
            raise UsageProblem(f"{options.flag(key)}: '' names nothing; give a name or a path")
    _refuse_sample_of_nothing(options)
    for key in (*EXPANDING, *LISTING):
        if getattr(options, key):
            return key
    if any(getattr(options, key) for key in NAMING):
        return "named"
    return "all" if options.category or options.changed_since is not None else None


def _refuse_sample_of_nothing(options: RunOptions) -> None:
    """A sample's id chooses among recordings, and means nothing without."""
    looks_up = options.trajectory_id or options.rerun_traj
    named = any(pair.startswith("trajectory=") for pair in options.untrusted_policy_arg)
    if options.traj_sample_id is not None and not (looks_up or named):
        raise UsageProblem(
            f"{options.flag('traj_sample_id')} chooses among recorded samples, and none are named; "
            f"name them with {options.flag('trajectory_id')}"
        )


def _refuse_contradictions(options: RunOptions) -> None:
    naming = () if options.rerun_traj else NAMING  # which they override
    given = [key for key in (*EXPANDING, *LISTING, *naming) if getattr(options, key)]
    if len(given) > 1 and given[0] not in NAMING:
        first, second = (options.flag(key) for key in given[:2])
        raise UsageProblem(f"{first} and {second} contradict each other; use one of them")
    for first, second in CONTRADICTIONS:
        if getattr(options, first) and getattr(options, second):
            flags = f"{options.flag(first)} and {options.flag(second)}"
            raise UsageProblem(
                f"{flags} contradict each other: {_WHY[first, second]}; use one of them"
            )


def how_to_select(options: RunOptions) -> str:
    """What to say to somebody who has named environments alone."""
    flag = options.flag
    return (
        f"{flag('env')} alone selects nothing; add {flag('all')}, {flag('main_task')} NAME, "
        f"{flag('side_task')} NAME, {flag('just_main_tasks')}, {flag('just_side_tasks')}, "
        f"{flag('env_only')} or {flag('category')} NAME"
    )
