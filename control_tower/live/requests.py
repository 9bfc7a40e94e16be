"""What a session's process answers its clients."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from control_tower.errors import UsageProblem
from control_tower.live.outpour import Outpour
from control_tower.live.steps import Entry
from control_tower.live.wire import packed, received
from control_tower.live.working import Refused, Work, until_gone

if TYPE_CHECKING:
    from anyio.abc import SocketStream, TaskGroup

_LOG = logging.getLogger(__name__)
_DOWN = "down"


class Clients:
    """Serves a session's clients, each by itself.

    Args:
        work: what is done for them.
        stop: called when one of them takes the session down.
    """

    def __init__(self, work: Work, stop: Callable[[], None]) -> None:
        self._work = work
        self._stop = stop

    async def serve(self, line: SocketStream) -> None:
        """One client, until it goes; a shell of its own ends with it."""
        shells: list[str] = []
        try:
            async with line:
                await self._requests(line, BufferedByteReceiveStream(line), shells)
            for mark in shells:
                await self._work.hang_up(mark)
        except Exception as error:  # recorded: the session goes on for others
            _LOG.warning("a client is not served: %s: %s", type(error).__name__, error)

    async def _requests(
        self, line: SocketStream, stream: BufferedByteReceiveStream, shells: list[str]
    ) -> None:
        """One request after the other."""
        while True:
            try:
                header, data = await received(stream)
            except (anyio.IncompleteRead, anyio.BrokenResourceError):
                return
            answer = await _unless_gone(
                stream, partial(self._answer, line, header, data, shells.append)
            )
            if answer is None:
                return
            try:
                await line.send(answer)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            if header.get("do") == _DOWN:
                self._stop()

    async def _answer(
        self,
        line: SocketStream,
        header: dict[str, Any],
        data: bytes,
        began: Callable[[str], None],
    ) -> bytes:
        """The answer to a request; a shell that begins is told to `began` by its mark."""
        try:
            if header["do"] == "exec":
                outpour = Outpour(line)
                run = partial(self._work.exec, header["command"], header.get("timeout"))
                done = await outpour.during(run)
                return packed({**done, "heard": outpour.heard, "lost": outpour.lost})
            if header["do"] == "shell":
                mark = secrets.token_hex(16)
                argv = await self._work.shell(mark)
                began(mark)
                return packed({"argv": argv, "mark": mark})
            return await self._answer_briefly(header, data)
        except UsageProblem as problem:
            return packed({"problem": str(problem), "usage": True})
        except Refused as refusal:
            return packed({"problem": str(refusal)})
        except Exception as error:  # told to the client: the session goes on
            return packed({"problem": f"{type(error).__name__}: {error}"})

    async def _answer_briefly(self, header: dict[str, Any], data: bytes) -> bytes:
        do = header["do"]
        if do == "typed":
            self._work.steps.add(Entry.model_validate(header["entry"]))
            return packed({})
        if do == "put":
            entry = Entry.model_validate(header["entry"])
            place = await self._work.put(header["target"], header["name"], data, entry)
            return packed({"place": place})
        if do == "get":
            return packed({}, await self._work.get(header["path"]))
        if do == "score":
            scores = await self._work.score()
            return packed({"scores": {k: s.model_dump() for k, s in scores.items()}})
        if do == _DOWN:
            return packed({})
        raise Refused(f"the session does not know how to '{do}'; it was started by another version")


async def _unless_gone(
    stream: BufferedByteReceiveStream, work: Callable[[], Awaitable[bytes]]
) -> bytes | None:
    """What comes of the work; it is cancelled, and None, when the client goes meanwhile."""
    answers: list[bytes] = []

    async def watch(group: TaskGroup) -> None:
        await until_gone(stream)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch, group)
        answers.append(await work())
        group.cancel_scope.cancel()
    return answers[0] if answers else None
