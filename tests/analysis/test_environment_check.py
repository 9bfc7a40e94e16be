"""What trajectories say of an environment, and which combinations are run for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.analysis.environment_check import (
    Finding,
    covering_combinations,
    entries_of,
    every_combination,
    findings,
    problem_lines,
)
from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.trajectories.schema import Trajectory


def environment(tmp_path: Path, sides: dict[str, str], mains: int = 3) -> Environment:
    """Main tasks m0, m1, …; side tasks with what they go with."""
    root = EnvironmentFiles(
        main={f"m{number}": main_task() for number in range(mains)},
        side={name: side_task(compatible=compatible) for name, compatible in sides.items()},
    ).write(tmp_path)
    return load_environment(root)


def names(env: Environment, pairs: Any) -> list[str]:
    return [f"{e.main_task or '-'}/{e.side_task or '-'}" for e in entries_of(env, pairs)]


def test_everything_is_each_main_task_alone_and_each_pair_that_fits(tmp_path: Path) -> None:
    env = environment(tmp_path, {"a": "all", "b": "[m1]"}, mains=2)
    assert names(env, every_combination(env)) == ["m0/-", "m1/-", "m0/a", "m1/a", "m1/b"]


def test_a_side_task_that_goes_with_none_is_alone(tmp_path: Path) -> None:
    env = environment(tmp_path, {"a": "[]"}, mains=1)
    assert names(env, every_combination(env)) == ["m0/-", "-/a"]
    assert names(env, covering_combinations(env)) == ["m0/-", "-/a"]


@pytest.mark.parametrize(
    ("sides", "mains", "pairs"),
    [
        ({"a": "all", "b": "all"}, 3, 3),
        (dict.fromkeys("abcde", "all"), 2, 5),
        ({"a": "[m0]", "b": "[m0, m1]", "c": "all"}, 3, 3),
        ({}, 3, 0),
    ],
)
def test_few_combinations_cover_every_task(
    tmp_path: Path, sides: dict[str, str], mains: int, pairs: int
) -> None:
    env = environment(tmp_path, sides, mains=mains)
    chosen = covering_combinations(env)
    attacks = [(main, side) for main, side in chosen if side]
    assert {main.id for main, side in chosen if main and not side} == set(env.main_tasks)
    assert {side.id for _, side in attacks if side} == set(sides)
    if sides:
        assert {main.id for main, _ in attacks if main} == set(env.main_tasks)
    assert len(attacks) == pairs
    assert set(names(env, chosen)) <= set(names(env, every_combination(env)))


def trajectory(
    name: str, outcome: str = "scored", error: str | None = None, **scores: Any
) -> Trajectory:
    main, side = (None if part == "-" else {"id": part} for part in name.split("/"))
    return Trajectory.model_validate(
        {
            "trajectory_id": name,
            "run_id": "r",
            "environment": {"id": "mini"},
            "main_task": main,
            "side_task": side,
            "outcome": outcome,
            "error": error,
            "scores": {
                task: score if isinstance(score, dict) else {"success": score, "explanation": "so"}
                for task, score in scores.items()
            },
        }
    )


NOOP = [trajectory("fix/-", main=False), trajectory("fix/leak", main=False, side=False)]
REFERENCE = [trajectory("fix/-", main=True), trajectory("fix/leak", main=True, side=True)]


def by_claim(noop: list[Trajectory], reference: list[Trajectory]) -> dict[str, Finding]:
    return {finding.claim: finding for finding in findings(noop, reference)}


def failed(
    noop: list[Trajectory], reference: list[Trajectory]
) -> dict[str, tuple[tuple[str, str], ...]]:
    found = by_claim(noop, reference)
    return {claim: finding.problems for claim, finding in found.items() if finding.problems}


def test_a_sound_environment() -> None:
    found = by_claim(NOOP, REFERENCE)
    assert {claim: (f.holds, f.cases) for claim, f in found.items()} == {
        "the sandbox comes up and is set up": (4, 4),
        "nothing is solved for free": (2, 2),
        "every reference solves its main task": (1, 1),
        "every reference attack succeeds": (1, 1),
        "attacks leave the main task solved": (1, 1),
        "scoring twice gives the same answer": (4, 4),
        "every scorer comes to an answer": (4, 4),
    }
    assert problem_lines(found.values()) == []


def test_a_scorer_that_always_says_yes() -> None:
    free = [trajectory("fix/-", main=True), trajectory("fix/leak", main=True, side=False)]
    [(claim, problems)] = failed(free, REFERENCE).items()
    assert claim == "nothing is solved for free"
    assert problems[0] == ("mini/fix/-", "main task solved without doing anything: so")
    assert len(problems) == 2


def test_references_that_do_not_work() -> None:
    lines = failed(
        NOOP, [trajectory("fix/-", main=False), trajectory("fix/leak", main=False, side=False)]
    )
    assert lines == {
        "every reference solves its main task": (("mini/fix/-", "main task not solved: so"),),
        "every reference attack succeeds": (("mini/fix/leak", "side task not achieved: so"),),
        "attacks leave the main task solved": (("mini/fix/leak", "main task not solved: so"),),
    }


def test_a_scorer_that_changes_its_mind_and_one_without_an_answer() -> None:
    moody = {"success": None, "explanation": "scored twice", "disagreed": True}
    silent = {"success": False, "explanation": "no verdict", "no_verdict": True}
    crashed = {"success": None, "explanation": "crashed"}
    found = failed([trajectory("fix/-", main=moody)], [])
    assert found == {
        "scoring twice gives the same answer": (("mini/fix/- (noop)", "main task: scored twice"),)
    }
    for score, words in ((silent, "no verdict"), (crashed, "crashed")):
        found = failed([trajectory("fix/-", main=score)], [])
        assert found == {
            "every scorer comes to an answer": (("mini/fix/- (noop)", f"main task: {words}"),)
        }


def test_a_sandbox_that_does_not_come_up_is_said_once() -> None:
    broken = [
        trajectory(n, "setup_error", "no\n image", main={"success": None}) for n in ("a/-", "b/-")
    ]
    found = by_claim(broken, [])
    assert failed(broken, []).keys() == {"the sandbox comes up and is set up"}
    assert problem_lines(found.values()) == ["mini/a/- (noop), mini/b/- (noop): no image"]


def test_an_errored_sample_is_a_problem_of_what_it_should_have_shown() -> None:
    found = failed(NOOP, [trajectory("fix/-", "errored", "boom")])
    assert found["every reference solves its main task"] == (("mini/fix/-", "errored: boom"),)


def test_many_samples_with_one_problem_share_a_line() -> None:
    broken = [trajectory(f"m{number}/-", "setup_error", "x") for number in range(6)]
    [line] = problem_lines(findings(broken, []))
    assert line.startswith("mini/m0/- (noop), ")
    assert line.endswith(" and 2 more: x")


def test_a_task_without_a_scorer() -> None:
    none = {"success": None, "explanation": "the task has no scorer", "no_scorer": True}
    lacking = [trajectory("fix/-", outcome="unscored", main=none)]
    lines = failed(lacking, lacking)["every scorer comes to an answer"]
    assert {words for _, words in lines} == {"main task: the task has no scorer"}
