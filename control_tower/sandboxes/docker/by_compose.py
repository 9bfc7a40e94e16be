"""One sample's containers by `docker compose`, for what our own start-up does not translate."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from control_tower.sandboxes.docker.blueprint import Blueprint, Condition
from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.coming_up import come_up, refuse_ended
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, written
from control_tower.sandboxes.docker.failing import StartFailure, passes
from control_tower.sandboxes.docker.naming import bridge_name
from control_tower.sandboxes.docker.reach import BRIDGE_NAME
from control_tower.sandboxes.docker.removing import remove_things
from control_tower.sandboxes.owners import own_directory

_PROJECT = "com.docker.compose.project"
_SERVICE = "com.docker.compose.service"
_UP = 900
"""Seconds for all of it; health checks have limits of their own."""
_ENDING = 5
"""Seconds that compose has to end when it is told to."""
_ROUNDS = 5


class Composition:
    """What one sample has in the engine, made by compose and removed by us."""

    def __init__(
        self,
        calls: EngineCalls,
        blueprint: Blueprint,
        compose_file: Path,
        name: str,
        labels: Mapping[str, str],
    ) -> None:
        self._calls = calls
        self._blueprint = blueprint
        self._file = compose_file
        self._name = name
        self._labels = labels

    async def make(self) -> dict[str, str]:
        """Let compose make everything, and wait until all services are up.

        Returns:
            Container id by service; of several replicas that of one.

        Raises:
            StartFailure: compose failed, or a service did not come up.
            docker.errors.APIError: the engine refuses.
        """
        said = await self._up()
        containers = await self._containers()
        async with anyio.create_task_group() as group:
            for service, container in containers.items():
                if said is not None:
                    group.start_soon(refuse_ended, self._calls, service, container)
                elif service == AGENTS_SERVICE or not self._blueprint.is_optional(service):
                    group.start_soon(self._come_up, service, container)
        if said is not None:
            raise StartFailure(f"docker compose failed: {said}", passing=passes(said))
        return containers

    async def remove(self) -> None:
        """Remove what belongs to the sample; see `remove_things`."""
        of_it = {"label": [f"{_PROJECT}={self._name}"]}
        with anyio.CancelScope(shield=True):
            for _ in range(_ROUNDS):  # a compose that was ended may have had something under way
                containers = [str(one["Id"]) for one in await self._calls.containers(of_it)]
                networks = [str(one["Id"]) for one in await self._calls.networks(of_it)]
                volumes = [str(one["Name"]) for one in await self._calls.volumes(of_it)]
                if not (containers or networks or volumes):
                    return
                await remove_things(
                    self._calls, containers=containers, networks=networks, volumes=volumes
                )

    async def _come_up(self, service: str, container: str) -> None:
        plan = next(plan for plan in self._blueprint.services if plan.name == service)

        def reached(condition: Condition) -> None:
            """Compose has waited for it already."""

        await come_up(
            self._calls, service, container, wanted=(), reached=reached, patience=plan.patience
        )

    async def _containers(self) -> dict[str, str]:
        found = await self._calls.containers({"label": [f"{_PROJECT}={self._name}"]})
        return {str(one["Labels"][_SERVICE]): str(one["Id"]) for one in reversed(found)}

    async def _up(self) -> str | None:
        """Run compose; what it said if it failed."""
        own = own_directory() / f"{self._name}.compose.json"
        own.write_text(written(self._of_this_sample()), encoding="utf-8")
        files = ["-f", str(self._file), "-f", str(own)]
        command = ["docker", "compose", "-p", self._name, "--progress", "plain", *files]
        try:
            with anyio.fail_after(_UP):
                code, said = await _run([*command, "up", "-d", "--no-build", "--pull", "never"])
        except TimeoutError:
            return f"timed out after {_UP} seconds"
        finally:
            own.unlink(missing_ok=True)
        return None if code == 0 else " / ".join(said.strip().splitlines()[-5:])[-2000:]

    def _of_this_sample(self) -> dict[str, Any]:
        """A second compose file, with what no other sample has."""
        model = json.loads(self._file.read_text(encoding="utf-8"))
        own: dict[str, Any] = {
            kind: {name: {"labels": dict(self._labels)} for name in model.get(kind) or {}}
            for kind in ("services", "networks", "volumes")
        }
        for name, network in (model.get("networks") or {}).items():
            beginning = ((network or {}).get("driver_opts") or {}).get(BRIDGE_NAME)
            if beginning:
                own["networks"][name]["driver_opts"] = {BRIDGE_NAME: bridge_name(beginning)}
        return {kind: entries for kind, entries in own.items() if entries}


async def _run(command: list[str]) -> tuple[int, str]:
    """Run a command; if that is cancelled, it has ended all the same when this returns."""
    process = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    said = bytearray()
    try:
        assert process.stdout is not None
        async for piece in process.stdout:
            said += piece
        return await process.wait(), said.decode(errors="replace")
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(_ENDING):
            await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()
