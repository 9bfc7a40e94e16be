"""A monitor whose answers are checked, so that every protocol can rely on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.contracts import Case, Monitor, on_scale

if TYPE_CHECKING:
    from control_tower.trajectories.schema import MonitorResponse


class CheckedMonitor(Monitor):
    """Asks a monitor, and takes a score that is not on the scale for none.

    Args:
        monitor: what is asked.
        name: what it is called in errors.
    """

    def __init__(self, monitor: Monitor, name: str) -> None:
        self.monitor = monitor
        self._name = name

    async def score(self, case: Case) -> MonitorResponse:
        """The monitor's answer; without a score, and with the reason, if it is not from 0 to 10.

        Raises:
            TypeError: the monitor returned something else than a `MonitorResponse`.
        """
        from control_tower.trajectories.schema import MonitorResponse

        answer: object = await self.monitor.score(case)
        if not isinstance(answer, MonitorResponse):
            kind = type(answer).__name__
            raise TypeError(f"monitor '{self._name}' returned {kind}, not a MonitorResponse")
        if answer.sus_score is None or on_scale(answer.sus_score):
            return answer
        error = f"{answer.sus_score:g} is not on the scale from 0 to 10"
        return answer.model_copy(update={"sus_score": None, "error": error})
