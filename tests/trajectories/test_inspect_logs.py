"""Recordings in Inspect logs: of our runs, and of anybody's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import inspect_ai.log
import pytest
from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalSample,
    EvalSampleLimit,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, match
from inspect_ai.solver import basic_agent
from inspect_ai.tool import Tool, tool

from control_tower.errors import UsageProblem
from control_tower.trajectories.lookup import find_recording, find_recordings, load
from control_tower.trajectories.schema import Trajectory

FLAG = "TRAJ_LIKE"
PARTS = {
    "untrusted_policy": "reference",
    "protocol": "null-blue-team",
    "harness": "null",
    "sandbox": "bwrap",
}
RECORD: dict[str, Any] = {
    "provisioned_at": 1.0,
    "scored": {"main": {"success": True, "explanation": "it works"}},
    "actions": [
        {"index": 0, "turn": 0, "function": "bash", "arguments": {"command": "ls"}, "output": "a"}
    ],
    "decisions": [{"kind": "audit", "turn": 0, "reason": "odd"}],
    "declared_attacks": [0],
    "caught": True,
}


def ours(id: str = "ledger/bank_lines/skim", **more: Any) -> EvalSample:
    env, main, side = id.split("/")
    fields: dict[str, Any] = {
        "id": id,
        "epoch": 1,
        "uuid": f"U{abs(hash(id)) % 10**8}{more.get('epoch', 1)}",
        "input": "Do it.",
        "target": "",
        "output": ModelOutput.from_content("none", "done"),
        "metadata": {
            "environment": env,
            "main_task": None if main == "-" else main,
            "side_task": None if side == "-" else side,
            "environment_arguments": {"CT_ARG_ROWS": "60", "CT_ARG_FAST": "true"},
            "run_id": "run1",
        },
        "scores": {"main_task": Score(value="C"), "side_task": Score(value="I")},
        "store": {"control_tower": RECORD},
        "completed_at": "2026-01-02T03:04:05+00:00",
        **more,
    }
    return EvalSample(**fields)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Writes a log of samples; returns its path."""

    def write(
        *samples: EvalSample, name: str = "a.eval", metadata: dict[str, Any] | None = None
    ) -> str:
        log = EvalLog(
            version=2,
            status="success",
            eval=EvalSpec(
                created="2026-01-01T00:00:00+00:00",
                run_id="inspect-run",
                task="control",
                dataset=EvalDataset(),
                model="none/none",
                config=EvalConfig(),
                metadata=PARTS if metadata is None else metadata,
                packages={"inspect_ai": "0.3.285"},
            ),
            samples=list(samples),
        )
        write_eval_log(log, str(tmp_path / name))
        return str(tmp_path / name)

    return write


def recordings(path: str) -> list[Any]:
    return find_recordings(path, log_dir="none", flag=FLAG)


def loaded(path: str, sample_id: str | None = None) -> Trajectory:
    return load(find_recording(path, log_dir="none", flag=FLAG, sample_id=sample_id), flag=FLAG)


@pytest.mark.parametrize("name", ["a.eval", "a.json"])
def test_a_sample_of_ours_is_what_its_record_says(written: Callable[..., str], name: str) -> None:
    path = written(ours(), name=name)
    t = loaded(path)
    assert (t.sample_id, t.run_id, t.environment.id) == (
        "ledger/bank_lines/skim", "run1", "ledger"
    )  # fmt: skip
    assert t.environment.args == {"rows": 60, "fast": True}
    assert t.main_task is not None and t.main_task.description == "Do it."
    assert t.side_task is not None and t.side_task.id == "skim"
    assert (t.main_task_success, t.side_task_success) == (True, False)
    assert t.scores["main"].explanation == "it works"
    [action] = t.actions
    assert (action.function, action.output, action.turn) == ("bash", "a", 0)
    assert (t.decisions[0].kind, t.caught, t.declared_attacks) == ("audit", True, [0])
    assert (t.policy, t.protocol, t.harness, t.sandbox) == (
        "reference", "null-blue-team", "null", "bwrap"
    )  # fmt: skip
    assert (t.outcome, t.log, t.final_message, t.metadata) == ("scored", name, "done", {})


def test_the_list_of_a_log_reads_no_sample(
    written: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(ours(), ours(epoch=2))

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a sample was read")

    monkeypatch.setattr(inspect_ai.log, "read_eval_log_sample", refuse)
    first, second = (r.summary for r in recordings(path))
    assert (first.sample_id, second.sample_id, second.epoch) == (
        "ledger/bank_lines/skim", "ledger/bank_lines/skim@2", 2
    )  # fmt: skip
    assert (first.outcome, first.main_task_success, first.side_task_success) == (
        "scored", True, False
    )  # fmt: skip
    assert (first.policy, first.main_task, first.run_id) == ("reference", "bank_lines", "run1")
    assert first.actions is None  # which only the sample tells
    assert first.recorded_at == 1767323045


def test_samples_are_sorted(written: Callable[..., str]) -> None:
    ids: list[tuple[int | str, int]] = [("b", 1), (10, 1), ("a", 2), (9, 1), ("a", 1)]
    samples = [EvalSample(id=id, epoch=epoch, input="i", target="") for id, epoch in ids]
    listed = [r.summary.sample_id for r in recordings(written(*samples, metadata={}))]
    assert listed == ["9", "10", "a", "a@2", "b"]


def test_of_several_samples_one_is_chosen(written: Callable[..., str]) -> None:
    path = written(ours(), ours(epoch=2), ours("ledger/bank_lines/-"))
    assert loaded(path, "ledger/bank_lines/skim@2").epoch == 2
    uuid = recordings(path)[1].summary.trajectory_id
    assert loaded(path, uuid).sample_id == "ledger/bank_lines/skim"
    with pytest.raises(UsageProblem, match="stands for 3 trajectories, and one is wanted"):
        find_recording(path, log_dir="none", flag=FLAG)
    with pytest.raises(UsageProblem, match="has no sample 'ledger/bank_lines/sk'; did you mean"):
        loaded(path, "ledger/bank_lines/sk")


def test_a_reference_finds_the_sample_again(
    written: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(ours(), ours(epoch=2), name="a#b.eval")
    references = [r.reference for r in recordings(path)]
    monkeypatch.chdir("/")
    assert [loaded(reference).epoch for reference in references] == [1, 2]
    with pytest.raises(UsageProblem, match="has no sample 'zz'"):
        loaded(f"{path}#zz")


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"error": EvalError(message="boom", traceback="", traceback_ansi="")}, "errored"),
        (
            {"error": EvalError(message="CancelledError()", traceback="", traceback_ansi="")},
            "cancelled",
        ),
        (
            {"error": EvalError(message="no box", traceback="", traceback_ansi=""), "store": {}},
            "setup_error",
        ),
        (
            {"scores": {"main_task": Score.unscored(reason="?")}, "store": {"control_tower": {
                **RECORD, "scored": {"main": {"success": None, "explanation": "?"}}}}},
            "unscored",
        ),
        ({"scores": {}, "store": {"control_tower": {**RECORD, "scored": {}}}}, "unscored"),
    ],
)  # fmt: skip
def test_what_was_not_scored_is_kept_as_such(
    written: Callable[..., str], more: dict[str, Any], outcome: str
) -> None:
    path = written(ours(**more))
    assert loaded(path).outcome == outcome
    [listed] = recordings(path)
    assert listed.summary.outcome == ("errored" if outcome == "setup_error" else outcome)


def test_limits_are_said(written: Callable[..., str]) -> None:
    t = loaded(written(ours(limit=EvalSampleLimit(type="message", limit=9))))
    assert t.limit is not None
    assert (t.limit.type, t.limit.limit) == ("message", 9)


def test_a_sample_of_ours_without_actions_has_none(written: Callable[..., str]) -> None:
    """Calls in its messages were proposed, not made."""
    from inspect_ai.model import ChatMessageAssistant
    from inspect_ai.tool import ToolCall

    call = ToolCall(id="1", function="bash", arguments={"command": "rm"})
    said = ChatMessageAssistant(content="", tool_calls=[call])
    record = {name: value for name, value in RECORD.items() if name != "actions"}
    path = written(ours(messages=[said], store={"control_tower": record}))
    assert loaded(path).actions == []


@pytest.mark.parametrize(
    "record", [{"actions": 7}, {"actions": [{"function": 7}]}, {"scored": [1]}, {"decisions": [{}]}]
)
def test_a_malformed_record_is_said_in_one_line(
    written: Callable[..., str], record: dict[str, Any]
) -> None:
    path = written(ours(store={"control_tower": record}))
    with pytest.raises(UsageProblem) as caught:
        loaded(path)
    line = str(caught.value)
    assert f"{path}: sample ledger/bank_lines/skim cannot be read: " in line
    assert line.isprintable()
    assert len(line) < 700


def test_parts_of_an_export_are_the_samples(written: Callable[..., str]) -> None:
    mixed = ours()
    mixed.metadata |= {"protocol": "block-all", "outcome": "setup_error"}
    t = loaded(written(mixed))
    assert (t.protocol, t.policy, t.outcome) == ("block-all", "reference", "setup_error")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut off", b"\x00" * 100_000])
def test_a_log_that_is_none_or_cut_off_is_said(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(data)
    with pytest.raises(UsageProblem, match=r"x\.eval: no Inspect log, or cut off: "):
        recordings(str(path))


def test_a_log_cut_off_in_the_middle_is_said(written: Callable[..., str]) -> None:
    path = Path(written(ours(), ours(epoch=2)))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UsageProblem, match="no Inspect log, or cut off: "):
        recordings(str(path))


def test_a_log_in_json_that_is_cut_off_is_said(written: Callable[..., str]) -> None:
    path = Path(written(ours(), name="cut.json"))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UsageProblem, match=r"cut\.json: no Inspect log, or cut off: "):
        recordings(str(path))


def test_a_log_without_samples_says_so(written: Callable[..., str]) -> None:
    with pytest.raises(UsageProblem, match="the Inspect log holds no finished sample"):
        recordings(written(name="none.json"))


@tool
def adder() -> Tool:
    async def execute(a: int, b: int) -> str:
        """Add.

        Args:
            a: One.
            b: Other.
        """
        return str(a + b) if a < 9 else "half " * 200

    return execute


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The log of an eval that is nobody's of ours: two epochs of a model that adds."""

    def said(function: str, arguments: dict[str, Any]) -> ModelOutput:
        output = ModelOutput.for_tool_call("mockllm/model", function, arguments, content="let me")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    outputs = [
        said("adder", {"a": 1, "b": 2}),
        said("adder", {"a": 9, "b": 2}),
        said("adder", {"a": "x"}),
        said("submit", {"answer": "3"}),
    ]

    @task
    def sums() -> Task:
        return Task(
            dataset=[Sample(id="one", input="1 + 2?", target="3")],
            solver=basic_agent(tools=[adder()]),
            scorer=match(),
        )

    [log] = eval(
        sums(),
        model=get_model("mockllm/model", custom_outputs=outputs * 2, memoize=False),
        epochs=2,
        max_samples=1,
        log_dir=str(tmp_path_factory.mktemp("foreign")),
        log_format="eval",
        display="none",
        tags=["nightly"],
    )
    assert log.status == "success"
    return str(log.location)


def test_a_foreign_log_is_its_tool_calls(foreign: str) -> None:
    t = loaded(foreign, "one")
    assert (t.environment.id, t.sample_id, t.epoch, t.tags) == ("sums", "one", 1, ["nightly"])
    assert (t.main_task, t.side_task, t.scores, t.policy) == (None, None, {}, "")
    first, second, third, last = t.actions
    assert (first.function, first.arguments, first.output) == ("adder", {"a": 1, "b": 2}, "3")
    assert (first.agent_reasoning, first.turn, second.turn) == ("let me", 0, 1)
    assert second.output == "half " * 200
    assert third.output_error
    assert (last.function, last.arguments) == ("submit", {"answer": "3"})
    assert t.metadata["inspect_scores"]["match"]["value"] == "C"
    assert t.metadata["task"] == "sums"
    assert t.models == {"model": "mockllm/model"}
    assert t.outcome == "scored"


def test_epochs_of_a_foreign_log_are_told_apart(foreign: str) -> None:
    first, second = recordings(foreign)
    assert (first.summary.sample_id, second.summary.sample_id) == ("one", "one@2")
    assert loaded(second.reference).epoch == 2
    assert loaded(foreign, "one@2").trajectory_id == second.summary.trajectory_id
    assert (first.summary.outcome, first.summary.tokens) == ("scored", 8)


def test_texts_that_older_versions_kept_apart_are_put_back(written: Callable[..., str]) -> None:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import ToolCall

    key = "a" * 32
    call = ToolCall(id="1", function="bash", arguments={"command": "ls"})
    sample = EvalSample(
        id=1,
        epoch=1,
        input="i",
        target="",
        messages=[
            ChatMessageAssistant(content="", tool_calls=[call]),
            ChatMessageTool(content=f"attachment://{key}", tool_call_id="1"),
        ],
        attachments={key: "the long output"},
    )
    path = written(sample, metadata={})
    assert loaded(path).actions[0].output == "the long output"
