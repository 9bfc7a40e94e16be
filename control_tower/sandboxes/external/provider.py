"""The provider that Inspect knows as `ct-external`. Importing this module registers it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeVar, overload

import anyio
from inspect_ai.util import (
    ExecResult,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from typing_extensions import override

from control_tower._inspect_compat import InspectLocal, plain_message
from control_tower.sandboxes.errors import KnownStartFailure, SandboxStartError
from control_tower.sandboxes.external.config import ExternalConfig
from control_tower.sandboxes.external.placing import placed
from control_tower.sandboxes.external.types import provider_of

NAME = "ct-external"
"""The provider's name in Inspect's registry."""

_TIMEOUT = 60
"""Seconds for one step of making the workspace."""
_IS_USER = """
case "$0" in
*[!0-9]*) wanted=$(id -u "$0") || exit ;;
*) wanted=$0 ;;
esac
test "$(id -u)" = "$wanted"
"""
"""Whether it runs as the user: some providers run every command as the same one."""
_MAKE_WORKSPACE = """
test -d "$0" && exit
new="$0.new-$$"
mkdir -p -- "${0%/*}/" && mkdir -- "$new" || exit
{ test -z "$1" || chown -- "$1" "$new"; } && mv -- "$new" "$0" && exit
status=$?
rmdir -- "$new"
exit "$status"
"""
"""What fails on the way leaves no workspace, which a next sample in the same place would take for
one that is as it should be."""

S = TypeVar("S", bound=SandboxEnvironment)


@sandboxenv(name=NAME)
class ExternalSandbox(SandboxEnvironment):
    """The agent's sandbox of another provider, with the environment's folder and user in it.

    Commands start in the workspace, relative paths begin there, and the agent's user runs what no
    other user is named for. The other sandboxes of a sample are the provider's own.

    Args:
        inner: the provider's sandbox.
        config: of the sample.
        agent: the agent's user; None if the provider cannot run commands as it.
    """

    _not_ready: ClassVar[dict[ExternalConfig, str]] = {}
    """Why a provider could not prepare a task, until the task's end: a failure at that place would
    end the whole eval."""

    def __init__(
        self, inner: SandboxEnvironment, config: ExternalConfig, agent: str | None
    ) -> None:
        super().__init__()
        self._inner = inner
        self._config = config
        self._agent = agent

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
        """Run a command, in the workspace and as the agent unless something else is said."""
        return await self._inner.exec(
            cmd,
            input=input,
            cwd=self._placed(cwd),
            env=env,
            user=user or self._agent,
            timeout=timeout,
            timeout_retry=timeout_retry,
            **({} if concurrency else {"concurrency": False}),  # which older providers lack
        )

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file, as the provider does it."""
        path = self._placed(file)
        if text:
            return await self._inner.read_file(path, text=True)
        return await self._inner.read_file(path, text=False)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, as the provider does it."""
        await self._inner.write_file(self._placed(file), contents)

    @override
    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        """How a person gets in, if the provider tells."""
        return await self._inner.connection(user=user or self._agent)

    @override
    def as_type(self, sandbox_cls: type[S]) -> S:
        """This sandbox, or the provider's own, as its class."""
        return self if isinstance(self, sandbox_cls) else self._inner.as_type(sandbox_cls)

    @override
    def default_polling_interval(self) -> float:
        return self._inner.default_polling_interval()

    def _placed(self, path: str | None) -> str:
        return placed(
            path,
            workspace=self._config.workspace,
            stands_in=isinstance(self._inner, InspectLocal),
        )

    @override
    @classmethod
    def default_concurrency(cls) -> int | None:
        """No limit beside that on samples: with one, each sample would wait for up to a second."""
        return None

    @override
    @classmethod
    def config_files(cls) -> list[str]:
        """No file of the current folder is taken for a configuration."""
        return []

    @override
    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> ExternalConfig:
        """The configuration from what its model was dumped to."""
        return ExternalConfig.model_validate(config)

    @override
    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Let the provider prepare; if it fails, each sample ends at its start with that."""
        ours = _ours(config)
        try:
            await provider_of(ours.type).task_init(task_name, ours.theirs())
        except Exception as error:  # recorded
            cls._not_ready[ours] = _why(ours, "cannot prepare", error)

    @override
    @classmethod
    async def task_init_environment(
        cls, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, str]:
        """What the provider says."""
        ours = _ours(config)
        return await provider_of(ours.type).task_init_environment(ours.theirs(), metadata)

    @override
    @classmethod
    async def task_cleanup(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, cleanup: bool
    ) -> None:
        """Let the provider clean up."""
        ours = _ours(config)
        cls._not_ready.pop(ours, None)
        await provider_of(ours.type).task_cleanup(task_name, ours.theirs(), cleanup)

    @override
    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Start the provider's sandboxes, and make the workspace in the agent's.

        Raises:
            KnownStartFailure: the provider could not prepare the task.
            SandboxStartError: the provider fails, or the workspace cannot be made.
        """
        ours = _ours(config)
        if ours in cls._not_ready:
            raise KnownStartFailure(cls._not_ready[ours])
        provider = provider_of(ours.type)
        try:
            found = await provider.sample_init(task_name, ours.theirs(), metadata)
        except Exception as error:
            raise SandboxStartError(_why(ours, "does not start", error)) from error
        try:
            agents, inner = next(iter(found.items()))
            agent = await _agent_of(inner, ours)
            if not isinstance(inner, InspectLocal):
                await _make_workspace(inner, ours, agent)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await provider.sample_cleanup(task_name, ours.theirs(), found, False)
            raise
        return {**found, agents: cls(inner, ours, agent)}

    @override
    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Let the provider remove its sandboxes at once, interrupted or not."""
        ours = _ours(config)
        theirs = {
            name: each._inner if isinstance(each, cls) else each
            for name, each in environments.items()
        }
        with anyio.CancelScope(shield=True):
            await provider_of(ours.type).sample_cleanup(task_name, ours.theirs(), theirs, False)


def _ours(config: SandboxEnvironmentConfigType | None) -> ExternalConfig:
    if not isinstance(config, ExternalConfig):
        raise TypeError(f"sandbox {NAME} takes an ExternalConfig, not {config!r}")
    return config


def _why(config: ExternalConfig, what: str, error: Exception) -> str:
    kind = type(error).__name__
    return f"sandbox '{config.type}' {what}: {kind}: {plain_message(error)}"


async def _agent_of(inner: SandboxEnvironment, config: ExternalConfig) -> str | None:
    """The agent's user, if there is one and the provider can run commands as it."""
    user = config.agent_user
    command = ["sh", "-c", _IS_USER, user]
    try:
        done = await inner.exec(command, cwd="/", user=user, timeout=_TIMEOUT)
    except (SandboxUserUnsupportedError, NotImplementedError, PermissionError):
        return None
    return user if done.success else None


async def _make_workspace(
    inner: SandboxEnvironment, config: ExternalConfig, agent: str | None
) -> None:
    command = ["sh", "-c", _MAKE_WORKSPACE, config.workspace, agent or ""]
    done = await inner.exec(command, cwd="/", timeout=_TIMEOUT)
    if not done.success:
        said = " ".join(done.stderr.split())
        raise SandboxStartError(
            f"sandbox '{config.type}' cannot make the workspace {config.workspace}: {said}"
        )
