"""The private names of Inspect that we use: these tests fail when one of them moves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from inspect_ai.model import get_model

from control_tower._inspect_compat import (
    InspectDocker,
    PrerequisiteError,
    parts_of,
    plain_message,
    read_dotenv,
)


def test_a_model_without_what_it_needs_raises_the_error_we_catch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError) as caught:
        get_model("openai/gpt-4o")
    message = plain_message(caught.value)
    assert "openai" in message.lower()
    assert "\n" not in message
    assert "[" not in message


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PrerequisiteError("[bold]ERROR[/bold]: no\n\n[bold]key[/bold] set"), "no key set"),
        (PrerequisiteError("plain"), "plain"),
        (ValueError("two\n  lines"), "two lines"),
        (ValueError(), "ValueError"),
        (ImportError("No module named 'x'"), "No module named 'x'"),
        (ValueError("one of ['a', 'b'] or [1]"), "one of ['a', 'b'] or [1]"),
    ],
)
def test_messages_are_one_line_of_plain_text(error: Exception, text: str) -> None:
    assert plain_message(error) == text


def test_a_dotenv_file_is_read_as_inspect_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CT_TEST_SET", "by the shell")
    monkeypatch.setenv("CT_TEST_UNSET", "")  # so that it is taken back after the test
    monkeypatch.delenv("CT_TEST_UNSET")
    monkeypatch.delenv("TERM_PROGRAM", raising=False)  # there, Inspect lets the file win
    (tmp_path / ".env").write_text("CT_TEST_SET=by the file\nCT_TEST_UNSET=by the file\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    read_dotenv()
    assert os.environ["CT_TEST_SET"] == "by the shell"
    assert os.environ["CT_TEST_UNSET"] == "by the file"


def test_inspect_s_docker_environment_is_made_from_service_project_and_folder() -> None:
    made = InspectDocker("db", project := object(), "/srv")  # type: ignore[arg-type]
    assert parts_of(made) == (project, "/srv")
