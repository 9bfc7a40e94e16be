"""The run that samples built by hand are of (see `support.samples`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.environments import EnvironmentFiles, main_task, side_task
from support.samples import plan

from control_tower.episode.run_facts import RunFacts


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    return EnvironmentFiles(main={"fix": main_task()}, side={"leak": side_task()}).write(tmp_path)


@pytest.fixture
def facts(environment: Path) -> RunFacts:
    return RunFacts(plan=plan(), run_id="run1", models={"untrusted": "a/model"})
