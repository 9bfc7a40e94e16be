"""Tables in files: CSV, and Parquet through pyarrow, which the extra `export` installs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from control_tower.errors import UsageProblem
from control_tower.trajectories.exporting.columns import Table
from control_tower.trajectories.schema import Trajectory

NO_PYARROW = "Parquet needs pyarrow: pip install 'pytest-control-tower[export]', or export CSV"


def write_csv(path: Path, table: Table, trajectories: Iterable[Trajectory]) -> int:
    """Write CSV with a heading (RFC 4180, UTF-8); returns how many rows.

    A null is an empty field; a truth value `true` or `false`.

    Raises:
        OSError: it cannot be written.
    """
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([column.name for column in table.columns])
        for trajectory in trajectories:
            for row in table.rows(trajectory):
                writer.writerow([_cell(value) for value in row])
                count += 1
    return count


def write_parquet(path: Path, table: Table, trajectories: Iterable[Trajectory]) -> int:
    """Write Parquet; returns how many rows.

    Raises:
        UsageProblem: pyarrow is not installed, or a number is too large.
        OSError: it cannot be written.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageProblem(NO_PYARROW) from None
    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
    }
    rows = list(chain.from_iterable(map(table.rows, trajectories)))
    arrays = []
    for position, column in enumerate(table.columns):
        values = [_plain(row[position]) for row in rows]
        try:
            arrays.append(pyarrow.array(values, type=types[column.kind]))
        except (OverflowError, pyarrow.ArrowInvalid):
            raise UsageProblem(
                f"Parquet cannot hold a {column.kind} of the column '{column.name}', which is too "
                "large; export CSV"
            ) from None
    names = [column.name for column in table.columns]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, names=names), path)
    return len(rows)


WRITERS: dict[str, Callable[[Path, Table, Iterable[Trajectory]], int]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
}
"""By the ending of the file's name."""


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _plain(value: Any) -> Any:
    """Text that Parquet can hold: half of a character becomes a question mark."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
