"""Removing, whatever the engine says; it is in memory."""

from __future__ import annotations

import anyio
import pytest
from docker.errors import APIError
from requests import ConnectionError, ReadTimeout
from support.fake_engine import FakeEngine, refusal

from control_tower.sandboxes.docker.removing import remove_things


async def fill(engine: FakeEngine) -> None:
    await engine.create_network("ct-a-n")
    await engine.create_volume("ct-a-v")
    await engine.create_container({}, "ct-a-c")


async def remove(engine: FakeEngine) -> None:
    await remove_things(
        engine.calls, containers=["ct-a-c"], networks=["ct-a-n"], volumes=["ct-a-v"]
    )


def test_containers_go_first() -> None:
    engine = FakeEngine()

    async def run() -> None:
        await fill(engine)
        await remove(engine)

    anyio.run(run)
    assert engine.left == []
    assert engine.done[3] == "remove c"
    assert sorted(engine.done[4:]) == ["remove n", "remove v"]


def test_what_is_gone_already_is_no_error() -> None:
    anyio.run(remove, FakeEngine())


def test_what_is_busy_for_a_moment_is_tried_again() -> None:
    engine = FakeEngine()
    engine.refusals = {
        "remove c": [refusal(409, "removal of container c is already in progress")],
        "remove n": [refusal(403, "network n has active endpoints"), refusal(500, "busy")],
    }

    async def run() -> None:
        await fill(engine)
        await remove(engine)

    anyio.run(run)
    assert engine.left == []


def test_one_that_cannot_be_removed_is_told_and_keeps_no_other() -> None:
    engine = FakeEngine()
    engine.refusals = {"remove c": [refusal(400, "never")]}

    async def run() -> None:
        await fill(engine)
        with pytest.raises(APIError, match="never"):
            await remove(engine)

    anyio.run(run)
    assert engine.left == ["ct-a-c"]


def test_an_engine_that_does_not_answer_is_not_asked_for_long() -> None:
    engine = FakeEngine()
    engine.refusals = {
        "remove c": [ReadTimeout("read timed out") for _ in range(8)],
        "remove n": [ConnectionError("connection refused") for _ in range(5)],
    }

    async def run() -> None:
        await fill(engine)
        with pytest.raises(ReadTimeout):
            await remove(engine)

    anyio.run(run)
    assert len(engine.refusals["remove c"]) == 5
    assert engine.left == ["ct-a-c"]  # one that is not there for a moment is asked again


def test_cancelling_does_not_stop_it() -> None:
    engine = FakeEngine()

    async def run() -> None:
        await fill(engine)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await remove(engine)

    anyio.run(run)
    assert engine.left == []
