"""Samples in one Inspect eval, in a background thread of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.episode.outcome import Outcome
from control_tower.episode.plan import RunPlan
from control_tower.episode.run_facts import RunFacts
from control_tower.models import RoleModels
from control_tower.runners.base import Progress
from control_tower.runners.evaluating import EvalSettings, evaluate, prepare_inspect
from control_tower.runners.feed import Feed
from control_tower.runners.holding import Hold
from control_tower.runners.journal import RunJournal
from control_tower.runners.keeping import Keeper
from control_tower.runners.queue import SampleQueue
from control_tower.runners.slots import Slot
from control_tower.selection import SampleKey, epoch_id

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

    from control_tower.sandboxes.chosen import Provision

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
        connections: most at once to a model's API in this process; None leaves it to Inspect.
        process: what the journal calls this process.
    """

    def __init__(
        self,
        plan: RunPlan,
        *,
        run_id: str,
        run_directory: Path,
        models: RoleModels,
        slots: int,
        connections: int | None = None,
        process: str = "main",
    ) -> None:
        self._plan = plan
        self._run_id = run_id
        self._run_directory = run_directory
        self._models = models
        self._at_once = slots
        self._connections = connections
        self._task_name = "control" if process == "main" else f"control-{process}"
        self._journal = RunJournal(run_directory, process)
        facts = RunFacts(plan=plan, run_id=run_id, models=models)
        self._keeper = Keeper(facts, run_directory, self._task_name)
        self._queue = SampleQueue(slots)
        self._closing = False
        self._feed: Feed | None = None
        self._thread: threading.Thread | None = None
        self._preparing = ""
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
            if key.id in self._queue.slots:
                continue
            slot = Slot(key, lost=history.started.get(key.id, 0), held=key.id in to_hold)
            if slot.hold is None and key.id in history.finished:  # by a worker that this follows
                self._queue.add_finished(slot, history.finished[key.id])
            else:
                self._queue.add(slot)
        self._journal.opened()
        self._thread = threading.Thread(target=self._run, name="control-tower-eval", daemon=True)
        self._thread.start()

    def provisioned(self, key: SampleKey) -> Future[bool]:
        """Done when the sample's sandbox is ready (True), or it ended without (False)."""
        return self._slot(key).provisioned

    def outcome(self, key: SampleKey) -> Future[Outcome]:
        """Done when the sample is over, its sandbox removed."""
        return self._slot(key).outcome

    def reach(self, key: SampleKey) -> Future[Hold | None]:
        """Begin with a held sample; done when it waits, scored, or is over without."""
        slot = self._slot(key)
        if slot.hold is None:
            raise ValueError(f"sample {key.id} was not to be held")
        if self._queue.reach(slot) and self._feed is not None:
            self._feed.look_again()
        return slot.hold

    def release(self, key: SampleKey) -> None:
        """Let a held sample go on to its clean-up."""
        self._slot(key).release()

    def progress(self) -> Progress:
        """A snapshot for a progress line."""
        queue = self._queue
        return Progress(len(queue.slots), queue.running, tuple(queue.outcomes), self._preparing)

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

    def _slot(self, key: SampleKey) -> Slot:
        return self._queue.slots[key.id]

    def _let_go(self) -> None:
        """Release what is held, and wait for its end: a sample cancelled in it leaves no log."""
        held = [slot for slot in self._queue.slots.values() if slot.holds]
        for slot in held:
            slot.release()
        wait([slot.outcome for slot in held], timeout=_LET_GO)

    def _run(self) -> None:
        """The thread: one eval, then every pending future is resolved."""
        end = "the eval ended early"
        try:
            self._provide()
            log = asyncio.run(self._evaluate())
            if log is not None and log.error is not None:
                end = f"{end}: {log.error.message}"
        except BaseException as error:  # recorded: every waiting item shows it
            end = f"the eval crashed: {type(error).__name__}: {error}"
        finally:
            if self._closing:
                end = "the run was stopped"
            self._queue.end(end, crashed=not self._closing)
            self._journal.closed()

    def _provide(self) -> None:
        """Get ready what the sandboxes of the samples are made from."""
        left = [slot.key for slot in self._queue.slots.values() if not slot.outcome.done()]
        environments = {key.combination.environment.id: key.combination.environment for key in left}
        self._preparing = self._plan.sandbox.provides
        self._sandboxes = self._plan.sandbox.provide(
            environments.values(), stopped=lambda: self._closing
        )
        self._preparing = ""

    async def _evaluate(self) -> EvalLog | None:
        from control_tower.episode.task import build_task

        prepare_inspect()
        self._feed = Feed(self._feed_free_slots, self._complete)
        if self._closing:
            return None
        task = build_task(
            self._plan,
            self._feed.source(),
            self._mark_provisioned,
            self._hold,
            name=self._task_name,
        )
        settings = EvalSettings(
            run_id=self._run_id,
            log_dir=self._run_directory,
            models=self._models,
            connections=self._connections,
            at_once=self._at_once,
            samples=len(self._queue.slots),
            retries=self._plan.options.retry_on_error,
            tags=self._plan.options.tag,
        )
        return await evaluate(task, settings)

    def _feed_free_slots(self, feed: Feed) -> None:
        """In the loop: give free slots to the samples that wait longest."""
        from control_tower.episode.task import inspect_sample

        while not self._closing and (slot := self._queue.next()) is not None:
            try:
                self._journal.started(slot.key.id)
            except OSError as error:
                self._queue.settle(slot, self._keeper.not_kept(slot, error))
                continue
            self._queue.begin(slot)
            sandbox = self._sandboxes[slot.key.combination.environment.id]
            sample = inspect_sample(slot.key, sandbox.spec, run_id=self._run_id)
            feed.enqueue(sample, slot.key.epoch)
        if self._queue.is_done:
            feed.finish()

    def _complete(self, sample: EvalSample) -> None:
        """In the loop: a sample is over, its sandbox gone."""
        slot = self._queue.slots[epoch_id(str(sample.id), sample.epoch)]
        self._queue.free()
        sandbox = self._sandboxes[slot.key.combination.environment.id]
        try:
            outcome = self._keeper.keep(
                sample, slot, environment_failed=sandbox.problem is not None
            )
            if outcome.status != "cancelled":
                self._journal.finished(outcome)
        except Exception as error:  # recorded: one sample's bookkeeping must not end the others
            outcome = self._keeper.not_kept(slot, error)
        if outcome.stops_the_run and not self._plan.options.no_fail_on_error:
            self._queue.refuse_waiting("not run: an earlier sample errored")
        self._queue.settle(slot, outcome)

    def _mark_provisioned(self, sample_id: str) -> None:
        self._queue.slots[sample_id].mark_provisioned()

    async def _hold(self, outcome: Outcome) -> None:
        """In the eval: keep a sample that is to be held until it is released."""
        slot = self._queue.slots[outcome.sample_id]
        if slot.hold is None or slot.hold.done() or self._closing:
            return
        known = outcome.model_copy(update={"attempts": slot.lost + slot.provisionings})
        hold = Hold(known, lambda: self._journal.stop_reason() is not None)
        slot.hold.set_result(hold)
        if self._closing:  # whoever stops may have looked for held samples just before
            hold.release()
        await hold.serve()
