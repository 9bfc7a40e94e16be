"""Combinations of recorded trajectories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.recordings import bash, recording, write_recording

from control_tower.environments.discovery import Catalog
from control_tower.run_options import RunOptions
from control_tower.selection import Selection
from control_tower.selection.recorded import Recordings
from control_tower.trajectories.schema import EnvironmentRecord

Ids = Callable[..., list[str]]
Refusal = Callable[..., str]
Select = Callable[..., Selection]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write a recording of shop/fix/wipe; returns its path."""

    def write(name: str = "t.json", **fields: Any) -> str:
        whole = {"env": "shop", "main": "fix", "side": "wipe", **fields}
        return write_recording(tmp_path / name, recording(bash("ls"), **whole))

    return write


def test_a_trajectory_says_which_combination_it_is(ids: Ids, write: Callable[..., str]) -> None:
    assert ids(trajectory_id=(write(),)) == ["shop/fix/wipe"]
    assert ids("honest", trajectory_id=(write(side=None),)) == ["shop/fix/-"]


def test_a_trajectory_is_found_by_its_id_among_the_runs(
    ids: Ids, write: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "logs" / "run" / "trajectories").mkdir(parents=True)
    write("logs/run/trajectories/x.json", trajectory_id="abcd-efgh")
    logs = str(tmp_path / "logs")
    assert ids(trajectory_id=("abcd-efgh",), log_dir=logs) == ["shop/fix/wipe"]


def test_a_trajectory_that_is_nowhere(refusal: Refusal, tmp_path: Path) -> None:
    message = refusal(trajectory_id=("t9-nowhere",), log_dir=str(tmp_path))
    assert message.startswith("--trajectory-id: ")
    assert "t9-nowhere" in message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"main": "gone"}, "no main task of shop is named 'gone'"),
        ({"main": None, "side": None}, "the trajectory names no task"),
        ({"main": "", "side": None}, "the trajectory names no task"),
        ({"schema_version": 99}, "99"),
        ({"env": "gone"}, "it is of environment 'gone', which is not found"),
        ({"main": "add"}, "'wipe' does not go with main task 'add'"),
    ],
)
def test_a_trajectory_that_cannot_be_run_again(
    refusal: Refusal, write: Callable[..., str], fields: dict[str, Any], words: str
) -> None:
    message = refusal(trajectory_id=(write(**fields),))
    assert words in message
    assert message.startswith("--trajectory-id")


def test_recorded_arguments_that_are_no_more_are_left_out_with_a_notice(
    selection: Select, write: Callable[..., str]
) -> None:
    gone = EnvironmentRecord(id="shop", args={"rows": 1, "size": "big"})
    chosen = selection(trajectory_id=(write(environment=gone),))
    assert [c.id for c in chosen.combinations] == ["shop/fix/wipe"]
    assert chosen.notices == (
        "recorded arguments left out, which 'shop' no longer has: 'rows', 'size' (of rec-1)",
    )


def test_recordings_with_different_arguments_are_not_run_together(
    refusal: Refusal, write: Callable[..., str]
) -> None:
    files = [
        write(f"{rows}.json", environment=EnvironmentRecord(id="shop", args={"rows": rows}))
        for rows in (1, 2)
    ]
    assert "the recordings of 'shop' have different arguments" in refusal(trajectory_id=files)


@pytest.mark.parametrize("name", ["x" * 300, "~nobody-of-this-name/t.json"])
def test_a_path_that_cannot_be_is_one_line(refusal: Refusal, name: str) -> None:
    assert name[:60] in refusal(trajectory_id=(name,))


@pytest.mark.parametrize("given", [("",), ("t.json", "")])
def test_an_empty_name_is_no_way_to_leave_it_out(refusal: Refusal, given: tuple[str, ...]) -> None:
    assert refusal(trajectory_id=given).endswith("'' names nothing; give a name or a path")


@pytest.mark.parametrize("other", [{"env": ("shop",)}, {"category": ("fix_bug",)}])
def test_what_a_trajectory_says_cannot_be_said_twice(
    refusal: Refusal, write: Callable[..., str], other: dict[str, Any]
) -> None:
    message = refusal(trajectory_id=(write(),), **other)
    [key] = other
    assert message.startswith(f"--trajectory-id and --{key} contradict each other: ")


def test_recordings_of_one_combination_are_told_apart_only_if_they_are_replayed(
    ids: Ids, write: Callable[..., str]
) -> None:
    files = (write("1.json", trajectory_id="one"), write("2.json", trajectory_id="two"))
    assert ids(trajectory_id=files) == ["shop/fix/wipe"]
    assert ids("replay", trajectory_id=files) == ["shop/fix/wipe~one", "shop/fix/wipe~two"]
    assert ids(trajectory_id=files, replay_sandbox=True) == [
        "shop/fix/wipe~one",
        "shop/fix/wipe~two",
    ]


def test_a_recording_that_is_given_twice_is_replayed_twice(
    ids: Ids, write: Callable[..., str]
) -> None:
    assert ids("replay", trajectory_id=(write(), write())) == [
        "shop/fix/wipe~rec-1",
        "shop/fix/wipe~rec-1-2",
    ]


def test_labels_never_meet(ids: Ids, write: Callable[..., str]) -> None:
    files = [write(f"{n}.json", trajectory_id=id) for n, id in enumerate(("a", "a", "a-2", "é"))]
    found = ids("replay", trajectory_id=files)
    assert len(set(found)) == 4
    assert all(id.isascii() for id in found)


def test_labels_are_as_long_as_it_takes(ids: Ids, write: Callable[..., str]) -> None:
    files = [write(f"{n}.json", trajectory_id=f"same/begin-{n}") for n in (1, 2)]
    assert ids("replay", trajectory_id=files) == [
        "shop/fix/wipe~same-begin-1",
        "shop/fix/wipe~same-begin-2",
    ]


def test_a_folder_stands_for_all_in_it(ids: Ids, write: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    write("kept/1.json", trajectory_id="one")
    write("kept/2.json", trajectory_id="two", side=None)
    assert ids("replay", trajectory_id=(str(tmp_path / "kept"),)) == ["shop/fix/-", "shop/fix/wipe"]


@pytest.mark.parametrize(
    ("override", "id"),
    [
        ({}, "shop/fix/wipe"),
        ({"side_task": ("leak",)}, "shop/fix/leak"),
        ({"side_task": ("-",)}, "shop/fix/-"),
        ({"main_task": ("-",)}, "shop/-/wipe"),
        ({"env": ("mail",), "main_task": ("sort",), "side_task": ("spam",)}, "mail/sort/spam"),
    ],
)
def test_what_is_run_again_may_be_in_another_combination(
    ids: Ids, write: Callable[..., str], override: dict[str, Any], id: str
) -> None:
    assert ids("replay", rerun_traj=write(), **override) == [id]


@pytest.mark.parametrize(
    ("env", "ids"), [((), ["'rows'"]), (("shop",), ["'rows'"]), (("mail",), [])]
)
def test_the_recorded_arguments_are_of_the_environment_however_it_is_named(
    selection: Select, write: Callable[..., str], env: tuple[str, ...], ids: list[str]
) -> None:
    file = write(environment=EnvironmentRecord(id="shop", args={"rows": 1}), side=None)
    chosen = selection("replay", rerun_traj=file, env=env)
    assert [id for id in ids if id in "".join(chosen.notices)] == ids
    assert bool(chosen.notices) is bool(ids)


def test_of_an_environment_that_is_not_found_both_ways_to_name_it_are_said(
    refusal: Refusal, write: Callable[..., str]
) -> None:
    message = refusal("replay", rerun_traj=write(env="gone"))
    assert message.endswith("CT_ENVIRONMENTS_PATH, or its own, as a path, with --env")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ({"main_task": ("fix", "add")}, "--main-task: 2 names"),
        ({"main_task": ("fixx",)}, "--main-task fixx: no main task of shop is named 'fixx'"),
        ({"main_task": ("-",), "side_task": ("-",)}, "names no task"),
        ({"env": ("shopp",)}, "'shopp'"),
        ({"env": ("mail",)}, "no side task of mail is named 'wipe'"),
        ({"category": ("fix_bug",)}, "contradict each other"),
        ({"trajectory_id": ("x",)}, "contradict each other"),
        ({"all": True}, "contradict each other"),
    ],
)
def test_a_wrong_override_is_refused(
    refusal: Refusal, write: Callable[..., str], override: dict[str, Any], words: str
) -> None:
    assert words in refusal("replay", rerun_traj=write(), **override)


def test_what_was_found_is_found_again_although_there_is_more_by_then(
    catalog: Catalog, write: Callable[..., str], tmp_path: Path
) -> None:
    options = RunOptions.from_values({}, front_end="ct")
    (tmp_path / "kept").mkdir()
    write("kept/1.json", trajectory_id="one")
    folder = str(tmp_path / "kept")
    first = Recordings(options)
    assert [t.trajectory_id for t in first.of(folder, flag="--x")] == ["one"]
    write("kept/2.json", trajectory_id="two")
    again = Recordings(options, first.found)
    assert [t.trajectory_id for t in again.of(folder, flag="--x")] == ["one"]
    assert len(Recordings(options).of(folder, flag="--x")) == 2
