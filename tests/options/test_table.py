"""The table of options: no two share a spelling, and those of the reference page are there."""

from __future__ import annotations

from collections import Counter

import pytest

from control_tower.options import BY_KEY, OPTIONS, options_of


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


def test_the_options_of_a_replay_are_those_of_its_reference_page() -> None:
    spelled = {name for option in options_of("rerun-traj") for name in option.ct}
    assert spelled == {
        *("-e", "--env", "--environment", "-t", "--main-task", "-s", "--side-task"),
        *("--startup-retries", "--no-internet", "--no-intranet", "--network-control"),
        *("--sandbox-isolation", "--extra-src", "--sandbox", "--sandbox-arg", "--replay-sandbox"),
        *("--log-dir", "--scorer-timeout", "--message-limit", "--sample-id"),
    }


def test_an_option_with_a_help_of_its_own_for_a_replay_takes_one_value_there() -> None:
    of_replay = {option.key: option for option in options_of("rerun-traj")}
    assert of_replay["env"].help == "Override environment from trajectory"
    assert not of_replay["env"].multiple
    assert BY_KEY["env"].multiple
    assert of_replay["extra_src"].multiple
