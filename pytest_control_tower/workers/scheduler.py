"""The xdist scheduler of control runs: each worker gets its whole share at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_control_tower.workers.shares import share_of

if TYPE_CHECKING:
    from xdist.scheduler import Scheduling
    from xdist.workermanage import WorkerController

_MOST_CRASHES = 3
"""Deaths of a worker while it is on one control item, after which that item is given up."""

Collecting = Callable[[Sequence[str]], Mapping[str, str]]


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
    `Scheduling` protocol. Where no item has a sample, it leaves all to another scheduler.

    Args:
        config: pytest's configuration.
        collected: called once, with the ids of all items, before any is handed out; gives the
            sample's id by node id.
        otherwise: makes the scheduler for when there are no samples; None keeps this one.
    """

    def __init__(
        self,
        config: pytest.Config,
        collected: Collecting,
        otherwise: Callable[[], Scheduling] | None = None,
    ) -> None:
        self._config = config
        self._collected = collected
        self._otherwise = otherwise
        self._delegate: Scheduling | None = None
        self._parts: dict[WorkerController, _Part] = {}
        self._orphans: list[Orphans] = []
        self._crashes: Counter[int] = Counter()
        self._samples: Mapping[str, str] = {}
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

    def unreported(self) -> list[str]:
        """Ids of the items that no worker has reported, in order; none if others deal them out."""
        if self._delegate is not None or self.collection is None:
            return []
        left = [*(part.pending or [] for part in self._parts.values())]
        left += [orphans.items or [] for orphans in self._orphans]
        return [self.collection[index] for index in sorted(i for items in left for i in items)]

    @property
    def nodes(self) -> list[WorkerController]:
        """The nodes that take part."""
        return list(self._parts)

    @property
    def collection_is_completed(self) -> bool:
        """Whether every node has collected."""
        if self._delegate is not None:
            return bool(self._delegate.collection_is_completed)
        parts = self._parts.values()
        return bool(parts) and all(part.collection is not None for part in parts)

    @property
    def has_pending(self) -> bool:
        """Whether items were handed out and not reported yet."""
        if self._delegate is not None:
            return bool(self._delegate.has_pending)
        left = [orphans.items for orphans in self._orphans]
        return any(part.pending for part in self._parts.values()) or any(i != [] for i in left)

    @property
    def tests_finished(self) -> bool:
        """Whether all items were reported, or none will be."""
        if self._delegate is not None:
            return bool(self._delegate.tests_finished)
        if self._refused:
            return True
        dealt = self.collection is not None and all(part.sent for part in self._parts.values())
        return dealt and not self.has_pending

    def add_node(self, node: WorkerController) -> None:
        """A node is up; it joined while it was set up."""
        if self._delegate is not None:
            self._delegate.add_node(node)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take note of what a node collected."""
        if self._delegate is not None:
            self._delegate.add_node_collection(node, collection)
        self._parts[node].collection = list(collection)

    def schedule(self) -> None:
        """Hand each node that has collected its share, and tell it that nothing follows."""
        if self._delegate is None and self.collection is None:
            self._begin()
        if self._delegate is not None:
            self._delegate.schedule()
        elif self.collection is not None:
            self._deal(self.collection)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """An item was reported."""
        if self._delegate is not None:
            self._delegate.mark_test_complete(node, item_index, duration)
            return
        pending = self._parts[node].pending or []
        if item_index in pending:
            pending.remove(item_index)

    def mark_test_pending(self, item: str) -> None:
        """Not offered for samples: one is not run again because its item is."""
        if self._delegate is None:
            raise NotImplementedError("control runs do not put items back")
        self._delegate.mark_test_pending(item)

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        """Not offered for samples: shares are fixed."""
        if self._delegate is None:
            raise NotImplementedError("control runs do not move items between workers")
        self._delegate.remove_pending_tests_from_node(node, indices)

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a node; what it had not reported is for its successor.

        Returns:
            The item it was on, if that has brought down too many workers; it is given up. An item
            without a sample is given up at once, as xdist does.
        """
        part = self._parts.pop(node)
        if self._delegate is not None:
            crashed: str | None = self._delegate.remove_node(node)
            return crashed
        if part.pending is None:
            self._orphans.append(Orphans(part.worker, None))
            return None
        given_up = None
        if part.sent and part.pending and self.collection is not None:
            first = part.pending[0]
            self._crashes[first] += 1
            most = _MOST_CRASHES if self.collection[first] in self._samples else 1
            if self._crashes[first] >= most:
                given_up = self.collection[part.pending.pop(0)]
        if part.pending:
            self._orphans.append(Orphans(part.worker, part.pending))
        return given_up

    def _begin(self) -> None:
        """All nodes have collected: agree on the items, and on who deals them out."""
        if self._collections_differ():
            self._refused = True
            return
        collection = next(iter(self._parts.values())).collection or []
        self._samples = self._collected(collection)
        if self._samples or self._otherwise is None:
            self.collection = collection
            return
        self._delegate = self._otherwise()
        for node, part in self._parts.items():
            self._delegate.add_node(node)
            self._delegate.add_node_collection(node, part.collection or [])

    def _deal(self, collection: Sequence[str]) -> None:
        for node, part in self._parts.items():
            if part.sent or part.collection is None:
                continue
            if part.pending is None:
                part.pending = share_of(collection, self._samples, part.worker, part.workers)
            part.sent = True
            if part.pending:
                node.send_runtest_some(part.pending)
            node.shutdown()  # a worker starts its last item only when it knows that none follows

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
