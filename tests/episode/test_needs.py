"""What components need of a run, and what is said when it is not there."""

from __future__ import annotations

from typing import Any

import pytest
from support.environments import EnvironmentFiles

from control_tower.components import Component, find_component
from control_tower.episode.needs import check_needs
from control_tower.episode.plan import RunPlan, make_plan
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions

FLAG = "--network-control"
NULL = find_component("harness", "null", flag="--harness")
BARE: Component[Any] = Component(kind="harness", name="bare", factory=lambda: None)
REWRITES: Component[Any] = Component(
    kind="protocol",
    name="time-travel",
    factory=lambda: None,
    needs=frozenset({"linear_history"}),
)


NOOP = find_component("policy", "noop", flag="-up")
REFERENCE = find_component("policy", "reference", flag="-up")


def test_a_harness_that_gives_it_is_enough() -> None:
    check_needs(NULL, NOOP, REWRITES, network_control=False, flag=FLAG)


def test_a_harness_that_cannot_give_it_refuses_by_name() -> None:
    with pytest.raises(UsageProblem) as caught:
        check_needs(BARE, NOOP, REWRITES, network_control=False, flag=FLAG)
    assert str(caught.value) == (
        "protocol 'time-travel' needs linear history, which harness 'bare' cannot give; "
        "choose another"
    )


MONITOR: Component[Any] = find_component("protocol", "privilege-monitor", flag="--protocol")


@pytest.mark.parametrize("flag", ["--network-control", "--ct-network-control"])
def test_who_changes_the_network_names_the_option_that_lets_it(flag: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        check_needs(NULL, NOOP, MONITOR, network_control=False, flag=flag)
    assert str(caught.value) == (
        f"protocol 'privilege-monitor' changes the agent's network, which needs {flag}; add it"
    )
    check_needs(NULL, NOOP, MONITOR, network_control=True, flag=flag)


def test_a_policy_that_moves_on_is_refused_where_turns_are_drawn_again() -> None:
    resamples = find_component("protocol", "defer-to-resample", flag="-bp")
    check_needs(NULL, NOOP, resamples, network_control=False, flag=FLAG)
    with pytest.raises(UsageProblem) as caught:
        check_needs(NULL, REFERENCE, resamples, network_control=False, flag=FLAG)
    assert str(caught.value) == (
        "protocol 'defer-to-resample' draws turns again, and policy 'reference' cannot: it moves "
        "on with every proposal; choose another policy or protocol"
    )


def test_a_policy_that_moves_on_is_enough_for_other_protocols() -> None:
    monitoring = find_component("protocol", "trusted-monitoring", flag="-bp")
    check_needs(NULL, REFERENCE, monitoring, network_control=False, flag=FLAG)


def test_the_option_s_need_of_docker_comes_with_it(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles().write(tmp_path)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    values = {
        **{"env": ("mini",), "all": True, "protocol": "privilege-monitor"},
        **{"model_role": ("monitor=scripted/x",), "untrusted_policy": "noop"},
    }

    def plan(**more: Any) -> RunPlan:
        return make_plan(RunOptions.from_values({**values, **more}, front_end="ct"))

    with pytest.raises(UsageProblem, match="--network-control; add it"):
        plan()
    with pytest.raises(UsageProblem, match="--network-control cannot go with --sandbox bwrap"):
        plan(network_control=True, sandbox="bwrap")
    assert plan(network_control=True).sandbox.settings.network_control
