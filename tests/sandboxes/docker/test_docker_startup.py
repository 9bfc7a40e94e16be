"""Trying again where that can help; the engine is in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.fake_engine import FakeEngine, exited, refusal

from control_tower.sandboxes.docker.blueprint import blueprint_of
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.failing import StartFailure
from control_tower.sandboxes.docker.sample import Sample
from control_tower.sandboxes.docker.startup import start_sample
from control_tower.sandboxes.errors import KnownStartFailure, SandboxStartError

NO_ADDRESSES = "could not find an available, non-overlapping IPv4 address pool"

Configure = Callable[..., DockerConfig]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """A configuration whose sample has one network, and the services that are named."""

    def make(*others: str, retries: int = 7, **of_default: Any) -> DockerConfig:
        service: dict[str, Any] = {"image": "x", "networks": {"n": None}}
        services = dict.fromkeys(("default", *others), service)
        services["default"] = {**service, **of_default}
        blueprint = blueprint_of({"services": services, "networks": {"n": {}}}, "mini")
        file = tmp_path / "blueprint.json"
        file.write_text(blueprint.model_dump_json())
        return DockerConfig(
            blueprint=str(file), workspace="/app", agent_user="agent", startup_retries=retries
        )

    return make


class Pauses:
    """Takes no time, and knows how long it would have; a clock of what others let pass, too."""

    def __init__(self, engine: FakeEngine | None = None) -> None:
        self.seconds: list[float] = []
        self.elsewhere = 0.0
        self._engine = engine

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await anyio.lowlevel.checkpoint()
        assert self._engine is None or self._engine.left == []

    def now(self) -> float:
        return 1000.0 + self.elsewhere + sum(self.seconds)


def start(config: DockerConfig, engine: FakeEngine, **more: Any) -> Sample:
    async def run() -> Sample:
        more.setdefault("sleep", Pauses(engine))
        return await start_sample(config, {"control-tower.run": "r"}, calls=engine.calls, **more)

    return anyio.run(run)


def why_not(config: DockerConfig, engine: FakeEngine, **more: Any) -> str:
    with pytest.raises(SandboxStartError) as caught:
        start(config, engine, **more)
    assert engine.left == []
    return str(caught.value)


def test_a_sample_is_started_and_removed(configure: Configure) -> None:
    engine = FakeEngine()
    sample = start(configure("db"), engine)
    assert set(sample.containers) == {"default", "db"}
    labels = {"control-tower.run": "r", "control-tower.sample": sample.name}
    assert engine.containers[f"{sample.name}-db"]["body"]["Labels"] == labels
    anyio.run(sample.remove)
    assert engine.left == []


def test_no_two_samples_share_a_name(configure: Configure) -> None:
    engine = FakeEngine()
    config = configure()
    assert start(config, engine).name != start(config, engine).name


def test_what_may_pass_is_tried_again_with_a_line_and_ever_longer_pauses(
    configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FakeEngine()
    engine.refusals["network n"] = [refusal(500, NO_ADDRESSES) for _ in range(3)]
    pauses = Pauses(engine)
    with caplog.at_level(logging.WARNING, "control_tower.sandboxes"):
        start(configure(), engine, sleep=pauses)
    assert len(pauses.seconds) == len(caplog.messages) == 3
    assert pauses.seconds == sorted(pauses.seconds)
    assert pauses.seconds[2] >= 2 * pauses.seconds[0] > 0
    assert caplog.messages[1].startswith("environment 'mini': its sandbox did not start and is")
    assert f"(2 of 7): {NO_ADDRESSES}" in caplog.messages[1]


@pytest.mark.parametrize(("retries", "more"), [(0, ""), (2, " (tried 3 times)")])
def test_it_gives_up_after_so_many_tries(configure: Configure, retries: int, more: str) -> None:
    engine = FakeEngine()
    engine.refusals["start default"] = [refusal(503, "busy") for _ in range(retries + 1)]
    config = configure(retries=retries)
    said = why_not(config, engine)
    assert said == f"service 'default' cannot be started: busy{more}"
    assert start(config, engine)  # it may have passed by now


@pytest.mark.parametrize(("each", "tries"), [(590.0, "2 times"), (601.0, "once"), (2000.0, "once")])
def test_one_that_hangs_in_every_try_ends(configure: Configure, each: float, tries: str) -> None:
    engine, pauses = FakeEngine(), Pauses()
    engine.refusals["start default"] = [refusal(503, "busy") for _ in range(8)]

    async def hang(what: str) -> None:
        if what == "start default":
            pauses.elsewhere += each

    engine.before = hang
    said = why_not(configure(), engine, sleep=pauses, clock=pauses.now)
    assert said == (
        f"service 'default' cannot be started: busy (tried {tries}; after 10 minutes it is not "
        "tried again)"
    )
    assert pauses.elsewhere == each * (8 - len(engine.refusals["start default"]))


def test_a_try_that_comes_up_late_counts(configure: Configure) -> None:
    engine, pauses = FakeEngine(), Pauses()
    engine.refusals["start default"] = [refusal(503, "busy")]

    async def hang(what: str) -> None:
        if what == "start default":
            pauses.elsewhere += 500

    engine.before = hang
    assert start(configure(), engine, sleep=pauses, clock=pauses.now)
    assert pauses.now() > 1600


def test_what_stays_is_not_tried_again_and_remembered(configure: Configure) -> None:
    engine = FakeEngine()
    engine.states["default"] = [exited(3)]
    engine.words["default"] = "no such table"
    config = configure()
    pauses = Pauses()
    said = why_not(config, engine, sleep=pauses)
    assert said.startswith("service 'default' ended at its start, with exit code 3")
    assert said.endswith("no such table")
    assert pauses.seconds == []
    before = list(engine.done)
    with pytest.raises(KnownStartFailure) as caught:
        start(config, engine)
    assert str(caught.value) == said
    assert engine.done == before
    assert start(config.model_copy(update={"workspace": "/other"}), FakeEngine())


def test_what_stays_is_remembered_for_its_run_alone(configure: Configure) -> None:
    engine = FakeEngine()
    engine.refusals["create default"] = [refusal(404, "No such image: x")]
    first, second = (configure().model_copy(update={"provision": run}) for run in ("a", "b"))
    assert "No such image" in why_not(first, engine)
    assert start(second, engine)
    assert "No such image" in why_not(first, FakeEngine())


def test_images_that_could_not_be_made_are_said_at_once(configure: Configure) -> None:
    engine = FakeEngine()
    config = configure().model_copy(update={"problem": "the build failed"})
    assert why_not(config, engine) == "the build failed"
    assert engine.done == []


def test_what_a_probe_finds_stays_and_everything_is_removed(configure: Configure) -> None:
    engine = FakeEngine()

    async def probe(sample: Sample) -> str:
        assert sample.containers["default"] in engine.containers
        return "there is no agent"

    config = configure()
    assert why_not(config, engine, probe=probe) == "there is no agent"
    assert why_not(config, engine) == "there is no agent"


@pytest.mark.parametrize("error", [None, refusal(409, "container is not running"), KeyError("x")])
def test_a_service_that_has_ended_explains_what_a_probe_finds(
    configure: Configure, error: Exception | None
) -> None:
    engine = FakeEngine()

    async def probe(sample: Sample) -> str:
        engine.states["default"] = [exited(1)]
        engine.words["default"] = "the very last"
        if error is not None:
            raise error
        return "the command did not run"

    said = why_not(configure(), engine, probe=probe)
    assert said == (
        "service 'default' ended at its start, with exit code 1; its last lines:\nthe very last"
    )


def test_one_that_is_started_again_and_again_has_ended(configure: Configure) -> None:
    engine = FakeEngine()

    async def probe(sample: Sample) -> str:
        engine.states["default"] = [{"Status": "restarting", "ExitCode": 9}]
        return "the command did not run"

    said = why_not(configure(), engine, probe=probe)
    assert said.startswith("service 'default' ends again and again, with exit code 9")


def test_an_engine_that_is_slow_to_answer_a_probe_is_asked_again(configure: Configure) -> None:
    config, engine, tries = configure(), FakeEngine(), 0

    async def probe(sample: Sample) -> str | None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise StartFailure("the container took no command", passing=True)
        return None

    sample = start(config, engine, probe=probe, sleep=Pauses())
    assert tries == 2
    assert set(sample.containers) == {"default"}


def test_a_service_that_others_do_without_may_have_ended(configure: Configure) -> None:
    engine = FakeEngine()
    engine.states["db"] = [exited(3)]
    waiting = {"db": {"condition": "service_started", "required": False}}

    async def probe(sample: Sample) -> str | None:
        return None

    sample = start(configure("db", depends_on=waiting), engine, probe=probe, sleep=Pauses())
    assert "default" in sample.containers


def test_an_error_of_a_probe_s_own_is_raised_as_it_is(configure: Configure) -> None:
    async def probe(sample: Sample) -> None:
        raise KeyError("of our own")

    engine = FakeEngine()
    with pytest.raises(KeyError):
        start(configure(), engine, probe=probe)
    assert engine.left == []


def test_what_cannot_be_removed_is_told_beside_the_reason(
    configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FakeEngine()
    engine.states["default"] = [exited(3)]
    engine.refusals["remove default"] = [refusal(400, "not now")]
    kept: list[Sample] = []
    with (
        caplog.at_level(logging.WARNING, "control_tower.sandboxes"),
        pytest.raises(SandboxStartError, match="exit code 3"),
    ):
        start(configure(), engine, keep=kept.append)
    assert [line for line in caplog.messages if "not now" in line and "end of the run" in line]
    assert engine.left != []
    anyio.run(kept[0].remove)
    assert engine.left == []


def test_a_service_that_ended_meanwhile_is_told_when_its_sample_is_removed(
    configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FakeEngine()
    sample = start(configure("db"), engine)
    engine.states["db"] = [exited(7)]
    engine.words["db"] = "dying now"
    with caplog.at_level(logging.WARNING, "control_tower.sandboxes"):
        anyio.run(sample.remove)
    (line,) = caplog.messages
    assert "service 'db' ended while its sample ran, with exit code 7" in line
    assert engine.left == []


def test_cancelling_a_start_leaves_nothing(configure: Configure) -> None:
    engine = FakeEngine()
    engine.states["default"] = [{"Status": "running", "Health": {"Status": "starting"}}]

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(start_and_wait)
            while "start default" not in engine.done:
                await anyio.lowlevel.checkpoint()
            assert engine.left
            group.cancel_scope.cancel()

    async def start_and_wait() -> None:
        await start_sample(configure(), calls=engine.calls)
        raise AssertionError("it never gets healthy")

    anyio.run(run)
    assert engine.left == []
