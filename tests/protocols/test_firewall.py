"""The rules that open and close the agent's network."""

from __future__ import annotations

import anyio
import pytest
from support.iptables import FakeContainer, Table

from control_tower.protocols._firewall import CHAIN, Firewall, changes

GRANT = f"-I {CHAIN} 1 -j ACCEPT"
TAKE = f"-D {CHAIN} -j ACCEPT"


def test_a_fresh_container_is_closed_by_its_policies_first() -> None:
    first = changes(Table().listing(), granted=False, program="ip6tables")
    assert [" ".join(rule) for rule in first] == [
        "-P INPUT DROP",
        "-P OUTPUT DROP",
        f"-N {CHAIN}",
        f"-A {CHAIN} -i lo -j ACCEPT",
        f"-A {CHAIN} -o lo -j ACCEPT",
        f"-A {CHAIN} -j DROP",
        f"-I INPUT 1 -j {CHAIN}",
        f"-I OUTPUT 1 -j {CHAIN}",
    ]


def test_closed_means_that_docker_s_resolver_is_not_asked_either() -> None:
    rules = [" ".join(rule) for rule in changes(Table().listing(), granted=False)]
    resolver, loopback = f"-A {CHAIN} -d 127.0.0.11/32 -j DROP", f"-A {CHAIN} -o lo -j ACCEPT"
    assert rules.index(resolver) < rules.index(loopback)


def test_giving_and_taking_is_one_command_each_for_each_program() -> None:
    container, firewall = _closed()
    assert anyio.run(firewall.grant) == [f"iptables {GRANT}", f"ip6tables {GRANT}"]
    assert container.is_open() and container.is_open("ip6tables")
    assert anyio.run(firewall.close) == [f"iptables {TAKE}", f"ip6tables {TAKE}"]
    assert not container.is_open() and not container.is_open("ip6tables")


def test_nothing_is_done_where_nothing_needs_changing() -> None:
    container, firewall = _closed()
    before = list(container.commands)
    assert anyio.run(firewall.close) == []
    anyio.run(firewall.grant)
    assert anyio.run(firewall.grant) == []
    assert container.commands == [*before, f"iptables {GRANT}", f"ip6tables {GRANT}"]


def test_loopback_passes_in_both_states() -> None:
    container, firewall = _closed()
    assert container.tables["iptables"].loopback_passes()
    anyio.run(firewall.grant)
    assert container.tables["iptables"].loopback_passes()


def test_a_container_without_ip6tables() -> None:
    container, firewall = _closed(ip6tables=False, addresses="00 01 80 10 80 lo\n")
    assert all(command.startswith("iptables ") for command in container.commands)
    assert not container.is_open()
    assert anyio.run(firewall.grant) == [f"iptables {GRANT}"]


def test_ipv6_that_cannot_be_closed_is_an_error() -> None:
    container = FakeContainer(ip6tables=False, addresses="fe80 02 40 20 80 eth0\n")
    with pytest.raises(RuntimeError, match="no ip6tables"):
        anyio.run(Firewall(container).close)


def test_a_command_that_fails_is_an_error() -> None:
    container = FakeContainer()
    container.fails_on = "-P OUTPUT"
    with pytest.raises(RuntimeError, match="Permission denied"):
        anyio.run(Firewall(container).close)


def test_commands_without_effect_are_an_error() -> None:
    container = FakeContainer(deaf=["ip6tables"])
    with pytest.raises(RuntimeError, match="ip6tables -P INPUT DROP"):
        anyio.run(Firewall(container).close)


def test_flushed_rules_leave_the_network_closed_and_come_back() -> None:
    container, firewall = _closed()
    anyio.run(firewall.grant)
    for chain in container.tables["iptables"].chains.values():
        chain.clear()
    assert not container.is_open()
    assert f"iptables {GRANT}" in anyio.run(firewall.grant)
    assert container.is_open()


@pytest.mark.parametrize(
    "tampering",
    [
        ["-I", CHAIN, "1", "-d", "203.0.113.9/32", "-j", "ACCEPT"],
        ["-I", "OUTPUT", "1", "-j", "ACCEPT"],
        ["-P", "OUTPUT", "ACCEPT"],
        ["-D", "INPUT", "-j", CHAIN],
    ],
)
def test_rules_that_somebody_changed_are_mended(tampering: list[str]) -> None:
    container, firewall = _closed()
    table = container.tables["iptables"]
    table.change(tampering)
    anyio.run(firewall.close)
    assert not table.open
    assert table.loopback_passes()
    assert changes(table.listing(), granted=False) == []


def test_the_container_s_own_rules_do_not_keep_a_closed_network_open() -> None:
    container = FakeContainer()
    container.tables["iptables"].change(["-A", "OUTPUT", "-j", "ACCEPT"])
    anyio.run(Firewall(container).close)
    assert not container.is_open()


def test_nothing_is_open_between_two_states() -> None:
    container, firewall = _closed()
    container.opened.clear()
    anyio.run(firewall.grant)
    anyio.run(firewall.close)
    assert container.opened == [f"iptables {GRANT}", f"ip6tables {GRANT}"]


def _closed(**arguments: object) -> tuple[FakeContainer, Firewall]:
    container = FakeContainer(**arguments)  # type: ignore[arg-type]
    firewall = Firewall(container)
    anyio.run(firewall.close)
    return container, firewall
