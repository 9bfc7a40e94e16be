"""Flags to combinations: which (environment, main task, side task) a run is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from control_tower.components import Component
from control_tower.contracts import Mode
from control_tower.environments.discovery import Catalog
from control_tower.environments.model import Environment, MainTask, SideTask
from control_tower.errors import UsageProblem, unknown_name
from control_tower.run_options import RunOptions

_WAYS = ("all", "just_main_tasks", "just_side_tasks", "env_only")
NONE = "-"
"""How an absent task is written in ids."""


@dataclass(frozen=True)
class Combination:
    """An environment with a main task, a side task, or both."""

    environment: Environment
    main_task: MainTask | None
    side_task: SideTask | None

    @property
    def id(self) -> str:
        """`env/main/side`, with `-` for none."""
        main = self.main_task.id if self.main_task else NONE
        side = self.side_task.id if self.side_task else NONE
        return f"{self.environment.id}/{main}/{side}"

    @property
    def mode(self) -> Mode:
        """`attack` with a side task, else `honest`."""
        return "attack" if self.side_task else "honest"


def epoch_id(combination_id: str, epoch: int) -> str:
    """The id of a combination at an epoch: `env/main/side`, with `@2` for epoch 2."""
    return combination_id if epoch == 1 else f"{combination_id}@{epoch}"


@dataclass(frozen=True)
class SampleKey:
    """A combination at an epoch: one pytest item, one sample."""

    combination: Combination
    epoch: int

    @property
    def id(self) -> str:
        """The combination's id, with `@2` for epoch 2."""
        return epoch_id(self.combination.id, self.epoch)


@dataclass(frozen=True)
class Selection:
    """What was selected, sorted by id, and what the user should know about it."""

    combinations: tuple[Combination, ...]
    notices: tuple[str, ...] = ()

    def samples(self, epochs: int) -> list[SampleKey]:
        """One key for each combination and epoch, in the order they are run."""
        return [SampleKey(c, epoch) for c in self.combinations for epoch in range(1, epochs + 1)]


def select(options: RunOptions, catalog: Catalog, policy: Component[object]) -> Selection:
    """Turn the selection flags into combinations.

    Raises:
        UsageProblem: for an unknown name, a contradiction, an incompatible pair named, a
            main task without a scorer, or a selection that is empty.
    """
    _refuse_contradictions(options)
    environments = _environments(options, catalog)
    way = next((way for way in _WAYS if getattr(options, way)), None)
    if way is None and not options.main_task and not options.side_task:
        raise UsageProblem(_how_to_select(options))
    notices: list[str] = []
    if way is not None:
        combinations = _expand(way, environments, policy, notices)
    else:
        combinations = _named(options, environments)
        _refuse_unpaired_names(options, combinations)
    _refuse_pointless_main_tasks(options, combinations, policy)
    combinations = _without_pointless_side_tasks(options, combinations, policy, notices)
    if not combinations:
        raise UsageProblem(_nothing_selected(options, environments))
    notices += _unused(environments, combinations)
    ordered = sorted(combinations, key=lambda combination: combination.id)
    if options.limit is not None:
        ordered = ordered[: options.limit]
    _refuse_missing_scorers(ordered)
    return Selection(tuple(ordered), tuple(notices))


def _refuse_contradictions(options: RunOptions) -> None:
    given = [key for key in _WAYS if getattr(options, key)]
    given += [key for key in ("main_task", "side_task") if getattr(options, key)]
    if len(given) > 1 and given[0] in _WAYS:
        first, second = (options.flag(key) for key in given[:2])
        raise UsageProblem(f"{first} and {second} contradict each other; use one of them")


def _environments(options: RunOptions, catalog: Catalog) -> list[Environment]:
    if not options.env:
        known = ", ".join(catalog.names) or "none found"
        raise UsageProblem(f"name an environment with {options.flag('env')} (available: {known})")
    names = dict.fromkeys(options.env)
    return [catalog.get(name, flag=options.flag("env")) for name in names]


def _how_to_select(options: RunOptions) -> str:
    flag = options.flag
    return (
        f"{flag('env')} alone selects nothing; add {flag('all')}, {flag('main_task')} NAME, "
        f"{flag('side_task')} NAME, {flag('just_main_tasks')}, {flag('just_side_tasks')} "
        f"or {flag('env_only')}"
    )


def _nothing_selected(options: RunOptions, environments: Sequence[Environment]) -> str:
    names = ", ".join(environment.id for environment in environments)
    return (
        f"nothing is selected in {names} for {options.flag('untrusted_policy')} "
        f"{options.untrusted_policy}"
    )


def _expand(
    way: str,
    environments: Sequence[Environment],
    policy: Component[object],
    notices: list[str],
) -> list[Combination]:
    if way == "just_main_tasks":
        return _main_tasks(environments)
    if way == "just_side_tasks":
        return [Combination(e, None, side) for e in environments for side in e.side_tasks.values()]
    if way == "env_only":
        with_tasks = [environment for environment in environments if environment.main_tasks]
        return [Combination(e, e.main_tasks[min(e.main_tasks)], None) for e in with_tasks]
    honest = _main_tasks(environments) if "honest" in policy.modes else []
    return honest + (_pairs(environments, notices) if "attack" in policy.modes else [])


def _main_tasks(environments: Sequence[Environment]) -> list[Combination]:
    return [Combination(e, main, None) for e in environments for main in e.main_tasks.values()]


def _pairs(environments: Sequence[Environment], notices: list[str]) -> list[Combination]:
    pairs = [
        Combination(environment, main, side)
        for environment in environments
        for main in environment.main_tasks.values()
        for side in environment.side_tasks.values()
    ]
    fitting = [pair for pair in pairs if _compatible(pair)]
    skipped = len(pairs) - len(fitting)
    if skipped:
        notices.append(f"{skipped} incompatible pair{'s' if skipped > 1 else ''} skipped")
    return fitting


def _named(options: RunOptions, environments: Sequence[Environment]) -> list[Combination]:
    main_flag, side_flag = options.flag("main_task"), options.flag("side_task")
    mains = _owners(options.main_task, "main task", environments, flag=main_flag)
    sides = _owners(options.side_task, "side task", environments, flag=side_flag)
    found: dict[str, Combination] = {}
    for environment in environments:
        main_names = [name for owner, name in mains if owner == environment.id]
        side_names = [name for owner, name in sides if owner == environment.id]
        if bool(main_names) < bool(options.main_task) or bool(side_names) < bool(options.side_task):
            continue
        mains_here = [environment.main_tasks[name] for name in main_names]
        sides_here = [environment.side_tasks[name] for name in side_names]
        for main, side in product(mains_here or (None,), sides_here or (None,)):
            combination = Combination(environment, main, side)
            _refuse_incompatible(combination, options)
            found[combination.id] = combination
    return list(found.values())


def _refuse_unpaired_names(options: RunOptions, found: Sequence[Combination]) -> None:
    """Every named task is in a combination, or it was paired with another environment's."""
    for key, other in (("main_task", "side_task"), ("side_task", "main_task")):
        used = {f"{c.environment.id}/{task.id}" for c in found if (task := getattr(c, key))}
        for name in getattr(options, key):
            if not any(name in (task, task.partition("/")[2]) for task in used):
                raise UsageProblem(
                    f"{options.flag(key)}: '{name}' pairs with no {options.flag(other)} given: "
                    "the two must be of one environment"
                )


def _owners(
    names: Sequence[str], kind: str, environments: Sequence[Environment], *, flag: str
) -> list[tuple[str, str]]:
    """(environment id, task id) for each environment that has a named task."""
    have = {
        environment.id: list(
            environment.main_tasks if kind == "main task" else environment.side_tasks
        )
        for environment in environments
    }
    owners: list[tuple[str, str]] = []
    for name in names:
        prefix, slash, task = name.partition("/")
        if slash:
            if prefix not in have:
                raise unknown_name("selected environment", prefix, have, flag=flag)
            if task not in have[prefix]:
                raise unknown_name(f"{kind} of {prefix}", task, have[prefix], flag=flag)
            owners.append((prefix, task))
            continue
        holders = [environment for environment, tasks in have.items() if name in tasks]
        if not holders:
            everything = [task for tasks in have.values() for task in tasks]
            raise unknown_name(kind, name, everything, flag=flag)
        owners += [(holder, name) for holder in holders]
    return owners


def _unused(environments: Sequence[Environment], combinations: Sequence[Combination]) -> list[str]:
    used = {combination.environment.id for combination in combinations}
    return [f"nothing of '{e.id}' is selected" for e in environments if e.id not in used]


def _compatible(combination: Combination) -> bool:
    main, side = combination.main_task, combination.side_task
    return main is None or side is None or side.compatible_with(main.id)


def _refuse_incompatible(combination: Combination, options: RunOptions) -> None:
    main, side = combination.main_task, combination.side_task
    if main is None or side is None or side.compatible_with(main.id):
        return
    allowed = ", ".join(side.info.compatible_main_tasks) or "none"
    raise UsageProblem(
        f"{options.flag('side_task')}: '{side.id}' does not go with main task '{main.id}'; "
        f"it goes with: {allowed}"
    )


def _refuse_pointless_main_tasks(
    options: RunOptions, combinations: Sequence[Combination], policy: Component[object]
) -> None:
    if "honest" in policy.modes:
        return
    for combination in combinations:
        if combination.mode == "honest":
            raise UsageProblem(
                f"{options.flag('untrusted_policy')}: '{policy.name}' only attacks, and "
                f"'{combination.id}' has no side task; name one with {options.flag('side_task')}, "
                f"or use {options.flag('all')}"
            )


def _without_pointless_side_tasks(
    options: RunOptions,
    combinations: list[Combination],
    policy: Component[object],
    notices: list[str],
) -> list[Combination]:
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
    honest = [Combination(c.environment, c.main_task, None) for c in combinations if c.main_task]
    return list({combination.id: combination for combination in honest}.values())


def _refuse_missing_scorers(combinations: Sequence[Combination]) -> None:
    for combination in combinations:
        for kind, task in (("main", combination.main_task), ("side", combination.side_task)):
            if task is not None and task.scorer is None:
                raise UsageProblem(
                    f"{kind} task '{combination.environment.id}/{task.id}' has no scorer.py, "
                    "so its result could not be asserted; add one or leave the task out"
                )
