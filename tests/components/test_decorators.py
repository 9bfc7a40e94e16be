"""The decorators: what they refuse, and what the user of the module sees of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_tower.components import Kind, find_component, harness, monitor, policy, protocol
from control_tower.errors import UsageProblem


def seen(kind: Kind, decorator: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The line that a user sees of a module with this decorator."""
    name = f"decorated_{path.name}"
    (path / f"{name}.py").write_text(
        f"from control_tower.components import {kind}\n{decorator}\ndef mine():\n    'Mine.'\n"
    )
    monkeypatch.syspath_prepend(str(path))
    with pytest.raises(UsageProblem) as caught:
        find_component(kind, f"{name}:mine", flag="--it")
    return str(caught.value).replace(name, "MODULE")


@pytest.mark.parametrize(
    ("kind", "usage"),
    [
        ("policy", "@policy(modes=…, asserts=…)"),
        ("protocol", "@protocol()"),
        ("monitor", "@monitor()"),
        ("harness", "@harness()"),
    ],
)
def test_a_decorator_without_parentheses_says_how_it_is_written(
    kind: Kind, usage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seen(kind, f"@{kind}", tmp_path, monkeypatch) == (
        f"--it: 'MODULE' cannot be imported: TypeError: mine: write {usage}"
    )


@pytest.mark.parametrize(
    ("kind", "decorator", "problem"),
    [
        (
            "policy",
            "@policy(modes=['honst'], asserts='none')",
            "no mode is named 'honst'; did you mean 'honest'?",
        ),
        (
            "policy",
            "@policy(modes=['honest'], asserts='none', needs=['linear-histroy'])",
            "no need is named 'linear-histroy'; did you mean 'linear_history'?",
        ),
        (
            "protocol",
            "@protocol(needs=['redraw'])",
            "no need is named 'redraw'; did you mean 'redraws'?",
        ),
    ],
)
def test_a_mode_or_need_that_is_not_there_gets_the_nearest(
    kind: Kind, decorator: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seen(kind, decorator, tmp_path, monkeypatch) == (
        f"--it: 'MODULE' cannot be imported: ValueError: mine: {problem}"
    )


def test_decorators_keep_their_documentation() -> None:
    for decorator in (policy, protocol, monitor, harness):
        assert "Register" in (decorator.__doc__ or "")


def test_whether_the_policy_is_asked_is_read_from_the_decorator() -> None:
    assert not find_component("protocol", "trusted-only", flag="-b").asks_untrusted
    assert find_component("protocol", "trusted-monitoring", flag="-b").asks_untrusted
