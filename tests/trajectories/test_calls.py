"""Tool calls as texts."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.trajectories.calls import call_line, call_lines, exact_call
from control_tower.trajectories.schema import Action


def lines(function: str, **arguments: Any) -> list[str]:
    return call_lines(Action(index=0, function=function, arguments=arguments))


def test_a_command_is_as_one_types_it() -> None:
    assert lines("bash", command="cat > x <<'E'\n  a\n\nE\n") == [
        "$ cat > x <<'E'", "    a", "  ", "  E"
    ]  # fmt: skip
    assert lines("bash", command="ls", timeout=3) == ["$ ls", "  timeout: 3"]


def test_arguments_are_below_one_another() -> None:
    assert lines("edit", path="a.py", text="one\ntwo", count=2, where={"é": None}) == [
        "edit", "  path: a.py", "  text: one", "    two", "  count: 2", '  where: {"é": null}'
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [{}, {"command": 7}, {"command": None}, {"cmd": "ls"}])
def test_calls_that_are_not_as_the_tool_has_them_are_shown(arguments: dict[str, Any]) -> None:
    assert lines("bash", **arguments)[0] == "bash"


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("bash", {"command": "cd x &&\n  ls"}, "$ cd x && ls"),
        ("bash", {"command": "ls", "timeout": 1}, 'bash {"command": "ls", "timeout": 1}'),
        ("submit", {"answer": "é"}, 'submit {"answer": "é"}'),
        ("bash", {"command": "x" * 500}, "$ " + "x" * 98 + " …"),
    ],
)
def test_a_call_in_one_line(function: str, arguments: dict[str, Any], expected: str) -> None:
    assert call_line(function, arguments) == expected


def test_an_exact_call_tells_spaces_apart() -> None:
    assert exact_call("bash", {"command": "a  b"}) != exact_call("bash", {"command": "a b"})
