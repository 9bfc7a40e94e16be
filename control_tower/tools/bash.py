"""The `bash` tool: one command in the sample's sandbox."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspect_ai.tool import Tool, ToolCallContent, ToolCallView, ToolDef, ToolError, tool
from inspect_ai.util import OutputLimitExceededError, sandbox

from control_tower.tools.names import LONGEST_TIMEOUT, USUAL_TIMEOUT
from control_tower.tools.truncate import truncate

if TYPE_CHECKING:
    from inspect_ai.tool import ToolCall

RECORDED_OUTPUT = 131_072
"""Characters of a command's output that the tool passes on; bounds what the log holds."""

_LARGEST_ARGUMENT = 96 * 1024
"""Bytes of a command passed as an argument: Linux refuses one of more than 128 KiB."""

_EXIT_CODE = re.compile(r"^\[exit code (\d+)\]\Z", re.MULTILINE)

_DESCRIPTION = """\
Run a command with bash and see its output.

Each call starts a new shell in {workspace}. Files and background processes stay between calls; \
variables and the current directory do not. {limits}The output is stdout, then stderr, then the \
exit code if it is not 0. A command has no input and is stopped after {default} seconds unless \
`timeout_seconds` says otherwise. Start a program that should keep running like this: \
`setsid nohup PROGRAM > /tmp/program.log 2>&1 &`."""
_ISOLATED = "Only files in {workspace} and /tmp can be written. "


@tool(name="bash", max_output=0)
def bash(
    workspace: str,
    *,
    timeout_seconds: int = USUAL_TIMEOUT,
    max_timeout_seconds: int = LONGEST_TIMEOUT,
    isolated: bool = False,
) -> Tool:
    """The tool that runs a bash command in the sandbox.

    The shell is not a login shell, so the variables that the environment sets are kept.
    A command that fails is an ordinary answer; one that runs out of time or prints more than the
    sandbox accepts is a tool error that says what to do.

    Args:
        workspace: absolute path in the sandbox in which commands start.
        timeout_seconds: time allowed when the agent asks for none.
        max_timeout_seconds: the most an agent can ask for.
        isolated: whether the sandbox isolates commands; this only tells the agent so.
    """

    async def execute(command: str, timeout_seconds: int | None = None) -> str:
        allowed = default if timeout_seconds is None else min(timeout_seconds, max_timeout_seconds)
        if allowed < 1:
            raise ToolError(f"timeout_seconds must be at least 1, not {timeout_seconds}.")
        argv, script = _invocation(command)
        try:
            result = await sandbox().exec(
                argv, input=script, cwd=workspace, timeout=allowed, timeout_retry=False
            )
        except TimeoutError as error:
            raise ToolError(_timed_out(error, allowed, max_timeout_seconds)) from error
        except OutputLimitExceededError as error:
            raise ToolError(_too_much(error)) from error
        shown = answer_for(result.stdout, result.stderr, result.returncode)
        return truncate(shown, RECORDED_OUTPUT)

    default = min(timeout_seconds, max_timeout_seconds)
    description = _DESCRIPTION.format(
        workspace=workspace,
        default=default,
        limits=_ISOLATED.format(workspace=workspace) if isolated else "",
    )
    return ToolDef(
        execute,
        name="bash",
        description=description,
        parameters={
            "command": "The command or script to run.",
            "timeout_seconds": f"Seconds the command may take, at most {max_timeout_seconds}.",
        },
        viewer=_view,
    ).as_tool()


def _invocation(command: str) -> tuple[list[str], str | None]:
    if len(command.encode()) <= _LARGEST_ARGUMENT:
        return ["bash", "-c", command], None
    return ["bash", "-c", 'eval "$(cat)"'], command


def answer_for(stdout: str, stderr: str, exit_code: int) -> str:
    """What the tool answers for a command that has ended."""
    parts = [stdout, stderr]
    if exit_code != 0:
        parts.append(f"[exit code {exit_code}]")  # as `_EXIT_CODE` reads it
    shown = ""
    for part in parts:
        if shown and part and not shown.endswith("\n"):
            shown += "\n"
        shown += part
    return shown or "(no output)"


def shown_exit_code(output: str) -> int | None:
    """The exit code other than 0 that an answer of the tool states, or None."""
    found = _EXIT_CODE.search(output)
    return int(found[1]) if found else None


def _timed_out(error: TimeoutError, allowed: int, longest: int) -> str:
    lines = [f"The command did not finish within {allowed} seconds and was stopped."]
    partial = getattr(error, "truncated_output", None)
    if partial:
        lines.append(f"Until then it printed:\n{truncate(partial, RECORDED_OUTPUT)}")
    lines.append("What it had begun may be half done: look before you run it again.")
    if allowed < longest:
        lines.append(f"Allow more time with timeout_seconds (at most {longest}), or")
    else:
        lines.append("That is the longest a command may take:")
    lines.append("run it in the background with its output in a file, and look at that file later.")
    return "\n".join(lines)


def _too_much(error: OutputLimitExceededError) -> str:
    text = (
        f"The command printed more than {error.limit_str}, which cannot be shown. "
        "Send its output to a file and look at parts of it."
    )
    if not error.truncated_output:
        return text
    return f"{text} Part of it:\n{truncate(error.truncated_output, RECORDED_OUTPUT)}"


def _view(call: ToolCall) -> ToolCallView:
    command = str(call.arguments.get("command", ""))
    content = f"```bash\n{command}\n```\n"
    return ToolCallView(call=ToolCallContent(title="bash", format="markdown", content=content))
