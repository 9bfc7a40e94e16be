"""What a policy or a protocol needs of the run, checked against what there is."""

from __future__ import annotations

from typing import Any

from control_tower.components import Component
from control_tower.errors import UsageProblem


def check_needs(
    harness: Component[Any],
    policy: Component[Any],
    protocol: Component[Any],
    *,
    network_control: bool,
    flag: str,
    without_network: str | None = None,
) -> None:
    """Refuse a component that needs what this run does not have.

    Args:
        harness: the run's; what it gives is there.
        policy: the run's; it says whether a turn can be drawn again.
        protocol: the run's.
        network_control: whether blue may change the agent's network.
        flag: the option that lets it.
        without_network: the option that leaves no network to change, if one was given.

    Raises:
        UsageProblem: names the component, and the harness, the policy or the option that is in
            the way.
    """
    for component in (policy, protocol):
        who = f"{component.kind} '{component.name}'"
        if "network_control" in component.needs and not network_control:
            changes = f"{who} changes the agent's network"
            if without_network:
                none = f"{changes}, and with {without_network} there is none; choose another"
                raise UsageProblem(none)
            raise UsageProblem(f"{changes}, which needs {flag}; add it")
        if "redraws" in component.needs and not policy.redraws:
            raise UsageProblem(
                f"{who} draws turns again, and policy '{policy.name}' cannot: it moves on with "
                "every proposal; choose another policy or protocol"
            )
        for need in sorted(component.needs - harness.gives - {"redraws", "network_control"}):
            raise UsageProblem(
                f"{who} needs {need.replace('_', ' ')}, which harness '{harness.name}' cannot "
                "give; choose another"
            )
