"""The project file that names models: where it is looked for, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_tower.errors import UsageProblem
from control_tower.models.places import ProjectModels


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the project file goes, two folders above the current one."""
    below = tmp_path / "project" / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path / "project" / "pyproject.toml"


def refusal(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageProblem) as caught:
        ProjectModels.nearest()
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    return message.removeprefix(f"{file}: ")


def test_the_nearest_file_upwards_is_read(file: Path) -> None:
    assert ProjectModels.nearest().models == {}
    file.write_text(
        "[tool.control-tower.models]\n"
        'monitor = "a/b"\n'
        'trusted = { model = "c/d", temperature = 0 }\n'
    )
    found = ProjectModels.nearest()
    assert found.file == str(file)
    assert found.models == {"monitor": "a/b", "trusted": {"model": "c/d", "temperature": 0}}


def test_a_nearer_file_hides_the_others_even_without_a_table(file: Path) -> None:
    file.write_text('[tool.control-tower.models]\nmonitor = "a/b"\n')
    (file.parent / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert ProjectModels.nearest().models == {}


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n", "[tool.control-tower]\n"])
def test_a_file_of_others_names_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    assert ProjectModels.nearest().models == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[tool.control-tower.model]\nmonitor = 'a/b'\n",
            "no table of [tool.control-tower] is named 'model'; did you mean 'models'?",
        ),
        (
            "[tool.control-tower.models]\nmonitor = 3\n",
            "role 'monitor': expected a text such as \"openai/gpt-4o\", or an inline table "
            "(given 3)",
        ),
        (
            "[tool.control-tower.models]\nmonitor = ''\n",
            "role 'monitor': expected a text such as \"openai/gpt-4o\", or an inline table "
            "(given '')",
        ),
        ("[tool]\ncontrol-tower = 3\n", "tool.control-tower: expected a table"),
        (
            "[tool.control-tower]\nmodels = ['a/b']\n",
            "tool.control-tower.models: expected a table of models by role",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_the_path(file: Path, text: str, message: str) -> None:
    assert refusal(file, text) == message


def test_a_file_that_is_no_toml_is_one_line_with_the_path(file: Path) -> None:
    assert refusal(file, "monitor: a/b\n").startswith("cannot be read: ")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match="cannot be read"):
        ProjectModels.nearest()
