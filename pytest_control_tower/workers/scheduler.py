"""The xdist scheduler of control runs: each worker gets its whole share at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_control_tower.workers.shares import share_of

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

_MOST_CRASHES = 3
"""Deaths of a worker while it is on one item, after which that item is given up."""


@dataclass
class _Part:
    """A worker's part: its number, and what it has not reported yet."""

    worker: int
    workers: int
    pending: list[int] | None = None
    """None: its share of all, once they are known."""
    collection: Sequence[str] | None = None
    sent: bool = False


@dataclass(frozen=True)
class Orphans:
    """What a worker that died left to its successor."""

    worker: int
    items: list[int] | None
    """None: its share of all, which it had not got yet."""


class ShareScheduling:
    """Deals out items once, so that a worker can run its samples ahead of pytest.

    A worker that dies is followed by one that gets what was not reported. It implements xdist's
    `Scheduling` protocol.

    Args:
        config: pytest's configuration.
        collected: called with the ids of all items, once, before any is handed out.
        sample_ids: the samples that the options select; called after `collected`.
    """

    def __init__(
        self,
        config: pytest.Config,
        collected: Callable[[Sequence[str]], None],
        sample_ids: Callable[[], Sequence[str]],
    ) -> None:
        self._config = config
        self._sample_ids = sample_ids
        self._collected = collected
        self._parts: dict[WorkerController, _Part] = {}
        self._orphans: list[Orphans] = []
        self._crashes: Counter[int] = Counter()
        self._refused = False
        """Whether nothing is handed out, since the nodes do not agree on the items."""
        self.collection: Sequence[str] | None = None
        """The ids of all items."""

    def join(self, node: WorkerController) -> Orphans | None:
        """Give a node that is being set up its number; what it takes over, if it follows one."""
        workers = int(node.workerinput["workercount"])
        orphans = self._orphans.pop(0) if self._orphans else None
        if orphans is not None:
            self._parts[node] = _Part(orphans.worker, workers, orphans.items)
        elif self.collection is not None:  # it follows one that had nothing left to do
            self._parts[node] = _Part(0, workers, [])
        else:
            self._parts[node] = _Part(len(self._parts), workers)
        return orphans

    def number(self, node: WorkerController) -> int:
        """The number of a node that has joined."""
        return self._parts[node].worker

    @property
    def nodes(self) -> list[WorkerController]:
        """The nodes that take part."""
        return list(self._parts)

    @property
    def collection_is_completed(self) -> bool:
        """Whether every node has collected."""
        parts = self._parts.values()
        return bool(parts) and all(part.collection is not None for part in parts)

    @property
    def has_pending(self) -> bool:
        """Whether items were handed out and not reported yet."""
        left = [orphans.items for orphans in self._orphans]
        return any(part.pending for part in self._parts.values()) or any(i != [] for i in left)

    @property
    def tests_finished(self) -> bool:
        """Whether all items were reported, or none will be."""
        if self._refused:
            return True
        dealt = self.collection is not None and all(part.sent for part in self._parts.values())
        return dealt and not self.has_pending

    def add_node(self, node: WorkerController) -> None:
        """A node is up; it joined while it was set up."""

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take note of what a node collected."""
        self._parts[node].collection = list(collection)

    def schedule(self) -> None:
        """Hand each node that has collected its share, and tell it that nothing follows."""
        if self.collection is None:
            if self._collections_differ():
                self._refused = True
                return
            self.collection = next(iter(self._parts.values())).collection or []
            self._collected(self.collection)
        for node, part in self._parts.items():
            if part.sent or part.collection is None:
                continue
            if part.pending is None:
                part.pending = share_of(
                    self.collection, self._sample_ids(), part.worker, part.workers
                )
            part.sent = True
            if part.pending:
                node.send_runtest_some(part.pending)
            node.shutdown()  # a worker starts its last item only when it knows that none follows

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """An item was reported."""
        pending = self._parts[node].pending or []
        if item_index in pending:
            pending.remove(item_index)

    def mark_test_pending(self, item: str) -> None:
        """Not offered: a sample is not run again because its item is."""
        raise NotImplementedError("control runs do not put items back")

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        """Not offered: shares are fixed."""
        raise NotImplementedError("control runs do not move items between workers")

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a node; what it had not reported is for its successor.

        Returns:
            The item it was on, if that has brought down too many workers; it is given up.
        """
        part = self._parts.pop(node)
        if part.pending is None:
            self._orphans.append(Orphans(part.worker, None))
            return None
        given_up = None
        if part.sent and part.pending and self.collection is not None:
            self._crashes[part.pending[0]] += 1
            if self._crashes[part.pending[0]] >= _MOST_CRASHES:
                given_up = self.collection[part.pending.pop(0)]
        if part.pending:
            self._orphans.append(Orphans(part.worker, part.pending))
        return given_up

    def _collections_differ(self) -> bool:
        """Report the nodes whose items are not those of the first; whether there are any."""
        first, *others = self._parts.items()
        different = [node for node, part in others if part.collection != first[1].collection]
        for node in different:
            text = (
                f"worker {node.gateway.id} collected other items than {first[0].gateway.id}; "
                "control runs need the same items in the same order on every worker"
            )
            report = pytest.CollectReport(
                nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[]
            )
            self._config.hook.pytest_collectreport(report=report)
        return bool(different)
