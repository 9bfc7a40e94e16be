"""Running one command in a sandbox, also when the agent kills what enters it.

The agent can kill every process of its own user that it sees, those that are just entering
included. While the sandbox's first process lives, which it cannot kill, that is the agent's doing:
it must neither look like a sandbox that broke nor spare it a verdict.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import anyio
import anyio.to_thread
from inspect_ai.util import SandboxUnavailableError

from control_tower.sandboxes.bwrap.entering import HELPER_ENVIRONMENT, Entrance
from control_tower.sandboxes.bwrap.holder import Holder
from control_tower.sandboxes.bwrap.running import Finished, run

_ATTEMPTS = 5
KILLED = 128 + 9
_DYING = 0.5
"""Seconds for a sandbox to be seen ending after one of its commands was killed."""

Compose = Callable[[Entrance, str], list[str]]
"""Makes a command line from the entrance and a marker, to be written to stderr once inside."""


async def run_inside(
    holder: Holder,
    compose: Compose,
    *,
    input: bytes | None,
    limit: int,
    timeout: float | None,
    check: bool = False,
) -> Finished:
    """Run a command; one that is killed at each attempt to enter has exit code 137.

    Args:
        holder: the sandbox.
        compose: makes the command line.
        input: standard input; None is an empty one.
        limit: bytes kept of each stream.
        timeout: seconds, for all attempts together.
        check: it is a scorer's: its streams are sockets, and no failure to enter a sandbox that
            lives is an error.

    Raises:
        SandboxUnavailableError: the sandbox has ended or, unless for a check, cannot be entered.
        TimeoutError: the time was up.
    """
    deadline = None if timeout is None else anyio.current_time() + timeout
    for _ in range(_ATTEMPTS):
        entrance = holder.entrance
        if entrance is None or not holder.alive():
            raise SandboxUnavailableError("the sandbox has ended")
        marker = secrets.token_hex(8)
        done = await run(
            compose(entrance, marker),
            input=input,
            env=HELPER_ENVIRONMENT,
            limit=limit,
            prelude=len(marker),
            timeout=None if deadline is None else max(0.0, deadline - anyio.current_time()),
            sockets=check,
            pass_fds=(entrance.inner,),
        )
        if done.prelude == marker.encode():
            if check and done.returncode == KILLED:
                await _refuse_ended(holder)
            return done
    if check:
        await _refuse_ended(holder)
    said = (done.prelude + done.stderr).decode(errors="replace").strip()
    if check or done.returncode > 128:
        words = f"killed while entering the sandbox, {_ATTEMPTS} times: {said or 'no message'}"
        return Finished(KILLED, b"", words.encode(), b"")
    raise SandboxUnavailableError(f"the sandbox cannot be entered: {said or 'it has ended'}")


async def _refuse_ended(holder: Holder) -> None:
    """Raise if the sandbox is ending: its commands are killed a moment before it is gone."""
    if await anyio.to_thread.run_sync(holder.ended, _DYING):
        raise SandboxUnavailableError("the sandbox has ended")
