"""An author's files, read: texts, and YAML documents that know their lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from control_tower.environments.problems import Problems
from control_tower.errors import check_regular, unknown_words
from control_tower.yaml_values import member

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
_SCALARS = ("bool", "int", "float", "str")
"""pydantic's names of the members of a union of scalars."""
_SHOWN = 80
"""Characters of a wrong value that are worth showing."""
_MOST_NODES = 100_000
"""Values in a document, each counted as often as it is reached: aliases can stand for billions."""
_LONGEST_NUMBER = 1000
"""Characters of a whole number: Python refuses to show one of more than 4,300 digits."""
_MISFITS = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError)
"""What PyYAML raises for a scalar that does not fit its tag."""


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
                place = self._place(fault)
                if place not in said:
                    said.add(place)
                    problems.add(self.file, _words(fault, place, model), self.line_of(place))
        return None

    def _place(self, fault: ErrorDetails) -> tuple[str | int, ...]:
        """Where a fault is in the document: pydantic names members of unions and models, too."""
        value: Any = self.raw
        place: list[str | int] = []
        for part in fault["loc"]:
            there, below = member(value, part)
            if there:
                value = below
            elif fault["type"] != "missing" or part != fault["loc"][-1]:
                continue
            place.append(part)
        return tuple(place)


def _words(fault: ErrorDetails, place: tuple[str | int, ...], model: type[BaseModel]) -> str:
    where = ".".join(map(str, place))
    if fault["type"] == "extra_forbidden" and len(place) == 1:
        return unknown_words("field", where, model.model_fields)
    if fault["type"] == "extra_forbidden":
        return f"no field is named '{where}'"
    if fault["type"] == "missing":
        return f"the field '{where}' is missing"
    said = _PLAIN.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    if len(fault["loc"]) > len(place) and fault["loc"][-1] in _SCALARS:
        said = "must be a text, a number, or true or false"
    value = _as_json(fault["input"])
    shown = f" (it is {value})" if value else ""
    return f"{where}: {said.replace('Input should be', 'must be')}{shown}"


def _as_json(value: Any) -> str:
    """How a value is shown; empty if it is too long or cannot be."""
    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            text += part
            if len(text) > _SHOWN:
                return ""
    except (TypeError, ValueError, RecursionError):
        return ""
    return text


def read_document(path: Path, problems: Problems) -> Document | None:
    """Read a YAML file that holds a mapping; None, and a problem, if it does not."""
    import yaml

    text = read_text(path, problems)
    if text is None:
        return None
    try:
        node = yaml.compose(text, Loader=_loader())
        if _is_bomb(node):
            most = f"more than {_MOST_NODES:,} values"
            problems.add(path, f"it holds {most} with its aliases (*name) written out; use fewer")
            return None
        raw = yaml.load(text, Loader=_loader())
    except RecursionError:
        problems.add(path, "not valid YAML: it is nested too deeply")
        return None
    except _MISFITS as error:  # an escape that is no character, for example
        problems.add(path, f"not valid YAML: {error}")
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


@cache
def _loader() -> type[Any]:
    """PyYAML's safe loader, which reads what has another's tag, such as `!reset`, without it."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Knows no tags but YAML's own, and minds no others."""

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                if node.tag.endswith(":int") and len(node.value) > _LONGEST_NUMBER:
                    raise ValueError("too long")
                return super().construct_object(node, deep)
            except _MISFITS as error:
                value = str(node.value) if isinstance(node, yaml.ScalarNode) else "this"
                shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
                kind = node.tag.rpartition(":")[2]
                raise yaml.constructor.ConstructorError(
                    None, None, f"'{shown}' is no {kind}", node.start_mark
                ) from error

        def untagged(self, suffix: str, node: Any) -> Any:
            if isinstance(node, yaml.MappingNode):
                return self.construct_mapping(node, deep=True)
            if isinstance(node, yaml.SequenceNode):
                return self.construct_sequence(node, deep=True)
            return self.construct_scalar(node)

    Loader.add_multi_constructor("!", Loader.untagged)
    return Loader


def _is_bomb(root: Any) -> bool:
    """Whether a document has too many values once its aliases are written out."""
    ahead, seen = [root], 0
    while ahead and seen <= _MOST_NODES:
        node = ahead.pop()
        seen += 1
        if isinstance(getattr(node, "value", None), list):
            for child in node.value:  # of a mapping: a key and its value
                ahead.extend(child if isinstance(child, tuple) else (child,))
    return seen > _MOST_NODES


def _report_repetitions(path: Path, root: Any, problems: Problems) -> None:
    """Of two equal keys the second would silently count."""
    import yaml

    ahead, seen_nodes = [root], {id(root)}
    while ahead:
        node = ahead.pop()
        children: list[Any] = []
        if isinstance(node, yaml.SequenceNode):
            children = node.value
        elif isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if isinstance(key.value, str) and key.value in lines and key.value != "<<":
                    words = f"'{key.value}' is there twice, first in line {lines[key.value]}"
                    problems.add(path, words, line)
                if isinstance(key.value, str):
                    lines.setdefault(key.value, line)
                children.append(value)
        for child in children:
            if id(child) not in seen_nodes:  # an alias leads to what was seen
                seen_nodes.add(id(child))
                ahead.append(child)


def read_text(path: Path, problems: Problems, *, optional: bool = False) -> str | None:
    """Read a text file; None, and a problem unless it may be missing, if that cannot be done."""
    try:
        check_regular(path)
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not optional:
            problems.add(path, "this file is missing")
    except (OSError, UnicodeDecodeError) as error:
        problems.add_unreadable(path, error)
    return None


def members(folder: Path, problems: Problems) -> list[Path] | None:
    """What a folder holds, sorted; nothing if it is none; None, and a problem, if it is closed."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.add_unreadable(folder, error)
        return None
