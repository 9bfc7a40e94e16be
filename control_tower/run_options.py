"""`RunOptions`: the one frozen model that every front end fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from control_tower.errors import UsageProblem
from control_tower.options import BY_KEY, OPTIONS, FrontEnd

DEFAULT_MAX_SAMPLES = 10
"""Samples at once when `--max-samples` is not given."""


DEFAULT_SCORER_TIMEOUT = 600
"""Seconds a scorer gets when `--scorer-timeout` is not given, so that none hangs a run."""


class RunOptions(BaseModel):
    """What a user asked for, in the vocabulary of `control_tower.options`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: tuple[str, ...] = ()
    main_task: tuple[str, ...] = ()
    side_task: tuple[str, ...] = ()
    limit: int | None = None
    all: bool = False
    just_main_tasks: bool = False
    just_side_tasks: bool = False
    env_only: bool = False
    untrusted_policy: str = "honest"
    untrusted_policy_arg: tuple[str, ...] = ()
    protocol: str = "null-blue-team"
    protocol_arg: tuple[str, ...] = ()
    model_role: tuple[str, ...] = ()
    sandbox: str | None = None
    """None: not chosen; docker is the default."""
    epochs: int = 1
    max_samples: int | None = None
    log_dir: str | None = None
    retry_on_error: int | None = None
    no_fail_on_error: bool = False
    scorer_timeout: int | None = None
    """Seconds."""
    token_limit: int | None = None
    message_limit: int | None = None
    sample_time_limit: int | None = None
    """Seconds."""
    assertion: str | None = Field(default=None, alias="assert")
    front_end: FrontEnd = "pytest"

    @classmethod
    def from_values(cls, values: Mapping[str, Any], *, front_end: FrontEnd) -> RunOptions:
        """Build from values by option key; None means unset and takes the default.

        Raises:
            UsageProblem: for a number below its option's minimum.
        """
        given: dict[str, Any] = {}
        for option in OPTIONS:
            value = values.get(option.key)
            if value is None:
                continue
            if option.minimum is not None and value < option.minimum:
                raise UsageProblem(
                    f"{option.spelling(front_end)}: {value} is below {option.minimum}"
                )
            given[option.key] = tuple(value) if option.multiple else value
        return cls(front_end=front_end, **given)

    def flag(self, key: str) -> str:
        """How the user of this run's front end spells the option `key`."""
        return BY_KEY[key].spelling(self.front_end)

    @property
    def scorer_seconds(self) -> int:
        """Seconds that one scorer gets."""
        return self.scorer_timeout or DEFAULT_SCORER_TIMEOUT

    @property
    def samples_at_once(self) -> int:
        """How many samples may run at the same time."""
        return self.max_samples or DEFAULT_MAX_SAMPLES
