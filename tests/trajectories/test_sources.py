"""Places in which recordings are."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.permissions import closed
from support.recordings import recording, write_recording

from control_tower.trajectories.reading import UnreadableTrajectory
from control_tower.trajectories.sources import (
    Found,
    in_directory,
    in_file,
    in_folder,
    is_inspect_log,
    run_folders,
)
from control_tower.trajectories.store import TrajectoryStore


def keep(run: Path, *ids: str) -> None:
    for id in ids:
        TrajectoryStore(run).write(recording(trajectory_id=id), sample_id=f"mini/{id}/-")


def ids(found: Found) -> list[str]:
    return [r.summary.trajectory_id for r in found.recordings]


def test_a_file_is_one_recording(tmp_path: Path) -> None:
    write_recording(tmp_path / "a.json", recording(trajectory_id="a"))
    found = in_file(tmp_path / "a.json")
    assert found.summary.trajectory_id == found.load().trajectory_id == "a"
    assert found.reference == str(tmp_path / "a.json")


def test_a_run_its_folder_and_a_log_directory(tmp_path: Path) -> None:
    keep(tmp_path / "2026-01-01_a", "a1", "a2")
    keep(tmp_path / "2026-01-02_b", "b1")
    assert ids(in_directory(tmp_path / "2026-01-01_a")) == ["a1", "a2"]
    assert ids(in_directory(tmp_path / "2026-01-01_a" / "trajectories")) == ["a1", "a2"]
    assert ids(in_directory(tmp_path)) == ["b1", "a1", "a2"]  # the newest run first


def test_the_runs_of_a_check_are_found_in_its_folder(tmp_path: Path) -> None:
    keep(tmp_path / "check" / "mini" / "reference", "c")
    assert ids(in_directory(tmp_path)) == ["c"]


def test_a_plain_folder_of_files(tmp_path: Path) -> None:
    for id in "ba":
        write_recording(tmp_path / f"{id}.json", recording(trajectory_id=id))
    assert ids(in_directory(tmp_path)) == ["a", "b"]


def test_what_cannot_be_read_is_said_beside_what_can(tmp_path: Path) -> None:
    write_recording(tmp_path / "a.json", recording(trajectory_id="a"))
    (tmp_path / "b.json").write_text("{")
    found = in_folder(tmp_path)
    assert ids(found) == ["a"]
    [problem] = found.unreadable
    assert str(problem).startswith(f"{tmp_path / 'b.json'}: no trajectory")


def test_a_file_that_is_gone_by_now_says_so(tmp_path: Path) -> None:
    keep(tmp_path, "a")
    [found] = in_folder(tmp_path / "trajectories").recordings
    Path(found.reference).unlink()
    with pytest.raises(UnreadableTrajectory, match="cannot be read: No such file"):
        found.load()


def test_there_are_no_runs_where_there_is_no_folder(tmp_path: Path) -> None:
    assert run_folders(tmp_path / "none") == ([], [])


def test_a_run_that_may_not_be_looked_into_is_said(tmp_path: Path) -> None:
    keep(tmp_path / "one", "a")
    keep(tmp_path / "two", "b")
    with closed(tmp_path / "two"):
        folders, problems = run_folders(tmp_path)
    assert folders == [tmp_path / "one" / "trajectories"]
    assert [str(p) for p in problems] == [f"{tmp_path}/two: it may not be looked into"]


def test_inspect_logs_in_json_are_none_of_a_folders_trajectories(tmp_path: Path) -> None:
    keep(tmp_path, "a")
    folder = tmp_path / "trajectories"
    (folder / "log.json").write_text('{"version": 2, "status": "success", "eval": {}}')
    found = in_folder(folder)
    assert (ids(found), found.unreadable) == (["a"], ())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.eval", "", True),
        ("x.json", '{"version": 2, "status": "success", "eval": {', True),
        ("x.json", '{"version": 2, "name": "left-pad"}', False),
        ("x.json", '{"trajectory_id": "a", "version": 1, "status": 2, "eval": 3}', False),
        ("x.txt", '{"version": 2, "status": "success", "eval": {', False),
        ("missing.json", None, False),
    ],
)
def test_an_inspect_log_is_known_by_name_or_first_fields(
    tmp_path: Path, name: str, text: str | None, expected: bool
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert is_inspect_log(tmp_path / name) is expected
