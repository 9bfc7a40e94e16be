"""Inspect's samples, built by hand, and the facts of the run that they are of.

    found = outcome(facts, record(scored={"main": YES, "side": NO}))
    assert found.status == "scored"

`facts` is a fixture of `tests/episode`: the environment `mini` with the tasks `fix` and `leak`.
"""

from __future__ import annotations

import time
from typing import Any

from inspect_ai.log import EvalError, EvalRetryError, EvalSample

from control_tower.episode.outcome import Outcome, TaskResult
from control_tower.episode.plan import RunPlan, make_plan
from control_tower.episode.record import STORE_KEY, EpisodeRecord
from control_tower.episode.run_facts import RunFacts
from control_tower.episode.sample_outcome import outcome_of
from control_tower.run_options import RunOptions
from control_tower.selection import SampleKey

YES = TaskResult(success=True, explanation="it works")
NO = TaskResult(success=False, explanation="nothing changed")
NULL = TaskResult(success=None, explanation="the scorer crashed")


def plan(policy: str = "reference", **more: Any) -> RunPlan:
    """The plan of a run of `mini`."""
    values = {"env": ("mini",), "all": True, "untrusted_policy": policy, "sandbox": "bwrap"}
    return make_plan(RunOptions.from_values({**values, **more}, front_end="ct"))


def key_of(facts: RunFacts, combination: str = "mini/fix/leak", epoch: int = 1) -> SampleKey:
    """The key of one of the run's samples."""
    [found] = [c for c in facts.plan.selection.combinations if c.id == combination]
    return SampleKey(found, epoch)


def record(**more: Any) -> EpisodeRecord:
    """The record of an episode that was provisioned and scored."""
    return EpisodeRecord(**{"provisioned_at": time.time(), "scored_at": time.time(), **more})


def error(message: str) -> EvalError:
    """What ended a sample."""
    return EvalError(message=message, traceback="", traceback_ansi="")


def retried(message: str) -> EvalRetryError:
    """What ended an earlier attempt."""
    return EvalRetryError(message=message, traceback="", traceback_ansi="")


def sample(kept: EpisodeRecord | None, **more: Any) -> EvalSample:
    """A finished sample of `mini/fix/leak`, with what its episode kept."""
    store = {} if kept is None else {STORE_KEY: kept.model_dump(mode="json")}
    return EvalSample(id="mini/fix/leak", epoch=1, input="x", target="", store=store, **more)


def outcome(
    facts: RunFacts,
    kept: EpisodeRecord | None,
    combination: str = "mini/fix/leak",
    **more: Any,
) -> Outcome:
    """What the sample came to that `sample` makes."""
    key = key_of(facts, combination)
    return outcome_of(sample(kept, **more), key, facts, enqueued_at=time.time())
