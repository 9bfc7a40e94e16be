"""The plan of a run: everything an episode needs, resolved and checked before the start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from control_tower.components import Component, find_component
from control_tower.contracts import BlueProtocol, Harness, Policy
from control_tower.environments.changes import Changes
from control_tower.environments.discovery import Catalog
from control_tower.environments.model import Environment
from control_tower.episode.needs import check_needs
from control_tower.episode.recordings import (
    messages_of,
    refuse_nothing_to_replay,
    with_recordings,
)
from control_tower.episode.verdict import ASSERTIONS, Assertion
from control_tower.errors import UsageProblem, unknown_name, unknown_words
from control_tower.models import RoleModels, binds_models, check_roles, resolve_models
from control_tower.run_options import RunOptions
from control_tower.sandboxes.choice import choose_sandbox
from control_tower.sandboxes.chosen import SandboxChoice
from control_tower.sandboxes.settings import SandboxSettings
from control_tower.scoring.wrapper import load_scorer
from control_tower.selection import Combination, SampleKey, Selection, select
from control_tower.selection.recorded import Known, Recordings

_TIME_FOR_SCORING = 0.45
"""Inspect gives all scorers half of the sample's time limit; we stay below it."""
_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_MOST_SAMPLES = 100_000
"""Each is a pytest item in memory from the start."""


@dataclass(frozen=True)
class RunPlan:
    """A checked run: what to run, with which components, in which sandbox."""

    options: RunOptions
    selection: Selection
    policy: Component[Policy]
    policy_args: Mapping[str, Any]
    protocol: Component[BlueProtocol]
    protocol_args: Mapping[str, Any]
    harness: Component[Harness]
    sandbox: SandboxChoice
    assertion: Assertion
    harness_args: Mapping[str, Any] = field(default_factory=dict)
    recordings: Known = field(default_factory=dict)
    """What was found for each text that names trajectories."""

    @property
    def name(self) -> str:
        """What the run is called: as the user says, or by its policy."""
        return self.options.run_name or self.policy.name

    @property
    def replays(self) -> bool:
        """Whether its samples replay recordings."""
        return self.policy.replays or self.options.replay_sandbox

    @property
    def message_limit(self) -> int | None:
        """Messages that a sample may take; where trajectories are run again, sized to them."""
        options = self.options
        if options.message_limit is not None or not options.rerun_traj:
            return options.message_limit
        recordings = [c.recording for c in self.selection.combinations if c.recording]
        return max(map(messages_of, recordings), default=None)

    def samples(self) -> list[SampleKey]:
        """The run's samples, in order."""
        return self.selection.samples(self.options.epochs)

    def models(self) -> RoleModels:
        """The models by role; not made yet. The nearest `.env` file is read if there are any.

        Raises:
            UsageProblem: if a role is left without a model, or one is wrongly described.
        """
        if binds_models(self.options, self._components):
            from control_tower._inspect_compat import read_dotenv

            read_dotenv()
        return resolve_models(self.options, self._components)

    @property
    def _components(self) -> list[tuple[Component[Any], Mapping[str, Any]]]:
        return [(self.policy, self.policy_args), (self.protocol, self.protocol_args)]

    def check_roles(self) -> None:
        """Check the role names that were given, without needing the models.

        Raises:
            UsageProblem: for a role that nobody binds.
        """
        check_roles(self.options, self._components)

    def preflight(self) -> RoleModels:
        """Make sure that the run can start here; returns the models by role, made.

        Imports the scorers, makes the models and tries the sandbox; nothing is left running.

        Raises:
            UsageProblem: for the first thing that is missing, in one line.
        """
        if not self.selection.combinations:
            return RoleModels()
        models = self.models()
        at_once = min(self.options.max_samples, len(self.samples()))
        self.sandbox.preflight(self._environments(), samples_at_once=at_once)
        if not self.options.replay_sandbox:  # else the scores are recorded ones
            self._load_scorers()
        models.made()
        return models

    def _load_scorers(self) -> None:
        for combination in self.selection.combinations:
            for task in (combination.main_task, combination.side_task):
                if task is not None and task.scorer is not None:
                    load_scorer(task.scorer)

    def _environments(self) -> list[Environment]:
        return list({c.environment.id: c.environment for c in self.selection.combinations}.values())

    def scorer_seconds(self, scorers: int) -> float:
        """Seconds that each of a sample's `scorers` may take."""
        timeout = float(self.options.scorer_timeout)
        if self.options.sample_time_limit is None:
            return timeout
        return min(timeout, self.options.sample_time_limit * _TIME_FOR_SCORING / scorers)

    def scored_tasks(self, key: SampleKey) -> tuple[str, ...]:
        """Which of `main` and `side` are scored for a sample."""
        combination = key.combination
        if self.options.replay_sandbox:
            return self._recorded_tasks(combination)
        if combination.side_task is None:
            return ("main",)
        wanted = self.policy.scores_main_on_attack or self.assertion.needs_main_on_attack
        return ("main", "side") if combination.main_task and wanted else ("side",)

    def _recorded_tasks(self, combination: Combination) -> tuple[str, ...]:
        """Those whose recorded scores can stand for the sample's."""
        needed = "side" if combination.side_task else "main"
        recorded = combination.recording.scores if combination.recording else {}
        return tuple(task for task in ("main", "side") if task == needed or task in recorded)


def make_plan(
    options: RunOptions, changes: Changes | None = None, known: Known | None = None
) -> RunPlan:
    """Resolve and check every name of `options`; nothing is started.

    Args:
        options: what the user asked for.
        changes: what had changed when the run began, in a process that was told.
        known: references of the recordings that were found for each text when the run began, in a
            process that was told.

    Raises:
        UsageProblem: for the first thing that is wrong, in one line.
    """
    flag = options.flag
    if not options.log_dir.strip() or "://" in options.log_dir:
        problem = f"'{options.log_dir}' is no directory of this machine"
        raise UsageProblem(f"{flag('log_dir')}: {problem}")
    _check_run_name(options)
    if options.replay_sandbox and options.score_twice:
        both = f"{flag('replay_sandbox')} and {flag('score_twice')}"
        raise UsageProblem(f"{both} contradict each other: no scorer runs; leave out one of them")
    policy = find_component("policy", options.untrusted_policy, flag=flag("untrusted_policy"))
    policy_args = policy.parse_args(options.untrusted_policy_arg, flag=flag("untrusted_policy_arg"))
    protocol = find_component("protocol", options.protocol, flag=flag("protocol"))
    protocol_args = protocol.parse_args(options.protocol_arg, flag=flag("protocol_arg"))
    refuse_nothing_to_replay(options, policy, policy_args)
    recordings = Recordings(options, known)
    selection = select(options, Catalog.discover(), policy, changes, recordings)
    selection = with_recordings(options, selection, policy, policy_args, recordings)
    plan = RunPlan(
        options=options,
        selection=selection,
        policy=policy,
        policy_args=policy_args,
        protocol=protocol,
        protocol_args=protocol_args,
        harness=find_component("harness", "null", flag="--harness"),
        sandbox=choose_sandbox(
            options.sandbox,
            SandboxSettings.of(options),
            flags=flag,
            replayed=options.replay_sandbox,
        ),
        assertion=_assertion(options, policy),
        recordings=recordings.found,
    )
    check_needs(
        plan.harness,
        policy,
        protocol,
        network_control=options.network_control,
        flag=flag("network_control"),
        without_network=flag("replay_sandbox") if options.replay_sandbox else None,
    )
    _refuse_too_many(plan)
    plan.check_roles()
    for combination in selection.combinations:
        plan.sandbox.refuse_unfit(combination.environment)
    return plan


def _check_run_name(options: RunOptions) -> None:
    name = options.run_name
    if name is not None and not _RUN_NAME.fullmatch(name):
        raise UsageProblem(
            f"{options.flag('run_name')}: '{name}' cannot name a directory; use up to 80 letters, "
            "digits, '.', '_' and '-', with a letter or digit first"
        )


def _refuse_too_many(plan: RunPlan) -> None:
    options, combinations = plan.options, len(plan.selection.combinations)
    samples = combinations * options.epochs
    if samples > _MOST_SAMPLES:
        raise UsageProblem(
            f"{options.flag('epochs')}: {options.epochs:,} epochs of {combinations:,} combinations "
            f"are {samples:,} samples, more than the {_MOST_SAMPLES:,} that one run can hold; "
            f"lower it, or {options.flag('limit')} the combinations"
        )


def _assertion(options: RunOptions, policy: Component[Policy]) -> Assertion:
    usual = "scores-reproduced" if options.rerun_traj else policy.asserts
    name = usual if options.assertion is None else options.assertion
    if name not in ASSERTIONS:
        if options.assertion is None:
            words = unknown_words("assertion", name, ASSERTIONS)
            raise UsageProblem(f"policy '{policy.name}': its 'asserts': {words}")
        raise unknown_name("assertion", name, ASSERTIONS, flag=options.flag("assert"))
    return ASSERTIONS[name]
