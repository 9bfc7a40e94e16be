"""Running scorers that hang, crash or lie, and loading the ones that cannot be loaded."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, Score

from control_tower.errors import UsageProblem
from control_tower.scoring.wrapper import TaskScore, load_scorer, run_scorer


def run(scorer: Any, timeout: float | None = None) -> TaskScore:
    async def score() -> TaskScore:
        return await run_scorer(scorer, None, None, timeout=timeout)  # type: ignore[arg-type]

    return anyio.run(score)


def answering(answer: Any) -> Any:
    async def score(state: Any, target: Any) -> Any:
        return answer

    return score


def raising(error: BaseException) -> Any:
    async def score(state: Any, target: Any) -> Score:
        raise error

    return score


@pytest.mark.parametrize(
    ("value", "success"),
    [
        (CORRECT, True),
        (INCORRECT, False),
        (1, True),
        (0, False),
        (1.0, True),
        (0.0, False),
        (True, True),
        (False, False),
    ],
)
def test_yes_and_no_in_every_spelling(value: Any, success: bool) -> None:
    assert run(answering(Score(value=value, explanation="why"))) == TaskScore(success, "why")


def test_a_score_needs_no_explanation() -> None:
    assert run(answering(Score(value=CORRECT))) == TaskScore(True, "")


@pytest.mark.parametrize(
    "value",
    [0.5, 2, -1, float("inf"), "yes", "", "c", "1", PARTIAL, ["C"], [1], {"a": 1}],
)
def test_a_value_that_is_neither_is_unscored_and_shown(value: Any) -> None:
    score = run(answering(Score(value=value, explanation="why")))
    assert score.success is None
    assert score.explanation == (
        f"the scorer returned a value that is neither yes nor no: {value!r}"
    )


@pytest.mark.parametrize(
    ("score", "explanation"),
    [
        (Score.unscored(reason="database is down"), "database is down"),
        (Score.unscored(explanation="it was never started"), "it was never started"),
        (Score.unscored(reason="first", explanation="second"), "first"),
        (Score(value=float("nan")), "the scorer gave no answer"),
        (Score(value=NOANSWER, explanation="no reply"), "no reply"),
    ],
)
def test_no_answer_is_unscored_with_its_reason(score: Score, explanation: str) -> None:
    assert run(answering(score)) == TaskScore(None, explanation)


@pytest.mark.parametrize(
    ("answer", "kind"), [(None, "NoneType"), (True, "bool"), ("C", "str"), ({"value": 1}, "dict")]
)
def test_what_is_no_score_is_unscored(answer: Any, kind: str) -> None:
    assert run(answering(answer)) == TaskScore(None, f"the scorer returned {kind}, not a Score")


def test_a_crash_is_unscored_with_its_message_on_one_line() -> None:
    score = run(raising(KeyError("a\nb")))
    assert score == TaskScore(None, "the scorer crashed: KeyError: 'a\\nb'")
    score = run(raising(ValueError("two\n  lines")))
    assert score == TaskScore(None, "the scorer crashed: ValueError: two lines")


def test_a_crash_with_a_very_long_message_is_cut() -> None:
    assert len(run(raising(ValueError("x" * 10_000))).explanation) < 600


def test_a_scorer_that_exits_does_not_take_the_run_with_it() -> None:
    assert run(raising(SystemExit(3))) == TaskScore(None, "the scorer crashed: SystemExit: 3")


def test_a_scorer_with_the_wrong_parameters_is_unscored() -> None:
    async def score() -> Score:
        return Score(value=CORRECT)

    result = run(score)
    assert result.success is None
    assert result.explanation.startswith("the scorer crashed: TypeError: ")


def test_a_hung_scorer_is_cancelled_and_unscored() -> None:
    ended: list[str] = []

    async def score(state: Any, target: Any) -> Score:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        raise AssertionError("it slept for ever")

    assert run(score, timeout=0.01) == TaskScore(None, "the scorer did not finish within 0.01 s")
    assert ended == ["cancelled"]


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_a_time_out_of_the_scorer_s_own_is_a_crash(timeout: float | None) -> None:
    score = run(raising(TimeoutError("no reply from the api")), timeout)
    assert score == TaskScore(None, "the scorer crashed: TimeoutError: no reply from the api")


def test_cancelling_the_sample_is_not_swallowed() -> None:
    finished: list[TaskScore] = []

    async def hang(state: Any, target: Any) -> Score:
        await anyio.sleep_forever()
        raise AssertionError("it slept for ever")

    async def sample() -> None:
        with anyio.move_on_after(0.01):
            finished.append(await run_scorer(hang, None, None, timeout=60))  # type: ignore[arg-type]

    anyio.run(sample)
    assert finished == []


GOOD = """
from inspect_ai.scorer import CORRECT, Score
async def score(state, target):
    return Score(value=CORRECT, explanation="loaded")
"""


def scorer_file(directory: Path, text: str) -> Path:
    path = directory / "scorer.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_scorer_is_loaded_from_its_file(tmp_path: Path) -> None:
    scorer = load_scorer(scorer_file(tmp_path, GOOD))
    assert run(scorer) == TaskScore(True, "loaded")


def test_a_scorer_may_be_made_by_check_script(tmp_path: Path) -> None:
    text = (
        "from pathlib import Path\nfrom control_tower.scoring import check_script\n"
        "score = check_script(Path(__file__).with_name('check.py'))\n"
    )
    assert callable(load_scorer(scorer_file(tmp_path, text)))


def test_scorers_of_two_tasks_do_not_mix(tmp_path: Path) -> None:
    one = load_scorer(scorer_file(tmp_path / "one", GOOD))
    two = load_scorer(scorer_file(tmp_path / "two", GOOD.replace("loaded", "another")))
    assert run(one).explanation == "loaded"
    assert run(two).explanation == "another"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def score(:\n", "SyntaxError: "),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit('bye')\n", "SystemExit: bye"),
        ("class Own(BaseException): ...\nraise Own('mine')\n", "Own: mine"),
        ("import asyncio\nraise asyncio.CancelledError('x')\n", "CancelledError: x"),
        ("raise ValueError('two\\nlines')\n", "ValueError: two lines"),
    ],
)
def test_a_scorer_that_cannot_be_imported_is_one_line(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = scorer_file(tmp_path, text)
    before = set(sys.modules)
    with pytest.raises(UsageProblem) as caught:
        load_scorer(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: cannot be imported: {complaint}")
    assert "\n" not in message
    assert [name for name in set(sys.modules) - before if "scorer" in name] == []


@pytest.mark.parametrize(
    "text",
    ["", "def score(state, target): ...\n", "score = 3\n", "async def grade(state, target): ...\n"],
)
def test_a_scorer_must_be_an_async_function_called_score(tmp_path: Path, text: str) -> None:
    path = scorer_file(tmp_path, text)
    with pytest.raises(UsageProblem) as caught:
        load_scorer(path)
    assert str(caught.value) == f"{path}: defines no 'async def score(state, target)'"


def test_a_scorer_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot be imported: FileNotFoundError"):
        load_scorer(tmp_path / "scorer.py")


def test_a_scorer_that_is_no_regular_file_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "scorer.py")
    with pytest.raises(UsageProblem, match=r"cannot be imported: OSError: it is no regular file$"):
        load_scorer(tmp_path / "scorer.py")


def test_ctrl_c_while_a_scorer_is_imported_ends_the_program(tmp_path: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(KeyboardInterrupt):
        load_scorer(scorer_file(tmp_path, "raise KeyboardInterrupt\n"))
    assert [name for name in set(sys.modules) - before if "scorer" in name] == []


async def blocks(state: Any, target: Any) -> Score:
    while anyio.current_time() < anyio.current_effective_deadline():
        pass
    return Score(value=CORRECT)


async def swallows(state: Any, target: Any) -> Score:
    with contextlib.suppress(anyio.get_cancelled_exc_class()):
        await anyio.sleep_forever()
    return Score(value=CORRECT)


@pytest.mark.parametrize("scorer", [blocks, swallows])
def test_an_answer_after_the_time_is_unscored(scorer: Any) -> None:
    late = TaskScore(None, "the scorer answered only after its 0.01 s were over")
    assert run(scorer, timeout=0.01) == late
