"""Dividing items and samples at once among workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def groups_of(node_ids: Sequence[str], samples: Mapping[str, str]) -> list[list[int]]:
    """Indices of the items that must stay on one worker: tests of one sample share its one run.

    The groups are in the order of their first items.

    Args:
        node_ids: of all items, in order.
        samples: the sample's id, by node id, of the items that have one.
    """
    groups: dict[str, list[int]] = {}
    for index, node_id in enumerate(node_ids):
        groups.setdefault(samples.get(node_id, node_id), []).append(index)
    return list(groups.values())


def share_of(
    node_ids: Sequence[str], samples: Mapping[str, str], worker: int, workers: int
) -> list[int]:
    """Indices of one worker's items, in order.

    Every worker, and the process that hands them out, comes to the same answer by itself.

    Args:
        node_ids: of all items, in order.
        samples: as for `groups_of`.
        worker: which worker, from 0.
        workers: how many there are.
    """
    dealt = groups_of(node_ids, samples)[worker::workers]
    return sorted(index for group in dealt for index in group)


def slots_of(max_samples: int, worker: int, workers: int) -> int:
    """How many samples at once are one worker's; the first ones take what is left over."""
    each, rest = divmod(max_samples, workers)
    return each + (1 if worker < rest else 0)
