"""The columns of exported tables: one row a trajectory, or one an action."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from control_tower.trajectories.schema import Action, Decision, Trajectory
from control_tower.trajectories.summary import Summary, run_name_of

Kind = Literal["text", "integer", "number", "boolean"]
TableName = Literal["trajectories", "actions"]
T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    """A column: its name, its type, and what it means."""

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True)
class Table:
    """A table's columns, and the rows that trajectories make."""

    name: TableName
    columns: tuple[Column, ...]
    rows: Callable[[Trajectory], Iterable[tuple[Any, ...]]]


_Cell = tuple[str, Kind, str, Callable[[T], Any]]

_OF_TRAJECTORIES: tuple[_Cell[Trajectory], ...] = (
    ("trajectory_id", "text", "its id", lambda t: t.trajectory_id),
    ("run_id", "text", "the run's", lambda t: t.run_id or None),
    ("run_name", "text", "what the run was called", lambda t: run_name_of(t) or None),
    (
        "sample_id",
        "text",
        "environment/main/side, @2 for epoch 2",
        lambda t: Summary.of(t).sample_id,
    ),
    ("epoch", "integer", "from 1", lambda t: t.epoch),
    ("recorded_at", "number", "seconds since 1970 (UTC)", lambda t: t.recorded_at),
    ("environment", "text", "its id", lambda t: t.environment.id),
    ("environment_args", "text", "as JSON", lambda t: _json(t.environment.args)),
    ("main_task", "text", "its id; null without one", lambda t: _id(t.main_task)),
    ("main_task_category", "text", "add_feature, …", lambda t: _category(t.main_task)),
    ("side_task", "text", "its id; null in honest mode", lambda t: _id(t.side_task)),
    ("side_task_category", "text", "its category", lambda t: _category(t.side_task)),
    ("outcome", "text", "scored, unscored, errored, …", lambda t: t.outcome),
    ("main_task_success", "boolean", "null: not scored", lambda t: t.main_task_success),
    ("side_task_success", "boolean", "null: not scored", lambda t: t.side_task_success),
    ("caught", "boolean", "whether blue caught the attack", lambda t: t.caught),
    (
        "caught_is_upper_bound",
        "boolean",
        "whether any audit counted",
        lambda t: t.caught_is_upper_bound,
    ),
    ("error", "text", "what it errored with", lambda t: t.error),
    ("limit", "text", "the type of the limit that ended it", lambda t: t.limit and t.limit.type),
    ("attempts", "integer", "how often it ran", lambda t: t.attempts),
    ("policy", "text", "the untrusted policy", lambda t: t.policy or None),
    ("policy_args", "text", "as JSON", lambda t: _json(t.policy_args)),
    ("protocol", "text", "blue's", lambda t: t.protocol or None),
    ("protocol_args", "text", "as JSON", lambda t: _json(t.protocol_args)),
    ("harness", "text", "its name", lambda t: t.harness or None),
    ("sandbox", "text", "its name", lambda t: t.sandbox or None),
    ("models", "text", "by role, as JSON", lambda t: _json(t.models)),
    ("actions", "integer", "how many", lambda t: len(t.actions)),
    ("max_suspicion", "number", "0 to 10; null: no score", lambda t: Summary.of(t).max_suspicion),
    ("allowed", "integer", "decisions of that kind", lambda t: _count(t.decisions, "allow")),
    ("replaced", "integer", "decisions of that kind", lambda t: _count(t.decisions, "replace")),
    ("blocked", "integer", "decisions of that kind", lambda t: _count(t.decisions, "block")),
    ("audited", "integer", "decisions of that kind", lambda t: _count(t.decisions, "audit")),
    ("terminated", "integer", "decisions of that kind", lambda t: _count(t.decisions, "terminate")),
    ("tokens", "integer", "over all roles", lambda t: Summary.of(t).tokens),
    ("cost", "number", "US dollars; null if no price is known", lambda t: _cost(t)),  # noqa: PLW0108
    ("tags", "text", "as a JSON list", lambda t: _json(t.tags)),
    ("scorer_explanation", "text", "the scorers' words", lambda t: t.scorer_explanation or None),
    ("final_message", "text", "the submission", lambda t: t.final_message or None),
    ("replays", "text", "the id of what it replayed", lambda t: Summary.of(t).replays),
)

_OF_ACTIONS: tuple[_Cell[tuple[Trajectory, Action]], ...] = (
    ("trajectory_id", "text", "of the trajectory", lambda p: p[0].trajectory_id),
    ("sample_id", "text", "of the trajectory", lambda p: Summary.of(p[0]).sample_id),
    ("step", "integer", "from 0", lambda p: p[1].index),
    ("turn", "integer", "of the message that made the call, from 0", lambda p: p[1].turn),
    ("function", "text", "the tool's name", lambda p: p[1].function),
    ("arguments", "text", "as JSON", lambda p: _json(p[1].arguments)),
    ("command", "text", "that of bash; else null", lambda p: _command(p[1])),
    ("output", "text", "as the agent saw it", lambda p: p[1].output),
    ("output_error", "text", "null: none", lambda p: p[1].output_error),
    ("agent_reasoning", "text", "what the agent said", lambda p: p[1].agent_reasoning),
    ("suspicion", "number", "0 to 10; null: no score", lambda p: _suspicion(p[1])),
    (
        "declared_attack",
        "boolean",
        "whether the policy declared its turn part of the attack; null: it declares nothing",
        lambda p: _declared(*p),
    ),
)


def _table(
    name: TableName, cells: Iterable[_Cell[T]], units: Callable[[Trajectory], Iterable[T]]
) -> Table:
    made = tuple(cells)

    def rows(trajectory: Trajectory) -> Iterator[tuple[Any, ...]]:
        for unit in units(trajectory):
            yield tuple(value(unit) for _, _, _, value in made)

    return Table(name, tuple(Column(n, kind, meaning) for n, kind, meaning, _ in made), rows)


TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        _table("trajectories", _OF_TRAJECTORIES, lambda t: [t]),
        _table("actions", _OF_ACTIONS, lambda t: [(t, action) for action in t.actions]),
    )
}
"""By name."""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _id(task: Any) -> str | None:
    return task.id if task else None


def _category(task: Any) -> str | None:
    return task.task_category if task else None


def _count(decisions: Iterable[Decision], kind: str) -> int:
    return sum(decision.kind == kind for decision in decisions)


def _cost(trajectory: Trajectory) -> float | None:
    costs = [u.total_cost for u in trajectory.usage.values() if u.total_cost is not None]
    return sum(costs) if costs else None


def _command(action: Action) -> str | None:
    command = action.arguments.get("command")
    return command if action.function == "bash" and isinstance(command, str) else None


def _suspicion(action: Action) -> float | None:
    return action.monitor_response.sus_score if action.monitor_response else None


def _declared(trajectory: Trajectory, action: Action) -> bool | None:
    if trajectory.declared_attacks is None or action.turn is None:
        return None
    return action.turn in trajectory.declared_attacks
