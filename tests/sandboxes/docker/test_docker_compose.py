"""Reading and writing compose files; needs Docker's command line, and no engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from control_tower.sandboxes.docker.compose import resolved, written
from control_tower.sandboxes.errors import EnvironmentRefused

pytestmark = pytest.mark.docker

TEXT = """
services:
  default:
    image: some:1
    command: ["echo $$HOME $${X} $$$$ ${WORD}"]
    environment: {A: "$$1"}
    healthcheck: {test: "test -n \\"$$A\\"", interval: 90s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "compose.yml"
    path.write_text(TEXT)
    return path


def test_a_dollar_is_one_dollar(file: Path) -> None:
    service = resolved(file, {"WORD": "pa$$word"})["services"]["default"]
    assert service["command"] == ["echo $HOME ${X} $$ pa$$word"]
    assert service["environment"] == {"A": "$1"}
    assert service["healthcheck"]["test"] == ["CMD-SHELL", 'test -n "$A"']


def test_what_is_written_is_read_as_it_was(file: Path, tmp_path: Path) -> None:
    model = resolved(file, {"WORD": "pa$$word"})
    again = tmp_path / "again.json"
    again.write_text(written(model))
    assert resolved(again) == model
    assert "$" in json.dumps(model)


def test_a_seccomp_profile_is_looked_for_beside_the_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "mine.json").write_text("{}")
    options = "security_opt: ['seccomp:mine.json', 'seccomp=builtin', 'no-new-privileges:true']"
    file.write_text(f"services: {{default: {{image: x, {options}}}}}")
    assert resolved(file)["services"]["default"]["security_opt"] == [
        f"seccomp={tmp_path}/mine.json",
        "seccomp=builtin",
        "no-new-privileges:true",
    ]


@pytest.mark.parametrize("text", [None, "no JSON"])
def test_one_that_cannot_be_read_is_refused(file: Path, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "mine.json").write_text(text)
    file.write_text("services: {default: {image: x, security_opt: ['seccomp=./mine.json']}}")
    with pytest.raises(EnvironmentRefused) as caught:
        resolved(file)
    said = f"{file}: service 'default': the seccomp profile ./mine.json cannot be read: "
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_file_that_compose_refuses_is_refused_in_one_line(file: Path) -> None:
    file.write_text("services: {default: {imag: x}}")
    with pytest.raises(EnvironmentRefused, match=r"compose\.yml: docker compose does not .* imag"):
        resolved(file)
