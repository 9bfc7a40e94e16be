"""Tool definitions, each worked out once: Inspect parses signature and docstring anew."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import cast

from inspect_ai.tool import Tool, ToolDef


def definition(tool: Tool) -> ToolDef:
    """The tool's name, description and parameters, as Inspect sees them."""
    return _definition(cast(Hashable, tool))  # tools are functions, which mypy does not see


@lru_cache(maxsize=256)
def _definition(tool: Hashable) -> ToolDef:
    return ToolDef(cast(Tool, tool))
