"""The process of a session: one Inspect sample whose solver serves requests until it is to end.

python -m control_tower.live.serving FOLDER LOCK

LOCK is a file descriptor that holds the session, inherited from whoever starts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from control_tower.episode.preparation import prepare
from control_tower.episode.readable_errors import readable
from control_tower.errors import UsageProblem
from control_tower.live.choosing import Chosen, chosen_by
from control_tower.live.requests import Clients
from control_tower.live.session import SOCKETS, STEPS, Session, SessionFolder, told_pid
from control_tower.live.steps import StepLog
from control_tower.live.working import Work
from control_tower.sandboxes.errors import SandboxRefused

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.log import EvalLog
    from inspect_ai.solver import Generate, Solver, TaskState
    from inspect_ai.util import SandboxEnvironmentSpec

_NAME = "live"
_LONGEST_PLACE = 80
"""Bytes of the folder that its folder is made in: the path of a socket may have 107."""


def main() -> int:
    """Serve the session in the folder that is named on the command line."""
    folder = SessionFolder(Path(sys.argv[1]))
    lock = int(sys.argv[2])
    os.set_inheritable(lock, False)  # it is to end with this process
    told_pid(lock, os.getpid())
    server = Server(folder)
    try:
        server.provide()
        asyncio.run(server.run())
        if server.was_stopped and not server.was_up:
            server.fail("it was told to end while it started")
    except BaseException as error:  # recorded: whoever waits for the session is told
        server.fail(f"{type(error).__name__}: {error}")
        raise
    return 0 if server.was_up else 1


class Server:
    """Keeps one session up.

    Args:
        folder: the session's.
    """

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._session: Session = folder.read()
        self._chosen: Chosen = chosen_by(self._session)
        self._steps = StepLog(folder.path / STEPS)
        self._spec: SandboxEnvironmentSpec | None = None
        self.was_stopped = False
        """Whether it was told to end."""
        self._stop = asyncio.Event()
        self._eval: asyncio.Task[EvalLog | None] | None = None
        self.was_up = False
        """Whether the sandbox came up."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._told_to_stop)

    def provide(self) -> None:
        """Get ready what the sandbox is made from: images, for example.

        Raises:
            SandboxRefused: it cannot be.
        """
        environment = self._chosen.combination.environment
        self._tell(self._chosen.sandbox.provides or "starting")
        provided = self._chosen.sandbox.provide([environment], stopped=lambda: self.was_stopped)
        if self.was_stopped:
            return
        provision = provided[environment.id]
        if provision.problem is not None:
            raise SandboxRefused(provision.problem)
        self._spec = provision.spec

    async def run(self) -> None:
        """Have the sandbox up until the session is to end."""
        from control_tower.models import RoleModels
        from control_tower.runners.evaluating import EvalSettings, evaluate, prepare_inspect

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)
        if self.was_stopped:
            return
        self._tell("starting the sandbox")
        prepare_inspect()
        settings = EvalSettings(
            run_id=self._session.id,
            log_dir=self._folder.path / "inspect",
            models=RoleModels(),
            connections=None,
            at_once=1,
            samples=1,
            retries=None,
        )
        self._eval = asyncio.create_task(evaluate(self._task(), settings))
        try:
            log = await self._eval
        except asyncio.CancelledError:
            return
        if not self.was_up and not self.was_stopped:
            self.fail(_reason(log))

    def stop(self) -> None:
        """Let the session end: requests are not served any more, and the sandbox is removed."""
        self.was_stopped = True
        self._stop.set()
        if self._eval is not None and not self.was_up:
            self._eval.cancel()

    def fail(self, reason: str) -> None:
        """Say why the session is not up."""
        self._session.state = "failed"
        self._tell(readable(reason))

    def _told_to_stop(self, number: int, frame: Any) -> None:
        self.was_stopped = True

    def _tell(self, note: str) -> None:
        self._session.note = note
        self._folder.write(self._session)

    def _task(self) -> Task:
        from inspect_ai import Task
        from inspect_ai.solver import solver

        from control_tower.episode.task import inspect_sample
        from control_tower.selection import SampleKey

        sample = inspect_sample(
            SampleKey(self._chosen.combination, 1), self._spec, run_id=self._session.id
        )

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            await self._live(state)
            return state

        @solver(name=_NAME)
        def live() -> Solver:
            return solve

        return Task(name=_NAME, dataset=[sample], solver=live())

    async def _live(self, state: TaskState) -> None:
        """The sample's life: set-up, then serving until the end."""
        self._tell("setting up the tasks")
        chosen = self._chosen
        await prepare(chosen.combination, copies_source=chosen.sandbox.copies_source)
        work = Work(self._session, self._steps, state, isolated=chosen.sandbox.settings.isolation)
        with _place_for_socket() as place:
            socket = f"{place}/s"
            async with await anyio.create_unix_listener(socket, mode=0o600) as listener:
                self._session.socket = socket
                self._session.workspace = chosen.combination.environment.info.workspace
                self._session.state = "up"
                self.was_up = True
                self._tell("")
                async with anyio.create_task_group() as group:
                    group.start_soon(listener.serve, Clients(work, self.stop).serve)
                    await self._stop.wait()
                    group.cancel_scope.cancel()


@contextlib.contextmanager
def _place_for_socket() -> Iterator[str]:
    """A new folder of which the path is short enough; it is removed at the end."""
    usual = tempfile.gettempdir()
    short = len(os.fsencode(usual)) <= _LONGEST_PLACE
    place = tempfile.mkdtemp(prefix=SOCKETS, dir=usual if short else "/tmp")
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _reason(log: EvalLog | None) -> str:
    """Why the sample did not come up."""
    samples = (log.samples if log is not None else None) or []
    if samples and samples[0].error is not None:
        return samples[0].error.message
    if log is not None and log.error is not None:
        return log.error.message
    return "the sandbox did not come up"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UsageProblem, SandboxRefused) as problem:
        sys.exit(str(problem))
