"""Which sample replays which recording, checked before the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task
from support.recordings import bash, recording, submitted, write_recording

from control_tower.episode.plan import RunPlan, make_plan
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions


@pytest.fixture(autouse=True)
def _environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(main={"fix": main_task(), "add": main_task()}).write(tmp_path)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A recording of mini/fix/leak: three turns of one call."""
    of = recording(
        bash("ls"), bash("pwd"), submitted(), main="fix", side="leak",
        scores={"main": True, "side": False},
    )  # fmt: skip
    return write_recording(tmp_path / "t.json", of)


def plan(**values: Any) -> RunPlan:
    return make_plan(RunOptions.from_values({"sandbox": "bwrap", **values}, front_end="ct"))


def refusal(**values: Any) -> str:
    with pytest.raises(UsageProblem) as caught:
        plan(**values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_replay_has_its_recording_its_assertion_and_its_limit(file: str) -> None:
    made = plan(rerun_traj=file)
    [combination] = made.selection.combinations
    assert combination.recording is not None
    assert combination.recording.trajectory_id == "rec-1"
    assert (made.policy.name, made.protocol.name) == ("replay", "null-blue-team")
    assert made.assertion.name == "scores-reproduced"
    assert made.message_limit == 2 + 3 + 3 + 10
    assert made.recordings == {file: (file,)}


def test_what_the_user_says_comes_first(file: str) -> None:
    made = plan(rerun_traj=file, message_limit=7, **{"assert": "none"})
    assert (made.message_limit, made.assertion.name) == (7, "none")


def test_calls_of_one_turn_are_one_message(tmp_path: Path) -> None:
    of = recording(bash("ls", turn=0), bash("pwd", turn=0), main="fix")
    made = plan(rerun_traj=write_recording(tmp_path / "x.json", of))
    assert made.message_limit == 2 + 1 + 2 + 10


def test_a_run_that_replays_nothing_has_no_limit_of_its_own(file: str) -> None:
    assert plan(trajectory_id=(file,), untrusted_policy="noop").message_limit is None
    assert not plan(trajectory_id=(file,), untrusted_policy="noop").replays


def test_the_policy_s_argument_names_one_for_all(file: str) -> None:
    made = plan(
        env=("mini",), main_task=("fix", "add"), untrusted_policy="replay",
        untrusted_policy_arg=(f"trajectory={file}",),
    )  # fmt: skip
    recordings = [c.recording for c in made.selection.combinations]
    assert [r.trajectory_id for r in recordings if r] == ["rec-1", "rec-1"]
    assert made.assertion.name == "as-the-mode-says"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"env": ("mini",), "all": True, "untrusted_policy": "replay"},
         "policy 'replay' needs a recording for every sample; name it with --trajectory-id"),
        ({"env": ("mini",), "all": True, "untrusted_policy": "noop", "replay_sandbox": True,
          "sandbox": None}, "--replay-sandbox needs a recording for every sample"),
        ({"untrusted_policy": "replay", "replay_sandbox": True}, "name it with --trajectory-id"),
        ({"trajectory_id": ("FILE",), "untrusted_policy": "replay", "replay_sandbox": True,
          "sandbox": None, "protocol": "privilege-monitor"},
         "changes the agent's network, and with --replay-sandbox there is none; choose another"),
        ({"rerun_traj": "FILE", "untrusted_policy": "noop"},
         "--untrusted-policy noop contradicts it"),
        ({"trajectory_id": ("FILE",), "untrusted_policy": "replay",
          "untrusted_policy_arg": ("trajectory=FILE",)},
         "--untrusted-policy-arg trajectory and --trajectory-id both name what is replayed"),
        ({"trajectory_id": ("FILE",), "untrusted_policy": "replay", "replay_sandbox": True},
         "--replay-sandbox provisions nothing, so --sandbox cannot go with it"),
        ({"trajectory_id": ("FILE",), "untrusted_policy": "replay", "replay_sandbox": True,
          "sandbox": None, "no_internet": True}, "--no-internet cannot go with it"),
        ({"rerun_traj": "none.json"}, "TRAJ_LIKE: 'none.json'"),
    ],
)  # fmt: skip
def test_what_cannot_be_replayed_is_refused(file: str, values: dict[str, Any], words: str) -> None:
    def named(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(named, value))
        return value.replace("FILE", file) if isinstance(value, str) else value

    assert words in refusal(**{key: named(value) for key, value in values.items()})


@pytest.fixture
def with_a_browser(tmp_path: Path) -> Callable[..., str]:
    """A recording whose second action calls a tool that there is not."""

    def write(**more: Any) -> str:
        browser = {"function": "web_browser", "arguments": {"url": "x"}, "output": "", **more}
        of = recording(bash("ls"), browser, main="fix", scores={"main": True})
        return write_recording(tmp_path / "x.json", of)

    return write


def test_calls_of_tools_that_there_are_not_are_refused(
    with_a_browser: Callable[..., str],
) -> None:
    message = refusal(rerun_traj=with_a_browser())
    assert "step 1 calls a tool that environment 'mini' does not offer: 'web_browser'" in message
    assert message.endswith("its tools are bash, editor, submit")


def test_they_do_not_matter_where_they_are_not_made(with_a_browser: Callable[..., str]) -> None:
    of = (with_a_browser(),)
    plan(trajectory_id=of, untrusted_policy="replay", untrusted_policy_arg=("stop_after=1",))
    plan(trajectory_id=of, untrusted_policy="replay", replay_sandbox=True, sandbox=None)
    plan(trajectory_id=of, untrusted_policy="noop")


def test_a_call_that_found_no_tool_then_finds_none_again(
    with_a_browser: Callable[..., str],
) -> None:
    plan(rerun_traj=with_a_browser(output_error="Tool web_browser not found"))


def test_a_tool_that_failed_to_find_something_was_there(
    with_a_browser: Callable[..., str],
) -> None:
    message = refusal(rerun_traj=with_a_browser(output_error="File not found: /x"))
    assert "does not offer: 'web_browser'" in message


def test_a_recording_that_goes_on_after_a_submission_is_refused(tmp_path: Path) -> None:
    of = recording(submitted(), bash("ls"), submitted(), main="fix", scores={"main": True})
    file = write_recording(tmp_path / "x.json", of)
    assert "step 0 submits, which ends the loop, and more steps follow" in refusal(rerun_traj=file)
    plan(trajectory_id=(file,), untrusted_policy="replay", untrusted_policy_arg=("stop_after=1",))


def test_a_submission_that_failed_did_not_end_it(tmp_path: Path) -> None:
    failed = {**submitted(), "output_error": "not yet"}
    plan(
        rerun_traj=write_recording(tmp_path / "x.json", recording(failed, submitted(), main="fix"))
    )


def test_the_limit_is_enough_for_recordings_whose_indices_mean_nothing(tmp_path: Path) -> None:
    of = recording(*[bash("ls")] * 40, main="fix")
    for action in of.actions:
        action.index = 0
    made = plan(rerun_traj=write_recording(tmp_path / "x.json", of))
    assert made.message_limit == 2 + 40 + 40 + 10


@pytest.mark.parametrize("values", [{"env": ("mini",), "all": True}, {"env": ("mini",)}])
def test_a_sample_of_nothing_cannot_be_chosen(values: dict[str, Any]) -> None:
    message = refusal(untrusted_policy="noop", traj_sample_id="mini/fix/-", **values)
    assert message.startswith("--sample-id chooses among recorded samples, and none are named")


def test_no_scorer_can_run_twice_where_none_runs(file: str) -> None:
    message = refusal(
        trajectory_id=(file,), untrusted_policy="replay", replay_sandbox=True, sandbox=None,
        score_twice=True,
    )  # fmt: skip
    assert message.startswith("--replay-sandbox and --ct-score-twice contradict each other")


def test_scores_that_are_recorded_are_those_that_stand(file: str, tmp_path: Path) -> None:
    values = {"untrusted_policy": "replay", "replay_sandbox": True, "sandbox": None}
    made = plan(trajectory_id=(file,), **values)
    [key] = made.samples()
    assert made.scored_tasks(key) == ("main", "side")
    only_side = recording(bash("ls"), main="fix", side="leak", scores={"side": True})
    made = plan(trajectory_id=(write_recording(tmp_path / "s.json", only_side),), **values)
    assert made.scored_tasks(made.samples()[0]) == ("side",)


def test_a_run_s_name_is_a_name(file: str) -> None:
    assert plan(rerun_traj=file, run_name="night-1").name == "night-1"
    for name in ("", "../x", "a b", "x" * 81):
        assert refusal(rerun_traj=file, run_name=name).startswith(f"--run-name: '{name}' cannot")
