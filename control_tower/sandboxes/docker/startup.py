"""Starting a sample's containers, and trying again where the cause may pass."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

import anyio

from control_tower.sandboxes.docker.assembly import Assembly
from control_tower.sandboxes.docker.blueprint import Blueprint
from control_tower.sandboxes.docker.by_compose import Composition
from control_tower.sandboxes.docker.calls import EngineCalls, opened_calls
from control_tower.sandboxes.docker.coming_up import refuse_ended
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.ending import tell_of_ended
from control_tower.sandboxes.docker.engine import SAMPLE_LABEL
from control_tower.sandboxes.docker.failing import (
    StartFailure,
    failure_of,
    known_failures,
    logger,
)
from control_tower.sandboxes.docker.naming import sample_name
from control_tower.sandboxes.docker.sample import Sample
from control_tower.sandboxes.errors import KnownStartFailure, SandboxStartError

Probe = Callable[[Sample], Awaitable[str | None]]
Keep = Callable[[Sample], None]
Sleep = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
"""Seconds before another try; each pause is twice the one before."""
_ALL_TRIES = 600.0
"""Seconds after which no further try begins, so that a start which hangs in each of them ends."""


class Making(Protocol):
    """One way to a sample's containers."""

    async def make(self) -> Mapping[str, str]:
        """Make and start them; container id by service."""

    async def remove(self) -> None:
        """Remove them, also if they are half made; what is gone is no error."""


async def start_sample(
    config: DockerConfig,
    labels: Mapping[str, str] | None = None,
    *,
    probe: Probe | None = None,
    keep: Keep | None = None,
    calls: EngineCalls | None = None,
    sleep: Sleep = anyio.sleep,
    clock: Clock = time.monotonic,
) -> Sample:
    """Start a sample's containers and wait until they are up; if that fails, nothing is left.

    A cause that may pass (the engine is busy, or has no addresses left) is tried again up to
    `config.startup_retries` times, each time with a warning, and within ten minutes: then a try
    may come to its end, and no other begins. One that stays ends it at once, and the
    configuration's next samples too.

    Args:
        config: what they are made from.
        labels: put on everything beside those of the environment.
        probe: looks at the sample when all is up; the text it gives is a failure that stays. A
            service that has ended by then is reported in its place, with its last lines, so an
            error of the engine's in a probe need not be handled there.
        keep: told of what a try made and could not remove, so that its owner does it later.
        calls: of the engine; by default of the one that Docker's command line uses.
        sleep: waits before another try.
        clock: tells seconds.

    Raises:
        KnownStartFailure: it is known that it would not come up.
        SandboxStartError: it did not come up; the message says why.
    """
    known = config.problem or known_failures().get(config)
    if known is not None:
        raise KnownStartFailure(known)
    blueprint = _blueprint(config.blueprint)
    retries = config.startup_retries
    began, tries = clock(), 0
    while True:
        try:
            return await _attempt(config, blueprint, labels or {}, probe, keep, calls)
        except StartFailure as failure:
            if not failure.passing:
                known_failures().add(config, str(failure))
                raise SandboxStartError(str(failure)) from None
            pause = min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE) * random.uniform(0.75, 1.25)
            tries += 1
            if tries > retries:
                times = f" (tried {tries} times)" if retries else ""
                raise SandboxStartError(f"{failure}{times}") from None
            if clock() - began + pause > _ALL_TRIES:
                raise SandboxStartError(f"{failure}{_out_of_time(tries)}") from None
            logger.warning(
                "environment '%s': its sandbox did not start and is tried again in %.1f s "
                "(%d of %d): %s",
                *(blueprint.environment, pause, tries, retries, failure),
            )
        await sleep(pause)


async def _attempt(
    config: DockerConfig,
    blueprint: Blueprint,
    labels: Mapping[str, str],
    probe: Probe | None,
    keep: Keep | None,
    calls: EngineCalls | None,
) -> Sample:
    """One try; it leaves nothing if it fails or is cancelled."""
    name = sample_name()
    half_made: Sample | None = None
    try:
        engine = calls or await opened_calls()
        making = _making(config, blueprint, engine, name, {**labels, SAMPLE_LABEL: name})
        half_made = Sample(name, engine, {}, making.remove)
        containers = await making.make()
        end = functools.partial(_end, making, engine, blueprint, containers)
        sample = Sample(name, engine, containers, end)
        if probe is not None:
            await _look_at(sample, probe, engine, blueprint)
        return sample
    except BaseException as error:
        if half_made is not None:
            await _remove_half_made(half_made, keep)
        failure = failure_of(error)
        if failure is None or failure is error:
            raise
        raise failure from error


def _making(
    config: DockerConfig,
    blueprint: Blueprint,
    calls: EngineCalls,
    name: str,
    labels: Mapping[str, str],
) -> Making:
    if config.compose_file is None:
        return Assembly(calls, blueprint, name, labels)
    return Composition(calls, blueprint, Path(config.compose_file), name, labels)


async def _look_at(sample: Sample, probe: Probe, calls: EngineCalls, blueprint: Blueprint) -> None:
    """Let the probe look; a service that has ended is the better explanation of what it finds.

    One that others do without may have ended.
    """
    problem: str | Exception | None
    try:
        problem = await probe(sample)
    except Exception as error:
        problem = error
    async with anyio.create_task_group() as group:
        for service, container in sample.containers.items():
            if service == AGENTS_SERVICE or not blueprint.is_optional(service):
                group.start_soon(refuse_ended, calls, service, container)
    if isinstance(problem, Exception):
        raise problem
    if problem is not None:
        raise StartFailure(problem)


def _out_of_time(tries: int) -> str:
    times = "once" if tries == 1 else f"{tries} times"
    return f" (tried {times}; after {_ALL_TRIES / 60:g} minutes it is not tried again)"


async def _end(
    making: Making, calls: EngineCalls, blueprint: Blueprint, containers: Mapping[str, str]
) -> None:
    with anyio.CancelScope(shield=True):
        await tell_of_ended(calls, blueprint, containers)
        await making.remove()


async def _remove_half_made(sample: Sample, keep: Keep | None) -> None:
    """A failure here is told, and does not hide why the sample did not start."""
    with anyio.CancelScope(shield=True):
        try:
            await sample.remove()
        except Exception as error:
            logger.warning(
                "what was made of sample %s stays until the end of the run, or until a next run "
                "starts, since it cannot be removed: %s",
                sample.name,
                error,
            )
            if keep is not None:
                keep(sample)


@functools.lru_cache(maxsize=64)
def _blueprint(path: str) -> Blueprint:
    """Read once a process; a file's name changes with its contents."""
    return Blueprint.model_validate_json(Path(path).read_text(encoding="utf-8"))
