"""Handing out shares, and what becomes of a dead worker's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_control_tower.workers.scheduler import ShareScheduling

SAMPLES = {f"control::test_sample[mini/{name}/-]": f"mini/{name}/-" for name in "abcdef"}
IDS = list(SAMPLES)


class Node:
    """A worker as the scheduler sees it."""

    def __init__(self, name: str, workers: int = 2) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.workerinput = {"workercount": workers}
        self.sent: list[int] = []
        self.told_the_end = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.told_the_end = True


class Reports:
    """The hook that reports collection failures."""

    def __init__(self) -> None:
        self.collect: list[Any] = []
        self.hook = SimpleNamespace(
            pytest_collectreport=lambda report: self.collect.append(report.longrepr)
        )


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def collected() -> list[str]:
    """What the scheduler says was collected."""
    return []


@pytest.fixture
def scheduler(reports: Reports, collected: list[str]) -> ShareScheduling:
    def collecting(node_ids: Sequence[str]) -> Mapping[str, str]:
        collected.extend(node_ids)
        return SAMPLES

    return ShareScheduling(reports, collecting)  # type: ignore[arg-type]


def start(scheduler: ShareScheduling, *nodes: Any, ids: list[str] = IDS) -> None:
    for node in nodes:
        scheduler.join(node)
        scheduler.add_node(node)
        scheduler.add_node_collection(node, ids)
    if scheduler.collection_is_completed:
        scheduler.schedule()


def finish(scheduler: ShareScheduling, node: Any, count: int) -> None:
    for index in node.sent[:count]:
        scheduler.mark_test_complete(node, index)


def test_each_gets_its_whole_share_and_the_end(
    scheduler: ShareScheduling, collected: list[str]
) -> None:
    one, two = Node("gw0"), Node("gw1")
    start(scheduler, one, two)
    assert (one.sent, two.sent) == ([0, 2, 4], [1, 3, 5])
    assert one.told_the_end
    assert two.told_the_end
    assert collected == IDS
    assert not scheduler.tests_finished
    finish(scheduler, one, 3)
    finish(scheduler, two, 3)
    assert scheduler.tests_finished


def test_nothing_is_dealt_before_all_have_collected(scheduler: ShareScheduling) -> None:
    one, two = Node("gw0"), Node("gw1")
    scheduler.join(one)
    scheduler.join(two)
    scheduler.add_node_collection(one, IDS)  # type: ignore[arg-type]
    assert not scheduler.collection_is_completed
    assert not scheduler.tests_finished


def test_a_successor_gets_what_was_not_reported(scheduler: ShareScheduling) -> None:
    one, two, three = Node("gw0"), Node("gw1"), Node("gw2")
    start(scheduler, one, two)
    finish(scheduler, one, 1)
    assert scheduler.remove_node(one) is None  # type: ignore[arg-type]
    finish(scheduler, two, 3)
    assert not scheduler.tests_finished
    orphans = scheduler.join(three)  # type: ignore[arg-type]
    assert orphans is not None
    assert (orphans.worker, orphans.items) == (0, [2, 4])
    scheduler.add_node_collection(three, IDS)  # type: ignore[arg-type]
    scheduler.schedule()
    assert three.sent == [2, 4]
    finish(scheduler, three, 2)
    assert scheduler.tests_finished


def test_a_worker_that_dies_before_its_share_leaves_all_of_it(scheduler: ShareScheduling) -> None:
    one, two, three = Node("gw0"), Node("gw1"), Node("gw2")
    scheduler.join(one)  # type: ignore[arg-type]
    scheduler.join(two)  # type: ignore[arg-type]
    scheduler.remove_node(one)  # type: ignore[arg-type]
    scheduler.add_node_collection(two, IDS)  # type: ignore[arg-type]
    start(scheduler, three)
    assert (three.sent, two.sent) == ([0, 2, 4], [1, 3, 5])


def test_a_worker_that_dies_after_its_share_has_an_idle_successor(
    scheduler: ShareScheduling,
) -> None:
    one, two, three = Node("gw0"), Node("gw1"), Node("gw2")
    start(scheduler, one, two)
    finish(scheduler, one, 3)
    assert scheduler.remove_node(one) is None  # type: ignore[arg-type]
    start(scheduler, three)
    assert three.sent == []
    assert three.told_the_end


def test_an_item_that_brings_down_worker_after_worker_is_given_up(
    scheduler: ShareScheduling,
) -> None:
    start(scheduler, Node("gw0"), Node("gw1"))
    node = scheduler.nodes[0]
    given_up = []
    for number in range(2, 5):
        given_up.append(scheduler.remove_node(node))
        node = Node(f"gw{number}")  # type: ignore[assignment]
        start(scheduler, node)
    assert given_up == [None, None, IDS[0]]
    assert node.sent == [2, 4]  # type: ignore[attr-defined]


def test_workers_that_collect_other_items_are_reported(
    scheduler: ShareScheduling, reports: Reports
) -> None:
    one, two = Node("gw0"), Node("gw1")
    start(scheduler, one)
    scheduler.join(two)  # type: ignore[arg-type]
    scheduler.add_node_collection(two, IDS[1:])  # type: ignore[arg-type]
    scheduler.collection = None
    scheduler.schedule()
    assert "gw1 collected other items than gw0" in reports.collect[0]
