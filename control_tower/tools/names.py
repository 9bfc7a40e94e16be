"""Names of the tools that an agent has, known without importing Inspect."""

from __future__ import annotations

SUBMIT = "submit"
"""Name of the tool that ends the agent's loop; the harness stops when a call of it succeeds."""
AGENT_TOOLS = ("bash", "editor", SUBMIT)
"""Of `control_tower.tools.agent`."""
