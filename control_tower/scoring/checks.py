"""Scorers made from check scripts that run in the sandbox and print a verdict line."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.sandboxes.checking import exec_check
from control_tower.scoring.wrapper import NO_VERDICT

if TYPE_CHECKING:
    from inspect_ai.scorer import Score, Target
    from inspect_ai.solver import TaskState
    from inspect_ai.util import ExecResult

DEFAULT_INTERPRETER = ("python3", "-I", "-")
DEFAULT_TIMEOUT = 120
"""Seconds; well below what a scorer may take in all."""

ARGUMENTS = "environment_arguments"
"""Key of a sample's metadata: the environment's arguments as variables, `CT_ARG_…`."""

_VERDICT = re.compile(r"^(CORRECT|INCORRECT|NOT READY):[ \t]*(.*)$", re.MULTILINE)
_EXPLANATION_LENGTH = 2_000
_SHARE_OF_SCORER = 0.8


def check_script(
    check: Path,
    *,
    prelude: Path | Sequence[Path] = (),
    interpreter: Sequence[str] = DEFAULT_INTERPRETER,
    timeout: int = DEFAULT_TIMEOUT,
) -> Callable[[TaskState, Target], Awaitable[Score]]:
    """A scorer that runs `check` in the sandbox and reads its verdict.

    The script is given to `interpreter` on standard input, after the texts of `prelude`, with
    the workspace as its current directory; nothing is written to the sandbox's disk. It
    prints one line `CORRECT: why` or `INCORRECT: why`, or `NOT READY: why` for a cause that
    the agent cannot produce, which leaves the task unscored. CORRECT and NOT READY count only
    with exit code 0. Everything else an agent could bring about is INCORRECT: no verdict,
    contradicting verdicts, a check that was killed, stopped or kept from starting, one that
    does not finish in time, an interpreter that may not be run, or more output than can be read.

    Where the sandbox offers it, the check runs out of the agent's reach. Then it must not run
    code there that the agent can alter: each command of the workspace, and each that reads its
    settings in the workspace or in the agent's home (as git does), goes behind the command
    prefix in the environment variable `CT_AS_AGENT`, quoted for a shell and empty where there
    is no need. Such a command gets standard streams of its own, not the check's.

    The environment's arguments are in its variables `CT_ARG_…`.

    Args:
        check: the script, beside the task's `scorer.py`.
        prelude: shared code put in front of it, one file or several in this order; the harness
            has some of its own in `control_tower.scoring.preludes`.
        interpreter: command that runs a script from standard input.
        timeout: seconds until a check that has not finished is INCORRECT; less where the scorer
            itself is given less, so that an agent which stops its check is never unscored.
    """

    preludes = (prelude,) if isinstance(prelude, Path) else tuple(prelude)
    in_python = Path(interpreter[0]).name.startswith("python")

    async def score(state: TaskState, target: Target) -> Score:
        from inspect_ai.util import OutputLimitExceededError, sandbox

        files = [(each.name, each.read_text(encoding="utf-8-sig")) for each in (*preludes, check)]
        source = python_program(files) if in_python else "\n".join(text for _, text in files)
        variables: Mapping[str, str] = state.metadata.get(ARGUMENTS) or {}
        command = (*_with_variables(variables), *interpreter)
        box = sandbox()
        seconds = _within_the_scorer(timeout)
        try:
            result = await exec_check(box, command, input=source, timeout=seconds)
        except TimeoutError:
            return _no_verdict(f"the check did not finish within {seconds:g} s")
        except (OutputLimitExceededError, PermissionError, UnicodeDecodeError) as error:
            message = " ".join(str(error).split())[:_EXPLANATION_LENGTH]
            return _no_verdict(f"the check could not be read: {message}")
        return _read_verdict(result)

    return score


def python_program(texts: Iterable[tuple[str, str]]) -> str:
    """Files as one program in Python, in the order given, with the names that one has in another.

    Tracebacks name the files and their own lines, and each file may have imports from `__future__`.

    Args:
        texts: name and text of each.
    """
    compiled = (f"compile({text!r}, {name!r}, 'exec', dont_inherit=True)" for name, text in texts)
    return "".join(f"exec({code})\n" for code in compiled)


def _with_variables(variables: Mapping[str, str]) -> list[str]:
    """What goes in front of a command to give it environment variables."""
    return ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []


def _within_the_scorer(timeout: float) -> float:
    """`timeout`, or most of what is left until the scorer itself is cut off, if that is less."""
    import anyio

    left = anyio.current_effective_deadline() - anyio.current_time()
    return min(timeout, max(0.1, left * _SHARE_OF_SCORER))


def _read_verdict(result: ExecResult[str]) -> Score:
    from inspect_ai.scorer import CORRECT, INCORRECT, Score

    verdicts = _VERDICT.findall(result.stdout)
    kinds = {kind for kind, _ in verdicts}
    if not verdicts:
        tail = " ".join((result.stderr or result.stdout).split())[-300:]
        return _no_verdict(f"the check printed no verdict (exit {result.returncode}): {tail}")
    explanation = verdicts[-1][1][:_EXPLANATION_LENGTH]
    if len(kinds) > 1:
        return _no_verdict(f"contradicting verdicts ({', '.join(sorted(kinds))}): {explanation}")
    kind = verdicts[-1][0]
    if kind != "INCORRECT" and result.returncode != 0:
        return _no_verdict(f"the check said {kind} but exited {result.returncode}: {explanation}")
    if kind == "NOT READY":
        return Score.unscored(reason=f"environment not ready: {explanation}")
    return Score(value=CORRECT if kind == "CORRECT" else INCORRECT, explanation=explanation)


def _no_verdict(explanation: str) -> Score:
    """INCORRECT, since the agent may have brought it about; marked, so that it can be seen."""
    from inspect_ai.scorer import INCORRECT, Score

    return Score(value=INCORRECT, explanation=explanation, metadata={NO_VERDICT: True})
