"""Lines of our own on pytest's terminal."""

from __future__ import annotations

import pytest


def say(config: pytest.Config, line: str) -> None:
    """Write a line of its own to the terminal, if there is one."""
    reporter: pytest.TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.ensure_newline()
        writer = config.get_terminal_writer()
        if writer.width_of_current_line:  # xdist's dots, of which the reporter does not know
            writer.line()
        reporter.write_line(line)
