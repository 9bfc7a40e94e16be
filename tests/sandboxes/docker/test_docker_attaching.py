"""A command's streams, from an engine that answers as it likes and from the real one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from support.engine_containers import running

from control_tower.sandboxes.docker.attaching import (
    STDERR,
    STDOUT,
    AttachRefused,
    Frames,
    attached,
)
from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.execution import executing
from control_tower.sandboxes.docker.outputs import Tail

TAKEN = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"


def frame(kind: int, data: bytes) -> bytes:
    return bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def collected(parts) -> dict[int, bytes]:
    found = {STDOUT: b"", STDERR: b""}
    for kind, part in parts:
        found[kind] += part
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 100, 10**6])
def test_frames_are_taken_apart_wherever_they_were_cut(size):
    whole = frame(1, b"one") + frame(2, b"") + frame(2, b"err" * 50) + frame(1, b"two")
    frames = Frames()
    parts = [
        part
        for start in range(0, len(whole), size)
        for part in frames.feed(whole[start : start + size])
    ]
    assert collected(parts) == {STDOUT: b"onetwo", STDERR: b"err" * 50}


@asynccontextmanager
async def fake_engine(path, answer):
    """An engine on a socket that sends `answer` to whoever asks, all at once, and hangs up."""
    asked = []

    async def serve(stream):
        async with stream:
            asked.append(await stream.receive())
            await stream.send(answer)

    listener = await anyio.create_unix_listener(path)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield f"unix://{path}", asked
        group.cancel_scope.cancel()


def test_what_comes_with_the_answer_s_head_is_not_lost(tmp_path):
    async def body():
        answer = TAKEN + frame(1, b"early") + frame(2, b"too")
        async with fake_engine(tmp_path / "engine.sock", answer) as (address, asked):
            async with attached(address, "1.45", "abc", patience=30) as streams:
                parts = []
                while (more := await streams.receive()) is not None:
                    parts += more
            assert collected(parts) == {STDOUT: b"early", STDERR: b"too"}
            assert asked[0].startswith(b"POST /v1.45/exec/abc/start HTTP/1.1\r\n")

    anyio.run(body)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            b'HTTP/1.1 409 Conflict\r\nContent-Length: 27\r\n\r\n{"message":"it is paused"}\n',
            "it is paused",
        ),
        (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", "500 Internal"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "SSH-2.0"),
        (b"x" * 100_000, "no Docker engine"),
        (b"HTTP/1.1 1", "closed the connection"),
    ],
)
def test_a_refusal_is_said_in_the_engine_s_words(answer, words, tmp_path):
    async def body():
        async with fake_engine(tmp_path / "engine.sock", answer) as (address, _):
            with pytest.raises(AttachRefused, match=words):
                async with attached(address, "1.45", "abc", patience=30):
                    pass

    anyio.run(body)


def test_an_engine_that_is_not_there_is_a_refusal(tmp_path):
    async def body():
        with pytest.raises(AttachRefused, match="cannot be reached"):
            async with attached(f"unix://{tmp_path}/none.sock", "1.45", "abc", patience=30):
                pass

    anyio.run(body)


def test_an_engine_that_does_not_answer_is_a_refusal(tmp_path):
    async def body():
        async with await anyio.create_unix_listener(tmp_path / "engine.sock"):
            with pytest.raises(AttachRefused, match=r"within 0\.05 seconds"):
                async with attached(f"unix://{tmp_path}/engine.sock", "1", "abc", patience=0.05):
                    pass

    anyio.run(body)


@pytest.mark.docker
@pytest.mark.parametrize("address", ["unix", "ssh://by-docker-s-command-line"])
def test_input_and_both_outputs_of_a_real_command(address):
    text = b"line\n" * 300_000

    async def body():
        async with running() as (usual, container):
            # Docker's command line goes to the same engine.
            calls = usual if address == "unix" else EngineCalls(usual._api, address, 1)
            stdout, stderr = Tail(10**8), Tail(10**8)
            script = "cat; echo done >&2"
            async with executing(
                calls, container, ["sh", "-c", script], user=None, fed=True
            ) as execution:
                async with anyio.create_task_group() as group:
                    group.start_soon(execution.feed, text)
                    await execution.collect(stdout, stderr)
                assert await execution.exit_code() == 0
            assert stdout.kept() == text
            assert stderr.kept() == b"done\n"

    anyio.run(body)


def test_a_wait_that_is_cancelled_as_something_arrives_ends_in_silence(tmp_path):
    """Many times over, for the moment in question is one turn of the event loop."""
    problems = []

    async def cancelled_after(turns, streams):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def cancel():
                    for _ in range(turns):
                        await anyio.sleep(0)
                    scope.cancel()

                group.start_soon(cancel)
                while True:
                    assert await streams.receive() is not None

    async def flood(stream):
        with suppress(anyio.BrokenResourceError):
            while True:
                await stream.send(frame(STDOUT, b"x"))
                await anyio.sleep(0)

    async def serve(stream):
        async with stream:
            await stream.receive()
            await stream.send(TAKEN)
            await flood(stream)

    async def body():
        asyncio.get_running_loop().set_exception_handler(lambda _, said: problems.append(said))
        listener = await anyio.create_unix_listener(tmp_path / "socket")
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            address = f"unix://{tmp_path}/socket"
            async with attached(address, "1.45", "abc", patience=30) as streams:
                for turn in range(1000):
                    await cancelled_after(turn % 7, streams)
            group.cancel_scope.cancel()

    anyio.run(body)
    assert problems == []
