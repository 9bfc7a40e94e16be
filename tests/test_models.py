"""Which model plays which role: the order of places, and what is said when none does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from control_tower.components import Component, find_component
from control_tower.errors import UsageProblem
from control_tower.models import check_models, check_roles, resolve_models, role_variable
from control_tower.run_options import RunOptions

HONEST = find_component("policy", "honest", flag="--untrusted-policy")
NOOP = find_component("policy", "noop", flag="--untrusted-policy")
NULL = find_component("protocol", "null-blue-team", flag="--protocol")
TRUSTING: Component[Any] = Component(
    kind="protocol", name="watchful", factory=lambda: None, roles=("trusted", "helper")
)


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("untrusted", "trusted", "helper"):
        monkeypatch.delenv(role_variable(role), raising=False)
    for name in ("INSPECT_EVAL_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def options(*roles: str, front_end: Any = "ct") -> RunOptions:
    return RunOptions.from_values({"model_role": roles}, front_end=front_end)


def resolve(
    given: RunOptions,
    policy: Component[Any] = HONEST,
    args: Mapping[str, Any] | None = None,
    protocol: Component[Any] = NULL,
    protocol_args: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    return resolve_models(given, [(policy, args or {}), (protocol, protocol_args or {})])


def test_the_nearest_place_to_the_user_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    assert resolve(options()) == {"untrusted": "a/inspect"}
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "a/variable")
    assert resolve(options()) == {"untrusted": "a/variable"}
    assert resolve(options(), args={"model": "a/argument"}) == {"untrusted": "a/argument"}
    role = options("untrusted=a/flag")
    assert resolve(role, args={"model": "a/argument"}) == {"untrusted": "a/flag"}


def test_empty_places_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_MODEL_UNTRUSTED", "")
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    assert resolve(options(), args={"model": None}) == {"untrusted": "a/inspect"}


def test_a_model_name_may_hold_an_equals_sign() -> None:
    assert resolve(options("untrusted=a/b=c"))["untrusted"] == "a/b=c"


def test_without_any_the_ways_to_give_one_are_named() -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options())
    assert str(caught.value) == (
        "policy 'honest' needs a model for role 'untrusted': give --model-role "
        "untrusted=PROVIDER/MODEL, or set CT_MODEL_UNTRUSTED or INSPECT_EVAL_MODEL"
    )
    with pytest.raises(UsageProblem, match="give --ct-model-role untrusted="):
        resolve(options(front_end="pytest"))


def test_components_that_call_no_model_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "a/inspect")
    assert resolve(options(), NOOP) == {}


def test_each_role_of_policy_and_protocol_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_MODEL_HELPER", "a/helper")
    models = resolve(
        options("untrusted=a/red"), protocol=TRUSTING, protocol_args={"model": "a/blue"}
    )
    assert models == {"helper": "a/helper", "trusted": "a/blue", "untrusted": "a/red"}


def test_a_model_argument_is_for_the_first_role_only() -> None:
    given = options("untrusted=a/red")
    with pytest.raises(UsageProblem, match="'watchful' needs a model for role 'helper'"):
        resolve(given, protocol=TRUSTING, protocol_args={"model": "a/blue"})


@pytest.mark.parametrize("pair", ["untrusted", "=a/b", "untrusted=", ""])
def test_a_malformed_pair_is_refused(pair: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options(pair))
    assert str(caught.value) == f"--model-role: '{pair}' is not role=model"


def test_a_role_given_twice_is_refused() -> None:
    with pytest.raises(UsageProblem, match=r"^--model-role: role 'untrusted' is given twice$"):
        resolve(options("untrusted=a/b", "untrusted=a/b"))


def test_a_typo_in_a_role_gets_the_nearest() -> None:
    with pytest.raises(UsageProblem) as caught:
        resolve(options("untrsuted=a/b"))
    assert str(caught.value).startswith("--model-role: no role of the chosen policy and protocol")
    assert str(caught.value).endswith("is named 'untrsuted'; did you mean 'untrusted'?")


def test_a_role_for_a_policy_that_binds_none_is_refused() -> None:
    with pytest.raises(UsageProblem, match=r"--model-role: no role .* is available"):
        resolve(options("untrusted=a/b"), NOOP)


def test_role_names_are_checked_before_models_are_needed() -> None:
    check_roles(options(), [(HONEST, {})])
    with pytest.raises(UsageProblem, match="did you mean 'untrusted'"):
        check_roles(options("untrused=a/b"), [(HONEST, {})])


def test_a_model_that_can_be_made_passes() -> None:
    check_models({"untrusted": "mockllm/model"}, flag="--model-role")
    check_models({}, flag="--model-role")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("openai/gpt-4o", "openai"),
        ("no-such-provider/x", "no-such-provider"),
        ("gpt-4o", "gpt-4o"),
        ("anthropic/claude-opus-4-0", "anthropic"),
    ],
)
def test_a_model_that_cannot_be_made_is_one_line(name: str, complaint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        check_models({"untrusted": name}, flag="--model-role")
    message = str(caught.value)
    assert message.startswith(f"model '{name}' (role untrusted): ")
    assert complaint in message.removeprefix(f"model '{name}'").lower()
    assert "\n" not in message
    assert "[bold]" not in message and "[/" not in message
