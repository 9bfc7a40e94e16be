"""pytest's own options on control samples: they behave as pytest's users expect."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from support.environments import main_task
from support.sessions import ControlPytester, lines_with

REFERENCE = "--ct-untrusted-policy=reference"
BAD = {"reference": "true\n"}


@pytest.fixture
def three(control: ControlPytester) -> ControlPytester:
    """Three main tasks; the reference of `b_bad` does nothing."""
    control.environment(
        main={"a_good": main_task(), "b_bad": main_task(**BAD), "c_good": main_task()}, side={}
    )
    return control


def test_collect_only_lists_ids_and_runs_nothing(three: ControlPytester) -> None:
    result = three.run("--ct-all", "--co", "-q")
    assert result.ret == 0
    assert [line for line in result.outlines if line.startswith("control::")] == [
        "control::test_sample[mini/a_good/-]",
        "control::test_sample[mini/b_bad/-]",
        "control::test_sample[mini/c_good/-]",
    ]
    assert not three.logs()


def test_collect_only_needs_no_model_and_no_engine(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.environment()
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    result = control.pytester.runpytest_inprocess("--ct-env=mini", "--ct-all", "--co", "-q")
    assert result.ret == 0
    assert lines_with(result, "control::test_sample[mini/fix/-]")


def test_k_selects_what_runs(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "-k", "good")
    result.assert_outcomes(passed=2, deselected=1)
    assert set(three.trajectories()) == {"mini.a_good.-", "mini.c_good.-"}


def test_m_selects_by_mode(control: ControlPytester) -> None:
    control.environment()
    result = control.run("--ct-all", REFERENCE, "-m", "control_attack", "--strict-markers")
    result.assert_outcomes(passed=1, deselected=1)
    assert set(control.trajectories()) == {"mini.fix.leak"}


def test_x_stops_at_the_first_failure(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "-x", "--ct-max-samples=1")
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    assert lines_with(result, "not run: mini/c_good/-") or lines_with(
        result, "cancelled: mini/c_good/-"
    )


def test_maxfail_counts_failures(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "--maxfail=2", "--ct-max-samples=1")
    result.assert_outcomes(passed=2, failed=1)


def test_last_failed_runs_only_those(three: ControlPytester) -> None:
    three.run("--ct-all", REFERENCE, "--keep-cache")
    result = three.run("--ct-all", REFERENCE, "--lf")
    result.assert_outcomes(failed=1, deselected=2)


def test_a_node_id_can_be_passed_back(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "control::test_sample[mini/c_good/-]", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["control::test_sample[[]mini/c_good/-[]] PASSED*"])


def test_an_unknown_node_id_is_a_usage_error(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "control::test_sample[mini/nope/-]")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_junit_has_outcomes_durations_and_classname(three: ControlPytester) -> None:
    three.run("--ct-all", REFERENCE, "--junitxml=out.xml")
    cases = ElementTree.parse(three.pytester.path / "out.xml").getroot().iter("testcase")
    by_name = {case.get("name"): case for case in cases}
    bad = by_name["test_sample[mini/b_bad/-]"]
    properties = {p.get("name"): p.get("value") for p in bad.iter("property")}
    assert bad.get("classname") == "control"
    assert properties["control_outcome"] == "scored"
    assert properties["control_main_task_success"] == "false"
    assert float(bad.get("time") or 0) > 0
    assert "main.txt says nothing" in (bad.find("failure").text or "")  # type: ignore[union-attr]


def test_an_own_ini_does_not_get_in_the_way(three: ControlPytester) -> None:
    three.pytester.makeini(
        "[pytest]\ntestpaths = checks\npython_functions = check_*\npython_files = check_*.py\n"
        "addopts = --strict-markers\nct_untrusted_policy = reference\nct_limit = 1\n"
    )
    three.pytester.mkdir("checks").joinpath("check_mine.py").write_text("def check_it(): pass\n")
    result = three.run("--ct-all", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["control::test_sample[[]mini/a_good/-[]] PASSED*"])


def test_without_control_options_nothing_changes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*control tower*")


def test_a_users_own_test_gets_combination_and_outcome(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        """
        def test_mine(control_combination, control_outcome):
            assert control_combination.environment.id == "mini"
            assert control_outcome.outcome.main.success is True, control_outcome.outcome.main
        """
    )
    path = str(three.pytester.path / "test_a_users_own_test_gets_combination_and_outcome.py")
    result = three.run("--ct-all", REFERENCE, path)
    result.assert_outcomes(passed=2, failed=1)


def test_a_users_own_test_is_skipped_without_a_selection(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_mine(control_outcome): pass")
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no control samples are selected; see --ct-env*"])


def test_xdist_is_refused_in_one_line(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line.startswith("ERROR")] == [
        "ERROR: control samples under pytest-xdist come next; leave out -n "
        "(--ct-max-samples runs samples at the same time)"
    ]
