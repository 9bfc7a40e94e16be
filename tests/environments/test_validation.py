"""Static validation: every fault of a broken environment, at once, where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.environments import EnvironmentFiles, main_task, side_task
from support.permissions import closed

from control_tower.environments.discovery import LIBRARY
from control_tower.environments.problems import Problem
from control_tower.environments.validation import validate_environment
from control_tower.scoring.wrapper import load_scorer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return EnvironmentFiles(
        main={"fix": main_task(), "add": main_task(setup="true\n")},
        side={"leak": side_task(compatible="[fix]")},
    ).write(tmp_path)


def faults(root: Path) -> list[Problem]:
    return validate_environment(root, load_scorer)


def said(root: Path) -> list[str]:
    return [str(fault).replace(f"{root}/", "") for fault in faults(root)]


def test_a_sound_environment_has_no_faults(root: Path) -> None:
    assert said(root) == []


@pytest.mark.parametrize("name", sorted(p.parent.name for p in LIBRARY.glob("*/environment.yaml")))
def test_the_bundled_ones_have_no_faults(name: str) -> None:
    assert said(LIBRARY / name) == []


def test_a_dozen_faults_are_all_reported_at_once(root: Path) -> None:
    (root / "environment.yaml").write_text(
        "display_name: Mini\nshort_descripton: x\nportable: true\n"
        "services: {api: {description: x}, web: {ready_timeout: soon}}\n"
    )
    (root / "docs" / "description.md").rename(root / "docs" / "descripton.md")
    fix, add = root / "main_tasks" / "fix", root / "main_tasks" / "add"
    (fix / "info.yml").write_text("name: Fix\ntask_category: mend\ndescription: {file: gone.md}\n")
    (fix / "solution").rename(fix / "solutions")
    (fix / "check.py").write_text("x = 1\ndef broken(:\n")
    (add / "scorer.py").write_text("import nowhere_to_be_found\n")
    (add / "solution" / "01.sh").write_text("true\nif true; then\n")
    (add / "setup.sh").write_text("case x in\n")
    leak = root / "side_tasks" / "leak"
    (leak / "info.yml").write_text(
        "name: Leak\ntask_category: x\nfailure_type: live\ncompatible_main_tasks:\n  - fxi\n"
    )
    (leak / "docs" / "goal.md").unlink()
    (leak / "scorer.py").unlink()
    (root / "codebase" / "compose.yml").write_text("services:\n  app:\n    build: .\n")
    lines = said(root)
    expected = [
        "codebase/compose.yml:1: there is no service 'default', which is the agent's",
        "docs/description.md: this file is missing",
        "docs/descripton.md: nothing uses this name; did you mean 'description.md'?",
        "environment.yaml: the field 'short_description' is missing",
        "environment.yaml:2: no field is named 'short_descripton'; did you mean 'short_description",
        "environment.yaml:3: portable: must be a list (it is true)",
        "environment.yaml:4: services.web.ready_timeout: must be a ",
        "main_tasks/add/scorer.py: cannot be imported: ModuleNotFoundError: ",
        "main_tasks/add/setup.sh:",
        "main_tasks/add/solution/01.sh:",
        "main_tasks/fix/check.py:2: not valid Python: ",
        "main_tasks/fix/gone.md: this file is missing",
        "main_tasks/fix/info.yml:2: task_category: must be ",
        "main_tasks/fix/solutions: nothing uses this name; did you mean 'solution'?",
        "main_tasks/fix: there is no reference: solution/ holds no .sh file",
        "side_tasks/leak/docs/goal.md: this file is missing",
        "side_tasks/leak/info.yml:5: compatible_main_tasks: no main task is named 'fxi'; did you",
        "side_tasks/leak/scorer.py: this file is missing: a side task needs a scorer",
    ]
    assert [start for start in expected if not any(line.startswith(start) for line in lines)] == []
    assert len(lines) == len(expected)


def test_faults_of_one_task_do_not_hide_those_of_another(root: Path) -> None:
    (root / "main_tasks" / "fix" / "info.yml").write_text("name: [\n")
    (root / "main_tasks" / "add" / "solution" / "01.sh").write_text("done\n")
    lines = said(root)
    assert any(line.startswith("main_tasks/fix/info.yml:") for line in lines)
    assert any(
        line.startswith("main_tasks/add/solution/01.sh:1: not valid for bash") for line in lines
    )


@pytest.mark.parametrize(
    ("file", "text", "start"),
    [
        (
            "main_tasks/fix/check.py",
            "x = 1\ndef f(:\n",
            "main_tasks/fix/check.py:2: not valid Python",
        ),
        ("checks/prelude.py", "return 5\n", "checks/prelude.py:1: not valid Python: 'return'"),
        ("main_tasks/fix/check.py", "x = 1\nreturn 5\n", "main_tasks/fix/check.py:2: not valid P"),
        (
            "codebase/compose.yml",
            f"services:\n  default:\n    build: {{context: {'x' * 5000}}}\n",
            "codebase/compose.yml:3: services.default.build: ",
        ),
        (
            "codebase/compose.yml",
            'services:\n  default:\n    build: {context: "a\\0b"}\n',
            "codebase/compose.yml:3: services.default.build: ",
        ),
        ("checks/prelude.py", "x = (\n", "checks/prelude.py:1: not valid Python"),
        ("main_tasks/fix/setup.sh", "(\n", "main_tasks/fix/setup.sh:"),
        ("main_tasks/fix/scorer.py", "score = 1\n", "main_tasks/fix/scorer.py: defines no 'async"),
        ("side_tasks/leak/docs/goal.md", " \n", "side_tasks/leak/docs/goal.md: the goal is empty"),
        ("codebase/compose.yml", "services: [\n", "codebase/compose.yml:"),
        ("codebase/compose.yml", "services: {}\n", "codebase/compose.yml:1: there is no service"),
        (
            "codebase/compose.yml",
            "services:\n  default:\n    build: {context: elsewhere}\n",
            "codebase/compose.yml:3: services.default.build: ",
        ),
    ],
)
def test_each_kind_of_fault(root: Path, file: str, text: str, start: str) -> None:
    (root / file).parent.mkdir(exist_ok=True)
    (root / file).write_text(text)
    [line] = said(root)
    assert line.startswith(start)


def test_a_task_without_a_reference(root: Path) -> None:
    (root / "main_tasks" / "fix" / "solution" / "01.sh").unlink()
    assert said(root) == ["main_tasks/fix: there is no reference: solution/ holds no .sh file"]


def test_a_main_task_may_have_no_scorer(root: Path) -> None:
    (root / "main_tasks" / "fix" / "scorer.py").unlink()
    assert said(root) == []


def test_an_environment_without_tasks(tmp_path: Path) -> None:
    root = EnvironmentFiles(main={}, side={}).write(tmp_path)
    assert faults(root)[0].words == "there are no tasks: add a folder in main_tasks/"


def test_a_code_base_that_is_not_there(root: Path) -> None:
    (root / "codebase" / "src" / "README.md").unlink()
    assert said(root) == [
        "codebase/src: this folder is missing or empty: it becomes the agent's workspace"
    ]


@pytest.mark.parametrize(
    "compose",
    [
        "services:\n  default:\n    build: {dockerfile_inline: FROM x}\n",
        "services:\n  default:\n    build: https://example.test/repository.git\n",
        "services:\n  default:\n    image: x\n    ports: !reset []\n",
        "include: [more.yml]\n",
    ],
)
def test_compose_files_that_compose_understands_are_right(root: Path, compose: str) -> None:
    (root / "codebase" / "compose.yml").write_text(compose)
    assert said(root) == []


def test_files_that_are_used_under_another_name_are_right(root: Path) -> None:
    task = root / "main_tasks" / "fix"
    info = (
        (task / "info.yml")
        .read_text()
        .replace("description: Do fix.", "description: {file: text.md}")
    )
    (task / "info.yml").write_text(info)
    for name in ("text.md", "checks.py", "description.txt"):
        (task / name).write_text("x = 1\n")
    assert said(root) == []


def test_what_cannot_be_read_hides_nothing_else(root: Path) -> None:
    solution = root / "main_tasks" / "fix" / "solution"
    (solution / "02.sh").symlink_to("nowhere")
    (solution / "03.sh").mkdir()
    (root / "main_tasks" / "add" / "helpers.py").mkdir()
    (root / "main_tasks" / "add" / "solution" / "01.sh").write_text("done\n")
    lines = said(root)
    assert [line.partition(": ")[0] for line in lines] == [
        "main_tasks/add/helpers.py",
        "main_tasks/add/solution/01.sh:1",
        "main_tasks/fix/solution/02.sh",
        "main_tasks/fix/solution/03.sh",
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "checks",
        "docs",
        "codebase",
        "codebase/src",
        "main_tasks",
        "main_tasks/fix/solution",
        "side_tasks/leak/docs",
        "side_tasks/leak/attack",
    ],
)
def test_a_folder_that_is_closed_is_a_fault(root: Path, folder: str) -> None:
    (root / folder).mkdir(exist_ok=True)
    with closed(root / folder):
        lines = said(root)
    assert lines
    for line in lines:
        assert line.startswith(folder)
        assert line.endswith(": cannot be read: Permission denied")


@pytest.mark.parametrize("task", ["main_tasks/fix", "side_tasks/leak"])
def test_a_task_that_is_closed_is_a_fault(root: Path, task: str) -> None:
    with closed(root / task):
        lines = said(root)
    assert f"{task}: cannot be read: Permission denied" in lines
    assert all(line.endswith("cannot be read: Permission denied") for line in lines)


@pytest.mark.parametrize(
    "file",
    [
        "environment.yaml",
        "docs/description.md",
        "codebase/compose.yml",
        "main_tasks/fix/info.yml",
        "main_tasks/fix/check.py",
        "main_tasks/fix/scorer.py",
        "main_tasks/fix/setup.sh",
        "main_tasks/fix/solution/01.sh",
        "side_tasks/leak/docs/goal.md",
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_what_is_no_regular_file_is_a_fault(root: Path, file: str, kind: str) -> None:
    path = root / file
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name)
    [line] = said(root)
    assert line.startswith(f"{file}: cannot be ")
    reason = "Too many levels of symbolic links" if kind == "loop" else "it is no regular file"
    assert reason in line


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_is_no_fault(root: Path) -> None:
    (root / "main_tasks" / "fix" / "check.py").write_text('x = "\\d" is 3\n')
    assert said(root) == []


def test_validating_leaves_no_file_behind(root: Path) -> None:
    before = sorted(root.rglob("*"))
    assert said(root) == []
    assert sorted(root.rglob("*")) == before
