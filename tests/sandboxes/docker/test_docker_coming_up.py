"""Samples of several services, on the real engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from support.containers import things_of
from support.environments import write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.calls import engine_calls
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import SAMPLE_LABEL, engine, owner_value
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.leftovers import holdings
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.docker.sample import Sample
from control_tower.sandboxes.docker.startup import start_sample
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.owners import own_directory

pytestmark = [pytest.mark.docker, pytest.mark.slow]

IMAGE = "{build: {context: ., args: {BASE_IMAGE: '${CT_BASE_IMAGE:-debian:12-slim}'}}"

Configure = Callable[[str], DockerConfig]


@pytest.fixture
def configure(environment: Environment) -> Configure:
    """The environment with more in its compose file; `IMAGE` begins a service of its image."""

    def make(more: str) -> DockerConfig:
        write_compose(environment.directory, more=more.replace("IMAGE", IMAGE))
        config = docker_config(environment)
        assert config.problem is None
        return config

    return make


def outputs(config: DockerConfig, *commands: tuple[str, str]) -> list[str]:
    """What commands print in services of a sample that is gone afterwards."""

    async def run() -> list[str]:
        sample = await start_sample(config)
        try:
            return [execute(sample, service, command) for service, command in commands]
        finally:
            await sample.remove()

    said = anyio.run(run)
    assert things_of("tiny") == []
    return said


def execute(sample: Sample, service: str, command: str) -> str:
    with engine() as client:
        container = client.containers.get(sample.containers[service])
        return str(container.exec_run(["sh", "-c", command]).output.decode()).strip()


def why_not(config: DockerConfig) -> str:
    with pytest.raises(SandboxStartError) as caught:
        anyio.run(start_sample, config)
    assert things_of("tiny") == []
    return str(caught.value)


SERVICES = """
    depends_on: {db: {condition: service_healthy}, fill: {condition: service_completed_successfully}}
    volumes: ["shared:/shared:ro"]
    tmpfs: ["/scratch:size=1m"]
    networks: {default: {aliases: [the-agent]}, back: }
  fill: IMAGE, command: [sh, -c, "echo $$HOSTNAME $$$$ > /shared/filled"], hostname: filler,
    volumes: ["shared:/shared", "/no/name"], network_mode: none}
  db: IMAGE, command: [sh, -c, "sleep 0.3; touch /ready; exec sleep infinity"], init: true,
    environment: {PRICE: "$$5"}, networks: [back],
    healthcheck: {test: "test -e /ready", interval: 100ms, retries: 300}}
  beside: IMAGE, command: [sleep, infinity], init: true, network_mode: "service:db"}
volumes: {shared: }
networks: {back: }
"""


def test_services_come_up_in_order_and_find_each_other(configure: Configure) -> None:
    found = outputs(
        configure(SERVICES),
        ("default", "cat /shared/filled"),
        ("default", "touch /shared/x 2>/dev/null || echo read-only"),
        ("default", "findmnt -no SIZE /scratch || df -k --output=size /scratch | tail -1"),
        ("default", "getent hosts db >/dev/null && echo found"),
        (
            "db",
            "test -e /ready && getent hosts the-agent >/dev/null || echo elsewhere; echo $PRICE",
        ),
        ("db", "getent hosts default >/dev/null && echo found"),
        ("beside", "hostname"),
    )
    filled, read_only, scratch, db, price, default, beside = found
    assert filled.split()[0] == "filler"
    assert filled.split()[1].isdigit()
    assert (read_only, db, default) == ("read-only", "found", "found")
    assert scratch.strip() in ("1M", "1024")
    assert price.splitlines() == ["elsewhere", "$5"]
    assert beside


def test_a_volume_without_a_name_goes_with_its_container(configure: Configure) -> None:
    db = "  db: IMAGE, command: [sleep, inf], init: true, volumes: [/no/name]}\n"

    async def run() -> None:
        sample = await start_sample(configure(db))
        found = await engine_calls().inspect(sample.containers["db"])
        volume = found["Mounts"][0]["Name"]
        assert volume in await all_volumes()
        await sample.remove()
        assert volume not in await all_volumes()

    async def all_volumes() -> list[str]:
        return [volume["Name"] for volume in await engine_calls().volumes()]

    anyio.run(run)


def test_a_service_that_exits_at_once_is_told_with_its_last_lines(configure: Configure) -> None:
    needs = "    depends_on: {db: {condition: service_healthy}}\n"
    db = "  db: IMAGE, command: [sh, -c, 'echo no such table; exit 3'], healthcheck: {test: 'true'}}\n"
    said = why_not(configure(needs + db))
    assert said == (
        "service 'db' ended at its start, with exit code 3; its last lines:\nno such table"
    )


def test_so_is_the_agent_s(configure: Configure) -> None:
    async def probe(sample: Sample) -> str:
        # What the provider's first command would meet, without a race.
        while (await engine_calls().inspect(sample.containers["default"]))["State"]["Running"]:
            await anyio.sleep(0.02)
        return "the command did not run"

    config = configure("    command: [sh, -c, 'echo bad start; exit 4']\n")

    async def run() -> str:
        with pytest.raises(SandboxStartError) as caught:
            await start_sample(config, probe=probe)
        return str(caught.value)

    said = anyio.run(run)
    assert said == (
        "service 'default' ended at its start, with exit code 4; its last lines:\nbad start"
    )
    assert things_of("tiny") == []


def test_one_whose_log_is_off_too(configure: Configure) -> None:
    job = "  job: IMAGE, command: ['false'], logging: {driver: none}}\n"
    needs = "    depends_on: {job: {condition: service_completed_successfully}}\n"
    said = why_not(configure(needs + job))
    assert said.startswith("service 'job' ended at its start, with exit code 1; its output cannot")


def test_one_that_is_unhealthy_is_told_with_what_its_check_said(configure: Configure) -> None:
    check = "{test: 'echo port closed; exit 1', interval: 100ms, retries: 2}"
    said = why_not(configure(f"  db: IMAGE, command: [sleep, inf], healthcheck: {check}}}\n"))
    assert "service 'db' is unhealthy; its health check said:\n  exit code 1: port closed\n" in said
    assert said.endswith("\nthe service wrote nothing")


def test_one_that_is_slow_within_its_retries_comes_up(configure: Configure) -> None:
    needs = "    depends_on: {db: {condition: service_healthy}}\n"
    db = """
  db: IMAGE, command: [sh, -c, "sleep 1; touch /ready; exec sleep infinity"], init: true,
    healthcheck: {test: "test -e /ready", interval: 500ms, retries: 60, timeout: 10s}}
"""
    assert outputs(configure(needs + db), ("db", "ls /ready")) == ["/ready"]


def test_a_program_that_is_not_there_is_told(configure: Configure) -> None:
    said = why_not(configure("  db: IMAGE, entrypoint: [/nothing/here]}\n"))
    assert said.startswith("service 'db' cannot be started: ")
    assert "/nothing/here" in said


def test_an_image_that_went_away_is_told(environment: Environment, configure: Configure) -> None:
    config = configure("  db: IMAGE, command: [sleep, inf]}\n")
    environment.directory.joinpath("codebase", "compose.yml").unlink()
    text = open(config.blueprint).read().replace("control-tower-tiny-db:", "control-tower-none:")  # noqa: SIM115
    other = f"{config.blueprint}.other"
    with open(other, "w") as file:
        file.write(text)
    said = why_not(config.model_copy(update={"blueprint": other}))
    assert "No such image" in said


def test_cancelling_while_it_starts_leaves_nothing(configure: Configure) -> None:
    config = configure(SERVICES)

    async def run() -> None:
        for part in range(6):
            with anyio.move_on_after(part * 0.15):
                sample = await start_sample(config)
                await sample.remove()
            assert things_of("tiny") == []

    anyio.run(run)


def test_everything_says_whose_it_is_and_for_which_run(configure: Configure) -> None:
    config = configure(
        "  db: IMAGE, command: [sleep, inf], init: true, volumes: ['data:/d']}\nvolumes: {data: }\n"
    )

    async def run() -> None:
        boxes = await DockerSandbox.sample_init("task", config, {"run_id": "the-run"})
        owner = owner_value(own_directory())
        try:
            found = [held for held in holdings() if held.owner == owner]
            assert sorted(held.kind for held in found) == [
                *("container", "container"),
                *("network", "volume"),
            ]
            (sample,) = {"-".join(held.name.split("-")[:2]) for held in found}
            with engine() as client:
                labelled = client.containers.list(filters={"label": f"{SAMPLE_LABEL}={sample}"})
            assert len(labelled) == 2
            assert {(h.environment, h.run, h.alive) for h in found} == {("tiny", "the-run", True)}
        finally:
            await DockerSandbox.sample_cleanup("task", config, boxes, False)
        assert [held for held in holdings() if held.owner == owner] == []

    anyio.run(run)


def test_samples_at_once_do_not_meet(configure: Configure) -> None:
    config = configure("    networks: [default]\n  db: IMAGE, command: [sleep, inf], init: true}\n")

    async def run() -> None:
        samples: list[Sample] = []

        async def start() -> None:
            samples.append(await start_sample(config))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(start)
        containers: list[Any] = [id for sample in samples for id in sample.containers.values()]
        assert len(set(containers)) == 8
        await samples[0].remove()
        state = await engine_calls().inspect(samples[1].containers["db"])
        assert state["State"]["Running"]
        for sample in samples[1:]:
            await sample.remove()

    anyio.run(run)
    assert things_of("tiny") == []
