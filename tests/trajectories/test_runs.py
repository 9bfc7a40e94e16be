"""Runs: recordings of one run, taken together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.recordings import recording

from control_tower.errors import UsageProblem
from control_tower.trajectories.lookup import recorded_runs
from control_tower.trajectories.runs import Run, find_run, runs_of
from control_tower.trajectories.store import TrajectoryStore


def keep(run: Path, run_id: str, name: str, **more: Any) -> None:
    t = recording(trajectory_id=f"{run_id}-{name}", run_id=run_id, **more)
    TrajectoryStore(run).write(t, sample_id=f"mini/{name}/-")


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    first, second = tmp_path / "2026-01-01_one", tmp_path / "2026-01-02_two"
    named = {"metadata": {"run_name": "night"}}
    keep(first, "abc1", "a", recorded_at=20.0, main_task_success=True, policy="honest", **named)
    keep(first, "abc1", "b", recorded_at=10.0, main_task_success=False, policy="attack")
    keep(first, "abc1", "c", recorded_at=30.0, outcome="errored")
    keep(second, "abc2", "a", recorded_at=40.0)
    (first / "x.eval").write_text("")
    return runs_of(recorded_runs(str(tmp_path), flag="--log-dir").recordings)


def test_the_newest_comes_first(runs: list[Run]) -> None:
    assert [(run.run_id, run.directory.name) for run in runs] == [
        ("abc2", "2026-01-02_two"), ("abc1", "2026-01-01_one")
    ]  # fmt: skip


def test_what_a_run_says(runs: list[Run]) -> None:
    run = runs[1]
    assert run.began == 10.0
    assert run.outcomes == {"scored": 2, "errored": 1}
    assert run.named("policy") == "-, attack, honest"
    assert run.successes("main") == (1, 2)
    assert run.successes("side") == (0, 0)
    assert [log.name for log in run.logs] == ["x.eval"]


@pytest.mark.parametrize(
    "text",
    ["abc1", "2026-01-01_one", "night", "{dir}/2026-01-01_one/", "{dir}/x/../2026-01-01_one"],
)
def test_a_run_is_found(runs: list[Run], text: str, tmp_path: Path) -> None:
    assert find_run(text.format(dir=tmp_path), runs, flag="RUN") is runs[1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("abc", "RUN: 'abc' is ambiguous; it may be any of: abc2, abc1"),
        ("abd1", "RUN: no run is named 'abd1'; did you mean 'abc1'"),
        ("~nobody-there", "RUN: '~nobody-there': nobody with that name has a home folder"),
        ("x" * 9999 + "\x1b[2J\0", "RUN: no run is named 'xxx"),
        ("zzzzzzz", "RUN: no run is named 'zzzzzzz'; `ct runs list` shows what there is"),
        ("", "RUN: it is empty; `ct runs list` shows what there is"),
    ],
)
def test_what_is_no_run_or_several_is_said(runs: list[Run], text: str, line: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        find_run(text, runs, flag="RUN")
    assert str(caught.value).startswith(line)
    assert str(caught.value).isprintable()


def test_of_two_runs_that_were_called_the_same_an_id_is_wanted(tmp_path: Path) -> None:
    for run in ("abc1", "abd2"):
        keep(tmp_path / f"2026-01-01_{run}", run, "a", metadata={"run_name": "night"})
    runs = runs_of(recorded_runs(str(tmp_path), flag="--log-dir").recordings)
    with pytest.raises(UsageProblem, match=r"^RUN: 'night' is ambiguous; it may be any of: abd2, "):
        find_run("night", runs, flag="RUN")
