"""pytest's own options on control samples: they behave as pytest's users expect."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from support.environments import main_task
from support.sessions import ControlPytester, lines_with

REFERENCE = "--ct-untrusted-policy=reference"
NOOP = "--ct-untrusted-policy=noop"
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
    result.stderr.fnmatch_lines(
        [
            "ERROR: control: no selected sample is named 'mini/nope/-'; did you mean "
            "'mini/*_good/-', 'mini/*_good/-' or 'mini/b_bad/-'?"
        ]
    )
    result.stderr.no_fnmatch_line("*test_control.py*")


def test_a_node_id_without_a_selection_says_so(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("control::test_sample[mini/a/-]")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: no samples are selected, so there is no item for 'mini/a/-'; add --ct-env …"]
    )


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


def test_last_failed_keeps_control_items_beside_own_ones(control: ControlPytester) -> None:
    control.environment(main={"bad": main_task(**BAD)}, side={})
    control.pytester.makepyfile(test_mine="def test_bad(): assert False\ndef test_ok(): pass\n")
    both = ("test_mine.py", "control")
    control.run("--ct-all", REFERENCE, "--keep-cache", *both)
    result = control.run("--ct-all", REFERENCE, "--lf", *both)
    result.assert_outcomes(failed=2)


def test_ini_keys_alone_leave_other_tests_alone(control: ControlPytester) -> None:
    control.environment()
    control.pytester.makeini("[pytest]\nct_env = mini\nct_all = true\nct_log_dir = out\n")
    control.pytester.makepyfile(test_mine="def test_ok(): pass\n")
    result = control.pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_ini_keys_alone_select_for_ones_own_control_tests(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.environment()
    control.pytester.makeini(
        "[pytest]\nct_env = mini\nct_all = true\nct_log_dir = out\n"
        "ct_untrusted_policy = reference\nct_sandbox = bwrap\nct_epochs = 1\n"
    )
    control.pytester.makepyfile(test_mine="def test_it(control_outcome): control_outcome.check()\n")
    below = control.pytester.mkdir("below")
    monkeypatch.chdir(below)
    path = str(control.pytester.path / "test_mine.py")
    result = control.pytester.runpytest_inprocess("-p", "no:cacheprovider", path)
    result.assert_outcomes(passed=2)
    assert list((control.pytester.path / "out").glob("*/*.eval"))  # relative to the ini file


def test_an_ini_value_of_the_wrong_type_names_its_key(control: ControlPytester) -> None:
    control.pytester.makeini("[pytest]\nct_epochs = many\n")
    result = control.run("--ct-all", REFERENCE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("ct_epochs" in line and "many" in line for line in result.errlines)


def test_a_skipped_item_is_not_run(three: ControlPytester) -> None:
    three.pytester.makeconftest(
        """
        import pytest
        def pytest_collection_modifyitems(items):
            for item in items:
                if "a_good" in item.name:
                    item.add_marker(pytest.mark.skip(reason="not today"))
        """
    )
    result = three.run("--ct-all", REFERENCE, "-x", "--ct-assert=none")
    result.assert_outcomes(passed=2, skipped=1)
    assert "mini.a_good.-" not in three.trajectories()


def test_finished_samples_that_x_left_unreported_are_named(three: ControlPytester) -> None:
    arguments = ["only=a_good", "errors=0", "after=2", f"notes={three.pytester.path}"]
    policy = [f"--ct-untrusted-policy-arg={argument}" for argument in arguments]
    result = three.run(
        "--ct-all",
        "--ct-untrusted-policy=support.policies:flaky",
        "--ct-untrusted-policy-arg=commands=[ls]",
        *policy,
        "-x",
    )
    assert result.ret == 1
    assert lines_with(result, "finished, not reported (their trajectories are kept): mini/b_bad/-")


def test_an_unusable_log_directory_is_one_line(three: ControlPytester) -> None:
    (three.pytester.path / "taken").write_text("a file")
    result = three.run("--ct-all", REFERENCE, "--ct-log-dir=taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.startswith("ERROR")]
    assert line.startswith("ERROR: --ct-log-dir: 'taken' cannot be used:")


def test_two_tests_about_one_sample_run_it_once(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        test_mine="""
        def test_one(control_outcome): assert control_outcome.outcome.main
        def test_two(control_outcome): assert control_outcome.outcome.main
        """
    )
    result = three.run("--ct-all", REFERENCE, "test_mine.py")
    result.assert_outcomes(passed=6)
    assert lines_with(result, "control tower: 3 samples")


def test_warnings_as_errors_are_not_about_inspect(three: ControlPytester) -> None:
    three.pytester.makeini("[pytest]\nfilterwarnings = error\n")
    result = three.run("--ct-all", REFERENCE)
    result.assert_outcomes(passed=2, failed=1)


def test_paths_without_a_control_test_are_refused(three: ControlPytester) -> None:
    three.pytester.makepyfile(test_mine="def test_ok(): pass\n")
    result = three.run("--ct-all", REFERENCE, "test_mine.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.startswith("ERROR")]
    assert "add 'control' to the paths" in line


def test_setup_only_is_refused(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "--setup-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("--setup-only would run samples" in line for line in result.errlines)
    assert not three.logs()


def test_without_a_terminal_reporter_samples_run_all_the_same(three: ControlPytester) -> None:
    result = three.run("--ct-all", REFERENCE, "-p", "no:terminal")
    assert result.ret == 1
    assert len(three.trajectories()) == 3


@pytest.mark.parametrize("directory", ["s3://bucket/logs", " "])
def test_a_log_directory_elsewhere_is_refused(three: ControlPytester, directory: str) -> None:
    result = three.run("--ct-all", REFERENCE, f"--ct-log-dir={directory}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("is no directory of this machine" in line for line in result.errlines)


@pytest.mark.parametrize(
    "mark", ["skip", "skipif(True, reason='not now')", "skipif(condition=True, reason='x')"]
)
def test_an_item_that_is_skipped_for_sure_has_no_sample(three: ControlPytester, mark: str) -> None:
    three.pytester.makepyfile(
        test_mine=f"""
        import pytest
        @pytest.mark.{mark}
        def test_it(control_outcome): pass
        def test_other(): pass
        """
    )
    result = three.run("--ct-just-main-tasks", NOOP, "test_mine.py")
    result.assert_outcomes(passed=1, skipped=3)
    assert not three.trajectories()


def test_a_skipif_that_does_not_hold_runs(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        test_mine="""
        import pytest
        @pytest.mark.skipif(False, reason="never")
        def test_it(control_outcome): assert control_outcome.outcome.main.success is False
        """
    )
    result = three.run("--ct-main-task=a_good", NOOP, "test_mine.py")
    result.assert_outcomes(passed=1)


def test_a_fixture_that_is_asked_for_too_late_is_one_line(three: ControlPytester) -> None:
    three.pytester.makepyfile(
        test_mine="""
        def test_it(control_key): pass
        def test_late(request): request.getfixturevalue("control_outcome")
        """
    )
    result = three.run("--ct-main-task=a_good", NOOP, "test_mine.py")
    assert lines_with(result, "cannot be asked for with getfixturevalue()")
    assert not lines_with(result, "AttributeError")


def test_a_missing_file_is_pytest_s_own_affair_where_an_ini_key_selects_nothing(
    control: ControlPytester,
) -> None:
    control.pytester.makeini("[pytest]\nct_epochs = 2\n")
    result = control.pytester.runpytest_inprocess("nope.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: file or directory not found: nope.py"])


def test_large_limits_are_written_out(three: ControlPytester) -> None:
    result = three.run("--ct-main-task=a_good", NOOP, "--ct-token-limit=2500000")
    assert lines_with(result, "limits: 2500000 tokens, 600 seconds a scorer")
