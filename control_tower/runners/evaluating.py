"""The one Inspect eval of a process: how it is set up, and what it is called with."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.models import RoleModels

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.log import EvalLog

_COMMANDS = 4
"""Commands at once for each sample: as many as its containers take to come up, and then some."""
_NAMES_OF_LOGS = ("INSPECT_EVAL_LOG_FILE_PATTERN", "{task}_{id}")
"""Inspect's variable for the names of logs, and its default."""


@dataclass(frozen=True)
class EvalSettings:
    """What an eval is told beside its task."""

    run_id: str
    log_dir: Path
    models: RoleModels
    connections: int | None
    """Most at once to a model's API; None leaves it to Inspect."""
    at_once: int
    """Samples."""
    samples: int
    """How many there are in all."""
    retries: int | None
    """How often a sample that errored is tried again."""
    tags: tuple[str, ...] = ()


def prepare_inspect() -> None:
    """Let Inspect show nothing of its own in this process, and read arguments plainly.

    Raises:
        RuntimeError: this version of Inspect reads arguments in another way.
    """
    from control_tower._inspect_compat import read_arguments_plainly, silence_display

    silence_display()
    read_arguments_plainly()


async def evaluate(task: Task, settings: EvalSettings) -> EvalLog | None:
    """Run the eval to its end; its log, if it came to one."""
    from inspect_ai import eval_async
    from inspect_ai.model import get_model

    with _usual_names_of_logs(), _libraries_left_alone():
        logs = await eval_async(
            task,
            model=get_model("none"),  # a name would get the arguments in INSPECT_EVAL_MODEL_ARGS
            model_roles=settings.models.made(),
            max_connections=settings.connections,
            log_dir=str(settings.log_dir),
            log_format="eval",
            log_realtime=False,
            log_buffer=_log_buffer(settings.samples),
            fail_on_error=False,
            retry_on_error=settings.retries,
            max_samples=settings.at_once,
            max_subprocesses=_COMMANDS * settings.at_once,
            score_display=False,
            ctl_server=False,
            metadata={"run_id": settings.run_id},
            tags=list(settings.tags) or None,
        )
    return logs[0] if logs else None


@contextmanager
def _usual_names_of_logs() -> Iterator[None]:
    """Let no variable name the logs: with another name one is not found, and processes of one run
    might write the same. It is set, not unset, since Inspect reads a `.env` file later."""
    variable, usual = _NAMES_OF_LOGS
    before = os.environ.get(variable)
    os.environ[variable] = usual
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before


@contextmanager
def _libraries_left_alone() -> Iterator[None]:
    """What is loaded by now, libraries mostly, need not be looked through by the garbage collector
    again and again."""
    froze = gc.get_freeze_count() == 0
    if froze:
        gc.freeze()
    try:
        yield
    finally:
        if froze:
            gc.unfreeze()


def _log_buffer(samples: int) -> int:
    """Finished samples between two writes of the log: Inspect's own rule, which it cannot apply
    to a data set that is empty at the start. Trajectories are written one by one."""
    return max(1, min(samples // 3, 10))
