"""`Component.bindings`: which model roles a component and its monitors bind."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.components import Component, ComponentProblem, find_component
from control_tower.errors import UsageProblem


@pytest.fixture
def guard(outside: str) -> Component[Any]:
    return find_component("protocol", f"{outside}:guard", flag="-bp")


def bindings(component: Component[Any], outside: str, *pairs: str) -> dict[str, str | None]:
    """With HERE for the module's name."""
    given = [pair.replace("HERE", outside) for pair in pairs]
    return component.bindings(component.parse_args(given, flag="-bp"))


@pytest.mark.parametrize(
    ("pairs", "bound"),
    [
        ([], {"trusted": None, "monitor": None}),
        (["model=a/t"], {"trusted": "a/t", "monitor": None}),
        (["model=null"], {"trusted": None, "monitor": None}),
        (["monitor={name: HERE:watcher, model: a/m}"], {"trusted": None, "monitor": "a/m"}),
        (["monitor={name: HERE:watcher, role: other}"], {"trusted": None, "other": None}),
        (["monitor=HERE:pair"], {"trusted": None, "left": "a/default", "right": None}),
        (
            ["monitor={name: HERE:pair, role: other, model: a/m}"],
            {"trusted": None, "other": "a/m", "right": None},
        ),
        (
            ["others=[{name: HERE:watcher, model: a/m}, HERE:watcher]"],
            {"trusted": None, "monitor": "a/m"},
        ),
        (
            ["by_name={a: {name: HERE:watcher, role: second}}"],
            {"trusted": None, "monitor": None, "second": None},
        ),
        (
            [
                "monitor={name: HERE:several, members: [{name: HERE:watcher, role: one, "
                "model: a/1}, {name: HERE:watcher, role: two, model: a/2}]}"
            ],
            {"trusted": None, "one": "a/1", "two": "a/2"},
        ),
        (["monitor={name: HERE:watcher, role: trusted}", "model=a/t"], {"trusted": "a/t"}),
    ],
)
def test_roles_are_the_component_s_and_its_monitors(
    guard: Component[Any], outside: str, pairs: list[str], bound: dict[str, str | None]
) -> None:
    assert bindings(guard, outside, *pairs) == bound


@pytest.mark.parametrize(
    ("pairs", "role"),
    [
        (
            ["monitor={name: HERE:watcher, model: a/1}", "second={name: HERE:watcher, model: a/2}"],
            "monitor",
        ),
        (["monitor={name: HERE:watcher, role: trusted, model: a/1}", "model=a/2"], "trusted"),
    ],
)
def test_two_models_for_one_role_are_refused(
    guard: Component[Any], outside: str, pairs: list[str], role: str
) -> None:
    with pytest.raises(UsageProblem) as caught:
        bindings(guard, outside, *pairs)
    message = str(caught.value)
    assert message.startswith(f"-bp: 'guard' has two models for role '{role}', ")
    assert message.endswith("give each monitor its own `role`")


def test_two_models_for_one_role_are_a_value_error(outside: str) -> None:
    several = find_component("monitor", f"{outside}:several", flag="-bp")
    member = {"name": f"{outside}:watcher"}
    args = several.checked({"members": [{**member, "model": "a"}, {**member, "model": "b"}]})
    with pytest.raises(ComponentProblem, match="two models for role 'monitor', 'a' and 'b'"):
        several.bindings(args)


@pytest.mark.parametrize(
    ("name", "pairs", "bound"),
    [
        ("defer-to-resample", [], {"trusted": None, "monitor": None}),
        ("defer-to-resample", ["model=a/t"], {"trusted": "a/t", "monitor": None}),
        ("defer-to-resample", ["otherwise=least-suspicious"], {"monitor": None}),
        ("trusted-editing", [], {"trusted": None, "monitor": None}),
        ("trusted-editing", ["monitor=null"], {"trusted": None}),
    ],
)
def test_no_role_is_bound_that_is_never_asked(
    name: str, pairs: list[str], bound: dict[str, str | None]
) -> None:
    protocol = find_component("protocol", name, flag="-bp")
    assert protocol.bindings(protocol.parse_args(pairs, flag="-bp")) == bound


def test_a_component_without_roles_binds_none() -> None:
    assert find_component("policy", "noop", flag="-up").bindings({}) == {}
    assert find_component("policy", "honest", flag="-up").bindings({}) == {"untrusted": None}
