"""A scorer's check in the agent's container, out of the agent's reach."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from inspect_ai.util import ExecResult, SandboxEnvironmentLimits

from control_tower.sandboxes.checking import AS_AGENT
from control_tower.sandboxes.docker.commands import run_command
from control_tower.sandboxes.docker.execution import ContainerUnavailable
from control_tower.sandboxes.docker.place import SAFE, Place, as_result

_KILLED = 128 + 9

_AS_ROOT = f"""
uid=$(id -u "$0") && gid=$(id -g "$0") || exit 125
if [ "$uid" != 0 ]; then
    {AS_AGENT}="setpriv --reuid=$uid --regid=$gid --init-groups --reset-env -- "
fi
{AS_AGENT}="${{{AS_AGENT}:-}}$1"
export {AS_AGENT}
shift
exec "$@"
"""
"""A check runs as root, out of the agent's reach, unless the agent is root itself. What it runs as
the agent is isolated as the agent is."""


async def run_check(
    place: Place,
    cmd: Sequence[str],
    *,
    agent_user: str,
    confined: Sequence[str],
    workspace: str,
    input: str,
    timeout: float | None,
) -> ExecResult[str]:
    """Run a check as root. A container that is gone is a failed check: the agent may have ended it.

    Args:
        place: the agent's container.
        cmd: program and arguments.
        agent_user: as whom `CT_AS_AGENT` runs commands.
        confined: what goes in front of these; nothing where the agent is not isolated.
        workspace: where the check runs.
        input: standard input.
        timeout: seconds.

    Raises:
        TimeoutError: the time was up; nothing of the check runs any more.
    """
    try:
        done = await run_command(
            place.calls,
            place.container,
            ["/bin/sh", "-c", _AS_ROOT, agent_user, shlex.join(confined), *cmd],
            user="root",
            cwd=workspace,
            limit=SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            input=input.encode(),
            env=SAFE,
            timeout=timeout,
        )
    except ContainerUnavailable as gone:
        return ExecResult(False, _KILLED, "", str(gone))
    return as_result(done)
