"""How the text of arguments is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from support.bad_calls import NO_JSON, bomb

from control_tower.fit_arguments import MOST_BITS
from control_tower.tool_arguments import MOST_YAML, read_json_arguments, read_yaml_argument

LARGEST = 2**MOST_BITS - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ls -l", "ls -l"),
        ('"ls"', "ls"),
        ("3", 3),
        ("-2.5", -2.5),
        ("yes", True),
        ("~", None),
        ("", None),
        ("[a, [1, {b: c}]]", ["a", [1, {"b": "c"}]]),
        ("a: 1\nb: [x]", {"a": 1, "b": ["x"]}),
        (hex(LARGEST), LARGEST),
        (str(-LARGEST), -LARGEST),
    ],
)
def test_plain_yaml_is_read(text: str, value: Any) -> None:
    assert read_yaml_argument(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *NO_JSON,
        bomb(18),
        "&a [*a]",
        "&a x",
        "!!str 5",
        "! 5",
        "!!bool x",
        "!!python/object/apply:os.system [ls]",
        "2020-13-45",
        "9" * 5_000,
        "9" * 1_300,
        f"0b{'1' * (MOST_BITS + 1)}",
        "1.0e+999",
        f"1{':1' * 3_000}.5",
        f"1{':1' * 20_000}",
        "- {1: 2}",
        "- {yes: 2}",
        "- {~: 2}",
        "- {[a]: 2}",
        "- {<<: {a: 1}}",
        "- a\n- =",
        '"\\UFFFFFFFF"',
        "[" * 150 + "]" * 150,
        "[" * 50_000,
        "- " * 20_000,
        f"[{'1,' * MOST_YAML}]",
        "--- a\n--- b",
    ],
    ids=lambda text: text[:20].replace("\n", " "),
)
def test_other_yaml_is_refused_as_inspect_expects_it(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        read_yaml_argument(text)


def test_json_is_read() -> None:
    text = json.dumps({"a": [1, -2.5, None, "é", LARGEST]})
    assert read_json_arguments(text) == json.loads(text)


@pytest.mark.parametrize("number", ["9" * 5_000, f"-{LARGEST + 1}", "1e999", "NaN", "-Infinity"])
def test_json_with_a_number_that_cannot_be_kept_is_refused(number: str) -> None:
    with pytest.raises(json.JSONDecodeError, match="The arguments hold a number") as caught:
        read_json_arguments(f'{{"a": [{number}]}}')
    assert "line 1" not in str(caught.value)
