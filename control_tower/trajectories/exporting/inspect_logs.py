"""Trajectories as an Inspect log, which `inspect view` opens and Inspect's API reads."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from control_tower.trajectories.inspect_facts import SCORERS
from control_tower.trajectories.inspect_samples import EXPORTED, STORE
from control_tower.trajectories.schema import Action, ScoreRecord, Trajectory
from control_tower.trajectories.summary import Summary, run_name_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage, ModelOutput
    from inspect_ai.scorer import Score

_TASK = "control"


def write_inspect_log(path: Path, trajectories: Sequence[Trajectory]) -> int:
    """Write trajectories as one Inspect log (`.eval` or `.json`); returns how many samples.

    Raises:
        OSError: it cannot be written.
    """
    from inspect_ai.log import write_eval_log

    write_eval_log(_log(trajectories), path, format="json" if path.suffix == ".json" else "eval")
    return len(trajectories)


def _log(trajectories: Sequence[Trajectory]) -> EvalLog:
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalResults,
        EvalSpec,
        EvalStats,
    )

    samples = [_sample(t, epoch) for t, epoch in _with_epochs(trajectories)]
    times = [t.recorded_at for t in trajectories if t.recorded_at is not None]
    first = trajectories[0]
    return EvalLog(
        version=2,
        status="success",
        eval=EvalSpec(
            created=_time(min(times, default=None)),
            run_id=first.run_id or first.trajectory_id,
            task=_TASK,
            dataset=EvalDataset(samples=len(samples), sample_ids=[s.id for s in samples]),
            model="none/none",
            config=EvalConfig(epochs=max((s.epoch for s in samples), default=1)),
            tags=sorted({tag for t in trajectories for tag in t.tags}) or None,
            packages={
                "inspect_ai": first.versions.get("inspect_ai", ""),
                "python": platform.python_version(),
            },
            metadata=_parts(trajectories),
        ),
        results=EvalResults(total_samples=len(samples), completed_samples=len(samples)),
        stats=EvalStats(
            started_at=_time(min(times, default=None)), completed_at=_time(max(times, default=None))
        ),
        samples=samples,
    )


def _with_epochs(trajectories: Sequence[Trajectory]) -> Iterator[tuple[Trajectory, int]]:
    """Each with an epoch that no other of its combination has: a log tells samples apart so."""
    taken: set[tuple[str, int]] = set()
    for trajectory in trajectories:
        id, epoch = _combination(trajectory), trajectory.epoch
        while (id, epoch) in taken:
            epoch += 1
        taken.add((id, epoch))
        yield trajectory, epoch


def _combination(trajectory: Trajectory) -> str:
    return Summary.of(trajectory).sample_id.partition("@")[0]


def _parts(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """What all of them were run with; several values of one are joined."""
    names = {"untrusted_policy": "policy", "protocol": "protocol", "harness": "harness",
             "sandbox": "sandbox"}  # fmt: skip
    return {
        name: ", ".join(sorted({getattr(t, field) for t in trajectories}))
        for name, field in names.items()
    }


def _sample(trajectory: Trajectory, epoch: int) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample, EvalSampleLimit
    from inspect_ai.model import ChatMessageUser

    t = trajectory
    main, side = (task.id if task else None for task in (t.main_task, t.side_task))
    prompt = (t.main_task.description if t.main_task else "") or _combination(t)
    messages: list[ChatMessage] = [ChatMessageUser(content=prompt, source="input")]
    messages += _messages(t.actions)
    finished = None if t.recorded_at is None else _time(t.recorded_at)
    return EvalSample(
        id=_combination(t),
        epoch=epoch,
        uuid=t.trajectory_id,
        input=prompt,
        target="",
        messages=messages,
        output=_output(t),
        scores={name: _score(t.scores[task]) for task, name in SCORERS.items() if task in t.scores},
        metadata={
            "environment": t.environment.id,
            "main_task": main,
            "side_task": side,
            "run_id": t.run_id,
            "run_name": run_name_of(t),
            "outcome": t.outcome,
            **_parts([t]),
        },
        store={
            STORE: _record(t),
            EXPORTED: t.model_dump(mode="json", exclude={"actions"}, exclude_defaults=True),
        },
        error=None
        if t.error is None
        else EvalError(message=t.error, traceback="", traceback_ansi=""),
        limit=None
        if t.limit is None
        else EvalSampleLimit(type=_limit(t.limit.type), limit=t.limit.limit or 0),
        started_at=finished,
        completed_at=finished,
    )


def _record(t: Trajectory) -> dict[str, Any]:
    """The episode's record, as our runs keep it."""
    return {
        "schema_version": 1,
        "actions": [a.model_dump(mode="json", exclude_defaults=True) for a in t.actions],
        "decisions": [d.model_dump(mode="json", exclude_defaults=True) for d in t.decisions],
        "scored": {task: s.model_dump(mode="json") for task, s in t.scores.items()},
        "declared_attacks": t.declared_attacks,
        "caught": t.caught,
        "caught_is_upper_bound": t.caught_is_upper_bound,
    }


def _messages(actions: Sequence[Action]) -> Iterator[ChatMessage]:
    """The conversation: a message a turn, with its calls and their answers."""
    for together in _turns(actions):
        yield _said(together)
        yield from map(_answer, together)


def _turns(actions: Sequence[Action]) -> Iterator[list[Action]]:
    group: list[Action] = []
    for action in actions:
        if group and (action.turn is None or action.turn != group[0].turn):
            yield group
            group = []
        group.append(action)
    if group:
        yield group


def _said(actions: Sequence[Action]) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant
    from inspect_ai.tool import ToolCall

    return ChatMessageAssistant(
        content=actions[0].agent_reasoning or "",
        tool_calls=[
            ToolCall(id=_call_id(a), function=a.function, arguments=a.arguments) for a in actions
        ],
        source="generate",
    )


def _answer(action: Action) -> ChatMessage:
    from inspect_ai.model import ChatMessageTool
    from inspect_ai.tool import ToolCallError

    error = action.output_error
    return ChatMessageTool(
        content=action.output,
        tool_call_id=_call_id(action),
        function=action.function,
        error=None if error is None else ToolCallError("unknown", error),
    )


def _call_id(action: Action) -> str:
    return f"call_{action.index}"


def _output(t: Trajectory) -> ModelOutput:
    from inspect_ai.model import ModelOutput

    output = ModelOutput.from_content(model=t.policy or "recorded", content=t.final_message)
    return output.model_copy(update={"usage": None})


def _score(score: ScoreRecord) -> Score:
    from inspect_ai.scorer import CORRECT, INCORRECT, Score

    if score.success is None:
        return Score.unscored(reason=score.explanation)
    value = CORRECT if score.success else INCORRECT
    return Score(value=value, explanation=score.explanation)


def _limit(kind: str) -> Any:
    """Inspect's names of limits are a closed list."""
    known = ("message", "token", "time", "working", "operator", "cost", "context")
    return kind if kind in known else "custom"


def _time(seconds: float | None) -> str:
    return datetime.fromtimestamp(seconds or 0, UTC).isoformat()
