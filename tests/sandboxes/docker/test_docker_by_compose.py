"""The way over compose: the same containers, for what we do not translate; on the real engine."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.containers import containers_of, things_of
from support.environments import write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.calls import engine_calls
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import (
    ENVIRONMENT_LABEL,
    OWNER_LABEL,
    RUN_LABEL,
    SAMPLE_LABEL,
    owner_value,
)
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.startup import start_sample
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.owners import own_directory

pytestmark = [pytest.mark.docker, pytest.mark.slow]

BUILD = "{build: {context: ., args: {BASE_IMAGE: '${CT_BASE_IMAGE:-debian:12-slim}'}}"
CONFIGS = "    configs: [{source: greeting, target: /greeting}]\n"
GREETING = "configs: {greeting: {content: 'costs $$5'}}\n"


def test_what_we_do_not_translate_is_named_and_works(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    db = f"  db: {BUILD}, command: [sleep, inf], init: true, volumes: ['data:/data']}}\n"
    write_compose(environment.directory, more=CONFIGS + db + "volumes: {data: }\n" + GREETING)
    with caplog.at_level(logging.WARNING, "control_tower.sandboxes"):
        config = docker_config(environment)
    assert config.compose_file is not None
    (line,) = [line for line in caplog.messages if "docker compose" in line]
    assert "environment 'tiny'" in line
    assert "service 'default': configs" in line

    async def run() -> None:
        sample = await start_sample(config, {RUN_LABEL: "the-run"})
        assert set(sample.containers) == {"default", "db"}
        found = await inspected(sample.containers["default"])
        labels = found["Config"]["Labels"]
        assert labels[OWNER_LABEL] == owner_value(own_directory())
        assert (labels[ENVIRONMENT_LABEL], labels[RUN_LABEL]) == ("tiny", "the-run")
        assert labels[SAMPLE_LABEL] == sample.name
        assert len(things_of("tiny")) == 4  # two containers, a network and a volume
        assert read(sample.containers["default"], "/greeting") == "costs $5"
        await sample.remove()
        assert things_of("tiny") == []

    anyio.run(run)
    assert list(own_directory().glob("ct-*")) == []


def read(container: str, path: str) -> str:
    from control_tower.sandboxes.docker.engine import engine

    with engine() as client:
        return str(client.containers.get(container).exec_run(["cat", path]).output.decode())


async def inspected(container: str) -> Any:
    return await engine_calls().inspect(container)


def test_what_ends_at_its_start_is_told_in_the_same_way(environment: Environment) -> None:
    needs = "    depends_on: {db: {condition: service_healthy}}\n"
    db = f"  db: {BUILD}, command: [sh, -c, 'echo last; exit 3'], healthcheck: {{test: 'true'}}}}\n"
    write_compose(environment.directory, more=CONFIGS + needs + db + GREETING)
    config = docker_config(environment)
    with pytest.raises(SandboxStartError) as caught:
        anyio.run(start_sample, config)
    assert str(caught.value) == (
        "service 'db' ended at its start, with exit code 3; its last lines:\nlast"
    )
    assert things_of("tiny") == []


def test_what_compose_says_is_passed_on(environment: Environment) -> None:
    write_compose(environment.directory, more=CONFIGS + GREETING)
    config = docker_config(environment)
    assert config.compose_file is not None
    model = {"services": {"default": {"image": "nothing/here:1"}}}
    Path(config.compose_file).write_text(json.dumps(model))
    with pytest.raises(SandboxStartError, match=r"docker compose failed: .*nothing/here"):
        anyio.run(start_sample, config)


def test_cancelling_it_leaves_nothing(environment: Environment) -> None:
    db = f"  db: {BUILD}, command: [sleep, inf], init: true}}\n"
    write_compose(environment.directory, more=CONFIGS + db + GREETING)
    config = docker_config(environment)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(start_sample, config)
            while not containers_of("tiny"):
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()

    anyio.run(run)
    assert things_of("tiny") == []


MUCH = """
    command: [sh, -c, "sleep inf # $$HOME"]
    environment: {A: "x$$y", EMPTY: "", PATH: }
    hostname: hh
    domainname: example.org
    working_dir: /
    cap_add: [NET_BIND_SERVICE]
    cap_drop: [MKNOD]
    security_opt: ["no-new-privileges:true"]
    read_only: true
    extra_hosts: ["a:192.0.2.9", "six:2001:db8::1"]
    dns_search: [a.example]
    dns_opt: ["ndots:1"]
    stop_signal: SIGINT
    shm_size: 32m
    mem_limit: 256m
    mem_reservation: 64m
    memswap_limit: 300m
    cpus: 0.75
    cpu_shares: 100
    cpuset: "0"
    oom_score_adj: 100
    ulimits: {nofile: {soft: 100, hard: 200}, nproc: 400}
    sysctls: {net.core.somaxconn: 10}
    labels: {x: "y$$z"}
    annotations: {q: r}
    restart: on-failure:3
    logging: {driver: json-file, options: {max-size: 1m}}
    tmpfs: ["/run:size=10m,mode=700", /scratch]
    tty: true
    stdin_open: true
    group_add: ["100", mail]
    expose: ["80/tcp", "53/udp"]
    healthcheck: {test: "true", interval: 6s, timeout: 900ms, retries: 3, start_period: 1m}
    networks: {a: {aliases: [foo], priority: 10}, b: }
    volumes:
      - data:/data
      - {type: volume, source: data, target: /again, read_only: true, volume: {nocopy: true}}
      - {type: tmpfs, target: /t, tmpfs: {size: 1m, mode: 448}}
  db: BUILD, command: [sleep, inf], init: true, network_mode: none,
    deploy: {resources: {limits: {cpus: "0.5", memory: 50M, pids: 10}, reservations: {memory: 20M}},
      restart_policy: {condition: any}},
    healthcheck: {disable: true}}
  beside: BUILD, command: [sleep, inf], init: true, network_mode: "service:db", platform: linux/amd64}
networks: {a: , b: }
volumes: {data: {labels: {l: m}}}
"""


def test_our_way_makes_what_compose_makes(environment: Environment) -> None:
    write_compose(environment.directory, more=MUCH.replace("BUILD", BUILD))
    config = docker_config(environment)
    assert config.compose_file is None
    ours = anyio.run(made_by, config)
    theirs = anyio.run(made_by, over_compose(config, environment))
    assert ours["default"]["HostConfig"]["Memory"] == 256 * 2**20
    for service in ("default", "db", "beside"):
        for part in ("Config", "HostConfig", "Networks", "Mounts"):
            assert ours[service][part] == theirs[service][part], (service, part)


def over_compose(config: DockerConfig, environment: Environment) -> DockerConfig:
    """The same model, as if something in it were not translated."""
    from control_tower.sandboxes.docker import environment as module

    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        patched.setattr(module, "unsupported", lambda model: ["everything"])
        other = docker_config(environment)
    assert other.blueprint == config.blueprint
    assert other.compose_file is not None
    return other


async def made_by(config: DockerConfig) -> dict[str, Any]:
    """What the engine says of a sample's containers, without what is a sample's own."""
    sample = await start_sample(config)
    try:
        return {
            service: compared(await inspected(container), sample.name, sample.containers)
            for service, container in sample.containers.items()
        }
    finally:
        await sample.remove()


def compared(found: Any, name: str, containers: Any) -> dict[str, Any]:
    text = json.dumps(found).replace(f"{name}_", "S-").replace(f"{name}-", "S-")
    for service, container in containers.items():
        text = text.replace(container[:12], f"id-of-{service}").replace(container[12:], "")
    found = json.loads(text)
    config, host = found["Config"], found["HostConfig"]
    config["Labels"] = {
        key: value
        for key, value in config["Labels"].items()
        if not key.startswith("com.docker.compose") and key != SAMPLE_LABEL
    }
    config["Env"].sort()
    host["ExtraHosts"] = sorted(host["ExtraHosts"] or ())
    host["Ulimits"] = sorted(host["Ulimits"] or (), key=lambda limit: str(limit["Name"]))
    for key in _ONLY_OF_THE_CLIENT:
        config.pop(key, None)
        host.pop(key, None)
    for key in _OF_ANOTHER_KIND:  # mounts are compared in the other answer, and there are no ports
        host.pop(key, None)
    mounts = [
        {key: mount[key] for key in ("Type", "Name", "Destination", "RW") if key in mount}
        for mount in found["Mounts"]
    ]
    networks = {
        key: {"aliases": sorted({name.removesuffix("-1") for name in end["DNSNames"] or ()})}
        for key, end in found["NetworkSettings"]["Networks"].items()
    }
    return {
        "Config": config,
        "HostConfig": host,
        "Networks": networks,
        "Mounts": sorted(mounts, key=lambda mount: str(mount["Destination"])),
    }


_OF_ANOTHER_KIND = ("Binds", "Mounts", "PortBindings")
_ONLY_OF_THE_CLIENT = ("AttachStdout", "AttachStderr", "OpenStdin", "StdinOnce")
"""Whether compose itself is attached."""
