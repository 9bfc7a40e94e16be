"""The argv that says what some values say."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.options import to_pytest_argv


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
