"""How a sample's things are made, awaited and removed; the engine is in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from support.fake_engine import FakeEngine, exited, health, refusal

from control_tower.sandboxes.docker.assembly import Assembly
from control_tower.sandboxes.docker.blueprint import blueprint_of
from control_tower.sandboxes.docker.failing import failure_of
from control_tower.sandboxes.docker.reach import BRIDGE_NAME

CHECK = {"test": ["CMD", "true"]}
Services = dict[str, dict[str, Any]]


def assembly(engine: FakeEngine, services: Services, **more: Any) -> Assembly:
    named = {name: {"image": f"{name}:1", **service} for name, service in services.items()}
    blueprint = blueprint_of({"services": named, **more}, "mini")
    return Assembly(engine.calls, blueprint, "ct-abc", {"control-tower.sample": "ct-abc"})


def make(engine: FakeEngine, services: Services, **more: Any) -> dict[str, str]:
    """Make it, then remove it."""

    async def run() -> dict[str, str]:
        made = assembly(engine, services, **more)
        try:
            return await made.make()
        finally:
            await made.remove()
            assert engine.left == []

    return anyio.run(run)


def made_of(engine: FakeEngine, services: Services, **more: Any) -> FakeEngine:
    """The engine with it still there."""
    anyio.run(assembly(engine, services, **more).make)
    return engine


def reason(engine: FakeEngine, services: Services) -> tuple[str, bool]:
    """Why it does not come up, and whether that may pass."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        make(engine, services)
    failure = failure_of(caught.value)
    assert failure is not None, caught.value
    return str(failure), failure.passing


def after(first: str, then: str) -> Callable[[FakeEngine], bool]:
    return lambda engine: engine.done.index(first) < engine.done.index(then)


def test_everything_has_names_of_this_sample_and_its_labels() -> None:
    engine = FakeEngine()
    volume = {"type": "volume", "source": "data", "target": "/d"}
    service = {"networks": {"n": {"aliases": ["x"]}}, "volumes": [volume], "labels": {"a": "b"}}
    made_of(engine, {"default": service}, networks={"n": {}}, volumes={"data": {}})
    assert engine.left == ["ct-abc-data", "ct-abc-default", "ct-abc-n"]
    body = engine.containers["ct-abc-default"]["body"]
    assert body["Labels"] == {"a": "b", "control-tower.sample": "ct-abc"}
    assert body["HostConfig"]["Mounts"][0]["Source"] == "ct-abc-data"
    assert body["HostConfig"]["NetworkMode"] == "ct-abc-n"
    assert body["NetworkingConfig"]["EndpointsConfig"] == {
        "ct-abc-n": {"Aliases": ["default", "x"]}
    }
    for thing in (engine.networks["ct-abc-n"], engine.volumes["ct-abc-data"]):
        assert thing["Labels"] == {"control-tower.sample": "ct-abc"}


def test_further_networks_are_joined_before_the_start() -> None:
    engine = FakeEngine()
    networks: dict[str, Any] = {"a": {}, "b": {}, "c": {}}
    service = {"networks": {key: {"aliases": [f"in-{key}"]} for key in networks}}
    made_of(engine, {"default": service}, networks=networks)
    assert engine.containers["ct-abc-default"]["connected"] == [
        ("ct-abc-b", {"Aliases": ["default", "in-b"]}),
        ("ct-abc-c", {"Aliases": ["default", "in-c"]}),
    ]
    assert after("connect default", "start default")(engine)


def test_each_guarded_bridge_has_a_name_of_its_own_that_begins_as_it_should() -> None:
    engine = FakeEngine()
    guarded = {"driver_opts": {BRIDGE_NAME: "ctabcde"}}
    service = {"networks": {"a": None, "b": None}}
    made_of(engine, {"default": service}, networks={"a": guarded, "b": guarded})
    names = {network["Options"][BRIDGE_NAME] for network in engine.networks.values()}
    assert len(names) == 2
    assert all(len(name) == 15 and name.startswith("ctabcde") for name in names)


def test_a_service_without_networks_has_none() -> None:
    engine = FakeEngine()
    made_of(engine, {"default": {}})
    assert engine.containers["ct-abc-default"]["body"]["HostConfig"]["NetworkMode"] == "none"


def test_a_network_is_shared_with_a_container_that_runs() -> None:
    engine = FakeEngine()
    made_of(engine, {"default": {"network_mode": "service:db"}, "db": {}})
    host = engine.containers["ct-abc-default"]["body"]["HostConfig"]
    assert host["NetworkMode"] == "container:ct-abc-db"
    assert after("start db", "create default")(engine)


def test_all_is_created_at_once_and_started_in_order() -> None:
    engine = FakeEngine()
    engine.states["db"] = [health("starting"), health("healthy")]
    services: Services = {
        "default": {"depends_on": {"db": {"condition": "service_healthy"}}},
        "db": {"healthcheck": CHECK},
        "alone": {},
    }
    make(engine, services)
    assert after("create default", "start db")(engine)
    assert after("start alone", "start default")(engine)
    assert after("start db", "start default")(engine)


def test_independent_services_start_at_the_same_time() -> None:
    engine = FakeEngine()
    starting = 0
    both = anyio.Event()

    async def meet(what: str) -> None:
        nonlocal starting
        if what.startswith("start"):
            starting += 1
            if starting == 2:
                both.set()
            with anyio.fail_after(10):
                await both.wait()

    engine.before = meet
    make(engine, {"default": {}, "other": {}})
    assert both.is_set()


def test_a_service_waits_for_another_s_success() -> None:
    engine = FakeEngine()
    looks = [{"Status": "running"}, {"Status": "running"}, exited(0)]
    engine.states["job"] = list(looks)
    waiting = {"job": {"condition": "service_completed_successfully"}}
    make(engine, {"default": {"depends_on": waiting}, "job": {}})
    assert engine.states["job"] == looks[-1:]
    assert after("start job", "start default")(engine)


def test_a_health_check_is_waited_for_even_if_no_service_does() -> None:
    engine = FakeEngine()
    engine.states["db"] = [health("starting"), health("starting"), health("healthy")]
    make(engine, {"default": {}, "db": {"healthcheck": CHECK}})
    assert len(engine.states["db"]) == 1


def test_one_that_is_unhealthy_is_told_with_what_its_check_said() -> None:
    engine = FakeEngine()
    engine.states["db"] = [health("starting"), health("unhealthy", "no route", "refused\n")]
    engine.words["db"] = "\n".join(f"line {number}" for number in range(40))
    said, passing = reason(engine, {"default": {}, "db": {"healthcheck": CHECK}})
    assert said.startswith("service 'db' is unhealthy; its health check said:\n")
    checks = "  exit code 1: no route\n  exit code 1: refused\n"
    assert f"{checks}the service's own last lines:\nline 25\n" in said
    assert said.endswith("line 39")
    assert not passing


def test_a_check_that_failed_as_often_as_its_author_allows_is_not_waited_for() -> None:
    def failed(*seconds: int) -> dict[str, Any]:
        results = [
            {"Start": f"2026-03-01T10:00:{second:02}Z", "ExitCode": 1, "Output": f"no {second}"}
            for second in seconds
        ]
        state = health("starting")
        return {**state, "StartedAt": at_first, "Health": {**state["Health"], "Log": results}}

    at_first = "2026-03-01T10:00:00Z"
    engine = FakeEngine()
    engine.states["db"] = [failed(), failed(1), failed(1, 2), health("healthy")]
    check = {**CHECK, "interval": "1s", "timeout": "1s", "retries": 2}
    waiting = {"depends_on": {"db": {"condition": "service_healthy"}}}
    said, passing = reason(engine, {"default": waiting, "db": {"healthcheck": check}})
    assert said == (
        "service 'db' is unhealthy; its health check said:\n"
        "  exit code 1: no 1\n  exit code 1: no 2\nthe service wrote nothing"
    )
    assert not passing
    assert "start default" not in engine.done


@pytest.mark.parametrize(
    ("services", "who", "state", "words"),
    [
        ({"default": {}}, "default", exited(3), "with exit code 3"),
        ({"default": {}}, "default", exited(0), "with exit code 0"),
        ({"default": {}, "db": {}}, "db", exited(1), "with exit code 1"),
        (
            {"default": {}, "db": {}},
            "db",
            exited(137, OOMKilled=True),
            "with exit code 137, out of memory",
        ),
        (
            {
                "default": {"depends_on": {"db": {"condition": "service_healthy"}}},
                "db": {"healthcheck": CHECK},
            },
            "db",
            exited(0, Health={"Status": "unhealthy"}),
            "with exit code 0",
        ),
        (
            {
                "default": {"depends_on": {"db": {"condition": "service_completed_successfully"}}},
                "db": {},
            },
            "db",
            exited(2),
            "with exit code 2",
        ),
    ],
)
def test_one_that_ends_at_its_start_is_told_with_its_last_lines(
    services: Services, who: str, state: dict[str, Any], words: str
) -> None:
    engine = FakeEngine()
    engine.states[who] = [state]
    engine.words[who] = "first\nlast"
    said, passing = reason(engine, services)
    lines = "; its last lines:\nfirst\nlast"
    assert said == f"service '{who}' ended at its start, {words}{lines}"
    assert not passing


def test_a_service_may_do_its_work_and_end() -> None:
    engine = FakeEngine()
    engine.states["job"] = [exited(0)]
    assert set(make(engine, {"default": {}, "job": {}})) == {"default", "job"}


def test_so_may_one_whose_image_has_a_health_check() -> None:
    engine = FakeEngine()
    engine.states["job"] = [health("starting"), exited(0, Health={"Status": "unhealthy"})]
    assert set(make(engine, {"default": {}, "job": {}})) == {"default", "job"}


def test_waiting_for_the_health_of_one_without_a_check_is_a_mistake() -> None:
    waiting = {"depends_on": {"db": {"condition": "service_healthy"}}}
    said, passing = reason(FakeEngine(), {"default": waiting, "db": {}})
    assert said.startswith("service 'db' has no health check")
    assert not passing


def test_what_the_engine_refuses_is_told_of_the_service() -> None:
    engine = FakeEngine()
    engine.refusals["create db"] = [refusal(404, "No such image: db:1")]
    said, passing = reason(engine, {"default": {}, "db": {}})
    assert said == "service 'db' cannot be started: No such image: db:1"
    assert not passing


def test_a_network_that_cannot_be_made_may_be_there_the_next_time() -> None:
    engine = FakeEngine()
    words = "could not find an available, non-overlapping IPv4 address pool among the defaults"
    engine.refusals["network n"] = [refusal(400, words)]

    async def run() -> None:
        made = assembly(engine, {"default": {"networks": {"n": None}}}, networks={"n": {}})
        with pytest.raises(ExceptionGroup) as caught:
            await made.make()
        failure = failure_of(caught.value)
        assert failure is not None
        assert failure.passing
        await made.remove()

    anyio.run(run)
    assert engine.left == []


def test_an_optional_service_is_done_without_and_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = FakeEngine()
    engine.states["db"] = [exited(3)]
    engine.words["db"] = "no licence"
    waiting = {"db": {"condition": "service_healthy", "required": False}}
    services: Services = {"default": {"depends_on": waiting}, "db": {"healthcheck": CHECK}}
    with caplog.at_level(logging.WARNING, "control_tower.sandboxes"):
        make(engine, services)
    assert "start default" in engine.done
    (line,) = caplog.messages
    assert line.startswith("environment 'mini': service 'db' ended at its start, with exit code 3")
    assert "no licence" in line


def test_an_error_of_our_own_is_no_failure_of_the_sample() -> None:
    engine = FakeEngine()
    engine.refusals["start default"] = [ZeroDivisionError()]
    with pytest.raises(ExceptionGroup) as caught:
        make(engine, {"default": {}})
    assert failure_of(caught.value) is None


@pytest.mark.parametrize(
    "moment", ["network n", "volume data", "create default", "connect default", "start default"]
)
def test_what_is_half_made_when_it_is_cancelled_is_removed(moment: str) -> None:
    engine = FakeEngine()
    volume = {"type": "volume", "source": "data", "target": "/d"}
    networks: dict[str, Any] = {"m": {}, "n": {}}
    service = {"networks": dict.fromkeys(networks), "volumes": [volume]}

    async def run() -> None:
        made = assembly(engine, {"default": service}, networks=networks, volumes={"data": {}})
        with anyio.CancelScope() as scope:

            async def cancel(what: str) -> None:
                if what == moment:
                    scope.cancel()  # the engine goes on, and makes it
                    with anyio.CancelScope(shield=True):
                        await anyio.lowlevel.checkpoint()

            engine.before = cancel
            try:
                await made.make()
            finally:
                await made.remove()
        assert scope.cancelled_caught

    anyio.run(run)
    assert engine.left == []
    if moment != "start default":
        assert "start default" not in engine.done
