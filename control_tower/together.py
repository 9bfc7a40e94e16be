"""Asks several things at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from control_tower.stray_exits import stray_exits_are_errors

T = TypeVar("T")


async def together(questions: Sequence[tuple[str, Callable[[], Awaitable[T]]]]) -> list[T]:
    """The answers to all `questions`, asked concurrently, in their order.

    An error in one cancels the others and is raised as it is, never inside a group: a limit of
    Inspect's before any other error.

    Args:
        questions: name, for the transcript's span, and what to await.
    """
    import anyio
    from inspect_ai.util import span

    answers: dict[int, T] = {}

    async def ask(position: int, name: str, question: Callable[[], Awaitable[T]]) -> None:
        async with span(name, type="monitor"):
            with stray_exits_are_errors(f"monitor '{name}'"):
                answers[position] = await question()

    try:
        async with anyio.create_task_group() as group:
            for position, (name, question) in enumerate(questions):
                group.start_soon(ask, position, name, question)
    except BaseExceptionGroup as errors:
        first = _first(errors)
        raise first from first.__cause__
    return [answers[position] for position in range(len(questions))]


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """What matters most: an interrupt, then a limit, then the first of the others."""
    from inspect_ai.util import LimitExceededError

    def rank(error: BaseException) -> int:
        if not isinstance(error, Exception):
            return 0
        return 1 if isinstance(error, LimitExceededError) else 2

    return min(_flat(errors), key=rank)


def _flat(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _flat(each)
    else:
        yield error
