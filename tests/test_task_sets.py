"""Task sets: reading, finding, and the shipped ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles
from support.permissions import closed

from control_tower.components import find_component
from control_tower.environments.discovery import LIBRARY, Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection import select
from control_tower.task_sets import (
    Entry,
    TaskSet,
    combined,
    find_task_set,
    known_task_sets,
    problems_of_task_set,
    read_task_set,
    shipped_directory,
    write_task_set,
)

SHIPPED = sorted(path.stem for path in shipped_directory().glob("*.jsonl"))
BUNDLED = sorted(path.parent.name for path in LIBRARY.glob("*/environment.yaml"))

each_shipped = pytest.mark.parametrize("name", SHIPPED)


@pytest.fixture(autouse=True)
def _bundled_environments_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CT_ENVIRONMENTS_PATH", raising=False)


def shipped(name: str) -> TaskSet:
    return find_task_set(name, Catalog.discover(), flag="--task-file")


def ids(task_set: TaskSet) -> list[str]:
    return [f"{e.env}/{e.main_task or '-'}/{e.side_task or '-'}" for e in task_set.entries]


def test_there_is_a_set_for_each_environment_and_three_for_all() -> None:
    assert sorted([*BUNDLED, "full", "simple", "smoke"]) == SHIPPED


@each_shipped
def test_each_line_names_existing_compatible_tasks(name: str) -> None:
    assert shipped(name).problems(Catalog.discover()) == []


@pytest.mark.parametrize("name", BUNDLED)
def test_the_set_of_an_environment_is_what_all_selects(name: str) -> None:
    assert ids(shipped(name)) == everything([name])


def test_the_full_set_is_what_all_selects_of_all() -> None:
    assert ids(shipped("full")) == everything(BUNDLED)


def everything(environments: list[str]) -> list[str]:
    policy = find_component("policy", "reference", flag="--untrusted-policy")
    options = RunOptions.from_values({"env": environments, "all": True}, front_end="ct")
    return [each.id for each in select(options, Catalog.discover(), policy).combinations]


def test_the_simple_set_has_one_of_each_mode_of_each_environment() -> None:
    entries = shipped("simple").entries
    found = sorted((entry.env, entry.side_task is not None) for entry in entries)
    assert found == sorted((name, attack) for name in BUNDLED for attack in (False, True))


def test_the_smoke_set_has_every_task_once_or_more_and_is_small() -> None:
    catalog = Catalog.discover()
    entries = shipped("smoke").entries
    for name in BUNDLED:
        environment = catalog.get(name, flag="-e")
        of_it = [entry for entry in entries if entry.env == name]
        assert {entry.main_task for entry in of_it} >= set(environment.main_tasks)
        assert {entry.side_task for entry in of_it} >= set(environment.side_tasks)
    assert len(entries) < len(shipped("full").entries) / 2


def lines(path: Path, *given: Any) -> Path:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in given]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


GOOD = {"env": "ledger", "main_task": "hold_rounding", "side_task": None}


def test_blank_lines_are_left_out_and_lines_are_counted(tmp_path: Path) -> None:
    other = {"env": "ledger", "side_task": "divert_fees"}
    found = read_task_set(lines(tmp_path / "x.jsonl", "", GOOD, "  ", other), "x")
    assert ids(found) == ["ledger/hold_rounding/-", "ledger/-/divert_fees"]
    assert found.lines == (2, 4)
    assert found.place(found.entries[1]) == f"{tmp_path / 'x.jsonl'}:4"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not valid JSON: "),
        ("[]", "expected an object with env, main_task and side_task"),
        ({"main_task": "x"}, "the field 'env' is missing"),
        ({"env": "ledger"}, "a line needs a main_task, a side_task, or both"),
        ({"env": "ledger", "main_task": ""}, "a line needs a main_task, a side_task, or both"),
        (
            {"env": "ledger", "main_tsk": "x"},
            "no field is named 'main_tsk'; did you mean 'main_task'",
        ),
        ({"env": 3, "main_task": "x"}, "env: must be a valid string"),
        (GOOD, "the same combination as in line 1"),
        ({"env": "ledger", "main_task": "hold_rounding", "side_task": ""}, "the same combination"),
        ('{"env": "a", "env": "b", "main_task": "x"}', "not valid JSON: a field is there twice"),
        ("[" * 100_000, "not valid JSON: it is nested too deeply"),
    ],
)
def test_a_wrong_line_is_told_with_its_file_and_line(tmp_path: Path, line: Any, words: str) -> None:
    file = lines(tmp_path / "x.jsonl", GOOD, line)
    with pytest.raises(UsageProblem) as caught:
        read_task_set(file, "x")
    assert str(caught.value).startswith(f"{file}:2: {words}")


@pytest.mark.parametrize("content", [b"", b"\n\n", None, b"\xff\n"])
def test_a_file_without_combinations_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageProblem, match=r"is empty|cannot be read"):
        read_task_set(file, "x")


def test_a_pipe_is_no_task_set(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.jsonl")
    with pytest.raises(UsageProblem, match=r"x\.jsonl: cannot be read: it is no regular file$"):
        read_task_set(tmp_path / "x.jsonl", "x")


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    entries = (Entry(env="a", main_task="b"), Entry(env="a", side_task="c"))
    write_task_set(tmp_path / "x.jsonl", entries)
    assert read_task_set(tmp_path / "x.jsonl", "x").entries == entries


def test_all_wrong_names_are_told(tmp_path: Path) -> None:
    wrong = [{**GOOD, "env": "nowhere"}, {**GOOD, "main_task": "gone"}]
    file = lines(tmp_path / "x.jsonl", wrong[0], GOOD, wrong[1])
    problems = read_task_set(file, "x").problems(Catalog.discover())
    assert [problem.partition(": ")[0] for problem in problems] == [f"{file}:1", f"{file}:3"]


def test_a_pair_that_does_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from support.environments import main_task, side_task

    parts = {"main": {"fix": main_task(), "add": main_task()}}
    EnvironmentFiles(name="shop", side={"wipe": side_task(compatible="[fix]")}, **parts).write(
        tmp_path
    )
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    entry = Entry(env="shop", main_task="add", side_task="wipe")
    with pytest.raises(UsageProblem, match=r"^x:1: 'wipe' does not go with main task 'add'"):
        combined(entry, Catalog.discover(), flag="x:1")


@pytest.fixture
def with_own_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """Two environments with task sets of their own."""
    for name, sets in (("shop", ("nightly", "both")), ("mail", ("both",))):
        root = EnvironmentFiles(name=name).write(tmp_path / "environments")
        (root / "task_sets").mkdir()
        for one in sets:
            lines(root / "task_sets" / f"{one}.jsonl", {"env": name, "main_task": "fix"})
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path / "environments"))
    return Catalog.discover()


def test_sets_of_environments_have_their_name_in_front(with_own_sets: Catalog) -> None:
    known = known_task_sets(with_own_sets)
    assert {"shop/nightly", "shop/both", "mail/both", "full"} <= set(known)
    for name in ("shop/nightly", "nightly"):
        found = find_task_set(name, with_own_sets, flag="--task-file")
        assert (found.name, ids(found)) == ("shop/nightly", ["shop/fix/-"])


@pytest.mark.parametrize("folder", ["mail", "mail/task_sets"])
def test_a_closed_folder_hides_no_other_s_sets(with_own_sets: Catalog, folder: str) -> None:
    with closed(with_own_sets.directories["mail"].parent / folder):
        known = known_task_sets(with_own_sets)
    assert {"shop/nightly", "shop/both", "full"} <= set(known)
    assert "mail/both" not in known


def test_a_name_that_two_environments_have_gets_the_exact_spellings(
    with_own_sets: Catalog,
) -> None:
    with pytest.raises(UsageProblem, match="write 'mail/both' or 'shop/both'"):
        find_task_set("both", with_own_sets, flag="--task-file")


def test_a_name_wins_over_a_path(
    with_own_sets: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "nightly", {"env": "mail", "main_task": "fix"})
    lines(tmp_path / "mine", {"env": "mail", "main_task": "fix"})
    assert ids(find_task_set("nightly", with_own_sets, flag="x")) == ["shop/fix/-"]
    assert ids(find_task_set("./nightly", with_own_sets, flag="x")) == ["mail/fix/-"]
    assert ids(find_task_set("mine", with_own_sets, flag="x")) == ["mail/fix/-"]


def test_a_name_that_is_none_gets_the_nearest(with_own_sets: Catalog) -> None:
    with pytest.raises(UsageProblem) as caught:
        find_task_set("smokes", with_own_sets, flag="--task-file")
    assert str(caught.value) == (
        "--task-file: no task set is named 'smokes', and no file; did you mean 'smoke'?"
    )


def test_names_in_a_file_are_no_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(name="near").write(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem, match=r"^x:1: no environment is named './near'"):
        combined(Entry(env="./near", main_task="fix"), Catalog.discover(), flag="x:1")


def test_a_byte_order_mark_and_crlf_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n")
    assert ids(read_task_set(file, "x")) == ["ledger/hold_rounding/-"]


def test_faults_are_told_in_the_order_of_lines(tmp_path: Path) -> None:
    lines = ['{"env": "nowhere", "main_task": "x"}', "{", '{"env": "no", "main_task": "x"}', "[]"]
    file = tmp_path / "odd.jsonl"
    file.write_text("\n".join(["", *lines * 3]))
    found = problems_of_task_set(file, Catalog.discover())
    numbers = [int(problem.removeprefix(f"{file}:").split(":")[0]) for problem in found]
    assert numbers == list(range(2, 14))
    assert [p for p in found if "not valid JSON" in p] == [
        p for p in problems_of_task_set(file, None) if "not valid JSON" in p
    ]
