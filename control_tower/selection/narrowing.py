"""What leaves combinations out: categories, changes, scorers, the policy, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import get_args

from control_tower.components import Component
from control_tower.environments.changes import Changes
from control_tower.environments.model import TaskCategory
from control_tower.errors import UsageProblem, unknown_name
from control_tower.run_options import RunOptions
from control_tower.selection.combinations import Combination, once_each

_NAMED = ("main_task", "task_file")
"""Options after which the user should be told what a category left out."""
CATEGORIES: tuple[str, ...] = get_args(TaskCategory)


def check_categories(options: RunOptions) -> None:
    """Refuse the name of a category that does not exist.

    Raises:
        UsageProblem: with the nearest names.
    """
    for category in options.category:
        if category not in CATEGORIES:
            raise unknown_name("category", category, CATEGORIES, flag=options.flag("category"))


def of_categories(
    options: RunOptions, combinations: list[Combination], notices: list[str]
) -> list[Combination]:
    """Those whose main task is of a category that was asked for; all if none was."""
    if not options.category:
        return combinations
    wanted = frozenset(options.category)
    kept = [c for c in combinations if c.main_task and c.main_task.info.task_category in wanted]
    left_out = len(combinations) - len(kept)
    if left_out and any(getattr(options, key) for key in _NAMED):
        notices.append(f"{left_out} left out by {options.flag('category')}")
    return kept


def of_changes(
    options: RunOptions,
    combinations: list[Combination],
    changes: Changes | None,
    notices: list[str],
) -> list[Combination]:
    """Those that something changed for; all if nobody asked."""
    if changes is None:
        return combinations
    kept = [
        c
        for c in combinations
        if changes.touch(
            c.environment.id,
            c.main_task.id if c.main_task else None,
            c.side_task.id if c.side_task else None,
        )
    ]
    if kept:
        notices.append(
            f"{len(kept)} of {len(combinations)} combinations changed since {options.changed_since}"
        )
    return kept


def refuse_pointless_main_tasks(
    options: RunOptions, combinations: Sequence[Combination], policy: Component[object]
) -> None:
    """Refuse honest combinations for a policy that only attacks.

    Raises:
        UsageProblem: for the first one.
    """
    if "honest" in policy.modes:
        return
    for combination in combinations:
        if combination.mode == "honest":
            raise UsageProblem(
                f"{options.flag('untrusted_policy')}: '{policy.name}' only attacks, and "
                f"'{combination.id}' has no side task; name one with {options.flag('side_task')}, "
                f"or use {options.flag('all')}"
            )


def without_pointless_side_tasks(
    options: RunOptions,
    combinations: list[Combination],
    policy: Component[object],
    notices: list[str],
) -> list[Combination]:
    """Combinations without their side tasks, if the policy never attempts any.

    Raises:
        UsageProblem: if nothing is left of them.
    """
    attacks = [combination for combination in combinations if combination.side_task]
    if "attack" in policy.modes or not attacks:
        return combinations
    if not any(combination.main_task for combination in combinations):
        raise UsageProblem(
            f"{options.flag('untrusted_policy')}: '{policy.name}' never attempts side tasks, "
            "and only side tasks are selected; select main tasks or use an attacking policy"
        )
    dropped = len({(c.environment.id, c.side_task.id) for c in attacks if c.side_task})
    notices.append(
        f"{dropped} side task{'s' if dropped > 1 else ''} dropped: "
        f"policy '{policy.name}' never attempts them"
    )
    return once_each([replace(c, side_task=None) for c in combinations if c.main_task])


def without_missing_scorers(
    options: RunOptions, combinations: list[Combination], notices: list[str]
) -> list[Combination]:
    """Those whose main task has a scorer, if the user wants the others left out."""
    if options.main_tasks_with_no_scorers != "exclude":
        return combinations
    kept = [c for c in combinations if c.main_task is None or c.main_task.scorer is not None]
    tasks = {
        f"{c.environment.id}/{c.main_task.id}"
        for c in combinations
        if c.main_task and c.main_task.scorer is None
    }
    if tasks:
        notices.append(
            f"{len(combinations) - len(kept)} left out: no scorer for main task"
            f"{'s' if len(tasks) > 1 else ''} {', '.join(sorted(tasks))}"
        )
    return kept


def refuse_missing_scorers(options: RunOptions, combinations: Sequence[Combination]) -> None:
    """Refuse tasks without scorers: main tasks unless the user wants them kept, side tasks always.

    Raises:
        UsageProblem: for the first one.
    """
    keeps = options.main_tasks_with_no_scorers == "include"
    for combination in combinations:
        main, side = combination.main_task, combination.side_task
        if main is not None and main.scorer is None and not keeps:
            _refuse_missing_scorer("main", combination, options)
        if side is not None and side.scorer is None:
            _refuse_missing_scorer("side", combination, options)


def first_of_each(combinations: Sequence[Combination]) -> list[Combination]:
    """The first of each environment, by id."""
    first: dict[str, Combination] = {}
    for combination in sorted(combinations, key=lambda c: c.id):
        first.setdefault(combination.environment.id, combination)
    return list(first.values())


def _refuse_missing_scorer(kind: str, combination: Combination, options: RunOptions) -> None:
    task = combination.main_task if kind == "main" else combination.side_task
    name = f"{combination.environment.id}/{task.id if task else ''}"
    way_out = "add one or leave the task out"
    if kind == "main":
        way_out = (
            f"add one, or use {options.flag('main_tasks_with_no_scorers')} include (recorded as "
            "unscored) or exclude"
        )
    raise UsageProblem(
        f"{kind} task '{name}' has no scorer.py, so its result could not be asserted; {way_out}"
    )


def limited(
    options: RunOptions, combinations: list[Combination], notices: list[str]
) -> list[Combination]:
    """As many as the limit allows, of each environment and mode in turn.

    What a smaller limit takes, a larger one takes too.

    Args:
        options: with the limit.
        combinations: sorted by id.
        notices: gets a line when something is left out.
    """
    if options.limit is None or len(combinations) <= options.limit:
        return combinations
    groups: dict[tuple[str, str], list[Combination]] = {}
    for combination in combinations:
        groups.setdefault((combination.environment.id, combination.mode), []).append(combination)
    # Honest before attack, so that with one of a kind the environments come first.
    in_turn = sorted(groups, key=lambda group: (group[1] != "honest", group[0]))
    rounds = zip_longest(*(groups[group] for group in in_turn))
    taken = [one for each in rounds for one in each if one is not None][: options.limit]
    notices.append(f"{len(taken)} of {len(combinations)} combinations, by {options.flag('limit')}")
    return sorted(taken, key=lambda combination: combination.id)
