"""A shell whose commands are recorded: bash tells them through the terminal, unseen.

Before each prompt bash prints an escape sequence of ours with what was typed last, its exit code
and the folder; and a short one when a command begins. Terminals show nothing of such a sequence,
and we take it out of what is shown. Each shell's has a mark of its own, so that no file that was
there before can pretend that something was typed. A program that the human runs could find it out.
"""

from __future__ import annotations

import base64
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

_NUMBER = "7770"
"""Of our sequences, which no terminal knows."""
_NUMBERED = re.compile(r" *(\d+)[* ] ")
_LONGEST = 8 * 1024 * 1024
"""Bytes of a sequence; a longer one is none."""
_KEPT = 64 * 1024
"""Bytes that are kept of what a command showed: the last ones."""

_TELL = """\
__ct=$?
trap '' INT
shopt -s cmdhist lithist
export -n PROMPT_COMMAND HISTCONTROL HISTIGNORE HISTFILE HISTSIZE HISTTIMEFORMAT PS0 PS1
__ct_now=$(HISTTIMEFORMAT= history 1)
__ct_now=${__ct_now#"${__ct_now%%[0-9]*}"}
__ct_now=${__ct_now%%[!0-9]*}
__ct_now=${__ct_now:-0}
__ct_new=$((__ct_now - ${__ct_told:-__ct_now}))
__ct_told=$__ct_now
[ "$__ct_new" -gt 0 ] || __ct_new=0
printf '\033]NUMBER;MARK;%s;%s;%s\007' "$__ct" "$(pwd | base64 -w0)" \
"$(HISTTIMEFORMAT= history "$__ct_new" | base64 -w0)"
unset __ct __ct_now __ct_new
trap - INT
"""
"""What bash does before each prompt. Of a text that is pasted it may have run many commands since
the last one: all are told that are new in its history."""


def shell_of_human(mark: str) -> list[str]:
    """The shell that a human gets, in a sandbox.

    Args:
        mark: letters and digits that are hard to guess.
    """
    settings = {
        "PROMPT_COMMAND": _TELL.replace("NUMBER", _NUMBER).replace("MARK", mark),
        "PS0": rf"\e]{_NUMBER};{mark};begins\a",
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
    """A command that was typed and has ended, or several that were pasted at once."""

    command: str
    code: int
    """Of several, the last one's."""
    folder: str
    """Where it was typed."""
    shown: bytes
    """What the terminal showed from its beginning to its end; the last of it, if much."""
    seconds: float = 0.0
    """How long it took."""


class Listener:
    """Takes our sequences out of what a shell prints, and gives the commands that they tell.

    Args:
        mark: the shell's.
        clock: gives the time in seconds.
    """

    def __init__(self, mark: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._beginning = f"\x1b]{_NUMBER};{mark};".encode()
        self._sequence = re.compile(
            re.escape(self._beginning)
            + rb"(?:begins|(\d*);([A-Za-z0-9+/=]*);([A-Za-z0-9+/=]*))\x07"
        )
        self._clock = clock
        self._began: float | None = None
        self._rest = b""
        self._shown = b""
        self._folder = ""

    def hear(self, data: bytes) -> tuple[bytes, list[Typed]]:
        """What to show of the next bytes, and the commands that ended in them."""
        data, self._rest = self._rest + data, b""
        shown = b""
        typed: list[Typed] = []
        while True:
            found = self._sequence.search(data)
            if found is None:
                break
            shown += data[: found.start()]
            self._keep(data[: found.start()])
            data = data[found.end() :]
            if found[1] is None:
                self._begins()
            elif (command := self._told(found)) is not None:
                typed.append(command)
        begun = self._begun(data)
        if begun is not None and len(data) - begun <= _LONGEST:
            data, self._rest = data[:begun], data[begun:]
        self._keep(data)
        return shown + data, typed

    def _keep(self, shown: bytes) -> None:
        self._shown = (self._shown + shown)[-_KEPT:]

    def _begins(self) -> None:
        """A command begins: what was shown before it is a prompt, and what was typed."""
        if self._began is None:
            self._began = self._clock()
            self._shown = b""

    def _told(self, found: re.Match[bytes]) -> Typed | None:
        before, self._shown = self._shown, b""
        began, self._began = self._began, None
        code = int(found[1] or 0)
        typed_in, self._folder = self._folder, _text(found[2]).rstrip("\n")
        commands = _commands(_text(found[3]))
        if not commands:
            self._shown = before
            return None
        seconds = 0.0 if began is None else self._clock() - began
        return Typed("\n".join(commands), code, typed_in or self._folder, before, seconds)

    def _begun(self, data: bytes) -> int | None:
        """Where a sequence of ours begins at the end of the data, whole or not yet."""
        start = data.find(self._beginning)
        if start >= 0:
            return start
        for length in range(min(len(self._beginning), len(data)), 0, -1):
            if data.endswith(self._beginning[:length]):
                return len(data) - length
        return None


def _commands(history: str) -> list[str]:
    """The commands of lines as `history` prints them: a number in five columns, then two more."""
    first = _NUMBERED.match(history)
    if first is None:
        return []
    number, found = int(first[1]), []
    rest = history[first.end() :]
    while True:
        number += 1
        command, more, rest = _divided(rest, f"\n{number:5}  ", f"\n{number:5}* ")
        found.append(command.rstrip("\n"))
        if not more:
            return found


def _divided(text: str, *separators: str) -> tuple[str, str, str]:
    """As `str.partition`, at the first of any of these."""
    there = [(place, each) for each in separators if (place := text.find(each)) >= 0]
    return text.partition(min(there)[1]) if there else (text, "", "")


def _text(encoded: bytes) -> str:
    try:
        return base64.b64decode(encoded, validate=False).decode("utf-8", "replace")
    except ValueError:
        return ""


def command_line(words: list[str] | tuple[str, ...]) -> str:
    """The words as one command of a shell; a single one is a command already."""
    return words[0] if len(words) == 1 else shlex.join(words)
