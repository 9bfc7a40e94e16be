"""Running a scorer's check beside the agent, out of the agent's reach where a sandbox offers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.util import ExecResult, SandboxEnvironment

AS_AGENT = "CT_AS_AGENT"
"""The variable with a command prefix, quoted for a shell, under which a check must run whatever
the agent can alter: programs of the workspace, and programs that read their settings there. It is
empty in a sandbox where a check is the agent's own process anyway."""


class ChecksApart(ABC):
    """A sandbox that runs checks where the agent can end them but neither read nor alter them."""

    @abstractmethod
    async def exec_check(
        self, cmd: Sequence[str], *, input: str, timeout: float | None
    ) -> ExecResult[str]:
        """Run a check in the workspace; the agent's killing it is a failed result, no error."""


async def exec_check(
    box: SandboxEnvironment, cmd: Sequence[str], *, input: str, timeout: float
) -> ExecResult[str]:
    """Run a check in the workspace of `box`, apart from the agent if the provider can.

    Args:
        box: the sandbox, or Inspect's proxy of it.
        cmd: program and arguments; no text that is to be kept from the agent, who sees them.
        input: standard input.
        timeout: seconds.

    Raises:
        TimeoutError: the time was up.
    """
    apart = _apart(box)
    if apart is not None:
        return await apart.exec_check(cmd, input=input, timeout=timeout)
    return await box.exec(
        list(cmd),
        input=input,
        env={AS_AGENT: ""},
        timeout=max(1, int(timeout)),
        timeout_retry=False,
    )


def _apart(box: Any) -> ChecksApart | None:
    if isinstance(box, ChecksApart):
        return box
    try:
        found: ChecksApart = box.as_type(ChecksApart)
    except (AttributeError, TypeError):
        return None
    return found
