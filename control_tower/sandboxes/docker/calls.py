"""Calls of the Docker engine's API from the event loop.

Bodies and answers are those of the Engine API itself, so that what a compose file resolves to can
be handed over as it is. Each call runs in a worker thread; how many do so at once is our own
setting, and what a sample waits for never depends on how many processors there are.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from control_tower.sandboxes.docker.engine import engine_host, open_client
from control_tower.sandboxes.errors import SandboxRefused

if TYPE_CHECKING:
    from docker import APIClient

Body = dict[str, Any]
"""A body or an answer of the Engine API."""

AT_ONCE = "CT_ENGINE_CALLS"
"""The variable with the number of calls that one process makes at once."""
_AT_ONCE = 16
_MOST_AT_ONCE = 256
"""Each is a thread and a connection."""
_SHOWN = 40
"""Characters of what is no such number."""
_PATIENCE = 60.0
"""Seconds for an answer."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("calls of the Docker engine at once")
_opener: RunVar[anyio.CapacityLimiter] = RunVar("openings of the Docker engine at once")
_T = TypeVar("_T")


def engine_calls() -> EngineCalls:
    """This process's calls of the engine that Docker's command line uses.

    Raises:
        docker.errors.DockerException: there is none, or it does not answer.
        SandboxRefused: as `calls_at_once`.
    """
    return _engine_calls(os.getpid(), engine_host(), calls_at_once())


async def opened_calls() -> EngineCalls:
    """`engine_calls`, for the event loop: it takes a connection and a command the first time.

    Raises:
        docker.errors.DockerException: there is none, or it does not answer.
        SandboxRefused: as `calls_at_once`.
    """
    one = _limited(_opener, 1)  # so that samples that start together share what is opened
    return await anyio.to_thread.run_sync(engine_calls, limiter=one, abandon_on_cancel=True)


def calls_at_once() -> int:
    """How many calls one process makes at once: `CT_ENGINE_CALLS`, or 16.

    Raises:
        SandboxRefused: it is no number from 1 to 256.
    """
    chosen = os.environ.get(AT_ONCE, "").strip()
    if not chosen:
        return _AT_ONCE
    if not re.fullmatch("[0-9]{1,4}", chosen) or not 1 <= int(chosen) <= _MOST_AT_ONCE:
        raise SandboxRefused(
            f"{AT_ONCE}={chosen[:_SHOWN]!r} is no number of calls; "
            f"give one from 1 to {_MOST_AT_ONCE}"
        )
    return int(chosen)


@functools.cache
def _engine_calls(pid: int, address: str | None, at_once: int) -> EngineCalls:
    """One a process and engine; `pid` keeps a forked child from using its parent's connections."""
    return EngineCalls(open_client(at_once).api, address, at_once)


class EngineCalls:
    """Calls of one engine; get it from `engine_calls`.

    Every method raises `docker.errors.APIError` with the engine's words where the engine refuses
    (`NotFound` where there is no such thing), and what `requests` raises where the engine cannot
    be reached or does not answer in time. A call that is cancelled is over when the engine has
    answered: what was created is known to the caller.
    """

    def __init__(self, api: APIClient, address: str | None, at_once: int) -> None:
        self.address = address
        """Where the engine is, such as `unix:///run/docker.sock`; None for the usual place."""
        self.api_version = api.api_version
        """The version of the Engine API that is spoken, such as `1.45`."""
        self._api = api
        self._at_once = at_once

    async def create_network(self, name: str, **body: Any) -> str:
        """Create a network and give its id; `body` as the Engine API takes it."""
        made = await self._call("POST", "/networks/create", body={"Name": name, **body})
        return str(made["Id"])

    async def remove_network(self, network: str) -> None:
        """Remove a network, by id or name; nothing may be connected to it."""
        await self._call("DELETE", f"/networks/{_part(network)}")

    async def networks(self, filters: Mapping[str, list[str]] | None = None) -> list[Body]:
        """Networks that pass `filters`, such as `{"label": ["a=b"]}`."""
        return list(await self._call("GET", "/networks", params=_filters(filters)))

    async def create_volume(self, name: str, **body: Any) -> str:
        """Create a volume and give its name."""
        made = await self._call("POST", "/volumes/create", body={"Name": name, **body})
        return str(made["Name"])

    async def remove_volume(self, volume: str) -> None:
        """Remove a volume; no container may use it."""
        await self._call("DELETE", f"/volumes/{_part(volume)}")

    async def volumes(self, filters: Mapping[str, list[str]] | None = None) -> list[Body]:
        """Volumes that pass `filters`."""
        found = await self._call("GET", "/volumes", params=_filters(filters))
        return list(found["Volumes"] or ())

    async def create_container(self, body: Body, name: str, *, platform: str | None = None) -> str:
        """Create a container and give its id; `body` is that of `POST /containers/create`."""
        params = {"name": name} | ({"platform": platform} if platform else {})
        made = await self._call("POST", "/containers/create", params=params, body=body)
        return str(made["Id"])

    async def connect(
        self, network: str, container: str, endpoint: Mapping[str, Any] | None = None
    ) -> None:
        """Connect a container, running or not, with the settings of its end point."""
        body = {"Container": container, "EndpointConfig": dict(endpoint or {})}
        await self._call("POST", f"/networks/{_part(network)}/connect", body=body)

    async def start(self, container: str) -> None:
        """Start a container; one that runs already is no error."""
        await self._call("POST", f"/containers/{_part(container)}/start")

    async def inspect(self, container: str) -> Body:
        """What the engine says of a container."""
        return _object(await self._call("GET", f"/containers/{_part(container)}/json"))

    async def containers(self, filters: Mapping[str, list[str]] | None = None) -> list[Body]:
        """Containers that pass `filters`, whether or not they run."""
        params = {"all": "1", **_filters(filters)}
        return list(await self._call("GET", "/containers/json", params=params))

    async def logs(self, container: str, tail: int = 20) -> str:
        """The last lines that a container's first process wrote, on either stream."""
        said: bytes = await self._in_thread(
            lambda: self._api.logs(container, stdout=True, stderr=True, tail=tail)
        )
        return said.decode(errors="replace")

    async def put(self, container: str, folder: str, archive: bytes) -> None:
        """Unpack a tar archive in a folder of a container, as root."""
        await self._in_thread(lambda: self._api.put_archive(container, folder, archive))

    async def remove_container(self, container: str) -> None:
        """Kill a container and remove it, and its volumes that have no name."""
        params = {"force": "1", "v": "1"}
        await self._call("DELETE", f"/containers/{_part(container)}", params=params)

    async def exec_create(self, container: str, body: Body) -> str:
        """Prepare a command in a running container and give its id; see `attaching` for the rest.

        Args:
            container: id or name.
            body: that of `POST /containers/{id}/exec`.
        """
        made = await self._call("POST", f"/containers/{_part(container)}/exec", body=body)
        return str(made["Id"])

    async def exec_inspect(self, command: str) -> Body:
        """What the engine says of a command: `Running`, `ExitCode`, `Pid`."""
        return _object(await self._call("GET", f"/exec/{_part(command)}/json"))

    async def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Body | None = None,
    ) -> Any:
        return await self._in_thread(lambda: _request(self._api, method, path, params or {}, body))

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        limiter = _limited(_limiter, self._at_once)
        return await anyio.to_thread.run_sync(work, limiter=limiter)


def _limited(of_loop: RunVar[anyio.CapacityLimiter], at_once: int) -> anyio.CapacityLimiter:
    """The event loop's own limiter."""
    try:
        return of_loop.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(at_once)
        of_loop.set(limiter)
        return limiter


def _request(
    api: APIClient,
    method: str,
    path: str,
    params: Mapping[str, str],
    body: Body | None,
) -> Any:
    """One call; the answer's JSON, or None where there is none."""
    from docker.errors import create_api_error_from_http_exception
    from requests import HTTPError

    url = f"{api.base_url}/v{api.api_version}{path}"
    answer = api.request(method, url, params=params, json=body, timeout=_PATIENCE)
    try:
        answer.raise_for_status()
    except HTTPError as error:
        create_api_error_from_http_exception(error)
    return answer.json() if answer.content.strip() else None


def _part(name: str) -> str:
    """An id or a name as a part of a path."""
    return quote(name, safe="")


def _filters(filters: Mapping[str, list[str]] | None) -> dict[str, str]:
    return {"filters": json.dumps(filters)} if filters else {}


def _object(answer: Any) -> Body:
    found: Body = answer
    return found
