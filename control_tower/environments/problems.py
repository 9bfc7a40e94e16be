"""What is wrong with an author's files, collected so that all of it can be said at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, order=True)
class Problem:
    """One fault, where it is."""

    file: Path
    line: int
    """Counted from 1; 0 when it is about the whole file."""
    words: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        text = f"{place}: {self.words}"
        return text.encode(errors="backslashreplace").decode()  # half a character cannot be printed


@dataclass
class Problems:
    """The faults found so far."""

    found: list[Problem] = field(default_factory=list)

    def add(self, file: Path, words: str, line: int = 0) -> None:
        """Take note of a fault."""
        self.found.append(Problem(file, line, " ".join(words.split())))

    def add_unreadable(self, file: Path, error: Exception) -> None:
        """Take note of a file or folder that cannot be read."""
        reason = error.strerror if isinstance(error, OSError) else None
        self.add(file, f"cannot be read: {reason or error}")

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)
