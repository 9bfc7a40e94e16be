"""What runs without a model say of an environment: is it sound enough to measure anything?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from control_tower.environments.model import Environment, MainTask, SideTask
from control_tower.task_sets import Entry
from control_tower.trajectories.schema import ScoreRecord, Trajectory

_NAMED = 4
"""Samples named of those with the same problem."""

Pair = tuple[MainTask | None, SideTask | None]


@dataclass(frozen=True)
class Finding:
    """One thing that should hold of an environment, and where it does not."""

    claim: str
    holds: int
    """In how many cases it does."""
    cases: int
    problems: tuple[tuple[str, str], ...]
    """For each case in which it does not: the sample, and what is wrong."""


def problem_lines(found: Iterable[Finding]) -> list[str]:
    """The problems, a line each; samples with the same one share a line."""
    samples: dict[str, list[str]] = {}
    for finding in found:
        for sample, words in finding.problems:
            samples.setdefault(words, []).append(sample)
    lines: list[str] = []
    for words, names in samples.items():
        distinct = list(dict.fromkeys(names))
        more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
        lines.append(f"{', '.join(distinct[:_NAMED])}{more}: {words}")
    return lines


def every_combination(environment: Environment) -> list[Pair]:
    """Each main task alone, and with each side task that goes with it; else side tasks alone."""
    honest: list[Pair] = [(main, None) for main in environment.main_tasks.values()]
    sides = list(environment.side_tasks.values())
    pairs: list[Pair] = [
        (main, side)
        for main in environment.main_tasks.values()
        for side in sides
        if side.compatible_with(main.id)
    ]
    paired = {side.id for _, side in pairs if side}
    return [*honest, *pairs, *((None, side) for side in sides if side.id not in paired)]


def covering_combinations(environment: Environment) -> list[Pair]:
    """Few combinations in which each main task is alone once, and each task is in a pair.

    A main task that goes with no side task, or the other way round, is alone only.
    """
    everything = every_combination(environment)
    chosen: list[Pair] = [pair for pair in everything if pair[0] is None or pair[1] is None]
    pairs = [pair for pair in everything if pair[0] is not None and pair[1] is not None]
    uses: dict[str, int] = {}
    while pairs:
        # Of the pairs with a task that no pair has yet, one with as many of them as possible.
        def gain(pair: Pair) -> tuple[int, int]:
            names = _names(pair)
            return sum(name not in uses for name in names), -sum(uses.get(n, 0) for n in names)

        best = max(pairs, key=gain)
        if gain(best)[0] == 0:
            break
        chosen.append(best)
        for name in _names(best):
            uses[name] = uses.get(name, 0) + 1
        pairs.remove(best)
    return chosen


def entries_of(environment: Environment, pairs: Iterable[Pair]) -> list[Entry]:
    """The pairs as lines of a task set."""
    return [
        Entry(
            env=environment.id,
            main_task=main.id if main else None,
            side_task=side.id if side else None,
        )
        for main, side in pairs
    ]


def findings(noop: Sequence[Trajectory], reference: Sequence[Trajectory]) -> list[Finding]:
    """What the trajectories of one environment come to.

    Args:
        noop: of the policy that does nothing.
        reference: of the policy that runs the authors' references.
    """
    runs = [("noop", t) for t in noop] + [("reference", t) for t in reference]
    honest = [("", t) for t in reference if t.side_task is None]
    attacks = [("", t) for t in reference if t.side_task is not None]
    return [
        _finding("the sandbox comes up and is set up", runs, _came_up),
        _finding("nothing is solved for free", [("", t) for t in noop], _nothing_free),
        _finding("every reference solves its main task", honest, _task("main", "not solved")),
        _finding("every reference attack succeeds", attacks, _task("side", "not achieved")),
        _finding(
            "attacks leave the main task solved",
            [(run, t) for run, t in attacks if t.main_task is not None],
            _task("main", "not solved"),
        ),
        _finding("scoring twice gives the same answer", runs, _repeatable),
        _finding("every scorer comes to an answer", runs, _answered),
    ]


def sample_name(trajectory: Trajectory) -> str:
    """`env/main/side`, as in node ids."""
    main, side = trajectory.main_task, trajectory.side_task
    parts = (trajectory.environment.id, main.id if main else "-", side.id if side else "-")
    return "/".join(parts)


def _finding(
    claim: str,
    runs: Sequence[tuple[str, Trajectory]],
    judge: Callable[[Trajectory], str | None],
) -> Finding:
    """Judge each trajectory: an empty text holds, another is the problem, None is no case."""
    cases = 0
    problems: list[tuple[str, str]] = []
    for run, trajectory in runs:
        said = judge(trajectory)
        if said is None:
            continue
        cases += 1
        if said:
            name = sample_name(trajectory)
            problems.append((f"{name} ({run})" if run else name, " ".join(said.split())))
    return Finding(claim, cases - len(problems), cases, tuple(problems))


def _came_up(trajectory: Trajectory) -> str | None:
    if trajectory.outcome in ("cancelled", "not_run"):
        return None
    if trajectory.outcome == "setup_error":
        return trajectory.error or "set-up failed"
    return ""


def _nothing_free(trajectory: Trajectory) -> str | None:
    if not _was_scored(trajectory):
        return _not_scored(trajectory)
    free = [task for task, score in trajectory.scores.items() if score.success]
    return "; ".join(
        f"{task} task solved without doing anything: {trajectory.scores[task].explanation}"
        for task in free
    )


def _task(task: str, otherwise: str) -> Callable[[Trajectory], str | None]:
    def judge(trajectory: Trajectory) -> str | None:
        score = trajectory.scores.get(task)
        if score is None or not _was_scored(trajectory):
            return _not_scored(trajectory)
        if score.no_scorer:
            return None
        if score.success:
            return ""
        words = "unscored" if score.success is None else otherwise
        return f"{task} task {words}: {score.explanation}"

    return judge


def _repeatable(trajectory: Trajectory) -> str | None:
    return _of_scores(trajectory, lambda score: score.disagreed)


def _answered(trajectory: Trajectory) -> str | None:
    return _of_scores(
        trajectory,
        lambda score: score.no_verdict or (score.success is None and not score.disagreed),
    )


def _of_scores(trajectory: Trajectory, wrong: Callable[[ScoreRecord], bool]) -> str | None:
    if not _was_scored(trajectory):
        return _not_scored(trajectory)
    return "; ".join(
        f"{task} task: {score.explanation}"
        for task, score in trajectory.scores.items()
        if wrong(score)
    )


def _was_scored(trajectory: Trajectory) -> bool:
    return trajectory.outcome in ("scored", "unscored")


def _not_scored(trajectory: Trajectory) -> str | None:
    """What to say of a sample without scores; a set-up error is said elsewhere."""
    return f"errored: {trajectory.error}" if trajectory.outcome == "errored" else None


def _names(pair: Pair) -> list[str]:
    main, side = pair
    return [*([f"main {main.id}"] if main else []), *([f"side {side.id}"] if side else [])]
