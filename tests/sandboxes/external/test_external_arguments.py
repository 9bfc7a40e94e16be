"""`--sandbox-arg`: read as YAML, passed on as JSON, and checked by the provider before the start."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.boxes import BoxConfig

from control_tower.sandboxes.external.arguments import BadArguments, as_json, deserialized

BOX = "support.boxes:noted"


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("a=1", 1),
        ("a=text", "text"),
        ("a=", None),
        ("a=x=y", "x=y"),
        ('a="1"', "1"),
        ("a=true", True),
        ('a={"b": [1, 2.5, null]}', {"b": [1, 2.5, None]}),
        ("a=[x, {y: z}]", ["x", {"y": "z"}]),
    ],
)
def test_values_are_json_or_yaml(pair: str, value: Any) -> None:
    assert json.loads(as_json([pair])) == {"a": value}


def test_their_order_makes_no_difference() -> None:
    assert as_json(["b=1", "a=2"]) == as_json(["a=2", "b=1"])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (["a"], "'a' is not key=value"),
        (["=1"], "'=1' is not key=value"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["a=[1"], "a: '[1' is no YAML"),
        (["a=!!python/name:os.system x"], "a: "),
    ],
)
def test_what_cannot_be_read_is_refused(pairs: list[str], words: str) -> None:
    with pytest.raises(BadArguments) as caught:
        as_json(pairs)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_provider_makes_its_configuration_of_them() -> None:
    assert deserialized(BOX, {"size": 3, "label": "x"}) == BoxConfig(size=3, label="x")


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        (BOX, {"size": "z"}, f"sandbox '{BOX}': size: Input should be a valid integer"),
        (BOX, {"sizee": 3}, f"sandbox '{BOX}': sizee: Extra inputs are not permitted"),
        ("local", {"size": 1}, "sandbox 'local' takes no arguments"),
        ("support.boxes:listed", {"parts": [1]}, "makes a ListConfig of its arguments"),
    ],
)
def test_what_the_provider_does_not_take_is_one_line(
    name: str, args: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadArguments) as caught:
        deserialized(name, args)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_provider_that_fails_over_them_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    def config_deserialize(config: dict[str, Any]) -> BoxConfig:
        return BoxConfig(size=config["sizes"])

    monkeypatch.setattr("support.boxes.NotedBox.config_deserialize", config_deserialize)
    with pytest.raises(BadArguments, match=f"sandbox '{BOX}': KeyError: 'sizes'"):
        deserialized(BOX, {"size": 1})
