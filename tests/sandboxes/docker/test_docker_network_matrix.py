"""Who reaches whom, on real networks, for every flag; before and after root tries to undo it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import anyio
import pytest
from support.networks import PORT, SERVICES, World, addresses_of, docker, probe, world
from support.reaching import Reached, reached, reached_by_root, sample, table

from control_tower.sandboxes.docker.host_guard import lift_guard
from control_tower.sandboxes.docker.reach import Reach
from control_tower.sandboxes.owners import own_directory

pytestmark = [pytest.mark.docker, pytest.mark.slow]

TABLE = "CT_NETWORK_MATRIX"
"""The variable with a file's path into which the matrix is written."""

NOBODY = Reached(*(False,) * 12)
SIBLINGS_TALK = replace(NOBODY, siblings_to_each_other=True)


@pytest.fixture(scope="module")
def around() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture(scope="module")
def matrix() -> Iterator[dict[str, Reached]]:
    rows: dict[str, Reached] = {}
    yield rows
    if path := os.environ.get(TABLE):
        Path(path).write_text(table(rows) + "\n")


@pytest.fixture(autouse=True)
def without_rules_left() -> Iterator[None]:
    yield
    assert lift_guard(own_directory())


def expected(*, internet: bool, reach: Reach) -> Reached:
    siblings = not reach.no_intranet
    outside = internet and not reach.no_internet
    return replace(
        SIBLINGS_TALK,
        sibling_by_name=siblings,
        sibling_by_address=siblings,
        outside_by_name=outside,
        outside_by_address=outside,
        name_told_outside=outside,
    )


def name_of(*, internet: bool, reach: Reach) -> str:
    flags = [
        flag
        for flag, given in (
            ("--no-internet", reach.no_internet),
            ("--no-intranet", reach.no_intranet),
            ("--network-control", reach.network_control),
        )
        if given
    ]
    return " ".join([f"network: {'internet' if internet else 'none'}", *flags])


@pytest.mark.parametrize(
    ("internet", "no_internet", "no_intranet", "network_control"),
    [
        *product([False], [False], [False, True], [False, True]),
        *product([True], [False, True], [False, True], [False, True]),
    ],
)
def test_the_agent_reaches_what_it_may_and_nothing_else(
    around: World,
    matrix: dict[str, Reached],
    internet: bool,
    no_internet: bool,
    no_intranet: bool,
    network_control: bool,
) -> None:
    reach = Reach(no_internet, no_intranet, network_control)
    name = name_of(internet=internet, reach=reach)

    async def run() -> None:
        async with sample(around, internet=internet, reach=reach) as containers:
            matrix[name] = reached(around, containers)
            matrix[f"{name}; root tries"] = reached_by_root(around, containers)

    anyio.run(run)
    wanted = expected(internet=internet, reach=reach)
    assert matrix[name] == wanted
    after = matrix[f"{name}; root tries"]
    assert after == wanted


def test_what_root_tries_would_work_on_bridges_that_nobody_guards(around: World) -> None:
    reach = Reach(no_intranet=False, network_control=True)
    found: list[Reached] = []

    async def run() -> None:
        async with sample(around, internet=True, reach=reach, guarded=False) as containers:
            found.append(reached_by_root(around, containers))

    anyio.run(run)
    [after] = found
    assert (after.host, after.host_by_ipv6, after.host_by_datagram) == (True, True, True)
    assert after.metadata


def test_agents_of_two_samples_do_not_reach_each_other(around: World) -> None:
    async def run() -> None:
        one, other = (sample(around, internet=True, reach=Reach()) for _ in range(2))
        async with one as mine, other as theirs:
            serving = ["python3", "-c", SERVICES, "agent", str(PORT)]
            docker("exec", "-d", theirs["default"], *serving)
            targets = {
                address: (address, PORT)
                for container in theirs.values()
                for address in addresses_of(container).values()
            }
            assert len(targets) == 4
            own = probe(theirs["worker"], "wait", targets)
            assert len(own) == 3, "the agent's address on the egress is not theirs to see"
            assert probe(mine["default"], "reach", targets) == {}

    anyio.run(run)
