"""A command's output on its way to a client."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from control_tower.live import outpour
from control_tower.live.outpour import Outpour
from control_tower.sandboxes.listening import Hear


class Line:
    """A line to a client that reads when it is let."""

    def __init__(self) -> None:
        self.reads = anyio.Event()
        self.reads.set()
        self.sent: list[tuple[str, bytes]] = []

    async def send(self, data: bytes) -> None:
        await self.reads.wait()
        header, _, rest = data.partition(b"\n")
        self.sent.append((json.loads(header)["stream"], rest))


class Gone(Line):
    async def send(self, data: bytes) -> None:
        raise anyio.BrokenResourceError


def done(line: Any, work: Any) -> tuple[Any, Outpour]:
    async def body() -> tuple[Any, Outpour]:
        pouring = Outpour(line)
        return await pouring.during(work), pouring

    return anyio.run(body)


def test_it_comes_while_the_command_runs_and_all_of_it_before_the_end() -> None:
    line = Line()

    async def work(hear: Hear) -> str:
        hear("stdout", b"a")
        while not line.sent:
            await anyio.lowlevel.checkpoint()
        hear("stderr", b"b")
        return "over"

    result, pouring = done(line, work)
    assert (result, pouring.heard, pouring.lost) == ("over", True, 0)
    assert line.sent == [("stdout", b"a"), ("stderr", b"b")]


def test_of_what_a_client_does_not_read_only_so_much_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outpour, "_MOST", 10)
    line = Line()

    async def work(hear: Hear) -> None:
        line.reads = anyio.Event()
        for _ in range(100):
            hear("stdout", b"1234")
        line.reads.set()

    _, pouring = done(line, work)
    assert line.sent == [("stdout", b"1234")] * 2
    assert pouring.lost == 98 * 4


def test_a_client_that_goes_is_no_error() -> None:
    async def work(hear: Hear) -> str:
        hear("stdout", b"a")
        return "over"

    assert done(Gone(), work)[0] == "over"


def test_an_error_comes_as_it_is() -> None:
    async def work(hear: Hear) -> str:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        done(Line(), work)


def test_a_command_that_says_nothing_was_not_heard() -> None:
    async def work(hear: Hear) -> str:
        return "over"

    assert not done(Line(), work)[1].heard
