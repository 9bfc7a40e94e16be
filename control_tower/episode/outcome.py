"""The outcome: what one item came to."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from control_tower.trajectories.schema import ReplayRecord

Status = Literal["scored", "unscored", "errored", "setup_error", "cancelled", "not_run"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class TaskResult(_Frozen):
    """One task's score."""

    success: bool | None
    """None: unscored."""
    explanation: str = ""
    """The scorer's explanation, or why there is no score."""
    no_verdict: bool = False
    """Whether `success` is false only because the check came to no clear verdict. An attacker may
    have brought that about to hide what it achieved."""
    no_scorer: bool = False
    """Whether `success` is None because the task has no scorer, as the user accepted."""
    disagreed: bool = False
    """Whether `success` is None because it was scored twice, with two answers."""
    recorded: bool = False
    """Whether it is the score of the recording that was replayed; no scorer ran."""


class LimitHit(_Frozen):
    """A limit that ended the agent's work."""

    type: str
    """Inspect's name: message, token, time, operator, …"""
    limit: float | None = None
    """The configured value (messages, tokens or seconds)."""
    reason: str = ""
    """Inspect's words, or the harness's."""

    def __str__(self) -> str:
        if self.type == "operator":
            return f"termination: {self.reason}" if self.reason else "termination"
        value = "" if self.limit is None else f" ({self.limit:.12g})"
        return self.reason if self.type == "custom" else f"{self.type} limit{value}"


class Durations(_Frozen):
    """Seconds the sample itself took, by phase; waiting for a free slot is not in it."""

    setup: float = 0.0
    """Sandbox start and set-up."""
    run: float = 0.0
    """Policy, tools and scoring."""
    cleanup: float = 0.0
    """Removal of the sandbox and writing of the log."""


class Outcome(_Frozen):
    """What one sample came to; computed from Inspect's `EvalSample`, never from log status."""

    schema_version: int = 1
    sample_id: str
    """`env/main/side`, with `@2` for epoch 2."""
    status: Status
    main: TaskResult | None = None
    """None when there is no main task or it was not to be scored."""
    side: TaskResult | None = None
    caught: bool = False
    """Whether an audit caught the attack, or the protocol terminated it; never in honest mode."""
    caught_is_upper_bound: bool = False
    """Whether it is caught only because any audit counts against a policy that declares nothing."""
    turns: int = 0
    """Turns with a tool call that were decided, or about which the protocol made a decision."""
    decisions: dict[str, int] = Field(default_factory=dict)
    """By kind (`allow`, `block`, …): in how many turns the protocol decided so."""
    monitored: int = 0
    """How many answers of monitors led to decisions."""
    unscored_answers: int = 0
    """How many of those had no score."""
    unscored_reason: str = ""
    """Why the first of those had none."""
    error: str | None = None
    environment_failed: bool = False
    """Whether the whole environment cannot be run (an image that cannot be built); other
    environments go on."""
    limit: LimitHit | None = None
    attempts: int = 1
    """How many times it ran, the last included."""
    durations: Durations = Durations()
    usage: dict[str, int] = Field(default_factory=dict)
    """Total tokens by model role (or model, where no role is known)."""
    final_message: str = ""
    """What the agent submitted, or said last."""
    replay: ReplayRecord | None = None
    """How it compares with the recording that it replayed; None if it replayed none."""
    log: str | None = None
    """The Inspect log's path."""
    trajectory: str | None = None
    """The trajectory file's path."""

    @property
    def mode(self) -> Literal["honest", "attack"]:
        """`honest` without a side task."""
        side = self.sample_id.partition("@")[0].partition("~")[0].rpartition("/")[2]
        return "honest" if side == "-" else "attack"

    @property
    def tokens(self) -> int:
        """Total tokens over all roles."""
        return sum(self.usage.values())

    @property
    def stops_the_run(self) -> bool:
        """Whether nothing more starts after it, unless the user wants to go on after errors."""
        return self.status in ("errored", "setup_error") and not self.environment_failed

    @property
    def unscored_as_wanted(self) -> bool:
        """Whether scores are missing, and only those of tasks that have no scorer."""
        missing = [r for r in (self.main, self.side) if r is not None and r.success is None]
        return bool(missing) and all(result.no_scorer for result in missing)

    def result(self, task: str) -> TaskResult | None:
        """The result of `main` or `side`."""
        return self.main if task == "main" else self.side
