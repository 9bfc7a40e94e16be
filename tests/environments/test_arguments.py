"""Arguments of environments: declared in environment.yaml, set with --env-arg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles

from control_tower.environments.arguments import bind_arguments
from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem

DECLARED = """
args:
  rows: {type: integer, default: 10, minimum: 1, maximum: 99}
  ratio: {type: number, default: 0.5}
  strict: {type: boolean, default: false}
  size: {type: string, default: small, choices: [small, large]}
"""


def environment(tmp_path: Path, name: str = "mini", more: str = DECLARED) -> Environment:
    root = EnvironmentFiles(name=name).write(tmp_path)
    with (root / "environment.yaml").open("a") as file:
        file.write(more)
    return load_environment(root)


def bound(*pairs: str, of: list[Environment], recorded: dict[str, Any] | None = None) -> list[dict]:
    of_each = {} if recorded is None else {"mini": recorded}
    done = bind_arguments(pairs, of, of_each, flag="--env-arg")
    return [dict(environment.arguments) for environment in done]


def refusal(*pairs: str, of: list[Environment], recorded: dict[str, Any] | None = None) -> str:
    with pytest.raises(UsageProblem) as caught:
        bound(*pairs, of=of, recorded=recorded)
    return str(caught.value)


def test_without_pairs_the_defaults_hold(tmp_path: Path) -> None:
    expected = {"rows": 10, "ratio": 0.5, "strict": False, "size": "small"}
    assert bound(of=[environment(tmp_path)]) == [expected]


def test_values_have_the_declared_types(tmp_path: Path) -> None:
    pairs = ("rows=7", "ratio=2.5", "strict=true", "size=large")
    [values] = bound(*pairs, of=[environment(tmp_path)])
    assert values == {"rows": 7, "ratio": 2.5, "strict": True, "size": "large"}
    assert [type(value) for value in values.values()] == [int, float, bool, str]


def test_a_number_that_is_whole_stays_as_it_was_written(tmp_path: Path) -> None:
    [one] = bind_arguments(["ratio=2"], [environment(tmp_path)], {}, flag="x")
    assert one.argument_variables["CT_ARG_RATIO"] == "2"


@pytest.mark.parametrize(
    ("text", "value"), [("-3", -3), ("007", 7), (".5", 0.5), ("1e-3", 0.001), ("-2.50", -2.5)]
)
def test_numbers_are_ascii_decimals(tmp_path: Path, text: str, value: float) -> None:
    assert bound(f"ratio={text}", of=[environment(tmp_path)])[0]["ratio"] == value


def test_they_are_variables_for_scripts(tmp_path: Path) -> None:
    [one] = bind_arguments(["strict=yes"], [environment(tmp_path)], {}, flag="x")
    assert one.argument_variables == {
        "CT_ARG_ROWS": "10",
        "CT_ARG_RATIO": "0.5",
        "CT_ARG_STRICT": "true",
        "CT_ARG_SIZE": "small",
    }


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("rows=many", "rows: 'many' is no integer"),
        ("rows=1.5", "rows: '1.5' is no integer"),
        ("rows=0", "rows: '0' is below 1"),
        ("rows=100", "rows: '100' is above 99"),
        ("rows= 7", "rows: ' 7' is no integer"),
        ("rows=1_0", "rows: '1_0' is no integer"),
        ("rows=٣", "rows: '٣' is no integer"),
        ("rows=" + "9" * 5000, f"rows: '{'9' * 5000}' is no integer"),
        ("ratio=nan", "ratio: 'nan' is no number"),
        ("ratio=1e999", "ratio: '1e999' is no finite number"),
        ("ratio=1_0.5", "ratio: '1_0.5' is no number"),
        ("ratio=٣.٥", "ratio: '٣.٥' is no number"),
        (
            "size=a\udcffb",
            r"'size=a\udcffb' is not valid UTF-8, or holds a NUL; leave that out",
        ),
        (
            "size=a\0b",
            r"'size=a\0b' is not valid UTF-8, or holds a NUL; leave that out",
        ),
        ("ratio=x", "ratio: 'x' is no number"),
        ("strict=1", "strict: '1' is no boolean (true or false)"),
        ("size=huge", "size: 'huge' is not one of: small, large"),
        (
            "sise=large",
            "no argument of a selected environment is named 'sise'; did you mean 'size'?",
        ),
        ("rows", "'rows' is not key=value or env:key=value"),
        ("=3", "'=3' is not key=value or env:key=value"),
        ("shop:rows=3", "no selected environment is named 'shop'; valid: mini"),
        ("mini:row=3", "no argument of mini is named 'row'; did you mean 'rows'?"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, pair: str, words: str) -> None:
    assert refusal(pair, of=[environment(tmp_path)]) == f"--env-arg: {words}"


def test_a_key_of_two_environments_gets_the_exact_spellings(tmp_path: Path) -> None:
    both = [environment(tmp_path), environment(tmp_path, "shop")]
    assert refusal("rows=3", of=both) == (
        "--env-arg: 'rows' is an argument of 2 selected environments; write 'mini:rows=…' or "
        "'shop:rows=…'"
    )
    assert [v["rows"] for v in bound("mini:rows=3", "shop:rows=4", of=both)] == [3, 4]


def test_a_key_of_one_of_them_needs_no_prefix(tmp_path: Path) -> None:
    both = [environment(tmp_path), environment(tmp_path, "bare", more="")]
    assert [values.get("rows") for values in bound("rows=3", of=both)] == [3, None]


@pytest.mark.parametrize("pairs", [("rows=3", "rows=3"), ("rows=3", "mini:rows=4")])
def test_a_key_that_is_given_twice_is_refused(tmp_path: Path, pairs: tuple[str, str]) -> None:
    assert "is given twice" in refusal(*pairs, of=[environment(tmp_path)])


def test_what_was_recorded_holds_unless_something_else_is_given(tmp_path: Path) -> None:
    recorded = {"rows": 20, "size": "large"}
    [values] = bound("rows=3", of=[environment(tmp_path)], recorded=recorded)
    assert (values["rows"], values["size"], values["ratio"]) == (3, "large", 0.5)
    message = refusal(of=[environment(tmp_path)], recorded={"gone": 1})
    assert message.startswith("the trajectory's arguments: no argument of mini is named 'gone'")


def test_what_was_recorded_and_is_not_allowed_any_more_can_be_replaced(tmp_path: Path) -> None:
    one, recorded = environment(tmp_path), {"rows": 1000}
    assert refusal(of=[one], recorded=recorded) == (
        "the trajectory's arguments: rows: '1000' is above 99; set it with --env-arg rows=…"
    )
    assert bound("rows=9", of=[one], recorded=recorded)[0]["rows"] == 9


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("{type: integer}", "the field 'args.rows.default' is missing"),
        ("{type: int, default: 1}", "args.rows.type: must be 'string', 'integer'"),
        ("{type: integer, default: x}", "args.rows: its value 'x' is no integer"),
        ("{type: integer, default: 5, maximum: 4}", "args.rows: its value '5' is above 4"),
        ("{type: string, default: a, choices: [b]}", "args.rows: its value 'a' is not one of: b"),
        ("{type: integer, default: 1, unit: s}", "no field is named 'args.rows.unit'"),
    ],
)
def test_a_declaration_that_is_wrong(tmp_path: Path, declared: str, words: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        environment(tmp_path, more=f"args:\n  rows: {declared}\n")
    assert words in str(caught.value)


def test_a_name_that_is_no_variable(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="'Max-Rows' is no name"):
        environment(tmp_path, more="args:\n  Max-Rows: {type: integer, default: 1}\n")
