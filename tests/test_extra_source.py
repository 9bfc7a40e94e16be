"""`--extra-src`: directories that are importable while a run lasts, and not after it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from control_tower.errors import UsageProblem
from control_tower.extra_source import ExtraSource

FLAG = "--extra-src"


def source(place: Path, name: str, files: dict[str, str]) -> Path:
    """A directory `name` below `place` with these files."""
    for file, text in files.items():
        path = place / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place / name


def of(*given: object) -> ExtraSource:
    return ExtraSource.of([str(each) for each in given], flag=FLAG)


def value_of(module: str) -> object:
    return importlib.import_module(module).VALUE


@pytest.fixture(autouse=True)
def _as_before() -> object:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_modules_are_found_while_it_lasts_and_forgotten_after(tmp_path: Path) -> None:
    files = {"zz_mine.py": "VALUE = 1\n", "zz_pack/__init__.py": "", "zz_pack/sub.py": "VALUE = 2"}
    directory = source(tmp_path, "exp", files)
    before = list(sys.path)
    with of(directory):
        assert sys.path == [str(directory), *before]
        assert (value_of("zz_mine"), value_of("zz_pack.sub")) == (1, 2)
    assert sys.path == before
    assert not {"zz_mine", "zz_pack", "zz_pack.sub"} & set(sys.modules)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("zz_mine")


def test_a_second_run_sees_its_own_modules_of_the_same_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        files = {"zz_mine.py": f"VALUE = {name!r}", "zz_space/sub.py": f"VALUE = {name!r}"}
        with of(source(tmp_path, name, files)):
            assert (value_of("zz_mine"), value_of("zz_space.sub")) == (name, name)


def test_it_is_taken_off_when_the_run_fails(tmp_path: Path) -> None:
    directory = source(tmp_path, "exp", {"zz_mine.py": "import zz_half\n", "zz_half.py": "1 / 0"})
    before = list(sys.path)
    with pytest.raises(ZeroDivisionError), of(directory):
        value_of("zz_mine")
    assert sys.path == before


def test_the_first_directory_comes_first(tmp_path: Path) -> None:
    one = source(tmp_path, "one", {"zz_mine.py": "VALUE = 1"})
    two = source(tmp_path, "two", {"zz_mine.py": "VALUE = 2", "zz_other.py": "VALUE = 3"})
    with of(one, two):
        assert (value_of("zz_mine"), value_of("zz_other")) == (1, 3)


def test_what_was_there_before_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"zz_mine.py": "VALUE = 1\n", "zz_later.py": "VALUE = 2\n"}
    directory = source(tmp_path, "exp", files)
    monkeypatch.syspath_prepend(str(directory))
    before, mine = list(sys.path), importlib.import_module("zz_mine")
    with of(directory):
        value_of("zz_later")
    assert sys.path == before
    assert sys.modules["zz_mine"] is mine
    assert "zz_later" not in sys.modules


def test_what_another_entry_of_the_path_below_it_gave_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = source(tmp_path, "exp/venv/site", {"zz_library.py": "VALUE = 1\n"})
    monkeypatch.syspath_prepend(str(site))
    with of(tmp_path / "exp"):
        value_of("zz_library")
    assert "zz_library" in sys.modules


def test_relative_paths_start_at_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = source(tmp_path, "exp", {"zz_mine.py": "VALUE = 1\n"})
    monkeypatch.chdir(directory)
    assert of(".").directories == of("../exp").directories == (directory,)
    with of("."):
        monkeypatch.chdir(tmp_path)
        assert value_of("zz_mine") == 1


def test_a_home_folder_may_be_written_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source(tmp_path, "exp", {"x.py": ""})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert of("~/exp").directories == (tmp_path / "exp",)


@pytest.mark.parametrize("given", ["missing", "file.txt", "", " ", "a\0b", "~nobody-at-all/x"])
def test_what_is_no_directory_is_refused(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.txt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem) as caught:
        of(given)
    assert str(caught.value).startswith(f"{FLAG}: '{given}'")


def test_two_directories_with_one_basename_are_refused(tmp_path: Path) -> None:
    one, two = source(tmp_path / "a", "exp", {"x.py": ""}), source(tmp_path / "b", "exp", {"x": ""})
    with pytest.raises(UsageProblem) as caught:
        of(one, two)
    assert str(caught.value) == (
        f"{FLAG}: '{one}' and '{two}' have the same basename 'exp'; rename one, or leave it out"
    )


@pytest.mark.parametrize("name", ["statistics", "yaml", "inspect_ai"])
@pytest.mark.parametrize("shape", ["{}.py", "{}/__init__.py"])
def test_a_module_that_would_hide_another_is_refused(tmp_path: Path, name: str, shape: str) -> None:
    file = tmp_path / shape.format(name)
    file.parent.mkdir(exist_ok=True)
    file.touch()
    with pytest.raises(UsageProblem) as refused:
        ExtraSource.of([str(tmp_path)], flag="--extra-src")
    assert f"has a module '{name}', which would hide" in str(refused.value)


def test_modules_of_one_s_own_are_not_refused(tmp_path: Path) -> None:
    for name in ("red", "conftest", "tests", "my_protocol"):
        (tmp_path / f"{name}.py").touch()
    assert ExtraSource.of([str(tmp_path)], flag="--extra-src").directories
