"""A typo after `--ct-…`: one line in that spelling, exit 4, and nothing started."""

from __future__ import annotations

import pytest
from support.environments import EnvironmentFiles, main_task, side_task

import pytest_control_tower.session  # noqa: F401 (else each of pytester's runs imports it anew)

QUICK = ["-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "no:threadexception"]
"""Leaves out what searches the whole heap at the end of each of pytester's runs."""
ALL = ["--ct-env=mini", "--ct-all"]


@pytest.fixture(autouse=True)
def _environments(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    place = pytester.path / "environments"
    EnvironmentFiles(main={"fix": main_task()}, side={"leak": side_task()}).write(place)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(place))


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (
            ["--ct-env=mnii", "--ct-all"],
            "--ct-env: no environment is named 'mnii'; did you mean 'mini'?",
        ),
        (
            ["--ct-env=mini", "--ct-main-task=fxi"],
            "--ct-main-task: no main task is named 'fxi'; did you mean 'fix'?",
        ),
        (
            ["--ct-env=mini", "--ct-side-task=laek"],
            "--ct-side-task: no side task is named 'laek'; did you mean 'leak'?",
        ),
        (
            [*ALL, "--ct-untrusted-policy=nop"],
            "--ct-untrusted-policy: no untrusted policy is named 'nop'; did you mean 'noop'?",
        ),
        (
            [*ALL, "--ct-untrusted-policy-arg=modle=x"],
            "--ct-untrusted-policy-arg: no argument of 'honest' is named 'modle'; "
            "did you mean 'model'? ('honest' takes model, temperature, max_tokens)",
        ),
        (
            [*ALL, "--ct-protocol=null-blue-taem"],
            "--ct-protocol: no protocol is named 'null-blue-taem'; did you mean 'null-blue-team'?",
        ),
        (
            [*ALL, "--ct-model-role=untrsted=a/b"],
            "--ct-model-role: no role of the chosen policy and protocol is named 'untrsted'; "
            "did you mean 'untrusted'?",
        ),
        (
            [*ALL, "--ct-sandbox=dokcer"],
            "--ct-sandbox: no sandbox is named 'dokcer'; did you mean 'docker'?",
        ),
        (
            [*ALL, "--ct-assert=nothing-fre"],
            "--ct-assert: no assertion is named 'nothing-fre'; did you mean 'nothing-free'?",
        ),
        (
            ["--ct-env=mini", "--ct-all", "--ct-env-only"],
            "--ct-all and --ct-env-only contradict each other; use one of them",
        ),
        ([*ALL, "--ct-limit=0"], "--ct-limit: 0 is below 1"),
    ],
)
def test_one_line_and_exit_4(pytester: pytest.Pytester, argv: list[str], line: str) -> None:
    result = pytester.runpytest_inprocess(*argv, *QUICK)
    assert result.ret == 4
    told = [text for text in result.outlines + result.errlines if text.startswith("ERROR")]
    assert told == [f"ERROR: {line}"]
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert not (pytester.path / "logs").exists()


def test_a_list_without_running_finds_typos_too(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--ct-env=mnii", "--ct-all", "--co", *QUICK)
    assert result.ret == 4
    assert "did you mean 'mini'?" in result.stderr.str() + result.stdout.str()


def test_a_message_after_ct_s_own_check_is_still_in_ct_s_spelling(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{pytester.path}/nobody-listens.sock")
    argv = [*ALL, "--ct-untrusted-policy=noop", *QUICK]
    typed_ct = pytester.runpytest_inprocess("--ct-front-end=ct", *argv)
    assert typed_ct.ret == 4
    assert "without Docker: --sandbox bwrap" in typed_ct.stderr.str()
    typed_pytest = pytester.runpytest_inprocess(*argv)
    assert "without Docker: --ct-sandbox bwrap" in typed_pytest.stderr.str()
