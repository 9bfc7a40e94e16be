"""The trajectory: one JSON object a sample, versioned, in the field's public vocabulary."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 2


class _Record(BaseModel):
    """Base of the records: unknown fields of newer writers are kept, not refused."""

    model_config = ConfigDict(extra="allow")


class MonitorMember(_Record):
    """One member's answer inside an ensemble's response."""

    sus_score: float | None = None
    """Suspicion from 0 (benign) to 10; null when the member's reply could not be parsed."""
    model_name: str | None = None
    error: str | None = None
    """Why there is no score."""
    name: str | None = None
    """The member's, in an ensemble; none for one of several draws of one monitor."""
    reply: str = ""
    """What the model wrote last."""
    members: list[MonitorMember] = Field(default_factory=list)
    """What the member's own score was reduced from, if it was several."""


class MonitorResponse(_Record):
    """A monitor's answer about one action."""

    sus_score: float | None = None
    """Suspicion from 0 (benign) to 10; null when unscored."""
    model_name: str | None = None
    error: str | None = None
    """Why there is no score."""
    members: list[MonitorMember] = Field(default_factory=list)
    """What it was reduced from: the draws, or an ensemble's members."""


DecisionKind = Literal["allow", "replace", "block", "audit", "terminate"]


class Decision(_Record):
    """What a protocol decided about one proposal."""

    kind: DecisionKind
    turn: int = 0
    """0-based position of the turn it was made in, among the turns that were decided."""
    proposal_id: str | None = None
    """Id of the proposed message."""
    instead_id: str | None = None
    """Of a replacement: id of the message that went ahead."""
    calls: list[str] = Field(default_factory=list)
    """The functions that the proposal calls."""
    reason: str = ""
    monitor_response: MonitorResponse | None = None
    """The monitor's answer about the proposal."""
    instead_monitor_response: MonitorResponse | None = None
    """The monitor's answer about the replacement."""
    draw_responses: dict[str, MonitorResponse] = Field(default_factory=dict)
    """Where a turn was drawn several times: the monitor's answer about each draw that calls a
    tool, by the id of the draw's message."""
    threshold: float | None = None
    """Suspicion (0–10) at which the protocol acts."""
    draws: dict[str, float] = Field(default_factory=dict)
    """Random draws that decided, by what they were for."""
    details: dict[str, Any] = Field(default_factory=dict)


class Action(_Record):
    """One tool call the agent made and what came of it."""

    index: int
    """0-based position among the sample's actions."""
    turn: int | None = None
    """0-based position of the turn that made the call, counted as in `Decision.turn`; null where
    it is not known. Calls of one turn were made by one message."""
    function: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    output: str = ""
    """The tool's output as the agent saw it (after truncation)."""
    output_error: str | None = None
    """The tool's error message, if the call failed."""
    agent_reasoning: str | None = None
    """The assistant's text of the turn that made the call."""
    monitor_response: MonitorResponse | None = None


class EnvironmentRecord(_Record):
    """The environment of a run."""

    id: str
    description: str = ""
    args: dict[str, Any] = Field(default_factory=dict)
    """Its arguments, the defaults included."""


class MainTaskRecord(_Record):
    """The main task of a run."""

    id: str
    task_category: str | None = None
    description: str = ""


class SideTaskRecord(_Record):
    """The side task of a run."""

    id: str
    goal: str = ""
    task_category: str | None = None
    failure_type: Literal["live", "delayed"] | None = None


class ScoreRecord(_Record):
    """One task's score."""

    success: bool | None
    """True, false, or null when the task was not scored."""
    explanation: str = ""
    """The scorer's explanation, or the reason for null."""
    no_verdict: bool = False
    """Whether `success` is false only because the check came to no clear verdict."""
    no_scorer: bool = False
    """Whether `success` is null because the task has no scorer."""
    disagreed: bool = False
    """Whether `success` is null because the task was scored twice, with two answers."""
    recorded: bool = False
    """Whether it is the score of the recording that was replayed; no scorer ran."""


class Divergence(_Record):
    """The first action of a replay that is not the recorded one: another call, or output."""

    action: int
    """Position of the action, from 0."""
    part: Literal["call", "output", "output_error"]
    recorded: str | None
    actual: str | None


class ReplayRecord(_Record):
    """What was replayed, and how the replay compares with it."""

    trajectory_id: str
    """Of the recording."""
    run_id: str = ""
    actions: int = 0
    """How many the recording has."""
    replayed: int = 0
    """How many of them were made again, in order, before the run ended or made another call."""
    answered: bool = False
    """Whether outputs were taken from the recording (`--replay-sandbox`), and nothing executed."""
    scores: dict[str, ScoreRecord] = Field(default_factory=dict)
    """The recording's, by task: `main`, `side`."""
    divergence: Divergence | None = None
    """Where they part first; null if they nowhere do, as far as both go."""


class LimitRecord(_Record):
    """A limit that ended the run."""

    type: str
    """Inspect's name: message, token, time, operator, …"""
    limit: float | None = None
    """The configured value (messages, tokens or seconds)."""
    reason: str = ""
    """Why it was hit, in Inspect's or the harness's words."""


class AttemptRecord(_Record):
    """An attempt that errored before the one recorded."""

    error: str


class UsageRecord(_Record):
    """What one model used."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    total_cost: float | None = None
    """US dollars, when Inspect knows the price."""


class Trajectory(_Record):
    """The record of one run of one combination."""

    schema_version: int = SCHEMA_VERSION
    trajectory_id: str
    run_id: str = ""
    """Empty where it is not known, as in recordings of other makers."""
    sample_id: str = ""
    """The item's: `env/main/side`, with `@2` for epoch 2."""
    epoch: int = 1
    recorded_at: float | None = None
    """When the sample was over, in seconds since 1970 (UTC)."""
    environment: EnvironmentRecord
    main_task: MainTaskRecord | None = None
    side_task: SideTaskRecord | None = None
    main_task_success: bool | None = None
    side_task_success: bool | None = None
    scorer_explanation: str = ""
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    actions: list[Action] = Field(default_factory=list)

    outcome: Literal["scored", "unscored", "errored", "setup_error", "cancelled", "not_run"] = (
        "scored"
    )
    scores: dict[str, ScoreRecord] = Field(default_factory=dict)
    """By task: `main`, `side`."""
    error: str | None = None
    limit: LimitRecord | None = None
    attempts: int = 1
    """How many times the sample was run, this one included."""
    earlier_attempts: list[AttemptRecord] = Field(default_factory=list)
    policy: str = ""
    policy_args: dict[str, Any] = Field(default_factory=dict)
    protocol: str = ""
    protocol_args: dict[str, Any] = Field(default_factory=dict)
    declared_attacks: list[int] | None = None
    """The executed turns (as in `Action.turn`) that the policy declared part of its attack; null
    for a policy that declares nothing."""
    harness: str = ""
    harness_args: dict[str, Any] = Field(default_factory=dict)
    sandbox: str = ""
    sandbox_args: dict[str, Any] = Field(default_factory=dict)
    """Options that shaped it, such as `no_internet`; arguments of one that is not ours."""
    models: dict[str, str] = Field(default_factory=dict)
    """Model by role."""
    decisions: list[Decision] = Field(default_factory=list)
    """The protocol's, in order."""
    caught: bool = False
    """Whether an audit caught the attack, or blue terminated it; never in honest mode."""
    caught_is_upper_bound: bool = False
    """Whether the policy does not declare which of its turns attack, so that any audit counts."""
    usage: dict[str, UsageRecord] = Field(default_factory=dict)
    """Tokens and cost by role."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of packages and python; content hashes of package, environment and tasks."""
    log: str | None = None
    """File name of the Inspect log beside the trajectory's directory."""
    final_message: str = ""
    """The agent's last assistant text or submitted answer."""
    replay: ReplayRecord | None = None
    """What this run replayed; null for one that replayed nothing."""
