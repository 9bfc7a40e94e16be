"""Where trajectories are kept: whole files, and one line each in the index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from control_tower.trajectories.schema import EnvironmentRecord, Trajectory
from control_tower.trajectories.store import TrajectoryStore


def trajectory(name: str = "t1", **more: object) -> Trajectory:
    return Trajectory.model_validate(
        {"trajectory_id": name, "run_id": "r", "environment": EnvironmentRecord(id="shop"), **more}
    )


def index(run_directory: Path) -> list[dict[str, object]]:
    text = (run_directory / "trajectories" / "index.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_trajectory_is_one_file_beside_the_log(tmp_path: Path) -> None:
    path = TrajectoryStore(tmp_path).write(trajectory(), sample_id="shop/fix/-@2")
    assert path == tmp_path / "trajectories" / "shop.fix.-@2.json"
    kept = Trajectory.model_validate_json(path.read_text(encoding="utf-8"))
    assert kept.sample_id == "shop/fix/-@2"
    assert kept.recorded_at is not None
    assert kept == trajectory(sample_id=kept.sample_id, recorded_at=kept.recorded_at)
    assert path.read_text(encoding="utf-8").endswith("}\n")


def test_the_index_has_a_line_for_each(tmp_path: Path) -> None:
    place = tmp_path / "not" / "there" / "yet"
    store = TrajectoryStore(place)
    first = store.write(trajectory("t1", main_task_success=True), sample_id="shop/fix/-")
    store.write(
        trajectory("t2", side_task_success=None, outcome="unscored"), sample_id="shop/-/leak"
    )
    one, other = index(place)
    assert (one["trajectory_id"], one["sample_id"], one["file"]) == (
        "t1", "shop/fix/-", "shop.fix.-.json"
    )  # fmt: skip
    assert (one["size"], one["modified"]) == (first.stat().st_size, first.stat().st_mtime_ns)
    assert (other["outcome"], other["main_task_success"], other["side_task_success"]) == (
        "unscored", None, None
    )  # fmt: skip


def test_the_time_that_a_trajectory_has_is_kept(tmp_path: Path) -> None:
    path = TrajectoryStore(tmp_path).write(trajectory(recorded_at=12.5), sample_id="shop/fix/-")
    assert json.loads(path.read_text(encoding="utf-8"))["recorded_at"] == 12.5


def test_an_id_is_no_path(tmp_path: Path) -> None:
    path = TrajectoryStore(tmp_path).write(trajectory("../../evil"), sample_id="../../../x")
    assert path.parent == tmp_path / "trajectories"


def test_every_file_of_the_index_is_there_and_nothing_else(tmp_path: Path) -> None:
    store = TrajectoryStore(tmp_path)
    for number in range(3):
        store.write(trajectory(f"t{number}"), sample_id=f"shop/fix{number}/-")
    files = {path.name for path in (tmp_path / "trajectories").iterdir()}
    assert files == {str(line["file"]) for line in index(tmp_path)} | {"index.jsonl"}


def test_a_file_that_cannot_be_put_in_place_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TrajectoryStore(tmp_path)
    path = store.write(trajectory("first"), sample_id="shop/fix/-")
    before = path.read_text(encoding="utf-8")

    def full(self: Path, target: Path) -> Path:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        store.write(trajectory("second"), sample_id="shop/fix/-")
    assert path.read_text(encoding="utf-8") == before
    assert len(index(tmp_path)) == 1


def test_any_text_and_any_number_can_be_written(tmp_path: Path) -> None:
    odd = trajectory(final_message="café ✓ \x00 \x1b[31m", metadata={"score": float("nan")})
    path = TrajectoryStore(tmp_path).write(odd, sample_id="shop/fix/-")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["final_message"] == "café ✓ \x00 \x1b[31m"
    assert kept["metadata"] == {"score": None}


def test_half_a_character_does_not_lose_the_rest(tmp_path: Path) -> None:
    odd = trajectory(final_message="half \ud800", scorer_explanation="café")
    path = TrajectoryStore(tmp_path).write(odd, sample_id="shop/fix/-")
    kept = Trajectory.model_validate_json(path.read_bytes())
    assert (kept.final_message, kept.scorer_explanation) == ("half ?", "café")
