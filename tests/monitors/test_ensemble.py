"""Ensembles: their members, the reducer, and members without a score."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from inspect_ai.model import ModelOutput
from inspect_ai.util import LimitExceededError
from support.monitors import FakeModel, case, reply, says
from support.protocols import ScriptedMonitor, bound

from control_tower.components import MonitorSpec, find_component
from control_tower.contracts import Case, Monitor
from control_tower.monitors.ensemble import ensemble
from control_tower.trajectories.schema import MonitorResponse


def test_the_scores_are_reduced_and_the_members_kept_by_name() -> None:
    members = [ScriptedMonitor(2).spec, ScriptedMonitor(7).spec]
    response = _score(ensemble(members=members, reducer="max"))
    assert response.sus_score == 7
    assert response.error is None
    assert [member.sus_score for member in response.members] == [2, 7]
    assert [member.name for member in response.members] == [
        "support.protocols:watched",
        "support.protocols:watched-2",
    ]
    assert response.model_name == "scripted/monitor"


@pytest.mark.parametrize(("reducer", "score"), [("mean", 4), ("median", 2), ("min", 1)])
def test_every_reducer_is_known(reducer: str, score: float) -> None:
    members = [ScriptedMonitor(number).spec for number in (1, 9, 2)]
    assert _score(ensemble(members=members, reducer=reducer)).sus_score == score


def test_every_member_is_asked_about_the_case() -> None:
    members = [ScriptedMonitor(1), ScriptedMonitor(2)]
    about = case()
    monitor = ensemble(members=[member.spec for member in members])
    anyio.run(monitor.score, about)
    assert [member.cases for member in members] == [[about], [about]]


def test_members_are_asked_at_once() -> None:
    slow, other = ScriptedMonitor(4, slow=True), ScriptedMonitor(6, slow=True)
    monitor = ensemble(members=[slow.spec, other.spec])

    async def both_wait() -> None:
        with anyio.fail_after(20):
            await slow.asked.wait()
            await other.asked.wait()
        slow.release.set()
        other.release.set()

    async def run() -> MonitorResponse:
        async with anyio.create_task_group() as group:
            group.start_soon(both_wait)
            return await monitor.score(case())
        raise AssertionError

    assert anyio.run(run).sus_score == 5


def test_a_member_without_a_score_leaves_it_unscored_unless_it_is_skipped() -> None:
    members = [ScriptedMonitor(8).spec, ScriptedMonitor(None).spec]
    strict = _score(ensemble(members=members))
    assert strict.sus_score is None
    assert strict.error == (
        "1 of 2 have no score; 'support.protocols:watched-2': the reply could not be parsed"
    )
    assert _score(ensemble(members=members, unscored_members="skip")).sus_score == 8


def test_without_any_score_skipping_is_unscored_too() -> None:
    members = [ScriptedMonitor(None).spec, ScriptedMonitor(None).spec]
    assert _score(ensemble(members=members, unscored_members="skip")).sus_score is None


@pytest.mark.parametrize("score", [10.5, -1, float("nan"), float("inf")])
def test_a_score_off_the_scale_is_none(score: float) -> None:
    members = [ScriptedMonitor(score).spec, ScriptedMonitor(1).spec]
    response = _score(ensemble(members=members, unscored_members="skip"))
    assert response.sus_score == 1
    assert "not on the scale" in (response.members[0].error or "")


def test_the_draws_of_a_member_are_kept() -> None:
    members = [
        MonitorSpec("action-monitor", draws=2, reducer="min"),
        MonitorSpec("trajectory-monitor", role="second"),
    ]
    monitor = ensemble(members=members, reducer="max")
    first, second = FakeModel(says(3), says(5)), FakeModel(says(4))

    async def run() -> MonitorResponse:
        with bound(monitor=first, second=second):
            return await monitor.score(case())

    response = anyio.run(run)
    assert response.sus_score == 4
    action_member, trajectory_member = response.members
    assert action_member.name == "action-monitor"
    assert sorted(draw.sus_score or 0 for draw in action_member.members) == [3, 5]
    assert trajectory_member.members == []
    assert "<suspicion>4</suspicion>" in trajectory_member.reply


def test_a_member_that_cannot_be_parsed_is_the_reason() -> None:
    monitor = ensemble(members=[MonitorSpec("action-monitor", retries=0)])

    async def run() -> MonitorResponse:
        with bound(monitor=FakeModel(reply("Hm."))):
            return await monitor.score(case())

    response = anyio.run(run)
    assert response.sus_score is None
    assert "'action-monitor': no verdict after 1 attempt" in (response.error or "")


def test_a_limit_in_two_members_at_once_is_a_limit() -> None:
    async def fails(*_: Any) -> ModelOutput:
        try:
            await anyio.wait_all_tasks_blocked()
        finally:
            raise LimitExceededError("token", value=2, limit=1)

    spec = MonitorSpec("action-monitor", draws=2)
    monitor = ensemble(members=[spec, spec])

    async def run() -> None:
        with bound(monitor=fails):
            await monitor.score(case())

    with pytest.raises(LimitExceededError):
        anyio.run(run)


def test_a_bug_of_a_member_passes_through() -> None:
    class Broken(Monitor):
        async def score(self, case: Case) -> MonitorResponse:
            raise ZeroDivisionError

    class Spec:
        name = "broken"

        def create(self) -> Monitor:
            return Broken()

    members: Any = [Spec(), ScriptedMonitor(1).spec]
    with pytest.raises(ZeroDivisionError):
        _score(ensemble(members=members))


def test_ensembles_can_be_members() -> None:
    inner = MonitorSpec(
        "ensemble", members=[ScriptedMonitor(1).spec, ScriptedMonitor(3).spec], reducer="mean"
    )
    response = _score(ensemble(members=[inner, ScriptedMonitor(6).spec]))
    assert response.sus_score == 4
    assert [member.sus_score for member in response.members[0].members] == [1, 3]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="members is empty"):
        ensemble(members=[])
    with pytest.raises(ValueError, match="no reducer is named 'sum'"):
        ensemble(members=[ScriptedMonitor(1).spec], reducer="sum")


def test_an_ensemble_binds_the_roles_of_its_members() -> None:
    component = find_component("monitor", "ensemble", flag="-bp")
    members = [
        MonitorSpec("action-monitor", model="a/b"),
        MonitorSpec("trajectory-monitor", role="x"),
    ]
    assert component.bindings({"members": members}) == {"monitor": "a/b", "x": None}


def _score(monitor: Monitor) -> MonitorResponse:
    return anyio.run(monitor.score, case())
