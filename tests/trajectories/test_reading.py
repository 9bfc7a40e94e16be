"""Reading trajectories: ours, older ones, the public form, and what is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from control_tower.trajectories.reading import (
    UnreadableTrajectory,
    parse_trajectory,
    read_trajectory,
)
from control_tower.trajectories.schema import SCHEMA_VERSION, Trajectory

PUBLIC: dict[str, Any] = {
    "trajectory_id": "abc",
    "run_id": "r",
    "epoch": 1,
    "environment": {"id": "shop", "description": None},
    "main_task": {"id": "fix", "task_category": "fix_bug", "description": None},
    "side_task": {"id": "leak", "goal": "g", "task_category": None, "failure_type": "live"},
    "main_task_success": True,
    "side_task_success": None,
    "scorer_explanation": None,
    "tags": None,
    "metadata": None,
    "actions": [
        {
            "index": 0,
            "function": "bash",
            "arguments": {"command": "ls"},
            "output": None,
            "output_error": None,
            "agent_reasoning": None,
            "monitor_response": {
                "sus_score": 3,
                "model_name": "m",
                "error": None,
                "members": None,
            },
        }
    ],
}
"""All of design §5, and nothing else."""


def parsed(**changes: Any) -> Trajectory:
    return parse_trajectory(json.dumps({**PUBLIC, **changes}), where="here")


def refusal(data: bytes | str) -> str:
    with pytest.raises(UnreadableTrajectory) as caught:
        parse_trajectory(data, where="some.json")
    line = str(caught.value)
    assert line.startswith("some.json: ")
    assert line.isprintable()
    assert len(line) < 400
    return line.removeprefix("some.json: ")


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in PUBLIC.items() if name not in names}


def test_the_public_form_is_read_with_nulls_for_what_is_empty() -> None:
    t = parsed()
    assert (t.trajectory_id, t.run_id, t.environment.id, t.environment.description) == (
        "abc", "r", "shop", ""
    )  # fmt: skip
    assert t.main_task is not None and t.main_task.description == ""
    assert t.side_task is not None and t.side_task.failure_type == "live"
    assert (t.tags, t.metadata, t.scorer_explanation) == ([], {}, "")
    [action] = t.actions
    assert (action.output, action.output_error, action.agent_reasoning) == ("", None, None)
    assert action.monitor_response is not None
    assert (action.monitor_response.sus_score, action.monitor_response.members) == (3.0, [])


def test_scores_and_outcome_come_from_the_successes() -> None:
    t = parsed(scorer_explanation="why")
    assert {task: score.success for task, score in t.scores.items()} == {"main": True, "side": None}
    assert t.scores["main"].explanation == "why"
    assert t.outcome == "unscored"
    assert parsed(side_task_success=False).outcome == "scored"
    assert parsed(side_task=None, side_task_success=None).outcome == "scored"


def test_a_task_whose_id_is_null_is_none() -> None:
    t = parsed(side_task={"id": None, "goal": None})
    assert t.side_task is None
    assert list(t.scores) == ["main"]


def test_the_least_that_is_a_trajectory() -> None:
    t = parse_trajectory('{"environment": {"id": "shop"}}', where="here")
    assert (t.environment.id, t.actions, t.outcome, t.scores) == ("shop", [], "scored", {})


@pytest.mark.parametrize("id", [None, "", ...])
def test_an_id_that_is_missing_comes_from_the_contents(id: object) -> None:
    raw = without("trajectory_id") if id is ... else {**PUBLIC, "trajectory_id": id}
    first, again = (parse_trajectory(json.dumps(raw), where=w) for w in ("one", "two"))
    other = parse_trajectory(json.dumps({**raw, "run_id": "x"}), where="one")
    assert first.trajectory_id == again.trajectory_id != other.trajectory_id
    assert first.trajectory_id.isalnum()


def test_ids_may_be_numbers_and_indices_may_be_missing() -> None:
    t = parsed(
        trajectory_id=17, run_id=3, actions=[{"function": "a"}, {"function": "b", "index": None}]
    )
    assert (t.trajectory_id, t.run_id, [a.index for a in t.actions]) == ("17", "3", [0, 1])


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION])
def test_our_own_versions_are_read_back(version: int) -> None:
    raw = {**PUBLIC, "schema_version": version, "outcome": "errored", "error": "it broke"}
    t = parse_trajectory(json.dumps(raw), where="here")
    assert (t.schema_version, t.outcome, t.error) == (version, "errored", "it broke")


@pytest.mark.parametrize("outcome", ["unscored", "errored", "setup_error", "cancelled", "not_run"])
def test_what_was_not_scored_is_kept_as_such(outcome: str) -> None:
    assert parsed(outcome=outcome, scores={}).outcome == outcome


def test_fields_of_other_makers_are_kept() -> None:
    t = parsed(notes={"mine": [1]}, trajectory_ids="x")
    assert t.model_dump()["notes"] == {"mine": [1]}


def test_a_byte_order_mark_and_half_characters_are_no_hindrance() -> None:
    text = json.dumps(
        {**PUBLIC, "final_message": "half \ud83d", "metadata": {"\udc00": ["é\ud800"]}}
    )
    t = parse_trajectory(b"\xef\xbb\xbf" + text.encode(), where="here")
    assert t.final_message == "half ?"
    assert t.metadata == {"?": ["é?"]}
    assert t.model_dump_json()


def test_whole_characters_written_as_two_halves_stay() -> None:
    assert parsed(final_message="\U0001f600").final_message == "\U0001f600"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (json.dumps(PUBLIC)[:-40], "it is not valid JSON, or was cut off"),
        (b"\x00" * 5000, "it is not valid JSON, or was cut off"),
        (b"PK\x03\x04\xff\xff", "it is not UTF-8 at byte 4"),
        (json.dumps(PUBLIC).encode("utf-16"), "it is not UTF-8 at byte 0"),
        (b"[]", "it is a list"),
        (b'"text"', "it is a text"),
        (b"null", "it is null"),
        (b"true", "it is a truth value"),
        (b"17", "it is a number"),
        (b"{}", "environment: it must be an object with an id"),
        (b'{"name": "left-pad", "version": "1.0.0"}', "environment: it must be an object with an id"),
        (b'{"version": 2, "status": "success", "eval": {}}', "it is an Inspect log"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"environment": ' * 3000, "it is nested too deeply"),
        (b"1" * 5000, "it has a number that is none"),
    ],
)  # fmt: skip
def test_what_is_no_trajectory_is_refused_in_one_line(data: bytes | str, reason: str) -> None:
    assert refusal(data).startswith(f"no trajectory: {reason}")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"environment": "shop"}, "environment: it must be an object with an id"),
        ({"environment": {}}, "environment.id: Field required"),
        ({"environment": {"id": ""}}, "environment.id: it is empty"),
        ({"environment": {"id": None}}, "environment.id: Input should be a valid string, not null"),
        ({"main_task": "fix"}, "main_task: "),
        ({"main_task": {"id": ""}}, "main_task.id: it is empty"),
        ({"side_task": {"id": "x", "failure_type": "odd"}}, "side_task.failure_type: "),
        ({"main_task_success": "perhaps"}, "main_task_success: "),
        ({"epoch": 0}, "epoch: it is counted from 1, and cannot be 0"),
        ({"epoch": 1.5}, "epoch: "),
        ({"epoch": int("9" * 4000)}, "epoch: "),
        ({"recorded_at": 1e300}, "recorded_at: 1e+300 is no moment"),
        ({"recorded_at": -1}, "recorded_at: -1.0 is no moment"),
        ({"tags": "nightly"}, "tags: "),
        ({"tags": [{}]}, "tags.0: "),
        ({"metadata": []}, "metadata: "),
        ({"actions": {}}, "actions: "),
        ({"actions": [7]}, "actions.0: "),
        ({"actions": [{"index": 0}]}, "actions.0.function: Field required"),
        ({"actions": [{"function": "f", "arguments": "ls"}]}, "actions.0.arguments: "),
        ({"actions": [{"function": "f", "output": ["a"]}]}, "actions.0.output: "),
        ({"actions": [{"function": "f", "monitor_response": 7}]}, "actions.0.monitor_response: "),
        ({"scores": {"main": 1}}, "scores.main: "),
        ({"outcome": "won"}, "outcome: "),
        ({"decisions": [{"kind": "forgive"}]}, "decisions.0.kind: "),
        ({"trajectory_id": "x" * 1_000_000}, "trajectory_id: it has 1000000 characters"),
        ({"trajectory_id": {"a": 1}}, "trajectory_id: "),
        ({"scores": {"\x1b[31m\n" + "k" * 5000: 3}}, "scores.\\x1b[31m"),
        ({"outcome": "\x1b]0;owned\x07"}, "outcome: "),
        ({"outcome": "x" * 10_000_000}, "outcome: "),
        ({"schema_version": "2"}, 'schema_version: must be a whole number from 1, not "2"'),
        ({"schema_version": 0}, "schema_version: must be a whole number from 1, not 0"),
        ({"schema_version": True}, "schema_version: must be a whole number"),
        ({"schema_version": ["x" * 9999]}, "schema_version: must be a whole number"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_by_name(changes: dict[str, Any], reason: str) -> None:
    assert refusal(json.dumps({**PUBLIC, **changes})).startswith(f"no trajectory: {reason}")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_has_not_are_refused(number: str) -> None:
    text = json.dumps({**PUBLIC, "metadata": {"x": 0}}).replace('{"x": 0}', f'{{"x": {number}}}')
    assert refusal(text).startswith("no trajectory: it has a number that is none: ")


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 10**4000])
def test_a_newer_version_says_what_to_do(version: int) -> None:
    line = refusal(json.dumps({**PUBLIC, "schema_version": version}))
    assert line.startswith("its schema_version is ")
    assert line.endswith("install a newer one")


@pytest.mark.parametrize("half", ["", "\\ud800"])
def test_what_could_not_be_written_again_is_nested_too_deeply(half: str) -> None:
    nested = "[" * 900 + f'"{half}"' + "]" * 900
    text = json.dumps({**PUBLIC, "metadata": {"x": 0}}).replace('{"x": 0}', f'{{"x": {nested}}}')
    assert refusal(text) == "no trajectory: it is nested too deeply: over 100 levels"


def test_nesting_that_people_have_is_read_and_written(tmp_path: Path) -> None:
    nested: Any = "deep"
    for _ in range(90):
        nested = [nested]
    assert parsed(metadata={"x": nested}).model_dump_json()


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(PUBLIC), encoding="utf-8")
    assert read_trajectory(path).trajectory_id == "abc"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(UnreadableTrajectory) as caught:
        read_trajectory(path)
    assert str(caught.value).startswith(f"{path}: no trajectory: it is not valid JSON")


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "device", "dangling", "impossible"])
def test_what_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "impossible":
        path = tmp_path / ("a\0" + "b" * 5000)
    with pytest.raises(UnreadableTrajectory, match="cannot be read: "):
        read_trajectory(path)


def test_a_file_name_cannot_end_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a\n\x1b[31m.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(UnreadableTrajectory) as caught:
        read_trajectory(path)
    assert str(caught.value).isprintable()
