"""Which samples of a run wait, which run, and what those that are over came to."""

from __future__ import annotations

import time
from collections import deque

from control_tower.episode.outcome import Outcome, Status
from control_tower.runners.slots import Slot


class SampleQueue:
    """The samples of one process, in the order in which they begin.

    All but `reach` is for the eval's thread, or for a time when there is none.

    Args:
        most_running: samples at once.
    """

    def __init__(self, most_running: int) -> None:
        self._most_running = most_running
        self.slots: dict[str, Slot] = {}
        """All samples, by id."""
        self.running = 0
        self.outcomes: list[Outcome] = []
        """Of the samples that are over, in order of completion; not of those that were not run."""
        self._waiting: deque[Slot] = deque()
        self._reached: deque[Slot] = deque()
        """Held samples that pytest has come to, from its thread."""
        self._unreached = 0
        """Held samples that it has not come to."""

    def add(self, slot: Slot) -> None:
        """Take a sample in; one that is to be held waits until it is reached."""
        self.slots[slot.key.id] = slot
        if slot.hold is not None:
            self._unreached += 1
        else:
            self._waiting.append(slot)

    def add_finished(self, slot: Slot, outcome: Outcome) -> None:
        """Take in a sample that is over already."""
        self.slots[slot.key.id] = slot
        self.settle(slot, outcome)

    def reach(self, slot: Slot) -> bool:
        """From pytest's thread: let a held sample begin, before all that wait.

        Returns whether it is the first to ask for that.
        """
        if slot.reached:
            return False
        slot.reached = True
        self._reached.append(slot)
        return True

    def next(self) -> Slot | None:
        """Take out the sample that is to begin now; None if there is none, or no room."""
        while self._reached:
            self._unreached -= 1
            self._waiting.appendleft(self._reached.popleft())
        if not self._waiting or self.running >= self._most_running:
            return None
        return self._waiting.popleft()

    def begin(self, slot: Slot) -> None:
        """A sample that was taken out runs from now on."""
        slot.enqueued_at = time.time()
        self.running += 1

    def free(self) -> None:
        """A sample that ran is over, and another has room."""
        self.running -= 1

    @property
    def is_done(self) -> bool:
        """Whether no sample waits, runs, or is still to be reached."""
        return not self._waiting and not self.running and not self._unreached

    def settle(self, slot: Slot, outcome: Outcome) -> None:
        """A sample is over."""
        if outcome.status != "not_run":
            self.outcomes.append(outcome)
        slot.settle(outcome)

    def refuse_waiting(self, reason: str) -> None:
        """Let none begin that has not; those that are held and were not reached stay."""
        while self._waiting:
            slot = self._waiting.popleft()
            self.settle(slot, Outcome(sample_id=slot.key.id, status="not_run", error=reason))

    def end(self, reason: str, *, crashed: bool) -> None:
        """The eval has ended: settle all that is not over.

        Args:
            reason: why it ended.
            crashed: whether it was not asked to end; what ran is errored then, and everything is
                if nothing ever began.
        """
        self._waiting.clear()
        none_began = not any(slot.enqueued_at for slot in self.slots.values())
        for slot in self.slots.values():
            if slot.outcome.done():
                continue
            status: Status = "not_run"
            if crashed and (slot.enqueued_at or none_began):
                status = "errored"
            elif slot.enqueued_at:
                status = "cancelled"
            self.settle(slot, Outcome(sample_id=slot.key.id, status=status, error=reason))
        self.running = 0
