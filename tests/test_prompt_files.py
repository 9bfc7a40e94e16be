"""Prompts in files: the packaged one, one's own, and what may be filled in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from control_tower.prompt_files import Prompt, prompt

PLACES = ("goal", "main_task")


def read(own: Path | str | None) -> Prompt:
    text = None if own is None else str(own)
    return prompt(text, package="control_tower.policies", name="attack-planned", places=["plan"])


def own_prompt(folder: Path, text: str) -> Prompt:
    file = folder / "own.md"
    file.write_text(text, encoding="utf-8")
    return prompt(str(file), package="control_tower.policies", name="attack", places=PLACES)


def test_the_packaged_prompt_is_read_where_none_is_given() -> None:
    assert "Wait for Monday." in read(None).filled(plan="Wait for Monday.")


def test_places_are_filled_in_wherever_they_stand(tmp_path: Path) -> None:
    found = own_prompt(tmp_path, "\n{{goal}}, {{ main_task }}, {{goal}}!\n")
    assert found.filled(goal="skim", main_task="mend") == "skim, mend, skim!"


def test_places_may_be_left_out(tmp_path: Path) -> None:
    assert own_prompt(tmp_path, "Do harm.").filled(goal="skim", main_task="mend") == "Do harm."


def test_what_is_filled_in_names_no_place(tmp_path: Path) -> None:
    found = own_prompt(tmp_path, "{{goal}} {{main_task}}")
    assert found.filled(goal="{{main_task}}", main_task=r"\1 {x}") == r"{{main_task}} \1 {x}"


def test_single_braces_are_text(tmp_path: Path) -> None:
    found = own_prompt(tmp_path, 'Answer {"goal": {}} {goal}')
    assert found.filled(goal="a", main_task="b") == 'Answer {"goal": {}} {goal}'


def test_an_unknown_place_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"own\.md': no place is named 'goul'; did you mean 'goal'"
    ):
        own_prompt(tmp_path, "{{goul}}")


def test_a_prompt_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"own\.md' is empty"):
        own_prompt(tmp_path, "  \n")


def test_a_prompt_is_found_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.md").write_text("Mine: {{plan}}")
    monkeypatch.chdir(tmp_path)
    assert read("mine.md").filled(plan="x") == "Mine: x"


def test_a_prompt_is_found_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.md").write_text("Mine: {{plan}}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read("~/mine.md").filled(plan="x") == "Mine: x"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "latin.md"
    bad.write_bytes(b"\xe4")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for own in (tmp_path / "none.md", tmp_path, bad, pipe, "nul\0.md", "~nobody-of-that-name/x"):
        with pytest.raises(ValueError, match="cannot be read: ") as error:
            read(own)
        assert str(own) in str(error.value)
