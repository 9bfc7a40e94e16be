"""What Inspect keeps of errors, in words."""

from __future__ import annotations

import pytest

from control_tower.episode.readable_errors import readable


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("ValueError('boom')", "ValueError: boom"),
        (
            "anyio.BrokenResourceError('it\\'s \\n gone',)",
            "anyio.BrokenResourceError: it's \n gone",
        ),
        ("the disk is full", "the disk is full"),
        ("ValueError('one', 'two')", "ValueError('one', 'two')"),
        ("ValueError()", "ValueError()"),
    ],
)
def test_the_repr_of_an_exception_with_one_text_is_told_plainly(message: str, words: str) -> None:
    assert readable(message) == words


@pytest.mark.parametrize("shown", ['{\n  "model": "a"\n}', "... (9 lines truncated) ...\n}"])
def test_of_a_request_that_was_refused_only_the_answer_is_told(shown: str) -> None:
    answer = "BadRequestError('Error code: 400 - no tools, {}')"
    told = repr(RuntimeError(f"\nRequest:\n{shown}\n\n{answer}"))
    assert readable(told) == "BadRequestError: Error code: 400 - no tools, {}"
