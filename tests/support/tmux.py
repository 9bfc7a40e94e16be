"""A real terminal for tests: tmux, with a server of the test's own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

NEEDS_TMUX = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
_PATIENCE = 90.0
"""Seconds until something that is waited for must be there."""


class Terminal:
    """A terminal with a shell in it.

    Args:
        place: where its socket is, and the shell begins.
        environment: of the shell.
    """

    def __init__(self, place: Path, environment: Mapping[str, str]) -> None:
        self._place = place
        self._socket = str(place / "tmux")
        variables = [f"{name}={value}" for name, value in environment.items()]
        shell = shlex.join(["env", *variables, "PS1=outside> ", "bash", "--norc", "--noprofile"])
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "200", shell)
        self.wait_for("outside>")

    def type(self, line: str) -> None:
        """Type a line, and Enter."""
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal pastes for programs that can tell, and press Enter."""
        self._tmux("load-buffer", "-", input=text)
        self._tmux("paste-buffer", "-p")
        self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        """Press a key by tmux's name, such as `C-c`."""
        self._tmux("send-keys", key)

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    @property
    def screen(self) -> str:
        """What it shows, without empty lines at its end."""
        return self._tmux("capture-pane", "-p", "-J").rstrip()

    def wait_for(self, text: str, *, times: int = 1) -> str:
        """Wait until the screen has a text so many times; the screen."""
        deadline = time.monotonic() + _PATIENCE
        while (screen := self.screen).count(text) < times:
            assert time.monotonic() < deadline, f"no '{text}' on the screen:\n{screen}"
            time.sleep(0.1)
        return screen

    def close(self) -> None:
        """Close the terminal, as one closes a window."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False)

    def _tmux(self, *args: str, input: str = "") -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *args],
            cwd=self._place,
            input=input,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
