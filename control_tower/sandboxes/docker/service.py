"""One service of a sample: as whom its commands run, where they start, and what confines them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from inspect_ai.util import SandboxUnavailableError

from control_tower.sandboxes.docker.agent import Agent
from control_tower.sandboxes.docker.commands import Finished, run_command
from control_tower.sandboxes.docker.execution import ContainerUnavailable
from control_tower.sandboxes.docker.place import SAFE, Place
from control_tower.sandboxes.files import failure, read_command, write_command
from control_tower.sandboxes.isolation import is_agents_own

_FILE_TIMEOUT = 120.0
"""Seconds that reading or writing one file may take."""
_HELPER = {**SAFE, "LC_ALL": "C"}
"""Keeps the words of helpers in English, to be recognised."""
_SAID = 4096


class Service:
    """Commands and files of one service.

    Args:
        place: its container.
        agent: who works there; None in a service other than the agent's, whose commands run as the
            container's own user, in its folder.
    """

    def __init__(self, place: Place, agent: Agent | None) -> None:
        self.place = place
        self.agent = agent
        self._folder = agent.workspace if agent else None

    def user(self, named: str | None) -> str | None:
        """As whom a command runs that names a user, or none."""
        return named or (self.agent.user if self.agent else None)

    async def run(
        self,
        cmd: Sequence[str],
        *,
        cwd: str,
        limit: int,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> Finished:
        """Run a command, confined if it is an isolated agent's own; see `run_command`.

        Raises:
            SandboxUserUnsupportedError: it is an isolated agent's own, and names another user.
            SandboxUnavailableError: the container does not run.
            CommandTimeout: the time was up.
        """
        command = self._confined(cmd, user) if is_agents_own() else cmd
        try:
            return await run_command(
                self.place.calls,
                self.place.container,
                command,
                user=self.user(user),
                cwd=cwd,
                limit=limit,
                input=input,
                env=env,
                timeout=timeout,
            )
        except ContainerUnavailable as gone:
            raise SandboxUnavailableError(str(gone)) from gone

    async def read(self, file: str, limit: int) -> bytes:
        """A file's first `limit` bytes.

        Raises:
            OSError: it cannot be read, of the kind that `failure` gives.
        """
        return await self._help(file, read_command(await self.resolve(file), limit), limit)

    async def write(self, file: str, contents: bytes) -> None:
        """Write a file, and the folders above it.

        Raises:
            OSError: it cannot be written, of the kind that `failure` gives.
        """
        await self._help(file, write_command(await self.resolve(file)), _SAID, contents)

    async def resolve(self, path: str | None) -> str:
        """An absolute path; a relative one is taken from the workspace or the service's folder."""
        if self._folder is None:
            self._folder = await self.place.folder()
        return posixpath.join(self._folder, path or "")

    def _confined(self, cmd: Sequence[str], user: str | None) -> Sequence[str]:
        if self.agent is None or self.agent.confinement is None:
            return cmd
        self.agent.check_user(user)
        return self.agent.confinement.command(cmd)

    async def _help(
        self, file: str, command: list[str], limit: int, input: bytes | None = None
    ) -> bytes:
        """What a helper of ours prints about a file."""
        done = await self.run(
            command, cwd="/", limit=limit, input=input, env=_HELPER, timeout=_FILE_TIMEOUT
        )
        if done.returncode != 0:
            raise failure(file, done.returncode, done.stderr)
        return done.stdout
