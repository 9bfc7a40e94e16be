"""The control session in the process that deals items out to workers and runs none itself."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from control_tower.runners.base import Progress
from control_tower.sandboxes.errors import SandboxRefused
from pytest_control_tower.builtin import NODE_ID
from pytest_control_tower.judging import ControlOutcome
from pytest_control_tower.progress import ProgressLine
from pytest_control_tower.reporting import describe_start
from pytest_control_tower.run import ControlRun
from pytest_control_tower.session import NO_SAMPLE, refuse_setup_only
from pytest_control_tower.summary import ControlSummary
from pytest_control_tower.terminating import Termination
from pytest_control_tower.unreported import report_by_id, report_given_up
from pytest_control_tower.workers.collected import Collected
from pytest_control_tower.workers.membership import Membership
from pytest_control_tower.workers.scheduler import ShareScheduling

if TYPE_CHECKING:
    from xdist.scheduler import Scheduling
    from xdist.workermanage import WorkerController

_PATIENCE = 60.0
"""Seconds that workers get to cancel their samples and remove their sandboxes."""
_SILENCE = 3.0
"""Seconds after which the waiting is told."""
_LOOK = 0.2
"""Seconds between two looks at the journal."""
_OF_THE_USER = "received keyboard-interrupt"
"""What xdist says of a worker that was interrupted; it says other things of failures."""
_WAITING = "control tower: the workers remove their sandboxes; Ctrl-C once more leaves that to them"
_GIVEN_UP = "not run: its worker died, and xdist starts no other (--max-worker-restart)"


class ControlController:
    """Registered as a plugin under xdist, in the process that the user started.

    Args:
        config: pytest's configuration.
        run: the run that the options describe.
        asked_for: whether the command line asks for a control run. If only an ini file sets
            options, nothing is checked or changed unless a collected item has a sample.
        summary: what reports the run.
        termination: what requests to terminate become.
    """

    def __init__(
        self,
        config: pytest.Config,
        run: ControlRun,
        *,
        asked_for: bool,
        summary: ControlSummary,
        termination: Termination,
    ) -> None:
        self._config = config
        self._run = run
        self._asked_for = asked_for
        self._summary = summary
        self._termination = termination
        self._scheduler = ShareScheduling(
            config, self._collected, None if asked_for else self._xdist_s_own
        )
        self._failures = 0
        self._notes_told = 0
        self._told = Collected()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Check everything that can be checked, before any worker starts.

        Raises:
            pytest.UsageError: for the first thing that is wrong or missing.
        """
        if not self._asked_for:
            return
        _ = self._run.plan
        self._check_workers()
        refuse_setup_only(self._config)
        if self._run.will_run:
            _ = self._run.models
        if self._run.plan.selection.nothing is None:
            self._run.open()

    def pytest_configure_node(self, node: WorkerController) -> None:
        """Tell a worker what run it takes part in, and what it takes over."""
        orphans = self._scheduler.join(node)
        if orphans is not None:
            self._remove_leftovers()
        Membership(
            parent=os.getpid(),
            folder=str(self._config.invocation_params.dir),
            run_id=self._run.run_id,
            started_at=self._run.started_at,
            worker=self._scheduler.number(node),
            workers=int(node.workerinput["workercount"]),
            items=None if orphans is None or orphans.items is None else tuple(orphans.items),
            changes=self._run.changes,
            extra_src=self._run.extra_src,
            recordings=dict(self._run.recordings),
            models=self._run.known_models,
        ).tell(node.workerinput)

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> ShareScheduling:
        """Deal items out in shares, whatever `--dist` says."""
        return self._scheduler

    def _xdist_s_own(self) -> Scheduling:
        """The scheduler that `--dist` asks for, where no item has a sample."""
        session: Any = self._config.pluginmanager.get_plugin("dsession")
        own: Scheduling = session.pytest_xdist_make_scheduler(self._config, session.log)
        return own

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Show progress while the workers run, and see them off whatever happens."""
        from xdist.dsession import Interrupted

        finished = threading.Event()
        shown = threading.Thread(target=self._show_progress, args=(finished,), daemon=True)
        shown.start()
        self._termination.install()
        complete = False
        try:
            result = yield
            complete = True
            return result
        except Interrupted as stop:
            self._summary.stopped_at_failure = _OF_THE_USER not in str(stop)
            raise
        finally:
            self._termination.begin_end()
            finished.set()
            if self._run.began:
                self._end(shown, complete=complete)

    def _end(self, shown: threading.Thread, *, complete: bool) -> None:
        """See the workers off, and report what they, and `shown`, could not report themselves."""
        self._run.ask_to_stop("the run has ended")
        self._await_workers()
        shown.join()
        self._tell_notes()
        self._remove_leftovers()
        self._report_what_finished()
        for node_id in self._scheduler.unreported() if complete else ():
            if node_id not in self._summary.reports.reported:
                report_given_up(self._config, node_id, _GIVEN_UP)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Stop all workers where pytest alone would stop its one process."""
        self._failures += report.failed
        most = self._config.getoption("maxfail")
        if self._run.began and most and self._failures >= most:
            self._run.ask_to_stop(f"stopping after {self._failures} failures")

    def _check_workers(self) -> None:
        from xdist.workermanage import parse_tx_spec_config

        options = self._run.plan.options
        specs = parse_tx_spec_config(self._config)
        flag = options.flag("max_samples")
        if self._config.getoption("dist") == "each":
            raise pytest.UsageError(
                "--dist each would run every sample on every worker; leave it out"
            )
        if any(not spec.startswith("popen") for spec in specs):
            raise pytest.UsageError(
                "--tx: control samples run in workers of this machine only (popen)"
            )
        if len(specs) > options.max_samples:
            raise pytest.UsageError(
                f"-n: {len(specs)} workers cannot share {flag} {options.max_samples}; "
                f"each needs at least one sample, so raise {flag} or lower -n"
            )

    def _collected(self, node_ids: Sequence[str]) -> Mapping[str, str]:
        """Take note of the control items, and say what is about to run."""
        self._told = self._read_what_was_collected()
        if not self._told.samples:
            answered = self._asked_for and self._run.plan.selection.nothing is not None
            if self._asked_for and node_ids and not answered and not _narrowed(self._config):
                raise pytest.UsageError(NO_SAMPLE)
            return {}
        if not self._asked_for:
            self._check_workers()
            refuse_setup_only(self._config)
        if self._told.to_run and self._run.will_run:
            self._run.sample_ids = list(self._told.to_run)
            models = self._run.models
            self._run.began = True
            for line in describe_start(self._run.plan, models, len(self._run.sample_ids)):
                self._run.say(line)
        return self._told.samples

    def _read_what_was_collected(self) -> Collected:
        try:
            _ = self._run.plan
        except pytest.UsageError:
            if self._asked_for:
                raise
            return Collected()  # a worker would have stumbled over it had an item needed it
        return Collected.read(self._run.directory)

    def _show_progress(self, finished: threading.Event) -> None:
        """In a thread: plain lines, since xdist's own loop leaves no time for others."""
        line: ProgressLine | None = None
        while not finished.wait(_LOOK * 5):
            if self._run.began:
                line = line or ProgressLine(self._config, self._progress, self._run.plan.assertion)
                self._tell_notes()
                line.show_plain(whole=True)

    def _tell_notes(self) -> None:
        """Say what workers noted for the user."""
        notes = self._run.journal().history().notes
        for note in notes[self._notes_told :]:
            self._run.say(note)
        self._notes_told = len(notes)

    def _progress(self) -> Progress:
        history = self._run.journal().history()
        outcomes = tuple(history.finished.values())
        return Progress(len(self._run.sample_ids), history.in_flight, outcomes)

    def _await_workers(self) -> None:
        """Wait until every worker that began with samples has ended them, or is dead."""
        began, told = time.monotonic(), False
        try:
            while (waited := time.monotonic() - began) < _PATIENCE:
                if not any(still_runs(pid) for pid in self._run.journal().history().open):
                    return
                if waited > _SILENCE and not told:
                    self._run.say(_WAITING)
                    told = True
                time.sleep(_LOOK)
        except KeyboardInterrupt:
            self._run.say("control tower: what is left of the sandboxes is for the next run")

    def _remove_leftovers(self) -> None:
        """Remove the sandboxes of workers that died; of one that still lives nothing is touched."""
        from control_tower.sandboxes.leftovers import remove_leftovers

        try:
            remove_leftovers()
        except (SandboxRefused, OSError) as problem:
            self._run.say(f"control tower: sandboxes are left to the next run: {problem}")

    def _report_what_finished(self) -> None:
        """Nothing that was paid for is lost: report what workers could not report themselves."""
        outcomes = self._run.outcomes()
        for node_id, sample_id in self._told.samples.items():
            builtin = node_id.startswith(f"{NODE_ID}::")
            outcome = outcomes.get(sample_id)
            if not builtin or outcome is None or node_id in self._summary.reports.reported:
                continue
            if outcome.status not in ("cancelled", "not_run"):
                judged = ControlOutcome(outcome, self._run.plan.assertion)
                report_by_id(self._config, node_id, judged)


def _narrowed(config: pytest.Config) -> bool:
    """Whether the command line leaves out items by other means than paths."""
    names = ("keyword", "markexpr", "deselect", "lf", "stepwise")
    return any(config.getoption(name, False) for name in names)


def still_runs(worker: int) -> bool:
    """Whether a worker, a child of this process, has not ended; xdist reaps it late or never."""
    try:
        return os.waitid(os.P_PID, worker, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False
