"""`ct run rerun-traj`: its words, and what it hands to pytest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from control_tower.cli.main import main


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments that pytest is called with; nothing is planned or run."""
    calls: list[list[str]] = []
    monkeypatch.setattr(pytest, "main", lambda argv: calls.append(argv) or 0)
    monkeypatch.setattr("control_tower.episode.plan.make_plan", lambda options: None)
    return calls


@pytest.mark.parametrize(
    ("args", "given"),
    [
        (["abcd"], ["--ct-rerun-traj=abcd"]),
        (
            ["abcd", "-e", "shop", "-t", "fix", "-s", "-"],
            ["--ct-env=shop", "--ct-main-task=fix", "--ct-side-task=-", "--ct-rerun-traj=abcd"],
        ),
        (
            ["x.eval", "--sample-id", "shop/fix/-", "--replay-sandbox"],
            ["--ct-rerun-traj=x.eval", "--ct-traj-sample-id=shop/fix/-", "--ct-replay-sandbox"],
        ),
        (
            ["a", "--message-limit", "9", "--scorer-timeout", "3", "--log-dir", "l", "--", "-x"],
            ["--ct-rerun-traj=a", "--ct-log-dir=l", "--ct-scorer-timeout=3", "--ct-message-limit=9",
             "-x"],
        ),
    ],
)  # fmt: skip
def test_what_is_typed_arrives(handed: list[list[str]], args: list[str], given: list[str]) -> None:
    assert main(["run", "rerun-traj", *args]) == 0
    assert handed[0][-len(given) :] == given


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "name the trajectory to replay"),
        (["abcd", "--from-live"], "TRAJ_LIKE 'abcd' and --from-live both name what is replayed"),
        (["--from-live"], "there is no live session"),
        (["a", "b"], "unexpected extra argument"),
        (["a", "--all"], "No such option"),
        (["a", "--run-name", "x"], "where it goes with this one, too, write --ct-run-name after"),
        (["a", "--tag", "x"], "write --ct-tag after"),
        (["a", "--untrusted-policy", "noop"], "No such option"),
        (["a", "--message-limit", "many"], "--message-limit"),
    ],
)
def test_what_is_wrong_is_one_line(
    args: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    assert main(["run", "rerun-traj", *args]) == 4
    captured: Any = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert words in line
