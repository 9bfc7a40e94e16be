"""Exits that a component raises (SystemExit, pytest's skip): they concern one sample, not the run.

In a task of its own, such an exception would leave the event loop at once and end all samples.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager


class StrayExit(RuntimeError):
    """A component raised something that is no error; that is the cause."""


@contextmanager
def stray_exits_are_errors(who: str) -> Iterator[None]:
    """In this block, what is neither an error, a cancellation nor Ctrl-C becomes an error.

    Args:
        who: the component, for the message.

    Raises:
        StrayExit: instead of such an exception, which is its cause.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt, GeneratorExit, _cancellation())):
            raise
        raise StrayExit(f"{who} raised {type(error).__name__}: {error}") from error


def _cancellation() -> type[BaseException]:
    """What cancels a task in the running event loop; asyncio's where none runs."""
    import anyio

    try:
        return anyio.get_cancelled_exc_class()
    except RuntimeError:
        return CancelledError
