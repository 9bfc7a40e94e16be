"""One container as a place where commands run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspect_ai.util import ExecResult

from control_tower.sandboxes.docker.calls import Body, EngineCalls
from control_tower.sandboxes.docker.commands import Finished, run_command
from control_tower.sandboxes.system_path import SYSTEM_PATH

SAFE = {"PATH": SYSTEM_PATH}
"""Variables for commands of our own: an image's path may hold folders that the agent can write."""

_SHELL = "command -v bash >/dev/null && exec bash -l; exec sh -l"
_TIMEOUT = 120.0
_SAID = 64 * 1024


@dataclass(frozen=True)
class Place:
    """A running container."""

    calls: EngineCalls
    container: str

    async def run(
        self,
        cmd: list[str],
        user: str,
        *,
        env: Mapping[str, str] = SAFE,
        privileged: bool = False,
    ) -> ExecResult[str]:
        """Run a command of ours as `user`, in the root folder; it may take two minutes.

        Args:
            cmd: program and arguments.
            user: name or number.
            env: variables added to the container's own.
            privileged: whether it has all powers over the container.

        Raises:
            ContainerUnavailable: the container does not run.
            CommandTimeout: the time was up.
        """
        done = await run_command(
            self.calls,
            self.container,
            cmd,
            user=user,
            cwd="/",
            limit=_SAID,
            env=env,
            timeout=_TIMEOUT,
            privileged=privileged,
        )
        return as_result(done)

    async def state(self) -> Body | None:
        """What the engine says of it; None if it has been removed."""
        from docker.errors import NotFound

        try:
            return await self.calls.inspect(self.container)
        except NotFound:
            return None

    async def folder(self) -> str:
        """The working folder of its own processes."""
        state = await self.state()
        return str(state["Config"]["WorkingDir"] or "/") if state else "/"

    async def put(self, archive: bytes) -> None:
        """Unpack a tar archive in the root folder, as root."""
        await self.calls.put(self.container, "/", archive)


def as_result(done: Finished) -> ExecResult[str]:
    """How a command ended, as Inspect puts it."""
    return ExecResult(
        success=done.returncode == 0,
        returncode=done.returncode,
        stdout=done.stdout.decode(errors="replace"),
        stderr=done.stderr.decode(errors="replace"),
    )


def shell_command(container: str, *, user: str | None, folder: str) -> str:
    """What a human on the host runs for a shell in a container."""
    shell = ["/bin/sh", "-c", _SHELL]
    return shlex.join(human_command(container, shell, user=user, folder=folder))


def human_command(
    container: str, cmd: Sequence[str], *, user: str | None, folder: str
) -> list[str]:
    """What a human on the host runs for a command in a container, with a terminal."""
    named = ["--user", user] if user else []
    return ["docker", "exec", "-it", *named, "--workdir", folder, container, *cmd]
