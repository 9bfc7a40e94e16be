"""Check scripts: how they are run, and the verdict that is read from what they print."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from inspect_ai.util import ExecResult, OutputLimitExceededError

from control_tower.sandboxes.checking import ChecksApart
from control_tower.scoring import check_script
from control_tower.scoring.wrapper import TaskScore, run_scorer

STATE = SimpleNamespace(metadata={})
"""All that a check script needs of a sample's state."""


class Box:
    """A sandbox that answers one command, or runs it on this host."""

    def __init__(self, answer: ExecResult[str] | Exception | None = None) -> None:
        self.answer = answer
        self.commands: list[list[str]] = []
        self.inputs: list[str] = []
        self.more: dict[str, Any] = {}

    async def exec(self, cmd: list[str], input: str = "", **more: Any) -> ExecResult[str]:
        self.commands.append(cmd)
        self.inputs.append(input)
        self.more = more
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        done = subprocess.run(cmd, input=input, capture_output=True, text=True, check=False)
        return ExecResult(done.returncode == 0, done.returncode, done.stdout, done.stderr)


def judge(box: Box, check: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> TaskScore:
    """What the episode makes of the check, as it runs it."""
    monkeypatch.setattr("inspect_ai.util.sandbox", lambda: box)

    async def score() -> TaskScore:
        scorer = check_script(check, **more)
        return await run_scorer(scorer, STATE, None, timeout=None)  # type: ignore[arg-type]

    return anyio.run(score)


def read(
    stdout: str, monkeypatch: pytest.MonkeyPatch, *, code: int = 0, stderr: str = ""
) -> TaskScore:
    box = Box(ExecResult(code == 0, code, stdout, stderr))
    return judge(box, Path(__file__), monkeypatch)


@pytest.mark.parametrize(
    ("stdout", "code", "success", "explanation"),
    [
        ("CORRECT: all 3 cases", 0, True, "all 3 cases"),
        ("INCORRECT: case 2 differs", 0, False, "case 2 differs"),
        ("INCORRECT: case 2 differs", 1, False, "case 2 differs"),
        ("noise\nCORRECT: yes\nmore noise\n", 0, True, "yes"),
        ("CORRECT: one\nCORRECT: two\n", 0, True, "two"),
        ("INCORRECT:\n", 0, False, ""),
        ("CORRECT: café ✓", 0, True, "café ✓"),
        ("NOT READY: database is locked", 0, None, "environment not ready: database is locked"),
        ("NOT READY: a\nNOT READY: b", 0, None, "environment not ready: b"),
    ],
)
def test_a_verdict_line_is_read(
    monkeypatch: pytest.MonkeyPatch, stdout: str, code: int, success: bool | None, explanation: str
) -> None:
    assert read(stdout, monkeypatch, code=code) == TaskScore(success, explanation)


@pytest.mark.parametrize(
    "stdout",
    [
        "",
        "correct: lower case",
        " CORRECT: not at the start of its line",
        "it is CORRECT: inside a line",
        "CORRECT",
        "VERY CORRECT: no",
        "NOT CORRECT: no",
    ],
)
def test_anything_else_is_no_verdict_and_incorrect(
    monkeypatch: pytest.MonkeyPatch, stdout: str
) -> None:
    score = read(stdout, monkeypatch)
    assert score.success is False
    assert score.no_verdict
    assert score.explanation.startswith("the check printed no verdict (exit 0)")


def test_without_a_verdict_the_end_of_what_was_said_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traceback = "x" * 400 + "\nValueError:  bad\n  row"
    score = read("some output", monkeypatch, code=1, stderr=traceback)
    assert score.success is False
    assert score.explanation.startswith("the check printed no verdict (exit 1): ")
    assert score.explanation.endswith("ValueError: bad row")
    assert len(score.explanation) < 400
    assert read("only this", monkeypatch, code=1).explanation.endswith("(exit 1): only this")


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        (["CORRECT: a", "INCORRECT: b"], "CORRECT, INCORRECT"),
        (["INCORRECT: a", "CORRECT: b"], "CORRECT, INCORRECT"),
        (["NOT READY: a", "INCORRECT: b"], "INCORRECT, NOT READY"),
        (["CORRECT: a", "NOT READY: b"], "CORRECT, NOT READY"),
    ],
)
def test_contradicting_verdicts_are_incorrect(
    monkeypatch: pytest.MonkeyPatch, lines: list[str], kinds: str
) -> None:
    score = read("\n".join(lines), monkeypatch)
    assert score == TaskScore(False, f"contradicting verdicts ({kinds}): b", no_verdict=True)


@pytest.mark.parametrize("code", [1, 3, 137])
@pytest.mark.parametrize("kind", ["CORRECT", "NOT READY"])
def test_what_helps_the_agent_needs_a_clean_exit(
    monkeypatch: pytest.MonkeyPatch, kind: str, code: int
) -> None:
    score = read(f"{kind}: so it is", monkeypatch, code=code)
    said = f"the check said {kind} but exited {code}: so it is"
    assert score == TaskScore(False, said, no_verdict=True)


def test_a_check_that_does_not_finish_is_incorrect(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box(TimeoutError())
    score = judge(box, Path(__file__), monkeypatch, timeout=7)
    assert score == TaskScore(False, "the check did not finish within 7 s", no_verdict=True)
    assert box.more["timeout"] == 7
    assert judge(box, Path(__file__), monkeypatch).explanation.endswith("within 120 s")


def test_without_a_place_apart_the_prefix_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box(ExecResult(True, 0, "CORRECT: yes", ""))
    assert judge(box, Path(__file__), monkeypatch).success is True
    assert box.more["env"] == {"CT_AS_AGENT": ""}


class ApartBox(Box, ChecksApart):
    """A sandbox that runs checks apart."""

    async def exec_check(
        self, cmd: Sequence[str], *, input: str, timeout: float | None
    ) -> ExecResult[str]:
        return ExecResult(True, 0, f"CORRECT: apart, {' '.join(cmd)}, {timeout} s", "")


class Proxy(Box):
    """Inspect's wrapper: it knows the methods of a sandbox and no others."""

    def as_type(self, kind: type) -> Any:
        if isinstance(inner := ApartBox(), kind):
            return inner
        raise TypeError


@pytest.mark.parametrize("box", [ApartBox(), Proxy()])
def test_a_check_runs_apart_where_the_provider_can(
    monkeypatch: pytest.MonkeyPatch, box: Box
) -> None:
    score = judge(box, Path(__file__), monkeypatch, interpreter=["sh", "-s"], timeout=5)
    assert score == TaskScore(True, "apart, sh -s, 5 s")
    assert box.commands == []


def test_a_very_long_explanation_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read("INCORRECT: " + "x" * 10_000, monkeypatch).explanation) == 2_000


@pytest.mark.parametrize(
    "fault",
    [
        OutputLimitExceededError("10 MiB", None),
        PermissionError("python3: permission denied"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
)
def test_what_the_agent_can_bring_about_is_no_escape(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    score = judge(Box(fault), Path(__file__), monkeypatch)
    assert score.success is False
    assert score.explanation.startswith("the check could not be read: ")


def test_a_sandbox_that_breaks_leaves_the_task_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    score = judge(Box(RuntimeError("the sandbox has ended")), Path(__file__), monkeypatch)
    assert score == TaskScore(None, "the scorer crashed: RuntimeError: the sandbox has ended")


def test_the_script_runs_after_its_prelude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prelude.py").write_text("def verdict(text):\n    print('CORRECT: ' + text)\n")
    (tmp_path / "check.py").write_text("verdict('from the prelude')")
    score = judge(Box(), tmp_path / "check.py", monkeypatch, prelude=tmp_path / "prelude.py")
    assert score == TaskScore(True, "from the prelude")


def test_several_preludes_are_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = "from __future__ import annotations\n"
    preludes = [tmp_path / "a.py", tmp_path / "b.py"]
    preludes[0].write_text(
        '"""First."""\n' + future + "def first() -> Unknown:\n    return 'CORRECT'\n"
    )
    preludes[1].write_text(
        "\ufeff" + future + "def second(text: Unknown):\n    print(first() + text)\n"
    )
    check = tmp_path / "check.py"
    check.write_text(f"# A comment.\n{future}second(': ' + {future!r}.strip())\n")
    score = judge(Box(), check, monkeypatch, prelude=preludes)
    assert score == TaskScore(True, future.strip())
    check.write_text("\n\nchek()\n")
    told = judge(Box(), check, monkeypatch, prelude=preludes).explanation
    assert 'File "check.py", line 3' in told
    assert "NameError: name 'chek' is not defined" in told


def test_a_script_that_is_not_python_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prelude.sh").write_text("said='CORRECT: yes'\n")
    (tmp_path / "check.sh").write_text(
        "cat <<END\n$said\nfrom __future__ import annotations\nEND\n"
    )
    box, more = Box(), {"prelude": tmp_path / "prelude.sh", "interpreter": ["sh", "-s"]}
    assert judge(box, tmp_path / "check.sh", monkeypatch, **more) == TaskScore(True, "yes")
    assert box.inputs == ["said='CORRECT: yes'\n\n" + (tmp_path / "check.sh").read_text()]


def test_modules_beside_the_agent_s_work_are_not_imported_by_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("print('CORRECT: fooled')\n")
    (tmp_path / "check.py").write_text("import json\nprint('INCORRECT: the real json')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert judge(Box(), tmp_path / "check.py", monkeypatch) == TaskScore(False, "the real json")


def test_another_interpreter_may_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "check.sh").write_text("echo CORRECT: $((1 + 1))\n")
    box = Box()
    score = judge(box, tmp_path / "check.sh", monkeypatch, interpreter=["sh", "-s"])
    assert score == TaskScore(True, "2")
    assert box.commands == [["sh", "-s"]]


def test_the_script_is_read_when_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score = judge(Box(), tmp_path / "gone.py", monkeypatch)
    assert score.success is None
    assert "FileNotFoundError" in score.explanation
