"""Models that did not answer: why, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tenacity import RetryError  # what Inspect raises when a model's retries are used up


@contextmanager
def silent_models_say_why() -> Iterator[None]:
    """In this block, the error of a model whose retries are used up names what the last one met.

    Raises:
        RuntimeError: instead of tenacity's error, which shows only an object's address.
    """
    try:
        yield
    except RetryError as error:
        last = error.last_attempt
        why = last.exception()
        tries = f"{last.attempt_number} {'try' if last.attempt_number == 1 else 'tries'}"
        raise RuntimeError(
            f"the model did not answer, {tries}: {type(why).__name__}: {why}"
        ) from error
