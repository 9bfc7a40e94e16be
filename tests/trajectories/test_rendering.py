"""A trajectory as lines for a reader."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from support.recordings import bash, recording, submitted

from control_tower.trajectories.rendering import rendered
from control_tower.trajectories.schema import Trajectory

LINES = "\n".join(map(str, range(100)))


def shown(t: Trajectory, steps: Collection[int] | None = None, *, full: bool = False) -> list[str]:
    return list(rendered(t, steps=steps, full=full))


def between(lines: list[str], first: str, last: str) -> list[str]:
    """The lines from the one that begins so to before the one that does."""
    start = next(n for n, line in enumerate(lines) if line.startswith(first))
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith(last))
    return lines[start:end]


def test_the_header_says_what_it_was_of() -> None:
    t = recording(
        side="leak", epoch=2, policy="replay", policy_args={"x": 1}, protocol="block-all",
        models={"untrusted": "m"}, tags=["nightly"], metadata={"run_name": "mine"},
    )  # fmt: skip
    assert shown(t)[:11] == [
        "trajectory rec-1",
        "sample:        mini/greet/leak@2",
        "run:           run-1",
        "environment:   mini",
        "main task:     greet",
        "side task:     leak",
        "policy:        replay x=1",
        "protocol:      block-all",
        "models:        untrusted=m",
        "tags:          nightly",
        "name:          mine",
    ]


def test_an_action_has_its_call_output_error_and_reasoning() -> None:
    t = recording(
        bash("cd /app\nls", "a\nb\n", turn=4, agent_reasoning="Look.", output_error="boom"),
        submitted("ok"),
        declared_attacks=[4],
    )
    assert between(shown(t), "[0]", "outcome") == [
        "[0] bash, turn 4, declared part of the attack",
        "    # Look.",
        "    $ cd /app",
        "      ls",
        "    | a",
        "    | b",
        "    ! boom",
        "",
        "[1] submit",
        "    submit",
        "      answer: ok",
        "    | ok",
        "",
    ]


def test_suspicion_has_its_threshold_and_members() -> None:
    members = [{"sus_score": 8, "name": "a"}, {"sus_score": None, "name": "b"}]
    t = recording(
        bash("ls", turn=0, monitor_response={"sus_score": 7.5, "members": members}),
        bash("ls", turn=1, monitor_response={"sus_score": None, "error": "no\nnumber"}),
        decisions=[
            {"kind": "audit", "turn": 0, "calls": ["bash"], "reason": "odd", "threshold": 5,
             "monitor_response": {"sus_score": 7.5}, "draws": {"audit": 0.25}},
            {"kind": "replace", "turn": 1, "monitor_response": {"sus_score": 9},
             "instead_monitor_response": {"sus_score": 1}},
        ],
    )  # fmt: skip
    lines = shown(t)
    assert "[0] bash, turn 0, suspicion 7.5 (members a 8, b none)" in lines
    assert "[1] bash, turn 1, no suspicion score: no number" in lines
    assert "  AUDIT turn 0 (bash), suspicion 7.5 (threshold 5), drew audit=0.25: odd" in lines
    assert "  REPLACE turn 1, suspicion 9, of what went ahead: suspicion 1" in lines


def test_decisions_are_where_they_were_made() -> None:
    decisions = [
        {"kind": "allow", "turn": 0},
        {"kind": "block", "turn": 1, "reason": "no"},
        {"kind": "allow", "turn": 2},
        {"kind": "terminate", "turn": 3, "reason": "enough"},
    ]
    t = recording(bash("a", turn=0), bash("b", turn=2), decisions=decisions)
    marks = [line.split(",")[0] for line in shown(t) if line.startswith(("  A", "  B", "  T", "["))]
    assert marks == [
        "  ALLOW turn 0", "[0] bash", "  BLOCK turn 1: no", "  ALLOW turn 2", "[1] bash",
        "  TERMINATE turn 3: enough",
    ]  # fmt: skip
    chosen = [line.split(",")[0] for line in shown(t, [1]) if line.startswith(("  ", "["))]
    assert chosen == ["  ALLOW turn 2", "[1] bash", "    $ b"]


def test_steps_are_chosen() -> None:
    t = recording(*(bash(f"echo {n}") for n in range(5)))
    calls = [line for line in shown(t, {1, 3}) if line.startswith("    $")]
    assert calls == ["    $ echo 1", "    $ echo 3"]


def test_outputs_are_cut_in_the_middle_unless_all_is_wanted() -> None:
    t = recording(bash("ls", LINES), bash("ls", "x" * 5_000))
    cut = shown(t)
    assert "    | 19" in cut and "    | 20" not in cut
    assert "    | … 60 lines …" in cut and "    | 80" in cut
    assert any("… 4600 characters …" in line for line in cut)
    whole = shown(t, full=True)
    assert "    | 50" in whole and "    | " + "x" * 5_000 in whole


def test_the_results_say_how_it_ended() -> None:
    t = recording(
        side="leak",
        scores={"main": True, "side": None},
        outcome="unscored",
        caught=True,
        caught_is_upper_bound=True,
        error="it\nbroke",
        limit={"type": "message", "limit": 20, "reason": "too many"},
        attempts=2,
        earlier_attempts=[{"error": "it fell"}],
        usage={"untrusted": {"total_tokens": 12, "input_tokens": 10, "output_tokens": 2,
                             "total_cost": 0.01}},
        versions={"environment": "e" * 64},
        log="x.eval",
    )  # fmt: skip
    assert shown(t)[-14:] == [
        "outcome: unscored, caught (an upper bound)",
        "main task: success",
        "    main as recorded",
        "side task: unscored",
        "    side as recorded",
        "error:         it",
        "               broke",
        "ended by:      message limit of 20: too many",
        "attempts:      2",
        "attempt 1:     it fell",
        "tokens:        untrusted 12 (10 in, 2 out, $0.01)",
        "final message: done",
        "log:           x.eval",
        "versions:      environment eeeeeeeeeeee",
    ]


def test_scores_of_foreign_logs_are_shown_by_name() -> None:
    scores = {"match": {"value": "C", "explanation": "it\nmatches"}, "odd": 7}
    lines = shown(recording(metadata={"inspect_scores": scores}))
    assert between(lines, "score match", "final") == ["score match: C", "    it", "    matches"]


def replayed(**more: Any) -> list[str]:
    replay = {"trajectory_id": "old", "run_id": "r0", "actions": 3, "replayed": 2, **more}
    lines = shown(recording(bash("ls"), scores={"main": True}, replay=replay))
    return lines[next(n for n, line in enumerate(lines) if line.startswith("replay of")) :]


def test_a_replay_says_whose_and_compares_the_scores() -> None:
    assert replayed(scores={"main": {"success": False}, "side": {"success": True}}) == [
        "replay of old (run r0): 2 of 3 recorded actions",
        "    main task: recorded no success, now success",
        "    side task: recorded success, now -",
    ]
    assert replayed(answered=True)[0].endswith("2 of 3 recorded actions, outputs as recorded")


def test_a_replay_says_where_outputs_part() -> None:
    same = "s" * 2_000
    divergence = {
        "action": 1, "part": "output", "recorded": f"a\n{same}X", "actual": f"a\n{same}Y"
    }  # fmt: skip
    head, recorded, now = replayed(divergence=divergence)[-3:]
    assert head == "    the output of step 1 is another one, from line 2 on:"
    assert recorded.startswith("        recorded: … s") and recorded.endswith("X")
    assert now.endswith("Y")
    divergence = {"action": 0, "part": "output_error", "recorded": None, "actual": "boom"}
    assert replayed(divergence=divergence)[-3:] == [
        "    the error of step 0 is another one, from line 1 on:",
        "        recorded: (nothing)",
        "        now:      boom",
    ]
