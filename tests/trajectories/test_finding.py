"""Finding trajectories among files that anybody may have written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from control_tower.errors import UsageProblem
from control_tower.trajectories.finding import find_trajectory

WHOLE = {"trajectory_id": "t1", "run_id": "r", "environment": {"id": "shop"}}


def run(logs: Path, name: str, index: str) -> Path:
    """The folder of a run's trajectories, with an index."""
    place = logs / name / "trajectories"
    place.mkdir(parents=True)
    (place / "index.jsonl").write_text(index)
    (place / "x.json").write_text(json.dumps(WHOLE))
    return place


def refusal(name: str, logs: Path) -> str:
    with pytest.raises(UsageProblem) as caught:
        find_trajectory(name, str(logs), flag="--id")
    return str(caught.value)


def test_it_comes_with_its_file(tmp_path: Path) -> None:
    place = run(tmp_path, "1", '{"trajectory_id": "t1", "file": "x.json"}\n')
    file, trajectory = find_trajectory("t1", str(tmp_path), flag="--id")
    assert (file, trajectory.trajectory_id) == (place / "x.json", "t1")


def test_the_runs_of_a_check_of_an_environment_are_found(tmp_path: Path) -> None:
    place = run(
        tmp_path / "1_check_shop" / "reference", "1", '{"trajectory_id": "t1", "file": "x.json"}\n'
    )
    assert find_trajectory("t1", str(tmp_path), flag="--id")[0] == place / "x.json"


def test_a_line_that_is_nested_too_deeply_is_none(tmp_path: Path) -> None:
    run(tmp_path, "2", '{"trajectory_id": "t1", "file": ' + "[" * 100_000)
    place = run(tmp_path, "1", '{"trajectory_id": "t1", "file": "x.json"}\n')
    assert find_trajectory("t1", str(tmp_path), flag="--id")[0] == place / "x.json"


def test_an_index_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    index = run(tmp_path, "1", "") / "index.jsonl"
    index.unlink()
    os.mkfifo(index)
    assert refusal("t1", tmp_path).endswith(f"of that id ({index} cannot be read)")


def test_a_log_directory_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    logs = tmp_path / ("x" * 300)
    words = f"--id: runs cannot be looked for in '{logs}': File name too long"
    assert refusal("t1", logs) == words


@pytest.mark.parametrize("version", [0, -5, True, "1", 1.0, None])
def test_a_version_that_is_no_positive_whole_number_is_refused(
    tmp_path: Path, version: Any
) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps({**WHOLE, "schema_version": version}))
    message = refusal(str(file), tmp_path)
    assert message.startswith(f"--id: {file}: no trajectory: schema_version: Input should be ")
    assert message.endswith(f", not {json.dumps(version)}")
