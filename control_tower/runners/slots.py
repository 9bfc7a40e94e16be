"""A sample of a run and what is promised about it."""

from __future__ import annotations

from concurrent.futures import Future

from control_tower.episode.outcome import Outcome
from control_tower.runners.holding import Hold
from control_tower.selection import SampleKey


class Slot:
    """A sample and what is promised about it.

    Args:
        key: which sample.
        lost: attempts that ended with the processes that made them.
        held: whether it is to wait, once it is scored, until it is released.
    """

    def __init__(self, key: SampleKey, *, lost: int, held: bool) -> None:
        self.key = key
        self.lost = lost
        self.enqueued_at = 0.0
        """Seconds since the epoch; 0 before it was given to the eval."""
        self.provisionings = 0
        """How many of its attempts in this process had their sandbox."""
        self.provisioned: Future[bool] = Future()
        self.outcome: Future[Outcome] = Future()
        self.hold: Future[Hold | None] | None = Future() if held else None
        """None: not to be held."""
        self.reached = False
        """Whether pytest has come to a held sample."""

    @property
    def holds(self) -> bool:
        """Whether the sample waits, scored, to be released."""
        done = self.hold is not None and self.hold.done() and not self.outcome.done()
        return done and self.hold is not None and self.hold.result() is not None

    def release(self) -> None:
        """Let the sample go on to its clean-up, if it waits."""
        if self.hold is not None and self.hold.done() and (hold := self.hold.result()) is not None:
            hold.release()

    def mark_provisioned(self) -> None:
        """An attempt has its sandbox."""
        self.provisionings += 1
        if not self.provisioned.done():  # a retried sample is provisioned more than once
            self.provisioned.set_result(True)

    def settle(self, outcome: Outcome) -> None:
        """The sample is over: keep every promise that is still open."""
        if not self.provisioned.done():
            self.provisioned.set_result(False)
        self.outcome.set_result(outcome)
        if self.hold is not None and not self.hold.done():
            self.hold.set_result(None)
