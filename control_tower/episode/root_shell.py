"""Blue's way to run commands as root beside the agent."""

from __future__ import annotations

from collections.abc import Sequence

from control_tower.sandboxes.system_path import SYSTEM_PATH

_TIMEOUT = 60
"""Seconds for one command."""
_PATH = {"PATH": SYSTEM_PATH}


async def root_shell(command: Sequence[str]) -> str:
    """Run a command as root in the agent's container; its standard output.

    Programs are looked for in the system's own folders.

    Raises:
        RuntimeError: it fails, or takes too long; with what it wrote to standard error.
    """
    from inspect_ai.util import sandbox

    words = " ".join(command)
    try:
        done = await sandbox().exec(
            list(command), cwd="/", env=_PATH, user="root", timeout=_TIMEOUT, timeout_retry=False
        )
    except TimeoutError:
        raise RuntimeError(f"`{words}` did not finish within {_TIMEOUT} s") from None
    except (FileNotFoundError, PermissionError) as error:
        raise RuntimeError(f"`{words}` cannot be run: {error}") from None
    if not done.success:
        raise RuntimeError(f"`{words}` failed (exit {done.returncode}): {done.stderr.strip()}")
    return done.stdout
