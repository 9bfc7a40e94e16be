"""Where programs are looked for that must not be the agent's."""

from __future__ import annotations

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The system's own folders, which only root can write; an image's path may hold others."""
