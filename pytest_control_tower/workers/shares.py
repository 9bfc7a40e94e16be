"""Dividing items and samples at once among workers."""

from __future__ import annotations

from collections.abc import Sequence


def groups_of(node_ids: Sequence[str]) -> list[list[int]]:
    """Indices of the items that must stay on one worker: those about the same sample.

    Two tests about one sample have the same parameters in their ids, and share its one run. The
    groups are in the order of their first items.
    """
    groups: dict[str, list[int]] = {}
    for index, node_id in enumerate(node_ids):
        _, bracket, parameters = node_id.partition("[")
        groups.setdefault(parameters if bracket else node_id, []).append(index)
    return list(groups.values())


def share_of(node_ids: Sequence[str], worker: int, workers: int) -> list[int]:
    """Indices of one worker's items, in order.

    Every worker, and the process that hands them out, comes to the same answer by itself.

    Args:
        node_ids: of all items, in order.
        worker: which worker, from 0.
        workers: how many there are.
    """
    dealt = groups_of(node_ids)[worker::workers]
    return sorted(index for group in dealt for index in group)


def slots_of(max_samples: int, worker: int, workers: int) -> int:
    """How many samples at once are one worker's; the first ones take what is left over."""
    each, rest = divmod(max_samples, workers)
    return each + (1 if worker < rest else 0)
