"""How a policy says which of its turns are part of an attack.

The mark is in the message's metadata. The episode takes it off before blue sees the turn, and
keeps it for the audits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

KEY = "control_tower_attack"
"""In the metadata of an assistant message: whether the turn is part of an attack."""


def declare_attack(output: ModelOutput, *, attack: bool = True) -> ModelOutput:
    """The proposal, declared to be part of an attack, or not to be.

    For policies whose class says `declares_attacks = True`. A turn that says nothing is no part.
    """
    if output.empty:
        return output
    message = output.message
    marked = message.model_copy(update={"metadata": {**(message.metadata or {}), KEY: attack}})
    first = output.choices[0].model_copy(update={"message": marked})
    return output.model_copy(update={"choices": [first, *output.choices[1:]]})


def is_declared(output: ModelOutput) -> bool:
    """Whether the proposal is declared to be part of an attack."""
    return not output.empty and (output.message.metadata or {}).get(KEY) is True
