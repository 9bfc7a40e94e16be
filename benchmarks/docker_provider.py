"""Our Docker sandbox against Inspect's own: a sample's start, one command and removal; a command.

Run by hand, with a Docker engine: `python benchmarks/docker_provider.py [--rounds 3]`. It prints
ratios measured in one run, ours and Inspect's in turn, for samples of one service and of three, one
after the other and eight at once. Both make the same containers from the same image.
`CT_BASE_IMAGE` names the image that they are built on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.util import SandboxEnvironment

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.environments import EnvironmentFiles, write_compose

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.compose import resolved
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.images import image_names
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.external.types import INSPECT_DOCKER, provider_of

AT_ONCE = 8
TASK = "benchmark"
OTHERS = """
  left: {image: "${CT_BASE_IMAGE:-debian:12-slim}", command: sleep infinity, init: true}
  right: {image: "${CT_BASE_IMAGE:-debian:12-slim}", command: sleep infinity, init: true}
"""

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Provider:
    """One of the two, with what its samples are made from."""

    kind: type[SandboxEnvironment]
    config: Any

    async def start(self) -> dict[str, SandboxEnvironment]:
        """Start a sample."""
        return await self.kind.sample_init(TASK, self.config, {})

    async def remove(self, boxes: dict[str, SandboxEnvironment]) -> None:
        """Remove a sample."""
        await self.kind.sample_cleanup(TASK, self.config, boxes, False)

    async def sample(self) -> None:
        """All of a sample's life."""
        boxes = await self.start()
        await command(boxes["default"])
        await self.remove(boxes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=8, help="in a round, of each kind")
    parser.add_argument("--commands", type=int, default=40, help="in a round, of each kind")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CT_STATE_DIR"] = f"{folder}/state"
        anyio.run(compare, Path(folder), options.samples, options.commands, options.rounds)


async def compare(place: Path, samples: int, commands: int, rounds: int) -> None:
    for name, others in (("one service", ""), ("three services", OTHERS)):
        root = EnvironmentFiles(name=f"bench{len(others)}").write(place)
        write_compose(root, more=others)
        ours, theirs = providers(load_environment(root), place)
        await theirs.kind.task_init(TASK, theirs.config)
        await ours.sample()  # what only the first one costs is not measured
        await theirs.sample()
        what = f"a sample of {name}"
        await report(f"{what}, serially", ours.sample, theirs.sample, samples, 1, rounds)
        at_once = f"{what}, {AT_ONCE} at once"
        await report(at_once, ours.sample, theirs.sample, 2 * AT_ONCE, AT_ONCE, rounds)
    await compare_commands(ours, theirs, commands, rounds)


async def compare_commands(ours: Provider, theirs: Provider, commands: int, rounds: int) -> None:
    our_boxes, their_boxes = await ours.start(), await theirs.start()
    try:
        pair = (
            lambda: command(our_boxes["default"]),
            lambda: command(their_boxes["default"]),
        )
        await report("a command, serially", *pair, commands, 1, rounds)
        await report(f"a command, {AT_ONCE} at once", *pair, commands, AT_ONCE, rounds)
    finally:
        await ours.remove(our_boxes)
        await theirs.remove(their_boxes)


def providers(environment: Environment, place: Path) -> tuple[Provider, Provider]:
    """Ours and Inspect's, for the same containers."""
    ours = docker_config(environment)
    assert ours.problem is None, ours.problem
    model = resolved(environment.compose_file)
    names = image_names(environment.id, model)
    for service, settings in model["services"].items():
        settings.pop("build", None)
        settings.update(image=names.get(service) or settings["image"], pull_policy="never")
        settings["x-local"] = True  # Inspect would pull it otherwise
        if len(model["services"]) == 1:
            settings.pop("networks", None)
            settings["network_mode"] = "none"
    model["networks"] = {name: {"internal": True} for name in model.get("networks") or {}}
    file = place / f"{environment.id}.compose.yaml"
    file.write_text(json.dumps({key: model[key] for key in ("services", "networks")}))
    return Provider(DockerSandbox, ours), Provider(provider_of(INSPECT_DOCKER), str(file))


async def command(box: SandboxEnvironment) -> None:
    done = await box.exec(["true"])
    assert done.success, done


async def report(
    what: str, ours: Work, theirs: Work, count: int, at_once: int, rounds: int
) -> None:
    """Print seconds for each of `count` and the ratio of ours to Inspect's, round by round."""
    found = [
        (await seconds_each(ours, count, at_once), await seconds_each(theirs, count, at_once))
        for _ in range(rounds)
    ]
    ratios = [mine / other for mine, other in found]
    mine, other = (statistics.median(column) for column in zip(*found, strict=True))
    print(
        f"{what}: ours {mine:.3f} s, Inspect's {other:.3f} s; ours / Inspect's "
        f"{statistics.median(ratios):.2f} (min {min(ratios):.2f}, max {max(ratios):.2f})",
        flush=True,
    )


async def seconds_each(work: Work, count: int, at_once: int) -> float:
    limiter = anyio.CapacityLimiter(at_once)

    async def one() -> None:
        async with limiter:
            await work()

    started = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return (time.perf_counter() - started) / count


if __name__ == "__main__":
    main()
