"""Blue's root shell: which user, which programs, and what is said when a command fails."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from inspect_ai.util import ExecResult

from control_tower.episode.root_shell import root_shell


class Box:
    """A sandbox that notes how a command is run."""

    def __init__(self, answer: ExecResult[str] | Exception) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}

    async def exec(self, cmd: list[str], **asked: Any) -> ExecResult[str]:
        self.asked = {"cmd": cmd, **asked}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def run(monkeypatch: pytest.MonkeyPatch, box: Box) -> str:
    monkeypatch.setattr("inspect_ai.util.sandbox", lambda: box)
    return anyio.run(root_shell, ("iptables", "-S"))


def test_it_is_root_s_and_finds_no_program_of_the_agent_s(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box(ExecResult(True, 0, "-P INPUT ACCEPT\n", "a warning"))
    assert run(monkeypatch, box) == "-P INPUT ACCEPT\n"
    assert box.asked["cmd"] == ["iptables", "-S"]
    assert box.asked["user"] == "root"
    folders = box.asked["env"]["PATH"].split(":")
    assert all(folder.startswith("/") and folder.endswith("bin") for folder in folders)
    assert "/app/bin" not in folders


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ExecResult(False, 4, "", "no permission\n"), "`iptables -S` failed (exit 4): no perm"),
        (TimeoutError(), "`iptables -S` did not finish within 60 s"),
        (FileNotFoundError("no iptables"), "`iptables -S` cannot be run: no iptables"),
    ],
)
def test_what_fails_is_an_error_that_names_the_command(
    monkeypatch: pytest.MonkeyPatch, answer: Any, words: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(monkeypatch, Box(answer))
    assert str(caught.value).startswith(words)
