"""A shell whose commands are recorded: bash tells them through the terminal, unseen.

Before each prompt bash prints an escape sequence of ours with what was typed last, its exit code
and the folder. Terminals show nothing of such a sequence, and we take it out of what is shown.
"""

from __future__ import annotations

import base64
import re
import shlex
from dataclasses import dataclass

_MARK = "7770"
_SEQUENCE = re.compile(rb"\x1b\]" + _MARK.encode() + rb";(\d*);([A-Za-z0-9+/=]*);([^\x07]*)\x07")
_BEGUN = b"\x1b]" + _MARK.encode()
_NUMBERED = re.compile(r"\s*(\d+)\*?\s{0,2}(.*)", re.DOTALL)
_LONGEST = 8 * 1024 * 1024
"""Bytes of a sequence; a longer one is none."""

_TELL = (
    "__ct=$?; shopt -s cmdhist lithist; "
    "export -n PROMPT_COMMAND HISTCONTROL HISTIGNORE HISTFILE HISTSIZE HISTTIMEFORMAT PS1; "
    f'printf \'\\033]{_MARK};%s;%s;%s\\007\' "$__ct" "$(pwd | base64 -w0)" '
    '"$(HISTTIMEFORMAT= history 1 | base64 -w0)"; unset __ct'
)


def shell_of_human() -> list[str]:
    """The shell that a human gets, in a sandbox."""
    settings = {
        "PROMPT_COMMAND": _TELL,
        "PS1": r"\u@live:\w\$ ",
        "HISTCONTROL": "",
        "HISTIGNORE": "",
        "HISTFILE": "",
        "HISTSIZE": "100000",
        "TERM": "xterm",
    }
    variables = [f"{name}={value}" for name, value in settings.items()]
    return ["env", *variables, "bash", "--norc", "--noprofile", "-i"]


@dataclass(frozen=True)
class Typed:
    """A command that was typed and has ended."""

    command: str
    code: int
    folder: str
    """Where it was typed."""
    shown: bytes
    """What the terminal showed from the prompt before it to its end."""


class Listener:
    """Takes our sequences out of what a shell prints, and gives the commands that they tell."""

    def __init__(self) -> None:
        self._rest = b""
        self._shown = b""
        self._number: int | None = None
        self._folder = ""

    def hear(self, data: bytes) -> tuple[bytes, list[Typed]]:
        """What to show of the next bytes, and the commands that ended in them."""
        data, self._rest = self._rest + data, b""
        shown = b""
        typed: list[Typed] = []
        while True:
            found = _SEQUENCE.search(data)
            if found is None:
                break
            shown += data[: found.start()]
            self._shown += data[: found.start()]
            command = self._told(found)
            if command is not None:
                typed.append(command)
            data = data[found.end() :]
        begun = _begun(data)
        if begun is not None and len(data) - begun <= _LONGEST:
            data, self._rest = data[:begun], data[begun:]
        self._shown += data
        return shown + data, typed

    def _told(self, found: re.Match[bytes]) -> Typed | None:
        before, self._shown = self._shown, b""
        code = int(found[1] or 0)
        typed_in, self._folder = self._folder, _text(found[2]).rstrip("\n")
        entry = _NUMBERED.match(_text(found[3]))
        number = int(entry[1]) if entry else 0
        first, known = self._number is None, self._number == number
        self._number = number
        if entry is None or first or known:  # nothing was typed
            self._shown = before
            return None
        return Typed(entry[2].rstrip("\n"), code, typed_in or self._folder, before)


def _begun(data: bytes) -> int | None:
    """Where a sequence of ours begins at the end of the data, whole or not yet."""
    start = data.find(_BEGUN)
    if start >= 0:
        return start
    for length in range(min(len(_BEGUN), len(data)), 0, -1):
        if data.endswith(_BEGUN[:length]):
            return len(data) - length
    return None


def _text(encoded: bytes) -> str:
    try:
        return base64.b64decode(encoded, validate=False).decode("utf-8", "replace")
    except ValueError:
        return ""


def command_line(words: list[str] | tuple[str, ...]) -> str:
    """The words as one command of a shell; a single one is a command already."""
    return words[0] if len(words) == 1 else shlex.join(words)
