"""`ct run eval2`: its flags, what it hands to pytest, and its one-line refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.cli.main import main
from control_tower.options import options_of

EVAL2 = ["run", "eval2"]
HONEST = ["-e", "mini", "--all"]
REFERENCE = [*HONEST, "--untrusted-policy", "reference", "--sandbox", "bwrap"]


@pytest.fixture(autouse=True)
def _environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(
        main={"fix": main_task(), "add": main_task()},
        side={"leak": side_task(compatible="[fix]")},
    ).write(tmp_path)
    EnvironmentFiles(name="fixed", portable="false").write(tmp_path)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The argument lists that pytest was called with; it answers 7."""
    calls: list[list[str]] = []

    def pytest_main(argv: list[str]) -> int:
        calls.append(argv)
        return 7

    monkeypatch.setattr(pytest, "main", pytest_main)
    return calls


def refusal(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*EVAL2, *argv]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    return line.removeprefix("ct: error: ")


def test_help_shows_every_option_with_all_its_spellings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*EVAL2, "--help"]) == 0
    words = capsys.readouterr().out.replace(",", " ").split()
    for option in options_of("eval2"):
        assert [name for name in option.ct if name not in words] == []
    assert "--ct-assert" in words  # told, among pytest's options


@pytest.mark.parametrize(
    ("value", "words"),
    [("two", "'two' is not a whole number of 0 or more"), ("-1", "-1 is below 0")],
)
def test_a_number_that_is_none_is_said_as_pytest_says_it(
    called: list[list[str]], capsys: pytest.CaptureFixture[str], value: str, words: str
) -> None:
    assert refusal([*HONEST, "--startup-retries", value], capsys) == f"--startup-retries: {words}"
    assert called == []


def test_help_says_what_each_option_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    main([*EVAL2, "--help"])
    shown = "".join(capsys.readouterr().out.split())
    for option in options_of("eval2"):
        assert "".join(option.help.split()) in shown


@pytest.mark.parametrize(
    "name",
    ["--ec2", "--simulated", "--run-config", "--harness", "--upload", "--diagnostics", "--grant"],
)
def test_an_option_that_is_not_built_is_not_accepted(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"No such option '{name}'" in refusal([*HONEST, name], capsys)


def test_pytest_is_called_with_the_plugin_s_spelling(
    called: list[list[str]], tmp_path: Path
) -> None:
    assert main([*EVAL2, *REFERENCE, "--epochs", "2", "--", "-k", "fix", "-x"]) == 7
    [argv] = called
    assert argv[argv.index("--rootdir") + 1] == str(tmp_path)
    assert Path(argv[argv.index("-c") + 1]).is_file()
    own = [word for word in argv if word.startswith("--ct-") and "front-end" not in word]
    assert sorted(own) == [
        "--ct-all",
        "--ct-env=mini",
        "--ct-epochs=2",
        "--ct-sandbox=bwrap",
        "--ct-untrusted-policy=reference",
    ]
    assert argv[-3:] == ["-k", "fix", "-x"]


def test_what_was_not_given_is_left_to_pytest(called: list[list[str]]) -> None:
    main([*EVAL2, *HONEST])
    [argv] = called
    assert [w for w in argv if w.startswith("--ct-") and "front-end" not in w] == [
        "--ct-env=mini",
        "--ct-all",
    ]


@pytest.mark.parametrize(
    "argv",
    [
        ["-e", "mini", "-t", "fix", "-s", "leak"],
        ["--env", "mini", "--main-task", "fix", "--side-task", "leak"],
        ["--environment=mini", "--main-task=fix", "-sleak"],
    ],
)
def test_short_and_long_spellings_say_the_same(called: list[list[str]], argv: list[str]) -> None:
    main([*EVAL2, *argv, "--untrusted-policy", "noop"])
    [given] = called
    assert {"--ct-env=mini", "--ct-main-task=fix", "--ct-side-task=leak"} <= set(given)


def test_up_and_bp_are_not_taken_for_bundled_letters(
    called: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*EVAL2, *HONEST, "-up", "model=a/b", "-up", "temperature=0.5"])
    [given] = called
    assert "--ct-untrusted-policy-arg=model=a/b" in given
    assert "--ct-untrusted-policy-arg=temperature=0.5" in given
    assert "'null-blue-team'" in refusal([*HONEST, "-bp", "x=1"], capsys)


TYPOS: list[tuple[list[str], str]] = [
    (["-e", "mnii", "--all"], "--env: no environment is named 'mnii'; did you mean 'mini'?"),
    (["-e", "mini", "-t", "fxi"], "--main-task: no main task is named 'fxi'; did you mean 'fix'?"),
    (
        ["-e", "mini", "-t", "mini/fxi"],
        "--main-task: no main task of mini is named 'fxi'; did you mean 'fix'?",
    ),
    (
        ["-e", "mini", "-s", "laek"],
        "--side-task: no side task is named 'laek'; did you mean 'leak'?",
    ),
    (
        [*HONEST, "--untrusted-policy", "nop"],
        "--untrusted-policy: no untrusted policy is named 'nop'; did you mean 'noop'?",
    ),
    (
        [*HONEST, "-up", "modle=a/b"],
        "--untrusted-policy-arg: no argument of 'honest' is named 'modle'; did you mean 'model'? "
        "('honest' takes model, temperature, max_tokens)",
    ),
    (
        [*HONEST, "--protocol", "null-blue-taem"],
        "--protocol: no protocol is named 'null-blue-taem'; did you mean 'null-blue-team'?",
    ),
    (
        [*HONEST, "--model-role", "untrsted=a/b"],
        "--model-role: no role of the chosen policy and protocol is named 'untrsted'; "
        "did you mean 'untrusted'?",
    ),
    (
        [*HONEST, "--sandbox", "dokcer"],
        "--sandbox: no sandbox is named 'dokcer'; did you mean 'docker'?",
    ),
]


@pytest.mark.parametrize(("argv", "line"), TYPOS)
def test_a_typo_in_a_name_is_one_line_with_the_nearest_and_exit_4(
    argv: list[str], line: str, capsys: pytest.CaptureFixture[str], called: list[list[str]]
) -> None:
    assert refusal(argv, capsys) == line
    assert called == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], ["name an environment with --env", "mini"]),
        (["-e", "mini"], ["--env alone selects nothing", "--all", "--env-only"]),
        (["-e", "mini", "--all", "--env-only"], ["--all", "--env-only", "contradict"]),
        (["-e", "mini", "-t", "add", "-s", "leak"], ["'leak' does not go with", "'add'", "fix"]),
        ([*HONEST, "--limit", "0"], ["--limit", "0 is below 1"]),
        ([*HONEST, "--epochs", "two"], ["--epochs", "'two'"]),
        ([*HONEST, "--retry-on-error", "-1"], ["--retry-on-error", "-1 is below 0"]),
        ([*HONEST, "--lmit", "3"], ["'--lmit'", "--limit"]),
        (["-e"], ["'-e' requires an argument"]),
        ([*HONEST, "-up", "temperature=hot"], ["--untrusted-policy-arg", "temperature", "'hot'"]),
        (["-e", "fixed", "--all", "--sandbox", "bwrap"], ["'fixed' is not portable"]),
    ],
)
def test_other_mistakes_are_one_line_in_ct_s_spelling_and_exit_4(
    argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str], called: list[list[str]]
) -> None:
    line = refusal(argv, capsys)
    assert [word for word in words if word not in line] == []
    assert "--ct-" not in line
    assert called == []


def test_a_model_name_in_a_typo_cannot_break_the_line(
    capsys: pytest.CaptureFixture[str], called: Any
) -> None:
    assert "no environment is named 'a b'" in refusal(["-e", "a\nb", "--all"], capsys)
