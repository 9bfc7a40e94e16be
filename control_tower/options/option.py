"""One run option and all its spellings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["text", "integer", "flag", "directory", "choice"]
Command = Literal["eval2", "rerun-traj"]
FrontEnd = Literal["ct", "pytest"]


@dataclass(frozen=True)
class Option:
    """One run option and all its spellings."""

    key: str
    """Field of `RunOptions`; `ct_<key>` is the ini key."""
    kind: Kind
    help: str
    ct: tuple[str, ...] = ()
    """Spellings on `ct run …`, the long one first; empty for pytest-only options."""
    multiple: bool = False
    default: Any = None
    """The value when nobody sets it; shown in help where `help` does not say it."""
    implied: Any = None
    """What an unset value comes to, where it matters whether somebody set it."""
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    """The values of a `choice`."""
    metavar: str | None = None
    commands: frozenset[Command] = frozenset({"eval2"})
    rerun_help: str | None = None
    """The help on `ct run rerun-traj`, where it is another."""
    rerun_once: bool = False
    """Whether it takes one value there, and several on `ct run eval2`."""

    @property
    def pytest(self) -> str:
        """The `--ct-…` spelling."""
        return "--ct-" + self.key.replace("_", "-")

    @property
    def ini(self) -> str:
        """The ini key."""
        return f"ct_{self.key}"

    @property
    def help_text(self) -> str:
        """The help, with the default where it is a number or a directory."""
        value = self.default if self.implied is None else self.implied
        shown = self.kind in ("integer", "directory", "choice") and value is not None
        return f"{self.help}  [default: {value}]" if shown else self.help

    def for_command(self, command: Command) -> Option:
        """The option as `ct run <command>` has it."""
        if command != "rerun-traj":
            return self
        multiple = self.multiple and not self.rerun_once
        return replace(self, help=self.rerun_help or self.help, multiple=multiple)

    def spelling(self, front_end: FrontEnd) -> str:
        """How a user of `front_end` writes it, for messages."""
        return self.ct[0] if front_end == "ct" and self.ct else self.pytest
