"""The state directory of a test's live sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_tower.live.sessions import Sessions


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """None yet."""
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    return Sessions()
