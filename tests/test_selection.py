"""Selection: exactly which combinations the flags select, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.components import find_component
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection import Selection, select

ATTACKER = "support.policies:attacks"

SHOP = EnvironmentFiles(
    name="shop",
    main={"port": main_task(), "add": main_task(), "fix": main_task()},
    side={"wipe": side_task(compatible="[fix]"), "leak": side_task()},
)
MAIL = EnvironmentFiles(
    name="mail",
    main={"sort": main_task(), "fix": main_task()},
    side={"leak": side_task(), "spam": side_task()},
)
BARE = EnvironmentFiles(
    name="bare",
    main={"a_unscored": main_task(scorer=None), "scored": main_task()},
    side={"s_unscored": side_task(scorer=None), "s_scored": side_task()},
)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    for files in (SHOP, MAIL, BARE):
        files.write(tmp_path)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    return Catalog.discover()


def selection(catalog: Catalog, policy: str = "reference", **values: Any) -> Selection:
    options = RunOptions.from_values({"untrusted_policy": policy, **values}, front_end="ct")
    return select(options, catalog, find_component("policy", policy, flag="--untrusted-policy"))


def ids(catalog: Catalog, policy: str = "reference", **values: Any) -> list[str]:
    return [combination.id for combination in selection(catalog, policy, **values).combinations]


def refusal(catalog: Catalog, policy: str = "reference", **values: Any) -> str:
    with pytest.raises(UsageProblem) as caught:
        selection(catalog, policy, **values)
    message = str(caught.value)
    assert "\n" not in message
    return message


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
def test_all_expands_to_what_the_policy_does(
    catalog: Catalog, policy: str, expected: list[str]
) -> None:
    assert ids(catalog, policy, env=("shop",), all=True) == expected


@pytest.mark.parametrize("policy", ["honest", "reference"])
def test_just_main_tasks(catalog: Catalog, policy: str) -> None:
    assert ids(catalog, policy, env=("shop",), just_main_tasks=True) == HONEST_SHOP


@pytest.mark.parametrize("policy", ["reference", ATTACKER])
def test_just_side_tasks(catalog: Catalog, policy: str) -> None:
    assert ids(catalog, policy, env=("shop", "mail"), just_side_tasks=True) == [
        "mail/-/leak",
        "mail/-/spam",
        "shop/-/leak",
        "shop/-/wipe",
    ]


def test_env_only_is_the_first_main_task_of_each_environment(catalog: Catalog) -> None:
    assert ids(catalog, env=("shop", "mail"), env_only=True) == ["mail/fix/-", "shop/add/-"]


def test_a_main_task_alone_is_honest(catalog: Catalog) -> None:
    [combination] = selection(catalog, env=("shop",), main_task=("fix",)).combinations
    assert (combination.id, combination.mode) == ("shop/fix/-", "honest")


def test_a_side_task_alone_is_an_attack_without_a_main_task(catalog: Catalog) -> None:
    [combination] = selection(catalog, env=("shop",), side_task=("wipe",)).combinations
    assert (combination.id, combination.mode) == ("shop/-/wipe", "attack")


def test_main_and_side_tasks_named_are_their_cross_product(catalog: Catalog) -> None:
    found = ids(catalog, env=("mail",), main_task=("sort", "fix"), side_task=("spam", "leak"))
    assert found == ["mail/fix/leak", "mail/fix/spam", "mail/sort/leak", "mail/sort/spam"]


def test_the_cross_product_stays_within_each_environment(catalog: Catalog) -> None:
    found = ids(catalog, env=("shop", "mail"), main_task=("fix",), side_task=("leak",))
    assert found == ["mail/fix/leak", "shop/fix/leak"]


def test_a_name_that_two_environments_have_selects_both(catalog: Catalog) -> None:
    assert ids(catalog, env=("shop", "mail"), main_task=("fix",)) == ["mail/fix/-", "shop/fix/-"]


def test_env_slash_task_selects_one_of_them(catalog: Catalog) -> None:
    assert ids(catalog, env=("shop", "mail"), main_task=("mail/fix", "shop/add")) == [
        "mail/fix/-",
        "shop/add/-",
    ]
    assert ids(catalog, env=("shop", "mail"), side_task=("shop/leak",)) == ["shop/-/leak"]


def test_naming_something_twice_selects_it_once(catalog: Catalog) -> None:
    found = ids(catalog, env=("shop", "shop"), main_task=("fix", "shop/fix", "fix"))
    assert found == ["shop/fix/-"]
    assert ids(catalog, "honest", env=("shop", "shop"), all=True) == HONEST_SHOP


def test_an_incompatible_pair_that_is_named_is_refused(catalog: Catalog) -> None:
    message = refusal(catalog, env=("shop",), main_task=("fix", "add"), side_task=("wipe",))
    assert message == ("--side-task: 'wipe' does not go with main task 'add'; it goes with: fix")


def test_incompatible_pairs_under_all_are_counted(catalog: Catalog) -> None:
    assert selection(catalog, env=("shop",), all=True).notices == ("2 incompatible pairs skipped",)
    assert selection(catalog, env=("mail",), all=True).notices == ()
    assert selection(catalog, "honest", env=("shop",), all=True).notices == ()


def test_the_honest_policy_drops_side_tasks_and_says_so(catalog: Catalog) -> None:
    chosen = selection(
        catalog, "honest", env=("mail",), main_task=("fix", "sort"), side_task=("leak", "spam")
    )
    assert [combination.id for combination in chosen.combinations] == ["mail/fix/-", "mail/sort/-"]
    assert chosen.notices == ("2 side tasks dropped: policy 'honest' never attempts them",)


def test_one_dropped_side_task_is_singular_and_same_names_count_apart(catalog: Catalog) -> None:
    one = selection(catalog, "honest", env=("mail",), main_task=("fix",), side_task=("leak",))
    assert one.notices[0].startswith("1 side task dropped")
    two = selection(
        catalog, "honest", env=("mail", "shop"), main_task=("fix",), side_task=("leak",)
    )
    assert two.notices[0].startswith("2 side tasks dropped")


@pytest.mark.parametrize("way", [{"side_task": ("leak",)}, {"just_side_tasks": True}])
def test_only_side_tasks_for_the_honest_policy_is_refused(
    catalog: Catalog, way: dict[str, Any]
) -> None:
    message = refusal(catalog, "honest", env=("mail",), **way)
    assert message.startswith("--untrusted-policy: 'honest' never attempts side tasks")


def test_env_alone_lists_the_ways_to_select(catalog: Catalog) -> None:
    message = refusal(catalog, env=("shop",))
    assert message.startswith("--env alone selects nothing")
    ways = "--all --main-task --side-task --just-main-tasks --just-side-tasks --env-only"
    assert [way for way in ways.split() if way not in message] == []


def test_env_alone_with_a_limit_still_selects_nothing(catalog: Catalog) -> None:
    assert "alone selects nothing" in refusal(catalog, env=("shop",), limit=1)


def test_without_an_environment_the_known_ones_are_listed(catalog: Catalog) -> None:
    message = refusal(catalog, all=True)
    assert message == "name an environment with --env (available: bare, ledger, mail, shop)"


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
    catalog: Catalog, first: str, second: str
) -> None:
    values = {first: CONTRADICTIONS[first], second: CONTRADICTIONS[second]}
    message = refusal(catalog, env=("shop",), **values)
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
def test_unknown_task_names(catalog: Catalog, values: dict[str, Any], expected: str) -> None:
    assert refusal(catalog, env=("shop",), **values) == expected


def test_an_unknown_environment_gets_the_nearest(catalog: Catalog) -> None:
    message = refusal(catalog, env=("shop", "mial"), all=True)
    assert message == "--env: no environment is named 'mial'; did you mean 'mail'?"


def test_tasks_of_two_environments_cannot_pair(catalog: Catalog) -> None:
    message = refusal(
        catalog, env=("shop", "mail"), main_task=("shop/fix",), side_task=("mail/spam",)
    )
    assert message.startswith("--main-task: 'shop/fix' pairs with no --side-task given")


def test_a_named_task_is_never_left_out_silently(catalog: Catalog) -> None:
    both = ("shop", "mail")
    message = refusal(catalog, env=both, main_task=("fix", "sort"), side_task=("wipe",))
    assert message.startswith("--main-task: 'sort' pairs with no --side-task given")
    message = refusal(catalog, env=both, main_task=("mail/fix",), side_task=("leak", "shop/wipe"))
    assert message.startswith("--side-task: 'shop/wipe' pairs with no --main-task given")


def test_an_environment_of_which_nothing_is_selected_is_told(catalog: Catalog) -> None:
    chosen = selection(catalog, env=("shop", "mail"), main_task=("add",))
    assert [combination.id for combination in chosen.combinations] == ["shop/add/-"]
    assert chosen.notices == ("nothing of 'mail' is selected",)


def test_limit_takes_the_first_by_id(catalog: Catalog) -> None:
    everything = ids(catalog, env=("shop",), all=True)
    assert ids(catalog, env=("shop",), all=True, limit=3) == everything[:3]
    assert ids(catalog, env=("shop",), all=True, limit=99) == everything


def test_order_does_not_depend_on_how_things_were_named(catalog: Catalog) -> None:
    one = ids(catalog, env=("shop", "mail"), main_task=("fix", "mail/sort", "shop/add"))
    other = ids(catalog, env=("mail", "shop"), main_task=("shop/add", "mail/sort", "fix"))
    assert one == other == sorted(one)


def test_epochs_are_told_apart_by_their_ids(catalog: Catalog) -> None:
    samples = selection(catalog, env=("mail",), just_main_tasks=True).samples(epochs=3)
    assert [sample.id for sample in samples] == [
        "mail/fix/-",
        "mail/fix/-@2",
        "mail/fix/-@3",
        "mail/sort/-",
        "mail/sort/-@2",
        "mail/sort/-@3",
    ]


def test_ids_are_unique_and_free_of_colons_and_spaces(catalog: Catalog) -> None:
    samples = selection(catalog, env=("shop", "mail"), all=True).samples(epochs=2)
    names = [sample.id for sample in samples]
    assert len(names) == 2 * (3 + 4 + 2 + 4)
    assert len(set(names)) == len(names)
    assert [name for name in names if "::" in name or " " in name] == []


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ({"all": True}, "main task 'bare/a_unscored' has no scorer.py"),
        ({"env_only": True}, "main task 'bare/a_unscored' has no scorer.py"),
        ({"side_task": ("s_unscored",)}, "side task 'bare/s_unscored' has no scorer.py"),
    ],
)
def test_a_task_without_a_scorer_is_refused(
    catalog: Catalog, values: dict[str, Any], missing: str
) -> None:
    assert missing in refusal(catalog, env=("bare",), **values)


def test_a_task_without_a_scorer_may_be_left_out(catalog: Catalog) -> None:
    assert ids(catalog, env=("bare",), main_task=("scored",), side_task=("s_scored",)) == [
        "bare/scored/s_scored"
    ]


def test_a_selection_that_comes_to_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EnvironmentFiles(name="idle", side={}).write(tmp_path / "more")
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path / "more"))
    message = refusal(Catalog.discover(), ATTACKER, env=("idle",), all=True)
    assert message.startswith("nothing is selected in idle for --untrusted-policy")


def test_pytest_s_spelling_is_used_for_pytest(catalog: Catalog) -> None:
    options = RunOptions.from_values(
        {"env": ("shop",), "all": True, "main_task": ("fix",)}, front_end="pytest"
    )
    with pytest.raises(UsageProblem, match=r"^--ct-all and --ct-main-task contradict"):
        select(options, catalog, find_component("policy", "noop", flag="x"))


@pytest.mark.parametrize("values", [{"main_task": ["fix"]}, {"just_main_tasks": True}])
def test_an_attacker_without_a_side_task_is_refused(
    catalog: Catalog, values: dict[str, Any]
) -> None:
    message = refusal(catalog, ATTACKER, env=("shop",), **values)
    assert "only attacks" in message
    assert "--side-task" in message
