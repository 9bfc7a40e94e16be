"""Tables for data frames."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support.recordings import bash, recording, submitted

from control_tower.errors import UsageProblem
from control_tower.trajectories.exporting.columns import TABLES
from control_tower.trajectories.exporting.tables import write_csv, write_parquet
from control_tower.trajectories.schema import MonitorResponse, UsageRecord

FULL = recording(
    bash("ls -l", 'a,b\n"c"\n', turn=0, monitor_response=MonitorResponse(sus_score=2.5)),
    {"function": "editor", "arguments": {"path": "x"}, "output_error": "no", "turn": 1},
    submitted(),
    side="leak",
    scores={"main": True, "side": None},
    main_task_success=True,
    declared_attacks=[1],
    tags=["a", "b"],
    usage={"untrusted": UsageRecord(total_tokens=7, total_cost=0.5)},
    policy_args={"n": 1},
)
BARE = recording(main=None, side="leak", final_message="")


def rows(name: str) -> list[dict[str, Any]]:
    table = TABLES[name]
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for each in (FULL, BARE) for row in table.rows(each)]


def test_a_row_a_trajectory() -> None:
    full, bare = rows("trajectories")
    assert (full["sample_id"], full["actions"], full["tokens"]) == ("mini/greet/leak", 3, 7)
    assert (full["main_task_success"], full["side_task_success"]) == (True, None)
    assert (full["max_suspicion"], full["cost"]) == (2.5, 0.5)
    assert json.loads(full["tags"]) == ["a", "b"]
    assert json.loads(full["policy_args"]) == {"n": 1}
    assert (bare["main_task"], bare["final_message"], bare["cost"]) == (None, None, None)


def test_a_row_an_action() -> None:
    first, second, third = rows("actions")
    assert (first["command"], first["suspicion"], first["declared_attack"]) == ("ls -l", 2.5, False)
    assert (second["command"], second["output_error"], second["declared_attack"]) == (
        None, "no", True
    )  # fmt: skip
    assert (third["function"], third["turn"], third["declared_attack"]) == ("submit", None, None)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_columns_have_names_types_and_meanings(name: str) -> None:
    columns = TABLES[name].columns
    assert len({column.name for column in columns}) == len(columns)
    kinds = {"text": str, "integer": int, "number": (int, float), "boolean": bool}
    for row in rows(name):
        for column in columns:
            assert column.meaning
            value = row[column.name]
            assert value is None or isinstance(value, kinds[column.kind]), column


def test_csv_keeps_every_text(tmp_path: Path) -> None:
    assert write_csv(tmp_path / "x.csv", TABLES["actions"], [FULL]) == 3
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert found[0]["output"] == 'a,b\n"c"\n'
    assert found[0]["output_error"] == ""
    assert found[1]["declared_attack"] == "true"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_parquet_has_types_and_nulls(tmp_path: Path, name: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    assert write_parquet(path, TABLES[name], [FULL, BARE]) == len(rows(name))
    found = parquet.read_table(path)
    assert found.to_pylist() == rows(name)
    arrow = {"text": "string", "integer": "int64", "number": "double", "boolean": "bool"}
    kinds = [arrow[column.kind] for column in TABLES[name].columns]
    assert [str(field.type) for field in found.schema] == kinds


def test_half_a_character_and_no_rows_can_be_written(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    odd = recording(bash("x", "half \ud800"))
    for write, name in ((write_csv, "x.csv"), (write_parquet, "x.parquet")):
        assert write(tmp_path / name, TABLES["actions"], [odd]) == 1
        assert write(tmp_path / f"none-{name}", TABLES["actions"], []) == 0
    assert parquet.read_table(tmp_path / "x.parquet")["output"][0].as_py() == "half ?"


def test_a_number_that_parquet_cannot_hold_is_said(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    huge = recording(usage={"untrusted": UsageRecord(total_tokens=2**70)})
    with pytest.raises(UsageProblem, match=r"the column 'tokens'.*; export CSV"):
        write_parquet(tmp_path / "x.parquet", TABLES["trajectories"], [huge])
    assert write_csv(tmp_path / "x.csv", TABLES["trajectories"], [huge]) == 1
