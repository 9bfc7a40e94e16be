"""Whole runs in sandboxes that are not ours: Inspect's own, and one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import boxes
from support.sessions import ControlPytester, lines_with

SOURCE = ("--ct-all", "--ct-untrusted-policy=reference")
BOX = "zz_boxes:zz_mine"


@pytest.fixture
def place(control: ControlPytester, monkeypatch: pytest.MonkeyPatch) -> ControlPytester:
    """An environment with a code base of some kinds of files, and a sandbox in another folder."""
    root = control.environment()
    source = root / "codebase" / "src"
    (source / "bin").mkdir()
    (source / "bin" / "run").write_text("#!/bin/sh\necho ran\n")
    (source / "bin" / "run").chmod(0o755)
    (source / "link").symlink_to("README.md")
    (source / "empty").mkdir()
    (root / "main_tasks" / "fix" / "setup.sh").write_text(
        "test -x bin/run && test -L link && test -d empty && bin/run > ran.txt\n"
    )
    mine = control.pytester.path / "mine"
    mine.mkdir()
    named = re.sub(r'name="(noted|listed)"', _renamed, Path(boxes.__file__).read_text())
    (mine / "zz_boxes.py").write_text(named)  # Inspect keeps a name until the process ends
    monkeypatch.setenv(boxes.NOTES, str(control.pytester.path / "notes"))
    return control


def _renamed(found: re.Match[str]) -> str:
    return {"noted": 'name="zz_mine"', "listed": 'name="zz_lists"'}[found[1]]


def notes(place: ControlPytester) -> list[str]:
    file = place.pytester.path / "notes"
    return file.read_text().splitlines() if file.exists() else []


def run(place: ControlPytester, sandbox: str, *more: str) -> pytest.RunResult:
    own = ["--ct-env=mini", f"--ct-sandbox={sandbox}", "-p", "no:cacheprovider"]
    return place.pytester.runpytest_inprocess(*own, *SOURCE, *more)


def test_inspect_s_local_runs_an_environment(place: ControlPytester) -> None:
    """With nothing written to where the workspace would be on this machine."""
    before = Path("/app").exists()
    result = run(place, "local")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    result.assert_outcomes(passed=2)
    assert {t["sandbox"] for t in place.trajectories().values()} == {"local"}
    assert Path("/app").exists() == before


def test_one_s_own_from_extra_src_gets_its_arguments(place: ControlPytester) -> None:
    result = run(
        place, BOX, "--ct-extra-src=mine", "--ct-sandbox-arg=size=3", '--ct-sandbox-arg=label="a b"'
    )
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    result.assert_outcomes(passed=2)
    assert [t["sandbox_args"] for t in place.trajectories().values()] == [
        {"size": 3, "label": "a b"}
    ] * 2
    first, *others = notes(place)
    assert first == "task BoxConfig(size=3, label='a b', fails='')"
    assert sorted(others) == ["clean NotedBox NotedBox"] * 2 + ["sample"] * 2 + ["task over"]


def test_one_that_cannot_prepare_is_a_set_up_error(place: ControlPytester) -> None:
    result = run(place, BOX, "--ct-extra-src=mine", "--ct-sandbox-arg=fails=task")
    assert result.ret == 10
    assert "sandbox 'zz_boxes:zz_mine' cannot prepare: RuntimeError: no licence" in (
        result.stdout.str()
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_ct_runs_it_alone_and_with_workers(
    place: ControlPytester, workers: tuple[str, ...]
) -> None:
    argv = [argument.replace("--ct-", "--") for argument in SOURCE]
    result = place.ct(
        *("run", "eval2", "-e", "mini", *argv, "--sandbox", BOX, "--extra-src", "mine"),
        *("--sandbox-arg", json.dumps({"a": 1})[1:-1].replace('"a": ', "size="), "--", *workers),
    )
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert notes(place).count("sample") == 2


@pytest.mark.slow
def test_ct_envs_check_runs_in_it(place: ControlPytester) -> None:
    asked = ("--sandbox", BOX, "--extra-src", "mine", "--sandbox-arg", "size=3")
    result = place.ct("envs", "check", "mini", *asked)
    assert "what does, and does not, hold" in result.stdout.str(), result.stderr.str()
    assert {line for line in notes(place) if line.startswith("task B")} == {
        "task BoxConfig(size=3, label='plain', fails='')"
    }
    files = place.pytester.path.glob("logs/*_check_mini_*/*/*/trajectories/*.json")
    ran = [json.loads(file.read_text()) for file in files]
    assert {each["sandbox"] for each in ran} == {BOX}
    assert {each["error"] for each in ran} == {None}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("--sandbox", BOX),
            "--sandbox: cannot import 'zz_boxes' of 'zz_boxes:zz_mine'; give the directory that it "
            "is in with --extra-src (with pytest, --ct-extra-src)",
        ),
        (
            ("--sandbox", BOX, "--extra-src", "mine", "--sandbox-arg", "size=big"),
            "--sandbox-arg: sandbox 'zz_boxes:zz_mine': size: Input should be a valid integer, "
            "unable to parse string as an integer",
        ),
        (
            ("--sandbox", "local", "--sandbox-arg", "size=1"),
            "--sandbox-arg: sandbox 'local' takes no arguments",
        ),
        (
            ("--sandbox", "local", "--no-internet"),
            "--no-internet cannot go with --sandbox local: only the docker sandbox honours it; "
            "leave out --no-internet, or --sandbox local",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_4(
    place: ControlPytester, more: tuple[str, ...], message: str
) -> None:
    result = place.ct("run", "eval2", "-e", "mini", "--all", *more)
    assert result.ret == 4
    assert result.errlines == [f"ct: error: {message}"]
    assert notes(place) == []


@pytest.mark.docker
@pytest.mark.slow
def test_inspect_s_docker_runs_the_compose_file(control: ControlPytester) -> None:
    root = control.environment()
    (root / "main_tasks" / "fix" / "setup.sh").write_text(
        'test "$(id -un)" = agent && test "$(pwd)" = /app && test -f README.md\n'
    )
    result = run(control, "inspect-docker")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    result.assert_outcomes(passed=2)


def shown(result: pytest.RunResult) -> list[str]:
    return lines_with(result, "control tower: try")


def test_what_a_sandbox_warns_of_is_a_line_of_the_run(place: ControlPytester) -> None:
    arguments: tuple[Any, ...] = ("--ct-sandbox-arg=label=slow", "--ct-sandbox-arg=size=7")
    result = run(place, BOX, "--ct-extra-src=mine", *arguments)
    assert result.ret == 0, result.stdout.str()
    assert shown(result) == ["control tower: try 1 of 7"] * 2


@pytest.mark.slow
def test_and_of_a_run_of_several_workers(place: ControlPytester) -> None:
    own = [f"--ct-sandbox={BOX}", "--ct-extra-src=mine", "--ct-sandbox-arg=label=slow"]
    result = place.run_apart(*own, *SOURCE, "-n", "2")
    assert result.ret == 0, result.stdout.str()
    assert shown(result) == ["control tower: try 1 of 1"] * 2
