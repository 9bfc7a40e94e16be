"""Tables on the terminal."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence

_UNBOUNDED = 1000
"""Columns where there is no terminal: nothing is cut in a file or a pipe."""


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below headings, as `printable`; long texts are wrapped to the terminal's width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _UNBOUNDED
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(width=width, highlight=False, soft_wrap=not terminal)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        _echo(line.rstrip())


def print_lines(lines: Iterable[str]) -> None:
    """Print each as one line, as `printable`."""
    for line in lines:
        _echo(printable(line))


def printable(text: str) -> str:
    """The text with what is no visible character or space escaped, as Python writes it.

    So no value can end its line, move the cursor, or turn the order of the letters.
    """
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def _echo(line: str) -> None:
    """Print a line; what the terminal's or the file's encoding lacks is escaped."""
    import click

    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))
