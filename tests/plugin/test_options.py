"""pytest's spelling of the run options, and the way there from `ct`'s."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.cli.main import main
from control_tower.options import OPTIONS
from control_tower.run_options import RunOptions
from pytest_control_tower.options import command_line_values, front_end, ini_values


def given_values(config: pytest.Config) -> dict[str, Any]:
    """What the plugin makes of a configuration: the command line before the ini file."""
    return {**ini_values(config), **command_line_values(config)}


def test_help_shows_every_option_and_every_ini_key(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--help")
    assert result.ret == 0
    words = result.stdout.str().replace("=", " ").split()
    assert [option.pytest for option in OPTIONS if option.pytest not in words] == []
    keys = {word.partition(" ")[0] for word in words}
    assert [option.ini for option in OPTIONS if option.ini not in keys] == []
    assert "front-end" not in result.stdout.str()


def values(pytester: pytest.Pytester, *argv: str) -> dict[str, Any]:
    return given_values(pytester.parseconfig(*argv))


def test_nothing_given_is_nothing(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig()
    assert given_values(config) == {}
    assert front_end(config) == "pytest"


EXAMPLES: dict[str, tuple[str, Any]] = {
    "text": ("value", "value"),
    "directory": ("some/where", "some/where"),
    "integer": ("3", 3),
    "flag": ("true", True),
    "choice": ("include", "include"),
}


def expected_values() -> dict[str, Any]:
    examples = {option.key: (EXAMPLES[option.kind][1], option.multiple) for option in OPTIONS}
    return {key: [value, "two"] if many else value for key, (value, many) in examples.items()}


def test_every_option_is_read_from_the_command_line(pytester: pytest.Pytester) -> None:
    argv: list[str] = []
    for option in OPTIONS:
        argv += [option.pytest, *([] if option.kind == "flag" else [EXAMPLES[option.kind][0]])]
        argv += [option.pytest, "two"] if option.multiple else []
    assert values(pytester, *argv) == expected_values()


def test_every_option_is_read_from_the_ini_file(pytester: pytest.Pytester) -> None:
    lines = ["[pytest]"]
    for option in OPTIONS:
        text = EXAMPLES[option.kind][0]
        lines.append(
            f"{option.ini} =" + (f"\n    {text}\n    two" if option.multiple else f" {text}")
        )
    pytester.makeini("\n".join(lines))
    somewhere, two = (str(pytester.path / name) for name in ("some/where", "two"))
    expected = {**expected_values(), "log_dir": somewhere, "extra_src": [somewhere, two]}
    assert values(pytester) == expected


def test_lines_of_an_ini_key_may_hold_spaces(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nct_untrusted_policy_arg =\n    note=two words\n    x=1\n")
    assert values(pytester) == {"untrusted_policy_arg": ["note=two words", "x=1"]}


def test_the_command_line_comes_before_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nct_env = from_ini\nct_epochs = 2\nct_protocol = p\n")
    assert values(pytester, "--ct-env=typed", "--ct-epochs=3") == {
        "env": ["typed"],
        "epochs": 3,
        "protocol": "p",
    }


def test_empty_and_false_ini_keys_say_nothing(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nct_all = false\nct_env =\nct_sandbox =\n")
    assert values(pytester) == {}


def test_an_ini_value_that_is_no_number_is_one_line(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nct_limit = many\n")
    with pytest.raises(pytest.UsageError) as caught:
        values(pytester)
    assert str(caught.value).startswith("ct_limit: ")
    assert "'many'" in str(caught.value)


def test_a_typo_in_an_option_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--ct-evn=mini")
    assert result.ret == 4
    assert "--ct-evn" in result.stderr.str()


ROUND_TRIPS: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["-e", "b", "-e", "a"], {"env": ("b", "a")}),
    (["--environment", "a"], {"env": ("a",)}),
    (["-t", "env/task", "-s", "other"], {"main_task": ("env/task",), "side_task": ("other",)}),
    (["-up", "model=a/b=c"], {"untrusted_policy_arg": ("model=a/b=c",)}),
    (["-up", "-x=-1", "-up", "--y=2"], {"untrusted_policy_arg": ("-x=-1", "--y=2")}),
    (
        ["-up", "note=two words, 'quoted' \"twice\""],
        {"untrusted_policy_arg": ("note=two words, 'quoted' \"twice\"",)},
    ),
    (["-up", "list=[a, {b: c}]"], {"untrusted_policy_arg": ("list=[a, {b: c}]",)}),
    (["-ea", "rows=3", "--env-arg", "shop:x=a b"], {"env_arg": ("rows=3", "shop:x=a b")}),
    (["--trajectory-id", "t.json"], {"trajectory_id": ("t.json",)}),
    (
        ["--traj-id", "t.json", "--trajectory-id", "a1b2"],
        {"trajectory_id": ("t.json", "a1b2")},
    ),
    (["--sample-id", "shop/fix/-"], {"traj_sample_id": "shop/fix/-"}),
    (["--replay-sandbox"], {"replay_sandbox": True}),
    (["--run-name", "first", "--tag", "a", "--tag", "b"], {"run_name": "first", "tag": ("a", "b")}),
    (["--task-file", "full"], {"task_file": "full"}),
    (["-c", "fix_bug", "--category", "infra"], {"category": ("fix_bug", "infra")}),
    (["--main-tasks-with-no-scorers", "include"], {"main_tasks_with_no_scorers": "include"}),
    (["--changed-since", "main~2"], {"changed_since": "main~2"}),
    (["-bp", "", "-bp", "é=✓"], {"protocol_arg": ("", "é=✓")}),
    (["-bp", "a=line\nbreak"], {"protocol_arg": ("a=line\nbreak",)}),
    (["--untrusted-policy", "my.module:fn"], {"untrusted_policy": "my.module:fn"}),
    (["--protocol", "-odd"], {"protocol": "-odd"}),
    (["--model-role", "untrusted=a/b=c"], {"model_role": ("untrusted=a/b=c",)}),
    (["--log-dir", "--odd dir="], {"log_dir": "--odd dir="}),
    (["--log-dir=~/x"], {"log_dir": "~/x"}),
    (["--all", "--no-fail-on-error"], {"all": True, "no_fail_on_error": True}),
    (["--just-main-tasks", "--env-only"], {"just_main_tasks": True, "env_only": True}),
    (["--just-side-tasks"], {"just_side_tasks": True}),
    (["--limit", "3", "--epochs", "2"], {"limit": 3, "epochs": 2}),
    (["--retry-on-error", "0", "--max-samples", "1"], {"retry_on_error": 0, "max_samples": 1}),
    (
        ["--scorer-timeout=1", "--token-limit=2", "--message-limit=3", "--sample-time-limit=4"],
        {"scorer_timeout": 1, "token_limit": 2, "message_limit": 3, "sample_time_limit": 4},
    ),
    (["--max-connections", "7"], {"max_connections": 7}),
    (["--extra-src", ".", "--extra-src", ".."], {"extra_src": (".", "..")}),
    (["--sandbox", "bwrap"], {"sandbox": "bwrap"}),
    (["--sandbox", "my.module:type"], {"sandbox": "my.module:type"}),
    (
        ["--sandbox-arg", 'a={"b": [1]}', "--sandbox-arg", "c=x=y"],
        {"sandbox_arg": ('a={"b": [1]}', "c=x=y")},
    ),
    (["--startup-retries", "0"], {"startup_retries": 0}),
    (["--no-internet", "--no-intranet"], {"no_internet": True, "no_intranet": True}),
    (
        ["--network-control", "--sandbox-isolation"],
        {"network_control": True, "sandbox_isolation": True},
    ),
]


@pytest.mark.parametrize(("argv", "expected"), ROUND_TRIPS)
def test_what_is_typed_after_ct_arrives_in_pytest_unchanged(
    inspect_loaded: None,  # before pytester, which forgets modules imported after it
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    expected: dict[str, Any],
) -> None:
    calls: list[list[str]] = []
    checked: list[RunOptions] = []
    monkeypatch.setattr(pytest, "main", lambda argv: calls.append(argv) or 0)
    monkeypatch.setattr("control_tower.episode.plan.make_plan", checked.append)
    assert main(["run", "eval2", *argv]) == 0
    config = pytester.parseconfig(*calls[0])
    arrived = RunOptions.from_values(given_values(config), front_end=front_end(config))
    assert arrived == RunOptions.from_values(expected, front_end="ct")
    assert checked == [arrived]


def test_every_option_of_ct_is_in_a_round_trip() -> None:
    tried = {key for _, expected in ROUND_TRIPS for key in expected}
    assert tried == {option.key for option in OPTIONS if option.ct}
