"""Handing samples, one by one, to an Inspect eval that is running."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai import SampleSource
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSample


class Feed:
    """Hands samples to the running eval, and closes or cancels it from another thread."""

    def __init__(
        self, refill: Callable[[Feed], None], complete: Callable[[EvalSample], None]
    ) -> None:
        self._refill = refill
        self._complete = complete
        self._loop = asyncio.get_running_loop()
        self._eval = asyncio.current_task()
        self._wake = asyncio.Event()
        self._finished = False
        self._context: contextvars.Context | None = None
        """The eval's own, in which samples can be added."""

    def source(self) -> SampleSource:
        """The sample source that Inspect pulls from."""
        return _make_source(self)

    def enqueue(self, sample: Sample, epoch: int) -> None:
        """Add a sample to the eval; in the loop, within the eval's own context."""
        from inspect_ai import enqueue_sample

        enqueue_sample(sample, epoch=epoch)
        self._wake.set()

    def look_again(self) -> None:
        """Refill from another thread: a sample was added that nothing else announces."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._refill_in_context)

    def _refill_in_context(self) -> None:
        if self._context is not None and not self._finished:
            self._context.run(self._refill, self)

    def finish(self) -> None:
        """Let the eval end by itself; in the loop."""
        self._finished = True
        self._wake.set()

    def close(self) -> None:
        """Cancel the eval, unless it has nothing left to do; from any thread."""

        def cancel() -> None:
            if not self._finished and self._eval is not None:
                self._finished = True  # once: a second cancellation would hit the clean-up
                self._eval.cancel()

        try:
            self._loop.call_soon_threadsafe(cancel)
        except RuntimeError:
            return  # the loop has ended

    async def next_samples(self) -> list[Sample] | None:
        """Inspect asks when nothing is in flight: refill, then wait for more or the end."""
        self._context = contextvars.copy_context()
        self._refill(self)
        await self._wake.wait()
        self._wake.clear()
        return None if self._finished else []

    def completed(self, sample: EvalSample) -> None:
        """Inspect reports a finished sample."""
        self._complete(sample)
        self._refill(self)


def _make_source(feed: Feed) -> SampleSource:
    from inspect_ai import SampleSource

    async def complete(sample: EvalSample) -> list[Sample] | None:
        feed.completed(sample)
        return None

    return SampleSource.from_samples([], next_samples=feed.next_samples, sample_complete=complete)
