"""`key=value` arguments: what a value is depends on the parameter's type."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.components import Component, find_component
from control_tower.errors import UsageProblem

FLAG = "-up"


@pytest.fixture
def typed(outside: str) -> Component[Any]:
    return find_component("policy", f"{outside}:typed", flag=FLAG)


def refusal(component: Component[Any], *pairs: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        component.parse_args(pairs, flag=FLAG)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{FLAG}: ")
    return message


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "1e3", "null", "010", "1:30", "2024-01-01", "~", "", " x ", "[a]", "{a: b}"),
        *("*a", "&a", "!b", "@c", "# d", "a: b", "'q'", "a=b", "line\nbreak", "é"),
    ],
)
def test_a_text_is_taken_literally(typed: Component[Any], text: str) -> None:
    assert typed.parse_args([f"text={text}"], flag=FLAG) == {"text": text}


@pytest.mark.parametrize(("text", "value"), [("null", None), ("~", "~"), ("", ""), ("no", "no")])
def test_null_is_none_where_a_text_may_be_none(
    typed: Component[Any], text: str, value: str | None
) -> None:
    assert typed.parse_args([f"maybe={text}"], flag=FLAG) == {"maybe": value}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("choice=off", "off"),
        ("whole=010", 10),
        ("whole=1_000", 1000),
        ("whole=-3", -3),
        ("number=1e3", 1000.0),
        ("number=.5", 0.5),
        ("number=2", 2.0),
        ("number=null", None),
        ("truth=yes", True),
        ("truth=off", False),
        ("truth=1", True),
        ("texts=[yes, 1e3, 010, 1.50, null, 'a b', \"c\\n\"]", None),
        ("counts={yes: 1, 2: 3}", {"yes": 1, "2": 3}),
        ("nested=[[1, 2], []]", [[1, 2], []]),
        ("either=3", 3),
        ("either=three", "three"),
        ("either=yes", "yes"),
        ("either='3'", "3"),
        ("anything=[1, yes, x, null]", [1, True, "x", None]),
        ("schema=x", "x"),
        ("copy=[1, yes]", (1, "yes")),
    ],
)
def test_other_values_are_yaml(typed: Component[Any], pair: str, value: Any) -> None:
    key = pair.partition("=")[0]
    if key == "texts":
        value = ["yes", "1e3", "010", "1.50", "null", "a b", "c\n"]
    assert typed.parse_args([pair], flag=FLAG) == {key: value}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("whole=many", "whole of 'typed': Input should be a valid integer, unable to parse string"),
        ("whole=yes", "(given 'yes')"),
        ("whole=1.5", "valid integer, got a number with a fractional part (given 1.5)"),
        ("whole=1:30", "(given '1:30')"),
        ("number=.inf", "(given '.inf')"),
        ("number=nan", "number of 'typed': Input should be a finite number (given 'nan')"),
        ("truth=maybe", "truth of 'typed': Input should be a valid boolean"),
        ("choice=of", "choice of 'typed': Input should be 'on' or 'off' (given 'of')"),
        ("texts=[a, [b]]", "texts.1 of 'typed': Input should be a valid string (given ['b'])"),
        ("texts=a", "texts of 'typed': Input should be a valid list (given 'a')"),
        ("counts={a: x}", "counts.a of 'typed': Input should be a valid integer"),
        ("nested=[[1], [2, x]]", "nested.1.1 of 'typed': Input should be a valid integer"),
        ("bounded=4", "bounded of 'typed': Input should be less than or equal to 3 (given 4)"),
        ("counts={a: 1, a: 2}", "counts of 'typed': the key 'a' is there twice"),
        ("texts=[&x a, *x]", "has an anchor or alias (&name, *name) of YAML, which is not allowed"),
        ("texts=[!!str a]", "has a tag (!name) of YAML, which is not allowed"),
        ("texts=[a", "texts of 'typed': '[a' is no YAML: "),
        ("anything={[a]: b}", "a list or a mapping cannot be a key"),
        (f"nested={'[' * 99}{']' * 99}", "is nested too deeply"),
        ("text=\udcff", "text of 'typed': '\\udcff' is not valid UTF-8"),
        ('texts=["\\udcff"]', "is not valid UTF-8"),
    ],
)
def test_a_bad_value_is_one_line(typed: Component[Any], pair: str, words: str) -> None:
    assert words in refusal(typed, pair)


def test_what_is_shown_of_a_long_value_is_short(typed: Component[Any]) -> None:
    assert len(refusal(typed, f"whole={'x' * 10_000}")) < 300
    assert len(refusal(typed, f"whole={'9' * 10_000}")) < 300


def test_a_type_that_is_imported_for_checkers_only_is_told(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lazy_types.py").write_text(
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "from control_tower.components import policy\n"
        "if TYPE_CHECKING:\n    from pathlib import Path\n"
        "@policy(modes=['honest'], asserts='none')\n"
        "def lazy(path: Path) -> None: ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    message = refusal(find_component("policy", "lazy_types:lazy", flag=FLAG), "path=x")
    assert "the type of a parameter of 'lazy' is not known when it runs" in message


@pytest.mark.parametrize("parameters", ["*texts: str", "**more: str", "text: str, /"])
def test_a_factory_must_have_parameters_that_can_be_named(
    parameters: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"unnamed_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "from control_tower.components import policy\n"
        "@policy(modes=['honest'], asserts='none')\n"
        f"def odd({parameters}): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageProblem, match="is no parameter that key=value can set"):
        find_component("policy", f"{name}:odd", flag=FLAG)


def test_a_need_that_nobody_knows_is_refused() -> None:
    from control_tower.components import protocol

    with pytest.raises(ValueError, match="no need is named 'linear-histroy'; did you mean"):
        protocol(needs=["linear-histroy"])(lambda: None)  # type: ignore[list-item]
