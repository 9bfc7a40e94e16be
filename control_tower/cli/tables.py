"""Tables on the terminal."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below headings, as `printable`; long texts are wrapped to the terminal's width."""
    texts = [[printable(cell) for cell in row] for row in rows]
    lines = _aligned([list(headings), *texts])
    if not sys.stdout.isatty() or max(map(_width, lines)) <= shutil.get_terminal_size().columns:
        for line in lines:
            _echo(line)
        return
    _print_wrapped(headings, texts)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines: columns two spaces apart, as wide as what is in them."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _print_wrapped(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(width=shutil.get_terminal_size().columns, highlight=False)
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
