"""`ct` itself: help, its exit codes, and a typo in a command."""

from __future__ import annotations

from importlib.metadata import entry_points, version

import pytest

from control_tower.cli.main import main


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "Usage: ct " in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "run Run control evaluations." in lines
    assert any(line.startswith("envs Look at environments") for line in lines)
    assert any(line.startswith("task-sets Look at and validate") for line in lines)


def test_the_version_is_the_distribution_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert version("pytest-control-tower") in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["run"]])
def test_a_group_alone_shows_its_help_as_an_error(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 4
    captured = capsys.readouterr()
    assert "Commands:" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["rnu"], "no command is named 'rnu'; did you mean 'run'?"),
        (["run", "eval"], "no command is named 'eval'; did you mean 'eval2'?"),
        (
            ["zzz"],
            "no command is named 'zzz'; did you mean 'envs', 'live', 'models', 'protocols', "
            "'run', 'runs', 'sandbox', 'task-sets' or 'traj'?",
        ),
        (["--hlep"], "No such option"),
    ],
)
def test_a_typo_in_a_command_is_one_line_and_exit_4(
    argv: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert line.startswith("ct: error: ")
    assert hint in line


def test_the_console_script_exits_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    [script] = entry_points(group="console_scripts", name="ct")
    monkeypatch.setattr("sys.argv", ["ct", "rnu"])
    with pytest.raises(SystemExit) as caught:
        script.load()()
    assert caught.value.code == 4
