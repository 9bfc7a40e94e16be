"""The configuration model."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from control_tower.sandboxes.bwrap.config import BwrapConfig


def test_it_is_frozen_and_hashable():
    config = BwrapConfig(source="/x", programs=("git",))
    assert hash(config) == hash(BwrapConfig(source="/x", programs=("git",)))
    with pytest.raises(ValidationError):
        config.source = "/y"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "app",
        "",
        "/usr",
        "/usr/src",
        "/etc/x",
        "/proc",
        "/tmp",
        "/home",
        "/home/agent",
        "/app/../etc",
        "//etc",
        "/dev/shm",
    ],
)
def test_a_workspace_that_cannot_be_mounted_is_refused(path):
    with pytest.raises(ValidationError, match="workspace"):
        BwrapConfig(source="/x", workspace=path)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("/app", "/app"),
        ("/srv/x/", "/srv/x"),
        ("/home/agent/code", "/home/agent/code"),
        ("/tmp/work", "/tmp/work"),
    ],
)
def test_other_workspaces_are_taken(given, taken):
    assert BwrapConfig(source="/x", workspace=given).workspace == taken


@pytest.mark.parametrize("limit", ["memory_mb", "processes", "file_size_mb", "tmp_size_mb"])
def test_limits_are_positive(limit):
    with pytest.raises(ValidationError):
        BwrapConfig(source="/x", **{limit: 0})
