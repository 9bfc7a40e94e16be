"""The provider that Inspect knows as `ct-bwrap`. Importing this module registers it."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping, Sequence
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
    SandboxUserUnsupportedError,
    sandboxenv,
)
from typing_extensions import override

from control_tower.sandboxes.bwrap.attempts import run_inside
from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.holder import Holder
from control_tower.sandboxes.bwrap.namespaces import AGENT, AGENT_UID
from control_tower.sandboxes.bwrap.running import Finished
from control_tower.sandboxes.checking import ChecksApart
from control_tower.sandboxes.files import failure, read_command, write_command
from control_tower.sandboxes.humans import ForHumans
from control_tower.sandboxes.leftovers import remove_leftovers

NAME = "ct-bwrap"
"""The provider's name in Inspect's registry."""

_FILE_TIMEOUT = 120.0
"""Seconds that reading or writing one file may take."""
_HELPER = {"LC_ALL": "C"}
"""Keeps the words of helpers in English, to be recognised."""
_NOT_EXECUTABLE = 126


@sandboxenv(name=NAME)
class BwrapSandbox(SandboxEnvironment, ChecksApart, ForHumans):
    """One sample's sandbox: a private copy of a code base in Linux namespaces of its own."""

    _running: ClassVar[dict[Holder, str]] = {}
    """The sandboxes that are up, with the names of their tasks; on the class because Inspect calls
    class methods to clean up."""

    def __init__(self, holder: Holder, task_name: str) -> None:
        super().__init__()
        self.holder = holder
        self.task_name = task_name

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
        """Run a command as the agent.

        Of each stream the last `MAX_EXEC_OUTPUT_SIZE` bytes are kept. The call is over when the
        command is, even if a daemon that it left behind holds its output open. At a timeout, and
        when the caller is cancelled, the command is killed with all that it started, except for
        daemons that had left it before. A folder that cannot be entered gives exit code 125, a
        program that is not found 127.

        Args:
            cmd: program and arguments.
            input: standard input.
            cwd: working folder; a relative one is taken from the workspace.
            env: variables added to the sandbox's own.
            user: "agent", its number, or None; there is no other.
            timeout: seconds.
            timeout_retry: not used: nothing between us and the command can hang, so there is
                nothing to try again.
            concurrency: not used: a slow command must not keep other samples' commands waiting.

        Raises:
            SandboxUserUnsupportedError: another user was asked for.
            SandboxUnavailableError: the sandbox has ended or cannot be entered. (If the agent
                kills whatever enters, that is exit code 137.)
            TimeoutError: the time was up.
            PermissionError: the program may not be executed.
        """
        self._check_user(user)
        data = input.encode() if isinstance(input, str) else input
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        done = await self._run(cmd, data, self._resolve(cwd), env or {}, limit, timeout)
        if done.returncode == _NOT_EXECUTABLE and done.stderr == _denied(cmd[0]):
            raise PermissionError(f"{cmd[0]}: permission denied")
        return _result(done)

    @override
    async def exec_check(
        self, cmd: Sequence[str], *, input: str, timeout: float | None
    ) -> ExecResult[str]:
        """Run a scorer's check in the workspace, where the agent can end but not alter it.

        It runs as the agent's user in another user namespace, without capabilities, with a fresh
        environment and processes to spare, and its streams are sockets. The variable `CT_AS_AGENT`
        holds the prefix for commands that the agent may have altered. If the agent kills whatever
        enters, the result is a failed one, exit code 137.

        Args:
            cmd: program and arguments; the agent can see them.
            input: standard input, which the agent cannot see.
            timeout: seconds.

        Raises:
            SandboxUnavailableError: the sandbox has ended.
            TimeoutError: the time was up; nothing of the check runs any more.
        """
        done = await run_inside(
            self.holder,
            lambda entrance, marker: entrance.check(cmd, marker=marker),
            input=input.encode(),
            limit=SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            timeout=timeout,
            check=True,
        )
        return _result(done)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, and the folders above it, as the agent.

        Raises:
            IsADirectoryError: `file` is a folder.
            PermissionError: the agent may not write it, or it is no regular file.
            OSError: no space is left, or the file is bigger than the sandbox allows.
            TimeoutError: it took more than two minutes.
        """
        data = contents.encode() if isinstance(contents, str) else bytes(contents)
        path = self._resolve(file)
        done = await self._run(write_command(path), data, "/", _HELPER, 4096, _FILE_TIMEOUT)
        if done.returncode != 0:
            raise failure(file, done.returncode, done.stderr)

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
            TimeoutError: it took more than two minutes.
        """
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        command = read_command(self._resolve(file), limit + 1)
        done = await self._run(command, None, "/", _HELPER, limit + 1, _FILE_TIMEOUT)
        if done.returncode != 0:
            raise failure(file, done.returncode, done.stderr)
        if len(done.stdout) > limit:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return done.stdout.decode() if text else done.stdout

    @override
    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        """A shell in the sandbox for a human on the host.

        Raises:
            SandboxUserUnsupportedError: another user was asked for.
            ConnectionError: the sandbox has ended.
        """
        self._check_user(user)
        shell = await self.human_command(["/bin/sh", "-i"])
        return SandboxConnection(type=NAME, command=shlex.join(shell))

    @override
    async def human_command(self, cmd: Sequence[str]) -> list[str]:
        """What runs `cmd` from the host, as the agent.

        Raises:
            ConnectionError: the sandbox has ended.
        """
        if self.holder.entrance is None or not self.holder.alive():
            raise ConnectionError("the sandbox has ended")
        return self.holder.entrance.for_human(cmd)

    @override
    def default_polling_interval(self) -> float:
        """Seconds between two looks of a sandbox service; commands are cheap here."""
        return 0.2

    @override
    @classmethod
    def default_concurrency(cls) -> int | None:
        """No limit of the provider's own."""
        return None

    @override
    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BwrapConfig:
        """The configuration from what its model was dumped to."""
        return BwrapConfig.model_validate(config)

    @override
    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Start a sandbox; if that fails, nothing of it is left.

        Raises:
            TypeError: the configuration is no `BwrapConfig`.
            SandboxRefused: the state directory cannot be used.
            SandboxStartError: it did not come up.
        """
        if not isinstance(config, BwrapConfig):
            raise TypeError(f"sandbox {NAME} takes a BwrapConfig, not {config!r}")
        holder = await anyio.to_thread.run_sync(Holder.create, config)
        try:
            await anyio.to_thread.run_sync(holder.prepare)
            # In this very thread, which lasts as long as the eval: see Holder.
            holder.launch()
            await anyio.to_thread.run_sync(holder.wait_ready)
        except BaseException:
            await _stop(holder)
            raise
        cls._running[holder] = task_name
        return {"default": cls(holder, task_name)}

    @override
    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """End every process of the sample's sandbox and remove its directory."""
        for environment in environments.values():
            await _stop(environment.as_type(cls).holder)

    @override
    @classmethod
    async def task_cleanup(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, cleanup: bool
    ) -> None:
        """End the sandboxes of this task that are still there."""
        if cleanup:
            for holder in [holder for holder, task in cls._running.items() if task == task_name]:
                await _stop(holder)

    @override
    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Remove what runs that were killed left behind."""
        await anyio.to_thread.run_sync(remove_leftovers)

    async def _run(
        self,
        cmd: list[str],
        data: bytes | None,
        cwd: str,
        env: Mapping[str, str],
        limit: int,
        timeout: float | None,
    ) -> Finished:
        return await run_inside(
            self.holder,
            lambda entrance, marker: entrance.command(cmd, marker=marker, cwd=cwd, env=env),
            input=data,
            limit=limit,
            timeout=timeout,
        )

    def _resolve(self, path: str | None) -> str:
        return posixpath.join(self.holder.config.workspace, path or "")

    def _check_user(self, user: str | None) -> None:
        if user not in (None, AGENT, str(AGENT_UID)):
            raise SandboxUserUnsupportedError(
                f"the bwrap sandbox has one user, {AGENT} ({AGENT_UID}); not {user!r}"
            )


async def _stop(holder: Holder) -> None:
    """End a sandbox, whether or not the caller is cancelled."""
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(holder.stop)
    BwrapSandbox._running.pop(holder, None)


def _result(done: Finished) -> ExecResult[str]:
    return ExecResult(
        success=done.returncode == 0,
        returncode=done.returncode,
        stdout=done.stdout.decode(errors="replace"),
        stderr=done.stderr.decode(errors="replace"),
    )


def _denied(program: str) -> bytes:
    """What `env` says of a program that may not be executed."""
    return f"/usr/bin/env: '{program}': Permission denied\n".encode()
