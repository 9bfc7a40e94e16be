"""Control sessions under pytest-xdist, with real workers."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.environments import main_task, python_scorer
from support.sessions import ControlPytester, lines_with

pytestmark = pytest.mark.slow

REFERENCE = "--ct-untrusted-policy=reference"
BAD = {"reference": "true\n"}
CRASHES = {"scorer": python_scorer("    raise RuntimeError('no idea')")}


@pytest.fixture
def six(control: ControlPytester) -> ControlPytester:
    """Six main tasks."""
    control.environment(main={f"task{n}": main_task() for n in range(6)}, side={})
    return control


def summary_of(result: pytest.RunResult) -> list[str]:
    """The table and the lines about single samples."""
    start = next(
        i for i, line in enumerate(result.outlines) if re.match("=+ control tower =", line)
    )
    end = next(i for i, line in enumerate(result.outlines) if i > start and "log: " in line)
    return result.outlines[start + 1 : end]


def listed(result: pytest.RunResult, what: str) -> set[str]:
    """The samples that the summary lists as `what`."""
    lines = lines_with(result, f"{what}: ")
    return {sample for line in lines for sample in line.partition(": ")[2].split(", ")}


def test_the_report_is_the_one_of_a_single_process(control: ControlPytester) -> None:
    control.environment(
        main={"good": main_task(), "wrong": main_task(**BAD), "odd": main_task(**CRASHES)}
    )
    args = ("--ct-all", REFERENCE, "--ct-epochs=2", "-rA", "--ct-no-fail-on-error")
    alone = control.run_apart(*args, "--junitxml=alone.xml")
    workers = control.run_apart(*args, "-n", "2", "--junitxml=workers.xml")
    assert alone.ret == workers.ret == 1
    assert workers.parseoutcomes() == alone.parseoutcomes()
    assert summary_of(workers) == summary_of(alone)
    assert properties(control, "workers.xml") == properties(control, "alone.xml")


def properties(control: ControlPytester, name: str) -> dict[str, list[tuple[str, str]]]:
    """What a JUnit file says of each item, apart from places and times."""
    from xml.etree import ElementTree

    tree = ElementTree.parse(control.pytester.path / name)
    varying = ("trajectory", "log", "duration", "seconds")
    return {
        str(case.get("name")): [
            (str(p.get("name")), str(p.get("value")))
            for p in case.iter("property")
            if not any(word in str(p.get("name")) for word in varying)
        ]
        for case in tree.iter("testcase")
    }


def test_each_worker_writes_its_own_log_in_one_run_directory(six: ControlPytester) -> None:
    result = six.run_apart("--ct-all", REFERENCE, "-n", "2")
    result.assert_outcomes(passed=6)
    assert result.ret == 0
    names = sorted(re.sub(r".*_(control-gw\d)_.*", r"\1", log.name) for log in six.logs())
    assert names == ["control-gw0", "control-gw1"]
    assert len({log.parent for log in six.logs()}) == 1
    assert len(six.trajectories()) == 6
    assert {trajectory["run_id"] for trajectory in six.trajectories().values()} == {
        six.logs()[0].parent.name.rpartition("_")[2]
    }


def test_max_samples_is_shared(six: ControlPytester) -> None:
    args = ("--ct-untrusted-policy=support.policies:gauged", "--ct-max-samples=3", "--ct-epochs=2")
    six.run_apart("--ct-all", *args, "-n", "2").assert_outcomes(passed=12)
    at_once: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for event in six.journal():
        change = {"started": 1, "finished": -1}.get(event.event, 0)
        at_once[event.process] += change
        most[event.process] = max(most[event.process], at_once[event.process])
    assert most == {"gw0": 2, "gw1": 1}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-n", "3", "--ct-max-samples=2"], "-n: 3 workers cannot share --ct-max-samples 2"),
        (["-n", "2", "--dist=each"], "--dist each would run every sample on every worker"),
        (["--tx=ssh=somewhere", "--dist=load"], "workers of this machine only"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_worker_starts(
    six: ControlPytester, args: list[str], words: str
) -> None:
    result = six.run_apart("--ct-all", REFERENCE, *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert words in line
    assert not list(six.pytester.path.glob("logs/*"))


def test_a_worker_that_is_killed_loses_no_result(six: ControlPytester) -> None:
    policy = "--ct-untrusted-policy=support.policies:kills_its_process"
    policy_args = {"only": "[task4]", "times": 1, "notes": six.pytester.path, "after": 5}
    given = [f"--ct-untrusted-policy-arg={name}={value}" for name, value in policy_args.items()]
    result = six.run_apart("--ct-all", policy, *given, "-n", "2")
    result.assert_outcomes(passed=6)
    assert result.ret == 0
    assert lines_with(result, "ran more than once (attempts): mini/task4/- (2)")
    attempts = {name: t["attempts"] for name, t in six.trajectories().items()}
    assert attempts == {f"mini.task{n}.-": 2 if n == 4 else 1 for n in range(6)}
    started = Counter(e.sample_id for e in six.journal() if e.event == "started")
    assert started == {f"mini/task{n}/-": 2 if n == 4 else 1 for n in range(6)}


def test_an_item_that_brings_down_every_worker_is_given_up(six: ControlPytester) -> None:
    policy = "--ct-untrusted-policy=support.policies:kills_its_process"
    policy_args = {"only": "[task0]", "times": 99, "notes": six.pytester.path, "after": 0}
    given = [f"--ct-untrusted-policy-arg={name}={value}" for name, value in policy_args.items()]
    result = six.run_apart("--ct-all", policy, *given, "-n", "2", "--ct-max-samples=2")
    result.assert_outcomes(passed=5, failed=1)
    assert result.ret == 1
    assert lines_with(result, "crashed while running 'control::test_sample[mini/task0/-]'")


@pytest.mark.parametrize(("stop", "failures"), [("-x", 1), ("--maxfail=2", 2)])
def test_stopping_at_failures(control: ControlPytester, stop: str, failures: int) -> None:
    tasks = {f"task{n}": main_task(**(BAD if n < failures else {})) for n in range(8)}
    control.environment(main=tasks, side={})
    result = control.run_apart("--ct-all", REFERENCE, "-n", "2", stop, "--ct-max-samples=2")
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == failures
    started = {event.sample_id for event in control.journal() if event.event == "started"}
    assert outcomes.get("passed", 0) < 7
    assert listed(result, "not run") == {f"mini/task{n}/-" for n in range(8)} - started
    finished = {event.sample_id for event in control.journal() if event.event == "finished"}
    assert listed(result, "cancelled") == started - finished


def test_the_first_errored_sample_stops_all_workers(control: ControlPytester) -> None:
    tasks = {f"task{n}": main_task() for n in range(8)}
    control.environment(main=tasks, side={})
    args = [
        "--ct-untrusted-policy=support.policies:flaky",
        "--ct-untrusted-policy-arg=errors=9",
        f"--ct-untrusted-policy-arg=notes={control.pytester.path}",
        "--ct-untrusted-policy-arg=only=task0",
        "--ct-untrusted-policy-arg=commands=[sleep 100]",  # so that no other sample can finish first
        "--ct-max-samples=2",
    ]
    alone = control.run_apart("--ct-all", *args)
    workers = control.run_apart("--ct-all", *args, "-n", "2")
    assert alone.ret == workers.ret
    assert workers.parseoutcomes()["errored"] == 1
    started = {event.sample_id for event in control.journal() if event.event == "started"}
    assert started <= {"mini/task0/-", "mini/task1/-"}
    assert listed(workers, "not run") >= {f"mini/task{n}/-" for n in range(2, 8)}


def test_last_failed_runs_those_only(control: ControlPytester) -> None:
    control.environment(
        main={"a": main_task(), "b": main_task(**BAD), "c": main_task(**BAD)}, side={}
    )
    control.run_apart("--ct-all", REFERENCE, "-n", "2", "--keep-cache").assert_outcomes(
        passed=1, failed=2
    )
    again = control.run_apart("--ct-all", REFERENCE, "-n", "2", "--lf")
    again.assert_outcomes(failed=2)
    assert {e.sample_id for e in control.journal() if e.event == "started"} == {
        "mini/b/-",
        "mini/c/-",
    }


def test_own_tests_run_beside_and_see_their_sample(six: ControlPytester) -> None:
    six.pytester.makepyfile(
        test_mine="""
        import pytest

        def test_plain():
            pass

        def test_solved(control_outcome):
            assert control_outcome.outcome.main.success

        def test_again(control_outcome):
            control_outcome.check()

        @pytest.mark.parametrize("file", ["main.txt", "README.md"])
        def test_files(control_sandbox, file):
            assert control_sandbox.read_file(file)
        """
    )
    result = six.run_apart("--ct-all", REFERENCE, "-n", "2", "test_mine.py", "control")
    result.assert_outcomes(passed=1 + 6 * 5)
    started = Counter(e.sample_id for e in six.journal() if e.event == "started")
    assert set(started.values()) == {1}


def test_workers_that_collect_other_items_are_told_apart(six: ControlPytester) -> None:
    six.pytester.makeconftest(
        """
        import os

        def pytest_collection_modifyitems(items):
            if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
                items.reverse()
        """
    )
    result = six.run_apart("--ct-all", REFERENCE, "-n", "2")
    assert result.ret != 0
    assert lines_with(result, "worker gw1 collected other items than gw0")
    assert not list(Path(six.pytester.path).glob("logs/*/*.eval"))


def test_ini_keys_alone_leave_xdist_to_a_project_s_other_tests(six: ControlPytester) -> None:
    six.pytester.makeini("[pytest]\nct_env = mini\nct_all = true\nct_max_samples = 1\n")
    body = "import os\n\ndef test_it{n}():\n    print('in', os.environ['PYTEST_XDIST_WORKER'])\n"
    for name in ("test_one", "test_two"):
        tests = "".join(body.format(n=n).removeprefix("import os\n") for n in range(4))
        six.pytester.makepyfile(**{name: f"import os\n{tests}"})
    plain = ["-m", "pytest", "-p", "no:cacheprovider", "-n", "2", "--dist=loadfile", "-rP", "-v"]
    result = six.pytester.run(sys.executable, *plain)
    result.assert_outcomes(passed=8)
    workers = {
        name: {line.split()[0] for line in result.outlines if f"PASSED {name}.py" in line}
        for name in ("test_one", "test_two")
    }
    assert all(len(found) == 1 for found in workers.values()), workers
    assert not list(six.pytester.path.glob("logs/*"))


def test_ini_keys_select_for_control_tests_under_workers(six: ControlPytester) -> None:
    keys = "ct_env = mini\nct_all = true\nct_sandbox = bwrap\nct_untrusted_policy = reference\n"
    six.pytester.makeini(f"[pytest]\n{keys}")
    six.pytester.makepyfile(test_mine="def test_it(control_outcome): control_outcome.check()\n")
    result = six.pytester.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2")
    result.assert_outcomes(passed=6)
    assert len(six.trajectories()) == 6


def test_a_plan_of_the_set_up_runs_nothing(six: ControlPytester) -> None:
    result = six.run_apart("--ct-all", REFERENCE, "-n", "2", "--setup-plan")
    assert result.ret == 0
    assert not six.trajectories()


def test_no_worker_in_a_dead_one_s_place_is_no_success(six: ControlPytester) -> None:
    policy = "--ct-untrusted-policy=support.policies:kills_its_process"
    policy_args = {"only": "[task0]", "times": 1, "notes": six.pytester.path, "after": 3}
    given = [f"--ct-untrusted-policy-arg={name}={value}" for name, value in policy_args.items()]
    result = six.run_apart("--ct-all", policy, *given, "-n", "2", "--max-worker-restart=0")
    outcomes = result.parseoutcomes()
    assert result.ret == 1
    assert outcomes["failed"] >= 1
    assert outcomes["failed"] + outcomes["passed"] == 6
    assert lines_with(result, "not run: its worker died, and xdist starts no other")


def test_skipped_tests_count_as_they_do_alone(six: ControlPytester) -> None:
    six.pytester.makepyfile(
        test_mine="""
        import pytest

        @pytest.mark.skip
        def test_it(control_outcome):
            assert False
        """
    )
    alone = six.run_apart("--ct-all", REFERENCE, "test_mine.py")
    workers = six.run_apart("--ct-all", REFERENCE, "-n", "2", "test_mine.py")
    assert alone.parseoutcomes() == workers.parseoutcomes() == {"skipped": 6}
    assert alone.ret == workers.ret == 0
    assert not lines_with(workers, "control tower: 6 samples")


def test_a_plain_test_that_crashes_is_not_tried_again(six: ControlPytester) -> None:
    six.pytester.makepyfile(
        test_mine="""
        import os
        from pathlib import Path

        def test_it():
            Path("tries").open("a").write("x")
            os._exit(3)
        """
    )
    result = six.run_apart("--ct-all", REFERENCE, "-n", "2", "test_mine.py", "control")
    result.assert_outcomes(passed=6, failed=1)
    assert (six.pytester.path / "tries").read_text() == "x"
