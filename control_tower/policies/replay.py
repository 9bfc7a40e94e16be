"""The `replay` policy: makes the calls of a recorded run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from control_tower import scripted
from control_tower.components import policy
from control_tower.contracts import Policy, RedContext, Turn

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.trajectories.schema import Action, Trajectory

_MODEL = "scripted/replay"


@policy(
    modes=["honest", "attack"],
    asserts="as-the-mode-says",
    needs=["linear_history"],
    scores_main_on_attack=True,
    replays=True,
)
def replay(trajectory: str = "", stop_after: int | None = None) -> Policy:
    """Make the calls of a recorded trajectory again, turn by turn, then submit.

    No model is called. What was one message is one again, and turns that the recorded policy
    declared part of its attack are declared again. The next turn is the one after those of which
    something was executed so far: a turn that the protocol rejected is proposed again.

    Args:
        trajectory: what to replay in every sample: an id, a file, or an Inspect log with one
            sample. Without it, each sample replays the trajectory that it was selected with.
        stop_after: submit after this many recorded actions.

    Raises:
        ValueError: `stop_after` is negative.
    """
    if stop_after is not None and stop_after < 0:
        raise ValueError(f"stop_after of 'replay' cannot be negative (given {stop_after})")
    return ReplayPolicy(stop_after)


class ReplayPolicy(Policy):
    """See `replay`."""

    def __init__(self, stop_after: int | None) -> None:
        self._stop_after = stop_after
        self._recording: Trajectory | None = None
        self._history: Sequence[Action] = ()
        self._declared: frozenset[int] = frozenset()

    async def setup(self, context: RedContext) -> None:
        """Take the recording.

        Raises:
            RuntimeError: the sample has none.
        """
        recording = context.recording
        if recording is None:
            raise RuntimeError("the sample has no recording to replay")
        self._recording = recording
        self._history = context.history
        self._declared = frozenset(recording.declared_attacks or ())
        self.declares_attacks = recording.declared_attacks is not None

    async def generate(self, turn: Turn) -> ModelOutput:
        """The recorded turn after what was executed; the submission after the last."""
        assert self._recording is not None  # `setup` took it
        if turn.kind == "utility":
            return scripted.say("", model=_MODEL)
        turns = turns_of(self._recording.actions[: self._stop_after])
        done = len(turns_of(self._history))
        if done >= len(turns):
            return scripted.submit(self._recording.final_message, model=_MODEL)
        calls = turns[done]
        return scripted.calls(
            *((action.function, action.arguments) for action in calls),
            text=calls[0].agent_reasoning or "",
            model=_MODEL,
            attack=calls[0].turn in self._declared,
        )


def turns_of(actions: Sequence[Action]) -> list[list[Action]]:
    """The actions by the messages that made them; one a message, where that is not known."""
    turns: list[list[Action]] = []
    for action in actions:
        if turns and action.turn is not None and turns[-1][0].turn == action.turn:
            turns[-1].append(action)
        else:
            turns.append([action])
    return turns
