"""`ForRole`: monitors that are to ask the model of one role."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_tower.components import MonitorSpec, find_component
from control_tower.components.spelling import type_words

MORE = '''

from control_tower.components import ForRole


@monitor(roles=[])
def alone(role: str = "x") -> Monitor:
    """Ask nobody."""
    return Watcher()


@monitor(roles=[])
def holds(member: MonitorSpec = MonitorSpec(__name__ + ":watcher")) -> Monitor:
    """Ask one."""
    return Watcher(member=member.create())


@protocol()
def own(
    monitor: Annotated[MonitorSpec, ForRole("mine")] = MonitorSpec(__name__ + ":watcher"),
    several: list[Annotated[MonitorSpec, ForRole("mine")]] | None = None,
    maybe: Annotated[MonitorSpec | None, ForRole("mine")] = None,
    other: MonitorSpec | None = None,
) -> BlueProtocol:
    """Guard."""
    return Guard()
'''


@pytest.fixture
def module(outside: str, tmp_path: Path) -> str:
    file = tmp_path / f"{outside}.py"
    file.write_text(file.read_text() + MORE)
    return outside


@pytest.mark.parametrize(
    ("pair", "bound"),
    [
        ("monitor=HERE:watcher", {"mine": None}),
        ("monitor={name: HERE:watcher, draws: 2}", {"mine": None}),
        ("monitor={name: HERE:watcher, model: a/b}", {"monitor": "a/b"}),
        ("monitor={name: HERE:watcher, role: r}", {"r": None}),
        ("monitor=HERE:pair", {"left": "a/default", "right": None}),
        ("monitor={name: HERE:pair, model: null}", {"mine": None, "right": None}),
        ("monitor=HERE:alone", {}),
        ("monitor=HERE:holds", {"mine": None}),
        ("monitor={name: HERE:several, members: [HERE:watcher, HERE:holds]}", {"mine": None}),
        ("several=[HERE:watcher, {name: HERE:watcher, role: r}]", {"mine": None, "r": None}),
        ("maybe=HERE:watcher", {"mine": None}),
        ("maybe=null", {}),
        ("other=HERE:watcher", {"monitor": None}),
    ],
)
def test_the_role_is_that_of_monitors_that_were_given_neither_role_nor_model(
    module: str, pair: str, bound: dict[str, str | None]
) -> None:
    own = find_component("protocol", f"{module}:own", flag="-b")
    args = own.parse_args([pair.replace("HERE", module)], flag="-bp")
    default = {} if pair.startswith("monitor=") else {"monitor": None}
    assert own.bindings(args) == {**default, **bound}


def test_the_parameter_is_a_monitor_to_the_reader(module: str) -> None:
    parameters = find_component("protocol", f"{module}:own", flag="-b").signature.parameters
    assert type_words(parameters["monitor"].hint) == "monitor"
    assert parameters["monitor"].default == MonitorSpec(f"{module}:watcher")
