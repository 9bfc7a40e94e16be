"""An author's files, read: texts, and YAML documents that know their lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from control_tower.environments.problems import Problems
from control_tower.errors import unknown_words

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)

_PLAIN = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
}
"""What pydantic's errors of type are in YAML's terms."""
_SHOWN = 80
"""Characters of a wrong value that are worth showing."""


@dataclass
class Document:
    """A mapping that a YAML file holds."""

    file: Path
    raw: dict[str, Any]
    node: Any
    """PyYAML's node of it, which knows the lines."""

    def line_of(self, location: Sequence[str | int]) -> int:
        """The line of a field, or of the nearest one above it that is there; counted from 1."""
        import yaml

        node, line = self.node, 0
        for part in location:
            if isinstance(node, yaml.MappingNode):
                found = [(key, value) for key, value in node.value if key.value == str(part)]
                if not found:
                    break
                key, node = found[-1]
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line + 1
        return line

    def parsed(self, model: type[M], problems: Problems) -> M | None:
        """The document as a model; None, and a problem for each fault, if it is none."""
        try:
            return model.model_validate(self.raw)
        except ValidationError as error:
            said: set[tuple[Any, ...]] = set()
            for fault in error.errors():
                # Members of a union are in the location as types, such as `tuple[str, ...]`.
                place = tuple(part for part in fault["loc"] if "[" not in str(part))
                if place not in said:
                    said.add(place)
                    problems.add(self.file, _words(fault, place, model), self.line_of(place))
        return None


def _words(fault: ErrorDetails, place: tuple[str | int, ...], model: type[BaseModel]) -> str:
    where = ".".join(map(str, place))
    if fault["type"] == "extra_forbidden" and len(place) == 1:
        return unknown_words("field", where, model.model_fields)
    if fault["type"] == "extra_forbidden":
        return f"no field is named '{where}'"
    if fault["type"] == "missing":
        return f"the field '{where}' is missing"
    said = _PLAIN.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    value = json.dumps(fault["input"], ensure_ascii=False, default=str)
    shown = f" (it is {value})" if len(value) <= _SHOWN else ""
    return f"{where}: {said.replace('Input should be', 'must be')}{shown}"


def read_document(path: Path, problems: Problems) -> Document | None:
    """Read a YAML file that holds a mapping; None, and a problem, if it does not."""
    import yaml

    text = read_text(path, problems)
    if text is None:
        return None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.safe_load(text)
    except RecursionError:
        problems.add(path, "not valid YAML: it is nested too deeply")
        return None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 0 if mark is None else mark.line + 1
        problems.add(path, f"not valid YAML: {error}", line)
        return None
    if not isinstance(raw, dict):
        problems.add(path, "expected a mapping of fields")
        return None
    _report_repetitions(path, node, problems)
    return Document(path, raw, node)


def _report_repetitions(path: Path, node: Any, problems: Problems) -> None:
    """Of two equal keys the second would silently count."""
    import yaml

    seen: dict[str, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if key.value in seen:
            problems.add(
                path, f"'{key.value}' is there twice, first in line {seen[key.value]}", line
            )
        seen.setdefault(key.value, line)
        _report_repetitions(path, value, problems)


def read_text(path: Path, problems: Problems, *, optional: bool = False) -> str | None:
    """Read a text file; None, and a problem unless it may be missing, if that cannot be done."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not optional:
            problems.add(path, "this file is missing")
    except (OSError, UnicodeDecodeError) as error:
        problems.add(path, f"cannot be read: {error}")
    return None
