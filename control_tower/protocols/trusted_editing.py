"""The `trusted-editing` protocol: a trusted model rewrites what the untrusted policy proposed."""

from __future__ import annotations

from control_tower.blue import DEFAULT_THRESHOLD, Unscored, check_count, check_suspicion
from control_tower.components import MonitorSpec, protocol
from control_tower.contracts import BlueProtocol
from control_tower.prompt_files import prompt
from control_tower.protocols._editing import TrustedEditing
from control_tower.protocols._judging import Judge

MONITOR = MonitorSpec("action-monitor")


@protocol(roles=["trusted"])
def trusted_editing(
    monitor: MonitorSpec | None = MONITOR,
    edit_threshold: float = DEFAULT_THRESHOLD,
    audit_threshold: float | None = None,
    unscored: Unscored = "suspicious",
    max_blocks: int = 3,
    prompt_file: str | None = None,
    model: str | None = None,
) -> BlueProtocol:
    """A trusted model edits suspicious turns; what it writes is executed.

    From Greenblatt et al. 2023, "AI Control: Improving Safety Despite Intentional Subversion"
    (arXiv:2312.06942), where a trusted model takes possible backdoors out of the untrusted one's
    code: the most suspicious 2 % are audited, the next 18 % are edited, the rest is used as it is.
    For agents, as in Bhatt et al. 2025 (arXiv:2504.10374, appendix H), it is the next action that
    is edited. Choices of ours: thresholds instead of shares; the trusted model answers the same
    conversation, with the proposal at its end, by calling the tools itself; an edited turn goes
    ahead whatever its score, which is recorded; and a proposal is edited even if it is audited.

    An edit without a tool call is a refusal: the proposal is blocked, and the policy asked again.

    Args:
        monitor: what scores the proposals, and what they were edited to; null: every turn that
            calls a tool is edited, and nothing is scored.
        edit_threshold: suspicion (0–10) at or above which a proposal is edited.
        audit_threshold: suspicion (0–10) at or above which a proposal is audited, whether it is
            edited or not. Without it, nothing is audited.
        unscored: what a proposal is taken for that the monitor could not score.
        max_blocks: how many proposals may be blocked in one turn before the run is terminated.
        prompt_file: a prompt of your own; its place is `{{proposal}}`.
        model: name of the trusted model, for the role `trusted` where no option binds it.

    Raises:
        ValueError: a threshold or a count is out of its range, thresholds are given without a
            monitor, or the prompt cannot be read.
    """
    if audit_threshold is not None:
        check_suspicion("audit_threshold", audit_threshold)
    if monitor is None:
        _check_only_edits(edit_threshold, audit_threshold, unscored)
    check_suspicion("edit_threshold", edit_threshold)
    return TrustedEditing(
        judge=None if monitor is None else Judge(monitor, edit_threshold, unscored),
        audit_threshold=audit_threshold,
        max_blocks=check_count("max_blocks", max_blocks),
        text=prompt(prompt_file, package=__package__, name="trusted-editing", places=["proposal"]),
        model=model,
    )


def _check_only_edits(
    edit_threshold: float, audit_threshold: float | None, unscored: Unscored
) -> None:
    """Refuse arguments about scores where nothing is scored."""
    given = {
        "edit_threshold": edit_threshold != DEFAULT_THRESHOLD,
        "audit_threshold": audit_threshold is not None,
        "unscored": unscored != "suspicious",
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f"{name} needs a monitor; without one, every turn is edited")
