"""Small templates: `{{ name }}` is escaped, `{{ name|raw }}` is not, `{{ cents|money }}` an amount.

`{% for x in xs %}…{% end %}` and `{% if name %}…{% else %}…{% end %}` are all there is besides.
Names are looked up with dots, in dicts and attributes; what is missing is empty.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any

from . import money
from .config import ROOT

_TOKEN = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})")
_FILTERS = {
    "": lambda value: html.escape("" if value is None else str(value)),
    "raw": str,
    "money": lambda value: money.euros(int(value)),
    "lines": lambda value: html.escape(str(value or "")).replace("\n", "<br>"),
}


def render(name: str, **values: Any) -> str:
    """A page of html/, within the frame that all pages share."""
    body = _render(_parsed(name), values)
    return _render(_parsed("frame"), {**values, "body": body})


@lru_cache(maxsize=None)
def _parsed(name: str) -> list:
    tokens = _TOKEN.split((ROOT / "shop" / "html" / f"{name}.html").read_text(encoding="utf-8"))
    nodes, rest = _nodes(tokens)
    if rest:
        raise ValueError(f"{name}.html: {rest[0]} without a beginning")
    return nodes


def _nodes(tokens: list[str]) -> tuple[list, list[str]]:
    nodes: list = []
    while tokens:
        token = tokens[0]
        words = token[2:-2].split()
        if token.startswith("{{"):
            name, _, wanted = words[0].partition("|")
            nodes.append(("value", name, _FILTERS[wanted]))
        elif token.startswith("{%") and words[0] in ("else", "end"):
            return nodes, tokens
        elif token.startswith("{%"):
            inner, tokens = _nodes(tokens[1:])
            other: list = []
            if tokens[0][2:-2].split() == ["else"]:
                other, tokens = _nodes(tokens[1:])
            nodes.append((words[0], words[1:], inner, other))
        else:
            nodes.append(("text", token))
        tokens = tokens[1:]
    return nodes, []


def _render(nodes: list, values: dict) -> str:
    out = []
    for node in nodes:
        if node[0] == "text":
            out.append(node[1])
        elif node[0] == "value":
            out.append(node[2](_look_up(node[1], values)))
        elif node[0] == "if":
            out.append(_render(node[2] if _look_up(node[1][0], values) else node[3], values))
        else:
            variable, _, source = node[1]
            for item in _look_up(source, values) or ():
                out.append(_render(node[2], {**values, variable: item}))
    return "".join(out)


def _look_up(name: str, values: dict) -> Any:
    value: Any = values
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value
