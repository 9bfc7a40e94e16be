"""The provider that Inspect knows as `ct-docker`. Importing this module registers it."""

from __future__ import annotations

import errno
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Literal, overload

import anyio
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    sandboxenv,
)
from typing_extensions import override

from control_tower._inspect_compat import InspectDocker, parts_of
from control_tower.sandboxes.checking import AS_AGENT, ChecksApart
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.files import failure, read_piece_command, write_command

NAME = "ct-docker"
"""The provider's name in Inspect's registry."""

_FILE_TIMEOUT = 120
"""Seconds for one step of reading or writing a file."""
_PIECE = 6 * 2**20
"""Bytes that are read at once: in base64 they fit into what Inspect takes from one command."""

_PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
"""For our own commands: an image's path may hold folders that the agent can write."""

_AS_ROOT = f"""
uid=$(id -u "$0") && gid=$(id -g "$0") || exit 125
if [ "$uid" != 0 ]; then
    {AS_AGENT}="setpriv --reuid=$uid --regid=$gid --init-groups --reset-env --"
fi
export {AS_AGENT}
exec "$@"
"""
"""A check runs as root, out of the agent's reach, unless the agent is root itself."""


@sandboxenv(name=NAME)
class DockerSandbox(InspectDocker, ChecksApart):
    """One service of a sample's containers, on top of Inspect's own provider.

    Commands in the service `default` run as the environment's agent unless they name a user.
    """

    def __init__(self, inner: InspectDocker, config: DockerConfig, service: str) -> None:
        agents = service == AGENTS_SERVICE
        parts = parts_of(inner)
        folder = config.workspace if agents else parts.working_dir
        super().__init__(service, parts.project, folder)
        self._config = config
        self._agent = config.agent_user if agents else None

    @override
    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command, as the agent where no user is named; see Inspect's Docker provider.

        Inspect's limit on commands at once, `concurrency`, is not heeded: one agent's long commands
        would keep other samples, and their checks, waiting.
        """
        return await super().exec(
            cmd,
            input=input,
            cwd=cwd,
            env=env,
            user=user or self._agent,
            timeout=timeout,
            timeout_retry=timeout_retry,
            concurrency=False,
        )

    @override
    async def exec_check(
        self, cmd: Sequence[str], *, input: str, timeout: float | None
    ) -> ExecResult[str]:
        """Run a scorer's check in the workspace, as root.

        The variable `CT_AS_AGENT` holds the prefix for commands that the agent may have altered.

        Args:
            cmd: program and arguments.
            input: standard input.
            timeout: seconds; whole ones, at least one, are used.

        Raises:
            TimeoutError: the time was up.
        """
        try:
            return await super().exec(
                ["/bin/sh", "-c", _AS_ROOT, self._config.agent_user, *cmd],
                input=input,
                cwd=self._config.workspace,
                env=_PATH,
                user="root",
                timeout=None if timeout is None else max(1, int(timeout)),
                timeout_retry=False,
                concurrency=False,
            )
        except SandboxUnavailableError as gone:  # the agent may have ended its container
            return ExecResult(False, 137, "", str(gone))

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file as the agent; newlines are kept as they are.

        Inspect's own way copies it out of the container as root.

        Raises:
            FileNotFoundError: there is no such file.
            IsADirectoryError: it is a folder.
            PermissionError: the agent may not read it, or it is no regular file.
            UnicodeDecodeError: text was asked for and it is not UTF-8.
            OutputLimitExceededError: it is bigger than `MAX_READ_FILE_SIZE` bytes.
        """
        contents = bytearray()
        path = self.container_file(file)
        while True:
            command = read_piece_command(path, len(contents), _PIECE)
            piece = _decoded(file, await self._helped(file, command))
            contents += piece
            if len(contents) > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
                limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR
                raise OutputLimitExceededError(limit, None)
            if len(piece) < _PIECE:
                return contents.decode() if text else bytes(contents)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file as the agent, and the folders above it.

        Raises:
            IsADirectoryError: it is a folder.
            PermissionError: the agent may not write it, or it is no regular file.
        """
        await self._helped(file, write_command(self.container_file(file)), contents)

    async def _unfit(self) -> str | None:
        """What the container lacks, before an agent can have brought that about; or None."""
        look = 'id -u "$0" >/dev/null && cd "$1"'
        done = await InspectDocker.exec(
            self,
            ["/bin/sh", "-c", look, self._config.agent_user, self._config.workspace],
            cwd="/",
            env=_PATH,
            user="root",
            timeout=_FILE_TIMEOUT,
        )
        if done.success:
            return None
        said = " ".join(done.stderr.split())
        return (
            f"the image of service '{AGENTS_SERVICE}' does not have the agent's user "
            f"'{self._config.agent_user}' and the workspace {self._config.workspace}: {said}"
        )

    async def _helped(self, file: str, command: list[str], input: str | bytes = "") -> str:
        """What a helper of ours prints."""
        done = await self.exec(
            command, input=input, cwd="/", env=_PATH, timeout=_FILE_TIMEOUT, timeout_retry=False
        )
        if not done.success:
            raise failure(file, done.returncode, done.stderr.encode())
        return done.stdout

    @override
    @classmethod
    def config_files(cls) -> list[str]:
        """No file of the current folder is taken for a configuration."""
        return []

    @override
    @classmethod
    def default_concurrency(cls) -> int | None:
        """No limit of the provider's own."""
        return None

    @override
    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> DockerConfig:
        """The configuration from what its model was dumped to."""
        return DockerConfig.model_validate(config)

    @override
    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Nothing: images are built before the eval, and a failure here would end all of it."""

    @override
    @classmethod
    async def task_init_environment(
        cls, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, str]:
        """Nothing depends on a sample: the compose file is resolved."""
        return {}

    @override
    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Start the sample's containers; if that fails, nothing of them is left.

        Raises:
            TypeError: the configuration is no `DockerConfig`.
            SandboxStartError: its images could not be built, or it did not come up.
        """
        if not isinstance(config, DockerConfig):
            raise TypeError(f"sandbox {NAME} takes a DockerConfig, not {config!r}")
        if config.problem is not None:
            raise SandboxStartError(config.problem)
        try:
            found = await super().sample_init(task_name, config.compose_file, {})
        except RuntimeError as error:
            raise SandboxStartError(str(error)) from error
        ours: dict[str, SandboxEnvironment] = {
            service: cls(environment.as_type(InspectDocker), config, service)
            for service, environment in found.items()
        }
        problem = await ours[AGENTS_SERVICE].as_type(DockerSandbox)._unfit()
        if problem is not None:
            await cls.sample_cleanup(task_name, config, ours, False)
            raise SandboxStartError(problem)
        return ours

    @override
    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Remove the sample's containers at once, interrupted or not."""
        with anyio.CancelScope(shield=True):
            path = config.compose_file if isinstance(config, DockerConfig) else None
            await super().sample_cleanup(task_name, path, environments, False)


def _decoded(file: str, text: str) -> bytes:
    try:
        return b64decode(text)
    except ValueError as error:
        raise OSError(errno.EIO, f"its contents arrived damaged: {error}", file) from None
