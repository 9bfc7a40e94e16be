"""The queue of samples: in which order they begin, and that none is left unsettled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.runners.queue import SampleQueue
from control_tower.runners.slots import Slot


def slot(name: str, *, held: bool = False) -> Slot:
    return Slot(cast(Any, SimpleNamespace(id=name)), lost=0, held=held)


def queue_of(*slots: Slot, room: int = 1) -> SampleQueue:
    queue = SampleQueue(room)
    for each in slots:
        queue.add(each)
    return queue


def scored(name: str) -> Outcome:
    return Outcome(sample_id=name, status="scored")


def statuses(queue: SampleQueue) -> list[str]:
    return [each.outcome.result(0).status for each in queue.slots.values()]


def test_samples_begin_in_order_as_there_is_room() -> None:
    a, b = slot("a"), slot("b")
    queue = queue_of(a, b)
    assert queue.next() is a
    queue.begin(a)
    assert queue.next() is None
    queue.free()
    queue.settle(a, scored("a"))
    assert queue.next() is b
    assert a.outcome.result(0).status == "scored"


def test_a_held_sample_begins_once_it_is_reached_and_before_all_that_wait() -> None:
    a, held = slot("a"), slot("held", held=True)
    queue = queue_of(a, held)
    assert queue.reach(held) is True
    assert queue.reach(held) is False
    assert [queue.next(), queue.next(), queue.next()] == [held, a, None]


def test_it_is_not_done_while_a_held_sample_is_still_to_be_reached() -> None:
    held = slot("held", held=True)
    queue = queue_of(held)
    assert queue.next() is None
    assert not queue.is_done
    queue.reach(held)
    assert queue.next() is held
    queue.begin(held)
    assert not queue.is_done
    queue.free()
    assert queue.is_done


def test_a_sample_that_was_over_before_does_not_begin() -> None:
    queue = SampleQueue(1)
    queue.add_finished(slot("a"), scored("a"))
    assert queue.next() is None
    assert queue.is_done
    assert statuses(queue) == ["scored"]


def test_those_refused_are_not_run_and_are_no_outcomes_of_the_run() -> None:
    a, b = slot("a"), slot("b")
    queue = queue_of(a, b)
    queue.begin(cast(Slot, queue.next()))
    queue.refuse_waiting("an earlier sample errored")
    assert not a.outcome.done()
    assert (b.outcome.result(0).status, b.outcome.result(0).error) == (
        "not_run",
        "an earlier sample errored",
    )
    assert queue.outcomes == []


@pytest.mark.parametrize(
    ("crashed", "began", "expected"),
    [
        (False, True, ["cancelled", "not_run"]),
        (False, False, ["not_run", "not_run"]),
        (True, True, ["errored", "not_run"]),
        (True, False, ["errored", "errored"]),
    ],
)
def test_the_end_settles_everything(crashed: bool, began: bool, expected: list[str]) -> None:
    queue = queue_of(slot("a"), slot("b", held=True))
    if began:
        queue.begin(cast(Slot, queue.next()))
    queue.end("it ended", crashed=crashed)
    assert statuses(queue) == expected
    assert [outcome.status for outcome in queue.outcomes] == [
        status for status in expected if status != "not_run"
    ]
    assert queue.running == 0
    assert all(each.provisioned.result(0) is False for each in queue.slots.values())


def test_whoever_waits_for_a_held_sample_learns_that_it_is_over() -> None:
    held = slot("held", held=True)
    assert held.hold is not None
    queue_of(held).end("it ended", crashed=False)
    assert held.hold.result(0) is None
    assert not held.holds


def test_a_sample_is_provisioned_with_its_first_sandbox_whatever_comes_later() -> None:
    a = slot("a")
    a.mark_provisioned()
    a.mark_provisioned()
    assert (a.provisioned.result(0), a.provisionings) == (True, 2)
    a.settle(Outcome(sample_id="a", status="errored"))
    assert a.provisioned.result(0) is True
