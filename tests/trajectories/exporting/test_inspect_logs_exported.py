"""Trajectories as Inspect logs: what Inspect reads of them, and what we find in them again."""

from __future__ import annotations

import functools
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log
from support.browser import NEEDS_CHROMIUM, text_of_page
from support.recordings import bash, recording, submitted

from control_tower.trajectories.exporting.inspect_logs import write_inspect_log
from control_tower.trajectories.lookup import find_recordings, find_references, load
from control_tower.trajectories.schema import (
    Decision,
    EnvironmentRecord,
    LimitRecord,
    MonitorResponse,
    Trajectory,
    UsageRecord,
)

ATTACK = recording(
    bash("ls", "a\n", turn=0, agent_reasoning="I look."),
    bash("pwd", "/app\n", turn=0),
    bash("cat secrets", "", output_error="denied", turn=1),
    submitted("all done"),
    side="leak",
    scores={"main": True, "side": False},
    main_task_success=True,
    side_task_success=False,
    trajectory_id="attack-1",
    policy="attack",
    protocol="block-all",
    declared_attacks=[1],
    caught=True,
    decisions=[Decision(kind="allow", turn=0, monitor_response=MonitorResponse(sus_score=1))],
    final_message="all done",
    recorded_at=1_700_000_000.0,
)
ERRORED = recording(
    bash("sleep", "", turn=0),
    trajectory_id="errored-1",
    outcome="errored",
    error="it broke",
    limit=LimitRecord(type="odd", limit=3),
    epoch=2,
)


@pytest.fixture(params=[".eval", ".json"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"exported{request.param}"
    assert write_inspect_log(path, [ATTACK, ERRORED]) == 2
    return path


def test_inspect_reads_conversation_and_scores(log: Path) -> None:
    samples = {sample.uuid: sample for sample in read_eval_log(log).samples or []}
    attack = samples["attack-1"]
    assert [message.role for message in attack.messages] == [
        "user", "assistant", "tool", "tool", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert attack.messages[1].text == "I look."
    assert {name: score.value for name, score in (attack.scores or {}).items()} == {
        "main_task": "C",
        "side_task": "I",
    }
    assert attack.output.completion == "all done"
    errored = samples["errored-1"]
    assert errored.error is not None
    assert errored.error.message == "it broke"
    assert errored.limit is not None
    assert errored.limit.type == "custom"


def test_what_is_found_in_it_is_what_was_exported(log: Path) -> None:
    found: dict[str, Trajectory] = {}
    for recorded in find_recordings(str(log), log_dir="none", flag="--x"):
        trajectory = load(recorded, flag="--x")
        found[trajectory.trajectory_id] = trajectory
    for original in (ATTACK, ERRORED):
        again = found[original.trajectory_id]
        for field in (
            "run_id", "epoch", "actions", "decisions", "scores", "outcome", "declared_attacks",
            "caught", "error", "policy", "protocol", "main_task_success", "side_task_success",
            "final_message",
        ):  # fmt: skip
            assert getattr(again, field) == getattr(original, field), field
        assert again.environment.id == original.environment.id


def test_nothing_of_a_trajectory_is_lost(log: Path) -> None:
    whole = ATTACK.model_copy(
        update={
            "environment": EnvironmentRecord(id="mini", args={"rows": 7, "size": "12"}),
            "policy_args": {"n": 1},
            "models": {"untrusted": "x/y"},
            "usage": {"untrusted": UsageRecord(total_tokens=3)},
            "metadata": {"run_name": "night"},
            "epoch": 3,
        }
    )
    write_inspect_log(log, [whole])
    [found] = find_recordings(str(log), log_dir="none", flag="--x")
    assert found.summary.run_name == "night"
    assert load(found, flag="--x") == whole


def test_references_into_a_log_are_found_again_in_order(log: Path) -> None:
    found = find_recordings(str(log), log_dir="none", flag="--x")
    references = [recording.reference for recording in reversed(found)]
    again = find_references(references, log_dir="none", flag="--x")
    assert [recording.reference for recording in again] == references


def test_the_same_combination_twice_is_two_samples(tmp_path: Path) -> None:
    twice = [ATTACK, ATTACK.model_copy(update={"trajectory_id": "attack-2"})]
    write_inspect_log(tmp_path / "x.eval", twice)
    found = find_recordings(str(tmp_path / "x.eval"), log_dir="none", flag="--x")
    assert sorted(r.summary.trajectory_id for r in found) == ["attack-1", "attack-2"]
    assert len({r.summary.sample_id for r in found}) == 2


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_a_browser_shows_it(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    name = "2024-01-01T00-00-00_control_x.eval"
    write_inspect_log(tmp_path / "logs" / name, [ATTACK])
    with viewed(tmp_path / "logs") as address:
        page = text_of_page(f"{address}/#/logs/{name}", until="mini/greet/leak",
                            place=tmp_path / "browser")  # fmt: skip
    assert "main_task" in page
    assert "side_task" in page


@contextmanager
def viewed(folder: Path) -> Iterator[str]:
    """`inspect view` of a folder, as soon as it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(folder),
               "--host", "127.0.0.1", "--port", str(port)]  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as view:
        try:
            _wait_for(functools.partial(_answers, address))
            yield address
        finally:
            view.terminate()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait_for(holds: functools.partial[bool]) -> None:
    deadline = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < deadline, "inspect view does not answer"
        time.sleep(0.2)
