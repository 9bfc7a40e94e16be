"""`key=value` arguments of flags that may be given several times, split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class PairProblem(ValueError):
    """An argument that is no `key=value`, or whose key is there twice; in one line."""


def split_pairs(pairs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each key, without spaces around it, and the text of its value, in the order given.

    Raises:
        PairProblem: at the first that is no `key=value`, or whose key was there before.
    """
    seen: set[str] = set()
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise PairProblem(f"{pair!r} is not key=value")
        if key in seen:
            raise PairProblem(f"'{key}' is given twice")
        seen.add(key)
        yield key, text
