"""The index of a folder of trajectories: their summaries, so that lists read no trajectory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from control_tower.errors import is_file
from control_tower.trajectories.one_line import visible
from control_tower.trajectories.reading import UnreadableTrajectory, read_trajectory
from control_tower.trajectories.summary import Summary

INDEX = "index.jsonl"
ENDING = ".json"


def index_line(path: Path, summary: Summary) -> str:
    """The line of a file that was just written, with its end."""
    there = path.stat()
    entry = {
        **summary.to_json(),
        "file": path.name,
        "size": there.st_size,
        "modified": there.st_mtime_ns,
    }
    return json.dumps(entry) + "\n"


def summaries_in(folder: Path) -> Iterator[tuple[Path, Summary | UnreadableTrajectory]]:
    """Every trajectory's file of a folder, sorted by name, with its summary.

    What the index says counts where the file is as it was then; else the file is read. A file that
    is no trajectory, or a link to one elsewhere, comes with what is wrong with it. The index's
    lines name no paths that are followed: what is not in the folder is not found.

    Raises:
        OSError: the folder cannot be read.
    """
    entries = _entries(folder / INDEX)
    with os.scandir(folder) as found:
        files = sorted(
            (f for f in found if f.name.endswith(ENDING) and not f.name.startswith(".")),
            key=lambda f: f.name,
        )
    for file in files:
        path = folder / file.name
        if file.is_symlink() and not _stays(path, folder):
            yield path, UnreadableTrajectory(f"{visible(str(path))}: a link out of its folder")
        elif not file.is_dir():
            yield path, _known(file, entries.get(file.name)) or _read(path)


def _stays(link: Path, folder: Path) -> bool:
    try:
        return link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


def _known(file: os.DirEntry[str], entry: dict[str, Any] | None) -> Summary | None:
    if entry is None:
        return None
    try:
        there = file.stat()
    except OSError:
        return None
    if (entry.get("size"), entry.get("modified")) != (there.st_size, there.st_mtime_ns):
        return None
    return Summary.from_json(entry)


def _read(path: Path) -> Summary | UnreadableTrajectory:
    try:
        return Summary.of(read_trajectory(path))
    except UnreadableTrajectory as problem:
        return problem


def _entries(index: Path) -> dict[str, dict[str, Any]]:
    """The index's lines by file name, the last of each; a killed run may leave half a line."""
    if not is_file(index):  # reading a pipe would wait for a writer
        return {}
    try:
        lines = index.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return {}
    entries: dict[str, dict[str, Any]] = {}
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(entry.get("file"), str):
            entries[entry["file"]] = entry
    return entries
