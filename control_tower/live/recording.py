"""From what was done in a session to a trajectory."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from control_tower.episode.briefs import task_prompt
from control_tower.episode.outcome import TaskResult
from control_tower.episode.versions import versions_of
from control_tower.errors import UsageProblem
from control_tower.live.choosing import chosen_by
from control_tower.live.session import STEPS, Session, SessionFolder
from control_tower.live.sessions import Sessions
from control_tower.live.steps import Step, StepLog
from control_tower.selection import Combination
from control_tower.tools.bash import answer_for
from control_tower.tools.names import LONGEST_TIMEOUT, USUAL_TIMEOUT
from control_tower.tools.truncate import truncate
from control_tower.trajectories.schema import (
    Action,
    EnvironmentRecord,
    MainTaskRecord,
    ScoreRecord,
    SideTaskRecord,
    Trajectory,
)
from control_tower.trajectories.store import TrajectoryStore, write_trajectory

POLICY = "human"
_OUTPUT = 16_000
"""Characters of an output that are kept, as of an agent's."""
_SCORES = "scores.json"
_RECORDING = "trajectory.json"


def steps_of_session(folder: SessionFolder) -> list[Step]:
    """What was done in a session, also after its process died."""
    session = folder.read()
    return StepLog(folder.path / STEPS).steps(session.workspace)


def done_so_far(folder: SessionFolder) -> int:
    """How much was done in a session, to be told from more."""
    return len(StepLog(folder.path / STEPS).entries())


def keep_scores(folder: SessionFolder, scores: dict[str, TaskResult], *, done: int) -> None:
    """Keep what the scorers said.

    Args:
        folder: the session's.
        scores: by `main` and `side`.
        done: how much had been done before they ran, as of `done_so_far`.
    """
    kept = {"entries": done, "scores": {k: s.model_dump() for k, s in scores.items()}}
    (folder.path / _SCORES).write_text(json.dumps(kept), encoding="utf-8")


def trajectory_of_session(folder: SessionFolder) -> Trajectory:
    """The trajectory of what was done so far; scored if it was scored after the last step.

    Raises:
        UsageProblem: the session is broken, or nothing was done.
    """
    session = folder.read()
    steps = steps_of_session(folder)
    if not steps:
        raise UsageProblem(f"nothing was done in session '{session.name}' yet")
    scores = _scores(folder)
    combination, versions = _combination(session)
    return Trajectory(
        trajectory_id=session.id,
        run_id=session.id[:8],
        sample_id=session.sample_id,
        recorded_at=time.time(),
        environment=EnvironmentRecord(id=session.environment, args=_arguments(combination)),
        main_task=_main(session, combination),
        side_task=_side(session, combination),
        main_task_success=scores["main"].success if "main" in scores else None,
        side_task_success=scores["side"].success if "side" in scores else None,
        scorer_explanation="\n".join(f"{t}: {s.explanation}" for t, s in scores.items()),
        tags=["live"],
        metadata={"session": session.name},
        actions=actions_of(steps),
        outcome="scored"
        if scores and all(s.success is not None for s in scores.values())
        else "unscored",
        scores=scores,
        policy=POLICY,
        sandbox=session.sandbox or "docker",
        versions=versions,
    )


def actions_of(steps: Sequence[Step]) -> list[Action]:
    """The steps as actions of the agent's: calls of `bash`, a turn each."""
    return [
        Action(
            index=index,
            turn=index,
            function="bash",
            arguments={"command": step.command, **_time_for(step)},
            output=truncate(_answer(step), _OUTPUT),
            output_error=step.error,
        )
        for index, step in enumerate(steps)
    ]


def record(folder: SessionFolder, file: Path | None) -> Path:
    """Write the trajectory of a session into a file, or into the log directory as a run.

    A session is one run: what was recorded of it before is replaced.

    Raises:
        UsageProblem: as `trajectory_of_session`; or it cannot be written.
    """
    trajectory = trajectory_of_session(folder)
    session = folder.read()
    try:
        if file is not None:
            write_trajectory(file, trajectory)
            return file
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(session.created))
        run = Path(session.log_dir) / f"{stamp}_{POLICY}_{trajectory.run_id}"
        return TrajectoryStore(run).write(trajectory, sample_id=trajectory.sample_id)
    except OSError as error:
        raise UsageProblem(f"the trajectory cannot be written: {error}") from None


def not_done_again(folder: SessionFolder) -> list[str]:
    """Why some of the session's steps cannot be done again, a text a step."""
    return [step.problem for step in steps_of_session(folder) if step.problem]


def live_recording(name: str | None = None) -> tuple[Path, str]:
    """What is to be replayed of the current session, or of the one named.

    Returns:
        A file with its trajectory, and the folder of its environment.

    Raises:
        UsageProblem: there is no session, nothing was done in it, or a step of it cannot be done
            again.
    """
    folder = Sessions().find(name)
    for problem in not_done_again(folder):
        raise UsageProblem(
            f"{problem}, so session '{folder.name}' cannot be replayed whole; "
            f"`ct live record -n {folder.name}` keeps it all the same"
        )
    return record(folder, folder.path / _RECORDING), folder.read().directory


def _answer(step: Step) -> str:
    """What the agent's tool would answer for a step; it did, for a command of `exec`."""
    return step.output if step.kind == "exec" else answer_for(step.output, "", step.last_code)


def _time_for(step: Step) -> dict[str, int]:
    """The argument for the time that a step may take, where the tool's default is not enough."""
    seconds = step.timeout
    if seconds is None and step.kind == "shell" and step.seconds > USUAL_TIMEOUT / 2:
        seconds = min(LONGEST_TIMEOUT, math.ceil(2 * step.seconds))
    return {} if seconds is None else {"timeout_seconds": seconds}


def _scores(folder: SessionFolder) -> dict[str, ScoreRecord]:
    """What the scorers said of what was done, if nothing was done since."""
    try:
        kept: dict[str, Any] = json.loads((folder.path / _SCORES).read_text(encoding="utf-8"))
        if kept["entries"] != done_so_far(folder):
            return {}
        return {task: ScoreRecord.model_validate(raw) for task, raw in kept["scores"].items()}
    except (OSError, ValueError, LookupError, TypeError):  # there is none, or half of it
        return {}


def _combination(session: Session) -> tuple[Combination | None, dict[str, str]]:
    """The combination, if it can still be read, and its versions."""
    try:
        combination = chosen_by(session).combination
    except UsageProblem:
        return None, {}
    return combination, versions_of(combination)


def _arguments(combination: Combination | None) -> dict[str, Any]:
    return dict(combination.environment.arguments) if combination else {}


def _main(session: Session, combination: Combination | None) -> MainTaskRecord | None:
    if session.main_task is None:
        return None
    if combination is None or combination.main_task is None:
        return MainTaskRecord(id=session.main_task)
    return MainTaskRecord(
        id=session.main_task,
        task_category=combination.main_task.info.task_category,
        description=task_prompt(combination),
    )


def _side(session: Session, combination: Combination | None) -> SideTaskRecord | None:
    if session.side_task is None:
        return None
    if combination is None or combination.side_task is None:
        return SideTaskRecord(id=session.side_task)
    task = combination.side_task
    return SideTaskRecord(
        id=task.id,
        goal=task.goal,
        task_category=task.info.task_category,
        failure_type=task.info.failure_type,
    )
