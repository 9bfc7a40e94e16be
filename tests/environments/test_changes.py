"""What a git diff touches, in real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.environments import EnvironmentFiles, main_task

from control_tower.environments.changes import Changes, changes_since
from control_tower.errors import UsageProblem


def git(repository: Path, *arguments: str) -> None:
    identity = (
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.test",
        "-c",
        "commit.gpgsign=false",
    )
    command = ["git", "-C", str(repository), *identity, *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    for name in ("shop", "mail"):
        EnvironmentFiles(name=name, main={"fix": main_task(), "add": main_task()}).write(root)
    (root / "README.md").write_text("About it.\n")
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    monkeypatch.chdir(root)
    return root


def changes(root: Path, since: str = "HEAD") -> Changes:
    return changes_since(since, {n: root / n for n in ("shop", "mail")}, flag="--since")


def write(path: Path, text: str = "changed\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_nothing_changed(repository: Path) -> None:
    found = changes(repository)
    assert found.environments == []
    assert found.nothing() == "no file changed since HEAD"


def test_a_file_of_a_task_touches_that_task(repository: Path) -> None:
    write(repository / "shop" / "main_tasks" / "fix" / "check.py")
    found = changes(repository)
    assert found.environments == ["shop"]
    assert found.touch("shop", "fix", None)
    assert found.touch("shop", "fix", "leak")
    assert not found.touch("shop", "add", "leak")
    assert not found.touch("mail", "fix", None)


def test_a_side_task_touches_its_pairs(repository: Path) -> None:
    write(repository / "mail" / "side_tasks" / "leak" / "docs" / "goal.md")
    found = changes(repository)
    assert found.touch("mail", "add", "leak")
    assert found.touch("mail", None, "leak")
    assert not found.touch("mail", "add", None)


@pytest.mark.parametrize(
    "file",
    [
        "codebase/src/app.py",
        "environment.yaml",
        "docs/description.md",
        "checks/prelude.py",
        "main_tasks/README.md",
    ],
)
def test_any_other_file_touches_the_whole_environment(repository: Path, file: str) -> None:
    write(repository / "shop" / file)
    found = changes(repository)
    assert found.touched["shop"].whole
    assert found.touch("shop", "add", "leak")
    assert not found.touch("mail", "add", "leak")


def test_files_outside_and_task_sets_touch_nothing(repository: Path) -> None:
    write(repository / "README.md")
    write(repository / "shop" / "task_sets" / "few.jsonl")
    found = changes(repository)
    assert found.environments == []
    assert found.nothing() == "no environment changed since HEAD (2 files outside of them did)"


def test_commits_uncommitted_and_new_files_count_and_ignored_ones_do_not(repository: Path) -> None:
    write(repository / ".gitignore", "*.log\n")
    write(repository / "shop" / "main_tasks" / "fix" / "check.py")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    write(repository / "shop" / "main_tasks" / "add" / "info.yml")
    write(repository / "mail" / "side_tasks" / "leak" / "brand new.sh")
    write(repository / "mail" / "main_tasks" / "fix" / "noise.log")
    found = changes(repository, "HEAD~1")
    assert found.touched["shop"].main == {"fix", "add"}
    assert found.touched["mail"].side == {"leak"}
    assert found.touched["mail"].main == set()


def test_a_deleted_and_a_moved_file_count_where_they_were_and_are(repository: Path) -> None:
    git(repository, "rm", "-q", "shop/main_tasks/fix/check.py")
    git(repository, "mv", "mail/main_tasks/add/check.py", "mail/main_tasks/fix/other.py")
    found = changes(repository)
    assert found.touched["shop"].main == {"fix"}
    assert found.touched["mail"].main == {"add", "fix"}


def test_what_the_other_branch_did_since_does_not_count(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "work")
    write(repository / "shop" / "main_tasks" / "fix" / "check.py")
    git(repository, "commit", "-q", "-a", "-m", "work")
    git(repository, "checkout", "-q", "main")
    write(repository / "mail" / "environment.yaml")
    git(repository, "commit", "-q", "-a", "-m", "main went on")
    git(repository, "checkout", "-q", "work")
    assert changes(repository, "main").environments == ["shop"]


def test_the_current_folder_may_be_below_the_root(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository / "shop" / "environment.yaml")
    monkeypatch.chdir(repository / "mail" / "docs")
    assert changes(repository).environments == ["shop"]


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", ""])
def test_an_unknown_revision_is_one_line(repository: Path, revision: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        changes(repository, revision)
    assert str(caught.value).startswith(f"--since: '{revision}' is no revision of this repository")


def test_a_folder_that_is_no_repository_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageProblem, match="--since: not in a git repository"):
        changes_since("HEAD", {}, flag="--since")


def test_byte_code_is_no_change(repository: Path) -> None:
    write(repository / "shop" / "main_tasks" / "fix" / "__pycache__" / "scorer.cpython-311.pyc")
    assert changes(repository).environments == []


def test_a_folder_that_is_no_task_touches_all(repository: Path) -> None:
    write(repository / "shop" / "main_tasks" / "_shared" / "helpers.py")
    assert changes(repository).touched["shop"].whole


def test_a_repository_inside_touches_the_environments_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    EnvironmentFiles(name="shop").write(inner)
    for root in (inner, outer):
        git(tmp_path, "init", "-q", str(root))
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "inner")
    write(outer / "README.md")
    git(outer, "add", "README.md")
    git(outer, "commit", "-q", "-m", "outer")
    monkeypatch.chdir(outer)
    found = changes_since("HEAD", {"shop": inner / "shop"}, flag="--since")
    assert found.touched["shop"].whole


def test_an_environment_that_is_named_must_be_in_the_repository(
    repository: Path, tmp_path: Path
) -> None:
    elsewhere = EnvironmentFiles(name="far").write(tmp_path / "elsewhere")
    places = {"far": elsewhere}
    assert changes_since("HEAD", places, flag="--since").environments == []
    with pytest.raises(UsageProblem, match="--since: environment 'far' is not in the git"):
        changes_since("HEAD", places, flag="--since", needed=["far"])


def test_a_shallow_clone_is_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository / "README.md")
    git(repository, "commit", "-q", "-a", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    with pytest.raises(UsageProblem, match="the clone is shallow: fetch its history"):
        changes_since("HEAD~1", {}, flag="--since")
