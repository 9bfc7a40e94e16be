"""`key=value` arguments: split, typed by the factory's signature, and checked by pydantic."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_type_hints

from control_tower.components.hints import allows_null, is_text_only, typed
from control_tower.components.problems import ComponentProblem, one_line
from control_tower.errors import unknown_words
from control_tower.key_values import PairProblem, split_pairs
from control_tower.yaml_values import (
    Written,
    YamlProblem,
    as_written,
    check_encodable,
    member,
    plain,
)

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

_SHOWN = 80
"""Characters of a wrong value that are worth showing."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a component's factory."""

    name: str
    hint: Any
    """Its type; `Any` if it has none."""
    required: bool
    default: Any = None


class Signature:
    """A factory's parameters, and the check of arguments for them.

    Args:
        name: of the component, for messages.
        factory: whose parameters they are.

    Raises:
        ComponentProblem: a parameter's type is not there at run time, or cannot be checked.
    """

    def __init__(self, name: str, factory: Callable[..., Any]) -> None:
        self._name = name
        self.parameters = _parameters(name, factory)
        self._model = _model(name, self.parameters)

    @property
    def defaults(self) -> dict[str, Any]:
        """Default by name, of the parameters that have one."""
        return {p.name: p.default for p in self.parameters.values() if not p.required}

    def read(self, pairs: Sequence[str]) -> dict[str, Written]:
        """Split and read `key=value` strings: texts literally, everything else as YAML.

        Raises:
            ComponentProblem: for a malformed pair, an unknown or repeated key, or bad YAML.
        """
        values: dict[str, Written] = {}
        try:
            for key, text in split_pairs(pairs):
                self._refuse_unknown(key)
                values[key] = self._read(key, text)
        except PairProblem as problem:
            raise ComponentProblem(str(problem)) from None
        return values

    def check(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values, typed and deeply checked; only those that are given.

        Raises:
            ComponentProblem: for an unknown key, a missing or a bad value.
        """
        from pydantic import ValidationError

        for key in values:
            self._refuse_unknown(key)
        given = {key: typed(each, self.parameters[key].hint) for key, each in values.items()}
        try:
            checked = self._model.model_validate(given)
        except ValidationError as error:
            raise ComponentProblem(self._words(error.errors()[0], given)) from None
        return {key: getattr(checked, _field(key)) for key in given}

    def _read(self, key: str, text: str) -> Any:
        hint = self.parameters[key].hint
        try:
            if not is_text_only(hint):
                return as_written(text)
            check_encodable(text)
        except YamlProblem as problem:
            raise ComponentProblem(f"{key} of '{self._name}': {problem}") from None
        return None if text == "null" and allows_null(hint) else text

    def _refuse_unknown(self, key: str) -> None:
        if key in self.parameters:
            return
        takes = f"takes {', '.join(self.parameters)}" if self.parameters else "takes no arguments"
        words = unknown_words(f"argument of '{self._name}'", key, self.parameters)
        raise ComponentProblem(f"{words} ('{self._name}' {takes})")

    def _words(self, fault: ErrorDetails, given: Mapping[str, Any]) -> str:
        where = ".".join(map(str, _place(fault["loc"], given))) or "arguments"
        said = " ".join(fault["msg"].removeprefix("Value error, ").split())
        itself = isinstance(fault.get("ctx", {}).get("error"), ComponentProblem)
        needless = itself or fault["type"] == "missing"
        return f"{where} of '{self._name}': {said}{'' if needless else _shown(fault['input'])}"


def _place(location: Sequence[str | int], given: Mapping[str, Any]) -> list[str | int]:
    """Where a fault is among the values: pydantic names members of unions, too."""
    value: Any = given
    place: list[str | int] = []
    for position, part in enumerate(location):
        there, below = member(value, part)
        if there:
            value = below
        elif position > 0:
            continue
        place.append(part)
    return place


def _shown(value: Any) -> str:
    text = repr(plain(value))
    return f" (given {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'})"


def _parameters(name: str, factory: Callable[..., Any]) -> dict[str, Parameter]:
    """Types of the parameters alone: the return type is often imported for checkers only."""
    annotations = {k: v for k, v in inspect.get_annotations(factory).items() if k != "return"}
    holder = SimpleNamespace(__annotations__=annotations)
    try:
        hints = get_type_hints(holder, globalns=factory.__globals__, include_extras=True)
    except NameError as error:
        raise ComponentProblem(
            f"the type of a parameter of '{name}' is not known when it runs: {error}; import it "
            "outside `if TYPE_CHECKING`"
        ) from None
    empty = inspect.Parameter.empty
    return {
        parameter.name: Parameter(
            name=parameter.name,
            hint=hints.get(parameter.name, Any),
            required=parameter.default is empty,
            default=None if parameter.default is empty else parameter.default,
        )
        for parameter in inspect.signature(factory).parameters.values()
    }


def _model(name: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    fields: dict[str, Any] = {
        _field(p.name): (p.hint, Field(... if p.required else p.default, alias=p.name))
        for p in parameters.values()
    }
    config = ConfigDict(extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)
    try:
        return create_model(f"arguments of {name}", __config__=config, **fields)
    except PydanticUserError as error:
        raise ComponentProblem(
            f"a parameter of '{name}' has a type that cannot be checked: {one_line(error)}"
        ) from error


def _field(parameter: str) -> str:
    """A field's name that is none of pydantic's own."""
    return f"argument_{parameter}"
