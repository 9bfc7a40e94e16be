"""The samples that run in this process: waiting for them, and looking into those that are held."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.episode.verdict import Assertion
from control_tower.runners.base import Runner
from control_tower.runners.holding import Hold, LiveSandbox
from control_tower.selection import SampleKey
from pytest_control_tower.items import holds, is_skipped, keys_to_run, sample_key
from pytest_control_tower.judging import ControlOutcome, SetupFailed, setup_report
from pytest_control_tower.progress import ProgressLine
from pytest_control_tower.sandbox_news import SandboxNews
from pytest_control_tower.terminal import say

_LEAVING = "control tower: removing the sandboxes; Ctrl-C once more leaves them to the next run"


class RunningSamples:
    """Made from a runner and the items that wait for its samples; `start` starts them.

    Args:
        config: pytest's configuration.
        runner: not started yet.
        items: whose samples it runs.
        assertion: what the run asserts of each.
        check_stop: called now and then while a sample is waited for; what it raises ends that.
        note: keeps a warning of a sandbox for the process that the user started; None where it
            is this one, which shows it.
    """

    def __init__(
        self,
        config: pytest.Config,
        runner: Runner,
        items: Sequence[pytest.Item],
        assertion: Assertion,
        *,
        check_stop: Callable[[], None],
        note: Callable[[str], None] | None,
    ) -> None:
        self._config = config
        self._runner = runner
        self._assertion = assertion
        self._check_stop = check_stop
        self._keys = keys_to_run(items)
        self._known = frozenset(key.id for key in self._keys)
        self._last_holder = {
            key.id: item.nodeid
            for item in items
            if holds(item) and not is_skipped(item) and (key := sample_key(item))
        }
        """By sample id: the last item that looks into the sample's sandbox."""
        self._untold: deque[str] = deque()
        """Lines that other threads want to be told: pytest may capture output when they come."""
        self._progress = ProgressLine(config, runner.progress, assertion)
        self._news = SandboxNews(note or self._untold.append)

    def start(self) -> None:
        """Run the samples in the background of this process."""
        self._news.begin()
        held = [key for key in self._keys if key.id in self._last_holder]
        self._runner.start(self._keys, held=held)

    def knows(self, key: SampleKey) -> bool:
        """Whether the sample is among those that were started here."""
        return key.id in self._known

    def outcomes(self) -> dict[str, Outcome]:
        """By id, of the samples that are over."""
        return {outcome.sample_id: outcome for outcome in self._runner.progress().outcomes}

    def wait(self, key: SampleKey) -> Outcome:
        """Wait for a sample's end, or until it is held, with a progress line.

        Raises:
            RunStopped: the run is to stop; only in a worker.
        """
        ended = self._runner.outcome(key)
        if key.id in self._last_holder:
            hold = self._progress.wait(self._runner.reach(key), meanwhile=self._meanwhile)
            if hold is not None and not ended.done():
                return hold.outcome
        outcome = self._progress.wait(ended, meanwhile=self._meanwhile)
        self._tell()
        return outcome

    def _meanwhile(self) -> None:
        self._tell()
        self._check_stop()

    def _tell(self) -> None:
        """Say what other threads wanted to be told."""
        while self._untold:
            self._progress.clear()
            say(self._config, self._untold.popleft())

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
            self._runner.release(key)
            self._runner.outcome(key).result()

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
        return ControlOutcome(self._now(key), self._assertion)

    def _now(self, key: SampleKey) -> Outcome:
        """The sample's outcome, as far as it is known while the sample is held."""
        hold = self._hold(key)
        return hold.outcome if hold is not None else self._runner.outcome(key).result()

    def _hold(self, key: SampleKey) -> Hold | None:
        if key.id not in self._last_holder or self._runner.outcome(key).done():
            return None
        return self._runner.reach(key).result()

    def stop(self) -> None:
        """End them and remove their sandboxes; an impatient Ctrl-C is told what is going on."""
        try:
            self._runner.stop()
        except KeyboardInterrupt:
            say(self._config, _LEAVING)
            self._runner.stop()
        finally:
            self._news.end()
            self._tell()
