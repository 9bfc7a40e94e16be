"""One request for an assistant turn, and who answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
    from inspect_ai.tool import ToolChoice, ToolInfo


@dataclass(frozen=True)
class Turn:
    """One request for an assistant turn."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolInfo]
    tool_choice: ToolChoice | None = None
    config: GenerateConfig | None = None
    thread: str = "main"
    """Which conversation asks: real agents hold side conversations beside the main one."""
    kind: Literal["action", "utility"] = "action"
    """`utility` turns (titles, summaries, compaction) call no tools: a call in one is taken out."""


Generate: TypeAlias = "Callable[[Turn], Awaitable[ModelOutput]]"
"""Proposes (a policy's) or decides (a protocol's) the next assistant turn."""
