"""What is known of the tools that an agent has, without importing Inspect."""

from __future__ import annotations

SUBMIT = "submit"
"""Name of the tool that ends the agent's loop; the harness stops when a call of it succeeds."""
AGENT_TOOLS = ("bash", "editor", SUBMIT)
"""Of `control_tower.tools.agent`."""
USUAL_TIMEOUT = 180
"""Seconds that a command gets of which `bash` is told no time."""
LONGEST_TIMEOUT = 1200
"""Seconds that a command can be given."""
