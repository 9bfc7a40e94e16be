"""Running one task's scorer so that it can hang, crash or lie without harm."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from control_tower.errors import UsageProblem, check_regular

if TYPE_CHECKING:
    from inspect_ai.scorer import Score, Target
    from inspect_ai.solver import TaskState

NO_VERDICT = "no_verdict"
"""Key of a score's metadata: true when a check came to no clear verdict (it was killed or stopped,
said nothing or two things, ran out of time, or failed after its words), which is INCORRECT."""

Scorer = Callable[["TaskState", "Target"], Awaitable["Score"]]


@dataclass(frozen=True)
class TaskScore:
    """What one task's scorer came to."""

    success: bool | None
    """None: unscored."""
    explanation: str
    """The scorer's explanation, or why there is no score."""
    no_verdict: bool = False
    """Whether `success` is false only because the check came to no clear verdict."""
    no_scorer: bool = False
    """Whether `success` is None because the task has no scorer, as the user accepted."""
    disagreed: bool = False
    """Whether `success` is None because it was scored twice, with two answers."""


def load_scorer(path: Path) -> Scorer:
    """Import the `score` function of a task's `scorer.py`.

    Raises:
        UsageProblem: if it cannot be imported or defines no async `score(state, target)`.
    """
    module = _import(path)
    scorer = getattr(module, "score", None)
    if not inspect.iscoroutinefunction(scorer):
        raise UsageProblem(f"{path}: defines no 'async def score(state, target)'")
    return scorer


async def run_scorer(
    scorer: Scorer, state: TaskState, target: Target, *, timeout: float | None
) -> TaskScore:
    """Score with a time limit; a crash, a time-out or a nonsensical answer is unscored.

    A time-out cancels the scorer, and with it the command it is waiting for in the sandbox. A
    scorer that blocks the event loop, or swallows the cancellation, cannot be interrupted; once it
    has ended, its late answer does not count.

    Args:
        scorer: the task's scorer.
        state: the sample's final state.
        target: Inspect's target, always empty.
        timeout: seconds, or None for no limit.
    """
    import anyio

    try:
        with anyio.fail_after(timeout) as scope:
            score = await scorer(state, target)
        if anyio.current_time() >= scope.deadline:
            return TaskScore(None, f"the scorer answered only after its {timeout:g} s were over")
        return _understood(score)
    except TimeoutError as error:
        if scope.cancelled_caught:
            return TaskScore(None, f"the scorer did not finish within {timeout:g} s")
        return TaskScore(None, _crash(error))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # recorded: any fault of a scorer is unscored
        if isinstance(error, anyio.get_cancelled_exc_class()) and _is_cancelled():
            raise
        return TaskScore(None, _crash(error))


async def run_scorer_twice(
    scorer: Scorer, state: TaskState, target: Target, *, timeout: float
) -> TaskScore:
    """Score, and score again: the first result, or unscored if the second says something else.

    Args:
        scorer: the task's scorer.
        state: the sample's final state.
        target: Inspect's target, always empty.
        timeout: seconds, each time.
    """
    first = await run_scorer(scorer, state, target, timeout=timeout)
    second = await run_scorer(scorer, state, target, timeout=timeout)
    if first.success is second.success:
        return first
    said = [f"{_SPOKEN[one.success]} ({one.explanation})" for one in (first, second)]
    return TaskScore(None, f"scored twice: {said[0]}, then {said[1]}", disagreed=True)


_SPOKEN = {True: "success", False: "no success", None: "no score"}


def _is_cancelled() -> bool:
    """Whether the run or a limit cancels this task, and not the scorer by raising the exception."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _crash(error: BaseException) -> str:
    message = " ".join(str(error).split())[:500]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).name == "scorer.py"]
    where = f" (scorer.py, line {ours[-1].lineno})" if ours else ""
    return f"the scorer crashed: {type(error).__name__}: {message}{where}"


def _understood(score: Any) -> TaskScore:
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score

    if not isinstance(score, Score):
        return TaskScore(None, f"the scorer returned {type(score).__name__}, not a Score")
    value = score.value
    if value == NOANSWER or (isinstance(value, float) and math.isnan(value)):
        return TaskScore(None, score.reason or score.explanation or "the scorer gave no answer")
    if isinstance(value, str) and value in (CORRECT, INCORRECT):
        no_verdict = value == INCORRECT and bool((score.metadata or {}).get(NO_VERDICT))
        return TaskScore(value == CORRECT, score.explanation or "", no_verdict=no_verdict)
    if isinstance(value, bool | int | float) and value in (0, 1):
        return TaskScore(bool(value), score.explanation or "")
    return TaskScore(None, f"the scorer returned a value that is neither yes nor no: {value!r}")


def _import(path: Path) -> ModuleType:
    name = "control_tower_scorer_" + sha256(str(path).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageProblem(f"{path}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        check_regular(path)
        # From its text: byte code would be a new file in the author's folder.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except KeyboardInterrupt:  # nobody can tell whether the user or the module raised it
        del sys.modules[name]
        raise
    except BaseException as error:
        del sys.modules[name]
        raise UsageProblem(
            f"{path}: cannot be imported: {type(error).__name__}: {' '.join(str(error).split())}"
        ) from error
    return module
