"""What a session's process answers, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from control_tower.live.requests import Clients
from control_tower.live.steps import Entry, StepLog
from control_tower.live.wire import packed, received
from control_tower.live.working import Refused
from control_tower.sandboxes.listening import Hear


class Work:
    """Work without a sandbox."""

    def __init__(self, steps: StepLog) -> None:
        self.steps = steps
        self.cancelled = anyio.Event()
        self.hung_up: list[str] = []

    async def exec(self, command: str, seconds: int | None, hear: Hear) -> dict[str, Any]:
        hear("stdout", b"begun\n")
        if command == "for ever":
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        return {"output": command, "error": None, "code": 0}

    async def shell(self, mark: str) -> list[str]:
        return ["a", "shell"]

    async def hang_up(self, mark: str) -> None:
        self.hung_up.append(mark)

    async def get(self, path: str) -> bytes:
        raise Refused(f"{path}: no such file")

    async def score(self) -> dict[str, Any]:
        raise LookupError("a fault of ours")


class Client:
    """The other end of the line."""

    def __init__(self, line: SocketStream) -> None:
        self.line = line
        self._stream = BufferedByteReceiveStream(line)

    async def ask(self, **header: Any) -> dict[str, Any]:
        await self.line.send(packed(header))
        return await self.hear()

    async def hear(self) -> dict[str, Any]:
        return (await received(self._stream))[0]


Check = Callable[[Client, Work, list[str]], Awaitable[None]]


@pytest.fixture
def with_client(tmp_path: Path) -> Callable[[Check], Work]:
    """Runs a check with a client; whatever became of that, the next one is served."""

    def run(check: Check) -> Work:
        async def body() -> Work:
            work, stops = Work(StepLog(tmp_path / "steps.jsonl")), list[str]()
            clients = Clients(work, lambda: stops.append("down"))  # type: ignore[arg-type]
            async with (
                await anyio.create_unix_listener(tmp_path / "s") as listener,
                anyio.create_task_group() as group,
            ):
                group.start_soon(listener.serve, clients.serve)
                with anyio.fail_after(60):
                    async with await anyio.connect_unix(tmp_path / "s") as line:
                        await check(Client(line), work, stops)
                    async with await anyio.connect_unix(tmp_path / "s") as line:
                        assert await Client(line).ask(do="down") == {}
                group.cancel_scope.cancel()
            return work

        return anyio.run(body)

    return run


def test_what_a_command_prints_comes_before_the_answer(with_client: Any) -> None:
    async def check(client: Client, work: Work, stops: list[str]) -> None:
        assert await client.ask(do="exec", command="ls") == {"stream": "stdout"}
        answer = await client.hear()
        assert (answer["output"], answer["heard"], answer["lost"]) == ("ls", True, 0)

    with_client(check)


def test_a_command_ends_when_its_client_goes(with_client: Any) -> None:
    async def check(client: Client, work: Work, stops: list[str]) -> None:
        await client.ask(do="exec", command="for ever")
        await client.line.aclose()
        await work.cancelled.wait()

    with_client(check)


def test_a_shell_is_hung_up_when_its_client_goes(with_client: Any) -> None:
    async def check(client: Client, work: Work, stops: list[str]) -> None:
        answer = await client.ask(do="shell")
        assert answer["argv"] == ["a", "shell"]
        entry = Entry(kind="shell", command="ls", shell=answer["mark"])
        assert await client.ask(do="typed", entry=entry.model_dump()) == {}
        assert work.steps.entries() == [entry]
        assert work.hung_up == []
        await client.line.aclose()
        while work.hung_up != [answer["mark"]]:
            await anyio.sleep(0.01)

    with_client(check)


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"do": "get", "path": "x"}, "x: no such file"),
        ({"do": "score"}, "LookupError: a fault of ours"),
        ({"do": "dance"}, "does not know how to 'dance'"),
        ({"do": "typed", "entry": {}}, "ValidationError"),
        ({}, "KeyError"),
    ],
)
def test_what_cannot_be_done_is_told_and_the_line_stays(
    with_client: Any, request_: dict[str, Any], problem: str
) -> None:
    async def check(client: Client, work: Work, stops: list[str]) -> None:
        assert problem in (await client.ask(**request_))["problem"]
        assert await client.ask(do="down") == {}
        while not stops:
            await anyio.sleep(0.01)

    with_client(check)


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"[]\n", b"{}\n", b'{"size": -1}\n', b'{"size": 1e99}\n', b'{"si']
)
def test_what_is_no_request_ends_only_its_own_line(with_client: Any, line: bytes) -> None:
    async def check(client: Client, work: Work, stops: list[str]) -> None:
        await client.line.send(line)
        await client.line.send_eof()
        with pytest.raises(anyio.EndOfStream):
            await client.line.receive()

    with_client(check)


def test_a_message_says_how_long_it_is() -> None:
    header, _, data = packed({"do": "x"}, b"abc").partition(b"\n")
    assert (json.loads(header), data) == ({"do": "x", "size": 3}, b"abc")
