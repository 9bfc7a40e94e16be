"""The table of options: spellings, and the argv that says what some values say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from control_tower.options import BY_KEY, OPTIONS, options_of, to_pytest_argv


def test_no_two_options_share_a_spelling() -> None:
    spellings = Counter(
        name for option in OPTIONS for name in (*option.ct, option.pytest, option.ini, option.key)
    )
    assert [name for name, count in spellings.items() if count > 1] == []


def test_the_ct_spelling_is_the_long_one() -> None:
    for option in OPTIONS:
        assert option.pytest == "--ct-" + option.key.replace("_", "-")
        assert option.spelling("pytest") == option.pytest
        if option.ct:
            assert option.ct[0].startswith("--")
            assert option.spelling("ct") == option.ct[0]


def test_an_option_without_a_ct_spelling_is_spoken_of_in_pytest_s() -> None:
    assert BY_KEY["assert"].spelling("ct") == "--ct-assert"
    assert BY_KEY["assert"] not in list(options_of("eval2"))


@pytest.mark.parametrize(
    "spellings",
    [
        "-e --env --environment",
        "-t --main-task",
        "-s --side-task",
        "-up --untrusted-policy-arg",
        "-bp --protocol-arg",
    ],
)
def test_short_spellings_of_the_reference_page(spellings: str) -> None:
    names = set(spellings.split())
    assert any(set(option.ct) == names for option in options_of("eval2"))


@pytest.mark.parametrize(
    "name",
    [
        *("all", "just-main-tasks", "just-side-tasks", "env-only", "limit", "untrusted-policy"),
        *("protocol", "model-role", "sandbox", "epochs", "max-samples", "log-dir"),
        *("retry-on-error", "no-fail-on-error", "scorer-timeout", "token-limit"),
        *("message-limit", "sample-time-limit"),
    ],
)
def test_long_spellings_of_the_reference_page(name: str) -> None:
    assert any(option.ct[0] == f"--{name}" for option in options_of("eval2"))


def test_an_option_that_is_not_for_a_command_is_not_listed_for_it() -> None:
    assert list(options_of("rerun-traj")) == []


@pytest.mark.parametrize("unset", [None, False, ()])
def test_unset_values_leave_the_word_to_ini_files(unset: Any) -> None:
    assert to_pytest_argv({"env": unset, "all": unset, "limit": unset}) == []


def test_values_are_tied_to_their_option() -> None:
    argv = to_pytest_argv(
        {
            "untrusted_policy_arg": ("model=a/b=c", "-x=1", "note=two words", ""),
            "all": True,
            "epochs": 3,
            "env": ("b", "a"),
            "log_dir": "--odd dir",
            "retry_on_error": 0,
        }
    )
    assert sorted(argv) == sorted(
        [
            "--ct-env=b",
            "--ct-env=a",
            "--ct-all",
            "--ct-untrusted-policy-arg=model=a/b=c",
            "--ct-untrusted-policy-arg=-x=1",
            "--ct-untrusted-policy-arg=note=two words",
            "--ct-untrusted-policy-arg=",
            "--ct-epochs=3",
            "--ct-log-dir=--odd dir",
            "--ct-retry-on-error=0",
        ]
    )
    assert argv.index("--ct-env=b") < argv.index("--ct-env=a")
