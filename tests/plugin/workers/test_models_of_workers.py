"""The models of a run under xdist: those that the report names, wherever a worker is."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from support.sessions import ControlPytester, lines_with

pytestmark = pytest.mark.slow

TABLE = '[tool.control-tower.models]\nuntrusted = {{ model = "fake/{}", temperature = 0.25 }}\n'
MODELS = ("-p", "support.models", "--ct-main-task=fix", "--ct-epochs=2")
ELSEWHERE = ("--tx", "2*popen//chdir=elsewhere", "--dist", "load")


@pytest.fixture
def place(control: ControlPytester) -> ControlPytester:
    """A project file that names the model that solves the task."""
    control.environment()
    (control.pytester.path / "pyproject.toml").write_text(TABLE.format("solver"))
    (control.pytester.path / "elsewhere").mkdir()
    return control


def asked(place: ControlPytester) -> set[tuple[str, float | None]]:
    """Model and temperature of every call that the logs tell of."""
    from inspect_ai.log import read_eval_log

    return {
        (event.model, event.config.temperature)
        for log in place.logs()
        for sample in read_eval_log(str(log)).samples or []
        for event in sample.events
        if event.event == "model"
    }


def named(place: ControlPytester) -> list[Any]:
    """The models that the trajectories name."""
    return [trajectory["models"] for trajectory in place.trajectories().values()]


@pytest.mark.parametrize("table", [TABLE.format("idle"), "[tool.control-tower.models]\nx = 3\n"])
def test_a_project_file_where_the_workers_are_changes_nothing(
    place: ControlPytester, table: str
) -> None:
    (place.pytester.path / "elsewhere" / "pyproject.toml").write_text(table)
    result = place.run_apart(*MODELS, *ELSEWHERE)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert lines_with(result, "models: untrusted=fake/solver;")
    assert asked(place) == {("fake/solver", 0.25)}
    assert named(place) == [{"untrusted": "fake/solver"}] * 2


def test_nor_does_it_where_an_ini_file_alone_selects(
    place: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.pytester.path / "elsewhere" / "pyproject.toml").write_text(TABLE.format("idle"))
    keys = "ct_env = mini\nct_main_task = fix\nct_sandbox = bwrap\nct_epochs = 2\n"
    place.pytester.makeini(f"[pytest]\n{keys}ct_log_dir = logs\n")
    (place.pytester.path / "lib").mkdir()
    (place.pytester.path / "lib" / "zz_control.py").write_text(
        "def test_it(control_outcome): control_outcome.check()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(place.pytester.path / "lib"), prepend=os.pathsep)
    plain = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "support.models"]
    result = place.pytester.run(sys.executable, *plain, *ELSEWHERE, "--pyargs", "zz_control")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert asked(place) == {("fake/solver", 0.25)}
    assert named(place) == [{"untrusted": "fake/solver"}] * 2
