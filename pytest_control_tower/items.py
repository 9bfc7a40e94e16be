"""What a pytest item has to do with a sample."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from control_tower.selection import SampleKey
from pytest_control_tower.builtin import SUITE

HOLDING_FIXTURE = "control_sandbox"


def sample_key(item: pytest.Item) -> SampleKey | None:
    """The key of the sample that an item is about, if any."""
    callspec = getattr(item, "callspec", None)
    key = callspec.params.get("control_key") if callspec is not None else None
    return key if isinstance(key, SampleKey) else None


def keys_to_run(items: Iterable[pytest.Item]) -> list[SampleKey]:
    """The keys of the items that will run, in item order, each once."""
    keys = {key.id: key for item in items if not is_skipped(item) and (key := sample_key(item))}
    return list(keys.values())


def is_skipped(item: pytest.Item) -> bool:
    """Whether the item is marked to be skipped whatever happens.

    A `skipif` with a condition in a string is not looked at: pytest evaluates it later.
    """
    if item.get_closest_marker("skip") is not None:
        return True
    return any(
        bool(condition) and not isinstance(condition, str)
        for mark in item.iter_markers("skipif")
        for condition in (*mark.args, mark.kwargs.get("condition"))
    )


def holds(item: pytest.Item) -> bool:
    """Whether the item looks into its sample's sandbox, which must therefore wait for it."""
    return HOLDING_FIXTURE in getattr(item, "fixturenames", ())


def grouped(items: list[pytest.Item]) -> list[pytest.Item]:
    """The items, with those about a held sample side by side, those that hold it first.

    A sandbox waits from its first to its last test, and nothing else should wait meanwhile.
    """
    held: dict[str, list[pytest.Item]] = {
        key.id: [] for item in items if holds(item) and (key := sample_key(item))
    }
    for item in items:
        key = sample_key(item)
        if key is not None and key.id in held:
            held[key.id].append(item)
    ordered: list[pytest.Item] = []
    for item in items:
        key = sample_key(item)
        if key is None or key.id not in held:
            ordered.append(item)
        elif group := held[key.id]:
            ordered += sorted(group, key=lambda member: not holds(member))
            group.clear()
    return ordered


def is_builtin(item: pytest.Item) -> bool:
    """Whether the item belongs to the built-in suite, which does nothing but judge."""
    return item.path == SUITE
