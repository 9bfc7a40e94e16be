"""An engine in memory, for what a real one does too seldom: failures and odd moments."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import anyio
from docker.errors import APIError, ImageNotFound, NotFound
from requests import Response

from control_tower.sandboxes.docker.calls import EngineCalls

RUNNING = {"Status": "running", "ExitCode": 0}


def health(status: str, *said: str) -> dict[str, Any]:
    """The state of a running container with a health check."""
    results = [{"ExitCode": 1, "Output": text} for text in said]
    return {**RUNNING, "Health": {"Status": status, "Log": results}}


def exited(code: int, **more: Any) -> dict[str, Any]:
    """The state of a container that has ended."""
    return {"Status": "exited", "ExitCode": code, **more}


def refusal(status: int, words: str) -> APIError:
    """What the engine's client raises for an answer."""
    response = Response()
    response.status_code = status
    kinds: dict[int, type[APIError]] = {404: NotFound}
    kind = ImageNotFound if "No such image" in words else kinds.get(status, APIError)
    return kind("refused", response=response, explanation=words)


class FakeEngine:
    """Knows what was made and what is left; does as it is told for services by name."""

    def __init__(self) -> None:
        self.done: list[str] = []
        """Such as `create db`, `start db`, in order."""
        self.containers: dict[str, dict[str, Any]] = {}
        self.networks: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.states: dict[str, list[dict[str, Any]]] = {}
        """By service, what each look at it shows; the last one holds on."""
        self.refusals: dict[str, list[Exception]] = {}
        """By what is done, such as `start db`, what is raised in turn before it works."""
        self.words: dict[str, str] = {}
        """By service, its output."""
        self.before: Callable[[str], Awaitable[None]] | None = None
        """Called with what is done, before it is."""

    @property
    def calls(self) -> EngineCalls:
        """It, as what it stands for."""
        return cast("EngineCalls", self)

    @property
    def left(self) -> list[str]:
        """Names of all that it has."""
        return sorted([*self.containers, *self.networks, *self.volumes])

    async def create_network(self, name: str, **body: Any) -> str:
        await self._do("network", name)
        self.networks[name] = body
        return f"id-{name}"

    async def create_volume(self, name: str, **body: Any) -> str:
        await self._do("volume", name)
        self.volumes[name] = body
        return name

    async def create_container(
        self, body: Mapping[str, Any], name: str, *, platform: str | None = None
    ) -> str:
        await self._do("create", name)
        self.containers[name] = {"body": json.loads(json.dumps(body)), "connected": []}
        return name

    async def connect(self, network: str, container: str, endpoint: Mapping[str, Any]) -> None:
        await self._do("connect", container)
        self.containers[container]["connected"].append((network, dict(endpoint)))

    async def start(self, container: str) -> None:
        await self._do("start", container)

    async def inspect(self, container: str) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()
        states = self.states.get(_service(container), [RUNNING])
        return {"State": states.pop(0) if len(states) > 1 else states[0]}

    async def logs(self, container: str, tail: int) -> str:
        await anyio.lowlevel.checkpoint()
        return "\n".join(self.words.get(_service(container), "").splitlines()[-tail:])

    async def remove_container(self, container: str) -> None:
        await self._remove(self.containers, container)

    async def remove_network(self, network: str) -> None:
        await self._remove(self.networks, network)

    async def remove_volume(self, volume: str) -> None:
        await self._remove(self.volumes, volume)

    async def _remove(self, things: dict[str, dict[str, Any]], name: str) -> None:
        await self._do("remove", name)
        if things.pop(name, None) is None:
            raise refusal(404, f"No such thing: {name}")

    async def _do(self, what: str, name: str) -> None:
        said = f"{what} {_service(name)}"
        await anyio.lowlevel.checkpoint()
        if self.before is not None:
            await self.before(said)
        if waiting := self.refusals.get(said):
            raise waiting.pop(0)
        self.done.append(said)


def _service(name: str) -> str:
    return name.split("-", 2)[-1]
