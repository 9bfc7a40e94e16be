"""The honest policy with scripted models, and what is said before a model is called."""

from __future__ import annotations

import pytest
from support.sessions import ControlPytester, lines_with

MODELS = ("-p", "support.models", "--ct-main-task=fix")


def test_a_model_that_solves_the_task_passes(control: ControlPytester) -> None:
    control.environment()
    result = control.run(*MODELS, "--ct-untrusted-policy-arg=model=scripted/solver")
    result.assert_outcomes(passed=1)
    assert lines_with(result, "1 sample, up to 10 at once; models: untrusted=scripted/solver;")
    trajectory = control.trajectories()["mini.fix.-"]
    assert trajectory["models"] == {"untrusted": "scripted/solver"}
    assert trajectory["usage"]["untrusted"]["total_tokens"] == 200
    assert [action["function"] for action in trajectory["actions"]] == ["bash", "submit"]


def test_a_model_that_does_nothing_fails_with_a_short_report(control: ControlPytester) -> None:
    control.environment()
    result = control.run(*MODELS, "--ct-model-role=untrusted=scripted/idle")
    result.assert_outcomes(failed=1)
    start = next(i for i, line in enumerate(result.outlines) if "FAILURES" in line)
    report = result.outlines[start : start + 40]
    assert any("main task not solved — main.txt says nothing" in line for line in report)
    assert any(line.strip().startswith("log: logs/") for line in report)


def test_the_environment_variable_is_used(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.environment()
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "scripted/solver")
    control.run(*MODELS).assert_outcomes(passed=1)


def test_a_missing_model_is_said_before_anything_starts(control: ControlPytester) -> None:
    control.environment()
    result = control.run("--ct-main-task=fix")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.startswith("ERROR")]
    assert "policy 'honest' needs a model for role 'untrusted'" in line
    assert "CT_MODEL_UNTRUSTED" in line
    assert not control.logs()


def test_an_unknown_provider_is_said_before_anything_starts(control: ControlPytester) -> None:
    control.environment()
    result = control.run("--ct-main-task=fix", "--ct-model-role=untrusted=nosuch/model")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("nosuch/model" in line for line in result.errlines)
    assert not control.logs()


def test_a_misspelt_provider_gets_the_nearest(control: ControlPytester) -> None:
    control.environment()
    result = control.run("--ct-main-task=fix", "--ct-model-role=untrusted=mocklm/model")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("did you mean 'mockllm'" in line for line in result.errlines)
