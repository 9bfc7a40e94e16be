"""Dividing items and samples at once among workers."""

from __future__ import annotations

from collections.abc import Sequence


def samples_by_node_id(node_ids: Sequence[str], sample_ids: Sequence[str]) -> dict[str, str]:
    """The sample of each item that has one, by its parameters (a test may have others too)."""
    known = set(sample_ids)
    found: dict[str, str] = {}
    for node_id in node_ids:
        parameters = node_id.partition("[")[2].removesuffix("]")
        if parameters in known:
            found[node_id] = parameters
        elif "/" in parameters:
            within = f"-{parameters}-"
            inside = [sample_id for sample_id in known if f"-{sample_id}-" in within]
            if inside:
                found[node_id] = max(inside, key=len)
    return found


def groups_of(node_ids: Sequence[str], sample_ids: Sequence[str]) -> list[list[int]]:
    """Indices of the items that must stay on one worker: tests of one sample share its one run.

    The groups are in the order of their first items.
    """
    samples = samples_by_node_id(node_ids, sample_ids)
    groups: dict[str, list[int]] = {}
    for index, node_id in enumerate(node_ids):
        groups.setdefault(samples.get(node_id, node_id), []).append(index)
    return list(groups.values())


def share_of(
    node_ids: Sequence[str], sample_ids: Sequence[str], worker: int, workers: int
) -> list[int]:
    """Indices of one worker's items, in order.

    Every worker, and the process that hands them out, comes to the same answer by itself.

    Args:
        node_ids: of all items, in order.
        sample_ids: of all samples that the options select.
        worker: which worker, from 0.
        workers: how many there are.
    """
    dealt = groups_of(node_ids, sample_ids)[worker::workers]
    return sorted(index for group in dealt for index in group)


def slots_of(max_samples: int, worker: int, workers: int) -> int:
    """How many samples at once are one worker's; the first ones take what is left over."""
    each, rest = divmod(max_samples, workers)
    return each + (1 if worker < rest else 0)
