"""Reading what stands after `role=`: a model's name, or a YAML mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from control_tower.errors import UsageProblem
from control_tower.yaml_values import YamlProblem, check_encodable, quoted, read_yaml

_LIKE_A_MAPPING = re.compile(r"\{|.*:(\s|$)", re.DOTALL)
_EXPECTED = (
    "expected the name of a model, or a YAML mapping such as '{model: NAME, temperature: 0}'"
)


def name_or_mapping(text: str, where: str) -> str | Mapping[str, Any]:
    """The name, or the mapping, of a model that a user wrote.

    Args:
        text: as the user wrote it.
        where: how messages begin. They quote no mapping, which might hold a secret.

    Raises:
        UsageProblem: for a mapping that cannot be read, or several models.
    """
    text = text.strip()
    value = _read(text, where)
    if isinstance(value, dict):
        return value
    if _LIKE_A_MAPPING.match(text):
        raise UsageProblem(f"{where}: {_EXPECTED}")
    name = value if isinstance(value, str) else text
    if isinstance(value, list) or "," in name:
        raise UsageProblem(f"{where}: a role takes one model, not several ('{text}')")
    return name


def _read(text: str, where: str) -> Any:
    try:
        return read_yaml(text)
    except YamlProblem as problem:
        if _LIKE_A_MAPPING.match(text):
            words = str(problem).replace(quoted(text), "the mapping", 1)
            raise UsageProblem(f"{where}: {words}; {_EXPECTED}") from None
    try:
        check_encodable(text)
    except YamlProblem as problem:
        raise UsageProblem(f"{where}: {problem}") from None
    return text
