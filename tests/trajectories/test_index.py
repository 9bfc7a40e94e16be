"""Summaries of a folder's trajectories, from its index where that is as the files are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.recordings import bash, recording, write_recording

from control_tower.trajectories import index as index_module
from control_tower.trajectories.index import summaries_in
from control_tower.trajectories.reading import UnreadableTrajectory
from control_tower.trajectories.store import TrajectoryStore
from control_tower.trajectories.summary import Summary


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two trajectories, as a run leaves them."""
    store = TrajectoryStore(tmp_path)
    for name in ("one", "two"):
        store.write(recording(bash("ls"), trajectory_id=name), sample_id=f"mini/{name}/-")
    return tmp_path / "trajectories"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were read whole."""
    names: list[str] = []
    before = index_module.read_trajectory

    def noted(path: Path) -> object:
        names.append(path.name)
        return before(path)

    monkeypatch.setattr(index_module, "read_trajectory", noted)
    return names


def found(folder: Path) -> dict[str, str]:
    """Ids, or what is wrong, by file."""
    return {
        path.name: s.trajectory_id if isinstance(s, Summary) else str(s)
        for path, s in summaries_in(folder)
    }


ALL = {"mini.one.-.json": "one", "mini.two.-.json": "two"}


def test_nothing_is_read_but_the_index(folder: Path, read: list[str]) -> None:
    assert found(folder) == ALL
    assert read == []


def test_the_index_says_what_the_files_say(folder: Path) -> None:
    from_index = list(summaries_in(folder))
    (folder / "index.jsonl").unlink()
    assert list(summaries_in(folder)) == from_index


def test_a_file_that_has_changed_is_read(folder: Path, read: list[str]) -> None:
    write_recording(folder / "mini.one.-.json", recording(trajectory_id="other"))
    assert found(folder) == {**ALL, "mini.one.-.json": "other"}
    assert read == ["mini.one.-.json"]


def test_a_file_of_the_same_size_that_was_written_later_is_read(
    folder: Path, read: list[str]
) -> None:
    path = folder / "mini.one.-.json"
    os.utime(path, ns=(0, 0))
    assert found(folder) == ALL
    assert read == [path.name]


def test_files_that_the_index_lacks_are_found_each_once(folder: Path, read: list[str]) -> None:
    index = folder / "index.jsonl"
    first, second = index.read_text().splitlines()
    index.write_text(f"{first}\n{first}\n{second[:40]}")  # a killed run's
    assert found(folder) == ALL
    assert read == ["mini.two.-.json"]


@pytest.mark.parametrize(
    "line",
    [
        '{"trajectory_id": "one", "sample_id": "mini/one/-", "file": "mini.one.-.json", '
        '"outcome": "scored", "main_task_success": null, "side_task_success": null}',
        "[1]",
        '{"file": 7}',
        "\x00\x00",
        "[" * 100_000,
    ],
)
def test_lines_of_old_or_broken_indices_leave_it_to_the_files(
    folder: Path, read: list[str], line: str
) -> None:
    (folder / "index.jsonl").write_text(line + "\n")
    assert found(folder) == ALL
    assert read == list(ALL)


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": True},
        {"tags": "x"},
        {"tags": [{}]},
        {"outcome": None},
        {"recorded_at": float("nan")},
        {"recorded_at": "1"},
        {"recorded_at": 1e300},
        {"recorded_at": -1},
        {"run_id": "x" * 10_000},
        {"actions": 1.5},
    ],
)
def test_a_summary_of_wrong_types_is_not_believed(
    folder: Path, read: list[str], change: dict[str, object]
) -> None:
    index = folder / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    index.write_text("".join(json.dumps({**line, **change}) + "\n" for line in lines))
    assert found(folder) == ALL
    assert read == list(ALL)


@pytest.mark.parametrize("kind", ["pipe", "folder", "bytes", "missing"])
def test_an_index_that_is_none_is_no_hindrance(folder: Path, kind: str) -> None:
    index = folder / "index.jsonl"
    index.unlink()
    if kind == "pipe":
        os.mkfifo(index)
    elif kind == "folder":
        index.mkdir()
    elif kind == "bytes":
        index.write_bytes(b"\xff\xfe\n\n")
    assert found(folder) == ALL


def test_lines_of_files_that_are_gone_or_elsewhere_are_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.json"
    write_recording(outside, recording(trajectory_id="outside"))
    there = outside.stat()
    line = json.loads((folder / "index.jsonl").read_text().splitlines()[0])
    for file in ("../outside.json", str(outside), "gone.json"):
        forged = {**line, "file": file, "size": there.st_size, "modified": there.st_mtime_ns}
        with (folder / "index.jsonl").open("a") as index:
            index.write(json.dumps(forged) + "\n")
    assert found(folder) == ALL


def test_links_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "outside.json", recording(trajectory_id="outside"))
    (folder / "out.json").symlink_to(tmp_path / "outside.json")
    (folder / "circle.json").symlink_to("circle.json")
    (folder / "within.json").symlink_to("mini.one.-.json")
    problems = {"out.json", "circle.json"}
    names = found(folder)
    assert names.pop("within.json") == "one"
    assert {names.pop(name).removeprefix(f"{folder / name}: ") for name in problems} == {
        "a link out of its folder"
    }
    assert names == ALL


def test_other_files_are_left_alone_and_broken_ones_are_named(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / ".hidden.json").write_text("{}")
    (folder / "mini.three.-.json.part").write_text("{")
    (folder / "sub.json").mkdir()
    (folder / "cut.json").write_text('{"environment": ')
    problem = dict(summaries_in(folder))[folder / "cut.json"]
    assert isinstance(problem, UnreadableTrajectory)
    assert set(found(folder)) == {*ALL, "cut.json"}
