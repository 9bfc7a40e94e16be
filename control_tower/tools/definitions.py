"""Tool definitions, worked out once a tool: Inspect parses a tool's signature and docstring anew."""

from __future__ import annotations

from functools import lru_cache

from inspect_ai.tool import Tool, ToolDef


@lru_cache(maxsize=256)
def definition(tool: Tool) -> ToolDef:
    """The tool's name, description and parameters, as Inspect sees them."""
    return ToolDef(tool)
