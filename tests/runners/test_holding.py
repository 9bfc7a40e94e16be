"""A held sample, without Inspect: what the eval's thread and a test's thread do to each other."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.runners.holding import Hold, SandboxGone

SOON = 20
"""Seconds that nothing here may need; a request that is left alone would take `LONG`."""
LONG = 60


async def sleep() -> str:
    await asyncio.sleep(LONG)
    return "slept"


async def answer() -> str:
    return "answer"


def hold(*, stopped: bool = False) -> Hold:
    return Hold(Outcome(sample_id="mini/a/-", status="scored"), lambda: stopped)


async def gone(asked: asyncio.Future[str]) -> None:
    with pytest.raises(SandboxGone):
        await asyncio.wait_for(asked, SOON)


def test_what_is_asked_for_is_done_until_the_sample_is_let_go() -> None:
    async def main() -> None:
        held = hold()
        serving = asyncio.create_task(held.serve())
        assert await asyncio.to_thread(held.call, answer) == "answer"
        held.release()
        await asyncio.wait_for(serving, SOON)
        await gone(asyncio.create_task(asyncio.to_thread(held.call, answer)))

    asyncio.run(main())


def test_letting_go_ends_what_is_being_done() -> None:
    async def main() -> None:
        held = hold()
        serving = asyncio.create_task(held.serve())
        begun = asyncio.Event()

        async def begin() -> str:
            begun.set()
            return await sleep()

        asked = asyncio.create_task(asyncio.to_thread(held.call, begin))
        await begun.wait()
        held.release()
        await asyncio.wait_for(serving, SOON)
        await gone(asked)

    asyncio.run(main())


def test_a_request_that_meets_the_letting_go_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        held = hold()
        serving = asyncio.create_task(held.serve())
        await asyncio.sleep(0)  # it waits for a request
        loop = asyncio.get_running_loop()
        sent = threading.Event()
        send = loop.call_soon_threadsafe

        def send_and_tell(*args: object) -> object:
            handle = send(*args)  # type: ignore[arg-type]
            sent.set()
            return handle

        with ThreadPoolExecutor() as threads:
            monkeypatch.setattr(loop, "call_soon_threadsafe", send_and_tell)
            asked = loop.run_in_executor(threads, held.call, sleep)
            sent.wait()  # in the loop's own thread: it comes to both of them in one turn
            held.release()
            await asyncio.wait_for(serving, SOON)
            await gone(asked)

    asyncio.run(main())


def test_a_loop_that_ends_before_it_comes_to_a_request_leaves_nobody_waiting() -> None:
    ended: Future[str] = Future()

    async def main() -> None:
        held = hold()  # which nobody serves
        begun = threading.Event()

        def ask() -> None:
            begun.set()
            try:
                ended.set_result(held.call(sleep))
            except SandboxGone as error:
                ended.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        begun.wait()

    asyncio.run(main())
    with pytest.raises(SandboxGone):
        ended.result(SOON)


class Late(Future[str]):
    """A future that is done by the time that waiting for it has timed out."""

    def result(self, timeout: float | None = None) -> str:
        if timeout is not None and not self.done():
            while not self.done():
                time.sleep(0.01)
            raise TimeoutError
        return super().result(timeout)


def test_an_answer_that_comes_just_after_a_look_is_no_time_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("control_tower.runners.holding.Future", Late)

    async def main() -> None:
        held = hold()
        serving = asyncio.create_task(held.serve())
        assert await asyncio.to_thread(held.call, answer) == "answer"
        held.release()
        await asyncio.wait_for(serving, SOON)

    asyncio.run(main())


def test_a_run_that_is_to_stop_lets_its_samples_go() -> None:
    async def main() -> None:
        held = hold(stopped=True)
        serving = asyncio.create_task(held.serve())
        await gone(asyncio.create_task(asyncio.to_thread(held.call, sleep)))
        await asyncio.wait_for(serving, SOON)

    asyncio.run(main())
