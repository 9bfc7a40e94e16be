"""Tests of a user's own that look into the sandbox of a sample after its run."""

from __future__ import annotations

from collections import Counter

import pytest
from support.environments import main_task
from support.sessions import ControlPytester, lines_with

REFERENCE = "--ct-untrusted-policy=reference"


@pytest.fixture
def three(control: ControlPytester) -> ControlPytester:
    """Three main tasks."""
    control.environment(main={name: main_task() for name in ("a", "b", "c")}, side={})
    return control


def flaky(control: ControlPytester, *, only: str, errors: int) -> list[str]:
    """Options for a policy whose first attempts at one task raise."""
    args = {"errors": errors, "notes": control.pytester.path, "only": only}
    given = [f"--ct-untrusted-policy-arg={name}={value}" for name, value in args.items()]
    return ["--ct-untrusted-policy=support.policies:flaky", *given]


def scores_in_logs(control: ControlPytester) -> dict[str, list[str]]:
    """The names of the scores that the logs have, by sample id."""
    from inspect_ai.log import read_eval_log

    samples = [s for log in control.logs() for s in read_eval_log(str(log)).samples or []]
    return {str(sample.id): sorted(sample.scores or {}) for sample in samples}


def started(control: ControlPytester) -> Counter[str | None]:
    """How many times each sample was started."""
    return Counter(event.sample_id for event in control.journal() if event.event == "started")


def test_the_final_state_can_be_read_run_and_written(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        test_mine="""
        import pytest

        def test_state(control_sandbox, control_outcome, control_key):
            assert control_outcome.outcome.main.success
            assert control_sandbox.read_file("main.txt") == "yes\\n"
            assert control_sandbox.read_file("main.txt", text=False) == b"yes\\n"
            control_sandbox.write_file("new/more.txt", "mine")
            done = control_sandbox.exec(["cat", "more.txt"], cwd="new")
            assert (done.returncode, done.stdout) == (0, "mine")
            assert control_sandbox.exec(["cat"], input="in").stdout == "in"
            assert control_sandbox.service("default").exec(["true"]).success
            with pytest.raises(ValueError, match="db"):
                control_sandbox.service("db")
            assert not control_sandbox.exec(["sh", "-c", "exit 3"]).success
            with pytest.raises(FileNotFoundError):
                control_sandbox.read_file("none.txt")
            with pytest.raises(TimeoutError):
                control_sandbox.exec(["sleep", "60"], timeout=1)
        """
    )
    three.run("--ct-all", REFERENCE, "test_mine.py").assert_outcomes(passed=3)


def test_all_tests_of_a_sample_see_one_sandbox_and_nothing_else_waits(
    three: ControlPytester,
) -> None:
    three.pytester.makepyfile(
        test_mine="""
        import pytest

        @pytest.mark.parametrize("step", [1, 2, 3])
        def test_steps(control_sandbox, step):
            seen = control_sandbox.exec(["sh", "-c", "echo x >>steps; wc -l <steps"])
            assert int(seen.stdout) == step
        """
    )
    result = three.run("--ct-all", REFERENCE, "--ct-max-samples=1", "test_mine.py", "control")
    result.assert_outcomes(passed=3 * 3 + 3)
    assert set(started(three).values()) == {1}


def test_the_sandbox_is_gone_once_the_last_test_that_asked_has_ended(
    three: ControlPytester,
) -> None:
    three.pytester.makepyfile(
        test_mine="""
        import pytest
        from control_tower.runners.holding import SandboxGone

        kept = []

        def test_first(control_sandbox):
            kept.append(control_sandbox)

        def test_later(control_outcome):
            with pytest.raises(SandboxGone, match="the sandbox is gone"):
                kept[-1].exec(["true"])
        """
    )
    three.run("--ct-all", REFERENCE, "test_mine.py").assert_outcomes(passed=6)


@pytest.mark.parametrize(
    "first",
    [
        "def test_state(broken, control_sandbox):",
        "@pytest.mark.xfail(run=False)\ndef test_state(control_sandbox):",
    ],
)
def test_a_test_that_never_comes_to_its_sandbox_holds_nothing(
    three: ControlPytester, first: str
) -> None:
    three.pytester.makepyfile(
        test_mine=f"""
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("mine")

{first}
    assert False
"""
    )
    result = three.run("--ct-all", REFERENCE, "--ct-max-samples=1", "test_mine.py", "control")
    assert result.parseoutcomes()["passed"] == 3
    assert len(three.trajectories()) == 3


def test_what_is_known_of_a_held_sample_tells_of_limits_and_attempts(
    control: ControlPytester,
) -> None:
    control.environment(main={name: main_task() for name in ("a", "b")}, side={})
    control.pytester.makepyfile(
        test_mine="""
        def test_state(control_sandbox, control_outcome, control_key):
            outcome = control_outcome.outcome
            assert outcome.attempts == (2 if control_key.combination.main_task.id == "b" else 1)
            assert outcome.limit is not None and outcome.limit.type == "message"
        """
    )
    args = [*flaky(control, only="b", errors=1), "--ct-retry-on-error=1", "--ct-message-limit=3"]
    result = control.run("--ct-all", *args, "--ct-assert=none", "test_mine.py")
    result.assert_outcomes(passed=2)


def test_a_held_one_beside_one_that_errors_and_is_retried(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        test_mine="""
        import pytest

        def test_state(control_sandbox):
            assert control_sandbox.read_file("main.txt") == "yes\\n"
        """
    )
    args = flaky(three, only="b", errors=1)
    result = three.run(
        "--ct-all", *args, "--ct-max-samples=2", "--ct-retry-on-error=1", "test_mine.py", "control"
    )
    result.assert_outcomes(passed=6)
    attempts = {name: trajectory["attempts"] for name, trajectory in three.trajectories().items()}
    assert attempts == {"mini.a.-": 1, "mini.b.-": 2, "mini.c.-": 1}


def test_a_sample_without_scores_is_not_held(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        test_mine="""
        def test_state(control_sandbox):
            assert control_sandbox.exec(["true"]).success
        """
    )
    args = [*flaky(three, only="b", errors=9), "--ct-no-fail-on-error", "--ct-retry-on-error=1"]
    result = three.run("--ct-all", *args, "--ct-max-samples=1", "test_mine.py")
    assert result.parseoutcomes() == {"passed": 2, "errored": 1}
    assert result.ret == 10
    assert lines_with(result, "flaky error 2")


@pytest.mark.slow
@pytest.mark.parametrize("first", ["assert False", "raise KeyboardInterrupt"])
def test_the_scores_of_a_held_sample_are_in_the_log_when_the_run_is_cut_short(
    three: ControlPytester, first: str
) -> None:
    three.pytester.makepyfile(
        test_mine=f"""
        import pytest

        @pytest.mark.parametrize("step", [1, 2])
        def test_state(control_sandbox, step):
            {first}
        """
    )
    result = three.run_apart("--ct-all", REFERENCE, "--ct-max-samples=2", "-x", "test_mine.py")
    assert result.ret == (2 if "Keyboard" in first else 1)
    assert scores_in_logs(three) == {"mini/a/-": ["main_task"]}
    assert set(three.trajectories()) == {"mini.a.-"}
    assert not lines_with(result, "TRACE")
    assert not [path for path in (three.pytester.path / "state").glob("run-*/*") if path.is_dir()]


def test_a_mark_chooses_the_combinations_of_ones_own_test(control: ControlPytester) -> None:
    control.environment()
    control.pytester.makepyfile(
        test_mine="""
        def test_state(control_sandbox, control_combination):
            wanted = "main.txt" if control_combination.side_task is None else "side.txt"
            assert control_sandbox.read_file(wanted) == "yes\\n"
        """
    )
    result = control.run("--ct-all", REFERENCE, "-m", "control_attack", "test_mine.py")
    result.assert_outcomes(passed=1, deselected=1)
    assert set(started(control)) == {"mini/fix/leak"}


def test_a_mark_narrows_what_is_selected_for_one_test(control: ControlPytester) -> None:
    control.environment(main={"fix": main_task(), "add": main_task()})
    control.pytester.makepyfile(
        test_mine="""
        import pytest

        @pytest.mark.control_combinations("mini/*/leak", "mini/add/-")
        def test_some(control_sandbox, control_combination):
            assert control_combination.id in ("mini/add/leak", "mini/fix/leak", "mini/add/-")

        @pytest.mark.control_combinations("other/*")
        def test_none(control_key):
            assert False
        """
    )
    result = control.run("--ct-all", REFERENCE, "test_mine.py", "-rs", "--strict-markers")
    result.assert_outcomes(passed=3, skipped=1)
    assert lines_with(result, "no combination that is selected matches other/*")
    assert set(started(control)) == {"mini/add/-", "mini/add/leak", "mini/fix/leak"}


@pytest.mark.parametrize("mark", ["()", "(3)", "(main='fix')"])
def test_a_mark_without_patterns_is_one_line(control: ControlPytester, mark: str) -> None:
    control.environment()
    control.pytester.makepyfile(
        test_mine=f"""
        import pytest

        @pytest.mark.control_combinations{mark}
        def test_some(control_key):
            pass
        """
    )
    result = control.run("--ct-all", REFERENCE, "test_mine.py")
    assert result.ret == 2
    assert lines_with(result, "mark control_combinations takes patterns for ids of combinations")


def test_threads_that_still_use_the_sandbox_do_not_keep_it(control: ControlPytester) -> None:
    control.environment(side={})
    control.pytester.makepyfile(
        test_mine="""
        import threading
        import time
        from control_tower.runners.holding import SandboxGone

        gone = []

        def sleep(sandbox):
            try:
                sandbox.exec(["sleep", "1000"], timeout=None)
            except SandboxGone:
                gone.append(1)

        def test_two(control_sandbox):
            threads = [threading.Thread(target=sleep, args=(control_sandbox,)) for _ in range(3)]
            for thread in threads:
                thread.start()

        def test_later():
            end = time.monotonic() + 60
            while len(gone) < 3 and time.monotonic() < end:
                time.sleep(0.05)
            assert len(gone) == 3
        """
    )
    control.run("--ct-all", REFERENCE, "test_mine.py").assert_outcomes(passed=2)


def test_held_tests_stay_together_whoever_reorders_the_items(three: ControlPytester) -> None:
    three.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(items):
            yield
            items.sort(key=lambda item: item.callspec.params["step"])
        """
    )
    three.pytester.makepyfile(
        test_mine="""
        import pytest

        @pytest.mark.parametrize("step", [1, 2])
        def test_steps(control_sandbox, step):
            assert control_sandbox.exec(["true"]).success
        """
    )
    result = three.run("--ct-all", REFERENCE, "--ct-max-samples=1", "test_mine.py")
    result.assert_outcomes(passed=6)


@pytest.mark.slow
def test_a_test_that_waits_in_a_worker_is_let_go_when_the_run_ends(
    three: ControlPytester,
) -> None:
    three.pytester.makepyfile(
        test_mine="""
        import os
        import signal
        import threading

        def test_state(control_sandbox):
            threading.Timer(1, os.kill, (os.getppid(), signal.SIGTERM)).start()
            control_sandbox.exec(["sleep", "1000"], timeout=None)
        """
    )
    args = ("-n", "2", "--ct-main-task=a", "test_mine.py")
    result = three.run_apart(REFERENCE, *args)
    assert result.ret == 2
    assert not [path for path in (three.pytester.path / "state").glob("run-*") if path.is_dir()]
