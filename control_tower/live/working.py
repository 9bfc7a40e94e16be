"""What a session's process does in its sandbox, within the sample's context."""

from __future__ import annotations

import posixpath
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai.scorer import Target
from inspect_ai.util import OutputLimitExceededError, sandbox

from control_tower import scripted
from control_tower.episode.outcome import TaskResult
from control_tower.live.choosing import chosen_by
from control_tower.live.copies import resolved
from control_tower.live.session import Session
from control_tower.live.shells import shell_of_human
from control_tower.live.steps import Entry, StepLog
from control_tower.live.wire import INTERRUPTED
from control_tower.sandboxes.humans import human_command
from control_tower.sandboxes.isolation import agents_own
from control_tower.sandboxes.listening import Hear, listening
from control_tower.scoring.wrapper import load_scorer, run_scorer
from control_tower.tools.agent import agent_tools
from control_tower.tools.backends import SandboxedBackend
from control_tower.tools.bash import shown_exit_code

if TYPE_CHECKING:
    from inspect_ai.solver import TaskState

_FILES_TIMEOUT = 300
"""Seconds that packing or unpacking files may take."""
_SAID = 500
_HANG_UP = (
    'for p in /proc/[0-9]*; do grep -qas -e "$1" "$p/environ" && kill -HUP "${p#/proc/}"; done'
)
_IS_THERE = '[ -L "$1" ] || [ -r "$1" ]'
_CAN_HAVE = 'mkdir -p -- "$1" && [ -d "$1" ] && [ -w "$1" ]'
_CUT_OFF = "The command was interrupted."
TIMED_OUT = 124
"""The exit code of a command that ran out of time, as of `timeout`."""


class Refused(Exception):
    """A request that cannot be done; the text says why."""


@dataclass
class Work:
    """The work of one session's process."""

    session: Session
    steps: StepLog
    state: TaskState
    isolated: bool
    """Whether the sandbox isolates the agent's commands."""
    _scoring: anyio.Lock = field(default_factory=anyio.Lock)

    async def exec(self, command: str, seconds: int | None, hear: Hear) -> dict[str, Any]:
        """Run a command as the agent's `bash` tool does, and record it.

        Args:
            command: of bash.
            seconds: that it may take; None for the tool's default.
            hear: gets what it prints, as it does so, where the sandbox can tell.
        """
        arguments: dict[str, Any] = {"command": command}
        if seconds is not None:
            arguments["timeout_seconds"] = seconds
        message = scripted.call("bash", arguments).message
        tools = agent_tools(self.session.workspace, isolated=self.isolated)
        began = time.monotonic()
        try:
            with listening(hear):
                [answer] = await SandboxedBackend().execute(message, tools)
        except BaseException:  # the client has gone; what was begun may have had its effect
            self.steps.add(
                Entry(
                    kind="exec",
                    command=command,
                    error=_CUT_OFF,
                    code=INTERRUPTED,
                    timeout=seconds,
                    seconds=time.monotonic() - began,
                )
            )
            raise
        error = answer.error.message if answer.error else None
        code = TIMED_OUT if error else shown_exit_code(answer.text) or 0
        entry = Entry(
            kind="exec",
            command=command,
            output=answer.text,
            error=error,
            code=code,
            timeout=seconds,
            seconds=time.monotonic() - began,
        )
        self.steps.add(entry)
        return {"output": answer.text, "error": error, "code": code}

    async def shell(self, mark: str) -> list[str]:
        """What runs a shell from the host, with a terminal.

        Args:
            mark: see `shell_of_human`.

        Raises:
            Refused: the sandbox has no way in for humans, or no bash.
        """
        with agents_own():
            there = await sandbox().exec(["sh", "-c", "command -v bash"], timeout_retry=False)
        if not there.success:
            raise Refused("the sandbox has no bash, and the agent's tool needs it, too")
        argv = await human_command(sandbox(), shell_of_human(mark))
        if argv is None:
            raise Refused("this sandbox has no way in for humans; use `ct live exec`")
        return argv

    async def hang_up(self, mark: str) -> None:
        """End a shell whose terminal is gone, as the loss of a terminal does.

        Not every sandbox lets the loss of the terminal reach it.
        """
        await sandbox().exec(["sh", "-c", _HANG_UP, "sh", mark], timeout_retry=False)

    async def put(self, target: str, name: str, archive: bytes, entry: Entry) -> str:
        """Unpack a tar of one file or folder, named `x`, as `target`; returns where it is.

        A target that is a folder, or ends in a slash, gets it under `name`. The entry is recorded,
        with the target in its command.
        """
        place = await self._target(target, name)
        folder, name = posixpath.split(place)
        script = (
            'set -e; mkdir -p -- "$1"; cd -- "$1"; t=$(mktemp -d ./.ct-XXXXXX); '
            'trap \'rm -rf -- "$t"\' EXIT; tar -xpof - -C "$t"; '
            'if [ -d "$t/x" ] && [ -d "$2" ]; then cp -a -- "$t/x/." "$2/"; '
            'else mv -fT -- "$t/x" "$2"; fi'
        )
        with agents_own():
            can = await sandbox().exec(["sh", "-c", _CAN_HAVE, "sh", folder], timeout_retry=False)
        if not can.success:
            raise Refused(f"the agent cannot write to {folder} in the sandbox")
        await self._run(["sh", "-c", script, "sh", folder, name], archive)
        entry.command = resolved(entry.command, place)
        self.steps.add(entry)
        return place

    async def get(self, path: str) -> bytes:
        """A tar of a file or folder, under its own name."""
        place = posixpath.normpath(posixpath.join(self.session.workspace, path))
        folder, name = posixpath.split(place)
        if not name:
            raise Refused("all of the sandbox cannot be copied; name a file or folder in it")
        packed = f"/tmp/.ct-live-{secrets.token_hex(6)}.tar"
        with agents_own():
            there = await sandbox().exec(["sh", "-c", _IS_THERE, "sh", place], timeout_retry=False)
            if not there.success:
                raise Refused(f"there is no {place} in the sandbox, or the agent cannot read it")
            try:
                await self._run(["tar", "-cf", packed, "-C", folder, "--", name], b"")
                return await sandbox().read_file(packed, text=False)
            except OutputLimitExceededError as error:
                raise Refused(f"it is bigger than {error.limit_str}") from None
            except (OSError, ValueError) as error:
                raise Refused(str(error)) from None
            finally:
                await sandbox().exec(["rm", "-f", "--", packed], timeout_retry=False)

    async def score(self) -> dict[str, TaskResult]:
        """Score every task that has a scorer now, by `main` and `side`; once at a time.

        Raises:
            UsageProblem: the environment or a scorer is broken.
        """
        async with self._scoring:
            return await self._score()

    async def _score(self) -> dict[str, TaskResult]:
        combination = chosen_by(self.session).combination
        found: dict[str, TaskResult] = {}
        for which, task in (("main", combination.main_task), ("side", combination.side_task)):
            if task is None:
                continue
            if task.scorer is None:
                found[which] = TaskResult(
                    success=None, explanation="the task has no scorer", no_scorer=True
                )
                continue
            scorer = load_scorer(task.scorer)
            score = await run_scorer(scorer, self.state, Target(""), timeout=_SCORER_TIMEOUT)
            found[which] = TaskResult(
                success=score.success,
                explanation=score.explanation,
                no_verdict=score.no_verdict,
            )
        return found

    async def _target(self, target: str, name: str) -> str:
        place = posixpath.join(self.session.workspace, target)
        with agents_own():
            is_folder = await sandbox().exec(["test", "-d", place], timeout_retry=False)
        if target.endswith("/") or is_folder.success:
            place = posixpath.join(place, name)
        return posixpath.normpath(place)

    async def _run(self, cmd: list[str], data: bytes) -> None:
        with agents_own():
            try:
                done = await sandbox().exec(
                    cmd, input=data, timeout=_FILES_TIMEOUT, timeout_retry=False
                )
            except TimeoutError:
                raise Refused(f"it was not done within {_FILES_TIMEOUT} s") from None
        if not done.success:
            said = (done.stderr.strip() or done.stdout.strip()).split("\n")[0][:_SAID]
            raise Refused(said or f"exit code {done.returncode}")


_SCORER_TIMEOUT = 600.0
"""Seconds, as in runs where nobody says otherwise."""


async def until_gone(stream: Any) -> None:
    """Wait until the client goes away; what it sends meanwhile is not looked at."""
    while True:
        try:
            await stream.receive(65536)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
