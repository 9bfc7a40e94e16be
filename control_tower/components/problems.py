"""What is wrong with a component's name or arguments."""

from __future__ import annotations

from control_tower.stray_exits import StrayExit


class ComponentProblem(ValueError):
    """A name or an argument of a component that is wrong, in one line.

    A `ValueError`, so that pydantic reports it like any other bad value.
    """


def one_line(error: BaseException) -> str:
    """An error's words on one line."""
    return " ".join(str(error).split())


def named(error: BaseException) -> str:
    """An error's type and words on one line."""
    if isinstance(error, StrayExit) and error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {one_line(error)}"
