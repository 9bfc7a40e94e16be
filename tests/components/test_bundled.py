"""Every bundled component: its name, and what its docstring says."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from control_tower.components import Component, Kind, component_names, find_component
from control_tower.components.documentation import documentation
from control_tower.components.spelling import type_words

BUNDLED = [
    (kind, name)
    for kind in get_args(Kind)
    for name in component_names(kind)
    if find_component(kind, name, flag="a test").factory.__module__.startswith("control_tower.")
]
each_component = pytest.mark.parametrize(("kind", "name"), BUNDLED)


def component(kind: Kind, name: str) -> Component[Any]:
    return find_component(kind, name, flag="a test")


@each_component
def test_its_name_is_its_module_s(kind: Kind, name: str) -> None:
    found = component(kind, name)
    module = found.factory.__module__.rpartition(".")[2]
    assert found.name == name == module.replace("_", "-")


@each_component
def test_its_docstring_says_what_it_is_in_one_line(kind: Kind, name: str) -> None:
    summary = documentation(component(kind, name).factory).summary
    assert summary.endswith(".")
    assert len(summary) <= 100


@each_component
def test_its_docstring_describes_every_parameter_and_no_other(kind: Kind, name: str) -> None:
    found = component(kind, name)
    about = documentation(found.factory).arguments
    assert list(about) == list(found.signature.parameters)
    assert [name for name, text in about.items() if not text] == []


@each_component
def test_its_parameters_have_types_that_can_be_said(kind: Kind, name: str) -> None:
    for parameter in component(kind, name).signature.parameters.values():
        assert type_words(parameter.hint) != "any value", parameter.name
