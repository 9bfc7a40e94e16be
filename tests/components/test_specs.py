"""`MonitorSpec`: a monitor and its arguments as an argument of something else."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

from control_tower.components import Component, MonitorSpec, args_as_json, find_component
from control_tower.errors import UsageProblem

FLAG = "-bp"


@pytest.fixture
def guard(outside: str) -> Component[Any]:
    return find_component("protocol", f"{outside}:guard", flag=FLAG)


def refusal(component: Component[Any], *pairs: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        component.parse_args(pairs, flag=FLAG)
    message = str(caught.value)
    assert "\n" not in message
    return message


def monitor_of(component: Component[Any], *pairs: str) -> Any:
    """The first monitor that the protocol got, made."""
    return component.create(component.parse_args(pairs, flag=FLAG)).settings[0].create().monitor


def test_a_default_spec_makes_the_monitor(guard: Component[Any]) -> None:
    assert monitor_of(guard).settings["draws"] == 1


def test_a_monitor_is_named_by_a_reference(guard: Component[Any], outside: str) -> None:
    assert monitor_of(guard, f"monitor={outside}:pair").settings == {
        "model": "a/default",
        "role": None,
    }


def test_a_monitor_has_arguments_of_its_own(guard: Component[Any], outside: str) -> None:
    text = f"{{name: {outside}:watcher, draws: 3, title: yes, labels: [no, 1e3]}}"
    settings = monitor_of(guard, f"monitor={text}").settings
    assert (settings["draws"], settings["title"], settings["labels"]) == (3, "yes", ["no", "1e3"])


def test_each_made_monitor_is_fresh(outside: str) -> None:
    spec = MonitorSpec(f"{outside}:watcher")
    assert spec.create() is not spec.create()


def test_specs_may_be_null_and_in_lists_and_mappings(guard: Component[Any], outside: str) -> None:
    watcher = f"{outside}:watcher"
    args = guard.parse_args(
        [
            "second=null",
            f"others=[{watcher}, {{name: {watcher}, title: off}}]",
            f"by_name={{a: {watcher}}}",
        ],
        flag=FLAG,
    )
    assert args == {
        "second": None,
        "others": [MonitorSpec(watcher), MonitorSpec(watcher, title="off")],
        "by_name": {"a": MonitorSpec(watcher)},
    }


def test_a_monitor_may_have_monitors(guard: Component[Any], outside: str) -> None:
    text = f"{{name: {outside}:several, members: [{{name: {outside}:watcher, title: 007}}]}}"
    [member] = monitor_of(guard, f"monitor={text}").settings["members"]
    assert member.monitor.settings["title"] == "007"


WRONG = [
    (
        "monitor=acton-monitor",
        "monitor of 'guard': no monitor is named 'acton-monitor'; did you mean 'action-monitor'",
    ),
    ("monitor=null", "monitor of 'guard': no monitor is named 'null'"),
    ("monitor=[a]", "monitor of 'guard': it must be a monitor's name, or a mapping with its name"),
    ("monitor={draws: 3}", "monitor of 'guard': it must be a monitor's name, or a mapping"),
    ("monitor={name: [a]}", "monitor of 'guard': it must be a monitor's name, or a mapping"),
    (
        "monitor={name: HERE:watcher, drwas: 3}",
        "monitor of 'guard': no argument of 'watcher' is named 'drwas'; did you mean 'draws'? "
        "('watcher' takes model, role, draws, title, labels)",
    ),
    (
        "monitor={name: HERE:watcher, draws: many}",
        "monitor of 'guard': draws of 'watcher': Input should be a valid integer, unable to parse "
        "string as an integer (given 'many')",
    ),
    (
        "others=[HERE:watcher, {name: HERE:watcher, draws: many}]",
        "others.1 of 'guard': draws of 'watcher': Input should be",
    ),
    (
        "monitor={name: HERE:several, members: [{name: HERE:watcher, drwas: 3}]}",
        "monitor of 'guard': members.0 of 'several': no argument of 'watcher' is named 'drwas'",
    ),
    ("monitor=HERE:several", "monitor of 'guard': members of 'several': Field required"),
    (
        "monitor={name: HERE:watcher, draws: 0}",
        "monitor of 'guard': 'watcher': at least one draw is needed",
    ),
    (
        "monitor={name: HERE:several, members: [{name: HERE:watcher, draws: 0}]}",
        "monitor of 'guard': members.0 of 'several': 'watcher': at least one draw is needed",
    ),
    ("monitor=HERE:guard", "'HERE:guard' does not name a monitor; mark its factory with @monitor"),
    ("monitor={name: a, name: b}", "monitor of 'guard': the key 'name' is there twice"),
    ("monitor={name: no_such:x}", "cannot import 'no_such' of 'no_such:x'; give the directory"),
]


@pytest.mark.parametrize(("pair", "words"), WRONG)
def test_what_is_wrong_names_flag_component_and_monitor(
    guard: Component[Any], outside: str, pair: str, words: str
) -> None:
    message = refusal(guard, pair.replace("HERE", outside))
    assert message.startswith(f"{FLAG}: ")
    assert words.replace("HERE", outside) in message


def test_a_default_that_is_wrong_is_told_before_the_run(outside: str) -> None:
    component = find_component("protocol", f"{outside}:typo", flag=FLAG)
    assert "monitor of 'typo': no argument of 'watcher' is named 'drwas'" in refusal(component)


def test_a_spec_is_pydantic_s_to_validate_and_to_serialise(outside: str) -> None:
    class Settings(pydantic.BaseModel):
        monitor: MonitorSpec

    watcher = f"{outside}:watcher"
    assert Settings(monitor=watcher).model_dump(mode="json") == {"monitor": watcher}  # type: ignore[arg-type]
    data = {"monitor": {"name": watcher, "draws": 2}}
    assert json.loads(Settings.model_validate(data).model_dump_json()) == data
    with pytest.raises(pydantic.ValidationError, match="no monitor is named 'nobody'"):
        Settings.model_validate({"monitor": "nobody"})


def test_arguments_with_specs_are_recorded_as_they_are_written(
    guard: Component[Any], outside: str
) -> None:
    watcher = {"name": f"{outside}:watcher", "labels": ["a"]}
    written = {
        "monitor": {"name": f"{outside}:several", "members": [watcher, f"{outside}:watcher"]},
        "others": [watcher],
        "second": None,
    }
    pairs = [f"{key}={json.dumps(value)}" for key, value in written.items()]
    recorded = args_as_json(guard.parse_args(pairs, flag=FLAG))
    assert json.loads(json.dumps(recorded)) == written


def test_specs_are_equal_by_name_and_arguments() -> None:
    assert MonitorSpec("a", draws=1) == MonitorSpec("a", draws=1)
    assert MonitorSpec("a") != MonitorSpec("a", draws=1)
    assert MonitorSpec("a") != MonitorSpec("b")
    assert repr(MonitorSpec("a", draws=1)) == "MonitorSpec('a', draws=1)"


def test_a_monitor_cannot_have_a_parameter_called_name() -> None:
    from control_tower.components import monitor

    with pytest.raises(TypeError, match="a monitor cannot have a parameter 'name'"):

        @monitor()
        def odd(name: str) -> Any:
            """Odd."""
