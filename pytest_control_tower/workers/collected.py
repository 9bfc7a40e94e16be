"""What the workers collected, as the first of them tells it in the run's directory.

xdist carries ids of items only; which sample an item is about, and whether it will run, is known
where it was collected.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from pytest_control_tower.items import is_skipped, sample_key

_FILE = "collected.json"


class Collected(BaseModel):
    """The items that have a sample."""

    model_config = ConfigDict(frozen=True)

    version: int = 1
    samples: dict[str, str] = {}
    """The sample's id by node id."""
    to_run: tuple[str, ...] = ()
    """Ids of the samples that will run, in item order: those of items that are not skipped."""

    @classmethod
    def of(cls, items: Sequence[pytest.Item]) -> Collected:
        """What these items come to."""
        with_key = [(item, key) for item in items if (key := sample_key(item)) is not None]
        return cls(
            samples={item.nodeid: key.id for item, key in with_key},
            to_run=tuple(dict.fromkeys(key.id for item, key in with_key if not is_skipped(item))),
        )

    @classmethod
    def read(cls, run_directory: Path) -> Collected:
        """What was told; nothing if no item has a sample."""
        try:
            return cls.model_validate_json((run_directory / _FILE).read_bytes())
        except FileNotFoundError:
            return cls()

    def tell(self, run_directory: Path) -> None:
        """Write it, whole, into the run's directory.

        Raises:
            OSError: that cannot be done.
        """
        own = run_directory / f".{_FILE}.{os.getpid()}"
        own.write_text(self.model_dump_json(), encoding="utf-8")
        own.replace(run_directory / _FILE)
