"""Finding environments: the bundled ones, and those below `CT_ENVIRONMENTS_PATH`."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from support.environments import EnvironmentFiles
from support.permissions import closed

from control_tower.environments import discovery
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem


def look_in(monkeypatch: pytest.MonkeyPatch, *places: Path | str) -> Catalog:
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", os.pathsep.join(map(str, places)))
    return Catalog.discover()


def test_the_bundled_ones_are_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CT_ENVIRONMENTS_PATH", raising=False)
    assert "ledger" in Catalog.discover().names
    assert Catalog.discover().get("ledger", flag="-e").id == "ledger"


def test_each_place_adds_its_environments_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="zoo").write(tmp_path / "one")
    EnvironmentFiles(name="abc").write(tmp_path / "two")
    (tmp_path / "two" / "notes").mkdir()
    (tmp_path / "two" / "file.txt").write_text("x")
    catalog = look_in(monkeypatch, tmp_path / "one", tmp_path / "two")
    assert [n for n in catalog.names if n in ("abc", "ledger", "zoo")] == ["abc", "ledger", "zoo"]
    assert catalog.get("abc", flag="-e").directory == tmp_path / "two" / "abc"


def test_empty_parts_of_the_path_are_no_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    EnvironmentFiles(name="stray").write(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert "stray" not in look_in(monkeypatch, "", "").names


def test_a_place_may_be_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(name="mine").write(tmp_path / "environments")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "mine" in look_in(monkeypatch, "~/environments").names


def test_a_relative_place_is_found_once_and_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="near").write(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    catalog = look_in(monkeypatch, "here")
    monkeypatch.chdir("/")
    assert catalog.get("near", flag="-e").directory == tmp_path / "here" / "near"


def test_a_place_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, tmp_path / "nowhere")
    assert str(caught.value) == (
        f"CT_ENVIRONMENTS_PATH: '{tmp_path / 'nowhere'}' is not a directory"
    )


def test_one_name_in_two_places_is_refused_naming_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = EnvironmentFiles(name="twin").write(tmp_path / "one")
    two = EnvironmentFiles(name="twin").write(tmp_path / "two")
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, tmp_path / "one", tmp_path / "two")
    assert str(caught.value) == f"two environments are named 'twin': {one} and {two}"


def test_a_bundled_name_cannot_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(name="ledger").write(tmp_path)
    with pytest.raises(UsageProblem, match="two environments are named 'ledger'"):
        look_in(monkeypatch, tmp_path)


def test_one_place_given_twice_is_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="once").write(tmp_path)
    assert "once" in look_in(monkeypatch, tmp_path, tmp_path).names


def test_only_the_environment_asked_for_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="good").write(tmp_path)
    (EnvironmentFiles(name="broken").write(tmp_path) / "environment.yaml").write_text(": :")
    catalog = look_in(monkeypatch, tmp_path)
    assert catalog.get("good", flag="-e").id == "good"
    with pytest.raises(UsageProblem, match=r"broken/environment\.yaml"):
        catalog.get("broken", flag="-e")


def test_an_unknown_name_gets_the_nearest_with_the_flag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="mail-server").write(tmp_path)
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, tmp_path).get("mail_serer", flag="--ct-env")
    assert str(caught.value) == (
        "--ct-env: no environment is named 'mail_serer'; did you mean 'mail-server'?"
    )


def test_a_place_that_is_an_environment_itself_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "environment.yaml").write_text("display_name: X\n")
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, tmp_path)
    assert str(caught.value) == (
        f"CT_ENVIRONMENTS_PATH: '{tmp_path}' is an environment itself; name the directory it is in"
    )


def test_an_environment_is_found_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = EnvironmentFiles(name="apart").write(tmp_path)
    monkeypatch.chdir(tmp_path)
    catalog = look_in(monkeypatch, "")
    assert catalog.get("./apart", flag="-e").directory == root
    assert catalog.get(f"{root}/", flag="-e").id == "apart"
    assert catalog.get("apart", flag="-e").directory == root


@pytest.mark.parametrize("folder", [".", "environments"])
def test_a_folder_s_name_alone_is_no_path_but_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    EnvironmentFiles(name="apart").write(tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, "").get("apart", flag="-e")
    assert str(caught.value) == (
        f"-e: no environment is named 'apart'; for the folder, write '{folder}/apart'"
    )


@pytest.mark.parametrize(
    ("folder", "path"),
    [("main_tasks", "../"), ("main_tasks", "./.."), ("main_tasks/fix", "../.."), (".", "./")],
)
def test_a_path_may_go_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, path: str
) -> None:
    root = EnvironmentFiles(name="apart").write(tmp_path)
    monkeypatch.chdir(root / folder)
    catalog = look_in(monkeypatch, "")
    assert catalog.get(path, flag="-e").id == "apart"
    assert catalog.names.count("apart") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [("./apart", "'./apart' cannot be read: Permission denied"), ("apart", "no environment is")],
)
def test_a_closed_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    root = EnvironmentFiles(name="apart").write(tmp_path)
    monkeypatch.chdir(tmp_path)
    catalog = look_in(monkeypatch, "")
    with closed(root), pytest.raises(UsageProblem) as caught:
        catalog.get(name, flag="-e")
    assert str(caught.value).startswith(f"-e: {words}")


def test_a_closed_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "place").mkdir()
    with (
        closed(tmp_path / "place"),
        pytest.raises(UsageProblem, match=r"place, which cannot be read: .*Permission denied"),
    ):
        look_in(monkeypatch, tmp_path / "place")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("./nowhere", "'./nowhere' is not a directory"),
        ("./empty", "'./empty' is no environment: it has no environment.yaml"),
    ],
)
def test_a_path_that_is_no_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, words: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, "").get(path, flag="-e")
    assert str(caught.value) == f"-e: {words}"


def test_a_path_whose_name_another_place_has_is_refused_naming_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = EnvironmentFiles(name="twin").write(tmp_path / "one")
    two = EnvironmentFiles(name="twin").write(tmp_path / "two")
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, tmp_path / "one").get(str(two), flag="-e")
    assert str(caught.value) == f"-e: two environments are named 'twin': {one} and {two}"


def plugin(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """An installed plugin whose entry point has this value."""
    point = EntryPoint("theirs", value, discovery.ENTRY_POINT_GROUP)
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point])


def test_plugins_bring_environments_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "their_package"
    root = EnvironmentFiles(name="theirs").write(package / "environments")
    for folder in (package, package / "environments"):
        (folder / "__init__.py").touch()
    (package / "environments" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugin(monkeypatch, "their_package.environments")
    catalog = look_in(monkeypatch, "")
    assert catalog.get("theirs", flag="-e").directory == root


@pytest.mark.parametrize("value", ["no_such_package", "no_such_package.environments", "json.tool"])
def test_a_plugin_without_its_package_is_told(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    plugin(monkeypatch, value)
    with pytest.raises(UsageProblem, match=f"entry point 'theirs': '{value}' is no package"):
        look_in(monkeypatch, "")


def test_a_link_is_called_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EnvironmentFiles(name="Real.v2").write(tmp_path / "store")
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "shop").symlink_to(tmp_path / "store" / "Real.v2")
    catalog = look_in(monkeypatch, tmp_path / "envs")
    assert catalog.get("shop", flag="-e").id == "shop"
    assert catalog.get(str(tmp_path / "envs" / "shop"), flag="-e").id == "shop"


@pytest.mark.parametrize("path", ["~nobody-of-this-name/env", "./" + "x" * 300])
def test_a_path_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        look_in(monkeypatch, "").get(path, flag="-e")
    assert str(caught.value).startswith(f"-e: '{path}'")


def test_a_plugin_whose_package_raises_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raising_package").mkdir()
    (tmp_path / "raising_package" / "__init__.py").write_text("raise RuntimeError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugin(monkeypatch, "raising_package.environments")
    with pytest.raises(UsageProblem, match="is no package"):
        look_in(monkeypatch, "")
