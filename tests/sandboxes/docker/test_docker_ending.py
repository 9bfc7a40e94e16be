"""What is said at a sample's end of services that did not last; the engine is in memory."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from docker.errors import APIError
from requests.exceptions import ConnectionError as NoEngine
from support.fake_engine import RUNNING, FakeEngine, exited, refusal

from control_tower.sandboxes.docker.blueprint import blueprint_of
from control_tower.sandboxes.docker.ending import tell_of_ended


@pytest.fixture
def engine() -> FakeEngine:
    made = FakeEngine()
    made.words["db"] = "one\n\ntwo\nthree\n  dying now\n"
    return made


def told(
    engine: FakeEngine, caplog: pytest.LogCaptureFixture, default: Any = None, **db: Any
) -> list[str]:
    services = {"default": {"image": "x", **(default or {})}, "db": {"image": "y", **db}}
    blueprint = blueprint_of({"services": services}, "mini")
    with caplog.at_level(logging.WARNING, "control_tower.sandboxes"):
        anyio.run(tell_of_ended, engine.calls, blueprint, {"default": "default", "db": "db"})
    return caplog.messages


def test_one_that_ended_badly_is_one_line(
    engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.states["db"] = [exited(7)]
    assert told(engine, caplog) == [
        "environment 'mini': service 'db' ended while its sample ran, with exit code 7; "
        "its last lines: two / three / dying now"
    ]


def test_so_is_one_that_wrote_nothing(engine: FakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    engine.states["db"] = [exited(137, OOMKilled=True)]
    engine.words.clear()
    (line,) = told(engine, caplog)
    assert line.endswith("with exit code 137, out of memory; it wrote nothing")


def test_long_lines_are_cut(engine: FakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    engine.states["db"] = [exited(1)]
    engine.words["db"] = f"{'x' * 5000}end"
    (line,) = told(engine, caplog)
    assert line.endswith("xend")
    assert len(line) < 500


@pytest.mark.parametrize("state", [RUNNING, exited(0), {"Status": "restarting", "ExitCode": 1}])
def test_one_that_runs_or_is_done_is_not_told(
    engine: FakeEngine, caplog: pytest.LogCaptureFixture, state: dict[str, Any]
) -> None:
    engine.states["db"] = [state]
    assert told(engine, caplog) == []


def test_nor_the_agent_s(engine: FakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    engine.states["default"] = [exited(9)]
    assert told(engine, caplog) == []


@pytest.mark.parametrize(
    ("default", "db"),
    [
        ({}, {"restart": "on-failure:3"}),
        ({"depends_on": {"db": {"condition": "service_started", "required": False}}}, {}),
    ],
)
def test_nor_one_that_is_started_again_or_that_others_do_without(
    engine: FakeEngine, caplog: pytest.LogCaptureFixture, default: Any, db: Any
) -> None:
    engine.states["db"] = [exited(7)]
    assert told(engine, caplog, default, **db) == []


@pytest.mark.parametrize("error", [refusal(404, "no such container"), NoEngine("gone")])
def test_an_engine_that_tells_nothing_is_no_failure(
    engine: FakeEngine,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: APIError | NoEngine,
) -> None:
    async def inspect(container: str) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(engine, "inspect", inspect)
    assert told(engine, caplog) == []
