"""YAML on one line: what it is read as, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.yaml_values import Scalar, YamlProblem, as_written, read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("No", False),
        ("on", True),
        ("y", "y"),
        ("12", 12),
        ("-12", -12),
        ("010", 10),
        ("0x10", "0x10"),
        ("1:30", "1:30"),
        ("1e3", 1000.0),
        ("1.", 1.0),
        ("-.5", -0.5),
        (".inf", ".inf"),
        ("2024-01-01", "2024-01-01"),
        ("'12'", "12"),
        ('"a\\tb"', "a\tb"),
        ("two words", "two words"),
        ("ollama/llama3:8b", "ollama/llama3:8b"),
        ("[a, 1, [yes]]", ["a", 1, [True]]),
        ("{a: 1, b: {c: null}, 3: x}", {"a": 1, "b": {"c": None}, "3": "x"}),
        ("{<<: {a: 1}}", {"<<": {"a": 1}}),
        ("- a\n- b", ["a", "b"]),
    ],
)
def test_it_is_read_without_surprises(text: str, value: Any) -> None:
    found = read_yaml(text)
    assert found == value
    assert type(found) is type(value)


def test_what_is_written_stays_known() -> None:
    assert as_written("[010, '010']") == [Scalar("010"), "010"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "'[' is no YAML: "),
        ("{a: b", "is no YAML: "),
        ("@a", "is no YAML: found character '@' that cannot start any token at character 1"),
        ("[a] b", "is no YAML: "),
        ("&a b", "has an anchor or alias"),
        ("*a", "has an anchor or alias"),
        ("{a: &x 1, b: *x}", "has an anchor or alias"),
        ("!!python/name:os.system x", "has a tag"),
        ("!include x", "has a tag"),
        ("{a: 1, 'a': 2}", "the key 'a' is there twice"),
        ("{[a]: 1}", "a list or a mapping cannot be a key"),
        ("--- a\n--- b", "is more than one YAML document"),
        ("[" * 50_000, "is nested too deeply"),
        ('"\\UFFFFFFFF"', "is no YAML: "),
        ("a\0b", "is no YAML: "),
        ("\udc80", "'\\udc80' is not valid UTF-8"),
        ('"\\ud800"', "is not valid UTF-8"),
    ],
)
def test_what_is_wrong_or_hides_something_is_refused(text: str, words: str) -> None:
    with pytest.raises(YamlProblem) as caught:
        read_yaml(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
