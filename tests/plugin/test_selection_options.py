"""Each selection option from both front ends: exactly which items it collects."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.environments import EnvironmentFiles, main_task, side_task
from support.sessions import ControlPytester

from control_tower.cli.main import main

HONEST_SHOP = ["shop/add/-", "shop/fix/-", "shop/port/-"]
PAIRS_SHOP = ["shop/add/leak", "shop/fix/leak", "shop/fix/wipe", "shop/port/leak"]


@pytest.fixture
def place(control: ControlPytester) -> ControlPytester:
    EnvironmentFiles(
        name="shop",
        main={
            "port": main_task(category="lang_rewrite"),
            "add": main_task(category="add_feature"),
            "fix": main_task(),
        },
        side={"wipe": side_task(compatible="[fix]"), "leak": side_task()},
    ).write(control.environments)
    EnvironmentFiles(name="mail", main={"fix": main_task()}, side={"spam": side_task()}).write(
        control.environments
    )
    EnvironmentFiles(
        name="bare", main={"lacking": main_task(scorer=None), "whole": main_task()}, side={}
    ).write(control.environments)
    path = control.pytester.path
    lines = [
        {"env": "shop", "main_task": "fix", "side_task": "wipe"},
        {"env": "mail", "main_task": "fix"},
    ]
    (path / "README.md").touch()
    (path / "few.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (path / "t.json").write_text(
        json.dumps(
            {
                "trajectory_id": "t1",
                "run_id": "r",
                "environment": {"id": "shop"},
                "main_task": {"id": "add"},
                "side_task": {"id": "leak"},
            }
        )
    )
    return control


def collected(lines: list[str]) -> list[str]:
    """Combination ids of the collected items."""
    start, end = "control::test_sample[", "]"
    return [line[len(start) : -len(end)] for line in lines if line.startswith(start)]


FrontEnd = Callable[
    [ControlPytester, list[str], pytest.CaptureFixture[str]], tuple[int, list[str], str]
]


def by_ct(
    place: ControlPytester, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str], str]:
    """`ct run eval2 … -- --co`, with nothing pytest-like said."""
    result = place.ct("run", "eval2", *argv, "--untrusted-policy", "reference", "--", "--co")
    return int(result.ret), collected(result.outlines), result.stderr.str()


def by_pytest(
    place: ControlPytester, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str], str]:
    """`pytest --ct-… --co`, in this process."""
    spelled = [_pytest_spelling(word) for word in argv]
    result = place.pytester.runpytest_inprocess(
        *spelled, "--ct-untrusted-policy=reference", "--co", "-q", "-p", "no:cacheprovider"
    )
    return int(result.ret), collected(result.outlines), result.stderr.str()


def _pytest_spelling(word: str) -> str:
    short = {
        "-e": "--env",
        "-t": "--main-task",
        "-s": "--side-task",
        "-c": "--category",
        "-ea": "--env-arg",
    }
    word = short.get(word, word)
    word = {"--traj-id": "--trajectory-id", "--environment": "--env"}.get(word, word)
    return "--ct-" + word[2:] if word.startswith("--") else word


SELECTIONS: dict[str, tuple[list[str], list[str]]] = {
    "all": (["-e", "shop", "--all"], sorted(HONEST_SHOP + PAIRS_SHOP)),
    "all of two": (
        ["-e", "shop", "--environment", "mail", "--all"],
        ["mail/fix/-", "mail/fix/spam", *sorted(HONEST_SHOP + PAIRS_SHOP)],
    ),
    "main task": (["-e", "shop", "-t", "fix", "-t", "add"], ["shop/add/-", "shop/fix/-"]),
    "main task of two": (["-e", "shop", "-e", "mail", "-t", "fix"], ["mail/fix/-", "shop/fix/-"]),
    "main task of one": (["-e", "shop", "-e", "mail", "-t", "mail/fix"], ["mail/fix/-"]),
    "side task": (["-e", "shop", "-s", "wipe"], ["shop/-/wipe"]),
    "pair": (["-e", "shop", "-t", "fix", "-s", "wipe"], ["shop/fix/wipe"]),
    "just main tasks": (["-e", "shop", "--just-main-tasks"], HONEST_SHOP),
    "just side tasks": (["-e", "shop", "--just-side-tasks"], ["shop/-/leak", "shop/-/wipe"]),
    "env only": (["-e", "shop", "-e", "mail", "--env-only"], ["mail/fix/-", "shop/add/-"]),
    "category": (
        ["-e", "shop", "-c", "fix_bug", "-c", "add_feature"],
        ["shop/add/-", "shop/add/leak", "shop/fix/-", "shop/fix/leak", "shop/fix/wipe"],
    ),
    "limit": (
        ["-e", "shop", "-e", "mail", "--all", "--limit", "3"],
        ["mail/fix/-", "mail/fix/spam", "shop/add/-"],
    ),
    "task file": (["--task-file", "few.jsonl"], ["mail/fix/-", "shop/fix/wipe"]),
    "trajectory": (["--traj-id", "t.json"], ["shop/add/leak"]),
    "include": (
        ["-e", "bare", "--all", "--main-tasks-with-no-scorers", "include"],
        ["bare/lacking/-", "bare/whole/-"],
    ),
    "exclude": (
        ["-e", "bare", "--all", "--main-tasks-with-no-scorers", "exclude"],
        ["bare/whole/-"],
    ),
    "path": (["-e", "environments/shop", "-t", "fix"], ["shop/fix/-"]),
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("front_end", [by_pytest, pytest.param(by_ct, marks=pytest.mark.slow)])
def test_each_way_to_select(
    place: ControlPytester, capsys: pytest.CaptureFixture[str], front_end: FrontEnd, name: str
) -> None:
    argv, expected = SELECTIONS[name]
    code, found, errors = front_end(place, argv, capsys)
    assert (code, found) == (0, expected), errors


CONTRADICTIONS: list[tuple[list[str], tuple[str, str]]] = [
    (["--all", "-t", "fix"], ("--all", "--main-task")),
    (["--env-only", "-s", "leak"], ("--env-only", "--side-task")),
    (["--just-main-tasks", "--just-side-tasks"], ("--just-main-tasks", "--just-side-tasks")),
    (["--all", "--env-only"], ("--all", "--env-only")),
    (["--task-file", "few.jsonl", "--all"], ("--all", "--task-file")),
    (["--task-file", "few.jsonl", "-t", "fix"], ("--task-file", "--main-task")),
    (["--task-file", "few.jsonl", "--traj-id", "t.json"], ("--task-file", "--trajectory-id")),
    (["--traj-id", "t.json"], ("--trajectory-id", "--env")),
    (["--just-side-tasks", "-c", "fix_bug"], ("--just-side-tasks", "--category")),
]


@pytest.mark.parametrize(
    ("argv", "flags"), CONTRADICTIONS, ids=[" ".join(flags) for _, flags in CONTRADICTIONS]
)
def test_each_contradiction_names_both_options(
    place: ControlPytester,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    flags: tuple[str, str],
) -> None:
    assert main(["run", "eval2", "-e", "shop", *argv]) == 4
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ct: error: {flags[0]} and {flags[1]} contradict each other")
    spelled = [_pytest_spelling(word) for word in ["-e", "shop", *argv]]
    result = place.pytester.runpytest_inprocess(*spelled, "-p", "no:cacheprovider")
    assert result.ret == 4
    first, second = (_pytest_spelling(flag) for flag in flags)
    assert f"{first} and {second} contradict each other" in result.stderr.str()


@pytest.mark.slow
def test_arguments_reach_set_up_services_checks_and_the_trajectory(place: ControlPytester) -> None:
    check = (
        "import os\nfound = (open('made').read().split(), os.environ['CT_ARG_ROWS'])\n"
        "good = found == (['7', '7'], '7')\n"
        "print(f\"{'CORRECT' if good else 'INCORRECT'}: {found}\")\n"
    )
    root = EnvironmentFiles(
        name="sized",
        main={
            "fix": main_task(check=check, reference="true\n", setup='echo "$CT_ARG_ROWS" >made\n')
        },
        side={},
        services="{api: {start: 'echo \"$CT_ARG_ROWS\" >>made', ready: 'test \"$CT_ARG_ROWS\" = 7'}}",
    ).write(place.environments)
    with (root / "environment.yaml").open("a") as file:
        file.write("args: {rows: {type: integer, default: 3}}\n")
    argv = ["--ct-env=sized", "--ct-all", "--ct-untrusted-policy=reference", "--ct-sandbox=bwrap"]
    result = place.run_plain(*argv, "--ct-env-arg=rows=7")
    result.assert_outcomes(passed=1)
    [trajectory] = place.trajectories().values()
    assert trajectory["environment"]["args"] == {"rows": 7}


@pytest.mark.slow
def test_main_tasks_without_scorers_are_recorded_and_do_not_count_as_undecided(
    place: ControlPytester,
) -> None:
    argv = ["--ct-env=bare", "--ct-all", "--ct-untrusted-policy=reference", "--ct-sandbox=bwrap"]
    result = place.run_plain(*argv, "--ct-main-tasks-with-no-scorers=include")
    assert result.parseoutcomes() == {"passed": 1, "unscored": 1}
    assert result.ret == 0
    [lacking] = [t for t in place.trajectories().values() if t["main_task"]["id"] == "lacking"]
    assert (lacking["outcome"], lacking["main_task_success"]) == ("unscored", None)


@pytest.mark.slow
def test_a_scorer_that_changes_its_mind_is_told(place: ControlPytester) -> None:
    check = (
        "import os\nseen = os.path.exists('seen')\nopen('seen', 'w').close()\n"
        "print('INCORRECT: again' if seen else 'CORRECT: first')\n"
    )
    EnvironmentFiles(name="moody", main={"fix": main_task(check=check)}, side={}).write(
        place.environments
    )
    argv = ["--ct-env=moody", "--ct-all", "--ct-untrusted-policy=reference", "--ct-sandbox=bwrap"]
    assert place.run_plain(*argv).ret == 0
    result = place.run_plain(*argv, "--ct-score-twice")
    assert result.ret == 10
    assert "scored twice: success (first), then no success (again)" in result.stdout.str()


@pytest.fixture
def repository(place: ControlPytester) -> Path:
    root = place.pytester.path
    (root / ".gitignore").write_text("logs\nstate\n*.pyc\nstdout\nstderr\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.test"]
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True)
    return root


CHANGES: list[tuple[str, list[str], list[str]]] = [
    (
        "environments/shop/main_tasks/fix/check.py",
        [],
        ["shop/fix/-", "shop/fix/leak", "shop/fix/wipe"],
    ),
    ("environments/shop/side_tasks/wipe/docs/goal.md", [], ["shop/fix/wipe"]),
    ("environments/mail/codebase/src/app.py", [], ["mail/fix/-", "mail/fix/spam"]),
    (
        "environments/shop/main_tasks/fix/check.py",
        ["-e", "shop", "-t", "fix", "-t", "add"],
        ["shop/fix/-"],
    ),
]


@pytest.mark.parametrize(("file", "argv", "expected"), CHANGES)
def test_only_what_changed(
    place: ControlPytester,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    argv: list[str],
    expected: list[str],
) -> None:
    (repository / file).write_text("# changed\n")
    code, found, errors = by_pytest(place, [*argv, "--changed-since", "HEAD"], capsys)
    assert (code, found) == (0, expected), errors


ANSWERS: list[tuple[str, list[str]]] = [
    ("README.md", ["-t", "fix"]),
    ("environments/shop/environment.yaml", ["-t", "lacking"]),
    (
        "environments/shop/main_tasks/fix/check.py",
        ["--task-file", "few.jsonl", "-c", "add_feature"],
    ),
    ("environments/bare/main_tasks/lacking/info.yml", ["--main-tasks-with-no-scorers", "exclude"]),
    ("environments/mail/environment.yaml", ["-ea", "sized:rows=3"]),
]


@pytest.mark.parametrize(("file", "argv"), ANSWERS)
def test_whatever_filters_it_nothing_that_changed_is_an_answer(
    place: ControlPytester,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    argv: list[str],
) -> None:
    root = EnvironmentFiles(name="sized").write(place.environments)
    with (root / "environment.yaml").open("a") as stream:
        stream.write("args: {rows: {type: integer, default: 3}}\n")
    subprocess.run(["git", "add", "-A"], check=True, cwd=repository)
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.test"]
    subprocess.run(["git", *identity, "commit", "-q", "-m", "sized"], check=True, cwd=repository)
    with (repository / file).open("a") as stream:
        stream.write("# changed\n")
    code, found, errors = by_pytest(place, [*argv, "--changed-since", "HEAD"], capsys)
    assert code == 0, errors
    assert found == ["unselected"] or file.startswith("environments/mail")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["-e", "shop", "--all"], "control tower: 2 incompatible pairs skipped"),
        (["-e", "shop", "--changed-since", "HEAD"], "control tower: nothing to run: "),
    ],
)
def test_a_list_of_items_says_what_was_left_out(
    place: ControlPytester, repository: Path, argv: list[str], said: str
) -> None:
    """`--co` shows ids only, without the header."""
    result = place.ct("run", "eval2", *argv, "--untrusted-policy", "reference", "--", "--co")
    assert result.ret == 0
    assert [line for line in result.outlines if line.startswith(said)]


def test_what_the_command_line_selects_takes_the_place_of_the_ini_file(
    place: ControlPytester, capsys: pytest.CaptureFixture[str]
) -> None:
    place.pytester.makeini("[pytest]\nct_env = shop\nct_all = true\nct_category = fix_bug\n")
    assert by_pytest(place, ["-t", "fix"], capsys)[:2] == (0, ["shop/fix/-"])
    assert by_pytest(place, ["--traj-id", "t.json"], capsys)[:2] == (0, ["shop/add/leak"])
    assert by_pytest(place, ["--limit", "1"], capsys)[:2] == (0, ["shop/fix/-"])


JUST_SIDE_TASKS = ["shop/-/leak", "shop/-/wipe"]
INI: list[tuple[str, list[str], list[str]]] = [
    ("ct_category = fix_bug", ["-e", "shop", "--just-side-tasks"], JUST_SIDE_TASKS),
    ("ct_just_side_tasks = true", ["-e", "mail", "-c", "fix_bug"], ["mail/fix/-", "mail/fix/spam"]),
    ("ct_env_arg = n=99", ["--traj-id", "t.json"], ["shop/add/leak"]),
    ("ct_trajectory_id = t.json", ["-e", "mail", "-c", "fix_bug"], ["mail/fix/-", "mail/fix/spam"]),
]


@pytest.mark.parametrize(("ini", "argv", "expected"), INI)
def test_the_command_line_undoes_what_contradicts_it_in_the_ini_file(
    place: ControlPytester,
    capsys: pytest.CaptureFixture[str],
    ini: str,
    argv: list[str],
    expected: list[str],
) -> None:
    place.pytester.makeini(f"[pytest]\n{ini}\n")
    code, found, errors = by_pytest(place, argv, capsys)
    assert (code, found) == (0, expected), errors


def test_two_keys_of_the_ini_file_that_contradict_each_other_are_refused(
    place: ControlPytester, capsys: pytest.CaptureFixture[str]
) -> None:
    place.pytester.makeini("[pytest]\nct_category = fix_bug\nct_just_side_tasks = true\n")
    code, _, errors = by_pytest(place, ["-e", "shop"], capsys)
    assert (code, "contradict each other" in errors) == (4, True)


@pytest.mark.slow
@pytest.mark.parametrize("argv", [[], ["-e", "shop", "--all"], ["-e", "shop", "-t", "add"]])
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "n2"])
def test_nothing_that_changed_is_an_answer_and_runs_nothing(
    place: ControlPytester, repository: Path, argv: list[str], workers: list[str]
) -> None:
    (repository / "README.md").write_text("Only words.\n")
    result = place.ct("run", "eval2", *argv, "--changed-since", "HEAD", "--", *workers)
    assert result.ret == 0
    words = "nothing to run: no environment changed since HEAD (1 file outside of them did)"
    assert words in result.stdout.str()
    assert not (repository / "logs").exists()


@pytest.mark.slow
def test_workers_run_what_had_changed_when_the_run_began(
    place: ControlPytester, repository: Path
) -> None:
    """A worker would see other changes: the first sample's files are changed back meanwhile."""
    check = repository / "environments" / "shop" / "main_tasks" / "fix" / "check.py"
    check.write_text(check.read_text() + "# changed\n")
    place.pytester.makeconftest(
        f"""
        import os, subprocess
        def pytest_configure(config):
            if hasattr(config, "workerinput"):
                subprocess.run(["git", "-C", {str(repository)!r}, "stash", "-q"], check=False)
        """
    )
    argv = [
        "--ct-changed-since=HEAD",
        "--ct-untrusted-policy=noop",
        "--ct-sandbox=bwrap",
        "-n",
        "2",
    ]
    result = place.run_plain(*argv)
    result.assert_outcomes(passed=3)
