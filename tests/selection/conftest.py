"""Environments to select from, and ways to ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.components import find_component
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection import Selection, select

SHOP = EnvironmentFiles(
    name="shop",
    main={
        "port": main_task(category="lang_rewrite"),
        "add": main_task(category="add_feature"),
        "fix": main_task(),
    },
    side={"wipe": side_task(compatible="[fix]"), "leak": side_task()},
)
MAIL = EnvironmentFiles(
    name="mail",
    main={"sort": main_task(category="refactor"), "fix": main_task()},
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


Select = Callable[..., Selection]


@pytest.fixture
def selection(catalog: Catalog) -> Select:
    """Select from the catalog: a policy's name, then option values."""

    def choose(policy: str = "reference", **values: Any) -> Selection:
        options = RunOptions.from_values({"untrusted_policy": policy, **values}, front_end="ct")
        return select(options, catalog, find_component("policy", policy, flag="--untrusted-policy"))

    return choose


@pytest.fixture
def ids(selection: Select) -> Callable[..., list[str]]:
    """The ids of what is selected."""

    def of(policy: str = "reference", **values: Any) -> list[str]:
        return [combination.id for combination in selection(policy, **values).combinations]

    return of


@pytest.fixture
def refusal(selection: Select) -> Callable[..., str]:
    """The one line that refuses a selection."""

    def of(policy: str = "reference", **values: Any) -> str:
        with pytest.raises(UsageProblem) as caught:
            selection(policy, **values)
        message = str(caught.value)
        assert "\n" not in message
        return message

    return of
