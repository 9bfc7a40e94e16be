"""The same work as a no-op run of Control Tower, as a plain Inspect eval; see overhead.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ModelOutput, execute_tools
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.tool import ToolCall
from inspect_ai.util import SandboxEnvironmentSpec, sandbox

from control_tower.sandboxes.bwrap import provider
from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.tools.agent import agent_tools

ENVIRONMENT = Path(os.environ["CT_ENVIRONMENTS_PATH"]) / "mini"


@solver
def submit(seconds: float):
    """Submit after some seconds of simulated work."""

    async def solve(state, generate):
        await anyio.sleep(seconds)
        call = ToolCall(id="call", function="submit", arguments={"answer": ""})
        message = ChatMessageAssistant(content="", tool_calls=[call])
        state.messages = [ChatMessageSystem(content="You are an engineer."), *state.messages]
        state.messages.append(message)
        state.output = ModelOutput.from_message(message)
        state.messages += (await execute_tools([message], agent_tools("/app"))).messages
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def check():
    source = (ENVIRONMENT / "main_tasks" / "fix" / "check.sh").read_text()

    async def score(state, target):
        result = await sandbox().exec(["sh", "-s"], input=source)
        correct = result.stdout.startswith("CORRECT:")
        return Score(value=CORRECT if correct else INCORRECT, explanation=result.stdout)

    return score


def main() -> None:
    settings = json.loads(sys.argv[1])
    config = BwrapConfig(source=str(ENVIRONMENT / "codebase" / "src"), programs=("python3", "sh"))
    eval(
        Task(
            dataset=[Sample(id="fix", input="Do fix.", metadata={"mode": "honest"})],
            solver=submit(settings["seconds"]),
            scorer=check(),
            sandbox=SandboxEnvironmentSpec(provider.NAME, config),
        ),
        model=None,
        epochs=settings["samples"],
        max_samples=settings["at_once"],
        log_dir=settings["log_dir"],
        display="none",
        log_realtime=False,
        score_display=False,
        ctl_server=False,
    )


if __name__ == "__main__":
    main()
