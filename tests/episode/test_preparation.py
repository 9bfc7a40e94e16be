"""Set-up in a fresh sandbox: its order, and what is said of the step that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai.util import ExecResult
from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.environments.loading import load_environment
from control_tower.episode.preparation import PreparationError, prepare
from control_tower.selection import Combination

OK = ExecResult(True, 0, "", "")


class Box:
    """A sandbox that notes what is done in it; `answers` are for commands and scripts by text."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.files: dict[str, bytes] = {}
        self.answers: dict[str, list[ExecResult[str] | Exception]] = {}

    async def exec(self, cmd: list[str], input: str | None = None, **more: Any) -> ExecResult[str]:
        text = input.strip() if input is not None else " ".join(cmd)
        self.done.append(text)
        answers = self.answers.get(text, [])
        answer = answers.pop(0) if len(answers) > 1 else next(iter(answers), OK)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def write_file(self, file: str, contents: bytes) -> None:
        self.done.append(f"write {file}")
        self.files[file] = contents


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box()
    monkeypatch.setattr("inspect_ai.util.sandbox", lambda: made)
    return made


def combination(tmp_path: Path, **parts: Any) -> Combination:
    parts = {
        "main": {"fix": main_task(setup="set up main\n")},
        "side": {"leak": side_task(setup="set up side\n")},
        **parts,
    }
    environment = load_environment(EnvironmentFiles(**parts).write(tmp_path))
    return Combination(
        environment,
        next(iter(environment.main_tasks.values()), None),
        next(iter(environment.side_tasks.values()), None),
    )


def complaint(pair: Combination) -> str:
    with pytest.raises(PreparationError) as caught:
        anyio.run(prepare, pair)
    return str(caught.value)


def add_file(tmp_path: Path, place: str, content: bytes, mode: int = 0o644) -> None:
    path = tmp_path / "mini" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def test_files_and_scripts_come_main_first_and_services_last(tmp_path: Path, box: Box) -> None:
    pair = combination(tmp_path, services="{api: {start: start api, ready: is api up}}")
    add_file(tmp_path, "main_tasks/fix/files/a/notes.md", b"main")
    add_file(tmp_path, "side_tasks/leak/files/b.bin", b"\x00\xff")
    anyio.run(prepare, pair)
    assert box.done == [
        "write /app/a/notes.md",
        "set up main",
        "write /app/b.bin",
        "set up side",
        "start api",
        "sh -c is api up",
    ]
    assert box.files == {"/app/a/notes.md": b"main", "/app/b.bin": b"\x00\xff"}


def test_a_program_stays_one(tmp_path: Path, box: Box) -> None:
    pair = combination(tmp_path)
    add_file(tmp_path, "main_tasks/fix/files/run.sh", b"true", 0o755)
    add_file(tmp_path, "main_tasks/fix/files/text.md", b"x")
    anyio.run(prepare, pair)
    assert "chmod +x /app/run.sh" in box.done
    assert not any("chmod" in step and "text.md" in step for step in box.done)


def test_the_side_task_of_an_honest_sample_is_not_set_up(tmp_path: Path, box: Box) -> None:
    pair = combination(tmp_path)
    anyio.run(prepare, Combination(pair.environment, pair.main_task, None))
    assert box.done == ["set up main"]


def test_a_side_task_alone_is_set_up(tmp_path: Path, box: Box) -> None:
    pair = combination(tmp_path)
    anyio.run(prepare, Combination(pair.environment, None, pair.side_task))
    assert box.done == ["set up side"]


def test_a_failing_script_is_named_with_what_it_said(tmp_path: Path, box: Box) -> None:
    box.answers["set up side"] = [ExecResult(False, 3, "out\n", "no space left\n")]
    assert complaint(combination(tmp_path)) == (
        "set-up of task 'leak' failed (exit 3): no space left"
    )


def test_without_an_error_text_its_output_is_shown(tmp_path: Path, box: Box) -> None:
    box.answers["set up main"] = [ExecResult(False, 1, "only this\n", "")]
    assert complaint(combination(tmp_path)).endswith("(exit 1): only this")


def test_only_the_end_of_a_long_text_is_shown(tmp_path: Path, box: Box) -> None:
    box.answers["set up main"] = [ExecResult(False, 1, "", "x" * 9_000 + "the end")]
    message = complaint(combination(tmp_path))
    assert message.endswith("the end")
    assert len(message) < 2_200


def test_a_script_that_takes_too_long_is_named(tmp_path: Path, box: Box) -> None:
    box.answers["set up main"] = [TimeoutError()]
    assert complaint(combination(tmp_path)) == "set-up of task 'fix' did not finish within 300 s"


def test_nothing_goes_on_after_a_failure(tmp_path: Path, box: Box) -> None:
    box.answers["set up main"] = [ExecResult(False, 1, "", "")]
    complaint(combination(tmp_path, services="{api: {start: start api}}"))
    assert box.done == ["set up main"]


def test_a_service_that_does_not_start_is_named(tmp_path: Path, box: Box) -> None:
    box.answers["start api"] = [ExecResult(False, 1, "", "port in use")]
    assert complaint(combination(tmp_path, services="{api: {start: start api}}")) == (
        "start of service 'api' of 'mini' failed (exit 1): port in use"
    )


def test_a_service_is_waited_for(tmp_path: Path, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("control_tower.episode.preparation._POLL", 0)
    not_yet = ExecResult(False, 1, "", "connection refused")
    box.answers["sh -c is it up"] = [not_yet, not_yet, OK]
    anyio.run(prepare, combination(tmp_path, services="{api: {ready: is it up}}"))
    assert box.done.count("sh -c is it up") == 3


def test_services_start_in_the_order_of_the_file(tmp_path: Path, box: Box) -> None:
    services = "{zoo: {start: start zoo, ready: zoo up}, api: {start: start api}}"
    anyio.run(prepare, combination(tmp_path, services=services))
    assert box.done[-3:] == ["start zoo", "sh -c zoo up", "start api"]


@pytest.mark.parametrize("hangs", [False, True])
def test_a_service_that_is_never_ready_is_named_with_its_last_words(
    tmp_path: Path, box: Box, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    pair = combination(tmp_path, services="{api: {ready: is it up}}")
    service = pair.environment.info.services["api"].model_copy(update={"ready_timeout": 0})
    pair.environment.info.services["api"] = service
    box.answers["sh -c is it up"] = [ExecResult(False, 1, "", "connection refused")]
    if hangs:

        async def hang(cmd: list[str], **more: Any) -> ExecResult[str]:
            if cmd[:2] != ["sh", "-c"]:
                return OK
            await anyio.sleep_forever()
            raise AssertionError("it slept for ever")

        monkeypatch.setattr(box, "exec", hang)
    message = complaint(pair)
    assert message.startswith("service 'api' of 'mini' was not ready within 0 s:")
    assert ("connection refused" in message) is not hangs
