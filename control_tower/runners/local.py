"""Samples in one Inspect eval, in a background thread of this process."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.episode.outcome import Outcome, Status
from control_tower.episode.plan import RunPlan
from control_tower.episode.result import RunFacts, outcome_of, trajectory_of
from control_tower.runners.base import Progress
from control_tower.runners.feed import Feed
from control_tower.runners.holding import Hold
from control_tower.runners.journal import RunJournal
from control_tower.selection import SampleKey, epoch_id
from control_tower.trajectories.store import TrajectoryStore

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

    from control_tower.sandboxes.choice import Provision

_COMMANDS = 4
"""Commands at once for each sample: as many as its containers take to come up, and then some."""
_LET_GO = 120.0
"""Seconds that a held sample gets to be cleaned up and logged when the run is stopped."""


class LocalRunner:
    """Runs up to `--max-samples` samples at once, fed one by one as slots become free.

    The eval is driven from the caller's thread through the loop's `call_soon_threadsafe`;
    Inspect allows one eval a process, so a process has one runner at a time.

    Args:
        plan: what to run, and with what.
        run_id: of the run, which several processes may share.
        run_directory: where logs, trajectories and the journal go.
        models: by role.
        slots: samples at once in this process.
        process: what the journal calls this process.
    """

    def __init__(
        self,
        plan: RunPlan,
        *,
        run_id: str,
        run_directory: Path,
        models: Mapping[str, str],
        slots: int,
        process: str = "main",
    ) -> None:
        self._plan = plan
        self._max_running = slots
        self._journal = RunJournal(run_directory, process)
        self._task_name = "control" if process == "main" else f"control-{process}"
        self._facts = RunFacts(plan=plan, run_id=run_id, models=models)
        self._models = dict(models)
        self._run_directory = run_directory
        self._store = TrajectoryStore(run_directory)
        self._slots: dict[str, _Slot] = {}
        self._waiting: deque[_Slot] = deque()
        self._reached: deque[_Slot] = deque()
        """Held samples that pytest has come to, from its thread."""
        self._unreached = 0
        """Held samples that it has not come to."""
        self._running = 0
        self._outcomes: list[Outcome] = []
        self._closing = False
        self._feed: Feed | None = None
        self._thread: threading.Thread | None = None
        self._log: Path | None = None
        """The eval's log, once it was seen: asked for at each sample."""
        self._preparing = ""
        self._froze = False
        self._sandboxes: Mapping[str, Provision] = {}
        """By environment id."""

    @property
    def run_directory(self) -> Path:
        """Where logs and trajectories of the run are."""
        return self._run_directory

    def start(self, keys: Sequence[SampleKey], *, held: Collection[SampleKey] = ()) -> None:
        """Begin with the samples of `keys`, in that order; returns at once.

        Those in `held` begin when they are reached, and wait once they are scored.
        """
        if self._thread is not None:
            raise RuntimeError("the runner was started before")
        self._run_directory.mkdir(parents=True, exist_ok=True)
        history = self._journal.history()
        to_hold = {key.id for key in held}
        for key in keys:
            if key.id not in self._slots:
                self._slots[key.id] = slot = _Slot(key, lost=history.started.get(key.id, 0))
                if key.id in to_hold:
                    slot.hold = Future()
                    self._unreached += 1
                elif key.id in history.finished:  # by a worker that this one follows
                    self._settle(slot, history.finished[key.id])
                else:
                    self._waiting.append(slot)
        self._journal.opened()
        self._thread = threading.Thread(target=self._run, name="control-tower-eval", daemon=True)
        self._thread.start()

    def provisioned(self, key: SampleKey) -> Future[bool]:
        """Done when the sample's sandbox is ready (True), or it ended without (False)."""
        return self._slots[key.id].provisioned

    def outcome(self, key: SampleKey) -> Future[Outcome]:
        """Done when the sample is over, its sandbox removed."""
        return self._slots[key.id].outcome

    def reach(self, key: SampleKey) -> Future[Hold | None]:
        """Begin with a held sample; done when it waits, scored, or is over without."""
        slot = self._slots[key.id]
        if slot.hold is None:
            raise ValueError(f"sample {key.id} was not to be held")
        if not slot.reached:
            slot.reached = True
            self._reached.append(slot)
            if self._feed is not None:
                self._feed.look_again()
        return slot.hold

    def release(self, key: SampleKey) -> None:
        """Let a held sample go on to its clean-up."""
        hold = self._slots[key.id].hold
        if hold is not None and hold.done() and (held := hold.result()) is not None:
            held.release()

    def progress(self) -> Progress:
        """A snapshot for a progress line."""
        return Progress(len(self._slots), self._running, tuple(self._outcomes), self._preparing)

    def stop(self) -> None:
        """End the run: nothing more starts, what runs is cancelled, sandboxes are removed."""
        thread = self._thread
        if thread is None:
            return
        self._closing = True  # first: what is let go must not make room for others
        self._let_go()
        if self._feed is not None:
            self._feed.close()
        thread.join()

    def _let_go(self) -> None:
        """Release what is held, and wait for its end: a sample cancelled in it leaves no log."""
        held = [slot for slot in self._slots.values() if slot.holds]
        for slot in held:
            self.release(slot.key)
        wait([slot.outcome for slot in held], timeout=_LET_GO)

    def _run(self) -> None:
        """The thread: one eval, then every pending future is resolved."""
        end = "the eval ended early"
        try:
            left = [slot.key for slot in self._slots.values() if not slot.outcome.done()]
            environments = {
                key.combination.environment.id: key.combination.environment for key in left
            }
            self._preparing = self._plan.sandbox.provides
            self._sandboxes = self._plan.sandbox.provide(
                environments.values(), stopped=lambda: self._closing
            )
            self._preparing = ""
            log = asyncio.run(self._evaluate())
            if log is not None and log.error is not None:
                end = f"{end}: {log.error.message}"
        except BaseException as error:  # recorded: every waiting item shows it
            end = f"the eval crashed: {type(error).__name__}: {error}"
        finally:
            if self._froze:
                gc.unfreeze()
            if self._closing:
                end = "the run was stopped"
            self._resolve_pending(end, crashed=not self._closing)
            self._journal.closed()

    async def _evaluate(self) -> EvalLog | None:
        from inspect_ai import eval_async

        from control_tower._inspect_compat import silence_display
        from control_tower.episode.task import build_task

        silence_display()
        # What is loaded by now, libraries mostly, need not be looked through again and again.
        self._froze = gc.get_freeze_count() == 0
        if self._froze:
            gc.freeze()
        self._feed = Feed(self._feed_free_slots, self._complete)
        if self._closing:
            return None
        logs = await eval_async(
            build_task(
                self._plan,
                self._feed.source(),
                self._mark_provisioned,
                self._hold,
                name=self._task_name,
            ),
            model=None,
            model_roles=dict(self._models),
            log_dir=str(self._run_directory),
            log_format="eval",
            log_realtime=False,
            log_buffer=_log_buffer(len(self._slots)),
            fail_on_error=False,
            retry_on_error=self._plan.options.retry_on_error,
            max_samples=self._max_running,
            max_subprocesses=_COMMANDS * self._max_running,
            score_display=False,
            ctl_server=False,
            metadata={"run_id": self._facts.run_id},
        )
        return logs[0] if logs else None

    def _feed_free_slots(self, feed: Feed) -> None:
        """In the loop: give free slots to the samples that wait longest."""
        from control_tower.episode.task import inspect_sample

        while self._reached:
            self._unreached -= 1
            self._waiting.appendleft(self._reached.popleft())
        while not self._closing and self._waiting and self._running < self._max_running:
            slot = self._waiting.popleft()
            try:
                self._journal.started(slot.key.id)
            except OSError as error:
                self._settle(slot, self._not_kept(slot, error))
                continue
            slot.enqueued_at = time.time()
            self._running += 1
            sandbox = self._sandboxes[slot.key.combination.environment.id]
            feed.enqueue(inspect_sample(slot.key, sandbox.spec), slot.key.epoch)
        if not self._waiting and not self._running and not self._unreached:
            feed.finish()

    def _complete(self, sample: EvalSample) -> None:
        """In the loop: a sample is over, its sandbox gone."""
        slot = self._slots[epoch_id(str(sample.id), sample.epoch)]
        self._running -= 1
        try:
            outcome = self._kept(sample, slot)
            if outcome.status != "cancelled":
                self._journal.finished(outcome)
        except Exception as error:  # recorded: one sample's bookkeeping must not end the others
            outcome = self._not_kept(slot, error)
        if outcome.stops_the_run and self._stops_at_errors:
            self._refuse_waiting("not run: an earlier sample errored")
        self._settle(slot, outcome)

    def _not_kept(self, slot: _Slot, error: Exception) -> Outcome:
        problem = (
            f"its outcome could not be kept in {self._run_directory}: "
            f"{type(error).__name__}: {error}"
        )
        return Outcome(sample_id=slot.key.id, status="errored", error=problem)

    def _kept(self, sample: EvalSample, slot: _Slot) -> Outcome:
        """The outcome, after its trajectory was written."""
        outcome = outcome_of(
            sample, slot.key, self._facts, enqueued_at=slot.enqueued_at, lost=slot.lost
        )
        log = self._log_file()
        trajectory = trajectory_of(
            sample, slot.key, self._facts, outcome, log=log.name if log else None
        )
        path = self._store.write(trajectory, sample_id=slot.key.id)
        environment = slot.key.combination.environment.id
        return outcome.model_copy(
            update={
                "log": str(log or self._run_directory),
                "trajectory": str(path),
                "environment_failed": self._sandboxes[environment].problem is not None,
            }
        )

    @property
    def _stops_at_errors(self) -> bool:
        return not self._plan.options.no_fail_on_error

    def _refuse_waiting(self, reason: str) -> None:
        while self._waiting:
            slot = self._waiting.popleft()
            self._settle(
                slot, Outcome(sample_id=slot.key.id, status="not_run", error=reason), counts=False
            )

    def _settle(self, slot: _Slot, outcome: Outcome, *, counts: bool = True) -> None:
        if counts:
            self._outcomes.append(outcome)
        if not slot.provisioned.done():
            slot.provisioned.set_result(False)
        slot.outcome.set_result(outcome)
        if slot.hold is not None and not slot.hold.done():
            slot.hold.set_result(None)

    def _mark_provisioned(self, sample_id: str) -> None:
        slot = self._slots[sample_id]
        slot.provisionings += 1
        if not slot.provisioned.done():  # a retried sample is provisioned more than once
            slot.provisioned.set_result(True)

    async def _hold(self, outcome: Outcome) -> None:
        """In the eval: keep a sample that is to be held until it is released."""
        slot = self._slots[outcome.sample_id]
        if slot.hold is None or slot.hold.done() or self._closing:
            return
        known = outcome.model_copy(update={"attempts": slot.lost + slot.provisionings})
        hold = Hold(known, lambda: self._journal.stop_reason() is not None)
        slot.hold.set_result(hold)
        if self._closing:  # whoever stops may have looked for held samples just before
            hold.release()
        await hold.serve()

    def _resolve_pending(self, reason: str, *, crashed: bool) -> None:
        self._waiting.clear()
        none_began = not any(slot.enqueued_at for slot in self._slots.values())
        for slot in self._slots.values():
            if slot.outcome.done():
                continue
            status: Status = "not_run"
            if crashed and (slot.enqueued_at or none_began):
                status = "errored"
            elif slot.enqueued_at:
                status = "cancelled"
            self._settle(
                slot,
                Outcome(sample_id=slot.key.id, status=status, error=reason),
                counts=status != "not_run",
            )
        self._running = 0

    def _log_file(self) -> Path | None:
        if self._log is None:
            self._log = next(
                iter(sorted(self._run_directory.glob(f"*_{self._task_name}_*.eval"))), None
            )
        return self._log


def _log_buffer(samples: int) -> int:
    """Finished samples between two writes of the log: Inspect's own rule, which it cannot apply
    to a data set that is empty at the start. Trajectories are written one by one."""
    return max(1, min(samples // 3, 10))


class _Slot:
    """A sample and what is promised about it."""

    def __init__(self, key: SampleKey, *, lost: int) -> None:
        self.key = key
        self.lost = lost
        """Attempts that ended with the processes that made them."""
        self.enqueued_at = 0.0
        self.provisionings = 0
        """How many of its attempts in this process had their sandbox."""
        self.provisioned: Future[bool] = Future()
        self.outcome: Future[Outcome] = Future()
        self.hold: Future[Hold | None] | None = None
        """None: not to be held."""
        self.reached = False

    @property
    def holds(self) -> bool:
        """Whether the sample waits, scored, to be released."""
        done = self.hold is not None and self.hold.done() and not self.outcome.done()
        return done and self.hold is not None and self.hold.result() is not None
