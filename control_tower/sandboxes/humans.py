"""Commands that a human on the host runs in a sandbox, with a terminal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironment


class ForHumans(ABC):
    """A sandbox in which a human on the host can run a command with a terminal."""

    @abstractmethod
    async def human_command(self, cmd: Sequence[str]) -> list[str]:
        """What runs `cmd` from the host, as the agent, in the workspace, isolated as the agent is.

        The process that has the sandbox must live meanwhile.

        Args:
            cmd: program and arguments.

        Raises:
            ConnectionError: the sandbox has ended.
        """


async def human_command(box: SandboxEnvironment, cmd: Sequence[str]) -> list[str] | None:
    """What runs `cmd` in `box` from the host with a terminal; None if the sandbox has no way.

    Args:
        box: the sandbox, or Inspect's proxy of it.
        cmd: program and arguments.

    Raises:
        ConnectionError: the sandbox has ended.
    """
    found = _for_humans(box)
    return None if found is None else await found.human_command(cmd)


def _for_humans(box: Any) -> ForHumans | None:
    if isinstance(box, ForHumans):
        return box
    try:
        found: ForHumans = box.as_type(ForHumans)
    except (AttributeError, TypeError):
        return None
    return found
