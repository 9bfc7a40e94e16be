"""`RunOptions`: the one frozen model that every front end fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from control_tower.errors import unknown_name
from control_tower.options import BY_KEY, OPTIONS, FrontEnd
from control_tower.whole_numbers import whole_number

REPLAY = "replay"
"""The policy of a run that replays a trajectory to score it again."""


class RunOptions(BaseModel):
    """What a user asked for; meaning and defaults are in `control_tower.options`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: tuple[str, ...]
    env_arg: tuple[str, ...]
    main_task: tuple[str, ...]
    side_task: tuple[str, ...]
    trajectory_id: tuple[str, ...]
    rerun_traj: str | None
    traj_sample_id: str | None
    task_file: str | None
    limit: int | None
    all: bool
    just_main_tasks: bool
    just_side_tasks: bool
    env_only: bool
    category: tuple[str, ...]
    main_tasks_with_no_scorers: str
    changed_since: str | None
    untrusted_policy: str
    untrusted_policy_arg: tuple[str, ...]
    protocol: str
    protocol_arg: tuple[str, ...]
    model_role: tuple[str, ...]
    max_connections: int | None
    """None: left to Inspect."""
    startup_retries: int | None
    """None: not said; `STARTUP_RETRIES` is the default."""
    no_internet: bool
    no_intranet: bool
    network_control: bool
    sandbox_isolation: bool
    extra_src: tuple[str, ...]
    sandbox: str | None
    """None: not chosen; docker is the default."""
    sandbox_arg: tuple[str, ...]
    replay_sandbox: bool
    epochs: int
    max_samples: int
    log_dir: str
    retry_on_error: int | None
    no_fail_on_error: bool
    scorer_timeout: int
    """Seconds."""
    token_limit: int | None
    message_limit: int | None
    sample_time_limit: int | None
    """Seconds."""
    run_name: str | None
    tag: tuple[str, ...]
    score_twice: bool
    assertion: str | None = Field(alias="assert")
    front_end: FrontEnd

    @classmethod
    def from_values(cls, values: Mapping[str, Any], *, front_end: FrontEnd) -> RunOptions:
        """Build from values by option key; None means unset and takes the default.

        Raises:
            UsageProblem: for what is no whole number, or one below its option's minimum, where one
                is wanted, or a value that is no choice.
        """
        given: dict[str, Any] = {"front_end": front_end}
        if values.get("rerun_traj") is not None and values.get("untrusted_policy") is None:
            values = {**values, "untrusted_policy": REPLAY}
        for option in OPTIONS:
            value: Any = values.get(option.key)
            if value is None:
                value = () if option.multiple else option.default
            elif option.minimum is not None:
                value = whole_number(value, option.minimum, flag=option.spelling(front_end))
            elif option.choices and value not in option.choices:
                raise unknown_name("choice", value, option.choices, flag=option.spelling(front_end))
            given[option.key] = tuple(value) if option.multiple else value
        return cls(**given)

    def flag(self, key: str) -> str:
        """How the user of this run's front end spells the option `key`."""
        return BY_KEY[key].spelling(self.front_end)
