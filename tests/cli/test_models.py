"""`ct models`: which model each role gets, and from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_tower.cli.main import main

TEAMS = '''
from control_tower.components import MonitorSpec, monitor, policy, protocol
from control_tower.policies.noop import noop
from control_tower.protocols.null_blue_team import null_blue_team

@policy(modes=["attack"], asserts="none", roles=["untrusted"])
def red(model: str | None = None):
    """Red."""
    return noop()

class Calm:
    async def score(self, case):
        raise NotImplementedError

@monitor(roles=["monitor"])
def calm(model: str | None = None, role: str = "monitor"):
    """Calm."""
    return Calm()

@protocol(roles=["trusted", "second-look"])
def blue(model: str | None = None, watch: MonitorSpec | None = None):
    """Blue."""
    return null_blue_team()
'''
TEAM = ["--untrusted-policy", "teams_of_ours:red", "--protocol", "teams_of_ours:blue"]


@pytest.fixture(autouse=True)
def _teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "teams_of_ours.py").write_text(TEAMS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in (
        "CT_MODEL_UNTRUSTED",
        "CT_MODEL_TRUSTED",
        "CT_MODEL_SECOND_LOOK",
        "CT_MODEL_MONITOR",
        "INSPECT_EVAL_MODEL",
        "OPENAI_API_KEY",
    ):
        monkeypatch.setenv(name, "")  # so that what a .env file sets is taken back
        monkeypatch.delenv(name)


def table(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, list[str]]:
    """The cells after the role, by role."""
    assert main(["models", *TEAM, *args]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    heading, *rows = (
        [cell for cell in line.split("  ") if cell] for line in lines_of(captured.out)
    )
    assert [cell.strip() for cell in heading] == ["role", "model", "from"]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def lines_of(text: str) -> list[str]:
    return text.splitlines()


def test_each_role_with_its_model_and_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.control-tower.models]\nsecond-look = { model = "openai/c", temperature = 0 }\n'
    )
    monkeypatch.setenv("CT_MODEL_TRUSTED", "openai/b")
    assert table(capsys, "--model-role", "untrusted=openai/a") == {
        "untrusted": ["openai/a", "--model-role"],
        "trusted": ["openai/b", "CT_MODEL_TRUSTED"],
        "second-look": ["openai/c (temperature: 0)", str(tmp_path / "pyproject.toml")],
    }


def test_arguments_inspect_s_variable_and_what_is_not_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "openai/a")
    found = table(capsys, "-bp", "model=openai/b")
    assert found["untrusted"] == ["openai/a", "INSPECT_EVAL_MODEL"]
    assert found["trusted"] == ["openai/b", "argument of protocol 'blue'"]
    model, ways = found["second-look"]
    assert model == "not set"
    assert ways == (
        "give --model-role second-look=PROVIDER/MODEL, or set CT_MODEL_SECOND_LOOK, or write "
        'second-look = "PROVIDER/MODEL" under [tool.control-tower.models] in pyproject.toml'
    )
    assert "-up" not in found["untrusted"]


def test_monitors_of_a_protocol_bind_roles_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = "watch={name: 'teams_of_ours:calm', role: watcher, model: openai/m}"
    assert table(capsys, "-bp", given)["watcher"] == ["openai/m", "argument of protocol 'blue'"]
    model, ways = table(capsys, "-bp", "watch=teams_of_ours:calm")["monitor"]
    assert model == "not set"
    assert ways.startswith(
        "give --model-role monitor=PROVIDER/MODEL or --protocol-arg "
        "'watch={name: teams_of_ours:calm, model: PROVIDER/MODEL}', or set CT_MODEL_MONITOR"
    )


def test_the_dotenv_file_is_read_and_no_key_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text("CT_MODEL_UNTRUSTED=openai/env\nOPENAI_API_KEY=s3cret\n")
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "openai/env" in out
    assert "CT_MODEL_UNTRUSTED" in out
    assert "s3cret" not in out


def test_a_policy_that_is_never_asked_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["models", "--protocol", "trusted-only", "--model-role", "trusted=openai/b"]
    for more in ([], ["--model-role", "untrusted=openai/a"]):
        assert main([*args, *more]) == 0
        _, *rows = lines_of(capsys.readouterr().out)
        assert [row.split() for row in rows] == [["trusted", "openai/b", "--model-role"]]


def test_scripted_components_bind_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--untrusted-policy", "reference"]) == 0
    assert capsys.readouterr().out == (
        "no model is bound: policy 'reference' and protocol 'null-blue-team' call none\n"
    )


def test_extra_sources_are_there_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "apart"
    source.mkdir()
    (source / "teams_apart.py").write_text(TEAMS)
    args = ["models", "--untrusted-policy", "teams_apart:red", "--extra-src", str(source)]
    assert main([*args, "-up", "model=openai/a"]) == 0
    assert "argument of policy 'red'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--untrusted-policy", "refrence"], "did you mean 'reference'?"),
        (["-up", "modle=x"], "did you mean 'model'?"),
        (["--model-role", "untrused=a/b"], "did you mean 'untrusted'?"),
        (["--model-role", "untrusted"], "--model-role: 'untrusted' is not role=model"),
        (["--model-role", "untrusted={model: a/b, temprature: 0}"], "did you mean 'temperature'?"),
        (["--model-role", "untrusted=gpt-4o"], "model 'gpt-4o' (role untrusted) has no provider"),
        (["-up", "model=gpt-4o"], "argument of policy 'honest': model 'gpt-4o' (role untrusted)"),
        (["--model-role", "untrusted=opanai/gpt-4o"], "did you mean 'openai'"),
        (["--model-role", "untrusted={model: opanai/x, top_p: 1}"], "did you mean 'openai'"),
        (["--epochs", "2"], "No such option"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_4(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", *args]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert message in line
