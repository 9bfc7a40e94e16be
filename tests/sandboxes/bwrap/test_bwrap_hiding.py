"""What of the host's visible folders a sandbox must not read, and what it can learn of the host."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from control_tower.sandboxes.bwrap import hiding, namespaces
from control_tower.sandboxes.bwrap.hiding import hidden_folders


@pytest.fixture
def system(monkeypatch):
    """A folder of the host that sandboxes see, as they see /usr."""
    place = "/opt" if os.access("/opt", os.W_OK) else Path.home()
    folder = Path(tempfile.mkdtemp(dir=place))
    folder.chmod(0o755)
    monkeypatch.setattr(namespaces, "_SYSTEM_FOLDERS", ("/usr", str(folder)))
    yield folder
    shutil.rmtree(folder)


def written(path, text="secret"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_an_environment_in_a_visible_folder_is_empty(inside, system):
    goal = written(system / "envs" / "mine" / "side_tasks" / "leak" / "docs" / "goal.md")
    other = written(system / "share" / "data", "shown")

    async def check(box):
        assert (await box.exec(["cat", str(other)])).stdout == "shown"
        assert not (await box.exec(["cat", str(goal)])).success
        listed = await box.exec(["ls", "-A", str(system / "envs" / "mine")])
        assert (listed.returncode, listed.stdout) == (0, "")
        assert not (await box.exec(["touch", str(system / "envs" / "mine" / "x")])).success
        found = await box.exec(["grep", "-rl", "secret", str(system)])
        assert found.stdout == ""

    link = system / "link"
    link.symlink_to(system / "envs" / "mine")
    inside(check, hidden=(str(link),))


def test_the_package_itself_is_empty(inside, system, monkeypatch):
    monkeypatch.setattr(hiding, "PACKAGES", ("ct_hidden_package", "ct_no_such_package"))
    monkeypatch.setattr(sys, "path", [str(system / "site"), *sys.path])
    written(system / "site" / "ct_hidden_package" / "__init__.py", "")
    written(system / "site" / "ct_hidden_package" / "library" / "env" / "check.py")
    written(system / "site" / "ct_hidden_package-1.0.dist-info" / "RECORD")
    written(system / "site" / "other" / "module.py", "shown")

    async def check(box):
        found = await box.exec(["grep", "-rlE", "secret|shown", str(system)])
        assert found.stdout == f"{system}/site/other/module.py\n"

    inside(check)


def test_only_what_is_visible_is_hidden_and_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(hiding, "PACKAGES", ())
    seen, unseen = tmp_path / "seen", tmp_path / "seen2"
    for folder in (seen / "a" / "b", seen / "ab", unseen):
        folder.mkdir(parents=True)
    asked = map(str, (seen / "a" / "b", seen / "a", seen / "ab", seen / "none", unseen))
    assert hidden_folders([str(seen)], asked) == [str(seen / "a"), str(seen / "ab")]


def test_the_mounts_show_neither_what_runs_nor_whose_it_is(inside, monkeypatch):
    monkeypatch.delenv("CT_STATE_DIR")

    async def check(box):
        shown = (await box.exec(["cat", "/proc/self/mountinfo", "/proc/1/mountinfo"])).stdout
        assert " /app " in shown
        for word in ("control", "tower", f"{Path.home()}/"):
            assert word not in shown, (word, shown)

    inside(check)
