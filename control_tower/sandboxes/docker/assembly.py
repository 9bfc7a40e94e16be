"""One sample's containers, networks and volumes, made from its blueprint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import anyio

from control_tower.sandboxes.docker.blueprint import Blueprint, Condition, ServicePlan
from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.coming_up import come_up
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.failing import StartFailure, failure_of, logger
from control_tower.sandboxes.docker.naming import bridge_name
from control_tower.sandboxes.docker.reach import BRIDGE_NAME
from control_tower.sandboxes.docker.removing import remove_things


class Assembly:
    """What one sample has in the engine, from its first network to the removal of all."""

    def __init__(
        self, calls: EngineCalls, blueprint: Blueprint, name: str, labels: Mapping[str, str]
    ) -> None:
        self._calls = calls
        self._blueprint = blueprint
        self._name = name
        self._labels = labels
        self._asked_for: dict[str, list[str]] = {"containers": [], "networks": [], "volumes": []}
        self._containers: dict[str, str] = {}
        self._done: dict[tuple[str, str], anyio.Event] = {}

    async def make(self) -> dict[str, str]:
        """Make everything and wait until all services are up: each as soon as it can be.

        Returns:
            Container id by service.

        Raises:
            StartFailure: a service did not come up.
            docker.errors.APIError: the engine refuses, alone or in a group of errors.
        """
        async with anyio.create_task_group() as group:
            for network in self._blueprint.networks:
                group.start_soon(self._make_network, network)
            for volume in self._blueprint.volumes:
                group.start_soon(self._make_volume, volume)
            for plan in self._blueprint.services:
                group.start_soon(self._bring_up, plan)
        return self._containers

    async def remove(self) -> None:
        """Remove what was made, or may have been; see `remove_things`."""
        await remove_things(self._calls, **self._asked_for)

    async def _make_network(self, key: str) -> None:
        body = _labelled(self._blueprint.networks[key], self._labels)
        beginning = (body.get("Options") or {}).get(BRIDGE_NAME)
        if beginning:
            body["Options"][BRIDGE_NAME] = bridge_name(beginning)
        with self._creating("networks", key) as name:
            await self._calls.create_network(name, **body)
        self._event("network", key).set()

    async def _make_volume(self, key: str) -> None:
        body = _labelled(self._blueprint.volumes[key], self._labels)
        with self._creating("volumes", key) as name:
            await self._calls.create_volume(name, **body)
        self._event("volume", key).set()

    async def _bring_up(self, plan: ServicePlan) -> None:
        try:
            container = await self._create(plan)
            await self._start(plan, container)
        except Exception as error:
            failure = _named_failure(plan.name, error)
            if failure is None:
                raise
            if plan.name == AGENTS_SERVICE or not self._blueprint.is_optional(plan.name):
                raise failure from None
            logger.warning(
                "environment '%s': %s; those that wait for it do without it",
                self._blueprint.environment,
                failure,
            )
            for condition in self._blueprint.waited_for(plan.name):
                self._event(condition, plan.name).set()

    async def _create(self, plan: ServicePlan) -> str:
        for volume in plan.volumes:
            await self._event("volume", volume).wait()
        if plan.joins:
            await self._event("service_started", plan.joins).wait()
        with self._creating("containers", plan.name) as name:
            container = await self._calls.create_container(
                self._body(plan), name, platform=plan.platform
            )
            self._containers[plan.name] = container
        for end in plan.networks:
            await self._event("network", end.network).wait()
        for end in plan.networks[1:]:
            await self._calls.connect(self._named(end.network), container, end.settings)
        return container

    async def _start(self, plan: ServicePlan, container: str) -> None:
        for dependency in plan.depends_on:
            await self._event(dependency.condition, dependency.service).wait()
        await self._calls.start(container)

        def reached(condition: Condition) -> None:
            self._event(condition, plan.name).set()

        await come_up(
            self._calls,
            plan.name,
            container,
            wanted=self._blueprint.waited_for(plan.name),
            reached=reached,
            patience=plan.patience,
            grace=plan.grace,
        )

    def _body(self, plan: ServicePlan) -> dict[str, Any]:
        """The container's body with this sample's names in it."""
        body = _labelled(plan.body, self._labels)
        host = body["HostConfig"]
        for mount in host.get("Mounts") or ():
            if mount["Type"] == "volume" and mount.get("Source"):
                mount["Source"] = self._named(mount["Source"])
        if plan.joins:
            host["NetworkMode"] = f"container:{self._containers[plan.joins]}"
        elif plan.networks:
            # The others are joined afterwards: engines before 25 take one here.
            first = plan.networks[0]
            host["NetworkMode"] = self._named(first.network)
            ends = {self._named(first.network): first.settings}
            body["NetworkingConfig"] = {"EndpointsConfig": ends}
        else:
            host["NetworkMode"] = "none"
        return body

    @contextmanager
    def _creating(self, kind: str, key: str) -> Iterator[str]:
        """The name of something that is being created.

        It is to be removed from now on, and cancelling waits until the engine has it.
        """
        name = self._named(key)
        self._asked_for[kind].append(name)
        with anyio.CancelScope(shield=True):
            yield name

    def _named(self, key: str) -> str:
        return f"{self._name}-{key}"

    def _event(self, what: str, key: str) -> anyio.Event:
        """That something is there, or that a service meets a condition."""
        return self._done.setdefault((what, key), anyio.Event())


def _named_failure(service: str, error: Exception) -> StartFailure | None:
    failure = failure_of(error)
    if failure is None or failure is error:
        return failure
    return StartFailure(
        f"service '{service}' cannot be started: {failure}", passing=failure.passing
    )


def _labelled(body: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    made = deepcopy(dict(body))
    made["Labels"] = {**(made.get("Labels") or {}), **labels}
    return made
