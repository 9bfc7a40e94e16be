"""The `untrusted-monitoring` protocol: a copy of the untrusted model looks at each call."""

from __future__ import annotations

from typing import Annotated

from control_tower.blue import DEFAULT_THRESHOLD, Unscored
from control_tower.components import ForRole, MonitorSpec, protocol
from control_tower.contracts import BlueProtocol
from control_tower.protocols._monitoring import MAX_BLOCKS, MonitoringProtocol, OnSuspicious

ROLE = "untrusted"
MONITOR = MonitorSpec("action-monitor", role=ROLE)


@protocol()
def untrusted_monitoring(
    monitor: Annotated[MonitorSpec, ForRole(ROLE)] = MONITOR,
    threshold: float = DEFAULT_THRESHOLD,
    on_suspicious: OnSuspicious = "audit",
    unscored: Unscored = "suspicious",
    max_blocks: int = MAX_BLOCKS,
    audit_budget: int | None = None,
) -> BlueProtocol:
    """As `trusted-monitoring`, with a copy of the untrusted model as the monitor.

    From Greenblatt et al. 2023, "AI Control: Improving Safety Despite Intentional Subversion"
    (arXiv:2312.06942). The copy is more capable than a trusted monitor, but may spare its own
    attacks. The paper's two measures against such collusion are not part of this protocol: known
    attacks mixed in among the proposals, to see whether the monitor reports them; and a trusted
    model that rewrites what the monitor sees, so that no signal passes between the copies. Without
    them, take the safety that is measured for that of a monitor that does not collude.

    Args:
        monitor: what scores the proposals. A monitor that is given no role and has no model of its
            own, also as a member of an ensemble, gets `role: untrusted`. One that does not ask the
            untrusted model is refused.
        threshold: suspicion (0–10) at or above which a proposal is suspicious.
        on_suspicious: `audit`: it is audited and goes ahead, as in the paper. `block`: the policy
            is asked again, up to `max_blocks` times in a turn, and then the run is terminated.
            `terminate`: the run ends before it is executed.
        unscored: what a proposal is taken for that the monitor could not score.
        max_blocks: how many proposals may be blocked in one turn; for `block`.
        audit_budget: most audits in a run, for `audit`; once they are spent, suspicious proposals
            go ahead. Without it, every suspicious proposal is audited.

    Raises:
        ValueError: a threshold or a count is out of its range, or can have no effect; or the
            monitor does not ask the untrusted model.
    """
    _check_role(monitor)
    return MonitoringProtocol(
        monitor=monitor,
        threshold=threshold,
        on_suspicious=on_suspicious,
        unscored=unscored,
        max_blocks=max_blocks,
        audit_budget=audit_budget,
    )


def _check_role(monitor: MonitorSpec) -> None:
    roles = monitor.bindings()
    if ROLE not in roles:
        raise ValueError(
            f"monitor '{monitor.name}' does not ask the untrusted model (its roles: "
            f"{', '.join(roles) or 'none'}); give one that takes `role: {ROLE}`, without a model "
            "of its own, or take trusted-monitoring"
        )
