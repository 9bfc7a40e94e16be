"""The control run of a pytest session: its plan, its models, its place, and its start and stop."""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from control_tower.environments.changes import Changes
from control_tower.episode.outcome import Outcome
from control_tower.episode.plan import RunPlan, make_plan
from control_tower.errors import UsageProblem
from control_tower.extra_source import ExtraSource
from control_tower.models import ModelSpec, RoleModels
from control_tower.options import SELECTING
from control_tower.run_options import RunOptions
from control_tower.runners.base import Runner
from control_tower.runners.journal import RunJournal
from control_tower.selection import SampleKey
from pytest_control_tower.items import keys_to_run
from pytest_control_tower.options import front_end
from pytest_control_tower.running import RunningSamples
from pytest_control_tower.sandbox_news import SandboxNews
from pytest_control_tower.terminal import say
from pytest_control_tower.terminating import Termination
from pytest_control_tower.workers.membership import Membership

_NAME_RECORDINGS = ("trajectory_id", "rerun_traj", "untrusted_policy_arg")
"""Keys of the options that may name what is replayed."""


class RunStopped(Exception):
    """Another process of the run asked all of them to stop; the text is the reason."""


class ControlRun:
    """Made from the options; starts nothing until it is told to.

    Args:
        config: pytest's configuration.
        values: option values by key.
        membership: what this process was told, if it is a worker.
        termination: what becomes of requests to end.
    """

    def __init__(
        self,
        config: pytest.Config,
        values: Mapping[str, Any],
        membership: Membership | None,
        termination: Termination,
    ) -> None:
        self._config = config
        self._values = values
        self._termination = termination
        self.membership = membership
        self.run_id = membership.run_id if membership else secrets.token_hex(4)
        """Of the run, which all of its processes share."""
        self.started_at = membership.started_at if membership else time.time()
        """When its first process began, in seconds since the epoch."""
        self._plan: RunPlan | None = None
        self._extra_source: ExtraSource | None = None
        self._models: RoleModels | None = None
        self._running: RunningSamples | None = None
        self.sample_ids: list[str] = []
        """Of the samples of this session's items, in item order; known once it began."""
        self.began = False
        """Whether samples run or ran, here or in workers."""

    @property
    def plan(self) -> RunPlan:
        """The checked plan; made when first asked for.

        Raises:
            pytest.UsageError: for the first thing wrong with the options.
        """
        if self._plan is None:
            try:
                options = RunOptions.from_values(self._values, front_end=front_end(self._config))
                self._add_extra_source(options)
                member = self.membership
                self._plan = make_plan(
                    options,
                    member.changes if member else None,
                    member.recordings if member else None,
                )
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
        return self._plan

    def _add_extra_source(self, options: RunOptions) -> None:
        """Make the directories of `--ct-extra-src` importable until the session has ended."""
        if self._extra_source is not None:
            return
        told = self.membership.extra_src if self.membership else ()
        source = ExtraSource.of(told or options.extra_src, flag=options.flag("extra_src"))
        source.add()
        self._config.add_cleanup(source.remove)
        self._extra_source = source

    @property
    def extra_src(self) -> tuple[str, ...]:
        """The absolute directories of `--ct-extra-src`; empty until the plan is made."""
        return tuple(map(str, self._extra_source.directories)) if self._extra_source else ()

    @property
    def changes(self) -> Changes | None:
        """What had changed when the run began, if only that is run."""
        if "changed_since" not in self._values:
            return None
        try:
            return self.plan.selection.changes
        except pytest.UsageError:  # said where a sample is needed
            return None

    @property
    def recordings(self) -> Mapping[str, tuple[str, ...]]:
        """What the run replays: references of recordings, by what the user wrote."""
        if not any(key in self._values for key in _NAME_RECORDINGS):
            return {}
        try:
            return self.plan.recordings
        except pytest.UsageError:  # said where a sample is needed
            return {}

    @property
    def selects(self) -> bool:
        """Whether the options say what to run; otherwise there is nothing to plan."""
        return any(key in self._values for key in SELECTING)

    @property
    def models(self) -> RoleModels:
        """The models by role, after a preflight; in a worker, whoever started it made that.

        Raises:
            pytest.UsageError: for the first thing that the run would lack on this machine.
        """
        if self._models is None:
            plan, member = self.plan, self.membership
            try:
                with SandboxNews(functools.partial(say, self._config)):
                    models = member.models_of(plan) if member else plan.preflight()
                models.made()
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
            self._models = models
        return self._models

    @property
    def known_models(self) -> tuple[ModelSpec, ...] | None:
        """The models, if they were looked up already."""
        return self._models.specs if self._models is not None else None

    @property
    def will_run(self) -> bool:
        """Whether samples run in this session, and not only items are collected or planned."""
        option = self._config.option
        return not (option.collectonly or option.setupplan)

    @functools.cached_property
    def directory(self) -> Path:
        """The run's directory: the same in all of its processes. `open` makes it."""
        began = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self.started_at))
        name = "_".join((began, self.plan.name, self.run_id))
        began_in = Path(self.membership.folder) if self.membership else Path.cwd()
        return began_in / Path(self.plan.options.log_dir).expanduser() / name

    def open(self) -> None:
        """Make the run's directory, unless it is there.

        Raises:
            pytest.UsageError: it cannot be made.
        """
        options = self.plan.options
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise pytest.UsageError(
                f"{options.flag('log_dir')}: '{options.log_dir}' cannot be used: {error}"
            ) from None

    def start(self, items: Sequence[pytest.Item]) -> None:
        """Run the samples of these items in the background of this process.

        Raises:
            pytest.UsageError: if the preflight fails or the log directory cannot be made.
        """
        models = self.models
        self.open()
        self.sample_ids = [key.id for key in keys_to_run(items)]
        self._running = RunningSamples(
            self._config,
            self._runner(models),
            items,
            self.plan.assertion,
            check_stop=self.check_stop,
            note=self.journal().noted if self.membership else None,
        )
        self._running.start()
        self.began = True

    def _runner(self, models: RoleModels) -> Runner:
        from control_tower.runners.local import LocalRunner

        member, options = self.membership, self.plan.options
        most, connections = options.max_samples, options.max_connections
        return LocalRunner(
            self.plan,
            run_id=self.run_id,
            run_directory=self.directory,
            models=models,
            slots=member.slots(most) if member else most,
            connections=member.connections(connections) if member else connections,
            process=self._config.workerinput["workerid"] if member else "main",  # type: ignore[attr-defined]
        )

    @property
    def started(self) -> bool:
        """Whether samples were started in this process."""
        return self._running is not None

    @property
    def running(self) -> RunningSamples:
        """The samples that were started in this process.

        Raises:
            RuntimeError: none were.
        """
        if self._running is None:
            raise RuntimeError("the control run was not started")
        return self._running

    def knows(self, key: SampleKey) -> bool:
        """Whether the sample is among those that were started in this process."""
        return self._running is not None and self._running.knows(key)

    def outcomes(self) -> dict[str, Outcome]:
        """By id, of the samples that are over: those of all processes."""
        if self._running is not None:
            return self._running.outcomes()
        history = self.journal().history()
        cut_short = history.started.keys() - history.finished.keys()
        return {
            **{id: Outcome(sample_id=id, status="cancelled") for id in cut_short},
            **history.finished,
        }

    def journal(self) -> RunJournal:
        """The run's journal."""
        return RunJournal(self.directory)

    def ask_to_stop(self, reason: str) -> None:
        """Ask all processes of the run to stop; if that fails, they notice when this one ends."""
        try:
            self.journal().ask_to_stop(reason)
        except OSError as error:
            self.say(f"control tower: {self.directory} cannot be written: {error}")

    def check_stop(self) -> None:
        """See whether the run is to stop.

        Raises:
            KeyboardInterrupt: this process was told so, and an interrupt was lost.
            RunStopped: in a worker, the run is; with the reason.
        """
        self._termination.repeat()
        if self.membership is None:
            return
        reason = self.journal().stop_reason()
        if reason is None and not self.membership.started_by_parent():
            reason = "the process that started this worker has ended"
        if reason is not None:
            raise RunStopped(reason)

    def say(self, line: str) -> None:
        """Write a line of its own to the terminal, if there is one."""
        say(self._config, line)
