"""Runs a test's coroutine inside an Inspect sample with the `local` sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.util import sandbox

from control_tower import scripted
from control_tower.tools.agent import agent_tools
from control_tower.tools.backends import SandboxedBackend

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspect_ai.model import ChatMessageTool

    Calls = list[tuple[str, dict[str, Any]]]


class Answers(list["ChatMessageTool"]):
    """Answers to a list of calls, in order."""

    @property
    def texts(self) -> list[str]:
        """What the agent sees: the error if there was one."""
        return [answer.error.message if answer.error else answer.text for answer in self]

    @property
    def failed(self) -> list[bool]:
        """Which calls were answered with an error."""
        return [answer.error is not None for answer in self]


@pytest.fixture
def use_tools(tmp_path: Path) -> Callable[..., Answers]:
    """Executes calls of the agent's tools in a sandbox.

    Files are written to the workspace first; `{workspace}` in string arguments is its path.
    Keyword arguments go to `agent_tools`.
    """

    def use(calls: Calls, files: dict[str, str | bytes] | None = None, **options: Any) -> Answers:
        answers = Answers()

        @solver
        def agent() -> Any:
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                workspace = (await sandbox().exec(["pwd"])).stdout.strip()
                for name, content in (files or {}).items():
                    await sandbox().write_file(name, content)
                placed = [(name, _placed(arguments, workspace)) for name, arguments in calls]
                message = scripted.calls(*placed).message
                tools = agent_tools(workspace, **options)
                answers.extend(await SandboxedBackend().execute(message, tools))
                return state

            return solve

        [log] = eval(
            Task(dataset=[Sample(input="x")], solver=agent(), sandbox="local"),
            model="mockllm/model",
            display="none",
            log_dir=str(tmp_path),
            log_realtime=False,
        )
        assert log.status == "success", log.error
        return answers

    return use


def _placed(arguments: dict[str, Any], workspace: str) -> dict[str, Any]:
    return {
        key: value.replace("{workspace}", workspace) if isinstance(value, str) else value
        for key, value in arguments.items()
    }
