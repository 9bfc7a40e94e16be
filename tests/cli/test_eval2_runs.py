"""`ct run eval2` end to end, in processes of its own: the same items as pytest, wherever one is."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.environments import main_task, python_scorer
from support.sessions import ControlPytester

ALL = ("-e", "mini", "--all", "--sandbox", "bwrap")


def _ct(control: ControlPytester, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "control_tower.cli", "run", "eval2", *args],
        cwd=control.pytester.path,
        capture_output=True,
        text=True,
        check=False,
    )


def _verdicts(output: str) -> list[tuple[str, str]]:
    lines = [line.split() for line in output.splitlines() if line.startswith("control::")]
    return sorted((words[0], words[1]) for words in lines)


@pytest.mark.slow
def test_ct_and_pytest_report_the_same_items(control: ControlPytester) -> None:
    control.environment()
    ours = _ct(control, *ALL, "--untrusted-policy", "reference")
    assert ours.returncode == 0, ours.stdout + ours.stderr
    twin = control.run("--ct-all", "--ct-untrusted-policy=reference", "-v")
    assert _verdicts(ours.stdout) == _verdicts(twin.stdout.str())
    assert len(_verdicts(ours.stdout)) == 2


@pytest.mark.slow
def test_a_foreign_ini_and_conftest_are_not_heeded(control: ControlPytester) -> None:
    control.environment()
    control.pytester.makeini("[pytest]\ntestpaths = nowhere\naddopts = -k nothing\n")
    control.pytester.makeconftest("raise RuntimeError('somebody else')")
    result = _ct(control, *ALL, "--untrusted-policy", "noop")
    assert result.returncode == 0, result.stdout + result.stderr
    assert {name for name, _ in _verdicts(result.stdout)} == {
        "control::test_sample[mini/fix/-]",
        "control::test_sample[mini/fix/leak]",
    }


@pytest.mark.slow
def test_exit_codes_1_and_10(control: ControlPytester) -> None:
    crash = python_scorer("    raise RuntimeError('scorer is broken')")
    control.environment(main={"fix": main_task(), "odd": main_task(scorer=crash)}, side={})
    undecided = _ct(control, *ALL, "--untrusted-policy", "reference")
    assert undecided.returncode == 10
    turned = ("--untrusted-policy", "reference", "--", "--ct-assert=nothing-free")
    assert _ct(control, *ALL, *turned).returncode == 1


@pytest.mark.slow
def test_pytest_options_follow_the_dashes(control: ControlPytester) -> None:
    control.environment()
    result = _ct(control, *ALL, "--untrusted-policy", "noop", "--", "--co", "-q", "-k", "leak")
    assert result.returncode == 0
    assert "control::test_sample[mini/fix/leak]" in result.stdout
    assert "control::test_sample[mini/fix/-]" not in result.stdout


@pytest.mark.slow
def test_without_a_model_one_line_says_what_to_do(control: ControlPytester) -> None:
    control.environment()
    result = _ct(control, *ALL)
    assert result.returncode == 4
    (line,) = (result.stdout + result.stderr).strip().splitlines()
    assert "needs a model for role 'untrusted'" in line
