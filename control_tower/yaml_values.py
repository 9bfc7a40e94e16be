"""YAML as users write it after a flag: a value, a list or a mapping on one line.

Scalars are read as YAML 1.2's core schema reads them, so that `010` is ten and `1:30` a text;
`yes`, `no`, `on` and `off` are truth values as well. What could hide something (anchors, aliases,
tags, a key that is there twice) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

_DEEPEST = 30
"""Levels of lists and mappings inside one another."""
_SHOWN = 80
"""Characters of a wrong text that are worth showing."""
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULL = ("", "~", "null")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


class YamlProblem(ValueError):
    """A text that is not read as YAML; the message says why."""


@dataclass(frozen=True)
class Scalar:
    """A scalar without quotes: a text, or what its text stands for."""

    text: str

    @property
    def value(self) -> str | int | float | bool | None:
        """The number, truth value or null that the text stands for; otherwise the text."""
        word = self.text.lower()
        if word in _NULL:
            return None
        if word in _TRUTH:
            return _TRUTH[word]
        try:
            if _INTEGER.fullmatch(self.text):
                return int(self.text)
        except ValueError:  # more digits than Python reads
            return self.text
        return float(self.text) if _NUMBER.fullmatch(self.text) else self.text


Written: TypeAlias = "Scalar | str | list[Written] | dict[str, Written]"
"""A value as it was written: what has quotes is a `str`, other scalars are not typed yet."""


def as_written(text: str) -> Written:
    """Read YAML, leaving open what its scalars are.

    Raises:
        YamlProblem: the text is no YAML, or has what is refused here.
    """
    import yaml

    check_encodable(text)
    try:
        _refuse_what_hides(text, yaml.parse(text, Loader=yaml.BaseLoader))
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except YamlProblem:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at character {mark.index + 1}" if mark else ""
        raise YamlProblem(f"{quoted(text)} is no YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, ArithmeticError) as error:  # of escapes that are none
        raise YamlProblem(f"{quoted(text)} is no YAML: {' '.join(str(error).split())}") from None
    return Scalar("") if node is None else _written(node)


def read_yaml(text: str) -> Any:
    """Read YAML to texts, numbers, truth values, None, lists and mappings with text keys.

    Raises:
        YamlProblem: the text is no YAML, or has what is refused here.
    """
    return plain(as_written(text))


def plain(written: Any) -> Any:
    """What was written with every scalar typed by its looks; other values stay as they are."""
    if isinstance(written, Scalar):
        return written.value
    if isinstance(written, list):
        return [plain(item) for item in written]
    if isinstance(written, dict):
        return {key: plain(value) for key, value in written.items()}
    return written


def member(value: Any, part: str | int) -> tuple[bool, Any]:
    """Whether a mapping or a list has such a member, and the member."""
    if isinstance(value, dict) and part in value:
        return True, value[part]
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return True, value[part]
    return False, None


def check_encodable(text: str) -> None:
    """Refuse a text that no file can hold.

    Raises:
        YamlProblem: it is not valid UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise YamlProblem(f"{quoted(text)} is not valid UTF-8") from None


def _refuse_what_hides(text: str, events: Iterable[Any]) -> None:
    import yaml

    depth = documents = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise YamlProblem(
                f"{quoted(text)} has an anchor or alias (&name, *name) of YAML, which is not "
                "allowed; write the value out, or put it in quotes if it is a text"
            )
        if getattr(event, "tag", None) is not None:
            raise YamlProblem(
                f"{quoted(text)} has a tag (!name) of YAML, which is not allowed; leave it out, "
                "or put the value in quotes if it is a text"
            )
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if documents > 1 or depth > _DEEPEST:
            what = "is more than one YAML document" if documents > 1 else "is nested too deeply"
            raise YamlProblem(f"{quoted(text)} {what}")


def _written(node: Any) -> Written:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_written(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    check_encodable(node.value)
    return Scalar(node.value) if node.style is None else node.value


def _mapping(node: Any) -> dict[str, Written]:
    import yaml

    mapping: dict[str, Written] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise YamlProblem("a list or a mapping cannot be a key")
        check_encodable(key.value)
        if key.value in mapping:
            raise YamlProblem(f"the key {quoted(key.value)} is there twice")
        mapping[key.value] = _written(value)
    return mapping


def quoted(text: str) -> str:
    """A text as messages have it: its beginning, on one line whatever it holds."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
