"""Recordings in Inspect logs, ours or anybody's, read through Inspect's API and no more than asked.

A list reads the log's header and the summaries of its samples. A trajectory reads one sample, and
of that what it needs: no events, and no attachments unless something refers to them. This holds of
`.eval` logs; of one in JSON, Inspect itself reads all.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.trajectories.inspect_facts import (
    environment_of,
    is_ours,
    outcome_of,
    parts_of,
    run_id_of,
    run_name_of_log,
    sample_id_of_log,
    seconds,
    successes_of,
    task_of,
    trajectory_id_of,
)
from control_tower.trajectories.inspect_samples import record_of, trajectory_in
from control_tower.trajectories.one_line import one_line, visible
from control_tower.trajectories.reading import UnreadableTrajectory
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.sources import Recording
from control_tower.trajectories.summary import Summary

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSampleSummary

_UNREAD = {"events", "events_data", "timelines"}
"""Fields of a sample that are by far the largest, and are not needed."""
_REFERRED = {"attachments"}
"""Fields that are needed where others refer to them: in logs of earlier versions of Inspect."""
_REFERENCE = "attachment://"
_IN_RECORD = {"messages"}
"""Fields that are not needed where the sample has our record."""


def in_log(path: Path) -> list[Recording]:
    """The recordings in an Inspect log, sorted by their ids and epochs; no sample is read.

    Raises:
        UnreadableTrajectory: it is no log, is cut off, or holds no sample.
    """
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    place = path.absolute()
    try:
        header = read_eval_log(place, header_only=True)
        summaries = read_eval_log_sample_summaries(place)
        found = [_recording(place, header, each) for each in sorted(summaries, key=_order)]
    except Exception as error:  # whatever Inspect makes of a file that is none
        raise UnreadableTrajectory(
            f"{visible(str(path))}: no Inspect log, or cut off: {_line(error)}"
        ) from None
    if not found:
        raise UnreadableTrajectory(
            f"{visible(str(path))}: the Inspect log holds no finished sample"
        )
    return found


def _order(sample: EvalSampleSummary) -> tuple[bool, int, str, int]:
    """Ids that are numbers come first, as numbers."""
    number = sample.id if isinstance(sample.id, int) else 0
    return isinstance(sample.id, str), number, str(sample.id), sample.epoch


def _recording(path: Path, header: EvalLog, sample: EvalSampleSummary) -> Recording:
    id = trajectory_id_of(sample)
    successes = successes_of(sample.scores)
    summary = Summary(
        trajectory_id=id,
        run_id=run_id_of(header, sample.metadata),
        run_name=run_name_of_log(header, sample.metadata),
        sample_id=sample_id_of_log(sample),
        epoch=sample.epoch,
        environment=environment_of(header, sample.metadata),
        main_task=task_of(sample.metadata, "main"),
        side_task=task_of(sample.metadata, "side"),
        outcome=outcome_of(sample.metadata, sample.error, successes, sample.scores),
        main_task_success=successes.get("main"),
        side_task_success=successes.get("side"),
        recorded_at=seconds(sample.completed_at),
        actions=None,
        tokens=sum(usage.total_tokens for usage in sample.model_usage.values()),
        tags=tuple(header.eval.tags or ()),
        **parts_of(header, sample.metadata),
    )
    return Recording(f"{path}#{id}", summary, partial(_read, path, header, sample))


def _read(path: Path, header: EvalLog, summary: EvalSampleSummary) -> Trajectory:
    try:
        sample = _sample(path, summary, ours=is_ours(header))
        return trajectory_in(sample, header, log=path.name)
    except Exception as error:  # as above
        raise UnreadableTrajectory(
            f"{visible(str(path))}: sample {one_line(str(summary.id))} cannot be read: "
            f"{_line(error)}"
        ) from None


def _sample(path: Path, summary: EvalSampleSummary, *, ours: bool) -> EvalSample:
    """The sample without what is not needed."""
    from inspect_ai.log import read_eval_log_sample

    ways = [_UNREAD | _REFERRED, _UNREAD]
    if ours:
        ways.insert(0, _UNREAD | _REFERRED | _IN_RECORD)
    for unread in ways:
        sample = read_eval_log_sample(
            path,
            id=summary.id,
            epoch=summary.epoch,
            resolve_attachments="attachments" not in unread,
            exclude_fields=unread,
        )
        if _is_enough(sample, unread):
            break
    return sample


def _is_enough(sample: EvalSample, unread: set[str]) -> bool:
    if unread >= _IN_RECORD and not record_of(sample):
        return False
    if unread >= _REFERRED:
        return not any(_REFERENCE in text for text in _texts(sample))
    return True


def _texts(sample: EvalSample) -> list[str]:
    """The texts of a sample that end up in a trajectory."""
    messages = [*sample.messages, *([] if isinstance(sample.input, str) else sample.input)]
    texts = [message.text for message in messages]
    calls = [call for m in messages if m.role == "assistant" for call in m.tool_calls or []]
    texts += [value for c in calls for value in c.arguments.values() if isinstance(value, str)]
    return [*texts, sample.output.completion, str(sample.input)]


def _line(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}")
