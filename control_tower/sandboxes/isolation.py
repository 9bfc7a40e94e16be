"""Which commands are the agent's own, and how they are kept apart from the rest of its sandbox."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironment

_agents_own: ContextVar[bool] = ContextVar("commands are the agent's own", default=False)


@contextlib.contextmanager
def agents_own() -> Iterator[None]:
    """What runs in a sandbox within this block, and in tasks started in it, is the agent's own.

    A sandbox that isolates the agent confines these commands and these reads and writes of files,
    and refuses those that are to run as another user than the agent's. Services of an environment
    that the agent may restart are its own too. All else, such as set-up scripts, scorers and what
    blue looks at, runs outside.
    """
    token = _agents_own.set(True)
    try:
        yield
    finally:
        _agents_own.reset(token)


def is_agents_own() -> bool:
    """Whether what runs now is the agent's own."""
    return _agents_own.get()


class Isolates(ABC):
    """A sandbox that can confine the agent's commands further than itself."""

    @abstractmethod
    def isolated(self, cmd: Sequence[str]) -> list[str]:
        """The command that runs `cmd` confined; `cmd` itself where isolation is not asked for.

        It is to be run as the agent, and ends with the process that runs it.
        """


def isolated(box: SandboxEnvironment, cmd: Sequence[str]) -> list[str]:
    """The command that runs `cmd` in `box` as the agent's own, if the sandbox isolates the agent.

    For one long process that is all of an agent, such as a coding agent's program. Single commands
    run in `agents_own`, and need no other.

    Args:
        box: the sandbox, or Inspect's proxy of it.
        cmd: program and arguments.
    """
    isolates = _isolates(box)
    return list(cmd) if isolates is None else isolates.isolated(cmd)


def _isolates(box: Any) -> Isolates | None:
    if isinstance(box, Isolates):
        return box
    try:
        found: Isolates = box.as_type(Isolates)
    except (AttributeError, TypeError):
        return None
    return found
