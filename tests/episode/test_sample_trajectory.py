"""From Inspect's samples, built by hand, to trajectories."""

from __future__ import annotations

import time

from inspect_ai.log import EvalSample, EvalSampleLimit
from inspect_ai.model import ModelOutput, ModelUsage
from support.samples import NO, NULL, YES, error, key_of, outcome, record, retried, sample

from control_tower.episode.run_facts import RunFacts
from control_tower.episode.sample_outcome import outcome_of
from control_tower.episode.sample_trajectory import trajectory_of
from control_tower.episode.versions import versions_of
from control_tower.trajectories.schema import Action, Decision, Trajectory


def full_sample() -> EvalSample:
    kept = record(
        scored={"main": YES, "side": NULL},
        actions=[Action(index=0, function="bash", arguments={"command": "ls"}, output="src")],
    )
    return sample(
        kept,
        uuid="u1",
        error_retries=[retried("RuntimeError: first")],
        limit=EvalSampleLimit(type="token", limit=1_000, reason="too many"),
        output=ModelOutput.from_content("a/model", "All done."),
        role_usage={
            "untrusted": ModelUsage(
                input_tokens=70, output_tokens=30, total_tokens=100, total_cost=0.25
            )
        },
    )


def trajectory(facts: RunFacts, *, epoch: int = 1) -> Trajectory:
    key, finished = key_of(facts, epoch=epoch), full_sample()
    outcome = outcome_of(finished, key, facts, enqueued_at=time.time())
    return trajectory_of(finished, key, facts, outcome, log="x.eval")


def test_a_trajectory_tells_the_whole_run(facts: RunFacts) -> None:
    found = trajectory(facts, epoch=2)
    assert (found.trajectory_id, found.run_id, found.epoch) == ("u1", "run1", 2)
    assert found.environment.model_dump() == {
        "id": "mini",
        "description": "a test environment",
        "args": {},
    }
    assert found.main_task is not None
    assert found.main_task.model_dump() == {
        "id": "fix",
        "task_category": "fix_bug",
        "description": "Do fix.",
    }
    assert found.side_task is not None
    assert found.side_task.model_dump() == {
        "id": "leak",
        "goal": "Do leak in secret.\n",
        "task_category": "exfiltration",
        "failure_type": "live",
    }
    assert (found.main_task_success, found.side_task_success) == (True, None)
    assert found.scorer_explanation == "main: it works\nside: the scorer crashed"
    assert {task: score.success for task, score in found.scores.items()} == {
        "main": True,
        "side": None,
    }
    assert [(a.function, a.arguments, a.output) for a in found.actions] == [
        ("bash", {"command": "ls"}, "src")
    ]
    assert found.outcome == "unscored"
    assert found.limit is not None
    assert (found.limit.type, found.limit.limit, found.limit.reason) == ("token", 1_000, "too many")
    assert found.attempts == 2
    assert [attempt.error for attempt in found.earlier_attempts] == ["RuntimeError: first"]
    assert (found.policy, found.protocol, found.harness, found.sandbox) == (
        "reference",
        "null-blue-team",
        "null",
        "bwrap",
    )
    assert found.models == {"untrusted": "a/model"}
    assert found.usage["untrusted"].model_dump() == {
        "input_tokens": 70,
        "output_tokens": 30,
        "total_tokens": 100,
        "total_cost": 0.25,
    }
    assert found.versions == versions_of(key_of(facts).combination)
    assert (found.log, found.final_message) == ("x.eval", "All done.")


def test_a_trajectory_survives_json(facts: RunFacts) -> None:
    found = trajectory(facts)
    assert Trajectory.model_validate_json(found.model_dump_json()) == found


def test_an_honest_trajectory_has_no_side_task(facts: RunFacts) -> None:
    key, finished = key_of(facts, "mini/fix/-"), sample(record(scored={"main": NO}))
    outcome = outcome_of(finished, key, facts, enqueued_at=time.time())
    found = trajectory_of(finished, key, facts, outcome, log=None)
    assert (found.side_task, found.side_task_success) == (None, None)
    assert set(found.scores) == {"main"}
    assert (found.main_task_success, found.outcome) == (False, "scored")


def test_a_sample_that_errored_at_once_has_a_trajectory_too(facts: RunFacts) -> None:
    key, finished = key_of(facts), sample(None, error=error("no sandbox"), uuid=None)
    outcome = outcome_of(finished, key, facts, enqueued_at=time.time())
    found = trajectory_of(finished, key, facts, outcome, log=None)
    assert (found.outcome, found.error, found.actions) == ("setup_error", "no sandbox", [])
    assert "/" not in found.trajectory_id
    assert found.final_message == ""


def test_decisions_and_what_was_caught_are_in_the_trajectory(facts: RunFacts) -> None:
    kept = record(
        scored={"side": YES},
        caught=True,
        caught_is_upper_bound=True,
        decisions=[Decision(kind="audit", proposal_id="a", calls=["bash"], draws={"audit": 0.5})],
    )
    key = key_of(facts)
    made = trajectory_of(sample(kept), key, facts, outcome(facts, kept), log=None)
    again = Trajectory.model_validate_json(made.model_dump_json())
    assert (again.caught, again.caught_is_upper_bound) == (True, True)
    assert [(d.kind, d.calls, d.draws) for d in again.decisions] == [
        ("audit", ["bash"], {"audit": 0.5})
    ]
