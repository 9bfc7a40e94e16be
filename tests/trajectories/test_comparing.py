"""Where two trajectories part."""

from __future__ import annotations

from typing import Any

import pytest
from support.recordings import bash, recording, submitted

from control_tower.trajectories.comparing import compare

LONG = "same " * 200


def test_ids_times_and_tokens_do_not_count() -> None:
    a = recording(bash("ls", "a"), trajectory_id="a", run_id="x", recorded_at=1.0)
    b = recording(bash("ls", "a"), trajectory_id="b", run_id="y", recorded_at=2.0,
                  usage={"untrusted": {"total_tokens": 5}}, versions={"python": "3.12"})  # fmt: skip
    comparison = compare(a, b)
    assert comparison.same
    assert (comparison.fields, comparison.action, comparison.same_actions) == ((), None, 1)


@pytest.mark.parametrize(
    ("change", "name", "first", "second"),
    [
        ({"policy": "attack"}, "policy", "-", "attack"),
        ({"policy_args": {"x": 1}}, "policy args", "{}", '{"x": 1}'),
        ({"env": "other"}, "environment", "mini", "other"),
        ({"side": "leak"}, "side task", "-", "leak"),
        ({"epoch": 2}, "epoch", "1", "2"),
        ({"caught": True}, "caught", "no", "yes"),
        ({"outcome": "errored"}, "outcome", "scored", "errored"),
    ],
)
def test_fields_that_differ_are_named(
    change: dict[str, Any], name: str, first: str, second: str
) -> None:
    [field] = compare(recording(), recording(**change)).fields
    assert (field.name, field.first, field.second) == (name, first, second)


def test_files_of_the_environment_count_where_both_are_known() -> None:
    a, b = (recording(versions={"environment": v * 40}) for v in "ab")
    [field] = compare(a, b).fields
    assert (field.name, field.first) == ("files of environment", "a" * 12)
    assert compare(a, recording()).same


@pytest.mark.parametrize(
    ("first", "second", "part", "shown"),
    [
        (bash("ls"), bash("pwd"), "call", ("$ ls", "$ pwd")),
        (bash("ls"), submitted("x"), "call", ("$ ls", 'submit {"answer": "x"}')),
        (bash("a b"), bash("a  b"), "call",
         ('bash {"command": "a b"}', 'bash {"command": "a  b"}')),
        (bash("ls", "a"), bash("ls", "b"), "output", ("a", "b")),
        (bash("ls"), bash("ls", output_error="boom"), "error", (None, "boom")),
        (bash("ls"), None, "missing", ("$ ls", None)),
        (None, bash("ls"), "missing", (None, "$ ls")),
    ],
)  # fmt: skip
def test_the_first_action_that_differs(
    first: Any, second: Any, part: str, shown: tuple[str | None, str | None]
) -> None:
    same = bash("echo", "x")
    a, b = (recording(same, *([action] if action else [])) for action in (first, second))
    difference = compare(a, b).action
    assert difference is not None
    assert (difference.step, difference.part) == (1, part)
    assert (difference.first, difference.second) == shown
    assert compare(a, b).same_actions == 1


def test_of_long_calls_the_difference_is_shown() -> None:
    difference = compare(
        recording(bash(LONG + "X" + LONG)), recording(bash(LONG + "Y" + LONG))
    ).action
    assert difference is not None
    assert difference.first is not None and difference.second is not None
    assert "X" in difference.first and "Y" in difference.second
    assert max(len(difference.first), len(difference.second)) < 300


def test_reasoning_and_suspicion_do_not_count() -> None:
    a = recording(bash("ls", agent_reasoning="one", monitor_response={"sus_score": 1}))
    b = recording(bash("ls", agent_reasoning="two"))
    assert compare(a, b).same


def test_scores_are_side_by_side() -> None:
    a = recording(scores={"main": True})
    b = recording(scores={"main": None, "side": False})
    comparison = compare(a, b)
    assert [(s.task, s.first, s.second) for s in comparison.scores] == [
        ("main", "success", "unscored"),
        ("side", "-", "no success"),
    ]
    assert not comparison.same
