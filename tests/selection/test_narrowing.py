"""What leaves combinations out: categories, scorers, the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from control_tower.selection import Selection

Ids = Callable[..., list[str]]
Refusal = Callable[..., str]
Select = Callable[..., Selection]
BOTH = ("shop", "mail")


def test_a_category_filters_main_tasks(ids: Ids) -> None:
    found = ids("honest", env=BOTH, just_main_tasks=True, category=("fix_bug",))
    assert found == ["mail/fix/-", "shop/fix/-"]


def test_categories_add_up(ids: Ids) -> None:
    found = ids("honest", env=("shop",), all=True, category=("fix_bug", "add_feature"))
    assert found == ["shop/add/-", "shop/fix/-"]


def test_a_category_filters_pairs_by_their_main_task(ids: Ids) -> None:
    found = ids(env=("shop",), all=True, category=("fix_bug",))
    assert found == ["shop/fix/-", "shop/fix/leak", "shop/fix/wipe"]


def test_a_category_alone_selects_all_of_it(ids: Ids) -> None:
    assert ids("honest", env=BOTH, category=("refactor",)) == ["mail/sort/-"]


def test_env_only_takes_the_first_of_the_category(ids: Ids) -> None:
    assert ids(env=("shop",), env_only=True, category=("fix_bug",)) == ["shop/fix/-"]


def test_a_category_beside_named_tasks_says_what_it_left_out(selection: Select) -> None:
    chosen = selection(env=("shop",), main_task=("fix", "add"), category=("fix_bug",))
    assert [c.id for c in chosen.combinations] == ["shop/fix/-"]
    assert chosen.notices == ("1 left out by --category",)


def test_a_category_nothing_is_of_is_refused(refusal: Refusal) -> None:
    message = refusal(env=("shop",), main_task=("fix",), category=("infra", "refactor"))
    assert message == "--category: no selected main task is of category infra or refactor"
    message = refusal(env=("shop",), category=("infra",))
    assert message == "--category: no selected main task is of category infra"


def test_an_unknown_category_gets_the_nearest(refusal: Refusal) -> None:
    message = refusal(env=("shop",), category=("fix-bugs",))
    assert message == "--category: no category is named 'fix-bugs'; did you mean 'fix_bug'?"


def test_a_category_and_just_side_tasks_contradict_each_other(refusal: Refusal) -> None:
    message = refusal(env=("shop",), just_side_tasks=True, category=("fix_bug",))
    assert message.startswith("--just-side-tasks and --category contradict each other: ")


@pytest.mark.parametrize("values", [{"all": True}, {"env_only": True}])
def test_a_main_task_without_scorer_is_refused_by_default(
    refusal: Refusal, values: dict[str, Any]
) -> None:
    message = refusal("honest", env=("bare",), **values)
    assert message.startswith("main task 'bare/a_unscored' has no scorer.py")
    assert "--main-tasks-with-no-scorers include" in message


def test_main_tasks_without_scorers_can_be_left_out(selection: Select) -> None:
    chosen = selection("honest", env=("bare",), all=True, main_tasks_with_no_scorers="exclude")
    assert [c.id for c in chosen.combinations] == ["bare/scored/-"]
    assert chosen.notices == ("1 left out: no scorer for main task bare/a_unscored",)


def test_main_tasks_without_scorers_can_be_kept(ids: Ids) -> None:
    found = ids("honest", env=("bare",), all=True, main_tasks_with_no_scorers="include")
    assert found == ["bare/a_unscored/-", "bare/scored/-"]


def test_leaving_out_everything_is_refused(refusal: Refusal) -> None:
    message = refusal(
        env=("bare",), main_task=("a_unscored",), main_tasks_with_no_scorers="exclude"
    )
    assert message.startswith("--main-tasks-with-no-scorers exclude leaves nothing")


def test_a_side_task_always_needs_a_scorer(refusal: Refusal) -> None:
    message = refusal(
        env=("bare",), side_task=("s_unscored",), main_tasks_with_no_scorers="include"
    )
    assert message.startswith("side task 'bare/s_unscored' has no scorer.py")


def test_an_unknown_behaviour_is_refused(refusal: Refusal) -> None:
    message = refusal(env=("bare",), all=True, main_tasks_with_no_scorers="inclde")
    assert message.startswith("--main-tasks-with-no-scorers: no choice is named 'inclde'")


def test_the_limit_takes_environments_and_modes_in_turn(ids: Ids) -> None:
    assert ids(env=BOTH, all=True, limit=1) == ["mail/fix/-"]
    assert ids(env=BOTH, all=True, limit=2) == ["mail/fix/-", "shop/add/-"]
    assert ids(env=BOTH, all=True, limit=4) == [
        "mail/fix/-",
        "mail/fix/leak",
        "shop/add/-",
        "shop/add/leak",
    ]


def test_a_larger_limit_takes_what_a_smaller_one_takes(ids: Ids) -> None:
    everything = ids(env=BOTH, all=True)
    taken: set[str] = set()
    for limit in range(1, len(everything) + 2):
        more = ids(env=BOTH, all=True, limit=limit)
        assert more == sorted(more)
        assert taken <= set(more)
        assert len(more) == min(limit, len(everything))
        taken = set(more)
    assert taken == set(everything)


def test_a_group_that_ends_leaves_its_turns_to_the_others(ids: Ids) -> None:
    found = ids("honest", env=BOTH, all=True, limit=4)
    assert found == ["mail/fix/-", "mail/sort/-", "shop/add/-", "shop/fix/-"]


def test_the_limit_says_what_it_leaves_out(selection: Select) -> None:
    chosen = selection("honest", env=BOTH, all=True, limit=4)
    assert chosen.notices == ("4 of 5 combinations, by --limit",)
    assert selection("honest", env=BOTH, all=True, limit=5).notices == ()


def test_env_only_takes_the_first_that_is_left(ids: Ids) -> None:
    found = ids("honest", env=("bare",), env_only=True, main_tasks_with_no_scorers="exclude")
    assert found == ["bare/scored/-"]
