"""What a worker is told: it arrives as it was sent."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from control_tower.models import ModelSpec
from pytest_control_tower.workers.membership import Membership, membership_of


def arrived(**more: Any) -> Membership:
    """What the worker reads of what it was sent."""
    sent: dict[str, Any] = {}
    Membership(parent=1, folder="/", run_id="r", started_at=0.5, worker=0, workers=2, **more).tell(
        sent
    )
    found = membership_of(SimpleNamespace(workerinput=sent))  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "a/b",
        "{model: a/b, temperature: 0, stop_seqs: [x, '2'], base_url: 'http://h/v1', "
        "extra_headers: {X-Team: red}, model_args: {deep: {n: [1, 2.5, null, true]}}}",
        "{model: a/b, top: 1e999, big: 123456789012345678901234567890, word: '1e3'}",
    ],
)
def test_a_model_arrives_as_it_was_sent(text: str) -> None:
    spec = ModelSpec.from_text("monitor", text, "--ct-model-role")
    [got] = arrived(models=(spec,)).models or ()
    assert got == spec


def test_a_date_of_a_project_file_is_a_text_as_it_is_in_yaml() -> None:
    import tomllib

    value = tomllib.loads('m = { model = "a/b", model_args = { since = 2024-05-01 } }')["m"]
    spec = ModelSpec.from_value("monitor", value, "pyproject.toml")
    assert spec.model_args == {"since": "2024-05-01"}
    assert spec == ModelSpec.from_text(
        "monitor", "{model: a/b, model_args: {since: 2024-05-01}}", "pyproject.toml"
    )
    [got] = arrived(models=(spec,)).models or ()
    assert got == spec


def test_no_models_are_not_the_same_as_models_that_nobody_looked_for() -> None:
    assert arrived(models=()).models == ()
    assert arrived().models is None


def test_models_that_nobody_looked_for_are_looked_for_where_the_run_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    began = tmp_path / "began"
    began.mkdir()
    plan: Any = SimpleNamespace(models=lambda: {"untrusted": str(Path.cwd())})
    told = arrived().model_copy(update={"folder": str(began)})
    assert told.models_of(plan) == {"untrusted": str(began)}
    assert Path.cwd() == tmp_path
