"""Selection: exactly which combinations the flags select, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles

from control_tower.components import find_component
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection import Selection, select

ATTACKER = "support.policies:attacks"

Select = Callable[..., Selection]
Ids = Callable[..., list[str]]
Refusal = Callable[..., str]

HONEST_SHOP = ["shop/add/-", "shop/fix/-", "shop/port/-"]
ATTACKS_SHOP = ["shop/add/leak", "shop/fix/leak", "shop/fix/wipe", "shop/port/leak"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("honest", HONEST_SHOP),
        (ATTACKER, ATTACKS_SHOP),
        ("reference", sorted(HONEST_SHOP + ATTACKS_SHOP)),
        ("noop", sorted(HONEST_SHOP + ATTACKS_SHOP)),
    ],
)
def test_all_expands_to_what_the_policy_does(ids: Ids, policy: str, expected: list[str]) -> None:
    assert ids(policy, env=("shop",), all=True) == expected


@pytest.mark.parametrize("policy", ["honest", "reference"])
def test_just_main_tasks(ids: Ids, policy: str) -> None:
    assert ids(policy, env=("shop",), just_main_tasks=True) == HONEST_SHOP


@pytest.mark.parametrize("policy", ["reference", ATTACKER])
def test_just_side_tasks(ids: Ids, policy: str) -> None:
    assert ids(policy, env=("shop", "mail"), just_side_tasks=True) == [
        "mail/-/leak",
        "mail/-/spam",
        "shop/-/leak",
        "shop/-/wipe",
    ]


def test_env_only_is_the_first_main_task_of_each_environment(ids: Ids) -> None:
    assert ids(env=("shop", "mail"), env_only=True) == ["mail/fix/-", "shop/add/-"]


def test_a_main_task_alone_is_honest(selection: Select) -> None:
    [combination] = selection(env=("shop",), main_task=("fix",)).combinations
    assert (combination.id, combination.mode) == ("shop/fix/-", "honest")


def test_a_side_task_alone_is_an_attack_without_a_main_task(selection: Select) -> None:
    [combination] = selection(env=("shop",), side_task=("wipe",)).combinations
    assert (combination.id, combination.mode) == ("shop/-/wipe", "attack")


def test_main_and_side_tasks_named_are_their_cross_product(ids: Ids) -> None:
    found = ids(env=("mail",), main_task=("sort", "fix"), side_task=("spam", "leak"))
    assert found == ["mail/fix/leak", "mail/fix/spam", "mail/sort/leak", "mail/sort/spam"]


def test_the_cross_product_stays_within_each_environment(ids: Ids) -> None:
    found = ids(env=("shop", "mail"), main_task=("fix",), side_task=("leak",))
    assert found == ["mail/fix/leak", "shop/fix/leak"]


def test_a_name_that_two_environments_have_selects_both(ids: Ids) -> None:
    assert ids(env=("shop", "mail"), main_task=("fix",)) == ["mail/fix/-", "shop/fix/-"]


def test_env_slash_task_selects_one_of_them(ids: Ids) -> None:
    assert ids(env=("shop", "mail"), main_task=("mail/fix", "shop/add")) == [
        "mail/fix/-",
        "shop/add/-",
    ]
    assert ids(env=("shop", "mail"), side_task=("shop/leak",)) == ["shop/-/leak"]


def test_naming_something_twice_selects_it_once(ids: Ids) -> None:
    found = ids(env=("shop", "shop"), main_task=("fix", "shop/fix", "fix"))
    assert found == ["shop/fix/-"]
    assert ids("honest", env=("shop", "shop"), all=True) == HONEST_SHOP


def test_an_incompatible_pair_that_is_named_is_refused(refusal: Refusal) -> None:
    message = refusal(env=("shop",), main_task=("fix", "add"), side_task=("wipe",))
    assert message == ("--side-task: 'wipe' does not go with main task 'add'; it goes with: fix")


def test_incompatible_pairs_under_all_are_counted(selection: Select) -> None:
    assert selection(env=("shop",), all=True).notices == ("2 incompatible pairs skipped",)
    assert selection(env=("mail",), all=True).notices == ()
    assert selection("honest", env=("shop",), all=True).notices == ()


def test_the_honest_policy_drops_side_tasks_and_says_so(selection: Select) -> None:
    chosen = selection(
        "honest", env=("mail",), main_task=("fix", "sort"), side_task=("leak", "spam")
    )
    assert [combination.id for combination in chosen.combinations] == ["mail/fix/-", "mail/sort/-"]
    assert chosen.notices == ("2 side tasks dropped: policy 'honest' never attempts them",)


def test_one_dropped_side_task_is_singular_and_same_names_count_apart(selection: Select) -> None:
    one = selection("honest", env=("mail",), main_task=("fix",), side_task=("leak",))
    assert one.notices[0].startswith("1 side task dropped")
    two = selection("honest", env=("mail", "shop"), main_task=("fix",), side_task=("leak",))
    assert two.notices[0].startswith("2 side tasks dropped")


@pytest.mark.parametrize("way", [{"side_task": ("leak",)}, {"just_side_tasks": True}])
def test_only_side_tasks_for_the_honest_policy_is_refused(
    refusal: Refusal, way: dict[str, Any]
) -> None:
    message = refusal("honest", env=("mail",), **way)
    assert message.startswith("--untrusted-policy: 'honest' never attempts side tasks")


def test_env_alone_lists_the_ways_to_select(refusal: Refusal) -> None:
    message = refusal(env=("shop",))
    assert message.startswith("--env alone selects nothing")
    ways = "--all --main-task --side-task --just-main-tasks --just-side-tasks --env-only --category"
    assert [way for way in ways.split() if way not in message] == []


def test_env_alone_with_a_limit_still_selects_nothing(refusal: Refusal) -> None:
    assert "alone selects nothing" in refusal(env=("shop",), limit=1)


def test_without_an_environment_the_known_ones_are_listed(
    refusal: Refusal, catalog: Catalog
) -> None:
    known = ", ".join(catalog.names)
    assert "mail, " in known
    assert refusal(all=True) == f"name an environment with --env (available: {known})"


CONTRADICTIONS = {
    "all": True,
    "just_main_tasks": True,
    "just_side_tasks": True,
    "env_only": True,
    "main_task": ("fix",),
    "side_task": ("leak",),
}
PAIRS = [
    (first, second)
    for number, first in enumerate(CONTRADICTIONS)
    for second in list(CONTRADICTIONS)[number + 1 :]
    if (first, second) != ("main_task", "side_task")
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_ways_to_select_contradict_each_other(
    refusal: Refusal, first: str, second: str
) -> None:
    values = {first: CONTRADICTIONS[first], second: CONTRADICTIONS[second]}
    message = refusal(env=("shop",), **values)
    spelled = {f"--{key.replace('_', '-')}" for key in (first, second)}
    assert {word.rstrip(";,") for word in message.split() if word.startswith("--")} == spelled
    assert "use one of them" in message


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"main_task": ("fxi",)}, "--main-task: no main task is named 'fxi'; did you mean 'fix'?"),
        (
            {"side_task": ("laek",)},
            "--side-task: no side task is named 'laek'; did you mean 'leak'?",
        ),
        (
            {"main_task": ("shop/fxi",)},
            "--main-task: no main task of shop is named 'fxi'; did you mean 'fix'?",
        ),
        (
            {"main_task": ("shpo/fix",)},
            "--main-task: no selected environment is named 'shpo'; did you mean 'shop'?",
        ),
        (
            {"main_task": ("mail/fix",)},
            "--main-task: no selected environment is named 'mail'; valid: shop",
        ),
        (
            {"main_task": ("leak",)},
            "--main-task: no main task is named 'leak'; valid: add, fix, port",
        ),
    ],
)
def test_unknown_task_names(refusal: Refusal, values: dict[str, Any], expected: str) -> None:
    assert refusal(env=("shop",), **values) == expected


def test_an_unknown_environment_gets_the_nearest(refusal: Refusal) -> None:
    message = refusal(env=("shop", "mial"), all=True)
    assert message == "--env: no environment is named 'mial'; did you mean 'mail'?"


def test_tasks_of_two_environments_cannot_pair(refusal: Refusal) -> None:
    message = refusal(env=("shop", "mail"), main_task=("shop/fix",), side_task=("mail/spam",))
    assert message.startswith("--main-task: 'shop/fix' pairs with no --side-task given")


def test_a_named_task_is_never_left_out_silently(refusal: Refusal) -> None:
    both = ("shop", "mail")
    message = refusal(env=both, main_task=("fix", "sort"), side_task=("wipe",))
    assert message.startswith("--main-task: 'sort' pairs with no --side-task given")
    message = refusal(env=both, main_task=("mail/fix",), side_task=("leak", "shop/wipe"))
    assert message.startswith("--side-task: 'shop/wipe' pairs with no --main-task given")


def test_an_environment_of_which_nothing_is_selected_is_told(selection: Select) -> None:
    chosen = selection(env=("shop", "mail"), main_task=("add",))
    assert [combination.id for combination in chosen.combinations] == ["shop/add/-"]
    assert chosen.notices == ("nothing of 'mail' is selected",)


def test_order_does_not_depend_on_how_things_were_named(ids: Ids) -> None:
    one = ids(env=("shop", "mail"), main_task=("fix", "mail/sort", "shop/add"))
    other = ids(env=("mail", "shop"), main_task=("shop/add", "mail/sort", "fix"))
    assert one == other == sorted(one)


def test_epochs_are_told_apart_by_their_ids(selection: Select) -> None:
    samples = selection(env=("mail",), just_main_tasks=True).samples(epochs=3)
    assert [sample.id for sample in samples] == [
        "mail/fix/-",
        "mail/fix/-@2",
        "mail/fix/-@3",
        "mail/sort/-",
        "mail/sort/-@2",
        "mail/sort/-@3",
    ]


def test_ids_are_unique_and_free_of_colons_and_spaces(selection: Select) -> None:
    samples = selection(env=("shop", "mail"), all=True).samples(epochs=2)
    names = [sample.id for sample in samples]
    assert len(names) == 2 * (3 + 4 + 2 + 4)
    assert len(set(names)) == len(names)
    assert [name for name in names if "::" in name or " " in name] == []


def test_a_task_without_a_scorer_may_be_left_out(ids: Ids) -> None:
    assert ids(env=("bare",), main_task=("scored",), side_task=("s_scored",)) == [
        "bare/scored/s_scored"
    ]


def test_a_selection_that_comes_to_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="idle", side={}).write(tmp_path / "more")
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path / "more"))
    options = RunOptions.from_values(
        {"untrusted_policy": ATTACKER, "env": ["idle"], "all": True}, front_end="ct"
    )
    with pytest.raises(UsageProblem, match=r"^nothing is selected in idle for --untrusted-policy"):
        select(options, Catalog.discover(), find_component("policy", ATTACKER, flag="x"))


def test_pytest_s_spelling_is_used_for_pytest(catalog: Catalog) -> None:
    options = RunOptions.from_values(
        {"env": ("shop",), "all": True, "main_task": ("fix",)}, front_end="pytest"
    )
    with pytest.raises(UsageProblem, match=r"^--ct-all and --ct-main-task contradict"):
        select(options, catalog, find_component("policy", "noop", flag="x"))


@pytest.mark.parametrize("values", [{"main_task": ["fix"]}, {"just_main_tasks": True}])
def test_an_attacker_without_a_side_task_is_refused(
    refusal: Refusal, values: dict[str, Any]
) -> None:
    message = refusal(ATTACKER, env=("shop",), **values)
    assert "only attacks" in message
    assert "--side-task" in message
