"""Tables on the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

_UNBOUNDED = 1000
"""Columns where there is no terminal: nothing is cut in a file or a pipe."""


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below headings; long texts are wrapped to the terminal's width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _UNBOUNDED
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(width=width, highlight=False, soft_wrap=not terminal)
    with console.capture() as captured:
        console.print(table)
    print_lines(line.rstrip() for line in captured.get().splitlines())


def print_lines(lines: Iterable[str]) -> None:
    """Print lines."""
    import click

    for line in lines:
        click.echo(line)
