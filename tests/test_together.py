"""Questions asked at once, and which of their errors comes out."""

from __future__ import annotations

from typing import NoReturn

import anyio
import pytest
from inspect_ai.util import LimitExceededError

from control_tower.together import together


def test_answers_come_in_the_order_of_the_questions() -> None:
    second_began = anyio.Event()

    async def first() -> str:
        await second_began.wait()
        return "first"

    async def second() -> str:
        second_began.set()
        return "second"

    async def run() -> list[str]:
        with anyio.fail_after(20):
            return await together([("a", first), ("b", second)])

    assert anyio.run(run) == ["first", "second"]


def test_a_limit_comes_before_other_errors_and_out_of_nested_groups() -> None:
    began = []

    async def fails(error: Exception) -> NoReturn:
        began.append(error)
        try:
            await anyio.sleep_forever()
        finally:
            raise error

    async def breaks() -> NoReturn:
        while len(began) < 2:
            await anyio.lowlevel.checkpoint()
        raise KeyError("first")

    async def inner() -> list[object]:
        limit = LimitExceededError("token", value=2, limit=1)
        return await together([("x", lambda: fails(limit)), ("y", lambda: fails(OSError("y")))])

    async def run() -> None:
        await together([("breaks", breaks), ("inner", inner)])

    with pytest.raises(LimitExceededError) as caught:
        anyio.run(run)
    assert caught.value.type == "token"


def test_an_error_keeps_its_cause() -> None:
    async def fails() -> NoReturn:
        raise KeyError("x") from OSError("the cause")

    async def run() -> None:
        await together([("a", fails)])

    with pytest.raises(KeyError) as caught:
        anyio.run(run)
    assert isinstance(caught.value.__cause__, OSError)


def test_cancelling_is_no_error_of_theirs() -> None:
    cancelled = []

    async def waits() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(True)
            raise

    async def run() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(together, [("a", waits), ("b", waits)])
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
        return scope.cancelled_caught

    assert anyio.run(run)
    assert cancelled == [True, True]
