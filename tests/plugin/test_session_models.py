"""The honest policy with scripted models, and what is said before a model is called."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions import ControlPytester, lines_with

WHOLE = (
    "--ct-model-role=untrusted={model: fake/solver, temperature: 0.5, max_tokens: 99, "
    "base_url: 'http://h/v1', device: cpu}"
)
MODELS = ("-p", "support.models", "--ct-main-task=fix")


def test_a_model_that_solves_the_task_passes(control: ControlPytester) -> None:
    control.environment()
    result = control.run(*MODELS, "--ct-untrusted-policy-arg=model=fake/solver")
    result.assert_outcomes(passed=1)
    assert lines_with(result, "1 sample, up to 10 at once; models: untrusted=fake/solver;")
    trajectory = control.trajectories()["mini.fix.-"]
    assert trajectory["models"] == {"untrusted": "fake/solver"}
    assert trajectory["usage"]["untrusted"]["total_tokens"] == 200
    assert [action["function"] for action in trajectory["actions"]] == ["bash", "submit"]


def test_a_model_that_does_nothing_fails_with_a_short_report(control: ControlPytester) -> None:
    control.environment()
    result = control.run(*MODELS, "--ct-model-role=untrusted=fake/idle")
    result.assert_outcomes(failed=1)
    start = next(i for i, line in enumerate(result.outlines) if "FAILURES" in line)
    report = result.outlines[start : start + 40]
    assert any("main task not solved — main.txt says nothing" in line for line in report)
    assert any(line.strip().startswith("log: logs/") for line in report)


def test_the_environment_variable_is_used(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.environment()
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "fake/solver")
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
    assert any(
        "no model provider (role untrusted) is named 'nosuch'" in line for line in result.errlines
    )
    assert not control.logs()


def test_a_misspelt_provider_gets_the_nearest(control: ControlPytester) -> None:
    control.environment()
    result = control.run("--ct-main-task=fix", "--ct-model-role=untrusted=mocklm/model")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("did you mean 'mockllm'" in line for line in result.errlines)


def calls(control: ControlPytester) -> list[tuple[str, dict[str, Any]]]:
    """Model and settings of every call that the logs tell of."""
    from inspect_ai.log import read_eval_log

    return [
        (event.model, event.config.model_dump(exclude_none=True))
        for log in control.logs()
        for sample in read_eval_log(str(log)).samples or []
        for event in sample.events
        if event.event == "model"
    ]


def test_settings_reach_the_calls_and_names_alone_the_header_and_the_trajectory(
    control: ControlPytester,
) -> None:
    from inspect_ai.log import read_eval_log

    control.environment()
    result = control.run(*MODELS, WHOLE, "--ct-max-connections=3")
    result.assert_outcomes(passed=1)
    settings = {"temperature": 0.5, "max_tokens": 99, "max_connections": 3}
    assert calls(control) == [("fake/solver", settings)] * 2
    [log] = control.logs()
    roles = read_eval_log(str(log), header_only=True).eval.model_roles or {}
    assert getattr(roles["untrusted"], "args", None) == {"device": "cpu"}
    assert lines_with(result, "models: untrusted=fake/solver; limits")
    assert control.trajectories()["mini.fix.-"]["models"] == {"untrusted": "fake/solver"}


@pytest.mark.slow
def test_every_worker_makes_the_models_and_they_share_the_connections(
    control: ControlPytester,
) -> None:
    control.environment()
    settings = (WHOLE, "--ct-max-connections=3", "--ct-epochs=2")
    control.run_apart(*MODELS, *settings, "-n", "2").assert_outcomes(passed=2)
    assert len(control.logs()) == 2
    assert sorted(config["max_connections"] for _, config in calls(control)) == [1, 1, 2, 2]
    assert {config["temperature"] for _, config in calls(control)} == {0.5}


def test_the_project_file_is_used(control: ControlPytester) -> None:
    control.environment()
    (control.pytester.path / "pyproject.toml").write_text(
        "[tool.control-tower.models]\n"
        'untrusted = { model = "fake/solver", temperature = 0.25 }\n'
        'trusted = "nobody/needs-it"\n'
    )
    control.run(*MODELS).assert_outcomes(passed=1)
    assert {config["temperature"] for _, config in calls(control)} == {0.25}


def test_variables_of_inspect_s_command_line_are_not_read(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.environment()
    for name, value in {
        "INSPECT_EVAL_MODEL": "fake/idle",
        "INSPECT_EVAL_MODEL_ARGS": "device=cpu",
        "INSPECT_EVAL_MODEL_ROLE": "untrusted=fake/idle",
        "INSPECT_EVAL_MAX_CONNECTIONS": "1",
        "INSPECT_EVAL_TEMPERATURE": "1.5",
        "INSPECT_EVAL_EPOCHS": "2",
        "INSPECT_EVAL_LIMIT": "0",
        "INSPECT_LOG_DIR": "elsewhere",
    }.items():
        monkeypatch.setenv(name, value)
    result = control.run(*MODELS, "--ct-model-role=untrusted=fake/solver")
    result.assert_outcomes(passed=1)
    assert calls(control) == [("fake/solver", {})] * 2
    assert not (control.pytester.path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--ct-model-role=untrusted={model: fake/solver, temprature: 0}", "'temperature'"),
        (
            "--ct-model-role=untrusted={model: fake/solver",
            "role 'untrusted': the mapping is no YAML",
        ),
        ("--ct-model-role=untrusted={model: fake/solver, api_key: s3cret}", "'api_key'"),
    ],
)
def test_a_wrong_spec_is_said_before_anything_starts(
    control: ControlPytester, option: str, said: str
) -> None:
    control.environment()
    result = control.run(*MODELS, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert line.startswith("ERROR: --ct-model-role: role 'untrusted': ")
    assert said in line
    assert not any("s3cret" in line for line in [*result.outlines, *result.errlines])
    assert not control.logs()


def test_a_scripted_run_asks_for_no_model(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.environment()
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "{model: nonsense")
    (control.pytester.path / "pyproject.toml").write_text("[tool.control-tower.models]\nx = 1\n")
    result = control.run("--ct-main-task=fix", "--ct-untrusted-policy=reference")
    result.assert_outcomes(passed=1)
    assert lines_with(result, "models: none;")
