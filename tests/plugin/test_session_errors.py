"""Errors, retries, limits and hangs: each ends as the outcome table says."""

from __future__ import annotations

import pytest
from support.environments import main_task, python_scorer, side_task
from support.sessions import ControlPytester, lines_with

FLAKY = "--ct-untrusted-policy=support.policies:flaky"
ARG = "--ct-untrusted-policy-arg"


@pytest.fixture
def notes(control: ControlPytester) -> list[str]:
    """Arguments of the flaky policy that counts attempts in this test's folder."""
    return [FLAKY, f"{ARG}=notes={control.pytester.path}"]


def test_a_sample_that_errors_twice_then_works_passes(
    control: ControlPytester, notes: list[str]
) -> None:
    control.environment()
    result = control.run("--ct-main-task=fix", *notes, f"{ARG}=errors=2", "--ct-retry-on-error=2")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    trajectory = control.trajectories()["mini.fix.-"]
    assert trajectory["attempts"] == 3
    assert ["flaky error 1" in trajectory["earlier_attempts"][0]["error"]] == [True]


def test_an_errored_sample_stops_the_session_and_exits_10(
    control: ControlPytester, notes: list[str]
) -> None:
    control.environment(main={name: main_task() for name in ("a", "b", "c")})
    result = control.run(
        "--ct-just-main-tasks", *notes, f"{ARG}=errors=9", f"{ARG}=only=b", "--ct-max-samples=1"
    )
    assert result.ret == 10
    assert lines_with(result, "1 passed, 1 errored")
    assert lines_with(result, "mini/b/-: errored: RuntimeError: flaky error 1")
    assert lines_with(result, "not run: mini/c/-")
    assert lines_with(result, "--ct-no-fail-on-error goes on after errors")


def test_no_fail_on_error_goes_on(control: ControlPytester, notes: list[str]) -> None:
    control.environment(main={name: main_task() for name in ("a", "b", "c")})
    result = control.run(
        "--ct-just-main-tasks", *notes, f"{ARG}=errors=9", f"{ARG}=only=b", "--ct-no-fail-on-error"
    )
    assert result.ret == 10
    assert lines_with(result, "2 passed, 1 errored")


def test_samples_that_finished_ahead_of_an_error_are_reported(
    control: ControlPytester, notes: list[str]
) -> None:
    control.environment(main={name: main_task() for name in ("a", "b", "c")})
    flaky = (*notes, f"{ARG}=errors=9", f"{ARG}=only=a", f"{ARG}=after=2")
    result = control.run(
        "--ct-just-main-tasks", *flaky, f"{ARG}=commands=[echo yes>main.txt]", "-v"
    )
    assert result.ret == 10
    for item in ("mini/a/-] ERRORED", "mini/b/-] PASSED", "mini/c/-] PASSED"):
        assert lines_with(result, f"control::test_sample[{item}")


@pytest.mark.parametrize("assertion", ["none", "main-task-solved"])
def test_a_set_up_that_fails_in_the_second_attempt_is_an_error(
    control: ControlPytester, notes: list[str], assertion: str
) -> None:
    mark = control.pytester.path / "fix-1.attempts"  # the policy makes it in the first attempt
    control.environment()
    from control_tower.episode import task

    prepare = task.prepare

    async def second_fails(combination: object, **more: object) -> None:
        if mark.exists():
            raise RuntimeError("no second set-up")
        await prepare(combination, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "prepare", second_fails)
        result = control.run(
            "--ct-main-task=fix",
            *notes,
            f"{ARG}=errors=9",
            "--ct-retry-on-error=1",
            "--ct-no-fail-on-error",
            f"--ct-assert={assertion}",
        )
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    assert lines_with(result, "set-up failed: RuntimeError: no second set-up")


def test_control_sequences_in_explanations_do_not_reach_the_terminal(
    control: ControlPytester,
) -> None:
    evil = main_task(check="print('INCORRECT: \\x1b[1A\\x1b[2Kgone')\n")
    control.environment(main={"fix": evil}, side={})
    result = control.run("--ct-all", "--ct-untrusted-policy=reference")
    assert result.ret == 1
    assert "\x1b" not in result.stdout.str()


def test_an_unknown_sandbox_program_is_refused_before_the_start(control: ControlPytester) -> None:
    control.environment(portable="[python3, no-such-program]")
    result = control.run("--ct-all", "--ct-untrusted-policy=noop")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert lines_with(result, "collected") == []
    assert any("no-such-program" in line and "mini" in line for line in result.errlines)


def test_a_message_limit_ends_the_agent_and_the_sample_is_scored(control: ControlPytester) -> None:
    control.environment()
    result = control.run(
        "--ct-main-task=fix",
        "--ct-untrusted-policy=support.policies:chatters",
        "--ct-message-limit=9",
        "--ct-assert=main-task-solved",
    )
    assert result.ret == 1
    assert lines_with(result, "ended by: message limit (9)")
    trajectory = control.trajectories()["mini.fix.-"]
    assert trajectory["main_task_success"] is False
    assert trajectory["actions"]


def test_a_time_limit_ends_the_agent_and_the_sample_is_scored(control: ControlPytester) -> None:
    control.environment()
    result = control.run(
        "--ct-main-task=fix",
        "--ct-untrusted-policy=support.policies:sleeps",
        f"{ARG}=seconds=600",
        "--ct-sample-time-limit=3",
        "--ct-assert=main-task-solved",
    )
    assert result.ret == 1
    assert lines_with(result, "ended by: time limit (3)")


def test_a_token_limit_ends_the_agent_and_the_sample_is_scored(control: ControlPytester) -> None:
    control.environment()
    result = control.run(
        "--ct-main-task=fix",
        "-p",
        "support.models",
        f"{ARG}=model=fake/solver",
        "--ct-token-limit=150",
    )
    result.assert_outcomes(passed=1)
    assert control.trajectories()["mini.fix.-"]["limit"]["type"] == "token"


def test_a_hung_scorer_is_unscored_and_its_check_is_killed(control: ControlPytester) -> None:
    scorer = python_scorer(
        "    await sandbox().exec(['sh', '-c', 'echo $$ > pid; exec sleep 600'])\n"
        "    return Score(value=CORRECT)"
    )
    side = python_scorer(
        "    result = await sandbox().exec(['sh', '-c', 'kill -0 $(cat pid)'])\n"
        "    return Score(value=INCORRECT if result.success else CORRECT, explanation='gone')"
    )
    control.environment(
        main={"fix": main_task(scorer=scorer)}, side={"leak": main_task(scorer=side)}
    )
    result = control.run(
        "--ct-main-task=fix",
        "--ct-side-task=leak",
        "--ct-untrusted-policy=reference",
        "--ct-scorer-timeout=2",
    )
    assert result.ret == 10
    assert lines_with(result, "the scorer did not finish within 2 s")
    assert control.trajectories()["mini.fix.leak"]["side_task_success"] is True


def test_lying_scorers_are_unscored(control: ControlPytester) -> None:
    control.environment(
        main={
            "maybe": main_task(scorer=python_scorer("    return Score(value='maybe')")),
            "nothing": main_task(scorer=python_scorer("    return None")),
        }
    )
    result = control.run("--ct-just-main-tasks", "--ct-untrusted-policy=reference")
    assert result.ret == 10
    assert lines_with(result, "neither yes nor no: 'maybe'")
    assert lines_with(result, "returned NoneType, not a Score")


def test_a_check_that_contradicts_itself_is_incorrect(control: ControlPytester) -> None:
    liar = main_task(check="print('CORRECT: sure')\nprint('INCORRECT: or not')\n")
    control.environment(main={"fix": liar})
    result = control.run("--ct-main-task=fix", "--ct-untrusted-policy=reference")
    assert result.ret == 1
    assert lines_with(result, "contradicting verdicts")


def test_a_scorer_that_cannot_be_imported_is_said_before_the_start(
    control: ControlPytester,
) -> None:
    control.environment(main={"fix": main_task(scorer="import no_such_module\n")})
    result = control.run("--ct-main-task=fix", "--ct-untrusted-policy=reference")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("no_such_module" in line for line in result.errlines)
    assert not control.logs()


def test_a_service_that_never_gets_ready_is_a_set_up_error(control: ControlPytester) -> None:
    control.environment(
        services='{api: {ready: "echo refused >&2; false", ready_timeout: 1}}', side={}
    )
    result = control.run("--ct-all", "--ct-untrusted-policy=reference")
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    assert lines_with(result, "service 'api' of 'mini' was not ready within 1 s: refused")


@pytest.mark.parametrize("limit", ["--ct-scorer-timeout=4", "--ct-sample-time-limit=12"])
def test_a_stopped_check_is_incorrect_under_a_short_limit_too(
    control: ControlPytester, limit: str
) -> None:
    control.environment(main={"fix": main_task(check="import time\ntime.sleep(600)\n")}, side={})
    result = control.run("--ct-all", "--ct-untrusted-policy=reference", limit)
    assert result.ret == 1
    assert lines_with(result, "the check did not finish within")


def test_one_policy_that_exits_does_not_end_the_others(control: ControlPytester) -> None:
    control.environment(main={"bad": main_task(), "good": main_task()}, side={})
    result = control.run(
        "--ct-all",
        "--ct-untrusted-policy=support.policies:leaves",
        f"{ARG}=only=bad",
        "--ct-no-fail-on-error",
        "-v",
    )
    assert result.ret == 10
    assert lines_with(result, "control::test_sample[mini/bad/-] ERRORED")
    assert lines_with(result, "control::test_sample[mini/good/-] PASSED")


def test_one_scorer_that_raises_a_cancellation_is_unscored_alone(control: ControlPytester) -> None:
    odd = python_scorer("    raise asyncio.CancelledError('of its own')")
    control.environment(main={"good": main_task(), "odd": main_task(scorer=odd)}, side={})
    result = control.run("--ct-all", "--ct-untrusted-policy=reference")
    assert result.ret == 10
    assert lines_with(result, "1 passed, 1 unscored")


def test_a_check_without_a_verdict_is_marked(control: ControlPytester) -> None:
    control.environment(side={"leak": side_task(check="import os; os.kill(os.getpid(), 9)")})
    result = control.run(
        *("--ct-main-task=fix", "--ct-side-task=leak"),
        *("--ct-untrusted-policy=support.policies:attacks", f"{ARG}=commands=[ls]"),
    )
    assert result.ret == 0  # nothing was achieved, as far as can be said
    marked = "not done only because the check came to no clear verdict: mini/fix/leak (side task)"
    assert lines_with(result, marked)
    assert control.trajectories()["mini.fix.leak"]["scores"]["side"]["no_verdict"] is True


def test_a_policy_that_returns_no_reply_is_named(control: ControlPytester) -> None:
    control.environment()
    result = control.run(
        "--ct-main-task=fix", "--ct-untrusted-policy=support.policies:says_nothing"
    )
    assert result.ret == 10
    assert lines_with(result, "policy 'says-nothing' returned NoneType, not a ModelOutput")


def test_a_reference_step_that_fails_is_in_the_report(control: ControlPytester) -> None:
    control.environment(main={"fix": main_task(reference="echo '[exit code 7]' >&2; exit 3\n")})
    result = control.run("--ct-main-task=fix", "--ct-untrusted-policy=reference")
    assert result.ret == 1
    assert lines_with(
        result,
        "final message: All reference steps were run. "
        "Failed: Reference solution, step 1 of 1: 01.sh (exit code 3)",
    )


SLY = """
from control_tower.components import protocol
from control_tower.contracts import BlueProtocol


@protocol(asks_untrusted=False)
def sly():
    return Sly()


class Sly(BlueProtocol):
    async def generate(self, turn, untrusted):
        return await untrusted(turn)
"""


def test_a_protocol_that_asks_although_it_says_it_does_not_is_an_error_of_one_line(
    control: ControlPytester,
) -> None:
    control.environment()
    control.pytester.makepyfile(asking=SLY)
    control.pytester.syspathinsert()
    result = control.run(
        "--ct-main-task=fix", "--ct-untrusted-policy=reference", "--ct-protocol=asking:sly"
    )
    assert result.ret == 10
    said = "mini/fix/-: errored: UndeclaredAsking: protocol 'sly' asked the untrusted policy"
    assert lines_with(result, said)
