"""The bash tool, in a real shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from inspect_ai.tool import Tool, ToolDef, ToolError

from control_tower.tools.bash import bash

if TYPE_CHECKING:
    from collections.abc import Callable

    UseTools = Callable[..., Any]


class _NeverInTime:
    """A sandbox in which every command runs out of time, having printed something."""

    async def exec(self, argv: list[str], **options: Any) -> Any:
        error = TimeoutError()
        error.truncated_output = "compiling…"  # type: ignore[attr-defined]
        raise error


def _bash(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command, **more}


def test_output_is_stdout_then_stderr_then_exit_code(use_tools: UseTools) -> None:
    answers = use_tools([_bash("echo oops >&2; printf fine; exit 3")])
    assert answers.texts == ["fine\noops\n[exit code 3]"]
    assert answers.failed == [False]


def test_success_shows_no_exit_code(use_tools: UseTools) -> None:
    assert use_tools([_bash("echo fine")]).texts == ["fine\n"]


def test_silence_is_said(use_tools: UseTools) -> None:
    assert use_tools([_bash("true"), _bash("false")]).texts == ["(no output)", "[exit code 1]"]


def test_commands_start_in_the_workspace(use_tools: UseTools) -> None:
    answers = use_tools([_bash("cd / && touch /dev/null"), _bash('test "$PWD" = "{workspace}"')])
    assert answers.texts[1] == "(no output)"


def test_files_stay_between_calls_and_calls_run_in_order(use_tools: UseTools) -> None:
    answers = use_tools([_bash("echo one > kept"), _bash("echo two >> kept"), _bash("cat kept")])
    assert answers.texts[2] == "one\ntwo\n"


def test_command_has_no_input(use_tools: UseTools) -> None:
    assert use_tools([_bash("cat; echo end")]).texts == ["end\n"]


def test_script_larger_than_an_argument_can_be(use_tools: UseTools) -> None:
    padding = "\n".join(f": {'x' * 90}" for _ in range(2_500))
    command = f"{padding}\ncat <<'END'\nit's \"here\" $HOME\nEND\ncat\nexit 4\n"
    assert len(command) > 200_000
    assert use_tools([_bash(command)]).texts == ['it\'s "here" $HOME\n[exit code 4]']


def test_script_that_just_fits_an_argument(use_tools: UseTools) -> None:
    command = f"# {'x' * 98_000}\necho fits"
    assert use_tools([_bash(command)]).texts == ["fits\n"]


def test_time_out_is_an_error_that_says_how_long_and_what_to_do(use_tools: UseTools) -> None:
    answers = use_tools([_bash("echo x >> ran; sleep 60", timeout_seconds=1), _bash("cat ran")])
    assert answers.failed == [True, False]
    error = answers.texts[0]
    assert "within 1 seconds" in error
    assert "half done" in error
    assert "timeout_seconds (at most 1200)" in error
    assert answers.texts[1] == "x\n", "it is not run again"


def test_time_asked_for_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("control_tower.tools.bash.sandbox", _NeverInTime)
    tool = bash("/app", max_timeout_seconds=600)
    with pytest.raises(ToolError) as caught:
        anyio.run(tool, "make", 900)
    assert "within 600 seconds" in caught.value.message
    assert "the longest a command may take" in caught.value.message
    assert "compiling…" in caught.value.message


def test_an_isolated_agent_is_told_what_it_can_write() -> None:
    said = {isolated: _description(bash("/app", isolated=isolated)) for isolated in (False, True)}
    assert "Only files in /app and /tmp can be written." in said[True]
    assert "can be written" not in said[False]


def _description(tool: Tool) -> str:
    return ToolDef(tool).description


def test_time_that_makes_no_sense_is_an_error(use_tools: UseTools) -> None:
    answers = use_tools([_bash("true", timeout_seconds=0)])
    assert answers.texts == ["timeout_seconds must be at least 1, not 0."]


def test_null_byte_is_an_error(use_tools: UseTools) -> None:
    answers = use_tools([_bash("echo a\0b")])
    assert answers.failed == [True]
    assert "null byte" in answers.texts[0]


def test_bytes_that_are_no_text_are_shown_as_marks(use_tools: UseTools) -> None:
    assert use_tools([_bash(r"printf 'a\377b'")]).texts == ["a\ufffdb"]


def test_flood_of_output_keeps_head_and_tail(use_tools: UseTools) -> None:
    [text] = use_tools([_bash("seq 1 100000; exit 7")]).texts
    assert text.startswith("1\n2\n")
    assert text.endswith("100000\n[exit code 7]")
    assert "left out" in text
    assert len(text) < 140_000


def test_missing_command_is_an_error_of_validation(use_tools: UseTools) -> None:
    answers = use_tools([("bash", {"cmd": "true"})])
    assert answers.failed == [True]
    assert "'command' is a required property" in answers.texts[0]
