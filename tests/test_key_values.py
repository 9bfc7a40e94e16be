"""`key=value` arguments: split at the first sign, one by one."""

from __future__ import annotations

import pytest

from control_tower.key_values import PairProblem, split_pairs


def test_a_value_may_be_anything_and_a_key_has_no_spaces_around_it() -> None:
    pairs = ["b=1", " a = x=y ", "empty="]
    assert list(split_pairs(pairs)) == [("b", "1"), ("a", " x=y "), ("empty", "")]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (["a"], "'a' is not key=value"),
        (["=1"], "'=1' is not key=value"),
        ([" =1"], "' =1' is not key=value"),
        (["two\nlines"], r"'two\nlines' is not key=value"),
        (["a=1", "a =2"], "'a' is given twice"),
    ],
)
def test_what_is_no_pair_or_there_twice_is_one_line(pairs: list[str], words: str) -> None:
    with pytest.raises(PairProblem) as caught:
        list(split_pairs(pairs))
    assert str(caught.value) == words


def test_pairs_before_the_wrong_one_are_given() -> None:
    split = split_pairs(["a=1", "b"])
    assert next(split) == ("a", "1")
    with pytest.raises(PairProblem):
        next(split)
