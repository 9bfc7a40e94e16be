"""Tables and lines whose values hold anything."""

from __future__ import annotations

import io
import sys

import pytest

from control_tower.cli.tables import print_lines, print_table

HOSTILE = "a\n\x1b[31mb\r\t\u2028\u202ec\udce9\ud800"
ESCAPED = r"a\n\x1b[31mb\r\t\u2028\u202ec\udce9\ud800"


def test_a_value_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines([HOSTILE, "é 日本\u3000語"])
    assert capsys.readouterr().out == f"{ESCAPED}\né 日本\u3000語\n"


def test_a_cell_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "place"), [(HOSTILE, "x"), ("b", "y")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["name", "place"], [ESCAPED, "x"], ["b", "y"]]


def test_what_the_encoding_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    print_lines(["é 日"])
    print_table(("name",), [("日",)])
    sys.stdout.flush()
    assert written.getvalue().split() == [b"\xe9", rb"\u65e5", b"name", rb"\u65e5"]
