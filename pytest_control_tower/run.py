"""The control run of a pytest session: its plan, its place, its runner, and waiting for samples."""

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
from control_tower.options import SELECTING
from control_tower.run_options import RunOptions
from control_tower.runners.base import Runner
from control_tower.runners.holding import Hold, LiveSandbox
from control_tower.runners.journal import RunJournal
from control_tower.selection import SampleKey
from pytest_control_tower.items import holds, is_skipped, keys_to_run, sample_key
from pytest_control_tower.judging import ControlOutcome, SetupFailed, setup_report
from pytest_control_tower.options import front_end
from pytest_control_tower.progress import ProgressLine
from pytest_control_tower.workers.membership import Membership

_LEAVING = "control tower: removing the sandboxes; Ctrl-C once more leaves them to the next run"


class RunStopped(Exception):
    """Another process of the run asked all of them to stop; the text is the reason."""


class ControlRun:
    """Made from the options; starts nothing until it is told to.

    Args:
        config: pytest's configuration.
        values: option values by key.
        membership: what this process was told, if it is a worker.
    """

    def __init__(
        self, config: pytest.Config, values: Mapping[str, Any], membership: Membership | None
    ) -> None:
        self._config = config
        self._values = values
        self.membership = membership
        self.run_id = membership.run_id if membership else secrets.token_hex(4)
        """Of the run, which all of its processes share."""
        self.started_at = membership.started_at if membership else time.time()
        """When its first process began, in seconds since the epoch."""
        self._plan: RunPlan | None = None
        self._models: dict[str, str] | None = None
        self._runner: Runner | None = None
        self._progress: ProgressLine | None = None
        self._known: frozenset[str] = frozenset()
        self._last_holder: dict[str, str] = {}
        """By sample id: the last item that looks into the sample's sandbox."""
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
                told = self.membership.changes if self.membership else None
                self._plan = make_plan(options, told)
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
        return self._plan

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
    def selects(self) -> bool:
        """Whether the options say what to run; otherwise there is nothing to plan."""
        return any(key in self._values for key in SELECTING)

    @property
    def models(self) -> dict[str, str]:
        """Model by role, after a preflight; in a worker, whoever started it made that.

        Raises:
            pytest.UsageError: for the first thing that the run would lack on this machine.
        """
        if self._models is None:
            plan = self.plan
            try:
                self._models = plan.models() if self.membership else plan.preflight()
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
        return self._models

    @property
    def will_run(self) -> bool:
        """Whether samples run in this session, and not only items are collected or planned."""
        option = self._config.option
        return not (option.collectonly or option.setupplan)

    @functools.cached_property
    def directory(self) -> Path:
        """The run's directory: the same in all of its processes. `open` makes it."""
        began = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self.started_at))
        name = "_".join((began, self.plan.policy.name, self.run_id))
        return Path(self.plan.options.log_dir).expanduser().absolute() / name

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
        from control_tower.runners.local import LocalRunner

        keys = keys_to_run(items)
        self._last_holder = {
            key.id: item.nodeid
            for item in items
            if holds(item) and not is_skipped(item) and (key := sample_key(item))
        }
        models = self.models
        most = self.plan.options.max_samples
        self.open()
        member = self.membership
        self.sample_ids = [key.id for key in keys]
        self._known = frozenset(self.sample_ids)
        self._runner = LocalRunner(
            self.plan,
            run_id=self.run_id,
            run_directory=self.directory,
            models=models,
            slots=member.slots(most) if member else most,
            process=self._config.workerinput["workerid"] if member else "main",  # type: ignore[attr-defined]
        )
        self._progress = ProgressLine(self._config, self._runner.progress, self.plan.assertion)
        self._runner.start(keys, held=[key for key in keys if key.id in self._last_holder])
        self.began = True

    @property
    def started(self) -> bool:
        """Whether samples were started in this process."""
        return self._runner is not None

    def knows(self, key: SampleKey) -> bool:
        """Whether the sample is among those that were started here."""
        return key.id in self._known

    def outcomes(self) -> dict[str, Outcome]:
        """By id, of the samples that are over: those of all processes."""
        if self._runner is not None:
            return {outcome.sample_id: outcome for outcome in self._runner.progress().outcomes}
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
        """In a worker: see whether the run is to stop.

        Raises:
            RunStopped: it is; with the reason.
        """
        if self.membership is None:
            return
        reason = self.journal().stop_reason()
        if reason is None and not self.membership.started_by_parent():
            reason = "the process that started this worker has ended"
        if reason is not None:
            raise RunStopped(reason)

    def wait(self, key: SampleKey) -> Outcome:
        """Wait for a sample's end, with a progress line.

        Raises:
            RunStopped: the run is to stop; only in a worker.
        """
        if self._progress is None:
            raise RuntimeError("the control run was not started")
        if key.id in self._last_holder:
            hold = self._progress.wait(self._started().reach(key), meanwhile=self.check_stop)
            if hold is not None and not self._started().outcome(key).done():
                return hold.outcome
        return self._progress.wait(self._started().outcome(key), meanwhile=self.check_stop)

    def live_sandbox(self, key: SampleKey) -> LiveSandbox:
        """The sandbox of a sample that is held.

        Raises:
            SampleProblem: the sample was over before it could be held; with what it came to.
        """
        hold = self._hold(key)
        if hold is None:
            self.judged(key).require_scores()
            raise RuntimeError(f"sample {key.id} is over, and its sandbox is gone")
        return LiveSandbox(hold)

    def let_go(self, key: SampleKey, item: pytest.Item) -> None:
        """After an item: let its sample go, if it is held and no later item looks into it.

        Waits for its clean-up, so that the sandbox is gone when the next item begins.
        """
        if self._last_holder.get(key.id) == item.nodeid:
            self._started().release(key)
            self._started().outcome(key).result()

    def _hold(self, key: SampleKey) -> Hold | None:
        if key.id not in self._last_holder or self._started().outcome(key).done():
            return None
        return self._started().reach(key).result()

    def _now(self, key: SampleKey) -> Outcome:
        """The sample's outcome, as far as it is known while the sample is held."""
        hold = self._hold(key)
        return hold.outcome if hold is not None else self._started().outcome(key).result()

    def require_provisioned(self, key: SampleKey) -> None:
        """Make sure that the last attempt had its sandbox; an earlier one does not count.

        Raises:
            SetupFailed: if it had not.
        """
        outcome = self._now(key)
        if outcome.status == "setup_error":
            raise SetupFailed(setup_report(outcome))

    def judged(self, key: SampleKey) -> ControlOutcome:
        """Wait for the sample's end; its outcome with the run's assertion."""
        return ControlOutcome(self._now(key), self.plan.assertion)

    def stop(self) -> None:
        """End the run and remove its sandboxes; an impatient Ctrl-C is told what is going on."""
        runner = self._started()
        try:
            runner.stop()
        except KeyboardInterrupt:
            self.say(_LEAVING)
            runner.stop()

    def say(self, line: str) -> None:
        """Write a line of its own to the terminal, if there is one."""
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.get_plugin(
            "terminalreporter"
        )
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    def _started(self) -> Runner:
        if self._runner is None:
            raise RuntimeError("the control run was not started")
        return self._runner
