"""The provider that Inspect knows as `ct-docker`. Importing this module registers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, overload

import anyio
import anyio.to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    sandboxenv,
)
from typing_extensions import override

from control_tower.sandboxes.checking import ChecksApart
from control_tower.sandboxes.docker.bubblewrap import Bubblewrap
from control_tower.sandboxes.docker.checks import run_check
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import RUN_LABEL
from control_tower.sandboxes.docker.place import Place, as_result, human_command, shell_command
from control_tower.sandboxes.docker.readiness import Readiness
from control_tower.sandboxes.docker.sample import Sample
from control_tower.sandboxes.docker.service import Service
from control_tower.sandboxes.docker.startup import start_sample
from control_tower.sandboxes.errors import KnownStartFailure
from control_tower.sandboxes.humans import ForHumans
from control_tower.sandboxes.isolation import Isolates
from control_tower.sandboxes.leftovers import remove_leftovers

NAME = "ct-docker"
"""The provider's name in Inspect's registry."""


@sandboxenv(name=NAME)
class DockerSandbox(SandboxEnvironment, ChecksApart, Isolates, ForHumans):
    """One service of a sample's containers.

    Commands in the service `default` run as the environment's agent unless they name a user, and
    start in the workspace. Those of other services run as the container's own user, in its folder.
    """

    _running: ClassVar[dict[str, tuple[DockerConfig, Sample]]] = {}
    """The samples that are up, or half made and not yet removed, by name; on the class because
    Inspect calls class methods to clean up."""

    def __init__(
        self, sample: Sample, service: str, config: DockerConfig, readiness: Readiness
    ) -> None:
        super().__init__()
        self.sample = sample
        self._config = config
        agent = readiness.agent if service == AGENTS_SERVICE else None
        self._service = Service(Place(sample.calls, sample.containers[service]), agent)

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
        """Run a command, in the service `default` as the agent where no user is named.

        Of each stream the last `MAX_EXEC_OUTPUT_SIZE` bytes are kept. The call is over when the
        command is; a daemon that it left behind and that holds its output open delays that by two
        seconds. At a timeout, and when the caller is cancelled, the command is killed with all
        that it started, except for daemons that had left it before. A folder that cannot be
        entered gives exit code 125, a program that is not found 127, a user that does not exist
        126 with the engine's words.

        Args:
            cmd: program and arguments.
            input: standard input.
            cwd: working folder; a relative one is taken from the workspace, or from the folder of
                the service.
            env: variables added to the container's own.
            user: name or number; an isolated agent's own commands can name only its own.
            timeout: seconds.
            timeout_retry: not used: what took its time once would do so again.
            concurrency: not used: a slow command must not keep other samples' commands waiting.

        Raises:
            SandboxUnavailableError: the container has ended, or the engine is not there.
            SandboxUserUnsupportedError: an isolated agent's own command names another user.
            TimeoutError: the time was up; with what had been written as `truncated_output`.
            PermissionError: the program may not be executed.
        """
        done = await self._service.run(
            cmd,
            input=input.encode() if isinstance(input, str) else input,
            cwd=await self._service.resolve(cwd),
            env=env,
            user=user,
            limit=SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            timeout=timeout,
        )
        if done.denied:
            raise PermissionError(f"{cmd[0]}: permission denied")
        return as_result(done)

    @override
    async def exec_check(
        self, cmd: Sequence[str], *, input: str, timeout: float | None
    ) -> ExecResult[str]:
        """Run a scorer's check in the workspace, as root and not confined.

        The variable `CT_AS_AGENT` holds the prefix for commands that the agent may have altered.
        A container that is gone is a failed check, exit code 137: the agent may have ended it.

        Args:
            cmd: program and arguments.
            input: standard input.
            timeout: seconds.

        Raises:
            TimeoutError: the time was up; nothing of the check runs any more.
        """
        config, confinement = self._config, self._confinement
        return await run_check(
            self._service.place,
            cmd,
            agent_user=config.agent_user,
            confined=confinement.prefix() if confinement else (),
            workspace=config.workspace,
            input=input,
            timeout=timeout,
        )

    @override
    def isolated(self, cmd: Sequence[str]) -> list[str]:
        """The command that runs `cmd` in bubblewrap, if the sandbox isolates the agent."""
        confinement = self._confinement
        return confinement.command(cmd) if confinement else list(cmd)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, and the folders above it, as the agent.

        Raises:
            IsADirectoryError: `file` is a folder.
            PermissionError: the agent may not write it, or it is no regular file.
            OSError: no space is left.
            SandboxUnavailableError: the container has ended.
            TimeoutError: it took more than two minutes.
        """
        data = contents.encode() if isinstance(contents, str) else bytes(contents)
        await self._service.write(file, data)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file as the agent; newlines are kept as they are.

        Raises:
            FileNotFoundError: there is no such file.
            IsADirectoryError: it is a folder.
            PermissionError: the agent may not read it, or it is no regular file.
            UnicodeDecodeError: text was asked for and it is not UTF-8.
            OutputLimitExceededError: it is bigger than `MAX_READ_FILE_SIZE` bytes.
            SandboxUnavailableError: the container has ended.
            TimeoutError: it took more than two minutes.
        """
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        contents = await self._service.read(file, limit + 1)
        if len(contents) > limit:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return contents.decode() if text else contents

    @override
    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        """A shell in the container for a human on the host.

        Raises:
            ConnectionError: the container has ended.
        """
        service, name = self._service, await self._container_name()
        folder = await service.resolve(None)
        command = shell_command(name, user=service.user(user), folder=folder)
        attach = ["remote-containers.attachToRunningContainer", name]
        return SandboxConnection(
            type="docker",  # whose connections Inspect knows how to use
            command=command,
            vscode_command=None if user else attach,
            container=name,
        )

    @override
    async def human_command(self, cmd: Sequence[str]) -> list[str]:
        """What runs `cmd` from the host, as the agent, isolated as the agent is.

        Raises:
            ConnectionError: the container has ended.
        """
        name, service = await self._container_name(), self._service
        folder = await service.resolve(None)
        return human_command(name, self.isolated(cmd), user=service.user(None), folder=folder)

    @override
    def default_polling_interval(self) -> float:
        """Seconds between two looks of a sandbox service."""
        return 0.2

    @override
    @classmethod
    def default_concurrency(cls) -> int | None:
        """No limit on samples; how much is asked of the engine at once is `EngineCalls`' own."""
        return None

    @override
    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> DockerConfig:
        """The configuration from what its model was dumped to."""
        return DockerConfig.model_validate(config)

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
            raise KnownStartFailure(config.problem)
        readiness = Readiness(config)
        run = {RUN_LABEL: str(metadata["run_id"])} if "run_id" in metadata else None

        def keep(sample: Sample) -> None:
            cls._running[sample.name] = (config, sample)

        sample = await start_sample(config, run, probe=readiness.probe, keep=keep)
        keep(sample)
        services = sorted(sample.containers, key=lambda service: service != AGENTS_SERVICE)
        return {service: cls(sample, service, config, readiness) for service in services}

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
        samples = [environment.as_type(cls).sample for environment in environments.values()]
        for sample in {sample.name: sample for sample in samples}.values():
            await cls._remove(sample)

    @override
    @classmethod
    async def task_cleanup(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, cleanup: bool
    ) -> None:
        """Remove what samples of a configuration left, at the end of its run.

        Inspect's task name does not tell whose they are: it is `shutdown` for all.
        """
        if cleanup:
            left = [sample for of, sample in cls._running.values() if of == config]
            async with anyio.create_task_group() as group:
                for sample in left:
                    group.start_soon(cls._remove, sample)

    @override
    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Remove what runs that were killed left behind."""
        await anyio.to_thread.run_sync(remove_leftovers)

    @classmethod
    async def _remove(cls, sample: Sample) -> None:
        with anyio.CancelScope(shield=True):
            await sample.remove()
        cls._running.pop(sample.name, None)

    async def _container_name(self) -> str:
        state = await self._service.place.state()
        if state is None or not state["State"]["Running"]:
            raise ConnectionError("the sandbox's container has ended")
        return str(state["Name"]).lstrip("/")

    @property
    def _confinement(self) -> Bubblewrap | None:
        agent = self._service.agent
        return agent.confinement if agent else None
