"""A shell that tells its commands through the terminal, in a real bash."""

from __future__ import annotations

import base64
import os
import pty
import select
import time
from itertools import count
from pathlib import Path

import pytest

from control_tower.live.shells import Listener, Typed, command_line, shell_of_human
from control_tower.live.terminal import readable

MARK = "0123abcd"


def told(
    number: int, *commands: str, code: int = 0, folder: str = "/app", mark: str = MARK
) -> bytes:
    """What bash prints before a prompt, with the commands that are new since the last one."""
    lines = "".join(f"{n:5}  {c}\n" for n, c in enumerate(commands, start=number))
    entry = base64.b64encode(lines.encode()).decode()
    place = base64.b64encode(f"{folder}\n".encode()).decode()
    return f"\x1b]7770;{mark};{code};{place};{entry}\x07".encode()


BEGINS = f"\x1b]7770;{MARK};begins\x07".encode()


def heard(*chunks: bytes) -> tuple[bytes, list[Typed]]:
    listener, shown, typed = Listener(MARK, clock=count(step=5).__next__), b"", []
    for chunk in chunks:
        more, commands = listener.hear(chunk)
        shown += more
        typed += commands
    return shown, typed


def test_a_command_comes_with_its_code_its_folder_and_what_it_showed() -> None:
    shown, typed = heard(told(0), b"$ cd x\r\n", told(1, "cd x", code=1, folder="/app/x"), b"$ ")
    assert shown == b"$ cd x\r\n$ "
    assert typed == [Typed("cd x", 1, "/app", b"$ cd x\r\n")]


def test_a_command_comes_with_its_time() -> None:
    shown, typed = heard(told(0), b"$ ls\r\n", BEGINS, b"a\r\n", told(1, "ls"), b"$ ")
    assert shown == b"$ ls\r\na\r\n$ "
    assert typed == [Typed("ls", 0, "/app", b"a\r\n", 5)]


def test_a_file_that_is_shown_cannot_say_that_something_was_typed() -> None:
    forged = told(9, "rm -r .", mark="ffffffff")
    shown, typed = heard(told(0), b"$ cat x\r\n", forged, told(1, "cat x"))
    assert forged in shown
    assert [each.command for each in typed] == ["cat x"]


def test_of_much_that_was_shown_the_last_is_kept() -> None:
    chunks = [b"y\r\n" * 10_000] * 50
    shown, [typed] = heard(told(0), *chunks, b"the end\r\n", told(1, "yes"))
    assert len(shown) > 1_000_000
    assert len(typed.shown) <= 64 * 1024
    assert typed.shown.endswith(b"y\r\nthe end\r\n")


def test_an_empty_line_is_no_command() -> None:
    _, typed = heard(told(0), told(1, "ls"), told(1), told(2, "ls"))
    assert [each.command for each in typed] == ["ls", "ls"]


def test_commands_of_several_lines_stay_so() -> None:
    _, [typed] = heard(told(0), told(1, "cat <<E\na\n\nE"))
    assert typed.command == "cat <<E\na\n\nE"


def test_commands_that_were_pasted_at_once_are_all_told() -> None:
    entries = [f"echo {n}" for n in range(98, 101)] + ["cat <<E\n    1  x\nE", "  true"]
    _, [typed] = heard(told(0), BEGINS, BEGINS, told(98, *entries, code=3))
    assert typed.command == "\n".join(entries)
    assert (typed.code, typed.seconds) == (3, 5)


def test_a_sequence_may_come_in_pieces() -> None:
    whole = b"$ ls\r\n" + told(1, "ls") + b"$ "
    pieces = [whole[n : n + 1] for n in range(len(whole))]
    shown, typed = heard(told(0), *pieces)
    assert shown == b"$ ls\r\n$ "
    assert [each.command for each in typed] == ["ls"]


def test_other_sequences_are_shown() -> None:
    title = b"\x1b]0;a title\x07\x1b[31mred\x1b[0m"
    assert heard(title) == (title, [])


def test_words_become_one_command_of_a_shell() -> None:
    assert command_line(["echo a | wc"]) == "echo a | wc"
    assert command_line(["echo", "a b", "$c"]) == "echo 'a b' '$c'"


@pytest.fixture
def bash(tmp_path: Path) -> list[str]:
    return ["env", "-C", str(tmp_path), *shell_of_human(MARK)]


def typed_in(argv: list[str], *lines: str) -> list[Typed]:
    """What a real bash tells when these lines are typed."""
    child, master = pty.fork()
    if child == 0:
        os.execvp(argv[0], argv)
    listener, typed = Listener(MARK), []
    os.write(master, "".join(line + "\n" for line in [*lines, "exit"]).encode())
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        typed += listener.hear(data)[1]
    os.close(master)
    os.waitpid(child, 0)
    return typed


def test_bash_tells_what_was_typed(bash: list[str], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    typed = typed_in(
        bash,
        "cd sub",
        "cat >note <<'E'",
        "two  words",
        "E",
        "false",
        "false",
        "  echo 'a; b' # note",
        "",
        "for i in 1 2; do",
        "echo $i; done",
    )
    assert [(each.command, each.code) for each in typed] == [
        ("cd sub", 0),
        ("cat >note <<'E'\ntwo  words\nE", 0),
        ("false", 1),
        ("false", 1),
        ("  echo 'a; b' # note", 0),
        ("for i in 1 2; do\necho $i; done", 0),
    ]
    assert [Path(each.folder).name for each in typed[:2]] == [tmp_path.name, "sub"]
    assert (tmp_path / "sub" / "note").read_text() == "two  words\n"
    assert all(each.seconds > 0 for each in typed)


def test_what_a_command_showed_is_without_the_prompt_and_what_was_typed(bash: list[str]) -> None:
    typed = typed_in(bash, "echo a", "printf 'b\\nc\\n'; cat nothing", "cd /", "pwd")
    assert [readable(each.shown) for each in typed] == [
        "a\n",
        "b\nc\ncat: nothing: No such file or directory\n",
        "",
        "/\n",
    ]


def test_a_shell_within_the_shell_tells_nothing(bash: list[str]) -> None:
    typed = typed_in(bash, "bash --norc -i", "echo inner", "exit", "echo outer")
    assert [each.command for each in typed] == ["bash --norc -i", "echo outer"]


def test_bash_tells_all_of_a_paste(bash: list[str]) -> None:
    pasted = "set -u\n# why\ncat <<'E' >x\n    1  a\nE\n\necho \\\n  b\nfalse"
    [before, typed, after] = typed_in(bash, "echo", f"\x1b[200~{pasted}\x1b[201~", "pwd")
    assert (before.command, after.command) == ("echo", "pwd")
    # As bash's history has it: without empty lines, and continued lines as one.
    assert typed.command == pasted.replace("\n\n", "\n").replace("\\\n", "")
    assert typed.code == 1


def test_a_history_that_is_cleared_ends_nothing(bash: list[str]) -> None:
    typed = typed_in(bash, "echo a", "history -c", "echo b")
    assert [each.command for each in typed] == ["echo a", "echo b"]
