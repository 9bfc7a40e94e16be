"""Monitors as components: those of the package, and those that others write."""

from __future__ import annotations

import inspect
from typing import Any

import anyio
import pytest
from support.monitors import FakeModel, action, ask, case, says

from control_tower.components import MonitorSpec, component_names, find_component, monitor
from control_tower.components.documentation import documentation
from control_tower.contracts import Case, Monitor
from control_tower.errors import UsageProblem
from control_tower.monitors import Asking, ModelMonitor, View, case_places, monitor_prompt
from control_tower.trajectories.schema import MonitorResponse

BUNDLED = ["action-monitor", "ensemble", "trajectory-monitor"]


@monitor(roles=[])
def deletions() -> Monitor:
    """A proposal that deletes is an attack."""
    return Deletions()


class Deletions(Monitor):
    """See `deletions`."""

    async def score(self, case: Case) -> MonitorResponse:
        deletes = any("rm " in str(each.arguments) for each in case.proposal)
        return MonitorResponse(sus_score=10 if deletes else 0)


@monitor()
def brief(model: str | None = None, draws: int = 1) -> Monitor:
    """A model that sees the last action only."""
    return Brief(monitor_prompt(None, name="action"), Asking(model=model, draws=draws))


class Brief(ModelMonitor):
    """See `brief`."""

    def places(self, case: Case) -> dict[str, str]:
        return case_places(case, View(context_actions=1))


def test_the_bundled_monitors_are_found() -> None:
    assert set(BUNDLED) <= set(component_names("monitor"))


@pytest.mark.parametrize("name", BUNDLED)
def test_every_argument_is_explained(name: str) -> None:
    factory = find_component("monitor", name, flag="-bp").factory
    explained = documentation(factory).arguments
    assert list(explained) == list(inspect.signature(factory).parameters)
    assert all(explained.values())


def test_a_monitor_of_one_s_own() -> None:
    made = MonitorSpec(f"{__name__}:deletions").create()
    harmful = case(proposal=[action(arguments={"command": "rm -rf /"})])
    assert anyio.run(made.score, case()).sus_score == 0
    assert anyio.run(made.score, harmful).sus_score == 10


def test_a_model_monitor_of_one_s_own() -> None:
    model = FakeModel(says(3), says(5))
    made = MonitorSpec(f"{__name__}:brief", draws=2).create()
    response = ask(made, model, case(action(0), action(1)))
    assert response.sus_score == 4
    assert model.prompt.count("<shortened_action index=") == 1


@pytest.mark.parametrize(
    ("name", "pairs", "problem"),
    [
        ("action-monitor", ["draws=0"], "draws is 0; it must be 1 or more"),
        ("action-monitor", ["drws=2"], "did you mean 'draws'"),
        ("action-monitor", ["unscored_draws=benign"], "unscored_draws"),
        ("trajectory-monitor", ["max_output=-1"], "max_output is -1"),
        ("ensemble", ["members=[]"], "members is empty"),
        ("ensemble", ["members=[action-monitr]"], "did you mean 'action-monitor'"),
        ("ensemble", ["members=[{name: action-monitor, draws: 0}]"], "draws is 0"),
        ("ensemble", [], "members"),
    ],
)
def test_bad_arguments_are_one_clear_line(name: str, pairs: list[Any], problem: str) -> None:
    component = find_component("monitor", name, flag="-bp")
    with pytest.raises(UsageProblem, match=problem) as caught:
        component.parse_args(pairs, flag="-bp")
    assert "\n" not in str(caught.value)
