"""Samples that wait, scored and with their sandboxes up, for a test that looks into them.

Inspect calls a task's clean-up hook after scoring, while the sandbox is there. A held sample stays
in it and executes, in the eval's own thread and context, what the test asks for, until the test
lets go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from control_tower.episode.outcome import Outcome

if TYPE_CHECKING:
    from inspect_ai.util import ExecResult, SandboxEnvironment

T = TypeVar("T")
_LOOK = 0.5
"""Seconds between two looks at whether the run is to stop."""
_GONE = "the sandbox is gone: it lives until the last test that asked for it has ended"


class SandboxGone(RuntimeError):
    """The sample was let go, or the run was stopped."""


class Hold:
    """One held sample; made in the eval's thread, used from the test's.

    Args:
        outcome: what the sample came to, as far as can be said before its clean-up.
        stopped: whether the run is to stop; asked now and then while a test waits.
    """

    def __init__(self, outcome: Outcome, stopped: Callable[[], bool] = lambda: False) -> None:
        self.outcome = outcome
        self._stopped = stopped
        self._loop = asyncio.get_running_loop()
        self._requests: asyncio.Queue[tuple[Callable[[], Awaitable[Any]], Future[Any]] | None] = (
            asyncio.Queue()
        )
        self._action: asyncio.Future[Any] | None = None
        """What is being done, in the eval's thread."""
        self._over = False

    async def serve(self) -> None:
        """In the eval: do what is asked for until the sample is let go."""
        try:
            while not self._over and (request := await self._requests.get()) is not None:
                await self._do(*request)
        finally:
            self._over = True
            while not self._requests.empty():
                left = self._requests.get_nowait()
                if left is not None:
                    left[1].set_exception(SandboxGone(_GONE))

    async def _do(self, action: Callable[[], Awaitable[Any]], future: Future[Any]) -> None:
        """Do one thing; it is a task of its own, so that letting go can end it."""
        if self._over:  # let go between the request and its turn: nothing would end it any more
            future.set_exception(SandboxGone(_GONE))
            return

        async def act() -> Any:  # so that what `action` raises at once is the task's, too
            return await action()

        self._action = asyncio.ensure_future(act())
        try:
            await asyncio.wait([self._action])
        except asyncio.CancelledError:
            self._action.cancel()
            future.set_exception(SandboxGone(_GONE))
            raise
        if self._action.cancelled():
            future.set_exception(SandboxGone(_GONE))
        elif (error := self._action.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(self._action.result())

    def call(self, action: Callable[[], Awaitable[T]]) -> T:
        """From another thread: run `action` in the eval, and wait for what it returns.

        Raises:
            SandboxGone: the sample was let go.
        """
        future: Future[T] = Future()

        def ask() -> None:
            if self._over:
                future.set_exception(SandboxGone(_GONE))
            else:
                self._requests.put_nowait((action, future))

        try:
            self._loop.call_soon_threadsafe(ask)
        except RuntimeError:  # the loop has ended
            raise SandboxGone(_GONE) from None
        while True:
            try:
                return future.result(_LOOK)
            except TimeoutError:
                if future.done():  # it is the action's own, or the answer came just after our look
                    return future.result()
                if self._loop.is_closed():  # it ended before it came to the request
                    raise SandboxGone(_GONE) from None
                if self._stopped():
                    self.release()

    def release(self) -> None:
        """Let the sample go, whatever is being done; from any thread, as often as one likes."""

        def let_go() -> None:
            self._over = True
            self._requests.put_nowait(None)
            if self._action is not None:
                self._action.cancel()

        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(let_go)


class LiveSandbox:
    """The sandbox of a sample that has been scored and is not cleaned up yet.

    Args:
        hold: the held sample.
        service: which of its services; None is the agent's.
    """

    def __init__(self, hold: Hold, service: str | None = None) -> None:
        self._hold = hold
        self._service = service

    def service(self, name: str) -> LiveSandbox:
        """The sandbox of another service of the environment.

        Raises:
            SandboxGone: the sample was let go.
            ValueError: it has no such service.
        """
        other = LiveSandbox(self._hold, name)

        async def look() -> None:
            other._box()

        self._hold.call(look)
        return other

    def exec(
        self,
        cmd: list[str],
        *,
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = 120,
    ) -> ExecResult[str]:
        """Run a command, as the agent where no user is named.

        Args:
            cmd: program and arguments.
            input: standard input.
            cwd: working folder; a relative one is taken from the workspace.
            env: variables added to the sandbox's own.
            user: a user of the sandbox.
            timeout: seconds.

        Raises:
            SandboxGone: the sample was let go.
            TimeoutError: the time was up.
        """
        return self._hold.call(
            lambda: self._box().exec(
                cmd, input=input, cwd=cwd, env=env, user=user, timeout=timeout, timeout_retry=False
            )
        )

    @overload
    def read_file(self, file: str, *, text: Literal[True] = True) -> str: ...

    @overload
    def read_file(self, file: str, *, text: Literal[False]) -> bytes: ...

    def read_file(self, file: str, *, text: bool = True) -> str | bytes:
        """A file's contents; a relative path begins at the workspace.

        Raises:
            SandboxGone: the sample was let go.
            OSError: it cannot be read.
        """
        if text:
            return self._hold.call(lambda: self._box().read_file(file, text=True))
        return self._hold.call(lambda: self._box().read_file(file, text=False))

    def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, and the folders above it.

        Raises:
            SandboxGone: the sample was let go.
            OSError: it cannot be written.
        """
        self._hold.call(lambda: self._box().write_file(file, contents))

    def _box(self) -> SandboxEnvironment:
        from inspect_ai.util import sandbox

        return sandbox(self._service)
