"""What a sample was run with."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from support.samples import key_of

from control_tower.episode.run_facts import RunFacts
from control_tower.episode.versions import content_hash, versions_of


def test_versions_are_the_packages_and_the_content_of_environment_and_tasks(
    facts: RunFacts, environment: Path
) -> None:
    versions = versions_of(key_of(facts).combination)
    assert versions["control_tower"] == version("pytest-control-tower")
    assert versions["inspect_ai"] == version("inspect_ai")
    assert versions["python"] == platform.python_version()
    assert versions["environment"] == content_hash(environment)
    assert versions["main_task"] == content_hash(environment / "main_tasks" / "fix")
    assert versions["side_task"] == content_hash(environment / "side_tasks" / "leak")
    assert len(versions["control_tower_content"]) == 64


def test_the_content_hash_changes_with_any_name_or_content(tmp_path: Path) -> None:
    def write(files: dict[str, str]) -> str:
        root = tmp_path / f"tree{len(list(tmp_path.iterdir()))}"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return content_hash(root)

    base = write({"a": "1", "b/c": "2"})
    assert write({"b/c": "2", "a": "1"}) == base
    assert write({"a": "1", "b/c": "2", "__pycache__/a.pyc": "x"}) == base
    others = [
        write({"a": "1", "b/c": "3"}),
        write({"a": "1", "b/d": "2"}),
        write({"a": "2", "b/c": "1"}),
        write({"a": "1"}),
        write({"a": "1", "b/c": "2", "e": ""}),
    ]
    assert len({base, *others}) == 6
