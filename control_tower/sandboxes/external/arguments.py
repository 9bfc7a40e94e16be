"""`--sandbox-arg`: a provider's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from control_tower.key_values import PairProblem, split_pairs
from control_tower.sandboxes.external.types import provider_of
from control_tower.yaml_values import YamlProblem, read_yaml

if TYPE_CHECKING:
    from pydantic import BaseModel


class BadArguments(ValueError):
    """Arguments that are no `key=value`, or that the provider does not take; in one line."""


def as_json(pairs: Sequence[str]) -> str:
    """The arguments as one JSON object; each value is read as YAML, of which JSON is a part.

    Raises:
        BadArguments: one is no `key=value`, is there twice, or its value cannot be read.
    """
    values: dict[str, Any] = {}
    try:
        for key, text in split_pairs(pairs):
            values[key] = _value(key, text)
    except PairProblem as problem:
        raise BadArguments(str(problem)) from None
    return json.dumps(values, sort_keys=True)


def _value(key: str, text: str) -> Any:
    try:
        return read_yaml(text)
    except YamlProblem as problem:
        raise BadArguments(f"{key}: {problem}") from None


def deserialized(name: str, args: Mapping[str, Any]) -> BaseModel:
    """The configuration that the provider `name` makes of the arguments, as Inspect would ask it.

    Raises:
        NoSuchType: there is no such provider.
        BadArguments: it takes none, or not these; or what it makes cannot be used.
    """
    from inspect_ai.util import ComposeConfig
    from pydantic import ValidationError

    provider = provider_of(name)
    if provider.is_docker_compatible():
        try:
            return ComposeConfig.model_validate(dict(args))
        except ValidationError:
            pass  # its own kind of configuration, then
    try:
        made = provider.config_deserialize(dict(args))
    except NotImplementedError:
        raise BadArguments(f"sandbox '{name}' takes no arguments") from None
    except ValidationError as error:
        raise BadArguments(f"sandbox '{name}': {_first(error)}") from None
    except Exception as error:  # of code that is not ours
        said = " ".join(str(error).split())
        raise BadArguments(f"sandbox '{name}': {type(error).__name__}: {said}") from error
    _check_hashable(name, made)
    return made


def _check_hashable(name: str, made: object) -> None:
    try:
        hash(made)
    except TypeError:
        raise BadArguments(
            f"sandbox '{name}' makes a {type(made).__name__} of its arguments, which cannot be "
            "hashed, and Inspect needs that; its class must be frozen, with values that are, too"
        ) from None


def _first(error: Any) -> str:
    """The first of pydantic's faults, in words."""
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"]))
    said = " ".join(fault["msg"].removeprefix("Value error, ").split())
    return f"{where}: {said}" if where else said
