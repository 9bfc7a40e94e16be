"""What a git diff touches, in real repositories."""

from __future__ import annotations

import os
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


def test_an_environment_that_is_not_found_is_named(repository: Path) -> None:
    """A check that leaves it out must not look as if there were nothing to check."""
    EnvironmentFiles(name="apart").write(repository / "elsewhere")
    found = changes(repository)
    assert found.strangers == ("elsewhere/apart",)
    assert found.nothing().endswith(
        "outside of them did; not looked at, since not found: elsewhere/apart; see CT_ENVIRONMENTS_PATH)"
    )


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


def commit(repository: Path) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "more")


def test_two_names_for_one_folder_are_both_touched(repository: Path) -> None:
    (repository / "store").symlink_to("shop")
    commit(repository)
    write(repository / "shop" / "main_tasks" / "fix" / "check.py")
    places = {name: repository / name for name in ("shop", "store", "mail")}
    found = changes_since("HEAD", places, flag="--since")
    assert found.environments == ["shop", "store"]
    assert found.touched["store"].main == found.touched["shop"].main == {"fix"}


def test_an_environment_that_is_a_link_pointed_elsewhere_is_touched(repository: Path) -> None:
    link = repository / "delta"
    link.symlink_to("shop")
    commit(repository)
    link.unlink()
    link.symlink_to("mail")
    found = changes_since("HEAD", {"delta": link, "mail": repository / "mail"}, flag="--since")
    assert found.environments == ["delta"]
    assert found.touched["delta"].whole


@pytest.mark.parametrize("hops", [1, 2])
def test_what_a_task_is_linked_to_touches_that_task(repository: Path, hops: int) -> None:
    EnvironmentFiles(name="parts", main={"mn": main_task()}).write(repository)
    (repository / "way").symlink_to("parts/main_tasks/mn")
    target = "../../way" if hops == 2 else "../../parts/main_tasks/mn"
    (repository / "shop" / "main_tasks" / "linked").symlink_to(target)
    commit(repository)
    write(repository / "parts" / "main_tasks" / "mn" / "check.py")
    found = changes(repository)
    assert found.environments == ["shop"]
    assert (found.touched["shop"].whole, found.touched["shop"].main) == (False, {"linked"})


def test_a_link_on_the_way_to_a_task_that_is_pointed_elsewhere_touches(repository: Path) -> None:
    for name in ("old", "new"):
        EnvironmentFiles(name=name, main={"mn": main_task()}).write(repository / "shared")
    way = repository / "current"
    way.symlink_to("shared/old")
    (repository / "shop" / "main_tasks" / "linked").symlink_to("../../current/main_tasks/mn")
    commit(repository)
    way.unlink()
    way.symlink_to("shared/new")
    assert changes(repository).environments == ["shop"]


@pytest.mark.parametrize("target", ["y" * 300, "self", "self/on", "/nowhere/at/all"])
def test_a_link_that_leads_nowhere_does_not_matter(repository: Path, target: str) -> None:
    (repository / "shop" / "codebase" / "self").symlink_to(target)
    commit(repository)
    write(repository / "mail" / "environment.yaml")
    assert changes(repository).environments == ["mail"]


@pytest.mark.parametrize("file", ["shop/new.txt", "shop/main_tasks/fix/check.py"])
@pytest.mark.parametrize("ignore", ["none", "all"])
def test_a_change_in_a_submodule_touches_what_is_in_it(
    repository: Path, tmp_path: Path, file: str, ignore: str
) -> None:
    source = tmp_path / "source"
    git(tmp_path, "clone", "-q", str(repository), str(source))
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", str(source), "sub")
    git(repository, "config", "-f", ".gitmodules", "submodule.sub.ignore", ignore)
    commit(repository)
    places = {"shop": repository / "sub" / "shop", "mail": repository / "mail"}
    assert changes_since("HEAD", places, flag="--since").environments == []
    write(repository / "sub" / file)
    found = changes_since("HEAD", places, flag="--since")
    assert found.environments == ["shop"]
    assert found.touched["shop"].whole


def test_names_that_are_not_utf_8_are_found(repository: Path) -> None:
    place = repository / os.fsdecode(b"caf\xe9")
    EnvironmentFiles(name="zeta", main={"fix": main_task()}).write(place)
    commit(repository)
    write(place / "zeta" / "main_tasks" / "fix" / "check.py")
    found = changes_since("HEAD", {"zeta": place / "zeta"}, flag="--since")
    assert found.touched["zeta"].main == {"fix"}
    write(place / "zeta" / "main_tasks" / os.fsdecode(b"caf\xe9") / "check.py")
    found = changes_since("HEAD", {"zeta": place / "zeta"}, flag="--since")
    assert found.touched["zeta"].whole
    assert Changes.model_validate_json(found.model_dump_json()) == found


def test_a_root_may_end_with_a_space(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = repository.rename(repository.with_name("repository "))
    monkeypatch.chdir(moved)
    write(moved / "shop" / "environment.yaml")
    assert changes(moved).environments == ["shop"]


def test_a_git_that_may_not_be_run_is_one_line(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "bin" / "git")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(UsageProblem, match=r"^--since: git cannot be run: .*Exec format error"):
        changes(repository)


@pytest.mark.parametrize("revision", [":/first", "HEAD^{/first}", "@", "main@{0}"])
def test_a_revision_is_whatever_git_understands(repository: Path, revision: str) -> None:
    write(repository / "shop" / "environment.yaml")
    assert changes(repository, revision).environments == ["shop"]


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("^HEAD", "'^HEAD' excludes a revision; leave out the '^'"),
        ("HEAD..HEAD", "'HEAD..HEAD' is no revision of this repository"),
        ("HEAD:README.md", "'HEAD:README.md' is no revision of this repository"),
        ("a\0b", "git cannot be run: embedded null byte"),
    ],
)
def test_what_is_no_single_commit_is_refused(repository: Path, revision: str, words: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        changes(repository, revision)
    assert str(caught.value).startswith(f"--since: {words}")
