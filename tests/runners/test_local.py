"""The local runner: how many run at once, in what order, and that it always ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.environments import EnvironmentFiles, main_task

from control_tower.episode.plan import RunPlan, make_plan
from control_tower.models import RoleModels
from control_tower.run_options import RunOptions
from control_tower.runners.local import LocalRunner
from control_tower.selection import SampleKey


@pytest.fixture
def plan_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inspect_loaded: None):
    """Make a plan for environment `mini` with `count` main tasks."""
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path / "environments"))
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))

    def make(count: int, policy: str, args: Sequence[str] = (), **more: object) -> RunPlan:
        tasks = {f"task{number:02}": main_task() for number in range(count)}
        EnvironmentFiles(main=tasks, side={}).write(tmp_path / "environments")
        values = {
            "env": ["mini"],
            "just_main_tasks": True,
            "untrusted_policy": policy,
            "untrusted_policy_arg": list(args),
            "sandbox": "bwrap",
            **more,
        }
        return make_plan(RunOptions.from_values(values, front_end="pytest"))

    return make


def _runner(plan: RunPlan, tmp_path: Path) -> LocalRunner:
    return LocalRunner(
        plan,
        run_id="test",
        run_directory=tmp_path / "run",
        models=RoleModels(),
        slots=plan.options.max_samples,
    )


def test_every_outcome_comes_and_the_log_is_complete(plan_of, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    plan = plan_of(3, "reference")
    runner = _runner(plan, tmp_path)
    keys = plan.samples()
    runner.start(keys)
    outcomes = [runner.outcome(key).result() for key in keys]
    runner.stop()
    assert [outcome.status for outcome in outcomes] == ["scored"] * 3
    assert all(runner.provisioned(key).result() for key in keys)
    (log,) = (tmp_path / "run").glob("*.eval")
    finished = read_eval_log(str(log))
    assert finished.status == "success"
    assert {sample.id for sample in finished.samples or []} == {key.combination.id for key in keys}


@pytest.mark.parametrize("pattern", ["{id}", "mine", "{model}"])
def test_the_log_is_found_whatever_inspect_s_variable_calls_logs(
    plan_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setenv("INSPECT_EVAL_LOG_FILE_PATTERN", pattern)
    plan = plan_of(1, "noop")
    runner = _runner(plan, tmp_path)
    [key] = plan.samples()
    runner.start([key])
    outcome = runner.outcome(key).result()
    runner.stop()
    [log] = (tmp_path / "run").glob("*.eval")
    assert outcome.log == str(log)
    assert os.environ["INSPECT_EVAL_LOG_FILE_PATTERN"] == pattern


def test_no_more_than_max_samples_work_at_once(plan_of, tmp_path: Path) -> None:
    from support.policies import GAUGE

    GAUGE.clear()
    plan = plan_of(6, "support.policies:gauged", max_samples=2)
    _run_all(_runner(plan, tmp_path), plan.samples())
    assert max(GAUGE) == 2


def test_samples_run_ahead_of_who_waits_for_the_first(plan_of, tmp_path: Path) -> None:
    plan = plan_of(3, "support.policies:sleeps_in", ["slow=[task00]"], max_samples=2)
    runner = _runner(plan, tmp_path)
    first, second, third = plan.samples()
    runner.start([first, second, third])
    assert runner.outcome(second).result().status == "scored"
    assert runner.outcome(third).result().status == "scored"
    assert not runner.outcome(first).done()
    runner.stop()
    assert runner.outcome(first).result().status == "cancelled"


def test_stop_resolves_everything_and_starts_nothing_more(plan_of, tmp_path: Path) -> None:
    plan = plan_of(5, "support.policies:sleeps_in", ["slow=[task00]"], max_samples=1)
    runner = _runner(plan, tmp_path)
    keys = plan.samples()
    runner.start(keys)
    assert runner.provisioned(keys[0]).result() is True
    runner.stop()
    runner.stop()
    statuses = [runner.outcome(key).result().status for key in keys]
    assert statuses == ["cancelled", *["not_run"] * 4]


def test_stop_right_after_the_start(plan_of, tmp_path: Path) -> None:
    plan = plan_of(2, "noop")
    runner = _runner(plan, tmp_path)
    runner.start(plan.samples())
    runner.stop()
    assert all(runner.outcome(key).done() for key in plan.samples())


def test_a_trajectory_that_cannot_be_written_is_an_errored_sample(plan_of, tmp_path: Path) -> None:
    plan = plan_of(1, "noop")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trajectories").write_text("in the way")
    runner = _runner(plan, tmp_path)
    (key,) = plan.samples()
    runner.start([key])
    outcome = runner.outcome(key).result()
    runner.stop()
    assert outcome.status == "errored"
    assert "its outcome could not be kept" in (outcome.error or "")


def test_an_eval_that_crashes_says_so_in_every_outcome(
    plan_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("no task today")

    monkeypatch.setattr("control_tower.episode.task.build_task", broken)
    plan = plan_of(2, "noop")
    runner = _runner(plan, tmp_path)
    runner.start(plan.samples())
    outcomes = [runner.outcome(key).result() for key in plan.samples()]
    runner.stop()
    assert {outcome.status for outcome in outcomes} == {"errored"}
    assert [outcome.error for outcome in outcomes] == [
        "the eval crashed: RuntimeError: no task today"
    ] * 2


def _run_all(runner: LocalRunner, keys: Sequence[SampleKey]) -> None:
    runner.start(keys)
    for key in keys:
        runner.outcome(key).result()
    runner.stop()
