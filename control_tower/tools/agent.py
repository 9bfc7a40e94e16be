"""The tools an agent has in every environment."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from control_tower.tools.bash import bash
from control_tower.tools.editor import editor
from control_tower.tools.names import LONGEST_TIMEOUT, USUAL_TIMEOUT
from control_tower.tools.submit import submit

if TYPE_CHECKING:
    from inspect_ai.tool import Tool


@lru_cache(maxsize=64)
def agent_tools(
    workspace: str,
    *,
    timeout_seconds: int = USUAL_TIMEOUT,
    max_timeout_seconds: int = LONGEST_TIMEOUT,
    isolated: bool = False,
) -> tuple[Tool, ...]:
    """`bash`, `editor` and `submit`, working in `workspace` of the sample's sandbox.

    The tools keep no state, so samples share them.

    Args:
        workspace: absolute path in the sandbox; commands start and relative paths begin there.
        timeout_seconds: time a command gets when the agent asks for none.
        max_timeout_seconds: the most an agent can ask for.
        isolated: whether the sandbox isolates commands; the agent is told what follows.
    """
    return (
        bash(
            workspace,
            timeout_seconds=timeout_seconds,
            max_timeout_seconds=max_timeout_seconds,
            isolated=isolated,
        ),
        editor(workspace),
        submit(),
    )
