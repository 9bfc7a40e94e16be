"""The `honest` policy with a model behind a server on loopback, whose ways are scripted.

Everything between is real: Inspect's provider, OpenAI's SDK, HTTP, and a process of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.bad_calls import BAD_NUMBERS, NO_JSON
from support.environments import main_task
from support.openai_sdk import openai_sdk
from support.openai_server import (
    INPUT_TOKENS,
    KEY,
    OUTPUT_TOKENS,
    Drop,
    Fault,
    OpenAIServer,
    Reply,
    Step,
    Vanish,
    calls,
    calls_raw,
    filtered,
    rate_limited,
    refuses,
)
from support.sessions import TESTS, ControlPytester, lines_with

from control_tower.environments.discovery import LIBRARY

pytestmark = pytest.mark.slow

MODEL = "openai-api/wire/tiny"
TASK = "double_charges"
SOLUTION = LIBRARY / "ledger" / "main_tasks" / TASK / "solution"
DEADLINE = 240
"""Seconds after which a run is given up; nothing depends on it when all is well."""
SOON = rate_limited(retry_after=0.01)
SOLVES = calls("bash", command="echo yes > main.txt")
SUBMITS = calls("submit", answer="done")
UNFIT = [*NO_JSON, *BAD_NUMBERS]


@pytest.fixture(scope="session")
def sdk() -> Path:
    """The folder of OpenAI's SDK."""
    return openai_sdk()


class Wire:
    """`ct run eval2` with the model of a server."""

    def __init__(
        self, control: ControlPytester, sdk: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.control = control
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(sdk)]))
        monkeypatch.setenv("WIRE_API_KEY", KEY)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "127.0.0.1")

    def run(self, server: OpenAIServer, *args: str, model: str = MODEL) -> pytest.RunResult:
        self._monkeypatch.setenv("WIRE_BASE_URL", server.url)
        result = self.control.pytester.run(
            *(sys.executable, "-m", "control_tower.cli", "run", "eval2", "--sandbox", "bwrap"),
            *("--untrusted-policy", "honest", "--model-role", f"untrusted={model}", *args),
            timeout=DEADLINE,
        )
        assert server.problems == []
        return result

    def mini(self, *tasks: str) -> tuple[str, ...]:
        """Write the environment `mini` with these main tasks; the flags that select them."""
        self.control.environment(main={name: main_task() for name in tasks}, side={})
        return "-e", "mini", "--just-main-tasks"


@pytest.fixture
def wire(control: ControlPytester, sdk: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(control, sdk, monkeypatch)


def functions(trajectory: dict[str, Any]) -> list[str]:
    """The tools that were called."""
    return [action["function"] for action in trajectory["actions"]]


def test_a_model_over_the_wire_solves_a_task_of_ledger(
    control: ControlPytester, wire: Wire
) -> None:
    """Over a bad line, too."""
    steps = [calls("bash", command=path.read_text()) for path in sorted(SOLUTION.glob("*.sh"))]
    script: list[Step] = [steps[0], SOON, SOON, *steps[1:], Drop(), Drop(SUBMITS), SUBMITS]
    with OpenAIServer({"Who was charged twice": script}) as server:
        result = wire.run(server, "-e", "ledger", "-t", TASK)
    assert result.ret == 0
    assert lines_with(result, f"models: untrusted={MODEL};")
    (trajectory,) = control.trajectories().values()
    assert (trajectory["outcome"], trajectory["main_task_success"]) == ("scored", True)
    assert functions(trajectory) == ["bash"] * len(steps) + ["submit"]
    assert trajectory["models"] == {"untrusted": MODEL}
    replies = len(steps) + 1
    usage = trajectory["usage"]["untrusted"]
    assert usage["input_tokens"] == replies * INPUT_TOKENS
    assert usage["output_tokens"] == replies * OUTPUT_TOKENS
    assert usage["total_tokens"] == replies * (INPUT_TOKENS + OUTPUT_TOKENS)
    assert server.steps_of("Who was charged twice") == script
    assert {request.body["model"] for request in server.requests} == {"tiny"}


def test_what_goes_wrong_on_the_wire_ends_as_it_should(
    control: ControlPytester, wire: Wire
) -> None:
    broken = '{"command": "echo yes > main.txt'
    scripts: dict[str, list[Step]] = {
        "plain": [SOLVES, SUBMITS],
        "limited": [SOON, SOON, SOLVES, SOON, SUBMITS],
        "crashed": [Fault(500, "The server had an error", retry_after=0.01), SOLVES, SUBMITS],
        "dropped": [Drop(), SOLVES, SUBMITS],
        "cut": [Drop(SOLVES), SOLVES, SUBMITS],
        "malformed": [calls_raw("bash", broken), calls_raw("bash", "[1]"), SOLVES, SUBMITS],
        "unfit": [*(calls_raw("bash", each) for each in UNFIT), SOLVES, SUBMITS],
        "misnamed": [calls("shell", command="echo yes > main.txt"), SOLVES, SUBMITS],
        "misfit": [calls("bash", cmd="echo yes > main.txt"), SOLVES, SUBMITS],
        "talks": [Reply(text="It is easy."), SOLVES, SUBMITS],
        "wavers": [refuses("I had rather not."), SOLVES, SUBMITS],
        "refuses": [refuses("I cannot help with that.")],
        "filtered": [filtered("")],
        "too_long": [Fault(400, "This is too long", code="context_length_exceeded")],
    }
    fail = {"refuses", "filtered", "too_long"}
    selection = wire.mini(*scripts)
    with OpenAIServer({f"Do {name}.": steps for name, steps in scripts.items()}) as server:
        result = wire.run(server, *selection)
    assert result.ret == 1
    result.assert_outcomes(passed=len(scripts) - len(fail), failed=len(fail))
    found = {key.split(".")[1]: one for key, one in control.trajectories().items()}
    assert {name: (one["outcome"], one["main_task_success"]) for name, one in found.items()} == {
        name: ("scored", name not in fail) for name in scripts
    }
    for name in scripts.keys() - fail:
        assert server.steps_of(f"Do {name}.") == scripts[name], name
    assert len(server.steps_of("Do refuses.")) == 6  # asked, and told five times to go on
    assert found["refuses"]["final_message"] == "I cannot help with that."
    assert {name for name, one in found.items() if one["limit"]} == {"too_long"}
    assert "context" in found["too_long"]["limit"]["reason"]


def test_what_fails_for_good_is_an_error(control: ControlPytester, wire: Wire) -> None:
    """A bad request is not tried again; nor is a server that is gone, once retries are used up."""
    gone = [calls("bash", command="echo no > main.txt"), Vanish()]
    refused = [Fault(400, "The model 'tiny' takes no tools")]
    selection = wire.mini("refused", "vanished")
    with OpenAIServer({"Do refused.": refused, "Do vanished.": gone}) as server:
        result = wire.run(
            server,
            *(*selection, "--no-fail-on-error", "--max-samples", "1"),
            model=f"{{model: {MODEL}, max_retries: 0}}",
        )
    assert result.ret == 10
    found = {key.split(".")[1]: one for key, one in control.trajectories().items()}
    assert {one["outcome"] for one in found.values()} == {"errored"}
    (line,) = lines_with(result, "mini/refused/-: errored: ")
    assert "The model 'tiny' takes no tools" in line
    (line,) = lines_with(result, "mini/vanished/-: errored: ")
    assert "the model did not answer, 1 try: APIConnectionError: Connection error" in line
    assert functions(found["vanished"]) == ["bash"]
    assert server.steps_of("Do refused.") == refused


def test_a_refused_key_stops_the_run(
    control: ControlPytester, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIRE_API_KEY", "wrong")
    selection = wire.mini("first", "second")
    with OpenAIServer({}) as server:
        result = wire.run(server, *selection, "--max-samples", "1")
    assert result.ret == 10
    (line,) = lines_with(result, "mini/first/-: errored: ")
    assert "401" in line and "Incorrect API key provided" in line
    assert len(control.trajectories()) == 1


def test_a_rate_limit_without_end_ends_at_the_time_limit(
    control: ControlPytester, wire: Wire
) -> None:
    """It is tried again for ever; the sample that is ended is scored as it stands."""
    scripts: dict[str, list[Step]] = {
        "Do endless.": [rate_limited(retry_after=None)],
        "Do late.": [SOLVES, rate_limited(retry_after=3600)],
    }
    with OpenAIServer(scripts) as server:
        result = wire.run(server, *wire.mini("endless", "late"), "--sample-time-limit", "10")
    assert result.ret == 1
    found = {key.split(".")[1]: one for key, one in control.trajectories().items()}
    assert {name: one["outcome"] for name, one in found.items()} == dict.fromkeys(found, "scored")
    assert {one["limit"]["type"] for one in found.values()} == {"time"}
    assert {name: one["main_task_success"] for name, one in found.items()} == {
        "endless": False,
        "late": True,
    }
    assert lines_with(result, "time limit (10)")
    assert len(server.steps_of("Do endless.")) > 1
